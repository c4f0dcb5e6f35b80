//! The decoded form that is interpreted: opcodes, types and operands resolved once, so that execution only matches.

use oriole_ptx::SpecialRegister;
use oriole_ptx::word::TakenCluster;
use smallvec::SmallVec;

use crate::matrix::{GroupProduct, Move, Packed, Product, Quarters, Share, Tiled};
use crate::memory::Place;
use crate::tensor::Walk;
use crate::texture::TextureStep;
use crate::value::Operation;
use crate::value::compare::{Combine, Comparison};
use crate::value::float::Mode;
use crate::value::integer::{Kind, Part};
use crate::value::random;
use crate::value::soft::Format;

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
}

/// An ordering operation of a program. The interpreter executes sequentially and copies at once, so that no byte
/// depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// A fence of memory.
    ThroughMemory,
    /// A fence between the accesses of threads and those of copies.
    BetweenProxies,
    /// The copies of the thread since the last one are a group.
    CloseGroup,
    /// At most this many groups are still in flight.
    WaitForGroups(u32),
    /// No copy is still in flight, whether its group was closed or not.
    WaitForAll,
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

/// The source of an operand.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// A register of the current frame.
    Register(u32),
    /// The complement of a predicate.
    NotPredicate(u32),
    /// A constant.
    Immediate(u64),
    /// Local address of this offset in the current frame.
    Frame(u32),
    /// A special register.
    Special(SpecialRegister),
}

/// The destination of a result: a register of the current frame and its bits.
#[derive(Clone, Copy, Debug)]
pub struct Destination {
    /// Register of the current frame.
    pub slot: u32,
    /// The bits that the register holds.
    pub mask: u64,
}

/// A memory operand.
#[derive(Clone, Copy, Debug)]
pub struct Location {
    /// Space of the access.
    pub place: Place,
    /// Base address.
    pub base: Source,
    /// Offset in bytes.
    pub offset: i64,
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

/// A bulk copy of bytes.
#[derive(Clone, Debug)]
pub struct BulkStep {
    /// The target.
    pub to: Location,
    /// The source.
    pub from: Location,
    /// Bytes.
    pub size: Source,
    /// The operation that combines elements of this many bytes with the target.
    pub combine: Option<(AtomicOperation, usize)>,
    /// The bytes of each sixteen that are copied, if not all.
    pub mask: Option<Source>,
    /// The mbarriers to signal.
    pub signal: Signal,
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

/// The mbarrier that counts the bytes of a bulk copy, and the blocks that get one each.
#[derive(Clone, Debug, Default)]
pub struct Signal {
    /// The mbarrier of the target.
    pub object: Option<Location>,
    /// The ranks of the blocks, if there are several, as a mask: each has a target and an mbarrier at the same offsets.
    pub blocks: Option<Source>,
    /// In a pair of blocks the signalled block has the same position in the pair as the block of the named mbarrier.
    pub in_pairs: bool,
}

/// A bulk tensor copy.
#[derive(Clone, Debug)]
pub struct BoxStep {
    /// Generic address of the tensor map.
    pub map: Source,
    /// The corner of the tile.
    pub coordinates: SmallVec<[Source; 5]>,
    /// im2col offsets, or halo and offset.
    pub offsets: SmallVec<[Source; 3]>,
    /// The traversal of the tile.
    pub walk: Walk,
    /// The tile in shared memory; `None` for a prefetch.
    pub shared: Option<Location>,
    /// From the tensor to shared memory, not the other way.
    pub loads: bool,
    /// The operation that combines the tile with the tensor; the tensor has the type.
    pub combine: Option<AtomicOperation>,
    /// The mbarriers to signal.
    pub signal: Signal,
}

/// Bits of memory that are replaced by bits of a value.
#[derive(Clone, Debug)]
pub struct FieldPart {
    /// Offset of the word.
    pub offset: u64,
    /// Its bytes.
    pub bytes: usize,
    /// The bits that change.
    pub mask: u64,
    /// Subtracted from the value.
    pub less: u64,
    /// The lowest bit taken from it, and its new position.
    pub from: u32,
    /// See `from`.
    pub to: u32,
    /// Bits that are set in addition.
    pub set: u64,
}

/// A replaced field of a tensor map.
#[derive(Clone, Debug)]
pub struct FieldStep {
    /// The map.
    pub map: Location,
    /// The changed parts.
    pub parts: SmallVec<[FieldPart; 2]>,
    /// The new value.
    pub value: Source,
}

/// A cache policy.
#[derive(Clone, Debug)]
pub enum PolicyStep {
    /// For a fraction of the accesses.
    Fraction {
        /// Result.
        destination: Destination,
        /// The effect of the policy, in the encoding of the hardware.
        kind: u32,
        /// The fraction.
        fraction: Source,
    },
    /// For a range of addresses.
    Range {
        /// Result.
        destination: Destination,
        /// The effect of the policy, in the encoding of the hardware.
        kind: u32,
        /// The start of the range.
        start: Location,
        /// Bytes of the first priority.
        first: Source,
        /// Bytes of both.
        total: Source,
    },
}

/// An operation with the carry flag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CarryOperation {
    Add,
    Subtract,
    /// A part of the product; `true`: the sum saturates.
    MultiplyAdd(Part, bool),
}

/// The operation of an atomic.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum AtomicOperation {
    Add(Kind),
    Minimum(Kind),
    Maximum(Kind),
    And,
    Or,
    Xor,
    Exchange,
    CompareAndSwap,
    /// Up to a limit, then zero.
    Increment,
    /// Down to zero, then the limit.
    Decrement,
    /// Floating-point add, min or max; `true`: of f16x2 pairs.
    Float(crate::value::float::FloatOperation, Format, Mode, bool),
}

/// A collective operation of lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CollectiveOperation {
    Shuffle(Shuffle),
    VoteAll,
    VoteAny,
    VoteUniform,
    Ballot,
    MatchAny(u32),
    MatchAll(u32),
    Reduce(Reduction),
    /// `bar.warp.sync`
    Synchronize,
    Elect,
}

/// An operation of a warp on matrices.
#[derive(Clone, Debug)]
pub struct MatrixStep {
    /// The operation.
    pub operation: MatrixOperation,
    /// Index of its spelling: lanes synchronize only at instructions of one spelling.
    pub key: u32,
    /// Registers that are written.
    pub destinations: Vec<Destination>,
    /// Registers of each operand.
    pub sources: Vec<Vec<Source>>,
}

/// An operation in tensor memory that a thread starts.
#[derive(Clone, Debug)]
pub struct TensorStep {
    /// Participating blocks.
    pub blocks: u32,
    /// The operation.
    pub operation: TensorOperation,
}

/// The kind of operation. Addresses in tensor memory are operands with an offset.
#[derive(Clone, Debug)]
pub enum TensorOperation {
    /// `tcgen05.mma`
    Product(Box<TensorProduct>),
    /// `tcgen05.cp`
    Copy {
        /// The copy.
        copy: oriole_machine_model::tensor_memory::Copy,
        /// The target.
        to: Location,
        /// The descriptor of the source.
        from: Source,
    },
    /// `tcgen05.shift`
    Shift(Location),
    /// `tcgen05.commit`
    Commit(Signal),
}

/// An MMA in tensor memory.
#[derive(Clone, Debug)]
pub struct TensorProduct {
    /// The form of the instruction.
    pub form: oriole_machine_model::tensor_memory::Form,
    /// The result.
    pub result: Location,
    /// The left factor in tensor memory, or else its descriptor.
    pub left: Result<Location, Source>,
    /// The descriptor of the right factor.
    pub right: Source,
    /// The metadata of a sparse factor.
    pub metadata: Option<Location>,
    /// The instruction descriptor.
    pub description: Source,
    /// The scales of both factors.
    pub scales: Option<[Location; 2]>,
    /// Lanes that keep their values.
    pub kept_lanes: Vec<Source>,
    /// Whether to accumulate.
    pub adds: Source,
    /// The power of two by which the accumulator is scaled down.
    pub down: u32,
    /// The columns that are zero.
    pub zero_columns: Option<Source>,
}

/// An operation of a warp on tensor memory.
#[derive(Clone, Copy, Debug)]
pub enum TensorWarp {
    /// `tcgen05.alloc`: the target of the address. Operand: the columns.
    Allocate(Location),
    /// `tcgen05.dealloc`; operands: the address and the columns.
    Release,
    /// `tcgen05.relinquish_alloc_permit`
    GiveUp,
    /// `tcgen05.ld`, and its reduction of the registers of each thread.
    Load(oriole_machine_model::tensor_memory::Movement, Location, Option<Reduction>),
    /// `tcgen05.st`; operand: the registers.
    Store(oriole_machine_model::tensor_memory::Movement, Location),
    /// `tcgen05.wait`: for stores, or for loads.
    Wait {
        /// For stores.
        stores: bool,
    },
}

/// The kind of operation.
#[derive(Clone, Copy, Debug)]
pub enum MatrixOperation {
    /// An operation on tensor memory.
    Tensor(TensorWarp),
    /// `mma`; operands a, b, c, and the metadata of a sparse one.
    Product(Product),
    /// `mma.m8n8k4` of f16; operands a, b, c.
    Quarters(Quarters),
    /// `wmma.mma`; operands a, b, c.
    Tiled(Tiled),
    /// `wmma.load`; operand: the stride, if it is given.
    LoadShare(SharePlace),
    /// `wmma.store`; operands: the registers, the stride if it is given.
    StoreShare(SharePlace),
    /// `ldmatrix`: rows of sixteen bytes at the addresses that lanes give.
    Load {
        /// The address of a row.
        row: Location,
        /// The layout of matrices in registers.
        way: Move,
        /// The layout of elements in a row.
        packed: Packed,
    },
    /// `stmatrix`; operand: the registers.
    Store {
        /// The address of a row.
        row: Location,
        /// The layout of matrices in registers.
        way: Move,
    },
    /// `movmatrix`: a transposed b16 matrix; operand: its register.
    Transpose,
    /// `wgmma.fence`: execution is in order already.
    GroupFence,
    /// `wgmma.commit_group`
    GroupCommit,
    /// `wgmma.wait_group`: this many of the youngest groups may stay in flight.
    GroupWait(u64),
    /// `wgmma.mma_async`; operands: the accumulator, the left factor or its descriptor, the descriptor of the right
    /// factor, the metadata of a sparse factor, whether to accumulate.
    GroupProduct(GroupProduct),
}

/// An operation on an mbarrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ObjectOperation {
    /// Initializes one with a number of arrivals.
    Initialize {
        /// In the second layout.
        second: bool,
    },
    /// Invalidates one.
    Invalidate,
    /// Expects more transaction bytes.
    Expect,
    /// Completes transaction bytes.
    Complete,
    /// Arrivals.
    Arrive {
        /// They drop out of later phases.
        drop: bool,
    },
    /// Expects more transaction bytes, and arrives.
    ExpectAndArrive {
        /// It drops out of later phases.
        drop: bool,
    },
    /// Arrivals that do not complete the phase.
    ArriveWithin {
        /// They drop out of later phases.
        drop: bool,
    },
    /// An arrival when the copies of the thread are done; unless it was counted, the pending count grows first.
    Copied {
        /// The expected count includes it.
        counted: bool,
    },
}

/// A fragment and the matrix in memory that it is a part of.
#[derive(Clone, Copy, Debug)]
pub struct SharePlace {
    /// The fragment.
    pub share: Share,
    /// The start of the matrix.
    pub start: Location,
    /// The matrix is column by column.
    pub by_columns: bool,
}

/// The source lane of a shuffle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shuffle {
    Up,
    Down,
    Butterfly,
    Index,
}

/// The operation of `redux`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reduction {
    Add,
    MinimumSigned,
    MaximumSigned,
    MinimumUnsigned,
    MaximumUnsigned,
    And,
    Or,
    Xor,
    /// The min or max of f32 values, or of their magnitudes.
    Singles {
        minimum: bool,
        magnitudes: bool,
        propagate_nan: bool,
    },
}

/// The operation of a barrier instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BarrierOperation {
    Synchronize,
    Arrive,
    CountOnes,
    And,
    Or,
}

/// The callee of a call.
#[derive(Clone, Copy, Debug)]
pub enum CallTarget {
    /// Function with this index.
    Function(u32),
    /// The function at an address.
    Address(Source),
}

/// An argument of a call.
#[derive(Clone, Copy, Debug)]
pub enum Argument {
    /// Bytes in the caller's frame: offset and size.
    Frame(u32, u32),
    /// Bytes of the kernel's parameters: offset and size.
    Parameter(u32, u32),
    /// A value.
    Value(Source),
}

/// The destination of a call's result.
#[derive(Clone, Copy, Debug)]
pub enum CallResult {
    /// Bytes in the caller's frame: offset and size.
    Frame(u32, u32),
    /// A register.
    Register(Destination),
}

/// The place of a parameter or return parameter of a function.
#[derive(Clone, Copy, Debug)]
pub enum Formal {
    /// Bytes in its frame: offset and size.
    Frame(u32, u32),
    /// An array without a size at the end of the frame: its offset. The frame grows by the size of the argument.
    Open(u32),
    /// A register, and its bytes.
    Register(Destination, u32),
}

/// A decoded function.
#[derive(Clone, Debug)]
pub struct FunctionCode {
    /// Its name.
    pub name: String,
    /// First step; `None` for a declaration.
    pub start: Option<u32>,
    /// Register slots of a frame.
    pub registers: u32,
    /// Bytes of local memory of a frame.
    pub frame_bytes: u32,
    /// Parameters.
    pub parameters: Vec<Formal>,
    /// Return parameters.
    pub results: Vec<Formal>,
}

/// Everything decoded that a kernel can reach.
#[derive(Clone, Debug, Default)]
pub struct Code {
    /// Steps of all functions.
    pub steps: Vec<Step>,
    /// Functions; calls and function addresses go by their index.
    pub functions: Vec<FunctionCode>,
}
