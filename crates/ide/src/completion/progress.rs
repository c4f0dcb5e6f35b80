//! How far the words of an instruction fill the rows of its table, and what the remaining rows expect next.

use oriole_ptx::table::{OperandRow, OperandType, Presence, Row, Slot, rows_of as rows};
use oriole_ptx::{Opcode, Space, Type};

use crate::cursor::Typing;

/// How far the words have filled a row.
pub(super) struct Progress {
    pub row: &'static Row,
    /// For each slot whether it has its word.
    pub filled: Vec<bool>,
    /// One more than the last slot that is filled.
    pub next: usize,
    types: Vec<Type>,
    vector: u8,
}

fn takes(slot: &Slot, word: &str) -> bool {
    match slot {
        Slot::Head(words) | Slot::Must(words) | Slot::May(words) | Slot::Sequence(words) => {
            words.iter().any(|own| own.name() == word)
        }
        Slot::Type(types) | Slot::MayType(types) => {
            Type::from_name(word).is_some_and(|ty| types.contains(&ty))
        }
        Slot::Space(spaces) | Slot::MaySpace(spaces) => {
            Space::from_name(word).is_some_and(|space| spaces.contains(&space))
        }
        Slot::Vector(widths) | Slot::MayVector(widths) => word
            .strip_prefix('v')
            .and_then(|width| width.parse().ok())
            .is_some_and(|width| widths.contains(&width)),
    }
}

pub(super) fn progress(row: &'static Row, words: &[String]) -> Option<Progress> {
    let mut progress =
        Progress { row, filled: vec![false; row.slots.len()], next: 0, types: Vec::new(), vector: 1 };
    for (at, word) in words.iter().enumerate() {
        let open = |&slot: &usize| {
            let kind = &row.slots[slot];
            let again = matches!(kind, Slot::Sequence(_));
            (again || !progress.filled[slot])
                // Heads have fixed places after the opcode.
                && (!matches!(kind, Slot::Head(_)) || at == slot)
                && takes(kind, word)
        };
        let slot = (0..row.slots.len()).find(open)?;
        progress.filled[slot] = true;
        progress.next = progress.next.max(slot + 1);
        progress.types.extend(Type::from_name(word));
        if let Some(width) = word.strip_prefix('v').and_then(|width| width.parse().ok()) {
            progress.vector = width;
        }
    }
    Some(progress)
}

pub(super) fn is_optional(slot: &Slot) -> bool {
    matches!(slot, Slot::May(_) | Slot::MayType(_) | Slot::MaySpace(_) | Slot::MayVector(_))
}

pub(super) fn words_of(slot: &Slot) -> Vec<&'static str> {
    match slot {
        Slot::Head(words) | Slot::Must(words) | Slot::May(words) | Slot::Sequence(words) => {
            words.iter().map(|word| word.name()).collect()
        }
        Slot::Type(types) | Slot::MayType(types) => types.iter().map(|ty| ty.name()).collect(),
        Slot::Space(spaces) | Slot::MaySpace(spaces) => {
            spaces.iter().map(|space| space.name()).filter(|name| !name.is_empty()).collect()
        }
        Slot::Vector(widths) | Slot::MayVector(widths) => widths
            .iter()
            .map(|width| match width {
                2 => "v2",
                4 => "v4",
                _ => "v8",
            })
            .collect(),
    }
}

/// The type that an operand needs, as far as the words before it determine it.
fn wanted_type(operand: &OperandRow, progress: &Progress) -> Option<Type> {
    match operand.ty {
        OperandType::Of(at)
        | OperandType::Widening(at)
        | OperandType::Loose(at)
        | OperandType::Bits(at)
        | OperandType::Double(at) => progress.types.get(usize::from(at)).copied(),
        OperandType::Fixed(ty) | OperandType::Exact(ty) => Some(ty),
        OperandType::LooseFloat => Some(Type::F32),
        OperandType::Word | OperandType::WideWord => Some(Type::B32),
        OperandType::AnyInteger
        | OperandType::AddressIn(_)
        | OperandType::AddressInShared
        | OperandType::None => None,
    }
}

/// Whether a register of this type may be where that one is wanted.
pub(super) fn register_fits(own: Type, operand: &OperandRow, progress: &Progress) -> bool {
    let Some(wanted) = wanted_type(operand, progress) else { return own != Type::Pred };
    if (own == Type::Pred) != (wanted == Type::Pred) {
        return false;
    }
    match operand.ty {
        OperandType::Double(_) => own.bits() == 2 * wanted.bits(),
        OperandType::Widening(_) => own.bits() >= wanted.bits(),
        _ => {
            let kinds = own.is_bits()
                || wanted.is_bits()
                || own.is_float() == wanted.is_float()
                || own.is_integer() && wanted.is_integer();
            own.bits() == wanted.bits() && kinds
        }
    }
}

/// The rows that the words before the cursor allow, with the operand at an index.
pub(super) fn operand_rows(typing: &Typing, index: usize) -> Vec<(Progress, OperandRow)> {
    let Some(opcode) = Opcode::from_name(&typing.opcode) else { return Vec::new() };
    rows(opcode)
        .filter_map(|row| progress(row, &typing.words))
        .filter(|progress| {
            progress.row.slots.iter().zip(&progress.filled).all(|(slot, filled)| *filled || is_optional(slot))
        })
        .filter_map(|progress| {
            let present = |operand: &&OperandRow| match operand.presence {
                Presence::With(token) => typing.words.iter().any(|word| word == token.name()),
                _ => true,
            };
            let operand = *progress.row.operands.iter().filter(present).nth(index)?;
            Some((progress, operand))
        })
        .collect()
}
