#!/usr/bin/env bash
# Editors: Neovim from Debian, the tables for Helix, the VS Code extension with packages from npm.
# reads: tools/editors tools/tree-sitter-ptx/queries tools/tree-sitter-ptx/src tools/vscode docs/editors docs/oriole.schema.json crates/lsp/src crates/lsp/Cargo.toml crates/cli/src/lsp.rs
. "$(dirname "$0")/../common.sh"
install nvim neovim
tools/editors/neovim-test.sh "$program"
python3 tools/editors/helix_test.py "$program"
tools/editors/vim-test.sh
if command -v npm >/dev/null && (cd tools/vscode && timeout 300 npm ci --no-audit --no-fund --loglevel=error); then
    (cd tools/vscode && ORIOLE=$program npm test && npm run package)
else
    echo "SKIPPED: the VS Code extension (npm or its registry is missing)"
fi
