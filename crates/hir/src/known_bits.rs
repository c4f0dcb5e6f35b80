//! Bits of integer registers that are the same on every path to an instruction.
//!
//! For checks that look into a value, such as the fields of a descriptor. Only instructions that pack, shift and add
//! are followed; results of others are unknown. No folding by later stages may rest on it.

use oriole_ptx::{Opcode, Word};
use rustc_hash::FxHashMap;

use crate::flow::Flow;
use crate::{Body, Immediate, Instruction, Operand, RegisterId};

/// The known bits of 64. A narrower value has zeros above.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct KnownBits {
    /// The bits that are known.
    pub known: u64,
    /// The values of the known bits; zero where unknown.
    pub value: u64,
}

fn low(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

impl KnownBits {
    /// Nothing is known.
    pub const UNKNOWN: KnownBits = KnownBits { known: 0, value: 0 };

    /// Every bit is known.
    pub fn constant(value: u64) -> KnownBits {
        KnownBits { known: u64::MAX, value }
    }

    /// The value of a field, if all of it is known.
    pub fn field(self, first: u32, width: u32) -> Option<u64> {
        let mask = low(width);
        (self.known >> first & mask == mask).then_some(self.value >> first & mask)
    }

    /// The bits of a field that are known to be one, in their places.
    pub fn ones(self, first: u32, width: u32) -> u64 {
        self.value & low(width) << first
    }

    fn zeros(self) -> u64 {
        self.known & !self.value
    }

    fn of(ones: u64, zeros: u64) -> KnownBits {
        KnownBits { known: ones | zeros, value: ones }
    }

    /// One of two values.
    fn either(self, other: KnownBits) -> KnownBits {
        KnownBits::of(self.value & other.value, self.zeros() & other.zeros())
    }

    /// The lowest bits, with zeros above.
    fn lowest(self, bits: u32) -> KnownBits {
        KnownBits::of(self.value & low(bits), self.zeros() | !low(bits))
    }

    fn shifted_left(self, by: u32) -> KnownBits {
        if by >= 64 {
            return KnownBits::constant(0);
        }
        KnownBits::of(self.value << by, self.zeros() << by | low(by))
    }

    fn shifted_right(self, by: u32) -> KnownBits {
        if by >= 64 {
            return KnownBits::constant(0);
        }
        KnownBits::of(self.value >> by, self.zeros() >> by | !(u64::MAX >> by))
    }

    fn not(self) -> KnownBits {
        KnownBits::of(self.zeros(), self.value)
    }

    fn and(self, other: KnownBits) -> KnownBits {
        KnownBits::of(self.value & other.value, self.zeros() | other.zeros())
    }

    fn or(self, other: KnownBits) -> KnownBits {
        self.not().and(other.not()).not()
    }

    fn xor(self, other: KnownBits) -> KnownBits {
        let known = self.known & other.known;
        KnownBits { known, value: (self.value ^ other.value) & known }
    }

    /// A sum. Where the least and the greatest sum have the same carry into a bit, all sums have it.
    fn plus(self, other: KnownBits, carry: u64) -> KnownBits {
        let least = self.value.wrapping_add(other.value).wrapping_add(carry);
        let greatest = (!self.zeros()).wrapping_add(!other.zeros()).wrapping_add(carry);
        let carries = least ^ self.value ^ other.value;
        let most_carries = greatest ^ !self.zeros() ^ !other.zeros();
        let known = self.known & other.known & !(carries ^ most_carries);
        KnownBits { known, value: least & known }
    }

    /// The value, sign-extended above `bits` bits.
    fn signed(self, bits: u32) -> KnownBits {
        match self.field(bits - 1, 1) {
            Some(0) => self.lowest(bits),
            Some(_) => KnownBits::of(self.value | !low(bits), self.zeros() & low(bits)),
            None => KnownBits::of(self.value & low(bits), self.zeros() & low(bits)),
        }
    }
}

/// Registers with their known bits; others are unknown.
type Known = FxHashMap<RegisterId, KnownBits>;

fn immediate(operand: Option<&Operand>) -> Option<u64> {
    match operand {
        Some(Operand::Immediate(Immediate::Integer(value))) => Some(*value as u64),
        _ => None,
    }
}

/// The known bits of an operand of `bits` bits.
fn of_operand(body: &Body, known: &Known, operand: Option<&Operand>, bits: u32) -> KnownBits {
    let found = match operand {
        Some(Operand::Register(register)) => known.get(register).copied().unwrap_or_default(),
        Some(Operand::VariableAddress(variable, offset)) => {
            let align = u64::from(body.variables[*variable].align.max(1));
            // Only the alignment of its address is known.
            KnownBits::of(0, align - 1).plus(KnownBits::constant(*offset as u64), 0)
        }
        Some(Operand::Vector(parts)) if !parts.is_empty() => {
            let each = bits / parts.len() as u32;
            parts.iter().enumerate().fold(KnownBits::constant(0), |sum, (at, part)| {
                sum.or(of_operand(body, known, Some(part), each).shifted_left(at as u32 * each))
            })
        }
        operand => immediate(operand).map_or(KnownBits::UNKNOWN, KnownBits::constant),
    };
    found.lowest(bits)
}

/// The result of an instruction, with zeros above its type.
fn result(body: &Body, known: &Known, i: &Instruction) -> KnownBits {
    let fits = |bits: u32| bits <= u64::BITS && i.vector == 1;
    let Some(ty) = i.types.first().filter(|ty| !ty.is_float() && fits(ty.bits())) else {
        return KnownBits::UNKNOWN;
    };
    let bits = ty.bits();
    let source = |at: usize| of_operand(body, known, i.operands.get(at), bits);
    let amount = |at: usize| immediate(i.operands.get(at)).map(|amount| amount as u32);
    let plain = !i.modifiers.has(Word::Sat);
    let found = match i.opcode {
        Opcode::Mov => source(1),
        Opcode::And => source(1).and(source(2)),
        Opcode::Or => source(1).or(source(2)),
        Opcode::Xor => source(1).xor(source(2)),
        Opcode::Not => source(1).not(),
        Opcode::Add if plain => source(1).plus(source(2), 0),
        Opcode::Sub if plain => source(1).plus(source(2).not(), 1),
        Opcode::Selp => source(1).either(source(2)),
        // A value from another lane has the known bits that all lanes share.
        Opcode::Shfl => source(1),
        Opcode::Shl => amount(2).map_or(KnownBits::UNKNOWN, |by| source(1).shifted_left(by)),
        Opcode::Shr => amount(2).map_or(KnownBits::UNKNOWN, |by| {
            let value = if ty.is_signed() { source(1).signed(bits) } else { source(1) };
            if ty.is_signed() && value.field(63, 1).is_none() {
                return KnownBits::UNKNOWN;
            }
            let sign = if value.value >> 63 == 1 { !(u64::MAX >> by.min(63)) } else { 0 };
            value.shifted_right(by.min(63)).or(KnownBits::constant(sign))
        }),
        Opcode::Bfe if !ty.is_signed() => match (amount(2), amount(3)) {
            (Some(first), Some(width)) => source(1).shifted_right(first).lowest(width),
            _ => KnownBits::UNKNOWN,
        },
        Opcode::Bfi => match (amount(3), amount(4)) {
            (Some(first), Some(width)) if first < 64 => {
                let hole = KnownBits::constant(!(low(width) << first));
                source(2).and(hole).or(source(1).lowest(width).shifted_left(first))
            }
            _ => KnownBits::UNKNOWN,
        },
        Opcode::Cvt if plain && !widens(body, i, bits) => match i.types.get(1) {
            Some(from) if from.is_integer() || from.is_bits() => {
                let value = of_operand(body, known, i.operands.get(1), from.bits());
                if from.is_signed() { value.signed(from.bits()) } else { value }
            }
            _ => KnownBits::UNKNOWN,
        },
        Opcode::Lop3 => lop3(source(1), source(2), source(3), immediate(i.operands.get(4))),
        _ => return KnownBits::UNKNOWN,
    };
    found.lowest(bits)
}

/// Whether the register of a result is wider than its type, so that the sign may extend above it.
fn widens(body: &Body, i: &Instruction, bits: u32) -> bool {
    match i.operands.first() {
        Some(Operand::Register(register)) => body.registers[*register].ty.bits() > bits,
        _ => false,
    }
}

/// Whether results of an opcode may have known bits.
fn is_followed(opcode: Opcode) -> bool {
    use Opcode::*;
    matches!(
        opcode,
        Mov | And | Or | Xor | Not | Add | Sub | Selp | Shfl | Shl | Shr | Bfe | Bfi | Cvt | Lop3
    )
}

/// Any function of three bits: the rows of its table that are possible.
fn lop3(a: KnownBits, b: KnownBits, c: KnownBits, table: Option<u64>) -> KnownBits {
    let Some(table) = table else { return KnownBits::UNKNOWN };
    let (mut may_be_one, mut may_be_zero) = (0, 0);
    for row in 0..8 {
        let holds = |value: KnownBits, bit: u32| match row >> bit & 1 {
            1 => !value.zeros(),
            _ => !value.value,
        };
        let possible = holds(a, 2) & holds(b, 1) & holds(c, 0);
        match table >> row & 1 {
            1 => may_be_one |= possible,
            _ => may_be_zero |= possible,
        }
    }
    KnownBits::of(!may_be_zero, !may_be_one)
}

/// The known bits after an instruction.
fn step(body: &Body, followed: &Known, known: &mut Known, i: &Instruction) {
    let value = result(body, known, i);
    let parts: &[Operand] = match i.operands.first() {
        Some(Operand::Pair(first, _)) => std::slice::from_ref(first.as_ref()),
        Some(operand) => operand.components(),
        None => &[],
    };
    let each = i.types.first().map_or(0, |ty| ty.bits()) / parts.len().max(1) as u32;
    i.for_each_written(|register| {
        if !followed.contains_key(&register) {
            return;
        }
        let place = parts.iter().position(|part| *part == Operand::Register(register));
        let new = match place {
            // Each element of a vector result of other instructions has the type.
            Some(at) if each > 0 && is_followed(i.opcode) => {
                value.shifted_right(at as u32 * each).lowest(each)
            }
            _ => KnownBits::UNKNOWN,
        };
        let old = known.get(&register).copied().unwrap_or_default();
        known.insert(register, if i.guard.is_some() { old.either(new) } else { new });
    });
}

/// The registers that others derive from, these included.
fn sources(flow: &Flow<'_>, of: impl Iterator<Item = RegisterId>) -> Known {
    let mut writers: FxHashMap<RegisterId, Vec<u32>> = FxHashMap::default();
    for (at, i) in flow.instructions.iter().enumerate() {
        i.for_each_written(|register| writers.entry(register).or_default().push(at as u32));
    }
    let mut found = Known::default();
    let mut open: Vec<RegisterId> = of.collect();
    while let Some(register) = open.pop() {
        if found.insert(register, KnownBits::UNKNOWN).is_some() {
            continue;
        }
        let writers = writers.get(&register).into_iter().flatten();
        for i in writers.map(|&at| flow.instructions[at as usize]).filter(|i| is_followed(i.opcode)) {
            i.for_each_read(|source| open.push(source));
        }
    }
    found
}

/// The limit of registers kept at the starts of blocks, over all blocks: a body that needs more gives no results.
const MOST: usize = 1 << 16;

/// The known bits of registers at the instructions that `wanted` names, in ascending order: calls `tell` with each, and
/// the bits known before it.
pub(crate) fn known_bits(
    body: &Body,
    flow: &Flow<'_>,
    wanted: &[(u32, RegisterId)],
    mut tell: impl FnMut(u32, RegisterId, KnownBits),
) {
    let followed = sources(flow, wanted.iter().map(|&(_, register)| register));
    if followed.len() * flow.blocks.len() > MOST {
        return;
    }
    let mut before: Vec<Option<Known>> = vec![None; flow.blocks.len()];
    before[0] = Some(followed.clone());
    let mut open = vec![0usize];
    let mut queued = vec![false; flow.blocks.len()];
    while let Some(at) = open.pop() {
        queued[at] = false;
        let Some(mut known) = before[at].clone() else { continue };
        flow.block(at).for_each(|(_, i)| step(body, &followed, &mut known, i));
        for &successor in &flow.blocks[at].successors {
            let place = &mut before[successor as usize];
            let joined = match place {
                None => known.clone(),
                Some(old) => {
                    let join = |(&register, &value): (&RegisterId, &KnownBits)| {
                        (register, value.either(known.get(&register).copied().unwrap_or_default()))
                    };
                    old.iter().map(join).collect()
                }
            };
            if place.as_ref() != Some(&joined) {
                *place = Some(joined);
                if !std::mem::replace(&mut queued[successor as usize], true) {
                    open.push(successor as usize);
                }
            }
        }
    }
    for (at, known) in before.into_iter().enumerate() {
        let Some(mut known) = known else { continue };
        for (ordinal, i) in flow.block(at) {
            let first = wanted.partition_point(|wanted| wanted.0 < ordinal);
            for &(_, register) in wanted[first..].iter().take_while(|wanted| wanted.0 == ordinal) {
                tell(ordinal, register, known.get(&register).copied().unwrap_or_default());
            }
            step(body, &followed, &mut known, i);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All values of eight bits that the known bits allow.
    fn values(of: KnownBits) -> impl Iterator<Item = u64> {
        (0..256).filter(move |value| value & of.known == of.value & 255)
    }

    /// For every pair of small inputs: each sum, union and difference agrees with the known bits, and no bit that all
    /// of them share is lost.
    #[test]
    fn what_is_known_holds_for_all_values_and_nothing_is_forgotten() {
        let drawn = |seed: u64| {
            let known = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20 & 255 | !255;
            KnownBits { known, value: seed.wrapping_mul(0xd134_2543_de82_ef95) >> 24 & known & 255 }
        };
        let exact = |found: KnownBits, all: &[u64]| {
            let ones = all.iter().fold(u64::MAX, |bits, value| bits & value);
            let zeros = all.iter().fold(u64::MAX, |bits, value| bits & !value);
            assert_eq!(found, KnownBits::of(ones, zeros));
        };
        for seed in 1..80 {
            let (a, b) = (drawn(seed), drawn(seed * 31));
            let pairs: Vec<(u64, u64)> =
                values(a).flat_map(|left| values(b).map(move |right| (left, right))).collect();
            let all = |of: &dyn Fn(u64, u64) -> u64| pairs.iter().map(|&(x, y)| of(x, y)).collect::<Vec<_>>();
            exact(a.plus(b, 0), &all(&|x, y| x + y));
            exact(a.plus(b.not(), 1), &all(&u64::wrapping_sub));
            exact(a.or(b), &all(&|x, y| x | y));
            exact(a.xor(b), &all(&|x, y| x ^ y));
            exact(lop3(a, b, KnownBits::constant(0), Some(0xc0)), &all(&|x, y| x & y));
            exact(a.either(b), &values(a).chain(values(b)).collect::<Vec<_>>());
        }
    }
}
