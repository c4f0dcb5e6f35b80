"""A kernel of which one part gives registers back and another one takes more."""
import os

import record
from record import Given, Random, Result, case

VALUES = 150
ROUNDS = 3

HEAD = '''// Written by tools/kernels/grants.py: half of the warps give registers back, the other half takes more than it started with.
.version 8.0
.target sm_90a
.address_size 64

.visible .entry grants(.param .u64 from, .param .u64 to)
    .maxntid 256, 1, 1 .minnctapersm 2
{
    .reg .pred p, q;
    .reg .b32 t, x, y, i, at, bar;
    .reg .b64 g, own;
    .reg .b32 v<%d>;
    .shared .align 16 .b32 tile[128];
    .shared .align 8 .b64 full;
    .shared .align 8 .b64 empty;
    mov.u32 t, %%tid.x;
    ld.param.u64 g, [from];
    setp.eq.u32 p, t, 0;
    @p mbarrier.init.shared::cta.b64 [full], 128;
    @p mbarrier.init.shared::cta.b64 [empty], 128;
    bar.sync 0;
    and.b32 x, t, 127;
    mov.u32 at, tile;
    mad.lo.u32 at, x, 4, at;
    setp.lt.u32 q, t, 128;
    mov.u32 i, 0;
    @!q bra many;
    setmaxnreg.dec.sync.aligned.u32 40;
    mad.wide.u32 own, x, 4, g;
copy:
    ld.global.u32 y, [own];
    add.u64 own, own, 512;
    st.shared.u32 [at], y;
    mbarrier.arrive.shared::cta.b64 _, [full];
    and.b32 y, i, 1;
taken:
    mbarrier.try_wait.parity.shared::cta.b64 p, [empty], y;
    @!p bra taken;
    add.u32 i, i, 1;
    setp.lt.u32 p, i, %d;
    @p bra copy;
    bra done;
many:
    setmaxnreg.inc.sync.aligned.u32 208;
'''

TAIL = '''    ld.param.u64 own, [to];
    mad.wide.u32 own, x, 4, own;
    st.global.u32 [own], y;
done:
    ret;
}
'''


def text():
    lines = [HEAD % (VALUES, ROUNDS)]
    add = lambda line: lines.append('    ' + line + '\n')
    for i in range(VALUES):
        add(f'add.u32 v{i}, x, {i * 17 + 1};')
    lines.append('again:\n')
    add('and.b32 y, i, 1;')
    lines.append('filled:\n')
    add('mbarrier.try_wait.parity.shared::cta.b64 p, [full], y;')
    add('@!p bra filled;')
    add('ld.shared.u32 y, [at];')
    add('mbarrier.arrive.shared::cta.b64 _, [empty];')
    for i in range(VALUES):
        add(f'mad.lo.u32 v{i}, v{i}, {2 * i + 3}, y;')
        add(f'xor.b32 y, y, v{i};')
    add('add.u32 i, i, 1;')
    add(f'setp.lt.u32 p, i, {ROUNDS};')
    add('@p bra again;')
    add('mov.u32 y, 0;')
    for i in range(VALUES):
        add(f'mad.lo.u32 y, y, 5, v{i};')
    lines.append(TAIL)
    return ''.join(lines)


def write_ptx():
    with open(os.path.join(record.ROOT, 'grants.ptx'), 'w') as file:
        file.write(text())


def grants(data):
    mask = (1 << 32) - 1
    sums = []
    for x in range(128):
        values = [x + i * 17 + 1 for i in range(VALUES)]
        for r in range(ROUNDS):
            y = data[r * 128 + x]
            for i in range(VALUES):
                values[i] = values[i] * (2 * i + 3) + y & mask
                y ^= values[i]
        y = 0
        for value in values:
            y = y * 5 + value & mask
        sums.append(y)
    return sums


r = Random(33)
data = [r.bits() for _ in range(ROUNDS * 128)]
case('grants', 'grants', [1], [256], [Given('u32', data), Result('u32', grants(data))])
