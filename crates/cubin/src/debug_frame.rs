//! `.debug_frame`: how to unwind each kernel and each function inside it. Debuggers and NVIDIA's tools expect the
//! section in every file; it is 64-bit DWARF version 3 with one common entry per function.

use crate::elf::Bytes;

/// What the section says of one function.
pub(crate) struct Frame {
    /// Size of the function in bytes of code.
    pub size: u64,
    /// Bytes of stack frame.
    pub frame_size: u32,
    /// Offset in the function from which on the frame is set up.
    pub established_at: u32,
    /// Offset of the function in the text.
    pub offset: u64,
    /// Where the caller goes on.
    pub back: Back,
}

/// What leads back to the caller.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Back {
    /// Nothing: it is a kernel.
    Nowhere,
    /// A register pair with an offset in the text, of functions inside a kernel.
    Offset(u8),
    /// A register pair with an address.
    Address(u8),
}

/// An address field: where in the section, and what is added to the kernel's address there.
pub(crate) struct AddressField {
    /// Offset in the section.
    pub at: u64,
    /// Offset in the kernel's text.
    pub addend: u64,
    /// What of the function it is.
    pub what: AddressKind,
}

/// What an address field holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum AddressKind {
    /// A place in the text.
    Place,
    /// The size of the function.
    Size,
    /// Where its common entry is in the section.
    Common,
}

const DW64: u32 = 0xffff_ffff;
/// The number behind the last general register: it means the return address.
const RETURN_PSEUDO_REGISTER: u8 = u8::MAX;
/// The stack pointer `R1`.
const STACK_POINTER: u8 = 1;
const DEF_CFA: u8 = 0x0c;
const SAME_VALUE: u8 = 0x08;
const VAL_EXPRESSION: u8 = 0x16;
const ADVANCE_LOC4: u8 = 0x04;

/// Appends a register number: class 5 (general registers) in bits 24 and up, as four bytes of ULEB128.
fn register(out: &mut Bytes, number: u8) {
    let mut value = 5u32 << 24 | u32::from(number);
    // All register numbers of this class need exactly four groups of seven bits, the stored form of the field.
    for _ in 0..3 {
        out.u8((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.u8(value as u8);
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

/// Begins an entry; gives where its 64-bit length is to stand.
fn begin(out: &mut Bytes) -> usize {
    out.u32(DW64);
    let at = out.len();
    out.u64(0);
    at
}

/// Ends the entry whose length stands there: its body is padded, so that entries end on multiples of 8 bytes.
fn end(out: &mut Bytes, length_at: usize) {
    // Entries begin on such a multiple too, since all before are padded.
    out.align(8);
    let length = (out.len() - length_at - 8) as u64;
    out.patch(length_at, &length.to_le_bytes());
}

/// Appends the two entries of one function; gives its address fields: places in the text, and what a linker must know that
/// moves entries or leaves functions out.
pub(crate) fn append(out: &mut Bytes, frame: &Frame) -> impl Iterator<Item = AddressField> + use<> {
    let common_at = out.len() as u64;
    let common = begin(out);
    out.u64(u64::MAX).u8(3).u8(0).u8(4).u8(0x7c);
    match frame.back {
        Back::Nowhere => uleb(out, 0xffff_ffff),
        Back::Offset(low) | Back::Address(low) => register(out, low),
    }
    out.u8(DEF_CFA);
    register(out, STACK_POINTER);
    out.u8(0);
    for number in [RETURN_PSEUDO_REGISTER, STACK_POINTER] {
        out.u8(SAME_VALUE);
        register(out, number);
    }
    if let Back::Address(low) = frame.back {
        for number in [low, low + 1] {
            out.u8(SAME_VALUE);
            register(out, number);
        }
    }
    let offset = match frame.back {
        Back::Offset(low) => Some(low),
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
    if frame.back == Back::Nowhere || frame.frame_size != 0 {
        out.u8(ADVANCE_LOC4).u32(frame.established_at.max(16) / 4).u8(DEF_CFA);
        register(out, STACK_POINTER);
        uleb(out, u64::from(frame.frame_size));
    }
    end(out, own);
    start_field.into_iter().chain([common_field, offset_field, size_field])
}
