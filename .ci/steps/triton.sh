#!/usr/bin/env bash
# Triton with Oriole as its ptxas: from PyPI.
# reads: tools/clients crates/*/src/* crates/*/Cargo.toml crates/*/build.rs
. "$(dirname "$0")/../common.sh"
if python3 -m venv .oracle/triton && .oracle/triton/bin/pip install --quiet --disable-pip-version-check triton==3.9.0 numpy; then
    .oracle/triton/bin/python tools/clients/triton_compile.py "$program" --with-line-info
else
    echo "SKIPPED: Triton (PyPI is missing)"
fi
