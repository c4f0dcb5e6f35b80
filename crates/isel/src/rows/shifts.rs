//! Shifts left by a known amount, alone or with an add: by the shifter, or as a multiply by a power of two.

use super::{Row, build, machine};
use crate::template::Operand;
use oriole_ori::pattern::{Kinds, Number, Pattern, Pipe, Signs, Test, Width};
use oriole_sass::{Mod, Op};

const ON_FMA: Test = Test::Pipe(Pipe::Fma);
const PLAIN: Test = Test::Signs(0, Signs::Plain);
const REGISTER: Test = Test::Source(0, Kinds::REGISTER, Width::W32);

/// The rows.
pub const ROWS: &[Row] = &[
    Pattern {
        name: "shift: IMAD.SHL",
        tests: &[
            machine(Op::SHF),
            Test::Mods(&[Mod::L, Mod::U32]),
            Test::Destinations(1),
            Test::Sources(3),
            REGISTER,
            PLAIN,
            Test::Number(1, Number::Between(0, 31)),
            Test::Source(2, Kinds::ZERO, Width::Any),
            ON_FMA,
        ],
        template: build(Op::IMAD, &[Mod::U32], &[Operand::Source(0), Operand::PowerOfTwo(1), Operand::Zero]),
    },
    Pattern {
        name: "shift and sum: IMAD",
        tests: &[
            machine(Op::LEA),
            Test::Mods(&[]),
            Test::Destinations(1),
            Test::Sources(3),
            REGISTER,
            PLAIN,
            Test::Source(1, Kinds::GENERAL, Width::Any),
            Test::Signs(1, Signs::Plain),
            Test::Number(2, Number::Between(0, 31)),
            ON_FMA,
        ],
        template: build(Op::IMAD, &[], &[Operand::Source(0), Operand::PowerOfTwo(2), Operand::Source(1)]),
    },
];
