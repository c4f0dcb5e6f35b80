//! Operands of instructions that the table knows by name only.
//!
//! Such an operand has no row to be checked against: it is resolved as it is written.

use oriole_diagnostics::Code;
use oriole_ptx::Type;
use oriole_syntax::ast::{self, AstNode, PrefixOperator};

use super::{Named, Want};
use crate::compatible::Width;
use crate::names::Meaning;
use crate::resolver::Resolver;
use crate::{Immediate, Operand};

impl<'a> Resolver<'a> {
    /// An operand of a family that the table knows only by name.
    pub(super) fn anything(&mut self, node: &ast::Operand<'a>) -> Option<Operand> {
        match node {
            ast::Operand::Address(address) => {
                let parts: Vec<_> = address.parts().collect();
                match &parts[..] {
                    [_] => self.address(node),
                    _ => {
                        let parts: Vec<Option<Operand>> =
                            parts.iter().map(|part| self.anything(part)).collect();
                        parts.into_iter().collect::<Option<Vec<_>>>().map(Operand::List)
                    }
                }
            }
            ast::Operand::Vector(vector) => {
                let elements: Vec<_> = vector.elements().collect();
                let elements: Vec<Option<Operand>> =
                    elements.iter().map(|element| self.anything(element)).collect();
                elements.into_iter().collect::<Option<Vec<_>>>().map(Operand::Vector)
            }
            ast::Operand::Pair(pair) => {
                let first = self.anything(&pair.first()?);
                let second = self.anything(&pair.second()?);
                Some(Operand::Pair(Box::new(first?), Box::new(second?)))
            }
            ast::Operand::Sink(_) => Some(Operand::Sink),
            ast::Operand::Name(_) | ast::Operand::Member(_) => match self.as_name(node)? {
                Ok(Named::Register(id, _)) => Some(Operand::Register(id)),
                Ok(Named::Registers(list)) => {
                    Some(Operand::Vector(list.into_iter().map(|(id, _)| Operand::Register(id)).collect()))
                }
                Ok(Named::Special(special)) => Some(Operand::Special(special)),
                Ok(Named::Variable(id)) => Some(Operand::VariableAddress(id, 0)),
                Ok(Named::Other(Meaning::Label(id))) => Some(Operand::Label(id)),
                Ok(Named::WarpSize) => Some(Operand::Immediate(Immediate::Integer(32))),
                Ok(_) => {
                    self.report(Code::InvalidOperand, node.span(), "this name is not allowed here");
                    None
                }
                Err(()) => None,
            },
            ast::Operand::Prefix(prefix)
                if prefix.operator() == Some(PrefixOperator::Not)
                    && matches!(prefix.operand(), Some(ast::Operand::Name(_))) =>
            {
                self.source(node, Want::Typed(Type::Pred, Width::Same), false)
            }
            _ => match self.variable_address(node) {
                Some(address) => address,
                None => self.source(node, Want::Any, true),
            },
        }
    }
}
