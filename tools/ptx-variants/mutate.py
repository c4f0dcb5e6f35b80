#!/usr/bin/env python3
"""Compares the checker with an outside PTX compiler on files in which one token is changed.

    cargo build --release -p oriole-hir --examples
    tools/ptx-variants/mutate.py --outside PATH/ptxas --checker target/release/examples/check [--count 2000] [--seed 1]
        [--list FILE] FILE.ptx...

It is here for what stands around instructions and has no table: words that are missing, doubled, exchanged, or replaced by
another word of the same file. The summary says how many verdicts agree, and of the files that both refuse how many are
refused at the same first line; `--list` writes the differences: who refuses, file, line, mutation, messages.
"""

import argparse
import concurrent.futures
import pathlib
import random
import re
import subprocess
import tempfile

import judge

TOKEN = re.compile(r"//[^\n]*|/\*.*?\*/|\"[^\"]*\"|[%$.]?\w+(?:::\w+)*|\s+|.", re.S)
NUMBERS = ["0", "-1", "1.5", "4294967296", "18446744073709551615", "0f3F800000"]


def tokens(text):
    """The tokens of a text, white space and comments among them."""
    return TOKEN.findall(text)


def solid(token):
    return not token.isspace() and not token.startswith(("//", "/*"))


def mutated(text, choice):
    """A text with one token changed; the line of the change, and what was done."""
    parts = tokens(text)
    places = [at for at, part in enumerate(parts) if solid(part)]
    # The last lines of a long file are as likely as the first.
    at = choice.choice(places)
    line = "".join(parts[:at]).count("\n") + 1
    old = parts[at]
    kind = choice.choice(["drop", "double", "swap", "other", "other", "number", "word"])
    if kind == "drop":
        new = ""
    elif kind == "double":
        new = f"{old} {old}"
    elif kind == "swap":
        behind = next((place for place in places if place > at), at)
        new, parts[behind] = parts[behind], old
    elif kind == "number":
        new = choice.choice(NUMBERS)
    elif kind == "word":
        same = [part for part in parts if solid(part) and part[0] == old[0]]
        new = choice.choice(same)
    else:
        new = parts[choice.choice(places)]
    parts[at] = new
    return "".join(parts), line, f"{kind} {old!r} -> {new!r}"


def first_line(messages, pattern):
    lines = [int(match.group(1)) for match in (re.search(pattern, message) for message in messages) if match]
    return min(lines, default=None)


def compare(outside, checker, file, text, line, what):
    """Both verdicts on a text."""
    target = re.search(r"\.target\s+(\w+)", text)
    chip = judge.chip(target.group(1)) if target and re.search(r"\d", target.group(1)) else "sm_90"
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "in.ptx"
        path.write_text(text)
        command = [outside, "-arch", chip, "-O0", str(path), "-o", f"{folder}/out"]
        try:
            run = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60)
        except subprocess.TimeoutExpired:
            return None
        theirs = [m for m in (run.stdout + run.stderr).splitlines() if re.search(r"\berror\b|\bfatal\b", m)]
        if run.returncode != 0 and not theirs:
            return None
        own = subprocess.run([checker, str(path)], capture_output=True, text=True, errors="replace").stdout
        ours = [m for m in own.splitlines() if re.search(r":\d+: error", m)]
    lines = (first_line(theirs, r", line (\d+);"), first_line(ours, r":(\d+): error"))
    return (run.returncode != 0, bool(ours), lines, f"{file}:{line}: {what}", theirs[:1], ours[:1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--outside", required=True)
    parser.add_argument("--checker", required=True)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--list")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    choice = random.Random(options.seed)
    texts = {name: pathlib.Path(name).read_text(errors="replace") for name in options.files}
    cases = []
    for _ in range(options.count):
        name = choice.choice(options.files)
        cases.append((name, *mutated(texts[name], choice)))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        found = list(pool.map(lambda case: compare(options.outside, options.checker, *case), cases))
    judged = [answer for answer in found if answer]
    equal = [answer for answer in judged if answer[0] == answer[1]]
    refused = [answer for answer in equal if answer[0]]
    same = [answer for answer in refused if answer[2][0] is None or answer[2][0] == answer[2][1]]
    print(f"{len(judged)} of {len(cases)} judged; {len(equal)} verdicts agree ({100 * len(equal) / max(len(judged), 1):.1f} %)")
    print(f"{len(refused)} refused by both, {len(same)} at the same line ({100 * len(same) / max(len(refused), 1):.1f} %)")
    if options.list:
        with open(options.list, "w") as out:
            for theirs, ours, lines, where, a, b in judged:
                if theirs != ours:
                    print("outside refuses" if theirs else "checker refuses", where, a, b, file=out)
                elif theirs and lines[0] is not None and lines[0] != lines[1]:
                    print("lines", lines, where, a, b, file=out)


if __name__ == "__main__":
    main()
