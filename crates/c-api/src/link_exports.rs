//! The linking library's functions as C calls them, each under its name and under the versioned one of its CUDA 13.0
//! header.

#![allow(non_snake_case, reason = "the names are those that callers know")]

use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::linker::{LinkCode, Linker};
use crate::pointer::{copy, copy_log, guarded, log_size, put, string, strings};

/// The handle of a list of options.
pub type LinkHandle = *mut Linker;

/// Calls a function with the linker of a handle.
///
/// # Safety
/// The handle is null or comes from [`nvJitLinkCreate`] and has not been destroyed.
unsafe fn with(handle: LinkHandle, act: impl FnOnce(&Linker) -> LinkCode) -> LinkCode {
    // SAFETY: the caller's promise; only shared references are ever made of it.
    match unsafe { handle.as_ref() } {
        None => LinkCode::NullInput,
        Some(linker) => guarded(LinkCode::Internal, || act(linker)),
    }
}

/// The result code for a pointer that may have been null.
fn written(done: bool) -> LinkCode {
    if done { LinkCode::Success } else { LinkCode::NullInput }
}

/// Exports a function under two names.
macro_rules! exported {
    ($(#[$doc:meta])* $name:ident, $versioned:ident ($($argument:ident: $type:ty),*) $body:block) => {
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> LinkCode $body

        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $versioned($($argument: $type),*) -> LinkCode {
            // SAFETY: the same promise.
            unsafe { $name($($argument),*) }
        }
    };
}

/// The CUDA release whose options and messages these are.
///
/// # Safety
/// The pointers are null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvJitLinkVersion(major: *mut c_uint, minor: *mut c_uint) -> LinkCode {
    let (toolkit_major, toolkit_minor) = oriole_ptxas::TOOLKIT;
    // SAFETY: the caller's promise for both.
    written(unsafe { put(major, toolkit_major) && put(minor, toolkit_minor) })
}

exported! {
    /// Creates a handle for options. If one is wrong the handle is created all the same, and its error log says which.
    ///
    /// # Safety
    /// `handle` is null or may be written; `options` is null or points to `count` strings that end with a zero byte.
    nvJitLinkCreate, __nvJitLinkCreate_13_0(handle: *mut LinkHandle, count: u32, options: *const *const c_char) {
        if handle.is_null() || options.is_null() {
            return LinkCode::NullInput;
        }
        guarded(LinkCode::Internal, || {
            // SAFETY: the caller's promise.
            let Some(options) = (unsafe { strings(count as usize, options) }) else {
                return LinkCode::NullInput;
            };
            let (linker, code) = Linker::new(&options);
            // SAFETY: the caller's promise.
            unsafe { put(handle, Box::into_raw(Box::new(linker))) };
            code
        })
    }
}

exported! {
    /// Destroys a handle and sets it to null.
    ///
    /// # Safety
    /// `handle` is null, or it points to null or to a handle that is no longer in use.
    nvJitLinkDestroy, __nvJitLinkDestroy_13_0(handle: *mut LinkHandle) {
        if handle.is_null() {
            return LinkCode::NullInput;
        }
        // SAFETY: the caller's promise.
        let linker = unsafe { handle.replace(std::ptr::null_mut()) };
        if linker.is_null() {
            return LinkCode::NullInput;
        }
        guarded(LinkCode::Internal, || {
            // SAFETY: it was made by `Box::into_raw` in `nvJitLinkCreate`, and is no longer in use.
            drop(unsafe { Box::from_raw(linker) });
            LinkCode::Success
        })
    }
}

exported! {
    /// Adds a text, which is compiled at once.
    ///
    /// # Safety
    /// The handle is null or alive; `data` is null or as many bytes as `size` says may be read from it on; `name` is null or ends
    /// with a zero byte.
    nvJitLinkAddData, __nvJitLinkAddData_13_0(
        handle: LinkHandle, kind: c_int, data: *const c_void, size: usize, name: *const c_char
    ) {
        let act = |linker: &Linker| {
            if data.is_null() {
                return LinkCode::NullInput;
            }
            // SAFETY: the caller's promise.
            let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), size) };
            // SAFETY: the caller's promise.
            let name = unsafe { string(name) };
            linker.add(kind, bytes, name.as_deref().unwrap_or_default())
        };
        // SAFETY: the caller's promise.
        unsafe { with(handle, act) }
    }
}

exported! {
    /// Adds a file. Oriole's libraries open none: the caller reads it.
    ///
    /// # Safety
    /// The handle is null or alive.
    nvJitLinkAddFile, __nvJitLinkAddFile_13_0(handle: LinkHandle, _kind: c_int, _name: *const c_char) {
        // SAFETY: the caller's promise.
        unsafe { with(handle, Linker::add_file) }
    }
}

exported! {
    /// Ends the list of inputs.
    ///
    /// # Safety
    /// The handle is null or alive.
    nvJitLinkComplete, __nvJitLinkComplete_13_0(handle: LinkHandle) {
        // SAFETY: the caller's promise.
        unsafe { with(handle, Linker::complete) }
    }
}

exported! {
    /// The bytes of the cubin.
    ///
    /// # Safety
    /// The handle is null or alive; `size` is null or may be written.
    nvJitLinkGetLinkedCubinSize, __nvJitLinkGetLinkedCubinSize_13_0(handle: LinkHandle, size: *mut usize) {
        let act = |linker: &Linker| {
            // SAFETY: the caller's promise.
            let found = linker.with_cubin(|cubin| written(unsafe { put(size, cubin.len()) }));
            found.unwrap_or(LinkCode::Internal)
        };
        // SAFETY: the caller's promise.
        unsafe { with(handle, act) }
    }
}

exported! {
    /// The cubin.
    ///
    /// # Safety
    /// The handle is null or alive; `cubin` is null, or as many bytes as it has may be written from it on.
    nvJitLinkGetLinkedCubin, __nvJitLinkGetLinkedCubin_13_0(handle: LinkHandle, cubin: *mut c_void) {
        let act = |linker: &Linker| {
            // SAFETY: the caller's promise.
            let found = linker.with_cubin(|bytes| written(unsafe { copy(bytes, cubin.cast()) }));
            found.unwrap_or(LinkCode::Internal)
        };
        // SAFETY: the caller's promise.
        unsafe { with(handle, act) }
    }
}

exported! {
    /// There is no linked PTX: that requires NVVM intermediate code.
    ///
    /// # Safety
    /// The handle is null or alive.
    nvJitLinkGetLinkedPtxSize, __nvJitLinkGetLinkedPtxSize_13_0(handle: LinkHandle, _size: *mut usize) {
        // SAFETY: the caller's promise.
        unsafe { with(handle, |_| LinkCode::InvalidInput) }
    }
}

exported! {
    /// There is no linked PTX: that requires NVVM intermediate code.
    ///
    /// # Safety
    /// The handle is null or alive.
    nvJitLinkGetLinkedPtx, __nvJitLinkGetLinkedPtx_13_0(handle: LinkHandle, _ptx: *mut c_char) {
        // SAFETY: the caller's promise.
        unsafe { with(handle, |_| LinkCode::InvalidInput) }
    }
}

exported! {
    /// Bytes of the error log with its zero byte; 0 if it is empty.
    ///
    /// # Safety
    /// The handle is null or alive; `size` is null or may be written.
    nvJitLinkGetErrorLogSize, __nvJitLinkGetErrorLogSize_13_0(handle: LinkHandle, size: *mut usize) {
        // SAFETY: the caller's promise.
        unsafe { with(handle, |linker| linker.with_errors(|log| written(put(size, log_size(log))))) }
    }
}

exported! {
    /// The error log with a zero byte.
    ///
    /// # Safety
    /// The handle is null or alive; `log` is null or has room for the log and a zero byte.
    nvJitLinkGetErrorLog, __nvJitLinkGetErrorLog_13_0(handle: LinkHandle, log: *mut c_char) {
        // SAFETY: the caller's promise.
        unsafe { with(handle, |linker| linker.with_errors(|found| written(copy_log(found, log)))) }
    }
}

exported! {
    /// Bytes of the log of warnings and information with its zero byte; 0 if it is empty.
    ///
    /// # Safety
    /// The handle is null or alive; `size` is null or may be written.
    nvJitLinkGetInfoLogSize, __nvJitLinkGetInfoLogSize_13_0(handle: LinkHandle, size: *mut usize) {
        // SAFETY: the caller's promise.
        unsafe { with(handle, |linker| linker.with_info(|log| written(put(size, log_size(log))))) }
    }
}

exported! {
    /// The log of warnings and information with a zero byte.
    ///
    /// # Safety
    /// The handle is null or alive; `log` is null or has room for the log and a zero byte.
    nvJitLinkGetInfoLog, __nvJitLinkGetInfoLog_13_0(handle: LinkHandle, log: *mut c_char) {
        // SAFETY: the caller's promise.
        unsafe { with(handle, |linker| linker.with_info(|found| written(copy_log(found, log)))) }
    }
}
