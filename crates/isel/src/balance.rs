//! Balances the two arithmetic pipes, where rows leave the choice. In each block an instruction goes to the less
//! loaded pipe, unless its producers or consumers are on the other: a result that changes pipes comes a cycle later. A choice by
//! a predicate is a guarded move on one of the pipes, which waits for the predicate three times as long as a select on the other:
//! where such choices make up the longest chain of a block, and no unit is busy longer, they are selects.

use crate::chains::{Chain, Cost, Reads, Step, for_each_read};
use crate::template::{Guarding, Template};
use oriole_latency::{Model, Unit};
use oriole_ori::pattern::{Pattern, Pipe, RowId, Site, Tree};
use oriole_ori::{Assignment, Block, File, Function, Instruction, Opcode};
use oriole_sass::{Mods, Op};
use smallvec::SmallVec;

/// A row with its index.
pub type Choice = (RowId, &'static Pattern<Template>);

/// Issue cycles that a neighbour on the same pipe is worth.
const NEIGHBOUR: i32 = 2;

/// Warps of a scheduler that are taken to be at the same block. In the model sorts, which a pipe bounds, lose with two, and with six
/// next to no chain is the longest.
const WARPS: u32 = 4;

/// Times that the longest chain of a block is looked for: choices that are not on it may be on the next one.
const ROUNDS: usize = 8;

/// Parts of a hundred that a block must take less with selects. Less than that is lost again in the schedule.
const GAIN: u32 = 1;

/// Issue cycles on either pipe.
#[derive(Clone, Copy, Default)]
struct Load {
    alu: i32,
    fma: i32,
}

impl Load {
    fn of(model: &Model, op: Op, mods: &Mods) -> Load {
        let busy = model.resources(op, mods);
        Load { alu: i32::from(busy[Unit::Alu as usize]), fma: i32::from(busy[Unit::Fma as usize]) }
    }

    fn add(&mut self, other: Load) {
        self.alu += other.alu;
        self.fma += other.fma;
    }

    fn pipe(self) -> Option<Pipe> {
        match (self.alu, self.fma) {
            (0, 0) => None,
            (alu, fma) => Some(if fma > alu { Pipe::Fma } else { Pipe::Alu }),
        }
    }
}

/// One instruction of the block.
#[derive(Default)]
struct Entry {
    /// Its row on either pipe; `None` if it has none.
    alu: Option<Choice>,
    fma: Option<Choice>,
    on_alu: Load,
    on_fma: Load,
    /// Instructions of the block that it waits for or that wait for it, where there is a choice.
    neighbours: SmallVec<[u32; 4]>,
    /// The pipe that it is on, once that is known.
    pipe: Option<Pipe>,
}

impl Entry {
    fn is_open(&self) -> bool {
        self.alu.map(|choice| choice.0) != self.fma.map(|choice| choice.0)
    }

    /// The row and the pipe that were decided.
    fn decided(&self) -> (Option<Choice>, Pipe) {
        let pipe = self.pipe.unwrap_or(Pipe::Alu);
        (if pipe == Pipe::Fma { self.fma } else { self.alu }, pipe)
    }

    /// Whether it is a choice that became a guarded move, and may be a select.
    fn is_guarded_move(&self) -> bool {
        self.is_open() && guards(self.decided().0)
    }
}

/// The row of an instruction, and the pipe that served it better.
#[derive(Clone, Copy)]
pub struct Decision {
    /// The row.
    pub choice: Choice,
    /// The pipe.
    pub pipe: Pipe,
}

/// The row of each instruction of a block; `None` where no row matches, or where the previous instruction does its
/// work.
pub fn decide(
    tree: &Tree<Template>,
    model: &Model,
    function: &Function,
    assignment: &Assignment,
    block: &Block,
    alternatives: bool,
) -> Vec<Option<Decision>> {
    let mut entries: Vec<Entry> = Vec::with_capacity(block.instructions.len());
    let mut load = Load::default();
    let mut covered = false;
    for (at, instruction) in block.instructions.iter().enumerate() {
        if std::mem::take(&mut covered) {
            entries.push(Entry::default());
            continue;
        }
        let next = if alternatives { block.instructions.get(at + 1) } else { None };
        let find =
            |pipe| tree.find(&Site { function, instruction, next, assignment: Some(assignment), pipe });
        let alu = find(Pipe::Alu);
        let weighed = alternatives && tree.weighs_pipes(instruction.opcode);
        let fma = if weighed { find(Pipe::Fma) } else { alu };
        let cost = |choice: Option<Choice>| {
            with_operation(choice, instruction, |operation| {
                operation.map_or_else(Load::default, |(op, mods)| Load::of(model, op, mods))
            })
        };
        let on_alu = cost(alu);
        let on_fma = if weighed { cost(fma) } else { on_alu };
        let mut entry = Entry { alu, fma, on_alu, on_fma, ..Entry::default() };
        if !entry.is_open() {
            entry.pipe = entry.on_alu.pipe();
            load.add(entry.on_alu);
        }
        covered = covers_next(alu);
        entries.push(entry);
    }
    if entries.iter().any(Entry::is_open) {
        note_neighbours(function, assignment, block, &mut entries);
        assign_pipes(&mut entries, load);
        if entries.iter().any(Entry::is_guarded_move) {
            shorten_chains(model, function, assignment, block, &mut entries, load);
        }
    }
    let decision = |entry: Entry| {
        let (choice, pipe) = entry.decided();
        choice.map(|choice| Decision { choice, pipe })
    };
    entries.into_iter().map(decision).collect()
}

/// Whether the row guards its instruction with a source.
fn guards(choice: Option<Choice>) -> bool {
    let guard = match choice.map(|(_, row)| row.template) {
        Some(Template::Build(build)) => build.guard,
        _ => Guarding::Same,
    };
    !matches!(guard, Guarding::Same)
}

/// Calls `then` with the operation of a row for an instruction.
fn with_operation<R>(
    choice: Option<Choice>,
    instruction: &Instruction,
    then: impl FnOnce(Option<(Op, &Mods)>) -> R,
) -> R {
    match (choice.map(|(_, row)| row.template), instruction.opcode) {
        (Some(Template::Build(build)), _) => then(Some((build.op, &Mods::of(build.mods)))),
        (_, Opcode::Sass(op)) => then(Some((op, &instruction.mods))),
        (_, Opcode::Pseudo(_)) => then(None),
    }
}

/// True if the row does the work of the next instruction too.
pub fn covers_next(choice: Option<Choice>) -> bool {
    matches!(
        choice, Some((_, Pattern { template: Template::Build(build), .. })) if build.covers_next)
}

/// Records for each entry with a choice its producers and consumers in the block.
fn note_neighbours(function: &Function, assignment: &Assignment, block: &Block, entries: &mut [Entry]) {
    for_each_read(function, assignment, block, |at, read| {
        if read.file != File::R {
            return;
        }
        for (one, other) in [(at, read.from as usize), (read.from as usize, at)] {
            if entries[one].is_open() {
                entries[one].neighbours.push(other as u32);
            }
        }
    });
}

/// Decides the pipes of the open entries in order, but for those that have one.
fn assign_pipes(entries: &mut [Entry], mut load: Load) {
    for at in 0..entries.len() {
        let entry = &entries[at];
        if entry.pipe.is_some() || !entry.is_open() {
            continue;
        }
        let near = |pipe: Pipe| {
            let on = entry.neighbours.iter().filter(|&&other| entries[other as usize].pipe == Some(pipe));
            NEIGHBOUR * on.count() as i32
        };
        let alu = load.alu + entry.on_alu.alu - near(Pipe::Alu);
        let fma = load.fma + entry.on_fma.fma - near(Pipe::Fma);
        let (pipe, more) = if fma < alu { (Pipe::Fma, entry.on_fma) } else { (Pipe::Alu, entry.on_alu) };
        entries[at].pipe = Some(pipe);
        load.add(more);
    }
}

/// Makes guarded moves of the longest chains selects, if the block takes less time then. `load` is that of the entries without a
/// choice.
fn shorten_chains(
    model: &Model,
    function: &Function,
    assignment: &Assignment,
    block: &Block,
    entries: &mut [Entry],
    load: Load,
) {
    let reads = Reads::of(function, assignment, block);
    let costs = entries.iter().zip(&block.instructions).map(|(entry, instruction)| {
        [entry.alu, entry.fma]
            .map(|choice| with_operation(choice, instruction, |operation| Cost::of(model, operation)))
    });
    let costs: Vec<[Cost; 2]> = costs.collect();
    let longest = |entries: &[Entry]| {
        let steps = entries.iter().zip(&costs).map(|(entry, &[alu, fma])| {
            let (choice, pipe) = entry.decided();
            Step { cost: if pipe == Pipe::Fma { fma } else { alu }, guarded: guards(choice) }
        });
        Chain::of(model, &reads, steps)
    };
    let mut chain = longest(entries);
    let before = chain.time(WARPS);
    let balanced: Vec<Option<Pipe>> = entries.iter().map(|entry| entry.pipe).collect();
    let mut selects: Vec<u32> = Vec::new();
    for _ in 0..ROUNDS {
        let known = selects.len();
        selects.extend(chain.guarded.iter().filter(|&&at| entries[at as usize].is_guarded_move()));
        if selects.len() == known {
            break;
        }
        for entry in entries.iter_mut().filter(|entry| entry.is_open()) {
            entry.pipe = None;
        }
        let mut load = load;
        for &at in &selects {
            let entry = &mut entries[at as usize];
            entry.pipe = Some(Pipe::Alu);
            load.add(entry.on_alu);
        }
        assign_pipes(entries, load);
        chain = longest(entries);
    }
    if 100 * chain.time(WARPS) > (100 - GAIN) * before {
        for (entry, pipe) in entries.iter_mut().zip(balanced) {
            entry.pipe = pipe;
        }
    }
}
