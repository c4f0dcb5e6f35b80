"""Kernels like those that a compiler of models makes for training and inference: pointwise code of rows and tiles, reductions along rows and
columns, normalization, softmax and their gradients."""
import triton
import triton.language as tl


@triton.jit
def silu_mul(x, gate, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = at < n
    a = tl.load(x + at, mask=keep, other=0).to(tl.float32)
    g = tl.load(gate + at, mask=keep, other=0).to(tl.float32)
    tl.store(out + at, (a * tl.sigmoid(a) * g).to(tl.bfloat16), mask=keep)


@triton.jit
def silu_mul_backward(x, gate, grad, dx, dgate, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = at < n
    a = tl.load(x + at, mask=keep, other=0).to(tl.float32)
    g = tl.load(gate + at, mask=keep, other=0).to(tl.float32)
    d = tl.load(grad + at, mask=keep, other=0).to(tl.float32)
    s = tl.sigmoid(a)
    tl.store(dgate + at, (d * a * s).to(tl.bfloat16), mask=keep)
    tl.store(dx + at, (d * g * (s + a * s * (1 - s))).to(tl.bfloat16), mask=keep)


@triton.jit
def bias_gelu(x, bias, out, columns, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = at < n
    v = tl.load(x + at, mask=keep, other=0).to(tl.float32) + tl.load(bias + at % columns, mask=keep, other=0).to(tl.float32)
    tl.store(out + at, (0.5 * v * (1 + tl.erf(v * 0.70710678))).to(tl.bfloat16), mask=keep)


@triton.jit
def add_dropout(x, residual, out, kept, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = at < n
    lives = tl.rand(seed, at) > p
    v = tl.load(x + at, mask=keep, other=0).to(tl.float32) / (1 - p)
    tl.store(kept + at, lives, mask=keep)
    tl.store(out + at, tl.where(lives, v, 0.0) + tl.load(residual + at, mask=keep, other=0).to(tl.float32), mask=keep)


@triton.jit
def column_sum(x, out, rows, columns, R: tl.constexpr, C: tl.constexpr):
    c = tl.program_id(0) * C + tl.arange(0, C)
    total = tl.zeros([R, C], tl.float32)
    for r in range(0, rows, R):
        row = r + tl.arange(0, R)
        at = row[:, None] * columns + c[None, :]
        total += tl.load(x + at, mask=(row[:, None] < rows) & (c[None, :] < columns), other=0, eviction_policy="evict_first").to(tl.float32)
    tl.store(out + c, tl.sum(total, axis=0), mask=c < columns)


@triton.jit
def gelu_backward_column_sum(x, grad, dx, out, rows, columns, R: tl.constexpr, C: tl.constexpr):
    c = tl.program_id(0) * C + tl.arange(0, C)
    total = tl.zeros([R, C], tl.float32)
    for r in range(0, rows, R):
        row = r + tl.arange(0, R)
        at = row[:, None] * columns + c[None, :]
        keep = (row[:, None] < rows) & (c[None, :] < columns)
        v = tl.load(x + at, mask=keep, other=0).to(tl.float32)
        g = tl.load(grad + at, mask=keep, other=0).to(tl.float32)
        d = g * (0.5 * (1 + tl.erf(v * 0.70710678)) + v * tl.exp(-0.5 * v * v) * 0.39894228)
        tl.store(dx + at, d.to(tl.bfloat16), mask=keep)
        total += tl.where(keep, d, 0)
    tl.store(out + c, tl.sum(total, axis=0), mask=c < columns)


@triton.jit
def row_sum(x, out, columns, C: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([C], tl.float32)
    for c in range(0, columns, C):
        at = c + tl.arange(0, C)
        total += tl.load(x + row * columns + at, mask=at < columns, other=0).to(tl.float32)
    tl.store(out + row, tl.sum(total))


@triton.jit
def row_softmax(x, out, columns, C: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, C)
    v = tl.load(x + row * columns + at, mask=at < columns, other=float("-inf")).to(tl.float32)
    e = tl.exp(v - tl.max(v))
    tl.store(out + row * columns + at, (e / tl.sum(e)).to(tl.bfloat16), mask=at < columns)


@triton.jit
def row_softmax_backward(y, grad, out, columns, scale, C: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, C)
    p = tl.load(y + row * columns + at, mask=at < columns, other=0).to(tl.float32)
    g = tl.load(grad + row * columns + at, mask=at < columns, other=0).to(tl.float32)
    tl.store(out + row * columns + at, (p * (g - tl.sum(p * g)) * scale).to(tl.bfloat16), mask=at < columns)


@triton.jit
def online_softmax(x, out, columns, C: tl.constexpr):
    row = tl.program_id(0)
    most = tl.full([C], float("-inf"), tl.float32)
    total = tl.zeros([C], tl.float32)
    for c in range(0, columns, C):
        at = c + tl.arange(0, C)
        v = tl.load(x + row * columns + at, mask=at < columns, other=float("-inf")).to(tl.float32)
        higher = tl.maximum(most, v)
        total = total * tl.where(most == float("-inf"), 0.0, tl.exp(most - higher)) + tl.where(v == float("-inf"), 0.0, tl.exp(v - higher))
        most = higher
    top = tl.max(most)
    whole = tl.sum(total * tl.exp(most - top))
    for c in range(0, columns, C):
        at = c + tl.arange(0, C)
        v = tl.load(x + row * columns + at, mask=at < columns, other=0).to(tl.float32)
        tl.store(out + row * columns + at, (tl.exp(v - top) / whole).to(tl.bfloat16), mask=at < columns)


@triton.jit
def add_layer_norm(x, residual, weight, bias, out, mean_out, scale_out, columns, eps, C: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, C)
    keep = at < columns
    v = tl.load(x + row * columns + at, mask=keep, other=0).to(tl.float32) + tl.load(residual + row * columns + at, mask=keep, other=0).to(tl.float32)
    mean = tl.sum(v) / columns
    d = tl.where(keep, v - mean, 0)
    scale = tl.rsqrt(tl.sum(d * d) / columns + eps)
    w = tl.load(weight + at, mask=keep, other=0).to(tl.float32)
    b = tl.load(bias + at, mask=keep, other=0).to(tl.float32)
    tl.store(mean_out + row, mean)
    tl.store(scale_out + row, scale)
    tl.store(out + row * columns + at, (d * scale * w + b).to(tl.bfloat16), mask=keep)


@triton.jit
def layer_norm_gradient(x, weight, grad, mean_in, scale_in, out, columns, C: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, C)
    keep = at < columns
    v = tl.load(x + row * columns + at, mask=keep, other=0).to(tl.float32)
    g = tl.load(grad + row * columns + at, mask=keep, other=0).to(tl.float32) * tl.load(weight + at, mask=keep, other=0).to(tl.float32)
    scale = tl.load(scale_in + row)
    n = (v - tl.load(mean_in + row)) * scale
    a = tl.sum(g) / columns
    b = tl.sum(tl.where(keep, g * n, 0)) / columns
    tl.store(out + row * columns + at, (scale * (g - a - n * b)).to(tl.bfloat16), mask=keep)


@triton.jit
def rms_norm(x, weight, out, columns, eps, C: tl.constexpr):
    row = tl.program_id(0)
    squares = tl.zeros([C], tl.float32)
    for c in range(0, columns, C):
        at = c + tl.arange(0, C)
        v = tl.load(x + row * columns + at, mask=at < columns, other=0).to(tl.float32)
        squares += v * v
    scale = tl.rsqrt(tl.sum(squares) / columns + eps)
    for c in range(0, columns, C):
        at = c + tl.arange(0, C)
        v = tl.load(x + row * columns + at, mask=at < columns, other=0).to(tl.float32)
        tl.store(out + row * columns + at, (v * scale * tl.load(weight + at, mask=at < columns, other=0).to(tl.float32)).to(tl.bfloat16), mask=at < columns)


@triton.jit
def cross_entropy_gradient(logits, labels, out, columns, scale, C: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, C)
    v = tl.load(logits + row * columns + at, mask=at < columns, other=float("-inf")).to(tl.float32)
    e = tl.exp(v - tl.max(v))
    p = e / tl.sum(e) - tl.where(at == tl.load(labels + row), 1.0, 0.0)
    tl.store(out + row * columns + at, (p * scale).to(tl.bfloat16), mask=at < columns)


@triton.jit
def embedding(table, index, out, width, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = at < n
    row = tl.load(index + at // width, mask=keep, other=0)
    tl.store(out + at, tl.load(table + row * width + at % width, mask=keep, other=0), mask=keep)


@triton.jit
def embedding_gradient(grad, index, table, width, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = at < n
    row = tl.load(index + at // width, mask=keep, other=0)
    tl.atomic_add(table + row * width + at % width, tl.load(grad + at, mask=keep, other=0).to(tl.float32), mask=keep, sem="relaxed")


@triton.jit
def rotary(q, cosine, sine, out, half, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = at < n
    c = at % (2 * half)
    other = tl.where(c < half, at + half, at - half)
    sign = tl.where(c < half, -1.0, 1.0)
    v = tl.load(q + at, mask=keep, other=0).to(tl.float32)
    w = tl.load(q + other, mask=keep, other=0).to(tl.float32)
    angle = c % half
    v = v * tl.load(cosine + angle, mask=keep, other=0) + sign * w * tl.load(sine + angle, mask=keep, other=0)
    tl.store(out + at, v.to(tl.bfloat16), mask=keep)


@triton.jit
def swap_axes(x, out, rows, columns, R: tl.constexpr, C: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)[:, None]
    c = tl.program_id(1) * C + tl.arange(0, C)[None, :]
    keep = (r < rows) & (c < columns)
    tl.store(out + c * rows + r, tl.load(x + r * columns + c, mask=keep, other=0), mask=keep)


@triton.jit
def concatenate(a, b, out, first, second, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = at < n
    row, c = at // (first + second), at % (first + second)
    left = tl.load(a + row * first + c, mask=keep & (c < first), other=0)
    right = tl.load(b + row * second + c - first, mask=keep & (c >= first), other=0)
    tl.store(out + at, tl.where(c < first, left, right), mask=keep)


@triton.jit
def max_pool(x, out, width, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = at < n
    r, c = at // (width // 2), at % (width // 2)
    best = tl.full([BLOCK], float("-inf"), tl.float32)
    for a in tl.static_range(3):
        for b in tl.static_range(3):
            y, z = 2 * r + a - 1, 2 * c + b - 1
            inside = keep & (y >= 0) & (z >= 0) & (z < width)
            best = tl.maximum(best, tl.load(x + y * width + z, mask=inside, other=float("-inf")).to(tl.float32))
    tl.store(out + at, best.to(tl.bfloat16), mask=keep)


@triton.jit
def batch_statistics(x, mean_out, square_out, rows, columns, R: tl.constexpr, C: tl.constexpr):
    c = tl.program_id(0) * C + tl.arange(0, C)[:, None]
    mean = tl.zeros([C, R], tl.float32)
    square = tl.zeros([C, R], tl.float32)
    count = tl.zeros([C, R], tl.float32)
    for r in range(0, rows, R):
        row = r + tl.arange(0, R)[None, :]
        keep = (row < rows) & (c < columns)
        v = tl.load(x + row * columns + c, mask=keep, other=0).to(tl.float32)
        count = tl.where(keep, count + 1, count)
        d = v - mean
        mean = tl.where(keep, mean + d / count, mean)
        square = tl.where(keep, square + d * (v - mean), square)
    tl.store(mean_out + c, tl.sum(mean, axis=1)[:, None], mask=c < columns)
    tl.store(square_out + c, tl.sum(square, axis=1)[:, None], mask=c < columns)


@triton.jit
def adam_step(p, g, m, v, n, rate, beta1, beta2, eps, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = at < n
    d = tl.load(g + at, mask=keep, other=0)
    a = tl.load(m + at, mask=keep, other=0) * beta1 + d * (1 - beta1)
    b = tl.load(v + at, mask=keep, other=0) * beta2 + d * d * (1 - beta2)
    tl.store(m + at, a, mask=keep)
    tl.store(v + at, b, mask=keep)
    tl.store(p + at, tl.load(p + at, mask=keep, other=0) - rate * a / (tl.sqrt(b) + eps), mask=keep)


@triton.jit
def quantize_rows(x, out, scales, columns, C: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, C)
    v = tl.load(x + row * columns + at, mask=at < columns, other=0).to(tl.float32)
    scale = tl.max(tl.abs(v)) / 127.0
    tl.store(scales + row, scale)
    q = v / (scale + 1e-12)
    tl.store(out + row * columns + at, tl.where(q < 0, q - 0.5, q + 0.5).to(tl.int8), mask=at < columns)


@triton.jit
def first_of_row(x, values, places, columns, C: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, C)
    v = tl.load(x + row * columns + at, mask=at < columns, other=float("-inf")).to(tl.float32)
    best, place = tl.max(v, axis=0, return_indices=True)
    tl.store(values + row, best)
    tl.store(places + row, place)


@triton.jit
def running_sum(x, out, columns, C: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, C)
    v = tl.load(x + row * columns + at, mask=at < columns, other=0).to(tl.float32)
    tl.store(out + row * columns + at, tl.cumsum(v), mask=at < columns)
