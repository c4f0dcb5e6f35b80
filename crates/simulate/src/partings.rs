//! Divergent lanes that left one instruction in different directions and may come back at different times: a call with
//! different targets, a return of some lanes. Nothing on the way back reconverges them, so that code in which the whole
//! warp acts at once has to reconverge it first.

use oriole_sass::{Instruction, Op, OperandKind, register::PT};

/// Lanes that have been divergent since an instruction.
#[derive(Clone, Copy)]
struct Parting {
    lanes: u32,
    /// Index of the instruction.
    at: u32,
}

/// The unresolved divergences of a warp. No one of them is a subset of another.
#[derive(Clone, Default)]
pub(crate) struct Partings(Vec<Parting>);

impl Partings {
    /// Lanes diverge at the instruction at an index.
    pub(crate) fn part(&mut self, lanes: u32, at: u32) {
        if self.0.iter().any(|known| lanes & !known.lanes == 0) {
            return;
        }
        self.0.retain(|known| known.lanes & !lanes != 0);
        self.0.push(Parting { lanes, at });
    }

    /// The groups of lanes that run together now, of the live ones: divergences within one group end.
    pub(crate) fn meet(&mut self, groups: impl Iterator<Item = u32> + Clone, live: u32) {
        self.0.retain(|known| !groups.clone().any(|group| known.lanes & live & !group == 0));
    }

    /// These lanes have synchronized, or know that they are alone.
    pub(crate) fn settle(&mut self, lanes: u32) {
        for known in &mut self.0 {
            known.lanes &= !lanes;
        }
        self.0.retain(|known| known.lanes.count_ones() > 1);
    }

    /// The index of the instruction at which some of these lanes diverged from other live ones.
    pub(crate) fn missing(&self, group: u32, live: u32) -> Option<u32> {
        let parted = |known: &&Parting| known.lanes & group != 0 && known.lanes & live & !group != 0;
        self.0.iter().find(parted).map(|known| known.at)
    }
}

/// True if the lanes of a warp execute such instructions together, and the result depends on the set of lanes.
pub(crate) fn acts_together(op: Op) -> bool {
    use Op::*;
    matches!(
        op,
        VOTE | VOTEU
            | SHFL
            | MATCH
            | REDUX
            | CREDUX
            | ELECT
            | HMMA
            | IMMA
            | DMMA
            | BMMA
            | QMMA
            | OMMA
            | MOVM
            | LDSM
            | STSM
            | HGMMA
            | IGMMA
            | BGMMA
            | QGMMA
            | WARPGROUP
            | LDTM
            | STTM
    )
}

/// True if it queries the set of lanes: a vote on a constant true predicate.
pub(crate) fn asks_who_is_there(instruction: &Instruction) -> bool {
    matches!(instruction.op, Op::VOTE | Op::VOTEU)
        && instruction.operands.last().is_some_and(|voted| {
            matches!(voted.kind, OperandKind::Pred(PT) | OperandKind::UPred(PT)) && !voted.invert
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The list is the simulator's own; it has at least what the table of opcodes says that whole warps execute.
    #[test]
    fn what_whole_warps_execute_acts_together() {
        let aligned = Op::all().iter().filter(|op| op.info().aligned);
        let missing: Vec<_> = aligned.filter(|&&op| !acts_together(op)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
