//! Comments and white space.

use crate::module::Module;
use crate::text::{Change, replacement};
use oriole_syntax::SyntaxKind::{COMMENT, LINE_MARKER, WHITESPACE};

/// All comments at once.
pub(super) fn comments(module: &Module<'_>) -> Vec<Change> {
    let comments = module.tokens().filter(|token| matches!(token.kind(), COMMENT | LINE_MARKER));
    let all: Change = comments.map(|comment| replacement(comment.range(), " ")).collect();
    if all.is_empty() { Vec::new() } else { vec![all] }
}

/// One line end or one blank in the place of longer white space, all at once.
pub(super) fn white_space(module: &Module<'_>) -> Vec<Change> {
    let mut all = Vec::new();
    for token in module.tokens().filter(|token| token.kind() == WHITESPACE) {
        let range = token.range();
        let ends_line = token.text().contains('\n');
        let short = match (ends_line, range.start) {
            (_, 0) => "",
            (true, _) => "\n",
            (false, _) => " ",
        };
        if token.text() != short {
            all.push(replacement(range, short));
        }
    }
    if all.is_empty() { Vec::new() } else { vec![all] }
}
