"""What Blackwell added beside tensor memory: sparse products of narrow numbers, small matrices of bytes, clusters that take over the
work of others, rows of tensors by their numbers, rounding by random bits, and stores of several kinds.

What is expected comes from the layouts and rules below, in Python alone; products are of small numbers, so that sums are exact."""
import os
import struct
from fractions import Fraction

import record
from record import Given, Random, Result, Scalar, case
from tensors import Tensor

ROOT = os.path.join(record.ROOT, '..', 'blackwell')
LARGE, LATER, SMALL, UNIFORM = 'blackwell', 'blackwell_statistics', 'blackwell_products', 'blackwell_uniform'
HEADS = {LARGE: 'sm_100a', LATER: 'sm_103a', SMALL: 'sm_120a', UNIFORM: 'sm_120a'}
TEXTS = {name: [] for name in HEADS}
LANES = 32

FRAME = '''
.visible .entry %(name)s(.param .u64 data, .param .u64 out%(more)s)%(cluster)s
{
    .reg .pred p, lead, over;
    .reg .b8 y<8>;
    .reg .b16 h<8>;
    .reg .b32 t, s, x, parity, r<40>, o<16>;
    .reg .f32 f<8>;
    .reg .b64 from, to, g, m, d<4>;
    .reg .b128 answer;
    .shared .align 1024 .b8 bytes[%(shared)d];
    .shared .align 8 .b64 object;
    ld.param.u64 from, [data];
    ld.param.u64 to, [out];
    mov.u32 t, %%tid.x;
    mov.u32 s, bytes;
%(body)s
    ret;
}
'''


def frame(file, name, body, shared=1024, more='', cluster=''):
    text = ''.join(f'    {line}\n' if not line.endswith(':') else line + '\n' for line in body.strip().split('\n'))
    TEXTS[file].append(FRAME % dict(name=name, body=text.rstrip('\n'), shared=shared, more=more, cluster=cluster))


def lanes(file, name, body, reads, writes, data, out, shared=1024):
    """A kernel of one warp, each lane of which reads so many words r0, r1 ... and writes words o0, o1 ..."""
    lines = [f'mad.wide.u32 from, t, {4 * reads}, from;', f'mad.wide.u32 to, t, {4 * writes}, to;']
    lines += [f'ld.global.b32 r{n}, [from+{4 * n}];' for n in range(reads)]
    lines += body.strip().split('\n')
    lines += [f'st.global.b32 [to+{4 * n}], o{n};' for n in range(writes)]
    frame(file, name, '\n'.join(lines), shared)
    case(name, file, [1], [LANES], [Given('u32', data), Result('u32', out)], folder=ROOT)


# Sparse products.

FORMATS = {'e4m3': (4, 3, 7), 'e5m2': (5, 2, 15), 'e2m3': (2, 3, 1), 'e3m2': (3, 2, 3), 'e2m1': (2, 1, 1), 'f16': (5, 10, 15)}


def bits_of(form, value):
    """The bits of a number that the format holds."""
    exponent_bits, fraction_bits, bias = FORMATS[form]
    sign, value = (1, -value) if value < 0 else (0, value)
    for code in range(1 << (exponent_bits + fraction_bits)):
        exponent, fraction = code >> fraction_bits, code & ((1 << fraction_bits) - 1)
        unit = Fraction(2) ** (max(exponent, 1) - bias - fraction_bits)
        if unit * (fraction + (1 << fraction_bits if exponent else 0)) == value:
            return sign << (exponent_bits + fraction_bits) | code
    raise ValueError(value)


def place(lines, per_word, lane, register, part):
    """Line and place in it of a part of a register of a factor."""
    eighths = lines // 8
    return lane // 4 + 8 * (register % eighths), (register // eighths * 4 + lane % 4) * per_word + part


def sparse(name, form, a_form, b_form, half=False, blocks=0, fine=False):
    """A sparse product; `blocks` scale factors for a row, which are powers of two, or not if they are `fine`."""
    r = Random(len(name) * 31 + blocks)
    packed = 'mxf4' in form
    depth, width = (128, 4) if packed else (64, 8)
    per_word, kept = 32 // width, depth // 2
    values = [Fraction(n, 2) for n in (0, 0, 1, -1, 2, -2, 3, 4)]
    pick = lambda: values[r.below(len(values))]
    a = [[pick() for _ in range(kept)] for _ in range(16)]
    b = [[pick() for _ in range(depth)] for _ in range(8)]
    c = [[Fraction(r.between(-8, 8)) for _ in range(8)] for _ in range(16)]
    # Of four numbers, or of four pairs, two: the smaller index first.
    ways = [(i, j) for j in range(4) for i in range(j)]
    chosen = [[ways[r.below(6)] for _ in range(16)] for _ in range(16)]
    columns = []
    for row in chosen:
        index = [each for way in row for each in way]
        if packed:
            columns.append([n // 2 * 8 + 2 * at + k for n, at in enumerate(index) for k in (0, 1)])
        else:
            columns.append([n // 2 * 4 + at for n, at in enumerate(index)])
    factors = [Fraction(n) for n in (1, 2, Fraction(1, 2))] + ([Fraction(3, 2)] if fine else [])
    scale = lambda lines: [[factors[r.below(len(factors))] for _ in range(blocks)] for _ in range(lines)]
    scale_a, scale_b = scale(16), scale(8)
    scaled = lambda row, column, n: scale_a[row][n * blocks // kept] * scale_b[column][n * blocks // kept] if blocks else 1
    result = [[c[i][j] + sum(a[i][n] * b[j][columns[i][n]] * scaled(i, j, n) for n in range(kept)) for j in range(8)] for i in range(16)]
    place_bits = lambda form_of, value: bits_of(form_of, value) << (2 if form_of == 'e2m1' and not packed else 0)
    code = (lambda value: bits_of('e4m3', value)) if fine else (lambda value: 127 + {1: 0, 2: 1, Fraction(1, 2): -1}[value])

    def words(matrix, form_of, lines, count, lane):
        out = []
        for register in range(count):
            word = 0
            for part in range(per_word):
                line, at = place(lines, per_word, lane, register, part)
                word |= place_bits(form_of, matrix[line][at]) << (width * part)
            out.append(word)
        return out

    def sums(matrix, lane):
        group, member = lane // 4, lane % 4
        four = [matrix[group + 8 * (n // 2)][2 * member + n % 2] for n in range(4)]
        if half:
            return [bits_of('f16', four[n]) | bits_of('f16', four[n + 1]) << 16 for n in (0, 2)]
        return [struct.unpack('<I', struct.pack('<f', float(value)))[0] for value in four]

    # Byte and pair of lanes, or lane, of the scale factors.
    byte_a, pair, byte_b, which = (2, 1, 1, 3) if blocks == 1 else (2, 1, 0, 2) if blocks == 2 else (0, 1, 0, 3)
    data, out = [], []
    for lane in range(LANES):
        group, member = lane // 4, lane % 4
        row = group + 8 * (member % 2)
        indices = sum((i | j << 2) << (4 * n) for n, (i, j) in enumerate(chosen[row]))
        noise = [r.bits(32), r.bits(32)]
        if blocks:
            if member // 2 == pair:
                noise[0] = sum(code(value) << (8 * (byte_a + n)) for n, value in enumerate(scale_a[row]))
            if member == which:
                noise[1] = sum(code(value) << (8 * (byte_b + n)) for n, value in enumerate(scale_b[group]))
        data += words(a, a_form, 16, 4, lane) + words(b, b_form, 8, 4, lane) + (sums(c, lane) + [0, 0])[:4]
        data += [indices >> (32 * (member // 2)) & 0xffffffff] + noise
        out += sums(result, lane)
    regs = lambda first, count: '{' + ', '.join(f'r{first + n}' for n in range(count)) + '}'
    kind = 'f16' if half else 'f32'
    count = 2 if half else 4
    body = ''.join(f'mov.b32 o{n}, r{8 + n};\n' for n in range(count))
    sum_of = '{' + ', '.join(f'o{n}' if half else f'f{n}' for n in range(count)) + '}'
    if not half:
        body += ''.join(f'mov.b32 f{n}, o{n};\n' for n in range(count))
    tail = f', r13, {{{byte_a}, {pair}}}, r14, {{{byte_b}, {which}}}' if blocks else ''
    ending = ('.ue4m3' if fine else '.ue8m0') if blocks else ''
    shape = f'm16n8k{depth}'
    body += (f'mma.sp::ordered_metadata.sync.aligned.{shape}.row.col{form}.{kind}.{a_form}.{b_form}.{kind}{ending} '
             f'{sum_of}, {regs(0, 4)}, {regs(4, 4)}, {sum_of}, r12, 0{tail};\n')
    if not half:
        body += ''.join(f'mov.b32 o{n}, f{n};\n' for n in range(count))
    lanes(SMALL, name, body, 15, count, data, out)


sparse('sparse_halves', '', 'e4m3', 'e5m2', half=True)
sparse('sparse_mixed', '.kind::f8f6f4', 'e3m2', 'e2m1')
sparse('sparse_mixed_halves', '.kind::f8f6f4', 'e2m1', 'e2m3', half=True)
sparse('sparse_scaled', '.kind::mxf8f6f4.block_scale', 'e2m1', 'e4m3', blocks=1)
sparse('sparse_mxf4', '.kind::mxf4.block_scale', 'e2m1', 'e2m1', blocks=2)
sparse('sparse_nvf4_2x', '.kind::mxf4nvf4.block_scale.scale_vec::2X', 'e2m1', 'e2m1', blocks=2)
sparse('sparse_nvf4_4x', '.kind::mxf4nvf4.block_scale.scale_vec::4X', 'e2m1', 'e2m1', blocks=4, fine=True)


# Small matrices of bytes. Each lane names a row of sixteen bytes: lane n row 5 n + 3.

ROWS = 32
row_of = lambda lane: (5 * lane + 3) % ROWS
NAME_ROW = '''mad.lo.u32 x, t, 80, 48;
and.b32 x, x, 511;
add.u32 x, x, s;
'''


def unpacked(row, bits):
    """The numbers of a row, each in a byte."""
    if bits == 8:
        return list(row)
    whole = int.from_bytes(bytes(row), 'little')
    return [whole >> (bits * n) & ((1 << bits) - 1) for n in range(16)]


def load(name, shape, count, bits):
    r = Random(count * 8 + bits)
    memory = [[r.bits(8) for _ in range(16)] for _ in range(ROWS)]
    tall = shape == 'm16n16'
    out = []
    for lane in range(LANES):
        group, member = lane // 4, lane % 4
        for matrix in range(count):
            for register in range(2 if tall else 1):
                word = 0
                for byte in range(4):
                    line, at = (16 * matrix + 4 * member + byte, group + 8 * register) if tall else (8 * matrix + group, 4 * member + byte)
                    word |= unpacked(memory[row_of(line)], bits)[at] << (8 * byte)
                out.append(word)
    registers = count * (2 if tall else 1)
    packed = {8: '.b8', 6: '.b8x16.b6x16_p32', 4: '.b8x16.b4x16_p64'}[bits]
    body = f'''mad.lo.u32 x, t, 16, s;
st.shared.v4.b32 [x], {{r0, r1, r2, r3}};
bar.sync 0;
{NAME_ROW}ldmatrix.sync.aligned.{shape}.x{count}{'.trans' if tall else ''}.shared{packed} {{{', '.join(f'o{n}' for n in range(registers))}}}, [x];
'''
    flat = [int.from_bytes(bytes(row[4 * n:4 * n + 4]), 'little') for row in memory for n in range(4)]
    lanes(LARGE, name, body, 4, registers, flat, out)


load('matrices_of_bytes', 'm16n16', 1, 8)
load('matrices_of_bytes_2', 'm16n16', 2, 8)
load('matrices_of_six', 'm16n16', 2, 6)
load('matrices_of_four', 'm16n16', 1, 4)
load('rows_of_six', 'm8n16', 4, 6)
load('rows_of_four', 'm8n16', 2, 4)


def store_matrices(count):
    r = Random(500 + count)
    data = [r.bits(32) for _ in range(LANES * 4)]
    memory = [[0] * 16 for _ in range(ROWS)]
    for lane in range(LANES):
        group, member = lane // 4, lane % 4
        for matrix in range(count):
            for byte in range(4):
                line, at = 8 * matrix + 2 * member + byte % 2, group + 8 * (byte // 2)
                memory[row_of(line)][at] = data[4 * lane + matrix] >> (8 * byte) & 0xff
    out = [int.from_bytes(bytes(row[4 * n:4 * n + 4]), 'little') for row in memory for n in range(4)]
    body = f'''mov.b32 x, 0;
mad.lo.u32 o0, t, 16, s;
st.shared.v4.b32 [o0], {{x, x, x, x}};
bar.sync 0;
{NAME_ROW}stmatrix.sync.aligned.m16n8.x{count}.trans.shared.b8 [x], {{{', '.join(f'r{n}' for n in range(count))}}};
bar.sync 0;
mad.lo.u32 x, t, 16, s;
ld.shared.v4.b32 {{o0, o1, o2, o3}}, [x];
'''
    lanes(LARGE, f'store_bytes_{count}', body, 4, 4, data, out)


for count in (1, 2, 4):
    store_matrices(count)


# Rounding by random bits.

TARGETS = {'f16x2': ('f16', 16, 13), 'bf16x2': ('bf16', 16, 16), 'e4m3x4': ('e4m3', 8, 8), 'e5m2x4': ('e5m2', 8, 8),
           'e2m3x4': ('e2m3', 8, 8), 'e3m2x4': ('e3m2', 8, 8), 'e2m1x4': ('e2m1', 4, 4)}
FORMATS['bf16'] = (8, 7, 127)
GREATEST = {'e4m3': 448, 'e5m2': 57344, 'e2m3': Fraction(15, 2), 'e3m2': 28, 'e2m1': 6, 'f16': 65504, 'bf16': Fraction(255) * 2 ** 120}


def at_random(form, single, random, count):
    """The bits of a single after rounding: what is cut off, as far as there are random bits, is added to these."""
    value = Fraction(struct.unpack('<f', struct.pack('<I', single))[0])
    exponent_bits, fraction_bits, bias = FORMATS[form]
    sign, magnitude = (1, -value) if value < 0 else (0, value)
    exponent = 1 - bias
    while magnitude >= Fraction(2) ** (exponent + 1):
        exponent += 1
    units = magnitude / Fraction(2) ** (exponent - fraction_bits)
    whole = units.numerator // units.denominator
    cut = (units - whole) * 2 ** count
    whole += (cut.numerator // cut.denominator + random) >> count
    code = ((exponent - (1 - bias)) << fraction_bits) + whole
    greatest = bits_of(form, Fraction(GREATEST[form])) if form != 'bf16' else 0x7f7f
    return sign << (exponent_bits + fraction_bits) | min(code, greatest)


def rounded():
    r = Random(41)
    data, out = [], []
    for lane in range(LANES):
        numbers = []
        for _ in range(4):
            exponent = 127 + r.between(-16, 12 if lane % 4 else 16)
            numbers.append(r.bits(1) << 31 | exponent << 23 | r.bits(23))
        random = r.bits(32)
        data += numbers + [random]
        for form, width, count in TARGETS.values():
            taken = numbers if width < 16 else numbers[:2]
            word = 0
            for n, number in enumerate(reversed(taken)):
                low = {16: 16 * n, 8: 8 * n, 4: 16 + 4 * n}[width]
                word |= at_random(form, number, random >> low & ((1 << count) - 1), count) << (width * n)
            out.append(word)
    body = ''.join(f'mov.b32 f{n}, r{n};\n' for n in range(4))
    for n, target in enumerate(TARGETS):
        numbers = 'f0, f1' if n < 2 else '{f0, f1, f2, f3}'
        to = 'h0' if target == 'e2m1x4' else f'o{n}'
        body += f'cvt.rs.satfinite.{target}.f32 {to}, {numbers}, r4;\n'
    body += 'cvt.u32.u16 o6, h0;\n'
    lanes(LARGE, 'rounded_at_random', body, 5, len(TARGETS), data, out)


rounded()


# Stores.

def stores():
    r = Random(9)
    words = 128
    data = [r.bits(32) for _ in range(words)]
    after = list(data)
    after[8:8 + 40] = [0] * 40
    # Zeros in the middle of shared memory, whose length a register gives.
    frame(LARGE, 'zeros_in_bulk', '''mad.wide.u32 from, t, 16, from;
mad.wide.u32 to, t, 16, to;
ld.global.v4.b32 {r0, r1, r2, r3}, [from];
mad.lo.u32 x, t, 16, s;
st.shared.v4.b32 [x], {r0, r1, r2, r3};
bar.sync 0;
setp.eq.u32 lead, t, 7;
@!lead bra filled;
mul.wide.u32 d0, t, 16;
st.bulk.weak.shared::cta [s+32], d0, 0;
st.bulk.shared::cta [s+144], 48, 0;
filled:
bar.sync 0;
ld.shared.v4.b32 {r0, r1, r2, r3}, [x];
st.global.v4.b32 [to], {r0, r1, r2, r3};''')
    case('zeros_in_bulk', LARGE, [1], [LANES], [Given('u32', data), Result('u32', after)], folder=ROOT)
    # Stores and sums that go on beside the program: a word and a pair of each lane, and one sum of all.
    data = [r.bits(32) for _ in range(2 * LANES)]
    sums = [sum(data[::2]) % (1 << 32), 0] + [0, 0]
    total = sum(data[2 * n] | data[2 * n + 1] << 32 for n in range(LANES)) % (1 << 64)
    sums[2:] = [total & 0xffffffff, total >> 32]
    out = sums + [word for n in range(LANES) for word in (data[2 * n + 1], data[2 * n] & 0xffff, data[2 * n], data[2 * n + 1])]
    frame(LARGE, 'stores_beside', '''mad.wide.u32 from, t, 8, from;
ld.global.v2.b32 {r0, r1}, [from];
mov.b64 d0, {r0, r1};
red.async.release.gpu.global.add.u32 [to], r0;
red.async.release.sys.global.add.u64 [to+8], d0;
mad.wide.u32 to, t, 16, to;
cvt.u16.u32 h0, r0;
st.async.release.gpu.global.b32 [to+16], r1;
st.async.release.sys.global.b16 [to+20], h0;
st.async.release.gpu.global.b64 [to+24], d0;''')
    case('stores_beside', LARGE, [1], [LANES], [Given('u32', data), Result('u32', out, [0] * len(out))], folder=ROOT)
    # Of each sixteen bytes those that the mask names.
    data, old, mask = [r.bits(8) for _ in range(256)], [r.bits(8) for _ in range(256)], 0b1011_0001_0100_1110
    after = [new if mask >> (n % 16) & 1 else old[n] for n, new in enumerate(data)]
    frame(LARGE, 'masked_copy', f'''mad.wide.u32 from, t, 8, from;
ld.global.v2.b32 {{r0, r1}}, [from];
mad.lo.u32 x, t, 8, s;
st.shared.v2.b32 [x], {{r0, r1}};
fence.proxy.async.shared::cta;
bar.sync 0;
mov.b16 h0, {mask};
elect.sync _|lead, 0xffffffff;
@!lead bra copied;
cp.async.bulk.global.shared::cta.bulk_group.cp_mask [to], [s], 256, h0;
cp.async.bulk.commit_group;
cp.async.bulk.wait_group 0;
copied:''')
    case('masked_copy', LARGE, [1], [LANES], [Given('u8', data), Result('u8', after, old)], folder=ROOT)
    # One device has one copy, which is its own sum.
    data = [r.bits(32) for _ in range(8 * LANES)]
    frame(LARGE, 'copies_of_bytes', '''mad.wide.u32 from, t, 32, from;
mad.wide.u32 to, t, 32, to;
multimem.ld_reduce.global.add.acc::f16.v4.e4m3x4 {r0, r1, r2, r3}, [from];
multimem.ld_reduce.relaxed.sys.global.max.v4.e5m2x2 {h0, h1, h2, h3}, [from+16];
multimem.ld_reduce.global.min.v4.e4m3 {y0, y1, y2, y3}, [from+24];
multimem.ld_reduce.global.add.e5m2x4 r4, [from+28];
multimem.st.global.v4.e4m3x4 [to], {r0, r1, r2, r3};
multimem.st.release.sys.global.v4.e5m2x2 [to+16], {h0, h1, h2, h3};
multimem.st.global.v4.e4m3 [to+24], {y0, y1, y2, y3};
multimem.st.global.e5m2x4 [to+28], r4;''')
    case('copies_of_bytes', LARGE, [1], [LANES], [Given('u32', data), Result('u32', data)], folder=ROOT)


stores()


# Clusters that take over others. Every block adds to its own word, whoever does its work.

def takes(name, grid, cluster):
    size = cluster[0]
    count = grid[0] * grid[1] * grid[2]
    data = [Random(77 + n).bits(16) for n in range(count)]
    everybody = '.multicast::cluster::all' if size > 1 else ''
    meet = 'barrier.cluster.arrive;\nbarrier.cluster.wait;' if size > 1 else 'bar.sync 0;'
    frame(LARGE, name, f'''mov.u32 x, object;
setp.eq.u32 lead, t, 0;
@lead mbarrier.init.shared::cta.b64 [x], 1;
@lead fence.mbarrier_init.release.cluster;
fence.proxy.async.shared::cta;
{meet}
mov.u32 parity, 0;
mov.u32 r0, %ctaid.x;
mov.u32 r1, %ctaid.y;
mov.u32 r2, %ctaid.z;
mov.u32 r4, %cluster_ctarank;
again:
@lead mbarrier.arrive.expect_tx.relaxed.cluster.shared::cta.b64 _, [x], 16;
{meet}
setp.eq.u32 over, r4, 0;
and.pred over, over, lead;
@over clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes{everybody}.b128 [s], [x];
// What this round does: the block's word.
mov.u32 r8, %nctaid.x;
mov.u32 r9, %nctaid.y;
mad.lo.u32 r5, r2, r9, r1;
mad.lo.u32 r5, r5, r8, r0;
mad.wide.u32 d0, r5, 4, from;
ld.global.u32 r6, [d0];
add.u32 r6, r6, t;
mad.wide.u32 d0, r5, 4, to;
red.global.add.u32 [d0], r6;
wait:
mbarrier.try_wait.parity.shared::cta.b64 p, [x], parity;
@!p bra wait;
ld.shared.b128 answer, [s];
xor.b32 parity, parity, 1;
clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, answer;
@!p bra done;
clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {{r0, r1, r2, r3}}, answer;
clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 r7, answer;
add.u32 r0, r7, r4;
clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128 r1, answer;
clusterlaunchcontrol.query_cancel.get_first_ctaid::z.b32.b128 r7, answer;
add.u32 r2, r7, r3;
fence.proxy.async.shared::cta;
{meet}
bra again;
done:
{meet if size > 1 else ''}'''.rstrip('\n'), cluster=f' .reqnctapercluster {size}, 1, 1' if size > 1 else '')
    out = [LANES * value + LANES * (LANES - 1) // 2 for value in data]
    case(name, LARGE, grid, [LANES], [Given('u32', data), Result('u32', out, [0] * count)], folder=ROOT)


takes('take_blocks', [3, 2, 4], [1])
takes('take_clusters', [6, 3, 2], [2])


# Boxes of tensors.

class Lines(Tensor):
    """Boxes along lines of an image: so many parts of so many pixels, each with a halo behind it."""

    def __init__(self, *given, parts, halo, offset, **more):
        super().__init__(*given, **more)
        self.parts, self.halo, self.by = parts, halo, offset

    def places(self, start, offsets=None):
        low = self.image['lower'][0] + self.by
        high = self.dims[1] - 1 + self.image['upper'][0] + self.by
        at, number, found = start[1] + self.by, start[-1], []
        for count in self.parts:
            for _ in range(count):
                behind = (at, number)
                found.append(behind)
                at += self.steps[1]
                if at > high:
                    at, number = low, number + 1
            found += [(behind[0] + (n + 1) * self.steps[1], behind[1]) for n in range(self.halo)]
        return [[start[0] + c, w] + start[2:-1] + [n] for w, n in found for c in range(self.image['channels'])]


class Numbered(Tensor):
    """Four rows by their numbers."""

    def places(self, start, offsets=None):
        return [[start[0] + n, row] for row in start[1:] for n in range(self.box[0])]


def memory_of(tensor, r):
    memory = bytearray(tensor.bytes)
    count = tensor.bytes // tensor.size
    values = [r.between(-64, 64) / 4 if tensor.kind[0] == 'f' else record.wrap(tensor.kind, r.bits(8 * tensor.size)) for _ in range(count)]
    memory[:count * tensor.size] = record.pack(tensor.kind, values)
    return memory


def box(name, tensor, start, way, window='', blocks=1):
    r = Random(len(name))
    cells = list(tensor.cells(start))
    size = len(cells) * tensor.size
    memory, tile = memory_of(tensor, r), bytearray(size)
    for shared, place_of in cells:
        if place_of is not None:
            tile[shared:shared + tensor.size] = memory[place_of:place_of + tensor.size]
    coordinates = ', '.join(map(str, start))
    many = blocks > 1
    meet = 'barrier.cluster.arrive;\nbarrier.cluster.wait;' if many else 'bar.sync 0;'
    mask = ', h0' if many else ''
    pair = '.multicast::cluster.cta_group::2' if many else ''
    # Of a pair of blocks the even one is told of both copies.
    expected = size * blocks
    frame(LARGE, name, f'''mov.b64 m, map;
cvta.param.u64 m, m;
mov.u32 x, object;
mov.u32 r0, %cluster_ctarank;
mov.b16 h0, {(1 << blocks) - 1};
setp.eq.u32 lead, t, 0;
setp.eq.u32 over, r0, 0;
and.pred over, over, lead;
@lead mbarrier.init.shared::cta.b64 [x], 1;
@lead fence.mbarrier_init.release.cluster;
fence.proxy.async.shared::cta;
@over mbarrier.arrive.expect_tx.shared::cta.b64 _, [x], {expected};
{meet}
elect.sync _|lead, 0xffffffff;
@!lead bra started;
setp.ne.u32 p, r0, 0;
@p bra started;
cp.async.bulk.prefetch.tensor.{len(tensor.dims)}d.L2.global{way} [m, {{{coordinates}}}]{window};
cp.async.bulk.tensor.{len(tensor.dims)}d.shared::cluster.global{way}.mbarrier::complete_tx::bytes{pair} [s], [m, {{{coordinates}}}], [x]{window}{mask};
started:
mapa.shared::cluster.u32 x, x, 0;
setp.ne.u32 p, r0, 0;
@p bra loaded;
mov.u32 x, object;
wait:
mbarrier.try_wait.parity.shared::cta.b64 over, [x], 0;
@!over bra wait;
loaded:
{meet}
mad.wide.u32 to, r0, {size}, to;
again:
mad.lo.u32 x, t, 4, s;
ld.shared.u32 r1, [x];
mad.wide.u32 g, t, 4, to;
st.global.u32 [g], r1;
add.u32 t, t, {LANES};
setp.lt.u32 p, t, {size // 4};
@p bra again;
{meet}''', shared=size, more=', .param .align 64 .b8 map[128]', cluster=f' .reqnctapercluster {blocks}, 1, 1' if many else '')
    case(name, LARGE, [blocks], [LANES], [Given('u8', memory), Result('u8', bytes(tile) * blocks), tensor.argument(0)], folder=ROOT)


def scatter(name, tensor, start):
    r = Random(len(name))
    cells = list(tensor.cells(start))
    size = len(cells) * tensor.size
    before = memory_of(tensor, r)
    tile = bytearray(r.bits(8) for _ in range(size))
    after = bytearray(before)
    for shared, place_of in cells:
        if place_of is not None:
            after[place_of:place_of + tensor.size] = tile[shared:shared + tensor.size]
    frame(LARGE, name, f'''mov.b64 m, map;
cvta.param.u64 m, m;
again:
mad.wide.u32 g, t, 4, from;
ld.global.u32 r1, [g];
mad.lo.u32 x, t, 4, s;
st.shared.u32 [x], r1;
add.u32 t, t, {LANES};
setp.lt.u32 p, t, {size // 4};
@p bra again;
fence.proxy.async.shared::cta;
bar.sync 0;
elect.sync _|lead, 0xffffffff;
@!lead bra stored;
cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [m, {{{', '.join(map(str, start))}}}], [s];
cp.async.bulk.commit_group;
cp.async.bulk.wait_group 0;
stored:''', shared=size, more=', .param .align 64 .b8 map[128]')
    case(name, LARGE, [1], [LANES], [Given('u8', tile), Result('u8', after, before), tensor.argument(1)], folder=ROOT)


box('gather_rows', Numbered('u32', [72, 20], [32, 1], swizzle=128), [8, 17, 3, -1, 4], '.tile::gather4')
box('gather_for_two', Numbered('f16', [64, 30], [32, 1], swizzle=64), [40, 29, 30, 0, 7], '.tile::gather4', blocks=2)
scatter('scatter_rows', Numbered('u16', [80, 12], [64, 1], swizzle=128), [24, 5, 11, 12, 0])
image = dict(lower=[-1], upper=[-1], channels=32, pixels=20)
box('load_line_of_image', Lines('f16', [64, 9, 4], image=image, swizzle=64, parts=[20], halo=2, offset=1), [0, 4, 1], '.im2col::w', ', {2, 1}')
image = dict(lower=[0, 0], upper=[-2, 0], channels=64, pixels=16)
box('load_parts_of_lines', Lines('f16', [64, 40, 3, 6], image=image, swizzle=128, parts=[32] * 4, halo=3, offset=0), [0, 5, 2, 0],
    '.im2col::w::128', ', {3, 0}')


def fields():
    """Fields of a tensor map that came later."""
    r = Random(3)
    words = [r.bits(32) for _ in range(32)]
    after = list(words)
    after[2] = words[2] & ~(7 << 19) | 2 << 19
    body = '''mad.wide.u32 from, t, 4, from;
mad.wide.u32 g, t, 4, to;
ld.global.b32 r0, [from];
st.global.b32 [g], r0;
bar.sync 0;
setp.eq.u32 lead, t, 0;
@lead tensormap.replace.tile.swizzle_atomicity.global.b1024.b32 [to], 2;'''
    frame(LARGE, 'map_fields', body)
    case('map_fields', LARGE, [1], [LANES], [Given('u32', words), Result('u32', after)], folder=ROOT)


fields()


# Loads from tensor memory with the least or the greatest of what each thread loads.

def statistics():
    r = Random(55)
    columns = 32
    special = [0x7fc00000, 0xff800000, 0x80000000, 0, 0x7f800000]
    rows = [[special[r.below(5)] if r.below(40) == 0 else r.bits(32) & ~(0x7f << 24) | (100 + r.below(60)) << 23 for _ in range(columns)] for _ in range(LANES)]
    rows = [[word & 0xffffffff for word in row] for row in rows]
    signed = lambda word: word - (1 << 32) if word >> 31 else word
    nan = lambda word: word & 0x7fffffff > 0x7f800000
    # Singles in order; negative zero before zero.
    order = lambda word: ~(word & 0x7fffffff) if word >> 31 else word

    def single(words, pick, magnitudes=False, propagates=False):
        words = [word & 0x7fffffff if magnitudes else word for word in words]
        numbers = [word for word in words if not nan(word)]
        if not numbers or (propagates and len(numbers) < len(words)):
            return 0x7fffffff
        return pick(numbers, key=order)

    forms = [
        ('32x32b.x32.min.u32', lambda row, lane: (row, min(row))),
        ('32x32b.x8.max.u32', lambda row, lane: (row[:8], max(row[:8]))),
        ('32x32b.x16.min.s32', lambda row, lane: (row[:16], min(row[:16], key=signed))),
        ('32x32b.x2.max.s32', lambda row, lane: (row[:2], max(row[:2], key=signed))),
        ('32x32b.x32.min.f32', lambda row, lane: (row, single(row, min))),
        ('32x32b.x32.max.abs.f32', lambda row, lane: (row, single(row, max, magnitudes=True))),
        ('32x32b.x16.max.NaN.f32', lambda row, lane: (row[:16], single(row[:16], max, propagates=True))),
        ('32x32b.x4.min.abs.NaN.f32', lambda row, lane: (row[:4], single(row[:4], min, magnitudes=True, propagates=True))),
    ]
    out = [[] for _ in range(LANES)]
    body = '''.reg .b32 w<32>, tensor;
.reg .f32 z<33>;
.shared .align 4 .b32 address;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [address], 32;
tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
ld.shared.b32 tensor, [address];
mad.wide.u32 from, t, 128, from;
'''
    body += ''.join(f'ld.global.b32 w{n}, [from+{4 * n}];\n' for n in range(columns))
    body += f'''tcgen05.st.sync.aligned.32x32b.x32.b32 [tensor], {{{', '.join(f'w{n}' for n in range(columns))}}};
tcgen05.wait::st.sync.aligned;
'''
    words = 4 * len(forms) + 4
    body += f'mad.wide.u32 to, t, {4 * words}, to;\n'
    # Of what was loaded the first, the last and the exclusive or of all go out, and what was computed of it.
    for number, (form, rule) in enumerate(forms):
        count = int(form.split('.x')[1].split('.')[0])
        letter = 'z' if form.endswith('f32') else 'w'
        listed = ', '.join(f'{letter}{n}' for n in range(count))
        result = 'z32' if letter == 'z' else 'x'
        body += f'tcgen05.ld.red.sync.aligned.{form} {{{listed}}}, {result}, [tensor];\ntcgen05.wait::ld.sync.aligned;\n'
        if letter == 'z':
            body += ''.join(f'mov.b32 w{n}, z{n};\n' for n in range(count)) + 'mov.b32 x, z32;\n'
        body += f'st.global.b32 [to+{16 * number}], x;\nmov.b32 x, w0;\n' + ''.join(f'xor.b32 x, x, w{n};\n' for n in range(1, count))
        body += f'st.global.b32 [to+{16 * number + 4}], w0;\nst.global.b32 [to+{16 * number + 8}], w{count - 1};\nst.global.b32 [to+{16 * number + 12}], x;\n'
    body += '''tcgen05.ld.red.sync.aligned.16x32bx2.x4.max.u32 {w0, w1, w2, w3}, x, [tensor], 16;
tcgen05.wait::ld.sync.aligned;
'''
    body += f'st.global.b32 [to+{16 * len(forms)}], x;\nst.global.b32 [to+{16 * len(forms) + 4}], w0;\n'
    body += f'st.global.b32 [to+{16 * len(forms) + 8}], w3;\nst.global.b32 [to+{16 * len(forms) + 12}], t;\n'
    body += 'tcgen05.dealloc.cta_group::1.sync.aligned.b32 tensor, 32;'
    for lane, row in enumerate(rows):
        for form, rule in forms:
            loaded, result = rule(row, lane)
            whole = 0
            for word in loaded:
                whole ^= word
            out[lane] += [result, loaded[0], loaded[-1], whole]
        # Two halves: threads 0 to 15 have lane n and the first columns, the others lane n - 16 and those sixteen further.
        loaded = rows[lane % 16][:4] if lane < 16 else rows[lane % 16][16:20]
        out[lane] += [max(loaded), loaded[0], loaded[3], lane]
    frame(LATER, 'statistics_of_loads', body)
    case('statistics_of_loads', LATER, [1], [LANES], [
        Given('u32', sum(rows, [])), Result('u32', sum(out, []))], folder=ROOT)


statistics()


# Floating numbers that are the same for the whole warp, and extremes of 64 bits.

def uniform_singles():
    n, m, a, b = -7, (1 << 24) + 1, 0.75, 5.5
    body = '''ld.param.b32 r0, [of_n];
ld.param.b32 r1, [of_m];
ld.param.f32 f0, [of_a];
ld.param.f32 f1, [of_b];
cvt.rn.f32.s32 f2, r0;
mul.rn.f32 f3, f2, f0;
add.rn.f32 f3, f3, f1;
fma.rn.f32 f4, f3, f0, f2;
min.f32 f5, f4, f1;
cvt.rzi.s32.f32 r2, f5;
cvt.rp.f32.u32 f6, r1;
cvt.rn.f32.s32 f7, t;
fma.rn.f32 f3, f7, f3, f7;
fma.rn.f32 f5, f7, f5, f7;
add.s32 r2, r2, t;
mul.wide.u32 d0, t, 16;
add.u64 to, to, d0;
st.global.f32 [to], f3;
st.global.f32 [to+4], f5;
st.global.b32 [to+8], r2;
setp.eq.u32 p, t, 3;
@p st.global.f32 [to+12], f6;
@!p st.global.b32 [to+12], t;'''
    sum_ = n * a + b
    fused = sum_ * a + n
    least = min(fused, b)
    single = lambda value: struct.unpack('<I', struct.pack('<f', value))[0]
    up = single(float(m))
    # The next number up where the nearest one is below.
    up += struct.unpack('<f', struct.pack('<I', up))[0] < m
    out = []
    for t in range(LANES):
        out += [single(t * sum_ + t), single(t * least + t), (int(least) + t) & 0xffffffff, up if t == 3 else t]
    frame(UNIFORM, 'uniform_singles', body, more=', .param .s32 of_n, .param .u32 of_m, .param .f32 of_a, .param .f32 of_b')
    case('uniform_singles', UNIFORM, [1], [LANES], [
        Given('u32', [0]), Result('u32', out), Scalar('s32', n), Scalar('u32', m), Scalar('f32', a), Scalar('f32', b)], folder=ROOT)


def extremes_of_pairs():
    r = Random(59)
    pairs = [[r.bits(62) << 2 | r.bits(2) for _ in range(2)] for _ in range(LANES)]
    # The upper words are the same, or the signs differ.
    pairs[1][1] = pairs[1][0] ^ 1
    pairs[2] = [1 << 63, (1 << 63) - 1]
    pairs[3][1] = pairs[3][0]
    signed = lambda value: value - (1 << 64) if value >> 63 else value
    words = lambda value: [value & 0xffffffff, value >> 32]
    forms = [('min.u64', min), ('max.u64', max), ('min.s64', lambda *of: min(of, key=signed)), ('max.s64', lambda *of: max(of, key=signed))]
    body = 'mov.b64 d0, {r0, r1};\nmov.b64 d1, {r2, r3};\n'
    for at, (form, _) in enumerate(forms):
        body += f'{form} d2, d0, d1;\nmov.b64 {{o{2 * at}, o{2 * at + 1}}}, d2;\n'
    data = [word for pair in pairs for value in pair for word in words(value)]
    out = [word for pair in pairs for _, rule in forms for word in words(rule(*pair))]
    lanes(UNIFORM, 'extremes_of_pairs', body, 4, 8, data, out)


uniform_singles()
extremes_of_pairs()


def write_ptx():
    for name, parts in TEXTS.items():
        head = f'// Written by tools/kernels/blackwell.py.\n.version 9.0\n.target {HEADS[name]}\n.address_size 64\n'
        with open(os.path.join(ROOT, name + '.ptx'), 'w') as out:
            out.write(head + ''.join(parts))
