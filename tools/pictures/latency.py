#!/usr/bin/env python3
"""Draws docs/pictures/latency.svg: time from a keystroke to new SASS, next to a run of ptxas on the same kernel.

    tools/pictures/latency.py            writes the picture
    tools/pictures/latency.py --check    fails if it is not up to date

The figures are the rows of docs/measurements.md that begin with "keystroke to updated SASS" and "kernel of".
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs/pictures/latency.svg"
ROW = re.compile(r"\| (?:keystroke to updated SASS, )?kernel of ([\d,]+) instructions[^|]*\| (\d+) ms \((\d+) ms\) \|")
WIDTH, LEFT, BAR, GAP, SCALE = 760, 190, 16, 22, 1.9


def draw(rows):
    height = 58 + len(rows) * (2 * BAR + GAP)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
        ' role="img" aria-label="Milliseconds from a keystroke to new SASS, and of ptxas on the same kernel">',
        "<style>text { font: 13px system-ui, sans-serif; fill: #24292f } .head { font-size: 15px; font-weight: 600 }"
        " .ours { fill: #e8590c } .theirs { fill: #8c959f }"
        " @media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .theirs { fill: #6e7681 } }</style>",
        '<text class="head" x="0" y="20">From a keystroke to new SASS (median, lower is better)</text>',
    ]
    top = 40
    for instructions, ours, theirs in rows:
        out.append(f'<text x="0" y="{top + BAR + 5}">{instructions} instructions</text>')
        for name, kind, value, y in (("Oriole", "ours", ours, top), ("ptxas", "theirs", theirs, top + BAR + 2)):
            out.append(f'<text x="{LEFT - 10}" y="{y + 13}" text-anchor="end">{name}</text>')
            out.append(f'<rect class="{kind}" x="{LEFT}" y="{y}" width="{value * SCALE:.1f}" height="{BAR}"/>')
            out.append(f'<text x="{LEFT + value * SCALE + 7:.1f}" y="{y + 13}">{value} ms</text>')
        top += 2 * BAR + GAP
    return "\n".join(out + ["</svg>", ""])


def main():
    text = (ROOT / "docs/measurements.md").read_text(encoding="utf-8")
    rows = [(name, int(ours), int(theirs)) for name, ours, theirs in ROW.findall(text)]
    assert rows, "docs/measurements.md has no rows about keystrokes"
    picture = draw(rows)
    if "--check" in sys.argv[1:]:
        sys.exit(0 if PICTURE.read_text(encoding="utf-8") == picture else f"{PICTURE} is not up to date")
    PICTURE.write_text(picture, encoding="utf-8")


main()
