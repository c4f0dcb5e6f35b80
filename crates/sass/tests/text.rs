//! Words and their texts, one or a few for each opcode of compute code; and laws that need no outside data.

use oriole_chip::Chip;
use oriole_sass::form::{NO_BIT, table};
use oriole_sass::{Access, RegisterFile, Style, accesses_of, decode, encode, parse, text};

const CHIP: Chip = Chip::SM_90A;

/// Each line a word, bits 127 to 0, and the text of it when it stands at address 0.
const WORDS: &str = "
000fc0000383fffffffffffc00fc7947 BRA 0x0
000fe20000000000000000000000782e ACQBULK
000fe20008000a8400000000ff0099b0 @!P1 ARRIVES.LDGSTSBAR.64.TRANSCNT [UR4]
000fe200001ee107000000060203738b ATOM.E.CAS.STRONG.GPU PT, R3, [R2], R6, R7
000fe200081ee1c400000007020379a8 ATOMG.E.ADD.STRONG.GPU PT, R3, desc[UR4][R2.64], R7
000fe20008000004000004000505798c ATOMS.ADD R5, [R5+UR4+0x4], R0
000fe200000e4000000000000005731c B2R.RESULT R5
000fe200000100000000000000007b1d BAR.SYNC.DEFER_BLOCKING 0x0
000fe2000b81401800000000081879f2 BGMMA.64x8x256.AND.POPC R24, gdesc[UR8], R24, UP0, gsb0
000fe200000144ff000000090008723d BMMA.88128.AND.POPC R8, R0.ROW, R9.COL, RZ
000fe200001000000000000006027355 BMOV.32.CLEAR R2, B6
000fe20000000000000000060705721b BMSK R5, R7, R6
000fe20000300000000000040000795c BPT.TRAP 0x1
000fe200038000000000000000020942 @P0 BREAK B2
000fe200000000000000000400047301 BREV R4, R4
000fe200038000000000000000007941 BSYNC B0
000fe2000200000000000000ff00798f CCTL.IVALL
000fe2000000000000000000000075ab CGAERRBAR
000fe200000050000000000000057805 CS2R.32 R5, SR_CLOCKLO
000fe2000000000800000000040a7229 DADD R10, R4, R8
000fe20000000000000080000000791a DEPBAR.LE SB0, 0x0
000fe20000000008000000060404722b DFMA R4, R4, R6, R8
000fe20000000008000000060404723f DMMA.8x8x4 R4, R4, R6, R8
000fe200000000000000000604047228 DMUL R4, R4, R6
000fe20003f0d000000000060400722a DSETP.NEU.AND P0, PT, R4, R6, PT
000fe20003800000000000000004782f ELECT P0, UR4, PT
000fe20003800000000000000000791b ENDCOLLECTIVE
000fe2000000000000000000000079ab ERRBAR
000fe20003800000000000000000794d EXIT
000fe200002018000000000400047310 F2F.F64.F32 R4, R4
000fe200020006ff00000000ff05723e F2FP.F16.E4M3.UNPACK_B R5, R0
000fe200002031000000000000057305 F2I.NTZ R5, R0
000fe200000004ff00000000ff007243 F2IP.U8.F32.NTZ R0, RZ, R0, RZ
000fe2000000200000000000ff057221 FADD.SAT R5, RZ, R0
000fe200000000000000000300007302 FCHK P0, R0, R3
000fe2000000000000000000000073c6 FENCE.VIEW.ASYNC.S
000fe200000000ff0000001b001a7223 FFMA R26, R0, R27, RZ
000fe2000000000540490fdb00057423 FFMA R5, R0, R5, 3.1415927410125732422
000fe200000e00000000000000007300 FLO.U32 R0, R0
000fe200078002004000000504077209 FMNMX R7, |R4|, |R5|, !PT
000fe200004000000000000704047220 FMUL R4, R4, R7
000fe200004000003fc0000000057820 FMUL R5, R0, 1.5
000fe200002010000000000000057307 FRND R5, R0
000fe2000000000000000009000b7208 FSEL R11, R0, R9, P0
000fe20003801000000000050005720a FSET.BF.LT.AND R5, R0, R5, PT
000fe20003f0e2007f8000000000780b FSETP.GEU.AND P0, PT, |R0|, +INF, PT
000fe20003f0d000000000050000720b FSETP.NEU.AND P0, PT, R0, R5, PT
000fe2000000410020000000ff057230 HADD2.F32 R5, -RZ, R0.H0_H0
000fe200000001ff00003039ff057435 HFMA2.MMA R5, -RZ, RZ, 0, 0.1319580078125
000fe2000c0000ff000000003fff79f0 HGMMA.64x8x16.F16 RZ, gdesc[URZ], RZ, !UPT, gsb0
000fe200000018040000000c0804723c HMMA.16816.F32 R4, R8, R12, R4
000fe200038008002000000500007240 HMNMX2 R0, R0.H0_H0, R5.H0_H0, PT
000fe200000008002000000500007232 HMUL2 R0, R0.H0_H0, R5.H0_H0
000fe200038010000000000500057233 HSET2.LT.AND R5, R0, R5, PT
000fe20003f0d8003000000000007234 HSETP2.NEU.AND P0, PT, R0.H0_H0, R0.H1_H1, PT
000fe200003014000000000400057312 I2F.S64 R5, R4
000fe200002014000000000000057245 I2FP.F32.S32 R5, R0
000fe200000010000000000000007238 I2I.S8.S32.SAT R0, R0
000fe200000024ff0000000500057239 I2IP.U16.S32.SAT R5, R0, R5, RZ
000fe200000000000000000000057213 IABS R5, R0
000fe20007ffe0ff0000004d00057810 IADD3 R5, R0, 0x4d, RZ
000fe20007ffe0ff0000000500057210 IADD3 R5, R0, R5, RZ
000fe200000000040000000500057226 IDP.4A.U8.U8 R5, R0, R5, R4
000fe2000b84101800000000081879f1 IGMMA.64x8x32.S8.S8 R24, gdesc[UR8], R24, UP0, gsb0
000fe200078e02050000303900057824 IMAD R5, R0, 0x3039, R5
000fe200078e000b000000ffff0c7224 IMAD.MOV.U32 R12, RZ, RZ, R11
000fe200078e00020000000405027825 IMAD.WIDE.U32 R2, R5, 0x4, R2
000fe200000054060000000500067237 IMMA.8816.S8.S8 R6, R0.ROW, R5.COL, R6
000fe2000bf460700000000602007c0c ISETP.GE.U32.AND P2, PT, R2, UR6, PT
000fe20003f21270000000ff0700720c ISETP.LT.AND P1, PT, R7, RZ, PT
000fe20003f210700000007f0000780c ISETP.LT.U32.AND P1, PT, R0, 0x7f, PT
000fe2000c1019000000040402037980 LD.E R3, desc[UR4][R2.64+0x4]
000fe2000000080000000a00ff017b82 LDC R1, c[0x0][0x28]
000fe2000c1e19000000000402007981 LDG.E R0, desc[UR4][R2.64]
000fe2000000000000000000000079af LDGDEPBAR
000fe2000801457f00000000020279a4 LDGMC.E.ADD.64.STRONG.SYS R2, [R2.64+URZ]
000fe2000b921c440000001002057fae LDGSTS.E.128 [R5], desc[UR4][R2.64+0x10]
000fe200001008000000000002027983 LDL R2, [R2]
000fe2000000080000000000fffff984 @!PT LDS RZ, [RZ]
000fe20008000000000000040705783b LDSM.16.M88 R5, [R7+UR4]
000fe2000f8e50ff00000004040a7c11 LEA R10, R4, UR4, 0xa
000fe200078ec0ff000000ff00057812 LOP3.LUT R5, R0, 0xff, RZ, 0xc0, !PT
000fe200000e800000000000000573a1 MATCH.ANY R5, R0
000fe200000080000000000000007992 MEMBAR.ALL.CTA
000fe20000000f000000000b000c7202 MOV R12, R11
000fe20000000f000000006300057802 MOV R5, 0x63
000fe20000000000000000000005723a MOVM.16.MT88 R5, R0
000fe20000000c000000000600067308 MUFU.LG2 R6, R6
000fe20003800000000000020000735d NANOSLEEP R2
000fe200000000000000000000007918 NOP
000fe2000000000000000002ff187803 P2R R24, PR, RZ, 0x2
000fe20003f2f070000000000000781c PLOP3.LUT P1, PT, PT, PT, PT, 0x80, 0x0
000fe200038000000000000800007801 PMTRIG 0x8
000fe200000000000000000000057309 POPC R5, R0
000fe20000000000000000000000782d PREEXIT
000fe200000000ff0000888000057816 PRMT R5, R0, 0x8880, RZ
000fe2000b80081800000000081879f3 QGMMA.64x8x32.F32.E4M3.E4M3 R24, gdesc[UR8], R24, UP0, gsb0
000fe200000001000000000002ff73aa QSPC.E.G P0, RZ, [R2]
000fe200000000000000006004007804 R2P PR, R4, 0x60
000fe200000e000000000000080672ca R2UR UR6, R8
000fe2000c10e184000000050200798e REDG.E.ADD.STRONG.GPU desc[UR4][R2.64], R5
000fe2000000c00000000000000673c4 REDUX.SUM UR6, R0
000fe200000000000000000580007352 RPCMOV.32 Rpc.HI, R5
000fe200000021000000000000057919 S2R R5, SR_TID.X
000fe2000000320000000000000479c3 S2UR UR4, SR_SMEMSZ
000fe20000800000000000080b0b7207 SEL R11, R11, R8, P1
000fe200000000008000000000057807 SEL R5, R0, 0x80000000, P0
000fe20000000000000000070707781a SGXT.U32 R7, R7, 0x7
000fe200000006ff0000001000057819 SHF.L.U32 R5, R0, 0x10, RZ
000fe2000000000004601f0000057f89 SHFL.UP P0, R5, R0, 0x3, 0x1f
000fe2000c1019040000040502007985 ST.E desc[UR4][R2.64+0x4], R5
000fe2000c00083f0000000004007dbd STAS [R4.64], R0
000fe2000c1019040004000502007986 STG.E desc[UR4][R2.64+0x400], R5
000fe200001008000000040001007387 STL [R1+0x4], R0
000fe20000000800000000ff04007388 STS [R4], RZ
000fe200000000000000000300007844 STSM.16.M88 [R0], R3
000fe200081ea1001000060000048f99 @!P0 SULD.D.BA.1D.U8.STRONG.SM.TRAP R4, [R0], UR6, 0x0
000fe200081141001000040504008f9f @!P0 SURED.D.BA.1D.ADD.STRONG.SYS.TRAP [R4], R5, UR4, 0x0
000fe2000810a1001000040504008f9d @!P0 SUST.D.BA.1D.U8.STRONG.SM.TRAP [R4], R5, UR4, 0x0
000fe20008200404000000ffffff99a7 @!P1 SYNCS.ARRIVE.TRANS64.RED.A0T1 RZ, [UR4], RZ
000fe200099e0f082000060004068f60 @!P0 TEX.LL R8, R6, R4, R0, UR6, 0x0, 2D
000fe200089e0f06200004ff04047f66 TLD.LZ R6, R4, R4, UR4, 0x0, 2D
000fe200081e0f08200006ff04068f63 @!P0 TLD4.R R8, R6, R4, UR6, 0x0, 2D
000fe200081e0f1020000604080e8f6c @!P0 TXD R16, R14, R8, R4, UR6, 0x0, 2D
000fe200080001ff0000060000058f6f @!P0 TXQ RZ, R5, R0, TEX_HEADER_DIMENSION, UR6, 0x0, 0x1
000fe2000800020400000008060073ba UBLKCP.S.G [UR8], [UR6], UR4
000fe2000800000400000000060073bc UBLKPF.L2 [UR6], UR4
000fe2000800040400000006050073bb UBLKRED.G.S.ADD [UR6], [UR5], UR4
000fe2000800000000000000000079c7 UCGABAR_ARV
000fe200080000000000000000007dc7 UCGABAR_WAIT
000fe200080e000000000004000672bd UFLO.U32 UR6, UR4
000fe2000fffe03ffffffff408047890 UIADD3 UR4, UR8, -0xc, URZ
000fe2000f8e023f0000000b040672a4 UIMAD UR6, UR4, UR11, URZ
000fe2000bf262700000000b0400728c UISETP.GE.AND UP1, UPT, UR4, UR11, UPT
000fe20000000a000000820000047ab9 ULDC.64 UR4, c[0x0][0x208]
000fe2000f8ec03f0000000405047291 ULEA UR4, UR5, UR4, 0x18
000fe2000f8ef8040000000f05057892 ULOP3.LUT UR5, UR5, 0xf, UR4, 0xf8, !UPT
000fe20000000000000000a000047882 UMOV UR4, 0xa0
000fe20008003000000000ff3e3e7883 UP2UR.B3 UR62, UPR, UR62, 0xff
000fe2000800000000000004000872bf UPOPC UR8, UR4
000fe2000c0000000000003f06067287 USEL UR6, UR6, URZ, !UP0
000fe200080000000000000f0526789a USGXT.U32 UR38, UR5, 0xf
000fe2000800163f0000000404047899 USHF.R.U32 UR4, UR4, 0x4, URZ
000fe2000804000000000000040079b9 UTMACCTL.PF [UR4]
000fe2000000000000000000000079b7 UTMACMDFLUSH
000fe2000800080600000008040073b4 UTMALDG.1D.MULTICAST [UR8], [UR4], UR6
000fe2000800800000000004060075b8 UTMAPF.L2.2D [UR4], [UR6]
000fe2000800800000000008040073b6 UTMAREDG.2D.ADD [UR8], [UR4]
000fe2000800000000000006040073b5 UTMASTG.1D [UR6], [UR4]
000fe200000e02040000000500057214 VABSDIFF R5, R0, R5, R4
000fe200000e00040000000500057215 VABSDIFF4.U8 R5, R0, R5, R4
000fe200000000000000000804043836 @P3 VIADD R4, R4, 0x8
000fe200078009080000000c07077446 VIADDMNMX R7, R7, -R8, 0xc, !PT
000fe20003fe01000000000500057248 VIMNMX R5, R0, R5, PT
000fe200000000000000000000ff7806 VOTE.ALL P0, P0
000fe2000000010000000000003f7886 VOTEU.ANY UP0, P0
000fe2000001000000008000000079c5 WARPGROUP.DEPBAR.LE gsb0, 0x0
000fe200038000000000000002007348 WARPSYNC R2
000fe200038000000000000000007946 YIELD
000fc80003c000000000000000007943 CALL.ABS.NOINC 0x0
000fc800000000000000d1400000791a DEPBAR.LE SB5, 0x5
000fc80000000a0000003e0000057908 MUFU.EX2.BF16 R5, 0.125
000fc8000000260000003e0000057908 MUFU.TANH.BF16 R5, 0.125
000fc8000000250000003e0000057908 MUFU.TANH.F16 R5, 1.5
000fc8000000090000003e0000057908 MUFU.EX2.F16 R5, 1.5
000fc8000020990040490fdb00027911 F2I.S64.CEIL R2, 3.1415927410125732422
000fc8000040990000003fc000027911 F2I.S64.BF16.CEIL R2, 1.5
000fc8000010990000003e0000027911 F2I.S64.F16.CEIL R2, 1.5
000fc8000020980040490fdb00027911 F2I.U64.CEIL R2, 3.1415927410125732422
000fc8000040980000003fc000027911 F2I.U64.BF16.CEIL R2, 1.5
000fc8000010980000003e0000027911 F2I.U64.F16.CEIL R2, 1.5
000fc8000040b10000003fc000057905 F2I.BF16.CEIL.NTZ R5, 1.5
000fc8000010b10000003e0000057905 F2I.F16.CEIL.NTZ R5, 1.5
000fc8000040b00000003fc000057905 F2I.U32.BF16.CEIL.NTZ R5, 1.5
000fc8000010b00000003e0000057905 F2I.U32.F16.CEIL.NTZ R5, 1.5
000fc8000040a90000003fc000057905 F2I.S16.BF16.CEIL.NTZ R5, 1.5
000fc8000010a90000003e0000057905 F2I.S16.F16.CEIL.NTZ R5, 1.5
000fc8000040a80000003fc000057905 F2I.U16.BF16.CEIL.NTZ R5, 1.5
000fc8000010a80000003e0000057905 F2I.U16.F16.CEIL.NTZ R5, 1.5
000fc8000010a10000003e0000007905 F2I.S8.F16.CEIL.NTZ R0, 1.5
000fc8000010a00000003e0000007905 F2I.U8.F16.CEIL.NTZ R0, 1.5
000fc80000209c00ffffffb300027912 I2F.F64.RP R2, -0x4d
000fc80000209800000000c800027912 I2F.F64.U32.RP R2, 0xc8
000fc8000830a4000000000400057d12 I2F.BF16.S64.RP R5, UR4
000fc8000830a0000000000400057d12 I2F.BF16.U64.RP R5, UR4
000fc8000021a00040490fdb00057904 F2F.FTZ.BF16.F32.RP R5, 3.1415927410125732422
000fc8000040a00000003fc000057907 FRND.BF16.CEIL R5, 1.5
000fc8000010a00000003e0000057904 F2F.BF16.F16.RP R5, 1.5
000fc8000020880040490fdb00057904 F2F.F16.F32.RP R5, 3.1415927410125732422
000fc8000010880000003e0000057907 FRND.F16.CEIL R5, 1.5
000fc8000020180040490fdb00027910 F2F.F64.F32 R2, 3.1415927410125732422
000fc8000021900040490fdb00007907 FRND.FTZ.CEIL R0, 3.1415927410125732422
000fc80008001c000000000400037d08 MUFU.RSQ64H R3, UR4
000fc800080018000000000400037d08 MUFU.RCP64H R3, UR4
000fc800082099000000000400027d11 F2I.S64.CEIL R2, UR4
000fc800084099000000000400027d11 F2I.S64.BF16.CEIL R2, UR4
000fc800081099000000000400027d11 F2I.S64.F16.CEIL R2, UR4
000fc800082098000000000400027d11 F2I.U64.CEIL R2, UR4
000fc800084098000000000400027d11 F2I.U64.BF16.CEIL R2, UR4
000fc800081098000000000400027d11 F2I.U64.F16.CEIL R2, UR4
000fc800083098000000000400027d13 FRND.F64.CEIL R2, UR4
000fc800084110000000000400057d04 F2F.FTZ.F32.BF16 R5, UR4
000fc8000840a0000000000400057d07 FRND.BF16.CEIL R5, UR4
000fc800082088000000000400057d04 F2F.F16.F32.RP R5, UR4
000fc800084088000000000400057d04 F2F.F16.BF16.RP R5, UR4
000fc800081088000000000400057d07 FRND.F16.CEIL R5, UR4
000fc800080000180000000428187df3 QGMMA.64x8x32.F16.E4M3.E4M3 R24, R40, gdesc[UR4], R24, gsb0
";

fn lines() -> impl Iterator<Item = (u128, &'static str)> {
    WORDS.lines().filter(|line| !line.is_empty()).map(|line| {
        let (word, text) = line.split_once(' ').expect("a word and a text");
        (u128::from_str_radix(word, 16).expect("hexadecimal"), text)
    })
}

#[test]
fn words_have_their_texts_and_texts_their_words() {
    for (word, expected) in lines() {
        let instruction = decode(CHIP, word).unwrap_or_else(|error| panic!("{expected}: {error}"));
        let plain = text(CHIP, &instruction, Some(0), Style::Plain).expect("it prints");
        assert_eq!(plain, expected);
        let exact = text(CHIP, &instruction, Some(0), Style::Exact).expect("it prints");
        let again = parse(CHIP, &exact, Some(0)).unwrap_or_else(|error| panic!("{exact}: {error}"));
        assert_eq!(encode(CHIP, &again), Ok(word), "{exact}");
        let again = parse(CHIP, &plain, Some(0)).unwrap_or_else(|error| panic!("{plain}: {error}"));
        let low = (1u128 << 105) - 1;
        assert_eq!(encode(CHIP, &again).expect("it has a word") & low, word & low, "{plain}");
    }
}

#[test]
fn every_defined_bit_matters() {
    for (word, expected) in lines() {
        let (form, _) = oriole_sass::decode::decode_with_form(CHIP, word).expect("it is an instruction");
        let exact = |word: u128| {
            let instruction = oriole_sass::decode::decode_lenient(CHIP, word).ok()?;
            text(CHIP, &instruction, Some(0), Style::Exact).ok()
        };
        let before = exact(word);
        for bit in (0..126).filter(|bit| form.unused >> bit & 1 == 0) {
            let flipped = exact(word ^ 1 << bit);
            // Several values of a set may mean the same; the canonical one is what encoding gives.
            let synonym = form.sets.iter().any(|set| set.bits.contains(&bit));
            assert!(flipped != before || synonym, "bit {bit} of {expected}");
        }
    }
}

#[test]
fn forms_are_sound() {
    for form in table(CHIP).expect("there is a table").forms() {
        let name = format!("{} {:03x}", form.op.name(), form.opcode());
        assert_eq!(form.value & !form.mask, 0, "{name}: value outside the mask");
        assert_eq!(form.mask & form.unused, 0, "{name}: identifying bits that are unused");
        let mut used = form.mask | 0xf000;
        let mut claim = |bits: u128, what: &str| {
            assert_eq!(used & bits, 0, "{name}: {what} overlaps");
            used |= bits;
        };
        for set in form.sets {
            claim(set.bits.iter().fold(0, |bits, &bit| bits | 1 << bit), "a set");
        }
        for slot in form.slots {
            for bit in [slot.negate, slot.absolute, slot.invert] {
                if bit != NO_BIT {
                    claim(1 << bit, "a sign");
                }
            }
        }
        for slot in form.slots {
            for field in slot.fields {
                assert_eq!(used & field.mask(), 0, "{name}: a field overlaps");
            }
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    for line in [
        "MOV R300, R1",
        "FADD R0, R1, 0x1",
        "IADD3 R0, R1, 0x100000000, R2",
        "LDG.E R0, desc[UR4][R2.64+0x1000000]",
        "FADD.SAT.FTZ R0, R1, R2",
        "FADD R0, ~R1, R2",
        "IMAD.SHL.U32 R0, R1, 0x3, RZ",
        "BRA 0x1001",
        "MUFU R0, R1",
        "FOO R0",
        "FADD.FOO R0, R1, R2",
        "FADD R0, R1",
        "FADD R0, R1, R2 ; stall=16",
        "FADD R0, R1, R2 ; stall=0",
        "STG.E desc[UR4][R2.64], R0 ; stall=1 write=0",
        "@UP0 FADD R0, R1, R2",
        "@P8 FADD R0, R1, R2",
        "DEPBAR.LE SB6, 0x0",
    ] {
        let result = parse(CHIP, line, Some(0)).map_err(|e| e.to_string());
        let result = result.and_then(|instruction| encode(CHIP, &instruction).map_err(|e| e.to_string()));
        assert!(result.is_err(), "{line} gives {result:x?}");
    }
}

/// Fields that could name one more than there is: a scoreboard, and a register that is stored one less.
#[test]
fn a_number_that_no_register_has_is_no_instruction() {
    for (good, bad) in [
        (0x000fc800000000000000d0800000791a, 0x000fc800000000000000e0800000791a),
        (0x000fe2000d32fb7e8fd52dbe39ff7dae, 0x000fe2000d32fb7f8fd52dbe39ff7dae),
    ] {
        assert!(oriole_sass::decode::decode_lenient(CHIP, good).is_ok(), "{good:#x}");
        let read = oriole_sass::decode::decode_lenient(CHIP, bad);
        assert!(read.is_err(), "{bad:#x} reads as {read:?}");
    }
}

fn touched(line: &str) -> String {
    let instruction = parse(CHIP, line, Some(0)).unwrap_or_else(|error| panic!("{line}: {error}"));
    let name = |file: RegisterFile, n: u8| match file {
        RegisterFile::General => format!("R{n}"),
        RegisterFile::Uniform => format!("UR{n}"),
        RegisterFile::Predicate => format!("P{n}"),
        RegisterFile::UniformPredicate => format!("UP{n}"),
        RegisterFile::Barrier => format!("B{n}"),
    };
    let (mut read, mut written) = (Vec::new(), Vec::new());
    accesses_of(CHIP, &instruction, |access| match access {
        Access::Read { file, register, .. } => read.push(name(file, register)),
        Access::Write { file, register, .. } => written.push(name(file, register)),
    })
    .expect("it has a form");
    format!("{} <- {}", written.join(" "), read.join(" "))
}

#[test]
fn registers_read_and_written() {
    for (line, expected) in [
        ("@!P3 FFMA R0, R1, R2, R3", "R0 <- P3 R1 R2 R3"),
        ("DFMA R4, R6, c[0x0][0x210], R8", "R4 R5 <- R6 R7 R8 R9"),
        ("IMAD.WIDE.U32 R2, R4, R5, R6", "R2 R3 <- R4 R5 R6 R7"),
        ("IMAD.HI.U32 R2, R4, R5, R6", "R2 <- R4 R5 R6 R7"),
        ("IADD3 R0, P1, R2, R3, RZ", "R0 P1 <- R2 R3"),
        ("LDG.E.128 R4, desc[UR6][R2.64+0x10]", "R4 R5 R6 R7 <- UR6 UR7 R2 R3"),
        ("STG.E.64 desc[UR6][R2.64], R8", " <- R2 R3 UR6 UR7 R8 R9"),
        ("LDS.64 R2, [R5+UR4]", "R2 R3 <- R5 UR4"),
        ("ATOMG.E.CAS.64.STRONG.GPU PT, R2, [R8], R4, R6", "R2 R3 <- R8 R9 R4 R5 R6 R7"),
        ("F2F.F64.F32 R2, R4", "R2 R3 <- R4"),
        ("F2F.F32.F64 R2, R4", "R2 <- R4 R5"),
        ("I2F.F64.S64 R2, R4", "R2 R3 <- R4 R5"),
        ("HMMA.16816.F32 R8, R12, R16, R20", "R8 R9 R10 R11 <- R12 R13 R14 R15 R16 R17 R20 R21 R22 R23"),
        ("LDSM.16.MT88.4 R4, [R2]", "R4 R5 R6 R7 <- R2"),
        ("CS2R R2, SR_CLOCKLO", "R2 R3 <- "),
        ("CS2R.32 R2, SR_CLOCKLO", "R2 <- "),
        ("R2P PR, R3, 0x6", "P1 P2 <- R3"),
        ("P2R R3, PR, RZ, 0x3", "R3 <- P0 P1"),
        ("ISETP.LT.AND P0, PT, R1, R2, !P5", "P0 <- R1 R2 P5"),
        ("DSETP.GT.AND P0, P1, R2, R4, PT", "P0 P1 <- R2 R3 R4 R5"),
        ("BSSY B3, 0x100", "B3 <- "),
        ("BSYNC B3", " <- B3"),
        ("UIMAD.WIDE UR4, UR6, UR7, UR8", "UR4 UR5 <- UR6 UR7 UR8 UR9"),
        ("ULDC.64 UR4, c[0x0][0x208]", "UR4 UR5 <- "),
        ("RET.REL.NODEC R20 0x0", " <- R20 R21"),
        ("SHFL.IDX PT, R3, R2, R4, 0x1f", "R3 <- R2 R4"),
    ] {
        let words = |text: &str| {
            let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            words.sort();
            words
        };
        assert_eq!(words(&touched(line)), words(expected), "{line}: {}", touched(line));
    }
}

/// In which role registers are read, and what part of a result they take.
#[test]
fn roles_of_registers() {
    for (line, expected) in [
        (
            "@!P3 IMAD.WIDE R4, R3, 0x4, R8",
            "P3 Guard, R4 = Low, R5 = High, R3 Operand, R8 AddendLow, R9 AddendHigh",
        ),
        (
            "IADD3.X R4, P0, R5, R6, RZ, P1, !PT",
            "R4 = General, P0 = Predicate, R5 Operand, R6 Operand, P1 Predicate",
        ),
        (
            "STG.E.128 desc[UR4][R2.64+0x10], R8",
            "R2 Address, R3 Address, UR4 UniformAddress, UR5 UniformAddress, R8 Data, R9 Data, R10 Data, R11 Data",
        ),
        ("VOTE.ANY P0, P1", "P0 = Predicate, P1 SlowPredicate"),
        (
            "HMMA.1688.F32 R8, R12, R16, R20",
            "R8 = General, R9 = General, R10 = General, R11 = General, R12 Operand, \
          R13 Operand, R16 Operand, R20 Accumulator, R21 Accumulator, R22 Accumulator, R23 Accumulator",
        ),
        ("MATCH.ALL P0, R3, R2", "P0 = Predicate, R3 = General, R2 ConstantIndex"),
        ("ULDC UR4, c[0x0][UR6+0x10]", "UR4 = Uniform, UR6 UniformIndex"),
    ] {
        let instruction = parse(CHIP, line, Some(0)).unwrap_or_else(|error| panic!("{line}: {error}"));
        let letter = |file: RegisterFile| match file {
            RegisterFile::General => "R",
            RegisterFile::Uniform => "UR",
            RegisterFile::Predicate => "P",
            RegisterFile::UniformPredicate => "UP",
            RegisterFile::Barrier => "B",
        };
        let mut list = Vec::new();
        accesses_of(CHIP, &instruction, |access| {
            list.push(match access {
                Access::Read { file, register, slot } => format!("{}{register} {slot:?}", letter(file)),
                Access::Write { file, register, part } => format!("{}{register} = {part:?}", letter(file)),
            });
        })
        .expect("it has a form");
        assert_eq!(list.join(", "), expected, "{line}");
    }
}
