//! Parameters and results that are declared as registers: the words that pass them.
//!
//! A register of at least 32 bits is passed in its own words, and so is a vector of such registers. All others have
//! separate words: a predicate is 1 or 0, narrow vector components are packed as in memory, and so are those that do
//! not fit into the registers of the convention.

use super::frame;
use super::places::{self, travels_in_own_words};
use crate::LowerError;
use crate::context::{Lower, Lowered};
use crate::source::Words;
use oriole_hir::{Operand, Parameter, VariableId, VariableKind};
use oriole_ori::{Source, Value};
use oriole_ptx::Type;
use oriole_sass::Mod;
use smallvec::SmallVec;

/// The untyped type of the packed components of a vector register.
fn packed_type(parameter: &Parameter) -> Type {
    match parameter.size() {
        2 => Type::B16,
        4 => Type::B32,
        8 => Type::B64,
        _ => Type::B128,
    }
}

/// After function entry: reads the register parameters from the words that passed them.
pub(super) fn receive_registers(cx: &mut Lower<'_>) -> Lowered {
    for (index, parameter) in cx.body.parameters.iter().enumerate() {
        if !parameter.in_register {
            continue;
        }
        let Some(variable) = places::parameter_variable(cx, VariableKind::Parameter(index as u32)) else {
            continue;
        };
        let memory = places::parameter_memory(cx, variable);
        if memory.is_none() && travels_in_own_words(parameter) {
            continue;
        }
        let words = places::parameter_words(cx, variable);
        if let Some(memory) = memory {
            let (base, offset) = places::parameter_base(cx, memory);
            for (word, &value) in words.iter().enumerate() {
                frame::local_word(cx, value, base, offset + 4 * word as i32, false);
            }
        }
        let registers: SmallVec<[Operand; 4]> =
            cx.body.registers_of(variable).map(Operand::Register).collect();
        give_registers(cx, &registers, parameter, &words)?;
    }
    Ok(())
}

/// The words in which a result of this function travels, made from its registers.
pub(super) fn returned_words(cx: &mut Lower<'_>, variable: VariableId) -> Result<Words, LowerError> {
    let registers: SmallVec<[Operand; 4]> = cx.body.registers_of(variable).map(Operand::Register).collect();
    match (places::declared_parameter(cx, variable).cloned(), &registers[..]) {
        (None, _) | (_, []) => Ok(places::parameter_words(cx, variable)),
        (Some(parameter), list) => taken_words(cx, list, &parameter),
    }
}

/// The words in which registers travel.
pub(super) fn taken_words(
    cx: &mut Lower<'_>,
    registers: &[Operand],
    parameter: &Parameter,
) -> Result<Words, LowerError> {
    let sources = match registers {
        [predicate] if parameter.ty == Type::Pred => {
            let predicate = cx.predicate(predicate)?;
            return Ok(Words::from_iter([word_of_predicate(cx, predicate)]));
        }
        [single] => cx.words(single, parameter.ty)?,
        components => cx.packed(components, packed_type(parameter))?,
    };
    Ok(sources.into_iter().map(|source| cx.value_of(source)).collect())
}

/// Writes registers from the words in which they travelled.
pub(super) fn give_registers(
    cx: &mut Lower<'_>,
    registers: &[Operand],
    parameter: &Parameter,
    words: &[Value],
) -> Lowered {
    let sources: SmallVec<[Source; 4]> = words.iter().map(|&word| Source::value(word)).collect();
    match registers {
        [predicate] if parameter.ty == Type::Pred => {
            if let Some(predicate) = cx.result_predicate(predicate)? {
                predicate_of_word(cx, predicate, words[0]);
            }
            Ok(())
        }
        [single] => cx.write(single, parameter.ty, &sources),
        components => {
            let parts = cx.split(&sources, parameter.ty.bits(), components.len())?;
            cx.write_all(components, parameter.ty, parts)
        }
    }
}

/// A predicate as it is passed: a word, 1 or 0.
fn word_of_predicate(cx: &mut Lower<'_>, predicate: Source) -> Value {
    let word = cx.b.r();
    cx.b.sel(word, Source::rz(), 1u32, predicate.inverted());
    word
}

/// Takes a predicate from the word that it travelled in.
fn predicate_of_word(cx: &mut Lower<'_>, predicate: Value, word: Value) {
    cx.b.isetp(predicate, Mod::NE, true, word, Source::rz());
}
