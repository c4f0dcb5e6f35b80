//! The sections for debuggers of a module, as far as they are known before its variables are laid out.
//!
//! It is apart from `names`, which makes them, because the container closes what they leave open. No name of the text is looked up here.

use std::collections::BTreeMap;

use oriole_cubin::{DebugSection, Module, SymbolRef};
use oriole_diagnostics::Diagnostic;

/// The sections for debuggers, as far as the layout of the module has no say in them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DebugParts {
    /// The sections.
    pub sections: triomphe::Arc<Vec<DebugSection>>,
    /// Names of variables that have places when the module is laid out.
    pub open: Vec<OpenReference>,
    /// Warnings about names without a place, by the ordinal of the unit.
    pub warnings: Vec<(usize, Diagnostic)>,
}

/// A value of a debug section that is the address of a variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenReference {
    /// Index of the section in [`DebugParts::sections`].
    pub section: usize,
    /// Offset in the section; the value has eight bytes.
    pub at: u64,
    /// The variable.
    pub name: String,
    /// Bytes that are added.
    pub addend: i64,
}

/// The variables of a module that have their addresses when they are loaded.
pub fn loaded_variables(module: &Module) -> BTreeMap<String, SymbolRef> {
    let globals = module.globals.iter().enumerate().map(|(at, one)| (one, SymbolRef::Global(at)));
    let constants = module.constants.iter().enumerate().map(|(at, one)| (one, SymbolRef::Constant(at)));
    let undefined = module.undefined.iter().enumerate();
    let undefined = undefined.map(|(at, other)| (other.name.clone(), SymbolRef::Undefined(at)));
    globals.chain(constants).map(|(one, at)| (one.name.clone(), at)).chain(undefined).collect()
}
