//! Rules of the tracker for single instructions: what one waits for, when it reads its operands, and which pipes are so
//! close in latency that they overtake each other by little.

use crate::program::Step;
use oriole_latency::{Class, Slot};
use oriole_sass::info::Scoreboard;
use oriole_sass::{Op, OperandKind, RegisterFile};

/// Cycles after which any instruction may overwrite a fixed-latency result, except for matrix results.
pub(crate) const LONGEST_OVERWRITE: u8 = 6;

/// Scoreboards that a `DEPBAR` waits for completely, and those that it waits for partially.
pub(crate) fn explicit_waits(step: &Step) -> (u8, u8) {
    let (mut full, mut partial) = (0, 0);
    if step.instruction.op == Op::DEPBAR {
        let operands = &step.instruction.operands;
        for (index, operand) in operands.iter().enumerate() {
            match operand.kind {
                OperandKind::Scoreboard(number) => match operands.get(index + 1).map(|next| next.kind) {
                    Some(OperandKind::Imm(0)) => full |= 1 << number,
                    _ => partial |= 1 << number,
                },
                OperandKind::ScoreboardSet(set) => full |= set,
                _ => {}
            }
        }
    }
    (full, partial)
}

/// True if a source of this kind must not be overwritten until a scoreboard signals that it was read.
pub(crate) fn is_read_late(step: &Step, file: RegisterFile, slot: Slot) -> bool {
    if !step.variable || slot == Slot::Guard || slot == Slot::UniformGuard {
        return false;
    }
    match file {
        RegisterFile::General => !matches!(step.class, Class::SpecialRegister | Class::Fence),
        // The address of an mbarrier is read at once, the stored data are not.
        RegisterFile::Uniform if step.class == Class::Sync => slot == Slot::Uniform,
        // Some read their address at once, and no compiler waits for that.
        RegisterFile::Uniform => {
            step.class == Class::Bulk && step.instruction.op.info().read_scoreboard != Scoreboard::No
        }
        _ => false,
    }
}

/// True where ptxas waits for a result by the scoreboard of the operands: an atomic, and on sm_75 the query for the
/// space of an address.
pub(crate) fn read_scoreboard_tells_result(op: Op) -> bool {
    matches!(op, Op::ATOM | Op::QSPC)
}

/// Pipes whose latencies differ so little that a later write is never overtaken by more than this.
pub(crate) const SHORT_OVERWRITE: u8 = 2;

/// ptxas overwrites a uniform register by scoreboard as soon as this after a uniform instruction.
pub(crate) const UNIFORM_OVERWRITE: u8 = 4;

/// True for the pipes of fixed latency that deliver a result in a few cycles.
pub(crate) fn is_short(class: Class) -> bool {
    use Class::*;
    matches!(
        class,
        Alu | Fma
            | Dual
            | Wide
            | Half
            | HalfToSingle
            | HalfAlu
            | Mask
            | Dispatch64
            | Uniform
            | UniformMove
            | UniformLoad
            | UniformVote
    )
}

/// True for the short pipes and for those slower ones that cannot overtake them.
pub(crate) fn writes_late_enough(class: Class) -> bool {
    is_short(class) || matches!(class, Class::HalfMma | Class::Double)
}

pub(crate) fn is_matrix(class: Class) -> bool {
    matches!(
        class,
        Class::Matrix88
            | Class::MatrixOne
            | Class::MatrixOneInteger
            | Class::MatrixTwo
            | Class::MatrixDouble
            | Class::Group
    )
}
