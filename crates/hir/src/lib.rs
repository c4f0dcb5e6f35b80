//! A function of PTX, resolved and typed: names are indices, operands have kinds and types, immediates are values.
//!
//! The interpreter and the lowering read one meaning, and a change of spelling, comment or place leaves it equal. No
//! syntax node, no text offset and no machine opcode may enter a [`Body`].

mod access;
mod address_space;
pub mod body;
mod call;
mod checks;
mod compatible;
mod constant;
mod debug;
mod declaration;
mod descriptor;
mod flow;
mod form;
mod function;
mod header;
mod initializer;
mod inlining;
mod instruction;
mod known_bits;
mod linkage;
pub mod module;
mod module_context;
mod names;
mod operand;
mod parameter_places;
mod performance;
mod print;
mod register_bounds;
mod resolved;
mod resolver;
mod signature;
mod statement;
mod static_variable;
mod statics;
mod support;
mod symbols;
mod texture;
mod uninitialized;
mod unnamed;
mod variable;
mod warp_group;

pub use address_space::{AddressSpaceMismatch, address_space_mismatches};
pub use body::*;
pub use checks::{
    DRIVER_FUNCTIONS, EarlyUse, Outline, SharedNeed, check_header, check_labels, check_limits,
    check_locations, first_declarations, initializer_order, is_open, order_check, section_labels,
    shared_limit, shared_needs,
};
pub use constant::{Constant, evaluate};
pub use debug::debug_data;
pub use descriptor::{Descriptor, DescriptorFormat, ProductKind};
pub use function::{resolve, resolve_function};
pub use header::{Header, NOUNROLL, read_header, stand_in, versions};
pub use initializer::{InitialValue, Relocation};
pub use inlining::inline;
pub use known_bits::KnownBits;
pub use linkage::Linkage;
pub use module::resolve_module;
pub use module_context::{GlobalInfo, HeaderQuestion, ModuleContext, SignatureInfo};
pub use register_bounds::{FEWEST_REGISTERS, register_cap};
pub use resolved::{Inlined, LineEntry, Resolved, SourceMap, Uses};
pub use support::unsupported;
pub use symbols::{Declared, Symbols, declarations};
pub use uninitialized::{FlowReport, check_flow};
pub use unnamed::{BodyNames, Unnamed};
pub use variable::{ModuleVariable, module_variables};
pub use warp_group::Serialization;
