//! Pairs of equal instructions on the halves of register pairs, on chips with an instruction for the whole pair.

use super::{MOVES, Row, machine};
use crate::template::{Build, Guarding, Operand, Target, Template};
use oriole_ori::pattern::{Kinds, Pattern, Signs, Test, Width};
use oriole_ori::{Opcode, Pseudo};
use oriole_sass::{Mod, Op};

/// The two Ori spellings of a move to a uniform register.
const UNIFORM_MOVES: Test = Test::Opcodes(&[Opcode::Sass(Op::UMOV), Opcode::Pseudo(Pseudo::Copy)]);
const ONE: Test = Test::Sources(1);
const PLAIN: Test = Test::Signs(0, Signs::Plain);
const TO_GENERAL: Test = Test::Destination(0, Kinds::REGISTER, Width::W32);
const TO_UNIFORM: Test = Test::Destination(0, Kinds::UNIFORM, Width::W32);

const fn from(kinds: Kinds) -> Test {
    Test::Source(0, kinds, Width::Any)
}

const fn at_once(op: Op, sources: &'static [Operand]) -> Template {
    Template::Build(Build {
        op,
        mods: &[Mod::_64],
        guard: Guarding::Same,
        destinations: &[Target::Pair],
        sources,
        covers_next: true,
    })
}

/// The rows.
pub const ROWS: &[Row] = &[
    Pattern {
        name: "move a pair of registers: MOV.64",
        tests: &[MOVES, ONE, TO_GENERAL, from(Kinds::REGISTER), PLAIN, Test::Halves],
        template: at_once(Op::MOV, &[Operand::Pair(0)]),
    },
    Pattern {
        name: "move two numbers: MOV.64",
        tests: &[MOVES, ONE, TO_GENERAL, from(Kinds::IMMEDIATE.or(Kinds::ZERO)), PLAIN, Test::Numbers],
        template: at_once(Op::MOV, &[Operand::Long]),
    },
    Pattern {
        name: "move two numbers to uniform registers: UMOV.64",
        tests: &[
            UNIFORM_MOVES,
            ONE,
            TO_UNIFORM,
            from(Kinds::IMMEDIATE.or(Kinds::UNIFORM_ZERO)),
            PLAIN,
            Test::Numbers,
        ],
        template: at_once(Op::UMOV, &[Operand::Long]),
    },
    Pattern {
        name: "choice between pairs: SEL.64",
        tests: &[
            machine(Op::SEL),
            Test::Mods(&[]),
            Test::Sources(3),
            TO_GENERAL,
            Test::Source(0, Kinds::GENERAL, Width::Any),
            Test::Signs(0, Signs::Plain),
            Test::Source(1, Kinds::GENERAL.or(Kinds::UNIFORM), Width::Any),
            Test::Signs(1, Signs::Plain),
            Test::Source(2, Kinds::PREDICATE, Width::W32),
            Test::Halves,
        ],
        template: at_once(Op::SEL, &[Operand::Pair(0), Operand::Pair(1), Operand::Source(2)]),
    },
];
