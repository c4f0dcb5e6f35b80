//! Checks of parallel copies: those that remain move contents, and then each destination of the input is wherever its
//! source is.

use super::contents::{Place, State, Token, Tokens, owner};
use super::rematerializations::source_text;
use super::{Checker, ProblemKind};
use oriole_ori::{File, Instruction, Source, SourceKind, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

impl Checker<'_> {
    /// Parallel copies: the remaining copies move contents; then each destination is wherever its source is.
    pub(super) fn parallel(&mut self, old: &Instruction, new: &Instruction, state: &mut State) {
        let mut moved = Vec::new();
        for (d, s) in new.destinations.iter().zip(&new.sources) {
            let Some(to) = d.values.first().and_then(|&v| self.place(v)) else {
                self.problem(ProblemKind::Constraint, || "a move without register".into());
                continue;
            };
            let tokens = match &s.kind {
                SourceKind::Values(v) => match self.place(v[0]) {
                    Some(from) => state.get(from),
                    None => Tokens::new(),
                },
                _ => {
                    let key = self.rematerializations.key(source_text(d.file, s));
                    [Token::Made(key, 0)].into_iter().collect()
                }
            };
            moved.push((to, tokens));
        }
        for (to, tokens) in moved {
            state.set(to, tokens);
        }
        // Maps tokens to the destinations that get them.
        let mut becomes: FxHashMap<Token, SmallVec<[Token; 2]>> = FxHashMap::default();
        let mut destinations: FxHashSet<Value> = FxHashSet::default();
        let mut unknown = Vec::new();
        for (d, s) in old.destinations.iter().zip(&old.sources) {
            let Some(&d_value) = d.values.first() else { continue };
            destinations.insert(d_value);
            match &s.kind {
                SourceKind::Values(v) => {
                    becomes.entry(Token::Value(v[0])).or_default().push(Token::Value(d_value));
                    becomes.entry(Token::Word(v[0])).or_default().push(Token::Word(d_value));
                    if state.is_undefined(v[0]) {
                        unknown.push(d_value);
                    }
                }
                _ => {
                    let key = self.rematerializations.key(source_text(d.file, s));
                    becomes.entry(Token::Made(key, 0)).or_default().push(Token::Value(d_value));
                    if d.file == File::P {
                        let word = if s.invert {
                            source_text(File::R, &Source::plain(SourceKind::Zero(File::R)))
                        } else {
                            source_text(File::R, &Source::imm(1))
                        };
                        let key = self.rematerializations.key(word);
                        becomes.entry(Token::Made(key, 0)).or_default().push(Token::Word(d_value));
                    }
                }
            }
        }
        let mut places: Vec<Place> = state.places.keys().copied().collect();
        places.sort_unstable();
        for place in places {
            let mut after = Tokens::new();
            for token in &state.get(place) {
                after.extend(becomes.get(token).into_iter().flatten().copied());
                if !owner(token).is_some_and(|v| destinations.contains(&v)) {
                    after.push(*token);
                }
            }
            state.set(place, after);
        }
        for d in destinations {
            state.defined.insert(d);
        }
        for d in unknown {
            state.defined.remove(&d);
        }
    }
}
