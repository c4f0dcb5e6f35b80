//! Registers of functions whose time is weighed against them.

use crate::before_allocation;
use crate::tests::tables;
use oriole_options::{Options, OrderOptions};

/// With a known block size, occupancy is weighed against the time of a block: chains overlap in as few registers as
/// allow one more block.
#[test]
fn blocks_are_weighed_against_time() {
    let chains = 64;
    let registers = |threads: &str, budgeted| {
        let mut input = format!("kernel params=0 barriers=0{threads}\nb0:\n");
        input += "  r0 = S2R %(SR_TID.X) ; 1\n";
        for k in 1..=chains {
            input += &format!("  r{k} = LDG [r0+{:#x}] mem(global r) ; 2\n", 4 * k);
            input += &format!("  STS [{:#x}], r{k} mem(shared w) ; 3\n", 4 * k);
        }
        input += "  EXIT ; 4\n";
        let mut function = oriole_ori::parse::parse(&input).expect("Ori");
        let options = OrderOptions { budgeted, ..Options::default().order() };
        before_allocation(&mut function, &tables(), &options, None);
        oriole_ori::Statistics::new(&function).general_registers
    };
    assert_eq!((registers("", false), registers(" threads=256", false)), (64, 22));
    // Registers are free up to the step of 32; the next one saves a third of the time for a fourth of the warps.
    assert_eq!((registers("", true), registers(" threads=256", true)), (36, 36));
    assert_eq!(registers(" threads=128 registers=255 stated", true), 64, "the author wants no more blocks");
    assert_eq!(registers(" registers=40 stated", true), 33, "allocation needs a few");
}
