"""Kernels as Numba's users write them, each with its signature, and a kernel of CuPy; nothing here knows of a compiler."""

import math

from numba import cuda, float32, float64, int32

TILE = 16


def saxpy(out, a, x, y):
    at = cuda.grid(1)
    if at < out.size:
        out[at] = a * x[at] + y[at]


def waves(out, x):
    at = cuda.grid(1)
    if at < out.size:
        out[at] = math.sin(x[at]) * math.exp(-x[at]) + math.sqrt(x[at])


def histogram(bins, values):
    at = cuda.grid(1)
    step = cuda.gridsize(1)
    while at < values.size:
        cuda.atomic.add(bins, values[at] % bins.size, 1)
        at += step


def product(c, a, b):
    left = cuda.shared.array((TILE, TILE), float32)
    right = cuda.shared.array((TILE, TILE), float32)
    row, column = cuda.grid(2)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for tile in range(a.shape[1] // TILE):
        left[x, y] = a[row, tile * TILE + y]
        right[x, y] = b[tile * TILE + x, column]
        cuda.syncthreads()
        for at in range(TILE):
            total += left[x, at] * right[at, y]
        cuda.syncthreads()
    c[row, column] = total


def warp_sum(out, values):
    value = values[cuda.grid(1)]
    for distance in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, distance)
    if cuda.laneid == 0:
        cuda.atomic.add(out, 0, value)


NUMBA = {
    "saxpy": (saxpy, (float32[:], float32, float32[:], float32[:])),
    "waves": (waves, (float64[:], float64[:])),
    "histogram": (histogram, (int32[:], int32[:])),
    "product": (product, (float32[:, :], float32[:, :], float32[:, :])),
    "warp_sum": (warp_sum, (float32[:], float32[:])),
}

CUPY = """
extern "C" __global__ void scale(float *out, const float *in, float factor, int count) {
    int at = blockDim.x * blockIdx.x + threadIdx.x;
    if (at < count) out[at] = factor * in[at];
}
"""
