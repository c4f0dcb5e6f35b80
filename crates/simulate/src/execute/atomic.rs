//! Atomic operations. Lanes act one after the other in ascending order.

use super::context::{Context, each_active};
use super::float::Extreme;
use super::load_store::{Space, addresses, place, registers};
use super::synchronize::told;
use crate::barrier_object::counted_arrival;
use crate::launch::Fault;
use crate::memory::{load_words, store_words};
use crate::number::{BF16, E4M3, E5M2, F16, F32, F64, Format, Round, add};
use oriole_sass::{Mod, Op};

/// The type of the data.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Integer {
        bytes: u32,
        signed: bool,
    },
    /// Floating-point values, one or more in a row.
    Float {
        format: Format,
        flush: bool,
        bytes: u32,
    },
}

impl Kind {
    fn bytes(self) -> u32 {
        match self {
            Kind::Integer { bytes, .. } | Kind::Float { bytes, .. } => bytes,
        }
    }
}

fn kind(context: &Context) -> Result<Kind, Fault> {
    let flush = context.has(Mod::FTZ);
    let halves = [
        (Mod::F16x2, F16, 4),
        (Mod::F16x4, F16, 8),
        (Mod::F16x8, F16, 16),
        (Mod::BF16x2, BF16, 4),
        (Mod::BF16x4, BF16, 8),
        (Mod::BF16x8, BF16, 16),
        (Mod::E4M3x4, E4M3, 4),
        (Mod::E4M3x8, E4M3, 8),
        (Mod::E4M3x16, E4M3, 16),
        (Mod::E5M2x4, E5M2, 4),
        (Mod::E5M2x8, E5M2, 8),
        (Mod::E5M2x16, E5M2, 16),
    ];
    if let Some(&(_, format, bytes)) = halves.iter().find(|row| context.has(row.0)) {
        return Ok(Kind::Float { format, flush, bytes });
    }
    Ok(if context.has(Mod::F32) {
        Kind::Float { format: F32, flush, bytes: 4 }
    } else if context.has(Mod::F32x2) {
        Kind::Float { format: F32, flush, bytes: 8 }
    } else if context.has(Mod::F32x4) {
        Kind::Float { format: F32, flush, bytes: 16 }
    } else if context.has(Mod::F64) {
        Kind::Float { format: F64, flush, bytes: 8 }
    } else if context.has(Mod::_128) {
        Kind::Integer { bytes: 16, signed: false }
    } else if context.has(Mod::_64) || context.has(Mod::S64) {
        Kind::Integer { bytes: 8, signed: context.has(Mod::S64) }
    } else {
        Kind::Integer { bytes: 4, signed: context.has(Mod::S32) }
    })
}

/// Bytes of the data of a lane, where they are known.
pub(super) fn bytes(context: &Context) -> Option<u32> {
    kind(context).ok().map(Kind::bytes)
}

/// The new value of a memory word, from the old one and the operand.
pub(super) fn combine(context: &Context, kind: Kind, old: u128, data: u128) -> Result<u128, Fault> {
    match kind {
        Kind::Float { format, flush, bytes } => {
            let width = format.bits();
            let rules = Extreme { propagate: false, mix_signs: false };
            let mut result = 0u128;
            for part in 0..bytes * 8 / width {
                let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
                let pick = |value: u128| (value >> (part * width)) as u64 & mask;
                let (a, b) = (pick(old), pick(data));
                let (a, b) = if flush { (format.flush(a), format.flush(b)) } else { (a, b) };
                let value = if context.has(Mod::ADD) {
                    if format == F64 {
                        let sum = f64::from_bits(a) + f64::from_bits(b);
                        if sum.is_nan() { format.not_a_number() } else { sum.to_bits() }
                    } else {
                        add(format, a, b, Round::Nearest)
                    }
                } else if context.has(Mod::MIN) || context.has(Mod::MAX) {
                    rules.choose(format, a, b, context.has(Mod::MIN), 0)
                } else {
                    return Err(context.refuse());
                };
                let value = if flush { format.flush(value) } else { value };
                result |= u128::from(value) << (part * width);
            }
            Ok(result)
        }
        Kind::Integer { bytes, signed } => {
            let bits = bytes * 8;
            let mask = if bits == 128 { u128::MAX } else { (1 << bits) - 1 };
            let extend = |value: u128| {
                if signed { ((value << (128 - bits)) as i128) >> (128 - bits) } else { value as i128 }
            };
            let (a, b) = (extend(old & mask), extend(data & mask));
            let result = if context.has(Mod::ARRIVE) {
                u128::from(counted_arrival(old as u64))
            } else if context.has(Mod::POPC) {
                // Lanes that access one word are counted: each of them adds one.
                a.wrapping_add(1) as u128
            } else if context.has(Mod::ADD) {
                a.wrapping_add(b) as u128
            } else if context.has(Mod::MIN) {
                a.min(b) as u128
            } else if context.has(Mod::MAX) {
                a.max(b) as u128
            } else if context.has(Mod::INC) {
                if a >= b { 0 } else { (a + 1) as u128 }
            } else if context.has(Mod::DEC) {
                if a == 0 || a > b { b as u128 } else { (a - 1) as u128 }
            } else if context.has(Mod::AND) {
                (a & b) as u128
            } else if context.has(Mod::OR) {
                (a | b) as u128
            } else if context.has(Mod::XOR) {
                (a ^ b) as u128
            } else if context.has(Mod::EXCH) {
                b as u128
            } else {
                return Err(context.refuse());
            };
            Ok(result & mask)
        }
    }
}

pub(super) fn wide(words: [u32; 4]) -> u128 {
    words.iter().rev().fold(0, |value, &word| value << 32 | u128::from(word))
}

/// `LDGMC`: the copies on several devices reduced to one value. There is one device here.
pub(super) fn reduce_copies(context: &mut Context) -> Result<(), Fault> {
    let bytes = kind(context)?.bytes();
    let addresses = addresses(context, 1, Space::Global)?;
    let mut parts = vec![[0; 32]; bytes as usize / 4];
    each_active(context, |context, lane| {
        let words = load_words(place(context, lane, Space::Global, addresses[lane], bytes)?);
        for (values, word) in parts.iter_mut().zip(words) {
            values[lane] = word;
        }
        Ok(())
    })?;
    context.write_tuple(0, &parts)
}

pub(super) fn execute(context: &mut Context) -> Result<(), Fault> {
    let op = context.instruction.op;
    let space = Space::of(op);
    // The index of the memory operand: after a predicate and a destination, after a destination alone, or first.
    let memory = match op {
        Op::REDG | Op::RED | Op::REDAS => 0,
        Op::ATOMS => 1,
        _ => 2,
    };
    let kind = kind(context)?;
    let bytes = kind.bytes();
    let swap = context.has(Mod::CAS);
    let test = context.has(Mod::CAST);
    let (addresses, told) = if op == Op::REDAS {
        let (places, objects) = told(context, memory)?;
        (places, Some(objects))
    } else {
        (addresses(context, memory, space)?, None)
    };
    let words = bytes.div_ceil(4) as usize;
    // Counting operations have no operand.
    let data = if context.has(Mod::POPC) || context.has(Mod::ARRIVE) {
        [[0; 32]; 4]
    } else {
        registers(context, memory + 1, words)?
    };
    let other = if swap || test { registers(context, memory + 2, words)? } else { data };
    let mut parts = vec![[0; 32]; words];
    let mut succeeded = 0;
    each_active(context, |context, lane| {
        let pick = |data: &[[u32; 32]; 4]| wide(std::array::from_fn(|part| data[part][lane]));
        let (first, second) = (pick(&data), pick(&other));
        let old = wide(load_words(place(context, lane, space, addresses[lane], bytes)?));
        let new = if swap || test {
            if old == first { second } else { old }
        } else {
            combine(context, kind, old, first)?
        };
        let stored = std::array::from_fn(|part| (new >> (32 * part)) as u32);
        store_words(place(context, lane, space, addresses[lane], bytes)?, &stored);
        if let Some(objects) = told {
            context.complete_transfer(objects[lane], bytes)?;
        }
        succeeded |= u32::from(old == first) << lane;
        // The testing form returns one for success instead of the old value.
        let result = if test { u128::from(old == first) } else { old };
        for (part, values) in parts.iter_mut().enumerate() {
            values[lane] = (result >> (32 * part)) as u32;
        }
        Ok(())
    })?;
    if op == Op::ATOM && !test {
        // Reports whether the memory supports the operation. All simulated memory does; code for addresses that may be
        // in local memory falls back to a load and a store.
        context.write_predicate(0, u32::MAX)?;
    }
    if memory > 0 && test && context.is_predicate(memory - 1) {
        // Newer chips return it in a predicate.
        context.write_predicate(memory - 1, succeeded)?;
    } else if memory > 0 {
        context.write_tuple(memory - 1, &parts)?;
    }
    Ok(())
}
