//! Fusion of floating-point operations: contraction of a multiply and an add, and clamps to [0, 1].

use super::fuser::{Fuser, rewritten};
use oriole_ori::{Instruction, Opcode, Source, SourceKind};
use oriole_sass::{Mod, Op};

impl Fuser<'_> {
    /// A multiply and an add, both of which the source allows to be contracted, as one FMA.
    pub(super) fn contraction(&self, i: &Instruction, multiply: Op, fused: Op) -> Option<Instruction> {
        if !i.contract || i.sources.len() != 2 {
            return None;
        }
        if i.mods.iter().any(|name| !matches!(name, Mod::FTZ | Mod::SAT)) {
            return None;
        }
        for (at, source) in i.sources.iter().enumerate() {
            // An f32x2 suffix means the whole operand; any other suffix names a part of the register.
            let whole = source.suffixes.iter().all(|suffix| matches!(suffix, Mod::F32x2 | Mod::HI_LO));
            if source.absolute || source.invert || !whole {
                continue;
            }
            let Some(inner) = self.inner(source) else { continue };
            let plain = inner.opcode == Opcode::Sass(multiply)
                && inner.contract
                && inner.sources.len() == 2
                && inner.mods.iter().all(|name| name == Mod::FTZ)
                && inner.mods.has(Mod::FTZ) == i.mods.has(Mod::FTZ);
            if !plain {
                continue;
            }
            let mut a = inner.sources[0].clone();
            let mut b = inner.sources[1].clone();
            if source.negate {
                match &mut b.kind {
                    SourceKind::Imm(bits) => *bits ^= 0x8000_0000,
                    _ => a = a.negated(),
                }
            }
            let candidate = rewritten(i, fused, i.mods.clone(), [a, b, i.sources[1 - at].clone()]);
            if let Some(fused) = self.accept(candidate) {
                return Some(fused);
            }
        }
        None
    }

    /// Moves a clamp to [0, 1] into the operation that computes the result.
    pub(super) fn clamped(&self, i: &Instruction) -> Option<Instruction> {
        let number = i.sources.iter().find(|source| !matches!(source.kind, SourceKind::Zero(_)))?;
        let inner = self.inner(number)?;
        let plain = matches!(inner.opcode, Opcode::Sass(Op::FADD | Op::FMUL | Op::FFMA))
            && !inner.mods.has(Mod::SAT)
            && inner.mods.has(Mod::FTZ) == i.mods.has(Mod::FTZ)
            && inner.destinations.len() == 1;
        if !plain {
            return None;
        }
        let mut clamped = Instruction { destinations: i.destinations.clone(), ..inner.clone() };
        clamped.mods.insert(Mod::SAT);
        clamped.origin = i.origin;
        self.accept(clamped)
    }
}

/// An add of a constant and zero that clamps it.
pub(super) fn is_clamp(i: &Instruction) -> bool {
    let is_zero = |source: &Source| matches!(source.kind, SourceKind::Zero(_)) && !source.negate;
    let is_number = |source: &Source| source.as_plain_value().is_some();
    let [a, b] = i.sources.as_slice() else { return false };
    i.mods.iter().all(|name| matches!(name, Mod::SAT | Mod::FTZ))
        && (is_zero(a) && is_number(b) || is_zero(b) && is_number(a))
}
