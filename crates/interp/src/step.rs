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
    /// What it does.
    pub action: Action,
    /// The registers that it names; empty in functions without products of warp groups.
    pub touched: Box<[u32]>,
    /// Others may learn from it through memory what the thread has done, or the thread from others.
    pub tells: bool,
}

/// An order that a program asks for. The machine does one thing after the other and copies at once, so that no byte shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// A fence of memory.
    ThroughMemory,
    /// A fence between the accesses of threads and those of copies.
    BetweenProxies,
    /// The copies of the thread since the last one are a group.
    CloseGroup,
    /// At most so many groups are still under way.
    WaitForGroups(u32),
    /// No copy is still under way, whether its group was closed or not.
    WaitForAll,
}

impl Action {
    /// Whether it uses shared memory beside the thread that starts it.
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

/// Where an operand comes from.
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

/// Where a result goes: a register of the current frame and the bits that it holds.
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

/// What an instruction does.
#[derive(Clone, Debug)]
pub enum Action {
    /// Nothing that a deterministic, sequentially consistent machine could show: prefetches, hints.
    Nothing,
    /// What only the rules for copies look at.
    Order(Order),
    /// A pure operation.
    Compute {
        /// What is computed.
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
        /// What is compared.
        comparison: Comparison,
        /// How the third operand enters.
        combine: Combine,
        /// On packed halves: two results instead of a result and its complement.
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
    /// A value taken apart, the low part first.
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
        /// The space asked for.
        place: Place,
        /// Predicate.
        destination: Destination,
        /// Generic address.
        source: Source,
    },
    /// `ld`
    Load {
        /// Where from.
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
        /// Where to.
        location: Location,
        /// Bytes of an element.
        bytes: u32,
        /// The elements.
        sources: SmallVec<[Source; 4]>,
    },
    /// `atom` and `red`
    Atomic {
        /// Where.
        location: Location,
        /// What happens there.
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
        /// Where to.
        to: Location,
        /// Where from.
        from: Location,
        /// Bytes written.
        bytes: u32,
        /// Bytes read; those behind them are zero.
        read: Source,
        /// Where this holds, nothing is read.
        ignored: Option<Source>,
    },
    /// `cvt.rs`
    RandomConversion(Box<RandomStep>),
    /// `st.bulk`: zeros.
    Fill {
        /// Where to.
        to: Location,
        /// How many bytes.
        size: Source,
    },
    /// `clusterlaunchcontrol.try_cancel`
    TakeCluster {
        /// Where the answer goes.
        answer: Location,
        /// The object that is told.
        object: Location,
        /// All blocks of the cluster get the answer.
        everybody: bool,
    },
    /// `clusterlaunchcontrol.query_cancel`
    TakenCluster {
        /// What is asked.
        asked: TakenCluster,
        /// Results.
        destinations: SmallVec<[Destination; 4]>,
        /// The halves of the answer.
        answer: [Source; 2],
    },
    /// A bulk copy of bytes.
    Bulk(Box<BulkStep>),
    /// A box of a tensor that is copied, or reduced into the tensor.
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
        /// Where to.
        to: Location,
        /// Where from.
        from: Location,
    },
    /// `createpolicy`
    Policy(Box<PolicyStep>),
    /// An instruction that lanes of a warp execute together.
    Collective {
        /// What it does.
        operation: CollectiveOperation,
        /// Number of its spelling: lanes meet only in instructions of one spelling.
        key: u32,
        /// The lanes that take part; without a mask, those that come to the instruction together.
        members: Option<Source>,
        /// Results.
        destinations: [Destination; 2],
        /// Operands.
        sources: [Source; 3],
    },
    /// A product of matrices, or a move of small ones, that a whole warp executes together.
    Matrix(Box<MatrixStep>),
    /// What a single thread starts in tensor memory.
    Tensor(Box<TensorStep>),
    /// `activemask`
    ActiveMask(Destination),
    /// `bar` and `barrier`
    Barrier {
        /// What it does.
        operation: BarrierOperation,
        /// Number of the barrier.
        id: Source,
        /// Threads that take part; all of the block if none is given.
        count: Option<Source>,
        /// Result of a reduction.
        destination: Destination,
        /// Operand of a reduction.
        source: Source,
    },
    /// What works on a barrier object and waits for nothing.
    Object {
        /// What it does.
        operation: ObjectOperation,
        /// The object.
        location: Location,
        /// The state before.
        destination: Destination,
        /// Arrivals or bytes.
        amount: Source,
    },
    /// `mbarrier.test_wait` and `mbarrier.try_wait`
    ObjectTest {
        /// The object.
        location: Location,
        /// The parity of the phase, or a state that was taken in it.
        phase: Source,
        /// It is a parity.
        parity: bool,
        /// Whether the phase is over.
        destination: Destination,
        /// Where it is said that something was reported to the object, and what. Nothing reports.
        reported: [Destination; 2],
    },
    /// `mbarrier.check_layout`
    CheckLayout {
        /// The object.
        location: Location,
        /// The second layout is asked for.
        second: bool,
        /// Whether it is the object's.
        destination: Destination,
    },
    /// `mbarrier.pending_count`
    PendingCount {
        /// The count.
        destination: Destination,
        /// The state.
        source: Source,
    },
    /// `st.async` and `red.async`: what is written, the object that is told, and of how many bytes.
    Told {
        /// A store, or an atomic without a result.
        write: Box<Action>,
        /// The object.
        object: Location,
        /// Bytes written.
        bytes: u32,
    },
    /// `mapa`: the address of the same place in the block of this rank.
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
        /// Whom.
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
    /// An instruction without a meaning here, as written.
    NotSupported(String),
}

/// A bulk copy of bytes.
#[derive(Clone, Debug)]
pub struct BulkStep {
    /// Where to.
    pub to: Location,
    /// Where from.
    pub from: Location,
    /// Bytes.
    pub size: Source,
    /// How elements of so many bytes are combined with what is there.
    pub combine: Option<(AtomicOperation, usize)>,
    /// Which bytes of each sixteen are copied, if not all.
    pub mask: Option<Source>,
    /// Who is told.
    pub signal: Signal,
}

/// A conversion that rounds by random bits.
#[derive(Clone, Debug)]
pub struct RandomStep {
    /// Which one.
    pub conversion: random::Conversion,
    /// The numbers packed.
    pub destination: Destination,
    /// Two or four singles.
    pub numbers: SmallVec<[Source; 4]>,
    /// The random bits.
    pub random: Source,
}

/// The barrier object that counts the bytes of a bulk copy, and the blocks that get one each.
#[derive(Clone, Debug, Default)]
pub struct Signal {
    /// The object, beside the target.
    pub object: Option<Location>,
    /// The ranks of the blocks, if there are several, as a mask: each has a target and an object at the same offsets.
    pub blocks: Option<Source>,
    /// Of the objects of a pair of blocks, that of the block is told which stands in it as the named one does.
    pub in_pairs: bool,
}

/// A box of a tensor.
#[derive(Clone, Debug)]
pub struct BoxStep {
    /// Generic address of the tensor map.
    pub map: Source,
    /// Where the box begins.
    pub coordinates: SmallVec<[Source; 5]>,
    /// Offsets in an image, or halo and offset.
    pub offsets: SmallVec<[Source; 3]>,
    /// How the box is walked.
    pub walk: Walk,
    /// The box in shared memory; `None` for a prefetch.
    pub shared: Option<Location>,
    /// From the tensor to shared memory, not the other way.
    pub loads: bool,
    /// How the box is combined with the tensor; the tensor knows the type.
    pub combine: Option<AtomicOperation>,
    /// Who is told.
    pub signal: Signal,
}

/// Some bits of memory that take some bits of a value.
#[derive(Clone, Debug)]
pub struct FieldPart {
    /// Offset of the word.
    pub offset: u64,
    /// Its bytes.
    pub bytes: usize,
    /// The bits that change.
    pub mask: u64,
    /// What is subtracted from the value.
    pub less: u64,
    /// Its lowest bit that is taken, and where that goes.
    pub from: u32,
    /// See `from`.
    pub to: u32,
    /// Bits that are set beside.
    pub set: u64,
}

/// A field of a tensor map that is replaced.
#[derive(Clone, Debug)]
pub struct FieldStep {
    /// The map.
    pub map: Location,
    /// What changes.
    pub parts: SmallVec<[FieldPart; 2]>,
    /// The new value.
    pub value: Source,
}

/// A cache policy.
#[derive(Clone, Debug)]
pub enum PolicyStep {
    /// For a part of the accesses.
    Fraction {
        /// Result.
        destination: Destination,
        /// What the policy does, in the bits of the machine.
        kind: u32,
        /// The part.
        fraction: Source,
    },
    /// For a range of addresses.
    Range {
        /// Result.
        destination: Destination,
        /// What the policy does, in the bits of the machine.
        kind: u32,
        /// Where the range begins.
        start: Location,
        /// Bytes of the first priority.
        first: Source,
        /// Bytes of both.
        total: Source,
    },
}

/// Which operation uses the carry flag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CarryOperation {
    Add,
    Subtract,
    /// Which part of the product; `true`: the sum is held in its range.
    MultiplyAdd(Part, bool),
}

/// What an atomic does to an element.
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
    /// Sum, minimum or maximum of floats; `true`: of packed halves.
    Float(crate::value::float::FloatOperation, Format, Mode, bool),
}

/// What lanes of a warp do together.
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

/// What a warp does with matrices.
#[derive(Clone, Debug)]
pub struct MatrixStep {
    /// What it does.
    pub operation: MatrixOperation,
    /// Number of its spelling: lanes meet only in instructions of one spelling.
    pub key: u32,
    /// Registers that are written.
    pub destinations: Vec<Destination>,
    /// Registers of each operand.
    pub sources: Vec<Vec<Source>>,
}

/// What a thread starts in tensor memory.
#[derive(Clone, Debug)]
pub struct TensorStep {
    /// Blocks that take part.
    pub blocks: u32,
    /// What happens.
    pub operation: TensorOperation,
}

/// Which of them. Places in tensor memory are operands with an offset.
#[derive(Clone, Debug)]
pub enum TensorOperation {
    /// `tcgen05.mma`
    Product(Box<TensorProduct>),
    /// `tcgen05.cp`
    Copy {
        /// What is copied.
        copy: oriole_tensor_memory::Copy,
        /// Where to.
        to: Location,
        /// The descriptor of the source.
        from: Source,
    },
    /// `tcgen05.shift`
    Shift(Location),
    /// `tcgen05.commit`
    Commit(Signal),
}

/// A product in tensor memory.
#[derive(Clone, Debug)]
pub struct TensorProduct {
    /// What the instruction says.
    pub form: oriole_tensor_memory::Form,
    /// The result.
    pub result: Location,
    /// The left factor in tensor memory, or else its descriptor.
    pub left: Result<Location, Source>,
    /// The descriptor of the right factor.
    pub right: Source,
    /// What says which elements of a sparse factor are there.
    pub metadata: Option<Location>,
    /// The description of the product.
    pub description: Source,
    /// The scales of both factors.
    pub scales: Option<[Location; 2]>,
    /// Lanes that keep what they have.
    pub kept_lanes: Vec<Source>,
    /// Old sums count.
    pub adds: Source,
    /// By how many powers of two they count less.
    pub down: u32,
    /// Which columns are zero.
    pub zero_columns: Option<Source>,
}

/// What a warp does with tensor memory.
#[derive(Clone, Copy, Debug)]
pub enum TensorWarp {
    /// `tcgen05.alloc`: where the address goes. Operand: the columns.
    Allocate(Location),
    /// `tcgen05.dealloc`; operands: the address and the columns.
    Release,
    /// `tcgen05.relinquish_alloc_permit`
    GiveUp,
    /// `tcgen05.ld`, and what it computes of the registers of each thread.
    Load(oriole_tensor_memory::Movement, Location, Option<Reduction>),
    /// `tcgen05.st`; operand: the registers.
    Store(oriole_tensor_memory::Movement, Location),
    /// `tcgen05.wait`: for stores, or for loads.
    Wait {
        /// For stores.
        stores: bool,
    },
}

/// Which of them.
#[derive(Clone, Copy, Debug)]
pub enum MatrixOperation {
    /// What a warp does with tensor memory.
    Tensor(TensorWarp),
    /// `mma`; operands a, b, c, and the metadata of a sparse one.
    Product(Product),
    /// `mma.m8n8k4` of halves; operands a, b, c.
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
        /// How matrices lie in registers.
        way: Move,
        /// How numbers lie in a row.
        packed: Packed,
    },
    /// `stmatrix`; operand: the registers.
    Store {
        /// The address of a row.
        row: Location,
        /// How matrices lie in registers.
        way: Move,
    },
    /// `movmatrix`: a transposed matrix of halves; operand: its register.
    Transpose,
    /// `wgmma.fence`: nothing is left to be ordered.
    GroupFence,
    /// `wgmma.commit_group`
    GroupCommit,
    /// `wgmma.wait_group`: so many of the youngest groups may go on.
    GroupWait(u64),
    /// `wgmma.mma_async`; operands: the old sums, the left factor or its descriptor, the descriptor of the right factor,
    /// what says which elements of a sparse factor are there, whether the old sums count.
    GroupProduct(GroupProduct),
}

/// What is done to a barrier object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ObjectOperation {
    /// Makes one that waits for so many arrivals.
    Initialize {
        /// In the second layout.
        second: bool,
    },
    /// Ends one.
    Invalidate,
    /// So many more bytes to wait for.
    Expect,
    /// So many bytes have come.
    Complete,
    /// So many arrivals.
    Arrive {
        /// For good.
        drop: bool,
    },
    /// So many more bytes to wait for, and an arrival.
    ExpectAndArrive {
        /// For good.
        drop: bool,
    },
    /// So many arrivals, after which others are missing.
    ArriveWithin {
        /// For good.
        drop: bool,
    },
    /// An arrival when the copies of the thread are done; one that nobody waited for, unless it was counted.
    Copied {
        /// It was counted among those that the object waits for.
        counted: bool,
    },
}

/// A fragment and the matrix in memory that it is a part of.
#[derive(Clone, Copy, Debug)]
pub struct SharePlace {
    /// The fragment.
    pub share: Share,
    /// Where the matrix begins.
    pub start: Location,
    /// The matrix lies column by column.
    pub by_columns: bool,
}

/// Where a shuffle reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shuffle {
    Up,
    Down,
    Butterfly,
    Index,
}

/// What `redux` computes.
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
    /// The smallest or the largest single, or the one whose magnitude is.
    Singles {
        minimum: bool,
        magnitudes: bool,
        propagate_nan: bool,
    },
}

/// What a barrier instruction does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BarrierOperation {
    Synchronize,
    Arrive,
    CountOnes,
    And,
    Or,
}

/// Whom a call calls.
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

/// Where a result of a call goes.
#[derive(Clone, Copy, Debug)]
pub enum CallResult {
    /// Bytes in the caller's frame: offset and size.
    Frame(u32, u32),
    /// A register.
    Register(Destination),
}

/// Where a parameter or return parameter of a function lives.
#[derive(Clone, Copy, Debug)]
pub enum Formal {
    /// Bytes in its frame: offset and size.
    Frame(u32, u32),
    /// An array without a size behind everything else in the frame: its offset. The frame grows by what is passed.
    Open(u32),
    /// A register, and its bytes.
    Register(Destination, u32),
}

/// A decoded function.
#[derive(Clone, Debug)]
pub struct FunctionCode {
    /// Its name.
    pub name: String,
    /// First step; `None` for a function that the module only declares.
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
