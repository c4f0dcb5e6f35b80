//! Scopes of a function: the meaning of each name at each place.
//!
//! A look-up costs one hash, whatever the number of registers: ranges such as `%r<100000>` are kept as one entry, and a
//! member becomes an entry of its own when it is first named. No types are checked here.

use oriole_diagnostics::Span;
use oriole_ptx::Type;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::{LabelId, PrototypeId, RegisterId, TableId, VariableId};

/// The meaning of a name of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Meaning {
    /// A register: index into [`Names::registers`].
    Register(u32),
    /// A vector of registers: index of the first into [`Names::registers`], and how many.
    Vector(u32, u8),
    /// A variable or parameter.
    Variable(VariableId),
    /// A variable of a range that is named for the first time: index of the range. [`Resolver::look_up`] makes it a
    /// [`Meaning::Variable`].
    ///
    /// [`Resolver::look_up`]: crate::resolver::Resolver::look_up
    Member(u32),
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
    /// Its index in the body, given at the first use.
    pub id: Option<RegisterId>,
    /// Where it is declared.
    pub declaration: Span,
}

/// The members of a range.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Members {
    /// Registers of this type and number of components.
    Registers(Type, u8),
    /// Variables: index of the range.
    Variables(u32),
}

#[derive(Clone, Copy, Debug)]
struct Range {
    members: Members,
    count: u64,
    declaration: Span,
}

#[derive(Default, Debug)]
struct Scope<'t> {
    names: Vec<&'t str>,
    ranges: Vec<&'t str>,
    /// For each prefix of a name that ends in digits: the smallest number after it.
    numbered: FxHashMap<&'t str, u64>,
}

/// The meaning of a name in one of the scopes that declare it.
#[derive(Clone, Copy, Debug)]
struct Entry {
    depth: u32,
    meaning: Meaning,
    declaration: Span,
    /// The entry of the next outer scope that declares the name: index into [`Names::entries`].
    outer: Option<u32>,
}

/// All names that are visible, as they are written in a text `'t`.
#[derive(Default, Debug)]
pub(crate) struct Names<'t> {
    /// Registers in the order in which they got an entry.
    pub registers: Vec<DeclaredRegister>,
    /// For each name its entry of the innermost scope that declares it; `None` after that scope.
    innermost: FxHashMap<&'t str, Option<u32>>,
    entries: Vec<Entry>,
    ranges: FxHashMap<&'t str, SmallVec<[(u32, Range); 1]>>,
    scopes: Vec<Scope<'t>>,
    /// One more than the depth of the innermost scope that holds a range.
    deepest_range: usize,
}

/// The splits of a name into a prefix and a decimal suffix.
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

impl<'t> Names<'t> {
    /// Reserves memory for `names` more names.
    pub fn reserve(&mut self, names: usize) {
        self.innermost.reserve(names);
        self.entries.reserve(names);
    }

    /// The entry of the innermost scope that declares a name.
    fn entry(&self, name: &str) -> Option<Entry> {
        self.innermost.get(name).copied().flatten().map(|index| self.entries[index as usize])
    }

    /// Makes an entry in a scope inside of all that declare the name.
    fn enter_name(&mut self, name: &'t str, depth: u32, meaning: Meaning, declaration: Span) {
        let index = self.entries.len() as u32;
        let outer = self.innermost.insert(name, Some(index)).flatten();
        self.entries.push(Entry { depth, meaning, declaration, outer });
        self.scopes[depth as usize].names.push(name);
    }

    /// Opens a scope.
    pub fn enter(&mut self) {
        self.scopes.push(Scope::default());
    }

    /// Closes the innermost scope; its names are gone.
    pub fn leave(&mut self) {
        let Some(scope) = self.scopes.pop() else { return };
        let depth = self.scopes.len() as u32;
        for name in scope.names {
            if let Some(innermost) = self.innermost.get_mut(name) {
                while let Some(index) = *innermost
                    && self.entries[index as usize].depth >= depth
                {
                    *innermost = self.entries[index as usize].outer;
                }
            }
        }
        for prefix in scope.ranges {
            if let Some(list) = self.ranges.get_mut(prefix) {
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
    pub fn declare(&mut self, name: &'t str, meaning: Meaning, span: Span) -> Result<(), Span> {
        let depth = self.scopes.len() as u32 - 1;
        if let Some(entry) = self.entry(name)
            && entry.depth == depth
        {
            return Err(entry.declaration);
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
            let least = scope.numbered.entry(prefix).or_insert(number);
            *least = number.min(*least);
        }
        self.enter_name(name, depth, meaning, span);
        Ok(())
    }

    /// Replaces the meaning of a name where it is declared.
    pub fn settle(&mut self, name: &str, meaning: Meaning) {
        if let Some(index) = self.innermost.get(name).copied().flatten() {
            self.entries[index as usize].meaning = meaning;
        }
    }

    /// Replaces the meaning of a name of the innermost scope.
    pub fn redefine(&mut self, name: &str, meaning: Meaning) {
        let depth = self.scopes.len() as u32 - 1;
        if let Some(index) = self.innermost.get(name).copied().flatten()
            && self.entries[index as usize].depth == depth
        {
            self.entries[index as usize].meaning = meaning;
        }
    }

    fn range_at(&self, prefix: &str, depth: u32) -> Option<Range> {
        self.ranges.get(prefix)?.iter().find(|entry| entry.0 == depth).map(|entry| entry.1)
    }

    /// Declares one register, or one for each component of a vector.
    ///
    /// # Errors
    /// As for [`Names::declare`].
    pub fn declare_register(&mut self, name: &'t str, ty: Type, vector: u8, span: Span) -> Result<(), Span> {
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

    /// Declares `prefix0` to `prefix(count-1)`.
    ///
    /// # Errors
    /// The place of an earlier declaration in this scope that takes one of the names.
    pub fn declare_range(
        &mut self,
        prefix: &'t str,
        count: u64,
        members: Members,
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
            let earlier = self.entry(&name).filter(|entry| entry.depth == depth);
            return Err(earlier.map_or(span, |entry| entry.declaration));
        }
        scope.ranges.push(prefix);
        self.ranges.entry(prefix).or_default().push((depth, Range { members, count, declaration: span }));
        self.deepest_range = self.scopes.len();
        Ok(())
    }

    /// Number of names that [`Names::nearest`] looks at.
    pub fn count(&self) -> usize {
        self.innermost.len()
    }

    /// The visible names that may be meant by one that is not there: the name that is spelled most like it, if that is close.
    pub fn nearest(&self, name: &str, is_wanted: impl Fn(Meaning) -> bool) -> Option<String> {
        let is_member = |name: &str| {
            let ranges = splits(name).filter_map(|(prefix, number)| Some((self.ranges.get(prefix)?, number)));
            ranges.into_iter().any(|(list, number)| list.iter().any(|(_, range)| number < range.count))
        };
        let declared = self.innermost.iter().filter_map(|(known, index)| Some((*known, (*index)?)));
        // Names that differ more in length need not be compared. A member of a range has an entry only where it is used before.
        let close = declared.filter(|(known, index)| {
            known.len().abs_diff(name.len()) <= known.len().max(3) / 3
                && is_wanted(self.entries[*index as usize].meaning)
                && !is_member(known)
        });
        let mut close: Vec<&str> = close.map(|(known, _)| known).collect();
        close.sort_unstable();
        oriole_ptx::nearest_of(name, close).map(str::to_owned)
    }

    /// The last member of the range that a name would be in if it were longer.
    pub fn last_of_range(&self, name: &str) -> Option<String> {
        splits(name).find_map(|(prefix, _)| {
            let count = self.ranges.get(prefix)?.iter().map(|(_, range)| range.count).max()?;
            Some(format!("{prefix}{}", count.checked_sub(1)?))
        })
    }

    /// The meaning of a name here, if it has one.
    pub fn look_up(&mut self, name: &'t str) -> Option<Meaning> {
        let entry = self.entry(name);
        if let Some(Entry { depth, meaning, .. }) = entry
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
            (Some(Entry { depth, meaning, .. }), Some((inner, _))) if inner <= depth => Some(meaning),
            (Some(Entry { meaning, .. }), None) => Some(meaning),
            (_, Some((depth, range))) => {
                let meaning = match range.members {
                    Members::Registers(ty, vector) => self.new_register(ty, vector, range.declaration),
                    Members::Variables(range) => Meaning::Member(range),
                };
                self.enter_name(name, depth, meaning, range.declaration);
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
        names.declare_range("%r", 10, Members::Registers(Type::B32, 1), at(1)).unwrap();
        assert_eq!(names.look_up("%r9"), Some(Meaning::Register(0)));
        assert_eq!(names.look_up("%r9"), Some(Meaning::Register(0)));
        assert_eq!(names.look_up("%r10"), None);
        assert_eq!(names.look_up("%r01"), None);
        assert_eq!(names.declare_register("%r3", Type::F32, 1, at(2)), Err(at(1)));
        names.enter();
        names.declare_register("%r9", Type::F32, 1, at(3)).unwrap();
        assert_eq!(names.look_up("%r9"), Some(Meaning::Register(2)));
        names.declare_range("%r1", 5, Members::Registers(Type::B64, 1), at(4)).unwrap();
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
        assert_eq!(names.declare_range("x", 6, Members::Registers(Type::B32, 1), at(2)), Err(at(1)));
        names.enter();
        names.declare_range("x", 6, Members::Registers(Type::B32, 1), at(3)).unwrap();
        let inner = names.look_up("x5");
        assert_eq!(names.registers[1..].len(), 1);
        assert_eq!(names.registers.last().unwrap().ty, Type::B32, "{inner:?}");
        names.leave();
        let Some(Meaning::Register(index)) = names.look_up("x5") else { panic!() };
        assert_eq!(names.registers[index as usize].ty, Type::F32);
    }
}
