//! Scopes of a function: which name means what, where.
//!
//! It is here so that a look-up costs one hash, whatever the number of registers: ranges such as `%r<100000>` are
//! kept as one entry, and a member becomes an entry of its own when it is first named. No types are checked here.

use oriole_diagnostics::Span;
use oriole_ptx::Type;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::{LabelId, PrototypeId, RegisterId, TableId, VariableId};

/// What a name of a function means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Meaning {
    /// A register: index into [`Names::registers`].
    Register(u32),
    /// A vector of registers: index of the first into [`Names::registers`], and how many.
    Vector(u32, u8),
    /// A variable or parameter.
    Variable(VariableId),
    /// A label.
    Label(LabelId),
    /// A list of targets; false until its declaration is reached.
    Table(TableId, bool),
    /// A call prototype.
    Prototype(PrototypeId),
}

/// A declared register.
#[derive(Clone, Debug)]
pub(crate) struct DeclaredRegister {
    /// Type.
    pub ty: Type,
    /// Its number in the body, given at the first use.
    pub id: Option<RegisterId>,
    /// Where it is declared.
    pub declaration: Span,
}

#[derive(Clone, Copy, Debug)]
struct Range {
    ty: Type,
    vector: u8,
    count: u64,
    declaration: Span,
}

#[derive(Default, Debug)]
struct Scope {
    names: Vec<Box<str>>,
    ranges: Vec<Box<str>>,
    /// For each prefix of a name that ends in digits: the smallest number behind it.
    numbered: FxHashMap<Box<str>, u64>,
}

/// What one name means in the scopes that declare it: depth, meaning, place of the declaration.
type Entries = SmallVec<[(u32, Meaning, Span); 1]>;

/// All names that are visible.
#[derive(Default, Debug)]
pub(crate) struct Names {
    /// Registers in the order in which they got an entry.
    pub registers: Vec<DeclaredRegister>,
    entries: FxHashMap<Box<str>, Entries>,
    ranges: FxHashMap<Box<str>, SmallVec<[(u32, Range); 1]>>,
    scopes: Vec<Scope>,
    /// One more than the depth of the innermost scope that holds a range.
    deepest_range: usize,
}

/// The ways to read a name as a prefix and a number.
fn splits(name: &str) -> impl Iterator<Item = (&str, u64)> {
    let bytes = name.as_bytes();
    let digits = bytes.iter().rev().take(19).take_while(|byte| byte.is_ascii_digit()).count();
    (1..=digits).filter_map(move |length| {
        let at = name.len() - length;
        if at == 0 || (bytes[at] == b'0' && length > 1) {
            return None;
        }
        Some((&name[..at], name[at..].parse().ok()?))
    })
}

impl Names {
    /// Opens a scope.
    pub fn enter(&mut self) {
        self.scopes.push(Scope::default());
    }

    /// Closes the innermost scope; its names are gone.
    pub fn leave(&mut self) {
        let Some(scope) = self.scopes.pop() else { return };
        let depth = self.scopes.len() as u32;
        for name in scope.names {
            if let Some(list) = self.entries.get_mut(&name) {
                list.retain(|entry| entry.0 < depth);
            }
        }
        for prefix in scope.ranges {
            if let Some(list) = self.ranges.get_mut(&prefix) {
                list.retain(|entry| entry.0 < depth);
            }
        }
        while self.deepest_range > self.scopes.len()
            || (self.deepest_range > 0 && self.scopes[self.deepest_range - 1].ranges.is_empty())
        {
            self.deepest_range -= 1;
        }
    }

    /// Makes an entry in the innermost scope.
    ///
    /// # Errors
    /// The place of an earlier declaration of the same name in this scope.
    pub fn declare(&mut self, name: &str, meaning: Meaning, span: Span) -> Result<(), Span> {
        let depth = self.scopes.len() as u32 - 1;
        if let Some(list) = self.entries.get(name)
            && let Some(entry) = list.iter().find(|entry| entry.0 == depth)
        {
            return Err(entry.2);
        }
        if self.deepest_range == self.scopes.len() {
            for (prefix, number) in splits(name) {
                if let Some(range) = self.range_at(prefix, depth)
                    && number < range.count
                {
                    return Err(range.declaration);
                }
            }
        }
        let scope = &mut self.scopes[depth as usize];
        for (prefix, number) in splits(name) {
            match scope.numbered.get_mut(prefix) {
                Some(least) => *least = number.min(*least),
                None => {
                    scope.numbered.insert(prefix.into(), number);
                }
            }
        }
        scope.names.push(name.into());
        self.entries.entry(name.into()).or_default().push((depth, meaning, span));
        Ok(())
    }

    /// Replaces the meaning of a name of the innermost scope.
    pub fn redefine(&mut self, name: &str, meaning: Meaning) {
        let depth = self.scopes.len() as u32 - 1;
        if let Some(entry) =
            self.entries.get_mut(name).and_then(|list| list.iter_mut().find(|entry| entry.0 == depth))
        {
            entry.1 = meaning;
        }
    }

    fn range_at(&self, prefix: &str, depth: u32) -> Option<Range> {
        self.ranges.get(prefix)?.iter().find(|entry| entry.0 == depth).map(|entry| entry.1)
    }

    /// Declares one register, or one for each component of a vector.
    ///
    /// # Errors
    /// As for [`Names::declare`].
    pub fn declare_register(&mut self, name: &str, ty: Type, vector: u8, span: Span) -> Result<(), Span> {
        let meaning = self.new_register(ty, vector, span);
        self.declare(name, meaning, span)
    }

    fn new_register(&mut self, ty: Type, vector: u8, span: Span) -> Meaning {
        let first = self.registers.len() as u32;
        for _ in 0..vector {
            self.registers.push(DeclaredRegister { ty, id: None, declaration: span });
        }
        if vector == 1 { Meaning::Register(first) } else { Meaning::Vector(first, vector) }
    }

    /// Declares the registers `prefix0` to `prefix(count-1)`.
    ///
    /// # Errors
    /// The place of an earlier declaration in this scope that takes one of the names.
    pub fn declare_range(
        &mut self,
        prefix: &str,
        count: u64,
        ty: Type,
        vector: u8,
        span: Span,
    ) -> Result<(), Span> {
        let depth = self.scopes.len() as u32 - 1;
        if let Some(range) = self.range_at(prefix, depth) {
            return Err(range.declaration);
        }
        let scope = &mut self.scopes[depth as usize];
        if let Some(&least) = scope.numbered.get(prefix)
            && least < count
        {
            let name = format!("{prefix}{least}");
            let earlier =
                self.entries.get(name.as_str()).and_then(|list| list.iter().find(|entry| entry.0 == depth));
            return Err(earlier.map_or(span, |entry| entry.2));
        }
        scope.ranges.push(prefix.into());
        self.ranges
            .entry(prefix.into())
            .or_default()
            .push((depth, Range { ty, vector, count, declaration: span }));
        self.deepest_range = self.scopes.len();
        Ok(())
    }

    /// What a name means here, or nothing.
    pub fn look_up(&mut self, name: &str) -> Option<Meaning> {
        let entry = self.entries.get(name).and_then(|list| list.iter().max_by_key(|entry| entry.0)).copied();
        if let Some((depth, meaning, _)) = entry
            && depth as usize + 1 >= self.deepest_range
        {
            return Some(meaning);
        }
        // A range of an inner scope hides the name of an outer one.
        let mut best: Option<(u32, Range)> = None;
        if self.deepest_range > 0 {
            for (prefix, number) in splits(name) {
                for &(depth, range) in self.ranges.get(prefix).map_or(&[][..], |list| list.as_slice()) {
                    if number < range.count && best.is_none_or(|(deepest, _)| depth > deepest) {
                        best = Some((depth, range));
                    }
                }
            }
        }
        match (entry, best) {
            (Some((depth, meaning, _)), Some((inner, _))) if inner <= depth => Some(meaning),
            (Some((_, meaning, _)), None) => Some(meaning),
            (_, Some((depth, range))) => {
                let meaning = self.new_register(range.ty, range.vector, range.declaration);
                self.scopes[depth as usize].names.push(name.into());
                let list = self.entries.entry(name.into()).or_default();
                list.push((depth, meaning, range.declaration));
                Some(meaning)
            }
            (None, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(start: u32) -> Span {
        Span::new(start, 1)
    }

    #[test]
    fn ranges_and_shadowing() {
        let mut names = Names::default();
        names.enter();
        names.declare_range("%r", 10, Type::B32, 1, at(1)).unwrap();
        assert_eq!(names.look_up("%r9"), Some(Meaning::Register(0)));
        assert_eq!(names.look_up("%r9"), Some(Meaning::Register(0)));
        assert_eq!(names.look_up("%r10"), None);
        assert_eq!(names.look_up("%r01"), None);
        assert_eq!(names.declare_register("%r3", Type::F32, 1, at(2)), Err(at(1)));
        names.enter();
        names.declare_register("%r9", Type::F32, 1, at(3)).unwrap();
        assert_eq!(names.look_up("%r9"), Some(Meaning::Register(2)));
        names.declare_range("%r1", 5, Type::B64, 1, at(4)).unwrap();
        assert!(names.look_up("%r13").is_some());
        names.leave();
        assert_eq!(names.look_up("%r9"), Some(Meaning::Register(0)));
        assert_eq!(names.look_up("%r13"), None);
    }

    #[test]
    fn a_range_in_an_inner_scope_hides_outer_names() {
        let mut names = Names::default();
        names.enter();
        names.declare_register("x5", Type::F32, 1, at(1)).unwrap();
        assert_eq!(names.declare_range("x", 6, Type::B32, 1, at(2)), Err(at(1)));
        names.enter();
        names.declare_range("x", 6, Type::B32, 1, at(3)).unwrap();
        let inner = names.look_up("x5");
        assert_eq!(names.registers[1..].len(), 1);
        assert_eq!(names.registers.last().unwrap().ty, Type::B32, "{inner:?}");
        names.leave();
        let Some(Meaning::Register(index)) = names.look_up("x5") else { panic!() };
        assert_eq!(names.registers[index as usize].ty, Type::F32);
    }
}
