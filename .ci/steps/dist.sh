#!/usr/bin/env bash
# What is handed to users, twice with equal bytes, and the Python package: builders from PyPI.
# reads: tools/xtask tools/vscode/package.json tools/vscode/package-lock.json .cargo Cargo.toml Cargo.lock crates/python crates/c-api crates/facade/src crates/cli/src/manual.rs crates/cli/src/arguments.rs docs/editors
. "$(dirname "$0")/../common.sh"
cargo xtask wheel --builder || { echo "SKIPPED: packages (maturin and zig are missing)"; exit 0; }
cargo xtask dist --quick --out target/dist/once
cargo xtask dist --quick --out target/dist/again >/dev/null
diff -r target/dist/once target/dist/again
cargo xtask dist --check target/dist/once
python3 -m venv target/wheel/installed
target/wheel/installed/bin/pip install --quiet --disable-pip-version-check --force-reinstall target/dist/once/*.whl
target/wheel/installed/bin/pip install --quiet --disable-pip-version-check numpy || echo "SKIPPED: numpy (PyPI is missing)"
target/wheel/installed/bin/python crates/python/tests/test_oriole.py
# As who has nothing but the archive.
installed=$(echo target/scratch/dist-check/oriole-[0-9]*/bin/oriole)
install nvim neovim
tools/editors/neovim-test.sh "$installed"
python3 tools/editors/helix_test.py "$installed"
rm -r target/dist target/scratch/dist-check
