//! Phase 75, LateArchOptimizeFirst: wide multiplies take their addend from a constant bank, where the chip reads
//! constants there. The register pair that was loaded for them only is gone.
//!
//! An instruction has one slot for an immediate or constant, so an immediate factor moves to a register: one for all
//! multiplies by that factor, instead of a pair for each address. Addresses of array elements have this shape; a
//! kernel has as many base addresses as arrays.
//!
//! Loads of constants that are left become moves there: those have no latency to wait for.

use crate::analyses::definitions::{Definitions, Place};
use crate::analyses::value_facts::is_plain_constant_load;
use crate::passes::live_dead;
use oriole_chip::Chip;
use oriole_options::Optimization;
use oriole_ori::{
    BlockId, Destination, Dominators, File, FormChange, Function, Instruction, Opcode, Outcome, Pass, Pseudo,
    Source, SourceKind, Value, effects, is_legal,
};
use oriole_sass::{Mod, Op};
use rustc_hash::FxHashMap;
use typed_index_collections::{TiVec, ti_vec};

/// Operand index of the addend of a wide multiply.
const ADDEND: usize = 2;

/// Operand index of the factor that may be an immediate.
const FACTOR: usize = 1;

/// Most registers with immediates that are searched for a factor: the most recent ones.
const MOST_LOOKED_AT: usize = 64;

/// The pass.
pub static PASS: Pass = Pass {
    form: FormChange::OutsideSsa,
    optimization: Some(Optimization::Folding),
    // An instruction has one slot for a constant, so operand folding does not put the immediate back.
    ..Pass::new(
        |function, context| if run(function, context.chip) { Outcome::Kept } else { Outcome::Unchanged },
    )
};

/// Folds all pairs that are only addends into operands, and moves other constants. True if there was one.
pub fn run(function: &mut Function, chip: Chip) -> bool {
    if !chip.adds_long_constants() {
        return false;
    }
    let added = add_pairs(function, chip);
    move_words(function) | added
}

/// Loads of one or two words become moves, after exits that come before what reads them: nothing is gained by being
/// early. True if there was one.
fn move_words(function: &mut Function) -> bool {
    let mut changed = false;
    let mut touched: TiVec<Value, u32> = ti_vec![u32::MAX; function.values.len()];
    for block in &mut function.blocks {
        if !block.instructions.iter().any(is_plain_constant_load) {
            continue;
        }
        changed = true;
        let old = std::mem::take(&mut block.instructions);
        let exits = (0..).zip(&old).filter(|(_, it)| effects::is_guarded_exit(it)).map(|(place, _)| place);
        let exits: Vec<u32> = exits.collect();
        // From the end: where each value is read or written next.
        let mut moves: Vec<(u32, Instruction)> = Vec::new();
        for (place, instruction) in (0..old.len() as u32).rev().zip(old.iter().rev()) {
            if is_plain_constant_load(instruction) {
                let values = &instruction.destinations[0].values;
                let next = values.iter().map(|&value| touched[value]).min().unwrap_or(u32::MAX);
                let exit = exits.iter().rev().find(|&&exit| exit < next).copied();
                let place = exit.map_or(place, |exit| exit.max(place));
                moves.extend(words(instruction).into_iter().rev().map(|word| (place, word)));
            }
            instruction.for_each_definition(|value| touched[value] = place);
            instruction.for_each_use(|value| touched[value] = place);
        }
        for instruction in &old {
            instruction.for_each_definition(|value| touched[value] = u32::MAX);
            instruction.for_each_use(|value| touched[value] = u32::MAX);
        }
        moves.reverse();
        moves.sort_by_key(|(place, _)| *place);
        let mut moves = moves.into_iter().peekable();
        for (place, instruction) in (0..).zip(old) {
            if !is_plain_constant_load(&instruction) {
                block.instructions.push(instruction);
            }
            while let Some((_, word)) = moves.next_if(|(at, _)| *at == place) {
                block.instructions.push(word);
            }
        }
    }
    changed
}

/// The moves in place of a load.
fn words(load: &Instruction) -> Vec<Instruction> {
    let SourceKind::Const { bank, base, offset } = load.sources[0].kind else { return Vec::new() };
    let destination = &load.destinations[0];
    let places = (offset..).step_by(4).zip(&destination.values);
    let word = |(offset, &value)| {
        let mut word = Instruction::new(Op::MOV, load.origin);
        word.destinations.push(Destination::new(destination.file, [value]));
        word.sources.push(Source::plain(SourceKind::Const { bank, base, offset }));
        word
    };
    places.map(word).collect()
}

/// Pairs that are only addends become operands. True if there was one.
fn add_pairs(function: &mut Function, chip: Chip) -> bool {
    let pairs = pairs(function, chip);
    if pairs.is_empty() {
        return false;
    }
    let graph = function.graph();
    let (cfg, dominators) = (graph.cfg(), graph.dominators());
    let mut factors = Factors::default();
    // In RPO, so that a factor's register is defined where most multiplies can read it.
    for &id in cfg.order() {
        let mut instructions = std::mem::take(&mut function.block_mut(id).instructions);
        for instruction in &mut instructions {
            let Some(pair) = addend(instruction).and_then(|addend| pairs.get(&addend)) else { continue };
            instruction.sources[ADDEND] = pair.constant.clone();
            if let SourceKind::Imm(number) = instruction.sources[FACTOR].kind {
                let value = factors.in_register(function, dominators, number, pair.place);
                instruction.sources[FACTOR] = Source::value(value);
            }
        }
        function.block_mut(id).instructions = instructions;
    }
    factors.write(function);
    live_dead::run(function);
    true
}

/// A pair that holds a constant.
struct Pair {
    constant: Source,
    /// The instruction that writes its upper word, which comes before all readers.
    place: (BlockId, u32),
}

/// Two words that are read as one addend.
type Words = [Value; 2];

/// The pairs that become operands.
fn pairs(function: &Function, chip: Chip) -> FxHashMap<Words, Pair> {
    let instructions = || function.blocks.iter().flat_map(|block| &block.instructions);
    // Counts the reads of each pair by multiplies that may read the constant, and of each word by instructions that
    // may.
    let mut read: FxHashMap<Words, u32> = FxHashMap::default();
    for words in instructions().filter_map(addend) {
        *read.entry(words).or_default() += 1;
    }
    if read.is_empty() {
        return FxHashMap::default();
    }
    let definitions = Definitions::new(function);
    let mut pairs: FxHashMap<Words, Pair> = FxHashMap::default();
    for &words in read.keys() {
        if let Some(pair) = constant_pair(function, &definitions, words) {
            pairs.insert(words, pair);
        }
    }
    let mut others: FxHashMap<Value, u32> = FxHashMap::default();
    for instruction in instructions().filter(|instruction| takes_constants(instruction)) {
        instruction.for_each_use(|value| *others.entry(value).or_default() += 1);
    }
    for instruction in instructions() {
        let Some(words) = addend(instruction) else { continue };
        let Some(pair) = pairs.get(&words) else { continue };
        let mut candidate = instruction.clone();
        candidate.sources[ADDEND] = pair.constant.clone();
        if let SourceKind::Imm(_) = candidate.sources[FACTOR].kind {
            // Any register will do.
            candidate.sources[FACTOR] = Source::value(words[0]);
        }
        if !is_legal(chip, function, &candidate) {
            pairs.remove(&words);
        }
    }
    pairs.retain(|words, _| {
        let count = read[words];
        words.iter().all(|word| definitions.uses(*word) == count + others.get(word).copied().unwrap_or(0))
    });
    pairs
}

/// The register pair that is the addend of a wide multiply.
fn addend(i: &Instruction) -> Option<Words> {
    let product = i.opcode == Opcode::Sass(Op::IMAD)
        && i.mods.has(Mod::WIDE)
        && i.mods.iter().all(|name| matches!(name, Mod::WIDE | Mod::U32))
        && i.sources.len() == 3
        && i.destinations.len() == 1;
    let factor = product.then(|| &i.sources[FACTOR].kind);
    if !matches!(factor, Some(SourceKind::Imm(_) | SourceKind::Values(_))) {
        return None;
    }
    let addend = &i.sources[ADDEND];
    match &addend.kind {
        SourceKind::Values(values) if !addend.negate && !addend.invert && addend.fixed.is_none() => {
            Words::try_from(values.as_slice()).ok()
        }
        _ => None,
    }
}

/// True if it reads constant-bank words as operands, now or once it is expanded.
fn takes_constants(i: &Instruction) -> bool {
    matches!(
        i.opcode,
        Opcode::Pseudo(Pseudo::Add64 | Pseudo::SetPredicate64 | Pseudo::Select64 | Pseudo::Logic64)
            | Opcode::Sass(Op::IADD3 | Op::ISETP)
    )
}

/// Two adjacent words of a constant bank, aligned to their total size.
fn constant_pair(function: &Function, definitions: &Definitions, words: Words) -> Option<Pair> {
    let [low, high] = words.map(|word| {
        let source = constant_word(function, definitions, word)?;
        let SourceKind::Const { bank, base, offset } = source.kind else { return None };
        Some((bank, base, offset))
    });
    let ((bank, base, offset), (high_bank, high_base, behind)) = (low?, high?);
    let together = high_bank == bank && high_base == base && behind == offset + 4 && offset % 8 == 0;
    let Place::Instruction(block, at) = definitions.place(words[1]) else { return None };
    together.then(|| Pair {
        constant: Source::plain(SourceKind::Const { bank, base, offset }),
        place: (block, at),
    })
}

/// The constant-bank word that a register holds at each of its reads.
fn constant_word(function: &Function, definitions: &Definitions, word: Value) -> Option<Source> {
    if !definitions.is_stable(word) || function.file(word) != File::R {
        return None;
    }
    let maker = definitions.instruction(function, word)?;
    let at = maker.destinations.first()?.values.iter().position(|&value| value == word)?;
    let moved = matches!(maker.opcode, Opcode::Sass(Op::MOV) | Opcode::Pseudo(Pseudo::Copy));
    if !(is_plain_constant_load(maker) || moved && maker.sources.len() == 1) {
        return None;
    }
    let mut source = maker.sources.first()?.clone();
    match &mut source.kind {
        SourceKind::Const { offset, .. } => *offset += 4 * at as i32,
        _ => return None,
    }
    Some(source)
}

/// Immediates that are in registers.
#[derive(Default)]
struct Factors {
    known: Vec<Factor>,
}

/// An immediate in a register from a program point on.
struct Factor {
    number: u32,
    value: Value,
    place: (BlockId, u32),
}

impl Factors {
    /// A register that holds the immediate from this program point on.
    fn in_register(
        &mut self,
        function: &mut Function,
        dominators: &Dominators,
        number: u32,
        place: (BlockId, u32),
    ) -> Value {
        let before = |factor: &&mut Factor| {
            factor.number == number
                && (factor.place.0 == place.0 || dominators.dominates(factor.place.0, place.0))
        };
        if let Some(factor) = self.known.iter_mut().rev().take(MOST_LOOKED_AT).find(before) {
            if factor.place.0 == place.0 {
                factor.place.1 = factor.place.1.min(place.1);
            }
            return factor.value;
        }
        let value = function.new_value(File::R, None);
        self.known.push(Factor { number, value, place });
        value
    }

    /// Writes them.
    fn write(mut self, function: &mut Function) {
        // From the end, so that indices stay valid.
        self.known.sort_by_key(|factor| std::cmp::Reverse((factor.place, factor.number)));
        for Factor { number, value, place: (block, at) } in self.known {
            let instructions = &mut function.block_mut(block).instructions;
            let mut write = Instruction::new(Op::MOV, instructions[at as usize].origin);
            write.destinations.push(Destination::new(File::R, [value]));
            write.sources.push(Source::imm(number));
            instructions.insert(at as usize, write);
        }
    }
}
