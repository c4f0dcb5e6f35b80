#!/usr/bin/env python3
"""Launch records of the kernels of `training.py`, for `oriole run` and the timing model. Needs Triton, and no GPU.

    records.py INTO [--arch 90] [--rows N]

compiles each kernel to PTX, as Triton would for pointers and sizes that are multiples of 16, and writes it with a record, without expectations:
the results of two compilers are to be compared.
"""
import argparse
import json
import pathlib
import random
import struct
import sys

from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile as compile_kernel

import training as k

KINDS = {"bf16": ("H", lambda r, low, high: struct.unpack("<I", struct.pack("<f", r.uniform(low, high)))[0] >> 16), "fp32": ("f", lambda r, low, high: r.uniform(low, high)),
         "i32": ("i", lambda r, low, high: r.randint(int(low), int(high))), "i8": ("b", lambda r, low, high: r.randint(int(low), int(high))), "i1": ("b", lambda r, low, high: 0)}


class Array:
    """A buffer of random numbers."""

    def __init__(self, kind, count, low=-2.0, high=2.0):
        self.kind, self.count, self.low, self.high = kind, count, low, high

    def record(self, numbers):
        code, make = KINDS[self.kind]
        return {"buffer": {"bytes_hex": struct.pack(f"<{self.count}{code}", *(make(numbers, self.low, self.high) for _ in range(self.count))).hex()}}


def cases(rows):
    """Kernel, grid, warps, arguments in order, constants. A number in the arguments is a scalar of the launch."""
    wide, n = 1024, rows * 1024
    half, single = (lambda count: Array("bf16", count)), (lambda count, **how: Array("fp32", count, **how))
    index = lambda count, most: Array("i32", count, 0, most - 1)
    flat = lambda kernel, *arguments, block=1024, warps=4: (kernel, [n // block], warps, arguments, {"BLOCK": block})
    row = lambda kernel, *arguments, c=wide, warps=4: (kernel, [rows], warps, arguments, {"C": c})
    yield flat(k.silu_mul, half(n), half(n), half(n), n)
    yield flat(k.silu_mul_backward, half(n), half(n), half(n), half(n), half(n), n)
    yield flat(k.bias_gelu, half(n), half(wide), half(n), wide, n)
    yield flat(k.add_dropout, half(n), half(n), half(n), Array("i1", n), n, 0.25, 7)
    tile = {"R": 8, "C": 64}
    tall = 256
    yield k.column_sum, [rows // 4 or 1], 4, (half(tall * rows * 16), single(rows * 16), tall, rows * 16), tile
    yield k.gelu_backward_column_sum, [rows // 4 or 1], 4, (half(tall * rows * 16), half(tall * rows * 16), half(tall * rows * 16), single(rows * 16), tall, rows * 16), tile
    yield row(k.row_sum, half(4 * n), single(rows), 4 * wide)
    yield row(k.row_softmax, half(n), half(n), wide)
    yield row(k.row_softmax_backward, half(n), half(n), half(n), wide, 0.125)
    yield row(k.online_softmax, half(4 * n), half(4 * n), 4 * wide)
    yield row(k.add_layer_norm, half(n), half(n), half(wide), half(wide), half(n), single(rows), single(rows), wide, 1e-5)
    yield row(k.layer_norm_gradient, half(n), half(wide), half(n), single(rows), single(rows), half(n), wide)
    yield row(k.rms_norm, half(4 * n), half(4 * wide), half(4 * n), 4 * wide, 1e-5)
    yield row(k.cross_entropy_gradient, half(n), index(rows, wide), half(n), wide, 0.01)
    yield flat(k.embedding, half(64 * 256), index(n // 256, 64), half(n), 256, n)
    yield flat(k.embedding_gradient, half(n), index(n // 256, 64), single(64 * 256), 256, n)
    yield flat(k.rotary, half(n), single(64), single(64), half(n), 64, n)
    yield k.swap_axes, [rows // 32 or 1, 32], 4, (half(n), half(n), rows, wide), {"R": 32, "C": 32}
    yield flat(k.concatenate, half(n), half(n), half(n), 96, 160, n)
    yield k.max_pool, [n // 4 // 512], 4, (half(n + 4 * wide), half(n // 4), wide, n // 4), {"BLOCK": 512}
    yield k.batch_statistics, [rows // 4 or 1], 4, (half(tall * rows * 16), single(rows * 16), single(rows * 16), tall, rows * 16), {"R": 32, "C": 32}
    yield flat(k.adam_step, single(n), single(n), single(n), single(n, low=0, high=2), n, 0.001, 0.9, 0.999, 1e-8)
    yield row(k.quantize_rows, half(n), Array("i8", n, -1, 1), single(rows), wide)
    yield row(k.first_of_row, half(n), single(rows), Array("i32", rows, 0, 0), wide)
    yield row(k.running_sum, half(n), half(n), wide)


def scalar(value):
    if isinstance(value, int):
        return {"scalar": {"type": "u32", "value": value}}
    return {"scalar": {"type": "u32", "value": struct.unpack("<I", struct.pack("<f", value))[0]}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("into", type=pathlib.Path)
    parser.add_argument("--arch", type=int, default=90)
    parser.add_argument("--rows", type=int, default=32)
    options = parser.parse_args()
    options.into.mkdir(parents=True, exist_ok=True)
    numbers, count = random.Random(1), 0
    for kernel, grid, warps, arguments, constants in cases(options.rows):
        names = [name for name in kernel.arg_names if name not in constants]
        kind = lambda value: f"*{value.kind}" if isinstance(value, Array) else "i32" if isinstance(value, int) else "fp32"
        signature = {name: kind(value) for name, value in zip(names, arguments)} | {name: "constexpr" for name in constants}
        even = lambda value: isinstance(value, Array) or isinstance(value, int) and value % 16 == 0
        attributes = {(kernel.arg_names.index(name),): [["tt.divisibility", 16]] for name, value in zip(names, arguments) if even(value)}
        source = ASTSource(fn=kernel, signature={name: signature[name] for name in kernel.arg_names}, constexprs=constants, attrs=attributes)
        made = compile_kernel(source, target=GPUTarget("cuda", options.arch, 32), options={"num_warps": warps})
        name = made.metadata.name
        (options.into / f"{name}.ptx").write_text(made.asm["ptx"])
        given = [value.record(numbers) if isinstance(value, Array) else scalar(value) for value in arguments]
        # Triton gives every kernel two pointers to scratch memory.
        given += [{"scalar": {"type": "u64", "value": 0}}] * (made.asm["ptx"].split(")", 1)[0].count(".param") - len(given))
        record = {"name": name, "ptx": f"{name}.ptx", "entry": name, "grid": [*grid, 1, 1][:3], "block": [32 * warps, 1, 1],
                  "shared_bytes": made.metadata.shared, "args": given, "expect": {}}
        (options.into / f"{name}.json").write_text(json.dumps(record) + "\n")
        count += 1
    print(f"{count} records in {options.into}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
