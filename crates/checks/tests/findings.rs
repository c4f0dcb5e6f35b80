//! A kernel with a mistake for each check, and what is found; a right kernel next to it has no finding.

use expect_test::{Expect, expect};
use oriole_checks::{Checks, check};
use oriole_interp::{Arg, Launch, Program};
use std::fmt::Write as _;

/// Registers and shared variables of all kernels here; `%r1` is the thread, `%r2` its address in `tile`, `%rd1` the
/// address of its word in the buffer.
fn program(body: &str) -> Program {
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n\
         .reg .b32 %r<20>;\n.reg .b64 %rd<10>;\n.reg .pred %p<6>;\n.shared .align 16 .b8 tile[512];\n\
         .shared .align 8 .b64 gate;\n.local .align 8 .b8 mine[16];\n\
         ld.param.u64 %rd0, [p];\nmov.u32 %r1, %tid.x;\nmov.u32 %r0, tile;\nshl.b32 %r3, %r1, 2;\n\
         add.s32 %r2, %r0, %r3;\ncvt.u64.u32 %rd2, %r3;\nadd.s64 %rd1, %rd0, %rd2;\n{body}\nret;\n}}\n"
    );
    Program::of_text(&text).unwrap_or_else(|error| panic!("{error:?}"))
}

/// The findings, one a line with its instructions after it; those are counted from the first one of the body.
fn found(grid: u32, block: u32, body: &str) -> String {
    let arg = Arg::Buffer(vec![0; 512]);
    let launch = Launch { grid: [grid, 1, 1], block: [block, 1, 1], args: vec![arg], ..Launch::new("k") };
    let report = check(&program(body), &launch, Checks::all());
    let mut text = String::new();
    for finding in &report.findings {
        let same = if finding.same_value { ", same value" } else { "" };
        let _ = writeln!(text, "{}: {} ({}{same})", finding.code, finding.message, finding.count);
        for spot in &finding.spots {
            let thread = spot.thread.map(|(block, thread)| (block[0], thread[0]));
            let ordinal = i64::from(spot.ordinal) - 7;
            let _ = writeln!(text, "  instruction {ordinal}: {}, {thread:?}", spot.part);
        }
    }
    text
}

fn finds(grid: u32, block: u32, body: &str, expected: &Expect) {
    expected.assert_eq(&found(grid, block, body));
}

fn is_right(grid: u32, block: u32, body: &str) {
    assert_eq!(found(grid, block, body), "", "{body}");
}

/// Each thread reads the word of its neighbour.
const NEIGHBOUR: &str = "add.s32 %r4, %r1, 1;\nand.b32 %r4, %r4, 63;\nshl.b32 %r4, %r4, 2;\nadd.s32 %r4, %r0, %r4;\n\
                         ld.shared.u32 %r5, [%r4];\nst.global.u32 [%rd1], %r5;";

#[test]
fn shared_memory_without_a_barrier_is_a_race() {
    let with = |between: &str| format!("st.shared.u32 [%r2], %r1;\n{between}\n{NEIGHBOUR}");
    is_right(1, 64, &with("bar.sync 0;"));
    is_right(1, 64, &with("barrier.sync 3, 64;"));
    is_right(1, 64, &with("bar.arrive 1, 128;\nbar.sync 1, 128;"));
    finds(
        1,
        64,
        &with(""),
        &expect![[r#"
        check::race: a write and a read of two lanes of a warp at shared `tile`+4, and nothing orders them (64)
          instruction 0: writes, Some((0, 1))
          instruction 5: reads, Some((0, 0))
        check::unwritten-memory: a read of shared `tile`+128, which nothing has written (1)
          instruction 5: reads, Some((0, 31))
    "#]],
    );
    // A barrier of each warp orders no two warps.
    finds(
        1,
        64,
        &with("bar.warp.sync -1;"),
        &expect![[r#"
        check::race: a read and a write of two warps at shared `tile`+128, and nothing orders them (2)
          instruction 6: reads, Some((0, 31))
          instruction 0: writes, Some((0, 32))
        check::unwritten-memory: a read of shared `tile`+128, which nothing has written (1)
          instruction 6: reads, Some((0, 31))
    "#]],
    );
}

#[test]
fn lanes_of_a_warp_are_threads() {
    let with = |between: &str| {
        format!(
            "st.shared.u32 [%r2], %r1;\n{between}\nxor.b32 %r4, %r3, 4;\nadd.s32 %r4, %r0, %r4;\n\
             ld.shared.u32 %r5, [%r4];\nst.global.u32 [%rd1], %r5;"
        )
    };
    is_right(1, 32, &with("bar.warp.sync -1;"));
    is_right(1, 32, &with("vote.sync.any.pred %p1, 1, -1;"));
    finds(
        1,
        32,
        &with(""),
        &expect![[r#"
        check::race: a write and a read of two lanes of a warp at shared `tile`+4, and nothing orders them (32)
          instruction 0: writes, Some((0, 1))
          instruction 3: reads, Some((0, 0))
    "#]],
    );
    // The lanes of a pair have different masks' barriers with others, and none with each other.
    finds(
        1,
        32,
        &with(
            "and.b32 %r6, %r1, 1;\nsetp.eq.u32 %p1, %r6, 0;\n@%p1 bar.warp.sync 0x55555555;\n@!%p1 bar.warp.sync 0xaaaaaaaa;",
        ),
        &expect![[r#"
            check::race: a write and a read of two lanes of a warp at shared `tile`+4, and nothing orders them (32)
              instruction 0: writes, Some((0, 1))
              instruction 7: reads, Some((0, 0))
        "#]],
    );
}

#[test]
fn blocks_do_not_wait_for_each_other() {
    finds(
        2,
        1,
        "mov.u32 %r4, %ctaid.x;\nst.global.u32 [%rd0], %r4;",
        &expect![[r#"
        check::race: a write and a write of two blocks at global argument 0, and nothing orders them (1)
          instruction 1: writes, Some((0, 0))
          instruction 1: writes, Some((1, 0))
    "#]],
    );
    finds(
        2,
        1,
        "st.global.u32 [%rd0], 7;",
        &expect![[r#"
        check::race: a write and a write of two blocks at global argument 0, and nothing orders them (1, same value)
          instruction 0: writes, Some((0, 0))
          instruction 0: writes, Some((1, 0))
    "#]],
    );
    is_right(2, 1, "red.global.add.u32 [%rd0], 1;");
    is_right(2, 1, "st.relaxed.gpu.global.u32 [%rd0], 7;");
    finds(
        2,
        1,
        "st.relaxed.cta.global.u32 [%rd0], 7;",
        &expect![[r#"
        check::race: a write and a write of two blocks at global argument 0, and nothing orders them (1, same value)
          instruction 0: writes, strong, Some((0, 0))
          instruction 0: writes, strong, Some((1, 0))
    "#]],
    );
    finds(
        2,
        1,
        "red.global.add.u32 [%rd0], 1;\nld.global.u32 %r4, [%rd0];",
        &expect![[r#"
        check::race: a read and a write of two blocks at global argument 0, and nothing orders them (2)
          instruction 1: reads, Some((0, 0))
          instruction 0: writes, strong, Some((1, 0))
    "#]],
    );
}

/// The last block to come reads what the others wrote: with fences on both sides, and with one of them missing.
#[test]
fn fences_and_atomics_order_blocks() {
    let with = |before: &str, atomic: &str, after: &str| {
        format!(
            "mov.u32 %r4, %ctaid.x;\nmul.wide.u32 %rd3, %r4, 4;\nadd.s64 %rd3, %rd0, %rd3;\n\
             st.global.u32 [%rd3], %r4;\n{before}\n{atomic}.add.u32 %r5, [%rd0+256], 1;\n{after}\n\
             setp.ne.u32 %p1, %r5, 1;\n@%p1 ret;\nld.global.u32 %r6, [%rd0];\nld.global.u32 %r7, [%rd0+4];\n\
             add.s32 %r6, %r6, %r7;\nst.global.u32 [%rd0+128], %r6;"
        )
    };
    is_right(2, 1, &with("membar.gl;", "atom.global", "membar.gl;"));
    is_right(2, 1, &with("", "atom.acq_rel.gpu.global", ""));
    is_right(2, 1, &with("fence.acq_rel.gpu;", "atom.acquire.gpu.global", ""));
    finds(
        2,
        1,
        &with("", "atom.global", "membar.gl;"),
        &expect![[r#"
        check::race: a write and a read of two blocks at global argument 0, and nothing orders them (1)
          instruction 3: writes, Some((0, 0))
          instruction 8: reads, Some((1, 0))
    "#]],
    );
    finds(
        2,
        1,
        &with("membar.gl;", "atom.global", ""),
        &expect![[r#"
        check::race: a write and a read of two blocks at global argument 0, and nothing orders them (1)
          instruction 3: writes, Some((0, 0))
          instruction 8: reads, Some((1, 0))
    "#]],
    );
    finds(
        2,
        1,
        &with("membar.cta;", "atom.global", "membar.cta;"),
        &expect![[r#"
        check::race: a write and a read of two blocks at global argument 0, and nothing orders them (1)
          instruction 3: writes, Some((0, 0))
          instruction 9: reads, Some((1, 0))
    "#]],
    );
}

#[test]
fn phases_of_mbarriers_order_threads() {
    let with = |wait: &str| {
        format!(
            "mov.u32 %r9, gate;\nsetp.ne.u32 %p2, %r1, 0;\n@!%p2 mbarrier.init.shared.b64 [%r9], 64;\nbar.sync 0;\n\
             st.shared.u32 [%r2], %r1;\nmbarrier.arrive.shared.b64 %rd3, [%r9];\n{wait}\n{NEIGHBOUR}"
        )
    };
    is_right(1, 64, &with("wait: mbarrier.test_wait.shared.b64 %p1, [%r9], %rd3;\n@!%p1 bra wait;"));
    finds(
        1,
        64,
        &with(""),
        &expect![[r#"
        check::race: a write and a read of two lanes of a warp at shared `tile`+4, and nothing orders them (64)
          instruction 4: writes, Some((0, 1))
          instruction 10: reads, Some((0, 0))
        check::unwritten-memory: a read of shared `tile`+128, which nothing has written (1)
          instruction 10: reads, Some((0, 31))
    "#]],
    );
    // A thread that waits may come before the initialization.
    finds(
        1,
        2,
        "mov.u32 %r9, gate;\nsetp.ne.u32 %p2, %r1, 0;\n@!%p2 mbarrier.init.shared.b64 [%r9], 1;\n\
         @!%p2 mbarrier.arrive.shared.b64 %rd3, [%r9];\nwait: mbarrier.test_wait.parity.shared.b64 %p1, [%r9], 0;\n\
         @!%p1 bra wait;",
        &expect![[r#"
            check::race: a write and a write of two lanes of a warp at shared `gate`, and nothing orders them (1)
              instruction 2: writes, Some((0, 0))
              instruction 4: writes, strong, Some((0, 1))
        "#]],
    );
    // Nothing orders the initialization and the arrivals.
    finds(
        1,
        2,
        "mov.u32 %r9, gate;\nsetp.ne.u32 %p2, %r1, 0;\n@!%p2 mbarrier.init.shared.b64 [%r9], 2;\n\
         mbarrier.arrive.shared.b64 %rd3, [%r9];",
        &expect![[r#"
            check::race: a write and a write of two lanes of a warp at shared `gate`, and nothing orders them (2)
              instruction 2: writes, Some((0, 0))
              instruction 3: writes, strong, Some((0, 1))
        "#]],
    );
}

#[test]
fn bytes_are_apart() {
    is_right(
        1,
        64,
        "add.s64 %rd3, %rd0, %rd2;\nshr.u64 %rd4, %rd2, 2;\nadd.s64 %rd3, %rd0, %rd4;\nst.global.u8 [%rd3], %r1;",
    );
    finds(
        1,
        2,
        "shr.u64 %rd4, %rd2, 2;\nadd.s64 %rd3, %rd0, %rd4;\nst.global.u8 [%rd3], %r1;\nld.global.u16 %r4, [%rd0];",
        &expect![[r#"
            check::race: a write and a read of two lanes of a warp at global argument 0+1, and nothing orders them (2)
              instruction 2: writes, Some((0, 1))
              instruction 3: reads, Some((0, 0))
        "#]],
    );
}

#[test]
fn accesses_outside_of_objects_are_named() {
    finds(
        1,
        1,
        "st.global.u32 [%rd0+520], 1;",
        &expect![[r#"
        check::out-of-bounds: write of 4 bytes at global address 0x7b0001000208 is outside every object there: 8 bytes after the end of argument 0, which has 512 bytes (1)
          instruction 0: executes it, Some((0, 0))
    "#]],
    );
    finds(
        1,
        1,
        "ld.global.u32 %r4, [%rd0+-4];",
        &expect![[r#"
        check::out-of-bounds: read of 4 bytes at global address 0x7b0000fffffc is outside every object there: 4 bytes before the start of argument 0, which has 512 bytes (1)
          instruction 0: executes it, Some((0, 0))
    "#]],
    );
    finds(
        1,
        1,
        "mov.u64 %rd3, 0;\nld.global.u32 %r4, [%rd3];",
        &expect![[r#"
        check::out-of-bounds: read of 4 bytes at global address 0x0 is outside every object there: the address is that of no object (1)
          instruction 1: executes it, Some((0, 0))
    "#]],
    );
    finds(
        1,
        1,
        "st.shared.u32 [%r0+4096], 1;",
        &expect![[r#"
        check::out-of-bounds: write of 4 bytes at shared address 0x1400 is outside every object there: 3576 bytes after the end of `gate`, which has 8 bytes (1)
          instruction 0: executes it, Some((0, 0))
    "#]],
    );
    finds(
        1,
        1,
        "st.global.u32 [%rd0+2], 1;",
        &expect![[r#"
        check::misaligned: global address 0x7b0001000002 is not a multiple of the access size of 4 bytes (1)
          instruction 0: executes it, Some((0, 0))
    "#]],
    );
    finds(
        1,
        1,
        "st.global.v4.u32 [%rd0+8], {%r1, %r1, %r1, %r1};",
        &expect![[r#"
        check::misaligned: global address 0x7b0001000008 is not a multiple of the access size of 16 bytes (1)
          instruction 0: executes it, Some((0, 0))
    "#]],
    );
}

#[test]
fn atomics_on_local_memory_have_no_meaning() {
    let body = "mov.u64 %rd3, mine;\nst.local.u32 [mine], 0;\ncvta.local.u64 %rd3, %rd3;\n\
                atom.add.u32 %r4, [%rd3], 1;\nst.global.u32 [%rd1], %r4;";
    finds(
        1,
        1,
        body,
        &expect![[r#"
        check::local-atomic: an atomic on local memory, at address 0x10 (1)
          instruction 3: executes it, Some((0, 0))
    "#]],
    );
}

#[test]
fn what_nothing_has_written_is_found() {
    finds(
        1,
        1,
        "ld.shared.u32 %r4, [tile+8];\nst.global.u32 [%rd0], %r4;",
        &expect![[r#"
        check::unwritten-memory: a read of shared `tile`+8, which nothing has written (1)
          instruction 0: reads, Some((0, 0))
    "#]],
    );
    finds(
        1,
        1,
        "st.local.u32 [mine], 0;\nld.local.v2.u32 {%r4, %r5}, [mine];",
        &expect![[r#"
        check::unwritten-memory: a read of local address 0x14, which nothing has written (1)
          instruction 1: reads, Some((0, 0))
    "#]],
    );
    finds(
        1,
        1,
        "setp.eq.u32 %p1, %r1, 1;\n@%p1 mov.u32 %r4, 2;\nmov.u32 %r5, %r4;\nadd.s32 %r6, %r5, 1;",
        &expect![[r#"
            check::unwritten-register: a register is used that nothing has written on the way here (1)
              instruction 3: uses it, Some((0, 0))
        "#]],
    );
    is_right(1, 1, "mov.u32 %r5, %r4;\nst.shared.u32 [tile], 1;\nld.shared.u8 %r4, [tile+3];");
}

#[test]
fn threads_that_miss_a_barrier_are_found() {
    // Half of a warp waits at one place, half at another one.
    finds(
        1,
        32,
        "setp.lt.u32 %p1, %r1, 16;\n@%p1 bra a;\nbar.sync 0;\nbra b;\na: bar.sync 0;\nb:",
        &expect![[r#"
            check::divergence: lanes of one warp wait at different barrier instructions, which all of them must execute together (1)
              instruction 4: waits, Some((0, 0))
              instruction 2: waits, Some((0, 16))
        "#]],
    );
    finds(
        1,
        64,
        "setp.lt.u32 %p1, %r1, 32;\n@%p1 bar.sync 0;\nbar.sync 1;",
        &expect![[r#"
        check::deadlock: all threads that have not exited wait for others, which never come (1)
          instruction 1: 32 threads wait for barrier 0, Some((0, 0))
          instruction 2: 32 threads wait for barrier 1, Some((0, 32))
    "#]],
    );
    finds(
        1,
        64,
        "setp.lt.u32 %p1, %r1, 8;\n@%p1 ret;\nbar.sync 0;",
        &expect![[r#"
        check::exited-threads: a barrier of the whole block is complete without 8 threads, which exited before (1)
          instruction 2: is not reached, Some((0, 0))
    "#]],
    );
    is_right(
        1,
        64,
        "setp.lt.u32 %p1, %r1, 32;\n@%p1 bra a;\nbarrier.sync 0;\nbra b;\na: barrier.sync 0;\nb:",
    );
}

#[test]
fn lanes_that_miss_a_collective_are_found() {
    finds(
        1,
        32,
        "setp.lt.u32 %p1, %r1, 16;\n@!%p1 ret;\nshfl.sync.down.b32 %r4, %r1, 1, 31, 0xffff;\nst.global.u32 [%rd1], %r4;",
        &expect![[r#"
            check::absent-lane: a shuffle reads from lane 16, which does not take part: the value is undefined (1)
              instruction 2: reads from it, Some((0, 15))
        "#]],
    );
    finds(
        1,
        32,
        "setp.lt.u32 %p1, %r1, 16;\n@%p1 bar.warp.sync 0xff;",
        &expect![[r#"
        check::broken-rule: lane 8 is not in its own member mask 0xff (1)
          instruction 1: executes it, Some((0, 8))
    "#]],
    );
    finds(
        1,
        32,
        "setp.lt.u32 %p1, %r1, 16;\n@%p1 bar.warp.sync 0xffff00ff;\n@!%p1 bar.warp.sync -1;",
        &expect![[r#"
            check::broken-rule: lane 8 is not in its own member mask 0xffff00ff (1)
              instruction 1: executes it, Some((0, 8))
        "#]],
    );
}

#[test]
fn conflicts_of_banks_are_counted() {
    finds(
        1,
        8,
        "shl.b32 %r4, %r1, 7;\nand.b32 %r4, %r4, 384;\nadd.s32 %r4, %r0, %r4;\nshr.u32 %r5, %r1, 2;\nadd.s32 %r4, %r4, %r5;\nst.shared.u8 [%r4], 1;",
        &expect![[r#"
            check::bank-conflict: bank conflicts: 1 accesses of warps take 4 passes where 1 would do (1)
              instruction 5: accesses shared memory, Some((0, 0))
        "#]],
    );
    is_right(1, 32, "st.shared.u32 [%r2], 1;");
}
