//! Compares sites, regions and meeting points from the dominator trees with those found by graph walks.

use super::*;
use crate::{Block, Guard, Instruction, Origin};
use std::collections::BTreeSet;
use typed_index_collections::{TiVec, ti_vec};

/// From this seed on threads may also end inside of blocks.
const GUARDED_EXITS: u64 = 30_000;

/// A graph of a few blocks, most of them with one or two successors; some ends are bare.
fn random(seed: u64) -> Function {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut roll = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) % below
    };
    let count = 3 + roll(if seed.is_multiple_of(4) { 24 } else { 10 });
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
            if roll(6) == 0 {
                let third = BlockId((at + 1 + roll(4)).min(count - 1) as u32);
                if !block.successors.contains(&third) {
                    block.successors.push(third);
                }
            }
            if roll(9) == 0 {
                block.successors.clear();
            }
        }
        if block.successors.is_empty() && roll(2) == 0 {
            block.instructions.push(Instruction::new(Op::EXIT, Origin(0)));
        }
        if seed.is_multiple_of(5) && roll(8) == 0 {
            block.instructions.insert(0, Instruction::new(Op::BAR, Origin(0)));
        }
        if seed >= GUARDED_EXITS && roll(5) == 0 {
            let mut exit = Instruction::new(Op::EXIT, Origin(0));
            exit.guard = Some(Guard { value: Value(0), negated: false });
            block.instructions.insert(0, exit);
        }
        function.blocks.push(block);
    }
    function
}

/// The queries of [`Reconvergence`], answered by walks.
struct Walks<'a> {
    function: &'a Function,
    cfg: &'a Cfg,
    dominators: Dominators,
    post: Dominators,
    loops: Loops,
}

impl Walks<'_> {
    fn new<'a>(function: &'a Function, cfg: &'a Cfg) -> Walks<'a> {
        let dominators = Dominators::new(cfg);
        let loops = Loops::new(cfg, &dominators);
        let post = Dominators::post_with(function, cfg, |block| !is_bare_exit(function, block));
        Walks { function, cfg, dominators, post, loops }
    }

    fn reached(&self, mut work: Vec<BlockId>, join: Option<BlockId>) -> BTreeSet<BlockId> {
        let mut region = BTreeSet::new();
        while let Some(block) = work.pop() {
            if Some(block) != join && !is_bare_exit(self.function, block) && region.insert(block) {
                work.extend(&self.function.block(block).successors);
            }
        }
        region
    }

    fn region(&self, branch: BlockId, join: Option<BlockId>) -> BTreeSet<BlockId> {
        self.reached(self.function.block(branch).successors.to_vec(), join)
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

    fn site(&self, branch: BlockId) -> Option<Site> {
        let mut join = self.post.immediate(branch)?;
        let mut anchor = Anchor::End(branch);
        loop {
            let mut left = None;
            let mut at = self.loops.innermost(anchor.block());
            while let Some(index) = at.filter(|&index| !self.loops.contains(index, join)) {
                left = Some(self.loops.loops[index].header);
                at = self.loops.loops[index].parent;
            }
            if let Some(header) = left.filter(|&header| anchor != Anchor::Entry(header)) {
                anchor = Anchor::Entry(header);
                join = self.common_join(join, header)?;
                continue;
            }
            let region = match anchor {
                Anchor::End(block) => self.region(block, Some(join)),
                Anchor::Entry(header) => self.reached(vec![header], Some(join)),
            };
            let entered_by_the_anchor = region.iter().all(|&block| {
                self.dominators.dominates(anchor.block(), block) && anchor != Anchor::End(block)
            });
            if !entered_by_the_anchor {
                let wider = self.dominators.immediate(anchor.block())?;
                anchor = Anchor::End(wider);
                join = self.common_join(join, wider)?;
                continue;
            }
            let mut around = None;
            let mut at = self.loops.innermost(join);
            while let Some(index) = at.filter(|&index| !self.loops.contains(index, anchor.block())) {
                around = Some(index);
                at = self.loops.loops[index].parent;
            }
            let leads_back = |index| region.iter().any(|&block| self.loops.contains(index, block));
            let Some(index) = around.filter(|&index| leads_back(index)) else {
                let is_barred = |block: &BlockId| {
                    self.function.block(*block).instructions.iter().any(effects::waits_for_all)
                        || self.loops.irreducible.contains(block)
                };
                return (!region.iter().any(is_barred)).then_some(Site { anchor, join });
            };
            while self.loops.contains(index, join) {
                join = self.post.immediate(join)?;
            }
        }
    }

    /// Blocks where labels from the successors meet, in a walk of the blocks in RPO.
    fn meetings(&self, branch: BlockId, join: Option<BlockId>) -> BTreeSet<BlockId> {
        let region = self.region(branch, join);
        let mut order: Vec<BlockId> = region.into_iter().collect();
        order.sort_by_key(|block| self.cfg.position(*block));
        let mut labels: TiVec<BlockId, Option<BlockId>> = ti_vec![None; self.function.blocks.len()];
        let mut joins: BTreeSet<BlockId> = join.into_iter().collect();
        let mut hand_on = |labels: &mut TiVec<BlockId, Option<BlockId>>, to: BlockId, own: BlockId| {
            let label = &mut labels[to];
            if label.is_some_and(|old| old != own) {
                joins.insert(to);
                *label = Some(to);
            } else {
                *label = Some(own);
            }
        };
        let ends = |block: BlockId| is_bare_exit(self.function, block);
        for &successor in self.function.block(branch).successors.iter().filter(|s| !ends(**s)) {
            hand_on(&mut labels, successor, successor);
        }
        for block in order {
            let Some(own) = labels[block] else { continue };
            for &successor in self.function.block(block).successors.iter().filter(|s| !ends(**s)) {
                if self.cfg.position(successor) > self.cfg.position(block) {
                    hand_on(&mut labels, successor, own);
                }
            }
        }
        joins
    }

    fn headers(&self, branch: BlockId, join: Option<BlockId>) -> BTreeSet<BlockId> {
        let edges = self.region(branch, join).into_iter().flat_map(|block| {
            let successors = self.function.block(block).successors.iter();
            successors.copied().filter(move |s| self.cfg.position(*s) <= self.cfg.position(block))
        });
        edges.filter(|&header| !self.dominators.dominates(header, branch)).collect()
    }
}

#[test]
fn what_trees_say_is_what_walks_find() {
    let (mut covered, mut walked, mut sites) = (0, 0, 0);
    for seed in 0..GUARDED_EXITS + 10_000 {
        let function = random(seed);
        let graph = FlowGraph::new(function.edges());
        let cfg = graph.cfg();
        let walks = Walks::new(&function, cfg);
        let mut reconvergence = Reconvergence::new(&function, &graph);
        let blocks = |reconvergence: &Reconvergence<'_>, cover: Cover| -> BTreeSet<BlockId> {
            let places = cover.places.into_iter().flatten();
            places.map(|place| reconvergence.at(place)).filter(|&b| !is_bare_exit(&function, b)).collect()
        };
        for &branch in cfg.order() {
            if function.block(branch).successors.len() < 2 {
                continue;
            }
            let told = format!("seed {seed}, {branch}");
            let site = reconvergence.site(branch);
            assert_eq!(site, walks.site(branch), "{told}");
            for join in [site.map(|site| site.join), walks.post.immediate(branch), None] {
                match reconvergence.cover(branch, join) {
                    Some(cover) => {
                        covered += 1;
                        assert_eq!(blocks(&reconvergence, cover), walks.region(branch, join), "{told}");
                    }
                    None => walked += 1,
                }
                let meetings: BTreeSet<BlockId> =
                    reconvergence.meetings_ahead(branch, join).into_iter().collect();
                assert_eq!(meetings, walks.meetings(branch, join), "{told}, {join:?}");
                // In a cycle with several entries a back edge may lead to no loop header.
                if !walks.loops.is_irreducible() {
                    let headers = reconvergence.headers_between(branch, join).into_iter().collect();
                    assert_eq!(walks.headers(branch, join), headers, "{told}, {join:?}");
                }
            }
            if let Some(site) = site {
                sites += 1;
                let inside: BTreeSet<BlockId> = reconvergence.inside(site).into_iter().collect();
                if let Some(cover) = reconvergence.inside_whole(site) {
                    assert_eq!(
                        blocks(&reconvergence, cover),
                        inside,
                        "{told}, {site:?} {:?}",
                        function
                            .blocks
                            .iter()
                            .map(|b| (b.successors.clone(), b.instructions.len()))
                            .collect::<Vec<_>>()
                    );
                }
            }
        }
    }
    assert!(covered > 20_000 && walked > 1_000 && sites > 20_000, "{covered} {walked} {sites}");
}

/// A loop of this many branches; each goes on, or where `other` says.
fn chain(count: u32, other: impl Fn(u32) -> u32) -> Function {
    let mut function = Function::default();
    function.blocks.push(Block { successors: smallvec::smallvec![BlockId(1)], ..Block::default() });
    for at in 1..=count {
        let mut block = Block { successors: smallvec::smallvec![BlockId(at + 1)], ..Block::default() };
        let other = BlockId(other(at));
        if other != block.successors[0] {
            block.successors.push(other);
        }
        function.blocks.push(block);
    }
    function.blocks.push(Block::default());
    function
}

#[test]
fn searches_that_skip_dominators_find_what_walks_find() {
    for seed in 0..2_000_u32 {
        let count = 4 + seed % 9;
        let mixed = |at: u32| seed.wrapping_mul(0x9e37_79b9).rotate_left(at * 5) % (count + 2);
        // Mostly to the header of one of two loops, one in the other, or to a block that leads back to the first;
        // sometimes anywhere.
        let mut function = chain(count, |at| match mixed(at) {
            0..=1 => 1,
            2..=3 => 1 + at.min(2),
            4..=6 => count + 2,
            any => any,
        });
        function.blocks.push(Block { successors: smallvec::smallvec![BlockId(1)], ..Block::default() });
        let graph = FlowGraph::new(function.edges());
        let walks = Walks::new(&function, graph.cfg());
        let mut reconvergence = Reconvergence::new(&function, &graph);
        for &branch in graph.cfg().order() {
            if function.block(branch).successors.len() > 1 {
                assert_eq!(reconvergence.site(branch), walks.site(branch), "seed {seed}, {branch}");
            }
        }
    }
}

#[test]
fn branches_of_one_loop_try_few_sites() {
    let count = 500;
    // Back edges from each of them, and one from a block that they lead to.
    for other in [1, count + 2] {
        let mut function = chain(count, |_| other);
        function.blocks.push(Block { successors: smallvec::smallvec![BlockId(1)], ..Block::default() });
        let graph = FlowGraph::new(function.edges());
        let mut reconvergence = Reconvergence::new(&function, &graph);
        for at in 1..=count {
            let site = reconvergence.site(BlockId(at));
            assert!(site.is_some_and(|site| site.join == BlockId(count + 1)), "{at}: {site:?}");
        }
        let (tried, past) = (reconvergence.tried.len(), reconvergence.past.len());
        assert!(tried <= 5 * count as usize && past <= count as usize, "{tried} sites, {past} blocks");
    }
}
