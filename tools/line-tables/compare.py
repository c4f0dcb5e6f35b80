#!/usr/bin/env python3
"""Compares the line tables of both compilers, kernel by kernel and function by function.

usage: compare.py [--program ORIOLE] [--tools FOLDER] [--level 0] [--cache FOLDER] [--list N] FILE.ptx ...

Each file is compiled for its own target; files without `.loc` say nothing. Rows are what nvdisasm writes between instructions, inlined
code with the places of all its calls; a row that repeats the one before it is none. Where the rows of a piece of code do not follow
each other alike, the cause is the first of these without which they would:

  constants     rows of ours that hold nothing but moves of constants
  jumps         rows that hold nothing but jumps and convergence barriers, on either side
  copies        rows of ptxas that hold nothing but moves
  moves         both kinds of moves
  functions     code behind all the rest that only one of them has in that section
  other         none of these

--list shows the first N differences of each piece of code. --cache keeps ptxas's listings between runs.
"""

import argparse
import collections
import concurrent.futures
import difflib
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

PLACE = re.compile(r'File "([^"]*)", line (\d+)')
WORD = re.compile(r"/\*[0-9a-f]+\*/\s+(?:@!?U?P[T\d]+\s+)?([A-Z0-9_.]+)\s*([^;]*)")
CONSTANT = re.compile(r"^U?R\d+, (?:U?RZ|-?0x[0-9a-f]+|-?[\d.e+-]+)\s*$")
MOVES = {"MOV", "MOV.64", "UMOV", "CS2R", "CS2R.32"}
JUMPS = {"BRA", "BSYNC", "BSSY", "BSYNC.RECONVERGENT", "BSSY.RECONVERGENT"}


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=600)


def listing(tools, cubin):
    answer = run(tools / "nvdisasm", "-gi", "-c", cubin)
    return answer.stdout if answer.returncode == 0 else None


def rows(text):
    """Of each section of code its rows: a place, and the instructions there. A place that goes on from the section before it is
    not written again, so that sections begin with the last one; they say whether they have any of their own."""
    sections, code, place, chain = {}, None, None, False
    for line in text.splitlines():
        line = line.strip()
        if line.startswith(".text.") and line.endswith(":"):
            code = sections.setdefault(line[6:-1], {"rows": [], "own": False})
            chain = False
        elif line.startswith("//## ") and code is not None:
            named = " ".join(line[5:].split())
            place = f"{place} | {named}" if chain else named
            chain = "inlined at" in named
            code["own"] = True
        elif code is not None and (word := WORD.match(line)):
            chain = False
            if not code["rows"] or code["rows"][-1][0] != place:
                code["rows"].append((place, []))
            code["rows"][-1][1].append(word.groups())
    return sections


def only(instructions, opcodes):
    return all(opcode in opcodes for opcode, _ in instructions)


def constants(instructions):
    return only(instructions, MOVES) and all(CONSTANT.match(operands.strip()) for _, operands in instructions)


def jumps(instructions):
    return only(instructions, JUMPS)


def moves(instructions):
    return only(instructions, MOVES)


def nothing(_instructions):
    return False


def sequence(code, without=nothing):
    """The places of the rows, but for those that are left out."""
    places = [place for place, instructions in code if place and not without(instructions)]
    return [place for at, place in enumerate(places) if at == 0 or places[at - 1] != place]


# What is left out of ptxas's rows, and of ours.
CAUSES = {
    "constants": (nothing, constants),
    "jumps": (jumps, jumps),
    "copies": (moves, nothing),
    "moves": (moves, constants),
}


def cause(theirs, ours):
    """Why the rows are not alike, or None."""
    if sequence(theirs) == sequence(ours):
        return None
    for name, (of_theirs, of_ours) in CAUSES.items():
        if sequence(theirs, of_theirs) == sequence(ours, of_ours):
            return name
    left, right = sequence(theirs), sequence(ours)
    if left[: len(right)] == right or right[: len(left)] == left:
        return "functions"
    return "other"


def short(place):
    return " < ".join(f"{pathlib.PurePath(file).name}:{line}" for file, line in PLACE.findall(place)[:3])


def compare(path, arguments):
    text = path.read_text(errors="replace")
    target = re.search(r"^\s*\.target\s+(\w+)", text, re.M)
    if not target or not re.search(r"^\s*\.loc\s", text, re.M):
        return None
    key = hashlib.sha256(f"{target[1]} {arguments.level} {text}".encode()).hexdigest()[:32]
    kept = arguments.cache / key if arguments.cache else None
    with tempfile.TemporaryDirectory() as folder:
        cubin = pathlib.Path(folder) / "a.cubin"
        if kept and kept.exists():
            theirs = kept.read_text()
        else:
            made = run(arguments.tools / "ptxas", f"-O{arguments.level}", "-arch", target[1], path, "-o", cubin)
            theirs = listing(arguments.tools, cubin) if made.returncode == 0 else None
            if theirs is None:
                return path, "ptxas", None
            if kept:
                kept.write_text(theirs)
        cubin.unlink(missing_ok=True)
        made = run(arguments.program, "compile", f"-O{arguments.level}", "--arch", target[1], path, "-o", cubin)
        ours = listing(arguments.tools, cubin) if made.returncode == 0 else None
        if ours is None:
            return path, "ours", None
    return path, rows(theirs), rows(ours)


def differences(theirs, ours, count):
    left, right = ([row for row in code if row[0]] for code in (theirs, ours))
    matcher = difflib.SequenceMatcher(None, [place for place, _ in left], [place for place, _ in right], autojunk=False)
    for kind, *range_ in [step for step in matcher.get_opcodes() if step[0] != "equal"][:count]:
        for name, code, begin, end in (("ptxas", left, *range_[:2]), ("ours", right, *range_[2:])):
            for place, instructions in code[begin:end]:
                opcodes = " ".join(opcode for opcode, _ in instructions[:6])
                print(f"    {kind} {name} {short(place)}: {opcodes}{' ...' * (len(instructions) > 6)}")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--program", type=pathlib.Path, default="target/debug/oriole")
    parser.add_argument("--tools", type=pathlib.Path, default=os.environ.get("ORIOLE_ORACLE"))
    parser.add_argument("--level", default="0")
    parser.add_argument("--cache", type=pathlib.Path)
    parser.add_argument("--list", type=int, default=0)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.tools is None:
        sys.exit("--tools or ORIOLE_ORACLE names the folder of ptxas and nvdisasm")
    if arguments.cache:
        arguments.cache.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = list(pool.map(lambda path: compare(path, arguments), arguments.files))
    counts, causes = collections.Counter(), collections.Counter()
    for path, theirs, ours in filter(None, answers):
        if ours is None:
            counts[f"refused by {theirs}"] += 1
            continue
        counts["files"] += 1
        for name, left in theirs.items():
            right = ours.get(name, {"rows": [], "own": False})
            if not left["own"] and not right["own"]:
                continue
            counts["kernels and functions"] += 1
            named, here = ({place for place, _ in code["rows"] if place} for code in (left, right))
            counts["places of ptxas"] += len(named)
            counts["of these in ours"] += len(named & here)
            counts["places only in ours"] += len(here - named)
            why = cause(left["rows"], right["rows"])
            counts["alike"] += why is None
            if why is not None:
                causes[why] += 1
                if arguments.list:
                    print(f"{path} {name}: {why}")
                    differences(left["rows"], right["rows"], arguments.list)
    for name, count in [*counts.items(), *((f"differ by {why}", count) for why, count in causes.most_common())]:
        print(f"{count:6} {name}")


if __name__ == "__main__":
    main()
