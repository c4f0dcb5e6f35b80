//! Phase 64: adjacent stores, and loads of local and global memory, become accesses of 64 or 128 bits.
//!
//! An access takes one slot in the memory queue whatever its width. The members of a group have one root and no bytes
//! in common; a wide store is at the place of the last of them, a wide load at that of the first, within a block.
//! Between them nothing may access the space in a way that would notice: for stores nothing but their like, for loads no
//! write, and never anything ordered, a barrier, a fence, a call, or an exit under a guard.
//!
//! The address must be a multiple of the size. One of three facts proves it: the alignment of a variable, known bits of a
//! register, or an access of that width with the same root in the same block, which would fail otherwise. It preserves what
//! memory holds wherever another thread may look. Loads of shared memory are in `vector_loads`.

use crate::analyses::accesses::{
    Access, Direction, Held, Place, Root, RootId, Roots, WORD, Width, stored_words,
};
use crate::analyses::definitions::Definitions;
use crate::analyses::value_facts::{ValueFacts, known};
use crate::passes::memory_values::{CHANGEABLE, Event, SPACES, changed_with, space_of};
use oriole_ori::{
    BlockId, Destination, File, Function, Instruction, Opcode, Origin, Pseudo, Source, SourceKind, Space,
    SymbolKind, effects,
};
use oriole_sass::{Mod, Mods, Op};
use rustc_hash::FxHashMap;

/// No more instructions between the first member of a group and the last.
const REACH: usize = 64;
/// Offsets of operands are above the negative of this, and below it.
const FARTHEST: i64 = 1 << 22;
/// Words of the widest access.
const WIDEST: u32 = 4;

/// An access that may become a part of a wider one.
struct Member {
    /// Its place in the block.
    at: usize,
    place: Place,
    words: u32,
}

/// Accesses in one direction with one root, and nothing in between that forbids to join them.
struct Group {
    direction: Direction,
    members: Vec<Member>,
    /// Unknown events of the block before the first member.
    stretch: usize,
}

/// Addresses of a root that are multiples of a number of bytes.
#[derive(Clone, Copy)]
struct Multiple {
    bytes: u32,
    /// One of them, from the root on.
    offset: i64,
    /// Unknown events of the block before the access that proves it.
    stretch: usize,
}

/// Joins the accesses of a function. True if there were some. In SSA.
pub fn run(function: &mut Function) -> bool {
    let any = |id: &BlockId| function.block(*id).instructions.iter().filter_map(candidate).nth(1).is_some();
    let blocks: Vec<BlockId> = function.graph().cfg().order().iter().copied().filter(any).collect();
    if blocks.is_empty() {
        return false;
    }
    let definitions = Definitions::in_ssa(function);
    let mut roots = Roots::default();
    let mut facts: Option<ValueFacts> = None;
    let mut found: Vec<(BlockId, Vec<Vec<Member>>)> = Vec::new();
    for id in blocks {
        let mut walk = Walk::default();
        for (at, instruction) in function.block(id).instructions.iter().enumerate() {
            let place =
                Access::of(instruction).and_then(|_| roots.place(function, &definitions, instruction));
            walk.pass(at, instruction, place);
        }
        let mut here = Vec::new();
        for group in walk.groups.into_iter().filter(|group| group.members.len() > 1) {
            let root = group.members[0].place.root;
            let facts = facts.get_or_insert_with(|| known(function));
            let bits = bits_of_root(function, facts, roots.get(root)).min(4);
            let mut proofs = vec![Multiple { bytes: 1 << bits, offset: 0, stretch: 0 }];
            proofs.extend([2, WIDEST].iter().filter_map(|&words| walk.multiples.get(&(root, words))));
            proofs.retain(|proof| proof.stretch <= group.stretch);
            here.extend(joined(group, &proofs));
        }
        if !here.is_empty() {
            found.push((id, here));
        }
    }
    for (id, here) in &found {
        for members in here {
            join(function, *id, members);
        }
        // Accesses that others replace have no operands.
        function.block_mut(*id).instructions.retain(|instruction| !is_gone(instruction));
    }
    !found.is_empty()
}

/// A plain access of whole words without a guard, narrower than the widest, that this pass is for.
fn candidate(instruction: &Instruction) -> Option<Access> {
    let access = Access::of(instruction)?;
    let narrow = matches!(access.width, Width::Words(words) if words < WIDEST);
    let left_out = match access.space {
        Space::Shared => access.direction == Direction::Load,
        Space::Global | Space::Local => false,
        _ => true,
    };
    (narrow && !left_out && instruction.guard.is_none()).then_some(access)
}

/// The state of a walk through a block.
#[derive(Default)]
struct Walk {
    groups: Vec<Group>,
    /// The group to which a load belongs.
    loads: FxHashMap<(usize, RootId, Mods), usize>,
    /// The group of the last stores of each space, their modifiers, and the words that they write.
    stores: [Option<(usize, Mods, Vec<i64>)>; SPACES],
    /// Writes of each space.
    writes: [usize; SPACES],
    /// Writes of the space before each group of loads.
    since: Vec<usize>,
    /// The first access of a root with this number of words.
    multiples: FxHashMap<(RootId, u32), Multiple>,
    /// Unknown events.
    stretch: usize,
}

impl Walk {
    fn pass(&mut self, at: usize, instruction: &Instruction, place: Option<Place>) {
        let event = Event::of(instruction);
        let (Event::Plain(access), Some(place)) = (event, place) else {
            let memory = instruction.memory;
            let reads = memory.filter(|memory| memory.reads).map_or(0, |memory| changed_with(memory.space));
            // Threads that leave under a guard execute nothing after it.
            let leaves = effects::is_transfer(instruction);
            self.notice(reads, if leaves { CHANGEABLE } else { event.changes() });
            self.stretch += usize::from(leaves || event.changes() != 0);
            return;
        };
        if let (Width::Words(words), None) = (access.width, instruction.guard) {
            let multiple = Multiple { bytes: words * WORD, offset: place.offset, stretch: self.stretch };
            self.multiples.entry((place.root, words)).or_insert(multiple);
        }
        let member =
            candidate(instruction).map(|access| Member { at, place, words: access.width.bytes() / WORD });
        let mut mods = instruction.mods.clone();
        mods.remove(Mod::_64);
        let spaces = if access.constant { 0 } else { changed_with(access.space) };
        match (access.direction, member) {
            (Direction::Load, member) => {
                self.notice(spaces, 0);
                if let Some(member) = member {
                    self.load(space_of(&access), mods, member);
                }
            }
            (Direction::Store, None) => self.notice(0, spaces),
            (Direction::Store, Some(member)) => {
                let space = space_of(&access);
                self.notice(0, spaces & !(1 << space));
                self.writes[space] += 1;
                self.store(space, mods, member);
            }
        }
    }

    /// Ends groups that would notice such accesses of spaces, a bit each.
    fn notice(&mut self, reads: u8, writes: u8) {
        for space in 0..SPACES {
            if (reads | writes) & 1 << space != 0 {
                self.stores[space] = None;
            }
            self.writes[space] += usize::from(writes & 1 << space != 0);
        }
    }

    fn load(&mut self, space: usize, mods: Mods, member: Member) {
        let key = (space, member.place.root, mods);
        let writes = self.writes[space];
        if let Some(&group) = self.loads.get(&key)
            && self.since[group] == writes
            && member.at - self.groups[group].members[0].at <= REACH
        {
            return self.groups[group].members.push(member);
        }
        let group = self.open(Direction::Load, member, writes);
        self.loads.insert(key, group);
    }

    fn store(&mut self, space: usize, mods: Mods, member: Member) {
        let words = (0..member.words).map(|word| member.place.offset + i64::from(word * WORD));
        let words: Vec<i64> = words.collect();
        let overlaps = |other: i64| words.iter().any(|&word| (word - other).abs() < i64::from(WORD));
        if let Some((group, known, written)) = &mut self.stores[space] {
            let members = &mut self.groups[*group].members;
            let first = &members[0];
            let joins = first.place.root == member.place.root
                && *known == mods
                && member.at - first.at <= REACH
                && !written.iter().any(|&other| overlaps(other));
            if joins {
                written.extend(words);
                return members.push(member);
            }
        }
        let group = self.open(Direction::Store, member, 0);
        self.stores[space] = Some((group, mods, words));
    }

    fn open(&mut self, direction: Direction, member: Member, writes: usize) -> usize {
        self.groups.push(Group { direction, members: vec![member], stretch: self.stretch });
        self.since.push(writes);
        self.groups.len() - 1
    }
}

/// Trailing zero bits of a root.
fn bits_of_root(function: &Function, facts: &ValueFacts, root: &Root) -> u32 {
    let symbol = root.symbol.map(|symbol| match function.symbols[symbol].kind {
        SymbolKind::Local(variable) => {
            let align = function.locals.get(variable as usize).map_or(1, |variable| variable.align);
            align.max(1).trailing_zeros()
        }
        SymbolKind::Shared => facts.alignment(symbol).into(),
        _ => 0,
    });
    // Of a 64-bit address the upper word does not count.
    let low = root.base.first().into_iter().chain(root.uniform.first());
    low.map(|&value| facts.bits(value).trailing.into()).chain(symbol).min().unwrap_or(0)
}

/// Members of a group that become one access each.
fn joined(mut group: Group, proofs: &[Multiple]) -> Vec<Vec<Member>> {
    group.members.sort_by_key(|member| (member.place.offset, member.at));
    let mut found = Vec::new();
    let mut rest = group.members;
    while rest.len() > 1 {
        let count = [WIDEST, 2].into_iter().find_map(|words| beside(&rest, words, proofs)).unwrap_or(1);
        let others = rest.split_off(count);
        let together = std::mem::replace(&mut rest, others);
        if count > 1 {
            found.push(ordered(group.direction, together));
        }
    }
    found
}

/// The member at whose place the wide access will be comes first; the others follow by their offsets, and it once more
/// among them by its own.
fn ordered(direction: Direction, members: Vec<Member>) -> Vec<Member> {
    let places = members.iter().map(|member| member.at);
    let at = match direction {
        Direction::Load => places.min(),
        Direction::Store => places.max(),
    };
    let anchor = members.iter().find(|member| Some(member.at) == at);
    let anchor = anchor.map(|member| Member { at: member.at, place: member.place, words: member.words });
    anchor.into_iter().chain(members).collect()
}

/// Count of leading members that form one access of `words` words at a multiple of its size.
fn beside(members: &[Member], words: u32, proofs: &[Multiple]) -> Option<usize> {
    let first = members[0].place.offset;
    let bytes = words * WORD;
    let fits = |proof: &Multiple| proof.bytes >= bytes && (first - proof.offset) % i64::from(bytes) == 0;
    if !proofs.iter().any(fits) {
        return None;
    }
    let (mut count, mut end) = (0, first);
    let all = first + i64::from(bytes);
    for member in members {
        if end >= all {
            break;
        }
        if member.place.offset != end {
            return None;
        }
        end += i64::from(member.words * WORD);
        count += 1;
    }
    (count > 1 && end == all).then_some(count)
}

/// Puts the wide access at the place of the first of the members; the others are left without operands.
fn join(function: &mut Function, id: BlockId, members: &[Member]) {
    let [anchor, members @ ..] = members else { return };
    let instructions = &function.block(id).instructions;
    let mut wide = instructions[anchor.at].clone();
    let Some(SourceKind::Address(address)) = wide.sources.first_mut().map(|source| &mut source.kind) else {
        return;
    };
    let offset = i64::from(address.offset) + members[0].place.offset - anchor.place.offset;
    if offset.abs() >= FARTHEST {
        return;
    }
    address.offset = offset as i32;
    let words: u32 = members.iter().map(|member| member.words).sum();
    wide.mods.remove(Mod::_64);
    wide.mods.insert(if words == 2 { Mod::_64 } else { Mod::_128 });
    let mut zero: Option<Instruction> = None;
    if wide.destinations.is_empty() {
        let stored = members.iter().filter_map(|member| stored_words(&instructions[member.at]));
        let stored: Vec<Held> = stored.flatten().collect();
        wide.sources[1] = tuple(function, wide.origin, &stored, &mut zero);
    } else {
        let results = members.iter().flat_map(|member| &instructions[member.at].destinations);
        let values: Vec<_> = results.flat_map(|to| to.values.iter().copied()).collect();
        wide.destinations[0] = Destination::new(File::R, values);
    }
    let instructions = &mut function.block_mut(id).instructions;
    for member in members {
        instructions[member.at].destinations.clear();
        instructions[member.at].sources.clear();
    }
    instructions[anchor.at] = wide;
    // Another member is before a store.
    let other = members.iter().map(|member| member.at).find(|&at| at != anchor.at);
    if let (Some(zero), Some(at)) = (zero, other) {
        instructions[at] = zero;
    }
}

/// The operand of stored words. A zero next to others needs a register, and an instruction that makes it.
fn tuple(function: &mut Function, origin: Origin, stored: &[Held], zero: &mut Option<Instruction>) -> Source {
    if stored.iter().all(|&held| held == Held::Zero) {
        return Source::rz();
    }
    let mut made = None;
    let values = stored.iter().map(|held| match held {
        Held::Value(value) => *value,
        Held::Zero => *made.get_or_insert_with(|| function.new_value(File::R, None)),
    });
    let operand = Source::values(values.collect::<Vec<_>>());
    *zero = made.map(|value| {
        let mut copy = Instruction::new(Pseudo::Copy, origin);
        copy.destinations.push(Destination::new(File::R, [value]));
        copy.sources.push(Source::rz());
        copy
    });
    operand
}

/// An access whose words another access moves.
fn is_gone(instruction: &Instruction) -> bool {
    let plain = matches!(instruction.opcode, Opcode::Sass(Op::LDG | Op::LDL | Op::STG | Op::STL | Op::STS));
    plain && instruction.sources.is_empty() && instruction.destinations.is_empty()
}
