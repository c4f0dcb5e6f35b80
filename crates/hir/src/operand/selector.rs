//! Operands of video instructions: words with a selector of their bytes or halves and a sign.

use super::selector_words::is_selector;
use super::{Named, Want};
use crate::Operand;
use crate::names::Meaning;
use crate::resolver::Resolver;
use oriole_diagnostics::Code;
use oriole_syntax::ast::{self, AstNode, PrefixOperator};

impl<'a> Resolver<'a> {
    /// A word of a video instruction, with a selector of its parts and a sign where one is possible.
    pub(super) fn selected(
        &mut self,
        node: &ast::Operand<'a>,
        want: Want,
        selector: impl Fn(&str) -> bool,
        destination: bool,
        sign: bool,
    ) -> Option<Operand> {
        let span = node.span();
        let (negated, inner) = match node {
            ast::Operand::Prefix(prefix) if sign && prefix.operator() == Some(PrefixOperator::Minus) => {
                (true, prefix.operand()?)
            }
            _ => (false, *node),
        };
        if let ast::Operand::Member(member) = &inner
            && let Some(ast::Operand::Name(name)) = member.base()
            && let (Some(token), Some(component)) = (name.token(), member.component())
            && is_selector(component.text())
            && let Some(Meaning::Register(_)) = self.names.look_up(token.text())
        {
            let text = component.text().trim_start_matches('.').to_string();
            if !selector(&text) {
                self.report(
                    Code::InvalidOperand,
                    component.span(),
                    format!("no selector is called `.{text}`"),
                );
                return None;
            }
            let Named::Register(register, ty) = self.named(token.text(), span)? else { return None };
            if !want.accepts(ty) {
                self.mismatch(span, ty, want);
                return None;
            }
            return Some(Operand::Selection { register, selector: text, negated });
        }
        if negated && matches!(inner, ast::Operand::Name(_)) {
            return match self.source(&inner, want, false)? {
                Operand::Register(register) => {
                    Some(Operand::Selection { register, selector: String::new(), negated })
                }
                other => Some(other),
            };
        }
        if destination { self.destination(node, want, false) } else { self.source(node, want, false) }
    }
}
