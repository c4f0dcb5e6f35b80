//! The static variables that a function has declared so far, and their names in the module.
//!
//! It is state of the resolver: how such a variable is declared and initialized is in `static_variable`.

use rustc_hash::FxHashMap;

use crate::ModuleVariable;

/// The static variables of a function.
pub(crate) struct Statics<'a> {
    function: String,
    /// Number of variables of each name.
    counts: FxHashMap<&'a str, u32>,
    /// The variables of the module among them.
    pub variables: Vec<ModuleVariable>,
}

impl<'a> Statics<'a> {
    pub fn new(function: &str) -> Statics<'a> {
        Statics { function: function.to_owned(), counts: FxHashMap::default(), variables: Vec::new() }
    }

    /// The name in the module of the next static variable of this name.
    pub fn symbol(&mut self, name: &'a str) -> String {
        let count = self.counts.entry(name).or_default();
        *count += 1;
        match *count {
            1 => format!("{}.{name}", self.function),
            number => format!("{}.{name}.{}", self.function, number - 1),
        }
    }
}
