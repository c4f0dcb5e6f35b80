//! What the simulator is asked and what it answers: plain data.

use oriole_chip::texture::Opaque;
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
    /// Blocks of a cluster; if not given, what the kernel asks for, or no clusters.
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
    /// The bytes of the parameter itself, as many as it has.
    Value(Vec<u8>),
    /// The address of the buffer that is argument number N, an earlier one.
    Alias(usize),
    /// These bytes, a tensor map: the number in the first eight counts from the buffer that is argument number N.
    Map(usize, Vec<u8>),
    /// A texture, sampler or surface; the parameter is its handle.
    Object(Opaque),
}

/// Limits and switches of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// Most warp instructions that all blocks together may issue.
    pub step_limit: u64,
    /// Seed of the disturbance of approximate instructions within their published error; `None` gives the result
    /// nearest to the exact one.
    pub perturb: Option<u64>,
    /// Look for scheduling hazards.
    pub check_hazards: bool,
    /// Let each result come as late as the control words allow.
    pub late_results: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { step_limit: 200_000_000, perturb: None, check_hazards: true, late_results: false }
    }
}

/// What a run gave.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Outcome {
    /// The bytes of every argument that is a buffer or a surface after the run, in order.
    pub buffers: Vec<Vec<u8>>,
    /// Warp instructions issued.
    pub instructions: u64,
    /// Estimated cycles: the blocks one after the other, the warps of a block side by side.
    pub cycles: u64,
    /// Scheduling hazards, each pair of places once, in order of first occurrence.
    pub hazards: Vec<Hazard>,
    /// Why the run ended early, if it did.
    pub error: Option<Error>,
}

/// A scheduling hazard: the result of the program depends on how fast the machine happens to be.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Hazard {
    /// Kernel.
    pub kernel: String,
    /// Offset in bytes of the instruction that comes too early.
    pub pc: u32,
    /// Offset in bytes of the instruction that it conflicts with.
    pub other: u32,
    /// What goes wrong.
    pub kind: HazardKind,
    /// The register.
    pub file: RegisterFile,
    /// Its number.
    pub register: u8,
    /// Issue cycles between the two, for distances.
    pub distance: u32,
    /// Issue cycles needed, for distances.
    pub needed: u32,
}

/// Kinds of hazards.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum HazardKind {
    /// A register is read before a fixed-latency result is visible.
    ReadTooEarly,
    /// A register is read without waiting for the scoreboard of a variable-latency result.
    ReadWithoutWait,
    /// A register is written while an earlier fixed-latency write is under way.
    WriteTooEarly,
    /// A register is written without waiting for the scoreboard of an earlier variable-latency write.
    WriteWithoutWait,
    /// A register is overwritten while an earlier instruction may still have to read it.
    OverwriteUnread,
    /// A scoreboard is waited for in the cycle after it was set, when the setting is not yet visible.
    WaitTooEarly,
    /// The stall of a branch or the like is shorter than such an instruction takes; no register is concerned.
    StallTooShort,
    /// An instruction comes too early behind another one to which it keeps a distance; no register is concerned.
    TooClose,
    /// A register is named that the kernel does not ask for, or that the hardware keeps for itself.
    NotAllocated,
    /// A register is read from the operand cache, where an earlier value of it was kept.
    KeptTooLong,
    /// A product of a warp group uses a register that was written since the last fence before products.
    WithoutFence,
    /// A uniform register is read by lanes that did not take part in writing it.
    UniformDivergent,
    /// Lanes act together while others that took another way out of an instruction are not there; no register is concerned.
    LanesApart,
    /// A bulk copy or a product of a warp group reads what threads wrote, with no fence between the two ways to memory; no
    /// register is concerned.
    ProxyFenceMissing,
    /// Shared memory is overwritten whose copy nobody has waited for.
    SourceOverwritten,
    /// Shared memory is used before the barrier object of the copy to it, or the wait for it, told that it is there.
    CopyNotArrived,
    /// A copy overwrites shared memory that others may still use: nothing orders them.
    TargetInUse,
    /// Tensor memory is used before the barrier object of the operation that writes it told that it is through.
    ResultNotThere,
    /// Tensor memory is overwritten that an operation may still read.
    OperandOverwritten,
    /// Tensor memory is used whose load or store has not been waited for, or not told of.
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
    /// What went wrong.
    pub fault: Fault,
    /// Offset in bytes of the instruction, where there is one.
    pub pc: Option<u32>,
    /// Block.
    pub block: [u32; 3],
    /// Linear number of the thread in its block, where there is one.
    pub thread: Option<u32>,
}

/// What can go wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The chip of the file is not simulated.
    Chip(u16),
    /// The file has no such kernel.
    NoKernel(String),
    /// The launch does not fit the kernel or the machine.
    Launch(String),
    /// A word is no instruction.
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
    /// A tensor map is wrong, or is not simulated.
    Tensor(String),
    /// Shared memory at this address changed while a matrix multiply was reading it.
    Changed(u64),
    /// The program counter left the code.
    RunAway,
    /// The kernel trapped.
    Trap,
    /// An assertion of the kernel failed.
    Assertion(String),
    /// Memory at this address is given back to the heap, which did not give it out.
    NotAllocated(u64),
    /// A register is used that the thread has not got, or has given back.
    NoRegister {
        /// Its number.
        register: u8,
        /// How many code may name: those that a thread is allocated, but for the ones that the hardware keeps.
        count: u32,
    },
    /// A thread gives registers back and keeps more than it has.
    RegistersRaised {
        /// How many it would be allocated.
        asked: u32,
        /// How many it is allocated.
        held: u32,
    },
    /// A barrier object is used as none can be.
    BarrierObject(String),
    /// Tensor memory is used as it cannot be.
    TensorMemory(String),
    /// No thread can go on.
    Deadlock,
    /// The step limit was reached.
    StepLimit,
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
