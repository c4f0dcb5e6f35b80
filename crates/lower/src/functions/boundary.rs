//! Both ends of a function: how it receives its parameters and which words it returns.

use super::convention::{FIRST, Home, convention};
use super::state::ParameterMemory;
use super::{frame, places, registers};
use crate::LowerError;
use crate::context::{Lower, Lowered};
use oriole_hir::{Operand, Statement, VariableId, VariableKind};
use oriole_ori::{Destination, File, Pseudo, Source, Value};

/// Function entry: receives the parameters, and copies those whose address is taken into the frame.
pub(crate) fn receive_parameters(cx: &mut Lower<'_>) -> Lowered {
    if cx.body.is_entry {
        return Ok(());
    }
    let convention = convention(&cx.body.parameters, &cx.body.results, cx.separate);
    let mut destinations = Vec::new();
    let mut fixed = |value: Value, register: u8| {
        let mut destination = Destination::new(File::R, [value]);
        destination.fixed = Some(register);
        destinations.push(destination);
    };
    let block = convention.block.map(|_| cx.b.r());
    if let Some(block) = block {
        fixed(block, FIRST);
    }
    let (mut late, mut on_stack) = (Vec::new(), Vec::new());
    let addressed = addressed_parameters(cx);
    let mut taken = Vec::new();
    for (index, &home) in convention.parameters.iter().enumerate() {
        let variable = places::parameter_variable(cx, VariableKind::Parameter(index as u32));
        match (home, variable) {
            (Home::Registers(first, count), Some(variable)) => {
                let words = places::parameter_words(cx, variable);
                for (word, &value) in words.iter().take(usize::from(count)).enumerate() {
                    fixed(value, first + word as u8);
                }
                if addressed.contains(&variable) {
                    taken.push(variable);
                }
            }
            (Home::Block(offset), Some(variable)) => late.push((variable, offset)),
            (Home::Stack(offset), Some(variable)) => on_stack.push((variable, offset)),
            (_, None) => {}
        }
    }
    let mut receive = cx.b.op(Pseudo::Parameters);
    for destination in destinations {
        receive = receive.destination(destination);
    }
    receive.emit();
    for (index, &home) in convention.results.iter().enumerate() {
        if let (Home::Block(offset), Some(variable)) =
            (home, places::parameter_variable(cx, VariableKind::Result(index as u32)))
        {
            late.push((variable, offset));
        }
    }
    for (variable, offset) in late {
        let Some(block) = block else { continue };
        cx.places.memory.insert(variable, ParameterMemory::Block(block, offset as i32));
    }
    if !on_stack.is_empty() {
        let base = cx.b.r();
        cx.b.op(Pseudo::CallerFrame).to(base).emit();
        let places = on_stack
            .into_iter()
            .map(|(variable, offset)| (variable, ParameterMemory::Block(base, offset as i32)));
        cx.places.memory.extend(places);
    }
    registers::receive_registers(cx)?;
    for variable in taken {
        let symbol = frame::frame_symbol(cx, variable);
        let base = cx.b.r();
        frame::frame_address(cx, base, symbol, 0);
        for (index, &value) in cx.places.words[&variable].clone().iter().enumerate() {
            frame::local_word(cx, value, base, 4 * index as i32, true);
        }
    }
    Ok(())
}

/// Parameters of this function whose address is taken.
fn addressed_parameters(cx: &Lower<'_>) -> Vec<VariableId> {
    let mut found = Vec::new();
    for statement in &cx.body.statements {
        let Statement::Instruction(instruction) = statement else { continue };
        for operand in &instruction.operands {
            if let &Operand::VariableAddress(variable, _) = operand
                && matches!(cx.body.variables[variable].kind, VariableKind::Parameter(_))
                && !found.contains(&variable)
            {
                found.push(variable);
            }
        }
    }
    found
}

/// The words that a function returns, each in its register; results in memory are written there.
pub(crate) fn return_words(cx: &mut Lower<'_>) -> Result<Vec<Source>, LowerError> {
    let convention = convention(&cx.body.parameters, &cx.body.results, cx.separate);
    let mut sources = Vec::new();
    for (index, home) in convention.results.into_iter().enumerate() {
        let Some(variable) = places::parameter_variable(cx, VariableKind::Result(index as u32)) else {
            continue;
        };
        let values = registers::returned_words(cx, variable)?;
        match (home, places::parameter_memory(cx, variable)) {
            (Home::Registers(first, count), _) => {
                for (word, value) in values.into_iter().take(usize::from(count)).enumerate() {
                    let mut source = Source::value(value);
                    source.fixed = Some(first + word as u8);
                    sources.push(source);
                }
            }
            (Home::Block(_), Some(memory)) if cx.body.registers_of(variable).next().is_some() => {
                let (base, offset) = places::parameter_base(cx, memory);
                for (word, value) in values.into_iter().enumerate() {
                    frame::local_word(cx, value, base, offset + 4 * word as i32, true);
                }
            }
            (Home::Block(_) | Home::Stack(_), _) => {}
        }
    }
    Ok(sources)
}
