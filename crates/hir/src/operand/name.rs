//! Names as operands: registers and their components, variables, functions, special registers.
//!
//! Every kind of operand may be a name. Whether the name fits its position is checked there.

use oriole_diagnostics::{Code, Span};
use oriole_ptx::{SpecialRegister, Type};
use oriole_syntax::ast::{self, AstNode};

use super::selector_words::is_selector;
use crate::names::Meaning;
use crate::resolver::Resolver;
use crate::{RegisterId, VariableId};

/// A name in an operand.
pub(crate) enum Named<'t> {
    Register(RegisterId, Type),
    /// Components of a vector register.
    Registers(Vec<(RegisterId, Type)>),
    Special(SpecialRegister),
    /// A special register of three components.
    SpecialVector,
    Variable(VariableId),
    Other(Meaning),
    Function(&'t str),
    WarpSize,
}

impl<'a> Resolver<'a> {
    /// The meaning of a name in an operand. Reports an error and gives `None` if it has none.
    pub fn named(&mut self, text: &'a str, span: Span) -> Option<Named<'a>> {
        match self.look_up(text) {
            Some(Meaning::Register(index)) => {
                let (id, ty) = self.register(index, text);
                Some(Named::Register(id, ty))
            }
            Some(Meaning::Vector(first, count)) => Some(Named::Registers(
                (0..u32::from(count)).map(|component| self.component(first, component, text)).collect(),
            )),
            Some(Meaning::Variable(id)) => Some(Named::Variable(id)),
            Some(other) => Some(Named::Other(other)),
            None if text.starts_with('%') => {
                if let Some(special) = SpecialRegister::from_name(text) {
                    return Some(Named::Special(special));
                }
                if SpecialRegister::from_name(&format!("{text}.x")).is_some() {
                    return Some(Named::SpecialVector);
                }
                // Module names may begin with a percent sign too.
                self.outside(text, span)
            }
            None if text == "WARP_SZ" => Some(Named::WarpSize),
            None => self.outside(text, span),
        }
    }

    fn outside(&mut self, text: &'a str, span: Span) -> Option<Named<'a>> {
        if let Some(id) = self.global(text, span) {
            return Some(Named::Variable(id));
        }
        if self.functions.get(text).is_some_and(Option::is_some) || self.context.signature(text).is_some() {
            return Some(Named::Function(text));
        }
        let what = if text.starts_with('%') { "register" } else { "register or variable" };
        let message = format!("no {what} is called `{text}`");
        self.report_unknown(text, span, message, |meaning| !matches!(meaning, Meaning::Label(_)));
        None
    }

    /// A component of a vector register.
    pub(crate) fn component(&mut self, first: u32, component: u32, name: &str) -> (RegisterId, Type) {
        let suffix = ["x", "y", "z", "w"].get(component as usize).copied().unwrap_or("?");
        self.register(first + component, &format!("{name}.{suffix}"))
    }

    /// `v.x`, `%tid.x`
    pub(super) fn member(&mut self, member: &ast::Member<'a>) -> Option<Named<'a>> {
        let span = member.span();
        let base = match member.base()? {
            ast::Operand::Name(name) => name.token()?,
            _ => {
                self.report(Code::InvalidOperand, span, "a component can be taken of a name only");
                return None;
            }
        };
        let component = member.component()?;
        let name = format!("{}{}", base.text(), component.text());
        if let Some(special) = SpecialRegister::from_name(&name)
            && self.look_up(base.text()).is_none()
        {
            return Some(Named::Special(special));
        }
        match self.look_up(base.text()) {
            Some(Meaning::Vector(first, count)) => {
                let index = match component.text() {
                    ".x" | ".r" => 0,
                    ".y" | ".g" => 1,
                    ".z" | ".b" => 2,
                    ".w" | ".a" => 3,
                    _ => u8::MAX,
                };
                if index >= count {
                    self.report(
                        Code::InvalidOperand,
                        component.span(),
                        format!("`{}` has no component `{}`", base.text(), component.text()),
                    );
                    return None;
                }
                let (id, ty) = self.component(first, u32::from(index), base.text());
                Some(Named::Register(id, ty))
            }
            Some(Meaning::Register(_)) if is_selector(component.text()) => {
                self.report(
                    Code::InvalidOperand,
                    span,
                    "only video instructions select bytes and 16-bit halves",
                );
                None
            }
            Some(_) => {
                self.report(
                    Code::InvalidOperand,
                    component.span(),
                    format!("`{}` has no component `{}`", base.text(), component.text()),
                );
                None
            }
            None => {
                let known = SpecialRegister::from_name(&format!("{}.x", base.text())).is_some();
                if known {
                    self.report(
                        Code::UnknownName,
                        component.span(),
                        format!("`{}` has the components `.x`, `.y` and `.z`", base.text()),
                    );
                } else {
                    let message = format!("no register is called `{}`", base.text());
                    self.report_unknown(base.text(), base.span(), message, |meaning| {
                        matches!(meaning, Meaning::Vector(..))
                    });
                }
                None
            }
        }
    }

    /// The name that an operand consists of, or nothing if it is something else; reported names give `Err`.
    pub(super) fn as_name(&mut self, node: &ast::Operand<'a>) -> Option<Result<Named<'a>, ()>> {
        match node {
            ast::Operand::Name(name) => {
                let token = name.token()?;
                Some(self.named(token.text(), token.span()).ok_or(()))
            }
            ast::Operand::Member(member) => Some(self.member(member).ok_or(())),
            _ => None,
        }
    }
}
