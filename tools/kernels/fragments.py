"""Kernels of the rarer matrix instructions of a warp: sparse products, products of quarters of a warp, and `wmma` with its
loads and stores.

Sparse products are the dense ones of matrix.py over the elements that the metadata names. Fragments of `wmma` are nobody's
business: what is compared is the matrix that comes back to memory."""
import os
from fractions import Fraction

import record
from matrix import COMMON, LANES, NARROW, NEW, WIDTH, decode, dot, draw, encode, fragment, place_factor, place_sum, step, times
from record import Given, Random, Result, case

HEAD = '// Written by tools/kernels/fragments.py: sparse products, products of quarters of a warp, and wmma.\n.version 9.0\n.target sm_90\n.address_size 64\n'
# What is for the last chip alone goes behind what matrix.py writes for it.
FILES = {COMMON: 'fragments', NARROW: 'fragments_fp8', NEW: NEW}


# Sparse products.

def sparse(shape, d, a, b, selectors, sat=False, ordered=False):
    return [{'shape': shape, 'd': d, 'a': a, 'b': b, 'selector': s, 'sat': sat, 'xor': False, 'ordered': ordered ^ s & 1} for s in selectors]


def choose(r, ty, depth):
    """Columns that a row keeps, and its metadata: four bits for each group."""
    kept, nibbles = [], []
    for group in range(depth // {32: 2, 4: 8}.get(WIDTH[ty], 4)):
        if WIDTH[ty] == 32:
            one = r.below(2)
            kept.append(2 * group + one)
            nibbles.append(0b1110 if one else 0b0100)
            continue
        first = r.below(3)
        second = r.between(first + 1, 3)
        nibbles.append(first | second << 2)
        if WIDTH[ty] == 4:
            kept += [8 * group + 2 * pair + n for pair in (first, second) for n in (0, 1)]
        else:
            kept += [4 * group + first, 4 * group + second]
    return kept, nibbles


def metadata(form, rows, r):
    """The words of all lanes; those that do not count hold anything."""
    words = [r.bits(32) for _ in LANES]
    sixteens = WIDTH[form['a']] >= 16
    for row, nibbles in enumerate(rows):
        per_lane = 4 if sixteens else 8
        for part in range(len(nibbles) // per_lane):
            value = sum(n << 4 * at for at, n in enumerate(nibbles[part * per_lane:][:per_lane]))
            parts = len(nibbles) // per_lane
            if sixteens:
                lane = row % 8 * 4 + form['selector'] * parts + part
                shift = 16 * (row // 8)
                words[lane] = words[lane] & ~(0xffff << shift) | value << shift
            else:
                words[row % 8 * 4 + 2 * (form['selector'] + part) + row // 8] = value
    return words


def spelled(f):
    m, n, k = f['shape']
    kind = '.sp::ordered_metadata' if f['ordered'] else '.sp'
    return f"mma{kind}.sync.aligned.m{m}n{n}k{k}.row.col{'.satfinite' if f['sat'] else ''}.{f['d']}.{f['a']}.{f['b']}.{f['d']}"


def counts(f):
    m, n, k = f['shape']
    return m * n * WIDTH[f['d']] // 1024, m * k * WIDTH[f['a']] // 2048, n * k * WIDTH[f['b']] // 1024


def sparse_kernel(name, forms):
    """Loads fragments and metadata of each form one behind the other, and stores the results so."""
    text = f'''
.visible .entry {name}(.param .u64 data, .param .u64 out)
{{
    .reg .b32 t, x<13>, d<4>;
    .reg .b64 from, to;
    ld.param.u64 from, [data];
    ld.param.u64 to, [out];
    mov.u32 t, %tid.x;
    mad.wide.u32 from, t, {sum(sum(counts(f)) + 1 for f in forms) * 4}, from;
    mad.wide.u32 to, t, {sum(counts(f)[0] for f in forms) * 4}, to;
'''
    read = written = 0
    for f in forms:
        nd, na, nb = counts(f)
        names = [f'x{n}' for n in range(na + nb + nd + 1)]
        for x in names:
            text += f'    ld.global.b32 {x}, [from+{read}];\n'
            read += 4
        group = lambda first, count: '{' + ', '.join(names[first:first + count]) + '}'
        results = '{' + ', '.join(f'd{n}' for n in range(nd)) + '}'
        text += f'    {spelled(f)} {results}, {group(0, na)}, {group(na, nb)}, {group(na + nb, nd)}, {names[-1]}, {f["selector"]};\n'
        for n in range(nd):
            text += f'    st.global.b32 [to+{written}], d{n};\n'
            written += 4
    return text + '    ret;\n}\n'


def sparse_data(seed, forms, hard=False):
    r = Random(seed)
    given, left = [[] for _ in LANES], [[] for _ in LANES]
    for f in forms:
        m, n, k = f['shape']
        a = [[draw(r, f['a'], hard) for _ in range(k // 2)] for _ in range(m)]
        b = [[draw(r, f['b'], hard) for _ in range(k)] for _ in range(n)]
        c = [[draw(r, f['d'], hard) for _ in range(n)] for _ in range(m)]
        kept = [choose(r, f['a'], k) for _ in range(m)]
        d = [[dot(f, a[i], [b[j][at] for at in kept[i][0]], c[i][j]) for j in range(n)] for i in range(m)]
        words = metadata(f, [nibbles for _, nibbles in kept], r)
        bits = [WIDTH[f[which]] for which in 'abd']
        factor = lambda lines, bits: lambda lane, register, part: place_factor(lines, bits, lane, register, part)
        parts = [fragment(bits[0], m, k // 2, factor(m, bits[0]), a), fragment(bits[1], n, k, factor(n, bits[1]), b),
                 fragment(bits[2], m, n, lambda *at: place_sum(bits[2], *at), c)]
        result = fragment(bits[2], m, n, lambda *at: place_sum(bits[2], *at), d)
        for lane in LANES:
            given[lane] += [word for part in parts for word in part[lane]] + [words[lane]]
            left[lane] += result[lane]
    flat = lambda lanes: [value for lane in lanes for value in lane]
    return flat(given), flat(left)


FLOATS = []
for ty, depth in (('f16', 16), ('bf16', 16), ('tf32', 8)):
    for d in ('f16', 'f32') if ty == 'f16' else ('f32',):
        FLOATS += sparse((16, 8, depth), d, ty, ty, range(4)) + sparse((16, 8, 2 * depth), d, ty, ty, range(2), ordered=True)
EIGHTHS = [f for a, b in (('e4m3', 'e4m3'), ('e4m3', 'e5m2'), ('e5m2', 'e4m3'), ('e5m2', 'e5m2')) for ordered in (False, True)
           for f in sparse((16, 8, 64), 'f32', a, b, [0], ordered=ordered)]


def integers(types, depth):
    return [f for a in types for b in types for sat in (False, True)
            for f in sparse((16, 8, depth), 's32', a, b, range(2), sat) + sparse((16, 8, 2 * depth), 's32', a, b, [0], sat, not sat)]


SPARSE = [(COMMON, 'sparse_floats', FLOATS, 41, False), (COMMON, 'sparse_bytes', integers(('s8', 'u8'), 32), 42, False),
          (COMMON, 'sparse_nibbles', integers(('s4', 'u4'), 64), 43, False), (NARROW, 'sparse_eighths', EIGHTHS, 44, False),
          (NEW, 'sparse_rounding', FLOATS + EIGHTHS, 45, True)]


# Products of quarters of a warp. What other compilers' code does on chips without such an instruction is what is expected.

def f32(value):
    """A fraction, or a float that is none, rounded to a single and back."""
    return decode('f32', encode('f32', value, True))[0]


def plus(a, b):
    return f32(float(a) + float(b)) if isinstance(a, float) or isinstance(b, float) else f32(a + b)


def quarter_sum(d, a, b, c):
    products = [times((x, 0), (y, 0))[0] for x, y in zip(a, b)]
    if d == 'f16':
        pairs = [plus(f32(products[n]), products[n + 1]) for n in (0, 2)]
        return plus(plus(c, pairs[1]), pairs[0])
    total = Fraction(0)
    for product in products:
        total = plus(total, product)
    return plus(c, total)


def quarter_place(ty, row, column):
    """Lane in the quarter, and number, of an element of a sum."""
    upper = row // 4 * 16
    if ty == 'f16':
        return upper + row % 4, column
    return upper + row % 2 + column // 2 % 2 * 2, row // 2 % 2 * 2 + column // 4 * 4 + column % 2


QUARTERS = [(la, lb, d, c) for la in ('row', 'col') for lb in ('row', 'col') for d, c in (('f16', 'f16'), ('f32', 'f16'), ('f32', 'f32'))]


def quarters_kernel():
    words = lambda ty: 4 if ty == 'f16' else 8
    text = f'''
.visible .entry mma_quarters(.param .u64 data, .param .u64 out)
{{
    .reg .b32 t, a<2>, b<2>, c<8>, d<8>;
    .reg .f32 e<8>, f<8>;
    .reg .b64 from, to;
    ld.param.u64 from, [data];
    ld.param.u64 to, [out];
    mov.u32 t, %tid.x;
    mad.wide.u32 from, t, {sum(4 + words(c) for _, _, _, c in QUARTERS) * 4}, from;
    mad.wide.u32 to, t, {sum(words(d) for _, _, d, _ in QUARTERS) * 4}, to;
'''
    read = written = 0
    for la, lb, d, c in QUARTERS:
        old, new = 'c' if c == 'f16' else 'e', 'd' if d == 'f16' else 'f'
        names = ['a0', 'a1', 'b0', 'b1'] + [f'{old}{n}' for n in range(words(c))]
        for x in names:
            text += f'    ld.global.b32 {x}, [from+{read}];\n'
            read += 4
        listed = lambda names: '{' + ', '.join(names) + '}'
        results = [f'{new}{n}' for n in range(words(d))]
        text += f'    mma.sync.aligned.m8n8k4.{la}.{lb}.{d}.f16.f16.{c} {listed(results)}, {{a0, a1}}, {{b0, b1}}, {listed(names[4:])};\n'
        for x in results:
            text += f'    st.global.b32 [to+{written}], {x};\n'
            written += 4
    return text + '    ret;\n}\n'


def quarters_data(r):
    given, left = [[] for _ in LANES], [[] for _ in LANES]

    def put(lanes, ty, quarter, place, value):
        lane, number = place
        words = lanes[4 * quarter + lane]
        if ty == 'f16':
            words[number // 2] |= value << 16 * (number % 2)
        else:
            words[number] = value

    for la, lb, dty, cty in QUARTERS:
        parts = {'a': [[0, 0] for _ in LANES], 'b': [[0, 0] for _ in LANES],
                 'c': [[0] * (4 if cty == 'f16' else 8) for _ in LANES], 'd': [[0] * (4 if dty == 'f16' else 8) for _ in LANES]}
        for quarter in range(4):
            a = [[draw(r, 'f16', True) for _ in range(4)] for _ in range(8)]
            b = [[draw(r, 'f16', True) for _ in range(4)] for _ in range(8)]
            c = [[draw(r, cty, True) for _ in range(8)] for _ in range(8)]
            for line in range(8):
                for k in range(4):
                    # A lane has a line, or an element of each of four lines.
                    for name, matrix, own in (('a', a, la == 'row'), ('b', b, lb == 'col')):
                        at = (line % 4, k) if own else (k, line % 4)
                        put(parts[name], 'f16', quarter, (at[0] + line // 4 * 16, at[1]), matrix[line][k])
            value = lambda bits: decode('f16', bits)[0]
            for i in range(8):
                for j in range(8):
                    total = quarter_sum(dty, map(value, a[i]), map(value, b[j]), decode(cty, c[i][j])[0])
                    put(parts['c'], cty, quarter, quarter_place(cty, i, j), c[i][j])
                    put(parts['d'], dty, quarter, quarter_place(dty, i, j), encode(dty, total, True))
        for lane in LANES:
            given[lane] += parts['a'][lane] + parts['b'][lane] + parts['c'][lane]
            left[lane] += parts['d'][lane]
    flat = lambda lanes: [value for lane in lanes for value in lane]
    return flat(given), flat(left)


# wmma.

def wmma(shape, d, c, a, layouts, stride, sat=False, xor=False):
    return {'shape': shape, 'd': d, 'c': c, 'a': a, 'b': a, 'layouts': layouts, 'stride': stride, 'sat': sat, 'xor': xor}


def registers(f, role):
    """How many registers the language gives a fragment, and their type."""
    m, n, k = f['shape']
    ty = f[role]
    if role in 'ab':
        elements = (m if role == 'a' else n) * k
        count = 8 if ty == 'f16' else elements * WIDTH[ty] // 32 // max(WIDTH[ty], 32)
    else:
        count = m * n * WIDTH[ty] // 32 // max(WIDTH[ty], 32)
    return count, {'f64': 'd', 'f32': 'f'}.get(ty, 'r')


def lines(f, role, layout):
    """Lines of a matrix in memory, and the length of one."""
    m, n, k = f['shape']
    rows, columns = {'a': (m, k), 'b': (k, n), 'c': (m, n), 'd': (m, n)}[role]
    return (rows, columns) if layout == 'row' else (columns, rows)


def stride_of(f, role, layout):
    _, length = lines(f, role, layout)
    return length if f['stride'] == 'default' else length + 128 // WIDTH[f[role]]


def image(f, role, layout, matrix):
    """The bytes of a matrix in memory; between its lines are ones."""
    bits = WIDTH[f[role]]
    count, length = lines(f, role, layout)
    stride = stride_of(f, role, layout)
    value = 0
    for line in range(count):
        for at in range(stride):
            inside = (matrix[line][at] if layout == 'row' else matrix[at][line]) if at < length else (1 << bits) - 1
            value |= inside << (line * stride + at) * bits
    size = count * stride * bits // 8
    return value.to_bytes(size, 'little').ljust(-(-size // 32) * 32, b'\xff')


def wmma_text(f):
    m, n, k = f['shape']
    la, lb = f['layouts'][:2]
    head = '.xor.popc' if f['xor'] else '.and.popc' if f['a'] == 'b1' else ''
    types = f".{f['d']}.{f['c']}" if f['a'] == 'f16' else f".{f['d']}.{f['a']}.{f['b']}.{f['c']}"
    return f"wmma.mma{head}.sync.aligned.{la}.{lb}.m{m}n{n}k{k}{types}{'.satfinite' if f['sat'] else ''}"


def copy(label, size, load, store, far, near):
    """A loop over the words of a piece of memory, in which `place` and `near` point to one."""
    return f'''    shl.b32 at, t, 2;
{label}:
    cvt.u64.u32 place, at;
    add.u64 place, place, {far};
    mov.u32 near, {near};
    add.u32 near, near, at;
    {load}
    {store}
    add.u32 at, at, 128;
    setp.lt.u32 more, at, {size};
    @more bra {label};
'''


def wmma_kernel(name, forms, space, sizes, strides):
    """Loads, multiplies, stores. In shared memory there is a copy of everything."""
    given, left = sizes
    text = f'''
.visible .entry {name}(.param .u64 data, .param .u64 out)
{{
    .reg .pred more;
    .reg .b32 t, at, near, stride, ra<8>, rb<8>, rc<8>, rd<8>;
    .reg .f32 fc<8>, fd<8>;
    .reg .f64 da<1>, db<1>, dc<2>, dd<2>;
    .reg .b64 from, to, place;
'''
    if space == 'shared':
        text += f'    .shared .align 32 .b8 held[{given}], made[{left}];\n'
    text += '''    ld.param.u64 from, [data];
    ld.param.u64 to, [out];
    mov.u32 t, %tid.x;
'''
    if space == 'shared':
        text += copy('fill', given, 'ld.global.b32 stride, [place];', 'st.shared.b32 [near], stride;', 'from', 'held')
        text += copy('blank', left, 'mov.b32 stride, -1;', 'st.shared.b32 [near], stride;', 'from', 'made')
        text += '    bar.sync 0;\n'
    read = written = 0
    for f in forms:
        m, n, k = f['shape']
        names = {}
        for role, layout in zip('abcd', f['layouts']):
            count, file = registers(f, role)
            names[role] = '{' + ', '.join(f'{file}{role}{n}' for n in range(count)) + '}'

        def access(role, layout, base, offset):
            known = stride_of(f, role, layout)
            before, stride = '', ''
            if f['stride'] == 'imm':
                stride = f', {known}'
            if f['stride'] == 'reg':
                # Not to be seen through: lanes have it from memory.
                before, stride = f'    ld.global.u32 stride, [from+{strides[known]}];\n', ', stride'
            where = '' if space == 'generic' else f'.{space}'
            op = 'store.d' if role == 'd' else f'load.{role}'
            ty = f[role]
            head = f'    wmma.{op}.sync.aligned.{layout}.m{m}n{n}k{k}{where}.{ty} '
            place = f'[{base}+{offset}]'
            return before + head + (f'{place}, {names[role]}' if role == 'd' else f'{names[role]}, {place}') + stride + ';\n'

        loads, saves = ('held', 'made') if space == 'shared' else ('from', 'to')
        for role, layout in zip('abc', f['layouts']):
            text += access(role, layout, loads, read)
            read += len(image(f, role, layout, f['matrices'][role]))
        text += f"    {wmma_text(f)} {names['d']}, {names['a']}, {names['b']}, {names['c']};\n"
        text += access('d', f['layouts'][3], saves, written)
        written += len(image(f, 'd', f['layouts'][3], f['matrices']['d']))
    if space == 'shared':
        text += '    bar.sync 0;\n'
        text += copy('empty', left, 'ld.shared.b32 stride, [near];', 'st.global.b32 [place], stride;', 'to', 'made')
    return text + '    ret;\n}\n'


def wmma_sum(f, a, b, c):
    """An element of the sum."""
    if f['a'] == 'f64':
        total = Fraction(decode64(c))
        for x, y in zip(a, b):
            total += Fraction(decode64(x)) * Fraction(decode64(y))
        return encode64(float(total))
    if f['a'] == 's32' or f['d'] == 's32':
        return dot(f, a, b, c)
    mixed = f['c'] != f['d']
    through = 'f32' if mixed else f['d']
    total = encode('f32', decode('f16', c)[0], True) if mixed and f['c'] == 'f16' else c
    size = 4 if f['a'] == 'tf32' else len(a)
    for first in range(0, len(a), size):
        products = [times(decode(f['a'], x), decode(f['b'], y)) for x, y in zip(a[first:first + size], b[first:first + size])]
        total = step(through, products, total)
    return encode('f16', decode('f32', total)[0], True) if mixed and f['d'] == 'f16' else total


def encode64(value):
    return int.from_bytes(record.pack('f64', [value]), 'little')


def decode64(bits):
    return record.struct.unpack('<d', bits.to_bytes(8, 'little'))[0]


def wmma_data(seed, forms, hard):
    """Fills in the matrices of the forms; the bytes of what is read and of what is left."""
    r = Random(seed)
    given = left = b''
    for f in forms:
        m, n, k = f['shape']
        element = lambda ty: encode64(float(r.between(-9, 9))) if ty == 'f64' else draw(r, ty, hard)
        a = [[element(f['a']) for _ in range(k)] for _ in range(m)]
        b = [[element(f['b']) for _ in range(n)] for _ in range(k)]
        c = [[element(f['c']) for _ in range(n)] for _ in range(m)]
        d = [[wmma_sum(f, a[i], [row[j] for row in b], c[i][j]) for j in range(n)] for i in range(m)]
        f['matrices'] = {'a': a, 'b': b, 'c': c, 'd': d}
        for role, layout in zip('abc', f['layouts']):
            given += image(f, role, layout, f['matrices'][role])
        left += image(f, 'd', f['layouts'][3], d)
    return given, left


LAYOUTS = [('row', 'row', 'row', 'row'), ('col', 'col', 'col', 'col'), ('row', 'col', 'row', 'col'), ('col', 'row', 'col', 'row')]
SHAPES = [(16, 16, 16), (8, 32, 16), (32, 8, 16)]
STRIDES = ['default', 'imm', 'reg']


def halves(first):
    found = []
    for shape in SHAPES:
        for d, c in (('f16', 'f16'), ('f16', 'f32'), ('f32', 'f16'), ('f32', 'f32')):
            at = len(found) + first
            found.append(wmma(shape, d, c, 'f16', LAYOUTS[(at + at // 4) % 4], STRIDES[at % 3]))
    return found


def others(first):
    found = []
    add = lambda *args, **more: found.append(wmma(*args, LAYOUTS[(len(found) + first) % 4], STRIDES[(len(found) + first) % 3], **more))
    for shape in SHAPES:
        add(shape, 'f32', 'f32', 'bf16')
    for shape in SHAPES:
        for ty in ('s8', 'u8'):
            add(shape, 's32', 's32', ty, sat=bool((len(found) + first) & 1))
    for _ in range(2):
        add((16, 16, 8), 'f32', 'f32', 'tf32')
        add((8, 8, 4), 'f64', 'f64', 'f64')
    narrow = lambda *args, **more: found.append(wmma(*args, ('row', 'col', *LAYOUTS[(len(found) + first) % 4][2:]), STRIDES[(len(found) + first) % 3], **more))
    for ty in ('s4', 'u4'):
        narrow((8, 8, 32), 's32', 's32', ty, sat=ty == 's4')
    for xor in (False, True):
        narrow((8, 8, 128), 's32', 's32', 'b1', xor=xor)
    return found


WMMA = [(COMMON, f'wmma_{space}_{name}', make(first), space, 50 + first, hard)
        for name, make in (('halves', halves), ('others', others))
        for first, space, hard in ((0, 'global', False), (1, 'shared', False), (2, 'generic', False))]
# Sums that are rounded are made in another way on other chips.
WMMA.append((NEW, 'wmma_rounding', halves(3) + [wmma((16, 16, 8), 'f32', 'f32', 'tf32', LAYOUTS[0], 'imm')], 'global', 57, True))

TEXTS = {COMMON: HEAD, NARROW: HEAD, NEW: ''}
for file, name, forms, seed, hard in SPARSE:
    given, left = sparse_data(seed, forms, hard)
    TEXTS[file] += sparse_kernel(name, forms)
    case(name, FILES[file], [1], [32], [Given('u32', given), Result('u32', left)])
TEXTS[COMMON] += quarters_kernel()
given, left = quarters_data(Random(46))
case('mma_quarters', FILES[COMMON], [1], [32], [Given('u32', given), Result('u32', left)])
for file, name, forms, space, seed, hard in WMMA:
    given, left = wmma_data(seed, forms, hard)
    # The strides that lanes read lie behind the matrices.
    strides = sorted({stride_of(f, role, layout) for f in forms for role, layout in zip('abcd', f['layouts'])})
    read_strides = {stride: len(given) + 4 * at for at, stride in enumerate(strides)}
    TEXTS[file] += wmma_kernel(name, forms, space, (len(given), len(left)), read_strides)
    given += record.pack('u32', strides)
    before = [0xff] * len(left)
    case(name, FILES[file], [1], [32], [Given('u8', given), Result('u8', left, before)])


def write_ptx():
    for file, text in TEXTS.items():
        with open(os.path.join(record.ROOT, FILES[file] + '.ptx'), 'w' if text.startswith(HEAD) else 'a') as out:
            out.write(text)
