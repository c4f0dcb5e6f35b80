"""Cases for the rows of the instruction table that compilers of CUDA seldom write, with their PTX.

Each kernel runs many forms of one family on edge values: `batch` writes both the instructions and what they must give.
The rules of comparison, rounding and lanes are written here in plain Python. `generate.py` writes the PTX too."""
import itertools
import math
import os
import struct
from fractions import Fraction

import record
from record import Given, Random, Result, Scalar, case, wrap

r = Random(6)
M32 = (1 << 32) - 1
FILES = {}


def kernel(source, entry, parameters, body):
    """Adds a kernel to a file: names of parameters with types, lines of the body."""
    lines = ['.visible .entry %s(%s)' % (entry, ', '.join(f'.param .{kind} {name}' for kind, name in parameters)), '{']
    lines += ['    ' + line if not line.endswith(':') else line for line in body] + ['    ret;', '}', '']
    FILES.setdefault(source, []).append('\n'.join(lines))


def write_ptx():
    for source, kernels in FILES.items():
        head = '// Written by tools/kernels/rows.py: forms that compilers seldom write.\n.version 8.6\n.target sm_90\n.address_size 64\n\n'
        open(os.path.join(record.ROOT, source + '.ptx'), 'w').write(head + '\n'.join(kernels).rstrip('\n') + '\n')


def batch(source, entry, inputs, operations):
    """A kernel of which each thread runs all operations on its inputs.

    Inputs are a register, its width and a value for each thread; `c` is a word of which `p` is the lowest bit.
    An operation is its text, which writes `h` (16 bits) or `d` (32 bits), the width and the expected values."""
    threads = len(inputs[0][2])
    body = ['.reg .b64 address, base;', '.reg .b32 t, d, h0;', '.reg .b16 h;', '.reg .pred p;']
    body += ['mov.u32 t, %tid.x;']
    arguments, parameters = [], []
    for name, bits, values in inputs:
        body += [f'.reg .b{bits} {name};', f'ld.param.u64 base, [given_{name}];', f'mad.wide.u32 address, t, {bits // 8}, base;',
                 f'ld.global.b{bits} {name}, [address];']
        if name == 'c':
            body += ['and.b32 d, c, 1;', 'setp.ne.u32 p, d, 0;']
        parameters.append(('u64', 'given_' + name))
        arguments.append(Given(f'u{bits}', values))
    body += ['ld.param.u64 base, [out];', 'mad.wide.u32 address, t, 4, base;']
    results = []
    for index, (text, bits, values) in enumerate(operations):
        body.append(text + ';')
        body.append(f'st.global.b{bits} [address+{4 * threads * index}], {"h" if bits == 16 else "d"};')
        results += values
    kernel(source, entry, parameters + [('u64', 'out')], body)
    case(entry, source, [1], [threads], arguments + [Result('u32', results, [0] * len(results))])


def fit(bits, values, count):
    """The values and random ones, `count` in all."""
    return (list(values) + [r.bits(bits) for _ in range(count)])[:count]


# Comparisons.
INTEGER = {'eq': lambda x, y: x == y, 'ne': lambda x, y: x != y, 'lt': lambda x, y: x < y, 'le': lambda x, y: x <= y,
           'gt': lambda x, y: x > y, 'ge': lambda x, y: x >= y}
UNSIGNED = dict(INTEGER, lo=INTEGER['lt'], ls=INTEGER['le'], hi=INTEGER['gt'], hs=INTEGER['ge'])


def floating(test, unordered):
    return lambda x, y: unordered if math.isnan(x) or math.isnan(y) else test(x, y)


FLOATING = {name: floating(test, False) for name, test in INTEGER.items()}
FLOATING |= {name + 'u': floating(test, True) for name, test in INTEGER.items()}
FLOATING['num'] = lambda x, y: not (math.isnan(x) or math.isnan(y))
FLOATING['nan'] = lambda x, y: math.isnan(x) or math.isnan(y)
COMBINE = {'': lambda t, c: t, 'and': lambda t, c: t & c, 'or': lambda t, c: t | c, 'xor': lambda t, c: t ^ c}
EDGES = {
    'f16': [0, 0x8000, 1, 0x8001, 0x3ff, 0x400, 0x3c00, 0xbc00, 0x7bff, 0x7c00, 0xfc00, 0x7e00, 0xfe01],
    'bf16': [0, 0x8000, 1, 0x8001, 0x7f, 0x80, 0x3f80, 0xbf80, 0x7f7f, 0x7f80, 0xff80, 0x7fc0, 0xffc1],
    'f32': [0, 1 << 31, 1, (1 << 31) + 1, 0x7fffff, 0x800000, 0x3f800000, 0xbf800000, 0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc00000],
    'f64': [0, 1 << 63, 1, (1 << 63) + 1, 0x3ff << 52, 0xbff << 52, 0x7fefffffffffffff, 0x7ff << 52, 0xfff << 52, 0x7ff8 << 48],
}
TRUE = {'u16': (16, 0xffff), 's16': (16, 0xffff), 'u32': (32, M32), 's32': (32, M32), 'f32': (32, 0x3f800000), 'f16': (16, 0x3c00),
        'bf16': (16, 0x3f80)}


def value(kind, bits):
    """The number that bits of a floating type mean."""
    if kind == 'bf16':
        kind, bits = 'f32', bits << 16
    code = {'f16': '<eH', 'f32': '<fI', 'f64': '<dQ'}[kind]
    return struct.unpack(code[:2], struct.pack('<' + code[2], bits))[0]


def flushed(kind, bits):
    """The bits without a subnormal number."""
    mantissa = {'f16': 10, 'f32': 23}[kind]
    exponent = bits >> mantissa & {'f16': 31, 'f32': 255}[kind]
    return bits if exponent else bits >> {'f16': 15, 'f32': 31}[kind] << {'f16': 15, 'f32': 31}[kind]


def pairs(kind, bits):
    """Pairs of operands: edges against edges in an order that mixes them, and equal ones."""
    if kind in EDGES:
        edges = EDGES[kind]
    else:
        top = 1 << (bits - 1)
        edges = [0, 1, top - 1, top, top + 1, 2 * top - 1, top >> 1, (top << 1) - 2]
    every = [(x, y) for x in edges for y in edges]
    step = next(s for s in (37, 41, 43) if math.gcd(s, len(every)) == 1)
    mixed = [every[i * step % len(every)] for i in range(len(every))]
    mixed = mixed[:26] + [(x, x) for x in edges[-3:]]
    while len(mixed) < 32:
        x = r.bits(bits)
        mixed.append((x, x ^ r.bits(1) << bits // 2))
    return mixed


def comparisons(kind):
    letter = kind[0]
    if kind in EDGES:
        return FLOATING
    if letter == 'b':
        return {name: INTEGER[name] for name in ('eq', 'ne')}
    return UNSIGNED if letter == 'u' else INTEGER


def sets(kind, results):
    """All comparisons and combinations on a type, the type of the result taking turns."""
    bits = int(kind.lstrip('bfsu'))
    both = pairs(kind, bits)
    flags = [r.bits(1) | r.bits(31) << 1 for _ in both]
    turns = itertools.cycle(results)
    operations = []
    tests = comparisons(kind)
    rounds = 1 if len(tests) > 2 else len(results)
    for _, (combine, join), (name, test), inverted in itertools.product(range(rounds), COMBINE.items(), tests.items(), (False, True)):
        if inverted and (combine == '' or name not in ('eq', 'lt', 'nan')):
            continue
        result = next(turns)
        for ftz in (False, True):
            if ftz and not (kind == 'f32' and result != 'bf16' or kind == 'f16' and result != 'bf16'):
                continue
            expected = []
            width, true = TRUE[result]
            for (x, y), c in zip(both, flags):
                if kind in EDGES:
                    x, y = (value(kind, flushed(kind, v) if ftz else v) for v in (x, y))
                elif kind[0] == 's':
                    x, y = wrap(kind, x), wrap(kind, y)
                expected.append(true if join(test(x, y), bool(c & 1) ^ inverted) else 0)
            words = ['set', name, combine, 'ftz' * ftz, result, kind]
            operands = ['h' if width == 16 else 'd', 'a', 'b'] + (['!p' if inverted else 'p'] if combine else [])
            operations.append(('.'.join(w for w in words if w) + ' ' + ', '.join(operands), width, expected))
    columns = list(zip(*both))
    batch('rows_set', 'rows_set_' + kind, [('a', bits, columns[0]), ('b', bits, columns[1]), ('c', 32, flags)], operations)


def packed_sets(kind):
    """The same on two halves of a word; an integer result has 16 ones for each half."""
    half = kind[:-2]
    low, high = pairs(half, 16), pairs(half, 16)[::-1]
    first, second = ([x[k] | y[k] << 16 for x, y in zip(low, high)] for k in (0, 1))
    flags = [r.bits(32) for _ in low]
    turns = itertools.cycle(['u32', 's32', kind, kind, 'u32'])
    operations = []
    for (combine, join), (name, test) in itertools.product(COMBINE.items(), FLOATING.items()):
        result = next(turns)
        true = {'f16x2': 0x3c00, 'bf16x2': 0x3f80}.get(result, 0xffff)
        for ftz in (False, True)[:2 if half == 'f16' else 1]:
            expected = []
            for x, y, c in zip(first, second, flags):
                word = 0
                for shift in (0, 16):
                    parts = [v >> shift & 0xffff for v in (x, y)]
                    u, v = (value(half, flushed(half, part) if ftz else part) for part in parts)
                    word |= (true if join(test(u, v), bool(c & 1)) else 0) << shift
                expected.append(word)
            words = ['set', name, combine, 'ftz' * ftz, result, kind]
            operations.append(('.'.join(w for w in words if w) + ' d, a, b' + ', p' * bool(combine), 32, expected))
    batch('rows_set', 'rows_set_' + kind, [('a', 32, first), ('b', 32, second), ('c', 32, flags)], operations)


for size in ('16', '32', '64'):
    for sign in 'sub':
        sets(sign + size, ['f16', 'u32', 'bf16', 's32', 'f32'])
sets('f32', ['f16', 'bf16', 'u32', 's32', 'f32'])
sets('f64', ['f16', 'bf16', 'u32', 's32', 'f32'])
sets('f16', ['f16', 'u16', 'bf16', 's16', 'u32', 'bf16', 's32'])
sets('bf16', ['bf16', 'u16', 's16', 'u32', 's32'])
packed_sets('f16x2')
packed_sets('bf16x2')

# Arithmetic on lanes, with the sum of the lanes.
WORDS = [0, 1, M32, 1 << 31, (1 << 31) - 1, 0x7f7f7f7f, 0x80808080, 0x80007fff, 0x7fff8000, 0x00ff00ff, 0xff00ff00, 0x12345678]
LANES = {'vadd': lambda x, y: x + y, 'vsub': lambda x, y: x - y, 'vabsdiff': lambda x, y: abs(x - y), 'vmin': min, 'vmax': max}
first = fit(32, WORDS, 32)
second = fit(32, WORDS[5:] + WORDS[3:5] + WORDS[:3], 32)
third = fit(32, [0, M32, 5, 1 << 31], 32)
operations = []
for (name, act), count in itertools.product(LANES.items(), (2, 4)):
    for kinds in itertools.product(('u32', 's32'), repeat=3):
        width = 32 // count
        lane = lambda word, index, kind: wrap(f'{kind[0]}{width}', word >> (width * index))
        expected = [(z + sum(act(lane(x, i, kinds[1]), lane(y, i, kinds[2])) for i in range(count))) & M32 for x, y, z in zip(first, second, third)]
        operations.append((f'{name}{count}.{".".join(kinds)}.add d, a, b, e', 32, expected))
batch('rows_video', 'rows_lane_sums', [('a', 32, first), ('b', 32, second), ('e', 32, third)], operations)

# Shifts of words. Saturation sees 34 bits, of which the highest is the sign; the second operation compares 64 bits.
first = fit(32, [1, 1, 3, 3, M32, M32, 1 << 31, 1 << 31, 0x7fffffff, 0x40000000, 4, 0xc0000000, 0, M32], 32)
second = [31, 32, 30, 33, 1, 32, 1, 0, 1, 1, 32, 2, 40, M32] + [r.below(36) for _ in range(18)]
third = fit(32, [0, M32, 1 << 31, 7], 32)
operations = []
for name, to, kind in itertools.product(('vshl', 'vshr'), ('u32', 's32'), ('u32', 's32')):
    for sat, mode, then in itertools.product(('', 'sat'), ('clamp', 'wrap'), ('', 'add', 'min', 'max')):
        expected = []
        for x, y, z in zip(first, second, third):
            amount = min(y, 32) if mode == 'clamp' else y & 31
            shifted = wrap(kind, x) << amount if name == 'vshl' else wrap(kind, x) >> amount
            if sat:
                shifted = (shifted + (1 << 33)) % (1 << 34) - (1 << 33)
                low, high = (0, M32) if to == 'u32' else (-1 << 31, (1 << 31) - 1)
                shifted = max(low, min(high, shifted))
            z, shifted = wrap(to, z), wrap(to[0] + '64', shifted)
            done = {'': shifted, 'add': shifted + z, 'min': min(shifted, z), 'max': max(shifted, z)}[then]
            expected.append(done & M32)
        words = [name, to, kind, 'u32', sat, mode, then]
        operations.append(('.'.join(w for w in words if w) + ' d, a, b' + ', e' * bool(then), 32, expected))
batch('rows_video', 'rows_shifts', [('a', 32, first), ('b', 32, second), ('e', 32, third)], operations)


# Conversion to bf16 in each direction.
def to_bf16(bits, mode, ftz):
    number = value('f32', flushed('f32', bits) if ftz else bits)
    sign = bits >> 31 << 15
    if math.isnan(number):
        return 0x7fff
    if math.isinf(number) or number == 0:
        return sign | (0x7f80 if number else 0)
    down = (flushed('f32', bits) if ftz else bits) >> 16
    rest = bits & 0xffff
    away = {'rz': False, 'rm': sign != 0, 'rp': sign == 0}.get(mode)
    if away is None:
        return down + (rest > 0x8000 or rest == 0x8000 and down & 1)
    return down + (away and rest != 0)


first = fit(32, EDGES['f32'] + [0x7f7f0001, 0xff7fffff, 0x3f808000, 0x3f818000, 0xbf808000, 0xbf800001, 0x3f80ffff, 0x0000ffff, 0x807fffff, 0x007f8000], 48)
operations = [(f'cvt.{mode}{".ftz" * ftz}.bf16.f32 h, a', 16, [to_bf16(x, mode, ftz) for x in first])
              for mode in ('rn', 'rz', 'rm', 'rp') for ftz in (False, True)]
batch('rows_half', 'rows_to_bf16', [('a', 32, first)], operations)

# Hyperbolic tangents: of one half and of two.
halves = fit(16, EDGES['f16'] + [0x3800, 0xb800, 0x4000, 0x4400, 0x2c00, 0xac00], 64)
body = ['.reg .b64 address;', '.reg .b32 t, x;', '.reg .b16 h, g;', 'ld.param.u64 address, [given];', 'mov.u32 t, %tid.x;',
        'mad.wide.u32 address, t, 4, address;', 'ld.global.b32 x, [address];', 'mov.b32 {h, g}, x;', 'tanh.approx.f16 h, h;', 'tanh.approx.f16x2 x, x;',
        'ld.param.u64 address, [out];', 'mad.wide.u32 address, t, 8, address;', 'st.global.b32 [address], x;', 'st.global.b16 [address+4], h;',
        'st.global.b16 [address+6], g;']
kernel('rows_half', 'rows_tanh_f16', [('u64', 'given'), ('u64', 'out')], body)
expected = []
for low, high in zip(halves[::2], halves[1::2]):
    expected += [math.tanh(value('f16', low)), math.tanh(value('f16', high)), math.tanh(value('f16', low)), value('f16', high)]
case('rows_tanh_f16', 'rows_half', [1], [32], [Given('u16', halves), Result('f16', expected, abs=2 ** -10.5)])

# Guards that never hold: what is behind them must neither stop the kernel nor change it.
body = ['.reg .b64 a, o;', '.reg .b32 t, x, y;', '.reg .pred odd, high;', 'ld.param.u64 a, [given];', 'ld.param.u64 o, [out];', 'mov.u32 t, %tid.x;',
        'mad.wide.u32 a, t, 4, a;', 'mad.wide.u32 o, t, 4, o;', 'ld.global.u32 x, [a];', 'setp.gt.u32 high, x, 1000;', '@high trap;', 'and.b32 y, x, 1;',
        'setp.ne.u32 odd, y, 0;', 'add.u32 x, x, 7;', '@!odd bra Even;', 'setp.eq.u32 high, x, 3;', '@!high bra Past;', 'brkpt;', 'trap;', 'Past:',
        'mul.lo.u32 x, x, 5;', 'Even:', '@high brkpt;', 'nanosleep.u32 t;', 'nanosleep.u32 20;', 'st.global.u32 [o], x;']
kernel('rows_memory', 'rows_guards', [('u64', 'given'), ('u64', 'out')], body)
data = [r.below(1001) for _ in range(64)]
case('rows_guards', 'rows_memory', [1], [64], [Given('u32', data), Result('u32', [(x + 7) * (5 if x & 1 else 1) for x in data])])

# Elections: one lane of those that take part, and it knows it. Which one is nobody's promise, so nobody asks for its number.
def election(name, mask):
    return [f'elect.sync _|p, {mask};', f'vote.sync.ballot.b32 b, p, {mask};', f'popc.b32 n, b;', f'and.b32 m, b, {mask};',
            f'popc.b32 m, m;', f'mad.lo.u32 {name}, m, 1000, n;']


body = ['.reg .b64 o;', '.reg .b32 t, b, n, m, x, y;', '.reg .pred p, odd;', 'ld.param.u64 o, [out];', 'mov.u32 t, %tid.x;', 'mad.wide.u32 o, t, 8, o;',
        'and.b32 m, t, 1;', 'setp.ne.u32 odd, m, 0;', 'mov.u32 y, 7;']
body += election('x', '0xffffffff') + ['@!odd bra Even;'] + election('y', '0xaaaaaaaa') + ['Even:', 'bar.warp.sync -1;']
body += ['st.global.u32 [o], x;', 'st.global.u32 [o+4], y;']
kernel('rows_memory', 'rows_elections', [('u64', 'out')], body)
case('rows_elections', 'rows_memory', [1], [64], [Result('u32', [word for lane in range(64) for word in (1001, 1001 if lane & 1 else 7)])])

# Loads and stores with policies and priorities: every form copies what it loads, two ways by turns.
POLICIES = [0x12f0000000000000, 0x14f0000000000000, 0x16f0000000000000]
LOADS = [  # modifiers before the type, whether a policy stands, type, elements
    ('global.L2::cache_hint', True, 'u32', 1), ('weak.global.cg.L2::cache_hint.L2::128B', True, 'b32', 2),
    ('global.ca.L2::cache_hint', True, 's16', 4), ('global.cs.L2::cache_hint.L2::64B', True, 'f32', 4), ('cv.L2::cache_hint', True, 'u64', 1),
    ('global.L1::evict_normal', False, 'b64', 2), ('global.L1::evict_unchanged', False, 'u8', 4), ('global.L1::evict_first', False, 'b16', 1),
    ('weak.L1::evict_last.L2::64B', False, 'u32', 4), ('global.L1::no_allocate.L2::cache_hint', True, 's8', 2),
    ('weak.global.L1::evict_last.L2::cache_hint.L2::256B', True, 'f64', 2), ('global.nc.L2::cache_hint', True, 'b32', 1),
    ('global.ca.nc.L2::cache_hint.L2::128B', True, 'u16', 4), ('global.nc.L1::no_allocate.L2::cache_hint.L2::256B', True, 'b32', 4),
    ('global.nc.L1::evict_last', False, 's32', 2), ('global.nc.L1::evict_first.L2::64B', False, 'u64', 2), ('global.nc.L1::evict_unchanged', False, 's64', 1),
    ('relaxed.gpu.global.L1::evict_first', False, 'u32', 2), ('acquire.cta.global.L1::evict_last.L2::cache_hint', True, 'b64', 1),
    ('acquire.sys.L2::cache_hint.L2::128B', True, 's8', 4), ('relaxed.cluster.global.L1::no_allocate.L2::cache_hint', True, 'f32', 4),
    ('volatile.global.L2::128B', False, 'u32', 2), ('volatile.L2::64B', False, 'b64', 1),
]
STORES = [('global.L2::cache_hint', True), ('weak.global.wt.L2::cache_hint', True), ('global.cs.L2::cache_hint', True), ('cg.L2::cache_hint', True),
          ('global.L1::evict_first', False), ('global.L1::no_allocate.L2::cache_hint', True), ('weak.L1::evict_last', False),
          ('relaxed.gpu.global.L1::evict_unchanged', False), ('release.cta.global.L2::cache_hint', True),
          ('release.sys.L1::evict_last.L2::cache_hint', True), ('relaxed.cluster.global.L1::evict_normal.L2::cache_hint', True)]
body = ['.reg .b64 a, o, policy, w<4>;', '.reg .b32 t, v<4>;', '.reg .b16 h<4>;', 'ld.param.u64 a, [given];', 'ld.param.u64 o, [out];',
        'ld.param.u64 policy, [policy_word];', 'mov.u32 t, %tid.x;', 'mad.wide.u32 a, t, 16, a;', 'mad.wide.u32 o, t, 16, o;', 'prefetch.global.L2 [a];',
        'prefetch.global.L1 [o];', 'prefetch.L1 [a];', 'prefetch.L2 [a+16];']
threads = 32
data = [r.bits(8) for _ in range(16 * threads)]
expected = []
for index, (load, hinted, kind, count) in enumerate(LOADS):
    bits = int(kind[1:])
    names = [f'{ {8: "h", 16: "h", 32: "v", 64: "w"}[bits] }{k}' for k in range(count)]
    group, vector = ('{' + ', '.join(names) + '}', f'.v{count}') if count > 1 else (names[0], '')
    store, stored = STORES[index % len(STORES)]
    body.append(f'ld.{load}{vector}.{kind} {group}, [a]{", policy" * hinted};')
    body.append(f'st.{store}{vector}.{kind} [o+{16 * threads * index}], {group}{", policy" * stored};')
    size = bits // 8 * count
    for t in range(threads):
        expected += data[16 * t:16 * t + size] + [0] * (16 - size)
kernel('rows_memory', 'rows_cache_hints', [('u64', 'given'), ('u64', 'out'), ('u64', 'policy_word')], body)
case('rows_cache_hints', 'rows_memory', [1], [threads], [Given('u8', data), Result('u8', expected, [0] * len(expected)), Scalar('u64', POLICIES[0])])

# Constants of 128 bits have zeros above their 64; a comparison may keep no result.
body = ['.reg .b64 o;', '.reg .b32 t;', '.reg .b128 q;', 'ld.param.u64 o, [out];', 'mov.u32 t, %tid.x;', 'mad.wide.u32 o, t, 32, o;',
        'setp.lt.u32 _, t, 7;', 'mov.b128 q, -2;', 'st.global.b128 [o], q;', 'st.global.b128 [o+16], 0x8000000000000001;']
wide = [(1 << 64) - 2, 0, 1 << 63 | 1, 0] * 32
kernel('rows_memory', 'rows_wide_constants', [('u64', 'out')], body)
case('rows_wide_constants', 'rows_memory', [1], [32], [Result('u64', wide, [0] * len(wide))])

# A value goes from warp to warp with each kind of fence.
FENCES = ['fence.acq_rel.cta', 'fence.sc.gpu', 'fence.acq_rel.sys', 'fence.acquire.cta', 'fence.sc.cluster', 'fence.acq_rel.cluster', 'fence.cta']
body = ['.shared .align 4 .u32 cells[64];', '.local .align 4 .u32 place[4];', '.reg .b64 a, o;', '.reg .b32 t, x, y, slot, other, flag, warp;', '.reg .pred first, wait;',
        'ld.param.u64 a, [flags];', 'ld.param.u64 o, [out];', 'mov.u32 t, %tid.x;', 'mul.wide.u32 o, t, 4;', 'ld.param.u64 a, [out];', 'add.u64 o, o, a;',
        'ld.param.u64 a, [flags];', 'shr.u32 warp, t, 5;', 'shl.b32 slot, t, 2;', 'mov.u32 x, cells;', 'add.u32 slot, slot, x;', 'xor.b32 other, t, 32;',
        'shl.b32 other, other, 2;', 'add.u32 other, other, x;', 'mad.lo.u32 x, t, 77, 5;', 'st.local.u32 [place+4], x;', 'prefetch.local.L1 [place+4];',
        'prefetch.local.L2 [place];', 'ld.local.u32 x, [place+4];', 'setp.eq.u32 first, warp, 0;']
values = [t * 77 + 5 for t in range(64)]
for index, fence in enumerate(FENCES):
    # The warps take turns: one writes its cells and raises its count, the other waits for the count and reads.
    writer = index & 1
    body += [f'setp.ne.u32 first, warp, {writer};', f'@first bra Read{index};', 'st.volatile.shared.u32 [slot], x;', f'{fence if "acquire" not in fence else "fence.release.cta"};',
             f'red.relaxed.gpu.global.add.u32 [a+{4 * index}], 1;', f'bra Done{index};', f'Read{index}:',
             f'ld.relaxed.gpu.global.u32 flag, [a+{4 * index}];', 'setp.lt.u32 wait, flag, 32;', 'nanosleep.u32 40;', f'@wait bra Read{index};',
             f'{fence};', 'ld.volatile.shared.u32 y, [other];', 'mad.lo.u32 x, x, 3, y;', f'Done{index}:', 'bar.warp.sync -1;']
    values = [values[t] if t >> 5 == writer else (values[t] * 3 + values[t ^ 32]) & M32 for t in range(64)]
body += ['st.global.u32 [o], x;']
kernel('rows_memory', 'rows_fences', [('u64', 'flags'), ('u64', 'out')], body)
case('rows_fences', 'rows_memory', [1], [64], [Result('u32', [32] * len(FENCES), [0] * len(FENCES)), Result('u32', values)])

# Barriers of a part of the block, and those that combine a predicate. Two warps use barrier 1, the third barrier 2.
REDUCTIONS = [('bar.red.popc.u32', True), ('bar.cta.red.popc.u32', False), ('bar.red.and.pred', True), ('bar.cta.red.or.pred', True), ('bar.red.or.pred', False),
              ('barrier.red.popc.u32', True), ('barrier.cta.red.popc.aligned.u32', True), ('barrier.red.popc.aligned.u32', False), ('barrier.cta.red.popc.u32', False),
              ('barrier.red.and.pred', True), ('barrier.cta.red.or.aligned.pred', True), ('barrier.red.and.aligned.pred', False), ('barrier.cta.red.or.pred', False),
              ('bar.red.and.pred', False), ('barrier.red.or.pred', True)]
data = [r.bits(32) | (1 << 2) & M32 for _ in range(96)]
for t in range(64):
    data[t] = data[t] & ~(1 << 3) | 1 << 9
body = ['.reg .b64 a, o;', '.reg .b32 t, x, y, d, number, size;', '.reg .pred p, q, third;', 'ld.param.u64 a, [given];', 'mov.u32 t, %tid.x;',
        'mad.wide.u32 a, t, 4, a;', 'ld.global.u32 x, [a];', 'ld.param.u64 o, [out];', 'mad.wide.u32 o, t, 4, o;', 'setp.ge.u32 third, t, 64;',
        'selp.u32 number, 2, 1, third;', 'selp.u32 size, 32, 64, third;']
expected = []
for index, (text, counted) in enumerate(REDUCTIONS):
    inverted = index % 4 == 3
    body += [f'shr.u32 y, x, {index};', 'and.b32 y, y, 1;', 'setp.ne.u32 p, y, 0;']
    target = 'd' if 'popc' in text else 'q'
    parts = [target] + (['number', 'size'] if counted else ['0']) + ['!p' if inverted else 'p']
    body.append(f'{text} {", ".join(parts)};')
    if target == 'q':
        body.append('selp.u32 d, 1, 0, q;')
    body.append(f'st.global.u32 [o+{4 * 96 * index}], d;')
    for t in range(96):
        members = (range(64) if t < 64 else range(64, 96)) if counted else range(96)
        votes = [bool(data[k] >> index & 1) ^ inverted for k in members]
        expected.append(sum(votes) if 'popc' in text else int(all(votes) if '.and' in text else any(votes)))
kernel('rows_barrier', 'rows_barrier_votes', [('u64', 'given'), ('u64', 'out')], body)
case('rows_barrier_votes', 'rows_barrier', [1], [96], [Given('u32', data), Result('u32', expected)])

# The first warp hands words over to the second through shared memory, which hands them back: arrive on one side, sync on the other.
body = ['.shared .align 4 .u32 cells[64];', '.reg .b64 o;', '.reg .b32 t, x, y, slot, i, count, full, empty;', '.reg .pred reader, more;', 'ld.param.u64 o, [out];',
        'mov.u32 t, %tid.x;', 'mad.wide.u32 o, t, 4, o;', 'setp.ge.u32 reader, t, 32;', 'mul.lo.u32 x, t, 13;', 'and.b32 slot, t, 31;', 'shl.b32 slot, slot, 2;',
        'mov.u32 y, cells;', 'add.u32 slot, slot, y;', 'mov.u32 i, 0;', 'mov.u32 full, 3;', 'mov.u32 empty, 4;', 'mov.u32 count, %ntid.x;', '@reader bra Reader;',
        'Writer:', 'barrier.sync empty, count;', 'mad.lo.u32 x, x, 5, i;', 'st.shared.u32 [slot], x;', 'barrier.cta.arrive.aligned full, 64;', 'add.u32 i, i, 1;',
        'setp.lt.u32 more, i, 6;', '@more bra Writer;', 'bra Done;', 'Reader:', 'barrier.arrive empty, 64;', 'barrier.cta.sync.aligned full, 64;',
        'ld.shared.u32 y, [slot];', 'mad.lo.u32 x, x, 7, y;', 'add.u32 i, i, 1;', 'setp.lt.u32 more, i, 6;', '@more bra Reader;', 'Done:',
        'barrier.cta.sync 0;', 'barrier.sync.aligned 5, 64;', 'st.global.u32 [o], x;']
kernel('rows_barrier', 'rows_barrier_handover', [('u64', 'out')], body)
values = [t * 13 for t in range(64)]
for i in range(6):
    for t in range(32):
        values[t] = values[t] * 5 + i & M32
        values[t + 32] = values[t + 32] * 7 + values[t] & M32
case('rows_barrier_handover', 'rows_barrier', [1], [64], [Result('u32', values)])

# Atomics with a policy. Each thread has cells of its own, whose old values come back, and one that all share.
ORDERS = itertools.cycle(['', 'relaxed.gpu.', 'acquire.cta.', 'release.sys.', 'acq_rel.cluster.', 'acq_rel.gpu.'])
RED_ORDERS = itertools.cycle(['', 'relaxed.gpu.', 'release.cta.', 'relaxed.cluster.', 'release.sys.'])
number = {'f16': '<e', 'bf16': None, 'f32': '<f', 'f64': '<d'}


def coded(kind, x):
    """The bits of a small integer in a floating type, in which it is exact."""
    if kind == 'bf16':
        return coded('f32', x) >> 16
    return int.from_bytes(struct.pack(number[kind], x), 'little')


def changed(act, kind, x, y):
    """What an atomic operation makes of bits of the cell and of the operand."""
    if kind[0] in 'usb' and not kind.startswith('bf'):
        bits = int(kind[1:])
        cut = lambda v: wrap('u' + str(bits), v)
        signed = lambda v: wrap(('s' if kind[0] == 's' else 'u') + str(bits), v)
        return cut({'add': lambda: x + y, 'and': lambda: x & y, 'or': lambda: x | y, 'xor': lambda: x ^ y, 'exch': lambda: y,
                    'inc': lambda: 0 if x >= y else x + 1, 'dec': lambda: y if x == 0 or x > y else x - 1,
                    'min': lambda: min(signed(x), signed(y)), 'max': lambda: max(signed(x), signed(y))}[act]())
    if kind.endswith('x2'):
        return changed(act, kind[:-2], x & 0xffff, y & 0xffff) | changed(act, kind[:-2], x >> 16, y >> 16) << 16
    return coded(kind, value(kind, x) + value(kind, y))


def width(kind):
    return {'f16': 16, 'bf16': 16, 'f16x2': 32, 'bf16x2': 32}.get(kind) or int(kind[1:])


def sample(kind):
    if kind.endswith('x2'):
        return sample(kind[:-2]) | sample(kind[:-2]) << 16
    if kind in number:
        return coded(kind, r.between(-64, 64))
    return r.bits(width(kind)) if r.below(3) else r.below(4)


FORMS = [('add', k) for k in ('u32', 's32', 'u64', 'f32', 'f64')] + [(a, k) for a in ('and', 'or', 'xor', 'exch') for k in ('b32', 'b64')]
FORMS += [(a, 'u32') for a in ('inc', 'dec')] + [(a, k) for a in ('min', 'max') for k in ('u32', 's32', 'u64', 's64')]
FORMS += [('add.noftz', k) for k in ('f16', 'f16x2', 'bf16', 'bf16x2')]
VECTORS = [(hint, count) for hint in ('', '.L2::cache_hint') for count in (2, 4)]


def atomics(entry, fetch):
    threads = 32
    body = ['.reg .b64 cell, operand, old, policy, t16, w<2>;', '.reg .b32 t, v<8>;', '.reg .b16 h<2>;', 'ld.param.u64 cell, [cells];',
            'ld.param.u64 operand, [operands];', 'ld.param.u64 policy, [policy_word];', 'mov.u32 t, %tid.x;', 'mul.wide.u32 t16, t, 16;', 'add.u64 cell, cell, t16;',
            'add.u64 operand, operand, t16;']
    parameters = [('u64', 'cells'), ('u64', 'operands'), ('u64', 'policy_word')]
    if fetch:
        body += ['ld.param.u64 old, [olds];', 'add.u64 old, old, t16;']
        parameters.append(('u64', 'olds'))
    before, given, after, olds = [], [], [], []
    forms = [(a, k, 1, '.L2::cache_hint') for a, k in FORMS] + [('add', 'f32', count, hint) for hint, count in VECTORS]
    if not fetch:
        forms = [form for form in forms if form[0] != 'exch'] + [('inc', 'u32', 1, ''), ('dec', 'u32', 1, '')]
    pad = lambda data: list(data) + [0] * (16 - len(data))
    for index, (act, kind, count, hint) in enumerate(forms):
        bits = width(kind)
        letter = {16: 'h', 32: 'v', 64: 'w'}[bits]
        offset = 16 * threads * index
        group = lambda start: '{' + ', '.join(f'{letter}{start + k}' for k in range(count)) + '}' if count > 1 else f'{letter}{start}'
        vector = f'.v{count}' if count > 1 else ''
        order = next(ORDERS if fetch else RED_ORDERS)
        space = 'global.' if index % 3 else ''
        policy = ', policy' if hint else ''
        body.append(f'ld.global{vector}.b{bits} {group(0)}, [operand+{offset}];')
        words = f'{order}{space}{act}{hint}{vector}.{kind}'
        if fetch:
            start = 4 if count > 1 else 1
            body.append(f'atom.{words} {group(start)}, [cell+{offset}], {group(0)}{policy};')
            body.append(f'st.global{vector}.b{bits} [old+{offset}], {group(start)};')
        else:
            body.append(f'red.{words} [cell+{offset}], {group(0)}{policy};')
        for _ in range(threads):
            xs, ys = ([sample(kind) for _ in range(count)] for _ in range(2))
            zs = [changed(act.split('.')[0], kind, x, y) for x, y in zip(xs, ys)]
            for target, values in ((before, xs), (given, ys), (after, zs), (olds, xs)):
                target += pad(b''.join(v.to_bytes(bits // 8, 'little') for v in values))
    kernel('rows_atomics', entry, parameters, body)
    arguments = [Result('u8', after, before), Given('u8', given), Scalar('u64', POLICIES[1])]
    case(entry, 'rows_atomics', [1], [threads], arguments + ([Result('u8', olds, [0] * len(olds))] if fetch else []))


atomics('rows_atomics_fetch', True)
atomics('rows_atomics_reduce', False)

# All threads of two blocks change the same cells; the operations commute and all sums are exact.
body = ['.reg .b64 a, cell, policy;', '.reg .b32 t, x, f, g, v<4>;', '.reg .b32 block, size;', 'ld.param.u64 a, [given];', 'ld.param.u64 cell, [cells];',
        'ld.param.u64 policy, [policy_word];', 'mov.u32 t, %tid.x;', 'mov.u32 block, %ctaid.x;', 'mov.u32 size, %ntid.x;', 'mad.lo.u32 t, block, size, t;',
        'mad.wide.u32 a, t, 4, a;', 'ld.global.u32 x, [a];', 'and.b32 f, x, 1;', 'mul.lo.u32 g, f, 0x3c00;', 'mul.lo.u32 v1, f, 0x3f80;', 'shl.b32 v0, v1, 16;', 'or.b32 v1, v1, v0;',
        'mov.b32 v2, 0;', 'mov.b32 v3, v0;', 'red.global.add.L2::cache_hint.u32 [cell], x, policy;', 'red.relaxed.gpu.global.add.L2::cache_hint.f32 [cell+4], v0, policy;',
        'red.global.min.L2::cache_hint.s32 [cell+8], x, policy;', 'red.release.gpu.global.max.L2::cache_hint.u32 [cell+12], x, policy;',
        'red.global.xor.L2::cache_hint.b32 [cell+16], x, policy;', 'red.relaxed.gpu.inc.u32 [cell+20], 99;', 'red.global.dec.L2::cache_hint.u32 [cell+24], 40, policy;',
        'red.global.add.noftz.f16x2 [cell+28], g;', 'red.global.add.noftz.L2::cache_hint.bf16x2 [cell+44], v1, policy;',
        'red.global.add.L2::cache_hint.v4.f32 [cell+48], {v0, v2, v3, v0}, policy;', 'red.global.add.v2.f32 [cell+32], {v0, v3};']
kernel('rows_atomics', 'rows_atomics_shared', [('u64', 'given'), ('u64', 'cells'), ('u64', 'policy_word')], body)
data = [r.bits(32) for _ in range(128)]
odd = sum(x & 1 for x in data)
single = lambda x: coded('f32', x)
counted = fallen = 0
folded = 0
for x in data:
    counted = 0 if counted >= 99 else counted + 1
    fallen = 40 if fallen == 0 or fallen > 40 else fallen - 1
    folded ^= x
cells = [sum(data) & M32, single(odd), min(wrap('s32', x) for x in data) & M32, max(data), folded, counted, fallen, coded('f16', odd),
         single(odd), single(odd), 0, coded('bf16', odd) * 0x10001, single(odd), 0, single(odd), single(odd)]
before = [0, 0, 0x7fffffff] + [0] * 13
case('rows_atomics_shared', 'rows_atomics', [2], [64], [Given('u32', data), Result('u32', cells, before), Scalar('u64', POLICIES[2])])
