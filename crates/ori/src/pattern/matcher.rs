//! Which row an instruction gets. The reference is a plain scan: of all rows whose tests hold, the one with the
//! highest priority. The decision tree is made from the same rows and asks each test at most once on a path; the two
//! always agree.

use super::{Pattern, Site, Test};
use crate::Opcode;

/// The number of a row in its table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct RowId(u16);

/// A table: groups of rows, whose order plays no part.
#[derive(Debug)]
pub struct Patterns<T: 'static>(pub &'static [&'static [Pattern<T>]]);

/// Two rows that an instruction may match both, with the same priority: the table does not say which is meant.
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

/// One row looked at: what it asks, and the first test that failed.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Its number.
    pub row: RowId,
    /// Name of the row.
    pub name: &'static str,
    /// Its priority.
    pub priority: u32,
    /// The first test that the instruction does not pass; `None` if the row matches.
    pub failed: Option<Test>,
}

impl<T> Patterns<T> {
    /// All rows with their numbers.
    pub fn rows(&self) -> impl Iterator<Item = (RowId, &'static Pattern<T>)> + use<T> {
        (0..).map(RowId).zip(self.0.iter().flat_map(|group| group.iter()))
    }

    /// The reference: scans all rows.
    pub fn scan(&self, site: &Site<'_>) -> Option<(RowId, &'static Pattern<T>)> {
        self.rows().filter(|(_, row)| row.holds(site)).max_by_key(|(_, row)| row.priority())
    }

    /// The first pair of rows that the table leaves undecided.
    pub fn find_tie(&self) -> Option<Tie> {
        for (number, first) in self.rows() {
            for (_, second) in self.rows().filter(|&(other, _)| other > number) {
                let apart = first.tests.iter().any(|&a| second.tests.iter().any(|&b| a.excludes(b)));
                if !apart && first.priority() == second.priority() {
                    return Some(Tie { first: first.name, second: second.name });
                }
            }
        }
        None
    }

    /// Every row that speaks of the instruction's operation, best first, and why it does or does not match. The first
    /// one that matches is the one chosen.
    pub fn candidates(&self, site: &Site<'_>) -> Vec<Candidate> {
        let opcode = |test: &&Test| matches!(test, Test::Opcode(_) | Test::Opcodes(_) | Test::Machine);
        let mut found: Vec<Candidate> = self
            .rows()
            .filter(|(_, row)| row.tests.iter().filter(opcode).all(|test| test.holds(site)))
            .map(|(number, row)| Candidate {
                row: number,
                name: row.name,
                priority: row.priority(),
                failed: row.tests.iter().copied().find(|test| !test.holds(site)),
            })
            .collect();
        found.sort_by_key(|candidate| std::cmp::Reverse(candidate.priority));
        found
    }
}

/// The decision tree of a table.
#[derive(Debug)]
pub struct Tree<T: 'static> {
    nodes: Vec<Node<T>>,
    /// For each operation that a row names, in order: where to start.
    starts: Vec<(Opcode, Start)>,
    /// Where to start for any other machine operation, and for any other pseudo-operation.
    others: [Start; 2],
}

/// Where to start; `None` where no row is left.
#[derive(Clone, Copy, Default, Debug)]
struct Start {
    node: Option<u32>,
    /// Some row of the operation asks which pipe serves it better.
    weighs_pipes: bool,
}

#[derive(Debug)]
enum Node<T: 'static> {
    /// This row it is.
    Leaf(RowId, &'static Pattern<T>),
    /// Where to go on if the test holds and if not.
    Ask { test: Test, yes: Option<u32>, no: Option<u32> },
}

/// A row with the tests that are not answered yet.
struct Open<T: 'static> {
    number: RowId,
    row: &'static Pattern<T>,
    tests: Vec<Test>,
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
        let mut rows: Vec<Open<T>> =
            patterns.rows().map(|(number, row)| Open { number, row, tests: row.tests.to_vec() }).collect();
        rows.sort_by_key(|open| std::cmp::Reverse(open.row.priority()));
        let mut opcodes: Vec<Opcode> = patterns
            .rows()
            .flat_map(|(_, row)| row.tests)
            .flat_map(|test| match test {
                Test::Opcode(opcode) => std::slice::from_ref(opcode),
                Test::Opcodes(opcodes) => opcodes,
                _ => &[],
            })
            .copied()
            .collect();
        opcodes.sort();
        opcodes.dedup();
        let mut tree = Tree { nodes: Vec::new(), starts: Vec::new(), others: [Start::default(); 2] };
        for opcode in opcodes {
            let start = tree.start(passed(&rows, Test::Opcode(opcode)));
            tree.starts.push((opcode, start));
        }
        rows.retain(|open| !open.tests.iter().any(|test| matches!(test, Test::Opcode(_) | Test::Opcodes(_))));
        tree.others = [tree.start(passed(&rows, Test::Machine)), tree.start(failed(&rows, Test::Machine))];
        Ok(tree)
    }

    fn start(&mut self, rows: Vec<Open<T>>) -> Start {
        let weighs_pipes =
            rows.iter().any(|open| open.tests.iter().any(|test| matches!(test, Test::Pipe(_))));
        Start { node: self.grow(rows), weighs_pipes }
    }

    /// The tree for these rows, best first.
    fn grow(&mut self, rows: Vec<Open<T>>) -> Option<u32> {
        let best = rows.first()?;
        let node = match best.tests.first() {
            None => Node::Leaf(best.number, best.row),
            Some(&test) => {
                let yes = self.grow(passed(&rows, test));
                let no = self.grow(failed(&rows, test));
                Node::Ask { test, yes, no }
            }
        };
        self.nodes.push(node);
        Some(self.nodes.len() as u32 - 1)
    }

    fn start_of(&self, opcode: Opcode) -> Start {
        match self.starts.binary_search_by_key(&opcode, |start| start.0) {
            Ok(at) => self.starts[at].1,
            Err(_) => self.others[usize::from(matches!(opcode, Opcode::Pseudo(_)))],
        }
    }

    /// True if some row of the operation asks which pipe serves it better.
    pub fn weighs_pipes(&self, opcode: Opcode) -> bool {
        self.start_of(opcode).weighs_pipes
    }

    /// The row of an instruction, the same that `scan` finds.
    pub fn find(&self, site: &Site<'_>) -> Option<(RowId, &'static Pattern<T>)> {
        let mut at = self.start_of(site.instruction.opcode).node?;
        loop {
            match &self.nodes[at as usize] {
                Node::Leaf(number, row) => return Some((*number, row)),
                Node::Ask { test, yes, no } => at = (if test.holds(site) { *yes } else { *no })?,
            }
        }
    }

    /// How many nodes there are.
    pub fn size(&self) -> usize {
        self.nodes.len()
    }
}

/// The rows that remain if the test holds.
fn passed<T>(rows: &[Open<T>], test: Test) -> Vec<Open<T>> {
    rows.iter()
        .filter(|open| !open.tests.iter().any(|other| other.excludes(test)))
        .map(|open| Open {
            number: open.number,
            row: open.row,
            tests: open.tests.iter().copied().filter(|&other| !test.implies(other)).collect(),
        })
        .collect()
}

/// The rows that remain if it does not.
fn failed<T>(rows: &[Open<T>], test: Test) -> Vec<Open<T>> {
    rows.iter()
        .filter(|open| !open.tests.iter().any(|other| other.implies(test)))
        .map(|open| Open { number: open.number, row: open.row, tests: open.tests.clone() })
        .collect()
}
