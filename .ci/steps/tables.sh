#!/usr/bin/env bash
# Tables whose every row NVIDIA's tools decide: words of SASS in the disassembler, targets and architectures in ptxas. The words are those of
# `cargo xtask guard-data all` and random ones. And the checks of ptxas's code for all chips, which a plain run has for some by turns.
# reads: crates/sass crates/chip crates/latency crates/schedule crates/simulate crates/cli/tests/families.rs test-data/ptxas/targets.txt test-data/kernels/*.ptx tools/xtask/src/guard_data.rs tools/xtask/src/oracle.rs
. "$(dirname "$0")/../common.sh"
use_oracle || { echo "SKIPPED: comparisons with NVIDIA's tools"; exit 0; }
lint_while_compiling
cargo xtask guard-data all
cargo test --package oriole-sass --package oriole-cli --test whole -- --include-ignored --exact "${tables_of_tools[@]}"
cargo test --package oriole-sass --package oriole-schedule --package oriole-simulate --test whole --test machine -- \
    --include-ignored cubins::words_ foreign_code::
