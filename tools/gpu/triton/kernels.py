"""Triton kernels of the kinds that models are made of, for speed.py: element by element, rows, products, attention."""

import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def swish_gate(x, gate, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(gate + at, mask=inside).to(tl.float32)
    left = tl.load(x + at, mask=inside).to(tl.float32)
    tl.store(out + at, left * value * tl.sigmoid(value), mask=inside)


@triton.jit
def gelu(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(x + at, mask=inside).to(tl.float32)
    tl.store(out + at, 0.5 * value * (1 + tl.erf(value * 0.7071067811865476)), mask=inside)


@triton.jit
def dropout(x, out, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    keep = tl.rand(seed, at) > p
    tl.store(out + at, tl.where(keep, tl.load(x + at, mask=inside) / (1 - p), 0.0), mask=inside)


@triton.jit
def trigonometry(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(x + at, mask=inside)
    tl.store(out + at, tl.sin(value) * tl.cos(value) + tl.sqrt(tl.abs(value)) / (1.0 + value * value), mask=inside)


@triton.jit
def polynomial(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(x + at, mask=inside)
    total = value
    for _ in range(64):
        total = total * value + 0.5
    tl.store(out + at, total, mask=inside)


@triton.jit
def divide_integers(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    a, b = tl.load(x + at, mask=inside, other=1), tl.load(y + at, mask=inside, other=1)
    tl.store(out + at, a // b * 3 + a % b, mask=inside)


@triton.jit
def rotate(x, cosine, sine, out, heads, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, WIDTH)
    place = row // heads
    c, s = tl.load(cosine + place * WIDTH + at), tl.load(sine + place * WIDTH + at)
    first = tl.load(x + row * 2 * WIDTH + at).to(tl.float32)
    second = tl.load(x + row * 2 * WIDTH + WIDTH + at).to(tl.float32)
    tl.store(out + row * 2 * WIDTH + at, first * c - second * s)
    tl.store(out + row * 2 * WIDTH + WIDTH + at, second * c + first * s)


@triton.jit
def softmax(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * n + at, mask=at < n, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * n + at, powers / tl.sum(powers, axis=0), mask=at < n)


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
def layer_norm_backward(x, weight, grad, out, partial, locks, n, eps, GROUPS: tl.constexpr, BLOCK: tl.constexpr):
    """Gradients of the rows, and of the weight into one of GROUPS sums, each behind a lock."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < n
    values = tl.load(x + row * n + at, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(values, axis=0) / n
    apart = tl.where(inside, values - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(apart * apart, axis=0) / n + eps)
    hat = apart * scale
    incoming = tl.load(grad + row * n + at, mask=inside, other=0.0).to(tl.float32)
    weighted = incoming * tl.load(weight + at, mask=inside, other=0.0)
    along = tl.sum(hat * weighted, axis=0) / n
    flat = tl.sum(weighted, axis=0) / n
    tl.store(out + row * n + at, (weighted - (hat * along + flat)) * scale, mask=inside)
    group = row % GROUPS
    while tl.atomic_cas(locks + group, 0, 1) == 1:
        pass
    sums = partial + group * n + at
    tl.store(sums, tl.load(sums, mask=inside) + incoming * hat, mask=inside)
    tl.debug_barrier()
    tl.atomic_xchg(locks + group, 0)


@triton.jit
def cross_entropy(logits, labels, losses, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    most, total = -float("inf"), 0.0
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        values = tl.load(logits + row * n + at, mask=at < n, other=-float("inf")).to(tl.float32)
        larger = tl.maximum(most, tl.max(values, axis=0))
        total = total * tl.exp(most - larger) + tl.sum(tl.exp(values - larger), axis=0)
        most = larger
    label = tl.load(labels + row)
    tl.store(losses + row, most + tl.log(total) - tl.load(logits + row * n + label).to(tl.float32))


@triton.jit
def largest(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    tl.store(out + row, tl.argmax(tl.load(x + row * n + at, mask=at < n, other=-float("inf")), axis=0))


@triton.jit
def prefix_sum(x, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.cumsum(tl.load(x + at), axis=0))


@triton.jit
def combine(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@triton.jit
def recurrence(a, b, out, BLOCK: tl.constexpr):
    """h[i] = a[i] * h[i - 1] + b[i] along rows."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    _, state = tl.associative_scan((tl.load(a + at), tl.load(b + at)), 0, combine)
    tl.store(out + at, state)


@triton.jit
def sort(x, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.sort(tl.load(x + at)))


@triton.jit
def histogram(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out + tl.load(x + at, mask=at < n, other=0), 1, mask=at < n)


@triton.jit
def transpose(x, out, rows, columns, BLOCK: tl.constexpr):
    down = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    along = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    tile = tl.load(x + down[:, None] * columns + along[None, :])
    tl.store(out + along[:, None] * rows + down[None, :], tl.trans(tile))


@triton.jit
def tile_of(m, n, M: tl.constexpr, N: tl.constexpr, GROUP: tl.constexpr):
    """Tiles in groups of rows, so that neighbours share what they read."""
    program = tl.program_id(0)
    down, along = tl.cdiv(m, M), tl.cdiv(n, N)
    group = program // (GROUP * along)
    first = group * GROUP
    size = min(down - first, GROUP)
    return first + program % (GROUP * along) % size, program % (GROUP * along) // size


@triton.jit
def matmul(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr, GELU: tl.constexpr):
    down, along = tile_of(m, n, M, N, GROUP)
    rows = (down * M + tl.arange(0, M)) % m
    columns = (along * N + tl.arange(0, N)) % n
    depth = tl.arange(0, K)
    left = a + rows[:, None] * k + depth[None, :]
    right = b + depth[:, None] * n + columns[None, :]
    total = tl.zeros((M, N), dtype=tl.float32)
    for at in range(0, tl.cdiv(k, K)):
        x = tl.load(left, mask=depth[None, :] < k - at * K, other=0.0)
        y = tl.load(right, mask=depth[:, None] < k - at * K, other=0.0)
        total = tl.dot(x, y, total)
        left += K
        right += K * n
    if GELU:
        total = total * tl.sigmoid(1.702 * total)
    rows, columns = down * M + tl.arange(0, M), along * N + tl.arange(0, N)
    tl.store(c + rows[:, None] * n + columns[None, :], total.to(c.dtype.element_ty),
             mask=(rows[:, None] < m) & (columns[None, :] < n))


@triton.jit
def matmul_of_bytes(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr):
    """b lies with its columns one after the other."""
    down, along = tile_of(m, n, M, N, GROUP)
    rows, columns, depth = down * M + tl.arange(0, M), along * N + tl.arange(0, N), tl.arange(0, K)
    total = tl.zeros((M, N), dtype=tl.int32)
    for at in range(0, k, K):
        x = tl.load(a + rows[:, None] * k + (at + depth)[None, :])
        y = tl.load(b + columns[None, :] * k + (at + depth)[:, None])
        total = tl.dot(x, y, total, out_dtype=tl.int32)
    tl.store(c + rows[:, None] * n + columns[None, :], total)


@triton.jit
def matmul_of_boxes(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr):
    """Through tensor maps that the kernel makes."""
    lefts = tl.make_tensor_descriptor(a, shape=[m, k], strides=[k, 1], block_shape=[M, K])
    rights = tl.make_tensor_descriptor(b, shape=[n, k], strides=[k, 1], block_shape=[N, K])
    results = tl.make_tensor_descriptor(c, shape=[m, n], strides=[n, 1], block_shape=[M, N])
    down, along = tile_of(m, n, M, N, GROUP)
    total = tl.zeros((M, N), dtype=tl.float32)
    for at in range(0, k, K):
        x = lefts.load([down * M, at])
        y = rights.load([along * N, at])
        total = tl.dot(x, y.T, total)
    results.store([down * M, along * N], total.to(tl.float16))


@triton.jit
def attention(q, k, v, out, length, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr):
    head = tl.program_id(1) * length * D
    first = tl.program_id(0) * M
    rows, columns, depth = first + tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    query = tl.load(q + head + rows[:, None] * D + depth[None, :])
    most = tl.full((M,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((M,), dtype=tl.float32)
    result = tl.zeros((M, D), dtype=tl.float32)
    end = first + M if CAUSAL else length
    for at in range(0, end, N):
        keys = tl.load(k + head + (at + columns)[None, :] * D + depth[:, None])
        products = tl.dot(query, keys) * scale
        if CAUSAL:
            products = tl.where(rows[:, None] >= (at + columns)[None, :], products, -float("inf"))
        larger = tl.maximum(most, tl.max(products, axis=1))
        powers = tl.exp2(products - larger[:, None])
        shrink = tl.exp2(most - larger)
        total = total * shrink + tl.sum(powers, axis=1)
        values = tl.load(v + head + (at + columns)[:, None] * D + depth[None, :])
        result = tl.dot(powers.to(tl.float16), values, result * shrink[:, None])
        most = larger
    tl.store(out + head + rows[:, None] * D + depth[None, :], (result / total[:, None]).to(tl.float16))


@triton.jit
def attention_backward(q, k, v, grad, most, delta, dk, dv, length, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    """Gradients of keys and values; `most` holds the logarithms (base 2) of the sums, `delta` the rows' grad * out."""
    head = tl.program_id(1) * length * D
    columns, depth = tl.program_id(0) * N + tl.arange(0, N), tl.arange(0, D)
    keys = tl.load(k + head + columns[:, None] * D + depth[None, :])
    values = tl.load(v + head + columns[:, None] * D + depth[None, :])
    to_keys, to_values = tl.zeros((N, D), dtype=tl.float32), tl.zeros((N, D), dtype=tl.float32)
    for at in range(0, length, M):
        rows = at + tl.arange(0, M)
        query = tl.load(q + head + rows[None, :] * D + depth[:, None])
        row = tl.program_id(1) * length + rows
        powers = tl.exp2(tl.dot(keys, query) * scale - tl.load(most + row)[None, :])
        incoming = tl.load(grad + head + rows[:, None] * D + depth[None, :])
        to_values = tl.dot(powers.to(tl.float16), incoming, to_values)
        change = powers * (tl.dot(values, tl.trans(incoming)) - tl.load(delta + row)[None, :])
        to_keys = tl.dot(change.to(tl.float16), tl.trans(query), to_keys)
    at = head + columns[:, None] * D + depth[None, :]
    tl.store(dk + at, (to_keys * scale * 0.6931471805599453).to(tl.float16))
    tl.store(dv + at, to_values.to(tl.float16))
