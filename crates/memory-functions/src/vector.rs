//! Pieces of memory that are read and written at once, at any address: a vector of 16 bytes, and a line of four of
//! them.

use core::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_storeu_si128};

/// Size of a vector in bytes.
pub const VECTOR: usize = 16;

/// Size of a line in bytes.
pub const LINE: usize = 4 * VECTOR;

/// Reads a vector.
///
/// # Safety
/// The 16 bytes from here on may be read.
#[inline(always)]
pub unsafe fn load(from: *const u8) -> __m128i {
    // SAFETY: as the caller promises; the address need not be aligned.
    unsafe { _mm_loadu_si128(from.cast()) }
}

/// Writes a vector.
///
/// # Safety
/// The 16 bytes from here on may be written.
#[inline(always)]
pub unsafe fn store(to: *mut u8, value: __m128i) {
    // SAFETY: as the caller promises; the address need not be aligned.
    unsafe { _mm_storeu_si128(to.cast(), value) }
}

/// A line in registers. Four variables, not an array, which might have to be copied by a function of this crate.
#[derive(Clone, Copy)]
pub struct Line(pub __m128i, pub __m128i, pub __m128i, pub __m128i);

impl Line {
    /// Reads a line.
    ///
    /// # Safety
    /// The 64 bytes from here on may be read.
    #[inline(always)]
    pub unsafe fn load(from: *const u8) -> Line {
        // SAFETY: all four are within the 64 bytes.
        unsafe {
            Line(load(from), load(from.add(VECTOR)), load(from.add(2 * VECTOR)), load(from.add(3 * VECTOR)))
        }
    }

    /// Writes a line.
    ///
    /// # Safety
    /// The 64 bytes from here on may be written.
    #[inline(always)]
    pub unsafe fn store(self, to: *mut u8) {
        // SAFETY: all four are within the 64 bytes.
        unsafe {
            store(to, self.0);
            store(to.add(VECTOR), self.1);
            store(to.add(2 * VECTOR), self.2);
            store(to.add(3 * VECTOR), self.3);
        }
    }
}
