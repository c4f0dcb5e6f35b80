//! Targets of branches as operands: labels and lists of labels.
//!
//! A target is a name of the function's scopes and never a value.

use oriole_diagnostics::Code;
use oriole_syntax::ast::{self, AstNode};

use crate::names::Meaning;
use crate::resolver::Resolver;
use crate::{Operand, Table};

impl<'a> Resolver<'a> {
    /// The label that a branch names.
    pub(super) fn branch_target(&mut self, node: &ast::Operand<'a>) -> Option<Operand> {
        let ast::Operand::Name(name) = node else {
            self.report(Code::InvalidOperand, node.span(), "a label is needed here");
            return None;
        };
        self.label(name).map(Operand::Label)
    }

    /// The list of labels that an indexed branch names.
    pub(super) fn branch_targets(&mut self, node: &ast::Operand<'a>) -> Option<Operand> {
        let span = node.span();
        if let ast::Operand::Name(name) = node
            && let Some(token) = name.token()
        {
            match self.names.look_up(token.text()) {
                Some(Meaning::Table(id, declared)) => {
                    if matches!(self.body.tables[id], Table::Labels(_)) && declared {
                        return Some(Operand::Table(id));
                    }
                    let message = if declared {
                        format!("`{}` lists functions, not labels", token.text())
                    } else {
                        format!("`{}` is declared below its use", token.text())
                    };
                    self.report(Code::WrongKindOfName, span, message);
                }
                _ => self.report(
                    Code::UnknownName,
                    span,
                    format!("no `.branchtargets` list is called `{}`", token.text()),
                ),
            }
            return None;
        }
        self.report(Code::InvalidOperand, span, "the name of a `.branchtargets` list is needed here");
        None
    }
}
