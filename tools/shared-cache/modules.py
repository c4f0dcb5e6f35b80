"""PTX modules, all different: each has a kernel that loops and a function that it calls. Names of kernels and parameters
differ from host to host, as those that nvcc, clang and Triton make do; nothing else does."""

KERNEL = """.version 8.0
.target sm_80
.address_size 64

.func (.reg .b32 %out) mixed_{names}_{number}(.reg .b32 %in)
{{
    .reg .b32 %r<4>;
    mad.lo.s32 %r1, %in, {odd}, {number};
    shr.u32 %r2, %r1, {shift};
    xor.b32 %out, %r1, %r2;
    ret;
}}

.visible .entry of_{names}_{number}(.param .u64 of_{names}_{number}_param_0, .param .u32 of_{names}_{number}_param_1)
{{
    .reg .pred %p<2>;
    .reg .b32 %r<10>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [of_{names}_{number}_param_0];
    ld.param.u32 %r1, [of_{names}_{number}_param_1];
    mov.u32 %r2, %tid.x;
    mul.wide.u32 %rd2, %r2, 4;
    add.u64 %rd3, %rd1, %rd2;
    mov.u32 %r3, {number};
$loop:
    call (%r4), mixed_{names}_{number}, (%r3);
    add.s32 %r3, %r4, {step};
{body}
    add.s32 %r1, %r1, -1;
    setp.gt.s32 %p1, %r1, 0;
    @%p1 bra $loop;
    st.global.u32 [%rd3], %r3;
    ret;
}}
"""


def module(number, names):
    body = "\n".join(f"    mad.lo.s32 %r3, %r3, {2 * (number + at) + 1}, {at};" for at in range(number % 7))
    return KERNEL.format(number=number, names=names, odd=2 * number + 3, shift=number % 31 + 1, step=number % 1000, body=body)


def texts(count, names):
    """Texts by a name that is the same on all hosts."""
    return {f"m{number:05}": module(number, names) for number in range(count)}
