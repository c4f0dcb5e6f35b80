"""What PTX 9.1 to 9.5 added: conversions between pairs of halves and of narrow numbers, sums and extremes of packed bytes, products
without carries, layouts of barrier objects, orders of bulk copies, sums that keep subnormal numbers, classes of tensor maps."""
import itertools
import os
import struct
from fractions import Fraction

import blackwell
import record
from record import Given, Random, Result, case
from singles import THREADS, Batch

ROOT = os.path.join(os.path.dirname(record.ROOT), 'newest')
FILES = {}
TARGETS = {'newest_numbers': ('9.2', 'sm_100f'), 'newest_bytes': ('9.2', 'sm_120f'), 'newest_products': ('9.3', 'sm_80'), 'newest_orders': ('9.5', 'sm_90a'),
           'newest_matrices': ('9.1', 'sm_120f'), 'newest_fours': ('9.4', 'sm_100a'), 'newest_fixed': ('9.1', 'sm_100a')}
HEAD = '// Written by tools/kernels/newest.py: what PTX 9.1 to 9.5 added.\n.version {}\n.target {}\n.address_size 64\n'
r = Random(131)

# Bits of exponent and fraction, bias, the greatest number's code, what is no number, and whether there is an infinity.
NARROW = {'e4m3': (4, 3, 7, 0x7e, 0x7f, False), 'e5m2': (5, 2, 15, 0x7b, 0x7f, True), 'e2m3': (2, 3, 1, 0x1f, 0x1f, False),
          'e3m2': (3, 2, 3, 0x1f, 0x1f, False), 'e2m1': (2, 1, 1, 7, 7, False)}
HALVES = {'f16': (5, 10, 15), 'bf16': (8, 7, 127)}
INFINITY, NAN = 'infinity', 'nan'


def magnitude(exponent_bits, fraction_bits, bias, code):
    fraction, biased = code & (1 << fraction_bits) - 1, code >> fraction_bits
    return Fraction(fraction + (biased > 0) * (1 << fraction_bits)) * Fraction(2) ** (max(biased, 1) - bias - fraction_bits)


def nearest(codes, size):
    """The code of the nearest of some magnitudes in order, the even one of two."""
    return min(range(len(codes)), key=lambda code: (abs(codes[code] - size), code & 1))


TABLES = {name: [magnitude(*shape[:3], code) for code in range(shape[3] + 1)] for name, shape in NARROW.items()}


def half_value(ty, bits):
    exponent_bits, fraction_bits, bias = HALVES[ty]
    top = 1 << exponent_bits + fraction_bits
    rest = bits & top - 1
    infinite = (1 << exponent_bits) - 1 << fraction_bits
    size = NAN if rest > infinite else INFINITY if rest == infinite else magnitude(exponent_bits, fraction_bits, bias, rest)
    return size, bits >= top


def to_narrow(name, size, negative, relu):
    exponent_bits, fraction_bits, _, greatest, none, _ = NARROW[name]
    if size == NAN:
        return none
    if relu and negative:
        return 0
    code = greatest if size == INFINITY else nearest(TABLES[name], min(size, TABLES[name][-1]))
    return code | negative << exponent_bits + fraction_bits


def from_narrow(name, code):
    exponent_bits, fraction_bits, bias, greatest, none, infinite = NARROW[name]
    top = 1 << exponent_bits + fraction_bits
    rest = code & top - 1
    if rest > greatest:
        return (INFINITY if infinite and rest == greatest + 1 else NAN), code & top != 0
    return magnitude(exponent_bits, fraction_bits, bias, rest), code & top != 0


def to_bf16(size, negative, scale, relu, finite):
    """A number times a power of two; a byte of ones is no factor."""
    if size == NAN or scale == 255:
        return 0x7fff
    if relu and negative:
        return 0
    if size != INFINITY:
        size *= Fraction(2) ** (scale - 127)
        # One place more than the greatest number stands for all that is too large.
        exponent = max(size.numerator.bit_length() - size.denominator.bit_length(), -126) if size else -126
        exponent = max(exponent - (size < Fraction(2) ** exponent), -126)
        steps = size / Fraction(2) ** (exponent - 7)
        whole = steps.numerator // steps.denominator
        rest = steps - whole
        whole += rest > Fraction(1, 2) or rest == Fraction(1, 2) and whole & 1
        code = (exponent + 126 << 7) + whole
    if size == INFINITY or code >= 0x7f80:
        code = 0x7f7f if finite else 0x7f80
    return code | negative << 15


def halves(ty):
    """Pairs of halves: what is no number, ends of the range, and numbers as large as narrow ones are."""
    exponent_bits, fraction_bits, bias = HALVES[ty]
    infinite = (1 << exponent_bits) - 1 << fraction_bits
    top = 1 << exponent_bits + fraction_bits
    odd = [0, top, infinite, infinite | top, infinite + 1, top - 1, infinite - 1, 1, top | 1]
    usual = lambda: r.bits(1) * top | bias + r.between(-11, 10) << fraction_bits | r.bits(fraction_bits)
    ties = lambda: r.bits(1) * top | bias + r.between(-4, 6) << fraction_bits | r.bits(4) << fraction_bits - 4
    found = odd + [usual() if n % 2 else ties() for n in range(2 * THREADS - len(odd))]
    return [low | found[2 * THREADS - 1 - n] << 16 for n, low in enumerate(found[:THREADS])]


def narrow_of_halves():
    columns = {ty: halves(ty) for ty in HALVES}
    names = {'f16': 'h', 'bf16': 'g'}
    kernel = Batch('newest_numbers', 'narrow_of_halves', [(names[ty], 'b32', columns[ty]) for ty in HALVES], FILES, ROOT)
    for name, ty, relu in itertools.product(NARROW, HALVES, (False, True)):
        width = 4 if name == 'e2m1' else 8
        expected = []
        for pair in columns[ty]:
            low, high = (to_narrow(name, *half_value(ty, pair >> shift & 0xffff), relu) for shift in (0, 16))
            expected.append(low | high << width)
        convert = f'cvt.rn.satfinite{".relu" * relu}.{name}x2.{ty}x2'
        if name == 'e2m1':
            byte = f'y_{ty}_{int(relu)}'
            kernel.add(f'.reg .b8 {byte}; {convert} {byte}, {names[ty]}; cvt.u16.u8 d16, {byte}', 'b16', expected)
        else:
            kernel.add(f'{convert} d16, {names[ty]}', 'b16', expected)
    kernel.finish()


def halves_of_narrow():
    codes = [r.bits(16) for _ in range(THREADS)]
    codes[:6] = [0x0080, 0x7f7e, 0xfc7b, 0x7c7d, 0xff00, 0x8001]
    scales = [(127 + r.between(-9, 9)) | (127 + r.between(-9, 9)) << 8 for _ in range(THREADS)]
    scales[4:12] = [0xff7f, 0x00ff, 0x0001, 0xfefe, 0xfdfb, 0x0203, 0xf9fa, 0x7f7f]
    kernel = Batch('newest_numbers', 'halves_of_narrow', [('e', 'b16', codes), ('s', 'b16', scales)], FILES, ROOT)
    lines = 0
    for name, scaled, finite, relu in itertools.product(NARROW, (False, True), (False, True), (False, True)):
        width, mask = (4, 15) if name == 'e2m1' else (8, 255)
        expected = []
        for code, scale in zip(codes, scales):
            parts = []
            for at in range(2):
                size, negative = from_narrow(name, code >> width * at & mask & (1 << 1 + sum(NARROW[name][:2])) - 1)
                parts.append(to_bf16(size, negative, scale >> 8 * at & 255 if scaled else 127, relu, finite))
            expected.append(parts[0] | parts[1] << 16)
        words = f'cvt.rn{".satfinite" * finite}{".relu" * relu}{".scaled::n2::ue8m0" * scaled}.bf16x2.{name}x2 d32, '
        more = ', s' * scaled
        if name == 'e2m1':
            lines += 1
            kernel.add(f'.reg .b8 y{lines}; cvt.u8.u16 y{lines}, e; {words}y{lines}{more}', 'b32', expected)
        else:
            kernel.add(f'{words}e{more}', 'b32', expected)
    kernel.finish()


def parts(word, bits, signed):
    found = [word >> at & (1 << bits) - 1 for at in range(0, 32, bits)]
    return [v - (1 << bits) if signed and v >> bits - 1 else v for v in found]


def joined(values, bits):
    return sum((v & (1 << bits) - 1) << bits * at for at, v in enumerate(values))


def packed_integers():
    odd = [0, 0xffffffff, 0x80808080, 0x7f7f7f7f, 0x80007fff, 0x7fff8000, 0x00ff01fe, 0xff80017f]
    a = odd + [r.bits() for _ in range(THREADS - len(odd))]
    b = [odd[(3 * n + 1) % 8] if n < 16 else r.bits() for n in range(THREADS)]
    kernel = Batch('newest_bytes', 'packed_integers', [('a', 'b32', a), ('b', 'b32', b)], FILES, ROOT)
    types = {'u8x4': (8, False), 's8x4': (8, True), 'u16x2': (16, False), 's16x2': (16, True), 'u32': (32, False), 's32': (32, True)}

    def row(words, ty, act, given='a, b'):
        bits, signed = types[ty]
        columns = (a, b) if given == 'a, b' else (a,)
        kernel.add(f'{words}.{ty} d32, {given}', 'b32',
                   [joined([act(*each) for each in zip(*(parts(word, bits, signed) for word in words_))], bits) for words_ in zip(*columns)])

    def clamped(ty, value):
        bits, signed = types[ty]
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        return min(max(value, low), high)

    for ty in ('u8x4', 's8x4'):
        row('add', ty, lambda x, y: x + y)
        row('sub', ty, lambda x, y: x - y)
        row('sub.sat', ty, lambda x, y, ty=ty: clamped(ty, x - y))
        row('min', ty, min)
        row('max', ty, max)
    for ty in types:
        row('add.sat', ty, lambda x, y, ty=ty: clamped(ty, x + y))
    row('min.relu', 's8x4', lambda x, y: max(min(x, y), 0))
    row('max.relu', 's8x4', lambda x, y: max(x, y, 0))
    row('neg', 's8x4', lambda x: -x, 'a')
    kernel.finish()


def products_without_carries():
    odd = [0, 1, (1 << 64) - 1, 1 << 63, 0x8000000000000001]
    a, b, c = ([odd[(n * step) % 5] if n % 4 == 0 else r.bits(62) * 4 + r.bits(2) for n in range(THREADS)] for step in (1, 2, 3))
    kernel = Batch('newest_products', 'products_without_carries', [(name, 'b64', column) for name, column in zip('abe', (a, b, c))], FILES, ROOT)

    def product(x, y):
        total = 0
        for at in range(64):
            if y >> at & 1:
                total ^= x << at
        return total
    for part, shift in (('lo', 0), ('hi', 64)):
        cut = lambda value: value >> shift & (1 << 64) - 1
        kernel.add(f'clmad.{part}.u64 d64, a, b, e', 'b64', [cut(product(x, y)) ^ z for x, y, z in zip(a, b, c)])
        kernel.add(f'clmad.{part}.u64 d64, a, 0x1d, 0', 'b64', [cut(product(x, 0x1d)) for x in a])
        # Results that are read at once, by another product and by other operations.
        kernel.add(f'clmad.{part}.u64 d64, a, b, e; clmad.{part}.u64 d64, d64, d64, b; add.u64 d64, d64, e', 'b64',
                   [(cut(product(p, p)) ^ y) + z & (1 << 64) - 1 for p, y, z in ((cut(product(x, y)) ^ z, y, z) for x, y, z in zip(a, b, c))])
    kernel.finish()


def add_kernel(text):
    FILES.setdefault('newest_orders', []).append(text)


def objects_of_layouts():
    """What an object was made in, and a phase with nothing reported in it."""
    add_kernel('''
.visible .entry objects_of_layouts(.param .u64 out_)
{
    .reg .b64 out, state;
    .reg .b32 t, count, w<12>;
    .reg .b16 h;
    .reg .b8 value;
    .reg .pred p, q;
    .shared .align 8 .b64 first, second;
    ld.param.u64 out, [out_];
    mov.u32 t, %tid.x;
    mov.u32 count, 64;
    setp.ne.u32 p, t, 0;
    @p bra made;
    mbarrier.init.layout::v0.shared::cta.b64 [first], count;
    mbarrier.init.layout::v1.shared::cta.b64 [second], 32;
made:
    bar.sync 0;
    mbarrier.check_layout.layout::v0.shared::cta.b64 p, [first];
    selp.u32 w0, 1, 0, p;
    mbarrier.check_layout.layout::v1.shared::cta.b64 p, [first];
    selp.u32 w1, 1, 0, p;
    mbarrier.check_layout.layout::v0.shared::cta.b64 p, [second];
    selp.u32 w2, 1, 0, p;
    mbarrier.check_layout.layout::v1.shared::cta.b64 p, [second];
    selp.u32 w3, 1, 0, p;
    bar.sync 0;
    mbarrier.arrive.shared::cta.b64 state, [second];
again:
    mbarrier.try_wait.phase_type::primary.shared::cta.b64 p|q, value, [second], state;
    @!p bra again;
    selp.u32 w4, 1, 0, p;
    selp.u32 w5, 1, 0, q;
    cvt.u32.u8 w6, value;
    mbarrier.test_wait.parity.phase_type::primary.shared::cta.b64 p|q, [second], 1;
    selp.u32 w7, 1, 0, p;
    selp.u32 w8, 1, 0, q;
    mbarrier.test_wait.parity.phase_type::conditional.acquire.cluster.shared::cta.b64 p, [second], 0;
    selp.u32 w9, 1, 0, p;
    mbarrier.check_layout.layout::v1.shared::cta.b64 p, [second];
    selp.u32 w10, 1, 0, p;
    mbarrier.arrive.noComplete.release.cta.shared::cta.b64 state, [first], 1;
    mbarrier.pending_count.layout::v0.b64 w11, state;
    setp.ge.u32 p, w11, 33;
    selp.u32 w11, 1, 0, p;
    mad.wide.u32 out, t, 48, out;
    st.global.v4.b32 [out], {w0, w1, w2, w3};
    st.global.v4.b32 [out+16], {w4, w5, w6, w7};
    st.global.v4.b32 [out+32], {w8, w9, w10, w11};
    ret;
}
''')
    row = [1, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 1]
    case('objects_of_layouts', 'newest_orders', [1], [THREADS], [Result('u32', row * THREADS, [0] * 12 * THREADS)], folder=ROOT)


COPIES = [('cp.async.bulk.weak.shared::cta.global.mbarrier::complete_tx::bytes', ''), ('cp.async.bulk.weak.shared::cluster.global.mbarrier::complete_tx::bytes', ''),
          ('cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob', ', 0, 0')]
COPIES += [(f'cp.async.bulk.relaxed.{scope}.shared::{space}.global.mbarrier::complete_tx::bytes.b128', '') for scope, space in
           (('cta', 'cta'), ('cluster', 'cluster'), ('gpu', 'cta'), ('sys', 'cluster'))]
STORES = ['cp.async.bulk.weak.global.shared::cta.bulk_group', 'multimem.cp.async.bulk.global.shared::cta.bulk_group']
STORES += [f'cp.async.bulk.relaxed.{scope}.global.shared::cta.bulk_group.b128' for scope in ('cta', 'cluster', 'gpu', 'sys')]
BLOCK = 512


def copies_of_orders():
    """Blocks of bytes there and back, through copies of all orders."""
    lines = []
    for n, (words, more) in enumerate(COPIES):
        lines += [f'mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [object], {BLOCK};', f'{words} [room+{BLOCK * n}], [from], {BLOCK}{more}, [object];', f'add.u64 from, from, {BLOCK};']
    lines += ['mbarrier.arrive.shared::cta.b64 state, [object];', 'again:', 'mbarrier.try_wait.shared::cta.b64 p, [object], state;', '@!p bra again;']
    for n, words in enumerate(STORES):
        lines += [f'{words} [to], [room+{BLOCK * n}], {BLOCK};', f'add.u64 to, to, {BLOCK};']
    lines += [f'multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [to], [room+{BLOCK * len(STORES)}], {BLOCK};',
              'cp.async.bulk.commit_group;', 'cp.async.bulk.wait_group.sync_restrict::proxy::async 0;']
    add_kernel(f'''
.visible .entry copies_of_orders(.param .u64 given_, .param .u64 out_)
{{
    .reg .b64 from, to, state;
    .reg .pred p;
    .shared .align 16 .b8 room[{BLOCK * len(COPIES)}];
    .shared .align 8 .b64 object;
    ld.param.u64 from, [given_];
    ld.param.u64 to, [out_];
    mbarrier.init.shared::cta.b64 [object], 1;
    fence.proxy.async.shared::cta;
''' + ''.join(f'    {line}\n' for line in lines) + '    ret;\n}\n')
    words = [r.bits() for _ in range(BLOCK // 4 * len(COPIES))]
    sums = [r.bits() for _ in range(BLOCK // 4)]
    here = BLOCK // 4 * len(STORES)
    after = words[:here] + [x + y & 0xffffffff for x, y in zip(words[here:], sums)]
    case('copies_of_orders', 'newest_orders', [1], [1], [Given('u32', words), Result('u32', after, [0] * here + sums)], folder=ROOT)


def sums_of_subnormals():
    """Sums in memory that keep subnormal numbers, each lane in a place of its own, and the old values."""
    add_kernel('''
.visible .entry sums_of_subnormals(.param .u64 given_, .param .u64 to_, .param .u64 old_)
{
    .reg .b64 given, to, old;
    .reg .b32 t;
    .reg .f32 f<4>, g<4>;
    .shared .align 4 .b32 room[32];
    ld.param.u64 given, [given_];
    ld.param.u64 to, [to_];
    ld.param.u64 old, [old_];
    mov.u32 t, %tid.x;
    mad.wide.u32 given, t, 8, given;
    mad.wide.u32 to, t, 32, to;
    mad.wide.u32 old, t, 16, old;
    ld.global.v2.f32 {f0, f1}, [given];
    atom.global.add.noftz.f32 g0, [to], f0;
    red.global.add.noftz.f32 [to+4], f0;
    atom.global.add.noftz.v2.f32 {g1, g2}, [to+8], {f0, f1};
    red.global.add.noftz.v4.f32 [to+16], {f0, f1, f0, f1};
    shl.b32 t, t, 2;
    .reg .b32 at;
    mov.u32 at, room;
    add.u32 at, at, t;
    st.shared.f32 [at], f1;
    atom.shared.add.noftz.f32 g3, [at], f0;
    ld.shared.f32 f2, [at];
    st.global.v4.f32 [old], {g0, g1, g2, f2};
    ret;
}
''')
    # Multiples of the least subnormal number whose sums are exact.
    small = [(r.between(1, 1 << 20), r.between(1, 1 << 20)) for _ in range(THREADS)]
    places = [[r.between(1, 1 << 20) for _ in range(8)] for _ in range(THREADS)]
    after = [[x + y for x, y in zip(place, (a, a, a, b, a, b, a, b))] for place, (a, b) in zip(places, small)]
    old = [[place[0], place[2], place[3], a + b] for place, (a, b) in zip(places, small)]
    flat = lambda rows: [value for row in rows for value in row]
    case('sums_of_subnormals', 'newest_orders', [1], [THREADS],
         [Given('u32', flat(small)), Result('u32', flat(after), flat(places)), Result('u32', flat(old), [0] * 4 * THREADS)], folder=ROOT)


def classes_of_maps():
    """The bit of a tensor map that tells how its memory was taken, and reads through other paths and behind fences."""
    add_kernel('''
.visible .entry classes_of_maps(.param .u64 map_, .param .u64 out_)
{
    .reg .b64 map, out, other;
    .reg .b32 w<6>;
    .reg .pred p;
    ld.param.u64 map, [map_];
    ld.param.u64 out, [out_];
    mov.u64 other, 0x123456789abcdef0;
    tensormap.replace.tile.global_address.alloc_large.global.b1024.b64 [map], other;
    tensormap.query.alloc_class_large.global_address.global.b1024 p, [map];
    selp.u32 w0, 1, 0, p;
    tensormap.replace.tile.alloc_small.global.b1024 [map];
    tensormap.query.alloc_class_large.global.b1024 p, [map];
    selp.u32 w1, 1, 0, p;
    tensormap.replace.tile.alloc_large.global.b1024 [map+128];
    tensormap.replace.tile.global_address.alloc_same.global.b1024.b64 [map+128], other;
    tensormap.query.alloc_class_large.b1024 p, [map+128];
    selp.u32 w2, 1, 0, p;
    tensormap.replace.tile.global_address.alloc_small.global.b1024.b64 [map+256], other;
    fence.proxy.alias.release.sys;
    fence.proxy.alias.acquire.sys;
    fence.alias.sync_restrict::read.release.sys;
    fence.proxy.async.shared::cluster.sync_restrict::shared::cluster::read;
    fence.proxy.async::generic.release.sync_restrict::shared::cluster::read.cluster;
    prefetch.global.L1::32B.valid_addr [map];
    mov.u32 w3, %tid.x;
    mad.wide.u32 other, w3, 4, map;
    ld.proxy::readonly.global.u32 w3, [other+8];
    ld.proxy::readonly.v2.u32 {w4, w5}, [other+136];
    st.global.v4.b32 [out], {w0, w1, w2, w3};
    st.global.v2.b32 [out+16], {w4, w5};
    ret;
}
''')
    before = [r.bits() for _ in range(96)]
    after = list(before)
    for at in (0, 32, 64):
        after[at], after[at + 1] = 0x9abcdef0, 0x12345678
    large = 1 << 21
    after[2] &= ~large
    after[34] |= large
    after[66] &= ~large
    case('classes_of_maps', 'newest_orders', [1], [1],
         [Result('u32', after, before), Result('u32', [1, 0, 1, after[2], after[34], after[35]], [0] * 6)], folder=ROOT)


def scaled_product():
    """A product of matrices of four-bit numbers whose blocks of sixteen have powers of two as factors."""
    depth, blocks, per_word = 64, 4, 8
    values = [Fraction(n, 2) for n in (0, 1, -1, 2, -2, 3, 4, 6)]
    pick = lambda lines: [[values[r.below(8)] for _ in range(depth)] for _ in range(lines)]
    a, b, c = pick(16), pick(8), [[Fraction(r.between(-8, 8)) for _ in range(8)] for _ in range(16)]
    powers = lambda lines: [[r.between(-2, 2) for _ in range(blocks)] for _ in range(lines)]
    scale_a, scale_b = powers(16), powers(8)
    factor = lambda i, j, n: Fraction(2) ** (scale_a[i][n * blocks // depth] + scale_b[j][n * blocks // depth])
    sums = [[c[i][j] + sum(a[i][n] * b[j][n] * factor(i, j, n) for n in range(depth)) for j in range(8)] for i in range(16)]

    def words(matrix, lines, count, lane):
        out = []
        for register in range(count):
            line, at = blackwell.place(lines, per_word, lane, register, 0)
            out.append(sum(blackwell.bits_of('e2m1', matrix[line][at + part]) << 4 * part for part in range(per_word)))
        return out

    single = lambda value: struct.unpack('<I', struct.pack('<f', float(value)))[0]
    own = lambda matrix, lane: [single(matrix[lane // 4 + 8 * (n // 2)][2 * (lane % 4) + n % 2]) for n in range(4)]
    data, out = [], []
    for lane in range(THREADS):
        group, member = lane // 4, lane % 4
        code = lambda row: sum(127 + power << 8 * n for n, power in enumerate(row))
        # The lanes that are not named hold anything.
        factors = [code(scale_a[group + 8 * (member % 2)]) if member // 2 == 1 else r.bits(), code(scale_b[group]) if member == 2 else r.bits()]
        data += words(a, 16, 4, lane) + words(b, 8, 2, lane) + own(c, lane) + factors
        out += own(sums, lane)
    text = '''
.visible .entry scaled_product(.param .u64 given_, .param .u64 out_)
{
    .reg .b64 given, out;
    .reg .b32 t, a<4>, b<2>, s<2>;
    .reg .f32 c<4>;
    ld.param.u64 given, [given_];
    ld.param.u64 out, [out_];
    mov.u32 t, %tid.x;
    mad.wide.u32 given, t, 48, given;
    mad.wide.u32 out, t, 16, out;
    ld.global.v4.b32 {a0, a1, a2, a3}, [given];
    ld.global.v2.b32 {b0, b1}, [given+16];
    ld.global.v2.f32 {c0, c1}, [given+24];
    ld.global.v2.f32 {c2, c3}, [given+32];
    ld.global.v2.b32 {s0, s1}, [given+40];
    mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue8m0
        {c0, c1, c2, c3}, {a0, a1, a2, a3}, {b0, b1}, {c0, c1, c2, c3}, s0, {0, 1}, s1, {0, 2};
    st.global.v4.f32 [out], {c0, c1, c2, c3};
    ret;
}
'''
    FILES.setdefault('newest_matrices', []).append(text)
    case('scaled_product', 'newest_matrices', [1], [THREADS], [Given('u32', data), Result('u32', out, [0] * len(out))], folder=ROOT)


def sum_of(x, y):
    (a, s), (b, t) = x, y
    if NAN in (a, b) or a == b == INFINITY and s != t:
        return NAN, False
    if INFINITY in (a, b):
        return INFINITY, s if a == INFINITY else t
    total = (-a if s else a) + (-b if t else b)
    return abs(total), s and t if total == 0 else total < 0


def product_of(x, y):
    (a, s), (b, t) = x, y
    if NAN in (a, b) or INFINITY in (a, b) and 0 in (a, b):
        return NAN, False
    return (INFINITY if INFINITY in (a, b) else a * b), s != t


def result_of(name, number, finite):
    """The bits of a result; what is too large is the greatest number, or else an infinity, or none."""
    size, negative = number
    greatest, infinite = NARROW[name][3], NARROW[name][5]
    # Half of the last place beyond the greatest number is too large where that number is odd.
    above = TABLES[name][-1] + (TABLES[name][-1] - TABLES[name][-2]) / 2
    if size != NAN and not finite and (size == INFINITY or size > above or size == above and greatest & 1):
        return greatest + 1 | negative << 7 if infinite else 0x7f
    return to_narrow(name, size, negative, False)


def fours():
    """Sums and products of four numbers of all pairs of types."""
    odd = [0x7f80ff00, 0x7e7dfe01, 0x7bfb7cfc, 0x3c38b8bc, 0x81017780]
    column = lambda step: [odd[(n * step) % 5] if n % 3 == 0 else r.bits() for n in range(THREADS)]
    columns = {'a': column(1), 'b': column(2), 'e': column(3), 'x': [r.bits(16) for _ in range(THREADS)], 'y': [r.bits(16) for _ in range(THREADS)]}
    kernel = Batch('newest_fours', 'fours', [(name, 'b16' if name in 'xy' else 'b32', values) for name, values in columns.items()], FILES, ROOT)

    def numbers_of(name, given, t):
        width = 4 if name == 'e2m1' else 8
        bits = 1 + sum(NARROW[name][:2])
        return [from_narrow(name, columns[given][t] >> width * at & (1 << bits) - 1) for at in range(4)]
    given = lambda name, place: 'xy'[place] if name == 'e2m1' else 'ab'[place]
    types = list(NARROW)
    for to, finite in itertools.product(('e4m3', 'e5m2'), (True, False)):
        words = '.rn' * finite + '.satfinite' * finite
        row = lambda text, act: kernel.add(text, 'b32', [sum(result_of(to, each, finite) << 8 * at for at, each in enumerate(act(t))) for t in range(THREADS)])
        for first in types:
            one = given(first, 0)
            pairs = lambda t: zip(numbers_of(first, one, t), numbers_of(to, 'e', t))
            row(f'add{words}.{to}x4.{first}x4 d32, {one}, e', lambda t: [sum_of(x, y) for x, y in pairs(t)])
            row(f'sub{words}.{to}x4.{first}x4 d32, {one}, e', lambda t: [sum_of(x, (y[0], not y[1])) for x, y in pairs(t)])
            second = types[(types.index(first) * 2 + finite) % 5]
            two = given(second, 1)
            both = lambda t: [product_of(x, y) for x, y in zip(numbers_of(first, one, t), numbers_of(second, two, t))]
            row(f'mul{words}.{to}x4.{first}x4.{second}x4 d32, {one}, {two}', both)
            row(f'fma{words}.{to}x4.{first}x4.{second}x4 d32, {one}, {two}, e', lambda t: [sum_of(x, y) for x, y in zip(both(t), numbers_of(to, 'e', t))])
    kernel.finish()


def halves_of_fixed():
    codes = [0x8000, 0x7f81, 0xff01, 0x40c0] + [r.bits(16) for _ in range(THREADS - 4)]
    scales = [0xff7f, 0x00fe, 0xfdfc, 0x8585] + [127 + r.between(-9, 9) | 127 + r.between(-9, 9) << 8 for _ in range(THREADS - 4)]
    kernel = Batch('newest_fixed', 'halves_of_fixed', [('e', 'b16', codes), ('s', 'b16', scales)], FILES, ROOT)
    for scaled, finite, relu in itertools.product((False, True), (False, True), (False, True)):
        expected = []
        for code, scale in zip(codes, scales):
            steps = [(code >> at & 255) - (code >> at & 128) * 2 for at in (0, 8)]
            expected.append(sum(to_bf16(Fraction(abs(n), 64), n < 0, scale >> 8 * at & 255 if scaled else 127, relu, finite) << 16 * at for at, n in enumerate(steps)))
        kernel.add(f'cvt.rn{".satfinite" * finite}{".relu" * relu}{".scaled::n2::ue8m0" * scaled}.bf16x2.s2f6x2 d32, e{", s" * scaled}', 'b32', expected)
    kernel.finish()


narrow_of_halves()
halves_of_narrow()
packed_integers()
products_without_carries()
objects_of_layouts()
copies_of_orders()
sums_of_subnormals()
classes_of_maps()
scaled_product()
fours()
halves_of_fixed()


def write_ptx():
    os.makedirs(ROOT, exist_ok=True)
    for source, kernels in FILES.items():
        with open(os.path.join(ROOT, source + '.ptx'), 'w') as out:
            out.write(HEAD.format(*TARGETS[source]) + ''.join(kernels))
