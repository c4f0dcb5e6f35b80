//! Machine code line by line, as the assembler reads it again. Here, because programs that embed the compiler show the same lines
//! as the command line; no file and no layout of columns may enter.

use oriole_chip::Chip;
use oriole_cubin::read::Kernel;
use oriole_sass::{Instruction, InstructionWord, Style};

/// How a word is written that no form takes, in listings and for the assembler.
pub use oriole_assemble::RAW_WORD;

/// An instruction word of a kernel or function.
#[derive(Clone, PartialEq, Debug)]
pub struct CodeLine {
    /// Offset in bytes from the start of the code.
    pub address: u64,
    /// The word.
    pub word: InstructionWord,
    /// Its text; of a word that cannot be read its number, after [`RAW_WORD`].
    pub text: String,
    /// The instruction, or why the word cannot be read.
    pub instruction: Result<Instruction, String>,
}

/// The lines of a kernel or function. The words after one that cannot be read are read all the same.
pub fn code_lines(chip: Chip, kernel: &Kernel, style: Style) -> impl Iterator<Item = CodeLine> {
    kernel.code.iter().enumerate().map(move |(index, &word)| {
        let address = u64::from(chip.words().address(index as u32));
        let read =
            oriole_sass::decode(chip, word).map_err(|error| error.to_string()).and_then(|instruction| {
                let line = oriole_sass::text(chip, &instruction, Some(address), style);
                Ok((line.map_err(|error| error.to_string())?, instruction))
            });
        match read {
            Ok((text, instruction)) => CodeLine { address, word, text, instruction: Ok(instruction) },
            Err(error) => CodeLine {
                address,
                word,
                text: format!("{RAW_WORD}{word:032x}"),
                instruction: Err(format!("{} at {address:#x}: {error}", kernel.name)),
            },
        }
    })
}
