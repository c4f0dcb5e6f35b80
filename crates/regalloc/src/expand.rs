//! Expansion of pseudo-instructions after allocation (phases 102 to 105): moves, calls, returns, prologue and
//! epilogues, block layout and its branches.
//!
//! Here is the order of the steps; each kind of instruction has a file in the folder, and the layout one of its own.
//!
//! Afterwards there are only machine opcodes and copies of single registers, and a block without a branch at its end
//! falls through to the next one.

mod calls;
mod copies;
mod expander;
mod stack;

use crate::allocation::Allocation;
use crate::error::AllocateError;
use crate::layout::{follows_source, layout, thread};
use crate::{abi, check, hoist_constants, join_halves, latch_moves};
use copies::copy;
use expander::Expander;
use oriole_chip::{Chip, allocated};
use oriole_options::AllocateOptions;
use oriole_ori::branches::skip_blocks_without_code;
use oriole_ori::{
    Assignment, BlockId, Destination, File, Function, Instruction, Opcode, Pseudo, Source, SourceKind,
};
use oriole_sass::{Mod, Op, has_long_integers};
use rustc_hash::FxHashSet;
use stack::Saves;

/// Expands an allocation.
pub fn expand(
    allocation: Allocation,
    chip: Chip,
    options: &AllocateOptions,
) -> Result<(Function, Assignment), AllocateError> {
    let mut expander = Expander {
        function: allocation.function,
        assignment: allocation.assignment,
        frame_base: allocation.stack_pointer,
        stack_pointer: allocation.stack_pointer,
        chip,
        silent: FxHashSet::default(),
    };
    expander.place_stack_pointer();
    if follows_source(&expander.function, options) {
        expander.silent = expander.silent_statements();
    }
    expander.run()?;
    let unmoved = (options.check || cfg!(debug_assertions)).then(|| expander.function.clone());
    if options.hoist_constants {
        hoist_constants::hoist(&mut expander.function, &expander.assignment);
    }
    if has_long_integers(chip) {
        join_halves::join(&mut expander.function, &expander.assignment);
    }
    if options.latch_moves {
        latch_moves::merge(&mut expander.function, &expander.assignment);
    }
    if let Some(unmoved) = unmoved {
        check::moved::check(&unmoved, &expander.function, &expander.assignment)
            .map_err(|error| AllocateError::Internal(error.to_string()))?;
    }
    if options.thread_branches {
        thread(&mut expander.function);
    } else if options.level == 0 {
        skip_blocks_without_code(&mut expander.function);
    }
    layout(&mut expander.function, options);
    Ok((expander.function, expander.assignment))
}

impl Expander {
    fn run(&mut self) -> Result<(), AllocateError> {
        let saves = self.saves()?;
        for block in self.function.block_ids() {
            let mut out = Vec::with_capacity(self.function.blocks[block].instructions.len() + 4);
            if block == BlockId(0) {
                // Before this block is split: the prologue looks at all blocks.
                self.prologue(&saves, &mut out)?;
            }
            let old = std::mem::take(&mut self.function.blocks[block].instructions);
            for instruction in old {
                self.instruction(instruction, &saves, &mut out)?;
            }
            self.function.blocks[block].instructions = out;
        }
        Ok(())
    }

    fn instruction(
        &mut self,
        instruction: Instruction,
        saves: &Saves,
        out: &mut Vec<Instruction>,
    ) -> Result<(), AllocateError> {
        let Opcode::Pseudo(pseudo) = instruction.opcode else {
            out.push(instruction);
            return Ok(());
        };
        match pseudo {
            Pseudo::Copy => {
                let (Some(d), Some(s)) = (instruction.destinations.first(), instruction.sources.first())
                else {
                    return Err(AllocateError::Input("a copy without operands".into()));
                };
                match d.values.first() {
                    Some(_) if self.silent.remove(&instruction.origin) => out.push(instruction),
                    Some(&d) => self.copy(d, s.clone(), instruction.guard, instruction.origin, out),
                    None => {}
                }
                Ok(())
            }
            Pseudo::ParallelCopy => self.parallel(&instruction, out),
            Pseudo::Undefined | Pseudo::Parameters | Pseudo::Keep => Ok(()),
            Pseudo::Call => self.call(instruction, out),
            Pseudo::CallHelper => self.call_routine(instruction, out),
            Pseudo::Return if instruction.guard.is_some() => {
                Err(AllocateError::Input("a guarded return".into()))
            }
            Pseudo::Return => {
                self.epilogue(saves, instruction.origin, out);
                let routine = self.function.routine.is_some();
                let address = if routine { abi::ROUTINE_RETURN } else { abi::RETURN_ADDRESS };
                let (a, b) = (self.physical(File::R, address), self.physical(File::R, address + 1));
                let absolute = self.function.is_separate;
                if routine && !absolute {
                    let high = Destination::new(File::R, [b]);
                    out.push(copy(high, Source::rz(), None, instruction.origin));
                    let count = allocated(u16::from(abi::ROUTINE_RETURN) + 2);
                    self.assignment.general_registers = self.assignment.general_registers.max(count);
                }
                let mut back = Instruction::new(Op::RET, instruction.origin);
                back.mods.insert(if absolute { Mod::ABS } else { Mod::REL });
                back.mods.insert(Mod::NODEC);
                back.sources.push(Source::values([a, b]));
                back.sources.push(if absolute {
                    Source::literal(0)
                } else {
                    Source::plain(SourceKind::KernelStart)
                });
                out.push(back);
                Ok(())
            }
            Pseudo::StackAllocate | Pseudo::StackSave | Pseudo::StackRestore => {
                self.move_stack(pseudo, &instruction, out)
            }
            Pseudo::CallerFrame => {
                out.push(self.caller_frame(instruction, saves));
                Ok(())
            }
            other => Err(AllocateError::Input(format!("{other:?} should have been expanded before"))),
        }
    }
}
