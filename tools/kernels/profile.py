#!/usr/bin/env python3
"""Writes the kernels of test-data/profile: each has one fault that `oriole profile` must name first, or none.

    python3 tools/kernels/profile.py test-data/profile

A kernel is named as its fault is in `crates/profile/src/kinds.rs`, with a number behind it where there are several. Launches
are small; the tests give the number of blocks.
"""

import json
import pathlib
import sys

START = """    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mad.lo.u32 %r4, %r2, %r3, %r1;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    cvta.to.global.u64 %rd1, %rd1;
    cvta.to.global.u64 %rd2, %rd2;
    mul.wide.u32 %rd3, %r4, 4;
    add.u64 %rd4, %rd1, %rd3;
    add.u64 %rd5, %rd2, %rd3;
"""
END = "    st.global.f32 [%rd5], %f1;\n"


def kernel(name, body, shared="", directives="", extra=""):
    return f""".visible .entry {name}(.param .u64 x, .param .u64 y, .param .u32 n) {directives}
{{
    .reg .pred %p<16>;
    .reg .b32 %r<64>;
    .reg .b64 %rd<32>;
    .reg .f32 %f<256>;
    .reg .f64 %fd<16>;
{extra}{shared}{START}{body}    ret;
}}

"""


def loop(count, body, label="L"):
    return f"""    mov.u32 %r20, 0;
{label}:
    .pragma "nounroll";
{body}    add.u32 %r20, %r20, 1;
    setp.lt.u32 %p1, %r20, {count};
    @%p1 bra {label};
"""


def fma_chain(count, registers=4):
    return "".join(f"    fma.rn.f32 %f{i}, %f{i}, 0f3F7FBE77, 0f3A83126F;\n"
                   for _ in range(count) for i in range(1, registers + 1))


def zeros(count):
    return "".join(f"    mov.f32 %f{i}, 0f3F800000;\n" for i in range(1, count + 1))


def total(count):
    return "".join(f"    add.f32 %f1, %f1, %f{i};\n" for i in range(2, count + 1))


FAULTS = {}
FAULTS["strided"] = kernel("strided", """    mul.wide.u32 %rd6, %r4, 128;
    add.u64 %rd7, %rd1, %rd6;
    ld.global.f32 %f1, [%rd7];
""" + END)
FAULTS["strided_2"] = kernel("strided_2", """    mul.wide.u32 %rd6, %r4, 128;
    add.u64 %rd7, %rd2, %rd6;
    ld.global.f32 %f1, [%rd4];
    st.global.f32 [%rd7], %f1;
""")
FAULTS["strided_3"] = kernel("strided_3", """    mul.wide.u32 %rd6, %r4, 16;
    add.u64 %rd7, %rd1, %rd6;
    ld.global.f32 %f1, [%rd7];
""" + END)
FAULTS["strided_4"] = kernel("strided_4", """    mul.wide.u32 %rd6, %r4, 256;
    add.u64 %rd7, %rd1, %rd6;
    mov.f32 %f1, 0f00000000;
""" + loop(32, """    ld.global.f32 %f2, [%rd7];
    add.f32 %f1, %f1, %f2;
    add.u64 %rd7, %rd7, 4;
""") + END)
FAULTS["scattered"] = kernel("scattered", """    ld.global.u32 %r5, [%rd4];
    mul.wide.u32 %rd6, %r5, 4;
    add.u64 %rd7, %rd1, %rd6;
    ld.global.f32 %f1, [%rd7];
""" + END)
SHARED = "    .shared .align 16 .b8 tile[16384];\n"
SHARED_START = """    mov.u32 %r6, tile;
    and.b32 %r7, %r1, 31;
    shr.u32 %r8, %r1, 5;
    shl.b32 %r9, %r1, 2;
    add.u32 %r10, %r6, %r9;
    st.shared.f32 [%r10], %f1;
    bar.sync 0;
    mov.f32 %f1, 0f00000000;
"""
FAULTS["bank_conflicts"] = kernel("bank_conflicts", "    ld.global.f32 %f1, [%rd4];\n" + SHARED_START + """    shl.b32 %r11, %r7, 7;
    shl.b32 %r12, %r8, 2;
    add.u32 %r11, %r11, %r12;
    add.u32 %r11, %r11, %r6;
""" + loop(12, """    ld.shared.f32 %f2, [%r11];
    add.f32 %f1, %f1, %f2;
    xor.b32 %r11, %r11, 64;
""") + END, SHARED)
FAULTS["bank_conflicts_2"] = kernel("bank_conflicts_2", "    ld.global.f32 %f1, [%rd4];\n" + SHARED_START + """    shl.b32 %r11, %r7, 3;
    add.u32 %r11, %r11, %r6;
""" + loop(16, "".join(f"""    ld.shared.f32 %f{i}, [%r11+{256 * i}];
    add.f32 %f1, %f1, %f{i};
""" for i in range(2, 6)) + "    xor.b32 %r11, %r11, 2048;\n") + END, SHARED)
FAULTS["divergence"] = kernel("divergence", zeros(4) + """    mul.lo.u32 %r5, %r1, 37;
    and.b32 %r5, %r5, 31;
    shr.b32 %r5, %r5, 1;
""" + loop("%r5", fma_chain(4)) + total(4) + END)
FAULTS["divergence_2"] = kernel("divergence_2", zeros(4) + """    and.b32 %r5, %r1, 3;
    setp.eq.u32 %p2, %r5, 0;
    @%p2 bra A;
    setp.eq.u32 %p3, %r5, 1;
    @%p3 bra B;
    setp.eq.u32 %p4, %r5, 2;
    @%p4 bra C;
""" + loop(8, fma_chain(4), "LD") + "    bra END;\nA:\n" + loop(9, fma_chain(4), "LA") + "    bra END;\nB:\n"
    + loop(10, fma_chain(4), "LB") + "    bra END;\nC:\n" + loop(11, fma_chain(4), "LC") + "END:\n" + total(4) + END)
MANY = 44
FAULTS["spills"] = kernel("spills", "".join(f"    ld.global.f32 %f{i}, [%rd4+{i * 1024}];\n" for i in range(1, MANY + 1)) + loop(6,
    "".join(f"    fma.rn.f32 %f{i}, %f{i % MANY + 1}, 0f3F7FBE77, %f{(i + 20) % MANY + 1};\n" for i in range(1, MANY + 1)))
    + total(MANY) + END, directives=".maxnreg 32")
CHASE = loop(12, """    mul.wide.u32 %rd6, %r5, 4;
    add.u64 %rd7, %rd1, %rd6;
    ld.global.u32 %r6, [%rd7];
    add.u32 %r5, %r5, 4096;
    add.u32 %r5, %r5, %r6;
    and.b32 %r5, %r5, 65535;
""")
FAULTS["latency"] = kernel("latency", "    mov.u32 %r5, %r4;\n" + CHASE + "    cvt.rn.f32.u32 %f1, %r5;\n" + END)
HELD = 150
FAULTS["occupancy_registers"] = kernel("occupancy_registers",
    "".join(f"    ld.global.f32 %f{i}, [%rd4+{i * 1024}];\n" for i in range(1, HELD + 1)) + "    mov.u32 %r5, %r4;\n" + CHASE
    + "    cvt.rn.f32.u32 %f200, %r5;\n"
    + "".join(f"    mul.f32 %f{i}, %f{i}, %f200;\n" for i in range(1, HELD + 1)) + total(HELD) + END)
FAULTS["occupancy_shared_memory"] = kernel("occupancy_shared_memory", "    mov.u32 %r5, %r4;\n" + CHASE
    + "    cvt.rn.f32.u32 %f1, %r5;\n" + END)
FAULTS["contended_atomics"] = kernel("contended_atomics", """    ld.global.f32 %f1, [%rd4];
    red.global.add.f32 [%rd2], %f1;
""")
FAULTS["contended_shared_atomics"] = kernel("contended_shared_atomics", "    ld.global.u32 %r5, [%rd4];\n    mov.f32 %f1, 0f00000000;\n"
    + SHARED_START + """    and.b32 %r5, %r1, 1;
    shl.b32 %r5, %r5, 2;
    add.u32 %r5, %r5, %r6;
""" + loop(8, """    atom.shared.add.u32 %r11, [%r5], %r20;
    add.u32 %r12, %r12, %r11;
""") + "    cvt.rn.f32.u32 %f1, %r12;\n" + END, SHARED)
FAULTS["small_grid"] = kernel("small_grid", zeros(8) + loop(8, fma_chain(4, 8)) + total(8) + END)
FAULTS["tail"] = kernel("tail", zeros(8) + loop(8, fma_chain(4, 8)) + total(8) + END)
FAULTS["f64"] = kernel("f64", "".join(f"    mov.f64 %fd{i}, 0d3FF0000000000000;\n" for i in range(1, 5))
    + loop(4, "".join(f"    fma.rn.f64 %fd{i}, %fd{i}, 0d3FEFF7CED916872B, 0d3F50624DD2F1A9FC;\n" for _ in range(4) for i in range(1, 5)))
    + "    add.f64 %fd1, %fd1, %fd2;\n    add.f64 %fd3, %fd3, %fd4;\n    add.f64 %fd1, %fd1, %fd3;\n    cvt.rn.f32.f64 %f1, %fd1;\n" + END)
FAULTS["local_memory"] = kernel("local_memory", """    ld.global.u32 %r5, [%rd4];
    mov.u64 %rd8, bins;
    mov.f32 %f1, 0f00000000;
""" + loop(16, """    mad.lo.u32 %r5, %r5, 1664525, 1013904223;
    shr.u32 %r6, %r5, 26;
    mul.wide.u32 %rd9, %r6, 4;
    add.u64 %rd10, %rd8, %rd9;
    ld.local.f32 %f2, [%rd10];
    add.f32 %f2, %f2, 0f3F800000;
    st.local.f32 [%rd10], %f2;
    add.f32 %f1, %f1, %f2;
""") + END, extra="    .local .align 16 .b8 bins[256];\n")
FAULTS["scalar_accesses"] = kernel("scalar_accesses", "    mov.f32 %f1, 0f00000000;\n" + loop(8, """    add.u32 %r5, %r1, %r20;
    and.b32 %r5, %r5, 255;
    mul.wide.u32 %rd6, %r5, 16;
    add.u64 %rd7, %rd1, %rd6;
    ld.global.f32 %f2, [%rd7];
    ld.global.f32 %f3, [%rd7+4];
    ld.global.f32 %f4, [%rd7+8];
    ld.global.f32 %f5, [%rd7+12];
""" + total(5)) + END)
FAULTS["barrier_imbalance"] = kernel("barrier_imbalance", zeros(4) + """    shr.u32 %r5, %r1, 5;
    mov.u32 %r21, 0;
R:
    .pragma "nounroll";
    and.b32 %r22, %r21, 7;
    setp.ne.u32 %p2, %r5, %r22;
    @%p2 bra W;
""" + loop(24, fma_chain(2)) + """W:
    bar.sync 0;
    add.u32 %r21, %r21, 1;
    setp.lt.u32 %p3, %r21, 4;
    @%p3 bra R;
""" + total(4) + END)
FAULTS["integer_division"] = kernel("integer_division", """    ld.global.u32 %r5, [%rd4];
    ld.param.u32 %r6, [n];
""" + loop(4, """    div.u32 %r7, %r5, %r6;
    add.u32 %r5, %r7, %r20;
    add.u32 %r6, %r6, %r4;
""") + "    cvt.rn.f32.u32 %f1, %r5;\n" + END)
FAULTS["special_functions"] = kernel("special_functions", zeros(4) + loop(8, "".join(
    f"    ex2.approx.ftz.f32 %f{i}, %f{i};\n    mul.f32 %f{i}, %f{i}, 0f3E800000;\n" for i in range(1, 5))) + total(4) + END)
FAULTS["misaligned"] = kernel("misaligned", "    mov.f32 %f1, 0f00000000;\n" + loop(4, "".join(
    f"    ld.global.cg.f32 %f{i}, [%rd4+{i * 8192 + 4}];\n" for i in range(2, 8))
    + "".join(f"    add.f32 %f1, %f1, %f{i};\n" for i in range(2, 8)) + "    add.u64 %rd4, %rd4, 65536;\n") + END)
FAULTS["partial_warps"] = kernel("partial_warps", zeros(4) + loop(16, fma_chain(4)) + total(4) + END)

SOUND = {}
SOUND["copy"] = kernel("copy", """    mul.wide.u32 %rd6, %r4, 16;
    add.u64 %rd7, %rd1, %rd6;
    add.u64 %rd8, %rd2, %rd6;
    ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd7];
    st.global.v4.f32 [%rd8], {%f1, %f2, %f3, %f4};
""")
SOUND["saxpy"] = kernel("saxpy", """    ld.global.f32 %f1, [%rd4];
    ld.global.f32 %f2, [%rd5];
    fma.rn.f32 %f1, %f1, 0f40000000, %f2;
""" + END)
TRANSPOSE = """    and.b32 %r5, %r1, 31;
    shr.u32 %r6, %r1, 5;
    mov.u32 %r7, tile;
    shl.b32 %r8, %r2, 5;
    add.u32 %r9, %r8, %r5;
"""
SOUND["transpose"] = kernel("transpose", TRANSPOSE + "".join(f"""    add.u32 %r10, %r6, {8 * i};
    mad.lo.u32 %r11, %r10, 2048, %r9;
    mul.wide.u32 %rd6, %r11, 4;
    add.u64 %rd7, %rd1, %rd6;
    ld.global.f32 %f{i + 1}, [%rd7];
    mad.lo.u32 %r12, %r10, 33, %r5;
    shl.b32 %r12, %r12, 2;
    add.u32 %r12, %r12, %r7;
    st.shared.f32 [%r12], %f{i + 1};
""" for i in range(4)) + "    bar.sync 0;\n" + "".join(f"""    add.u32 %r10, %r6, {8 * i};
    mad.lo.u32 %r12, %r5, 33, %r10;
    shl.b32 %r12, %r12, 2;
    add.u32 %r12, %r12, %r7;
    ld.shared.f32 %f{i + 1}, [%r12];
    add.u32 %r11, %r10, %r8;
    mad.lo.u32 %r11, %r11, 32, %r5;
    mul.wide.u32 %rd6, %r11, 4;
    add.u64 %rd7, %rd2, %rd6;
    st.global.f32 [%rd7], %f{i + 1};
""" for i in range(4)), "    .shared .align 16 .b8 tile[4224];\n")
# A tile of 64x64, 4x4 elements of each of 256 threads, products of 16 columns from shared memory.
PRODUCTS = "".join(f"""    ld.shared.v4.f32 {{%f101, %f102, %f103, %f104}}, [%r11+{256 * k}];
    ld.shared.v4.f32 {{%f105, %f106, %f107, %f108}}, [%r12+{256 * k}];
""" + "".join(f"    fma.rn.f32 %f{4 * i + j + 1}, %f{101 + i}, %f{105 + j}, %f{4 * i + j + 1};\n" for i in range(4) for j in range(4))
    for k in range(16))
SOUND["gemm"] = kernel("gemm", zeros(16) + """    mov.u32 %r6, a;
    mov.u32 %r7, b;
    and.b32 %r8, %r1, 15;
    shr.u32 %r9, %r1, 4;
    shl.b32 %r10, %r1, 4;
    add.u32 %r13, %r6, %r10;
    add.u32 %r14, %r7, %r10;
    shl.b32 %r11, %r9, 4;
    add.u32 %r11, %r11, %r6;
    shl.b32 %r12, %r8, 4;
    add.u32 %r12, %r12, %r7;
    mul.wide.u32 %rd6, %r4, 16;
    add.u64 %rd7, %rd1, %rd6;
    ld.global.v4.f32 {%f201, %f202, %f203, %f204}, [%rd7];
    ld.global.v4.f32 {%f205, %f206, %f207, %f208}, [%rd7+16384];
""" + loop(6, """    bar.sync 0;
    st.shared.v4.f32 [%r13], {%f201, %f202, %f203, %f204};
    st.shared.v4.f32 [%r14], {%f205, %f206, %f207, %f208};
    bar.sync 0;
    add.u64 %rd7, %rd7, 4096;
    ld.global.v4.f32 {%f201, %f202, %f203, %f204}, [%rd7];
    ld.global.v4.f32 {%f205, %f206, %f207, %f208}, [%rd7+16384];
""" + PRODUCTS) + """    mul.wide.u32 %rd8, %r2, 16384;
    mul.wide.u32 %rd9, %r1, 16;
    add.u64 %rd8, %rd8, %rd9;
    add.u64 %rd8, %rd8, %rd2;
""" + "".join(f"    st.global.v4.f32 [%rd8+{4096 * i}], {{%f{4 * i + 1}, %f{4 * i + 2}, %f{4 * i + 3}, %f{4 * i + 4}}};\n"
    for i in range(4)), "    .shared .align 16 .b8 a[4096];\n    .shared .align 16 .b8 b[4096];\n")
SOUND["sum_of_warp"] = kernel("sum_of_warp", """    mul.wide.u32 %rd6, %r4, 16;
    add.u64 %rd7, %rd1, %rd6;
    ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd7];
""" + total(4) + "".join(f"""    mov.b32 %r5, %f1;
    shfl.sync.bfly.b32 %r6, %r5, {step}, 31, -1;
    mov.b32 %f2, %r6;
    add.f32 %f1, %f1, %f2;
""" for step in (16, 8, 4, 2, 1)) + """    shr.u32 %r7, %r4, 5;
    mul.wide.u32 %rd8, %r7, 4;
    add.u64 %rd8, %rd8, %rd2;
    and.b32 %r8, %r1, 31;
    setp.ne.u32 %p2, %r8, 0;
    @%p2 bra E;
    st.global.f32 [%rd8], %f1;
E:
""")

BLOCK = {"partial_warps": 40, "latency": 64, "occupancy_shared_memory": 128, "small_grid": 512, "tail": 1024}
GRID = {"scattered": 2, "occupancy_registers": 2}
DYNAMIC = {"occupancy_shared_memory": 73728, "tail": 131072}
BUFFER = 1 << 20


def record(name, file):
    buffer = {"buffer": {"len": BUFFER}}
    if name == "scattered":
        buffer = {"buffer": {"type": "u32", "random": {"seed": 1, "low": 0, "high": 65535, "count": BUFFER // 4}}}
    launch = {"name": name, "ptx": file, "entry": name, "grid": [GRID.get(name, 4), 1, 1], "block": [BLOCK.get(name, 256), 1, 1],
              "shared_bytes": DYNAMIC.get(name, 0),
              "args": [buffer, {"buffer": {"len": BUFFER}}, {"scalar": {"type": "u32", "value": 1000}}]}
    return json.dumps(launch)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for file, kernels in [("faults", FAULTS), ("sound", SOUND)]:
        text = "// Written by tools/kernels/profile.py.\n.version 8.0\n.target sm_80\n.address_size 64\n\n" + "".join(kernels.values())
        (folder / f"{file}.ptx").write_text(text.rstrip() + "\n")
        (folder / f"{file}.json").write_text("".join(record(name, f"{file}.ptx") + "\n" for name in kernels))


main()
