//! Checks of the instructions of the input: same operation, same values, each in its register.

use super::contents::{NOTHING, Place, State, Token, Tokens, owner};
use super::rematerializations::rematerialization_text;
use super::{Checker, ProblemKind};
use crate::abi::{FIRST_SAVED_BARRIER, FIRST_SAVED_UNIFORM, ROUTINE_BARRIERS};
use crate::frame::base_register;
use oriole_ori::{Address, CallShape, File, Instruction, Opcode, Pseudo, Source, SourceKind, Value};
use oriole_sass::Op;

impl Checker<'_> {
    /// Checks an instruction of the input: same operation, same values, each in its assigned location.
    pub(super) fn original(&mut self, old: &Instruction, new: &Instruction, state: &mut State) {
        if old.opcode != new.opcode || old.mods != new.mods || old.guard.is_some() != new.guard.is_some() {
            return self.problem(ProblemKind::InstructionLost, || {
                format!("{:?} became {:?}", old.opcode, new.opcode)
            });
        }
        if old.opcode == Opcode::Pseudo(Pseudo::ParallelCopy) {
            return self.parallel(old, new, state);
        }
        if old.sources.len() != new.sources.len() || old.destinations.len() != new.destinations.len() {
            return self.problem(ProblemKind::InstructionLost, || "operands lost".into());
        }
        if let (Some(a), Some(b)) = (old.guard, new.guard) {
            if a.negated != b.negated {
                self.problem(ProblemKind::InstructionLost, || "the guard turned round".into());
            }
            self.tuple(&[a.value], &[b.value], None, state);
        }
        for (a, b) in old.sources.iter().zip(&new.sources) {
            let same = a.negate == b.negate
                && a.absolute == b.absolute
                && a.invert == b.invert
                && a.suffixes == b.suffixes
                && a.fixed == b.fixed;
            if !same {
                self.problem(ProblemKind::InstructionLost, || "signs of an operand changed".into());
            }
            self.source(a, b, state);
        }
        if let Some(call) = &old.call {
            self.clobber(call, old.opcode, state);
        }
        self.results(old, new, state);
    }

    /// Checks the values of a source, each in its register now.
    pub(super) fn source(&mut self, old: &Source, new: &Source, state: &mut State) {
        match (&old.kind, &new.kind) {
            (SourceKind::Values(x), SourceKind::Values(y)) => self.tuple(x, y, old.fixed, state),
            (SourceKind::ConstIndexed(place), SourceKind::ConstIndexed(now)) => {
                if (place.bank, place.base, place.offset) != (now.bank, now.base, now.offset) {
                    self.problem(ProblemKind::InstructionLost, || "a constant changed".into());
                }
                self.tuple(&[place.index], &[now.index], None, state);
            }
            (SourceKind::Address(address), SourceKind::Address(now)) => {
                let key = |it: &Address| (it.symbol, it.offset, it.descriptor.is_some());
                if key(address) != key(now) {
                    self.problem(ProblemKind::InstructionLost, || "an address changed".into());
                }
                let empty = oriole_ori::Values::new();
                self.tuple(
                    address.descriptor.as_ref().unwrap_or(&empty),
                    now.descriptor.as_ref().unwrap_or(&empty),
                    None,
                    state,
                );
                self.tuple(&address.base, &now.base, old.fixed, state);
                self.tuple(&address.uniform, &now.uniform, None, state);
            }
            // Targets may lead over a block on the edge; `edges` has looked at that.
            (SourceKind::Block(_), SourceKind::Block(_)) => {}
            (x, y) if x == y => {}
            _ => self.problem(ProblemKind::InstructionLost, || "a source changed".into()),
        }
    }

    /// Registers that a call clobbers hold no value any more.
    fn clobber(&self, call: &CallShape, opcode: Opcode, state: &mut State) {
        let mut forget = |file: File, register: u8| state.set(Place::Register(file, register), Tokens::new());
        for r in 0..self.files.general.count {
            if call.clobbers[usize::from(r / 64)] >> (r % 64) & 1 != 0 {
                forget(File::R, r);
            }
        }
        for p in (0..self.files.predicate.count).filter(|p| call.clobbered_predicates >> p & 1 != 0) {
            forget(File::P, p);
        }
        if call.clobbers_uniform {
            (0..FIRST_SAVED_UNIFORM).for_each(|r| forget(File::UR, r));
            (0..self.files.uniform_predicate.count).for_each(|r| forget(File::UP, r));
        }
        let barriers = match opcode {
            Opcode::Pseudo(Pseudo::Call) => FIRST_SAVED_BARRIER,
            Opcode::Pseudo(Pseudo::CallHelper) => ROUTINE_BARRIERS,
            _ => 0,
        };
        (0..barriers).for_each(|b| forget(File::B, b));
    }

    pub(super) fn results(&mut self, old: &Instruction, new: &Instruction, state: &mut State) {
        let key = rematerialization_text(self.input, old).map(|text| self.rematerializations.key(text));
        let copied = self.copied(new, state);
        let mut written: Vec<Place> = Vec::new();
        for (a, b) in old.destinations.iter().zip(&new.destinations) {
            if a.values.len() != b.values.len()
                || a.file != b.file
                || a.fixed != b.fixed
                || a.width != b.width
            {
                self.problem(ProblemKind::InstructionLost, || "a result changed".into());
                continue;
            }
            self.shape(&b.values, a.fixed);
            for (component, (&v, &x)) in a.values.iter().zip(&b.values).enumerate() {
                if self.allocation.original.get(x) != Some(&v) {
                    self.problem(ProblemKind::InstructionLost, || format!("{x:?} does not stand for {v:?}"));
                }
                let Some(place) = self.place(x) else {
                    self.problem(ProblemKind::Constraint, || format!("{x:?} has no register"));
                    continue;
                };
                if written.contains(&place) {
                    self.problem(ProblemKind::ExtraDefinition, || format!("{place:?} is written twice"));
                }
                written.push(place);
                if old.is_partial() && !state.holds(place, v) {
                    self.problem(ProblemKind::OldValueDestroyed, || format!("{v:?} is not in {place:?}"));
                }
                state.forget(v);
                state.defined.insert(v);
                let mut tokens = copied.clone();
                tokens.retain(|token| owner(token) != Some(v));
                tokens.push(Token::Value(v));
                if let Some(key) = key {
                    tokens.push(Token::Made(key, component as u8));
                    for &other in
                        self.rematerializations.only.get(&(key, component as u8)).map_or(&[][..], |l| l)
                    {
                        tokens.push(Token::Value(other));
                    }
                }
                state.set(place, tokens);
            }
        }
    }

    /// Contents that a copy within a file carries: its result may share the register of its source as long as both
    /// hold the same.
    pub(super) fn copied(&self, new: &Instruction, state: &State) -> Tokens {
        let from = new.sources.first().and_then(Source::as_plain_value);
        let plain = new.opcode == Opcode::Pseudo(Pseudo::Copy) && new.guard.is_none();
        match (from.filter(|_| plain), new.destinations.as_slice()) {
            (Some(from), [to]) if to.file == self.allocation.function.file(from) => {
                self.place(from).map_or_else(Tokens::new, |place| state.get(place))
            }
            _ => Tokens::new(),
        }
    }

    /// True for an f64 MMA, whose widest left factor has its own alignment.
    fn multiplies_doubles(&self) -> bool {
        let (block, index) = self.at;
        let instruction = self.allocation.function.block(block).instructions.get(index);
        instruction.is_some_and(|instruction| instruction.opcode == Opcode::Sass(Op::DMMA))
    }

    /// Checks the registers of a tuple: consecutive, aligned, and where a convention requires them.
    fn shape(&mut self, values: &[Value], fixed: Option<u8>) {
        let Some(&first) = values.first() else { return };
        let Some(Place::Register(file, base)) = self.place(first) else {
            return self.problem(ProblemKind::Constraint, || format!("{first:?} has no register"));
        };
        let align = match values.len() {
            1 => 1,
            2 => 2,
            3 | 4 => 4,
            16 if self.multiplies_doubles() => 16,
            _ => 8,
        };
        if base % align != 0 || fixed.is_some_and(|f| f != base) {
            self.problem(ProblemKind::Constraint, || format!("{} values from {base}", values.len()));
        }
        let limit = match file {
            File::R => self.files.general.end_usable,
            File::UR => self.files.uniform.end_usable,
            File::P => self.files.predicate.end_usable,
            File::UP => self.files.uniform_predicate.end_usable,
            File::B => self.files.barrier.end_usable,
        };
        for (k, &v) in values.iter().enumerate() {
            let wanted = u16::from(base) + k as u16;
            match self.place(v) {
                Some(Place::Register(f, r))
                    if f == file && u16::from(r) == wanted && wanted < u16::from(limit) => {}
                other => self.problem(ProblemKind::Constraint, || format!("{other:?} instead of {wanted}")),
            }
        }
    }

    /// The values of one operand.
    fn tuple(&mut self, old: &[Value], new: &[Value], fixed: Option<u8>, state: &State) {
        if old.len() != new.len() {
            return self.problem(ProblemKind::InstructionLost, || "a tuple changed".into());
        }
        if old == [self.stack_pointer] {
            if new != old || self.place(new[0]) != Some(Place::Register(File::R, base_register(self.input))) {
                self.problem(ProblemKind::Constraint, || "the stack pointer moved".into());
            }
            return;
        }
        self.shape(new, fixed);
        for (&v, &x) in old.iter().zip(new) {
            let Some(place) = self.place(x) else { continue };
            if !state.holds(place, v) {
                let held = state.get(place);
                let predicate = matches!(place, Place::Register(File::P, _));
                let kept = state.places.values().any(|t| t.contains(&Token::Word(v)));
                self.problem(
                    match (predicate, kept, held.is_empty()) {
                        (true, true, _) => ProblemKind::PredicateRefill,
                        (false, _, false) if held.contains(&NOTHING) => ProblemKind::RefillUninitialized,
                        (true, false, false) => ProblemKind::PredicateBaseDestroyed,
                        (_, _, true) => ProblemKind::Uninitialized,
                        (false, _, false) => ProblemKind::MissingSpill,
                    },
                    || format!("{v:?} is not in {place:?}, which holds {held:?}"),
                );
            }
        }
    }
}
