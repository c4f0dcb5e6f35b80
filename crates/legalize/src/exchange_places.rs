//! The places of exchanges that lanes of one warp may reach at the same time: which of them must go through a routine.
//!
//! Lanes that leave a divergent branch on different ways meet again where the ways do. Until then those of one way may wait
//! for those of another, if both ways lead to an exchange of one kind with one mask. Lanes on one way come to the same
//! places in the same order; so do all lanes in blocks that several ways lead to. A function may be called by lanes while others are elsewhere, so
//! that each of its exchanges counts, and so does each call: its callee may exchange.

use crate::exchange_routine::Exchange;
use oriole_ori::{
    BlockId, Cfg, Divergence, Dominators, Function, Instruction, Opcode, Pseudo, Source, SourceKind,
    SymbolKind,
};
use oriole_sass::{Mod, Op};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// An exchange for the lanes of a mask, after the wait for them.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// Its block.
    pub block: BlockId,
    /// Index of the wait in the block.
    pub wait: usize,
    /// Index of the exchange.
    pub at: usize,
    /// Which one.
    pub exchange: Exchange,
    /// The mask.
    pub mask: Source,
}

impl Place {
    /// The mask, if it is known.
    fn constant(&self) -> Option<u32> {
        match self.mask.kind {
            SourceKind::Imm(bits) => Some(bits),
            SourceKind::Literal(bits) => Some(bits as u32),
            SourceKind::Zero(_) => Some(0),
            _ => None,
        }
    }
}

/// An exchange and its mask, if that is known.
type Kind = (Exchange, Option<u32>);

/// Most steps for each block and place of the function. If it takes more, all exchanges of blocks that a subset of a
/// warp may execute count.
const EFFORT: usize = 32;

/// The exchanges of a function that wait for the lanes of a mask, in the order of blocks.
pub(crate) fn all(function: &Function) -> Vec<Place> {
    if function.routine.is_some() {
        return Vec::new();
    }
    function.block_ids().flat_map(|id| in_block(function, id)).collect()
}

/// Those that lanes may reach while others are at another of the same kind, in the same order.
pub(crate) fn shared(function: &Function, places: &[Place]) -> Vec<Place> {
    if places.is_empty() || !function.is_entry {
        return places.to_vec();
    }
    let calling: FxHashSet<BlockId> = function.block_ids().filter(|&id| calls(function, id)).collect();
    if places.len() < 2 && calling.is_empty() {
        return Vec::new();
    }
    let graph = function.graph();
    let divergence = Divergence::new(function, &graph);
    let partial = |block: BlockId| !divergence.is_uniform_block(block);
    let places: Vec<Place> = places.iter().filter(|place| partial(place.block)).cloned().collect();
    if places.len() < 2 && (places.is_empty() || calling.is_empty()) {
        return Vec::new();
    }
    let mut of_block: FxHashMap<BlockId, Vec<usize>> = FxHashMap::default();
    for (index, place) in places.iter().enumerate() {
        of_block.entry(place.block).or_default().push(index);
    }
    let ways = Ways {
        cfg: graph.cfg(),
        before: graph.dominators(),
        after: Dominators::post(function, graph.cfg()),
        places: &places,
        of_block,
        meeting: function.block_ids().filter(|&id| waits(function, id)).collect(),
        calling: calling.into_iter().filter(|&block| partial(block)).collect(),
    };
    let found = ways.found(&divergence);
    places
        .into_iter()
        .enumerate()
        .filter(|(index, _)| found.contains(index))
        .map(|(_, place)| place)
        .collect()
}

/// The exchanges of a block that wait for the lanes of a mask.
fn in_block(function: &Function, block: BlockId) -> impl Iterator<Item = Place> {
    let mut waiting: Option<(usize, &Instruction)> = None;
    function.block(block).instructions.iter().enumerate().filter_map(move |(at, instruction)| {
        if instruction.opcode == Opcode::Sass(Op::WARPSYNC) {
            // One that orders memory is a barrier of the program.
            waiting = instruction.memory.is_none().then_some((at, instruction));
            return None;
        }
        let exchange = Exchange::of(instruction)?;
        let (wait, first) = waiting.take()?;
        let mask = first.sources.first().cloned().unwrap_or_else(|| Source::imm(u32::MAX));
        Some(Place { block, wait, at, exchange, mask })
    })
}

/// Whether a block calls a function that may exchange.
fn calls(function: &Function, block: BlockId) -> bool {
    let exchanges = |instruction: &Instruction| {
        let callee = instruction.call.as_ref().and_then(|shape| shape.callee);
        instruction.opcode == Opcode::Pseudo(Pseudo::Call)
            && callee.is_none_or(|callee| function.symbols[callee].kind != SymbolKind::Extern)
    };
    function.block(block).instructions.iter().any(exchanges)
}

/// Whether a block waits at a barrier.
fn waits(function: &Function, block: BlockId) -> bool {
    let waits =
        |it: &Instruction| it.opcode == Opcode::Sass(Op::BAR) && it.guard.is_none() && !it.mods.has(Mod::ARV);
    function.block(block).instructions.iter().any(waits)
}

/// The ways from divergent branches to where they meet.
struct Ways<'a> {
    cfg: &'a Cfg,
    before: &'a Dominators,
    after: Dominators,
    places: &'a [Place],
    of_block: FxHashMap<BlockId, Vec<usize>>,
    calling: FxHashSet<BlockId>,
    /// Blocks with a barrier that all threads of the block wait at.
    meeting: FxHashSet<BlockId>,
}

/// Places and calls on a way.
#[derive(Default)]
struct Way {
    places: Vec<usize>,
    calls: bool,
}

impl Ways<'_> {
    /// Indices of places that count.
    fn found(&self, divergence: &Divergence) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let mut effort = EFFORT * (self.cfg.count() + self.places.len());
        for &branch in self.cfg.order() {
            if !divergence.is_divergent_branch(branch) || self.whole_warps_leave(branch) {
                continue;
            }
            let Some(blocks) = self.blocks(branch, &mut effort) else {
                return (0..self.places.len()).collect();
            };
            let mut shared: FxHashMap<BlockId, usize> = FxHashMap::default();
            blocks.iter().flatten().for_each(|&block| *shared.entry(block).or_default() += 1);
            let ways: Vec<Way> = blocks
                .iter()
                .map(|of_way| self.way(of_way.iter().copied().filter(|block| shared[block] == 1)))
                .collect();
            self.compare(&ways, &mut found);
        }
        found
    }

    /// Whether lanes on some way come to a barrier of the block in any case: PTX asks that the whole warp executes it together,
    /// so that all lanes take that way.
    fn whole_warps_leave(&self, branch: BlockId) -> bool {
        let meet = self.after.immediate(branch);
        self.cfg.successors(branch).iter().any(|&first| {
            let next = |&block: &BlockId| self.after.immediate(block);
            let mut way = std::iter::successors(Some(first), next).take_while(|&block| Some(block) != meet);
            way.any(|block| self.meeting.contains(&block))
        })
    }

    /// For each way from a branch, its blocks up to where the ways meet or the branch is reached again; `None` if that takes
    /// too long.
    fn blocks(&self, branch: BlockId, effort: &mut usize) -> Option<Vec<FxHashSet<BlockId>>> {
        let meet = self.after.immediate(branch);
        let ends = |block: BlockId| Some(block) == meet || self.before.dominates(block, branch);
        let successors: BTreeSet<BlockId> = self.cfg.successors(branch).iter().copied().collect();
        let mut ways = Vec::new();
        for first in successors {
            let mut seen = FxHashSet::default();
            let mut open = vec![first];
            while let Some(block) = open.pop() {
                if ends(block) || !seen.insert(block) {
                    continue;
                }
                *effort = effort.checked_sub(1 + self.of_block.get(&block).map_or(0, Vec::len))?;
                open.extend(self.cfg.successors(block));
            }
            ways.push(seen);
        }
        Some(ways)
    }

    /// The places and calls in blocks of a way.
    fn way(&self, blocks: impl Iterator<Item = BlockId>) -> Way {
        let mut way = Way::default();
        for block in blocks {
            way.places.extend(self.of_block.get(&block).into_iter().flatten());
            way.calls |= self.calling.contains(&block);
        }
        way
    }

    /// Adds the places of a kind that several ways lead to, if it is not one place.
    fn compare(&self, ways: &[Way], found: &mut BTreeSet<usize>) {
        let calling = ways.iter().filter(|way| way.calls).count();
        for way in ways {
            if calling > usize::from(way.calls) {
                found.extend(&way.places);
            }
        }
        let entries = || {
            let all = ways.iter().enumerate();
            all.flat_map(|(number, way)| way.places.iter().map(move |&place| (number, place)))
        };
        let mut count = Counts::default();
        for (number, place) in entries() {
            count.add(number, self.kind(place));
        }
        found.extend(
            entries().filter(|&(number, place)| count.meets(number, self.kind(place))).map(|it| it.1),
        );
    }

    fn kind(&self, place: usize) -> Kind {
        (self.places[place].exchange, self.places[place].constant())
    }
}

/// Which masks are counted.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Masks {
    Any,
    Only(Option<u32>),
}

/// Numbers of places on several ways.
#[derive(Default)]
struct Counts {
    of_kind: FxHashMap<(Exchange, Masks), usize>,
    of_way: FxHashMap<(Exchange, Masks, usize), usize>,
}

impl Counts {
    fn add(&mut self, way: usize, (exchange, mask): Kind) {
        for masks in [Masks::Any, Masks::Only(mask)] {
            *self.of_kind.entry((exchange, masks)).or_default() += 1;
            *self.of_way.entry((exchange, masks, way)).or_default() += 1;
        }
    }

    /// Whether a place on another way may have the mask.
    fn meets(&self, way: usize, (exchange, mask): Kind) -> bool {
        let elsewhere =
            |masks: Masks| self.of_kind.get(&(exchange, masks)) > self.of_way.get(&(exchange, masks, way));
        match mask {
            Some(_) => elsewhere(Masks::Only(mask)) || elsewhere(Masks::Only(None)),
            None => elsewhere(Masks::Any),
        }
    }
}
