#!/usr/bin/env python3
"""Removes barriers of right kernels, one at a time, and asks how many of the races are found.

    python3 tools/checks/planted.py target/release/oriole records.jsonl [--count 200] [--oracle PROGRAM]

Each line that only synchronizes threads (`bar`, `barrier`, fences, waits for mbarriers and groups of copies) of a kernel
without findings is left out once. Where `--check=races` then finds nothing, a second way decides whether there is a race:
`cargo build --release -p oriole-checks --example dense` compares all pairs of accesses. It reads records of plain
bytes; with `--oracle`, only those are taken.
"""

import argparse
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

SYNCHRONIZES = re.compile(r"^\s*(bar\.(sync|warp\.sync)|barrier\.(cta\.)?sync|barrier\.cluster\.wait|membar|fence\.(acq_rel|sc)|cp\.async\.(bulk\.)?wait_\w+)\b[^;]*;\s*$")


def runs(program, record, limit):
    """The findings of a record, and whether its results are right; None if it takes too long."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(record, file)
        file.flush()
        command = [program, "run", file.name, "--on", "interp", "--check=races,divergence", "--json"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
        except subprocess.TimeoutExpired:
            return None
    try:
        return json.loads(done.stdout)
    except ValueError:
        return None


def is_race(findings):
    return any(finding["code"] in ("check::race", "check::copy-race") for finding in findings)


def oracle(program, record):
    """Whether there is a race: True, False, or None if the second way does not know the kernel."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(record, file)
        file.flush()
        done = subprocess.run([program, file.name], capture_output=True, text=True, timeout=600)
    return {"race": True, "none": False}.get(done.stdout.strip())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("records")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=20, help="seconds for a run")
    parser.add_argument("--oracle")
    arguments = parser.parse_args()
    folder = pathlib.Path(arguments.records).parent
    places = []
    for line in open(arguments.records):
        record = json.loads(line)
        plain = all(set(arg) & {"buffer", "scalar", "alias"} for arg in record["args"]) and not record.get("bind")
        if arguments.oracle and not plain:
            continue
        if "ptx" in record:
            record["ptx_text"] = (folder / record.pop("ptx")).read_text()
        found = [n for n, text in enumerate(record["ptx_text"].splitlines()) if SYNCHRONIZES.match(text)]
        start = re.search(r"\.entry\s+" + re.escape(record["entry"]) + r"\b", record["ptx_text"])
        if start is None:
            continue
        first = record["ptx_text"][: start.start()].count("\n")
        end = record["ptx_text"].find("\n}", start.start())
        last = record["ptx_text"][:end].count("\n")
        places += [(record, n) for n in found if first <= n <= last]
    random.Random(arguments.seed).shuffle(places)
    clean = {}
    counts = {"found": 0, "found, and no race": 0, "other finding": 0, "no race": 0, "missed": 0, "not known": 0}
    tried = 0
    for record, place in places:
        if tried == arguments.count:
            break
        name = record.get("name", record["entry"])
        if name not in clean:
            whole = runs(arguments.program, record, arguments.limit)
            clean[name] = whole is not None and "error" not in whole and not is_race(whole.get("findings", []))
        if not clean[name]:
            continue
        lines = record["ptx_text"].splitlines()
        removed = lines[place].strip()
        lines[place] = ""
        changed = dict(record, ptx_text="\n".join(lines) + "\n")
        result = runs(arguments.program, changed, arguments.limit)
        if result is None:
            continue
        tried += 1
        findings = result.get("findings", [])
        if is_race(findings):
            counts["found"] += 1
            if arguments.oracle and oracle(arguments.oracle, changed) is False:
                counts["found, and no race"] += 1
                print(f"{name}:{place + 1}: {removed} -> found, and the second way says that there is no race")
            continue
        if "error" in result and findings:
            counts["other finding"] += 1
            print(f"{name}:{place + 1}: {removed} -> {result['error'][:100]}")
            continue
        race = oracle(arguments.oracle, changed) if arguments.oracle else None
        kind = {True: "missed", False: "no race", None: "not known"}[race]
        counts[kind] += 1
        if kind != "no race":
            print(f"{name}:{place + 1}: {removed} -> {kind}, {result['verdict']}")
    print(tried, "removed:", ", ".join(f"{count} {kind}" for kind, count in counts.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
