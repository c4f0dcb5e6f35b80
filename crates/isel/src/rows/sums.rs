//! Adds of two words: `IADD3` on one pipe, `IMAD` by one and `VIADD` on the other.

use super::{Row, build, machine};
use crate::template::Operand;
use oriole_ori::pattern::{Kinds, Pattern, Pipe, Signs, Test, Width};
use oriole_sass::{Mod, Op};

const ON_FMA: Test = Test::Pipe(Pipe::Fma);
const SUM: Test = machine(Op::IADD3);
const BARE: Test = Test::Mods(&[]);
/// One result: no carry-out.
const NO_CARRY: Test = Test::Destinations(1);
const THREE: Test = Test::Sources(3);

const fn source(n: u8, kinds: Kinds) -> Test {
    Test::Source(n, kinds, Width::Any)
}

const NO_THIRD: Test = source(2, Kinds::ZERO);

/// Rows for every chip family.
pub const ROWS: &[Row] = &[
    Pattern {
        name: "sum of registers: IMAD.IADD",
        tests: &[
            SUM,
            BARE,
            NO_CARRY,
            THREE,
            source(0, Kinds::REGISTER),
            Test::Signs(0, Signs::Plain),
            source(1, Kinds::REGISTER),
            Test::Signs(1, Signs::MaybeNegated),
            NO_THIRD,
            ON_FMA,
        ],
        template: build(Op::IMAD, &[], &[Operand::Source(0), Operand::Immediate(1), Operand::Source(1)]),
    },
    Pattern {
        name: "difference of registers, turned round: IMAD.IADD",
        tests: &[
            SUM,
            BARE,
            NO_CARRY,
            THREE,
            source(0, Kinds::REGISTER),
            Test::Signs(0, Signs::Negated),
            source(1, Kinds::REGISTER),
            Test::Signs(1, Signs::Plain),
            NO_THIRD,
            ON_FMA,
        ],
        template: build(Op::IMAD, &[], &[Operand::Source(1), Operand::Immediate(1), Operand::Source(0)]),
    },
    Pattern {
        name: "negation of the first addend: IMAD.MOV",
        tests: &[
            SUM,
            BARE,
            NO_CARRY,
            THREE,
            source(0, Kinds::REGISTER),
            Test::Signs(0, Signs::MaybeNegated),
            source(1, Kinds::ZERO),
            NO_THIRD,
            ON_FMA,
        ],
        template: build(Op::IMAD, &[], &[Operand::Zero, Operand::Zero, Operand::Source(0)]),
    },
    Pattern {
        name: "negation of the second addend: IMAD.MOV",
        tests: &[
            SUM,
            BARE,
            NO_CARRY,
            THREE,
            source(0, Kinds::ZERO),
            source(1, Kinds::REGISTER),
            Test::Signs(1, Signs::MaybeNegated),
            NO_THIRD,
            ON_FMA,
        ],
        template: build(Op::IMAD, &[], &[Operand::Zero, Operand::Zero, Operand::Source(1)]),
    },
    Pattern {
        name: "sum with carry in: IMAD.X",
        tests: &[
            SUM,
            Test::Mods(&[Mod::X]),
            NO_CARRY,
            Test::Sources(5),
            source(0, Kinds::REGISTER),
            Test::Signs(0, Signs::Plain),
            source(1, Kinds::REGISTER),
            Test::Signs(1, Signs::MaybeInverted),
            NO_THIRD,
            Test::Signs(2, Signs::Plain),
            source(3, Kinds::PREDICATE),
            source(4, Kinds::TRUE),
            Test::Signs(4, Signs::Inverted),
            ON_FMA,
        ],
        template: build(
            Op::IMAD,
            &[Mod::X],
            &[Operand::Source(0), Operand::Immediate(1), Operand::Source(1), Operand::Source(3)],
        ),
    },
    Pattern {
        name: "register and carry in: IMAD.X",
        tests: &[
            SUM,
            Test::Mods(&[Mod::X]),
            NO_CARRY,
            Test::Sources(5),
            source(0, Kinds::REGISTER),
            Test::Signs(0, Signs::MaybeInverted),
            source(1, Kinds::ZERO),
            Test::Signs(1, Signs::Plain),
            NO_THIRD,
            Test::Signs(2, Signs::Plain),
            source(3, Kinds::PREDICATE),
            source(4, Kinds::TRUE),
            Test::Signs(4, Signs::Inverted),
            ON_FMA,
        ],
        template: build(
            Op::IMAD,
            &[Mod::X],
            &[Operand::Zero, Operand::Zero, Operand::Source(0), Operand::Source(3)],
        ),
    },
];

/// Rows for chips with `VIADD`.
pub const VECTOR: &[Row] = &[
    Pattern {
        name: "sum with an immediate: VIADD",
        tests: &[
            SUM,
            BARE,
            NO_CARRY,
            THREE,
            source(0, Kinds::REGISTER),
            Test::Signs(0, Signs::Plain),
            source(1, Kinds::IMMEDIATE),
            Test::Signs(1, Signs::Plain),
            NO_THIRD,
            ON_FMA,
        ],
        template: build(Op::VIADD, &[], &[Operand::Source(0), Operand::Source(1)]),
    },
    Pattern {
        name: "sum with a constant or uniform register: VIADD",
        tests: &[
            SUM,
            BARE,
            NO_CARRY,
            THREE,
            source(0, Kinds::REGISTER),
            Test::Signs(0, Signs::Plain),
            source(1, Kinds::CONSTANT.or(Kinds::UNIFORM)),
            Test::Signs(1, Signs::MaybeNegated),
            NO_THIRD,
            ON_FMA,
        ],
        template: build(Op::VIADD, &[], &[Operand::Source(0), Operand::Source(1)]),
    },
];
