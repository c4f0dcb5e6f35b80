//! The allocation checker. It walks the allocated function with, for each physical location (registers of all files,
//! words of the spill area), the set of values that it is known to hold, joins paths by intersection, and checks
//! every operand: its register must hold the value that the input names there, and tuples must be aligned,
//! consecutive, and where a convention requires them.
//!
//! Rewrites after expansion have a check of their own ([`moved`]).
//!
//! It shares only the data types and the calling convention with the allocator. It trusts two claims only, and
//! verifies both on the way: which instructions the allocator inserted, and which input value a new value stands for.

mod granted;
mod inserted;
pub mod moved;

use crate::abi::{FIRST_SAVED_BARRIER, FIRST_SAVED_UNIFORM, ROUTINE_BARRIERS};
use crate::allocation::{Allocation, Prepared};
use crate::frame::base_register;
use oriole_chip::{Chip, RegisterFiles};
use oriole_ori::{
    Address, BlockId, CallShape, Cfg, File, Function, Instruction, Liveness, Opcode, Pseudo, Source,
    SourceKind, Value,
};
use oriole_sass::Op;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::fmt;
use typed_index_collections::{TiVec, ti_vec};

/// Kinds of violations.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum ProblemKind {
    /// A reload from a slot that was never stored to.
    RefillUninitialized,
    /// The slot of a reload has content, but not the wanted value.
    MissingSpill,
    /// A predicate that was spilled to a general register is reloaded as another one.
    PredicateRefill,
    /// The general register of a spilled predicate was overwritten.
    PredicateBaseDestroyed,
    /// A source was defined in the input and is not in its register.
    Uninitialized,
    /// The old value of a guarded result is not in the result's register.
    OldValueDestroyed,
    /// Results overlap.
    ExtraDefinition,
    /// A value was rematerialized by an instruction that does not compute it.
    Rematerialization,
    /// An instruction of the input is missing or changed.
    InstructionLost,
    /// A register is missing, misaligned, not adjacent, not the one of a convention, or not writable.
    Constraint,
}

/// A violation and its location.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// Category.
    pub kind: ProblemKind,
    /// Block of the allocated function.
    pub block: BlockId,
    /// Instruction in it.
    pub instruction: usize,
    /// Details.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b{}[{}]: {:?}: {}", self.block.0, self.instruction, self.kind, self.message)
    }
}

/// Known contents of a location.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
enum Token {
    /// The value.
    Value(Value),
    /// A predicate as a word: not zero for true.
    Word(Value),
    /// Result of an instruction without register operands: its key and the component.
    Made(u32, u8),
}

/// Result of a reload from an empty slot.
const NOTHING: Token = Token::Made(u32::MAX, 0);

type Tokens = SmallVec<[Token; 2]>;

/// A physical location.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
enum Place {
    Register(File, u8),
    /// Frame offset in bytes.
    Slot(i32),
}

#[derive(Clone, Default, Debug)]
struct State {
    /// Contents of locations; a location without known contents is not listed (a slot is, once stored to).
    places: FxHashMap<Place, Tokens>,
    /// Places that may hold a value: all that do, and some that did.
    holders: FxHashMap<Value, SmallVec<[Place; 2]>>,
    /// Values that were defined on some path here. Any location may hold the others, since they are undefined.
    defined: FxHashSet<Value>,
}

fn owner(token: &Token) -> Option<Value> {
    match token {
        Token::Value(v) | Token::Word(v) => Some(*v),
        Token::Made(..) => None,
    }
}

impl State {
    fn get(&self, place: Place) -> Tokens {
        self.places.get(&place).cloned().unwrap_or_default()
    }

    fn set(&mut self, place: Place, mut tokens: Tokens) {
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

    fn is_undefined(&self, v: Value) -> bool {
        !self.defined.contains(&v)
    }

    fn holds(&self, place: Place, v: Value) -> bool {
        self.is_undefined(v) || self.get(place).contains(&Token::Value(v))
    }

    /// No place holds the value any more.
    fn forget(&mut self, v: Value) {
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
    fn prune(&mut self, live: impl Fn(Value) -> bool) {
        self.places.retain(|_, tokens| {
            tokens.retain(|t| owner(t).is_none_or(&live));
            !tokens.is_empty()
        });
        self.holders.retain(|v, _| live(*v));
        self.defined.retain(|v| live(*v));
    }

    /// Keeps what both paths know. True if something was lost.
    fn meet(&mut self, other: &State) -> bool {
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

/// Checks an allocation for a chip against its input. No problem means that every instruction reads and writes the
/// same values as before.
pub fn check(chip: Chip, input: &Prepared, allocation: &Allocation) -> Vec<Problem> {
    let mut checker = Checker {
        input: &input.function,
        stack_pointer: input.stack_pointer,
        allocation,
        files: chip.register_files(),
        problems: Vec::new(),
        report: false,
        at: (BlockId(0), 0),
        rematerializations: Rematerializations::new(&input.function),
    };
    checker.run();
    checker.report = true;
    checker.granted();
    checker.uniforms_of_callers();
    checker.problems.truncate(20);
    checker.problems
}

/// Instructions that define a value without reading a register, by their results.
struct Rematerializations {
    keys: FxHashMap<String, u32>,
    /// Values whose only definition is such an instruction: key, component.
    only: FxHashMap<(u32, u8), Vec<Value>>,
}

fn rematerialization_text(function: &Function, instruction: &Instruction) -> Option<String> {
    let plain = |s: &Source| {
        matches!(
            s.kind,
            SourceKind::Zero(_)
                | SourceKind::True(_)
                | SourceKind::Imm(_)
                | SourceKind::Literal(_)
                | SourceKind::Const { .. }
                | SourceKind::Address32 { .. }
        )
    };
    if instruction.guard.is_some()
        || instruction.destinations.len() != 1
        || instruction.sources.is_empty()
        || !instruction.sources.iter().all(plain)
    {
        return None;
    }
    let file = instruction.destinations[0].values.first().map(|&v| function.file(v))?;
    match instruction.opcode {
        Opcode::Sass(Op::MOV | Op::UMOV) | Opcode::Pseudo(Pseudo::Copy) if instruction.mods.is_empty() => {
            Some(format!("{file:?} {:?}", instruction.sources))
        }
        Opcode::Sass(Op::MOV | Op::UMOV | Op::ULDC | Op::LDCU) => Some(format!(
            "{file:?} {:?} {:?} {:?}",
            instruction.opcode, instruction.mods, instruction.sources
        )),
        _ => None,
    }
}

/// The text of a rematerialization that is one plain source.
fn source_text(file: File, source: &Source) -> String {
    format!("{file:?} {:?}", [source])
}

impl Rematerializations {
    fn new(function: &Function) -> Rematerializations {
        let mut rematerializations =
            Rematerializations { keys: FxHashMap::default(), only: FxHashMap::default() };
        let mut definitions: FxHashMap<Value, u32> = FxHashMap::default();
        for instruction in function.blocks.iter().flat_map(|b| &b.instructions) {
            instruction.for_each_definition(|v| *definitions.entry(v).or_default() += 1);
        }
        for instruction in function.blocks.iter().flat_map(|b| &b.instructions) {
            if let Some(text) = rematerialization_text(function, instruction) {
                let key = rematerializations.key(text);
                for (component, v) in instruction.destinations[0].values.iter().enumerate() {
                    if definitions[v] == 1 {
                        rematerializations.only.entry((key, component as u8)).or_default().push(*v);
                    }
                }
            }
        }
        rematerializations
    }

    fn key(&mut self, text: String) -> u32 {
        let next = self.keys.len() as u32;
        *self.keys.entry(text).or_insert(next)
    }
}

/// The register that the allocation gives a value.
fn place_of(allocation: &Allocation, v: Value) -> Option<Place> {
    let register = allocation.assignment.registers.get(v).copied().flatten()?;
    Some(Place::Register(allocation.function.file(v), register))
}

struct Checker<'a> {
    input: &'a Function,
    stack_pointer: Value,
    allocation: &'a Allocation,
    files: &'static RegisterFiles,
    problems: Vec<Problem>,
    report: bool,
    at: (BlockId, usize),
    rematerializations: Rematerializations,
}

impl Checker<'_> {
    fn problem(&mut self, kind: ProblemKind, message: impl FnOnce() -> String) {
        if self.report && self.problems.len() < 100 {
            let (block, instruction) = self.at;
            self.problems.push(Problem { kind, block, instruction, message: message() });
        }
    }

    /// A function must not write callee-saved uniform registers.
    fn uniforms_of_callers(&mut self) {
        if self.allocation.function.is_entry {
            return;
        }
        for instruction in self.allocation.function.blocks.iter().flat_map(|block| &block.instructions) {
            let mut callers = None;
            instruction.for_each_definition(|value| {
                if let Some(Place::Register(File::UR, register)) = self.place(value)
                    && register >= FIRST_SAVED_UNIFORM
                {
                    callers = Some(register);
                }
            });
            if let Some(register) = callers {
                self.problem(ProblemKind::Constraint, || format!("UR{register} is a caller's"));
            }
        }
    }

    fn run(&mut self) {
        let function = &self.allocation.function;
        let graph = function.graph();
        let cfg = graph.cfg();
        let mut entry: TiVec<BlockId, Option<State>> = ti_vec![None; function.blocks.len()];
        // Nothing is known of any value before its first definition.
        if let Some(first) = entry.first_mut() {
            *first = Some(State::default());
        }
        let input_cfg = Cfg::new(self.input.edges());
        let liveness = Liveness::new(self.input, &input_cfg);
        self.edges(cfg);
        let mut work: std::collections::BTreeSet<u32> = [0].into();
        while let Some(position) = work.pop_first() {
            let block = cfg.order()[position as usize];
            let Some(mut state) = entry[block].clone() else { continue };
            self.block(block, &mut state);
            if let Some(Some(old)) = self.allocation.blocks.get(block) {
                let live = liveness.live_out(*old);
                state.prune(|v| live.binary_search(&v).is_ok());
            }
            for &successor in &function.block(block).successors {
                let changed = match &mut entry[successor] {
                    Some(known) => known.meet(&state),
                    slot => {
                        *slot = Some(state.clone());
                        true
                    }
                };
                if changed && let Some(position) = cfg.position(successor) {
                    work.insert(position);
                }
            }
        }
        self.report = true;
        for &block in cfg.order() {
            if let Some(mut state) = entry[block].clone() {
                self.block(block, &mut state);
            }
        }
    }

    /// Checks that the graph is that of the input except for edge blocks.
    fn edges(&mut self, cfg: &Cfg) {
        self.report = true;
        let through = |this: &Self, b: BlockId| match this.allocation.blocks.get(b) {
            Some(Some(old)) => *old,
            _ => match this.allocation.function.block(b).successors.as_slice() {
                [only] => this.allocation.blocks.get(*only).copied().flatten().unwrap_or(*only),
                _ => b,
            },
        };
        for &block in cfg.order() {
            let Some(Some(old)) = self.allocation.blocks.get(block) else { continue };
            let now: oriole_ori::Successors =
                self.allocation.function.block(block).successors.iter().map(|&s| through(self, s)).collect();
            self.at = (block, 0);
            if now != self.input.block(*old).successors {
                self.problem(ProblemKind::InstructionLost, || "other successors than in the input".into());
            }
        }
        self.report = false;
    }

    fn place(&self, v: Value) -> Option<Place> {
        place_of(self.allocation, v)
    }

    fn block(&mut self, block: BlockId, state: &mut State) {
        let allocated = &self.allocation.function.block(block).instructions;
        let marks = &self.allocation.inserted[block];
        let old = self.allocation.blocks[block].map(|b| &self.input.block(b).instructions);
        let mut wanted = old.into_iter().flatten();
        for (index, instruction) in allocated.iter().enumerate() {
            self.at = (block, index);
            if marks.get(index).copied().unwrap_or(false) {
                self.inserted(instruction, state);
                continue;
            }
            loop {
                match wanted.next() {
                    Some(old) if old.opcode == Opcode::Pseudo(Pseudo::Undefined) => {
                        old.for_each_definition(|v| {
                            state.forget(v);
                            state.defined.remove(&v);
                        });
                        if instruction.opcode == old.opcode {
                            break;
                        }
                    }
                    Some(old) => {
                        self.original(old, instruction, state);
                        break;
                    }
                    None => {
                        self.problem(ProblemKind::InstructionLost, || "an instruction too many".into());
                        break;
                    }
                }
            }
        }
        for old in wanted {
            if old.opcode == Opcode::Pseudo(Pseudo::Undefined) {
                old.for_each_definition(|v| {
                    state.forget(v);
                    state.defined.remove(&v);
                });
            } else {
                self.at = (block, allocated.len());
                self.problem(ProblemKind::InstructionLost, || "an instruction is missing".into());
            }
        }
    }

    /// Checks an instruction of the input: same operation, same values, each in its assigned location.
    fn original(&mut self, old: &Instruction, new: &Instruction, state: &mut State) {
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
    fn source(&mut self, old: &Source, new: &Source, state: &mut State) {
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

    fn results(&mut self, old: &Instruction, new: &Instruction, state: &mut State) {
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
    fn copied(&self, new: &Instruction, state: &State) -> Tokens {
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

    /// Parallel copies: the remaining copies move contents; then each destination is wherever its source is.
    fn parallel(&mut self, old: &Instruction, new: &Instruction, state: &mut State) {
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
