//! Registers that a call may clobber under the calling convention of device functions.
//!
//! It is here because both the lowering of PTX and expansions make calls. The placement of arguments belongs to the
//! code that lays them out and must not enter here.

use crate::{CallShape, SymbolId};
use oriole_sass::register::RZ;

/// General registers that a callee preserves: 2, 16 to 31 except for the return address, and from 32 on the upper
/// four of each eight.
fn clobbers() -> [u64; 4] {
    let mut set = [0u64; 4];
    for register in 0..usize::from(RZ) {
        let kept = match register {
            // The callee restores the stack pointer.
            1 | 2 => true,
            0 | 3..=15 | 20 | 21 => false,
            16..=31 => true,
            _ => register % 8 >= 4,
        };
        if !kept {
            set[register / 64] |= 1 << (register % 64);
        }
    }
    set
}

impl CallShape {
    /// A call of a function, with all arguments in registers. `predicates`: all of the chip, bit n for Pn.
    pub fn of_function(callee: Option<SymbolId>, predicates: u8) -> CallShape {
        CallShape {
            callee,
            stack_bytes: 0,
            clobbers: clobbers(),
            clobbered_predicates: predicates,
            clobbers_uniform: true,
            ..CallShape::default()
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn callees_keep_the_upper_half_of_each_eight() {
        let set = super::clobbers();
        let clobbered = |r: usize| set[r / 64] >> (r % 64) & 1 != 0;
        assert!((4..16).all(clobbered));
        assert!(clobbered(20) && clobbered(21) && clobbered(0) && clobbered(3));
        assert!(!(clobbered(1) || clobbered(2) || clobbered(16) || clobbered(24) || clobbered(36)));
        assert!(clobbered(32) && clobbered(40) && clobbered(248));
    }
}
