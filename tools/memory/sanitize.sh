#!/usr/bin/env bash
# Runs the C library's tests, and the C programs of its tests, under AddressSanitizer: an access outside of what was given, of what
# was given back or of a frame that has ended, and memory that nobody gave back, is a failure, and so is another output. valgrind
# (run.sh) knows nothing of frames and of the inside of Rust's tests; it knows what nobody wrote.
#
#   tools/memory/sanitize.sh
#
# Without Rust's runtime for it or a C compiler it says SKIPPED and ends well.
set -euo pipefail
cd "$(dirname "$0")/../.."
target=x86_64-unknown-linux-gnu
runtime=$(compgen -G "$(rustc --print target-libdir)/librustc-*_rt.asan.a") || { echo "SKIPPED: AddressSanitizer (Rust has no runtime for it here)"; exit 0; }
command -v cc >/dev/null || { echo "SKIPPED: AddressSanitizer (cc is missing)"; exit 0; }

# A target that is named keeps the flags from macros, which the compiler loads. The flag is one of those that a released compiler
# hides; a folder of its own, so that nothing else is built anew.
export RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address CARGO_INCREMENTAL=0
folder=target/asan
ASAN_SYMBOLIZER_PATH=$(command -v llvm-symbolizer llvm-symbolizer-22 | head -1) && export ASAN_SYMBOLIZER_PATH
# The programs that the tests would link know nothing of the sanitizer; they come below.
cargo test --quiet --package oriole-c-api --target $target --target-dir $folder -- --skip from_c

library=$folder/$target/debug/deps
tests=crates/c-api/tests
for name in calls link; do
    cc -g -Wall -fsanitize=address -c -I crates/c-api/include -o "$folder/$name.o" "$tests/$name.c"
    # Rust's runtime rather than the C compiler's: one of the two has to serve both.
    cc -rdynamic -o "$folder/$name" "$folder/$name.o" -Wl,--whole-archive "$runtime" -Wl,--no-whole-archive \
        -L "$library" -loriole_c -lpthread -ldl -lm
    LD_LIBRARY_PATH=$library "$folder/$name" > "$folder/$name.txt" || {
        echo "$name.c: AddressSanitizer has something to tell, or the program has failed" >&2
        exit 1
    }
    diff "$tests/$name.txt" "$folder/$name.txt"
    echo "ok $name.c under AddressSanitizer"
done
