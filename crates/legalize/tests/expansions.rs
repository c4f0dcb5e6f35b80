//! Expansions compute the defined results: on edge values and random ones, for every error of the approximation unit
//! that its bound allows.

use crate::evaluator::{World, run};
use oriole_chip::Chip;
use oriole_legalize::routine::Routine;
use oriole_legalize::{expand_exact, expand_wide};
use oriole_ori::{Form, Function, parse, verify};
use rustc_apfloat::ieee::{Double, Single};
use rustc_apfloat::{Float, Round};
use std::sync::LazyLock;

/// A small deterministic random number generator (xorshift).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

/// Runs `r8 [r9] = op {r0 r1}, {r2 r3}` on two inputs.
fn template(operation: &str) -> Function {
    let text = format!(
        "
kernel
b0:
  {{r0 r1}} = LDC.64 c[0][0x0] ; 0
  {{r2 r3}} = LDC.64 c[0][0x8] ; 0
  {operation} ; 1
  STG [0x0], r8 mem(global w) ; 2
  STG [0x4], r9 mem(global w) ; 2
  EXIT ; 3
"
    );
    parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The code of a routine, read once.
fn routine(name: &str) -> &'static Function {
    static CODE: LazyLock<Vec<(Routine, Function)>> =
        LazyLock::new(|| Routine::ARITHMETIC.into_iter().map(|routine| (routine, routine.code())).collect());
    let known = CODE.iter().find(|(routine, _)| routine.name() == name);
    &known.unwrap_or_else(|| panic!("no routine {name}")).1
}

fn world(a: u64, b: u64, mufu_error: i32) -> World {
    let words = [(0, a as u32), (4, (a >> 32) as u32), (8, b as u32), (12, (b >> 32) as u32)];
    World { constants: words.into(), mufu_error, routine, ..World::default() }
}

fn result(function: &Function, a: u64, b: u64, mufu_error: i32) -> u64 {
    let outcome = run(function, &world(a, b, mufu_error));
    let words: Vec<u64> = outcome.stores[0].iter().map(|&(_, word)| word.into()).collect();
    words[0] | words[1] << 32
}

const EDGES_64: [u64; 16] = [
    0,
    1,
    2,
    3,
    7,
    10,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    0x1_0000_0001,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0x8000_0000_0000_0001,
    0xffff_ffff_0000_0000,
    u64::MAX,
];

/// A chip with 32-bit integers only, and one with 64-bit integers.
fn chips() -> [Chip; 2] {
    [Chip::SM_90, "sm_120".parse().expect("a chip")]
}

#[test]
fn wide_operations() {
    let operations = [
        "{r8 r9} = Add64 {r0 r1}, {r2 r3}",
        "{r8 r9} = Add64 {r0 r1}, -{r2 r3}",
        "{r8 r9} = Add64 -{r0 r1}, {r2 r3}",
        "{r8 r9} = Add64 -{r0 r1}, -{r2 r3}",
        "{r8 r9} = Add64 RZ, -{r2 r3}",
        "{r8 r9} = Add64 {r0 r1}, 0xfffffff0",
        "{r8 r9} = Add64 0x10, {r0 r1}",
        "{r8 r9} = Add64 c[0][0x8], {r0 r1}",
        "{r8 r9} = Add64 c[0][0x8], -{r0 r1}",
        "{r8 r9} = Mul64 {r0 r1}, {r2 r3}",
        "{r8 r9} = Mul64 {r0 r1}, 0xfffffffd",
        "{r8 r9} = MulHi64.U64 {r0 r1}, {r2 r3}",
        "{r8 r9} = MulHi64.S64 {r0 r1}, {r2 r3}",
        "{r8 r9} = Min64.S64 {r0 r1}, {r2 r3}",
        "{r8 r9} = Max64.U64 {r0 r1}, {r2 r3}",
        "{r8 r9} = Max64.S64 {r0 r1}, 0xffffffff",
        "{r8 r9} = Logic64 {r0 r1}, {r2 r3}, RZ, #192",
        "{r8 r9} = Logic64 {r0 r1}, ~{r2 r3}, {r0 r1}, #150",
        "{r8 r9} = Logic64 0x7, {r2 r3}, 0x1, #232",
    ];
    let mut dice = Dice(99);
    for operation in operations {
        let before = template(operation);
        let random: Vec<u64> = (0..8).map(|i| dice.next() >> (i * 5 % 40)).collect();
        for chip in chips() {
            let mut after = before.clone();
            expand_wide::run(&mut after, chip);
            assert_eq!(verify(&after, Form::Ssa), Ok(()));
            for &a in EDGES_64.iter().chain(&random) {
                for &b in EDGES_64.iter().chain(&random[..8]) {
                    let (want, got) = (result(&before, a, b, 0), result(&after, a, b, 0));
                    assert_eq!(got, want, "{chip}: {operation} of {a:#x} and {b:#x}\n{after}");
                }
            }
        }
    }
}

#[test]
fn wide_shifts_comparisons_and_selections() {
    for operation in ["Shl64", "Shr64.U64", "Shr64.S64"] {
        let before = template(&format!("{{r8 r9}} = {operation} {{r0 r1}}, r2"));
        let mut after = before.clone();
        expand_wide::run(&mut after, Chip::SM_90);
        for a in EDGES_64 {
            for amount in [0u64, 1, 5, 31, 32, 33, 63, 64, 65, 255, 0x8000_0000, 0xffff_ffff] {
                let (want, got) = (result(&before, a, amount, 0), result(&after, a, amount, 0));
                assert_eq!(got, want, "{operation} of {a:#x} by {amount}");
            }
        }
    }
    for compare in ["LT", "LE", "GT", "GE", "EQ", "NE"] {
        for ty in ["U64", "S64"] {
            let operation = format!(
                "p4 = SetPredicate64.{compare}.{ty} {{r0 r1}}, {{r2 r3}} ; 1\n{{r8 r9}} = Select64 {{r0 r1}}, {{r2 r3}}, !p4"
            );
            let before = template(&operation);
            for chip in chips() {
                let mut after = before.clone();
                expand_wide::run(&mut after, chip);
                for a in EDGES_64 {
                    for b in EDGES_64 {
                        let (want, got) = (result(&before, a, b, 0), result(&after, a, b, 0));
                        assert_eq!(got, want, "{chip}: {compare}.{ty} of {a:#x} and {b:#x}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_destination_may_be_a_source_and_a_guard_may_forbid() {
    let text = "
kernel
b0:
  {r8 r9} = LDC.64 c[0][0x0] ; 0
  {r2 r3} = LDC.64 c[0][0x8] ; 0
  {r8 r9} = Add64 {r8 r9}, {r9 r8} ; 1
  p4, PT = ISETP.AND.LT.U32 r2, 0x5, PT ; 1
  @p4 {r8 r9} = Mul64 {r8 r9}, {r2 r3} ; 1
  STG [0x0], r8 mem(global w) ; 2
  STG [0x4], r9 mem(global w) ; 2
  EXIT ; 3
";
    let before = parse(text).unwrap();
    let mut after = before.clone();
    expand_wide::run(&mut after, Chip::SM_90);
    for a in EDGES_64 {
        for b in [3, 7, u64::MAX] {
            assert_eq!(result(&after, a, b, 0), result(&before, a, b, 0), "{a:#x} {b:#x}\n{after}");
        }
    }
}

/// Where the chip has 64-bit integers an operation is one instruction, with a uniform register pair as operand only
/// if one instruction defines the pair.
#[test]
fn integers_of_64_bits_are_one_operand() {
    let [_, chip] = chips();
    let text = "
kernel
b0:
  {r0 r1} = LDC.64 c[0][0x0] ; 0
  {u2 u3} = LDCU.64 c[0][0x8] ; 0
  u4 = LDCU c[0][0x10] ; 0
  u5 = LDCU c[0][0x18] ; 0
  {r6 r7} = Add64 {u2 u3}, -{r0 r1} ; 1
  {r8 r9} = Add64 -{u2 u3}, {r0 r1} ; 2
  {r10 r11} = Add64 {r0 r1}, {u4 u5} ; 3
  p12 = SetPredicate64.LT.S64 {u2 u3}, {r0 r1} ; 4
  {r13 r14} = Select64 {u2 u3}, RZ, !p12 ; 5
  {r15 r16} = Max64.U64 {r0 r1}, {u2 u3} ; 6
  STG.64 [0x0], {r6 r7} mem(global w) ; 7
  EXIT ; 8
";
    let mut function = parse(text).unwrap_or_else(|error| panic!("{error}"));
    expand_wide::run(&mut function, chip);
    let lines = function.to_string();
    let lines = lines.lines().filter(|line| ('1'..'7').any(|origin| line.ends_with(&format!("; {origin}"))));
    let lines: String = lines.map(|line| format!("{}\n", line.trim())).collect();
    expect_test::expect![[r#"
        {r6 r7} = IADD.64 -{r0 r1}, {u2 u3} ; 1
        {r8 r9} = IADD.64 {r0 r1}, -{u2 u3} ; 2
        r10, p17 = IADD3 r0, u4, RZ ; 3
        r11 = IADD3.X r1, u5, RZ, p17, !PT ; 3
        p12, PT = ISETP.AND.GT.S64 {r0 r1}, {u2 u3}, PT ; 4
        {r13 r14} = SEL.64 RZ, {u2 u3}, p12 ; 5
        PT, PT, {r15 r16} = IMNMX.U64 {r0 r1}, {u2 u3}, !PT, !PT ; 6
    "#]]
    .assert_eq(&lines);
}

/// An operation with its slow path called, and with it inlined.
fn expanded(operation: &str) -> [Function; 2] {
    [true, false].map(|routines| {
        let mut function = template(operation);
        expand_exact::run(&mut function, Chip::SM_90, routines);
        expand_wide::run(&mut function, Chip::SM_90);
        if let Err(violations) = verify(&function, Form::Ssa) {
            let text: Vec<String> = violations.iter().map(|v| v.to_string()).collect();
            panic!("{}\n{function}", text.join("\n"));
        }
        function
    })
}

/// The result of both.
fn both(functions: &[Function; 2], a: u64, b: u64, mufu_error: i32) -> u64 {
    let [called, in_place] = functions.each_ref().map(|function| result(function, a, b, mufu_error));
    assert_eq!(called, in_place, "{a:#x} {b:#x} error {mufu_error}");
    called
}

const ERRORS: [i32; 3] = [-1, 0, 1];

#[test]
fn integer_division_32() {
    let mut dice = Dice(5);
    let edges: Vec<u32> =
        EDGES_64.iter().map(|&e| e as u32).chain([5, 6, 9, 100, 641, 65535, 65536, 65537]).collect();
    let random: Vec<u32> = (0..16).map(|i| (dice.next() >> (32 + i % 31)) as u32).collect();
    for (name, signed, rest) in [
        ("Divide.U32", false, false),
        ("Remainder.U32", false, true),
        ("Divide.S32", true, false),
        ("Remainder.S32", true, true),
    ] {
        let function = expanded(&format!("r8 = {name} r0, r2 ; 1\n r9 = MOV 0x0"));
        for (index, &a) in edges.iter().chain(&random).enumerate() {
            for &b in edges.iter().chain(&random) {
                let want = match (signed, rest) {
                    (false, false) => a.checked_div(b),
                    (false, true) => a.checked_rem(b),
                    (true, false) => (b != 0).then(|| (a as i32).wrapping_div(b as i32) as u32),
                    (true, true) => (b != 0).then(|| (a as i32).wrapping_rem(b as i32) as u32),
                };
                // A division by zero returns all ones.
                let want = want.unwrap_or(u32::MAX);
                let error = ERRORS[index % 3];
                assert_eq!(
                    both(&function, a.into(), b.into(), error),
                    want.into(),
                    "{name} {a} {b} error {error}"
                );
            }
        }
    }
}

#[test]
fn integer_division_64() {
    let mut dice = Dice(6);
    let random: Vec<u64> = (0..10).map(|i| dice.next() >> ((i * 7) % 61)).collect();
    for (name, signed, rest) in [
        ("Divide.U64", false, false),
        ("Remainder.U64", false, true),
        ("Divide.S64", true, false),
        ("Remainder.S64", true, true),
    ] {
        let function = expanded(&format!("{{r8 r9}} = {name} {{r0 r1}}, {{r2 r3}}"));
        for (index, &a) in EDGES_64.iter().chain(&random).enumerate() {
            for &b in EDGES_64.iter().chain(&random) {
                let want = match (signed, rest) {
                    (false, false) => a.checked_div(b),
                    (false, true) => a.checked_rem(b),
                    (true, false) => (b != 0).then(|| (a as i64).wrapping_div(b as i64) as u64),
                    (true, true) => (b != 0).then(|| (a as i64).wrapping_rem(b as i64) as u64),
                };
                let want = want.unwrap_or(u64::MAX);
                let error = ERRORS[index % 3];
                assert_eq!(both(&function, a, b, error), want, "{name} {a:#x} {b:#x} error {error}");
            }
        }
    }
}

/// A remainder next to a quotient needs no second division.
#[test]
fn a_quotient_and_its_remainder_are_one_division() {
    let of = |signed: &str| {
        let division = |name| format!("{name}.{signed} {{r0 r1}}, {{r2 r3}} ; 1");
        let (rest, quotient) = (division("Remainder"), division("Divide"));
        let mixed = "r8 = LOP3.LUT r4, r6, RZ, #60, !PT ; 1\n  r9 = LOP3.LUT r5, r7, RZ, #60, !PT";
        expanded(&format!("{{r4 r5}} = {rest}\n  {{r6 r7}} = {quotient}\n  {mixed}"))
    };
    let [unsigned, signed] = ["U64", "S64"].map(of);
    assert_eq!(unsigned[0].to_string().matches("CallHelper").count(), 1);
    let mut dice = Dice(7);
    let random: Vec<u64> = (0..10).map(|i| dice.next() >> ((i * 7) % 61)).collect();
    for (a, b) in EDGES_64.iter().chain(&random).flat_map(|&a| EDGES_64.map(|b| (a, b))) {
        let want = a.checked_div(b).map_or(0, |quotient| quotient ^ (a % b));
        assert_eq!(both(&unsigned, a, b, 0), want, "{a:#x} {b:#x}");
        let (a, b) = (a as i64, b as i64);
        let want = if b == 0 { 0 } else { a.wrapping_div(b) ^ a.wrapping_rem(b) };
        assert_eq!(both(&signed, a as u64, b as u64, 0), want as u64, "{a:#x} {b:#x}");
    }
}

/// The test of a front end before a 64-bit division is not repeated: the other branch calls the routine at once.
#[test]
fn long_divisions_have_no_short_way() {
    let dividing = |asked: &str, division: &str| {
        let text = format!(
            "
kernel
b0: -> b2 b1
  {{r0 r1}} = LDC.64 c[0][0x0] ; 0
  {{r2 r3}} = LDC.64 c[0][0x8] ; 0
  {{r4 r5}} = Logic64 {{r0 r1}}, {{r2 r3}}, RZ, #252 ; 1
  r6 = Copy RZ ; 2
  r7 = MOV 0xffffffff ; 2
  {{r10 r11}} = Logic64 {{r4 r5}}, {{r6 r7}}, RZ, #192 ; 2
  p12 = SetPredicate64.{asked}, RZ ; 3
  @p12 BRA b2 ; 4
b1: -> b3
  {{r20 r21}} = {division} ; 5
  BRA b3 ; 6
b2: -> b3
  r22 = IADD3 r0, r2, RZ ; 7
b3:
  r8 = phi b1: r20, b2: r22
  r9 = phi b1: r21, b2: RZ
  STG [0x0], r8 mem(global w) ; 8
  STG [0x4], r9 mem(global w) ; 8
  EXIT ; 9
"
        );
        let mut function = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert!(expand_exact::run(&mut function, Chip::SM_90, true));
        let short = function.to_string().matches("I2F").count();
        expand_wide::run(&mut function, Chip::SM_90);
        assert_eq!(verify(&function, Form::Ssa), Ok(()));
        (function, short)
    };
    let (function, short) = dividing("EQ.S64 {r10 r5}", "Divide.U64 {r0 r1}, {r2 r3}");
    assert_eq!(short, 0);
    for (a, b) in EDGES_64.iter().flat_map(|&a| EDGES_64.map(|b| (a, b))) {
        let want = match (a | b) >> 32 {
            0 => u64::from((a as u32).wrapping_add(b as u32)),
            _ => a.checked_div(b).unwrap_or(u64::MAX),
        };
        assert_eq!(result(&function, a, b, 0), want, "{a:#x} {b:#x}");
    }
    assert_eq!(dividing("EQ.S64 {r10 r5}", "Remainder.S64 {r2 r3}, {r0 r1}").1, 0);
    // The other branch, another condition and other operands imply nothing.
    for (asked, division) in [
        ("NE.S64 {r10 r5}", "Divide.U64 {r0 r1}, {r2 r3}"),
        ("EQ.S64 {r4 r5}", "Divide.U64 {r0 r1}, {r2 r3}"),
        ("EQ.S64 {r10 r5}", "Divide.S64 {r0 r1}, {r4 r5}"),
    ] {
        assert_eq!(dividing(asked, division).1, 1, "{asked}: {division}");
    }
}

const MODES: [(&str, Round); 4] = [
    ("RN", Round::NearestTiesToEven),
    ("RZ", Round::TowardZero),
    ("RM", Round::TowardNegative),
    ("RP", Round::TowardPositive),
];

const EDGES_F32: [u32; 32] = [
    // Reciprocals next to the midpoint of two floats.
    0x3fff_ffff,
    0xbfff_ffff,
    0x3fff_fffd,
    0x3fd5_5553,
    0xbfff_ffef,
    0x3fff_ffdf,
    0,
    0x8000_0000,
    1,
    2,
    3,
    0x8000_0001,
    0x007f_ffff,
    0x0080_0000,
    0x0080_0001,
    0x00ff_ffff,
    0x3f80_0000,
    0xbf80_0000,
    0x3f80_0001,
    0x3f7f_ffff,
    0x4000_0000,
    0x4040_0000,
    0x3eaa_aaab,
    0x7f7f_ffff,
    0xff7f_ffff,
    0x7f00_0000,
    0x7e80_0000,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0x7f80_0001,
    0x4b7f_ffff,
];

fn flush(bits: u32) -> u32 {
    if bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits }
}

fn root_single(x: Single, round: Round) -> Single {
    // The root of an f32, exactly rounded, from integers: x = m * 2^(2e) with m of 60 bits, and its integer root.
    if x.is_nan() || (x.is_negative() && !x.is_zero()) {
        return Single::NAN;
    }
    if x.is_zero() || x.is_infinite() {
        return x;
    }
    let bits = x.to_bits() as u32;
    let (mut exponent, mut mantissa) = ((bits >> 23) as i32, u128::from(bits & 0x7f_ffff));
    if exponent == 0 {
        exponent = 1;
    } else {
        mantissa |= 1 << 23;
    }
    exponent -= 127 + 23;
    // Make the mantissa about 100 bits and the exponent even.
    let mut shift = 76;
    if (exponent - shift) % 2 != 0 {
        shift += 1;
    }
    let wide = mantissa << shift;
    let root = integer_root(wide);
    let sticky = u128::from(root * root != wide);
    let scaled = Single::from_u128_r(root << 1 | sticky, round).value;
    scaled.scalbn((exponent - shift) / 2 - 1)
}

fn integer_root(n: u128) -> u128 {
    let mut low = 0u128;
    let mut high = 1u128 << 64;
    while high - low > 1 {
        let middle = (low + high) / 2;
        if middle * middle <= n { low = middle } else { high = middle }
    }
    low
}

#[test]
fn f32_division_reciprocal_and_root() {
    let mut dice = Dice(77);
    let random: Vec<u32> = (0..6).map(|_| dice.next() as u32).collect();
    let all: Vec<u32> = EDGES_F32.iter().copied().chain(random).collect();
    for (mode, round) in MODES {
        for ftz in [false, true] {
            let suffix = if ftz { format!("{mode}.FTZ") } else { mode.to_string() };
            let divide = expanded(&format!("r8 = FDivide.F32.{suffix} r0, r2 ; 1\n r9 = MOV 0x0"));
            let reciprocal = expanded(&format!("r8 = FReciprocal.F32.{suffix} r0 ; 1\n r9 = MOV 0x0"));
            let root = expanded(&format!("r8 = FSquareRoot.F32.{suffix} r0 ; 1\n r9 = MOV 0x0"));
            let single = |bits: u32| Single::from_bits(u128::from(if ftz { flush(bits) } else { bits }));
            let tidy = |x: Single| {
                let bits = if x.is_nan() { 0x7fff_ffff } else { x.to_bits() as u32 };
                if ftz { flush(bits) } else { bits }
            };
            for (&a, error) in all.iter().flat_map(|a| ERRORS.map(|error| (a, error))) {
                let one = Single::from_bits(0x3f80_0000);
                let want = tidy(one.div_r(single(a), round).value);
                assert_eq!(both(&reciprocal, a.into(), 0, error) as u32, want, "rcp {suffix} {a:#x} {error}");
                let want = tidy(root_single(single(a), round));
                assert_eq!(both(&root, a.into(), 0, error) as u32, want, "sqrt {suffix} {a:#x} {error}");
                for &b in &all {
                    let want = tidy(single(a).div_r(single(b), round).value);
                    let got = both(&divide, a.into(), b.into(), error) as u32;
                    assert_eq!(got, want, "div {suffix} {a:#x} {b:#x} {error}");
                }
            }
        }
    }
}

/// Pairs whose quotient, or one of them, is close to a border of the format: subnormal, least normal, largest; half of
/// them with few bits, so that quotients are exact or halfway between two subnormals.
fn near_borders(dice: &mut Dice) -> (u32, u32) {
    let (random, few) = (dice.next(), dice.next() as u32);
    let divisor = 1 + (random >> 8) as u32 % 254;
    let dividend = match random % 4 {
        0 => divisor.saturating_sub(126),
        1 => divisor.saturating_sub(120 + (random >> 40) as u32 % 33),
        2 => (divisor + 125 + (random >> 40) as u32 % 5).min(254),
        _ => 0,
    };
    let mask = if few & 1 == 0 { 0x807f_ffff } else { 0x807c_0000 };
    let significands = dice.next();
    let word = |exponent: u32, bits: u32| exponent << 23 | bits & mask;
    let (a, b) = (word(dividend, significands as u32), word(divisor, (significands >> 32) as u32));
    if random >> 63 == 0 { (a, b) } else { (a, b & 0x807f_ffff) }
}

#[test]
fn f32_results_near_borders() {
    let mut dice = Dice(2026);
    for (mode, round) in MODES {
        let divide = expanded(&format!("r8 = FDivide.F32.{mode} r0, r2 ; 1\n r9 = MOV 0x0"));
        let reciprocal = expanded(&format!("r8 = FReciprocal.F32.{mode} r0 ; 1\n r9 = MOV 0x0"));
        let root = expanded(&format!("r8 = FSquareRoot.F32.{mode} r0 ; 1\n r9 = MOV 0x0"));
        let single = |bits: u32| Single::from_bits(bits.into());
        let tidy = |x: Single| if x.is_nan() { 0x7fff_ffff } else { x.to_bits() as u32 };
        for index in 0..3000 {
            let error = ERRORS[index % 3];
            let (a, b) = near_borders(&mut dice);
            let want = tidy(single(a).div_r(single(b), round).value);
            assert_eq!(
                both(&divide, a.into(), b.into(), error) as u32,
                want,
                "div {mode} {a:#x} {b:#x} {error}"
            );
            // From 2^126 on, and subnormal.
            let a = if index % 2 == 0 { a & 0x80ff_ffff | 0x7e80_0000 } else { a & 0x807f_ffff };
            let one = Single::from_bits(0x3f80_0000);
            let want = tidy(one.div_r(single(a), round).value);
            assert_eq!(both(&reciprocal, a.into(), 0, error) as u32, want, "rcp {mode} {a:#x} {error}");
            let x = a & 0x1fff_ffff;
            let want = tidy(root_single(single(x), round));
            assert_eq!(both(&root, x.into(), 0, error) as u32, want, "sqrt {mode} {x:#x} {error}");
        }
    }
}

const EDGES_F64: [u64; 37] = [
    // The borders of the fast paths.
    0x01a5_6e1f_c2f8_f359,
    0x035f_ffff_ffff_ffff,
    0x0360_0000_0000_0000,
    0x0350_0000_0000_0000,
    0x7f7f_ffff_ffff_ffff,
    0x7f80_0000_0000_0001,
    0xbfff_ffff_ffff_ffff,
    0xbfef_ffff_ffff_ffff,
    0x3fff_ffff_ffff_fffd,
    0,
    1 << 63,
    1,
    3,
    0x8000_0000_0000_0001,
    0x000f_ffff_ffff_ffff,
    0x0010_0000_0000_0000,
    0x0010_0000_0000_0001,
    0x001f_ffff_ffff_ffff,
    0x0340_0000_0000_0000,
    0x3ff0_0000_0000_0000,
    0xbff0_0000_0000_0000,
    0x3ff0_0000_0000_0001,
    0x3fef_ffff_ffff_ffff,
    0x3fff_ffff_ffff_ffff,
    0x3fff_ffff_ffff_fffe,
    0x4008_0000_0000_0000,
    0x3fd5_5555_5555_5555,
    0x4340_0000_0000_0000,
    0x7fef_ffff_ffff_ffff,
    0xffef_ffff_ffff_ffff,
    0x7fe0_0000_0000_0000,
    0x7fd0_0000_0000_0000,
    0x7ff0_0000_0000_0000,
    0xfff0_0000_0000_0000,
    0x7ff8_0000_0000_0000,
    0x0008_0000_0000_0000,
    0x433f_ffff_ffff_ffff,
];

fn double(bits: u64) -> Double {
    Double::from_bits(bits.into())
}

fn tidy_double(x: Double) -> u64 {
    if x.is_nan() { 0xfff8_0000_0000_0000 } else { x.to_bits() as u64 }
}

#[test]
fn f64_division_and_reciprocal() {
    let mut dice = Dice(1234);
    let mut random: Vec<u64> = (0..6).map(|_| dice.next()).collect();
    // Significands near 1 and near 2, where the last step is hardest, and results near the subnormal border.
    random.extend((0..8).map(|i| {
        (0x3ffu64 << 52) | ((dice.next() >> 40) << (i % 3)) | (u64::from(i & 1 != 0) * 0xf_ffff_0000_0000)
    }));
    random.extend((0..4).map(|_| dice.next() & 0x803f_ffff_ffff_ffff));
    let all: Vec<u64> = EDGES_F64.iter().copied().chain(random).collect();
    for (mode, round) in MODES {
        let divide = expanded(&format!("{{r8 r9}} = FDivide.F64.{mode} {{r0 r1}}, {{r2 r3}}"));
        let reciprocal = expanded(&format!("{{r8 r9}} = FReciprocal.F64.{mode} {{r0 r1}}"));
        for (&a, error) in all.iter().flat_map(|a| ERRORS.map(|error| (a, error))) {
            let want = tidy_double(double(0x3ff << 52).div_r(double(a), round).value);
            assert_eq!(both(&reciprocal, a, 0, error), want, "rcp {mode} {a:#x} {error}");
            for &b in &all {
                let want = tidy_double(double(a).div_r(double(b), round).value);
                assert_eq!(both(&divide, a, b, error), want, "div {mode} {a:#x} {b:#x} {error}");
            }
        }
    }
}

#[test]
fn f64_results_near_borders() {
    let mut dice = Dice(64);
    for (mode, round) in MODES {
        let divide = expanded(&format!("{{r8 r9}} = FDivide.F64.{mode} {{r0 r1}}, {{r2 r3}}"));
        let reciprocal = expanded(&format!("{{r8 r9}} = FReciprocal.F64.{mode} {{r0 r1}}"));
        for index in 0..2000 {
            let error = ERRORS[index % 3];
            let random = dice.next();
            let divisor = 1 + (random >> 8) % 2046;
            let dividend = match random % 4 {
                0 => divisor.saturating_sub(1022),
                1 => divisor.saturating_sub(1018 + (random >> 32) % 60),
                2 => (divisor + 1021 + (random >> 32) % 5).min(2046),
                _ => 0,
            };
            let mask = if random >> 63 == 0 { 0x800f_ffff_ffff_ffff } else { 0x800e_0000_0000_0000 };
            let (a, b) = (dividend << 52 | dice.next() & mask, divisor << 52 | dice.next() & mask);
            let want = tidy_double(double(a).div_r(double(b), round).value);
            assert_eq!(both(&divide, a, b, error), want, "div {mode} {a:#x} {b:#x} {error}");
            // From 2^1017 on, and subnormal.
            let exponent = if index % 2 == 0 { 2040 + dividend % 7 } else { 0 };
            let a = a & 0x800f_ffff_ffff_ffff | exponent << 52;
            let want = tidy_double(double(0x3ff << 52).div_r(double(a), round).value);
            assert_eq!(both(&reciprocal, a, 0, error), want, "rcp {mode} {a:#x} {error}");
        }
    }
}

/// The f64 square root, correctly rounded: to nearest by the host (IEEE demands it), other modes by its residual.
fn root_double(x: f64, round: Round) -> Double {
    let near = double(x.sqrt().to_bits());
    if !near.is_finite_non_zero() || round == Round::NearestTiesToEven {
        return near;
    }
    // Scaled so that the residual is exact.
    let scale = if x < 1e-200 { 2f64.powi(200) } else { 1.0 };
    let g = double((x.sqrt() * scale.sqrt()).to_bits());
    let residual = (-g).mul_add_r(g, double((x * scale).to_bits()), Round::NearestTiesToEven).value;
    let below = residual.is_negative() && !residual.is_zero();
    let above = !residual.is_negative() && !residual.is_zero();
    match round {
        Round::TowardPositive if above => near.next_up().value,
        Round::TowardZero | Round::TowardNegative if below => near.next_down().value,
        _ => near,
    }
}

#[test]
fn f64_root() {
    let mut dice = Dice(4321);
    let random: Vec<u64> = (0..60).map(|_| dice.next() & !(1 << 63)).collect();
    let squares: Vec<u64> = (0..15).map(|_| ((dice.next() >> 38) as f64).powi(2).to_bits()).collect();
    let neighbours: Vec<u64> = squares.iter().flat_map(|&s| [s - 1, s + 1]).collect();
    // Where residuals are just exact, and below.
    let small: Vec<u64> = (0..40).map(|i| (dice.next() >> 12) | (40 + i) << 52).collect();
    let all = EDGES_F64.iter().copied().chain(random).chain(squares).chain(neighbours).chain(small);
    let all: Vec<u64> = all.collect();
    for (mode, round) in MODES {
        let root = expanded(&format!("{{r8 r9}} = FSquareRoot.F64.{mode} {{r0 r1}}"));
        for (index, &a) in all.iter().enumerate() {
            let error = ERRORS[index % 3];
            let want = tidy_double(root_double(f64::from_bits(a), round));
            assert_eq!(both(&root, a, 0, error), want, "sqrt {mode} {a:#x} {error}");
        }
    }
}
