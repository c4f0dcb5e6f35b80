//! Calls: direct, indirect and of functions that the driver provides, by the calling convention.

use super::convention::{Convention, Home, convention};
use super::places::{self, accesses_of, travels_in_own_words};
use super::{frame, registers};
use crate::LowerError;
use crate::context::{Lower, Lowered};
use crate::source::Words;
use oriole_hir::{Instruction, Operand, Parameter, Signature, Statement};
use oriole_options::Linking;
use oriole_ori::{
    CallShape, ConstBase, Destination, File, IndexedConst, LocalVariable, Pseudo, Source, SourceKind,
    SymbolId, SymbolKind, Table, Value,
};
use oriole_ptx::{Opcode, Type};
use oriole_sass::Mod;

enum Callee {
    Direct(SymbolId),
    Indirect(Source),
}

/// The addresses of the memory in which arguments are passed.
struct Areas {
    /// The block of parameters, if there is one.
    block: Option<Value>,
    /// Arguments on the stack, if there are any.
    stack: Option<Value>,
}

/// Locations of the results of a call: registers, words that registers are extracted from, and the block.
#[derive(Default)]
struct Results<'o> {
    destinations: Vec<Destination>,
    packed: Vec<(&'o Operand, &'o Parameter, Words)>,
    fetched: Vec<(&'o Operand, u32, &'o Parameter)>,
}

/// `call`.
pub(crate) fn call(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let behind = cx.begin_region();
    call_unguarded(cx, i)?;
    cx.end_region(behind);
    Ok(())
}

fn call_unguarded(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let at = i
        .operands
        .iter()
        .position(|o| matches!(o, Operand::Function(_) | Operand::Register(_)))
        .ok_or_else(|| cx.unsupported_form(i))?;
    let list = |operand: Option<&Operand>| match operand {
        Some(Operand::List(list)) => list.clone(),
        _ => Vec::new(),
    };
    let results = if at > 0 { list(i.operands.first()) } else { Vec::new() };
    let arguments = list(i.operands.get(at + 1));
    let (callee, signature) = callee(cx, i, at)?;
    // An array without a size may have no argument.
    let wanted = signature.parameters.len();
    let takes = wanted == arguments.len() || signature.is_open() && wanted == arguments.len() + 1;
    if !takes || signature.results.len() != results.len() {
        return Err(cx.unsupported("a call whose arguments do not match its signature"));
    }
    // Functions of other files are called by the convention of linkers.
    let by_linker = cx.separate || matches!(callee, Callee::Direct(symbol) if is_outside(cx, symbol));
    let convention = convention(&signature.parameters, &signature.results, by_linker);
    let open = bytes_of_open_array(cx, &arguments, &signature)?;
    let stack_bytes = convention.stack.checked_add(open);
    let stack_bytes = stack_bytes.ok_or_else(|| cx.unsupported("an argument as large as this"))?;
    if stack_bytes > 0 && moves_stack(cx) {
        return Err(cx.unsupported("a call with arguments on a stack that moves"));
    }
    let block = convention.block.map(|size| {
        let symbol = call_block(cx, size);
        let base = cx.b.r();
        frame::frame_address(cx, base, symbol, 0);
        base
    });
    let stack = (stack_bytes > 0).then(|| {
        let (symbol, base) = (cx.symbol(SymbolKind::Arguments, "arguments"), cx.b.r());
        frame::frame_address(cx, base, symbol, 0);
        base
    });
    let mut sources = pass_arguments(cx, &arguments, &signature, &convention, Areas { block, stack })?;
    let Results { destinations, packed, fetched } = call_results(cx, &results, &signature, &convention)?;
    let predicates = cx.chip.register_files().all_predicates();
    let mut shape = CallShape { stack_bytes, ..CallShape::of_function(None, predicates) };
    match callee {
        Callee::Direct(symbol) => shape.callee = Some(symbol),
        Callee::Indirect(target) => sources.push(target),
    }
    let memory = oriole_ori::MemoryInfo {
        space: oriole_ori::Space::Generic,
        reads: true,
        writes: true,
        ordered: true,
        object: None,
    };
    let mut call = cx.b.op(Pseudo::Call);
    for destination in destinations {
        call = call.destination(destination);
    }
    call.from_all(sources).memory(memory).call(shape).emit();
    for (registers, parameter, words) in packed {
        registers::give_registers(cx, registers.components(), parameter, &words)?;
    }
    for (result, offset, parameter) in fetched {
        let Some(base) = block else { continue };
        fetch_result(cx, result, parameter, base, offset as i32)?;
    }
    // Results in registers wider than their type are extended before control continues.
    for pending in std::mem::take(&mut cx.pending) {
        cx.write_widened(pending);
    }
    if signature.noreturn {
        cx.b.exit();
        cx.terminated = true;
    }
    Ok(())
}

/// The callee of operand `at`, and the signature that the call uses.
fn callee(cx: &mut Lower<'_>, i: &Instruction, at: usize) -> Result<(Callee, Signature), LowerError> {
    let mut signature = Signature::default();
    let callee = match &i.operands[at] {
        Operand::Function(id) => {
            let function = &cx.body.functions[*id];
            signature = function.signature.clone();
            let kind = match (function.external, cx.options.linking) {
                _ if cx.separate => SymbolKind::Function,
                (false, _) => SymbolKind::Function,
                (true, Linking::Whole) => SymbolKind::Extern,
                (true, _) => SymbolKind::Outside,
            };
            Callee::Direct(cx.symbol(kind, &function.name))
        }
        target => {
            for operand in &i.operands[at + 1..] {
                match operand {
                    Operand::Prototype(id) => signature = cx.body.prototypes[*id].clone(),
                    Operand::Table(id) => {
                        if let oriole_hir::Table::Functions(list) = &cx.body.tables[*id]
                            && let Some(first) = list.first()
                        {
                            signature = cx.body.functions[*first].signature.clone();
                        }
                    }
                    _ => {}
                }
            }
            let place = if cx.separate { pointer(cx, target)? } else { text_offset(cx, target)? };
            Callee::Indirect(place)
        }
    };
    Ok((callee, signature))
}

/// The words that are passed in registers; arguments that the convention passes in the block are stored there.
fn pass_arguments(
    cx: &mut Lower<'_>,
    arguments: &[Operand],
    signature: &Signature,
    convention: &Convention,
    Areas { block, stack }: Areas,
) -> Result<Vec<Source>, LowerError> {
    let mut sources = Vec::new();
    let fixed = |value: Value, register: u8| {
        let mut source = Source::value(value);
        source.fixed = Some(register);
        source
    };
    if let Some(base) = block {
        sources.push(fixed(base, 4));
    }
    for ((argument, &home), parameter) in
        arguments.iter().zip(&convention.parameters).zip(&signature.parameters)
    {
        let words = argument_words(cx, argument, parameter)?;
        match (home, if matches!(home, Home::Stack(_)) { stack } else { block }) {
            (Home::Registers(first, count), _) => {
                for (word, value) in words.into_iter().take(usize::from(count)) {
                    sources.push(fixed(value, first + word as u8));
                }
            }
            (Home::Block(offset) | Home::Stack(offset), Some(base)) => {
                for (word, value) in words {
                    frame::local_word(cx, value, base, offset as i32 + 4 * word, true);
                }
            }
            (Home::Block(_) | Home::Stack(_), None) => {}
        }
    }
    Ok(sources)
}

/// Bytes passed for an array without a size, in whole words.
fn bytes_of_open_array(
    cx: &Lower<'_>,
    arguments: &[Operand],
    signature: &Signature,
) -> Result<u32, LowerError> {
    let Some(argument) = arguments.get(signature.parameters.len().wrapping_sub(1)) else { return Ok(0) };
    let Operand::Variable(variable) = argument else { return Ok(0) };
    if !signature.is_open() {
        return Ok(0);
    }
    let bytes = cx.body.variables[*variable].size.next_multiple_of(4);
    u32::try_from(bytes).map_err(|_| cx.unsupported("an argument as large as this"))
}

/// Locations of the results of a call.
fn call_results<'o>(
    cx: &mut Lower<'_>,
    results: &'o [Operand],
    signature: &'o Signature,
    convention: &Convention,
) -> Result<Results<'o>, LowerError> {
    let mut found = Results::default();
    for ((result, &home), parameter) in results.iter().zip(&convention.results).zip(&signature.results) {
        match home {
            Home::Registers(first, count) => {
                let words = match result {
                    Operand::Variable(variable) => places::parameter_words(cx, *variable),
                    Operand::Sink => Words::new(),
                    registers if travels_in_own_words(parameter) => {
                        let mut words = Words::new();
                        for component in registers.components() {
                            words.extend(cx.result(component, parameter.ty)?);
                        }
                        words
                    }
                    registers => {
                        let words: Words = (0..count).map(|_| cx.b.r()).collect();
                        found.packed.push((registers, parameter, words.clone()));
                        words
                    }
                };
                for (word, &value) in words.iter().take(usize::from(count)).enumerate() {
                    let mut destination = Destination::new(File::R, [value]);
                    destination.fixed = Some(first + word as u8);
                    found.destinations.push(destination);
                }
            }
            Home::Block(offset) | Home::Stack(offset) => {
                found.fetched.push((result, offset, parameter));
            }
        }
    }
    Ok(found)
}

/// True if another file defines the function.
fn is_outside(cx: &Lower<'_>, symbol: SymbolId) -> bool {
    cx.b.function().symbols[symbol].kind == SymbolKind::Outside
}

/// True if the function allocates stack memory dynamically.
fn moves_stack(cx: &Lower<'_>) -> bool {
    let moves = |statement: &Statement| match statement {
        Statement::Instruction(i) => {
            matches!(i.opcode, Opcode::Alloca | Opcode::Stacksave | Opcode::Stackrestore)
        }
        _ => false,
    };
    cx.body.statements.iter().any(moves)
}

/// A function pointer, which is an address, as a pair.
fn pointer(cx: &mut Lower<'_>, pointer: &Operand) -> Result<Source, LowerError> {
    let words = cx.words(pointer, Type::B64)?;
    let words: Words = words.into_iter().map(|word| cx.value_of(word)).collect();
    Ok(Source::values(words))
}

/// Offset in this kernel's text of the function that a pointer names, as a pair. A pointer holds the index of the
/// function's entry in the kernel's table of functions: each kernel has clones of its own, but kernels may share
/// the memory that holds a pointer.
fn text_offset(cx: &mut Lower<'_>, pointer: &Operand) -> Result<Source, LowerError> {
    let place = cx.word(pointer, Type::B64)?;
    let index = cx.value_of(place);
    let tables = &mut cx.b.function_mut().tables;
    let number = tables.iter().position(|table| *table == Table::Functions).unwrap_or_else(|| {
        tables.push(Table::Functions);
        tables.len() - 1
    });
    let base = ConstBase::Table(number as u32);
    let target = cx.b.pair();
    let place = IndexedConst { bank: 2, base, index, offset: 0 };
    cx.load_constant(target, &[Mod::_64], SourceKind::ConstIndexed(Box::new(place)));
    Ok(target.into())
}

/// The frame's block for calls, with at least this size.
fn call_block(cx: &mut Lower<'_>, size: u32) -> SymbolId {
    let symbol = match cx.places.call_block {
        Some(symbol) => symbol,
        None => {
            let locals = &mut cx.b.function_mut().locals;
            let index = locals.len() as u32;
            locals.push(LocalVariable { size: 0, align: 16 });
            let symbol = cx.symbol(SymbolKind::Local(index), "call block");
            cx.places.call_block = Some(symbol);
            symbol
        }
    };
    let function = cx.b.function_mut();
    if let SymbolKind::Local(index) = function.symbols[symbol].kind {
        let local = &mut function.locals[index as usize];
        local.size = local.size.max(u64::from(size));
    }
    symbol
}

/// The words of an argument with their indices; of one in memory, those that the function may have written.
fn argument_words(
    cx: &mut Lower<'_>,
    argument: &Operand,
    parameter: &Parameter,
) -> Result<Vec<(i32, Value)>, LowerError> {
    let Operand::Variable(variable) = argument else {
        return Ok((0..).zip(registers::taken_words(cx, argument.components(), parameter)?).collect());
    };
    let Some(memory) = places::parameter_memory(cx, *variable) else {
        return Ok((0..).zip(places::parameter_words(cx, *variable)).collect());
    };
    let (base, offset) = places::parameter_base(cx, memory);
    let size = if parameter.is_open() { cx.body.variables[*variable].size } else { parameter.size() };
    let count = size.div_ceil(4) as i32;
    let written: Vec<i32> = accesses_of(cx, *variable).written.words(count).collect();
    let mut words = Vec::with_capacity(written.len());
    for word in written {
        let value = cx.b.r();
        frame::local_word(cx, value, base, offset + 4 * word, false);
        words.push((word, value));
    }
    Ok(words)
}

/// Takes a result out of the block.
fn fetch_result(
    cx: &mut Lower<'_>,
    result: &Operand,
    parameter: &Parameter,
    block: Value,
    offset: i32,
) -> Lowered {
    let count = parameter.size().div_ceil(4) as i32;
    let Operand::Variable(variable) = result else {
        let words: Words = (0..count).map(|_| cx.b.r()).collect();
        for (word, &value) in words.iter().enumerate() {
            frame::local_word(cx, value, block, offset + 4 * word as i32, false);
        }
        return match result {
            Operand::Sink => Ok(()),
            registers => registers::give_registers(cx, registers.components(), parameter, &words),
        };
    };
    match places::parameter_memory(cx, *variable) {
        Some(memory) => {
            let (base, start) = places::parameter_base(cx, memory);
            let read: Vec<i32> = accesses_of(cx, *variable).read.words(count).collect();
            for word in read {
                let value = cx.b.r();
                frame::local_word(cx, value, block, offset + 4 * word, false);
                frame::local_word(cx, value, base, start + 4 * word, true);
            }
        }
        None => {
            for (word, &value) in places::parameter_words(cx, *variable).iter().enumerate() {
                frame::local_word(cx, value, block, offset + 4 * word as i32, false);
            }
        }
    }
    Ok(())
}
