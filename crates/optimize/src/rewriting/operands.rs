//! Operands of the rewritten instructions: what is plain, and how a number or an addend next to a carry is written. No
//! instruction may enter.

use oriole_ori::Source;

pub fn plain_immediate(bits: u32) -> Source {
    if bits == 0 { Source::rz() } else { Source::imm(bits) }
}

/// An operand of an add with carry-in, without sign and complement, and whether its complement is added. With a
/// carry-in, a minus sign means the complement too.
pub fn beside_a_carry(source: &Source) -> (Source, bool) {
    (Source { negate: false, invert: false, ..source.clone() }, source.negate ^ source.invert)
}

pub fn is_bare(source: &Source) -> bool {
    !source.negate
        && !source.absolute
        && !source.invert
        && source.suffixes.is_empty()
        && source.fixed.is_none()
}
