//! A function in Ori: values, blocks, references to symbols, and its frame.

use crate::{BlockId, File, FlowGraph, Instruction, KnownGraph, Phi, SymbolId, Value, ValueData};
use smallvec::SmallVec;
use std::sync::Arc;
use typed_index_collections::TiVec;

/// Kinds of symbols. Layout offsets are never known here.
#[derive(Clone, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub enum SymbolKind {
    /// `.shared` variable of the module or the function; offset assigned by the kernel's layout.
    Shared,
    /// `.global` variable of the module.
    Global,
    /// `.const` variable of the module.
    Constant,
    /// `.local` variable of this function: the index into [`Function::locals`].
    Local(u32),
    /// A function of the module.
    Function,
    /// A compiler routine.
    Helper,
    /// A function that the driver provides (vprintf, malloc ...).
    Extern,
    /// A function that another file defines; a linker resolves it.
    Outside,
    /// A texture, sampler or surface of the module.
    Opaque,
    /// An opaque kernel parameter, by its index.
    OpaqueParameter(u32),
    /// The size of a descriptor of the driver, which the loader knows.
    DescriptorSize,
    /// The bytes of all constants of the program, [`CONSTANT_SIZE`].
    ConstantSize,
    /// The bottom of the frame, with the stack arguments of calls.
    Arguments,
}

/// The linker's symbol for the size of all constants of a program.
pub const CONSTANT_SIZE: &str = ".nv.ptx.const0.size";

/// A symbol that the function references.
#[derive(Clone, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct SymbolRef {
    /// Name as written in PTX (or the routine's name).
    pub name: String,
    /// Its kind.
    pub kind: SymbolKind,
    /// Its address is a multiple of this many bytes, whatever else is in its memory; a power of two, 1 if nothing is
    /// known.
    pub align: u32,
}

/// Alignment that the layout of a kernel's shared memory gives a variable of this size and declared alignment. The
/// layout places variables whose size is a multiple of 16 bytes first, so they are 16-byte aligned without padding.
/// Variables of size zero are the dynamic part, which starts 16-byte aligned.
pub const fn shared_alignment(size: u64, declared: u64) -> u64 {
    if size.is_multiple_of(SHARED_UNIT) && declared < SHARED_UNIT { SHARED_UNIT } else { declared }
}

/// Bytes of the largest access to shared memory.
pub const SHARED_UNIT: u64 = 16;

/// A `.local` variable of the function's frame.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LocalVariable {
    /// Size in bytes.
    pub size: u64,
    /// Alignment in bytes.
    pub align: u32,
}

/// A table in constant bank 2: jump targets, literal words, or function offsets.
#[derive(Clone, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub enum Table {
    /// Text offsets of blocks, one 32-bit word each.
    Targets(Vec<BlockId>),
    /// Literal words.
    Words(Vec<u32>),
    /// Text offsets of the functions that a pointer may name, 8 bytes each; a function's address as a value is the
    /// byte offset of its entry. Entry 0 is the null pointer. The kernel's layout fills it in, one table for all
    /// functions of the kernel.
    Functions,
}

/// Successors of a block. A few are stored inline: every walk over the graph reads them.
pub type Successors = SmallVec<[BlockId; 4]>;

/// A block: phis (in SSA only), then instructions. Control leaves only at the end: the block ends with an optional
/// guarded branch, followed by the fall-through or by one unconditional transfer. `successors` lists the targets in a
/// fixed order: the taken target first, then the fall-through.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Block {
    /// Merged values.
    pub phis: Vec<Phi>,
    /// Instructions in order, the terminator last.
    pub instructions: Vec<Instruction>,
    /// Successor blocks: taken targets in order, then the fall-through.
    pub successors: Successors,
    /// Where it is the header of a loop, that loop is not unrolled: the source says so (`.pragma "nounroll"`), or it
    /// was already.
    pub nounroll: bool,
    /// It is run rarely: a slow path. It goes to the end of the code.
    pub cold: bool,
}

/// Registers that a compiler routine may clobber: the whole of its private convention.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Clobbers {
    /// General registers, bit n for Rn; those of its results and of its return address are among them.
    pub general: u64,
    /// Predicates, bit n for Pn.
    pub predicates: u8,
}

/// One function or kernel.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Function {
    /// True for a kernel (`.entry`).
    pub is_entry: bool,
    /// For a compiler routine: its clobbers. It preserves everything else, has no frame, and returns as its private
    /// convention says.
    pub routine: Option<Clobbers>,
    /// The function has a section of its own, which a linker places: calls, returns and function addresses are
    /// absolute, with relocations.
    pub is_separate: bool,
    /// Divisions and roots call functions of the library, by the calling convention; otherwise routines of the
    /// compiler.
    pub calls_library: bool,
    /// All values.
    pub values: TiVec<Value, ValueData>,
    /// Blocks; entry is block 0. Canonical order is RPO.
    pub blocks: TiVec<BlockId, Block>,
    /// Named things.
    pub symbols: TiVec<SymbolId, SymbolRef>,
    /// `.local` variables.
    pub locals: Vec<LocalVariable>,
    /// Constant-bank-2 tables.
    pub tables: Vec<Table>,
    /// Bytes of parameters (kernels: constant bank 0; functions: by the ABI).
    pub parameter_bytes: u32,
    /// Highest named barrier id used plus one; 16 if an id is in a register.
    pub barriers: u8,
    /// Upper limit on the registers of a thread, if any: derived from `.maxntid`/`.reqntid`, `.minnctapersm` and
    /// `.maxnreg`.
    pub register_limit: Option<u16>,
    /// The source asks for `register_limit` itself, by `.maxnreg`, or by a count of blocks with `.minnctapersm`: more
    /// threads on an SM are not wanted.
    pub states_registers: bool,
    /// The most threads that a block has (`.reqntid`, `.maxntid`), if the source says so.
    pub block_threads: Option<u32>,
    /// The threads of a warp have consecutive `%tid.x`, the first of which is a multiple of 32, and equal `%tid.y` and
    /// `%tid.z` (`.reqntid` of whole rows of warps, or of one row).
    pub warps_in_rows: bool,
    /// Lanes that load from one address together, and numbers of warps computed from those of threads, are not
    /// taken to agree.
    pub lanes_apart: bool,
    /// Bytes of the shared variables of a known size, which each block has; 0 where the threads of a block are not
    /// known.
    pub shared_bytes: u32,
    /// It is at the fixed point of the general optimizations: they would change nothing.
    pub at_fixed_point: bool,
    /// The graph of its blocks, if one was asked for; see [`Function::graph`].
    pub graph: KnownGraph,
}

impl Function {
    /// Makes a new value.
    #[inline]
    pub fn new_value(&mut self, file: File, source: Option<(u32, u8)>) -> Value {
        self.values.push_and_get_key(ValueData { file, source })
    }

    /// The file of a value.
    #[inline]
    pub fn file(&self, value: Value) -> File {
        self.values[value].file
    }

    /// Block ids in storage order.
    #[inline]
    pub fn block_ids(&self) -> impl Iterator<Item = BlockId> + use<> {
        self.blocks.keys()
    }

    /// The block.
    #[inline]
    pub fn block(&self, id: BlockId) -> &Block {
        &self.blocks[id]
    }

    /// The block, to change it.
    #[inline]
    pub fn block_mut(&mut self, id: BlockId) -> &mut Block {
        &mut self.blocks[id]
    }

    /// The successors of each block in their order.
    pub fn edges(&self) -> impl ExactSizeIterator<Item = &[BlockId]> + Clone {
        self.blocks.iter().map(|block| block.successors.as_slice())
    }

    /// Graph, dominators and loops of the function as it is now. The graph does not follow later changes.
    pub fn graph(&self) -> Arc<FlowGraph> {
        self.graph.of(self.edges())
    }

    /// Drops the graph that it keeps. A stored function needs none.
    pub fn forget_graph(&mut self) {
        self.graph = KnownGraph::default();
    }

    /// Visits every occurrence of a value: phi results and sources, guards, sources, old values, destinations.
    pub fn for_each_occurrence(&self, mut visit: impl FnMut(Value)) {
        for block in &self.blocks {
            for phi in &block.phis {
                visit(phi.destination);
                phi.values().for_each(&mut visit);
            }
            for instruction in &block.instructions {
                instruction.for_each_use(&mut visit);
                instruction.for_each_definition(&mut visit);
            }
        }
    }

    /// Visits each occurrence of a value, for renaming.
    pub fn for_each_occurrence_mut(&mut self, mut visit: impl FnMut(&mut Value)) {
        for block in &mut self.blocks {
            for phi in &mut block.phis {
                visit(&mut phi.destination);
                phi.values_mut().for_each(&mut visit);
            }
            for instruction in &mut block.instructions {
                instruction.for_each_use_mut(&mut visit);
                instruction.for_each_definition_mut(&mut visit);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn diamond() -> Function {
        let text = "kernel params=0 barriers=0
b0: -> b2 b1
  @p0 BRA b2 ; 0
b1: -> b2
b2:
  EXIT ; 1
";
        parse(text).expect("Ori")
    }

    #[test]
    fn the_graph_lasts_until_an_edge_changes() {
        let mut function = diamond();
        let first = function.graph();
        function.block_mut(BlockId(1)).instructions.clear();
        function.new_value(crate::File::R, None);
        assert!(Arc::ptr_eq(&first, &function.graph()));
        assert!(Arc::ptr_eq(&first, &function.clone().graph()));
        // One edge less, then one block more.
        function.block_mut(BlockId(0)).successors.truncate(1);
        let second = function.graph();
        assert_eq!(second.cfg().predecessors(BlockId(2)), [BlockId(0)]);
        assert!(!second.cfg().is_reachable(BlockId(1)));
        function.blocks.push(crate::Block::default());
        assert_eq!(function.graph().cfg().count(), 4);
        assert_eq!(first.cfg().predecessors(BlockId(2)).len(), 2);
    }

    #[test]
    fn it_is_no_part_of_the_value() {
        let (asked, unasked) = (diamond(), diamond());
        asked.graph();
        assert_eq!(asked, unasked);
    }
}
