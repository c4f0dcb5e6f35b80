//! Addresses: a base in a register or variable with an offset, in brackets or as a value.

use super::{Named, Want};
use crate::compatible::is_address;
use crate::names::Meaning;
use crate::resolver::Resolver;
use crate::{Address, AddressBase, Operand, evaluate};
use oriole_diagnostics::{Code, Span};
use oriole_ptx::Space;
use oriole_syntax::ast::{self, AstNode, BinaryOperator};

/// Of an address that is a constant alone.
pub(crate) const ABSOLUTE: &str = "an address that is a constant alone is possible in `.local` only";

/// Whether an access of a state space reaches a variable of another.
pub(crate) fn holds(space: Space, variable: Space) -> bool {
    let parameter = |space| matches!(space, Space::KernelParameter | Space::FunctionParameter);
    match space {
        Space::Generic => !parameter(variable) && variable != Space::Constant,
        Space::Shared | Space::SharedCluster => variable == Space::Shared,
        _ if parameter(space) => parameter(variable),
        _ => space == variable,
    }
}

impl<'a> Resolver<'a> {
    /// `variable`, `variable + 4`, `variable[2]` as a value; `None` if the operand is something else, `Some(None)`
    /// if it has been reported.
    pub(super) fn variable_address(&mut self, node: &ast::Operand<'a>) -> Option<Option<Operand>> {
        if !self.mentions_variable(node) {
            return None;
        }
        match self.base_and_offset(node) {
            Some((AddressBase::Variable(id), offset)) => Some(Some(Operand::VariableAddress(id, offset))),
            Some(_) => None,
            None => Some(None),
        }
    }

    /// Whether the leftmost name of an expression is a variable.
    pub(super) fn mentions_variable(&mut self, node: &ast::Operand<'a>) -> bool {
        let mut node = *node;
        loop {
            let next = match &node {
                ast::Operand::Name(name) => {
                    let Some(token) = name.token() else { return false };
                    return match self.look_up(token.text()) {
                        Some(Meaning::Variable(_)) => true,
                        Some(_) => false,
                        None => self.global(token.text(), token.span()).is_some(),
                    };
                }
                ast::Operand::Binary(binary) => binary.left(),
                ast::Operand::Index(index) => index.base(),
                ast::Operand::Paren(paren) => paren.operand(),
                _ => None,
            };
            match next {
                Some(next) => node = next,
                None => return false,
            }
        }
    }

    /// Splits an address into a base and an offset in bytes.
    pub(super) fn base_and_offset(&mut self, node: &ast::Operand<'a>) -> Option<(AddressBase, i64)> {
        let span = node.span();
        match node {
            ast::Operand::Name(name) => {
                let token = name.token()?;
                match self.named(token.text(), token.span())? {
                    Named::Register(id, ty) => {
                        if is_address(ty) {
                            return Some((AddressBase::Register(id), 0));
                        }
                        self.mismatch(span, ty, Want::Address);
                    }
                    Named::Variable(id) => return Some((AddressBase::Variable(id), 0)),
                    Named::WarpSize => return Some((AddressBase::Absolute, 32)),
                    _ => self.report(
                        Code::InvalidAddress,
                        span,
                        format!("`{}` is neither a register nor a variable", token.text()),
                    ),
                }
                None
            }
            ast::Operand::Member(member) => match self.member(member)? {
                Named::Register(id, ty) if is_address(ty) => Some((AddressBase::Register(id), 0)),
                _ => {
                    self.report(Code::InvalidAddress, span, "this cannot hold an address");
                    None
                }
            },
            ast::Operand::Paren(paren) => {
                if self.has_name(&paren.operand()?) {
                    let message = "a name cannot be in parentheses";
                    self.report(Code::Syntax, span, message);
                    return None;
                }
                Some((AddressBase::Absolute, self.integer(node)?))
            }
            ast::Operand::Index(index) => {
                let (base, offset) = self.base_and_offset(&index.base()?)?;
                let AddressBase::Variable(id) = base else {
                    self.report(Code::InvalidAddress, span, "only a variable can be indexed");
                    return None;
                };
                let at = self.integer(&index.index()?)?;
                let element = self.element_bytes[id] as i64;
                Some((base, offset.wrapping_add(at.wrapping_mul(element))))
            }
            ast::Operand::Binary(binary) => {
                let operator = binary.operator()?;
                let left = binary.left()?;
                if !matches!(operator, BinaryOperator::Add | BinaryOperator::Subtract)
                    || !self.has_name(&left)
                {
                    let value = self.integer(node)?;
                    return Some((AddressBase::Absolute, value));
                }
                if operator == BinaryOperator::Subtract {
                    self.report(
                        Code::InvalidAddress,
                        span,
                        "a negative offset is written after a plus sign, as in `[a+-4]`",
                    );
                    return None;
                }
                let (base, offset) = self.base_and_offset(&left)?;
                let value = self.integer(&binary.right()?)?;
                Some((base, offset.wrapping_add(value)))
            }
            _ => Some((AddressBase::Absolute, self.integer(node)?)),
        }
    }

    pub(super) fn has_name(&self, node: &ast::Operand<'a>) -> bool {
        node.syntax().descendants().any(|node| node.kind() == oriole_syntax::SyntaxKind::NAME)
    }

    pub(super) fn integer(&mut self, node: &ast::Operand<'a>) -> Option<i64> {
        match evaluate(node) {
            Ok(value) => {
                let integer = value.integer();
                if integer.is_none() {
                    self.report(Code::InvalidAddress, node.span(), "an integer constant is needed here");
                }
                integer
            }
            Err(error) => {
                self.report(
                    Code::InvalidAddress,
                    error.span,
                    "the plus sign of an address is followed by an integer constant",
                );
                None
            }
        }
    }

    /// Whether an address may be one in a state space, as far as its base is known; reports an error if not.
    pub(super) fn address_in(&mut self, operand: &Operand, space: Space, span: Span) -> bool {
        let Operand::Address(address) = operand else { return true };
        match address.base {
            AddressBase::Variable(id) => {
                let variable = &self.body.variables[id];
                if holds(space, variable.space) {
                    return true;
                }
                let wanted = if space == Space::Generic { "generic" } else { space.name() };
                let message = format!(
                    "an address in `{wanted}` memory is needed here, but `{}` is in `.{}`",
                    variable.name,
                    variable.space.name()
                );
                self.report(Code::StateSpaceMismatch, span, message);
                false
            }
            AddressBase::Absolute if space != Space::Local => {
                self.report(Code::InvalidAddress, span, ABSOLUTE);
                false
            }
            _ => true,
        }
    }

    pub(super) fn address(&mut self, node: &ast::Operand<'a>) -> Option<Operand> {
        let span = node.span();
        let inner = match node {
            ast::Operand::Address(address) => {
                if let Some(suffix) = address.suffix()
                    && suffix.text() != ".unified"
                {
                    self.report(Code::InvalidAddress, suffix.span(), "nothing can follow an address");
                    return None;
                }
                let parts: Vec<_> = address.parts().collect();
                match &parts[..] {
                    [single] => *single,
                    _ => {
                        self.report(Code::InvalidAddress, span, "an address has one part");
                        return None;
                    }
                }
            }
            // `table[2]` is an address without brackets of its own.
            ast::Operand::Index(_) => *node,
            _ => {
                self.report(Code::InvalidOperand, span, "an address in brackets is needed here");
                return None;
            }
        };
        let (base, offset) = self.base_and_offset(&inner)?;
        if let AddressBase::Variable(id) = base
            && self.body.variables[id].space == Space::Register
        {
            self.report(Code::InvalidAddress, span, "a register has no address");
            return None;
        }
        Some(Operand::Address(Address { base, offset }))
    }
}
