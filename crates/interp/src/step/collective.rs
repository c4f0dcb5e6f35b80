//! Operations that the lanes of a warp, or the threads of a block, execute together.

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
