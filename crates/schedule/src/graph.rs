//! The dependency graph of a block: its structure, the order of memory accesses, and its construction for a block of
//! Ori.

use crate::dense_ids::DenseIds;
use oriole_latency::Class;
use oriole_ori::effects::{
    gathers_warp, is_aligned, is_convergent, is_exchange, is_pure, is_removable, register_grant,
};
use oriole_ori::{Instruction, MemoryInfo, Opcode, Pseudo, Space, Value};
use oriole_sass::{Mod, Mods, Op};
use smallvec::SmallVec;

/// Why one instruction must follow another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Node {
    /// It reads a result.
    Read,
    /// Order without a read.
    Order,
}

/// Edges with cycles, by instruction of the block.
#[derive(Default)]
pub struct Graph {
    /// By their ends, and for each instruction where its edges begin.
    before: Vec<(u32, u32)>,
    before_at: Vec<u32>,
    /// By their starts.
    after: Vec<(u32, u32)>,
    after_at: Vec<u32>,
}

/// Edges reserved for each instruction before the list grows.
const EDGES: usize = 3;

/// The edges of a graph, gathered instruction by instruction.
pub struct Edges {
    list: Vec<(u32, u32)>,
    at: Vec<u32>,
}

impl Edges {
    /// An empty list, with room for this many instructions.
    pub fn with_capacity(instructions: usize) -> Edges {
        Edges { list: Vec::with_capacity(EDGES * instructions), at: Vec::with_capacity(instructions + 1) }
    }

    /// Edges added from now on lead to the next instruction.
    pub fn next_node(&mut self) {
        self.at.push(self.list.len() as u32);
    }

    /// Adds an edge from an earlier instruction to the current one, with the minimum distance; there must be none yet
    /// between the two.
    pub fn add(&mut self, from: u32, distance: u32) {
        self.list.push((from, distance));
    }

    /// The graph of these edges.
    pub fn into_graph(mut self) -> Graph {
        let count = self.at.len();
        self.next_node();
        let mut after_at = vec![0u32; count + 1];
        self.list.iter().for_each(|&(from, _)| after_at[from as usize + 1] += 1);
        for node in 0..count {
            after_at[node + 1] += after_at[node];
        }
        let mut after = vec![(0, 0); self.list.len()];
        let mut filled = after_at.clone();
        for to in 0..count {
            for &(from, distance) in &self.list[self.at[to] as usize..self.at[to + 1] as usize] {
                let place = &mut filled[from as usize];
                after[*place as usize] = (to as u32, distance);
                *place += 1;
            }
        }
        Graph { before: self.list, before_at: self.at, after, after_at }
    }
}

impl Graph {
    /// Predecessors, with the minimum distance; sorted.
    pub fn before(&self, node: u32) -> &[(u32, u32)] {
        let at = node as usize;
        &self.before[self.before_at[at] as usize..self.before_at[at + 1] as usize]
    }

    /// Successors, with the minimum distance; sorted.
    pub fn after(&self, node: u32) -> &[(u32, u32)] {
        let at = node as usize;
        &self.after[self.after_at[at] as usize..self.after_at[at + 1] as usize]
    }

    /// Predecessor count of each instruction.
    pub fn before_counts(&self) -> Vec<u32> {
        self.before_at.windows(2).map(|at| at[1] - at[0]).collect()
    }

    /// Successor count of each instruction.
    pub fn after_counts(&self) -> Vec<u32> {
        self.after_at.windows(2).map(|at| at[1] - at[0]).collect()
    }
}

/// Ordering class of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Values only.
    Free,
    /// Reads or writes memory.
    Memory(MemoryInfo),
    /// Lanes exchange values: unordered with other exchanges and memory.
    Exchange,
    /// Several lanes together: ordered with other such instructions.
    Together,
    /// Thread synchronization: ordered with everything but value computations.
    Meeting,
    /// Nothing passes.
    Wall,
}

/// Motion of instructions across a barrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sides {
    /// Each instruction stays on its side.
    Kept,
    /// Value computations may move across block barriers, memory fences and signals.
    Open,
}

/// True for instructions that order memory and threads, but not values: block barriers, fences, signals. Waits for
/// `wgmma` do not count: the results are available only after them.
fn is_open(instruction: &Instruction) -> bool {
    let Opcode::Sass(op) = instruction.opcode else { return false };
    let class = op.info().class(&instruction.mods);
    matches!(class, Class::Fence | Class::Bulk | Class::Sync)
        && !matches!(op, Op::WARPGROUP | Op::WARPGROUPSET)
        && instruction.call.is_none()
        && register_grant(instruction).is_none()
        // MMAs need the whole warp.
        && !gathers_warp(instruction)
}

/// True if all that it does is to compute with values.
pub fn is_value_only(instruction: &Instruction) -> bool {
    matches!(instruction.opcode, Opcode::Pseudo(_)) || is_pure(instruction) || is_aligned(instruction)
}

fn kind(instruction: &Instruction) -> Kind {
    let wall = match instruction.opcode {
        Opcode::Sass(op) => matches!(
            op.info().class(&instruction.mods),
            Class::Fence | Class::Control | Class::Bulk | Class::Sync | Class::Group
        ),
        Opcode::Pseudo(
            Pseudo::Copy
            | Pseudo::ParallelCopy
            | Pseudo::FrameAddress
            | Pseudo::CallerFrame
            | Pseudo::Undefined,
        ) => {
            return Kind::Free;
        }
        // Calls and parameters.
        Opcode::Pseudo(_) => true,
    };
    // Code that uses many registers stays on its side of the grant.
    if wall || instruction.call.is_some() || register_grant(instruction).is_some() {
        return Kind::Wall;
    }
    if let Some(memory) = instruction.memory {
        let Opcode::Sass(op) = instruction.opcode else { return Kind::Memory(memory) };
        return Kind::Memory(as_ordered(op, &instruction.mods, memory));
    }
    if is_aligned(instruction) {
        return Kind::Free;
    }
    if is_exchange(instruction) {
        return Kind::Exchange;
    }
    if is_convergent(instruction) {
        return Kind::Together;
    }
    if is_pure(instruction) || is_removable(instruction) { Kind::Free } else { Kind::Wall }
}

/// The access for ordering. Kernel-constant memory is not written while the kernel runs, wherever it is.
pub fn as_ordered(op: Op, mods: &Mods, memory: MemoryInfo) -> MemoryInfo {
    let is_constant = op == Op::LDG && mods.has(Mod::CONSTANT) && !memory.ordered;
    MemoryInfo { space: if is_constant { Space::Constant } else { memory.space }, ..memory }
}

/// True if two accesses may overlap and one of them writes, or their order is guaranteed.
fn conflict(a: &MemoryInfo, b: &MemoryInfo) -> bool {
    if a.space == Space::Constant || b.space == Space::Constant {
        return false;
    }
    if a.ordered || b.ordered {
        return true;
    }
    if !a.writes && !b.writes {
        return false;
    }
    let generic = |x: Space, y: Space| {
        x == Space::Generic && matches!(y, Space::Generic | Space::Global | Space::Shared | Space::Local)
    };
    a.space == b.space || generic(a.space, b.space) || generic(b.space, a.space)
}

/// Accesses of one kind since the last that conflicted with all of them.
#[derive(Default)]
pub struct Accesses {
    groups: Vec<(MemoryInfo, Vec<u32>)>,
}

impl Accesses {
    /// Adds an access; returns the accesses that it must follow. A write replaces the accesses of its own space that
    /// it follows: later accesses that follow it follow them too.
    pub fn add(&mut self, memory: MemoryInfo, node: u32) -> Vec<u32> {
        let mut before = Vec::new();
        for (other, nodes) in &mut self.groups {
            if conflict(other, &memory) {
                before.extend_from_slice(nodes);
                // Everything that conflicts with the old one conflicts with the new one too.
                let covers = other.space == memory.space && (memory.writes || memory.ordered);
                if covers && (memory.ordered || !other.ordered) {
                    nodes.clear();
                }
            }
        }
        match self.groups.iter_mut().find(|(m, _)| *m == memory) {
            Some((_, nodes)) => nodes.push(node),
            None => self.groups.push((memory, vec![node])),
        }
        before
    }
}

/// Order of instructions apart from values: memory, collective operations, side effects.
struct ProgramOrder {
    sides: Sides,
    /// The last wall that no value passes, and the later instructions that may move across others.
    closed: Option<u32>,
    since_closed: Vec<u32>,
    memory: Accesses,
    together: Option<u32>,
    wall: Option<u32>,
    since_wall: Vec<u32>,
}

impl ProgramOrder {
    fn new(sides: Sides) -> ProgramOrder {
        ProgramOrder {
            sides,
            closed: None,
            since_closed: Vec::new(),
            memory: Accesses::default(),
            together: None,
            wall: None,
            since_wall: Vec::new(),
        }
    }

    /// Adds an instruction; `edges` get those before it that it must follow.
    fn add(&mut self, instruction: &Instruction, node: u32, edges: &mut Vec<(u32, Node)>) {
        let kind = kind(instruction);
        let passes = kind == Kind::Exchange || kind == Kind::Free && is_value_only(instruction);
        if self.sides == Sides::Open && passes {
            edges.extend(self.closed.map(|from| (from, Node::Order)));
            self.since_closed.push(node);
            return;
        }
        let mut together = false;
        match kind {
            Kind::Free | Kind::Exchange => {}
            Kind::Memory(info) => {
                edges.extend(self.memory.add(info, node).into_iter().map(|from| (from, Node::Order)));
                together = is_convergent(instruction) && !is_aligned(instruction);
            }
            Kind::Together => together = true,
            Kind::Meeting | Kind::Wall => {
                edges.extend(self.since_wall.drain(..).map(|from| (from, Node::Order)));
            }
        }
        if together {
            edges.extend(self.together.replace(node).map(|from| (from, Node::Order)));
        }
        edges.extend(self.wall.map(|from| (from, Node::Order)));
        if kind == Kind::Wall {
            if !is_open(instruction) {
                edges.extend(self.since_closed.drain(..).map(|from| (from, Node::Order)));
                self.closed = Some(node);
                self.together = None;
            } else if self.sides == Sides::Kept {
                self.together = None;
            }
            self.wall = Some(node);
            self.memory = Accesses::default();
        } else {
            self.since_wall.push(node);
        }
    }
}

impl Graph {
    /// Builds the graph; `cycles` gives the distance of two instructions. `ids` are empty before and after.
    pub fn new(
        instructions: &[Instruction],
        sides: Sides,
        ids: &mut DenseIds,
        cycles: impl Fn(&Instruction, &Instruction, Node) -> u32,
    ) -> Graph {
        let mut graph = Edges::with_capacity(instructions.len());
        // For each value of the block the last writer, and the readers since.
        let mut values: Vec<(Option<u32>, SmallVec<[u32; 4]>)> = Vec::with_capacity(instructions.len());
        let mut order = ProgramOrder::new(sides);
        let mut edges: Vec<(u32, Node)> = Vec::new();
        for (index, instruction) in instructions.iter().enumerate() {
            let node = index as u32;
            graph.next_node();
            edges.clear();
            let mut number = |v: Value| {
                let number = ids.id(v) as usize;
                if number == values.len() {
                    values.push((None, SmallVec::new()));
                }
                number
            };
            instruction.for_each_use(|v| {
                number(v);
            });
            instruction.for_each_definition(|v| {
                number(v);
            });
            let at = |v: Value| ids.known(v).map_or(0, |number| number as usize);
            let copies = instruction.is_copy();
            instruction.for_each_use(|v| {
                let (writer, readers) = &values[at(v)];
                edges.extend(writer.map(|from| (from, Node::Read)));
                // After its other reads a copy needs no move: the register continues as that of the new value.
                if copies {
                    edges.extend(readers.iter().map(|&from| (from, Node::Order)));
                }
            });
            instruction.for_each_definition(|v| {
                let (writer, readers) = &values[at(v)];
                edges.extend(writer.map(|from| (from, Node::Order)));
                edges.extend(readers.iter().map(|&from| (from, Node::Order)));
            });
            order.add(instruction, node, &mut edges);
            edges.sort_unstable_by_key(|&(from, why)| (from, why == Node::Order));
            edges.dedup_by_key(|(from, _)| *from);
            for &(from, why) in &edges {
                if from != node {
                    graph.add(from, cycles(&instructions[from as usize], instruction, why));
                }
            }
            instruction.for_each_use(|v| values[at(v)].1.push(node));
            instruction.for_each_definition(|v| {
                let (writer, readers) = &mut values[at(v)];
                *writer = Some(node);
                readers.clear();
            });
            // The old value of a partial definition is read.
            if instruction.is_partial() {
                instruction.for_each_definition(|v| values[at(v)].1.push(node));
            }
        }
        ids.clear();
        graph.into_graph()
    }
}
