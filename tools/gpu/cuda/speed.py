#!/usr/bin/env python3
"""Times CUDA kernels on a GPU, assembled by two compilers.

    speed.py OURS THEIRS [--only ENTRY ...] [--rounds N] [--json FILE]

OURS and THEIRS are folders of cubins, each named as the source beside this file that it is made of. The kernels run in turns
from the same buffers, often enough to take some milliseconds; the least time of the rounds counts. What they leave the first
time is compared bit by bit: floats differ where compilers contract products and sums otherwise, which is told and no mistake.
Needs numpy, the CUDA driver and a GPU.
"""
import argparse
import ctypes
import json
import math
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import suite
from run import Driver, load_driver

M = 1 << 20
numbers = numpy.random.default_rng(1)


def buffer(kind, count, low=-2.0, high=2.0):
    """An array of random numbers, which the kernel gets in a buffer of its own."""
    kind = numpy.dtype(kind)
    if kind.kind == "f":
        return (numbers.random(count, numpy.float32) * (high - low) + low).astype(kind)
    return numbers.integers(int(low), int(high), count, dtype=kind, endpoint=True)


def f32(count, low=-2.0, high=2.0):
    return lambda: buffer("f4", count, low, high)


def f64(count, low=-2.0, high=2.0):
    return lambda: buffer("f8", count, low, high)


def f16(count):
    return lambda: buffer("f2", count, 0.25, 2)


def i32(count, low=0, high=2**31 - 1):
    return lambda: buffer("i4", count, low, high)


def i64(count, low=1, high=2**62):
    return lambda: buffer("i8", count, low, high)


def i16(count):
    return lambda: buffer("i2", count, 1, 2**15 - 1)


def u8(count, high=255):
    return lambda: buffer("u1", count, 0, high)


def bf16(count):
    return lambda: (buffer("f4", count, 0.25, 2).view("u4") >> 16).astype("u2")


def rows(count, each):
    """Where the rows of a sparse matrix begin."""
    return lambda: numpy.arange(count + 1, dtype="i4") * each


INT, LONG, FLOAT, DOUBLE = numpy.int32, numpy.int64, numpy.float32, numpy.float64


def cases():
    """Source, kernel, blocks, threads, bytes of dynamic shared memory, arguments."""
    n = 16 * M
    yield "saxpy", "saxpy", n // 256, 256, 0, [INT(n), FLOAT(1.5), f32(n), f32(n)]
    yield "saxpy", "saxpy_gridstride", 1056, 256, 0, [LONG(n), FLOAT(1.5), f32(n), f32(n)]
    yield "saxpy", "saxpy_vec4", n // 1024, 256, 0, [INT(n // 4), FLOAT(1.5), f32(n), f32(n)]
    yield "saxpy", "daxpy", n // 256, 256, 0, [INT(n), DOUBLE(1.5), f64(n), f64(n)]
    n = 4 * M
    for entry, kind, number in (("blackscholes_f32", f32, FLOAT), ("blackscholes_f64", f64, DOUBLE)):
        yield ("blackscholes", entry, n // 256, 256, 0,
               [kind(n), kind(n), kind(n, 5, 30), kind(n, 1, 100), kind(n, 0.25, 10), number(0.02), number(0.3), INT(n)])
    for entry, keys in (("bitonic_u32", i32), ("bitonic_f32", f32), ("bitonic_i64", i64)):
        yield "bitonic", entry, 2048, 512, 1024 * 16, [keys(2 * M), i32(2 * M), INT(1024)]
    yield "sha256", "sha256_unroll", M // 256, 256, 0, [i32(8 * M), i32(16 * M), INT(M)]
    yield "sha256", "sha256_loop", M // 256, 256, 0, [i32(8 * M), i32(16 * M), INT(M)]
    n = 1 << 15
    yield "nbody", "nbody", n // 256, 256, 256 * 16, [f32(4 * n), f32(4 * n), f32(4 * n), INT(n), FLOAT(0.01), FLOAT(0.001)]
    n = 1 << 13
    yield "nbody", "nbody_f64", n // 64, 64, 0, [f64(n), f64(n), f64(n), f64(n), INT(n)]
    yield ("mandelbrot", "mandel_f32", (128, 256), (16, 8), 0,
           [u8(4 * M), INT(2048), INT(2048), FLOAT(-2), FLOAT(-1.25), FLOAT(2.5 / 2048), INT(500)])
    yield ("mandelbrot", "mandel_f64", (128, 256), (16, 8), 0,
           [i32(4 * M), INT(2048), INT(2048), DOUBLE(-2), DOUBLE(-1.25), DOUBLE(2.5 / 2048), INT(200)])
    for entry, tile, kind in (("sgemm_tiled16", 16, f32), ("sgemm_tiled32", 32, f32), ("dgemm_tiled16", 16, f64), ("igemm_tiled16", 16, i32)):
        yield ("matmul_tiled", entry, (1024 // tile, 1024 // tile), (tile, tile), 0,
               [kind(M), kind(M), kind(M), INT(1024), INT(1024), INT(1024)])
    yield "matmul_tiled", "sgemm_reg8x8", (16, 16), 256, 0, [f32(4 * M), f32(4 * M), f32(4 * M), INT(2048), INT(2048)]
    yield "matmul_tiled", "dgemm_reg4x4", (32, 32), 256, 0, [f64(4 * M), f64(4 * M), f64(4 * M), INT(2048), INT(2048)]
    yield "stencil", "stencil7", (8, 32), (32, 8), 0, [f32(16 * M), f32(16 * M), INT(256), INT(256), INT(256), FLOAT(0.5), FLOAT(0.1)]
    yield "stencil", "life", (64, 256), (32, 8), 0, [u8(4 * M, 1), u8(4 * M), INT(2048), INT(2048)]
    for entry, kind in (("transpose_f32", f32), ("transpose_f64", f64), ("transpose_u8", u8), ("transpose_u16", i16)):
        yield "transpose", entry, (128, 128), (32, 8), 0, [kind(16 * M), kind(16 * M), INT(4096), INT(4096)]
    n = 16 * M
    for entry, kind, threads in (("reduce_f32", f32, 256), ("reduce_f64", f64, 256), ("reduce_i32", i32, 1024), ("reduce_i64", i64, 128)):
        yield "reduce", entry, 1056, threads, 0, [kind(n), kind(1056), INT(n)]
    yield "reduce", "reduce_smem", n // 512, 256, 1024, [f32(n), f32(n // 512), INT(n)]
    yield "reduce", "reduce_redux", n // 256, 256, 0, [i32(n), i32(4), INT(n)]
    yield "reduce", "argmax_f32", 1, 1024, 0, [f32(M), i32(1), INT(M)]
    yield "histogram", "histo256", 1056, 256, 0, [u8(64 * M), i32(256), LONG(64 * M)]
    yield "histogram", "histo_vec", 1056, 256, 0, [u8(64 * M), i32(256), INT(4 * M)]
    yield "histogram", "histo_match", n // 256, 256, 0, [i32(n, 0, 255), i32(256), INT(n)]
    n = 4 * M
    yield "int64div", "div64", n // 256, 256, 0, [i64(n), i64(n), i64(n), i64(n), INT(n)]
    yield "int64div", "udiv64", n // 256, 256, 0, [i64(n), i64(n), i64(n), i64(n), INT(n)]
    yield "int64div", "div32", n // 256, 256, 0, [i32(n), i32(n, 1), i32(n), i32(n), INT(n)]
    yield "int64div", "div16", n // 256, 256, 0, [i16(n), lambda: buffer("i2", n, 1, 127), i16(n), u8(n), INT(n)]
    yield "int64div", "mulmod", M // 256, 256, 0, [i64(M), i64(M), i64(M), LONG(1000000007), INT(M)]
    yield "int64div", "powmod", M // 256, 256, 0, [i64(M), LONG(1000003), LONG(1000000007), i64(M), INT(M)]
    yield "fft", "fft512_f32", 8192, 256, 0, [f32(8 * M), INT(0)]
    yield "fft", "fft512_f64", 4096, 256, 0, [f64(4 * M), INT(0)]
    yield "fft", "fft_radix4_step", M // 256, 256, 0, [f32(8 * M), f32(8 * M), INT(4 * M), INT(1024)]
    yield "fft", "fft_radix16_reg", 1024, 256, 0, [f32(8 * M)]
    r, each = 1 << 18, 32
    for entry, kind in (("spmv_csr_scalar_f32", f32), ("spmv_csr_scalar_f64", f64)):
        yield "spmv", entry, r // 256, 256, 0, [INT(r), rows(r, each), i32(r * each, 0, r - 1), kind(r * each), kind(r), kind(r)]
    for entry, kind in (("spmv_csr_vector_f32", f32), ("spmv_csr_vector_f64", f64)):
        yield "spmv", entry, r * 32 // 256, 256, 0, [INT(r), rows(r, each), i32(r * each, 0, r - 1), kind(r * each), kind(r), kind(r)]
    yield "spmv", "spmv_ell", r // 256, 256, 0, [INT(r), INT(each), INT(r), i32(r * each, 0, r - 1), f32(r * each), f32(r), f32(r)]
    n = 8 * M
    yield "halfmath", "half_ops", n // 256, 256, 0, [f16(n), f16(n), f16(n), INT(n)]
    yield "halfmath", "half2_ops", n // 256, 256, 0, [f16(2 * n), f16(2 * n), f16(2 * n), INT(n)]
    yield "halfmath", "bf16_ops", n // 256, 256, 0, [bf16(2 * n), bf16(2 * n), bf16(2 * n), INT(n)]
    yield "fp8cvt", "fp8_rt", n // 256, 256, 0, [f32(2 * n), i16(n), i16(n), f32(2 * n), INT(n)]
    yield "fp8cvt", "fp8_quant", n // 256, 256, 0, [f32(4 * n), i32(n), f32(1, 1, 2), INT(n)]
    yield "mersenne", "mt19937", 64, 128, 0, [i32(8192 * 624), i32(8192 * 1248), INT(1248)]
    yield "mersenne", "xorwow", 1056, 256, 0, [i32(1056 * 256 * 6), f32(1056 * 256), INT(1000)]
    yield "mersenne", "philox", M // 256, 256, 0, [i32(4 * M), INT(7), INT(M)]
    yield "mersenne", "lcg64", 1056, 256, 0, [i64(1056 * 256), f64(1056 * 256), INT(1000)]
    yield "dp4a", "dp4a_gemm", (64, 64), (16, 16), 0, [i32(M), i32(M), i32(M), INT(1024), INT(256)]
    yield "wmma", "wmma_f16", 1024, 128, 0, [f16(M), f16(M), f32(M), INT(1024), INT(1024), INT(1024)]
    yield "warpprims", "block_scan", 16384, 1024, 0, [i32(16 * M, 0, 9), i32(16384), INT(16 * M)]
    yield "localmem", "local_idx", 1, 256, 0, [i32(256 * 4096, 0, 63), f32(256), INT(4096)]
    n = 8 * M
    for entry in ("sinf", "tanf", "expf", "logf", "erff", "tgammaf", "normcdfinvf", "j0f", "cbrtf", "sinhf", "atanf", "sqrtf"):
        yield "trans_f32", f"k_{entry}", n // 256, 256, 0, [f32(n, 0.1, 0.9), INT(n)]
    for entry in ("powf", "atan2f", "fmodf", "hypotf", "__fdiv_rn"):
        yield "trans_f32", f"k_{entry}", n // 256, 256, 0, [f32(n, 0.1, 4), f32(n, 0.1, 4), INT(n)]
    n = 2 * M
    for entry in ("sin", "exp", "log", "erf", "tgamma", "cbrt", "sqrt", "j0"):
        yield "trans_f64", f"k_{entry}", n // 256, 256, 0, [f64(n, 0.1, 0.9), INT(n)]
    for entry in ("pow", "atan2", "__ddiv_rn"):
        yield "trans_f64", f"k_{entry}", n // 256, 256, 0, [f64(n, 0.1, 4), f64(n, 0.1, 4), INT(n)]
    yield from suite.cases(sys.modules[__name__], 4 * M)


class Timer:
    """A kernel of a cubin, and its time on the GPU."""

    def __init__(self, driver, folder, source, entry):
        self.driver, self.function, module = driver, ctypes.c_void_p(), ctypes.c_void_p()
        image = (folder / f"{source}.cubin").read_bytes()
        driver.call("cuModuleLoadData", ctypes.byref(module), ctypes.create_string_buffer(image, len(image)))
        driver.call("cuModuleGetFunction", ctypes.byref(self.function), module, entry.encode())

    def launch(self, grid, block, shared, pointers):
        grid, block = ([*size, 1, 1][:3] if isinstance(size, tuple) else [size, 1, 1] for size in (grid, block))
        self.driver.call("cuLaunchKernel", self.function, *grid, *block, shared, None, pointers, None)

    def milliseconds(self, times, events, *how):
        """Of one launch among so many."""
        self.driver.call("cuEventRecord", events[0], None)
        for _ in range(times):
            self.launch(*how)
        self.driver.call("cuEventRecord", events[1], None)
        self.driver.call("cuEventSynchronize", events[1])
        spent = ctypes.c_float()
        self.driver.call("cuEventElapsedTime", ctypes.byref(spent), *events)
        return spent.value / times


def measured(driver, folders, case, rounds):
    """The least milliseconds of each folder's kernel, and the words in which their results differ."""
    source, entry, grid, block, shared, arguments = case
    arrays, values, allocated = [], [], []
    for argument in arguments:
        if callable(argument):
            array, pointer = argument(), ctypes.c_uint64()
            driver.call("cuMemAlloc_v2", ctypes.byref(pointer), array.nbytes)
            arrays.append((array, pointer))
            values.append(pointer)
        else:
            values.append(ctypes.create_string_buffer(argument.tobytes(), argument.nbytes))
    pointers = (ctypes.c_void_p * len(values))(*[ctypes.addressof(value) for value in values])
    how = (grid, block, shared, pointers)
    events = [ctypes.c_void_p(), ctypes.c_void_p()]
    for event in events:
        driver.call("cuEventCreate", ctypes.byref(event), 0)
    kernels, left, least = [Timer(driver, folder, source, entry) for folder in folders], [], [math.inf] * len(folders)
    try:
        for kernel in kernels:
            for array, pointer in arrays:
                driver.call("cuMemcpyHtoD_v2", pointer, ctypes.c_void_p(array.ctypes.data), array.nbytes)
            kernel.launch(*how)
            driver.call("cuCtxSynchronize")
            results = [numpy.empty_like(array) for array, _ in arrays]
            for result, (_, pointer) in zip(results, arrays):
                driver.call("cuMemcpyDtoH_v2", ctypes.c_void_p(result.ctypes.data), pointer, result.nbytes)
            left.append(results)
        for turn in range(rounds):
            for index, kernel in enumerate(kernels):
                if turn == 0:
                    # Sorted or summed data may take another time: each starts from the same.
                    for array, pointer in arrays:
                        driver.call("cuMemcpyHtoD_v2", pointer, ctypes.c_void_p(array.ctypes.data), array.nbytes)
                    once = kernel.milliseconds(2, events, *how)
                    times = max(3, min(200, int(4 / max(once, 1e-3)))) if index == 0 else times
                least[index] = min(least[index], kernel.milliseconds(times, events, *how))
    finally:
        for _, pointer in arrays:
            driver.call("cuMemFree_v2", pointer)
    other = sum(int((a.view("u1") != b.view("u1")).sum()) for a, b in zip(*left))
    return least, other


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ours", type=pathlib.Path)
    parser.add_argument("theirs", type=pathlib.Path)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    library = load_driver()
    if library is None:
        print("no GPU here: the CUDA driver library was not found")
        return 0
    driver, ratios, said = Driver(library), [], {}
    print(f"{driver.name}\n{'kernel':<22} {'ours ms':>10} {'theirs ms':>10} {'ratio':>7}  bytes that differ")
    for case in cases():
        entry = case[1]
        if options.only and entry not in options.only:
            continue
        try:
            (ours, theirs), other = measured(driver, [options.ours, options.theirs], case, options.rounds)
        except (RuntimeError, OSError) as error:
            print(f"{entry:<22} {error}", flush=True)
            said[entry] = str(error)
            if "cuCtxSynchronize" in str(error):
                break
            continue
        ratios.append(ours / theirs)
        said[entry] = [ours, theirs, other]
        print(f"{entry:<22} {ours:>10.4f} {theirs:>10.4f} {ratios[-1]:>7.3f}  {other or ''}", flush=True)
    if ratios:
        print(f"geometric mean of {len(ratios)} ratios: {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}")
    if options.json:
        options.json.write_text(json.dumps(said))
    return 0


if __name__ == "__main__":
    sys.exit(main())
