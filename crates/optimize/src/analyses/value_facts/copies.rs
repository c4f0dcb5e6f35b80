//! Results that equal an operand or are a constant although the instruction is not a copy: neutral operands, shifts by
//! whole words, selections and truth tables with known inputs.

use super::{Fact, ValueFacts, fixed_input, is_plain_constant_load};
use crate::analyses::definitions::Definitions;
use crate::rewriting::fold;
use oriole_ori::{Destination, File, Function, Instruction, Opcode, Pseudo, Source, SourceKind};
use oriole_sass::{Mod, Op};

impl ValueFacts {
    pub(super) fn learn_copies(
        &mut self,
        function: &Function,
        definitions: &Definitions,
        instruction: &Instruction,
    ) -> bool {
        let [destination] = instruction.destinations.as_slice() else {
            return match instruction.opcode {
                Opcode::Sass(Op::PLOP3) => self.learn_predicate(definitions, instruction),
                Opcode::Sass(Op::IADD3) => self.learn_carry(definitions, instruction),
                _ => false,
            };
        };
        if destination.values.is_empty() || destination.fixed.is_some() {
            return false;
        }
        let Some(facts) = self.result_words(function, definitions, instruction, destination) else {
            return false;
        };
        let mut new = false;
        for (&value, fact) in destination.values.iter().zip(facts) {
            new |= self.note(definitions, value, fact);
        }
        new
    }

    /// The facts for the one or two words of a result.
    fn result_words(
        &self,
        function: &Function,
        definitions: &Definitions,
        instruction: &Instruction,
        destination: &Destination,
    ) -> Option<[Fact; 2]> {
        let values = &destination.values;
        let pair = |index: usize| self.pair(definitions, &instruction.sources[index]);
        Some(match instruction.opcode {
            Opcode::Pseudo(Pseudo::Copy) | Opcode::Sass(Op::MOV)
                if values.len() == 1 && instruction.sources.len() == 1 =>
            {
                let fact = self.of_source(definitions, &instruction.sources[0]);
                // A general register may copy a uniform one, but the uniform one cannot replace it everywhere.
                match fact {
                    Fact::Same { value, .. } if function.file(value) != destination.file => return None,
                    // A constant or address belongs to the general file; other files load it differently.
                    Fact::Bank { .. } | Fact::Address { .. } if destination.file != File::R => return None,
                    fact => [fact, Fact::Unknown],
                }
            }
            Opcode::Sass(Op::LDC) if is_plain_constant_load(instruction) => {
                let SourceKind::Const { bank, base, offset } = instruction.sources[0].kind else {
                    return None;
                };
                let word = |index: i32| Fact::Bank { bank, base, offset: offset + 4 * index };
                [word(0), word(1)]
            }
            Opcode::Pseudo(Pseudo::Add64) if values.len() == 2 => {
                let is_zero = |index: usize| self.source_long(&instruction.sources[index]) == Some(0);
                if is_zero(0) {
                    pair(1)
                } else if is_zero(1) {
                    pair(0)
                } else {
                    return None;
                }
            }
            Opcode::Pseudo(Pseudo::Shl64 | Pseudo::Shr64) if values.len() == 2 => {
                let left = instruction.opcode == Opcode::Pseudo(Pseudo::Shl64);
                let signed = instruction.mods.has(Mod::S64);
                match self.source_word(&instruction.sources[1]) {
                    Some(0) => pair(0),
                    Some(32) if left => [Fact::Word(0), pair(0)[0]],
                    Some(32) if !signed => [pair(0)[1], Fact::Word(0)],
                    _ => return None,
                }
            }
            Opcode::Pseudo(Pseudo::Select64) if values.len() == 2 => {
                let choice = &instruction.sources[2];
                match self.source_word(choice) {
                    Some(holds) if (holds & 1 == 1) != choice.invert => pair(0),
                    Some(_) => pair(1),
                    None if instruction.sources[0] == instruction.sources[1] => pair(0),
                    None => return None,
                }
            }
            Opcode::Pseudo(Pseudo::Logic64) if values.len() == 2 => {
                let SourceKind::Literal(table) = instruction.sources[3].kind else { return None };
                let pairs = [pair(0), pair(1), pair(2)];
                let plain = instruction.sources[..3].iter().all(|s| !s.invert && !s.negate);
                if !plain {
                    return None;
                }
                [0, 1].map(|half| logic_fact(table as u8, [pairs[0][half], pairs[1][half], pairs[2][half]]))
            }
            _ => return None,
        })
    }

    /// The two words of a pair operand.
    pub(super) fn pair(&self, definitions: &Definitions, source: &Source) -> [Fact; 2] {
        if source.negate || source.invert || source.absolute {
            return [Fact::Unknown; 2];
        }
        match &source.kind {
            SourceKind::Values(values) if values.len() == 2 => {
                [self.copied(definitions, values[0]), self.copied(definitions, values[1])]
            }
            SourceKind::Zero(_) => [Fact::Word(0); 2],
            _ => [Fact::Unknown; 2],
        }
    }

    /// A truth table that depends on one input only.
    fn learn_predicate(&mut self, definitions: &Definitions, instruction: &Instruction) -> bool {
        let mut new = false;
        for (index, destination) in instruction.destinations.iter().enumerate() {
            let (Some(&value), Some(SourceKind::Literal(table))) =
                (destination.values.first(), instruction.sources.get(3 + index).map(|s| &s.kind))
            else {
                continue;
            };
            let inputs = [0, 1, 2].map(|input| {
                let source = &instruction.sources[input];
                match (&source.kind, source.invert) {
                    (SourceKind::True(_), true) => Fact::Word(0),
                    _ => match (self.source_word(source), source.invert) {
                        (Some(bit), invert) => Fact::Word((bit & 1) as u32 ^ u32::from(invert)),
                        (None, _) => self.of_source(definitions, source),
                    },
                }
            });
            new |= self.note(definitions, value, predicate_fact(*table as u8, inputs));
        }
        new
    }

    /// An add with a single nonzero word does not carry.
    fn learn_carry(&mut self, definitions: &Definitions, instruction: &Instruction) -> bool {
        let [_, carry] = instruction.destinations.as_slice() else { return false };
        let is_zero = |source: &&Source| matches!(source.kind, SourceKind::Zero(_));
        let plain = |source: &Source| !source.negate && !source.invert;
        let sources = &instruction.sources;
        let holds = instruction.mods.is_empty()
            && sources.len() == 3
            && sources.iter().all(plain)
            && sources.iter().filter(is_zero).count() >= 2;
        match carry.values.first() {
            Some(&carry) if holds => self.note(definitions, carry, Fact::Word(0)),
            _ => false,
        }
    }
}

/// The result of a bitwise table on words of which some are known to be all zeros or all ones.
fn logic_fact(table: u8, inputs: [Fact; 3]) -> Fact {
    let mut table = table;
    for (index, input) in inputs.iter().enumerate() {
        match input {
            Fact::Word(0) => table = fixed_input(table, index, false),
            Fact::Word(u32::MAX) => table = fixed_input(table, index, true),
            _ => {}
        }
    }
    match table {
        0 => Fact::Word(0),
        0xff => Fact::Word(u32::MAX),
        0xf0 => inputs[0],
        0xcc => inputs[1],
        0xaa => inputs[2],
        _ => match inputs {
            [Fact::Word(a), Fact::Word(b), Fact::Word(c)] => Fact::Word(fold::lookup(table, a, b, c)),
            _ => Fact::Unknown,
        },
    }
}

fn predicate_fact(table: u8, inputs: [Fact; 3]) -> Fact {
    let mut table = table;
    for (index, input) in inputs.iter().enumerate() {
        if let Fact::Word(bit) = input {
            table = fixed_input(table, index, bit & 1 == 1);
        }
    }
    let contrary = |fact: Fact| match fact {
        Fact::Same { value, invert } => Fact::Same { value, invert: !invert },
        _ => Fact::Unknown,
    };
    let same = |fact: Fact| match fact {
        Fact::Same { .. } => fact,
        _ => Fact::Unknown,
    };
    match table {
        0 => Fact::Word(0),
        0xff => Fact::Word(1),
        0xf0 => same(inputs[0]),
        0xcc => same(inputs[1]),
        0xaa => same(inputs[2]),
        0x0f => contrary(inputs[0]),
        0x33 => contrary(inputs[1]),
        0x55 => contrary(inputs[2]),
        _ => Fact::Unknown,
    }
}
