"""Kernels in which alternatives of selection win that others rarely show: uniform values that a call evicts, or that are
parts of pairs, a load that a condition guards, an offset that no address holds."""
import os

import record
from record import Given, Random, Result, Scalar, case

M32 = (1 << 32) - 1
THREADS = 32
STEP = 12345
VALUES = 28
HEAD = '// Written by tools/kernels/selection.py: alternatives of selection that other kernels rarely show.\n.version 8.6\n.target sm_90\n.address_size 64\n'

SCRAMBLED = '''
.func (.param .b32 r) scrambled(.param .b32 x)
{
    .reg .b32 v, w;
    ld.param.b32 v, [x];
    mul.lo.u32 v, v, 0x9e3779b1;
    shr.u32 w, v, 7;
    xor.b32 v, v, w;
    st.param.b32 [r], v;
    ret;
}
'''

FIRST = f'''
.visible .entry uniform_across_call(.param .u64 data, .param .u32 step)
{{
    .reg .b32 t, b, x, k<{VALUES}>;
    .reg .b64 a;
    ld.param.u64 a, [data];
    ld.param.u32 b, [step];
    mov.u32 t, %tid.x;
    mad.wide.u32 a, t, 4, a;
    ld.global.u32 x, [a];
'''

CALL = '''    {
        .param .b32 given;
        .param .b32 taken;
        st.param.b32 [given], x;
        call (taken), scrambled, (given);
        ld.param.b32 x, [taken];
    }
'''


def uniform_across_call():
    """More uniform values than a call keeps in uniform registers."""
    factors = [2 * n + 75 for n in range(VALUES)]
    text = FIRST
    for n, factor in enumerate(factors):
        text += f'    mul.lo.u32 k{n}, b, {factor};\n'
    adds = ''.join(f'    add.u32 x, x, k{n};\n    xor.b32 x, x, {n + 1};\n' for n in range(VALUES))
    return SCRAMBLED + text + adds + CALL + adds + '    st.global.u32 [a], x;\n    ret;\n}\n'


HALVES = '''
.visible .entry uniform_halves(.param .u64 out, .param .u32 first, .param .u32 second)
{
    .reg .b32 t, a, b, c;
    .reg .b64 address, x, y, u, v;
    ld.param.u64 address, [out];
    ld.param.u32 a, [first];
    ld.param.u32 b, [second];
    mul.lo.u32 a, a, 77;
    mul.lo.u32 b, b, 5;
    mov.u32 t, %tid.x;
    mad.wide.u32 address, t, 16, address;
    mov.b64 x, {a, b};
    mov.b64 y, {b, a};
    xor.b32 c, t, 21;
    mad.wide.u32 u, t, c, x;
    mad.wide.u32 v, c, c, y;
    st.global.u64 [address], u;
    st.global.u64 [address+8], v;
    ret;
}
'''


CHOSEN = '''
.visible .entry guarded_and_far(.param .u64 data, .param .u64 out, .param .u64 back)
{
    .reg .pred few;
    .reg .b32 t, x, y;
    .reg .b64 from, to, far;
    ld.param.u64 from, [data];
    ld.param.u64 to, [out];
    ld.param.u64 far, [back];
    mov.u32 t, %tid.x;
    mad.wide.u32 from, t, 4, from;
    mad.wide.u32 to, t, 4, to;
    add.u64 far, far, from;
    ld.global.u32 y, [far+0x2000000];
    xor.b32 x, t, y;
    setp.lt.u32 few, t, 20;
    @!few bra chosen;
    ld.global.u32 x, [from+4];
chosen:
    add.u32 x, x, y;
    st.global.u32 [to], x;
    ret;
}
'''


def halves(t):
    """Two uniform words as a pair in either order."""
    a, b, c = STEP * 77 & M32, STEP * 5, t ^ 21
    return [v & (1 << 64) - 1 for v in (t * c + (b << 32 | a), c * c + (a << 32 | b))]


def scrambled(v):
    v = v * 0x9e3779b1 & M32
    return v ^ v >> 7


def added(x):
    for n in range(VALUES):
        x = (x + STEP * (2 * n + 75) & M32) ^ (n + 1)
    return x


def write_ptx():
    with open(os.path.join(record.ROOT, 'selection.ptx'), 'w') as file:
        file.write(HEAD + uniform_across_call() + HALVES + CHOSEN)


r = Random(11)
data = [r.bits() for _ in range(THREADS)]
case('uniform_across_call', 'selection', [1], [THREADS], [
    Result('u32', [added(scrambled(added(x))) for x in data], data), Scalar('u32', STEP)])
case('uniform_halves', 'selection', [1], [THREADS], [
    Result('u64', [v for t in range(THREADS) for v in halves(t)]), Scalar('u32', STEP), Scalar('u32', STEP)])
data = [r.bits() for _ in range(THREADS)]
case('guarded_and_far', 'selection', [1], [THREADS], [
    Given('u32', data), Result('u32', [(y + (data[t + 1] if t < 20 else t ^ y)) & M32 for t, y in enumerate(data)]),
    Scalar('u64', (1 << 64) - 0x2000000)])
