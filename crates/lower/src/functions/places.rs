//! Where each `.param` variable is: in words of its own, in the registers that declare it, or in memory.

use super::accesses::{Accesses, accesses};
use super::convention::COUNT;
use super::frame;
use super::state::ParameterMemory;
use crate::context::Lower;
use crate::source::Words;
use oriole_hir::{Parameter, RegisterId, VariableId, VariableKind};
use oriole_ori::Value;
use oriole_ptx::{Space, Type};
use smallvec::SmallVec;

/// The most bytes of a variable that is in words of its own because no call takes or gives it.
const MOST_IN_WORDS: u64 = 1024;

/// Accesses of the function to the words of a variable.
pub(super) fn accesses_of(cx: &mut Lower<'_>, variable: VariableId) -> Accesses {
    let body = cx.body;
    let all = cx.places.accesses.get_or_insert_with(|| accesses(body));
    all.get(&variable).cloned().unwrap_or_default()
}

/// The variable of a parameter, or of a result, of this function.
pub(super) fn parameter_variable(cx: &Lower<'_>, kind: VariableKind) -> Option<VariableId> {
    cx.body.variable_of(kind)
}

/// True if a `.param` variable of this kind is in registers here.
pub(crate) fn in_registers(cx: &Lower<'_>, variable: VariableId) -> bool {
    let declared = &cx.body.variables[variable];
    match declared.kind {
        VariableKind::Parameter(_) => !cx.body.is_entry,
        VariableKind::Result(_) => true,
        VariableKind::Body => {
            matches!(declared.space, Space::FunctionParameter | Space::KernelParameter)
        }
        VariableKind::Module => false,
    }
}

/// The words of a `.param` variable in registers.
pub(crate) fn parameter_words(cx: &mut Lower<'_>, variable: VariableId) -> Words {
    if let Some(words) = cx.places.words.get(&variable) {
        return words.clone();
    }
    let words = match register_parameter_words(cx, variable) {
        Some(words) => words,
        None => {
            let count = cx.body.variables[variable].size.div_ceil(4).max(1);
            let words: Words = (0..count).map(|_| cx.b.r()).collect();
            words.iter().for_each(|&value| cx.name(value));
            words
        }
    };
    cx.places.words.insert(variable, words.clone());
    words
}

/// The words that pass a parameter or result of this function; `None` if it is not in registers.
fn register_parameter_words(cx: &mut Lower<'_>, variable: VariableId) -> Option<Words> {
    let registers: SmallVec<[RegisterId; 4]> = cx.body.registers_of(variable).collect();
    let parameter = declared_parameter(cx, variable)?;
    let count = parameter.size().div_ceil(4).max(1);
    let own = travels_in_own_words(parameter) && parameter_memory(cx, variable).is_none();
    match &registers[..] {
        [] => None,
        list if own => Some(list.iter().flat_map(|&register| cx.register(register)).collect()),
        _ => Some((0..count).map(|_| cx.b.r()).collect()),
    }
}

pub(super) fn declared_parameter<'a>(cx: &Lower<'a>, variable: VariableId) -> Option<&'a Parameter> {
    match cx.body.variables[variable].kind {
        VariableKind::Parameter(index) => cx.body.parameters.get(index as usize),
        VariableKind::Result(index) => cx.body.results.get(index as usize),
        _ => None,
    }
}

/// True if a parameter or result is passed in the words of its registers.
pub(super) fn travels_in_own_words(parameter: &Parameter) -> bool {
    parameter.ty != Type::Pred && (parameter.components() == 1 || parameter.ty.bits() >= 32)
}

/// The memory of a `.param` variable that is not in registers.
pub(crate) fn parameter_memory(cx: &mut Lower<'_>, variable: VariableId) -> Option<ParameterMemory> {
    if let Some(&memory) = cx.places.memory.get(&variable) {
        return Some(memory);
    }
    let declared = &cx.body.variables[variable];
    let (kind, size) = (declared.kind, declared.size);
    if kind != VariableKind::Body || size <= 4 * u64::from(COUNT) {
        return None;
    }
    if size <= MOST_IN_WORDS && accesses_of(cx, variable).are_known() {
        return None;
    }
    let memory = ParameterMemory::Frame(frame::frame_symbol(cx, variable));
    cx.places.memory.insert(variable, memory);
    Some(memory)
}

/// A register with the address of a parameter in memory, and the offset from it.
pub(crate) fn parameter_base(cx: &mut Lower<'_>, memory: ParameterMemory) -> (Value, i32) {
    match memory {
        ParameterMemory::Block(base, offset) => (base, offset),
        ParameterMemory::Frame(symbol) => {
            let base = cx.b.r();
            frame::frame_address(cx, base, symbol, 0);
            (base, 0)
        }
    }
}
