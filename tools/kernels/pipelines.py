"""Products of matrices whose tiles come from tensor maps: one warp fills a ring of stages, a warp group multiplies what is there.
The first kernel is a block by itself; in the second one two blocks of a cluster each load half of the factor that both need."""
import os

import record
from record import Given, Random, Result, Scalar, TensorMap, case

FILE = 'pipelines'
ROWS, COLUMNS, DEPTH = 64, 32, 64
STAGES, BLOCKS, TILES = 3, 2, 5
LEFT, RIGHT = ROWS * DEPTH * 2, COLUMNS * DEPTH * 2
# Patterns of 128 bytes swizzled; eight rows of them are 1,024 bytes.
DESCRIPTOR = 1 << 62 | 1024 >> 4 << 32 | 1 << 16

HEAD = '''// Written by tools/kernels/pipelines.py: products of tiles from tensor maps, by a warp that loads and a warp group that multiplies.
.version 8.6
.target sm_90a
.address_size 64
'''

KERNEL = '''
.visible .entry %(name)s(.param .u64 of_a, .param .u64 of_b, .param .u64 of_c, .param .u32 of_tiles,
    .param .align 64 .b8 map_a[128], .param .align 64 .b8 map_b[128])
    .maxntid 256, 1, 1 .minnctapersm 2%(cluster)s
{
    .reg .pred p, lead;
    .reg .b16 all;
    .reg .b32 t, lane, warp, rank, row, i, tiles, stage, before, parity, full, empty, tile, k, x, y;
    .reg .b64 a, b, c, left, right, at;
    .reg .f32 d<16>;
    .shared .align 1024 .b8 buffer[%(buffer)d];
    .shared .align 8 .b64 fulls[%(stages)d];
    .shared .align 8 .b64 empties[%(stages)d];
    ld.param.u64 c, [of_c];
    ld.param.u32 tiles, [of_tiles];
    mov.b64 a, map_a;
    cvta.param.u64 a, a;
    mov.b64 b, map_b;
    cvta.param.u64 b, b;
    mov.u32 t, %%tid.x;
    and.b32 lane, t, 31;
    shr.u32 warp, t, 5;
    mov.u32 rank, %%ctaid.x;
    mul.lo.u32 row, rank, %(rows)d;
    setp.ne.u32 p, t, 0;
    @p bra ready;
%(init)s    fence.mbarrier_init.release.cluster;
    prefetch.tensormap [a];
    prefetch.tensormap [b];
ready:
%(meet)s    mov.u32 i, 0;
    mov.u32 stage, 0;
    setp.ge.u32 p, warp, 4;
    @p bra multiply;
    setmaxnreg.dec.sync.aligned.u32 40;
    setp.ne.u32 p, t, 0;
    @p bra done;
    mov.u32 parity, 1;
fill:
    // A stage is free when it has been read as often as it was filled before.
    mov.u32 empty, empties;
    mad.lo.u32 empty, stage, 8, empty;
taken:
    mbarrier.try_wait.parity.shared::cta.b64 p, [empty], parity;
    @!p bra taken;
    mov.u32 full, fulls;
    mad.lo.u32 full, stage, 8, full;
    mov.u32 tile, buffer;
    mad.lo.u32 tile, stage, %(bytes)d, tile;
    mul.lo.u32 k, i, %(depth)d;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], %(bytes)d;
    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [tile], [a, {k, row}], [full];
%(right)s    add.u32 stage, stage, 1;
    setp.eq.u32 p, stage, %(stages)d;
    @p xor.b32 parity, parity, 1;
    @p mov.u32 stage, 0;
    add.u32 i, i, 1;
    setp.lt.u32 p, i, tiles;
    @p bra fill;
    bra done;
multiply:
    setmaxnreg.inc.sync.aligned.u32 208;
    setp.eq.u32 lead, lane, 0;
    mov.u32 parity, 0;
%(zeros)snext:
    mov.u32 full, fulls;
    mad.lo.u32 full, stage, 8, full;
filled:
    mbarrier.try_wait.parity.shared::cta.b64 p, [full], parity;
    @!p bra filled;
    mov.u32 tile, buffer;
    mad.lo.u32 tile, stage, %(bytes)d, tile;
    shr.u32 tile, tile, 4;
    and.b32 tile, tile, 16383;
    cvt.u64.u32 left, tile;
    or.b64 left, left, %(descriptor)#x;
    add.u64 right, left, %(skip)d;
    wgmma.fence.sync.aligned;
%(products)s    wgmma.commit_group.sync.aligned;
    // The product before this one is through, and its stage free.
    wgmma.wait_group.sync.aligned 1;
    setp.eq.u32 p, i, 0;
    @p bra first;
    mov.u32 empty, empties;
    mad.lo.u32 empty, before, 8, empty;
%(release)sfirst:
    mov.u32 before, stage;
    add.u32 stage, stage, 1;
    setp.eq.u32 p, stage, %(stages)d;
    @p xor.b32 parity, parity, 1;
    @p mov.u32 stage, 0;
    add.u32 i, i, 1;
    setp.lt.u32 p, i, tiles;
    @p bra next;
    wgmma.wait_group.sync.aligned 0;
    sub.u32 warp, warp, 4;
    shr.u32 x, lane, 2;
    mad.lo.u32 x, warp, 16, x;
    add.u32 x, x, row;
    and.b32 y, lane, 3;
    mul.lo.u32 y, y, 8;
    mad.lo.u32 x, x, %(pitch)d, y;
    cvt.u64.u32 at, x;
    add.u64 at, at, c;
%(stores)sdone:
%(part)s    ret;
}
'''

ALONE = dict(
    name='gemm_stages', cluster='', meet='    bar.sync 0;\n', part='', arrivals=4,
    right='    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes '
          f'[tile+{LEFT}], [b, {{k, 0}}], [full];\n',
    release='    @lead mbarrier.arrive.shared::cta.b64 _, [empty];\n')

MEET = '    barrier.cluster.arrive.aligned;\n    barrier.cluster.wait.aligned;\n'
TOGETHER = dict(
    name='gemm_cluster', cluster=f' .reqnctapercluster {BLOCKS}, 1, 1', meet=MEET,
    part='    barrier.cluster.arrive;\n    barrier.cluster.wait;\n', arrivals=4 * BLOCKS,
    right=f'''    mad.lo.u32 x, rank, {RIGHT // BLOCKS}, tile;
    mul.lo.u32 y, rank, {COLUMNS // BLOCKS};
    mov.b16 all, {(1 << BLOCKS) - 1};
    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [x+{LEFT}], [b, {{k, y}}], [full], all;
''',
    release=''.join(f'''    mapa.shared::cluster.u32 x, empty, {block};
    @lead mbarrier.arrive.release.cluster.shared::cluster.b64 _, [x];
''' for block in range(BLOCKS)))


def kernel(form):
    names = [f'd{n}' for n in range(COLUMNS // 2)]
    sums = ', '.join(names)
    init = ''.join(f'    mbarrier.init.shared::cta.b64 [fulls+{8 * n}], 1;\n'
                   f"    mbarrier.init.shared::cta.b64 [empties+{8 * n}], {form['arrivals']};\n" for n in range(STAGES))
    step = '    add.u64 left, left, 2;\n    add.u64 right, right, 2;\n'
    product = ('    wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 '
               f'{{{sums}}}, left, right, 1, 1, 1, 0, 0;\n')
    stores = ''.join(f'    st.global.v2.f32 [at+{n // 4 * 32 + n // 2 % 2 * 8 * COLUMNS * 4}], {{d{n}, d{n + 1}}};\n'
                     for n in range(0, COLUMNS // 2, 2))
    return KERNEL % dict(
        form, buffer=STAGES * (LEFT + RIGHT), stages=STAGES, rows=ROWS, depth=DEPTH, bytes=LEFT + RIGHT, init=init,
        zeros=''.join(f'    mov.f32 {d}, 0f00000000;\n' for d in names), descriptor=DESCRIPTOR, skip=LEFT // 16,
        products=step.join([product] * (DEPTH // 16)), pitch=COLUMNS * 4, stores=stores)


def write_ptx():
    with open(os.path.join(record.ROOT, FILE + '.ptx'), 'w') as out:
        out.write(HEAD + kernel(ALONE) + kernel(TOGETHER))


def notes(form, seed):
    r = Random(seed)
    depth = DEPTH * TILES
    a = [[r.between(-4, 4) for _ in range(depth)] for _ in range(ROWS * BLOCKS)]
    b = [[r.between(-4, 4) for _ in range(depth)] for _ in range(COLUMNS)]
    # Sums of small integers are exact.
    c = [sum(x * y for x, y in zip(row, column)) for row in a for column in b]
    flat = lambda matrix: [value for row in matrix for value in row]
    part = COLUMNS // BLOCKS if form is TOGETHER else COLUMNS
    tensor = lambda alias, rows, box: TensorMap(alias, type='f16', dims=[depth, rows], strides=[2 * depth], box=[DEPTH, box],
                                                swizzle=128)
    case(form['name'], FILE, [BLOCKS], [256], [
        Given('f16', flat(a)), Given('f16', flat(b)), Result('f32', c), Scalar('u32', TILES),
        tensor(0, ROWS * BLOCKS, ROWS), tensor(1, COLUMNS, part)])


notes(ALONE, 51)
notes(TOGETHER, 52)
