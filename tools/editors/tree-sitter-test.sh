#!/usr/bin/env bash
# Checks tools/tree-sitter-ptx with the command line of tree-sitter: the generated parser is that of the grammar, its tests pass,
# it parses all PTX of the repository without an error, and the query of colours is one of this grammar.
#
#   tools/editors/tree-sitter-test.sh [FOLDER...]
#
# PTX in the folders is parsed as well. Without tree-sitter (`npm ci` in the folder, or on the path) it says SKIPPED.
set -euo pipefail
root="$(cd "$(dirname "$0")/../.." && pwd)"
package="$root/tools/tree-sitter-ptx"
PATH="$package/node_modules/.bin:$PATH"
if ! tree-sitter --version >/dev/null 2>&1; then
    echo "SKIPPED: no tree-sitter"
    exit 0
fi
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cp -r "$package/grammar.js" "$package/tree-sitter.json" "$package/package.json" "$package/queries" "$package/test" "$folder/"
cd "$folder"
# The version of the interface that Neovim 0.7 and later versions read.
tree-sitter generate --abi 14
if ! diff -rq "$folder/src" "$package/src"; then
    echo "FAILED: tools/tree-sitter-ptx/src is not what grammar.js gives: run npm run generate there" >&2
    exit 1
fi
tree-sitter test > tests.log 2>&1 || { cat tests.log; exit 1; }
# This file ends in the middle of a body, which is what it is for.
find "$root/test-data" "$@" -name '*.ptx' ! -name unterminated.ptx | sort > files
tree-sitter parse --quiet --paths files > parsed.log 2>&1 || true
if grep -E 'ERROR|MISSING' parsed.log; then
    echo "FAILED: these files are not parsed" >&2
    exit 1
fi
tree-sitter query queries/highlights.scm "$root/test-data/kernels/control.ptx" > colours.log 2>/dev/null
grep -q 'keyword.operator' colours.log
echo "tree-sitter: $(wc -l < files) files of PTX are parsed"
