//! The form of a new chip from the form of a known one and the facts of both: parts with equal facts are taken from the
//! known form, so that manual decisions there (widths, accesses, split modifiers) are kept.

use super::facts::{Choice, Fact, FieldFact, OperandFact};
use super::text;
use crate::codegen::forms::{FieldRow, Form, SetRow, Slot, Tables, Token, What};
use std::collections::BTreeMap;

/// The form of `new`, starting from `known`, which is the form of `old`. Notes go to `notes`, new choices to `added`.
pub fn merge(
    new: &Fact,
    old: &Fact,
    known: &Form,
    tables: &mut Tables,
    added: &mut String,
    notes: &mut Vec<String>,
) -> Form {
    let mut form = known.clone();
    form.mask = (known.mask | (new.mask & !old.mask)) & !(old.mask & !new.mask);
    form.value = ((known.value & !(new.mask | old.mask)) | new.value) & form.mask;
    if new.unused != old.unused {
        form.unused = new.unused;
    }
    if new.always != old.always {
        form.always = new.always.clone();
        notes.push(format!("`always` was `{}`", text::tokens(&known.always, " ")));
    }
    if new.reuse != old.reuse {
        form.reuse = new.reuse;
    }
    if (new.write_barrier, new.read_barrier) != (old.write_barrier, old.read_barrier) {
        (form.write_barrier, form.read_barrier) = (new.write_barrier, new.read_barrier);
    }
    for (index, (operand, before)) in new.operands.iter().zip(&old.operands).enumerate() {
        let Some(slot) = form.slots.get_mut(index) else { continue };
        if same_bits(operand, before) {
            // The known form decides when a text omits a field, except for results that a chip always names.
            for ((row, new), old) in slot.fields.iter_mut().zip(&operand.fields).zip(&before.fields) {
                if new.left_out.is_empty() && old.left_out == "?" && slot.access == "Def" {
                    row.elided = "Written".to_owned();
                }
            }
        } else {
            let fields = moved(operand, before, slot);
            if operand.fields.iter().any(|field| field.pieces.is_empty()) || fields.len() != slot.fields.len()
            {
                notes.push(format!("operand {index} is another one"));
            } else {
                slot.fields = fields;
            }
        }
    }
    choices(new, old, &mut form, tables, added, notes);
    // Bits that a modifier field or a wider register field has taken over no longer identify the form.
    let run = |(low, width): (u8, u8)| ((1u128 << width) - 1) << low;
    let fields = form.slots.iter().flat_map(|slot| &slot.fields);
    let taken = fields.fold(0, |bits, field| bits | run(field.low) | run(field.high));
    let taken = form.sets.iter().flat_map(|set| &set.bits).fold(taken, |bits, bit| bits | 1u128 << bit);
    form.mask &= !(taken & !new.mask);
    form.value &= form.mask;
    form.unused &= !used(&form);
    notes.extend(new.odd.iter().filter(|odd| !old.odd.contains(odd)).cloned());
    form
}

/// The fields of an operand whose bits differ. Manual decisions about each (when the text omits it, what is added to
/// it) are kept where the facts of both chips agree about it.
fn moved(new: &OperandFact, old: &OperandFact, known: &Slot) -> Vec<FieldRow> {
    let mut fields: Vec<FieldRow> = new.fields.iter().map(field).collect();
    if (new.fields.len(), fields.len()) == (old.fields.len(), known.fields.len()) {
        for (at, row) in fields.iter_mut().enumerate() {
            if new.fields[at].left_out == old.fields[at].left_out {
                row.elided = known.fields[at].elided.clone();
            }
            row.bias = known.fields[at].bias;
        }
    }
    fields
}

fn same_bits(new: &OperandFact, old: &OperandFact) -> bool {
    let bits = |operand: &OperandFact| {
        let each = operand.fields.iter().map(|field| (field.pieces.clone(), field.scale, field.signed));
        each.collect::<Vec<_>>()
    };
    bits(new) == bits(old)
}

/// A form that resembles no known form: every operand is `use` and of unknown width.
pub fn fresh(new: &Fact, tables: &mut Tables, added: &mut String, notes: &mut Vec<String>) -> Form {
    let mut form = Form::new(new.op.clone(), new.opcode, new.uniform);
    form.mask = new.mask | 0xfff;
    form.value = new.value;
    form.unused = new.unused;
    form.always = new.always.clone();
    form.reuse = new.reuse;
    (form.write_barrier, form.read_barrier) = (new.write_barrier, new.read_barrier);
    form.slots = new.operands.iter().map(slot).collect();
    let empty = Fact {
        op: String::new(),
        opcode: 0,
        uniform: false,
        operands: Vec::new(),
        choices: Vec::new(),
        always: Vec::new(),
        mask: 0,
        value: 0,
        unused: 0,
        reuse: [255; 3],
        write_barrier: true,
        read_barrier: true,
        odd: Vec::new(),
    };
    choices(new, &empty, &mut form, tables, added, notes);
    form.unused &= !used(&form);
    notes.push("accesses and widths".to_owned());
    notes.extend(new.odd.iter().cloned());
    form
}

fn slot(operand: &OperandFact) -> Slot {
    let registers = operand.template.contains('R') && !operand.template.starts_with('c');
    Slot {
        access: "Use".to_owned(),
        kind: operand.template.clone(),
        float: operand.fields.iter().find_map(|field| field.float.clone()),
        fields: operand.fields.iter().map(field).collect(),
        width: if registers { "unknown" } else { "one" }.to_owned(),
        signs: [255; 3],
    }
}

fn field(fact: &FieldFact) -> FieldRow {
    let piece = |n: usize| fact.pieces.get(n).copied().unwrap_or((0, 0));
    FieldRow {
        low: piece(0),
        high: piece(1),
        scale: fact.scale,
        bias: 0,
        signed: fact.signed,
        complement: fact.complement,
        elided: match fact.left_out {
            "?" => "Neutral",
            "?0" => "Zero",
            "?1" => "Ones",
            _ => "Never",
        }
        .to_owned(),
    }
}

fn used(form: &Form) -> u128 {
    let run = |(low, width): (u8, u8)| ((1u128 << width) - 1) << low;
    let mut used = form.mask | 0xf000;
    for slot in &form.slots {
        slot.fields.iter().for_each(|field| used |= run(field.low) | run(field.high));
        slot.signs.iter().filter(|bit| **bit != 255).for_each(|bit| used |= 1 << bit);
    }
    form.sets.iter().flat_map(|set| &set.bits).for_each(|bit| used |= 1 << bit);
    used
}

/// Decides the modifier fields and signs: those with equal facts are kept, the others are tried as the known form
/// splits them, and written as in the facts where that does not fit.
fn choices(
    new: &Fact,
    old: &Fact,
    form: &mut Form,
    tables: &mut Tables,
    added: &mut String,
    notes: &mut Vec<String>,
) {
    let covered = |bits: &[Choice], bit: u8| bits.iter().any(|choice| choice.bits.contains(&bit));
    let mut rest: Vec<&Choice> = new.choices.iter().filter(|choice| !old.choices.contains(choice)).collect();
    let same: Vec<&Choice> = new.choices.iter().filter(|choice| old.choices.contains(choice)).collect();
    // A field with one value and no token only identifies the form.
    rest.retain(|choice| {
        let only =
            choice.values.iter().next().filter(|(_, tokens)| tokens.is_empty() && choice.values.len() == 1);
        let Some((value, _)) = only else { return true };
        for (n, bit) in choice.bits.iter().enumerate() {
            form.mask |= 1 << bit;
            form.value = form.value & !(1 << bit) | ((*value as u128 >> n & 1) << bit);
        }
        false
    });
    for choice in rest {
        let hit = |bit: &u8| choice.bits.contains(bit);
        let sets: Vec<SetRow> = form.sets.iter().filter(|set| set.bits.iter().any(hit)).cloned().collect();
        let restricted: Option<Vec<Parsed>> =
            sets.iter().map(|set| restrict(set, choice, new, tables)).collect();
        let signs = signs_over(form, &choice.bits);
        let fits = restricted.as_ref().is_some_and(|sets| equal(choice, sets, &signs));
        form.sets.retain(|set| !set.bits.iter().any(|bit| choice.bits.contains(bit)));
        if let (true, Some(restricted)) = (fits, restricted) {
            for set in restricted {
                let name = text::choice(set.rows, tables, added);
                form.sets.push(SetRow { bits: set.bits, choice: name, slot: set.slot });
            }
            continue;
        }
        if own_sign(form, choice) {
            continue;
        }
        for slot in &mut form.slots {
            for bit in &mut slot.signs {
                if choice.bits.contains(bit) {
                    *bit = 255;
                }
            }
        }
        if choice.bits.len() > 6 {
            notes.push(format!("the bits {:?} in one field", choice.bits));
        }
        let rows: Vec<(u16, Vec<Token>)> =
            choice.values.iter().map(|(value, tokens)| (*value as u16, tokens.clone())).collect();
        let (own, rows) = bare(rows);
        let name = text::choice(rows, tables, added);
        form.sets.push(SetRow { bits: choice.bits.clone(), choice: name, slot: own });
    }
    // A bit with a fact of the old chip but none of the new chip is removed.
    let gone = |bit: &u8| covered(&old.choices, *bit) && !covered(&new.choices, *bit);
    form.sets.retain(|set| !set.bits.iter().any(gone) || same.iter().any(|choice| choice.bits == set.bits));
    for slot in &mut form.slots {
        slot.signs.iter_mut().filter(|bit| **bit != 255 && gone(bit)).for_each(|bit| *bit = 255);
    }
    form.sets.sort_by_key(|set| set.bits.first().copied());
}

/// Writes a choice that is the sign of one operand as such; false if it is not one.
fn own_sign(form: &mut Form, choice: &Choice) -> bool {
    if let ([bit], 2) = (choice.bits.as_slice(), choice.values.len())
        && choice.values.get(&0).is_some_and(Vec::is_empty)
        && let Some([token]) = choice.values.get(&1).map(Vec::as_slice)
        && let Some(slot) = token.slot.and_then(|slot| form.slots.get_mut(slot as usize))
        && let Some(place) = match token.what {
            What::Negate => Some(0),
            What::Absolute => Some(1),
            What::Invert => Some(2),
            _ => None,
        }
    {
        slot.signs[place] = *bit;
        return true;
    }
    false
}

type Rows = Vec<(u16, Vec<Token>)>;

/// Rows whose tokens are all of one operand, without it, and that operand.
fn bare(rows: Rows) -> (Option<u8>, Rows) {
    let own = common_slot(&rows);
    let rows = match own {
        Some(own) => rows
            .into_iter()
            .map(|(value, tokens)| {
                let bare = |mut token: Token| {
                    token.slot = token.slot.filter(|slot| *slot != own);
                    token
                };
                (value, tokens.into_iter().map(bare).collect())
            })
            .collect(),
        None => rows,
    };
    (own, rows)
}

fn common_slot(rows: &[(u16, Vec<Token>)]) -> Option<u8> {
    let mut slots = rows.iter().flat_map(|(_, tokens)| tokens).map(|token| token.slot);
    let first = slots.next()??;
    slots.all(|slot| slot == Some(first)).then_some(first)
}

/// A set with its rows.
struct Parsed {
    bits: Vec<u8>,
    slot: Option<u8>,
    rows: Vec<(u16, Vec<Token>)>,
}

/// A set of the known form as far as the bits of the choice and of the identifying word go: the other bits are zero.
/// Rows that the choice never uses are left out.
fn restrict(set: &SetRow, choice: &Choice, new: &Fact, tables: &Tables) -> Option<Parsed> {
    let kept: Vec<usize> = (0..set.bits.len()).filter(|&n| choice.bits.contains(&set.bits[n])).collect();
    let mut rows = Vec::new();
    'rows: for (value, tokens) in tables.choices.get(&set.choice)? {
        for (n, bit) in set.bits.iter().enumerate() {
            if !kept.contains(&n) && (value >> n & 1) as u128 != new.value >> bit & 1 {
                continue 'rows;
            }
        }
        let value = kept.iter().enumerate().fold(0, |out, (to, &from)| out | (value >> from & 1) << to);
        let used = choice.values.keys().any(|whole| {
            kept.iter().enumerate().all(|(to, &from)| {
                let at = choice.bits.iter().position(|bit| *bit == set.bits[from]).unwrap_or(0);
                (whole >> at & 1) as u16 == value >> to & 1
            })
        });
        if used {
            rows.push((value, tokens.clone()));
        }
    }
    rows.sort_by_key(|row| row.0);
    Some(Parsed { bits: kept.iter().map(|&n| set.bits[n]).collect(), slot: set.slot, rows })
}

/// The signs of operands in these bits.
fn signs_over(form: &Form, bits: &[u8]) -> Vec<(u8, Token)> {
    let mut out = Vec::new();
    for (slot, row) in form.slots.iter().enumerate() {
        for (n, bit) in row.signs.iter().enumerate() {
            if bits.contains(bit) {
                let what = [What::Negate, What::Absolute, What::Invert][n].clone();
                out.push((*bit, Token { slot: Some(slot as u8), what }));
            }
        }
    }
    out
}

/// True if the sets and signs together have for each value of the choice the tokens of the choice.
fn equal(choice: &Choice, sets: &[Parsed], signs: &[(u8, Token)]) -> bool {
    let bit_of = |whole: u32, bit: u8| {
        choice.bits.iter().position(|each| *each == bit).is_some_and(|at| whole >> at & 1 == 1)
    };
    let covered = choice.bits.iter().all(|bit| {
        sets.iter().any(|set| set.bits.contains(bit)) || signs.iter().any(|(sign, _)| sign == bit)
    });
    let mut said: BTreeMap<u32, Vec<Token>> = BTreeMap::new();
    'values: for whole in 0..1u32 << choice.bits.len() {
        let mut tokens: Vec<Token> =
            signs.iter().filter(|(bit, _)| bit_of(whole, *bit)).map(|(_, token)| token.clone()).collect();
        for set in sets {
            let value =
                set.bits.iter().enumerate().fold(0, |v, (n, bit)| v | u16::from(bit_of(whole, *bit)) << n);
            let Some((_, row)) = set.rows.iter().find(|row| row.0 == value) else { continue 'values };
            for token in row {
                let mut token = token.clone();
                if !matches!(token.what, What::Mod(_)) {
                    token.slot = token.slot.or(set.slot);
                }
                if let What::Mod(name) = &mut token.what
                    && let Some(plain) = name.strip_suffix("_2")
                {
                    *name = plain.to_owned();
                }
                tokens.push(token);
            }
        }
        tokens.sort();
        said.insert(whole, tokens);
    }
    covered && said == choice.values
}
