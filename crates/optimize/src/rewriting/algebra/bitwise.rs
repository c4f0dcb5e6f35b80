//! Algebra of bits: truth tables, shifts, permutations of bytes, extensions, and masks of half a register.

use crate::analyses::slots::is_plain_permutation;
use crate::analyses::value_facts::{fixed_input, uses_input};
use crate::rewriting::fold::lookup;
use crate::rewriting::halves;
use crate::rewriting::operands::{is_bare, plain_immediate};
use crate::rewriting::replacement::{become_copy, become_op, sole_destination};
use crate::rewriting::view::View;
use oriole_ori::{Instruction, Opcode, Source, SourceKind, Value};
use oriole_sass::{Mod, Mods, Op};
use smallvec::SmallVec;

/// The truth table of the first operand and the second.
const AND: i64 = 0xc0;

/// The bits of the upper half of a register.
const UPPER_HALF: u32 = 0xffff_0000;

impl View<'_> {
    pub(super) fn logic(&self, i: &mut Instruction) -> bool {
        let bare = i.mods.iter().all(|name| name == Mod::LUT)
            && i.sources.len() >= 4
            && i.destinations.len() == 1
            && i.sources[..3].iter().all(is_bare);
        let Some(SourceKind::Literal(table)) = i.sources.get(3).map(|s| s.kind.clone()) else { return false };
        if !bare || sole_destination(i) != Some(0) {
            return false;
        }
        let old = table as u8;
        let table = self.reduced_table(i, old);
        match table {
            0 => return become_copy(i, Source::rz()),
            0xff => return become_copy(i, Source::imm(u32::MAX)),
            _ => {}
        }
        let used: SmallVec<[usize; 3]> = (0..3).filter(|&index| uses_input(table, index)).collect();
        if let [only] = used.as_slice() {
            let identity = [0xf0, 0xcc, 0xaa][*only];
            if table == identity {
                let source = i.sources[*only].clone();
                return become_copy(i, source);
            }
        }
        let idle =
            |index: usize| !used.contains(&index) && !matches!(i.sources[index].kind, SourceKind::Zero(_));
        let simpler = (table != old || (0..3).any(idle)).then(|| {
            let mut simpler = i.clone();
            simpler.sources[3].kind = SourceKind::Literal(table.into());
            (0..3).filter(|&index| idle(index)).for_each(|index| simpler.sources[index] = Source::rz());
            simpler
        });
        match self.merged_mask(simpler.as_ref().unwrap_or(i)) {
            Some(Merged { mask: 0, flip, .. }) => return become_copy(i, plain_immediate(flip)),
            Some(Merged { value, mask: u32::MAX, flip: 0 }) => return become_copy(i, value.into()),
            Some(Merged { value, mask, flip }) => {
                if let Some((constant, table)) = one_constant(mask, flip) {
                    let mut candidate = simpler.unwrap_or_else(|| i.clone());
                    candidate.sources[0] = value.into();
                    candidate.sources[1] = constant;
                    candidate.sources[2] = Source::rz();
                    candidate.sources[3].kind = SourceKind::Literal(table);
                    return self.accept(i, candidate);
                }
            }
            None => {}
        }
        simpler.is_some_and(|simpler| self.accept(i, simpler))
    }

    /// The truth table with known inputs fixed and equal inputs merged.
    fn reduced_table(&self, i: &Instruction, mut table: u8) -> u8 {
        for index in 0..3 {
            match self.known(&i.sources[index]) {
                Some(0) => table = fixed_input(table, index, false),
                Some(u32::MAX) => table = fixed_input(table, index, true),
                _ => {}
            }
        }
        for (first, second) in [(0, 1), (0, 2), (1, 2)] {
            let value = i.sources[first].as_plain_value();
            if value.is_some() && value == i.sources[second].as_plain_value() {
                let (high, low) = (2 - first, 2 - second);
                table = (0..8u8).fold(0, |result, row| {
                    let equal = row & !(1 << low) | (row >> high & 1) << low;
                    result | (table >> equal & 1) << row
                });
            }
        }
        table
    }

    /// Folds `(x & mask) ^ flip` of `(x & mask) ^ flip` into one, and drops masks of bits that are zero. `None` if
    /// neither applies.
    fn merged_mask(&self, i: &Instruction) -> Option<Merged> {
        let (mut value, mut mask, mut flip) = self.masked(i)?;
        let mut merged = false;
        if let Some(inner) = self.definition(value)
            && inner.guard.is_none()
            && let Some((inner_value, inner_mask, inner_flip)) = self.masked(inner)
            && self.definitions.is_stable(inner_value)
        {
            flip ^= inner_flip & mask;
            mask &= inner_mask;
            value = inner_value;
            merged = true;
        }
        let zeros = self.facts.bits(value).known_zeros();
        if mask != u32::MAX && mask | zeros == u32::MAX {
            mask = u32::MAX;
            merged = true;
        } else if mask & !zeros == 0 && mask != 0 {
            mask = 0;
            merged = true;
        }
        merged.then_some(Merged { value, mask, flip })
    }

    /// A logic operation of one register and constants, as `(x & mask) ^ flip`.
    pub fn masked(&self, i: &Instruction) -> Option<(Value, u32, u32)> {
        if i.opcode != Opcode::Sass(Op::LOP3)
            || i.destinations.len() != 1
            || i.sources.len() < 4
            || i.mods.iter().any(|name| name != Mod::LUT)
        {
            return None;
        }
        let SourceKind::Literal(table) = i.sources[3].kind else { return None };
        let mut value = None;
        let mut words = [[0u32; 3]; 2];
        for (index, source) in i.sources[..3].iter().enumerate() {
            match self.known(source) {
                Some(word) => {
                    words[0][index] = word;
                    words[1][index] = word;
                }
                None if !uses_input(table as u8, index) => {}
                None => {
                    if value.replace(source.as_plain_value()?).is_some() {
                        return None;
                    }
                    words[1][index] = u32::MAX;
                }
            }
        }
        let [at_zero, at_ones] = words.map(|w| lookup(table as u8, w[0], w[1], w[2]));
        Some((value?, at_zero ^ at_ones, at_zero))
    }

    pub(super) fn shift(&self, i: &mut Instruction) -> bool {
        if !i.sources.iter().all(is_bare) || i.sources.len() != 3 || i.mods.has(Mod::W) {
            return false;
        }
        let Some(amount) = self.known(&i.sources[1]) else { return false };
        let [low, high] = [i.sources[0].clone(), i.sources[2].clone()];
        let (left, upper) = (i.mods.has(Mod::L), i.mods.has(Mod::HI));
        if amount == 0 {
            return become_copy(i, if upper { high } else { low });
        }
        let short = i.mods.has(Mod::U32) || i.mods.has(Mod::S32);
        if amount == 32 || (short && amount > 32) {
            match (left, upper) {
                (true, true) => return become_copy(i, low),
                (true, false) => return become_copy(i, Source::rz()),
                (false, false) => return become_copy(i, high),
                (false, true) => {}
            }
        }
        left && !upper && self.shift_half(i, &low, amount)
    }

    /// Removes a permutation whose other half a shift discards: the lower half is read from its source, or the upper
    /// half is masked.
    fn shift_half(&self, i: &mut Instruction, shifted: &Source, amount: u32) -> bool {
        if !(16..32).contains(&amount) {
            return false;
        }
        match self.half_of(shifted, Mod::H0_H0) {
            Some((from, Mod::H0_H0)) => self.reads(i, from),
            Some((from, _)) if amount == 16 => {
                let sources =
                    [from, Source::imm(UPPER_HALF), Source::rz(), Source::literal(AND), Source::not_pt()];
                let mut masked = i.clone();
                become_op(&mut masked, Op::LOP3, Mods::of(&[Mod::LUT]), &sources) && self.accept(i, masked)
            }
            _ => false,
        }
    }

    /// Replaces the masked upper half of a permutation by a shift of its source, or by the source itself.
    pub(super) fn mask_half(&self, i: &mut Instruction) -> bool {
        let [value, mask, _, table, _] = i.sources.as_slice() else { return false };
        let upper = self.known(mask) == Some(UPPER_HALF) && table.kind == SourceKind::Literal(AND);
        match self.half_of(value, Mod::H1_H1).filter(|_| upper) {
            Some((from, Mod::H0_H0)) => {
                let sources = [from, Source::imm(16), Source::rz()];
                let mut shifted = i.clone();
                become_op(&mut shifted, Op::SHF, Mods::of(&[Mod::L, Mod::U32]), &sources)
                    && self.accept(i, shifted)
            }
            Some((from, _)) => self.reads(i, from),
            None => false,
        }
    }

    /// The register and its half that a permutation places in this half.
    fn half_of(&self, permuted: &Source, half: Mod) -> Option<(Source, Mod)> {
        let permutation = self.source_definition(permuted).filter(|_| is_bare(permuted))?;
        let (index, half) = halves::half(self, permutation, half)?;
        let from = &permutation.sources[index];
        (is_bare(from) && self.is_stable(from)).then(|| (from.clone(), half))
    }

    /// The instruction reads this register first.
    fn reads(&self, i: &mut Instruction, first: Source) -> bool {
        let mut candidate = i.clone();
        candidate.sources[0] = first;
        self.accept(i, candidate)
    }

    pub(super) fn extend(&self, i: &mut Instruction) -> bool {
        let (Some(width), true) = (i.sources.get(1).and_then(|s| self.known(s)), i.sources.len() == 2) else {
            return false;
        };
        if i.mods.iter().any(|name| name != Mod::U32) || !(1..=32).contains(&width) {
            return false;
        }
        let bits = self.facts.source_bits(&i.sources[0]);
        let nothing = if i.mods.has(Mod::U32) {
            u32::from(bits.zeros) >= 32 - width
        } else {
            u32::from(bits.signs) >= 33 - width
        };
        let source = i.sources[0].clone();
        nothing && become_copy(i, source)
    }

    pub(super) fn permute(&self, i: &mut Instruction) -> bool {
        if !is_plain_permutation(i) || !i.sources.iter().all(is_bare) || i.sources.len() != 3 {
            return false;
        }
        let Some(selector) = self.known(&i.sources[1]) else { return false };
        // Extensions of extended values.
        let bits = self.facts.source_bits(&i.sources[0]);
        let zero_high = self.known(&i.sources[2]) == Some(0);
        let nothing = match selector & 0xffff {
            0x3210 => true,
            0x7710 | 0x7610 | 0x5410 | 0x4410 if zero_high => bits.zeros >= 16,
            0x7770 | 0x4440 if zero_high => bits.zeros >= 24,
            0x9910 => bits.signs >= 17,
            0x8880 => bits.signs >= 25,
            _ => false,
        };
        if nothing {
            let source = i.sources[0].clone();
            return become_copy(i, source);
        }
        if selector & 0xffff == 0x7654 {
            let source = i.sources[2].clone();
            return become_copy(i, source);
        }
        self.permute_permuted(i, selector)
    }

    /// Bytes are followed through the permutations that made the operands, one level deep.
    fn permute_permuted(&self, i: &mut Instruction, selector: u32) -> bool {
        let is_permuted = |source: &Source| self.source_definition(source).is_some_and(is_plain_permutation);
        if !is_permuted(&i.sources[0]) && !is_permuted(&i.sources[2]) {
            return false;
        }
        let mut inputs: SmallVec<[Source; 2]> = SmallVec::new();
        let mut combined = 0;
        let mut through = false;
        for place in 0..4 {
            let choice = selector >> (4 * place) & 0xf;
            let mut source = &i.sources[if choice & 7 < 4 { 0 } else { 2 }];
            let mut byte = choice & 3;
            let mut sign = choice & 8;
            if let Some(inner) = self.source_definition(source)
                && is_plain_permutation(inner)
                && inner.sources.len() == 3
                && inner.sources.iter().all(|s| is_bare(s) && self.is_stable(s))
                && let Some(inner_selector) = self.known(&inner.sources[1])
            {
                let inner_choice = inner_selector >> (4 * byte) & 0xf;
                source = &inner.sources[if inner_choice & 7 < 4 { 0 } else { 2 }];
                byte = inner_choice & 3;
                // The sign of a spread sign is the sign.
                sign |= inner_choice & 8;
                through = true;
            }
            let known = self.known(source);
            // A zero byte is read from `RZ`, whichever byte it is.
            let source = if known == Some(0) { Source::rz() } else { source.clone() };
            let number = match inputs.iter().position(|input| *input == source) {
                Some(number) => number,
                None if inputs.len() < 2 => {
                    inputs.push(source);
                    inputs.len() - 1
                }
                None => return false,
            };
            combined |= ((number as u32 * 4 + byte) | sign) << (4 * place);
        }
        if !through {
            return false;
        }
        let second = inputs.get(1).cloned().unwrap_or_else(Source::rz);
        let first = inputs[0].clone();
        if combined == 0x3210 {
            return become_copy(i, first);
        }
        let mut candidate = i.clone();
        candidate.sources[0] = first;
        candidate.sources[1] = plain_immediate(combined);
        candidate.sources[2] = second;
        self.accept(i, candidate)
    }
}

/// `(value & mask) ^ flip`.
struct Merged {
    pub(super) value: Value,
    pub(super) mask: u32,
    pub(super) flip: u32,
}

/// The constant and truth table with which one LOP3 computes `(x & mask) ^ flip`, if one constant is enough.
fn one_constant(mask: u32, flip: u32) -> Option<(Source, i64)> {
    Some(match (mask, flip) {
        (u32::MAX, u32::MAX) => (Source::rz(), 0x0f),
        (u32::MAX, flip) => (Source::imm(flip), 0x3c),
        (mask, 0) => (Source::imm(mask), 0xc0),
        (mask, flip) if flip == !mask => (Source::imm(flip), 0xfc),
        _ => return None,
    })
}
