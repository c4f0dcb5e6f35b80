#!/usr/bin/env python3
"""Compiles the PTX of launch records into folders that run.py takes, on a machine that needs no GPU.

  prepare.py RECORDS... --into DIR --with NAME=COMMAND [--with NAME=COMMAND ...] [--chip 90]

RECORDS are files of launch records or of instruction vectors, as text or packed with zstd. DIR gets `records.jsonl`, and of
each --with a folder NAME with a cubin for every text of PTX. In COMMAND, {ptx}, {cubin} and {arch} stand for the two files
and the target, say "oriole compile {ptx} --arch {arch} -o {cubin}". The target is that of the text where that is one of the
chip's, and the chip where it is an earlier one; texts that can only be for other chips are left out. What is left out and what
a compiler refuses is told at the end; the status is 1 if a compiler refused anything.
"""
import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

import vectors
from needs import lacking

TARGET = re.compile(r"^\s*\.target\s+sm_(\d+)([af]?)", re.MULTILINE)


def text_of(path):
    if path.suffix == ".zst":
        return subprocess.run(["zstd", "-dcq", path], check=True, capture_output=True, text=True).stdout
    return path.read_text(encoding="utf-8")


def records_of(path):
    text = text_of(path)
    try:
        records = [json.loads(text)]
    except ValueError:
        records = [json.loads(line) for line in text.splitlines() if line.strip()]
    for record in records:
        record = vectors.launch(record) if vectors.is_vector(record) else record
        if "ptx" in record:
            record["ptx_text"] = (path.parent / record.pop("ptx")).read_text(encoding="utf-8")
        yield record


def architecture(text, chip):
    """The target that the text is compiled for, or None if the chip runs none that it could be for."""
    found = TARGET.search(text)
    if not found or int(found[1]) > chip or (found[2] and int(found[1]) != chip):
        return None
    return f"sm_{chip}{found[2]}"


def compiled(job):
    command, ptx, cubin, arch = job
    words = [word.format(ptx=ptx, cubin=cubin, arch=arch) for word in shlex.split(command)]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0 or not cubin.exists():
        return f"{command.split()[0]}: {ptx.name}: {(done.stderr + done.stdout).strip().splitlines()[:1]}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", nargs="+", type=pathlib.Path)
    parser.add_argument("--into", required=True, type=pathlib.Path)
    parser.add_argument("--with", dest="compilers", action="append", required=True)
    parser.add_argument("--chip", type=int, default=90)
    options = parser.parse_args()
    compilers = dict(text.split("=", 1) for text in options.compilers)
    for name in ["ptx", *compilers]:
        (options.into / name).mkdir(parents=True, exist_ok=True)
    targets, left_out = {}, collections.Counter()
    with open(options.into / "records.jsonl", "w", encoding="utf-8") as out:
        for path in options.records:
            for record in records_of(path):
                text = record.pop("ptx_text")
                arch = architecture(text, options.chip)
                if arch is None:
                    left_out[path.name] += 1
                    continue
                stem = hashlib.sha256(f"{arch}\n{text}".encode()).hexdigest()[:16]
                if stem not in targets:
                    targets[stem] = arch
                    (options.into / "ptx" / f"{stem}.ptx").write_text(text, encoding="utf-8")
                # The text stays here; why a launch cannot be made goes along.
                reason = lacking(record, text)
                out.write(json.dumps({**record, "ptx": f"{stem}.ptx", **({"lacking": reason} if reason else {})}) + "\n")
    jobs = [(command, options.into / "ptx" / f"{stem}.ptx", options.into / name / f"{stem}.cubin", arch)
            for name, command in compilers.items() for stem, arch in targets.items()]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        refused = [text for text in pool.map(compiled, jobs) if text]
    for text in refused:
        print(text)
    print(f"{len(targets)} texts, {len(jobs) - len(refused)} cubins, {len(refused)} refused; for other chips: {dict(left_out)}")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
