//! The sites of barriers: where lanes of divergent branches meet, and which of these places get one of the registers.

use super::blocks::returning_block;
use super::inside::Inside;
use oriole_ori::confined::values_across_blocks;
use oriole_ori::convergence::{Anchor, Reconvergence, Site};
use oriole_ori::exits::is_bare_exit;
use oriole_ori::{BlockId, Cfg, Divergence, Dominators, File, FlowGraph, Function, Opcode, Pseudo, Value};
use std::collections::BTreeSet;
use typed_index_collections::{TiVec, ti_vec};

/// Barriers that may be live at once: the sixteen of the hardware, less one for the waits around a block.
const REGISTERS: u32 = 15;

/// [`REGISTERS`] for a function with calls: only ten barriers are preserved across a call.
const REGISTERS_WITH_CALLS: u32 = 9;

/// [`REGISTERS`] for a function that calls routines, which overwrite one.
const REGISTERS_WITH_ROUTINES: u32 = 14;

/// A barrier to be placed.
pub(super) struct Barrier {
    pub(super) site: Site,
    /// All threads of the branch wait, not only some that meet earlier.
    pub(super) whole: bool,
    pub(super) value: Value,
    /// The block that will wait.
    pub(super) gather: BlockId,
    /// Blocks between anchor and join.
    pub(super) inside: Vec<BlockId>,
    /// Edges on which threads turn away from the join.
    pub(super) leaving: Vec<(BlockId, BlockId)>,
}

/// One site for each block where threads of a divergent branch meet.
pub(super) fn barrier_sites(
    function: &mut Function,
    graph: &FlowGraph,
    divergence: &Divergence,
) -> Vec<Barrier> {
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
