#!/usr/bin/env bash
# The tree-sitter grammar: the generated parser is that of grammar.js and parses all PTX, where the command line of tree-sitter is installed.
# reads: tools/tree-sitter-ptx tools/editors/tree-sitter-test.sh
. "$(dirname "$0")/../common.sh"
tools/editors/tree-sitter-test.sh
