//! How an instruction orders memory, as PTX says it by its modifiers.

/// The memory semantics of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Semantics {
    /// Its accesses are strong: atomic, with a scope, or volatile.
    pub strong: bool,
    /// Its reads make earlier writes of others visible.
    pub acquires: bool,
    /// Its writes make earlier writes of the thread visible.
    pub releases: bool,
    /// Its scope is the block; otherwise at least the cluster.
    pub of_block: bool,
    /// All lanes of the warp are to execute it together.
    pub aligned: bool,
    /// It changes memory by an atomic.
    pub atomic: bool,
    /// It only makes an object, so that its write is one of the thread.
    pub makes_object: bool,
    /// It accesses the parameters or results of a function.
    pub on_parameters: bool,
    /// It is a fence of the thread's accesses.
    pub fences: bool,
    /// It copies registers: an unwritten value stays unwritten and is not used.
    pub copies_registers: bool,
}
