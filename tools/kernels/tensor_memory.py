"""Tensor memory: loads and stores in all shapes, copies from shared memory, products of all kinds.

Every kernel is one frame: an image comes to shared memory, 128 lanes by 32 columns of words come to tensor memory, something
happens there, and all 32 columns go out again. What is expected comes from the lists below, in Python alone: numbers are small
integers and fractions, so that sums are exact."""
import os
import struct

import record
from record import Given, Random, Result, Scalar, TensorMap, case

FILE = 'tensor_memory'
ROOT = os.path.join(record.ROOT, '..', 'tensor-memory')
LANES, COLUMNS = 128, 32
# Where the operands of a product lie: left factor, scales or metadata. The result begins at column 0.
LEFT, SCALE_LEFT, SCALE_RIGHT, METADATA = 16, 24, 28, 30
RIGHT = 8192  # of the image

HEAD = '''// Written by tools/kernels/tensor_memory.py: tensor memory, and what fills, multiplies and reads it.
.version 8.8
.target sm_100a
.address_size 64
'''

KERNEL = '''
.visible .entry %(name)s(.param .u64 of_image, .param .u64 of_data, .param .u64 of_out)
    .reqntid 128%(cluster)s
{
    .reg .pred p, lead;
    .reg .b16 both;
    .reg .b32 t, warp, block, at, x, own, tensor, lanes, image, r<64>;
    .reg .b64 from, to, start, right;
    .shared .align 1024 .b8 bytes[%(size)d];
    .shared .align 8 .b64 done;
    .shared .align 4 .b32 address;
    mov.u32 t, %%tid.x;
    shr.u32 warp, t, 5;
    mov.u32 block, %%ctaid.x;
    mov.u32 image, bytes;
    ld.param.u64 from, [of_image];
    mad.wide.u32 from, block, %(size)d, from;
    mad.wide.u32 from, t, 4, from;
    mad.lo.u32 own, t, 4, image;
    mov.u32 at, 0;
copy:
    ld.global.b32 x, [from];
    st.shared.b32 [own], x;
    add.u64 from, from, 512;
    add.u32 own, own, 512;
    add.u32 at, at, 512;
    setp.lt.u32 p, at, %(size)d;
    @p bra copy;
    setp.ne.u32 p, warp, 0;
    @p bra taken;
    tcgen05.alloc.cta_group::%(group)d.sync.aligned.shared::cta.b32 [address], %(columns)d;
    tcgen05.relinquish_alloc_permit.cta_group::%(group)d.sync.aligned;
taken:
    setp.eq.u32 lead, t, 0;
    @lead mbarrier.init.shared::cta.b64 [done], 1;
    @lead fence.mbarrier_init.release.cluster;
    fence.proxy.async.shared::cta;
%(meet)s    ld.shared.b32 tensor, [address];
    shl.b32 lanes, warp, 21;
    add.u32 lanes, lanes, tensor;
    mad.lo.u32 x, block, 128, t;
    ld.param.u64 from, [of_data];
    mad.wide.u32 from, x, %(row)d, from;
    ld.param.u64 to, [of_out];
    mad.wide.u32 to, x, %(result)d, to;
%(fill)s    tcgen05.st.sync.aligned.32x32b.x32.b32 [lanes], {%(all)s};
    tcgen05.wait::st.sync.aligned;
    tcgen05.fence::before_thread_sync;
%(meet)s%(body)s    tcgen05.fence::before_thread_sync;
    bar.sync 0;
    setp.ne.u32 p, warp, 0;
    @p bra given;
    tcgen05.dealloc.cta_group::%(group)d.sync.aligned.b32 tensor, %(columns)d;
given:
%(part)s    ret;
}
'''

WAIT = '''wait:
    mbarrier.try_wait.parity.shared::cta.b64 lead, [done], 0;
    @!lead bra wait;
'''


def read(column, count, place=0):
    """Instructions that bring so many columns to the results of a thread, from the one at a place on."""
    registers = ', '.join(f'r{n}' for n in range(count))
    return (f'    tcgen05.ld.sync.aligned.32x32b.x{count}.b32 {{{registers}}}, [lanes{f"+{column}" if column else ""}];\n'
            '    tcgen05.wait::ld.sync.aligned;\n') + ''.join(f'    st.global.b32 [to+{4 * (place + n)}], r{n};\n' for n in range(count))


READ = read(0, COLUMNS)

# Loads of two halves are in a file of their own, and so are products of a depth of 96, which only sm_103a has.
SPLIT, DEEP = 'tensor_split', 'tensor_deep'
TEXTS = {FILE: [], SPLIT: [], DEEP: []}


def kernel(name, body, image, data, out, blocks=1, row=COLUMNS, result=COLUMNS, file=FILE, columns=COLUMNS):
    """Notes a kernel: its body, and for each block the bytes of the image, the words that come in and that go out."""
    size = max(1024, -(-max(len(part) for part in image) // 512) * 512)
    pair = blocks == 2
    meet = '    barrier.cluster.arrive;\n    barrier.cluster.wait;\n' if pair else '    bar.sync 0;\n'
    fill = ''.join(f'    ld.global.b32 r{n}, [from+{4 * n}];\n' for n in range(row))
    TEXTS[file].append(KERNEL % dict(
        name=name, size=size, group=blocks, cluster=' .reqnctapercluster 2, 1, 1' if pair else '', meet=meet, row=4 * row,
        result=4 * result, columns=columns, fill=fill, all=', '.join(f'r{n}' for n in range(COLUMNS)), body=body, part=meet if pair else ''))
    flat = lambda parts: [word for part in parts for word in part]
    case(name, file, [blocks], [128], [
        Given('u8', flat(part.ljust(size, b'\0') for part in image)), Given('u32', flat(data)), Result('u32', flat(out))],
        folder=ROOT)


# Loads and stores.

def cell(shape, thread, register, split=8):
    """Lane and column of a register."""
    row, four = thread // 4, thread % 4
    return {
        '32x32b': (thread, register),
        '16x64b': (row + thread % 2 * 8, register * 2 + four // 2),
        '16x128b': (row + register % 2 * 8, register // 2 * 4 + four),
        '16x256b': (row + register // 2 % 2 * 8, register // 4 * 8 + four * 2 + register % 2),
        '16x32bx2': (thread % 16, register + thread // 16 * split),
    }[shape]


def cells(shape, packed, thread, register):
    """The cells whose words, or lower halves, a register has."""
    if not packed:
        return [cell(shape, thread, register)]
    lane, column = cell(shape, thread, register, 4)
    return [(lane, 2 * column), (lane, 2 * column + 1)]


# Shape, how often, registers, where it is stored; then the same of packed halves.
SHAPES = [
    [('16x64b', 4, 4, 0, 0), ('16x128b', 2, 4, 16, 0), ('16x256b', 1, 4, 0, 16), ('16x32bx2', 8, 8, 16, 16), ('32x32b', 8, 8, 0, 8)],
    [('16x64b', 2, 2, 0, 0), ('16x128b', 1, 2, 16, 0), ('16x256b', 1, 4, 0, 16), ('16x32bx2', 4, 4, 16, 16), ('32x32b', 4, 4, 0, 8)]]


def moves(packed, halves):
    """Every shape stores its registers; then every shape loads, or only the one of two halves does."""
    r = Random(71 + packed)
    more = 8
    data = [[r.bits() for _ in range(COLUMNS + more)] for _ in range(LANES)]
    memory = [line[:COLUMNS] for line in data]
    body, out, place = '', [[] for _ in range(LANES)], 0
    way, kind = ('.unpack::16b', '.pack::16b') if packed else ('', '')
    names = lambda first, count: '{' + ', '.join(f'r{first + n}' for n in range(count)) + '}'
    split = lambda shape: ', 8' if shape == '16x32bx2' else ''
    for shape, count, registers, lane, column in SHAPES[packed]:
        body += (f'    tcgen05.st.sync.aligned.{shape}.x{count}{way}.b32 [lanes+{lane << 16 | column}]{split(shape)}, '
                 f'{names(COLUMNS, registers)};\n    tcgen05.wait::st.sync.aligned;\n')
        for thread in range(LANES):
            for n in range(registers):
                word = data[thread][COLUMNS + n]
                for half, (to, step) in enumerate(cells(shape, packed, thread % 32, n)):
                    memory[thread // 32 * 32 + lane + to][column + step] = word >> 16 * half & 0xffff if packed else word
    loads = [(shape, count, registers, lane) for shape, count, registers, _, _ in SHAPES[packed]
             for lane in ([0] if shape == '32x32b' else [0, 16]) if (shape == '16x32bx2') == halves]
    for shape, count, registers, lane in loads:
        body += (f'    tcgen05.ld.sync.aligned.{shape}.x{count}{kind}.b32 {names(0, registers)}, '
                 f'[lanes+{lane << 16 | 4}]{split(shape)};\n    tcgen05.wait::ld.sync.aligned;\n')
        for n in range(registers):
            body += f'    st.global.b32 [to+{4 * (place + n)}], r{n};\n'
        place += registers
        for thread in range(LANES):
            for n in range(registers):
                found = [memory[thread // 32 * 32 + lane + at][4 + step] for at, step in cells(shape, packed, thread % 32, n)]
                out[thread].append(found[0] & 0xffff | (found[1] & 0xffff) << 16 if packed else found[0])
    body += f'    add.u64 to, to, {4 * place};\n' + READ
    flat = lambda lines: [word for line in lines for word in line]
    kernel(('tensor_halves' if packed else 'tensor_moves') + ('_split' if halves else ''), body, [b''], [flat(data)],
           [flat(found + line for found, line in zip(out, memory))], row=COLUMNS + more, result=place + COLUMNS,
           file=SPLIT if halves else FILE)


# Copies and shifts.

def descriptor(start, leading, stride, swizzle=0):
    """Of a matrix in shared memory, without where the image begins."""
    return start >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | 1 << 46 | swizzle << 61


def starts(into, value):
    """Instructions for a descriptor whose matrix lies in the image."""
    return (f'    and.b32 x, image, 262143;\n    shr.u32 x, x, 4;\n    cvt.u64.u32 {into}, x;\n'
            f'    add.u64 {into}, {into}, {value:#x};\n')


COPIES = [
    ('128x256b', '', lambda line: [line], 128, 32), ('128x128b', '', lambda line: [line], 128, 16),
    ('4x256b', '', lambda line: [line * 32], 4, 32), ('64x128b', '.warpx2::02_13', lambda line: [line, line + 64], 64, 16),
    ('64x128b', '.warpx2::01_23', lambda line: [line + line // 32 * 32, line + line // 32 * 32 + 32], 64, 16),
    ('32x128b', '.warpx4', lambda line: [line, line + 32, line + 64, line + 96], 32, 16)]


def copies(blocks):
    r = Random(73 + blocks)
    image = [bytes(r.bits(8) for _ in range(16384)) for _ in range(blocks)]
    data = [[r.bits() for _ in range(LANES * COLUMNS)] for _ in range(blocks)]
    memory = [[part[COLUMNS * lane:][:COLUMNS] for lane in range(LANES)] for part in data]
    body, column = '', 0
    for at, (shape, multicast, lanes, lines, width) in enumerate(COPIES):
        wide, leading, stride = 128 if at % 2 else 16, 8192, 1024 if at % 2 else 256
        body += starts('start', descriptor(0, leading, stride, 2 if at % 2 else 0))
        body += f'    @lead tcgen05.cp.cta_group::{blocks}.{shape}{multicast} [tensor+{column}], start;\n'
        for part, bytes_of in zip(memory, image):
            for line in range(lines):
                row = b''
                for piece in range(width // 16):
                    place = line // 8 * stride + line % 8 * wide + piece * (16 if at % 2 else leading)
                    row += bytes_of[place ^ (place >> 7 & 7 if at % 2 else 0) * 16:][:16]
                for lane in lanes(line):
                    part[lane][column:column + width // 4] = struct.unpack(f'<{width // 4}I', row)
        column += width // 4
    kernel(f'tensor_copies_{blocks}', FIRST + body + commit(blocks) + WAIT + READ, image, data, [[w for line in part for w in line] for part in memory], blocks)


# The first thread of the first block starts what happens; the objects of all learn when it is done.
FIRST = '''    setp.eq.u32 lead, t, 0;
    setp.eq.and.u32 lead, block, 0, lead;
    tcgen05.fence::after_thread_sync;
'''


def commit(blocks):
    if blocks == 1:
        return '    @lead tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [done];\n'
    return ('    mov.b16 both, 3;\n    @lead tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster'
            '.multicast::cluster.b64 [done], both;\n')


def spreads():
    """Six and four bits become bytes; a shift follows."""
    r = Random(79)
    image = bytes(r.bits(8) for _ in range(4096))
    data = [r.bits() for _ in range(LANES * COLUMNS)]
    memory = [data[COLUMNS * lane:][:COLUMNS] for lane in range(LANES)]
    body = starts('start', descriptor(0, 2048, 128))
    for column, (kind, bits, up) in enumerate([('b6x16_p32', 6, 0), ('b4x16_p64', 4, 2)]):
        body += f'    @lead tcgen05.cp.cta_group::1.128x128b.b8x16.{kind} [tensor+{4 * column}], start;\n'
        for line in range(LANES):
            whole = int.from_bytes(image[line * 16:][:16], 'little')
            row = bytes((whole >> bits * n & (1 << bits) - 1) << up for n in range(16))
            memory[line][4 * column:4 * column + 4] = struct.unpack('<4I', row)
    body += f'    @lead tcgen05.shift.cta_group::1.down [tensor+{32 << 16 | 4}];\n'
    for lane in range(32, 63):
        memory[lane][4:12] = memory[lane + 1][4:12]
    kernel('tensor_spreads', FIRST + body + commit(1) + WAIT + READ, [image], [data], [[w for line in memory for w in line]])


# Products.

HALVES = lambda value: struct.unpack('<H', struct.pack('<e', value))[0]
SINGLES = lambda value: struct.unpack('<I', struct.pack('<f', value))[0]


def narrow(exponent, fraction):
    """Every number of a format, by its value."""
    bias, numbers = (1 << exponent - 1) - 1, {}
    for bits in range((1 << exponent + fraction + 1) - 1, -1, -1):
        sign, up, below = bits >> exponent + fraction, bits >> fraction & (1 << exponent) - 1, bits & (1 << fraction) - 1
        value = (below + (1 << fraction if up else 0)) * 2.0 ** (max(up, 1) - bias - fraction)
        numbers[-value if sign else value] = bits
    return numbers


# Bits of an element, how its values are written, the values that are used, its number in a descriptor.
INTEGERS = list(range(-4, 5))
QUARTERS = [-2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0]
E4M3, E5M2, E2M3, E3M2, E2M1 = narrow(4, 3), narrow(5, 2), narrow(2, 3), narrow(3, 2), narrow(2, 1)
TYPES = {
    'f16': (16, HALVES, INTEGERS, 0), 'bf16': (16, lambda v: SINGLES(v) >> 16, INTEGERS, 1), 'tf32': (32, SINGLES, INTEGERS, 2),
    'e4m3': (8, E4M3.get, QUARTERS, 0), 'e5m2': (8, E5M2.get, QUARTERS, 1), 'e2m3': (6, E2M3.get, QUARTERS, 3),
    'e3m2': (6, E3M2.get, QUARTERS, 4), 'e2m1': (4, E2M1.get, QUARTERS, 5), 'fp4': (4, E2M1.get, QUARTERS, 1),
    'u8': (8, lambda v: v, list(range(200)), 0), 's8': (8, lambda v: v & 255, list(range(-100, 100)), 1)}
CONTAINER = {'f16': 16, 'tf32': 32, 'f8f6f4': 8, 'i8': 8, 'mxf8f6f4': 8, 'mxf4': 4, 'mxf4nvf4': 4}
SUMS = {'f16': 0, 'f32': 1, 's32': 2}


def shared(lines, ty, kind):
    """A factor in shared memory, eight lines after eight lines: their first pieces, 128 bytes on their second ones."""
    bits, write, _, _ = TYPES[ty]
    count = 128 // CONTAINER[kind]
    pieces = len(lines[0]) // count
    out = bytearray(len(lines) * pieces * 16)
    for number, line in enumerate(lines):
        for piece in range(pieces):
            whole = sum(write(value) << bits * n for n, value in enumerate(line[count * piece:][:count]))
            place = number // 8 * pieces * 128 + number % 8 * 16 + 128 * piece
            out[place:place + 16] = whole.to_bytes(16, 'little')
    return bytes(out)


def path(rows, columns, blocks, stationary, sparse):
    """Lane and column of an element of the result of a block."""
    if rows == 128 * blocks:
        return lambda row, column: (row, column)
    parts = {(32, 1): 4, (64, 1): 2, (128, 2): 2}[rows, blocks] if stationary or (blocks == 2 and not sparse) else 0
    if parts:
        each = columns // parts
        return lambda row, column: (row + 128 // parts * (column // each), column % each)
    return lambda row, column: (row // 16 * 32 + row % 16, column)


def product(name, kind, a, b, rows, columns, d='f32', blocks=1, stationary=False, sparse=False, tensor=False, scales=None, adds=True,
            negate=(0, 0), down=None, keep=None, zero=None, saturate=False, seed=0, shifted=False):
    """A product of a kind: types of factors and of the sum, rows and columns, and what is special about it."""
    r = Random(200 + seed)
    container = CONTAINER[kind]
    stored = 256 // container
    depth = stored * (2 if sparse else 1)
    pick = lambda ty: TYPES[ty][2][r.below(len(TYPES[ty][2]))]
    own_rows, own_columns = rows // blocks, columns // blocks
    left = [[pick(a) for _ in range(stored)] for _ in range(rows)]
    right = [[pick(b) for _ in range(depth)] for _ in range(columns)]
    lay = path(rows, columns, blocks, stationary, sparse)
    memories = [[[r.bits() for _ in range(COLUMNS)] for _ in range(LANES)] for _ in range(blocks)]
    integral = d == 's32'
    write_sum = {'f16': HALVES, 'f32': SINGLES, 's32': lambda v: v & 0xffffffff}[d]
    count, scale_type = scales or (0, '')
    scale = {'ue8m0': lambda: r.between(126, 129), 'ue4m3': lambda: E4M3[[0.5, 1.0, 1.5, 2.0][r.below(4)]], '': None}[scale_type]
    value_of = {'ue8m0': lambda byte: 2.0 ** (byte - 127), 'ue4m3': lambda byte: {v: k for k, v in E4M3.items()}[byte], '': None}[scale_type]
    byte = {1: 2, 2: 2, 4: 0, 0: 0}[count]
    scale_left = [[scale() for _ in range(count)] for _ in range(rows)]
    scale_right = [[scale() for _ in range(count)] for _ in range(columns)]
    # Two of four, one of two, two pairs of four.
    groups = {32: 2, 16: 4, 8: 4, 4: 8}[container]
    def positions():
        out, code = [], 0
        for group in range(depth // groups):
            if container == 32:
                at = r.below(2)
                out, code = out + [2 * group + at], code | (14 if at else 4) << 4 * group
                continue
            first = r.below(3)
            second = first + 1 + r.below(3 - first)
            code |= (first | second << 2) << 4 * group
            out += [groups * group + n for n in ((first, second) if groups == 4 else (2 * first, 2 * first + 1, 2 * second, 2 * second + 1))]
        return out, code
    chosen = [positions() for _ in range(rows)] if sparse else None
    for rank, memory in enumerate(memories):
        for row in range(own_rows):
            for column in range(columns):
                lane, at = lay(row, column)
                memory[lane][at] = write_sum(r.between(-9, 9))
            for lane in {lay(row, column)[0] for column in range(columns)}:
                number = rank * own_rows + row
                if tensor:
                    bits, write, _, _ = TYPES[a]
                    up = 2 if container == 8 and bits == 4 else 0
                    whole = sum(write(value) << up << container * n for n, value in enumerate(left[number]))
                    memory[lane][LEFT:LEFT + 8] = [whole >> 32 * n & 0xffffffff for n in range(8)]
        # Each warp has all scales, and its own metadata.
        for lane in range(LANES if count else 0):
            for first, factor in [(SCALE_LEFT, scale_left[rank * own_rows:][:own_rows]), (SCALE_RIGHT, None)]:
                for word in range(4 if factor else (columns + 31) // 32):
                    index = word * 32 + lane % 32
                    if factor is None and rows == 128 and blocks == 2:
                        index += lane // 64 * (columns // 2)
                        limit = (lane // 64 + 1) * (columns // 2)
                    else:
                        limit = len(factor) if factor else columns
                    source = factor or scale_right
                    if index < limit:
                        bytes_of = bytearray(struct.pack('<I', memory[lane][first + word]))
                        bytes_of[byte:byte + count] = bytes(source[index])
                        memory[lane][first + word] = struct.unpack('<I', bytes_of)[0]
        for row in range(own_rows if sparse else 0):
            code = chosen[rank * own_rows + row][1]
            for lane in {lay(row, column)[0] for column in range(columns)}:
                if container < 16:
                    memory[lane][METADATA:METADATA + 2] = [code & 0xffffffff, code >> 32]
                    continue
                for half in range(2):
                    word = code >> 16 * half & 0xffff
                    target = memory[lane // 16 * 16 + lane % 8 + 8 * half]
                    shift = lane % 16 // 8 * 16
                    target[METADATA + 1] = target[METADATA + 1] & ~(0xffff << shift) | word << shift
    data = [[word for line in memory for word in line] for memory in memories]
    read_sum = {'f16': lambda w: struct.unpack('<e', struct.pack('<H', w & 0xffff))[0], 'f32': lambda w: struct.unpack('<f', struct.pack('<I', w))[0],
                's32': lambda w: w - (1 << 32) if w >> 31 else w}[d]
    for rank, memory in enumerate(memories):
        for row in range(own_rows):
            number = rank * own_rows + row
            for column in range(columns):
                lane, at = lay(row, column)
                if keep and keep[(128 * rank + lane) // 32] >> lane % 32 & 1:
                    continue
                factors = [right[column][n] for n in chosen[number][0]] if sparse else right[column]
                terms = left[min(number + 1, rows - 1) if shifted else number]
                if zero and zero[1](column):
                    factors = [0] * stored
                parts = count or 1
                total = 0
                for part in range(parts):
                    each = stored // parts
                    piece = sum(x * y for x, y in zip(terms[each * part:][:each], factors[each * part:][:each]))
                    if count:
                        piece *= value_of(scale_left[number][part]) * value_of(scale_right[column][part])
                    total += piece
                if negate[0] != negate[1]:
                    total = -total
                old = read_sum(memory[lane][at]) if adds else 0
                total += old / 2 ** (down or 0) if down else old
                if integral and saturate:
                    total = max(-1 << 31, min((1 << 31) - 1, total))
                memory[lane][at] = write_sum(total)
    bits = (TYPES[a][3] << 7 | TYPES[b][3] << 10 | negate[0] << 13 | negate[1] << 14 | columns >> 3 << 17 | (1 if sparse else 0) << 2)
    if count:
        bits |= rows >> 7 << 27 | byte << 29 | byte << 4 | (1 if scale_type == 'ue8m0' else 0) << 23
    else:
        bits |= SUMS[d] << 4 | rows >> 4 << 24 | (1 if saturate else 0) << 3
        if sparse and container >= 16:
            bits |= 1
    image = [shared(left[rank * own_rows:][:own_rows], a, kind).ljust(RIGHT, b'\0') + shared(right[rank * own_columns:][:own_columns], b, kind)
             for rank in range(blocks)]
    words = ('.ws' if stationary else '') + ('.sp' if sparse else '') + f'.cta_group::{blocks}.kind::{kind}'
    if count:
        words += '.block_scale' + {1: '.scale_vec::1X', 2: '.scale_vec::2X', 4: '.scale_vec::4X'}[count]
    words += '.ashift' if shifted else ''
    operands = ['[tensor]', f'[tensor+{LEFT}]' if tensor else 'start', 'right']
    operands += [f'[tensor+{METADATA}]'] if sparse else []
    operands += ['x'] + ([f'[tensor+{SCALE_LEFT}]', f'[tensor+{SCALE_RIGHT}]'] if count else [])
    if keep:
        operands.append('{' + ', '.join(f'r{n}' for n in range(4 * blocks)) + '}')
    operands.append('p')
    operands += [str(down)] if down else []
    operands += ['from'] if zero else []
    body = starts('start', descriptor(0, 128, 256)) + starts('right', descriptor(RIGHT, 128, 512 if sparse else 256))
    body += ''.join(f'    mov.b32 r{n}, {word:#x};\n' for n, word in enumerate(keep or []))
    body += f'    mov.b64 from, {zero[0]:#x};\n' if zero else ''
    body += f'    mov.b32 x, {bits:#x};\n    setp.{"eq" if adds else "ne"}.u32 p, x, x;\n'
    body += f'    @lead tcgen05.mma{words} {", ".join(operands)};\n'
    after = '    tcgen05.fence::after_thread_sync;\n'
    kernel(name, FIRST + body + commit(blocks) + WAIT + after + READ, image, data,
           [[word for line in memory for word in line] for memory in memories], blocks)


def products():
    product('tensor_f16', 'f16', 'f16', 'bf16', 128, 16, seed=1)
    product('tensor_f16_half', 'f16', 'f16', 'f16', 64, 16, d='f16', negate=(0, 1), seed=2)
    product('tensor_f16_left', 'f16', 'bf16', 'f16', 64, 16, tensor=True, adds=False, seed=3)
    product('tensor_tf32', 'tf32', 'tf32', 'tf32', 128, 16, tensor=True, down=3, seed=4)
    product('tensor_f8', 'f8f6f4', 'e4m3', 'e5m2', 128, 16, keep=[0x10, 0xffffffff, 0, 0x80000001], seed=5)
    product('tensor_f6', 'f8f6f4', 'e2m3', 'e3m2', 128, 16, d='f16', seed=6)
    product('tensor_f4', 'f8f6f4', 'e2m1', 'e2m3', 64, 24, tensor=False, seed=7)
    product('tensor_f4_left', 'f8f6f4', 'e2m1', 'e2m1', 128, 8, tensor=True, seed=8)
    product('tensor_i8', 'i8', 's8', 'u8', 128, 16, d='s32', seed=9)
    product('tensor_i8_stationary', 'i8', 'u8', 's8', 32, 64, d='s32', stationary=True, seed=10,
            zero=(1 << 39 | 2 << 40 | 3 << 48 | 0b0011 << 32 | 0x01020100, masked))
    product('tensor_f16_stationary', 'f16', 'f16', 'f16', 64, 64, stationary=True, seed=11)
    product('tensor_mxf8', 'mxf8f6f4', 'e4m3', 'e2m1', 128, 16, scales=(1, 'ue8m0'), seed=12)
    product('tensor_mxf4', 'mxf4', 'fp4', 'fp4', 128, 16, scales=(2, 'ue8m0'), seed=13)
    product('tensor_nvf4', 'mxf4nvf4', 'fp4', 'fp4', 128, 16, scales=(4, 'ue4m3'), tensor=True, seed=14)
    product('tensor_f16_sparse', 'f16', 'f16', 'bf16', 128, 16, sparse=True, seed=15)
    product('tensor_tf32_sparse', 'tf32', 'tf32', 'tf32', 64, 16, sparse=True, seed=16)
    product('tensor_i8_sparse', 'i8', 's8', 's8', 128, 16, d='s32', sparse=True, saturate=True, seed=17)
    product('tensor_pair_256', 'f16', 'f16', 'f16', 256, 16, blocks=2, seed=18)
    product('tensor_pair_128', 'f8f6f4', 'e4m3', 'e4m3', 128, 32, blocks=2, tensor=True, seed=19)
    product('tensor_pair_sparse', 'f16', 'f16', 'f16', 128, 16, blocks=2, sparse=True, seed=20)
    product('tensor_pair_scaled', 'mxf8f6f4', 'e5m2', 'e4m3', 256, 16, blocks=2, scales=(1, 'ue8m0'), seed=21)
    product('tensor_shifted', 'f16', 'f16', 'f16', 128, 16, tensor=True, shifted=True, seed=22)


def masked(column):
    """Columns of zeros in the mask of the manual's fourth example: three zero, four used."""
    part, at = column // 16, column % 16
    starts, first = [0, 1, 2, 1][part], [1, 1, 0, 0][part]
    place = (at + starts) % 7
    return place < 3 if first else place >= 4


# A product of matrices in tiles that a thread loads from tensor maps, another one multiplies, and four warps store.

PRODUCT = 'tensor_product'
ROWS, WIDTH, DEPTH, STAGES, TILES = 128, 32, 64, 2, 5
TILE_LEFT, TILE_RIGHT = ROWS * DEPTH * 2, WIDTH * DEPTH * 2
PRODUCT_HEAD = HEAD.replace('tensor memory, and what fills, multiplies and reads it.',
                            'a product of matrices by way of tensor maps and tensor memory.')
PRODUCT_KERNEL = '''
.visible .entry tensor_gemm(.param .u64 of_a, .param .u64 of_b, .param .u64 of_c, .param .u32 of_tiles,
    .param .align 64 .b8 map_a[128], .param .align 64 .b8 map_b[128])
    .maxntid 192, 1, 1
{
    .reg .pred p, adds;
    .reg .b32 t, warp, row, i, tiles, stage, parity, full, empty, tile, k, tensor, r<%(width)d>;
    .reg .b64 a, b, c, left, right;
    .shared .align 1024 .b8 buffer[%(buffer)d];
    .shared .align 8 .b64 fulls[%(stages)d];
    .shared .align 8 .b64 empties[%(stages)d];
    .shared .align 8 .b64 done;
    .shared .align 4 .b32 address;
    ld.param.u32 tiles, [of_tiles];
    mov.b64 a, map_a;
    cvta.param.u64 a, a;
    mov.b64 b, map_b;
    cvta.param.u64 b, b;
    mov.u32 t, %%tid.x;
    shr.u32 warp, t, 5;
    mov.u32 row, %%ctaid.x;
    mul.lo.u32 row, row, %(rows)d;
    setp.ne.u32 p, t, 0;
    @p bra begun;
%(init)s    mbarrier.init.shared::cta.b64 [done], 1;
    fence.mbarrier_init.release.cluster;
begun:
    setp.ne.u32 p, warp, 0;
    @p bra taken;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [address], %(width)d;
    tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
    tcgen05.fence::before_thread_sync;
taken:
    bar.sync 0;
    tcgen05.fence::after_thread_sync;
    ld.shared.b32 tensor, [address];
    mov.u32 i, 0;
    mov.u32 stage, 0;
    setp.eq.u32 p, t, 128;
    @p bra load;
    setp.eq.u32 p, t, 160;
    @p bra multiply;
    setp.lt.u32 p, t, 128;
    @p bra store;
    bra over;
load:
    mov.u32 parity, 1;
fill:
    // A stage is free when the products that read it are through.
    mov.u32 empty, empties;
    mad.lo.u32 empty, stage, 8, empty;
freed:
    mbarrier.try_wait.parity.shared::cta.b64 p, [empty], parity;
    @!p bra freed;
    mov.u32 full, fulls;
    mad.lo.u32 full, stage, 8, full;
    mov.u32 tile, buffer;
    mad.lo.u32 tile, stage, %(bytes)d, tile;
    mul.lo.u32 k, i, %(depth)d;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], %(bytes)d;
    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [tile], [a, {k, row}], [full];
    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [tile+%(skip)d], [b, {k, 0}], [full];
%(next)s    @p bra fill;
    bra over;
multiply:
    mov.u32 parity, 0;
    setp.ne.u32 adds, t, t;
again:
    mov.u32 full, fulls;
    mad.lo.u32 full, stage, 8, full;
filled:
    mbarrier.try_wait.parity.shared::cta.b64 p, [full], parity;
    @!p bra filled;
    tcgen05.fence::after_thread_sync;
    mov.u32 tile, buffer;
    mad.lo.u32 tile, stage, %(bytes)d, tile;
    shr.u32 tile, tile, 4;
    and.b32 tile, tile, 16383;
    cvt.u64.u32 left, tile;
    or.b64 left, left, %(descriptor)#x;
    add.u64 right, left, %(behind)d;
%(products)s    mov.u32 empty, empties;
    mad.lo.u32 empty, stage, 8, empty;
    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [empty];
%(next)s    @p bra again;
    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [done];
    bra over;
store:
    mbarrier.try_wait.parity.shared::cta.b64 p, [done], 0;
    @!p bra store;
    tcgen05.fence::after_thread_sync;
    shl.b32 k, warp, 21;
    add.u32 k, k, tensor;
    tcgen05.ld.sync.aligned.32x32b.x%(width)d.b32 {%(all)s}, [k];
    tcgen05.wait::ld.sync.aligned;
    tcgen05.fence::before_thread_sync;
    ld.param.u64 c, [of_c];
    add.u32 row, row, t;
    mad.wide.u32 c, row, %(pitch)d, c;
%(stores)sover:
    bar.sync 0;
    tcgen05.fence::after_thread_sync;
    setp.ne.u32 p, warp, 0;
    @p bra given;
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 tensor, %(width)d;
given:
    ret;
}
'''


def product_text():
    init = ''.join(f'    mbarrier.init.shared::cta.b64 [{name}+{8 * n}], 1;\n' for n in range(STAGES) for name in ('fulls', 'empties'))
    step = f'''    add.u32 stage, stage, 1;
    setp.eq.u32 p, stage, {STAGES};
    @p xor.b32 parity, parity, 1;
    @p mov.u32 stage, 0;
    add.u32 i, i, 1;
    setp.lt.u32 p, i, tiles;
'''
    bits = SUMS['f32'] << 4 | WIDTH >> 3 << 17 | ROWS >> 4 << 24
    multiply = f'    mov.b32 k, {bits:#x};\n    tcgen05.mma.cta_group::1.kind::f16 [tensor], left, right, k, adds;\n    setp.eq.u32 adds, t, t;\n'
    on = '    add.u64 left, left, 2;\n    add.u64 right, right, 2;\n'
    return PRODUCT_HEAD + PRODUCT_KERNEL % dict(
        width=WIDTH, buffer=STAGES * (TILE_LEFT + TILE_RIGHT), stages=STAGES, rows=ROWS, depth=DEPTH, init=init,
        bytes=TILE_LEFT + TILE_RIGHT, skip=TILE_LEFT, behind=TILE_LEFT >> 4, next=step, descriptor=descriptor(0, 16, 1024, 2),
        products=on.join([multiply] * (DEPTH // 16)), all=', '.join(f'r{n}' for n in range(WIDTH)), pitch=4 * WIDTH,
        stores=''.join(f'    st.global.v4.b32 [c+{4 * n}], {{r{n}, r{n + 1}, r{n + 2}, r{n + 3}}};\n' for n in range(0, WIDTH, 4)))


def gemm(blocks=2):
    r = Random(97)
    depth = DEPTH * TILES
    a = [[r.between(-4, 4) for _ in range(depth)] for _ in range(ROWS * blocks)]
    b = [[r.between(-4, 4) for _ in range(depth)] for _ in range(WIDTH)]
    c = [sum(x * y for x, y in zip(row, column)) for row in a for column in b]
    flat = lambda matrix: [value for row in matrix for value in row]
    tensor = lambda alias, rows, box: TensorMap(alias, type='f16', dims=[depth, rows], strides=[2 * depth], box=[DEPTH, box], swizzle=128)
    case('tensor_gemm', PRODUCT, [blocks], [192], [
        Given('f16', flat(a)), Given('f16', flat(b)), Result('f32', c), Scalar('u32', TILES),
        tensor(0, ROWS * blocks, ROWS), tensor(1, WIDTH, WIDTH)], folder=ROOT)


# A depth of 96: three or six scales of a row, which may go on in the word that the rows' next four scales have.

def swizzled(lines, start):
    """Two parts of a factor in patterns of 128 bytes: a line begins at a byte of the first one, and goes on at the
    beginning of the second one where the 128 bytes end."""
    size = len(lines) * 128
    out = bytearray(2 * size)
    for number, line in enumerate(lines):
        for at, byte in enumerate(line):
            part, place = divmod(start + at, 128)
            place = number * 128 + place
            out[part * size + (place ^ (number % 8) * 16)] = byte
    return bytes(out)


def deep(name, rows, columns, scales, bytes_of, blocks=1, tensor=False, start=None, adds=False, apart=None, seed=0):
    """A product of a depth of 96: how many scales a row has and of which type, and at which bytes they begin. With `start` the
    factors are swizzled, and begin at that byte of their lines. `apart` are the columns where the result begins, and what is
    read of it; without it the result begins at column 0."""
    r = Random(300 + seed)
    depth, own_rows, own_columns = 96, rows // blocks, columns // blocks
    count, scale_type = scales
    values = list(E2M1)
    pick = lambda: values[r.below(len(values))]
    left = [[pick() for _ in range(depth)] for _ in range(rows)]
    right = [[pick() for _ in range(depth)] for _ in range(columns)]
    exponents = {2.0 ** (n - 127): n for n in range(126, 130)}
    bytes_by_value = exponents if scale_type == 'ue8m0' else {value: E4M3[value] for value in (0.5, 1.0, 1.5, 2.0)}
    kinds = list(bytes_by_value)
    scale = lambda lines: [[kinds[r.below(len(kinds))] for _ in range(count)] for _ in range(lines)]
    scale_left, scale_right = scale(rows), scale(columns)
    # Where in the 32 columns that come in: the left factor has twelve words of a row.
    if apart:
        of_left, of_scales = 0, [12 if tensor else 0, 20 if tensor else 8]
    else:
        of_left, of_scales = None, [16, 24]
    distance = [4, 4 * (-(-columns // 128))]
    memories = [[[r.bits() for _ in range(COLUMNS)] for _ in range(LANES)] for _ in range(blocks)]
    pack = lambda line: bytes(E2M1[line[n]] | E2M1[line[n + 1]] << 4 for n in range(0, depth, 2))
    for rank, memory in enumerate(memories):
        for lane in range(LANES):
            if not apart:
                memory[lane][:columns] = [SINGLES(float(r.between(-9, 9))) for _ in range(columns)]
            if tensor:
                memory[lane][of_left:of_left + 12] = struct.unpack('<12I', pack(left[rank * own_rows + lane]))
            own = scale_left[rank * own_rows:][:own_rows]
            for factor, lines in enumerate([own, scale_right]):
                for index in range(lane % 32, len(lines), 32):
                    for n, value in enumerate(lines[index]):
                        word, byte = divmod(bytes_of[factor] + n, 4)
                        column = of_scales[factor] + word * distance[factor] + index // 32
                        old = memory[lane][column]
                        memory[lane][column] = old & ~(255 << 8 * byte) | bytes_by_value[value] << 8 * byte
    data = [[word for line in memory for word in line] for memory in memories]
    first, reads = apart or (0, [(0, COLUMNS)])
    out = []
    for rank, memory in enumerate(memories):
        found = []
        for lane in range(LANES):
            line = dict(enumerate(memory[lane]))
            for column in range(columns):
                number, part = rank * own_rows + lane, depth // count
                total = struct.unpack('<f', struct.pack('<I', line[column]))[0] if adds else 0
                for n in range(count):
                    span = slice(n * part, (n + 1) * part)
                    total += sum(x * y for x, y in zip(left[number][span], right[column][span])) * scale_left[number][n] * scale_right[column][n]
                line[first + column] = SINGLES(total)
            found += [line[at + n] for at, size in reads for n in range(size)]
        out.append(found)
    bits = 1 << 31 | 1 << 7 | 1 << 10 | columns >> 3 << 17 | rows >> 7 << 27 | bytes_of[0] << 29 | bytes_of[1] << 4
    bits |= (1 if scale_type == 'ue8m0' else 0) << 23
    body = ''
    if start is None:
        image = [shared(left[rank * own_rows:][:own_rows], 'fp4', 'mxf4').ljust(RIGHT, b'\0')
                 + shared(right[rank * own_columns:][:own_columns], 'fp4', 'mxf4') for rank in range(blocks)]
        body += starts('start', descriptor(0, 128, 384)) + starts('right', descriptor(RIGHT, 128, 384))
    else:
        parts = [([pack(line) for line in left[rank * own_rows:][:own_rows]], [pack(line) for line in right[rank * own_columns:][:own_columns]])
                 for rank in range(blocks)]
        image = [swizzled(a, start) + swizzled(b, start) for a, b in parts]
        place = 0
        for into, lines in [('start', own_rows), ('right', own_columns)]:
            # The second part is named by its address, which is only known here.
            body += starts(into, descriptor(place + start, 0, 1024, 2) | 1 << 52)
            body += (f'    add.u32 x, image, {place + lines * 128};\n    and.b32 x, x, 262143;\n    shr.u32 x, x, 4;\n'
                     f'    cvt.u64.u32 from, x;\n    shl.b64 from, from, 16;\n    or.b64 {into}, {into}, from;\n')
            place += 2 * lines * 128
    words = f'.cta_group::{blocks}.kind::mxf4nvf4.block_scale.block{depth // count}'
    operands = ['[tensor' + (f'+{first}]' if first else ']'), f'[tensor+{of_left}]' if tensor else 'start', 'right', 'x',
                f'[tensor+{of_scales[0]}]', f'[tensor+{of_scales[1]}]', 'p']
    body += f'    mov.b32 x, {bits:#x};\n    setp.{"eq" if adds else "ne"}.u32 p, x, x;\n'
    body += f'    @lead tcgen05.mma{words} {", ".join(operands)};\n'
    after, result = '    tcgen05.fence::after_thread_sync;\n', 0
    for column, size in reads:
        after += read(column, size, result)
        result += size
    end = first + columns
    kernel(name, FIRST + body + commit(blocks) + WAIT + after, image, data, out, blocks, result=result, file=DEEP,
           columns=max(COLUMNS, 1 << (end - 1).bit_length()))


def deeps():
    deep('tensor_deep', 128, 16, (3, 'ue8m0'), (2, 1), adds=True, seed=1)
    deep('tensor_deep_six', 128, 16, (6, 'ue4m3'), (0, 2), tensor=True, apart=(32, [(32, 16)]), seed=2)
    deep('tensor_deep_parts', 128, 16, (6, 'ue8m0'), (2, 0), start=96, adds=True, seed=3)
    # Scales of more than 128 columns go on eight columns further.
    deep('tensor_deep_wide', 128, 144, (6, 'ue4m3'), (2, 2), apart=(32, [(32, 8), (160, 16)]), seed=4)
    deep('tensor_deep_pair', 256, 16, (3, 'ue8m0'), (3, 3), blocks=2, adds=True, seed=5)


def write_ptx():
    heads = {DEEP: HEAD.replace('tensor memory, and what fills, multiplies and reads it.', 'products of a depth of 96.').replace('sm_100a', 'sm_103a')}
    texts = [(name, heads.get(name, HEAD) + ''.join(parts)) for name, parts in TEXTS.items()]
    for name, text in texts + [(PRODUCT, product_text())]:
        with open(os.path.join(ROOT, name + '.ptx'), 'w') as out:
            out.write(text)


for packed in (False, True):
    moves(packed, False)
    moves(packed, True)
copies(1)
copies(2)
spreads()
products()
deeps()
gemm()
