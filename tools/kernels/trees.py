"""Sums and maxima of arrays: each thread goes over the grid with the step of the grid, then the block goes up a tree in shared
memory. The conditions of a level are two nested branches, as a compiler leaves them that joins none; one kernel keeps its value
in a register, which is stored where both conditions hold. Last, two exits in a row."""
import os

import record
from record import Given, Random, Result, Scalar, case

FILE = 'trees'
HEAD = '// Written by tools/kernels/trees.py: sums and maxima by trees with nested conditions.\n.version 8.0\n.target sm_80\n.address_size 64\n'
M32 = (1 << 32) - 1
WIDEST = 64
COUNT = 300
# Operation, value of no element, and its meaning.
KINDS = {'add': ('add.u32', 0, lambda a, b: (a + b) & M32), 'max': ('max.u32', 0, max), 'xor': ('xor.b32', 0, lambda a, b: a ^ b)}


def level(span, operation, kept):
    """One level: threads below `span` take the value `span` further up, if the block reaches that far."""
    lines = [f'setp.ge.u32 p, t, {span};', f'@p bra Level{span};', f'or.b32 up, t, {span};', 'setp.ge.u32 p, up, width;', f'@p bra Level{span};', f'ld.shared.u32 y, [at+{4 * span}];']
    lines += [] if kept else ['ld.shared.u32 x, [at];']
    lines += [f'{operation} x, x, y;', 'st.shared.u32 [at], x;', f'Level{span}:', 'bar.sync 0;']
    return lines


def entry(name, kind, kept):
    operation, none, _ = KINDS[kind]
    lines = [
        '.reg .pred p;', '.reg .b32 t, i, n, width, step, x, y, up, at, block, most;', '.reg .b64 in, out, from;', f'.shared .align 4 .b8 words[{4 * 2 * WIDEST}];',
        'ld.param.u64 out, [out_of_all];', 'ld.param.u64 in, [in_of_all];', 'ld.param.u32 n, [count];', 'ld.param.u32 most, [blocks];',
        'mov.u32 t, %tid.x;', 'mov.u32 block, %ctaid.x;', 'mov.u32 width, %ntid.x;', 'mov.u32 step, %nctaid.x;', 'mul.lo.u32 step, step, width;',
        'mad.lo.u32 i, block, width, t;', f'mov.u32 x, {none};', 'setp.ge.u32 p, i, n;', '@p bra Done;',
        'Next:', 'mul.wide.u32 from, i, 4;', 'add.u64 from, from, in;', 'ld.global.u32 y, [from];', f'{operation} x, x, y;', 'add.u32 i, i, step;', 'setp.lt.u32 p, i, n;', '@p bra Next;',
        'Done:', 'shl.b32 at, t, 2;', 'mov.u32 up, words;', 'add.u32 at, at, up;', 'st.shared.u32 [at], x;', 'bar.sync 0;']
    span = WIDEST // 2
    while span:
        lines += level(span, operation, kept)
        span //= 2
    lines += ['setp.ne.u32 p, t, 0;', '@p exit;', 'setp.ge.u32 p, block, most;', '@p exit;', 'mul.wide.u32 from, block, 4;', 'add.u64 out, out, from;', 'ld.shared.u32 x, [words];', 'st.global.u32 [out], x;', 'ret;']
    body = ''.join(f'{line}\n' if line.endswith(':') else f'    {line}\n' for line in lines)
    return f'\n.visible .entry {name}(.param .u64 out_of_all, .param .u64 in_of_all, .param .u32 count, .param .u32 blocks)\n{{\n{body}}}\n'


def expected(kind, values, blocks, width, most):
    _, none, meaning = KINDS[kind]
    out = []
    for block in range(blocks):
        total = none
        for t in range(width):
            for i in range(block * width + t, len(values), blocks * width):
                total = meaning(total, values[i])
        out.append(total if block < most else 0)
    return out


# Name, kind, whether the value stays in a register, blocks, threads of each: a power of two, part of a warp, and neither.
KERNELS = [('tree_of_sums', 'add', False, 3, WIDEST), ('tree_of_maxima', 'max', True, 2, 16), ('tree_of_parities', 'xor', True, 4, 48)]


def write_ptx():
    text = HEAD + ''.join(entry(name, kind, kept) for name, kind, kept, _, _ in KERNELS)
    open(os.path.join(record.ROOT, FILE + '.ptx'), 'w').write(text)


random = Random(47)
for name, kind, _, blocks, width in KERNELS:
    values = [random.bits() for _ in range(COUNT)]
    out = expected(kind, values, blocks, width, blocks - 1)
    case(name, FILE, [blocks], [width], [Result('u32', out, [0] * blocks), Given('u32', values), Scalar('u32', COUNT), Scalar('u32', blocks - 1)])
