#!/usr/bin/env bash
# Third-party crates: licences, sources, versions, advisories (cargo-deny from crates.io).
# reads: Cargo.lock Cargo.toml .cargo/deny.toml crates/*/Cargo.toml tools/xtask/Cargo.toml
. "$(dirname "$0")/../common.sh"
# PyPI has 0.14.2, which cannot read the names that cargo has given packages since 1.77. Unoptimized it is built in a minute.
if ! target/deny/bin/cargo-deny --version >/dev/null 2>&1; then
    timeout 600 cargo install --quiet --locked --debug --root target/deny --target-dir target/deny/build cargo-deny@0.20.2 || \
        { echo "SKIPPED: third-party crates (cargo-deny cannot be installed)"; exit 0; }
    rm -rf target/deny/build
fi
# A crate that is excused and need not be is a warning.
target/deny/bin/cargo-deny check -D warnings licenses bans sources
if timeout 120 target/deny/bin/cargo-deny fetch db 2>/dev/null; then
    target/deny/bin/cargo-deny check --disable-fetch advisories
else
    # It says nothing of this tree, so that it does not keep the step from being passed.
    echo "advisories are not looked at: their database, github.com/RustSec/advisory-db, cannot be had"
fi
