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

TABLE = []


def rows(destination, sources, texts):
    for text in texts.split(';'):
        text = text.strip()
        if text:
            if '{' not in text:
                text += ' ' + ', '.join('{%d}' % i for i in range(len(sources.split()) + 1))
            TABLE.append((text, destination, sources.split()))


ROUND = ['rn', 'rz', 'rm', 'rp']

# 32-bit integers.
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
rows('r', 'R R R', 'vadd4.u32.u32.u32.sat {0}, {1}, {2}, {3}; '
     'vmax2.s32.s32.s32 {0}, {1}, {2}, {3}; vavrg4.u32.u32.u32 {0}, {1}, {2}, {3}; vabsdiff4.u32.u32.u32.add {0}, {1}, {2}, {3}; '
     'vsub2.s32.s32.s32.sat {0}, {1}, {2}, {3}')
TABLE.append(('{{ .reg .b32 lo; add.cc.u32 lo, {1}, {2}; addc.u32 {0}, {3}, {4}; xor.b32 {0}, {0}, lo; }}', 'r', ['R', 'R', 'R', 'R']))
TABLE.append(('{{ .reg .b32 lo; sub.cc.u32 lo, {1}, {2}; subc.cc.u32 {0}, {3}, {4}; addc.u32 {0}, {0}, lo; }}', 'r', ['R', 'r', 'R', 'R']))
TABLE.append(('{{ .reg .b32 lo; mad.lo.cc.u32 lo, {1}, {2}, {3}; madc.hi.u32 {0}, {1}, {2}, {4}; xor.b32 {0}, {0}, lo; }}', 'r', ['R', 'R', 'R', 'R']))
# Positions and widths of bit fields stay in the word: above, known compilers differ.
FIELD = '{{ .reg .b32 at, count; and.b32 at, {2}, 31; and.b32 count, {3}, 31; bfe.%s {0}, {1}, at, count; }}'
for t in ('u32', 's32', 'u64', 's64'):
    TABLE.append((FIELD % t, 'r' if '32' in t else 'd', ['R' if '32' in t else 'D', 'R', 'R']))
    for at, count in ((0, 8), (5, 11), (16, 16), (31, 1), (3, 0)):
        rows('r' if '32' in t else 'd', 'R' if '32' in t else 'D', f'bfe.{t} {{0}}, {{1}}, {at}, {count}')
for t in ('b32', 'b64'):
    one = 'R' if t == 'b32' else 'D'
    TABLE.append(('{{ .reg .b32 at, count; and.b32 at, {3}, 31; and.b32 count, {4}, 31; bfi.%s {0}, {1}, {2}, at, count; }}' % t, one.lower(),
                  [one, one, 'R', 'R']))
    for at, count in ((0, 8), (5, 11), (16, 16), (31, 1), (3, 0)):
        rows(one.lower(), one + ' ' + one, f'bfi.{t} {{0}}, {{1}}, {{2}}, {at}, {count}')
# Divisors are odd; of signed divisions positive too.
TABLE.append(('{{ .reg .b32 by; or.b32 by, {2}, 1; div.u32 {0}, {1}, by; }}', 'r', ['R', 'r']))
TABLE.append(('{{ .reg .b32 by; or.b32 by, {2}, 1; rem.u32 {0}, {1}, by; }}', 'r', ['R', 'r']))
TABLE.append(('{{ .reg .b32 by; or.b32 by, {2}, 1; and.b32 by, by, 0x7fffffff; div.s32 {0}, {1}, by; }}', 'r', ['R', 'r']))
TABLE.append(('{{ .reg .b32 by; or.b32 by, {2}, 1; and.b32 by, by, 0x7fffffff; rem.s32 {0}, {1}, by; }}', 'r', ['R', 'r']))
for by in (3, 7, 10, 255, 641, 0x7fffffff):
    rows('r', 'R', f'div.u32 {{0}}, {{1}}, {by}; rem.s32 {{0}}, {{1}}, {by}; div.s32 {{0}}, {{1}}, -{by}; rem.u32 {{0}}, {{1}}, {by}')

# 64-bit integers.
rows('d', 'D d', 'add.u64; add.s64; sub.u64; sub.s64; mul.lo.u64; mul.hi.u64; mul.hi.s64; min.u64; min.s64; max.u64; max.s64; and.b64; '
     'or.b64; xor.b64')
rows('d', 'D r', 'shl.b64; shr.u64; shr.s64')
rows('d', 'D', 'not.b64; neg.s64; abs.s64; brev.b64; mov.b64; cnot.b64')
rows('r', 'D', 'popc.b64; clz.b64; bfind.u64; bfind.s64')
rows('d', 'R r', 'mul.wide.u32; mul.wide.s32')
rows('d', 'R r D', 'mad.wide.u32; mad.wide.s32')
rows('d', 'D d D', 'mad.lo.u64; mad.lo.s64; mad.hi.u64; sad.u64')
TABLE.append(('{{ .reg .b64 by; or.b64 by, {2}, 1; div.u64 {0}, {1}, by; }}', 'd', ['D', 'd']))
TABLE.append(('{{ .reg .b64 by; or.b64 by, {2}, 1; rem.u64 {0}, {1}, by; }}', 'd', ['D', 'd']))
TABLE.append(('{{ .reg .b64 by; or.b64 by, {2}, 1; and.b64 by, by, 0x7fffffffffffffff; div.s64 {0}, {1}, by; }}', 'd', ['D', 'd']))
rows('d', 'D', 'rem.u64 {0}, {1}, 1000000007; div.s64 {0}, {1}, 10; div.u64 {0}, {1}, 7')
rows('d', 'R R', 'mov.b64 {0}, {{{1}, {2}}}')
TABLE.append(('{{ .reg .b32 hi; mov.b64 {{{0}, hi}}, {1}; }}', 'r', ['D']))
TABLE.append(('{{ .reg .b32 lo; mov.b64 {{lo, {0}}}, {1}; }}', 'r', ['D']))

# 16-bit integers.
rows('h', 'H h', 'add.u16; sub.s16; mul.lo.u16; mul.hi.u16; mul.hi.s16; min.s16; max.u16; and.b16; or.b16; xor.b16')
rows('h', 'H R', 'shl.b16; shr.u16; shr.s16')
rows('h', 'H', 'not.b16; neg.s16; abs.s16; mov.b16')
rows('h', 'H h H', 'mad.lo.s16')
rows('r', 'H h', 'mul.wide.u16; mul.wide.s16')
rows('r', 'H H', 'mov.b32 {0}, {{{1}, {2}}}')
TABLE.append(('{{ .reg .b16 hi; mov.b32 {{{0}, hi}}, {1}; }}', 'h', ['R']))
TABLE.append(('{{ .reg .b16 lo; mov.b32 {{lo, {0}}}, {1}; }}', 'h', ['R']))
TABLE.append(('{{ .reg .b16 by; or.b16 by, {2}, 1; div.u16 {0}, {1}, by; }}', 'h', ['H', 'h']))
TABLE.append(('{{ .reg .b16 by; or.b16 by, {2}, 1; and.b16 by, by, 0x7fff; rem.s16 {0}, {1}, by; }}', 'h', ['H', 'h']))

# Packed halves live in 32-bit registers. Halves of NaNs are made one kind before they are looked at as bits.
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
        TABLE.append((f'{{{{ .reg .b32 x, n; {text.strip()} x, {operands}; and.b32 n, x, 0x7fff7fff; add.u32 n, n, {reach}; shr.u32 n, n, 15; '
                      f'and.b32 n, n, 0x00010001; mul.lo.u32 n, n, 0xffff; lop3.b32 {{0}}, n, {quiet}, x, 0xca; }}}}', 'r', sources))


packed(HALF, ['R', 'R'], 'f16x2')
packed(HALF3, ['R', 'R', 'R'], 'f16x2')
packed(BRAIN, ['R', 'R'], 'bf16x2')
packed(BRAIN3, ['R', 'R', 'R'], 'bf16x2')
packed('neg.f16x2; abs.f16x2', ['R'], 'f16x2')
packed('neg.bf16x2; abs.bf16x2', ['R'], 'bf16x2')

# Floating point.
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
TABLE.append(('{{ .reg .b16 x; cvt.rn.f16.f32 x, {1}; cvt.f32.f16 {0}, x; }}', 'f', ['F']))
TABLE.append(('{{ .reg .b16 x; cvt.rz.f16.f32 x, {1}; cvt.f32.f16 {0}, x; }}', 'f', ['F']))
TABLE.append(('{{ .reg .b16 x; cvt.rn.bf16.f32 x, {1}; cvt.f32.bf16 {0}, x; }}', 'f', ['F']))
TABLE.append(('{{ .reg .b32 x; cvt.rn.f16x2.f32 x, {1}, {2}; .reg .b16 l, u; mov.b32 {{l, u}}, x; cvt.f32.f16 {0}, u; }}', 'f', ['F', 'F']))
rows('f', 'H', 'cvt.f32.f16; cvt.f32.bf16; cvt.sat.f32.f16')
rows('h', 'R', 'cvt.rn.f16.s32; cvt.rn.f16.u32')
rows('r', 'H', 'cvt.rzi.s32.f16; cvt.rni.u32.f16')

# Predicates, selections, comparisons.
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
