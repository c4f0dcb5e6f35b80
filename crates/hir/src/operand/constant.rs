//! Operands whose constants are limited: to a range, to a list, to multiples of an integer.
//!
//! A limit is a fact of the instruction table and concerns constants only: the content of a register is not known.

use oriole_diagnostics::Code;
use oriole_ptx::table::Form;
use oriole_syntax::ast::{self, AstNode};

use std::ops::RangeInclusive;

use super::Want;
use super::want::narrow;
use crate::resolver::Resolver;
use crate::{Immediate, Operand};

/// Numbers for a message.
fn listed(list: &[i64]) -> String {
    list.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

impl<'a> Resolver<'a> {
    /// A constant in a range.
    pub(super) fn constant_in_range(
        &mut self,
        node: &ast::Operand<'a>,
        want: Want,
        range: RangeInclusive<i64>,
    ) -> Option<Operand> {
        let message = || match (*range.start(), *range.end()) {
            (i64::MIN, i64::MAX) => "a constant is needed here".to_owned(),
            (least, most) => format!("a constant from {least} to {most} is needed here"),
        };
        self.constant(node, want, |value| range.contains(&value), message)
    }

    /// One of several constants.
    pub(super) fn constant_of(
        &mut self,
        node: &ast::Operand<'a>,
        want: Want,
        list: &[i64],
    ) -> Option<Operand> {
        let message = || format!("one of these constants is needed here: {}", listed(list));
        self.constant(node, want, |value| list.contains(&value), message)
    }

    /// A register, or a constant in a range.
    pub(super) fn source_in_range(
        &mut self,
        node: &ast::Operand<'a>,
        want: Want,
        range: RangeInclusive<i64>,
    ) -> Option<Operand> {
        self.limited_source(
            node,
            want,
            |value| range.contains(&narrow(value, want)),
            |value| format!("{value} is out of range; it must be from {} to {}", range.start(), range.end()),
        )
    }

    /// A register, or one of several constants.
    pub(super) fn source_of(&mut self, node: &ast::Operand<'a>, want: Want, list: &[i64]) -> Option<Operand> {
        self.limited_source(
            node,
            want,
            |value| list.contains(&narrow(value, want)),
            |value| format!("{value} is not allowed here; possible are {}", listed(list)),
        )
    }

    /// A register, or a constant that is a positive multiple of `step`.
    pub(super) fn source_multiple_of(
        &mut self,
        node: &ast::Operand<'a>,
        want: Want,
        step: i64,
        form: &Form,
    ) -> Option<Operand> {
        let arrive = form.modifiers.has(oriole_ptx::Word::Arrive);
        self.limited_source(
            node,
            want,
            |value| narrow(value, want) % step == 0 && !(narrow(value, want) == 0 && arrive),
            |value| format!("{value} is not a valid multiple of {step}"),
        )
    }

    fn limited_source(
        &mut self,
        node: &ast::Operand<'a>,
        want: Want,
        fits: impl Fn(i64) -> bool,
        message: impl Fn(i64) -> String,
    ) -> Option<Operand> {
        let operand = self.source(node, want, false)?;
        if let Operand::Immediate(Immediate::Integer(value)) = operand
            && !fits(value)
        {
            self.report(Code::InvalidOperand, node.span(), message(value));
            return None;
        }
        Some(operand)
    }
}
