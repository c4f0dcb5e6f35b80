//! Evaluates an operation whose operands are all known: exact arithmetic on integers, bits and predicates.
//!
//! It is here for the passes that fold constants. It knows no function and no value: a caller gives the raw operands.
//! Floating-point arithmetic is excluded, and so is every operation whose result depends on more than its operands.

use crate::analyses::slots::{is_plain_permutation, signed_word, source_type};
use oriole_ori::{Instruction, Opcode, Pseudo, Source, SourceKind};
use oriole_sass::info::SourceType;
use oriole_sass::{Mod, Op};
use smallvec::SmallVec;

/// Results, one integer for each destination operand (pairs as 64 bits, predicates as 0 or 1).
pub type Results = SmallVec<[u64; 2]>;

/// Computes the results of a supported operation if `known` gives every operand that it needs: the raw bits of a
/// register operand (a pair as 64 bits, a predicate as 0 or 1), without its sign modifiers.
pub fn evaluate(instruction: &Instruction, known: &dyn Fn(&Source) -> Option<u64>) -> Option<Results> {
    if instruction.guard.is_some() {
        return None;
    }
    let operands = Operands { instruction, known };
    match instruction.opcode {
        Opcode::Sass(op) => machine(op, &operands),
        Opcode::Pseudo(pseudo) => wide(pseudo, &operands),
    }
}

struct Operands<'a> {
    instruction: &'a Instruction,
    known: &'a dyn Fn(&Source) -> Option<u64>,
}

impl Operands<'_> {
    fn has(&self, name: Mod) -> bool {
        self.instruction.mods.has(name)
    }

    fn raw(&self, index: usize) -> Option<u64> {
        let source = self.instruction.sources.get(index)?;
        match source.kind {
            SourceKind::Imm(bits) => Some(bits.into()),
            SourceKind::Literal(number) => Some(number as u64),
            SourceKind::Zero(_) => Some(0),
            SourceKind::True(_) => Some(1),
            _ => (self.known)(source),
        }
    }

    /// A 32-bit operand with its signs.
    fn word(&self, index: usize) -> Option<u32> {
        let source = self.instruction.sources.get(index)?;
        // Few operands are known, and the type of one is a search.
        let bits = self.raw(index)? as u32;
        if !source.suffixes.is_empty() || source_type(self.instruction, index) != SourceType::Word {
            return None;
        }
        Some(signed_word(SourceType::Word, source, bits))
    }

    /// A 64-bit operand, which may be negated.
    fn long(&self, index: usize) -> Option<u64> {
        let source = self.instruction.sources.get(index)?;
        if !source.suffixes.is_empty() || source.invert || source.absolute {
            return None;
        }
        // The immediate of a 64-bit operation has no meaning that all agree on.
        if matches!(source.kind, SourceKind::Imm(_)) {
            return None;
        }
        let bits = self.raw(index)?;
        Some(if source.negate { bits.wrapping_neg() } else { bits })
    }

    /// A predicate operand, or `absent` if the instruction lacks it.
    fn predicate_or(&self, index: usize, absent: bool) -> Option<bool> {
        match self.instruction.sources.get(index) {
            None => Some(absent),
            Some(source) => Some((self.raw(index)? & 1 == 1) != source.invert),
        }
    }

    fn predicate(&self, index: usize) -> Option<bool> {
        self.instruction.sources.get(index)?;
        self.predicate_or(index, false)
    }

    fn only(&self, allowed: &[Mod]) -> bool {
        self.instruction.mods.iter().all(|name| allowed.contains(&name))
    }
}

fn one(value: u32) -> Option<Results> {
    Some(SmallVec::from_slice(&[value.into()]))
}

fn machine(op: Op, operands: &Operands<'_>) -> Option<Results> {
    match op {
        Op::MOV if operands.instruction.sources.len() == 1 => one(operands.word(0)?),
        Op::IADD3 => add3(operands),
        Op::IMAD => multiply_add(operands),
        Op::LEA => shifted_add(operands),
        Op::LOP3 => {
            if !operands.only(&[Mod::LUT]) || operands.instruction.destinations.len() != 1 {
                return None;
            }
            let table = operands.raw(3)? as u8;
            one(lookup(table, operands.word(0)?, operands.word(1)?, operands.word(2)?))
        }
        Op::PLOP3 => {
            let [a, b, c] = [operands.predicate(0)?, operands.predicate(1)?, operands.predicate(2)?];
            let row = u8::from(a) << 2 | u8::from(b) << 1 | u8::from(c);
            let tables = [operands.raw(3)?, operands.raw(4)?];
            Some(tables.iter().map(|table| table >> row & 1).collect())
        }
        Op::SHF => funnel_shift(operands),
        Op::PRMT if is_plain_permutation(operands.instruction) => {
            one(permute(operands.word(0)?, operands.word(1)?, operands.word(2)?))
        }
        // All voters vote the same.
        Op::VOTEU if operands.only(&[Mod::ANY]) && operands.instruction.destinations.len() == 1 => {
            one(operands.predicate(0)?.into())
        }
        Op::SEL => one(if operands.predicate(2)? { operands.word(0)? } else { operands.word(1)? }),
        Op::ISETP => compare(operands),
        Op::VIMNMX | Op::IMNMX if operands.only(&[Mod::U32]) => {
            let (a, b) = (operands.word(0)?, operands.word(1)?);
            let less = if operands.has(Mod::U32) { a < b } else { (a as i32) < b as i32 };
            one(if less == operands.predicate(2)? { a } else { b })
        }
        Op::SGXT if operands.only(&[Mod::U32]) => {
            let (value, width) = (operands.word(0)?, operands.word(1)?);
            one(match width {
                0 => 0,
                32.. => value,
                _ if operands.has(Mod::U32) => value & (u32::MAX >> (32 - width)),
                _ => ((value << (32 - width)) as i32 >> (32 - width)) as u32,
            })
        }
        Op::BMSK if operands.only(&[]) => {
            let (start, width) = (operands.word(0)?.min(32), operands.word(1)?.min(32));
            let ones = if width == 32 { u64::from(u32::MAX) } else { (1u64 << width) - 1 };
            one((ones << start) as u32)
        }
        Op::POPC => one(operands.word(0)?.count_ones()),
        Op::BREV => one(operands.word(0)?.reverse_bits()),
        Op::IABS => one((operands.word(0)? as i32).unsigned_abs()),
        Op::FLO if operands.only(&[Mod::U32, Mod::SH]) && operands.instruction.destinations.len() == 1 => {
            let value = operands.word(0)?;
            let value = if !operands.has(Mod::U32) && value >> 31 == 1 { !value } else { value };
            one(match (value, operands.has(Mod::SH)) {
                (0, _) => u32::MAX,
                (_, true) => value.leading_zeros(),
                (_, false) => 31 - value.leading_zeros(),
            })
        }
        _ => None,
    }
}

/// A negated addend is its complement plus one, so the carry is that of a single adder.
fn addend(source: &Source, bits: u32) -> (u64, u64) {
    let complement = source.negate || source.invert;
    (u64::from(if complement { !bits } else { bits }), u64::from(source.negate))
}

fn add3(operands: &Operands<'_>) -> Option<Results> {
    let extended = operands.has(Mod::X);
    if !operands.only(&[Mod::X]) {
        return None;
    }
    let mut sum = 0u64;
    for index in 0..3 {
        let source = operands.instruction.sources.get(index)?;
        if source.absolute || !source.suffixes.is_empty() {
            return None;
        }
        let (bits, plus) = addend(source, operands.raw(index)? as u32);
        sum += bits + plus;
    }
    if extended {
        sum += u64::from(operands.predicate_or(3, false)?) + u64::from(operands.predicate_or(4, false)?);
    }
    let mut results = SmallVec::from_slice(&[sum & u64::from(u32::MAX)]);
    for carry in 1..operands.instruction.destinations.len() {
        results.push(u64::from(sum >> 32 >= carry as u64));
    }
    Some(results)
}

fn multiply_add(operands: &Operands<'_>) -> Option<Results> {
    if !operands.only(&[Mod::U32, Mod::WIDE, Mod::HI]) || operands.instruction.destinations.len() != 1 {
        return None;
    }
    let (a, b) = (operands.word(0)?, operands.word(1)?);
    let product = if operands.has(Mod::U32) {
        u64::from(a) * u64::from(b)
    } else {
        (i64::from(a as i32) * i64::from(b as i32)) as u64
    };
    if operands.has(Mod::WIDE) {
        return Some(SmallVec::from_slice(&[product.wrapping_add(operands.long(2)?)]));
    }
    if operands.has(Mod::HI) {
        // The addend may be a pair; only the multiply without addend is folded.
        let zero = matches!(operands.instruction.sources.get(2)?.kind, SourceKind::Zero(_));
        return zero.then(|| SmallVec::from_slice(&[product >> 32]));
    }
    one((product as u32).wrapping_add(operands.word(2)?))
}

fn shifted_add(operands: &Operands<'_>) -> Option<Results> {
    if !operands.only(&[]) || operands.instruction.destinations.len() != 1 {
        return None;
    }
    let first = operands.instruction.sources.first()?;
    if first.negate || first.invert {
        return None;
    }
    one((operands.word(0)? << (operands.raw(2)? & 31)).wrapping_add(operands.word(1)?))
}

/// The bitwise function with this truth table; bit `4a + 2b + c` of the table is its value.
pub fn lookup(table: u8, a: u32, b: u32, c: u32) -> u32 {
    let mut result = 0;
    for row in 0..8 {
        if table >> row & 1 == 1 {
            let a = if row & 4 != 0 { a } else { !a };
            let b = if row & 2 != 0 { b } else { !b };
            let c = if row & 1 != 0 { c } else { !c };
            result |= a & b & c;
        }
    }
    result
}

/// Four bytes of the pair `{c, a}`; bit 3 of a selector spreads the sign.
pub fn permute(a: u32, selector: u32, c: u32) -> u32 {
    let pair = u64::from(c) << 32 | u64::from(a);
    let mut result = 0;
    for place in 0..4 {
        let choice = selector >> (4 * place) & 0xf;
        let byte = (pair >> (8 * (choice & 7)) & 0xff) as u32;
        let byte = if choice & 8 == 0 { byte } else { 0xff * (byte >> 7) };
        result |= byte << (8 * place);
    }
    result
}

fn funnel_shift(operands: &Operands<'_>) -> Option<Results> {
    let types = [Mod::U32, Mod::S32, Mod::U64, Mod::S64];
    if types.iter().filter(|&&name| operands.has(name)).count() != 1 {
        return None;
    }
    let (low, amount, high) = (operands.word(0)?, operands.word(1)?, operands.word(2)?);
    let limit: u32 = if operands.has(Mod::U64) || operands.has(Mod::S64) { 64 } else { 32 };
    let amount = if operands.has(Mod::W) { amount % limit } else { amount.min(limit) };
    let pair = u64::from(high) << 32 | u64::from(low);
    let shifted = if operands.has(Mod::L) {
        pair.checked_shl(amount).unwrap_or(0)
    } else if !operands.has(Mod::R) {
        return None;
    } else if operands.has(Mod::S32) || operands.has(Mod::S64) {
        (pair as i64 >> amount.min(63)) as u64
    } else {
        pair.checked_shr(amount).unwrap_or(0)
    };
    one(if operands.has(Mod::HI) { (shifted >> 32) as u32 } else { shifted as u32 })
}

/// Result of a comparison.
fn holds(compare: Mod, order: std::cmp::Ordering) -> Option<bool> {
    Some(match compare {
        Mod::LT => order.is_lt(),
        Mod::LE => order.is_le(),
        Mod::GT => order.is_gt(),
        Mod::GE => order.is_ge(),
        Mod::EQ => order.is_eq(),
        Mod::NE => order.is_ne(),
        _ => return None,
    })
}

fn compare(operands: &Operands<'_>) -> Option<Results> {
    if operands.has(Mod::EX) {
        return None;
    }
    let (a, b) = (operands.word(0)?, operands.word(1)?);
    let compare = crate::analyses::slots::comparison(operands.instruction)?;
    let order = if operands.has(Mod::U32) { a.cmp(&b) } else { (a as i32).cmp(&(b as i32)) };
    let result = holds(compare, order)?;
    let other = operands.predicate_or(2, true)?;
    let join = |result: bool| {
        if operands.has(Mod::OR) {
            result | other
        } else if operands.has(Mod::XOR) {
            result ^ other
        } else {
            result & other
        }
    };
    Some(SmallVec::from_slice(&[u64::from(join(result)), u64::from(join(!result))]))
}

/// The 64-bit operations.
fn wide(pseudo: Pseudo, operands: &Operands<'_>) -> Option<Results> {
    let pair = |value: u64| Some(SmallVec::from_slice(&[value]));
    let signed = operands.has(Mod::S64);
    match pseudo {
        Pseudo::Copy => {
            let source = operands.instruction.sources.first()?;
            let bits = operands.raw(0)?;
            let plain = !source.negate && !source.absolute && source.suffixes.is_empty();
            match operands.instruction.destinations.first()?.file {
                oriole_ori::File::P | oriole_ori::File::UP => {
                    plain.then(|| SmallVec::from_slice(&[bits & 1 ^ u64::from(source.invert)]))
                }
                _ => (plain && !source.invert).then(|| SmallVec::from_slice(&[bits])),
            }
        }
        Pseudo::Add64 => pair(operands.long(0)?.wrapping_add(operands.long(1)?)),
        Pseudo::Mul64 => pair(operands.long(0)?.wrapping_mul(operands.long(1)?)),
        Pseudo::MulHi64 => {
            let (a, b) = (operands.long(0)?, operands.long(1)?);
            pair(if signed {
                ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64
            } else {
                ((u128::from(a) * u128::from(b)) >> 64) as u64
            })
        }
        Pseudo::Shl64 => pair(operands.long(0)?.checked_shl(amount(operands)?).unwrap_or(0)),
        Pseudo::Shr64 if signed => pair((operands.long(0)? as i64 >> amount(operands)?.min(63)) as u64),
        Pseudo::Shr64 => pair(operands.long(0)?.checked_shr(amount(operands)?).unwrap_or(0)),
        Pseudo::SetPredicate64 => {
            let (a, b) = (operands.long(0)?, operands.long(1)?);
            let compare = crate::analyses::slots::comparison(operands.instruction)?;
            let order = if signed { (a as i64).cmp(&(b as i64)) } else { a.cmp(&b) };
            pair(u64::from(holds(compare, order)?))
        }
        Pseudo::Select64 => {
            pair(if operands.predicate(2)? { operands.long(0)? } else { operands.long(1)? })
        }
        Pseudo::Logic64 => {
            let (a, b, c) = (operands.long(0)?, operands.long(1)?, operands.long(2)?);
            let table = operands.raw(3)? as u8;
            let half = |shift: u32| {
                u64::from(lookup(table, (a >> shift) as u32, (b >> shift) as u32, (c >> shift) as u32))
            };
            pair(half(32) << 32 | half(0))
        }
        Pseudo::Min64 | Pseudo::Max64 => {
            let (a, b) = (operands.long(0)?, operands.long(1)?);
            let less = if signed { (a as i64) < b as i64 } else { a < b };
            pair(if less == (pseudo == Pseudo::Min64) { a } else { b })
        }
        _ => None,
    }
}

/// The amount of a 64-bit shift, a 32-bit operand.
fn amount(operands: &Operands<'_>) -> Option<u32> {
    let source = operands.instruction.sources.get(1)?;
    let plain = !(source.negate || source.absolute || source.invert) && source.suffixes.is_empty();
    // A pair is not a shift amount.
    let single = !matches!(&source.kind, SourceKind::Values(values) if values.len() != 1);
    if plain && single { Some(operands.raw(1)? as u32) } else { None }
}
