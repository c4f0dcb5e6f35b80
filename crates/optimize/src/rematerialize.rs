//! Rematerialization and sinking (phases 28, 54 and 69), where a function needs more registers than there are: a value that
//! lives across the place of the highest register pressure and is used behind it is made again there. What nothing reads any
//! more at its old place has been sunk.
//!
//! It runs behind the order before allocation (phase 97), since only that tells what a function needs; a function that fits
//! stays as it is. What is made again costs less than a store and loads: few instructions without effect, from values
//! that are alive there anyway, constants and special registers that do not change.

use crate::definitions::{Definitions, Place};
use crate::live_dead;
use oriole_ori::csr::Csr;
use oriole_ori::{
    BlockId, Budget, Cfg, Dominators, File, Function, Instruction, Liveness, Loops, Opcode, Value, effects,
};
use oriole_sass::info::Class;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::ops::Range;
use typed_index_collections::{TiVec, ti_vec};

/// So many places of high pressure are looked at.
const ROUNDS: usize = 96;

/// What the instructions that make a value again may cost, in simple ones.
const MOST: u32 = 6;

/// A use this near after the place of high pressure gains nothing.
const NEAR: u32 = 16;

/// Rematerializes values until no more registers are live at once than there are. True if something changed.
pub fn run(function: &mut Function, budget: &Budget) -> bool {
    // Only instructions change, no edges.
    let cfg = Cfg::new(function);
    let dominators = Dominators::new(function, &cfg);
    let loops = Loops::new(function, &cfg, &dominators);
    let mut changed = false;
    // Blocks in which nothing more can be done.
    let mut left: FxHashSet<BlockId> = FxHashSet::default();
    let mut rounds = 0..ROUNDS;
    loop {
        let analyses = Analyses::new(function, &cfg, &dominators, &loops);
        let Some(chosen) = analyses.next(budget, &mut left, &mut rounds) else { return changed };
        rewrite(function, &chosen);
        // What has gone shall count no more.
        live_dead::run(function);
        changed = true;
    }
}

/// Where most registers of a block are missing.
struct Highest {
    block: BlockId,
    /// The instruction before which that is.
    at: u32,
    /// How many are missing.
    excess: u32,
    /// The most predicates that are live at once around it.
    predicates: u32,
}

/// What takes registers where most are missing.
struct Peak<'a> {
    place: &'a Highest,
    /// What takes general registers there: predicates do if there are too many.
    live: Vec<Value>,
}

/// How many values are live at a place.
#[derive(Clone, Copy, Default)]
struct Counts {
    general: u32,
    predicates: u32,
}

impl Counts {
    fn of(&mut self, file: File) -> Option<&mut u32> {
        match file {
            File::R => Some(&mut self.general),
            File::P => Some(&mut self.predicates),
            _ => None,
        }
    }

    /// How many general registers are missing, where so many predicates are live somewhere near.
    fn excess(self, budget: &Budget, block: BlockId, predicates: u32) -> u32 {
        (self.general + self.spilled(budget, predicates)).saturating_sub(budget.general[block])
    }

    /// How many predicates take a general register each: those that live through a place with more of them than there are.
    fn spilled(self, budget: &Budget, predicates: u32) -> u32 {
        predicates.saturating_sub(budget.predicates).min(self.predicates)
    }
}

/// What is live at a place. One serves for all walks through blocks, so that none begins with a new set of values.
struct Live {
    /// For each value the last walk that found it live and not yet its end.
    walks: TiVec<Value, u32>,
    /// The walk that is under way.
    walk: u32,
    counts: Counts,
}

impl Live {
    fn new(values: usize) -> Live {
        Live { walks: ti_vec![0; values], walk: 0, counts: Counts::default() }
    }

    /// Starts a walk, with nothing live.
    fn start(&mut self) {
        self.walk += 1;
        self.counts = Counts::default();
    }

    fn has(&self, value: Value) -> bool {
        self.walks[value] == self.walk
    }

    fn begin(&mut self, value: Value, file: File) {
        if let Some(count) = self.counts.of(file)
            && self.walks[value] != self.walk
        {
            self.walks[value] = self.walk;
            *count += 1;
        }
    }

    fn end(&mut self, value: Value, file: File) {
        if self.has(value) {
            self.walks[value] = 0;
            self.counts.of(file).into_iter().for_each(|count| *count -= 1);
        }
    }
}

/// Instructions of a block from a place on in which uses get a value made again.
#[derive(Clone, Copy)]
struct Site {
    block: BlockId,
    from: u32,
}

/// Values to rematerialize.
struct Chosen {
    /// The results.
    values: Vec<Value>,
    /// The instructions that make them, in order.
    chain: Vec<Instruction>,
    sites: Vec<Site>,
}

/// Analyses of the function, which hold until something is rematerialized.
struct Analyses<'a> {
    function: &'a Function,
    cfg: &'a Cfg,
    liveness: Liveness,
    loops: &'a Loops,
    definitions: Definitions,
    /// Where each value is read.
    uses: Csr<Value, (BlockId, u32)>,
}

impl<'a> Analyses<'a> {
    fn new(function: &'a Function, cfg: &'a Cfg, dominators: &Dominators, loops: &'a Loops) -> Analyses<'a> {
        let liveness = Liveness::new(function, cfg);
        let uses = Csr::of_visits(function.values.len(), (BlockId(0), 0), |give| {
            for &block in cfg.order() {
                for (index, instruction) in (0..).zip(&function.block(block).instructions) {
                    instruction.for_each_use(|value| give(value, (block, index)));
                }
            }
        });
        let definitions = Definitions::of(function, cfg, dominators);
        Analyses { definitions, function, cfg, liveness, loops, uses }
    }

    /// The next values to rematerialize, at the place where most registers are missing. A round goes for each place that is looked at;
    /// `left` gets the blocks of those where nothing can be done.
    fn next(
        &self,
        budget: &Budget,
        left: &mut FxHashSet<BlockId>,
        rounds: &mut Range<usize>,
    ) -> Option<Vec<Chosen>> {
        let mut live = Live::new(self.function.values.len());
        for highest in self.highest(&mut live, budget, left) {
            rounds.next()?;
            let chosen = self.choose(&self.peak(&mut live, budget, &highest));
            if !chosen.is_empty() {
                return Some(chosen);
            }
            left.insert(highest.block);
        }
        None
    }

    /// Goes backwards through a block; `visit` gets each place with what is live before it.
    fn walk(&self, live: &mut Live, block: BlockId, mut visit: impl FnMut(u32, &Live)) {
        let file = |value: Value| self.function.file(value);
        live.start();
        self.liveness.live_out(block).iter().for_each(|&value| live.begin(value, file(value)));
        let instructions = &self.function.block(block).instructions;
        visit(instructions.len() as u32, live);
        for (index, instruction) in instructions.iter().enumerate().rev() {
            if !instruction.is_partial() {
                instruction.for_each_definition(|value| live.end(value, file(value)));
            }
            instruction.for_each_use(|value| live.begin(value, file(value)));
            visit(index as u32, live);
        }
    }

    /// For each block the most predicates that are live at once in it, or in the loop that it lies in: what lives through a loop is
    /// spilled for all of it. `counts` are those of all places.
    fn most_predicates(&self, counts: &[(BlockId, u32, Counts)]) -> TiVec<BlockId, u32> {
        let mut most: TiVec<BlockId, u32> = ti_vec![0; self.function.blocks.len()];
        let mut of_loops = vec![0; self.loops.loops.len()];
        counts.iter().for_each(|&(block, _, here)| most[block] = most[block].max(here.predicates));
        for &block in self.cfg.order() {
            if let Some(index) = self.loops.innermost(block) {
                of_loops[index] = most[block].max(of_loops[index]);
            }
        }
        // Outer loops stand before the loops in them.
        for (index, lap) in self.loops.loops.iter().enumerate().rev() {
            if let Some(parent) = lap.parent {
                of_loops[parent] = of_loops[index].max(of_loops[parent]);
            }
        }
        for &block in self.cfg.order() {
            most[block] = self.loops.innermost(block).map_or(most[block], |index| of_loops[index]);
        }
        most
    }

    /// Of each block but some the place where most registers are missing, if any are, those with most of them first.
    fn highest(&self, live: &mut Live, budget: &Budget, left: &FxHashSet<BlockId>) -> Vec<Highest> {
        let mut counts = Vec::new();
        for &block in self.cfg.order() {
            self.walk(live, block, |at, live| counts.push((block, at, live.counts)));
        }
        let predicates = self.most_predicates(&counts);
        let mut highest = Vec::new();
        for places in counts.chunk_by(|(one, ..), (other, ..)| one == other) {
            let block = places[0].0;
            let predicates = predicates[block];
            // Of equals the first of the walk.
            let here = places.iter().rev().map(|&(_, at, here)| (here.excess(budget, block, predicates), at));
            let (excess, at) =
                here.max_by_key(|&(excess, _)| excess).expect("a walk visits the end of a block");
            if excess > 0 && !left.contains(&block) {
                highest.push(Highest { block, at, excess, predicates });
            }
        }
        highest.sort_by_key(|highest| Reverse(highest.excess));
        highest
    }

    /// What takes registers at a place.
    fn peak<'h>(&self, live: &mut Live, budget: &Budget, highest: &'h Highest) -> Peak<'h> {
        let &Highest { block, at, predicates, .. } = highest;
        let mut values = Vec::new();
        self.walk(live, block, |place, live| {
            if place == at {
                let spills = live.counts.spilled(budget, predicates) > 0;
                let takes =
                    |&value: &Value| live.has(value) && (spills || self.function.file(value) == File::R);
                values.extend(self.function.values.keys().filter(takes));
            }
        });
        Peak { place: highest, live: values }
    }

    /// The cheapest to make again, until so many registers are free as are missing.
    fn choose(&self, peak: &Peak) -> Vec<Chosen> {
        let mut seen: FxHashSet<(BlockId, u32)> = FxHashSet::default();
        let mut ranked: Vec<(u64, usize, Candidate)> = Vec::new();
        for &value in &peak.live {
            let Place::Instruction(block, index) = self.definitions.place(value) else { continue };
            if seen.insert((block, index))
                && let Some((cost, candidate)) = self.candidate(peak, value)
            {
                ranked.push((cost / candidate.values.len() as u64, ranked.len(), candidate));
            }
        }
        ranked.sort_by_key(|&(cost, number, ..)| (cost, number));
        let mut taken: Vec<Chosen> = Vec::new();
        let mut gone: FxHashSet<Value> = FxHashSet::default();
        let mut needed: FxHashSet<Value> = FxHashSet::default();
        for (_, _, Candidate { values, sites, chain, leaves }) in ranked {
            // What others are made from stays, and nothing is made from what goes.
            let clash = values.iter().any(|value| needed.contains(value))
                || leaves.iter().any(|leaf| gone.contains(leaf));
            if clash || gone.len() >= peak.place.excess as usize {
                continue;
            }
            gone.extend(values.iter().copied());
            needed.extend(leaves);
            taken.push(Chosen { values, chain: chain.into_iter().cloned().collect(), sites });
        }
        taken
    }

    /// How a value is made again behind the peak with all results of its instruction that are live there, and what that costs.
    fn candidate(&self, peak: &Peak, value: Value) -> Option<(u64, Candidate<'a>)> {
        let instruction = self.maker(value)?;
        let mut values = Vec::new();
        instruction.for_each_definition(|result| {
            if peak.live.binary_search(&result).is_ok() {
                values.push(result);
            }
        });
        let sites = self.sites(peak, &values)?;
        let mut made = Made::default();
        self.make(value, &sites, &mut made)?;
        let weight = sites.iter().map(|site| self.loops.weight(site.block)).sum::<u64>();
        let cost = u64::from(made.cost) * weight;
        Some((cost, Candidate { values, sites, chain: made.chain, leaves: made.leaves }))
    }

    /// The instruction that makes a value and may be run again elsewhere.
    fn maker(&self, value: Value) -> Option<&'a Instruction> {
        let instruction = self.definitions.instruction(self.function, value)?;
        let fixed = instruction.destinations.iter().any(|destination| destination.fixed.is_some())
            || instruction.sources.iter().any(|source| source.fixed.is_some());
        let files = instruction.destinations.iter().all(|d| matches!(d.file, File::R | File::P));
        let mut stable = true;
        instruction.for_each_definition(|result| stable &= self.definitions.is_stable(result));
        let plain = effects::is_pure(instruction) && instruction.tied.is_empty() && !fixed;
        (plain && files && stable && price(instruction) <= MOST).then_some(instruction)
    }

    /// Where the uses are that the values reach from the peak; `None` if making them again there gains nothing.
    fn sites(&self, peak: &Peak, values: &[Value]) -> Option<Vec<Site>> {
        let lives = |block: BlockId| values.iter().any(|&value| self.liveness.is_live_in(block, value));
        let mut reached: FxHashSet<BlockId> = FxHashSet::default();
        let mut waiting: Vec<BlockId> = vec![peak.place.block];
        while let Some(block) = waiting.pop() {
            for &successor in &self.function.block(block).successors {
                if lives(successor) && reached.insert(successor) {
                    waiting.push(successor);
                }
            }
        }
        let mut sites: Vec<Site> = Vec::new();
        for &(block, index) in values.iter().flat_map(|&value| self.uses.of(value)) {
            let around = reached.contains(&block);
            let behind = block == peak.place.block && index >= peak.place.at;
            if behind && index - peak.place.at < NEAR {
                return None;
            }
            if !around && !behind {
                continue;
            }
            if effects::is_transfer(&self.function.block(block).instructions[index as usize]) {
                return None;
            }
            let from = if around { 0 } else { peak.place.at };
            if sites.iter().all(|site| site.block != block) {
                sites.push(Site { block, from });
            }
        }
        Some(sites)
    }

    /// Adds what makes a value from what is alive at all sites; `None` if that is too much.
    fn make(&self, value: Value, sites: &[Site], made: &mut Made<'a>) -> Option<()> {
        let instruction = self.maker(value)?;
        made.cost += price(instruction);
        if made.cost > MOST {
            return None;
        }
        instruction.for_each_definition(|result| made.done.push(result));
        let mut sources: SmallVec<[Value; 6]> = SmallVec::new();
        instruction.for_each_use(|source| sources.push(source));
        for source in sources {
            if made.done.contains(&source) || made.leaves.contains(&source) {
                continue;
            }
            if sites.iter().all(|&site| self.is_at(source, site)) {
                made.leaves.push(source);
            } else {
                self.make(source, sites, made)?;
            }
        }
        made.chain.push(instruction);
        Some(())
    }

    /// True if a value is alive where another is made again, whatever becomes of that. Uniform registers are many.
    fn is_at(&self, value: Value, site: Site) -> bool {
        if !self.definitions.is_stable(value) {
            return false;
        }
        match self.function.file(value) {
            File::UR => true,
            File::R | File::P if site.from == 0 => self.liveness.is_live_in(site.block, value),
            File::R | File::P => self.liveness.is_live_out(site.block, value),
            _ => false,
        }
    }
}

/// Values that may be made again.
struct Candidate<'a> {
    /// The results.
    values: Vec<Value>,
    sites: Vec<Site>,
    /// The instructions that make them, in order.
    chain: SmallVec<[&'a Instruction; 6]>,
    /// What they are made from.
    leaves: Vec<Value>,
}

/// What makes a value again. It is short, since it costs little.
#[derive(Default)]
struct Made<'a> {
    chain: SmallVec<[&'a Instruction; 6]>,
    /// The results of the chain.
    done: SmallVec<[Value; 8]>,
    /// What it is made from.
    leaves: Vec<Value>,
    cost: u32,
}

/// What an instruction costs, in simple ones.
fn price(instruction: &Instruction) -> u32 {
    let Opcode::Sass(op) = instruction.opcode else { return 1 };
    match op.info().class(&instruction.mods) {
        Class::Special | Class::Double | Class::SpecialRegister | Class::Memory => 2,
        _ => 1,
    }
}

/// Makes the values again in the blocks of their sites, each before its first use there.
fn rewrite(function: &mut Function, chosen: &[Chosen]) {
    let mut by_block: FxHashMap<BlockId, Vec<(u32, &Chosen)>> = FxHashMap::default();
    for chosen in chosen {
        for site in &chosen.sites {
            by_block.entry(site.block).or_default().push((site.from, chosen));
        }
    }
    let mut blocks: Vec<(BlockId, Vec<(u32, &Chosen)>)> = by_block.into_iter().collect();
    blocks.sort_unstable_by_key(|&(block, _)| block);
    for (block, here) in blocks {
        let old = std::mem::take(&mut function.block_mut(block).instructions);
        let mut out = Vec::with_capacity(old.len());
        // What stands for each value in this block.
        let mut new: FxHashMap<Value, Value> = FxHashMap::default();
        let maker = |value: Value, index: u32| {
            here.iter().find(|(from, chosen)| *from <= index && chosen.values.contains(&value))
        };
        for (index, mut instruction) in (0..).zip(old) {
            let mut wanted = Vec::new();
            instruction.for_each_use(|value| wanted.extend(maker(value, index)));
            for (_, chosen) in wanted {
                chosen.chain.iter().for_each(|made| again(function, made, &mut new, &mut out));
            }
            instruction.for_each_use_mut(|value| {
                if maker(*value, index).is_some() {
                    *value = new.get(value).copied().unwrap_or(*value);
                }
            });
            out.push(instruction);
        }
        function.block_mut(block).instructions = out;
    }
}

/// Runs an instruction again, with new results, if that has not happened yet.
fn again(
    function: &mut Function,
    instruction: &Instruction,
    new: &mut FxHashMap<Value, Value>,
    out: &mut Vec<Instruction>,
) {
    let mut known = true;
    instruction.for_each_definition(|value| known &= new.contains_key(&value));
    if known {
        return;
    }
    let mut instruction = instruction.clone();
    instruction.for_each_use_mut(|value| *value = new.get(value).copied().unwrap_or(*value));
    instruction.for_each_definition_mut(|value| {
        let data = function.values[*value];
        let made = function.new_value(data.file, data.source);
        new.insert(*value, made);
        *value = made;
    });
    out.push(instruction);
}
