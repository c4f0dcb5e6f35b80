"""The instructions that random programs are made of, as data: text, what it writes, what it reads.

Kinds of registers: `r` 32 bits, `d` 64 bits, `h` 16 bits, `f` single, `e` double, `p` predicate. A source kind in upper
case takes a register only; the others an immediate now and then. `{0}` is the destination, `{1}` and on the sources.
What PTX leaves open is not here: division by zero, contraction (all floating operations say how they round),
approximations, bits and signs of a NaN (see `program.py`)."""

EDGES = {
    'r': [0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 33, 63, 64, 255, 256, 0x7fff, 0x8000, 0xffff, 0x10000, 0x12345678, 0x7fffffff, 0x80000000,
          0x80000001, 0xdeadbeef, 0xfffffff0, 0xfffffffe, 0xffffffff],
    'h': [0, 1, 2, 7, 8, 15, 16, 31, 127, 128, 255, 256, 0x7fff, 0x8000, 0xfffe, 0xffff],
    'd': [0, 1, 2, 31, 32, 33, 63, 64, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 0x123456789abcdef0, 0x7fffffffffffffff,
          0x8000000000000000, 0xfffffffffffffffe, 0xffffffffffffffff],
    'f': ['0f00000000', '0f80000000', '0f3F800000', '0fBF800000', '0f40490FDB', '0f3EAAAAAB', '0f7F7FFFFF', '0f00800000', '0f00000001',
          '0f807FFFFF', '0f7F800000', '0fFF800000', '0f4F000000', '0fCF000000', '0f5F000000', '0f43000000', '0f3F000000', '0fC1200000'],
    'e': ['0d0000000000000000', '0d8000000000000000', '0d3FF0000000000000', '0dBFF0000000000000', '0d400921FB54442D18', '0d3FD5555555555555',
          '0d7FEFFFFFFFFFFFFF', '0d0010000000000000', '0d0000000000000001', '0d7FF0000000000000', '0dFFF0000000000000', '0d41E0000000000000',
          '0d43E0000000000000', '0dC024000000000000'],
}

# The rows by group; a group is as likely as its share says, and a row of it as any other.
TABLES = {}


def group(name):
    """What follows belongs to this group."""
    global add
    add = TABLES.setdefault(name, []).append


def rows(destination, sources, texts):
    for text in texts.split(';'):
        text = text.strip()
        if text:
            if '{' not in text:
                text += ' ' + ', '.join('{%d}' % i for i in range(len(sources.split()) + 1))
            add((text, destination, sources.split()))


ROUND = ['rn', 'rz', 'rm', 'rp']

# 32-bit integers.
group('words')
rows('r', 'R r', 'add.u32; add.s32; sub.u32; mul.lo.u32; mul.hi.u32; mul.hi.s32; mul24.lo.u32; mul24.hi.s32; min.u32; min.s32; max.u32; '
     'max.s32; and.b32; or.b32; xor.b32; add.sat.s32; sub.sat.s32; bmsk.clamp.b32; bmsk.wrap.b32; szext.clamp.u32; szext.wrap.s32; szext.clamp.s32')
rows('r', 'r R', 'sub.s32; shl.b32; shr.u32; shr.s32')
rows('r', 'R r', 'shl.b32; shr.u32; shr.s32')
rows('r', 'R', 'not.b32; neg.s32; abs.s32; popc.b32; clz.b32; brev.b32; cnot.b32; bfind.u32; bfind.s32; bfind.shiftamt.u32; mov.b32')
rows('r', 'R r R', 'mad.lo.u32; mad.lo.s32; mad.hi.u32; mad.hi.s32; mad.hi.sat.s32; mad24.lo.s32; mad24.hi.u32; sad.u32; sad.s32')
rows('r', 'R R r', 'dp4a.u32.u32; dp4a.s32.u32; dp4a.s32.s32; dp2a.lo.u32.s32; dp2a.hi.s32.s32; prmt.b32; '
     'prmt.b32.f4e; prmt.b32.b4e; prmt.b32.rc8; prmt.b32.ecl; prmt.b32.ecr; prmt.b32.rc16')
rows('r', 'R R r', 'shf.l.wrap.b32; shf.l.clamp.b32; shf.r.wrap.b32; shf.r.clamp.b32')
for table in (0x00, 0x1b, 0x3c, 0x80, 0x96, 0xca, 0xe8, 0xfe, 0x55, 0xd8):
    rows('r', 'R r R', 'lop3.b32 {0}, {1}, {2}, {3}, %d' % table)
rows('r', 'R i R', 'mad.lo.u32; mad.hi.s32; sad.u32; dp4a.u32.s32; prmt.b32; shf.l.wrap.b32 {0}, {1}, {3}, {2}')
rows('r', 'i R', 'sub.u32; sub.s32; shl.b32; shr.s32')

# Video instructions: parts of words, clamped, or with a second operation. Results in parts of a word are left out, and clamped sums before a
# second operation: known compilers differ.
group('video')
rows('r', 'R R R', 'vadd4.u32.u32.u32.sat {0}, {1}, {2}, {3}; '
     'vmax2.s32.s32.s32 {0}, {1}, {2}, {3}; vavrg4.u32.u32.u32 {0}, {1}, {2}, {3}; vabsdiff4.u32.u32.u32.add {0}, {1}, {2}, {3}; '
     'vsub2.s32.s32.s32.sat {0}, {1}, {2}, {3}')
PARTS = ['b0', 'b1', 'b2', 'b3', 'h0', 'h1']
for number, name in enumerate(['vadd', 'vsub', 'vabsdiff', 'vmin', 'vmax']):
    part, other = PARTS[number], PARTS[-1 - number]
    rows('r', 'R r', f'{name}.s32.u32.s32; {name}.{"s32.s32.s32" if name == "vadd" else "u32.u32.u32"}.sat')
    rows('r', 'R R', f'{name}.s32.s32.s32.sat {{0}}, {{1}}.{part}, {{2}}.{other}')
    rows('r', 'R R R', f'{name}.s32.s32.u32.add {{0}}, {{1}}.{other}, {{2}}, {{3}}')
    if number > 1:
        rows('r', 'R R R', f'{name}.u32.u32.s32.sat.min {{0}}, {{1}}, {{2}}.{part}, {{3}}')
    for lanes in '24':
        rows('r', 'R R R', f'{name}{lanes}.s32.s32.u32.sat {{0}}, {{1}}, {{2}}, {{3}}; {name}{lanes}.u32.u32.u32.add {{0}}, {{1}}, {{2}}, {{3}}; '
                           f'{name}{lanes}.s32.u32.s32 {{0}}, {{1}}, {{2}}, {{3}}')
for compare in ('eq', 'lt', 'ge'):
    rows('r', 'R r', f'vset.s32.u32.{compare}')
    rows('r', 'R R R', f'vset2.s32.s32.{compare} {{0}}, {{1}}, {{2}}, {{3}}; vset4.u32.u32.{compare}.add {{0}}, {{1}}, {{2}}, {{3}}; '
                       f'vset.u32.s32.{compare}.max {{0}}, {{1}}, {{2}}.b1, {{3}}')
rows('r', 'R r', 'vshl.u32.u32.u32.clamp; vshr.s32.s32.u32.wrap')
rows('r', 'R R', 'vshl.s32.s32.u32.sat.clamp {0}, {1}.b2, {2}.h0')
rows('r', 'R R R', 'vshr.u32.u32.u32.clamp.add {0}, {1}, {2}.b0, {3}')
rows('r', 'R R R', 'vmad.s32.s32.s32; vmad.s32.s32.s32.shr7; vmad.s32.u32.s32.sat.shr15 {0}, {1}.h0, {2}.h1, {3}; vmad.u32.u32.u32.po')
rows('r', 'R R R', 'vavrg2.s32.s32.s32 {0}, {1}, {2}, {3}; vavrg4.s32.u32.u32.add {0}, {1}, {2}, {3}; vadd4.u32.u32.u32.sat {0}.b310, {1}.b7310, {2}.b0123, {3}; '
                   'vadd2.s32.s32.s32 {0}.h0, {1}.h21, {2}.h03, {3}')
group('carries')
add(('{{ .reg .b32 lo; add.cc.u32 lo, {1}, {2}; addc.u32 {0}, {3}, {4}; xor.b32 {0}, {0}, lo; }}', 'r', ['R', 'R', 'R', 'R']))
add(('{{ .reg .b32 lo; sub.cc.u32 lo, {1}, {2}; subc.cc.u32 {0}, {3}, {4}; addc.u32 {0}, {0}, lo; }}', 'r', ['R', 'r', 'R', 'R']))
add(('{{ .reg .b32 lo; mad.lo.cc.u32 lo, {1}, {2}, {3}; madc.hi.u32 {0}, {1}, {2}, {4}; xor.b32 {0}, {0}, lo; }}', 'r', ['R', 'R', 'R', 'R']))
# Words of 64 bits, and of 16.
add(('{{ .reg .b64 lo; add.cc.u64 lo, {1}, {2}; addc.u64 {0}, {3}, {4}; xor.b64 {0}, {0}, lo; }}', 'd', ['D', 'd', 'D', 'D']))
add(('{{ .reg .b64 lo; sub.cc.s64 lo, {1}, {2}; subc.u64 {0}, {3}, {4}; xor.b64 {0}, {0}, lo; }}', 'd', ['D', 'd', 'D', 'd']))
add(('{{ .reg .b32 lo; sub.cc.u32 lo, {1}, {2}; subc.u32 {0}, 0, 0; }}', 'r', ['r', 'R']))
add(('{{ .reg .b32 lo; add.cc.u32 lo, {1}, {2}; addc.u32 {0}, 0, 0; }}', 'r', ['R', 'r']))

# Positions and widths of bit fields stay in the word: above, known compilers differ.
group('fields')
FIELD = '{{ .reg .b32 at, count; and.b32 at, {2}, 31; and.b32 count, {3}, 31; bfe.%s {0}, {1}, at, count; }}'
for t in ('u32', 's32', 'u64', 's64'):
    add((FIELD % t, 'r' if '32' in t else 'd', ['R' if '32' in t else 'D', 'R', 'R']))
    for at, count in ((0, 8), (5, 11), (16, 16), (31, 1), (3, 0)):
        rows('r' if '32' in t else 'd', 'R' if '32' in t else 'D', f'bfe.{t} {{0}}, {{1}}, {at}, {count}')
for t in ('b32', 'b64'):
    one = 'R' if t == 'b32' else 'D'
    add(('{{ .reg .b32 at, count; and.b32 at, {3}, 31; and.b32 count, {4}, 31; bfi.%s {0}, {1}, {2}, at, count; }}' % t, one.lower(),
                  [one, one, 'R', 'R']))
    for at, count in ((0, 8), (5, 11), (16, 16), (31, 1), (3, 0)):
        rows(one.lower(), one + ' ' + one, f'bfi.{t} {{0}}, {{1}}, {{2}}, {at}, {count}')
# A byte or a half by hand, as compilers of other languages write it.
for at in (8, 16, 24):
    add(('{{ .reg .b32 x; shr.u32 x, {1}, %d; and.b32 {0}, x, 255; }}' % at, 'r', ['R']))
    add(('{{ .reg .b32 x; shl.b32 x, {1}, %d; shr.s32 {0}, x, %d; }}' % (at, at), 'r', ['R']))
    add(('{{ .reg .b32 x, y; and.b32 x, {1}, 255; shl.b32 x, x, %d; and.b32 y, {2}, %d; or.b32 {0}, x, y; }}' % (at, ~(255 << at)), 'r', ['R', 'R']))
for picks in (0x0123, 0x5410, 0x7632, 0x4440, 0x3276, 0x8880, 0xb3a2, 0x0404, 0x7770):
    rows('r', 'R r', f'prmt.b32 {{0}}, {{1}}, {{2}}, {picks}')

# Divisors are odd; of signed divisions positive too.
group('division')
add(('{{ .reg .b32 by; or.b32 by, {2}, 1; div.u32 {0}, {1}, by; }}', 'r', ['R', 'r']))
add(('{{ .reg .b32 by; or.b32 by, {2}, 1; rem.u32 {0}, {1}, by; }}', 'r', ['R', 'r']))
add(('{{ .reg .b32 by; or.b32 by, {2}, 1; and.b32 by, by, 0x7fffffff; div.s32 {0}, {1}, by; }}', 'r', ['R', 'r']))
add(('{{ .reg .b32 by; or.b32 by, {2}, 1; and.b32 by, by, 0x7fffffff; rem.s32 {0}, {1}, by; }}', 'r', ['R', 'r']))
for by in (3, 7, 10, 255, 641, 0x7fffffff):
    rows('r', 'R', f'div.u32 {{0}}, {{1}}, {by}; rem.s32 {{0}}, {{1}}, {by}; div.s32 {{0}}, {{1}}, -{by}; rem.u32 {{0}}, {{1}}, {by}')

add(('{{ .reg .b64 by; or.b64 by, {2}, 1; div.u64 {0}, {1}, by; }}', 'd', ['D', 'd']))
add(('{{ .reg .b64 by; or.b64 by, {2}, 1; rem.u64 {0}, {1}, by; }}', 'd', ['D', 'd']))
add(('{{ .reg .b64 by; or.b64 by, {2}, 1; and.b64 by, by, 0x7fffffffffffffff; div.s64 {0}, {1}, by; }}', 'd', ['D', 'd']))
rows('d', 'D', 'rem.u64 {0}, {1}, 1000000007; div.s64 {0}, {1}, 10; div.u64 {0}, {1}, 7')

# 64-bit integers.
group('wide')
rows('d', 'D d', 'add.u64; add.s64; sub.u64; sub.s64; mul.lo.u64; mul.hi.u64; mul.hi.s64; min.u64; min.s64; max.u64; max.s64; and.b64; '
     'or.b64; xor.b64')
rows('d', 'D r', 'shl.b64; shr.u64; shr.s64')
rows('d', 'D', 'not.b64; neg.s64; abs.s64; brev.b64; mov.b64; cnot.b64')
rows('r', 'D', 'popc.b64; clz.b64; bfind.u64; bfind.s64')
rows('d', 'R r', 'mul.wide.u32; mul.wide.s32')
rows('d', 'R r D', 'mad.wide.u32; mad.wide.s32')
rows('d', 'D d D', 'mad.lo.u64; mad.lo.s64; mad.hi.u64; sad.u64')
rows('d', 'R R', 'mov.b64 {0}, {{{1}, {2}}}')
add(('{{ .reg .b32 hi; mov.b64 {{{0}, hi}}, {1}; }}', 'r', ['D']))
add(('{{ .reg .b32 lo; mov.b64 {{lo, {0}}}, {1}; }}', 'r', ['D']))

# 16-bit integers.
group('short')
rows('h', 'H h', 'add.u16; sub.s16; mul.lo.u16; mul.hi.u16; mul.hi.s16; min.s16; max.u16; and.b16; or.b16; xor.b16')
rows('h', 'H R', 'shl.b16; shr.u16; shr.s16')
rows('h', 'H', 'not.b16; neg.s16; abs.s16; mov.b16')
rows('h', 'H h H', 'mad.lo.s16')
rows('r', 'H h', 'mul.wide.u16; mul.wide.s16')
rows('r', 'H H', 'mov.b32 {0}, {{{1}, {2}}}')
add(('{{ .reg .b16 hi; mov.b32 {{{0}, hi}}, {1}; }}', 'h', ['R']))
add(('{{ .reg .b16 lo; mov.b32 {{lo, {0}}}, {1}; }}', 'h', ['R']))
add(('{{ .reg .b16 by; or.b16 by, {2}, 1; div.u16 {0}, {1}, by; }}', 'h', ['H', 'h']))
add(('{{ .reg .b16 by; or.b16 by, {2}, 1; and.b16 by, by, 0x7fff; rem.s16 {0}, {1}, by; }}', 'h', ['H', 'h']))

# Packed halves live in 32-bit registers. Halves of NaNs are made one kind before they are looked at as bits.
group('halves')
HALF = ('add.rn.f16x2; sub.rn.f16x2; mul.rn.f16x2; add.rn.sat.f16x2; add.rn.ftz.f16x2; mul.rn.ftz.f16x2; min.f16x2; max.f16x2; '
        'min.ftz.f16x2; max.NaN.f16x2; min.NaN.f16x2')
HALF3 = 'fma.rn.f16x2; fma.rn.ftz.f16x2; fma.rn.relu.f16x2; fma.rn.sat.f16x2'
BRAIN = 'min.bf16x2; max.NaN.bf16x2; add.rn.bf16x2; mul.rn.bf16x2; sub.rn.bf16x2'
BRAIN3 = 'fma.rn.bf16x2; fma.rn.relu.bf16x2'


def packed(texts, sources, kind):
    # A half is a NaN if its bits without the sign, and this added, reach the sign.
    reach, quiet = (0x03ff03ff, 0x7e007e00) if kind == 'f16x2' else (0x007f007f, 0x7fc07fc0)
    operands = ', '.join('{%d}' % (i + 1) for i in range(len(sources)))
    for text in texts.split(';'):
        add((f'{{{{ .reg .b32 x, n; {text.strip()} x, {operands}; and.b32 n, x, 0x7fff7fff; add.u32 n, n, {reach}; shr.u32 n, n, 15; '
                      f'and.b32 n, n, 0x00010001; mul.lo.u32 n, n, 0xffff; lop3.b32 {{0}}, n, {quiet}, x, 0xca; }}}}', 'r', sources))


packed(HALF, ['R', 'R'], 'f16x2')
packed(HALF3, ['R', 'R', 'R'], 'f16x2')
packed(BRAIN, ['R', 'R'], 'bf16x2')
packed(BRAIN3, ['R', 'R', 'R'], 'bf16x2')
packed('neg.f16x2; abs.f16x2', ['R'], 'f16x2')
packed('neg.bf16x2; abs.bf16x2', ['R'], 'bf16x2')

# Packed halves by parts: what is done to two halves, put together otherwise, and used again. No bit of a NaN is looked at before the
# last instruction makes NaNs one.
MIXES = ['mov.b32 {{l, u}}, x; mov.b32 x, {{u, l}};', 'mov.b32 {{l, u}}, x; mov.b32 x, {{l, l}};', 'mov.b32 {{l, u}}, x; mov.b32 x, {{u, u}};',
         'neg.f16x2 x, x;', 'abs.f16x2 x, x;', 'mov.b32 {{l, u}}, x; add.rn.f16 l, l, u; mov.b32 x, {{l, u}};',
         'mov.b32 {{l, u}}, x; fma.rn.f16 u, l, u, l; mov.b32 x, {{u, l}};', 'mov.b32 {{l, u}}, x; neg.f16 l, l; mov.b32 x, {{l, u}};',
         '.reg .pred p, q; setp.lt.f16x2 p|q, x, {2}; mov.b32 {{l, u}}, x; @p mov.b16 l, u; @!q add.rn.f16 u, u, l; mov.b32 x, {{l, u}};',
         'set.gt.f16x2.f16x2 y, x, {2}; mul.rn.f16x2 x, x, y;', 'cvt.f32.f16 f, {3}; cvt.rn.f16.f32 l, f; mov.b32 x, {{l, {3}}};']
for first in ('add.rn.f16x2', 'mul.rn.f16x2', 'sub.rn.ftz.f16x2'):
    for mix in MIXES:
        for last in ('add.rn.f16x2 x, x, {2};', 'fma.rn.f16x2 x, x, x, {1};', 'mul.rn.sat.f16x2 x, {2}, x;'):
            add((f'{{{{ .reg .b32 x, y, n; .reg .b16 l, u; .reg .f32 f; {first} x, {{1}}, {{2}}; {mix} {last} and.b32 n, x, 0x7fff7fff; '
                 'add.u32 n, n, 0x03ff03ff; shr.u32 n, n, 15; and.b32 n, n, 0x00010001; mul.lo.u32 n, n, 0xffff; '
                 'lop3.b32 {0}, n, 0x7e007e00, x, 0xca; }}', 'r', ['R', 'R', 'H']))

# Floating point.
group('floats')
for t, k in (('f32', 'f'), ('f64', 'e')):
    K = k.upper()
    for mode in ROUND:
        for f in (['', '.ftz', '.sat', '.ftz.sat'] if t == 'f32' else ['']):
            rows(k, f'{K} {k}', f'add.{mode}{f}.{t}; sub.{mode}{f}.{t}; mul.{mode}{f}.{t}')
            rows(k, f'{K} {k} {K}', f'fma.{mode}{f}.{t}')
        rows(k, f'{K} {K}', f'div.{mode}.{t}')
        rows(k, K, f'sqrt.{mode}.{t}; rcp.{mode}.{t}')
    rows(k, f'{K} {k}', f'min.{t}; max.{t}')
    rows(k, K, f'neg.{t}; abs.{t}; mov.{t}')
    rows(k, f'{K} {k} P', f'selp.{t}')
    rows(k, K, f'cvt.rni.{t}.{t}; cvt.rzi.{t}.{t}; cvt.rmi.{t}.{t}; cvt.rpi.{t}.{t}')
    rows('p', K, f'testp.finite.{t}; testp.infinite.{t}; testp.notanumber.{t}; testp.normal.{t}; testp.subnormal.{t}')
    for to in ('s32', 'u32'):
        rows('r', K, f'cvt.rni.{to}.{t}; cvt.rzi.{to}.{t}; cvt.rmi.{to}.{t}; cvt.rpi.{to}.{t}')
        for mode in ROUND if t == 'f32' else ['rn']:
            rows(k, 'R', f'cvt.{mode}.{t}.{to}')
    for to in ('s64', 'u64'):
        rows('d', K, f'cvt.rzi.{to}.{t}; cvt.rni.{to}.{t}')
        rows(k, 'D', f'cvt.rn.{t}.{to}; cvt.rz.{t}.{to}; cvt.rp.{t}.{to}')
    rows('h', K, f'cvt.rzi.s16.{t}; cvt.rni.u16.{t}')
    rows(k, 'H', f'cvt.rn.{t}.s16; cvt.rn.{t}.u16')
    for compare in 'eq ne lt le gt ge equ neu ltu leu gtu geu num nan'.split():
        rows('p', f'{K} {k}', f'setp.{compare}.{t}')
    rows('r', f'{K} {k}', f'set.lt.u32.{t}; set.geu.s32.{t}')
    rows('f', f'{K} {k}', f'set.ne.f32.{t}')
rows('f', 'F f R', 'slct.f32.s32')
rows('f', 'F f', 'min.NaN.f32; max.ftz.f32; max.NaN.f32')
rows('f', 'E', 'cvt.rn.f32.f64; cvt.rz.f32.f64; cvt.rm.f32.f64; cvt.rp.ftz.f32.f64; cvt.rn.sat.f32.f64')
rows('e', 'F', 'cvt.f64.f32; cvt.ftz.f64.f32; cvt.sat.f64.f32')
rows('p', 'F f P', 'setp.lt.and.f32; setp.gtu.or.f32; setp.ne.xor.f32; setp.lt.ftz.and.f32 {0}, {1}, {2}, !{3}')
add(('{{ .reg .b16 x; cvt.rn.f16.f32 x, {1}; cvt.f32.f16 {0}, x; }}', 'f', ['F']))
add(('{{ .reg .b16 x; cvt.rz.f16.f32 x, {1}; cvt.f32.f16 {0}, x; }}', 'f', ['F']))
add(('{{ .reg .b16 x; cvt.rn.bf16.f32 x, {1}; cvt.f32.bf16 {0}, x; }}', 'f', ['F']))
add(('{{ .reg .b32 x; cvt.rn.f16x2.f32 x, {1}, {2}; .reg .b16 l, u; mov.b32 {{l, u}}, x; cvt.f32.f16 {0}, u; }}', 'f', ['F', 'F']))
rows('f', 'H', 'cvt.f32.f16; cvt.f32.bf16; cvt.sat.f32.f16')
rows('h', 'R', 'cvt.rn.f16.s32; cvt.rn.f16.u32')
rows('r', 'H', 'cvt.rzi.s32.f16; cvt.rni.u32.f16')

# Predicates, selections, comparisons.
group('predicates')
for kind, types in (('R r', 'u32 s32'), ('D d', 'u64 s64'), ('H h', 'u16 s16')):
    for t in types.split():
        for compare in 'eq ne lt le gt ge'.split():
            rows('p', kind, f'setp.{compare}.{t}')
        rows('p', kind + ' P', f'setp.lt.and.{t}; setp.ge.or.{t}; setp.ne.xor.{t}; setp.le.and.{t} {{0}}, {{1}}, {{2}}, !{{3}}')
        rows('r', kind, f'set.gt.u32.{t}; set.le.s32.{t}')
rows('r', 'R r P', 'selp.b32; selp.u32; set.lt.and.u32.s32; set.ge.or.s32.u32')
rows('d', 'D d P', 'selp.b64')
rows('h', 'H h P', 'selp.b16')
rows('r', 'R r R', 'slct.u32.s32')
rows('r', 'R r F', 'slct.s32.f32')
rows('d', 'D d R', 'slct.u64.s32')
rows('p', 'P P', 'and.pred; or.pred; xor.pred')
rows('p', 'P', 'not.pred; mov.pred')

# Conversions between integers.
group('conversions')
rows('r', 'R', 'cvt.u32.u8; cvt.s32.s8; cvt.s32.s16; cvt.u32.u16; cvt.sat.u8.s32; cvt.sat.s8.s32; cvt.sat.u16.s32; cvt.sat.s16.u32; '
     'cvt.sat.s32.u32; cvt.sat.u32.s32; cvt.u8.s32')
rows('r', 'D', 'cvt.u32.u64; cvt.sat.s32.s64; cvt.sat.u32.s64; cvt.sat.u16.u64')
rows('d', 'R', 'cvt.u64.u32; cvt.s64.s32; cvt.s64.s8; cvt.u64.u16')
rows('h', 'R', 'cvt.u16.u32; cvt.sat.s16.s32; cvt.s16.s8')
rows('r', 'H', 'cvt.u32.u16; cvt.s32.s16; cvt.s32.s8')
rows('r', 'R R R', 'cvt.pack.sat.u8.s32.b32 {0}, {1}, {2}, {3}; cvt.pack.sat.s8.s32.b32 {0}, {1}, {2}, {3}')
rows('r', 'R R', 'cvt.pack.sat.u16.s32 {0}, {1}, {2}; cvt.pack.sat.s16.s32 {0}, {1}, {2}')

# Two results at once: the second goes to a predicate of the pool.
PAIRS = ['setp.lt.u32 {0}|{1}, {2}, {3}', 'setp.ge.s32 {0}|{1}, {2}, {3}', 'setp.ne.and.u32 {0}|{1}, {2}, {3}, {4}']
PAIRS64 = ['setp.lt.u64 {0}|{1}, {2}, {3}', 'setp.gt.s64 {0}|{1}, {2}, {3}', 'setp.eq.or.s64 {0}|{1}, {2}, {3}, {4}']

# What a row needs of a chip: the first text that is found in it says.
NEEDS = [('cvt.rni.s16.f', 75), ('add.rn.bf16', 90), ('sub.rn.bf16', 90), ('mul.rn.bf16', 90), ('bf16', 80), ('min.f16', 80), ('max.f16', 80),
         ('min.ftz.f16', 80), ('min.NaN', 80), ('max.NaN', 80), ('relu', 80), ('cvt.rn.f16x2.f32', 80)]


def needs(text):
    return next((chip for word, chip in NEEDS if word in text), 75)


# Operations for chains, in which each works on what the last one left: what it writes, text, what it reads. `r`, `d`, `h`, `p` are
# registers of 32, 64 and 16 bits and predicates; `i`, `j`, `k` immediates of 32, 64 and 16 bits at borders of their types; `s` and `t` amounts to
# shift by; `c` a divisor; `b` and `w` position and width of a field; `x` bytes to pick; `l` a table of three bits; `o` a comparison.
CHAIN = [tuple(part.strip() for part in line.split(':')) for line in '''
r: add.u32: r i
r: sub.s32: r i
r: sub.u32: i r
r: mul.lo.u32: r i
r: mul.hi.u32: r i
r: mul.hi.s32: r i
r: mul24.lo.s32: r i
r: mad.lo.u32: r i r
r: mad.lo.s32: r r i
r: mad.hi.s32: r i r
r: mad.hi.u32: r i i
r: and.b32: r i
r: or.b32: r i
r: xor.b32: r i
r: shl.b32: r s
r: shr.u32: r s
r: shr.s32: r s
r: shl.b32: i r
r: shf.l.wrap.b32: r r s
r: shf.r.wrap.b32: r r r
r: shf.l.clamp.b32: r i s
r: shf.r.clamp.b32: r r s
r: bfe.u32: r b w
r: bfe.s32: r b w
r: bfi.b32: r r b w
r: bfi.b32: i r b w
r: prmt.b32: r r x
r: prmt.b32: r i x
r: lop3.b32: r r r l
r: lop3.b32: r i r l
r: min.u32: r i
r: min.s32: r i
r: max.u32: r i
r: max.s32: r i
r: not.b32: r
r: neg.s32: r
r: abs.s32: r
r: cnot.b32: r
r: popc.b32: r
r: clz.b32: r
r: brev.b32: r
r: bfind.u32: r
r: bfind.s32: r
r: bfind.shiftamt.s32: r
r: bmsk.clamp.b32: r s
r: slct.s32.s32: r i r
r: sad.u32: r i r
r: sad.s32: r r i
r: div.u32: r c
r: rem.u32: r c
r: div.s32: r c
r: rem.s32: r c
r: add.sat.s32: r i
r: sub.sat.s32: i r
r: selp.b32: r i p
r: selp.b32: i i p
r: selp.b32: r r p
r: set.{o}.u32.s32: r i
r: set.{o}.s32.u32: r r
r: set.{o}.and.u32.u32: r i p
r: dp4a.s32.u32: r i r
r: dp2a.lo.u32.u32: r r i
r: vadd4.u32.u32.u32: r r r
r: vsub4.s32.s32.s32: r r r
r: vabsdiff.s32.s32.s32: r i
r: mul.wide.u16: h k
r: mul.wide.s16: h k
r: mad.wide.s16: h k r
r: cvt.u32.u16: h
r: cvt.s32.s16: h
r: cvt.s32.s8: r
r: cvt.u32.u8: r
r: cvt.s32.s16: r
r: cvt.sat.u8.s32: r
r: cvt.sat.s16.s32: r
r: cvt.u32.u64: d
r: cvt.sat.u32.s64: d
r: popc.b64: d
r: clz.b64: d
d: cvt.u64.u32: r
d: cvt.s64.s32: r
d: cvt.s64.s16: h
d: mul.wide.u32: r i
d: mul.wide.s32: r i
d: mad.wide.u32: r i d
d: mad.wide.s32: r r j
d: add.u64: d j
d: sub.s64: j d
d: mul.lo.u64: d j
d: mul.hi.u64: d j
d: mad.lo.s64: d j d
d: and.b64: d j
d: or.b64: d j
d: xor.b64: d j
d: not.b64: d
d: neg.s64: d
d: abs.s64: d
d: shl.b64: d s
d: shr.u64: d s
d: shr.s64: d s
d: shl.b64: j r
d: min.s64: d j
d: max.u64: d j
d: mov.b64 {0}, {{{1}, {2}}}: r r
d: mov.b64 {0}, {{{1}, {2}}}: r i
d: selp.b64: d j p
d: bfe.u64: d b w
d: bfe.s64: d b w
d: div.u64: d c
d: rem.s64: d c
d: slct.u64.s32: d j r
h: cvt.u16.u32: r
h: cvt.sat.s16.s32: r
h: add.u16: h k
h: sub.u16: k h
h: mul.lo.s16: h k
h: mul.hi.u16: h k
h: mad.lo.u16: h k h
h: and.b16: h k
h: xor.b16: h k
h: shl.b16: h t
h: shr.s16: h t
h: shr.u16: h t
h: min.s16: h k
h: max.u16: h k
h: neg.s16: h
h: not.b16: h
h: div.u16: h c
h: selp.b16: h k p
p: setp.{o}.u32: r i
p: setp.{o}.s32: r i
p: setp.{o}.s32: r r
p: setp.{o}.u64: d j
p: setp.{o}.s64: d j
p: setp.{o}.u16: h k
p: setp.{o}.s16: h k
p: setp.{o}.and.u32: r i p
p: setp.{o}.or.s32: r i p
p: setp.{o}.xor.s64: d j p
p: and.pred: p p
p: xor.pred: p p
p: not.pred: p
'''.strip().splitlines()]
AMOUNTS = [0, 1, 4, 5, 7, 8, 15, 16, 17, 23, 24, 31, 32, 33, 63, 64, 65, 0xffffffff]
DIVISORS = [1, 2, 3, 5, 7, 10, 16, 100, 127, 255, 1000, 4096, 0x7fff]


def border(random, bits):
    """A number at a border of a type of so many bits, or of a narrower one."""
    roll = random.random()
    if roll < 0.3:
        return random.randrange(10)
    if roll < 0.4:
        return random.getrandbits(bits)
    power = 1 << random.choice([at for at in (1, 3, 4, 7, 8, 12, 15, 16, 19, 23, 24, 31, 32, 33, 47, 63, 64) if at <= bits])
    return (power * random.choice([1, 1, -1]) + random.choice([-1, -1, 0, 0, 1])) & ((1 << bits) - 1)


def immediate(random, kind):
    """An operand of a chain that is no register."""
    if kind in 'ijk':
        bits = {'i': 32, 'j': 64, 'k': 16}[kind]
        value = border(random, bits)
        return str(value - (1 << bits) if value >> (bits - 1) and random.random() < 0.5 else value)
    if kind == 's':
        return str(random.choice(AMOUNTS))
    if kind == 't':
        return str(random.choice(AMOUNTS[:12]))
    if kind == 'c':
        return str(random.choice(DIVISORS))
    if kind == 'b':
        return str(random.choice([0, 1, 4, 7, 8, 15, 16, 24, 31]))
    if kind == 'w':
        return str(random.choice([0, 1, 4, 7, 8, 15, 16, 24, 31]))
    if kind == 'x':
        return hex(random.choice([0x0123, 0x3210, 0x5410, 0x7632, 0x4440, 0x0008, 0x1111, 0x9180, 0x2104]) if random.random() < 0.6 else random.getrandbits(16))
    if kind == 'l':
        return hex(random.choice([0x80, 0xfe, 0x96, 0xca, 0xe8, 0xac, 0xd8, 0x3c, 0x0f]) if random.random() < 0.6 else random.getrandbits(8))
    raise KeyError(kind)
