#!/usr/bin/env python3
"""Guesses launches of kernels that have no launch record, and keeps those that the PTX interpreter runs to the end.

  guess.py ORIOLE FILE.ptx... --into RECORDS.jsonl [--seconds S] [--jobs N]

A pointer gets a buffer, an integer a small number, a float a number near 1; what the buffers hold is tried as three types.
Nothing is expected of a launch: with `run.py --alike` cubins of several compilers must leave the same, and with
`--expected` the records say what the interpreter left, for the simulator. Left out are kernels whose parameters are
structures, and launches that fault or do not end: what is not defined tells nothing of a compiler. Kernels whose threads
race are in; the comparison shows them as different. A record names its PTX by path.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ENTRY = re.compile(r"\.entry\s+([\w$]+)\s*(?:\(([^)]*)\))?([^{;]*)\{", re.DOTALL)
PARAMETER = re.compile(r"\.param\s+(?:\.align\s+\d+\s+)?\.([a-z]\d+)([^,]*?)([\w$]+)\s*(\[\d+\])?\s*(?:,|$)", re.DOTALL)
BYTES = 1 << 16
# What buffers hold, by the number of the try.
CONTENTS = [lambda seed: {"type": "f32", "random": {"seed": seed, "low": -2, "high": 2, "count": BYTES // 4}},
            lambda seed: {"type": "u32", "random": {"seed": seed, "low": 0, "high": 31, "count": BYTES // 4}},
            lambda seed: {"type": "f16", "random": {"seed": seed, "low": -2, "high": 2, "count": BYTES // 2}}]
WHOLE = [32, 7, 64]


def bodies(text):
    """Name, parameters, directives and body of every kernel."""
    found = [*ENTRY.finditer(text)]
    for index, match in enumerate(found):
        end = found[index + 1].start() if index + 1 < len(found) else len(text)
        yield match[1], match[2] or "", match[3], text[match.end():end]


def pointers(body):
    """Parameters whose values become addresses of global memory."""
    made = set(re.findall(r"cvta\.to\.global\.u64\s+%\w+,\s*(%\w+)", body))
    return {name for register, name in re.findall(r"ld\.param\.[bus]64\s+(%\w+),\s*\[([\w$]+)\]", body) if register in made}


def arguments(parameters, body, attempt):
    addresses = pointers(body)
    for index, (kind, attributes, name, array) in enumerate(PARAMETER.findall(parameters)):
        if array:
            return
        if ".ptr" in attributes or name in addresses:
            yield {"buffer": CONTENTS[attempt](1 + index)}
        elif kind[0] == "f":
            yield {"scalar": {"type": kind, "value": 1.25}}
        else:
            yield {"scalar": {"type": kind, "value": 1 if kind[1:] == "8" else WHOLE[attempt]}}


def guesses(path):
    text = path.read_text(encoding="utf-8")
    dynamic = re.search(r"\.extern\s+\.shared", text)
    for entry, parameters, directives, body in bodies(text):
        count = parameters.count(".param")
        size = re.search(r"\.(?:reqntid|maxntid)\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?", directives)
        block = [int(part or 1) for part in size.groups()] if size else [128, 1, 1]
        for attempt in range(len(CONTENTS)):
            made = [*arguments(parameters, body, attempt)]
            if len(made) != count:
                break
            yield {"name": f"{path.stem}/{entry}/{attempt}", "ptx": str(path), "entry": entry, "grid": [2, 1, 1],
                   "block": block, "args": made, **({"shared_bytes": 48 << 10} if dynamic else {})}


def kept(oriole, seconds, expected, record):
    """The record, if the interpreter runs it in time and it changes something."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(record, file)
        file.flush()
        try:
            done = subprocess.run([oriole, "run", file.name, "--on", "interp", "--json"], capture_output=True, text=True, timeout=seconds)
        except subprocess.TimeoutExpired:
            return None
    try:
        answer = json.loads(done.stdout.splitlines()[0])
    except (ValueError, IndexError):
        return None
    if answer["verdict"] != "ran":
        return None
    if not expected:
        return record
    left = {str(index): {"bytes_hex": argument["bytes_hex"]} for index, argument in enumerate(answer["args"]) if argument}
    return {**record, "expect": left}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("oriole")
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    parser.add_argument("--into", required=True, type=pathlib.Path)
    parser.add_argument("--expected", action="store_true")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    made = [record for path in options.files for record in guesses(path.resolve())]
    count = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool, open(options.into, "w", encoding="utf-8") as out:
        for record in pool.map(lambda record: kept(options.oriole, options.seconds, options.expected, record), made):
            if record:
                count += 1
                out.write(json.dumps(record) + "\n")
    print(f"{count} launches of {len(made)} guesses")
    return 0


if __name__ == "__main__":
    sys.exit(main())
