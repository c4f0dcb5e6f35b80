#!/usr/bin/env bash
# Takes the picture of `oriole view` that the README shows: docs/pictures/view.png. Needs Chromium.
#
#   tools/pictures/view.sh [PROGRAM]      PROGRAM is target/release/oriole if left out
set -euo pipefail
cd "$(dirname "$0")/../.."
program=${1:-target/release/oriole}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$program" view test-data/kernels/reduce.ptx --kernel reduce_tree_i32 -o "$folder/page.html"
# A line of the loop is lit.
line=$(grep -n -m1 "ld.shared" test-data/kernels/reduce.ptx | cut -d: -f1)
"${CHROMIUM:-chromium}" --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1400,1150 \
    --screenshot="$folder/page.png" "file://$folder/page.html#kernel=reduce_tree_i32&line=$line" >"$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }
# A palette makes the file a third as large.
if python3 -c 'import PIL' 2>/dev/null; then
    python3 -c 'import sys, PIL.Image as I; I.open(sys.argv[1]).convert("RGB").quantize(64).save(sys.argv[1], optimize=True)' "$folder/page.png"
fi
mv "$folder/page.png" docs/pictures/view.png
