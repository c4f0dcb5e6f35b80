//! What the back end cannot compile yet.
//!
//! It is here apart from the checks of the language: a correct program is never called wrong because of it.

use oriole_diagnostics::{Code, Diagnostic};
use oriole_ptx::table::rows;

use crate::{Body, Instruction, Operand, SourceMap, Statement};

/// The instructions of a body that the back end makes no code for, one finding each.
pub fn unsupported(body: &Body, map: &SourceMap) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (statement, span) in body.statements.iter().zip(&map.statements) {
        if let Statement::Instruction(instruction) = statement
            && !is_supported(instruction)
        {
            let mut name = instruction.opcode.name().to_string();
            for modifier in instruction.modifiers.iter() {
                name.push('.');
                name.push_str(modifier.0);
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

/// Whether some supported row has the instruction's modifiers and types.
fn is_supported(instruction: &Instruction) -> bool {
    if instruction.operands.iter().any(|operand| matches!(operand, Operand::Selection { .. })) {
        return false;
    }
    // Most opcodes are supported in all their forms.
    if rows(instruction.opcode).all(|row| row.supported) {
        return true;
    }
    let mut words: Vec<&str> = instruction.modifiers.iter().map(|modifier| modifier.0).collect();
    let vector = format!("v{}", instruction.vector);
    if instruction.vector > 1 {
        words.push(&vector);
    }
    let spaces = [instruction.space, instruction.second_space];
    words.extend(spaces.iter().flatten().map(|space| space.name()).filter(|name| !name.is_empty()));
    words.extend(instruction.types.iter().map(|ty| ty.name()));
    match oriole_ptx::table::match_form(instruction.opcode, &words, instruction.operands.len()) {
        Ok(form) => form.row.supported,
        Err(_) => false,
    }
}
