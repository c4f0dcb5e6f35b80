//! Phase 51, ExtractShaderConstsFinal: 64-bit constants that f64 operations read come from a constant bank, where the
//! chip reads pairs of words there.
//!
//! A literal has 32 bits, so such a constant otherwise takes a register pair: two moves, and one more pair for the
//! operation to read; the two register banks deliver one operand pair per cycle. A function has one table of its
//! constants, without duplicates. On an H100 `erf` of f64 takes 0.60 of the time that it takes with moves. Chips that
//! cannot read such pairs keep the constants in uniform registers (`uniform_numbers`).

use crate::analyses::slots::source_type;
use crate::passes::live_dead::{self, Removed};
use oriole_chip::Chip;
use oriole_options::Optimization;
use oriole_ori::{
    ConstBase, File, FormChange, Function, Instruction, Opcode, Outcome, Pass, Pseudo, Source, SourceKind,
    Table, Value, is_legal,
};
use oriole_sass::Op;
use oriole_sass::info::SourceType;
use rustc_hash::FxHashMap;

/// The constant bank of a kernel's own constants and tables.
const BANK: u8 = 2;

/// The pass.
pub static PASS: Pass = Pass {
    form: FormChange::InSsa,
    optimization: Some(Optimization::Folding),
    asks: &[Optimization::DeadCode],
    ..Pass::new(|function, context| {
        if !run(function, context.chip) {
            return Outcome::Unchanged;
        }
        // Words of this table are not folded, and the moves of the constants are dead.
        match context.wants(Optimization::DeadCode).then(|| live_dead::remove(function)) {
            Some(Removed::Nothing | Removed::Whole) => Outcome::Kept,
            Some(Removed::Results) | None => Outcome::Changed,
        }
    })
};

/// Puts the f64 constants of a function into a table, and reads them there. True if there was one. In SSA.
pub fn run(function: &mut Function, chip: Chip) -> bool {
    if !chip.reads_long_constants() || !reads_doubles(function) {
        return false;
    }
    let words = words_with_numbers(function);
    let mut pool = Pool { table: function.tables.len() as u32, ..Pool::default() };
    for id in function.block_ids() {
        let mut instructions = std::mem::take(&mut function.block_mut(id).instructions);
        for instruction in &mut instructions {
            for index in 0..instruction.sources.len() {
                let number = pair_read(instruction, index).and_then(|pair| number_of(&words, pair));
                let Some(number) = number else { continue };
                // Test whether the operation takes a constant before the table grows.
                let mut other = instruction.clone();
                other.sources[index].kind = pool.constant(0);
                if is_legal(chip, function, &other) {
                    let offset = pool.offset(number);
                    instruction.sources[index].kind = pool.constant(offset);
                }
            }
        }
        function.block_mut(id).instructions = instructions;
    }
    let found = !pool.words.is_empty();
    if found {
        function.tables.push(Table::Words(pool.words));
    }
    found
}

/// The constants of a function.
#[derive(Default)]
struct Pool {
    table: u32,
    words: Vec<u32>,
    offsets: FxHashMap<[u32; 2], i32>,
}

impl Pool {
    /// Offset of the constant in the table; adds it if it is missing.
    fn offset(&mut self, number: [u32; 2]) -> i32 {
        *self.offsets.entry(number).or_insert_with(|| {
            let offset = 4 * self.words.len() as i32;
            self.words.extend(number);
            offset
        })
    }

    fn constant(&self, offset: i32) -> SourceKind {
        SourceKind::Const { bank: BANK, base: ConstBase::Table(self.table), offset }
    }
}

/// True if some operation reads f64 values: most kernels have none.
pub(crate) fn reads_doubles(function: &Function) -> bool {
    let mut instructions = function.blocks.iter().flat_map(|block| &block.instructions);
    instructions.any(|i| !i.sources.is_empty() && source_type(i, 0) == SourceType::Double)
}

/// The words that the instruction reads as an f64 operand here.
pub(crate) fn pair_read(instruction: &Instruction, index: usize) -> Option<[Value; 2]> {
    let source = &instruction.sources[index];
    let SourceKind::Values(values) = &source.kind else { return None };
    let pair: [Value; 2] = values.as_slice().try_into().ok()?;
    (source.fixed.is_none() && source_type(instruction, index) == SourceType::Double).then_some(pair)
}

/// Values with a single definition, by a constant.
pub(crate) fn words_with_numbers(function: &Function) -> FxHashMap<Value, u32> {
    let mut words: FxHashMap<Value, Option<u32>> = FxHashMap::default();
    for instruction in function.blocks.iter().flat_map(|block| &block.instructions) {
        let number = number_moved(instruction);
        instruction.for_each_definition(|value| {
            // A second definition makes it unknown.
            words.entry(value).and_modify(|number| *number = None).or_insert(number);
        });
    }
    words.into_iter().filter_map(|(value, number)| Some((value, number?))).collect()
}

fn number_moved(instruction: &Instruction) -> Option<u32> {
    let moves = matches!(instruction.opcode, Opcode::Sass(Op::MOV) | Opcode::Pseudo(Pseudo::Copy));
    if !moves || instruction.guard.is_some() || instruction.destinations.first()?.file != File::R {
        return None;
    }
    match instruction.sources.as_slice() {
        [Source { kind: SourceKind::Imm(bits), negate: false, invert: false, absolute: false, .. }] => {
            Some(*bits)
        }
        [Source { kind: SourceKind::Zero(_), invert: false, .. }] => Some(0),
        _ => None,
    }
}

/// The constant in a pair, the lower word first.
pub(crate) fn number_of(words: &FxHashMap<Value, u32>, pair: [Value; 2]) -> Option<[u32; 2]> {
    let [low, high] = pair.map(|word| words.get(&word).copied());
    Some([low?, high?])
}
