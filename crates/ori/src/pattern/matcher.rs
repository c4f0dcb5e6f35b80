//! Selects the row for an instruction. The specification is a linear scan: of all rows whose tests hold, the one with
//! the highest priority wins. The decision tree is built from the same rows and runs each test at most once on a
//! path; the two always agree. It is built lazily: most programs need only a path or two for most operations.

use super::{Pattern, RowId, Site, Test};
use crate::Opcode;
use std::sync::OnceLock;

/// A table: groups of rows, whose order does not matter.
#[derive(Debug)]
pub struct Patterns<T: 'static>(pub &'static [&'static [Pattern<T>]]);

/// Two rows with equal priority that an instruction may both match: the table is ambiguous.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tie {
    /// Name of the one.
    pub first: &'static str,
    /// Name of the other.
    pub second: &'static str,
}

impl std::fmt::Display for Tie {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "patterns `{}` and `{}` may both match, with the same priority", self.first, self.second)
    }
}

impl std::error::Error for Tie {}

/// A row that was considered: its tests, and the first one that failed.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Its index.
    pub row: RowId,
    /// Name of the row.
    pub name: &'static str,
    /// Its priority.
    pub priority: u32,
    /// The first test that the instruction does not pass; `None` if the row matches.
    pub failed: Option<Test>,
}

impl<T> Patterns<T> {
    /// All rows with their indices.
    pub fn rows(&self) -> impl Iterator<Item = (RowId, &'static Pattern<T>)> + use<T> {
        (0..).map(RowId).zip(self.0.iter().flat_map(|group| group.iter()))
    }

    /// The specification: scans all rows.
    pub fn scan(&self, site: &Site<'_>) -> Option<(RowId, &'static Pattern<T>)> {
        self.rows().filter(|(_, row)| row.holds(site)).max_by_key(|(_, row)| row.priority())
    }

    /// The first pair of rows that the table leaves undecided.
    pub fn find_tie(&self) -> Option<Tie> {
        let rows: Vec<(u32, &Pattern<T>)> = self.rows().map(|(_, row)| (row.priority(), row)).collect();
        rows.iter().enumerate().find_map(|(number, &(priority, first))| {
            let ties = |&&(other, second): &&(u32, &Pattern<T>)| {
                let apart = |a: &Test| second.tests.iter().any(|&b| a.excludes(b));
                priority == other && !first.tests.iter().any(apart)
            };
            let (_, second) = rows[number + 1..].iter().find(ties)?;
            Some(Tie { first: first.name, second: second.name })
        })
    }
}

/// The decision tree of a table.
#[derive(Debug)]
pub struct Tree<T: 'static> {
    /// All rows, best first.
    rows: Vec<Open<T>>,
    /// The decision tree of each operation that a row names, sorted.
    named: Vec<(Opcode, OnceLock<Part<T>>)>,
    /// The trees of any other machine operation, and of any other pseudo-operation.
    others: [OnceLock<Part<T>>; 2],
}

/// The decision tree of one operation.
#[derive(Debug)]
struct Part<T: 'static> {
    /// The root; `None` if no row is left.
    root: Option<Node<T>>,
    /// Some row of the operation tests the preferred pipe.
    weighs_pipes: bool,
}

#[derive(Debug)]
enum Node<T: 'static> {
    /// This row it is.
    Leaf(RowId, &'static Pattern<T>),
    /// It depends on a test.
    Ask(Box<Ask<T>>),
}

/// A test and its two branches, built when an instruction first takes them.
#[derive(Debug)]
struct Ask<T: 'static> {
    test: Test,
    /// Rows still possible here, best first.
    rows: Vec<Open<T>>,
    yes: OnceLock<Option<Node<T>>>,
    no: OnceLock<Option<Node<T>>>,
}

/// A row with its open tests.
#[derive(Debug)]
struct Open<T: 'static> {
    number: RowId,
    row: &'static Pattern<T>,
    priority: u32,
    /// One bit for each test of the row.
    unanswered: u32,
}

impl<T> Open<T> {
    fn new(number: RowId, row: &'static Pattern<T>) -> Open<T> {
        assert!(row.tests.len() < 32, "`{}` has too many tests", row.name);
        Open { number, row, priority: row.priority(), unanswered: (1 << row.tests.len()) - 1 }
    }

    /// The tests that are not answered yet, with their bits.
    fn tests(&self) -> impl Iterator<Item = (u32, Test)> {
        let bits = (0..).map(|n| 1u32 << n).zip(self.row.tests.iter().copied());
        bits.filter(|(bit, _)| self.unanswered & bit != 0)
    }

    /// The row if the test holds; `None` if it does not remain.
    fn passed(&self, test: Test) -> Option<Open<T>> {
        let mut unanswered = self.unanswered;
        for (bit, other) in self.tests() {
            if other.excludes(test) {
                return None;
            }
            if test.implies(other) {
                unanswered &= !bit;
            }
        }
        Some(Open { unanswered, ..*self })
    }

    /// The row if the test does not hold; `None` if it does not remain.
    fn failed(&self, test: Test) -> Option<Open<T>> {
        (!self.tests().any(|(_, other)| other.implies(test))).then_some(Open { ..*self })
    }
}

impl<T> Tree<T> {
    /// Makes the tree.
    ///
    /// # Errors
    /// Two rows tie.
    pub fn new(patterns: &Patterns<T>) -> Result<Tree<T>, Tie> {
        if let Some(tie) = patterns.find_tie() {
            return Err(tie);
        }
        let mut rows: Vec<Open<T>> = patterns.rows().map(|(number, row)| Open::new(number, row)).collect();
        rows.sort_by_key(|open| std::cmp::Reverse(open.priority));
        let tests = rows.iter().flat_map(|open| open.row.tests);
        let mut opcodes: Vec<Opcode> = tests.flat_map(named).copied().collect();
        opcodes.sort_unstable();
        opcodes.dedup();
        let named = opcodes.into_iter().map(|opcode| (opcode, OnceLock::new())).collect();
        Ok(Tree { rows, named, others: [OnceLock::new(), OnceLock::new()] })
    }

    fn part(&self, opcode: Opcode) -> &Part<T> {
        if let Ok(at) = self.named.binary_search_by_key(&opcode, |(named, _)| *named) {
            return self.named[at].1.get_or_init(|| {
                Part::new(self.rows.iter().filter_map(|open| open.passed(Test::Opcode(opcode))).collect())
            });
        }
        let pseudo = matches!(opcode, Opcode::Pseudo(_));
        self.others[usize::from(pseudo)].get_or_init(|| {
            let any =
                self.rows.iter().filter(|open| open.row.tests.iter().all(|test| named(test).is_empty()));
            let remains = if pseudo { Open::failed } else { Open::passed };
            Part::new(any.filter_map(|open| remains(open, Test::Machine)).collect())
        })
    }

    /// True if some row of the operation tests the preferred pipe.
    pub fn weighs_pipes(&self, opcode: Opcode) -> bool {
        self.part(opcode).weighs_pipes
    }

    /// The row of an instruction, the same that `scan` finds.
    pub fn find(&self, site: &Site<'_>) -> Option<(RowId, &'static Pattern<T>)> {
        let mut node = self.part(site.instruction.opcode).root.as_ref();
        loop {
            match node? {
                Node::Leaf(number, row) => return Some((*number, row)),
                Node::Ask(ask) => node = ask.side(ask.test.holds(site)),
            }
        }
    }

    /// Every row that speaks of the instruction's operation, best first, and why it does or does not match. The first
    /// one that matches is the one chosen.
    pub fn candidates(&self, site: &Site<'_>) -> Vec<Candidate> {
        let opcode = |test: &&Test| matches!(test, Test::Opcode(_) | Test::Opcodes(_) | Test::Machine);
        self.rows
            .iter()
            .filter(|open| open.row.tests.iter().filter(opcode).all(|test| test.holds(site)))
            .map(|open| Candidate {
                row: open.number,
                name: open.row.name,
                priority: open.priority,
                failed: open.row.tests.iter().copied().find(|test| !test.holds(site)),
            })
            .collect()
    }
}

impl<T> Part<T> {
    /// The decision tree over these rows, best first.
    fn new(rows: Vec<Open<T>>) -> Part<T> {
        let weighs_pipes =
            rows.iter().any(|open| open.tests().any(|(_, test)| matches!(test, Test::Pipe(_))));
        Part { root: Node::of(rows), weighs_pipes }
    }
}

impl<T> Node<T> {
    /// The decision tree over these rows, best first; `None` if there are none.
    fn of(rows: Vec<Open<T>>) -> Option<Node<T>> {
        let best = rows.first()?;
        let Some((_, test)) = best.tests().next() else { return Some(Node::Leaf(best.number, best.row)) };
        Some(Node::Ask(Box::new(Ask { test, rows, yes: OnceLock::new(), no: OnceLock::new() })))
    }
}

impl<T> Ask<T> {
    /// The branch for a test result.
    fn side(&self, holds: bool) -> Option<&Node<T>> {
        let side = if holds { &self.yes } else { &self.no };
        let remains = if holds { Open::passed } else { Open::failed };
        let node = || Node::of(self.rows.iter().filter_map(|open| remains(open, self.test)).collect());
        side.get_or_init(node).as_ref()
    }
}

/// The operations that a test names.
fn named(test: &'static Test) -> &'static [Opcode] {
    match test {
        Test::Opcode(opcode) => std::slice::from_ref(opcode),
        Test::Opcodes(opcodes) => opcodes,
        _ => &[],
    }
}
