//! The library: what code calls by a linker name where functions have sections of their own. That are exact operations,
//! divisions and square roots, as functions of the calling convention, in unoptimized code; and the routines of
//! exchanges at every level, because lanes of functions in several files exchange with one another at one place.
//!
//! It is separate from [`crate::routine`], whose routines are part of each section that calls them. Several object files
//! may define the same function, of which a linker keeps one. So functions that ptxas has too, with the same arguments
//! under the same condition, have ptxas's names; the others have names that cannot be PTX names.

use crate::emit::Emit;
use crate::exchange_routine::Exchange;
use crate::routine::Routine;
use oriole_chip::Chip;
use oriole_ori::{
    BlockId, Builder, CallShape, Destination, File, Function, Instruction, Opcode, Origin, Pseudo, Source,
    SymbolId, SymbolKind, SymbolRef, Value,
};
use oriole_sass::Mod;

/// A function of the library.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum LibraryFunction {
    /// An exact operation.
    Exact(ExactFunction),
    /// The routine of an exchange, with the convention of routines and an absolute return address.
    Exchange(Exchange),
}

/// An exact operation of the library: its row.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ExactFunction(u8);

struct Row {
    name: &'static str,
    operation: Pseudo,
    mods: &'static [Mod],
}

const fn row(name: &'static str, operation: Pseudo, mods: &'static [Mod]) -> Row {
    Row { name, operation, mods }
}

use Mod::{F32, F64, FTZ, RM, RN, RP, RZ, S64, U64};
use Pseudo::{Divide, FDivide, FReciprocal, FSquareRoot, Remainder};

/// All exact operations: the name, and the operation.
#[rustfmt::skip]
static ROWS: [Row; 40] = [
    row("__cuda_sm20_div_s64", Divide, &[S64]),
    row("__cuda_sm20_div_u64", Divide, &[U64]),
    row("__cuda_sm20_rem_s64", Remainder, &[S64]),
    row("__cuda_sm20_rem_u64", Remainder, &[U64]),
    // Only the slow path of the nearest quotient, for operands that the hardware check rejects.
    row("__cuda_sm3x_div_rn_noftz_f32_slowpath", FDivide, &[F32, RN]),
    row("__cuda_sm3x_div_rn_ftz_f32_slowpath", FDivide, &[F32, RN, FTZ]),
    row("__cuda_sm20_div_rz_f32", FDivide, &[F32, RZ]),
    row("__cuda_sm20_div_rz_ftz_f32", FDivide, &[F32, RZ, FTZ]),
    row("__cuda_sm20_div_rd_f32", FDivide, &[F32, RM]),
    row("__cuda_sm20_div_rd_ftz_f32", FDivide, &[F32, RM, FTZ]),
    row("__cuda_sm20_div_ru_f32", FDivide, &[F32, RP]),
    row("__cuda_sm20_div_ru_ftz_f32", FDivide, &[F32, RP, FTZ]),
    row("__cuda_sm20_div_rn_f64_full", FDivide, &[F64, RN]),
    row("__cuda_sm20_div_rz_f64_v2", FDivide, &[F64, RZ]),
    row("__cuda_sm20_div_rd_f64_v2", FDivide, &[F64, RM]),
    row("__cuda_sm20_div_ru_f64_v2", FDivide, &[F64, RP]),
    // It is not known which operands ptxas sends to the slow path here.
    row("oriole.rcp_rn_f32", FReciprocal, &[F32, RN]),
    row("oriole.rcp_rn_ftz_f32", FReciprocal, &[F32, RN, FTZ]),
    row("oriole.rcp_rz_f32", FReciprocal, &[F32, RZ]),
    row("oriole.rcp_rz_ftz_f32", FReciprocal, &[F32, RZ, FTZ]),
    row("oriole.rcp_rd_f32", FReciprocal, &[F32, RM]),
    row("oriole.rcp_rd_ftz_f32", FReciprocal, &[F32, RM, FTZ]),
    row("oriole.rcp_ru_f32", FReciprocal, &[F32, RP]),
    row("oriole.rcp_ru_ftz_f32", FReciprocal, &[F32, RP, FTZ]),
    row("oriole.sqrt_rn_f32", FSquareRoot, &[F32, RN]),
    row("oriole.sqrt_rn_ftz_f32", FSquareRoot, &[F32, RN, FTZ]),
    row("oriole.sqrt_rz_f32", FSquareRoot, &[F32, RZ]),
    row("oriole.sqrt_rz_ftz_f32", FSquareRoot, &[F32, RZ, FTZ]),
    row("oriole.sqrt_rd_f32", FSquareRoot, &[F32, RM]),
    row("oriole.sqrt_rd_ftz_f32", FSquareRoot, &[F32, RM, FTZ]),
    row("oriole.sqrt_ru_f32", FSquareRoot, &[F32, RP]),
    row("oriole.sqrt_ru_ftz_f32", FSquareRoot, &[F32, RP, FTZ]),
    // Its slow path takes more than the operand there.
    row("oriole.rcp_rn_f64", FReciprocal, &[F64, RN]),
    row("__cuda_sm20_rcp_rz_f64", FReciprocal, &[F64, RZ]),
    row("__cuda_sm20_rcp_rd_f64", FReciprocal, &[F64, RM]),
    row("__cuda_sm20_rcp_ru_f64", FReciprocal, &[F64, RP]),
    row("oriole.sqrt_rn_f64", FSquareRoot, &[F64, RN]),
    row("__cuda_sm20_dsqrt_rz_f64", FSquareRoot, &[F64, RZ]),
    row("__cuda_sm20_dsqrt_rd_f64", FSquareRoot, &[F64, RM]),
    row("__cuda_sm20_dsqrt_ru_f64", FSquareRoot, &[F64, RP]),
];

impl LibraryFunction {
    /// All of them.
    pub fn all() -> impl Iterator<Item = LibraryFunction> {
        let exact = ExactFunction::all().map(LibraryFunction::Exact);
        exact.chain(Exchange::all().map(LibraryFunction::Exchange))
    }

    /// Its linker name.
    pub fn name(self) -> &'static str {
        match self {
            LibraryFunction::Exact(function) => function.row().name,
            LibraryFunction::Exchange(exchange) => exchange.linked_name(),
        }
    }

    /// The function of this name.
    pub fn named(name: &str) -> Option<LibraryFunction> {
        LibraryFunction::all().find(|function| function.name() == name)
    }

    /// Its code for a chip, before any phase.
    pub fn code(self, chip: Chip) -> Function {
        match self {
            LibraryFunction::Exact(function) => function.code(),
            LibraryFunction::Exchange(exchange) => {
                Function { is_separate: true, ..Routine::Exchange(exchange).code_for(chip) }
            }
        }
    }
}

impl ExactFunction {
    /// All of them.
    pub fn all() -> impl Iterator<Item = ExactFunction> {
        (0..ROWS.len() as u8).map(ExactFunction)
    }

    fn row(self) -> &'static Row {
        &ROWS[usize::from(self.0)]
    }

    /// The function for an instruction.
    pub fn of(instruction: &Instruction) -> Option<ExactFunction> {
        let is = |row: &Row| {
            instruction.opcode == Opcode::Pseudo(row.operation)
                && row.mods.iter().all(|&modifier| instruction.mods.has(modifier))
                && row.mods.contains(&FTZ) == instruction.mods.has(FTZ)
        };
        ROWS.iter().position(is).map(|at| ExactFunction(at as u8))
    }

    /// Words of each operand and of the result.
    fn width(self) -> usize {
        if self.row().mods.contains(&F32) { 1 } else { 2 }
    }

    /// Its code, before any phase.
    pub fn code(self) -> Function {
        let Row { operation, mods, .. } = self.row();
        let mut function = Function { is_separate: true, ..Function::default() };
        let mut b = Builder::new(&mut function, BlockId(0), Origin(0));
        b.new_block();
        let operands = if matches!(operation, FReciprocal | FSquareRoot) { 1 } else { 2 };
        let mut words = |count: usize| -> Vec<Vec<Value>> {
            (0..count).map(|_| (0..self.width()).map(|_| b.r()).collect()).collect()
        };
        let (operands, result) = (words(operands), words(1).swap_remove(0));
        let draft = |of: Pseudo| Instruction::new(of, Origin(0));
        let to = |words: &Vec<Value>| Destination::new(File::R, words.iter().copied());
        let from = |words: &Vec<Value>| Source::values(words.iter().copied());
        let mut parameters = draft(Pseudo::Parameters);
        parameters.destinations.extend(operands.iter().map(to));
        let mut compute = draft(*operation);
        mods.iter().for_each(|&modifier| compute.mods.insert(modifier));
        compute.destinations.push(to(&result));
        compute.sources.extend(operands.iter().map(from));
        let mut back = draft(Pseudo::Return);
        back.sources.push(from(&result));
        for instruction in [parameters, compute, back] {
            b.push(instruction);
        }
        function
    }
}

/// Calls a function with these operands; the words of its result.
pub(crate) fn call(
    emit: &mut Emit<'_, '_>,
    chip: Chip,
    function: ExactFunction,
    operands: &[&[Value]],
) -> Vec<Value> {
    let callee = symbol(emit.b.function_mut(), LibraryFunction::Exact(function));
    let result: Vec<Value> = (0..function.width()).map(|_| emit.b.r()).collect();
    let mut draft = Instruction::new(Pseudo::Call, emit.b.origin());
    draft.destinations.push(Destination::new(File::R, result.iter().copied()));
    draft.sources.extend(operands.iter().map(|words| Source::values(words.iter().copied())));
    let predicates = chip.register_files().all_predicates();
    draft.call = Some(Box::new(CallShape::of_function(Some(callee), predicates)));
    emit.b.push(draft);
    result
}

/// The name of a function among those that another refers to.
pub(crate) fn symbol(caller: &mut Function, function: LibraryFunction) -> SymbolId {
    let known = caller.symbols.position(|symbol| symbol.name == function.name());
    known.unwrap_or_else(|| {
        let symbol = SymbolRef { name: function.name().to_owned(), kind: SymbolKind::Function, align: 1 };
        caller.symbols.push_and_get_key(symbol)
    })
}
