//! A conflict between two instructions over a register, as the trackers of operations in flight find it.

use crate::launch::HazardKind;
use oriole_sass::RegisterFile;

/// A register of any file.
pub(crate) type Register = (RegisterFile, u8);

/// A conflict found at an instruction.
#[derive(Clone, Copy)]
pub(crate) struct Conflict {
    pub other: u32,
    pub kind: HazardKind,
    pub register: Register,
    pub distance: u32,
    pub needed: u32,
}
