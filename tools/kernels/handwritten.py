"""Cases of the kernels that are written in PTX by hand."""
from record import Given, Random, Result, Scalar, case, wrap

r = Random(5)
M32 = (1 << 32) - 1


def switches(program, t):
    x = t
    for i in range(24):
        op = program[(i + t) % 32] & 7
        if op == 0:
            x += 12345
        elif op == 1:
            x <<= 1
        elif op == 2:
            x = ~x
        elif op == 3:
            x >>= 3
        elif op == 4:
            x += bin(x).count('1') * 40503
        elif op == 7:
            x = (x << 7 | x >> 25) & M32 ^ i
        x &= M32
    return x


program = [r.bits() for _ in range(32)]
case('switch_table', 'handwritten', [1], [64], [Given('u32', program), Result('u32', [switches(program, t) for t in range(64)])])


def power(base, exponent):
    return 1 if exponent == 0 else power(base, exponent - 1) * base + 1


data = [r.bits() for _ in range(40)]
case('call_targets', 'handwritten', [1], [40], [Result('u32', [power(x * 9 if x & 1 else x + 7, t & 7) for t, x in enumerate(data)], data)])
data = [r.bits() for _ in range(128)]
sums = [0] * 32
for k in range(4):
    sums = [s * 3 + data[32 * k + (lane ^ 21)] for lane, s in enumerate(sums)]
case('barrier_pipeline', 'handwritten', [1], [64], [Given('u32', data), Result('u32', sums)])
data = [r.between(-99, 99) for _ in range(96)]
count = sum(v > 0 for v in data) + 1000
case('barrier_votes', 'handwritten', [1], [96], [Given('s32', data), Result('u32', [count] * 96)])
data = [r.bits() for _ in range(128)]


def lanes(x, y):
    a, b = ([v >> s & 255 for s in (0, 8, 16, 24)] for v in (x, y))
    join = lambda values, bits: sum((v & ((1 << bits) - 1)) << (bits * i) for i, v in enumerate(values))
    halves = [min(wrap('s16', x >> s), wrap('s16', y >> s)) for s in (0, 16)]
    return [
        join([min(p + q, 255) for p, q in zip(a, b)], 8),
        1000 + sum(abs(p - q) for p, q in zip(a, b)),
        join(halves, 16),
        join([(p + q + 1) >> 1 for p, q in zip(a, b)], 8),
    ]


case('lanes_of_words', 'handwritten', [1], [64], [Given('u32', data), Result('u32', [v for t in range(64) for v in lanes(data[2 * t], data[2 * t + 1])])])


data = [r.bits() for _ in range(32)]
case('branch_to_next', 'handwritten', [1], [32], [Result('u32', [(x + 17) & M32 for x in data], data)])
data = [r.bits() for _ in range(64)]
bias = 1 << 31


def pair(x, y, t):
    s = x ^ y
    return [s, y if x < bias else (s + t) & M32]


case('equal_in_two_blocks', 'handwritten', [1], [32], [
    Result('u32', [v for t in range(32) for v in pair(data[2 * t], data[2 * t + 1], t)], data), Scalar('u32', bias)])


def conditions(kind, t, rounds):
    x = t
    for i in range(rounds):
        for k in range(14):
            x = (x * (2 * k + 3) + (k * 77 + 5 if kind & 15 == k else k)) & M32
        x ^= i
    return x


data = [r.bits() for _ in range(64)]
case('invariant_conditions', 'handwritten', [1], [64], [
    Result('u32', [conditions(kind, t, 9) for t, kind in enumerate(data)], data), Scalar('u32', 9)])


case('packed_addresses', 'packed_addresses', [1], [1], [Result('u32', [3, 3000, 18, 6000])])


def open_arguments(x, lane):
    words = [x, lane, 100, 1000, x, 10000, 100000, 1000000]
    return [sum(words[:lane & 7]) & M32, 2 * x & M32, 0, (3 * x + 5 + 5 + lane) & M32]


data = [r.bits() for _ in range(32)]
case('open_arguments', 'open_arguments', [1], [32], [
    Given('u32', data), Result('u32', [v for lane, x in enumerate(data) for v in open_arguments(x, lane)])])
