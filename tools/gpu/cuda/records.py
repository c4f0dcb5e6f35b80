#!/usr/bin/env python3
"""Launch records of the kernels of `suite.py`, for `oriole run` and the timing model.

    records.py INTO [--threads N] [--nvcc NVCC] [--include FOLDER] [--arch sm_90]

compiles the sources to PTX with nvcc and writes them to INTO with one record for each launch, without expectations: the results of two
compilers are to be compared. N is about the count of threads of a launch, a power of two. FOLDER has headers that nvcc does not find itself.
"""
import argparse
import json
import pathlib
import random
import struct
import subprocess
import sys

import suite

HERE = pathlib.Path(__file__).resolve().parent


class Makers:
    """The makers of arguments of `speed.py`, without numpy."""

    def __init__(self):
        self.numbers = random.Random(1)
        self.INT = lambda value: {"scalar": {"type": "u32", "value": value}}
        self.FLOAT = lambda value: {"scalar": {"type": "u32", "value": struct.unpack("<I", struct.pack("<f", value))[0]}}
        self.DOUBLE = lambda value: {"scalar": {"type": "u64", "value": struct.unpack("<Q", struct.pack("<d", value))[0]}}

    def buffer(self, code, count, make):
        return {"buffer": {"bytes_hex": struct.pack(f"<{count}{code}", *(make() for _ in range(count))).hex()}}

    def f32(self, count, low=-2.0, high=2.0):
        return self.buffer("f", count, lambda: self.numbers.uniform(low, high))

    def f64(self, count, low=-2.0, high=2.0):
        return self.buffer("d", count, lambda: self.numbers.uniform(low, high))

    def f16(self, count):
        return self.buffer("e", count, lambda: self.numbers.uniform(0.25, 2))

    def bf16(self, count):
        return self.buffer("H", count, lambda: struct.unpack("<I", struct.pack("<f", self.numbers.uniform(0.25, 2)))[0] >> 16)

    def i32(self, count, low=0, high=2**31 - 1):
        return self.buffer("i", count, lambda: self.numbers.randint(low, high))

    def i64(self, count, low=1, high=2**62):
        return self.buffer("q", count, lambda: self.numbers.randint(low, high))

    def u8(self, count, high=255):
        return self.buffer("B", count, lambda: self.numbers.randint(0, high))

    def rows(self, count, each):
        return {"buffer": {"bytes_hex": struct.pack(f"<{count + 1}i", *(row * each for row in range(count + 1))).hex()}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("into", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=4096)
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--include", action="append", default=[])
    parser.add_argument("--arch", default="sm_90")
    options = parser.parse_args()
    options.into.mkdir(parents=True, exist_ok=True)
    seen, sources = {}, set()
    for source, entry, grid, block, shared, arguments in suite.cases(Makers(), options.threads):
        seen[entry] = seen.get(entry, 0) + 1
        sources.add(source)
        name = entry if seen[entry] == 1 else f"{entry}_{seen[entry]}"
        three = lambda shape: [*shape, 1, 1][:3] if isinstance(shape, tuple) else [shape, 1, 1]
        record = {"name": name, "ptx": f"{source}.ptx", "entry": entry, "grid": three(grid), "block": three(block), "shared_bytes": shared, "args": arguments, "expect": {}}
        (options.into / f"{name}.json").write_text(json.dumps(record) + "\n")
    for source in sorted(sources):
        out = options.into / f"{source}.ptx"
        arch = options.arch.replace("sm_", "compute_")
        headers = [f"-I{folder}" for folder in options.include]
        subprocess.run([options.nvcc, "-ptx", f"-arch={arch}", *headers, HERE / f"{source}.cu", "-o", out], check=True)
    print(f"{sum(seen.values())} records of {len(seen)} kernels in {options.into}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
