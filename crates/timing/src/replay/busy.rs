//! How busy the parts of the replayed SMs were. No time of a warp may enter.

use super::Replay;

/// How busy the parts of an SM were: the busiest quarter or SM, in cycles.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Busy {
    /// Issues of a quarter.
    pub issue: u64,
    /// Cycles of each unit of a quarter, by `Unit`.
    pub units: [u64; oriole_latency::UNITS],
    /// Cycles of the 64-bit floating-point unit of an SM.
    pub double: u64,
    /// Cycles of the unit of loads and stores of an SM.
    pub lsu: u64,
    /// Cycles of the SM's share of L2.
    pub l2: u64,
    /// Cycles of its share of the device memory.
    pub dram: u64,
    /// Cycles of the sector with most atomic operations, or of the SM's share of the slices that do them.
    pub address: u64,
}

impl Replay<'_> {
    /// How busy the parts were.
    pub(crate) fn busy(&self) -> Busy {
        let mut busy = Busy { address: self.chip.busiest_address as u64, ..Busy::default() };
        for sm in &self.sms {
            busy.double = busy.double.max(sm.double_busy);
            busy.lsu = busy.lsu.max(sm.path.lsu.busy as u64);
            busy.l2 = busy.l2.max(sm.path.l2.busy as u64);
            busy.dram = busy.dram.max(sm.path.dram.busy as u64);
            busy.address = busy.address.max(sm.path.slices.busy as u64);
            for quarter in &sm.quarters {
                busy.issue = busy.issue.max(quarter.issued);
                for (most, own) in busy.units.iter_mut().zip(quarter.busy) {
                    *most = (*most).max(own);
                }
            }
        }
        busy
    }
}
