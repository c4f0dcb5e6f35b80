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
    let (mut function, assignment) = allocate(&function, Chip::SM_90, &options(limit)).expect("allocation");
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
