//! The text of an instruction, in the spelling of NVIDIA's disassembler, with its omissions and its alternative names
//! (`IMAD.MOV`). The exact style adds what that spelling loses: payloads of NaNs, and the scheduling control after a
//! semicolon.

use crate::choose::{Resolved, choose};
use crate::error::EncodeError;
use crate::fill::operand_bits;
use crate::form::{self, Elided, Form, Place, SELF, Slot, SlotKind, Table, Token, can_be_left_out};
use crate::register::{PT, RZ, URZ};
use crate::{Control, Instruction, Mod, Op, Operand, OperandKind, float};
use oriole_chip::Chip;
use smallvec::SmallVec;
use std::fmt::Write as _;

/// Text styles.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Style {
    /// As NVIDIA's disassembler prints it.
    #[default]
    Plain,
    /// The disassembler's spelling, with everything that is needed to get the same word back.
    Exact,
}

/// The text of an instruction at `address` (bytes from the start of its section; branch targets are
/// absolute in the text). Without an address targets are written relative, `.+0x40`.
pub fn text(
    chip: Chip,
    instruction: &Instruction,
    address: Option<u64>,
    style: Style,
) -> Result<String, EncodeError> {
    let table = form::table(chip).ok_or(EncodeError::UnsupportedChip(chip))?;
    let (resolved, _) = choose(table, instruction)?;
    Ok(Printer { table, instruction, resolved: &resolved, address, style }.print())
}

/// The mnemonic with its modifiers.
pub(crate) fn head(table: &'static Table, instruction: &Instruction, resolved: &Resolved) -> String {
    let mut out = instruction.op.name().to_owned();
    if let Some(name) = alias(instruction, resolved.form) {
        let _ = write!(out, ".{name}");
    }
    let order = table.order(instruction.op);
    let rank = |name: &Mod| order.iter().position(|each| each == name).unwrap_or(order.len());
    let mut mods: Vec<Mod> = instruction.mods.iter().collect();
    mods.sort_by_key(rank);
    for name in mods {
        let _ = write!(out, ".{}", name.spelling());
    }
    out
}

/// Alternative name of a multiply by zero, one or a power of two.
fn alias(instruction: &Instruction, form: &Form) -> Option<&'static str> {
    if instruction.op != Op::IMAD || form.opcode() & 0x1ff != 0x024 || instruction.mods.has(Mod::X) {
        return None;
    }
    let [_, a, b, c, ..] = instruction.operands.as_slice() else { return None };
    let uniform =
        |operand: &Operand| matches!(operand.kind, OperandKind::UReg(_) | OperandKind::ConstBindless { .. });
    if uniform(b) || uniform(c) {
        return None;
    }
    let zero = |operand: &Operand| operand.kind == OperandKind::Reg(RZ);
    match b.kind {
        _ if zero(a) || zero(b) => Some("MOV"),
        OperandKind::Imm(0) => Some("MOV"),
        OperandKind::Imm(1) => Some(if zero(c) { "MOV" } else { "IADD" }),
        // The disassembler keeps the plain name for a shift by sixteen.
        OperandKind::Imm(0x10000) => None,
        OperandKind::Imm(value) if value > 0 && value & (value - 1) == 0 && zero(c) => Some("SHL"),
        _ => None,
    }
}

/// True for jumps that write their register and the distance from it without a comma.
pub(crate) fn is_indirect_jump(op: Op) -> bool {
    op.info().indirect
}

struct Printer<'a> {
    table: &'static Table,
    instruction: &'a Instruction,
    resolved: &'a Resolved,
    address: Option<u64>,
    style: Style,
}

impl Printer<'_> {
    fn print(&self) -> String {
        let mut out = String::new();
        let guard = self.instruction.guard;
        if guard.register != PT || guard.negated {
            let negated = if guard.negated { "!" } else { "" };
            let uniform = guard.uniform || self.resolved.form.uniform_guard;
            let _ = write!(out, "@{negated}{} ", predicate(if uniform { "UP" } else { "P" }, guard.register));
        }
        out.push_str(&head(self.table, self.instruction, self.resolved));
        let mut separator = " ";
        for (operand, &at) in self.instruction.operands.iter().zip(&self.resolved.slots) {
            let slot = &self.resolved.form.slots[at as usize];
            if self.is_left_out(slot, operand) {
                continue;
            }
            out.push_str(separator);
            let jump_base = is_indirect_jump(self.instruction.op)
                && matches!(operand.kind, OperandKind::Reg(_) | OperandKind::UReg(_));
            separator = if jump_base { " " } else { ", " };
            self.operand(&mut out, operand, slot, at);
        }
        if self.style == Style::Exact {
            out.push_str(" ;");
            control(&mut out, self.instruction.control);
            for (operand, &at) in self.instruction.operands.iter().zip(&self.resolved.slots) {
                let slot = &self.resolved.form.slots[at as usize];
                if let (OperandKind::Memory { descriptor: Some(n), .. }, Some(_)) =
                    (operand.kind, slot.hidden_descriptor())
                {
                    let _ = write!(out, " desc={n}");
                }
            }
        }
        out
    }

    fn is_left_out(&self, slot: &Slot, operand: &Operand) -> bool {
        // A barrier that only arrives, or that reduces, prints its thread count.
        let counted = self.instruction.mods.has(Mod::ARV) || self.instruction.mods.has(Mod::SCAN);
        if self.instruction.op == Op::BAR && counted {
            return false;
        }
        let signed = operand.negate || operand.absolute || operand.invert;
        if signed || !operand.suffixes.is_empty() || !can_be_left_out(slot) {
            return false;
        }
        let Some(bits) = operand_bits(slot, operand) else { return false };
        let mut fields = slot.fields.iter().zip(bits);
        fields.all(|(field, bits)| field.elided != Elided::Written && field.elided_bits() == Some(bits))
    }

    fn operand(&self, out: &mut String, operand: &Operand, slot: &Slot, at: u8) {
        if operand.negate {
            out.push('-');
        }
        if operand.invert {
            let predicate = matches!(slot.kind, SlotKind::Pred | SlotKind::UPred);
            out.push(if predicate { '!' } else { '~' });
        }
        if operand.absolute {
            out.push('|');
        }
        self.core(out, operand, slot, at);
        // The suffix for the half of a general register, or for the whole operand, is written after the bars, any
        // other within.
        let half = |suffix: Mod| matches!(suffix, Mod::H0_H0 | Mod::H1_H1 | Mod::H0_NH1 | Mod::F32);
        // Byte and nibble suffixes of packed values come after the bars, too.
        let packed = matches!(self.instruction.op, Op::QADD4 | Op::QMUL4 | Op::QFMA4);
        let behind = |suffix: Mod| packed || half(suffix) || self.place(at, suffix) == Place::End;
        let bars_first = matches!(operand.kind, OperandKind::Reg(_)) && operand.suffixes.iter().all(behind);
        if operand.absolute && bars_first {
            out.push('|');
        }
        if operand.reuse {
            out.push_str(".reuse");
        }
        let inner = matches!(operand.kind, OperandKind::Memory { .. } | OperandKind::Attribute { .. });
        for suffix in self.suffixes(operand) {
            if !inner || self.place(at, suffix) == Place::End {
                let _ = write!(out, ".{}", suffix.spelling());
            }
        }
        if operand.absolute && !bars_first {
            out.push('|');
        }
    }

    /// The suffixes in text order. Those of MMA factors in tensor memory are in the order of the opcode.
    fn suffixes(&self, operand: &Operand) -> SmallVec<[Mod; 4]> {
        let mut suffixes: SmallVec<[Mod; 4]> = operand.suffixes.iter().collect();
        if matches!(operand.kind, OperandKind::MatrixDescriptor(_) | OperandKind::TensorMemory { .. }) {
            let order = self.table.order(self.instruction.op);
            suffixes.sort_by_key(|name| order.iter().position(|each| each == name).unwrap_or(order.len()));
        }
        suffixes
    }

    /// Text position of an operand suffix.
    fn place(&self, at: u8, suffix: Mod) -> Place {
        let form = self.resolved.form;
        let of = |own: u8, slot: u8| if own == SELF { slot } else { own };
        let find = |tokens: &[Token], slot: u8| {
            tokens.iter().find_map(|&token| match token {
                Token::Suffix(own, place, name) if of(own, slot) == at && name == suffix => Some(place),
                _ => None,
            })
        };
        find(form.always, SELF)
            .or_else(|| {
                form.sets.iter().find_map(|set| set.rows.iter().find_map(|row| find(row.tokens, set.slot)))
            })
            .unwrap_or(Place::End)
    }

    /// The suffixes of the n-th register inside an address.
    fn inner_suffixes(&self, out: &mut String, operand: &Operand, at: u8, part: u8) {
        for suffix in operand.suffixes.iter() {
            if self.place(at, suffix) == Place::Part(part) {
                let _ = write!(out, ".{}", suffix.spelling());
            }
        }
    }

    fn core(&self, out: &mut String, operand: &Operand, slot: &Slot, at: u8) {
        let text = match operand.kind {
            OperandKind::Reg(n) => register("R", n),
            OperandKind::UReg(n) => register("UR", n),
            OperandKind::Pred(n) => predicate("P", n),
            OperandKind::UPred(n) => predicate("UP", n),
            OperandKind::Barrier(n) => format!("B{n}"),
            OperandKind::Scoreboard(n) => format!("SB{n}"),
            OperandKind::Imm(value) => {
                // The same 32 bits have one spelling, whether they were given as signed or unsigned.
                let field = slot.fields.first();
                let value = match (field, operand_bits(slot, operand)) {
                    (Some(field), Some(bits)) => field.number(bits[0]),
                    _ => value,
                };
                // 64-bit values are printed without sign.
                if field.is_some_and(|field| field.width() == 64) {
                    format!("{value:#x}")
                } else {
                    hex(value)
                }
            }
            OperandKind::Float(bits) => {
                let kind = match slot.kind {
                    SlotKind::Float(kind) => float::kind_under(kind, &self.instruction.mods),
                    _ => form::FloatKind::F32,
                };
                float::text(kind, bits, self.style == Style::Exact)
            }
            OperandKind::Const { .. }
            | OperandKind::ConstIndexed { .. }
            | OperandKind::ConstUniformIndexed { .. }
            | OperandKind::ConstBindless { .. }
            | OperandKind::ConstBindlessIndexed { .. } => {
                constant(operand.kind, self.instruction.op == Op::ULDC)
            }
            OperandKind::MatrixDescriptor(n) => format!("gdesc[{}]", register("UR", n)),
            OperandKind::TensorMemory { address, offset } => {
                let address = (address != URZ || offset == 0).then(|| register("UR", address));
                format!("tmem[{}]", sum(&[address], offset))
            }
            OperandKind::InstructionDescriptor(n) => {
                let behind = register("UR", n.saturating_add(1));
                format!("tmem[{}], idesc[{behind}]", register("UR", n))
            }
            OperandKind::Memory { .. } => return self.memory(out, operand, slot, at),
            OperandKind::Attribute { base, uniform, offset } => {
                let uniform = uniform.filter(|&n| n != URZ || offset == 0 || !hides_zero_uniform(slot));
                let parts = [base.map(|base| register("R", base)), uniform.map(|n| register("UR", n))];
                format!("a[{}]", sum(&parts, offset))
            }
            OperandKind::Target(distance) => match self.address {
                Some(address) => {
                    let end = (address as i64).wrapping_add(self.table.words().end(0));
                    hex(end.wrapping_add(distance))
                }
                None => format!(".{}{:#x}", if distance < 0 { '-' } else { '+' }, distance.unsigned_abs()),
            },
            OperandKind::Symbol(symbol) => symbol.name().to_owned(),
            OperandKind::SymbolNumber(number) => format!("SR{number}"),
            OperandKind::ScoreboardSet(set) => {
                let members: Vec<String> =
                    (0..6).rev().filter(|n| set >> n & 1 == 1).map(|n: u8| n.to_string()).collect();
                format!("{{{}}}", members.join(","))
            }
        };
        out.push_str(&text);
    }

    /// A memory address, with the descriptor before it.
    fn memory(&self, out: &mut String, operand: &Operand, slot: &Slot, at: u8) {
        let OperandKind::Memory { descriptor, base, uniform, offset } = operand.kind else { return };
        let first = descriptor.is_some() as usize;
        if let (Some(descriptor), None) = (descriptor, slot.hidden_descriptor()) {
            let _ = write!(out, "desc[{}]", register("UR", descriptor));
        }
        if base.is_none() && uniform.is_none() && !matches!(slot.kind, SlotKind::Memory { offset: true, .. })
        {
            return;
        }
        let with_base = matches!(slot.kind, SlotKind::Memory { base: true, .. });
        let mut parts = [None, None];
        let quirks = self.instruction.op.info().text;
        let wide = !quirks.zero_uniform || operand.has(Mod::_64);
        let alone = base.is_none() && offset == 0;
        let uniform = uniform.filter(|&n| n != URZ || alone || !(wide && hides_zero_uniform(slot)));
        let hidden = self.hides_zero_base(operand, slot, uniform, offset);
        if hidden && base.is_none_or(|base| base == RZ) && uniform.is_none() {
            // An address without a register is unsigned; these opcodes still treat it as an offset.
            let width = slot.fields.last().map_or(32, |field| field.width()).min(32);
            let unsigned = (offset as u32 & (u32::MAX >> (32 - width))) as i64;
            let _ = write!(out, "[{}]", hex(if quirks.signed_offset { offset as i64 } else { unsigned }));
            return;
        }
        if let Some(base) = base.filter(|&base| base != RZ || !hidden) {
            let mut text = register("R", base);
            // The scale of an index that is zero is not written.
            let idle = base == RZ && uniform.is_none() && self.style == Style::Plain;
            if !(idle && quirks.scaled_base) {
                self.inner_suffixes(&mut text, operand, at, first as u8);
            }
            parts[0] = Some(text);
        }
        if let Some(uniform) = uniform {
            let n = first + with_base as usize;
            let mut text = register("UR", uniform);
            self.inner_suffixes(&mut text, operand, at, n as u8);
            parts[1] = Some(text);
        }
        let _ = write!(out, "[{}]", sum(&parts, offset));
        if let (Some(uniform), true) = (uniform, quirks.next_register) {
            let _ = write!(out, ", [{}]", register("UR", uniform.saturating_add(1)));
        }
    }

    /// `RZ` as a base is not written where something else remains between the brackets.
    fn hides_zero_base(&self, operand: &Operand, slot: &Slot, uniform: Option<u8>, offset: i32) -> bool {
        let SlotKind::Memory { descriptor, base: true, .. } = slot.kind else { return false };
        let may = slot.fields.get(descriptor as usize).is_some_and(|field| field.elided_bits().is_some());
        let dropped = uniform.is_none() && self.style == Style::Plain && self.instruction.op != Op::LDGSTS;
        let plain = operand.suffixes.is_empty() || dropped;
        may && plain && (uniform.is_some() || offset != 0)
    }
}

/// A constant of a bank, direct or through a handle. `URZ` as an index is printed where the opcode always does so.
fn constant(kind: OperandKind, writes_zero: bool) -> String {
    match kind {
        OperandKind::Const { bank, offset } => format!("c[{bank:#x}][{}]", hex(wrap(offset))),
        OperandKind::ConstIndexed { bank, index, offset } => {
            let index = (index != RZ || offset == 0).then(|| register("R", index));
            format!("c[{bank:#x}][{}]", sum(&[index], offset))
        }
        OperandKind::ConstUniformIndexed { bank, index, offset } => {
            let index = (index != URZ || offset == 0 || writes_zero).then(|| register("UR", index));
            format!("c[{bank:#x}][{}]", sum(&[index], offset))
        }
        OperandKind::ConstBindless { handle, offset } => {
            format!("cx[{}][{}]", register("UR", handle), hex(offset as i64))
        }
        OperandKind::ConstBindlessIndexed { handle, index, offset } => {
            // Without an index the offset is unsigned.
            let alone = index == RZ;
            let offset = if alone { offset & 0xffff } else { offset };
            let index = (!alone).then(|| register("R", index));
            format!("cx[{}][{}]", register("UR", handle), sum(&[index], offset))
        }
        _ => String::new(),
    }
}

/// True if `URZ` in this address is not written.
fn hides_zero_uniform(slot: &Slot) -> bool {
    match slot.kind {
        SlotKind::Memory { descriptor, base, uniform: true, .. } => slot
            .fields
            .get(descriptor as usize + base as usize)
            .is_some_and(|field| field.elided_bits().is_some()),
        SlotKind::Attribute { base, uniform: true, .. } => {
            slot.fields.get(base as usize).is_some_and(|field| field.elided_bits().is_some())
        }
        _ => false,
    }
}

/// Constant offsets have sixteen bits and are written signed.
fn wrap(offset: i32) -> i64 {
    offset as i16 as i64
}

fn register(file: &str, number: u8) -> String {
    if number == RZ || number == URZ { format!("{file}Z") } else { format!("{file}{number}") }
}

fn predicate(file: &str, number: u8) -> String {
    if number == PT { format!("{file}T") } else { format!("{file}{number}") }
}

fn hex(value: i64) -> String {
    if value < 0 { format!("-{:#x}", value.unsigned_abs()) } else { format!("{value:#x}") }
}

/// The parts of an address; a zero offset is omitted, unless it is the only part.
fn sum(parts: &[Option<String>], offset: i32) -> String {
    let mut words: Vec<String> = parts.iter().flatten().cloned().collect();
    if offset != 0 || words.is_empty() {
        words.push(hex(offset as i64));
    }
    words.join("+")
}

fn control(out: &mut String, control: Control) {
    let _ = write!(out, " stall={}", control.stall);
    if control.yields {
        out.push_str(" yield");
    }
    if let Some(barrier) = control.write_barrier {
        let _ = write!(out, " write={barrier}");
    }
    if let Some(barrier) = control.read_barrier {
        let _ = write!(out, " read={barrier}");
    }
    if control.wait_mask != 0 {
        let waits: Vec<String> =
            (0..8).filter(|n| control.wait_mask >> n & 1 == 1).map(|n: u8| n.to_string()).collect();
        let _ = write!(out, " wait={}", waits.join(","));
    }
    if control.batch != 0 {
        let _ = write!(out, " batch={}", control.batch);
    }
}
