#!/usr/bin/env bash
# Two hosts (network namespaces) that share a cache: Redis from Debian, S3 and the Remote Execution API from PyPI, HTTP, HTTPS, a folder.
# reads: crates/cloud-store crates/shared-store crates/store crates/cli/src/cache.rs crates/cli/src/arguments/cache_server.rs tools/shared-cache
. "$(dirname "$0")/../common.sh"
cargo test --quiet --package oriole-cloud-store --features clients
cargo clippy --quiet --package oriole-cloud-store --all-targets --features clients -- -D warnings
# A program of its own, so that that of the tests stays as it is.
cargo build --quiet --package oriole-cli --features cloud --target-dir target/cloud
install redis-server redis-server
install ip iproute2
install openssl openssl
python3 -m venv .oracle/servers
server() { .oracle/servers/bin/pip install --quiet --disable-pip-version-check "$@" || true; }
server 'moto[server]==5.2.5'
server buildgrid==0.4.4
python3 tools/shared-cache/two_hosts.py target/cloud/debug/oriole \
    --moto .oracle/servers/bin/moto_server --buildgrid .oracle/servers/bin/bgd
echo "not tried: bazel-remote and Buildbarn (no registry that is used here has them), GitHub's, Google's and Azure's stores"
