//! A set of modifier tokens. It is small and kept sorted, so that equal sets are equal values; the order in
//! which they print belongs to the form table.

use crate::Mod;
use smallvec::SmallVec;

/// The dot-suffixes of one instruction, as a sorted set.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug, PartialOrd, Ord)]
pub struct Mods(SmallVec<[Mod; 4]>);

impl Mods {
    /// No modifiers.
    pub fn none() -> Mods {
        Mods::default()
    }

    /// The set of these tokens.
    pub fn of(tokens: &[Mod]) -> Mods {
        let mut mods = Mods::default();
        for &token in tokens {
            mods.insert(token);
        }
        mods
    }

    /// Adds a token; a second one of the same name changes nothing.
    pub fn insert(&mut self, token: Mod) {
        if let Err(at) = self.0.binary_search(&token) {
            self.0.insert(at, token);
        }
    }

    /// Takes a token away; true if it was there.
    pub fn remove(&mut self, token: Mod) -> bool {
        match self.0.binary_search(&token) {
            Ok(at) => {
                self.0.remove(at);
                true
            }
            Err(_) => false,
        }
    }

    /// The set with one more token.
    pub fn with(mut self, token: Mod) -> Mods {
        self.insert(token);
        self
    }

    /// The set with one more token, if the condition holds.
    pub fn with_if(self, condition: bool, token: Mod) -> Mods {
        if condition { self.with(token) } else { self }
    }

    /// True if the token is in the set.
    pub fn has(&self, token: Mod) -> bool {
        self.0.binary_search(&token).is_ok()
    }

    /// The tokens in order of spelling.
    pub fn iter(&self) -> impl Iterator<Item = Mod> + '_ {
        self.0.iter().copied()
    }

    /// True if there is no token.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many tokens there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl Mod {
    /// The text of the token. It is its name, but for a word in its second place (`F64_2` in `F2F.F32.F64`), whose
    /// name is marked so that the set of modifiers can tell the two apart.
    pub fn spelling(self) -> &'static str {
        let name = self.name();
        name.strip_suffix("_2").unwrap_or(name)
    }
}
