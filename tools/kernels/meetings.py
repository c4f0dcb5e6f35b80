"""Kernels in which lanes of one warp exchange from several places: two arms, nested arms, guards, functions, a way that ends early.
And those in which lanes of several masks exchange at one place."""
import os

import record
from record import Given, Random, Result, case

FILE = 'meetings'
# Chips before sm_80 have no reductions: the others have a file of their own, which they run.
OLD_FILE = 'meetings_old'
# Elections are for sm_90.
ELECT_FILE = 'meetings_elect'
HEAD = '// Written by tools/kernels/meetings.py: lanes that exchange from several places.\n.version 8.0\n.target {}\n.address_size 64\n'
LANES = 64
M32 = (1 << 32) - 1
r = Random(53)


def signed(word):
    return word - (1 << 32) if word >> 31 else word


def lanes_with(values, wanted):
    return sum(1 << lane for lane, value in values.items() if wanted(value))


def folded(act):
    def of(values, lane):
        result = None
        for value in values.values():
            result = value if result is None else act(result, value)
        return result & M32
    return of


def shuffled(source):
    def of(values, lane):
        other = source(lane)
        return values.get(other, 0)
    return of


def all_same(values, lane):
    return lanes_with(values, lambda _: True) if len(set(values.values())) == 1 else 0


# The exchange of v for the lanes of m, its result in w, and that result from the values of all lanes.
OLD = [
    ('shfl.sync.idx.b32 w, v, 3, 31, m;', shuffled(lambda lane: 3)),
    ('shfl.sync.bfly.b32 w|p, v, 5, 31, m; selp.b32 w, w, 77, p;', shuffled(lambda lane: lane ^ 5)),
    ('shfl.sync.up.b32 w|p, v, 9, 0, m; selp.b32 w, w, 77, p;', lambda values, lane: values[lane - 9] if lane >= 9 else 77),
    ('shfl.sync.down.b32 w|p, v, 4, 31, m; selp.b32 w, w, 77, p;', lambda values, lane: values[lane + 4] if lane + 4 < 32 else 77),
    ('and.b32 w, v, 4; setp.ne.u32 p, w, 0; vote.sync.ballot.b32 w, p, m;', lambda values, lane: lanes_with(values, lambda it: it & 4)),
    ('and.b32 w, v, 7; setp.ne.u32 p, w, 1; vote.sync.all.pred p, p, m; selp.b32 w, 5, 6, p;', lambda values, lane: 5 if all(it & 7 != 1 for it in values.values()) else 6),
    ('and.b32 w, v, 127; setp.eq.u32 p, w, 1; vote.sync.any.pred p, p, m; selp.b32 w, 5, 6, p;', lambda values, lane: 5 if any(it & 127 == 1 for it in values.values()) else 6),
    ('setp.ge.u32 p, v, 0; vote.sync.uni.pred p, p, m; selp.b32 w, 5, 6, p;', lambda values, lane: 5),
    ('and.b32 w, v, 3; match.any.sync.b32 w, w, m;', lambda values, lane: lanes_with(values, lambda it: it & 3 == values[lane] & 3)),
    ('and.b32 w, v, 3; mov.b64 d, {w, w}; match.any.sync.b64 w, d, m;', lambda values, lane: lanes_with(values, lambda it: it & 3 == values[lane] & 3)),
    ('and.b32 w, v, 128; match.all.sync.b32 w|p, w, m; selp.b32 w, w, 9, p;', lambda values, lane: all_same({k: v & 128 for k, v in values.items()}, lane) or 9),
    ('and.b32 w, v, 256; mov.b64 d, {w, w}; match.all.sync.b64 w|p, d, m; selp.b32 w, w, 9, p;', lambda values, lane: all_same({k: v & 256 for k, v in values.items()}, lane) or 9),
]
NEW = [
    ('redux.sync.add.s32 w, v, m;', folded(lambda a, b: a + b)),
    ('redux.sync.min.s32 w, v, m;', folded(lambda a, b: a if signed(a) < signed(b) else b)),
    ('redux.sync.max.u32 w, v, m;', folded(max)),
    ('redux.sync.xor.b32 w, v, m;', folded(lambda a, b: a ^ b)),
    ('redux.sync.and.b32 w, v, m;', folded(lambda a, b: a & b)),
    ('redux.sync.or.b32 w, v, m;', folded(lambda a, b: a | b)),
]
REGISTERS = ['.reg .b32 t, x, v, w, m, sum;', '.reg .b64 out, in, at, d;', '.reg .pred p, arm, takes, second;']
FIRST = ['ld.param.u64 out, [out_of_all];', 'ld.param.u64 in, [in_of_all];', 'mov.u32 t, %tid.x;', 'mad.wide.u32 at, t, 4, in;', 'ld.global.u32 x, [at];',
         'mad.wide.u32 at, t, 4, out;', 'mov.u32 sum, 0;']


def entry(name, lines):
    text = ''.join(f'{"" if line.endswith(":") else "    "}{line}\n' for line in REGISTERS + FIRST + lines + ['st.global.u32 [at], sum;', 'ret;'])
    return f'\n.visible .entry {name}(.param .u64 out_of_all, .param .u64 in_of_all)\n{{\n{text}}}\n'


def arm(ops, change, mask):
    """All exchanges in a row; each result counts by its place."""
    lines = [f'mov.u32 m, {mask};'] if mask else []
    for op, _ in ops:
        code = op.replace(', m;', f', {mask};') if mask else op
        lines += [f'{change};', code, 'mad.lo.u32 sum, sum, 31, w;']
    return lines


def arms_text(name, ops, mask):
    """Lanes with an odd word exchange in one arm, those with an even one in the other; lanes outside the mask in none."""
    lines = ['and.b32 v, x, 1;', 'setp.ne.u32 arm, v, 0;']
    if not mask:
        lines += ['and.b32 v, x, 24;', 'setp.ne.u32 takes, v, 0;', 'vote.sync.ballot.b32 m, takes, -1;', '@!takes bra both;']
    lines += ['@arm bra odd;'] + arm(ops, 'mul.lo.u32 v, x, 3', mask) + ['bra both;', 'odd:'] + arm(ops, 'xor.b32 v, x, 85', mask) + ['both:']
    return entry(name, lines)


def arms_sum(words, ops, masked):
    out = []
    for warp in range(0, LANES, 32):
        lanes = {lane: words[warp + lane] for lane in range(32) if not masked or words[warp + lane] & 24}
        values = {lane: (x ^ 85) if x & 1 else x * 3 & M32 for lane, x in lanes.items()}
        for lane in range(32):
            total = 0
            for _, result in ops if lane in lanes else []:
                total = (total * 31 + result(values, lane)) & M32
            out.append(total)
    return out


# In a function that lanes of one arm call, in the kernel for the others, and in another function in one lane of them.
FUNCTIONS = '''
.func (.param .b32 result) sum_of_all(.param .b32 value)
{
    .reg .b32 v, w;
    ld.param.b32 v, [value];
    shfl.sync.bfly.b32 w, v, 16, 31, -1;
    add.u32 v, v, w;
    shfl.sync.bfly.b32 w, v, 8, 31, -1;
    add.u32 v, v, w;
    shfl.sync.bfly.b32 w, v, 4, 31, -1;
    add.u32 v, v, w;
    shfl.sync.bfly.b32 w, v, 2, 31, -1;
    add.u32 v, v, w;
    shfl.sync.bfly.b32 w, v, 1, 31, -1;
    add.u32 v, v, w;
    st.param.b32 [result], v;
    ret;
}

.func (.param .b32 result) sum_of_all_too(.param .b32 value)
{
    .reg .b32 v, w, i;
    .reg .pred p;
    ld.param.b32 v, [value];
    mov.u32 i, 16;
again:
    shfl.sync.bfly.b32 w, v, i, 31, -1;
    add.u32 v, v, w;
    shr.u32 i, i, 1;
    setp.ne.u32 p, i, 0;
    @p bra again;
    st.param.b32 [result], v;
    ret;
}
'''


def called(function):
    return [f'{{ .param .b32 given, back; st.param.b32 [given], x; call (back), {function}, (given); ld.param.b32 sum, [back]; }}']


def calls_text():
    steps = [line for distance in (16, 8, 4, 2, 1) for line in (f'shfl.sync.bfly.b32 w, x, {distance}, 31, -1;', 'add.u32 x, x, w;')]
    lines = ['and.b32 v, x, 1;', 'setp.ne.u32 arm, v, 0;', 'and.b32 v, x, 2;', 'setp.ne.u32 second, v, 0;', '@arm bra odd;', '@second bra other;'] + steps + ['mov.u32 sum, x;', 'bra both;']
    lines += ['other:'] + called('sum_of_all_too') + ['bra both;', 'odd:'] + called('sum_of_all') + ['both:']
    return FUNCTIONS + entry('meetings_of_calls', lines)


def calls_sum(words):
    return [sum(words[warp:warp + 32]) & M32 for warp in range(0, LANES, 32) for _ in range(32)]


def ends_text():
    """One arm ends the threads; three arms; a result that nobody reads, though others read the word that the lane gives; a guard."""
    lines = ['and.b32 v, x, 3;', 'setp.eq.u32 arm, v, 0;', 'setp.eq.u32 second, v, 1;', '@arm bra zero;', '@second bra one;',
             'shfl.sync.idx.b32 w, x, 1, 31, -1;', 'mad.lo.u32 sum, w, 3, x;', 'shfl.sync.idx.b32 w, sum, 2, 31, -1;', 'add.u32 sum, sum, w;', 'bra both;',
             'one:', 'mul.lo.u32 v, x, 7;', 'shfl.sync.idx.b32 w, v, 1, 31, -1;', 'add.u32 v, v, 11;', 'shfl.sync.idx.b32 w, v, 2, 31, -1;', 'mov.u32 sum, v;', 'bra both;',
             'zero:', 'setp.lt.u32 takes, x, -1;', '@takes shfl.sync.idx.b32 w, x, 1, 31, -1;', '@takes add.u32 sum, w, 1;', 'shfl.sync.idx.b32 w, sum, 2, 31, -1;',
             'add.u32 sum, sum, w;', 'st.global.u32 [at], sum;', 'ret;', 'both:']
    return entry('meetings_of_ends', lines)


def ends_sum(words):
    out = []
    for warp in range(0, LANES, 32):
        xs = words[warp:warp + 32]
        first = [x * 7 & M32 if x & 3 == 1 else x for x in xs][1]
        sums = [first + 1 if x & 3 == 0 else x * 7 + 11 if x & 3 == 1 else first * 3 + x for x in xs]
        second = sums[2]
        out += [(s if x & 3 == 1 else s + second) & M32 for x, s in zip(xs, sums)]
    return out


# Exchanges that are one instruction each, of the value of a name.
SINGLE = [
    ('shfl.sync.idx.b32 w, {}, 3, 31, -1;', OLD[0][1]),
    ('shfl.sync.bfly.b32 w, {}, 5, 31, -1;', shuffled(lambda lane: lane ^ 5)),
    ('match.any.sync.b32 w, {}, -1;', lambda values, lane: lanes_with(values, lambda it: it == values[lane])),
]


def guards_text():
    """Two and three exchanges in a row, each under another guard; code between them, and a guard that changes there."""
    lines = ['and.b32 x, x, 15;', 'and.b32 v, x, 3;', 'setp.eq.u32 arm, v, 0;', 'setp.eq.u32 second, v, 1;', 'setp.gt.u32 takes, v, 1;']
    for op, _ in SINGLE:
        lines += ['@arm ' + op.format('x'), 'add.u32 v, x, 1;', '@!arm ' + op.format('v'), 'mad.lo.u32 sum, sum, 31, w;']
        lines += ['add.u32 v, x, 1;', '@arm ' + op.format('x'), '@second ' + op.format('v'), 'add.u32 v, v, 1;', '@takes ' + op.format('v'), 'mad.lo.u32 sum, sum, 31, w;']
        lines += ['@second ' + op.format('x'), 'add.u32 v, x, 1;', 'not.pred p, second;', 'xor.pred second, second, p;', '@p ' + op.format('v'),
                  '@second add.u32 w, w, 1;', 'not.pred second, p;', 'mad.lo.u32 sum, sum, 31, w;']
    return entry('meetings_of_guards', lines)


def guards_sum(words):
    out = []
    for warp in range(0, LANES, 32):
        xs = [x & 15 for x in words[warp:warp + 32]]
        kinds = [x & 3 for x in xs]
        two = {lane: x if kind == 0 else x + 1 for lane, (x, kind) in enumerate(zip(xs, kinds))}
        three = {lane: x + min(kind, 2) for lane, (x, kind) in enumerate(zip(xs, kinds))}
        changed = {lane: x if kind == 1 else x + 1 for lane, (x, kind) in enumerate(zip(xs, kinds))}
        for lane in range(32):
            total = 0
            for _, result in SINGLE:
                for values, more in ((two, 0), (three, 0), (changed, 1)):
                    total = (total * 31 + result(values, lane) + more) & M32
            out.append(total)
    return out


# The two halves of a warp, each with a mask of its own, execute an exchange at once.
HALVES = [
    OLD[1],
    OLD[4],
    OLD[8],
    OLD[9],
    ('and.b32 w, t, 16; setp.ne.u32 p, w, 0; vote.sync.all.pred p, p, m; selp.b32 w, 5, 6, p;', lambda values, lane: 5 if lane & 16 else 6),
    ('and.b32 w, t, 16; setp.eq.u32 p, w, 0; vote.sync.any.pred p, p, m; selp.b32 w, 5, 6, p;', lambda values, lane: 6 if lane & 16 else 5),
    ('and.b32 w, t, 16; setp.ne.u32 p, w, 0; vote.sync.uni.pred p, p, m; selp.b32 w, 5, 6, p;', lambda values, lane: 5),
    ('and.b32 w, t, 31; setp.ne.u32 p, w, 17; vote.sync.uni.pred p, p, m; selp.b32 w, 5, 6, p;', lambda values, lane: 6 if lane & 16 else 5),
    ('and.b32 w, t, 16; match.all.sync.b32 w|p, w, m; selp.b32 w, w, 9, p;', lambda values, lane: lanes_with(values, lambda _: True)),
    ('and.b32 w, t, 1; match.all.sync.b32 w|p, w, m; selp.b32 w, 9, w, p;', lambda values, lane: 0),
]
ELECTIONS = [('elect.sync w|p, m; selp.b32 v, 1, 0, p; mad.lo.u32 w, w, 2, v;', lambda values, lane: min(values) * 2 + (lane == min(values)))]


def halves_text(name, ops):
    lines = ['and.b32 v, t, 16;', 'setp.ne.u32 arm, v, 0;', 'selp.b32 m, 0xffff0000, 0xffff, arm;']
    return entry(name, lines + arm(ops, 'mul.lo.u32 v, x, 3', None))


def halves_sum(words, ops):
    out = []
    for warp in range(0, LANES, 32):
        values = {lane: words[warp + lane] * 3 & M32 for lane in range(32)}
        halves = [{lane: values[lane] for lane in range(half, half + 16)} for half in (0, 16)]
        for lane in range(32):
            total = 0
            for _, result in ops:
                total = (total * 31 + result(halves[lane >> 4], lane)) & M32
            out.append(total)
    return out


def write_ptx():
    new = HEAD.format('sm_80') + arms_text('meetings_of_reductions', NEW, '-1') + arms_text('meetings_of_reductions_by_mask', NEW, None) + halves_text('meetings_of_halves_reduced', NEW)
    old = HEAD.format('sm_80') + arms_text('meetings_of_arms', OLD, '-1') + arms_text('meetings_of_arms_by_mask', OLD[4:], None) + calls_text() + ends_text() + guards_text() + halves_text('meetings_of_halves', HALVES)
    elect = HEAD.format('sm_90') + halves_text('meetings_of_halves_elect', ELECTIONS)
    open(os.path.join(record.ROOT, FILE + '.ptx'), 'w').write(new)
    open(os.path.join(record.ROOT, OLD_FILE + '.ptx'), 'w').write(old)
    open(os.path.join(record.ROOT, ELECT_FILE + '.ptx'), 'w').write(elect)


WORDS = [r.bits(32) for _ in range(LANES)]


def meeting(name, file, out):
    case(name, file, [1], [LANES], [Result('u32', out), Given('u32', WORDS)])


meeting('meetings_of_reductions', FILE, arms_sum(WORDS, NEW, False))
meeting('meetings_of_reductions_by_mask', FILE, arms_sum(WORDS, NEW, True))
meeting('meetings_of_arms', OLD_FILE, arms_sum(WORDS, OLD, False))
meeting('meetings_of_arms_by_mask', OLD_FILE, arms_sum(WORDS, OLD[4:], True))
meeting('meetings_of_calls', OLD_FILE, calls_sum(WORDS))
meeting('meetings_of_ends', OLD_FILE, ends_sum(WORDS))
meeting('meetings_of_guards', OLD_FILE, guards_sum(WORDS))
meeting('meetings_of_halves', OLD_FILE, halves_sum(WORDS, HALVES))
meeting('meetings_of_halves_reduced', FILE, halves_sum(WORDS, NEW))
meeting('meetings_of_halves_elect', ELECT_FILE, halves_sum(WORDS, ELECTIONS))
