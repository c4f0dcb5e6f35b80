//! `cvt` between integers: truncation, extension, clamping to the range of the result.

use crate::context::{Lower, Lowered};
use crate::operand::imm;
use oriole_hir::Instruction;
use oriole_ori::{Pseudo, Source};
use oriole_ptx::{Type, Word};
use oriole_sass::Mod;

/// Smallest and largest value of an integer type.
fn range(ty: Type) -> (i128, i128) {
    let bits = ty.bits();
    if ty.is_signed() { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}

impl Lower<'_> {
    /// An integer conversion.
    pub fn convert_integer(&mut self, i: &Instruction, to: Type, from: Type) -> Lowered {
        let (d, a) = (self.operand(i, 0)?, self.operand(i, 1)?);
        if i.modifiers.has(Word::Sat) {
            return self.convert_clamped(i, to, from);
        }
        if to.bits() <= from.bits() {
            let words = self.words(a, from)?;
            let count = to.bits().div_ceil(32) as usize;
            return self.write(d, to, &words[..count]);
        }
        let low = self.extended(a, from)?;
        if to.bits() <= 32 {
            return self.write(d, to, &[low]);
        }
        let high = self.sign_word(low.clone(), from.is_signed());
        self.write(d, to, &[low, high])
    }

    fn convert_clamped(&mut self, i: &Instruction, to: Type, from: Type) -> Lowered {
        let (d, a) = (self.operand(i, 0)?, self.operand(i, 1)?);
        let ((least, greatest), (from_least, from_greatest)) = (range(to), range(from));
        let (raise, cap) = (from_least < least, from_greatest > greatest);
        if from.bits() == 64 {
            let mut value = self.pair(a, from)?;
            let sign = if from.is_signed() { Mod::S64 } else { Mod::U64 };
            for (needed, limit, pseudo) in [(raise, least, Pseudo::Max64), (cap, greatest, Pseudo::Min64)] {
                if needed {
                    let limit = self.tuple([imm(limit as u32), imm((limit >> 32) as u32)]);
                    let clamped = self.b.pair();
                    self.pseudo(pseudo, &[sign], clamped, [value, limit]);
                    value = clamped.into();
                }
            }
            let oriole_ori::SourceKind::Values(values) = value.kind else {
                return self.write(d, to, &[Source::rz(), Source::rz()]);
            };
            let words: Vec<Source> = values.iter().map(|&v| Source::value(v)).collect();
            let count = to.bits().div_ceil(32) as usize;
            return self.write(d, to, &words[..count]);
        }
        let mut value = self.extended(a, from)?;
        value = self.in_register(value);
        let mods: &[Mod] = if from.is_signed() { &[] } else { &[Mod::U32] };
        for (needed, limit, which) in [
            (raise, least, Source::not_pt()),
            (cap && greatest < i128::from(u32::MAX), greatest, Source::pt()),
        ] {
            if needed {
                let clamped = self.b.r();
                self.min_max(mods, clamped, value, imm(limit as u32), which);
                value = clamped.into();
            }
        }
        if to.bits() == 64 {
            let high = self.sign_word(value.clone(), to.is_signed() && from.is_signed());
            return self.write(d, to, &[value, high]);
        }
        self.write(d, to, &[value])
    }
}
