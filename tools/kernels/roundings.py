"""Products of matrices of doubles in each rounding: every element is a chain of fused multiply-adds in the order of the columns."""
import os
from fractions import Fraction

import record
from matrix import LANES
from record import Given, Random, Result, case
from singles import MODES, rounded, value

FILE = 'roundings'
HEAD = '// Written by tools/kernels/roundings.py: products of matrices of doubles, rounded.\n.version 9.0\n.target sm_90\n.address_size 64\n'
SHAPES = [(8, 8, 4), (16, 8, 4), (16, 8, 8), (16, 8, 16)]
FORMS = [(shape, mode) for shape in SHAPES for mode in MODES]
SQUARE = [(layouts, mode) for layouts, mode in zip((('row', 'col'), ('col', 'row'), ('row', 'row'), ('col', 'col')), MODES)]


def counts(shape):
    m, n, k = shape
    return m * n // 32, m * k // 32, n * k // 32


def drawn(r):
    """Numbers of both signs whose products need many more bits than a double has."""
    return r.bits(1) << 63 | 0x3ff + r.between(-3, 3) << 52 | r.bits(52)


def chain(mode, a, b, c):
    """The bits of a sum; no sum here is zero."""
    total = value('f64', c)[0]
    for x, y in zip(a, b):
        bits = rounded('f64', mode, total + value('f64', x)[0] * value('f64', y)[0])
        total = value('f64', bits)[0]
    return rounded('f64', mode, Fraction(total))


def product(r, m, n, k, mode):
    a = [[drawn(r) for _ in range(k)] for _ in range(m)]
    b = [[drawn(r) for _ in range(k)] for _ in range(n)]
    c = [[drawn(r) for _ in range(n)] for _ in range(m)]
    return a, b, c, [[chain(mode, a[i], b[j], c[i][j]) for j in range(n)] for i in range(m)]


def kernel():
    read, written = sum(sum(counts(shape)) for shape, _ in FORMS), sum(counts(shape)[0] for shape, _ in FORMS)
    text = f'''
.visible .entry doubles_rounded(.param .u64 data, .param .u64 out)
{{
    .reg .b32 t;
    .reg .b64 from, to;
    .reg .f64 a<8>, b<4>, c<4>;
    ld.param.u64 from, [data];
    ld.param.u64 to, [out];
    mov.u32 t, %tid.x;
    mad.wide.u32 from, t, {8 * read}, from;
    mad.wide.u32 to, t, {8 * written}, to;
'''
    read = written = 0
    for shape, mode in FORMS:
        names = [[f'{letter}{n}' for n in range(count)] for letter, count in zip('cab', counts(shape))]
        for name in names[1] + names[2] + names[0]:
            text += f'    ld.global.f64 {name}, [from+{8 * read}];\n'
            read += 1
        c, a, b = ('{' + ', '.join(group) + '}' for group in names)
        m, n, k = shape
        text += f'    mma.sync.aligned.m{m}n{n}k{k}.row.col.{mode}.f64.f64.f64.f64 {c}, {a}, {b}, {c};\n'
        for name in names[0]:
            text += f'    st.global.f64 [to+{8 * written}], {name};\n'
            written += 1
    return text + '    ret;\n}\n'


def data(r):
    given, left = [[] for _ in LANES], [[] for _ in LANES]
    for (m, n, k), mode in FORMS:
        a, b, c, d = product(r, m, n, k, mode)
        for lane in LANES:
            row, at = lane // 4, lane % 4
            held = lambda matrix: [matrix[row + 8 * (number // 2)][2 * at + number % 2] for number in range(m * n // 32)]
            rows = m // 8
            given[lane] += [a[row + 8 * (number % rows)][at + 4 * (number // rows)] for number in range(m * k // 32)]
            given[lane] += [b[row][at + 4 * number] for number in range(n * k // 32)] + held(c)
            left[lane] += held(d)
    return sum(given, []), sum(left, [])


def square_kernel():
    text = '''
.visible .entry squares_rounded(.param .u64 data, .param .u64 out)
{
    .reg .b64 from, to;
    .reg .f64 a<1>, b<1>, c<2>;
    ld.param.u64 from, [data];
    ld.param.u64 to, [out];
'''
    for number, ((left, right), mode) in enumerate(SQUARE):
        at = 8 * 128 * number
        text += f'''    wmma.load.a.sync.aligned.{left}.m8n8k4.global.f64 {{a0}}, [from+{at}];
    wmma.load.b.sync.aligned.{right}.m8n8k4.global.f64 {{b0}}, [from+{at + 256}];
    wmma.load.c.sync.aligned.row.m8n8k4.global.f64 {{c0, c1}}, [from+{at + 512}];
    wmma.mma.sync.aligned.{left}.{right}.m8n8k4.{mode}.f64.f64.f64.f64 {{c0, c1}}, {{a0}}, {{b0}}, {{c0, c1}};
    wmma.store.d.sync.aligned.row.m8n8k4.global.f64 [to+{512 * number}], {{c0, c1}};
'''
    return text + '    ret;\n}\n'


def square_data(r):
    given, after = [], []
    turned = lambda matrix: [list(column) for column in zip(*matrix)]
    for (left, right), mode in SQUARE:
        a, b, c, d = product(r, 8, 8, 4, mode)
        # The right factor is given by its columns.
        for matrix in (a if left == 'row' else turned(a), b if right == 'col' else turned(b), c):
            given += sum(matrix, [])
        after += sum(d, [])
    return given, after


def write_ptx():
    with open(os.path.join(record.ROOT, FILE + '.ptx'), 'w') as out:
        out.write(HEAD + kernel() + square_kernel())


for name, (given, left) in (('doubles_rounded', data(Random(101))), ('squares_rounded', square_data(Random(102)))):
    case(name, FILE, [1], [32], [Given('u64', given), Result('u64', left)])
