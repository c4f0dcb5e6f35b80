//! A function of PTX, resolved and typed: names are indices, operands have kinds and types, immediates are values.
//!
//! It is here so that the interpreter and the lowering read one meaning, and so that a change of spelling, comment
//! or place leaves it equal. No syntax node, no text offset and no machine opcode may enter a [`Body`].

mod address_space;
pub mod body;
mod call;
mod checks;
mod compatible;
mod constant;
mod function;
mod header;
mod instruction;
pub mod module;
mod names;
mod operand;
mod print;
mod resolved;
mod signature;
mod statement;
mod support;
mod surroundings;
mod symbols;
mod variable;

pub use address_space::{SpaceSlip, space_slips};
pub use body::*;
pub use checks::{
    EarlyUse, Outline, check_header, check_limits, first_declarations, initializer_order, order_check,
};
pub use constant::{Constant, evaluate};
pub use function::{resolve, resolve_function};
pub use header::{Header, read_header};
pub use module::resolve_module;
pub use resolved::{Inlined, LineEntry, Resolved, SourceMap, Uses};
pub use signature::Linkage;
pub use support::unsupported;
pub use surroundings::{GlobalInfo, HeaderQuestion, SignatureInfo, Surroundings};
pub use symbols::{Declared, Symbols, declarations};
pub use variable::{InitialValue, ModuleVariable, Relocation, module_variables};
