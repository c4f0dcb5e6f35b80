//! Where a kernel or function has what debug sections name: labels, local variables, parameters, registers of the PTX.
//!
//! It reads a finished image and says nothing of the rest of the module. No code may depend on anything here.

use oriole_chip::WordShape;
use oriole_cubin::KernelImage;
use oriole_cubin::layout::padded_words;
use oriole_debug_info::{HeldRegister, MachineRegister};
use oriole_emit::LinkedFunction;
use oriole_emit::holders::{Held, HolderFile};
use oriole_hir::{Body, SourceMap, Statement, VariableKind, from_raw_index};
use oriole_ori::{Origin, SymbolKind};
use oriole_pipeline::Target;
use oriole_ptx::Type;

/// Where a kernel or function has what debug sections name. Nothing in it depends on where a unit is in the file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CodePlaces {
    /// Labels, in the order of the text, with the bytes from the start of the code to the instruction after
    /// each.
    pub labels: Vec<(String, u64)>,
    /// Local variables with the bytes from the end of the frame, which is the address that unwinding calls the canonical one.
    pub locals: Vec<(String, i64)>,
    /// Parameters of a kernel with their offsets in constant bank 0.
    pub parameters: Vec<(String, u64)>,
    /// Where registers of the PTX are, by register of the machine and then by place.
    pub registers: Vec<HeldRegister>,
}

/// A kernel or function, from its text to its image.
pub struct FinishedCode<'a> {
    /// Its body.
    pub body: &'a Body,
    /// Its names in the text.
    pub map: &'a SourceMap,
    /// Its code by itself.
    pub linked: &'a LinkedFunction,
    /// Its code with what stands before it and what it reaches.
    pub image: &'a KernelImage,
}

impl CodePlaces {
    /// The places of a kernel or function.
    pub fn new(target: &Target, code: &FinishedCode<'_>) -> CodePlaces {
        CodePlaces {
            labels: code.labels(target.words),
            locals: code.locals(),
            parameters: code.parameters(target),
            registers: code.registers(target.words),
        }
    }
}

impl FinishedCode<'_> {
    /// For each instruction of the text its first word, or that of the next one that has any; and the end.
    fn first_words(&self) -> Vec<Option<u32>> {
        let origins = &self.linked.encoded.origins;
        let count = self.body.statements.iter().filter(|it| matches!(it, Statement::Instruction(_))).count();
        let mut first = vec![None; count + 1];
        for (at, &Origin(ordinal)) in (0u32..).zip(origins) {
            if let Some(first) = first.get_mut(ordinal as usize) {
                first.get_or_insert(at);
            }
        }
        first[count] = Some(origins.len() as u32);
        let mut next = first[count];
        for word in first.iter_mut().rev() {
            next = word.or(next);
            *word = next;
        }
        first
    }

    fn labels(&self, words: WordShape) -> Vec<(String, u64)> {
        let first = self.first_words();
        // The setup for all of the code is before its first instruction, and labels there are above that,
        // too.
        let above_all = first[0];
        let address = |ordinal: usize| match first[ordinal] {
            word if word == above_all => 0,
            word => u64::from(self.image.own_start + words.address(word.unwrap_or_default())),
        };
        let mut labels = Vec::new();
        let mut ordinal = 0;
        for statement in &self.body.statements {
            match statement {
                Statement::Label(label) => {
                    labels.push((self.map.labels[*label].0.clone(), address(ordinal)));
                }
                Statement::Instruction(_) => ordinal += 1,
                Statement::Pragma(_) => {}
            }
        }
        // The last label of all is the end of the section, padding included.
        if let (Some(Statement::Label(_)), Some((_, last))) = (self.body.statements.last(), labels.last_mut())
        {
            *last = words.size(padded_words(words, self.image.code.len()));
        }
        labels
    }

    fn locals(&self) -> Vec<(String, i64)> {
        let end = i64::from(self.linked.frame_bytes);
        let local = |symbol: &oriole_ori::SymbolRef| {
            let SymbolKind::Local(index) = symbol.kind else { return None };
            let &offset = self.linked.local_offsets.get(index as usize)?;
            Some((symbol.name.clone(), i64::from(offset) - end))
        };
        self.linked.symbols.iter().filter_map(local).collect()
    }

    fn parameters(&self, target: &Target) -> Vec<(String, u64)> {
        let Some(bank) = target.chip.constant_bank().filter(|_| self.body.is_entry) else {
            return Vec::new();
        };
        let start = bank.parameters_start(self.image.parameter_size);
        let parameter = |variable: &oriole_hir::Variable| {
            let VariableKind::Parameter(index) = variable.kind else { return None };
            let offset = start + self.image.parameters[index as usize].offset;
            Some((variable.name.clone(), offset.into()))
        };
        self.body.variables.values().filter_map(parameter).collect()
    }

    fn registers(&self, words: WordShape) -> Vec<HeldRegister> {
        let held = |one: &Held| {
            let machine = match one.file {
                HolderFile::General => MachineRegister::general,
                HolderFile::Uniform => MachineRegister::uniform,
                HolderFile::Predicate => MachineRegister::predicate,
                HolderFile::UniformPredicate => MachineRegister::uniform_predicate,
            };
            let [first, end] = [one.first, one.end].map(|word| self.image.own_start + words.address(word));
            let register = from_raw_index(one.register);
            HeldRegister {
                machine: machine(one.number),
                first,
                end,
                name: self.map.registers[register].0.clone(),
                component: one.component.into(),
                kind: type_number(self.body.registers[register].ty),
            }
        };
        let mut registers: Vec<HeldRegister> = self.linked.held.iter().map(held).collect();
        registers.sort_unstable();
        registers
    }
}

/// The numbers of types in the table of registers. Types that it does not know are bits of their size.
fn type_number(ty: Type) -> u8 {
    match ty {
        Type::U8 => 4,
        Type::U16 => 5,
        Type::U32 => 6,
        Type::U64 => 7,
        Type::S8 => 8,
        Type::S16 => 9,
        Type::S32 => 10,
        Type::S64 => 11,
        Type::F16 => 12,
        Type::F16x2 => 13,
        Type::F32 => 14,
        Type::F64 => 15,
        Type::Pred => 16,
        _ => match ty.bits() {
            0..=8 => 0,
            9..=16 => 1,
            17..=32 => 2,
            33..=64 => 3,
            _ => 17,
        },
    }
}
