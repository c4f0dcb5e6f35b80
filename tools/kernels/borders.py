"""Kernels that divide and take roots near the borders of the formats, in every rounding mode and neighbours of all classes.

Zero, infinity, subnormal numbers, results that are subnormal, exactly halfway or too large: neighbouring lanes go
different ways through a slow path, then exchange words. Expected bits come from integers."""
import math
import os

import record
from record import Given, Random, Result, case

HEAD = '// Written by tools/kernels/borders.py: divisions, reciprocals and roots near the borders of the formats.\n.version 8.6\n.target sm_90\n.address_size 64\n'
THREADS = 64
ROUNDS = 4
# Bits of the significand, and exponent of the least normal number.
FORMATS = {'f32': (24, -126), 'f64': (53, -1022)}
OPERATIONS = {'div': 2, 'rcp': 1, 'sqrt': 1}
MODES = {'f32': ('rn', 'rz', 'rm', 'rp', 'rn.ftz'), 'f64': ('rn', 'rz', 'rm', 'rp')}


def kernel(operation, kind):
    """Each thread takes one pair of operands a round, and leaves a result for each mode, mixed with its neighbour's."""
    size, modes = int(kind[1:]) // 8, MODES[kind]
    second = ', b' if OPERATIONS[operation] == 2 else ''
    text = f'''
.visible .entry borders_{operation}_{kind}(.param .u64 left, .param .u64 right, .param .u64 out)
{{
    .reg .pred more;
    .reg .b32 t, i, at, word, high, other;
    .reg .b64 left_at, right_at, out_at, from, wide;
    .reg .{kind} a, b, x;
    mov.u32 t, %tid.x;
    ld.param.u64 left_at, [left];
    ld.param.u64 right_at, [right];
    ld.param.u64 out_at, [out];
    mov.u32 i, 0;
round:
    mad.lo.u32 at, i, {THREADS}, t;
    mad.wide.u32 from, at, {size}, left_at;
    ld.global.{kind} a, [from];
    mad.wide.u32 from, at, {size}, right_at;
    ld.global.{kind} b, [from];
    mad.wide.u32 from, at, {size * len(modes)}, out_at;
'''
    for place, mode in enumerate(modes):
        text += f'    {operation}.{mode}.{kind} x, a{second};\n'
        if kind == 'f32':
            text += '    mov.b32 word, x;\n    shfl.sync.bfly.b32 other, word, 1, 31, 0xffffffff;\n    xor.b32 word, word, other;\n'
            text += f'    st.global.u32 [from+{size * place}], word;\n'
        else:
            text += '    mov.b64 {word, high}, x;\n    shfl.sync.bfly.b32 other, high, 1, 31, 0xffffffff;\n    xor.b32 word, word, other;\n'
            text += f'    mov.b64 wide, {{word, high}};\n    st.global.u64 [from+{size * place}], wide;\n'
    return text + f'    add.u32 i, i, 1;\n    setp.lt.u32 more, i, {ROUNDS};\n    @more bra round;\n    ret;\n}}\n'


def write_ptx():
    """Writes the PTX of all kernels."""
    kernels = [kernel(operation, kind) for kind in FORMATS for operation in OPERATIONS]
    open(os.path.join(record.ROOT, 'borders.ptx'), 'w').write(HEAD + ''.join(kernels))


def parts(bits, kind):
    """Sign, integer significand and exponent of a finite number."""
    precision, least = FORMATS[kind]
    width = int(kind[1:])
    field, fraction = bits >> (precision - 1) & (1 << width - precision) - 1, bits & (1 << precision - 1) - 1
    significand = fraction | (1 << precision - 1 if field else 0)
    return bits >> width - 1, significand, max(field, 1) - 1 + least - precision + 1


def round_to(sign, whole, rest, exponent, mode, kind):
    """The number `whole * 2^exponent`, and more if there is a rest, rounded. `whole` has two bits to spare."""
    precision, least = FORMATS[kind]
    width = int(kind[1:])
    infinity = (1 << width - 1) - (1 << precision - 1)
    top = max(whole.bit_length() + exponent - 1, least)
    shift = top - precision + 1 - exponent
    kept, lost = whole >> shift, (whole & (1 << shift) - 1) * 2 + (1 if rest else 0)
    half = 1 << shift
    up = {'rn': lost > half or lost == half and kept & 1, 'rz': False, 'rm': sign and lost, 'rp': not sign and lost}[mode]
    bits = kept + (1 if up else 0) + (top - least << precision - 1)
    if bits >= infinity:
        bits = infinity if mode == 'rn' or up or (mode, sign) in (('rm', 1), ('rp', 0)) else infinity - 1
    return sign << width - 1 | bits


def flushed(bits, kind):
    return bits if parts(bits, kind)[1] >> FORMATS[kind][0] - 1 else bits & 1 << int(kind[1:]) - 1


def divided(a, b, mode, kind):
    """The bits of a quotient; none for NaN."""
    width, (precision, _) = int(kind[1:]), FORMATS[kind]
    infinity, sign_bit = (1 << width - 1) - (1 << precision - 1), 1 << width - 1
    sign = (a ^ b) & sign_bit
    x, y = a & ~sign_bit, b & ~sign_bit
    if max(x, y) > infinity or x == y and x in (0, infinity):
        return None
    if x == infinity or y == 0:
        return sign | infinity
    if x == 0 or y == infinity:
        return sign
    (_, m, e), (_, n, f) = parts(x, kind), parts(y, kind)
    spare = 1400
    return round_to(sign >> width - 1, (m << spare) // n, (m << spare) % n, e - f - spare, mode, kind)


def root(a, mode, kind):
    """The bits of a root; none for NaN."""
    width, (precision, _) = int(kind[1:]), FORMATS[kind]
    infinity, sign_bit = (1 << width - 1) - (1 << precision - 1), 1 << width - 1
    if a in (0, sign_bit, infinity):
        return a
    if a > infinity:
        return None
    _, m, e = parts(a, kind)
    spare = 700 + (e & 1)
    square = m << 2 * spare - (e & 1)
    whole = math.isqrt(square)
    return round_to(0, whole, whole * whole != square, (e + (e & 1)) // 2 - spare, mode, kind)


def result(operation, a, b, mode, kind):
    flushes, mode = mode.endswith('.ftz'), mode[:2]
    if flushes:
        a, b = flushed(a, kind), flushed(b, kind)
    width, (precision, _) = int(kind[1:]), FORMATS[kind]
    one = (1 << width - 2) - (1 << precision - 1)
    bits = {'div': lambda: divided(a, b, mode, kind), 'rcp': lambda: divided(one, a, mode, kind), 'sqrt': lambda: root(a, mode, kind)}[operation]()
    if bits is None:
        return (1 << width - 1) - 1
    return flushed(bits, kind) if flushes else bits


def operand(r, kind):
    """A number of any class; of the finite ones every third has few bits."""
    width, (precision, _) = int(kind[1:]), FORMATS[kind]
    most = (1 << width - precision) - 1
    field = (0, most, 0, r.between(1, 60), most - 1 - r.between(0, 4), r.between(1, most - 1), most >> 1)[r.between(0, 6)]
    fraction = r.bits(precision - 1)
    fraction = (0, fraction >> precision - 4 << precision - 4, fraction, fraction)[r.between(0, 3)]
    if field == most:
        fraction = 0
    return r.bits(1) << width - 1 | field << precision - 1 | fraction


def operands(r, operation, kind):
    """A pair that gives numbers in each mode; NaN only where all its bits are known, in f32."""
    width, (precision, least) = int(kind[1:]), FORMATS[kind]
    while True:
        a, b = operand(r, kind), operand(r, kind)
        if r.between(0, 2) == 0:
            # The quotient is near the border of subnormals, or of infinity.
            field = (b >> precision - 1) & (1 << width - precision) - 1
            to = field + (least - r.between(-3, precision + 2), 1 - least - r.between(-2, 2))[r.bits(1)]
            if 0 < to < (1 << width - precision) - 1:
                a = a & ~((1 << width - precision) - 1 << precision - 1) | to << precision - 1
        if operation == 'sqrt' and r.between(0, 3):
            a &= ~(1 << width - 1)
        if kind == 'f32' or all(result(operation, a, b, mode, kind) != (1 << width - 1) - 1 for mode in MODES[kind]):
            return a, b


def add_case(r, operation, kind):
    count, modes, unsigned = THREADS * ROUNDS, MODES[kind], 'u' + kind[1:]
    pairs = [operands(r, operation, kind) for _ in range(count)]
    after = []
    for at, (a, b) in enumerate(pairs):
        c, d = pairs[at ^ 1]
        for mode in modes:
            own, other = result(operation, a, b, mode, kind), result(operation, c, d, mode, kind)
            after.append(own ^ (other if kind == 'f32' else other >> 32))
    left, right = zip(*pairs)
    case(f'borders_{operation}_{kind}', 'borders', [1], [THREADS], [Given(unsigned, left), Given(unsigned, right), Result(unsigned, after)])


random = Random(149)
for kind in FORMATS:
    for operation in OPERATIONS:
        add_case(random, operation, kind)
