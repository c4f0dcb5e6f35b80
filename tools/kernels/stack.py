"""Kernels that take memory from the stack while they run: areas, nested calls, lists whose length differs by lane."""
import os

import record
from record import Result, case

FILE = 'stack'
LANES = 64
TEXT = '''// Written by tools/kernels/stack.py: memory from the stack.
.version 8.0
.target sm_90
.address_size 64

// The sum of n words n, n + 1 ..., and the same of n - 1.
.visible .func (.param .b32 total) sum_down(.param .b32 count)
{
    .reg .b32 n, i, x, sum, rest;
    .reg .u64 area, at, bytes;
    .reg .pred p;
    .local .align 8 .b8 kept[32];
    ld.param.b32 n, [count];
    mul.wide.u32 bytes, n, 4;
    alloca.u64 area, bytes, 16;
    mul.lo.u32 x, n, 3;
    st.local.u32 [kept+12], x;
    mov.u32 i, 0;
fill:
    mad.wide.u32 at, i, 4, area;
    add.u32 x, n, i;
    st.local.u32 [at], x;
    add.u32 i, i, 1;
    setp.lt.u32 p, i, n;
    @p bra fill;
    mov.u32 rest, 0;
    setp.lt.u32 p, n, 2;
    @p bra last;
    sub.u32 x, n, 1;
    {
        .param .b32 below;
        .param .b32 given;
        st.param.b32 [given], x;
        call (below), sum_down, (given);
        ld.param.b32 rest, [below];
    }
last:
    mov.u32 sum, rest;
    mov.u32 i, 0;
add_up:
    mad.wide.u32 at, i, 4, area;
    ld.local.u32 x, [at];
    add.u32 sum, sum, x;
    add.u32 i, i, 1;
    setp.lt.u32 p, i, n;
    @p bra add_up;
    ld.local.u32 x, [kept+12];
    add.u32 sum, sum, x;
    st.param.b32 [total], sum;
    ret;
}

.visible .entry stack_areas(.param .u64 out)
{
    .reg .b32 t, n, i, x, sum, high;
    .reg .u32 small, mark;
    .reg .u64 area, again, at, bytes, top, to;
    .reg .pred p;
    .local .align 16 .b8 kept[64];
    ld.param.u64 to, [out];
    mov.u32 t, %tid.x;
    mad.wide.u32 to, t, 24, to;
    and.b32 n, t, 7;
    add.u32 n, n, 1;
    mul.lo.u32 x, t, 5;
    st.local.u32 [kept+20], x;
    stacksave.u64 top;
    mul.wide.u32 bytes, n, 4;
    alloca.u64 area, bytes, 64;
    stacksave.u32 mark;
    alloca.u32 small, 12;
    st.local.u32 [small], t;
    st.local.u32 [small+8], n;
    mov.u32 i, 0;
fill:
    mad.wide.u32 at, i, 4, area;
    mul.lo.u32 x, t, i;
    st.local.u32 [at], x;
    add.u32 i, i, 1;
    setp.lt.u32 p, i, n;
    @p bra fill;
    and.b32 i, n, 3;
    add.u32 i, i, 1;
    {
        .param .b32 total;
        .param .b32 count;
        st.param.b32 [count], i;
        call (total), sum_down, (count);
        ld.param.b32 x, [total];
    }
    st.global.u32 [to], x;
    mov.u32 sum, 0;
    mov.u32 i, 0;
add_up:
    mad.wide.u32 at, i, 4, area;
    ld.local.u32 x, [at];
    add.u32 sum, sum, x;
    add.u32 i, i, 1;
    setp.lt.u32 p, i, n;
    @p bra add_up;
    st.global.u32 [to+4], sum;
    ld.local.u32 x, [small];
    ld.local.u32 i, [small+8];
    mad.lo.u32 x, i, 1000, x;
    st.global.u32 [to+8], x;
    ld.local.u32 x, [kept+20];
    st.global.u32 [to+12], x;
    cvt.u32.u64 x, area;
    and.b32 x, x, 63;
    st.global.u32 [to+16], x;
    stackrestore.u32 mark;
    stackrestore.u64 top;
    alloca.u64 again, bytes, 64;
    setp.eq.u64 p, again, area;
    selp.u32 x, 1, 0, p;
    st.global.u32 [to+20], x;
    ret;
}

// Each lane makes a list of its own length, and half of them one node more under a guard.
.visible .entry stack_list(.param .u64 out)
{
    .reg .b32 t, n, i, x, sum;
    .reg .u64 node, first, to;
    .reg .pred p, odd;
    ld.param.u64 to, [out];
    mov.u32 t, %tid.x;
    mad.wide.u32 to, t, 4, to;
    and.b32 n, t, 15;
    and.b32 x, t, 1;
    setp.ne.u32 odd, x, 0;
    mov.u64 first, 0xffffffff;
    mov.u32 i, 0;
grow:
    // Where ptxas unrolls this, nodes point to themselves.
    .pragma "nounroll";
    setp.ge.u32 p, i, n;
    @p bra grown;
    alloca.u64 node, 16;
    st.local.u32 [node], i;
    st.local.u64 [node+8], first;
    mov.u64 first, node;
    add.u32 i, i, 1;
    bra grow;
grown:
    @odd alloca.u64 node, 16, 32;
    @odd st.local.u32 [node], 1000;
    @odd st.local.u64 [node+8], first;
    @odd mov.u64 first, node;
    mov.u32 sum, 0;
walk:
    setp.eq.u64 p, first, 0xffffffff;
    @p bra walked;
    ld.local.u32 x, [first];
    mad.lo.u32 sum, sum, 3, x;
    ld.local.u64 first, [first+8];
    bra walk;
walked:
    st.global.u32 [to], sum;
    ret;
}
'''


def sum_down(n):
    return n and 3 * n + sum(n + i for i in range(n)) + sum_down(n - 1)


expected = []
for t in range(LANES):
    n = (t & 7) + 1
    expected += [sum_down((n & 3) + 1), sum(t * i for i in range(n)), 1000 * n + t, 5 * t, 0, 1]
case('stack_areas', FILE, [1], [LANES], [Result('u32', expected, [0] * len(expected))])
expected = []
for t in range(LANES):
    total = 0
    for x in ([1000] if t & 1 else []) + list(range(t & 15))[::-1]:
        total = total * 3 + x & 0xffffffff
    expected.append(total)
case('stack_list', FILE, [1], [LANES], [Result('u32', expected, [0] * LANES)])


def write_ptx():
    open(os.path.join(record.ROOT, FILE + '.ptx'), 'w').write(TEXT)
