"""Kernels whose threads update a few places of memory together: all lanes of a warp one counter, with and without a guard, in full warps and
in part of one. What threads read of a counter is checked whatever their order: they mark what they were given."""
import os

import record
from record import Result, Scalar, case, wrap

FILE = 'counters'
HEAD = '// Written by tools/kernels/counters.py: lanes of a warp that update one place of memory.\n.version 8.0\n.target sm_80\n.address_size 64\n'
M32, M64 = (1 << 32) - 1, (1 << 64) - 1
THREADS, BLOCKS, STEP = 80, 2, 3
# The threads of a launch, by the block and the number in it.
ALL = [(block, t) for block in range(BLOCKS) for t in range(THREADS)]
REGISTERS = '.reg .b32 t, v, n, m, own;\n.reg .b64 at, memory, w, wide, marks, mark;\n.reg .pred p, q, more;\n'
# What a thread holds in `v`: values all over the range.
SPREAD = 2654435761


def varying(t):
    return (t + 1) * SPREAD & M32


# Updates whose old value nobody reads: operation, type, operand, and the operand in Python. `n` is the scalar argument.
def single_forms():
    forms = []
    for ty in ('u32', 's32'):
        forms += [('add', ty, '1', lambda t, n: 1), ('add', ty, '-7', lambda t, n: -7), ('add', ty, 'n', lambda t, n: n), ('add', ty, 'v', lambda t, n: varying(t))]
        for op in ('min', 'max'):
            forms += [(op, ty, 'v', lambda t, n: varying(t)), (op, ty, 'n', lambda t, n: n), (op, ty, 't', lambda t, n: t)]
    for op in ('and', 'or', 'xor'):
        forms += [(op, 'b32', 'v', lambda t, n: varying(t)), (op, 'b32', 'n', lambda t, n: n)]
    forms += [('inc', 'u32', '0xffffffff', lambda t, n: M32), ('inc', 'u32', '50', lambda t, n: 50), ('dec', 'u32', '9', lambda t, n: 9)]
    for ty in ('u64', 's64'):
        forms += [(op, ty, 'wide', lambda t, n: n << 32 | n) for op in ('min', 'max')]
    forms += [('add', 'u64', '1', lambda t, n: 1), ('add', 'u64', 'wide', lambda t, n: n << 32 | n), ('add', 'u64', 'w', lambda t, n: varying(t) << 8)]
    forms += [(op, 'b64', 'wide', lambda t, n: n << 32 | n) for op in ('and', 'or', 'xor')]
    return forms


def apply(op, ty, old, value):
    kind = ty.replace('b', 'u')
    bits = int(ty[1:])
    a, b = wrap(kind, old), wrap(kind, value)
    new = {
        'add': lambda: a + b, 'min': lambda: min(a, b), 'max': lambda: max(a, b), 'and': lambda: a & b, 'or': lambda: a | b, 'xor': lambda: a ^ b,
        'inc': lambda: 0 if a >= b else a + 1, 'dec': lambda: b if a == 0 or a > b else a - 1,
    }[op]()
    return new & ((1 << bits) - 1)


def entry(name, parameters, body):
    lines = ''.join(f'    {line}\n' if not line.endswith(':') else f'{line}\n' for line in (REGISTERS + body).strip().split('\n'))
    return f'\n.visible .entry {name}({parameters})\n{{\n{lines}}}\n'


FIRST = 'ld.param.u64 memory, [out];\nld.param.u32 n, [n_of_all];\nmov.u32 t, %tid.x;\nadd.u32 v, t, 1;\nmul.lo.u32 v, v, 2654435761;\nmov.b64 wide, {n, n};\ncvt.u64.u32 w, v;\nshl.b64 w, w, 8;\n'
PARAMETERS = '.param .u64 out, .param .u32 n_of_all'

# Where a group of forms is: all threads, under a guard, on both sides of a branch, and in a loop that threads leave at different times.
PLACES = [('', lambda t: 1), ('@p ', lambda t: int(t % 5 == 0)), ('@!q ', lambda t: int(t >= 40))]


def singles_text(space):
    """Each form at each place has a counter of eight bytes."""
    text = FIRST + 'rem.u32 m, t, 5;\nsetp.eq.u32 p, m, 0;\nsetp.lt.u32 q, t, 40;\n'
    base = 'memory'
    if space == 'shared':
        text = f'.shared .align 8 .b8 counters[{8 * len(PLACES) * len(single_forms())}];\n' + text + 'mov.u64 at, counters;\n' + clear() + 'bar.sync 0;\n'
        base = 'at'
    elif space == 'generic':
        text += 'cvta.global.u64 memory, memory;\n'
    where = '' if space == 'generic' else '.' + space
    at = 0
    for guard, _ in PLACES:
        for op, ty, value, _ in single_forms():
            text += f'{guard}red{where}.{op}.{ty} [{base}+{at}], {value};\n'
            at += 8
    if space == 'shared':
        text += 'bar.sync 0;\n' + copy()
    return text + 'ret;\n'


def loop(name, body):
    size = 8 * len(PLACES) * len(single_forms())
    return f'mov.u32 own, t;\n{name}:\nmul.wide.u32 mark, own, 8;\n{body}add.u32 own, own, {THREADS};\nsetp.lt.u32 more, own, {size // 8};\n@more bra {name};\n'


def clear():
    return loop('Clear', 'add.u64 mark, mark, at;\nst.shared.u64 [mark], 0;\n')


def copy():
    """The counters of the first block alone: two blocks would write different ones."""
    return loop('Copy', 'add.u64 marks, mark, memory;\nadd.u64 mark, mark, at;\nld.shared.u64 wide, [mark];\nst.global.u64 [marks], wide;\n')


def singles(blocks, n):
    counters = []
    for _, takes in PLACES:
        for op, ty, _, value in single_forms():
            counter = 0
            for _, t in [(block, t) for block in range(blocks) for t in range(THREADS)]:
                for _ in range(takes(t)):
                    counter = apply(op, ty, counter, value(t, n))
            counters.append(counter)
    return counters


# Updates whose old value each thread marks: type, operand, where, who, and how much each adds.
TICKETS = [
    ('u32', '1', '', lambda t: 1, lambda t: 1),
    ('u32', f'{STEP}', '', lambda t: 1, lambda t: STEP),
    ('u32', 'n', '', lambda t: 1, lambda t: None),
    ('u32', 'm', '', lambda t: 1, lambda t: t % 3),
    ('u32', '1', '@p ', lambda t: int(t % 3 == 0), lambda t: 1),
    ('u32', 'm', '@!q ', lambda t: int(t >= 40), lambda t: t % 3),
    ('u64', '1', '', lambda t: 1, lambda t: 1),
    ('u64', 'n', '@p ', lambda t: int(t % 3 == 0), lambda t: None),
]


def tickets_text(space):
    """A thread that is given the numbers from `own` on adds one to the mark of each."""
    where = '.shared' if space == 'shared' else '.global'
    text = FIRST + 'ld.param.u64 marks, [marks_of_all];\nrem.u32 m, t, 3;\nsetp.eq.u32 p, m, 0;\nsetp.lt.u32 q, t, 40;\n'
    base = 'memory'
    if space == 'shared':
        text = f'.shared .align 8 .b8 tickets[{8 * len(TICKETS)}];\n' + text
        for number in range(len(TICKETS)):
            text += f'st.shared.u64 [tickets+{8 * number}], 0;\n'
        text += 'bar.sync 0;\n'
        base = 'tickets'
    for number, (ty, value, guard, _, _) in enumerate(TICKETS):
        first = 'own' if ty == 'u32' else 'w'
        operand = value if ty == 'u32' or value == '1' else 'wide'
        if operand == 'wide':
            text += 'cvt.u64.u32 wide, n;\n'
        text += f'mov.u32 own, 0x7fffffff;\nmov.u64 w, 0x7fffffff;\n{guard}atom{where}.add.{ty} {first}, [{base}+{8 * number}], {operand};\n'
        if ty == 'u64':
            text += 'cvt.u32.u64 own, w;\n'
        text += f'setp.lt.u32 more, own, {MARKS};\nmul.wide.u32 mark, own, 4;\nadd.u64 mark, mark, marks;\n'
        for offset in range(2 if value == 'm' else 1):
            test = 'more'
            if value == 'm':
                text += f'setp.gt.and.u32 q, m, {offset}, more;\n'
                test = 'q'
            text += f'@{test} red.global.add.u32 [mark+{4 * (MARKS * number + offset)}], 1;\n'
        text += 'setp.lt.u32 q, t, 40;\n'
    return text + 'ret;\n'


MARKS = 512


def tickets(blocks, n):
    marks, totals = [0] * (MARKS * len(TICKETS)), []
    for number, (_, value, _, takes, step) in enumerate(TICKETS):
        total = 0
        for _, t in [(block, t) for block in range(blocks) for t in range(THREADS)]:
            if not takes(t):
                continue
            width = n if step(t) is None else step(t)
            for place in range(total, total + (width if value == 'm' else 1)):
                marks[MARKS * number + place] += 1
            total += width
        totals.append(total)
    return marks, totals


PARTED = '''
    // Threads come and go: each leaves the loop after as many rounds as its number says, and some of them skip the counter.
    mov.u32 own, 0;
Round:
    and.b32 m, own, 1;
    setp.eq.u32 p, m, 0;
    and.b32 m, t, 4;
    setp.eq.u32 q, m, 0;
    @q bra Other;
    red.global.add.u32 [memory], 1;
    @p red.global.max.u32 [memory+4], t;
    bra Next;
Other:
    atom.global.add.u32 m, [memory+8], 2;
    red.global.xor.b32 [memory+12], m;
    red.global.add.u32 [memory+16], own;
Next:
    add.u32 own, own, 1;
    setp.le.u32 more, own, t;
    @more bra Round;
    // One thread of the block, by a test that shows it, and by one that does not.
    setp.ne.u32 p, t, 5;
    @p bra Rest;
    red.global.add.u32 [memory+20], n;
Rest:
    setp.gt.u32 p, t, 0;
    @p exit;
    red.global.add.u32 [memory+24], n;
    ret;
'''


def parted(blocks, n):
    out = [0] * 7
    marks = []
    for _, t in [(block, t) for block in range(blocks) for t in range(THREADS)]:
        for own in range(t + 1):
            if t & 4:
                out[0] += 1
                if own % 2 == 0:
                    out[1] = max(out[1], t)
            else:
                marks.append(out[2])
                out[2] += 2
                out[4] += own
    for mark in marks:
        out[3] ^= mark
    out[5] = out[6] = n * blocks
    return [x & M32 for x in out]


def write_ptx():
    text = HEAD
    for space in ('global', 'shared', 'generic'):
        text += entry(f'counters_{space}', PARAMETERS, singles_text(space))
    for space in ('global', 'shared'):
        text += entry(f'tickets_{space}', PARAMETERS + ', .param .u64 marks_of_all', tickets_text(space))
    text += entry('counters_parted', PARAMETERS, FIRST + PARTED)
    open(os.path.join(record.ROOT, FILE + '.ptx'), 'w').write(text)


N = 5
for space in ('global', 'shared', 'generic'):
    # An odd number of blocks, so that what each of them flips does not come back.
    blocks = 1 if space == 'shared' else 3
    after = singles(blocks, 0x80000005)
    case(f'counters_{space}', FILE, [blocks], [THREADS], [Result('u64', after, [0] * len(after)), Scalar('u32', 0x80000005)])
for space in ('global', 'shared'):
    blocks = 1 if space == 'shared' else BLOCKS
    # Where a thread adds more than it marks, the marks are apart.
    marks, totals = tickets(blocks, N if blocks == 1 else 3)
    arguments = [Result('u64', totals if space == 'global' else [0] * len(TICKETS), [0] * len(TICKETS)), Scalar('u32', N if blocks == 1 else 3), Result('u32', marks, [0] * len(marks))]
    case(f'tickets_{space}', FILE, [blocks], [THREADS], arguments)
case('counters_parted', FILE, [BLOCKS], [THREADS], [Result('u32', parted(BLOCKS, N), [0] * 7), Scalar('u32', N)])
