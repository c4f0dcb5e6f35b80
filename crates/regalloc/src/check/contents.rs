//! Contents of physical locations on the way through a function, as far as they are known: what the checker computes
//! with. No instruction may enter.

use oriole_ori::{File, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// Known contents of a location.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) enum Token {
    /// The value.
    Value(Value),
    /// A predicate as a word: not zero for true.
    Word(Value),
    /// Result of an instruction without register operands: its key and the component.
    Made(u32, u8),
}

/// Result of a reload from an empty slot.
pub(super) const NOTHING: Token = Token::Made(u32::MAX, 0);

pub(super) type Tokens = SmallVec<[Token; 2]>;

/// A physical location.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) enum Place {
    Register(File, u8),
    /// Frame offset in bytes.
    Slot(i32),
}

#[derive(Clone, Default, Debug)]
pub(super) struct State {
    /// Contents of locations; a location without known contents is not listed (a slot is, once stored to).
    pub(super) places: FxHashMap<Place, Tokens>,
    /// Places that may hold a value: all that do, and some that did.
    holders: FxHashMap<Value, SmallVec<[Place; 2]>>,
    /// Values that were defined on some path here. Any location may hold the others, since they are undefined.
    pub(super) defined: FxHashSet<Value>,
}

pub(super) fn owner(token: &Token) -> Option<Value> {
    match token {
        Token::Value(v) | Token::Word(v) => Some(*v),
        Token::Made(..) => None,
    }
}

impl State {
    pub(super) fn get(&self, place: Place) -> Tokens {
        self.places.get(&place).cloned().unwrap_or_default()
    }

    pub(super) fn set(&mut self, place: Place, mut tokens: Tokens) {
        tokens.sort_unstable();
        tokens.dedup();
        for v in tokens.iter().filter_map(owner) {
            let list = self.holders.entry(v).or_default();
            if !list.contains(&place) {
                list.push(place);
            }
        }
        if tokens.is_empty() {
            self.places.remove(&place);
        } else {
            self.places.insert(place, tokens);
        }
    }

    pub(super) fn is_undefined(&self, v: Value) -> bool {
        !self.defined.contains(&v)
    }

    pub(super) fn holds(&self, place: Place, v: Value) -> bool {
        self.is_undefined(v) || self.get(place).contains(&Token::Value(v))
    }

    /// No place holds the value any more.
    pub(super) fn forget(&mut self, v: Value) {
        for place in self.holders.remove(&v).unwrap_or_default() {
            if let Some(tokens) = self.places.get_mut(&place) {
                tokens.retain(|t| owner(t) != Some(v));
                if tokens.is_empty() {
                    self.places.remove(&place);
                }
            }
        }
    }

    /// Drops dead values.
    pub(super) fn prune(&mut self, live: impl Fn(Value) -> bool) {
        self.places.retain(|_, tokens| {
            tokens.retain(|t| owner(t).is_none_or(&live));
            !tokens.is_empty()
        });
        self.holders.retain(|v, _| live(*v));
        self.defined.retain(|v| live(*v));
    }

    /// Keeps what both paths know. True if something was lost.
    pub(super) fn meet(&mut self, other: &State) -> bool {
        let mut changed = false;
        let mut added: Vec<(Place, Token)> = Vec::new();
        // Contents known on the other path only stay if the value is undefined here.
        for (place, tokens) in &other.places {
            for token in tokens {
                if owner(token).is_some_and(|v| self.is_undefined(v))
                    && !self.places.get(place).is_some_and(|t| t.contains(token))
                {
                    added.push((*place, *token));
                }
            }
        }
        self.places.retain(|place, tokens| {
            let theirs = other.places.get(place);
            let before = tokens.len();
            tokens.retain(|t| {
                theirs.is_some_and(|theirs| theirs.contains(t))
                    || owner(t).is_some_and(|v| other.is_undefined(v))
            });
            changed |= tokens.len() != before;
            !tokens.is_empty()
        });
        for (place, token) in added {
            let mut tokens = self.get(place);
            tokens.push(token);
            self.set(place, tokens);
            changed = true;
        }
        for &v in &other.defined {
            changed |= self.defined.insert(v);
        }
        changed
    }
}
