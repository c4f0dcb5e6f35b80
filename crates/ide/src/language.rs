//! The language of a file. Rules of a language are in the files that read it.

/// The language of a file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Language {
    /// PTX.
    Ptx,
    /// CUDA C++ with inline PTX in `asm` statements.
    Cuda,
    /// Rust with inline PTX in `asm!`.
    Rust,
}
