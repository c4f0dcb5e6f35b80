//! A function as the linker takes it: encoded, with what its symbols and tables mean.
//!
//! It is here, where the stages end, because they make it and `oriole-link` reads it. Nothing of another function enters.

use crate::encode::{EncodeFailure, EncodedFunction, encode_function};
use crate::{Allocated, holders, unwinding};
use oriole_chip::{Chip, RegisterFiles};
use oriole_ori::{ConstBase, Fixup, MachineFunction, SymbolId, SymbolKind, Table};
use typed_index_collections::TiVec;

/// A function as far as layout needs it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct LinkedFunction {
    /// Words, symbolic places and facts.
    pub encoded: EncodedFunction,
    /// Meaning of its symbols.
    pub symbols: TiVec<SymbolId, oriole_ori::SymbolRef>,
    /// Jump tables and literals.
    pub tables: Vec<Table>,
    /// Shared variables declared inside it: name, size and alignment in bytes.
    pub shared: Vec<(String, u64, u64)>,
    /// Its source names a shared variable, whatever became of that.
    pub names_shared: bool,
    /// Named barriers used, highest plus one.
    pub barriers: u8,
    /// Bytes of its frame.
    pub frame_bytes: u32,
    /// Offset in the frame of each of its `.local` variables.
    pub local_offsets: Vec<u32>,
    /// Where registers of the PTX are, of a function for debuggers.
    pub held: Vec<holders::Held>,
    /// Unwind rows of its frame, of a function for debuggers.
    pub frame_rows: Vec<unwinding::Row>,
    /// Bytes that all instructions that spill a register store, each counted once.
    pub spill_stores: u32,
    /// Bytes that all instructions that reload a spilled register load, each counted once.
    pub spill_loads: u32,
    /// Bytes of its parameters, of a kernel.
    pub parameter_bytes: u32,
    /// Most registers that the source's bounds leave a thread, if they limit it.
    pub register_limit: Option<u16>,
    /// The first `setmaxnreg`, if all of them were dropped because the code needs more registers than they leave.
    pub dropped_grants: Option<oriole_ori::Origin>,
    /// It has a section of its own, and a linker joins it with others.
    pub is_separate: bool,
}

impl LinkedFunction {
    /// Names of the functions that it calls directly, one for each call; those that the driver provides are not among
    /// them.
    pub fn called(&self) -> impl Iterator<Item = &str> {
        self.called_symbols(&[SymbolKind::Function]).map(|(_, name)| name)
    }

    /// Names of the routines of the compiler that it calls, one for each call.
    pub fn called_routines(&self) -> impl Iterator<Item = &str> {
        self.called_symbols(&[SymbolKind::Helper]).map(|(_, name)| name)
    }

    /// Functions and routines that it calls, with the index of the word that calls.
    pub fn calls(&self) -> impl Iterator<Item = (u32, &str)> {
        self.called_symbols(&[SymbolKind::Function, SymbolKind::Helper])
    }

    fn called_symbols<'a>(&'a self, kinds: &'a [SymbolKind]) -> impl Iterator<Item = (u32, &'a str)> {
        self.encoded.relocations.iter().filter_map(move |relocation| {
            let Fixup::Call(symbol) = relocation.fixup else { return None };
            let symbol = self.symbols.get(symbol)?;
            kinds.contains(&symbol.kind).then_some((relocation.at, symbol.name.as_str()))
        })
    }

    /// Names of the functions whose addresses it takes, one for each use.
    pub fn addressed(&self) -> impl Iterator<Item = &str> {
        self.encoded.relocations.iter().filter_map(|relocation| match relocation.fixup {
            Fixup::Address { symbol, .. } | Fixup::Const { base: ConstBase::AddressSlot(symbol), .. } => {
                let symbol = self.symbols.get(symbol)?;
                (symbol.kind == SymbolKind::Function).then_some(symbol.name.as_str())
            }
            _ => None,
        })
    }

    /// Calls a function with each name in it: those of symbols with their kinds, and those of the shared variables that it
    /// declares.
    pub fn for_each_name_mut(&mut self, mut visit: impl FnMut(&SymbolKind, &mut String)) {
        // All fields by name, so that a new one with a name in it is not forgotten.
        let LinkedFunction {
            encoded: _,
            symbols,
            tables: _,
            shared,
            names_shared: _,
            barriers: _,
            frame_bytes: _,
            local_offsets: _,
            held: _,
            frame_rows: _,
            spill_stores: _,
            spill_loads: _,
            parameter_bytes: _,
            register_limit: _,
            dropped_grants: _,
            is_separate: _,
        } = self;
        symbols.iter_mut().for_each(|symbol| visit(&symbol.kind, &mut symbol.name));
        shared.iter_mut().for_each(|(name, ..)| visit(&SymbolKind::Shared, name));
    }

    /// Whether it looks up where a pointer to a function leads.
    pub fn calls_through_pointers(&self) -> bool {
        self.tables.contains(&Table::Functions)
    }
}

/// Whether it matters where registers of the PTX are: in code that is not optimized and has a section of its own.
pub fn is_for_debuggers(allocated: &Allocated) -> bool {
    allocated.function.calls_library
}

/// Encodes a finished function, and collects what a linker needs of it. The shared variables that its source declares
/// and names are left empty.
///
/// # Errors
/// The first instruction without encoding.
pub fn emit(
    chip: Chip,
    registers: &RegisterFiles,
    allocated: &Allocated,
    finished: &MachineFunction,
) -> Result<LinkedFunction, EncodeFailure> {
    let all = u16::from(registers.general.count);
    let encoded = encode_function(chip, finished)?;
    let (stored, loaded) = allocated.assignment.spilled();
    Ok(LinkedFunction {
        encoded,
        symbols: allocated.function.symbols.clone(),
        tables: allocated.function.tables.clone(),
        shared: Vec::new(),
        names_shared: false,
        barriers: allocated.function.barriers,
        frame_bytes: allocated.assignment.frame_bytes,
        local_offsets: allocated.assignment.local_offsets.clone(),
        held: if is_for_debuggers(allocated) { holders::held(allocated, finished) } else { Vec::new() },
        frame_rows: if is_for_debuggers(allocated) {
            unwinding::rows(allocated, finished)
        } else {
            Vec::new()
        },
        spill_stores: stored,
        spill_loads: loaded,
        parameter_bytes: allocated.function.parameter_bytes,
        is_separate: allocated.function.is_separate,
        register_limit: allocated.function.register_limit.filter(|&limit| limit < all),
        dropped_grants: allocated.assignment.dropped_grants,
    })
}
