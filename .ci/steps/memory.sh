#!/usr/bin/env bash
# The C library's memory: valgrind, AddressSanitizer, ThreadSanitizer, Miri.
# reads: tools/memory crates/c-api crates/memory-functions crates/facade/src Cargo.lock
. "$(dirname "$0")/../common.sh"
install valgrind valgrind
tools/memory/run.sh
tools/memory/sanitize.sh
tools/memory/miri.sh
rm -rf target/asan target/tsan target/miri
