//! The result of a compile: the container, and the resources of its functions.

use oriole_queries::Compiled;
use oriole_queries::view::Resources;

use crate::Report;

/// A compiled module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cubin {
    /// The container, an ELF file that the CUDA driver loads.
    pub bytes: Vec<u8>,
    /// The resources of the kernels, and of the functions that they call, in the order of the text.
    pub functions: Vec<Resources>,
    /// Warnings.
    pub warnings: Report,
}

/// The result of a compile, without types of the database.
pub(crate) fn of(text: &str, compiled: Compiled, functions: Vec<Resources>) -> Result<Cubin, Report> {
    let report = Report::new(text, compiled.diagnostics);
    match compiled.cubin {
        Some(bytes) => Ok(Cubin { bytes: bytes.to_vec(), functions, warnings: report }),
        None => Err(report),
    }
}
