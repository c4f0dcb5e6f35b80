//! Which chip a name on a command line or in an option means, and why code cannot be made for it.
//!
//! It is here so that the program and the library refuse a name in the same words. No option and no file may enter.

use crate::{Chip, NameError};

/// Why a chip cannot be chosen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ChipError {
    /// No chip has the name.
    Name(NameError),
    /// No table has the instruction encodings of the chip.
    NoEncoding(Chip),
    /// The compiler does not make code for the chip yet.
    Unsupported(Chip),
}

impl std::fmt::Display for ChipError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ChipError::Name(error @ NameError::Shape(_)) => error.fmt(f),
            ChipError::Name(error) => write!(f, "{error}; {} can be compiled for", supported()),
            ChipError::NoEncoding(chip) => write!(f, "the instruction encodings are unknown for {chip}"),
            ChipError::Unsupported(chip) => write!(f, "{chip} is not supported yet: {} are", supported()),
        }
    }
}

impl std::error::Error for ChipError {}

/// The chips that can be compiled for, for a message.
fn supported() -> String {
    let chips = Chip::all().into_iter().filter(|chip| chip.is_supported());
    chips.map(|chip| chip.to_string()).collect::<Vec<_>>().join(", ")
}

impl Chip {
    /// The chip of a name; of one that no table knows, with the tables of the chip that stands in.
    ///
    /// # Errors
    /// No chip has the name.
    pub fn choose_any(name: &str) -> Result<Chip, ChipError> {
        Chip::or_stand_in(name).map_err(ChipError::Name)
    }

    /// The chip of a name, if it has tables of its own.
    ///
    /// # Errors
    /// No chip has the name, or no table knows its encodings.
    pub fn choose_known(name: &str) -> Result<Chip, ChipError> {
        let chip = Chip::choose_any(name)?;
        if chip.stand_in().is_some() { Err(ChipError::NoEncoding(chip)) } else { Ok(chip) }
    }

    /// The chip of a name, if code can be made for it.
    ///
    /// # Errors
    /// No chip has the name, or there is no code for it.
    pub fn choose_supported(name: &str) -> Result<Chip, ChipError> {
        let chip = Chip::choose_known(name)?;
        if chip.is_supported() { Ok(chip) } else { Err(ChipError::Unsupported(chip)) }
    }
}
