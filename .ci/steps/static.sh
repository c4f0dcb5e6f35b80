#!/usr/bin/env bash
# The static program: musl-gcc from Debian, Rust's library for musl from rustup.
# reads: tools/static .cargo Cargo.toml Cargo.lock crates/memory-functions crates/cli/Cargo.toml crates/cli/build.rs crates/cli/src/main.rs
. "$(dirname "$0")/../common.sh"
tools/static/check.sh "$program"
rm -rf "${CARGO_TARGET_DIR:-target}/x86_64-unknown-linux-musl"
