//! Lanes, groups, barriers and the errors of a run.

use crate::common::{assemble, assemble_for, compute, launch};
use oriole_simulate::{Fault, HazardKind, run};

fn words(threads: u32, body: &str) -> Vec<u32> {
    let input: Vec<u32> = (0..threads * 8).collect();
    let (outcome, words) = compute(threads, &input, body);
    assert_eq!(outcome.error, None);
    words
}

#[test]
fn lanes_diverge_and_meet() {
    let got = words(
        32,
        "BSSY B0, .join
         ISETP.GE.U32.AND P0, PT, R8, 0x10, PT
         @P0 BRA .upper
         MOV R9, 0x1
         BRA .join2
         .upper: MOV R9, 0x2
         .join2: BSYNC B0
         .join: VOTE.ANY R2, PT, PT
         POPC R2, R2
         IMAD R9, R9, 0x64, R2",
    );
    assert_eq!((got[0], got[31]), (132, 232));
}

#[test]
fn a_loop_with_different_counts() {
    let got = words(
        32,
        "BSSY B0, .out
         MOV R9, RZ
         .again: ISETP.GE.U32.AND P0, PT, R9, R8, PT
         @P0 BRA .done
         IADD3 R9, R9, 0x1, RZ
         BRA .again
         .done: BSYNC B0
         .out: NOP",
    );
    assert_eq!(got, (0..32).collect::<Vec<u32>>());
}

#[test]
fn shuffles_votes_and_reductions() {
    let got = words(32, "SHFL.BFLY PT, R9, R8, 0x1, 0x1f");
    assert_eq!(got[..4], [1, 0, 3, 2]);
    let got = words(32, "SHFL.UP P0, R9, R8, 0x4, 0x0\nSEL R9, R9, 0x63, P0");
    assert_eq!((got[3], got[4], got[31]), (99, 0, 27));
    let got = words(32, "REDUX.SUM UR6, R8\nMOV R9, UR6");
    assert_eq!(got, vec![496; 32]);
    let got = words(32, "LOP3.LUT R2, R8, 0x3, RZ, 0xc0, !PT\nMATCH.ANY R9, R2");
    assert_eq!(got[1], 0x2222_2222);
}

#[test]
fn a_barrier_joins_warps() {
    // Each thread stores its index, and reads the store of the thread at the other end.
    let got = words(
        64,
        "SHF.L.U32 R2, R8, 0x2, RZ
         STS [R2+0x400], R8
         BAR.SYNC.DEFER_BLOCKING 0x0
         IADD3 R3, -R2, 0xfc, RZ
         LDS R9, [R3+0x400]",
    );
    assert_eq!(got, (0..64).rev().collect::<Vec<u32>>());
    let got = words(
        64,
        "ISETP.GE.U32.AND P0, PT, R8, 0x30, PT
         BAR.RED.POPC.DEFER_BLOCKING 0x0, P0
         B2R.RESULT R9",
    );
    assert_eq!(got, vec![16; 64]);
}

#[test]
fn a_spin_lock_is_passed_on() {
    let got = words(
        32,
        "STS [0x400], RZ
         STS [0x404], RZ
         MOV R2, 0x400
         MOV R3, 0x1
         BSSY B0, .out
         .again: ATOMS.EXCH R4, [R2], R3
         ISETP.NE.AND P0, PT, R4, RZ, PT
         @P0 BRA .again
         LDS R5, [0x404]
         IADD3 R5, R5, 0x1, RZ
         STS [0x404], R5
         STS [0x400], RZ
         BSYNC B0
         .out: LDS R9, [0x404]",
    );
    assert_eq!(got, vec![32; 32]);
}

#[test]
fn calls_return_to_their_places() {
    let got = words(
        1,
        "MOV R20, .back
         MOV R21, RZ
         CALL.REL.NOINC .twice
         .back: IADD3 R9, R9, 0x1, RZ
         BRA .end
         .twice: IADD3 R9, R4, R4, RZ
         RET.REL.NODEC R20 0x0
         .end: NOP",
    );
    assert_eq!(got, [9]);
}

fn fault(threads: u32, body: &str) -> Fault {
    let input: Vec<u32> = (0..threads * 8).collect();
    compute(threads, &input, body).0.error.expect("an error").fault
}

#[test]
fn errors_have_a_cause_and_a_place() {
    assert!(matches!(
        fault(1, "LDG.E R9, desc[UR4][R10.64+0x20]"),
        Fault::OutOfBounds { space: "global", size: 4, .. }
    ));
    assert!(matches!(fault(1, "LDS R9, [R0+0x800]"), Fault::OutOfBounds { space: "shared", .. }));
    assert!(matches!(fault(1, "STL [R0+0x40], R1"), Fault::OutOfBounds { space: "local", .. }));
    assert!(matches!(fault(1, "LDS R9, [R0+0x401]"), Fault::Misaligned { .. }));
    assert_eq!(fault(1, "BPT.TRAP 0x1"), Fault::Trap);
    assert_eq!(fault(1, ".l: BRA .l"), Fault::StepLimit);
    assert!(matches!(fault(1, "HMMA.SP.1688.F32 R16, R0, R4, R16, R8, 0x0"), Fault::NotSimulated(_)));
    // One warp waits for a barrier that the other, which waits for another one, never reaches.
    let deadlock = "ISETP.GE.U32.AND P0, PT, R8, 0x20, PT
                    @P0 BAR.SYNC.DEFER_BLOCKING 0x1, 0x40
                    @!P0 BAR.SYNC.DEFER_BLOCKING 0x2, 0x40";
    assert_eq!(fault(64, deadlock), Fault::Deadlock);
    // An mbarrier that waits for one arrival more than there will be.
    let object = "UMOV UR6, 0x1fffbe\nUMOV UR7, 0x7ffef800\nUMOV UR4, 0x400\nSYNCS.EXCH.64 URZ, [UR4], UR6
                  BAR.SYNC.DEFER_BLOCKING 0x0\nSYNCS.ARRIVE.TRANS64.A1T0 R2, [UR4], RZ
                  .again: SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR4], R3\n@!P0 BRA .again";
    assert_eq!(fault(32, object), Fault::Deadlock);
    let none = "UMOV UR4, 0x408\nSYNCS.ARRIVE.TRANS64.A1T0 RZ, [UR4], RZ";
    assert!(matches!(fault(1, none), Fault::BarrierObject(_)));
    let (outcome, _) = compute(33, &[0; 264], "ISETP.EQ.AND P0, PT, R8, 0x20, PT\n@P0 LDS R9, [R0+0x800]");
    let error = outcome.error.unwrap();
    assert_eq!((error.thread, error.pc), (Some(32), Some(0x70)));
}

#[test]
fn launches_that_do_not_fit_are_errors() {
    let cubin = assemble("EXIT");
    let mut wrong = launch(32, &[], 0);
    wrong.kernel = "nobody".into();
    assert!(matches!(run(&cubin, &wrong).error.unwrap().fault, Fault::NoKernel(_)));
    let mut wrong = launch(32, &[], 0);
    wrong.arguments.pop();
    assert!(matches!(run(&cubin, &wrong).error.unwrap().fault, Fault::Launch(_)));
    assert!(matches!(run(&cubin, &launch(2000, &[], 0)).error.unwrap().fault, Fault::Launch(_)));
}

/// The kinds of hazards that run and static checker find; they must agree.
fn hazards(body: &str) -> Vec<HazardKind> {
    let (outcome, _) = compute(32, &[1; 256], body);
    let mut dynamic: Vec<_> = outcome.hazards.iter().map(|hazard| hazard.kind).collect();
    dynamic.sort();
    dynamic.dedup();
    dynamic
}

#[test]
fn hazards_are_found() {
    use HazardKind::*;
    let rows: [(&str, &[HazardKind]); 32] = [
        ("IADD3 R2, R0, R1, RZ ; stall=4\nIADD3 R9, R2, R1, RZ", &[]),
        ("IADD3 R2, R0, R1, RZ ; stall=3\nIADD3 R9, R2, R1, RZ", &[ReadTooEarly]),
        ("IADD3 R2, R0, R1, RZ ; stall=4\nFADD R9, R2, R1", &[ReadTooEarly]),
        ("ISETP.EQ.AND P0, PT, R0, R1, PT ; stall=12\n@P0 MOV R9, R1", &[ReadTooEarly]),
        // A guard is read where it is false, too.
        ("ISETP.NE.AND P0, PT, R0, R1, PT ; stall=12\n@P0 MOV R9, R1", &[ReadTooEarly]),
        ("MUFU.RCP R2, R0 ; stall=2 write=1\nMOV R9, R2 ; stall=15 wait=1", &[]),
        ("MUFU.RCP R2, R0 ; stall=15 write=1\nMOV R9, R2 ; stall=15", &[ReadWithoutWait]),
        ("MUFU.RCP R2, R0 ; stall=1 write=1\nMOV R9, R2 ; stall=15 wait=1", &[WaitTooEarly]),
        ("MUFU.RCP R2, R0 ; stall=15 write=1\nMOV R2, R1 ; stall=15", &[WriteWithoutWait]),
        // The special stall lasts until all is done, unless a scoreboard signals it.
        ("MUFU.RCP R2, R0 ; stall=0 yield\nMOV R9, R2", &[]),
        ("STS [0x400], R2 ; stall=0 yield\nMOV R2, R1 ; stall=15", &[]),
        ("MUFU.RCP R2, R0 ; stall=0 yield write=1\nMOV R9, R2 ; stall=15", &[ReadWithoutWait]),
        // The f64 unit is slower than a register move.
        ("MOV R2, R1 ; stall=1 wait=0\n@!P1 DMUL R2, R4, R6 ; stall=15", &[]),
        ("FADD R2, R0.reuse, R1 ; stall=2\nFADD R9, R0, R1", &[]),
        ("FADD R2, R0.reuse, R1 ; stall=2\nMOV R0, R1 ; stall=5\nFADD R9, R0, R1", &[KeptTooLong]),
        ("FADD R0, R0.reuse, R1 ; stall=4\nFADD R9, R0, R1", &[KeptTooLong]),
        // Another register of the same bank takes the place.
        (
            "FADD R9, R0.reuse, R1 ; stall=4\nFADD R9, R2, R1 ; stall=2\nMOV R0, R1 ; stall=5\nFADD R9, R0, R1",
            &[],
        ),
        ("STS [0x400], R2 ; stall=15 read=1\nMOV R2, R1 ; stall=15", &[OverwriteUnread]),
        // A later load of a constant comes back after the shared one; a special function does not.
        (
            "LDS R2, [0x400] ; stall=2\nLDC R3, c[0x0][0x210] ; stall=2 write=1\nMOV R9, R2 ; stall=15 wait=1",
            &[],
        ),
        (
            "LDS R2, [0x400] ; stall=2\nMUFU.RCP R3, R0 ; stall=2 write=1\nMOV R9, R2 ; stall=15 wait=1",
            &[ReadWithoutWait],
        ),
        // An address of an mbarrier is read at once.
        (
            "SYNCS.ARRIVE.TRANS64.A1T0 R2, [UR4+0x400], RZ ; stall=2 write=1\nUMOV UR4, 0x0 ; stall=15\nMOV R9, R2 ; stall=15 wait=1",
            &[],
        ),
        // MMAs of warp groups: only the wait signals that they are done.
        (
            "HGMMA.64x8x16.F16 R24, R28, gdesc[UR4], R24, gsb0\nWARPGROUP.DEPBAR.LE gsb0, 0x0\nMOV R28, R24",
            &[],
        ),
        (
            "HGMMA.64x8x16.F16 R24, R28, gdesc[UR4], R24\nHGMMA.64x8x16.F16 R24, R28, gdesc[UR4], R24, gsb0",
            &[],
        ),
        ("HGMMA.64x8x16.F16 R24, R28, gdesc[UR4], R24, gsb0\nMOV R9, R24", &[ReadWithoutWait]),
        (
            "HGMMA.64x8x16.F16 R24, R28, gdesc[UR4], R24, gsb0\nWARPGROUP.DEPBAR.LE gsb0, 0x1\nMOV R25, R1",
            &[WriteWithoutWait],
        ),
        // The wait is for groups that are closed.
        (
            "HGMMA.64x8x16.F16 R24, R28, gdesc[UR4], R24\nWARPGROUP.DEPBAR.LE gsb0, 0x0\nMOV R28, R1",
            &[OverwriteUnread],
        ),
        // The wait keeps a distance to the MMA, the MMA to the fence, and its inputs are written before that.
        (
            "HGMMA.64x8x16.F16 R24, R28, gdesc[UR4], R24, gsb0 ; stall=2\nWARPGROUP.DEPBAR.LE gsb0, 0x0\nMOV R28, R24",
            &[TooClose],
        ),
        (
            "WARPGROUP.ARRIVE ; stall=5\nHGMMA.64x8x16.F16 R24, R28, gdesc[UR4], R24, gsb0\nWARPGROUP.DEPBAR.LE gsb0, 0x0",
            &[TooClose],
        ),
        (
            "MOV R28, R1 ; stall=4\nWARPGROUP.ARRIVE ; stall=6\nHGMMA.64x8x16.F16 R24, R28, gdesc[UR4], R24",
            &[],
        ),
        (
            "MOV R28, R1 ; stall=3\nWARPGROUP.ARRIVE ; stall=15\nHGMMA.64x8x16.F16 R24, R28, gdesc[UR4], R24",
            &[ReadTooEarly],
        ),
        (
            "WARPGROUP.ARRIVE\nMOV R28, R1 ; stall=15\nWARPGROUP.ARRIVE\nHGMMA.64x8x16.F16 R24, R28, gdesc[UR4], R24",
            &[],
        ),
        (
            "WARPGROUP.ARRIVE\nMOV R28, R1 ; stall=15\nHGMMA.64x8x16.F16 R24, R28, gdesc[UR4], R24",
            &[WithoutFence],
        ),
    ];
    for (body, expected) in rows {
        assert_eq!(hazards(body), expected, "{body}");
    }
    let lines = rows.iter().map(|row| row.0).collect::<Vec<_>>().join("\n");
    let found = oriole_simulate::lint(&assemble(&format!("{lines}\nEXIT")));
    for kind in [
        ReadTooEarly,
        ReadWithoutWait,
        WaitTooEarly,
        WriteWithoutWait,
        OverwriteUnread,
        KeptTooLong,
        WithoutFence,
        TooClose,
    ] {
        assert!(found.iter().any(|hazard| hazard.kind == kind), "{kind:?}");
    }
}

/// Instructions under a guard and under its opposite do not conflict; but both read the guard.
#[test]
fn guards_are_read_by_those_that_they_hold_back() {
    let found = |second: &str| {
        let cubin = assemble(&format!("@P0 ISETP.EQ.AND P0, PT, R0, R1, PT ; stall=4\n{second}\nEXIT"));
        oriole_simulate::lint(&cubin).iter().map(|hazard| hazard.kind).collect::<Vec<_>>()
    };
    assert_eq!(found("@!P0 MOV R9, R1"), [HazardKind::ReadTooEarly]);
    assert_eq!(found("@!P0 SEL R9, R0, R1, P1"), [HazardKind::ReadTooEarly]);
    assert_eq!(found("MOV R9, R1"), []);
}

/// The kinds of hazards that the static checker finds in code for a chip.
fn linted(chip: &str, lines: &str) -> Vec<HazardKind> {
    oriole_simulate::lint(&assemble_for(chip, lines)).iter().map(|hazard| hazard.kind).collect()
}

/// A condition known from a branch is not treated as open: no thread takes the second branch.
#[test]
fn branches_on_what_is_known_lead_one_way() {
    let twice = |between: &str| {
        let lines = format!(
            "MUFU.RCP R2, R0 ; stall=15 write=1
             @!P0 BRA .end ; stall=5
             {between}
             @!P0 BRA .reads ; stall=5
             .end: EXIT
             .reads: MOV R9, R2
             EXIT"
        );
        linted("sm_90a", &lines)
    };
    assert_eq!(twice("NOP ; stall=1"), []);
    assert_eq!(twice("ISETP.EQ.AND P1, PT, R3, R1, PT ; stall=13"), []);
    assert_eq!(twice("ISETP.EQ.AND P0, PT, R3, R1, PT ; stall=13"), [HazardKind::ReadWithoutWait]);
}

/// A wait for the read of the address covers the answer about its space as well; the result of a load comes later.
#[test]
fn the_space_of_an_address_is_told_when_it_is_read() {
    let first = |question: &str, reader: &str| {
        linted("sm_75", &format!("{question} ; stall=4 read=1\n{reader} ; stall=5 wait=1\nEXIT"))
    };
    assert_eq!(first("QSPC.E.S P1, RZ, [R4]", "@P1 MOV R9, R2"), []);
    assert_eq!(first("LD.E.SYS R2, [R4]", "MOV R9, R2"), [HazardKind::ReadWithoutWait]);
}

/// Before sm_90 a jump counts for more than its stall, for MMAs only.
#[test]
fn a_jump_takes_time_before_a_product() {
    let round = |chip: &str, first: &str, stall: u8| {
        let lines = format!(
            ".top: {first} ; stall={stall}
             ISETP.NE.U32.AND P0, PT, R0, RZ, PT ; stall=13
             @P0 BRA .top ; stall=5
             EXIT"
        );
        linted(chip, &lines)
    };
    let product = "HMMA.16816.F32 R12, R4, R8, R12";
    assert_eq!(round("sm_80", product, 2), []);
    assert_eq!(round("sm_80", product, 1), [HazardKind::ReadTooEarly; 4]);
    assert_eq!(round("sm_90", product, 2), [HazardKind::ReadTooEarly; 4]);
}

/// Lanes that take one of two paths through a call, and the code before and after it.
fn called(condition: &str, before: &str, behind: &str) -> (Vec<HazardKind>, Vec<u32>) {
    let body = format!(
        "{before}
         ISETP.GE.U32.AND P0, PT, R8, {condition}, PT
         MOV R3, RZ
         MOV R2, .first
         @P0 MOV R2, .second
         MOV R20, .back
         MOV R21, RZ
         CALL.REL.NOINC R2 0x0
         .back: {behind}
         BRA .end
         .first: RET.REL.NODEC R20 0x0
         .second: RET.REL.NODEC R20 0x0
         .end: NOP"
    );
    let (outcome, words) = compute(32, &[1; 256], &body);
    assert_eq!(outcome.error, None, "{body}");
    (outcome.hazards.iter().map(|hazard| hazard.kind).collect(), words)
}

/// After a call whose target differs, lanes come back at different times.
#[test]
fn lanes_of_different_targets_are_apart() {
    let apart = (vec![HazardKind::LanesApart], [0; 16].into_iter().chain([0xffff_0000; 16]).collect());
    assert_eq!(called("0x10", "NOP", "VOTE.ANY R9, PT, P0"), apart);
    let kinds = |condition: &str, before: &str, behind: &str| called(condition, before, behind).0;
    let shuffle = "SHFL.IDX PT, R9, R8, RZ, 0x1f";
    assert_eq!(kinds("0x10", "NOP", shuffle), [HazardKind::LanesApart]);
    let product = "HMMA.1688.F32 R24, R4, R6, R24";
    assert_eq!(kinds("0x10", "NOP", &format!("{product}\nNOP\nMOV R9, R24")), [HazardKind::LanesApart]);
    // The input of missing lanes to an MMA is not relied upon.
    let ones = "MOV R4, 0x3c003c00\nMOV R5, R4\nMOV R6, R4\nCS2R R24, SRZ\nCS2R R26, SRZ";
    let product = format!("{ones}\nNOP\nHMMA.1688.F32 R24, R4, R6, R24\nNOP\nNOP\nMOV R9, R24");
    assert_eq!(called("0x20", "NOP", &product), (vec![], vec![0x4100_0000; 32]));
    assert!(called("0x10", "NOP", &product).1.contains(&0x7fff_ffff));
    // All take the same path.
    assert_eq!(called("0x20", "NOP", "VOTE.ANY R9, PT, !P0"), (vec![], vec![u32::MAX; 32]));
    // They synchronize.
    let (kinds, words) = called("0x10", "NOP", "WARPSYNC.ALL\nVOTE.ANY R9, PT, P0");
    assert_eq!((kinds, words), (vec![], vec![0xffff_0000; 32]));
    let (kinds, words) = called("0x10", "BSSY B0, .behind", "BSYNC B0\n.behind: VOTE.ANY R9, PT, P0");
    assert_eq!((kinds, words), (vec![], vec![0xffff_0000; 32]));
    // They query the set of active lanes.
    let (kinds, words) = called("0x10", "NOP", "VOTE.ANY R9, PT, PT\nREDUX.SUM UR6, R8");
    assert_eq!((kinds, words[0], words[31]), (vec![], 0x0000_ffff, 0xffff_0000));
}

/// A function saves a convergence barrier at which lanes of its caller wait, uses it, and restores it.
#[test]
fn a_barrier_at_which_others_wait_can_be_used() {
    let got = words(
        32,
        "BSSY B6, .join
         MOV R9, RZ
         ISETP.LT.U32.AND P0, PT, R8, 0x8, PT
         @P0 BRA .wait
         BMOV.32.CLEAR R2, B6
         BSSY B6, .inner
         ISETP.LT.U32.AND P1, PT, R8, 0x10, PT
         @P1 BRA .leave
         BSYNC B6
         .inner: VOTE.ANY R9, PT, PT
         BRA .back
         .leave: BREAK B6
         MOV R9, 0x1
         .back: BMOV.32 B6, R2 ; stall=15 wait=0
         .wait: BSYNC B6
         .join: VOTE.ANY R3, PT, PT
         POPC R3, R3
         IADD3 R9, R9, R3, RZ",
    );
    assert_eq!((got[0], got[8], got[31]), (32, 33, 0xffff_0020));
}

/// All threads of a block have their registers at the same time; the file of a chip has 65,536.
#[test]
fn a_block_has_registers_for_all_its_threads() {
    let started = |registers: u32, threads: u32| {
        let mut cubin = assemble("EXIT");
        cubin.kernels[0].registers = registers;
        oriole_simulate::run(&cubin, &launch(threads, &[0; 8], 1)).error.map(|error| error.to_string())
    };
    assert_eq!(started(64, 1024), None);
    assert_eq!(started(168, 384), None);
    for (registers, threads) in [(72, 1024), (138, 512), (168, 416), (255, 288)] {
        let error = started(registers, threads);
        let told = format!("{registers} registers for each of {threads} threads");
        assert!(error.as_ref().is_some_and(|error| error.contains(&told)), "{error:?}");
    }
}

/// A compare-and-swap in shared memory reports success in a predicate on chips from 100 on.
#[test]
fn a_swap_tells_in_a_predicate() {
    for width in ["", ".64"] {
        let body = format!(
            "MOV R4, 0x10
             MOV R2, 0x5
             MOV R3, RZ
             MOV R6, 0x7
             MOV R7, RZ
             STS.64 [R4], R2
             ATOMS.CAST.SPIN{width} P0, [R4], R2, R6
             @!P0 BPT.TRAP 0x1
             ATOMS.CAST.SPIN{width} P0, [R4], R2, R6
             @P0 BPT.TRAP 0x1
             ATOMS.CAST.SPIN{width} P0, [R4], R6, R2
             @!P0 BPT.TRAP 0x1
             EXIT"
        );
        let outcome = run(&assemble_for("sm_100a", &body), &launch(1, &[0; 8], 1));
        assert_eq!(outcome.error, None, "{width}");
    }
}

/// On sm_75 `HADD2` converts an f32 to f16, rounded to zero.
#[test]
fn a_half_of_a_single_is_rounded_to_zero() {
    for (single, half) in
        [(0x3f80_1fff_u32, 0x3c00_3c00_u32), (0x7149_f2ca, 0x7bff_7bff), (0xbf80_1fff, 0xbc00_bc00)]
    {
        let body = format!(
            "MOV R0, {single:#x}
             HADD2 R1, R0.F32, -RZ.H0_H0
             ISETP.NE.U32.AND P0, PT, R1, {half:#x}, PT
             @P0 BPT.TRAP 0x1
             HADD2 R1, -RZ.H0_H0, R0.F32
             ISETP.NE.U32.AND P0, PT, R1, {half:#x}, PT
             @P0 BPT.TRAP 0x1
             EXIT"
        );
        let outcome = run(&assemble_for("sm_75", &body), &launch(1, &[0; 8], 1));
        assert_eq!(outcome.error, None, "{single:#x}");
    }
}

/// The kernel asks for 64 registers, of which the hardware reserves two.
#[test]
fn registers_of_the_hardware_are_not_named() {
    let named = |register: u8| {
        let cubin = assemble(&format!("MOV R{register}, R1 ; stall=15\nEXIT"));
        let found: Vec<_> = oriole_simulate::lint(&cubin).iter().map(|hazard| hazard.to_string()).collect();
        let error = oriole_simulate::run(&cubin, &launch(1, &[0; 8], 1)).error.map(|error| error.to_string());
        (found, error)
    };
    assert_eq!(named(61), (vec![], None));
    let (found, error) = named(62);
    assert_eq!(found, ["k+0x0: names R62, code may name 62 registers"]);
    assert!(
        error.as_ref().is_some_and(|text| text.contains("R62 is used where code may name 62 registers")),
        "{error:?}"
    );
}

/// The kernel asks for 64 registers.
#[test]
fn registers_given_back_are_no_more_than_there_are() {
    let given = |count: u32| {
        let cubin = assemble(&format!("USETMAXREG.DEALLOC.CTAPOOL {count:#x} ; stall=15\nEXIT"));
        oriole_simulate::run(&cubin, &launch(1, &[0; 8], 1)).error.map(|error| error.to_string())
    };
    assert_eq!(given(64), None);
    let error = given(72);
    assert!(
        error.as_ref().is_some_and(|text| text.contains("down to 72 where a thread has 64")),
        "{error:?}"
    );
}

#[test]
fn uniform_registers_belong_to_the_warp() {
    // Both sides write the same uniform register; after they reconverge, the last writer is unknown.
    let body = "BSSY B0, .join
                ISETP.GE.U32.AND P0, PT, R8, 0x10, PT
                @P0 BRA .upper
                UMOV UR6, 0x1
                BRA .meet
                .upper: UMOV UR6, 0x2
                .meet: BSYNC B0
                .join: MOV R9, UR6";
    assert_eq!(hazards(body), [HazardKind::UniformDivergent]);
}

#[test]
fn time_passes_with_stalls_and_latencies() {
    let cycles = |body: &str| compute(32, &[1; 256], &format!("NOP ; stall=1 wait=0\n{body}")).0.cycles;
    let base = cycles("NOP ; stall=1");
    assert_eq!(cycles("NOP ; stall=11"), base + 10);
    assert!(cycles("MUFU.RCP R2, R0 ; stall=1 write=1\nNOP ; stall=1\nNOP ; stall=1 wait=1") >= base + 20);
}
