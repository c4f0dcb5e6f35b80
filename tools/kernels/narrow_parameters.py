"""Parameters of 8 and 16 bits, which a kernel tests and computes with, in places that all lanes reach and in some that few
do; and loads on both sides of a condition, or on one."""
import os

import record
from record import Given, Random, Result, Scalar, case

FILE = 'narrow_parameters'
M32 = (1 << 32) - 1
WIDTH = 64
HEAD = '''// Written by tools/kernels/narrow_parameters.py: parameters of 8 and 16 bits, and loads on both sides of a condition.
.version 8.0
.target sm_80
.address_size 64
'''
NARROW = '''
.visible .entry NAME(.param .u64 out_of_all, .param .u8 flag, .param .u8 signed, .param .u8 plain, .param .u16 half, .param .u16 whole)
{
    .reg .pred p, q;
    .reg .b16 f;
    .reg .b32 t, x, s, b, h, w;
    .reg .b64 out, to;
    ld.param.u64 out, [out_of_all];
    ld.param.s8 f, [flag];
    ld.param.s8 s, [signed];
    ld.param.u8 b, [plain];
    ld.param.s16 h, [half];
    ld.param.u16 w, [whole];
    mov.u32 t, %tid.x;
    mul.wide.u32 to, t, 4;
    add.u64 to, to, out;
    mov.u32 x, 7;
    setp.eq.s16 p, f, 0;
    @p bra Other;
    mad.lo.s32 x, s, t, h;
    setp.lt.u32 q, t, b;
    @q bra Few;
    bra Done;
Few:
    mad.lo.s32 x, h, w, x;
    setp.lt.s32 q, s, 0;
    @q xor.b32 x, x, b;
    bra Done;
Other:
    mad.lo.s32 x, w, t, s;
    sub.s32 x, x, b;
Done:
    st.global.u32 [to], x;
    ret;
}
'''
CHOSEN = '''
.visible .entry chosen_loads(.param .u64 out_of_all, .param .u64 in_of_all, .param .u64 other_of_all)
{
    .reg .pred p;
    .reg .b32 t, c, x, y, z;
    .reg .b64 out, in, other, at;
    ld.param.u64 out, [out_of_all];
    ld.param.u64 in, [in_of_all];
    ld.param.u64 other, [other_of_all];
    mov.u32 t, %tid.x;
    mul.wide.u32 at, t, 4;
    add.u64 in, in, at;
    add.u64 other, other, at;
    mul.wide.u32 at, t, 16;
    add.u64 out, out, at;
    and.b32 c, t, 5;
    setp.eq.u32 p, c, 1;
    @p bra First;
    ld.global.u32 x, [in];
    not.b32 x, x;
    bra Second;
First:
    ld.global.u32 x, [other];
Second:
    st.global.u32 [out], x;
    setp.eq.u32 p, c, 4;
    @p bra Third;
    ld.global.u32 y, [in+4];
    bra Fourth;
Third:
    ld.global.u32 y, [other+4];
Fourth:
    st.global.u32 [out+4], y;
    ld.global.u32 z, [in+8];
    setp.ne.u32 p, c, 5;
    @p bra Last;
    ld.global.u32 z, [other+8];
Last:
    add.u32 z, z, c;
    st.global.u32 [out+8], z;
    mul.lo.u32 x, t, 3;
    setp.lt.u32 p, t, 20;
    @!p bra Kept;
    ld.global.u32 x, [in];
Kept:
    st.global.u32 [out+12], x;
    ret;
}
'''


# Of each launch: its kernel, and the parameters.
LAUNCHES = [('narrow_parameters', (-128, -3, 200, -12345, 54321)), ('narrow_parameters_few', (1, 17, 5, 321, 65535)), ('narrow_parameters_zero', (0, -77, 255, -1, 40000))]


def write_ptx():
    text = HEAD + ''.join(NARROW.replace('NAME', name) for name, _ in LAUNCHES) + CHOSEN
    open(os.path.join(record.ROOT, FILE + '.ptx'), 'w').write(text)


def narrow(flag, signed, plain, half, whole):
    out = []
    for t in range(WIDTH):
        if flag == 0:
            x = whole * t + signed - plain
        else:
            x = signed * t + half
            if t < plain:
                x = (half * whole + x) & M32
                x = x ^ plain if signed < 0 else x
        out.append(x & M32)
    return out


for name, values in LAUNCHES:
    scalars = [Scalar(kind, value & (1 << bits) - 1) for kind, bits, value in zip(['u8', 'u8', 'u8', 'u16', 'u16'], [8, 8, 8, 16, 16], values)]
    case(name, FILE, [1], [WIDTH], [Result('u32', narrow(*values)), *scalars])

random = Random(83)
given, other = ([random.bits() for _ in range(WIDTH + 2)] for _ in range(2))
out = []
for t in range(WIDTH):
    c = t & 5
    out += [other[t] if c == 1 else ~given[t] & M32, other[t + 1] if c == 4 else given[t + 1], (other[t + 2] if c == 5 else given[t + 2]) + c & M32, given[t] if t < 20 else 3 * t]
case('chosen_loads', FILE, [1], [WIDTH], [Result('u32', out), Given('u32', given), Given('u32', other)])
