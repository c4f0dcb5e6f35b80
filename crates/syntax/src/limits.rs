//! Bounds that keep trees shallow and reports short, whatever the input is.
//!
//! Trees are walked, compared and dropped by recursion, so their depth must be
//! bounded by the parser and not by the input. Each bound is a diagnostic with
//! the code `limit::nesting`.

/// How deep scopes `{ … }` may be nested inside a function body.
pub const MAX_SCOPE_NESTING: usize = 256;

/// How deep parentheses, prefix operators, vectors and initializer lists may be
/// nested in one operand or initializer.
pub const MAX_EXPRESSION_NESTING: usize = 100;

/// How many infix operators one operand may hold.
pub const MAX_OPERATORS: usize = 400;

/// How many syntax diagnostics one unit reports; later ones are dropped, since
/// they add nothing and a binary file would give millions.
pub const MAX_SYNTAX_DIAGNOSTICS: usize = 100;

/// How many syntax errors a unit may have; behind the last one nothing is looked at, and the remaining text is one
/// token of its tree. Whoever made so many has no use for a tree, and a token takes many times the memory of its byte.
pub const MAX_SYNTAX_ERRORS: usize = 10_000;

/// How many tokens are kept of a text that is passed over; what is left of it becomes one token.
pub const MAX_PASSED_TOKENS: usize = 10_000;
