"""Kernels whose divisions and roots go the slow way in some lanes: under divergence, under pressure, in recursion."""
import math
import os
import struct

import record
from record import Given, Random, Result, case, f32

HEAD = '// Written by tools/kernels/slow_ways.py: divisions and roots that go the slow way in some lanes.\n.version 8.6\n.target sm_90\n.address_size 64\n'
THREADS = 64
WORDS = 12
M32, M64 = (1 << 32) - 1, (1 << 64) - 1

DESCEND = '''
.func (.param .b64 result) descend(.param .b64 number, .param .b64 value)
{
    .reg .pred small;
    .reg .b64 n, third, rest;
    .reg .f64 x, y, d;
    ld.param.u64 n, [number];
    ld.param.f64 x, [value];
    setp.lt.u64 small, n, 7;
    @small bra last;
    div.u64 third, n, 3;
    rem.u64 rest, n, 3;
    mul.rn.f64 y, x, 0d3FE0000000000000;
    {
        .param .b64 given, less, more;
        st.param.b64 [less], third;
        st.param.f64 [more], y;
        call (given), descend, (less, more);
        ld.param.f64 y, [given];
    }
    cvt.rn.f64.u64 d, n;
    div.rn.f64 y, y, d;
    cvt.rn.f64.u64 d, rest;
    mul.rn.f64 d, d, x;
    add.rn.f64 y, y, d;
    st.param.f64 [result], y;
    ret;
last:
    sqrt.rn.f64 y, x;
    div.rn.f64 y, y, 0d4008000000000000;
    st.param.f64 [result], y;
    ret;
}
'''

RECURSION = '''
.visible .entry slow_ways_recursion(.param .u64 numbers, .param .u64 values, .param .u64 out)
{
    .reg .b32 t;
    .reg .b64 n, numbers_at, values_at, out_at;
    .reg .f64 x;
    mov.u32 t, %tid.x;
    ld.param.u64 numbers_at, [numbers];
    ld.param.u64 values_at, [values];
    ld.param.u64 out_at, [out];
    mad.wide.u32 numbers_at, t, 8, numbers_at;
    mad.wide.u32 values_at, t, 8, values_at;
    mad.wide.u32 out_at, t, 8, out_at;
    ld.global.u64 n, [numbers_at];
    ld.global.f64 x, [values_at];
    {
        .param .b64 given, less, more;
        st.param.b64 [less], n;
        st.param.f64 [more], x;
        call (given), descend, (less, more);
        ld.param.f64 x, [given];
    }
    st.global.f64 [out_at], x;
    ret;
}
'''

LANES = '''
.visible .entry slow_ways_lanes(.param .u64 left, .param .u64 right, .param .u64 out)
{
    .reg .pred p;
    .reg .b32 t, way, bits, other;
    .reg .b64 left_at, right_at, out_at;
    .reg .f32 a, b, x, y;
    mov.u32 t, %tid.x;
    ld.param.u64 left_at, [left];
    ld.param.u64 right_at, [right];
    ld.param.u64 out_at, [out];
    mad.wide.u32 left_at, t, 4, left_at;
    mad.wide.u32 right_at, t, 4, right_at;
    mad.wide.u32 out_at, t, 4, out_at;
    ld.global.f32 a, [left_at];
    ld.global.f32 b, [right_at];
    rem.u32 way, t, 3;
    setp.eq.u32 p, way, 0;
    @p bra quotient;
    setp.eq.u32 p, way, 1;
    @p bra root;
    rcp.rn.f32 x, b;
    bra meet;
quotient:
    div.rn.f32 x, a, b;
    abs.f32 y, b;
    sqrt.rn.f32 y, y;
    div.rn.ftz.f32 x, x, y;
    bra meet;
root:
    abs.f32 y, a;
    sqrt.rn.f32 x, y;
meet:
    mov.b32 bits, x;
    shfl.sync.bfly.b32 other, bits, 1, 31, 0xffffffff;
    xor.b32 bits, bits, other;
    st.global.u32 [out_at], bits;
    ret;
}
'''

IN_A_ROW = '''
.visible .entry slow_ways_in_a_row(.param .u64 singles, .param .u64 doubles, .param .u64 out)
{
    .reg .pred p, q, more;
    .reg .b32 t, i, lane;
    .reg .b64 singles_at, doubles_at, out_at;
    .reg .f32 a, b, c, d, e, f, u, v, w, x, y, z;
    .reg .f64 g, h, k, l, m;
    mov.u32 t, %tid.x;
    ld.param.u64 singles_at, [singles];
    ld.param.u64 doubles_at, [doubles];
    ld.param.u64 out_at, [out];
    mad.wide.u32 singles_at, t, 48, singles_at;
    mad.wide.u32 doubles_at, t, 24, doubles_at;
    mad.wide.u32 out_at, t, 112, out_at;
    and.b32 lane, t, 3;
    setp.ne.u32 q, lane, 1;
    mov.u32 i, 0;
next:
    ld.global.f32 a, [singles_at];
    ld.global.f32 b, [singles_at+4];
    div.rn.f32 u, a, b;
    ld.global.f32 c, [singles_at+8];
    ld.global.f32 d, [singles_at+12];
    div.rn.f32 v, c, d;
    st.global.f32 [out_at], u;
    ld.global.f32 w, [out_at];
    ld.global.f32 e, [singles_at+16];
    rcp.rn.f32 x, e;
    ld.global.f32 f, [singles_at+20];
    abs.f32 y, f;
    sqrt.rn.f32 y, y;
    div.rn.f32 w, w, y;
    mov.f32 z, v;
    @q div.rn.f32 z, a, e;
    st.global.f32 [out_at+4], v;
    st.global.f32 [out_at+8], w;
    st.global.f32 [out_at+12], x;
    st.global.f32 [out_at+16], y;
    st.global.f32 [out_at+20], z;
    ld.global.f64 g, [doubles_at];
    ld.global.f64 h, [doubles_at+8];
    ld.global.f64 k, [doubles_at+16];
    div.rn.f64 l, g, h;
    div.rn.f64 m, h, k;
    st.global.f64 [out_at+24], l;
    st.global.f64 [out_at+32], m;
    abs.f64 g, g;
    sqrt.rn.f64 l, g;
    rcp.rn.f64 m, h;
    st.global.f64 [out_at+40], m;
    div.rn.f64 k, l, k;
    st.global.f64 [out_at+48], k;
    add.u64 singles_at, singles_at, 24;
    add.u64 out_at, out_at, 56;
    add.u32 i, i, 1;
    setp.lt.u32 more, i, 2;
    @more bra next;
    ret;
}
'''


def pressure_text():
    """Words that live across four divisions."""
    words = ', '.join(f'w{i}' for i in range(WORDS))
    text = f'''
.visible .entry slow_ways_pressure(.param .u64 left, .param .u64 right, .param .u64 words, .param .u64 out)
{{
    .reg .b32 t, sum, {words};
    .reg .b64 a, b, q, left_at, right_at, words_at, out_at;
    mov.u32 t, %tid.x;
    ld.param.u64 left_at, [left];
    ld.param.u64 right_at, [right];
    ld.param.u64 words_at, [words];
    ld.param.u64 out_at, [out];
    mad.wide.u32 left_at, t, 8, left_at;
    mad.wide.u32 right_at, t, 8, right_at;
    mad.wide.u32 words_at, t, {4 * WORDS}, words_at;
    mad.wide.u32 out_at, t, 40, out_at;
    ld.global.u64 a, [left_at];
    ld.global.u64 b, [right_at];
'''
    for i in range(WORDS):
        text += f'    ld.global.u32 w{i}, [words_at+{4 * i}];\n'
    for at, operation in enumerate(('div.u64', 'rem.u64', 'div.s64', 'rem.s64')):
        text += f'    {operation} q, a, b;\n    st.global.u64 [out_at+{8 * at}], q;\n'
    text += '    mov.u32 sum, 0;\n'
    for i in range(WORDS):
        text += f'    mad.lo.u32 sum, sum, 31, w{i};\n'
    return text + '    st.global.u32 [out_at+32], sum;\n    st.global.u32 [out_at+36], t;\n    ret;\n}\n'


def write_ptx():
    """Writes the PTX of all kernels."""
    open(os.path.join(record.ROOT, 'slow_ways.ptx'), 'w').write(HEAD + DESCEND + RECURSION + LANES + IN_A_ROW + pressure_text())


def descend(n, x):
    if n < 7:
        return math.sqrt(x) / 3.0
    y = descend(n // 3, x * 0.5) / float(n)
    return y + float(n % 3) * x


def bits(value):
    return struct.unpack('<I', struct.pack('<f', value))[0]


def flush(value):
    return math.copysign(0.0, value) if abs(value) < 2.0 ** -126 else value


def quotient(a, b):
    return f32(a / b) if b else math.copysign(math.inf, math.copysign(1.0, a) * math.copysign(1.0, b))


def lane(t, a, b):
    if t % 3 == 0:
        return flush(quotient(flush(quotient(a, b)), flush(f32(math.sqrt(abs(b))))))
    if t % 3 == 1:
        return f32(math.sqrt(abs(a)))
    return quotient(1.0, b)


def in_a_row(t, singles, doubles):
    """The bytes of a thread of `slow_ways_in_a_row`."""
    g, h, k = doubles
    written = b''
    for i in range(2):
        a, b, c, d, e, f = singles[6 * i:6 * i + 6]
        v, y = quotient(c, d), f32(math.sqrt(abs(f)))
        found = [quotient(a, b), v, quotient(quotient(a, b), y), quotient(1.0, e), y, v if t % 4 == 1 else quotient(a, e)]
        written += struct.pack('<6f', *found)
        written += struct.pack('<4d', wide_quotient(g, h), wide_quotient(h, k), wide_quotient(1.0, h), wide_quotient(math.sqrt(abs(g)), k))
    return written


def wide_quotient(a, b):
    return a / b if b else math.copysign(math.inf, math.copysign(1.0, a) * math.copysign(1.0, b))


def single(random, spread):
    """A single of any size that the spread of exponents allows, subnormals among them."""
    return f32(math.copysign(math.ldexp(1 + random.real(), random.between(-spread, spread)), random.real(-1, 1)))


def divided(a, b):
    """Quotients and remainders: unsigned, then toward zero."""
    x, y = record.wrap('s64', a), record.wrap('s64', b)
    q = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
    return [a // b, a % b, q, x - q * y]


r = Random(11)
numbers = [r.bits(64) >> r.between(0, 60) for _ in range(THREADS)]
values = [math.ldexp(1 + r.real(), r.between(-1070, 300)) for _ in range(THREADS)]
case('slow_ways_recursion', 'slow_ways', [1], [THREADS], [Given('u64', numbers), Given('f64', values), Result('f64', map(descend, numbers, values))])

left = [single(r, 140 if t % 2 else 20) for t in range(THREADS)]
right = [single(r, 126 if t % 5 else 20) for t in range(THREADS)]
left[3], right[6], right[8], right[11] = 0.0, math.inf, 0.0, struct.unpack('<f', struct.pack('<I', 0x3fffffff))[0]
found = [bits(lane(t, a, b)) for t, (a, b) in enumerate(zip(left, right))]
case('slow_ways_lanes', 'slow_ways', [1], [THREADS], [Given('f32', left), Given('f32', right), Result('u32', [x ^ found[t ^ 1] for t, x in enumerate(found)])])

left = [r.bits(64) >> (0 if t % 3 else 40) for t in range(THREADS)]
right = [max(1, r.bits(64) >> (r.between(0, 63) if t % 3 else 33)) for t in range(THREADS)]
words = [r.bits(32) for _ in range(WORDS * THREADS)]
after = []
for t in range(THREADS):
    total = 0
    for word in words[WORDS * t:WORDS * (t + 1)]:
        total = (total * 31 + word) & M32
    after += [x & M64 for x in divided(left[t], right[t])] + [total | t << 32]
case('slow_ways_pressure', 'slow_ways', [1], [THREADS], [Given('u64', left), Given('u64', right), Given('u32', words), Result('u64', after)])

# Few lanes go a slow way in each of the divisions, none the same two, and the last threads in none.
singles, doubles = [], []
for t in range(THREADS):
    ones = [single(r, 20) for _ in range(12)]
    wides = [math.ldexp(1 + r.real(), r.between(-30, 30)) for _ in range(3)]
    if t < 48:
        ones[t % 12] = [0.0, math.inf, struct.unpack('<f', struct.pack('<I', 5))[0], -math.ldexp(1.5, 127)][t // 12]
        wides[t % 3] = [math.ldexp(1.25, 1020), math.ldexp(1.5, -1060), math.inf][t // 3 % 3]
    singles.append(ones)
    doubles.append(wides)
expected = b''.join(in_a_row(t, *both) for t, both in enumerate(zip(singles, doubles)))
words = struct.unpack(f'<{len(expected) // 4}I', expected)
case('slow_ways_in_a_row', 'slow_ways', [1], [THREADS], [Given('f32', sum(singles, [])), Given('f64', sum(doubles, [])), Result('u32', words)])
