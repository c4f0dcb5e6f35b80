//! Classes of bytes.

/// By byte: whether it may be part of a name. Every byte of every name is looked up here: a table is quicker than comparing.
static NAME: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0u8;
    while byte < 128 {
        table[byte as usize] = byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$';
        byte += 1;
    }
    table
};

/// Whether a byte may be part of a name.
#[inline]
pub(crate) fn is_name_byte(byte: u8) -> bool {
    NAME[usize::from(byte)]
}

/// Whether a byte is white space.
#[inline]
pub(crate) const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}
