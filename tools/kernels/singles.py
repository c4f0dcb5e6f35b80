"""Single instructions of arithmetic, comparison and conversion, in all the words of their forms: roundings, flushed subnormal
numbers, saturation, carries, combined predicates. Floating results are rounded here from exact fractions."""
import itertools
import math
import os
from fractions import Fraction

import record
from record import Given, Random, Result, case, wrap
from rows import FLOATING, INTEGER, UNSIGNED, fit

THREADS = 32
M32, M64 = (1 << 32) - 1, (1 << 64) - 1
# Bits of the exponent and of the fraction.
LAYOUT = {'f16': (5, 10), 'bf16': (8, 7), 'f32': (8, 23), 'f64': (11, 52)}
MODES = ['rn', 'rz', 'rm', 'rp']
FILES = {}
r = Random(98)


def width(ty):
    return {'bf16': 16, 'f16x2': 32, 'bf16x2': 32}.get(ty) or int(ty.lstrip('bfsu'))


def limits(ty):
    bits = width(ty)
    return (-1 << bits - 1, (1 << bits - 1) - 1) if ty[0] == 's' else (0, (1 << bits) - 1)


def value(ty, bits):
    """The number of a finite pattern, infinity as a float, NaN as one; and the sign."""
    exponent_bits, fraction_bits = LAYOUT[ty]
    fraction, biased = bits & (1 << fraction_bits) - 1, bits >> fraction_bits & (1 << exponent_bits) - 1
    sign, bias = bits >> exponent_bits + fraction_bits, (1 << exponent_bits - 1) - 1
    if biased == (1 << exponent_bits) - 1:
        return (math.nan if fraction else -math.inf if sign else math.inf), sign
    size = Fraction(fraction + (biased > 0) * (1 << fraction_bits)) * Fraction(2) ** (max(biased, 1) - bias - fraction_bits)
    return -size if sign else size, sign


def flushed(ty, bits):
    exponent_bits, fraction_bits = LAYOUT[ty]
    is_small = bits >> fraction_bits & (1 << exponent_bits) - 1 == 0
    return bits & 1 << exponent_bits + fraction_bits if is_small else bits


def rounded(ty, mode, exact, zero=0):
    """The bits of a fraction; `zero` is the sign where it is zero."""
    exponent_bits, fraction_bits = LAYOUT[ty]
    top, infinity = exponent_bits + fraction_bits, (1 << exponent_bits) - 1 << fraction_bits
    if isinstance(exact, float):
        return infinity | (exact < 0) << top
    if exact == 0:
        return zero << top
    sign, size, bias = int(exact < 0), abs(exact), (1 << exponent_bits - 1) - 1
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent = max(exponent - (size < Fraction(2) ** exponent), 1 - bias)
    scaled = size / Fraction(2) ** (exponent - fraction_bits)
    whole = scaled.numerator // scaled.denominator
    rest, away = scaled - whole, mode == ('rm' if sign else 'rp')
    whole += (rest > Fraction(1, 2) or rest == Fraction(1, 2) and whole & 1) if mode == 'rn' else rest > 0 and away
    bits = whole + (exponent + bias - 1 << fraction_bits) if whole >> fraction_bits else whole
    if bits >= infinity:
        bits = infinity if mode == 'rn' or away else infinity - 1
    return bits | sign << top


def result(ty, mode, exact, zero=0, ftz=False, sat=False):
    """Rounded, flushed, and clamped to the numbers from 0 to 1."""
    bits = rounded(ty, mode, exact, zero)
    bits = flushed(ty, bits) if ftz else bits
    if sat:
        one = rounded(ty, 'rn', Fraction(1))
        number, sign = value(ty, bits)
        bits = 0 if sign else one if number > 1 else bits
    return bits


class Batch:
    """A kernel of which each thread runs all operations on its inputs: registers by name, with their type and values."""

    def __init__(self, source, name, inputs, files=FILES, folder=record.ROOT):
        self.source, self.name, self.inputs, self.lines, self.results = source, name, inputs, [], []
        self.files, self.folder = files, folder

    def add(self, text, ty, expected):
        """An operation that writes `d16`, `d32` or `d64`, whichever the type has."""
        bits = max(width(ty), 16)
        at = 8 * THREADS * (len(self.results) // THREADS)
        self.lines += [f'{text};', f'st.global.b{bits} [address+{at}], d{bits};']
        self.results += [bits_ & (1 << bits) - 1 for bits_ in expected]

    def finish(self):
        lines = ['.reg .b64 address, base, d64;', '.reg .b32 t, d32, c;', '.reg .b16 d16;', '.reg .pred p, q, z;', 'mov.u32 t, %tid.x;']
        for name, ty, _ in self.inputs:
            bits = width(ty)
            lines += [f'.reg .b{bits} {name};', f'ld.param.u64 base, [given_{name}];', f'mad.wide.u32 address, t, {bits // 8}, base;',
                      f'ld.global.b{bits} {name}, [address];']
        lines += ['and.b32 d32, t, 1;', 'setp.ne.u32 z, d32, 0;', 'ld.param.u64 base, [out];', 'mad.wide.u32 address, t, 8, base;', *self.lines, 'ret;']
        parameters = ', '.join([f'.param .u64 given_{name}' for name, _, _ in self.inputs] + ['.param .u64 out'])
        self.files.setdefault(self.source, []).append(f'\n.visible .entry {self.name}({parameters})\n{{\n' + ''.join(f'    {line}\n' for line in lines) + '}\n')
        given = [Given(f'u{width(ty)}', values) for _, ty, values in self.inputs]
        case(self.name, self.source, [1], [THREADS], [*given, Result('u64', self.results, [0] * len(self.results))], folder=self.folder)


def numbers(ty, count=THREADS):
    """Patterns of finite numbers: subnormal ones, ends of the range, ones near each other."""
    exponent_bits, fraction_bits = LAYOUT[ty]
    bias, top = (1 << exponent_bits - 1) - 1, exponent_bits + fraction_bits
    found = [0, 1 << top, 1, (1 << fraction_bits) - 1 | 1 << top, 1 << fraction_bits, ((1 << exponent_bits) - 1 << fraction_bits) - 1, bias << fraction_bits,
             bias << fraction_bits | 1 << top, bias - 1 << fraction_bits]
    while len(found) < count:
        biased = r.below(3) if r.below(4) == 0 else 2 * bias - r.below(2) if r.below(6) == 0 else bias + r.between(-4, 4)
        found.append(r.bits(1) << top | biased << fraction_bits | r.bits(fraction_bits))
    return found[:count]


def mixed(values, step):
    return [values[(n * step + step) % len(values)] for n in range(len(values))]


def root(exact):
    """The root of a fraction, with something behind it where it is not exact."""
    scale = 1 << 700
    square = exact.numerator * scale * scale // exact.denominator
    whole = math.isqrt(square)
    return Fraction(whole, scale) + (0 if whole * whole == square and exact.numerator * scale * scale % exact.denominator == 0 else Fraction(1, scale * 4))


def sum_of(x, y, mode):
    """A sum of numbers with signs, and the sign of it where it is zero."""
    (a, s), (b, t) = x, y
    return a + b, s if s == t and a == b == 0 else int(mode == 'rm')


def product_of(x, y):
    return x[0] * y[0], x[1] ^ y[1]


ARITHMETIC = {
    'add': (2, lambda mode, a, b: sum_of(a, b, mode)), 'sub': (2, lambda mode, a, b: sum_of(a, (-b[0], 1 - b[1]), mode)),
    'mul': (2, lambda mode, a, b: product_of(a, b)), 'fma': (3, lambda mode, a, b, c: sum_of(product_of(a, b), c, mode)),
    'mad': (3, lambda mode, a, b, c: sum_of(product_of(a, b), c, mode)),
    'div': (2, lambda mode, a, b: (a[0] / b[0] if b[0] else math.copysign(math.inf, -0.5 if a[1] ^ b[1] else 0.5), a[1] ^ b[1])),
    'rcp': (1, lambda mode, a: (1 / a[0] if a[0] else math.copysign(math.inf, -0.5 if a[1] else 0.5), a[1])),
    'sqrt': (1, lambda mode, a: (root(a[0]), a[1])),
}


def arithmetic(ty):
    """Every rounding, with and without subnormal numbers and saturation; no operation here gives a NaN."""
    source = f'singles_{ty}'
    first = numbers(ty)
    second = mixed(first, 5)
    third = mixed([v if r.below(3) else v ^ 1 << width(ty) - 1 for v in second], 7)
    for name, (count, act) in ARITHMETIC.items():
        columns = [first, second, third][:count]
        magnitude = lambda v: v & (1 << width(ty) - 1) - 1
        if name == 'div':
            # No zero by zero, even where subnormal numbers are zeros.
            five = rounded(ty, 'rn', Fraction(5))
            columns[1] = [v if magnitude(flushed(ty, u)) or magnitude(flushed(ty, v)) else five for u, v in zip(*columns)]
        if name == 'sqrt':
            columns[0] = [magnitude(v) or v for v in first]
        single = ty == 'f32'
        flags = itertools.product((False, True), (False, True)) if single and name in ('add', 'sub', 'mul', 'fma', 'mad') else \
            [(False, False), (True, False)] if single else [(False, False)]
        batch = Batch(source, f'{source}_{name}', [(letter, ty, column) for letter, column in zip('abe', columns)])
        for (ftz, sat), mode in itertools.product(flags, MODES):
            expected = []
            for row in zip(*columns):
                operands = [value(ty, flushed(ty, v) if ftz else v) for v in row]
                expected.append(result(ty, mode, *act(mode, *operands), ftz, sat))
            words = [name, mode, 'ftz' * ftz, 'sat' * sat, ty]
            batch.add('.'.join(w for w in words if w) + f' d{width(ty)}, ' + ', '.join('abe'[:count]), ty, expected)
        batch.finish()


def signs():
    """What only looks at the pattern."""
    a, b = numbers('f32'), mixed(numbers('f32'), 3)
    a[9:12] = [0x7f800000, 0xff800000, 0x7f800001]
    c, d = numbers('f64'), mixed(numbers('f64'), 3)
    c[9:12] = [0x7ff << 52, 0xfff << 52, 0x7ff << 52 | 1]
    batch = Batch('singles_f32', 'singles_signs', [('a', 'f32', a), ('b', 'f32', b), ('e', 'f64', c), ('f', 'f64', d)])
    for name, act in ('abs', lambda v: v & ~(1 << 31)), ('neg', lambda v: v ^ 1 << 31):
        # What becomes of a NaN is free.
        batch.add(f'{name}.ftz.f32 d32, a;\n    testp.notanumber.f32 p, a;\n    selp.b32 d32, 7, d32, p', 'f32',
                  [7 if v & 0x7fffffff > 0x7f800000 else act(flushed('f32', v)) for v in a])
    batch.add('copysign.f32 d32, a, b', 'f32', [v & 0x7fffffff | u & 1 << 31 for u, v in zip(a, b)])
    batch.add('copysign.f64 d64, e, f', 'f64', [v & (1 << 63) - 1 | u & 1 << 63 for u, v in zip(c, d)])
    for ty, name, column in ('f32', 'a', a), ('f64', 'e', c):
        smallest, infinity = 1 << LAYOUT[ty][1], (1 << LAYOUT[ty][0]) - 1 << LAYOUT[ty][1]
        # Zeros are normal numbers.
        tests = {'finite': lambda v: v < infinity, 'infinite': lambda v: v == infinity, 'number': lambda v: v <= infinity,
                 'notanumber': lambda v: v > infinity, 'normal': lambda v: v == 0 or smallest <= v < infinity, 'subnormal': lambda v: 0 < v < smallest}
        for test, holds in tests.items():
            batch.add(f'testp.{test}.{ty} p, {name};\n    selp.u32 d32, 1, 0, p', 'u32', [int(holds(v & (1 << width(ty) - 1) - 1)) for v in column])
    batch.finish()


INTEGERS = ['u8', 's8', 'u16', 's16', 'u32', 's32', 'u64', 's64']


# What a conversion between integers and a type may say beside its rounding.
WAYS = {'f32': [('', ''), ('.ftz', ''), ('', '.sat'), ('.ftz', '.sat')], 'bf16': [('', '')]}


def turn(n, ty):
    """Each way with each of the four roundings, over four types."""
    ways = WAYS.get(ty, [('', ''), ('', '.sat')])
    return ways[(n + n // 4) % len(ways)]


def to_integers(ty):
    """Numbers to integers: clamped to their range, rounded in each direction."""
    column = numbers(ty)
    infinity = (1 << LAYOUT[ty][0]) - 1 << LAYOUT[ty][1]
    column[9:13] = [infinity, infinity | 1 << width(ty) - 1, infinity + 1, rounded(ty, 'rn', Fraction(5, 2))]
    column[13:20] = [rounded(ty, 'rn', Fraction(n)) for n in (-300, 300, -33000, 70000 if ty != 'f16' else 60000, 127, Fraction(-257, 2), Fraction(255, 2))]
    batch = Batch('singles_conversions', f'singles_integers_of_{ty}', [('a', ty, column)])
    whole = {'rni': round, 'rzi': math.trunc, 'rmi': math.floor, 'rpi': math.ceil}
    for n, (to, (mode, act)) in enumerate(itertools.product(INTEGERS, whole.items())):
        if ty == 'bf16' and to in ('u8', 's8'):
            continue
        ftz, sat = turn(n, ty)
        low, high = limits(to)
        expected = []
        for v in column:
            number, sign = value(ty, flushed(ty, v) if ftz else v)
            if number != number:
                number = None
            elif isinstance(number, float):
                number = low if sign else high
            else:
                number = max(low, min(high, act(number)))
            expected.append(number)
        # NaN becomes 0, or the least or greatest number of wide types: not asked.
        register = {8: 32, 16: 16}.get(width(to), width(to))
        text = f'cvt.{mode}{ftz}{sat}.{to}.{ty} d{register}, a'
        text += f';\n    setp.nan.{ty} p, a, a;\n    selp.b{register} d{register}, 7, d{register}, p'
        batch.add(text, f'b{register}', [7 if n is None else n & (1 << register) - 1 for n in expected])
    batch.finish()


def whole_numbers(ty, more):
    """Patterns of integers; those of eight bits lie in wide registers, with anything above."""
    bits = width(ty)
    column = fit(bits, [v & (1 << bits) - 1 for v in (*limits(ty), *more)], THREADS)
    return [v | r.bits(24) << 8 for v in column] if bits == 8 else column


def of_integers():
    """Integers to numbers, in each direction."""
    columns = {ty: whole_numbers(ty, [0, 1, limits(ty)[1] - 1, limits(ty)[0] + 1, limits(ty)[1] >> 1]) for ty in INTEGERS}
    for ty in ('f16', 'bf16', 'f32', 'f64'):
        names = {kind: f'{"abefghij"[n]}' for n, kind in enumerate(INTEGERS)}
        batch = Batch('singles_conversions', f'singles_{ty}_of_integers',
                      [(names[kind], 'b32' if width(kind) == 8 else kind, columns[kind]) for kind in INTEGERS])
        for n, (kind, mode) in enumerate(itertools.product(INTEGERS, MODES)):
            if ty == 'bf16' and width(kind) == 8:
                continue
            ftz, sat = turn(n, ty)
            expected = [result(ty, mode, Fraction(wrap(kind, v)), 0, bool(ftz), bool(sat)) for v in columns[kind]]
            batch.add(f'cvt.{mode}{ftz}{sat}.{ty}.{kind} d{width(ty)}, {names[kind]}', ty, expected)
        batch.finish()


def between_integers():
    """Saturation from one type of integers to another."""
    columns = {ty: whole_numbers(ty, [0, 1, 127, 128, -128, -129, 255, 256, 32767, 32768, -32768, 65536, -1]) for ty in INTEGERS}
    names = {kind: f'{"abefghij"[n]}' for n, kind in enumerate(INTEGERS)}
    batch = Batch('singles_conversions', 'singles_saturated', [(names[kind], 'b32' if width(kind) == 8 else kind, columns[kind]) for kind in INTEGERS])
    for to, kind in itertools.product(INTEGERS, INTEGERS):
        (low, high), (least, most) = limits(to), limits(kind)
        if low <= least and most <= high:
            continue
        register = {8: 32}.get(width(to), width(to))
        expected = [max(low, min(high, wrap(kind, v))) for v in columns[kind]]
        batch.add(f'cvt.sat.{to}.{kind} d{register}, {names[kind]}', f'b{register}', expected)
    for ty in ('u8', 's8'):
        low, high = limits(ty)
        packed = [(c & 0xffff) << 16 | (max(low, min(high, wrap('s32', a))) & 255) << 8 | max(low, min(high, wrap('s32', b))) & 255
                  for a, b, c in zip(columns['s32'], mixed(columns['s32'], 3), columns['u32'])]
        batch.inputs += [('w', 'b32', mixed(columns['s32'], 3))] if ty == 'u8' else []
        batch.add(f"cvt.pack.sat.{ty}.s32.b32 d32, {names['s32']}, w, {names['u32']}", 'u32', packed)
    low, high = -8, 7
    eighth = [((c << 8) & M32) | (max(low, min(high, wrap('s32', a))) & 15) << 4 | max(low, min(high, wrap('s32', b))) & 15
              for a, b, c in zip(columns['s32'], mixed(columns['s32'], 3), columns['u32'])]
    batch.add(f"cvt.pack.sat.s4.s32.b32 d32, {names['s32']}, w, {names['u32']}", 'u32', eighth)
    batch.finish()


# A factor, and the bits of the least normal single times it.
TWICE, SMALLEST = 1 << 64, 1 + 64 << 23
# What a conversion among floating types may say.
BETWEEN = [('f64', 'f32', [''], True, True), ('f32', 'f16', [''], True, True), ('f64', 'f16', [''], False, True), ('f16', 'f32', MODES, True, True),
           ('f32', 'bf16', ['', *MODES], True, False), ('f64', 'bf16', ['', *MODES], False, False), ('f16', 'bf16', MODES, False, False),
           ('bf16', 'f16', MODES, False, False), ('bf16', 'f64', MODES, False, False), ('f16', 'f64', MODES, False, True), ('f32', 'f64', MODES, True, True)]
WHOLE = [('f16', False), ('f32', True), ('f64', False)]


def between_floats():
    columns = {ty: numbers(ty) for ty in LAYOUT}
    names = {'f16': 'a', 'bf16': 'b', 'f32': 'e', 'f64': 'f'}
    near = [rounded('f64', 'rn', value('f32', v)[0] * (1 + Fraction(n - 16, 1 << 28))) for n, v in enumerate(columns['f32'])]
    columns['f64'] = near[:16] + columns['f64'][16:]
    columns['f32'] = columns['f32'][:20] + [rounded('f32', 'rn', value('f16', v)[0] * (1 + Fraction(n - 16, 1 << 13)))
                                            for n, v in enumerate(columns['f16'])][20:]
    batch = Batch('singles_conversions', 'singles_between_floats', [(names[ty], ty, columns[ty]) for ty in LAYOUT])
    for to, ty, modes, ftzs, sats in BETWEEN:
        for mode, ftz, sat in itertools.product(modes, (False, True)[:1 + ftzs], (False, True)[:1 + sats]):
            flush = lambda kind, bits: flushed(kind, bits) if ftz and kind == 'f32' else bits
            expected = []
            for v in columns[ty]:
                number, sign = value(ty, flush(ty, v))
                bits = flush(to, rounded(to, mode or 'rn', number, sign))
                # Whether a number is small enough for a zero is asked as if exponents had no bounds.
                if ftz and to == 'f32' and abs(number) * TWICE < Fraction(2) ** -62 and rounded(to, mode, number * TWICE) & M32 >> 1 < SMALLEST:
                    bits = sign << 31
                expected.append(result(to, 'rn', *value(to, bits), False, sat))
            words = ['cvt', mode, 'ftz' * ftz, 'sat' * sat, to, ty]
            batch.add('.'.join(w for w in words if w) + f' d{width(to)}, {names[ty]}', to, expected)
    steps = {'rni': round, 'rzi': math.trunc, 'rmi': math.floor, 'rpi': math.ceil}
    for (ty, ftzs), (mode, act), sat in itertools.product(WHOLE, steps.items(), (False, True)):
        for ftz in (False, True)[:1 + ftzs]:
            expected = []
            for v in columns[ty]:
                number, sign = value(ty, flushed(ty, v) if ftz else v)
                expected.append(result(ty, 'rn', Fraction(act(number)), sign, False, sat))
            words = ['cvt', mode, 'ftz' * ftz, 'sat' * sat, ty, ty]
            batch.add('.'.join(w for w in words if w) + f' d{width(ty)}, {names[ty]}', ty, expected)
    batch.finish()


COMBINE = {'and': lambda t, c: t & c, 'or': lambda t, c: t | c, 'xor': lambda t, c: t ^ c}


def compared(ty):
    """Every comparison, alone and combined, its result and the opposite; of two halves, one result for each."""
    half = ty.removesuffix('x2')
    floating = half in LAYOUT
    bits = width(half)

    def column(step):
        if not floating:
            return mixed(fit(bits, [0, 1, (1 << bits - 1) - 1, 1 << bits - 1, (1 << bits) - 1, 5, 6], THREADS), step)
        found = numbers(half)
        infinity = (1 << LAYOUT[half][0]) - 1 << LAYOUT[half][1]
        found[9:12] = [infinity, infinity | 1 << bits - 1, infinity + 3]
        return mixed(found, step)

    first, second = column(1), column(3)
    second = [u if n % 5 == 0 else v for n, (u, v) in enumerate(zip(first, second))]
    highs = mixed(first, 7), mixed(second, 9)
    joined = [[low | high << 16 for low, high in zip(*pair)] for pair in zip((first, second), highs)] if ty != half else [first, second]
    tests = FLOATING if floating else UNSIGNED if ty[0] == 'u' else {k: INTEGER[k] for k in ('eq', 'ne')} if ty[0] == 'b' else INTEGER
    batch = Batch('singles_compared', f'singles_compared_{ty}', [('a', ty, joined[0]), ('b', ty, joined[1])])

    def number(v, ftz):
        if not floating:
            return wrap(ty if ty[0] == 's' else f'u{bits}', v)
        return value(half, flushed(half, v) if ftz else v)[0]

    ways = itertools.cycle(['', *COMBINE]), itertools.cycle(['z', '!z', 'z']), itertools.cycle((False, False, True))
    has_ftz, alone = half in ('f32', 'f16'), ty in ('f16', 'bf16')
    for name, _ in itertools.product(tests, range(4)):
        combine, given, ftz = (next(way) for way in ways)
        ftz = ftz and has_ftz
        one = lambda u, v, t: bool(tests[name](number(u, ftz), number(v, ftz)))
        also = lambda holds, t: COMBINE[combine](holds, bool(t & 1) ^ (given == '!z')) if combine else holds
        pair = not alone
        expected = []
        for t in range(THREADS):
            holds = one(first[t], second[t], t)
            if ty != half:
                expected.append(also(holds, t) + 2 * also(one(highs[0][t], highs[1][t], t), t))
            else:
                expected.append(also(holds, t) + 2 * also(not holds, t) * pair)
        words = ['setp', name, combine, 'ftz' * ftz, ty]
        text = '.'.join(w for w in words if w) + f' p{"|q" * pair}, a, b' + (f', {given}' if combine else '')
        text += ';\n    selp.u32 d32, 1, 0, p'
        text += ';\n    selp.u32 c, 2, 0, q;\n    add.u32 d32, d32, c' if pair else ''
        batch.add(text, 'u32', [int(v) for v in expected])
    batch.finish()


def prmt(mode, a, b, c):
    data = a | b << 32
    byte = lambda n: data >> 8 * (n & 7) & 255
    c &= 3
    chosen = {'f4e': [c, c + 1, c + 2, c + 3], 'b4e': [c, c - 1, c - 2, c - 3], 'rc8': [c] * 4, 'ecl': [max(n, c) for n in range(4)],
              'ecr': [min(n, c) for n in range(4)], 'rc16': [2 * (c & 1), 2 * (c & 1) + 1] * 2}[mode]
    return sum(byte(n % 8) << 8 * at for at, n in enumerate(chosen))


def integers():
    """Saturation, carries, parts of products, sums of differences."""
    edges = lambda bits: [0, 1, (1 << bits - 1) - 1, 1 << bits - 1, (1 << bits) - 1, 3]
    columns = {bits: [mixed(fit(bits, edges(bits), THREADS), step) for step in (1, 3, 7)] for bits in (16, 32, 64)}
    names = {16: ['ah', 'bh', 'eh'], 32: ['aw', 'bw', 'ew'], 64: ['al', 'bl', 'el']}
    inputs = [(name, f'b{bits}', column) for bits in columns for name, column in zip(names[bits], columns[bits])]
    batch = Batch('singles_integers', 'singles_integers', inputs)

    def add(text, ty, act, to=None):
        bits = width(ty)
        rows = [[wrap(ty, v) for v in row] for row in zip(*columns[bits])]
        a, b, e = names[bits]
        to = to or ty
        batch.add(text.format(d=f'd{width(to)}', a=a, b=b, e=e), to, [act(*row) for row in rows])

    clamp = lambda v: max(-1 << 31, min((1 << 31) - 1, v))
    add('add.sat.s32 {d}, {a}, {b}', 's32', lambda a, b, e: clamp(a + b))
    add('sub.sat.s32 {d}, {a}, {b}', 's32', lambda a, b, e: clamp(a - b))
    add('mad.hi.sat.s32 {d}, {a}, {b}, {e}', 's32', lambda a, b, e: clamp((a * b >> 32) + e))
    cut = {'u32': lambda v: v & 0xffffff, 's32': lambda v: (v & 0xffffff ^ 1 << 23) - (1 << 23)}
    for ty, part in itertools.product(cut, ('lo', 'hi')):
        shift = 16 if part == 'hi' else 0
        add(f'mul24.{part}.{ty} {{d}}, {{a}}, {{b}}', ty, lambda a, b, e: cut[ty](a) * cut[ty](b) >> shift)
        add(f'mad24.{part}.{ty} {{d}}, {{a}}, {{b}}, {{e}}', ty, lambda a, b, e: (cut[ty](a) * cut[ty](b) >> shift) + e)
    for ty in ('u16', 's16', 'u32', 's32', 'u64', 's64'):
        bits = width(ty)
        add(f'add.{ty} {{d}}, {{a}}, {{b}}', ty, lambda a, b, e: a + b)
        add(f'sub.{ty} {{d}}, {{a}}, {{b}}', ty, lambda a, b, e: a - b)
        add(f'sad.{ty} {{d}}, {{a}}, {{b}}, {{e}}', ty, lambda a, b, e: abs(a - b) + e)
        for part, shift in ('lo', 0), ('hi', bits):
            add(f'mul.{part}.{ty} {{d}}, {{a}}, {{b}}', ty, lambda a, b, e: a * b >> shift)
            add(f'mad.{part}.{ty} {{d}}, {{a}}, {{b}}, {{e}}', ty, lambda a, b, e: (a * b >> shift) + e)
        if bits < 64:
            wide = f'{ty[0]}{2 * bits}'
            add(f'mul.wide.{ty} {{d}}, {{a}}, {{b}}', ty, lambda a, b, e: a * b, wide)
            sums = names[2 * bits][0]
            given = columns[2 * bits][0]
            batch.add(f'mad.wide.{ty} d{2 * bits}, {names[bits][0]}, {names[bits][1]}, {sums}', wide,
                      [wrap(ty, a) * wrap(ty, b) + e for a, b, e in zip(*columns[bits][:2], given)])
        if ty[0] == 's':
            add(f'abs.{ty} {{d}}, {{a}}', ty, lambda a, b, e: abs(a))
    carries(add)
    for ty in ('u16', 's16'):
        rows = list(zip(*columns[16][:2], *columns[32][:2]))
        batch.add(f'add.cc.u32 d32, aw, bw;\n    addc.{ty} d16, ah, bh', ty, [a + b + (c + d >> 32) for a, b, c, d in rows])
        batch.add(f'sub.cc.u32 d32, aw, bw;\n    subc.{ty} d16, ah, bh', ty, [a - b - (c < d) for a, b, c, d in rows])
    add('popc.b64 d32, {a}', 'u64', lambda a, b, e: a.bit_count(), 'u32')
    add('not.b64 {d}, {a}', 'u64', lambda a, b, e: ~a)
    lanes = lambda kind, act: lambda a, b, e: sum((act(wrap(kind, a >> n), wrap(kind, b >> n)) & 0xffff) << n for n in (0, 16))
    for kind, (name, act) in itertools.product(('u16', 's16'), (('max', max), ('min', min))):
        add(f'{name}.{kind}x2 {{d}}, {{a}}, {{b}}', 'u32', lanes(kind, act))
    for mode in ('clamp', 'wrap'):
        def mask(a, b, e):
            # Where a mask begins, and how many bits it has.
            first, count = a % 41, b % 37
            if mode == 'wrap':
                first, count = first & 31, count & 31
            return ((1 << min(count, 32)) - 1 << first) & M32 if first < 32 else 0
        add(f'rem.u32 c, {{a}}, 41;\n    rem.u32 d32, {{b}}, 37;\n    bmsk.{mode}.b32 {{d}}, c, d32', 'u32', mask)
    for mode in ('f4e', 'b4e', 'rc8', 'ecl', 'ecr', 'rc16'):
        add(f'prmt.b32.{mode} {{d}}, {{a}}, {{b}}, {{e}}', 'u32', lambda a, b, e: prmt(mode, a, b, e))
    moves(batch, columns)
    batch.finish()


def carries(add):
    """A carry is made, used, and handed on."""
    for ty in ('u32', 's32', 'u64', 's64'):
        bits = width(ty)
        whole = lambda v: v & (1 << bits) - 1
        carry = lambda a, b: whole(a) + whole(b) >> bits
        for part, shift in ('lo', 0), ('hi', bits):
            low = lambda a, b, e, shift=shift: whole(a * b >> shift)
            add(f'add.cc.{ty} {{d}}, {{a}}, {{b}};\n    madc.{part}.cc.{ty} {{d}}, {{a}}, {{b}}, {{e}};\n    addc.{ty} {{d}}, {{d}}, {{a}}', ty,
                lambda a, b, e, low=low: low(a, b, e) + whole(e) + carry(a, b) + a + (low(a, b, e) + whole(e) + carry(a, b) >> bits))
            add(f'mad.{part}.cc.{ty} {{d}}, {{a}}, {{b}}, {{e}};\n    addc.cc.{ty} {{d}}, {{d}}, {{b}};\n    madc.{part}.{ty} {{d}}, {{d}}, {{e}}, {{a}}', ty,
                lambda a, b, e, low=low: chained(whole, wrap, ty, low, a, b, e, bits))
        add(f'sub.cc.{ty} {{d}}, {{a}}, {{b}};\n    subc.cc.{ty} {{d}}, {{d}}, {{e}};\n    subc.{ty} {{d}}, {{d}}, {{a}}', ty,
            lambda a, b, e: borrowed(whole, a, b, e))


def chained(whole, wrapped, ty, low, a, b, e, bits):
    total = low(a, b, e) + whole(e)
    second = whole(total) + whole(b) + (total >> bits)
    product = low(wrapped(ty, second), e, 0)
    return product + a + (second >> bits)


def borrowed(whole, a, b, e):
    first = whole(a - b)
    borrow = whole(a) < whole(b)
    second = whole(first - e - borrow)
    return second - a - (first < whole(e) + borrow)


def moves(batch, columns):
    """Vectors of registers, element by element."""
    for ty in ('b16', 'u16', 's16', 'b32', 'u32', 's32', 'b64', 'u64', 's64'):
        bits = width(ty)
        letter = {16: 'h', 32: 'w', 64: 'l'}[bits]
        # Vectors of 256 bits are none.
        second = f'.reg .v4 .{ty} y_{ty};\n    mov.v4.{ty} y_{ty}, {{x_{ty}.y, e{letter}, x_{ty}.x, x_{ty}.x}}' if bits < 64 else \
            f'.reg .v2 .{ty} y_{ty};\n    mov.v2.{ty} y_{ty}, {{x_{ty}.y, e{letter}}}'
        batch.add(f'.reg .v2 .{ty} x_{ty};\n    mov.v2.{ty} x_{ty}, {{a{letter}, b{letter}}};\n    {second};\n'
                  f'    xor.b{bits} d{bits}, y_{ty}.x, y_{ty}.y;\n    and.b{bits} d{bits}, d{bits}, x_{ty}.x', ty,
                  [(b ^ e) & a for a, b, e in zip(*columns[bits])])


def single(bits):
    return float(value('f32', bits)[0])


# Approximations of singles: what is computed, of which numbers, and the error that the PTX manual allows.
NEAR = lambda: [rounded('f32', 'rn', Fraction(r.real(-3.1, 3.1))) for _ in range(THREADS)]
ABOVE = lambda: [v & M32 >> 1 for v in numbers('f32')[3:] + [0x3f800000, 0x40800000, 0x00800000]]
APPROXIMATED = [
    ('rcp.approx.f32', ABOVE, lambda x: 1 / x, dict(ulp=1)), ('rcp.approx.ftz.f32', ABOVE, lambda x: 1 / x, dict(ulp=1)),
    ('sqrt.approx.f32', ABOVE, math.sqrt, dict(rel=2 ** -22.9)), ('sqrt.approx.ftz.f32', ABOVE, math.sqrt, dict(rel=2 ** -22.9)),
    ('rsqrt.approx.f32', ABOVE, lambda x: 1 / math.sqrt(x), dict(rel=2 ** -22.9)),
    ('rsqrt.approx.ftz.f32', ABOVE, lambda x: 1 / math.sqrt(x), dict(rel=2 ** -22.9)),
    ('lg2.approx.ftz.f32', ABOVE, math.log2, dict(abs=2 ** -22, ulp=2)), ('sin.approx.f32', NEAR, math.sin, dict(abs=2 ** -20.5)),
    ('sin.approx.ftz.f32', NEAR, math.sin, dict(abs=2 ** -20.5)), ('cos.approx.f32', NEAR, math.cos, dict(abs=2 ** -20.5)),
    ('cos.approx.ftz.f32', NEAR, math.cos, dict(abs=2 ** -20.5)), ('tanh.approx.f32', NEAR, math.tanh, dict(rel=2 ** -10.9)),
    ('div.full.f32', NEAR, lambda x: 3 / x, dict(ulp=2)), ('div.full.ftz.f32', NEAR, lambda x: 3 / x, dict(ulp=2)),
    ('div.approx.f32', NEAR, lambda x: 3 / x, dict(ulp=2)), ('div.approx.ftz.f32', NEAR, lambda x: 3 / x, dict(ulp=2)),
]


def approximations():
    """Each function has its numbers, its results and its tolerance."""
    arguments, lines, parameters = [], [], []
    for n, (name, draw, act, within) in enumerate(APPROXIMATED):
        given = draw()
        seen = [flushed('f32', v) if '.ftz' in name else v for v in given]
        zero = {'rcp': math.inf, 'rsq': math.inf, 'sqr': 0.0, 'lg2': -math.inf}
        expected = [zero[name[:3]] if single(v) == 0 else act(single(v)) for v in seen]
        rounds = [rounded('f32', 'rn', Fraction(v) if math.isfinite(v) else v) for v in expected]
        rounds = [flushed('f32', v) if '.ftz' in name else v for v in rounds]
        arguments += [Given('u32', given), Result('f32', [single(v) for v in rounds], **within)]
        parameters += [f'.param .u64 x{n}', f'.param .u64 y{n}']
        lines += [f'ld.param.u64 at, [x{n}];', 'mad.wide.u32 at, t, 4, at;', 'ld.global.f32 x, [at];',
                  f'mov.f32 y, 0f40400000;\n    {name} x, y, x;' if name[:3] == 'div' else f'{name} x, x;', f'ld.param.u64 at, [y{n}];', 'mad.wide.u32 at, t, 4, at;', 'st.global.f32 [at], x;']
    head = ['.reg .b64 at;', '.reg .b32 t;', '.reg .f32 x, y;', 'mov.u32 t, %tid.x;']
    FILES['singles_f32'].append(f'\n.visible .entry singles_approximated({", ".join(parameters)})\n{{\n'
                                + ''.join(f'    {line}\n' for line in [*head, *lines, 'ret;']) + '}\n')
    case('singles_approximated', 'singles_f32', [1], [THREADS], arguments)


for kind in ('f32', 'f64'):
    arithmetic(kind)
signs()
approximations()
for kind in LAYOUT:
    to_integers(kind)
of_integers()
between_integers()
between_floats()
for kind in ('s16', 's32', 's64', 'u16', 'u32', 'u64', 'b16', 'b32', 'b64', 'f16', 'bf16', 'f16x2', 'bf16x2', 'f32', 'f64'):
    compared(kind)
integers()


def write_ptx():
    for source, kernels in FILES.items():
        with open(os.path.join(record.ROOT, source + '.ptx'), 'w') as out:
            out.write('// Written by tools/kernels/singles.py: single instructions in all the words of their forms.\n'
                      '.version 8.6\n.target sm_90\n.address_size 64\n' + ''.join(kernels))
