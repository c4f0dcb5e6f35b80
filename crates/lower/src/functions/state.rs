//! Places of variables in registers and in the frame: one entry for each variable that the lowering has met.
//!
//! It is here and not in the context because only this family reads it. No instruction is emitted here.

use super::accesses::Accesses;
use crate::source::Words;
use oriole_hir::VariableId;
use oriole_ori::{SymbolId, Value};
use std::collections::BTreeMap;

/// Memory of a `.param` variable that is not in registers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ParameterMemory {
    /// In the block that the caller provides.
    Block(Value, i32),
    /// In this function's own frame.
    Frame(SymbolId),
}

/// Places of the variables of the function.
#[derive(Default)]
pub(crate) struct Places {
    /// Words of `.param` variables, by variable.
    pub(super) words: BTreeMap<VariableId, Words>,
    /// Memory of `.param` variables that are not in registers, by variable.
    pub(super) memory: BTreeMap<VariableId, ParameterMemory>,
    /// Frame symbols of `.local` variables and of parameters whose address is taken, by variable.
    pub(super) frame: BTreeMap<VariableId, SymbolId>,
    /// The block of the frame for arguments and results that do not fit in registers.
    pub(super) call_block: Option<SymbolId>,
    /// Accesses to words of `.param` variables, computed on first use.
    pub(super) accesses: Option<BTreeMap<VariableId, Accesses>>,
}
