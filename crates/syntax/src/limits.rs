//! Bounds that keep trees shallow and reports short, whatever the input is.
//!
//! Trees are walked, compared and dropped by recursion, so their depth must be
//! bounded by the parser and not by the input. Each bound is a diagnostic with
//! the code `limit::nesting`.

/// Maximum nesting of scopes `{ … }` inside a function body.
pub const MAX_SCOPE_NESTING: usize = 256;

/// Maximum nesting of parentheses, prefix operators, vectors and initializer lists in one operand or initializer.
pub const MAX_EXPRESSION_NESTING: usize = 100;

/// Maximum number of infix operators in one operand.
pub const MAX_OPERATORS: usize = 400;

/// Maximum number of syntax diagnostics of one unit; later ones are dropped, since they add nothing and a binary file
/// would give millions.
pub const MAX_SYNTAX_DIAGNOSTICS: usize = 100;

/// Maximum number of syntax errors of a unit; after the last one the rest of the text becomes one token of its tree. A
/// tree of such a text is useless, and a token takes many times the memory of its byte.
pub const MAX_SYNTAX_ERRORS: usize = 10_000;

/// Maximum number of tokens kept of a text that is skipped; the rest of it becomes one token.
pub const MAX_PASSED_TOKENS: usize = 10_000;
