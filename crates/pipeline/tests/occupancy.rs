//! Blocks on an SM: the register counts that are tried for more of them.

use oriole_ori::{Function, parse::parse};
use oriole_schedule::{Tables, Throughput, step_below};

fn tables() -> Tables {
    Tables::of("sm_90".parse().expect("a chip")).expect("its tables")
}

/// A kernel for blocks of 256 threads.
fn kernel(code: &str) -> Function {
    parse(&format!("kernel params=0 barriers=1 threads=256\nb0:\n{code}  EXIT ; 9\n")).expect("Ori")
}

/// With 48, 40 and 32 registers an SM holds 5, 6 and 8 blocks.
#[test]
fn a_step_with_a_third_more_blocks_may_be_the_second_one() {
    let step = |registers| step_below(&kernel(""), &tables(), registers);
    assert_eq!(step(36), Some(32), "6 blocks, 8 below");
    assert_eq!(step(48), Some(32), "5 blocks, 6 in 40 are too few");
    // 4 blocks; 5 in 48 are too few, and 32 are too far.
    assert_eq!(step(64), None);
}

/// Schedulers that always have an instruction gain nothing by more warps, unless warps wait for each other.
#[test]
fn warps_that_meet_leave_the_schedulers_idle() {
    let issues_always = |code: &str| Throughput::new(&tables(), &kernel(code), 36, Some(8)).issues_always();
    assert!(issues_always("  r0 = S2R %(SR_TID.X) ; 0\n"));
    let meets = "  r0 = S2R %(SR_TID.X) ; 0\n  BAR.DEFER_BLOCKING.SYNC #0 mem(generic rw ordered) ; 1\n";
    assert!(!issues_always(meets));
}
