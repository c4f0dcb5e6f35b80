//! Control flow: branches, indexed branches, leaving the function, traps.

use crate::LowerError;
use crate::context::{Lower, Lowered};
use oriole_diagnostics::Code;
use oriole_hir::{Immediate, Instruction, Operand, Table};
use oriole_ori::{BlockId, ConstBase, IndexedConst, MemoryInfo, Pseudo, Source, SourceKind, Value};
use oriole_ptx::Type;
use oriole_sass::{Mod, Op};
use std::collections::BTreeSet;

/// The least that memory from the stack is aligned to.
const STACK_ALIGN: i64 = 8;

/// Capacity of one cubin attribute: 64 KiB less three words that come first.
const MOST_TARGETS: usize = 16380;

/// Moves of the stack pointer keep program order among each other and with memory accesses.
const STACK: MemoryInfo = MemoryInfo::EVERYTHING;

impl Lower<'_> {
    /// `alloca`.
    pub fn allocate_stack(&mut self, i: &Instruction) -> Lowered {
        let align = match i.operands.get(2) {
            None => STACK_ALIGN,
            Some(&Operand::Immediate(Immediate::Integer(align))) => align.max(STACK_ALIGN),
            Some(_) => return Err(self.unsupported_form(i)),
        };
        let Some(align) = u32::try_from(align).ok().filter(|align| align.is_power_of_two()) else {
            return Err(self.unsupported("an alignment that is no power of two"));
        };
        let ty = self.ty(i, 0)?;
        let size = self.words(self.operand(i, 1)?, ty)?.swap_remove(0);
        let size = if matches!(size.kind, SourceKind::Imm(_)) { size } else { self.in_register(size) };
        let d = self.b.r();
        let taken = self.b.op(Pseudo::StackAllocate).to(d).from(size).from(Source::literal(align.into()));
        taken.memory(STACK).emit();
        self.write_stack_address(i, d)
    }

    /// `stacksave`.
    pub fn save_stack(&mut self, i: &Instruction) -> Lowered {
        let d = self.b.r();
        self.b.op(Pseudo::StackSave).to(d).memory(STACK).emit();
        self.write_stack_address(i, d)
    }

    /// `stackrestore`.
    pub fn restore_stack(&mut self, i: &Instruction) -> Lowered {
        let ty = self.ty(i, 0)?;
        let to = self.words(self.operand(i, 0)?, ty)?.swap_remove(0);
        let to = self.in_register(to);
        self.b.op(Pseudo::StackRestore).from(to).memory(STACK).emit();
        Ok(())
    }

    /// A local address, whose upper word is zero if there is one.
    fn write_stack_address(&mut self, i: &Instruction, address: Value) -> Lowered {
        let ty = self.ty(i, 0)?;
        let words = [address.into(), Source::rz()];
        self.write(self.operand(i, 0)?, ty, &words[..ty.bits() as usize / 32])
    }

    /// `bra`.
    pub fn bra(&mut self, i: &Instruction) -> Lowered {
        let Operand::Label(label) = self.operand(i, 0)? else { return Err(self.unsupported_form(i)) };
        let target = self.label(*label);
        match self.guard.take() {
            None => {
                self.b.jump(target);
                self.terminated = true;
            }
            Some(guard) => {
                let next = self.b.new_block();
                self.b.branch(guard, target, next);
                self.open(next);
            }
        }
        Ok(())
    }

    /// `brx.idx`: the index picks a text offset from a table in constant bank 2.
    pub fn brx(&mut self, i: &Instruction) -> Lowered {
        let Operand::Table(table) = self.operand(i, 1)? else { return Err(self.unsupported_form(i)) };
        let Table::Labels(labels) = &self.body.tables[*table] else {
            return Err(self.unsupported_form(i));
        };
        if labels.len() > MOST_TARGETS {
            let message = format!("{} targets of one indirect branch, {MOST_TARGETS} at most", labels.len());
            return Err(LowerError::new(Code::TooLarge, Some(self.ordinal), message));
        }
        let behind = self.begin_region();
        let index = self.word(self.operand(i, 0)?, Type::U32)?;
        let index = self.in_register(index);
        let targets: Vec<BlockId> = labels.iter().map(|&label| self.label(label)).collect();
        let tables = &mut self.b.function_mut().tables;
        let number = tables.len() as u32;
        tables.push(oriole_ori::Table::Targets(targets.clone()));
        let scaled = self.b.r();
        self.b.shl(scaled, index, 2u32);
        let target = self.b.pair();
        let place = IndexedConst { bank: 2, base: ConstBase::Table(number), index: scaled, offset: 0 };
        self.load_constant([target[0]], &[], SourceKind::ConstIndexed(Box::new(place)));
        self.b.sar(target[1], target[0], 31u32);
        // The table holds offsets from the start of the kernel's code.
        self.b.op(Op::BRX).from(target).from(SourceKind::KernelStart).emit();
        let mut seen = BTreeSet::new();
        let successors = targets.into_iter().filter(|&block| seen.insert(block)).collect();
        let here = self.b.block();
        self.b.function_mut().block_mut(here).successors = successors;
        self.terminated = true;
        self.end_region(behind);
        Ok(())
    }

    /// `exit`, and `ret` of a kernel.
    pub fn exit(&mut self) -> Lowered {
        if self.options.reports_errors() {
            self.fence(Mod::VC, true, false);
            // Threads that go on do not wait.
            self.settle();
        }
        match self.guard.take() {
            None => {
                self.b.exit();
                self.terminated = true;
            }
            Some(guard) => {
                let next = self.b.new_block();
                self.b.op(Op::EXIT).guarded(guard).emit();
                self.b.fall_through(next);
                self.open(next);
            }
        }
        Ok(())
    }

    /// `ret`.
    pub fn ret(&mut self) -> Lowered {
        if self.body.is_entry {
            return self.exit();
        }
        let behind = self.begin_region();
        self.leave_function()?;
        self.end_region(behind);
        Ok(())
    }

    /// Leaves the function, unguarded.
    pub fn leave_function(&mut self) -> Lowered {
        if self.body.is_entry {
            self.b.exit();
        } else {
            let words = self.return_words()?;
            self.b.op(Pseudo::Return).from_all(words).emit();
            let here = self.b.block();
            self.b.function_mut().block_mut(here).successors.clear();
        }
        self.terminated = true;
        Ok(())
    }

    /// `trap`: the kernel ends with an error. `brkpt` is the same SASS instruction, but execution may continue.
    pub fn trap(&mut self, ends: bool) -> Lowered {
        self.b.op(Op::BPT).m(Mod::TRAP).from(Source::literal(1)).emit();
        if ends && self.guard.is_none() {
            self.b.exit();
            self.terminated = true;
        }
        Ok(())
    }
}
