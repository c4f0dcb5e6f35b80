//! Why a text is not Ori: the problems of a line, as data with their messages.

/// A line that is not Ori.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct ParseError {
    /// Line number, from 1.
    pub line: usize,
    /// The reason.
    pub problem: Problem,
}

/// Why a line is not Ori.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Problem {
    /// Text after the end of a statement.
    #[error("unexpected `{0}`")]
    Rest(String),
    /// Something is missing.
    #[error("expected {0}")]
    Expected(&'static str),
    /// A token is missing.
    #[error("expected `{token}` before `{rest}`")]
    Token {
        /// The token.
        token: String,
        /// The rest of the line.
        rest: String,
    },
    /// A register is missing before the rest of the line.
    #[error("expected a register before `{0}`")]
    Register(String),
    /// Another word than those that may be here.
    #[error("expected {expected}, found `{found}`")]
    Found {
        /// The allowed words.
        expected: &'static str,
        /// The word.
        found: String,
    },
    /// Items of a kind have consecutive numbers.
    #[error("expected {kind}{number}")]
    Next {
        /// The kind and its letter.
        kind: &'static str,
        /// The next number.
        number: usize,
    },
    /// No item of this kind has the name.
    #[error("unknown {kind} `{name}`")]
    Unknown {
        /// The kind.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// A number that does not fit.
    #[error("{0} is too large")]
    TooLarge(String),
    /// A register that was in another file before.
    #[error("register {0} has two files")]
    TwoFiles(u32),
    /// A successor that does not exist.
    #[error("there is no block b{0}")]
    NoBlock(u32),
    /// The number of an escape is not that of a character.
    #[error("`{0}` is no character")]
    Character(String),
    /// A rule of the text form.
    #[error("{0}")]
    Rule(&'static str),
}

pub(super) fn unknown(kind: &'static str, name: &str) -> Problem {
    Problem::Unknown { kind, name: name.to_owned() }
}

pub(super) fn found(expected: &'static str, found: &str) -> Problem {
    Problem::Found { expected, found: found.to_owned() }
}

pub(super) fn too_large(what: &str) -> Problem {
    Problem::TooLarge(what.to_owned())
}

pub(super) type Parsed<T> = Result<T, Problem>;
