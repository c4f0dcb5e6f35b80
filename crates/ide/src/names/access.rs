//! The use of a name, and that of an instruction's operands: which are written, read or called.
//!
//! It is separate from the names, since it depends on the table of instructions and not on scopes. Each spelling is
//! looked up in the table once.

use std::fmt::Write;
use std::rc::Rc;

use oriole_ptx::Opcode;
use oriole_ptx::table::{Kind, Presence, match_form, rows_of as rows};
use oriole_syntax::TokenRef;
use oriole_syntax::ast::{self, Operand};
use rustc_hash::FxHashMap;

/// The use of a name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Access {
    /// It is declared here.
    Declare,
    /// Its value, address or place is used.
    Read,
    /// It gets a value.
    Write,
    /// It is called.
    Call,
}

/// Cached accesses of spellings.
#[derive(Default)]
pub(super) struct Accesses {
    /// By spelled opcode and number of operands.
    known: FxHashMap<Box<str>, Rc<[Access]>>,
    /// Scratch space for spellings.
    spelling: String,
}

impl Accesses {
    /// The accesses of an opcode's operands, computed once for each spelling.
    pub fn of(&mut self, node: ast::Opcode<'_>, operands: &[Operand<'_>]) -> Rc<[Access]> {
        let mnemonic = node.mnemonic().map_or("", TokenRef::text);
        let opcode = Opcode::from_name(mnemonic);
        if opcode == Some(Opcode::Call) {
            return call_accesses(operands);
        }
        self.spelling.clear();
        self.spelling.push_str(mnemonic);
        node.modifiers().for_each(|token| self.spelling.push_str(token.text()));
        // No word holds a blank.
        let _ = write!(self.spelling, " {}", operands.len());
        if let Some(known) = self.known.get(self.spelling.as_str()) {
            return Rc::clone(known);
        }
        let found = accesses_of(node, opcode, operands.len());
        self.known.insert(self.spelling.as_str().into(), Rc::clone(&found));
        found
    }
}

/// Whether the operand at a place is written, read or called; for a call the operands themselves decide.
fn accesses_of(node: ast::Opcode<'_>, opcode: Option<Opcode>, operands: usize) -> Rc<[Access]> {
    let Some(opcode) = opcode else {
        // An unknown instruction most likely writes its first operand.
        let first = |at| if at == 0 { Access::Write } else { Access::Read };
        return (0..operands).map(first).collect();
    };
    let words: Vec<&str> =
        node.modifiers().flat_map(|token| token.text().trim_start_matches('.').split('.')).collect();
    let form = match_form(opcode, &words, operands);
    let present: Vec<Kind> = match &form {
        Ok(form) => form
            .row
            .operands
            .iter()
            .filter(|row| match row.presence {
                Presence::With(token) => form.modifiers.has(token),
                _ => true,
            })
            .map(|row| row.kind)
            .collect(),
        Err(_) => rows(opcode)
            .next()
            .map_or_else(Vec::new, |row| row.operands.iter().map(|operand| operand.kind).collect()),
    };
    let access = |at: usize| match present.get(at) {
        Some(kind) if kind.is_written() => Access::Write,
        _ => Access::Read,
    };
    (0..operands).map(access).collect()
}

/// `call (results), function, (arguments), targets`: results only where something follows them.
fn call_accesses(operands: &[Operand]) -> Rc<[Access]> {
    let results = matches!(operands.first(), Some(Operand::ArgumentList(_))) && operands.len() > 1;
    let callee = usize::from(results);
    (0..operands.len())
        .map(|at| match at {
            0 if results => Access::Write,
            at if at == callee => Access::Call,
            _ => Access::Read,
        })
        .collect()
}
