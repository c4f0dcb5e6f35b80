#!/usr/bin/env python3
"""Estimates the cycles of a round of the loop with most matrix instructions, for one warp, from the control words.

usage: cycles.py [--program ORIOLE] CUBIN ...

One line a cubin, of whatever compiler. Instructions issue in order: each after the stall of the one before, after the scoreboards
that it waits for, and after its unit is free. When a scoreboard is through is a guess for each operation; the unit of
matrices takes eight cycles for a large product and four for a small one, that of memory four for an access, one for a word from shared
memory. What copies are waited for counts as there, and other warps do not exist.
"""

import argparse
import pathlib
import re
import subprocess

LINE = re.compile(r"^/\*([0-9a-f]+)\*/ (?:@!?U?P\w+ )?(\S+)(.*?) ; (.*)$")
MATRIX = ("HMMA", "IMMA", "DMMA", "BMMA", "QMMA")
LARGE = re.compile(r"\.(16816|16832|1688\.F32\.TF32)")
MEMORY = {"LDSM": 4, "LDS": 1, "STS": 4, "LDGSTS": 4, "LDG": 4, "STG": 4, "SHFL": 1}
RESULTS = {"LDSM": 30, "LDS": 26, "LDG": 300, "MUFU": 22, "LDC": 30, "SHFL": 24, "I2F": 22, "F2I": 22, "F2F": 22}
RESULT, READ = 20, 12
ROUNDS, WARM = 6, 2


class Instruction:
    """An instruction with its control word."""

    def __init__(self, found: re.Match):
        self.place, self.operation, self.operands = int(found[1], 16), found[2], found[3]
        self.name = self.operation.split(".")[0]
        control = dict(part.split("=") for part in found[4].split() if "=" in part)
        self.stall = max(1, int(control.get("stall", 1)))
        self.write, self.read = control.get("write"), control.get("read")
        self.waits = [number for number in control.get("wait", "") if number.isdigit()]

    def product(self) -> int:
        if self.name not in MATRIX:
            return 0
        return 16 if self.name == "DMMA" else 8 if LARGE.search(self.operation) else 4


def hot_loop(text: str) -> list:
    """The loop with most matrix instructions; of equals the shortest."""
    functions, loops = [[]], []
    for line in text.splitlines():
        if found := LINE.match(line):
            functions[-1].append(Instruction(found))
        elif functions[-1]:
            functions.append([])
    for function in functions:
        index = {instruction.place: at for at, instruction in enumerate(function)}
        for at, instruction in enumerate(function):
            target = re.findall(r"0x([0-9a-f]+)", instruction.operands) if instruction.name == "BRA" else []
            start = index.get(int(target[-1], 16)) if target else None
            if start is not None and start <= at:
                loops.append(function[start : at + 1])
    return max(loops, key=lambda loop: (sum(it.product() > 0 for it in loop), -len(loop)), default=[])


def cycles(loop: list) -> float:
    """Cycles of a round, after some."""
    through, products, memory, time, begin = {}, 0, 0, 0, 0
    for at in range(ROUNDS):
        if at == WARM:
            begin = time
        for instruction in loop:
            time = max([time, *(through.get(number, 0) for number in instruction.waits)])
            if busy := instruction.product():
                time = max(time, products)
                products = time + busy
            if busy := MEMORY.get(instruction.name):
                time = max(time, memory)
                memory = time + busy
            late = RESULTS.get(instruction.name, RESULT)
            if instruction.write and instruction.name != "LDGDEPBAR":
                through[instruction.write] = max(through.get(instruction.write, 0), time + late)
            if instruction.read:
                through[instruction.read] = max(through.get(instruction.read, 0), time + READ)
            time += instruction.stall
    return (time - begin) / (ROUNDS - WARM)


def main() -> None:
    root = pathlib.Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, default=root / "target/release/oriole")
    parser.add_argument("cubins", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    for cubin in arguments.cubins:
        text = subprocess.run([arguments.program, "dis", cubin], check=True, capture_output=True, text=True).stdout
        print(f"{cycles(hot_loop(text)):8.0f} {cubin.name}")


if __name__ == "__main__":
    main()
