//! Instructions that define a value without reading a register: which values any such instruction gives.

use oriole_ori::{File, Function, Instruction, Opcode, Pseudo, Source, SourceKind, Value};
use oriole_sass::Op;
use rustc_hash::FxHashMap;

/// Instructions that define a value without reading a register, by their results.
pub(super) struct Rematerializations {
    keys: FxHashMap<String, u32>,
    /// Values whose only definition is such an instruction: key, component.
    pub(super) only: FxHashMap<(u32, u8), Vec<Value>>,
}

pub(super) fn rematerialization_text(function: &Function, instruction: &Instruction) -> Option<String> {
    let plain = |s: &Source| {
        matches!(
            s.kind,
            SourceKind::Zero(_)
                | SourceKind::True(_)
                | SourceKind::Imm(_)
                | SourceKind::Literal(_)
                | SourceKind::Const { .. }
                | SourceKind::Address32 { .. }
        )
    };
    if instruction.guard.is_some()
        || instruction.destinations.len() != 1
        || instruction.sources.is_empty()
        || !instruction.sources.iter().all(plain)
    {
        return None;
    }
    let file = instruction.destinations[0].values.first().map(|&v| function.file(v))?;
    match instruction.opcode {
        Opcode::Sass(Op::MOV | Op::UMOV) | Opcode::Pseudo(Pseudo::Copy) if instruction.mods.is_empty() => {
            Some(format!("{file:?} {:?}", instruction.sources))
        }
        Opcode::Sass(Op::MOV | Op::UMOV | Op::ULDC | Op::LDCU) => Some(format!(
            "{file:?} {:?} {:?} {:?}",
            instruction.opcode, instruction.mods, instruction.sources
        )),
        _ => None,
    }
}

/// The text of a rematerialization that is one plain source.
pub(super) fn source_text(file: File, source: &Source) -> String {
    format!("{file:?} {:?}", [source])
}

impl Rematerializations {
    pub(super) fn new(function: &Function) -> Rematerializations {
        let mut rematerializations =
            Rematerializations { keys: FxHashMap::default(), only: FxHashMap::default() };
        let mut definitions: FxHashMap<Value, u32> = FxHashMap::default();
        for instruction in function.blocks.iter().flat_map(|b| &b.instructions) {
            instruction.for_each_definition(|v| *definitions.entry(v).or_default() += 1);
        }
        for instruction in function.blocks.iter().flat_map(|b| &b.instructions) {
            if let Some(text) = rematerialization_text(function, instruction) {
                let key = rematerializations.key(text);
                for (component, v) in instruction.destinations[0].values.iter().enumerate() {
                    if definitions[v] == 1 {
                        rematerializations.only.entry((key, component as u8)).or_default().push(*v);
                    }
                }
            }
        }
        rematerializations
    }

    pub(super) fn key(&mut self, text: String) -> u32 {
        let next = self.keys.len() as u32;
        *self.keys.entry(text).or_insert(next)
    }
}
