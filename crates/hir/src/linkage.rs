//! Linkage words of functions and variables.

use oriole_diagnostics::{Code, Diagnostic};
use oriole_syntax::TokenRef;
use oriole_syntax::ast;

/// Linkage of a function or variable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Linkage {
    /// `.extern`
    Extern,
    /// `.visible`
    Visible,
    /// `.weak`
    Weak,
    /// `.common`
    Common,
}

/// The single linkage word of a declaration; more than one is a diagnostic.
pub(crate) fn single_linkage(
    words: &[(ast::Linkage, TokenRef<'_>)],
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Linkage> {
    if let Some((_, second)) = words.get(1) {
        diagnostics.push(Diagnostic::new(
            Code::InvalidVariable,
            second.span(),
            format!("`{}` and `{}` exclude each other", words[0].1.text(), second.text()),
        ));
    }
    words.first().map(|word| match word.0 {
        ast::Linkage::Extern => Linkage::Extern,
        ast::Linkage::Visible => Linkage::Visible,
        ast::Linkage::Weak => Linkage::Weak,
        ast::Linkage::Common => Linkage::Common,
    })
}
