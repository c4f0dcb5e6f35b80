//! Caches, shared memory, bandwidth and atomic operations.

use crate::kernels::{Kernel, framed, repeated};
use oriole_timing::{Bound, Options};

/// Lanes side by side share sectors; lanes apart do not.
#[test]
fn sectors_cost() {
    let load = repeated(8, "LDG.E.STRONG.GPU R@, desc[UR4][R14.64] ; stall=2");
    let of = |stride| {
        let kernel = Kernel { block: 1024, buffer: 1 << 18, ..Kernel::new(framed(stride, &load)) };
        let found = kernel.estimate();
        (found.traffic.l2_sectors, found.cycles)
    };
    let ((near, fast), (far, slow)) = (of(4), of(128));
    assert_eq!((near, far), (8 * 32 * 4, 8 * 1024));
    assert!(slow > 3.0 * fast, "{fast} {slow}");
}

/// L1 keeps what was loaded before.
#[test]
fn the_second_load_hits() {
    let load = "LDG.E R2, desc[UR4][R14.64] ; stall=2 write=0
                FADD R3, R2, R2 ; stall=4 wait=0\n";
    let of = |count| Kernel::new(framed(4, &load.repeat(count))).estimate();
    let (one, three) = (of(1), of(3));
    assert_eq!((one.traffic.l1_hits, three.traffic.l1_hits), (0, 8));
    assert!(three.cycles - one.cycles < 150.0, "{} {}", one.cycles, three.cycles);
}

/// Loads that are in flight together take about as long as one, loads that wait for each other several times as long.
#[test]
fn loads_in_flight_are_faster_than_one_after_the_other() {
    let serial: String = (0..8)
        .map(|at| {
            format!(
                "LDG.E R2, desc[UR4][R14.64+{:#x}] ; stall=2 write=0
                 FADD R3, R3, R2 ; stall=4 wait=0\n",
                at * 4096
            )
        })
        .collect();
    let loads: String = (0..8)
        .map(|at| format!("LDG.E R{}, desc[UR4][R14.64+{:#x}] ; stall=2 write=0\n", 20 + at, at * 4096))
        .collect();
    let adds: String = (0..8).map(|at| format!("FADD R3, R3, R{} ; stall=4 wait=0\n", 20 + at)).collect();
    let of = |text: &str| Kernel { buffer: 1 << 17, ..Kernel::new(framed(4, text)) }.cycles();
    let (slow, fast) = (of(&serial), of(&format!("{loads}{adds}")));
    assert!(slow > 3.5 * fast, "{fast} {slow}");
}

/// Lanes that want one bank go one after the other.
#[test]
fn conflicts_of_banks_cost() {
    let of = |index: &str| {
        let text = format!(
            "IMAD.SHL.U32 R20, R8, {index}, RZ ; stall=6
             LOP3.LUT R20, R20, 0xfff, RZ, 0xc0, !PT ; stall=6
             {}",
            repeated(64, "LDS R@, [R20] ; stall=1")
        );
        let found = Kernel { block: 1024, ..Kernel::new(framed(4, &text)) }.estimate();
        (found.bound, found.cycles)
    };
    let ((bound, fast), (_, slow)) = (of("0x4"), of("0x80"));
    assert_eq!(bound, Bound::LoadStore);
    assert!((25.0..34.0).contains(&(slow / fast)), "{}", slow / fast);
}

/// Operations at one address are one after the other, for all SMs; at addresses of their own they are not.
#[test]
fn contended_atomics_scale_with_contention() {
    let add =
        |address: &str| format!("REDG.E.ADD.STRONG.GPU desc[UR4][{address}.64], R8 ; stall=2\n").repeat(4);
    let of = |address, blocks| {
        let kernel = Kernel {
            grid: 8,
            block: 256,
            options: Options { blocks: Some(blocks), ..Options::default() },
            ..Kernel::new(framed(4, &add(address)))
        };
        let found = kernel.estimate();
        (found.bound, found.cycles)
    };
    let ((bound, one), (_, own)) = (of("R10", 132), of("R14", 132));
    assert_eq!(bound, Bound::Atomics);
    assert!(one > 20.0 * own, "{own} {one}");
    // All lanes of the grid, one in a cycle.
    let (_, twice) = of("R10", 264);
    assert!(twice >= 264.0 * 256.0 * 4.0, "{twice}");
    assert!((1.8..2.2).contains(&(twice / one)), "{one} {twice}");
}

/// The same in shared memory, where swaps that only test lose at once.
#[test]
fn contended_atomics_in_shared_memory() {
    let of = |line: &str| Kernel { block: 256, ..Kernel::new(framed(4, &line.repeat(16))) }.cycles();
    let apart = of("ATOMS.ADD RZ, [R9], R8 ; stall=2\n");
    let one = of("ATOMS.ADD RZ, [RZ], R8 ; stall=2\n");
    let swap = of("ATOMS.CAS R20, [RZ], R8, R9 ; stall=2 write=0\n");
    let test = of("ATOMS.CAST.SPIN R20, [RZ], R8, R9 ; stall=2 write=0\n");
    assert!(one > 10.0 * apart, "{apart} {one}");
    assert!(swap > 1.8 * one && test < 0.2 * one, "{one} {swap} {test}");
}

/// A copy of more than L2 holds takes what the bandwidth of the device memory says.
#[test]
fn a_copy_reaches_the_bandwidth() {
    let copy = "S2R R16, SR_CTAID.X ; stall=2 write=0
                IMAD.SHL.U32 R16, R16, 0x1000, RZ ; stall=6 wait=0
                IMAD.WIDE.U32 R14, R8, 0x10, R10 ; stall=6
                IADD3 R14, P0, R14, R16, RZ ; stall=6
                IMAD.X R15, RZ, RZ, R15, P0 ; stall=6
                IMAD.WIDE.U32 R18, R8, 0x10, R12 ; stall=6
                IADD3 R18, P0, R18, R16, RZ ; stall=6
                IMAD.X R19, RZ, RZ, R19, P0 ; stall=6
                LDG.E.128 R20, desc[UR4][R14.64] ; stall=2 write=0
                STG.E.128 desc[UR4][R18.64], R20 ; stall=2 wait=0";
    let blocks = 1 << 16;
    let kernel = Kernel {
        grid: 16,
        block: 256,
        registers: 32,
        shared: 1024,
        options: Options { blocks: Some(blocks), ..Options::default() },
        ..Kernel::new(framed(4, copy))
    };
    let found = kernel.estimate();
    assert_eq!((found.bound, found.warm), (Bound::Memory, false));
    let bytes = blocks as f64 * 256.0 * 16.0 * 2.0;
    let least = bytes / 3352e9 * 1e6;
    assert!((1.0..1.3).contains(&(found.microseconds / least)), "{} {least}", found.microseconds);
    // The same data in L2 is faster.
    let few = Kernel { options: Options { blocks: Some(256), ..Options::default() }, ..kernel.clone() };
    let cold = Kernel { options: Options { blocks: Some(256), cold: true, ..Options::default() }, ..kernel };
    assert!(few.estimate().warm && few.cycles() < cold.cycles());
}
