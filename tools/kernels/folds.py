"""Kernels of few operations each that a compiler is tempted to fold: words at the borders of their types, carries as values, fields and
bytes, conditions that turn into arithmetic, trip counts and values of loops, 16 bits and narrower, accesses in loops."""
import os

import record
from record import Given, Result, Scalar, case

M8, M16, M32, M64 = (1 << 8) - 1, (1 << 16) - 1, (1 << 32) - 1, (1 << 64) - 1
THREADS = 32
# Compilers that fold them are not asked there.
ROOT = os.path.join(record.ROOT, '..', 'regressions')
HEAD = '''// Written by tools/kernels/folds.py: operations that compilers are tempted to fold.
.version 8.0
.target sm_75
.address_size 64
'''
X = [0, 1, 2, 3, 7, 8, 31, 32, 33, 127, 128, 255, 256, 0x7fff, 0x8000, 0xffff, 0x10000, 0x8000ffff, 0x00ff00ff, 0x12345678, 0x7ffffffe, 0x7fffffff, 0x80000000,
     0x80000001, 0xc0000000, 0xdeadbeef, 0xff800000, 0xffff8000, 0xffffff7f, 0xffffff80, 0xfffffffe, 0xffffffff]
Y = [X[(11 * i + 5) % 32] for i in range(32)]


def signed(x, bits=32):
    x &= (1 << bits) - 1
    return x - (1 << bits) if x >> (bits - 1) else x


def clz(x, bits=32):
    return bits - (x & ((1 << bits) - 1)).bit_length()


def find(x):
    """The place of the highest bit that is not the sign."""
    x = ~x if x >> 31 else x
    x &= M32
    return M32 if x == 0 else 31 - clz(x)


def reverse(x):
    return int(f'{x & M32:032b}'[::-1], 2)


def shift_left(x, by, bits=32):
    return 0 if by >= bits else x << by & ((1 << bits) - 1)


def shift_right(x, by, bits=32):
    return 0 if by >= bits else (x & ((1 << bits) - 1)) >> by


def arithmetic(x, by, bits=32):
    return signed(x, bits) >> min(by, bits - 1) & ((1 << bits) - 1)


def funnel_right(low, high, by):
    return (high << 32 | low) >> (by & 31) & M32


def field(x, at, count):
    return x >> at & ((1 << count) - 1)


def signed_field(x, at, count):
    """Bits beyond the word are its sign."""
    return 0 if count == 0 else signed(arithmetic(x, at), count) & M32 if count < 32 else arithmetic(x, at)


def insert(x, into, at, count):
    mask = ((1 << count) - 1) << at & M32
    return x << at & mask | into & ~mask


def pick(x, y, selector):
    data = (y << 32 | x).to_bytes(8, 'little')
    result = 0
    for i in range(4):
        nibble = selector >> 4 * i & 15
        byte = data[nibble & 7]
        if nibble & 8:
            byte = 0xff if byte & 0x80 else 0
        result |= byte << 8 * i
    return result


def absolute(x):
    return abs(signed(x)) & M32


def bytes_less(x, y):
    """Differences of four unsigned bytes, each wrapped."""
    return sum(((x >> 8 * i & 255) - (y >> 8 * i & 255) & 255) << 8 * i for i in range(4))


def saturated(x):
    return max(-(1 << 31), min((1 << 31) - 1, x)) & M32


# Each: instructions that write z out of x and y; what z is. `a`, `b`, `c` are words, `w` and `v` 64 bits, `h` and `g` 16, `p` and `q` predicates.
WORDS = [
    ('shl.b32 a, x, 4; xor.b32 a, a, x; and.b32 z, a, 15;', lambda x, y: x & 15),
    ('mul.lo.u32 a, x, x; and.b32 z, a, 3;', lambda x, y: x * x & 3),
    ('mul.lo.u32 a, x, x; or.b32 z, a, 2;', lambda x, y: x * x & M32 | 2),
    ('shl.b32 a, x, 31; or.b32 a, a, y; shr.u32 z, a, 31;', lambda x, y: x & 1 | y >> 31),
    ('shr.u32 a, x, 1; abs.s32 a, a; setp.lt.u32 p, a, 0x40000000; selp.u32 z, 1, 2, p;', lambda x, y: 1 if x >> 1 < 0x40000000 else 2),
    ('abs.s32 a, x; setp.lt.s32 p, a, 0; selp.u32 z, 1, 2, p;', lambda x, y: 1 if x == 1 << 31 else 2),
    ('abs.s32 a, x; neg.s32 a, a; setp.gt.s32 p, a, -5; selp.u32 z, a, y, p;', lambda x, y: -absolute(x) & M32 if -abs(signed(x)) > -5 else y),
    ('cnot.b32 a, x; sub.u32 a, a, 1; setp.gt.u32 p, a, 0; selp.u32 z, 7, 9, p;', lambda x, y: 7 if (x == 0) - 1 & M32 else 9),
    ('cnot.b32 a, x; shf.l.wrap.b32 z, a, y, 1;', lambda x, y: y << 1 & M32),
    ('cnot.b32 a, x; neg.s32 a, a; setp.hi.u32 p, a, 3; selp.u32 z, 7, 9, p;', lambda x, y: 7 if x == 0 else 9),
    ('neg.s32 a, x; shf.l.wrap.b32 z, a, y, 9;', lambda x, y: y << 9 & M32 | (-x & M32) >> 23),
    ('not.b32 a, x; clz.b32 a, a; setp.eq.u32 p, a, 32; selp.u32 z, 3, a, p;', lambda x, y: 3 if x == M32 else clz(~x)),
    ('bfind.s32 a, x; add.u32 a, a, 1; min.u32 z, a, 16;', lambda x, y: min(find(x) + 1 & M32, 16)),
    ('brev.b32 a, x; clz.b32 a, a; bfind.u32 z, a;', lambda x, y: find(clz(reverse(x)))),
    ('popc.b32 a, x; sub.s32 a, 31, a; and.b32 z, a, 0x80000001;', lambda x, y: 31 - bin(x).count('1') & 0x80000001),
    ('min.s32 a, x, y; max.u32 a, a, x; min.u32 z, a, 0x80000001;', lambda x, y: min(max(min(signed(x), signed(y)) & M32, x), 0x80000001)),
    ('max.s32 a, x, -1; min.u32 z, a, 0x7fffffff;', lambda x, y: min(max(signed(x), -1) & M32, 0x7fffffff)),
    ('add.sat.s32 a, x, 1; sub.sat.s32 z, a, 1;', lambda x, y: saturated(signed(saturated(signed(x) + 1)) - 1)),
    ('sub.sat.s32 a, x, y; add.s32 a, a, y; setp.eq.u32 p, a, x; selp.u32 z, a, 5, p;', lambda x, y: x if saturated(signed(x) - signed(y)) + signed(y) & M32 == x else 5),
    ('sub.s32 a, x, y; sub.s32 z, a, x;', lambda x, y: -y & M32),
    ('slct.s32.s32 a, x, -1, y; setp.ge.s32 p, a, 0; selp.u32 z, a, 11, p;', lambda x, y: x if signed(y) >= 0 and signed(x) >= 0 else 11),
    ('set.lt.s32.s32 a, x, y; setp.eq.s32 p, a, 1; selp.u32 z, 1, a, p;', lambda x, y: M32 if signed(x) < signed(y) else 0),
    ('setp.ge.s32 p, x, 0; selp.u32 a, x, 0, p; setp.ge.s32 q, a, 0; selp.u32 z, a, 77, q;', lambda x, y: x if signed(x) >= 0 else 0),
    ('setp.lt.u32 p, x, y; not.pred q, p; xor.pred q, q, p; selp.u32 z, x, y, q;', lambda x, y: x),
    ('lop3.b32 a, x, y, y, 0xd8; or.b32 z, a, x;', lambda x, y: x | y),
    ('lop3.b32 a, x, y, 0xff00, 0xca; xor.b32 a, a, x; lop3.b32 z, a, x, y, 0x96;', lambda x, y: (x & y | ~x & 0xff00) & M32 ^ y),
    ('shf.r.wrap.b32 a, x, y, 8; sub.u32 z, a, y;', lambda x, y: funnel_right(x, y, 8) - y & M32),
    ('and.b32 a, y, 63; shf.r.clamp.b32 z, x, y, a;', lambda x, y: (y << 32 | x) >> min(y & 63, 32) & M32),
    ('and.b32 a, y, 31; bfe.s32 z, x, a, 9;', lambda x, y: signed_field(x, y & 31, 9)),
    ('and.b32 a, y, 31; bfi.b32 z, x, y, 7, a;', lambda x, y: insert(x, y, 7, y & 31)),
    ('clz.b32 a, x; bfi.b32 z, y, x, a, 8;', lambda x, y: insert(y, x, clz(x), 8)),
    ('and.b32 a, x, 31; bmsk.clamp.b32 a, a, 5; clz.b32 z, a;', lambda x, y: clz(31 << (x & 31) & M32)),
    ('mul.hi.u32 a, x, 0x80000000; shl.b32 a, a, 1; sub.u32 z, x, a;', lambda x, y: x & 1),
    ('mul.wide.s32 w, x, -1; shr.s64 w, w, 31; cvt.u32.u64 z, w;', lambda x, y: -signed(x) >> 31 & M32),
    ('mul.wide.u32 w, x, 0x10001; shr.u64 w, w, 16; cvt.u32.u64 z, w;', lambda x, y: x * 0x10001 >> 16 & M32),
    ('cvt.u64.u32 w, x; shl.b64 w, w, 32; or.b64 w, w, 1; mov.b64 {a, z}, w; add.u32 z, z, a;', lambda x, y: x + 1 & M32),
    ('mov.b64 w, {x, y}; bfe.u64 w, w, 20, 24; cvt.u32.u64 z, w;', lambda x, y: field(y << 32 | x, 20, 24)),
    ('mov.b64 w, {x, y}; bfe.s64 v, w, 31, 33; shr.s64 v, v, 1; cvt.u32.u64 z, v;', lambda x, y: signed((y << 32 | x) >> 31, 33) >> 1 & M32),
    ('mov.b64 w, {x, y}; setp.gt.s64 p, w, 0xffffffff; selp.u32 z, x, y, p;', lambda x, y: x if signed(y << 32 | x, 64) > M32 else y),
    ('add.cc.u32 a, x, y; addc.u32 z, 0, 0;', lambda x, y: x + y >> 32),
    ('add.cc.u32 a, x, y; addc.u32 b, x, 0; shl.b32 b, b, 1; add.u32 z, b, a;', lambda x, y: 2 * (x + (x + y >> 32)) + x + y & M32),
    ('sub.cc.u32 a, x, y; subc.u32 b, 0, 0; and.b32 b, b, y; add.u32 z, a, b;', lambda x, y: x - y + (y if x < y else 0) & M32),
    ('mul.lo.u32 c, x, y; add.cc.u32 a, c, x; addc.u32 z, c, y;', lambda x, y: (x * y & M32) + y + ((x * y & M32) + x >> 32) & M32),
    ('cnot.b32 c, x; sub.cc.u32 a, c, 1; subc.u32 b, y, 0; shl.b32 z, b, 1;', lambda x, y: 2 * (y - (x != 0)) & M32),
    ('mad.lo.cc.u32 a, x, y, x; madc.hi.u32 z, x, y, 0;', lambda x, y: x * y + x >> 32 & M32),
    ('mov.b64 w, {x, y}; mov.b64 v, {y, x}; add.cc.u64 w, w, v; addc.u64 v, 0, 0; cvt.u32.u64 z, v;', lambda x, y: (y << 32 | x) + (x << 32 | y) >> 64),
    ('prmt.b32 a, x, y, 0x8888; and.b32 z, a, 0xff00;', lambda x, y: 0xff00 if x & 0x80 else 0),
    ('prmt.b32 a, x, y, 0x7650; prmt.b32 z, a, a, 0x3b21;', lambda x, y: pick(pick(x, y, 0x7650), pick(x, y, 0x7650), 0x3b21)),
    ('and.b32 a, y, 0x7777; prmt.b32 a, x, y, a; setp.eq.u32 p, a, x; selp.u32 z, 1, a, p;', lambda x, y: 1 if pick(x, y, y & 0x7777) == x else pick(x, y, y & 0x7777)),
    ('prmt.b32 a, x, 0, 0x4410; cvt.u16.u32 h, a; cvt.u32.u16 z, h;', lambda x, y: x & M16),
    ('prmt.b32 a, x, 0, 0x1044; cvt.u16.u32 h, a; add.u16 h, h, 3; cvt.s32.s16 z, h;', lambda x, y: 3),
    ('vsub4.u32.u32.u32 a, x, y, x; xor.b32 z, a, x;', lambda x, y: bytes_less(x, y) ^ x),
    ('dp4a.u32.u32 a, x, 0x01010101, y; sub.u32 z, a, y;', lambda x, y: sum(x >> 8 * i & 255 for i in range(4))),
    ('shr.s32 a, x, 31; shr.u32 a, a, 28; add.s32 a, x, a; shr.s32 z, a, 4;', lambda x, y: (abs(signed(x)) >> 4) * (-1 if signed(x) < 0 else 1) & M32),
    ('shr.s32 a, x, 24; shl.b32 a, a, 24; sub.s32 z, x, a;', lambda x, y: x & 0xffffff),
    ('shl.b32 a, x, 33; shr.u32 b, x, 32; or.b32 a, a, b; shr.s32 b, x, 40; xor.b32 z, a, b;', lambda x, y: M32 if x >> 31 else 0),
    ('and.b32 c, y, 255; shl.b32 a, x, c; shr.u32 b, x, c; sub.u32 z, a, b;', lambda x, y: shift_left(x, y & 255) - shift_right(x, y & 255) & M32),
    ('rem.u32 a, x, 8; setp.lt.u32 p, a, 8; selp.u32 z, a, 99, p;', lambda x, y: x % 8),
    ('rem.s32 a, x, 8; setp.lt.s32 p, a, 0; selp.u32 z, a, 99, p;', lambda x, y: -(abs(signed(x)) % 8) & M32 if signed(x) < 0 and abs(signed(x)) % 8 else 99),
    ('div.s32 a, x, -2147483648; add.s32 z, a, y;', lambda x, y: (x == 1 << 31) + y & M32),
    ('div.u32 a, x, 0x80000001; mad.lo.u32 z, a, 0x7fffffff, x;', lambda x, y: (x >= 0x80000001) * 0x7fffffff + x & M32),
    ('sad.s32 a, x, y, 0; setp.lt.s32 p, a, 0; selp.u32 z, a, 1, p;', lambda x, y: abs(signed(x) - signed(y)) if abs(signed(x) - signed(y)) >> 31 & 1 else 1),
]

# 16 bits and fewer.
NARROW = [
    ('cvt.u16.u32 h, x; neg.s16 h, h; cvt.s32.s16 z, h;', lambda x, y: signed(-signed(x, 16), 16) & M32),
    ('cvt.u16.u32 h, x; abs.s16 h, h; setp.lt.s16 p, h, 0; selp.u32 z, 1, 2, p;', lambda x, y: 1 if x & M16 == 0x8000 else 2),
    ('cvt.u16.u32 h, x; sub.s16 h, 0, h; cvt.s32.s16 a, h; add.s32 z, a, y;', lambda x, y: signed(-x, 16) + y & M32),
    ('cvt.u16.u32 h, x; cvt.u16.u32 g, y; min.s16 h, h, g; cvt.u32.u16 z, h;', lambda x, y: min(signed(x, 16), signed(y, 16)) & M16),
    ('cvt.u16.u32 h, x; cvt.u16.u32 g, y; max.u16 h, h, g; setp.gt.u16 p, h, 0x7fff; selp.u32 z, 1, 0, p;', lambda x, y: max(x & M16, y & M16) > 0x7fff),
    ('cvt.u16.u32 h, x; add.u16 h, h, h; mul.wide.u16 z, h, h;', lambda x, y: (2 * x & M16) ** 2),
    ('cvt.u16.u32 h, x; sub.u16 h, h, 1; mul.wide.s16 a, h, 3; add.u32 z, a, 1;', lambda x, y: signed(x - 1, 16) * 3 + 1 & M32),
    ('cvt.u16.u32 h, x; setp.ne.s16 p, h, -1; mov.b16 g, 65535; selp.b16 h, h, 1, p; mad.wide.u16 z, h, g, y;', lambda x, y: (x & M16 if x & M16 != M16 else 1) * M16 + y & M32),
    ('cvt.u16.u32 h, x; shl.b16 h, h, 4; shr.s16 h, h, 4; cvt.s32.s16 z, h;', lambda x, y: signed(x, 12) & M32),
    ('cvt.u16.u32 h, x; shr.u16 h, h, 16; cvt.u32.u16 z, h;', lambda x, y: 0),
    ('cvt.s16.s8 h, x; cvt.u32.u16 z, h;', lambda x, y: signed(x, 8) & M16),
    ('cvt.s16.s8 h, x; mul.hi.u16 h, h, 0x8000; cvt.u32.u16 z, h;', lambda x, y: (signed(x, 8) & M16) >> 1),
    ('mov.b32 {h, g}, x; mov.b32 a, {g, h}; sub.u32 z, a, x;', lambda x, y: (x >> 16 | x << 16 & M32) - x & M32),
    ('mov.b32 {h, g}, x; add.u16 h, h, g; mov.b32 a, {h, g}; shr.s32 z, a, 16;', lambda x, y: arithmetic(x, 16)),
    ('cvt.u8.u32 h, x; cvt.s16.s8 g, h; cvt.s32.s16 a, g; cvt.u32.u16 b, h; sub.u32 z, a, b;', lambda x, y: -256 & M32 if x & 0x80 else 0),
    ('cvt.sat.s8.s32 a, x; cvt.sat.u8.s32 b, a; sub.u32 z, b, a;', lambda x, y: max(0, max(-128, min(127, signed(x)))) - max(-128, min(127, signed(x))) & M32),
    ('cvt.sat.u16.s32 h, x; cvt.u32.u16 a, h; sub.u32 z, 0xffff, a;', lambda x, y: M16 - max(0, min(M16, signed(x)))),
    ('and.b32 a, x, 0xffff; cvt.s32.s16 b, a; sub.u32 z, a, b;', lambda x, y: 0x10000 if x & 0x8000 else 0),
    ('mul24.lo.s32 a, x, 0x800001; mul24.hi.u32 b, x, y; xor.b32 z, a, b;', lambda x, y: signed(x, 24) * signed(0x800001, 24) & M32 ^ (x & 0xffffff) * (y & 0xffffff) >> 16 & M32),
    ('cvt.u16.u32 h, x; or.b16 h, h, 1; cvt.u16.u32 g, y; div.u16 g, g, h; rem.u16 h, g, 10; mov.b32 z, {h, g};',
     lambda x, y: (y & M16) // (x & M16 | 1) % 10 | (y & M16) // (x & M16 | 1) << 16),
    ('cvt.u16.u32 h, x; cvt.u16.u32 g, y; mad.lo.s16 h, h, g, 0x7fff; set.gt.s32.s16 z, h, g;', lambda x, y: M32 if signed(x * y + 0x7fff, 16) > signed(y, 16) else 0),
]

# Conditions, and what stands under them.
CONDITIONS = [
    ('mov.b32 z, x; setp.lt.s32 p, x, y; @p bra E; not.b32 z, z; E: xor.b32 z, z, 5;', lambda x, y: (x if signed(x) < signed(y) else ~x & M32) ^ 5),
    ('setp.lt.s32 p, x, 0; @p bra E; setp.lt.u32 p, x, 0x80000000; E: selp.u32 z, 1, 2, p;', lambda x, y: 1),
    ('setp.eq.s32 p, x, 0; mov.b32 a, y; @p bra E; bra J; E: mov.b32 a, 9; J: mov.b32 z, a;', lambda x, y: 9 if x == 0 else y),
    ('setp.gt.u32 p, x, y; @p bra E; mov.b32 z, 1; bra J; E: mov.b32 z, 2; mov.b32 z, x; J: add.u32 z, z, 0;', lambda x, y: x if x > y else 1),
    ('mov.b32 z, y; setp.ne.u32 p, x, 0; @!p bra E; bfind.u32 z, x; E: add.u32 z, z, 1;', lambda x, y: (31 - clz(x) if x else y) + 1 & M32),
    ('prmt.b32 a, x, y, 0x5410; setp.lt.s32 p, y, 0; @p prmt.b32 a, x, y, 0x7632; and.b32 z, a, 0xffff;', lambda x, y: (x >> 16 if y >> 31 else x & M16)),
    ('setp.ge.s32 p, x, y; mov.b32 z, 0; @p vsub4.u32.u32.u32 z, x, y, x; @!p bra E; add.u32 z, z, 1; E: xor.b32 z, z, y;',
     lambda x, y: (bytes_less(x, y) + 1 & M32 if signed(x) >= signed(y) else 0) ^ y),
    ('mov.b32 z, x; setp.lt.s32 p, x, y; @p sub.u32 z, z, y; @p sub.u32 z, z, y; @!p add.u32 z, z, y;', lambda x, y: (x - 2 * y if signed(x) < signed(y) else x + y) & M32),
    ('mov.b32 a, 0; mov.b32 z, y; setp.hi.u32 p, x, 7; @p add.cc.u32 b, x, y; @p addc.u32 z, a, 0;', lambda x, y: x + y >> 32 if x > 7 else y),
    ('brev.b32 a, x; setp.lt.s32 p, a, 0; @p bra E; mov.b32 a, y; E: and.b32 z, a, 0x80000000;', lambda x, y: 1 << 31 if x & 1 else y & 1 << 31),
    ('sub.u32 a, x, y; setp.gt.s32 p, a, 0; setp.gt.s32 q, x, y; xor.pred p, p, q; selp.u32 z, 1, 0, p;', lambda x, y: (signed(x - y) > 0) != (signed(x) > signed(y))),
    ('shr.s32 a, x, 30; setp.eq.s32 p, a, 2; setp.eq.s32 q, a, -2; selp.u32 b, 4, 0, q; selp.u32 z, 1, b, p;', lambda x, y: 4 if x >> 30 == 2 else 0),
    ('and.b32 a, x, 3; setp.lt.s32 p, a, 4; @!p bra E; or.b32 a, a, 8; E: mov.b32 z, a;', lambda x, y: x & 3 | 8),
    ('setp.lt.u32 p|q, x, y; selp.u32 a, 1, 0, p; selp.u32 b, 2, 0, q; add.u32 z, a, b;', lambda x, y: 1 if x < y else 2),
    ('setp.le.s32 p|q, x, y; setp.ge.and.s32 p, y, x, p; setp.gt.or.s32 q, x, y, q; selp.u32 a, 1, 0, p; selp.u32 b, 2, 0, q; add.u32 z, a, b;',
     lambda x, y: 1 if signed(x) <= signed(y) else 2),
]



def loop(count, value, step):
    for i in range(count):
        value = step(value, i) & M32
    return value


# Loops: `n` is 5, as the launch says.
LOOPS = [
    ('mov.b32 a, x; mov.b32 b, 0; L: mul.hi.u32 a, a, 0x40000000; add.u32 b, b, 1; setp.ne.u32 p, a, 0; @p bra L; mov.b32 z, b;',
     lambda x, y: max(1, (x.bit_length() + 1) // 2)),
    ('mov.b32 a, 1; mov.b32 b, 0; L: mul.lo.u32 a, a, 8; add.u32 b, b, 3; setp.ne.u32 p, a, 0; @p bra L; add.u32 z, b, x;', lambda x, y: 33 + x & M32),
    ('mov.b32 a, 0; mov.b32 z, x; L: shf.l.wrap.b32 z, z, z, 7; add.u32 a, a, 1; setp.lt.u32 p, a, n; @p bra L;', lambda x, y: loop(5, x, lambda z, i: z << 7 | z >> 25)),
    ('mov.b32 a, n; mov.b32 z, x; L: neg.s32 z, z; add.s32 z, z, y; sub.u32 a, a, 1; setp.ne.u32 p, a, 0; @p bra L; neg.s32 z, z;', lambda x, y: -loop(5, x, lambda z, i: y - z) & M32),
    ('mov.b32 a, n; L: sub.s32 a, a, 1; setp.gt.s32 p, a, 0; @p bra L; sub.s32 b, 0x7fffffff, a; bfind.s32 c, b; add.u32 z, c, x;', lambda x, y: 30 + x & M32),
    ('mov.b32 a, -5; mov.b32 z, 0; L: abs.s32 b, a; bmsk.clamp.b32 b, b, 3; xor.b32 z, z, b; add.s32 a, a, 1; setp.lt.s32 p, a, n; @p bra L;',
     lambda x, y: loop(10, 0, lambda z, i: z ^ 7 << abs(i - 5))),
    ('mov.b32 a, 0; mov.b32 z, x; mov.b32 c, y; L: add.cc.u32 z, z, y; addc.u32 c, c, z; add.u32 a, a, 1; setp.ne.u32 p, a, n; @p bra L; xor.b32 z, z, c;',
     lambda x, y: carried(x, y)),
    ('mov.b64 w, {x, y}; mov.b32 a, n; L: mov.b64 {b, c}, w; sub.cc.u32 b, b, y; subc.u32 c, c, 0; mov.b64 w, {b, c}; sub.u32 a, a, 1; setp.ne.u32 p, a, 0; @p bra L; mov.b64 {b, z}, w;',
     lambda x, y: (y << 32 | x) - 5 * y >> 32 & M32),
    ('mov.b32 z, y; and.b32 a, x, 7; L: setp.eq.u32 p, a, 0; @p bra E; lop3.b32 z, z, x, a, 0x96; sub.u32 a, a, 1; bra L; E: add.u32 z, z, a;',
     lambda x, y: loop(x & 7, y, lambda z, i: z ^ x ^ (x & 7) - i)),
    ('mov.b32 z, y; and.b32 a, x, 3; mul.lo.u32 c, y, 77; mov.b32 b, 5; L: setp.eq.u32 p, a, 0; @p bra E; mul.lo.u32 b, c, 3; sub.u32 a, a, 1; bra L; E: add.u32 z, b, 1;',
     lambda x, y: (y * 231 if x & 3 else 5) + 1 & M32),
    ('mov.b32 a, x; mov.b32 b, 0; L: mad.hi.u32 a, a, 0x55555556, 0; add.u32 b, b, 1; setp.gt.u32 p, a, 2; @p bra L; mad.lo.u32 z, b, 16, a;', lambda x, y: thirds(x)),
    ('mov.b32 a, 0; cvt.u64.u32 w, x; L: bfi.b64 w, w, w, 32, 8; add.u64 w, w, 1; add.u32 a, a, 1; setp.lt.u32 p, a, n; @p bra L; mov.b64 {a, b}, w; xor.b32 z, a, b;', lambda x, y: inserted(x)),
    ('mov.b32 a, n; mov.b32 z, 1; mov.b32 b, x; L: setp.gt.s32 p, b, 0; @p mad.lo.u32 z, z, 5, b; shr.s32 b, b, 3; sub.u32 a, a, 1; setp.ne.u32 q, a, 0; @q bra L;',
     lambda x, y: loop(5, 1, lambda z, i: z * 5 + (signed(x) >> 3 * i) if signed(x) >> 3 * i > 0 else z)),
    ('mov.b32 a, 0x10; mov.b32 z, 0; L: add.u32 z, z, x; shl.b32 a, a, 7; setp.gt.s32 p, a, 0; @p bra L; add.u32 z, z, a;', lambda x, y: 4 * x & M32),
    ('cvt.u16.u32 h, x; mov.b32 z, 0; mov.b32 a, n; L: add.u16 h, h, 0x4001; setp.lt.s16 p, h, 0; @p add.u32 z, z, 1; sub.u32 a, a, 1; setp.ne.u32 q, a, 0; @q bra L; cvt.u32.u16 b, h; mad.lo.u32 z, b, 8, z;',
     lambda x, y: (x + 5 * 0x4001 & M16) * 8 + sum(signed(x + i * 0x4001, 16) < 0 for i in range(1, 6)) & M32),
    ('mov.b32 a, 0; mov.b32 z, 0; L: rem.u32 b, a, 3; setp.eq.u32 p, b, 1; @p bra C; mad.lo.u32 z, z, 3, a; C: add.u32 a, a, 1; setp.lt.u32 p, a, 9; @p bra L; add.u32 z, z, x;',
     lambda x, y: loop(9, 0, lambda z, i: z if i % 3 == 1 else z * 3 + i) + x & M32),
]


def carried(x, y):
    z, c = x, y
    for _ in range(5):
        total = z + y
        z = total & M32
        c = c + z + (total >> 32) & M32
    return z ^ c


def thirds(x):
    a, b = x, 0
    while True:
        a, b = a * 0x55555556 >> 32, b + 1
        if a <= 2:
            return 16 * b + a


def inserted(x):
    w = x
    for _ in range(5):
        w = w & ~(0xff << 32) | (w & 0xff) << 32
        w = w + 1 & M64
    return (w ^ w >> 32) & M32


REGISTERS = '    .reg .b32 x, y, z, a, b, c, n, t;\n    .reg .b64 w, v, in, out, place;\n    .reg .b16 h, g;\n    .reg .pred p, q;\n'


def kernel(name, rows):
    text = f'\n.visible .entry {name}(.param .u64 pin, .param .u64 pout, .param .u32 pn)\n{{\n{REGISTERS}'
    text += ('    ld.param.u64 in, [pin];\n    ld.param.u64 out, [pout];\n    ld.param.u32 n, [pn];\n    mov.u32 t, %tid.x;\n'
             '    mad.wide.u32 in, t, 4, in;\n    mad.wide.u32 out, t, 4, out;\n    ld.global.u32 x, [in];\n    ld.global.u32 y, [in+128];\n')
    for number, (instructions, _) in enumerate(rows):
        # Labels of one letter belong to the row.
        for letter in 'LEJC':
            instructions = instructions.replace(f'{letter}: ', f'{letter}{number}: ').replace(f'bra {letter};', f'bra {letter}{number};')
        text += f'    {instructions}\n    st.global.u32 [out+{128 * number}], z;\n'
    return text + '    ret;\n}\n'


# Accesses in loops: each thread has four words, and a sum that all share.
MEMORY = '''
.visible .entry folds_of_accesses(.param .u64 pin, .param .u64 pout, .param .u64 psums, .param .u32 pn)
{
    .reg .b32 x, y, z, a, b, c, n, t;
    .reg .b64 in, out, sums;
    .reg .pred p, q;
    .shared .align 4 .b8 bytes[128];
    .reg .b32 own;
    ld.param.u64 in, [pin];
    ld.param.u64 out, [pout];
    ld.param.u64 sums, [psums];
    ld.param.u32 n, [pn];
    mov.u32 t, %tid.x;
    mad.wide.u32 in, t, 4, in;
    mad.wide.u32 out, t, 16, out;
    ld.global.u32 x, [in];
    // A value that was loaded before a loop which stores to its place.
    ld.global.u32 y, [out];
    mov.b32 a, n;
L1: st.global.u32 [out], a;
    ld.global.u32 b, [out];
    add.u32 y, y, b;
    sub.u32 a, a, 1;
    setp.ne.u32 p, a, 0;
    @p bra L1;
    st.global.u32 [out+4], y;
    // Reductions whose result nobody reads.
    mov.b32 a, 0;
L2: red.global.min.u32 [sums], x;
    shr.u32 x, x, 1;
    atom.global.xor.b32 b, [sums+4], 3;
    add.u32 a, a, 1;
    setp.lt.u32 p, a, n;
    @p bra L2;
    // A word of the thread's own that counts down and starts over.
    mov.b32 a, 0;
    mov.b32 c, 0;
L3: atom.global.dec.u32 b, [out+8], 2;
    mad.lo.u32 c, c, 4, b;
    add.u32 a, a, 1;
    setp.lt.u32 p, a, n;
    @p bra L3;
    st.global.u32 [out+12], c;
    // A byte between threads, and a borrow out of it.
    mov.u32 own, bytes;
    add.u32 own, own, t;
    st.shared.u8 [own], x;
    st.shared.u8 [own+32], t;
    bar.sync 0;
    ld.shared.u8 a, [own+32];
    ld.shared.s8 b, [own];
    sub.cc.u32 a, a, 16;
    subc.u32 b, b, 0;
    xor.b32 b, b, a;
    st.global.u32 [out], b;
    ret;
}
'''

# Functions by address: each lane has an object, whose table says the function.
CALLS = '''
.func (.param .b32 r) twice(.param .b32 x) { .reg .b32 v; ld.param.b32 v, [x]; shl.b32 v, v, 1; st.param.b32 [r], v; ret; }
.func (.param .b32 r) plus(.param .b32 x) { .reg .b32 v; ld.param.b32 v, [x]; add.u32 v, v, 11; st.param.b32 [r], v; ret; }
.func (.param .b32 r) odd(.param .b32 x)
{
    .reg .b32 v; .reg .pred p;
    ld.param.b32 v, [x];
    st.param.b32 [r], v;
    and.b32 v, v, 1; setp.eq.u32 p, v, 0;
    @p ret;
    ld.param.b32 v, [x]; mad.lo.u32 v, v, 3, 1;
    st.param.b32 [r], v;
    ret;
}
.global .align 8 .u64 first[2] = {0, twice};
.global .align 8 .u64 second[2] = {0, plus};
.global .align 8 .u64 third[2] = {0, odd};
.global .align 8 .u64 objects[4] = {first, second, third, second};

.visible .entry folds_round_calls(.param .u64 pout, .param .u32 pn)
{
    .reg .b32 t, x, y, n, i, one; .reg .b64 out, at; .reg .pred p, q;
prototype: .callprototype (.param .b32 _) _ (.param .b32 _);
    ld.param.u64 out, [pout];
    ld.param.u32 n, [pn];
    mov.u32 t, %tid.x;
    mad.wide.u32 out, t, 12, out;
    mov.b32 x, t;
    mov.b32 y, 0;
    mov.b32 i, 0;
    // A counter that all lanes have alike, round a call that lanes come back from at different times.
L:  and.b32 one, x, 3;
    mov.u64 at, objects;
    mad.wide.u32 at, one, 8, at;
    ld.global.u64 at, [at];
    ld.global.u64 at, [at+8];
    {
        .param .b32 given; .param .b32 back;
        st.param.b32 [given], x;
        call (back), at, (given), prototype;
        ld.param.b32 x, [back];
    }
    setp.gt.u32 p, x, 20;
    vote.sync.ballot.b32 one, p, 0xffffffff;
    mad.lo.u32 y, y, 3, one;
    add.u32 i, i, 1;
    setp.lt.u32 q, i, n;
    @q bra L;
    shfl.sync.bfly.b32 one, x, 1, 31, 0xffffffff;
    st.global.u32 [out], x;
    st.global.u32 [out+4], y;
    st.global.u32 [out+8], one;
    ret;
}
'''
GROUPS = {'folds_of_words': WORDS, 'folds_of_narrow_words': NARROW, 'folds_of_conditions': CONDITIONS, 'folds_of_loops': LOOPS}


def write_ptx():
    text = HEAD + CALLS + ''.join(kernel(name, rows) for name, rows in GROUPS.items()) + MEMORY
    open(os.path.join(ROOT, 'folds.ptx'), 'w').write(text)


for name, rows in GROUPS.items():
    case(name, 'folds', [1], [THREADS], [Given('u32', X + Y), Result('u32', [int(value(x, y)) & M32 for _, value in rows for x, y in zip(X, Y)]), Scalar('u32', 5)], folder=ROOT)

before = [7 * t + 3 for t in range(4 * THREADS)]
out = list(before)
for t, x in enumerate(X):
    out[4 * t + 1] = before[4 * t] + 5 + 4 + 3 + 2 + 1 & M32
    counter, c = before[4 * t + 2], 0
    for _ in range(5):
        c = c * 4 + counter & M32
        counter = 2 if counter == 0 or counter > 2 else counter - 1
    out[4 * t + 2], out[4 * t + 3] = counter, c
    low = t - 16
    out[4 * t] = (signed(x >> 5, 8) - (low < 0) ^ low) & M32
case('folds_of_accesses', 'folds', [1], [THREADS],
     [Given('u32', X), Result('u32', out, before), Result('u32', [min([1000] + [x >> i for x in X for i in range(5)]), 77], [1000, 77]), Scalar('u32', 5)], folder=ROOT)

ways = [lambda v: 2 * v, lambda v: v + 11, lambda v: 3 * v + 1 if v & 1 else v, lambda v: v + 11]
x, y = list(range(THREADS)), 0
for _ in range(6):
    x = [ways[v & 3](v) & M32 for v in x]
    y = 3 * y + sum((v > 20) << lane for lane, v in enumerate(x)) & M32
case('folds_round_calls', 'folds', [1], [THREADS], [Result('u32', [v for t in range(THREADS) for v in (x[t], y, x[t ^ 1])]), Scalar('u32', 6)], folder=ROOT)
