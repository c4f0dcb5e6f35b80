# What `.ci/run`, `.ci/full` and the steps of the latter share; it is read by them, not run.
# shellcheck shell=bash
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# A clean clone builds everything once: what only a second build or a debugger would read is two thirds of the folder `target`.
# Many small codegen units are for second builds as well: they take a tenth more of processor time.
export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_TEST_DEBUG=0 CARGO_PROFILE_DEV_CODEGEN_UNITS=16

# The program of the tests, which steps ask.
program=${ORIOLE_PROGRAM:-$PWD/target/debug/oriole}

# The project's own crates are linted while they are compiled for tests: `.ci/rustc`. Not for programs that are handed to users.
lint_while_compiling() {
    command -v clippy-driver >/dev/null || { echo "clippy is missing: rustup component add clippy" >&2; exit 1; }
    export RUSTC_WORKSPACE_WRAPPER="$PWD/.ci/rustc" CLIPPY_ARGS=-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__
}

step() { printf '\n== %s (%d:%02d)\n' "$*" $((SECONDS / 60)) $((SECONDS % 60)); }

# Tells tests where NVIDIA's tools are, and what was made with them. Fails where they are not.
use_oracle() {
    [ -x .oracle/nvidia/cu13/bin/ptxas ] && [ -x .oracle/recorded/nvidia/cu13/bin/ptxas ] || return 1
    export ORIOLE_ORACLE="$PWD/.oracle/nvidia/cu13/bin" ORIOLE_ORACLE_RECORDED="$PWD/.oracle/recorded/nvidia/cu13/bin"
    export ORIOLE_GUARD_DATA="$PWD/.oracle/guards"
    # The same texts for tests that read any PTX.
    export ORIOLE_PTX_FILES="$ORIOLE_GUARD_DATA"
    export ORIOLE_ORACLE_VOLTA="$PWD/.oracle/older/triton/backends/nvidia/bin"
}

# Tests that compare tables with what NVIDIA's tools answer, by long questions: the step `tables` runs them.
tables_of_tools=(
    cubins::text_is_the_disassemblers
    cubins::bits_without_a_meaning_change_no_text
    cubins::random_words_read_as_the_disassembler_reads_them
    families::targets_are_compiled_for_the_architectures_that_ptxas_has
)

# install PROGRAM PACKAGE: from Debian, if it is missing and that is possible.
install() {
    command -v "$1" >/dev/null || { [ "$(id -u)" = 0 ] && \
        timeout 300 sh -c 'apt-get update && apt-get install -y --no-install-recommends "$0"' "$2" >/dev/null 2>&1; } || true
}
