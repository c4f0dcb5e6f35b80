#!/usr/bin/env bash
# Code that -O4 searched for, on a chip of each kind: the project's kernels, programs and vectors on the simulator.
# reads: crates/*/src/* crates/*/Cargo.toml crates/*/build.rs crates/cli/tests test-data/kernels test-data/conformance
. "$(dirname "$0")/../common.sh"
ORIOLE_SEARCHED=1 cargo test --package oriole-cli --test whole -- on_other_chips
