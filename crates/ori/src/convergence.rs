//! Points where the threads that a branch splits reconverge.
//!
//! There are two notions. The *site* of a branch is where all its threads reconverge; uniformity depends on it.
//! Before that, some of them may meet ([`Reconvergence::meetings_ahead`]). A barrier there gathers them into one
//! convoy, but a subset of the warp still executes the block.
//!
//! It is here because divergence analysis, the placement of convergence barriers and the verifier must agree: a block
//! counts as executed by the whole warp only if a barrier really gathers the warp before it.
//!
//! A site is a pair of an anchor, where the barrier is set up, and a join, where it is waited for. Every thread that
//! passes the anchor reaches the join or ends, and every thread that reaches the join from inside passed the anchor
//! once since its last join. For most branches the anchor is the branch and the join its immediate post-dominator;
//! for a branch that leaves a loop the anchor is the loop entry. Where other paths lead into the middle of the
//! region, anchor and join are widened until none does.

//!
//! A branch has no site if an instruction of its region waits for every live lane of the warp or every thread of the
//! block. Lanes past that instruction may be on their way to the end of the program, and the other lanes wait for
//! that. Lanes held at the join would never get there. A branch also has no site if a block of its region is on a
//! cycle with several entries: no block of such a cycle is passed by all its threads.
//!
//! The region between a branch and its join is mostly a part of the dominator tree: the blocks below one block, less
//! those below the join. Then no walk is needed: [`Cover`] describes it, and edges that leave it are found in
//! logarithmic time. Only a region with side entries is walked.

mod escapes;
mod meetings;
mod runs;
#[cfg(test)]
mod tests;

use crate::exits::is_bare_exit;
use crate::{BlockId, Cfg, Dominators, File, FlowGraph, Function, Loops, Opcode, Value, dominance, effects};
use escapes::Escapes;
use oriole_sass::Op;
use runs::Runs;
use rustc_hash::FxHashMap;
use std::cell::OnceCell;

pub use meetings::Cover;
use typed_index_collections::{TiVec, ti_vec};

/// The place where a convergence barrier is set up.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Anchor {
    /// At the end of the block, before its branch.
    End(BlockId),
    /// On the edges that enter the loop with this header from outside.
    Entry(BlockId),
}

impl Anchor {
    /// The block that dominates the region.
    pub fn block(self) -> BlockId {
        match self {
            Anchor::End(block) | Anchor::Entry(block) => block,
        }
    }
}

/// Anchor and join of one branch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Site {
    /// The place where the barrier is set up.
    pub anchor: Anchor,
    /// The first block that all threads of the region execute together again.
    pub join: BlockId,
}

/// Finds the sites of a function.
pub struct Reconvergence<'a> {
    function: &'a Function,
    dominators: &'a Dominators,
    post: Dominators,
    loops: &'a Loops,
    cfg: &'a Cfg,
    placed: Option<Placed>,
    seen: TiVec<BlockId, u32>,
    /// For each block the stamp of the branch that reached it last, and the first block of the path that leads there.
    labels: TiVec<BlockId, (u32, BlockId)>,
    stamp: u32,
    /// The blocks of the dominator tree by place.
    preorder: Vec<BlockId>,
    /// The places of bare exits.
    bare_exits: Vec<u32>,
    /// Computed on first use.
    escapes: OnceCell<Escapes>,
    /// Dominance frontier of each block without back edges; computed on first use.
    frontiers: Option<TiVec<BlockId, Vec<BlockId>>>,
    /// Loops with the dominator-tree positions of their headers, sorted by position.
    headers: Vec<(u32, usize)>,
    /// For each of these headers how many precede it up to the last one that does not dominate it.
    apart: Vec<usize>,
    /// True if some block cannot reach an end.
    endless: bool,
    /// Sites that were found, by branch.
    sites: TiVec<BlockId, Option<Option<Site>>>,
    /// Dominator-tree positions of the blocks that must not be inside a barrier: those that wait for all lanes of the
    /// warp or all threads of the block, and those of cycles with several entries.
    barred: Vec<u32>,
    /// Cached result for each anchor and join that was tried.
    tried: FxHashMap<(Anchor, BlockId), Option<Site>>,
    /// Known answers of [`Reconvergence::past_loop`].
    past: FxHashMap<(usize, BlockId), Option<BlockId>>,
    /// Computed on first use.
    runs: OnceCell<Runs>,
}

impl<'a> Reconvergence<'a> {
    /// Prepares the trees that [`Reconvergence::site`] needs.
    pub fn new(function: &'a Function, graph: &'a FlowGraph) -> Reconvergence<'a> {
        let (cfg, dominators, loops) = (graph.cfg(), graph.dominators(), graph.loops());
        let post = Dominators::post_with(function, cfg, |block| !is_bare_exit(function, block));
        let place = |index: usize| dominators.interval(loops.loops[index].header).map(|(place, _)| place);
        let mut headers: Vec<(u32, usize)> =
            (0..loops.loops.len()).filter_map(|index| Some((place(index)?, index))).collect();
        headers.sort_unstable();
        let mut apart: Vec<usize> = Vec::with_capacity(headers.len());
        for (at, &(_, index)) in headers.iter().enumerate() {
            let header = loops.loops[index].header;
            let before = at.checked_sub(1).map(|before| loops.loops[headers[before].1].header);
            apart.push(match before {
                Some(before) if dominators.dominates(before, header) => apart[at - 1],
                _ => at,
            });
        }
        let preorder = dominators.preorder();
        let is_bare = |place: &u32| is_bare_exit(function, preorder[*place as usize]);
        let bare_exits = (0..preorder.len() as u32).filter(is_bare).collect();
        let mut is_barred: TiVec<BlockId, bool> = function
            .blocks
            .iter()
            .map(|block| block.instructions.iter().any(effects::waits_for_all))
            .collect();
        loops.irreducible.iter().for_each(|&block| is_barred[block] = true);
        let barred =
            (0..preorder.len() as u32).filter(|&place| is_barred[preorder[place as usize]]).collect();
        Reconvergence {
            function,
            cfg,
            bare_exits,
            barred,
            endless: has_endless(function, cfg),
            preorder,
            placed: Placed::new(function, cfg, &post),
            dominators,
            post,
            loops,
            seen: ti_vec![0; function.blocks.len()],
            labels: ti_vec![(0, BlockId(0)); function.blocks.len()],
            stamp: 0,
            escapes: OnceCell::new(),
            frontiers: None,
            headers,
            apart,
            sites: ti_vec![None; function.blocks.len()],
            tried: FxHashMap::default(),
            past: FxHashMap::default(),
            runs: OnceCell::new(),
        }
    }

    /// True if there are blocks that must not be inside a barrier.
    pub fn has_barred(&self) -> bool {
        !self.barred.is_empty()
    }

    /// True if one of these blocks must not be inside a barrier.
    pub fn any_barred(&self, blocks: &[BlockId]) -> bool {
        !self.barred.is_empty()
            && blocks.iter().any(|&block| {
                let place = self.dominators.interval(block).map(|(place, _)| place);
                place.is_some_and(|place| self.barred.binary_search(&place).is_ok())
            })
    }

    /// [`Reconvergence::any_barred`] for the blocks of a part of the dominator tree.
    pub fn cover_barred(&self, cover: &Cover) -> bool {
        cover.places.iter().any(|range| {
            let at = self.barred.partition_point(|&place| place < range.start);
            self.barred.get(at).is_some_and(|&place| place < range.end)
        })
    }

    /// The loops.
    pub fn loops(&self) -> &Loops {
        self.loops
    }

    /// True if every thread that passes `before` and does not end passes `after` too, or if they are one block.
    pub fn post_dominates(&self, after: BlockId, before: BlockId) -> bool {
        self.post.dominates(after, before)
    }

    /// The dominator tree.
    pub fn dominators(&self) -> &Dominators {
        self.dominators
    }

    /// The places of bare exits in a walk of the dominator tree.
    pub fn bare_exits(&self) -> &[u32] {
        &self.bare_exits
    }

    /// Site where the threads that diverge at the end of this block reconverge; `None` if they never do, or nowhere
    /// safely.
    pub fn site(&mut self, branch: BlockId) -> Option<Site> {
        if let Some(known) = self.sites[branch] {
            return known;
        }
        let found = self.find_site(branch);
        self.sites[branch] = Some(found);
        found
    }

    fn find_site(&mut self, branch: BlockId) -> Option<Site> {
        if let Some(placed) = &self.placed {
            // Barriers are placed already: their positions count.
            let mut join = placed.next(self.post.immediate(branch)?);
            while let Some((block, anchor)) = join {
                if self.dominators.dominates(anchor, branch) {
                    return Some(Site { anchor: Anchor::End(anchor), join: block });
                }
                join = placed.next(self.post.immediate(block)?);
            }
            return None;
        }
        let mut site = Site { anchor: Anchor::End(branch), join: self.post.immediate(branch)? };
        // Branches whose searches meet continue as one search.
        let mut path = Vec::new();
        let found = loop {
            if let Some(known) = self.tried.get(&(site.anchor, site.join)) {
                break *known;
            }
            path.push((site.anchor, site.join));
            match self.wider(site) {
                Some(wider) if wider == site => {
                    let is_barred = |cover: &Cover| self.cover_barred(cover);
                    let barred = self.part(site.anchor, Some(site.join)).as_ref().is_some_and(is_barred);
                    break (!barred).then_some(site);
                }
                Some(wider) => site = wider,
                None => break None,
            }
        };
        self.tried.extend(path.into_iter().map(|tried| (tried, found)));
        found
    }

    /// The site itself if it will do, or the next one to be tried.
    fn wider(&mut self, site: Site) -> Option<Site> {
        let Site { anchor, join } = site;
        let mut left = None;
        let mut at = self.loops.innermost(anchor.block());
        while let Some(index) = at.filter(|&index| !self.loops.contains(index, join)) {
            left = Some(self.loops.loops[index].header);
            at = self.loops.loops[index].parent;
        }
        if let Some(header) = left
            && anchor != Anchor::Entry(header)
        {
            return Some(Site { anchor: Anchor::Entry(header), join: self.common_join(join, header)? });
        }
        // A side entry into the region, or the anchor again before the join: widen the anchor.
        if self.leaves(anchor, Some(join)) {
            let wider = self.dominators.immediate(self.last_that_leaves(site))?;
            return Some(Site { anchor: Anchor::End(wider), join: self.common_join(join, wider)? });
        }
        // A loop around the join that leads back into the region past the anchor: a later join.
        let mut around = None;
        let mut at = self.loops.innermost(join);
        while let Some(index) = at.filter(|&index| !self.loops.contains(index, anchor.block())) {
            around = Some(index);
            at = self.loops.loops[index].parent;
        }
        let Some(index) = around else { return Some(site) };
        // The blocks of the loop are below its header. The region has either the header or no block of the loop.
        let header = self.loops.loops[index].header;
        if header == join || !self.dominators.dominates(anchor.block(), header) {
            return Some(site);
        }
        Some(Site { anchor, join: self.past_loop(index, join)? })
    }

    /// The first block out of the loop that all threads of a block in it pass. Branches of one loop walk the same
    /// blocks: each is walked once.
    fn past_loop(&mut self, index: usize, block: BlockId) -> Option<BlockId> {
        let mut path = Vec::new();
        let mut at = Some(block);
        while let Some(inside) = at.filter(|&at| self.loops.contains(index, at)) {
            if let Some(&known) = self.past.get(&(index, inside)) {
                at = known;
                break;
            }
            path.push(inside);
            at = self.post.immediate(inside);
        }
        self.past.extend(path.into_iter().map(|inside| ((index, inside), at)));
        at
    }

    /// For a region that an edge leaves: the highest dominator of the anchor that is known to have the same join and
    /// an edge that leaves, as all dominators between. Trying each of them would be quadratic in the branches of a
    /// loop that have an edge to its header.
    fn last_that_leaves(&self, Site { anchor, join }: Site) -> BlockId {
        let block = anchor.block();
        let kept = anchor == Anchor::End(block)
            && self.post.dominates(join, block)
            && !self.dominators.dominates(join, block);
        if !kept {
            return block;
        }
        let count = self.function.blocks.len();
        let runs = self
            .runs
            .get_or_init(|| Runs::new(self.dominators, &self.post, self.loops, &self.preorder, count));
        let above = runs.up_to(block);
        let leaves_all = |&top: &BlockId| {
            let place = self.dominators.interval(top).map(|(place, _)| place);
            place.is_some_and(|place| self.leaves_past(anchor, Some(join), place))
        };
        // An edge that leaves one leaves those below too.
        above.get(above.partition_point(|top| !leaves_all(top))).copied().unwrap_or(block)
    }

    /// True if an edge leaves the region: from a block below the anchor, but not below the join, to a block other
    /// than the join that the anchor does not dominate; or back to the block of an [`Anchor::End`].
    fn leaves(&self, anchor: Anchor, join: Option<BlockId>) -> bool {
        let Some((place, _)) = self.dominators.interval(anchor.block()) else { return true };
        self.leaves_past(anchor, join, place)
    }

    /// [`Reconvergence::leaves`] for edges to blocks that a dominator of the anchor does not dominate either.
    fn leaves_past(&self, anchor: Anchor, join: Option<BlockId>, top: u32) -> bool {
        let (function, cfg) = (self.function, self.cfg);
        let escapes = self.escapes.get_or_init(|| Escapes::new(function, cfg, self.dominators));
        let Some((from, to)) = self.dominators.interval(anchor.block()) else { return true };
        let header = match anchor {
            Anchor::Entry(header) => Some(header),
            Anchor::End(_) => None,
        };
        let (skip_from, skip_to) = below(self.dominators, join, from, to);
        escapes.leave(from..skip_from, top, [join, header]) || escapes.leave(skip_to..to, top, [join, header])
    }

    /// A barrier for those threads of a branch that meet at `join` before the whole warp reconverges. Its anchor
    /// dominates the join; threads that take another path must leave the barrier. `None` if threads that passed the
    /// join could return into the region past the anchor.
    pub fn partial_site(&self, branch: BlockId, join: BlockId) -> Option<Site> {
        // On a back edge threads arrive at different times: no barrier can hold one iteration for the next.
        if self.dominators.dominates(join, branch) {
            return None;
        }
        let mut block = branch;
        while !self.dominators.dominates(block, join) || block == join {
            block = self.dominators.immediate(block)?;
        }
        let mut anchor = Anchor::End(block);
        let mut at = self.loops.innermost(block);
        while let Some(index) = at {
            if self.loops.contains(index, join) {
                break;
            }
            anchor = Anchor::Entry(self.loops.loops[index].header);
            at = self.loops.loops[index].parent;
        }
        let mut at = self.loops.innermost(join);
        while let Some(index) = at {
            if self.loops.contains(index, anchor.block()) {
                break;
            }
            if self.loops.loops[index].header != join {
                return None;
            }
            at = self.loops.loops[index].parent;
        }
        Some(Site { anchor, join })
    }

    /// The blocks of [`Reconvergence::inside`] as a part of the dominator tree, for a site whose join makes the warp
    /// whole, if they are one.
    pub fn inside_whole(&self, site: Site) -> Option<Cover> {
        let Site { anchor, join } = site;
        if self.endless {
            // Threads in an endless loop never reach the join.
            return None;
        }
        let cover = self.part(anchor, Some(join))?;
        // If a loop begins at the join, its blocks count as past it.
        if self.dominators.dominates(join, anchor.block()) {
            Some(Cover { places: [0..0, 0..0], ..cover })
        } else {
            Some(cover)
        }
    }

    /// The blocks on paths from the anchor to the join, neither included.
    pub fn inside(&mut self, site: Site) -> Vec<BlockId> {
        self.stamp += 1;
        let mut inside = Vec::new();
        let mut work: Vec<BlockId> = self.ways_in(site, site.join);
        while let Some(block) = work.pop() {
            if site.anchor == Anchor::End(block)
                || std::mem::replace(&mut self.seen[block], self.stamp) == self.stamp
            {
                continue;
            }
            inside.push(block);
            work.extend(self.ways_in(site, block));
        }
        inside.sort_unstable();
        inside
    }

    /// Predecessors within a site. For an entry anchor only the back edges of its loop lead into the loop. Blocks
    /// past the join do not count, and the join may have other predecessors.
    fn ways_in(&self, site: Site, block: BlockId) -> Vec<BlockId> {
        let arrives = site.anchor == Anchor::Entry(block);
        let counts = |p: BlockId| {
            (!arrives || self.dominators.dominates(block, p))
                && !self.dominators.dominates(site.join, p)
                && self.dominators.dominates(site.anchor.block(), p)
        };
        self.cfg.predecessors(block).iter().copied().filter(|&p| counts(p)).collect()
    }

    fn common_join(&self, join: BlockId, block: BlockId) -> Option<BlockId> {
        let mut at = Some(join);
        while let Some(candidate) = at {
            if candidate != block && self.post.dominates(candidate, block) {
                return Some(candidate);
            }
            at = self.post.immediate(candidate);
        }
        None
    }
}

/// The positions of the blocks below the join, if it is in the range of those below the anchor; else an empty range
/// at its end.
fn below(dominators: &Dominators, join: Option<BlockId>, from: u32, to: u32) -> (u32, u32) {
    let inside =
        join.and_then(|join| dominators.interval(join)).filter(|(place, _)| (from..to).contains(place));
    inside.unwrap_or((to, to))
}

/// True if there are blocks from which no end is reached.
fn has_endless(function: &Function, cfg: &Cfg) -> bool {
    let mut ends: TiVec<BlockId, bool> = ti_vec![false; function.blocks.len()];
    let is_end = |block: &BlockId| {
        function.block(*block).successors.is_empty() || dominance::ends_on_the_way(function, *block)
    };
    let mut work: Vec<BlockId> = cfg.order().iter().copied().filter(is_end).collect();
    while let Some(block) = work.pop() {
        if !std::mem::replace(&mut ends[block], true) {
            work.extend(cfg.predecessors(block));
        }
    }
    cfg.order().iter().any(|&block| !ends[block])
}

/// Barriers that are already placed and that no thread leaves early.
struct Placed {
    /// For each block itself or the next one above it in the post-dominator tree that waits, if there is one.
    waits: TiVec<BlockId, Option<BlockId>>,
    /// The block that sets up the barrier, by waiting block.
    set_up: TiVec<BlockId, Option<BlockId>>,
}

impl Placed {
    /// `None` if the function has no barriers yet.
    fn new(function: &Function, cfg: &Cfg, post: &Dominators) -> Option<Placed> {
        let mut set_up: Vec<(Value, BlockId)> = Vec::new();
        let mut waits: Vec<(Value, BlockId)> = Vec::new();
        let mut left: Vec<Value> = Vec::new();
        for &id in cfg.order() {
            for instruction in &function.block(id).instructions {
                match instruction.opcode {
                    Opcode::Sass(Op::BSSY) => {
                        instruction.for_each_definition(|barrier| set_up.push((barrier, id)))
                    }
                    Opcode::Sass(Op::BSYNC) => instruction.for_each_use(|barrier| {
                        if function.file(barrier) == File::B {
                            waits.push((barrier, id));
                        }
                    }),
                    Opcode::Sass(Op::BREAK) => instruction.for_each_use(|barrier| left.push(barrier)),
                    _ => {}
                }
            }
        }
        if set_up.is_empty() {
            return None;
        }
        set_up.sort_unstable();
        left.sort_unstable();
        let count = function.blocks.len();
        let mut placed = Placed { waits: ti_vec![None; count], set_up: ti_vec![None; count] };
        for (barrier, id) in waits {
            if left.binary_search(&barrier).is_err()
                && let Ok(at) = set_up.binary_search_by_key(&barrier, |(known, _)| *known)
            {
                placed.set_up[id] = Some(set_up[at].1);
            }
        }
        for block in post.preorder() {
            placed.waits[block] = match placed.set_up[block] {
                Some(_) => Some(block),
                None => post.immediate(block).and_then(|above| placed.waits[above]),
            };
        }
        Some(placed)
    }

    /// The block itself or the next one above it that waits, and the block that sets up the barrier.
    fn next(&self, block: BlockId) -> Option<(BlockId, BlockId)> {
        let wait = self.waits[block]?;
        Some((wait, self.set_up[wait]?))
    }
}
