//! Canonical text of Ori. Equal functions have equal text, and the parser restores the printed function.
//!
//! By example:
//!
//! ```text
//! kernel params=24 barriers=1 registers=32
//!   symbol s0 shared "tile"
//!   local l0 size=16 align=4
//!   table t0 words 0x1 0x2
//!   value r1 = %3.0
//! b0: -> b2 b1
//!   {r2 r3} = LDC.64 c[0][0x210] ; 0
//!   p4, PT = ISETP.AND.GE r1, 0x10, PT ; 1
//!   @p4 BRA b2 ; 2
//! b1: -> b2
//!   @!p4 r5 = LDG.E desc{u6 u7}[{r2 r3}+0x4] tied(r1) mem(global r) ; 3
//! b2:
//!   r8 = phi b0: r1, b1: r5
//!   EXIT ; 4
//! ```
//!
//! Registers are letters by file (`r`, `u`, `p`, `q` for UP, `x` for convergence barriers) and the index of the
//! value. `#5` is a literal, `0x5` an immediate; `$4` after an operand fixes its register; `; 3` is the origin;
//! `contract` before it says that a floating-point operation may be contracted.

use crate::{
    Address, AddressPart, BlockId, CallShape, ConstBase, Destination, File, Function, IndexedConst,
    Instruction, MemoryInfo, Opcode, Source, SourceKind, Space, SymbolKind, Table, Value,
};
use std::fmt::{self, Display, Formatter, Write};
use typed_index_collections::{TiVec, ti_vec};

impl Display for Function {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_header(self, f)?;
        write_tables(self, f)?;
        write_values(self, f)?;
        self.block_ids().try_for_each(|id| write_block(self, id, f))
    }
}

fn write_header(function: &Function, f: &mut Formatter<'_>) -> fmt::Result {
    let kind = match (function.is_entry, function.routine) {
        (true, _) => "kernel",
        (false, None) => "function",
        (false, Some(_)) => "routine",
    };
    write!(f, "{kind} params={} barriers={}", function.parameter_bytes, function.barriers)?;
    if let Some(clobbers) = function.routine {
        write!(f, " clobbers={:x} predicates={:x}", clobbers.general, clobbers.predicates)?;
    }
    if function.is_separate {
        f.write_str(" separate")?;
    }
    if function.calls_library {
        f.write_str(" library")?;
    }
    if let Some(limit) = function.register_limit {
        write!(f, " registers={limit}")?;
    }
    if function.states_registers {
        f.write_str(" stated")?;
    }
    if let Some(threads) = function.block_threads {
        write!(f, " threads={threads}")?;
    }
    if function.warps_in_rows {
        f.write_str(" rows")?;
    }
    if function.lanes_apart {
        f.write_str(" apart")?;
    }
    if function.shared_bytes > 0 {
        write!(f, " shared={}", function.shared_bytes)?;
    }
    if function.at_fixed_point {
        f.write_str(" fixed_point")?;
    }
    f.write_char('\n')
}

/// Symbols, local variables and tables of branch targets or words.
fn write_tables(function: &Function, f: &mut Formatter<'_>) -> fmt::Result {
    for (index, symbol) in function.symbols.iter().enumerate() {
        write!(f, "  symbol s{index} ")?;
        match symbol.kind {
            SymbolKind::Local(number) | SymbolKind::OpaqueParameter(number) => {
                write!(f, "{}({number})", symbol_kind_name(&symbol.kind))?;
            }
            ref kind => f.write_str(symbol_kind_name(kind))?,
        }
        write!(f, " {:?}", symbol.name)?;
        if symbol.align > 1 {
            write!(f, " align={}", symbol.align)?;
        }
        f.write_char('\n')?;
    }
    for (index, local) in function.locals.iter().enumerate() {
        writeln!(f, "  local l{index} size={} align={}", local.size, local.align)?;
    }
    for (index, table) in function.tables.iter().enumerate() {
        write!(f, "  table t{index}")?;
        match table {
            Table::Targets(blocks) => {
                f.write_str(" targets")?;
                blocks.iter().try_for_each(|block| write!(f, " b{}", block.0))?;
            }
            Table::Words(words) => {
                f.write_str(" words")?;
                words.iter().try_for_each(|word| write!(f, " {word:#x}"))?;
            }
            Table::Functions => f.write_str(" functions")?,
        }
        f.write_char('\n')?;
    }
    Ok(())
}

/// Values are implied by their occurrences; a line is needed only for other properties.
fn write_values(function: &Function, f: &mut Formatter<'_>) -> fmt::Result {
    let mut occurs: TiVec<Value, bool> = ti_vec![false; function.values.len()];
    function.for_each_occurrence(|value| {
        if let Some(seen) = occurs.get_mut(value) {
            *seen = true;
        }
    });
    for (value, data) in function.values.iter_enumerated() {
        match data.source {
            Some((register, component)) => {
                writeln!(f, "  value {} = %{register}.{component}", Name(function, value))?;
            }
            None if !occurs[value] => writeln!(f, "  value {}", Name(function, value))?,
            None => {}
        }
    }
    Ok(())
}

fn write_block(function: &Function, id: BlockId, f: &mut Formatter<'_>) -> fmt::Result {
    let block = function.block(id);
    write!(f, "b{}:", id.0)?;
    if block.nounroll {
        f.write_str(" nounroll")?;
    }
    if block.cold {
        f.write_str(" cold")?;
    }
    if !block.successors.is_empty() {
        f.write_str(" ->")?;
        block.successors.iter().try_for_each(|successor| write!(f, " b{}", successor.0))?;
    }
    f.write_char('\n')?;
    write_code(function, id, f)
}

/// The lines of a block after its label: phis, then instructions.
pub fn block_text(function: &Function, id: BlockId) -> String {
    struct Code<'a>(&'a Function, BlockId);
    impl Display for Code<'_> {
        fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
            write_code(self.0, self.1, f)
        }
    }
    Code(function, id).to_string()
}

fn write_code(function: &Function, id: BlockId, f: &mut Formatter<'_>) -> fmt::Result {
    let block = function.block(id);
    for phi in &block.phis {
        write!(f, "  {} = phi", Name(function, phi.destination))?;
        for (index, (predecessor, source)) in phi.sources.iter().enumerate() {
            f.write_str(if index == 0 { " " } else { ", " })?;
            write!(f, "b{}: {}", predecessor.0, SourceText(function, &source.source()))?;
        }
        f.write_char('\n')?;
    }
    for instruction in &block.instructions {
        writeln!(f, "  {}", InstructionText(function, instruction))?;
    }
    Ok(())
}

/// The spelling of a symbol kind, without the index that some have.
pub(crate) fn symbol_kind_name(kind: &SymbolKind) -> &'static str {
    match kind {
        SymbolKind::Shared => "shared",
        SymbolKind::Global => "global",
        SymbolKind::Constant => "constant",
        SymbolKind::Local(_) => "local",
        SymbolKind::Function => "function",
        SymbolKind::Helper => "helper",
        SymbolKind::Extern => "extern",
        SymbolKind::Outside => "outside",
        SymbolKind::Opaque => "opaque",
        SymbolKind::OpaqueParameter(_) => "opaque_parameter",
        SymbolKind::DescriptorSize => "descriptor_size",
        SymbolKind::ConstantSize => "constant_size",
        SymbolKind::Arguments => "arguments",
    }
}

/// The letter of a register file.
pub(crate) fn file_letter(file: File) -> char {
    match file {
        File::R => 'r',
        File::UR => 'u',
        File::P => 'p',
        File::UP => 'q',
        File::B => 'x',
    }
}

/// The spelling of a memory space.
pub(crate) fn space_name(space: Space) -> &'static str {
    match space {
        Space::Generic => "generic",
        Space::Global => "global",
        Space::Shared => "shared",
        Space::Local => "local",
        Space::Constant => "constant",
        Space::Spill => "spill",
    }
}

/// The spelling of an opcode, without modifiers.
pub fn opcode_name(opcode: Opcode) -> String {
    match opcode {
        Opcode::Sass(op) => op.name().to_string(),
        Opcode::Pseudo(pseudo) => format!("{pseudo:?}"),
    }
}

/// A value by file letter and index.
pub struct Name<'a>(pub &'a Function, pub Value);

impl Display for Name<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        // A value out of range is an error that the verifier reports; the text must still be printed.
        let letter = self.0.values.get(self.1).map_or('?', |data| file_letter(data.file));
        write!(f, "{letter}{}", self.1.0)
    }
}

struct Tuple<'a>(&'a Function, &'a [Value]);

impl Display for Tuple<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let [only] = self.1 {
            return write!(f, "{}", Name(self.0, *only));
        }
        f.write_char('{')?;
        for (index, &value) in self.1.iter().enumerate() {
            if index > 0 {
                f.write_char(' ')?;
            }
            write!(f, "{}", Name(self.0, value))?;
        }
        f.write_char('}')
    }
}

struct DestinationText<'a>(&'a Function, &'a Destination);

impl Display for DestinationText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let destination = self.1;
        if destination.values.is_empty() {
            f.write_str(match destination.file {
                File::R => "RZ",
                File::UR => "URZ",
                File::P => "PT",
                File::UP => "UPT",
                File::B => "XZ",
            })?;
            if destination.width != 1 {
                write!(f, ":{}", destination.width)?;
            }
        } else {
            write!(f, "{}", Tuple(self.0, &destination.values))?;
        }
        if let Some(register) = destination.fixed {
            write!(f, "${register}")?;
        }
        Ok(())
    }
}

/// An offset with its sign, `+0x10`; empty if it is zero.
struct Offset(i32);

impl Display for Offset {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            offset if offset < 0 => write!(f, "-{:#x}", i64::from(offset).unsigned_abs()),
            offset => write!(f, "+{offset:#x}"),
        }
    }
}

/// A source operand as text.
pub struct SourceText<'a>(pub &'a Function, pub &'a Source);

impl Display for SourceText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let SourceText(function, source) = *self;
        if source.negate {
            f.write_char('-')?;
        }
        if source.invert {
            f.write_char('!')?;
        }
        if source.absolute {
            f.write_char('|')?;
        }
        match &source.kind {
            SourceKind::Values(values) => write!(f, "{}", Tuple(function, values))?,
            SourceKind::Zero(file) => f.write_str(match file {
                File::R => "RZ",
                File::UR => "URZ",
                File::P => "zero(P)",
                File::UP => "zero(UP)",
                File::B => "zero(B)",
            })?,
            SourceKind::True(file) => f.write_str(match file {
                File::P => "PT",
                File::UP => "UPT",
                File::R => "true(R)",
                File::UR => "true(UR)",
                File::B => "true(B)",
            })?,
            SourceKind::Imm(bits) => write!(f, "{bits:#x}")?,
            SourceKind::Literal(number) => write!(f, "#{number}")?,
            SourceKind::Const { bank, base, offset } => {
                let offset = BracketOffset(*offset, *base == ConstBase::Bank);
                write!(f, "c[{bank}][{}{offset}]", BaseText(*base))?;
            }
            SourceKind::ConstIndexed(place) => {
                let IndexedConst { bank, base, index, offset } = &**place;
                let separator = if *base == ConstBase::Bank { "" } else { "+" };
                write!(f, "c[{bank}][{}{separator}", BaseText(*base))?;
                write!(f, "{}{}]", Name(function, *index), Offset(*offset))?;
            }
            SourceKind::Address(address) => write_address(f, function, address)?,
            SourceKind::Address32 { symbol, part, offset } => {
                let part = match part {
                    AddressPart::Low => "low",
                    AddressPart::High => "high",
                };
                write!(f, "{part}(s{}{})", symbol.0, Offset(*offset))?;
            }
            SourceKind::Block(block) => write!(f, "b{}", block.0)?,
            SourceKind::Callee(symbol) => write!(f, "callee(s{})", symbol.0)?,
            SourceKind::KernelStart => f.write_str("kernel_start")?,
            SourceKind::ReturnAddress(AddressPart::Low) => f.write_str("return_address(low)")?,
            SourceKind::ReturnAddress(AddressPart::High) => f.write_str("return_address(high)")?,
            SourceKind::ReturnDistance => f.write_str("return_distance")?,
            SourceKind::Symbol(symbol) => write!(f, "%({})", symbol.name())?,
            SourceKind::Scoreboard(number) => write!(f, "SB{number}")?,
        }
        if source.absolute {
            f.write_char('|')?;
        }
        for suffix in source.suffixes.iter() {
            write!(f, ".{}", suffix.name())?;
        }
        if let Some(register) = source.fixed {
            write!(f, "${register}")?;
        }
        Ok(())
    }
}

/// Base of an offset in a constant bank; empty for the start of the bank.
struct BaseText(ConstBase);

impl Display for BaseText {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            ConstBase::Bank => Ok(()),
            ConstBase::Variable(symbol) => write!(f, "s{}", symbol.0),
            ConstBase::AddressSlot(symbol) => write!(f, "slot s{}", symbol.0),
            ConstBase::HeaderSlot(symbol) => write!(f, "header s{}", symbol.0),
            ConstBase::Table(table) => write!(f, "t{table}"),
        }
    }
}

fn write_address(f: &mut Formatter<'_>, function: &Function, address: &Address) -> fmt::Result {
    let Address { descriptor, base, uniform, symbol, offset } = address;
    if let Some(descriptor) = descriptor {
        write!(f, "desc{}", Tuple(function, descriptor))?;
    }
    f.write_char('[')?;
    let mut separator = "";
    if !base.is_empty() {
        write!(f, "{}", Tuple(function, base))?;
        separator = "+";
    }
    if !uniform.is_empty() {
        write!(f, "{separator}^{}", Tuple(function, uniform))?;
        separator = "+";
    }
    if let Some(symbol) = symbol {
        write!(f, "{separator}s{}", symbol.0)?;
        separator = "+";
    }
    write!(f, "{}]", BracketOffset(*offset, separator.is_empty()))
}

/// An offset inside brackets: without a leading plus, and never empty where it is alone.
struct BracketOffset(i32, bool);

impl Display for BracketOffset {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.1 && self.0 >= 0 { write!(f, "{:#x}", self.0) } else { write!(f, "{}", Offset(self.0)) }
    }
}

/// An instruction as text, on one line.
pub struct InstructionText<'a>(pub &'a Function, pub &'a Instruction);

impl Display for InstructionText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let InstructionText(function, instruction) = *self;
        if let Some(guard) = instruction.guard {
            write!(f, "@{}{} ", if guard.negated { "!" } else { "" }, Name(function, guard.value))?;
        }
        for (index, destination) in instruction.destinations.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { ", " })?;
            write!(f, "{}", DestinationText(function, destination))?;
        }
        if !instruction.destinations.is_empty() {
            f.write_str(" = ")?;
        }
        f.write_str(&opcode_name(instruction.opcode))?;
        for modifier in instruction.mods.iter() {
            write!(f, ".{}", modifier.name())?;
        }
        for (index, source) in instruction.sources.iter().enumerate() {
            f.write_str(if index == 0 { " " } else { ", " })?;
            write!(f, "{}", SourceText(function, source))?;
        }
        if !instruction.tied.is_empty() {
            f.write_str(" tied(")?;
            for (index, &value) in instruction.tied.iter().enumerate() {
                write!(f, "{}{}", if index == 0 { "" } else { " " }, Name(function, value))?;
            }
            f.write_char(')')?;
        }
        if let Some(memory) = instruction.memory {
            write!(f, " {}", MemoryText(memory))?;
        }
        if let Some(call) = &instruction.call {
            write!(f, " {}", CallText(call))?;
        }
        if instruction.contract {
            f.write_str(" contract")?;
        }
        write!(f, " ; {}", instruction.origin.0)
    }
}

struct MemoryText(MemoryInfo);

impl Display for MemoryText {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "mem({} ", space_name(self.0.space))?;
        f.write_str(match (self.0.reads, self.0.writes) {
            (true, true) => "rw",
            (true, false) => "r",
            (false, true) => "w",
            (false, false) => "none",
        })?;
        if self.0.ordered {
            f.write_str(" ordered")?;
        }
        if let Some(operation) = self.0.object {
            write!(f, " object {}", operation.name())?;
        }
        f.write_char(')')
    }
}

struct CallText<'a>(&'a CallShape);

impl Display for CallText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let call = self.0;
        f.write_str("call(")?;
        match call.callee {
            Some(symbol) => write!(f, "s{}", symbol.0)?,
            None => f.write_str("indirect")?,
        }
        write!(f, " stack={} clobbers=", call.stack_bytes)?;
        for (index, word) in call.clobbers.iter().enumerate() {
            write!(f, "{}{word:x}", if index == 0 { "" } else { "," })?;
        }
        write!(f, " predicates={:x}", call.clobbered_predicates)?;
        if call.clobbers_uniform {
            f.write_str(" uniform")?;
        }
        if call.exchanges {
            f.write_str(" exchanges")?;
        }
        if call.arguments != [0; 4] || call.argument_predicates != 0 {
            f.write_str(" arguments=")?;
            call.arguments.iter().try_for_each(|word| write!(f, "{word:x},"))?;
            write!(f, "{:x}", call.argument_predicates)?;
        }
        f.write_char(')')
    }
}

/// A block id as text.
impl Display for BlockId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "b{}", self.0)
    }
}
