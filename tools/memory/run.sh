#!/usr/bin/env bash
# Runs the C programs of the C library's tests under valgrind: a read or write outside of what was given, a read of what nobody
# wrote, or memory that nobody can give back any more, is a failure, and so is another output. It is here because the library is
# a place with `unsafe`; everything else of it is the compiler, which comes along.
# sanitize.sh and miri.sh have the tests in Rust.
#
#   tools/memory/run.sh [FOLDER WITH liboriole_c.so: that which the tests are built in, if left out]
#
# Without valgrind or a C compiler it says SKIPPED and ends well.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
library=$(realpath "${1:-$root/target/debug/deps}")
for program in valgrind cc; do
    command -v "$program" >/dev/null || { echo "SKIPPED: the C library's memory ($program is missing)"; exit 0; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
tests=$root/crates/c-api/tests
for name in calls link; do
    cc -g -Wall -I "$root/crates/c-api/include" -o "$folder/$name" "$tests/$name.c" -L "$library" -loriole_c
    # Tables that are made once, and what the main thread knows of itself, stay to the end and are told of by nobody.
    LD_LIBRARY_PATH=$library valgrind --quiet --error-exitcode=9 --leak-check=full --show-leak-kinds=definite,indirect \
        --errors-for-leak-kinds=definite,indirect --fair-sched=yes "$folder/$name" > "$folder/$name.txt" || {
        echo "$name.c: valgrind has something to tell, or the program has failed" >&2
        exit 1
    }
    diff "$tests/$name.txt" "$folder/$name.txt"
    echo "ok $name.c uses the memory that it was given, and gives its own back"
done
