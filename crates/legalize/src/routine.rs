//! Compiler routines: the slow paths of divisions and square roots, functions in Ori text, one file each.
//!
//! They are here so that a kernel contains a slow path once, whatever the number of operations that may need it. The text states
//! the whole convention. Arguments and results are in the same registers as those of a function, unless a return puts a result
//! next to the arguments: a fast path can then leave its own result there while they are still in use. The first line of the code
//! lists the clobbers. Everything else is preserved, but for one convergence barrier. Any subset of a warp may call a routine,
//! and those lanes leave it together: each path of the text ends with a return of its own, and a called routine goes on from all
//! of them to one block that returns. There are no loops and no joins before that, so that the text is in SSA and can also be
//! inlined. The routines of an exchange ([`crate::exchange_routine`]) are always called: lanes that call them from several places
//! exchange with one another; where functions have sections of their own, those are functions of the library ([`crate::library`]).

use crate::emit::Emit;
use crate::exchange_routine::Exchange;
use crate::library::{self, ExactFunction, LibraryFunction};
use oriole_chip::Chip;
use oriole_ori::{
    Block, BlockId, CallShape, Destination, File, Function, Instruction, Opcode, Phi, Pseudo, Source,
    SourceKind, SymbolId, SymbolKind, SymbolRef, Value,
};
use oriole_sass::Op;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use typed_index_collections::{TiVec, ti_vec};

/// A routine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Routine {
    /// f32 quotient to nearest.
    DivideF32,
    /// f32 quotient in another mode.
    DivideF32Directed,
    /// f64 quotient.
    DivideF64,
    /// Quotient of signed 64-bit integers.
    DivideS64,
    /// Quotient of unsigned 64-bit integers.
    DivideU64,
    /// Remainder of signed 64-bit integers.
    RemainderS64,
    /// Remainder of unsigned 64-bit integers.
    RemainderU64,
    /// f32 reciprocal to nearest.
    ReciprocalF32,
    /// f32 reciprocal in another mode.
    ReciprocalF32Directed,
    /// f64 reciprocal.
    ReciprocalF64,
    /// f32 square root to nearest.
    RootF32,
    /// f32 square root in another mode.
    RootF32Directed,
    /// f64 square root.
    RootF64,
    /// An exchange among the lanes of a warp.
    Exchange(Exchange),
}

impl Routine {
    /// Those for arithmetic.
    pub const ARITHMETIC: [Routine; 13] = [
        Routine::DivideF32,
        Routine::DivideF32Directed,
        Routine::DivideF64,
        Routine::DivideS64,
        Routine::DivideU64,
        Routine::RemainderS64,
        Routine::RemainderU64,
        Routine::ReciprocalF32,
        Routine::ReciprocalF32Directed,
        Routine::ReciprocalF64,
        Routine::RootF32,
        Routine::RootF32Directed,
        Routine::RootF64,
    ];

    /// All of them.
    pub fn all() -> impl Iterator<Item = Routine> {
        Routine::ARITHMETIC.into_iter().chain(Exchange::all().map(Routine::Exchange))
    }

    /// Whether the chip has the operations of it.
    pub fn is_on(self, chip: Chip) -> bool {
        match self {
            Routine::Exchange(exchange) => exchange.is_on(chip),
            _ => true,
        }
    }

    /// Its linker name. No PTX name contains a dot.
    pub fn name(self) -> &'static str {
        match self {
            Routine::DivideF32 => "oriole.divide_f32",
            Routine::DivideF32Directed => "oriole.divide_f32_directed",
            Routine::DivideF64 => "oriole.divide_f64",
            Routine::DivideS64 => "oriole.divide_s64",
            Routine::DivideU64 => "oriole.divide_u64",
            Routine::RemainderS64 => "oriole.remainder_s64",
            Routine::RemainderU64 => "oriole.remainder_u64",
            Routine::ReciprocalF32 => "oriole.reciprocal_f32",
            Routine::ReciprocalF32Directed => "oriole.reciprocal_f32_directed",
            Routine::ReciprocalF64 => "oriole.reciprocal_f64",
            Routine::RootF32 => "oriole.root_f32",
            Routine::RootF32Directed => "oriole.root_f32_directed",
            Routine::RootF64 => "oriole.root_f64",
            Routine::Exchange(exchange) => exchange.name(),
        }
    }

    /// The routine of this name.
    pub fn named(name: &str) -> Option<Routine> {
        Routine::all().find(|routine| routine.name() == name)
    }

    /// Its text.
    pub fn text(self) -> Cow<'static, str> {
        let text = match self {
            Routine::DivideF32 => include_str!("routines/divide_f32.ori"),
            Routine::DivideF32Directed => include_str!("routines/divide_f32_directed.ori"),
            Routine::DivideF64 => include_str!("routines/divide_f64.ori"),
            Routine::DivideS64 => include_str!("routines/divide_s64.ori"),
            Routine::DivideU64 => include_str!("routines/divide_u64.ori"),
            Routine::RemainderS64 => include_str!("routines/remainder_s64.ori"),
            Routine::RemainderU64 => include_str!("routines/remainder_u64.ori"),
            Routine::ReciprocalF32 => include_str!("routines/reciprocal_f32.ori"),
            Routine::ReciprocalF32Directed => include_str!("routines/reciprocal_f32_directed.ori"),
            Routine::ReciprocalF64 => include_str!("routines/reciprocal_f64.ori"),
            Routine::RootF32 => include_str!("routines/root_f32.ori"),
            Routine::RootF32Directed => include_str!("routines/root_f32_directed.ori"),
            Routine::RootF64 => include_str!("routines/root_f64.ori"),
            Routine::Exchange(exchange) => return exchange.text().into(),
        };
        text.into()
    }

    /// Its code, before any phase.
    ///
    /// # Panics
    /// The text is broken, which a test excludes.
    pub fn code(self) -> Function {
        oriole_ori::parse(&self.text()).unwrap_or_else(|error| panic!("{}: {error}", self.name()))
    }

    /// The code of the called routine, with the opcodes of a chip and one return.
    pub fn code_for(self, chip: Chip) -> Function {
        let mut code = self.text_for(chip);
        join_returns(&mut code);
        code
    }

    /// The code of the text, with the opcodes of a chip.
    fn text_for(self, chip: Chip) -> Function {
        let mut code = self.code();
        for id in code.block_ids() {
            for instruction in &mut code.block_mut(id).instructions {
                if let Opcode::Sass(op) = &mut instruction.opcode {
                    *op = oriole_sass::on_chip(chip, *op);
                    let unsaid = oriole_sass::unsaid(chip, *op, &instruction.mods);
                    unsaid.into_iter().for_each(|modifier| instruction.mods.insert(modifier));
                }
            }
        }
        code
    }
}

/// The routines that a function needs, each read when it is needed first, and how they are used.
pub(crate) struct Routines {
    chip: Chip,
    code: FxHashMap<Routine, Function>,
    /// Called; otherwise copied to where they are needed.
    called: bool,
    /// Library functions are called instead.
    by_library: bool,
}

impl Routines {
    pub fn new(chip: Chip, called: bool, by_library: bool) -> Routines {
        Routines { chip, code: FxHashMap::default(), called, by_library }
    }

    /// The library function for an instruction, if those are called.
    pub fn of_library(&self, instruction: &Instruction) -> Option<ExactFunction> {
        ExactFunction::of(instruction).filter(|_| self.called && self.by_library)
    }

    /// The result of a function of the library.
    pub fn library_result(
        &self,
        emit: &mut Emit<'_, '_>,
        function: ExactFunction,
        operands: &[&[Value]],
    ) -> Vec<Value> {
        library::call(emit, self.chip, function, operands)
    }

    /// The results of a routine for these arguments, all words of all results in order.
    pub fn results(
        &mut self,
        emit: &mut Emit<'_, '_>,
        routine: Routine,
        arguments: &[&[Value]],
    ) -> Vec<Value> {
        let chip = self.chip;
        let code = self.code.entry(routine).or_insert_with(|| routine.text_for(chip));
        if self.called { call(emit, chip, routine, code, arguments) } else { copy(emit, code, arguments) }
    }
}

/// The instruction that ends a block of a routine, if that is a return.
fn end(block: &Block) -> Option<&Instruction> {
    block.instructions.last().filter(|last| last.opcode == Opcode::Pseudo(Pseudo::Return))
}

/// The words that a return hands over.
fn words_of(end: &Instruction) -> impl Iterator<Item = Value> {
    end.sources
        .iter()
        .flat_map(|source| match &source.kind {
            SourceKind::Values(words) => &words[..],
            _ => &[],
        })
        .copied()
}

/// Replaces the returns of a routine, if it has several, by copies to the words of one return in a block of its own:
/// lanes that part meet there.
fn join_returns(code: &mut Function) {
    let returning: Vec<BlockId> = code.block_ids().filter(|&id| end(code.block(id)).is_some()).collect();
    let [_, .., last] = returning[..] else { return };
    let Some(mut one) = end(code.block(last)).cloned() else { return };
    let join = code.blocks.next_key();
    let mut joined = Vec::new();
    one.for_each_use_mut(&mut |value: &mut Value| {
        *value = code.new_value(File::R, None);
        joined.push(*value);
    });
    for id in returning {
        let block = code.block_mut(id);
        let Some(old) = block.instructions.pop() else { continue };
        for (&to, from) in joined.iter().zip(words_of(&old)) {
            let mut copy = Instruction::new(Pseudo::Copy, old.origin);
            copy.destinations.push(Destination::new(File::R, [to]));
            copy.sources.push(Source::value(from));
            block.instructions.push(copy);
        }
        block.successors.push(join);
        if id != last {
            let mut jump = Instruction::new(Op::BRA, old.origin);
            jump.sources.push(Source::plain(SourceKind::Block(join)));
            block.instructions.push(jump);
        }
    }
    code.blocks.push(Block { instructions: vec![one], ..Block::default() });
}

/// Calls a routine: the words of all results in order.
fn call(
    emit: &mut Emit<'_, '_>,
    chip: Chip,
    routine: Routine,
    code: &Function,
    arguments: &[&[Value]],
) -> Vec<Value> {
    let function = emit.b.function_mut();
    let callee = match routine {
        // The lanes of all sections meet in one.
        Routine::Exchange(exchange) if function.is_separate => {
            library::symbol(function, LibraryFunction::Exchange(exchange))
        }
        _ => symbol(function, routine),
    };
    let all = oriole_ori::Clobbers { general: u64::MAX, predicates: chip.register_files().all_predicates() };
    let clobbers = code.routine.unwrap_or(all);
    let mut results = Vec::new();
    let mut draft = Instruction::new(Pseudo::CallHelper, emit.b.origin());
    let returned = code.blocks.iter().find_map(end);
    for result in returned.into_iter().flat_map(|end| &end.sources) {
        let mut width = 0;
        result.for_each_value(|_| width += 1);
        let words: Vec<Value> = (0..width).map(|_| emit.b.r()).collect();
        let place = Destination::new(File::R, words.iter().copied());
        draft.destinations.push(Destination { fixed: result.fixed, ..place });
        results.extend(words);
    }
    draft.sources.extend(arguments.iter().map(|words| Source::values(words.iter().copied())));
    draft.call = Some(Box::new(CallShape {
        callee: Some(callee),
        stack_bytes: 0,
        clobbers: [clobbers.general, 0, 0, 0],
        clobbered_predicates: clobbers.predicates,
        clobbers_uniform: false,
        exchanges: matches!(routine, Routine::Exchange(_)),
        ..CallShape::default()
    }));
    emit.b.push(draft);
    results
}

/// The name of a routine among those that a function refers to.
fn symbol(function: &mut Function, routine: Routine) -> SymbolId {
    let known = function.symbols.position(|symbol| symbol.name == routine.name());
    known.unwrap_or_else(|| {
        let symbol = SymbolRef { name: routine.name().to_owned(), kind: SymbolKind::Helper, align: 1 };
        function.symbols.push_and_get_key(symbol)
    })
}

/// Inlines the blocks of a routine into the current function: its paths meet in a new block.
fn copy(emit: &mut Emit<'_, '_>, code: &Function, arguments: &[&[Value]]) -> Vec<Value> {
    let mut values: TiVec<Value, Option<Value>> = ti_vec![None; code.values.len()];
    let is_single = code.blocks.len() == 1;
    let start = emit.b.block();
    let blocks: TiVec<BlockId, BlockId> =
        code.block_ids().map(|id| if id == BlockId(0) { start } else { emit.b.new_block() }).collect();
    let mut ends: Vec<(BlockId, Vec<Value>)> = Vec::new();
    for id in code.block_ids() {
        emit.b.set_block(blocks[id]);
        for instruction in &code.block(id).instructions {
            match instruction.opcode {
                Opcode::Pseudo(Pseudo::Parameters) => {
                    let words = arguments.iter().flat_map(|words| words.iter().copied());
                    let mut parameters = Vec::new();
                    instruction.for_each_definition(|value| parameters.push(value));
                    for (parameter, word) in parameters.into_iter().zip(words) {
                        values[parameter] = Some(word);
                    }
                }
                Opcode::Pseudo(Pseudo::Return) => {
                    let words = words_of(instruction).map(|word| values[word].unwrap_or(word));
                    ends.push((blocks[id], words.collect()));
                }
                _ => {
                    let mut copied = instruction.clone();
                    copied.origin = emit.b.origin();
                    let mut rename = |value: &mut Value| {
                        let known = &mut values[*value];
                        *value = *known.get_or_insert_with(|| emit.b.temporary(code.file(*value)));
                    };
                    copied.for_each_use_mut(&mut rename);
                    copied.for_each_definition_mut(&mut rename);
                    for source in &mut copied.sources {
                        if let SourceKind::Block(to) = &mut source.kind {
                            *to = blocks[*to];
                        }
                    }
                    emit.b.push(copied);
                }
            }
        }
        let successors = code.block(id).successors.iter().map(|&to| blocks[to]).collect();
        emit.b.function_mut().block_mut(blocks[id]).successors = successors;
    }
    if is_single {
        return ends.pop().map(|(_, words)| words).unwrap_or_default();
    }
    let join = emit.b.new_block();
    for (from, _) in &ends {
        emit.b.set_block(*from);
        emit.b.jump(join);
    }
    emit.b.set_block(join);
    let words = ends.first().map_or(0, |(_, words)| words.len());
    (0..words)
        .map(|at| {
            let destination = emit.b.r();
            let sources = ends.iter().map(|(from, words)| (*from, words[at].into())).collect();
            emit.b.function_mut().block_mut(join).phis.push(Phi { destination, sources });
            destination
        })
        .collect()
}
