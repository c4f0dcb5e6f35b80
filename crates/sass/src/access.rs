//! Registers that an instruction reads and writes, component by component, with their roles: derived from its form,
//! the only source. Used by schedulers, latencies, statistics and the editor. The simulator and the hazard checker
//! have tables of their own, so that a wrong row does not affect both.
//!
//! Only accesses of the word itself are reported: those of a called function or a trap handler are not known here.

use crate::choose::{choose, resolve_as};
use crate::error::EncodeError;
use crate::form::{self, Access as Direction, Form, FormId, Table, Width};
use crate::register::{PT, RegisterFile};
use crate::role::{ResultPart, Slot};
use crate::width::{Role, role};
use crate::{Class, Instruction, Op, Operand, OperandKind, Symbol};
use oriole_chip::{Chip, RegisterFiles};

/// One register touched by an instruction. `RZ`, `URZ`, `PT` and `UPT` are no registers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Access {
    /// It is read.
    Read {
        /// File.
        file: RegisterFile,
        /// Index in the file.
        register: u8,
        /// Role.
        slot: Slot,
    },
    /// It is written (under a guard: perhaps).
    Write {
        /// File.
        file: RegisterFile,
        /// Index in the file.
        register: u8,
        /// Part of the result.
        part: ResultPart,
    },
}

/// Visits every register that the instruction reads and writes, guard first, then operand by operand. A register may
/// be visited more than once. Where the table does not know a width, four general and two uniform registers are
/// assumed: a register too many costs time, never correctness.
pub fn accesses(table: &'static Table, id: FormId, instruction: &Instruction, visit: impl FnMut(Access)) {
    let form = table.form(id);
    if form.slots.len() == instruction.operands.len() {
        visit_form(table, form, 0..instruction.operands.len(), instruction, visit)
    } else {
        let slots = resolve_as(table, id, instruction).map(|resolved| resolved.slots);
        debug_assert!(slots.is_ok(), "the form is that of the instruction");
        visit_form(table, form, slots.unwrap_or_default().into_iter().map(usize::from), instruction, visit);
    }
}

/// [`accesses`] of an instruction whose form is not known yet.
///
/// # Errors
/// No form takes the instruction.
pub fn accesses_of(
    chip: Chip,
    instruction: &Instruction,
    visit: impl FnMut(Access),
) -> Result<(), EncodeError> {
    let table = form::table(chip).ok_or(EncodeError::UnsupportedChip(chip))?;
    let (resolved, _) = choose(table, instruction)?;
    let slots = resolved.slots.into_iter().map(usize::from);
    visit_form(table, resolved.form, slots, instruction, visit);
    Ok(())
}

/// Role of an operand whose width the table does not know.
const UNKNOWN: Role =
    Role { access: Direction::Use, components: 4, uniform_components: 2, descriptor_components: 2 };

fn visit_form(
    table: &Table,
    form: &Form,
    slots: impl Iterator<Item = usize>,
    instruction: &Instruction,
    mut visit: impl FnMut(Access),
) {
    let guard = instruction.guard;
    if guard.register < PT {
        let (file, slot) = if guard.uniform {
            (RegisterFile::UniformPredicate, Slot::UniformGuard)
        } else {
            (RegisterFile::Predicate, Slot::Guard)
        };
        visit(Access::Read { file, register: guard.register, slot });
    }
    for (operand, slot) in instruction.operands.iter().zip(slots) {
        let row = &form.slots[slot];
        let role = role(form, slot, &instruction.mods, operand, &instruction.operands)
            .unwrap_or(Role { access: row.access, ..UNKNOWN });
        Operands { files: table.registers(), instruction, row, role }.visit(operand, &mut visit);
    }
}

/// Alignment of a source of `registers` registers, where it differs from that of tuples of this width in other
/// instructions: the left factor of the widest f64 MMA. One that is only aligned to eight is an illegal instruction
/// on an H200.
pub fn source_alignment(op: Op, registers: usize) -> Option<u8> {
    (op == Op::DMMA && registers == 16).then_some(16)
}

/// One operand with its row of the form.
struct Operands<'a> {
    files: &'static RegisterFiles,
    instruction: &'a Instruction,
    row: &'a form::Slot,
    role: Role,
}

impl Operands<'_> {
    fn visit(&self, operand: &Operand, visit: &mut impl FnMut(Access)) {
        if self.role.access != Direction::Def {
            self.whole_reads(operand, visit);
        }
        // Registers inside of an address are always read.
        self.address_reads(operand, visit);
        if self.role.access != Direction::Use {
            self.writes(operand, visit);
        }
    }

    fn read(&self, file: RegisterFile, first: u8, count: u8, slot: Slot, visit: &mut impl FnMut(Access)) {
        for (k, register) in self.span(file, first, count) {
            let slot = if slot == Slot::AddendLow && k == 1 { Slot::AddendHigh } else { slot };
            visit(Access::Read { file, register, slot });
        }
    }

    /// Registers that are the operand.
    fn whole_reads(&self, operand: &Operand, visit: &mut impl FnMut(Access)) {
        use RegisterFile::{Barrier, General, Predicate, Uniform, UniformPredicate};
        let (role, info) = (self.role, self.instruction.op.info());
        let mut read = |file, first, count, slot| self.read(file, first, count, slot, visit);
        match operand.kind {
            OperandKind::Reg(n) => read(General, n, role.components, self.general_slot()),
            OperandKind::UReg(n) => read(Uniform, n, role.components, info.uniform_role),
            OperandKind::Pred(n) if info.slow_predicates => read(Predicate, n, 1, Slot::SlowPredicate),
            OperandKind::Pred(n) => read(Predicate, n, 1, Slot::Predicate),
            OperandKind::UPred(n) => read(UniformPredicate, n, 1, Slot::UniformPredicate),
            OperandKind::Barrier(n) => read(Barrier, n, 1, Slot::Barrier),
            OperandKind::Symbol(Symbol::PR) => {
                masked(self.instruction, |n| read(Predicate, n, 1, Slot::Predicate));
            }
            OperandKind::Symbol(Symbol::UPR) => {
                masked(self.instruction, |n| read(UniformPredicate, n, 1, Slot::UniformPredicate));
            }
            _ => {}
        }
    }

    /// Registers inside of an address.
    fn address_reads(&self, operand: &Operand, visit: &mut impl FnMut(Access)) {
        use RegisterFile::{General, Uniform};
        let role = self.role;
        let mut read = |file, first, count, slot| self.read(file, first, count, slot, visit);
        match operand.kind {
            OperandKind::ConstIndexed { index, .. } => read(General, index, 1, Slot::ConstantIndex),
            OperandKind::ConstUniformIndexed { index, .. } => read(Uniform, index, 1, Slot::UniformIndex),
            OperandKind::ConstBindless { handle, .. } => read(Uniform, handle, 2, Slot::UniformIndex),
            OperandKind::ConstBindlessIndexed { handle, index, .. } => {
                read(General, index, 1, Slot::ConstantIndex);
                read(Uniform, handle, 2, Slot::UniformIndex);
            }
            OperandKind::Memory { descriptor, base, uniform, .. } => {
                let parts = [
                    (General, base, role.components, Slot::Address),
                    (Uniform, descriptor, role.descriptor_components, Slot::UniformAddress),
                    (Uniform, uniform, role.uniform_components, Slot::UniformAddress),
                ];
                for (file, first, count, slot) in parts {
                    first.into_iter().for_each(|first| read(file, first, count, slot));
                }
            }
            OperandKind::Attribute { base, uniform, .. } => {
                base.into_iter().for_each(|n| read(General, n, role.components, Slot::Address));
                uniform.into_iter().for_each(|n| {
                    read(Uniform, n, role.uniform_components, Slot::UniformAddress);
                });
            }
            OperandKind::TensorMemory { address, .. } => {
                read(Uniform, address, role.uniform_components, Slot::UniformAddress);
            }
            OperandKind::InstructionDescriptor(n) => {
                read(Uniform, n, role.components, Slot::UniformAddress);
            }
            OperandKind::MatrixDescriptor(n) => {
                // The descriptor of the right factor has its place above that of the left one, even without that.
                let first = if self.row.width == Width::UpperTwo { n.saturating_add(2) } else { n };
                read(Uniform, first, role.components, Slot::MatrixDescriptor);
            }
            _ => {}
        }
    }

    fn writes(&self, operand: &Operand, visit: &mut impl FnMut(Access)) {
        use RegisterFile::{Barrier, General, Predicate, Uniform, UniformPredicate};
        let role = self.role;
        let mut write = |file: RegisterFile, first: u8, count: u8, part: ResultPart| {
            for (k, register) in self.span(file, first, count) {
                let part = if part == ResultPart::Low && k == 1 { ResultPart::High } else { part };
                visit(Access::Write { file, register, part });
            }
        };
        match operand.kind {
            OperandKind::Reg(n) => {
                let wide = self.row.width == Width::Wide && role.components == 2;
                let part = if wide { ResultPart::Low } else { ResultPart::General };
                write(General, n, role.components, part);
            }
            OperandKind::UReg(n) => write(Uniform, n, role.components, ResultPart::Uniform),
            OperandKind::Pred(n) => write(Predicate, n, 1, ResultPart::Predicate),
            OperandKind::UPred(n) => write(UniformPredicate, n, 1, ResultPart::UniformPredicate),
            OperandKind::Barrier(n) => write(Barrier, n, 1, ResultPart::Barrier),
            OperandKind::Symbol(Symbol::PR) => {
                masked(self.instruction, |n| write(Predicate, n, 1, ResultPart::Predicate));
            }
            OperandKind::Symbol(Symbol::UPR) => {
                masked(self.instruction, |n| write(UniformPredicate, n, 1, ResultPart::UniformPredicate));
            }
            _ => {}
        }
    }

    /// The registers of a span that exist, with their places in it.
    fn span(&self, file: RegisterFile, first: u8, count: u8) -> impl Iterator<Item = (u8, u8)> + use<> {
        let end = file.of(self.files).count;
        (0..count).map(move |k| (k, first.saturating_add(k))).filter(move |&(_, register)| register < end)
    }

    /// The role in which a general register is read.
    fn general_slot(&self) -> Slot {
        let info = self.instruction.op.info();
        match self.row.width {
            Width::MatrixC | Width::GroupD => Slot::Accumulator,
            Width::Two if info.class(&self.instruction.mods) == Class::Wide => Slot::AddendLow,
            _ => info.general_role,
        }
    }
}

/// The predicates that `P2R` and `R2P` touch: those of the mask, all where the mask is not known here.
fn masked(instruction: &Instruction, mut visit: impl FnMut(u8)) {
    let mask = match instruction.operands.last().map(|operand| operand.kind) {
        Some(OperandKind::Imm(mask)) => mask,
        _ => 0x7f,
    };
    (0..PT).filter(|n| mask >> n & 1 == 1).for_each(&mut visit);
}
