//! Fills memory with one byte.

use core::arch::x86_64::_mm_set1_epi8;

use crate::vector::{LINE, Line, VECTOR, store};

/// Fills bytes with one value: `memset`.
///
/// # Safety
/// `bytes` bytes may be written at `to`.
#[inline]
pub unsafe fn fill(to: *mut u8, value: u8, bytes: usize) {
    // SAFETY: every x86-64 has SSE2; the length is at least that of the pieces, so all of them are within it.
    unsafe {
        let vector = _mm_set1_epi8(value.cast_signed());
        if bytes > LINE {
            let (line, behind) = (Line(vector, vector, vector, vector), bytes - LINE);
            let mut at = 0;
            while at < behind {
                line.store(to.add(at));
                at += LINE;
            }
            line.store(to.add(behind));
        } else if bytes > 2 * VECTOR {
            store(to, vector);
            store(to.add(VECTOR), vector);
            store(to.add(bytes - 2 * VECTOR), vector);
            store(to.add(bytes - VECTOR), vector);
        } else if bytes >= VECTOR {
            store(to, vector);
            store(to.add(bytes - VECTOR), vector);
        } else {
            short(to, value, bytes);
        }
    }
}

/// Fills less than a vector.
///
/// # Safety
/// `bytes` bytes, less than 16, may be written at `to`.
#[inline(always)]
unsafe fn short(to: *mut u8, value: u8, bytes: usize) {
    let word = u64::from_ne_bytes([value; 8]);
    // SAFETY: the length is at least that of the pieces.
    unsafe {
        if bytes >= size_of::<u64>() {
            to.cast::<u64>().write_unaligned(word);
            to.add(bytes - size_of::<u64>()).cast::<u64>().write_unaligned(word);
        } else if bytes >= size_of::<u32>() {
            to.cast::<u32>().write_unaligned(word as u32);
            to.add(bytes - size_of::<u32>()).cast::<u32>().write_unaligned(word as u32);
        } else if bytes >= size_of::<u16>() {
            to.cast::<u16>().write_unaligned(word as u16);
            to.add(bytes - size_of::<u16>()).cast::<u16>().write_unaligned(word as u16);
        } else if bytes == 1 {
            *to = value;
        }
    }
}
