//! The result codes of the compiler library, with the numbers of NVIDIA's header.

/// The result code of a library function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub enum Code {
    /// Done.
    Success = 0,
    /// The handle is null.
    InvalidCompilerHandle = 1,
    /// A required pointer is null, or a size is zero.
    InvalidInput = 2,
    /// The text or an option is wrong; the error log has the message.
    CompilationFailure = 3,
    /// An internal error of the compiler.
    Internal = 4,
    /// Never returned: the process ends if there is no memory.
    OutOfMemory = 5,
    /// Nothing has been compiled, or the compile failed.
    CompilerInvocationIncomplete = 6,
    /// The text's `.version` is newer than the compiler.
    UnsupportedPtxVersion = 7,
    /// Never returned: device-side synchronization compiles.
    UnsupportedDevsideSync = 8,
    /// The callback cancelled the compile.
    Cancelled = 9,
}
