//! Encodes the lower bits of a word from an instruction and its form by filling the form's fields. Nothing is
//! truncated silently: a value that does not fit, a sign that the form lacks, or an unknown modifier is an error.

use crate::error::{EncodeError, Leftover};
use crate::form::{self, Field, Form, NO_BIT, SELF, Set, Slot, SlotKind, Token};
use crate::register::{PT, RZ, RegisterFile};
use crate::{Guard, Instruction, Mods, Op, Operand, OperandKind};
use smallvec::SmallVec;

/// The parts of an instruction that decide its form.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    pub guard: Guard,
    pub op: Op,
    pub mods: &'a Mods,
    pub operands: &'a [Operand],
}

impl<'a> Asked<'a> {
    pub fn of(instruction: &'a Instruction) -> Asked<'a> {
        let Instruction { guard, op, mods, operands, .. } = instruction;
        Asked { guard: *guard, op: *op, mods, operands }
    }
}

/// Everything that a word must express besides its values, ticked off on the way.
struct Wanted {
    tokens: SmallVec<[(Token, bool); 12]>,
}

impl Wanted {
    fn add(&mut self, token: Token) {
        self.tokens.push((token, false));
    }

    fn has(&self, token: Token, slot: u8) -> Option<usize> {
        self.tokens.iter().position(|(wanted, _)| same(*wanted, token, slot))
    }

    /// Ticks a token off; false if the instruction does not have it.
    fn tick(&mut self, token: Token, slot: u8) -> bool {
        match self.has(token, slot) {
            Some(index) => {
                self.tokens[index].1 = true;
                true
            }
            None => false,
        }
    }
}

/// True if a token of the table, in a set of this slot, expresses the wanted one. The position of a suffix in the
/// text does not matter.
fn same(wanted: Token, token: Token, slot: u8) -> bool {
    let of = |own: u8| if own == SELF { slot } else { own };
    match (wanted, token) {
        (Token::Mod(a), Token::Mod(b)) => a == b,
        (Token::Negate(a), Token::Negate(b))
        | (Token::Absolute(a), Token::Absolute(b))
        | (Token::Invert(a), Token::Invert(b)) => a == of(b),
        (Token::Suffix(a, _, x), Token::Suffix(b, _, y)) => a == of(b) && x == y,
        (Token::Symbol(a, x), Token::Symbol(b, y)) => a == of(b) && x == y,
        _ => false,
    }
}

/// The lower 105 bits of the instruction in this form. `shared`: operands may share a field; otherwise none do.
pub fn fill(
    form: &'static Form,
    instruction: &Asked<'_>,
    slots: &[u8],
    shared: bool,
) -> Result<u128, EncodeError> {
    let op = instruction.op;
    let mut wanted = Wanted { tokens: SmallVec::new() };
    let mut word = form.value | form.unused_value;
    for name in instruction.mods.iter() {
        wanted.add(Token::Mod(name));
    }
    for (operand, &at) in instruction.operands.iter().zip(slots) {
        let slot = &form.slots[at as usize];
        let signs = [
            (operand.negate, slot.negate, Token::Negate(at)),
            (operand.absolute, slot.absolute, Token::Absolute(at)),
            (operand.invert, slot.invert, Token::Invert(at)),
        ];
        for (present, bit, token) in signs {
            if present && bit != NO_BIT {
                word |= 1 << bit;
            } else if present {
                wanted.add(token);
            }
        }
        for suffix in operand.suffixes.iter() {
            wanted.add(Token::Suffix(at, form::Place::End, suffix));
        }
        if let (SlotKind::Symbol, OperandKind::Symbol(symbol)) = (slot.kind, operand.kind) {
            wanted.add(Token::Symbol(at, symbol));
        }
    }
    for &token in form.always {
        if !wanted.tick(token, SELF) && !said_by_left_out(token, slots) {
            return Err(EncodeError::Modifiers(op, Leftover::Missing));
        }
    }
    for set in form.sets {
        let row = best_row(set, &wanted).ok_or(EncodeError::Modifiers(op, Leftover::Missing))?;
        for &token in row.tokens {
            wanted.tick(token, set.slot);
        }
        word |= set.place(row.value);
    }
    if let Some((token, _)) = wanted.tokens.iter().find(|(_, ticked)| !ticked) {
        let leftover = match *token {
            Token::Mod(name) => Leftover::Mod(name),
            Token::Negate(at)
            | Token::Absolute(at)
            | Token::Invert(at)
            | Token::Suffix(at, ..)
            | Token::Symbol(at, _) => {
                Leftover::Operand(slots.iter().position(|&slot| slot == at).unwrap_or_default())
            }
        };
        return Err(EncodeError::Modifiers(op, leftover));
    }
    let (mut written, mut left_out) = (0, 0);
    let mut operands = slots.iter().zip(instruction.operands).enumerate().peekable();
    for (at, slot) in form.slots.iter().enumerate() {
        let Some((index, (_, operand))) = operands.next_if(|(_, (own, _))| usize::from(**own) == at) else {
            for field in slot.fields {
                left_out |= field.place(field.elided_bits().unwrap_or(0));
            }
            continue;
        };
        let bits = operand_bits(slot, operand).ok_or(EncodeError::Range(op, index))?;
        for (field, bits) in slot.fields.iter().zip(bits) {
            let placed = field.place(bits);
            if shared {
                // Two operands that share a field must be equal.
                let mask = field.mask();
                if written & mask != 0 && word & mask != placed {
                    return Err(EncodeError::Range(op, index));
                }
                written |= mask;
            }
            word |= placed;
        }
    }
    Ok(word | left_out | guard_bits(form, instruction.guard).ok_or(EncodeError::Guard(op))?)
}

/// True for a suffix that the form always has, of an omitted operand.
fn said_by_left_out(token: Token, slots: &[u8]) -> bool {
    match token {
        Token::Suffix(at, ..) => !slots.contains(&at),
        _ => false,
    }
}

/// The row that expresses most wanted tokens and no others.
fn best_row(set: &Set, wanted: &Wanted) -> Option<&'static form::Row> {
    if wanted.tokens.is_empty() {
        return set.rows.iter().find(|row| row.tokens.is_empty());
    }
    let mut best: Option<&'static form::Row> = None;
    for row in set.rows {
        if best.is_some_and(|best| row.tokens.len() <= best.tokens.len()) {
            continue;
        }
        if row.tokens.iter().all(|&token| wanted.has(token, set.slot).is_some()) {
            best = Some(row);
        }
    }
    best
}

/// The raw bits of an operand's fields, in the order of the slot's fields; `None` if a value does not fit.
pub(crate) fn operand_bits(slot: &Slot, operand: &Operand) -> Option<FieldBits> {
    use RegisterFile::{Barrier, General, Predicate, Uniform, UniformPredicate};
    let first = || slot.fields.first();
    let one = |bits: u64| Some(smallvec::smallvec![bits]);
    match operand.kind {
        OperandKind::Scoreboard(n) if u64::from(n) >= crate::decode::SCOREBOARDS => None,
        OperandKind::Reg(n) => one(first()?.named_bits(General, n)?),
        OperandKind::UReg(n) | OperandKind::MatrixDescriptor(n) | OperandKind::InstructionDescriptor(n) => {
            one(first()?.named_bits(Uniform, n)?)
        }
        OperandKind::TensorMemory { address, offset } => {
            let mut bits = FieldBits::new();
            bits.push(first()?.named_bits(Uniform, address)?);
            if let Some(field) = slot.fields.get(1) {
                bits.push(field.number_bits(offset as i64)?);
            }
            Some(bits)
        }
        OperandKind::Pred(n) => one(first()?.named_bits(Predicate, n)?),
        OperandKind::UPred(n) => one(first()?.named_bits(UniformPredicate, n)?),
        OperandKind::Barrier(n) => one(first()?.named_bits(Barrier, n)?),
        OperandKind::Scoreboard(n) | OperandKind::ScoreboardSet(n) => one(first()?.register_bits(n)?),
        OperandKind::Imm(value) => one(immediate_bits(first()?, value)?),
        OperandKind::Target(value) => one(first()?.number_bits(value)?),
        OperandKind::Float(value) => {
            let width = first()?.width();
            if width < 32 && value as u64 >> width != 0 { None } else { one(value as u64) }
        }
        OperandKind::Const { .. }
        | OperandKind::ConstIndexed { .. }
        | OperandKind::ConstUniformIndexed { .. }
        | OperandKind::ConstBindless { .. }
        | OperandKind::ConstBindlessIndexed { .. } => constant_bits(slot, operand.kind),
        OperandKind::Memory { .. } => memory_bits(slot, operand.kind),
        OperandKind::Attribute { base, uniform, offset } => {
            let (mut fields, mut bits) = (slot.fields.iter(), FieldBits::new());
            for (file, number) in [(General, base), (Uniform, uniform)] {
                if let Some(number) = number {
                    bits.push(fields.next()?.named_bits(file, number)?);
                }
            }
            if let Some(field) = fields.next() {
                bits.push(field.number_bits(offset as i64)?);
            }
            Some(bits)
        }
        OperandKind::Symbol(_) => Some(FieldBits::new()),
        OperandKind::SymbolNumber(_) => None,
    }
}

/// The raw bits of the fields of a slot.
pub(crate) type FieldBits = SmallVec<[u64; 4]>;

/// The field bits of a constant: bank or handle, optional index, and the offset.
fn constant_bits(slot: &Slot, kind: OperandKind) -> Option<FieldBits> {
    use RegisterFile::{General, Uniform};
    let fields = slot.fields;
    let mut bits = FieldBits::new();
    let (index, offset) = match kind {
        OperandKind::Const { bank, offset } => {
            bits.push(fields.first()?.register_bits(bank)?);
            (None, offset)
        }
        OperandKind::ConstIndexed { bank, index, offset } => {
            bits.push(fields.first()?.register_bits(bank)?);
            (Some((General, index)), offset)
        }
        OperandKind::ConstUniformIndexed { bank, index, offset } => {
            bits.push(fields.first()?.register_bits(bank)?);
            (Some((Uniform, index)), offset)
        }
        OperandKind::ConstBindless { handle, offset } => {
            bits.push(fields.first()?.named_bits(Uniform, handle)?);
            (None, offset)
        }
        OperandKind::ConstBindlessIndexed { handle, index, offset } => {
            bits.push(fields.first()?.named_bits(Uniform, handle)?);
            (Some((General, index)), offset)
        }
        _ => return None,
    };
    if let [_, field, _] = fields {
        // The slot has an index register; the operand without one names `RZ`.
        let (file, index) = index.unwrap_or((General, RZ));
        bits.push(field.named_bits(file, index)?);
    }
    let (field, value) = (fields.last()?, offset as i64);
    let (low, high) = field.range();
    // A 16-bit offset prints as signed, but may be given as unsigned as well.
    let halves =
        field.signed && high - low + field.scale as i64 == 0x10000 && (0x8000..0x10000).contains(&value);
    bits.push(field.number_bits(if halves { value - 0x10000 } else { value })?);
    Some(bits)
}

/// The field bits of a memory address.
fn memory_bits(slot: &Slot, kind: OperandKind) -> Option<FieldBits> {
    use RegisterFile::{General, Uniform};
    let OperandKind::Memory { descriptor, base, uniform, offset } = kind else { return None };
    let SlotKind::Memory {
        descriptor: with_descriptor,
        base: with_base,
        uniform: with_uniform,
        offset: with_offset,
    } = slot.kind
    else {
        return None;
    };
    let (mut fields, mut bits) = (slot.fields.iter(), FieldBits::new());
    let parts = [
        (with_descriptor, Uniform, descriptor),
        (with_base, General, base),
        (with_uniform, Uniform, uniform),
    ];
    for (_, file, number) in parts.into_iter().filter(|(present, ..)| *present) {
        let field = fields.next()?;
        bits.push(match number {
            Some(number) => field.named_bits(file, number)?,
            None => field.elided_bits()?,
        });
    }
    if with_offset {
        let field = fields.next()?;
        // Without a register the offset is the address itself, which counts from zero up.
        let alone = base.is_none_or(|base| base == RZ) && uniform.is_none();
        let unsigned = (offset >= 0 && (offset as u64) >> field.width() == 0).then_some(offset as u64);
        bits.push(field.number_bits(offset as i64).or(unsigned.filter(|_| alone))?);
    }
    Some(bits)
}

/// A 32-bit immediate may be given as signed or unsigned: the bits are equal.
fn immediate_bits(field: &Field, value: i64) -> Option<u64> {
    field.number_bits(value).or_else(|| {
        let whole = field.width() == 32 && field.scale == 1;
        let fits = (i32::MIN as i64..=u32::MAX as i64).contains(&value);
        match field.width() {
            // A 64-bit value with the highest bit set is negative here.
            64 => Some(value as u64),
            _ => (whole && fits).then_some(value as u32 as u64),
        }
    })
}

pub(crate) fn guard_bits(form: &Form, guard: Guard) -> Option<u128> {
    let always = guard.register == PT;
    if guard.register > PT || (!always && guard.uniform != form.uniform_guard) {
        return None;
    }
    Some((guard.register as u128) << 12 | (guard.negated as u128) << 15)
}
