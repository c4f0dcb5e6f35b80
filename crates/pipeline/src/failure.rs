//! Why a function could not be compiled.

/// A failure of a stage.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Failure {
    /// Correct PTX that cannot be compiled yet.
    Unsupported {
        /// Ordinal of the statement.
        statement: u32,
        /// What is missing.
        message: String,
    },
    /// The compiler contradicts itself.
    Internal {
        /// Phase or stage.
        phase: &'static str,
        /// What it found.
        message: String,
    },
}

impl Failure {
    /// An internal failure.
    pub fn internal(phase: &'static str, message: impl std::fmt::Display) -> Failure {
        Failure::Internal { phase, message: message.to_string() }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Unsupported { message, .. } => f.write_str(message),
            Failure::Internal { phase, message } => write!(f, "internal error in {phase}: {message}"),
        }
    }
}

impl std::error::Error for Failure {}
