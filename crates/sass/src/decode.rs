//! Decodes a word: the form is found by opcode and identifying bits, then every field is read. A word without a form
//! is rejected; so is one with unused bits that differ from their written value, unless the caller allows that.

use crate::form::{self, CONTROL_SHIFT, Form, NO_BIT, SELF, Slot, SlotKind, Token};
use crate::register::{PT, RegisterFile};
use crate::{Control, Guard, Instruction, InstructionWord, Mods, Operand, OperandKind};
use oriole_chip::Chip;
use smallvec::SmallVec;
use std::fmt;

/// Why a word is not an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DecodeError {
    /// There is no form table for the chip.
    UnsupportedChip(Chip),
    /// No form has this opcode (bits 0..=11).
    UnknownOpcode(u16),
    /// The opcode exists, but no form of it has these modifier bits.
    UnknownForm(u16),
    /// Unused bits differ from their written value; the mask has them.
    UnusedBits(u128),
    /// The scheduling control is not one that the instruction may have.
    Control,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DecodeError::UnsupportedChip(chip) => write!(f, "no instruction table for {chip}"),
            DecodeError::UnknownOpcode(opcode) => write!(f, "no instruction has opcode {opcode:#05x}"),
            DecodeError::UnknownForm(opcode) => write!(f, "opcode {opcode:#05x} has no such form"),
            DecodeError::UnusedBits(mask) => write!(f, "unused bits are set unusually (mask {mask:#x})"),
            DecodeError::Control => write!(f, "the scheduling control is not valid for the instruction"),
        }
    }
}

impl std::error::Error for DecodeError {}

/// Decodes a word. `encode` gives the very same word back.
pub fn decode(chip: Chip, word: InstructionWord) -> Result<Instruction, DecodeError> {
    decode_with_form(chip, word).map(|(_, instruction)| instruction)
}

/// Like `decode`, with the form that the word has.
pub fn decode_with_form(
    chip: Chip,
    word: InstructionWord,
) -> Result<(&'static Form, Instruction), DecodeError> {
    let (form, instruction) = find(chip, word)?;
    let wrong = (word ^ form.unused_value) & form.unused;
    if wrong != 0 {
        return Err(DecodeError::UnusedBits(wrong));
    }
    Ok((form, instruction))
}

/// Like `decode`, but unknown bits may have any value: for display only. The effect is not known, since such a bit
/// may have a meaning that the table does not know.
pub fn decode_lenient(chip: Chip, word: InstructionWord) -> Result<Instruction, DecodeError> {
    find(chip, word).map(|(_, instruction)| instruction)
}

/// The instruction and its form; unused bits are not looked at.
fn find(chip: Chip, word: InstructionWord) -> Result<(&'static Form, Instruction), DecodeError> {
    let table = form::table(chip).ok_or(DecodeError::UnsupportedChip(chip))?;
    let opcode = (word & 0xfff) as u16;
    let mut error = DecodeError::UnknownOpcode(opcode);
    for form in table.forms_of_opcode(opcode) {
        error = DecodeError::UnknownForm(opcode);
        if word & form.mask != form.value {
            continue;
        }
        let mut rows = SmallVec::<[(u8, &'static form::Row); 12]>::new();
        let known = form.sets.iter().all(|set| match set.row(set.extract(word)) {
            Some(row) => {
                rows.push((set.slot, row));
                true
            }
            None => false,
        });
        if known {
            return read(form, word, &rows).map(|instruction| (form, instruction));
        }
    }
    Err(error)
}

/// Position of the reuse flags, or the batch index, in the control field.
pub(crate) const TOP_SHIFT: u32 = 17;
/// The last place in a batch that is one.
pub(crate) const LAST_BATCH: u8 = 5;
/// Value of a scoreboard field where none is set.
pub(crate) const NO_SCOREBOARD: u32 = 7;
/// Scoreboards of a warp; their field could name one more.
pub(crate) const SCOREBOARDS: u64 = 6;

fn read(
    form: &'static Form,
    word: u128,
    rows: &[(u8, &'static form::Row)],
) -> Result<Instruction, DecodeError> {
    let mut operands: SmallVec<[Operand; 6]> = SmallVec::with_capacity(form.slots.len());
    for slot in form.slots {
        if !names_a_register(slot, word) {
            return Err(DecodeError::UnknownForm((word & 0xfff) as u16));
        }
        let mut operand = Operand::plain(read_kind(slot, word));
        let bit = |bit: u8| bit != NO_BIT && word >> bit & 1 == 1;
        operand.negate = bit(slot.negate);
        operand.absolute = bit(slot.absolute);
        operand.invert = bit(slot.invert);
        operands.push(operand);
    }
    let mut mods = Mods::none();
    let mut apply = |token: Token, of: u8| {
        let at = |own: u8| if own == SELF { of as usize } else { own as usize };
        match token {
            Token::Mod(name) => mods.insert(name),
            Token::Negate(own) => operands[at(own)].negate = true,
            Token::Absolute(own) => operands[at(own)].absolute = true,
            Token::Invert(own) => operands[at(own)].invert = true,
            Token::Suffix(own, _, name) => operands[at(own)].suffixes.insert(name),
            Token::Symbol(own, symbol) => operands[at(own)].kind = OperandKind::Symbol(symbol),
        }
    };
    for &token in form.always {
        apply(token, SELF);
    }
    for &(slot, row) in rows {
        for &token in row.tokens {
            apply(token, slot);
        }
    }
    let bits = (word >> CONTROL_SHIFT) as u32;
    let control = read_control(form, bits).ok_or(DecodeError::Control)?;
    let flags = if form.has_batch() { 0 } else { bits >> TOP_SHIFT };
    for (n, &slot) in form.reuse.iter().enumerate() {
        if flags >> n & 1 == 1 {
            let operand = operands.get_mut(slot as usize).ok_or(DecodeError::Control)?;
            operand.reuse = true;
        }
    }
    let (register, negated) = ((word >> 12) as u8 & PT, word >> 15 & 1 == 1);
    let always = register == PT && !negated;
    let guard = Guard { uniform: form.uniform_guard && !always, register, negated };
    Ok(Instruction { guard, op: form.op, mods, operands, control })
}

fn read_control(form: &Form, bits: u32) -> Option<Control> {
    let barrier = |number: u32, allowed: bool| match number & NO_SCOREBOARD {
        NO_SCOREBOARD => Some(None),
        number if u64::from(number) >= SCOREBOARDS || !allowed => None,
        number => Some(Some(number as u8)),
    };
    let batch = if form.has_batch() { (bits >> TOP_SHIFT) as u8 & 7 } else { 0 };
    let control = Control {
        stall: (bits & 15) as u8,
        yields: bits >> 4 & 1 == 0,
        write_barrier: barrier(bits >> 5, form.write_barrier)?,
        read_barrier: barrier(bits >> 8, form.read_barrier)?,
        wait_mask: (bits >> 11 & 0x3f) as u8,
        batch,
    };
    let valid = bits >> 20 == 0 && batch <= LAST_BATCH && (control.stall != 0 || control.yields);
    valid.then_some(control)
}

/// False where a field holds an index that no register or scoreboard has.
fn names_a_register(slot: &Slot, word: u128) -> bool {
    match slot.kind {
        SlotKind::Scoreboard => slot.fields[0].extract(word) < SCOREBOARDS,
        _ => !slot
            .fields
            .iter()
            .any(|field| field.bias != 0 && field.extract(word) == field.extract(u128::MAX)),
    }
}

/// The operand of the slot in this word. A name selected by a set is filled in later.
fn read_kind(slot: &Slot, word: u128) -> OperandKind {
    let fields = slot.fields;
    let raw = |n: usize| fields[n].extract(word);
    let plain = |n: usize| fields[n].register(raw(n));
    let register = |file: RegisterFile, n: usize| fields[n].named(file, raw(n));
    let general = |n: usize| register(RegisterFile::General, n);
    let uniform_register = |n: usize| register(RegisterFile::Uniform, n);
    let number = |n: usize| fields[n].number(raw(n));
    match slot.kind {
        SlotKind::Reg => OperandKind::Reg(general(0)),
        SlotKind::UReg => OperandKind::UReg(uniform_register(0)),
        SlotKind::Pred => OperandKind::Pred(register(RegisterFile::Predicate, 0)),
        SlotKind::UPred => OperandKind::UPred(register(RegisterFile::UniformPredicate, 0)),
        SlotKind::Barrier => OperandKind::Barrier(register(RegisterFile::Barrier, 0)),
        SlotKind::Scoreboard => OperandKind::Scoreboard(plain(0)),
        SlotKind::ScoreboardSet => OperandKind::ScoreboardSet(plain(0)),
        SlotKind::MatrixDescriptor => OperandKind::MatrixDescriptor(uniform_register(0)),
        SlotKind::InstructionDescriptor => OperandKind::InstructionDescriptor(uniform_register(0)),
        SlotKind::TensorMemory { offset } => OperandKind::TensorMemory {
            address: uniform_register(0),
            offset: if offset { number(1) as i32 } else { 0 },
        },
        SlotKind::Imm => OperandKind::Imm(number(0)),
        SlotKind::Target => OperandKind::Target(number(0)),
        SlotKind::Float(_) => OperandKind::Float(raw(0) as u32),
        SlotKind::Const => OperandKind::Const { bank: plain(0), offset: number(1) as i32 },
        SlotKind::ConstIndexed => {
            OperandKind::ConstIndexed { bank: plain(0), index: general(1), offset: number(2) as i32 }
        }
        SlotKind::ConstUniformIndexed => OperandKind::ConstUniformIndexed {
            bank: plain(0),
            index: uniform_register(1),
            offset: number(2) as i32,
        },
        SlotKind::ConstBindless => {
            OperandKind::ConstBindless { handle: uniform_register(0), offset: number(1) as i32 }
        }
        SlotKind::ConstBindlessIndexed => OperandKind::ConstBindlessIndexed {
            handle: uniform_register(0),
            index: general(1),
            offset: number(2) as i32,
        },
        SlotKind::Memory { descriptor, base, uniform, offset } => {
            let mut next = 0..;
            let mut part = |present: bool| if present { next.next() } else { None };
            OperandKind::Memory {
                descriptor: part(descriptor).map(uniform_register),
                base: part(base).map(general),
                uniform: part(uniform).map(uniform_register),
                offset: part(offset).map_or(0, number) as i32,
            }
        }
        SlotKind::Attribute { base, uniform, offset } => {
            let mut next = 0..;
            let mut part = |present: bool| if present { next.next() } else { None };
            OperandKind::Attribute {
                base: part(base).map(general),
                uniform: part(uniform).map(uniform_register),
                offset: part(offset).map_or(0, number) as i32,
            }
        }
        SlotKind::FixedSymbol(symbol) => OperandKind::Symbol(symbol),
        // Every such slot has a set with its names: a row without a symbol does not occur in the tables.
        SlotKind::Symbol => OperandKind::SymbolNumber(0),
    }
}
