//! Rematerialization and sinking (phases 28, 54 and 69) for functions that need more registers than there are: a
//! value that is live across the point of highest register pressure and used after it is rematerialized there. If its
//! old definition becomes dead, it was sunk.
//!
//! It runs after pre-allocation scheduling (phase 97), which determines the pressure; a function that fits does not
//! change, except where more predicates are live than there are: comparisons are cheaper than registers that hold them.
//! Rematerialization costs less than a store and loads: few instructions without effects, from values that
//! are live there anyway, constants and special registers that do not change.

use crate::analyses::definitions::{Definitions, Place};
use crate::passes::live_dead;
use oriole_ori::csr::Csr;
use oriole_ori::{
    BlockId, Budget, CallShape, Cfg, Dominators, File, Function, Instruction, Liveness, Loops, Opcode, Value,
    effects,
};
use oriole_sass::info::Class;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::ops::Range;
use typed_index_collections::{TiVec, ti_vec};

/// Most points of high pressure that are considered.
const ROUNDS: usize = 96;

/// Maximum cost of rematerializing a value, in simple instructions.
const MOST: u32 = 6;

/// A use this close after the point of high pressure gains nothing.
const NEAR: u32 = 16;

/// Registers that are missing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    /// General ones, with those of spilled predicates.
    General,
    /// Predicates, whatever the general ones.
    Predicates,
}

impl Missing {
    /// Maximum cost of rematerializing a value, in simple instructions.
    fn most(self) -> u32 {
        match self {
            Missing::General => MOST,
            // A spilled predicate is an instruction at its definition, and one where it is used.
            Missing::Predicates => 2,
        }
    }

    /// Of points where as many are missing the one that ranks highest counts: for predicates the first, as the comparisons
    /// that are live there are used further on.
    fn rank(self, at: u32) -> u32 {
        match self {
            Missing::General => at,
            Missing::Predicates => u32::MAX - at,
        }
    }

    /// How many are missing at a point, if `predicates` predicates are live nearby.
    fn excess(self, point: &Point, budget: &Budget, predicates: u32) -> u32 {
        let &Point { block, counts, through, .. } = point;
        match self {
            Missing::General => {
                let general = budget.general[block];
                let missing = through.map_or(0, |(call, counts)| counts.missing_through(call, general));
                counts.excess(budget, block, predicates).max(missing)
            }
            Missing::Predicates => counts.predicates.saturating_sub(budget.predicates),
        }
    }
}

/// Rematerializes values until the pressure fits the budget. True if something changed.
pub fn run(function: &mut Function, budget: &Budget) -> bool {
    rematerialize(function, budget, Missing::General)
}

/// Rematerializes comparisons until no more predicates are live at once than there are, as far as that is cheaper than
/// general registers that hold them. True if something changed.
pub fn run_for_predicates(function: &mut Function, predicates: u32) -> bool {
    if function.values.iter().filter(|value| value.file == File::P).count() <= predicates as usize {
        return false;
    }
    rematerialize(function, &Budget { general: TiVec::new(), predicates }, Missing::Predicates)
}

fn rematerialize(function: &mut Function, budget: &Budget, missing: Missing) -> bool {
    // Only instructions change, no edges.
    let graph = function.graph();
    let (cfg, dominators, loops) = (graph.cfg(), graph.dominators(), graph.loops());
    let mut changed = false;
    // Blocks in which nothing more can be improved.
    let mut left: FxHashSet<BlockId> = FxHashSet::default();
    let mut rounds = 0..ROUNDS;
    loop {
        let analyses = Analyses::new(function, cfg, dominators, loops);
        let Some(chosen) = analyses.next((budget, missing), &mut left, &mut rounds) else { return changed };
        rewrite(function, &chosen);
        // Dead definitions must not count any more.
        live_dead::run(function);
        changed = true;
    }
}

/// The point of a block with the largest excess.
struct Highest {
    block: BlockId,
    /// The instruction before which that is.
    at: u32,
    /// Count of missing registers.
    excess: u32,
    /// The most predicates that are live at once around it.
    predicates: u32,
}

/// Register use at the point with the largest excess.
struct Peak<'a> {
    place: &'a Highest,
    /// Values that take general registers there, including predicates if there are too many.
    live: Vec<Value>,
    /// The loops around it, the outermost first.
    loops: Vec<usize>,
    /// Maximum cost of rematerializing a value.
    most: u32,
}

/// Counts of live values at a point.
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

    /// General registers missing, if `predicates` predicates are live nearby.
    fn excess(self, budget: &Budget, block: BlockId, predicates: u32) -> u32 {
        (self.general + self.spilled(budget, predicates)).saturating_sub(budget.general[block])
    }

    /// Predicates that take a general register: those live through a point with more predicates than the file has.
    fn spilled(self, budget: &Budget, predicates: u32) -> u32 {
        predicates.saturating_sub(budget.predicates).min(self.predicates)
    }

    /// General registers missing for these values, live through a call. It leaves alone some registers of both files.
    fn missing_through(self, call: &CallShape, general: u32) -> u32 {
        let is_kept = |register: &u32| call.clobbers[(register / 64) as usize] >> (register % 64) & 1 == 0;
        let kept = (0..general).filter(is_kept).count() as u32;
        let spilled = self.predicates.saturating_sub(kept_predicates(call));
        (self.general + spilled).saturating_sub(kept)
    }
}

/// Predicates that a call leaves alone.
fn kept_predicates(call: &CallShape) -> u32 {
    (!call.clobbered_predicates & 0x7f).count_ones()
}

/// Register use before an instruction.
struct Point<'a> {
    block: BlockId,
    at: u32,
    counts: Counts,
    /// Of a call, and what is live through it.
    through: Option<(&'a CallShape, Counts)>,
}

/// Values live at a point. One set serves all walks through blocks, to save allocation.
struct Live {
    /// For each value the last walk that found it live and has not reached its end.
    walks: TiVec<Value, u32>,
    /// The current walk.
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

/// Instructions of a block from an index on in which uses read a rematerialized value.
#[derive(Clone, Copy)]
struct Site {
    block: BlockId,
    from: u32,
    /// The last of these uses.
    last: u32,
}

/// Values to be rematerialized.
struct Chosen {
    /// The results.
    values: Vec<Value>,
    /// The instructions that compute them, in order.
    chain: Vec<Instruction>,
    sites: Vec<Site>,
}

/// Analyses of the function, valid until something is rematerialized.
struct Analyses<'a> {
    function: &'a Function,
    cfg: &'a Cfg,
    dominators: &'a Dominators,
    liveness: Liveness,
    loops: &'a Loops,
    definitions: Definitions,
    /// Uses of each value.
    uses: Csr<Value, (BlockId, u32)>,
}

impl<'a> Analyses<'a> {
    fn new(
        function: &'a Function,
        cfg: &'a Cfg,
        dominators: &'a Dominators,
        loops: &'a Loops,
    ) -> Analyses<'a> {
        let liveness = Liveness::new(function, cfg);
        let uses = Csr::of_visits(function.values.len(), (BlockId(0), 0), |give| {
            for &block in cfg.order() {
                for (index, instruction) in (0..).zip(&function.block(block).instructions) {
                    instruction.for_each_use(|value| give(value, (block, index)));
                }
            }
        });
        let definitions = Definitions::of(function, cfg, dominators);
        Analyses { definitions, function, cfg, dominators, liveness, loops, uses }
    }

    /// The next values to rematerialize, at the point with the largest excess. Each point considered takes a round;
    /// `left` gets the blocks where nothing can be done.
    fn next(
        &self,
        (budget, missing): (&Budget, Missing),
        left: &mut FxHashSet<BlockId>,
        rounds: &mut Range<usize>,
    ) -> Option<Vec<Chosen>> {
        let mut live = Live::new(self.function.values.len());
        for highest in self.highest(&mut live, (budget, missing), left) {
            rounds.next()?;
            let chosen = self.choose(&self.peak(&mut live, (budget, missing), &highest));
            if !chosen.is_empty() {
                return Some(chosen);
            }
            left.insert(highest.block);
        }
        None
    }

    /// Walks backwards through a block; `visit` gets each instruction with the live set before it.
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

    /// For each block the most predicates live at once in it, or in its loop: a value live through a loop is spilled
    /// for all of it. `points` are all there are.
    fn most_predicates(&self, points: &[Point]) -> TiVec<BlockId, u32> {
        let mut most: TiVec<BlockId, u32> = ti_vec![0; self.function.blocks.len()];
        let mut of_loops = vec![0; self.loops.loops.len()];
        points.iter().for_each(|point| most[point.block] = most[point.block].max(point.counts.predicates));
        for &block in self.cfg.order() {
            if let Some(index) = self.loops.innermost(block) {
                of_loops[index] = most[block].max(of_loops[index]);
            }
        }
        // Outer loops come before the loops in them.
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

    /// For each block not in `left`, the point with the largest excess, if there is one; the largest first.
    fn highest(
        &self,
        live: &mut Live,
        (budget, missing): (&Budget, Missing),
        left: &FxHashSet<BlockId>,
    ) -> Vec<Highest> {
        let mut points: Vec<Point> = Vec::new();
        for &block in self.cfg.order() {
            let instructions = &self.function.block(block).instructions;
            let mut after = Counts::default();
            self.walk(live, block, |at, live| {
                let call = instructions.get(at as usize).filter(|instruction| instruction.call.is_some());
                let through =
                    call.and_then(|call| Some((call.call.as_deref()?, self.without_results(after, call))));
                after = live.counts;
                points.push(Point { block, at, counts: live.counts, through });
            });
        }
        let predicates = self.most_predicates(&points);
        let mut highest = Vec::new();
        for places in points.chunk_by(|one, other| one.block == other.block) {
            let block = places[0].block;
            let predicates = predicates[block];
            let here = places.iter().map(|point| (missing.excess(point, budget, predicates), point.at));
            let (excess, at) = here
                .max_by_key(|&(excess, at)| (excess, missing.rank(at)))
                .expect("a walk visits the end of a block");
            if excess > 0 && !left.contains(&block) {
                highest.push(Highest { block, at, excess, predicates });
            }
        }
        highest.sort_by_key(|highest| Reverse(highest.excess));
        highest
    }

    /// Counts of values after a call without its results.
    fn without_results(&self, mut after: Counts, call: &Instruction) -> Counts {
        call.for_each_definition(|value| {
            let counted = after.of(self.function.file(value));
            counted.into_iter().for_each(|count| *count = count.saturating_sub(1));
        });
        after
    }

    /// Predicates that an instruction leaves alone: a call overwrites some.
    fn kept_predicates(&self, block: BlockId, at: u32) -> u32 {
        let instruction = self.function.block(block).instructions.get(at as usize);
        instruction
            .and_then(|instruction| instruction.call.as_ref())
            .map_or(u32::MAX, |call| kept_predicates(call))
    }

    /// Register use at a point.
    fn peak<'h>(
        &self,
        live: &mut Live,
        (budget, missing): (&Budget, Missing),
        highest: &'h Highest,
    ) -> Peak<'h> {
        let &Highest { block, at, predicates, .. } = highest;
        let mut values = Vec::new();
        self.walk(live, block, |place, live| {
            if place == at {
                let spills = live.counts.spilled(budget, predicates) > 0
                    || live.counts.predicates > self.kept_predicates(block, at);
                let counts = |file: File| match missing {
                    Missing::General => spills || file == File::R,
                    Missing::Predicates => file == File::P,
                };
                let takes = |&value: &Value| live.has(value) && counts(self.function.file(value));
                values.extend(self.function.values.keys().filter(takes));
            }
        });
        let parent = |&index: &usize| self.loops.loops[index].parent;
        let mut loops: Vec<usize> = std::iter::successors(self.loops.innermost(block), parent).collect();
        loops.reverse();
        Peak { place: highest, live: values, loops, most: missing.most() }
    }

    /// The cheapest candidates that together free the missing registers.
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
            // Leaves of other chains stay, and a rematerialized value is not a leaf.
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

    /// Rematerialization of a value after the peak, with all results of its instruction that are live there, and its
    /// cost.
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
        self.make(value, &sites, peak.most, &mut made)?;
        let weight = sites.iter().map(|site| self.loops.weight(site.block)).sum::<u64>();
        let cost = u64::from(made.cost) * weight;
        Some((cost, Candidate { values, sites, chain: made.chain, leaves: made.leaves }))
    }

    /// The defining instruction of a value, if it may be executed again elsewhere.
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

    /// Uses that the values reach from the peak; `None` if rematerializing there gains nothing.
    fn sites(&self, peak: &Peak, values: &[Value]) -> Option<Vec<Site>> {
        let &Highest { block: highest, at, .. } = peak.place;
        let uses = || values.iter().flat_map(|&value| self.uses.of(value)).copied();
        let follows = |block: BlockId, index: u32| block == highest && index >= at;
        if uses().any(|(block, index)| follows(block, index) && index - at < NEAR) {
            return None;
        }
        let mut reached = Reached::new(self, peak, values)?;
        let mut sites: Vec<Site> = Vec::new();
        let mut known: FxHashMap<BlockId, usize> = FxHashMap::default();
        for (block, index) in uses() {
            let around = reached.has(block);
            if !around && !follows(block, index) {
                continue;
            }
            if effects::is_transfer(&self.function.block(block).instructions[index as usize]) {
                return None;
            }
            let from = if around { 0 } else { at };
            let site = *known.entry(block).or_insert(sites.len());
            match sites.get_mut(site) {
                Some(site) => site.last = site.last.max(index),
                None => sites.push(Site { block, from, last: index }),
            }
        }
        Some(sites)
    }

    /// Adds the instructions that compute a value from values live at all sites; `None` if that is too much.
    fn make(&self, value: Value, sites: &[Site], most: u32, made: &mut Made<'a>) -> Option<()> {
        let instruction = self.maker(value)?;
        made.cost += price(instruction);
        if made.cost > most {
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
                self.make(source, sites, most, made)?;
            }
        }
        made.chain.push(instruction);
        Some(())
    }

    /// True if a value has a use in the block of a site from the last rematerialized use on.
    fn is_used_from(&self, value: Value, site: Site) -> bool {
        let uses = self.uses.of(value);
        let place = |&(block, index): &(BlockId, u32)| (self.cfg.position(block), index);
        let next = uses.partition_point(|of| place(of) < (self.cfg.position(site.block), site.last));
        uses.get(next).is_some_and(|&(block, _)| block == site.block)
    }

    /// True if a value is live at a rematerialization site in any case. Uniform registers are plentiful; but one that a
    /// subset of the warp writes, such as the result of `REDUX`, is only its own until the end of the block.
    fn is_at(&self, value: Value, site: Site) -> bool {
        if !self.definitions.is_stable(value) {
            return false;
        }
        match self.function.file(value) {
            File::UR => match self.definitions.place(value) {
                Place::Instruction(block, index) => {
                    block == BlockId(0) && self.function.is_entry
                        || self.liveness.is_live_out(block, value)
                        || block == site.block && site.from > index
                }
                _ => false,
            },
            File::R | File::P if site.from == 0 => self.liveness.is_live_in(site.block, value),
            File::R | File::P => {
                self.liveness.is_live_out(site.block, value) || self.is_used_from(value, site)
            }
            _ => false,
        }
    }
}

/// The blocks in which values of one instruction are live-in on a path from a peak.
///
/// The definition dominates the peak and each use, so a block with a use is one of them if some path from the peak gets
/// there without the definition on it. Without cycles of several entries, dominators and loops decide that for most blocks; a
/// walk over the live range, which may be all of the function, does so for the others.
struct Reached<'r> {
    analyses: &'r Analyses<'r>,
    peak: BlockId,
    values: &'r [Value],
    definition: BlockId,
    /// The header of the outermost loop around the peak that does not contain the definition, if there is one.
    header: Option<BlockId>,
    /// Blocks that the walk found.
    walked: Option<FxHashSet<BlockId>>,
}

impl<'r> Reached<'r> {
    /// `None` without values, or if their definition is not known.
    fn new(analyses: &'r Analyses<'r>, peak: &Peak, values: &'r [Value]) -> Option<Reached<'r>> {
        let definition = analyses.definitions.block(*values.first()?)?;
        // Outer loops contain the definition, inner ones do not.
        let outer = peak.loops.partition_point(|&index| analyses.loops.contains(index, definition));
        let header = peak.loops.get(outer).map(|&index| analyses.loops.loops[index].header);
        Some(Reached { analyses, peak: peak.place.block, values, definition, header, walked: None })
    }

    /// True if a block with a use is one of them.
    fn has(&mut self, block: BlockId) -> bool {
        match self.by_dominators(block) {
            Some(known) => {
                debug_assert_eq!(known, self.by_walk(block), "{block} from {}", self.peak);
                known
            }
            None => self.by_walk(block),
        }
    }

    /// The answer of dominators and loops, if they have one. The header of the loop is on a cycle with the peak, so both
    /// reach the same blocks.
    fn by_dominators(&self, block: BlockId) -> Option<bool> {
        let Analyses { cfg, dominators, loops, .. } = self.analyses;
        if loops.is_irreducible() {
            return None;
        }
        let start = self.header.unwrap_or(self.peak);
        if block == self.definition {
            Some(false)
        } else if block == start {
            Some(self.header.is_some())
        } else if dominators.dominates(start, block) {
            Some(true)
        } else {
            // To an earlier block there is only the way round a loop, and that loop would be further out.
            (cfg.position(block) < cfg.position(start)).then_some(false)
        }
    }

    fn by_walk(&mut self, block: BlockId) -> bool {
        let Reached { analyses, peak, values, .. } = *self;
        let walk = || {
            let lives =
                |block: BlockId| values.iter().any(|&value| analyses.liveness.is_live_in(block, value));
            let mut reached: FxHashSet<BlockId> = FxHashSet::default();
            let mut waiting: Vec<BlockId> = vec![peak];
            while let Some(block) = waiting.pop() {
                for &successor in &analyses.function.block(block).successors {
                    if lives(successor) && reached.insert(successor) {
                        waiting.push(successor);
                    }
                }
            }
            reached
        };
        self.walked.get_or_insert_with(walk).contains(&block)
    }
}

/// Values that may be rematerialized.
struct Candidate<'a> {
    /// The results.
    values: Vec<Value>,
    sites: Vec<Site>,
    /// The instructions that compute them, in order.
    chain: SmallVec<[&'a Instruction; 6]>,
    /// Operands that the chain reads.
    leaves: Vec<Value>,
}

/// A rematerialization chain. It is short, since its cost is bounded.
#[derive(Default)]
struct Made<'a> {
    chain: SmallVec<[&'a Instruction; 6]>,
    /// The results of the chain.
    done: SmallVec<[Value; 8]>,
    /// Operands that the chain reads.
    leaves: Vec<Value>,
    cost: u32,
}

/// Cost of an instruction, in simple ones.
fn price(instruction: &Instruction) -> u32 {
    let Opcode::Sass(op) = instruction.opcode else { return 1 };
    match op.info().class(&instruction.mods) {
        Class::Special | Class::Double | Class::SpecialRegister | Class::Memory => 2,
        _ => 1,
    }
}

/// Rematerializes the values in the blocks of their sites, each before its first use there.
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
        // Replacement of each value in this block.
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

/// Duplicates an instruction with new results, once.
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
