//! The members of an image: a kernel or function, and all that it reaches, one after the other.
//!
//! It decides the order of members and where each begins, and knows nothing of their contents.

use std::collections::{BTreeMap, BTreeSet};

use oriole_chip::WordShape;
use oriole_emit::LinkedFunction;
use oriole_ori::SymbolId;

use crate::error::ImageError;
use crate::symbols::ModuleSymbols;

/// A function in an image.
pub struct Member<'a> {
    /// Its name in the module.
    pub name: String,
    /// A routine of the compiler, which keeps another convention than functions.
    pub is_routine: bool,
    /// Its code.
    pub function: &'a LinkedFunction,
    /// Bytes from the start of the kernel's text.
    pub base: u32,
    /// Members it calls or may call, by index.
    pub callees: Vec<usize>,
}

/// The kernel and everything it reaches, in order of first reference, after the words at its entry.
pub fn closure<'a>(
    shape: WordShape,
    before: &[oriole_sass::InstructionWord],
    entry: &str,
    symbols: &ModuleSymbols,
    find: &dyn Fn(&str) -> Option<&'a LinkedFunction>,
) -> Result<Vec<Member<'a>>, ImageError> {
    let mut members: Vec<Member<'a>> = Vec::new();
    let mut indices: BTreeMap<String, usize> = BTreeMap::new();
    let mut names = vec![(entry.to_owned(), false)];
    indices.insert(entry.to_owned(), 0);
    let mut base = shape.address(before.len() as u32);
    let mut next = 0;
    while next < names.len() {
        let (name, is_routine) = names[next].clone();
        let function = find(&name).ok_or_else(|| ImageError::MissingFunction(name.clone()))?;
        let mut callees = Vec::new();
        let direct = function.called().filter(|_| !function.is_separate).map(|name| symbols.meant(name));
        let pointed: &[String] = if function.calls_through_pointers() { &symbols.functions } else { &[] };
        let mut seen = BTreeSet::new();
        let functions = direct.chain(pointed.iter().map(String::as_str)).map(|name| (name, false));
        for (callee, is_routine) in functions.chain(function.called_routines().map(|name| (name, true))) {
            let index = *indices.entry(callee.to_owned()).or_insert_with(|| {
                names.push((callee.to_owned(), is_routine));
                names.len() - 1
            });
            if seen.insert(index) {
                callees.push(index);
            }
        }
        members.push(Member { name, is_routine, function, base, callees });
        base += shape.address(function.encoded.words.len() as u32);
        next += 1;
    }
    Ok(members)
}

/// Meaning of a symbol of a function.
pub fn symbol_ref(function: &LinkedFunction, symbol: SymbolId) -> Result<&oriole_ori::SymbolRef, ImageError> {
    function.symbols.get(symbol).ok_or_else(|| ImageError::Internal(format!("no symbol {}", symbol.0)))
}
