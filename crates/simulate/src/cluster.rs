//! The blocks that run together: their shared memories, which are accessible to each of them, and the cluster barrier.

use crate::block::Block;
use crate::launch::Fault;
use crate::observer::Log;
use crate::transfers::Transfers;
use crate::warp::{Polls, Wait, bits};
use oriole_machine_model::tensor_memory::TensorMemory;
use oriole_sass::{Effect, Instruction, Mod, Op};

/// Bits of an address in the shared memory of a block; above them is the rank of the block.
pub(crate) const SHARED_BITS: u32 = oriole_machine_model::races::RANK_BIT;

/// Number of failed mbarrier waits of a warp, with no other progress, before it counts as deadlocked.
const MOST_POLLS: u32 = 4096;
/// Instructions between two waits of a warp that does nothing else.
const LOOP_LENGTH: u32 = 64;

/// State shared by the blocks of a cluster.
pub(crate) struct Cluster {
    /// Their shared memories by rank.
    pub shared: Vec<Vec<u8>>,
    /// Their tensor memories.
    pub tensor: Vec<TensorMemory>,
    /// Number of completed phases of the cluster barrier.
    pub meetings: u32,
    /// Number of events visible to other threads: stores, arrivals and the like.
    pub events: u64,
    /// Copies in flight.
    pub transfers: Transfers,
    /// Indices of the clusters that have not started and have not been cancelled.
    pub waiting: std::ops::Range<u64>,
    /// Signals of asynchronous operations, for an observer.
    pub log: Option<Log>,
}

/// True if the execution of the instruction is visible to other threads.
fn shows(instruction: &Instruction) -> bool {
    let op = instruction.op;
    if op == Op::SYNCS && instruction.mods.has(Mod::PHASECHK) {
        return false;
    }
    let effect = op.info().effect;
    matches!(effect, Effect::Store | Effect::Atomic | Effect::Asynchronous | Effect::Leave)
        || matches!(op, Op::BAR | Op::UCGABAR_ARV | Op::UCGABAR_WAIT)
}

impl Cluster {
    /// Records that lanes execute an instruction.
    pub(crate) fn note(&mut self, block: &mut Block, warp: usize, instruction: &Instruction, active: u32) {
        self.events += u64::from(active != 0 && shows(instruction));
        let polls = &mut block.warps[warp].polls;
        polls.since = polls.since.saturating_add(1);
    }

    /// The memory, and the offset in it, of an address of shared memory.
    pub(crate) fn memory(&mut self, address: u64) -> Result<(&mut Vec<u8>, u64), Fault> {
        let (rank, offset) = (address >> SHARED_BITS, address & ((1 << SHARED_BITS) - 1));
        let memory = self.shared.get_mut(rank as usize);
        memory.map(|memory| (memory, offset)).ok_or(Fault::OutOfBounds { space: "shared", address, size: 1 })
    }
}

impl Polls {
    /// True if the warp has polled for too long.
    pub(crate) fn is_long(&self) -> bool {
        self.count >= MOST_POLLS
    }
}

impl Block {
    /// Records that lanes of a warp found an incomplete phase.
    pub(crate) fn poll_in_vain(&mut self, warp: usize, cluster: &Cluster) {
        let polls = &mut self.warps[warp].polls;
        let again = polls.since <= LOOP_LENGTH && polls.events == cluster.events;
        polls.count = if again { polls.count + 1 } else { 0 };
        polls.since = 0;
        polls.events = cluster.events;
    }

    /// True if all warps only wait, some of them by polling.
    pub(crate) fn only_waits(&self, cluster: &Cluster) -> bool {
        let waits = |warp: &crate::warp::Warp| {
            warp.groups.iter().all(|group| group.wait != Wait::Ready)
                || (warp.polls.is_long() && warp.polls.events == cluster.events)
        };
        self.warps.iter().all(waits)
    }
}

/// Releases the waiters of the cluster barrier if all threads that have not exited have arrived.
pub(crate) fn meet<B: AsRef<Block> + AsMut<Block>>(cluster: &mut Cluster, blocks: &mut [B]) -> bool {
    let next = cluster.meetings + 1;
    let warps = || blocks.iter().flat_map(|block| &block.as_ref().warps);
    let mut living = warps().filter(|warp| warp.live != 0).peekable();
    if living.peek().is_none()
        || !living.all(|warp| bits(warp.live).all(|lane| warp.cluster_arrivals[lane] >= next))
    {
        return false;
    }
    cluster.meetings = next;
    let latest = warps().map(|warp| warp.cycle).max().unwrap_or(0);
    for warp in blocks.iter_mut().flat_map(|block| &mut block.as_mut().warps) {
        for group in &mut warp.groups {
            if group.wait == Wait::Cluster {
                group.wait = Wait::Ready;
                warp.cycle = warp.cycle.max(latest);
            }
        }
        warp.merge();
    }
    true
}
