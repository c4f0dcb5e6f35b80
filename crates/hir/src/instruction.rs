//! Instructions: the form as spelled, and operands one by one.
//!
//! It connects the table with names. The rules of single operands are in the file of operands.

use std::rc::Rc;

use oriole_diagnostics::{Code, Diagnostic};
use oriole_ptx::table::{Form, Kind, OperandRow, Shape};
use oriole_ptx::{Opcode, Word};
use oriole_syntax::TokenRef;
use oriole_syntax::ast::{self, AstNode};
use smallvec::SmallVec;

use crate::form::{KnownForm, find_form};
use crate::resolver::Resolver;
use crate::{Instruction, Operand, Statement};

impl<'a> Resolver<'a> {
    /// Resolves an instruction and adds it to the body. One that has errors is left out: the body is not compiled.
    pub fn instruction(&mut self, node: &ast::Instruction<'a>) {
        let (guard, opcode_node, list) = node.parts();
        let guard = match guard {
            Some(guard) => match self.guard(&guard) {
                Some(guard) => Some(guard),
                None => return,
            },
            None => None,
        };
        let Some(opcode_node) = opcode_node else { return };
        let Some(mnemonic) = opcode_node.mnemonic() else { return };
        let operands: SmallVec<[ast::Operand<'a>; 6]> =
            list.into_iter().flat_map(|list| list.operands()).collect();
        let shapes: SmallVec<[Shape; 6]> = operands.iter().map(shape).collect();
        let Some(known) = self.form(&opcode_node, mnemonic, &shapes) else { return };
        let word_span = |word: Option<usize>| {
            word.and_then(|word| opcode_node.modifiers().nth(word))
                .map_or_else(|| opcode_node.span(), |token| token.span())
        };
        let (form, opcode, rows) = match &*known {
            KnownForm::Found { form, opcode, operands, gate } => {
                if let Some((word, code, message)) = gate {
                    self.report(*code, word_span(*word), message.clone());
                    return;
                }
                (form, *opcode, operands)
            }
            KnownForm::Wrong(word, code, message) => {
                self.report(*code, word_span(*word), message.clone());
                return;
            }
        };
        let before = self.diagnostics.len();
        let span = node.span();
        let mut resolved = Vec::with_capacity(operands.len());
        let complete = if rows.first().is_some_and(|row| row.kind == Kind::Call) {
            match self.call(&operands, span) {
                Some(list) => {
                    resolved = list;
                    true
                }
                None => false,
            }
        } else {
            self.operands(form, rows, &operands, &mut resolved)
        };
        if !complete || self.diagnostics[before..].iter().any(Diagnostic::is_error) {
            return;
        }
        // Destinations come first; of a call, its results.
        let destinations = match resolved.first() {
            Some(Operand::List(_)) if opcode == Opcode::Call => 1,
            _ => rows.iter().take_while(|row| row.kind.is_written()).count() as u8,
        };
        let beyond_the_back_end = leaves_elements_out(opcode, &resolved);
        let mut instruction = Instruction {
            guard,
            destinations,
            opcode,
            modifiers: form.modifiers.clone(),
            types: form.types.clone(),
            space: form.space,
            second_space: form.second_space,
            vector: form.vector,
            compiled: form.row.supported && !beyond_the_back_end,
            operands: resolved,
        };
        if matches!(opcode, Opcode::Shfl | Opcode::Vote) && !instruction.modifiers.has(Word::Sync) {
            let name = mnemonic.text();
            let message = format!(
                "`{name}` without `.sync`: which lanes take part is not certain on chips from sm_70 on"
            );
            let help = format!("`{name}.sync` names the lanes: `0xffffffff` where the whole warp comes by");
            self.diagnostics.push(Diagnostic::new(Code::LanesNotNamed, span, message).with_help(help));
        }
        if self.check_spaces(&mut instruction, span) && self.check_vector(&instruction, span) {
            self.push_statement(Statement::Instruction(instruction), span);
        }
    }

    /// The form of an opcode as spelled.
    fn form(
        &mut self,
        node: &ast::Opcode<'a>,
        mnemonic: TokenRef<'_>,
        shapes: &[Shape],
    ) -> Option<Rc<KnownForm>> {
        let mut spelling = std::mem::take(&mut self.spelling);
        spelling.clear();
        spelling.push_str(mnemonic.text());
        for token in node.modifiers() {
            spelling.push_str(token.text());
        }
        // The number and the shapes of the operands select among forms of one spelling.
        let words_end = spelling.len();
        for shape in shapes {
            let code = match *shape {
                Shape::Value => 0,
                Shape::Sink => 1,
                Shape::Pair => 2,
                Shape::Vector(count) => 0x100 + u32::from(count),
                Shape::Address(count) => 0x200 + u32::from(count),
            };
            spelling.push(char::from_u32(0x100 + code)?);
        }
        let known = match self.forms.get(spelling.as_str()) {
            Some(known) => Rc::clone(known),
            None => {
                let known = Rc::new(find_form(&self.header, &spelling[..words_end], shapes));
                self.forms.insert(spelling.as_str().into(), Rc::clone(&known));
                known
            }
        };
        self.spelling = spelling;
        Some(known)
    }

    /// Resolves operands against their rows; false if one is wrong.
    fn operands(
        &mut self,
        form: &Form,
        rows: &[OperandRow],
        operands: &[ast::Operand<'a>],
        resolved: &mut Vec<Operand>,
    ) -> bool {
        let mut complete = true;
        for (index, operand) in operands.iter().enumerate() {
            let Some(row) = rows.get(index) else { return false };
            match self.operand(operand, row, form) {
                Some(operand) => resolved.push(operand),
                None => complete = false,
            }
        }
        complete
    }
}

/// Whether a store leaves elements of its vector unchanged in memory: they are `_`.
fn leaves_elements_out(opcode: Opcode, operands: &[Operand]) -> bool {
    opcode == Opcode::St
        && matches!(operands.get(1), Some(Operand::Vector(elements)) if elements.contains(&Operand::Sink))
}

/// The shape of an operand.
fn shape(operand: &ast::Operand<'_>) -> Shape {
    let count = |count: usize| count.min(255) as u8;
    match operand {
        ast::Operand::Vector(vector) => Shape::Vector(count(vector.elements().count())),
        ast::Operand::Address(address) => Shape::Address(count(address.parts().count())),
        ast::Operand::Pair(_) => Shape::Pair,
        ast::Operand::Sink(_) => Shape::Sink,
        _ => Shape::Value,
    }
}
