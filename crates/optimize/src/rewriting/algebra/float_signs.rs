//! Signs of floating-point operands: an instruction that only applies a sign becomes a sign of its reader.

use crate::analyses::slots::source_type;
use crate::analyses::value_facts::is_signed_single;
use crate::rewriting::view::View;
use oriole_ori::{Instruction, Opcode, Source, SourceKind};
use oriole_sass::info::SourceType;
use oriole_sass::{Mod, Op};

impl View<'_> {
    /// A negation or magnitude that the operand can express as a modifier.
    pub(super) fn float_signs(&self, i: &mut Instruction) -> bool {
        if !matches!(
            i.opcode,
            Opcode::Sass(
                Op::FADD | Op::FMUL | Op::FFMA | Op::FSETP | Op::DADD | Op::DMUL | Op::DFMA | Op::DSETP
            )
        ) {
            return false;
        }
        let mut changed = false;
        for index in 0..i.sources.len() {
            let outer = &i.sources[index];
            let SourceKind::Values(values) = &outer.kind else { continue };
            // Few operands have such a definition: check how they are read last.
            let (inner, of) = match values.len() {
                1 if !self.facts.has_signed_singles() => continue,
                1 => (self.single_sign(outer, i.mods.has(Mod::FTZ)), SourceType::Single),
                2 => (self.double_sign(outer), SourceType::Double),
                _ => continue,
            };
            let Some(inner) = inner.filter(|_| source_type(i, index) == of) else { continue };
            let mut source = inner;
            if outer.absolute {
                source.absolute = true;
                source.negate = outer.negate;
            } else {
                source.negate ^= outer.negate;
            }
            let mut candidate = i.clone();
            candidate.sources[index] = source;
            changed |= self.accept(i, candidate);
        }
        changed
    }

    /// `x + -0` only applies the sign modifier of `x`, flushes denormals if the instruction says so, and makes NaN
    /// canonical, as any arithmetic on `x` does.
    fn single_sign(&self, source: &Source, flushes: bool) -> Option<Source> {
        let SourceKind::Values(values) = &source.kind else { return None };
        if !source.suffixes.is_empty() || values.len() != 1 {
            return None;
        }
        let add = self.definition(values[0])?;
        if !is_signed_single(add) {
            return None;
        }
        let flushed = add.mods.has(Mod::FTZ);
        if add.mods.len() != usize::from(flushed) || (flushed && !flushes) {
            return None;
        }
        let x = &add.sources[0];
        let register = matches!(&x.kind, SourceKind::Values(values) if values.len() == 1);
        (register && x.suffixes.is_empty() && self.is_stable(x)).then(|| x.clone())
    }

    /// An f64 value whose high word has its sign bit flipped or cleared.
    fn double_sign(&self, source: &Source) -> Option<Source> {
        let SourceKind::Values(values) = &source.kind else { return None };
        let [low, high] = values.as_slice() else { return None };
        let (from, mask, flip) = self.masked(self.definition(*high)?)?;
        let mut plain = Source::values([*low, from]);
        match (mask, flip) {
            (u32::MAX, 0x8000_0000) => plain.negate = true,
            (0x7fff_ffff, 0) => plain.absolute = true,
            _ => return None,
        }
        self.is_stable(&plain).then_some(plain)
    }
}
