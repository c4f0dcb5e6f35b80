//! Loads that leave loops.

use expect_test::{Expect, expect};
use oriole_optimize::passes::invariant_loads;
use oriole_ori::{Form, parse, verify};

/// A loop of two blocks, whose first one may be left.
fn looped(first: &str, second: &str, expected: Expect) {
    let text = format!(
        "kernel
b0: -> b1
  {{r0 r1}} = LDC.64 c[0][0x210] ; 0
  r2 = S2R %(SR_TID.X) ; 0
  p3, PT = ISETP.AND.LT r2, 0x7, PT ; 0
b1: -> b3 b2
  r4 = phi b0: RZ, b4: r5
{first}  p6, PT = ISETP.AND.LT r4, 0x7, PT ; 0
  @p6 BRA b3 ; 0
b2:
  EXIT ; 0
b3: -> b4
{second}  r5 = IADD3 r4, 0x1, RZ ; 0
b4: -> b1
"
    );
    let mut function = parse::parse(&text).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    verify(&function, Form::Ssa).expect("in SSA");
    invariant_loads::run(&mut function);
    verify(&function, Form::Ssa).expect("still in SSA");
    let lines = function.to_string();
    let lines =
        lines.lines().filter(|line| line.contains("; 1") || line.contains("; 2") || line.starts_with('b'));
    expected.assert_eq(&lines.map(|line| format!("{}\n", line.trim_start())).collect::<String>());
}

const LOADS: &str = "  r10 = LDG.E [{r0 r1}] mem(global r) ; 1
  r11 = LDS [r2] mem(shared r) ; 1
  r12 = LDG.CONSTANT.E [{r0 r1}] mem(global r) ; 1
  r13 = LDG.E [{r0 r4}] mem(global r) ; 1
  r14 = LDG.E.GPU.STRONG [{r0 r1}] mem(global r ordered) ; 1
";

#[test]
fn loads_leave_loops_that_do_not_write() {
    let loads = LOADS.replace("  r14 = LDG.E.GPU.STRONG [{r0 r1}] mem(global r ordered) ; 1\n", "");
    looped(
        &loads,
        "",
        expect![[r#"
        b0: -> b1
        r10 = LDG.E [{r0 r1}] mem(global r) ; 1
        r11 = LDS [r2] mem(shared r) ; 1
        r12 = LDG.CONSTANT.E [{r0 r1}] mem(global r) ; 1
        b1: -> b3 b2
        r13 = LDG.E [{r0 r4}] mem(global r) ; 1
        b2:
        b3: -> b4
        b4: -> b1
    "#]],
    );
    looped(
        &loads,
        "  STS [r2], r4 mem(shared w) ; 2\n",
        expect![[r#"
        b0: -> b1
        r10 = LDG.E [{r0 r1}] mem(global r) ; 1
        r12 = LDG.CONSTANT.E [{r0 r1}] mem(global r) ; 1
        b1: -> b3 b2
        r11 = LDS [r2] mem(shared r) ; 1
        r13 = LDG.E [{r0 r4}] mem(global r) ; 1
        b2:
        b3: -> b4
        STS [r2], r4 mem(shared w) ; 2
        b4: -> b1
    "#]],
    );
    looped(
        LOADS,
        "",
        expect![[r#"
        b0: -> b1
        r12 = LDG.CONSTANT.E [{r0 r1}] mem(global r) ; 1
        b1: -> b3 b2
        r10 = LDG.E [{r0 r1}] mem(global r) ; 1
        r11 = LDS [r2] mem(shared r) ; 1
        r13 = LDG.E [{r0 r4}] mem(global r) ; 1
        r14 = LDG.E.GPU.STRONG [{r0 r1}] mem(global r ordered) ; 1
        b2:
        b3: -> b4
        b4: -> b1
    "#]],
    );
    looped(
        &loads,
        "  BAR.DEFER_BLOCKING.SYNC #0 mem(generic rw ordered) ; 2\n",
        expect![[r#"
        b0: -> b1
        r12 = LDG.CONSTANT.E [{r0 r1}] mem(global r) ; 1
        b1: -> b3 b2
        r10 = LDG.E [{r0 r1}] mem(global r) ; 1
        r11 = LDS [r2] mem(shared r) ; 1
        r13 = LDG.E [{r0 r4}] mem(global r) ; 1
        b2:
        b3: -> b4
        BAR.DEFER_BLOCKING.SYNC #0 mem(generic rw ordered) ; 2
        b4: -> b1
    "#]],
    );
}

#[test]
fn loads_that_a_thread_may_not_reach_stay() {
    let load = "  r10 = LDG.E [{r0 r1}] mem(global r) ; 1\n";
    looped(
        "",
        load,
        expect![[r#"
        b0: -> b1
        b1: -> b3 b2
        b2:
        b3: -> b4
        r10 = LDG.E [{r0 r1}] mem(global r) ; 1
        b4: -> b1
    "#]],
    );
    looped(
        &format!("  @p3 EXIT ; 2\n{load}"),
        "",
        expect![[r#"
        b0: -> b1
        b1: -> b3 b2
        @p3 EXIT ; 2
        r10 = LDG.E [{r0 r1}] mem(global r) ; 1
        b2:
        b3: -> b4
        b4: -> b1
    "#]],
    );
    looped(
        &format!("  @p3 r9 = LDS [r2] tied(r2) mem(shared r) ; 2\n{load}"),
        "  @p3 EXIT ; 2\n",
        expect![[r#"
            b0: -> b1
            r10 = LDG.E [{r0 r1}] mem(global r) ; 1
            b1: -> b3 b2
            @p3 r9 = LDS [r2] tied(r2) mem(shared r) ; 2
            b2:
            b3: -> b4
            @p3 EXIT ; 2
            b4: -> b1
        "#]],
    );
}
