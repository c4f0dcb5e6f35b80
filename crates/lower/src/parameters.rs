//! Parameters: where the calling convention puts them, how a function receives and returns them, and reading and
//! writing `.param` variables that live in registers. The kernel's own parameters are constant-bank accesses in
//! `memory`.

use crate::LowerError;
use crate::context::{Lower, Lowered, Words};
use crate::operand::imm;
use oriole_hir::{Instruction, Operand, Parameter, Statement, VariableHome, VariableId};
use oriole_ori::{Destination, File, MemoryInfo, Pseudo, Source, SourceKind, Value};
use oriole_ptx::{Space, Type};
use oriole_sass::{Mod, Op};

/// First register of parameters and results.
const FIRST: u8 = 4;
/// How many registers hold parameters and results.
const COUNT: u8 = 12;

/// For each parameter the first register and the count of words.
///
/// Each takes the lowest free group of registers with its alignment; later ones fill the holes. `None` if one does
/// not fit.
pub(crate) fn assign(parameters: &[Parameter]) -> Option<Vec<(u8, u8)>> {
    let mut free = [true; COUNT as usize];
    let mut places = Vec::new();
    for parameter in parameters {
        let words = parameter.size().div_ceil(4).max(1);
        let step = u64::from(parameter.align.max(parameter.ty.bytes()).div_ceil(4).clamp(1, 4));
        if words > u64::from(COUNT) {
            return None;
        }
        let words = words as usize;
        let start = (0..=free.len() - words)
            .step_by(step as usize)
            .find(|&start| free[start..start + words].iter().all(|&f| f))?;
        free[start..start + words].fill(false);
        places.push((FIRST + start as u8, words as u8));
    }
    Some(places)
}

impl Lower<'_> {
    /// The variable of a parameter, or of a result, of this function.
    fn parameter_variable(&self, home: VariableHome) -> Option<u32> {
        self.body.variables.iter().position(|v| v.home == home).map(|index| index as u32)
    }

    /// The words of a `.param` variable that lives in registers.
    pub fn parameter_words(&mut self, variable: VariableId) -> Result<Words, LowerError> {
        if let Some(words) = self.parameters.get(&variable.0) {
            return Ok(words.clone());
        }
        let declared = &self.body.variables[variable.0 as usize];
        if declared.size > 4 * u64::from(COUNT) {
            return Err(self.unsupported(format!(
                "the parameter `{}` of {} bytes: only what fits into {COUNT} registers can be passed",
                declared.name, declared.size
            )));
        }
        let count = declared.size.div_ceil(4).max(1);
        let mut words = Words::new();
        for _ in 0..count {
            let value = self.b.r();
            self.name(value);
            words.push(value);
        }
        self.parameters.insert(variable.0, words.clone());
        Ok(words)
    }

    /// At the start of a function: takes the parameters, and copies those whose address is taken into the frame.
    pub fn receive_parameters(&mut self) -> Lowered {
        if self.body.is_entry {
            return Ok(());
        }
        if self.body.parameters.iter().chain(&self.body.results).any(|p| p.in_register) {
            return Err(self.unsupported("parameters in `.reg`"));
        }
        let Some(places) = assign(&self.body.parameters) else {
            return Err(self.unsupported(format!("parameters that do not fit into {COUNT} registers")));
        };
        let mut destinations = Vec::new();
        let mut taken = Vec::new();
        let addressed = self.addressed_parameters();
        for (index, &(first, words)) in places.iter().enumerate() {
            let variable = self.parameter_variable(VariableHome::Parameter(index as u32));
            for word in 0..words {
                let value = self.b.r();
                self.name(value);
                let mut destination = Destination::new(File::R, [value]);
                destination.fixed = Some(first + word);
                destinations.push(destination);
                if let Some(variable) = variable {
                    self.parameters.entry(variable).or_default().push(value);
                }
            }
            if let Some(variable) = variable
                && addressed.contains(&variable)
            {
                taken.push(variable);
            }
        }
        let mut receive = self.b.op(Pseudo::Parameters);
        for destination in destinations {
            receive = receive.destination(destination);
        }
        receive.emit();
        for variable in taken {
            let symbol = self.frame_symbol(VariableId(variable));
            for (index, &value) in self.parameters[&variable].clone().iter().enumerate() {
                let place = self.b.r();
                self.frame_address(place, symbol, 4 * index as i32);
                let address = crate::space::address_of(place.into(), 0);
                let memory = MemoryInfo {
                    space: oriole_ori::Space::Local,
                    reads: false,
                    writes: true,
                    ordered: false,
                };
                self.b.op(Op::STL).from(address).from(value).memory(memory).emit();
            }
        }
        Ok(())
    }

    /// Parameters of this function whose address is taken.
    fn addressed_parameters(&self) -> Vec<u32> {
        let mut found = Vec::new();
        for statement in &self.body.statements {
            let Statement::Instruction(instruction) = statement else { continue };
            for operand in &instruction.operands {
                if let Operand::VariableAddress(variable, _) = operand
                    && matches!(self.body.variables[variable.0 as usize].home, VariableHome::Parameter(_))
                    && !found.contains(&variable.0)
                {
                    found.push(variable.0);
                }
            }
        }
        found
    }

    /// The words that a function returns, each in its register.
    pub fn return_words(&mut self) -> Result<Vec<Source>, LowerError> {
        let Some(places) = assign(&self.body.results) else {
            return Err(self.unsupported(format!("results that do not fit into {COUNT} registers")));
        };
        let mut sources = Vec::new();
        for (index, (first, words)) in places.into_iter().enumerate() {
            let Some(variable) = self.parameter_variable(VariableHome::Result(index as u32)) else {
                continue;
            };
            let values = self.parameter_words(VariableId(variable))?;
            for (word, &value) in values.iter().take(usize::from(words)).enumerate() {
                let mut source = Source::value(value);
                source.fixed = Some(first + word as u8);
                sources.push(source);
            }
        }
        Ok(sources)
    }

    /// Reads an element of `ty` at a byte offset of words in registers, extended to whole words.
    pub fn extract(&mut self, words: &Words, offset: u64, ty: Type) -> Result<Vec<Source>, LowerError> {
        let first = (offset / 4) as usize;
        let count = ty.bits().div_ceil(32).max(1) as usize;
        let Some(slice) = words.get(first..first + count) else {
            return Err(self.unsupported("an access behind the end of a parameter"));
        };
        if ty.bits() >= 32 {
            return Ok(slice.iter().map(|&v| Source::value(v)).collect());
        }
        let byte = (offset % 4) as u32;
        let selector = if ty.bits() == 16 {
            let high = byte + 1;
            let fill = if ty.is_signed() { high | 8 } else { 7 };
            fill << 12 | fill << 8 | high << 4 | byte
        } else {
            let fill = if ty.is_signed() { byte | 8 } else { 7 };
            fill << 12 | fill << 8 | fill << 4 | byte
        };
        let d = self.b.r();
        self.b.prmt(d, slice[0], imm(selector), Source::rz());
        Ok(vec![d.into()])
    }

    /// Writes an element of `ty` at a byte offset of words in registers.
    pub fn insert(&mut self, words: &Words, offset: u64, ty: Type, value: &[Source]) -> Lowered {
        let first = (offset / 4) as usize;
        let count = ty.bits().div_ceil(32).max(1) as usize;
        let Some(slice) = words.get(first..first + count) else {
            return Err(self.unsupported("an access behind the end of a parameter"));
        };
        if ty.bits() >= 32 {
            for (&d, source) in slice.iter().zip(value) {
                self.b.mov(d, source.clone());
            }
            return Ok(());
        }
        let byte = (offset % 4) as u32;
        let mut selector = 0x3210u32;
        for part in 0..ty.bits() / 8 {
            let shift = 4 * (byte + part);
            selector = selector & !(0xf << shift) | (4 + part) << shift;
        }
        let value = self.in_register(value[0].clone());
        let d: Value = slice[0];
        self.b.prmt(d, d, imm(selector), value);
        Ok(())
    }

    /// `ld.param` of a variable in registers.
    pub fn load_parameter_words(&mut self, i: &Instruction, variable: VariableId, offset: i64) -> Lowered {
        let ty = self.ty(i, 0)?;
        let words = self.parameter_words(variable)?;
        let destinations = self.elements(self.operand(i, 0)?);
        let mut writes = Vec::new();
        for (index, d) in destinations.iter().enumerate() {
            let place = offset as u64 + index as u64 * u64::from(ty.bytes());
            writes.push((d.clone(), self.extract(&words, place, ty)?));
        }
        for (d, value) in writes {
            let whole = if ty.bits() < 32 { if ty.is_signed() { Type::S32 } else { Type::U32 } } else { ty };
            self.write(&d, whole, &value)?;
        }
        Ok(())
    }

    /// `st.param` of a variable in registers.
    pub fn store_parameter_words(&mut self, i: &Instruction, variable: VariableId, offset: i64) -> Lowered {
        let ty = self.ty(i, 0)?;
        let words = self.parameter_words(variable)?;
        for (index, a) in self.elements(self.operand(i, 1)?).iter().enumerate() {
            let value = self.words(a, ty)?;
            self.insert(&words, offset as u64 + index as u64 * u64::from(ty.bytes()), ty, &value)?;
        }
        Ok(())
    }

    /// The elements of a vector operand, or the operand itself.
    pub fn elements(&self, operand: &Operand) -> Vec<Operand> {
        match operand {
            Operand::Vector(elements) => elements.clone(),
            other => vec![other.clone()],
        }
    }

    /// True if a `.param` variable of this kind lives in registers here.
    pub fn in_registers(&self, variable: VariableId) -> bool {
        let declared = &self.body.variables[variable.0 as usize];
        match declared.home {
            VariableHome::Parameter(_) => !self.body.is_entry,
            VariableHome::Result(_) => true,
            VariableHome::Body => {
                matches!(declared.space, Space::FunctionParameter | Space::KernelParameter)
            }
            VariableHome::Module => false,
        }
    }

    /// A load of the constant bank into one word, with the size in `mods`.
    pub fn load_constant(&mut self, d: impl IntoIterator<Item = Value>, size: &[Mod], source: SourceKind) {
        self.b.op(Op::LDC).mods(size).to_tuple(d).from(Source::plain(source)).emit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter(ty: Type, length: Option<u64>) -> Parameter {
        Parameter { ty, length, align: ty.bytes(), offset: 0, pointer: None, in_register: false }
    }

    #[test]
    fn holes_are_filled() {
        let list = [
            parameter(Type::U32, None),
            parameter(Type::U64, None),
            parameter(Type::U32, None),
            parameter(Type::F64, None),
            parameter(Type::U32, None),
            parameter(Type::B8, Some(2)),
            parameter(Type::F32, None),
        ];
        let places = assign(&list).unwrap();
        assert_eq!(places, [(4, 1), (6, 2), (5, 1), (8, 2), (10, 1), (11, 1), (12, 1)]);
        assert_eq!(assign(&[parameter(Type::B8, Some(52))]), None);
    }
}
