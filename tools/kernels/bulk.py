"""Kernels of bulk copies: blocks of bytes, reductions of every type, cache policies, tensor maps, boxes of tensors."""
import math
import os
import struct

import record
from record import Given, Random, Result, Scalar, TensorMap, case, f32

HEAD = '''// Written by tools/kernels/bulk.py: {what}.
.version 8.6
.target {target}
.address_size 64
'''

# Blocks of 64 threads: words through shared memory, backwards, and out again in one copy of each block.
BYTES = '''
.visible .entry bulk_bytes(.param .u64 data, .param .u64 out)
{
    .reg .b32 t, b, x, s;
    .reg .b64 from, to, g, p;
    .reg .pred one;
    .shared .align 128 .b8 tile[256];
    ld.param.u64 from, [data];
    ld.param.u64 to, [out];
    createpolicy.fractional.L2::evict_first.b64 p, 0.5;
    mov.u32 t, %tid.x;
    mov.u32 b, %ctaid.x;
    mad.lo.u32 x, b, 64, t;
    mad.wide.u32 g, x, 4, from;
    cp.async.bulk.prefetch.L2.global [from], 256;
    cp.async.bulk.prefetch.L2.global.L2::cache_hint [from], 512, p;
    ld.global.L2::cache_hint.u32 x, [g], p;
    mov.u32 s, tile;
    sub.u32 t, 63, t;
    mad.lo.u32 s, t, 4, s;
    st.shared.u32 [s], x;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    setp.ne.u32 one, t, 63;
    @one bra done;
    mad.wide.u32 to, b, 256, to;
    cp.async.bulk.global.shared::cta.bulk_group [to], [tile], 128;
    cp.async.bulk.commit_group;
    cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [to+128], [tile+128], 128, p;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group.read 1;
    cp.async.bulk.wait_group 0;
done:
    ret;
}

// Each lane adds its own line to one of four: the lanes take turns.
.visible .entry bulk_lanes(.param .u64 data, .param .u64 out)
{
    .reg .b32 t, x, s, n;
    .reg .b64 from, to, g;
    .reg .b32 a<4>;
    .reg .pred odd;
    .shared .align 128 .b8 lines[512];
    ld.param.u64 from, [data];
    ld.param.u64 to, [out];
    mov.u32 t, %tid.x;
    mad.wide.u32 g, t, 16, from;
    ld.global.v4.u32 {a0, a1, a2, a3}, [g];
    mov.u32 s, lines;
    mad.lo.u32 s, t, 16, s;
    st.shared.v4.u32 [s], {a0, a1, a2, a3};
    fence.proxy.async.shared::cta;
    and.b32 x, t, 3;
    mad.wide.u32 to, x, 16, to;
    cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [to], [s], 16;
    and.b32 n, t, 1;
    setp.eq.u32 odd, n, 1;
    @odd cp.reduce.async.bulk.global.shared::cta.bulk_group.xor.b32 [to+64], [s], 16;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
    ret;
}
'''

# A stencil of three points: blocks of 64 words and a line on either side come in, results go out, in bulk. Then sums of
# words by their low bits, added to those of the other blocks.
STENCIL = '''
.visible .entry bulk_stencil(.param .u64 data, .param .u64 out, .param .u64 counts)
{
    .reg .b32 t, i, b, s, full, x, y, z;
    .reg .b64 from, to, sums, g, p;
    .reg .pred one, over;
    .shared .align 128 .b8 tile[288];
    .shared .align 128 .b8 result[256];
    .shared .align 128 .b8 bins[32];
    .shared .align 8 .b64 loaded;
    ld.param.u64 from, [data];
    ld.param.u64 to, [out];
    ld.param.u64 sums, [counts];
    mov.u32 t, %tid.x;
    mov.u32 b, %ctaid.x;
    mov.u32 full, loaded;
    mov.u32 s, tile;
    mad.wide.u32 g, b, 256, from;
    mad.wide.u32 to, b, 256, to;
    setp.eq.u32 one, t, 0;
    @!one bra ready;
    mbarrier.init.shared.b64 [full], 1;
    fence.mbarrier_init.release.cluster;
    st.shared.v4.u32 [bins], {0, 0, 0, 0};
    st.shared.v4.u32 [bins+16], {0, 0, 0, 0};
    createpolicy.fractional.L2::evict_last.b64 p;
    mbarrier.arrive.expect_tx.shared.b64 _, [full], 288;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [g], 144, [full];
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [s+144], [g+144], 144, [full], p;
ready:
    bar.sync 0;
wait:
    mbarrier.try_wait.parity.shared.b64 over, [full], 0;
    @!over bra wait;
    mad.lo.u32 s, t, 4, s;
    ld.shared.u32 x, [s+12];
    ld.shared.u32 y, [s+16];
    ld.shared.u32 z, [s+20];
    sub.u32 x, x, y;
    sub.u32 x, x, y;
    add.u32 x, x, z;
    mov.u32 i, result;
    mad.lo.u32 i, t, 4, i;
    st.shared.u32 [i], x;
    and.b32 z, y, 7;
    mov.u32 i, bins;
    mad.lo.u32 i, z, 4, i;
    red.shared.add.u32 [i], y;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    @!one bra done;
    cp.async.bulk.global.shared::cta.bulk_group [to], [result], 256;
    cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [sums], [bins], 32;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
done:
    ret;
}

// Blocks of a cluster: the first loads for both, and each gives the other its own words, copied and added.
.visible .entry bulk_cluster(.param .u64 data, .param .u64 out) .reqnctapercluster 2, 1, 1
{
    .reg .b32 t, b, s, full, peer, there, x;
    .reg .b64 from, to, g;
    .reg .b16 both;
    .reg .pred one, first, over;
    .shared .align 128 .b8 words[384];
    .shared .align 8 .b64 loaded;
    ld.param.u64 from, [data];
    ld.param.u64 to, [out];
    mov.u32 t, %tid.x;
    mov.u32 b, %cluster_ctarank;
    mov.u32 full, loaded;
    mov.u32 s, words;
    mov.b16 both, 3;
    xor.b32 peer, b, 1;
    setp.eq.u32 one, t, 0;
    setp.eq.and.u32 first, b, 0, one;
    // Own words: thread number, and a hundred for the second block.
    mad.lo.u32 x, b, 100, t;
    mad.lo.u32 there, t, 4, s;
    st.shared.u32 [there+128], x;
    st.shared.u32 [there+256], t;
    setp.lt.u32 over, t, 16;
    @over st.shared.u32 [there+64], 50;
    @!one bra ready;
    mbarrier.init.shared.b64 [full], 1;
    fence.mbarrier_init.release.cluster;
    mbarrier.arrive.expect_tx.shared.b64 _, [full], 256;
ready:
    fence.proxy.async.shared::cta;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    @first cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [s], [from], 64, [full], both;
    @!one bra wait;
    mapa.shared::cluster.u32 there, s, peer;
    mapa.shared::cluster.u32 x, full, peer;
    cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [there+256], [s+128], 64, [x];
    cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [there+320], [s+128], 64, [x];
    cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.max.s32 [there+64], [s+128], 64, [x];
wait:
    mbarrier.try_wait.parity.shared.b64 over, [full], 0;
    @!over bra wait;
    mad.lo.u32 s, t, 4, s;
    mad.lo.u32 x, b, 96, t;
    mad.wide.u32 g, x, 4, to;
    ld.shared.u32 x, [s+256];
    st.global.u32 [g], x;
    ld.shared.u32 x, [s+64];
    st.global.u32 [g+128], x;
    ld.shared.u32 x, [s];
    st.global.u32 [g+256], x;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    ret;
}
'''

# One chunk of 32 bytes for each: PTX name, how it is packed, and what is computed.
KINDS = [
    ('and.b32', 'u32', lambda a, b: a & b), ('or.b32', 'u32', lambda a, b: a | b), ('xor.b32', 'u32', lambda a, b: a ^ b),
    ('and.b64', 'u64', lambda a, b: a & b), ('or.b64', 'u64', lambda a, b: a | b), ('xor.b64', 'u64', lambda a, b: a ^ b),
    ('add.u32', 'u32', lambda a, b: a + b), ('min.u32', 'u32', min), ('max.u32', 'u32', max),
    ('inc.u32', 'u32', lambda a, b: 0 if a >= b else a + 1),
    ('dec.u32', 'u32', lambda a, b: b if a == 0 or a > b else a - 1),
    ('add.s32', 's32', lambda a, b: a + b), ('min.s32', 's32', min), ('max.s32', 's32', max),
    ('add.u64', 'u64', lambda a, b: a + b), ('min.u64', 'u64', min), ('max.u64', 'u64', max),
    ('min.s64', 's64', min), ('max.s64', 's64', max),
    ('add.f32', 'f32', lambda a, b: f32(a + b)), ('add.f64', 'f64', lambda a, b: a + b),
    ('add.noftz.f16', 'f16', lambda a, b: a + b), ('min.f16', 'f16', min), ('max.f16', 'f16', max),
    ('add.noftz.bf16', 'bf16', lambda a, b: a + b), ('min.bf16', 'bf16', min), ('max.bf16', 'bf16', max),
]
SIZES = {'u32': 4, 's32': 4, 'u64': 8, 's64': 8, 'f32': 4, 'f64': 8, 'f16': 2, 'bf16': 2}
CHUNK = 32


def bf16(value):
    """Bits of the value rounded to bf16, ties to even."""
    bits = struct.unpack('<I', struct.pack('<f', value))[0]
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16


def chunk(kind, values):
    return struct.pack(f'<{len(values)}H', *map(bf16, values)) if kind == 'bf16' else record.pack(kind, values)


def reductions():
    lines = [f'    cp.reduce.async.bulk.global.shared::cta.bulk_group.{name} [to+{CHUNK * at}], [s+{CHUNK * at}], {CHUNK};'
             for at, (name, _, _) in enumerate(KINDS)]
    size = CHUNK * len(KINDS)
    return '''
.visible .entry bulk_reduce(.param .u64 data, .param .u64 out)
{
    .reg .b32 t, x, s, q;
    .reg .b64 from, to, g;
    .reg .pred more, one;
    .shared .align 128 .b8 chunks[%d];
    ld.param.u64 from, [data];
    ld.param.u64 to, [out];
    mov.u32 t, %%tid.x;
again:
    cvt.u64.u32 g, t;
    mad.wide.u32 g, t, 4, from;
    ld.global.u32 x, [g];
    mov.u32 s, chunks;
    mad.lo.u32 q, t, 4, s;
    st.shared.u32 [q], x;
    add.u32 t, t, 32;
    setp.lt.u32 more, t, %d;
    @more bra again;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    elect.sync _|one, 0xffffffff;
    @!one bra done;
%s
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
done:
    ret;
}
''' % (size, size // 4, '\n'.join(lines))


PRIORITIES = ['unchanged', 'first', 'last', 'normal']
START, FRACTIONS = 0x7a0012345600, [None, 0.25, 0.5, 1.0]
RANGES = [(65536, 131072), (4096, 1 << 20), (1 << 22, 1 << 24), (0, 0), (777777, 99999999)]


def policies():
    """Every policy in the order in which it is stored: its words, and its high word."""
    rows = []
    for at, first in enumerate(PRIORITIES):
        for second in [None, 'first', 'unchanged']:
            beside = 0x10 if second == 'first' else 0
            words = f'L2::evict_{first}' + (f'.L2::evict_{second}' if second else '')
            for fraction in FRACTIONS:
                steps = 15 if fraction is None else int(fraction * 15.99)
                operand = '' if fraction is None else f', {fraction}'
                rows.append((f'createpolicy.fractional.{words}.b64 p{operand};', (0x100 + 0x20 * at + beside | steps) << 20))
            rows.append((f'createpolicy.fractional.{words}.b64 p, half;', (0x100 + 0x20 * at + beside | 7) << 20))
            for size, total in RANGES:
                high = 0x180 << 20
                if total:
                    unit = max(math.ceil(math.log2(total)) - 7, 12)
                    count = min((START + size - 1 + (1 << unit) >> unit) - (START >> unit), 0x7f)
                    high = (0x180 + 0x20 * at + beside | unit - 12) << 8 | START >> unit & 0x7f
                    high = (high << 7 | count) << 5
                rows.append((f'createpolicy.range.global.{words}.b64 p, [start], {size}, {total};', high))
    return rows


def policy_text():
    stores = '\n'.join(f'    {text}\n    st.global.b64 [to+{8 * at}], p;' for at, (text, _) in enumerate(policies()))
    return '''
.visible .entry cache_policies(.param .u64 out, .param .f32 fraction)
{
    .reg .b64 to, p, start;
    .reg .f32 half;
    ld.param.u64 to, [out];
    ld.param.f32 half, [fraction];
    mov.b64 start, %d;
%s
    createpolicy.cvt.L2.b64 p, start;
    st.global.b64 [to+%d], p;
    ret;
}
''' % (START, stores, 8 * len(policies()))


# Fields of a tensor map: words, value, and the bits (offset of the word, lowest bit, bits, what is written).
FIELDS = [
    ('global_address', None, 0x7a0000012300, [(0x00, 0, 64, 0x7a0000012300)]),
    ('rank', None, 2, [(0x08, 4, 3, 2)]),
    ('elemtype', None, 10, [(0x08, 7, 4, 10)]),
    ('elemtype', None, 12, [(0x08, 7, 4, 8), (0x08, 16, 1, 1)]),
    ('interleave_layout', None, 2, [(0x08, 11, 2, 2)]),
    ('swizzle_mode', None, 3, [(0x08, 13, 2, 3), (0x08, 22, 1, 0)]),
    ('fill_mode', None, 1, [(0x08, 15, 1, 1)]),
] + [('global_stride', at, 0x9876543210 + (at << 37), [
    (0x0c + 4 * at, 0, 32, 0x9876543210 + (at << 37) >> 4 & 0xffffffff), (0x1c, 4 * at, 4, 0x9876543210 + (at << 37) >> 36 & 15)])
    for at in range(4)] + [
    ('global_dim', at, 1000 + at, [(0x20 + 4 * at, 0, 32, 999 + at)]) for at in range(5)] + [
    ('element_stride', at, at + 2, [(0x34, 3 * at, 3, at + 1)]) for at in range(5)] + [
    ('box_dim', 0, 256, [(0x34, 24, 8, 255)])] + [
    ('box_dim', at, 20 + at, [(0x38, 8 * (at - 1), 8, 19 + at)]) for at in range(1, 5)]
CONSTANTS = ('elemtype', 'interleave_layout', 'swizzle_mode', 'fill_mode')
WIDE = ('global_address', 'global_stride')


def replacements(space, base):
    lines = []
    for name, at, value, _ in FIELDS:
        wide = name in WIDE
        operand = str(value) if name in CONSTANTS else 'w' if wide else 'v'
        if name not in CONSTANTS:
            lines.append(f'    mov.b{64 if wide else 32} {operand}, {value};')
        ordinal = '' if at is None else f' {at},'
        lines.append(f'    tensormap.replace.tile.{name}{space}.b1024.b{64 if wide else 32} [{base}],{ordinal} {operand};')
    return '\n'.join(lines)


def map_text():
    return '''
// Each block copies a map to shared memory, changes it there or in global memory, and publishes what it has.
.visible .entry tensor_map_fields(.param .u64 data, .param .u64 out)
{
    .reg .b32 t, x, s, v, q;
    .reg .b64 from, to, g, w;
    .reg .pred one;
    .shared .align 128 .b8 map[128];
    ld.param.u64 from, [data];
    ld.param.u64 to, [out];
    mov.u32 t, %%tid.x;
    mad.wide.u32 g, t, 4, from;
    ld.global.u32 x, [g];
    mov.u32 s, map;
    mad.lo.u32 q, t, 4, s;
    st.shared.u32 [q], x;
    mad.wide.u32 g, t, 4, to;
    st.global.u32 [g+128], x;
    st.global.u32 [g+256], x;
    bar.sync 0;
    setp.eq.u32 one, t, 0;
    @!one bra join;
%s
    add.u64 from, to, 128;
%s
    add.u64 from, to, 256;
%s
join:
    bar.warp.sync 0xffffffff;
    tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [to], [s], 128;
    ret;
}
''' % (replacements('.shared::cta', 's'), replacements('.global', 'from'), replacements('', 'from'))


# A map from a parameter, changed in shared memory, published, and used from where it is then.
USE = '''
.visible .entry tensor_map_use(.param .u64 data, .param .u64 room, .param .u64 out, .param .align 64 .b8 map[128])
{
    .reg .b32 t, x, s, q, v;
    .reg .b64 from, at, to, m, g;
    .reg .pred one;
    .shared .align 128 .b8 own[128];
    .shared .align 128 .b8 tile[128];
    ld.param.u64 from, [data];
    ld.param.u64 at, [room];
    ld.param.u64 to, [out];
    mov.b64 m, map;
    cvta.param.u64 m, m;
    prefetch.tensormap [m];
    mov.u32 t, %tid.x;
    mad.wide.u32 g, t, 4, m;
    ld.b32 x, [g];
    mov.u32 s, own;
    mad.lo.u32 q, t, 4, s;
    st.shared.u32 [q], x;
    mad.wide.u32 g, t, 4, from;
    ld.global.u32 x, [g];
    mov.u32 q, tile;
    mad.lo.u32 q, t, 4, q;
    st.shared.u32 [q], x;
    bar.warp.sync 0xffffffff;
    setp.eq.u32 one, t, 0;
    add.u64 to, to, 32;
    @one tensormap.replace.tile.global_address.shared::cta.b1024.b64 [s], to;
    mov.u32 v, 7;
    @one tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [s], 0, v;
    bar.warp.sync 0xffffffff;
    tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [at], [s], 128;
    fence.proxy.tensormap::generic.acquire.gpu [at], 128;
    fence.proxy.async.shared::cta;
    bar.warp.sync 0xffffffff;
    elect.sync _|one, 0xffffffff;
    @!one bra done;
    cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [at, {4, 1}], [tile];
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
done:
    ret;
}
'''


# The same map in global memory, changed there by one warp and used by the other; one kind of release after another.
PUBLISHED = '''
.visible .entry tensor_map_published(.param .u64 data, .param .u64 room, .param .u64 out, .param .align 64 .b8 map[128])
{
    .reg .b32 t, x, q, v;
    .reg .b64 from, at, to, m, g;
    .reg .pred one, copies;
    .shared .align 128 .b8 tile[128];
    ld.param.u64 from, [data];
    ld.param.u64 at, [room];
    ld.param.u64 to, [out];
    mov.b64 m, map;
    cvta.param.u64 m, m;
    mov.u32 t, %tid.x;
    setp.lt.u32 copies, t, 32;
    @!copies bra join;
    mad.wide.u32 g, t, 4, m;
    ld.b32 x, [g];
    mad.wide.u32 g, t, 4, at;
    st.global.u32 [g], x;
    mad.wide.u32 g, t, 4, from;
    ld.global.u32 x, [g];
    mov.u32 q, tile;
    mad.lo.u32 q, t, 4, q;
    st.shared.u32 [q], x;
    bar.warp.sync 0xffffffff;
    setp.eq.u32 one, t, 0;
    add.u64 to, to, 32;
    @one tensormap.replace.tile.global_address.global.b1024.b64 [at], to;
    mov.u32 v, 7;
    @one tensormap.replace.tile.global_dim.b1024.b32 [at], 0, v;
    fence.proxy.tensormap::generic.release.cta;
    fence.proxy.tensormap::generic.release.cluster;
    fence.proxy.tensormap::generic.release.gpu;
    fence.proxy.tensormap::generic.release.sys;
    fence.proxy.async.shared::cta;
join:
    bar.sync 0;
    @copies bra done;
    fence.proxy.tensormap::generic.acquire.cta [at], 128;
    fence.proxy.tensormap::generic.acquire.cluster [at], 128;
    fence.proxy.tensormap::generic.acquire.sys [at], 128;
    setp.ne.u32 one, t, 32;
    @one bra done;
    cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [at, {4, 1}], [tile];
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
done:
    ret;
}
'''


def changed(before):
    words = list(struct.unpack('<32I', before))
    for _, _, _, parts in FIELDS:
        for offset, low, bits, value in parts:
            for word in range(bits // 64 + 1):
                count = min(bits, 32)
                mask = (1 << count) - 1 << low
                at = offset // 4 + word
                words[at] = words[at] & ~mask | (value >> 32 * word) << low & mask
    return struct.pack('<32I', *words)


FILES = {
    'bulk': ('bulk copies and reductions of bytes, cache policies', 'sm_90', lambda: BYTES + STENCIL + reductions() + policy_text()),
    'tensor_map': ('fields of tensor maps', 'sm_90a', lambda: map_text() + USE + PUBLISHED),
}


def write_ptx():
    for name, (what, target, text) in FILES.items():
        with open(os.path.join(record.ROOT, name + '.ptx'), 'w') as file:
            file.write(HEAD.format(what=what, target=target) + text())


r = Random(41)
data = [r.bits() for _ in range(192)]
case('bulk_bytes', 'bulk', [3], [64], [
    Given('u32', data), Result('u32', [x for b in range(3) for x in reversed(data[64 * b:64 * b + 64])])])

lines = [[r.bits() for _ in range(4)] for _ in range(32)]
sums = [[sum(lines[t][w] for t in range(x, 32, 4)) for w in range(4)] for x in range(4)]
mixed = []
for x in range(4):
    for w in range(4):
        bits = 0
        for t in range(x, 32, 4):
            bits ^= lines[t][w] if t % 2 else 0
        mixed.append(bits)
case('bulk_lanes', 'bulk', [1], [32], [
    Given('u32', sum(lines, [])), Result('u32', sum(sums, []) + mixed, [0] * 32)])


points = [r.bits() for _ in range(4 * 64 + 8)]
middle = points[4:-4]
case('bulk_stencil', 'bulk', [4], [64], [
    Given('u32', points),
    Result('u32', [points[i + 3] - 2 * points[i + 4] + points[i + 5] for i in range(256)]),
    Result('u32', [bin + sum(x for x in middle if x % 8 == bin) for bin in range(8)], list(range(8)))])


words = [r.bits() for _ in range(16)]
seen = []
for own, peer in (0, 100), (100, 0):
    seen += [peer + t if t < 16 else t + peer + t - 16 for t in range(32)]
    top = [max(50, peer + t) for t in range(16)]
    seen += top + [own + t for t in range(16)] + words + top
case('bulk_cluster', 'bulk', [2], [32], [Given('u32', words), Result('u32', seen)])


def operands(kind, name):
    """Old values and operands of a chunk."""
    count = CHUNK // SIZES[kind]
    if kind in ('f16', 'bf16', 'f32', 'f64'):
        # Sixteenths below 16: sums are exact in f16, and are rounded in bf16.
        pick = lambda: (r.between(-255, 255) or 1) / 16
        return [pick() for _ in range(count)], [pick() for _ in range(count)]
    bits = SIZES[kind] * 8
    pick = lambda: record.wrap(kind, r.bits(3) if r.below(3) == 0 else r.bits(bits))
    return [pick() for _ in range(count)], [pick() for _ in range(count)]


old, given, after = b'', b'', b''
for name, kind, compute in KINDS:
    a, b = operands(kind, name)
    old += chunk(kind, a)
    given += chunk(kind, b)
    after += chunk(kind, [compute(x, y) for x, y in zip(a, b)])
case('bulk_reduce', 'bulk', [1], [32], [Given('u8', given), Result('u8', after, old)])

case('cache_policies', 'bulk', [1], [1], [
    Result('u64', [high << 32 for _, high in policies()] + [START]), Scalar('f32', 0.5)])

before = bytes(r.bits(8) for _ in range(128))
case('tensor_map_fields', 'tensor_map', [1], [32], [
    Given('u8', before), Result('u8', changed(before) * 3)])

# Boxes of 4 by 8 words from the fifth word on; the tensor begins 32 bytes further, and its rows end at the seventh word.
words = [r.bits() for _ in range(32)]
target = [0] * 80
for y in range(8):
    for x in range(4):
        if 4 + x < 7 and 1 + y < 6:
            target[8 + (1 + y) * 8 + 4 + x] = words[4 * y + x]
for name, threads in (('tensor_map_use', 32), ('tensor_map_published', 64)):
    case(name, 'tensor_map', [1], [threads], [
        Given('u32', words), Given('u32', [0] * 32), Result('u32', target, [0] * 80),
        TensorMap(2, type='u32', dims=[8, 6], strides=[32], box=[4, 8])])
