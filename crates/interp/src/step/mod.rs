//! The decoded form that is interpreted: opcodes, types and operands resolved once, so that execution only matches.
//!
//! The files of this folder have the parts of a step by kind. They are data: nothing that decodes or executes may enter,
//! and no file here names one that does.

mod atomic;
mod collective;
mod copy;
mod function;
mod loose;
mod matrix;
mod object;
mod operand;
mod semantics;
mod texture;

pub use atomic::AtomicOperation;
pub use collective::{BarrierOperation, CollectiveOperation, Reduction, Shuffle};
pub use copy::{BoxStep, BulkStep, FieldPart, FieldStep, Order, PolicyStep, Signal, Walk};
pub use function::{Argument, CallResult, CallTarget, Formal, FunctionCode};
pub use loose::Loose;
pub use matrix::{
    MatrixOperation, MatrixStep, SharePlace, TensorOperation, TensorProduct, TensorStep, TensorWarp,
};
pub use object::ObjectOperation;
pub use operand::{Destination, Location, Source};
pub use semantics::Semantics;
pub use texture::{
    Bounds, Combination, Fetch, Handle, Level, Property, Results, Space, SurfaceAccess, SurfaceOperation,
    TextureStep,
};

use oriole_ptx::word::TakenCluster;
use smallvec::SmallVec;

use crate::memory::Place;
use crate::value::Operation;
use crate::value::compare::{Combine, Comparison};
use crate::value::integer::{Kind, Part};
use crate::value::random;

/// A decoded instruction.
#[derive(Clone, Debug)]
pub struct Step {
    /// Ordinal of the instruction among those of its function.
    pub ordinal: u32,
    /// Function it belongs to: index into [`Code::functions`].
    pub function: u32,
    /// Register that guards it, and whether it is negated.
    pub guard: Option<(u32, bool)>,
    /// The operation.
    pub action: Action,
    /// The registers that it names; empty in functions without MMAs of warp groups.
    pub touched: Box<[u32]>,
    /// Its execution may be visible to other threads through memory, or make theirs visible.
    pub tells: bool,
    /// How it orders memory.
    pub semantics: Semantics,
    /// The slots of the registers that it reads and writes; empty unless the run is followed.
    pub reads: Box<[u32]>,
    /// See `reads`.
    pub writes: Box<[u32]>,
    /// How far its result may be from the one that is computed.
    pub loose: Option<Loose>,
}

impl Action {
    /// Whether it uses shared memory asynchronously.
    pub fn is_asynchronous(&self) -> bool {
        match self {
            Action::Copy { .. } | Action::Bulk(_) | Action::Box(_) | Action::Tensor(_) => true,
            Action::TakeCluster { .. } => true,
            Action::Matrix(step) => {
                matches!(step.operation, MatrixOperation::GroupProduct(_) | MatrixOperation::Tensor(_))
            }
            _ => false,
        }
    }
}

/// The operation of an instruction.
#[derive(Clone, Debug)]
pub enum Action {
    /// No effect in a deterministic, sequentially consistent execution: prefetches, hints.
    Nothing,
    /// An operation that only the rules for copies observe.
    Order(Order),
    /// A pure operation.
    Compute {
        /// The computation.
        operation: Operation,
        /// Result.
        destination: Destination,
        /// Operands; unused ones are zero.
        sources: [Source; 4],
    },
    /// An instruction on textures, samplers and surfaces.
    Texture(Box<TextureStep>),
    /// `setp`, and its complement.
    Compare {
        /// The comparison.
        comparison: Comparison,
        /// The use of the third operand.
        combine: Combine,
        /// On f16x2 pairs: two results instead of a result and its complement.
        halves: bool,
        /// The two predicates.
        destinations: [Destination; 2],
        /// Operands a, b and the predicate.
        sources: [Source; 3],
    },
    /// `lop3.and`, `lop3.or`: a value, and a predicate from its being nonzero and a further one.
    LogicPredicate {
        /// Truth table.
        table: u8,
        /// `.and` or `.or`.
        combine: Combine,
        /// Value and predicate.
        destinations: [Destination; 2],
        /// Operands a, b, c and the predicate.
        sources: [Source; 4],
    },
    /// Addition, subtraction or multiply-add with the carry flag.
    Carry {
        /// Operation.
        operation: CarryOperation,
        /// Width.
        kind: Kind,
        /// The flag enters.
        read: bool,
        /// The flag is written.
        write: bool,
        /// Result.
        destination: Destination,
        /// Operands.
        sources: [Source; 3],
    },
    /// Several moves that read before they write.
    Moves(Vec<(Destination, Source)>),
    /// A value that is split, the low part first.
    Split {
        /// Bits of each part.
        bits: u32,
        /// The parts.
        destinations: SmallVec<[Destination; 4]>,
        /// The value.
        source: Source,
    },
    /// `isspacep`
    IsPlace {
        /// The tested space.
        place: Place,
        /// Predicate.
        destination: Destination,
        /// Generic address.
        source: Source,
    },
    /// `ld`
    Load {
        /// The address.
        location: Location,
        /// Bytes of an element.
        bytes: u32,
        /// Elements are sign-extended.
        signed: bool,
        /// One register for each element.
        destinations: SmallVec<[Destination; 4]>,
    },
    /// `st`
    Store {
        /// The address.
        location: Location,
        /// Bytes of an element.
        bytes: u32,
        /// The elements.
        sources: SmallVec<[Source; 4]>,
    },
    /// `atom` and `red`
    Atomic {
        /// The address.
        location: Location,
        /// The operation there.
        operation: AtomicOperation,
        /// Bytes of an element.
        bytes: u32,
        /// Old values; empty for `red`.
        destinations: SmallVec<[Destination; 4]>,
        /// Operands, one for each element; for `cas` the comparands.
        sources: SmallVec<[Source; 4]>,
        /// New values of `cas`.
        replacements: SmallVec<[Source; 2]>,
    },
    /// A copy from memory to memory that is complete at once.
    Copy {
        /// The target.
        to: Location,
        /// The source.
        from: Location,
        /// Bytes written.
        bytes: u32,
        /// Bytes read; those after them are zero.
        read: Source,
        /// If this is true, nothing is read.
        ignored: Option<Source>,
    },
    /// `cvt.rs`
    RandomConversion(Box<RandomStep>),
    /// `st.bulk`: zeros.
    Fill {
        /// The target.
        to: Location,
        /// Number of bytes.
        size: Source,
    },
    /// `clusterlaunchcontrol.try_cancel`
    TakeCluster {
        /// The target of the answer.
        answer: Location,
        /// The mbarrier to signal.
        object: Location,
        /// All blocks of the cluster get the answer.
        everybody: bool,
    },
    /// `clusterlaunchcontrol.query_cancel`
    TakenCluster {
        /// The queried field.
        asked: TakenCluster,
        /// Results.
        destinations: SmallVec<[Destination; 4]>,
        /// The halves of the answer.
        answer: [Source; 2],
    },
    /// A bulk copy of bytes.
    Bulk(Box<BulkStep>),
    /// A bulk tensor copy, or a reduction into the tensor.
    Box(Box<BoxStep>),
    /// `tensormap.replace`
    ReplaceField(Box<FieldStep>),
    /// `tensormap.query`: whether a bit of a word of a tensor map is set.
    QueryMap {
        /// The map.
        map: Location,
        /// Offset of the word, and the bit.
        bit: (u64, u64),
        /// Whether it is set.
        destination: Destination,
    },
    /// `tensormap.cp_fenceproxy`: each lane copies a word.
    PublishMap {
        /// The target.
        to: Location,
        /// The source.
        from: Location,
    },
    /// `createpolicy`
    Policy(Box<PolicyStep>),
    /// An instruction that lanes of a warp execute together.
    Collective {
        /// The operation.
        operation: CollectiveOperation,
        /// Index of its spelling: lanes synchronize only at instructions of one spelling.
        key: u32,
        /// The participating lanes; without a mask, those that reach the instruction together.
        members: Option<Source>,
        /// Results.
        destinations: [Destination; 2],
        /// Operands.
        sources: [Source; 3],
    },
    /// An MMA, or a move of small matrices, that a whole warp executes together.
    Matrix(Box<MatrixStep>),
    /// An operation in tensor memory that a single thread starts.
    Tensor(Box<TensorStep>),
    /// `activemask`
    ActiveMask(Destination),
    /// `bar` and `barrier`
    Barrier {
        /// The operation.
        operation: BarrierOperation,
        /// Index of the barrier.
        id: Source,
        /// Number of participating threads; `None` for the whole block.
        count: Option<Source>,
        /// Result of a reduction.
        destination: Destination,
        /// Operand of a reduction.
        source: Source,
    },
    /// A non-blocking operation on an mbarrier.
    Object {
        /// The operation.
        operation: ObjectOperation,
        /// The mbarrier.
        location: Location,
        /// The state before.
        destination: Destination,
        /// Arrivals or bytes.
        amount: Source,
    },
    /// `mbarrier.test_wait` and `mbarrier.try_wait`
    ObjectTest {
        /// The mbarrier.
        location: Location,
        /// The parity of the phase, or a state that was taken in it.
        phase: Source,
        /// It is a parity.
        parity: bool,
        /// Whether the phase is complete.
        destination: Destination,
        /// Destinations for whether there is a report on the mbarrier, and which. There never is one.
        reported: [Destination; 2],
    },
    /// `mbarrier.check_layout`
    CheckLayout {
        /// The mbarrier.
        location: Location,
        /// The second layout is tested.
        second: bool,
        /// Whether it is the mbarrier's.
        destination: Destination,
    },
    /// `mbarrier.pending_count`
    PendingCount {
        /// The count.
        destination: Destination,
        /// The state.
        source: Source,
    },
    /// `st.async` and `red.async`: the write, the mbarrier to signal, and the number of bytes.
    Told {
        /// A store, or an atomic without a result.
        write: Box<Action>,
        /// The mbarrier.
        object: Location,
        /// Bytes written.
        bytes: u32,
    },
    /// `mapa`: the address of the same offset in the block of this rank.
    MapRank {
        /// The address.
        destination: Destination,
        /// The address, and the rank.
        sources: [Source; 2],
    },
    /// `getctarank`
    RankOf {
        /// The rank.
        destination: Destination,
        /// The address.
        source: Source,
    },
    /// `isspacep` of the shared memory of the block itself, or of its whole cluster.
    IsShared {
        /// Only that of the block counts.
        own: bool,
        /// Predicate.
        destination: Destination,
        /// Generic address.
        source: Source,
    },
    /// `barrier.cluster.arrive`
    ClusterArrive,
    /// `barrier.cluster.wait`
    ClusterWait,
    /// `bra`
    Branch(u32),
    /// `brx.idx`
    BranchTable {
        /// Index into the targets.
        index: Source,
        /// Targets.
        targets: Vec<u32>,
    },
    /// `call`
    Call {
        /// The callee.
        target: CallTarget,
        /// Arguments.
        arguments: Vec<Argument>,
        /// Results.
        results: Vec<CallResult>,
    },
    /// `ret`
    Return,
    /// `exit`
    Exit,
    /// `trap`
    Trap,
    /// `alloca`
    Allocate {
        /// Local address.
        destination: Destination,
        /// Bytes.
        size: Source,
        /// Alignment in bytes.
        align: u64,
    },
    /// `stacksave`
    StackSave(Destination),
    /// `stackrestore`
    StackRestore(Source),
    /// An unsupported instruction, as written.
    NotSupported(String),
}

/// A conversion with stochastic rounding.
#[derive(Clone, Debug)]
pub struct RandomStep {
    /// The conversion.
    pub conversion: random::Conversion,
    /// The packed results.
    pub destination: Destination,
    /// Two or four f32 values.
    pub numbers: SmallVec<[Source; 4]>,
    /// The random bits.
    pub random: Source,
}

/// An operation with the carry flag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CarryOperation {
    Add,
    Subtract,
    /// A part of the product; `true`: the sum saturates.
    MultiplyAdd(Part, bool),
}

/// Everything decoded that a kernel can reach.
#[derive(Clone, Debug, Default)]
pub struct Code {
    /// Steps of all functions.
    pub steps: Vec<Step>,
    /// Functions; calls and function addresses go by their index.
    pub functions: Vec<FunctionCode>,
}
