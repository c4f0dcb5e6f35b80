//! The grid of a launch on the SMs of a chip: how many have work, which blocks are replayed, and on which SM. No time may
//! enter.

use crate::options::Options;
use crate::replay::Start;
use oriole_simulate::Launch;
use std::collections::{HashMap, VecDeque};

/// The shape of a grid.
pub(crate) struct Grid {
    /// Blocks of the launch, those of them that run, and blocks of the grid that is asked for.
    pub launched: u64,
    pub run: u64,
    pub blocks: u64,
    /// Blocks of a cluster.
    pub cluster: u64,
    /// SMs that have work.
    pub active: u64,
    /// SMs that are replayed.
    pub simulated: u64,
    /// Blocks that each SM runs one after the other.
    pub per_sm: u64,
    /// Of these, blocks that are replayed.
    pub replayed: u64,
}

impl Grid {
    pub(crate) fn new(
        launch: &Launch,
        cluster: [u32; 3],
        options: &Options,
        sms: u64,
        resident: u32,
    ) -> Grid {
        let volume = |sizes: [u32; 3]| sizes.iter().map(|&size| u64::from(size)).product::<u64>().max(1);
        let (launched, cluster) = (volume(launch.grid), volume(cluster));
        let blocks = options.blocks.unwrap_or(launched).max(1);
        let active = sms.min(blocks);
        let simulated = if cluster > 1 { cluster } else { options.sms.clamp(1, active) };
        let per_sm = blocks.div_ceil(active);
        let replayed = per_sm.min(2 * u64::from(resident.max(2)));
        Grid { launched, run: launched, blocks, cluster, active, simulated, per_sm, replayed }
    }

    /// The numbers of the replayed blocks, those that start together in one list, each with its SM. A cluster has one
    /// block on each of them.
    pub(crate) fn chosen(&self, launch: &Launch, shape: [u32; 3]) -> Vec<Vec<(usize, u64)>> {
        if self.cluster == 1 {
            let count = self.replayed * self.simulated;
            let apart = (self.active / self.simulated).max(1);
            let block =
                |at: u64| (at / self.simulated * self.active + at % self.simulated * apart) % self.launched;
            return (0..count).map(|at| vec![((at % self.simulated) as usize, block(at))]).collect();
        }
        let clusters: [u64; 3] =
            std::array::from_fn(|axis| u64::from(launch.grid[axis] / shape[axis].max(1)).max(1));
        let apart = (self.active / self.cluster).max(1);
        let total: u64 = clusters.iter().product();
        let member = |number: u64, rank: u64| {
            let first = [
                number % clusters[0],
                number / clusters[0] % clusters[1],
                number / clusters[0] / clusters[1],
            ];
            let shape = shape.map(u64::from);
            let inner = [rank % shape[0], rank / shape[0] % shape[1], rank / shape[0] / shape[1]];
            let place: [u64; 3] = std::array::from_fn(|axis| first[axis] * shape[axis] + inner[axis]);
            place[0] + u64::from(launch.grid[0]) * (place[1] + u64::from(launch.grid[1]) * place[2])
        };
        let one =
            |at: u64| (0..self.cluster).map(move |rank| (rank as usize, member(at * apart % total, rank)));
        (0..self.replayed).map(|at| one(at).collect()).collect()
    }
}

/// The numbers of the clusters of blocks, ascending.
pub(crate) fn clusters(chosen: &[Vec<(usize, u64)>], launch: &Launch, shape: [u32; 3]) -> Vec<u64> {
    let [width, height, _] = launch.grid.map(u64::from);
    let sizes: [u64; 3] = std::array::from_fn(|axis| u64::from(shape[axis]).max(1));
    let number = |block: u64| {
        let place = [block % width, block / width % height, block / width / height];
        let [x, y, z]: [u64; 3] = std::array::from_fn(|axis| place[axis] / sizes[axis]);
        x + width / sizes[0] * (y + height / sizes[1] * z)
    };
    let mut found: Vec<u64> = chosen.iter().flatten().map(|&(_, block)| number(block)).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// The replayed blocks by their positions in the trace. A block that comes again is a repetition.
pub(crate) fn starts(chosen: &[Vec<(usize, u64)>], recorded: impl Iterator<Item = u64>) -> VecDeque<Start> {
    let positions: HashMap<u64, usize> = recorded.enumerate().map(|(at, block)| (block, at)).collect();
    let mut used: HashMap<u64, u64> = HashMap::new();
    let mut list = VecDeque::new();
    for together in chosen {
        let blocks: Option<Vec<(usize, usize)>> =
            together.iter().map(|&(sm, block)| Some((sm, *positions.get(&block)?))).collect();
        let (Some(blocks), Some(&(_, first))) = (blocks, together.first()) else { continue };
        let copy = used.entry(first).or_default();
        list.push_back(Start { blocks, copy: *copy });
        *copy += 1;
    }
    list
}
