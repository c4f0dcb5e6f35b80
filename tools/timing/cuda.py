#!/usr/bin/env python3
"""Writes launch records of the CUDA kernels that `tools/gpu/cuda/speed.py` times, for `compare.py --sample`.

    cuda.py NVCC FOLDER [--arch sm_90]

The PTX is nvcc's, the sizes are those of `speed.py`, what buffers hold is random in the same bounds. The ratios that a GPU
gave (docs/measurements.md) are in the comments of the records.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import types

HERE = pathlib.Path(__file__).resolve().parent
TYPES = {"f4": "f32", "f8": "f64", "i4": "s32", "i8": "s64", "u1": "u8", "i2": "s16", "u2": "u16", "f2": "f16"}
# H100, commit f3554d3.
MEASURED = {
    "sgemm_reg8x8": 1.003, "dgemm_reg4x4": 0.965, "stencil7": 0.677, "k_erf": 0.837, "nbody_f64": 1.066, "histo_vec": 1.072,
    "nbody": 0.751, "k_pow": 1.509, "mulmod": 1.147, "powmod": 1.100, "fft512_f64": 1.166, "sgemm_tiled32": 1.136,
    "half_ops": 1.093, "k_sin": 1.086, "k_tgamma": 1.083, "philox": 1.012, "life": 1.066, "div64": 0.993, "udiv64": 0.999,
}


def scalar(kind):
    return lambda value: (kind, value)


def cases():
    """The table of `speed.py`, with what its buffers hold as data. Only the table is read: numpy is not needed."""
    stub = types.ModuleType("numpy")
    stub.random = types.SimpleNamespace(default_rng=lambda seed: None)
    stub.int32, stub.int64, stub.float32, stub.float64 = map(scalar, ("s32", "s64", "f32", "f64"))
    sys.modules["numpy"] = stub
    text = (HERE.parent / "gpu" / "cuda" / "speed.py").read_text(encoding="utf-8")
    module = types.ModuleType("speed")
    module.__file__ = str(HERE.parent / "gpu" / "cuda" / "speed.py")
    exec(compile(text.split("class Timer:")[0], module.__file__, "exec"), module.__dict__)
    module.buffer = lambda kind, count, low=-2.0, high=2.0: (kind, count, low, high)
    module.bf16 = lambda count: lambda: ("u2", count, 0x3E80, 0x4000)
    module.rows = lambda count, each: lambda: ("rows", count + 1, each, 0)
    return module.cases()


def argument(value, seed):
    if callable(value):
        kind, count, low, high = value()
        if kind == "rows":
            return {"buffer": {"type": "s32", "iota": {"start": 0, "step": low, "count": count}}}
        if TYPES[kind][0] != "f":
            low, high = int(low), int(high)
        return {"buffer": {"type": TYPES[kind], "random": {"seed": seed, "low": low, "high": high, "count": count}}}
    return {"scalar": {"type": value[0], "value": value[1]}}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("nvcc")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--arch", default="sm_90")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    made = {}
    for source, entry, grid, block, shared, values in cases():
        if source not in made:
            ptx = arguments.folder / f"{source}.ptx"
            path = HERE.parent / "gpu" / "cuda" / f"{source}.cu"
            command = [arguments.nvcc, f"-arch={arguments.arch}", "-ptx", str(path), "-o", str(ptx)]
            made[source] = subprocess.run(command, capture_output=True, check=False).returncode == 0
        if not made[source]:
            print(f"{entry}: {source}.cu does not compile", file=sys.stderr)
            continue
        size = lambda of: [*of, 1, 1][:3] if isinstance(of, tuple) else [of, 1, 1]
        record = {"name": entry, "ptx": f"{source}.ptx", "entry": entry, "grid": size(grid), "block": size(block),
                  "shared_bytes": shared, "args": [argument(value, seed) for seed, value in enumerate(values, 1)]}
        if entry in MEASURED:
            record["comment"] = f"measured {MEASURED[entry]}"
        (arguments.folder / f"{entry}.json").write_text(json.dumps(record) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
