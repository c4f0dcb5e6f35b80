//! The value of `-arch`: a chip, or a virtual one, for which a text is only checked; and why a text is for another one.

use oriole_chip::{Chip, NameError, PtxTarget, Variant};
use std::fmt;
use std::str::FromStr;

/// Prefixes of the names of chips, and of virtual ones.
const REAL: &str = "sm_";
const VIRTUAL: [&str; 2] = ["compute_", "lto_"];

/// A chip, with the name it was given by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Architecture {
    /// The chip.
    pub chip: Chip,
    prefix: &'static str,
}

impl Architecture {
    /// A virtual chip: a text is only checked.
    pub fn is_virtual(self) -> bool {
        self.prefix != REAL
    }

    /// It is for a linker, and not for an assembler.
    pub(crate) fn is_for_linkers(self) -> bool {
        self.prefix == VIRTUAL[1]
    }
}

impl From<Chip> for Architecture {
    fn from(chip: Chip) -> Architecture {
        Architecture { chip, prefix: REAL }
    }
}

impl FromStr for Architecture {
    type Err = NameError;

    fn from_str(name: &str) -> Result<Architecture, NameError> {
        let prefixes = std::iter::once(REAL).chain(VIRTUAL);
        let split = |prefix: &'static str| name.strip_prefix(prefix).map(|rest| (prefix, rest));
        let (prefix, rest) =
            prefixes.into_iter().find_map(split).ok_or_else(|| NameError::Shape(name.to_owned()))?;
        Ok(Architecture { chip: format!("{REAL}{rest}").parse()?, prefix })
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.chip.to_string();
        write!(f, "{}{}", self.prefix, name.strip_prefix(REAL).unwrap_or(&name))
    }
}

/// The reason why a module for a target cannot be compiled for an architecture.
pub(crate) fn target_text(target: &str, architecture: Architecture) -> String {
    let Ok(named) = target.parse::<PtxTarget>() else {
        return "32-Bit compilation is no longer supported".to_owned();
    };
    let chip = architecture.chip;
    let own = chip.as_target();
    match named.variant() {
        _ if named.number() > own.number() => {
            "SM version specified by .target is higher than default SM version assumed".to_owned()
        }
        // Some names are older numbers of a chip.
        _ if named.as_chip().is_some_and(|named| named.number() == chip.number()) => {
            format!("PTX with .target '{target}' cannot be compiled for architecture '{architecture}'")
        }
        Variant::Family => {
            format!("Program with .target '{target}' cannot be compiled to different SM-family architecture")
        }
        _ => format!("Program with .target '{target}' cannot be compiled to future architecture"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        for (name, chip, is_virtual) in [
            ("sm_100f", "sm_100f", false),
            ("compute_100f", "sm_100f", true),
            ("compute_90a", "sm_90a", true),
            ("lto_121", "sm_121", true),
        ] {
            let found: Architecture = name.parse().expect("a name");
            assert_eq!((found.to_string().as_str(), found.is_virtual()), (name, is_virtual));
            assert_eq!(found.chip.to_string(), chip);
        }
        for name in ["100f", "sm_101f", "compute_90f", "lto_", "smm_90", "compute_sm_90", "sm_compute_90"] {
            assert!(name.parse::<Architecture>().is_err(), "{name}");
        }
    }
}
