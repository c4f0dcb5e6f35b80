"""Barrier objects in shared memory: counts, phases, copies that signal them, and transactions."""
import os

import record
from record import Given, Random, Result, case

THREADS = 64

OBJECTS = '''// Written by tools/kernels/barriers.py: barrier objects and copies that signal them.
.version 8.0
.target sm_80
.address_size 64

// What 64 threads see of several objects: a word of each of twelve questions.
.visible .entry objects(.param .u64 out, .param .u32 five)
{
    .reg .pred p, q, lead, few;
    .reg .b32 t, x, y, a, n, i, at, bar, lane;
    .reg .b64 s, to;
    .shared .align 8 .b64 bars[16];
    .shared .align 4 .b32 data[64];
    ld.param.u64 to, [out];
    mov.u32 t, %tid.x;
    mad.wide.u32 to, t, 48, to;
    setp.eq.u32 lead, t, 5;
    setp.lt.u32 few, t, 8;
    @!lead bra made;
    ld.param.u32 n, [five];
    mbarrier.init.shared.b64 [bars], 64;
    mbarrier.init.shared.b64 [bars+8], 3;
    mbarrier.init.shared.b64 [bars+16], n;
made:
    // Eight threads make one object each.
    mov.u32 bar, bars;
    mad.lo.u32 bar, t, 8, bar;
    add.u32 bar, bar, 64;
    add.u32 n, t, 1;
    @few mbarrier.init.shared.b64 [bar], n;
    bar.sync 0;

    // A phase that a state waits for.
    mov.u32 a, data;
    mad.lo.u32 a, t, 4, a;
    mad.lo.u32 x, t, 7, 1;
    st.shared.u32 [a], x;
    mbarrier.arrive.shared.b64 s, [bars];
first:
    mbarrier.test_wait.shared.b64 p, [bars], s;
    @!p bra first;
    xor.b32 x, t, 63;
    mov.u32 at, data;
    mad.lo.u32 at, x, 4, at;
    ld.shared.u32 x, [at];
    st.global.u32 [to], x;
    // What it tells of other arrivals is anything from one to all.
    mbarrier.pending_count.b64 n, s;
    setp.lt.u32 q, n, 65;
    selp.u32 y, n, 0, q;
    min.u32 y, y, 1;

    // Phases by their parity.
    mbarrier.arrive.release.cta.shared.b64 _, [bars];
second:
    mbarrier.test_wait.parity.shared.b64 p, [bars], 1;
    @!p bra second;
    st.global.u32 [to+4], y;
    add.u32 x, x, t;
    st.shared.u32 [a], x;
    mov.u32 i, 0;
    mbarrier.arrive.shared.b64 s, [bars];
third:
    mbarrier.test_wait.parity.acquire.cta.shared.b64 p, [bars], i;
    @p bra seen;
    bra third;
seen:
    add.u32 x, t, 1;
    and.b32 x, x, 63;
    mov.u32 at, data;
    mad.lo.u32 at, x, 4, at;
    ld.shared.u32 x, [at];
    st.global.u32 [to+8], x;

    // Eight objects, each signalled as often as it wants.
    mov.u32 i, 0;
    @!few bra signalled;
again:
    mbarrier.arrive.shared.b64 s, [bar];
    add.u32 i, i, 1;
    setp.le.u32 q, i, t;
    @q bra again;
    mbarrier.pending_count.b64 i, s;
signalled:
    st.global.u32 [to+12], i;
    and.b32 x, t, 7;
    mov.u32 at, bars;
    mad.lo.u32 at, x, 8, at;
    mov.u32 i, 0;
fourth:
    mbarrier.test_wait.parity.shared.b64 p, [at+64], i;
    @!p bra fourth;

    // One thread alone.
    mov.u32 x, 0;
    mov.u32 y, 0;
    mov.u32 n, 0;
    mov.u32 i, 0;
    @!lead bra done;
    mbarrier.arrive.noComplete.shared.b64 s, [bars+8], 2;
    mbarrier.pending_count.b64 x, s;
    mbarrier.test_wait.parity.shared.b64 p, [bars+8], 0;
    selp.u32 y, 1, 0, p;
    mbarrier.arrive_drop.shared.b64 s, [bars+8];
    mbarrier.test_wait.shared.b64 p, [bars+8], s;
    selp.u32 i, 2, 0, p;
    or.b32 y, y, i;
    mbarrier.arrive.shared.b64 s, [bars+8];
    mbarrier.pending_count.b64 n, s;
    @lead mbarrier.arrive.shared.b64 _, [bars+8];
    @!lead mbarrier.arrive.shared.b64 _, [bars+8];
    mbarrier.test_wait.parity.shared.b64 p, [bars+8], 1;
    selp.u32 i, 4, 0, p;
    or.b32 y, y, i;
    mbarrier.inval.shared.b64 [bars+8];
    mbarrier.init.shared.b64 [bars+8], 1;
    mbarrier.arrive.shared.b64 _, [bars+8];
    mbarrier.test_wait.parity.shared.b64 p, [bars+8], 0;
    selp.u32 i, 8, 0, p;
    or.b32 y, y, i;
    mbarrier.arrive_drop.noComplete.shared.b64 _, [bars+16], 2;
    mbarrier.arrive.shared.b64 _, [bars+16];
    mbarrier.arrive.shared.b64 _, [bars+16];
    mbarrier.arrive.shared.b64 s, [bars+16];
    mbarrier.pending_count.b64 i, s;
    shl.b32 i, i, 4;
    mbarrier.arrive.shared.b64 s, [bars+16];
    mbarrier.pending_count.b64 at, s;
    or.b32 i, i, at;
done:
    st.global.u32 [to+16], x;
    st.global.u32 [to+20], y;
    st.global.u32 [to+24], n;
    st.global.u32 [to+28], i;
    ret;
}

// A warp copies tiles, another one adds them up; two buffers.
.visible .entry copy_pipeline(.param .u64 from, .param .u64 out, .param .u32 tiles)
{
    .reg .pred p, lead, last;
    .reg .b32 t, lane, n, i, half, parity, full, empty, tile, a, x, y, sum, warp;
    .reg .b64 g, to;
    .shared .align 16 .b8 buffer[1024];
    .shared .align 8 .b64 fulls[2];
    .shared .align 8 .b64 empties[2];
    ld.param.u64 g, [from];
    ld.param.u64 to, [out];
    ld.param.u32 n, [tiles];
    mov.u32 t, %tid.x;
    and.b32 lane, t, 31;
    shr.u32 warp, t, 5;
    setp.eq.u32 lead, t, 0;
    @lead mbarrier.init.shared.b64 [fulls], 32;
    @lead mbarrier.init.shared.b64 [fulls+8], 32;
    @lead mbarrier.init.shared.b64 [empties], 32;
    @lead mbarrier.init.shared.b64 [empties+8], 32;
    bar.sync 0;
    mov.u32 i, 0;
    mov.u32 sum, 0;
    setp.eq.u32 p, warp, 1;
    @p bra add;
    mad.wide.u32 g, lane, 16, g;
copy:
    // The buffer is free when it has been read as often as it was filled before.
    and.b32 half, i, 1;
    shr.u32 parity, i, 1;
    not.b32 parity, parity;
    and.b32 parity, parity, 1;
    mov.u32 empty, empties;
    mad.lo.u32 empty, half, 8, empty;
free:
    mbarrier.test_wait.parity.shared.b64 p, [empty], parity;
    @!p bra free;
    mov.u32 tile, buffer;
    mad.lo.u32 tile, half, 512, tile;
    mad.lo.u32 tile, lane, 16, tile;
    cp.async.cg.shared.global [tile], [g], 16;
    mov.u32 full, fulls;
    mad.lo.u32 full, half, 8, full;
    SIGNAL
    add.u64 g, g, 512;
    add.u32 i, i, 1;
    setp.lt.u32 last, i, n;
    @last bra copy;
    bra done;
add:
    and.b32 half, i, 1;
    shr.u32 parity, i, 1;
    and.b32 parity, parity, 1;
    mov.u32 full, fulls;
    mad.lo.u32 full, half, 8, full;
filled:
    mbarrier.test_wait.parity.shared.b64 p, [full], parity;
    @!p bra filled;
    // What a neighbour copied.
    mov.u32 tile, buffer;
    mad.lo.u32 tile, half, 512, tile;
    xor.b32 a, lane, 1;
    mad.lo.u32 tile, a, 16, tile;
    ld.shared.v2.u32 {x, y}, [tile];
    mad.lo.u32 sum, sum, 3, x;
    xor.b32 sum, sum, y;
    ld.shared.v2.u32 {x, y}, [tile+8];
    mad.lo.u32 sum, sum, 5, x;
    xor.b32 sum, sum, y;
    mov.u32 empty, empties;
    mad.lo.u32 empty, half, 8, empty;
    mbarrier.arrive.shared.b64 _, [empty];
    add.u32 i, i, 1;
    setp.lt.u32 last, i, n;
    @last bra add;
    mad.wide.u32 to, lane, 4, to;
    st.global.u32 [to], sum;
done:
    ret;
}
'''

# The copies themselves are counted, or the thread arrives on its own and the copies only hold the phase up.
COUNTED = 'cp.async.mbarrier.arrive.noinc.shared.b64 [full];'
HELD_UP = 'cp.async.mbarrier.arrive.shared.b64 [full];\n    mbarrier.arrive.shared.b64 _, [full];'

TRANSACTIONS = '''// Written by tools/kernels/barriers.py: barrier objects that count bytes, and waits with a limit.
.version 8.6
.target sm_90
.address_size 64

// 64 threads announce bytes, arrive, and say that the bytes have come; what each question gave is a bit.
.visible .entry transactions(.param .u64 out, .param .u32 hint)
{
    .reg .pred p, lead, odd;
    .reg .b32 t, x, y, b, n, bar, far, limit;
    .reg .b64 s, to, generic;
    .shared .align 8 .b64 bars[8];
    ld.param.u64 to, [out];
    ld.param.u32 limit, [hint];
    mov.u32 t, %tid.x;
    mad.wide.u32 to, t, 16, to;
    setp.eq.u32 lead, t, 0;
    mov.u32 bar, bars;
    cvta.shared.u64 generic, bars;
    @lead mbarrier.init.shared::cta.b64 [bar], 64;
    @lead mbarrier.init.b64 [generic+8], 65;
    @lead mbarrier.init.shared::cta.b64 [bar+16], 96;
    @lead mbarrier.init.shared::cta.b64 [bar+24], 4;
    fence.mbarrier_init.release.cluster;
    bar.sync 0;
    mov.u32 y, 0;

    // Each announces its own number of bytes, the next thread says that they have come.
    add.u32 n, t, 1;
    mbarrier.arrive.expect_tx.shared::cta.b64 s, [bar], n;
    bar.sync 0;
    mbarrier.test_wait.shared::cta.b64 p, [bar], s;
    selp.u32 x, 1, 0, p;
    or.b32 y, y, x;
    bar.sync 0;
    mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], n;
first:
    mbarrier.try_wait.acquire.cta.shared::cta.b64 p, [bar], s;
    @!p bra first;
    selp.u32 x, 2, 0, p;
    or.b32 y, y, x;

    // Bytes that come before they are announced, by generic addresses.
    mbarrier.complete_tx.b64 [generic+8], n;
    mbarrier.arrive.b64 s, [generic+8];
    bar.sync 0;
    mbarrier.try_wait.b64 p, [generic+8], s, limit;
    selp.u32 x, 4, 0, p;
    or.b32 y, y, x;
    bar.sync 0;
    mbarrier.expect_tx.relaxed.cta.b64 [generic+8], n;
    @lead mbarrier.arrive.release.cluster.b64 _, [generic+8];
second:
    mbarrier.try_wait.parity.acquire.cluster.b64 p, [generic+8], 0, 0x989680;
    @!p bra second;

    // Arrivals by number; half of the threads leave for good.
    and.b32 x, t, 1;
    setp.eq.u32 odd, x, 1;
    @odd mbarrier.arrive_drop.release.cta.shared::cta.b64 _, [bar+16], 1;
    @!odd mbarrier.arrive.shared::cta.b64 _, [bar+16], 2;
third:
    mbarrier.try_wait.parity.shared::cta.b64 p, [bar+16], 0;
    @!p bra third;
    bar.sync 0;
    mov.u32 n, 0;
    @!lead bra left;
    mbarrier.arrive.shared::cta.b64 s, [bar+16], 1;
    mbarrier.pending_count.b64 n, s;
    mbarrier.test_wait.parity.relaxed.cta.shared::cta.b64 p, [bar+16], 1;
    selp.u32 x, 8, 0, p;
    or.b32 y, y, x;
    mbarrier.arrive.noComplete.release.cta.shared::cta.b64 s, [bar+24], 3;
    mbarrier.pending_count.b64 b, s;
    mad.lo.u32 n, b, 1000, n;
    mbarrier.arrive_drop.expect_tx.relaxed.cluster.shared::cta.b64 s, [bar+24], 100;
    mbarrier.pending_count.b64 b, s;
    mad.lo.u32 n, b, 10000, n;
    mbarrier.test_wait.parity.shared::cta.b64 p, [bar+24], 0;
    selp.u32 x, 16, 0, p;
    or.b32 y, y, x;
    // The same object by its address in the cluster.
    mov.u32 b, %cluster_ctarank;
    mapa.shared::cluster.u32 far, bar, b;
    mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [far+24], 60;
    mbarrier.complete_tx.shared::cta.b64 [bar+24], 40;
    mbarrier.test_wait.parity.acquire.cluster.shared::cta.b64 p, [bar+24], 0;
    selp.u32 x, 32, 0, p;
    or.b32 y, y, x;
    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [far+24], 2;
    mbarrier.arrive.expect_tx.shared::cluster.b64 _, [far+24], 8;
    mbarrier.test_wait.parity.shared::cta.b64 p, [bar+24], 1;
    selp.u32 x, 64, 0, p;
    or.b32 y, y, x;
    mbarrier.complete_tx.shared::cta.b64 [bar+24], 8;
    mbarrier.test_wait.parity.shared::cta.b64 p, [bar+24], 1;
    selp.u32 x, 128, 0, p;
    or.b32 y, y, x;
left:
    st.global.v2.u32 [to], {y, n};
    ret;
}
'''

# Arrivals that do not complete a phase, and the share of the count that each thread took: the count before it, as its
# state says, down to that less its amount. Whatever the order, the shares of all cover the count without gap or overlap.
SHARES = '''
.visible .entry shares(.param .u64 out, .param .u32 two)
{
    .reg .pred p, q, odd;
    .reg .b32 t, n, own, bar, pending, at;
    .reg .b64 s, to, place;
    .shared .align 8 .b64 bars[3];
    ld.param.u64 to, [out];
    ld.param.u32 n, [two];
    mov.u32 t, %tid.x;
    mov.u32 bar, bars;
    setp.lt.u32 p, t, 3;
    mad.lo.u32 at, t, 8, bar;
    @p mbarrier.init.shared.b64 [at], 1000;
    bar.sync 0;

    // The same amount for all.
    mbarrier.arrive.noComplete.shared.b64 s, [bar], n;
    mbarrier.pending_count.b64 pending, s;
    sub.u32 at, 1000, pending;
    mad.wide.u32 place, at, 4, to;
    red.global.add.u32 [place], 1;
    red.global.add.u32 [place+4], 1;

    // One to four.
    and.b32 own, t, 3;
    add.u32 own, own, 1;
    mbarrier.arrive.noComplete.release.cta.shared.b64 s, [bar+8], own;
    mbarrier.pending_count.b64 pending, s;
    sub.u32 at, 1000, pending;
    mad.wide.u32 place, at, 4, to;
each:
    red.global.add.u32 [place+512], 1;
    add.u64 place, place, 4;
    sub.u32 own, own, 1;
    setp.ne.u32 q, own, 0;
    @q bra each;

    // Every other thread, for good.
    and.b32 own, t, 1;
    setp.ne.u32 odd, own, 0;
    mov.b64 s, 0;
    @odd mbarrier.arrive_drop.noComplete.shared.b64 s, [bar+16], 3;
    @!odd bra left;
    mbarrier.pending_count.b64 pending, s;
    sub.u32 at, 1000, pending;
    mad.wide.u32 place, at, 4, to;
    red.global.add.u32 [place+1152], 1;
    red.global.add.u32 [place+1156], 1;
    red.global.add.u32 [place+1160], 1;
left:
    ret;
}
'''


def copy_kernels():
    head, kernel = OBJECTS.split('// A warp copies tiles')
    kernel = '// A warp copies tiles' + kernel
    counted = kernel.replace('SIGNAL', COUNTED)
    held_up = kernel.replace('SIGNAL', HELD_UP).replace('copy_pipeline', 'copy_pipeline_held')
    return head + counted + '\n' + held_up + SHARES


def write_ptx():
    for name, text in [('barrier_objects', copy_kernels()), ('barrier_transactions', TRANSACTIONS)]:
        with open(os.path.join(record.ROOT, name + '.ptx'), 'w') as file:
            file.write(text)


def objects():
    """Twelve words of each thread; the last four are not written."""
    rows = []
    for t in range(THREADS):
        first = (t ^ 63) * 7 + 1
        follower = (t + 1) % THREADS
        row = [first, 1, (follower ^ 63) * 7 + 1 + follower]
        # The last of t + 1 arrivals finds one missing.
        row.append(1 if t < 8 else 0)
        # The object of three loses one for good; that of five two.
        row += [3, 0b1110, 2, 1 << 4 | 3] if t == 5 else [0, 0, 0, 0]
        rows += row + [0] * 4
    return rows


def transactions():
    rows = []
    for t in range(THREADS):
        # Of 96 arrivals 32 were for good.
        rows += [2 | 32 | 128, 64 + 4 * 1000 + 1 * 10000] if t == 0 else [2, 0]
        rows += [0, 0]
    return rows


def pipeline(data, tiles):
    sums = []
    for lane in range(32):
        total = 0
        for tile in range(tiles):
            at = tile * 128 + (lane ^ 1) * 4
            for factor, pair in ((3, data[at:at + 2]), (5, data[at + 2:at + 4])):
                total = (total * factor + pair[0] ^ pair[1]) % (1 << 32)
        sums.append(total)
    return sums


r = Random(31)
tiles = 9
data = [r.bits() for _ in range(tiles * 128)]
case('objects', 'barrier_objects', [1], [THREADS], [
    Result('u32', objects(), [0] * 12 * THREADS), record.Scalar('u32', 5)])
for kernel in ('copy_pipeline', 'copy_pipeline_held'):
    case(kernel, 'barrier_objects', [2], [64], [
        Given('u32', data), Result('u32', pipeline(data, tiles)), record.Scalar('u32', tiles)])
# 2 units of each thread, 1 to 4, and 3 of each other thread.
units = 2 * THREADS + sum(t % 4 + 1 for t in range(THREADS)) + 3 * THREADS // 2
case('shares', 'barrier_objects', [1], [THREADS], [
    Result('u32', [1] * units, [0] * units), record.Scalar('u32', 2)])
case('transactions', 'barrier_transactions', [1], [THREADS], [
    Result('u32', transactions(), [0] * 4 * THREADS), record.Scalar('u32', 1000)])
