//! After phase 49: loads whose bytes are in registers already become copies.
//!
//! The bytes are there if a dominating store wrote them or a dominating load read them, and nothing on any path in
//! between may have changed them. The walk goes down the dominator tree as global value numbering does, and memory has
//! phis like a value: where paths meet that wrote a space differently, nothing of that space is known.
//!
//! Only plain accesses take part. Anything that is ordered, asynchronous, a barrier, a fence or a call makes every space
//! unknown, because another thread may have written by then. A guarded store may have written. It preserves every store
//! and the order of all that stays; no conversion may enter: bytes that a load would assemble from parts stay in memory.

use crate::analyses::accesses::{Access, Direction, Held, Place, RootId, Roots, WORD, Width, stored_words};
use crate::analyses::definitions::Definitions;
use crate::analyses::memory_order::disturbs_memory;
use oriole_ori::{
    BlockId, Destination, File, FlowGraph, Function, Instruction, IteratedFrontiers, Opcode, Pseudo, Source,
    SourceKind, Space, Value, effects,
};
use oriole_sass::{Mod, Op};
use rustc_hash::FxHashMap;
use typed_index_collections::{TiVec, ti_vec};

/// Spaces, each with changes of its own; the last one is memory that nothing changes.
pub(crate) const SPACES: usize = 5;
const GENERIC: usize = 0;
const GLOBAL: usize = 1;
const SHARED: usize = 2;
const LOCAL: usize = 3;
const CONSTANT: usize = 4;
/// Every space that may change, a bit each.
pub(crate) const CHANGEABLE: u8 = 1 << GENERIC | 1 << GLOBAL | 1 << SHARED | 1 << LOCAL;

/// An instruction's effect on what is known about memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    /// None.
    Nothing,
    /// A plain access.
    Plain(Access),
    /// These spaces, a bit each, may hold anything.
    Unknown(u8),
}

/// Spaces that change with a write of this one.
pub(crate) fn changed_with(space: Space) -> u8 {
    match space {
        Space::Generic => CHANGEABLE,
        // A generic address may be of any of them.
        Space::Global => 1 << GLOBAL | 1 << GENERIC,
        Space::Shared => 1 << SHARED | 1 << GENERIC,
        Space::Local => 1 << LOCAL | 1 << GENERIC,
        Space::Constant | Space::Spill => 0,
    }
}

/// The number of a plain access's space.
pub(crate) fn space_of(access: &Access) -> usize {
    match access.space {
        _ if access.constant => CONSTANT,
        Space::Global => GLOBAL,
        Space::Shared => SHARED,
        Space::Local => LOCAL,
        _ => GENERIC,
    }
}

impl Event {
    /// The effect of an instruction.
    pub(crate) fn of(instruction: &Instruction) -> Event {
        if let Some(access) = Access::of(instruction) {
            return Event::Plain(access);
        }
        if let Some(memory) = instruction.memory {
            return match (memory.ordered, memory.writes) {
                (true, _) => Event::Unknown(CHANGEABLE),
                (false, true) => Event::Unknown(changed_with(memory.space)),
                (false, false) => Event::Nothing,
            };
        }
        // Compiler routines have registers only, and a transfer takes what is known along.
        let harmless =
            instruction.opcode == Opcode::Pseudo(Pseudo::CallHelper) || effects::is_transfer(instruction);
        if harmless || !disturbs_memory(instruction) { Event::Nothing } else { Event::Unknown(CHANGEABLE) }
    }

    /// Spaces that may have changed afterwards.
    pub(crate) fn changes(self) -> u8 {
        match self {
            Event::Plain(access) if access.direction == Direction::Store => changed_with(access.space),
            Event::Unknown(spaces) => spaces,
            _ => 0,
        }
    }
}

/// How bytes in a register stand for those in memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Kind {
    /// A register is the word.
    Word,
    /// The register that such a load gives.
    Loaded(Width),
    /// This number of low bytes of the register.
    Stored(u32),
}

/// Replaces loads by copies. True if there were some. In SSA.
pub fn run(function: &mut Function) -> bool {
    if !pays(function) {
        return false;
    }
    let graph = function.graph();
    let joins = joins(function, &graph);
    let definitions = Definitions::in_ssa(function);
    let mut known = Known::default();
    let mut found: Vec<(BlockId, u32, Vec<Copied>)> = Vec::new();
    let dominators = graph.dominators();
    let mut steps: Vec<Step> = dominators.roots().iter().rev().map(|&root| Step::Visit(root)).collect();
    while let Some(step) = steps.pop() {
        match step {
            Step::Leave(length, spaces) => known.rewind(length, spaces),
            Step::Visit(id) => {
                steps.push(Step::Leave(known.log.len(), known.spaces));
                known.forget(joins[id]);
                for (index, instruction) in function.block(id).instructions.iter().enumerate() {
                    if let Some(copied) = known.pass(function, &definitions, instruction) {
                        found.push((id, index as u32, copied));
                    }
                }
                steps.extend(dominators.children(id).iter().rev().map(|&child| Step::Visit(child)));
            }
        }
    }
    replace(function, &found);
    !found.is_empty()
}

enum Step {
    Visit(BlockId),
    Leave(usize, [Changes; SPACES]),
}

/// A register that takes what a load would have given: from where, and the bytes of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Copied {
    to: Value,
    from: Held,
    /// Bytes that are kept, [`WORD`] for all.
    bytes: u32,
}

/// True if there is a load and something before it to take it from.
fn pays(function: &Function) -> bool {
    let instructions = function.blocks.iter().flat_map(|block| &block.instructions);
    let accesses = instructions.filter_map(Access::of);
    let (mut count, mut loads) = (0, 0);
    for access in accesses {
        count += 1;
        loads += u32::from(access.direction == Direction::Load);
    }
    loads > 0 && count > 1
}

/// For each block the spaces that paths to it may have changed differently.
fn joins(function: &Function, graph: &FlowGraph) -> TiVec<BlockId, u8> {
    let mut joins: TiVec<BlockId, u8> = ti_vec![0; function.blocks.len()];
    let cfg = graph.cfg();
    let changed: Vec<(BlockId, u8)> = cfg
        .order()
        .iter()
        .map(|&id| {
            let instructions = &function.block(id).instructions;
            (
                id,
                instructions
                    .iter()
                    .fold(0, |changed, instruction| changed | Event::of(instruction).changes()),
            )
        })
        .collect();
    let mut frontiers = IteratedFrontiers::new(cfg, graph.dominators());
    for space in [GENERIC, GLOBAL, SHARED, LOCAL] {
        let bit = 1 << space;
        let here = changed.iter().filter(|(_, changed)| changed & bit != 0).map(|&(id, _)| id);
        frontiers.of(here, |_| true, |join| joins[join] |= bit);
    }
    joins
}

/// The last changes of a space. Times count events.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Changes {
    /// The last one.
    last: u32,
    /// The root of the last ones, if they had one.
    root: Option<RootId>,
    /// The last one with another root, or without.
    other: u32,
}

impl Changes {
    /// The last change that may be of any bytes for an address with this root.
    fn before(&self, root: RootId) -> u32 {
        if self.root == Some(root) { self.other } else { self.last }
    }
}

/// A change that the walk undoes when it leaves a block.
enum Undo {
    Entry((Place, Kind), Option<(Held, u32)>),
    Written((RootId, i64), Option<u32>),
}

/// Facts about memory at a place of the walk.
#[derive(Default)]
struct Known {
    roots: Roots,
    /// Registers with bytes of memory, and the time since when.
    entries: FxHashMap<(Place, Kind), (Held, u32)>,
    /// The last change of each word from a root on.
    written: FxHashMap<(RootId, i64), u32>,
    spaces: [Changes; SPACES],
    log: Vec<Undo>,
    now: u32,
}

impl Known {
    fn rewind(&mut self, length: usize, spaces: [Changes; SPACES]) {
        for undo in self.log.drain(length..).rev() {
            match undo {
                Undo::Entry(key, Some(old)) => drop(self.entries.insert(key, old)),
                Undo::Entry(key, None) => drop(self.entries.remove(&key)),
                Undo::Written(key, Some(old)) => drop(self.written.insert(key, old)),
                Undo::Written(key, None) => drop(self.written.remove(&key)),
            }
        }
        self.spaces = spaces;
    }

    /// Nothing is known about these spaces.
    fn forget(&mut self, spaces: u8) {
        if spaces == 0 {
            return;
        }
        self.now += 1;
        for (space, changes) in self.spaces.iter_mut().enumerate() {
            if spaces & 1 << space != 0 {
                *changes = Changes { last: self.now, root: None, other: self.now };
            }
        }
    }

    /// Takes note of an instruction. For a load that is not needed, the registers that it would have written.
    fn pass(
        &mut self,
        function: &Function,
        definitions: &Definitions,
        instruction: &Instruction,
    ) -> Option<Vec<Copied>> {
        let access = match Event::of(instruction) {
            Event::Nothing => return None,
            Event::Unknown(spaces) => {
                self.forget(spaces);
                return None;
            }
            Event::Plain(access) => access,
        };
        let Some(place) = self.roots.place(function, definitions, instruction) else {
            self.forget(Event::Plain(access).changes());
            return None;
        };
        match access.direction {
            Direction::Store => {
                self.store(function, instruction, &access, place);
                None
            }
            // The old value is another operand of a guarded load.
            Direction::Load if instruction.guard.is_some() => None,
            Direction::Load => self.load(instruction, &access, place),
        }
    }

    fn store(&mut self, function: &Function, instruction: &Instruction, access: &Access, place: Place) {
        let space = space_of(access);
        self.forget(changed_with(access.space) & !(1 << space));
        self.now += 1;
        let now = self.now;
        let changes = &mut self.spaces[space];
        if changes.root != Some(place.root) {
            changes.other = changes.last;
            changes.root = Some(place.root);
        }
        changes.last = now;
        for word in words_of(place.offset, access.width.bytes()) {
            let key = (place.root, word);
            let old = self.written.insert(key, now);
            self.log.push(Undo::Written(key, old));
        }
        if instruction.guard.is_some() {
            return;
        }
        let Some(stored) = stored_words(instruction) else { return };
        let general = |held: &Held| matches!(held, Held::Value(value) if function.file(*value) == File::R);
        if !stored.iter().all(|held| *held == Held::Zero || general(held)) {
            return;
        }
        match access.width {
            Width::Words(_) => {
                for (index, held) in (0..).zip(stored) {
                    self.enter(beyond(place, index), Kind::Word, held);
                }
            }
            Width::Narrow { bytes, .. } => self.enter(place, Kind::Stored(bytes), stored[0]),
        }
    }

    fn load(&mut self, instruction: &Instruction, access: &Access, place: Place) -> Option<Vec<Copied>> {
        let space = space_of(access);
        let results = &instruction.destinations[0].values;
        let found: Option<Vec<Copied>> = match access.width {
            Width::Words(_) => (0..)
                .zip(results)
                .map(|(index, &to)| {
                    let from = self.find(space, beyond(place, index), Kind::Word, WORD)?;
                    Some(Copied { to, from, bytes: WORD })
                })
                .collect(),
            Width::Narrow { bytes, signed } => {
                let to = results[0];
                let loaded = self.find(space, place, Kind::Loaded(access.width), bytes);
                let loaded = loaded.map(|from| Copied { to, from, bytes: WORD });
                let stored = || {
                    let from = self.find(space, place, Kind::Stored(bytes), bytes).filter(|_| !signed)?;
                    Some(Copied { to, from, bytes })
                };
                loaded.or_else(stored).map(|copied| vec![copied])
            }
        };
        if found.is_none() || matches!(access.width, Width::Narrow { .. }) {
            let words = matches!(access.width, Width::Words(_));
            let kind = if words { Kind::Word } else { Kind::Loaded(access.width) };
            for (index, &result) in (0..).zip(results) {
                self.enter(beyond(place, index), kind, Held::Value(result));
            }
        }
        found
    }

    fn enter(&mut self, place: Place, kind: Kind, held: Held) {
        let old = self.entries.insert((place, kind), (held, self.now));
        self.log.push(Undo::Entry((place, kind), old));
    }

    /// The register with these bytes, if they are the same still.
    fn find(&self, space: usize, place: Place, kind: Kind, bytes: u32) -> Option<Held> {
        let &(held, since) = self.entries.get(&(place, kind))?;
        let written = |word| self.written.get(&(place.root, word)).is_some_and(|&at| at > since);
        let changed =
            self.spaces[space].before(place.root) > since || words_of(place.offset, bytes).any(written);
        (!changed).then_some(held)
    }
}

/// The place some words after another one.
fn beyond(place: Place, words: i64) -> Place {
    Place { offset: place.offset.wrapping_add(words * i64::from(WORD)), ..place }
}

/// Numbers of the words, from the root on, that bytes are in.
fn words_of(offset: i64, bytes: u32) -> impl Iterator<Item = i64> {
    let word = i64::from(WORD);
    let last = offset.wrapping_add(i64::from(bytes) - 1).div_euclid(word);
    offset.div_euclid(word)..=last
}

/// Puts the copies in the places of the loads.
fn replace(function: &mut Function, found: &[(BlockId, u32, Vec<Copied>)]) {
    for here in found.chunk_by(|one, other| one.0 == other.0) {
        let block = function.block_mut(here[0].0);
        let mut next = here.iter().peekable();
        let instructions = std::mem::take(&mut block.instructions);
        block.instructions.reserve(instructions.len());
        for (index, instruction) in (0u32..).zip(instructions) {
            match next.next_if(|(_, at, _)| *at == index) {
                Some((_, _, copied)) => {
                    block.instructions.extend(copied.iter().map(|copied| copied.instruction(&instruction)));
                }
                None => block.instructions.push(instruction),
            }
        }
    }
}

impl Copied {
    /// The instruction in place of a load.
    fn instruction(&self, load: &Instruction) -> Instruction {
        let mut copy = Instruction::new(Pseudo::Copy, load.origin);
        copy.destinations.push(Destination::new(File::R, [self.to]));
        copy.sources.push(self.from.source());
        if self.bytes < WORD && self.from != Held::Zero {
            copy.opcode = Opcode::Sass(Op::LOP3);
            copy.mods.insert(Mod::LUT);
            copy.sources.push(Source::imm((1 << (self.bytes * 8)) - 1));
            copy.sources.push(Source::rz());
            copy.sources.push(Source::plain(SourceKind::Literal(0xc0)));
            copy.sources.push(Source::not_pt());
        }
        copy
    }
}
