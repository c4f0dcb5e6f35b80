//! Folds constant additions into the offset of the address that reads them: 24 bits, signed. The address of a shared
//! variable moves along.
//!
//! Address arithmetic wraps at the width of the base, 64 or 32 bits, on the hardware and here, so the result is the
//! same.

use crate::rewriting::operand_fold::is_low_word;
use crate::rewriting::view::View;
use oriole_ori::pattern::{Alternative, Contest, Cost};
use oriole_ori::{
    Address, AddressPart, Function, Instruction, Opcode, Pseudo, Source, SourceKind, SymbolId, SymbolKind,
    Value, Values, is_legal,
};
use oriole_sass::Op;

/// Offsets that a memory operand holds.
const OFFSETS: std::ops::RangeInclusive<i64> = -0x80_0000..=0x7f_ffff;

/// Most additions that are folded into one operand.
const DEPTH: usize = 8;

/// A base, and the constant that was added to it.
struct Step {
    base: Values,
    symbol: Option<SymbolId>,
    plus: i64,
}

/// Encodings of an address with a constant addend.
static ADDRESS: Contest = Contest {
    name: "an address with a known part",
    alternatives: &[
        Alternative { name: "[R+imm]", cost: Cost::NONE },
        Alternative { name: "the sum in a register", cost: Cost::instruction(1) },
    ],
};

/// Shortens the addresses of an instruction; true if it changed.
pub fn run(view: &View<'_>, i: &mut Instruction) -> bool {
    // A query of the address space reads the base itself.
    if i.opcode == Opcode::Sass(Op::QSPC) {
        return false;
    }
    let mut changed = false;
    for index in 0..i.sources.len() {
        for _ in 0..DEPTH {
            let SourceKind::Address(address) = &i.sources[index].kind else { break };
            let step = match address.base.as_slice() {
                [low, high] => wide(view, *low, *high),
                [value] => narrow(view, *value),
                _ => None,
            };
            let Some(step) = step else { break };
            let shorter = ADDRESS.decide(view.decisions, i.origin, |alternative| match alternative {
                0 => shortened(view, i, index, &step).map(Some),
                _ => Ok(None),
            });
            let Some(Some(shorter)) = shorter else { break };
            *i = shorter;
            changed = true;
        }
    }
    changed
}

/// The instruction with the known part of an address in its offset, or why it cannot be there.
fn shortened(
    view: &View<'_>,
    i: &Instruction,
    index: usize,
    step: &Step,
) -> Result<Instruction, &'static str> {
    let mut shorter = i.clone();
    if let SourceKind::Address(address) = &mut shorter.sources[index].kind {
        let Address { base, symbol, offset, .. } = &mut **address;
        let sum = i64::from(*offset) + step.plus;
        if !OFFSETS.contains(&sum) {
            return Err("the offset has more than 24 bits");
        }
        if symbol.is_some() && step.symbol.is_some() {
            return Err("it has the address of a variable already");
        }
        *base = step.base.clone();
        *offset = sum as i32;
        *symbol = symbol.or(step.symbol);
    }
    if is_legal(view.chip, view.function, &shorter) { Ok(shorter) } else { Err("no form takes it") }
}

/// `x + constant` of a 64-bit base.
fn wide(view: &View<'_>, low: Value, high: Value) -> Option<Step> {
    let View { function, definitions, facts, .. } = *view;
    let add = definitions.instruction(function, low)?;
    if add.opcode != Opcode::Pseudo(Pseudo::Add64) || add.destinations[0].values.as_slice() != [low, high] {
        return None;
    }
    if !definitions.is_stable(high) || view.leaves_loop(low) {
        return None;
    }
    let [a, b] = add.sources.as_slice() else { return None };
    for (x, constant) in [(a, b), (b, a)] {
        let Some(bits) = facts.source_long(constant) else { continue };
        let SourceKind::Values(values) = &x.kind else { continue };
        let plain = |source: &Source| !source.invert && !source.absolute && source.suffixes.is_empty();
        if values.len() != 2 || x.negate || !plain(x) || !plain(constant) {
            continue;
        }
        if !values.iter().all(|&value| definitions.is_stable(value)) {
            continue;
        }
        let plus = if constant.negate { (bits as i64).wrapping_neg() } else { bits as i64 };
        return Some(Step { base: values.clone(), symbol: None, plus });
    }
    None
}

/// `x + constant` or `x + address of a shared variable` of a 32-bit base.
fn narrow(view: &View<'_>, value: Value) -> Option<Step> {
    let View { function, definitions, facts, .. } = *view;
    let add = definitions.instruction(function, value)?;
    if add.opcode != Opcode::Sass(Op::IADD3) || !add.mods.is_empty() || add.sources.len() != 3 {
        return None;
    }
    if add.destinations[0].values.as_slice() != [value] || view.leaves_loop(value) {
        return None;
    }
    let mut base: Option<Value> = None;
    let mut symbol = None;
    let mut plus = 0u32;
    for source in &add.sources {
        if source.invert || source.absolute || !source.suffixes.is_empty() {
            return None;
        }
        if let Some(bits) = facts.source_word(source) {
            let bits = bits as u32;
            plus = plus.wrapping_add(if source.negate { bits.wrapping_neg() } else { bits });
            continue;
        }
        match &source.kind {
            SourceKind::Address32 { symbol: named, part: AddressPart::Low, offset }
                if symbol.is_none() && is_low_word(source) && is_shared(function, *named) =>
            {
                symbol = Some(*named);
                plus = plus.wrapping_add(*offset as u32);
            }
            SourceKind::Values(values) if values.len() == 1 && !source.negate && base.is_none() => {
                base = Some(values[0]);
            }
            _ => return None,
        }
    }
    let base = base.filter(|&base| definitions.is_stable(base))?;
    Some(Step { base: Values::from_slice(&[base]), symbol, plus: i64::from(plus as i32) })
}

fn is_shared(function: &Function, symbol: SymbolId) -> bool {
    function.symbols[symbol].kind == SymbolKind::Shared
}
