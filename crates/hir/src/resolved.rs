//! The results of resolving a function apart from its body: the map to the text, and the names that it uses.
//!
//! Positions and spellings stay out of the body: a moved comment changes the map only.

use la_arena::ArenaMap;
use oriole_diagnostics::{Diagnostic, Span};

use crate::{Body, LabelId, ModuleVariable, RegisterId, SignatureInfo, VariableId};

/// A resolved function or kernel.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Resolved {
    /// Name of the function.
    pub name: String,
    /// Its meaning; without statements for a declaration.
    pub body: Body,
    /// Whether it has a body in the text.
    pub has_body: bool,
    /// The map to the text.
    pub source_map: SourceMap,
    /// Diagnostics, in text order, with spans relative to the unit.
    pub diagnostics: Vec<Diagnostic>,
    /// Names of the module that it uses.
    pub uses: Uses,
    /// Its own signature.
    pub signature: Option<SignatureInfo>,
    /// The static variables that it declares, with initial values.
    pub statics: Vec<ModuleVariable>,
}

impl Resolved {
    /// Whether a diagnostic is an error: then the body must not be compiled.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }
}

/// From the indices of a body to spellings and places.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct SourceMap {
    /// The function's name.
    pub name: Span,
    /// For each instruction, by ordinal: its text.
    pub instructions: Vec<Span>,
    /// For each statement of the body: its text.
    pub statements: Vec<Span>,
    /// For each register: name and declaration.
    pub registers: ArenaMap<RegisterId, (String, Span)>,
    /// For each label: name and place.
    pub labels: ArenaMap<LabelId, (String, Span)>,
    /// For each variable that is not the module's: declaration.
    pub variables: ArenaMap<VariableId, Span>,
    /// First use of each name in [`Uses`]: globals, then called, then addressed functions.
    pub uses: Vec<Span>,
    /// `.loc` lines in order.
    pub lines: Vec<LineEntry>,
    /// Registers that are declared one by one and never named: the place of each name.
    pub unused: Vec<Span>,
}

/// One `.loc`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LineEntry {
    /// Ordinal of the first instruction that follows it.
    pub instruction: u32,
    /// Index of the `.file`.
    pub file: u32,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1; 0 if there is none.
    pub column: u32,
    /// The inlining location.
    pub inlined: Option<Inlined>,
}

/// The inlining part of a `.loc`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Inlined {
    /// Label of the inlined function's name in the string section, and an offset to add.
    pub function_name: Option<(String, u32)>,
    /// File, line and column of the call.
    pub at: Option<(u32, u32, u32)>,
}

/// Names of the module that a function uses, each list in the order of first use and without repetitions.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Uses {
    /// Variables.
    pub globals: Vec<String>,
    /// Functions that are called by name.
    pub called: Vec<String>,
    /// Functions whose address is taken, or that are in a `.calltargets` list.
    pub addressed: Vec<String>,
    /// Whether it calls through a pointer.
    pub calls_through_pointers: bool,
    /// Whether an `inlined_at` names a location that no `.loc` of the function gives before it.
    pub outer_locations: bool,
    /// Labels and sections that a `function_name` names.
    pub function_names: Vec<String>,
}
