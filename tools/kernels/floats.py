"""Cases of floating arithmetic."""
import math
import struct
from fractions import Fraction

from record import Given, Random, Result, Scalar, case, f32, pack

r = Random(4)

data = [r.real(0.001, 1000) for _ in range(32)]
case('float_newton_f64', 'floating', [1], [32], [Given('f64', data), Result('f64', map(math.sqrt, data), ulp=1)])


def horner(x):
    result = Fraction(1 / 40320)
    for coefficient in (1 / 5040, 1 / 720, 1 / 120, 1 / 24, 1 / 6, 0.5, 1.0, 1.0):
        # Each step is rounded once, as a fused multiply-add is.
        result = Fraction(float(result * Fraction(x) + Fraction(coefficient)))
    return float(result)


data = [r.real(-1, 1) for _ in range(32)]
case('float_horner_f64', 'floating', [1], [32], [Given('f64', data), Result('f64', map(horner, data))])


def toward(value, up):
    """The nearest single-precision number that is not above (not below) the exact value."""
    near = f32(float(value))
    bits = struct.unpack('<i', struct.pack('<f', near))[0]
    key = bits if bits >= 0 else -(bits & 0x7fffffff)
    while Fraction(near) > value and not up or Fraction(near) < value and up:
        key += 1 if up else -1
        bits = key if key >= 0 else -key | 0x80000000
        near = struct.unpack('<f', struct.pack('<I', bits & 0xffffffff))[0]
    return near


n = 6
a, b = ([r.single(-3, 3) for _ in range(32 * n)] for _ in range(2))
bounds = []
for t in range(32):
    low = high = 0.0
    for i in range(t * n, t * n + n):
        exact = Fraction(a[i]) * Fraction(b[i])
        low = toward(Fraction(low) + Fraction(toward(exact, False)), False)
        high = toward(Fraction(high) + Fraction(toward(exact, True)), True)
    bounds += [low, high]
case('float_interval_f32', 'floating', [1], [32], [Given('f32', a), Given('f32', b), Result('f32', bounds), Scalar('s32', n)])


def kahan(values):
    total = lost = 0.0
    for value in values:
        # Differences and sums of two singles are exact in double, or rounded far below single precision.
        term = f32(value - lost)
        following = f32(total + term)
        lost = f32(f32(following - total) - term)
        total = following
    return total


n = 20
data = [r.single(-1, 1) * 4.0 ** r.below(5) for _ in range(32 * n)]
case('float_kahan_f32', 'floating', [1], [32], [Given('f32', data), Result('f32', [kahan(data[t * n:t * n + n]) for t in range(32)]), Scalar('s32', n)])


def mandelbrot(px, py):
    cx, cy = (f32(start + f32(p * step)) for start, p in ((x0, px), (y0, py)))
    x = y = 0.0
    for i in range(60):
        xx, yy = f32(x * x), f32(y * y)
        if f32(xx + yy) >= 4:
            return i
        y = f32(f32(2 * x * y) + cy)
        x = f32(f32(xx - yy) + cx)
    return 60


x0, y0, step, w, h = -2.25, -1.25, 0.125, 25, 20
case('float_mandelbrot_f32', 'floating', [1, h], [32], [Result('u8', [mandelbrot(px, py) for py in range(h) for px in range(w)]), Scalar('s32', w), Scalar('f32', x0), Scalar('f32', y0), Scalar('f32', step)])


def f16(value):
    return struct.unpack('<e', struct.pack('<e', value))[0]


x, y = ([f16(r.real(-8, 8)) for _ in range(64)] for _ in range(2))
a = 1.625
# A product of two halves and its sum with a third are exact in double at these sizes.
case('half_axpy_f16x2', 'floating', [1], [32], [Given('f16', x), Result('f16', [max(f16(f16(a * p + q) - p), -4.0) for p, q in zip(x, y)], y), Scalar('b16', struct.unpack('<H', struct.pack('<e', a))[0])])


def bf16(value):
    """To the nearest, ties to even; values far from overflow."""
    bits = struct.unpack('<I', struct.pack('<f', value))[0]
    bits += 0x7fff + (bits >> 16 & 1)
    return struct.unpack('<f', struct.pack('<I', bits & 0xffff0000))[0]


half_words = lambda values: [struct.unpack('<I', struct.pack('<f', v))[0] >> 16 for v in values]
a, b = ([bf16(r.between(-64, 64) / 8) for _ in range(80)] for _ in range(2))
total = sum(bf16(p * q) for p, q in zip(a, b))
case('half_dot_bf16', 'floating', [1], [32], [Given('u16', half_words(a)), Given('u16', half_words(b)), Result('f32', [total] + [bf16(total if p > q else -total) for p, q in zip(a[:8], b[:8])]), Scalar('s32', 80)])


def converted(x):
    bits = lambda v: struct.unpack('<I', struct.pack('<f', v))[0]
    near = round(x)
    half = f16(x)
    while abs(half) > abs(x):
        word = struct.unpack('<H', struct.pack('<e', half))[0] - 1
        half = struct.unpack('<e', struct.pack('<H', word))[0]
    scaled = math.trunc(f32(x * 1000003))
    parts = f32(f32(f32(math.floor(x) + math.ceil(x) * 2) + math.trunc(x) * 4) + near * 8)
    return [near, math.trunc(x), math.floor(x), math.ceil(x), max(math.trunc(x), 0), struct.unpack('<H', struct.pack('<e', half))[0], bits(toward(Fraction(scaled), False)), bits(parts)]


data = [r.single(-500, 500) for _ in range(24)] + [0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.25, -3.75]
case('float_convert', 'floating', [1], [32], [Given('f32', data), Result('s32', [v for x in data for v in converted(x)])])

rows = [[r.single(-3, 3) for _ in range(32)] for _ in range(2)]
expected = []
for row in rows:
    e = [math.exp(x - max(row)) for x in row]
    expected += [v / sum(e) + math.sin(x) * math.log(sum(e)) / math.sqrt(sum(e)) for v, x in zip(e, row)]
case('float_softmax_f32', 'floating', [2], [32], [Given('f32', sum(rows, [])), Result('f32', expected, abs=2e-6)])
