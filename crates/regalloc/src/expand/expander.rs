//! A function while its pseudo-instructions are expanded, and its assignment. Only what all expansions need of them may
//! enter; no expansion.

use crate::abi;
use crate::frame::moves_stack;
use crate::set::RegisterSet;
use oriole_chip::Chip;
use oriole_ori::{Assignment, File, Function, Opcode, Origin, Pseudo, Value};
use rustc_hash::FxHashSet;

pub(super) struct Expander {
    pub(super) function: Function,
    pub(super) assignment: Assignment,
    /// Frame base between the prologue and the epilogues.
    pub(super) frame_base: Value,
    /// Content of the stack pointer register: the frame base, unless the stack pointer moves.
    pub(super) stack_pointer: Value,
    pub(super) chip: Chip,
    /// Statements that keep a copy of a register to itself.
    pub(super) silent: FxHashSet<Origin>,
}

impl Expander {
    /// Gives the stack pointer its own value where it differs from the frame base.
    pub(super) fn place_stack_pointer(&mut self) {
        if moves_stack(&self.function) {
            self.stack_pointer = self.physical(File::R, abi::STACK_POINTER);
        }
    }

    pub(super) fn stack_moves(&self) -> bool {
        self.stack_pointer != self.frame_base
    }

    /// A new value in this physical register.
    pub(super) fn physical(&mut self, file: File, register: u8) -> Value {
        let value = self.function.new_value(file, None);
        self.assignment.registers.push(Some(register));
        value
    }

    pub(super) fn register(&self, value: Value) -> Option<u8> {
        self.assignment.registers.get(value).copied().flatten()
    }

    pub(super) fn registers_written(&self, file: File) -> RegisterSet {
        let mut set = RegisterSet::default();
        for instruction in self.function.blocks.iter().flat_map(|b| &b.instructions) {
            if instruction.opcode == Opcode::Pseudo(Pseudo::Parameters) {
                continue;
            }
            instruction.for_each_definition(|v| {
                if self.function.file(v) == file
                    && let Some(r) = self.register(v)
                {
                    set.insert(r);
                }
            });
        }
        set
    }
}
