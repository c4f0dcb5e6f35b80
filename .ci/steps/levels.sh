#!/usr/bin/env bash
# What tests that many chips and kernels share leave out of a plain run: every chip and -O4 on one of each kind in the simulator,
# all kernels with each clever part turned off, all kernels in NVIDIA's tools, files linked for all chips.
# reads: crates/*/src/* crates/*/Cargo.toml crates/*/build.rs crates/cli/tests test-data/kernels test-data/conformance test-data/linking
. "$(dirname "$0")/../common.sh"
own=(chips:: conformance::own_kernels conformance::vectors_on_a_perturbed cli::own_cubins)
tests=("${own[@]}" oracle::our_cubins oracle::line_tables linking::)
use_oracle || { echo "SKIPPED: comparisons with NVIDIA's tools"; tests=("${own[@]}"); }
lint_while_compiling
ORIOLE_THOROUGH=1 cargo test --package oriole-cli --test whole -- "${tests[@]}" \
    $([ ${#tests[@]} = ${#own[@]} ] || echo --include-ignored)
