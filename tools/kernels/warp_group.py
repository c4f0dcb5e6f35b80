"""Kernels of products of a warp group: every type, factors in registers and in shared memory in every layout, sparse ones;
and a product of matrices whose tiles are copied while other tiles are multiplied.

Where an element lies in shared memory is the canonical layout of the PTX ISA ("Shared Memory Matrix Layout"); the sums are
those of the model of the matrix units that matrix.py has."""
import os
from fractions import Fraction

import record
from matrix import FORMATS, WIDTH, M32, decode, draw, encode, form, place_factor, step, times
from record import Given, Random, Result, case

FILE = 'warp_group'
HEAD = '// Written by tools/kernels/warp_group.py: products of warp groups.\n.version 9.0\n.target sm_90a\n.address_size 64\n'
THREADS = range(128)
# Bytes of a row of a pattern, and how a descriptor says so.
SWIZZLES = {16: 0, 128: 1, 64: 2, 32: 3}


def narrow_step(ty, products, c):
    """A sum of products of 8-bit numbers: 13 bits below the greatest exponent, and no more in a single."""
    bits = step(ty, products, c, 13)
    is_number = bits & 0x7fffffff <= 0x7f800000
    return bits & ~1023 if ty == 'f32' and is_number else bits


def dot(f, a, b, c):
    """A row times a column plus `c`, all as bits."""
    if f['a'] == 'b1':
        return c + sum(x & y for x, y in zip(a, b)) & M32
    if f['d'] == 's32':
        signed = lambda ty, v: v - (1 << WIDTH[ty]) if ty[0] == 's' and v >> WIDTH[ty] - 1 else v
        total = sum(signed(f['a'], x) * signed(f['b'], y) for x, y in zip(a, b)) + signed('s32', c)
        return (max(-1 << 31, min((1 << 31) - 1, total)) if f['sat'] else total) & M32
    products = [times(decode(f['a'], x), decode(f['b'], y)) for x, y in zip(a, b)]
    if f['negates'][0] != f['negates'][1]:
        products = [(-v, e) for v, e in products]
    return (narrow_step if f['a'] in ('e4m3', 'e5m2') else step)(f['d'], products, c)


class Tile:
    """A factor in shared memory: lines of so many elements, in patterns of rows of so many bytes. `across` says that the
    elements of a column of lines are neighbours, not those of a line."""

    def __init__(self, bits, lines, length, width, across, start):
        self.bits, self.width, self.across, self.start = bits, width, across, start
        rows, bytes_ = (length, lines * bits // 8) if across else (lines, length * bits // 8)
        # Patterns side by side, then one behind the other; a gap of a piece shows that distances are taken from here.
        pattern = 8 * width
        beside = -(-bytes_ // width)
        self.near = pattern if width > 16 else pattern + 16
        self.far = -(-self.near * beside // 1024) * 1024 if width > 16 else self.near * beside + 16
        self.size = self.far * (rows // 8)

    def place(self, line, at):
        """The byte and the bit of an element."""
        row, along = (at, line) if self.across else (line, at)
        byte, bit = divmod(along * self.bits, 8)
        address = self.start + row // 8 * self.far + row % 8 * self.width
        address += byte // self.width * self.near + byte % self.width
        if self.width > 16:
            address ^= (address >> 7 & self.width // 16 - 1) << 4
        return address, bit

    def descriptor(self):
        """All but the address: the distance in the leading direction, that in the other one, the swizzling."""
        plain = self.width == 16
        leading, stride = (self.far, self.near) if plain and self.across else (self.near, self.far)
        return leading >> 4 << 16 | stride >> 4 << 32 | SWIZZLES[self.width] << 62

    def write(self, memory, matrix):
        for line, elements in enumerate(matrix):
            for at, element in enumerate(elements):
                address, bit = self.place(line, at)
                for k in range(max(self.bits // 8, 1)):
                    memory[address + k] |= element >> 8 * k << bit & 0xff


def product(n, k, d, a, b, left, right, **more):
    """`left` and `right` are the width of a pattern and whether a factor lies across; `left` is None in registers."""
    return form('', (64, n, k), d, a, b, left=left, right=right,
                **{'negates': (False, False), 'sparse': None, 'adds': True, 'hard': False, **more})


def spelled(f):
    _, n, k = f['shape']
    words = 'wgmma.mma_async' + ('.sp' if f['sparse'] is not None else '') + f'.sync.aligned.m64n{n}k{k}'
    words += ('.satfinite' if f['sat'] else '') + f".{f['d']}.{f['a']}.{f['b']}"
    return words + ('.and.popc' if f['a'] == 'b1' else '')


def stored(f):
    return f['shape'][2] // (1 if f['sparse'] is None else 2)


def choose(r, f):
    """For each row of a sparse factor: which columns are there, and the bits that say so."""
    rows = []
    for _ in range(64):
        places, bits = [], 0
        if f['a'] == 'tf32':
            for n in range(stored(f)):
                second = r.bits(1)
                places.append(2 * n + second)
                bits |= (0b1110 if second else 0b0100) << 4 * n
        else:
            for n in range(stored(f) // 2):
                first = r.below(3)
                second = r.between(first + 1, 3)
                places += [4 * n + first, 4 * n + second]
                bits |= (first | second << 2) << 4 * n
        rows.append((places, bits))
    return rows


def said(f, rows, thread):
    """The register that says which elements are there."""
    lane, first = thread % 32, thread // 32 * 16
    row = first + lane // 4
    if WIDTH[f['a']] == 8:
        # The four lanes of a row: the row itself and the one eight further down, for the first columns and for the last.
        return rows[row + 8 * (lane % 2)][1] >> 32 * (lane % 4 // 2) & M32
    if lane % 4 // 2 != f['sparse']:
        return 0xdeadbeef
    half = lane % 2
    return rows[row][1] >> 16 * half & 0xffff | (rows[row + 8][1] >> 16 * half & 0xffff) << 16


def sums(f):
    return f['shape'][1] // (4 if f['d'] == 'f16' else 2)


def place_sum(f, thread, register, part):
    n = 2 * register + part if f['d'] == 'f16' else register
    lane = thread % 32
    return thread // 32 * 16 + lane // 4 + 8 * (n // 2 % 2), n // 4 * 8 + lane % 4 * 2 + n % 2


def in_registers(f, matrix, thread, register):
    packed = 32 // WIDTH[f['a']]
    value = 0
    for part in range(packed):
        line, at = place_factor(16, WIDTH[f['a']], thread % 32, register, part)
        value |= matrix[thread // 32 * 16 + line][at] << part * WIDTH[f['a']]
    return value


def prepare(seed, forms):
    """The image of shared memory, what each thread reads and what it leaves, and the tiles of each form."""
    r = Random(seed)
    memory, given, left, tiles = bytearray(), [[] for _ in THREADS], [[] for _ in THREADS], []
    for f in forms:
        _, n, k = f['shape']
        element = f['d']
        rows = choose(r, f) if f['sparse'] is not None else [(list(range(k)), 0)] * 64
        a = [[draw(r, f['a'], f['hard']) for _ in range(stored(f))] for _ in range(64)]
        b = [[draw(r, f['b'], f['hard']) for _ in range(k)] for _ in range(n)]
        c = [[draw(r, element, f['hard']) for _ in range(n)] for _ in range(64)]
        d = [[dot(f, a[i], [b[j][at] for at in rows[i][0]], c[i][j] if f['adds'] else 0) for j in range(n)]
             for i in range(64)]
        made = []
        for layout, matrix, bits in ((f['left'], a, WIDTH[f['a']]), (f['right'], b, WIDTH[f['b']])):
            if layout is None:
                made.append(None)
                continue
            start = -(-len(memory) // 1024) * 1024
            tile = Tile(bits, len(matrix), len(matrix[0]), *layout, start)
            memory.extend(bytes(start + tile.size - len(memory)))
            tile.write(memory, matrix)
            made.append(tile)
        tiles.append(made)
        packed = 2 if f['d'] == 'f16' else 1
        whole = lambda matrix, thread: [sum(matrix[i][j] << 16 * part for part, (i, j) in enumerate(
            place_sum(f, thread, register, part) for part in range(packed))) for register in range(sums(f))]
        for thread in THREADS:
            given[thread] += whole(c, thread)
            if f['left'] is None:
                given[thread] += [in_registers(f, a, thread, register) for register in range(4)]
            if f['sparse'] is not None:
                given[thread].append(said(f, rows, thread))
            left[thread] += whole(d, thread)
    memory.extend(bytes(-len(memory) % 1024))
    return memory, given, left, tiles


def kernel(name, forms, memory, given, left, tiles):
    """Copies the image to shared memory, then multiplies form after form."""
    text = f'''
.visible .entry {name}(.param .u64 image, .param .u64 data, .param .u64 out)
.reqntid 128
{{
    .reg .pred more, adds;
    .reg .b32 t, at, x, base, c<{max(sums(f) for f in forms)}>, a<4>, meta;
    .reg .b64 from, to, left, right, start;
    .shared .align 1024 .b8 image_of[{len(memory)}];
    ld.param.u64 from, [image];
    mov.u32 t, %tid.x;
    mov.u32 base, image_of;
    mul.lo.u32 at, t, 4;
    mad.wide.u32 from, t, 4, from;
    add.u32 base, base, at;
copy:
    ld.global.b32 x, [from];
    st.shared.b32 [base], x;
    add.u64 from, from, 512;
    add.u32 base, base, 512;
    add.u32 at, at, 512;
    setp.lt.u32 more, at, {len(memory)};
    @more bra copy;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    ld.param.u64 from, [data];
    ld.param.u64 to, [out];
    mad.wide.u32 from, t, {4 * len(given[0])}, from;
    mad.wide.u32 to, t, {4 * len(left[0])}, to;
    mov.u32 base, image_of;
    shr.u32 base, base, 4;
    cvt.u64.u32 start, base;
    setp.ne.u32 adds, t, 4096;
'''
    read = written = 0
    for f, (a, b) in zip(forms, tiles):
        names = [f'c{n}' for n in range(sums(f))]
        registers = names + ([f'a{n}' for n in range(4)] if a is None else [])
        registers += ['meta'] if f['sparse'] is not None else []
        for register in registers:
            text += f'    ld.global.b32 {register}, [from+{read}];\n'
            read += 4
        for tile, register in ((a, 'left'), (b, 'right')):
            if tile:
                text += f'    add.u64 {register}, start, {tile.descriptor() + (tile.start >> 4):#x};\n'
        operands = ['{' + ', '.join(names) + '}', 'left' if a else '{a0, a1, a2, a3}', 'right']
        operands += ['meta', str(f['sparse'])] if f['sparse'] is not None else []
        operands.append('adds' if f['adds'] else '0')
        if f['a'] in FORMATS:
            operands += ['-1' if negates else '1' for negates in f['negates']]
        if f['a'] in ('f16', 'bf16'):
            operands += [str(int(layout[1])) for layout in (f['left'], f['right']) if layout]
        text += '    wgmma.fence.sync.aligned;\n'
        text += f"    {spelled(f)} {', '.join(operands)};\n"
        text += '    wgmma.commit_group.sync.aligned;\n    wgmma.wait_group.sync.aligned 0;\n'
        for c in names:
            text += f'    st.global.b32 [to+{written}], {c};\n'
            written += 4
    return text + '    ret;\n}\n'


K, MN = False, True
FLOATS = [product(64, 16, 'f32', 'f16', 'f16', (128, MN), (128, MN)),
          product(32, 16, 'f32', 'bf16', 'bf16', (64, K), (64, MN)),
          product(8, 16, 'f16', 'f16', 'f16', None, (32, K), negates=(True, False)),
          product(16, 8, 'f32', 'tf32', 'tf32', (32, K), (16, K), negates=(False, True)),
          product(48, 16, 'f32', 'f16', 'f16', (16, MN), (32, MN), negates=(True, True)),
          product(24, 16, 'f16', 'f16', 'f16', (128, K), (16, MN), adds=False),
          product(8, 8, 'f32', 'tf32', 'tf32', None, (64, K)),
          product(16, 16, 'f32', 'bf16', 'bf16', None, (32, MN))]
EIGHTHS = [product(16, 32, 'f32', 'e4m3', 'e5m2', (128, K), (64, K)),
           product(8, 32, 'f16', 'e5m2', 'e4m3', None, (32, K), negates=(True, False)),
           product(24, 32, 'f32', 'e5m2', 'e5m2', (16, K), (128, K), hard=True)]
INTEGERS = [product(24, 32, 's32', 's8', 'u8', (64, K), (128, K), sat=True),
            product(8, 32, 's32', 'u8', 's8', None, (16, K)),
            product(16, 32, 's32', 'u8', 'u8', (32, K), (32, K), adds=False),
            product(16, 256, 's32', 'b1', 'b1', (128, K), (16, K)),
            product(8, 256, 's32', 'b1', 'b1', None, (64, K))]
SPARSE = [product(16, 32, 'f32', 'f16', 'f16', (32, K), (64, K), sparse=0),
          product(8, 32, 'f16', 'f16', 'f16', None, (128, K), sparse=1),
          product(8, 32, 'f32', 'bf16', 'bf16', (64, MN), (16, MN), sparse=1, negates=(False, True)),
          product(8, 16, 'f32', 'tf32', 'tf32', (16, K), (64, K), sparse=0),
          product(8, 16, 'f32', 'tf32', 'tf32', None, (128, K), sparse=1),
          product(16, 64, 'f32', 'e4m3', 'e4m3', (32, K), (128, K), sparse=0),
          product(8, 64, 's32', 's8', 'u8', None, (64, K), sparse=0),
          product(8, 64, 's32', 'u8', 's8', (32, K), (16, K), sparse=0, sat=True)]
# The other factors and types, so that each form is here once.
OTHERS = [product(8, 16, 'f32', 'f16', 'f16', None, (64, MN), negates=(False, True)),
          product(16, 32, 'f16', 'e4m3', 'e5m2', (64, K), (32, K)),
          product(8, 32, 'f32', 'e5m2', 'e4m3', None, (128, K), negates=(True, True)),
          product(16, 32, 's32', 's8', 's8', (64, K), (64, K)),
          product(24, 32, 's32', 's8', 's8', None, (32, K), sat=True),
          product(8, 32, 's32', 'u8', 'u8', None, (64, K)),
          product(16, 32, 's32', 's8', 'u8', None, (16, K)),
          product(32, 32, 's32', 'u8', 's8', (16, K), (64, K), sat=True)]
SPARSE_OTHERS = [product(24, 32, 'f16', 'f16', 'f16', (64, K), (32, MN), sparse=1),
                 product(16, 32, 'f32', 'f16', 'f16', None, (128, MN), sparse=0),
                 product(16, 32, 'f32', 'bf16', 'bf16', None, (64, K), sparse=1, negates=(True, False)),
                 product(8, 64, 'f16', 'e5m2', 'e4m3', (32, K), (64, K), sparse=0),
                 product(24, 64, 'f16', 'e4m3', 'e4m3', None, (64, K), sparse=0, negates=(False, True)),
                 product(8, 64, 'f32', 'e5m2', 'e5m2', None, (16, K), sparse=0)]
SPARSE_INTEGERS = [product(16, 64, 's32', 's8', 's8', (32, K), (64, K), sparse=0, sat=True),
                   product(8, 64, 's32', 's8', 's8', None, (64, K), sparse=0),
                   product(24, 64, 's32', 'u8', 'u8', (64, K), (64, K), sparse=0),
                   product(8, 64, 's32', 'u8', 'u8', None, (128, K), sparse=0, sat=True),
                   product(8, 64, 's32', 's8', 'u8', (16, K), (64, K), sparse=0),
                   product(16, 64, 's32', 'u8', 's8', None, (16, K), sparse=0)]
KERNELS = [(name, forms, *prepare(seed, forms)) for name, forms, seed in
           (('wgmma_floats', FLOATS, 31), ('wgmma_eighths', EIGHTHS, 32), ('wgmma_integers', INTEGERS, 33),
            ('wgmma_sparse', SPARSE, 34), ('wgmma_others', OTHERS, 36), ('wgmma_sparse_others', SPARSE_OTHERS, 37),
            ('wgmma_sparse_integers', SPARSE_INTEGERS, 38))]

# A tile of each factor has 64 rows of 32 halves, in patterns of 64 bytes. While one is multiplied the next one is copied;
# of three places the oldest is free when all warps have waited for the product before.
GEMM = '''
.visible .entry wgmma_gemm(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 depth)
.reqntid 128
{
    .reg .pred more, over;
    .reg .b32 t, depth, done, place, row, piece, at, twist, base, x<4>, y<4>, bits;
    .reg .b64 a, b, c, left, right, high;
    .reg .f32 d<32>;
    .shared .align 1024 .b8 tiles[24576];
    ld.param.u64 a, [a_];
    ld.param.u64 b, [b_];
    ld.param.u64 c, [c_];
    ld.param.u32 depth, [depth_];
    mov.u32 t, %tid.x;
    // A thread copies two pieces of sixteen bytes of each tile: of row t / 2, number 2 (t % 2) and the one behind it.
    shr.u32 row, t, 1;
    and.b32 piece, t, 1;
    shl.b32 piece, piece, 1;
    mul.lo.u32 at, row, 64;
    shl.b32 twist, piece, 4;
    add.u32 at, at, twist;
    shr.u32 twist, at, 7;
    and.b32 twist, twist, 3;
    shl.b32 twist, twist, 4;
    xor.b32 at, at, twist;
    mul.lo.u32 bits, row, depth;
    shl.b32 bits, bits, 1;
    shl.b32 x0, piece, 4;
    add.u32 bits, bits, x0;
    cvt.u64.u32 high, bits;
    add.u64 a, a, high;
    add.u64 b, b, high;
    mov.u32 base, tiles;
    add.u32 at, at, base;
    shr.u32 base, base, 4;
    mov.u32 done, 0;
    mov.u32 place, 0;
ZEROS
next:
    ld.global.v4.b32 {x0, x1, x2, x3}, [a];
    ld.global.v4.b32 {y0, y1, y2, y3}, [a+16];
    add.u32 row, at, place;
    xor.b32 piece, row, 16;
    st.shared.v4.b32 [row], {x0, x1, x2, x3};
    st.shared.v4.b32 [piece], {y0, y1, y2, y3};
    ld.global.v4.b32 {x0, x1, x2, x3}, [b];
    ld.global.v4.b32 {y0, y1, y2, y3}, [b+16];
    st.shared.v4.b32 [row+4096], {x0, x1, x2, x3};
    st.shared.v4.b32 [piece+4096], {y0, y1, y2, y3};
    fence.proxy.async.shared::cta;
    bar.sync 0;
    shr.u32 bits, place, 4;
    add.u32 bits, bits, base;
    cvt.u64.u32 left, bits;
    or.b64 left, left, 0x8000002000010000;
    add.u64 right, left, 256;
    wgmma.fence.sync.aligned;
    wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {SUMS}, left, right, 1, 1, 1, 0, 0;
    add.u64 left, left, 2;
    add.u64 right, right, 2;
    wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {SUMS}, left, right, 1, 1, 1, 0, 0;
    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 1;
    add.u64 a, a, 64;
    add.u64 b, b, 64;
    add.u32 place, place, 8192;
    setp.eq.u32 over, place, 24576;
    @over mov.u32 place, 0;
    add.u32 done, done, 32;
    setp.lt.u32 more, done, depth;
    @more bra next;
    wgmma.wait_group.sync.aligned 0;
    shr.u32 row, t, 5;
    shl.b32 row, row, 4;
    bfe.u32 piece, t, 2, 3;
    add.u32 row, row, piece;
    and.b32 piece, t, 3;
    mul.lo.u32 row, row, 256;
    mad.lo.u32 row, piece, 8, row;
    cvt.u64.u32 high, row;
    add.u64 c, c, high;
STORES
    ret;
}
'''


def gemm():
    names = [f'd{n}' for n in range(32)]
    zeros = ''.join(f'    mov.f32 {d}, 0f00000000;\n' for d in names)
    stores = ''.join(f'    st.global.v2.f32 [c+{n // 4 * 32 + n // 2 % 2 * 2048}], {{d{n}, d{n + 1}}};\n'
                     for n in range(0, 32, 2))
    text = GEMM.replace('SUMS', ', '.join(names)).replace('ZEROS\n', zeros).replace('STORES\n', stores)
    for parameter in ('a', 'b', 'c', 'depth'):
        text = text.replace(f'[{parameter}_]', f'[of_{parameter}]')
    return text.replace('.param .u64 ', '.param .u64 of_').replace('.param .u32 ', '.param .u32 of_')


def write_ptx():
    with open(os.path.join(record.ROOT, FILE + '.ptx'), 'w') as out:
        out.write(HEAD + ''.join(kernel(*made) for made in KERNELS) + gemm())


for name, _, memory, given, left, _ in KERNELS:
    words = [int.from_bytes(memory[n:n + 4], 'little') for n in range(0, len(memory), 4)]
    flat = lambda threads: [value for thread in threads for value in thread]
    case(name, FILE, [1], [128], [Given('u32', words), Given('u32', flat(given)), Result('u32', flat(left))])

r = Random(35)
a, b = ([[Fraction(r.between(-6, 6), 2) for _ in range(160)] for _ in range(64)] for _ in 'ab')
c = [sum(x * y for x, y in zip(row, column)) for row in a for column in b]
halves = lambda matrix: [encode('f16', v, True) for row in matrix for v in row]
case('wgmma_gemm', FILE, [1], [128], [Given('u16', halves(a)), Given('u16', halves(b)),
                                      Result('u32', [encode('f32', v, True) for v in c]), record.Scalar('u32', 160)])
