#!/usr/bin/env bash
# Drives Neovim, without a screen, as a client of `oriole lsp` with the configuration that docs/editors/neovim.md gives.
#
#   tools/editors/neovim-test.sh [ORIOLE]
#
# ORIOLE is the program, or else the newest that was built here. It is found on the path, as an installed one is; where the
# module for Neovim was installed with it, that one is taken. Without Neovim it says SKIPPED and ends well.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
root="$(cd "$here/../.." && pwd)"
# shellcheck disable=SC2012
oriole="${1:-$(ls -t "$root"/target/{release,debug}/oriole 2>/dev/null | head -n 1)}"
[ -n "$oriole" ] || { echo "there is no oriole: build it (cargo build -p oriole-cli) or name it" >&2; exit 1; }
if ! command -v nvim >/dev/null; then
    echo "SKIPPED: no neovim"
    exit 0
fi
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/lua" "$folder/home"
oriole="$(realpath "$oriole")"
module="$(dirname "$oriole")/../share/oriole/editors/oriole.lua"
[ -f "$module" ] || module="$root/docs/editors/oriole.lua"
cp "$module" "$folder/lua/"
cp "$root/test-data/kernels/control.ptx" "$folder/"
# The parser of the grammar, as docs/editors/neovim.md says.
grammar="$root/tools/tree-sitter-ptx"
if command -v cc >/dev/null; then
    mkdir -p "$folder/parser" "$folder/queries/ptx"
    cc -shared -fPIC -O1 -I "$grammar/src" -o "$folder/parser/ptx.so" "$grammar/src/parser.c"
    cp "$grammar/queries/highlights.scm" "$folder/queries/ptx/"
fi
printf 'level = 3\n' > "$folder/oriole.toml"
cd "$folder"
PATH="$(dirname "$oriole"):$PATH" HOME="$folder/home" XDG_CONFIG_HOME="$folder/home" XDG_DATA_HOME="$folder/home" \
    XDG_STATE_HOME="$folder/home" XDG_CACHE_HOME="$folder/home" \
    timeout 120 nvim --headless --clean --cmd "set runtimepath^=$folder" -c "luafile $here/neovim-test.lua" 2>&1
