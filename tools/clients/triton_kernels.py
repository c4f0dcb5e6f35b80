"""Kernels that triton_compile.py compiles: one a way of using the machine."""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def softmax(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * n + at, mask=at < n, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * n + at, powers / tl.sum(powers, axis=0), mask=at < n)


@triton.jit
def matmul(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    depth = tl.arange(0, K)
    total = tl.zeros((M, N), dtype=tl.float32)
    for at in range(0, k, K):
        left = tl.load(a + rows[:, None] * k + (at + depth)[None, :])
        right = tl.load(b + (at + depth)[:, None] * n + columns[None, :])
        total += tl.dot(left, right)
    tl.store(c + rows[:, None] * n + columns[None, :], total.to(tl.float16))


@triton.jit
def histogram(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out + tl.load(x + at, mask=at < n, other=0), 1, mask=at < n)


@triton.jit
def scan(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.cumsum(tl.load(x + at), axis=0))


@triton.jit
def layer_norm(x, weight, bias, out, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < n
    values = tl.load(x + row * n + at, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(values, axis=0) / n
    apart = tl.where(inside, values - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(apart * apart, axis=0) / n + eps)
    factor, offset = tl.load(weight + at, mask=inside), tl.load(bias + at, mask=inside)
    tl.store(out + row * n + at, apart * scale * factor + offset, mask=inside)


@triton.jit
def dropout(x, out, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    keep = tl.rand(seed, at) > p
    tl.store(out + at, tl.where(keep, tl.load(x + at, mask=inside) / (1 - p), 0.0), mask=inside)


@triton.jit
def attention(q, k, v, out, n, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns, depth = tl.arange(0, N), tl.arange(0, D)
    query = tl.load(q + rows[:, None] * D + depth[None, :])
    most = tl.full((M,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((M,), dtype=tl.float32)
    result = tl.zeros((M, D), dtype=tl.float32)
    for at in range(0, n, N):
        keys = tl.load(k + (at + columns)[None, :] * D + depth[:, None])
        products = tl.dot(query, keys) * scale
        larger = tl.maximum(most, tl.max(products, axis=1))
        powers = tl.exp2(products - larger[:, None])
        shrink = tl.exp2(most - larger)
        total = total * shrink + tl.sum(powers, axis=1)
        values = tl.load(v + (at + columns)[:, None] * D + depth[None, :])
        result = tl.dot(powers.to(tl.float16), values, result * shrink[:, None])
        most = larger
    tl.store(out + rows[:, None] * D + depth[None, :], (result / total[:, None]).to(tl.float16))


@triton.jit
def matmul_of_bytes(a, b, c, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, columns = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    depth = tl.arange(0, K)
    total = tl.zeros((M, N), dtype=tl.int32)
    for at in range(0, k, K):
        left = tl.load(a + rows[:, None] * k + (at + depth)[None, :])
        right = tl.load(b + (at + depth)[:, None] * n + columns[None, :])
        total = tl.dot(left, right, total)
    tl.store(c + rows[:, None] * n + columns[None, :], total)


@triton.jit
def sort(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.sort(tl.load(x + at)))


def compiler(kernel, signature, constants):
    """What compiles a kernel for a chip, by its number, and gives the cubin."""
    signature = {**signature, **{name: "constexpr" for name in constants}}

    def compile_it(arch):
        source = ASTSource(fn=kernel, signature=signature, constexprs=constants)
        return triton.compile(source, target=GPUTarget("cuda", arch, 32)).asm["cubin"]

    return compile_it


HALVES = {"a": "*fp16", "b": "*fp16", "c": "*fp16", "m": "i32", "n": "i32", "k": "i32"}

KERNELS = {
    "add": compiler(add, {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}, {"BLOCK": 1024}),
    "softmax": compiler(softmax, {"x": "*fp32", "out": "*fp32", "n": "i32"}, {"BLOCK": 2048}),
    "matmul": compiler(matmul, HALVES, {"M": 64, "N": 64, "K": 32}),
    "histogram": compiler(histogram, {"x": "*i32", "out": "*i32", "n": "i32"}, {"BLOCK": 512}),
    "scan": compiler(scan, {"x": "*fp32", "out": "*fp32"}, {"BLOCK": 512}),
    "layer_norm": compiler(
        layer_norm,
        {"x": "*fp16", "weight": "*fp32", "bias": "*fp32", "out": "*fp32", "n": "i32", "eps": "fp32"},
        {"BLOCK": 1024},
    ),
    "dropout": compiler(
        dropout, {"x": "*fp32", "out": "*fp32", "n": "i32", "p": "fp32", "seed": "i32"}, {"BLOCK": 1024}
    ),
    "attention": compiler(
        attention,
        {"q": "*fp16", "k": "*fp16", "v": "*fp16", "out": "*fp16", "n": "i32", "scale": "fp32"},
        {"M": 64, "N": 64, "D": 64},
    ),
    "matmul_of_bytes": compiler(
        matmul_of_bytes, {"a": "*i8", "b": "*i8", "c": "*i32", "n": "i32", "k": "i32"}, {"M": 64, "N": 64, "K": 64}
    ),
    "sort": compiler(sort, {"x": "*i32", "out": "*i32"}, {"BLOCK": 256}),
}
