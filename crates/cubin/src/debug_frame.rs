//! `.debug_frame`: how to unwind each kernel and each function inside it. Debuggers and NVIDIA's tools expect the
//! section in every file; it is 64-bit DWARF version 3 with one common entry per function.

use crate::elf::Bytes;
use crate::image::{CalleeSaved, FrameRow, FrameRule};
use crate::rules::Rules;
use oriole_debug_info::MachineRegister;

/// Frame information of one function.
pub(crate) struct Frame<'a> {
    /// Size of the function in bytes of code.
    pub size: u64,
    /// Bytes of stack frame.
    pub frame_size: u32,
    /// Frame rules by offset; without rows, the frame is set up after the first instruction.
    pub rows: &'a [FrameRow],
    /// Offset of the function in the text.
    pub offset: u64,
    /// The return address.
    pub back: Back,
}

/// Return address of a function.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Back {
    /// Nothing: it is a kernel.
    Nowhere,
    /// A register pair with a text offset, for functions inside a kernel.
    Offset(u8),
    /// A register pair with an address.
    Address(u8),
}

/// An address field: its offset in the section, and the addend to the kernel's address.
pub(crate) struct AddressField {
    /// Offset in the section.
    pub at: u64,
    /// Offset in the kernel's text.
    pub addend: u64,
    /// The address that it holds.
    pub what: AddressKind,
}

/// Kinds of address fields.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum AddressKind {
    /// A text offset.
    Place,
    /// The size of the function.
    Size,
    /// Offset of its common entry in the section.
    Common,
}

const DW64: u32 = 0xffff_ffff;
/// The register number after the last general register: it means the return address.
const RETURN_PSEUDO_REGISTER: MachineRegister = MachineRegister::general(u8::MAX);
/// The stack pointer `R1`.
const STACK_POINTER: MachineRegister = MachineRegister::general(1);
const DEF_CFA: u8 = 0x0c;
const UNDEFINED: u8 = 0x07;
const SAME_VALUE: u8 = 0x08;
const VAL_EXPRESSION: u8 = 0x16;
const ADVANCE_LOC4: u8 = 0x04;
const OFFSET_EXTENDED: u8 = 0x05;
const RESTORE_EXTENDED: u8 = 0x06;
const REGISTER: u8 = 0x09;
/// Alignment factors: units of code offsets, and of negative data offsets.
const CODE_ALIGNMENT: u32 = 4;
const DATA_ALIGNMENT: u32 = 4;
/// Bytes of the instruction that sets up the stack pointer.
const FIRST_INSTRUCTION: u32 = 16;

fn register(out: &mut Bytes, register: MachineRegister) {
    uleb(out, u64::from(register.number()));
}

fn uleb(out: &mut Bytes, mut value: u64) {
    loop {
        let low = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            out.u8(low);
            return;
        }
        out.u8(low | 0x80);
    }
}

/// Begins an entry; returns the offset of its 64-bit length field.
fn begin(out: &mut Bytes) -> usize {
    out.u32(DW64);
    let at = out.len();
    out.u64(0);
    at
}

/// Ends the entry whose length field is at `length_at`: its body is padded, so that entries end on multiples of 8
/// bytes.
fn end(out: &mut Bytes, length_at: usize) {
    // Entries begin on such a multiple too, since all before are padded.
    out.align(8);
    let length = (out.len() - length_at - 8) as u64;
    out.patch(length_at, &length.to_le_bytes());
}

/// The preservation of each register by a callee, in the order of ptxas, which omits `P1` and `UP1`. A kernel has no
/// caller, so its registers do not matter.
fn kept_registers(
    rules: &Rules,
    saved: &CalleeSaved,
    is_kernel: bool,
) -> impl Iterator<Item = (MachineRegister, bool)> {
    let (registers, saved) = (rules.registers, *saved);
    let (kept_end, end) = rules.family.unwound_uniforms;
    let told_predicates = |count: u8| (0..count).filter(|&number| number != 1);
    let uniforms = registers.uniform.first_usable..end;
    let keeps_uniform = move |number| !is_kernel && (saved.first_uniform..kept_end).contains(&number);
    let generals = 0..registers.general.count;
    let keeps_general = move |number| {
        MachineRegister::general(number) == STACK_POINTER || !is_kernel && saved.has_general(number)
    };
    let uniform_predicates = told_predicates(registers.uniform_predicate.count);
    std::iter::once((RETURN_PSEUDO_REGISTER, true))
        .chain(uniform_predicates.map(|number| (MachineRegister::uniform_predicate(number), false)))
        .chain(uniforms.map(move |number| (MachineRegister::uniform(number), keeps_uniform(number))))
        .chain(std::iter::once((MachineRegister::CONDITION_CODE, false)))
        .chain(
            told_predicates(registers.predicate.count)
                .map(|number| (MachineRegister::predicate(number), false)),
        )
        .chain(generals.map(move |number| (MachineRegister::general(number), keeps_general(number))))
}

fn append_rows(out: &mut Bytes, rows: &[FrameRow]) {
    let mut last = 0;
    for row in rows {
        if row.offset != last {
            out.u8(ADVANCE_LOC4).u32((row.offset - last) / CODE_ALIGNMENT);
            last = row.offset;
        }
        let general = MachineRegister::general;
        match row.rule {
            FrameRule::Frame { register: base, bytes } => {
                out.u8(DEF_CFA);
                register(out, general(base));
                uleb(out, u64::from(bytes));
            }
            FrameRule::Saved { register: number, below } => {
                out.u8(OFFSET_EXTENDED);
                register(out, general(number));
                uleb(out, u64::from(below / DATA_ALIGNMENT));
            }
            FrameRule::Held { register: number, by } => {
                out.u8(REGISTER);
                register(out, general(number));
                register(out, general(by));
            }
            FrameRule::Restored(number) => {
                out.u8(RESTORE_EXTENDED);
                register(out, general(number));
            }
            FrameRule::Lost(number) => {
                out.u8(UNDEFINED);
                register(out, general(number));
            }
        }
    }
}

/// Appends the two entries of one function; returns its address fields: code addresses, and those that a linker needs
/// to move entries or drop functions. `saved` lists callee-saved registers, if the common entry is to describe every
/// register.
pub(crate) fn append(
    out: &mut Bytes,
    frame: &Frame<'_>,
    rules: &Rules,
    saved: Option<&CalleeSaved>,
) -> impl Iterator<Item = AddressField> + use<> {
    let common_at = out.len() as u64;
    let common = begin(out);
    out.u64(u64::MAX).u8(3).u8(0).u8(CODE_ALIGNMENT as u8).u8((DATA_ALIGNMENT as u8).wrapping_neg() & 0x7f);
    match frame.back {
        Back::Nowhere => uleb(out, 0xffff_ffff),
        Back::Offset(low) | Back::Address(low) => register(out, MachineRegister::general(low)),
    }
    out.u8(DEF_CFA);
    register(out, STACK_POINTER);
    out.u8(0);
    // Functions inside a kernel have a private convention.
    let saved = saved.filter(|_| !matches!(frame.back, Back::Offset(_)));
    if let Some(saved) = saved {
        for (number, is_kept) in kept_registers(rules, saved, frame.back == Back::Nowhere) {
            out.u8(if is_kept { SAME_VALUE } else { UNDEFINED });
            register(out, number);
        }
    } else {
        let pair = match frame.back {
            Back::Address(low) => Some([low, low + 1].map(MachineRegister::general)),
            Back::Nowhere | Back::Offset(_) => None,
        };
        for number in [RETURN_PSEUDO_REGISTER, STACK_POINTER].into_iter().chain(pair.into_iter().flatten()) {
            out.u8(SAME_VALUE);
            register(out, number);
        }
    }
    let offset = match frame.back {
        Back::Offset(low) => Some(MachineRegister::general(low)),
        Back::Nowhere | Back::Address(_) => None,
    };
    let start_field = offset.map(|low| {
        out.u8(SAME_VALUE);
        register(out, low);
        out.u8(VAL_EXPRESSION);
        register(out, low);
        // DW_OP_addr (start of the text), DW_OP_bregx (the return offset), DW_OP_plus.
        out.u8(0x10).u8(0x03);
        let at = out.len() as u64;
        out.u64(0).u8(0x92);
        register(out, low);
        out.u8(0).u8(0x22);
        AddressField { at, addend: 0, what: AddressKind::Place }
    });
    end(out, common);

    let own = begin(out);
    let common_field = AddressField { at: out.len() as u64, addend: common_at, what: AddressKind::Common };
    out.u64(common_at);
    let offset_field = AddressField { at: out.len() as u64, addend: frame.offset, what: AddressKind::Place };
    out.u64(0);
    let size_field = AddressField { at: out.len() as u64, addend: 0, what: AddressKind::Size };
    out.u64(frame.size);
    if !frame.rows.is_empty() {
        append_rows(out, frame.rows);
    } else if frame.back == Back::Nowhere || frame.frame_size != 0 {
        out.u8(ADVANCE_LOC4).u32(FIRST_INSTRUCTION / CODE_ALIGNMENT).u8(DEF_CFA);
        register(out, STACK_POINTER);
        uleb(out, u64::from(frame.frame_size));
    }
    end(out, own);
    start_field.into_iter().chain([common_field, offset_field, size_field])
}
