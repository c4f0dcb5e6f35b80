//! Comparisons.

use core::arch::x86_64::{_mm_cmpeq_epi8, _mm_movemask_epi8};

use crate::vector::{VECTOR, load};

/// Compares bytes as unsigned integers: `memcmp`. The result is negative where the first differing byte is less in
/// `left`, zero where none differs.
///
/// # Safety
/// `bytes` bytes may be read at `left` and at `right`.
#[inline]
pub unsafe fn compare(left: *const u8, right: *const u8, bytes: usize) -> i32 {
    // SAFETY: the length is at least that of the pieces, so all of them are within it.
    unsafe {
        if bytes >= VECTOR {
            let behind = bytes - VECTOR;
            let mut at = 0;
            while at < behind {
                let differs = vectors(left.add(at), right.add(at));
                if differs != 0 {
                    return differs;
                }
                at += VECTOR;
            }
            return vectors(left.add(behind), right.add(behind));
        }
        if bytes >= size_of::<u64>() {
            let behind = bytes - size_of::<u64>();
            return words(
                (u64_at(left), u64_at(left.add(behind))),
                (u64_at(right), u64_at(right.add(behind))),
            );
        }
        if bytes >= size_of::<u32>() {
            let behind = bytes - size_of::<u32>();
            return words(
                (u32_at(left), u32_at(left.add(behind))),
                (u32_at(right), u32_at(right.add(behind))),
            );
        }
        for at in 0..bytes {
            let (left, right) = (*left.add(at), *right.add(at));
            if left != right {
                return i32::from(left) - i32::from(right);
            }
        }
    }
    0
}

/// Compares vectors.
///
/// # Safety
/// 16 bytes may be read at `left` and at `right`.
#[inline(always)]
unsafe fn vectors(left: *const u8, right: *const u8) -> i32 {
    // SAFETY: as the caller promises; there are 16 bytes, and the index of a differing one is less.
    unsafe {
        let equal = _mm_movemask_epi8(_mm_cmpeq_epi8(load(left), load(right)));
        let differs = equal ^ 0xffff;
        if differs == 0 {
            return 0;
        }
        let at = differs.trailing_zeros() as usize;
        i32::from(*left.add(at)) - i32::from(*right.add(at))
    }
}

/// Compares the words at the beginning, and where they are equal those up to the end.
#[inline(always)]
fn words(left: (u64, u64), right: (u64, u64)) -> i32 {
    left.cmp(&right) as i32
}

/// A word with the first byte as its highest, so that it compares as its bytes do.
///
/// # Safety
/// 8 bytes may be read.
#[inline(always)]
unsafe fn u64_at(at: *const u8) -> u64 {
    // SAFETY: as the caller promises; the address need not be aligned.
    u64::from_be(unsafe { at.cast::<u64>().read_unaligned() })
}

/// A word of 4 bytes with the first byte as its highest.
///
/// # Safety
/// 4 bytes may be read.
#[inline(always)]
unsafe fn u32_at(at: *const u8) -> u64 {
    // SAFETY: as the caller promises; the address need not be aligned.
    u64::from(u32::from_be(unsafe { at.cast::<u32>().read_unaligned() }))
}
