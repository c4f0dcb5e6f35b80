"""Kernels in which blocks of a cluster change each other's shared memory and tell each other's barrier objects, and copies into a
block's own memory."""
import os

import record
from record import Given, Random, Result, Scalar, case, wrap

FILE = 'exchange'
HEAD = '''// Written by tools/kernels/exchange.py: shared memory of other blocks, their barrier objects, copies into one's own.
.version 8.6
.target sm_90
.address_size 64
'''
LANES = 32
ACTS = {'add': lambda old, b: old + b, 'min': min, 'max': max, 'and': lambda old, b: old & b, 'or': lambda old, b: old | b,
        'xor': lambda old, b: old ^ b, 'inc': lambda old, b: 0 if old >= b else old + 1, 'dec': lambda old, b: b if old == 0 or old > b else old - 1}
# What single threads change, and what copies of 16 bytes change.
SINGLE = [('add', 'u32'), ('add', 's32'), ('add', 'u64'), ('add', 's64'), ('inc', 'u32'), ('dec', 'u32'), ('min', 'u32'), ('max', 'u32'),
          ('min', 's32'), ('max', 's32'), ('and', 'b32'), ('or', 'b32'), ('xor', 'b32')]
COPIED = [('and', 'b32'), ('or', 'b32'), ('xor', 'b32'), ('add', 'u64'), ('add', 'u32'), ('inc', 'u32'), ('dec', 'u32'), ('min', 'u32'),
          ('max', 'u32'), ('add', 's32'), ('min', 's32'), ('max', 's32')]
# What is stored into the other block, and how wide each part is.
STORED = [('', 'b32', 1), ('.weak', 'u32', 2), ('', 's32', 4), ('', 'f32', 2), ('.weak', 'b64', 1), ('', 'u64', 2), ('', 's64', 1), ('', 'f64', 2), ('', 'f32', 4)]
COPY = 16
AREA = LANES * 8 * len(SINGLE)
COPIES, STORES = AREA, AREA + COPY * len(COPIED)
SIZE = STORES + LANES * 16 * len(STORED)
BITS = {'b32': 32, 'u32': 32, 's32': 32, 'f32': 32, 'b64': 64, 'u64': 64, 's64': 64, 'f64': 64}
# Bytes that a block sends; the object hears of them in four parts.
SENT = sum(LANES * BITS[ty] // 8 for _, ty in SINGLE) + COPY * len(COPIED) + sum(LANES * count * BITS[ty] // 8 for _, ty, count in STORED)
ARRIVALS = ['arrive.shared::cluster.b64 _, [bar];', 'arrive.shared::cluster.b64 _, [bar], 2;', 'arrive_drop.shared::cluster.b64 _, [bar];',
            'arrive_drop.relaxed.cluster.shared::cluster.b64 _, [bar], 1;', 'arrive.relaxed.cta.shared::cluster.b64 _, [bar], 1;',
            f'arrive.expect_tx.release.cluster.shared::cluster.b64 _, [bar], {SENT - 28};', 'arrive_drop.expect_tx.shared::cluster.b64 _, [bar], 8;',
            'arrive.expect_tx.relaxed.cta.shared::cluster.b64 _, [bar], 4;', 'arrive_drop.expect_tx.relaxed.cluster.shared::cluster.b64 _, [bar], 16;']
EXPECTED, DROPPED = 10, 4


def exchange():
    """Each block changes what the other one has: threads their own words, one thread what is copied. The first phase of the object
    ends with the last byte; of its arrivals some are for good, so that the second phase has fewer."""
    text = f'''
.visible .entry exchange(.param .u64 old, .param .u64 given, .param .u64 out) .reqnctapercluster 2, 1, 1
{{
    .reg .pred p, lead, more;
    .reg .b32 t, rank, peer, at, here, bar, own, x, y, place;
    .reg .b64 from, to, d, s, source, generic_bar, generic_place, generic_at;
    .reg .b32 w<4>;
    .reg .b64 l<2>;
    .reg .f32 f<4>;
    .reg .f64 e<2>;
    .shared .align 128 .b8 words[{SIZE}];
    .shared .align 16 .b8 copied[{COPY * len(COPIED)}];
    .shared .align 8 .b64 object;
    mov.u32 t, %tid.x;
    mov.u32 rank, %cluster_ctarank;
    xor.b32 peer, rank, 1;
    setp.eq.u32 lead, t, 0;
    mov.u32 here, words;
    mov.u32 own, object;
    // What was there before, and what is to be copied.
    ld.param.u64 from, [old];
    mad.wide.u32 from, rank, {SIZE}, from;
    mov.u32 x, t;
before:
    mad.lo.u32 at, x, 4, here;
    mad.wide.u32 d, x, 4, from;
    ld.global.b32 y, [d];
    st.shared.b32 [at], y;
    add.u32 x, x, {LANES};
    setp.lt.u32 more, x, {SIZE // 4};
    @more bra before;
    ld.param.u64 source, [given];
    mad.wide.u32 source, rank, {SIZE}, source;
    setp.ge.u32 p, t, {COPY * len(COPIED) // 8};
    @p bra given_is_there;
    mad.wide.u32 d, t, 8, source;
    ld.global.b64 l0, [d+{COPIES}];
    mov.u32 at, copied;
    mad.lo.u32 at, t, 8, at;
    st.shared.b64 [at], l0;
given_is_there:
    @!lead bra made;
    mbarrier.init.shared::cta.b64 [own], {EXPECTED};
    fence.release.sync_restrict::shared::cta.cluster;
    fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;
made:
    fence.proxy.async;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    fence.acquire.sync_restrict::shared::cluster.cluster;
    fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;
    mapa.shared::cluster.u32 bar, own, peer;
    mapa.shared::cluster.u32 place, here, peer;
    cvt.u64.u32 d, own;
    cvta.shared.u64 d, d;
    mapa.u64 generic_bar, d, peer;
    cvt.u64.u32 d, place;
    cvta.shared::cluster.u64 generic_place, d;
    mad.lo.u32 at, t, 8, place;
    mad.wide.u32 generic_at, t, 8, generic_place;
    mad.wide.u32 from, t, 8, source;
'''
    for n, (op, ty) in enumerate(SINGLE):
        file = 'l' if BITS[ty] == 64 else 'w'
        where, at, bar = ('.shared::cluster', 'at', 'bar') if n % 3 else ('', 'generic_at', 'generic_bar')
        text += f'    ld.global.b{BITS[ty]} {file}0, [from+{LANES * 8 * n}];\n'
        text += f'    red.async.relaxed.cluster{where}.mbarrier::complete_tx::bytes.{op}.{ty} [{at}+{LANES * 8 * n}], {file}0, [{bar}];\n'
    text += '    mad.lo.u32 at, t, 16, place;\n    mad.wide.u32 generic_at, t, 16, generic_place;\n    mad.wide.u32 from, t, 16, source;\n'
    for n, (weak, ty, count) in enumerate(STORED):
        file = {'f32': 'f', 'f64': 'e'}.get(ty, 'l' if BITS[ty] == 64 else 'w')
        names = [f'{file}{k}' for k in range(count)]
        value, vector = (f'{{{", ".join(names)}}}', f'.v{count}') if count > 1 else (names[0], '')
        offset = STORES + LANES * 16 * n
        where, at, bar = ('.shared::cluster', 'at', 'bar') if n % 2 else ('', 'generic_at', 'generic_bar')
        text += f'    ld.global{vector}.b{BITS[ty]} {value}, [from+{offset}];\n'
        text += f'    st.async{weak}{where}.mbarrier::complete_tx::bytes{vector}.{ty} [{at}+{offset}], {value}, [{bar}];\n'
    text += '    @!lead bra told;\n' + ''.join(f'    mbarrier.{arrival}\n' for arrival in ARRIVALS) + '    mov.u32 x, copied;\n'
    for n, (op, ty) in enumerate(COPIED):
        text += ('    cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.'
                 f'{op}.{ty} [place+{COPIES + COPY * n}], [x+{COPY * n}], {COPY}, [bar];\n')
    return text + f'''told:
wait:
    mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 p, [own], 0;
    @!p bra wait;
    mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [own], 0, 0x989680;
    fence.acq_rel.cluster;
    ld.param.u64 to, [out];
    mad.wide.u32 to, rank, {SIZE + 16}, to;
    mov.u32 x, t;
after:
    mad.lo.u32 at, x, 4, here;
    mad.wide.u32 d, x, 4, to;
    ld.shared.b32 y, [at];
    st.global.b32 [d], y;
    add.u32 x, x, {LANES};
    setp.lt.u32 more, x, {SIZE // 4};
    @more bra after;
    @!lead bra done;
    mbarrier.arrive.shared::cta.b64 s, [own], {EXPECTED - DROPPED - 1};
    mbarrier.test_wait.relaxed.cluster.shared::cta.b64 p, [own], s;
    selp.u32 w0, 1, 0, p;
    mbarrier.arrive.relaxed.cluster.shared::cta.b64 s, [own];
    mbarrier.test_wait.acquire.cta.shared::cta.b64 p, [own], s;
    selp.u32 w1, 1, 0, p;
    cvt.u64.u32 d, own;
    cvta.shared.u64 d, d;
    mbarrier.test_wait.acquire.cluster.b64 p, [d], s;
    selp.u32 w2, 1, 0, p;
    getctarank.u64 x, generic_place;
    mbarrier.try_wait.relaxed.cluster.b64 p, [d], s, 100;
    setp.eq.and.u32 p, x, peer, p;
    selp.u32 w3, 1, 0, p;
    st.global.v4.u32 [to+{SIZE}], {{w0, w1, w2, w3}};
done:
    barrier.cluster.arrive;
    barrier.cluster.wait;
    ret;
}}
'''


def exchanged(old, given):
    """The bytes of a block after the other one has changed them."""
    kind = lambda ty: ty.replace('b', 'u')
    after = bytearray(old)

    def change(at, op, ty):
        size = BITS[ty] // 8
        a, b = (wrap(kind(ty), int.from_bytes(memory[at:at + size], 'little')) for memory in (old, given))
        after[at:at + size] = record.pack(kind(ty), [ACTS[op](a, b)])

    for n, (op, ty) in enumerate(SINGLE):
        for t in range(LANES):
            change(n * LANES * 8 + t * 8, op, ty)
    for n, (op, ty) in enumerate(COPIED):
        for at in range(0, COPY, BITS[ty] // 8):
            change(COPIES + COPY * n + at, op, ty)
    for n, (_, ty, count) in enumerate(STORED):
        for t in range(LANES):
            at = STORES + (n * LANES + t) * 16
            after[at:at + count * BITS[ty] // 8] = given[at:at + count * BITS[ty] // 8]
    return bytes(after)


# Copies of threads: where they go, how wide they are, and how many bytes come from memory. `None` leaves all out.
OWN = [('ca', '', 4, '', 4), ('ca', '', 8, '', 8), ('ca', '.L2::128B', 16, '', 16), ('ca', '', 4, ', few', None), ('ca', '', 8, ', 3', 3),
       ('ca', '.L2::cache_hint', 16, ', policy', 16), ('ca', '.L2::cache_hint.L2::256B', 8, ', 0, policy', 0), ('ca', '.L2::64B', 16, ', skip', 'skip'),
       ('cg', '.L2::64B', 16, '', 16), ('cg', '.L2::cache_hint', 16, ', policy', 16), ('cg', '.L2::cache_hint.L2::128B', 16, ', few, policy', None),
       ('cg', '.L2::256B', 16, ', 5', 5)]


def own_copies():
    text = f'''
.visible .entry own_copies(.param .u64 data, .param .u64 out, .param .u64 of_policy)
{{
    .reg .pred skip, over;
    .reg .b32 t, few, at, base, x, bar;
    .reg .b64 from, to, policy, wide;
    .shared .align 128 .b8 room[{16 * LANES * len(OWN)}];
    .shared .align 128 .b8 tile[512];
    .shared .align 8 .b64 object;
    ld.param.u64 from, [data];
    ld.param.u64 to, [out];
    ld.param.u64 policy, [of_policy];
    mov.u32 t, %tid.x;
    mov.u32 bar, object;
    setp.ne.u32 over, t, 0;
    @over bra begun;
    mbarrier.init.shared::cta.b64 [bar], 1;
    fence.mbarrier_init.release.cluster;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 512;
    mov.u32 x, tile;
    cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [x], [from], 256, [bar];
    cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint [x+256], [from+256], 256, [bar], policy;
begun:
    mad.wide.u32 from, t, 16, from;
    mad.wide.u32 to, t, 16, to;
    mov.u32 base, room;
    mad.lo.u32 base, t, 16, base;
    and.b32 few, t, 3;
    setp.eq.u32 skip, few, 1;
    mov.b64 wide, 0x5555555555555555;
'''
    for n, (kind, words, size, rest, _) in enumerate(OWN):
        text += f'    st.shared.v2.b64 [base+{16 * LANES * n}], {{wide, wide}};\n'
        text += f'    cp.async.{kind}.shared.global{words} [base+{16 * LANES * n}], [from], {size}{rest};\n'
    text += '    cp.async.wait_all;\n    .reg .b64 a, b;\n'
    for n in range(len(OWN)):
        text += f'    ld.shared.v2.b64 {{a, b}}, [base+{16 * LANES * n}];\n    st.global.v2.b64 [to+{16 * LANES * n}], {{a, b}};\n'
    return text + f'''wait:
    mbarrier.try_wait.parity.shared::cta.b64 over, [bar], 0;
    @!over bra wait;
    mov.u32 x, tile;
    mad.lo.u32 x, t, 16, x;
    ld.shared.v2.b64 {{a, b}}, [x];
    st.global.v2.b64 [to+{16 * LANES * len(OWN)}], {{a, b}};
    ret;
}}
'''


def own_copied(data):
    out = b''
    for _, _, size, _, count in OWN:
        for t in range(LANES):
            # The size is given, or the lowest bits of the thread's number; a predicate that holds leaves all out.
            taken = t % 4 if count is None else (0 if t % 4 == 1 else 16) if count == 'skip' else count
            line = data[16 * t:16 * t + taken].ljust(size, b'\0')
            out += line.ljust(16, b'\x55')
    return out + data


def write_ptx():
    with open(os.path.join(record.ROOT, FILE + '.ptx'), 'w') as file:
        file.write(HEAD + exchange() + own_copies())


def drawn(r):
    """Bytes among which words meet that are equal, small and near an end."""
    words = [r.bits(32) if r.below(3) else r.below(4) if r.below(2) else 0x7fffffff + r.below(3) for _ in range(SIZE // 4)]
    return record.pack('u32', words)


r = Random(97)
old, given = [[drawn(r) for _ in range(2)] for _ in 'ab']
after = b''.join(exchanged(old[rank], given[1 - rank]) + record.pack('u32', [0, 1, 1, 1]) for rank in range(2))
case('exchange', FILE, [2], [LANES], [Given('u8', old[0] + old[1]), Given('u8', given[0] + given[1]), Result('u8', after)])
data = bytes(r.bits(8) for _ in range(512))
case('own_copies', FILE, [1], [LANES], [Given('u8', data), Result('u8', own_copied(data)), Scalar('u64', 0x12f0000000000000)])
