//! Phase 32, CompactLocalMemory: local variables move to registers.
//!
//! A variable moves if every use of its address is a plain access at a known offset, so that nothing else can reach it: no call,
//! no generic address, no phi. A load at a computed address compares it with that of each word, if that is cheap in the function.
//! The sum of these words over all such loads is bounded by the number of instructions, where accesses of global and shared
//! memory count twice and those of local memory three times. That is the bound of ptxas 13.0. Each of its words becomes a
//! register that stores write and loads read; then these are renamed to SSA, with phis where paths meet. Parts of a word are
//! inserted and extracted. A word that nothing wrote is undefined, as memory would be. The variable's bytes leave the frame.
//!
//! It preserves what every load gives. A variable that registers cannot hold stays in memory.

use crate::analyses::accesses::{self, Access, Direction, Start, WORD, Width};
use crate::analyses::byte_selectors::{extraction, insertion};
use crate::analyses::definitions::Definitions;
use crate::passes::generate_mov_phi;
use oriole_options::Optimization;
use oriole_ori::{
    AddressPart, BlockId, Builder, Destination, File, FormChange, Function, Instruction, LocalVariable,
    Opcode, Outcome, Pass, Pseudo, Source, SourceKind, Space, SymbolId, SymbolKind, Value, Values,
};
use oriole_sass::{Mod, Op};
use rustc_hash::FxHashMap;
use typed_index_collections::{TiVec, ti_vec};

/// Words of one variable that moves: about as many as registers hold. More would be spilled, to memory again.
const WORDS: u64 = 128;
/// Words of all variables of a function that move. Few are in use at once: most are parameters and results of calls.
const ALL_WORDS: u64 = 1024;

/// Most words of a variable that are compared with a computed address.
const COMPARED: u64 = 32;

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
    /// Bytes from the start of the variable. A load at an address that is computed: bytes from the address.
    offset: i64,
    /// The address, if it is computed.
    computed: Option<Value>,
    access: Access,
}

/// Where a value points.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Pointer {
    symbol: SymbolId,
    /// Bytes from the start of the variable; `None` for a place that is computed.
    offset: Option<i64>,
}

/// Uses of local variables.
struct Found {
    uses: Vec<Use>,
    /// Variables that must stay.
    stays: TiVec<SymbolId, bool>,
}

/// For each value where it points.
type Pointers = TiVec<Value, Option<Pointer>>;

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
            if let Some(Pointer { symbol, .. }) = pointers[value] {
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
            pointers[result] = Some(Pointer { symbol, offset: Some(offset) });
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
        if let Some((pointer, by, access)) = accessed(function, pointers, instruction, &read, &named) {
            let symbol = pointer.symbol;
            let Some(offset) = pointer.offset.map(|offset| offset + by) else {
                let computed = Some(read[0]);
                self.stays[symbol] |= !may_compare(instruction, &access);
                self.uses.push(Use { block, index, symbol, offset: by, computed, access });
                return Some(());
            };
            let size = local_of(function, symbol).map_or(0, |variable| function.locals[variable].size);
            let end = offset + i64::from(access.width.bytes());
            // It counts on the layout of the frame.
            if offset < 0 || end > size as i64 {
                return None;
            }
            if !fits(offset, access.width) {
                self.stays[symbol] = true;
            }
            self.uses.push(Use { block, index, symbol, offset, computed: None, access });
            return Some(());
        }
        let result = instruction.destinations.first().and_then(|to| to.values.first());
        if let (&[from], Some(&result), true) = (read.as_slice(), result, named.is_empty())
            && let Some(pointer) = pointers[from]
        {
            let step = accesses::step(function, definitions, instruction, result);
            let step = step.and_then(|(start, by)| (start == Start::Value(from)).then_some(by));
            let offset =
                pointer.offset.zip(step).map(|(offset, by)| i64::from(offset.wrapping_add(by) as i32));
            if step.is_some() || is_sum(instruction, from) {
                pointers[result] = Some(Pointer { symbol: pointer.symbol, offset });
                return Some(());
            }
        }
        named.iter().for_each(|&symbol| self.stays[symbol] = true);
        read.iter()
            .filter_map(|&value| pointers[value])
            .for_each(|pointer| self.stays[pointer.symbol] = true);
        Some(())
    }
}

/// True if the result is the sum of a pointer, in its low word, and something else.
fn is_sum(instruction: &Instruction, pointer: Value) -> bool {
    let plain = instruction.guard.is_none() && instruction.tied.is_empty();
    let reads = |source: &Source| {
        let signed = source.negate || source.absolute || source.invert || !source.suffixes.is_empty();
        let low = matches!(&source.kind, SourceKind::Values(values) if values.first() == Some(&pointer));
        low && !signed && source.fixed.is_none()
    };
    let place = instruction.sources.iter().position(reads);
    plain
        && match instruction.opcode {
            Opcode::Sass(Op::IADD3) => instruction.mods.is_empty() && place.is_some(),
            Opcode::Pseudo(Pseudo::Add64) => place.is_some(),
            Opcode::Sass(Op::IMAD) => !instruction.mods.has(Mod::HI) && place == Some(2),
            Opcode::Sass(Op::LEA) => instruction.mods.is_empty() && place == Some(1),
            _ => false,
        }
}

/// True for a load at a computed address that comparisons can replace.
fn may_compare(instruction: &Instruction, access: &Access) -> bool {
    let plain = instruction.guard.is_none() && instruction.tied.is_empty();
    plain && access.direction == Direction::Load && access.width == Width::Words(1)
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
) -> Option<(Pointer, i64, Access)> {
    let access = Access::of(instruction).filter(|access| access.space == Space::Local)?;
    let source = instruction.sources.first()?;
    let SourceKind::Address(address) = &source.kind else { return None };
    if !address.uniform.is_empty() || address.descriptor.is_some() || !source.suffixes.is_empty() {
        return None;
    }
    let pointer = match (address.base.as_slice(), read, named) {
        (&[base], &[pointer], []) if base == pointer && address.symbol.is_none() => pointers[base]?,
        (&[], [], &[symbol]) if address.symbol == Some(symbol) => Pointer { symbol, offset: Some(0) },
        _ => return None,
    };
    local_of(function, pointer.symbol)?;
    Some((pointer, address.offset.into(), access))
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
    let compared = compared(function, found);
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
            && compared[symbol].is_none_or(|words| (1..=COMPARED).contains(&words))
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

/// For each variable that is read at computed addresses its words, or more than any has if comparisons with all of them do not pay.
fn compared(function: &Function, found: &Found) -> TiVec<SymbolId, Option<u64>> {
    let mut compared = ti_vec![None; function.symbols.len()];
    let computed =
        || found.uses.iter().filter(|using| using.computed.is_some() && !found.stays[using.symbol]);
    let size = |using: &Use| {
        let variable = local_of(function, using.symbol);
        variable.map_or(u64::MAX, |variable| function.locals[variable].size.div_ceil(u64::from(WORD)))
    };
    if computed().next().is_none() {
        return compared;
    }
    let cost = computed().fold(0, |sum: u64, using| sum.saturating_add(size(using)));
    let instructions = function.blocks.iter().flat_map(|block| &block.instructions);
    let (mut others, mut accesses, mut locals) = (0, 0, 0);
    for instruction in instructions {
        match instruction.memory.map(|memory| memory.space) {
            Some(Space::Local) => locals += 1,
            Some(Space::Global | Space::Shared) => accesses += 1,
            _ => others += 1,
        }
    }
    let pays = cost + 8 <= others + 2 * accesses + 3 * locals;
    for using in computed() {
        compared[using.symbol] = Some(if pays { size(using) } else { u64::MAX });
    }
    compared
}

/// Puts moves between registers in the places of accesses.
fn rewrite(function: &mut Function, uses: &[Use], words: &FxHashMap<SymbolId, Vec<Value>>) {
    for here in uses.chunk_by(|one, other| one.block == other.block) {
        let id = here[0].block;
        let mut next = here.iter().peekable();
        let instructions = std::mem::take(&mut function.block_mut(id).instructions);
        for (index, instruction) in instructions.into_iter().enumerate() {
            let moved = next.next_if(|using| using.index == index);
            match moved.and_then(|using| Some((using, words.get(&using.symbol)?))) {
                Some((using, words)) if using.computed.is_some() => {
                    compare(function, id, &instruction, using, words);
                }
                Some((using, words)) => {
                    function.block_mut(id).instructions.extend(moves(&instruction, using, words));
                }
                None => function.block_mut(id).instructions.push(instruction),
            }
        }
    }
}

/// Compares the address of a load with that of each word, and takes the one that is there. Another address is of nothing
/// that the program may read; it gives the first word.
fn compare(function: &mut Function, id: BlockId, load: &Instruction, using: &Use, words: &[Value]) {
    let Some(computed) = using.computed else { return };
    let mut b = Builder::new(function, id, load.origin);
    let [start, distance] = [b.r(), b.r()];
    let place = SourceKind::Address32 { symbol: using.symbol, part: AddressPart::Low, offset: 0 };
    b.op(Pseudo::FrameAddress).to(start).from(Source::plain(place)).emit();
    let by = if using.offset == 0 { Source::rz() } else { Source::imm(using.offset as u32) };
    b.iadd3(distance, computed, by, Source::value(start).negated());
    let Some((&first, others)) = words.split_first() else { return };
    let mut found = first;
    for (number, &word) in (1u32..).zip(others) {
        let (here, chosen) = (b.p(), b.r());
        b.isetp(here, Mod::EQ, true, distance, number * WORD);
        b.sel(chosen, word, found, here);
        found = chosen;
    }
    b.mov(load.destinations[0].values[0], found);
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
