//! A set of modifier tokens. It is small and kept sorted, so that equal sets are equal values; the print order
//! belongs to the form table.

use crate::Mod;
use std::cmp::Ordering;
use std::fmt;

/// Tokens that are stored inline: more than nearly any instruction has.
const FEW: usize = 7;

/// The dot-suffixes of one instruction, as a sorted set.
#[derive(Clone)]
pub struct Mods(List);

#[derive(Clone)]
enum List {
    Few(u8, [Mod; FEW]),
    #[allow(
        clippy::box_collection,
        reason = "a vector in a box takes one word here; a boxed slice would take two"
    )]
    Many(Box<Vec<Mod>>),
}

impl Mods {
    /// No modifiers.
    #[inline]
    pub const fn none() -> Mods {
        Mods(List::Few(0, [Mod::_128; FEW]))
    }

    /// The set of these tokens.
    pub fn of(tokens: &[Mod]) -> Mods {
        let mut mods = Mods::default();
        for &token in tokens {
            mods.insert(token);
        }
        mods
    }

    #[inline]
    fn tokens(&self) -> &[Mod] {
        match &self.0 {
            List::Few(count, few) => &few[..usize::from(*count)],
            List::Many(many) => many,
        }
    }

    /// Adds a token; a repeated one changes nothing.
    pub fn insert(&mut self, token: Mod) {
        let Err(at) = self.tokens().binary_search(&token) else { return };
        match &mut self.0 {
            List::Few(count, few) if usize::from(*count) < FEW => {
                few.copy_within(at..usize::from(*count), at + 1);
                few[at] = token;
                *count += 1;
            }
            List::Few(_, few) => {
                let mut many = few.to_vec();
                many.insert(at, token);
                self.0 = List::Many(Box::new(many));
            }
            List::Many(many) => many.insert(at, token),
        }
    }

    /// Takes a token away; true if it was there.
    pub fn remove(&mut self, token: Mod) -> bool {
        let Ok(at) = self.tokens().binary_search(&token) else { return false };
        match &mut self.0 {
            List::Few(count, few) => {
                few.copy_within(at + 1..usize::from(*count), at);
                *count -= 1;
            }
            List::Many(many) => {
                many.remove(at);
            }
        }
        true
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
    #[inline]
    pub fn has(&self, token: Mod) -> bool {
        // Sets are so short that a linear scan is faster than a binary search.
        self.tokens().contains(&token)
    }

    /// The tokens in order of spelling.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = Mod> + '_ {
        self.tokens().iter().copied()
    }

    /// True if there is no token.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.tokens().is_empty()
    }

    /// Count of tokens.
    #[inline]
    pub fn len(&self) -> usize {
        self.tokens().len()
    }
}

impl serde::Serialize for Mods {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.tokens().serialize(serializer)
    }
}

impl<'de> serde::Deserialize<'de> for Mods {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Mods, D::Error> {
        Ok(Mods::of(&Vec::<Mod>::deserialize(deserializer)?))
    }
}

impl Default for Mods {
    fn default() -> Mods {
        Mods::none()
    }
}

impl PartialEq for Mods {
    fn eq(&self, other: &Mods) -> bool {
        self.tokens() == other.tokens()
    }
}

impl Eq for Mods {}

impl PartialOrd for Mods {
    fn partial_cmp(&self, other: &Mods) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Mods {
    fn cmp(&self, other: &Mods) -> Ordering {
        self.tokens().cmp(other.tokens())
    }
}

impl std::hash::Hash for Mods {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.tokens().hash(state);
    }
}

impl fmt::Debug for Mods {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Mods").field(&self.tokens()).finish()
    }
}

impl Mod {
    /// The text of the token. It is its name, except for a token in second or third position (`F64_2` in
    /// `F2F.F32.F64`), whose name is marked so that the set of modifiers can distinguish them.
    pub fn spelling(self) -> &'static str {
        let name = self.name();
        name.strip_suffix("_2").or_else(|| name.strip_suffix("_3")).unwrap_or(name)
    }
}
