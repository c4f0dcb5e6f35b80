//! Integer arithmetic, logic, shifts, comparisons and moves of both datapaths. An instruction of the uniform datapath
//! is executed as its vector counterpart on operands that are the same in every lane.

use super::context::{Context, mask_of};
use crate::launch::Fault;
use crate::warp::{Lanes, WideLanes};
use oriole_sass::register::PT;
use oriole_sass::{Mod, Op, OperandKind};

pub(super) fn execute(context: &mut Context) -> Result<(), Fault> {
    use Op::*;
    match context.instruction.op {
        IADD3 | UIADD3 => add3(context),
        IADD => add2(context),
        IMAD | UIMAD => multiply_add(context),
        LEA | ULEA => shifted_add(context),
        LOP3 | ULOP3 => logic(context),
        PLOP3 | UPLOP3 => predicate_logic(context),
        SHF | USHF => funnel_shift(context),
        PRMT | UPRMT => permute(context),
        IABS => context.map2([1, 1], |a, _| (a as i32).unsigned_abs()),
        ISETP | UISETP => compare(context),
        SEL | USEL => select(context),
        SGXT | USGXT => sign_extend(context),
        BMSK | UBMSK => bit_mask(context),
        FLO | UFLO => find_leading_one(context),
        POPC | UPOPC => context.map2([1, 1], |a, _| a.count_ones()),
        BREV | UBREV => context.map2([1, 1], |a, _| a.reverse_bits()),
        MOV | UMOV if context.has(Mod::_64) => {
            let values = long(context, 1)?;
            context.write_wide(0, &values)
        }
        MOV | UMOV => context.map2([1, 1], |a, _| a),
        CLMAD => multiply_without_carries(context),
        R2UR => to_uniform(context),
        P2R | UP2UR => predicates_to_register(context),
        R2P | UR2UP => register_to_predicates(context),
        _ => Err(context.refuse()),
    }
}

/// Half of a carry-less multiply, and a carry-less add of a third operand.
fn multiply_without_carries(context: &mut Context) -> Result<(), Fault> {
    let [a, b, c] = [context.raw_wide(1)?, context.raw_wide(2)?, context.raw_wide(3)?];
    let result = std::array::from_fn(|lane| {
        let (mut low, mut high) = (0u64, 0u64);
        for place in 0..64 {
            if b[lane] >> place & 1 == 1 {
                low ^= a[lane] << place;
                high ^= a[lane].checked_shr(64 - place).unwrap_or(0);
            }
        }
        c[lane] ^ if context.has(Mod::HI) { high } else { low }
    });
    context.write_wide(0, &result)
}

/// Three addends. A negated one is its complement plus one, so that carries equal those of the hardware's single adder;
/// with `.X` complements have no extra one, but two carries come in.
fn add3(context: &mut Context) -> Result<(), Fault> {
    let extended = context.has(Mod::X);
    let wide = context.has(Mod::_64);
    let carries = if extended { [context.predicate(6)?, context.predicate(7)?] } else { [0; 2] };
    let mut sums = [0u128; 32];
    for index in 3..6 {
        let values = if wide { context.raw_wide(index)? } else { context.raw(index)?.map(u64::from) };
        let operand = &context.instruction.operands[index];
        let limit = if wide { u64::MAX } else { u64::from(u32::MAX) };
        for lane in 0..32 {
            let complement = operand.negate || operand.invert;
            let value = if complement { !values[lane] & limit } else { values[lane] };
            sums[lane] += u128::from(value) + u128::from(operand.negate);
        }
    }
    for (lane, sum) in sums.iter_mut().enumerate() {
        *sum += carries.iter().map(|carry| u128::from(carry >> lane & 1)).sum::<u128>();
    }
    let width = if wide { 64 } else { 32 };
    context.write_predicate(1, mask_of(|lane| sums[lane] >> width >= 1))?;
    context.write_predicate(2, mask_of(|lane| sums[lane] >> width >= 2))?;
    if wide {
        context.write_wide(0, &sums.map(|sum| sum as u64))
    } else {
        context.write(0, &sums.map(|sum| sum as u32))
    }
}

/// The bits of a 64-bit operand in every lane, without its signs; an immediate is the whole value.
fn long(context: &Context, index: usize) -> Result<WideLanes, Fault> {
    match context.kind(index)? {
        OperandKind::Imm(value) => Ok([value as u64; 32]),
        _ => context.raw_wide(index),
    }
}

/// `IADD`: two addends of 32 or 64 bits, negated as in `add3`. The carry goes to a predicate if there is one.
fn add2(context: &mut Context) -> Result<(), Fault> {
    let wide = context.has(Mod::_64);
    let first = if context.is_predicate(1) { 2 } else { 1 };
    let carry = if context.has(Mod::X) { context.predicate(first + 2)? } else { 0 };
    let (width, limit) = if wide { (64, u64::MAX) } else { (32, u64::from(u32::MAX)) };
    let mut sums: [u128; 32] = std::array::from_fn(|lane| u128::from(carry >> lane & 1));
    for index in [first, first + 1] {
        let values = long(context, index)?;
        let operand = &context.instruction.operands[index];
        let (complement, one) = (operand.negate || operand.invert, u128::from(operand.negate));
        for (sum, value) in sums.iter_mut().zip(values) {
            *sum += u128::from(if complement { !value } else { value } & limit) + one;
        }
    }
    if first == 2 {
        context.write_predicate(1, mask_of(|lane| sums[lane] >> width != 0))?;
    }
    if wide {
        context.write_wide(0, &sums.map(|sum| sum as u64))
    } else {
        context.write(0, &sums.map(|sum| sum as u32))
    }
}

/// An addend as its bits and whether one is added: complements for negation, as in `add3`.
fn addend(context: &Context, index: usize, wide: bool) -> Result<(WideLanes, u64), Fault> {
    let operand = &context.instruction.operands[index];
    let limit = if wide { u64::MAX } else { u64::from(u32::MAX) };
    let values = if wide { context.raw_wide(index)? } else { context.raw(index)?.map(u64::from) };
    let complement = operand.negate || operand.invert;
    Ok((if complement { values.map(|x| !x & limit) } else { values }, u64::from(operand.negate)))
}

fn multiply_add(context: &mut Context) -> Result<(), Fault> {
    let (wide, high) = (context.has(Mod::WIDE), context.has(Mod::HI));
    let signed = !context.has(Mod::U32);
    let first = if wide || high { 2 } else { 1 };
    let (a, b) = (context.integer(first)?, context.integer(first + 1)?);
    let (c, one) = addend(context, first + 2, wide || high)?;
    let carry = if context.has(Mod::X) { context.predicate(first + 3)? } else { 0 };
    let product: WideLanes = std::array::from_fn(|lane| {
        if signed {
            (i64::from(a[lane] as i32) * i64::from(b[lane] as i32)) as u64
        } else {
            u64::from(a[lane]) * u64::from(b[lane])
        }
    });
    let sum: [u128; 32] = std::array::from_fn(|lane| {
        u128::from(product[lane]) + u128::from(c[lane]) + u128::from(one) + u128::from(carry >> lane & 1)
    });
    if wide || high {
        context.write_predicate(1, mask_of(|lane| sum[lane] >> 64 != 0))?;
    }
    if wide {
        context.write_wide(0, &sum.map(|x| x as u64))
    } else if high {
        context.write(0, &sum.map(|x| (x >> 32) as u32))
    } else {
        context.write(0, &sum.map(|x| x as u32))
    }
}

/// `(a << s) + b`, or with `.HI` the upper half of the shifted pair `{c, a}` plus `b`.
fn shifted_add(context: &mut Context) -> Result<(), Fault> {
    let high = context.has(Mod::HI);
    let sign = context.has(Mod::SX32);
    let a = context.raw(2)?;
    let (b, b_one) = addend(context, 3, false)?;
    let upper = if high && !sign { Some(context.raw(4)?) } else { None };
    let at = if upper.is_some() { 5 } else { 4 };
    let OperandKind::Imm(shift) = context.kind(at)? else { return Err(context.refuse()) };
    let carry = if context.has(Mod::X) { context.predicate(at + 1)? } else { 0 };
    let operand = &context.instruction.operands[2];
    let (negate, invert) = (operand.negate, operand.invert);
    let sum: WideLanes = std::array::from_fn(|lane| {
        let top = match &upper {
            Some(upper) => upper[lane],
            None if sign => ((a[lane] as i32) >> 31) as u32,
            None => 0,
        };
        let pair = (u64::from(top) << 32 | u64::from(a[lane])) << (shift as u32 & 31);
        let part = if high { (pair >> 32) as u32 } else { pair as u32 };
        let (part, one) = if negate || invert { (!part, u64::from(negate)) } else { (part, 0) };
        u64::from(part) + one + b[lane] + b_one + u64::from(carry >> lane & 1)
    });
    context.write_predicate(1, mask_of(|lane| sum[lane] >> 32 != 0))?;
    context.write(0, &sum.map(|x| x as u32))
}

/// The bitwise function with this truth table; bit `4a + 2b + c` of the table is its value.
fn lookup(table: u32, a: u32, b: u32, c: u32) -> u32 {
    (0..8).filter(|row| table >> row & 1 == 1).fold(0, |result, row| {
        let pick = |bit: u32, value: u32| if row >> bit & 1 == 1 { value } else { !value };
        result | pick(2, a) & pick(1, b) & pick(0, c)
    })
}

fn immediate(context: &Context, index: usize) -> Result<u32, Fault> {
    match context.kind(index)? {
        OperandKind::Imm(value) => Ok(value as u32),
        _ => Err(context.refuse()),
    }
}

fn logic(context: &mut Context) -> Result<(), Fault> {
    let [a, b, c] = [context.integer(2)?, context.integer(3)?, context.integer(4)?];
    let table = immediate(context, 5)?;
    let other = context.predicate(6)?;
    let result: Lanes = std::array::from_fn(|lane| lookup(table, a[lane], b[lane], c[lane]));
    let nonzero = mask_of(|lane| result[lane] != 0);
    let holds = if context.has(Mod::PAND) { nonzero & other } else { nonzero | other };
    context.write_predicate(0, holds)?;
    context.write(1, &result)
}

/// Two predicates from three, each by a truth table of its own; a register counts by its sign.
fn predicate_logic(context: &mut Context) -> Result<(), Fault> {
    let mut inputs = [0; 3];
    for (slot, input) in inputs.iter_mut().enumerate() {
        *input = if context.is_predicate(slot + 2) {
            context.predicate(slot + 2)?
        } else {
            let values = context.integer(slot + 2)?;
            mask_of(|lane| values[lane] >> 31 == 1)
        };
    }
    let [a, b, c] = inputs;
    let tables = [immediate(context, 5)?, immediate(context, 6)?];
    for (slot, table) in tables.into_iter().enumerate() {
        context.write_predicate(slot, lookup(table, a, b, c))?;
    }
    Ok(())
}

/// Shifts the pair `{c, a}` by `b` and keeps one half.
fn funnel_shift(context: &mut Context) -> Result<(), Fault> {
    let (right, high, wrap) = (context.has(Mod::R), context.has(Mod::HI), context.has(Mod::W));
    let long = context.has(Mod::U64) || context.has(Mod::S64);
    let signed = context.has(Mod::S32) || context.has(Mod::S64);
    let limit = if long { 64 } else { 32 };
    let [a, b, c] = [context.integer(1)?, context.integer(2)?, context.integer(3)?];
    let result: Lanes = std::array::from_fn(|lane| {
        let shift = if wrap { b[lane] & (limit - 1) } else { b[lane].min(limit) };
        let pair = u64::from(c[lane]) << 32 | u64::from(a[lane]);
        let shifted = match (right, signed) {
            (false, _) => (u128::from(pair) << shift) as u64,
            (true, false) => (u128::from(pair) >> shift) as u64,
            (true, true) => (i128::from(pair as i64) >> shift) as u64,
        };
        if high { (shifted >> 32) as u32 } else { shifted as u32 }
    });
    context.write(0, &result)
}

/// Picks four bytes of the pair `{c, a}`.
fn permute(context: &mut Context) -> Result<(), Fault> {
    let [a, b, c] = [context.integer(1)?, context.integer(2)?, context.integer(3)?];
    let mode = [Mod::F4E, Mod::B4E, Mod::RC8, Mod::ECL, Mod::ECR, Mod::RC16]
        .into_iter()
        .find(|&mode| context.has(mode));
    let result: Lanes = std::array::from_fn(|lane| {
        let pair = u64::from(c[lane]) << 32 | u64::from(a[lane]);
        let selector = b[lane];
        (0..4).fold(0, |word, place| {
            let number = selector & 3;
            let (index, sign) = match mode {
                None => (selector >> (4 * place) & 7, selector >> (4 * place + 3) & 1 == 1),
                Some(Mod::F4E) => ((number + place) & 7, false),
                Some(Mod::B4E) => ((number + 8 - place) & 7, false),
                Some(Mod::RC8) => (number, false),
                Some(Mod::ECL) => (number.max(place), false),
                Some(Mod::ECR) => (number.min(place), false),
                _ => ((number & 1) * 2 + (place & 1), false),
            };
            let byte = (pair >> (8 * index)) as u8;
            let byte = if sign { if byte >> 7 == 1 { 0xff } else { 0 } } else { byte };
            word | u32::from(byte) << (8 * place)
        })
    });
    context.write(0, &result)
}

/// The Boolean operation that combines a comparison with an earlier predicate.
pub(super) fn join(context: &Context, result: u32, other: u32) -> u32 {
    if context.has(Mod::OR) {
        result | other
    } else if context.has(Mod::XOR) {
        result ^ other
    } else {
        result & other
    }
}

fn compare(context: &mut Context) -> Result<(), Fault> {
    let (unsigned, wide) = (context.has(Mod::U32), context.has(Mod::U64) || context.has(Mod::S64));
    let number = |index: usize| -> Result<[i128; 32], Fault> {
        Ok(match (wide, unsigned || context.has(Mod::U64)) {
            (true, true) => long(context, index)?.map(i128::from),
            (true, false) => long(context, index)?.map(|bits| i128::from(bits as i64)),
            (false, true) => context.integer(index)?.map(i128::from),
            (false, false) => context.integer(index)?.map(|bits| i128::from(bits as i32)),
        })
    };
    let [a, b] = [number(2)?, number(3)?];
    let other = context.predicate(4)?;
    let lower = if context.has(Mod::EX) { Some(context.predicate(5)?) } else { None };
    let modes = [Mod::F, Mod::LT, Mod::EQ, Mod::LE, Mod::GT, Mod::NE, Mod::GE, Mod::T];
    let mode = modes.into_iter().find(|&mode| context.has(mode)).ok_or_else(|| context.refuse())?;
    let result = mask_of(|lane| {
        let order = a[lane].cmp(&b[lane]);
        // Equal upper halves leave the decision to the comparison of the lower ones.
        let equal_lower = |value: bool| lower.map_or(value, |mask| mask >> lane & 1 == 1);
        match mode {
            Mod::F => false,
            Mod::T => true,
            Mod::EQ => order.is_eq() && equal_lower(true),
            Mod::NE => order.is_ne() || equal_lower(false),
            Mod::LT => order.is_lt() || (order.is_eq() && equal_lower(false)),
            Mod::LE => order.is_lt() || (order.is_eq() && equal_lower(true)),
            Mod::GT => order.is_gt() || (order.is_eq() && equal_lower(false)),
            _ => order.is_gt() || (order.is_eq() && equal_lower(true)),
        }
    });
    let first = join(context, result, other);
    let second = join(context, !result, other);
    context.write_predicate(0, first)?;
    context.write_predicate(1, second)
}

fn select(context: &mut Context) -> Result<(), Fault> {
    if context.has(Mod::_64) {
        let [a, b] = [long(context, 1)?, long(context, 2)?];
        let choice = context.predicate(3)?;
        let chosen = |lane: usize| if choice >> lane & 1 == 1 { a[lane] } else { b[lane] };
        return context.write_wide(0, &std::array::from_fn(chosen));
    }
    let [a, b] = [context.integer(1)?, context.integer(2)?];
    let choice = context.predicate(3)?;
    context.write(0, &std::array::from_fn(|lane| if choice >> lane & 1 == 1 { a[lane] } else { b[lane] }))
}

fn sign_extend(context: &mut Context) -> Result<(), Fault> {
    let (unsigned, wrap) = (context.has(Mod::U32), context.has(Mod::W));
    context.map2([1, 2], |value, bits| {
        let bits = if wrap { bits & 31 } else { bits.min(32) };
        if bits == 0 {
            0
        } else if unsigned {
            value << (32 - bits) >> (32 - bits)
        } else {
            ((value << (32 - bits)) as i32 >> (32 - bits)) as u32
        }
    })
}

fn bit_mask(context: &mut Context) -> Result<(), Fault> {
    let wrap = context.has(Mod::W);
    context.map2([1, 2], |start, width| {
        let (start, width) = if wrap { (start & 31, width & 31) } else { (start.min(32), width.min(32)) };
        ((((1u128 << width) - 1) << start) & 0xffff_ffff) as u32
    })
}

fn find_leading_one(context: &mut Context) -> Result<(), Fault> {
    let (unsigned, shift) = (context.has(Mod::U32), context.has(Mod::SH));
    let a = context.integer(2)?;
    let found = a.map(|value| {
        let value = if !unsigned && value >> 31 == 1 { !value } else { value };
        let leading = value.leading_zeros();
        if leading == 32 {
            u32::MAX
        } else if shift {
            leading
        } else {
            31 - leading
        }
    });
    context.write_predicate(1, mask_of(|lane| found[lane] != u32::MAX))?;
    context.write(0, &found)
}

/// The value of one lane, and the lanes with another one. For multi-word values, later words add to that.
fn to_uniform(context: &mut Context) -> Result<(), Fault> {
    let values = context.integer(2)?;
    let first = context.active.trailing_zeros() as usize & 31;
    let mut differs = mask_of(|lane| values[lane] != values[first]);
    if context.has(Mod::OR) {
        differs |= match context.kind(0)? {
            OperandKind::Pred(register) => context.warp().predicates[usize::from(register)],
            _ => return Err(context.refuse()),
        };
    }
    context.write_predicate(0, differs)?;
    context.write(1, &values)
}

/// The byte of a `B1..B3`, as a shift.
fn byte_shift(has: impl Fn(Mod) -> bool) -> u32 {
    [Mod::B1, Mod::B2, Mod::B3].into_iter().position(has).map_or(0, |byte| 8 * (byte as u32 + 1))
}

fn predicates_to_register(context: &mut Context) -> Result<(), Fault> {
    let shift = byte_shift(|byte| context.has(byte));
    let uniform = context.instruction.op == Op::UP2UR;
    let [a, mask] = [context.integer(2)?, context.integer(3)?];
    let warp = context.warp();
    let result: Lanes = std::array::from_fn(|lane| {
        let predicates = if uniform {
            u32::from(warp.uniform_predicates & 0x7f)
        } else {
            (0..usize::from(PT))
                .fold(0, |bits, register| bits | (warp.predicates[register] >> lane & 1) << register)
        };
        let mask = mask[lane] & 0xff;
        (a[lane] & !(mask << shift)) | (predicates & mask) << shift
    });
    context.write(0, &result)
}

fn register_to_predicates(context: &mut Context) -> Result<(), Fault> {
    let shift = byte_shift(|byte| context.instruction.operands[1].has(byte));
    let uniform = context.instruction.op == Op::UR2UP;
    let [a, mask] = [context.integer(1)?, context.integer(2)?];
    let active = context.active;
    for register in 0..PT {
        let chosen = mask_of(|lane| mask[lane] >> register & 1 == 1) & active;
        let holds = mask_of(|lane| a[lane] >> (shift + u32::from(register)) & 1 == 1);
        if uniform {
            if chosen != 0 {
                context
                    .warp_mut()
                    .write_uniform_predicate(register, holds >> chosen.trailing_zeros() & 1 == 1);
            }
        } else {
            context.warp_mut().write_predicate(register, chosen, holds);
        }
    }
    Ok(())
}
