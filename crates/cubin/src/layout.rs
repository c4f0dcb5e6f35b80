//! Layout rules: the packing of variables, and the padding after the code of a kernel. They are here because the
//! compiler, the writer and the simulator must agree on them; nothing here reads or writes a file.

use oriole_chip::WordShape;

/// Sections of code start at multiples of this many bytes.
pub const TEXT_ALIGNMENT: u64 = 128;

/// Minimum count of padding instructions.
const MINIMUM_PADDING: usize = 8;

/// Words in the section of a kernel whose code has this many: with the self branch, at least eight `NOP`s, and
/// padded to 128 bytes.
pub fn padded_words(shape: WordShape, code_words: usize) -> usize {
    (code_words + 1 + MINIMUM_PADDING).next_multiple_of(shape.index(TEXT_ALIGNMENT as u32) as usize)
}

/// Packs items of (size, alignment) bytes in order. Returns the offset of each, the total size, and the largest
/// alignment (at least 1). An alignment of 0 counts as 1.
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
