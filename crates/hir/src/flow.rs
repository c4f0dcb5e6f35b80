//! The control flow of a body: blocks of instructions, and which follow which.
//!
//! For checks that ask which instructions may run before another. It knows nothing of registers.

use crate::body::table_of;
use la_arena::ArenaMap;
use oriole_ptx::Opcode;

use crate::{Body, Instruction, LabelId, Operand, Statement, Table};

/// A run of instructions that is entered at its first only.
#[derive(Clone, Debug, Default)]
pub(crate) struct Block {
    /// Ordinal of the first instruction.
    pub first: u32,
    /// Number of instructions.
    pub count: u32,
    /// The blocks that may run after it.
    pub successors: Vec<u32>,
    /// The blocks that may run before it. Unreachable blocks are not among them.
    pub predecessors: Vec<u32>,
    /// Whether control reaches it.
    pub reached: bool,
}

/// The blocks of a body, in text order; the first is the entry.
pub(crate) struct Flow<'a> {
    /// Instructions by ordinal.
    pub instructions: Vec<&'a Instruction>,
    /// The blocks.
    pub blocks: Vec<Block>,
}

/// The effect of an instruction on control flow.
enum Jump {
    /// Control falls through.
    None,
    /// Control may go to labels; whether it may also fall through.
    Labels(Vec<LabelId>, bool),
    /// The thread ends, or returns.
    End,
}

fn jump(body: &Body, instruction: &Instruction) -> Jump {
    let guarded = instruction.guard.is_some();
    match instruction.opcode {
        Opcode::Bra | Opcode::Brx => {
            let mut labels = Vec::new();
            for operand in &instruction.operands {
                match operand {
                    Operand::Label(label) => labels.push(*label),
                    Operand::Table(table) => {
                        if let Table::Labels(list) = &body.tables[*table] {
                            labels.extend(list);
                        }
                    }
                    _ => {}
                }
            }
            Jump::Labels(labels, guarded)
        }
        Opcode::Ret | Opcode::Exit | Opcode::Trap if !guarded => Jump::End,
        Opcode::Call if !guarded => match instruction.operands.iter().find_map(|operand| match operand {
            Operand::Function(id) => Some(body.functions[*id].signature.noreturn),
            Operand::Prototype(id) => Some(body.prototypes[*id].noreturn),
            _ => None,
        }) {
            Some(true) => Jump::End,
            _ => Jump::None,
        },
        _ => Jump::None,
    }
}

impl<'a> Flow<'a> {
    pub fn new(body: &'a Body) -> Flow<'a> {
        let mut instructions: Vec<&Instruction> = Vec::new();
        let mut blocks = vec![Block::default()];
        let mut starts: ArenaMap<LabelId, u32> = table_of(&body.labels, 0);
        // For each block how its last instruction leaves it.
        let mut leaves = Vec::new();
        for statement in &body.statements {
            let ordinal = instructions.len() as u32;
            let open = blocks.len() - 1;
            match statement {
                Statement::Label(label) => {
                    if blocks[open].first < ordinal {
                        blocks.push(Block { first: ordinal, ..Block::default() });
                        leaves.push(Jump::None);
                    }
                    starts[*label] = blocks.len() as u32 - 1;
                }
                Statement::Instruction(instruction) => {
                    instructions.push(instruction);
                    let jump = jump(body, instruction);
                    if !matches!(jump, Jump::None) {
                        blocks.push(Block { first: ordinal + 1, ..Block::default() });
                        leaves.push(jump);
                    }
                }
                Statement::Pragma(_) => {}
            }
        }
        leaves.push(Jump::End);
        let count = blocks.len() as u32;
        for (at, leave) in leaves.into_iter().enumerate() {
            let next = at as u32 + 1;
            let end = blocks.get(at + 1).map_or(instructions.len() as u32, |block| block.first);
            let block = &mut blocks[at];
            block.count = end - block.first;
            block.successors = match leave {
                Jump::None => vec![next],
                Jump::Labels(labels, goes_on) => {
                    let behind = goes_on.then_some(next);
                    labels.iter().map(|&label| starts[label]).chain(behind).collect()
                }
                Jump::End => Vec::new(),
            };
            block.successors.retain(|&block| block < count);
        }
        let mut flow = Flow { instructions, blocks };
        flow.reach();
        flow
    }

    /// Marks reachable blocks, and enters the predecessors.
    fn reach(&mut self) {
        let mut open = vec![0u32];
        self.blocks[0].reached = true;
        while let Some(at) = open.pop() {
            for successor in self.blocks[at as usize].successors.clone() {
                let block = &mut self.blocks[successor as usize];
                block.predecessors.push(at);
                if !std::mem::replace(&mut block.reached, true) {
                    open.push(successor);
                }
            }
        }
    }

    /// The instructions of a block, with their ordinals.
    pub fn block(&self, at: usize) -> impl Iterator<Item = (u32, &'a Instruction)> + '_ {
        let Block { first, count, .. } = self.blocks[at];
        (first..first + count).map(|ordinal| (ordinal, self.instructions[ordinal as usize]))
    }
}
