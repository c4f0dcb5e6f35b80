//! Input and output of the simulator: plain data.

use oriole_machine_model::texture::Opaque;
use oriole_sass::{DecodeError, RegisterFile};

/// A kernel launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Launch {
    /// Name of the kernel.
    pub kernel: String,
    /// Blocks of the grid.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Blocks of a cluster; if not given, the kernel's cluster size, or no clusters.
    pub cluster: Option<[u32; 3]>,
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// One argument for each parameter, in order.
    pub arguments: Vec<Argument>,
    /// Textures, samplers and surfaces that the module declares, by name.
    pub bindings: Vec<(String, Opaque)>,
    /// Limits and switches.
    pub options: Options,
}

/// An argument of a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Argument {
    /// A buffer in global memory with these initial bytes; the parameter is its address.
    Buffer(Vec<u8>),
    /// The bytes of the parameter itself, of its size.
    Value(Vec<u8>),
    /// The address of the buffer that is the argument with this index, an earlier one.
    Alias(usize),
    /// These bytes, a tensor map: its address in the first eight bytes is relative to the buffer that is the argument
    /// with this index.
    Map(usize, Vec<u8>),
    /// A texture, sampler or surface; the parameter is its handle.
    Object(Opaque),
}

/// Limits and switches of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// Most warp instructions that all blocks together may issue.
    pub step_limit: u64,
    /// Seed of the perturbation of approximate instructions within their published error; `None` gives the correctly
    /// rounded result.
    pub perturb: Option<u64>,
    /// Look for scheduling hazards.
    pub check_hazards: bool,
    /// Delay each result as long as the control words allow.
    pub late_results: bool,
    /// Addresses of the buffers, those of arguments in order and then the extra ones; ascending. Where they are missing,
    /// the simulator chooses.
    pub places: Vec<u64>,
    /// Buffers that no parameter names.
    pub extra: Vec<Vec<u8>>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            step_limit: 200_000_000,
            perturb: None,
            check_hazards: true,
            late_results: false,
            places: Vec::new(),
            extra: Vec::new(),
        }
    }
}

/// The outcome of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Outcome {
    /// The bytes of every buffer or surface argument after the run, in order.
    pub buffers: Vec<Vec<u8>>,
    /// The extra buffers after the run.
    pub extra: Vec<Vec<u8>>,
    /// The variables of the module in global memory after the run, by the names of their symbols.
    pub variables: Vec<(String, Vec<u8>)>,
    /// Warp instructions issued.
    pub instructions: u64,
    /// Estimated cycles: the blocks one after the other, the warps of a block side by side.
    pub cycles: u64,
    /// Scheduling hazards, each pair of places once, in order of first occurrence.
    pub hazards: Vec<Hazard>,
    /// The reason why the run ended early, if it did.
    pub error: Option<Error>,
}

/// A scheduling hazard: the result of the program depends on the speed of the hardware.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Hazard {
    /// Kernel.
    pub kernel: String,
    /// Offset in bytes of the instruction that comes too early.
    pub pc: u32,
    /// Offset in bytes of the instruction that it conflicts with.
    pub other: u32,
    /// The kind of the hazard.
    pub kind: HazardKind,
    /// The register.
    pub file: RegisterFile,
    /// The index of the register.
    pub register: u8,
    /// Actual issue cycles between the two, for distances.
    pub distance: u32,
    /// Required issue cycles, for distances.
    pub needed: u32,
}

/// Kinds of hazards.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum HazardKind {
    /// A register is read before a fixed-latency result is visible.
    ReadTooEarly,
    /// A register is read without waiting for the scoreboard of a variable-latency result.
    ReadWithoutWait,
    /// A register is written while an earlier fixed-latency write is in flight.
    WriteTooEarly,
    /// A register is written without waiting for the scoreboard of an earlier variable-latency write.
    WriteWithoutWait,
    /// A register is overwritten while an earlier instruction may still have to read it.
    OverwriteUnread,
    /// A scoreboard is waited for in the cycle after it was set, when the setting is not yet visible.
    WaitTooEarly,
    /// The stall of a branch or the like is shorter than such an instruction takes; no register is involved.
    StallTooShort,
    /// An instruction is too close to an earlier one; no register is involved.
    TooClose,
    /// A register is named beyond the kernel's allocation, or one that the hardware reserves.
    NotAllocated,
    /// A register is read from the operand cache, which holds an earlier value.
    KeptTooLong,
    /// An MMA of a warp group uses a register that was written since the last fence before MMAs.
    WithoutFence,
    /// A uniform register is read by lanes that did not take part in writing it.
    UniformDivergent,
    /// Lanes act together while divergent lanes are missing; no register is involved.
    LanesApart,
    /// A bulk copy or an MMA of a warp group reads data that threads wrote, without a proxy fence; no register is
    /// involved.
    ProxyFenceMissing,
    /// Shared memory is overwritten before a wait for the copy that reads it.
    SourceOverwritten,
    /// Shared memory is used before the mbarrier of the copy to it has completed, or before the wait for the copy.
    CopyNotArrived,
    /// A copy overwrites shared memory that other threads may still use: no synchronization orders them.
    TargetInUse,
    /// Tensor memory is used before the mbarrier of the operation that writes it has completed.
    ResultNotThere,
    /// Tensor memory is overwritten that an operation may still read.
    OperandOverwritten,
    /// Tensor memory is used before its load or store has been waited for, or before other threads know of that wait.
    AccessGoingOn,
}

impl std::fmt::Display for Hazard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let file = match self.file {
            RegisterFile::General => "R",
            RegisterFile::Uniform => "UR",
            RegisterFile::Predicate => "P",
            RegisterFile::UniformPredicate => "UP",
            RegisterFile::Barrier => "B",
        };
        let (kernel, pc, other, register) = (&self.kernel, self.pc, self.other, self.register);
        match self.kind {
            HazardKind::ReadTooEarly => write!(
                f,
                "{kernel}+{pc:#x}: reads {file}{register} {} cycles after {other:#x}, {} are needed",
                self.distance, self.needed
            ),
            HazardKind::WriteTooEarly => write!(
                f,
                "{kernel}+{pc:#x}: writes {file}{register} {} cycles after {other:#x}, {} are needed",
                self.distance, self.needed
            ),
            HazardKind::ReadWithoutWait => {
                write!(f, "{kernel}+{pc:#x}: reads {file}{register} of {other:#x} without waiting for it")
            }
            HazardKind::WriteWithoutWait => {
                write!(
                    f,
                    "{kernel}+{pc:#x}: overwrites {file}{register} of {other:#x} without waiting for it"
                )
            }
            HazardKind::OverwriteUnread => {
                write!(f, "{kernel}+{pc:#x}: overwrites {file}{register}, which {other:#x} may not have read")
            }
            HazardKind::WaitTooEarly => {
                write!(
                    f,
                    "{kernel}+{pc:#x}: waits for SB{register} {} cycle after {other:#x} set it",
                    self.distance
                )
            }
            HazardKind::StallTooShort => {
                write!(f, "{kernel}+{pc:#x}: stalls {} cycles, {} are needed", self.distance, self.needed)
            }
            HazardKind::TooClose => {
                write!(
                    f,
                    "{kernel}+{pc:#x}: comes {} cycles after {other:#x}, {} are needed",
                    self.distance, self.needed
                )
            }
            HazardKind::NotAllocated => {
                write!(f, "{kernel}+{pc:#x}: names R{register}, code may name {} registers", self.needed)
            }
            HazardKind::KeptTooLong => {
                write!(
                    f,
                    "{kernel}+{pc:#x}: reads {file}{register} as {other:#x} kept it, before it was overwritten"
                )
            }
            HazardKind::WithoutFence => {
                write!(
                    f,
                    "{kernel}+{pc:#x}: uses {file}{register} without a fence, it is written at {other:#x}"
                )
            }
            HazardKind::UniformDivergent => {
                write!(f, "{kernel}+{pc:#x}: reads {file}{register}, which other lanes wrote last")
            }
            HazardKind::LanesApart => {
                write!(
                    f,
                    "{kernel}+{pc:#x}: acts for lanes together, and those that went another way at {other:#x} are not there"
                )
            }
            HazardKind::ProxyFenceMissing => {
                write!(
                    f,
                    "{kernel}+{pc:#x}: reads past the threads what {other:#x} wrote, without a fence for that"
                )
            }
            HazardKind::SourceOverwritten => {
                write!(
                    f,
                    "{kernel}+{pc:#x}: overwrites shared memory that the copy of {other:#x} may not have read"
                )
            }
            HazardKind::CopyNotArrived => {
                write!(
                    f,
                    "{kernel}+{pc:#x}: uses shared memory that the copy of {other:#x} may not have written"
                )
            }
            HazardKind::TargetInUse => {
                write!(f, "{kernel}+{pc:#x}: copies over shared memory that {other:#x} may still use")
            }
            HazardKind::ResultNotThere => {
                write!(f, "{kernel}+{pc:#x}: uses tensor memory that {other:#x} may not have written")
            }
            HazardKind::OperandOverwritten => {
                write!(f, "{kernel}+{pc:#x}: overwrites tensor memory that {other:#x} may still read")
            }
            HazardKind::AccessGoingOn => {
                write!(f, "{kernel}+{pc:#x}: uses tensor memory whose access by {other:#x} may be in flight")
            }
        }
    }
}

/// An error of a run, with its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    /// The fault.
    pub fault: Fault,
    /// Offset in bytes of the instruction, if there is one.
    pub pc: Option<u32>,
    /// Block.
    pub block: [u32; 3],
    /// Linear index of the thread in its block, if there is one.
    pub thread: Option<u32>,
}

/// The kinds of faults.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The chip of the file is not simulated.
    Chip(u16),
    /// The file has no such kernel.
    NoKernel(String),
    /// The launch does not fit the kernel or the chip.
    Launch(String),
    /// A word is not an instruction.
    Decode(DecodeError),
    /// The instruction, or this form of it, is not simulated.
    NotSimulated(String),
    /// An access outside every memory that the thread may touch.
    OutOfBounds {
        /// Name of the space.
        space: &'static str,
        /// Address.
        address: u64,
        /// Bytes.
        size: u32,
    },
    /// An address is not a multiple of the access's size.
    Misaligned {
        /// Name of the space.
        space: &'static str,
        /// Address.
        address: u64,
        /// Bytes.
        size: u32,
    },
    /// A tensor map is invalid, or is not simulated.
    Tensor(String),
    /// Shared memory at this address changed while an MMA was reading it.
    Changed(u64),
    /// The program counter left the code.
    RunAway,
    /// The kernel trapped.
    Trap,
    /// An assertion of the kernel failed.
    Assertion(String),
    /// The heap has no allocation at this freed address.
    NotAllocated(u64),
    /// A register is used that is not allocated to the thread, or no longer.
    NoRegister {
        /// Its index.
        register: u8,
        /// Number of registers that code may name: those allocated to a thread, without the ones that the hardware
        /// reserves.
        count: u32,
    },
    /// A thread releases registers and keeps more than it has.
    RegistersRaised {
        /// Number of registers requested.
        asked: u32,
        /// Number of registers allocated.
        held: u32,
    },
    /// An mbarrier is used in an invalid way.
    BarrierObject(String),
    /// Tensor memory is used in an invalid way.
    TensorMemory(String),
    /// No thread can continue.
    Deadlock,
    /// The step limit was reached.
    StepLimit,
    /// The observer ended the run.
    Stopped,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Fault::Chip(sm) => write!(f, "sm_{sm} is not simulated"),
            Fault::NoKernel(name) => write!(f, "no kernel '{name}'"),
            Fault::Launch(text) => write!(f, "{text}"),
            Fault::Decode(error) => error.fmt(f),
            Fault::NotSimulated(text) => write!(f, "not simulated: {text}"),
            Fault::OutOfBounds { space, address, size } => {
                write!(f, "{space} access of {size} bytes at {address:#x} is out of bounds")
            }
            Fault::Changed(address) => {
                write!(f, "shared memory at {address:#x} changed while a matrix multiply was reading it")
            }
            Fault::Misaligned { space, address, size } => {
                write!(f, "{space} access of {size} bytes at {address:#x} is not aligned")
            }
            Fault::Tensor(text) => write!(f, "the tensor map: {text}"),
            Fault::RunAway => write!(f, "the program counter left the code"),
            Fault::Trap => write!(f, "trap"),
            Fault::Assertion(text) => write!(f, "{text}"),
            Fault::NotAllocated(address) => write!(f, "free of {address:#x}, which malloc did not give"),
            Fault::NoRegister { register, count } => {
                write!(f, "R{register} is used where code may name {count} registers")
            }
            Fault::RegistersRaised { asked, held } => {
                write!(f, "registers are given back down to {asked} where a thread has {held}")
            }
            Fault::BarrierObject(text) | Fault::TensorMemory(text) => write!(f, "{text}"),
            Fault::Deadlock => write!(f, "deadlock: every thread waits"),
            Fault::StepLimit => write!(f, "the step limit was reached"),
            Fault::Stopped => write!(f, "the run was given up"),
        }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(pc) = self.pc {
            write!(f, "at {pc:#x}, ")?;
        }
        write!(f, "block {:?}", self.block)?;
        if let Some(thread) = self.thread {
            write!(f, ", thread {thread}")?;
        }
        write!(f, ": {}", self.fault)
    }
}

impl std::error::Error for Error {}
