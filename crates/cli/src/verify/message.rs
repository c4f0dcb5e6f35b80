//! The verdict about a kernel as a message, for the formats of diagnostics: a difference is an error at its line of the PTX, with the
//! instruction of the machine code as another place. Kernels without a difference have none, and what could not be
//! compared is a note.

use super::{place, value};
use crate::messages::{self, Message, Place, Region, Related};
use oriole_diagnostics::Code;
use oriole_verify::{Difference, Element, Report, Site, Source, Verdict, What};

/// Prints the message of a verdict, if it has one. `code` is the file of the machine code, if it was given.
pub fn give(source: &Source, report: &Report, (ptx, code): (&str, Option<&str>)) {
    let message = match &report.verdict {
        Verdict::Same => return,
        Verdict::Undecided(reason) => {
            let text = format!("`{}` could not be compared: {reason}", report.entry);
            let fields = [("entry", report.entry.as_str()), ("reason", reason)];
            let fields = fields.map(|(name, text)| (name.to_owned(), text.into())).into_iter().collect();
            message(Code::Undecided, ptx, of_line(source, &first(&report.entry)), text, fields)
        }
        Verdict::Different(difference) => different(source, report, difference, (ptx, code)),
    };
    messages::give(vec![message]);
}

fn message(
    code: Code,
    file: &str,
    place: Place,
    text: String,
    fields: serde_json::Map<String, serde_json::Value>,
) -> Message {
    Message {
        file: file.to_owned(),
        place,
        code,
        severity: code.severity(),
        text,
        help: Vec::new(),
        related: Vec::new(),
        fixes: Vec::new(),
        fields,
    }
}

fn different(
    source: &Source,
    report: &Report,
    difference: &Difference,
    (ptx, code): (&str, Option<&str>),
) -> Message {
    let what = match &difference.what {
        What::Memory(Element { buffer, offset, expected, found }) => {
            format!("{buffer}, byte {offset}: PTX gives {}, the code {}", value(expected), value(found))
        }
        What::Fault(fault) => format!("the code ends with a fault, the PTX does not: {fault}"),
        What::Hazard(hazard) => format!("the code depends on the speed of the hardware: {hazard}"),
    };
    let thread = difference.ptx.as_ref().map_or(String::new(), |site| {
        let ([x, y, z], [a, b, c]) = (site.block, site.thread);
        format!("; block {x},{y},{z}, thread {a},{b},{c}")
    });
    let text = format!("`{}` differs: {what}{thread}", report.entry);
    // A fault or a hazard is known by its machine code alone: then the place is where the kernel begins.
    let site = difference.ptx.clone().unwrap_or_else(|| first(&report.entry));
    let fields = [("entry", report.entry.as_str().into()), ("difference", place(source, difference))];
    let fields = fields.map(|(name, value)| (name.to_owned(), value)).into_iter().collect();
    let mut message = message(Code::Different, ptx, of_line(source, &site), text, fields);
    if let Some((address, instruction)) = &difference.code {
        message.related.push(Related {
            file: code.unwrap_or(ptx).to_owned(),
            place: Place::Code { function: report.entry.clone(), offset: *address },
            text: instruction.clone(),
        });
    }
    message
}

/// The first instruction of a kernel.
fn first(entry: &str) -> Site {
    Site { function: entry.to_owned(), ordinal: 0, block: [0; 3], thread: [0; 3] }
}

fn of_line(source: &Source, site: &Site) -> Place {
    let line = source.line(site).and_then(|(line, _)| u32::try_from(line).ok());
    line.map_or(Place::File, |line| Place::Text(Region::line(line)))
}
