//! Phases 71 and 72, OptimizeSyncInstructions and LateExpandSyncInstructions: convergence barriers.
//!
//! After every divergent branch the lanes must reconverge where the analyses say they do
//! ([`oriole_ori::convergence`]), and lanes that meet earlier should continue as one convoy. Each block where lanes
//! meet gets one barrier: `BSSY` sets it up at the anchor, `BSYNC` waits for it in a block of its own before the
//! join, and lanes that leave the region before the join leave the barrier by `BREAK`. Where nested branches end at
//! one join, the outermost anchor serves all.
//!
//! An indirect call with a divergent target splits the warp too, until all lanes have returned: it ends a block, with
//! a barrier around the call.
//!
//! No barrier is set up around an instruction that waits for all lanes of the warp or all threads of the block: the
//! held lanes may be those that must end first. Nor is one set up around a block of a cycle with several entries,
//! which lanes pass at different times.
//!
//! A function from which lanes may return at different times has a barrier from its start to its return: its callers
//! assume convergence.
//!
//! There are sixteen barriers, and a warp inside more regions than that has none left. The smallest regions get
//! theirs first, and those that make a block whole before those that only form convoys. Lanes of the other regions
//! stay divergent until the next wait, which is slower and never wrong: later phases derive convergence from the
//! barriers in place, and `WARPSYNC` is removed here, not before.
//!
//! `BSSY` names the block of its `BSYNC`; in the encoding its target is the instruction after that.

use oriole_ori::confined::values_across_blocks;
use oriole_ori::convergence::{Anchor, Cover, Reconvergence, Site};
use oriole_ori::edges;
use oriole_ori::effects::{self, called_address, gathers_warp, waits_for_all};
use oriole_ori::exits::is_bare_exit;
use oriole_ori::{
    Block, BlockId, Cfg, Destination, Divergence, Dominators, File, FlowGraph, FormChange, Function,
    Instruction, Opcode, Origin, Outcome, Pass, Phi, PhiSources, Pseudo, Source, SourceKind, Value,
    canonical,
};
use oriole_sass::Op;
use std::collections::{BTreeMap, BTreeSet};
use typed_index_collections::{TiVec, ti_vec};

/// The pass.
pub static PASS: Pass = Pass {
    form: FormChange::InSsa,
    ..Pass::new(|function, context| run(function, context.options.level >= 2))
};

/// Phases 71 and 72: places `BSSY`, `BREAK` and `BSYNC`; with `optimized`, removes redundant `WARPSYNC`. SSA in, SSA
/// out.
pub fn run(function: &mut Function, optimized: bool) -> Outcome {
    if function.blocks.is_empty() {
        return Outcome::Unchanged;
    }
    let merged = merge_latches(function) | end_blocks_at_calls(function);
    let graph = function.graph();
    let cfg = graph.cfg();
    let divergence = Divergence::new(function, &graph);
    let sites = barrier_sites(function, &graph, &divergence);
    let gathers = returns_apart(function, &sites, &divergence);
    if sites.is_empty() && !gathers {
        // Nothing changes, so the analyses stay valid.
        let removed = optimized && remove_syncs_of(function, cfg, &divergence);
        return Outcome::changed_if(merged || removed);
    }
    place(function, &sites);
    let merged = (gathers && gather_before_return(function)) | merged;
    let removed = optimized && remove_warp_syncs(function);
    // Where some edges of a phi got a phi of their own, both may merge equal values now.
    let merges_one = |phi: &Phi| {
        let sources = phi.sources.iter().map(|(_, source)| source);
        let mut others = sources.filter(|source| source.value() != Some(phi.destination));
        let first = others.next();
        others.all(|other| Some(other) == first)
    };
    if merged || removed || function.blocks.iter().any(|block| block.phis.iter().any(merges_one)) {
        Outcome::Changed
    } else {
        Outcome::Kept
    }
}

/// The block that returns from a function, if it has one of them.
fn returning_block(function: &Function) -> Option<BlockId> {
    let returns =
        |block: &Block| block.instructions.iter().any(|i| i.opcode == Opcode::Pseudo(Pseudo::Return));
    let mut all = function.block_ids().filter(|&id| returns(function.block(id)));
    all.next().filter(|_| all.next().is_none())
}

/// True for a function whose lanes may return at different times: it has a divergent branch without a barrier.
fn returns_apart(function: &Function, sites: &[Barrier], divergence: &Divergence) -> bool {
    if returning_block(function).is_none() {
        return false;
    }
    let mut gathered: TiVec<BlockId, bool> = ti_vec![false; function.blocks.len()];
    for barrier in sites.iter().filter(|barrier| barrier.whole) {
        barrier.inside.iter().for_each(|&block| gathered[block] = true);
        if let Anchor::End(block) = barrier.site.anchor {
            gathered[block] = true;
        }
    }
    let parts = |id: BlockId| divergence.is_divergent_branch(id) && !divergence.keeps_together(function, id);
    function.block_ids().any(|id| !gathered[id] && parts(id))
}

/// Reconverges the lanes of a function before it returns: the caller assumes convergence and does not know the body.
/// Each lane passes the start and the return once, whatever cycles are in between. Not done if an instruction on the
/// way waits for all lanes of the warp. True if there is such a barrier now.
fn gather_before_return(function: &mut Function) -> bool {
    let waits = |block: &Block| block.instructions.iter().any(waits_for_all);
    let Some(last) = returning_block(function).filter(|_| !function.blocks.iter().any(waits)) else {
        return false;
    };
    let first = BlockId(0);
    let graph = function.graph();
    let cfg = graph.cfg();
    let before: Vec<BlockId> = cfg.predecessors(last).to_vec();
    if first == last || before.is_empty() || !cfg.predecessors(first).is_empty() {
        return false;
    }
    let ends = edges::end_origins(function, cfg);
    let origin = function.block(last).instructions.first().map_or(ends[last], |first| first.origin);
    let value = function.new_value(File::B, None);
    let gather = insert_block(function, last, &before);
    let mut wait = Instruction::new(Op::BSYNC, origin);
    wait.sources.push(Source::value(value));
    function.block_mut(gather).instructions.push(wait);
    let mut set_up = Instruction::new(Op::BSSY, ends[first]);
    set_up.destinations.push(Destination::new(File::B, [value]));
    set_up.sources.push(Source::plain(SourceKind::Block(gather)));
    let block = function.block_mut(first);
    let end = edges::end_of_code(block);
    block.instructions.insert(end, set_up);
    canonical::order_blocks(function);
    true
}

fn place(function: &mut Function, sites: &[Barrier]) {
    // All waits are placed first, then the setups before loops: lanes that meet at a loop header reconverge before
    // they enter. Block sets refer to the original function, so edges are identified by their ends.
    let ends = edges::end_origins(function, function.graph().cfg());
    let mut in_source: Vec<u32> = ends.iter().map(|&Origin(ordinal)| ordinal).collect();
    in_source.sort_unstable();
    for barrier in sites {
        let mut into_join: Vec<BlockId> = barrier.inside.clone();
        if let Anchor::End(block) = barrier.site.anchor {
            into_join.push(block);
        }
        into_join.retain(|&block| function.block(block).successors.contains(&barrier.site.join));
        // The wait ends the block before the join in the source, or belongs to the instruction that all of this was
        // expanded from.
        let mut led = into_join.iter().map(|&block| ends[block]);
        let origin = match function.block(barrier.site.join).instructions.first().map(|first| first.origin) {
            Some(join) if led.any(|end| end == join) => join,
            Some(join) => {
                let before = in_source.partition_point(|&end| end < join.0).checked_sub(1);
                before.map_or(join, |at| Origin(in_source[at]))
            }
            None => led.max_by_key(|end| end.0).unwrap_or(Origin(0)),
        };
        let mut wait = Instruction::new(Op::BSYNC, origin);
        wait.sources.push(Source::value(barrier.value));
        let gather = insert_block(function, barrier.site.join, &into_join);
        debug_assert_eq!(gather, barrier.gather);
        function.block_mut(gather).instructions.push(wait);
    }
    let mut preheaders: BTreeMap<BlockId, BlockId> = BTreeMap::new();
    // A preheader changes only the edges into its own header, so one graph serves all of them.
    let graph = function.graph();
    let (cfg, dominators) = (graph.cfg(), graph.dominators());
    for barrier in sites {
        let mut set_up = Instruction::new(Op::BSSY, Origin(0));
        set_up.destinations.push(Destination::new(File::B, [barrier.value]));
        set_up.sources.push(Source::plain(SourceKind::Block(barrier.gather)));
        match barrier.site.anchor {
            Anchor::End(id) => {
                set_up.origin = ends[id];
                let block = function.block_mut(id);
                let end = edges::end_of_code(block);
                let calls =
                    end.checked_sub(1).filter(|&at| called_address(&block.instructions[at]).is_some());
                block.instructions.insert(calls.unwrap_or(end), set_up);
            }
            Anchor::Entry(header) => {
                let before = match preheaders.get(&header) {
                    Some(&before) => before,
                    None => {
                        // Back edges come from inside the loop or from waits of barriers within it; a predecessor
                        // that the header does not dominate is an entry.
                        let enters = |p: &BlockId| !dominators.dominates(header, *p);
                        let entering: Vec<BlockId> =
                            cfg.predecessors(header).iter().copied().filter(enters).collect();
                        let before = insert_block(function, header, &entering);
                        preheaders.insert(header, before);
                        before
                    }
                };
                let first = function.block(header).instructions.first();
                set_up.origin = first.map_or(ends[header], |first| first.origin);
                function.block_mut(before).instructions.push(set_up);
            }
        }
    }
    let Some(first_new) = sites.first().map(|barrier| barrier.gather) else { return };
    for barrier in sites {
        for &(from, to) in &barrier.leaving {
            leave(function, barrier, ends[from], from, to, first_new);
        }
    }
    canonical::order_blocks(function);
}

/// Gives each loop one back edge: threads that end an iteration in different blocks reconverge there. True if a loop
/// had several.
fn merge_latches(function: &mut Function) -> bool {
    let graph = function.graph();
    let loops = graph.loops();
    let mut merged = false;
    for lap in loops.loops.iter().filter(|lap| lap.latches.len() > 1) {
        // Latches keep their ids: a merge adds a block and moves edges.
        insert_block(function, lap.header, &lap.latches);
        merged = true;
    }
    merged
}

/// Ends a block after each indirect call, where lanes of different targets reconverge. True if a call was inside a
/// block.
fn end_blocks_at_calls(function: &mut Function) -> bool {
    let mut ended = false;
    for id in function.block_ids() {
        // From the last one on: the code after it is then in a block of its own.
        while let Some(at) = last_call_inside(function.block(id)) {
            let rest = function.blocks.next_key();
            let block = function.block_mut(id);
            let instructions = block.instructions.split_off(at + 1);
            let successors = std::mem::replace(&mut block.successors, smallvec::smallvec![rest]);
            for &successor in &successors {
                edges::rename_predecessor(function, successor, id, rest);
            }
            function.blocks.push(Block { instructions, successors, ..Block::default() });
            ended = true;
        }
    }
    if ended {
        canonical::order_blocks(function);
    }
    ended
}

/// The last indirect call that is not the last instruction of its block.
fn last_call_inside(block: &Block) -> Option<usize> {
    let end = block.instructions.len().checked_sub(1)?;
    block.instructions[..end].iter().rposition(|instruction| called_address(instruction).is_some())
}

/// Barriers that may be live at once: the sixteen of the hardware, less one for the waits around a block.
const REGISTERS: u32 = 15;

/// [`REGISTERS`] for a function with calls: only ten barriers are preserved across a call.
const REGISTERS_WITH_CALLS: u32 = 9;

/// [`REGISTERS`] for a function that calls routines, which overwrite one.
const REGISTERS_WITH_ROUTINES: u32 = 14;

/// A barrier to be placed.
struct Barrier {
    site: Site,
    /// All threads of the branch wait, not only some that meet earlier.
    whole: bool,
    value: Value,
    /// The block that will wait.
    gather: BlockId,
    /// Blocks between anchor and join.
    inside: Vec<BlockId>,
    /// Edges on which threads turn away from the join.
    leaving: Vec<(BlockId, BlockId)>,
}

/// One site for each block where threads of a divergent branch meet.
fn barrier_sites(function: &mut Function, graph: &FlowGraph, divergence: &Divergence) -> Vec<Barrier> {
    let cfg = graph.cfg();
    if !cfg.order().iter().any(|&id| divergence.is_divergent_branch(id)) {
        return Vec::new();
    }
    let mut reconvergence = Reconvergence::new(function, graph);
    let sites = candidate_sites(function, graph, divergence, &mut reconvergence);
    let chosen = within_registers(function, &reconvergence, sites);
    let gathers = (function.blocks.len()..).map(BlockId::from);
    chosen
        .into_iter()
        .zip(gathers)
        .map(|((site, whole, inside), gather)| {
            let leaving = leaving_edges(function, site, &inside);
            Barrier { site, whole, value: function.new_value(File::B, None), gather, inside, leaving }
        })
        .collect()
}

/// Blocks that the whole warp executes, and that write uniform registers which others read: they must stay whole.
fn uniform_writes(function: &Function, cfg: &Cfg, divergence: &Divergence) -> Vec<BlockId> {
    let is_uniform = |value: Value| matches!(function.file(value), File::UR | File::UP);
    if !function.values.keys().any(is_uniform) {
        return Vec::new();
    }
    let crosses = values_across_blocks(function);
    let writes = |&id: &BlockId| {
        let mut writes = false;
        for instruction in &function.block(id).instructions {
            instruction.for_each_definition(|value| writes |= crosses[value] && is_uniform(value));
        }
        writes && divergence.is_uniform_block(id)
    };
    cfg.order().iter().copied().filter(writes).collect()
}

/// True if no thread comes to a block after it has left another one.
fn is_over_before(graph: &FlowGraph, block: BlockId, other: BlockId) -> bool {
    let (cfg, loops) = (graph.cfg(), graph.loops());
    if cfg.position(block) > cfg.position(other) || loops.is_irreducible() {
        return false;
    }
    let mut around = loops.innermost(block);
    while let Some(index) = around {
        if loops.contains(index, other) {
            return false;
        }
        around = loops.loops[index].parent;
    }
    true
}

/// The sites where a barrier would be right, each with its blocks: those that uniformity rests on first, then the short
/// ones.
fn candidate_sites(
    function: &Function,
    graph: &FlowGraph,
    divergence: &Divergence,
    reconvergence: &mut Reconvergence<'_>,
) -> Vec<(Site, Inside)> {
    let cfg = graph.cfg();
    let mut sites: Vec<Site> = Vec::new();
    let mut wholes: Vec<Site> = Vec::new();
    let mut written = None;
    for &id in cfg.order() {
        if !divergence.is_divergent_branch(id) {
            continue;
        }
        if divergence.keeps_together(function, id) {
            // No lane has to wait for another, but later phases only see that by the barrier.
            let written = written.get_or_insert_with(|| uniform_writes(function, cfg, divergence));
            if written.iter().all(|&block| is_over_before(graph, block, id)) {
                continue;
            }
        }
        let whole = reconvergence.site(id);
        if whole.is_none() && reconvergence.has_barred() {
            // Nothing is known of where its lanes may be held.
            continue;
        }
        let join = whole.map(|site| site.join);
        let mut meetings = reconvergence.meetings_ahead(id, join);
        meetings.retain(|&at| Some(at) != join);
        let mut headers = reconvergence.headers_between(id, join);
        headers.retain(|&at| Some(at) != join && !meetings.contains(&at));
        sites.extend(whole);
        wholes.extend(whole);
        sites.extend(meetings.iter().filter_map(|&join| reconvergence.partial_site(id, join)));
        // Threads on one path reach a loop together, except those that leave another loop on that path one by one.
        let leaves_loop = |site: &Site| matches!(site.anchor, Anchor::Entry(_));
        let partial = headers.iter().filter_map(|&join| reconvergence.partial_site(id, join));
        sites.extend(partial.filter(leaves_loop));
    }
    wholes.sort_unstable();
    wholes.dedup();
    let mut candidates: Vec<(bool, u32, Site, Inside)> = topmost(sites, reconvergence.dominators())
        .into_iter()
        .filter_map(|site| {
            let whole = wholes.binary_search(&site).is_ok();
            let inside = Inside::new(reconvergence, site, whole);
            let barred = match &inside.blocks {
                Ok(cover) => reconvergence.cover_barred(cover),
                Err(blocks) => reconvergence.any_barred(blocks),
            };
            (!barred).then_some((!whole, inside.count, site, inside))
        })
        .collect();
    candidates.sort_unstable_by_key(|&(partial, count, site, _)| (partial, count, site));
    candidates.into_iter().map(|(.., site, inside)| (site, inside)).collect()
}

/// The sites that get a barrier register, each with the blocks between anchor and join. The threads of the others
/// stay divergent until the next barrier.
fn within_registers(
    function: &Function,
    reconvergence: &Reconvergence<'_>,
    candidates: Vec<(Site, Inside)>,
) -> Vec<(Site, bool, Vec<BlockId>)> {
    let all = || function.blocks.iter().flat_map(|block| &block.instructions);
    let calls = |of: Pseudo| all().any(|instruction| instruction.opcode == Opcode::Pseudo(of));
    let registers = if calls(Pseudo::Call) {
        REGISTERS_WITH_CALLS
    } else if calls(Pseudo::CallHelper) {
        REGISTERS_WITH_ROUTINES
    } else {
        REGISTERS
    };
    // One is reserved for the barrier before the return.
    let registers = registers - u32::from(returning_block(function).is_some());
    let mut live: TiVec<BlockId, u32> = ti_vec![0u32; function.blocks.len()];
    // Positions in the dominator tree where all registers are in use.
    let mut full: BTreeSet<u32> = BTreeSet::new();
    let mut chosen = Vec::new();
    for (site, inside) in candidates {
        let ends = [site.anchor.block(), site.join];
        if ends.iter().any(|block| live[*block] >= registers)
            || inside.meets(&full, |block| live[block] >= registers)
        {
            continue;
        }
        let whole = inside.whole;
        let inside = inside.blocks(function, reconvergence);
        for block in inside.iter().copied().chain(ends) {
            live[block] += 1;
            if live[block] >= registers {
                full.extend(reconvergence.dominators().interval(block).map(|(position, _)| position));
            }
        }
        chosen.push((site, whole, inside));
    }
    chosen
}

/// The edges on which threads turn away from the join of a site.
fn leaving_edges(function: &Function, site: Site, inside: &[BlockId]) -> Vec<(BlockId, BlockId)> {
    let end = match site.anchor {
        Anchor::End(block) => Some(block),
        Anchor::Entry(_) => None,
    };
    let mut leaving = Vec::new();
    for &from in inside.iter().chain(&end) {
        let mut targets = function.block(from).successors.clone();
        targets.sort_unstable();
        targets.dedup();
        for to in targets {
            // The hardware removes exited lanes from all barriers.
            let is_inside = inside.binary_search(&to).is_ok();
            if to != site.join && !is_inside && !is_bare_exit(function, to) {
                leaving.push((from, to));
            }
        }
    }
    leaving
}

/// For each join, the sites whose anchors are below no other anchor: the upper one serves both.
fn topmost(mut sites: Vec<Site>, dominators: &Dominators) -> Vec<Site> {
    let interval = |site: &Site| dominators.interval(site.anchor.block()).unwrap_or((u32::MAX, u32::MAX));
    sites.sort_unstable_by_key(|site| (site.join, interval(site).0, matches!(site.anchor, Anchor::End(_))));
    // In preorder of the tree, the blocks below an anchor follow it directly.
    let mut chosen: Vec<Site> = Vec::new();
    for site in sites {
        let covered = chosen
            .last()
            .is_some_and(|upper| upper.join == site.join && interval(&site).0 < interval(upper).1);
        if !covered {
            chosen.push(site);
        }
    }
    chosen
}

/// The blocks between the anchor and the join of a site.
struct Inside {
    /// All threads of the branch meet at the join.
    whole: bool,
    count: u32,
    /// As a part of the dominator tree, or else as a sorted list.
    blocks: Result<Cover, Vec<BlockId>>,
}

impl Inside {
    fn new(reconvergence: &mut Reconvergence<'_>, site: Site, whole: bool) -> Inside {
        match reconvergence.inside_whole(site).filter(|_| whole) {
            Some(cover) => {
                let places = cover.places.iter().map(|range| range.end.saturating_sub(range.start));
                let ends = reconvergence.bare_exits();
                let skipped = cover.places.iter().map(|range| {
                    ends.partition_point(|place| *place < range.end.max(range.start))
                        - ends.partition_point(|place| *place < range.start)
                });
                let count = places.sum::<u32>() - skipped.sum::<usize>() as u32;
                Inside { whole, count, blocks: Ok(cover) }
            }
            None => {
                let blocks = reconvergence.inside(site);
                Inside { whole, count: blocks.len() as u32, blocks: Err(blocks) }
            }
        }
    }

    /// True if one of the blocks is full.
    fn meets(&self, full: &BTreeSet<u32>, is_full: impl Fn(BlockId) -> bool) -> bool {
        match &self.blocks {
            Ok(cover) => cover
                .places
                .iter()
                .any(|range| range.start < range.end && full.range(range.clone()).next().is_some()),
            Err(blocks) => blocks.iter().any(|&block| is_full(block)),
        }
    }

    fn blocks(self, function: &Function, reconvergence: &Reconvergence<'_>) -> Vec<BlockId> {
        match self.blocks {
            Ok(cover) => {
                let places = cover.places.into_iter().flatten();
                let blocks = places.map(|place| reconvergence.at(place));
                let mut blocks: Vec<BlockId> = blocks.filter(|&b| !is_bare_exit(function, b)).collect();
                blocks.sort_unstable();
                blocks
            }
            Err(blocks) => blocks,
        }
    }
}

/// Threads on this edge leave the barrier.
fn leave(
    function: &mut Function,
    barrier: &Barrier,
    origin: Origin,
    from: BlockId,
    to: BlockId,
    first_new: BlockId,
) {
    let mut instruction = Instruction::new(Op::BREAK, origin);
    instruction.sources.push(Source::value(barrier.value));
    if function.block(from).successors.len() == 1 {
        let block = function.block_mut(from);
        let end = edges::end_of_code(block);
        block.instructions.insert(end, instruction);
        return;
    }
    // The edge may lead through blocks that were placed on it.
    let leads = |mut block: BlockId| {
        while block >= first_new {
            block = function.block(block).successors[0];
        }
        block == to
    };
    let Some(next) = function.block(from).successors.iter().copied().find(|&s| leads(s)) else { return };
    let between = insert_block(function, next, &[from]);
    function.block_mut(between).instructions.push(instruction);
}

/// Puts a new block before `target` on the edges from these predecessors; phis are divided between the two.
fn insert_block(function: &mut Function, target: BlockId, from: &[BlockId]) -> BlockId {
    let new = function.blocks.next_key();
    function.blocks.push(Block { successors: smallvec::smallvec![target], ..Block::default() });
    for &predecessor in from {
        edges::redirect(function, predecessor, target, new);
    }
    let phis = std::mem::take(&mut function.block_mut(target).phis);
    // There may be as many edges as blocks.
    let mut moving = from.to_vec();
    moving.sort_unstable();
    for mut phi in phis {
        // One edge out of possibly many: only its source is touched.
        if let ([predecessor], true) = (from, phi.sources.len() > 1) {
            let source = phi.sources.iter_mut().find(|(block, _)| block == predecessor);
            source.into_iter().for_each(|(block, _)| *block = new);
            function.block_mut(target).phis.push(phi);
            continue;
        }
        let (mut moved, kept): (PhiSources, PhiSources) =
            phi.sources.into_iter().partition(|(block, _)| moving.binary_search(block).is_ok());
        if kept.is_empty() {
            phi.sources = moved;
            function.block_mut(new).phis.push(phi);
            continue;
        }
        phi.sources = kept;
        match moved.len() {
            0 => {}
            1 => phi.sources.extend(moved.pop().map(|(_, only)| (new, only))),
            _ => {
                let data = function.values[phi.destination];
                let merged = function.new_value(data.file, data.source);
                function.block_mut(new).phis.push(Phi { destination: merged, sources: moved });
                phi.sources.push((new, merged.into()));
            }
        }
        function.block_mut(target).phis.push(phi);
    }
    new
}

/// Removes a `WARPSYNC` of all lanes where the whole warp of a kernel is converged anyway, or has met for
/// an exchange before. True if there was one.
pub fn remove_warp_syncs(function: &mut Function) -> bool {
    if !has_removable_syncs(function) {
        return false;
    }
    let graph = function.graph();
    let cfg = graph.cfg();
    let divergence = Divergence::new(function, &graph);
    remove_syncs_of(function, cfg, &divergence)
}

/// True if a `WARPSYNC` may not be needed.
fn has_removable_syncs(function: &Function) -> bool {
    function.is_entry && function.blocks.iter().any(|block| block.instructions.iter().any(gathers_warp))
}

/// Takes away each `WARPSYNC` that is not needed. True if there was one.
fn remove_syncs_of(function: &mut Function, cfg: &Cfg, divergence: &Divergence) -> bool {
    if !has_removable_syncs(function) {
        return false;
    }
    let mut removed = false;
    for &id in cfg.order() {
        let instructions = &mut function.block_mut(id).instructions;
        let before = instructions.len();
        if divergence.is_uniform_block(id) {
            instructions.retain(|instruction| !gathers_warp(instruction));
        } else if instructions.iter().filter(|it| gathers_warp(it)).nth(1).is_some() {
            remove_later_syncs(instructions);
        }
        removed |= instructions.len() < before;
    }
    removed
}

/// Removes each `WARPSYNC` for an exchange that follows another one: lanes that exchange have met at one place, and
/// nothing between parts them. Where lanes only wait for each other, they may be at several places.
fn remove_later_syncs(instructions: &mut Vec<Instruction>) {
    // From the end: whether the next operation of several lanes is an exchange.
    let mut exchanges = false;
    let mut serves: Vec<bool> = vec![false; instructions.len()];
    for (serves, instruction) in serves.iter_mut().zip(instructions.iter()).rev() {
        if gathers_warp(instruction) {
            *serves = exchanges;
            exchanges = false;
        } else if may_part(instruction) {
            exchanges = false;
        } else if effects::is_exchange(instruction) {
            exchanges = true;
        }
    }
    let mut together = false;
    let mut at = 0;
    instructions.retain(|instruction| {
        let serves_exchange = serves[at];
        at += 1;
        if gathers_warp(instruction) {
            let gone = serves_exchange && together;
            together = serves_exchange;
            return !gone;
        }
        together &= !may_part(instruction);
        true
    });
}

/// True if lanes that are together before the instruction may not be together after it, or need an order of accesses.
fn may_part(instruction: &Instruction) -> bool {
    let parts = effects::is_convergent(instruction) && !effects::is_exchange(instruction);
    parts || instruction.call.is_some() || instruction.memory.is_some()
}
