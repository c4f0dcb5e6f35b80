//! Conversion of pointers to values, and back to the caller's memory. Every function returns false or nothing for a
//! null pointer.

use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs a function, and returns the other value if it panics: nothing may unwind into C.
pub fn guarded<T>(panicked: T, act: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(act)).unwrap_or(panicked)
}

/// Writes a value.
///
/// # Safety
/// The pointer is null or may be written.
pub unsafe fn put<T>(place: *mut T, value: T) -> bool {
    if place.is_null() {
        return false;
    }
    // SAFETY: the caller's promise, and it is not null.
    unsafe { place.write(value) };
    true
}

/// Copies bytes.
///
/// # Safety
/// The pointer is null, or as many bytes may be written from it on.
pub unsafe fn copy(bytes: &[u8], place: *mut u8) -> bool {
    if place.is_null() {
        return false;
    }
    // SAFETY: the caller's promise; the caller's memory is not ours, so that the two do not overlap.
    unsafe { place.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    true
}

/// The size of a log with the zero byte after it; 0 for an empty one.
pub fn log_size(log: &str) -> usize {
    if log.is_empty() { 0 } else { log.len() + 1 }
}

/// Copies a log and a zero byte; for an empty one the zero byte alone.
///
/// # Safety
/// The pointer is null, or that many bytes may be written from it on.
pub unsafe fn copy_log(log: &str, place: *mut c_char) -> bool {
    // SAFETY: the caller's promise.
    let copied = unsafe { copy(log.as_bytes(), place.cast()) };
    if copied {
        // SAFETY: the caller's promise: there is a byte more.
        unsafe { place.add(log.len()).write(0) };
    }
    copied
}

/// Strings; `None` if one of them is null.
///
/// # Safety
/// The pointer is null or points to `count` pointers, each null or to a string that ends with a zero byte.
pub unsafe fn strings(count: usize, strings: *const *const c_char) -> Option<Vec<String>> {
    if count > 0 && strings.is_null() {
        return None;
    }
    // SAFETY: the caller's promise: there are `count` pointers.
    let pointers = (0..count).map(|at| unsafe { strings.add(at).read() });
    // SAFETY: the caller's promise: each is null or ends with a zero byte.
    pointers.map(|pointer| unsafe { string(pointer) }).collect()
}

/// A string.
///
/// # Safety
/// The pointer is null or to a string that ends with a zero byte.
pub unsafe fn string(pointer: *const c_char) -> Option<String> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    Some(unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned())
}
