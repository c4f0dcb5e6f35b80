//! Instructions that the back end cannot compile yet.
//!
//! They are separate from the checks of the language: a correct program is never called wrong because of them.

use oriole_diagnostics::{Code, Diagnostic};

use crate::{Body, SourceMap, Statement};

/// The instructions of a body that the back end cannot compile, one diagnostic each.
pub fn unsupported(body: &Body, map: &SourceMap) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (statement, span) in body.statements.iter().zip(&map.statements) {
        if let Statement::Instruction(instruction) = statement
            && !instruction.compiled
        {
            let mut name = instruction.opcode.name().to_string();
            for modifier in instruction.modifiers.iter() {
                name.push('.');
                name.push_str(modifier.name());
            }
            for ty in &instruction.types {
                name.push('.');
                name.push_str(ty.name());
            }
            found.push(Diagnostic::new(
                Code::NotSupported,
                *span,
                format!("`{name}` cannot be compiled yet"),
            ));
        }
    }
    found
}
