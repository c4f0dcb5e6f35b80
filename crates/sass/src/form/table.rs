//! The forms of one chip, found by id, by mnemonic, and by the opcode of a word.

use super::constraints::{ConstraintTable, Constraints};
use super::encoding::Form;
use super::shape::Shape;
use crate::{Mod, Op};
use oriole_chip::{Chip, RegisterFiles, WordShape};

/// The index of a form in the table of its chip.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, serde::Serialize, serde::Deserialize)]
pub struct FormId(u16);

/// The forms of one chip.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// The register files of the chip.
    pub(super) registers: &'static RegisterFiles,
    /// The shape of the chip's words.
    pub(super) words: WordShape,
    pub(super) forms: &'static [Form],
    /// The operand kinds of each form.
    pub(super) shapes: &'static [Shape],
    /// The other constraints of forms.
    pub(super) constraints: ConstraintTable,
    /// For each opcode, ascending: the indices of its forms in `by_opcode`.
    pub(super) opcodes: &'static [(u16, u16, u16)],
    /// Form indexes by opcode, the most closely identified form first.
    pub(super) by_opcode: &'static [u16],
    /// For each `Op` its range of forms.
    pub(super) ops: &'static [(u16, u16)],
    /// For each `Op` the print order of its modifiers.
    pub(super) orders: &'static [&'static [Mod]],
}

impl Table {
    /// Every form, in the order of mnemonics.
    pub fn forms(&self) -> &'static [Form] {
        self.forms
    }

    /// The register files of the chip.
    pub fn registers(&self) -> &'static RegisterFiles {
        self.registers
    }

    /// The shape of the chip's words.
    pub fn words(&self) -> WordShape {
        self.words
    }

    /// The form with an id of this table.
    pub fn get(&self, id: FormId) -> Option<&'static Form> {
        self.forms.get(usize::from(id.0))
    }

    /// [`Self::get`] for an id that `ids_of` returned.
    pub fn form(&self, id: FormId) -> &'static Form {
        &self.forms[usize::from(id.0)]
    }

    /// The ids and shapes of the forms of a mnemonic.
    pub(crate) fn shapes_of(&self, op: Op) -> impl Iterator<Item = (FormId, &'static Shape)> + use<> {
        let (start, end) = self.ops.get(op as usize).copied().unwrap_or_default();
        (start..end).map(FormId).zip(&self.shapes[usize::from(start)..usize::from(end)])
    }

    /// True if some form of a mnemonic takes this many immediates or constant-bank words.
    pub fn takes_constants(&self, op: Op, count: usize) -> bool {
        self.shapes_of(op).any(|(_, shape)| shape.constants() >= count)
    }

    /// The shape of a form that the table has.
    pub fn shape(&self, id: FormId) -> &'static Shape {
        &self.shapes[usize::from(id.0)]
    }

    /// The constraints of a form that the table has.
    pub fn constraints(&self, id: FormId) -> Constraints {
        self.constraints.get(self.form(id))
    }

    /// The ids of the forms of a mnemonic.
    pub fn ids_of(&self, op: Op) -> impl ExactSizeIterator<Item = FormId> + use<> {
        let (start, end) = self.ops.get(op as usize).copied().unwrap_or_default();
        (start..end).map(FormId)
    }

    /// The forms of a mnemonic.
    pub fn forms_of(&self, op: Op) -> &'static [Form] {
        match self.ops.get(op as usize) {
            Some(&(start, end)) => &self.forms[start as usize..end as usize],
            None => &[],
        }
    }

    /// The forms that a word may have, by its lowest twelve bits, the most closely identified first.
    pub fn forms_of_opcode(&self, opcode: u16) -> impl Iterator<Item = &'static Form> + use<> {
        let forms = self.forms;
        let range = match self.opcodes.binary_search_by_key(&opcode, |row| row.0) {
            Ok(at) => self.opcodes[at].1 as usize..self.opcodes[at].2 as usize,
            Err(_) => 0..0,
        };
        self.by_opcode[range].iter().map(move |&index| &forms[index as usize])
    }

    /// The print order of the modifiers of a mnemonic.
    pub fn order(&self, op: Op) -> &'static [Mod] {
        self.orders.get(op as usize).copied().unwrap_or(&[])
    }
}

/// The chip of a number, for the generated tables.
pub(super) const fn chip(number: u8) -> Chip {
    match Chip::of_number(number) {
        Some(chip) => chip,
        None => panic!("a form table for no chip"),
    }
}
