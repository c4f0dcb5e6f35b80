"""Clusters: distributed shared memory, barriers, writes that tell barrier objects, special registers."""
import os

import record
from record import Given, Random, Result, Scalar, case

TEXT = '''// Written by tools/kernels/clusters.py: blocks of a cluster that work together.
.version 8.1
.target sm_90
.address_size 64

// The sum of all that a cluster reads, by each of its blocks: every block adds up its part, and then what the others have.
.visible .entry cluster_sum(.param .u64 from, .param .u64 to)
    .reqnctapercluster 4, 1, 1
{
    .reg .pred p, q;
    .reg .b32 t, x, rank, size, i, far, own, total, block;
    .reg .b64 g, wide;
    .shared .align 4 .b32 parts[2];
    mov.u32 t, %tid.x;
    mov.u32 block, %ctaid.x;
    ld.param.u64 g, [from];
    mad.lo.u32 x, block, 64, t;
    mad.wide.u32 g, x, 4, g;
    ld.global.u32 x, [g];
    setp.eq.u32 p, t, 0;
    @p st.shared.v2.u32 [parts], {0, 0};
    bar.sync 0;
    red.shared.add.u32 [parts], x;
    mov.u32 rank, %cluster_ctarank;
    mov.u32 size, %cluster_nctarank;
    // The block to the right gets the greatest number of this one, by generic and by cluster address in turn.
    add.u32 i, rank, 1;
    rem.u32 i, i, size;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    mapa.shared::cluster.u32 far, parts, i;
    and.b32 own, t, 1;
    setp.eq.u32 q, own, 1;
    @q red.relaxed.cluster.shared::cluster.max.u32 [far+4], x;
    cvt.u64.u32 wide, far;
    cvta.shared::cluster.u64 wide, wide;
    @!q atom.relaxed.cluster.max.u32 own, [wide+4], x;
    barrier.cluster.arrive.release;
    barrier.cluster.wait.acquire;
    mov.u32 total, 0;
    mov.u32 i, 0;
again:
    mapa.shared::cluster.u32 far, parts, i;
    ld.shared::cluster.u32 x, [far];
    add.u32 total, total, x;
    add.u32 i, i, 1;
    setp.lt.u32 q, i, size;
    @q bra again;
    getctarank.shared::cluster.u32 i, far;
    mad.lo.u32 total, total, 4, i;
    ld.shared.u32 own, [parts+4];
    // Nobody leaves before its memory has been read.
    barrier.cluster.arrive.relaxed;
    barrier.cluster.wait;
    ld.param.u64 g, [to];
    mad.wide.u32 g, block, 8, g;
    @p st.global.v2.u32 [g], {total, own};
    ret;
}

// Products of two rows, split among the blocks of a cluster: each adds its sums to those of the first block, which waits for
// the bytes of all.
.visible .entry split_sum(.param .u64 a, .param .u64 b, .param .u64 to)
    .explicitcluster
{
    .reg .pred p, lead, first;
    .reg .b32 t, x, y, rank, size, far, bar, bytes, at, cluster;
    .reg .b64 g;
    .shared .align 16 .b32 sums[64];
    .shared .align 8 .b64 object;
    mov.u32 t, %tid.x;
    mov.u32 rank, %cluster_ctarank;
    mov.u32 size, %cluster_nctarank;
    mov.u32 cluster, %clusterid.x;
    setp.eq.u32 lead, t, 0;
    setp.eq.u32 first, rank, 0;
    mov.u32 at, sums;
    mad.lo.u32 at, t, 4, at;
    st.shared.u32 [at], 1000;
    mul.lo.u32 bytes, size, 256;
    @!lead bra made;
    mbarrier.init.shared::cta.b64 [object], 1;
    fence.mbarrier_init.release.cluster;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [object], bytes;
made:
    barrier.cluster.arrive;
    barrier.cluster.wait;
    mad.lo.u32 x, cluster, size, rank;
    mad.lo.u32 x, x, 64, t;
    ld.param.u64 g, [a];
    mad.wide.u32 g, x, 4, g;
    ld.global.u32 y, [g];
    ld.param.u64 g, [b];
    mad.wide.u32 g, x, 4, g;
    ld.global.u32 x, [g];
    mul.lo.u32 x, x, y;
    mapa.shared::cluster.u32 far, at, 0;
    mapa.shared::cluster.u32 bar, object, 0;
    red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [far], x, [bar];
    @!first bra done;
wait:
    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [object], 0;
    @!p bra wait;
    ld.shared.u32 x, [at];
    ld.param.u64 g, [to];
    mad.lo.u32 y, cluster, 64, t;
    mad.wide.u32 g, y, 4, g;
    st.global.u32 [g], x;
done:
    barrier.cluster.arrive.relaxed;
    barrier.cluster.wait;
    ret;
}

// A ring: each block sends to the next one and tells it, waits for the one before, and says that it is through.
.visible .entry ring(.param .u64 to, .param .u32 rounds)
{
    .reg .pred p, lead;
    .reg .b32 t, x, y, z, w, rank, size, next, before, far, bar, free, parity, i, n, at, odd;
    .reg .b64 g, wide;
    .shared .align 16 .b32 inbox[128];
    .shared .align 8 .b64 full;
    .shared .align 8 .b64 emptied;
    mov.u32 t, %tid.x;
    mov.u32 rank, %cluster_ctarank;
    mov.u32 size, %cluster_nctarank;
    ld.param.u32 n, [rounds];
    add.u32 next, rank, 1;
    rem.u32 next, next, size;
    add.u32 before, rank, size;
    sub.u32 before, before, 1;
    rem.u32 before, before, size;
    setp.eq.u32 lead, t, 0;
    @lead mbarrier.init.shared::cta.b64 [full], 1;
    @lead mbarrier.init.shared::cta.b64 [emptied], 32;
    fence.mbarrier_init.release.cluster;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    mov.u32 at, inbox;
    mad.lo.u32 at, t, 16, at;
    mapa.shared::cluster.u32 far, at, next;
    mapa.shared::cluster.u32 bar, full, next;
    mapa.shared::cluster.u32 free, emptied, before;
    mad.lo.u32 x, rank, 100, t;
    mov.u32 i, 0;
round:
    and.b32 parity, i, 1;
    @lead mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 512;
    mad.lo.u32 y, x, 3, 1;
    xor.b32 z, x, y;
    add.u32 w, x, 7;
    st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [far], {x, y, z, w}, [bar];
wait:
    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [full], parity;
    @!p bra wait;
    ld.shared.v4.u32 {x, y, z, w}, [at];
    add.u32 x, x, y;
    add.u32 x, x, z;
    add.u32 x, x, w;
    // The one before may send again.
    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [free];
ready:
    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [emptied], parity;
    @!p bra ready;
    add.u32 i, i, 1;
    setp.lt.u32 p, i, n;
    @p bra round;
    mov.u32 y, %ctaid.x;
    mad.lo.u32 y, y, 32, t;
    ld.param.u64 g, [to];
    mad.wide.u32 g, y, 4, g;
    st.global.u32 [g], x;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    ret;
}

// Where a block is.
.visible .entry places(.param .u64 to)
{
    .reg .b32 x, y, z, n, at;
    .reg .b64 g;
    ld.param.u64 g, [to];
    mov.u32 x, %ctaid.x;
    mov.u32 y, %ctaid.y;
    mov.u32 n, %nctaid.x;
    mad.lo.u32 at, y, n, x;
    mad.wide.u32 g, at, 48, g;
    mov.u32 x, %cluster_ctaid.x;
    mov.u32 y, %cluster_ctaid.y;
    mov.u32 z, %cluster_ctaid.z;
    mov.u32 n, %cluster_ctarank;
    st.global.v4.u32 [g], {x, y, z, n};
    mov.u32 x, %clusterid.x;
    mov.u32 y, %clusterid.y;
    mov.u32 z, %nclusterid.x;
    mov.u32 n, %nclusterid.y;
    st.global.v4.u32 [g+16], {x, y, z, n};
    mov.u32 x, %cluster_nctaid.x;
    mov.u32 y, %cluster_nctaid.y;
    mov.u32 z, %cluster_nctarank;
    mov.u32 n, %is_explicit_cluster;
    st.global.v4.u32 [g+32], {x, y, z, n};
    ret;
}
'''

# `%is_explicit_cluster` is a predicate.
TEXT = TEXT.replace('    mov.u32 n, %is_explicit_cluster;\n', '    mov.pred p, %is_explicit_cluster;\n    selp.u32 n, 1, 0, p;\n')
TEXT = TEXT.replace('    .reg .b32 x, y, z, n, at;\n', '    .reg .pred p;\n    .reg .b32 x, y, z, n, at;\n')


def write_ptx():
    with open(os.path.join(record.ROOT, 'clusters.ptx'), 'w') as file:
        file.write(TEXT)


def cluster_sum(data, blocks, size, threads):
    rows = []
    for block in range(blocks):
        first = block // size * size
        total = sum(data[first * threads:(first + size) * threads])
        left = first + (block - first - 1) % size
        rows += [total * 4 + size - 1, max(data[left * threads:(left + 1) * threads])]
    return rows


def split_sum(a, b, clusters, size, threads):
    rows = []
    for cluster in range(clusters):
        for t in range(threads):
            at = [(cluster * size + rank) * threads + t for rank in range(size)]
            rows.append(1000 + sum(a[i] * b[i] for i in at))
    return rows


def ring(blocks, size, rounds):
    word = (1 << 32) - 1
    held = [[(block % size) * 100 + t for t in range(32)] for block in range(blocks)]
    for _ in range(rounds):
        def sent(x):
            y = x * 3 + 1 & word
            return x + y + (x ^ y) + (x + 7 & word) & word
        before = lambda block: block // size * size + (block - 1) % size
        held = [[sent(x) for x in held[before(block)]] for block in range(blocks)]
    return [x for block in held for x in block]


def places(grid, cluster):
    rows = []
    for y in range(grid[1]):
        for x in range(grid[0]):
            inner = [x % cluster[0], y % cluster[1]]
            rows += inner + [0, inner[0] + inner[1] * cluster[0]]
            rows += [x // cluster[0], y // cluster[1], grid[0] // cluster[0], grid[1] // cluster[1]]
            rows += cluster[:2] + [cluster[0] * cluster[1], 1]
    return rows


r = Random(32)
data = [r.bits(24) for _ in range(8 * 64)]
case('cluster_sum', 'clusters', [8], [64], [Given('u32', data), Result('u32', cluster_sum(data, 8, 4, 64))])
a = [r.bits() for _ in range(9 * 64)]
b = [r.bits() for _ in range(9 * 64)]
case('split_sum', 'clusters', [9], [64], [
    Given('u32', a), Given('u32', b), Result('u32', split_sum(a, b, 3, 3, 64))], cluster=[3])
case('ring', 'clusters', [10], [32], [Result('u32', ring(10, 5, 4)), Scalar('u32', 4)], cluster=[5])
case('places', 'clusters', [6, 4], [1], [Result('u32', places([6, 4], [3, 2]))], cluster=[3, 2])
