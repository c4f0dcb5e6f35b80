//! Control words of small pieces of code, written as text: what the tests of all parts that fill them in share.
//!
//! The tests themselves are next to the files that they test.

use crate::{Finishing, Tables, control_words};
use expect_test::Expect;
use oriole_chip::Chip;
use oriole_options::{FinishOptions, Options};
use oriole_ori::{BlockId, Fixup, MachineBlock, MachineFunction, MachineInstruction, Origin};
use oriole_sass::{Style, parse, text};

pub fn tables() -> Tables {
    Tables::of(Chip::SM_90).expect("tables")
}

pub fn model() -> &'static oriole_latency::Model {
    oriole_latency::Model::of(Chip::SM_90).expect("latencies")
}

pub fn machine(instruction: oriole_sass::Instruction, origin: Origin) -> MachineInstruction {
    MachineInstruction::new(tables().forms, instruction, origin).expect("what was parsed has a form")
}

pub fn options() -> FinishOptions {
    Options::default().finish()
}

/// Blocks are in order, `-> n ...` at the head of each names its successors. A branch that does not end its block
/// names its target as `BRA 0x0 => n`. Printed are wait mask, read and write scoreboard, yield, stall.
pub fn words(input: &str, options: FinishOptions, expected: Expect) {
    words_on(Chip::SM_90, input, options, expected);
}

pub fn words_on(chip: Chip, input: &str, options: FinishOptions, expected: Expect) {
    let mut function = MachineFunction::default();
    for line in input.lines().map(str::trim).filter(|l| !l.is_empty()) {
        if let Some(list) = line.strip_prefix("->") {
            let successors = list.split_whitespace().map(|n| BlockId(n.parse().expect("a number"))).collect();
            function.blocks.push(MachineBlock { instructions: Vec::new(), successors, loop_depth: 0 });
        } else {
            let (line, target) = line.split_once(" => ").map_or((line, None), |(line, to)| (line, Some(to)));
            let instruction = parse(chip, line, Some(0)).expect("an instruction");
            let mut machine = machine(instruction, Origin(0));
            machine.fixup = target.map(|to| Fixup::Block(BlockId(to.parse().expect("a number"))));
            function.blocks.last_mut().expect("a block").instructions.push(machine);
        }
    }
    let finishing = Finishing::new(function, &tables());
    let function = control_words(finishing, &tables(), &options).expect("control words");
    let mut out = String::new();
    for block in &function.blocks {
        out += "--\n";
        for machine in &block.instructions {
            let c = machine.instruction.control;
            let waits: String =
                (0..6u8).map(|n| if c.wait_mask >> n & 1 != 0 { (b'0' + n) as char } else { '-' }).collect();
            let number = |n: Option<u8>| n.map_or("-".to_owned(), |n| n.to_string());
            let plain = text(chip, &machine.instruction, Some(0), Style::Plain).expect("text");
            out += &format!(
                "{waits}:{}:{}:{}:{:02} {plain}\n",
                number(c.read_barrier),
                number(c.write_barrier),
                if c.yields { 'Y' } else { '-' },
                c.stall
            );
        }
    }
    expected.assert_eq(&out);
}

/// A block of machine instructions, an instruction on each line, with control words.
pub fn with_control_words(text: &str) -> MachineFunction {
    let mut block = MachineBlock { instructions: Vec::new(), successors: Default::default(), loop_depth: 0 };
    for line in text.lines() {
        block
            .instructions
            .push(machine(parse(Chip::SM_90, line, Some(0)).expect("an instruction"), Origin(0)));
    }
    let mut function = MachineFunction::default();
    function.blocks.push(block);
    control_words(Finishing::new(function, &tables()), &tables(), &options()).expect("words")
}
