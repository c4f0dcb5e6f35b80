//! Operands of video instructions: words with a selector of their bytes or halves and a sign.

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

/// Parts of a word that scalar video instructions select: a byte or a half.
pub(super) fn scalar_selector(text: &str) -> bool {
    matches!(text, "b0" | "b1" | "b2" | "b3" | "h0" | "h1")
}

/// Parts of two words that packed video instructions pick: two halves of four, or four bytes of eight.
pub(super) fn lane_selector(text: &str, count: u8) -> bool {
    let (letter, limit) = if count == 2 { ('h', '3') } else { ('b', '7') };
    let Some(digits) = text.strip_prefix(letter) else { return false };
    digits.len() == usize::from(count) && digits.chars().all(|digit| ('0'..=limit).contains(&digit))
}

/// The halves or bytes of the destination that are written: descending digits.
pub(super) fn lane_mask(text: &str, count: u8) -> bool {
    let (letter, limit) = if count == 2 { ('h', b'1') } else { ('b', b'3') };
    let Some(digits) = text.strip_prefix(letter).map(str::as_bytes) else { return false };
    !digits.is_empty()
        && digits.iter().all(|digit| (b'0'..=limit).contains(digit))
        && digits.windows(2).all(|pair| pair[0] > pair[1])
}

pub(super) fn is_selector(component: &str) -> bool {
    matches!(component, ".b0" | ".b1" | ".b2" | ".b3" | ".h0" | ".h1")
        || (component.len() > 2 && (component.starts_with(".b") || component.starts_with(".h")))
}
