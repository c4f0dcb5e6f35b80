//! Issue times of finished code, for one warp that runs alone through the code in layout order: stalls as in the
//! control words, scoreboard waits by the estimates of the latency table.
//!
//! It is here to show where the time of a kernel goes, for any cubin. No loop and no branch is taken: the walk is
//! through the text, so that each instruction has one time.

use oriole_latency::Model;
use oriole_ori::MachineFunction;

/// When an instruction issues.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Issue {
    /// The cycle, the first instruction's being 0.
    pub cycle: u64,
    /// Cycles that it waited for scoreboards before.
    pub waited: u32,
}

/// Scoreboards of a warp; a wait mask has a bit for each.
const SCOREBOARDS: usize = 8;

/// The times of all instructions in code order. The control words must be in place.
pub fn timeline(function: &MachineFunction, model: &Model) -> Vec<Issue> {
    let mut ready = [0u64; SCOREBOARDS];
    let mut cycle = 0u64;
    let mut times = Vec::new();
    for machine in function.blocks.iter().flat_map(|block| &block.instructions) {
        let instruction = &machine.instruction;
        let control = instruction.control;
        let waits = (0..SCOREBOARDS).filter(|&number| control.wait_mask >> number & 1 != 0);
        let released = waits.map(|number| ready[number]).max().unwrap_or(0);
        let waited = released.saturating_sub(cycle);
        cycle += waited;
        times.push(Issue { cycle, waited: u32::try_from(waited).unwrap_or(u32::MAX) });
        let estimate = u64::from(model.estimate(instruction.op));
        let mut set = |number: Option<u8>, at: u64| {
            if let Some(number) = number {
                let slot = &mut ready[usize::from(number) % SCOREBOARDS];
                *slot = (*slot).max(at);
            }
        };
        set(control.write_barrier, cycle + estimate);
        // Sources are read long before results are there.
        set(control.read_barrier, cycle + estimate / 4);
        cycle += u64::from(control.stall.max(1));
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_chip::Chip;
    use std::collections::BTreeMap;

    #[test]
    fn stalls_and_scoreboards_make_the_times() {
        let lines = [
            "LDG.E R4, desc[UR4][R2.64] ; stall=2 write=0",
            "MOV R5, 0x1 ; stall=5",
            "IADD3 R4, R4, R5, RZ ; stall=4 wait=0",
            "EXIT ; stall=5",
        ];
        let parse = |(index, line): (usize, &&str)| {
            oriole_sass::parse(Chip::SM_90, line, Some(16 * index as u64))
                .unwrap_or_else(|error| panic!("{line}: {error}"))
        };
        let code: Vec<_> = lines.iter().enumerate().map(parse).collect();
        let function = crate::decoded(Chip::SM_90, &code, &BTreeMap::new()).expect("forms");
        let model = Model::of(Chip::SM_90).expect("a table");
        let load = u64::from(model.estimate(oriole_sass::Op::LDG));
        let issue = |cycle, waited: u64| Issue { cycle, waited: waited as u32 };
        let wanted = [issue(0, 0), issue(2, 0), issue(load, load - 7), issue(load + 4, 0)];
        assert_eq!(timeline(&function, model), wanted);
    }
}
