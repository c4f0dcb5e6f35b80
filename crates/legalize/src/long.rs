//! 64-bit integer operations in one instruction, on chips that have a 64-bit integer datapath.
//!
//! A pair of uniform registers is an operand only if one instruction defines it: uniform registers are coloured
//! individually, and words of different origin need not be adjacent.

use crate::emit::Emit;
use crate::wide::comparison;
use oriole_chip::Chip;
use oriole_ori::{File, Function, Pseudo, Source, SourceKind, Value};
use oriole_sass::{Mod, Mods, Op, has_long_extremes, has_long_integers};
use rustc_hash::FxHashSet;

/// The 64-bit instructions of the chip, and the state of the function for them.
pub(crate) struct Long {
    /// The pairs of uniform registers that one instruction fills.
    uniform: FxHashSet<[Value; 2]>,
    /// The lesser and the greater of two are one instruction.
    extremes: bool,
}

impl Long {
    /// For a function; `None` if the chip has no 64-bit integer instructions.
    pub fn new(function: &Function, chip: Chip) -> Option<Long> {
        if !has_long_integers(chip) {
            return None;
        }
        let instructions = function.blocks.iter().flat_map(|block| &block.instructions);
        let uniform = instructions.flat_map(|i| &i.destinations).filter(|d| d.file == File::UR);
        let pairs = uniform.flat_map(|d| d.values.chunks_exact(2)).map(|pair| [pair[0], pair[1]]);
        Some(Long { uniform: pairs.collect(), extremes: has_long_extremes(chip) })
    }
}

impl Emit<'_, '_> {
    /// Writes the operation into `out`; false if the chip has no such instruction for these operands.
    pub fn expand_long(
        &mut self,
        long: &Long,
        op: Pseudo,
        mods: &Mods,
        sources: &[Source],
        out: &[Value],
    ) -> bool {
        let takes = |source: &Source| match &source.kind {
            SourceKind::Values(values) => match values.as_slice() {
                &[low, high] => {
                    self.b.function().file(low) == File::R && self.b.function().file(high) == File::R
                        || long.uniform.contains(&[low, high])
                }
                _ => true,
            },
            SourceKind::Zero(_) => true,
            _ => false,
        };
        if !sources.iter().take(2).all(takes) {
            return false;
        }
        match op {
            Pseudo::Add64 => self.add_long(out, &sources[0], &sources[1]),
            Pseudo::SetPredicate64 => self.compare_long(out[0], comparison(mods), mods, sources),
            Pseudo::Select64 => self.choose_long(out, &sources[0], &sources[1], &sources[2]),
            Pseudo::Min64 | Pseudo::Max64 if long.extremes => {
                self.extreme_long(out, mods, &sources[0], &sources[1], op == Pseudo::Min64);
            }
            Pseudo::Min64 | Pseudo::Max64 => {
                let compare = if op == Pseudo::Min64 { Mod::LT } else { Mod::GT };
                let first = self.b.temporary(File::P);
                self.compare_long(first, compare, mods, sources);
                self.choose_long(out, &sources[0], &sources[1], &first.into());
            }
            _ => return false,
        }
        true
    }

    fn is_uniform(&self, source: &Source) -> bool {
        let mut uniform = false;
        source.for_each_value(|value| uniform |= self.b.function().file(value) == File::UR);
        uniform
    }

    /// The operand in general registers, where the first one must be; signs stay.
    fn in_general(&mut self, source: &Source) -> Source {
        if !self.is_uniform(source) {
            return source.clone();
        }
        let pair = self.pair_of(source);
        Source { kind: Source::from(pair).kind, ..source.clone() }
    }

    fn add_long(&mut self, out: &[Value], a: &Source, b: &Source) {
        // A uniform or subtracted operand goes second.
        let turned =
            self.is_uniform(a) && !self.is_uniform(b) || a.negate && !b.negate && !self.is_uniform(b);
        let (a, b) = if turned { (b, a) } else { (a, b) };
        let a = self.in_general(a);
        self.b.op(Op::IADD).mods(&[Mod::_64]).to_tuple(out.iter().copied()).from(a).from(b.clone()).emit();
    }

    fn compare_long(&mut self, out: Value, compare: Mod, mods: &Mods, sources: &[Source]) {
        let (a, b) = (&sources[0], &sources[1]);
        let turned = self.is_uniform(a) && !self.is_uniform(b);
        let (a, b, compare) = if turned { (b, a, reversed(compare)) } else { (a, b, compare) };
        let a = self.in_general(a);
        let ty = if mods.has(Mod::S64) { Mod::S64 } else { Mod::U64 };
        let test = self.b.op(Op::ISETP).mods(&[compare, ty, Mod::AND]);
        let test = test.to(out).drop_result(File::P);
        test.from(a).from(b.clone()).from(Source::pt()).emit();
    }

    /// Min or max of two. The predicate results of the instruction are dropped.
    fn extreme_long(&mut self, out: &[Value], mods: &Mods, a: &Source, b: &Source, least: bool) {
        let (a, b) = if self.is_uniform(a) && !self.is_uniform(b) { (b, a) } else { (a, b) };
        let a = self.in_general(a);
        let ty = if mods.has(Mod::S64) { Mod::S64 } else { Mod::U64 };
        let which = if least { Source::pt() } else { Source::pt().inverted() };
        let extreme = self.b.op(Op::IMNMX).mods(&[ty]).drop_result(File::P).drop_result(File::P);
        let extreme = extreme.to_tuple(out.iter().copied()).from(a).from(b.clone());
        extreme.from(which).from(Source::pt().inverted()).emit();
    }

    fn choose_long(&mut self, out: &[Value], a: &Source, b: &Source, p: &Source) {
        let turned = self.is_uniform(a) && !self.is_uniform(b);
        let (a, b, p) = if turned { (b, a, p.clone().inverted()) } else { (a, b, p.clone()) };
        let a = self.in_general(a);
        let choice = self.b.op(Op::SEL).mods(&[Mod::_64]).to_tuple(out.iter().copied());
        choice.from(a).from(b.clone()).from(p).emit();
    }
}

/// The comparison with swapped operands.
fn reversed(compare: Mod) -> Mod {
    match compare {
        Mod::LT => Mod::GT,
        Mod::LE => Mod::GE,
        Mod::GT => Mod::LT,
        Mod::GE => Mod::LE,
        other => other,
    }
}
