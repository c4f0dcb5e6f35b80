//! Names of chips (`sm_90a`) and of PTX targets, and which target runs on which chip.

use crate::chips::{self, CHIPS, RENUMBERED, find};
use std::fmt;
use std::str::FromStr;

/// The letter after the number of a target.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub enum Variant {
    /// No letter: the base feature set, which every later chip also has.
    #[default]
    Base,
    /// `f`: features of the family, kept by later chips of the same family.
    Family,
    /// `a`: features of this very chip, promised by no other.
    Accelerated,
}

impl Variant {
    /// The letter, or nothing.
    pub fn suffix(self) -> &'static str {
        match self {
            Variant::Base => "",
            Variant::Family => "f",
            Variant::Accelerated => "a",
        }
    }
}

/// A chip that code can be made for, with the feature set asked of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Chip {
    number: u8,
    variant: Variant,
}

/// A target as a PTX module names it; also those for which no code can be made any more.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PtxTarget {
    number: u8,
    variant: Variant,
}

/// A string is not the name of a chip or of a target.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NameError {
    /// Not of the form `sm_` (or `compute_`), digits, optional `a` or `f`.
    Shape(String),
    /// The form is right, but no chip has this number or this variant of it.
    Unknown(String),
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NameError::Shape(name) => write!(f, "`{name}` is not the name of a target"),
            NameError::Unknown(name) => write!(f, "no target is called `{name}`"),
        }
    }
}

impl std::error::Error for NameError {}

/// Numbers that only a PTX `.target` may carry: their code runs on a later chip.
const OLD_NUMBERS: [u8; 16] = [10, 11, 12, 13, 20, 21, 30, 32, 35, 37, 50, 52, 53, 60, 61, 62];

fn split(name: &str) -> Result<(u8, Variant), NameError> {
    let shape = || NameError::Shape(name.to_string());
    let rest = name.strip_prefix("sm_").or_else(|| name.strip_prefix("compute_")).ok_or_else(shape)?;
    let (digits, variant) = if let Some(digits) = rest.strip_suffix('a') {
        (digits, Variant::Accelerated)
    } else if let Some(digits) = rest.strip_suffix('f') {
        (digits, Variant::Family)
    } else {
        (rest, Variant::Base)
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(shape());
    }
    let number = digits.parse().map_err(|_| NameError::Unknown(name.to_string()))?;
    Ok((number, variant))
}

fn exists(number: u8, variant: Variant) -> bool {
    let row = chips::find(number);
    row.is_some_and(|row| match variant {
        Variant::Base => true,
        Variant::Accelerated => row.accelerated,
        Variant::Family => row.family,
    })
}

/// The number that a chip has today.
fn renumbered(number: u8) -> u8 {
    RENUMBERED.iter().find(|row| row.0 == number).map_or(number, |row| row.1)
}

impl Chip {
    /// Hopper, base feature set.
    pub const SM_90: Chip = Chip::named(90);
    /// Hopper with its own matrix and bulk-copy instructions.
    pub const SM_90A: Chip = Chip::SM_90.accelerated();
    /// The chip that is meant where nothing says which.
    pub const DEFAULT: Chip = Chip::SM_90;

    /// The chip of a number, base feature set.
    pub const fn of_number(number: u8) -> Option<Chip> {
        if find(number).is_some() { Some(Chip::named(number)) } else { None }
    }

    /// The base variant of a number that the table of chips has.
    pub(crate) const fn named(number: u8) -> Chip {
        Chip { number, variant: Variant::Base }
    }

    /// The same chip with its own feature set.
    pub const fn accelerated(self) -> Chip {
        Chip { variant: Variant::Accelerated, ..self }
    }

    /// Every chip with each of its variants, in the order of numbers.
    pub fn all() -> Vec<Chip> {
        let variants = [Variant::Base, Variant::Accelerated, Variant::Family];
        let every = CHIPS.iter().flat_map(|row| variants.map(|variant| (row.number, variant)));
        let mut chips: Vec<Chip> = every
            .filter(|&(number, variant)| exists(number, variant))
            .map(|(number, variant)| Chip { number, variant })
            .collect();
        chips.sort();
        chips
    }

    /// The number in the name, 90 for `sm_90a`.
    pub const fn number(self) -> u8 {
        self.number
    }

    /// The letter in the name.
    pub fn variant(self) -> Variant {
        self.variant
    }

    /// Chips of one family share the features that the letter `f` promises.
    pub fn family(self) -> u8 {
        self.number / 10
    }

    /// True if the back end can make code for this chip today.
    pub fn is_supported(self) -> bool {
        chips::find(self.number).is_some_and(|row| row.supported) && self.variant != Variant::Family
    }

    /// True if a module that names `target` may be compiled for this chip.
    ///
    /// A base target runs on its own number and all later ones; a family target on later chips of its family;
    /// an accelerated target on the same chip only, and there only if the accelerated feature set is asked for.
    pub fn accepts(self, target: PtxTarget) -> bool {
        match target.variant {
            Variant::Base => target.number <= self.number,
            Variant::Family => {
                target.number / 10 == self.family()
                    && target.number <= self.number
                    && self.variant != Variant::Base
            }
            Variant::Accelerated => target.number == self.number && self.variant == Variant::Accelerated,
        }
    }

    /// The same chip as a PTX target.
    pub fn as_target(self) -> PtxTarget {
        PtxTarget { number: self.number, variant: self.variant }
    }
}

impl PtxTarget {
    /// The number in the name.
    pub fn number(self) -> u8 {
        self.number
    }

    /// The letter in the name.
    pub fn variant(self) -> Variant {
        self.variant
    }

    /// The chip of this name, unless the target is too old to have one.
    pub fn as_chip(self) -> Option<Chip> {
        let number = renumbered(self.number);
        exists(number, self.variant).then_some(Chip { number, variant: self.variant })
    }
}

impl FromStr for Chip {
    type Err = NameError;

    fn from_str(name: &str) -> Result<Chip, NameError> {
        let (number, variant) = split(name)?;
        if !exists(number, variant) {
            return Err(NameError::Unknown(name.to_string()));
        }
        Ok(Chip { number, variant })
    }
}

impl FromStr for PtxTarget {
    type Err = NameError;

    fn from_str(name: &str) -> Result<PtxTarget, NameError> {
        let (number, variant) = split(name)?;
        let old = variant == Variant::Base && OLD_NUMBERS.contains(&number);
        if !old && !exists(renumbered(number), variant) {
            return Err(NameError::Unknown(name.to_string()));
        }
        Ok(PtxTarget { number, variant })
    }
}

impl fmt::Display for Chip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}{}", self.number, self.variant.suffix())
    }
}

impl fmt::Debug for Chip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for PtxTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}{}", self.number, self.variant.suffix())
    }
}

impl fmt::Debug for PtxTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chip_prints_and_parses() {
        let all = Chip::all();
        assert_eq!(all.len(), 25);
        for chip in all {
            assert_eq!(chip.to_string().parse(), Ok(chip));
            assert_eq!(chip.to_string().parse::<PtxTarget>().unwrap().as_chip(), Some(chip));
        }
    }

    #[test]
    fn bad_names_are_refused() {
        for name in ["sm_", "90", "sm_90b", "sm_a", "sm_+90", ""] {
            assert_eq!(name.parse::<Chip>(), Err(NameError::Shape(name.to_string())));
        }
        for name in ["sm_91", "sm_90f", "sm_75a", "sm_70a", "sm_999", "sm_62"] {
            assert_eq!(name.parse::<Chip>(), Err(NameError::Unknown(name.to_string())));
        }
    }

    #[test]
    fn targets_run_where_they_may() {
        let ok = |chip: &str, target: &str| chip.parse::<Chip>().unwrap().accepts(target.parse().unwrap());
        assert!(ok("sm_90", "sm_52"));
        assert!(ok("sm_90a", "sm_90"));
        assert!(ok("sm_90a", "sm_90a"));
        assert!(!ok("sm_90", "sm_90a"));
        assert!(!ok("sm_90a", "sm_100"));
        assert!(!ok("sm_100a", "sm_90a"));
        assert!(ok("sm_103a", "sm_100f"));
        assert!(!ok("sm_110f", "sm_100f"));
    }
}
