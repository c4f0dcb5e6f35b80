//! Moves on edges: where a block ends with values in other locations than its successor expects.

use crate::linear_scan::{BlockStates, InOrder, Location, NONE, Registers, ScanInputs};
use crate::moves::Emitter;
use crate::places::{From, Move, Place};
use crate::set::RegisterSet;
use crate::work::Work;
use oriole_ori::edges::end_origins;
use oriole_ori::effects::is_transfer;
use oriole_ori::{Block, BlockId, Instruction, Origin, SourceKind, Table, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// Puts the moves in: at the end of a block with one successor, else in a new block on the edge.
pub fn repair(work: &mut Work, registers: &Registers, inputs: &ScanInputs, states: &BlockStates) {
    let ends = end_origins(&work.function, inputs.graph.cfg());
    for &block in inputs.graph.cfg().order() {
        let successors = work.function.block(block).successors.clone();
        let mut done: FxHashSet<BlockId> = FxHashSet::default();
        let mut split: Vec<(BlockId, BlockId)> = Vec::new();
        for &successor in &successors {
            if !done.insert(successor) {
                continue;
            }
            let Some(entry) = &states.entry[successor] else { continue };
            let exit = &states.exit[block];
            let plan = Plan::new(entry, exit, inputs, states, registers);
            if plan.is_empty() {
                continue;
            }
            let tail = tail_start(&work.function.block(block).instructions);
            let length = work.function.block(block).instructions.len();
            let alone = done.len() == 1 && successors.iter().all(|s| *s == successor);
            let plain = length - tail <= 1
                && work.function.block(block).instructions[tail..].iter().all(|i| i.guard.is_none());
            if alone && plain {
                let mut instructions = std::mem::take(&mut work.function.blocks[block].instructions);
                let mut marks = std::mem::take(&mut work.inserted[block]);
                let end = instructions.split_off(tail);
                let end_marks = marks.split_off(tail);
                let origin = end.first().map_or(ends[block], |first| first.origin);
                plan.emit(work, registers, origin, &mut instructions, &mut marks);
                instructions.extend(end);
                marks.extend(end_marks);
                work.function.blocks[block].instructions = instructions;
                work.inserted[block] = marks;
            } else {
                split.push((successor, edge_block(work, registers, ends[block], successor, &plan)));
            }
        }
        if !split.is_empty() {
            redirect(work, block, split.into_iter().collect());
        }
    }
}

/// Index of the first of the transfers that end a block.
pub fn tail_start(instructions: &[Instruction]) -> usize {
    instructions.iter().rposition(|i| !is_transfer(i)).map_or(0, |at| at + 1)
}

/// Moves of one edge.
struct Plan {
    /// Owner of the slot, value, register.
    stores: Vec<(Value, Value, u8)>,
    moves: Vec<Move>,
    scratch: RegisterSet,
}

impl Plan {
    fn new(
        entry: &[(Value, Location)],
        exit: &[(Value, Location)],
        inputs: &ScanInputs,
        states: &BlockStates,
        registers: &Registers,
    ) -> Plan {
        let mut plan = Plan { stores: Vec::new(), moves: Vec::new(), scratch: RegisterSet::default() };
        let mut busy = RegisterSet::default();
        for (_, at) in exit {
            if at.register != NONE {
                busy.insert(at.register);
            }
        }
        let mut found = InOrder::new(exit);
        for &(v, wanted) in entry {
            let stored = states.stored_at_definition[v];
            let rematerialization = &inputs.rematerializations[v];
            let found = found.location(v);
            if wanted.register != NONE {
                busy.insert(wanted.register);
            }
            // A value without a location is undefined on this path, unless it can be rematerialized.
            let found = match (found, rematerialization) {
                (Some(found), _) => found,
                (None, Some(_)) => Location { register: NONE, in_memory: false },
                (None, None) => continue,
            };
            if wanted.in_memory
                && !found.in_memory
                && !stored
                && found.register != NONE
                && rematerialization.is_none()
            {
                plan.stores.push((inputs.affinities.owner(v), v, found.register));
            }
            if wanted.register == NONE || wanted.register == found.register {
                continue;
            }
            let from = if found.register != NONE {
                From::Place(Place::Register(found.register))
            } else if let Some(rematerialization) = rematerialization {
                From::Made(rematerialization.clone())
            } else {
                From::Place(Place::Slot(inputs.affinities.owner(v)))
            };
            plan.moves.push(Move { to: Place::Register(wanted.register), into: v, from, value: v });
        }
        // The register count may change along an edge.
        let usable = match &inputs.grants {
            Some(grants) => registers.usable.within(RegisterSet::range(0, grants.least)),
            None => registers.usable,
        };
        plan.scratch = usable.without(busy);
        plan
    }

    fn is_empty(&self) -> bool {
        self.stores.is_empty() && self.moves.is_empty()
    }

    fn emit(
        &self,
        work: &mut Work,
        registers: &Registers,
        origin: Origin,
        out: &mut Vec<Instruction>,
        marks: &mut Vec<bool>,
    ) {
        let mut emitter = Emitter { work, file: registers.file, origin, out, marks };
        for &(owner, v, from) in &self.stores {
            emitter.store(owner, v, from);
        }
        emitter.parallel(self.moves.clone(), self.scratch);
    }
}

/// Makes a block for an edge and inserts the moves there; the edge does not lead through it yet.
fn edge_block(work: &mut Work, registers: &Registers, origin: Origin, to: BlockId, plan: &Plan) -> BlockId {
    let new = work.function.blocks.next_key();
    let mut instructions = Vec::new();
    let mut marks = Vec::new();
    plan.emit(work, registers, origin, &mut instructions, &mut marks);
    let mut jump = Instruction::new(oriole_sass::Op::BRA, origin);
    jump.sources.push(oriole_ori::Source::plain(SourceKind::Block(to)));
    instructions.push(jump);
    marks.push(true);
    work.function.blocks.push(Block {
        instructions,
        successors: smallvec::smallvec![to],
        ..Block::default()
    });
    work.inserted.push(marks);
    work.blocks.push(None);
    new
}

/// Leads edges of a block through the blocks that were made for them: all at once, since a jump through a table may
/// have as many edges as the function has blocks.
fn redirect(work: &mut Work, from: BlockId, through: FxHashMap<BlockId, BlockId>) {
    let redirect = |to: &mut BlockId| {
        if let Some(&new) = through.get(to) {
            *to = new;
        }
    };
    let source = &mut work.function.blocks[from];
    let tail = tail_start(&source.instructions);
    for operand in source.instructions[tail..].iter_mut().flat_map(|i| &mut i.sources) {
        if let SourceKind::Block(to) = &mut operand.kind {
            redirect(to);
        }
    }
    let through_table = source.successors.len() > 2
        || source.instructions[tail..].iter().any(|i| {
            matches!(i.opcode, oriole_ori::Opcode::Sass(oriole_sass::Op::BRX | oriole_sass::Op::BRXU))
        });
    if through_table {
        let successors: FxHashSet<BlockId> = source.successors.iter().copied().collect();
        // The tables that serve this block alone are those that name only its successors.
        for table in &mut work.function.tables {
            if let Table::Targets(targets) = table
                && targets.iter().all(|target| successors.contains(target))
            {
                targets.iter_mut().for_each(redirect);
            }
        }
    }
    source.successors.iter_mut().for_each(redirect);
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_ori::parse::parse;

    #[test]
    fn a_jump_through_a_table_is_redirected_whole() {
        let text = "kernel params=0 barriers=0
  table t0 targets b1 b2 b1 b3
  table t1 targets b2 b4
  value r0
b0: -> b1 b2 b3
  BRX {r0 r1}, kernel_start ; 0
b1: -> b4
  BRA b4 ; 1
b2: -> b4
  BRA b4 ; 2
b3: -> b4
  BRA b4 ; 3
b4:
  EXIT ; 4
";
        let function = parse(text).expect("test input parses");
        let mut work = Work::new(function, Value(0), 0);
        let through = [(BlockId(1), BlockId(3)), (BlockId(3), BlockId(4))];
        redirect(&mut work, BlockId(0), through.into_iter().collect());
        // Each edge is led through its own block and no further, and the table of another jump stays.
        let expected =
            text.replace("b1 b2 b1 b3", "b3 b2 b3 b4").replace("b0: -> b1 b2 b3", "b0: -> b3 b2 b4");
        let expected = expected.replace("  value r0\n", "");
        let lines = |text: &str| {
            text.lines().filter(|line| !line.contains("value ")).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(lines(&work.function.to_string()), lines(&expected));
    }
}
