//! Results of instructions, one row an instruction: operands in `R0..R7`, the result in `R9`.

use crate::common::{assemble_for, launch, one};
use oriole_simulate::run;

/// Runs rows of (code, operands, result).
fn check(rows: &[(&str, &[u32], u32)]) {
    for (code, operands, expected) in rows {
        let mut input = [0; 8];
        input[..operands.len()].copy_from_slice(operands);
        let got = one(input, code);
        assert_eq!(got, *expected, "{code} on {operands:x?}: {got:#x} instead of {expected:#x}");
    }
}

const ONE: u32 = 0x3f80_0000;
const TWO: u32 = 0x4000_0000;

#[test]
fn integers() {
    check(&[
        ("IADD3 R9, R0, -R1, R2", &[5, 7, 1], u32::MAX),
        ("IADD3 R9, P0, R0, R1, RZ\nIADD3.X R9, RZ, RZ, RZ, P0, !PT", &[u32::MAX, 1], 1),
        ("IADD3 R9, P0, R0, -R1, RZ\nIADD3.X R9, R2, ~R3, RZ, P0, !PT", &[0, 1, 5, 2], 2),
        ("IMAD R9, R0, R1, R2", &[0x1_0000, 0x1_0001, 3], 0x1_0003),
        ("IMAD.WIDE R2, R0, R1, RZ\nMOV R9, R3", &[u32::MAX, 2], u32::MAX),
        ("IMAD.WIDE.U32 R2, R0, R1, RZ\nMOV R9, R3", &[u32::MAX, 2], 1),
        ("IMAD.HI.U32 R9, R0, R1, R2", &[0x8000_0000, 4, 7, 0], 2),
        ("LEA R9, R0, R1, 0x3", &[5, 2], 42),
        ("LEA.HI R9, R0, R1, R2, 0x4", &[0xf000_0000, 1, 1], 0x20),
        ("LEA.HI.SX32 R9, R0, R1, 0x1", &[0x8000_0000, 5], 4),
        ("LOP3.LUT R9, R0, R1, R2, 0x96, !PT", &[0b1100, 0b1010, 0b1111], 0b1001),
        ("SHF.L.U32 R9, R0, R1, RZ", &[1, 31], 0x8000_0000),
        ("SHF.L.U32 R9, R0, R1, RZ", &[1, 32], 0),
        ("SHF.R.S32.HI R9, RZ, R1, R0", &[0x8000_0000, 40], u32::MAX),
        ("SHF.R.W.U32 R9, R0, R1, R2", &[0x10, 36, 1], 0x1000_0001),
        ("SHF.L.U64.HI R9, R0, R1, R2", &[0x8000_0000, 1, 0], 1),
        ("PRMT R9, R0, 0x8761, R1", &[0x0302_0180, 0x0706_0504], 0xff07_0601),
        ("PRMT.RC16 R9, R0, R1, RZ", &[0x4433_2211, 1], 0x4433_4433),
        ("SGXT R9, R0, 0x4", &[0xf8], 0xffff_fff8),
        ("BMSK R9, R0, R1", &[4, 8], 0xff0),
        ("FLO.U32 R9, R0", &[0x40], 6),
        ("FLO.SH R9, R0", &[0xffff_ff00], 24),
        ("POPC R9, R0", &[0xff01], 9),
        ("BREV R9, R0", &[1], 0x8000_0000),
        ("IABS R9, R0", &[0x8000_0000], 0x8000_0000),
        ("VIMNMX R9, R0, R1, PT", &[u32::MAX, 3], u32::MAX),
        ("VIMNMX.U32 R9, R0, R1, !PT", &[u32::MAX, 3], u32::MAX),
        ("VIADDMNMX R9, R0, -R1, R2, !PT", &[5, 9, 1], 1),
        ("IDP.4A.S8.U8 R9, R0, R1, R2", &[0xff01_02ff, 0x0101_0101, 10], 11),
        ("VABSDIFF.U32 R9, R0, R1, R2", &[3, 10, 1], 8),
        ("I2IP.S8.S32.SAT R9, R0, R1, R2", &[1000, u32::MAX - 999, 0xab], 0x00ab_7f80),
        (
            "ISETP.LT.U32.AND P0, PT, R0, R2, PT\nISETP.LT.AND.EX P0, PT, R1, R3, PT, P0\nSEL R9, R4, RZ, P0",
            &[1, 7, 2, 7, 1],
            1,
        ),
        ("P2R R9, PR, RZ, 0x7f", &[], 0),
        ("ISETP.EQ.AND P2, PT, RZ, RZ, PT\nP2R R9, PR, R0, 0x7f", &[0x100], 0x104),
    ]);
}

#[test]
fn singles() {
    check(&[
        ("FADD R9, R0, -R1", &[ONE, TWO], 0xbf80_0000),
        ("FADD.RM R9, R0, R1", &[ONE, 0xbf80_0000], 0x8000_0000),
        ("FADD.RP R9, R0, R1", &[ONE, 1], ONE + 1),
        ("FADD.FTZ R9, R0, R1", &[1, 1], 0),
        ("FMUL.RZ R9, R0, R1", &[0x3f80_0001, 0x3f80_0001], 0x3f80_0002),
        ("FMUL.D2 R9, R0, R1", &[TWO, TWO], TWO),
        ("FFMA.SAT R9, R0, R1, R2", &[TWO, TWO, ONE], ONE),
        ("FFMA R9, R0, R1, R2", &[0x3f80_0001, 0x3f80_0001, 0xbf80_0000], 0x3480_0000),
        ("FMNMX R9, R0, R1, PT", &[0x7fc0_0000, ONE], ONE),
        ("FMNMX.NAN R9, R0, R1, PT", &[0x7fc0_0000, ONE], 0x7fff_ffff),
        ("FMNMX R9, R0, R1, PT", &[0, 0x8000_0000], 0x8000_0000),
        ("FSETP.NEU.AND P0, PT, R0, R0, PT\nSEL R9, R1, RZ, P0", &[0x7fc0_0000, 1], 1),
        ("FSET.BF.LT.AND R9, R0, R1, PT", &[ONE, TWO], ONE),
        ("MUFU.RCP R9, R0", &[TWO], 0x3f00_0000),
        ("MUFU.EX2 R9, R0", &[TWO], 0x4080_0000),
        ("MUFU.RSQ R9, R0", &[0x4080_0000], 0x3f00_0000),
        ("MUFU.RCP R9, R0", &[1], 0x7f80_0000),
        ("F2I.NTZ R9, R0", &[0x4020_0000], 2),
        ("F2I.CEIL.NTZ R9, R0", &[0x4020_0000], 3),
        ("F2I.U32.F16.NTZ R9, R0.H1", &[0x4500_4000], 5),
        ("F2I.U32.TRUNC.NTZ R9, R0", &[0xbf80_0000], 0),
        ("F2I.TRUNC.NTZ R9, R0", &[0x7f80_0000], 0x7fff_ffff),
        ("I2FP.F32.S32 R9, R0", &[u32::MAX], 0xbf80_0000),
        ("I2F.U32.RP R9, R0", &[0x0100_0001], 0x4b80_0001),
        ("FRND.FLOOR R9, R0", &[0xbf00_0000], 0xbf80_0000),
        ("F2FP.F16.F32.PACK_AB R9, R0, R1", &[ONE, TWO], 0x3c00_4000),
        ("F2FP.SATFINITE.E4M3.F32.PACK_AB_MERGE_C R9, R0, R1, RZ", &[ONE, 0x447a_0000], 0x387e),
        ("F2FP.SATFINITE.E4M3.F32.PACK_AB_MERGE_C R9, R0, R1, RZ", &[0xffc0_0000, 0x7f80_0001], 0x7f7f),
        ("F2FP.SATFINITE.E5M2.F32.PACK_AB_MERGE_C R9, R0, R1, RZ", &[0xffc0_0000, 0x7f80_0001], 0x7f7f),
        ("F2FP.F16.E4M3.UNPACK_B R9, R0", &[0x7e38], 0x5f00_3c00),
    ]);
}

#[test]
fn doubles_and_halves() {
    let double = |value: f64| [value.to_bits() as u32, (value.to_bits() >> 32) as u32];
    let [a, b] = double(1.5);
    let [c, d] = double(0.1);
    check(&[
        ("DADD R2, R0, R2\nMOV R9, R3", &[a, b, c, d], double(1.6)[1]),
        ("DMUL.RM R2, R0, R2\nMOV R9, R2", &[a, b, c, d], (1.5f64 * 0.1).to_bits() as u32 - 1),
        ("DFMA R2, R0, R2, -R0\nMOV R9, R2", &[a, b, c, d], 1.5f64.mul_add(0.1, -1.5).to_bits() as u32),
        ("DSETP.GT.AND P0, PT, R0, R2, PT\nSEL R9, R4, RZ, P0", &[a, b, c, d, 1], 1),
        ("F2F.F32.F64 R9, R0", &[c, d], 0.1f32.to_bits()),
        ("F2I.U16.F64 R9, R0", &[3, u32::MAX], 0x8000),
        ("F2I.S16.F64.TRUNC R9, R0", &[3, u32::MAX], 0xffff_8000),
        ("F2I.U32.F64.TRUNC R9, R0", &[3, u32::MAX], 0x8000_0000),
        ("MUFU.RCP64H R9, R1", &[a, b], double(1.0 / 1.5)[1]),
        ("HADD2 R9, R0, R1", &[0x3c00_4000, 0x3c00_3c00], 0x4000_4200),
        ("HADD2.F32 R9, -RZ, R0.H1_H1", &[0x4000_0000], TWO),
        ("HADD2.F32.SAT R9, -RZ, R0.H1_H1", &[0x4500_0000], ONE),
        ("HADD2.F32.SAT R9, -RZ, R0.H0_H0", &[0xc000], 0),
        ("I2F.F64.U16 R2, R0.H1\nMOV R9, R3", &[0x1199_52b5], double(f64::from(0x1199))[1]),
        ("I2F.F64.S8 R2, R0.B3\nMOV R9, R3", &[0xff00_0000], double(-1.0)[1]),
        // The upper half has a sign of its own.
        ("HFMA2 R9, R0, R1.H0_NH1, R2", &[0x4000_3c00, 0x3c00_4000, 0x3c00_3c00], 0xbc00_4200),
        ("HFMA2.MMA R9, R0, R1, R2", &[0x4000_3c00, 0x4000_4000, 0x3c00_3c00], 0x4500_4200),
        // The fill value of a bulk tensor copy counts as zero; any other NaN stays.
        ("HFMA2.OOB R9, R0, R1, R2", &[0x7ff7_7fff, 0x4000_4000, 0x3c00_3c00], 0x7fff),
        ("HFMA2.BF16_V2.OOB R9, R0, R1, R2", &[0x4000_4000, 0x7ff7_7fff, 0x3f80_3f80], 0x7fff),
        ("HMUL2.BF16_V2 R9, R0, R1", &[0x3f80_4000, 0x4000_4000], 0x4000_4080),
        ("HMNMX2 R9, R0, R1, PT", &[0x7e00_3c00, 0x4000_bc00], 0x4000_bc00),
        // A pair of subnormal immediates is flushed as a register is.
        ("HMNMX2.FTZ R9, R0, 5.9604644775390625e-08, 5.9604644775390625e-08, !PT", &[0], 0),
        ("HADD2.FTZ R9, R0, -5.9604644775390625e-08, 1", &[0x8000_8000], 0x8000_3c00),
        ("HSETP2.GT.AND P0, P1, R0, R1, PT\nP2R R9, PR, RZ, 0x3", &[0x4000_3c00, 0x3c00_4000], 2),
    ]);
}

#[test]
fn matrix_rows_of_shared_memory() {
    // Four words of one thread go to shared memory and come back.
    check(&[
        ("STS.64 [0x400], R0\nLDS R9, [0x404]", &[1, 2], 2),
        ("STS [0x400], R0\nLDS.U8 R9, [0x401]", &[0x1234], 0x12),
        ("STS [0x400], R0\nLDS.S16 R9, [0x400]", &[0x8000], 0xffff_8000),
        ("STL [R2+0x8], R0\nLDL R9, [R2+0x8]", &[7], 7),
        ("STS [0x400], R0\nMOV R2, 0x400\nATOMS.ADD R9, [R2], R1\nLDS R9, [0x400]", &[5, 6], 11),
        ("STS [0x400], R0\nMOV R2, 0x400\nATOMS.CAST.SPIN R9, [R2], R0, R1", &[5, 6], 1),
    ]);
}

/// 64-bit instructions of one chip: moves of a 64-bit immediate, adds with their carries, comparisons, selects.
#[test]
fn words_of_64_bits_at_once() {
    let cubin = assemble_for(
        "sm_120a",
        "LDC.64 R2, c[0x0][0x388]
         LDCU.64 UR4, c[0x0][0x358]
         MOV.64 R4, 0xf23456789abcdef0
         UMOV.64 UR6, 0x2000000080000001
         MOV.64 R6, UR6
         IADD.64 R8, P0, R4, R6
         STG.E.64 desc[UR4][R2.64], R8
         IADD.64.X R10, R4, -0x1, P0
         STG.E.64 desc[UR4][R2.64+0x8], R10
         IADD.64 R12, R6, -R4
         STG.E.64 desc[UR4][R2.64+0x10], R12
         ISETP.GT.U64.AND P1, PT, R4, R6, PT
         ISETP.GT.S64.AND P2, P3, R4, R6, PT
         SEL.64 R14, R4, R6, P1
         STG.E.64 desc[UR4][R2.64+0x18], R14
         SEL.64 R16, R4, R6, P2
         STG.E.64 desc[UR4][R2.64+0x20], R16
         SEL.64 R18, R4, UR6, P3
         STG.E.64 desc[UR4][R2.64+0x28], R18
         EXIT",
    );
    let outcome = run(&cubin, &launch(1, &[0; 8], 12));
    assert_eq!((&outcome.error, &outcome.hazards), (&None, &Vec::new()));
    let found: Vec<u64> =
        outcome.buffers[1].chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect();
    let (a, b) = (0xf234_5678_9abc_def0u64, 0x2000_0000_8000_0001u64);
    assert_eq!(found, [a.wrapping_add(b), a, b.wrapping_sub(a), a, b, a]);
}

/// The uniform datapath of one chip has floating-point instructions.
#[test]
fn uniform_floats() {
    let cubin = assemble_for(
        "sm_120a",
        "LDC.64 R2, c[0x0][0x388]
         LDCU.64 UR4, c[0x0][0x358]
         UI2FP.F32.S32 UR6, -0x3
         UI2F.U32.RP UR7, 0x1000001
         UFADD UR8, UR6, 0.5
         UFMUL UR9, UR8, -UR6
         UFFMA UR10, UR9, 2, |UR6|
         UFMNMX UR11, UR10, UR6, UPT
         UF2I.FTZ.U32.TRUNC.NTZ UR12, -UR10
         UF2I.CEIL.NTZ UR13, UR8
         UFSETP.LT.AND UP0, UPT, UR10, UR6, UPT
         UFSEL UR14, UR7, UR6, UP0
         UFMUL.SAT UR15, UR6, UR6
         MOV R6, UR7
         STG.E desc[UR4][R2.64], R6
         MOV R7, UR8
         STG.E desc[UR4][R2.64+0x4], R7
         MOV R8, UR9
         STG.E desc[UR4][R2.64+0x8], R8
         MOV R9, UR10
         STG.E desc[UR4][R2.64+0xc], R9
         MOV R10, UR11
         STG.E desc[UR4][R2.64+0x10], R10
         MOV R11, UR12
         STG.E desc[UR4][R2.64+0x14], R11
         MOV R12, UR13
         STG.E desc[UR4][R2.64+0x18], R12
         MOV R13, UR14
         STG.E desc[UR4][R2.64+0x1c], R13
         MOV R14, UR15
         STG.E desc[UR4][R2.64+0x20], R14
         EXIT",
    );
    let outcome = run(&cubin, &launch(1, &[0; 8], 9));
    assert_eq!((&outcome.error, &outcome.hazards), (&None, &Vec::new()));
    let found: Vec<u32> =
        outcome.buffers[1].chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
    // -3 + 0.5; times 3; twice that and 3.
    let [sum, product, fused] = [-2.5f32, -7.5, -12.0].map(f32::to_bits);
    let rounded = 0x4b80_0001;
    assert_eq!(found, [rounded, sum, product, fused, fused, 12, -2i32 as u32, rounded, ONE]);
}

/// 64-bit min and max have two predicates before the result.
#[test]
fn extremes_of_64_bits() {
    let cubin = assemble_for(
        "sm_120a",
        "LDC.64 R2, c[0x0][0x388]
         LDCU.64 UR4, c[0x0][0x358]
         MOV.64 R4, 0xf234567800000000
         UMOV.64 UR6, 0x2000000080000001
         IMNMX.U64 PT, PT, R6, R4, UR6, PT, !PT
         IMNMX.S64 PT, PT, R8, R4, UR6, PT, !PT
         IMNMX.S64 PT, PT, R10, R4, -0x1, !PT, !PT
         UIMNMX.U64 UPT, UPT, UR8, UR6, 0x7f, UPT, !UPT
         MOV.64 R12, UR8
         STG.E.64 desc[UR4][R2.64], R6
         STG.E.64 desc[UR4][R2.64+0x8], R8
         STG.E.64 desc[UR4][R2.64+0x10], R10
         STG.E.64 desc[UR4][R2.64+0x18], R12
         EXIT",
    );
    let outcome = run(&cubin, &launch(1, &[0; 8], 8));
    assert_eq!((&outcome.error, &outcome.hazards), (&None, &Vec::new()));
    let found: Vec<u64> =
        outcome.buffers[1].chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect();
    assert_eq!(found, [0x2000_0000_8000_0001, 0xf234_5678_0000_0000, u64::MAX, 0x7f]);
}
