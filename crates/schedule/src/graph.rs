//! The dependency graph of a block: its shape, the order of memory accesses, and how it is built for a block of Ori.

use oriole_latency::{Class, class};
use oriole_ori::effects::{is_convergent, is_pure, is_removable};
use oriole_ori::{Instruction, MemoryInfo, Opcode, Pseudo, Space, Value};
use rustc_hash::FxHashMap;

/// Why one instruction must follow another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Node {
    /// It reads a result.
    Read,
    /// Only the order counts.
    Order,
}

/// Edges with cycles, by instruction of the block.
pub struct Graph {
    /// Those that must come later, with the least distance.
    pub successors: Vec<Vec<(u32, u32)>>,
    /// How many must come before.
    pub predecessors: Vec<u32>,
}

/// What an instruction is to the order of others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Values only.
    Free,
    /// Reads or writes memory.
    Memory(MemoryInfo),
    /// Several lanes together: in order with its like.
    Together,
    /// Threads meet: in order with everything but values.
    Meeting,
    /// Nothing passes.
    Wall,
}

fn kind(instruction: &Instruction) -> Kind {
    let wall = match instruction.opcode {
        Opcode::Sass(op) => matches!(
            class(op, &instruction.mods),
            Class::Fence | Class::Control | Class::Bulk | Class::Sync | Class::Group
        ),
        Opcode::Pseudo(Pseudo::Copy | Pseudo::ParallelCopy | Pseudo::FrameAddress | Pseudo::Undefined) => {
            return Kind::Free;
        }
        // Calls and parameters.
        Opcode::Pseudo(_) => true,
    };
    if wall || instruction.call.is_some() {
        return Kind::Wall;
    }
    if let Some(memory) = instruction.memory {
        return Kind::Memory(memory);
    }
    if is_convergent(instruction) {
        return Kind::Together;
    }
    if is_pure(instruction) || is_removable(instruction) { Kind::Free } else { Kind::Wall }
}

/// True if two accesses may touch the same bytes and one of them writes, or their order is promised.
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
    /// Adds an access; gives those that it must follow. An access that writes replaces those of its own space which
    /// it follows: whoever comes after it comes after them.
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

impl Graph {
    /// A graph without edges.
    pub fn empty(count: usize) -> Graph {
        Graph { successors: vec![Vec::new(); count], predecessors: vec![0; count] }
    }

    /// Adds an edge; there must be none yet between the two.
    pub fn connect(&mut self, from: u32, to: u32, distance: u32) {
        self.successors[from as usize].push((to, distance));
        self.predecessors[to as usize] += 1;
    }

    /// Builds the graph; `cycles` says how far apart two instructions must be.
    pub fn new(
        instructions: &[Instruction],
        cycles: impl Fn(&Instruction, &Instruction, Node) -> u32,
    ) -> Graph {
        let count = instructions.len();
        let mut graph = Graph::empty(count);
        let mut writer: FxHashMap<Value, u32> = FxHashMap::default();
        let mut readers: FxHashMap<Value, Vec<u32>> = FxHashMap::default();
        let mut memory = Accesses::default();
        let mut together: Option<u32> = None;
        let mut wall: Option<u32> = None;
        let mut since_wall: Vec<u32> = Vec::new();
        for (index, instruction) in instructions.iter().enumerate() {
            let node = index as u32;
            let mut edges: Vec<(u32, Node)> = Vec::new();
            instruction.for_each_use(|v| {
                if let Some(&from) = writer.get(&v) {
                    edges.push((from, Node::Read));
                }
            });
            instruction.for_each_definition(|v| {
                if let Some(&from) = writer.get(&v) {
                    edges.push((from, Node::Order));
                }
                edges.extend(readers.get(&v).into_iter().flatten().map(|&from| (from, Node::Order)));
            });
            match kind(instruction) {
                Kind::Free => {}
                Kind::Memory(info) => {
                    edges.extend(memory.add(info, node).into_iter().map(|from| (from, Node::Order)));
                    if is_convergent(instruction) {
                        edges.extend(together.map(|from| (from, Node::Order)));
                        together = Some(node);
                    }
                }
                Kind::Together => {
                    edges.extend(together.map(|from| (from, Node::Order)));
                    together = Some(node);
                }
                Kind::Meeting | Kind::Wall => {
                    edges.extend(since_wall.drain(..).map(|from| (from, Node::Order)));
                }
            }
            edges.extend(wall.map(|from| (from, Node::Order)));
            if kind(instruction) == Kind::Wall {
                wall = Some(node);
                memory = Accesses::default();
                together = None;
            } else {
                since_wall.push(node);
            }
            edges.sort_unstable_by_key(|&(from, why)| (from, why == Node::Order));
            edges.dedup_by_key(|(from, _)| *from);
            for (from, why) in edges {
                if from != node {
                    let distance = cycles(&instructions[from as usize], instruction, why);
                    graph.connect(from, node, distance);
                }
            }
            instruction.for_each_use(|v| readers.entry(v).or_default().push(node));
            instruction.for_each_definition(|v| {
                writer.insert(v, node);
                readers.remove(&v);
            });
            // The old value of a guarded result is read.
            if instruction.guard.is_some() {
                instruction.for_each_definition(|v| readers.entry(v).or_default().push(node));
            }
        }
        graph
    }
}
