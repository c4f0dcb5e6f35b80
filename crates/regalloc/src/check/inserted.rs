//! Checks of inserted instructions: they may only move contents between registers and slots, or rematerialize a
//! constant.

use super::contents::{NOTHING, Place, State, Token, Tokens};
use super::rematerializations::rematerialization_text;
use super::{Checker, ProblemKind, place_of};
use oriole_ori::{File, Instruction, Opcode, Pseudo, Source, SourceKind, Space};
use oriole_sass::{Mod, Op};

impl Checker<'_> {
    pub(super) fn inserted(&mut self, instruction: &Instruction, state: &mut State) {
        if let Some(text) = rematerialization_text(&self.allocation.function, instruction) {
            return self.rematerialized(instruction, text, state);
        }
        match instruction.opcode {
            Opcode::Pseudo(Pseudo::Copy | Pseudo::ParallelCopy) => self.moved(instruction, state),
            Opcode::Sass(Op::STL) => self.spilled(instruction, state),
            Opcode::Sass(Op::LDL) => self.reloaded(instruction, state),
            Opcode::Sass(Op::SEL) => self.predicate_to_word(instruction, state),
            Opcode::Sass(Op::ISETP) => self.word_to_predicate(instruction, state),
            // Jumps of edge blocks move nothing.
            Opcode::Sass(Op::BRA) if instruction.guard.is_none() => {}
            _ => self.problem(ProblemKind::Rematerialization, || "an instruction that moves nothing".into()),
        }
    }

    /// A rematerialized constant.
    fn rematerialized(&mut self, instruction: &Instruction, text: String, state: &mut State) {
        let key = self.rematerializations.key(text);
        for (component, &v) in instruction.destinations[0].values.iter().enumerate() {
            let component = component as u8;
            let mut tokens = Tokens::new();
            tokens.push(Token::Made(key, component));
            for &v in self.rematerializations.only.get(&(key, component)).map_or(&[][..], |l| l) {
                tokens.push(Token::Value(v));
            }
            match self.place(v) {
                Some(place) => state.set(place, tokens),
                None => self.problem(ProblemKind::Constraint, || "no register".into()),
            }
        }
    }

    /// Moves between registers of one file, all at once.
    fn moved(&mut self, instruction: &Instruction, state: &mut State) {
        let mut moved = Vec::new();
        for (d, s) in instruction.destinations.iter().zip(&instruction.sources) {
            let to = d.values.first().and_then(|&v| place_of(self.allocation, v));
            match (to, self.register(Some(s))) {
                (Some(to), Some(from)) => moved.push((to, state.get(from))),
                _ => self.problem(ProblemKind::Constraint, || "a move without registers".into()),
            }
        }
        for (to, tokens) in moved {
            state.set(to, tokens);
        }
    }

    fn spilled(&mut self, instruction: &Instruction, state: &mut State) {
        match (self.slot(instruction.sources.first()), self.register(instruction.sources.get(1))) {
            (Some(to), Some(from)) if instruction.memory.is_some_and(|m| m.space == Space::Spill) => {
                let tokens = state.get(from);
                state.set(to, tokens);
            }
            _ => self.problem(ProblemKind::MissingSpill, || "a store that is no spill".into()),
        }
    }

    fn reloaded(&mut self, instruction: &Instruction, state: &mut State) {
        match (self.result(instruction), self.slot(instruction.sources.first())) {
            (Some(to), Some(from)) => {
                let mut tokens = state.get(from);
                if tokens.is_empty() {
                    // Harmless if it is dead: a value may be unknown on this path.
                    tokens.push(NOTHING);
                }
                state.set(to, tokens);
            }
            _ => self.problem(ProblemKind::MissingSpill, || "a reload from no slot".into()),
        }
    }

    fn predicate_to_word(&mut self, instruction: &Instruction, state: &mut State) {
        match (self.result(instruction), self.register(instruction.sources.get(2))) {
            (Some(to), Some(from))
                if instruction.sources[2].invert
                    && instruction.sources[0].kind == SourceKind::Zero(File::R)
                    && instruction.sources[1].kind == SourceKind::Imm(1) =>
            {
                let word = |t: &Token| match t {
                    Token::Value(v) => Some(Token::Word(*v)),
                    _ => None,
                };
                let tokens = state.get(from).iter().filter_map(word).collect();
                state.set(to, tokens);
            }
            _ => self.problem(ProblemKind::PredicateRefill, || "not a predicate as a word".into()),
        }
    }

    fn word_to_predicate(&mut self, instruction: &Instruction, state: &mut State) {
        match (self.result(instruction), self.register(instruction.sources.first())) {
            (Some(to), Some(from))
                if instruction.mods.has(Mod::NE)
                    && instruction.sources.get(1).map(|s| &s.kind) == Some(&SourceKind::Zero(File::R)) =>
            {
                let value = |t: &Token| match t {
                    Token::Word(v) => Some(Token::Value(*v)),
                    _ => None,
                };
                let tokens = state.get(from).iter().filter_map(value).collect();
                state.set(to, tokens);
            }
            _ => self.problem(ProblemKind::PredicateRefill, || "not a word as a predicate".into()),
        }
    }

    /// The register of the first result.
    fn result(&self, instruction: &Instruction) -> Option<Place> {
        let v = *instruction.destinations.first()?.values.first()?;
        place_of(self.allocation, v)
    }

    /// The register of a source that is one value.
    fn register(&self, source: Option<&Source>) -> Option<Place> {
        match &source?.kind {
            SourceKind::Values(v) if v.len() == 1 => place_of(self.allocation, v[0]),
            _ => None,
        }
    }

    /// The slot that an address names.
    fn slot(&self, source: Option<&Source>) -> Option<Place> {
        match &source?.kind {
            SourceKind::Address(address)
                if address.descriptor.is_none()
                    && address.symbol.is_none()
                    && address.base.as_slice() == [self.stack_pointer]
                    && address.uniform.is_empty() =>
            {
                Some(Place::Slot(address.offset))
            }
            _ => None,
        }
    }
}
