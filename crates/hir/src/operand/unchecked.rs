//! Places where ptxas accepts an operand that the instruction does not take.
//!
//! Such an operand gives a warning, not an error, since programs may contain it. The table marks these places.

use oriole_diagnostics::Code;
use oriole_ptx::Type;
use oriole_ptx::table::{Form, OperandRow};
use oriole_syntax::ast::{self, AstNode, PrefixOperator};

use super::Want;
use super::want::want;
use crate::names::Meaning;
use crate::resolver::Resolver;
use crate::{Constant, Immediate, Operand, evaluate};

impl<'a> Resolver<'a> {
    /// Resolves the operand at a position.
    pub fn operand(&mut self, node: &ast::Operand<'a>, row: &OperandRow, form: &Form) -> Option<Operand> {
        let mark = self.diagnostics.len();
        let operand = self.checked(node, row, form);
        if operand.is_some() || !row.unchecked {
            return operand;
        }
        let operand = self.unchecked(node, want(row.ty, form))?;
        let messages: Vec<_> =
            self.diagnostics.drain(mark..).map(|found| found.message.to_string()).collect();
        let message = format!("{}; other PTX compilers do not check this operand", messages.join("; "));
        self.report(Code::Unchecked, node.span(), message);
        Some(operand)
    }

    /// An operand that the instruction does not take, and that ptxas accepts at a place that it does not check. Nothing
    /// is reported here.
    fn unchecked(&mut self, node: &ast::Operand<'a>, want: Want) -> Option<Operand> {
        let register = |resolver: &mut Self, node: &ast::Operand<'a>| {
            let ast::Operand::Name(name) = node else { return None };
            let token = name.token()?;
            let Some(Meaning::Register(index)) = resolver.names.look_up(token.text()) else { return None };
            Some(resolver.register(index, token.text()))
        };
        let bits = matches!(want, Want::Typed(ty, _) if ty.is_bits());
        match node {
            ast::Operand::Name(name) => {
                let meaning = self.look_up(name.token()?.text());
                if let Some(Meaning::Vector(first, count)) = meaning {
                    let text = name.token()?.text();
                    let (id, ty) = self.component(first, 0, text);
                    return (want.accepts(ty) && count > 1).then_some(Operand::Register(id));
                }
                let (id, ty) = register(self, node)?;
                let accepted =
                    if want == Want::Address { ty != Type::Pred } else { bits && ty == Type::Pred };
                accepted.then_some(Operand::Register(id))
            }
            ast::Operand::Prefix(prefix) if bits && prefix.operator() == Some(PrefixOperator::Not) => {
                let (id, ty) = register(self, &prefix.operand()?)?;
                (ty == Type::Pred).then_some(Operand::NotRegister(id))
            }
            ast::Operand::Vector(vector) if want != Want::Address => {
                let elements: Vec<_> = vector.elements().collect();
                let elements = elements.iter().map(|element| {
                    let (id, ty) = register(self, element)?;
                    want.accepts(ty).then_some(Operand::Register(id))
                });
                elements.collect::<Option<Vec<_>>>().map(Operand::Vector)
            }
            _ => match evaluate(node).ok()? {
                Constant::F32(number) if bits || want == Want::Address => {
                    Some(Operand::Immediate(Immediate::F32(number)))
                }
                Constant::F64(number) if want == Want::Address => {
                    Some(Operand::Immediate(Immediate::F64(number)))
                }
                _ => None,
            },
        }
    }
}
