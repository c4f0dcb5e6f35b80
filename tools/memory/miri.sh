#!/usr/bin/env bash
# Runs the tests of the C library's arguments (crates/c-api/tests/arguments.rs), and of copies and comparisons of memory
# (crates/memory-functions), in Miri, the interpreter of Rust's compiler: an access that the language's rules of references, lifetimes,
# alignment, written bytes or threads forbid is a failure, also where the machine would not mind, and so is memory that nobody gave
# back, and a file that is opened. C programs it cannot run: run.sh and sanitize.sh have them.
#
#   tools/memory/miri.sh
#
# The toolchain below is fetched if it is not there. Where rustup cannot, this says SKIPPED and ends well.
set -euo pipefail
cd "$(dirname "$0")/../.."
# Miri is in no released compiler. One of a day: another one may know other rules.
toolchain=nightly-2026-05-20
command -v rustup >/dev/null || { echo "SKIPPED: Miri (rustup is missing)"; exit 0; }
have() {
    local there
    there=$(rustup component list --toolchain $toolchain --installed 2>/dev/null) && [[ $there == *miri-*rust-src* ]]
}
have || timeout 300 rustup toolchain install $toolchain --profile minimal --component miri,rust-src --no-self-update \
    >/dev/null 2>&1 || { echo "SKIPPED: Miri (rustup cannot get $toolchain)"; exit 0; }

# Rust's own library for it; its crates may have to be fetched.
rustup run $toolchain cargo miri setup >/dev/null 2>&1 || { echo "SKIPPED: Miri (Rust's own library cannot be built)"; exit 0; }

# Assertions of the compiler are for the ordinary tests; here they are a quarter of the time.
export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG_ASSERTIONS=false CARGO_PROFILE_TEST_DEBUG_ASSERTIONS=false
arguments=(rustup run $toolchain cargo miri test --quiet --package oriole-c-api --test whole --target-dir target/miri)
MIRIFLAGS='' "${arguments[@]}" --no-run
memory=(rustup run $toolchain cargo miri test --quiet --package oriole-memory-functions --test lengths --target-dir target/miri)
MIRIFLAGS='' "${memory[@]}" --no-run

log=$(mktemp -d)
trap 'rm -rf "$log"' EXIT
# run NAME FLAGS COMMAND...: tests in the background, with what they print in a file.
names=() jobs=()
run() {
    MIRIFLAGS=$2 "${@:3}" > "$log/$1" 2>&1 &
    names+=("$1") jobs+=($!)
}
# The trees of rowan, a crate of others that the compiler reads texts with, look behind what a reference to their head covers: the
# stricter rules (stacked borrows) forbid that, the later ones (tree borrows) do not. What compiles nothing is held to the former.
trees=-Zmiri-tree-borrows
run "results of two threads" "$trees" "${arguments[@]}" -- results_of_two_threads
run "other compiles" "$trees" "${arguments[@]}" -- compiles --skip results_of_two_threads
run "calls without a compile" "-Zmiri-strict-provenance -Zmiri-symbolic-alignment-check" "${arguments[@]}" -- --skip compiles
run "threads in other orders" "-Zmiri-many-seeds=1..5" "${arguments[@]}" -- threads_share_a_handle
run "copies of memory" "-Zmiri-strict-provenance" "${memory[@]}"
wrong=0
for at in "${!jobs[@]}"; do
    if wait "${jobs[at]}"; then
        echo "ok ${names[at]} in Miri: $(grep -o '[0-9]* passed' "$log/${names[at]}" | sort -u)"
    else
        wrong=1
        cat "$log/${names[at]}" >&2
    fi
done
exit $wrong
