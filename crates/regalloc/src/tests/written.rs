//! Small functions, before and after.

use crate::allocate;
use crate::tests::options;
use expect_test::{Expect, expect};
use oriole_chip::Chip;
use oriole_ori::parse::parse;
use oriole_ori::{File, Value};

/// Prints the expanded function with physical registers.
fn show(text: &str, limit: Option<u16>, expected: Expect) {
    let function = parse(text).expect("test input parses");
    let (mut function, assignment) =
        allocate(function.clone(), Chip::SM_90, &options(limit)).expect("allocation");
    // Values of equal register become one value with the register's number, so that the text shows registers.
    let mut renamed = function.clone();
    let registers = assignment.registers.clone();
    let rename = |v: &mut Value, file: File| {
        let register = registers[v.0 as usize].expect("a register");
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
    let mut values = Vec::new();
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
            registers=4 frame=0
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
              r0 = S2R %(SR_TID.X) ; 0
              r2 = MOV r0 ; 1
              r4 = MOV r0 ; 1
              r20 = MOV return_address(low) ; 1
              r21 = MOV return_address(high) ; 1
              CALL.NOINC.REL callee(s0) ; 1
              r2 = IADD3 r2, r4, RZ ; 2
              STS [r2], r2 mem(shared w) ; 3
              EXIT ; 4
        "#]],
    );
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
              r2 = MOV r4 ; 1
              r16 = MOV r20 ; 1
              r17 = MOV r21 ; 1
              r20 = MOV return_address(low) ; 1
              r21 = MOV return_address(high) ; 1
              CALL.NOINC.REL callee(s0) ; 1
              r4 = IADD3 r2, r4, RZ ; 2
              r20 = MOV r16 ; 3
              r21 = MOV r17 ; 3
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
            registers=4 frame=0
            kernel params=0 barriers=0
            b0: -> b1
              r0 = S2R %(SR_TID.X) ; 0
              r2 = S2R %(SR_TID.Y) ; 0
            b1: -> b3 b2
              STS [r0], r2 mem(shared w) ; 1
              p320, PT = ISETP.AND.GE r0, r2, PT ; 2
              @p320 BRA b3 ; 4
            b2:
              EXIT ; 5
            b3: -> b1
              r3 = MOV r0 ; 4
              r0 = MOV r2 ; 4
              r2 = MOV r3 ; 4
              BRA b1 ; 4
        "#]],
    );
}
