//! Texts of routines and of library functions: they are what their headers and rows say.

use oriole_chip::Chip;
use oriole_legalize::library::{ExactFunction, LibraryFunction};
use oriole_legalize::routine::Routine;
use oriole_ori::{Block, BlockId, File, Form, Instruction, Opcode, Pseudo, Source, SourceKind, verify};
use oriole_sass::Op;

/// The instruction that ends a block of a routine, if that is a return.
fn end(block: &Block) -> Option<&Instruction> {
    block.instructions.last().filter(|last| last.opcode == Opcode::Pseudo(Pseudo::Return))
}

/// A line of words before the code: the text after `in: ` or `out: `, as first register and count of words.
fn words(routine: Routine, key: &str) -> Vec<(u8, usize)> {
    let text = routine.text();
    let line = text.lines().find_map(|line| line.strip_prefix(key)).expect("a line of words");
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
    for routine in Routine::all() {
        let code = routine.code();
        assert_eq!(Routine::named(routine.name()), Some(routine));
        for form in [Form::Plain, Form::Ssa] {
            assert_eq!(verify(&code, form), Ok(()), "{}", routine.name());
        }
        // Each path goes on to later blocks and ends with a return of its own.
        for id in code.block_ids() {
            let block = code.block(id);
            assert!(block.phis.is_empty() && block.successors.iter().all(|&next| next > id));
            assert_eq!(block.successors.is_empty(), end(block).is_some(), "{}", routine.name());
        }
        let joined = routine.code_for(Chip::SM_90);
        assert_eq!(verify(&joined, Form::Plain), Ok(()), "{}", routine.name());
        assert_eq!(joined.blocks.iter().filter_map(end).count(), 1, "{}", routine.name());
        let first = &code.block(BlockId(0)).instructions[0];
        assert_eq!(first.opcode, Opcode::Pseudo(Pseudo::Parameters));
        let taken = first.destinations.iter().map(|it| it.values.len());
        let given = |last: &Instruction| -> Vec<usize> {
            let width = |it: &Source| match &it.kind {
                SourceKind::Values(values) => values.len(),
                _ => 0,
            };
            last.sources.iter().map(width).collect()
        };
        let mut ends = code.blocks.iter().filter_map(end).map(given);
        let given = ends.next().expect("a routine returns");
        assert!(ends.all(|other| other == given), "{}: all returns are alike", routine.name());
        // Words are contiguous, from R4 on as those of functions are, or from where the first result is put.
        let last = code.blocks.iter().find_map(end).expect("a routine returns");
        let placed = last.sources[0].fixed.unwrap_or(4);
        for (key, mut next, counts) in
            [("// in: ", 4, taken.collect::<Vec<_>>()), ("// out: ", placed, given)]
        {
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
        for instruction in code.blocks.iter().flat_map(|block| &block.instructions) {
            let branches = instruction.opcode == Opcode::Sass(Op::BRA);
            assert!(instruction.guard.is_none() || branches, "{}", routine.name());
            assert!(instruction.memory.is_none(), "{}", routine.name());
            // Those that exchange are not inlined.
            let exchanges = matches!(routine, Routine::Exchange(_));
            let convergent = oriole_ori::effects::is_convergent(instruction);
            assert!(!convergent || exchanges, "{}", routine.name());
        }
        assert!(code.values.iter().all(|value| matches!(value.file, File::R | File::P)));
    }
}

#[test]
fn each_is_the_operation_that_its_row_names() {
    for function in ExactFunction::all() {
        let code = function.code();
        let which = LibraryFunction::Exact(function);
        for form in [Form::Plain, Form::Ssa] {
            assert_eq!(verify(&code, form), Ok(()), "{}", which.name());
        }
        let operation = &code.block(BlockId(0)).instructions[1];
        assert_eq!(ExactFunction::of(operation), Some(function), "{}", which.name());
    }
    for function in LibraryFunction::all() {
        assert_eq!(LibraryFunction::named(function.name()), Some(function));
    }
}
