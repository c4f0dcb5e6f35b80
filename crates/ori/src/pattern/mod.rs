//! Patterns: rows of tests over one instruction; the most specific row that holds wins. The template of a row says
//! what the instruction becomes; the table that holds the rows defines the template type.
//!
//! It is here because choices before and after allocation are declared in the same way. No row and no template may
//! enter.

mod contest;
mod kinds;
mod matcher;
mod row_id;
mod test;

pub use contest::{Alternative, Contest, Cost, Decision, Decisions};
pub use kinds::{Kinds, Signs, Width};
pub use matcher::{Candidate, Patterns, Tie, Tree};
pub use row_id::RowId;
pub use test::{Number, Pipe, Site, Test};

/// One row of a table.
#[derive(Clone, Copy, Debug)]
pub struct Pattern<T: 'static> {
    /// Its name in explanations.
    pub name: &'static str,
    /// Tests that must all hold.
    pub tests: &'static [Test],
    /// The replacement.
    pub template: T,
}

impl<T> Pattern<T> {
    /// Priority over other matching patterns: the more a pattern tests, the higher.
    pub fn priority(&self) -> u32 {
        self.tests.iter().map(|test| test.weight()).sum()
    }

    /// True if the instruction passes all tests.
    pub fn holds(&self, site: &Site<'_>) -> bool {
        self.tests.iter().all(|test| test.holds(site))
    }
}
