"""Kernels of the shapes that public reports of miscompiles have and `folds` lacks: several reports of one cause are one row here.

Each row is our own code, and says by Python what it gives; a reader finds the kind of mistake in the comment before it. Code for chips
with packed halves is in a file of its own, since the other one is for the oldest chip."""
import os

import folds
from folds import M16, M32, ROOT, THREADS, X, Y, absolute, bytes_less, clz, field, funnel_right, insert, loop, signed, signed_field
from record import Given, Result, Scalar, case

HEAD = '''// Written by tools/kernels/published.py: shapes that compilers were wrong about, as public reports say.
.version 8.0
.target {}
.address_size 64
{}'''
REGISTERS = '    .reg .f32 f, e;\n    .reg .f64 d;\n'
CONSTANTS = '.const .align 4 .b8 fixed[8] = {1, 2, 3, 4, 0xf5, 6, 0x87, 0xf8};\n'


def high(x, y):
    return signed(x) * signed(y) >> 32 & M32


def low(word):
    return word & M16


def pairs(x, y, of):
    """What two halves of each word give."""
    return low(of(low(x), low(y))) | low(of(x >> 16, y >> 16)) << 16


# The instructions are those of `folds`, with `f`, `e` and `d` as floating-point numbers.
VALUES = [
    # A chain of maxima forgets that each takes a new difference.
    ('sub.u32 a, x, x; max.s32 z, a, y; sub.u32 a, a, x; max.s32 z, a, z; sub.u32 a, a, x; max.s32 z, a, z;', lambda x, y: max(0, signed(y), signed(-x), signed(-2 * x)) & M32),
    # Signed shifts are not small where they are compared without sign.
    ('shr.s32 a, x, 29; setp.lt.u32 p, a, 8; selp.u32 z, 1, 2, p;', lambda x, y: 2 if x >> 31 else 1),
    ('abs.s32 a, x; sub.u32 a, 0, a; setp.lt.u32 p, a, 0x80000001; selp.u32 z, 1, 2, p;', lambda x, y: 1 if -absolute(x) & M32 < 0x80000001 else 2),
    ('mov.b32 a, 0x10203040; mov.b32 b, 0x11; vsub4.u32.u32.u32 c, a, b, b; xor.b32 z, c, x;', lambda x, y: bytes_less(0x10203040, 0x11) ^ x),
    # Funnel shifts of truths and of negated words.
    ('cnot.b32 a, x; shf.r.wrap.b32 b, y, a, 5; add.u32 z, b, a;', lambda x, y: funnel_right(y, x == 0, 5) + (x == 0) & M32),
    ('cnot.b32 a, x; shf.l.wrap.b32 b, a, y, 5; add.u32 z, b, a;', lambda x, y: (y << 5 & M32) + (x == 0) & M32),
    ('neg.s32 a, x; shf.l.wrap.b32 b, a, x, 9; add.u32 z, b, y;', lambda x, y: (x << 9 & M32 | (-x & M32) >> 23) + y & M32),
    # The low half of a product.
    ('mul.wide.s32 w, x, y; cvt.u32.u64 a, w; mul.hi.s32 z, a, y;', lambda x, y: high(x * y, y)),
    ('mul.wide.u32 w, x, y; cvt.u32.u64 a, w; neg.s32 a, a; shr.u32 z, a, 7;', lambda x, y: (-x * y & M32) >> 7),
    ('mov.b64 w, {x, y}; or.b64 w, w, 0x100000001; cvt.u32.u64 a, w; shl.b32 a, a, 3; add.u32 a, a, x; and.b32 z, a, 0xff;', lambda x, y: 8 * (x | 1) + x & 0xff),
    ('mul.lo.u32 a, x, 0x8000; mul.lo.u32 z, a, a;', lambda x, y: x * x << 30 & M32),
    # Borrows of a shifted product, of a truth, and of a byte.
    ('shr.u32 a, x, 3; mul.lo.u32 b, a, y; sub.cc.u32 c, b, x; subc.u32 z, a, y;', lambda x, y: (x >> 3) - y - (((x >> 3) * y & M32) < x) & M32),
    ('xor.b32 a, x, 0xffffffff; setp.gt.s32 p, a, x; selp.u32 z, a, y, p;', lambda x, y: ~x & M32 if ~signed(x) > signed(x) else y),
    # Fields whose place or width is in a register, and may be beyond the word.
    ('and.b32 a, y, 31; bmsk.clamp.b32 b, a, 6; clz.b32 c, b; bfi.b32 a, c, x, 3, 5; mad.lo.u32 z, a, b, c;',
     lambda x, y: insert(clz(63 << (y & 31)), x, 3, 5) * (63 << (y & 31) & M32) + clz(63 << (y & 31)) & M32),
    ('and.b32 a, y, 255; bfe.s32 z, x, a, 7;', lambda x, y: signed_field(x, y & 255, 7)),
    ('and.b32 a, y, 255; bfe.u32 z, x, 4, a;', lambda x, y: field(x, 4, y & 255)),
    ('and.b32 a, y, 255; bfi.b32 z, x, y, 5, a;', lambda x, y: insert(x, y, 5, y & 255)),
    ('and.b32 a, y, 31; shl.b32 b, x, a; and.b32 c, b, 15; shl.b32 c, c, a; or.b32 z, b, c;', lambda x, y: (x << (y & 31) | (x << (y & 31) & 15) << (y & 31)) & M32),
    # 16 bits, and what is left of the upper ones.
    ('cvt.u16.u32 h, x; cvt.u16.u32 g, y; min.u16 h, h, g; setp.eq.u16 p, h, g; selp.u32 z, 1, 2, p;', lambda x, y: 1 if low(y) <= low(x) else 2),
    ('cvt.u16.u32 h, x; cvt.u16.u32 g, y; min.s16 h, h, g; setp.eq.s16 p, h, g; selp.u32 z, 1, 2, p;', lambda x, y: 1 if signed(y, 16) <= signed(x, 16) else 2),
    ('cvt.u16.u32 h, x; cvt.u16.u32 g, y; max.u16 h, h, g; setp.eq.u16 p, h, 0; selp.u32 z, 1, 2, p;', lambda x, y: 2 if low(x) or low(y) else 1),
    ('not.b32 a, x; add.u32 b, a, y; ld.const.u16 a, [fixed+6]; xor.b32 z, a, b;', lambda x, y: 0xf887 ^ (~x + y & M32)),
    ('not.b32 a, x; add.u32 b, a, y; ld.const.s8 a, [fixed+4]; xor.b32 z, a, b;', lambda x, y: 0xfffffff5 ^ (~x + y & M32)),
    # A parameter that no call takes.
    ('{ .param .b32 kept; st.param.b32 [kept], x; add.u32 z, x, 1; }', lambda x, y: x + 1 & M32),
    # A move that a guard skips.
    ('and.b32 a, x, 1023; cvt.rn.f32.u32 f, a; setp.eq.u32 p, y, y; mov.f32 e, f; @!p neg.f32 e, f; cvt.rzi.s32.f32 z, e;', lambda x, y: x & 1023),
]

BRANCHES = [
    # The bits of 1.0 as the value of a way that nothing takes, or half of the lanes.
    ('mov.b32 z, 0x3f800000; setp.eq.u32 p, n, 42; @p bra E; or.b32 z, 0xffffffff, x; E: add.u32 z, z, 0;', lambda x, y: M32),
    ('mov.b32 z, 0x3f800000; setp.eq.u32 p, n, 5; @p bra E; or.b32 z, 0xffffffff, x; E: add.u32 z, z, 0;', lambda x, y: 0x3f800000),
    ('mov.b32 z, 0x3f800000; and.b32 b, y, 1; setp.ne.u32 p, b, 0; @p bra E; and.b32 a, x, 1023; cvt.rn.f64.u32 d, a; min.f64 d, d, 0d4059000000000000; cvt.rzi.s32.f64 z, d; E: add.u32 z, z, 0;',
     lambda x, y: 0x3f800000 if y & 1 else min(100, x & 1023)),
    # Conditions with and without sign inside of one another.
    ('mov.b32 z, 1; setp.lt.s32 p, x, y; @!p bra E; setp.lt.u32 q, x, y; @q bra E; mov.b32 z, 2; E: add.u32 z, z, x;',
     lambda x, y: x + (2 if signed(x) < signed(y) and x >= y else 1) & M32),
    ('setp.eq.u32 p, x, y; selp.b32 a, 0xffffffff, 3, p; mov.b32 z, 9; setp.ge.u32 q, a, 0; @!q bra E; add.u32 z, a, x; E: add.u32 z, z, 0;',
     lambda x, y: (-1 if x == y else 3) + x & M32),
    ('mul.hi.s32 a, x, 0x7fffffff; setp.eq.s32 p, a, -1; @p bra E; mul.hi.s32 a, a, y; E: add.u32 z, a, 3;',
     lambda x, y: (M32 if high(x, 0x7fffffff) == M32 else high(high(x, 0x7fffffff), y)) + 3 & M32),
    ('shr.u32 a, x, 1; mov.b32 z, y; setp.gt.u32 p, a, 0x7fffffff; @p bra E; bra J; E: xor.b32 z, z, 1; J: add.u32 z, z, a;', lambda x, y: y + (x >> 1) & M32),
    ('sub.u32 a, x, y; setp.lt.s32 p, x, 0; @p bra E; shr.u32 z, a, 31; bra J; E: shr.u32 z, a, 1; J: add.u32 z, z, 0;', lambda x, y: (x - y & M32) >> (1 if x >> 31 else 31)),
    ('popc.b32 a, x; sub.s32 a, 0x7fffffff, a; setp.lt.s32 p, y, 0; @p bra E; and.b32 a, a, 0x80000003; E: mov.b32 z, a;',
     lambda x, y: 0x7fffffff - bin(x).count('1') & (M32 if y >> 31 else 0x80000003)),
    ('mov.b32 z, x; setp.ne.u32 p, y, 0; @p not.b32 z, x; @p clz.b32 z, z; setp.eq.u32 q, z, 32; selp.u32 z, 77, z, q;',
     lambda x, y: x if y == 0 and x != 32 else 77 if y == 0 or clz(~x & M32) == 32 else clz(~x & M32)),
    ('mov.b32 z, x; setp.lt.u32 p, x, y; @p sub.u32 a, 0x80000000, x; @p sub.u32 z, x, a;', lambda x, y: 2 * x - 0x80000000 & M32 if x < y else x),
    # A load that all lanes do alike, under conditions that they do not have alike.
    ('mov.b32 z, x; ld.param.u64 place, [pin]; setp.lt.s32 p, x, y; @p bra E; setp.le.u32 q, x, y; @!q ldu.global.u32 z, [place+72]; E: add.u32 z, z, 1;',
     lambda x, y: (X[18] if signed(x) >= signed(y) and x > y else x) + 1 & M32),
]

LOOPS = [
    # Some lanes enter at the test, others at the body.
    ('and.b32 a, x, 1; mov.b32 z, 1; and.b32 b, y, 1; setp.ne.u32 p, b, 0; @p bra E; L: add.u32 z, x, a; E: setp.eq.u32 q, a, 0; @q bra J; mov.b32 a, 0; bra L; J: add.u32 z, z, 0;',
     lambda x, y: 1 if y & 1 and not x & 1 else x),
    ('ld.param.u64 place, [pin]; and.b32 a, x, 3; mov.b32 z, y; and.b32 b, y, 1; setp.eq.u32 p, b, 0; @p bra E; L: ld.global.cg.b16 h, [place+36]; cvt.u32.u16 z, h; E: setp.eq.u32 q, a, 0; @q bra J; sub.u32 a, a, 1; bra L; J: add.u32 z, z, 0;',
     lambda x, y: y if not y & 1 and not x & 3 else low(X[9])),
    # What a loop does a known number of times.
    ('mov.b32 a, 3; mov.b32 z, x; L: mul.hi.s32 z, z, y; sub.u32 a, a, 1; setp.ne.u32 p, a, 0; @p bra L;', lambda x, y: loop(3, x, lambda z, i: high(z, y))),
    ('mov.b32 a, n; mov.b32 z, x; L: shf.r.wrap.b32 z, z, y, 3; sub.u32 a, a, 1; setp.ne.u32 p, a, 0; @p bra L;', lambda x, y: loop(5, x, lambda z, i: funnel_right(z, y, 3))),
    ('mov.b32 a, n; L: sub.u32 a, a, 1; setp.ne.u32 p, a, 0; @p bra L; bfind.u32 b, a; sub.u32 z, x, b;', lambda x, y: x + 1 & M32),
    ('or.b32 z, x, 0x20; and.b32 a, x, 3; L: mul.lo.u32 z, z, y; sub.u32 a, a, 1; setp.ge.s32 p, a, 0; @p bra L;', lambda x, y: loop((x & 3) + 1, x | 0x20, lambda z, i: z * y)),
    ('and.b32 b, x, 1023; mov.b32 z, x; mov.b32 a, n; L: cvt.rn.f32.u32 f, b; neg.f32 f, f; cvt.rzi.s32.f32 z, f; add.u32 b, b, 3; sub.u32 a, a, 1; setp.ne.u32 p, a, 0; @p bra L;',
     lambda x, y: -((x & 1023) + 12) & M32),
    # Counters of each lane inside of one another.
    ('and.b32 a, x, 7; mov.b32 z, 0; L: setp.eq.u32 p, a, 0; @p bra E; sub.u32 a, a, 1; and.b32 b, y, 3; C: setp.eq.u32 q, b, 0; @q bra J; sub.u32 b, b, 1; add.u32 z, z, 5; bra C; J: add.u32 z, z, 1; bra L; E: add.u32 z, z, 0;',
     lambda x, y: (x & 7) * (5 * (y & 3) + 1)),
    # Carries and borrows from one turn to the next, of some lanes only.
    ('mov.b64 w, {x, y}; mov.b64 v, {y, x}; mov.b32 a, n; setp.lt.s32 q, x, 0; L: @q sub.cc.u64 w, w, v; @q subc.u64 v, v, 0; sub.u32 a, a, 1; setp.ne.u32 p, a, 0; @p bra L; mov.b64 {b, z}, w; add.u32 z, z, b;',
     lambda x, y: borrowed(x, y)),
    ('mov.b32 a, n; mov.b32 z, x; mov.b32 c, y; L: mad.hi.cc.s32 z, z, y, x; addc.u32 c, c, 1; sub.u32 a, a, 1; setp.ne.u32 p, a, 0; @p bra L; xor.b32 z, z, c;',
     lambda x, y: high_and_carried(x, y)),
]


def borrowed(x, y):
    w, v = y << 32 | x, x << 32 | y
    if x >> 31:
        for _ in range(5):
            borrow = w < v
            w, v = (w - v) % (1 << 64), (v - borrow) % (1 << 64)
    return (w & M32) + (w >> 32) & M32


def high_and_carried(x, y):
    z, c = x, y
    for _ in range(5):
        total = high(z, y) + x
        z, c = total & M32, c + 1 + (total >> 32) & M32
    return z ^ c


PAIRS = [
    ('max.u16x2 a, x, y; add.u32 b, a, x; min.s16x2 c, x, y; sub.u32 z, b, c;',
     lambda x, y: pairs(x, y, max) + x - pairs(x, y, lambda i, j: min(signed(i, 16), signed(j, 16))) & M32),
    ('mov.b32 z, 4; setp.ne.u32 p, t, 19; @p bra E; setp.eq.u32 q, n, 3; @!q add.u16x2 z, y, x; E: add.u32 z, z, 16;',
     lambda x, y: (pairs(x, y, int.__add__) if x == X[19] else 4) + 16 & M32),
    ('mov.b32 c, 4; add.s16x2 a, x, c; cvt.u32.u16 b, a; add.s16x2 z, b, x;', lambda x, y: pairs(low(x + 4), x, int.__add__)),
    ('add.u16x2 a, x, y; cvt.s32.s16 b, a; add.u16x2 z, b, y;', lambda x, y: pairs(signed(x + y, 16) & M32, y, int.__add__)),
    # A reduction decides for all lanes whether they convert.
    ('mov.b32 z, 0x3f800000; redux.sync.xor.b32 b, x, 0xffffffff; setp.eq.u32 p, b, 0; @p bra E; and.b32 a, x, 1023; cvt.rn.f64.u32 d, a; cvt.rzi.s32.f64 z, d; E: add.u32 z, z, b;',
     lambda x, y: (x & 1023) + every_bit() & M32),
    # Everything of a warp and of a block in one row.
    ('cvt.pack.sat.u8.s32.b32 a, x, y, 7; setp.lt.s32 p, x, 0; barrier.sync.aligned 0; barrier.red.popc.aligned.u32 b, 0, p; shfl.sync.up.b32 c, a, 1, 0, 0xffffffff; add.u32 c, c, b; elect.sync a|q, 0xffffffff; selp.u32 a, 1, 0, q; redux.sync.add.u32 a, a, 0xffffffff; mad.lo.u32 z, a, 3, c;',
     lambda x, y: packed(X[max(0, X.index(x) - 1)]) + sum(v >> 31 for v in X) + 3),
]


def every_bit():
    found = 0
    for x in X:
        found ^= x
    return found


def packed(x):
    """Two numbers as bytes with limits, above a half of 7."""
    y = Y[X.index(x)]
    byte = lambda v: max(0, min(255, signed(v)))
    return 7 << 16 | byte(x) << 8 | byte(y)


FILES = {'published': ('sm_75', CONSTANTS, {'published_values': VALUES, 'published_branches': BRANCHES, 'published_loops': LOOPS}),
         'published_pairs': ('sm_90', '', {'published_pairs': PAIRS})}


def write_ptx():
    for file, (target, variables, groups) in FILES.items():
        text = ''.join(folds.kernel(name, rows) for name, rows in groups.items())
        text = text.replace(folds.REGISTERS, folds.REGISTERS + REGISTERS)
        open(os.path.join(ROOT, f'{file}.ptx'), 'w').write(HEAD.format(target, variables) + text)


for file, (_, _, groups) in FILES.items():
    for name, rows in groups.items():
        case(name, file, [1], [THREADS], [Given('u32', X + Y), Result('u32', [int(value(x, y)) & M32 for _, value in rows for x, y in zip(X, Y)]), Scalar('u32', 5)], folder=ROOT)
