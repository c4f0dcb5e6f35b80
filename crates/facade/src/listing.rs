//! Machine code as text. Only what a cubin says enters: no PTX, no layout of columns.

use crate::run::RunError;
use oriole_explore::code_lines;
use oriole_ide::chip_of;
use std::fmt;

/// The code of a kernel, or of a function with a section of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listing {
    /// Its name.
    pub name: String,
    /// General registers of a thread.
    pub registers: u32,
    /// Bytes of its own stack frame.
    pub frame_bytes: u32,
    /// Its instructions: the offset in bytes, and the text with control words, as `oriole asm` reads it.
    pub instructions: Vec<(u64, String)>,
}

impl fmt::Display for Listing {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "// {} registers {} frame {}", self.name, self.registers, self.frame_bytes)?;
        self.instructions.iter().try_for_each(|(address, text)| writeln!(out, "/*{address:04x}*/ {text}"))
    }
}

/// Disassembles a cubin, of this compiler or of another. A word that is not a known instruction is shown as a number.
///
/// # Errors
/// The bytes are no cubin, or one for a chip whose code cannot be read.
pub fn disassemble(cubin: &[u8]) -> Result<Vec<Listing>, RunError> {
    let cubin = oriole_cubin::read(cubin).map_err(|error| RunError::Cubin(error.to_string()))?;
    let chip = chip_of(&cubin).map_err(|error| RunError::Cubin(error.to_string()))?;
    let listings = cubin.codes().map(|kernel| Listing {
        name: kernel.name.clone(),
        registers: kernel.registers,
        frame_bytes: kernel.frame_size,
        instructions: code_lines(chip, kernel, oriole_sass::Style::Exact)
            .map(|line| (line.address, line.text))
            .collect(),
    });
    Ok(listings.collect())
}
