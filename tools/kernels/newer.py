"""Single instructions that Blackwell added: pairs of singles, sums of halves and singles, extremes of three, reductions of singles
over a warp, numbers of four and six bits, scale factors, accesses to 32 bytes."""
import itertools
import os
from fractions import Fraction

import record
from blackwell import ROOT
from record import Given, Random, Result, Scalar, case
from singles import ARITHMETIC, LAYOUT, M32, MODES, THREADS, Batch, flushed, mixed, numbers, result, rounded, value

FILES = {}
FILE = 'newer_singles'
HEAD = '// Written by tools/kernels/newer.py: single instructions that Blackwell added.\n.version 8.8\n.target sm_100a\n.address_size 64\n'
r = Random(103)
NAN = 0x7fffffff


def batch(name, inputs):
    return Batch(FILE, name, inputs, FILES, ROOT)


def pairs():
    columns = [[numbers('f32'), mixed(numbers('f32'), 5)] for _ in range(3)]
    columns = [[mixed(half, step) for half in column] for column, step in zip(columns, (1, 3, 7))]
    joined = [[low | high << 32 for low, high in zip(*column)] for column in columns]
    kernel = batch('pairs_rounded', [(name, 'b64', column) for name, column in zip('abe', joined)])
    for name, mode, ftz in itertools.product(('add', 'sub', 'mul', 'fma'), MODES, (False, True)):
        count, act = ARITHMETIC[name]
        expected = []
        for t in range(THREADS):
            halves = []
            for half in range(2):
                operands = [value('f32', flushed('f32', column[half][t]) if ftz else column[half][t]) for column in columns[:count]]
                halves.append(result('f32', mode, *act(mode, *operands), ftz))
            expected.append(halves[0] | halves[1] << 32)
        kernel.add(f'{name}.{mode}{".ftz" * ftz}.f32x2 d64, ' + ', '.join('abe'[:count]), 'b64', expected)
    kernel.finish()


def with_halves():
    halves = {ty: (numbers(ty), mixed(numbers(ty), 5)) for ty in ('f16', 'bf16')}
    single = numbers('f32')
    names = {'f16': 'ab', 'bf16': 'gh'}
    inputs = [(name, ty, column) for ty in halves for name, column in zip(names[ty], halves[ty])] + [('e', 'f32', single)]
    kernel = batch('singles_and_halves', inputs)
    for name, ty, mode, sat in itertools.product(('add', 'sub', 'fma'), halves, MODES, (False, True)):
        expected = []
        for first, second, third in zip(*halves[ty], single):
            a, b, e = value(ty, first), value(ty, second), value('f32', third)
            operands = (a, b, e) if name == 'fma' else (a, e)
            expected.append(result('f32', mode, *ARITHMETIC[name][1](mode, *operands), False, sat))
        given = f'{names[ty][0]}, {names[ty][1]}, e' if name == 'fma' else f'{names[ty][0]}, e'
        kernel.add(f'{name}.{mode}{".sat" * sat}.f32.{ty} d32, {given}', 'f32', expected)
    kernel.finish()


def extreme(name, keeps, ftz, sizes, patterns):
    """The least or the greatest; a zero of negative sign is less than the other one."""
    patterns = [flushed('f32', v) if ftz else v for v in patterns]
    patterns = [v & M32 >> 1 for v in patterns] if sizes else patterns
    real = [v for v in patterns if v & M32 >> 1 <= 0x7f800000]
    if not real or keeps and len(real) < len(patterns):
        return NAN
    order = lambda v: -(v & M32 >> 1) - 1 if v >> 31 else v
    return (min if name == 'min' else max)(real, key=order)


WAYS = list(itertools.product(('min', 'max'), (False, True), (False, True)))


def odd_numbers(step):
    found = numbers('f32')
    found[9:13] = [0x7f800000, 0xff800000, 0x7fc00001, 0xff800001]
    return mixed(found, step)


def extremes():
    columns = [odd_numbers(step) for step in (1, 3, 7)]
    columns[2] = [u if n % 7 == 0 else v for n, (u, v) in enumerate(zip(columns[0], columns[2]))]
    kernel = batch('extremes_of_three', [(name, 'f32', column) for name, column in zip('abe', columns)])
    for (name, keeps, sizes), ftz in itertools.product(WAYS, (False, True)):
        words = '.ftz' * ftz + '.NaN' * keeps + '.abs' * sizes
        kernel.add(f'{name}{words}.f32 d32, a, b, e', 'f32', [extreme(name, keeps, ftz, sizes, row) for row in zip(*columns)])
    kernel.finish()
    # Of the whole warp, and of half of it.
    columns = [odd_numbers(5), [v if v & M32 >> 1 <= 0x7f800000 else 0x3f800000 for v in odd_numbers(3)]]
    kernel = batch('extremes_of_lanes', [(name, 'f32', column) for name, column in zip('ab', columns)])
    for (name, keeps, sizes), (given, column) in itertools.product(WAYS, zip('ab', columns)):
        words = '.abs' * sizes + '.NaN' * keeps
        kernel.add(f'redux.sync.{name}{words}.f32 d32, {given}, -1', 'f32', [extreme(name, keeps, False, sizes, column)] * THREADS)
    kernel.finish()


# Bits of the exponent and of the fraction, the bias; what is beyond the greatest number becomes it.
NARROW = {'e2m1': (2, 1, 1), 'e2m3': (2, 3, 1), 'e3m2': (3, 2, 3)}


def every(ty):
    exponent_bits, fraction_bits, bias = NARROW[ty]
    size = lambda bits: Fraction((bits & (1 << fraction_bits) - 1) + (bits >> fraction_bits > 0) * (1 << fraction_bits)) * \
        Fraction(2) ** (max(bits >> fraction_bits, 1) - bias - fraction_bits)
    return [size(bits) for bits in range(1 << exponent_bits + fraction_bits)]


def narrowed(ty, pattern, relu):
    number, sign = value('f32', pattern)
    sizes, top = every(ty), sum(NARROW[ty][:2])
    if relu and sign:
        return 0
    # The nearest, of two equally near the even one.
    nearest = min(range(len(sizes)), key=lambda bits: (abs(sizes[bits] - abs(number)), bits & 1))
    return nearest | sign << top


def narrow_numbers():
    near = lambda: [rounded('f32', 'rn', Fraction(r.between(-260, 260), 32) if r.below(3) else Fraction(r.real(-40, 40))) for _ in range(THREADS)]
    first, second = near(), near()
    codes = [r.bits(16) for _ in range(THREADS)]
    scales = [rounded('f32', 'rn', Fraction(r.real(1, 2)) * Fraction(2) ** r.between(-120, 120)) if r.below(3) else r.between(1, 254) << 23 for _ in range(THREADS)]
    others = mixed(scales, 5)
    halves = [rounded('bf16', 'rn', value('f32', v)[0]) | rounded('bf16', 'rn', value('f32', u)[0]) << 16 for v, u in zip(scales, others)]
    kernel = batch('numbers_of_few_bits', [('a', 'f32', first), ('b', 'f32', second), ('e', 'b16', codes), ('f', 'f32', scales), ('g', 'f32', others),
                                           ('h', 'b32', halves)])
    kernel.lines.append('.reg .b8 y;')
    for ty, relu in itertools.product(NARROW, (False, True)):
        shift = 4 if ty == 'e2m1' else 8
        packed = [narrowed(ty, a, relu) << shift | narrowed(ty, b, relu) for a, b in zip(first, second)]
        words = 'rn.satfinite' + '.relu' * relu
        if ty == 'e2m1':
            kernel.add(f'cvt.{words}.e2m1x2.f32 y, a, b;\n    cvt.u16.u8 d16, y', 'b16', packed)
        else:
            kernel.add(f'cvt.{words}.{ty}x2.f32 d16, a, b', 'b16', packed)
        top = sum(NARROW[ty][:2])
        half = lambda code: 0 if relu and code >> top & 1 else rounded('f16', 'rn', every(ty)[code & (1 << top) - 1] * (-1) ** (code >> top & 1), code >> top & 1)
        spread = [half(code & (1 << shift) - 1) | half(code >> shift & (1 << shift) - 1) << 16 for code in codes]
        source = 'cvt.u8.u16 y, e;\n    ' if ty == 'e2m1' else ''
        kernel.add(f'{source}cvt.rn{".relu" * relu}.f16x2.{ty}x2 d32, {"y" if source else "e"}', 'b32', spread)
    for mode, sat in itertools.product(('rz', 'rp'), (False, True)):
        above = lambda pattern, bits: (pattern >> bits) + (mode == 'rp' and pattern & (1 << bits) - 1 != 0)
        kernel.add(f'cvt.{mode}{".satfinite" * sat}.ue8m0x2.f32 d16, f, g', 'b16', [above(f, 23) << 8 | above(g, 23) for f, g in zip(scales, others)])
        kernel.add(f'cvt.{mode}{".satfinite" * sat}.ue8m0x2.bf16x2 d16, h', 'b16', [above(h >> 16, 7) << 8 | above(h & 0xffff, 7) for h in halves])
    spread = [sum((code >> 8 * n & 255) << 7 + 16 * n if code >> 8 * n & 255 not in (0, 255) else (0x40 if code >> 8 * n & 255 == 0 else 0x7fff) << 16 * n
                  for n in range(2)) for code in codes]
    kernel.add('cvt.rn.bf16x2.ue8m0x2 d32, e', 'b32', spread)
    kernel.finish()


L1 = ['', 'L1::evict_normal', 'L1::evict_unchanged', 'L1::evict_first', 'L1::evict_last', 'L1::no_allocate']
L2 = ['L2::evict_last', 'L2::evict_normal', 'L2::evict_first']
HINT, FETCH, SCOPES = ['', 'L2::cache_hint'], ['', 'L2::64B', 'L2::128B', 'L2::256B'], ['cta', 'cluster', 'gpu', 'sys']
LOADS = [[['', 'weak'], ['global', ''], L1, L2, HINT, FETCH], [['global'], ['nc'], L1, L2, HINT, FETCH],
         [['relaxed', 'acquire'], SCOPES, ['global', ''], L1, L2, HINT, FETCH]]
STORES = [[['', 'weak'], ['global', ''], L1, L2, HINT], [['relaxed', 'release'], SCOPES, ['global', ''], L1, L2, HINT]]
WIDE = ['v8.b32', 'v4.b64', 'v8.u32', 'v4.u64', 'v8.s32', 'v4.s64', 'v8.f32', 'v4.f64']
LINE = 32


def wide_accesses():
    lines, count = [], 0
    for load, n in itertools.product(LOADS, range(len(WIDE))):
        store, ty = STORES[(n // 2 + count // 8) % 2], WIDE[n]
        chosen = [[slot[(n + n // len(slot) * at) % len(slot)] for at, slot in enumerate(slots)] for slots in (load, store)]
        policies = [', policy' if 'L2::cache_hint' in words else '' for words in chosen]
        spelled = ['.'.join([name, *(w for w in words if w), ty]) for name, words in zip(('ld', 'st'), chosen)]
        values = '{' + ', '.join(f'{"w" if "32" in ty else "l"}{k}' for k in range(int(ty[1]))) + '}'
        lines += [f'{spelled[0]} {values}, [from]{policies[0]};', f'{spelled[1]} [to+{LINE * THREADS * count}], {values}{policies[1]};']
        count += 1
    text = f'''
.visible .entry accesses_of_lines(.param .u64 given_, .param .u64 out_, .param .u64 policy_)
{{
    .reg .b32 t, w<8>;
    .reg .b64 from, to, policy, l<4>;
    ld.param.u64 from, [given_];
    ld.param.u64 to, [out_];
    ld.param.u64 policy, [policy_];
    mov.u32 t, %tid.x;
    mad.wide.u32 from, t, {LINE}, from;
    mad.wide.u32 to, t, {LINE}, to;
''' + ''.join(f'    {line}\n' for line in lines) + '    ret;\n}\n'
    FILES.setdefault(FILE, []).append(text)
    data = [r.bits(8) for _ in range(LINE * THREADS)]
    case('accesses_of_lines', FILE, [1], [THREADS], [Given('u8', data), Result('u8', data * count, [0] * LINE * THREADS * count), Scalar('u64', 0x12f0000000000000)],
         folder=ROOT)


pairs()
with_halves()
extremes()
narrow_numbers()
wide_accesses()


def write_ptx():
    for source, kernels in FILES.items():
        with open(os.path.join(ROOT, source + '.ptx'), 'w') as out:
            out.write(HEAD + ''.join(kernels))
