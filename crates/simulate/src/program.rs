//! The code of a kernel, decoded once: instructions with the registers they touch and their scheduling class.

use crate::accesses::accesses;
use crate::cached_source::{Source, sources};
use oriole_chip::{Chip, WordShape};
use oriole_latency::{Class, Model};
use oriole_sass::decode::decode_with_form;
use oriole_sass::info::Queue;
use oriole_sass::register::PT;
use oriole_sass::{Access, DecodeError, Guard, Instruction, Op, RegisterFile};

/// The completion order of variable-latency instructions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Completion {
    /// In a unit that several opcodes share.
    Unit(Queue),
    /// In order for each opcode.
    Own(Op),
}

impl Completion {
    /// True if the scoreboard of an instruction of this queue also covers earlier ones of the other queue. All of these
    /// go one way to the shared memory and come back in order: ptxas waits for a constant load, a special register, an
    /// mbarrier or an atomic after a shared load instead of the load itself.
    pub(crate) fn vouches_for(self, earlier: Completion) -> bool {
        use Op::*;
        let behind_shared = matches!(
            self,
            Completion::Unit(Queue::Constant | Queue::SpecialRegister)
                | Completion::Own(QSPC | SYNCS | ATOMG | LDGDEPBAR)
        );
        self == earlier || (earlier == Completion::Unit(Queue::Shared) && behind_shared)
    }
}

/// Units whose instructions read their operands in order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum ReadQueue {
    /// Memory of all spaces.
    Memory,
    /// Transcendental functions and conversions.
    Special,
    /// The 64-bit floating-point unit.
    Double,
    /// Textures and surfaces.
    Texture,
    /// In order for each opcode.
    Own(Op),
}

/// An instruction with its scheduling facts.
pub(crate) struct Step {
    pub instruction: Instruction,
    pub class: Class,
    pub variable: bool,
    pub estimate: u16,
    pub queue: Completion,
    pub read_queue: ReadQueue,
    pub accesses: Vec<Access>,
    /// The sources that go through the operand cache.
    pub cached: Vec<Source>,
}

impl Step {
    /// A general register beyond `count` that the instruction names.
    pub(crate) fn beyond(&self, count: u32) -> Option<u8> {
        self.accesses.iter().find_map(|access| match *access {
            Access::Read { file: RegisterFile::General, register, .. }
            | Access::Write { file: RegisterFile::General, register, .. } => {
                (u32::from(register) >= count).then_some(register)
            }
            _ => None,
        })
    }
}

/// A decoded kernel; an undecodable word is an error only when it is executed.
pub(crate) struct Program {
    /// The layout of its words.
    pub shape: WordShape,
    pub steps: Vec<Result<Step, DecodeError>>,
}

/// The completion order of an opcode.
pub(crate) fn queue(op: Op) -> Completion {
    match op.info().queue {
        Queue::Own => Completion::Own(op),
        queue => Completion::Unit(queue),
    }
}

fn read_queue(op: Op, class: Class) -> ReadQueue {
    let info = op.info();
    match class {
        Class::Memory if info.queue != Queue::Constant && info.counted_scoreboard.is_none() => {
            ReadQueue::Memory
        }
        Class::Special => ReadQueue::Special,
        Class::Double => ReadQueue::Double,
        Class::Texture => ReadQueue::Texture,
        _ => ReadQueue::Own(op),
    }
}

impl Program {
    pub(crate) fn decode(chip: Chip, model: &Model, code: &[oriole_sass::InstructionWord]) -> Program {
        let steps = code
            .iter()
            .map(|&word| {
                decode_with_form(chip, word).map(|(form, instruction)| {
                    let mut list = Vec::new();
                    accesses(chip.register_files(), &instruction, |access| {
                        if !list.contains(&access) {
                            list.push(access);
                        }
                    });
                    let class = model.class(instruction.op, &instruction.mods);
                    Step {
                        class,
                        read_queue: read_queue(instruction.op, class),
                        variable: model.is_variable(instruction.op, &instruction.mods),
                        estimate: model.estimate(instruction.op),
                        queue: queue(instruction.op),
                        accesses: list,
                        cached: sources(model, form, &instruction),
                        instruction,
                    }
                })
            })
            .collect();
        Program { shape: chip.words(), steps }
    }

    /// The instruction at an index.
    pub(crate) fn get(&self, index: usize) -> Option<&Step> {
        self.steps.get(index)?.as_ref().ok()
    }
}

/// True if the guard never lets the instruction act or always does.
pub(crate) fn is_always(guard: Guard) -> bool {
    guard.register == PT && !guard.negated
}

/// The instruction as text for messages: mnemonic and modifiers.
pub(crate) fn name(instruction: &Instruction) -> String {
    let mut text = instruction.op.name().to_string();
    for modifier in instruction.mods.iter() {
        text.push('.');
        text.push_str(modifier.spelling());
    }
    text
}
