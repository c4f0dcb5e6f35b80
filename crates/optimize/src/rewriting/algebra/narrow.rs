//! 64-bit operations on extended 32-bit values: they become 32-bit ones.

use crate::analyses::slots::comparison;
use crate::rewriting::operands::plain_immediate;
use crate::rewriting::replacement::become_op;
use crate::rewriting::view::View;
use oriole_ori::{File, Instruction, Opcode, Pseudo, Source, SourceKind};
use oriole_sass::{Mod, Mods, Op};

impl View<'_> {
    /// For a pair that is an extended 32-bit value: the value, and whether it may count as zero-extended or
    /// sign-extended.
    pub fn widened(&self, source: &Source) -> Option<(Source, bool, bool)> {
        if source.negate || source.invert || source.absolute {
            return None;
        }
        let SourceKind::Values(values) = &source.kind else { return None };
        let [low, high] = values.as_slice() else { return None };
        if !self.definitions.is_stable(*low) {
            return None;
        }
        let positive = self.facts.bits(*low).zeros > 0;
        if let Some(word) = self.facts.word(*low) {
            let high = self.facts.word(*high)?;
            let signed = high == if word >> 31 == 1 { u32::MAX } else { 0 };
            let low = plain_immediate(word);
            return (high == 0 || signed).then_some((low, high == 0, signed));
        }
        if self.facts.word(*high) == Some(0) {
            return Some(((*low).into(), true, positive));
        }
        let sign = self.definition(*high)?;
        let is_sign = sign.opcode == Opcode::Sass(Op::SHF)
            && sign.mods == Mods::of(&[Mod::R, Mod::S32, Mod::HI])
            && sign.sources.len() == 3
            && self.known(&sign.sources[1]) == Some(31)
            && sign.sources[2].as_plain_value() == Some(*low);
        is_sign.then(|| ((*low).into(), positive, true))
    }

    /// A multiply of two extended values.
    pub(super) fn narrow_multiply(&self, i: &mut Instruction) -> bool {
        let [a, b] = i.sources.as_slice() else { return false };
        let (Some((a, a_unsigned, a_signed)), Some((b, b_unsigned, b_signed))) =
            (self.widened(a), self.widened(b))
        else {
            return false;
        };
        let mods = if a_unsigned && b_unsigned {
            Mods::of(&[Mod::WIDE, Mod::U32])
        } else if a_signed && b_signed {
            Mods::of(&[Mod::WIDE])
        } else {
            return false;
        };
        let (a, b) = if matches!(a.kind, SourceKind::Values(_)) { (a, b) } else { (b, a) };
        let mut candidate = i.clone();
        become_op(&mut candidate, Op::IMAD, mods, &[a, b, Source::rz()]) && self.accept(i, candidate)
    }

    /// An extended value shifted left is its product with a power of two.
    pub(super) fn narrow_shift(&self, i: &mut Instruction) -> bool {
        let [a, amount] = i.sources.as_slice() else { return false };
        let (Some((a, unsigned, signed)), Some(amount)) = (self.widened(a), self.known(amount)) else {
            return false;
        };
        let mods = match amount {
            1..=30 if signed => Mods::of(&[Mod::WIDE]),
            1..=31 if unsigned => Mods::of(&[Mod::WIDE, Mod::U32]),
            _ => return false,
        };
        let mut candidate = i.clone();
        become_op(&mut candidate, Op::IMAD, mods, &[a, Source::imm(1 << amount), Source::rz()])
            && self.accept(i, candidate)
    }

    /// A comparison of two extended values.
    pub(super) fn narrow_compare(&self, i: &mut Instruction) -> bool {
        let [a, b] = i.sources.as_slice() else { return false };
        let of = |source: &Source| match source.kind {
            SourceKind::Zero(_) => Some((Source::rz(), true, true)),
            _ => self.widened(source),
        };
        let (Some((a, a_unsigned, a_signed)), Some((b, b_unsigned, b_signed))) = (of(a), of(b)) else {
            return false;
        };
        let Some(compare) = comparison(i) else { return false };
        let equality = matches!(compare, Mod::EQ | Mod::NE);
        let mut mods = Mods::of(&[compare, Mod::AND]);
        if a_unsigned && b_unsigned {
            // Both are below 2^32, signed and unsigned.
            mods.insert(Mod::U32);
        } else if a_signed && b_signed && (i.mods.has(Mod::S64) || equality) {
        } else if a_signed && b_signed {
            // Sign extension preserves unsigned comparison, too.
            mods.insert(Mod::U32);
        } else {
            return false;
        }
        let mut candidate = i.clone();
        if !become_op(&mut candidate, Op::ISETP, mods, &[a, b, Source::pt()]) {
            return false;
        }
        candidate.destinations.push(oriole_ori::Destination::dropped(File::P, 1));
        if self.accept(i, candidate.clone()) {
            return true;
        }
        match crate::analyses::slots::exchanged(&candidate, 0, 1) {
            Some(candidate) => self.accept(i, candidate),
            None => false,
        }
    }

    /// Folds the negation of a negation, and nested adds with constants that cancel.
    pub(super) fn add_64(&self, i: &mut Instruction) -> bool {
        let [a, b] = i.sources.as_slice() else { return false };
        let (a, b) = (a.clone(), b.clone());
        // `0 - (0 - x)` and `y - (0 - x)`.
        for (index, source) in [(0, &a), (1, &b)] {
            let SourceKind::Values(values) = &source.kind else { continue };
            let [low, high] = values.as_slice() else { continue };
            let Some(inner) = self.definition(*low) else { continue };
            if inner.opcode != Opcode::Pseudo(Pseudo::Add64)
                || inner.destinations[0].values.as_slice() != [*low, *high]
            {
                continue;
            }
            let [x, y] = inner.sources.as_slice() else { continue };
            let negation = matches!(x.kind, SourceKind::Zero(_)) && y.negate;
            if negation && self.is_stable(y) {
                let mut replaced = y.clone();
                replaced.negate = !source.negate;
                i.sources[index] = replaced;
                return true;
            }
        }
        false
    }
}
