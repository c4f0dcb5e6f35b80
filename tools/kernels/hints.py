"""A kernel of instructions that change no result: hints to caches, events, and what orders grids."""
import os

import record
from record import Given, Random, Result, case

TEXT = '''// Written by tools/kernels/hints.py: hints to caches, events, and what orders grids.
.version 8.6
.target sm_90
.address_size 64

.visible .entry hints(.param .u64 data, .param .u64 out)
{
    .reg .b32 t, x, y;
    .reg .b64 from, to, g;
    .reg .pred one;
    ld.param.u64 from, [data];
    ld.param.u64 to, [out];
    griddepcontrol.wait;
    mov.u32 t, %tid.x;
    prefetchu.L1 [from];
    cvta.to.global.u64 from, from;
    prefetch.global.L2::evict_last [from];
    prefetch.global.L2::evict_normal [from+128];
    applypriority.global.L2::evict_normal [from], 128;
    ldu.global.u32 y, [from+64];
    ldu.u32 x, [from];
    add.u32 y, y, x;
    // What is in the line may be lost, and is written anew.
    setp.eq.u32 one, t, 0;
    @one st.global.u32 [to], x;
    @one discard.global.L2 [to], 128;
    @one discard.L2 [to], 128;
    bar.warp.sync 0xffffffff;
    mad.wide.u32 g, t, 4, from;
    mad.wide.u32 to, t, 4, to;
    ld.global.u32 x, [g];
    griddepcontrol.launch_dependents;
    add.u32 x, x, y;
    pmevent 3;
    pmevent.mask 0x8001;
    st.global.u32 [to], x;
    ret;
}
'''


def write_ptx():
    with open(os.path.join(record.ROOT, 'hints.ptx'), 'w') as file:
        file.write(TEXT)


r = Random(30)
data = [r.bits() for _ in range(64)]
case('hints', 'hints', [1], [32], [
    Given('u32', data), Result('u32', [x + data[16] + data[0] for x in data[:32]])])
