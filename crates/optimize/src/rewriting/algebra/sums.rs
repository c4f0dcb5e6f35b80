//! Algebra of 32-bit sums and products: neutral operands, chains of constants, carries that are known.

use crate::rewriting::operands::{beside_a_carry, is_bare, plain_immediate};
use crate::rewriting::replacement::{become_copy, become_op, sole_destination};
use crate::rewriting::view::View;
use oriole_ori::{Instruction, Opcode, Source, SourceKind};
use oriole_sass::{Mod, Mods, Op};
use smallvec::SmallVec;

impl View<'_> {
    /// The register addends and the constant of a plain add, or `None` if it is another operation.
    fn addends(&self, i: &Instruction) -> Option<(SmallVec<[Source; 3]>, u32, usize)> {
        if !i.mods.is_empty() || i.sources.len() != 3 {
            return None;
        }
        let mut registers = SmallVec::new();
        let (mut constant, mut constants) = (0u32, 0);
        for source in &i.sources {
            if source.invert || source.absolute || !source.suffixes.is_empty() || source.fixed.is_some() {
                return None;
            }
            match self.facts.source_word(source) {
                Some(bits) => {
                    let bits = bits as u32;
                    let bits = if source.negate { bits.wrapping_neg() } else { bits };
                    constant = constant.wrapping_add(bits);
                    constants += usize::from(!matches!(source.kind, SourceKind::Zero(_)));
                }
                None => registers.push(source.clone()),
            }
        }
        Some((registers, constant, constants))
    }

    /// Removes the carry-in of an add where it is known or absent.
    pub(super) fn settled_carries(&self, i: &mut Instruction) -> bool {
        if !i.mods.has(Mod::X) || i.mods.len() != 1 {
            return false;
        }
        let [.., first, second] = i.sources.as_slice() else { return false };
        let is_known = |source: &Source| matches!(source.kind, SourceKind::True(_));
        if i.sources.len() != 5 || !is_known(first) || !is_known(second) {
            return false;
        }
        let carries = [first, second].into_iter().filter(|carry| !carry.invert).count();
        let complements = |source: &Source| beside_a_carry(source).1;
        let mut sources: SmallVec<[Source; 3]> = i.sources[..3].iter().cloned().collect();
        let complement = sources.iter().position(complements);
        let is_zero = |source: &Source| matches!(source.kind, SourceKind::Zero(_)) && is_bare(source);
        let zero = sources.iter().position(is_zero);
        match (carries, complement, zero) {
            (0, None, _) => {}
            (1, None, Some(zero)) => sources[zero] = Source::imm(1),
            (1, Some(only), _) if sources.iter().filter(|source| complements(source)).count() == 1 => {
                sources[only] = beside_a_carry(&sources[only]).0.negated();
            }
            _ => return false,
        }
        // Two constants and nothing else have only one carry-out.
        let carries_out = i.destinations.iter().skip(1).any(|destination| !destination.values.is_empty());
        if carries_out && !sources.iter().any(is_zero) {
            return false;
        }
        let mut candidate = i.clone();
        candidate.mods = Mods::none();
        candidate.sources = sources;
        self.accept(i, candidate)
    }

    pub(super) fn add(&self, i: &mut Instruction) -> bool {
        if sole_destination(i) != Some(0) {
            return false;
        }
        // Adds of two or three registers without a constant are left alone: most adds are like this.
        let is_number = |source: &Source| {
            !matches!(source.kind, SourceKind::Zero(_)) && self.facts.source_word(source).is_some()
        };
        let zeros = i.sources.iter().filter(|source| matches!(source.kind, SourceKind::Zero(_))).count();
        if zeros < 2 && !i.sources.iter().any(is_number) {
            return false;
        }
        let Some((mut registers, mut constant, mut constants)) = self.addends(i) else { return false };
        if registers.iter().any(|source| matches!(source.kind, SourceKind::Address32 { .. })) {
            return false;
        }
        let mut changed = constants > 1;
        // `(x + c1) + c2`.
        if constants > 0 && constant != 0 {
            for index in 0..registers.len() {
                let negate = registers[index].negate;
                let plain = Source { negate: false, ..registers[index].clone() };
                let Some(inner) = self.source_definition(&plain) else { continue };
                if inner.opcode != Opcode::Sass(Op::IADD3) || sole_destination(inner) != Some(0) {
                    continue;
                }
                let Some((inner_registers, inner_constant, inner_constants)) = self.addends(inner) else {
                    continue;
                };
                let simple = inner_registers
                    .iter()
                    .all(|source| matches!(source.kind, SourceKind::Values(_)) && self.is_stable(source));
                let sum = if negate {
                    constant.wrapping_sub(inner_constant)
                } else {
                    constant.wrapping_add(inner_constant)
                };
                let room = 3 - usize::from(sum != 0);
                if inner_constants == 0 || !simple || registers.len() - 1 + inner_registers.len() > room {
                    continue;
                }
                registers.remove(index);
                registers.extend(
                    inner_registers.into_iter().map(|source| if negate { source.negated() } else { source }),
                );
                (constant, constants, changed) = (sum, 1, true);
                break;
            }
        }
        if registers.is_empty() {
            return become_copy(i, plain_immediate(constant));
        }
        if let ([only], 0) = (registers.as_slice(), constant)
            && is_bare(only)
        {
            let only = only.clone();
            return become_copy(i, only);
        }
        if !changed {
            return false;
        }
        let mut candidate = i.clone();
        let mut sources: SmallVec<[Source; 3]> = SmallVec::new();
        let mut rest = registers.into_iter();
        sources.extend(rest.next());
        if constants > 0 && constant != 0 {
            sources.push(Source::imm(constant));
        }
        sources.extend(rest);
        while sources.len() < 3 {
            sources.push(Source::rz());
        }
        candidate.sources.clear();
        candidate.sources.extend(sources);
        self.accept(i, candidate)
    }

    pub(super) fn multiply_add(&self, i: &mut Instruction) -> bool {
        if i.sources.len() != 3
            || i.mods.iter().any(|name| name != Mod::U32)
            || sole_destination(i) != Some(0)
        {
            return false;
        }
        let (known_a, known_b) = (self.known(&i.sources[0]), self.known(&i.sources[1]));
        if known_a.is_none() && known_b.is_none() {
            return false;
        }
        let [a, b, c] = [i.sources[0].clone(), i.sources[1].clone(), i.sources[2].clone()];
        let sum = |x: &[Source]| {
            let mut candidate = i.clone();
            let mut sources: SmallVec<[Source; 3]> = x.iter().cloned().collect();
            while sources.len() < 3 {
                sources.push(Source::rz());
            }
            // An immediate goes to the middle.
            if matches!(sources[0].kind, SourceKind::Imm(_) | SourceKind::Const { .. }) {
                sources.swap(0, 1);
            }
            become_op(&mut candidate, Op::IADD3, Mods::none(), &sources);
            candidate
        };
        let candidate = match (known_a, known_b) {
            (Some(a), Some(b)) => {
                let product = a.wrapping_mul(b);
                if product == 0 && is_bare(&c) {
                    return become_copy(i, c);
                }
                sum(&[c, plain_immediate(product)])
            }
            (Some(0), _) | (_, Some(0)) => {
                if is_bare(&c) {
                    return become_copy(i, c);
                }
                sum(&[c])
            }
            (Some(1), _) => sum(&[b, c]),
            (_, Some(1)) => sum(&[a, c]),
            (Some(u32::MAX), _) if is_bare(&b) => sum(&[b.negated(), c]),
            (_, Some(u32::MAX)) if is_bare(&a) => sum(&[a.negated(), c]),
            _ => return false,
        };
        self.accept(i, candidate)
    }
}
