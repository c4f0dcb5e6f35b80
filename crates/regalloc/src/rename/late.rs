//! Late reads: instructions that read their registers after they are issued, and for how long.

use crate::work::Work;
use oriole_ori::{File, Instruction, Value};

/// Instructions after an access by which its registers have been read, more or less.
pub(super) const WINDOW: u32 = 12;

/// A general register that a value has.
pub(super) fn general(work: &Work, value: Value) -> Option<u8> {
    work.register[value].filter(|_| work.function.file(value) == File::R)
}

/// Whether an instruction may read its registers some time after it is issued.
pub(super) fn reads_late(instruction: &Instruction) -> bool {
    instruction.memory.is_some()
}
