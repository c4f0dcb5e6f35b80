//! Balances the two arithmetic pipes, where rows leave the choice. In each block an instruction goes to the less
//! loaded pipe, unless its producers or consumers are on the other: a result that changes pipes comes a cycle later.

use crate::template::Template;
use oriole_latency::{Model, Unit};
use oriole_ori::pattern::{Pattern, Pipe, RowId, Site, Tree};
use oriole_ori::{Assignment, Block, File, Function, Opcode, Value};
use oriole_sass::{Mods, Op};
use smallvec::SmallVec;

/// A row with its index.
pub type Choice = (RowId, &'static Pattern<Template>);

/// Issue cycles that a neighbour on the same pipe is worth.
const NEIGHBOUR: i32 = 2;

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
        let cost = |choice: Option<Choice>| match (choice.map(|(_, row)| row.template), instruction.opcode) {
            (Some(Template::Build(build)), _) => Load::of(model, build.op, &Mods::of(build.mods)),
            (_, Opcode::Sass(op)) => Load::of(model, op, &instruction.mods),
            (_, Opcode::Pseudo(_)) => Load::default(),
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
    }
    let decided = |entry: Entry| {
        let pipe = entry.pipe.unwrap_or(Pipe::Alu);
        let choice = if pipe == Pipe::Fma { entry.fma } else { entry.alu };
        choice.map(|choice| Decision { choice, pipe })
    };
    entries.into_iter().map(decided).collect()
}

/// True if the row does the work of the next instruction too.
pub fn covers_next(choice: Option<Choice>) -> bool {
    matches!(
        choice, Some((_, Pattern { template: Template::Build(build), .. })) if build.covers_next)
}

/// Records for each entry with a choice its producers and consumers in the block.
fn note_neighbours(function: &Function, assignment: &Assignment, block: &Block, entries: &mut [Entry]) {
    let mut writer: [Option<u32>; 256] = [None; 256];
    let register = |value: Value| match function.file(value) {
        File::R => assignment.registers.get(value).copied().flatten().map(usize::from),
        _ => None,
    };
    for (at, instruction) in block.instructions.iter().enumerate() {
        instruction.for_each_use(|value| {
            let Some(from) = register(value).and_then(|register| writer[register]) else { return };
            if entries[at].is_open() {
                entries[at].neighbours.push(from);
            }
            if entries[from as usize].is_open() {
                entries[from as usize].neighbours.push(at as u32);
            }
        });
        instruction.for_each_definition(|value| {
            if let Some(register) = register(value) {
                writer[register] = Some(at as u32);
            }
        });
    }
}

/// Decides the pipes of the open entries in order.
fn assign_pipes(entries: &mut [Entry], mut load: Load) {
    for at in 0..entries.len() {
        let entry = &entries[at];
        if !entry.is_open() {
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
