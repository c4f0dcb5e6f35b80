//! The state that blocks share, and the state that the warps of one block share.

use std::collections::BTreeMap;

use oriole_chip::MatrixUnit;
use oriole_machine_model::tensor_memory::TensorMemory;

use crate::barrier::Barrier;
use crate::fault::Fault;
use crate::lane::{Lane, SpecialValues};
use crate::launch::Choices;
use crate::memory::{Memory, Place};
use crate::observer::{Observer, Store};
use crate::step::Code;
use crate::texture::objects::Objects;
use crate::watch::Watch;

/// State shared by all blocks.
pub struct Machine<'a> {
    /// The decoded program.
    pub code: &'a Code,
    /// Global, constant and parameter memory.
    pub memory: Memory,
    /// Textures, samplers and surfaces.
    pub objects: Objects,
    /// The printed output so far.
    pub output: Vec<String>,
    /// Lane instructions executed so far.
    pub instructions: u64,
    /// Steps of warps executed so far.
    pub clock: u64,
    /// Most of either.
    pub budget: u64,
    /// Allocations of `malloc`: address and bytes.
    pub heap: BTreeMap<u64, u64>,
    /// Number of visible events: writes, arrivals and the like.
    pub events: u64,
    /// Shared memory of the running cluster, by rank of the block.
    pub shared: Vec<Vec<u8>>,
    /// Tensor memory, in the same way.
    pub tensor: Vec<TensorMemory>,
    /// Copies in flight in it.
    pub watch: Watch,
    /// Number of completed phases of the running cluster's barrier.
    pub cluster_meetings: u64,
    /// Blocks of a cluster.
    pub cluster: [u32; 3],
    /// Indices of the clusters that have not started and have not been cancelled.
    pub waiting: std::ops::Range<u64>,
    /// Whether the launch has clusters.
    pub explicit_cluster: bool,
    /// Blocks of the grid.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Bytes of shared memory that the launch adds.
    pub dynamic_shared: u32,
    /// The accumulation of an MMA on the chip.
    pub matrix_unit: MatrixUnit,
    /// How to decide where PTX leaves a choice.
    pub choices: Choices,
    /// Shows stores.
    pub observer: Option<&'a mut (dyn Observer + 'a)>,
    /// The observer follows the run.
    pub followed: bool,
    /// Accesses are those of an mbarrier.
    pub on_object: bool,
    /// The step that is being executed, for the observer.
    pub pc: u32,
    /// End of the last access to shared memory.
    pub shared_touched: u32,
}

/// State shared by the warps of a block.
pub struct BlockState {
    /// Index of the block in the grid.
    pub index: [u32; 3],
    /// Its number there; x grows first.
    pub number: u32,
    /// Rank of the block in its cluster.
    pub rank: u32,
    /// Barriers.
    pub barriers: Vec<Barrier>,
}

impl Machine<'_> {
    /// Shows the observer a store.
    pub fn show(&mut self, block: &BlockState, lane: &Lane, (place, address): (Place, u64), bytes: usize) {
        let Some(observer) = &mut self.observer else { return };
        let step = &self.code.steps[self.pc as usize];
        let function = &self.code.functions[step.function as usize].name;
        observer.stored(&Store {
            function,
            ordinal: step.ordinal,
            block: block.index,
            thread: lane.thread,
            global: place == Place::Global,
            address,
            bytes,
        });
    }

    /// The values of the special registers of a warp.
    pub fn special_values(&self, block: &BlockState, warp: u32) -> SpecialValues {
        SpecialValues {
            grid: self.grid,
            block: self.block,
            block_index: block.index,
            cluster: self.cluster,
            explicit_cluster: self.explicit_cluster,
            warp,
            clock: self.clock + 1_000_003 * u64::from(self.choices.order),
            shared: (self.shared[block.rank as usize].len() as u32, self.dynamic_shared),
        }
    }

    /// Adds the place to a fault.
    pub fn locate(&self, mut fault: Fault, pc: u32, block: &BlockState, lane: &Lane) -> Fault {
        let step = &self.code.steps[pc as usize];
        fault.place = Some((self.code.functions[step.function as usize].name.clone(), step.ordinal));
        fault.thread = Some((block.index, lane.thread));
        fault
    }
}

/// The number of a block in its grid; x grows first.
pub fn block_number(grid: [u32; 3], index: [u32; 3]) -> u32 {
    index[0] + grid[0] * (index[1] + grid[1] * index[2])
}

/// The first block of a cluster.
pub fn first_block(grid: [u32; 3], shape: [u32; 3], number: u64) -> [u32; 3] {
    let clusters: [u64; 3] = std::array::from_fn(|axis| u64::from(grid[axis] / shape[axis]));
    let place =
        [number % clusters[0], number / clusters[0] % clusters[1], number / clusters[0] / clusters[1]];
    std::array::from_fn(|axis| place[axis] as u32 * shape[axis])
}
