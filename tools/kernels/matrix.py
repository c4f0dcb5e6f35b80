"""Kernels of matrix instructions that a warp executes: products of every type and shape, and moves of small matrices.

The sums of floating products are those of the published model of the matrix units (arXiv 2511.10909), over exact
fractions. Data of the kernels but one keep every sum exact, so that they give the same on every chip."""
import functools
import os
from fractions import Fraction

import record
from record import Given, Random, Result, case

M32 = (1 << 32) - 1
HEAD = '// Written by tools/kernels/matrix.py: products of matrices that a warp holds, and moves of small ones.\n.version 9.0\n.target sm_90\n.address_size 64\n'
# What every chip that is compiled for has, what came with products of 8-bit numbers, and what came last.
COMMON, NARROW, NEW = 'matrix', 'matrix_fp8', 'matrix_sm90'
LANES = range(32)

# Name, bits of the exponent, bits of the fraction, whether there are infinities.
FORMATS = {'f16': (5, 10, True), 'bf16': (8, 7, True), 'tf32': (8, 10, True), 'f32': (8, 23, True),
           'e4m3': (4, 3, False), 'e5m2': (5, 2, True)}
WIDTH = {'f16': 16, 'bf16': 16, 'tf32': 32, 'f32': 32, 'f64': 64, 'e4m3': 8, 'e5m2': 8, 's8': 8, 'u8': 8, 's4': 4,
         'u4': 4, 'b1': 1, 's32': 32}


@functools.cache
def decode(ty, bits):
    """Value and exponent of a finite number; infinities and what is no number as floats."""
    exponent_bits, fraction_bits, infinities = FORMATS[ty]
    if ty == 'tf32':
        bits >>= 13
    fraction = bits & (1 << fraction_bits) - 1
    biased = bits >> fraction_bits & (1 << exponent_bits) - 1
    sign = -1 if bits >> fraction_bits + exponent_bits & 1 else 1
    bias = (1 << exponent_bits - 1) - 1
    if biased == (1 << exponent_bits) - 1 and infinities:
        return (float('nan') if fraction else sign * float('inf')), 0
    if not infinities and bits & 0x7f == 0x7f:
        return float('nan'), 0
    if biased == 0:
        if fraction == 0:
            return Fraction(0), -126
        return sign * Fraction(fraction, 1 << fraction_bits) * Fraction(2) ** (1 - bias), 1 - bias
    return sign * (1 + Fraction(fraction, 1 << fraction_bits)) * Fraction(2) ** (biased - bias), biased - bias


def encode(ty, value, nearest):
    """The bits of a fraction, rounded to nearest even or toward zero; beyond the range, infinity. What is no finite number
    comes as a float."""
    exponent_bits, fraction_bits, _ = FORMATS[ty]
    bias = (1 << exponent_bits - 1) - 1
    infinity = (1 << exponent_bits) - 1 << fraction_bits
    if isinstance(value, float):
        return infinity | (1 << fraction_bits) - 1 if value != value else infinity | (value < 0) << exponent_bits + fraction_bits
    sign = 1 << exponent_bits + fraction_bits if value < 0 else 0
    value = abs(value)
    if value == 0:
        return sign
    # The power of two below the value; one less if the numerator's first bits are those of a smaller number.
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    exponent = max(exponent - (value < Fraction(2) ** exponent), 1 - bias)
    scaled = value / Fraction(2) ** (exponent - fraction_bits)
    whole = scaled.numerator // scaled.denominator
    rest = scaled - whole
    if nearest and (rest > Fraction(1, 2) or rest == Fraction(1, 2) and whole & 1):
        whole += 1
    bits = whole + (exponent + bias - 1 << fraction_bits) if whole >> fraction_bits else whole
    return sign | min(bits, infinity)


def step(ty, products, c, fraction_bits=25):
    """A sum of products and `c`, as the matrix unit of sm_90 makes it: 25 bits below the greatest exponent, if not less."""
    terms = products + [decode(ty, c)]
    special = [v for v, _ in terms if isinstance(v, float)]
    if special:
        return encode(ty, sum(special), True)
    lowest = Fraction(2) ** (max(e for _, e in terms) - fraction_bits)
    cut = lambda v: (abs(v) / lowest).__floor__() * (1 if v >= 0 else -1)
    return encode(ty, sum(cut(v) for v, _ in terms) * lowest, ty == 'f16')


def times(a, b):
    (x, p), (y, q) = a, b
    if isinstance(x, float) or isinstance(y, float):
        sign = lambda v: (v > 0) - (v < 0)
        product = float(sign(x)) * sign(y) if x == x and y == y else float('nan')
        return (product * float('inf') if product == product else product), 0
    return x * y, p + q


def dot(form, a, b, c):
    """A row times a column plus `c`, all as bits."""
    d, left, right = form['d'], form['a'], form['b']
    if d == 's32' and left == 'b1':
        count = sum(x ^ y if form['xor'] else x & y for x, y in zip(a, b))
        return c + count & M32
    if d == 's32':
        signed = lambda ty, v: v - (1 << WIDTH[ty]) if ty[0] == 's' and v >> WIDTH[ty] - 1 else v
        total = sum(signed(left, x) * signed(right, y) for x, y in zip(a, b)) + signed('s32', c)
        if form['sat']:
            total = max(-1 << 31, min((1 << 31) - 1, total))
        return total & M32
    if left in ('e4m3', 'e5m2'):
        # They become halves: the lower two of every four first, then the upper two, and `c` at the end.
        total = 0
        for first in (0, 2):
            chosen = [k for k in range(len(a)) if k % 4 in (first, first + 1)]
            products = [times(as_half(left, a[k]), as_half(right, b[k])) for k in chosen]
            total = step(d, products, total)
        return encode(d, decode(d, c)[0] + decode(d, total)[0], True)
    return step(d, [times(decode(left, x), decode(right, y)) for x, y in zip(a, b)], c)


@functools.cache
def as_half(ty, bits):
    """An 8-bit number as the half that it becomes."""
    value = decode(ty, bits)[0]
    return (value, 0) if isinstance(value, float) else decode('f16', encode('f16', value, True))


def place_factor(lines, bits, lane, register, part):
    """Line and place in the line of a part of a register."""
    packed = max(32 // bits, 1)
    return lane // 4 + 8 * (register % (lines // 8)), (register // (lines // 8) * 4 + lane % 4) * packed + part


def place_sum(bits, lane, register, part):
    packed = max(32 // bits, 1)
    element = register * packed + part
    return lane // 4 + 8 * (element // 2), lane % 4 * 2 + element % 2


def fragment(bits, lines, length, place, matrix):
    """Registers of every lane, of 32 bits or of 64 for doubles."""
    packed = max(32 // bits, 1)
    count = lines * length // 32 // packed
    lanes = []
    for lane in LANES:
        registers = []
        for register in range(count):
            value = 0
            for part in range(packed):
                line, at = place(lane, register, part)
                value |= matrix[line][at] << part * bits
            registers.append(value)
        lanes.append(registers)
    return lanes


def counts(form):
    m, n, k = form['shape']
    word = lambda ty: max(WIDTH[ty], 32)
    return (m * n * WIDTH[form['d']] // 32 // word(form['d']), m * k * WIDTH[form['a']] // 32 // word(form['a']),
            n * k * WIDTH[form['b']] // 32 // word(form['b']))


def draw(r, ty, hard):
    """An element: small and exact, or anything."""
    if ty in ('s8', 'u8', 's4', 'u4', 'b1'):
        return r.bits(WIDTH[ty])
    if ty == 's32':
        return r.bits(32) if r.below(3) else (0x7fffffff - r.below(999) if r.below(2) else 0x80000000 + r.below(999))
    if hard:
        if r.below(40) == 0:
            return r.bits(WIDTH[ty])
        _, fraction_bits, _ = FORMATS[ty]
        bias = (1 << FORMATS[ty][0] - 1) - 1
        sign = r.bits(1) << WIDTH[ty] - 1
        shift = WIDTH[ty] - 1 - FORMATS[ty][0]
        return sign | bias + r.between(-6, 6) << shift | r.bits(fraction_bits) << shift - fraction_bits
    value = Fraction(r.between(-6, 6), 2)
    if ty == 'tf32':
        return encode('f32', value, True)
    return encode(ty, value, True)


def form(name, shape, d, a, b, **more):
    return {'name': name, 'shape': shape, 'd': d, 'a': a, 'b': b, 'xor': False, 'sat': False, **more}


def spelled(f):
    m, n, k = f['shape']
    sat = '.satfinite' if f['sat'] else ''
    tail = ('.xor' if f['xor'] else '.and') + '.popc' if f['a'] == 'b1' else ''
    return f"mma.sync.aligned.m{m}n{n}k{k}.row.col{sat}.{f['d']}.{f['a']}.{f['b']}.{f['d']}{tail}"


def kernel(name, forms):
    """Loads the fragments of each form one behind the other, and stores the results so."""
    text = f'''
.visible .entry {name}(.param .u64 data, .param .u64 out)
{{
    .reg .b32 t, x<16>, d<4>;
    .reg .b64 from, to;
    ld.param.u64 from, [data];
    ld.param.u64 to, [out];
    mov.u32 t, %tid.x;
    mad.wide.u32 from, t, {sum(sum(counts(f)[i] for i in (0, 1, 2)) for f in forms) * 4}, from;
    mad.wide.u32 to, t, {sum(counts(f)[0] for f in forms) * 4}, to;
'''
    read = written = 0
    for f in forms:
        nd, na, nb = counts(f)
        names = [f'x{n}' for n in range(na + nb + nd)]
        for x in names:
            text += f'    ld.global.b32 {x}, [from+{read}];\n'
            read += 4
        group = lambda first, count: '{' + ', '.join(names[first:first + count]) + '}'
        results = '{' + ', '.join(f'd{n}' for n in range(nd)) + '}'
        text += f'    {spelled(f)} {results}, {group(0, na)}, {group(na, nb)}, {group(na + nb, nd)};\n'
        for n in range(nd):
            text += f'    st.global.b32 [to+{written}], d{n};\n'
            written += 4
    return text + '    ret;\n}\n'


def data(seed, forms, hard=False):
    """What the kernel reads and what it leaves, lane by lane."""
    r = Random(seed)
    given, left = [[] for _ in LANES], [[] for _ in LANES]
    for f in forms:
        m, n, k = f['shape']
        element = {'f32': 'f32', 'f16': 'f16', 's32': 's32'}[f['d']]
        a = [[draw(r, f['a'], hard) for _ in range(k)] for _ in range(m)]
        b = [[draw(r, f['b'], hard) for _ in range(k)] for _ in range(n)]
        c = [[draw(r, element, hard) for _ in range(n)] for _ in range(m)]
        d = [[dot(f, a[i], b[j], c[i][j]) for j in range(n)] for i in range(m)]
        bits = [WIDTH[f[which]] for which in 'abd']
        factor = lambda lines, bits: lambda lane, register, part: place_factor(lines, bits, lane, register, part)
        parts = [fragment(bits[0], m, k, factor(m, bits[0]), a), fragment(bits[1], n, k, factor(n, bits[1]), b),
                 fragment(bits[2], m, n, lambda *at: place_sum(bits[2], *at), c)]
        result = fragment(bits[2], m, n, lambda *at: place_sum(bits[2], *at), d)
        for lane in LANES:
            for part in parts:
                given[lane] += part[lane]
            left[lane] += result[lane]
    flat = lambda lanes: [value for lane in lanes for value in lane]
    return flat(given), flat(left)


FLOATS = [form('', (16, 8, 8), 'f16', 'f16', 'f16'), form('', (16, 8, 16), 'f16', 'f16', 'f16'),
          form('', (16, 8, 8), 'f32', 'f16', 'f16'), form('', (16, 8, 16), 'f32', 'f16', 'f16'),
          form('', (16, 8, 8), 'f32', 'bf16', 'bf16'), form('', (16, 8, 16), 'f32', 'bf16', 'bf16'),
          form('', (16, 8, 4), 'f32', 'tf32', 'tf32'), form('', (16, 8, 8), 'f32', 'tf32', 'tf32')]
EIGHTHS = [form('', (16, 8, k), d, a, b) for k in (16, 32) for d in ('f16', 'f32')
           for a, b in (('e4m3', 'e4m3'), ('e4m3', 'e5m2'), ('e5m2', 'e4m3'), ('e5m2', 'e5m2'))]
BYTES = [form('', shape, 's32', a, b, sat=sat) for shape in ((8, 8, 16), (16, 8, 16), (16, 8, 32))
         for a in ('s8', 'u8') for b in ('s8', 'u8') for sat in (False, True)]
NIBBLES = [form('', shape, 's32', a, b, sat=sat) for shape in ((8, 8, 32), (16, 8, 32), (16, 8, 64))
           for a in ('s4', 'u4') for b in ('s4', 'u4') for sat in (False, True)]
BITS = [form('', shape, 's32', 'b1', 'b1', xor=xor) for shape in ((8, 8, 128), (16, 8, 128), (16, 8, 256))
        for xor in (False, True)]
KERNELS = [(COMMON, 'mma_floats', FLOATS, 21, False), (NARROW, 'mma_eighths', EIGHTHS, 22, False), (COMMON, 'mma_bytes', BYTES, 23, False),
           (COMMON, 'mma_nibbles', NIBBLES, 24, False), (COMMON, 'mma_bits', BITS, 25, False),
           # Sums that are rounded are made in another way on other chips.
           (NEW, 'mma_rounding', FLOATS + EIGHTHS, 26, True)]

DOUBLES = '''
.visible .entry mma_doubles(.param .u64 data, .param .u64 out)
{
    .reg .b32 t;
    .reg .b64 from, to;
    .reg .f64 a<8>, b<4>, c<4>;
    ld.param.u64 from, [data];
    ld.param.u64 to, [out];
    mov.u32 t, %tid.x;
    mad.wide.u32 from, t, 128, from;
    mad.wide.u32 to, t, 32, to;
'''
for n in range(8):
    DOUBLES += f'    ld.global.f64 a{n}, [from+{8 * n}];\n'
for n in range(4):
    DOUBLES += f'    ld.global.f64 b{n}, [from+{64 + 8 * n}];\n'
for n in range(4):
    DOUBLES += f'    ld.global.f64 c{n}, [from+{96 + 8 * n}];\n'
DOUBLES += '''    mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {c0, c1, c2, c3}, {a0, a1, a2, a3, a4, a5, a6, a7}, {b0, b1, b2, b3}, {c0, c1, c2, c3};
    mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {c0, c1, c2, c3}, {a0, a1, a2, a3}, {b0, b1}, {c0, c1, c2, c3};
    mma.sync.aligned.m16n8k4.row.col.rz.f64.f64.f64.f64 {c0, c1, c2, c3}, {a0, a1}, {b0}, {c0, c1, c2, c3};
    mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {c0, c1}, {a5}, {b3}, {c0, c1};
    st.global.f64 [to], c0;
    st.global.f64 [to+8], c1;
    st.global.f64 [to+16], c2;
    st.global.f64 [to+24], c3;
    ret;
}
'''

MOVES = '''
.visible .entry matrices_move(.param .u64 data, .param .u64 out)
{
    .reg .b32 t, at, row, x<4>, y<4>, z;
    .reg .b64 from, to;
    .shared .align 16 .b8 rows[512], back[1024];
    ld.param.u64 from, [data];
    ld.param.u64 to, [out];
    mov.u32 t, %tid.x;
    mad.wide.u32 from, t, 16, from;
    mad.wide.u32 to, t, 64, to;
    ld.global.v4.b32 {x0, x1, x2, x3}, [from];
    mov.u32 row, rows;
    mad.lo.u32 row, t, 16, row;
    st.shared.v4.b32 [row], {x0, x1, x2, x3};
    bar.sync 0;
    ldmatrix.sync.aligned.m8n8.x4.shared.b16 {x0, x1, x2, x3}, [row];
    ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {y0, y1}, [row];
    ldmatrix.sync.aligned.m8n8.x1.shared.b16 {y2}, [row];
    movmatrix.sync.aligned.m8n8.trans.b16 y3, x3;
    st.global.v4.b32 [to], {x0, x1, x2, x3};
    st.global.v4.b32 [to+16], {y0, y1, y2, y3};
    mov.u32 at, back;
    mad.lo.u32 at, t, 16, at;
    stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [at], {x1, x0, x3, x2};
    stmatrix.sync.aligned.m8n8.x2.shared.b16 [at+512], {y3, x2};
    bar.sync 0;
    ld.shared.v4.b32 {x0, x1, x2, x3}, [at];
    st.global.v4.b32 [to+32], {x0, x1, x2, x3};
    mov.b32 z, 0;
    mov.b32 y0, z;
    mov.b32 y1, z;
    mov.b32 y2, z;
    mov.b32 y3, z;
    setp.lt.u32 few, t, 16;
    @few ld.shared.v4.b32 {y0, y1, y2, y3}, [at+512];
    st.global.v4.b32 [to+48], {y0, y1, y2, y3};
    ret;
}
'''.replace('.reg .b32 t, at', '.reg .pred few;\n    .reg .b32 t, at')


def moves(r):
    """Rows of four matrices of halves, and what a lane holds of them."""
    given = [[r.bits(16) for _ in range(8)] for _ in range(32)]
    held = lambda rows, lane: rows[lane // 4][lane % 4 * 2] | rows[lane // 4][lane % 4 * 2 + 1] << 16
    turned = lambda rows: [list(column) for column in zip(*rows)]
    m = [given[8 * n:8 * n + 8] for n in range(4)]
    stored = [turned(m[1]), turned(m[0]), turned(m[3]), turned(m[2])]
    again = [turned(m[3]), m[2]]
    words = lambda row: [row[2 * n] | row[2 * n + 1] << 16 for n in range(4)]
    left = []
    for lane in LANES:
        left += [held(matrix, lane) for matrix in m]
        left += [held(turned(m[0]), lane), held(turned(m[1]), lane), held(m[0], lane), held(turned(m[3]), lane)]
        left += words(stored[lane // 8][lane % 8])
        left += words(again[lane // 8][lane % 8]) if lane < 16 else [0] * 4
    return [word for row in given for word in words(row)], left


def doubles(r):
    """Products of small integers: exact whatever the order."""
    a = [[float(r.between(-9, 9)) for _ in range(16)] for _ in range(16)]
    b = [[float(r.between(-9, 9)) for _ in range(16)] for _ in range(8)]
    c = [[float(r.between(-9, 9)) for _ in range(8)] for _ in range(16)]
    at = lambda lane, n: (lane // 4 + 8 * (n % 2), n // 2 * 4 + lane % 4)
    given, left = [], []
    for lane in LANES:
        given += [a[i][k] for i, k in (at(lane, n) for n in range(8))]
        given += [b[lane // 4][4 * n + lane % 4] for n in range(4)]
        given += [c[lane // 4 + 8 * (n // 2)][lane % 4 * 2 + n % 2] for n in range(4)]
    for depth in (16, 8, 4):
        for i in range(16):
            for j in range(8):
                c[i][j] += sum(a[i][k] * b[j][k] for k in range(depth))
    # The last product takes register 5 of `a`, rows 8 to 15 and columns 8 to 11, and register 3 of `b`.
    for i in range(8):
        for j in range(8):
            c[i][j] += sum(a[8 + i][8 + k] * b[j][12 + k] for k in range(4))
    for lane in LANES:
        left += [c[lane // 4 + 8 * (n // 2)][lane % 4 * 2 + n % 2] for n in range(4)]
    return given, left


def write_ptx():
    texts = {COMMON: HEAD, NARROW: HEAD, NEW: HEAD}
    for file, name, forms, _, _ in KERNELS:
        texts[file] += kernel(name, forms)
    texts[NEW] += DOUBLES + MOVES
    for file, text in texts.items():
        with open(os.path.join(record.ROOT, file + '.ptx'), 'w') as out:
            out.write(text)


for file, name, forms, seed, hard in KERNELS:
    given, left = data(seed, forms, hard)
    case(name, file, [1], [32], [Given('u32', given), Result('u32', left)])
given, left = doubles(Random(27))
case('mma_doubles', NEW, [1], [32], [Given('f64', given), Result('f64', left)])
given, left = moves(Random(28))
case('matrices_move', NEW, [1], [32], [Given('u32', given), Result('u32', left)])


def gemm(r, size, depth):
    """A product of halves, with `a` row by row and `b` column by column."""
    a, b = ([[Fraction(r.between(-6, 6), 2) for _ in range(depth)] for _ in range(size)] for _ in 'ab')
    c = [sum(x * y for x, y in zip(row, column)) for row in a for column in b]
    halves = lambda matrix: [encode('f16', v, True) for row in matrix for v in row]
    return halves(a), halves(b), [encode('f32', v, True) for v in c]


a, b, c = gemm(Random(29), 64, 96)
case('gemm_f16', 'gemm', [1], [128], [Given('u16', a), Given('u16', b), Result('u32', c), record.Scalar('s32', 64), record.Scalar('s32', 96)])


def attention(r, queries, keys, width):
    """What queries take of values: weights are two to the power of the scores. A query has four ones of either sign, so that
    scores are few small integers, and all but the quotients is exact."""
    q = [[0] * width for _ in range(queries)]
    for row in q:
        while sum(map(abs, row)) < 4:
            row[r.below(width)] = 1 - 2 * r.below(2)
    k = [[1 - 2 * r.below(2) for _ in range(width)] for _ in range(keys)]
    v = [[r.between(-4, 4) for _ in range(width)] for _ in range(keys)]
    out = []
    for place, row in enumerate(q):
        seen = place + keys - queries + 1
        weights = [Fraction(2) ** sum(x * y for x, y in zip(row, key)) for key in k[:seen]]
        for column in range(width):
            out.append(sum(w * line[column] for w, line in zip(weights, v)) / sum(weights))
    halves = lambda matrix: [encode('f16', Fraction(x), True) for row in matrix for x in row]
    return halves(q), halves(k), halves(v), [encode('f32', x, True) for x in out]


q, k, v, out = attention(Random(31), 64, 96, 32)
case('attention_f16', 'attention', [1], [128], [Given('u16', q), Given('u16', k), Given('u16', v), Result('u32', out), record.Scalar('s32', 96)])
