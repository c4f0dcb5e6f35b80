//! Why a function could not be compiled.

use oriole_lower::LowerError;

/// A failure of a stage.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Failure {
    /// The PTX cannot be compiled, yet or at all: everything that lowering found, in order.
    Refused(Vec<LowerError>),
    /// The compiler contradicts itself.
    Internal {
        /// Phase or stage.
        phase: &'static str,
        /// Its message.
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
            Failure::Refused(errors) => {
                let messages: Vec<&str> = errors.iter().map(|error| error.message.as_str()).collect();
                f.write_str(&messages.join("; "))
            }
            Failure::Internal { phase, message } => write!(f, "internal error in {phase}: {message}"),
        }
    }
}

impl std::error::Error for Failure {}
