#!/usr/bin/env python3
"""Compiles PTX files with both compilers and checks the results of both.

usage: run.py [--program ORIOLE] [--tools FOLDER] [--structure CHECK.py] [--cache FOLDER] [--levels 0,3] [--chips own] FILE.ptx[.zst] ...

Each file is compiled for its own target, and for those that --chips names; in the text for an earlier chip the target is replaced.
Of what both compilers accept:

  disassembler  files that nvdisasm does not read
  hazards       places that `oriole lint` finds in our code, and in ptxas's, which is taken to be right: each is a wrong fact
  structure     files in which the program of --structure (called with ptxas's cubin and ours) finds an error
  cache         files that come out different with results from the content store, filled before, read or verified

One table, a row a chip and level; what is behind each number goes to standard error. The status is 1 if there is any.
--cache keeps ptxas's cubins between runs.
"""

import argparse
import collections
import concurrent.futures
import hashlib
import itertools
import os
import pathlib
import re
import subprocess
import sys
import tempfile

CHECKS = ("disassembler", "hazards", "hazards of ptxas", "structure", "cache")
SECONDS = 300
TARGET = re.compile(rb"^(\s*\.target\s+)(sm_\w+)", re.MULTILINE)


def number(chip: str) -> int:
    return int(re.sub(r"\D", "", chip))


def text_of(path: pathlib.Path) -> bytes:
    if path.suffix == ".zst":
        return subprocess.run(["zstdcat", path], check=True, capture_output=True).stdout
    return path.read_bytes()


def ran(*command) -> subprocess.CompletedProcess:
    try:
        return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", f"more than {SECONDS} s")


def first_line(done: subprocess.CompletedProcess) -> str:
    lines = (done.stderr + done.stdout).strip().splitlines()
    return lines[0] if lines else f"status {done.returncode}"


class Case:
    """A file at a level for a chip."""

    def __init__(
        self, path: pathlib.Path, level: str, chip: str, arguments: argparse.Namespace, folder: pathlib.Path
    ):
        self.path, self.level, self.arguments = path, level, arguments
        text = text_of(path)
        target = TARGET.search(text)
        own = target[2].decode() if target else None
        self.chip = own if chip == "own" else chip
        if own and number(self.chip) < number(own):
            text = TARGET.sub(rb"\g<1>" + self.chip.encode(), text)
        self.stem = f"{hashlib.md5(text).hexdigest()}-{self.chip}-O{level}"
        self.folder = folder
        self.source = folder / f"{self.stem}.ptx"
        self.source.write_bytes(text)
        self.verdict = self.message = ""
        self.findings: dict[str, list[str]] = collections.defaultdict(list)

    def compile(self, name: str, *more) -> tuple[subprocess.CompletedProcess, pathlib.Path]:
        cubin = self.folder / f"{self.stem}.{name}.cubin"
        program = self.arguments.program
        return ran(program, "compile", "--arch", self.chip, "-O", self.level, *more, self.source, "-o", cubin), cubin

    def check(self) -> "Case":
        if self.chip is None:
            self.chip, self.verdict = "none", "no target"
            return self
        reference = (self.arguments.cache or self.folder) / f"{self.stem}.ptxas.cubin"
        if not reference.exists():
            tool = self.arguments.tools / "ptxas"
            ran(tool, f"-arch={self.chip}", f"-O{self.level}", self.source, "-o", reference)
        if not reference.exists():
            self.verdict = "refused by ptxas"
            return self
        done, cubin = self.compile("cold")
        if done.returncode not in (0, 1):
            self.findings["cache"].append(f"compiling ends with {done.returncode}: {first_line(done)}")
        self.verdict = "compiled" if done.returncode == 0 else "refused"
        self.message = first_line(done) if done.returncode == 1 else ""
        self.hazards("hazards of ptxas", reference)
        if done.returncode != 0:
            return self
        done = ran(self.arguments.tools / "nvdisasm", cubin)
        if done.returncode != 0 or done.stderr:
            self.findings["disassembler"].append(first_line(done))
        self.hazards("hazards", cubin)
        if self.arguments.structure:
            done = ran(sys.executable, self.arguments.structure, reference, cubin, "-q")
            if done.returncode != 0:
                self.findings["structure"].append(first_line(done))
        self.stored(cubin.read_bytes())
        return self

    def hazards(self, check: str, cubin: pathlib.Path) -> None:
        done = ran(self.arguments.program, "lint", cubin)
        lines = (done.stdout + done.stderr).splitlines()
        if done.returncode != 0 or lines[-1:] != ["0 hazards"]:
            self.findings[check].extend(lines or [f"status {done.returncode}"])

    def stored(self, cold: bytes) -> None:
        store = self.folder / f"{self.stem}.store"
        for mode in ("write", "read", "verify"):
            done, cubin = self.compile(mode, "--cache", mode, "--cache-dir", store)
            if done.returncode != 0:
                self.findings["cache"].append(f"{mode}: {first_line(done)}")
            elif cubin.read_bytes() != cold:
                self.findings["cache"].append(f"{mode}: other bytes")


def main() -> None:
    root = pathlib.Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, default=root / "target/release/oriole")
    parser.add_argument("--tools", type=pathlib.Path, default=root / ".oracle/nvidia/cu13/bin")
    parser.add_argument("--structure", type=pathlib.Path)
    parser.add_argument("--cache", type=pathlib.Path)
    parser.add_argument("--levels", default="0,3")
    parser.add_argument("--chips", default="own")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    os.environ["PATH"] = f"{arguments.tools}{os.pathsep}{os.environ['PATH']}"

    rows = collections.defaultdict(collections.Counter)
    wanted = list(itertools.product(arguments.files, arguments.levels.split(","), arguments.chips.split(",")))

    def checked(one: tuple[pathlib.Path, str, str]) -> Case:
        with tempfile.TemporaryDirectory() as folder:
            return Case(*one, arguments, pathlib.Path(folder)).check()

    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for case in pool.map(checked, wanted):
            row = rows[case.chip, case.level]
            row["files"] += 1
            row[case.verdict] += 1
            if case.message:
                print(f"{case.path} {case.chip} -O{case.level}: refused: {case.message}", file=sys.stderr)
            for check, findings in case.findings.items():
                # Places of hazards; a file counts once for what else can be wrong with it.
                row[check] += max(len(findings) - 1, 1) if check.startswith("hazards") else 1
                for finding in findings:
                    print(f"{case.path} {case.chip} -O{case.level}: {check}: {finding}", file=sys.stderr)

    columns = ("files", "compiled", "refused", "refused by ptxas", *CHECKS)
    print("| chip | level |" + "|".join(f" {column} " for column in columns) + "|")
    print("|---" * (len(columns) + 2) + "|")
    for (chip, level), row in sorted(rows.items()):
        print(f"| {chip} | -O{level} |" + "|".join(f" {row[column]} " for column in columns) + "|")
    total = sum(rows.values(), collections.Counter())
    print("| all | |" + "|".join(f" {total[column]} " for column in columns) + "|")
    sys.exit(any(total[check] for check in CHECKS))


if __name__ == "__main__":
    main()
