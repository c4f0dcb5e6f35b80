//! Votes, shuffles, matches and reductions over the lanes of the group.

use super::context::{Context, mask_of};
use super::float::Extreme;
use crate::launch::Fault;
use crate::number::F32;
use crate::warp::{Lanes, bits};
use oriole_sass::{Mod, Op, OperandKind};

pub(super) fn execute(context: &mut Context) -> Result<(), Fault> {
    match context.instruction.op {
        Op::VOTE | Op::VOTEU => vote(context),
        Op::MATCH => find_equal(context),
        Op::SHFL => shuffle(context),
        Op::REDUX => reduce(context),
        Op::CREDUX if context.has(Mod::F32) => reduce_singles(context),
        Op::CREDUX => reduce(context),
        Op::ELECT => elect(context),
        _ => Err(context.refuse()),
    }
}

fn vote(context: &mut Context) -> Result<(), Fault> {
    let last = context.count() - 1;
    let active = context.active;
    let holds = context.predicate(last)? & active;
    let result = if context.has(Mod::ALL) {
        holds == active
    } else if context.has(Mod::EQ) {
        holds == active || holds == 0
    } else {
        holds != 0
    };
    // The ballot comes before the predicate; both are optional.
    for index in 0..last {
        if context.is_predicate(index) {
            context.write_predicate(index, if result { u32::MAX } else { 0 })?;
        } else {
            context.write(index, &[holds; 32])?;
        }
    }
    Ok(())
}

fn find_equal(context: &mut Context) -> Result<(), Fault> {
    let all = context.has(Mod::ALL);
    let last = context.count() - 1;
    let active = context.active;
    let values =
        if context.has(Mod::U64) { context.raw_wide(last)? } else { context.raw(last)?.map(u64::from) };
    let equal: Lanes = std::array::from_fn(|lane| mask_of(|other| values[other] == values[lane]) & active);
    for index in 0..last {
        if context.is_predicate(index) {
            context.write_predicate(index, mask_of(|lane| equal[lane] == active))?;
        } else if all {
            context.write(index, &equal.map(|mask| if mask == active { mask } else { 0 }))?;
        } else {
            context.write(index, &equal)?;
        }
    }
    Ok(())
}

fn shuffle(context: &mut Context) -> Result<(), Fault> {
    let [value, b, c] = [context.integer(2)?, context.integer(3)?, context.integer(4)?];
    let active = context.active;
    let mut inside = 0;
    let result: Lanes = std::array::from_fn(|lane| {
        let clamp = c[lane] & 31;
        let segment = c[lane] >> 8 & 31;
        let here = lane as u32;
        let step = b[lane] & 31;
        let greatest = (here & segment) | (clamp & !segment);
        let least = here & segment;
        let (from, good) = if context.has(Mod::UP) {
            let from = here.wrapping_sub(step) as i32;
            (from, from >= greatest as i32)
        } else if context.has(Mod::DOWN) {
            ((here + step) as i32, here + step <= greatest)
        } else if context.has(Mod::BFLY) {
            ((here ^ step) as i32, here ^ step <= greatest)
        } else {
            let from = least | (step & !segment);
            (from as i32, from <= greatest)
        };
        let from = if good { from as usize & 31 } else { lane };
        inside |= u32::from(good) << lane;
        // An inactive lane has no defined input; its own register is as good as any.
        if active >> from & 1 == 1 { value[from] } else { value[lane] }
    });
    context.write_predicate(0, inside)?;
    context.write(1, &result)
}

fn reduce(context: &mut Context) -> Result<(), Fault> {
    let values = context.integer(1)?;
    let signed = context.has(Mod::S32);
    let chosen = bits(context.active).map(|lane| values[lane]);
    let result = if context.has(Mod::SUM) {
        chosen.fold(0, u32::wrapping_add)
    } else if context.has(Mod::OR) {
        chosen.fold(0, |a, b| a | b)
    } else if context.has(Mod::XOR) {
        chosen.fold(0, |a, b| a ^ b)
    } else if context.has(Mod::MIN) {
        if signed { chosen.map(|x| x as i32).min().unwrap_or(0) as u32 } else { chosen.min().unwrap_or(0) }
    } else if context.has(Mod::MAX) {
        if signed { chosen.map(|x| x as i32).max().unwrap_or(0) as u32 } else { chosen.max().unwrap_or(0) }
    } else {
        chosen.fold(u32::MAX, |a, b| a & b)
    };
    context.write(0, &[result; 32])
}

/// `CREDUX.F32`: the min or max of f32 values, or of their magnitudes.
fn reduce_singles(context: &mut Context) -> Result<(), Fault> {
    let values = context.single(1, false)?;
    let minimum = context.has(Mod::MIN) || context.has(Mod::MINABS);
    let kept = if context.has(Mod::MINABS) || context.has(Mod::MAXABS) { !F32.sign() } else { u64::MAX };
    let rules = Extreme::of(context);
    let result = bits(context.active)
        .map(|lane| u64::from(values[lane]) & kept)
        .reduce(|a, b| rules.choose(F32, a, b, minimum, 0))
        .unwrap_or(0);
    // A lone NaN becomes canonical as well.
    let result = if F32.is_nan(result) { F32.not_a_number() } else { result };
    context.write(0, &[result as u32; 32])
}

/// One active lane is elected: the lowest.
fn elect(context: &mut Context) -> Result<(), Fault> {
    let among = match context.kind(2)? {
        OperandKind::UReg(_) => context.integer(2)?[0],
        _ => context.predicate(2)?,
    } & context.active;
    let leader = if among == 0 { 0 } else { among.trailing_zeros() };
    context.write_predicate(0, if among == 0 { 0 } else { 1 << leader })?;
    context.write(1, &[leader; 32])
}
