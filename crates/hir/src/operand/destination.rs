//! Destinations that come in pairs, or that may be left out with `_`.
//!
//! Separate from single registers: which half of a pair may be `_` differs from instruction to instruction.

use oriole_diagnostics::Code;
use oriole_ptx::table::{Form, Kind};
use oriole_ptx::{Opcode, Type};
use oriole_syntax::ast::{self, AstNode};

use super::Want;
use super::vector::Elements;
use crate::Operand;
use crate::compatible::Width;
use crate::resolver::Resolver;

const PREDICATE: Want = Want::Typed(Type::Pred, Width::Same);

impl<'a> Resolver<'a> {
    /// `d` or `d|p`, as the kind of the position says.
    pub(super) fn pair_destination(
        &mut self,
        node: &ast::Operand<'a>,
        kind: Kind,
        want: Want,
        form: &Form,
    ) -> Option<Operand> {
        let span = node.span();
        match node {
            ast::Operand::Sink(_) if kind == Kind::PairDestinationOrSink => Some(Operand::Sink),
            ast::Operand::Pair(pair) => {
                // `setp` and `match` may drop either, other instructions the second.
                let either = matches!(form.row.opcode, Opcode::Setp | Opcode::Match);
                let first = self.destination(&pair.first()?, want, either);
                let second = self.destination(&pair.second()?, PREDICATE, true);
                let (first, second) = (first?, second?);
                if first == Operand::Sink && second == Operand::Sink {
                    self.report(Code::InvalidOperand, span, "one of the two results must be kept");
                    return None;
                }
                Some(Operand::Pair(Box::new(first), Box::new(second)))
            }
            _ if kind == Kind::BothDestinations => {
                self.report(Code::InvalidOperand, span, "two destinations are needed here, as in `d|p`");
                None
            }
            _ => self.destination(node, want, false),
        }
    }

    /// `d|p` of which the first may be `_`.
    pub(super) fn elected(&mut self, node: &ast::Operand<'a>, want: Want) -> Option<Operand> {
        let ast::Operand::Pair(pair) = node else {
            self.report(Code::InvalidOperand, node.span(), "two destinations are needed here, as in `d|p`");
            return None;
        };
        let first = self.destination(&pair.first()?, want, true);
        let second = self.destination(&pair.second()?, PREDICATE, false);
        Some(Operand::Pair(Box::new(first?), Box::new(second?)))
    }

    /// The destination of a texture read: a vector, and after `|` an optional predicate.
    pub(super) fn texels(&mut self, node: &ast::Operand<'a>, want: Want, width: u8) -> Option<Operand> {
        let ast::Operand::Pair(pair) = node else {
            return self.exact_vector(node, want, width, Elements::Written);
        };
        let first = self.exact_vector(&pair.first()?, want, width, Elements::Written);
        let second = self.destination(&pair.second()?, PREDICATE, false);
        Some(Operand::Pair(Box::new(first?), Box::new(second?)))
    }

    /// `_` alone.
    pub(super) fn sink(&mut self, node: &ast::Operand<'a>) -> Option<Operand> {
        if matches!(node, ast::Operand::Sink(_)) {
            return Some(Operand::Sink);
        }
        self.report(Code::InvalidOperand, node.span(), "`_` is needed here: there is no result");
        None
    }
}
