//! A function after allocation: blocks of machine instructions with physical registers; fixups name the symbolic
//! operands. Form selection produces it, layout and control words change it, and the encoder takes it.

use crate::pattern::RowId;
use crate::{AddressPart, BlockId, ConstBase, MemoryInfo, Origin, SymbolId, Value};
use oriole_sass::form::Table;
use oriole_sass::{EncodeError, FormId};
use typed_index_collections::TiVec;

/// The physical register of each value, as allocated. Values keep one register for their whole life; where allocation
/// moved or split one, it made a new value and a copy.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Assignment {
    /// For each value the register number in its file; `None` if the value does not occur.
    pub registers: TiVec<Value, Option<u8>>,
    /// General registers allocated to a thread: the ones that code names and those reserved by the hardware.
    pub general_registers: u16,
    /// Bytes of the function's own stack frame: local variables, spill slots, saved registers.
    pub frame_bytes: u32,
    /// Bytes of the frame that hold spills.
    pub spill_bytes: u32,
    /// Their offset in the frame.
    pub spill_base: u32,
    /// Frame offset in bytes of each local variable.
    pub local_offsets: Vec<u32>,
    /// Inserted spill stores and reloads.
    pub spill_stores: u32,
    /// See `spill_stores`.
    pub spill_loads: u32,
    /// The first `setmaxnreg`, if all of them were dropped because the code needs more registers than they leave.
    pub dropped_grants: Option<crate::Origin>,
}

impl Assignment {
    /// Bytes that all spill stores store and all reloads load, each instruction counted once.
    pub fn spilled(&self) -> (u32, u32) {
        const REGISTER_BYTES: u32 = 4;
        (REGISTER_BYTES * self.spill_stores, REGISTER_BYTES * self.spill_loads)
    }
}

/// A function of machine instructions.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct MachineFunction {
    /// Blocks in layout order; fall-through goes to the next one. A branch names a block by index here.
    pub blocks: TiVec<BlockId, MachineBlock>,
    /// General registers that a thread is allocated.
    pub general_registers: u16,
    /// Frame in bytes.
    pub frame_bytes: u32,
}

/// A block of machine instructions.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct MachineBlock {
    /// Instructions in issue order.
    pub instructions: Vec<MachineInstruction>,
    /// Blocks control may go to.
    pub successors: crate::Successors,
    /// Number of loops that contain it.
    pub loop_depth: u8,
}

/// A machine instruction and its open fixups.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct MachineInstruction {
    /// The instruction; a field with a fixup holds zero.
    pub instruction: oriole_sass::Instruction,
    /// The form that it is written in, chosen once. Later phases may change registers, the control word and the
    /// value of a fixup, but not the kinds of operands or the modifiers.
    pub form: FormId,
    /// The row of the pattern table that selected it; `None` for instructions made after selection or decoded.
    pub row: Option<RowId>,
    /// The symbolic part, at most one.
    pub fixup: Option<Fixup>,
    /// Memory access.
    pub memory: Option<MemoryInfo>,
    /// Its origin.
    pub origin: Origin,
}

impl MachineInstruction {
    /// An instruction without anything symbolic, in the form that takes it.
    ///
    /// # Errors
    /// No form takes it.
    pub fn new(
        forms: &'static Table,
        instruction: oriole_sass::Instruction,
        origin: Origin,
    ) -> Result<MachineInstruction, EncodeError> {
        let form = oriole_sass::form_of(forms, &instruction)?;
        Ok(MachineInstruction { instruction, form, row: None, fixup: None, memory: None, origin })
    }
}

/// A field that only layout can fill.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub enum Fixup {
    /// Branch (or BSSY) target: a block of this function.
    Block(BlockId),
    /// Call target: relative to the end of the instruction, or of an absolute call the address.
    Call(SymbolId),
    /// 32-bit immediate: part of the address of a variable or function, plus an offset.
    Address { symbol: SymbolId, part: AddressPart, offset: i32 },
    /// Offset of a constant operand: base plus offset.
    Const { base: ConstBase, offset: i32 },
    /// 24-bit offset of a shared-memory address: the variable's offset plus this one.
    SharedOffset { symbol: SymbolId, offset: i32 },
    /// Branch target: the start of the kernel's code, where return and function addresses count from
    /// (`RET.REL.NODEC R20`, an indirect `CALL.REL.NOINC`).
    KernelStart,
    /// 32-bit immediate: part of the address of the instruction after the next call in this block (return address).
    ReturnAddress(AddressPart),
    /// 32-bit immediate: byte offset of this place from the last `LEPC` before it. The index of that word is known
    /// once the function is encoded.
    ReturnDistance(Option<u32>),
}
