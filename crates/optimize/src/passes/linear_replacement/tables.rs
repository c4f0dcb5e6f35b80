//! Fusion of logic operations: one LUT in place of two.

use super::fuser::Fuser;
use crate::analyses::value_facts::{fixed_input, uses_input};
use oriole_ori::{Instruction, Opcode, Source, SourceKind, is_legal};
use oriole_sass::{Mod, Op};
use smallvec::SmallVec;

impl Fuser<'_> {
    /// LUT composition over at most three inputs.
    pub(super) fn table(&self, i: &Instruction) -> Option<Instruction> {
        let (table, inputs) = inputs_of(i)?;
        for (at, input) in inputs.iter().enumerate() {
            if !uses_input(table, at) || input.as_plain_value().is_none() {
                continue;
            }
            let Some(inner) = self.inner(input) else { continue };
            if inner.opcode != i.opcode {
                continue;
            }
            let Some((inner_table, inner_inputs)) = inputs_of(inner) else { continue };
            // The inputs of both, each once.
            let mut all: SmallVec<[Source; 6]> = SmallVec::new();
            let mut place = |source: &Source| match all.iter().position(|known| known == source) {
                Some(place) => place,
                None => {
                    all.push(source.clone());
                    all.len() - 1
                }
            };
            let outer_places: SmallVec<[Option<usize>; 3]> =
                (0..3).map(|n| (n != at && uses_input(table, n)).then(|| place(&inputs[n]))).collect();
            let inner_places: SmallVec<[Option<usize>; 3]> =
                (0..3).map(|n| uses_input(inner_table, n).then(|| place(&inner_inputs[n]))).collect();
            if all.len() > 3 {
                continue;
            }
            // An operand that is not a register goes to the middle.
            let mut order: SmallVec<[usize; 3]> = (0..all.len()).collect();
            order.sort_by_key(|&n| !matches!(all[n].kind, SourceKind::Values(_)));
            if order.len() == 3 {
                order.swap(1, 2);
            }
            let bit_of = |row: u8, place: Option<usize>| {
                let at = place.and_then(|place| order.iter().position(|&n| n == place));
                at.map_or(0, |at| row >> (2 - at) & 1)
            };
            let combined = (0..8u8).fold(0u8, |bits, row| {
                let x = (0..3).fold(0u8, |x, n| x | bit_of(row, inner_places[n]) << (2 - n));
                let value = inner_table >> x & 1;
                let y = (0..3).fold(0u8, |y, n| {
                    let bit = if n == at { value } else { bit_of(row, outer_places[n]) };
                    y | bit << (2 - n)
                });
                bits | (table >> y & 1) << row
            });
            let mut candidate = i.clone();
            let neutral = if i.opcode == Opcode::Sass(Op::LOP3) { Source::rz() } else { Source::pt() };
            for n in 0..3 {
                candidate.sources[n] = order.get(n).map_or(neutral.clone(), |&n| all[n].clone());
            }
            candidate.sources[3].kind = SourceKind::Literal(combined.into());
            if is_legal(self.view.chip, self.view.function, &candidate) {
                return Some(candidate);
            }
        }
        None
    }
}

/// Table and inputs of a logic operation with one result, constants and inversions in the table where they can be.
fn inputs_of(i: &Instruction) -> Option<(u8, [Source; 3])> {
    let predicates = i.opcode == Opcode::Sass(Op::PLOP3);
    let shape =
        if predicates { i.sources.len() == 5 } else { i.sources.len() >= 4 && i.destinations.len() == 1 };
    let results_dropped = i.destinations.get(1).is_none_or(|second| second.values.is_empty());
    if !shape || !results_dropped || i.mods.iter().any(|name| name != Mod::LUT) {
        return None;
    }
    if i.destinations[0].values.len() != 1 {
        return None;
    }
    let SourceKind::Literal(table) = i.sources[3].kind else { return None };
    let mut table = table as u8;
    let mut inputs = [i.sources[0].clone(), i.sources[1].clone(), i.sources[2].clone()];
    for (at, input) in inputs.iter_mut().enumerate() {
        if input.negate || input.absolute || !input.suffixes.is_empty() || input.fixed.is_some() {
            return None;
        }
        if input.invert {
            if !predicates {
                return None;
            }
            let shift = 1 << (2 - at);
            let low: u8 = [0x0f, 0x33, 0x55][at];
            table = (table & low) << shift | table >> shift & low;
            input.invert = false;
        }
        match input.kind {
            SourceKind::Zero(_) => table = fixed_input(table, at, false),
            SourceKind::True(_) => table = fixed_input(table, at, true),
            _ => {}
        }
    }
    Some((table, inputs))
}
