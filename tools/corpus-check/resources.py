#!/usr/bin/env python3
"""What both compilers take and give, file by file: CPU time, memory, registers, spilled bytes.

usage: resources.py [--program ORIOLE] [--tools FOLDER] [--levels 3] [--kernels N] FILE.ptx[.zst] ...

Each file is compiled for its own target, by one thread of each compiler, with `-v` (and `-c` where functions of other files are
called). One table, a row a folder and level:

  CPU, memory   ours over ptxas's, geometric means over files; the worst file's memory beside it
  registers     ours over ptxas's, geometric mean over kernels, and how many kernels take more by eight or more
  warps         kernels that hold fewer warps on a multiprocessor than ptxas's, and more, as far as registers bound them
  spills        kernels that spill with ours and with ptxas, and the bytes stored by both

Kernels with more spilled bytes or fewer warps than ptxas's, up to --kernels of them, are listed behind it, worst first.
"""

import argparse
import collections
import concurrent.futures
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TARGET = re.compile(rb"^\s*\.target\s+(sm_(\d+)\w*)", re.MULTILINE)
FUNCTION = re.compile(r"Function properties for (\S+)")
SPILLS = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")
REGISTERS = re.compile(r"Used (\d+) registers")
ENTRY = re.compile(r"Compiling entry function '([^']+)'")
# Registers of a multiprocessor, and what they are given out in: for a warp, by 256.
FILE_OF_REGISTERS, UNIT = 65536, 256
SECONDS = 600


def text_of(path: pathlib.Path) -> bytes:
    if path.suffix == ".zst":
        return subprocess.run(["zstdcat", path], check=True, capture_output=True).stdout
    return path.read_bytes()


def measured(*command) -> tuple[int, str, float, int]:
    """Status, output, seconds of CPU and peak memory in KiB of a program."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen([str(part) for part in command], stdout=output, stderr=output)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode(errors="replace")
    return process.returncode, text, used.ru_utime + used.ru_stime, used.ru_maxrss


def kernels_of(text: str) -> dict[str, tuple[int, int]]:
    """Registers and bytes stored to spill of each kernel, from the lines of `-v`. Functions that it calls count as the kernel's."""
    found, entry, stored = {}, None, 0
    for line in text.splitlines():
        if match := ENTRY.search(line):
            entry, stored = match[1], 0
        elif match := SPILLS.search(line):
            stored += int(match[1])
        elif (match := REGISTERS.search(line)) and entry:
            found[entry] = (int(match[1]), stored)
    return found


def warps(registers: int, most: int) -> int:
    return min(most, FILE_OF_REGISTERS // (-(-registers * 32 // UNIT) * UNIT)) // 4 * 4


def compared(path: pathlib.Path, level: str, arguments: argparse.Namespace):
    text = text_of(path)
    target = TARGET.search(text)
    if target is None:
        return None
    chip, number = target[1].decode(), int(target[2])
    chip = chip if number >= 75 else "sm_75"
    most = {75: 32, 86: 48, 87: 48, 89: 48, 110: 48, 120: 48, 121: 48}.get(max(number, 75), 64)
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = pathlib.Path(folder, "in.ptx"), pathlib.Path(folder, "out.cubin")
        source.write_bytes(text)
        options = ["-v", f"-O{level}", "-arch", chip, source, "-o", cubin]
        for more in ([], ["-c"]):
            results = [
                measured(*command, *more, *options)
                for command in ((arguments.program, "ptxas"), (arguments.tools / "ptxas",))
            ]
            if all(status == 0 for status, *_ in results):
                break
    ours, theirs = results
    if ours[0] or theirs[0]:
        return path, level, most, None, (ours[0], theirs[0], (ours if ours[0] else theirs)[1].strip().splitlines()[:1])
    return path, level, most, ours, theirs


def mean(values: list[float]) -> str:
    return f"{math.exp(sum(map(math.log, values)) / len(values)):.3f}" if values else "-"


def main() -> None:
    root = pathlib.Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, default=root / "target/release/oriole")
    parser.add_argument("--tools", type=pathlib.Path, default=root / ".oracle/nvidia/cu13/bin")
    parser.add_argument("--levels", default="3")
    parser.add_argument("--kernels", type=int, default=30)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()

    rows = collections.defaultdict(lambda: collections.defaultdict(list))
    worse = []
    wanted = [(path, level) for path in arguments.files for level in arguments.levels.split(",")]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for result in pool.map(lambda one: compared(*one, arguments), wanted):
            if result is None:
                continue
            path, level, most, ours, theirs = result
            row = rows[path.parent.name, level]
            if ours is None:
                row["refused"].append(path)
                print(f"{path} -O{level}: ours {theirs[0]}, ptxas {theirs[1]}: {theirs[2]}", file=sys.stderr)
                continue
            row["cpu"].append(ours[2] / max(theirs[2], 1e-3))
            row["memory"].append(ours[3] / theirs[3])
            reference = kernels_of(theirs[1])
            for name, (registers, stored) in kernels_of(ours[1]).items():
                if name not in reference:
                    continue
                wanted_registers, wanted_stored = reference[name]
                holds, held = warps(registers, most), warps(wanted_registers, most)
                row["registers"].append(registers / wanted_registers)
                row["more"].append(registers >= wanted_registers + 8)
                row["fewer"].append(holds < held)
                row["greater"].append(holds > held)
                row["stored"].append(stored)
                row["reference"].append(wanted_stored)
                if stored > wanted_stored or holds < held:
                    worse.append((stored - wanted_stored, held / holds, path, level, name, registers, wanted_registers, stored, wanted_stored))

    print("| source | level | files | refused | CPU | memory | worst | kernels | registers | 8 more | fewer warps | more warps | spill | ptxas's | bytes | ptxas's |")
    print("|---" * 16 + "|")
    total = collections.defaultdict(list)
    for (source, level), row in [*sorted(rows.items()), (("all", ""), total)]:
        if row is not total:
            for key, values in row.items():
                total[key].extend(values)
        stored, reference = row["stored"], row["reference"]
        cells = (
            source, level and f"-O{level}", len(row["cpu"]), len(row["refused"]), mean(row["cpu"]), mean(row["memory"]),
            f"{max(row['memory'], default=0):.2f}", len(stored), mean(row["registers"]), sum(row["more"]), sum(row["fewer"]),
            sum(row["greater"]), sum(map(bool, stored)), sum(map(bool, reference)), sum(stored), sum(reference),
        )  # fmt: skip
        print("|" + "|".join(f" {cell} " for cell in cells) + "|")
    worse.sort(key=lambda kernel: kernel[:2], reverse=True)
    for _, _, path, level, name, registers, wanted, stored, wanted_stored in worse[: arguments.kernels]:
        print(f"{path.parent.name}/{path.name} -O{level} {name}: {registers} registers, {stored} bytes; ptxas {wanted}, {wanted_stored}")


if __name__ == "__main__":
    main()
