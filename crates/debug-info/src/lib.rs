//! Debug info as section bytes: the source line, and the PTX line, of each instruction.
//!
//! The tables are DWARF 2 in the dialect of NVIDIA's tools: `opcode_base` is 10, and there is an extended opcode for
//! inlined code. `gimli::write` encodes integers, LEB128 and lengths here; its line programs cannot be used, since
//! they fix `opcode_base` at 13 and accept no unknown opcode, so the programs are our own. Foreign tables are read by
//! `gimli::read`. It is plain data in, sections out: no query, no PTX syntax and no cubin may enter.

mod expression;
mod line;
mod read;
mod registers;
mod section;
mod text;

pub use expression::to_frame_place;
pub use gimli::write::Error;
pub use line::{Caller, Place, Row, Sequence, SourceFile, Table, line_table, ptx_line_table};
pub use read::{SourceRow, Start, read_line_table};
pub use registers::{HeldRegister, MachineRegister, register_tables};
pub use section::{DebugData, Reference, Section};
pub use text::{ptx_text, ptx_text_section};
