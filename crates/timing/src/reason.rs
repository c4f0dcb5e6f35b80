//! Why warps did not issue: the reasons, and the cycles of each instruction by reason.

/// Why a warp did not issue its next instruction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Reason {
    /// The stall of the instruction before: a dependence of fixed latency.
    Stall,
    /// A branch was taken, or code was fetched for the first time.
    Fetch,
    /// A scoreboard of global or local memory.
    Memory,
    /// A scoreboard of an atomic operation on global memory.
    Atomic,
    /// A scoreboard of shared memory or of an exchange between lanes.
    Shared,
    /// Another scoreboard: special functions, constants, special registers.
    Scoreboard,
    /// A barrier of the block or the cluster, or an mbarrier.
    Barrier,
    /// Its unit, or the banks of registers, are busy.
    Unit,
    /// The unit of loads and stores takes nothing more.
    Throttle,
    /// Another warp was issued.
    NotSelected,
}

/// Count of reasons.
pub const REASONS: usize = 10;

impl Reason {
    /// All of them, by index.
    pub const ALL: [Reason; REASONS] = [
        Reason::Stall,
        Reason::Fetch,
        Reason::Memory,
        Reason::Atomic,
        Reason::Shared,
        Reason::Scoreboard,
        Reason::Barrier,
        Reason::Unit,
        Reason::Throttle,
        Reason::NotSelected,
    ];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Stall => "stall",
            Reason::Fetch => "fetch",
            Reason::Memory => "memory",
            Reason::Atomic => "atomic",
            Reason::Shared => "shared",
            Reason::Scoreboard => "scoreboard",
            Reason::Barrier => "barrier",
            Reason::Unit => "unit",
            Reason::Throttle => "throttle",
            Reason::NotSelected => "not-selected",
        }
    }
}

/// The time of one instruction, over all simulated warps.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Line {
    /// Offset in bytes.
    pub address: u32,
    /// Mnemonic and modifiers.
    pub text: String,
    /// How often a warp issued it.
    pub issued: u64,
    /// Cycles for which warps waited before it, by [`Reason`].
    pub waited: [u64; REASONS],
    /// The instruction whose scoreboard it waited for longest, by its index, if that was more than half of those waits.
    pub awaited: Option<u32>,
    /// By how many cycles that is more than all others.
    pub(crate) lead: u64,
    /// Cycles for which warps waited for a scoreboard that it had set, at instructions after it.
    pub caused: u64,
    /// Lanes at its place when it was issued, those under a guard that does not hold included, added up.
    pub lanes: u64,
    /// How often it acted in some lane, and the lanes in which it acted.
    pub acted: u64,
    /// Lanes in which it acted, added up.
    pub active: u64,
}

impl Line {
    /// Counts cycles that it waited for a scoreboard that an instruction had set.
    pub(crate) fn await_for(&mut self, setter: u32, cycles: u64) {
        if self.awaited == Some(setter) {
            self.lead += cycles;
        } else if cycles > self.lead {
            (self.awaited, self.lead) = (Some(setter), cycles - self.lead);
        } else {
            self.lead -= cycles;
        }
    }
}
