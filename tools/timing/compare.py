#!/usr/bin/env python3
"""Estimates the time of launches with the code of two compilers, and prints the ratios and their geometric mean.

    compare.py ORIOLE RECORD.json... [--ptxas PTXAS | --other ORIOLE] [--code ORIOLE] [--arch CHIP] [--json FILE]

ORIOLE runs the model (`oriole time`). The code of the one side is its own, or that of the program after --code; the other
side is ptxas's, or that of another build of ours. A record's comment may say `measured RATIO` and `blocks COUNT`: what a GPU
said, and how many blocks the timed grid had; the table then has the worst estimate first.
"""
import argparse
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile


def target(text):
    return re.search(r"^\s*\.target\s+(\w+)", text, re.MULTILINE)[1]


def compile_with(program, ptx, chip, out):
    """A cubin of the PTX by a ptxas or by one of our programs."""
    if pathlib.Path(program).name.startswith("ptxas"):
        command = [program, f"-arch={chip}", str(ptx), "-o", str(out)]
    else:
        command = [program, "compile", "--arch", chip, str(ptx), "-o", str(out)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def launches(path):
    text = path.read_text(encoding="utf-8")
    try:
        return [json.loads(text)]
    except json.JSONDecodeError:
        return [json.loads(line) for line in text.splitlines() if line.strip()]


def said(record, word):
    match = re.search(rf"{word} ([0-9.]+)", record.get("comment", ""))
    return float(match[1]) if match else None


def estimate(arguments, path, record, folder):
    """The answer of the model for one launch, or why there is none."""
    if "ptx" in record:
        ptx = path.parent / record["ptx"]
    else:
        ptx = folder / "text.ptx"
        ptx.write_text(record["ptx_text"], encoding="utf-8")
    chip = arguments.arch or target(ptx.read_text(encoding="utf-8"))
    cubins = [folder / "own.cubin", folder / "other.cubin"]
    for program, cubin in zip([arguments.code or arguments.oriole, arguments.ptxas or arguments.other], cubins):
        done = compile_with(program, ptx, chip, cubin)
        if done.returncode != 0:
            return f"{program}: {done.stderr.strip()[:200]}"
    launch = folder / "launch.json"
    launch.write_text(json.dumps({**record, "ptx": str(ptx.resolve())} if "ptx" in record else record), encoding="utf-8")
    command = [arguments.oriole, "time", str(launch), "--json", "--cubin", str(cubins[0]), "--against", str(cubins[1])]
    blocks = said(record, "blocks")
    if arguments.sample:
        command.append("--sample")
    if blocks:
        command += ["--blocks", str(int(blocks))]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=arguments.seconds)
    except subprocess.TimeoutExpired:
        return "takes too long"
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr.strip()[:200]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("oriole")
    parser.add_argument("records", nargs="+", type=pathlib.Path)
    parser.add_argument("--ptxas")
    parser.add_argument("--other")
    parser.add_argument("--code")
    parser.add_argument("--arch")
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=300)
    arguments = parser.parse_args()
    if not (arguments.ptxas or arguments.other):
        parser.error("--ptxas or --other is wanted")
    rows = []
    with tempfile.TemporaryDirectory() as place:
        for path in arguments.records:
            for record in launches(path):
                answer = estimate(arguments, path, record, pathlib.Path(place))
                name = record.get("name", record["entry"])
                if isinstance(answer, str):
                    print(f"{name}: {answer}", file=sys.stderr)
                    continue
                rows.append({"name": name, "ratio": answer["ratio"], "measured": said(record, "measured"),
                             "own": answer["estimate"], "other": answer["against"]})
    off = lambda row: abs(math.log(row["ratio"] / row["measured"])) if row["measured"] else -1
    rows.sort(key=lambda row: (-off(row), -row["ratio"]))
    print(f"{'launch':<32} {'cycles':>12} {'other':>12} {'ratio':>7} {'measured':>8}  bounds")
    for row in rows:
        own, other = row["own"], row["other"]
        measured = f"{row['measured']:8.2f}" if row["measured"] else " " * 8
        bounds = f"{own['bound']}; {other['bound']}"
        print(f"{row['name']:<32} {own['cycles']:12.0f} {other['cycles']:12.0f} {row['ratio']:7.3f} {measured}  {bounds}")
    if rows:
        mean = math.exp(sum(math.log(row["ratio"]) for row in rows) / len(rows))
        print(f"geometric mean of {len(rows)}: {mean:.3f}")
        known = [off(row) for row in rows if row["measured"]]
        if known:
            print(f"mean error against measured ratios: {math.exp(sum(known) / len(known)):.3f} times")
    if arguments.json:
        slim = [{**row, "own": {**row["own"], "lines": None}, "other": {**row["other"], "lines": None}} for row in rows]
        arguments.json.write_text(json.dumps(slim, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
