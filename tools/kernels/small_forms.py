"""Words of forms that no other kernel has: matches of 64 bits, one small matrix, spaces of addresses, fences, barriers, selections."""
import os

import record
from record import Given, Random, Result, Scalar, case, wrap
from singles import numbers, value

FILE = 'small_forms'
THREADS = 32
M32 = (1 << 32) - 1
TEXT = '''// Written by tools/kernels/small_forms.py: words of forms that no other kernel has.
.version 8.6
.target sm_90
.address_size 64

.const .align 4 .u32 constant[4] = {11, 22, 33, 44};
.global .align 4 .u32 variable[4] = {55, 66, 77, 88};

// Which space an address is in, asked of addresses of each; and what is there, by way of generic addresses and back.
.visible .entry spaces_of_addresses(.param .u64 out, .param .u32 given)
{
    .reg .pred p;
    .reg .b32 t, x, y, near, rank;
    .reg .b64 to, a<6>, b;
    .shared .align 4 .u32 own[4];
    .local .align 4 .u32 stack[4];
    ld.param.u64 to, [out];
    mov.u32 t, %tid.x;
    mad.wide.u32 to, t, 192, to;
    st.local.u32 [stack+4], 99;
    st.shared.u32 [own+8], 111;
    mov.u64 a0, variable;
    cvta.global.u64 a0, a0;
    mov.u64 a1, stack;
    cvta.local.u64 a1, a1;
    mov.u32 near, own;
    cvt.u64.u32 a2, near;
    cvta.shared.u64 a2, a2;
    mov.u32 rank, %cluster_ctarank;
    mapa.shared::cluster.u32 near, near, rank;
    cvt.u64.u32 a3, near;
    cvta.shared::cluster.u64 a3, a3;
    mov.u64 a4, constant;
    cvta.const.u64 a4, a4;
    mov.u64 a5, given;
    cvta.param.u64 a5, a5;
ASKED
    cvta.to.global.u64 b, a0;
    ld.global.u32 x, [b+4];
    cvta.to.local.u64 b, a1;
    ld.local.u32 y, [b+4];
    st.global.v2.u32 [to+144], {x, y};
    cvta.to.shared.u64 b, a2;
    cvt.u32.u64 near, b;
    ld.shared.u32 x, [near+8];
    cvta.to.shared::cluster.u64 b, a3;
    cvt.u32.u64 near, b;
    ld.shared::cluster.u32 y, [near+8];
    st.global.v2.u32 [to+152], {x, y};
    cvta.to.const.u64 b, a4;
    ld.const.u32 x, [b+12];
    cvta.to.param.u64 b, a5;
    ld.param.u32 y, [b];
    st.global.v2.u32 [to+160], {x, y};
    ld.u32 x, [a4+8];
    ld.u32 y, [a5];
    st.global.v2.u32 [to+168], {x, y};
    cvta.const.u64 b, constant;
    ld.u32 x, [b+4];
    cvta.global.u64 b, variable;
    ld.u32 y, [b+12];
    st.global.v2.u32 [to+176], {x, y};
    ret;
}

// Words of 64 bits that all lanes have, or not; one small matrix; what is fenced and met for between.
.visible .entry met_in_part(.param .u64 data, .param .u64 out)
{
    .reg .pred p, q;
    .reg .b32 t, x, y, z, at, row;
    .reg .b64 from, to, d;
    .shared .align 16 .b8 matrix[128];
    .shared .align 4 .b8 words[256];
    ld.param.u64 from, [data];
    ld.param.u64 to, [out];
    mov.u32 t, %tid.x;
    mad.wide.u32 from, t, 16, from;
    mad.wide.u32 to, t, 32, to;
    ld.global.b64 d, [from];
    match.all.sync.b64 x|p, d, 0xffffffff;
    selp.u32 y, 1, 0, p;
    st.global.v2.u32 [to], {x, y};
    setp.lt.u32 q, t, 8;
    @!q bra others;
    match.all.sync.b64 x|p, d, 0xff;
    selp.u32 y, 1, 0, p;
    st.global.v2.u32 [to+8], {x, y};
others:
    bar.warp.sync 0xffffffff;
    ld.global.b32 x, [from+8];
    mov.u32 row, matrix;
    and.b32 at, t, 7;
    mad.lo.u32 row, at, 16, row;
    stmatrix.sync.aligned.m8n8.x1.shared.b16 [row], {x};
    membar.cta;
    bar.cta.sync 0;
    mov.u32 at, matrix;
    mad.lo.u32 at, t, 4, at;
    ld.shared.u32 y, [at];
    bar.cta.sync 1, 32;
    stmatrix.sync.aligned.m8n8.x1.trans.b16 [GENERIC], {x};
    membar.sys;
    fence.acquire.cluster;
    fence.release.gpu;
    fence.acquire.sys;
    fence.proxy.async.global;
    fence.proxy.async.shared::cluster;
    bar.cta.red.popc.u32 z, 2, 32, q;
    ld.shared.u32 x, [at];
    st.global.v2.u32 [to+16], {y, x};
    not.pred p, q;
    bar.cta.red.and.pred p, 3, p;
    selp.u32 x, 1, 0, p;
    bar.cta.red.or.pred p, 4, 32, q;
    selp.u32 y, 1, 0, p;
    mad.lo.u32 z, z, 10, x;
    mad.lo.u32 z, z, 10, y;
    st.global.u32 [to+24], z;
    mov.u32 at, words;
    mad.lo.u32 at, t, 4, at;
    st.shared.u32 [at], z;
    mov.u32 x, 5;
    ret.uni;
}

// One of two values by the sign of a third.
.visible .entry selected_by_sign(.param .u64 given_a, .param .u64 given_b, .param .u64 given_c, .param .u64 out)
{
    .reg .b64 at, a, b, c, d, to;
    .reg .b32 t, aw, bw, cw, dw;
    .reg .b16 ah, bh, dh;
    mov.u32 t, %tid.x;
    ld.param.u64 at, [given_a];
    mad.wide.u32 at, t, 8, at;
    ld.global.b64 a, [at];
    ld.param.u64 at, [given_b];
    mad.wide.u32 at, t, 8, at;
    ld.global.b64 b, [at];
    ld.param.u64 at, [given_c];
    mad.wide.u32 at, t, 8, at;
    ld.global.b32 cw, [at];
    cvt.u32.u64 aw, a;
    cvt.u32.u64 bw, b;
    cvt.u16.u32 ah, aw;
    cvt.u16.u32 bh, bw;
    ld.param.u64 to, [out];
    mad.wide.u32 to, t, 8, to;
SELECTED
    ret;
}
'''
SPACES = ['global', 'local', 'shared', 'shared::cluster', 'const', 'param']
ASKED = ''.join(f'    isspacep.{space} p, a{n};\n    selp.u32 x, 1, 0, p;\n    st.global.u32 [to+{4 * (6 * m + n)}], x;\n'
                for m, space in enumerate(SPACES) for n in range(6))
SELECTIONS = [(way, ty) for way in ('s32', 'f32', 'ftz.f32') for ty in ('b16', 'b32', 'b64', 'u16', 'u32', 'u64', 's16', 's32', 's64', 'f32', 'f64')]


def selected():
    text = ''
    for n, (way, ty) in enumerate(SELECTIONS):
        letter = {16: 'h', 32: 'w', 64: ''}[int(ty[1:])]
        ftz, kind = ('.ftz', 'f32') if way == 'ftz.f32' else ('', way)
        text += f'    slct{ftz}.{ty}.{kind} d{letter}, a{letter}, b{letter}, cw;\n    st.global.b{ty[1:]} [to+{8 * THREADS * n}], d{letter};\n'
    return text


def picks(way, pattern):
    """Whether the first value is taken: of a number that is not below zero; a subnormal one may count as zero."""
    if way == 's32':
        return wrap('s32', pattern) >= 0
    number, sign = value('f32', pattern)
    if number != number:
        return False
    if way == 'ftz.f32' and pattern >> 23 & 255 == 0:
        return True
    return number >= 0


def write_ptx():
    with open(os.path.join(record.ROOT, FILE + '.ptx'), 'w') as out:
        generic = TEXT.replace('    stmatrix.sync.aligned.m8n8.x1.trans.b16 [GENERIC]',
                               '    cvt.u64.u32 d, row;\n    cvta.shared.u64 d, d;\n    stmatrix.sync.aligned.m8n8.x1.trans.b16 [d]')
        out.write(generic.replace('ASKED\n', ASKED).replace('SELECTED\n', selected()))


r = Random(104)
asked = []
for m in range(6):
    # An address of shared memory is one of the cluster's too, and parameters are in global memory.
    asked += [int(n == m or (m, n) in ((3, 2), (2, 3), (0, 5))) for n in range(6)]
there = [66, 99, 111, 111, 44, 123456, 33, 123456, 22, 88]
case('spaces_of_addresses', FILE, [1], [THREADS], [Result('u32', (asked + there + [0, 0]) * THREADS, [0] * 48 * THREADS), Scalar('u32', 123456)])

words = [0x123456789abcdef0 + (t == 20) for t in range(THREADS)]
halves = [[r.bits(16) for _ in range(8)] for _ in range(8)]
held = [halves[t // 4][t % 4 * 2] | halves[t // 4][t % 4 * 2 + 1] << 16 for t in range(THREADS)]
turned = [list(column) for column in zip(*halves)]
given, left = [], []
for t in range(THREADS):
    given += [words[t] & M32, words[t] >> 32, held[t], 0]
    row = lambda matrix: matrix[t // 4][t % 4 * 2] | matrix[t // 4][t % 4 * 2 + 1] << 16
    left += [0, 0, *([255, 1] if t < 8 else [0, 0]), row(halves), row(turned), 8 * 100 + 0 * 10 + 1, 0]
case('met_in_part', FILE, [1], [THREADS], [Given('u32', given), Result('u32', left, [0] * len(left))])

a, b = ([r.bits(64) for _ in range(THREADS)] for _ in 'ab')
c = numbers('f32')
c[9:12] = [0x7fc00000, 0xff800000, 0x80000001]
results = []
for way, ty in SELECTIONS:
    results += [(u if picks(way, pattern) else v) & (1 << int(ty[1:])) - 1 for u, v, pattern in zip(a, b, c)]
case('selected_by_sign', FILE, [1], [THREADS], [Given('u64', a), Given('u64', b), Given('u64', c), Result('u64', results, [0] * len(results))])
