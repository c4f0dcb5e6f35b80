//! Signature help: the forms that fit the written words, or the parameters of the called function.

use oriole_inputs::Db;
use oriole_ptx::Opcode;
use oriole_ptx::table::{Row, rows_of as rows};
use oriole_queries::files;

use super::context::context;
use super::progress::{Progress, is_optional, progress};
use crate::FileId;
use crate::cursor::Place;
use crate::snapshot::Snapshot;

/// A form of an instruction, or the signature of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signature {
    /// All of it.
    pub label: String,
    /// The description.
    pub documentation: String,
    /// Byte ranges of the operands in the label.
    pub parameters: Vec<(u32, u32)>,
}

/// Signatures that fit the text before the cursor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SignatureHelp {
    /// The signatures, the best one first.
    pub signatures: Vec<Signature>,
    /// The operand at the cursor, from 0.
    pub active: u32,
}

pub(crate) fn signature_help(snapshot: &Snapshot, file: FileId, at: u32) -> Option<SignatureHelp> {
    let context = context(snapshot, file, at)?;
    let db: &dyn Db = &snapshot.db;
    let Place::Operand { index, argument, .. } = context.typing.place else { return None };
    let opcode = Opcode::from_name(&context.typing.opcode)?;
    if opcode == Opcode::Call {
        let position = argument?;
        let callee = context.typing.operands.iter().find(|operand| !operand.starts_with('('))?;
        let unit = files::definition(db, context.located.source, callee.as_str().into())?;
        let info = files::signature(db, unit).as_ref()?;
        let mut label = format!("{callee}(");
        let mut parameters = Vec::new();
        for (at, parameter) in info.signature.parameters.iter().enumerate() {
            if at > 0 {
                label.push_str(", ");
            }
            let start = label.len() as u32;
            label.push_str(&match parameter.length {
                Some(length) => format!("{}[{length}]", parameter.ty),
                None => parameter.ty.to_string(),
            });
            parameters.push((start, label.len() as u32));
        }
        label.push(')');
        let signature = Signature { label, documentation: String::new(), parameters };
        return Some(SignatureHelp { signatures: vec![signature], active: position as u32 });
    }
    let mut fitting: Vec<Progress> =
        rows(opcode).filter_map(|row| progress(row, &context.typing.words)).collect();
    // The rows that need the fewest more words first, and of these the ones that accept the operand.
    fitting.sort_by_key(|progress| {
        let missing = progress
            .row
            .slots
            .iter()
            .zip(&progress.filled)
            .filter(|(slot, filled)| !**filled && !is_optional(slot))
            .count();
        (missing, progress.row.operands.len() <= index)
    });
    let signatures: Vec<Signature> =
        fitting.iter().take(12).map(|progress| signature(progress.row)).collect();
    (!signatures.is_empty()).then_some(SignatureHelp { signatures, active: index as u32 })
}

fn signature(row: &Row) -> Signature {
    let label = row.spelling();
    // Operands are after the first blank, separated by commas.
    let mut parameters = Vec::new();
    if let Some(space) = label.find(' ') {
        let mut start = space + 1;
        for part in label[space + 1..].split(", ") {
            parameters.push((start as u32, (start + part.len()) as u32));
            start += part.len() + 2;
        }
    }
    Signature {
        documentation: format!("{} {}", row.doc, crate::documentation::needs(row)),
        label,
        parameters,
    }
}
