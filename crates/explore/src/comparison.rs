//! Comparison of two compile results: figures of each kernel side by side, and its code aligned instruction by
//! instruction.
//!
//! Text and page share it. Instructions that differ only in register indices, scoreboards and branch targets count as
//! equal, unless exactness is requested: a different allocation would hide the real changes.

use std::collections::{BTreeMap, BTreeSet};

use oriole_chip::{Chip, Usage, occupancy};

use oriole_sass::OperandKind;
use similar::{Algorithm, DiffOp, capture_diff_slices_by_key};

use crate::code::{Code, KernelCode, Row};

/// One of the two.
#[derive(Clone, PartialEq, Debug)]
pub struct Side {
    /// Its label.
    pub label: String,
    /// Its code.
    pub code: Code,
    /// Bytes of spill stores and loads of a kernel, where the compiler reported them.
    pub spills: BTreeMap<String, (u32, u32)>,
}

/// A comparison.
#[derive(Clone, PartialEq, Debug)]
pub struct Comparison {
    /// The labels of the two sides, with their chips.
    pub sides: [String; 2],
    /// Kernels that both have.
    pub pairs: Vec<Pair>,
    /// Kernels that only one of the two has.
    pub alone: [Vec<String>; 2],
}

/// A kernel on both sides.
#[derive(Clone, PartialEq, Debug)]
pub struct Pair {
    /// Its names; they differ where each side has one kernel only.
    pub names: [String; 2],
    /// The figures.
    pub figures: Vec<Figure>,
    /// The code, aligned.
    pub lines: Vec<Line>,
    /// Instructions by opcode where the sides differ: opcode, count on each.
    pub opcodes: Vec<(&'static str, [u32; 2])>,
    /// Whether instructions and control words are exactly equal.
    pub is_identical: bool,
}

/// A figure of both sides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Figure {
    /// Its name.
    pub name: &'static str,
    /// The values, where they are known.
    pub values: [Option<u64>; 2],
    /// Whether more is better.
    pub more_is_better: bool,
}

/// The difference of the sides of a line.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Change {
    /// None, or none that counts.
    Same,
    /// Different instructions.
    Changed,
    /// Only the first side has it.
    Removed,
    /// Only the second side has it.
    Added,
}

impl Change {
    /// One-word label.
    pub fn name(self) -> &'static str {
        match self {
            Change::Same => "same",
            Change::Changed => "changed",
            Change::Removed => "removed",
            Change::Added => "added",
        }
    }
}

/// Aligned instructions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// Their difference.
    pub change: Change,
    /// Address and text.
    pub sides: [Option<(u32, String)>; 2],
}

/// The mode of comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Manner {
    /// Whether register indices, targets and control words count too.
    pub exact: bool,
}

impl Comparison {
    /// Compares two sides; only kernels with these symbols, or all.
    pub fn new(sides: &[Side; 2], only: &[String], manner: Manner) -> Comparison {
        let wanted = |kernel: &&KernelCode| only.is_empty() || only.contains(&kernel.name);
        let kernels =
            [0, 1].map(|at: usize| sides[at].code.kernels.iter().filter(wanted).collect::<Vec<_>>());
        let mut pairs = Vec::new();
        let mut paired = BTreeSet::new();
        let pair = |first: &KernelCode, second: &KernelCode| Pair::new(sides, [first, second], manner);
        match (kernels[0].as_slice(), kernels[1].as_slice()) {
            // Single kernels are paired, whatever their names.
            (&[first], &[second]) => {
                pairs.push(pair(first, second));
                paired.extend([first.name.clone(), second.name.clone()]);
            }
            _ => {
                for first in &kernels[0] {
                    if let Some(second) = kernels[1].iter().find(|second| second.name == first.name) {
                        pairs.push(pair(first, second));
                        paired.insert(first.name.clone());
                    }
                }
            }
        }
        let names = |kernels: &[&KernelCode]| {
            let names = kernels.iter().map(|kernel| kernel.name.clone());
            names.filter(|name| !paired.contains(name)).collect::<Vec<_>>()
        };
        Comparison {
            sides: [0, 1].map(|at: usize| format!("{} for {}", sides[at].label, sides[at].code.chip)),
            pairs,
            alone: [names(&kernels[0]), names(&kernels[1])],
        }
    }

    /// Whether both sides have the same kernels with the same code.
    pub fn is_same(&self) -> bool {
        self.alone.iter().all(Vec::is_empty) && self.pairs.iter().all(Pair::is_same)
    }
}

impl Pair {
    fn new(sides: &[Side; 2], kernels: [&KernelCode; 2], manner: Manner) -> Pair {
        Pair {
            names: kernels.map(|kernel| kernel.name.clone()),
            figures: figures(sides, kernels),
            lines: lines(kernels, manner),
            opcodes: opcodes(kernels),
            is_identical: {
                let [first, second] =
                    kernels.map(|kernel| kernel.rows.iter().map(|row| (&row.text, row.instruction.control)));
                first.eq(second)
            },
        }
    }

    /// Whether the code is the same.
    pub fn is_same(&self) -> bool {
        self.lines.iter().all(|line| line.change == Change::Same)
    }

    /// Number of lines of a kind.
    pub fn count(&self, change: Change) -> usize {
        self.lines.iter().filter(|line| line.change == change).count()
    }

    /// The differing lines with `context` lines around them, in stretches: indices of the lines.
    pub fn stretches(&self, context: usize) -> Vec<std::ops::Range<usize>> {
        let mut all: Vec<std::ops::Range<usize>> = Vec::new();
        for (at, _) in self.lines.iter().enumerate().filter(|(_, line)| line.change != Change::Same) {
            let (start, end) = (at.saturating_sub(context), (at + context + 1).min(self.lines.len()));
            match all.last_mut() {
                Some(last) if last.end >= start => last.end = end,
                _ => all.push(start..end),
            }
        }
        all
    }
}

/// Threads of a block for the occupancy where a kernel does not bound them.
const USUAL_THREADS: u32 = 256;

fn warps(chip: Chip, kernel: &KernelCode) -> Option<u64> {
    let usage = Usage {
        registers: kernel.registers,
        shared: u32::try_from(kernel.shared_bytes).unwrap_or(u32::MAX),
        threads: kernel.threads.unwrap_or(USUAL_THREADS),
    };
    Some(occupancy(chip, usage)?.warps.into())
}

fn figures(sides: &[Side; 2], kernels: [&KernelCode; 2]) -> Vec<Figure> {
    let both = |of: &dyn Fn(&KernelCode, &Side) -> Option<u64>| {
        [of(kernels[0], &sides[0]), of(kernels[1], &sides[1])]
    };
    let spilled = |kernel: &KernelCode, side: &Side| side.spills.get(&kernel.name).copied();
    let less = |name, values| Figure { name, values, more_is_better: false };
    vec![
        less("registers", both(&|kernel, _| Some(kernel.registers.into()))),
        less("uniform registers", both(&|kernel, _| Some(kernel.named.uniform.into()))),
        less("predicates", both(&|kernel, _| Some(kernel.named.predicates.into()))),
        less("live at most", both(&|kernel, _| Some(kernel.peak().0.into()))),
        less("spill stores, bytes", both(&|kernel, side| Some(spilled(kernel, side)?.0.into()))),
        less("spill loads, bytes", both(&|kernel, side| Some(spilled(kernel, side)?.1.into()))),
        less("local stores", both(&|kernel, _| Some(kernel.local.0.into()))),
        less("local loads", both(&|kernel, _| Some(kernel.local.1.into()))),
        less("stack bytes", both(&|kernel, _| kernel.stack_bytes.map(u64::from))),
        less("shared bytes", both(&|kernel, _| Some(kernel.shared_bytes))),
        less("constant bytes", both(&|kernel, _| Some(kernel.constant_bytes))),
        less("barriers", both(&|kernel, _| Some(kernel.barriers.into()))),
        less("instructions", both(&|kernel, _| Some(kernel.figures.instructions.into()))),
        less("issue cycles", both(&|kernel, _| Some(kernel.figures.issue_cycles))),
        less("issue cycles, loops ten times", both(&|kernel, _| Some(kernel.figures.weighted_cycles))),
        less("cycles with waits, straight", both(&|kernel, _| kernel.span())),
        Figure {
            name: "warps of an SM",
            values: both(&|kernel, side| warps(side.code.chip, kernel)),
            more_is_better: true,
        },
    ]
}

fn opcodes(kernels: [&KernelCode; 2]) -> Vec<(&'static str, [u32; 2])> {
    let mut counts: BTreeMap<&'static str, [u32; 2]> = BTreeMap::new();
    for (side, kernel) in kernels.into_iter().enumerate() {
        for row in &kernel.rows {
            counts.entry(row.instruction.op.name()).or_default()[side] += 1;
        }
    }
    let mut list: Vec<_> = counts.into_iter().filter(|(_, [first, second])| first != second).collect();
    list.sort_by_key(|&(name, [first, second])| (std::cmp::Reverse(first.abs_diff(second)), name));
    list
}

/// The significant part of an instruction.
pub(crate) fn key(row: &Row, manner: Manner) -> String {
    if manner.exact {
        return format!("{} {:?}", row.text, row.instruction.control);
    }
    let text = row.text.replace(".reuse", "");
    let jumps = row.instruction.operands.iter().any(|operand| matches!(operand.kind, OperandKind::Target(_)));
    let mut key = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(start) = rest.find(|letter: char| letter.is_ascii_alphanumeric()) {
        let end = rest[start..].find(|letter: char| !letter.is_ascii_alphanumeric());
        let end = end.map_or(rest.len(), |end| start + end);
        key.push_str(&rest[..start]);
        let word = &rest[start..end];
        let letters = word.trim_end_matches(|letter: char| letter.is_ascii_digit());
        let numbered = letters.len() < word.len() && ["R", "UR", "P", "UP", "B", "SB"].contains(&letters);
        if jumps && word.starts_with("0x") {
            key.push_str("0x")
        } else {
            key.push_str(if numbered { letters } else { word })
        }
        rest = &rest[end..];
    }
    key.push_str(rest);
    key
}

fn lines(kernels: [&KernelCode; 2], manner: Manner) -> Vec<Line> {
    let side = |side: usize, at: usize| {
        let row = kernels[side].rows.get(at)?;
        Some((row.address, row.text.clone()))
    };
    let mut lines = Vec::new();
    let [first, second] = kernels.map(|kernel| kernel.rows.as_slice());
    for op in capture_diff_slices_by_key(Algorithm::Myers, first, second, |row| key(row, manner)) {
        match op {
            DiffOp::Equal { old_index, new_index, len } => lines.extend((0..len).map(|at| Line {
                change: Change::Same,
                sides: [side(0, old_index + at), side(1, new_index + at)],
            })),
            DiffOp::Delete { old_index, old_len, .. } => lines.extend(
                (0..old_len)
                    .map(|at| Line { change: Change::Removed, sides: [side(0, old_index + at), None] }),
            ),
            DiffOp::Insert { new_index, new_len, .. } => lines.extend(
                (0..new_len).map(|at| Line { change: Change::Added, sides: [None, side(1, new_index + at)] }),
            ),
            DiffOp::Replace { old_index, old_len, new_index, new_len } => {
                for at in 0..old_len.max(new_len) {
                    let sides = [
                        side(0, old_index + at).filter(|_| at < old_len),
                        side(1, new_index + at).filter(|_| at < new_len),
                    ];
                    let change = match (&sides[0], &sides[1]) {
                        (Some(_), Some(_)) => Change::Changed,
                        (Some(_), None) => Change::Removed,
                        _ => Change::Added,
                    };
                    lines.push(Line { change, sides });
                }
            }
        }
    }
    lines
}

impl Figure {
    /// The second value minus the first, with its sign; empty if they are equal or one is unknown.
    pub fn difference(&self) -> String {
        let [Some(first), Some(second)] = self.values else { return String::new() };
        if first == second {
            return String::new();
        }
        let sign = if second > first { '+' } else { '-' };
        let difference = first.abs_diff(second);
        let share =
            if first == 0 { String::new() } else { format!(" ({sign}{} %)", percent(difference, first)) };
        format!("{sign}{difference}{share}")
    }

    /// Whether the second value is better than the first; `None` if they are equal or one is unknown.
    pub fn is_better(&self) -> Option<bool> {
        let [Some(first), Some(second)] = self.values else { return None };
        (first != second).then_some((second > first) == self.more_is_better)
    }

    /// Whether it deserves a line: one of the sides has a nonzero value.
    pub fn tells(&self) -> bool {
        self.values.iter().any(|value| value.is_some_and(|value| value > 0))
    }
}

/// A ratio in percent, rounded.
fn percent(part: u64, whole: u64) -> u64 {
    ((u128::from(part) * 200 + u128::from(whole)) / (2 * u128::from(whole))).try_into().unwrap_or(u64::MAX)
}
