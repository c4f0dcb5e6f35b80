//! The columns of the opcode table: the facts that each row states, and how modifiers choose among them.

use crate::role::Slot;
use crate::{Mod, Mods, Op};

/// A scheduling class. Instructions of one class share their pipe and their distances.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Class {
    /// Integer, logic, compare, select, move.
    Alu,
    /// 32-bit multiply-add, floating or integer.
    Fma,
    /// `VIADD`: dispatched to the multiply-add side.
    Dual,
    /// `IMAD.WIDE`, whose two result halves arrive at different times, and `IMAD.HI`.
    Wide,
    /// Packed f16 arithmetic.
    Half,
    /// `HADD2.F32`, an f16 widened to f32: in the f16 unit, but without its short internal latency.
    HalfToSingle,
    /// Packed f16 compare, min/max, set.
    HalfAlu,
    /// `HFMA2.MMA`: packed f16 arithmetic in the matrix unit.
    HalfMma,
    /// `P2R` and `R2P`: the predicate file as a mask.
    Mask,
    /// 64-bit floating.
    Double,
    /// `CS2R` of 64 bits.
    Dispatch64,
    /// 64-bit integer operations: adds, comparisons, selects, moves.
    Long,
    /// Matrix multiply of 8x8x16 integers.
    Matrix88,
    /// Floating-point MMA in one step.
    MatrixOne,
    /// Matrix multiply of integers or bits in one step; its sources take the result of another one later.
    MatrixOneInteger,
    /// Matrix multiply in two steps.
    MatrixTwo,
    /// f64 MMA; reports by scoreboard.
    MatrixDouble,
    /// Matrix multiply of a warp group; reports by `WARPGROUP.DEPBAR`.
    Group,
    /// Special functions and conversions; reports by scoreboard.
    Special,
    /// Loads, stores, atomics, shuffles; reports by scoreboard.
    Memory,
    /// Textures and surfaces; reports by scoreboard.
    Texture,
    /// Bulk copies and other asynchronous engines; reports by scoreboard.
    Bulk,
    /// Transactions on barriers in shared memory; reports by scoreboard.
    Sync,
    /// Fences and barriers of the block.
    Fence,
    /// Reads of special registers through the slow path; reports by scoreboard.
    SpecialRegister,
    /// General to uniform register.
    ToUniform,
    /// Uniform arithmetic.
    Uniform,
    /// `ULDC`.
    UniformLoad,
    /// `UMOV`.
    UniformMove,
    /// `VOTEU` and `ELECT`.
    UniformVote,
    /// Branches and convergence barriers.
    Control,
    /// Fixed latency, but no known distance: always the longest.
    Other,
}

/// One of the ten units that instructions compete for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Unit {
    /// Integer, logic, compare.
    Alu,
    /// 32-bit and packed f16 multiply-add.
    Fma,
    /// f64.
    Double,
    /// Matrices.
    Tensor,
    /// Loads and stores.
    LoadStore,
    /// Textures and surfaces.
    Texture,
    /// Branches, barriers, fences.
    Control,
    /// Shared memory.
    Shared,
    /// Special functions and conversions.
    Special,
    /// The uniform datapath.
    Uniform,
}

impl Unit {
    /// All of them, by index.
    pub const ALL: [Unit; 10] = [
        Unit::Alu,
        Unit::Fma,
        Unit::Double,
        Unit::Tensor,
        Unit::LoadStore,
        Unit::Texture,
        Unit::Control,
        Unit::Shared,
        Unit::Special,
        Unit::Uniform,
    ];

    /// The short name.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Alu => "ALU",
            Unit::Fma => "FMA",
            Unit::Double => "DFMA",
            Unit::Tensor => "MMA",
            Unit::LoadStore => "LSU",
            Unit::Texture => "TEX",
            Unit::Control => "BRA",
            Unit::Shared => "SMEM",
            Unit::Special => "SFU",
            Unit::Uniform => "UDP",
        }
    }
}

/// Side effects of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Effect {
    /// None: its results in a lane depend only on the operands in that lane (and constant banks).
    Pure,
    /// Pure, on the uniform datapath.
    PureUniform,
    /// Reads a special register.
    Register,
    /// Copies between a register and predicates that its operands do not name one by one.
    Predicates,
    /// Reads other machine state; no effect but its results.
    Query,
    /// Its results depend on other lanes; no effect but its results.
    Collective,
    /// Reads memory.
    Load,
    /// Writes memory.
    Store,
    /// Reads and writes memory in one.
    Atomic,
    /// Starts something that completes later: copies, matrix multiplies of a warp group.
    Asynchronous,
    /// Orders memory, or waits until operations are complete.
    Fence,
    /// Thread synchronization.
    Synchronize,
    /// Goes elsewhere in the function.
    Branch,
    /// Calls a function.
    Call,
    /// Ends the thread or leaves the function.
    Leave,
    /// Other effects: nothing may be assumed.
    Other,
}

/// Memory that loads, stores and atomic operations reach.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names of PTX")]
pub enum Space {
    Generic,
    Global,
    Shared,
    Local,
    Surface,
}

/// Allowed values of a scoreboard field.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Scoreboard {
    /// Nothing.
    No,
    /// A scoreboard is accepted, but no wait for it is required.
    May,
    /// Dependent instructions wait for it, where its class has variable latency.
    Yes,
    /// Always set; it reports that the fence is complete.
    Fence,
}

/// A unit in which instructions complete in issue order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Queue {
    /// Transcendental functions and conversions.
    Special,
    /// Shared memory and exchanges.
    Shared,
    /// Textures.
    Texture,
    /// Constant banks.
    Constant,
    /// Special registers.
    SpecialRegister,
    /// 64-bit floating, where its results are reported by scoreboard.
    Double,
    /// Each opcode for itself.
    Own,
}

/// Type of a source.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SourceType {
    /// A 32-bit integer or bits.
    Word,
    /// f32.
    Single,
    /// An f64 in a register pair.
    Double,
    /// f16x2.
    Halves,
    /// A predicate.
    Predicate,
    /// Another kind: only a register may replace it.
    Other,
}

/// The types of the sources of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SourceTypes {
    /// The first ones.
    pub first: &'static [SourceType],
    /// All further sources.
    pub rest: SourceType,
}

/// Address syntax of the disassembler, where an opcode deviates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TextQuirks {
    /// An offset without a register keeps its sign.
    pub signed_offset: bool,
    /// The scale of a base that is `RZ` is not written.
    pub scaled_base: bool,
    /// `URZ` in an address is written unless the address is wide.
    pub zero_uniform: bool,
    /// The register after that of an address is written as an address of its own.
    pub next_register: bool,
}

/// A condition on modifiers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct When {
    /// One of each of these lists must be present.
    pub each: &'static [&'static [Mod]],
    /// Modifiers that must be absent.
    pub none: &'static [Mod],
}

impl When {
    /// Whether modifiers meet it.
    pub fn holds(&self, mods: &Mods) -> bool {
        self.each.iter().all(|list| list.iter().any(|&m| mods.has(m)))
            && !self.none.iter().any(|&m| mods.has(m))
    }
}

/// A value that may depend on modifiers: the first matching row counts.
pub type Choice<T> = &'static [(When, T)];

#[inline]
fn choose<T: Copy>(rows: Choice<T>, mods: &Mods) -> Option<T> {
    if let [(When { each: [], none: [] }, value)] = rows {
        return Some(*value);
    }
    rows.iter().find(|(when, _)| when.holds(mods)).map(|&(_, value)| value)
}

/// Chip-independent properties of an opcode.
#[derive(Debug)]
pub struct OpInfo {
    /// Its scheduling class by modifiers.
    pub class: Choice<Class>,
    /// The units that it keeps busy.
    pub units: &'static [Unit],
    /// Its side effect.
    pub effect: Effect,
    /// Memory space of a load, store or atomic operation.
    pub space: Option<Space>,
    /// The set of active lanes matters.
    pub convergent: bool,
    /// A converged warp executes it with all lanes at once: convergent, but lanes do not wait at another such
    /// instruction.
    pub aligned: bool,
    /// The scoreboard for its results.
    pub write_scoreboard: Scoreboard,
    /// The scoreboard for its sources.
    pub read_scoreboard: Scoreboard,
    /// The least stall, whatever follows.
    pub least_stall: u8,
    /// Cycles until a variable result arrives, for priorities only.
    pub estimate: u16,
    /// The unit in which it completes in order.
    pub queue: Queue,
    /// The scoreboard that counts its groups.
    pub counted_scoreboard: Option<u8>,
    /// Role of a plain general register source, other than accumulators and wide addends.
    pub general_role: Slot,
    /// Role of a plain uniform register source.
    pub uniform_role: Slot,
    /// Its predicate operands are read as late as a guard.
    pub slow_predicates: bool,
    pub(super) sources: Choice<SourceTypes>,
    pub(super) commutes: Choice<u8>,
    pub(super) partial: Choice<bool>,
    /// The equivalent opcode on the uniform datapath.
    pub uniform: Option<Op>,
    /// The cubin lists it with its member mask, for the driver.
    pub warp_wide: bool,
    /// It counts as a multiply-add.
    pub multiply_add: bool,
    /// It may take its target from a register; the text has register and distance without a comma between them.
    pub indirect: bool,
    /// Deviations of its text.
    pub text: TextQuirks,
}

impl OpInfo {
    /// The scheduling class. A chip may have exceptions: its latency table says so.
    #[inline]
    pub fn class(&self, mods: &Mods) -> Class {
        choose(self.class, mods).unwrap_or(Class::Other)
    }

    /// The type of the source with this index.
    #[inline]
    pub fn source(&self, mods: &Mods, index: usize) -> SourceType {
        choose(self.sources, mods)
            .map_or(SourceType::Other, |types| types.first.get(index).copied().unwrap_or(types.rest))
    }

    /// True if results keep their old content in lanes that the instruction leaves out, whatever its guard. Of a pair
    /// of loads that fill the lanes of one register this is the second one; other lanes are undefined after the
    /// first.
    #[inline]
    pub fn is_partial(&self, mods: &Mods) -> bool {
        choose(self.partial, mods).unwrap_or(false)
    }

    /// Count of leading sources that commute; 0 if none.
    pub fn commutes(&self, mods: &Mods) -> usize {
        choose(self.commutes, mods).map_or(0, usize::from)
    }
}
