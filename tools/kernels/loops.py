"""Kernels of loops that count: all comparisons, widths, signs and steps, with limits and first values at the ends of the ranges; numbers of
iterations that are known and that are not; branches, barriers, exits and loops inside."""
import os

import record
from record import Given, Result, Scalar, case

FILE = 'loops'
HEAD = '// Written by tools/kernels/loops.py: loops that count.\n.version 8.0\n.target sm_80\n.address_size 64\n'
M32 = (1 << 32) - 1
THREADS = 64
# Threads that run the loops of many variants, and most iterations of each: every chip and every switch runs them.
LANES = 32
MOST = 20
TABLE = [(n * 2654435761 + 12345) & M32 for n in range(64)]

RELATIONS = {
    'lt': lambda a, b: a < b, 'le': lambda a, b: a <= b, 'gt': lambda a, b: a > b, 'ge': lambda a, b: a >= b, 'ne': lambda a, b: a != b,
}
INVERSE = {'lt': 'ge', 'le': 'gt', 'gt': 'le', 'ge': 'lt', 'ne': 'eq'}
EXCHANGED = {'lt': 'gt', 'le': 'ge', 'gt': 'lt', 'ge': 'le', 'ne': 'ne'}
FORMS = ['direct', 'negated', 'exit', 'exchanged']


def variants():
    """Type, comparison, step, and how the test is written."""
    found = []
    for ty in ('s32', 'u32', 's64', 'u64'):
        for relation in RELATIONS:
            toward = [1, 3, 128] if relation in ('lt', 'le', 'ne') else [-1, -3]
            away = [-1] if relation in ('lt', 'ge') else []
            for step in toward + away + ([-2] if relation == 'ne' else []):
                found.append((ty, relation, step, FORMS[len(found) % len(FORMS)]))
    return found


def number(ty, bits):
    width = int(ty[1:])
    bits &= (1 << width) - 1
    return bits - (1 << width) if ty[0] == 's' and bits >> (width - 1) else bits


def run(ty, relation, step, start, limit, most):
    """The counter in each iteration; None if there are more than `most` iterations."""
    seen, i = [], number(ty, start)
    while True:
        seen.append(i)
        i = number(ty, i + step)
        if not RELATIONS[relation](i, number(ty, limit)):
            return seen, i
        if len(seen) >= most:
            return None


def pairs(ty, relation, step, count):
    """First values and limits with few iterations, many of them at the ends of the range."""
    width = int(ty[1:])
    edges = [0, 1, -1, 5, 1 << (width - 1), (1 << (width - 1)) - 1, (1 << (width - 1)) + 2, (1 << width) - 7]
    candidates = []
    for edge in edges:
        for distance in (0, 1, 2, 3, 4, 5, 7, 8, 9, 11, 13, 24, 37):
            for shift in (0, 1, -1):
                candidates.append((edge, edge + distance * step + shift))
                candidates.append((edge - distance * step + shift, edge))
    mask = (1 << width) - 1
    good = [(a & mask, b & mask) for a, b in candidates if run(ty, relation, step, a, b, MOST)]
    good = list(dict.fromkeys(good))
    # A stride that meets every part of the list.
    stride = max(1, len(good) * 7 // (count * 3)) | 1
    return [good[n * stride % len(good)] for n in range(count)]


def loop(label, ty, relation, step, form, body, counter, limit, p='p'):
    """The text of a loop around a body."""
    lines = [f'{label}:'] + body + [f'add.{ty} {counter}, {counter}, {step};']
    if form == 'direct':
        lines += [f'setp.{relation}.{ty} {p}, {counter}, {limit};', f'@{p} bra {label};']
    elif form == 'negated':
        lines += [f'setp.{INVERSE[relation]}.{ty} {p}, {counter}, {limit};', f'@!{p} bra {label};']
    elif form == 'exit':
        lines += [f'setp.{INVERSE[relation]}.{ty} {p}, {counter}, {limit};', f'@{p} bra {label}End;', f'bra.uni {label};']
    else:
        lines += [f'setp.{EXCHANGED[relation]}.{ty} {p}, {limit}, {counter};', f'@{p} bra {label};']
    return lines + [f'{label}End:']


REGISTERS = ['.reg .b32 t, x, y, acc, trips, i, n, j, m;', '.reg .b64 out, in, table, at, from, wi, wn;', '.reg .pred p, q, r;', '.shared .align 4 .b8 cells[256];']
PARAMETERS = '.param .u64 out_of_all, .param .u64 in_of_all, .param .u64 table_of_all'
FIRST = ['ld.param.u64 out, [out_of_all];', 'ld.param.u64 in, [in_of_all];', 'ld.param.u64 table, [table_of_all];', 'cvta.to.global.u64 out, out;', 'cvta.to.global.u64 in, in;', 'cvta.to.global.u64 table, table;', 'mov.u32 t, %tid.x;']
BODY = ['ld.global.u32 x, [from];', 'mad.lo.u32 acc, acc, 5, x;', 'add.u64 from, from, 4;', 'add.u32 trips, trips, 1;']


def entry(name, lines, more=''):
    text = ''.join(f'{line}\n' if line.endswith(':') else f'    {line}\n' for line in REGISTERS + FIRST + lines + ['ret;'])
    return f'\n.visible .entry {name}({PARAMETERS}{more})\n{{\n{text}}}\n'


def stores(place, *words):
    return [f'mad.wide.u32 at, t, {4 * len(words)}, out;'] + [f'st.global.u32 [at+{place + 4 * n}], {word};' for n, word in enumerate(words)]


def open_text():
    """Each variant reads the first value and the limit of each thread."""
    lines, place = [], 0
    for n, (ty, relation, step, form) in enumerate(variants()):
        wide = ty.endswith('64')
        i, limit, size = ('wi', 'wn', 8) if wide else ('i', 'n', 4)
        lines += [f'mad.wide.u32 at, t, {2 * size}, in;', f'ld.global.{ty} {i}, [at+{place}];', f'ld.global.{ty} {limit}, [at+{place + size}];']
        place += 2 * size * THREADS
        lines += ['mov.u64 from, table;', 'mov.u32 acc, 1;', 'mov.u32 trips, 0;']
        body = BODY + ([f'cvt.u32.u64 y, wi;', 'xor.b32 acc, acc, y;'] if wide else ['xor.b32 acc, acc, i;'])
        lines += loop(f'L{n}', ty, relation, step, form, body, i, limit)
        lines += [f'cvt.u32.u64 y, wi;'] if wide else ['mov.u32 y, i;']
        lines += stores(n * 12 * THREADS, 'acc', 'trips', 'y')
    return lines


def open_case():
    given, out = [], []
    for ty, relation, step, _ in variants():
        for t, (start, limit) in enumerate(pairs(ty, relation, step, THREADS)):
            words = [start, limit]
            given += [w & M32 if ty.endswith('32') else w for w in words] if ty.endswith('32') else [part for w in words for part in (w & M32, w >> 32)]
            out += result(t, *run(ty, relation, step, start, limit, MOST))
    return given, out


def result(t, seen, last):
    """The words that a thread leaves after a loop with these counters."""
    if t >= LANES:
        return [0, 0, 0]
    acc = 1
    for k, i in enumerate(seen):
        acc = (acc * 5 + TABLE[k]) & M32
        acc ^= i & M32
    return [acc, len(seen), last & M32]


def stepped_variants():
    """Type, comparison, how the test is written, and whether the step is an argument of the launch."""
    found = []
    for ty in ('s32', 'u32', 's64', 'u64'):
        for relation in ('lt', 'le', 'gt', 'ne'):
            for given in (False, True):
                found.append((ty, relation, FORMS[len(found) % len(FORMS)], given))
    return found


# The step that is an argument.
GIVEN_STEP = 5


def stepped_text():
    """Each thread reads the first value, the limit and the step."""
    lines, place = ['.reg .b32 step;', '.reg .b64 wstep;'], 0
    for n, (ty, relation, form, given) in enumerate(stepped_variants()):
        wide = ty.endswith('64')
        i, limit, step, size = ('wi', 'wn', 'wstep', 8) if wide else ('i', 'n', 'step', 4)
        lines += [f'mad.wide.u32 at, t, {3 * size}, in;', f'ld.global.{ty} {i}, [at+{place}];', f'ld.global.{ty} {limit}, [at+{place + size}];']
        lines += [f'ld.param.{ty} {step}, [{"wide_step" if wide else "step_of_all"}];' if given else f'ld.global.{ty} {step}, [at+{place + 2 * size}];']
        place += 3 * size * THREADS
        lines += ['mov.u64 from, table;', 'mov.u32 acc, 1;', 'mov.u32 trips, 0;']
        body = BODY + ([f'cvt.u32.u64 y, wi;', 'xor.b32 acc, acc, y;'] if wide else ['xor.b32 acc, acc, i;'])
        lines += loop(f'L{n}', ty, relation, step, form, body, i, limit)
        lines += [f'cvt.u32.u64 y, wi;'] if wide else ['mov.u32 y, i;']
        lines += stores(n * 12 * THREADS, 'acc', 'trips', 'y')
    return lines


def stepped_case():
    given, out = [], []
    for ty, relation, _, fixed in stepped_variants():
        width = int(ty[1:])
        steps = [GIVEN_STEP] if fixed else [1, 2, 7, 1 << 26, (1 << 26) + 1, 1 << (width - 2), (1 << (width - 1)) - 3, -1, -6, 0]
        chosen = [(start, limit, step) for step in steps for start, limit in pairs(ty, relation, step, THREADS)]
        for t, (start, limit, step) in enumerate(chosen[n * 7 % len(chosen)] for n in range(THREADS)):
            mask = (1 << width) - 1
            words = [start & mask, limit & mask, step & mask]
            given += words if width == 32 else [part for w in words for part in (w & M32, w >> 32)]
            out += result(t, *run(ty, relation, step, start, limit, MOST))
    return given, out


# Loops whose number of iterations is known: type, comparison, first value, limit, step.
KNOWN = [('s32', 'lt', 0, n, 1) for n in (1, 2, 3, 4, 5, 7, 16, 17, 33, 64)] + [
    ('s32', 'lt', 0, 600, 1), ('s32', 'lt', 0, 601, 3), ('u32', 'lt', 5, 2000, 7), ('s32', 'le', -5, 5, 1), ('s32', 'gt', 50, 0, -1), ('s32', 'ge', 7, -9, -4),
    ('s32', 'ne', 0, 48, 3), ('u32', 'ne', 4294967290, 6, 1), ('u32', 'ge', 60, 4, -4), ('s64', 'lt', 0, 20, 1), ('s64', 'lt', -3, 1000, 1), ('u64', 'ne', 100, 0, -5),
    ('s32', 'lt', 10, 3, 1), ('u32', 'gt', 9, 300, -1), ('s32', 'lt', 2147483600, 2147483647, 1), ('s64', 'le', 9223372036854775770, 9223372036854775803, 4),
]


def known_text(some):
    lines = []
    for n, (ty, relation, start, limit, step) in enumerate(some):
        i = 'wi' if ty.endswith('64') else 'i'
        lines += ['mov.u32 acc, t;', 'mov.u32 trips, 0;', 'mov.u64 from, table;', f'mov.{ty} {i}, {start};']
        body = ['and.b32 y, trips, 63;', 'mad.wide.u32 from, y, 4, table;', 'ld.global.u32 x, [from];', 'mad.lo.u32 acc, acc, 5, x;', 'add.u32 trips, trips, 1;']
        lines += loop(f'L{n}', ty, relation, step, FORMS[n % len(FORMS)], body, i, limit)
        lines += ([f'cvt.u32.u64 y, wi;'] if i == 'wi' else ['mov.u32 y, i;']) + stores(n * 12 * THREADS, 'acc', 'trips', 'y')
    return lines


def known_case(some):
    out = []
    for ty, relation, start, limit, step in some:
        seen, last = run(ty, relation, step, start, limit, 1 << 14)
        for t in range(THREADS):
            acc = t
            for k in range(len(seen)):
                acc = (acc * 5 + TABLE[k & 63]) & M32
            out += [acc, len(seen), last & M32] if t < LANES else [0, 0, 0]
    return out


# Iterations of the outer loop of each thread: from memory.
def nested_text():
    lines = ['mad.wide.u32 at, t, 4, in;', 'ld.global.u32 n, [at];']
    # A small loop of a known count in one that is open.
    lines += ['mov.u32 acc, 1;', 'mov.u32 i, 0;', 'A:', 'mov.u32 j, 0;', 'B:', 'mad.lo.u32 acc, acc, 3, j;', 'xor.b32 acc, acc, i;', 'add.u32 j, j, 1;', 'setp.lt.u32 q, j, 4;', '@q bra B;']
    lines += ['add.u32 i, i, 1;', 'setp.lt.u32 p, i, n;', '@p bra A;'] + stores(0, 'acc')
    # A branch with an else, loads on one side, stores on the other.
    lines += ['mov.u32 acc, 1;', 'mov.u32 i, 0;', 'mov.u64 from, table;', 'mad.wide.u32 at, t, 4, out;', 'C:', 'and.b32 m, i, 3;', 'setp.eq.u32 q, m, 1;', '@q bra Else;', 'ld.global.u32 x, [from];', 'add.u32 acc, acc, x;', 'bra.uni Join;', 'Else:']
    lines += [f'st.global.u32 [at+{4 * THREADS}], acc;', 'mad.lo.u32 acc, acc, 7, i;', 'Join:', 'add.u64 from, from, 4;', 'add.u32 i, i, 1;', 'setp.lt.u32 p, i, n;', '@p bra C;'] + stores(8 * THREADS, 'acc')
    # A second exit, of a loop with a known count and of an open one.
    for label, limit, place in (('D', '12', 12), ('E', 'n', 16)):
        lines += ['mov.u32 acc, t;', 'mov.u32 i, 0;', f'{label}:', 'mad.lo.u32 acc, acc, 5, i;', 'and.b32 m, acc, 15;', 'setp.eq.u32 q, m, 9;', f'@q bra {label}Out;', 'add.u32 acc, acc, 1;', 'add.u32 i, i, 1;', f'setp.lt.u32 p, i, {limit};', f'@p bra {label};', f'{label}Out:']
        lines += ['xor.b32 acc, acc, i;'] + stores(place * THREADS, 'acc')
    # The number of iterations of all threads is that of the first; each waits for the others.
    lines += ['ld.global.u32 n, [in];', 'mov.u32 acc, t;', 'mov.u32 i, 0;', 'mov.u32 m, cells;', 'shl.b32 x, t, 2;', 'add.u32 m, m, x;', 'F:', 'st.shared.u32 [m], acc;', 'bar.sync 0;', 'xor.b32 y, t, 33;', 'shl.b32 y, y, 2;', 'mov.u32 x, cells;', 'add.u32 y, y, x;', 'ld.shared.u32 x, [y];', 'mad.lo.u32 acc, acc, 3, x;', 'bar.sync 0;', 'add.u32 i, i, 1;', 'setp.lt.u32 p, i, n;', '@p bra F;'] + stores(20 * THREADS, 'acc')
    # The pointer is the counter; it is read after the loop, too. The tested predicate is read after it as well.
    lines += ['mul.wide.u32 wn, n, 4;', 'add.u64 wn, wn, table;', 'mov.u64 from, table;', 'mov.u32 acc, 0;', 'G:', 'ld.global.u32 x, [from];', 'add.u32 acc, acc, x;', 'add.u64 from, from, 4;', 'setp.lt.u64 p, from, wn;', '@p bra G;', 'ld.global.u32 x, [from];', 'add.u32 acc, acc, x;', '@!p add.u32 acc, acc, 1;'] + stores(24 * THREADS, 'acc')
    # Loops that the source keeps as they are, and one with a counter that a branch may change.
    lines += ['mov.u32 acc, 1;', 'mov.u32 i, 0;', 'H:', '.pragma "nounroll";', 'mad.lo.u32 acc, acc, 9, i;', 'add.u32 i, i, 1;', 'setp.lt.u32 p, i, n;', '@p bra H;']
    lines += ['mov.u32 i, 0;', 'I:', 'mad.lo.u32 acc, acc, 11, i;', 'and.b32 m, acc, 1;', 'setp.eq.u32 q, m, 0;', '@q add.u32 i, i, 1;', 'add.u32 i, i, 1;', 'setp.lt.u32 p, i, n;', '@p bra I;']
    lines += ['mov.u32 i, 0;', 'J:', 'and.b32 m, acc, 1;', 'setp.eq.u32 q, m, 0;', '@q bra Step;', 'add.u32 i, i, 2;', 'Step:', 'mad.lo.u32 acc, acc, 13, i;', 'add.u32 i, i, 1;', 'setp.lt.u32 p, i, n;', '@p bra J;'] + stores(28 * THREADS, 'acc')
    return lines


def nested_case():
    counts = [t * 5 % 23 + 1 for t in range(THREADS)]
    counts[0] = 11
    columns = [[] for _ in range(8)]
    cells = None
    for t, n in enumerate(counts):
        acc = 1
        for i in range(n):
            for j in range(4):
                acc = ((acc * 3 + j) & M32) ^ i
        columns[0].append(acc)
        acc, stored = 1, 0
        for i in range(n):
            if i & 3 == 1:
                stored = acc
                acc = (acc * 7 + i) & M32
            else:
                acc = (acc + TABLE[i]) & M32
        columns[1].append(stored)
        columns[2].append(acc)
        for limit, column in ((12, 3), (n, 4)):
            acc, i = t, 0
            while True:
                acc = (acc * 5 + i) & M32
                if acc & 15 == 9:
                    break
                acc = (acc + 1) & M32
                i += 1
                if i >= limit:
                    break
            columns[column].append(acc ^ i)
    accs = list(range(THREADS))
    n = counts[0]
    for _ in range(n):
        accs = [(acc * 3 + accs[t ^ 33]) & M32 for t, acc in enumerate(accs)]
    columns[5] = accs
    columns[6] = [(sum(TABLE[:n]) + TABLE[n] + 1) & M32] * THREADS
    acc = 1
    for i in range(n):
        acc = (acc * 9 + i) & M32
    for skip, factor in ((0, 11), (1, 13)):
        i = 0
        while True:
            if skip and acc & 1:
                i += 2
            acc = (acc * factor + i) & M32
            if not skip and acc & 1 == 0:
                i += 1
            i += 1
            if i >= n:
                break
    columns[7] = [acc] * THREADS
    return counts, [word for column in columns for word in column]


# Loops that are tested before each iteration, by type, comparison, first value, step, and how they are left; limits from memory.
FIRST_TESTED = [(ty, relation, start, step, way) for ty in ('s32', 'u32', 's64') for relation, start, step in (('lt', 0, 1), ('le', 2, 3), ('gt', 21, -1), ('ne', 0, 1)) for way in ('branch', 'body')]


def first_tested_text():
    lines = ['mad.wide.u32 at, t, 4, in;', 'ld.global.u32 n, [at];', 'cvt.u64.u32 wn, n;']
    for place, (ty, relation, start, step, way) in enumerate(FIRST_TESTED):
        i, limit = ('wi', 'wn') if ty.endswith('64') else ('i', 'n')
        lines += ['mov.u64 from, table;', 'mov.u32 acc, t;', 'mov.u32 trips, 0;', f'mov.{ty} {i}, {start};', f'T{place}:']
        if way == 'branch':
            lines += [f'setp.{INVERSE[relation]}.{ty} p, {i}, {limit};', f'@p bra T{place}End;']
        else:
            lines += [f'setp.{relation}.{ty} p, {i}, {limit};', f'@p bra T{place}Body;', f'bra.uni T{place}End;', f'T{place}Body:']
        lines += BODY + [f'add.{ty} {i}, {i}, {step};', f'bra.uni T{place};', f'T{place}End:']
        lines += ['cvt.u32.u64 y, wi;'] if i == 'wi' else ['mov.u32 y, i;']
        lines += ['xor.b32 acc, acc, y;'] + stores(place * 8 * THREADS, 'acc', 'trips')
    place = len(FIRST_TESTED) * 8 * THREADS
    # A loop in a loop that begins with it, where the way out of the inner one is the test of the outer one.
    lines += ['mov.u32 acc, t;', 'mov.u32 i, 0;', 'mov.u32 j, 0;', 'U:', 'setp.ge.u32 p, i, n;', '@p bra UEnd;', 'V:', 'and.b32 m, acc, 3;', 'setp.eq.u32 q, m, 0;', '@q bra UStep;', 'mad.lo.u32 acc, acc, 5, j;', 'add.u32 acc, acc, 1;', 'add.u32 j, j, 1;', 'bra.uni V;']
    lines += ['UStep:', 'add.u32 acc, acc, 7;', 'add.u32 i, i, 1;', 'bra.uni U;', 'UEnd:'] + stores(place, 'acc', 'j')
    # Two ways back, a way out of the body, and a load and a product with the test.
    lines += ['mov.u32 acc, t;', 'mov.u32 i, 0;', 'W:', 'and.b32 m, i, 63;', 'mad.wide.u32 from, m, 4, table;', 'ld.global.u32 x, [from];', 'mad.lo.u32 acc, acc, 3, x;', 'setp.ge.u32 p, i, n;', '@p bra WEnd;', 'add.u32 i, i, 1;', 'and.b32 m, acc, 7;', 'setp.eq.u32 q, m, 1;', '@q bra W;', 'setp.eq.u32 r, m, 6;', '@r bra WEnd;', 'add.u32 acc, acc, i;', 'bra.uni W;', 'WEnd:'] + stores(place + 8 * THREADS, 'acc', 'i')
    # The loop is left by an exit, at the top and at the end: nothing follows.
    lines += [f'mad.wide.u32 at, t, 8, out;', 'mov.u32 acc, t;', 'mov.u32 i, 0;', 'setp.gt.u32 q, t, 15;', '@q bra Y;', 'X:', f'st.global.u32 [at+{place + 16 * THREADS}], acc;', 'setp.ge.u32 p, i, n;', '@p exit;', 'mad.lo.u32 acc, acc, 3, i;', 'add.u32 i, i, 1;', 'bra.uni X;']
    lines += ['Y:', 'mad.lo.u32 acc, acc, 5, i;', 'add.u32 i, i, 1;', f'st.global.u32 [at+{place + 16 * THREADS}], acc;', 'setp.ge.u32 p, i, n;', '@p exit;', 'bra.uni Y;']
    return lines


def first_tested_case():
    counts = [t * 7 % 24 for t in range(THREADS)]
    columns = []
    for ty, relation, start, step, _ in FIRST_TESTED:
        column = []
        for t, n in enumerate(counts):
            acc, i, trips = t, start, 0
            while RELATIONS[relation](i, n):
                acc = (acc * 5 + TABLE[trips]) & M32
                trips += 1
                i += step
            column += [acc ^ i & M32, trips]
        columns.append(column)
    inner, ways, exits = [], [], []
    for t, n in enumerate(counts):
        acc, j = t, 0
        for _ in range(n):
            while acc & 3:
                acc = (acc * 5 + j + 1) & M32
                j += 1
            acc = (acc + 7) & M32
        inner += [acc, j]
        acc, i = t, 0
        while True:
            acc = (acc * 3 + TABLE[i & 63]) & M32
            if i >= n:
                break
            i += 1
            if acc & 7 == 1:
                continue
            if acc & 7 == 6:
                break
            acc = (acc + i) & M32
        ways += [acc, i]
        acc, i = t, 0
        if t <= 15:
            while i < n:
                acc = (acc * 3 + i) & M32
                i += 1
        else:
            while True:
                acc = (acc * 5 + i) & M32
                i += 1
                if i >= n:
                    break
        exits += [acc, 0]
    out = [word for column in columns + [inner, ways, exits] for word in column]
    return counts, [word if n // 2 % THREADS < LANES else 0 for n, word in enumerate(out)]


def write_ptx():
    text = HEAD + entry('loops_open', open_text()) + entry('loops_stepped', stepped_text(), ', .param .u32 step_of_all, .param .u64 wide_step') + entry('loops_known', known_text(KNOWN)) + entry('loops_nested', nested_text()) + entry('loops_tested_first', first_tested_text())
    open(os.path.join(record.ROOT, FILE + '.ptx'), 'w').write(text)


GIVEN, OPEN = open_case()
case('loops_open', FILE, [1], [LANES], [Result('u32', OPEN, [0] * len(OPEN)), Given('u32', GIVEN), Given('u32', TABLE)])
STEPPED, OUT = stepped_case()
case('loops_stepped', FILE, [1], [LANES], [Result('u32', OUT, [0] * len(OUT)), Given('u32', STEPPED), Given('u32', TABLE), Scalar('u32', GIVEN_STEP), Scalar('u64', GIVEN_STEP)])
OUT = known_case(KNOWN)
case('loops_known', FILE, [1], [LANES], [Result('u32', OUT, [0] * len(OUT)), Given('u32', [0]), Given('u32', TABLE)])
COUNTS, OUT = nested_case()
case('loops_nested', FILE, [1], [THREADS], [Result('u32', OUT, [0] * len(OUT)), Given('u32', COUNTS), Given('u32', TABLE)])
COUNTS, OUT = first_tested_case()
case('loops_tested_first', FILE, [1], [LANES], [Result('u32', OUT, [0] * len(OUT)), Given('u32', COUNTS), Given('u32', TABLE)])
