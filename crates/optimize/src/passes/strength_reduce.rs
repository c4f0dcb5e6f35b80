//! Phase 21, OriStrengthReduce: quotients and remainders by constants become shifts, masks, and multiplies by scaled
//! reciprocals.
//!
//! For a divisor d that is not a power of two, m = ceil(2^p / d) with an error `m*d - 2^p` of at most `2^(p-w)` gives
//! `floor(n / d) = floor(m*n / 2^p)` for every n of w bits (Granlund and Montgomery). Where the smallest such m has one
//! bit too many, the missing bit is added by hand: `(((n - h) >> 1) + h) >> (l-1)`. Signed quotients take a p that is
//! right for magnitudes up to 2^(w-1), and add one for negative dividends. Remainders are `n - q*d`.
//!
//! Works in SSA and outside it: a register counts as constant if its only definition, without a guard, is one.

use oriole_options::Optimization;
use oriole_ori::{
    Allowance, Builder, Destination, File, FormChange, Function, Instruction, Opcode, Origin, Outcome, Pass,
    Pseudo, Source, SourceKind, Value,
};
use oriole_sass::{Mod, Op};
use typed_index_collections::{TiSlice, TiVec, ti_vec};

/// The pass.
pub static PASS: Pass = Pass {
    form: FormChange::OutsideSsa,
    optimization: Some(Optimization::StrengthReduction),
    ..Pass::new(|function, context| Outcome::changed_if(run_within(function, context.allowance)))
};

/// Replaces operations by cheaper ones. True if there was one.
pub fn run(function: &mut Function) -> bool {
    run_within(function, None)
}

fn run_within(function: &mut Function, allowance: Option<&Allowance>) -> bool {
    let mut changed = false;
    let constants = constants(function);
    for id in function.block_ids() {
        let wanted = |i: &Instruction| reducible(i, &constants).is_some();
        if !function.block(id).instructions.iter().any(wanted) {
            continue;
        }
        changed = true;
        let instructions = std::mem::take(&mut function.block_mut(id).instructions);
        let mut builder = Builder::new(function, id, Origin(0));
        for instruction in instructions {
            match reducible(&instruction, &constants) {
                Some(division) if Allowance::allows(allowance) => {
                    reduce(&mut builder, &instruction, division)
                }
                _ => builder.push(instruction),
            }
        }
    }
    changed
}

/// The constant in each register whose only definition is a constant.
fn constants(function: &Function) -> TiVec<Value, Option<u32>> {
    #[derive(Clone, Copy)]
    enum Known {
        Nothing,
        Word(u32),
        Same(Value),
    }
    let mut known: TiVec<Value, Known> = ti_vec![Known::Nothing; function.values.len()];
    let mut defined: TiVec<Value, bool> = ti_vec![false; function.values.len()];
    for block in &function.blocks {
        for phi in &block.phis {
            defined[phi.destination] = true;
        }
        for instruction in &block.instructions {
            let what = match (instruction.opcode, instruction.sources.as_slice()) {
                (Opcode::Sass(Op::MOV) | Opcode::Pseudo(Pseudo::Copy), [source, ..])
                    if instruction.guard.is_none() =>
                {
                    match source.kind {
                        SourceKind::Imm(bits) if !source.negate && !source.invert => Known::Word(bits),
                        SourceKind::Zero(_) => Known::Word(0),
                        _ => source.as_plain_value().map_or(Known::Nothing, Known::Same),
                    }
                }
                _ => Known::Nothing,
            };
            instruction.for_each_definition(|value| {
                let again = std::mem::replace(&mut defined[value], true);
                known[value] = if again || function.file(value) != File::R { Known::Nothing } else { what };
            });
        }
    }
    // A second definition found late must also invalidate copies of the value: chains are followed afterwards.
    known
        .iter()
        .map(|&what| {
            let mut at = what;
            for _ in 0..8 {
                match at {
                    Known::Nothing => return None,
                    Known::Word(word) => return Some(word),
                    Known::Same(value) => at = known[value],
                }
            }
            None
        })
        .collect()
}

/// A quotient or remainder by a constant.
#[derive(Clone, Copy)]
struct Division {
    /// 32 or 64.
    width: u32,
    signed: bool,
    rest: bool,
    /// The divisor, extended to 64 bits by its signedness.
    divisor: i128,
}

fn reducible(instruction: &Instruction, constants: &TiSlice<Value, Option<u32>>) -> Option<Division> {
    let rest = match instruction.opcode {
        Opcode::Pseudo(Pseudo::Divide) => false,
        Opcode::Pseudo(Pseudo::Remainder) => true,
        _ => return None,
    };
    let has = |m: Mod| instruction.mods.has(m);
    let width = if has(Mod::U64) || has(Mod::S64) { 64 } else { 32 };
    let signed = has(Mod::S32) || has(Mod::S64);
    let words = width as usize / 32;
    let bits = match &instruction.sources[1].kind {
        SourceKind::Values(values) if values.len() == words => {
            let mut bits = 0u64;
            for (place, value) in values.iter().enumerate() {
                bits |= u64::from(constants[*value]?) << (32 * place);
            }
            bits
        }
        SourceKind::Imm(word) if signed => i64::from(*word as i32) as u64,
        SourceKind::Imm(word) => u64::from(*word),
        _ => return None,
    };
    let divisor = match (width, signed) {
        (32, false) => i128::from(bits as u32),
        (32, true) => i128::from(bits as u32 as i32),
        (_, false) => i128::from(bits),
        (_, true) => i128::from(bits as i64),
    };
    // A division by zero keeps the result of the general sequence.
    (divisor != 0).then_some(Division { width, signed, rest, divisor })
}

/// Emits the sequence; a guard is applied to the last copies.
fn reduce(builder: &mut Builder<'_>, instruction: &Instruction, division: Division) {
    builder.set_origin(instruction.origin);
    let Some(destination) = instruction.destinations.first() else { return };
    let dividend = &instruction.sources[0];
    let result = if division.width == 32 {
        let n = register(builder, dividend);
        vec![divide_32(builder, n, division)]
    } else {
        let n = match &dividend.kind {
            SourceKind::Values(values) => [values[0], values[1]],
            _ => {
                let pair = builder.pair();
                let zero = |b: &mut Builder<'_>, v| b.op(Pseudo::Copy).to(v).from(Source::rz()).emit();
                zero(builder, pair[0]);
                zero(builder, pair[1]);
                pair
            }
        };
        divide_64(builder, n, division).to_vec()
    };
    for (index, (&to, from)) in destination.values.iter().zip(result).enumerate() {
        let mut copy = Instruction::new(Pseudo::Copy, instruction.origin);
        copy.guard = instruction.guard;
        copy.destinations.push(Destination::new(File::R, [to]));
        copy.sources.push(from.into());
        copy.tied.extend(instruction.tied.get(index).copied());
        builder.push(copy);
    }
}

fn register(b: &mut Builder<'_>, source: &Source) -> Value {
    source.as_plain_value().unwrap_or_else(|| {
        let d = b.r();
        b.mov(d, source.clone());
        d
    })
}

/// The multiplier m < 2^w and p with `floor(n*m / 2^p) = floor(n / d)` for all n below `2^bits`; `None` if m needs a
/// bit more.
fn multiplier(d: u128, width: u32, bits: u32) -> Option<(u128, u32)> {
    (width..2 * width).find_map(|p| {
        let power = 1u128 << p;
        let m = power.div_ceil(d);
        let error = m * d - power;
        (m < 1 << width && error <= 1 << (p - bits)).then_some((m, p))
    })
}

/// The multiplier without its top bit, and l, for the sequence that adds the missing bit.
fn long_multiplier(d: u128, width: u32) -> (u128, u32) {
    let l = 128 - (d - 1).leading_zeros();
    // 2^w * (2^l - d) / d + 1, where 2^l - d < d.
    (((1u128 << width) * ((1u128 << l) - d)) / d + 1, l)
}

fn divide_32(b: &mut Builder<'_>, n: Value, division: Division) -> Value {
    let magnitude = division.divisor.unsigned_abs();
    let negative = division.divisor < 0;
    let k = magnitude.trailing_zeros();
    let power = magnitude.is_power_of_two();
    if power && !division.signed {
        let d = b.r();
        if division.rest {
            b.and(d, n, (magnitude - 1) as u32);
        } else {
            b.shr(d, n, k);
        }
        return d;
    }
    let quotient = if power && k == 0 {
        n
    } else if power {
        // Negative dividends are raised by d - 1, so that the shift rounds towards zero.
        let [sign, raise, sum, q] = [b.r(), b.r(), b.r(), b.r()];
        b.sar(sign, n, 31u32);
        b.shr(raise, sign, 32 - k);
        b.iadd3(sum, n, raise, Source::rz());
        b.sar(q, sum, k);
        q
    } else if division.signed {
        // Magnitudes are at most 2^31, so a 31-bit multiplier suffices and one always fits 32 bits.
        let (m, p) = multiplier(magnitude, 32, 31).unwrap_or((0, 32));
        let [mut high, factor] = [b.r(), b.r()];
        b.mov(factor, m as u32);
        b.imad_hi(high, false, n, factor, Source::rz());
        if m >= 1 << 31 {
            // As a signed factor m is m - 2^32: add the dividend back.
            let sum = b.r();
            b.iadd3(sum, high, n, Source::rz());
            high = sum;
        }
        let [shifted, sign, q] = [b.r(), b.r(), b.r()];
        b.sar(shifted, high, p - 32);
        b.shr(sign, n, 31u32);
        b.iadd3(q, shifted, sign, Source::rz());
        q
    } else if let Some((m, p)) = multiplier(magnitude, 32, 32) {
        let [factor, high, q] = [b.r(), b.r(), b.r()];
        b.mov(factor, m as u32);
        b.imad_hi(high, true, n, factor, Source::rz());
        b.shr(q, high, p - 32);
        q
    } else {
        let (m, l) = long_multiplier(magnitude, 32);
        let [factor, high, less, half, sum, q] = [b.r(), b.r(), b.r(), b.r(), b.r(), b.r()];
        b.mov(factor, m as u32);
        b.imad_hi(high, true, n, factor, Source::rz());
        b.iadd3(less, n, Source::from(high).negated(), Source::rz());
        b.shr(half, less, 1u32);
        b.iadd3(sum, half, high, Source::rz());
        b.shr(q, sum, l - 1);
        q
    };
    if division.rest {
        // The remainder does not know the sign of the divisor.
        let [factor, d] = [b.r(), b.r()];
        b.mov(factor, (magnitude as u32).wrapping_neg());
        b.imad(d, quotient, factor, n);
        return d;
    }
    if !negative {
        return quotient;
    }
    let d = b.r();
    b.iadd3(d, Source::rz(), Source::from(quotient).negated(), Source::rz());
    d
}

type Pair = [Value; 2];

fn wide(b: &mut Builder<'_>, op: Pseudo, mods: &[Mod], sources: [Source; 2]) -> Pair {
    let d = b.pair();
    b.op(op).mods(mods).to_tuple(d).from_all(sources).emit();
    d
}

fn constant_64(b: &mut Builder<'_>, bits: u64) -> Pair {
    let d = b.pair();
    b.mov(d[0], bits as u32);
    b.mov(d[1], (bits >> 32) as u32);
    d
}

fn divide_64(b: &mut Builder<'_>, n: Pair, division: Division) -> Pair {
    let magnitude = division.divisor.unsigned_abs();
    let k = magnitude.trailing_zeros();
    let power = magnitude.is_power_of_two();
    if power && !division.signed {
        if division.rest {
            let mask = constant_64(b, (magnitude - 1) as u64);
            let d = b.pair();
            b.op(Pseudo::Logic64)
                .to_tuple(d)
                .from(n)
                .from(mask)
                .from(Source::rz())
                .from(Source::literal(0xc0))
                .emit();
            return d;
        }
        return wide(b, Pseudo::Shr64, &[Mod::U64], [n.into(), Source::imm(k)]);
    }
    let quotient = if power && k == 0 {
        n
    } else if power {
        let sign = wide(b, Pseudo::Shr64, &[Mod::S64], [n.into(), Source::imm(63)]);
        let raise = wide(b, Pseudo::Shr64, &[Mod::U64], [sign.into(), Source::imm(64 - k)]);
        let sum = wide(b, Pseudo::Add64, &[], [n.into(), raise.into()]);
        wide(b, Pseudo::Shr64, &[Mod::S64], [sum.into(), Source::imm(k)])
    } else if division.signed {
        let (m, p) = multiplier(magnitude, 64, 63).unwrap_or((0, 64));
        let factor = constant_64(b, m as u64);
        let mut high = wide(b, Pseudo::MulHi64, &[Mod::S64], [n.into(), factor.into()]);
        if m >= 1 << 63 {
            high = wide(b, Pseudo::Add64, &[], [high.into(), n.into()]);
        }
        let shifted = wide(b, Pseudo::Shr64, &[Mod::S64], [high.into(), Source::imm(p - 64)]);
        let sign = wide(b, Pseudo::Shr64, &[Mod::U64], [n.into(), Source::imm(63)]);
        wide(b, Pseudo::Add64, &[], [shifted.into(), sign.into()])
    } else if let Some((m, p)) = multiplier(magnitude, 64, 64) {
        let factor = constant_64(b, m as u64);
        let high = wide(b, Pseudo::MulHi64, &[Mod::U64], [n.into(), factor.into()]);
        wide(b, Pseudo::Shr64, &[Mod::U64], [high.into(), Source::imm(p - 64)])
    } else {
        let (m, l) = long_multiplier(magnitude, 64);
        let factor = constant_64(b, m as u64);
        let high = wide(b, Pseudo::MulHi64, &[Mod::U64], [n.into(), factor.into()]);
        let less = wide(b, Pseudo::Add64, &[], [n.into(), Source::from(high).negated()]);
        let half = wide(b, Pseudo::Shr64, &[Mod::U64], [less.into(), Source::imm(1)]);
        let sum = wide(b, Pseudo::Add64, &[], [half.into(), high.into()]);
        wide(b, Pseudo::Shr64, &[Mod::U64], [sum.into(), Source::imm(l - 1)])
    };
    if division.rest {
        let factor = constant_64(b, magnitude as u64);
        let back = wide(b, Pseudo::Mul64, &[], [quotient.into(), factor.into()]);
        return wide(b, Pseudo::Add64, &[], [n.into(), Source::from(back).negated()]);
    }
    if division.divisor >= 0 {
        return quotient;
    }
    wide(b, Pseudo::Add64, &[], [Source::rz(), Source::from(quotient).negated()])
}
