"""Kernels of atomic operations on vectors of halves and on 128 bits, and of memory that several devices hold copies of.

A launch is on one device: what `multimem.ld_reduce` gives is the one copy that there is."""
import os

import record
from matrix import WIDTH, decode, draw, encode
from record import Given, Random, Result, case

FILE = 'atomics_sm90'
HEAD = '// Written by tools/kernels/atomics.py: atomic operations on vectors and on 128 bits, and multimem.\n.version 9.0\n.target sm_90\n.address_size 64\n'
LANES = range(32)
SLOT = 16

VECTORS = [(count, ty) for ty in ('f16', 'bf16') for count in (2, 4, 8)] + [(count, ty) for ty in ('f16x2', 'bf16x2') for count in (2, 4)]
SINGLE = {'f16x2': 'f16', 'bf16x2': 'bf16'}


def listed(name, count):
    return '{' + ', '.join(f'{name}{n}' for n in range(count)) + '}'


def half(r, ty):
    """Any number that is none of NaN, infinities and zeros."""
    while True:
        bits = draw(r, ty, True)
        value = decode(ty, bits)[0]
        if not isinstance(value, float) and value != 0:
            return bits


def apply(op, ty, a, b):
    x, y = decode(ty, a)[0], decode(ty, b)[0]
    if op == 'add':
        return encode(ty, x + y, True)
    return a if (x < y) == (op == 'min') else b


def access(op, ty, count, name, address, store=False):
    """A load or store of a vector, halves by halves."""
    text = ''
    bits = 16 if ty in WIDTH and WIDTH[ty] == 16 and ty not in SINGLE else 32
    for n in range(count):
        place = f'[{address}+{n * bits // 8}]'
        text += f'    st.global.b{bits} {place}, {name}{n};\n' if store else f'    ld.global.b{bits} {name}{n}, {place};\n'
    return text


def vectors_kernel():
    forms = [(op, count, ty) for op in ('add', 'min', 'max') for count, ty in VECTORS]
    stride = len(forms) * SLOT
    text = f'''
.visible .entry atomic_vectors(.param .u64 data, .param .u64 memory, .param .u64 reduced, .param .u64 out)
{{
    .reg .b16 h<8>, g<8>;
    .reg .b32 t, w<4>, v<4>;
    .reg .b64 from, at, red_at, to;
    ld.param.u64 from, [data];
    ld.param.u64 at, [memory];
    ld.param.u64 red_at, [reduced];
    ld.param.u64 to, [out];
    mov.u32 t, %tid.x;
    mad.wide.u32 from, t, {stride}, from;
    mad.wide.u32 at, t, {stride}, at;
    mad.wide.u32 red_at, t, {stride}, red_at;
    mad.wide.u32 to, t, {stride}, to;
'''
    for n, (op, count, ty) in enumerate(forms):
        single = ty not in SINGLE
        mine, old = ('h', 'g') if single else ('w', 'v')
        scope = ('', '.relaxed.gpu', '.acquire.cta', '.acq_rel.sys')[n % 4]
        where = ('.global', '')[n % 2]
        text += access('ld', ty, count, mine, f'from+{n * SLOT}')
        text += f'    atom{scope}{where}.{op}.noftz.v{count}.{ty} {listed(old, count)}, [at+{n * SLOT}], {listed(mine, count)};\n'
        text += access('st', ty, count, old, f'to+{n * SLOT}', True)
        text += f"    red{('', '.release.gpu')[n % 2]}.global.{op}.noftz.v{count}.{ty} [red_at+{n * SLOT}], {listed(mine, count)};\n"
    return text + '    ret;\n}\n', forms


def vectors_data(r, forms):
    data, before, after = [], [], []
    for _ in LANES:
        for op, count, ty in forms:
            element = SINGLE.get(ty, ty)
            number = count * (2 if ty in SINGLE else 1)
            mine, old = ([half(r, element) for _ in range(number)] for _ in 'ab')
            new = [apply(op, element, a, b) for a, b in zip(old, mine)]
            for whole, part in ((data, mine), (before, old), (after, new)):
                whole += part + [0] * (8 - number)
    return data, before, after


WIDE = '''
.visible .entry atomic_b128(.param .u64 data, .param .u64 memory, .param .u64 out)
{
    .reg .b32 t, near;
    .reg .b64 from, at, to, low, high, seen, upper, policy;
    .reg .b128 expected, wanted, old;
    .shared .align 16 .b8 own[512];
    ld.param.u64 from, [data];
    ld.param.u64 at, [memory];
    ld.param.u64 to, [out];
    mov.u32 t, %tid.x;
    mad.wide.u32 from, t, 32, from;
    mad.wide.u32 at, t, 32, at;
    mad.wide.u32 to, t, 96, to;
    createpolicy.fractional.L2::evict_first.b64 policy;
    mov.u32 near, own;
    mad.lo.u32 near, t, 16, near;
    ld.global.v2.b64 {low, high}, [from];
    mov.b128 expected, {low, high};
    ld.global.v2.b64 {low, high}, [from+16];
    mov.b128 wanted, {low, high};
    atom.global.cas.b128 old, [at], expected, wanted;
    mov.b128 {seen, upper}, old;
    st.global.v2.b64 [to], {seen, upper};
    atom.acq_rel.sys.global.exch.b128 old, [at+16], expected;
    mov.b128 {seen, upper}, old;
    st.global.v2.b64 [to+16], {seen, upper};
    st.shared.v2.b64 [near], {seen, upper};
    atom.shared.exch.b128 old, [near], expected;
    mov.b128 {seen, upper}, old;
    st.global.v2.b64 [to+32], {seen, upper};
    atom.shared.cas.b128 old, [near], expected, wanted;
    mov.b128 {seen, upper}, old;
    st.global.v2.b64 [to+48], {seen, upper};
    cvt.u64.u32 low, near;
    cvta.shared.u64 low, low;
    atom.exch.b128 old, [low], expected;
    mov.b128 {seen, upper}, old;
    st.global.v2.b64 [to+64], {seen, upper};
    atom.global.exch.L2::cache_hint.b128 old, [at+16], wanted, policy;
    mov.b128 {seen, upper}, old;
    st.global.v2.b64 [to+80], {seen, upper};
    ret;
}
'''


def wide_data(r):
    data, before, after, out = [], [], [], []
    pair = lambda: [r.bits(64), r.bits(64)]
    for lane in LANES:
        expected, wanted, second = pair(), pair(), pair()
        # Some lanes find what they expect, some only half of it.
        first = expected if lane % 3 == 0 else [expected[0], r.bits(64)] if lane % 3 == 1 else pair()
        data += expected + wanted
        before += first + second
        after += (wanted if first == expected else first) + wanted
        out += first + second + second + expected + wanted + expected
    return data, before, after, out


# Types by their bits, and what may be done with them.
LOADS = [(op, '', ty) for op in ('min', 'max', 'add') for ty in ('u32', 's32', 'u64')] + [(op, '', 's64') for op in ('min', 'max')]
LOADS += [(op, '', ty) for op in ('and', 'or', 'xor') for ty in ('b32', 'b64')] + [('add', '', ty) for ty in ('f32', 'f64', 'v2.f32', 'v4.f32')]
LOADS += [(op, '', f'{v}{ty}') for op in ('min', 'max', 'add') for ty, vs in (('f16', ('v2.', 'v4.', 'v8.')), ('bf16', ('v2.', 'v4.', 'v8.')),
          ('f16x2', ('', 'v2.', 'v4.')), ('bf16x2', ('', 'v2.', 'v4.'))) for v in vs]
LOADS += [('add', '.acc::f32', f'{v}{ty}') for ty, vs in (('f16', ('v2.', 'v8.')), ('bf16', ('v4.',)), ('f16x2', ('', 'v4.')), ('bf16x2', ('v2.',))) for v in vs]

# Each way to order them, four in a row.
LOADS += [(op, '', ty) for op, ty in (('min', 's64'), ('max', 's64'), ('add', 'f32'), ('add', 'f64')) for _ in range(4)]


def copies_kernel():
    """Each value is loaded from the copies, stored to others and added to third ones."""
    stride = len(LOADS) * SLOT
    text = f'''
.visible .entry multimem_copies(.param .u64 data, .param .u64 stored, .param .u64 reduced)
{{
    .reg .b16 h<8>;
    .reg .b32 t, w<4>;
    .reg .f32 f<4>;
    .reg .b64 from, at, red_at, d0;
    .reg .f64 e0;
    ld.param.u64 from, [data];
    ld.param.u64 at, [stored];
    ld.param.u64 red_at, [reduced];
    mov.u32 t, %tid.x;
    mad.wide.u32 from, t, {stride}, from;
    mad.wide.u32 at, t, {stride}, at;
    mad.wide.u32 red_at, t, {stride}, red_at;
'''
    for n, (op, more, ty) in enumerate(LOADS):
        vector, element = ty.split('.') if '.' in ty else ('', ty)
        file = {'f16': 'h', 'bf16': 'h', 'f32': 'f', 'f64': 'e', 'u64': 'd', 's64': 'd', 'b64': 'd'}.get(element, 'w')
        value = listed(file, int(vector[1:])) if vector else f'{file}0'
        loads, stores, reductions = (('', '', ''), ('.weak', '.weak', '.relaxed.gpu'), ('.relaxed.cta', '.relaxed.sys', '.release.sys'),
                                     ('.acquire.sys', '.release.cta', '.relaxed.cta'))[n % 4]
        where = ('.global', '')[n % 3 == 0]
        bits = 'b64' if file in 'de' and element != 'f64' else element
        text += f'    multimem.ld_reduce{loads}{where}.{op}{more}.{ty} {value}, [from+{n * SLOT}];\n'
        stored = ty if not (element in ('b32', 'b64')) else element
        text += f'    multimem.st{stores}{where}.{stored} [at+{n * SLOT}], {value};\n'
        if not more and not (op in ('min', 'max') and file in 'hw' and element not in ('u32', 's32')):
            text += f'    multimem.red{reductions}{where}.{op}.{ty} [red_at+{n * SLOT}], {value};\n'
    return text + '    ret;\n}\n'


def copies_data(r):
    data, stored, before, after = b'', b'', b'', b''
    for _ in LANES:
        for op, more, ty in LOADS:
            vector, element = ty.split('.') if '.' in ty else ('', ty)
            count = int(vector[1:]) if vector else 1
            single = SINGLE.get(element, element)
            count *= 2 if element in SINGLE else 1
            if single in ('f16', 'bf16', 'f32'):
                draws = lambda: [half(r, single) for _ in range(count)]
                size = WIDTH[single] // 8
                new = lambda a, b: apply(op, single, a, b)
            elif single == 'f64':
                draws = lambda: [int.from_bytes(record.pack('f64', [float(r.between(-99, 99))]), 'little')]
                size = 8
                value = lambda bits: record.struct.unpack('<d', bits.to_bytes(8, 'little'))[0]
                new = lambda a, b: int.from_bytes(record.pack('f64', [value(a) + value(b)]), 'little')
            else:
                size = int(single[1:]) // 8
                draws = lambda: [r.bits(8 * size)]
                signed = lambda v: v - (1 << 8 * size) if single[0] == 's' and v >> 8 * size - 1 else v
                act = {'min': min, 'max': max, 'add': int.__add__, 'and': int.__and__, 'or': int.__or__, 'xor': int.__xor__}[op]
                new = lambda a, b: act(signed(a), signed(b)) & (1 << 8 * size) - 1
            mine, old = draws(), draws()
            reduces = not more and not (op in ('min', 'max') and single in ('f16', 'bf16'))
            result = [new(a, b) for a, b in zip(old, mine)] if reduces else old
            pack = lambda values: b''.join(v.to_bytes(size, 'little') for v in values).ljust(SLOT, b'\0')
            data += pack(mine)
            stored += pack(mine)
            before += pack(old)
            after += pack(result)
    return data, stored, before, after


TEXT, FORMS = vectors_kernel()
data, before, after = vectors_data(Random(61), FORMS)
blank = [0] * len(before)
case('atomic_vectors', FILE, [1], [32], [Given('u16', data), Result('u16', after, before), Result('u16', after, before), Result('u16', before, blank)])
data, before, after, out = wide_data(Random(62))
case('atomic_b128', FILE, [1], [32], [Given('u64', data), Result('u64', after, before), Result('u64', out)])
data, stored, before, after = copies_data(Random(63))
case('multimem_copies', FILE, [1], [32], [Given('u8', data), Result('u8', stored, [0] * len(stored)), Result('u8', after, before)])


def write_ptx():
    with open(os.path.join(record.ROOT, FILE + '.ptx'), 'w') as out:
        out.write(HEAD + TEXT + WIDE + copies_kernel())
