//! Does machine code do what its PTX says? The text runs in the interpreter and the code in the simulator, on launches that are
//! made for the kernel. Only verdicts as plain data leave; nothing is compiled here.

use crate::run::{RunError, read, source};
use oriole_verify::{Difference, Element, Options, Source, Subject, Verdict as Found, What};

/// The verdict about a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verification {
    /// The kernel.
    pub entry: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Launches whose results were compared and are the same.
    pub launches: u32,
    /// Instructions of the code that they execute, and all.
    pub executed: (usize, usize),
}

/// A verdict.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The results are the same.
    Same,
    /// They differ.
    Different {
        /// The difference, with both values.
        message: String,
        /// Line of the PTX, from 1.
        line: Option<usize>,
        /// Offset of the instruction in bytes.
        address: Option<u32>,
    },
    /// Nothing could be compared, and why.
    Undecided(String),
}

/// Verifies the kernels of a text, or one of them, against the code of a cubin. `seeds` launches are made for each.
///
/// # Errors
/// The errors of the text, or the bytes are no cubin.
pub fn verify(
    text: &str,
    cubin: &[u8],
    entry: Option<&str>,
    seeds: u32,
) -> Result<Vec<Verification>, RunError> {
    Ok(verify_until(text, cubin, entry, seeds, &|| false)?.unwrap_or_default())
}

/// The same; `None` if `stop` becomes true, and stays so, before all is done. It is asked while a launch is made, and between launches.
///
/// # Errors
/// The errors of the text, or the bytes are no cubin.
pub fn verify_until(
    text: &str,
    cubin: &[u8],
    entry: Option<&str>,
    seeds: u32,
    stop: &dyn Fn() -> bool,
) -> Result<Option<Vec<Verification>>, RunError> {
    let source = source(text)?;
    let cubin = read(cubin)?;
    let source = match oriole_verify::chip_of(&cubin) {
        Some(chip) => source.on(chip),
        None => source,
    };
    let subject = Subject { program: &source.program, cubin: &cubin };
    let options = Options { seeds, ..Options::default() };
    let entries =
        oriole_verify::entries(&source.program).filter(|name| entry.is_none_or(|entry| entry == *name));
    let verified = entries.map(|name| {
        let report = oriole_verify::verify_until(subject, name, &options, stop)?;
        let verdict = match report.verdict {
            Found::Same => Verdict::Same,
            Found::Undecided(reason) => Verdict::Undecided(reason),
            Found::Different(difference) => different(&source, &difference),
        };
        Some(Verification {
            entry: report.entry,
            verdict,
            launches: report.launches,
            executed: report.coverage.instructions(),
        })
    });
    Ok(verified.collect())
}

fn different(source: &Source, difference: &Difference) -> Verdict {
    let message = match &difference.what {
        What::Memory(Element { buffer, offset, expected, found }) => {
            format!(
                "{buffer}, byte {offset}: PTX gives {}, the code {}",
                hexadecimal(expected),
                hexadecimal(found)
            )
        }
        What::Fault(fault) => format!("the code ends with a fault, the PTX does not: {fault}"),
        What::Hazard(hazard) => format!("the code depends on the speed of the hardware: {hazard}"),
    };
    let line = difference.ptx.as_ref().and_then(|site| source.line(site)).map(|(line, _)| line);
    Verdict::Different { message, line, address: difference.code.as_ref().map(|(address, _)| *address) }
}

/// A little-endian value.
fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().rev().fold("0x".to_owned(), |text, byte| text + &format!("{byte:02x}"))
}
