//! Calls: the callee, and the registers that a call costs.
//!
//! It is here because an instruction holds it, and a function holds instructions.

use crate::SymbolId;

/// The callee, and the registers that the call costs.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct CallShape {
    /// Callee, or `None` for an indirect call.
    pub callee: Option<SymbolId>,
    /// Bytes of stack that arguments need beyond registers.
    pub stack_bytes: u32,
    /// General registers that the callee may overwrite, bit n for Rn.
    pub clobbers: [u64; 4],
    /// Predicates that the callee may overwrite, bit n for Pn.
    pub clobbered_predicates: u8,
    /// True if uniform registers and uniform predicates are overwritten.
    pub clobbers_uniform: bool,
    /// True for a routine in which lanes exchange, also with lanes that call it from elsewhere: results differ between
    /// lanes whatever the arguments are.
    pub exchanges: bool,
    /// General registers that hold arguments, bit n for Rn. Used by the machine call, whose operands do not name
    /// them; the pseudo-instruction names them as sources.
    pub arguments: [u64; 4],
    /// Predicates that hold arguments, bit n for Pn, likewise.
    pub argument_predicates: u8,
}
