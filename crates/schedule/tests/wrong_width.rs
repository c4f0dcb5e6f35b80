//! A wrong width in the scheduler's table must not affect the hazard checker, which has a table of its own: control
//! words are computed with the row of another form planted, and the checker must report it.

use oriole_chip::Chip;
use oriole_cubin::{Cubin, KernelImage, Module};
use oriole_options::Options;
use oriole_ori::{MachineBlock, MachineFunction, MachineInstruction, Origin};
use oriole_sass::form::Table;
use oriole_sass::{Control, FormId, Instruction, form_of, parse};
use typed_index_collections::ti_vec;

const CHIP: Chip = Chip::SM_90A;

fn forms() -> &'static Table {
    oriole_sass::form::table(CHIP).expect("forms")
}

fn instruction(line: &str) -> Instruction {
    Instruction { control: Control::NEUTRAL, ..parse(CHIP, line, Some(0)).expect("an instruction") }
}

/// The cubin of a kernel with these lines, scheduled with the given forms, encoded with the right ones.
fn cubin(lines: &[&str], planted: impl Fn(&Instruction, FormId) -> FormId) -> Cubin {
    let instructions = lines.iter().map(|line| {
        let mut machine =
            MachineInstruction::new(forms(), instruction(line), Origin(0)).expect("it has a form");
        machine.form = planted(&machine.instruction, machine.form);
        machine
    });
    let block = MachineBlock { instructions: instructions.collect(), ..MachineBlock::default() };
    let function = MachineFunction { blocks: ti_vec![block], ..MachineFunction::default() };
    let options = oriole_options::FinishOptions { reuse: false, ..Options::default().finish() };
    let tables = oriole_schedule::Tables::of(CHIP).expect("tables");
    let finishing = oriole_schedule::Finishing::new(function, &tables);
    let function = oriole_schedule::control_words(finishing, &tables, &options).expect("control words");
    let machines = function.blocks.iter().flat_map(|block| &block.instructions);
    let code = machines.map(|m| oriole_sass::encode(CHIP, &m.instruction).expect("a word")).collect();
    let kernel = KernelImage { name: "k".into(), code, registers: 64, ..KernelImage::default() };
    let module = Module {
        sm: 90,
        accelerated: true,
        virtual_sm: 90,
        kernels: vec![kernel.into()],
        ..Module::default()
    };
    oriole_cubin::read(&oriole_cubin::write(&module).expect("a container")).expect("what was written")
}

#[test]
fn a_wrong_width_in_the_form_table_is_found_by_the_checker() {
    // The instruction with the wrong row, the one whose row it gets, and the reader of the lost register.
    for (victim, other, reader) in [
        ("DADD R4, R6, R8", "FADD R4, R6, R8", "IADD3 R10, R5, RZ, RZ"),
        ("F2F.F64.F32 R4, R6", "MUFU.RCP R4, R6", "IADD3 R10, R5, RZ, RZ"),
        ("LDS.128 R4, [R2]", "F2F.F64.F32 R4, R2", "IADD3 R10, R7, RZ, RZ"),
        ("LDG.E.64 R4, desc[UR4][R2.64]", "LDG.E.64 R4, desc[UR4][R2.64]", "IADD3 R10, R5, RZ, RZ"),
    ] {
        let lines = [victim, reader, "EXIT"];
        let right = cubin(&lines, |_, form| form);
        assert_eq!(oriole_simulate::lint(&right).len(), 0, "{victim}");
        let row = form_of(forms(), &instruction(other)).expect("a form");
        let op = instruction(victim).op;
        let wrong = cubin(&lines, |i, form| if i.op == op { row } else { form });
        let expected = usize::from(victim != other);
        assert_eq!(oriole_simulate::lint(&wrong).len(), expected, "{victim} by the row of {other}");
    }
}
