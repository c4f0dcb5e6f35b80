//! Affinities between values of one file: values that prefer the same register, and values that prefer adjacent ones.
//!
//! Values connected by a copy or a phi prefer one register, the members of a tuple consecutive ones. Joined, they are
//! clusters: ranges of registers in which every member has a fixed offset. So a fragment that is loaded as four
//! registers, used as two pairs and carried around a loop is one unit. Joins in the deepest loops come first
//! (aggressive coalescing, after Boissinot et al., "Revisiting Out-of-SSA Translation", 2009: live ranges, no
//! interference graph). A join that would give two values the same register while both are live, or a tuple an
//! unaligned base, is skipped, and costs moves there.

use crate::next_use::{NextUse, Touches};
use crate::operands::{Group, destinations, has_tuple, is_parallel_copy, sources};
use oriole_ori::{BlockId, Cfg, File, Function, Instruction, Loops, Opcode, Pseudo, SourceKind, Value};
use oriole_sass::Class;
use smallvec::SmallVec;
use std::cell::OnceCell;
use std::cmp::Reverse;
use typed_index_collections::{TiSlice, TiVec, ti_vec};

/// A cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClusterId(u32);
oriole_ori::index_of_tables!(ClusterId);

/// A register of a cluster: its values are never live at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlotId(u32);
oriole_ori::index_of_tables!(SlotId);

/// A range of registers that values prefer to share.
#[derive(Clone, Copy, Debug)]
pub struct Cluster {
    /// Its width in registers.
    pub width: u8,
    /// The first of them is a multiple of this.
    pub align: u8,
    /// Its first slot.
    first: SlotId,
    /// It has several values, or one with several definitions: its registers are returned to.
    pub shared: bool,
    /// The outermost loop that carries one of its values to the next iteration.
    pub carried: Option<usize>,
}

/// Preferred register of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Position {
    /// In which cluster.
    pub cluster: ClusterId,
    /// In which of its registers.
    pub offset: u8,
}

/// The clusters of a file.
#[derive(Default)]
pub struct Affinities {
    position: TiVec<Value, Position>,
    /// Every cluster; a value without affinities is a cluster of its own.
    pub clusters: TiVec<ClusterId, Cluster>,
    /// Total count of their slots.
    pub slots: usize,
    /// The first value of each slot, found when something is spilled.
    owners: OnceCell<TiVec<SlotId, Value>>,
}

/// Inputs of the affinities and of the facts about calls.
pub struct Facts<'a> {
    pub function: &'a Function,
    pub file: File,
    pub stack_pointer: Value,
    pub cfg: &'a Cfg,
    pub loops: &'a Loops,
    pub touches: &'a Touches,
    pub next_use: &'a NextUse,
    /// True if a value has one unconditional definition.
    pub single: &'a TiSlice<Value, bool>,
}

impl Affinities {
    /// Joins the values of a file, if they are to be joined.
    pub fn new(facts: &Facts<'_>, joined: bool) -> Affinities {
        let mut joiner = Joiner {
            ranges: live_ranges(facts),
            node: ti_vec![None; facts.function.values.len()],
            nodes: TiVec::new(),
        };
        let mut order: Vec<BlockId> = facts.cfg.order().to_vec();
        order.sort_by_key(|&block| Reverse(facts.loops.depth(block)));
        for block in order.into_iter().filter(|_| joined) {
            for instruction in &facts.function.block(block).instructions {
                joiner.instruction(instruction, facts);
            }
        }
        joiner.finish(facts)
    }

    /// The preferred position of a value.
    #[inline]
    pub fn position(&self, value: Value) -> Position {
        self.position[value]
    }

    /// The preferred slot of a value, if its cluster is shared.
    #[inline]
    pub fn shared_slot(&self, value: Value) -> Option<SlotId> {
        let position = self.position[value];
        self.clusters[position.cluster].shared.then(|| self.slot(position))
    }

    /// The representative of all values that share a slot. Since they are never live at once, one word of the frame
    /// serves them all, and a copy between two spilled ones is not code.
    pub fn owner(&self, value: Value) -> Value {
        let owners = self.owners.get_or_init(|| {
            // A slot without a value is a hole in a tuple: its entry is never read.
            let mut owners = ti_vec![Value(u32::MAX); self.slots];
            for (value, &position) in self.position.iter_enumerated().rev() {
                owners[self.slot(position)] = value;
            }
            owners
        });
        owners[self.slot(self.position[value])]
    }

    /// The slot of a position.
    #[inline]
    pub fn slot(&self, position: Position) -> SlotId {
        let SlotId(first) = self.clusters[position.cluster].first;
        SlotId(first + u32::from(position.offset))
    }
}

/// Live range: half-open intervals in ascending order. An instruction reads at its odd position, and its results
/// begin there.
type Ranges = SmallVec<[(u32, u32); 2]>;

/// Whether any interval of one list intersects one of the other.
fn intersect(one: &Ranges, other: &Ranges) -> bool {
    let (few, many) = if one.len() < other.len() { (one, other) } else { (other, one) };
    few.iter().any(|&(start, end)| {
        let at = many.partition_point(|known| known.1 <= start);
        many.get(at).is_some_and(|known| known.0 < end)
    })
}

/// Adds an interval that intersects none; merges it with adjacent ones.
fn add_interval(ranges: &mut Ranges, (start, end): (u32, u32)) {
    let from = ranges.partition_point(|known| known.1 < start);
    let to = from + ranges[from..].iter().take_while(|known| known.0 <= end).count();
    if from == to {
        ranges.insert(from, (start, end));
        return;
    }
    ranges[from] = (ranges[from].0.min(start), ranges[to - 1].1.max(end));
    ranges.drain(from + 1..to);
}

/// The live ranges of all values of the file.
fn live_ranges(facts: &Facts<'_>) -> TiVec<Value, Ranges> {
    const DEAD: u32 = u32::MAX;
    let mut ranges: TiVec<Value, Ranges> = ti_vec![Ranges::new(); facts.function.values.len()];
    let mut end: TiVec<Value, u32> = ti_vec![DEAD; facts.function.values.len()];
    let mut first = 0;
    for &block in facts.cfg.order() {
        let touches = facts.touches.of(block);
        let length = touches.len() as u32;
        for &(value, _) in facts.next_use.at_exit(block) {
            end[value] = 2 * (first + length);
        }
        for (index, touch) in touches.enumerate().rev() {
            let here = 2 * (first + index as u32) + 1;
            for &value in touch.definitions.iter().filter(|_| !touch.partial) {
                let last = std::mem::replace(&mut end[value], DEAD);
                add_interval(&mut ranges[value], (here, if last == DEAD { here + 1 } else { last }));
            }
            for value in touch.kept() {
                if end[value] == DEAD {
                    end[value] = here;
                }
            }
        }
        for &(value, _) in facts.next_use.at_entry(block) {
            let last = std::mem::replace(&mut end[value], DEAD);
            if last != DEAD {
                add_interval(&mut ranges[value], (2 * first, last));
            }
        }
        first += length;
    }
    ranges
}

/// A node of the forest of clusters: a value, or the frame of a tuple.
struct Node {
    parent: NodeId,
    /// Its offset from the parent.
    offset: u8,
    /// Of a root: the alignment of its first register.
    align: u8,
    /// For a root: the live ranges in each of its registers.
    slots: SmallVec<[Ranges; 1]>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct NodeId(u32);
oriole_ori::index_of_tables!(NodeId);

struct Joiner {
    /// Live ranges of values without a node.
    ranges: TiVec<Value, Ranges>,
    node: TiVec<Value, Option<NodeId>>,
    nodes: TiVec<NodeId, Node>,
}

impl Joiner {
    /// The joins that an instruction suggests.
    fn instruction(&mut self, instruction: &Instruction, facts: &Facts<'_>) {
        let &Facts { function, file, stack_pointer, .. } = facts;
        if is_parallel_copy(instruction) || instruction.opcode == Opcode::Pseudo(Pseudo::Copy) {
            for (to, from) in instruction.destinations.iter().zip(&instruction.sources) {
                if let (Some(&to), SourceKind::Values(from)) = (to.values.first(), &from.kind)
                    && function.file(to) == file
                    && function.file(from[0]) == file
                    && from[0] != stack_pointer
                {
                    self.share(to, from[0]);
                }
            }
            return;
        }
        if !has_tuple(instruction) {
            return;
        }
        let writes = destinations(instruction, file);
        let reads = sources(function, instruction, file, stack_pointer);
        for group in writes.iter().chain(&reads).filter(|group| group.values.len() > 1) {
            self.tuple(group);
        }
        // The MMA accumulates, best in place.
        let result = writes.first().filter(|group| group.values.len() > 1);
        if let (Some(result), true) = (result, is_matrix(instruction))
            && let Some(old) = reads.iter().rev().find(|read| read.values.len() == result.values.len())
        {
            result.values.iter().zip(old.values).for_each(|(&new, &old)| self.share(new, old));
        }
    }

    /// Two values prefer the same register.
    fn share(&mut self, one: Value, other: Value) {
        let (one, other) = (self.node(one), self.node(other));
        self.join(one, other, 0);
    }

    /// Values prefer consecutive registers.
    fn tuple(&mut self, group: &Group<'_>) {
        let Ok(width) = u8::try_from(group.values.len()) else { return };
        let slots = (0..width).map(|_| Ranges::new()).collect();
        let frame = self.new_node(group.align, slots);
        for (&value, offset) in group.values.iter().zip(0..) {
            let member = self.node(value);
            self.join(frame, member, offset);
        }
    }

    fn new_node(&mut self, align: u8, slots: SmallVec<[Ranges; 1]>) -> NodeId {
        let parent = self.nodes.next_key();
        self.nodes.push(Node { parent, offset: 0, align, slots });
        parent
    }

    fn node(&mut self, value: Value) -> NodeId {
        if let Some(node) = self.node[value] {
            return node;
        }
        let slots = std::iter::once(std::mem::take(&mut self.ranges[value])).collect();
        let node = self.new_node(1, slots);
        self.node[value] = Some(node);
        node
    }

    /// The root of a node, and its offset from there.
    fn root(&mut self, node: NodeId) -> (NodeId, u8) {
        let (mut root, mut offset) = (node, 0);
        while self.nodes[root].parent != root {
            offset += self.nodes[root].offset;
            root = self.nodes[root].parent;
        }
        // The path is compressed.
        let (mut at, mut left) = (node, offset);
        while at != root {
            let Node { parent, offset: step, .. } = self.nodes[at];
            (self.nodes[at].parent, self.nodes[at].offset) = (root, left);
            left -= step;
            at = parent;
        }
        (root, offset)
    }

    /// Joins two nodes at a fixed register distance, if possible.
    fn join(&mut self, one: NodeId, other: NodeId, distance: u8) {
        let ((host, ahead), (guest, behind)) = (self.root(one), self.root(other));
        if host == guest {
            return;
        }
        let width = |node: NodeId| self.nodes[node].slots.len();
        let at = i16::from(ahead) + i16::from(distance) - i16::from(behind);
        let turned = at < 0 || (at == 0 && width(guest) > width(host));
        let (host, guest, at) = if turned { (guest, host, -at) } else { (host, guest, at) };
        let at = at as usize;
        let fits = at + width(guest) <= width(host)
            && at.is_multiple_of(usize::from(self.nodes[guest].align))
            && self.nodes[guest].align <= self.nodes[host].align;
        if !fits {
            return;
        }
        let (slots, guests) = (&self.nodes[host].slots, &self.nodes[guest].slots);
        if slots[at..].iter().zip(guests).any(|(slot, guest)| intersect(slot, guest)) {
            return;
        }
        let guests = std::mem::take(&mut self.nodes[guest].slots);
        (self.nodes[guest].parent, self.nodes[guest].offset) = (host, at as u8);
        for (slot, mut ranges) in self.nodes[host].slots[at..].iter_mut().zip(guests) {
            if ranges.len() > slot.len() {
                std::mem::swap(slot, &mut ranges);
            }
            ranges.into_iter().for_each(|interval| add_interval(slot, interval));
        }
    }

    /// Numbers the clusters and their slots.
    fn finish(mut self, facts: &Facts<'_>) -> Affinities {
        let mut all = Affinities::default();
        let mut number: TiVec<NodeId, Option<ClusterId>> = ti_vec![None; self.nodes.len()];
        for value in facts.function.values.keys() {
            let position = match self.node[value] {
                None => Position { cluster: all.add(1, 1, !facts.single[value]), offset: 0 },
                Some(node) => {
                    let (root, offset) = self.root(node);
                    let Node { align, slots, .. } = &self.nodes[root];
                    let cluster =
                        *number[root].get_or_insert_with(|| all.add(slots.len() as u8, *align, true));
                    Position { cluster, offset }
                }
            };
            all.position.push(position);
        }
        // Outer loops precede inner ones.
        for (index, lap) in facts.loops.loops.iter().enumerate() {
            for &(value, _) in facts.next_use.at_entry(lap.header) {
                if !facts.single[value] {
                    let cluster = all.position[value].cluster;
                    all.clusters[cluster].carried.get_or_insert(index);
                }
            }
        }
        all
    }
}

impl Affinities {
    fn add(&mut self, width: u8, align: u8, shared: bool) -> ClusterId {
        let first = SlotId(self.slots as u32);
        self.slots += usize::from(width);
        self.clusters.push_and_get_key(Cluster { width, align, first, shared, carried: None })
    }
}

/// Whether an instruction multiplies matrices.
fn is_matrix(instruction: &Instruction) -> bool {
    let Opcode::Sass(op) = instruction.opcode else { return false };
    matches!(
        op.info().class(&instruction.mods),
        Class::Matrix88
            | Class::MatrixOne
            | Class::MatrixOneInteger
            | Class::MatrixTwo
            | Class::MatrixDouble
            | Class::Group
    )
}
