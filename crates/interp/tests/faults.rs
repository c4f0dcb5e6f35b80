//! Programs that break a rule stop with a fault that has a message, a place and a thread.

use expect_test::{Expect, expect};
use oriole_interp::{Arg, Launch, Outcome, Program};

/// Runs a kernel `k(buffer of 64 bytes)` with this body on 32 threads.
fn run(body: &str) -> Outcome {
    run_text(&format!(".visible .entry k(.param .u64 p) {{\n{body}\n}}"))
}

fn run_text(text: &str) -> Outcome {
    let text = format!(".version 8.0\n.target sm_90\n.address_size 64\n{text}");
    let module = oriole_hir::resolve_module(&text);
    let errors: Vec<_> = module.diagnostics.iter().filter(|found| found.is_error()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let mut launch = Launch::new("k");
    launch.block = [32, 1, 1];
    launch.args = vec![Arg::Buffer(vec![0; 64])];
    launch.budget = 1_000_000;
    oriole_interp::run(&Program::from_module(&module), &launch)
}

fn check(body: &str, expected: Expect) {
    let fault = run(body).error.expect("a fault");
    expected.assert_eq(&format!("{:?}: {fault}", fault.kind));
}

#[test]
fn accesses() {
    check(
        ".reg .b64 a; .reg .b32 t; ld.param.u64 a, [p]; mov.u32 t, %tid.x; mad.wide.u32 a, t, 4, a; st.global.u32 [a], t;",
        expect![
            "OutOfBounds: write of 4 bytes at global address 0x7b0001000040 is outside every object there at instruction 3 of `k`, block [0, 0, 0], thread [16, 0, 0]"
        ],
    );
    check(
        ".reg .b64 a; .reg .b32 t; ld.param.u64 a, [p]; ld.global.u32 t, [a+2];",
        expect![
            "Misaligned: global address 0x7b0001000002 is not a multiple of the access size of 4 bytes at instruction 1 of `k`, block [0, 0, 0], thread [0, 0, 0]"
        ],
    );
    check(
        ".shared .b32 s; .reg .b32 t; ld.shared.u32 t, [s+4];",
        expect![
            "OutOfBounds: read of 4 bytes at shared address 0x404 is outside every object there at instruction 0 of `k`, block [0, 0, 0], thread [0, 0, 0]"
        ],
    );
    check(
        ".reg .b64 a; .reg .b32 t; mov.u64 a, 0; ld.u32 t, [a];",
        expect![
            "OutOfBounds: read of 4 bytes at global address 0x0 is outside every object there at instruction 1 of `k`, block [0, 0, 0], thread [0, 0, 0]"
        ],
    );
}

#[test]
fn waiting_forever() {
    check(
        ".reg .b32 t; .reg .pred q; mov.u32 t, %tid.x; setp.lt.u32 q, t, 7; @q bra L; bar.sync 0, 64; L: ret;",
        expect![
            "Deadlock: every thread of the block that has not ended waits; the first one for barrier 0 at instruction 3 of `k`, block [0, 0, 0], thread [7, 0, 0]"
        ],
    );
    check(
        ".reg .b32 t; .reg .pred q; mov.u32 t, %tid.x; setp.lt.u32 q, t, 7; @q bra L; bar.warp.sync -1; ret; L: bar.sync 0; ret;",
        expect![
            "Deadlock: every thread of the block that has not ended waits; the first one for barrier 0 at instruction 5 of `k`, block [0, 0, 0], thread [0, 0, 0]"
        ],
    );
    let object = ".reg .b32 t; .reg .b64 s; .reg .pred q; .shared .align 8 .b64 o; mov.u32 t, %tid.x; setp.eq.u32 q, t, 0; @q mbarrier.init.shared.b64 [o], 9; bar.sync 0;";
    check(
        &format!(
            "{object} mbarrier.arrive.shared.b64 s, [o]; L: mbarrier.test_wait.shared.b64 q, [o], s; @!q bra L; ret;"
        ),
        expect![
            "Deadlock: every thread of the block that has not ended waits; the first one for a phase of an mbarrier at instruction 5 of `k`, block [0, 0, 0], thread [9, 0, 0]"
        ],
    );
    check("L: bra L;", expect!["Budget: the budget of instructions is used up"]);
}

#[test]
fn rules() {
    check(
        ".reg .b32 t; bar.warp.sync 0xfffffffd;",
        expect![
            "Illegal: lane 1 is not in its own member mask 0xfffffffd at instruction 0 of `k`, block [0, 0, 0], thread [1, 0, 0]"
        ],
    );
    check("trap;", expect!["Trap: trap at instruction 0 of `k`, block [0, 0, 0], thread [0, 0, 0]"]);
    check(
        ".reg .b32 t; TS: .branchtargets A; mov.u32 t, %tid.x; brx.idx t, TS; A: ret;",
        expect![
            "Illegal: the branch has no target number 1 at instruction 1 of `k`, block [0, 0, 0], thread [1, 0, 0]"
        ],
    );
}

#[test]
fn calls_that_nest_too_deep() {
    let text = ".func f() { call.uni f; ret; } .visible .entry k(.param .u64 p) { call.uni f; ret; }";
    let fault = run_text(text).error.expect("a fault");
    expect!["calls nest too deep at instruction 0 of `f`, block [0, 0, 0], thread [0, 0, 0]"]
        .assert_eq(&fault.to_string());
}

#[test]
fn launches_that_do_not_fit() {
    let text = ".version 8.0\n.target sm_90\n.visible .entry k(.param .u64 p) .maxntid 16 { ret; }";
    let program = Program::from_module(&oriole_hir::resolve_module(text));
    let check = |change: &dyn Fn(&mut Launch), expected: Expect| {
        let mut launch = Launch::new("k");
        launch.args = vec![Arg::Buffer(vec![0; 4])];
        change(&mut launch);
        let error = oriole_interp::run(&program, &launch).error;
        expected.assert_eq(&error.map_or("none".into(), |fault| fault.to_string()));
    };
    check(&|_| {}, expect!["none"]);
    check(&|launch| launch.entry = "j".into(), expect!["the module has no kernel `j`"]);
    check(&|launch| launch.block = [32, 1, 1], expect!["the kernel allows blocks of 16 threads, not 32"]);
    check(&|launch| launch.block = [0, 1, 1], expect!["a block cannot have 0 threads"]);
    check(
        &|launch| launch.args.clear(),
        expect!["kernel `k` has 1 parameters, the launch gives 0 arguments"],
    );
    check(
        &|launch| launch.args = vec![Arg::Scalar(vec![0; 4])],
        expect!["argument 0 has 4 bytes, the parameter 8"],
    );
    check(
        &|launch| launch.args = vec![Arg::Alias(0)],
        expect!["argument 0 is an alias of argument 0, which is no buffer before it"],
    );
}

#[test]
fn lanes_that_spin_on_each_other_come_through() {
    // Lane 0 waits for a flag that lane 31 sets after the loop.
    let mut launch = Launch::new("k");
    launch.block = [32, 1, 1];
    launch.args = vec![Arg::Buffer(vec![0; 64])];
    let text = ".version 8.0\n.target sm_90\n.visible .entry k(.param .u64 p) {
        .reg .b64 a; .reg .b32 t, v; .reg .pred q, r;
        ld.param.u64 a, [p];
        mov.u32 t, %tid.x;
        setp.eq.u32 q, t, 31;
        @q bra S;
        L: ld.volatile.global.u32 v, [a];
        setp.eq.u32 r, v, 0;
        @r bra L;
        bra E;
        S: st.volatile.global.u32 [a], 1;
        E: ret; }";
    let program = Program::from_module(&oriole_hir::resolve_module(text));
    let outcome = oriole_interp::run(&program, &launch);
    assert_eq!(outcome.error, None);
    assert_eq!(outcome.buffers[0].as_ref().expect("a buffer")[0], 1);
}

#[test]
fn results_of_a_fault_are_kept() {
    let outcome = run(".reg .b64 a; ld.param.u64 a, [p]; st.global.u8 [a], 7; trap;");
    assert!(outcome.error.is_some());
    assert_eq!(outcome.buffers[0].as_ref().expect("a buffer")[0], 7);
}
