"""Kernels of divisors that are bounded below, or not quite; of counts of tests; and of extremes of three halves."""
import math
import os
import struct

import record
from record import Given, Random, Result, case, f32

FILE = 'bounds'
# Chips before sm_80 have no extremes of halves: those have a file of their own.
HALVES_FILE = 'bounds_halves'
HEAD = '// Written by tools/kernels/bounds.py: bounds of divisors, counts of tests, extremes of halves.\n.version 8.0\n.target sm_80\n.address_size 64\n'
M32 = (1 << 32) - 1
LANES = 64
r = Random(31)


def entry(name, lines, registers):
    first = ['ld.param.u64 out, [out_of_all];', 'ld.param.u64 in, [in_of_all];', 'cvta.to.global.u64 out, out;', 'cvta.to.global.u64 in, in;', 'mov.u32 t, %tid.x;']
    text = ''.join(f'    {line}\n' for line in ['.reg .b32 t;', '.reg .b64 out, in, at;', '.reg .pred p, q, s;'] + registers + first + lines + ['ret;'])
    return f'\n.visible .entry {name}(.param .u64 out_of_all, .param .u64 in_of_all)\n{{\n{text}}}\n'


# How a divisor is made of x; the first is at least one, the others may be small, negative or NaN.
DIVISORS = [
    (['ex2.approx.f32 y, x;', 'add.f32 y, y, 0f3F800000;'], lambda x: power(x) + 1),
    (['ex2.approx.f32 y, x;'], lambda x: power(x)),
    (['ex2.approx.f32 y, x;', 'add.f32 y, y, 0fBF800000;'], lambda x: f32(power(x) - 1)),
    (['mul.f32 y, x, x;'], lambda x: f32(x * x)),
    (['mul.f32 y, x, x;', 'add.f32 y, y, 0f00800000;'], lambda x: f32(f32(x * x) + 2 ** -126)),
    (['abs.f32 y, x;', 'fma.rn.f32 y, y, 0f00000100, 0f00000001;'], lambda x: f32(abs(x) * 256 * 2 ** -149 + 2 ** -149) if not math.isnan(x) else x),
    (['neg.f32 y, x;', 'add.f32 y, y, 0f3F800000;'], lambda x: f32(1 - x)),
]


def power(x):
    try:
        return f32(2.0 ** x)
    except OverflowError:
        return math.inf


def quotient(a, b):
    if math.isnan(a) or math.isnan(b) or math.isinf(a) and math.isinf(b):
        return math.nan
    if b == 0:
        return math.nan if a == 0 else math.copysign(math.inf, a) * math.copysign(1, b)
    return f32(a / b)


def divisors_text():
    lines = ['mad.wide.u32 at, t, 4, in;', 'ld.global.f32 x, [at];', 'mad.wide.u32 at, t, 4, out;']
    for n, (made, _) in enumerate(DIVISORS):
        lines += made + ['div.full.f32 z, 0f3F800000, y;', 'div.approx.f32 w, x, y;']
        lines += [f'st.global.f32 [at+{8 * n * LANES}], z;', f'st.global.f32 [at+{(8 * n + 4) * LANES}], w;']
    return entry('bounds_of_divisors', lines, ['.reg .f32 x, y, z, w;'])


def divisors_case():
    # Powers of two are exact; beyond 2^126 the approximate division gives zero.
    xs = [float(n) for n in (0, 1, -1, 2, -3, 10, -10, 60, -60, 63, -100, 120, -120, 125, -125, -126, -127, -130, -140, -149)] + [math.inf, -math.inf, math.nan]
    xs += [float(r.between(-126, 120)) for _ in range(LANES - len(xs))]
    out = []
    for _, divisor in DIVISORS:
        full = [quotient(1.0, divisor(x)) for x in xs]
        out += full + [quotient(x, divisor(x)) for x in xs]
    return xs, out


# Sums with numbers that a test chooses.
def counts_text():
    lines = ['mad.wide.u32 at, t, 16, in;', 'ld.global.v4.u32 {a, b, c, d}, [at];', 'mov.u32 n, t;', 'mad.wide.u32 at, t, 4, out;']
    for n, line in enumerate(COUNTS):
        lines += line[0].split('|') + [f'st.global.u32 [at+{4 * n * LANES}], n;']
    return entry('bounds_of_counts', lines, ['.reg .b32 a, b, c, d, n, x, y, z;'])


COUNTS = [
    ('setp.lt.s32 p, a, b;|selp.u32 x, 1, 0, p;|add.u32 n, a, x;', lambda a, b, c, d: a + (a < b)),
    ('setp.lt.s32 p, a, b;|selp.u32 x, 0, 1, p;|add.u32 n, a, x;', lambda a, b, c, d: a + (a >= b)),
    ('setp.lt.s32 p, a, b;|selp.u32 x, 1, 0, p;|sub.u32 n, c, x;', lambda a, b, c, d: c - (a < b)),
    ('setp.lt.s32 p, a, b;|selp.s32 x, -1, 0, p;|add.u32 n, c, x;', lambda a, b, c, d: c - (a < b)),
    ('setp.lt.s32 p, a, b;|selp.s32 x, -1, 0, p;|sub.u32 n, c, x;', lambda a, b, c, d: c + (a < b)),
    ('setp.lt.s32 p, a, b;|selp.u32 x, 7, 8, p;|add.u32 n, c, x;', lambda a, b, c, d: c + 8 - (a < b)),
    ('setp.lt.s32 p, a, b;|selp.u32 x, 0x80000000, 0x7fffffff, p;|add.u32 n, c, x;', lambda a, b, c, d: c + 0x7fffffff + (a < b)),
    ('setp.lt.s32 p, a, b;|selp.u32 x, 2, 0, p;|add.u32 n, c, x;', lambda a, b, c, d: c + 2 * (a < b)),
    ('setp.lt.s32 p, a, b;|selp.u32 x, 1, 0, p;|sub.u32 n, x, c;', lambda a, b, c, d: (a < b) - c),
    ('setp.lt.s32 p, a, b;|setp.lt.s32 q, c, d;|selp.u32 x, 1, 0, p;|selp.u32 y, 1, 0, q;|add.u32 n, x, y;', lambda a, b, c, d: (a < b) + (c < d)),
    ('setp.lt.s32 p, a, b;|setp.lt.s32 q, c, d;|setp.eq.s32 s, a, c;|selp.u32 x, 1, 0, p;|selp.u32 y, 0, 1, q;|selp.u32 z, 1, 0, s;|add.u32 n, x, y;|add.u32 n, n, z;|add.u32 n, n, d;', lambda a, b, c, d: (a < b) + (c >= d) + (a == c) + d),
    ('setp.lt.s32 p, a, b;|selp.u32 x, 1, 0, p;|add.u32 n, c, x;|add.u32 n, n, d;|min.s32 n, n, a;', lambda a, b, c, d: min(signed(c + (a < b) + d), a)),
    ('setp.lt.s32 p, a, b;|selp.u32 x, 1, 0, p;|add.u32 y, c, x;|add.u32 n, y, x;', lambda a, b, c, d: c + 2 * (a < b)),
    ('setp.lt.s32 p, a, b;|selp.u32 x, 1, 0, p;|add.cc.u32 y, c, x;|addc.u32 n, d, 0;', lambda a, b, c, d: d + ((c & M32) + (a < b) >> 32)),
]


def signed(word):
    word &= M32
    return word - (1 << 32) if word >> 31 else word


def counts_case():
    edges = [0, 1, -1, 2, 0x7fffffff, -0x80000000]
    rows = [[r.bits(32) if r.below(3) else edges[r.below(len(edges))] & M32 for _ in range(4)] for _ in range(LANES)]
    for row in rows[::3]:
        row[1 if r.below(2) else 2] = row[0]
    out = [line[1](*map(signed, row)) & M32 for line in COUNTS for row in rows]
    return [word for row in rows for word in row], out


HALVES = [0x0000, 0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00, 0x0001, 0x8001, 0x7bff]


def half(bits):
    return struct.unpack('<e', struct.pack('<H', bits))[0]


def chosen(a, b, larger):
    """min or max of two halves: of NaN and a number the number; zeros by their signs."""
    if math.isnan(half(a)) or math.isnan(half(b)):
        return b if math.isnan(half(a)) else a
    key = lambda bits: (half(bits), -(bits >> 15))
    return max(a, b, key=key) if larger else min(a, b, key=key)


def halves_text():
    lines = ['mad.wide.u32 at, t, 16, in;', 'ld.global.v4.u32 {a, b, c, d}, [at];', 'mad.wide.u32 at, t, 4, out;']
    for n, (first, second) in enumerate((('max', 'max'), ('min', 'min'), ('max', 'min'))):
        lines += [f'{first}.f16x2 x, a, b;', f'{second}.f16x2 x, x, c;', f'st.global.u32 [at+{4 * n * LANES}], x;']
    return entry('bounds_of_halves', lines, ['.reg .b32 a, b, c, d, x;'])


def halves_case():
    rows = [[HALVES[r.below(len(HALVES))] | HALVES[r.below(len(HALVES))] << 16 for _ in range(4)] for _ in range(LANES)]
    # Three NaN in a half have no exact answer here.
    rows = [[row[0] & 0x3fff3fff] + row[1:] for row in rows]
    out = []
    for first, second in ((True, True), (False, False), (True, False)):
        for a, b, c, _ in rows:
            out.append(sum(chosen(chosen(a >> s & 0xffff, b >> s & 0xffff, first), c >> s & 0xffff, second) << s for s in (0, 16)))
    return [word for row in rows for word in row], out


def write_ptx():
    open(os.path.join(record.ROOT, FILE + '.ptx'), 'w').write(HEAD + divisors_text() + counts_text())
    open(os.path.join(record.ROOT, HALVES_FILE + '.ptx'), 'w').write(HEAD + halves_text())


XS, OUT = divisors_case()
case('bounds_of_divisors', FILE, [1], [LANES], [Result('f32', OUT, ulp=4), Given('f32', XS)])
ROWS, OUT = counts_case()
case('bounds_of_counts', FILE, [1], [LANES], [Result('u32', OUT), Given('u32', ROWS)])
ROWS, OUT = halves_case()
case('bounds_of_halves', HALVES_FILE, [1], [LANES], [Result('u32', OUT), Given('u32', ROWS)])
