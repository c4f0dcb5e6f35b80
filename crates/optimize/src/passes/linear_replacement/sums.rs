//! Fusion of integer adds: nested adds, products and shifted values as addends, in 32 and in 64 bits.

use super::fuser::{Fuser, rewritten};
use oriole_ori::pattern::{Alternative, Contest, Cost};
use oriole_ori::{Destination, File, Instruction, Opcode, Pseudo, Source, SourceKind, Value, is_legal};
use oriole_sass::{Mod, Mods, Op};
use smallvec::SmallVec;

/// Encodings of an add with one addend shifted left by a known amount.
static SHIFTED_SUM: Contest = Contest {
    name: "a sum with a shifted addend",
    alternatives: &[
        Alternative { name: "LEA", cost: Cost::NONE },
        Alternative { name: "SHF and IADD3", cost: Cost::instruction(1) },
    ],
};

impl Fuser<'_> {
    pub(super) fn sum(&self, i: &Instruction) -> Option<Instruction> {
        let addends = addends_of(i)?;
        for (at, source) in addends.iter().enumerate() {
            let others: SmallVec<[Source; 3]> =
                addends.iter().enumerate().filter(|&(n, _)| n != at).map(|(_, s)| s.clone()).collect();
            let Some(inner) = self.inner(source) else {
                if let [other] = others.as_slice() {
                    self.shifted_sum(i, source, other);
                }
                continue;
            };
            if let Some(inner_addends) = addends_of(inner)
                && others.len() + inner_addends.len() <= 3
            {
                let mut sources: SmallVec<[Source; 3]> = inner_addends
                    .into_iter()
                    .map(|s| if source.negate { s.negated() } else { s })
                    .chain(others.iter().cloned())
                    .collect();
                // The middle operand is the one that may be something else than a register.
                sources.sort_by_key(|s| !matches!(s.kind, SourceKind::Values(_)));
                while sources.len() < 3 {
                    sources.push(Source::rz());
                }
                sources.swap(1, 2);
                if let Some(fused) = self.accept(rewritten(i, Op::IADD3, Mods::none(), sources)) {
                    return Some(fused);
                }
            }
            let [other] = others.as_slice() else { continue };
            let candidate =
                self.product_sum(i, source, inner, other).or_else(|| self.shifted_sum(i, source, other));
            if candidate.is_some() {
                return candidate;
            }
        }
        None
    }

    /// `a * b + other`.
    pub(super) fn product_sum(
        &self,
        i: &Instruction,
        source: &Source,
        inner: &Instruction,
        other: &Source,
    ) -> Option<Instruction> {
        let plain = inner.opcode == Opcode::Sass(Op::IMAD)
            && inner.mods.iter().all(|name| name == Mod::U32)
            && inner.sources.len() == 3
            && matches!(inner.sources[2].kind, SourceKind::Zero(_));
        if !plain {
            return None;
        }
        let mut a = inner.sources[0].clone();
        let mut b = inner.sources[1].clone();
        if source.negate {
            match &mut b.kind {
                SourceKind::Imm(bits) => *bits = bits.wrapping_neg(),
                _ => a = a.negated(),
            }
        }
        self.accept(rewritten(i, Op::IMAD, Mods::none(), [a, b, other.clone()]))
    }

    /// `(a << n) + other` as one instruction, if that is cheaper.
    pub(super) fn shifted_sum(
        &self,
        i: &Instruction,
        source: &Source,
        other: &Source,
    ) -> Option<Instruction> {
        let SourceKind::Values(values) = &source.kind else { return None };
        let shift = self.view.definitions.instruction(self.view.function, *values.first()?)?;
        if shift.opcode != Opcode::Sass(Op::SHF)
            || shift.mods != Mods::of(&[Mod::L, Mod::U32])
            || shift.sources.len() != 3
            || !matches!(shift.sources[2].kind, SourceKind::Zero(_))
        {
            return None;
        }
        let SourceKind::Imm(amount @ 1..=31) = shift.sources[1].kind else { return None };
        SHIFTED_SUM.decide(self.view.decisions, i.origin, |alternative| {
            if alternative > 0 {
                return Ok(None);
            }
            if self.inner(source).is_none() {
                return Err("the shifted value has other readers, or is made outside of the loop");
            }
            let mut a = shift.sources[0].clone();
            if source.negate {
                a = a.negated();
            }
            let sources = [a, other.clone(), Source::literal(amount.into())];
            let candidate = rewritten(i, Op::LEA, Mods::none(), sources);
            if is_legal(self.view.chip, self.view.function, &candidate) {
                Ok(Some(candidate))
            } else {
                Err("no form takes the operands")
            }
        })?
    }

    /// A 64-bit add with one addend that is a multiply of 32-bit factors, or an extended value.
    pub(super) fn wide_sum(&self, i: &Instruction) -> Option<Instruction> {
        let [a, b] = i.sources.as_slice() else { return None };
        for (x, y) in [(a, b), (b, a)] {
            let pair = matches!(&y.kind, SourceKind::Values(values) if values.len() == 2);
            if x.negate || y.negate || x.invert || y.invert || !pair {
                continue;
            }
            // Two adds and a carry become one multiply-add, however often the multiply is duplicated.
            if let Some(inner) = self.maker(x)
                && inner.opcode == Opcode::Sass(Op::IMAD)
                && inner.mods.has(Mod::WIDE)
                && inner.mods.iter().all(|name| matches!(name, Mod::WIDE | Mod::U32))
                && inner.sources.len() == 3
                && matches!(inner.sources[2].kind, SourceKind::Zero(_))
                && inner.sources.iter().all(|source| self.view.is_stable(source))
            {
                let sources = [inner.sources[0].clone(), inner.sources[1].clone(), y.clone()];
                if let Some(fused) = self.accept(rewritten(i, Op::IMAD, inner.mods.clone(), sources)) {
                    return Some(fused);
                }
            }
            if let Some((value, unsigned, _)) = self.view.widened(x)
                && matches!(value.kind, SourceKind::Values(_))
            {
                let mods = Mods::of(&[Mod::WIDE]).with_if(unsigned, Mod::U32);
                let candidate = rewritten(i, Op::IMAD, mods, [value, Source::imm(1), y.clone()]);
                if let Some(fused) = self.accept(candidate) {
                    return Some(fused);
                }
            }
        }
        None
    }

    /// `(x << n) + y` of 64 bits: the two halves; the caller makes the carry between them.
    pub(super) fn shifted_pair(&self, i: &Instruction) -> Option<(Instruction, Instruction)> {
        if i.opcode != Opcode::Pseudo(Pseudo::Add64) || i.guard.is_some() {
            return None;
        }
        let [a, b] = i.sources.as_slice() else { return None };
        let [low_result, high_result] = i.destinations[0].values.as_slice() else { return None };
        for (x, y) in [(a, b), (b, a)] {
            let SourceKind::Values(addend) = &y.kind else { continue };
            let [y_low, y_high] = addend.as_slice() else { continue };
            if x.negate || y.negate {
                continue;
            }
            let Some(inner) = self.inner(x) else { continue };
            if inner.opcode != Opcode::Pseudo(Pseudo::Shl64) || inner.sources.len() != 2 {
                continue;
            }
            let SourceKind::Values(shifted) = &inner.sources[0].kind else { continue };
            let ([x_low, x_high], SourceKind::Imm(amount @ 1..=31)) =
                (shifted.as_slice(), &inner.sources[1].kind)
            else {
                continue;
            };
            if inner.sources[0].negate {
                continue;
            }
            let half = |result: Value, mods: &[Mod], sources: &[Source]| {
                let mut half = Instruction::new(Op::LEA, i.origin);
                half.mods = Mods::of(mods);
                half.destinations.push(Destination::new(File::R, [result]));
                half.sources.extend(sources.iter().cloned());
                half
            };
            let amount = Source::literal((*amount).into());
            let mut first = half(*low_result, &[], &[(*x_low).into(), (*y_low).into(), amount.clone()]);
            first.destinations.push(Destination::dropped(File::P, 1));
            let second = half(
                *high_result,
                &[Mod::HI, Mod::X],
                &[(*x_low).into(), (*y_high).into(), (*x_high).into(), amount, Source::pt()],
            );
            let legal = |half: &Instruction| is_legal(self.view.chip, self.view.function, half);
            if legal(&first) && legal(&second) {
                return Some((first, second));
            }
        }
        None
    }
}

/// The nonzero operands of a plain add.
pub(super) fn addends_of(i: &Instruction) -> Option<SmallVec<[Source; 3]>> {
    let plain = i.opcode == Opcode::Sass(Op::IADD3)
        && i.mods.is_empty()
        && i.sources.len() == 3
        && i.destinations[1..].iter().all(|destination| destination.values.is_empty());
    if !plain || i.sources.iter().any(|s| s.invert || s.absolute || s.fixed.is_some()) {
        return None;
    }
    Some(i.sources.iter().filter(|s| !matches!(s.kind, SourceKind::Zero(_))).cloned().collect())
}
