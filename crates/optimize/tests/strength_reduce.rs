//! Divisions by constants: the sequences give the results of the division.

use crate::common::evaluator::{World, run};
use expect_test::expect;
use oriole_optimize::passes::strength_reduce;
use oriole_ori::{Function, Opcode, Pseudo, parse};

fn function(ty: &str, operation: &str, divisor: u64) -> Function {
    let wide = ty.ends_with("64");
    let (n, d, q) = if wide { ("{r0 r1}", "{r2 r3}", "{r8 r9}") } else { ("r0", "r2", "r8") };
    let high = if wide { "" } else { "  r9 = Copy RZ ; 1\n" };
    let text = format!(
        "
kernel
b0:
  {{r0 r1}} = LDC.64 c[0][0x0] ; 0
  r2 = MOV {:#x} ; 0
  r3 = MOV {:#x} ; 0
  {q} = {operation}.{ty} {n}, {d} ; 1
{high}  STG [0x0], r8 mem(global w) ; 2
  STG [0x4], r9 mem(global w) ; 2
  EXIT ; 3
",
        divisor as u32,
        divisor >> 32,
    );
    parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn result(function: &Function, n: u64) -> u64 {
    let world = World { constants: [(0, n as u32), (4, (n >> 32) as u32)].into(), ..World::default() };
    let words: Vec<u64> = run(function, &world).stores[0].iter().map(|&(_, word)| word.into()).collect();
    words[0] | words[1] << 32
}

#[test]
fn divisions_by_constants() {
    let divisors: [i64; 27] = [
        1,
        -1,
        2,
        -2,
        3,
        -3,
        5,
        6,
        7,
        -7,
        9,
        10,
        11,
        14,
        16,
        -16,
        25,
        28,
        100,
        125,
        641,
        1000,
        0x7fff_ffff,
        -0x8000_0000,
        0xffff_ffff,
        6_700_417,
        1_000_000_007,
    ];
    let edges =
        [0u64, 1, 2, 3, 6, 7, 99, 100, 0x7fff_ffff, 0x8000_0000, 0x8000_0001, 0xffff_ffff, 0xffff_fffe];
    let wide =
        [1u64 << 32, u64::MAX, u64::MAX - 1, 1 << 63, (1 << 63) - 1, (1 << 63) + 1, 0x1234_5678_9abc_def0];
    for ty in ["U32", "S32", "U64", "S64"] {
        for operation in ["Divide", "Remainder"] {
            let more: &[i64] = if ty.ends_with("64") {
                &[i64::MIN, i64::MAX, 1 << 40, 10_000_000_000, -7 << 33]
            } else {
                &[]
            };
            for &divisor in divisors.iter().chain(more) {
                let before = function(ty, operation, divisor as u64);
                let mut after = before.clone();
                strength_reduce::run(&mut after);
                let left = crate::common::count(&after, |i| {
                    matches!(i.opcode, Opcode::Pseudo(Pseudo::Divide | Pseudo::Remainder))
                });
                assert_eq!(left, 0, "{operation}.{ty} by {divisor}");
                let multiples = (1..6u64).flat_map(|i| {
                    let m = (divisor as u64).wrapping_mul(i * 0x1357_9bdf);
                    [m.wrapping_sub(1), m, m.wrapping_add(1)]
                });
                for n in edges.into_iter().chain(wide).chain(multiples) {
                    let (want, got) = (result(&before, n), result(&after, n));
                    assert_eq!(got, want, "{operation}.{ty} of {n:#x} by {divisor}");
                }
            }
        }
    }
}

#[test]
fn a_remainder_by_ten() {
    let mut function = function("U32", "Remainder", 10);
    strength_reduce::run(&mut function);
    expect![[r#"
        kernel params=0 barriers=0
          value r4
          value r5
          value r6
          value r7
        b0:
          {r0 r1} = LDC.64 c[0][0x0] ; 0
          r2 = MOV 0xa ; 0
          r3 = MOV 0x0 ; 0
          r10 = MOV 0xcccccccd ; 1
          r11 = IMAD.HI.U32 r0, r10, RZ ; 1
          r12 = SHF.HI.R.U32 RZ, 0x3, r11 ; 1
          r13 = MOV 0xfffffff6 ; 1
          r14 = IMAD r12, r13, r0 ; 1
          r8 = Copy r14 ; 1
          r9 = Copy RZ ; 1
          STG [0x0], r8 mem(global w) ; 2
          STG [0x4], r9 mem(global w) ; 2
          EXIT ; 3
    "#]]
    .assert_eq(&function.to_string());
}

#[test]
fn division_by_zero_or_a_variable_stays() {
    for text in ["r2 = MOV 0x0 ; 0", "r2 = MOV 0x7 ; 0\n  r2 = MOV 0x9 ; 0"] {
        let text = format!(
            "kernel\nb0:\n  r0 = S2R %(SR_TID.X) ; 0\n  {text}\n  r1 = Divide.U32 r0, r2 ; 1\n  EXIT ; 2\n"
        );
        let mut function = parse(&text).unwrap();
        let before = function.clone();
        strength_reduce::run(&mut function);
        assert!(function == before);
    }
}
