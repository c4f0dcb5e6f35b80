//! Replays with changes: a fault that is taken away leaves the time of code that never had it.

use crate::kernels::{Kernel, framed, repeated};
use oriole_simulate::{AccessKind, Memory};
use oriole_timing::{Change, Neighbours, Remedy};

/// Lines of [`framed`] before the body.
const BEFORE: u32 = 6;

/// The fewest sectors take the time of neighbouring lanes; the shape has both counts and the distance.
#[test]
fn coalesced_accesses_take_the_time_of_neighbours() {
    let load = repeated(8, "LDG.E.STRONG.GPU R@, desc[UR4][R14.64] ; stall=2");
    let of =
        |stride| Kernel { block: 1024, buffer: 1 << 18, ..Kernel::new(framed(stride, &load)) }.recording();
    let (near, far) = (of(4), of(128));
    let remedy = Remedy::of(Change::Coalesced, BEFORE..BEFORE + 8);
    assert_eq!(far.with(&remedy).traffic.l2_sectors, near.estimate().traffic.l2_sectors);
    assert!((far.with(&remedy).cycles / near.estimate().cycles - 1.0).abs() < 0.05);
    assert_eq!(near.with(&remedy), near.estimate());
    let shape = &far.shapes()[BEFORE as usize];
    assert_eq!((shape.access, shape.distance()), (Some((Memory::Global, AccessKind::Load)), Some(128)));
    assert_eq!((shape.sectors, shape.least_sectors), (32 * 32, 32 * 4));
    // A loop that goes through whole sectors comes to all of them.
    let steps: String =
        (0..8).map(|at| format!("LDG.E R{}, desc[UR4][R14.64+{:#x}] ; stall=2\n", 40 + at, 4 * at)).collect();
    let rows = Kernel { buffer: 1 << 18, ..Kernel::new(framed(128, &steps)) }.recording();
    assert_eq!((rows.estimate().traffic.l2_sectors, rows.with(&remedy).traffic.l2_sectors), (32, 32));
    assert_eq!(rows.with(&remedy).traffic.wavefronts, 8);
}

/// The same for banks, for operations at one address, and for instructions that are left out.
#[test]
fn other_faults_are_taken_away() {
    let of = |index: &str, line: &str, count: usize| {
        let text = format!("IMAD.SHL.U32 R20, R8, {index}, RZ ; stall=6\n{}", repeated(count, line));
        Kernel { block: 1024, shared: 40 << 10, ..Kernel::new(framed(4, &text)) }.recording()
    };
    let instructions = BEFORE + 1..BEFORE + 33;
    let (near, far) = (of("0x4", "LDS R@, [R20] ; stall=1", 32), of("0x20", "LDS R@, [R20] ; stall=1", 32));
    let free = Remedy::of(Change::ConflictFree, instructions.clone());
    assert!(far.estimate().cycles > 4.0 * near.estimate().cycles);
    assert_eq!(far.with(&free).cycles, near.estimate().cycles);
    let shape = &far.shapes()[BEFORE as usize + 1];
    assert_eq!((shape.wavefronts, shape.least_wavefronts), (32 * 8, 32));
    let add = |address: &str| {
        let text = format!("REDG.E.ADD.STRONG.GPU desc[UR4][{address}.64], R8 ; stall=2\n").repeat(4);
        Kernel { grid: 8, block: 256, ..Kernel::new(framed(4, &text)) }.recording()
    };
    let (one, own) = (add("R10"), add("R14"));
    let apart = one.with(&Remedy::of(Change::Apart, BEFORE..BEFORE + 4)).cycles;
    assert!(one.estimate().cycles > 4.0 * apart, "{} {apart}", one.estimate().cycles);
    assert!(apart < 1.5 * own.estimate().cycles, "{apart} {}", own.estimate().cycles);
    assert_eq!(one.crowd(), 8 * 256 * 4);
    let absent = far.with(&Remedy::of(Change::Absent, instructions));
    assert_eq!(absent.lines[BEFORE as usize + 1].issued, 0);
    assert!(absent.cycles < near.estimate().cycles && absent.forced == 0);
}

/// A replay that is stopped ends early; one that is not has the whole time.
#[test]
fn replays_end_when_they_are_stopped() {
    let text = repeated(64, "IMAD R@, R8, R8, R8 ; stall=2");
    let long = Kernel { grid: 8, block: 1024, ..Kernel::new(framed(4, &text)) }.recording();
    let whole = long.estimate();
    let issued = |of: &oriole_timing::Estimate| of.lines.iter().map(|line| line.issued).sum::<u64>();
    let part = long.with_until(&Remedy::default(), &|| true);
    assert!(0 < issued(&part) && issued(&part) < issued(&whole), "{} {}", issued(&part), issued(&whole));
    assert_eq!(long.with_until(&Remedy::default(), &|| false), whole);
}

/// Latency is hidden, warps of more blocks are held, and neighbours are those that come directly after each other.
#[test]
fn waits_can_be_asked_about() {
    let load = "LDG.E R2, desc[UR4][R14.64] ; stall=2 write=0
                FADD R3, R2, R2 ; stall=4 wait=0\n";
    let recording = Kernel::new(framed(4, load)).recording();
    let slow = recording.estimate();
    assert!(slow.lines[BEFORE as usize].caused > 200, "{}", slow.lines[BEFORE as usize].caused);
    let fast = recording.with(&Remedy::of(Change::Instant, [BEFORE])).cycles;
    assert!(slow.cycles > fast + 200.0, "{} {fast}", slow.cycles);
    let chain = Kernel::new(framed(4, &"FADD R3, R3, R3 ; stall=4\n".repeat(64))).recording();
    assert!(chain.estimate().cycles > 2.0 * chain.with(&Remedy::without_stalls()).cycles);
    let blocks = Kernel { grid: 1320, shared: 48 << 10, ..Kernel::new(framed(4, &load.repeat(8))) };
    let mut blocks = blocks.recording();
    assert_eq!(blocks.occupancy.blocks, 4);
    assert!(blocks.estimate().cycles > 1.4 * blocks.with(&Remedy::with_resident(32)).cycles);
    blocks = Kernel::new(framed(
        16,
        "LDG.E R2, desc[UR4][R14.64+0x4] ; stall=2
                LDG.E R3, desc[UR4][R14.64] ; stall=2
                LDG.E R4, desc[UR4][R14.64+0xc] ; stall=2",
    ))
    .recording();
    let found: Vec<(Neighbours, u64)> =
        blocks.neighbours().iter().map(|(pair, count)| (*pair, *count)).collect();
    assert_eq!(found, [(Neighbours { low: BEFORE + 1, high: BEFORE }, 1)]);
}
