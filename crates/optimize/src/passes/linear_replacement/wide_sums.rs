//! 64-bit sums with constants, which are shortened over several instructions.

use crate::rewriting::view::View;
use oriole_ori::{
    BlockId, Destination, File, Function, Instruction, Opcode, Pseudo, Source, SourceKind, Value,
};
use oriole_sass::Op;
use rustc_hash::FxHashMap;

/// 64-bit sums of a pair and a constant that were met, by the low word of the result.
#[derive(Default)]
pub(super) struct WideSums(FxHashMap<Value, WideSum>);

/// A pair plus a constant.
#[derive(Clone)]
pub(super) struct WideSum {
    base: Source,
    constant: u64,
}

impl WideSums {
    /// For `(x + c1) + c2`, the sum of `x` and one constant. So the pointers of unrolled iterations do not wait for each
    /// other, and those that addresses take in as offsets are dead.
    pub(super) fn shortened(&mut self, view: &View<'_>, i: &Instruction) -> Option<WideSum> {
        if i.opcode != Opcode::Pseudo(Pseudo::Add64) || i.guard.is_some() {
            return None;
        }
        let ([a, b], [low, _]) = (i.sources.as_slice(), i.destinations[0].values.as_slice()) else {
            return None;
        };
        let is_bare = |source: &Source| *source == Source::plain(source.kind.clone());
        let (base, constant) = match (view.facts.source_long(a), view.facts.source_long(b)) {
            (None, Some(constant)) if is_bare(a) && is_bare(b) => (a, constant),
            (Some(constant), None) if is_bare(a) && is_bare(b) => (b, constant),
            _ => return None,
        };
        let SourceKind::Values(values) = &base.kind else { return None };
        let [inner_low, inner_high] = values.as_slice() else { return None };
        let inner = view.definitions.instruction(view.function, *inner_low);
        let whole = inner.is_some_and(|inner| {
            inner.destinations.len() == 1
                && inner.destinations[0].values.as_slice() == [*inner_low, *inner_high]
        });
        let inner = self.0.get(inner_low).filter(|_| whole && !view.leaves_loop(*inner_low)).cloned();
        let sum = match &inner {
            Some(inner) => {
                WideSum { base: inner.base.clone(), constant: inner.constant.wrapping_add(constant) }
            }
            None => WideSum { base: base.clone(), constant },
        };
        let stable = view.is_stable(&sum.base) && view.definitions.is_stable(*low);
        if stable {
            self.0.insert(*low, sum.clone());
        }
        inner.filter(|_| stable).map(|_| sum)
    }
}

impl WideSum {
    /// Makes an addition this sum. The words of the constant go before it.
    pub(super) fn replace(
        self,
        function: &mut Function,
        (id, index): (BlockId, usize),
        insertions: &mut Vec<(BlockId, usize, Instruction)>,
    ) {
        let origin = function.block(id).instructions[index].origin;
        let words = [self.constant as u32, (self.constant >> 32) as u32].map(|word| {
            let register = function.new_value(File::R, None);
            let (opcode, source): (Opcode, _) = match word {
                0 => (Pseudo::Copy.into(), Source::rz()),
                _ => (Op::MOV.into(), Source::imm(word)),
            };
            let mut number = Instruction::new(opcode, origin);
            number.destinations.push(Destination::new(File::R, [register]));
            number.sources.push(source);
            insertions.push((id, index, number));
            register
        });
        let add = &mut function.block_mut(id).instructions[index];
        add.sources = [self.base, Source::from(words)].into_iter().collect();
    }
}
