"""Loads, stores, atomic operations and reductions in all the words of their forms: orders, scopes, spaces, caches, types, vectors.

Each thread has a place of its own for each form, so that what words mean to others changes no result."""
import os
from fractions import Fraction

import record
from record import Given, Random, Result, Scalar, case, wrap
from singles import rounded, value

THREADS, SLOT = 8, 16
FILE = 'singles_accesses'
HEAD = '''// Written by tools/kernels/accesses.py: accesses to memory in all the words of their forms.
.version 8.6
.target sm_90
.address_size 64
'''
TYPES = ['b8', 'u32', 'f64', 's16', 'b128', 'u64', 's8', 'f32', 'b16', 's64', 'u8', 'b32', 's32', 'b64', 'u16']
CACHES, KEPT = ['', 'ca', 'cg', 'cs', 'lu', 'cv'], ['L1::evict_normal', 'L1::evict_unchanged', 'L1::evict_first', 'L1::evict_last', 'L1::no_allocate']
WRITTEN, FETCHED, HINT = ['', 'wb', 'cg', 'cs', 'wt'], ['L2::64B', 'L2::128B', 'L2::256B'], ['L2::cache_hint', '']
SCOPES, WEAK = ['cta', 'cluster', 'gpu', 'sys'], ['', 'weak']
GLOBAL, SHARED, SPACES = ['global', ''], ['global', 'shared', 'shared::cluster', ''], ['global', 'local', 'shared', 'shared::cluster', '']
LOADED, STORED = ['relaxed', 'acquire'], ['relaxed', 'release']
# Where what a store leaves is loaded again: the words of both before the space, the spaces, and the words of each behind.
PAIRS = [([WEAK], [WEAK], SPACES, [CACHES], [WRITTEN]), ([WEAK], [WEAK], GLOBAL, [CACHES, HINT, FETCHED], [WRITTEN, HINT[:1]]),
         ([WEAK], [WEAK], GLOBAL, [KEPT, HINT, [*FETCHED, '']], [KEPT, HINT]), ([['volatile']], [['volatile']], SHARED, [], []),
         ([['volatile']], [WEAK], GLOBAL, [FETCHED], [WRITTEN]), ([LOADED, SCOPES], [STORED, SCOPES], SHARED, [], []),
         ([LOADED, SCOPES], [STORED, SCOPES], GLOBAL, [KEPT, HINT, FETCHED], [KEPT, HINT]),
         ([['mmio'], ['relaxed'], ['sys']], [['mmio'], ['relaxed'], ['sys']], GLOBAL, [], [])]
# Loads of what nobody writes.
READ_ONLY = [([], ['global'], [['', 'ca', 'cg', 'cs'], ['nc'], HINT, ['', *FETCHED]]), ([], ['global'], [['nc'], KEPT, HINT, ['', *FETCHED]]),
             ([WEAK], ['const'], [CACHES]), ([WEAK], ['param', 'param::entry'], [])]
WHERE = {'global': 'scratch', '': 'scratch', 'local': 'stack', 'shared': 'near', 'shared::cluster': 'far', 'const': 'constant', 'param': 'here',
         'param::entry': 'here'}
CONSTANT = [(n * 37 + 11) % 256 for n in range(SLOT)]


def chosen(slots, n):
    """A word of each slot; each slot goes round at its own pace."""
    return [slot[(n + n // len(slot) * (at % 2)) % len(slot)] for at, slot in enumerate(slots)]


def width(ty):
    return {'bf16': 16, 'f16x2': 32, 'bf16x2': 32}.get(ty) or int(ty.lstrip('bfsu'))


def registers(ty, count, files='hwlq'):
    file = {8: files[0], 16: files[0], 32: files[1], 64: files[2], 128: files[3]}[width(ty)]
    names = [f'{file}{n}' for n in range(count)]
    return '{' + ', '.join(names) + '}' if count > 1 else names[0]


def counted(ty, n, most=128):
    """How many elements: all vectors take turns, as far as there is room."""
    count = [1, 2, 4][n // 2 % 3]
    return count if count * width(ty) <= most else 1


class Kernel:
    """A kernel in the making; each form has a slot of 16 bytes for each thread."""

    def __init__(self, name, more=''):
        self.name, self.lines, self.expected, self.more, self.count = name, [], [], more, 0

    def place(self):
        """The offset of the next slot."""
        self.count += 1
        return SLOT * THREADS * (self.count - 1)

    def text(self):
        return f'''
.visible .entry {self.name}(.param .u64 given_, .param .u64 scratch_, .param .u64 out_, .param .u64 policy_{self.more})
{{
    .reg .b16 h<4>, g<4>;
    .reg .b32 t, near, far, rank, w<4>, v<4>;
    .reg .b64 from, scratch, to, policy, stack, l<4>, m<4>;
    .reg .b128 q<2>, r<2>;
    .shared .align 16 .b8 own[{SLOT * THREADS}];
    .local .align 16 .b8 place[{SLOT}];
    ld.param.u64 from, [given_];
    ld.param.u64 scratch, [scratch_];
    ld.param.u64 to, [out_];
    ld.param.u64 policy, [policy_];
    mov.u32 t, %tid.x;
    mad.wide.u32 from, t, {SLOT}, from;
    mad.wide.u32 scratch, t, {SLOT}, scratch;
    mad.wide.u32 to, t, {SLOT}, to;
    mov.u32 near, own;
    mad.lo.u32 near, t, {SLOT}, near;
    mov.u32 rank, %cluster_ctarank;
    mapa.shared::cluster.u32 far, near, rank;
    mov.u64 stack, place;
''' + ''.join(f'    {line}\n' for line in self.lines) + '    ret;\n}\n'


def spelled(name, words, ty, count=1):
    return '.'.join([name, *(w for w in words if w), *([f'v{count}'] if count > 1 else []), ty])


def policy(words):
    return ', policy' if 'L2::cache_hint' in words else ''


def accesses(data):
    """Pairs of stores and loads."""
    kernel = Kernel('accesses')
    for before_load, before_store, spaces, behind_load, behind_store in PAIRS:
        for n, ty in enumerate(TYPES):
            count = 1 if before_load[0] == ['mmio'] else counted(ty, n)
            space = spaces[n % len(spaces)]
            load, store = ([*chosen(before, n), space, *chosen(behind, n)] for before, behind in
                           ((before_load, behind_load), (before_store, behind_store)))
            values = registers(ty, count)
            kernel.lines += [f'{spelled("ld.global", [], ty, count)} {values}, [from];',
                             f'{spelled("st", store, ty, count)} [{WHERE[space]}], {values}{policy(store)};',
                             f'{spelled("ld", load, ty, count)} {values}, [{WHERE[space]}]{policy(load)};',
                             f'{spelled("st.global", [], ty, count)} [to+{kernel.place()}], {values};']
            for t in range(THREADS):
                size = width(ty) // 8 * count
                kernel.expected += data[SLOT * t:SLOT * t + size] + [0] * (SLOT - size)
    return kernel


def readings(data):
    """Loads of what nobody writes: global memory, constants and parameters."""
    kernel = Kernel('readings', ', .param .u64 here')
    forms = [(before, spaces, behind, n, 'ld') for before, spaces, behind in READ_ONLY for n in range(len(TYPES))]
    forms += [([], GLOBAL, [], n, 'ldu') for n in range(len(TYPES))]
    for before, spaces, behind, n, name in forms:
        ty, space = TYPES[n], spaces[n % len(spaces)]
        is_parameter = space.startswith('param')
        if is_parameter and ty == 'b128':
            continue
        count = counted(ty, n, 64 if is_parameter else 128)
        words, values = [*chosen(before, n), space, *chosen(behind, n)], registers(ty, count)
        common = is_parameter or space == 'const'
        kernel.lines += [f'{spelled(name, words, ty, count)} {values}, [{WHERE[space] if common else "from"}]{policy(words)};',
                         f'{spelled("st.global", [], ty, count)} [to+{kernel.place()}], {values};']
        size = width(ty) // 8 * count
        for t in range(THREADS):
            kernel.expected += (CONSTANT[:size] if common else data[SLOT * t:SLOT * t + size]) + [0] * (SLOT - size)
    return kernel


ACTS = {'add': lambda a, b: a + b, 'and': lambda a, b: a & b, 'or': lambda a, b: a | b, 'xor': lambda a, b: a ^ b, 'min': min, 'max': max,
        'exch': lambda a, b: b, 'inc': lambda a, b: 0 if a >= b else a + 1, 'dec': lambda a, b: b if a == 0 or a > b else a - 1}
REDUCED = [('add', ty) for ty in ('u32', 's32', 'u64', 'f32', 'f64', 'f16', 'f16x2', 'bf16', 'bf16x2')]
REDUCED += [(op, ty) for op in ('and', 'or', 'xor') for ty in ('b32', 'b64')] + [('inc', 'u32'), ('dec', 'u32')]
REDUCED += [(op, ty) for op in ('min', 'max') for ty in ('u32', 's32', 'u64', 's64')]
EXCHANGED = [('exch', 'b32'), ('exch', 'b64'), ('exch', 'b128'), ('cas', 'b16'), ('cas', 'b32'), ('cas', 'b64'), ('cas', 'b128')]
ORDERS, TURNS = ['', 'relaxed', 'acquire', 'release', 'acq_rel'], 8


def applied(op, ty, old, given):
    """The bits of a result; those of floating types are small whole numbers, so that sums are exact."""
    element = ty.removesuffix('x2')
    if element[0] in 'fb' and element[1:] not in ('8', '16', '32', '64', '128') or element in ('f16', 'f32', 'f64'):
        bits = width(element)
        parts = [value(element, old >> n & (1 << bits) - 1)[0] + value(element, given >> n & (1 << bits) - 1)[0] for n in range(0, width(ty), bits)]
        return sum(rounded(element, 'rn', part) << n * bits for n, part in enumerate(parts))
    kind = ty.replace('b', 'u')
    if kind == 'u128':
        return given
    return ACTS[op](wrap(kind, old), wrap(kind, given)) & (1 << width(ty)) - 1


def drawn(r, ty):
    element = ty.removesuffix('x2')
    if element in ('f16', 'bf16', 'f32', 'f64'):
        return sum(rounded(element, 'rn', Fraction(r.between(1, 60))) << n for n in range(0, width(ty), width(element)))
    return r.below(4) if r.below(3) == 0 else r.bits(64) << 64 & (1 << width(ty)) - 1 | r.bits(min(width(ty), 64))


def atomics(r, name, forms, opcode, orders):
    """Each form in eight ways: a place is filled, changed, and read again."""
    kernel, given = Kernel(name), bytearray()
    rows = []
    for op, ty in forms:
        for n in range(TURNS):
            order, scope, space = orders[n % len(orders)], ['', *SCOPES][(n + n // 5) % 5], SHARED[n % 4]
            words = [order, scope, space, op] + (['noftz'] if '16' in ty and op == 'add' else [])
            mine, theirs = registers(ty, 1), registers(ty, 1, 'gvmr')
            read, place, at = len(rows) * 3 * SLOT * THREADS, WHERE[space], kernel.place()
            bits = 'b' + str(width(ty))
            kernel.lines += [f'ld.global.{bits} {mine}, [from+{read}];', f'st{"." * (space != "")}{space}.{bits} [{place}], {mine};',
                             f'ld.global.{bits} {mine}, [from+{read + SLOT * THREADS}];']
            operands = f'[{place}], {mine}'
            if op == 'cas':
                wanted = theirs
                kernel.lines.append(f'ld.global.{bits} {wanted}, [from+{read + 2 * SLOT * THREADS}];')
                operands += f', {wanted}'
            result = f'{mine}, ' if opcode == 'atom' else ''
            kernel.lines.append(f'{spelled(opcode, words, ty)} {result}{operands};')
            if opcode == 'atom':
                kernel.lines.append(f'st.global.{bits} [to+{at}], {mine};')
                at = kernel.place()
            kernel.lines += [f'ld{"." * (space != "")}{space}.{bits} {mine}, [{place}];', f'st.global.{bits} [to+{at}], {mine};']
            rows.append((op, ty))
    pack = lambda bits: bits.to_bytes(SLOT, 'little')
    for op, ty in rows:
        old, mine, other = ([drawn(r, ty) for _ in range(THREADS)] for _ in 'abc')
        if op == 'cas':
            mine = [o if r.below(2) else m for o, m in zip(old, mine)]
            new = [w if o == m else o for o, m, w in zip(old, mine, other)]
        else:
            new = [applied(op, ty, o, m) for o, m in zip(old, mine)]
        given += b''.join(pack(v) for column in (old, mine, other) for v in column)
        kernel.expected += b''.join(pack(v) for v in ([*old, *new] if opcode == 'atom' else new))
    return kernel, given


r = Random(99)
DATA = [r.bits(8) for _ in range(SLOT * THREADS)]
KERNELS = [(accesses(DATA), DATA), (readings(DATA), DATA), atomics(r, 'atomics_of_orders', REDUCED, 'atom', ORDERS),
           atomics(r, 'atomics_exchanged', EXCHANGED, 'atom', ORDERS), atomics(r, 'reductions_of_orders', REDUCED, 'red', ['', 'relaxed', 'release'])]


def write_ptx():
    with open(os.path.join(record.ROOT, FILE + '.ptx'), 'w') as out:
        constant = ', '.join(map(str, CONSTANT))
        out.write(HEAD + f'\n.const .align 16 .b8 constant[{SLOT}] = {{{constant}}};\n' + ''.join(kernel.text() for kernel, _ in KERNELS))


for kernel, given in KERNELS:
    here = [Scalar('u64', int.from_bytes(bytes(CONSTANT[:8]), 'little'))] if kernel.more else []
    case(kernel.name, FILE, [1], [THREADS], [
        Given('u8', given), Given('u8', [0] * SLOT * THREADS), Result('u8', kernel.expected, [0] * len(kernel.expected)),
        Scalar('u64', 0x12f0000000000000), *here])
