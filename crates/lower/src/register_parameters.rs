//! Parameters and results that are declared as registers: the words that pass them.
//!
//! A register of at least 32 bits is passed in its own words, and so is a vector of such registers. All others have
//! separate words: a predicate is 1 or 0, narrow vector components are packed as in memory, and so are those that do
//! not fit into the registers of the convention.

use crate::LowerError;
use crate::context::{Lower, Lowered, Words};
use oriole_hir::{Operand, Parameter, RegisterId, VariableId, VariableKind};
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

/// True if a parameter or result is passed in the words of its registers.
pub(crate) fn travels_in_own_words(parameter: &Parameter) -> bool {
    parameter.ty != Type::Pred && (parameter.components() == 1 || parameter.ty.bits() >= 32)
}

impl Lower<'_> {
    fn declared_parameter(&self, variable: VariableId) -> Option<&Parameter> {
        match self.body.variables[variable].kind {
            VariableKind::Parameter(index) => self.body.parameters.get(index as usize),
            VariableKind::Result(index) => self.body.results.get(index as usize),
            _ => None,
        }
    }

    /// The words that pass a parameter or result of this function; `None` if it is not in registers.
    pub fn register_parameter_words(&mut self, variable: VariableId) -> Option<Words> {
        let registers: SmallVec<[RegisterId; 4]> = self.body.registers_of(variable).collect();
        let parameter = self.declared_parameter(variable)?;
        let count = parameter.size().div_ceil(4).max(1);
        let own = travels_in_own_words(parameter) && self.parameter_memory(variable).is_none();
        match &registers[..] {
            [] => None,
            list if own => Some(list.iter().flat_map(|&register| self.register(register)).collect()),
            _ => Some((0..count).map(|_| self.b.r()).collect()),
        }
    }

    /// After function entry: reads the register parameters from the words that passed them.
    pub fn receive_registers(&mut self) -> Lowered {
        for (index, parameter) in self.body.parameters.iter().enumerate() {
            if !parameter.in_register {
                continue;
            }
            let Some(variable) = self.parameter_variable(VariableKind::Parameter(index as u32)) else {
                continue;
            };
            let memory = self.parameter_memory(variable);
            if memory.is_none() && travels_in_own_words(parameter) {
                continue;
            }
            let words = self.parameter_words(variable);
            if let Some(memory) = memory {
                let (base, offset) = self.parameter_base(memory);
                for (word, &value) in words.iter().enumerate() {
                    self.local_word(value, base, offset + 4 * word as i32, false);
                }
            }
            let registers: SmallVec<[Operand; 4]> =
                self.body.registers_of(variable).map(Operand::Register).collect();
            self.give_registers(&registers, parameter, &words)?;
        }
        Ok(())
    }

    /// The words in which a result of this function travels, made from its registers.
    pub fn returned_words(&mut self, variable: VariableId) -> Result<Words, LowerError> {
        let registers: SmallVec<[Operand; 4]> =
            self.body.registers_of(variable).map(Operand::Register).collect();
        match (self.declared_parameter(variable).cloned(), &registers[..]) {
            (None, _) | (_, []) => Ok(self.parameter_words(variable)),
            (Some(parameter), list) => self.taken_words(list, &parameter),
        }
    }

    /// The words in which registers travel.
    pub fn taken_words(&mut self, registers: &[Operand], parameter: &Parameter) -> Result<Words, LowerError> {
        let sources = match registers {
            [predicate] if parameter.ty == Type::Pred => {
                let predicate = self.predicate(predicate)?;
                return Ok(Words::from_iter([self.word_of_predicate(predicate)]));
            }
            [single] => self.words(single, parameter.ty)?,
            components => self.packed(components, packed_type(parameter))?,
        };
        Ok(sources.into_iter().map(|source| self.value_of(source)).collect())
    }

    /// Writes registers from the words in which they travelled.
    pub fn give_registers(
        &mut self,
        registers: &[Operand],
        parameter: &Parameter,
        words: &[Value],
    ) -> Lowered {
        let sources: SmallVec<[Source; 4]> = words.iter().map(|&word| Source::value(word)).collect();
        match registers {
            [predicate] if parameter.ty == Type::Pred => {
                if let Some(predicate) = self.result_predicate(predicate)? {
                    self.predicate_of_word(predicate, words[0]);
                }
                Ok(())
            }
            [single] => self.write(single, parameter.ty, &sources),
            components => {
                let parts = self.split(&sources, parameter.ty.bits(), components.len())?;
                self.write_all(components, parameter.ty, parts)
            }
        }
    }

    /// A predicate as it is passed: a word, 1 or 0.
    fn word_of_predicate(&mut self, predicate: Source) -> Value {
        let word = self.b.r();
        self.b.sel(word, Source::rz(), 1u32, predicate.inverted());
        word
    }

    /// Takes a predicate from the word that it travelled in.
    fn predicate_of_word(&mut self, predicate: Value, word: Value) {
        self.b.isetp(predicate, Mod::NE, true, word, Source::rz());
    }
}
