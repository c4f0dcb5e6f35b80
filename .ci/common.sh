# What `.ci/run`, `.ci/full` and the steps of the latter share; it is read by them, not run.
# shellcheck shell=bash
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# A clean clone builds everything once: what only a second build or a debugger would read is two thirds of the folder `target`.
export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_TEST_DEBUG=0

# The program of the tests, which steps ask.
program=${ORIOLE_PROGRAM:-$PWD/target/debug/oriole}

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

# install PROGRAM PACKAGE: from Debian, if it is missing and that is possible.
install() {
    command -v "$1" >/dev/null || { [ "$(id -u)" = 0 ] && \
        timeout 300 sh -c 'apt-get update && apt-get install -y --no-install-recommends "$0"' "$2" >/dev/null 2>&1; } || true
}
