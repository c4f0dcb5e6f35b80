//! A cubin as annotated text, for reading: one line an instruction, with its details.

use oriole_chip::{Chip, NameError};
use oriole_cubin::read::{Cubin, ReadError};
use oriole_latency::Model;

use crate::sass::{SassRow, plain, timing};

/// A line of the text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AnnotatedLine {
    /// The hover of the line, as Markdown.
    pub hover: Option<String>,
    /// The kernel or function that begins here.
    pub begins: Option<String>,
}

/// A cubin as text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Annotated {
    /// The chip that it is for.
    pub chip: Chip,
    /// The text.
    pub text: String,
    /// One entry a line.
    pub lines: Vec<AnnotatedLine>,
}

/// Why the code of a cubin cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CubinError {
    /// The bytes are not a cubin.
    #[error(transparent)]
    Container(#[from] ReadError),
    /// It is for a chip that has no name.
    #[error(transparent)]
    Chip(#[from] NameError),
    /// No table has the forms of the chip.
    #[error("code for {0} cannot be read yet")]
    Unsupported(Chip),
}

/// The chip of a cubin.
///
/// # Errors
/// Code for the chip cannot be read.
pub fn chip_of(cubin: &Cubin) -> Result<Chip, CubinError> {
    let name = format!("sm_{}{}", cubin.sm, if cubin.accelerated { "a" } else { "" });
    let chip = name.parse::<Chip>()?;
    if chip.is_supported() { Ok(chip) } else { Err(CubinError::Unsupported(chip)) }
}

/// Reads any cubin.
///
/// # Errors
/// The bytes are no cubin, or one for a chip whose code cannot be read.
pub fn annotate(bytes: &[u8]) -> Result<Annotated, CubinError> {
    let cubin = oriole_cubin::read(bytes)?;
    let chip = chip_of(&cubin)?;
    let mut annotated = Annotated { chip, text: String::new(), lines: Vec::new() };
    let mut line = |text: &str, line: AnnotatedLine| {
        annotated.text.push_str(text);
        annotated.text.push('\n');
        annotated.lines.push(line);
    };
    line(&format!("// cubin for {chip}"), AnnotatedLine::default());
    // The file is not an input of the database: it names its chip itself, whatever chips are compiled for.
    let model = Model::of(chip);
    for kernel in cubin.codes() {
        let stack = kernel.stack_size.map_or_else(|| "unknown".to_owned(), |bytes| bytes.to_string());
        let head = format!(
            "{}: // {} registers, {} bytes shared, frame {}, stack {stack}, {} barriers",
            kernel.name, kernel.registers, kernel.shared_size, kernel.frame_size, kernel.barriers
        );
        line("", AnnotatedLine::default());
        line(&head, AnnotatedLine { hover: None, begins: Some(kernel.name.clone()) });
        let mut functions =
            kernel.functions.iter().filter_map(|&symbol| cubin.symbols.get(symbol)).peekable();
        for (index, &word) in kernel.code.iter().enumerate() {
            let address = chip.words().address(index as u32);
            while let Some(symbol) = functions.next_if(|symbol| symbol.value <= u64::from(address)) {
                line(
                    &format!("{}:", symbol.name),
                    AnnotatedLine { hover: None, begins: Some(symbol.name.clone()) },
                );
            }
            let instruction = oriole_sass::decode(chip, word).ok();
            let row = plain(chip, address, word, instruction.as_ref());
            let hover = instruction.map(|instruction| hover(&row, &timing(chip, model, &instruction)));
            line(
                &format!("    /*{address:04x}*/ {} {}", row.control(), row.text),
                AnnotatedLine { hover, begins: None },
            );
        }
    }
    Ok(annotated)
}

fn hover(row: &SassRow, timing: &str) -> String {
    let mut text = format!(
        "```\n{}\n```\n{timing}\n\n* word `{:#034x}`\n* stalls {} cycles",
        row.text, row.word, row.stall
    );
    let waits: Vec<String> =
        (0..6).filter(|bit| row.wait_mask >> bit & 1 == 1).map(|bit: u8| bit.to_string()).collect();
    if !waits.is_empty() {
        text.push_str(&format!("\n* waits on scoreboard {}", waits.join(", ")));
    }
    if let Some(number) = row.write_barrier {
        text.push_str(&format!("\n* scoreboard {number} is released when the results are written"));
    }
    if let Some(number) = row.read_barrier {
        text.push_str(&format!("\n* scoreboard {number} is released when the sources are read"));
    }
    if row.yields {
        text.push_str("\n* the warp gives way");
    }
    text
}
