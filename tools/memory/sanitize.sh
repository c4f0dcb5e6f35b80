#!/usr/bin/env bash
# Runs the C library's tests, and the C programs of its tests, under sanitizers. AddressSanitizer: an access outside of what was
# given, of what was given back or of a frame that has ended, and memory that nobody gave back, is a failure. ThreadSanitizer: so
# are two accesses by threads that do not wait for each other, of which one writes. So is another output. valgrind (run.sh) knows
# nothing of frames and of the inside of Rust's tests; it knows what nobody wrote.
#
#   tools/memory/sanitize.sh
#
# Without Rust's runtimes for it or a C compiler it says SKIPPED and ends well.
set -euo pipefail
cd "$(dirname "$0")/../.."
target=x86_64-unknown-linux-gnu
command -v cc >/dev/null || { echo "SKIPPED: sanitizers (cc is missing)"; exit 0; }
tests=crates/c-api/tests
for tool in llvm-symbolizer llvm-symbolizer-22; do
    if command -v $tool >/dev/null; then
        ASAN_SYMBOLIZER_PATH=$(command -v $tool)
        export ASAN_SYMBOLIZER_PATH TSAN_OPTIONS="external_symbolizer_path=$ASAN_SYMBOLIZER_PATH"
        break
    fi
done

# The flags are of those that a released compiler hides. A target that is named keeps them from macros, which the compiler loads.
export RUSTC_BOOTSTRAP=1 CARGO_INCREMENTAL=0

# sanitized NAME: where Rust's runtime for this sanitizer is, and whether it is there.
sanitized() {
    runtime=$(compgen -G "$(rustc --print target-libdir)/librustc-*_rt.$1.a") && return
    echo "SKIPPED: $1 (Rust has no runtime for it here)"
    return 1
}

# run SANITIZER FOLDER NAME [ARGUMENT]: a C program of the tests with the library of this folder.
run() {
    local library=$2/$target/debug/deps program=$2/$3
    cc -g -Wall -fsanitize="$1" -c -I crates/c-api/include -o "$program.o" "$tests/$3.c"
    # Rust's runtime rather than the C compiler's: one of the two has to serve both.
    cc -rdynamic -o "$program" "$program.o" -Wl,--whole-archive "$runtime" -Wl,--no-whole-archive \
        -L "$library" -loriole_c -lpthread -ldl -lm
    LD_LIBRARY_PATH=$library "$program" "${@:4}" > "$program.txt" || {
        echo "$3.c: the $1 sanitizer has something to tell, or the program has failed" >&2
        exit 1
    }
}

if sanitized asan; then
    # The programs that the tests would link know nothing of the sanitizer; they come below.
    RUSTFLAGS=-Zsanitizer=address \
        cargo test --quiet --package oriole-c-api --target $target --target-dir target/asan -- --skip from_c
    for name in calls link threads; do
        run address target/asan $name
        diff "$tests/$name.txt" target/asan/$name.txt
        echo "ok $name.c under AddressSanitizer"
    done
fi

if sanitized tsan; then
    # Rust's own library is compiled without it, and the sources to compile it are not there on every machine. What it does out of
    # line is not seen, as waiting for a lock: so the one handle for all threads is left out, and tests whose threads are Rust's. Little is out of
    # line where crates are optimized, which the profile leaves out for some.
    RUSTFLAGS="-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer -Copt-level=1" \
        cargo rustc --quiet --package oriole-c-api --lib --crate-type cdylib --target $target --target-dir target/tsan
    run thread target/tsan threads without-waiting
    diff <(grep -v 'one handle' $tests/threads.txt) target/tsan/threads.txt
    echo "ok threads.c under ThreadSanitizer"
fi
