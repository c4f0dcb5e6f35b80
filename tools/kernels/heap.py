"""Kernels that call what the driver provides: the heap, printing, assertions. Many values of all kinds live across the calls.

Nothing here rests on what fresh memory holds."""
import os

import record
from record import Given, Random, Result, Scalar, case

FILE = 'heap'
LANES = 64
BLOCKS = 2
# Words that each lane keeps across calls, and predicates.
KEPT = 36
PREDICATES = 5
ROUNDS = 3
M32 = (1 << 32) - 1


def string(name, text):
    data = ', '.join(str(letter) for letter in text.encode() + b'\0')
    return f'.global .align 1 .b8 {name}[{len(text) + 1}] = {{{data}}};\n'


HEAD = '''// Written by tools/kernels/heap.py: the heap, printing, assertions.
.version 8.0
.target sm_90
.address_size 64

.extern .func (.param .b32 count) vprintf(.param .b64 format, .param .b64 values);
.extern .func (.param .b64 address) malloc(.param .b64 bytes);
.extern .func free(.param .b64 address);
.extern .func __assertfail(.param .b64 message, .param .b64 file, .param .b32 line, .param .b64 function, .param .b64 size);
''' + string('round_text', 'round %d: %s has %8.3f, %llx and %%%*d\n') + string('lane_text', 'a lane') + string('message', 'pointer != 0') + string('file', 'heap.py') + string('function', 'heap')

# A round takes six values: four by their letters, of which the string's is read too, and one with its width.
TAKEN = 6

NEIGHBOURS = '''
// Each lane takes memory, writes to it, reads its neighbour's, gives its own back; some print.
.visible .entry heap_neighbours(.param .u64 from, .param .u64 to, .param .u64 printed, .param .u32 first, .param .u32 second)
{
    .reg .b32 t, g, a, b, u, w, n, m, i, r, s, x, count, total, v<%(kept)d>;
    .reg .u64 own, other, at, bytes, base;
    .reg .f64 d;
    .reg .pred p, some, up, q<%(predicates)d>;
    .shared .align 8 .b64 slots[%(lanes)d];
    .local .align 8 .b8 values[48];
    ld.param.u32 a, [first];
    ld.param.u32 b, [second];
    mov.u32 t, %%tid.x;
    mov.u32 x, %%ctaid.x;
    mad.lo.u32 g, x, %(lanes)d, t;
    mad.lo.u32 u, a, b, x;
    xor.b32 w, a, 12345;
    setp.lt.u32 up, a, b;
    ld.param.u64 base, [from];
    mad.wide.u32 base, g, 4, base;
%(load)s    mov.u32 total, 0;
    mov.u32 s, 0;
    mov.u32 r, 0;
round:
    .pragma "nounroll";
    add.u32 x, t, r;
    and.b32 n, x, 3;
    add.u32 n, n, 2;
    add.u32 x, x, 1;
    and.b32 m, x, 3;
    add.u32 m, m, 2;
    mul.wide.u32 bytes, n, 4;
    {
        .param .b64 address;
        .param .b64 wanted;
        st.param.b64 [wanted], bytes;
        call (address), malloc, (wanted);
        ld.param.b64 own, [address];
    }
    setp.ne.u64 p, own, 0;
    @p bra given;
    {
        .param .b64 a0;
        .param .b64 a1;
        .param .b32 a2;
        .param .b64 a3;
        .param .b64 a4;
        mov.u64 at, message;
        cvta.global.u64 at, at;
        st.param.b64 [a0], at;
        mov.u64 at, file;
        cvta.global.u64 at, at;
        st.param.b64 [a1], at;
        st.param.b32 [a2], 7;
        mov.u64 at, function;
        cvta.global.u64 at, at;
        st.param.b64 [a3], at;
        st.param.b64 [a4], 1;
        call __assertfail, (a0, a1, a2, a3, a4);
    }
given:
    mov.u32 i, 0;
fill:
    mad.wide.u32 at, i, 4, own;
    mad.lo.u32 x, i, u, v0;
    add.u32 x, x, r;
    st.u32 [at], x;
    add.u32 i, i, 1;
    setp.lt.u32 p, i, n;
    @p bra fill;
    mov.u64 at, slots;
    cvta.shared.u64 at, at;
    mad.wide.u32 bytes, t, 8, at;
    st.u64 [bytes], own;
    bar.sync 0;
    add.u32 x, t, 1;
    and.b32 x, x, %(last)d;
    mad.wide.u32 bytes, x, 8, at;
    ld.u64 other, [bytes];
    mov.u32 i, 0;
add_up:
    mad.wide.u32 at, i, 4, other;
    ld.u32 x, [at];
    mad.lo.u32 s, s, 3, x;
    add.u32 i, i, 1;
    setp.lt.u32 p, i, m;
    @p bra add_up;
    bar.sync 0;
    {
        .param .b64 address;
        st.param.b64 [address], own;
        call free, (address);
    }
    add.u32 x, r, 5;
    setp.lt.u32 some, t, x;
    @!some bra silent;
    st.local.u32 [values], r;
    mov.u64 at, lane_text;
    cvta.global.u64 at, at;
    st.local.u64 [values+8], at;
    cvt.rn.f64.u32 d, s;
    st.local.f64 [values+16], d;
    st.local.u64 [values+24], own;
    st.local.u32 [values+32], 6;
    st.local.u32 [values+36], t;
    {
        .param .b32 taken;
        .param .b64 format;
        .param .b64 list;
        mov.u64 at, round_text;
        cvta.global.u64 at, at;
        st.param.b64 [format], at;
        mov.u64 at, values;
        cvta.local.u64 at, at;
        st.param.b64 [list], at;
        call (taken), vprintf, (format, list);
        ld.param.b32 count, [taken];
    }
    mad.lo.u32 total, total, 10, count;
silent:
%(mix)s    add.u32 r, r, 1;
    setp.lt.u32 p, r, %(rounds)d;
    @p bra round;
    mov.u32 x, s;
%(fold)s    ld.param.u64 base, [to];
    mad.wide.u32 base, g, 4, base;
    st.global.u32 [base], x;
    ld.param.u64 base, [printed];
    mad.wide.u32 base, g, 4, base;
    st.global.u32 [base], total;
    ret;
}
'''

LISTS = '''
// A new head of a list: its value and the rest.
.visible .func (.param .b64 head) push(.param .b64 rest, .param .b32 given)
{
    .reg .u64 next, node, twice;
    .reg .b32 x, y;
    ld.param.b64 next, [rest];
    ld.param.b32 x, [given];
    mul.hi.u32 y, x, x;
    shl.b64 twice, next, 1;
    {
        .param .b64 address;
        .param .b64 wanted;
        st.param.b64 [wanted], 32;
        call (address), malloc, (wanted);
        ld.param.b64 node, [address];
    }
    st.u64 [node], next;
    st.u32 [node+8], x;
    st.u32 [node+12], y;
    st.u64 [node+16], twice;
    st.param.b64 [head], node;
    ret;
}

// Gives a list back, the last node first, and tells how long it was.
.visible .func (.param .b32 length) tear_down(.param .b64 head)
{
    .reg .u64 node, next;
    .reg .b32 n;
    .reg .pred p;
    ld.param.b64 node, [head];
    mov.u32 n, 0;
    setp.eq.u64 p, node, 0;
    @p bra none;
    ld.u64 next, [node];
    {
        .param .b32 below;
        .param .b64 rest;
        st.param.b64 [rest], next;
        call (below), tear_down, (rest);
        ld.param.b32 n, [below];
    }
    {
        .param .b64 address;
        st.param.b64 [address], node;
        call free, (address);
    }
    add.u32 n, n, 1;
none:
    st.param.b32 [length], n;
    ret;
}

// Each lane makes a list of its own length, one node more where a guard holds, and walks it.
.visible .entry heap_lists(.param .u64 from, .param .u64 to)
{
    .reg .b32 t, n, i, x, sum, scale;
    .reg .u64 head, at, base, twice;
    .reg .pred p, odd, wrong;
    mov.u32 t, %tid.x;
    mov.u32 scale, %ntid.x;
    mad.lo.u32 scale, scale, 5, 2;
    ld.param.u64 base, [from];
    mad.wide.u32 base, t, 4, base;
    ld.global.u32 x, [base];
    and.b32 n, x, 7;
    and.b32 i, x, 8;
    setp.ne.u32 odd, i, 0;
    mov.u64 head, 0;
    mov.u32 i, 0;
grow:
    setp.ge.u32 p, i, n;
    @p bra grown;
    {
        .param .b64 longer;
        .param .b64 rest;
        .param .b32 given;
        st.param.b64 [rest], head;
        mad.lo.u32 sum, x, scale, i;
        st.param.b32 [given], sum;
        call (longer), push, (rest, given);
        ld.param.b64 head, [longer];
    }
    add.u32 i, i, 1;
    bra grow;
grown:
    {
        .param .b64 longer;
        .param .b64 rest;
        .param .b32 given;
        st.param.b64 [rest], head;
        st.param.b32 [given], 1000;
        @odd call (longer), push, (rest, given);
        ld.param.b64 at, [longer];
    }
    selp.b64 head, at, head, odd;
    mov.u64 at, head;
    mov.u32 sum, 0;
walk:
    setp.eq.u64 p, at, 0;
    @p bra walked;
    ld.u32 i, [at+8];
    mad.lo.u32 sum, sum, 3, i;
    ld.u32 i, [at+12];
    xor.b32 sum, sum, i;
    ld.u64 twice, [at+16];
    ld.u64 at, [at];
    shr.u64 twice, twice, 1;
    setp.ne.u64 wrong, twice, at;
    @wrong add.u32 sum, sum, 1;
    bra walk;
walked:
    {
        .param .b32 length;
        .param .b64 list;
        st.param.b64 [list], head;
        call (length), tear_down, (list);
        ld.param.b32 n, [length];
    }
    // As much as no heap has.
    {
        .param .b64 address;
        .param .b64 wanted;
        st.param.b64 [wanted], 0x10000000000;
        call (address), malloc, (wanted);
        ld.param.b64 at, [address];
    }
    setp.ne.u64 wrong, at, 0;
    @wrong add.u32 n, n, 100;
    {
        .param .b64 address;
        st.param.b64 [address], at;
        call free, (address);
    }
    mad.lo.u32 sum, n, scale, sum;
    ld.param.u64 base, [to];
    mad.wide.u32 base, t, 4, base;
    st.global.u32 [base], sum;
    ret;
}
'''


def text():
    line = lambda text: '    ' + text + '\n'
    load = ''.join(line(f'ld.global.u32 v{k}, [base+{4 * LANES * BLOCKS * k}];') for k in range(KEPT))
    for k in range(PREDICATES):
        load += line(f'and.b32 x, v{k}, 1;') + line(f'setp.ne.u32 q{k}, x, 0;')
    mix = line('selp.b32 x, u, w, up;') + line('add.u32 s, s, x;')
    for k in range(PREDICATES):
        mix += line(f'selp.b32 x, {k + 3}, u, q{k};') + line('xor.b32 s, s, x;')
    mix += ''.join(line(f'mad.lo.u32 v{k}, v{k}, {2 * k + 3}, s;') for k in range(KEPT))
    fold = ''.join(line(f'mad.lo.u32 x, x, 5, v{k};') for k in range(KEPT))
    names = dict(kept=KEPT, predicates=PREDICATES, lanes=LANES, last=LANES - 1, rounds=ROUNDS, load=load, mix=mix, fold=fold)
    return HEAD + NEIGHBOURS % names + LISTS


def neighbours(data, a, b):
    """What each lane leaves, and what it printed."""
    results, printed = [], []
    for block in range(BLOCKS):
        u, w = a * b + block & M32, a ^ 12345
        lanes = [[data[k * LANES * BLOCKS + block * LANES + t] for k in range(KEPT)] for t in range(LANES)]
        holds = [[v & 1 for v in lane[:PREDICATES]] for lane in lanes]
        sums, totals = [0] * LANES, [0] * LANES
        for r in range(ROUNDS):
            given = [[lane[0] + i * u + r & M32 for i in range((t + r & 3) + 2)] for t, lane in enumerate(lanes)]
            for t, lane in enumerate(lanes):
                s = sums[t]
                for x in given[(t + 1) % LANES]:
                    s = s * 3 + x & M32
                if t < r + 5:
                    totals[t] = totals[t] * 10 + TAKEN
                s = s + (u if a < b else w) & M32
                for k in range(PREDICATES):
                    s ^= k + 3 if holds[t][k] else u
                sums[t] = s
                for k in range(KEPT):
                    lane[k] = lane[k] * (2 * k + 3) + s & M32
        for t, lane in enumerate(lanes):
            x = sums[t]
            for v in lane:
                x = x * 5 + v & M32
            results.append(x)
        printed += totals
    return results, printed


def lists(data):
    scale, results = LANES * 5 + 2, []
    for x in data:
        n = x & 7
        values = [x * scale + i & M32 for i in range(n)] + ([1000] if x & 8 else [])
        total = 0
        for value in values[::-1]:
            total = (total * 3 + value & M32) ^ value * value >> 32
        results.append(len(values) * scale + total & M32)
    return results


def write_ptx():
    with open(os.path.join(record.ROOT, FILE + '.ptx'), 'w') as file:
        file.write(text())


r = Random(47)
data = [r.bits() for _ in range(KEPT * LANES * BLOCKS)]
results, printed = neighbours(data, 77, 4099)
case('heap_neighbours', FILE, [BLOCKS], [LANES], [Given('u32', data), Result('u32', results), Result('u32', printed), Scalar('u32', 77), Scalar('u32', 4099)])
data = [r.bits() for _ in range(LANES)]
case('heap_lists', FILE, [1], [LANES], [Given('u32', data), Result('u32', lists(data))])
