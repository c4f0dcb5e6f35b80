//! A lane: its registers, its call stack, its local memory and the state of its wait.

use oriole_ptx::SpecialRegister;

use crate::fault::{Fault, FaultKind};
use crate::step::{Destination, Source};

/// Local address of the first frame: no local variable has address zero.
pub const LOCAL_START: u32 = 16;
/// Bytes of local memory that a lane may use.
pub const LOCAL_LIMIT: u32 = 1 << 20;
/// Calls that may be active at a time.
const DEPTH_LIMIT: usize = 4096;

/// The state of a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Nothing: it can execute its next step.
    Ready,
    /// The other lanes of a collective instruction: its spelling and its members.
    Collective(u32, u32),
    /// A barrier of the block.
    Barrier(u32),
    /// A phase of an mbarrier.
    Object,
    /// The barrier of the cluster.
    Cluster,
    /// Columns of tensor memory.
    Columns,
    /// It has exited.
    Exited,
}

/// The lanes of a mask, lowest first.
pub fn members(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        if mask == 0 {
            return None;
        }
        let lane = mask.trailing_zeros();
        mask &= mask - 1;
        Some(lane as usize)
    })
}

/// A call, as a lane enters its callee.
pub struct Entered {
    /// Step of the call.
    pub call: u32,
    /// Index of the callee.
    pub callee: u32,
    /// Registers of the caller.
    pub caller_registers: u32,
    /// Registers of the callee.
    pub registers: u32,
    /// Bytes of the callee's frame.
    pub frame_bytes: u32,
}

/// The caller of a call.
#[derive(Clone, Copy, Debug)]
pub struct CallFrame {
    /// The step of the call.
    pub call: u32,
    /// The function called.
    pub callee: u32,
    /// The caller's registers, frame and stack top.
    base: usize,
    frame: u32,
    frame_end: u32,
    top: u32,
}

/// A lane.
#[derive(Clone, Debug)]
pub struct Lane {
    /// Next step.
    pub pc: u32,
    /// The state.
    pub state: State,
    /// Thread index in the block.
    pub thread: [u32; 3],
    /// The carry flag.
    pub carry: bool,
    /// Time of its last step or of becoming ready, in steps of its warp.
    pub last: u64,
    /// Number of its arrivals at the cluster barrier.
    pub cluster_arrivals: u64,
    /// Active calls.
    pub calls: Vec<CallFrame>,
    /// Local memory up to the stack top.
    pub local: Vec<u8>,
    registers: Vec<u64>,
    /// Whether each register was written; empty unless the run is followed.
    written: Vec<bool>,
    base: usize,
    frame: u32,
    frame_end: u32,
    fill: u8,
}

/// Values of the special registers.
#[derive(Clone, Copy, Debug)]
pub struct SpecialValues {
    /// Blocks of the grid.
    pub grid: [u32; 3],
    /// Threads of the block.
    pub block: [u32; 3],
    /// This block.
    pub block_index: [u32; 3],
    /// Blocks of a cluster.
    pub cluster: [u32; 3],
    /// Whether the launch has clusters.
    pub explicit_cluster: bool,
    /// This warp of the block.
    pub warp: u32,
    /// Steps executed so far by all warps: the clock.
    pub clock: u64,
    /// Bytes of shared memory of the block, and the dynamic part of them.
    pub shared: (u32, u32),
}

impl Lane {
    /// A lane at the start of a kernel with this many register slots and bytes of frame, and what they hold before
    /// anything writes them.
    pub fn new(pc: u32, thread: [u32; 3], (registers, frame_bytes): (u32, u32), fill: u8) -> Lane {
        Lane {
            pc,
            state: State::Ready,
            thread,
            carry: false,
            last: 0,
            cluster_arrivals: 0,
            calls: Vec::new(),
            local: vec![fill; (LOCAL_START + frame_bytes) as usize],
            registers: vec![u64::from(fill & 1); registers as usize],
            written: Vec::new(),
            fill,
            base: 0,
            frame: LOCAL_START,
            frame_end: LOCAL_START + frame_bytes,
        }
    }

    /// The value of a register slot.
    #[inline]
    pub fn register(&self, slot: u32) -> u64 {
        self.registers[self.base + slot as usize]
    }

    /// Writes a result.
    #[inline]
    pub fn write(&mut self, destination: Destination, value: u64) {
        let at = self.base + destination.slot as usize;
        self.registers[at] = value & destination.mask;
        if let Some(written) = self.written.get_mut(at) {
            *written = true;
        }
    }

    /// From now on it is known which registers were written: none.
    pub fn follow_registers(&mut self) {
        self.written = vec![false; self.registers.len()];
    }

    /// Whether a register was written, as far as that is followed.
    #[inline]
    pub fn is_written(&self, slot: u32) -> bool {
        self.written.get(self.base + slot as usize).copied().unwrap_or(true)
    }

    /// Says that a register was written; false if that was known.
    pub fn first_use(&mut self, slot: u32) -> bool {
        match self.written.get_mut(self.base + slot as usize) {
            Some(written) => !std::mem::replace(written, true),
            None => false,
        }
    }

    /// Says that registers were not written.
    pub fn unwrite(&mut self, slots: &[u32]) {
        for slot in slots {
            if let Some(written) = self.written.get_mut(self.base + *slot as usize) {
                *written = false;
            }
        }
    }

    /// The value of an operand.
    #[inline]
    pub fn read(&self, source: Source, lane: u32, specials: &SpecialValues) -> u64 {
        match source {
            Source::Register(slot) => self.register(slot),
            Source::Immediate(value) => value,
            Source::NotPredicate(slot) => self.register(slot) ^ 1,
            Source::Frame(offset) => u64::from(self.frame + offset),
            Source::Special(register) => self.special(register, lane, specials),
        }
    }

    /// Range of bytes of the current frame.
    pub fn frame_range(&self, offset: u32, size: u32) -> std::ops::Range<usize> {
        let start = (self.frame + offset) as usize;
        start..start + size as usize
    }

    /// Opens a frame for a callee.
    ///
    /// # Errors
    /// Local memory, or the depth of calls, is used up.
    pub fn enter(&mut self, entered: &Entered) -> Result<(), Fault> {
        let &Entered { call, callee, caller_registers, registers, frame_bytes } = entered;
        let top = self.local.len() as u32;
        let frame = top.next_multiple_of(16);
        let end = frame.saturating_add(frame_bytes);
        if end > LOCAL_LIMIT || self.calls.len() >= DEPTH_LIMIT {
            return Err(Fault::new(FaultKind::StackOverflow, "calls nest too deep"));
        }
        self.calls.push(CallFrame {
            call,
            callee,
            base: self.base,
            frame: self.frame,
            frame_end: self.frame_end,
            top,
        });
        self.base += caller_registers as usize;
        self.frame = frame;
        self.frame_end = end;
        self.local.resize(end as usize, self.fill);
        self.registers.truncate(self.base);
        self.registers.resize(self.base + registers as usize, u64::from(self.fill & 1));
        if !self.written.is_empty() {
            self.written.truncate(self.base);
            self.written.resize(self.base + registers as usize, false);
        }
        Ok(())
    }

    /// Closes the current frame and returns the data of the call. The caller's frame is current again; the callee's
    /// bytes stay until [`Lane::cut`].
    pub fn leave(&mut self) -> Option<CallFrame> {
        let call = self.calls.pop()?;
        self.base = call.base;
        self.frame = call.frame;
        self.frame_end = call.frame_end;
        Some(call)
    }

    /// Frees the callee's local memory.
    pub fn cut(&mut self, call: &CallFrame) {
        self.local.truncate(call.top as usize);
    }

    /// Allocates local memory on the stack until the function returns.
    pub fn allocate(&mut self, size: u64, align: u64) -> Result<u64, Fault> {
        let start = (self.local.len() as u64).next_multiple_of(align);
        let end = start.saturating_add(size);
        if end > u64::from(LOCAL_LIMIT) {
            return Err(Fault::new(FaultKind::StackOverflow, "local memory is used up"));
        }
        self.local.resize(end as usize, self.fill);
        Ok(start)
    }

    /// Frees local memory down to a saved stack top.
    pub fn restore(&mut self, top: u64) {
        if top >= u64::from(self.frame_end) && top <= self.local.len() as u64 {
            self.local.truncate(top as usize);
        }
    }

    fn special(&self, register: SpecialRegister, lane: u32, specials: &SpecialValues) -> u64 {
        use SpecialRegister::*;
        let mask = match register {
            LanemaskEq => Some(1u64 << lane),
            LanemaskLt => Some((1 << lane) - 1),
            LanemaskLe => Some((2 << lane) - 1),
            LanemaskGe => Some(u64::from(u32::MAX) << lane),
            LanemaskGt => Some((u64::from(u32::MAX) << lane) << 1),
            _ => None,
        };
        if let Some(mask) = mask {
            return mask & u64::from(u32::MAX);
        }
        let threads = specials.block.iter().product::<u32>();
        let cluster = specials.cluster;
        let block = specials.block_index;
        // Place of the block in its cluster, and of the cluster in the grid.
        let inner = |axis: usize| block[axis] % cluster[axis];
        let outer = |axis: usize| block[axis] / cluster[axis];
        let small = match register {
            TidX => self.thread[0],
            TidY => self.thread[1],
            TidZ => self.thread[2],
            NtidX => specials.block[0],
            NtidY => specials.block[1],
            NtidZ => specials.block[2],
            CtaidX => block[0],
            CtaidY => block[1],
            CtaidZ => block[2],
            NctaidX => specials.grid[0],
            NctaidY => specials.grid[1],
            NctaidZ => specials.grid[2],
            ClusterIdX => outer(0),
            ClusterIdY => outer(1),
            ClusterIdZ => outer(2),
            NclusterIdX => specials.grid[0] / cluster[0],
            NclusterIdY => specials.grid[1] / cluster[1],
            NclusterIdZ => specials.grid[2] / cluster[2],
            ClusterCtaidX => inner(0),
            ClusterCtaidY => inner(1),
            ClusterCtaidZ => inner(2),
            ClusterNctaidX => cluster[0],
            ClusterNctaidY => cluster[1],
            ClusterNctaidZ => cluster[2],
            ClusterCtarank => inner(0) + cluster[0] * (inner(1) + cluster[1] * inner(2)),
            ClusterNctarank => cluster.iter().product(),
            IsExplicitCluster => u32::from(specials.explicit_cluster),
            Nsmid => 1,
            Laneid => lane,
            Warpid => specials.warp,
            // As many warps as an SM holds.
            Nwarpid => threads.div_ceil(32).max(64),
            TotalSmemSize | AggrSmemSize => specials.shared.0,
            DynamicSmemSize => specials.shared.1,
            Clock | GlobaltimerLo => specials.clock as u32,
            ClockHi | GlobaltimerHi => (specials.clock >> 32) as u32,
            Clock64 | Globaltimer => return specials.clock,
            Gridid => return 1,
            _ => 0,
        };
        u64::from(small)
    }
}
