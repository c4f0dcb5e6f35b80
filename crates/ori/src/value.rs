//! Values: virtual registers. A value is a single component of one register file for its whole life.

/// The register files.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum File {
    /// General registers, 32 bits for each lane.
    R,
    /// Uniform registers, 32 bits for the whole warp.
    UR,
    /// Predicates, one bit for each lane.
    P,
    /// Uniform predicates, one bit for the whole warp.
    UP,
    /// Convergence barriers.
    B,
}

/// A virtual register: an index into [`crate::Function::values`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Value(pub u32);

crate::index_of_tables!(Value);

/// Properties of a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ValueData {
    /// Its register file; it never changes.
    pub file: File,
    /// The PTX register that it holds (declaration index in its function) and which 32-bit component of it;
    /// `None` for a compiler temporary.
    pub source: Option<(u32, u8)>,
}
