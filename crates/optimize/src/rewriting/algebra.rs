//! Peephole algebra on one instruction at a time: neutral operands, chains of constants, LUTs of fewer inputs,
//! permutations of permutations, extensions of extended values, comparisons of selections, operand modifiers, 64-bit
//! operations on extended 32-bit values.
//!
//! Every rewrite replaces one instruction by one that defines the same values, and is exact for all inputs: wrapping
//! integers, bits, and floating-point identities that hold for zeros, infinities and NaN as well.

use crate::analyses::slots::{comparison, is_plain_permutation, opposite, source_type};
use crate::analyses::value_facts::{fixed_input, is_signed_single, uses_input};
use crate::rewriting::float_bounds;
use crate::rewriting::fold::lookup;
use crate::rewriting::halves;
use crate::rewriting::replacement::{become_copy, become_op, sole_destination};
use crate::rewriting::view::View;
use oriole_ori::{File, Instruction, Opcode, Pseudo, Source, SourceKind, Value, is_legal};
use oriole_sass::info::SourceType;
use oriole_sass::{Mod, Mods, Op};
use smallvec::SmallVec;

/// The truth table of the first operand and the second.
const AND: i64 = 0xc0;

/// The bits of the upper half of a register.
const UPPER_HALF: u32 = 0xffff_0000;

/// Simplifies an instruction; true if it changed.
pub fn run(view: &View<'_>, i: &mut Instruction) -> bool {
    let mut changed = view.float_signs(i) | halves::run(view, i);
    changed |= match i.opcode {
        Opcode::Sass(op) => match op {
            Op::MOV => canonical_copy(i),
            Op::IADD3 => view.settled_carries(i) | view.add(i),
            Op::IMAD => view.multiply_add(i),
            Op::LOP3 => view.logic(i) || view.mask_half(i),
            Op::SHF => view.shift(i),
            Op::PRMT => view.permute(i),
            Op::SEL => view.select(i),
            Op::SGXT => view.extend(i),
            Op::ISETP => view.compare(i),
            Op::PLOP3 => view.join_comparison(i),
            Op::FSETP | Op::FMUL => float_bounds::run(view, i),
            _ => false,
        },
        Opcode::Pseudo(pseudo) => match pseudo {
            Pseudo::Mul64 => view.narrow_multiply(i),
            Pseudo::Shl64 => view.narrow_shift(i),
            Pseudo::SetPredicate64 => view.narrow_compare(i),
            Pseudo::Add64 => view.add_64(i),
            _ => false,
        },
    };
    changed
}

/// A move between general registers is a copy.
fn canonical_copy(i: &mut Instruction) -> bool {
    match i.sources.as_slice() {
        [only] if matches!(only.kind, SourceKind::Values(_) | SourceKind::Zero(File::R)) => {
            let only = only.clone();
            become_copy(i, only)
        }
        _ => false,
    }
}

fn plain_immediate(bits: u32) -> Source {
    if bits == 0 { Source::rz() } else { Source::imm(bits) }
}

/// An operand of an add with carry-in, without sign and complement, and whether its complement is added. With a
/// carry-in, a minus sign means the complement too.
fn beside_a_carry(source: &Source) -> (Source, bool) {
    (Source { negate: false, invert: false, ..source.clone() }, source.negate ^ source.invert)
}

fn is_bare(source: &Source) -> bool {
    !source.negate
        && !source.absolute
        && !source.invert
        && source.suffixes.is_empty()
        && source.fixed.is_none()
}

impl View<'_> {
    pub fn known(&self, source: &Source) -> Option<u32> {
        is_bare(source).then(|| self.facts.source_word(source)).flatten().map(|bits| bits as u32)
    }

    pub fn definition(&self, value: Value) -> Option<&Instruction> {
        self.definitions.instruction(self.function, value)
    }

    /// The instruction that defines the one register of a plain source.
    pub fn source_definition(&self, source: &Source) -> Option<&Instruction> {
        let value = source.as_plain_value()?;
        self.definition(value)
    }

    pub fn is_stable(&self, source: &Source) -> bool {
        let mut stable = true;
        source.for_each_value(|value| stable &= self.definitions.is_stable(value));
        stable
    }

    /// Puts the rewritten instruction in place if there is a form for it.
    pub fn accept(&self, i: &mut Instruction, candidate: Instruction) -> bool {
        let legal = match candidate.opcode {
            Opcode::Sass(_) => is_legal(self.chip, self.function, &candidate),
            Opcode::Pseudo(_) => true,
        };
        if legal && *i != candidate {
            *i = candidate;
            return true;
        }
        false
    }

    // Adds.

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
    fn settled_carries(&self, i: &mut Instruction) -> bool {
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

    fn add(&self, i: &mut Instruction) -> bool {
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

    fn multiply_add(&self, i: &mut Instruction) -> bool {
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

    // Bits.

    fn logic(&self, i: &mut Instruction) -> bool {
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

    fn shift(&self, i: &mut Instruction) -> bool {
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
    fn mask_half(&self, i: &mut Instruction) -> bool {
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

    fn extend(&self, i: &mut Instruction) -> bool {
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

    fn permute(&self, i: &mut Instruction) -> bool {
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

    // Choices.

    fn select(&self, i: &mut Instruction) -> bool {
        if !i.mods.is_empty() {
            return false;
        }
        let [a, b, choice] = i.sources.as_slice() else { return false };
        let taken = match choice.kind {
            SourceKind::True(_) if choice.invert => b,
            SourceKind::True(_) => a,
            _ if a == b => a,
            _ => return false,
        };
        let taken = taken.clone();
        become_copy(i, taken)
    }

    fn compare(&self, i: &mut Instruction) -> bool {
        if i.mods.has(Mod::EX) || i.sources.len() != 3 || sole_destination(i) != Some(0) {
            return false;
        }
        let Some(compare) = comparison(i) else { return false };
        let unsigned = i.mods.has(Mod::U32);
        if !is_bare(&i.sources[0]) || !is_bare(&i.sources[1]) {
            return false;
        }
        // With a neutral predicate the result is that of the comparison.
        let neutral = matches!((&i.sources[2].kind, i.sources[2].invert), (SourceKind::True(_), false))
            && i.mods.has(Mod::AND);
        if !neutral {
            return false;
        }
        let (x, y) = (&i.sources[0], &i.sources[1]);
        if x.as_plain_value().is_some() && x.as_plain_value() == y.as_plain_value() {
            let holds = matches!(compare, Mod::EQ | Mod::GE | Mod::LE);
            return become_copy(i, if holds { Source::pt() } else { Source::not_pt() });
        }
        let Some(limit) = self.known(y) else { return false };
        if unsigned && limit == 0 {
            match compare {
                Mod::LT => return become_copy(i, Source::not_pt()),
                Mod::GE => return become_copy(i, Source::pt()),
                _ => {}
            }
        }
        // A selection of two constants, compared with a constant.
        let Some((a, b, choice)) = self.source_definition(x).and_then(|chosen| self.one_of_two(chosen))
        else {
            return false;
        };
        let holds = |x: u32| {
            let order = if unsigned { x.cmp(&limit) } else { (x as i32).cmp(&(limit as i32)) };
            match compare {
                Mod::LT => order.is_lt(),
                Mod::LE => order.is_le(),
                Mod::GT => order.is_gt(),
                Mod::GE => order.is_ge(),
                Mod::EQ => order.is_eq(),
                _ => order.is_ne(),
            }
        };
        let result = match (holds(a), holds(b)) {
            (true, true) => Source::pt(),
            (false, false) => Source::not_pt(),
            (true, false) => choice,
            (false, true) => choice.inverted(),
        };
        become_copy(i, result)
    }

    /// `p <- comparison joined with q` by a table becomes a comparison that joins.
    fn join_comparison(&self, i: &mut Instruction) -> bool {
        if i.sources.len() != 5 || sole_destination(i) != Some(0) {
            return false;
        }
        let (SourceKind::Literal(table), true) =
            (i.sources[3].kind.clone(), i.sources[..3].iter().all(|s| s.suffixes.is_empty()))
        else {
            return false;
        };
        let mut table = table as u8;
        let mut used: SmallVec<[usize; 3]> = SmallVec::new();
        for index in 0..3 {
            if let SourceKind::True(_) = i.sources[index].kind {
                table = fixed_input(table, index, !i.sources[index].invert);
            }
            if uses_input(table, index) {
                used.push(index);
            }
        }
        let [first, second] = used.as_slice() else { return false };
        // The table over the two inputs: bit 2x + y.
        let row = |x: u8, y: u8| x << (2 - first) | y << (2 - second);
        let small = (0..4u8).fold(0u8, |bits, n| bits | (table >> row(n >> 1, n & 1) & 1) << n);
        let mut orders = [
            (*first, *second, small),
            (*second, *first, small & 0b1001 | (small & 2) << 1 | (small & 4) >> 1),
        ];
        // Prefer a comparison without other readers: it becomes dead.
        let shared = |at: usize| !matches!(&i.sources[at].kind, SourceKind::Values(values) if self.definitions.is_read_once(values[0]));
        orders.sort_by_key(|&(at, ..)| shared(at));
        for (at, other, small) in orders {
            let source = &i.sources[at];
            let SourceKind::Values(values) = &source.kind else { continue };
            let value = values[0];
            let Some(comparison_op) = self.definition(value) else { continue };
            let Opcode::Sass(op @ (Op::ISETP | Op::FSETP)) = comparison_op.opcode else { continue };
            if !self.may_join(comparison_op) {
                continue;
            }
            let Some((join, deny_x, deny_y)) = join_of_table(small) else { continue };
            let Some(compare) = comparison(comparison_op) else { continue };
            let compare_now = if deny_x != source.invert {
                match opposite(compare, op == Op::FSETP) {
                    Some(compare) => compare,
                    None => continue,
                }
            } else {
                compare
            };
            let mut candidate = comparison_op.clone();
            candidate.guard = i.guard;
            candidate.tied = i.tied.clone();
            candidate.origin = i.origin;
            candidate.destinations[0] = i.destinations[0].clone();
            candidate.mods.remove(compare);
            candidate.mods.insert(compare_now);
            candidate.mods.remove(Mod::AND);
            candidate.mods.insert(join);
            let mut with = i.sources[other].clone();
            with.invert ^= deny_y;
            candidate.sources[2] = with;
            return self.accept(i, candidate);
        }
        false
    }

    /// True for a comparison of two words whose result is not combined with another predicate yet.
    fn may_join(&self, comparison: &Instruction) -> bool {
        sole_destination(comparison) == Some(0)
            && !comparison.mods.has(Mod::EX)
            && comparison.mods.has(Mod::AND)
            && comparison.sources.len() == 3
            && matches!(comparison.sources[2].kind, SourceKind::True(_))
            && !comparison.sources[2].invert
            && comparison.sources.iter().all(|s| self.is_stable(s))
    }

    /// For an instruction with one of two constants as its result: the constant where a predicate holds, the other
    /// constant, and the predicate. It is a select, or adds a carry to a constant.
    pub(crate) fn one_of_two(&self, i: &Instruction) -> Option<(u32, u32, Source)> {
        let number = |index: usize| self.known(i.sources.get(index)?);
        let (a, b, choice) = match (i.opcode, i.sources.as_slice()) {
            (Opcode::Sass(Op::SEL), [_, _, choice]) => (number(0)?, number(1)?, choice),
            (Opcode::Sass(Op::IADD3), [first, second, third, carry, no_carry])
                if i.mods.has(Mod::X)
                    && i.mods.len() == 1
                    && no_carry.invert
                    && matches!(no_carry.kind, SourceKind::True(_)) =>
            {
                let number = |source: &Source| {
                    let (plain, complement) = beside_a_carry(source);
                    self.known(&plain).map(|word| if complement { !word } else { word })
                };
                let sum = number(first)?.wrapping_add(number(second)?).wrapping_add(number(third)?);
                (sum.wrapping_add(1), sum, carry)
            }
            _ => return None,
        };
        let is_predicate = matches!(choice.kind, SourceKind::Values(_));
        (is_predicate && self.is_stable(choice)).then(|| (a, b, choice.clone()))
    }

    // Signs of floats.

    /// A negation or magnitude that the operand can express as a modifier.
    fn float_signs(&self, i: &mut Instruction) -> bool {
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

    // 64-bit operations.

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
    fn narrow_multiply(&self, i: &mut Instruction) -> bool {
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
    fn narrow_shift(&self, i: &mut Instruction) -> bool {
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
    fn narrow_compare(&self, i: &mut Instruction) -> bool {
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
    fn add_64(&self, i: &mut Instruction) -> bool {
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

/// `(value & mask) ^ flip`.
struct Merged {
    value: Value,
    mask: u32,
    flip: u32,
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

/// The join of x or !x with y or !y that has this table over x and y (bit 2x + y), and which of them it denies.
fn join_of_table(table: u8) -> Option<(Mod, bool, bool)> {
    for (join, base) in [(Mod::AND, 0b1000u8), (Mod::OR, 0b1110), (Mod::XOR, 0b0110)] {
        for flip in 0..4u8 {
            let made = (0..4u8).fold(0u8, |bits, n| bits | (base >> (n ^ flip) & 1) << n);
            if made == table {
                return Some((join, flip & 2 != 0, flip & 1 != 0));
            }
        }
    }
    None
}
