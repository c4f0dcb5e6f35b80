//! Where things lie: the landmarks of a chip's constant bank 0 and reserved shared memory, the packing of
//! variables, and the padding after the code of a kernel. These rules are here because the compiler, the writer
//! and the simulator must agree on them; nothing here reads or writes a file.

/// The memory landmarks of one chip family; offsets in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Landmarks {
    /// Offset of the first parameter in constant bank 0.
    pub parameter_base: u32,
    /// Offset in bank 0 of the initial stack pointer (32 bits).
    pub stack_pointer: u32,
    /// Offset in bank 0 of the descriptor of global memory (64 bits).
    pub global_descriptor: u32,
    /// Bytes at the start of shared memory that the system keeps; static variables start here.
    pub reserved_shared: u32,
    /// Most bytes of parameters a kernel may have.
    pub parameter_limit: u32,
    /// Most bytes of static shared memory.
    pub static_shared_limit: u32,
    /// Most bytes of user constants (bank 3).
    pub constant_limit: u32,
}

/// sm_90 and sm_90a.
pub const HOPPER: Landmarks = Landmarks {
    parameter_base: 0x210,
    stack_pointer: 0x28,
    global_descriptor: 0x208,
    reserved_shared: 0x400,
    parameter_limit: 0x7ffc,
    static_shared_limit: 0xc000,
    constant_limit: 0x10000,
};

/// The landmarks of an SM number, `None` for a chip this crate has no rules for.
pub fn landmarks(sm: u16) -> Option<&'static Landmarks> {
    match sm {
        90 => Some(&HOPPER),
        _ => None,
    }
}

/// Sections of code start at multiples of this many bytes.
pub const TEXT_ALIGNMENT: u64 = 128;

/// `BRA .`: it follows the last instruction of a kernel, so that a run past the end stays put.
pub const SELF_BRANCH: u128 = 0x000fc0000383ffff_fffffffc00fc7947;

/// `NOP` as padding: the instruction prefetcher reads ahead over the end of the code.
pub const PADDING_NOP: u128 = 0x000fc00000000000_0000000000007918;

/// Least number of padding instructions.
const MINIMUM_PADDING: usize = 8;

/// Words in the section of a kernel whose code has this many: with the self branch, at least eight `NOP`s, and
/// padded to 128 bytes.
pub fn padded_words(code_words: usize) -> usize {
    (code_words + 1 + MINIMUM_PADDING).next_multiple_of(TEXT_ALIGNMENT as usize / 16)
}

/// Packs items of (size, alignment) bytes one after the other in order. Returns the offset of each, the total
/// size, and the largest alignment (at least 1). An alignment of 0 counts as 1.
pub fn pack(items: &[(u64, u64)]) -> (Vec<u64>, u64, u64) {
    let mut end = 0u64;
    let mut largest = 1u64;
    let mut offsets = Vec::with_capacity(items.len());
    for &(size, alignment) in items {
        let alignment = alignment.max(1);
        largest = largest.max(alignment);
        let offset = end.next_multiple_of(alignment);
        offsets.push(offset);
        end = offset.saturating_add(size);
    }
    (offsets, end, largest)
}
