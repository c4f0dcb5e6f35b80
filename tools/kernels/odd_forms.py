"""Kernels of forms that few programs use: bf16 that is not rounded to nearest, products with what stands for elements out of
bounds, carries of 16 bits, clamped sums with a carry, loads and stores of devices, memory with two addresses."""
import os
from fractions import Fraction

import record
from matrix import decode, draw
from record import Alias, Given, Random, Result, case

FILE = 'odd_forms'
MARKED_FILE = 'out_of_bounds'
HEAD = '// Written by tools/kernels/odd_forms.py: forms that few programs use.\n.version 9.0\n.target sm_90\n.address_size 64\n'
LANES = 64

ROUNDINGS = [(mode, relu, ty) for mode in ('rz', 'rm', 'rp') for relu in ('', '.relu') for ty in ('bf16', 'bf16x2')]


def rounded(mode, value):
    """A fraction as bf16, cut toward zero, down or up."""
    if isinstance(value, float):
        return 0x7fff if value != value else 0x7f80 | (value < 0) << 15
    sign = value < 0
    size = abs(value)
    if size == 0:
        return 0
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent = max(exponent - (size < Fraction(2) ** exponent), -126)
    scaled = size / Fraction(2) ** (exponent - 7)
    whole = scaled.numerator // scaled.denominator
    whole += scaled != whole and mode == ('rm' if sign else 'rp')
    bits = whole + (exponent + 126 << 7) if whole >> 7 else whole
    # Beyond the range: infinity only in the direction of the rounding.
    if bits >= 0x7f80:
        bits = 0x7f80 if mode == ('rm' if sign else 'rp') else 0x7f7f
    return bits | sign << 15


# What a copy of a tensor writes for a half that is out of bounds. Every other not-a-number counts.
OUTSIDE = 0x7ff7


def fused(mode, relu, a, b, c):
    x, y, z = (decode('bf16', bits)[0] for bits in (a, b, c))
    special = any(isinstance(v, float) for v in (x, y, z))
    value = float(x) * float(y) + float(z) if special else x * y + z
    if relu and value == value and value <= 0:
        return 0
    if not isinstance(value, float) and value == 0:
        # A sum of opposites is a negative zero only when rounded down; a sum of equal zeros keeps its sign.
        signs = ((a ^ b) >> 15, c >> 15)
        negative = signs[0] if signs[0] == signs[1] and x * y == 0 else mode == 'rm'
        return negative << 15
    return rounded(mode, value)


def rounding_kernel(name, marked):
    text = f'''
.visible .entry {name}(.param .u64 data, .param .u64 out)
{{
    .reg .b16 h<4>;
    .reg .b32 t, w<4>;
    .reg .b64 from, to;
    ld.param.u64 from, [data];
    ld.param.u64 to, [out];
    mov.u32 t, %tid.x;
    mad.wide.u32 from, t, {12 * len(ROUNDINGS)}, from;
    mad.wide.u32 to, t, {4 * len(ROUNDINGS)}, to;
'''
    for n, (mode, relu, ty) in enumerate(ROUNDINGS):
        name, bits = ('w', 32) if ty == 'bf16x2' else ('h', 16)
        for part in range(3):
            text += f'    ld.global.b{bits} {name}{part}, [from+{12 * n + 4 * part}];\n'
        text += f'    fma.{mode}{marked}{relu}.{ty} {name}3, {name}0, {name}1, {name}2;\n    st.global.b{bits} [to+{4 * n}], {name}3;\n'
    return text + '    ret;\n}\n'


def rounding_data(r, marked=False):
    given, left = [], []
    for _ in range(LANES):
        for mode, relu, ty in ROUNDINGS:
            numbers = [[draw(r, 'bf16', True) for _ in 'lh'] for _ in 'abc']
            if marked:
                numbers = [[OUTSIDE if r.below(4) == 0 else half for half in pair] for pair in numbers]
            given += [half for pair in numbers for half in pair]
            count = 2 if ty == 'bf16x2' else 1
            results = [fused(mode, relu, *(pair[n] for pair in numbers)) for n in range(count)]
            if marked:
                results = [0 if OUTSIDE in (numbers[0][n], numbers[1][n]) else v for n, v in enumerate(results)]
            left += results + [0] * (2 - count)
    return given, left


MARKED = [(relu, ty) for relu in ('', '.relu') for ty in ('f16', 'bf16', 'f16x2', 'bf16x2')]
# Where 1 is, and bits of a fraction.
LAYOUT = {'f16': (15, 10), 'bf16': (127, 7)}


def encode(ty, whole):
    """A small whole number as a half."""
    bias, width = LAYOUT[ty]
    if whole == 0:
        return 0
    exponent = abs(whole).bit_length() - 1
    return (whole < 0) << 15 | (bias + exponent << width) + ((abs(whole) << width >> exponent) - (1 << width))


def marked_kernel():
    text = f'''
.visible .entry out_of_bounds(.param .u64 data, .param .u64 out)
{{
    .reg .b16 h<4>;
    .reg .b32 t, w<4>;
    .reg .b64 from, to;
    ld.param.u64 from, [data];
    ld.param.u64 to, [out];
    mov.u32 t, %tid.x;
    mad.wide.u32 from, t, {12 * len(MARKED)}, from;
    mad.wide.u32 to, t, {4 * len(MARKED)}, to;
'''
    for n, (relu, ty) in enumerate(MARKED):
        name, bits = ('w', 32) if ty.endswith('x2') else ('h', 16)
        for part in range(3):
            text += f'    ld.global.b{bits} {name}{part}, [from+{12 * n + 4 * part}];\n'
        text += f'    fma.rn.oob{relu}.{ty} {name}3, {name}0, {name}1, {name}2;\n    st.global.b{bits} [to+{4 * n}], {name}3;\n'
    return text + '    ret;\n}\n'


def marked_data(r):
    """Whole numbers whose sums of products are exact, other not-a-numbers, and what is out of bounds."""
    given, left = [], []
    for _ in range(LANES):
        for relu, ty in MARKED:
            kind = ty.removesuffix('x2')
            whole = [[r.between(-15, 15) for _ in 'lh'] for _ in 'abc']
            odd = [[[OUTSIDE, 0x7fff, 0x7f90 if kind == 'bf16' else 0x7e00][r.below(3)] if r.below(6) == 0 else None for _ in 'lh'] for _ in 'abc']
            given += [encode(kind, w) if o is None else o for pairs in zip(whole, odd) for w, o in zip(*pairs)]
            results = []
            for n in range(2 if ty.endswith('x2') else 1):
                (a, b, c), marks = (pair[n] for pair in whole), [pair[n] for pair in odd]
                value = a * b + c
                results.append(0 if OUTSIDE in marks[:2] else 0x7fff if any(marks) else encode(kind, max(value, 0) if relu else value))
            left += results + [0] * (2 - len(results))
    return given, left


ALIASED = '''
.visible .entry two_addresses(.param .u64 one, .param .u64 other, .param .u64 out)
{
    .reg .b32 t, next, x;
    .reg .b64 from, to;
    mov.u32 t, %tid.x;
    ld.param.u64 to, [one];
    mad.wide.u32 to, t, 4, to;
    mul.lo.u32 x, t, 77;
    st.global.u32 [to], x;
    fence.proxy.alias;
    barrier.sync 0;
    membar.proxy.alias;
    add.u32 next, t, 33;
    and.b32 next, next, 63;
    ld.param.u64 from, [other];
    mad.wide.u32 from, next, 4, from;
    ld.global.u32 x, [from];
    ld.param.u64 to, [out];
    mad.wide.u32 to, t, 4, to;
    st.global.u32 [to], x;
    ret;
}
'''

CARRIES = '''
.visible .entry carries_of_16_bits(.param .u64 data, .param .u64 out)
{
    .reg .b16 h<4>, d;
    .reg .b32 t, x, y, z, low;
    .reg .b64 from, to;
    ld.param.u64 from, [data];
    ld.param.u64 to, [out];
    mov.u32 t, %tid.x;
    mad.wide.u32 from, t, 24, from;
    mad.wide.u32 to, t, 24, to;
    ld.global.v4.b16 {h0, h1, h2, h3}, [from];
    ld.global.b32 x, [from+8];
    ld.global.b32 y, [from+12];
    ld.global.b32 z, [from+16];
    add.cc.u32 low, x, y;
    addc.u16 d, h0, h1;
    st.global.b16 [to], d;
    add.cc.u32 low, x, y;
    madc.lo.s16 d, h0, h1, h2;
    st.global.b16 [to+2], d;
    add.cc.u32 low, x, y;
    madc.hi.u16 d, h0, h1, h2;
    st.global.b16 [to+4], d;
    add.cc.u32 low, x, y;
    madc.hi.s16 d, h0, h1, h2;
    st.global.b16 [to+6], d;
    sub.cc.u32 low, x, y;
    subc.s16 d, h0, h1;
    st.global.b16 [to+8], d;
    ld.mmio.relaxed.sys.global.u16 d, [from+6];
    st.mmio.relaxed.sys.global.u16 [to+10], d;
    add.cc.u32 low, x, y;
    madc.hi.sat.s32 low, x, y, z;
    st.global.b32 [to+12], low;
    ld.mmio.relaxed.sys.b64 from, [from+16];
    st.mmio.relaxed.sys.b64 [to+16], from;
    ret;
}
'''


def carries_data(r):
    given, left = b'', b''
    signed = lambda v, bits: v - (1 << bits) if v >> bits - 1 else v
    for _ in range(LANES):
        h = [r.bits(16) for _ in range(4)]
        x, y = r.bits(32), r.bits(32)
        # The third addend is near an end of the range more often than not.
        z, rest = (r.bits(32) if r.below(3) == 0 else 0x7fffffff - r.below(1 << 29) if r.below(2) else 0x80000000 + r.below(1 << 29)), r.bits(32)
        carry, no_borrow = x + y >> 32, int(x >= y)
        exact = (signed(x, 32) * signed(y, 32) >> 32) + signed(z, 32) + carry
        halves = [h[0] + h[1] + carry, h[0] * h[1] + h[2] + carry, (h[0] * h[1] >> 16) + h[2] + carry,
                  (signed(h[0], 16) * signed(h[1], 16) >> 16) + h[2] + carry, h[0] - h[1] - 1 + no_borrow, h[3]]
        given += record.pack('u16', h) + record.pack('u32', [x, y, z, rest])
        left += record.pack('u16', halves) + record.pack('s32', [max(-1 << 31, min((1 << 31) - 1, exact))]) + record.pack('u32', [z, rest])
    return given, left


given, left = rounding_data(Random(71))
case('rounded_bf16', FILE, [1], [LANES], [Given('u16', given), Result('u16', left, [0] * len(left))])
given, left = rounding_data(Random(73), marked=True)
case('out_of_bounds_rounded', MARKED_FILE, [1], [LANES], [Given('u16', given), Result('u16', left, [0] * len(left))])
given, left = marked_data(Random(74))
case('out_of_bounds', MARKED_FILE, [1], [LANES], [Given('u16', given), Result('u16', left, [0] * len(left))])
words = [77 * t for t in range(LANES)]
case('two_addresses', FILE, [1], [LANES], [
    Result('u32', words, [0] * LANES), Alias(0), Result('u32', [words[t + 33 & 63] for t in range(LANES)], [0] * LANES)])
given, left = carries_data(Random(72))
case('carries_of_16_bits', FILE, [1], [LANES], [Given('u8', given), Result('u8', left)])


def write_ptx():
    with open(os.path.join(record.ROOT, FILE + '.ptx'), 'w') as out:
        out.write(HEAD + rounding_kernel('rounded_bf16', '') + CARRIES + ALIASED)
    with open(os.path.join(record.ROOT, MARKED_FILE + '.ptx'), 'w') as out:
        out.write(HEAD + rounding_kernel('out_of_bounds_rounded', '.oob') + marked_kernel())
