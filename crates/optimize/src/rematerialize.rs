//! Rematerialization and sinking (phases 28, 54 and 69), where a function needs more registers than there are: a value that
//! lives across the place of the highest register pressure and is used behind it is made again there. What nothing reads any
//! more at its old place has been sunk.
//!
//! It runs behind the order before allocation (phase 97), since only that tells what a function needs; a function that fits
//! stays as it is. What is made again costs less than a store and loads: few instructions without effect, from values
//! that are alive there anyway, constants and special registers that do not change.

use crate::definitions::{Definitions, Place};
use crate::live_dead;
use oriole_ori::{
    BlockId, Budget, Cfg, Dominators, File, Function, Instruction, Liveness, Loops, Opcode, Value, effects,
};
use oriole_sass::info::Class;
use rustc_hash::{FxHashMap, FxHashSet};
use typed_index_collections::{TiVec, ti_vec};

/// So many places of high pressure are looked at.
const ROUNDS: usize = 96;

/// What the instructions that make a value again may cost, in simple ones.
const MOST: u32 = 6;

/// A use so near behind the place of high pressure gains nothing.
const NEAR: u32 = 16;

/// Makes values again until no more registers are live at once than there are. True if something changed.
pub fn run(function: &mut Function, budget: &Budget) -> bool {
    let mut changed = false;
    // Blocks in which nothing more can be done.
    let mut left: FxHashSet<BlockId> = FxHashSet::default();
    for _ in 0..ROUNDS {
        let found = Analyses::new(function);
        let Some(peak) = found.highest(budget, &left).filter(|peak| peak.excess > 0) else { break };
        let chosen = found.choose(&peak);
        if chosen.is_empty() {
            left.insert(peak.block);
            continue;
        }
        rewrite(function, &chosen);
        // What has gone shall count no more.
        live_dead::run(function);
        changed = true;
    }
    changed
}

/// Where most registers are missing: before an instruction of a block.
struct Peak {
    block: BlockId,
    at: u32,
    /// What takes general registers there: predicates do if there are too many.
    live: Vec<Value>,
    /// How many registers are missing.
    excess: u32,
}

/// What is live at a place.
#[derive(Default)]
struct Live {
    values: FxHashSet<Value>,
    general: u32,
    predicates: u32,
}

impl Live {
    fn count(&mut self, file: File) -> Option<&mut u32> {
        match file {
            File::R => Some(&mut self.general),
            File::P => Some(&mut self.predicates),
            _ => None,
        }
    }

    fn begin(&mut self, value: Value, file: File) {
        if self.count(file).is_some() && self.values.insert(value) {
            self.count(file).into_iter().for_each(|count| *count += 1);
        }
    }

    fn end(&mut self, value: Value, file: File) {
        if self.values.remove(&value) {
            self.count(file).into_iter().for_each(|count| *count -= 1);
        }
    }

    /// How many general registers are missing, where so many predicates are live somewhere near.
    fn excess(&self, budget: &Budget, block: BlockId, predicates: u32) -> u32 {
        (self.general + self.spilled(budget, predicates)).saturating_sub(budget.general[block])
    }

    /// How many predicates take a general register each: those that live through a place with more of them than there are.
    fn spilled(&self, budget: &Budget, predicates: u32) -> u32 {
        predicates.saturating_sub(budget.predicates).min(self.predicates)
    }
}

/// Instructions of a block from a place on in which uses get a value made again.
#[derive(Clone, Copy)]
struct Site {
    block: BlockId,
    from: u32,
}

/// Values to be made again.
struct Chosen {
    /// The results.
    values: Vec<Value>,
    /// The instructions that make them, in order.
    chain: Vec<Instruction>,
    sites: Vec<Site>,
}

/// What is known of the function in a round.
struct Analyses<'a> {
    function: &'a Function,
    cfg: Cfg,
    liveness: Liveness,
    loops: Loops,
    definitions: Definitions,
    /// Where each value is read.
    uses: TiVec<Value, Vec<(BlockId, u32)>>,
}

impl<'a> Analyses<'a> {
    fn new(function: &'a Function) -> Analyses<'a> {
        let cfg = Cfg::new(function);
        let liveness = Liveness::new(function, &cfg);
        let loops = Loops::new(function, &cfg, &Dominators::new(function, &cfg));
        let mut uses: TiVec<Value, Vec<(BlockId, u32)>> = ti_vec![Vec::new(); function.values.len()];
        for &block in cfg.order() {
            for (index, instruction) in (0..).zip(&function.block(block).instructions) {
                instruction.for_each_use(|value| uses[value].push((block, index)));
            }
        }
        Analyses { definitions: Definitions::new(function), function, cfg, liveness, loops, uses }
    }

    /// Goes backwards through a block; `visit` gets each place with what is live before it.
    fn walk(&self, block: BlockId, mut visit: impl FnMut(u32, &Live)) {
        let file = |value: Value| self.function.file(value);
        let mut live = Live::default();
        self.liveness.live_out(block).iter().for_each(|&value| live.begin(value, file(value)));
        let instructions = &self.function.block(block).instructions;
        visit(instructions.len() as u32, &live);
        for (index, instruction) in instructions.iter().enumerate().rev() {
            if !instruction.is_partial() {
                instruction.for_each_definition(|value| live.end(value, file(value)));
            }
            instruction.for_each_use(|value| live.begin(value, file(value)));
            visit(index as u32, &live);
        }
    }

    /// For each block the most predicates that are live at once in it, or in the loop that it lies in: what lives through a loop is
    /// spilled for all of it.
    fn most_predicates(&self) -> TiVec<BlockId, u32> {
        let mut most: TiVec<BlockId, u32> = ti_vec![0; self.function.blocks.len()];
        let mut of_loops = vec![0; self.loops.loops.len()];
        for &block in self.cfg.order() {
            self.walk(block, |_, live| most[block] = most[block].max(live.predicates));
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

    /// The place outside of some blocks where most registers are missing; of equals the first.
    fn highest(&self, budget: &Budget, left: &FxHashSet<BlockId>) -> Option<Peak> {
        let mut best: Option<(u32, BlockId, u32)> = None;
        let predicates = self.most_predicates();
        for &block in self.cfg.order().iter().filter(|block| !left.contains(block)) {
            self.walk(block, |at, live| {
                let excess = live.excess(budget, block, predicates[block]);
                if best.is_none_or(|(most, ..)| excess > most) {
                    best = Some((excess, block, at));
                }
            });
        }
        let (excess, block, at) = best?;
        let mut values = Vec::new();
        self.walk(block, |place, live| {
            if place == at {
                let spills = live.spilled(budget, predicates[block]) > 0;
                let takes = |value: &Value| spills || self.function.file(*value) == File::R;
                values.extend(live.values.iter().copied().filter(takes));
            }
        });
        values.sort_unstable();
        Some(Peak { block, at, live: values, excess })
    }

    /// The cheapest to make again, until so many registers are free as are missing.
    fn choose(&self, peak: &Peak) -> Vec<Chosen> {
        let mut seen: FxHashSet<(BlockId, u32)> = FxHashSet::default();
        let mut ranked: Vec<(u64, usize, Chosen, Vec<Value>)> = Vec::new();
        for &value in &peak.live {
            let Place::Instruction(block, index) = self.definitions.place(value) else { continue };
            if seen.insert((block, index))
                && let Some((cost, chosen, leaves)) = self.candidate(peak, value)
            {
                ranked.push((cost / chosen.values.len() as u64, ranked.len(), chosen, leaves));
            }
        }
        ranked.sort_by_key(|&(cost, number, ..)| (cost, number));
        let mut taken: Vec<Chosen> = Vec::new();
        let mut gone: FxHashSet<Value> = FxHashSet::default();
        let mut needed: FxHashSet<Value> = FxHashSet::default();
        for (_, _, chosen, leaves) in ranked {
            // What others are made from stays, and nothing is made from what goes.
            let clash = chosen.values.iter().any(|value| needed.contains(value))
                || leaves.iter().any(|leaf| gone.contains(leaf));
            if clash || gone.len() >= peak.excess as usize {
                continue;
            }
            gone.extend(chosen.values.iter().copied());
            needed.extend(leaves);
            taken.push(chosen);
        }
        taken
    }

    /// How a value is made again behind the peak with all results of its instruction that are live there: what that costs, and
    /// from which values.
    fn candidate(&self, peak: &Peak, value: Value) -> Option<(u64, Chosen, Vec<Value>)> {
        let instruction = self.maker(value)?;
        let mut values = Vec::new();
        instruction.for_each_definition(|result| {
            if peak.live.binary_search(&result).is_ok() {
                values.push(result);
            }
        });
        let sites = self.sites(peak, &values)?;
        let mut made = Made { chain: Vec::new(), done: FxHashSet::default(), leaves: Vec::new(), cost: 0 };
        self.make(value, &sites, &mut made)?;
        let weight = |site: &Site| 8u64.pow(self.loops.depth(site.block).min(6));
        let cost = u64::from(made.cost) * sites.iter().map(weight).sum::<u64>();
        Some((cost, Chosen { values, chain: made.chain, sites }, made.leaves))
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
        let mut waiting: Vec<BlockId> = vec![peak.block];
        while let Some(block) = waiting.pop() {
            for &successor in &self.function.block(block).successors {
                if lives(successor) && reached.insert(successor) {
                    waiting.push(successor);
                }
            }
        }
        let mut sites: Vec<Site> = Vec::new();
        for &(block, index) in values.iter().flat_map(|&value| &self.uses[value]) {
            let around = reached.contains(&block);
            let behind = block == peak.block && index >= peak.at;
            if behind && index - peak.at < NEAR {
                return None;
            }
            if !around && !behind {
                continue;
            }
            if effects::is_transfer(&self.function.block(block).instructions[index as usize]) {
                return None;
            }
            let from = if around { 0 } else { peak.at };
            if sites.iter().all(|site| site.block != block) {
                sites.push(Site { block, from });
            }
        }
        Some(sites)
    }

    /// Adds what makes a value from what is alive at all sites; `None` if that is too much.
    fn make(&self, value: Value, sites: &[Site], made: &mut Made) -> Option<()> {
        let instruction = self.maker(value)?;
        made.cost += price(instruction);
        if made.cost > MOST {
            return None;
        }
        instruction.for_each_definition(|result| {
            made.done.insert(result);
        });
        let mut sources = Vec::new();
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
        made.chain.push(instruction.clone());
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

/// What makes a value again.
struct Made {
    chain: Vec<Instruction>,
    /// The results of the chain.
    done: FxHashSet<Value>,
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
