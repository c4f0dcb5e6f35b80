//! Copies of values: by a move of either pipe, by a read of the zero special register, between the files.

use super::{MOVES, Row, build};
use crate::template::{Build, Guarding, Operand, Target, Template};
use File::P;
use oriole_ori::pattern::{Kinds, Pattern, Pipe, Signs, Test, Width};
use oriole_ori::{File, Opcode, Pseudo};
use oriole_sass::{Mod, Op, Symbol};

const COPY: Test = Test::Opcode(Opcode::Pseudo(Pseudo::Copy));
const ON_FMA: Test = Test::Pipe(Pipe::Fma);
/// One source; an omitted write mask does not count.
const ONE: Test = Test::Sources(1);

const fn to(kinds: Kinds) -> Test {
    Test::Destination(0, kinds, Width::W32)
}

const fn from(kinds: Kinds) -> Test {
    Test::Source(0, kinds, Width::Any)
}

const TO_GENERAL: Test = to(Kinds::REGISTER);
const TO_UNIFORM: Test = to(Kinds::UNIFORM);
const PLAIN: Test = Test::Signs(0, Signs::Plain);

const SOURCE: &[Operand] = &[Operand::Source(0)];
/// Zero times zero plus the source.
const ADDED: &[Operand] = &[Operand::Zero, Operand::Zero, Operand::Source(0)];

/// The truth table of `a & b & c`.
const ALL: Operand = Operand::Literal(0x80);
/// The truth table that is always false.
const NEVER: Operand = Operand::Literal(0);

/// The rows.
pub const ROWS: &[Row] = &[
    Pattern {
        name: "move register: MOV",
        tests: &[MOVES, ONE, TO_GENERAL, from(Kinds::GENERAL), PLAIN],
        template: build(Op::MOV, &[], SOURCE),
    },
    Pattern {
        name: "move register: IMAD.MOV",
        tests: &[MOVES, ONE, TO_GENERAL, from(Kinds::GENERAL), PLAIN, ON_FMA],
        template: build(Op::IMAD, &[Mod::U32], ADDED),
    },
    Pattern {
        name: "move immediate: MOV",
        tests: &[MOVES, ONE, TO_GENERAL, from(Kinds::IMMEDIATE), PLAIN],
        template: build(Op::MOV, &[], SOURCE),
    },
    Pattern {
        name: "move immediate: IMAD.MOV",
        tests: &[MOVES, ONE, TO_GENERAL, from(Kinds::IMMEDIATE), PLAIN, ON_FMA],
        template: build(Op::IMAD, &[Mod::U32], ADDED),
    },
    Pattern {
        name: "move uniform register: MOV",
        tests: &[MOVES, ONE, TO_GENERAL, from(Kinds::UNIFORM), PLAIN],
        template: build(Op::MOV, &[], SOURCE),
    },
    Pattern {
        name: "move uniform register: IMAD.U32",
        tests: &[MOVES, ONE, TO_GENERAL, from(Kinds::UNIFORM), PLAIN, ON_FMA],
        template: build(Op::IMAD, &[Mod::U32], ADDED),
    },
    // Both halves of a pair at once.
    Pattern {
        name: "move zero to a pair: CS2R",
        tests: &[MOVES, ONE, TO_GENERAL, from(Kinds::ZERO), PLAIN, Test::Unguarded, Test::Twin],
        template: Template::Build(Build {
            op: Op::CS2R,
            mods: &[],
            guard: Guarding::Same,
            destinations: &[Target::Pair],
            sources: &[Operand::Name(Symbol::SRZ)],
            covers_next: true,
        }),
    },
    Pattern {
        name: "move to uniform register: R2UR",
        tests: &[COPY, ONE, TO_UNIFORM, from(Kinds::GENERAL)],
        template: build(Op::R2UR, &[], SOURCE),
    },
    Pattern {
        name: "move between uniform registers: UMOV",
        tests: &[COPY, ONE, TO_UNIFORM, from(Kinds::UNIFORM.or(Kinds::UNIFORM_ZERO).or(Kinds::IMMEDIATE))],
        template: build(Op::UMOV, &[], SOURCE),
    },
    Pattern {
        name: "move predicate: PLOP3",
        tests: &[COPY, ONE, to(Kinds::PREDICATE), from(Kinds::PREDICATE.or(Kinds::TRUE))],
        // The conjunction of three truths; the second result is dropped.
        template: Template::Build(Build {
            op: Op::PLOP3,
            mods: &[Mod::LUT],
            guard: Guarding::Same,
            destinations: &[Target::Destination(0), Target::Dropped(P)],
            sources: &[Operand::Source(0), Operand::True(P), Operand::True(P), ALL, NEVER],
            covers_next: false,
        }),
    },
];

/// Constant-bank words, on chips whose moves read them.
pub const CONSTANTS: &[Row] = &[
    Pattern {
        name: "move constant: MOV",
        tests: &[MOVES, ONE, TO_GENERAL, from(Kinds::CONSTANT), PLAIN],
        template: build(Op::MOV, &[], SOURCE),
    },
    Pattern {
        name: "move constant: IMAD.MOV",
        tests: &[MOVES, ONE, TO_GENERAL, from(Kinds::CONSTANT), PLAIN, ON_FMA],
        template: build(Op::IMAD, &[Mod::U32], ADDED),
    },
];
