//! The frame in the code of a function: the prologue and the epilogues with the registers that they save, and the
//! instructions that move or read the stack pointer between them. The layout of the frame is decided before.

use super::calls::EXTERNAL_TARGET;
use super::copies::copy;
use super::expander::Expander;
use crate::abi;
use crate::error::AllocateError;
use crate::frame::{ALIGNMENT_SLACK, FRAME_ALIGN, align_stack, aligns_stack, move_stack};
use crate::operands::local_address;
use crate::set::RegisterSet;
use oriole_chip::allocated;
use oriole_ori::{
    BlockId, Clobbers, ConstBase, Destination, File, Instruction, MemoryInfo, Opcode, Origin, Pseudo, Source,
    SourceKind, SymbolKind, Value,
};
use oriole_sass::{Mod, Op};

/// Callee-saved registers and barriers, with frame offsets in bytes.
#[derive(Default)]
pub(super) struct Saves {
    pub(super) general: Vec<(u8, i32)>,
    pub(super) barriers: Vec<(u8, i32)>,
    /// Save slot of the caller's stack pointer, in a function that aligns its own.
    pub(super) stack_pointer: Option<i32>,
}

impl Expander {
    /// Registers that a function must preserve, and their save slots: general registers and convergence barriers with
    /// their frame offsets.
    pub(super) fn saves(&mut self) -> Result<Saves, AllocateError> {
        let mut saves = Saves::default();
        if self.function.is_entry {
            return Ok(saves);
        }
        let mut at = self.assignment.frame_bytes;
        if let Some(clobbers) = self.function.routine {
            self.keeps_its_word(clobbers)?;
            return Ok(saves);
        }
        // The return address is an ordinary value that the allocator moved.
        let mut general = self.registers_written(File::R).within(abi::saved());
        let external = self.function.blocks.iter().flat_map(|b| &b.instructions).any(|i| {
            let callee = i.call.as_ref().and_then(|c| c.callee);
            callee.is_some_and(|s| self.function.symbols[s].kind == SymbolKind::Extern)
        });
        if external {
            general.insert(EXTERNAL_TARGET);
        }
        // A routine does not preserve callee-saved registers of functions.
        for call in self.function.blocks.iter().flat_map(|b| &b.instructions) {
            if let (Opcode::Pseudo(Pseudo::CallHelper), Some(shape)) = (call.opcode, &call.call) {
                general = general.with(RegisterSet::from_words(shape.clobbers).within(abi::saved()));
            }
        }
        if self.stack_moves() {
            general.insert(abi::FRAME_POINTER);
        }
        for r in general.iter() {
            if r != abi::RETURN_ADDRESS && r != abi::RETURN_ADDRESS + 1 {
                saves.general.push((r, at as i32));
                at += 4;
            }
        }
        let barriers = self.registers_written(File::B);
        for b in barriers.iter().filter(|&b| b >= abi::FIRST_SAVED_BARRIER) {
            saves.barriers.push((b, at as i32));
            at += 4;
        }
        if aligns_stack(&self.function) {
            saves.stack_pointer = Some(at as i32);
            at += 4 + ALIGNMENT_SLACK;
        }
        self.assignment.frame_bytes = at.next_multiple_of(FRAME_ALIGN);
        Ok(saves)
    }

    /// Checks that a routine clobbers only the registers that it states, and needs no frame.
    fn keeps_its_word(&self, clobbers: Clobbers) -> Result<(), AllocateError> {
        let stated = |file| match file {
            File::R => RegisterSet::from_words([clobbers.general, 0, 0, 0]),
            File::P => RegisterSet::from_words([clobbers.predicates.into(), 0, 0, 0]),
            File::B => RegisterSet::range(0, abi::ROUTINE_BARRIERS.into()),
            File::UR | File::UP => RegisterSet::default(),
        };
        let result = abi::ROUTINE_RETURN..abi::ROUTINE_RETURN + 2;
        if self.assignment.frame_bytes > 0 || !result.clone().all(|r| stated(File::R).contains(r)) {
            return Err(AllocateError::Internal("a routine has a frame, or states no return address".into()));
        }
        for file in [File::R, File::P, File::UR, File::UP, File::B] {
            if !self.registers_written(file).without(stated(file)).is_empty() {
                return Err(AllocateError::Internal(format!(
                    "a routine overwrites registers of file {file:?} that it does not state"
                )));
            }
        }
        Ok(())
    }

    /// Pushes the frame, and saves registers.
    pub(super) fn prologue(
        &mut self,
        saves: &Saves,
        out: &mut Vec<Instruction>,
    ) -> Result<(), AllocateError> {
        let origin = self.function.block(BlockId(0)).instructions.first().map_or(Origin(0), |i| i.origin);
        let frame = self.assignment.frame_bytes as i32;
        if self.function.is_entry {
            let calls = self.function.blocks.iter().flat_map(|b| &b.instructions);
            let calls = calls.into_iter().any(|i| i.opcode == Opcode::Pseudo(Pseudo::Call));
            let uses_stack = frame > 0 || calls || self.stack_moves() || self.reads_stack_pointer();
            if !uses_stack {
                return Ok(());
            }
            self.assignment.general_registers = self.assignment.general_registers.max(allocated(2));
            let bank = self.chip.constant_bank().ok_or_else(|| {
                AllocateError::Input(format!("no constant bank is known for {}", self.chip))
            })?;
            let mut load = Instruction::new(Op::LDC, origin);
            load.destinations.push(Destination::new(File::R, [self.stack_pointer]));
            load.sources.push(Source::plain(SourceKind::Const {
                bank: 0,
                base: ConstBase::Bank,
                offset: bank.stack_pointer as i32,
            }));
            out.push(load);
        }
        match saves.stack_pointer {
            None if frame == 0 => {}
            None => out.push(move_stack(self.stack_pointer, -frame, origin)),
            Some(offset) => self.aligned_frame(offset, origin, out),
        }
        for &(register, offset) in &saves.general {
            let value = self.physical(File::R, register);
            out.push(self.store(offset, value, origin));
        }
        // R0 carries no parameter: it is free at the entry.
        for &(barrier, offset) in &saves.barriers {
            let b = self.physical(File::B, barrier);
            let r = self.physical(File::R, 0);
            let mut read = Instruction::new(Op::BMOV, origin);
            read.mods.insert(Mod::_32);
            read.mods.insert(Mod::CLEAR);
            read.destinations.push(Destination::new(File::R, [r]));
            read.sources.push(Source::value(b));
            out.push(read);
            out.push(self.store(offset, r, origin));
        }
        if self.stack_moves() {
            let base = Destination::new(File::R, [self.frame_base]);
            out.push(copy(base, Source::value(self.stack_pointer), None, origin));
        }
        Ok(())
    }

    /// Pushes an aligned frame, and saves the old stack pointer in it.
    fn aligned_frame(&mut self, offset: i32, origin: Origin, out: &mut Vec<Instruction>) {
        // It holds no parameter: it is free at the entry.
        let before = self.physical(File::R, 0);
        let kept = Destination::new(File::R, [before]);
        out.push(copy(kept, Source::value(self.stack_pointer), None, origin));
        let least = self.assignment.frame_bytes - ALIGNMENT_SLACK;
        out.push(move_stack(self.stack_pointer, -(least as i32), origin));
        out.push(align_stack(self.stack_pointer, origin));
        out.push(self.store(offset, before, origin));
    }

    fn reads_stack_pointer(&self) -> bool {
        let mut found = false;
        for instruction in self.function.blocks.iter().flat_map(|b| &b.instructions) {
            instruction.for_each_use(|v| found |= v == self.frame_base);
        }
        found
    }

    fn store(&self, offset: i32, value: Value, origin: Origin) -> Instruction {
        let mut store = Instruction::new(Op::STL, origin);
        store.sources.push(local_address(self.stack_pointer, offset));
        store.sources.push(Source::value(value));
        store.memory = Some(MemoryInfo::SPILL_STORE);
        store
    }

    pub(super) fn load(&self, value: Value, offset: i32, origin: Origin) -> Instruction {
        let mut load = Instruction::new(Op::LDL, origin);
        load.destinations.push(Destination::new(File::R, [value]));
        load.sources.push(local_address(self.stack_pointer, offset));
        load.memory = Some(MemoryInfo::SPILL_LOAD);
        load
    }

    /// The caller's stack pointer: saved in the frame if that was aligned, else the end of the frame.
    pub(super) fn caller_frame(&self, instruction: Instruction, saves: &Saves) -> Instruction {
        let mut found = instruction;
        let frame = self.assignment.frame_bytes;
        match saves.stack_pointer {
            Some(offset) => {
                found.opcode = Opcode::Sass(Op::LDL);
                found.sources.push(local_address(self.frame_base, offset));
                found.memory = Some(MemoryInfo::SPILL_LOAD);
            }
            None => {
                found.opcode = Opcode::Sass(Op::IADD3);
                found.sources.extend([Source::value(self.frame_base), Source::imm(frame), Source::rz()]);
            }
        }
        found
    }

    /// Allocates stack memory, or reads or sets the stack pointer. No data below the frame must stay at the stack
    /// pointer: all arguments are in registers.
    pub(super) fn move_stack(
        &mut self,
        pseudo: Pseudo,
        instruction: &Instruction,
        out: &mut Vec<Instruction>,
    ) -> Result<(), AllocateError> {
        let pointer = self.stack_pointer;
        let set = |op, source: Source, rest: &[Source]| {
            let mut set = Instruction::new(op, instruction.origin);
            set.guard = instruction.guard;
            set.destinations.push(Destination::new(File::R, [pointer]));
            set.sources.extend([Source::value(pointer), source]);
            set.sources.extend(rest.iter().cloned());
            set
        };
        let destination = instruction.destinations.first().cloned();
        match (pseudo, instruction.sources.as_slice(), destination) {
            (Pseudo::StackAllocate, [size, align], destination) => {
                let SourceKind::Literal(align) = align.kind else {
                    return Err(AllocateError::Input("an alignment that is no literal".into()));
                };
                let less = match size.kind {
                    SourceKind::Imm(size) => Source::imm(size.wrapping_neg()),
                    _ => Source { negate: true, fixed: None, ..size.clone() },
                };
                out.push(set(Op::IADD3, less, &[Source::rz()]));
                let never = Source { invert: true, ..Source::plain(SourceKind::True(File::P)) };
                let and = [Source::rz(), Source::plain(SourceKind::Literal(0xc0)), never];
                let mut aligned = set(Op::LOP3, Source::imm((align as u32).wrapping_neg()), &and);
                aligned.mods.insert(Mod::LUT);
                out.push(aligned);
                let placed = destination.into_iter().map(|d| (d, pointer));
                out.extend(
                    placed
                        .map(|(d, from)| copy(d, Source::value(from), instruction.guard, instruction.origin)),
                );
            }
            (Pseudo::StackSave, [], Some(destination)) => {
                let from = Source::value(pointer);
                out.push(copy(destination, from, instruction.guard, instruction.origin));
            }
            (Pseudo::StackRestore, [to], None) => {
                let pointer = Destination::new(File::R, [pointer]);
                let to = Source { fixed: None, ..to.clone() };
                out.push(copy(pointer, to, instruction.guard, instruction.origin));
            }
            _ => return Err(AllocateError::Input(format!("{pseudo:?} with other operands"))),
        }
        Ok(())
    }

    /// Restores the saved registers, and pops the frame.
    pub(super) fn epilogue(&mut self, saves: &Saves, origin: Origin, out: &mut Vec<Instruction>) {
        if self.stack_moves() {
            let pointer = Destination::new(File::R, [self.stack_pointer]);
            out.push(copy(pointer, Source::value(self.frame_base), None, origin));
        }
        for &(barrier, offset) in &saves.barriers {
            let b = self.physical(File::B, barrier);
            let r = self.physical(File::R, 0);
            out.push(self.load(r, offset, origin));
            let mut write = Instruction::new(Op::BMOV, origin);
            write.mods.insert(Mod::_32);
            write.destinations.push(Destination::new(File::B, [b]));
            write.sources.push(Source::value(r));
            out.push(write);
        }
        for &(register, offset) in &saves.general {
            let value = self.physical(File::R, register);
            out.push(self.load(value, offset, origin));
        }
        let frame = self.assignment.frame_bytes as i32;
        if let Some(offset) = saves.stack_pointer {
            out.push(self.load(self.stack_pointer, offset, origin));
        } else if frame > 0 {
            out.push(move_stack(self.stack_pointer, frame, origin));
        }
    }
}
