//! Operations of a warp on matrices, and operations on tensor memory.

use super::collective::Reduction;
use super::copy::Signal;
use super::operand::{Destination, Location, Source};
use crate::matrix::{GroupProduct, Move, Packed, Product, Quarters, Share, Tiled};
use oriole_machine_model::tensor_memory::{Copy, Form, Movement};

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
        copy: Copy,
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
    pub form: Form,
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
    Load(Movement, Location, Option<Reduction>),
    /// `tcgen05.st`; operand: the registers.
    Store(Movement, Location),
    /// `tcgen05.wait`: for stores, or for loads.
    Wait {
        /// For stores.
        stores: bool,
    },
}
