//! The longest chain of a block: instructions of which each waits for the one before, in the forms that were chosen for them.
//!
//! It is here because the pipe of a form says how long an instruction waits for a predicate. Nothing here decides, and nothing
//! knows rows.

use oriole_latency::{Class, Model, Resources, ResultPart, Slot, UNITS};
use oriole_ori::{Assignment, Block, File, Function, Value};
use oriole_sass::{Mods, Op};

/// A register that an instruction reads and an earlier one of its block writes.
#[derive(Clone, Copy)]
pub struct Read {
    /// The earlier one, by its place in the block.
    pub from: u32,
    /// The file of the register that both name.
    pub file: File,
    /// Whether it decides if the instruction acts.
    pub guards: bool,
}

/// Calls `visit` for each register that an instruction of the block reads and an earlier one writes, with the place of the reader.
pub fn for_each_read(
    function: &Function,
    assignment: &Assignment,
    block: &Block,
    mut visit: impl FnMut(usize, Read),
) {
    const NONE: u32 = u32::MAX;
    const REGISTERS: usize = 256;
    let mut writers = [NONE; 4 * REGISTERS];
    let place = |value: Value| {
        let file = function.file(value);
        let first = match file {
            File::R => 0,
            File::P => REGISTERS,
            File::UR => 2 * REGISTERS,
            File::UP => 3 * REGISTERS,
            File::B => return None,
        };
        Some((file, first + usize::from(assignment.registers.get(value).copied().flatten()?)))
    };
    for (at, instruction) in block.instructions.iter().enumerate() {
        let guard = instruction.guard.map(|guard| guard.value);
        instruction.for_each_use(|value| {
            if let Some((file, place)) = place(value)
                && writers[place] != NONE
            {
                visit(at, Read { from: writers[place], file, guards: guard == Some(value) });
            }
        });
        instruction.for_each_definition(|value| {
            if let Some((_, place)) = place(value) {
                writers[place] = at as u32;
            }
        });
    }
}

/// Every [`Read`] of a block, by reader.
pub struct Reads {
    ends: Vec<u32>,
    all: Vec<Read>,
}

impl Reads {
    /// Those of a block.
    pub fn of(function: &Function, assignment: &Assignment, block: &Block) -> Reads {
        let mut reads = Reads { ends: Vec::with_capacity(block.instructions.len()), all: Vec::new() };
        for_each_read(function, assignment, block, |at, read| {
            reads.ends.resize(at, reads.all.len() as u32);
            reads.all.push(read);
        });
        reads.ends.resize(block.instructions.len(), reads.all.len() as u32);
        reads
    }

    fn at(&self, at: usize) -> &[Read] {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.all[start as usize..self.ends[at] as usize]
    }
}

/// Latency and issue cycles of an instruction in one of its forms.
#[derive(Clone, Copy)]
pub struct Cost {
    class: Class,
    /// Cycles until its results are there, where a scoreboard reports them.
    reported: Option<u16>,
    busy: Resources,
}

impl Cost {
    /// That of an operation; of none without one.
    pub fn of(model: &Model, operation: Option<(Op, &Mods)>) -> Cost {
        let Some((op, mods)) = operation else {
            return Cost { class: Class::Alu, reported: None, busy: [0; UNITS] };
        };
        let class = model.class(op, mods);
        let reported = model.is_variable_as(op, class).then(|| model.estimate(op));
        Cost { class, reported, busy: model.resources(op, mods) }
    }
}

/// An instruction of the block in the form that it has.
#[derive(Clone, Copy)]
pub struct Step {
    /// Its cost.
    pub cost: Cost,
    /// Whether the predicates among its sources guard it.
    pub guarded: bool,
}

/// The longest chain of a block.
pub struct Chain {
    /// Cycles from the issue of the first instruction of the block to that of the last one of the chain.
    cycles: u32,
    /// Cycles for which one warp keeps the unit that is busy longest, or issue.
    busy: u32,
    /// Instructions of the chain that wait for a guard, by place, the last one first.
    pub guarded: Vec<u32>,
}

impl Chain {
    /// That of a block with these steps.
    pub fn of(model: &Model, reads: &Reads, steps: impl Iterator<Item = Step>) -> Chain {
        struct Issued {
            at: u32,
            cost: Cost,
            /// The instruction that it waited for last, and whether as its guard.
            after: Option<(u32, bool)>,
        }
        let mut issued: Vec<Issued> = Vec::with_capacity(reads.ends.len());
        let mut busy = [0; UNITS];
        let mut last = (0, 0);
        for (place, Step { cost, guarded }) in steps.enumerate() {
            let (mut at, mut after) = (0, None);
            for read in reads.at(place) {
                let from = &issued[read.from as usize];
                let guards = read.guards || guarded && read.file == File::P;
                let (part, slot) = match read.file {
                    File::R | File::B => (ResultPart::General, Slot::Operand),
                    File::P if guards => (ResultPart::Predicate, Slot::Guard),
                    File::P => (ResultPart::Predicate, Slot::Predicate),
                    File::UR => (ResultPart::Uniform, Slot::Uniform),
                    File::UP => (ResultPart::UniformPredicate, Slot::UniformPredicate),
                };
                let waits = from.cost.reported.map_or_else(
                    || model.raw(from.cost.class, part, cost.class, slot).map_or(1, |d| u32::from(d.cycles)),
                    u32::from,
                );
                if from.at + waits > at {
                    (at, after) = (from.at + waits, Some((read.from, guards)));
                }
            }
            busy.iter_mut().zip(cost.busy).for_each(|(all, own)| *all += u32::from(own));
            last = last.max((at, place as u32));
            issued.push(Issued { at, cost, after });
        }
        let (cycles, mut place) = last;
        let mut guarded = Vec::new();
        while let Some((from, guards)) = issued.get(place as usize).and_then(|issued| issued.after) {
            guarded.extend(guards.then_some(place));
            place = from;
        }
        let busy = busy.into_iter().max().unwrap_or_default().max(issued.len() as u32);
        Chain { cycles, busy, guarded }
    }

    /// Cycles that several warps on one scheduler take for the block.
    pub fn time(&self, warps: u32) -> u32 {
        self.cycles.max(warps * self.busy)
    }
}
