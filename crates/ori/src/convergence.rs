//! Where the threads that a branch parts come together again.
//!
//! Two notions. The *site* of a branch is where all its threads come together, which is what uniformity is about. Before
//! that, some of them may meet ([`Reconvergence::meetings`]); a barrier there gathers those, so that they go on as one
//! convoy, but the block is still executed by a part of the warp.
//!
//! It is here because divergence analysis, the placement of convergence barriers and the verifier must agree: a block
//! counts as executed by the whole warp only if a barrier really gathers the warp before it.
//!
//! A site is a pair of an anchor, where the barrier is set up, and a join, where it is waited for. Every thread that
//! passes the anchor reaches the join or ends, and every thread that reaches the join from inside passed the anchor
//! once since it last joined. For most branches the anchor is the branch and the join its immediate post-dominator;
//! for a branch that leaves a loop the anchor is the way into the loop; where other ways lead into the middle of the
//! region, anchor and join are widened until none does.
//!
//! A branch has no site if an instruction of its region waits for every live lane of the warp or every thread of the
//! block. Lanes that go past that instruction may be on their way to the end of the program, which is what the others
//! wait for: held at the join, they would never get there.

use crate::divergence::is_bare_exit;
use crate::{BlockId, Cfg, Dominators, File, Function, Loops, Opcode, Value, effects};
use oriole_sass::Op;

/// Where a convergence barrier is set up.
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
    /// Where the barrier is set up.
    pub anchor: Anchor,
    /// The first block that all threads of the region execute together again.
    pub join: BlockId,
}

/// Finds the sites of a function.
pub struct Reconvergence<'a> {
    function: &'a Function,
    dominators: Dominators,
    post: Dominators,
    loops: Loops,
    cfg: &'a Cfg,
    /// Barriers that are already placed and that nobody leaves early: the block that sets each up, by waiting block.
    placed: Option<Vec<Option<BlockId>>>,
    seen: Vec<u32>,
    /// For each block the stamp of the branch that reached it last, and the first block of the way that leads there.
    labels: Vec<(u32, BlockId)>,
    stamp: u32,
    /// What post-dominates each block within a round of its loops.
    in_round: Dominators,
    /// Where the dominance of each block ends, back edges left out; made when first asked for.
    frontiers: Option<Vec<Vec<BlockId>>>,
    /// Loop headers with their places in the dominator tree, in that order.
    headers: Vec<(u32, BlockId)>,
    /// Sites that were found, by branch.
    sites: Vec<Option<Option<Site>>>,
    /// Blocks that wait for all lanes of the warp or all threads of the block, with their places in the dominator
    /// tree, in that order.
    waits: Vec<(u32, BlockId)>,
}

/// What lies between a branch and the place where all its threads are together again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Meetings {
    /// Blocks where two ways from the branch meet for the first time, the last one included.
    pub joins: Vec<BlockId>,
    /// Blocks on the ways.
    pub region: Vec<BlockId>,
}

impl<'a> Reconvergence<'a> {
    /// Prepares the trees that [`Reconvergence::site`] asks.
    pub fn new(function: &'a Function, cfg: &'a Cfg) -> Reconvergence<'a> {
        let dominators = Dominators::new(function, cfg);
        let loops = Loops::new(function, cfg, &dominators);
        let post = Dominators::post_with(function, cfg, |block| !is_bare_exit(function, block));
        let in_round = match loops.loops.is_empty() {
            true => post.clone(),
            false => Dominators::post_in_round(function, cfg, |block| !is_bare_exit(function, block)),
        };
        let mut headers: Vec<(u32, BlockId)> = loops
            .loops
            .iter()
            .filter_map(|lap| Some((dominators.interval(lap.header)?.0, lap.header)))
            .collect();
        headers.sort_unstable();
        let waits_for_all =
            |&&block: &&BlockId| function.block(block).instructions.iter().any(effects::waits_for_all);
        let mut waits: Vec<(u32, BlockId)> = cfg
            .order()
            .iter()
            .filter(waits_for_all)
            .filter_map(|&block| Some((dominators.interval(block)?.0, block)))
            .collect();
        waits.sort_unstable();
        Reconvergence {
            function,
            cfg,
            dominators,
            post,
            loops,
            placed: placed_barriers(function, cfg),
            seen: vec![0; function.blocks.len()],
            labels: vec![(0, BlockId(0)); function.blocks.len()],
            stamp: 0,
            in_round,
            frontiers: None,
            headers,
            sites: vec![None; function.blocks.len()],
            waits,
        }
    }

    /// True if any block waits for all lanes of the warp or all threads of the block.
    pub fn has_waits(&self) -> bool {
        !self.waits.is_empty()
    }

    /// True if one of these blocks waits for all lanes of the warp or all threads of the block.
    pub fn any_waits(&self, blocks: &[BlockId]) -> bool {
        !self.waits.is_empty()
            && blocks.iter().any(|&block| {
                let place = self.dominators.interval(block).map(|(place, _)| place);
                place.is_some_and(|place| self.waits.binary_search(&(place, block)).is_ok())
            })
    }

    /// True if a block that waits for all lies between a branch and a join that enclose it.
    fn encloses_wait(&self, branch: BlockId, join: BlockId) -> bool {
        let (Some((from, to)), Some(skip)) =
            (self.dominators.interval(branch), self.dominators.interval(join))
        else {
            return false;
        };
        let first = self.waits.partition_point(|&(place, _)| place <= from);
        let inside = self.waits[first..].iter().take_while(|&&(place, _)| place < to);
        inside.into_iter().any(|&(place, _)| !(skip.0..skip.1).contains(&place))
    }

    /// The loops.
    pub fn loops(&self) -> &Loops {
        &self.loops
    }

    /// True if every thread that passes `before` and does not end passes `after` too, or if they are one block.
    pub fn post_dominates(&self, after: BlockId, before: BlockId) -> bool {
        self.post.dominates(after, before)
    }

    /// The dominator tree.
    pub fn dominators(&self) -> &Dominators {
        &self.dominators
    }

    /// True if all that lies between a branch and `join` is entered by that branch, and left by that join or not at
    /// all, and if no loop that only one of them lies in and no round of any loop leads past them: then the region is
    /// that part of the dominator tree, and its walks can be spared. False says nothing.
    fn encloses(&self, branch: BlockId, join: BlockId) -> bool {
        // A way that misses the branch or the join, or that comes back to the branch before it has come to the join,
        // would have to pass the header of a loop round the branch.
        !self.loops.irreducible
            && branch != join
            && self.dominators.dominates(branch, join)
            && self.post.dominates(join, branch)
            && (self.loops.innermost(branch).is_none() || self.in_round.dominates(join, branch))
            && self.loops.innermost(join).is_none_or(|index| self.loops.contains(index, branch))
    }

    /// Where the threads that part at the end of this block meet again; `None` if they never do, or nowhere safely.
    pub fn site(&mut self, branch: BlockId) -> Option<Site> {
        if let Some(known) = self.sites[branch.0 as usize] {
            return known;
        }
        let found = self.find_site(branch);
        self.sites[branch.0 as usize] = Some(found);
        found
    }

    fn find_site(&mut self, branch: BlockId) -> Option<Site> {
        if self.loops.irreducible {
            // A cycle with several entries has no place where all its threads pass: they stay parted.
            return None;
        }
        if let Some(placed) = &self.placed {
            // The barriers stand: what counts is where they are, not where they could be.
            let mut join = self.post.immediate(branch);
            while let Some(block) = join {
                if let Some(anchor) = placed[block.0 as usize]
                    && self.dominators.dominates(anchor, branch)
                {
                    return Some(Site { anchor: Anchor::End(anchor), join: block });
                }
                join = self.post.immediate(block);
            }
            return None;
        }
        let join = self.post.immediate(branch)?;
        match self.encloses(branch, join) {
            true if self.encloses_wait(branch, join) => None,
            true => Some(Site { anchor: Anchor::End(branch), join }),
            false => {
                let site = self.walked_site(branch, join)?;
                if self.waits.is_empty() {
                    return Some(site);
                }
                let region = self.region(site);
                (!self.any_waits(&region)).then_some(site)
            }
        }
    }

    /// The site of a branch whose immediate post-dominator is `join`, with walks over the regions that are tried.
    fn walked_site(&mut self, branch: BlockId, mut join: BlockId) -> Option<Site> {
        let mut anchor = Anchor::End(branch);
        loop {
            let mut left = None;
            let mut at = self.loops.innermost(anchor.block());
            while let Some(index) = at {
                if self.loops.contains(index, join) {
                    break;
                }
                left = Some(self.loops.loops[index].header);
                at = self.loops.loops[index].parent;
            }
            if let Some(header) = left
                && anchor != Anchor::Entry(header)
            {
                anchor = Anchor::Entry(header);
                join = self.common_join(join, header)?;
                continue;
            }
            let site = Site { anchor, join };
            let region = self.region(site);
            // Another way into the region, or the anchor again before the join: a wider anchor.
            let entered_by_the_anchor = region.iter().all(|&block| {
                self.dominators.dominates(anchor.block(), block) && anchor != Anchor::End(block)
            });
            if !entered_by_the_anchor {
                let wider = self.dominators.immediate(anchor.block())?;
                anchor = Anchor::End(wider);
                join = self.common_join(join, wider)?;
                continue;
            }
            // A loop round the join that leads back into the region past the anchor: a later join.
            let mut around = None;
            let mut at = self.loops.innermost(join);
            while let Some(index) = at {
                if self.loops.contains(index, anchor.block()) {
                    break;
                }
                around = Some(index);
                at = self.loops.loops[index].parent;
            }
            let Some(index) = around else { return Some(site) };
            if !region.iter().any(|&block| self.loops.contains(index, block)) {
                return Some(site);
            }
            while self.loops.contains(index, join) {
                join = self.post.immediate(join)?;
            }
        }
    }

    /// The blocks between anchor and join, the block of an [`Anchor::End`] and the join left out.
    pub fn region(&mut self, site: Site) -> Vec<BlockId> {
        self.stamp += 1;
        let mut region = Vec::new();
        let mut work: Vec<BlockId> = match site.anchor {
            Anchor::End(block) => self.function.block(block).successors.to_vec(),
            Anchor::Entry(header) => vec![header],
        };
        while let Some(block) = work.pop() {
            if block == site.join
                || is_bare_exit(self.function, block)
                || std::mem::replace(&mut self.seen[block.0 as usize], self.stamp) == self.stamp
            {
                continue;
            }
            region.push(block);
            work.extend(&self.function.block(block).successors);
        }
        region
    }

    /// The blocks between a branch and `join` (or the end), and where two ways from the branch meet. Loop headers that
    /// the region goes back to are among the meeting points: threads come there at different times.
    pub fn meetings(&mut self, branch: BlockId, join: Option<BlockId>) -> Meetings {
        match join.filter(|&join| self.encloses(branch, join)) {
            Some(join) => Meetings {
                joins: self.enclosed_joins(branch, join),
                region: self.enclosed_region(branch, join),
            },
            None => self.walked_meetings(branch, join),
        }
    }

    /// The meeting points alone.
    pub fn joins(&mut self, branch: BlockId, join: Option<BlockId>) -> Vec<BlockId> {
        match join.filter(|&join| self.encloses(branch, join)) {
            Some(join) => self.enclosed_joins(branch, join),
            None => self.walked_meetings(branch, join).joins,
        }
    }

    /// The blocks between a branch and a join that enclose them, in no order that means anything.
    fn enclosed_region(&self, branch: BlockId, join: BlockId) -> Vec<BlockId> {
        let mut region = Vec::new();
        let mut work: Vec<BlockId> = self.dominators.children(branch).to_vec();
        while let Some(block) = work.pop() {
            if block != join && !is_bare_exit(self.function, block) {
                region.push(block);
                work.extend(self.dominators.children(block));
            }
        }
        region
    }

    /// Meeting points between a branch and a join that enclose them: two ways meet first where the dominance of one
    /// ends, and so on from there.
    fn enclosed_joins(&mut self, branch: BlockId, join: BlockId) -> Vec<BlockId> {
        let (function, cfg) = (self.function, self.cfg);
        let frontiers = self.frontiers.take().unwrap_or_else(|| self.dominators.frontiers_ahead(cfg));
        self.stamp += 1;
        let stamp = self.stamp;
        let mut joins = vec![join];
        let mut work: Vec<BlockId> = Vec::new();
        for &successor in &function.block(branch).successors {
            if successor == join || is_bare_exit(function, successor) {
                continue;
            }
            work.push(successor);
            let ahead = |p: &&BlockId| cfg.position(**p) < cfg.position(successor);
            if cfg.predecessors(successor).iter().filter(ahead).count() > 1
                && std::mem::replace(&mut self.seen[successor.0 as usize], stamp) != stamp
            {
                joins.push(successor);
            }
        }
        while let Some(block) = work.pop() {
            for &end in &frontiers[block.0 as usize] {
                let inside = end != join
                    && self.dominators.dominates(branch, end)
                    && !self.dominators.dominates(join, end)
                    && !is_bare_exit(function, end);
                if inside && std::mem::replace(&mut self.seen[end.0 as usize], stamp) != stamp {
                    joins.push(end);
                    work.push(end);
                }
            }
        }
        self.frontiers = Some(frontiers);
        // Headers of the loops between.
        if let (Some((from, to)), Some((skip_from, skip_to))) =
            (self.dominators.interval(branch), self.dominators.interval(join))
        {
            let mut at = self.headers.partition_point(|&(place, _)| place <= from);
            while let Some(&(place, header)) = self.headers.get(at).filter(|&&(place, _)| place < to) {
                if (skip_from..skip_to).contains(&place) {
                    at = self.headers.partition_point(|&(place, _)| place < skip_to);
                    continue;
                }
                joins.push(header);
                at += 1;
            }
        }
        joins.sort_unstable();
        joins.dedup();
        joins
    }

    /// The same by a walk over the graph. From each successor goes a label; where another label already is, the
    /// block's own name goes on.
    fn walked_meetings(&mut self, branch: BlockId, join: Option<BlockId>) -> Meetings {
        self.stamp += 1;
        let stamp = self.stamp;
        let mut region: Vec<BlockId> = Vec::new();
        let mut work: Vec<BlockId> = self.function.block(branch).successors.to_vec();
        while let Some(block) = work.pop() {
            if Some(block) == join
                || is_bare_exit(self.function, block)
                || std::mem::replace(&mut self.seen[block.0 as usize], stamp) == stamp
            {
                continue;
            }
            region.push(block);
            work.extend(&self.function.block(block).successors);
        }
        let place = |block: &BlockId| self.cfg.position(*block).unwrap_or(u32::MAX);
        region.sort_unstable_by_key(place);

        let mut joins: Vec<BlockId> = Vec::new();
        let mut hand_on = |labels: &mut Vec<(u32, BlockId)>, to: BlockId, own: BlockId| {
            let (known, old) = labels[to.0 as usize];
            if known != stamp {
                labels[to.0 as usize] = (stamp, own);
            } else if old != own {
                joins.push(to);
                labels[to.0 as usize] = (stamp, to);
            }
        };
        for &successor in &self.function.block(branch).successors {
            if !is_bare_exit(self.function, successor) {
                hand_on(&mut self.labels, successor, successor);
            }
        }
        let mut headers: Vec<BlockId> = Vec::new();
        for &block in &region {
            let (known, own) = self.labels[block.0 as usize];
            for &successor in &self.function.block(block).successors {
                if is_bare_exit(self.function, successor) {
                    continue;
                }
                if place(&successor) <= place(&block) {
                    headers.push(successor);
                } else if known == stamp {
                    hand_on(&mut self.labels, successor, own);
                }
            }
        }
        joins.extend(headers);
        joins.extend(join);
        joins.sort_unstable();
        joins.dedup();
        Meetings { joins, region }
    }

    /// A barrier for those threads of a branch that meet at `join` before all are together. Its anchor dominates the
    /// join; threads that turn away from the join must leave the barrier. `None` if threads that passed the join could
    /// come back into the region past the anchor.
    pub fn partial_site(&self, branch: BlockId, join: BlockId) -> Option<Site> {
        // Where the way goes back, threads come at different times: no barrier can hold one iteration for the next.
        if self.loops.irreducible || self.dominators.dominates(join, branch) {
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

    /// The blocks on the ways from the anchor to the join, neither included.
    pub fn inside(&mut self, site: Site) -> Vec<BlockId> {
        self.stamp += 1;
        let mut inside = Vec::new();
        let mut work: Vec<BlockId> = self.ways_in(site, site.join);
        while let Some(block) = work.pop() {
            if site.anchor == Anchor::End(block)
                || std::mem::replace(&mut self.seen[block.0 as usize], self.stamp) == self.stamp
            {
                continue;
            }
            inside.push(block);
            work.extend(self.ways_in(site, block));
        }
        inside.sort_unstable();
        inside
    }

    /// Predecessors within a site: into the loop of an entry anchor only its own back edges lead, past the join nothing
    /// counts, and others may come to the join by ways of their own.
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

/// For each block that waits for a barrier that is never left early, the block that sets it up; `None` if the
/// function has no barriers yet.
fn placed_barriers(function: &Function, cfg: &Cfg) -> Option<Vec<Option<BlockId>>> {
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
    let mut placed = vec![None; function.blocks.len()];
    for (barrier, id) in waits {
        if left.binary_search(&barrier).is_err()
            && let Ok(at) = set_up.binary_search_by_key(&barrier, |(known, _)| *known)
        {
            placed[id.0 as usize] = Some(set_up[at].1);
        }
    }
    Some(placed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Block, Instruction, Origin};

    /// A graph of a few blocks with one or two ways on from most of them; some ends are bare.
    fn random(seed: u64) -> Function {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut roll = |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) % below
        };
        let count = 3 + roll(10);
        let mut function = Function::default();
        for at in 0..count {
            let mut block = Block::default();
            // Mostly a step ahead, sometimes anywhere but to the entry.
            let mut next = || match roll(4) {
                0 => BlockId((1 + roll(count - 1)) as u32),
                _ => BlockId((at + 1 + roll(3)).min(count - 1) as u32),
            };
            if at + 1 < count {
                block.successors = smallvec::smallvec![next()];
                let other = next();
                if roll(3) > 0 && other != block.successors[0] {
                    block.successors.push(other);
                }
                if roll(9) == 0 {
                    block.successors.clear();
                }
            }
            if block.successors.is_empty() && roll(2) == 0 {
                block.instructions.push(Instruction::new(Op::EXIT, Origin(0)));
            }
            function.blocks.push(block);
        }
        function
    }

    #[test]
    fn what_trees_say_is_what_walks_find() {
        let mut enclosed = 0;
        for seed in 0..20_000 {
            let function = random(seed);
            let cfg = Cfg::new(&function);
            let mut reconvergence = Reconvergence::new(&function, &cfg);
            for &branch in cfg.order() {
                if function.block(branch).successors.len() < 2 {
                    continue;
                }
                let Some(join) = reconvergence.post.immediate(branch) else { continue };
                if !reconvergence.encloses(branch, join) {
                    continue;
                }
                enclosed += 1;
                let site = Site { anchor: Anchor::End(branch), join };
                assert_eq!(reconvergence.walked_site(branch, join), Some(site), "seed {seed}, {branch}");
                let mut walked = reconvergence.walked_meetings(branch, Some(join));
                let mut meetings = reconvergence.meetings(branch, Some(join));
                walked.region.sort_unstable();
                meetings.region.sort_unstable();
                assert_eq!(meetings, walked, "seed {seed}, {branch}");
            }
        }
        assert!(enclosed > 5_000, "{enclosed} branches looked at");
    }
}
