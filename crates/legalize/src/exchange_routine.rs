//! Routines that do one exchange among the lanes of a warp: wait for the lanes of a mask, exchange, return.
//! Reductions have none: their result is in a uniform register, so that only whole warps reduce by one instruction, and
//! others shuffle.
//!
//! They are here because lanes exchange only with lanes at the same instruction. Lanes that reach an exchange at several
//! places of a program call its routine, which is one place. A row is a routine: an operation with its modifiers. The
//! text follows from the operands and the results of the operation.

use oriole_chip::Chip;
use oriole_ori::{Instruction, Opcode};
use oriole_sass::{Mod, Op, has};

/// Operands and results of an operation, besides the mask, which its routine takes last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    /// A word, a lane and a control word; gives the word of that lane, and whether there is one.
    Shuffle,
    /// A truth; gives the ballot, and whether it is not zero.
    Ballot,
    /// A truth; gives a truth.
    Vote,
    /// This many words; gives the lanes that have the same.
    MatchAny(usize),
    /// This many words; gives all lanes if they have the same, and whether they do.
    MatchAll(usize),
    /// Nothing; gives whether the lane is the one that was elected.
    Elect,
}

impl Shape {
    /// Words that the routine takes, with the mask.
    pub(crate) fn arguments(self) -> usize {
        match self {
            Shape::Shuffle => 4,
            Shape::Ballot | Shape::Vote => 2,
            Shape::MatchAny(words) | Shape::MatchAll(words) => words + 1,
            Shape::Elect => 1,
        }
    }

    /// Words that the routine gives.
    pub(crate) fn results(self) -> usize {
        match self {
            Shape::Shuffle | Shape::Ballot | Shape::MatchAll(_) => 2,
            Shape::Vote | Shape::MatchAny(_) | Shape::Elect => 1,
        }
    }

    /// The exchange of its routine, with a question mark for the operation, and what it returns: r12 is the word that
    /// the exchange gives, r14 the truth in p11.
    fn code(self) -> (&'static str, &'static str) {
        match self {
            Shape::Shuffle => ("p11, r12 = ? r0, r1, r2", "r12, r14"),
            Shape::Ballot => ("r12, p11 = ? p10", "r12, r14"),
            Shape::Vote => ("RZ, p11 = ? p10", "r14"),
            Shape::MatchAny(1) => ("r12 = ? r0", "r12"),
            Shape::MatchAny(_) => ("r12 = ? {r0 r1}", "r12"),
            Shape::MatchAll(1) => ("p11, r12 = ? r0", "r12, r14"),
            Shape::MatchAll(_) => ("p11, r12 = ? {r0 r1}", "r12, r14"),
            Shape::Elect => ("p11, URZ = ? PT", "r14"),
        }
    }
}

/// A routine.
#[derive(Debug)]
struct Row {
    name: &'static str,
    linked: &'static str,
    op: Op,
    mods: &'static [Mod],
    shape: Shape,
}

/// A row whose routine has this name within a section, and that one in a section of its own.
macro_rules! row {
    ($name:literal, $op:expr, $mods:expr, $shape:expr) => {
        Row {
            name: concat!("oriole.", $name),
            linked: concat!("oriole.linked.", $name),
            op: $op,
            mods: $mods,
            shape: $shape,
        }
    };
}

#[rustfmt::skip]
static ROWS: [Row; 12] = [
    row!("shuffle_up", Op::SHFL, &[Mod::UP], Shape::Shuffle),
    row!("shuffle_down", Op::SHFL, &[Mod::DOWN], Shape::Shuffle),
    row!("shuffle_bfly", Op::SHFL, &[Mod::BFLY], Shape::Shuffle),
    row!("shuffle_idx", Op::SHFL, &[Mod::IDX], Shape::Shuffle),
    row!("vote_any", Op::VOTE, &[Mod::ANY], Shape::Ballot),
    row!("vote_all", Op::VOTE, &[Mod::ALL], Shape::Vote),
    row!("vote_eq", Op::VOTE, &[Mod::EQ], Shape::Vote),
    row!("match_any", Op::MATCH, &[Mod::ANY], Shape::MatchAny(1)),
    row!("match_any_64", Op::MATCH, &[Mod::ANY, Mod::U64], Shape::MatchAny(2)),
    row!("match_all", Op::MATCH, &[Mod::ALL], Shape::MatchAll(1)),
    row!("match_all_64", Op::MATCH, &[Mod::ALL, Mod::U64], Shape::MatchAll(2)),
    row!("elect", Op::ELECT, &[], Shape::Elect),
];

/// An exchange that a routine does: the row of its routine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Exchange(u8);

impl Exchange {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Exchange> {
        (0..ROWS.len() as u8).map(Exchange)
    }

    /// That of an instruction, whatever its operands.
    pub(crate) fn of(instruction: &Instruction) -> Option<Exchange> {
        let Opcode::Sass(op) = instruction.opcode else { return None };
        let same = |row: &Row| row.op == op && instruction.mods.iter().count() == row.mods.len();
        let found =
            ROWS.iter().position(|row| same(row) && row.mods.iter().all(|&it| instruction.mods.has(it)));
        found.map(|at| Exchange(at as u8))
    }

    fn row(self) -> &'static Row {
        &ROWS[usize::from(self.0)]
    }

    /// The name of its routine within a section of code.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The linker name of its routine in a section of its own.
    pub fn linked_name(self) -> &'static str {
        self.row().linked
    }

    /// Its operands and results.
    pub(crate) fn shape(self) -> Shape {
        self.row().shape
    }

    /// Whether the chip has the operation.
    pub fn is_on(self, chip: Chip) -> bool {
        has(chip, self.row().op)
    }

    /// The text of its routine.
    pub(crate) fn text(self) -> String {
        let Row { op, mods, shape, .. } = self.row();
        let named = std::iter::once(op.name()).chain(mods.iter().map(|it| it.name()));
        let operation = named.collect::<Vec<_>>().join(".");
        let (exchange, results) = shape.code();
        let numbered = |letter: char, from: usize, count: usize| {
            (from..from + count).map(|at| format!("{letter}{at}")).collect::<Vec<_>>().join(", ")
        };
        let (taken, given) = (shape.arguments(), shape.results());
        let lines = [
            format!("// in: {}", numbered('R', 4, taken)),
            format!("// out: {}", numbered('R', 4, given)),
            "routine clobbers=fd predicates=3".to_owned(),
            "b0:".to_owned(),
            format!("{} = Parameters ; 0", numbered('r', 0, taken)),
            "p10, PT = ISETP.AND.NE.U32 r0, RZ, PT ; 0".to_owned(),
            format!("WARPSYNC r{} ; 0", taken - 1),
            format!("{} ; 0", exchange.replace('?', &operation)),
            "r13 = MOV 0x1 ; 0".to_owned(),
            "r14 = SEL r13, RZ, p11 ; 0".to_owned(),
            format!("Return {results} ; 0"),
        ];
        let needed = |line: &&String| match line.split(' ').next() {
            Some("p10,") => exchange.contains("p10"),
            Some("r13" | "r14") => results.contains("r14"),
            _ => true,
        };
        lines.iter().filter(needed).map(|line| format!("{line}\n")).collect()
    }
}
