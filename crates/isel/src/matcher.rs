//! Which pattern an instruction gets. The reference is a plain scan: of all rows whose tests hold, the one with the
//! highest priority. The decision tree is made from the same rows and asks each test at most once on a path; the two
//! always agree.

use crate::pattern::{Pattern, Test};
use oriole_ori::{Function, Instruction, Opcode};

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

/// The reference: scans all rows.
pub fn scan(
    patterns: &'static [Pattern],
    function: &Function,
    instruction: &Instruction,
) -> Option<&'static Pattern> {
    let fits = |pattern: &&Pattern| pattern.tests.iter().all(|test| test.holds(function, instruction));
    patterns.iter().filter(fits).max_by_key(|pattern| pattern.priority())
}

/// The first pair of rows that the table leaves undecided.
pub fn find_tie(patterns: &'static [Pattern]) -> Option<Tie> {
    for (n, first) in patterns.iter().enumerate() {
        for second in &patterns[n + 1..] {
            let apart = first.tests.iter().any(|&a| second.tests.iter().any(|&b| a.excludes(b)));
            if !apart && first.priority() == second.priority() {
                return Some(Tie { first: first.name, second: second.name });
            }
        }
    }
    None
}

/// The decision tree of a table.
#[derive(Clone, Debug)]
pub struct Tree {
    nodes: Vec<Node>,
    /// For each operation that a row names, in order: where to start.
    starts: Vec<(Opcode, Option<u32>)>,
    /// Where to start for any other machine operation, and for any other pseudo-operation.
    others: [Option<u32>; 2],
}

#[derive(Clone, Debug)]
enum Node {
    /// This row it is.
    Leaf(&'static Pattern),
    /// Where to go on if the test holds and if not; `None` where no row is left.
    Ask { test: Test, yes: Option<u32>, no: Option<u32> },
}

/// A row with the tests that are not answered yet.
type Open = (&'static Pattern, Vec<Test>);

impl Tree {
    /// Makes the tree.
    ///
    /// # Errors
    /// Two rows tie.
    pub fn new(patterns: &'static [Pattern]) -> Result<Tree, Tie> {
        if let Some(tie) = find_tie(patterns) {
            return Err(tie);
        }
        let mut rows: Vec<Open> = patterns.iter().map(|pattern| (pattern, pattern.tests.to_vec())).collect();
        rows.sort_by_key(|(pattern, _)| std::cmp::Reverse(pattern.priority()));
        let mut opcodes: Vec<Opcode> = patterns
            .iter()
            .flat_map(|pattern| pattern.tests)
            .filter_map(|test| if let Test::Opcode(opcode) = test { Some(*opcode) } else { None })
            .collect();
        opcodes.sort();
        opcodes.dedup();
        let mut tree = Tree { nodes: Vec::new(), starts: Vec::new(), others: [None; 2] };
        for opcode in opcodes {
            let mut open = passed(&rows, Test::Opcode(opcode));
            if matches!(opcode, Opcode::Sass(_)) {
                open = passed(&open, Test::Machine);
            }
            let start = tree.grow(open);
            tree.starts.push((opcode, start));
        }
        let unnamed: Vec<Open> = rows
            .into_iter()
            .filter(|(_, tests)| !tests.iter().any(|test| matches!(test, Test::Opcode(_))))
            .collect();
        tree.others[0] = tree.grow(passed(&unnamed, Test::Machine));
        tree.others[1] = tree.grow(failed(&unnamed, Test::Machine));
        Ok(tree)
    }

    /// The tree for these rows, best first.
    fn grow(&mut self, rows: Vec<Open>) -> Option<u32> {
        let (best, open) = rows.first()?;
        let node = match open.first() {
            None => Node::Leaf(best),
            Some(&test) => {
                let yes = self.grow(passed(&rows, test));
                let no = self.grow(failed(&rows, test));
                Node::Ask { test, yes, no }
            }
        };
        self.nodes.push(node);
        Some(self.nodes.len() as u32 - 1)
    }

    /// The row of an instruction, the same that `scan` finds.
    pub fn find(&self, function: &Function, instruction: &Instruction) -> Option<&'static Pattern> {
        let opcode = instruction.opcode;
        let start = match self.starts.binary_search_by_key(&opcode, |start| start.0) {
            Ok(at) => self.starts[at].1,
            Err(_) => self.others[matches!(opcode, Opcode::Pseudo(_)) as usize],
        };
        let mut at = start?;
        loop {
            match &self.nodes[at as usize] {
                Node::Leaf(pattern) => return Some(pattern),
                Node::Ask { test, yes, no } => {
                    at = (if test.holds(function, instruction) { *yes } else { *no })?
                }
            }
        }
    }

    /// How many nodes there are.
    pub fn size(&self) -> usize {
        self.nodes.len()
    }
}

/// The rows that remain if the test holds.
fn passed(rows: &[Open], test: Test) -> Vec<Open> {
    rows.iter()
        .filter(|(_, tests)| !tests.iter().any(|other| other.excludes(test)))
        .map(|(pattern, tests)| (*pattern, tests.iter().copied().filter(|&other| other != test).collect()))
        .collect()
}

/// The rows that remain if it does not.
fn failed(rows: &[Open], test: Test) -> Vec<Open> {
    rows.iter().filter(|(_, tests)| !tests.contains(&test)).cloned().collect()
}

/// One row looked at: what it asks, and the first test that failed.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Name of the row.
    pub name: &'static str,
    /// Its priority.
    pub priority: u32,
    /// The first test that the instruction does not pass; `None` if the row matches.
    pub failed: Option<Test>,
}

/// Every row that speaks of the instruction's operation, best first, and why it does or does not match. The first one
/// that matches is the one chosen.
pub fn candidates(
    patterns: &'static [Pattern],
    function: &Function,
    instruction: &Instruction,
) -> Vec<Candidate> {
    let opcode = |test: &Test| matches!(test, Test::Opcode(_) | Test::Machine);
    let mut found: Vec<Candidate> = patterns
        .iter()
        .filter(|pattern| {
            pattern.tests.iter().filter(|test| opcode(test)).all(|test| test.holds(function, instruction))
        })
        .map(|pattern| Candidate {
            name: pattern.name,
            priority: pattern.priority(),
            failed: pattern.tests.iter().copied().find(|test| !test.holds(function, instruction)),
        })
        .collect();
    found.sort_by_key(|candidate| std::cmp::Reverse(candidate.priority));
    found
}
