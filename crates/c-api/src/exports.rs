//! The functions as C calls them. Each converts pointers to values, calls the compiler of the handle, and writes the
//! answer to the caller's memory.

#![allow(non_snake_case, reason = "the names are those that callers know")]

use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::pointer::{copy, copy_log, guarded, log_size, put, strings};
use crate::{Code, Compiler, Flow};

/// The handle of a text.
pub type Handle = *mut Compiler;

/// The callback: its arguments are the caller's pointer, and a null one.
pub type Callback = extern "C" fn(*mut c_void, *mut c_void) -> c_int;

/// Calls a function with the compiler of a handle.
///
/// # Safety
/// The handle is null or comes from [`nvPTXCompilerCreate`] and has not been destroyed.
unsafe fn with(handle: Handle, act: impl FnOnce(&Compiler) -> Code) -> Code {
    // SAFETY: the caller's promise; only shared references are ever made of it.
    match unsafe { handle.as_ref() } {
        None => Code::InvalidCompilerHandle,
        Some(compiler) => guarded(Code::Internal, || act(compiler)),
    }
}

/// The result code for a pointer that may have been null.
fn written(done: bool) -> Code {
    if done { Code::Success } else { Code::InvalidInput }
}

/// The version of the interface: that of the CUDA toolkit whose library this replaces.
///
/// # Safety
/// The pointers are null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvPTXCompilerGetVersion(major: *mut c_uint, minor: *mut c_uint) -> Code {
    if major.is_null() || minor.is_null() {
        return Code::InvalidInput;
    }
    let (toolkit_major, toolkit_minor) = oriole_ptxas::TOOLKIT;
    // SAFETY: the caller's promise for both.
    written(unsafe { put(major, toolkit_major) && put(minor, toolkit_minor) })
}

/// Number of supported PTX versions.
///
/// # Safety
/// The pointer is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvPTXCompilerGetNumSupportedVersions(count: *mut c_int) -> Code {
    // SAFETY: the caller's promise.
    written(unsafe { put(count, oriole_ptxas::ISA_VERSIONS.len() as c_int) })
}

/// The supported versions of PTX, major and minor number each, in ascending order.
///
/// # Safety
/// The pointer is null, or as many pairs may be written as [`nvPTXCompilerGetNumSupportedVersions`] returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvPTXCompilerGetSupportedVersions(versions: *mut [c_int; 2]) -> Code {
    if versions.is_null() {
        return Code::InvalidInput;
    }
    for (at, &(major, minor)) in oriole_ptxas::ISA_VERSIONS.iter().enumerate() {
        // SAFETY: the caller's promise: there are as many pairs.
        unsafe { versions.add(at).write([c_int::from(major), c_int::from(minor)]) };
    }
    Code::Success
}

/// Creates a handle for a text, which is copied.
///
/// # Safety
/// `compiler` is null or may be written; `text` is null or as many bytes as `length` says may be read from it on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvPTXCompilerCreate(
    compiler: *mut Handle,
    length: usize,
    text: *const c_char,
) -> Code {
    if compiler.is_null() || text.is_null() || length == 0 {
        return Code::InvalidInput;
    }
    guarded(Code::Internal, || {
        // SAFETY: the caller's promise.
        let bytes = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), length) };
        let handle = Box::into_raw(Box::new(Compiler::new(bytes)));
        // SAFETY: the caller's promise.
        written(unsafe { put(compiler, handle) })
    })
}

/// Destroys a handle and sets it to null.
///
/// # Safety
/// `compiler` is null, or it points to null or to a handle that is no longer in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvPTXCompilerDestroy(compiler: *mut Handle) -> Code {
    if compiler.is_null() {
        return Code::InvalidInput;
    }
    // SAFETY: the caller's promise.
    let handle = unsafe { compiler.replace(std::ptr::null_mut()) };
    if handle.is_null() {
        return Code::InvalidCompilerHandle;
    }
    guarded(Code::Internal, || {
        // SAFETY: it was made by `Box::into_raw` in `nvPTXCompilerCreate`, and is no longer in use.
        drop(unsafe { Box::from_raw(handle) });
        Code::Success
    })
}

/// Compiles. The options are those of ptxas, each a string, or an option and its value in two.
///
/// # Safety
/// The handle is null or alive; `options` is null or points to `count` strings that end with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvPTXCompilerCompile(
    compiler: Handle,
    count: c_int,
    options: *const *const c_char,
) -> Code {
    let act = |compiler: &Compiler| {
        let Ok(count) = usize::try_from(count) else { return Code::InvalidInput };
        // SAFETY: the caller's promise.
        let Some(words) = (unsafe { strings(count, options) }) else { return Code::InvalidInput };
        compiler.compile(&words)
    };
    // SAFETY: the caller's promise.
    unsafe { with(compiler, act) }
}

/// The bytes of the program that the last compile made.
///
/// # Safety
/// The handle is null or alive; `size` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvPTXCompilerGetCompiledProgramSize(compiler: Handle, size: *mut usize) -> Code {
    let act = |compiler: &Compiler| {
        if size.is_null() {
            return Code::InvalidInput;
        }
        // SAFETY: the caller's promise.
        let found = compiler.with_program(|program| written(unsafe { put(size, program.len()) }));
        found.unwrap_or(Code::CompilerInvocationIncomplete)
    };
    // SAFETY: the caller's promise.
    unsafe { with(compiler, act) }
}

/// The program that the last compile made.
///
/// # Safety
/// The handle is null or alive; `image` is null, or as many bytes as the program has may be written from it on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvPTXCompilerGetCompiledProgram(compiler: Handle, image: *mut c_void) -> Code {
    let act = |compiler: &Compiler| {
        // SAFETY: the caller's promise.
        let found = compiler.with_program(|program| written(unsafe { copy(program, image.cast()) }));
        found.unwrap_or(Code::CompilerInvocationIncomplete)
    };
    // SAFETY: the caller's promise.
    unsafe { with(compiler, act) }
}

/// Bytes of the error log with its zero byte; 0 if it is empty.
///
/// # Safety
/// The handle is null or alive; `size` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvPTXCompilerGetErrorLogSize(compiler: Handle, size: *mut usize) -> Code {
    // SAFETY: the caller's promise.
    unsafe { with(compiler, |compiler| compiler.with_errors(|log| written(put(size, log_size(log))))) }
}

/// The error log of the last compile.
///
/// # Safety
/// The handle is null or alive; `log` is null or has room for the log and a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvPTXCompilerGetErrorLog(compiler: Handle, log: *mut c_char) -> Code {
    // SAFETY: the caller's promise.
    unsafe { with(compiler, |compiler| compiler.with_errors(|found| written(copy_log(found, log)))) }
}

/// Bytes of the log of warnings and information with its zero byte; 0 if it is empty.
///
/// # Safety
/// The handle is null or alive; `size` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvPTXCompilerGetInfoLogSize(compiler: Handle, size: *mut usize) -> Code {
    // SAFETY: the caller's promise.
    unsafe { with(compiler, |compiler| compiler.with_info(|log| written(put(size, log_size(log))))) }
}

/// The log of warnings and information of the last compile.
///
/// # Safety
/// The handle is null or alive; `log` is null or has room for the log and a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvPTXCompilerGetInfoLog(compiler: Handle, log: *mut c_char) -> Code {
    // SAFETY: the caller's promise.
    unsafe { with(compiler, |compiler| compiler.with_info(|found| written(copy_log(found, log)))) }
}

/// The caller's pointer that is passed to its callback, on any thread.
struct Payload(*mut c_void);

// SAFETY: it is never dereferenced here; that the callback may be called from any thread is part of the interface.
unsafe impl Send for Payload {}

impl Payload {
    fn pointer(&self) -> *mut c_void {
        self.0
    }
}

/// Sets a function that is called while a compile runs, from any thread; if it returns 1, the compile is cancelled.
///
/// # Safety
/// The handle is null or alive; the callback may be called with the payload from any thread until the handle is destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvPTXCompilerSetFlowCallback(
    compiler: Handle,
    callback: Option<Callback>,
    payload: *mut c_void,
) -> Code {
    let payload = Payload(payload);
    let act = move |compiler: &Compiler| {
        let Some(callback) = callback else { return Code::InvalidInput };
        let flow: Flow = Box::new(move || callback(payload.pointer(), std::ptr::null_mut()) == 1);
        compiler.set_flow(flow);
        Code::Success
    };
    // SAFETY: the caller's promise.
    unsafe { with(compiler, act) }
}
