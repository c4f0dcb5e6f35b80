//! Lanes that took different ways out of one instruction and may come back at different times: a call whose target differs
//! between them, a return of some of them. Nothing on the way back brings them together, so that whoever lets the whole warp
//! act at once has to see to it that the whole warp is there.

use oriole_sass::{Instruction, Op, OperandKind, register::PT};

/// Lanes that have been apart since an instruction.
#[derive(Clone, Copy)]
struct Parting {
    lanes: u32,
    /// Index of the instruction.
    at: u32,
}

/// The partings of a warp that are still to be made good. No one of them is a part of another.
#[derive(Clone, Default)]
pub(crate) struct Partings(Vec<Parting>);

impl Partings {
    /// Lanes go different ways from the instruction at an index.
    pub(crate) fn part(&mut self, lanes: u32, at: u32) {
        if self.0.iter().any(|known| lanes & !known.lanes == 0) {
            return;
        }
        self.0.retain(|known| known.lanes & !lanes != 0);
        self.0.push(Parting { lanes, at });
    }

    /// These are the groups of lanes that run together now, of those that live.
    pub(crate) fn meet(&mut self, groups: impl Iterator<Item = u32> + Clone, live: u32) {
        self.0.retain(|known| !groups.clone().any(|group| known.lanes & live & !group == 0));
    }

    /// These lanes have waited for each other, or know that they are alone.
    pub(crate) fn settle(&mut self, lanes: u32) {
        for known in &mut self.0 {
            known.lanes &= !lanes;
        }
        self.0.retain(|known| known.lanes.count_ones() > 1);
    }

    /// The index of the instruction that parted some of these lanes from others that live.
    pub(crate) fn missing(&self, group: u32, live: u32) -> Option<u32> {
        let parted = |known: &&Parting| known.lanes & group != 0 && known.lanes & live & !group != 0;
        self.0.iter().find(parted).map(|known| known.at)
    }
}

/// True if the lanes of a warp execute the instruction together, and what it gives depends on who is there.
pub(crate) fn acts_together(instruction: &Instruction) -> bool {
    use Op::*;
    matches!(
        instruction.op,
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

/// True if it asks which lanes are there: a vote on what holds always.
pub(crate) fn asks_who_is_there(instruction: &Instruction) -> bool {
    matches!(instruction.op, Op::VOTE | Op::VOTEU)
        && instruction.operands.last().is_some_and(|voted| {
            matches!(voted.kind, OperandKind::Pred(PT) | OperandKind::UPred(PT)) && !voted.invert
        })
}
