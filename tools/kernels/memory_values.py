"""Kernels that store and load the same bytes in several widths and ways: local variables, a line of shared and of global memory for each
thread, two pointers to one line, guards, branches, loops, exits in between; and threads that write what others wrote before a barrier.
A thread's statements are made at random once, and executed here in Python."""
import os
import struct

import record
from record import Random, Result, case

FILE = 'memory_values'
THREADS, LINE = 32, 32
M32 = (1 << 32) - 1
HEAD = '''// Written by tools/kernels/memory_values.py: the same bytes stored and loaded in several ways.
.version 8.0
.target sm_80
.address_size 64
'''
REGISTERS = '''    .reg .pred p<3>, more;
    .reg .b32 h<4>, t<4>, i;
    .reg .b64 d, at, g, k, s, r, o, out;
    .local .align 16 .b8 A[32];
    .local .align 4 .b8 B[32];
    .shared .align 16 .b8 S[1024];
    ld.param.u64 g, [lines];
    ld.param.u64 out, [results];
    cvta.to.global.u64 g, g;
    cvta.to.global.u64 out, out;
    mov.u32 i, %tid.x;
    mul.wide.u32 o, i, 32;
    add.u64 g, g, o;
    mov.u64 k, g;
    mov.u64 s, S;
    add.u64 s, s, o;
    mov.u64 r, s;
    mul.wide.u32 o, i, 16;
    add.u64 out, out, o;
    mad.lo.u32 h0, i, 40503, 1;
    mul.lo.u32 h1, i, 77;
    xor.b32 h2, i, 0x5a5a5a5a;
    mov.u32 h3, i;
'''
# Type, bytes of an element, elements, sign.
TYPES = [('u8', 1, 1, 0), ('s8', 1, 1, 1), ('u16', 2, 1, 0), ('s16', 2, 1, 1), ('u32', 4, 1, 0), ('u32', 4, 2, 0), ('u32', 4, 4, 0), ('u64', 8, 1, 0)]
# Bases by space; two of them are equal.
BASES = [('local', 'A', 'A'), ('local', 'B', 'B'), ('global', 'g', 'G'), ('global', 'k', 'G'), ('shared', 's', 'S'), ('shared', 'r', 'S')]


class Gone(Exception):
    """The thread has left."""


def start(t):
    return [(t * 40503 + 1) & M32, t * 77 & M32, t ^ 0x5a5a5a5a, t]


def statements(random, depth, count, exits):
    """A list of statements: tuples that `text` and `execute` understand."""
    found = []
    for _ in range(count):
        roll = random.below(100)
        if roll < 70:
            space, base, line = BASES[random.below(len(BASES))]
            ty, size, elements, signed = TYPES[random.below(len(TYPES))]
            wide = size * elements
            if base == 'B' and wide > 4:
                ty, size, elements, signed, wide = 'u32', 4, 1, 0, 4
            offset = random.below(16 // wide) * wide if random.below(2) else random.below(LINE // wide) * wide
            registers = [random.below(4) for _ in range(4)]
            guard = random.below(3) if random.below(8) == 0 else None
            far = random.below(3) == 0 and base not in 'AB'
            found.append(('store' if roll < 35 else 'load', space, base, line, ty, size, elements, signed, offset, registers, guard, far))
        elif roll < 78:
            found.append(('test', random.below(3), random.below(4), random.below(4)))
        elif roll < 80:
            found.append(('fence',))
        elif roll < 82 and exits:
            found.append(('exit', random.below(3)))
        elif roll < 91 and depth < 2:
            parts = [statements(random, depth + 1, 1 + random.below(4), exits) for _ in range(2)]
            found.append(('branch', random.below(3), *parts))
        elif depth < 2:
            found.append(('loop', 1 + random.below(4), statements(random, depth + 1, 1 + random.below(5), exits)))
    return found


def text(list_of, labels):
    lines = []
    for what, *rest in list_of:
        if what in ('store', 'load'):
            space, base, _, ty, size, elements, _, offset, registers, guard, far = rest
            vector = f'.v{elements}' if elements > 1 else ''
            place = f'[{base}+{offset}]'
            if far:
                lines.append(f'add.u64 at, {base}, {offset + 4};')
                place = '[at+-4]'
            mark = f'@p{guard} ' if guard is not None else ''
            if what == 'store':
                names = [f'h{r}' for r in registers[:elements]]
                if ty == 'u64':
                    lines.append(f'mov.b64 d, {{h{registers[0]}, h{registers[1]}}};')
                    names = ['d']
                value = names[0] if elements == 1 else '{' + ', '.join(names) + '}'
                lines.append(f'{mark}st.{space}{vector}.{ty} {place}, {value};')
            else:
                names = ['d'] if ty == 'u64' else [f't{n}' for n in range(elements)]
                lines += ['mov.b64 d, 0;'] if ty == 'u64' else [f'mov.u32 {name}, 0;' for name in names]
                value = names[0] if elements == 1 else '{' + ', '.join(names) + '}'
                lines.append(f'{mark}ld.{space}{vector}.{ty} {value}, {place};')
                if ty == 'u64':
                    lines.append('mov.b64 {t0, t1}, d;')
                for n in range(max(1, size * elements // 4)):
                    lines.append(f'mad.lo.u32 h{registers[n]}, h{registers[n]}, {2 * n + 3}, t{n};')
        elif what == 'test':
            lines.append(f'setp.lt.u32 p{rest[0]}, h{rest[1]}, h{rest[2]};')
            lines.append(f'add.u32 h{rest[1]}, h{rest[1]}, 0x9e3779b9;')
        elif what == 'fence':
            lines.append('membar.cta;')
        elif what == 'exit':
            lines.append(f'@p{rest[0]} exit;')
        elif what == 'branch':
            labels[0] += 1
            own = labels[0]
            lines += [f'@p{rest[0]} bra Then{own};', *text(rest[2], labels), f'bra Join{own};', f'Then{own}:', *text(rest[1], labels), f'Join{own}:']
        else:
            labels[0] += 1
            own = labels[0]
            counter = f'c{own}'
            lines += [f'.reg .b32 {counter};', f'mov.u32 {counter}, 0;', f'Loop{own}:', *text(rest[1], labels), f'add.u32 {counter}, {counter}, 1;', f'setp.lt.u32 more, {counter}, {rest[0]};', f'@more bra Loop{own};']
    return lines


def execute(list_of, h, p, memory):
    for what, *rest in list_of:
        if what in ('store', 'load'):
            _, _, line, ty, size, elements, signed, offset, registers, guard, _ = rest
            bytes_of, wide = memory[line], size * elements
            acts = guard is None or p[guard]
            if what == 'store':
                values = [h[r] for r in registers[:2 if ty == 'u64' else elements]]
                if acts:
                    for n, value in enumerate(values):
                        each = min(size, 4)
                        bytes_of[offset + n * each:offset + (n + 1) * each] = struct.pack('<I', value)[:each]
            else:
                raw = bytes(bytes_of[offset:offset + wide]) if acts else bytes(wide)
                if wide < 4:
                    words = [int.from_bytes(raw, 'little', signed=bool(signed)) & M32]
                else:
                    words = struct.unpack(f'<{wide // 4}I', raw)
                for n, word in enumerate(words):
                    h[registers[n]] = (h[registers[n]] * (2 * n + 3) + word) & M32
        elif what == 'test':
            p[rest[0]] = h[rest[1]] < h[rest[2]]
            h[rest[1]] = (h[rest[1]] + 0x9e3779b9) & M32
        elif what == 'exit':
            if p[rest[0]]:
                raise Gone
        elif what == 'branch':
            execute(rest[1] if p[rest[0]] else rest[2], h, p, memory)
        elif what == 'loop':
            for _ in range(rest[0]):
                execute(rest[1], h, p, memory)


# Every word has a value before it is read.
FIRST = ''.join(f'    st.local.v2.u32 [A+{8 * n}], {{h{n}, h{(n + 1) % 4}}};\n' for n in range(4)) + ''.join(f'    st.local.u32 [B+{4 * n}], h{n % 4};\n' for n in range(8)) + ''.join(f'    st.shared.v2.u32 [s+{8 * n}], {{h{n}, h1}};\n' for n in range(4))
LAST = ''.join(f'    ld.local.u32 t{n}, [A+{8 * n}];\n    xor.b32 h{n}, h{n}, t{n};\n    ld.local.u32 t{n}, [B+{8 * n + 4}];\n    add.u32 h{n}, h{n}, t{n};\n    ld.shared.u32 t{n}, [s+{8 * n}];\n    xor.b32 h{n}, h{n}, t{n};\n' for n in range(4))


def kernel(name, list_of):
    conditions = '    setp.lt.u32 p0, i, 9;\n    and.b32 t0, i, 1;\n    setp.eq.u32 p1, t0, 0;\n    setp.gt.u32 p2, i, 20;\n'
    body = ''.join(f'{line}\n' if line.endswith(':') else f'    {line}\n' for line in text(list_of, [0]))
    return f'\n.visible .entry {name}(.param .u64 lines, .param .u64 results)\n{{\n{REGISTERS}{conditions}{FIRST}{body}{LAST}    st.global.v4.u32 [out], {{h0, h1, h2, h3}};\n    ret;\n}}\n'


def thread(t, list_of, line):
    """What a thread leaves in its line, and its results."""
    h, p = start(t), [t < 9, t % 2 == 0, t > 20]
    words = lambda values: bytearray(struct.pack(f'<{len(values)}I', *values))
    memory = {'G': line, 'A': words([h[(n + m) % 4] for n in range(4) for m in range(2)]), 'B': words([h[n % 4] for n in range(8)]), 'S': words([w for n in range(4) for w in (h[n], h[1])])}
    word = lambda name, at: struct.unpack_from('<I', memory[name], at)[0]
    try:
        execute(list_of, h, p, memory)
    except Gone:
        return [0] * 4
    return [((h[n] ^ word('A', 8 * n)) + word('B', 8 * n + 4) & M32) ^ word('S', 8 * n) for n in range(4)]


# Each word is written by its thread, then by its neighbour; a thread reads its own before and behind the barrier.
NEIGHBOURS = '''
.visible .entry memory_values_neighbours(.param .u64 lines, .param .u64 results)
{
    .reg .b32 i, j, v, a, b, c, d;
    .reg .b64 g, n, out, o;
    .reg .b32 s, m;
    .shared .align 16 .b8 S[128];
    ld.param.u64 g, [lines];
    ld.param.u64 out, [results];
    cvta.to.global.u64 g, g;
    cvta.to.global.u64 out, out;
    mov.u32 i, %tid.x;
    add.u32 j, i, 1;
    and.b32 j, j, 31;
    mul.wide.u32 o, j, 4;
    add.u64 n, g, o;
    mul.wide.u32 o, i, 4;
    add.u64 g, g, o;
    mul.wide.u32 o, i, 16;
    add.u64 out, out, o;
    mov.u32 s, S;
    mad.lo.u32 m, j, 4, s;
    mad.lo.u32 s, i, 4, s;
    mul.lo.u32 v, i, 7;
    st.shared.u32 [s], v;
    st.global.u32 [g], v;
    ld.shared.u32 a, [s];
    ld.global.u32 b, [g];
    bar.sync 0;
    add.u32 v, v, 1000;
    st.shared.u32 [m], v;
    st.global.u32 [n], v;
    bar.sync 0;
    ld.shared.u32 c, [s];
    ld.global.u32 d, [g];
    st.global.v4.u32 [out], {a, b, c, d};
    ret;
}
'''
SEEDS = {'memory_values_first': (11, 40, False), 'memory_values_second': (12, 60, False), 'memory_values_left': (154, 60, True), 'memory_values_third': (199, 60, True)}
MADE = {name: statements(Random(seed), 0, count, exits) for name, (seed, count, exits) in SEEDS.items()}


def write_ptx():
    kernels = ''.join(kernel(name, list_of) for name, list_of in MADE.items())
    open(os.path.join(record.ROOT, FILE + '.ptx'), 'w').write(HEAD + kernels + NEIGHBOURS)


for name, list_of in MADE.items():
    random = Random(len(name))
    before = [random.bits(8) for _ in range(THREADS * LINE)]
    lines = [bytearray(before[t * LINE:(t + 1) * LINE]) for t in range(THREADS)]
    results = [word for t in range(THREADS) for word in thread(t, list_of, lines[t])]
    case(name, FILE, [1], [THREADS], [Result('u8', b''.join(bytes(line) for line in lines), before), Result('u32', results, [0] * len(results))])
after = [(t - 1) % THREADS * 7 + 1000 for t in range(THREADS)]
results = [word for t in range(THREADS) for word in (t * 7, t * 7, after[t], after[t])]
case('memory_values_neighbours', FILE, [1], [THREADS], [Result('u32', after, [0] * THREADS), Result('u32', results, [0] * len(results))])
