//! Compares where the contents of registers come from, in time linear in the function: what a register holds has one
//! id, and a place where paths meet with different contents makes a new one, as a phi does.
//!
//! Equal ids mean equal sets of reaching definitions. The reverse need not hold: paths may meet elsewhere with the same
//! definitions, and a partial write has its predecessor in its id. So a register that differs here need not be wrong.

use super::effects::{Effect, Effects, Register};
use oriole_ori::{BlockId, Cfg};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use typed_index_collections::{TiVec, ti_vec};

/// Where the content of a register comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Origin {
    /// From before the function.
    Entry,
    /// From a writer.
    Writer(u32),
    /// From a writer, or still from this origin.
    Also(u32, u32),
    /// Paths with different contents of the register meet at the start of the block.
    Join(BlockId, u16),
}

/// Ids of origins, the same for both functions.
#[derive(Default)]
struct Origins {
    ids: FxHashMap<Origin, u32>,
    list: Vec<Origin>,
}

impl Origins {
    fn id(&mut self, origin: Origin) -> u32 {
        *self.ids.entry(origin).or_insert_with(|| {
            self.list.push(origin);
            self.list.len() as u32 - 1
        })
    }
}

/// Contents of all registers at one place.
type State = Box<[u32]>;

/// A reader, a register, and the origin of its content.
type Read = (u32, u16, u32);

/// Visits of a block on average after which the ids count as unstable. Nested loops take one for each level.
const VISITS: usize = 64;

/// Registers whose readers do not find the same contents in both functions, as far as ids show it.
pub(super) fn differing(cfg: &Cfg, before: &Effects, after: &Effects) -> BTreeSet<Register> {
    let mut registers: BTreeSet<Register> = BTreeSet::new();
    for effect in before.all().chain(after.all()) {
        registers.extend(effect.read.iter().chain(&effect.written).chain(&effect.clobbered));
    }
    let registers: Vec<Register> = registers.into_iter().collect();
    let mut origins = Origins::default();
    let mut flow = |effects| Flow::of(cfg, effects, &registers, &mut origins);
    let (Some(before), Some(after)) = (flow(before), flow(after)) else {
        return registers.into_iter().collect();
    };
    let mut wrong: BTreeSet<u16> = BTreeSet::new();
    compare_reads(&before.reads, &after.reads, &mut wrong);
    // The contents that meet at each join that a reader sees, directly or through others.
    let mut seen: BTreeSet<u32> = before.reads.iter().map(|(_, _, origin)| *origin).collect();
    let mut work: Vec<u32> = seen.iter().copied().collect();
    while let Some(id) = work.pop() {
        let mut reach = |id: u32| {
            if seen.insert(id) {
                work.push(id);
            }
        };
        match origins.list[id as usize] {
            Origin::Entry | Origin::Writer(_) => {}
            Origin::Also(_, last) => reach(last),
            Origin::Join(block, register) => {
                for &predecessor in cfg.predecessors(block) {
                    let content = |flow: &Flow| {
                        flow.ends[predecessor].as_ref().map(|state| state[usize::from(register)])
                    };
                    let (wanted, found) = (content(&before), content(&after));
                    if wanted != found {
                        wrong.insert(register);
                    }
                    wanted.into_iter().for_each(&mut reach);
                }
            }
        }
    }
    wrong.into_iter().map(|register| registers[usize::from(register)]).collect()
}

/// Adds the registers that are in one of the sorted lists more often than in the other.
fn compare_reads(before: &[Read], after: &[Read], wrong: &mut BTreeSet<u16>) {
    let (mut at, mut other) = (0, 0);
    loop {
        match (before.get(at), after.get(other)) {
            (None, None) => return,
            (Some(read), Some(found)) if read == found => (at, other) = (at + 1, other + 1),
            (Some(read), found) if found.is_none_or(|found| read < found) => {
                wrong.insert(read.1);
                at += 1;
            }
            (_, Some(found)) => {
                wrong.insert(found.1);
                other += 1;
            }
            (Some(_), None) => return,
        }
    }
}

/// Contents of the registers of a function.
struct Flow {
    /// At the end of each block that is reached.
    ends: TiVec<BlockId, Option<State>>,
    /// All reads, sorted.
    reads: Vec<Read>,
}

impl Flow {
    /// `None` if the ids do not settle.
    fn of(cfg: &Cfg, effects: &Effects, registers: &[Register], origins: &mut Origins) -> Option<Flow> {
        let index: FxHashMap<Register, u16> =
            registers.iter().enumerate().map(|(index, &register)| (register, index as u16)).collect();
        let mut walk = Walk { cfg, index, origins, ends: ti_vec![None; cfg.count()], reads: None };
        let mut work: BTreeSet<u32> = (0..cfg.order().len().min(1) as u32).collect();
        let mut visits = VISITS * cfg.order().len();
        while let Some(position) = work.pop_first() {
            visits = visits.checked_sub(1)?;
            let block = *cfg.order().get(position as usize)?;
            let mut state = walk.start(block);
            walk.block(&effects.blocks[block], &mut state);
            if walk.ends[block].as_ref() != Some(&state) {
                walk.ends[block] = Some(state);
                work.extend(cfg.successors(block).iter().filter_map(|&successor| cfg.position(successor)));
            }
        }
        walk.reads = Some(Vec::new());
        for &block in cfg.order() {
            let mut state = walk.start(block);
            walk.block(&effects.blocks[block], &mut state);
        }
        let mut reads = walk.reads.unwrap_or_default();
        reads.sort_unstable();
        Some(Flow { ends: walk.ends, reads })
    }
}

struct Walk<'a> {
    cfg: &'a Cfg,
    /// Position of each register in a state.
    index: FxHashMap<Register, u16>,
    origins: &'a mut Origins,
    ends: TiVec<BlockId, Option<State>>,
    /// The recorded reads, in the last walk over each block.
    reads: Option<Vec<Read>>,
}

impl Walk<'_> {
    /// Contents at the start of a block, from those at the ends of its predecessors.
    fn start(&mut self, block: BlockId) -> State {
        let entry = self.origins.id(Origin::Entry);
        let first = self.cfg.position(block) == Some(0);
        let predecessors = self.cfg.predecessors(block);
        let ends = &self.ends;
        let known = || predecessors.iter().filter_map(|&predecessor| ends[predecessor].as_ref());
        (0..self.index.len())
            .map(|register| {
                let join = Origin::Join(block, register as u16);
                let own = self.origins.ids.get(&join).copied();
                let mut contents =
                    first.then_some(entry).into_iter().chain(known().map(|state| state[register]));
                // A content that comes from here again adds nothing.
                let one = contents.find(|content| Some(*content) != own);
                match one {
                    Some(one) if contents.all(|content| content == one || Some(content) == own) => one,
                    Some(_) => self.origins.id(join),
                    None => entry,
                }
            })
            .collect()
    }

    fn block(&mut self, effects: &[Effect], state: &mut State) {
        for effect in effects {
            if let Some(reads) = &mut self.reads {
                let entry = self.origins.id(Origin::Entry);
                if effect.returns {
                    let written = (0..).zip(state.iter()).filter(|(_, origin)| **origin != entry);
                    reads.extend(written.map(|(register, &origin)| (effect.number, register, origin)));
                }
                for register in &effect.read {
                    let register = self.index[register];
                    let read = (effect.number, register, state[usize::from(register)]);
                    if !effect.returns || read.2 == entry {
                        reads.push(read);
                    }
                }
            }
            for register in &effect.written {
                let content = &mut state[usize::from(self.index[register])];
                let origin = if effect.keeps {
                    Origin::Also(effect.number, *content)
                } else {
                    Origin::Writer(effect.number)
                };
                *content = self.origins.id(origin);
            }
            if !effect.clobbered.is_empty() {
                let origin = self.origins.id(Origin::Writer(effect.number));
                for register in &effect.clobbered {
                    state[usize::from(self.index[register])] = origin;
                }
            }
        }
    }
}
