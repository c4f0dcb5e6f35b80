//! Small functions, before and after.

use crate::tests::{options, run};
use crate::{abi, allocate};
use expect_test::{Expect, expect};
use oriole_chip::Chip;
use oriole_options::{AllocateOptions, Options};
use oriole_ori::parse::parse;
use oriole_ori::{File, Value};
use typed_index_collections::TiVec;

/// Prints the expanded function with physical registers.
pub(super) fn show(text: &str, limit: Option<u16>, expected: Expect) {
    show_with(text, &options(limit), expected);
}

fn show_with(text: &str, options: &AllocateOptions, expected: Expect) {
    let function = parse(text).expect("test input parses");
    let (mut function, assignment) = allocate(function.clone(), Chip::SM_90, options).expect("allocation");
    // Values with one register become one value named after it, so that the text shows registers.
    let mut renamed = function.clone();
    let registers = assignment.registers.clone();
    let rename = |v: &mut Value, file: File| {
        let register = registers[*v].expect("a register");
        let base = match file {
            File::R => 0,
            File::UR => 256,
            File::P => 320,
            File::UP => 328,
            File::B => 336,
        };
        *v = Value(base + u32::from(register));
    };
    for block in &mut renamed.blocks {
        for instruction in &mut block.instructions {
            if let Some(guard) = &mut instruction.guard {
                let file = function.file(guard.value);
                rename(&mut guard.value, file);
            }
            for destination in &mut instruction.destinations {
                let file = destination.file;
                destination.values.iter_mut().for_each(|v| rename(v, file));
            }
            for source in &mut instruction.sources {
                source.for_each_value_mut(|v| {
                    let file = function.file(*v);
                    rename(v, file);
                });
            }
        }
    }
    let mut values = TiVec::new();
    for (file, count) in [(File::R, 256), (File::UR, 64), (File::P, 8), (File::UP, 8), (File::B, 16)] {
        values.extend((0..count).map(|_| oriole_ori::ValueData { file, source: None }));
    }
    renamed.values = values;
    function = renamed;
    let body: String = function
        .to_string()
        .lines()
        .filter(|line| !line.trim_start().starts_with("value "))
        .map(|line| format!("{line}\n"))
        .collect();
    let text = format!("registers={} frame={}\n{body}", assignment.general_registers, assignment.frame_bytes);
    expected.assert_eq(&text);
}

/// The accumulators of a `wgmma` are its result: they count once, and a limit that they fit into holds.
#[test]
fn accumulators_count_once() {
    let accumulators: Vec<String> = (0..64).map(|k| format!("r{k}")).collect();
    let (all, others) = (accumulators.join(" "), 100..140);
    let mut text = String::from("kernel params=0 barriers=0\nb0:\n  {u90 u91 u92 u93} = Undefined ; 0\n");
    for register in (0..64).chain(others.clone()) {
        text += &format!("  r{register} = LDS [{:#x}] mem(shared r) ; 0\n", 4 * register);
    }
    let sources = format!("{{u90 u91 u92 u93}}, {{{all}}}, UPT, %(gsb0) mem(shared r)");
    text += &format!("  {{{all}}} = HGMMA.64x128x16.F32 {sources} ; 1\n");
    for register in (0..64).chain(others) {
        text += &format!("  STS [{:#x}], r{register} mem(shared w) ; 2\n", 4 * register);
    }
    text += "  EXIT ; 3\n";
    let function = parse(&text).expect("test input parses");
    let (_, assignment) = allocate(function, Chip::SM_90, &options(Some(96))).expect("allocation");
    assert_eq!(assignment.general_registers, 96);
}

/// The left factor of the widest f64 MMA is aligned to sixteen registers, the others to eight.
#[test]
fn the_widest_factor_has_its_own_alignment() {
    let tuple = |from: u32, count: u32| {
        let registers: Vec<String> = (from..from + count).map(|k| format!("r{k}")).collect();
        format!("{{{}}}", registers.join(" "))
    };
    let (left, right, sum) = (tuple(10, 16), tuple(30, 8), tuple(40, 8));
    let mut text = String::from("kernel params=0 barriers=0\nb0:\n  r0 = S2R %(SR_TID.X) ; 0\n");
    for register in (10..26).chain(30..38).chain(40..48) {
        text += &format!("  r{register} = LDS [r0+{:#x}] mem(shared r) ; 0\n", 4 * register);
    }
    text += &format!("  {sum} = DMMA.16x8x16 {left}, {right}, {sum} ; 1\n");
    (40..48).for_each(|k| text += &format!("  STS [r0+{:#x}], r{k} mem(shared w) ; 2\n", 4 * k));
    text += "  EXIT ; 3\n";
    let function = parse(&text).expect("test input parses");
    let (_, assignment) = allocate(function, Chip::SM_90, &options(None)).expect("allocation");
    let register = |value: u32| assignment.registers[Value(value)].expect("a register");
    assert_eq!((register(10) % 16, register(30) % 8, register(40) % 8), (0, 0, 0));
}

/// In a chain of multiply-adds the two factors are in different banks.
#[test]
fn what_is_read_together_lies_in_both_banks() {
    let mut text = String::from("kernel params=0 barriers=0\nb0:\n  r0 = S2R %(SR_TID.X) ; 0\n");
    text += "  {r1 r2 r3 r4} = LDS.128 [r0] mem(shared r) ; 0\n";
    for (step, at) in (0..6).zip((10..).step_by(4)) {
        for k in 0..4 {
            let before = if step == 0 { 1 + k } else { at + k - 4 };
            text += &format!("  r{} = FFMA r{before}, r{}, 0x3f000000 ; 1\n", at + k, 1 + k);
        }
    }
    (0..4).for_each(|k| text += &format!("  STS [r0+{:#x}], r{} mem(shared w) ; 2\n", 4 * k, 30 + k));
    text += "  EXIT ; 3\n";
    let function = parse(&text).expect("test input parses");
    let (_, assignment) = allocate(function, Chip::SM_90, &options(None)).expect("allocation");
    let bank = |value: u32| assignment.registers[Value(value)].expect("a register") % 2;
    let apart = (14..34).filter(|&value| bank(value - 4) != bank(1 + (value - 10) % 4)).count();
    assert_eq!(apart, 20);
}

/// A copy and its source may share a register while both are read; the checker knows the content of the register.
#[test]
fn a_uniform_copy_shares_the_register_of_its_source() {
    show(
        "kernel params=0 barriers=0
b0:
  u0 = S2UR %(SR_CTAID.X) ; 0
  u1 = Copy u0 ; 1
  r2 = Copy u1 ; 2
  r3 = Copy u0 ; 3
  STS [0x0], r2 mem(shared w) ; 4
  STS [0x4], r3 mem(shared w) ; 5
  EXIT ; 6
",
        None,
        expect![[r#"
            registers=5 frame=0
            kernel params=0 barriers=0
            b0:
              u260 = S2UR %(SR_CTAID.X) ; 0
              r0 = Copy u260 ; 2
              r2 = Copy u260 ; 3
              STS [0x0], r0 mem(shared w) ; 4
              STS [0x4], r2 mem(shared w) ; 5
              EXIT ; 6
        "#]],
    );
}

#[test]
fn a_loop_keeps_its_counter_in_one_register() {
    show(
        "kernel params=8 barriers=0
b0: -> b1
  r0 = MOV 0x0 ; 0
  {r4 r5} = LDC.64 c[0][0x210] ; 0
  r1 = Copy r0 ; 0
b1: -> b1 b2
  r2 = IADD3 r1, 0x1, RZ ; 1
  p3, PT = ISETP.AND.GE r2, 0x10, PT ; 2
  r1 = ParallelCopy r2 ; 2
  @!p3 BRA b1 ; 3
b2:
  STG.E [{r4 r5}], r1 mem(global w) ; 4
  EXIT ; 5
",
        None,
        expect![[r#"
            registers=6 frame=0
            kernel params=8 barriers=0
            b0: -> b1
              r0 = MOV 0x0 ; 0
              {r2 r3} = LDC.64 c[0][0x210] ; 0
            b1: -> b1 b2
              r0 = IADD3 r0, 0x1, RZ ; 1
              p320, PT = ISETP.AND.GE r0, 0x10, PT ; 2
              @!p320 BRA b1 ; 3
            b2:
              STG.E [{r2 r3}], r0 mem(global w) ; 4
              EXIT ; 5
        "#]],
    );
}

#[test]
fn a_kernel_that_calls_keeps_values_in_saved_registers() {
    show(
        "kernel params=8 barriers=0
  symbol s0 function \"f\"
b0:
  r0 = S2R %(SR_TID.X) ; 0
  r1$4 = Call r0$4 call(s0 stack=0 clobbers=f0f0f0f0030fff9,f0f0f0f0f0f0f0f,f0f0f0f0f0f0f0f,f0f0f0f0f0f0f0f predicates=7f uniform) ; 1
  r2 = IADD3 r0, r1, RZ ; 2
  STS [r2], r2 mem(shared w) ; 3
  EXIT ; 4
",
        None,
        expect![[r#"
            registers=24 frame=0
            kernel params=8 barriers=0
              symbol s0 function "f"
            b0:
              r1 = LDC c[0][0x28] ; 0
              r2 = S2R %(SR_TID.X) ; 0
              r4 = Copy r2 ; 1
              r20 = Copy return_address(low) ; 1
              r21 = Copy return_address(high) ; 1
              CALL.NOINC.REL callee(s0) call(s0 stack=0 clobbers=f0f0f0f0030fff9,f0f0f0f0f0f0f0f,f0f0f0f0f0f0f0f,f0f0f0f0f0f0f0f predicates=7f uniform arguments=300010,0,0,0,0) ; 1
              r2 = IADD3 r2, r4, RZ ; 2
              STS [r2], r2 mem(shared w) ; 3
              EXIT ; 4
        "#]],
    );
}

#[test]
fn a_part_of_the_warp_keeps_uniform_registers_of_the_others() {
    // u4 is dead where some lanes write u5; the others read it afterwards.
    show(
        "kernel params=8 barriers=0
b0: -> b1 b2
  r0 = S2R %(SR_TID.X) ; 0
  u4 = ULDC c[0][0x210] ; 0
  p1, PT = ISETP.AND.LT r0, 0x3, PT ; 0
  @p1 BRA b2 ; 0
b1: -> b3
  u5 = Copy r0 ; 1
  r3 = Copy u5 ; 1
  STS [r0], r3 mem(shared w) ; 1
  BRA b3 ; 1
b2: -> b3
  r6 = IADD3 r0, u4, RZ ; 2
  STS [r0], r6 mem(shared w) ; 2
b3:
  EXIT ; 3
",
        None,
        expect![[r#"
            registers=5 frame=0
            kernel params=8 barriers=0
            b0: -> b2 b1
              r0 = S2R %(SR_TID.X) ; 0
              u260 = ULDC c[0][0x210] ; 0
              p320, PT = ISETP.AND.LT r0, 0x3, PT ; 0
              @p320 BRA b1 ; 0
            b1: -> b3
              r2 = IADD3 r0, u260, RZ ; 2
              STS [r0], r2 mem(shared w) ; 2
              BRA b3 ; 2
            b2: -> b3
              u261 = Copy r0 ; 1
              r2 = Copy u261 ; 1
              STS [r0], r2 mem(shared w) ; 1
            b3:
              EXIT ; 3
        "#]],
    );
}

#[test]
fn a_reduction_in_a_part_of_the_warp_keeps_uniform_registers_of_the_others() {
    // The same where nothing is copied: lanes reduce.
    show(
        "kernel params=8 barriers=0
b0: -> b1 b2
  r0 = S2R %(SR_TID.X) ; 0
  u4 = ULDC c[0][0x210] ; 0
  p1, PT = ISETP.AND.LT r0, 0x3, PT ; 0
  @p1 BRA b2 ; 0
b1: -> b3
  u5 = REDUX.SUM r0 ; 1
  r3 = Copy u5 ; 1
  STS [r0], r3 mem(shared w) ; 1
  BRA b3 ; 1
b2: -> b3
  r6 = IADD3 r0, u4, RZ ; 2
  STS [r0], r6 mem(shared w) ; 2
b3:
  EXIT ; 3
",
        None,
        expect![[r#"
            registers=5 frame=0
            kernel params=8 barriers=0
            b0: -> b2 b1
              r0 = S2R %(SR_TID.X) ; 0
              u260 = ULDC c[0][0x210] ; 0
              p320, PT = ISETP.AND.LT r0, 0x3, PT ; 0
              @p320 BRA b1 ; 0
            b1: -> b3
              r2 = IADD3 r0, u260, RZ ; 2
              STS [r0], r2 mem(shared w) ; 2
              BRA b3 ; 2
            b2: -> b3
              u261 = REDUX.SUM r0 ; 1
              r2 = Copy u261 ; 1
              STS [r0], r2 mem(shared w) ; 1
            b3:
              EXIT ; 3
        "#]],
    );
}

#[test]
fn what_a_routine_does_not_state_survives_its_call() {
    // r0 is in a register that the call preserves; on the path around it nothing moves.
    show(
        "kernel params=8 barriers=0
  symbol s0 helper \"oriole.routine\"
b0: -> b2 b1
  r0 = S2R %(SR_TID.X) ; 0
  r1 = S2R %(SR_TID.Y) ; 0
  p2, PT = ISETP.AND.LT.U32 r0, r1, PT ; 0
  p3, PT = ISETP.AND.LT.U32 r0, 0x5, PT ; 0
  @p2 BRA b2 ; 1
b1: -> b2
  {r4 r1} = CallHelper r0, {r1 r0} call(s0 stack=0 clobbers=ffd,0,0,0 predicates=3) ; 2
b2:
  @p3 STS [r0], r1 mem(shared w) ; 3
  STS [r0+0x4], r1 mem(shared w) ; 3
  EXIT ; 4
",
        None,
        expect![[r#"
            registers=16 frame=0
            kernel params=8 barriers=0
              symbol s0 helper "oriole.routine"
            b0: -> b2 b1
              r13 = S2R %(SR_TID.X) ; 0
              r5 = S2R %(SR_TID.Y) ; 0
              p320, PT = ISETP.AND.LT.U32 r13, r5, PT ; 0
              p322, PT = ISETP.AND.LT.U32 r13, 0x5, PT ; 0
              @p320 BRA b2 ; 1
            b1: -> b2
              r6 = Copy r5 ; 2
              r7 = Copy r13 ; 2
              r4 = Copy r13 ; 2
              r2 = Copy return_address(low) ; 2
              CALL.NOINC.REL callee(s0) call(s0 stack=0 clobbers=ffd,0,0,0 predicates=3 arguments=d4,0,0,0,0) ; 2
            b2:
              @p322 STS [r13], r5 mem(shared w) ; 3
              STS [r13+0x4], r5 mem(shared w) ; 3
              EXIT ; 4
        "#]],
    );
}

#[test]
fn what_lives_across_a_routine_is_where_it_leaves_it() {
    // The sum and the address avoid the clobbers of the routine, and its argument is where it takes it: no moves.
    show(
        "kernel params=8 barriers=0
  symbol s0 helper \"oriole.routine\"
b0:
  r0 = S2R %(SR_TID.X) ; 0
  r1 = LDS [r0] mem(shared r) ; 1
  r2 = LDS [r0+0x4] mem(shared r) ; 1
  r3 = IADD3 r1, r2, RZ ; 1
  r4 = CallHelper r2 call(s0 stack=0 clobbers=ffd,0,0,0 predicates=3) ; 2
  r5 = IADD3 r3, r4, RZ ; 3
  STS [r0], r5 mem(shared w) ; 3
  EXIT ; 4
",
        None,
        expect![[r#"
            registers=16 frame=0
            kernel params=8 barriers=0
              symbol s0 helper "oriole.routine"
            b0:
              r12 = S2R %(SR_TID.X) ; 0
              r0 = LDS [r12] mem(shared r) ; 1
              r4 = LDS [r12+0x4] mem(shared r) ; 1
              r13 = IADD3 r0, r4, RZ ; 1
              r2 = Copy return_address(low) ; 2
              CALL.NOINC.REL callee(s0) call(s0 stack=0 clobbers=ffd,0,0,0 predicates=3 arguments=14,0,0,0,0) ; 2
              r13 = IADD3 r13, r4, RZ ; 3
              STS [r12], r13 mem(shared w) ; 3
              EXIT ; 4
        "#]],
    );
}

#[test]
fn a_barrier_around_a_routine_is_none_of_the_routine() {
    // B0 serves the second region, which calls nothing.
    show(
        "kernel params=8 barriers=0
  symbol s0 helper \"oriole.routine\"
b0: -> b2 b1
  r0 = S2R %(SR_TID.X) ; 0
  x1 = BSSY b2 ; 1
  p2, PT = ISETP.AND.LT.U32 r0, 0x5, PT ; 1
  @p2 BRA b2 ; 1
b1: -> b2
  r3 = CallHelper r0 call(s0 stack=0 clobbers=ffd,0,0,0 predicates=3) ; 2
  STS [0x0], r3 mem(shared w) ; 2
b2: -> b4 b3
  BSYNC x1 ; 3
  x4 = BSSY b4 ; 3
  p5, PT = ISETP.AND.LT.U32 r0, 0x9, PT ; 3
  @p5 BRA b4 ; 3
b3: -> b4
  STS [0x4], r0 mem(shared w) ; 4
b4:
  BSYNC x4 ; 5
  EXIT ; 5
",
        None,
        expect![[r#"
            registers=15 frame=0
            kernel params=8 barriers=0
              symbol s0 helper "oriole.routine"
            b0: -> b2 b1
              r12 = S2R %(SR_TID.X) ; 0
              x337 = BSSY b2 ; 1
              p320, PT = ISETP.AND.LT.U32 r12, 0x5, PT ; 1
              @p320 BRA b2 ; 1
            b1: -> b2
              r4 = Copy r12 ; 2
              r2 = Copy return_address(low) ; 2
              CALL.NOINC.REL callee(s0) call(s0 stack=0 clobbers=ffd,0,0,0 predicates=3 arguments=14,0,0,0,0) ; 2
              STS [0x0], r4 mem(shared w) ; 2
            b2: -> b4 b3
              BSYNC x337 ; 3
              x336 = BSSY b4 ; 3
              p320, PT = ISETP.AND.LT.U32 r12, 0x9, PT ; 3
              @p320 BRA b4 ; 3
            b3: -> b4
              STS [0x4], r12 mem(shared w) ; 4
            b4:
              BSYNC x336 ; 5
              EXIT ; 5
        "#]],
    );
}

#[test]
fn a_function_saves_what_a_routine_may_overwrite() {
    show(
        "function params=4 barriers=0
  symbol s0 helper \"oriole.routine\"
b0:
  r0$4 = Parameters ; 0
  r1 = CallHelper r0 call(s0 stack=0 clobbers=3fffd,0,0,0 predicates=3) ; 1
  r2 = IADD3 r0, r1, RZ ; 2
  Return r2$4 ; 3
",
        None,
        expect![[r#"
            registers=24 frame=16
            function params=4 barriers=0
              symbol s0 helper "oriole.routine"
            b0:
              r1 = IADD3 r1, 0xfffffff0, RZ ; 0
              STL [r1], r2 mem(spill w) ; 0
              STL [r1+0x4], r16 mem(spill w) ; 0
              STL [r1+0x8], r17 mem(spill w) ; 0
              STL [r1+0xc], r18 mem(spill w) ; 0
              r18 = Copy r4 ; 1
              r2 = Copy return_address(low) ; 1
              CALL.NOINC.REL callee(s0) call(s0 stack=0 clobbers=3fffd,0,0,0 predicates=3 arguments=14,0,0,0,0) ; 1
              r4 = IADD3 r18, r4, RZ ; 2
              r2 = LDL [r1] mem(spill r) ; 3
              r16 = LDL [r1+0x4] mem(spill r) ; 3
              r17 = LDL [r1+0x8] mem(spill r) ; 3
              r18 = LDL [r1+0xc] mem(spill r) ; 3
              r1 = IADD3 r1, 0x10, RZ ; 3
              RET.NODEC.REL {r20 r21}, kernel_start ; 3
        "#]],
    );
}

#[test]
fn a_routine_goes_back_and_saves_nothing() {
    show(
        "routine params=0 barriers=0 clobbers=fd predicates=3
b0:
  r0, {r1 r2} = Parameters ; 0
  r3 = IADD3 r0, r1, r2 ; 1
  p4, PT = ISETP.AND.LT.U32 r3, r2, PT ; 1
  r5 = SEL r3, r0, p4 ; 1
  Return {r5 r3} ; 2
",
        Some(200),
        expect![[r#"
            registers=10 frame=0
            routine params=0 barriers=0 clobbers=fd predicates=3
            b0:
              r0 = IADD3 r4, r6, r7 ; 1
              p320, PT = ISETP.AND.LT.U32 r0, r7, PT ; 1
              r4 = SEL r0, r4, p320 ; 1
              r5 = Copy r0 ; 2
              r3 = Copy RZ ; 2
              RET.NODEC.REL {r2 r3}, kernel_start ; 2
        "#]],
    );
}

#[test]
fn a_routine_that_does_not_keep_its_word_is_refused() {
    let refusal = |text: &str| {
        let function = oriole_ori::parse(text).expect("the text is well-formed");
        allocate(function, Chip::SM_90, &options(None)).expect_err("it is refused").to_string()
    };
    let needs = |clobbers: &str, more: &str| {
        refusal(&format!(
            "routine params=0 barriers=0 clobbers={clobbers} predicates=1\nb0:\n  r0, r1, r2, r3 = Parameters ; 0\n{more}  \
             r4 = IADD3 r0, r1, r2 ; 0\n  r5 = IADD3 r4, r3, r0 ; 0\n  r6 = IADD3 r4, r2, r1 ; 0\n  \
             Return r5, r6, r4, r3, r2 ; 0\n"
        ))
    };
    // Not enough registers for its own words; no place for the return address; a uniform register.
    let all = [needs("3d", ""), needs("fff1", ""), needs("fffd", "  u7 = UMOV 0x0 ; 0\n")];
    expect![[r#"
        register allocation is wrong: a routine overwrites registers of file R that it does not state
        register allocation is wrong: a routine has a frame, or states no return address
        register allocation is wrong: a routine overwrites registers of file UR that it does not state
    "#]]
    .assert_eq(&(all.join("\n") + "\n"));
}

/// Callers keep values in uniform registers across calls, and no function saves one.
#[test]
fn functions_take_no_uniform_registers_of_their_callers() {
    let many = 0..40;
    let mut text = String::from("function params=0 barriers=0\nb0:\n");
    for k in many.clone() {
        text += &format!("  u{k} = S2UR %(SR_CTAID.X) ; 0\n");
    }
    for k in many {
        text += &format!("  r{} = Copy u{k} ; 1\n  STS [0x0], r{0} mem(shared w) ; 1\n", 100 + k);
    }
    text += "  Return ; 2\n";
    let highest = |text: &str| {
        let (_, allocation, problems) = run(&parse(text).expect("test input parses"), None).expect("it fits");
        assert_eq!(problems, []);
        let function = &allocation.function;
        let uniform = function.values.iter_enumerated().filter(|(_, data)| data.file == File::UR);
        uniform.filter_map(|(value, _)| allocation.assignment.registers[value]).max()
    };
    assert!(highest(&text) < Some(abi::FIRST_SAVED_UNIFORM), "{:?}", highest(&text));
    let of_kernel = text.replace("function", "kernel").replace("Return", "EXIT");
    assert_eq!(highest(&of_kernel), Some(43));
}

#[test]
fn a_function_saves_what_it_uses_and_its_return_address() {
    show(
        "function params=4 barriers=0
  symbol s0 function \"f\"
b0:
  r0$4 = Parameters ; 0
  r1$4 = Call r0$4 call(s0 stack=0 clobbers=f0f0f0f0030fff9,f0f0f0f0f0f0f0f,f0f0f0f0f0f0f0f,f0f0f0f0f0f0f0f predicates=7f uniform) ; 1
  r2 = IADD3 r0, r1, RZ ; 2
  Return r2$4 ; 3
",
        None,
        expect![[r#"
            registers=24 frame=16
            function params=4 barriers=0
              symbol s0 function "f"
            b0:
              r1 = IADD3 r1, 0xfffffff0, RZ ; 0
              STL [r1], r2 mem(spill w) ; 0
              STL [r1+0x4], r16 mem(spill w) ; 0
              STL [r1+0x8], r17 mem(spill w) ; 0
              r2 = Copy r4 ; 1
              r16 = Copy r20 ; 1
              r17 = Copy r21 ; 1
              r20 = Copy return_address(low) ; 1
              r21 = Copy return_address(high) ; 1
              CALL.NOINC.REL callee(s0) call(s0 stack=0 clobbers=f0f0f0f0030fff9,f0f0f0f0f0f0f0f,f0f0f0f0f0f0f0f,f0f0f0f0f0f0f0f predicates=7f uniform arguments=300010,0,0,0,0) ; 1
              r4 = IADD3 r2, r4, RZ ; 2
              r20 = Copy r16 ; 3
              r21 = Copy r17 ; 3
              r2 = LDL [r1] mem(spill r) ; 3
              r16 = LDL [r1+0x4] mem(spill r) ; 3
              r17 = LDL [r1+0x8] mem(spill r) ; 3
              r1 = IADD3 r1, 0x10, RZ ; 3
              RET.NODEC.REL {r20 r21}, kernel_start ; 3
        "#]],
    );
}

#[test]
fn copies_that_form_a_cycle_change_places() {
    show(
        "kernel params=0 barriers=0
b0: -> b1
  r0 = S2R %(SR_TID.X) ; 0
  r1 = S2R %(SR_TID.Y) ; 0
b1: -> b1 b2
  STS [r0], r1 mem(shared w) ; 1
  p2, PT = ISETP.AND.GE r0, r1, PT ; 2
  r0, r1 = ParallelCopy r1, r0 ; 3
  @p2 BRA b1 ; 4
b2:
  EXIT ; 5
",
        None,
        expect![[r#"
            registers=6 frame=0
            kernel params=0 barriers=0
            b0: -> b1
              r0 = S2R %(SR_TID.X) ; 0
              r3 = S2R %(SR_TID.Y) ; 0
            b1: -> b1 b2
              STS [r0], r3 mem(shared w) ; 1
              p320, PT = ISETP.AND.GE r0, r3, PT ; 2
              r2 = Copy r0 ; 3
              r0 = Copy r3 ; 3
              r3 = Copy r2 ; 3
              @p320 BRA b1 ; 4
            b2:
              EXIT ; 5
        "#]],
    );
}

/// An edge block without moves is removed: the latch branches to its header. A branch to the next block is inverted,
/// so that it falls through.
#[test]
fn empty_edge_blocks_go() {
    show(
        "kernel params=8 barriers=0
b0: -> b1
  r0 = MOV 0x0 ; 0
  {r4 r5} = LDC.64 c[0][0x210] ; 0
  r1 = Copy r0 ; 0
b1: -> b2 b3
  r2 = IADD3 r1, 0x1, RZ ; 1
  p3, PT = ISETP.AND.GE r2, 0x10, PT ; 2
  @p3 BRA b2 ; 3
b2:
  STG.E [{r4 r5}], r2 mem(global w) ; 4
  EXIT ; 5
b3: -> b1
  r1 = ParallelCopy r2 ; 2
",
        None,
        expect![[r#"
            registers=6 frame=0
            kernel params=8 barriers=0
            b0: -> b1
              r0 = MOV 0x0 ; 0
              {r2 r3} = LDC.64 c[0][0x210] ; 0
            b1: -> b1 b2
              r0 = IADD3 r0, 0x1, RZ ; 1
              p320, PT = ISETP.AND.GE r0, 0x10, PT ; 2
              @!p320 BRA b1 ; 3
            b2:
              STG.E [{r2 r3}], r0 mem(global w) ; 4
              EXIT ; 5
        "#]],
    );
}

/// In unoptimized code a redundant copy, or a jump to the next block, stays if it is all that is left of a statement.
#[test]
fn statements_have_code_of_their_own() {
    let text = "kernel params=8 barriers=0
b0: -> b1
  {r0 r1} = LDC.64 c[0][0x210] ; 0
  r2 = Copy r0 ; 1
  r3 = Copy r1 ; 1
  BRA b1 ; 2
b1: -> b2
  r4 = S2R %(SR_TID.X) ; 3
  r5 = Copy r4 ; 3
  r6 = ParallelCopy r5 ; 4
  BRA b2 ; 4
b2: -> b4 b3
  p7, PT = ISETP.AND.GE r6, 0x10, PT ; 5
  p8 = Copy p7 ; 6
  @p8 BRA b4 ; 7
  BRA b3 ; 8
b3: -> b4
  STG.E [{r2 r3}], r6 mem(global w) ; 9
  BRA b4 ; 9
b4:
  EXIT ; 10
";
    show_with(
        text,
        &AllocateOptions { check: true, ..at_level(0).allocate() },
        expect![[r#"
        registers=6 frame=0
        kernel params=8 barriers=0
        b0: -> b1
          {r2 r3} = LDC.64 c[0][0x210] ; 0
          r2 = Copy r2 ; 1
          BRA b1 ; 2
        b1: -> b2
          r0 = S2R %(SR_TID.X) ; 3
          BRA b2 ; 4
        b2: -> b4 b3
          p320, PT = ISETP.AND.GE r0, 0x10, PT ; 5
          p320 = Copy p320 ; 6
          @p320 BRA b4 ; 7
          BRA b3 ; 8
        b3: -> b4
          STG.E [{r2 r3}], r0 mem(global w) ; 9
        b4:
          EXIT ; 10
    "#]],
    );
    show_with(
        text,
        &AllocateOptions { check: true, ..at_level(1).allocate() },
        expect![[r#"
        registers=6 frame=0
        kernel params=8 barriers=0
        b0: -> b1
          {r2 r3} = LDC.64 c[0][0x210] ; 0
        b1: -> b2
          r0 = S2R %(SR_TID.X) ; 3
        b2: -> b4 b3
          p320, PT = ISETP.AND.GE r0, 0x10, PT ; 5
          @p320 BRA b4 ; 7
        b3: -> b4
          STG.E [{r2 r3}], r0 mem(global w) ; 9
        b4:
          EXIT ; 10
    "#]],
    );
}

/// A register is written again late, so that the schedule after allocation is free to move what writes it.
#[test]
fn values_take_the_registers_in_turn() {
    let text = "kernel params=8 barriers=0
b0:
  {r0 r1} = LDC.64 c[0][0x210] ; 0
  r2 = LDG.E [{r0 r1}] mem(global r) ; 1
  r3 = IADD3 r2, 0x1, RZ ; 2
  r4 = LDG.E [{r0 r1} + 0x4] mem(global r) ; 3
  r5 = IADD3 r4, r3, RZ ; 4
  r6 = LDG.E [{r0 r1} + 0x8] mem(global r) ; 5
  r7 = IADD3 r6, r5, RZ ; 6
  STG.E [{r0 r1}], r7 mem(global w) ; 7
  EXIT ; 8
";
    let options = Options::default().allocate();
    let once = AllocateOptions { check: true, improve: false, rename: false, ..options };
    show_with(
        text,
        &once,
        expect![[r#"
        registers=7 frame=0
        kernel params=8 barriers=0
        b0:
          {r2 r3} = LDC.64 c[0][0x210] ; 0
          r0 = LDG.E [{r2 r3}] mem(global r) ; 1
          r0 = IADD3 r0, 0x1, RZ ; 2
          r4 = LDG.E [{r2 r3}+0x4] mem(global r) ; 3
          r4 = IADD3 r4, r0, RZ ; 4
          r0 = LDG.E [{r2 r3}+0x8] mem(global r) ; 5
          r0 = IADD3 r0, r4, RZ ; 6
          STG.E [{r2 r3}], r0 mem(global w) ; 7
          EXIT ; 8
    "#]],
    );
    show_with(
        text,
        &AllocateOptions { in_turn: true, enough: Some(16), ..once },
        expect![[r#"
        registers=8 frame=0
        kernel params=8 barriers=0
        b0:
          {r2 r3} = LDC.64 c[0][0x210] ; 0
          r0 = LDG.E [{r2 r3}] mem(global r) ; 1
          r0 = IADD3 r0, 0x1, RZ ; 2
          r5 = LDG.E [{r2 r3}+0x4] mem(global r) ; 3
          r5 = IADD3 r5, r0, RZ ; 4
          r4 = LDG.E [{r2 r3}+0x8] mem(global r) ; 5
          r4 = IADD3 r4, r5, RZ ; 6
          STG.E [{r2 r3}], r4 mem(global w) ; 7
          EXIT ; 8
    "#]],
    );
}

/// Options for a level.
fn at_level(level: u8) -> Options {
    let mut options = Options::default();
    options.level = level;
    options
}

/// A thread that starts with 40 registers cannot release some and have 48.
#[test]
fn registers_given_back_are_no_more_than_there_are() {
    let allocated = |count: u32, limit: Option<u16>| {
        let text = format!(
            "kernel params=8 barriers=0 registers=40\nb0:\n  USETMAXREG.CTAPOOL.DEALLOC #{count} ; 3\n  EXIT ; 4\n"
        );
        let function = parse(&text).expect("test input parses");
        allocate(function, Chip::SM_90, &options(limit)).map(|(_, assignment)| assignment.general_registers)
    };
    let error = allocated(48, None).expect_err("more than there are");
    assert_eq!(error, crate::AllocateError::Raised { statement: 3, asked: 48, held: 40 });
    assert_eq!(error.to_string(), "`setmaxnreg.dec` to 48 registers where a thread has 40");
    assert_eq!(allocated(40, None).expect("as many"), 40);
    // The kernel states with how many it starts: an option does not change that.
    assert_eq!(allocated(40, Some(32)).expect("as stated"), 40);
}

#[test]
fn values_leave_registers_that_are_given_back() {
    // Some of 28 values do not fit the 24 remaining registers.
    let count = 28;
    let loads: String =
        (1..=count).map(|r| format!("  r{r} = LDS [r0+0x{:x}] mem(shared r) ; 0\n", 4 * r)).collect();
    let stores: String = (1..=count).map(|r| format!("  STS [r0], r{r} mem(shared w) ; 2\n")).collect();
    let text = format!(
        "kernel params=8 barriers=0 registers=128\nb0:\n  r0 = S2R %(SR_TID.X) ; 0\n{loads}  \
         USETMAXREG.CTAPOOL.DEALLOC #24 ; 1\n{stores}  EXIT ; 3\n"
    );
    show(
        &text,
        None,
        expect![[r#"
            registers=128 frame=32
            kernel params=8 barriers=0 registers=128
            b0:
              r1 = LDC c[0][0x28] ; 0
              r1 = IADD3 r1, 0xffffffe0, RZ ; 0
              r0 = S2R %(SR_TID.X) ; 0
              r2 = LDS [r0+0x4] mem(shared r) ; 0
              r3 = LDS [r0+0x8] mem(shared r) ; 0
              r4 = LDS [r0+0xc] mem(shared r) ; 0
              r5 = LDS [r0+0x10] mem(shared r) ; 0
              r6 = LDS [r0+0x14] mem(shared r) ; 0
              r7 = LDS [r0+0x18] mem(shared r) ; 0
              r8 = LDS [r0+0x1c] mem(shared r) ; 0
              r9 = LDS [r0+0x20] mem(shared r) ; 0
              r10 = LDS [r0+0x24] mem(shared r) ; 0
              r11 = LDS [r0+0x28] mem(shared r) ; 0
              r12 = LDS [r0+0x2c] mem(shared r) ; 0
              r13 = LDS [r0+0x30] mem(shared r) ; 0
              r14 = LDS [r0+0x34] mem(shared r) ; 0
              r15 = LDS [r0+0x38] mem(shared r) ; 0
              r16 = LDS [r0+0x3c] mem(shared r) ; 0
              r17 = LDS [r0+0x40] mem(shared r) ; 0
              r18 = LDS [r0+0x44] mem(shared r) ; 0
              r19 = LDS [r0+0x48] mem(shared r) ; 0
              r20 = LDS [r0+0x4c] mem(shared r) ; 0
              r21 = LDS [r0+0x50] mem(shared r) ; 0
              STL [r1], r21 mem(spill w) ; 0
              r21 = LDS [r0+0x54] mem(shared r) ; 0
              STL [r1+0x4], r21 mem(spill w) ; 0
              r21 = LDS [r0+0x58] mem(shared r) ; 0
              STL [r1+0x8], r21 mem(spill w) ; 0
              r21 = LDS [r0+0x5c] mem(shared r) ; 0
              STL [r1+0xc], r21 mem(spill w) ; 0
              r21 = LDS [r0+0x60] mem(shared r) ; 0
              STL [r1+0x10], r21 mem(spill w) ; 0
              r21 = LDS [r0+0x64] mem(shared r) ; 0
              STL [r1+0x14], r21 mem(spill w) ; 0
              r21 = LDS [r0+0x68] mem(shared r) ; 0
              STL [r1+0x18], r21 mem(spill w) ; 0
              r21 = LDS [r0+0x6c] mem(shared r) ; 0
              STL [r1+0x1c], r21 mem(spill w) ; 0
              r21 = LDS [r0+0x70] mem(shared r) ; 0
              USETMAXREG.CTAPOOL.DEALLOC #24 ; 1
              STS [r0], r2 mem(shared w) ; 2
              STS [r0], r3 mem(shared w) ; 2
              STS [r0], r4 mem(shared w) ; 2
              STS [r0], r5 mem(shared w) ; 2
              STS [r0], r6 mem(shared w) ; 2
              STS [r0], r7 mem(shared w) ; 2
              STS [r0], r8 mem(shared w) ; 2
              STS [r0], r9 mem(shared w) ; 2
              STS [r0], r10 mem(shared w) ; 2
              STS [r0], r11 mem(shared w) ; 2
              STS [r0], r12 mem(shared w) ; 2
              STS [r0], r13 mem(shared w) ; 2
              STS [r0], r14 mem(shared w) ; 2
              STS [r0], r15 mem(shared w) ; 2
              STS [r0], r16 mem(shared w) ; 2
              STS [r0], r17 mem(shared w) ; 2
              STS [r0], r18 mem(shared w) ; 2
              STS [r0], r19 mem(shared w) ; 2
              STS [r0], r20 mem(shared w) ; 2
              r2 = LDL [r1] mem(spill r) ; 2
              STS [r0], r2 mem(shared w) ; 2
              r3 = LDL [r1+0x4] mem(spill r) ; 2
              STS [r0], r3 mem(shared w) ; 2
              r4 = LDL [r1+0x8] mem(spill r) ; 2
              STS [r0], r4 mem(shared w) ; 2
              r5 = LDL [r1+0xc] mem(spill r) ; 2
              STS [r0], r5 mem(shared w) ; 2
              r6 = LDL [r1+0x10] mem(spill r) ; 2
              STS [r0], r6 mem(shared w) ; 2
              r7 = LDL [r1+0x14] mem(spill r) ; 2
              STS [r0], r7 mem(shared w) ; 2
              r8 = LDL [r1+0x18] mem(spill r) ; 2
              STS [r0], r8 mem(shared w) ; 2
              r9 = LDL [r1+0x1c] mem(spill r) ; 2
              STS [r0], r9 mem(shared w) ; 2
              STS [r0], r21 mem(shared w) ; 2
              EXIT ; 3
        "#]],
    );
}

/// Accumulators and fragments that a loop carries stay in the registers of its header: no moves inside of the loop.
/// The fragment of the next iteration replaces the current one, since that is last read before; the result goes to
/// the accumulators, not to the free fragment.
#[test]
fn what_a_loop_carries_stays_in_its_place() {
    show(
        "kernel params=0 barriers=0
b0: -> b1
  r0 = S2R %(SR_TID.X) ; 0
  {r1 r2 r3 r4} = LDSM.16.M88.4 [r0] mem(shared r) ; 1
  {r5 r6} = LDSM.16.M88.2 [r0+0x40] mem(shared r) ; 2
  r10, r11, r12, r13, r14, r15, r16, r17 = ParallelCopy r1, r2, r3, r4, RZ, RZ, RZ, RZ ; 3
b1: -> b1 b2
  {r20 r21 r22 r23} = HMMA.16816.F32 {r10 r11 r12 r13}, {r5 r6}, {r14 r15 r16 r17} ; 4
  r30 = IADD3 r0, 0x80, RZ ; 5
  {r24 r25 r26 r27} = LDSM.16.M88.4 [r30] mem(shared r) ; 6
  p40, PT = ISETP.AND.GE r30, r24, PT ; 7
  r10, r11, r12, r13, r14, r15, r16, r17 = ParallelCopy r24, r25, r26, r27, r20, r21, r22, r23 ; 8
  @p40 BRA b1 ; 9
b2:
  STS.128 [r0], {r14 r15 r16 r17} mem(shared w) ; 10
  EXIT ; 11
",
        None,
        expect![[r#"
            registers=15 frame=0
            kernel params=0 barriers=0
            b0: -> b1
              r0 = S2R %(SR_TID.X) ; 0
              {r4 r5 r6 r7} = LDSM.16.4.M88 [r0] mem(shared r) ; 1
              {r2 r3} = LDSM.16.2.M88 [r0+0x40] mem(shared r) ; 2
              r8 = Copy RZ ; 3
              r9 = Copy RZ ; 3
              r10 = Copy RZ ; 3
              r11 = Copy RZ ; 3
            b1: -> b1 b2
              {r8 r9 r10 r11} = HMMA.16816.F32 {r4 r5 r6 r7}, {r2 r3}, {r8 r9 r10 r11} ; 4
              r12 = IADD3 r0, 0x80, RZ ; 5
              {r4 r5 r6 r7} = LDSM.16.4.M88 [r12] mem(shared r) ; 6
              p320, PT = ISETP.AND.GE r12, r4, PT ; 7
              @p320 BRA b1 ; 9
            b2:
              STS.128 [r0], {r8 r9 r10 r11} mem(shared w) ; 10
              EXIT ; 11
        "#]],
    );
}

/// Values that are live through a loop leave room for the predicates of the loop, and for one more.
#[test]
fn predicates_that_live_through_a_loop_stay_in_their_registers() {
    let put_away = |count: u32| {
        let mut text = String::from("kernel params=0 barriers=0\nb0: -> b1\n  r0 = S2R %(SR_TID.X) ; 0\n");
        for k in 1..=count {
            text += &format!("  p{k}, PT = ISETP.EQ.U32.AND r0, {k:#x}, PT ; 0\n");
        }
        text += "  r20 = MOV 0x0 ; 0\nb1: -> b1 b2\n  r20 = IADD3 r20, 0x1, RZ ; 1\n";
        text += "  p21, PT = ISETP.LT.AND r20, r0, PT ; 1\n  @p21 BRA b1 ; 1\nb2:\n";
        for k in 1..=count {
            text += &format!("  @p{k} STS [r0], r20 mem(shared w) ; 2\n");
        }
        let function = parse(&(text + "  EXIT ; 2\n")).expect("test input parses");
        let (_, allocation, problems) = run(&function, None).expect("allocation");
        assert!(problems.is_empty(), "{problems:?}");
        allocation.inserted.iter().flatten().any(|&inserted| inserted)
    };
    assert!(!put_away(4) && !put_away(5));
    assert!(put_away(6), "the loop would have none to spare");
}

/// Zeros that both sides of a branch write to the same registers are written before it; a pair of them together.
#[test]
fn constants_of_both_sides_are_made_before_the_branch() {
    show(
        "kernel params=0 barriers=0
b0: -> b1 b3
  r0 = S2R %(SR_TID.X) ; 0
  p2, PT = ISETP.AND.GE r0, 0x4, PT ; 1
  @p2 BRA b3 ; 2
b1: -> b2
  r10, r11 = ParallelCopy RZ, RZ ; 3
b2: -> b2 b4
  {r14 r15} = LDS.64 [r0] mem(shared r) ; 4
  r16 = FADD r10, r14 ; 4
  r17 = FADD r11, r15 ; 5
  p3, PT = ISETP.AND.GE r0, r16, PT ; 6
  r10, r11 = ParallelCopy r16, r17 ; 7
  @p3 BRA b2 ; 8
b3: -> b5
  r20, r21 = ParallelCopy RZ, RZ ; 9
b4: -> b5
  r20, r21 = ParallelCopy r10, r11 ; 9
b5:
  STS.64 [r0], {r20 r21} mem(shared w) ; 10
  EXIT ; 11
",
        None,
        expect![[r#"
            registers=8 frame=0
            kernel params=0 barriers=0
            b0: -> b2 b1
              r0 = S2R %(SR_TID.X) ; 0
              p320, PT = ISETP.AND.GE r0, 0x4, PT ; 1
              r2 = Copy RZ ; 3
              r3 = Copy RZ ; 3
              @!p320 BRA b2 ; 2
            b1: -> b1 b2
              {r4 r5} = LDS.64 [r0] mem(shared r) ; 4
              r2 = FADD r2, r4 ; 4
              r3 = FADD r3, r5 ; 5
              p320, PT = ISETP.AND.GE r0, r2, PT ; 6
              @p320 BRA b1 ; 8
            b2:
              STS.64 [r0], {r2 r3} mem(shared w) ; 10
              EXIT ; 11
        "#]],
    );
}

/// The move of a back edge is before the branch, if the other path does not read the overwritten register; otherwise
/// in a block of its own.
#[test]
fn moves_of_a_back_edge_stand_before_its_branch() {
    let with = |stored: &str| {
        format!(
            "kernel params=8 barriers=0
b0: -> b1
  r0 = S2R %(SR_TID.X) ; 0
  r1 = Copy r0 ; 0
b1: -> b3 b2
  r2 = IADD3 r1, 0x1, RZ ; 1
  STS [r1], r2 mem(shared w) ; 2
  p3, PT = ISETP.AND.GE r2, 0x10, PT ; 3
  STS [r2], r1 mem(shared w) ; 4
  @!p3 BRA b3 ; 5
b2:
  STS [r2], {stored} mem(shared w) ; 6
  EXIT ; 7
b3: -> b1
  r1 = ParallelCopy r2 ; 5
"
        )
    };
    show(
        &with("r2"),
        None,
        expect![[r#"
        registers=5 frame=0
        kernel params=8 barriers=0
        b0: -> b1
          r0 = S2R %(SR_TID.X) ; 0
        b1: -> b1 b2
          r2 = IADD3 r0, 0x1, RZ ; 1
          STS [r0], r2 mem(shared w) ; 2
          p320, PT = ISETP.AND.GE r2, 0x10, PT ; 3
          STS [r2], r0 mem(shared w) ; 4
          r0 = Copy r2 ; 5
          @!p320 BRA b1 ; 5
        b2:
          STS [r2], r2 mem(shared w) ; 6
          EXIT ; 7
    "#]],
    );
    show(
        &with("r1"),
        None,
        expect![[r#"
        registers=5 frame=0
        kernel params=8 barriers=0
        b0: -> b1
          r0 = S2R %(SR_TID.X) ; 0
        b1: -> b3 b2
          r2 = IADD3 r0, 0x1, RZ ; 1
          STS [r0], r2 mem(shared w) ; 2
          p320, PT = ISETP.AND.GE r2, 0x10, PT ; 3
          STS [r2], r0 mem(shared w) ; 4
          @!p320 BRA b3 ; 5
        b2:
          STS [r2], r0 mem(shared w) ; 6
          EXIT ; 7
        b3: -> b1
          r0 = Copy r2 ; 5
          BRA b1 ; 5
    "#]],
    );
}

/// A loop that is left by ending the thread iterates by the branch alone.
#[test]
fn a_loop_that_ends_the_thread_branches_back() {
    show(
        "kernel params=8 barriers=0
b0: -> b1
  r0 = S2R %(SR_TID.X) ; 0
b1: -> b1
  r0 = IADD3 r0, 0x1, RZ ; 1
  STS [r0], r0 mem(shared w) ; 2
  p1, PT = ISETP.AND.GE r0, 0x10, PT ; 3
  @p1 EXIT ; 4
  BRA b1 ; 5
",
        None,
        expect![[r#"
            registers=4 frame=0
            kernel params=8 barriers=0
            b0: -> b1
              r0 = S2R %(SR_TID.X) ; 0
            b1: -> b1
              r0 = IADD3 r0, 0x1, RZ ; 1
              STS [r0], r0 mem(shared w) ; 2
              p320, PT = ISETP.AND.GE r0, 0x10, PT ; 3
              @!p320 BRA b1 ; 4
              EXIT ; 4
        "#]],
    );
}

/// Forty values go around a loop on two paths with twenty registers: copies between spilled ones are no code, since a
/// value and its copy share a word of the frame.
#[test]
fn spilled_values_and_their_copies_share_a_word() {
    use std::fmt::Write as _;
    const COUNT: usize = 40;
    let list = |first: usize| (first..first + COUNT).map(|r| format!("r{r}")).collect::<Vec<_>>().join(", ");
    let mut text = "kernel params=0 barriers=0\nb0: -> b1\n".to_owned();
    for r in 0..COUNT {
        let _ = writeln!(text, "  r{r} = S2R %(SR_TID.X) ; 0");
    }
    let _ = writeln!(text, "  {} = ParallelCopy {} ; 1", list(100), list(0));
    text += "b1: -> b2 b3\n  r90 = S2R %(SR_TID.Y) ; 2\n  p300, PT = ISETP.AND.GE r90, 0x10, PT ; 2\n  @p300 BRA b3 ; 2\n";
    let _ = writeln!(text, "b2: -> b4\n  {} = ParallelCopy {} ; 3\n  BRA b4 ; 3", list(200), list(100));
    let _ = writeln!(text, "b3: -> b4\n  r91 = IADD3 r100, 0x1, RZ ; 4");
    let changed = list(100).replacen("r100", "r91", 1);
    let _ = writeln!(text, "  {} = ParallelCopy {changed} ; 4", list(200));
    text += "b4: -> b5 b1\n  p301, PT = ISETP.AND.GE r200, 0x10, PT ; 5\n";
    let _ = writeln!(text, "  {} = ParallelCopy {} ; 5\n  @!p301 BRA b1 ; 5\nb5:", list(100), list(200));
    for r in 100..100 + COUNT {
        let _ = writeln!(text, "  STS [r100], r{r} mem(shared w) ; 6");
    }
    text += "  EXIT ; 7\n";
    let function = parse(&text).expect("test input parses");
    let (function, assignment) = allocate(function, Chip::SM_90, &options(Some(22))).expect("allocation");
    let spills = |op: &str| function.to_string().lines().filter(|line| line.contains(op)).count();
    // Each value without a register is stored once, before the loop, and loaded once, after it.
    let words = assignment.frame_bytes as usize / 4;
    assert!((COUNT - 20..COUNT).contains(&words), "{words} words");
    assert_eq!((spills(" STL "), spills("= LDL ")), (23, 24));
}
