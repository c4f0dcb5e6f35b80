//! Fusion of min and max: of three values, and of a sum.

use super::fuser::{Fuser, rewritten};
use super::sums::addends_of;
use oriole_ori::{Instruction, SourceKind};
use oriole_sass::{Mod, Mods, Op};
use smallvec::SmallVec;

impl Fuser<'_> {
    /// 3-input min/max of a nested min/max. Only the outer one may clamp its result at zero.
    pub(super) fn extreme_of_three(&self, i: &Instruction, of_three: Op) -> Option<Instruction> {
        let alone = |i: &Instruction| i.destinations[1..].iter().all(|d| d.values.is_empty());
        if !oriole_sass::has(self.view.chip, of_three) || i.sources.len() != 3 || !alone(i) {
            return None;
        }
        let unbounded =
            Mods::of(&i.mods.iter().filter(|&name| name != Mod::RELU).collect::<SmallVec<[Mod; 4]>>());
        for at in 0..2 {
            if i.sources[at].as_plain_value().is_none() {
                continue;
            }
            let Some(inner) = self.inner(&i.sources[at]) else { continue };
            if inner.opcode != i.opcode
                || inner.mods != unbounded
                || inner.sources.len() != 3
                || inner.sources[2] != i.sources[2]
                || !alone(inner)
            {
                continue;
            }
            let (a, mut b) = (inner.sources[0].clone(), inner.sources[1].clone());
            let mut c = i.sources[1 - at].clone();
            if !matches!(c.kind, SourceKind::Values(_) | SourceKind::Zero(_)) {
                std::mem::swap(&mut b, &mut c);
            }
            let candidate = rewritten(i, of_three, i.mods.clone(), [a, b, c, i.sources[2].clone()]);
            if let Some(fused) = self.accept(candidate) {
                return Some(fused);
            }
        }
        None
    }

    /// The min or max of a 32-bit sum and another integer.
    pub(super) fn extreme_of_sum(&self, i: &Instruction) -> Option<Instruction> {
        let alone = i.destinations[1..].iter().all(|d| d.values.is_empty());
        let whole = i.mods.iter().all(|name| name == Mod::U32);
        if !oriole_sass::has(self.view.chip, Op::VIADDMNMX) || i.sources.len() != 3 || !alone || !whole {
            return None;
        }
        for at in 0..2 {
            if i.sources[at].as_plain_value().is_none() {
                continue;
            }
            let Some(inner) = self.inner(&i.sources[at]) else { continue };
            let Some(mut addends) = addends_of(inner).filter(|addends| addends.len() == 2) else {
                continue;
            };
            // The second addend may be something else than a register.
            addends.sort_by_key(|source| !matches!(source.kind, SourceKind::Values(_)));
            let [a, b] = [addends[0].clone(), addends[1].clone()];
            let sources = [a, b, i.sources[1 - at].clone(), i.sources[2].clone()];
            if let Some(fused) = self.accept(rewritten(i, Op::VIADDMNMX, i.mods.clone(), sources)) {
                return Some(fused);
            }
        }
        None
    }
}
