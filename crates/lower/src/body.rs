//! Lowers a body: its directives, its parameters, and its statements in order. The meaning of an instruction is in its
//! family (see [`crate::dispatch`]), never here.

use crate::context::{Lower, Lowered};
use crate::error::Errors;
use crate::threads::guarded_exchanges::{self, Numbered};
use crate::{LowerError, control, dispatch, finishing, functions, limits};
use oriole_hir::{Instruction, NOUNROLL, Statement};
use oriole_ori::Origin;
use oriole_ptx::Space;

/// Lowers every statement.
///
/// # Errors
/// All constructs that cannot be lowered; lowering continues after each refused statement.
pub(crate) fn lower(cx: &mut Lower<'_>) -> Result<(), Vec<LowerError>> {
    let mut errors = Errors::default();
    apply_directives(cx);
    functions::receive_parameters(cx).unwrap_or_else(|error| errors.add(error));
    cx.end_prelude();
    let mut statements = cx.body.statements.iter();
    make_room(cx, statements.as_slice());
    while let Some(statement) = statements.next() {
        match statement {
            Statement::Label(label) => {
                cx.place_label(*label);
                make_room(cx, statements.as_slice());
            }
            Statement::Pragma(text) => keep_loop(cx, text),
            Statement::Instruction(instruction) => {
                let rest = &cx.body.statements[cx.body.statements.len() - statements.len() - 1..];
                let length = guarded_exchanges::row(rest.iter().map(guarded_exchanges::instruction));
                let (row, behind) = rest.split_at(length.unwrap_or(1));
                match length {
                    None => lower_instruction(cx, instruction, &mut errors),
                    Some(_) => {
                        let row = row.iter().filter_map(guarded_exchanges::instruction).cloned();
                        let row: Vec<Numbered> = (cx.ordinal..).zip(row).collect();
                        lower_row(cx, &row, guarded_exchanges::DEPTH, &mut errors);
                    }
                }
                cx.ordinal += row.len() as u32;
                statements = behind.iter();
            }
        }
    }
    // Control that runs off the end of the text leaves the function.
    cx.guard = None;
    if !cx.terminated {
        cx.ordinal = cx.ordinal.saturating_sub(1);
        cx.b.set_origin(Origin(cx.place()));
        control::leave_function(cx).unwrap_or_else(|error| errors.add(error));
    }
    if cx.body.directives.pragmas.iter().any(|pragma| pragma == NOUNROLL) {
        cx.b.function_mut().blocks.iter_mut().for_each(|block| block.nounroll = true);
    }
    finishing::complete_accesses(cx);
    limits::frame(cx.b.function()).unwrap_or_else(|error| errors.add(error));
    errors.finish()
}

/// Reserves space in the current block up to the next label: most statements become one instruction.
fn make_room(cx: &mut Lower<'_>, rest: &[Statement]) {
    let is_label = |statement: &Statement| matches!(statement, Statement::Label(_));
    cx.b.reserve(rest.iter().position(is_label).unwrap_or(rest.len()));
}

/// A pragma in a body is about the loop of its block.
fn keep_loop(cx: &mut Lower<'_>, pragma: &str) {
    if pragma == NOUNROLL && !cx.terminated {
        let block = cx.b.block();
        cx.b.function_mut().block_mut(block).nounroll = true;
    }
}

fn apply_directives(cx: &mut Lower<'_>) {
    let bytes = cx.body.parameters.iter().map(|p| u64::from(p.offset) + p.size()).max().unwrap_or(0);
    let limit = limits::register_limit(cx.body, cx.chip);
    let threads = cx.body.directives.block_threads();
    // It matters where the occupancy is known.
    let counted = cx.body.variables.values().filter(|it| threads.is_some() && it.space == Space::Shared);
    let shared: u64 = counted.map(|variable| variable.size).fold(0, u64::saturating_add);
    let states = cx.body.directives.state_registers();
    let in_rows = cx.body.directives.warps_in_rows();
    let apart = cx.options.lanes_apart;
    let function = cx.b.function_mut();
    function.register_limit = limit;
    function.states_registers = states;
    function.block_threads = threads;
    function.warps_in_rows = in_rows;
    function.lanes_apart = apart;
    function.shared_bytes = u32::try_from(shared).unwrap_or(u32::MAX);
    function.parameter_bytes = bytes as u32;
}

fn lower_instruction(cx: &mut Lower<'_>, instruction: &Instruction, errors: &mut Errors) {
    if let Err(error) = try_instruction(cx, instruction) {
        errors.add(error);
        cx.pending.clear();
    }
}

/// Lowers instructions. A row of exchanges among them is lowered once for each value of the first one's guard, on two ways.
fn lower_row(cx: &mut Lower<'_>, instructions: &[Numbered], depth: u32, errors: &mut Errors) {
    let start = cx.ordinal;
    let mut rest = instructions;
    while let [(number, first), others @ ..] = rest {
        cx.ordinal = *number;
        let row = guarded_exchanges::row(rest.iter().map(|it| Some(&it.1))).filter(|_| depth > 0);
        let Some((length, guard)) = row.zip(first.guard) else {
            lower_instruction(cx, first, errors);
            rest = others;
            continue;
        };
        let (row, behind) = rest.split_at(length);
        begin_unreachable(cx);
        cx.begin_statement(Some(guard));
        let [with, without, join] = [(); 3].map(|()| cx.b.new_block());
        if let Some(guard) = cx.guard.take() {
            cx.b.branch(guard, with, without);
        }
        for (block, holds) in [(without, false), (with, true)] {
            cx.open(block);
            lower_row(cx, &guarded_exchanges::under(guard, holds, row), depth - 1, errors);
            cx.guard = None;
            if holds { cx.run_into(join) } else { cx.b.jump(join) }
        }
        rest = behind;
    }
    cx.ordinal = start;
}

/// Code after an unconditional transfer, without a label, is unreachable.
fn begin_unreachable(cx: &mut Lower<'_>) {
    if cx.terminated {
        let block = cx.b.new_block();
        cx.open(block);
    }
}

fn try_instruction(cx: &mut Lower<'_>, instruction: &Instruction) -> Lowered {
    begin_unreachable(cx);
    cx.begin_statement(instruction.guard);
    dispatch::instruction(cx, instruction)?;
    cx.settle();
    Ok(())
}
