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
    /// The register pair with the return offset, for functions inside a kernel.
    pub return_register: Option<u8>,
}

/// An address field: where in the section, and what is added to the kernel's address there.
pub(crate) struct AddressField {
    /// Offset in the section.
    pub at: u64,
    /// Offset in the kernel's text.
    pub addend: u64,
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

/// Appends an entry: its 64-bit length, then the body padded to 8 bytes.
fn entry(out: &mut Bytes, body: &Bytes) {
    let mut padded = body.clone();
    // The 12 bytes before the body count: entries end on multiples of 8 bytes.
    while !(padded.len() + 12).is_multiple_of(8) {
        padded.u8(0);
    }
    out.u32(DW64).u64(padded.len() as u64).raw(&padded.0);
}

/// Appends the two entries of one function; returns its address fields.
pub(crate) fn append(out: &mut Bytes, frame: &Frame) -> Vec<AddressField> {
    let mut fields = Vec::new();
    let common_at = out.len() as u64;
    let mut common = Bytes::default();
    common.u64(u64::MAX).u8(3).u8(0).u8(4).u8(0x7c);
    match frame.return_register {
        None => {
            uleb(&mut common, 0xffff_ffff);
        }
        Some(low) => register(&mut common, low),
    }
    common.u8(DEF_CFA);
    register(&mut common, STACK_POINTER);
    common.u8(0);
    for number in [RETURN_PSEUDO_REGISTER, STACK_POINTER] {
        common.u8(SAME_VALUE);
        register(&mut common, number);
    }
    if let Some(low) = frame.return_register {
        common.u8(SAME_VALUE);
        register(&mut common, low);
        common.u8(VAL_EXPRESSION);
        register(&mut common, low);
        // DW_OP_addr (start of the text), DW_OP_bregx (the return offset), DW_OP_plus.
        common.u8(0x10).u8(0x03);
        fields.push(AddressField { at: common_at + 12 + common.len() as u64, addend: 0 });
        common.u64(0).u8(0x92);
        register(&mut common, low);
        common.u8(0).u8(0x22);
    }
    entry(out, &common);

    let start = out.len() as u64 + 12 + 8;
    let mut body = Bytes::default();
    body.u64(common_at).u64(0).u64(frame.size);
    fields.push(AddressField { at: start, addend: frame.offset });
    if frame.return_register.is_none() || frame.frame_size != 0 {
        body.u8(ADVANCE_LOC4).u32(frame.established_at.max(16) / 4).u8(DEF_CFA);
        register(&mut body, 1);
        uleb(&mut body, u64::from(frame.frame_size));
    }
    entry(out, &body);
    fields
}
