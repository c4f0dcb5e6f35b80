//! Compiler routines: the slow paths of divisions and square roots, functions in Ori text, one file each.
//!
//! They are here so that a kernel contains a slow path once, whatever the number of operations that may need it. The
//! text states the whole convention: arguments and results are in the same registers as those of a function, and the
//! first line of the code lists the clobbers; everything else is preserved. A routine has one block, so that any
//! subset of a warp may call it, and so that it can also be inlined.

use crate::emit::Emit;
use crate::library::{self, LibraryFunction};
use oriole_chip::Chip;
use oriole_ori::{
    CallShape, Destination, File, Function, Instruction, Opcode, Pseudo, Source, SourceKind, SymbolId,
    SymbolKind, SymbolRef, Value,
};
use typed_index_collections::{TiVec, ti_vec};

/// A routine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Routine {
    /// f32 quotient.
    DivideF32,
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
    /// f32 square root.
    RootF32,
    /// f64 square root.
    RootF64,
}

impl Routine {
    /// All of them.
    pub const ALL: [Routine; 8] = [
        Routine::DivideF32,
        Routine::DivideF64,
        Routine::DivideS64,
        Routine::DivideU64,
        Routine::RemainderS64,
        Routine::RemainderU64,
        Routine::RootF32,
        Routine::RootF64,
    ];

    /// Its linker name. No PTX name contains a dot.
    pub fn name(self) -> &'static str {
        match self {
            Routine::DivideF32 => "oriole.divide_f32",
            Routine::DivideF64 => "oriole.divide_f64",
            Routine::DivideS64 => "oriole.divide_s64",
            Routine::DivideU64 => "oriole.divide_u64",
            Routine::RemainderS64 => "oriole.remainder_s64",
            Routine::RemainderU64 => "oriole.remainder_u64",
            Routine::RootF32 => "oriole.root_f32",
            Routine::RootF64 => "oriole.root_f64",
        }
    }

    /// The routine of this name.
    pub fn named(name: &str) -> Option<Routine> {
        Routine::ALL.into_iter().find(|routine| routine.name() == name)
    }

    /// Its text.
    pub fn text(self) -> &'static str {
        match self {
            Routine::DivideF32 => include_str!("routines/divide_f32.ori"),
            Routine::DivideF64 => include_str!("routines/divide_f64.ori"),
            Routine::DivideS64 => include_str!("routines/divide_s64.ori"),
            Routine::DivideU64 => include_str!("routines/divide_u64.ori"),
            Routine::RemainderS64 => include_str!("routines/remainder_s64.ori"),
            Routine::RemainderU64 => include_str!("routines/remainder_u64.ori"),
            Routine::RootF32 => include_str!("routines/root_f32.ori"),
            Routine::RootF64 => include_str!("routines/root_f64.ori"),
        }
    }

    /// Its code, before any phase.
    ///
    /// # Panics
    /// The text is broken, which a test excludes.
    pub fn code(self) -> Function {
        oriole_ori::parse(self.text()).unwrap_or_else(|error| panic!("{}: {error}", self.name()))
    }

    /// The code with the opcodes of a chip.
    pub fn code_for(self, chip: Chip) -> Function {
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
    code: [Option<Function>; Routine::ALL.len()],
    /// Called; otherwise copied to where they are needed.
    called: bool,
    /// Library functions are called instead.
    by_library: bool,
}

impl Routines {
    pub fn new(chip: Chip, called: bool, by_library: bool) -> Routines {
        Routines { chip, code: [const { None }; Routine::ALL.len()], called, by_library }
    }

    /// The library function for an instruction, if those are called.
    pub fn of_library(&self, instruction: &Instruction) -> Option<LibraryFunction> {
        LibraryFunction::of(instruction).filter(|_| self.called && self.by_library)
    }

    /// The result of a function of the library.
    pub fn library_result(
        &self,
        emit: &mut Emit<'_, '_>,
        function: LibraryFunction,
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
        let code = self.code[routine as usize].get_or_insert_with(|| routine.code_for(chip));
        if self.called { call(emit, chip, routine, code, arguments) } else { copy(emit, code, arguments) }
    }
}

/// The instruction that ends a routine.
fn end(code: &Function) -> Option<&Instruction> {
    code.blocks.first()?.instructions.last().filter(|last| last.opcode == Opcode::Pseudo(Pseudo::Return))
}

fn call(
    emit: &mut Emit<'_, '_>,
    chip: Chip,
    routine: Routine,
    code: &Function,
    arguments: &[&[Value]],
) -> Vec<Value> {
    let callee = symbol(emit.b.function_mut(), routine);
    let all = oriole_ori::Clobbers { general: u64::MAX, predicates: chip.register_files().all_predicates() };
    let clobbers = code.routine.unwrap_or(all);
    let mut results = Vec::new();
    let mut draft = Instruction::new(Pseudo::CallHelper, emit.b.origin());
    for result in end(code).into_iter().flat_map(|end| &end.sources) {
        let mut width = 0;
        result.for_each_value(|_| width += 1);
        let words: Vec<Value> = (0..width).map(|_| emit.b.r()).collect();
        draft.destinations.push(Destination::new(File::R, words.iter().copied()));
        results.extend(words);
    }
    draft.sources.extend(arguments.iter().map(|words| Source::values(words.iter().copied())));
    draft.call = Some(Box::new(CallShape {
        callee: Some(callee),
        stack_bytes: 0,
        clobbers: [clobbers.general, 0, 0, 0],
        clobbered_predicates: clobbers.predicates,
        clobbers_uniform: false,
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

/// Inlines the instructions of a routine into the current function.
fn copy(emit: &mut Emit<'_, '_>, code: &Function, arguments: &[&[Value]]) -> Vec<Value> {
    let mut values: TiVec<Value, Option<Value>> = ti_vec![None; code.values.len()];
    let mut results = Vec::new();
    for instruction in code.blocks.iter().flat_map(|block| &block.instructions) {
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
                for source in &instruction.sources {
                    if let SourceKind::Values(words) = &source.kind {
                        results.extend(words.iter().map(|word| values[*word].unwrap_or(*word)));
                    }
                }
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
                emit.b.push(copied);
            }
        }
    }
    results
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_ori::{BlockId, Form, verify};

    /// A line of words before the code: the text after `in: ` or `out: `, as first register and count of words.
    fn words(routine: Routine, key: &str) -> Vec<(u8, usize)> {
        let line = routine.text().lines().find_map(|line| line.strip_prefix(key)).expect("a line of words");
        let line = line.split(';').next().expect("a line");
        let registers = line.split(", ").filter(|part| part.starts_with('R'));
        registers
            .map(|part| {
                let place = part.split(' ').next().expect("a register");
                let (first, last) = place.split_once(':').unwrap_or((place, place));
                let number = |text: &str| text[1..].parse::<u8>().expect("a register");
                (number(first), usize::from(number(last) - number(first)) + 1)
            })
            .collect()
    }

    #[test]
    fn texts_say_what_they_do() {
        for routine in Routine::ALL {
            let code = routine.code();
            assert_eq!(Routine::named(routine.name()), Some(routine));
            for form in [Form::Plain, Form::Ssa] {
                assert_eq!(verify(&code, form), Ok(()), "{}", routine.name());
            }
            assert_eq!(code.blocks.len(), 1, "{}: any part of a warp may call it", routine.name());
            let block = code.block(BlockId(0));
            let (first, last) = (&block.instructions[0], end(&code).expect("a routine returns"));
            assert_eq!(first.opcode, Opcode::Pseudo(Pseudo::Parameters));
            let taken = first.destinations.iter().map(|it| it.values.len());
            let given = last.sources.iter().map(|it| match &it.kind {
                SourceKind::Values(values) => values.len(),
                _ => 0,
            });
            // Words are contiguous from R4 on, as those of functions are.
            for (key, counts) in [("// in: ", taken.collect::<Vec<_>>()), ("// out: ", given.collect())] {
                let mut next = 4;
                let stated: Vec<usize> = words(routine, key)
                    .into_iter()
                    .map(|(at, count)| {
                        assert_eq!(at, next, "{}: {key}", routine.name());
                        next += count as u8;
                        count
                    })
                    .collect();
                assert_eq!(stated, counts, "{}: {key}", routine.name());
            }
            for instruction in &block.instructions {
                assert!(instruction.guard.is_none() && instruction.memory.is_none(), "{}", routine.name());
                assert!(!oriole_ori::effects::is_convergent(instruction), "{}", routine.name());
            }
            assert!(code.values.iter().all(|value| matches!(value.file, File::R | File::P)));
        }
    }
}
