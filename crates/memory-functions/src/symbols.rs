//! The names by which the compiler and musl call these functions. The linker prefers them to those of the C library,
//! from which it takes undefined symbols only.

use core::ffi::{c_int, c_void};

use crate::{compare, copy, copy_overlapping, fill};

/// # Safety
/// As [`copy`].
#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(to: *mut c_void, from: *const c_void, bytes: usize) -> *mut c_void {
    // SAFETY: the same promises.
    unsafe { copy(to.cast(), from.cast(), bytes) };
    to
}

/// # Safety
/// As [`copy_overlapping`].
#[unsafe(no_mangle)]
unsafe extern "C" fn memmove(to: *mut c_void, from: *const c_void, bytes: usize) -> *mut c_void {
    // SAFETY: the same promises.
    unsafe { copy_overlapping(to.cast(), from.cast(), bytes) };
    to
}

/// # Safety
/// As [`fill`].
#[unsafe(no_mangle)]
unsafe extern "C" fn memset(to: *mut c_void, value: c_int, bytes: usize) -> *mut c_void {
    // SAFETY: the same promises; C passes the byte as an `int` of which the lowest eight bits count.
    unsafe { fill(to.cast(), value as u8, bytes) };
    to
}

/// # Safety
/// As [`compare`].
#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(left: *const c_void, right: *const c_void, bytes: usize) -> c_int {
    // SAFETY: the same promises.
    unsafe { compare(left.cast(), right.cast(), bytes) }
}

/// Whether bytes differ; the compiler calls it where the order does not matter.
///
/// # Safety
/// As [`compare`].
#[unsafe(no_mangle)]
unsafe extern "C" fn bcmp(left: *const c_void, right: *const c_void, bytes: usize) -> c_int {
    // SAFETY: the same promises.
    unsafe { compare(left.cast(), right.cast(), bytes) }
}
