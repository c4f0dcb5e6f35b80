"""Kernels with more branches inside each other than the machine has convergence barriers."""
import os

import record
from record import Result, case

M32 = (1 << 32) - 1
THREADS = 64
CONDITIONS = 24
LOOPS = 20
HEAD = '// Written by tools/kernels/deep.py: more branches inside each other than there are convergence barriers.\n.version 8.6\n.target sm_90\n.address_size 64\n'
LAST = 'mad.wide.u32 address, t, 4, address;\nst.global.u32 [address], x;\nret;\n'
FIRST = '.reg .b64 address;\n.reg .pred p;\nld.param.u64 address, [out];\nmov.u32 t, %tid.x;\nmul.lo.u32 x, t, 40503;\n'


def entry(name, body):
    lines = ''.join(f'    {line}\n' for line in body.strip().split('\n'))
    return f'\n.visible .entry {name}(.param .u64 out)\n{{\n{lines}}}\n'


def conditions_text():
    """Each level lets the multiples of a number go by; behind it all of the level hear from the lowest of them."""
    masks = ', '.join(f'm{i}' for i in range(CONDITIONS + 1))
    text = f'.reg .b32 t, x, r, lane, {masks};\n' + FIRST + 'mov.u32 m0, 0xffffffff;\n'
    for i in range(CONDITIONS):
        text += f'rem.u32 r, t, {i + 2};\nsetp.ne.u32 p, r, 0;\nvote.sync.ballot.b32 m{i + 1}, p, m{i};\n@!p bra behind{i};\nmad.lo.u32 x, x, 3, {i};\n'
    for i in reversed(range(CONDITIONS)):
        text += f'behind{i}:\nbrev.b32 lane, m{i};\nclz.b32 lane, lane;\nshfl.sync.idx.b32 r, x, lane, 31, m{i};\nadd.u32 x, x, r;\n'
    return text + 'bar.warp.sync 0xffffffff;\nshfl.sync.bfly.b32 r, x, 1, 31, 0xffffffff;\nxor.b32 x, x, r;\n' + LAST


def conditions():
    """What the threads of both warps end with."""
    result = []
    for warp in range(THREADS // 32):
        threads = range(32 * warp, 32 * warp + 32)
        x = {t: t * 40503 & M32 for t in threads}
        levels = [list(threads)]
        for i in range(CONDITIONS):
            levels.append([t for t in levels[-1] if t % (i + 2)])
            for t in levels[-1]:
                x[t] = (x[t] * 3 + i) & M32
        for level in reversed(levels[:-1]):
            if level:
                told = x[level[0]]
                for t in level:
                    x[t] = (x[t] + told) & M32
        result += [x[t] ^ x[t ^ 1] for t in threads]
    return result


def loops_text():
    """Each thread runs every fifth loop twice, and the others once."""
    counters = ', '.join(f'n{i}' for i in range(LOOPS))
    text = f'.reg .b32 t, x, fifth, {counters};\n' + FIRST + 'rem.u32 fifth, t, 5;\n'
    for i in range(LOOPS):
        text += f'setp.eq.u32 p, fifth, {i % 5};\nselp.u32 n{i}, 2, 1, p;\nloop{i}:\nmad.lo.u32 x, x, 5, {i};\n'
    for i in reversed(range(LOOPS)):
        text += f'xor.b32 x, x, {i + 77};\nsub.u32 n{i}, n{i}, 1;\nsetp.ne.u32 p, n{i}, 0;\n@p bra loop{i};\n'
    return text + LAST


def loops(t, x, i=0):
    if i == LOOPS:
        return x
    for _ in range(2 if t % 5 == i % 5 else 1):
        x = loops(t, (x * 5 + i) & M32, i + 1) ^ (i + 77)
    return x


def write_ptx():
    """Writes the PTX of both kernels."""
    text = HEAD + entry('deep_conditions', conditions_text()) + entry('deep_loops', loops_text())
    open(os.path.join(record.ROOT, 'deep.ptx'), 'w').write(text)


case('deep_conditions', 'deep', [1], [THREADS], [Result('u32', conditions())])
case('deep_loops', 'deep', [1], [THREADS], [Result('u32', [loops(t, t * 40503 & M32) for t in range(THREADS)])])
