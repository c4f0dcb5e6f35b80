#!/usr/bin/env python3
"""Writes kernels whose time is known from a GPU, with launch records, for `compare.py`.

    contention.py FOLDER

Each is like a kernel that was timed on an H200 with the code of both compilers (docs/measurements.md, commit e3c290e9): it does
the same to memory, in a few lines of its own. Launches are small; `blocks` says how many blocks the timed grid had. The ratio
that was measured is in the record's comment.
"""
import json
import pathlib
import sys

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"

# Every thread adds to one word for its block, in a loop.
GLOBAL = """.visible .entry k(.param .u64 out, .param .u32 times)
{{
    .reg .b32 n, b; .reg .b64 at, w; .reg .pred p;
    ld.param.u64 at, [out];
    ld.param.u32 n, [times];
    mov.u32 b, %ctaid.x;
    mul.wide.u32 w, b, {bytes};
    add.u64 at, at, w;
loop:
    red.global.add.{type} [at], {one};
    sub.u32 n, n, 1;
    setp.ne.u32 p, n, 0;
    @p bra loop;
    ret;
}}
"""

# Every thread adds to one word of shared memory, in a loop.
SHARED = """.visible .entry k(.param .u64 out, .param .u32 times)
{{
    .reg .b32 n, t; .reg .b64 at; .reg .pred p, first; .reg .{type} v, one;
    .shared .align 8 .{type} sum;
    ld.param.u64 at, [out];
    ld.param.u32 n, [times];
    mov.u32 t, %tid.x;
    setp.eq.u32 first, t, 0;
    mov.{type} v, {zero};
    @first st.shared.{type} [sum], v;
    bar.sync 0;
    mov.{type} one, {one};
loop:
    atom.shared.add.{type} v, [sum], one;
    sub.u32 n, n, 1;
    setp.ne.u32 p, n, 0;
    @p bra loop;
    bar.sync 0;
    ld.shared.{type} v, [sum];
    @first st.global.{type} [at], v;
    ret;
}}
"""

# Distances between points of two tiles, the sum of all in one word of shared memory.
TILED = """.visible .entry k(.param .u64 out, .param .u64 points, .param .u32 count)
{{
    .reg .b32 t, n, j; .reg .b64 at, from, w; .reg .pred p, first; .reg .{type} x, y, d, s, v;
    .shared .align 8 .{type} sum;
    .shared .align 8 .{type} tile[128];
    ld.param.u64 at, [out];
    ld.param.u64 from, [points];
    mov.u32 t, %tid.x;
    mul.wide.u32 w, t, {bytes};
    add.u64 from, from, w;
    ld.global.{type} x, [from];
    setp.eq.u32 first, t, 0;
    mov.{type} s, {zero};
    @first st.shared.{type} [sum], s;
    mul.lo.u32 t, t, {bytes};
    mov.u32 j, tile;
    add.u32 t, t, j;
    st.shared.{type} [t], x;
    bar.sync 0;
    ld.param.u32 n, [count];
loop:
    ld.shared.{type} y, [j];
    sub.{type} d, x, y;
    fma.rn.{type} s, d, d, s;
    add.u32 j, j, {bytes};
    sub.u32 n, n, 1;
    setp.ne.u32 p, n, 0;
    @p bra loop;
    atom.shared.add.{type} v, [sum], s;
    bar.sync 0;
    ld.shared.{type} v, [sum];
    @first st.global.{type} [at], v;
    ret;
}}
"""

# Every thread takes a number from one counter and writes there.
COUNTER = """.visible .entry k(.param .u64 out, .param .u64 counter)
{
    .reg .b32 t, c; .reg .b64 at, from, w;
    ld.param.u64 at, [out];
    ld.param.u64 from, [counter];
    mov.u32 t, %tid.x;
    atom.global.add.u32 c, [from], 1;
    and.b32 c, c, 4095;
    mul.wide.u32 w, c, 4;
    add.u64 at, at, w;
    st.global.u32 [at], t;
    ret;
}
"""

# Each thread of one block sums a column.
COLUMN = """.visible .entry k(.param .u64 out, .param .u64 parts, .param .u32 count)
{{
    .reg .b32 t, n; .reg .b64 at, from, w; .reg .pred p; .reg .{type} v, s;
    ld.param.u64 at, [out];
    ld.param.u64 from, [parts];
    ld.param.u32 n, [count];
    mov.u32 t, %tid.x;
    mul.wide.u32 w, t, {bytes};
    add.u64 at, at, w;
    add.u64 from, from, w;
    mov.{type} s, {zero};
loop:
    ld.global.{type} v, [from];
    add.{type} s, s, v;
    add.u64 from, from, {row};
    sub.u32 n, n, 1;
    setp.ne.u32 p, n, 0;
    @p bra loop;
    st.global.{type} [at], s;
    ret;
}}
"""

# Copies 16 bytes a thread: bound by memory, whatever the code.
COPY = """.visible .entry k(.param .u64 out, .param .u64 source)
{
    .reg .b32 t, b, n; .reg .b64 at, from, w; .reg .b32 v<4>;
    ld.param.u64 at, [out];
    ld.param.u64 from, [source];
    mov.u32 t, %tid.x;
    mov.u32 b, %ctaid.x;
    mov.u32 n, %ntid.x;
    mad.lo.u32 t, b, n, t;
    mul.wide.u32 w, t, 16;
    add.u64 at, at, w;
    add.u64 from, from, w;
    ld.global.v4.u32 {v0, v1, v2, v3}, [from];
    st.global.v4.u32 [at], {v0, v1, v2, v3};
    ret;
}
"""

F32 = {"type": "f32", "bytes": 4, "zero": "0f00000000", "one": "0f3f800000", "row": 512}
F64 = {"type": "f64", "bytes": 8, "zero": "0d0000000000000000", "one": "0d3ff0000000000000", "row": 1024}


def buffer(kind, count):
    return {"buffer": {"type": kind, "iota": {"start": 0, "step": 1, "count": count}}}


def number(value):
    return {"scalar": {"type": "u32", "value": value}}


# Name, text, grid, block, arguments, blocks of the timed grid, and the ratio that was measured.
CASES = [
    ("global_int", GLOBAL.format(type="u32", bytes=4, one=1), 8, 256, [buffer("u32", 64), number(10)], 4096, 31),
    ("shared_f32", SHARED.format(**F32), 4, 256, [buffer("f32", 64), number(4)], 4096, 21),
    ("shared_f64", SHARED.format(**F64), 4, 256, [buffer("f64", 64), number(4)], 4096, 11),
    ("tiled_f32", TILED.format(**F32), 4, 128, [buffer("f32", 64), buffer("f32", 128), number(128)], 4096, 12.2),
    ("tiled_f64", TILED.format(**F64), 4, 128, [buffer("f64", 64), buffer("f64", 128), number(128)], 4096, 9.6),
    ("counter", COUNTER, 64, 6, [buffer("u32", 4096), buffer("u32", 1)], 65536, 5.1),
    ("column_f32", COLUMN.format(**F32), 1, 128, [buffer("f32", 128), buffer("f32", 32768), number(256)], 1, 4.2),
    ("column_f64", COLUMN.format(**F64), 1, 128, [buffer("f64", 128), buffer("f64", 32768), number(256)], 1, 3.2),
    ("copy", COPY, 64, 256, [buffer("u32", 65536), buffer("u32", 65536)], 65536, 1),
]


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text, grid, block, arguments, blocks, ratio in CASES:
        (folder / f"{name}.ptx").write_text(HEAD + text, encoding="utf-8")
        record = {"name": name, "ptx": f"{name}.ptx", "entry": "k", "grid": [grid, 1, 1], "block": [block, 1, 1],
                  "args": arguments, "comment": f"measured {ratio} blocks {blocks}"}
        (folder / f"{name}.json").write_text(json.dumps(record) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
