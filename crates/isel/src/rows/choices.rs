//! Selects with one of the two values already in place: a guarded move does it on the other pipe.

use super::{Row, machine};
use crate::template::{Build, Guarding, Operand, Target, Template};
use oriole_ori::pattern::{Kinds, Pattern, Pipe, Signs, Test, Width};
use oriole_sass::{Mod, Op};

const ON_FMA: Test = Test::Pipe(Pipe::Fma);
const CHOICE: Test = machine(Op::SEL);
const PREDICATE: Test = Test::Source(2, Kinds::PREDICATE, Width::W32);

const fn guarded(guard: Guarding, sources: &'static [Operand]) -> Template {
    let destinations = &[Target::Destination(0)];
    Template::Build(Build {
        op: Op::IMAD,
        mods: &[Mod::U32],
        guard,
        destinations,
        sources,
        covers_next: false,
    })
}

/// The rows.
pub const ROWS: &[Row] = &[
    Pattern {
        name: "choice against what is there: IMAD.MOV if",
        tests: &[
            CHOICE,
            Test::Mods(&[]),
            Test::Unguarded,
            Test::Sources(3),
            Test::Source(0, Kinds::GENERAL, Width::Any),
            Test::Signs(0, Signs::Plain),
            Test::Source(1, Kinds::REGISTER, Width::W32),
            PREDICATE,
            Test::Same(0, 1),
            ON_FMA,
        ],
        template: guarded(Guarding::If(2), &[Operand::Zero, Operand::Zero, Operand::Source(0)]),
    },
    Pattern {
        name: "choice for what is there: IMAD.MOV unless",
        tests: &[
            CHOICE,
            Test::Mods(&[]),
            Test::Unguarded,
            Test::Sources(3),
            Test::Source(1, Kinds::GENERAL.or(Kinds::FOREIGN), Width::Any),
            Test::Signs(1, Signs::Plain),
            PREDICATE,
            Test::Same(0, 0),
            ON_FMA,
        ],
        template: guarded(Guarding::Unless(2), &[Operand::Zero, Operand::Zero, Operand::Source(1)]),
    },
];
