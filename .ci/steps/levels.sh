#!/usr/bin/env bash
# What tests that many chips and kernels share leave out of a plain run: every chip and -O4 on one of each kind in the simulator,
# all kernels in NVIDIA's tools, files linked for all chips.
# reads: crates/*/src/* crates/*/Cargo.toml crates/*/build.rs crates/cli/tests test-data/kernels test-data/conformance test-data/linking
. "$(dirname "$0")/../common.sh"
tests=(chips:: oracle::our_cubins oracle::line_tables linking::)
use_oracle || { echo "SKIPPED: comparisons with NVIDIA's tools"; tests=(chips::); }
lint_while_compiling
ORIOLE_THOROUGH=1 cargo test --package oriole-cli --test whole -- "${tests[@]}" \
    $([ ${#tests[@]} = 1 ] || echo --include-ignored)
