#!/usr/bin/env python3
"""Compares our code of kernels with matrix instructions with ptxas's: instructions, registers, accesses to the frame, moves.

usage: run.py [--program ORIOLE] [--tools FOLDER] [--cache FOLDER] [--operations] FILE.ptx[.zst] ...

Each file is compiled for its own target by both compilers at -O3. One line a file that both compile and that has matrix
instructions in ptxas's code, then geometric means. Functions of a file count together: instructions and accesses are sums,
registers the most of a function. Padding is not counted. With --operations, how often each operation occurs in both follows,
for all files together. With --distance, a second table says how many instructions are between a load in the loop with most
matrix instructions and what first needs it: a reader of its registers, or of an asynchronous copy the next wait. --cache keeps
ptxas's cubins between runs.
"""

import argparse
import collections
import concurrent.futures
import hashlib
import math
import os
import pathlib
import re
import subprocess
import tempfile

LINE = re.compile(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)(.*)$")
MATRIX = ("HMMA", "IMMA", "DMMA", "BMMA", "QMMA", "HGMMA", "IGMMA", "QGMMA", "BGMMA")
LOADS = {"LDSM": "LDSM", "LDS": "LDS", "LDG": "LDG", "LDGSTS": "copies", "UTMALDG": "copies", "UBLKCP": "copies"}
WAITS = re.compile(r"DEPBAR\.LE|SYNCS\S*PHASECHK")
LABEL = re.compile(r"^(\.L\w+):")
TARGET = re.compile(r"`\((\.L\w+)\)")
WIDTHS = {"64": 2, "128": 4, "2": 2, "4": 4}
MOVES = ("MOV", "IMAD.MOV", "IMAD.MOV.U32", "CS2R", "UMOV", "R2UR", "S2R")


def text_of(path: pathlib.Path) -> bytes:
    if path.suffix == ".zst":
        return subprocess.run(["zstdcat", path], check=True, capture_output=True).stdout
    return path.read_bytes()


def hot_loop(sass: str) -> list:
    """The innermost loop with most matrix instructions: operations with their operands."""
    lines, labels, loops = [], {}, []
    for line in sass.splitlines():
        if label := LABEL.match(line):
            labels[label[1]] = len(lines)
        elif (found := LINE.match(line)) and found[1] != "NOP":
            lines.append((found[1], found[2]))
            target = TARGET.search(found[2])
            if found[1].startswith("BRA") and target and target[1] in labels:
                loops.append((labels[target[1]], len(lines)))
    counts = [(sum(op.split(".")[0] in MATRIX for op, _ in lines[a:b]), a - b, a, b) for a, b in loops]
    count, _, start, end = max(counts, default=(0, 0, 0, 0))
    return lines[start:end] if count else []


def distances(loop: list) -> dict:
    """Instructions from each load in a loop to what first needs it, in this round or the next; by kind of load."""
    found = collections.defaultdict(list)
    for at, (operation, operands) in enumerate(loop):
        kind = LOADS.get(operation.split(".")[0])
        if kind is None:
            continue
        result = re.match(r"\s*(?:P\w+, )?R(\d+)", operands)
        first = int(result[1]) if result else 0
        width = next((WIDTHS[part] for part in reversed(operation.split(".")) if part in WIDTHS), 1)
        for step in range(1, len(loop)):
            other, reads = loop[(at + step) % len(loop)]
            if kind == "copies":
                needs = WAITS.match(other)
            else:
                sources = reads if other.startswith(("ST", "RED")) else reads.split(",", 1)[-1]
                needs = any(first <= int(number) < first + width for number in re.findall(r"\bR(\d+)", sources))
            if needs:
                found[kind].append(step)
                break
    return found


class Code:
    """What a cubin holds."""

    def __init__(self, cubin: pathlib.Path, tools: pathlib.Path):
        sass = subprocess.run([tools / "nvdisasm", "-c", cubin], check=True, capture_output=True, text=True).stdout
        self.operations: collections.Counter[str] = collections.Counter()
        self.moves = 0
        self.register_moves = 0
        for line in sass.splitlines():
            found = LINE.match(line)
            if not found or found[1] == "NOP":
                continue
            operation, operands = found[1], found[2]
            self.operations[operation.split(".")[0]] += 1
            if operation in ("MOV", "IMAD.MOV", "IMAD.MOV.U32"):
                self.moves += 1
                source = operands.split(";")[0].rstrip().split(", ")[-1]
                self.register_moves += bool(re.match(r"R\d", source))
        usage = subprocess.run([tools / "cuobjdump", "-res-usage", cubin], check=True, capture_output=True, text=True)
        self.registers = max((int(n) for n in re.findall(r"REG:(\d+)", usage.stdout)), default=0)
        self.instructions = sum(self.operations.values())
        self.distances = distances(hot_loop(sass))
        self.frame = self.operations["LDL"] + self.operations["STL"]
        self.matrix = sum(self.operations[name] for name in MATRIX)


def compiled(command: list, cubin: pathlib.Path) -> bool:
    try:
        done = subprocess.run([*command, "-o", cubin], capture_output=True, timeout=300)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0 and cubin.exists()


def pair(path: pathlib.Path, arguments: argparse.Namespace, folder: pathlib.Path):
    """The codes of both compilers; a reason where one of them compiles nothing."""
    text = text_of(path)
    target = re.search(rb"\.target\s+(sm_\w+)", text)
    if not target:
        return "no target"
    name = hashlib.md5(text).hexdigest()
    source = folder / f"{name}.ptx"
    source.write_bytes(text)
    theirs = (arguments.cache or folder) / f"{name}.ptxas.cubin"
    chip = target[1].decode()
    if not theirs.exists() and not compiled([arguments.tools / "ptxas", "-O3", f"-arch={chip}", source], theirs):
        return "ptxas refuses it"
    ours = folder / f"{name}.cubin"
    if not compiled([arguments.program, "compile", source], ours):
        return "refused"
    return Code(ours, arguments.tools), Code(theirs, arguments.tools)


def mean(ratios: list) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def print_distances(names: list, codes: list) -> None:
    print("\n| file | loads | number | ptxas | least distance | ptxas | mean | ptxas |")
    print("|---|---|---|---|---|---|---|---|")
    for name, (ours, theirs) in zip(names, codes):
        for kind in sorted(ours.distances.keys() & theirs.distances.keys()):
            columns = [name, kind]
            for figure in (len, min, lambda steps: round(sum(steps) / len(steps), 1)):
                columns += [figure(ours.distances[kind]), figure(theirs.distances[kind])]
            print("| " + " | ".join(map(str, columns)) + " |")


def main() -> None:
    root = pathlib.Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, default=root / "target/release/oriole")
    parser.add_argument("--tools", type=pathlib.Path, default=root / ".oracle/nvidia/cu13/bin")
    parser.add_argument("--cache", type=pathlib.Path)
    parser.add_argument("--operations", action="store_true")
    parser.add_argument("--distance", action="store_true")
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    os.environ["PATH"] = f"{arguments.tools}{os.pathsep}{os.environ['PATH']}"

    print("| file | instructions | ptxas | ratio | registers | ptxas | frame | ptxas | register moves | ptxas | matrix | ptxas |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    refused, codes, names = [], [], []
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = pool.map(lambda path: pair(path, arguments, pathlib.Path(folder)), arguments.files)
        for path, result in zip(arguments.files, results):
            if isinstance(result, str):
                refused.append(f"{path.name}: {result}")
                continue
            ours, theirs = result
            if not theirs.matrix:
                continue
            codes.append(result)
            names.append(path.name.split(".")[0])
            columns = [path.name.split(".")[0], ours.instructions, theirs.instructions]
            columns.append(f"{ours.instructions / theirs.instructions:.3f}")
            for ours_is, theirs_is in (
                (ours.registers, theirs.registers),
                (ours.frame, theirs.frame),
                (ours.register_moves, theirs.register_moves),
                (ours.matrix, theirs.matrix),
            ):
                columns += [ours_is, theirs_is]
            print("| " + " | ".join(map(str, columns)) + " |", flush=True)
    instructions = mean([ours.instructions / theirs.instructions for ours, theirs in codes])
    registers = mean([ours.registers / theirs.registers for ours, theirs in codes])
    print(f"\n{len(codes)} files; geometric mean: instructions {instructions:.3f}, registers {registers:.3f}")
    for line in refused:
        print(line)
    if arguments.distance:
        print_distances(names, codes)
    if arguments.operations:
        ours, theirs = collections.Counter(), collections.Counter()
        for one, other in codes:
            ours.update(one.operations)
            theirs.update(other.operations)
        print()
        for name in sorted(ours | theirs, key=lambda name: theirs[name] - ours[name]):
            print(f"{name:12} {ours[name]:7} {theirs[name]:7} {ours[name] - theirs[name]:+7}")


if __name__ == "__main__":
    main()
