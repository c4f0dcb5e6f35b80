//! Checks of the rewrites after expansion, which move instructions between and within blocks when registers are
//! assigned: the reaching definitions of every register that an instruction reads must be the same as before.
//!
//! A call also reads arguments and clobbers registers that its operands do not name. Nothing is assumed about the
//! rewrites except that they keep the graph, and that is checked too.

use crate::set::RegisterSet;
use oriole_ori::{Assignment, BlockId, File, Function, Instruction, Opcode, Origin, Value};
use oriole_sass::Op;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};
use typed_index_collections::{TiVec, ti_vec};

/// A rewrite that changes the code's meaning. Instructions are named by their texts.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MovedError {
    /// Blocks follow each other in another way.
    #[error("a rewrite of expanded code changed the graph")]
    Graph,
    /// An instruction reads another value, or there are more or fewer of it.
    #[error(
        "after expansion {reader} reads {file:?}{register}, last written by [{writers}]: {expected} times before, {count} now"
    )]
    Read {
        /// The instruction that reads.
        reader: String,
        /// The file of the register.
        file: File,
        /// The register.
        register: u8,
        /// The instructions that wrote it last.
        writers: String,
        /// How often this read occurred before.
        expected: u32,
        /// How often it occurs now.
        count: u32,
    },
    /// An instruction does not read any more.
    #[error("after expansion a read by {0} is lost")]
    Lost(String),
}

/// Compares a function before and after the rewrites.
///
/// # Errors
/// The first instruction that reads something else, or that is there more or less often.
pub fn check(before: &Function, after: &Function, assignment: &Assignment) -> Result<(), MovedError> {
    let graph = |function: &Function| -> Vec<oriole_ori::Successors> {
        function.blocks.iter().map(|block| block.successors.clone()).collect()
    };
    if graph(before) != graph(after) {
        return Err(MovedError::Graph);
    }
    let mut writers = Writers::default();
    let wanted = reads(before, assignment, &mut writers);
    let found = reads(after, assignment, &mut writers);
    for (read, count) in &found {
        let expected = wanted.get(read).copied().unwrap_or(0);
        if *count != expected {
            let (reader, (file, register), last) = read;
            let last: Vec<&str> = last.iter().map(|&writer| writers.text(writer)).collect();
            return Err(MovedError::Read {
                reader: writers.text(*reader).to_owned(),
                file: *file,
                register: *register,
                writers: last.join("; "),
                expected,
                count: *count,
            });
        }
    }
    match wanted.keys().find(|read| !found.contains_key(*read)) {
        Some((reader, ..)) => Err(MovedError::Lost(writers.text(*reader).to_owned())),
        None => Ok(()),
    }
}

/// A register of a file.
type Register = (File, u8);
/// Ids of instructions.
type Set = SmallVec<[u32; 2]>;
/// Last writers of each register. An unlisted register has its content at entry.
type State = BTreeMap<Register, Set>;
/// A reader, a register, and its possible last writers; with the count of occurrences.
type Reads = BTreeMap<(u32, Register, Set), u32>;

/// Ids of readers and writers.
#[derive(Default)]
struct Writers {
    numbers: FxHashMap<Instruction, u32>,
    texts: Vec<String>,
}

/// The content of a register at entry.
const ENTRY: u32 = u32::MAX;

impl Writers {
    /// Instructions that compute the same have one id, wherever they are and whatever registers they write.
    fn number(&mut self, instruction: &Instruction) -> u32 {
        let mut key = instruction.clone();
        key.origin = Origin(0);
        key.destinations.iter_mut().for_each(|destination| destination.values.clear());
        let next = self.texts.len() as u32;
        match self.numbers.entry(key) {
            std::collections::hash_map::Entry::Occupied(known) => *known.get(),
            std::collections::hash_map::Entry::Vacant(new) => {
                self.texts.push(format!(
                    "{:?}{:?} of statement {}",
                    instruction.opcode, instruction.mods, instruction.origin.0
                ));
                *new.insert(next)
            }
        }
    }

    fn text(&self, number: u32) -> &str {
        self.texts.get(number as usize).map_or("nothing", String::as_str)
    }
}

fn reads(function: &Function, assignment: &Assignment, writers: &mut Writers) -> Reads {
    let graph = function.graph();
    let cfg = graph.cfg();
    let mut walk = Walk { function, assignment, writers, reads: None };
    let mut entries: TiVec<BlockId, Option<State>> = ti_vec![None; function.blocks.len()];
    if let Some(entry) = entries.first_mut() {
        *entry = Some(State::new());
    }
    let mut work: BTreeSet<u32> = [0].into();
    while let Some(position) = work.pop_first() {
        let block = cfg.order()[position as usize];
        let Some(mut state) = entries[block].clone() else { continue };
        walk.block(block, &mut state);
        for &successor in &function.block(block).successors {
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
            walk.block(block, &mut state);
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
    function: &'a Function,
    assignment: &'a Assignment,
    writers: &'a mut Writers,
    /// The recorded reads, in the last walk over each block.
    reads: Option<Reads>,
}

impl Walk<'_> {
    fn register(&self, value: Value) -> Option<Register> {
        let register = self.assignment.registers.get(value).copied().flatten()?;
        Some((self.function.file(value), register))
    }

    fn block(&mut self, block: BlockId, state: &mut State) {
        for instruction in &self.function.block(block).instructions {
            let number = self.writers.number(instruction);
            let mut read: BTreeSet<Register> = BTreeSet::new();
            instruction.for_each_use(|value| read.extend(self.register(value)));
            if let Some(call) = &instruction.call {
                read.extend(members(call.arguments).map(|register| (File::R, register)));
                read.extend(
                    members([call.argument_predicates.into(), 0, 0, 0]).map(|register| (File::P, register)),
                );
            }
            if instruction.opcode == Opcode::Sass(Op::RET) {
                // The caller finds there the results of the convention, and the preserved registers.
                read.extend(state.keys());
            }
            if let Some(reads) = &mut self.reads {
                for register in read {
                    let last = state.get(&register).cloned().unwrap_or_else(|| Set::from_slice(&[ENTRY]));
                    *reads.entry((number, register, last)).or_default() += 1;
                }
            }
            let keeps = instruction.is_partial();
            let mut written: Vec<Register> = Vec::new();
            instruction.for_each_definition(|value| written.extend(self.register(value)));
            for register in written {
                let set = state.entry(register).or_insert_with(|| Set::from_slice(&[ENTRY]));
                if keeps {
                    add(set, &[number]);
                } else {
                    *set = Set::from_slice(&[number]);
                }
            }
            if let Some(call) = &instruction.call {
                let general = members(call.clobbers).map(|register| (File::R, register));
                let predicates =
                    members([call.clobbered_predicates.into(), 0, 0, 0]).map(|register| (File::P, register));
                for register in general.chain(predicates) {
                    state.insert(register, Set::from_slice(&[number]));
                }
            }
        }
    }
}

/// The registers of a mask, bit n of word k for register `64 k + n`.
fn members(words: [u64; 4]) -> impl Iterator<Item = u8> {
    RegisterSet::from_words(words).iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use oriole_ori::parse::parse;

    const CALL: &str =
        "CALL.NOINC.REL callee(s0) call(s0 stack=0 clobbers=ffd,0,0,0 predicates=3 arguments=10,0,0,0,0) ; 4";

    /// Reports of the checker for code with reordered lines; the values have the registers of their ids.
    fn moved(before: &str, after: &str, expected: Expect) {
        let whole = |text: &str| {
            let text = text.replace("CALL", CALL);
            parse(&format!("kernel\n  symbol s0 helper \"routine\"\n{text}"))
                .unwrap_or_else(|error| panic!("{error:?}"))
        };
        let (before, after) = (whole(before), whole(after));
        let registers = before.values.keys().map(|value| Some(value.0 as u8)).collect();
        let assignment = Assignment { registers, ..Assignment::default() };
        let said =
            check(&before, &after, &assignment).map_or_else(|error| error.to_string(), |()| "right".into());
        expected.assert_eq(&said);
    }

    #[test]
    fn a_constant_above_a_call_that_overwrites_it_is_found() {
        let arms = |first: &str, one: &str| {
            format!(
                "b0: -> b2 b1\n{first}  @p19 BRA b2 ; 1\nb1: -> b3\n{one}  CALL\n  r8 = MOV 0x20 ; 5\n  BRA b3 ; 5\nb2: -> b3\n  r8 = MOV 0x20 ; 6\nb3:\n  STG [0x0], r8 mem(global w) ; 7\n  EXIT ; 7\n"
            )
        };
        let hoisted = |text: String| {
            let text = text.replacen("  CALL\n  r8 = MOV 0x20 ; 5\n", "  CALL\n", 1);
            text.replacen("b2: -> b3\n  r8 = MOV 0x20 ; 6\n", "b2: -> b3\n", 1)
        };
        let before = arms("", "");
        moved(
            &before,
            &hoisted(arms("  r8 = MOV 0x20 ; 5\n", "")),
            expect![
                "after expansion Sass(STG)Mods([]) of statement 7 reads R8, last written by [Sass(CALL)Mods([NOINC, REL]) of statement 4; Sass(MOV)Mods([]) of statement 5]: 0 times before, 1 now"
            ],
        );
        // Nothing is overwritten above the call.
        moved(
            &before.replace("r8", "r18"),
            &hoisted(arms("  r18 = MOV 0x20 ; 5\n", "").replace("r8 = MOV 0x20 ; 5\n  BRA", "BRA"))
                .replace("r8", "r18"),
            expect!["right"],
        );
    }

    #[test]
    fn a_move_over_an_argument_of_a_call_is_found() {
        let text = "b0: -> b1\n  r4 = MOV 0x1 ; 0\nb1: -> b2 b3\n  r16 = IADD3 r4, 0x1, RZ ; 1\nHERE  @p19 BRA b3 ; 2\nb2: -> b1\nLATCH  BRA b1 ; 3\nb3:\n  CALL\n  EXIT ; 5\n";
        let before = text.replace("HERE", "").replace("LATCH", "  r4 = Copy r16 ; 3\n");
        moved(
            &before,
            &text.replace("LATCH", "").replace("HERE", "  r4 = Copy r16 ; 3\n"),
            expect![
                "after expansion Sass(CALL)Mods([NOINC, REL]) of statement 4 reads R4, last written by [Pseudo(Copy)Mods([]) of statement 3]: 0 times before, 1 now"
            ],
        );
        moved(&before, &before, expect!["right"]);
    }
}
