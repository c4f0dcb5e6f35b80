#!/usr/bin/env bash
# Tables whose every row NVIDIA's tools decide: words of SASS in the disassembler, targets and architectures in ptxas.
# reads: crates/sass crates/chip crates/cli/tests/families.rs test-data/ptxas/targets.txt
. "$(dirname "$0")/../common.sh"
use_oracle || { echo "SKIPPED: comparisons with NVIDIA's tools"; exit 0; }
lint_while_compiling
cargo test --package oriole-sass --package oriole-cli --test whole -- --include-ignored --exact "${tables_of_tools[@]}"
