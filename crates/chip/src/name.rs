//! Names of chips (`sm_90a`) and of PTX targets, and which target runs on which chip.

use crate::chips::{self, CHIPS, OLD, RENUMBERED, Since, UNKNOWN_SINCE, WITHOUT_ROW, find};
use std::fmt;
use std::str::FromStr;

/// The letter after the SM number of a target.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub enum Variant {
    /// No letter: the base feature set, which every later chip also has.
    #[default]
    Base,
    /// `f`: features of the family, kept by later chips of the same family.
    Family,
    /// `a`: features of this very chip, not available on others.
    Accelerated,
}

impl Variant {
    /// The letter, or an empty string.
    pub fn suffix(self) -> &'static str {
        match self {
            Variant::Base => "",
            Variant::Family => "f",
            Variant::Accelerated => "a",
        }
    }
}

/// A chip with code generation, with its feature set; or an unknown one, with the tables of a known stand-in chip.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Chip {
    number: u8,
    variant: Variant,
    /// The name of a chip without tables of its own.
    unknown: Option<PtxTarget>,
}

/// A target as a PTX module names it; also those without code generation any more, or yet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PtxTarget {
    number: u16,
    variant: Variant,
}

/// A string is not the name of a chip or of a target.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NameError {
    /// Not of the form `sm_` (or `compute_`), digits, optional `a` or `f`.
    Shape(String),
    /// The syntax is right, but no chip has this number or this variant of it.
    Unknown(String),
    /// The chip is older than each that code can be made for.
    Old(String),
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NameError::Shape(name) => write!(f, "`{name}` is not the name of a target"),
            NameError::Unknown(name) => write!(f, "no target is called `{name}`"),
            NameError::Old(name) => write!(f, "`{name}` is older than each chip that code can be made for"),
        }
    }
}

impl std::error::Error for NameError {}

fn is_old(number: u16, variant: Variant) -> bool {
    variant == Variant::Base && OLD.iter().any(|row| row.0 == number)
}

fn split(name: &str) -> Result<(u16, Variant), NameError> {
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

impl Since {
    /// The first PTX version that may name the variant; `None` if there is no such variant.
    fn of(self, variant: Variant) -> Option<(u8, u8)> {
        match variant {
            Variant::Base => Some(self.base),
            Variant::Accelerated => self.accelerated,
            Variant::Family => self.family,
        }
    }
}

/// The row of a number that a name may have.
fn row_of(number: u16) -> Option<&'static chips::Row> {
    u8::try_from(number).ok().and_then(find)
}

fn exists(number: u16, variant: Variant) -> bool {
    row_of(number).is_some_and(|row| row.since.of(variant).is_some())
}

/// The stand-in for a chip without a row: the nearest one before it of the same generation, else the newest; with the
/// same feature set if available. `None` for targets that are known, or older than every chip.
fn stand_in(target: PtxTarget) -> Option<Chip> {
    let PtxTarget { number, variant } = target;
    if row_of(number).is_some() || number < u16::from(CHIPS[0].number) {
        return None;
    }
    let generation = number / 10;
    let today = row_of(renumbered(number));
    let of = |row: &chips::Row| u16::from(row.number);
    let before = || CHIPS.iter().rfind(|row| of(row) < number && of(row) / 10 == generation);
    let row = today.or_else(before).or(CHIPS.last())?;
    let variant = if exists(of(row), variant) { variant } else { Variant::Base };
    Some(Chip { number: row.number, variant, unknown: Some(target) })
}

/// The current number of a chip.
fn renumbered(number: u16) -> u16 {
    RENUMBERED.iter().find(|row| u16::from(row.number) == number).map_or(number, |row| row.today.into())
}

impl Chip {
    /// Hopper, base feature set.
    pub const SM_90: Chip = Chip::named(90);
    /// Hopper with its own matrix and bulk-copy instructions.
    pub const SM_90A: Chip = Chip::SM_90.accelerated();
    /// The default chip.
    pub const DEFAULT: Chip = Chip::SM_90;

    /// The chip with an SM number, base feature set.
    pub const fn of_number(number: u8) -> Option<Chip> {
        if find(number).is_some() { Some(Chip::named(number)) } else { None }
    }

    /// The base variant of a number in the table of chips.
    pub(crate) const fn named(number: u8) -> Chip {
        Chip { number, variant: Variant::Base, unknown: None }
    }

    /// The chip with its own feature set.
    pub const fn accelerated(self) -> Chip {
        Chip { variant: Variant::Accelerated, ..self }
    }

    /// Every chip with each of its variants, by SM number.
    pub fn all() -> Vec<Chip> {
        let variants = [Variant::Base, Variant::Accelerated, Variant::Family];
        let every = CHIPS.iter().flat_map(|row| variants.map(|variant| (row.number, variant)));
        let mut chips: Vec<Chip> = every
            .filter(|&(number, variant)| exists(number.into(), variant))
            .map(|(number, variant)| Chip { number, variant, unknown: None })
            .collect();
        chips.sort();
        chips
    }

    /// The chip of a name; for one without a row, with the tables of its stand-in chip.
    ///
    /// # Errors
    /// The name is invalid, or that of a target older than every chip, or of a variant that the chip is known not to
    /// have.
    pub fn or_stand_in(name: &str) -> Result<Chip, NameError> {
        name.parse().or_else(|error| {
            let (number, variant) = split(name)?;
            stand_in(PtxTarget { number, variant }).ok_or(error)
        })
    }

    /// The known chip whose tables are used for this one; `None` for a chip with tables of its own.
    pub fn stand_in(self) -> Option<Chip> {
        self.unknown.map(|_| Chip { unknown: None, ..self })
    }

    /// The number in the name, 90 for `sm_90a`; for a chip without a row, that of its stand-in.
    pub const fn number(self) -> u8 {
        self.number
    }

    /// The letter in the name, or in that of the stand-in chip.
    pub fn variant(self) -> Variant {
        self.variant
    }

    /// Chips of one family share the features that the letter `f` promises.
    pub fn family(self) -> u8 {
        self.number / 10
    }

    /// True if the back end can make code for this chip today.
    pub fn is_supported(self) -> bool {
        self.unknown.is_none() && chips::find(self.number).is_some_and(|row| row.supported)
    }

    /// True if a module that names `target` may be compiled for this chip.
    ///
    /// A base target runs on its own number and all later ones. A family target runs on later chips of its family,
    /// with any feature set, since each of them has the features of the letter `f`. An accelerated target runs on the
    /// same chip only, and only with the accelerated feature set. A renumbered chip belongs to the family of its
    /// current number.
    pub fn accepts(self, target: PtxTarget) -> bool {
        let own = self.as_target();
        let is_later = target.number <= own.number;
        let today = (renumbered(target.number), renumbered(own.number));
        match target.variant {
            Variant::Base => is_later,
            Variant::Family => is_later && today.0 / 10 == today.1 / 10,
            Variant::Accelerated => today.0 == today.1 && own.variant == Variant::Accelerated,
        }
    }

    /// The chip as a PTX target.
    pub fn as_target(self) -> PtxTarget {
        self.unknown.unwrap_or(PtxTarget { number: self.number.into(), variant: self.variant })
    }
}

impl PtxTarget {
    /// The number in the name.
    pub fn number(self) -> u16 {
        self.number
    }

    /// The letter in the name.
    pub fn variant(self) -> Variant {
        self.variant
    }

    /// The first PTX version that may name this target.
    pub fn first_version(self) -> (u8, u8) {
        let renumbered = RENUMBERED.iter().find(|row| u16::from(row.number) == self.number);
        let since = row_of(self.number).map(|row| row.since).or(renumbered.map(|row| row.since));
        let without_row = OLD.iter().chain(WITHOUT_ROW).find(|row| row.0 == self.number).map(|row| row.1);
        since.and_then(|since| since.of(self.variant)).or(without_row).unwrap_or(UNKNOWN_SINCE)
    }

    /// The chip of this name, with the tables of another one if no table knows it; `None` if the target is too old to have
    /// one.
    pub fn as_chip(self) -> Option<Chip> {
        let PtxTarget { variant, .. } = self;
        let number = renumbered(self.number);
        match row_of(number) {
            Some(row) if exists(number, variant) => Some(Chip { number: row.number, variant, unknown: None }),
            _ => stand_in(self),
        }
    }

    /// The target whose features are known: the current one where the chip was renumbered, and that of the stand-in
    /// chip where this one has no row.
    pub fn with_features(self) -> PtxTarget {
        let today = PtxTarget { number: renumbered(self.number), ..self };
        self.as_chip().and_then(Chip::stand_in).map_or(today, Chip::as_target)
    }
}

impl FromStr for Chip {
    type Err = NameError;

    fn from_str(name: &str) -> Result<Chip, NameError> {
        let (number, variant) = split(name)?;
        match row_of(number) {
            Some(row) if exists(number, variant) => Ok(Chip { number: row.number, variant, unknown: None }),
            _ if is_old(number, variant) => Err(NameError::Old(name.to_string())),
            _ => Err(NameError::Unknown(name.to_string())),
        }
    }
}

impl FromStr for PtxTarget {
    type Err = NameError;

    fn from_str(name: &str) -> Result<PtxTarget, NameError> {
        let (number, variant) = split(name)?;
        let target = PtxTarget { number, variant };
        if !is_old(number, variant) && target.as_chip().is_none() {
            return Err(NameError::Unknown(name.to_string()));
        }
        Ok(target)
    }
}

impl fmt::Display for Chip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.as_target(), f)
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
        for chip in all {
            assert_eq!(chip.to_string().parse(), Ok(chip));
            assert_eq!(chip.to_string().parse::<PtxTarget>().unwrap().as_chip(), Some(chip));
        }
    }

    #[test]
    fn targets_have_a_first_version() {
        let versions = [
            ("sm_10", (1, 0)),
            ("sm_30", (3, 0)),
            ("sm_32", (4, 0)),
            ("sm_62", (5, 0)),
            ("sm_88", (7, 3)),
            ("sm_90", (7, 8)),
            ("sm_90a", (8, 0)),
            ("sm_100a", (8, 6)),
            ("sm_100f", (8, 8)),
            ("sm_101", (8, 6)),
            ("sm_101f", (8, 8)),
            ("sm_103", (8, 8)),
            ("sm_107a", (9, 4)),
            ("sm_110", (9, 0)),
            ("sm_120", (8, 7)),
            ("sm_120f", (8, 8)),
            ("sm_121a", (8, 8)),
            ("sm_130", (9, 0)),
        ];
        for (name, version) in versions {
            assert_eq!(name.parse::<PtxTarget>().unwrap().first_version(), version, "{name}");
        }
    }

    #[test]
    fn bad_names_are_refused() {
        for name in ["sm_", "90", "sm_90b", "sm_a", "sm_+90", ""] {
            assert_eq!(name.parse::<Chip>(), Err(NameError::Shape(name.to_string())));
        }
        for name in ["sm_91", "sm_90f", "sm_75a", "sm_70a", "sm_999"] {
            assert_eq!(name.parse::<Chip>(), Err(NameError::Unknown(name.to_string())));
        }
        for name in ["sm_62", "sm_61", "sm_10"] {
            assert_eq!(name.parse::<Chip>(), Err(NameError::Old(name.to_string())));
        }
    }

    /// The nearest chip before it of the same generation, else the newest, with the same letter if available.
    #[test]
    fn a_known_chip_stands_in_for_an_unknown_one() {
        let pairs = [
            ("sm_71", "sm_70"),
            ("sm_76a", "sm_75"),
            ("sm_82", "sm_80"),
            ("sm_91", "sm_90"),
            ("sm_95a", "sm_90a"),
            ("sm_95f", "sm_90"),
            ("sm_101", "sm_110"),
            ("sm_104f", "sm_103f"),
            ("sm_123", "sm_121"),
            ("sm_123a", "sm_121a"),
            ("sm_130", "sm_121"),
            ("sm_250f", "sm_121f"),
        ];
        for (unknown, known) in pairs {
            let chip = Chip::or_stand_in(unknown).unwrap();
            assert_eq!(chip.stand_in(), Some(known.parse().unwrap()), "{unknown}");
            assert_eq!((chip.to_string().as_str(), chip.is_supported()), (unknown, false));
            assert!(chip.row().supported && chip.accepts(unknown.parse().unwrap()), "{unknown}");
        }
        let target: PtxTarget = "sm_130a".parse().unwrap();
        assert_eq!(target.as_chip(), Chip::or_stand_in("sm_130a").ok());
        assert_eq!(target.with_features(), "sm_121a".parse().unwrap());
        let later = Chip::or_stand_in("sm_999").unwrap();
        assert_eq!((later.to_string().as_str(), later.number()), ("sm_999", 121));
        let newest: Chip = "sm_121a".parse().unwrap();
        assert!(!newest.accepts(target) && !newest.accepts("sm_130".parse().unwrap()));
    }

    #[test]
    fn nothing_stands_in_for_what_is_known_not_to_be() {
        for name in ["sm_60", "sm_62", "sm_65", "sm_0", "sm_90f", "sm_75a", "sm_99999", "sm_", "90"] {
            assert!(Chip::or_stand_in(name).is_err(), "{name}");
        }
        for chip in Chip::all() {
            assert_eq!(Chip::or_stand_in(&chip.to_string()), Ok(chip));
            assert_eq!(chip.stand_in(), None);
            assert_eq!(chip.as_target().with_features(), chip.as_target());
        }
        let renumbered: PtxTarget = "sm_101a".parse().unwrap();
        assert_eq!(renumbered.as_chip(), "sm_110a".parse().ok());
        assert_eq!(renumbered.with_features(), "sm_110a".parse().unwrap());
    }

    /// All pairs of a target and a chip, as ptxas has them.
    #[test]
    fn targets_run_where_they_may() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../test-data/ptxas/targets.txt");
        let table = std::fs::read_to_string(path).unwrap();
        let mut lines = table.lines().skip_while(|line| !line.starts_with("architectures "));
        let names = lines.next().unwrap().split(' ').skip(1);
        let chips: Vec<Chip> = names.map(|name| name.parse().unwrap()).collect();
        let newer = Chip::all().into_iter().filter(|chip| chip.number() >= 75);
        assert_eq!(chips, newer.collect::<Vec<_>>());
        let mut pairs = 0;
        for line in lines {
            let (name, letters) = line.split_once(' ').unwrap();
            let letters = letters.trim();
            assert_eq!(letters.len(), chips.len(), "{name}");
            for (&chip, letter) in chips.iter().zip(letters.chars()).filter(|&(_, letter)| letter != 'u') {
                assert_eq!(chip.accepts(name.parse().unwrap()), letter == '.', "{name} for {chip}");
                pairs += 1;
            }
        }
        assert!(pairs > 600, "{pairs} pairs");
    }

    /// The letter `f` is only in the table of names: a family has the features of the base chip.
    #[test]
    fn families_are_chips_of_their_own() {
        let families = || Chip::all().into_iter().filter(|chip| chip.variant() == Variant::Family);
        assert!(families().next().is_some());
        for chip in families() {
            assert!(chip.is_supported(), "{chip}");
            assert_eq!(chip.limits(), Chip::named(chip.number()).limits(), "{chip}");
        }
    }
}
