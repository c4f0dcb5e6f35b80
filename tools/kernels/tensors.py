"""Kernels that move boxes of tensors: stores and reductions of tiles and of images, with every way to swizzle.

A GPU refuses some things as an illegal instruction, and no case does them: a box whose first element is not at a multiple of 16
bytes, inside of the tensor or not; a store or a reduction that reaches a negative coordinate; a store of an image with a negative lower
bound; a reduction that the PTX manual does not list for the type, as the extreme of singles. Images are stored without bounds."""
import os
import struct

import record
from record import Given, Random, Result, TensorMap, case

CODES = dict(record.CODES)
SIZES = {'u8': 1, 'u16': 2, 'u32': 4, 's32': 4, 'u64': 8, 's64': 8, 'f16': 2, 'f32': 4, 'f64': 8}


class Tensor:
    """A tensor in a buffer, and the boxes that its map says."""

    def __init__(self, kind, dims, box=None, strides=None, steps=None, swizzle=0, offset=0, fill='zero', image=None):
        self.kind, self.dims, self.swizzle, self.offset, self.fill = kind, dims, swizzle, offset, fill
        self.size = SIZES[kind]
        if strides is None:
            strides, pitch = [], self.size
            for dim in dims[:-1]:
                pitch = -(-pitch * dim // 16) * 16
                strides.append(pitch)
        self.strides, self.box, self.steps, self.image = strides, box, steps or [1] * len(dims), image
        self.bytes = offset + (strides[-1] if strides else self.size) * dims[-1]

    def argument(self, alias):
        fields = {'type': self.kind, 'dims': self.dims, 'strides': self.strides}
        if self.image:
            fields['image'] = self.image
        else:
            fields['box'] = self.box
        if self.steps != [1] * len(self.dims):
            fields['element_strides'] = self.steps
        for name, value, plain in [('swizzle', self.swizzle, 0), ('offset', self.offset, 0), ('fill', self.fill, 'zero')]:
            if value != plain:
                fields[name] = value
        return TensorMap(alias, **fields)

    def places(self, start, offsets=None):
        """Coordinates of the elements of a box in the order of shared memory."""
        if self.image is None:
            places = [[]]
            for at in range(len(self.dims) - 1, -1, -1):
                reach = range(0, self.box[at], 1 if at == 0 else self.steps[at])
                places = [[start[at] + step] + rest for rest in places for step in reach]
            return places
        inner = len(self.dims) - 2
        low = self.image['lower']
        high = [self.dims[at + 1] - 1 + self.image['upper'][at] for at in range(inner)]
        at, places = list(start), []
        for _ in range(self.image['pixels']):
            pixel = [at[d + 1] + (offsets[d] if offsets else 0) for d in range(inner)]
            places += [[start[0] + c] + pixel + [at[-1]] for c in range(self.image['channels'])]
            for d in range(inner + 1):
                if d == inner:
                    at[-1] += 1
                    break
                at[d + 1] += self.steps[d + 1]
                if at[d + 1] <= high[d]:
                    break
                at[d + 1] = low[d]
        return places

    def cells(self, start, offsets=None):
        """For each element its byte in shared memory (from a multiple of 1,024 on), and in the buffer or None."""
        length = self.image['channels'] if self.image else self.box[0]
        # Rows that are narrower than the swizzle lie as far apart as it is wide.
        apart = self.swizzle or length * self.size
        for number, place in enumerate(self.places(start, offsets)):
            byte = number // length * apart + number % length * self.size
            line, row = byte // 16, byte // 128
            if self.swizzle:
                line ^= row % (self.swizzle // 16)
            outside = any(not 0 <= at < dim for at, dim in zip(place, self.dims))
            where = self.offset + place[0] * self.size + sum(at * s for at, s in zip(place[1:], self.strides))
            yield line * 16 + byte % 16, None if outside else where

    def value(self, memory, at):
        return struct.unpack_from('<' + CODES[self.kind], memory, at)[0]

    def put(self, memory, at, value):
        memory[at:at + self.size] = record.pack(self.kind, [value])


STORE = '''
.visible .entry %(name)s(.param .u64 data, .param .u64 out, .param .align 64 .b8 map[128])
{
    .reg .b32 t, s, x;
    .reg .b64 from, m, g, policy;
    .reg .pred more, one;
    .shared .align 1024 .b8 tile[%(size)d];
    ld.param.u64 from, [data];
    mov.b64 m, map;
    cvta.param.u64 m, m;
    mov.u32 t, %%tid.x;
again:
    mad.wide.u32 g, t, 4, from;
    ld.global.u32 x, [g];
    mov.u32 s, tile;
    mad.lo.u32 s, t, 4, s;
    st.shared.u32 [s], x;
    add.u32 t, t, 32;
    setp.lt.u32 more, t, %(words)d;
    @more bra again;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    elect.sync _|one, 0xffffffff;
    @!one bra done;
    prefetch.tensormap [m];
    %(text)s
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
done:
    ret;
}
'''

# What lies between rows that are narrower than the swizzle is nobody's: zeros, to be seen.
BLANK = '''mov.u32 s, tile;
    mad.lo.u32 s, t, 4, s;
    mov.u32 x, t;
zeros:
    st.shared.u32 [s], 0;
    add.u32 s, s, 128;
    add.u32 x, x, 32;
    setp.lt.u32 more, x, %d;
    @more bra zeros;
    fence.proxy.async.shared::cta;
    '''

# A box in shared memory, waited for by all threads, and written out as it lies there.
LOAD = '''
.visible .entry %(name)s(.param .u64 data, .param .u64 out, .param .align 64 .b8 map[128])%(cluster)s
{
    .reg .b32 t, s, x, b, rank;
    .reg .b64 to, m, g, policy;
    .reg .b16 h;
    .reg .pred more, one, over;
    .shared .align 1024 .b8 tile[%(size)d];
    .shared .align 8 .b64 full;
    ld.param.u64 to, [out];
    mov.b64 m, map;
    cvta.param.u64 m, m;
    mov.u32 t, %%tid.x;
    mov.u32 b, full;
    mov.u32 rank, %%ctaid.x;
    mov.b16 h, 2;
    setp.eq.u32 one, t, 0;
    @!one bra ready;
    mbarrier.init.shared.b64 [b], 1;
    fence.mbarrier_init.release.cluster;
    mbarrier.arrive.expect_tx.shared.b64 _, [b], %(bytes)d;
ready:
    %(blank)s%(sync)s
    @!one bra wait;
    %(text)s
wait:
    mbarrier.try_wait.parity.shared.b64 over, [b], 0;
    @!over bra wait;
    mad.wide.u32 to, rank, %(size)d, to;
again:
    mov.u32 s, tile;
    mad.lo.u32 s, t, 4, s;
    ld.shared.u32 x, [s];
    mad.wide.u32 g, t, 4, to;
    st.global.u32 [g], x;
    add.u32 t, t, 32;
    setp.lt.u32 more, t, %(words)d;
    @more bra again;
    %(end)s
    ret;
}
'''
# What fills with a NaN, over and over.
NAN = b'\xf7\x7f'

r = Random(77)
LOADS = []


def load(name, tensor, start, offsets=None, halves=1, own=False, hint=False):
    """A kernel that loads a box. With several halves, each block of a cluster loads one part for all of them: what lies
    `box` elements further in the last dimension. `own` names the block's own memory, and `hint` a cache policy."""
    boxes = [start[:-1] + [start[-1] + part * (tensor.box or [1])[-1]] for part in range(halves)]
    cells = [list(tensor.cells(box, offsets)) for box in boxes]
    bytes_of_box = len(cells[0]) * tensor.size
    room = max(at for at, _ in cells[0]) + tensor.size
    has_gaps = room > bytes_of_box
    size = -(-room // 128) * 128 if has_gaps else bytes_of_box * halves
    count = tensor.bytes // tensor.size
    small = tensor.kind[0] == 'f'
    pick = lambda: r.between(-64, 64) / 4 if small else record.wrap(tensor.kind, r.bits(8 * tensor.size))
    memory = bytearray(tensor.bytes)
    memory[:count * tensor.size] = record.pack(tensor.kind, [pick() for _ in range(count)])
    tile = bytearray(size)
    for part, box in enumerate(cells):
        for shared, place in box:
            at = part * bytes_of_box + shared
            outside = NAN * (tensor.size // 2) if tensor.fill == 'nan' else bytes(tensor.size)
            tile[at:at + tensor.size] = outside if place is None else memory[place:place + tensor.size]
    dims = len(tensor.dims)
    image, hinted = '.im2col' if tensor.image else '', '.L2::cache_hint' if hint else ''
    way = f'.{dims}d.shared::{"cta" if own else "cluster"}.global{image}.mbarrier::complete_tx::bytes'
    window = ''
    if offsets:
        window = ', {' + ', '.join('h' if at == 0 and value == 2 else str(value) for at, value in enumerate(offsets)) + '}'
    corner = ', '.join(map(str, start))
    policy = ', policy' if hint else ''
    text = f'cp.async.bulk.tensor{way}{hinted} [tile], [m, {{{corner}}}], [b]{window}{policy};'
    if own:
        prefetched = image or '.tile'
        text = f'cp.async.bulk.prefetch.tensor.{dims}d.L2.global{prefetched}{hinted} [m, {{{corner}}}]{window}{policy};\n    {text}'
    if hint:
        text = f'createpolicy.fractional.L2::evict_last.b64 policy;\n    {text}'
    fields = dict(cluster='', sync='bar.sync 0;', end='')
    if halves > 1:
        made = '    createpolicy.fractional.L2::evict_last.b64 policy;\n' if hint else ''
        corner = ', '.join(map(str, start[:-1])) + ', x'
        text = (f'mad.lo.u32 x, rank, {(tensor.box or [1])[-1]}, {start[-1]};\n    mov.u32 s, tile;\n'
                f'    mad.lo.u32 s, rank, {bytes_of_box}, s;\n    mov.b16 h, {(1 << halves) - 1};\n'
                f'{made}    cp.async.bulk.tensor{way}.multicast::cluster{hinted} [s], [m, {{{corner}}}], [b], h{policy};')
        meet = 'barrier.cluster.arrive.aligned;\n    barrier.cluster.wait.aligned;'
        fields = dict(cluster=f' .reqnctapercluster {halves}, 1, 1', sync=meet, end=meet)
    blank = BLANK % (size // 4) if has_gaps else ''
    LOADS.append(LOAD % dict(name=name, size=size, bytes=bytes_of_box * halves, words=size // 4, text=text, blank=blank, **fields))
    case(name, 'tensor_loads', [halves], [32], [
        Given('u8', memory), Result('u8', bytes(tile) * halves), tensor.argument(0)])


load('load_line', Tensor('u8', [1000], [256]), [896])
load('load_swizzle_128', Tensor('f16', [72, 20], [64, 16], swizzle=128), [-8, 9])
load('load_swizzle_64', Tensor('u32', [40, 10], [16, 8], swizzle=64), [28, -3])
load('load_swizzle_32', Tensor('u64', [10, 9, 3], [4, 4, 2], swizzle=32, offset=32), [4, 6, 1])
load('load_nan', Tensor('f16', [20, 6, 2], [8, 4, 2], fill='nan'), [16, 4, 0])
load('load_steps', Tensor('u32', [16, 6, 5, 3], [8, 5, 2, 2], steps=[1, 2, 1, 1]), [4, 1, 3, -1])
load('load_five', Tensor('u16', [16, 3, 3, 3, 3], [8, 2, 2, 2, 2]), [0, 1, 2, 0, 1])
load('load_image_3d', Tensor('f32', [16, 9, 3], image=dict(lower=[-1], upper=[-2], channels=8, pixels=12)), [4, 3, 0], [2])
load('load_image_4d', Tensor('f16', [64, 7, 5, 3], swizzle=128,
     image=dict(lower=[-1, -1], upper=[-1, -1], channels=64, pixels=40)), [0, 4, 1, 0], [2, 1])
load('load_image_5d', Tensor('u32', [8, 5, 4, 3, 2], steps=[1, 2, 1, 1, 1],
     image=dict(lower=[-2, -1, 0], upper=[0, -1, 0], channels=8, pixels=30)), [0, -2, 0, 1, 0], [2, 1, 0])
load('load_multicast', Tensor('u32', [32, 20], [32, 8], swizzle=128), [0, 1], halves=2)

STORES = []


def store(name, tensor, start, combine=None, hint=False):
    """A kernel that stores a box, or reduces it into the tensor; `hint` names a cache policy."""
    cells = list(tensor.cells(start))
    size = -(-max(at for at, _ in cells) // 128) * 128 + 128
    small = tensor.kind[0] == 'f'
    pick = lambda: r.between(-64, 64) / 4 if small else record.wrap(tensor.kind, r.bits(3 if r.below(3) == 0 else 8 * tensor.size))
    tile = bytearray(record.pack(tensor.kind, [pick() for _ in range(size // tensor.size)]))
    before = bytearray(tensor.bytes)
    count = tensor.bytes // tensor.size
    before[:count * tensor.size] = record.pack(tensor.kind, [pick() for _ in range(count)])
    after = bytearray(before)
    for shared, place in cells:
        if place is not None:
            value = tensor.value(tile, shared)
            tensor.put(after, place, combine[1](tensor.value(after, place), value) if combine else value)
    dims = len(tensor.dims)
    words = f'.{dims}d.global.shared::cta' + (f'.{combine[0]}' if combine else '')
    words += '.im2col_no_offs' if tensor.image else '.tile' if dims == 2 else ''
    head = 'cp.reduce.async.bulk.tensor' if combine else 'cp.async.bulk.tensor'
    hinted, policy = ('.L2::cache_hint', ', policy') if hint else ('', '')
    text = f'{head}{words}.bulk_group{hinted} [m, {{{", ".join(map(str, start))}}}], [tile]{policy};'
    text = 'createpolicy.fractional.L2::evict_first.b64 policy;\n    ' * hint + text
    text = f'cp.async.bulk.prefetch.tensor.{dims}d.L2.global.tile [m, {{{", ".join(map(str, start))}}}];\n    ' * (not tensor.image) + text
    STORES.append(STORE % dict(name=name, size=size, words=size // 4, text=text))
    case(name, 'tensor_stores', [1], [32], [
        Given('u8', tile), Result('u8', after, before), tensor.argument(1)])


store('store_line', Tensor('u8', [1000], [256]), [896])
store('store_swizzle_64', Tensor('u32', [40, 10], [16, 8], swizzle=64), [28, 5])
store('store_swizzle_32', Tensor('f16', [64, 9, 3], [16, 4, 2], swizzle=32), [56, 6, 2])
store('store_steps', Tensor('u32', [16, 6, 5, 3], [8, 5, 2, 2], steps=[1, 2, 1, 1], offset=64), [12, 1, 4, 2])
store('store_five', Tensor('u16', [16, 3, 3, 3, 3], [8, 2, 2, 2, 2]), [0, 1, 2, 0, 1])
store('store_image', Tensor('f32', [8, 7, 5, 3], image=dict(lower=[0, 0], upper=[0, 0], channels=8, pixels=40)), [0, 4, 1, 0])
store('reduce_add', Tensor('f16', [64, 9], [64, 8], swizzle=128), [8, 3], ('add', lambda a, b: a + b))
store('reduce_min', Tensor('s32', [40, 10], [32, 4], swizzle=128), [24, 8], ('min', min))
store('reduce_xor', Tensor('u64', [10, 10], [4, 4]), [8, 8], ('xor', lambda a, b: a ^ b))
store('reduce_inc', Tensor('u32', [8, 4], [8, 4]), [0, 0], ('inc', lambda a, b: 0 if a >= b else a + 1))
store('reduce_image', Tensor('s32', [16, 6, 4], image=dict(lower=[0], upper=[0], channels=16, pixels=9)), [0, 2, 1],
      ('max', max))


TRANSPOSE = '''
// Tiles of 32 by 32 words, transposed in shared memory; both sides lie there with a swizzle of 128 bytes.
.visible .entry tensor_transpose(.param .u64 data, .param .u64 out, .param .align 64 .b8 source[128], .param .align 64 .b8 target[128])
{
    .reg .b32 t, x, y, a, b, s, k, from, to, full;
    .reg .b64 m, n;
    .reg .pred one, over, more;
    .shared .align 1024 .b8 tiles[8192];
    .shared .align 8 .b64 loaded;
    mov.b64 m, source;
    cvta.param.u64 m, m;
    mov.b64 n, target;
    cvta.param.u64 n, n;
    mov.u32 t, %tid.x;
    mov.u32 from, tiles;
    add.u32 to, from, 4096;
    mov.u32 full, loaded;
    mov.u32 x, %ctaid.x;
    mov.u32 y, %ctaid.y;
    shl.b32 x, x, 5;
    shl.b32 y, y, 5;
    setp.eq.u32 one, t, 0;
    @!one bra ready;
    mbarrier.init.shared.b64 [full], 1;
    fence.mbarrier_init.release.cluster;
    mbarrier.arrive.expect_tx.shared.b64 _, [full], 4096;
    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [from], [m, {x, y}], [full];
ready:
    bar.sync 0;
wait:
    mbarrier.try_wait.parity.shared.b64 over, [full], 0;
    @!over bra wait;
    mov.u32 k, 0;
again:
    // Row k of the source, column t: line t / 4 of the row lies at line t / 4 xor k mod 8.
    shr.u32 a, t, 2;
    xor.b32 a, a, k;
    and.b32 a, a, 7;
    shl.b32 a, a, 4;
    and.b32 b, t, 3;
    mad.lo.u32 a, b, 4, a;
    mad.lo.u32 a, k, 128, a;
    add.u32 a, a, from;
    ld.shared.u32 s, [a];
    shr.u32 a, k, 2;
    xor.b32 a, a, t;
    and.b32 a, a, 7;
    shl.b32 a, a, 4;
    and.b32 b, k, 3;
    mad.lo.u32 a, b, 4, a;
    mad.lo.u32 a, t, 128, a;
    add.u32 a, a, to;
    st.shared.u32 [a], s;
    add.u32 k, k, 1;
    setp.lt.u32 more, k, 32;
    @more bra again;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    elect.sync _|over, 0xffffffff;
    @!over bra done;
    cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [n, {y, x}], [to];
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group.read 0;
done:
    ret;
}
'''
wide, high = 80, 52
matrix = [[r.bits() for _ in range(wide)] for _ in range(high)]
case('tensor_transpose', 'tensor_loads', [3, 2], [32], [
    Given('u32', sum(matrix, [])), Result('u32', [matrix[y][x] for x in range(wide) for y in range(high)]),
    Tensor('u32', [wide, high], [32, 32], swizzle=128).argument(0),
    Tensor('u32', [high, wide], [32, 32], swizzle=128).argument(1)])


# The block's own memory by its name, policies, and what is brought into the cache before.
load('load_own_line', Tensor('u16', [500], [128]), [-24], own=True)
load('load_own_tile', Tensor('u32', [24, 10], [16, 8], swizzle=64), [12, 3], own=True, hint=True)
load('load_own_body', Tensor('u64', [10, 9, 3], [4, 4, 2], swizzle=32), [4, 6, 1], own=True)
load('load_own_four', Tensor('u32', [16, 6, 5, 3], [8, 5, 2, 2]), [4, 1, 3, -1], own=True, hint=True)
load('load_own_five', Tensor('u8', [16, 3, 3, 3, 3], [16, 2, 2, 2, 2]), [0, 1, 2, 0, 1], own=True)
load('load_own_image_3d', Tensor('f32', [16, 9, 3], image=dict(lower=[-1], upper=[-2], channels=8, pixels=12)), [4, 3, 0], [2], own=True)
load('load_own_image_4d', Tensor('f16', [64, 7, 5, 3], swizzle=128,
     image=dict(lower=[-1, -1], upper=[-1, -1], channels=64, pixels=40)), [0, 4, 1, 0], [2, 1], own=True, hint=True)
load('load_own_image_5d', Tensor('u32', [8, 5, 4, 3, 2], steps=[1, 2, 1, 1, 1],
     image=dict(lower=[-2, -1, 0], upper=[0, -1, 0], channels=8, pixels=30)), [0, -2, 0, 1, 0], [2, 1, 0], own=True)
load('load_hinted', Tensor('u32', [32, 20], [32, 8], swizzle=128), [0, 1], halves=2, hint=True)
load('load_hinted_image', Tensor('f32', [16, 9, 3], image=dict(lower=[-1], upper=[-2], channels=8, pixels=12)), [4, 3, 0], [2], hint=True)
load('load_narrow_128', Tensor('f16', [72, 20], [16, 12], swizzle=128), [-8, 9])
load('load_narrow_64', Tensor('u32', [24, 10, 3], [4, 6, 2], swizzle=64), [20, -2, 1], own=True)
load('load_narrow_image', Tensor('f16', [64, 7, 5, 3], swizzle=128,
     image=dict(lower=[-1, -1], upper=[-1, -1], channels=32, pixels=20)), [16, 4, 1, 0], [2, 1])
store('store_narrow', Tensor('u64', [10, 9, 3], [4, 4, 2], swizzle=128), [8, 6, 1])
store('reduce_narrow', Tensor('s32', [40, 10], [4, 8], swizzle=32), [36, 4], ('max', max))

# Every number of dimensions, and every operation.
store('reduce_line_and', Tensor('u32', [100], [64]), [48], ('and', lambda a, b: a & b), hint=True)
store('reduce_body_or', Tensor('u64', [8, 5, 4], [4, 4, 2], swizzle=32), [6, 2, 3], ('or', lambda a, b: a | b))
store('reduce_four_dec', Tensor('u32', [8, 5, 4, 3], [4, 4, 2, 2]), [4, 2, 1, 2], ('dec', lambda a, b: b if a == 0 or a > b else a - 1), hint=True)
store('reduce_five_max', Tensor('u64', [8, 3, 3, 3, 3], [4, 2, 2, 2, 2]), [2, 0, 1, 2, 0], ('max', max))
store('reduce_image_add', Tensor('f32', [8, 7, 5, 3], image=dict(lower=[0, 0], upper=[0, 0], channels=8, pixels=20)), [0, 4, 1, 0],
      ('add', lambda a, b: a + b), hint=True)
store('reduce_image_xor', Tensor('u32', [8, 5, 4, 3, 2], image=dict(lower=[0, 0, 0], upper=[0, 0, 0], channels=8, pixels=30)), [0, 2, 0, 1, 0],
      ('xor', lambda a, b: a ^ b))
store('store_image_line', Tensor('u32', [8, 9, 3], image=dict(lower=[0], upper=[0], channels=8, pixels=12)), [0, 3, 0], hint=True)
store('store_image_body', Tensor('u32', [8, 5, 4, 3, 2], image=dict(lower=[0, 0, 0], upper=[0, 0, 0], channels=8, pixels=30)), [0, 2, 0, 1, 0])
store('store_hinted', Tensor('u32', [40, 10], [16, 8], swizzle=64), [32, 5], hint=True)
load('load_nan_single', Tensor('f32', [20, 6, 2], [8, 4, 2], fill='nan'), [16, 4, 0])
load('load_nan_double', Tensor('f64', [10, 6, 2], [4, 4, 2], swizzle=32, fill='nan'), [8, 4, 1])


def write_ptx():
    with open(os.path.join(record.ROOT, 'tensor_loads.ptx'), 'w') as file:
        file.write('// Written by tools/kernels/tensors.py: boxes of tensors in shared memory.\n'
                   '.version 8.6\n.target sm_90\n.address_size 64\n' + ''.join(LOADS) + TRANSPOSE)
    with open(os.path.join(record.ROOT, 'tensor_stores.ptx'), 'w') as file:
        file.write('// Written by tools/kernels/tensors.py: boxes of tensors stored and reduced.\n'
                   '.version 8.6\n.target sm_90\n.address_size 64\n' + ''.join(STORES))
