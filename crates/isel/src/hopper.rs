//! The patterns of sm_90: how a copy is written for each pair of places, and operations that a neutral operand turns
//! into a plain move. What no row speaks of keeps its own mnemonic.

use crate::pattern::{Kind, Pattern, Piece, Target, Template, Test};
use File::{P, R, UP, UR};
use Kind::{Constant, Immediate};
use Test::{Bare, Destination, Machine, Plain, Source, Sources};
use oriole_ori::{File, Opcode, Pseudo};
use oriole_sass::{Mod, Op};

const COPY: Test = Test::Opcode(Opcode::Pseudo(Pseudo::Copy));

const fn machine(op: Op) -> Test {
    Test::Opcode(Opcode::Sass(op))
}

/// `op destination, source`.
const fn unary(op: Op) -> Template {
    Template::Build { op, mods: &[], destinations: &[Target::Destination(0)], sources: &[Piece::Source(0)] }
}

/// The conjunction of the source with two truths; the second result is dropped.
const fn logic(op: Op, file: File, sources: &'static [Piece]) -> Template {
    let destinations: &'static [Target] = match file {
        File::UP => &[Target::Destination(0), Target::Dropped(File::UP)],
        _ => &[Target::Destination(0), Target::Dropped(File::P)],
    };
    Template::Build { op, mods: &[Mod::LUT], destinations, sources }
}

/// The truth table of `a & b & c`.
const ALL: Piece = Piece::Literal(0x80);
/// The truth table of nothing.
const NEVER: Piece = Piece::Literal(0);

/// The rows. Their order plays no part.
pub const PATTERNS: &[Pattern] = &[
    Pattern { name: "as it is", tests: &[Machine], template: Template::Keep },
    Pattern {
        name: "copy register",
        tests: &[COPY, Destination(0, R), Source(0, Kind::File(R))],
        template: unary(Op::MOV),
    },
    Pattern {
        name: "copy immediate",
        tests: &[COPY, Destination(0, R), Source(0, Immediate)],
        template: unary(Op::MOV),
    },
    Pattern {
        name: "copy constant",
        tests: &[COPY, Destination(0, R), Source(0, Constant)],
        template: unary(Op::MOV),
    },
    Pattern {
        name: "copy from uniform",
        tests: &[COPY, Destination(0, R), Source(0, Kind::File(UR))],
        template: unary(Op::MOV),
    },
    Pattern {
        name: "copy to uniform",
        tests: &[COPY, Destination(0, UR), Source(0, Kind::File(R))],
        template: unary(Op::R2UR),
    },
    Pattern {
        name: "copy uniform",
        tests: &[COPY, Destination(0, UR), Source(0, Kind::File(UR))],
        template: unary(Op::UMOV),
    },
    Pattern {
        name: "copy uniform immediate",
        tests: &[COPY, Destination(0, UR), Source(0, Immediate)],
        template: unary(Op::UMOV),
    },
    Pattern {
        name: "copy uniform constant",
        tests: &[COPY, Destination(0, UR), Source(0, Constant)],
        template: unary(Op::ULDC),
    },
    Pattern {
        name: "copy predicate",
        tests: &[COPY, Destination(0, P), Source(0, Kind::File(P))],
        template: logic(Op::PLOP3, P, &[Piece::Source(0), Piece::True(P), Piece::True(P), ALL, NEVER]),
    },
    Pattern {
        name: "copy predicate from uniform",
        tests: &[COPY, Destination(0, P), Source(0, Kind::File(UP))],
        template: logic(Op::PLOP3, P, &[Piece::True(P), Piece::True(P), Piece::Source(0), ALL, NEVER]),
    },
    Pattern {
        name: "copy uniform predicate",
        tests: &[COPY, Destination(0, UP), Source(0, Kind::File(UP))],
        template: logic(Op::UPLOP3, UP, &[Piece::Source(0), Piece::True(UP), Piece::True(UP), ALL, NEVER]),
    },
    // A uniform value that analysis found late still sits in a general register.
    Pattern {
        name: "uniform move from register file",
        tests: &[machine(Op::UMOV), Bare, Sources(1), Plain(0), Source(0, Kind::File(R))],
        template: unary(Op::R2UR),
    },
];
