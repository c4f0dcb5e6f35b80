//! Phase 32, CompactLocalMemory: local variables move to registers.
//!
//! A variable moves if every use of its address is a plain access at a known offset, so that nothing else can reach it: no
//! call, no generic address, no index, no phi. Each of its words becomes a register that stores write and loads read;
//! then these are renamed to SSA, with phis where paths meet. Parts of a word are inserted and extracted. A word that
//! nothing wrote is undefined, as memory would be. The variable's bytes leave the frame.
//!
//! It preserves what every load gives. A variable that registers cannot hold stays in memory.

use crate::analyses::accesses::{self, Access, Direction, Start, WORD, Width};
use crate::analyses::definitions::Definitions;
use crate::passes::generate_mov_phi;
use oriole_options::Optimization;
use oriole_ori::{
    AddressPart, BlockId, Destination, File, FormChange, Function, Instruction, LocalVariable, Opcode,
    Outcome, Pass, Pseudo, Source, SourceKind, Space, SymbolId, SymbolKind, Value, Values,
};
use oriole_sass::Op;
use rustc_hash::FxHashMap;
use typed_index_collections::{TiVec, ti_vec};

/// Words of one variable that moves: about as many as registers hold. More would be spilled, to memory again.
const WORDS: u64 = 128;
/// Words of all variables of a function that move. Few are in use at once: most are parameters and results of calls.
const ALL_WORDS: u64 = 1024;

/// The pass.
pub static PASS: Pass = Pass {
    form: FormChange::InSsa,
    optimization: Some(Optimization::LocalRegisters),
    ..Pass::new(|function, _| Outcome::changed_if(run(function)))
};

/// Moves local variables to registers. True if one was moved. In SSA.
pub fn run(function: &mut Function) -> bool {
    if function.locals.is_empty() {
        return false;
    }
    let Some(found) = Found::of(function) else { return false };
    let chosen = choose(function, &found);
    if chosen.is_empty() {
        return false;
    }
    let first = Value(function.values.len() as u32);
    let mut words: FxHashMap<SymbolId, Vec<Value>> = FxHashMap::default();
    for &(symbol, variable) in &chosen {
        let size =
            std::mem::replace(&mut function.locals[variable], LocalVariable { size: 0, align: 1 }).size;
        let count = size / u64::from(WORD);
        words.insert(symbol, (0..count).map(|_| function.new_value(File::R, None)).collect());
    }
    rewrite(function, &found.uses, &words);
    generate_mov_phi::rename(function, first);
    true
}

/// An access of a local variable.
struct Use {
    block: BlockId,
    index: usize,
    symbol: SymbolId,
    offset: i64,
    access: Access,
}

/// Uses of local variables.
struct Found {
    uses: Vec<Use>,
    /// Variables that must stay.
    stays: TiVec<SymbolId, bool>,
}

/// For each value the variable that it points into, and how far from its start.
type Pointers = TiVec<Value, Option<(SymbolId, i64)>>;

impl Found {
    /// `None` if no variable may move.
    fn of(function: &Function) -> Option<Found> {
        let definitions = Definitions::in_ssa(function);
        let mut pointers: Pointers = ti_vec![None; function.values.len()];
        let mut found = Found { uses: Vec::new(), stays: ti_vec![false; function.symbols.len()] };
        let graph = function.graph();
        // A definition comes before its uses, but for phis.
        for &id in graph.cfg().order() {
            for (index, instruction) in function.block(id).instructions.iter().enumerate() {
                if is_absolute(instruction) {
                    return None;
                }
                found.look(function, &definitions, &mut pointers, (id, index), instruction)?;
            }
        }
        for value in function.blocks.iter().flat_map(|block| &block.phis).flat_map(|phi| phi.values()) {
            if let Some((symbol, _)) = pointers[value] {
                found.stays[symbol] = true;
            }
        }
        Some(found)
    }

    /// Follows a pointer through an instruction. `None` if the instruction reaches beyond a variable.
    fn look(
        &mut self,
        function: &Function,
        definitions: &Definitions,
        pointers: &mut Pointers,
        (block, index): (BlockId, usize),
        instruction: &Instruction,
    ) -> Option<()> {
        if let Some((result, symbol, offset)) = frame_address(function, instruction) {
            pointers[result] = Some((symbol, offset));
            return Some(());
        }
        let named = named_variables(function, instruction);
        let mut read: Vec<Value> = Vec::new();
        instruction.for_each_use(|value| {
            if pointers[value].is_some() {
                read.push(value);
            }
        });
        if read.is_empty() && named.is_empty() {
            return Some(());
        }
        if let Some((symbol, offset, access)) = accessed(function, pointers, instruction, &read, &named) {
            let size = local_of(function, symbol).map_or(0, |variable| function.locals[variable].size);
            let end = offset + i64::from(access.width.bytes());
            // It counts on the layout of the frame.
            if offset < 0 || end > size as i64 {
                return None;
            }
            if !fits(offset, access.width) {
                self.stays[symbol] = true;
            }
            self.uses.push(Use { block, index, symbol, offset, access });
            return Some(());
        }
        let result = instruction.destinations.first().and_then(|to| to.values.first());
        if let (&[from], Some(&result), true) = (read.as_slice(), result, named.is_empty())
            && let Some((Start::Value(start), by)) =
                accesses::step(function, definitions, instruction, result)
            && start == from
            && let Some((symbol, offset)) = pointers[from]
        {
            pointers[result] = Some((symbol, i64::from(offset.wrapping_add(by) as i32)));
            return Some(());
        }
        named.iter().for_each(|&symbol| self.stays[symbol] = true);
        read.iter().filter_map(|&value| pointers[value]).for_each(|(symbol, _)| self.stays[symbol] = true);
        Some(())
    }
}

/// True for an access of local memory by a bare number.
fn is_absolute(instruction: &Instruction) -> bool {
    let local = instruction.memory.is_some_and(|memory| memory.space == Space::Local);
    let bare = |source: &Source| match &source.kind {
        SourceKind::Address(address) => {
            address.base.is_empty() && address.uniform.is_empty() && address.symbol.is_none()
        }
        _ => false,
    };
    local && instruction.sources.iter().any(bare)
}

/// The variable that a symbol names.
fn local_of(function: &Function, symbol: SymbolId) -> Option<usize> {
    match function.symbols[symbol].kind {
        SymbolKind::Local(variable) => Some(variable as usize),
        _ => None,
    }
}

/// The address of a variable, made by an instruction.
fn frame_address(function: &Function, instruction: &Instruction) -> Option<(Value, SymbolId, i64)> {
    if instruction.opcode != Opcode::Pseudo(Pseudo::FrameAddress) || instruction.guard.is_some() {
        return None;
    }
    let &result = instruction.destinations.first()?.values.first()?;
    match instruction.sources.first()?.kind {
        SourceKind::Address32 { symbol, part: AddressPart::Low, offset } => {
            local_of(function, symbol)?;
            Some((result, symbol, offset.into()))
        }
        _ => None,
    }
}

/// Variables that the operands name.
fn named_variables(function: &Function, instruction: &Instruction) -> Vec<SymbolId> {
    let named = |source: &Source| match &source.kind {
        SourceKind::Address(address) => address.symbol,
        SourceKind::Address32 { symbol, .. } => Some(*symbol),
        _ => None,
    };
    let symbols = instruction.sources.iter().filter_map(named);
    symbols.filter(|&symbol| local_of(function, symbol).is_some()).collect()
}

/// The variable, the offset and the kind of a plain access, if nothing else of the instruction reads a pointer.
fn accessed(
    function: &Function,
    pointers: &Pointers,
    instruction: &Instruction,
    read: &[Value],
    named: &[SymbolId],
) -> Option<(SymbolId, i64, Access)> {
    let access = Access::of(instruction).filter(|access| access.space == Space::Local)?;
    let source = instruction.sources.first()?;
    let SourceKind::Address(address) = &source.kind else { return None };
    if !address.uniform.is_empty() || address.descriptor.is_some() || !source.suffixes.is_empty() {
        return None;
    }
    let (symbol, start) = match (address.base.as_slice(), read, named) {
        (&[base], &[pointer], []) if base == pointer && address.symbol.is_none() => pointers[base]?,
        (&[], [], &[symbol]) if address.symbol == Some(symbol) => (symbol, 0),
        _ => return None,
    };
    local_of(function, symbol)?;
    Some((symbol, start + i64::from(address.offset), access))
}

/// True if the words of a variable hold the bytes, each whole or one a part.
fn fits(offset: i64, width: Width) -> bool {
    let inside = offset.rem_euclid(i64::from(WORD));
    match width {
        Width::Words(_) => inside == 0,
        Width::Narrow { bytes, .. } => inside + i64::from(bytes) <= i64::from(WORD),
    }
}

/// Symbols and indices of the variables that move.
fn choose(function: &Function, found: &Found) -> Vec<(SymbolId, usize)> {
    let mut symbols: TiVec<SymbolId, bool> = ti_vec![false; function.symbols.len()];
    found.uses.iter().for_each(|using| symbols[using.symbol] = true);
    let mut chosen = Vec::new();
    let mut names = vec![0u32; function.locals.len()];
    for symbol in function.symbols.keys() {
        if let Some(variable) = local_of(function, symbol) {
            names[variable] += 1;
        }
    }
    let mut words = 0;
    for (symbol, &used) in symbols.iter_enumerated() {
        let Some(variable) = local_of(function, symbol).filter(|&variable| variable < names.len()) else {
            continue;
        };
        let size = function.locals[variable].size;
        let count = size.div_ceil(u64::from(WORD));
        let whole = size.is_multiple_of(u64::from(WORD));
        if used
            && !found.stays[symbol]
            && names[variable] == 1
            && whole
            && count <= WORDS
            && words + count <= ALL_WORDS
        {
            words += count;
            chosen.push((symbol, variable));
        }
    }
    chosen
}

/// Puts moves between registers in the places of accesses.
fn rewrite(function: &mut Function, uses: &[Use], words: &FxHashMap<SymbolId, Vec<Value>>) {
    for here in uses.chunk_by(|one, other| one.block == other.block) {
        let block = function.block_mut(here[0].block);
        let mut next = here.iter().peekable();
        let instructions = std::mem::take(&mut block.instructions);
        for (index, instruction) in instructions.into_iter().enumerate() {
            let moved = next.next_if(|using| using.index == index);
            match moved.and_then(|using| Some((using, words.get(&using.symbol)?))) {
                Some((using, words)) => block.instructions.extend(moves(&instruction, using, words)),
                None => block.instructions.push(instruction),
            }
        }
    }
}

/// The moves of an access, in terms of the registers of the variable's words.
fn moves(instruction: &Instruction, using: &Use, words: &[Value]) -> Vec<Instruction> {
    let first = (using.offset / i64::from(WORD)) as usize;
    let byte = (using.offset % i64::from(WORD)) as u32;
    let mut found = Vec::new();
    match (using.access.direction, using.access.width) {
        (Direction::Load, Width::Words(_)) => {
            for (index, &result) in instruction.destinations[0].values.iter().enumerate() {
                let tied = instruction.tied.get(index).copied();
                found.push(copy(instruction, result, words[first + index].into(), tied));
            }
        }
        (Direction::Load, Width::Narrow { bytes, signed }) => {
            let result = instruction.destinations[0].values[0];
            let tied = instruction.tied.first().copied();
            let selector = extraction(byte, bytes, signed);
            found.push(permutation(instruction, result, words[first].into(), selector, Source::rz(), tied));
        }
        (Direction::Store, Width::Words(_)) => {
            let stored = accesses::stored_words(instruction).unwrap_or_default();
            for (index, held) in stored.into_iter().enumerate() {
                found.push(copy(instruction, words[first + index], held.source(), None));
            }
        }
        (Direction::Store, Width::Narrow { bytes, .. }) => {
            let stored = accesses::stored_words(instruction).unwrap_or_default();
            let word = words[first];
            for held in stored {
                let selector = insertion(byte, bytes);
                found.push(permutation(instruction, word, word.into(), selector, held.source(), None));
            }
        }
    }
    found
}

/// Bytes `byte` and on of the first operand, extended; bytes 4 and up are of a zero.
fn extraction(byte: u32, bytes: u32, signed: bool) -> u32 {
    let above = if signed { (byte + bytes - 1) | 8 } else { WORD };
    (0..WORD).fold(0, |selector, at| selector | if at < bytes { byte + at } else { above } << (4 * at))
}

/// The first operand with the low bytes of the second one from `byte` on.
fn insertion(byte: u32, bytes: u32) -> u32 {
    (0..WORD).fold(0, |selector, at| {
        let inserted = (byte..byte + bytes).contains(&at);
        selector | if inserted { WORD + at - byte } else { at } << (4 * at)
    })
}

/// A copy in place of an access, under its guard.
fn copy(access: &Instruction, to: Value, from: Source, tied: Option<Value>) -> Instruction {
    let mut copy = Instruction::new(Pseudo::Copy, access.origin);
    copy.guard = access.guard;
    copy.destinations.push(Destination::new(File::R, [to]));
    copy.sources.push(from);
    copy.tied = tied.into_iter().collect::<Values>();
    copy
}

/// A permutation of bytes in place of an access, under its guard.
fn permutation(
    access: &Instruction,
    to: Value,
    low: Source,
    selector: u32,
    high: Source,
    tied: Option<Value>,
) -> Instruction {
    let mut permutation = copy(access, to, low, tied);
    permutation.opcode = Opcode::Sass(Op::PRMT);
    permutation.sources.push(Source::imm(selector));
    permutation.sources.push(high);
    permutation
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_name_the_bytes() {
        assert_eq!(extraction(1, 1, false), 0x4441);
        assert_eq!(extraction(3, 1, true), 0xbbb3);
        assert_eq!(extraction(2, 2, false), 0x4432);
        assert_eq!(extraction(0, 2, true), 0x9910);
        assert_eq!(insertion(2, 1), 0x3410);
        assert_eq!(insertion(2, 2), 0x5410);
        assert_eq!(insertion(0, 2), 0x3254);
    }
}
