"""Cases of reductions, scans, sorts, matrix products, stencils, histograms and transforms."""
import math

from record import Given, Random, Result, Scalar, case, f32, wrap

r = Random(1)

# reductions
data = [r.between(-1000, 1000) for _ in range(300)]
sums = [sum(data[i] for i in range(300) if i // 128 % 2 == b) for b in range(2)]
case('reduce_tree_i32', 'reduce', [2], [128], [Given('s32', data), Result('s32', sums), Scalar('s32', 300)])
data = [r.between(-4000, 4000) / 8 for _ in range(200)]
case('reduce_shuffle_f64', 'reduce', [1], [128], [Given('f64', data), Result('f64', [sum(data)]), Scalar('s32', 200)])
data = [r.bits() for _ in range(128)]
parity = 0
for value in data:
    parity ^= value
case('reduce_redux_u32', 'reduce', [2], [64], [Given('u32', data), Result('u32', [sum(data), min(data), max(data), parity], [0, 0xffffffff, 0, 0])])
data = [r.between(-50, 50) / 4 for _ in range(180)]
data[33] = data[150] = 99.0
case('reduce_argmax_f32', 'reduce', [1], [96], [Given('f32', data), Result('s32', [33]), Scalar('s32', 180)])


def prefix(values):
    total, all_sums = 0, []
    for value in values:
        total += value
        all_sums.append(total)
    return all_sums


# scans
data = [r.bits() for _ in range(64)]
case('scan_warp_u32', 'scan', [1], [64], [Given('u32', data), Result('u32', prefix(data[:32]) + prefix(data[32:]))])
data = [r.bits(60) - (1 << 59) for _ in range(96)]
case('scan_block_i64', 'scan', [1], [96], [Given('s64', data), Result('s64', prefix(data))])
data = [r.bits() for _ in range(256)]
sums = prefix(data)
case('scan_chained_u32', 'scan', [4], [64], [Given('u32', data), Result('u32', sums), Result('u32', sums[63::64]), Result('u32', [1] * 4, [0] * 4)])

# sorts
data = [r.bits() for _ in range(256)]
case('sort_bitonic_u32', 'sort', [2], [128], [Result('u32', sorted(data[:128]) + sorted(data[128:]), data)])
data = [r.between(-30, 30) / 2 for _ in range(75)]
case('sort_rank_f32', 'sort', [2], [64], [Given('f32', data), Result('f32', sorted(data)), Scalar('s32', 75)])
data = [r.bits() for _ in range(64)]
low = lambda key: key & 255
case('sort_radix_warp', 'sort', [1], [64], [Given('u32', data), Result('u32', sorted(data[:32], key=low) + sorted(data[32:], key=low))])
data = [r.between(-32768, 32767) for _ in range(32 * 24)]
case('sort_insertion_i16', 'sort', [1], [32], [Given('s16', data), Result('s16', [v for t in range(32) for v in sorted(data[t * 24:t * 24 + 24])])])


def product(a, b, n):
    return [sum(a[i * n + k] * b[k * n + j] for k in range(n)) for i in range(n) for j in range(n)]


# matrix products; small integers, so that the sums of floats are exact in any order
n = 16
a, b = ([r.between(-9, 9) for _ in range(n * n)] for _ in range(2))
case('matmul_tiled_f32', 'matmul', [2, 2], [8, 8], [Given('f32', a), Given('f32', b), Result('f32', product(a, b, n)), Scalar('s32', n)])
a, b = ([r.between(-9999, 9999) / 4 for _ in range(n * n)] for _ in range(2))
case('matmul_blocked_f64', 'matmul', [1], [4, 4], [Given('f64', a), Given('f64', b), Result('f64', product(a, b, n))])
n = 13
a, b = ([r.between(-99999, 99999) for _ in range(n * n)] for _ in range(2))
case('matmul_tiled_i32', 'matmul', [2, 2], [8, 8], [Given('s32', a), Given('s32', b), Result('s32', product(a, b, n)), Scalar('s32', n)])

# stencils
w, h = 19, 11
data = [r.between(0, 1000) / 8 for _ in range(w * h)]
at = lambda x, y: data[min(max(y, 0), h - 1) * w + min(max(x, 0), w - 1)]
heat = [at(x, y) + 0.125 * (at(x, y - 1) + at(x, y + 1) + at(x - 1, y) + at(x + 1, y) - 4 * at(x, y)) for y in range(h) for x in range(w)]
case('stencil_heat_f64', 'stencil', [3, 2], [8, 8], [Given('f64', data), Result('f64', heat), Scalar('s32', w), Scalar('s32', h)])
n = 5
data = [r.single(-1, 1) for _ in range(n ** 3)]


def seven(x, y, z):
    i = (z * n + y) * n + x
    if min(x, y, z) == 0 or max(x, y, z) == n - 1:
        return data[i]
    return 0.5 * data[i] + f32(0.0833333) * sum(data[i + d] for d in (-1, 1, -n, n, -n * n, n * n))


case('stencil_seven_f32', 'stencil', [1, n, n], [32], [Given('f32', data), Result('f32', [seven(x, y, z) for z in range(n) for y in range(n) for x in range(n)], abs=1e-6), Scalar('s32', n)])
w, h = 20, 9
data = [int(r.below(3) == 0) for _ in range(w * h)]


def alive(x, y):
    count = sum(data[(y + dy) % h * w + (x + dx) % w] for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dx or dy)
    return int(count == 3 or (count == 2 and data[y * w + x] == 1))


case('stencil_life_u8', 'stencil', [2, 3], [16, 4], [Given('u8', data), Result('u8', [alive(x, y) for y in range(h) for x in range(w)]), Scalar('s32', w), Scalar('s32', h)])

# histograms
data = [r.bits(8) for _ in range(600)]
case('histogram_shared_u8', 'histogram', [2], [64], [Given('u8', data), Result('u32', [sum(v & 63 == k for v in data) for k in range(64)], [0] * 64), Scalar('s32', 150)])
data = [r.below(12) for _ in range(150)]
case('histogram_match', 'histogram', [2], [96], [Given('s32', data), Result('u32', [data.count(k) + 5 for k in range(12)], [5] * 12), Scalar('s32', 150)])

# transforms
roots = [(math.cos(-math.pi * k / 32), math.sin(-math.pi * k / 32)) for k in range(32)]
data = [[complex(r.single(-1, 1), r.single(-1, 1)) for _ in range(64)] for _ in range(2)]
spectrum = [sum(row[j] * complex(math.cos(-math.tau * j * k / 64), math.sin(-math.tau * j * k / 64)) for j in range(64)) for row in data for k in range(64)]
parts = lambda values: [part for value in values for part in (value.real, value.imag)]
case('fft_64_f32', 'transform', [2], [32], [Result('f32', parts(spectrum), parts(data[0] + data[1]), abs=2e-5), Given('f32', [part for root in roots for part in root])])
prime = 998244353
data = [r.below(prime) for _ in range(128)]
root = pow(3, (prime - 1) // 128, prime)
case('ntt_128_u32', 'transform', [1], [64], [Result('u32', [sum(data[j] * pow(root, j * k, prime) for j in range(128)) % prime for k in range(128)], data)], shared=512)
