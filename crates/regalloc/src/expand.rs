//! Expansion of pseudo-instructions after allocation (phases 102 to 105): moves, calls, returns, prologue and
//! epilogues, block layout and its branches.
//!
//! Afterwards there are only machine opcodes and copies of single registers, and a block without a branch at its end
//! falls through to the next one.

use crate::allocation::Allocation;
use crate::error::AllocateError;
use crate::frame::{ALIGNMENT_SLACK, FRAME_ALIGN, align_stack, aligns_stack, move_stack, moves_stack};
use crate::operands::local_address;
use crate::set::RegisterSet;
use crate::{abi, check, cold_blocks, hoist_constants, join_halves, latch_moves};
use oriole_chip::{Chip, allocated};
use oriole_options::AllocateOptions;
use oriole_ori::branches::{
    fold_equal_targets, guarded_branch, is_plain_branch, skip_blocks_without_code, skip_empty_blocks,
};
use oriole_ori::effects::is_transfer;
use oriole_ori::{
    AddressPart, Assignment, BlockId, CallShape, Clobbers, ConstBase, Destination, File, Function, Guard,
    Instruction, MemoryInfo, Opcode, Origin, Pseudo, Source, SourceKind, SymbolKind, Value, canonical, edges,
};
use oriole_sass::{Mod, Mods, Op, Operand, OperandKind, form, has_long_integers, legal};
use rustc_hash::FxHashSet;

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

struct Expander {
    function: Function,
    assignment: Assignment,
    /// Frame base between the prologue and the epilogues.
    frame_base: Value,
    /// Content of the stack pointer register: the frame base, unless the stack pointer moves.
    stack_pointer: Value,
    chip: Chip,
    /// Statements that keep a copy of a register to itself.
    silent: FxHashSet<Origin>,
}

impl Expander {
    /// Statements with nothing left but copies of registers to themselves. In code that follows the source one of
    /// these stays: there each statement with a read result has code, so that a debugger can stop at it.
    fn silent_statements(&self) -> FxHashSet<Origin> {
        let (mut copied, mut others) = (FxHashSet::default(), FxHashSet::default());
        for instruction in self.function.blocks.iter().flat_map(|block| &block.instructions) {
            let mut pairs = instruction.destinations.iter().zip(&instruction.sources);
            let in_place = |(to, from): (&Destination, &Source)| {
                to.values.first().is_some_and(|&to| self.is_in_place(to, from))
            };
            let origin = instruction.origin;
            match instruction.opcode {
                Opcode::Pseudo(Pseudo::Copy) if pairs.all(in_place) => {
                    let file = instruction.destinations.first().map(|to| to.file);
                    matches!(file, Some(File::R | File::P)) && copied.insert(origin)
                }
                Opcode::Pseudo(Pseudo::ParallelCopy) if pairs.all(in_place) => false,
                Opcode::Pseudo(Pseudo::Undefined | Pseudo::Parameters | Pseudo::Keep) => false,
                _ => others.insert(origin),
            };
        }
        copied.retain(|origin| !others.contains(origin));
        copied
    }

    /// True if the register already holds the source of the copy.
    fn is_in_place(&self, to: Value, from: &Source) -> bool {
        let SourceKind::Values(values) = &from.kind else { return false };
        let place = |value| (self.function.file(value), self.register(value));
        place(values[0]) == place(to) && !from.invert && !from.negate
    }

    /// Gives the stack pointer its own value where it differs from the frame base.
    fn place_stack_pointer(&mut self) {
        if moves_stack(&self.function) {
            self.stack_pointer = self.physical(File::R, abi::STACK_POINTER);
        }
    }

    fn stack_moves(&self) -> bool {
        self.stack_pointer != self.frame_base
    }

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

    /// A new value in this physical register.
    fn physical(&mut self, file: File, register: u8) -> Value {
        let value = self.function.new_value(file, None);
        self.assignment.registers.push(Some(register));
        value
    }

    fn register(&self, value: Value) -> Option<u8> {
        self.assignment.registers.get(value).copied().flatten()
    }

    fn registers_written(&self, file: File) -> RegisterSet {
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

    /// Registers that a function must preserve, and their save slots: general registers and convergence barriers with
    /// their frame offsets.
    fn saves(&mut self) -> Result<Saves, AllocateError> {
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
    fn prologue(&mut self, saves: &Saves, out: &mut Vec<Instruction>) -> Result<(), AllocateError> {
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

    fn load(&self, value: Value, offset: i32, origin: Origin) -> Instruction {
        let mut load = Instruction::new(Op::LDL, origin);
        load.destinations.push(Destination::new(File::R, [value]));
        load.sources.push(local_address(self.stack_pointer, offset));
        load.memory = Some(MemoryInfo::SPILL_LOAD);
        load
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
                if routine {
                    let high = Destination::new(File::R, [b]);
                    out.push(copy(high, Source::rz(), None, instruction.origin));
                    let count = allocated(u16::from(abi::ROUTINE_RETURN) + 2);
                    self.assignment.general_registers = self.assignment.general_registers.max(count);
                }
                let mut back = Instruction::new(Op::RET, instruction.origin);
                let absolute = self.function.is_separate && !routine;
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

    /// The caller's stack pointer: saved in the frame if that was aligned, else the end of the frame.
    fn caller_frame(&self, instruction: Instruction, saves: &Saves) -> Instruction {
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
    fn move_stack(
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
    fn epilogue(&mut self, saves: &Saves, origin: Origin, out: &mut Vec<Instruction>) {
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

    /// The shape of the machine call, whose only operand is the callee. Code motion across it needs the registers
    /// that the callee reads, its arguments and the return address, and its clobbers.
    fn machine_shape(&self, call: &Instruction, shape: &CallShape, back: std::ops::Range<u8>) -> CallShape {
        let mut shape = shape.clone();
        let mut general = RegisterSet::default();
        back.for_each(|register| general.insert(register));
        for source in &call.sources {
            source.for_each_value(|value| match (self.function.file(value), self.register(value)) {
                (File::R, Some(register)) => general.insert(register),
                (File::P, Some(register)) => shape.argument_predicates |= 1 << register,
                _ => {}
            });
        }
        shape.arguments = general.words();
        shape
    }

    /// Puts the return address into its pair, then calls.
    fn call(&mut self, instruction: Instruction, out: &mut Vec<Instruction>) -> Result<(), AllocateError> {
        let origin = instruction.origin;
        let Some(shape) = &instruction.call else {
            return Err(AllocateError::Input("a call without its shape".into()));
        };
        if instruction.guard.is_some() {
            return Err(AllocateError::Input("a guarded call".into()));
        }
        let shape: CallShape =
            self.machine_shape(&instruction, shape, abi::RETURN_ADDRESS..abi::RETURN_ADDRESS + 2);
        let external =
            shape.callee.is_some_and(|symbol| self.function.symbols[symbol].kind == SymbolKind::Extern);
        let low = self.physical(File::R, abi::RETURN_ADDRESS);
        let high = self.physical(File::R, abi::RETURN_ADDRESS + 1);
        self.assignment.general_registers =
            self.assignment.general_registers.max(allocated(u16::from(abi::RETURN_ADDRESS) + 2));
        let mut call = Instruction::new(Op::CALL, origin);
        call.mods.insert(Mod::NOINC);
        call.memory = instruction.memory;
        call.call = Some(Box::new(shape.clone()));
        match shape.callee {
            Some(symbol) if external => {
                // Functions of the driver: absolute addresses, the target from its slot in constant bank 4.
                let mut load = Instruction::new(Op::LDC, origin);
                let target =
                    [self.physical(File::R, EXTERNAL_TARGET), self.physical(File::R, EXTERNAL_TARGET + 1)];
                load.mods.insert(Mod::_64);
                load.destinations.push(Destination::new(File::R, target));
                load.sources.push(Source::plain(SourceKind::Const {
                    bank: 4,
                    base: ConstBase::AddressSlot(symbol),
                    offset: 0,
                }));
                out.push(load);
                self.name_return(low, high, origin, out);
                call.mods.insert(Mod::ABS);
                call.sources.push(Source::values(target));
            }
            callee => {
                for (value, part) in [(low, AddressPart::Low), (high, AddressPart::High)] {
                    let address = Source::plain(SourceKind::ReturnAddress(part));
                    out.push(copy(Destination::new(File::R, [value]), address, None, origin));
                }
                let outside =
                    callee.is_some_and(|symbol| self.function.symbols[symbol].kind == SymbolKind::Outside);
                let absolute = self.function.is_separate || outside;
                call.mods.insert(if absolute { Mod::ABS } else { Mod::REL });
                match callee {
                    Some(symbol) => call.sources.push(Source::plain(SourceKind::Callee(symbol))),
                    None => {
                        let target = instruction.sources.last().cloned();
                        let target = target
                            .ok_or_else(|| AllocateError::Input("an indirect call of nothing".into()))?;
                        call.sources.push(Source { fixed: None, ..target });
                        if !absolute {
                            call.sources.push(Source::plain(SourceKind::KernelStart));
                        }
                    }
                }
            }
        }
        out.push(call);
        Ok(())
    }

    /// Puts the address after the next call into a pair. Where `LEPC` gives only its own address, the distance is
    /// added; no predicate is live across a call.
    fn name_return(&mut self, low: Value, high: Value, origin: Origin, out: &mut Vec<Instruction>) {
        let mut here = Instruction::new(Op::LEPC, origin);
        here.destinations.push(Destination::new(File::R, [low, high]));
        if names_places(self.chip) {
            here.sources.push(Source::plain(SourceKind::ReturnAddress(AddressPart::Low)));
            out.push(here);
            return;
        }
        out.push(here);
        let carry = self.physical(File::P, 0);
        let mut add = Instruction::new(Op::IADD3, origin);
        add.destinations.extend([Destination::new(File::R, [low]), Destination::new(File::P, [carry])]);
        add.sources.extend([Source::value(low), Source::plain(SourceKind::ReturnDistance), Source::rz()]);
        out.push(add);
        let mut add = Instruction::new(Op::IADD3, origin);
        add.mods.insert(Mod::X);
        add.destinations.push(Destination::new(File::R, [high]));
        add.sources.extend([Source::value(high), Source::rz(), Source::rz(), Source::value(carry)]);
        add.sources.push(Source { invert: true, ..Source::plain(SourceKind::True(File::P)) });
        out.push(add);
    }

    /// Puts the return address into its register, then calls.
    fn call_routine(
        &mut self,
        instruction: Instruction,
        out: &mut Vec<Instruction>,
    ) -> Result<(), AllocateError> {
        let called = instruction.call.as_ref().and_then(|shape| Some((shape, shape.callee?)));
        let Some((shape, callee)) = called else {
            return Err(AllocateError::Input("a call of no routine".into()));
        };
        if instruction.guard.is_some() {
            return Err(AllocateError::Input("a guarded call".into()));
        }
        let shape = self.machine_shape(&instruction, shape, abi::ROUTINE_RETURN..abi::ROUTINE_RETURN + 1);
        let low = self.physical(File::R, abi::ROUTINE_RETURN);
        self.assignment.general_registers =
            self.assignment.general_registers.max(allocated(u16::from(abi::ROUTINE_RETURN) + 2));
        let address = Source::plain(SourceKind::ReturnAddress(AddressPart::Low));
        out.push(copy(Destination::new(File::R, [low]), address, None, instruction.origin));
        let mut call = Instruction::new(Op::CALL, instruction.origin);
        call.call = Some(Box::new(shape));
        call.mods.insert(Mod::REL);
        call.mods.insert(Mod::NOINC);
        call.sources.push(Source::plain(SourceKind::Callee(callee)));
        out.push(call);
        Ok(())
    }

    /// True if debug info names the value: then the instruction that defines a PTX register is kept, even if it
    /// copies a register to itself. Otherwise another value would be shown under its name.
    fn is_told(&self, value: Value) -> bool {
        let data = &self.function.values[value];
        self.function.calls_library && data.file == File::R && data.source.is_some()
    }

    /// Emits a copy to a register, which stays a copy: selection knows the moves between files. A copy of a register to
    /// itself is dropped, and a zero becomes that of the destination file.
    fn copy(
        &self,
        d: Value,
        source: Source,
        guard: Option<Guard>,
        origin: Origin,
        out: &mut Vec<Instruction>,
    ) {
        let to = self.function.file(d);
        let source = match &source.kind {
            SourceKind::Values(_) if self.is_in_place(d, &source) && !self.is_told(d) => return,
            SourceKind::Zero(File::UR) if to == File::R => Source::rz(),
            _ => source,
        };
        out.push(copy(Destination::new(to, [d]), source, guard, origin));
    }

    /// Copies at once: swaps of the scanned files, and whatever remains for the coloured ones.
    fn parallel(
        &mut self,
        instruction: &Instruction,
        out: &mut Vec<Instruction>,
    ) -> Result<(), AllocateError> {
        let mut pending: Vec<(Value, Source)> = instruction
            .destinations
            .iter()
            .zip(&instruction.sources)
            .filter_map(|(d, s)| d.values.first().map(|&v| (v, s.clone())))
            .collect();
        let place = |this: &Self, v: Value| (this.function.file(v), this.register(v));
        let read = |this: &Self, s: &Source| match &s.kind {
            SourceKind::Values(v) => Some(place(this, v[0])),
            _ => None,
        };
        let in_place =
            pending.iter().filter(|(d, s)| read(self, s) == Some(place(self, *d)) && self.is_told(*d));
        let in_place: Vec<(Value, Source)> = in_place.cloned().collect();
        pending.retain(|(d, s)| read(self, s) != Some(place(self, *d)));
        for (d, s) in in_place {
            self.copy(d, s, None, instruction.origin, out);
        }
        while !pending.is_empty() {
            let ready = pending.iter().position(|(d, _)| {
                let to = place(self, *d);
                pending.iter().filter(|(other, _)| other != d).all(|(_, s)| read(self, s) != Some(to))
            });
            if let Some(at) = ready {
                let (d, s) = pending.remove(at);
                self.copy(d, s, None, instruction.origin, out);
                continue;
            }
            // A cycle: swap the first with its source; other readers of the first find it there.
            let (d, s) = pending.remove(0);
            let to = place(self, d);
            let SourceKind::Values(values) = &s.kind else {
                return Err(AllocateError::Internal("a constant in a cycle of copies".into()));
            };
            let from = place(self, values[0]);
            self.swap(d, values[0], instruction.origin, out)?;
            for (_, source) in &mut pending {
                if read(self, source) == Some(to) {
                    let moved = self.physical(from.0, from.1.unwrap_or(0));
                    source.kind = SourceKind::Values([moved].into_iter().collect());
                }
            }
            pending.retain(|(d, s)| read(self, s) != Some(place(self, *d)));
        }
        Ok(())
    }

    /// `a` and `b` change their contents: three times exclusive or.
    fn swap(
        &mut self,
        a: Value,
        b: Value,
        origin: Origin,
        out: &mut Vec<Instruction>,
    ) -> Result<(), AllocateError> {
        for (d, s) in [(a, b), (b, a), (a, b)] {
            let file = self.function.file(a);
            let opcode = match file {
                File::R => Op::LOP3,
                File::UR => Op::ULOP3,
                File::P => Op::PLOP3,
                File::UP => Op::UPLOP3,
                File::B => {
                    return Err(AllocateError::Internal("convergence barriers cannot be swapped".into()));
                }
            };
            let mut step = Instruction::new(opcode, origin);
            step.mods.insert(Mod::LUT);
            step.destinations.push(Destination::new(file, [d]));
            match file {
                File::R | File::UR => {
                    let predicates = if file == File::R { File::P } else { File::UP };
                    step.sources.extend([Source::value(d), Source::value(s)]);
                    step.sources.push(Source::plain(SourceKind::Zero(file)));
                    step.sources.push(Source::plain(SourceKind::Literal(0x3c)));
                    let never = Source { invert: true, ..Source::plain(SourceKind::True(predicates)) };
                    step.sources.push(never);
                }
                _ => {
                    step.destinations.push(Destination::dropped(file, 1));
                    step.sources.extend([Source::value(d), Source::value(s)]);
                    step.sources.push(Source::plain(SourceKind::True(file)));
                    step.sources.push(Source::plain(SourceKind::Literal(0x3c)));
                    step.sources.push(Source::plain(SourceKind::Literal(0)));
                }
            }
            out.push(step);
        }
        Ok(())
    }
}

/// `to = Copy source`.
fn copy(to: Destination, source: Source, guard: Option<Guard>, origin: Origin) -> Instruction {
    let mut copy = Instruction::new(Pseudo::Copy, origin);
    copy.guard = guard;
    copy.destinations.push(to);
    copy.sources.push(source);
    copy
}

/// True if `LEPC` gives the address of any code location, not only its own.
fn names_places(chip: Chip) -> bool {
    let operands = [Operand::plain(OperandKind::Reg(0)), Operand::plain(OperandKind::Target(0))];
    form::table(chip).is_some_and(|forms| legal(forms, Op::LEPC, &Mods::none(), &operands).is_some())
}

/// Register of a driver function's address for its call: it holds no argument.
const EXTERNAL_TARGET: u8 = 2;

/// Callee-saved registers and barriers, with frame offsets in bytes.
#[derive(Default)]
struct Saves {
    general: Vec<(u8, i32)>,
    barriers: Vec<(u8, i32)>,
    /// Save slot of the caller's stack pointer, in a function that aligns its own.
    stack_pointer: Option<i32>,
}

/// Sends branches through the blocks that were made for moves between registers and stayed empty.
fn thread(function: &mut Function) {
    // A branch whose two targets are equal now is removed, which may leave another block empty. After two rounds the
    // rest of such chains costs a jump.
    for _ in 0..2 {
        let skipped = skip_empty_blocks(function);
        if !fold_equal_targets(function) || !skipped {
            break;
        }
    }
}

/// Inverts a branch that goes to the next block, followed by a jump: the jump is removed.
fn fall_through(function: &mut Function, id: BlockId, next: BlockId, alone: &FxHashSet<Origin>) {
    let Some(index) = guarded_branch(function, id) else { return };
    let here = function.block_mut(id);
    if here.instructions[index + 1..].iter().any(|jump| alone.contains(&jump.origin)) {
        return;
    }
    let [taken, other] = here.successors[..] else { return };
    if taken != next || other == next {
        return;
    }
    here.instructions.truncate(index + 1);
    let branch = &mut here.instructions[index];
    if let Some(guard) = &mut branch.guard {
        guard.negated = !guard.negated;
    }
    branch.sources[0].kind = SourceKind::Block(other);
    here.successors.swap(0, 1);
}

/// Inverts the end of a latch that otherwise ends the thread: the branch goes back and the exit follows, so a loop
/// iterates with one branch.
fn turn_back(function: &mut Function, id: BlockId) {
    let here = function.block_mut(id);
    let [back] = here.successors[..] else { return };
    let jump = here.instructions.last().is_some_and(is_plain_branch);
    let at = here.instructions.len().checked_sub(1 + usize::from(jump));
    let Some(exit) = at.map(|at| &mut here.instructions[at]).filter(|it| it.opcode == Opcode::Sass(Op::EXIT))
    else {
        return;
    };
    if back > id || exit.guard.is_none() {
        return;
    }
    let end = Instruction { guard: None, ..exit.clone() };
    if let Some(guard) = &mut exit.guard {
        guard.negated = !guard.negated;
    }
    exit.opcode = Op::BRA.into();
    exit.sources.push(Source::plain(SourceKind::Block(back)));
    here.instructions.truncate(here.instructions.len() - usize::from(jump));
    here.instructions.push(end);
}

/// True if the code follows the source, in its order: each statement with a read result has code, and so has each
/// jump.
fn follows_source(function: &Function, options: &AllocateOptions) -> bool {
    options.level == 0 && function.routine.is_none()
}

/// Statements that are only a jump: one to the next block stays.
fn lone_jumps(function: &Function) -> FxHashSet<Origin> {
    let (mut jumps, mut others) = (FxHashSet::default(), FxHashSet::default());
    for instruction in function.blocks.iter().flat_map(|block| &block.instructions) {
        if !is_plain_branch(instruction) || !jumps.insert(instruction.origin) {
            others.insert(instruction.origin);
        }
    }
    jumps.retain(|origin| !others.contains(origin));
    jumps
}

/// Lays out the blocks, removes jumps to the next block, and adds missing ones.
fn layout(function: &mut Function, options: &AllocateOptions) {
    canonical::order_blocks(function);
    if options.level == 0 {
        order_as_source(function);
    } else if options.cold_blocks {
        cold_blocks::move_to_end(function);
    }
    let alone = if follows_source(function, options) { lone_jumps(function) } else { FxHashSet::default() };
    let empty = function.blocks.iter().any(|block| block.instructions.is_empty());
    let origins = empty.then(|| edges::end_origins(function, function.graph().cfg()));
    for block in function.block_ids() {
        let next = BlockId(block.0 + 1);
        if options.thread_branches || options.level == 0 {
            fall_through(function, block, next, &alone);
        }
        if options.thread_branches {
            turn_back(function, block);
        }
        let here = &mut function.blocks[block];
        let ends = here.instructions.last().is_some_and(|i| is_transfer(i) && i.guard.is_none());
        if ends {
            let jumps = here.instructions.last().is_some_and(|i| {
                is_plain_branch(i)
                    && i.sources[0].kind == SourceKind::Block(next)
                    && !alone.contains(&i.origin)
            });
            if jumps {
                here.instructions.pop();
            }
        } else if let Some(&goes_on) = here.successors.last()
            && goes_on != next
        {
            let led = origins.as_ref().map_or(Origin(0), |origins| origins[block]);
            let origin = here.instructions.last().map_or(led, |i| i.origin);
            let mut jump = Instruction::new(Op::BRA, origin);
            jump.sources.push(Source::plain(SourceKind::Block(goes_on)));
            here.instructions.push(jump);
        }
    }
}

/// Sorts the blocks by the source positions of their ends, as far as known; blocks of one source instruction keep
/// their order.
fn order_as_source(function: &mut Function) {
    let graph = function.graph();
    let cfg = graph.cfg();
    let ends = edges::end_origins(function, cfg);
    let mut order = cfg.order().to_vec();
    if let Some((_entry, others)) = order.split_first_mut() {
        let begins =
            |block| function.block(block).instructions.first().map_or(ends[block], |first| first.origin);
        others.sort_by_key(|&block| (ends[block].0, begins(block).0));
    }
    canonical::arrange_blocks(function, &order);
}
