//! The context of a lowering, which every family gets: the function under construction, the values of each PTX register,
//! the current block, and the guard of the current statement.
//!
//! Its methods are here and in `operands` (PTX operands and results), `emit` (registers and single instructions) and
//! `prelude` (values that the whole function shares). No PTX instruction is known here, and what one family needs for
//! itself is in that family.

mod emit;
mod immediate;
mod operands;
mod prelude;

use crate::functions::Places;
use crate::source::Words;
use crate::{Environment, LowerError};
use la_arena::ArenaMap;
use oriole_chip::{Chip, ConstantBank};
use oriole_diagnostics::Code;
use oriole_hir::{Body, LabelId, RegisterId, Statement, VariableId, raw_index};
use oriole_options::LowerOptions;
use oriole_ori::{
    BlockId, Builder, File, Function, Guard, Instruction, Opcode, Origin, Pseudo, Source, Space, SymbolId,
    SymbolKind, SymbolRef, Value,
};
use oriole_sass::{Effect, Mod, Op};
use std::collections::BTreeMap;
use typed_index_collections::TiVec;

/// Result of every lowering function.
pub(crate) type Lowered = Result<(), LowerError>;

/// A result that is wider in the register than the instruction computes it, written when the statement ends.
pub(crate) struct Pending {
    /// The register.
    pub register: RegisterId,
    /// Type of the computed result.
    pub ty: oriole_ptx::Type,
    /// The computed words.
    pub words: Words,
}

/// One lowering.
pub(crate) struct Lower<'a> {
    /// The function to lower.
    pub body: &'a Body,
    /// The chip.
    pub chip: Chip,
    /// Landmarks of constant bank 0.
    pub bank: &'static ConstantBank,
    /// Appends to the function. Its own guard stays empty: guards are applied when a statement ends.
    pub b: Builder<'a>,
    /// Guard of the current statement, until a branch replaces it.
    pub guard: Option<Guard>,
    /// The carry of extended-precision arithmetic.
    pub carry: Option<Value>,
    /// Results to be widened when the statement ends.
    pub pending: Vec<Pending>,
    /// Ordinal of the current instruction.
    pub ordinal: u32,
    /// True if the last instruction of the current block leaves it unconditionally.
    pub terminated: bool,
    /// True if the function has calls.
    pub calls: bool,
    /// False if the function must do without uniform registers.
    pub uniform: bool,
    /// The function has a section of its own, and a linker lays out everything.
    pub separate: bool,
    /// Other options.
    pub options: LowerOptions,
    /// Places of the function's variables in registers and in the frame.
    pub places: Places,
    /// Header indices of textures, samplers and surfaces, by variable.
    pub headers: BTreeMap<VariableId, Value>,
    registers: ArenaMap<RegisterId, Words>,
    /// Registers that some instruction reads, computed on first use.
    read: Option<ArenaMap<RegisterId, ()>>,
    /// Registers that are written, and the integer that each of their writes moves there, if it is one; computed on first use.
    constants: Option<ArenaMap<RegisterId, Option<i64>>>,
    named: TiVec<Value, bool>,
    labels: ArenaMap<LabelId, BlockId>,
    symbols: BTreeMap<(u8, String), SymbolId>,
    descriptor: Option<[Value; 2]>,
    cluster_base: Option<Value>,
    prelude: usize,
    mark: (BlockId, usize),
}

impl<'a> Lower<'a> {
    /// The start of a lowering.
    pub fn new(
        body: &'a Body,
        environment: &Environment,
        function: &'a mut Function,
        uniform: bool,
    ) -> Result<Lower<'a>, LowerError> {
        let chip = environment.chip;
        let is_lowered = chip.is_supported() || chip.stand_in().is_some();
        let bank = chip.constant_bank().filter(|_| is_lowered).ok_or_else(|| {
            LowerError::new(Code::NotSupportedTarget, None, format!("no code can be made for {chip}"))
        })?;
        function.is_entry = body.is_entry;
        let options = environment.options;
        function.is_separate = options.separate();
        function.calls_library = options.calls_library();
        let calls = body.statements.iter().any(|statement| match statement {
            Statement::Instruction(i) => match i.opcode {
                oriole_ptx::Opcode::Call => true,
                opcode => options.calls_library() && is_exact(opcode),
            },
            _ => false,
        });
        let mut b = Builder::new(function, BlockId(0), Origin(0));
        let entry = b.new_block();
        Ok(Lower {
            body,
            chip,
            bank,
            b,
            guard: None,
            carry: None,
            pending: Vec::new(),
            ordinal: 0,
            terminated: false,
            calls,
            places: Places::default(),
            uniform,
            separate: options.separate(),
            options,
            registers: ArenaMap::with_capacity(body.registers.len()),
            read: None,
            constants: None,
            named: TiVec::new(),
            labels: ArenaMap::with_capacity(body.labels.len()),
            symbols: BTreeMap::new(),
            descriptor: None,
            cluster_base: None,
            headers: BTreeMap::new(),
            prelude: 0,
            mark: (entry, 0),
        })
    }

    /// Begins a statement: instructions emitted from here on get this guard.
    pub fn begin_statement(&mut self, guard: Option<(RegisterId, bool)>) {
        self.b.set_origin(Origin(self.place()));
        self.guard = guard.map(|(register, negated)| Guard { value: self.register(register)[0], negated });
        self.mark = (self.b.block(), self.length());
    }

    fn length(&self) -> usize {
        self.b.function().block(self.b.block()).instructions.len()
    }

    /// Writes pending results and guards the statement's instructions so far.
    pub fn settle(&mut self) {
        for pending in std::mem::take(&mut self.pending) {
            self.write_widened(pending);
        }
        let Some(mut guard) = self.guard else { return };
        let (block, start) = self.mark;
        let emitted = {
            let instructions = &mut self.b.function_mut().block_mut(block).instructions;
            instructions.split_off(start.min(instructions.len()))
        };
        // All of the statement uses the guard as it was before the statement wrote it.
        let (_, before_last) = emitted.split_last().unzip();
        if before_last
            .is_some_and(|instructions: &[Instruction]| instructions.iter().any(|i| defines(i, guard.value)))
        {
            let old = self.b.p();
            let mut copy = Instruction::new(Pseudo::Copy, self.b.origin());
            copy.destinations.push(oriole_ori::Destination::new(File::P, [old]));
            copy.sources.push(Source::value(guard.value));
            self.b.function_mut().block_mut(block).instructions.push(copy);
            guard.value = old;
        }
        for mut instruction in emitted {
            if self.acts(&instruction) {
                match instruction.guard {
                    None => instruction.guard = Some(guard),
                    Some(inner) => {
                        // Both must hold: the guards of the statement and of the expansion.
                        let both = self.b.p();
                        let mut and = Instruction::new(Op::PLOP3, instruction.origin);
                        and.mods.insert(Mod::LUT);
                        and.destinations.push(oriole_ori::Destination::new(File::P, [both]));
                        and.destinations.push(oriole_ori::Destination::dropped(File::P, 1));
                        and.sources.extend([
                            Source::from(guard),
                            Source::from(inner),
                            Source::pt(),
                            Source::literal(0x80),
                            Source::literal(0),
                        ]);
                        self.b.function_mut().block_mut(block).instructions.push(and);
                        instruction.guard = Some(Guard { value: both, negated: false });
                    }
                }
            }
            self.b.function_mut().block_mut(block).instructions.push(instruction);
        }
        self.mark = (self.b.block(), self.length());
    }

    /// True if the instruction does more than write temporaries.
    fn acts(&self, instruction: &Instruction) -> bool {
        let mut names = false;
        instruction.for_each_definition(|value| names |= self.is_named(value));
        names
            || instruction.memory.is_some_and(|m| m.writes || m.ordered || m.space != Space::Constant)
            || match instruction.opcode {
                // Memory operations are handled above, and branches carry the guard themselves.
                Opcode::Sass(op) => !matches!(
                    op.info().effect,
                    Effect::Pure
                        | Effect::PureUniform
                        | Effect::Register
                        | Effect::Predicates
                        | Effect::Query
                        | Effect::Load
                        | Effect::Branch
                ),
                Opcode::Pseudo(pseudo) => matches!(pseudo, Pseudo::Call | Pseudo::Return),
            }
    }

    // Values.

    fn is_named(&self, value: Value) -> bool {
        self.named.get(value).copied().unwrap_or(false)
    }

    /// Makes a value that keeps its old content where a guarded statement does not write it.
    pub fn name(&mut self, value: Value) {
        if value >= self.named.next_key() {
            self.named.resize(usize::from(value) + 1, false);
        }
        self.named[value] = true;
    }

    /// The ordinal of the current instruction in the text, for an inlined one that of its call.
    pub fn place(&self) -> u32 {
        let merged = self.body.merged.as_deref();
        merged.and_then(|merged| merged.origins.get(self.ordinal as usize).copied()).unwrap_or(self.ordinal)
    }

    /// The components of a PTX register.
    pub fn register(&mut self, id: RegisterId) -> Words {
        if let Some(words) = self.registers.get(id) {
            return words.clone();
        }
        let ty = self.body.registers[id].ty;
        let (file, count) = match ty {
            oriole_ptx::Type::Pred => (File::P, 1),
            _ => (File::R, ty.bits().div_ceil(32).max(1)),
        };
        let mut words = Words::new();
        // The text knows no registers of inlined functions.
        let merged = self.body.merged.as_deref();
        let named = merged.is_none_or(|merged| raw_index(id) < merged.registers);
        for component in 0..count {
            let source = named.then(|| (raw_index(id), component as u8));
            let value = self.b.function_mut().new_value(file, source);
            self.name(value);
            words.push(value);
        }
        self.registers.insert(id, words.clone());
        words
    }

    // Blocks.

    /// Goes on in this block, which follows in the text.
    pub fn open(&mut self, block: BlockId) {
        self.b.set_block(block);
        self.terminated = false;
        self.mark = (block, self.length());
    }

    /// Ends the current block by falling through to `block`, and continues there.
    pub fn run_into(&mut self, block: BlockId) {
        if !self.terminated {
            self.b.fall_through(block);
        }
        self.open(block);
    }

    /// The block that a label begins.
    pub fn label(&mut self, label: LabelId) -> BlockId {
        if let Some(&block) = self.labels.get(label) {
            return block;
        }
        let block = self.b.new_block();
        self.labels.insert(label, block);
        block
    }

    /// Begins the block of a label.
    pub fn place_label(&mut self, label: LabelId) {
        let block = self.label(label);
        self.run_into(block);
    }

    /// Begins an expansion with control flow of its own: if the statement is guarded, branches around it. The code in
    /// it is unguarded; [`Lower::end_region`] must open the returned block, if any.
    pub fn begin_region(&mut self) -> Option<BlockId> {
        self.settle_partly();
        let guard = self.guard.take()?;
        let inside = self.b.new_block();
        let behind = self.b.new_block();
        self.b.branch(Guard { value: guard.value, negated: !guard.negated }, behind, inside);
        self.open(inside);
        Some(behind)
    }

    /// Ends the region of [`Lower::begin_region`].
    pub fn end_region(&mut self, behind: Option<BlockId>) {
        for pending in std::mem::take(&mut self.pending) {
            self.write_widened(pending);
        }
        if let Some(behind) = behind {
            self.run_into(behind);
        }
    }

    /// True if some instruction reads the register.
    pub fn is_read(&mut self, register: RegisterId) -> bool {
        let body = self.body;
        let read = self.read.get_or_insert_with(|| {
            let mut read = ArenaMap::with_capacity(body.registers.len());
            for statement in &body.statements {
                if let Statement::Instruction(instruction) = statement {
                    instruction.for_each_read(|register| {
                        read.insert(register, ());
                    });
                }
            }
            read
        });
        read.contains_idx(register)
    }

    /// True if the register holds one integer wherever it is read: all its writes move that.
    pub fn is_constant(&mut self, register: RegisterId) -> bool {
        let body = self.body;
        let constants = self.constants.get_or_insert_with(|| {
            let mut constants: ArenaMap<RegisterId, Option<i64>> = ArenaMap::default();
            for statement in &body.statements {
                let Statement::Instruction(instruction) = statement else { continue };
                let moved = match (instruction.opcode, &instruction.operands[..]) {
                    (
                        oriole_ptx::Opcode::Mov,
                        [_, oriole_hir::Operand::Immediate(oriole_hir::Immediate::Integer(value))],
                    ) => Some(*value),
                    _ => None,
                };
                instruction.for_each_written(|register| {
                    let known = constants.get(register).copied().unwrap_or(moved);
                    constants.insert(register, known.filter(|&known| moved == Some(known)));
                });
            }
            constants
        });
        let is_given = body.parameters.iter().chain(&body.results).any(|parameter| parameter.in_register);
        !is_given && constants.get(register).copied().flatten().is_some()
    }

    /// Instructions emitted before a region only feed it, so they need no guard.
    fn settle_partly(&mut self) {
        self.mark = (self.b.block(), self.length());
    }

    // Names outside the function.

    /// The symbol of this kind and name.
    pub fn symbol(&mut self, kind: SymbolKind, name: &str) -> SymbolId {
        let tag = match kind {
            SymbolKind::Shared => 0,
            SymbolKind::Global => 1,
            SymbolKind::Constant => 2,
            SymbolKind::Local(_) => 3,
            SymbolKind::Function => 4,
            SymbolKind::Helper => 5,
            SymbolKind::Extern => 6,
            SymbolKind::Opaque => 7,
            SymbolKind::OpaqueParameter(_) => 10,
            SymbolKind::DescriptorSize => 8,
            SymbolKind::Arguments => 9,
            SymbolKind::Outside => 11,
            SymbolKind::ConstantSize => 12,
        };
        if tag != 3
            && let Some(&id) = self.symbols.get(&(tag, name.to_string()))
        {
            return id;
        }
        let function = self.b.function_mut();
        let id = function.symbols.next_key();
        function.symbols.push(SymbolRef { name: name.to_string(), kind, align: 1 });
        if tag != 3 {
            self.symbols.insert((tag, name.to_string()), id);
        }
        id
    }

    // Errors.

    /// An error for an unsupported construct.
    pub fn unsupported(&self, message: impl Into<String>) -> LowerError {
        LowerError::new(Code::NotSupported, Some(self.place()), message)
    }
}

/// True if the operation may become a library call.
fn is_exact(opcode: oriole_ptx::Opcode) -> bool {
    use oriole_ptx::Opcode::{Div, Rcp, Rem, Sqrt};
    matches!(opcode, Div | Rcp | Rem | Sqrt)
}

/// True if the instruction writes the value.
fn defines(instruction: &Instruction, value: Value) -> bool {
    let mut found = false;
    instruction.for_each_definition(|defined| found |= defined == value);
    found
}
