//! A barrier of a block: the arrival of lanes, and the value of its reduction.

use crate::fault::{Fault, FaultKind};
use crate::lane::{Lane, SpecialValues, State};
use crate::step::{Action, BarrierOperation, Source};

/// A barrier of a block.
#[derive(Clone, Debug, Default)]
pub struct Barrier {
    /// Some lane has arrived.
    pub in_use: bool,
    /// Lanes that have arrived, a mask for each warp.
    pub arrived: Vec<u32>,
    /// Arrivals of lanes that had arrived before.
    pub repeated: u32,
    /// Threads to wait for; all of the block if not given.
    pub expected: Option<u32>,
    /// Predicates of a reduction.
    pub votes: u32,
    /// Number of true ones.
    pub ones: u32,
}

/// Arrives at a barrier; true if the lane has to wait there.
pub fn arrive(
    lane: &mut Lane,
    number: usize,
    action: &Action,
    barriers: &mut [Barrier],
    specials: &SpecialValues,
) -> Result<bool, Fault> {
    let Action::Barrier { operation, id, count, source, .. } = action else {
        unreachable!("only barriers are arrived at")
    };
    let read = |source: Source| lane.read(source, number as u32, specials);
    let id = read(*id);
    let count = count.map(|count| read(count) as u32);
    let holds = read(*source) & 1 != 0;
    let barrier = usize::try_from(id)
        .ok()
        .and_then(|id| barriers.get_mut(id))
        .ok_or_else(|| Fault::new(FaultKind::Illegal, format!("a block has no barrier {id}")))?;
    if barrier.in_use && barrier.expected != count {
        return Err(Fault::new(
            FaultKind::Illegal,
            format!("barrier {id} is used with different counts of threads at a time"),
        ));
    }
    barrier.in_use = true;
    barrier.expected = count;
    let warp = specials.warp as usize;
    if barrier.arrived[warp] >> number & 1 != 0 {
        barrier.repeated += 1;
    }
    barrier.arrived[warp] |= 1 << number;
    if !matches!(operation, BarrierOperation::Synchronize | BarrierOperation::Arrive) {
        barrier.votes += 1;
        barrier.ones += u32::from(holds);
    }
    if *operation == BarrierOperation::Arrive {
        return Ok(false);
    }
    lane.state = State::Barrier(id as u32);
    Ok(true)
}

/// The value of a barrier's reduction.
pub fn reduction(operation: BarrierOperation, ones: u32, votes: u32) -> u64 {
    match operation {
        BarrierOperation::CountOnes => u64::from(ones),
        BarrierOperation::And => u64::from(ones == votes),
        BarrierOperation::Or => u64::from(ones > 0),
        BarrierOperation::Synchronize | BarrierOperation::Arrive => 0,
    }
}
