//! The mix of edits of a typist, each with its inverse, so that the original text comes back.

use crate::module::{Change, Edit, Module, kernel};

/// A kind of edit: its name, its frequency in percent, and the function that makes it at a statement of a kernel. The
/// resulting edits are sent one after the other.
pub struct Kind {
    pub name: &'static str,
    pub weight: usize,
    make: fn(&Module, usize, usize) -> Vec<Edit>,
}

impl Kind {
    /// The edits, at a line of a statement; `number` makes names unique.
    pub fn make(&self, module: &Module, line: usize, number: usize) -> Vec<Edit> {
        (self.make)(module, line, number)
    }
}

fn edit(start: (usize, usize), end: (usize, usize), text: impl Into<String>) -> Edit {
    Edit { changes: vec![Change { start, end, text: text.into() }] }
}

/// Types a text letter by letter at a place in a line and then deletes it.
fn typed(line: usize, column: usize, text: &str) -> Vec<Edit> {
    let letter = |(at, letter): (usize, char)| edit((line, column + at), (line, column + at), letter);
    let mut edits: Vec<Edit> = text.chars().enumerate().map(letter).collect();
    edits.push(edit((line, column), (line, column + text.len()), ""));
    edits
}

/// The line above that starts with a text.
fn above(module: &Module, line: usize, text: &str) -> usize {
    (0..line).rev().find(|&at| module.lines[at].contains(text)).unwrap_or(0)
}

/// All kinds.
pub const KINDS: [Kind; 12] = [
    Kind {
        name: "an operand",
        weight: 24,
        make: |module, line, _| {
            // One more digit of a constant, or after anything else a space, which no statement minds.
            let column = module.lines[line].trim_end().len() - 1;
            let digit = module.lines[line].as_bytes()[column - 1].is_ascii_digit();
            vec![
                edit((line, column), (line, column), if digit { "1" } else { " " }),
                edit((line, column), (line, column + 1), ""),
            ]
        },
    },
    Kind {
        name: "a new statement",
        weight: 24,
        make: |_, line, _| {
            vec![edit((line, 0), (line, 0), "    bar.sync 0;\n"), edit((line, 0), (line + 1, 0), "")]
        },
    },
    Kind { name: "half a line", weight: 20, make: |_, line, _| typed(line, 0, "    add.u32 %r3, ") },
    Kind {
        name: "`{` typed and closed",
        weight: 6,
        make: |_, line, _| {
            vec![
                edit((line, 0), (line, 0), "{"),
                edit((line, 1), (line, 1), "}"),
                edit((line, 0), (line, 2), ""),
            ]
        },
    },
    Kind {
        name: "`/*` typed and closed",
        weight: 6,
        make: |_, line, _| {
            vec![
                edit((line, 0), (line, 0), "/"),
                edit((line, 1), (line, 1), "*"),
                edit((line, 2), (line, 2), "*/"),
                edit((line, 0), (line, 4), ""),
            ]
        },
    },
    Kind {
        name: "a rename",
        weight: 6,
        make: |_, line, number| {
            // A label and the branch to it, renamed and renamed back: both places are one message.
            let place = (line, 0);
            let label = format!("label_{number}:\n    bra label_{number};\n");
            let name = |from: usize, to: &str| Edit {
                changes: vec![
                    Change { start: (line, 0), end: (line, from), text: to.to_owned() },
                    Change { start: (line + 1, 8), end: (line + 1, 8 + from), text: to.to_owned() },
                ],
            };
            let old = format!("label_{number}");
            vec![
                edit(place, place, label),
                name(old.len(), "another"),
                name("another".len(), &old),
                edit(place, (line + 2, 0), ""),
            ]
        },
    },
    Kind {
        name: "a signature",
        weight: 4,
        make: |module, line, number| {
            let head = above(module, line, ".entry");
            let Some(column) = module.lines[head].find('(') else { return Vec::new() };
            let text = format!(".param .u32 added{number}, ");
            vec![
                edit((head, column + 1), (head, column + 1), text.clone()),
                edit((head, column + 1), (head, column + 1 + text.len()), ""),
            ]
        },
    },
    Kind {
        name: "a global",
        weight: 4,
        make: |module, line, number| {
            let head = above(module, line, ".address_size") + 1;
            let text = format!("\n.global .b32 global{number} = {number};");
            let end = (head, text.len() - 1);
            vec![
                edit(
                    (head - 1, module.lines[head - 1].len()),
                    (head - 1, module.lines[head - 1].len()),
                    text,
                ),
                edit((head, 0), end, ""),
                edit((head - 1, module.lines[head - 1].len()), (head, 0), ""),
            ]
        },
    },
    Kind {
        name: "`.target`",
        weight: 1,
        make: |module, line, _| {
            let Some(head) = (0..line).find(|&at| module.lines[at].starts_with(".target sm_90")) else {
                return Vec::new();
            };
            let column = ".target sm_90".len();
            if module.lines[head].len() > column {
                return Vec::new();
            }
            vec![edit((head, column), (head, column), "a"), edit((head, column), (head, column + 1), "")]
        },
    },
    Kind {
        name: "a pasted kernel",
        weight: 4,
        make: |module, line, number| pasted(module, line, number, 200),
    },
    Kind {
        name: "1,000 lines pasted",
        weight: 2,
        make: |module, line, number| pasted(module, line, number, 1000),
    },
    Kind {
        name: "a line cut and undone",
        weight: 1,
        make: |module, line, _| {
            let text = format!("{}\n", module.lines[line]);
            vec![edit((line, 0), (line + 1, 0), ""), edit((line, 0), (line, 0), text)]
        },
    },
];

/// A kernel of many lines is pasted above another one, and cut out again.
fn pasted(module: &Module, line: usize, number: usize, lines: usize) -> Vec<Edit> {
    let head = above(module, line, ".entry");
    let text = kernel(&format!("pasted{number}"), number, lines).join("\n") + "\n";
    let count = text.matches('\n').count();
    vec![edit((head, 0), (head, 0), text), edit((head, 0), (head + count, 0), "")]
}

/// A deterministic sequence of pseudo-random numbers.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound.max(1)
    }

    /// A kind of edit, by weight.
    pub fn kind(&mut self) -> usize {
        let mut at = self.below(KINDS.iter().map(|kind| kind.weight).sum());
        for (index, kind) in KINDS.iter().enumerate() {
            if at < kind.weight {
                return index;
            }
            at -= kind.weight;
        }
        0
    }
}
