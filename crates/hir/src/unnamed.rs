//! A body apart from the spellings of its names: each name is a number, the same for the same name.
//!
//! Code depends on which names are equal and not on their spelling. A store of finished code takes a body in this form,
//! so a renamed kernel is the same body. It is here, next to [`Body`], because it must see every field that holds a
//! name. Names in finished code are not known here.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHashMap;

use crate::{Body, FunctionRef, Variable};

/// The names in a body, each once, numbered by first occurrence.
#[derive(Clone, Debug, Default)]
pub struct BodyNames<'b> {
    names: Vec<&'b str>,
    numbers: FxHashMap<&'b str, u32>,
}

impl<'b> BodyNames<'b> {
    /// The names of a body, except those that `is_fixed` accepts: their spelling has a meaning, so they are not numbered.
    pub fn new(body: &'b Body, is_fixed: impl Fn(&str) -> bool) -> BodyNames<'b> {
        let mut names = BodyNames::default();
        let variables = body.variables.values();
        let of_variables =
            variables.flat_map(|variable| std::iter::once(&variable.name).chain(variable.symbol.as_ref()));
        let of_functions = body.functions.values().map(|function| &function.name);
        for name in of_variables.chain(of_functions).filter(|name| !is_fixed(name)) {
            let next = names.names.len() as u32;
            let number = *names.numbers.entry(name).or_insert(next);
            if number == next {
                names.names.push(name);
            }
        }
        names
    }

    /// The number of a name; `None` if its spelling has a meaning, or if the body does not name it.
    pub fn number(&self, name: &str) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    /// The name with a number.
    pub fn name(&self, number: u32) -> Option<&'b str> {
        self.names.get(number as usize).copied()
    }

    fn hashed<'n>(&self, name: &'n str) -> Hashed<'n> {
        self.number(name).map_or(Hashed::Spelled(name), Hashed::Numbered)
    }
}

/// A name as it is hashed.
#[derive(Hash)]
enum Hashed<'n> {
    Numbered(u32),
    Spelled(&'n str),
}

/// A body, for its hash without the spellings of its names. Two bodies that differ in nothing else have one hash.
#[derive(Clone, Copy, Debug)]
pub struct Unnamed<'b> {
    /// The body.
    pub body: &'b Body,
    /// Its names.
    pub names: &'b BodyNames<'b>,
}

impl Hash for Unnamed<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // All fields by name, so that a new one is not forgotten.
        let Body {
            is_entry,
            parameters,
            results,
            registers,
            variables,
            labels,
            functions,
            tables,
            prototypes,
            statements,
            directives,
            parameter_registers,
            independent_samplers,
            changes_registers,
            merged,
        } = self.body;
        (is_entry, parameters, results, registers).hash(state);
        (variables.len(), functions.len()).hash(state);
        variables.values().for_each(|variable| self.hash_variable(variable, state));
        functions.values().for_each(|function| self.hash_function(function, state));
        (labels, tables, prototypes, statements).hash(state);
        (directives, parameter_registers, independent_samplers, changes_registers, merged).hash(state);
    }
}

impl Unnamed<'_> {
    fn hash_variable(&self, variable: &Variable, state: &mut impl Hasher) {
        let Variable { name, space, ty, size, align, kind, symbol } = variable;
        let symbol = symbol.as_deref().map(|symbol| self.names.hashed(symbol));
        (self.names.hashed(name), space, ty, size, align, kind, symbol).hash(state);
    }

    fn hash_function(&self, function: &FunctionRef, state: &mut impl Hasher) {
        let FunctionRef { name, signature, external, is_entry } = function;
        (self.names.hashed(name), signature, external, is_entry).hash(state);
    }
}

#[cfg(test)]
mod tests {
    use std::hash::DefaultHasher;

    use super::*;

    const TEXT: &str = "
.version 8.0
.target sm_90
.address_size 64
.global .u32 table;
.func (.reg .u32 r) twice(.reg .u32 a) { add.u32 r, a, a; ret; }
.visible .entry k(.param .u64 k_param_0, .param .u64 k_param_1)
{
\t.reg .b32 %x, %y;
\t.reg .b64 %p;
\t.reg .pred %q;
\t.shared .align 4 .b8 tile[64];
\t.global .u32 count;
\tld.param.u64 %p, [k_param_0];
\tld.param.u64 %p, [k_param_1];
\tld.shared.u32 %x, [tile];
\tld.global.u32 %y, [table];
\tld.global.u32 %y, [count];
again:
\tcall (%y), twice, (%x);
\t@!%q bra again;
\tret;
}
";

    fn hash(text: &str, fixed: &str) -> u64 {
        let module = crate::resolve_module(text);
        assert!(!module.diagnostics.iter().any(|found| found.is_error()), "{:?}", module.diagnostics);
        let (.., kernel) = module.functions.last().expect("the kernel is the last");
        let names = BodyNames::new(&kernel.body, |name| name == fixed);
        let mut state = DefaultHasher::new();
        Unnamed { body: &kernel.body, names: &names }.hash(&mut state);
        state.finish()
    }

    #[test]
    fn spellings_are_not_hashed() {
        let same = [
            TEXT.replace("k_param_", "renamed_param_").replace("entry k(", "entry renamed("),
            TEXT.replace("tile", "other").replace("table", "elsewhere").replace("twice", "double"),
            TEXT.replace("again", "$L__BB0_1").replace("%x", "%r1").replace("count", "counter"),
        ];
        for text in same {
            assert_eq!(hash(TEXT, ""), hash(&text, ""), "{text}");
        }
    }

    #[test]
    fn what_names_mean_is_hashed() {
        let different = [
            // The other parameter, the other variable.
            TEXT.replace("%p, [k_param_1]", "%p, [k_param_0]"),
            TEXT.replace("%y, [count]", "%y, [table]"),
            // A size, a space, a type.
            TEXT.replace("tile[64]", "tile[68]"),
            TEXT.replace(".global .u32 table;", ".global .u32 table[4];"),
            TEXT.replace(".global .u32 count;", ".global .f32 count;"),
        ];
        for text in different {
            assert_ne!(hash(TEXT, ""), hash(&text, ""), "{text}");
        }
        let renamed = TEXT.replace("twice", "double");
        assert_ne!(hash(TEXT, "twice"), hash(&renamed, "twice"), "a name with a meaning of its own");
        assert_eq!(hash(TEXT, "twice"), hash(TEXT, "twice"));
    }
}
