//! The rows, by topic. A backend is a list of these groups; the order of groups and rows does not matter.

pub mod choices;
pub mod copies;
pub mod long;
pub mod shifts;
pub mod sums;

use crate::template::{Build, Guarding, Operand, Target, Template};
use oriole_ori::pattern::{Pattern, Test};
use oriole_ori::{Opcode, Pseudo};
use oriole_sass::{Mod, Op};

/// A row of selection.
pub type Row = Pattern<Template>;

/// Default: an instruction without a more specific row keeps its mnemonic.
pub const PLAIN: &[Row] = &[Pattern { name: "as it is", tests: &[Test::Machine], template: Template::Keep }];

/// The two Ori spellings of a move.
const MOVES: Test = Test::Opcodes(&[Opcode::Sass(Op::MOV), Opcode::Pseudo(Pseudo::Copy)]);

const fn machine(op: Op) -> Test {
    Test::Opcode(Opcode::Sass(op))
}

/// `op.mods destination, sources` on the same guard.
const fn build(op: Op, mods: &'static [Mod], sources: &'static [Operand]) -> Template {
    let destinations = &[Target::Destination(0)];
    Template::Build(Build { op, mods, guard: Guarding::Same, destinations, sources, covers_next: false })
}
