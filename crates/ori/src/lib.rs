//! Ori, the one intermediate representation: SASS opcode names over virtual registers, an explicit control-flow
//! graph, partial SSA between phases 23 and 73.
//!
//! It is here because every stage between `lower` and `encode` takes and returns it. No PTX spelling, no encoding
//! bit, no latency and no pass may enter.
//!
//! A *value* is one 32-bit component of the general or uniform file, or one predicate, or one convergence barrier. A
//! 64-bit quantity is two values; the operand that lists them requires an aligned pair, not the values themselves.

pub mod branches;
pub mod builder;
mod call;
pub mod canonical;
pub mod cfg;
pub mod chains;
pub mod classify;
pub mod confined;
pub mod convention;
pub mod convergence;
pub mod csr;
pub mod divergence;
pub mod dominance;
pub mod edges;
pub mod effects;
pub mod elections;
pub mod exits;
pub mod flow_graph;
pub mod function;
pub mod grants;
pub mod handle;
mod ids;
mod index;
pub mod instruction;
pub mod liveness;
pub mod loops;
pub mod machine;
pub mod marshal;
pub mod opcode;
pub mod operand;
pub mod parse;
pub mod pass;
pub mod pattern;
pub mod phi;
pub mod print;
pub mod statistics;
pub mod suffixes;
pub mod tuple;
pub mod value;
pub mod verify;

pub use builder::{Builder, Draft};
pub use call::CallShape;
pub use cfg::Cfg;
pub use chains::Chains;
pub use confined::values_across_blocks;
pub use divergence::Divergence;
pub use dominance::{Dominators, IteratedFrontiers};
pub use flow_graph::{FlowGraph, KnownGraph};
pub use function::{
    Block, CONSTANT_SIZE, Clobbers, Function, LocalVariable, SHARED_UNIT, Successors, SymbolKind, SymbolRef,
    Table, shared_alignment,
};
pub use grants::{Budget, Grants, changes_registers, without_grants};
pub use ids::{BlockId, SymbolId};
pub use instruction::{Instruction, MemoryInfo, ObjectOperation, Origin, Space};
pub use liveness::Liveness;
pub use loops::{Loop, Loops};
pub use machine::{Assignment, Fixup, MachineBlock, MachineFunction, MachineInstruction};
pub use marshal::{MarshalError, Marshalled, is_legal, marshal};
pub use opcode::{Opcode, Pseudo};
pub use operand::{Address, AddressPart, ConstBase, Destination, Guard, IndexedConst, Source, SourceKind};
pub use parse::{ParseError, Problem, parse};
pub use pass::{Allowance, FormChange, Outcome, Pass, PassContext};
pub use phi::{Phi, PhiSource, PhiSources};
pub use statistics::Statistics;
pub use suffixes::Suffixes;
pub use tuple::Values;
pub use value::{File, Value, ValueData};
pub use verify::{Form, Violation, verify};
