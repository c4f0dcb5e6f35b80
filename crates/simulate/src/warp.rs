//! The state of a warp: registers as arrays of lanes, predicates and barriers as masks, and the groups of lanes
//! that run together.
//!
//! Lanes of a warp may be at different places. A group is a set of lanes at one place; only one group runs at a time,
//! until it waits, exits or yields.

use crate::partings::Partings;
use oriole_sass::register::{PT, RZ, URZ};

/// One value for each lane.
pub(crate) type Lanes = [u32; 32];
/// One 64-bit value for each lane.
pub(crate) type WideLanes = [u64; 32];

/// The reason why a group does not run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wait {
    /// It can run.
    Ready,
    /// At a `BSYNC` of this barrier, for the lanes of the mask; each continues after the instruction.
    Convergence { barrier: u8, mask: u32 },
    /// At a `WARPSYNC` for the lanes of the mask. After an exclusive one, lanes with other masks are not with them.
    Sync { mask: u32, exclusive: bool },
    /// At a `WARPSYNC.COLLECTIVE`: when all lanes of the mask have arrived, they execute the code after one of the
    /// instructions together and continue at their own targets.
    Collective { mask: u32, target: u32 },
    /// At a barrier of the block.
    Block { barrier: u8 },
    /// At the barrier of the cluster.
    Cluster,
}

/// Lanes at one place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Group {
    /// The lanes.
    pub lanes: u32,
    /// Index of the next instruction.
    pub pc: u32,
    /// The state of its wait.
    pub wait: Wait,
    /// After an exclusive `WARPSYNC`, until the next wait: its mask. Groups of other masks at the same place stay apart.
    pub apart: u32,
}

/// A warp.
pub(crate) struct Warp {
    /// Index in the block.
    pub number: u32,
    /// General registers; `RZ` is not stored.
    pub general: Vec<Lanes>,
    /// Predicates as lane masks; `PT` is always true.
    pub predicates: [u32; PT as usize + 1],
    /// Uniform registers; `URZ` is not stored.
    pub uniform: [u32; URZ as usize],
    /// Uniform predicates, one bit each; that of `UPT` is set.
    pub uniform_predicates: u8,
    /// Convergence barriers: for each lane the mask of the lanes that it will meet.
    pub barriers: [Lanes; 16],
    /// Divergent lanes.
    pub partings: Partings,
    /// Targets of the lanes that execute collectively.
    pub collective: Lanes,
    /// The groups; the running one is `current`.
    pub groups: Vec<Group>,
    /// Index of the group that ran last.
    pub current: usize,
    /// Lanes that have not exited.
    pub live: u32,
    /// Result of the last barrier reduction: the count and the predicate.
    pub reduction: (u32, bool),
    /// Cycle of the next issue.
    pub cycle: u64,
    /// Backward branches since the last change of group.
    pub patience: u32,
    /// Number of general registers that each thread is allocated.
    pub registers: u32,
    /// The halves of the return address, in which some code keeps values.
    pub return_address: [Lanes; 2],
    /// Number of arrivals of each lane at the cluster barrier.
    pub cluster_arrivals: [u32; 32],
    /// The state of its mbarrier polling.
    pub polls: Polls,
    /// MMAs in flight, oldest first.
    pub products: Vec<Reading>,
    /// Number of groups of MMAs closed so far.
    pub closed: u64,
}

/// A warp that polls mbarriers and does nothing else.
#[derive(Clone, Copy, Default)]
pub(crate) struct Polls {
    /// Number of consecutive polls that found an incomplete phase.
    pub count: u32,
    /// Instructions since the last time.
    pub since: u32,
    /// The event count of the cluster at that time.
    pub events: u64,
}

/// The shared memory that an MMA in flight reads.
pub(crate) struct Reading {
    /// Index of its group, once that is closed.
    pub group: Option<u64>,
    /// Addresses, each with the bytes at issue.
    pub pieces: Vec<(usize, [u8; 16])>,
}

impl Warp {
    pub(crate) fn new(number: u32, lanes: u32, registers: u32) -> Warp {
        Warp {
            number,
            general: vec![[0; 32]; usize::from(RZ)],
            predicates: [0, 0, 0, 0, 0, 0, 0, u32::MAX],
            uniform: [0; URZ as usize],
            uniform_predicates: 1 << PT,
            barriers: [[0; 32]; 16],
            partings: Partings::default(),
            collective: [0; 32],
            groups: vec![Group { lanes, pc: 0, wait: Wait::Ready, apart: 0 }],
            current: 0,
            live: lanes,
            reduction: (0, false),
            cycle: 0,
            patience: 0,
            registers,
            return_address: [[0; 32]; 2],
            cluster_arrivals: [0; 32],
            polls: Polls::default(),
            products: Vec::new(),
            closed: 0,
        }
    }

    /// A general register of all lanes; `RZ` is zero.
    pub(crate) fn read(&self, register: u8) -> Lanes {
        self.general.get(register as usize).copied().unwrap_or([0; 32])
    }

    /// Writes a general register in the lanes of the mask; writes to `RZ` are lost.
    pub(crate) fn write(&mut self, register: u8, mask: u32, values: &Lanes) {
        if let Some(lanes) = self.general.get_mut(register as usize) {
            for lane in bits(mask) {
                lanes[lane] = values[lane];
            }
        }
    }

    /// A uniform register; `URZ` is zero.
    pub(crate) fn read_uniform(&self, register: u8) -> u32 {
        self.uniform.get(usize::from(register)).copied().unwrap_or(0)
    }

    /// Two uniform registers, both zero for `URZ`.
    pub(crate) fn read_uniform_pair(&self, register: u8) -> [u32; 2] {
        [register, register.saturating_add(1)].map(|register| self.read_uniform(register))
    }

    /// Writes a uniform register.
    pub(crate) fn write_uniform(&mut self, register: u8, value: u32) {
        if let Some(place) = self.uniform.get_mut(usize::from(register)) {
            *place = value;
        }
    }

    /// Writes a predicate in the lanes of the mask; `PT` stays true.
    pub(crate) fn write_predicate(&mut self, register: u8, mask: u32, values: u32) {
        if register < PT {
            let place = &mut self.predicates[register as usize];
            *place = (*place & !mask) | (values & mask);
        }
    }

    /// Writes a uniform predicate.
    pub(crate) fn write_uniform_predicate(&mut self, register: u8, value: bool) {
        if register < PT {
            self.uniform_predicates =
                (self.uniform_predicates & !(1 << register)) | (u8::from(value) << register);
        }
    }

    /// Ends every wait whose lanes have all arrived. True if a group became ready.
    pub(crate) fn release(&mut self) -> bool {
        let mut released = false;
        let mut at = 0;
        while at < self.groups.len() {
            let wait = self.groups[at].wait;
            let needed = match wait {
                Wait::Convergence { mask, .. } | Wait::Sync { mask, .. } | Wait::Collective { mask, .. } => {
                    mask & self.live
                }
                Wait::Ready | Wait::Block { .. } | Wait::Cluster => {
                    at += 1;
                    continue;
                }
            };
            let same = |other: &Group| match (wait, other.wait) {
                (Wait::Convergence { barrier: a, mask: m }, Wait::Convergence { barrier: b, mask: n }) => {
                    a == b && m & self.live == n & self.live
                }
                (Wait::Sync { mask: m, exclusive: a }, Wait::Sync { mask: n, exclusive: b }) => {
                    a == b && m & self.live == n & self.live
                }
                (Wait::Collective { mask: m, .. }, Wait::Collective { mask: n, .. }) => {
                    m & self.live == n & self.live
                }
                _ => false,
            };
            let members: Vec<usize> =
                (0..self.groups.len()).filter(|&other| same(&self.groups[other])).collect();
            let there = members.iter().fold(0, |mask, &member| mask | self.groups[member].lanes);
            if needed & !there != 0 {
                at += 1;
                continue;
            }
            released = true;
            if let Wait::Sync { .. } | Wait::Collective { .. } = wait {
                self.partings.settle(there);
            }
            if let Wait::Collective { .. } = wait {
                for &member in &members {
                    let Group { lanes, wait, .. } = self.groups[member];
                    if let Wait::Collective { target, .. } = wait {
                        for lane in bits(lanes) {
                            self.collective[lane] = target;
                        }
                    }
                }
                // All execute the code after the first one's instruction.
                let pc = self.groups[members[0]].pc;
                for &member in &members {
                    self.groups[member].pc = pc;
                }
            }
            let apart = if let Wait::Sync { mask, exclusive: true } = wait { mask } else { 0 };
            for &member in &members {
                self.groups[member].wait = Wait::Ready;
                self.groups[member].apart = apart;
            }
            self.merge();
            at = 0;
        }
        released
    }

    /// Merges ready groups at the same place.
    pub(crate) fn merge(&mut self) {
        let running = self.groups.get(self.current).copied();
        let mut merged: Vec<Group> = Vec::with_capacity(self.groups.len());
        for group in &self.groups {
            if group.lanes == 0 {
                continue;
            }
            match merged.iter_mut().find(|other| {
                let ready = group.wait == Wait::Ready && other.wait == Wait::Ready;
                ready && (other.pc, other.apart) == (group.pc, group.apart)
            }) {
                Some(other) => other.lanes |= group.lanes,
                None => merged.push(*group),
            }
        }
        self.groups = merged;
        self.current = running
            .and_then(|old| {
                self.groups.iter().position(|group| group.lanes & old.lanes != 0 && group.wait == old.wait)
            })
            .unwrap_or(0);
        self.partings.meet(self.groups.iter().map(|group| group.lanes), self.live);
    }

    /// Chooses the group to run: the current one while it can, else the next ready one. `None` if all wait.
    pub(crate) fn choose(&mut self) -> Option<usize> {
        let count = self.groups.len();
        let found = (0..count)
            .map(|step| (self.current + step) % count)
            .find(|&at| self.groups[at].wait == Wait::Ready);
        if let Some(at) = found {
            if at != self.current {
                self.patience = 0;
            }
            self.current = at;
        }
        found
    }

    /// Yields to another ready group, if there is one.
    pub(crate) fn give_way(&mut self) {
        self.patience = 0;
        if self.groups.len() > 1 {
            self.current = (self.current + 1) % self.groups.len();
        }
    }
}

/// The indices of the set bits, ascending.
pub(crate) fn bits(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let bit = mask.trailing_zeros() as usize;
            mask &= mask - 1;
            bit
        })
    })
}
