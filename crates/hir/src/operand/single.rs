//! Operands of one value: registers, constants and special registers, read or written.
//!
//! Every kind of position comes down to them; which position takes which is not known here.

use super::want::narrow;
use super::{Named, Want};
use crate::compatible::Width;
use crate::resolver::Resolver;
use crate::{Constant, Immediate, Operand, RegisterId, evaluate};
use oriole_diagnostics::{Code, Span};
use oriole_ptx::{Space, SpecialRegister, Type};
use oriole_syntax::ast::{self, AstNode, PrefixOperator};

impl<'a> Resolver<'a> {
    pub(super) fn destination(&mut self, node: &ast::Operand<'a>, want: Want, sink: bool) -> Option<Operand> {
        let span = node.span();
        if let ast::Operand::Sink(_) = node {
            if sink {
                return Some(Operand::Sink);
            }
            self.report(
                Code::InvalidOperand,
                span,
                "the result of this instruction cannot be dropped with `_`",
            );
            return None;
        }
        match self.as_name(node) {
            Some(Ok(Named::Register(id, ty))) => self.fitting(id, ty, want, span),
            Some(Err(())) => None,
            _ => {
                let what = match node {
                    ast::Operand::Vector(_) => "a single register is needed here, not a vector",
                    ast::Operand::Pair(_) => "this instruction has one destination only",
                    _ => "a register is needed as destination",
                };
                self.report(Code::InvalidOperand, span, what);
                None
            }
        }
    }

    /// A register, if it is of the type that is wanted.
    pub(super) fn fitting(&mut self, id: RegisterId, ty: Type, want: Want, span: Span) -> Option<Operand> {
        if want.accepts(ty) {
            return Some(Operand::Register(id));
        }
        self.mismatch(span, ty, want);
        None
    }

    /// A register, a constant, or with `!` a negated predicate.
    pub fn source(&mut self, node: &ast::Operand<'a>, want: Want, specials: bool) -> Option<Operand> {
        let span = node.span();
        if let ast::Operand::Prefix(prefix) = node
            && prefix.operator() == Some(PrefixOperator::Not)
            && want == Want::Typed(Type::Pred, Width::Same)
            && let Some(ast::Operand::Name(_)) = prefix.operand()
        {
            return match self.source(&prefix.operand()?, want, false)? {
                Operand::Register(id) => Some(Operand::NotRegister(id)),
                _ => {
                    self.report(Code::InvalidPredicate, span, "only a register can be negated");
                    None
                }
            };
        }
        match self.as_name(node) {
            Some(Ok(Named::Register(id, ty))) => self.fitting(id, ty, want, span),
            Some(Ok(Named::WarpSize)) => {
                self.immediate(Constant::Integer { bits: 32, unsigned: false }, want, span)
            }
            Some(Ok(Named::Special(special))) => {
                if specials {
                    return self.special(special, want, span);
                }
                self.report(
                    Code::InvalidOperand,
                    span,
                    "a special register can be read with `mov`, and with `cvt` between integers only",
                );
                None
            }
            Some(Ok(Named::Registers(_) | Named::SpecialVector)) => {
                self.report(Code::InvalidOperand, span, "a vector is not allowed here; name one component");
                None
            }
            Some(Ok(Named::Variable(_) | Named::Function(_))) => {
                self.report(
                    Code::InvalidOperand,
                    span,
                    "the address of a variable or function must be moved to a register first",
                );
                None
            }
            Some(Ok(Named::Other(_))) => {
                self.report(Code::WrongKindOfName, span, "a label is not allowed here");
                None
            }
            Some(Err(())) => None,
            None => match node {
                ast::Operand::Vector(_)
                | ast::Operand::Address(_)
                | ast::Operand::Pair(_)
                | ast::Operand::Sink(_) => {
                    let what = match node {
                        ast::Operand::Vector(_) => "a vector",
                        ast::Operand::Address(_) => "an address",
                        ast::Operand::Pair(_) => "a pair",
                        _ => "`_`",
                    };
                    self.report(Code::InvalidOperand, span, format!("{what} is not allowed here"));
                    None
                }
                ast::Operand::Index(_) => {
                    self.report(
                        Code::InvalidOperand,
                        span,
                        "the address of a variable or function must be moved to a register first",
                    );
                    None
                }
                _ => match evaluate(node) {
                    Ok(constant) => self.immediate(constant, want, span),
                    Err(error) => {
                        self.push(error);
                        None
                    }
                },
            },
        }
    }

    /// As [`Resolver::source`], or the address of a variable with a constant after a plus sign.
    pub(super) fn source_or_address(
        &mut self,
        node: &ast::Operand<'a>,
        want: Want,
        specials: bool,
    ) -> Option<Operand> {
        if let ast::Operand::Binary(sum) = node
            && let Some(ast::Operand::Name(_)) = sum.left()
            && let Some(address) = self.address_value(node, want)
        {
            return address;
        }
        self.source(node, want, specials)
    }

    /// The address of a variable as a value, with an offset; `None` if the operand is something else, `Some(None)` if
    /// an error has been reported.
    fn address_value(&mut self, node: &ast::Operand<'a>, want: Want) -> Option<Option<Operand>> {
        let operand = match self.variable_address(node)? {
            Some(operand) => operand,
            None => return Some(None),
        };
        let span = node.span();
        if let Want::Typed(ty, _) = want
            && !((ty.is_bits() || ty.is_integer()) && matches!(ty.bits(), 32 | 64))
        {
            self.report(Code::TypeMismatch, span, format!("an address does not fit the type `{ty}`"));
            return Some(None);
        }
        if let (Operand::VariableAddress(id, _), Want::Typed(ty, _)) = (&operand, want)
            && self.body.variables[*id].ty.is_opaque()
            && ty != Type::U64
        {
            let kind = self.body.variables[*id].ty;
            self.report(Code::TypeMismatch, span, format!("the handle of a `{kind}` is a `.u64` value"));
            return Some(None);
        }
        if let (Operand::VariableAddress(id, _), Want::Typed(ty, _)) = (&operand, want)
            && self.body.variables[*id].space == Space::Global
            && ty.bits() < u32::from(self.header.address_bits())
        {
            let bits = self.header.address_bits();
            self.report(Code::InvalidAddress, span, format!("`.global` addresses have {bits} bits"));
            return Some(None);
        }
        Some(Some(operand))
    }

    pub(super) fn immediate(&mut self, constant: Constant, want: Want, span: Span) -> Option<Operand> {
        let fitted = want.immediate(constant);
        if fitted.is_none() {
            let kind =
                if matches!(constant, Constant::Integer { .. }) { "an integer" } else { "a floating-point" };
            let ty = match want {
                Want::Typed(ty, _) | Want::Exact(ty) => format!("`{ty}`"),
                _ => "integer".to_string(),
            };
            self.report(
                Code::TypeMismatch,
                span,
                format!("{kind} constant does not fit an operand of type {ty}"),
            );
        }
        fitted.map(Operand::Immediate)
    }

    /// A constant integer that must pass a test.
    pub(super) fn constant(
        &mut self,
        node: &ast::Operand<'a>,
        want: Want,
        fits: impl Fn(i64) -> bool,
        wanted: impl Fn() -> String,
    ) -> Option<Operand> {
        let span = node.span();
        match evaluate(node).map(|constant| constant.integer().map(|value| narrow(value, want))) {
            Ok(Some(value)) if fits(value) => Some(Operand::Immediate(Immediate::Integer(value))),
            _ => {
                self.report(Code::InvalidOperand, span, wanted());
                None
            }
        }
    }

    /// The four components of a special register that is a vector; the fourth is always the same.
    pub(super) fn special_vector(&mut self, name: &'a str, want: Want, span: Span) -> Option<Operand> {
        let mut components = Vec::new();
        for component in ["x", "y", "z", "w"] {
            let special = SpecialRegister::from_name(&format!("{name}.{component}"))?;
            components.push(self.special(special, want, span)?);
        }
        Some(Operand::Vector(components))
    }

    pub(super) fn special(&mut self, special: SpecialRegister, want: Want, span: Span) -> Option<Operand> {
        let Want::Typed(ty, _) = want else { return Some(Operand::Special(special)) };
        use SpecialRegister as S;
        let bits: &[u32] = match special {
            S::Clock64 | S::Globaltimer | S::CurrentGraphExec | S::Pm64(_) => &[64],
            S::Gridid => &[16, 32, 64],
            S::IsExplicitCluster => &[1],
            S::TidX | S::TidY | S::TidZ | S::NtidX | S::NtidY | S::NtidZ => &[16, 32],
            S::CtaidX | S::CtaidY | S::CtaidZ | S::NctaidX | S::NctaidY | S::NctaidZ => &[16, 32],
            S::Fourth(index) if index < 4 => &[16, 32],
            _ => &[32],
        };
        let (since, chips) = special.since();
        if !self.header.has_version(since) || !self.header.has_chips(chips) {
            let version = self.header.has_version(since);
            let (code, what) = if version {
                (Code::NeedsChip, chips.describe())
            } else {
                (Code::NeedsVersion, format!("`.version` {}.{} or later", since.0, since.1))
            };
            self.report(code, span, format!("`{}` needs {what}", special.name()));
            return None;
        }
        // A conversion may read a special register in either of its widths.
        let converts = matches!(want, Want::Typed(_, Width::AtLeast)) && !bits.contains(&1);
        if converts && !ty.is_float() && bits.iter().any(|&bits| ty.bits() <= bits) {
            return Some(Operand::Special(special));
        }
        if bits.contains(&ty.bits()) && !ty.is_float() {
            return Some(Operand::Special(special));
        }
        self.report(
            Code::TypeMismatch,
            span,
            format!("this special register has {} bits, it cannot be read as `{ty}`", bits[bits.len() - 1]),
        );
        None
    }

    pub(super) fn move_source(&mut self, node: &ast::Operand<'a>, want: Want) -> Option<Operand> {
        let span = node.span();
        if matches!(node, ast::Operand::Vector(_)) || self.names_vector(node) {
            return self.packed(node, want, super::vector::Elements::Read);
        }
        if let Some(address) = self.address_value(node, want) {
            return address;
        }
        if let ast::Operand::Name(name) = node
            && let Some(token) = name.token()
        {
            match self.named(token.text(), token.span())? {
                Named::Function(function) => {
                    let id = self.function(function, span, false)?;
                    return Some(Operand::FunctionAddress(id));
                }
                Named::Special(special) => return self.special(special, want, span),
                Named::SpecialVector => {
                    self.report(
                        Code::InvalidVector,
                        span,
                        format!("`{}` has three components; name one of them", token.text()),
                    );
                    return None;
                }
                _ => {}
            }
        }
        self.source(node, want, true)
    }
}
