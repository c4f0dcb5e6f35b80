//! Loads of adjacent words in shared memory.

use expect_test::{Expect, expect};
use oriole_optimize::passes::vector_loads;
use oriole_ori::{Form, Function, parse, verify};

/// The body of a kernel with 32 lines of 32 bytes in shared memory, `{r4}` being the address of the thread's line.
fn joined(align: &str, body: &str) -> Function {
    let text = format!(
        "kernel
  symbol s0 shared \"tile\"{align}
b0:
  r0 = S2R %(SR_TID.X) ; 0
  r1 = SHF.L.U32 r0, 0x5, RZ ; 0
  r2 = MOV low(s0) ; 0
  r4 = IADD3 r1, r2, RZ ; 0
{body}  EXIT ; 9
"
    );
    let mut function = parse::parse(&text).expect("Ori");
    verify(&function, Form::Ssa).expect("in SSA");
    vector_loads::run(&mut function);
    verify(&function, Form::Ssa).expect("still in SSA");
    function
}

fn loads(align: &str, body: &str, expected: Expect) {
    let function = joined(align, body).to_string();
    let lines: String = function
        .lines()
        .filter(|line| line.contains("LDS"))
        .map(|line| format!("{}\n", line.trim_start()))
        .collect();
    expected.assert_eq(&lines);
}

const FOUR: &str = "  r5 = LDS [r4+0x10] mem(shared r) ; 1
  r6 = LDS [r4+0x18] mem(shared r) ; 2
  r7 = LDS [r4+0x14] mem(shared r) ; 3
  r8 = LDS [r4+0x1c] mem(shared r) ; 4
  STG.E [{r0 r0}], r5 mem(global w) ; 5
  STG.E [{r0 r0}], r6 mem(global w) ; 5
  STG.E [{r0 r0}], r7 mem(global w) ; 5
  STG.E [{r0 r0}], r8 mem(global w) ; 5
";

#[test]
fn words_beside_each_other_are_loaded_at_once() {
    loads(
        " align=16",
        FOUR,
        expect![[r#"
              {r5 r7 r6 r8} = LDS.128 [r4+0x10] mem(shared r) ; 1
        "#]],
    );
}

#[test]
fn no_more_than_the_alignment_of_the_address_tells() {
    loads(
        " align=8",
        FOUR,
        expect![[r#"
              {r5 r7} = LDS.64 [r4+0x10] mem(shared r) ; 1
              {r6 r8} = LDS.64 [r4+0x18] mem(shared r) ; 2
        "#]],
    );
    loads(
        " align=4",
        FOUR,
        expect![[r#"
              r5 = LDS [r4+0x10] mem(shared r) ; 1
              r6 = LDS [r4+0x18] mem(shared r) ; 2
              r7 = LDS [r4+0x14] mem(shared r) ; 3
              r8 = LDS [r4+0x1c] mem(shared r) ; 4
        "#]],
    );
}

#[test]
fn pairs_and_words_where_four_are_not_there() {
    loads(
        " align=16",
        "  r5 = LDS [r4+0x4] mem(shared r) ; 1
  r6 = LDS [r4+0x8] mem(shared r) ; 2
  r7 = LDS [r4+0xc] mem(shared r) ; 3
  {r8 r9} = LDS.64 [r4+0x10] mem(shared r) ; 4
  {r10 r11} = LDS.64 [r4+0x18] mem(shared r) ; 5
  r12 = IADD3 r5, r6, r7 ; 6
  r13 = IADD3 r8, r9, r10 ; 6
  r14 = IADD3 r11, r12, r13 ; 6
  STG.E [{r0 r0}], r14 mem(global w) ; 7
",
        expect![[r#"
              r5 = LDS [r4+0x4] mem(shared r) ; 1
              {r6 r7} = LDS.64 [r4+0x8] mem(shared r) ; 2
              {r8 r9 r10 r11} = LDS.128 [r4+0x10] mem(shared r) ; 4
        "#]],
    );
}

/// Loads do not move across stores to shared memory, barriers of the block and volatile loads; stores elsewhere do
/// not matter.
#[test]
fn nothing_passes_what_may_change_it() {
    let between = |what: &str| {
        format!(
            "  r5 = LDS [r4] mem(shared r) ; 1
{what}  r6 = LDS [r4+0x4] mem(shared r) ; 3
  r7 = IADD3 r5, r6, RZ ; 4
  STG.E [{{r0 r0}}], r7 mem(global w) ; 5
"
        )
    };
    for what in [
        "  STS [r0], r1 mem(shared w) ; 2\n",
        "  BAR.DEFER_BLOCKING.SYNC #0 ; 2\n",
        "  ST.E [{r0 r0}], r1 mem(generic w) ; 2\n",
    ] {
        let function = joined(" align=16", &between(what)).to_string();
        assert!(!function.contains("LDS.64"), "{what}{function}");
    }
    let function = joined(" align=16", &between("  STG.E [{r0 r0}], r1 mem(global w) ; 2\n")).to_string();
    assert!(function.contains("{r5 r6} = LDS.64 [r4]"), "{function}");
    let volatile =
        between("").replace("r6 = LDS [r4+0x4] mem(shared r)", "r6 = LDS [r4+0x4] mem(shared r ordered)");
    let function = joined(" align=16", &volatile).to_string();
    assert!(!function.contains("LDS.64"), "{function}");
}
