#!/usr/bin/env bash
# Every crate from its package.
# reads: tools/packages Cargo.toml Cargo.lock crates/*/Cargo.toml crates/*/build.rs
. "$(dirname "$0")/../common.sh"
tools/packages/check.sh
