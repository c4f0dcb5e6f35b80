//! Units, banks of registers, schedulers and barriers.

use crate::kernels::{Kernel, framed, repeated};
use expect_test::expect;

/// Instructions that a quarter issues in a cycle: two warps in each, all independent, in a loop.
fn rate(chip: &'static str, line: &str) -> f64 {
    const BODY: usize = 128;
    let of = |times: usize| {
        let text = format!(
            "MOV R30, {times:#x} ; stall=6
             {}
             IADD3 R30, R30, -0x1, RZ ; stall=6
             ISETP.NE.U32.AND P0, PT, R30, RZ, PT ; stall=13
             @P0 BRA 0x10 ; stall=5
             EXIT ; stall=5",
            repeated(BODY, line)
        );
        Kernel { chip, block: 256, ..Kernel::new(text) }.cycles()
    };
    (10 * 2 * BODY) as f64 / (of(12) - of(2))
}

/// The throughput of register banks as it was measured (docs/measurements.md), and of units.
#[test]
fn banks_and_units_have_their_rates() {
    let rows = [
        ("FFMA, two registers in two banks", "FFMA R@, R2, R3, 1 ; stall=1"),
        ("FFMA, two in one bank", "FFMA R@, R2, R4, 1 ; stall=1"),
        ("FFMA, three, two in one bank", "FFMA R@, R2, R4, R3 ; stall=1"),
        ("FFMA, three in one bank", "FFMA R@, R2, R4, R6 ; stall=1"),
        ("FFMA, three in one bank, one kept", "FFMA R@, R2.reuse, R4, R6 ; stall=1"),
        ("FFMA, three in one bank, two kept", "FFMA R@, R2.reuse, R4.reuse, R6 ; stall=1"),
        ("IADD3, two in two banks", "IADD3 R@, R2, R3, RZ ; stall=1"),
        ("IADD3, three in one bank", "IADD3 R@, R2, R4, R6 ; stall=1"),
        ("IMAD, three, two in one bank", "IMAD R@, R2, R4, R3 ; stall=1"),
        ("MUFU", "MUFU.RCP R@, R2 ; stall=1"),
        ("DFMA", "DFMA R40, R2, R4, R6 ; stall=1"),
    ];
    let text: String = rows.map(|(name, line)| format!("{name}: {:.2}\n", rate("sm_90", line))).concat();
    expect![[r#"
        FFMA, two registers in two banks: 0.91
        FFMA, two in one bank: 0.48
        FFMA, three, two in one bank: 0.48
        FFMA, three in one bank: 0.32
        FFMA, three in one bank, one kept: 0.47
        FFMA, three in one bank, two kept: 0.90
        IADD3, two in two banks: 0.48
        IADD3, three in one bank: 0.32
        IMAD, three, two in one bank: 0.48
        MUFU: 0.12
        DFMA: 0.32
    "#]]
    .assert_eq(&text);
}

/// Where an SM has one unit for f64, its quarters share it.
#[test]
fn quarters_share_the_unit_of_doubles_on_small_chips() {
    let line = "DFMA R40, R2, R4, R6 ; stall=1 write=0";
    assert!((rate("sm_89", line) - 1.0 / 64.0).abs() < 0.001, "{}", rate("sm_89", line));
}

/// Warps hide each other's waits: sixteen of them do not take twice as long as one.
#[test]
fn warps_hide_latency() {
    let chain = repeated(40, "MUFU.RCP R2, R2 ; stall=2 write=0 wait=0");
    let of = |block| Kernel { block, ..Kernel::new(framed(4, &chain)) }.cycles();
    let (one, sixteen, many) = (of(32), of(512), of(1024));
    assert!(sixteen < 1.7 * one, "{one} {sixteen}");
    // Eight warps of a quarter use the unit all the time.
    assert!(many > 1.5 * sixteen, "{sixteen} {many}");
}

/// Registers bound the warps of an SM, and so how long many blocks take.
#[test]
fn blocks_that_do_not_fit_follow_each_other() {
    let chain = repeated(40, "MUFU.RCP R2, R2 ; stall=2 write=0 wait=0");
    let of = |registers| {
        let whole = Kernel { registers, block: 256, grid: 4 * 132, ..Kernel::new(framed(4, &chain)) };
        let found = whole.estimate();
        (found.resident, found.cycles)
    };
    let ((many, fast), (few, slow)) = (of(32), of(255));
    assert_eq!((many, few), (8, 1));
    assert!(slow > 1.3 * fast, "{fast} {slow}");
}

/// A barrier waits for the last warp, which comes late.
#[test]
fn a_barrier_waits_for_the_last_warp() {
    let chain = repeated(50, "MUFU.RCP R2, R2 ; stall=2 write=0 wait=0");
    let behind = (6 + 2 + 50) * 16;
    let text = framed(
        4,
        &format!(
            "ISETP.GE.U32.AND P0, PT, R8, 0x20, PT ; stall=13
             @P0 BRA {behind:#x} ; stall=5
             {chain}
             BAR.SYNC.DEFER_BLOCKING 0x0 ; stall=6 wait=0"
        ),
    );
    let both = Kernel { block: 64, ..Kernel::new(text) }.estimate();
    let barrier = both.lines.iter().find(|line| line.text.starts_with("EXIT")).expect("an exit");
    let waited = barrier.waited[oriole_timing::Reason::Barrier as usize];
    assert!(waited > 50 * 20, "{waited}");
}

/// The issue of a control word's stall is kept.
#[test]
fn stalls_count() {
    let of = |stall| {
        let line = format!("FADD R@, R2, R3 ; stall={stall}");
        Kernel::new(repeated(100, &line) + "EXIT ; stall=5").cycles()
    };
    assert_eq!(of(10) - of(4), 600.0);
}
