//! The parameters of the model for one chip: the types of a row. The rows are in `tables`; each number has an origin.
//!
//! Facts of a chip that other stages also have (latencies of fixed-latency results, issue intervals, limits of an SM) are in
//! `latency` and `chip` and do not enter here.

/// Where a number comes from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Origin {
    /// Measured on the chip with our own kernels (`docs/measurements.md`).
    Measured,
    /// Stated by the vendor or by a published measurement.
    Published,
    /// Chosen: like a similar chip, or a plausible value.
    Guessed,
}

/// A number with its origin.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Number {
    /// The number.
    pub value: f64,
    /// Its origin.
    pub origin: Origin,
}

impl Number {
    pub(crate) const fn published(value: f64) -> Number {
        Number { value, origin: Origin::Published }
    }

    pub(crate) const fn guessed(value: f64) -> Number {
        Number { value, origin: Origin::Guessed }
    }

    pub(crate) const fn measured(value: f64) -> Number {
        Number { value, origin: Origin::Measured }
    }

    /// In whole cycles.
    pub(crate) fn cycles(self) -> u64 {
        self.value as u64
    }
}

/// The parameters of a chip, as a product that has it.
#[derive(Clone, Copy, Debug)]
pub struct Parameters {
    /// SM numbers of the chips.
    pub chips: &'static [u8],
    /// The product whose numbers these are.
    pub product: &'static str,
    /// SMs.
    pub sms: Number,
    /// Clock of the SMs under load, MHz.
    pub clock: Number,
    /// KiB of the memory that L1 and shared memory divide among them.
    pub l1: Number,
    /// MiB of the L2 cache.
    pub l2: Number,
    /// Bytes that all of L2 delivers in a cycle of an SM.
    pub l2_rate: Number,
    /// Bytes that one SM takes from L2 in a cycle.
    pub port: Number,
    /// Bandwidth of the device memory, GB/s.
    pub dram: Number,
    /// Share of it that streams reach.
    pub dram_share: Number,
    /// Cycles from the issue of a load to its use: shared memory.
    pub shared_latency: Number,
    /// The same for a hit in L1.
    pub l1_latency: Number,
    /// The same for a hit in L2.
    pub l2_latency: Number,
    /// The same for device memory.
    pub dram_latency: Number,
    /// Cycles in which the unit of loads and stores passes 32 lanes of four bytes.
    pub wavefront: Number,
    /// Cycles for which a 64-bit floating-point instruction of a warp keeps the unit that a whole SM shares; zero where
    /// each quarter has its own, with the interval of the latency table.
    pub double: Number,
    /// Cycles between two transcendental functions of a quarter.
    pub special: Number,
    /// Cycles for each lane of an atomic operation on one address in shared memory.
    pub shared_atomic: Number,
    /// The same for a swap that compares and returns the old value: lanes at one address read and write in turn.
    pub shared_swap: Number,
    /// Slices of L2, each of which does one atomic operation at a time.
    pub slices: Number,
    /// Cycles for each lane of an atomic operation on one address in L2.
    pub global_atomic: Number,
    /// Cycles from an atomic operation on global memory to its result, without contention.
    pub atomic_latency: Number,
    /// Cycles that a taken branch costs beyond its stall.
    pub branch: Number,
    /// Cycles that the first use of 128 bytes of code costs an SM.
    pub fetch: Number,
    /// Cycles from the last arrival at a barrier of the block until its warps continue.
    pub barrier: Number,
    /// Cycles from the end of a block to the first instruction of the next one in its place.
    pub launch: Number,
}

impl Parameters {
    /// Bytes of device memory in a cycle.
    pub fn dram_rate(&self) -> f64 {
        self.dram.value * 1000.0 * self.dram_share.value / self.clock.value
    }

    /// Each number with its name, for reports.
    pub fn listed(&self) -> [(&'static str, Number); 25] {
        [
            ("SMs", self.sms),
            ("clock (MHz)", self.clock),
            ("L1 and shared memory (KiB)", self.l1),
            ("L2 (MiB)", self.l2),
            ("L2 (bytes a cycle)", self.l2_rate),
            ("L2 to one SM (bytes a cycle)", self.port),
            ("device memory (GB/s)", self.dram),
            ("share of it that streams reach", self.dram_share),
            ("latency of shared memory", self.shared_latency),
            ("latency of L1", self.l1_latency),
            ("latency of L2", self.l2_latency),
            ("latency of device memory", self.dram_latency),
            ("cycles of a wavefront", self.wavefront),
            ("cycles of f64 for an SM, 0: by quarter", self.double),
            ("cycles of a special function", self.special),
            ("cycles of a lane of a shared atomic", self.shared_atomic),
            ("cycles of a lane of a shared swap", self.shared_swap),
            ("slices of L2", self.slices),
            ("cycles of a lane of a global atomic", self.global_atomic),
            ("latency of a global atomic", self.atomic_latency),
            ("cycles of a taken branch", self.branch),
            ("cycles of the first fetch of 128 bytes", self.fetch),
            ("cycles of a barrier", self.barrier),
            ("cycles from block to block", self.launch),
            ("device memory (bytes a cycle)", Number { value: self.dram_rate(), origin: self.dram.origin }),
        ]
    }
}
