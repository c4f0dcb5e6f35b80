//! The checks as data: their names, and what each looks for.

use std::fmt;

/// A check.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Check {
    /// Conflicting accesses that nothing orders.
    Races,
    /// Accesses outside of every object, and atomics on local memory.
    Bounds,
    /// Reads of bytes and registers that nothing has written.
    Unwritten,
    /// Lanes that want different words of a bank.
    Banks,
    /// Addresses that are no multiple of the size of the access.
    Aligned,
    /// Threads that miss a barrier or a collective instruction.
    Divergence,
}

/// Each check with its name and what it looks for.
pub const CHECKS: &[(Check, &str, &str)] = &[
    (Check::Races, "races", "conflicting accesses that nothing orders"),
    (Check::Bounds, "bounds", "accesses outside of every object, and atomics on local memory"),
    (Check::Unwritten, "uninit", "reads of bytes and registers that nothing has written"),
    (Check::Banks, "banks", "accesses to shared memory with conflicts of banks"),
    (Check::Aligned, "aligned", "addresses that are no multiple of the size of the access"),
    (Check::Divergence, "divergence", "threads that miss a barrier or a collective instruction"),
];

/// A set of checks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Checks(u8);

/// A name that no check has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownCheck(pub String);

impl fmt::Display for UnknownCheck {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = CHECKS.iter().map(|(_, name, _)| *name).collect();
        write!(out, "there is no check `{}`: choose from {}, or all", self.0, names.join(", "))
    }
}

impl std::error::Error for UnknownCheck {}

impl Checks {
    /// All checks.
    pub fn all() -> Checks {
        CHECKS.iter().fold(Checks::default(), |set, (check, ..)| set.with(*check))
    }

    /// This set and a check.
    #[must_use]
    pub fn with(self, check: Check) -> Checks {
        Checks(self.0 | 1 << check as u8)
    }

    /// Whether the set has a check.
    pub fn has(self, check: Check) -> bool {
        self.0 >> (check as u8) & 1 != 0
    }

    /// The checks of a list of names with commas; `all` is each of them.
    ///
    /// # Errors
    /// A name that no check has.
    pub fn of_list(list: &str) -> Result<Checks, UnknownCheck> {
        list.split(',').map(str::trim).try_fold(Checks::default(), |set, name| {
            if name == "all" {
                return Ok(Checks::all());
            }
            let found = CHECKS.iter().find(|(_, known, _)| *known == name);
            found.map(|(check, ..)| set.with(*check)).ok_or_else(|| UnknownCheck(name.to_owned()))
        })
    }
}
