#!/usr/bin/env python3
"""Compares the checker with an outside PTX compiler on variants of every form, and on the hand-listed modules.

    cargo build --release -p oriole-hir --examples
    tools/ptx-variants/run.py --outside PATH/ptxas --checker target/release/examples/check [--part 3/29] [--list FILE]
        [--targets sm_100f,sm_103f]

`--targets` asks of the right variants of every form whether each of these targets has them, in place of everything else.
`--part k/n` takes each n-th row of the tables, from the k-th on: all parts together are some 350,000 variants. The summary
says how many verdicts agree; `--list` writes the differences, one in a line: who refuses, target, text, message. Nothing
that the outside compiler says is kept anywhere else.
"""

import argparse
import collections
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import tempfile

import forms
import judge
import modules
import variants

sys.setrecursionlimit(100000)
TABLES = pathlib.Path(__file__).resolve().parents[2] / "crates/ptx/tables"
BATCH = 600


def target(row):
    """A target that has the row."""
    chips = row.since.split()[0].split("/")[1]
    first = chips.split("+")[0]
    if first.startswith("<"):
        return "sm_60"
    number = int(first.rstrip("af"))
    return f"sm_{number}a" if first[-1] in "af" or number > 90 else "sm_90a"


def first_pass(outside, lines, chip, mode):
    """What the outside compiler finds before it makes code. A parse error hides the lines behind it: they are asked again."""
    text, first = judge.module(lines + ["add.u32 r0;"], "9.0", chip, mode)
    _, messages = outside.run(text, judge.chip(chip))
    found = [[] for _ in lines]
    stop = None
    for message in messages:
        match = re.match(r"ptxas \S+, line (\d+); (error|fatal)\s*: (.*)", message)
        at = int(match.group(1)) - first if match else -1
        if 0 <= at < len(lines):
            found[at].append(match.group(3))
            if match.group(2) == "fatal":
                stop = at
    if stop is not None and stop + 1 < len(lines):
        found = found[: stop + 1] + first_pass(outside, lines[stop + 1 :], chip, mode)
    return found


def instructions(outside, checker, part, parts, targets):
    """Differences, and how many variants were judged: right and wrong ones for a target that has the form, or right ones for
    other targets."""
    groups = collections.OrderedDict()
    for number, row in enumerate(forms.read(TABLES)):
        if number % parts != part:
            continue
        for chip in targets:
            group = groups.setdefault((chip, variants.mode(row)), {})
            group.update(dict.fromkeys(instruction.text() for instruction in variants.right(row)))
        if not targets:
            group = groups.setdefault((target(row), variants.mode(row)), {})
            group.update(dict.fromkeys(instruction.text() for instruction in variants.right(row)))
            group.update(dict.fromkeys(variants.wrong_words(row)))
            group.update(dict.fromkeys(variants.wrong_operands(row)))
    jobs = []
    for (chip, mode), texts in groups.items():
        texts = list(texts)
        jobs += [(chip, mode, texts[at : at + BATCH]) for at in range(0, len(texts), BATCH)]

    def work(job):
        chip, mode, lines = job
        return first_pass(outside, lines, chip, mode), checker.judge(lines, "9.0", chip, mode)

    total, differences, late = 0, [], collections.defaultdict(list)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for (chip, mode, lines), (theirs, ours) in zip(jobs, pool.map(work, jobs)):
            for line, their, our in zip(lines, theirs, ours):
                total += 1
                if their and not our:
                    differences.append((chip, line, their, our))
                elif our and not their:
                    # Perhaps refused only where code is made.
                    late[chip, mode].append((line, our))
    for (chip, mode), pairs in late.items():
        for at in range(0, len(pairs), BATCH):
            some = pairs[at : at + BATCH]
            for (line, our), their in zip(some, outside.judge([line for line, _ in some], "9.0", chip, mode)):
                if their == [judge.BROKE]:
                    total -= 1
                elif not their:
                    differences.append((chip, line, their, our))
    return total, differences


def whole_modules(program, checker):
    """The same for the hand-listed modules."""
    total, differences = 0, []
    with tempfile.TemporaryDirectory() as folder:
        for name, text in modules.cases():
            found = re.search(r"\.target\s+(sm_\d+[af]?)", text)
            path = pathlib.Path(folder) / "in.ptx"
            path.write_text(text)
            chip = judge.chip(found.group(1)) if found else "sm_90"
            run = subprocess.run(
                [program, "-arch", chip, "-O0", str(path), "-o", str(path.with_suffix(".out"))],
                capture_output=True, text=True, errors="replace",
            )
            if "is not defined for option 'gpu-name'" in run.stdout + run.stderr:
                continue
            own = subprocess.run([checker, str(path)], capture_output=True, text=True).stdout
            errors = [line for line in own.splitlines() if re.match(r".*?:\d+: error ", line)]
            total += 1
            if (run.returncode != 0) != bool(errors):
                differences.append((chip, name, [(run.stdout + run.stderr)[:150]] if run.returncode else [], errors))
    return total, differences


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--outside", required=True)
    parser.add_argument("--checker", required=True)
    parser.add_argument("--part", default="0/29")
    parser.add_argument("--list")
    parser.add_argument("--targets")
    options = parser.parse_args()
    part, parts = (int(word) for word in options.part.split("/"))
    outside, checker = judge.Outside(options.outside), judge.Checker(options.checker)
    everything, targets = [], options.targets.split(",") if options.targets else []
    judged = [("instructions", instructions(outside, checker, part, parts, targets))]
    if not targets:
        judged.append(("modules", whole_modules(options.outside, options.checker)))
    for name, (total, differences) in judged:
        agree = total - len(differences)
        print(f"{name}: {agree} of {total} agree, {100 * agree / max(total, 1):.2f} %")
        everything += differences
    if options.list:
        with open(options.list, "w") as out:
            for chip, text, their, our in everything:
                who = "refused outside" if their else "refused here"
                out.write(f"{who}\t{chip}\t{text}\t{(their or our)[0]}\n")


if __name__ == "__main__":
    main()
