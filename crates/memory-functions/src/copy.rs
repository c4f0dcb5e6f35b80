//! Copies. Where ranges may overlap, up to 256 bytes are all read before the first is written. A length between two
//! powers of two is two pieces of the smaller power, one from the beginning and one up to the end, which overlap in the
//! middle.

use crate::vector::{LINE, Line, VECTOR, load, store};

/// Copies bytes between disjoint ranges: `memcpy`.
///
/// # Safety
/// `bytes` bytes may be read at `from` and written at `to`, and the two ranges do not overlap.
#[inline]
pub unsafe fn copy(to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: as the caller promises; each function is called for lengths that it takes.
    unsafe {
        // The longer ones first: most calls are for values of more than 128 bytes, as shorter moves are inlined.
        if bytes > 2 * LINE {
            forwards(to, from, bytes);
        } else {
            short(to, from, bytes);
        }
    }
}

/// Copies bytes between ranges that may overlap: `memmove`.
///
/// # Safety
/// `bytes` bytes may be read at `from` and written at `to`.
#[inline]
pub unsafe fn copy_overlapping(to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: as the caller promises; each function is called for lengths that it takes.
    unsafe {
        if bytes <= 2 * LINE {
            short(to, from, bytes);
        } else if bytes <= 4 * LINE {
            let (first, second) = (Line::load(from), Line::load(from.add(LINE)));
            let (third, last) = (Line::load(from.add(bytes - 2 * LINE)), Line::load(from.add(bytes - LINE)));
            first.store(to);
            second.store(to.add(LINE));
            third.store(to.add(bytes - 2 * LINE));
            last.store(to.add(bytes - LINE));
        } else if to.addr().wrapping_sub(from.addr()) >= bytes {
            // It is written before the range that is read, or after its end.
            forwards(to, from, bytes);
        } else {
            backwards(to, from, bytes);
        }
    }
}

/// Copies at most 128 bytes; all are read before one is written.
///
/// # Safety
/// `bytes` bytes, at most 128, may be read at `from` and written at `to`.
#[inline(always)]
unsafe fn short(to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: the length is at least that of the pieces, so all of them are within it.
    unsafe {
        if bytes > LINE {
            let (first, last) = (Line::load(from), Line::load(from.add(bytes - LINE)));
            first.store(to);
            last.store(to.add(bytes - LINE));
        } else if bytes > 2 * VECTOR {
            let (first, second) = (load(from), load(from.add(VECTOR)));
            let (third, last) = (load(from.add(bytes - 2 * VECTOR)), load(from.add(bytes - VECTOR)));
            store(to, first);
            store(to.add(VECTOR), second);
            store(to.add(bytes - 2 * VECTOR), third);
            store(to.add(bytes - VECTOR), last);
        } else if bytes > VECTOR {
            let (first, last) = (load(from), load(from.add(bytes - VECTOR)));
            store(to, first);
            store(to.add(bytes - VECTOR), last);
        } else if bytes >= size_of::<u64>() {
            ends::<u64>(to, from, bytes);
        } else if bytes >= size_of::<u32>() {
            ends::<u32>(to, from, bytes);
        } else if bytes >= size_of::<u16>() {
            ends::<u16>(to, from, bytes);
        } else if bytes == 1 {
            *to = *from;
        }
    }
}

/// Copies the piece at the beginning and the one up to the end.
///
/// # Safety
/// `bytes` bytes, at least one piece and at most two, may be read at `from` and written at `to`.
#[inline(always)]
unsafe fn ends<T: Copy>(to: *mut u8, from: *const u8, bytes: usize) {
    let behind = bytes - size_of::<T>();
    // SAFETY: the length is at least that of a piece; the addresses need not be aligned.
    unsafe {
        let (first, last) =
            (from.cast::<T>().read_unaligned(), from.add(behind).cast::<T>().read_unaligned());
        to.cast::<T>().write_unaligned(first);
        to.add(behind).cast::<T>().write_unaligned(last);
    }
}

/// Copies line by line, the first one first. A line is read before it is written, and the last one at the beginning: it may share
/// bytes with the line before it.
///
/// # Safety
/// `bytes` bytes, at least 64, may be read at `from` and written at `to`, and `to` is not within those that are read.
#[inline(always)]
unsafe fn forwards(to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: all lines are within the length.
    unsafe {
        let behind = bytes - LINE;
        let last = Line::load(from.add(behind));
        let mut at = 0;
        while at < behind {
            Line::load(from.add(at)).store(to.add(at));
            at += LINE;
        }
        last.store(to.add(behind));
    }
}

/// Copies line by line, the last one first.
///
/// # Safety
/// `bytes` bytes, at least 64, may be read at `from` and written at `to`, and `from` is not within those that are
/// written.
#[inline(always)]
unsafe fn backwards(to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: all lines are within the length.
    unsafe {
        let first = Line::load(from);
        let mut end = bytes;
        while end > LINE {
            end -= LINE;
            Line::load(from.add(end)).store(to.add(end));
        }
        first.store(to);
    }
}
