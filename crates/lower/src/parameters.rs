//! Parameters: their places in the calling convention, how a function receives and returns them, and accesses to
//! `.param` variables in registers. The kernel's own parameters are constant-bank accesses in `memory`.

use crate::LowerError;
use crate::context::{Lower, Lowered, ParameterMemory, Words};
use crate::operand::imm;
use oriole_hir::{Instruction, Operand, Parameter, Statement, VariableId, VariableKind};
use oriole_ori::{Destination, File, MemoryInfo, Pseudo, Source, SourceKind, Value};
use oriole_ptx::{Space, Type};
use oriole_sass::{Mod, Op};

/// First register of parameters and results.
const FIRST: u8 = 4;
/// Registers for parameters and results.
const COUNT: u8 = 12;

/// Location of a parameter or result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Home {
    /// In registers: the first, and how many.
    Registers(u8, u8),
    /// In the block of memory that the caller provides, at this offset in bytes.
    Block(u32),
    /// At the bottom of the caller's frame, at this offset in bytes.
    Stack(u32),
}

/// How a signature passes its words.
///
/// Words that do not fit into the registers of the convention are passed in memory. In whole-program output that is a
/// block of the caller's frame, whose local address is then the first word passed. Between separately linked
/// functions, arguments are at the bottom of the caller's frame, and a block, whose address is the first word as
/// well, holds results only. An array without a size, the last parameter, is always at the bottom of the caller's
/// frame, after everything else there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Convention {
    /// For each parameter.
    pub parameters: Vec<Home>,
    /// For each result.
    pub results: Vec<Home>,
    /// Bytes of the block; `None` if there is none.
    pub block: Option<u32>,
    /// Bytes of arguments at the bottom of the caller's frame, without an array that has no size.
    pub stack: u32,
}

/// Bytes of a parameter, in whole words.
fn whole_bytes(parameter: &Parameter) -> u64 {
    parameter.size().div_ceil(4).max(1) * 4
}

/// First register and word count of each parameter.
///
/// Each takes the lowest free aligned group of registers; later ones fill the holes. `None` if one does not fit.
fn assign(parameters: &[Parameter], reserved: usize) -> Vec<Option<Home>> {
    let mut free = [true; COUNT as usize];
    free[..reserved].fill(false);
    let mut places = Vec::new();
    for parameter in parameters {
        let words = (whole_bytes(parameter) / 4).min(u64::from(COUNT) + 1) as usize;
        let step = parameter.align.max(parameter.ty.bytes()).div_ceil(4).clamp(1, 4) as usize;
        let start = (0..=free.len().saturating_sub(words))
            .step_by(step)
            .find(|&start| free.get(start..start + words).is_some_and(|group| group.iter().all(|&f| f)));
        places.push(start.map(|start| {
            free[start..start + words].fill(false);
            Home::Registers(FIRST + start as u8, words as u8)
        }));
    }
    places
}

/// The next memory slot for a parameter, after `size` bytes of others.
fn in_memory(size: &mut u32, parameter: &Parameter) -> u32 {
    let at = size.next_multiple_of(parameter.align.clamp(4, 16));
    *size = at.saturating_add(u32::try_from(whole_bytes(parameter)).unwrap_or(u32::MAX));
    at
}

/// The convention of a signature; `separate` for a separately linked function.
pub(crate) fn convention(parameters: &[Parameter], results: &[Parameter], separate: bool) -> Convention {
    if let Some((open, sized)) = parameters.split_last().filter(|(last, _)| last.is_open()) {
        let mut whole = convention(sized, results, separate);
        whole.stack = whole.stack.next_multiple_of(open.align.clamp(4, 16));
        whole.parameters.push(Home::Stack(whole.stack));
        return whole;
    }
    let all = |places: &[Option<Home>]| places.iter().copied().collect::<Option<Vec<Home>>>();
    let result_places = all(&assign(results, 0));
    if let (Some(parameters), Some(results)) = (all(&assign(parameters, 0)), &result_places) {
        return Convention { parameters, results: results.clone(), block: None, stack: 0 };
    }
    if separate {
        return linked_convention(parameters, results, result_places);
    }
    let mut size = 0u32;
    let mut in_block = |parameter: &Parameter| Home::Block(in_memory(&mut size, parameter));
    let parameters = parameters
        .iter()
        .zip(assign(parameters, 1))
        .map(|(parameter, place)| place.unwrap_or_else(|| in_block(parameter)))
        .collect();
    let results = match result_places {
        Some(places) => places,
        None => results.iter().map(&mut in_block).collect(),
    };
    Convention { parameters, results, block: Some(size), stack: 0 }
}

/// The convention of a signature with more than the registers hold, between functions that a linker joins.
fn linked_convention(
    parameters: &[Parameter],
    results: &[Parameter],
    result_places: Option<Vec<Home>>,
) -> Convention {
    let (mut stack, mut block) = (0, 0);
    let places = assign(parameters, usize::from(result_places.is_none()));
    let parameters = parameters
        .iter()
        .zip(places)
        .map(|(parameter, place)| place.unwrap_or_else(|| Home::Stack(in_memory(&mut stack, parameter))))
        .collect();
    let in_block = |parameter: &Parameter| Home::Block(in_memory(&mut block, parameter));
    match result_places {
        Some(results) => Convention { parameters, results, block: None, stack },
        None => {
            let results = results.iter().map(in_block).collect();
            Convention { parameters, results, block: Some(block), stack }
        }
    }
}

impl Lower<'_> {
    /// The variable of a parameter, or of a result, of this function.
    pub fn parameter_variable(&self, kind: VariableKind) -> Option<VariableId> {
        self.body.variable_of(kind)
    }

    /// The words of a `.param` variable in registers.
    pub fn parameter_words(&mut self, variable: VariableId) -> Words {
        if let Some(words) = self.parameters.get(&variable) {
            return words.clone();
        }
        let words = match self.register_parameter_words(variable) {
            Some(words) => words,
            None => {
                let count = self.body.variables[variable].size.div_ceil(4).max(1);
                let words: Words = (0..count).map(|_| self.b.r()).collect();
                words.iter().for_each(|&value| self.name(value));
                words
            }
        };
        self.parameters.insert(variable, words.clone());
        words
    }

    /// The memory of a `.param` variable that is not in registers.
    pub fn parameter_memory(&mut self, variable: VariableId) -> Option<ParameterMemory> {
        if let Some(&memory) = self.parameter_memory.get(&variable) {
            return Some(memory);
        }
        let declared = &self.body.variables[variable];
        if declared.kind != VariableKind::Body || declared.size <= 4 * u64::from(COUNT) {
            return None;
        }
        let memory = ParameterMemory::Frame(self.frame_symbol(variable));
        self.parameter_memory.insert(variable, memory);
        Some(memory)
    }

    /// A register with the address of a parameter in memory, and the offset from it.
    pub fn parameter_base(&mut self, memory: ParameterMemory) -> (Value, i32) {
        match memory {
            ParameterMemory::Block(base, offset) => (base, offset),
            ParameterMemory::Frame(symbol) => {
                let base = self.b.r();
                self.frame_address(base, symbol, 0);
                (base, 0)
            }
        }
    }

    /// Moves a word between a value and local memory.
    pub fn local_word(&mut self, value: Value, base: Value, offset: i32, store: bool) {
        let address = crate::space::address_of(base.into(), offset);
        let memory = MemoryInfo {
            space: oriole_ori::Space::Local,
            reads: !store,
            writes: store,
            ordered: false,
            object: None,
        };
        if store {
            self.b.op(Op::STL).from(address).from(value).memory(memory).emit();
        } else {
            self.b.op(Op::LDL).to(value).from(address).memory(memory).emit();
        }
    }

    /// Function entry: receives the parameters, and copies those whose address is taken into the frame.
    pub fn receive_parameters(&mut self) -> Lowered {
        if self.body.is_entry {
            return Ok(());
        }
        let convention = convention(&self.body.parameters, &self.body.results, self.separate);
        let mut destinations = Vec::new();
        let mut fixed = |value: Value, register: u8| {
            let mut destination = Destination::new(File::R, [value]);
            destination.fixed = Some(register);
            destinations.push(destination);
        };
        let block = convention.block.map(|_| self.b.r());
        if let Some(block) = block {
            fixed(block, FIRST);
        }
        let (mut late, mut on_stack) = (Vec::new(), Vec::new());
        let addressed = self.addressed_parameters();
        let mut taken = Vec::new();
        for (index, &home) in convention.parameters.iter().enumerate() {
            let variable = self.parameter_variable(VariableKind::Parameter(index as u32));
            match (home, variable) {
                (Home::Registers(first, count), Some(variable)) => {
                    let words = self.parameter_words(variable);
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
        let mut receive = self.b.op(Pseudo::Parameters);
        for destination in destinations {
            receive = receive.destination(destination);
        }
        receive.emit();
        for (index, &home) in convention.results.iter().enumerate() {
            if let (Home::Block(offset), Some(variable)) =
                (home, self.parameter_variable(VariableKind::Result(index as u32)))
            {
                late.push((variable, offset));
            }
        }
        for (variable, offset) in late {
            let Some(block) = block else { continue };
            self.parameter_memory.insert(variable, ParameterMemory::Block(block, offset as i32));
        }
        if !on_stack.is_empty() {
            let base = self.b.r();
            self.b.op(Pseudo::CallerFrame).to(base).emit();
            let places = on_stack
                .into_iter()
                .map(|(variable, offset)| (variable, ParameterMemory::Block(base, offset as i32)));
            self.parameter_memory.extend(places);
        }
        self.receive_registers()?;
        for variable in taken {
            let symbol = self.frame_symbol(variable);
            let base = self.b.r();
            self.frame_address(base, symbol, 0);
            for (index, &value) in self.parameters[&variable].clone().iter().enumerate() {
                self.local_word(value, base, 4 * index as i32, true);
            }
        }
        Ok(())
    }

    /// Parameters of this function whose address is taken.
    fn addressed_parameters(&self) -> Vec<VariableId> {
        let mut found = Vec::new();
        for statement in &self.body.statements {
            let Statement::Instruction(instruction) = statement else { continue };
            for operand in &instruction.operands {
                if let &Operand::VariableAddress(variable, _) = operand
                    && matches!(self.body.variables[variable].kind, VariableKind::Parameter(_))
                    && !found.contains(&variable)
                {
                    found.push(variable);
                }
            }
        }
        found
    }

    /// The words that a function returns, each in its register; results in memory are written there.
    pub fn return_words(&mut self) -> Result<Vec<Source>, LowerError> {
        let convention = convention(&self.body.parameters, &self.body.results, self.separate);
        let mut sources = Vec::new();
        for (index, home) in convention.results.into_iter().enumerate() {
            let Some(variable) = self.parameter_variable(VariableKind::Result(index as u32)) else {
                continue;
            };
            let values = self.returned_words(variable)?;
            match (home, self.parameter_memory(variable)) {
                (Home::Registers(first, count), _) => {
                    for (word, value) in values.into_iter().take(usize::from(count)).enumerate() {
                        let mut source = Source::value(value);
                        source.fixed = Some(first + word as u8);
                        sources.push(source);
                    }
                }
                (Home::Block(_), Some(memory)) if self.body.registers_of(variable).next().is_some() => {
                    let (base, offset) = self.parameter_base(memory);
                    for (word, value) in values.into_iter().enumerate() {
                        self.local_word(value, base, offset + 4 * word as i32, true);
                    }
                }
                (Home::Block(_) | Home::Stack(_), _) => {}
            }
        }
        Ok(sources)
    }

    /// Reads an element of `ty` at a byte offset of words in registers, extended to whole words.
    pub fn extract(&mut self, words: &Words, offset: u64, ty: Type) -> Result<Vec<Source>, LowerError> {
        let first = (offset / 4) as usize;
        let count = ty.bits().div_ceil(32).max(1) as usize;
        // Data past the end is undefined, and zero here.
        let word = |index: usize| words.get(index).map_or_else(Source::rz, |&word| Source::value(word));
        if ty.bits() >= 32 {
            return Ok((first..first.saturating_add(count)).map(word).collect());
        }
        let word = word(first);
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
        self.b.prmt(d, word, imm(selector), Source::rz());
        Ok(vec![d.into()])
    }

    /// Writes an element of `ty` at a byte offset of words in registers.
    pub fn insert(&mut self, words: &Words, offset: u64, ty: Type, value: &[Source]) -> Lowered {
        let first = (offset / 4) as usize;
        let count = ty.bits().div_ceil(32).max(1) as usize;
        // Stores past the end are dropped.
        let slice = words.get(first..).unwrap_or_default();
        let slice = &slice[..count.min(slice.len())];
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
        let Some(&d) = slice.first() else { return Ok(()) };
        let value = self.in_register(value[0].clone());
        self.b.prmt(d, d, imm(selector), value);
        Ok(())
    }

    /// `ld.param` of a variable in registers.
    pub fn load_parameter_words(&mut self, i: &Instruction, variable: VariableId, offset: i64) -> Lowered {
        let ty = self.ty(i, 0)?;
        let words = self.parameter_words(variable);
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
        let words = self.parameter_words(variable);
        for (index, a) in self.elements(self.operand(i, 1)?).iter().enumerate() {
            let value = self.words(a, ty)?;
            self.insert(&words, offset as u64 + index as u64 * u64::from(ty.bytes()), ty, &value)?;
        }
        Ok(())
    }

    /// True if an access to a parameter in memory extends past its end.
    pub fn reaches_beyond(&self, variable: VariableId, offset: i64, bytes: u32) -> bool {
        let declared = &self.body.variables[variable];
        if let VariableKind::Parameter(index) = declared.kind
            && self.body.parameters[index as usize].is_open()
        {
            return offset < 0;
        }
        let end = u64::try_from(offset).ok().and_then(|offset| offset.checked_add(u64::from(bytes)));
        end.is_none_or(|end| end > declared.size)
    }

    /// The accesses to the elements of a vector one by one, each with its place; `operand` is the position of the
    /// vector.
    pub fn element_accesses(&self, i: &Instruction, operand: usize) -> Result<Vec<Instruction>, LowerError> {
        let bytes = i64::from(self.ty(i, 0)?.bytes());
        let elements = self.elements(self.operand(i, operand)?);
        let single = |(number, element): (usize, Operand)| {
            let mut single = Instruction { vector: 1, ..i.clone() };
            single.operands[operand] = element;
            for operand in &mut single.operands {
                if let Operand::Address(address) = operand {
                    address.offset += bytes * number as i64;
                }
            }
            single
        };
        Ok(elements.into_iter().enumerate().map(single).collect())
    }

    /// A load of one element past the end of a parameter: zero.
    pub fn load_beyond(&mut self, i: &Instruction) -> Lowered {
        let ty = self.ty(i, 0)?;
        let whole = if ty.bits() < 32 { Type::U32 } else { ty };
        let zeros = vec![Source::rz(); whole.bits().div_ceil(32) as usize];
        let d = self.operand(i, 0)?.clone();
        self.write(&d, whole, &zeros)
    }

    /// The elements of a vector operand, or the operand itself.
    pub fn elements(&self, operand: &Operand) -> Vec<Operand> {
        match operand {
            Operand::Vector(elements) => elements.clone(),
            other => vec![other.clone()],
        }
    }

    /// True if a `.param` variable of this kind is in registers here.
    pub fn in_registers(&self, variable: VariableId) -> bool {
        let declared = &self.body.variables[variable];
        match declared.kind {
            VariableKind::Parameter(_) => !self.body.is_entry,
            VariableKind::Result(_) => true,
            VariableKind::Body => {
                matches!(declared.space, Space::FunctionParameter | Space::KernelParameter)
            }
            VariableKind::Module => false,
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
        let places = convention(&list, &[], false);
        let registers = [(4, 1), (6, 2), (5, 1), (8, 2), (10, 1), (11, 1), (12, 1)];
        let expected: Vec<Home> =
            registers.iter().map(|&(first, words)| Home::Registers(first, words)).collect();
        assert_eq!(places, Convention { parameters: expected, results: vec![], block: None, stack: 0 });
    }

    #[test]
    fn what_does_not_fit_goes_into_a_block() {
        let list = [parameter(Type::U32, None), parameter(Type::B8, Some(50)), parameter(Type::U64, None)];
        let places = convention(&list, &[parameter(Type::B8, Some(64))], false);
        assert_eq!(
            places,
            Convention {
                parameters: vec![Home::Registers(5, 1), Home::Block(0), Home::Registers(6, 2)],
                results: vec![Home::Block(52)],
                block: Some(116),
                stack: 0,
            }
        );
    }

    #[test]
    fn what_does_not_fit_between_linked_functions_goes_on_the_stack() {
        let aligned = |length, align| Parameter { align, ..parameter(Type::B8, Some(length)) };
        let list = [aligned(40, 8), parameter(Type::U64, None), aligned(24, 16), parameter(Type::U32, None)];
        let places = convention(&list, &[aligned(64, 8)], true);
        assert_eq!(
            places,
            Convention {
                parameters: vec![
                    Home::Registers(6, 10),
                    Home::Stack(0),
                    Home::Stack(16),
                    Home::Registers(5, 1),
                ],
                results: vec![Home::Block(0)],
                block: Some(64),
                stack: 40,
            }
        );
    }
}
