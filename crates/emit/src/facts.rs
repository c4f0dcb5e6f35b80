//! Facts about a compiled function for reports: for each word where it stems from, how long it waits and why;
//! for each statement how many registers are live; where the registers of the source live, what was spilled,
//! where the peak is.
//!
//! It is here because editors and reports ask the same questions, and the answers are in two stages:
//! allocation knows values and their sources, the finished code knows control words. It only reads; nothing
//! of it enters the code. Places are ordinals of statements, so that moving text leaves the facts equal.

use crate::Allocated;
use oriole_latency::Model;
use oriole_ori::{File, Function, Liveness, MachineFunction, Source, SourceKind, Space, Value};
use oriole_sass::form::Table;
use oriole_sass::{Access, Instruction, RegisterFile, accesses};
use std::collections::BTreeMap;
use typed_index_collections::{TiSlice, TiVec, ti_vec};

/// Trips that a loop is taken to make, for estimates of cycles.
const TRIPS: u64 = 10;

/// Assumed executions of a word in this many nested loops.
pub fn weight(loop_depth: u8) -> u64 {
    TRIPS.saturating_pow(u32::from(loop_depth.min(6)))
}

/// Why a word waits before the next one may issue, or before it issues itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Wait {
    /// It stalls so that a result arrives in time: the word that makes it, the word that reads it, cycles between the
    /// two, and the register.
    Result {
        /// Index of the word that makes the result.
        producer: u32,
        /// Index of the word that reads it.
        consumer: u32,
        /// Cycles that must pass between them.
        cycles: u8,
        /// Register file.
        file: RegisterFile,
        /// Number in the file.
        register: u8,
    },
    /// Before it issues it waits for a scoreboard that this word sets.
    Scoreboard {
        /// Index of the word that sets the scoreboard, the last one before in the block.
        setter: u32,
        /// Whether it waits for results, else for sources to be read.
        results: bool,
        /// Number of the scoreboard.
        scoreboard: u8,
    },
    /// The opcode itself demands the stall.
    Opcode,
}

/// One word.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Word {
    /// Ordinal of the statement that it stems from.
    pub statement: u32,
    /// Cycles until the next word may issue.
    pub stall: u8,
    /// Count of loops around it.
    pub loop_depth: u8,
    /// Why it waits; empty if it does not.
    pub waits: Vec<Wait>,
}

/// Registers that are live at one time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Live {
    /// General registers.
    pub general: u16,
    /// Uniform registers.
    pub uniform: u16,
    /// Predicates.
    pub predicates: u16,
}

/// A register of the source, or of the compiler's own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Origin {
    /// Register of the source by its number in the body, and which 32 bits of it.
    Source(u32, u8),
    /// A temporary of the compiler.
    Temporary,
}

/// Where a component of a register of the source lives, somewhere in the function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Home {
    /// Register of the source, by its number in the body.
    pub register: u32,
    /// Which 32 bits of it.
    pub component: u8,
    /// The file.
    pub file: File,
    /// Number in the file.
    pub number: u8,
}

/// A spill store or reload.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Spill {
    /// Ordinal of the statement that it stands for.
    pub statement: u32,
    /// True for a reload, false for a store.
    pub reload: bool,
    /// Whose value it is.
    pub origin: Origin,
}

/// The place where most general registers are live.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Peak {
    /// How many are live.
    pub live: Live,
    /// Ordinal of the statement.
    pub statement: u32,
    /// Registers of the source that are live there, with how many 32-bit components; in order of number.
    pub registers: Vec<(u32, u8)>,
    /// Components of the compiler's own.
    pub temporaries: u32,
}

/// Facts about a compiled function.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct FunctionFacts {
    /// The words in layout order.
    pub words: Vec<Word>,
    /// For each statement that made code, in order: the most registers live at one of its instructions.
    pub live: Vec<(u32, Live)>,
    /// Where most registers are live.
    pub peak: Peak,
    /// Where the registers of the source live, sorted.
    pub homes: Vec<Home>,
    /// Spills in order of place.
    pub spills: Vec<Spill>,
    /// General registers, highest number plus one.
    pub general_registers: u16,
    /// Bytes of the frame, and how many of them hold spills.
    pub frame_bytes: u32,
    /// Bytes of the frame that hold spills.
    pub spill_bytes: u32,
    /// Estimated cycles of one warp that runs alone, each loop taken ten times and memory as fast as it is guessed; of a
    /// call the instruction itself and not what the callee takes.
    pub cycles: u64,
}

impl FunctionFacts {
    /// The words of a statement, by index.
    pub fn words_of(&self, statement: u32) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().filter(move |(_, word)| word.statement == statement).map(|(at, _)| at)
    }

    /// The most registers live at a statement.
    pub fn live_at(&self, statement: u32) -> Option<Live> {
        let found = self.live.binary_search_by_key(&statement, |entry| entry.0).ok()?;
        Some(self.live[found].1)
    }
}

/// Collects the facts of a function, with the latency model and the forms of its chip.
pub fn facts(
    model: &Model,
    forms: &'static Table,
    allocated: &Allocated,
    finished: &MachineFunction,
) -> FunctionFacts {
    let function = &allocated.function;
    let assignment = &allocated.assignment;
    let mut facts = FunctionFacts {
        general_registers: finished.general_registers,
        frame_bytes: assignment.frame_bytes,
        spill_bytes: assignment.spill_bytes,
        ..FunctionFacts::default()
    };
    for (value, data) in function.values.iter_enumerated() {
        let number = assignment.registers.get(value).copied().flatten();
        if let (Some((register, component)), Some(number)) = (data.source, number) {
            facts.homes.push(Home { register, component, file: data.file, number });
        }
    }
    facts.homes.sort_unstable();
    facts.homes.dedup();
    spills(allocated, &mut facts);
    pressure(allocated, &mut facts);
    words(model, forms, finished, &mut facts);
    facts
}

fn origin(function: &Function, value: Value) -> Origin {
    match function.values[value].source {
        Some((register, component)) => Origin::Source(register, component),
        None => Origin::Temporary,
    }
}

/// Notes each access of a spill slot. The registers that a function saves for its caller are after the slots.
fn spills(allocated: &Allocated, facts: &mut FunctionFacts) {
    let Allocated { function, assignment } = allocated;
    let slots = assignment.spill_base..assignment.spill_base + assignment.spill_bytes;
    let is_slot = |source: &Source| match &source.kind {
        SourceKind::Address(address) => u32::try_from(address.offset).is_ok_and(|at| slots.contains(&at)),
        _ => false,
    };
    for block in &function.blocks {
        for instruction in &block.instructions {
            let Some(memory) = instruction.memory.filter(|memory| memory.space == Space::Spill) else {
                continue;
            };
            if !instruction.sources.first().is_some_and(is_slot) {
                continue;
            }
            let mut value = None;
            if memory.writes {
                // The stored value is the last thing that is read; the address comes before it.
                instruction.for_each_use(|used| value = Some(used));
            } else {
                instruction.for_each_definition(|defined| value = value.or(Some(defined)));
            }
            let origin = value.map_or(Origin::Temporary, |value| origin(function, value));
            facts.spills.push(Spill { statement: instruction.origin.0, reload: !memory.writes, origin });
        }
    }
}

/// The live values while a block is walked backwards, and the registers that they take.
///
/// Registers are counted and not values: a value that is written under a guard counts as live before, since the register
/// keeps its old value, and so two live values share the register.
struct Walk<'a> {
    function: &'a Function,
    numbers: &'a TiSlice<Value, Option<u8>>,
    /// Values that are written under guards only.
    guarded: TiVec<Value, bool>,
    live: TiVec<Value, bool>,
    set: Vec<Value>,
    /// For each file and register the live values in it.
    taken: [[u16; 256]; 5],
    count: [u16; 5],
}

impl<'a> Walk<'a> {
    fn new(allocated: &'a Allocated) -> Walk<'a> {
        let function = &allocated.function;
        let mut guarded: TiVec<Value, bool> = ti_vec![true; function.values.len()];
        let instructions = function.blocks.iter().flat_map(|block| &block.instructions);
        for instruction in instructions.filter(|it| !it.keeps_its_results()) {
            instruction.for_each_definition(|value| guarded[value] = false);
        }
        Walk {
            function,
            numbers: &allocated.assignment.registers,
            guarded,
            live: ti_vec![false; function.values.len()],
            set: Vec::new(),
            taken: [[0; 256]; 5],
            count: [0; 5],
        }
    }

    /// File and number of a value's register.
    fn place(&self, value: Value) -> Option<(usize, usize)> {
        let number = self.numbers.get(value).copied().flatten()?;
        Some((self.function.file(value) as usize, usize::from(number)))
    }

    fn add(&mut self, value: Value) {
        if !std::mem::replace(&mut self.live[value], true) {
            self.set.push(value);
            if let Some((file, number)) = self.place(value) {
                self.taken[file][number] += 1;
                self.count[file] += u16::from(self.taken[file][number] == 1);
            }
        }
    }

    fn remove(&mut self, value: Value) {
        if std::mem::replace(&mut self.live[value], false)
            && let Some((file, number)) = self.place(value)
        {
            self.taken[file][number] -= 1;
            self.count[file] -= u16::from(self.taken[file][number] == 0);
        }
    }

    /// Registers that are taken while an instruction runs, those of dead results among them.
    fn during(&self, instruction: &oriole_ori::Instruction) -> Live {
        let mut count = self.count;
        let mut results: Vec<(usize, usize)> = Vec::new();
        instruction.for_each_definition(|value| {
            let place = self.place(value).filter(|&(file, number)| self.taken[file][number] == 0);
            if let Some(place) = place.filter(|place| !results.contains(place)) {
                results.push(place);
                count[place.0] += 1;
            }
        });
        let at = |file: File| count[file as usize];
        Live { general: at(File::R), uniform: at(File::UR), predicates: at(File::P) }
    }
}

fn pressure(allocated: &Allocated, facts: &mut FunctionFacts) {
    let mut at: BTreeMap<u32, Live> = BTreeMap::new();
    let mut highest = Peak::default();
    walk(allocated, |walk, live, instruction| {
        let known = at.entry(instruction.origin.0).or_default();
        known.general = known.general.max(live.general);
        known.uniform = known.uniform.max(live.uniform);
        known.predicates = known.predicates.max(live.predicates);
        if live.general > highest.live.general {
            highest = peak(walk, live, instruction);
        }
    });
    facts.peak = highest;
    facts.live = at.into_iter().collect();
}

/// The live values of a statement, where they are most.
pub fn live_set(allocated: &Allocated, statement: u32) -> Peak {
    let mut highest = Peak { statement, ..Peak::default() };
    walk(allocated, |walk, live, instruction| {
        if instruction.origin.0 == statement && live >= highest.live {
            highest = peak(walk, live, instruction);
        }
    });
    highest
}

/// Visits every instruction with the values live at it, dead results included.
fn walk(allocated: &Allocated, mut visit: impl FnMut(&Walk<'_>, Live, &oriole_ori::Instruction)) {
    let function = &allocated.function;
    let graph = function.graph();
    let cfg = graph.cfg();
    let liveness = Liveness::new(function, cfg);
    let mut walk = Walk::new(allocated);
    for &id in cfg.order() {
        for &value in liveness.live_out(id) {
            walk.add(value);
        }
        for instruction in function.block(id).instructions.iter().rev() {
            visit(&walk, walk.during(instruction), instruction);
            if !instruction.keeps_its_results() {
                instruction.for_each_definition(|value| walk.remove(value));
            }
            instruction.for_each_use(|value| walk.add(value));
        }
        for value in std::mem::take(&mut walk.set) {
            walk.remove(value);
        }
    }
}

fn peak(walk: &Walk<'_>, live: Live, instruction: &oriole_ori::Instruction) -> Peak {
    // Of the values in one register the one that is surely there.
    let mut whose: BTreeMap<usize, (bool, Value)> = BTreeMap::new();
    let mut note = |value: Value| {
        if let Some((_, number)) = walk.place(value).filter(|place| place.0 == File::R as usize) {
            let candidate = (walk.guarded[value], value);
            let known = whose.entry(number).or_insert(candidate);
            *known = (*known).min(candidate);
        }
    };
    walk.set.iter().copied().filter(|value| walk.live[*value]).for_each(&mut note);
    instruction.for_each_definition(&mut note);
    let mut components: BTreeMap<u32, u8> = BTreeMap::new();
    let mut temporaries = 0;
    for (_, value) in whose.into_values() {
        match origin(walk.function, value) {
            Origin::Source(register, _) => *components.entry(register).or_default() += 1,
            Origin::Temporary => temporaries += 1,
        }
    }
    Peak { live, statement: instruction.origin.0, registers: components.into_iter().collect(), temporaries }
}

/// The last writer of a register in a block: index, part, issue cycle.
type Writers = BTreeMap<(RegisterFile, u8), (u32, oriole_latency::ResultPart, u64)>;

fn words(model: &Model, forms: &'static Table, finished: &MachineFunction, facts: &mut FunctionFacts) {
    for block in &finished.blocks {
        let first = facts.words.len();
        let mut writers = Writers::new();
        let mut setters: [Option<(u32, bool, u64)>; 8] = [None; 8];
        let (mut issue, mut elapsed) = (0u64, 0u64);
        for (offset, machine) in block.instructions.iter().enumerate() {
            let instruction = &machine.instruction;
            let index = (first + offset) as u32;
            let control = instruction.control;
            let mut word = Word {
                statement: machine.origin.0,
                stall: control.stall,
                loop_depth: block.loop_depth,
                waits: Vec::new(),
            };
            for scoreboard in 0..8u8 {
                if control.wait_mask >> scoreboard & 1 == 0 {
                    continue;
                }
                if let Some((setter, results, ready)) = setters[usize::from(scoreboard)].take() {
                    word.waits.push(Wait::Scoreboard { setter, results, scoreboard });
                    elapsed = elapsed.max(ready);
                }
            }
            if stalls_by_itself(model, instruction) {
                word.waits.push(Wait::Opcode);
            }
            facts.words.push(word);
            binding(model, forms, block, first, index, issue, &writers, facts);
            let estimate = u64::from(model.estimate(instruction.op));
            if let Some(number) = control.write_barrier {
                setters[usize::from(number & 7)] = Some((index, true, elapsed + estimate));
            }
            if let Some(number) = control.read_barrier {
                setters[usize::from(number & 7)] = Some((index, false, elapsed + estimate / 4));
            }
            accesses(forms, machine.form, instruction, |access| {
                if let Access::Write { file, register, part } = access {
                    writers.insert((file, register), (index, part, issue));
                }
            });
            let stall = u64::from(control.stall.max(1));
            issue += stall;
            elapsed += stall;
        }
        facts.cycles = facts.cycles.saturating_add(elapsed.saturating_mul(weight(block.loop_depth)));
    }
}

/// Notes the stalls that the results which this word reads demand exactly.
#[allow(clippy::too_many_arguments, reason = "the state of one walk, not worth a name of its own")]
fn binding(
    model: &Model,
    forms: &'static Table,
    block: &oriole_ori::MachineBlock,
    first: usize,
    index: u32,
    issue: u64,
    writers: &Writers,
    facts: &mut FunctionFacts,
) {
    let machine = |word: u32| &block.instructions[word as usize - first];
    let at = |word: u32| &machine(word).instruction;
    let class = |instruction: &Instruction| model.class(instruction.op, &instruction.mods);
    let consumer = at(index);
    let mut tight: Vec<(u32, u8, RegisterFile, u8)> = Vec::new();
    accesses(forms, machine(index).form, consumer, |access| {
        let Access::Read { file, register, slot } = access else { return };
        let Some(&(producer, part, since)) = writers.get(&(file, register)) else { return };
        let Some(distance) = model.raw(class(at(producer)), part, class(consumer), slot) else { return };
        if issue - since == u64::from(distance.cycles) {
            tight.push((producer, distance.cycles, file, register));
        }
    });
    for (producer, cycles, file, register) in tight {
        // The longest stall between the two is the one that was made for them.
        let longest = (producer..index).max_by_key(|&word| (facts.words[word as usize].stall, word));
        let Some(longest) = longest.filter(|&word| facts.words[word as usize].stall > 1) else { continue };
        let wait = Wait::Result { producer, consumer: index, cycles, file, register };
        let waits = &mut facts.words[longest as usize].waits;
        let known = |known: &Wait| matches!(known, Wait::Result { producer: p, consumer: c, .. } if (*p, *c) == (producer, index));
        if waits.len() < 8 && !waits.iter().any(known) {
            waits.push(wait);
        }
    }
}

/// Whether the opcode of an instruction demands its stall by itself.
fn stalls_by_itself(model: &Model, instruction: &Instruction) -> bool {
    let least = model.minimum_stall(instruction.op, &instruction.mods);
    least > 1 && instruction.control.stall <= least
}
