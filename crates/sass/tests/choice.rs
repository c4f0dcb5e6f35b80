//! The form that an instruction gets, compared with a specification that tries all of them, on random words of every chip.

use oriole_chip::Chip;
use oriole_sass::form::{Form, FormId, NO_BIT, Table, table as table_of};
use oriole_sass::tested::{Asked, Slots, can_be_left_out, choose_for, fill, fits};
use oriole_sass::{Instruction, Mod, Operand, OperandKind, decode, encode_as, form_of};

/// Specification: searches slots for the operands from `chosen` on, starting at slot `from`, first fit.
fn place(form: &Form, operands: &[Operand], from: usize, chosen: &mut Slots) -> bool {
    let Some(operand) = operands.get(chosen.len()) else {
        return form.slots[from..].iter().all(can_be_left_out);
    };
    for (index, slot) in form.slots.iter().enumerate().skip(from) {
        if fits(slot, operand) {
            chosen.push(index as u8);
            if place(form, operands, index + 1, chosen) {
                return true;
            }
            chosen.pop();
        }
        if !can_be_left_out(slot) {
            return false;
        }
    }
    false
}

/// Specification: fills each form, and takes the first encodable one with the fewest operands of its own.
fn by_trial(table: &'static Table, asked: &Asked<'_>) -> Option<(FormId, Slots)> {
    let mut best: Option<(usize, FormId, Slots)> = None;
    for id in table.ids_of(asked.op) {
        let form = table.form(id);
        let Some(missing) = form.slots.len().checked_sub(asked.operands.len()) else { continue };
        if best.as_ref().is_some_and(|(least, ..)| missing >= *least) {
            continue;
        }
        let mut slots = Slots::new();
        if place(form, asked.operands, 0, &mut slots) && fill(form, asked, &slots, true).is_ok() {
            best = Some((missing, id, slots));
        }
    }
    best.map(|(_, id, slots)| (id, slots))
}

/// A random number generator with a fixed seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() >> 33) as usize % end
    }

    /// A random word of the form: any row of each set, any value in each field.
    fn word(&mut self, form: &Form) -> u128 {
        const GUARD_AND_CONTROL: u128 = 0x7000 | 0x7f1 << 105;
        let mut word = form.value | form.unused_value | GUARD_AND_CONTROL;
        for set in form.sets {
            word |= set.place(set.rows[self.below(set.rows.len())].value);
        }
        for slot in form.slots {
            for field in slot.fields {
                let bits = if field.bias == 0 { self.next() } else { 0 };
                word = word & !field.mask() | field.place(bits);
            }
            for bit in [slot.negate, slot.absolute, slot.invert] {
                if bit != NO_BIT && self.below(3) == 0 {
                    word |= 1 << bit;
                }
            }
        }
        word
    }

    /// Changes the instruction in one respect, so that most forms no longer take it.
    fn spoil(&mut self, instruction: &mut Instruction) {
        let (count, kind) = (instruction.operands.len(), self.below(8));
        let mods = Mod::all();
        let name = mods[self.below(mods.len())];
        match (kind, count) {
            (0, _) => instruction.mods.insert(name),
            (1, _) => {
                let present: Vec<Mod> = instruction.mods.iter().collect();
                if let Some(&gone) = present.get(self.below(present.len().max(1))) {
                    instruction.mods.remove(gone);
                }
            }
            (_, 0) => {}
            (2, _) => instruction.operands[self.below(count)].negate ^= true,
            (3, _) => instruction.operands[self.below(count)].invert ^= true,
            (4, _) => instruction.operands[self.below(count)].absolute ^= true,
            (5, _) => instruction.operands[self.below(count)].suffixes.insert(name),
            (6, _) => {
                let (from, to) = (self.below(count), self.below(count));
                instruction.operands[to].kind = instruction.operands[from].kind;
            }
            _ => {
                let number = 1i64 << self.below(40);
                if let OperandKind::Imm(value) = &mut instruction.operands[self.below(count)].kind {
                    *value = if self.0 & 1 == 1 { -number } else { number };
                }
            }
        }
    }
}

/// Operands that share a field must be equal, also if the form was chosen before its registers were known.
#[test]
fn operands_of_one_field_are_compared() {
    let mut compared = 0;
    for chip in Chip::all().into_iter().filter(|chip| chip.is_supported()) {
        let table = table_of(chip).expect("a table");
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        for form in table.forms() {
            let Ok(instruction) = decode(chip, random.word(form)) else { continue };
            let Ok(id) = form_of(table, &instruction) else { continue };
            if !table.shape(id).shares_fields {
                continue;
            }
            for at in 0..instruction.operands.len() {
                let mut other = instruction.clone();
                let OperandKind::Reg(number) = &mut other.operands[at].kind else { continue };
                *number = number.wrapping_add(8) % 128;
                // The encoding represents all of the instruction, or fails.
                if let Ok(word) = encode_as(chip, id, &other) {
                    assert_eq!(decode(chip, word).as_ref(), Ok(&other), "{chip}");
                } else {
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 0, "no form has two registers in one field");
}

#[test]
fn the_tables_decide_as_trial_encodes_do() {
    for chip in Chip::all().into_iter().filter(|chip| chip.is_supported()) {
        let table = table_of(chip).expect("a table");
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        let (mut taken, mut refused) = (0, 0);
        for form in table.forms() {
            for _ in 0..12 {
                let Ok(mut instruction) = decode(chip, random.word(form)) else { continue };
                for spoiled in 0..3 {
                    if spoiled > 0 {
                        random.spoil(&mut instruction);
                    }
                    let asked = Asked::of(&instruction);
                    let found = choose_for(table, &asked).map(|resolved| (resolved.id, resolved.slots));
                    let tried = by_trial(table, &asked);
                    assert_eq!(found, tried, "{chip}: {instruction:?}");
                    if tried.is_some() { taken += 1 } else { refused += 1 }
                }
            }
        }
        let forms = table.forms().len();
        let enough = taken > 14 * forms && refused > 7 * forms;
        assert!(enough, "{chip}: {taken} taken, {refused} refused of {forms} forms");
    }
}
