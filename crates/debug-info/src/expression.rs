//! DWARF location expressions of variables.
//!
//! PTX has addresses of variables in them. A variable in a frame has no address that holds for all threads; its
//! location is relative to the frame.

use gimli::write::{EndianVec, Writer};
use gimli::{DW_OP_addr, DW_OP_fbreg, DW_OP_nop, LittleEndian};

/// Bytes of an address.
const ADDRESS_BYTES: usize = 8;

/// Rewrites the operation at the start of `expression`, a `DW_OP_addr`, to a `DW_OP_fbreg` with this offset from the
/// frame base, in as many bytes: unneeded bytes become `DW_OP_nop`. `None` if another operation is there.
pub fn to_frame_place(expression: &mut [u8], offset: i64) -> Option<()> {
    let (&mut operation, _) = expression.split_first_mut()?;
    let place = expression.get_mut(..=ADDRESS_BYTES)?;
    let mut operand = EndianVec::new(LittleEndian);
    operand.write_sleb128(offset).ok()?;
    let operand = operand.into_vec();
    if operation != DW_OP_addr.0 || operand.len() > ADDRESS_BYTES {
        return None;
    }
    place.fill(DW_OP_nop.0);
    place[0] = DW_OP_fbreg.0;
    place[1..=operand.len()].copy_from_slice(&operand);
    Some(())
}
