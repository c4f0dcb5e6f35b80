//! Compares the sets of definitions that reach the readers of some registers: exact, and slow where many definitions
//! reach far, so it is asked about registers only that [`super::origins`] could not settle.

use super::MovedError;
use super::effects::{Effect, Effects, Register, Writers};
use oriole_ori::{BlockId, Cfg};
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};
use typed_index_collections::{TiVec, ti_vec};

/// Ids of instructions.
type Set = SmallVec<[u32; 2]>;
/// Last writers of each register. An unlisted register has its content at entry.
type State = BTreeMap<Register, Set>;
/// A reader, a register, and its possible last writers; with the count of occurrences.
type Reads = BTreeMap<(u32, Register, Set), u32>;

/// The content of a register at entry.
const ENTRY: u32 = u32::MAX;

/// Compares the readers of the registers `only`.
///
/// # Errors
/// The first instruction that reads something else, or that is there more or less often.
pub(super) fn check(
    cfg: &Cfg,
    before: &Effects,
    after: &Effects,
    only: &BTreeSet<Register>,
    writers: &Writers,
) -> Result<(), MovedError> {
    let wanted = reads(cfg, before, only);
    let found = reads(cfg, after, only);
    for (read, count) in &found {
        let expected = wanted.get(read).copied().unwrap_or(0);
        if *count != expected {
            let (reader, (file, register), last) = read;
            let last: Vec<String> = last.iter().map(|&writer| writers.text(writer)).collect();
            return Err(MovedError::Read {
                reader: writers.text(*reader),
                file: *file,
                register: *register,
                writers: last.join("; "),
                expected,
                count: *count,
            });
        }
    }
    match wanted.keys().find(|read| !found.contains_key(*read)) {
        Some((reader, ..)) => Err(MovedError::Lost(writers.text(*reader))),
        None => Ok(()),
    }
}

fn reads(cfg: &Cfg, effects: &Effects, only: &BTreeSet<Register>) -> Reads {
    let mut walk = Walk { only, reads: None };
    let mut entries: TiVec<BlockId, Option<State>> = ti_vec![None; effects.blocks.len()];
    if let Some(entry) = entries.first_mut() {
        *entry = Some(State::new());
    }
    let mut work: BTreeSet<u32> = (0..cfg.order().len().min(1) as u32).collect();
    while let Some(position) = work.pop_first() {
        let block = cfg.order()[position as usize];
        let Some(mut state) = entries[block].clone() else { continue };
        walk.block(&effects.blocks[block], &mut state);
        for &successor in cfg.successors(block) {
            let changed = match &mut entries[successor] {
                Some(known) => join(known, &state),
                slot => {
                    *slot = Some(state.clone());
                    true
                }
            };
            if changed && let Some(position) = cfg.position(successor) {
                work.insert(position);
            }
        }
    }
    walk.reads = Some(Reads::new());
    for &block in cfg.order() {
        if let Some(mut state) = entries[block].clone() {
            walk.block(&effects.blocks[block], &mut state);
        }
    }
    walk.reads.unwrap_or_default()
}

/// Adds the state of another path. True if something is new.
fn join(known: &mut State, other: &State) -> bool {
    let mut changed = false;
    for (&register, set) in other {
        let mine = known.entry(register).or_insert_with(|| {
            changed = true;
            Set::from_slice(&[ENTRY])
        });
        changed |= add(mine, set);
    }
    for (register, mine) in known {
        if !other.contains_key(register) {
            changed |= add(mine, &[ENTRY]);
        }
    }
    changed
}

fn add(set: &mut Set, other: &[u32]) -> bool {
    let before = set.len();
    for number in other {
        if let Err(at) = set.binary_search(number) {
            set.insert(at, *number);
        }
    }
    set.len() > before
}

struct Walk<'a> {
    only: &'a BTreeSet<Register>,
    /// The recorded reads, in the last walk over each block.
    reads: Option<Reads>,
}

impl Walk<'_> {
    fn block(&mut self, effects: &[Effect], state: &mut State) {
        let only = self.only;
        let asked = |registers: &[Register]| -> SmallVec<[Register; 4]> {
            registers.iter().filter(|register| only.contains(register)).copied().collect()
        };
        for effect in effects {
            if let Some(reads) = &mut self.reads {
                let mut read: BTreeSet<Register> = asked(&effect.read).into_iter().collect();
                if effect.returns {
                    read.extend(state.keys());
                }
                for register in read {
                    let last = state.get(&register).cloned().unwrap_or_else(|| Set::from_slice(&[ENTRY]));
                    *reads.entry((effect.number, register, last)).or_default() += 1;
                }
            }
            for register in asked(&effect.written) {
                let set = state.entry(register).or_insert_with(|| Set::from_slice(&[ENTRY]));
                if effect.keeps {
                    add(set, &[effect.number]);
                } else {
                    *set = Set::from_slice(&[effect.number]);
                }
            }
            for register in asked(&effect.clobbered) {
                state.insert(register, Set::from_slice(&[effect.number]));
            }
        }
    }
}
