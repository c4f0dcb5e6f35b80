//! The dot-suffixes of one source.
//!
//! It is here because nearly no source has any, and functions consist mostly of sources: those without suffixes use
//! one word for them, and a set is heap-allocated.

use oriole_sass::{Mod, Mods};

/// The dot-suffixes of a source, as a set. The boxed set is never empty, so that equal sets are equal values.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Suffixes(Option<Box<Mods>>);

impl Suffixes {
    /// No suffix.
    #[inline]
    pub const fn none() -> Suffixes {
        Suffixes(None)
    }

    /// Adds a token; a repeated one changes nothing.
    pub fn insert(&mut self, token: Mod) {
        self.0.get_or_insert_default().insert(token);
    }

    /// The set with one token replaced.
    pub fn with_instead(&self, old: Mod, new: Mod) -> Suffixes {
        let mut mods = Mods::from(self);
        mods.remove(old);
        mods.insert(new);
        mods.into()
    }

    /// True if there is no token.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Count of tokens.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |mods| mods.len())
    }

    /// True if the token is in the set.
    #[inline]
    pub fn has(&self, token: Mod) -> bool {
        self.0.as_ref().is_some_and(|mods| mods.has(token))
    }

    /// The tokens in order of spelling.
    pub fn iter(&self) -> impl Iterator<Item = Mod> + '_ {
        self.0.iter().flat_map(|mods| mods.iter())
    }
}

impl From<Mods> for Suffixes {
    fn from(mods: Mods) -> Suffixes {
        Suffixes((!mods.is_empty()).then(|| Box::new(mods)))
    }
}

impl From<&Suffixes> for Mods {
    fn from(suffixes: &Suffixes) -> Mods {
        suffixes.0.as_deref().cloned().unwrap_or_default()
    }
}
