//! Addresses that are surely of another state space than the instruction that uses them: a missing `cvta`, or one too
//! many.
//!
//! The mistake is in the program and shows at run time only. A register counts as an address of a space if every
//! instruction that writes it makes it one, in any order; unclear cases are ignored, so that a diagnostic is never
//! wrong. Global and generic addresses of the same byte are equal, so mixing those is not a mistake.

use crate::body::table_of;
use la_arena::ArenaMap;
use oriole_diagnostics::{Code, Diagnostic};
use oriole_ptx::{Opcode, Space, Word};

use crate::{AddressBase, Body, Instruction, Operand, RegisterId, SourceMap, Statement};

/// The known content of a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Held {
    /// No instruction has written it yet.
    Nothing,
    /// An address of a space; [`Space::Generic`] for a generic one.
    Address(Space),
    /// Anything.
    Unknown,
}

impl Held {
    fn joined(self, other: Held) -> Held {
        match (self, other) {
            (Held::Nothing, held) | (held, Held::Nothing) => held,
            (one, other) if one == other => one,
            _ => Held::Unknown,
        }
    }
}

/// A use of an address of one space as one of another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AddressSpaceMismatch {
    /// Ordinal of the instruction that uses it.
    pub instruction: u32,
    /// The register.
    pub register: RegisterId,
    /// The space whose address it holds; [`Space::Generic`] for a generic one.
    pub held: Space,
    /// The space that the instruction takes it to be of.
    pub used: Space,
    /// The instruction is a `cvta`, and its operand is already converted.
    pub converts: bool,
}

/// The two parts of shared memory are addressed alike; other spaces have their names.
fn window(space: Space) -> Option<Space> {
    match space {
        Space::Shared | Space::SharedCluster => Some(Space::Shared),
        Space::Constant | Space::Local | Space::Global | Space::Generic => Some(space),
        Space::Register | Space::KernelParameter | Space::FunctionParameter => None,
    }
}

/// Whether an address of one space never names the same byte in the other.
fn differ(held: Space, used: Space) -> bool {
    let flat = |space: Space| matches!(space, Space::Global | Space::Generic);
    held != used && !(flat(held) && flat(used))
}

/// Whether a `cvta` goes from generic addresses to those of a space.
fn leaves_generic(instruction: &Instruction) -> bool {
    instruction.modifiers.has(Word::To)
}

/// The content that an instruction leaves in its one destination.
fn result(body: &Body, held: &ArenaMap<RegisterId, Held>, instruction: &Instruction) -> Held {
    let of = |operand: Option<&Operand>| match operand {
        Some(Operand::Register(register)) => held[*register],
        Some(Operand::VariableAddress(variable, _)) => {
            window(body.variables[*variable].space).map_or(Held::Unknown, Held::Address)
        }
        _ => Held::Unknown,
    };
    let operands = &instruction.operands;
    match instruction.opcode {
        Opcode::Mov => of(operands.get(1)),
        Opcode::Add | Opcode::Sub if matches!(operands.get(2), Some(Operand::Immediate(_))) => {
            of(operands.get(1))
        }
        Opcode::Cvta => match instruction.space.and_then(window) {
            Some(space) if leaves_generic(instruction) => Held::Address(space),
            Some(_) => Held::Address(Space::Generic),
            None => Held::Unknown,
        },
        _ => Held::Unknown,
    }
}

/// The content of each register. An instruction whose first operand is a source only makes less known, never more.
fn held(body: &Body, instructions: &[&Instruction]) -> ArenaMap<RegisterId, Held> {
    let mut held: ArenaMap<RegisterId, Held> = table_of(&body.registers, Held::Nothing);
    // Instructions that read a register by `mov`, `add` or `sub`, and must be revisited when more is known of it: a
    // linked list through the instructions, from the last one.
    const NONE: u32 = u32::MAX;
    let mut last_reader: ArenaMap<RegisterId, u32> = table_of(&body.registers, NONE);
    let mut reader_before = vec![NONE; instructions.len()];
    for &(_, register) in &body.parameter_registers {
        held[register] = Held::Unknown;
    }
    let mut open: Vec<u32> = Vec::new();
    for (at, instruction) in instructions.iter().enumerate() {
        match instruction.operands.first() {
            Some(Operand::Register(_)) => open.push(at as u32),
            Some(_) => instruction.for_each_written(|register| held[register] = Held::Unknown),
            None => {}
        }
        if let (Opcode::Mov | Opcode::Add | Opcode::Sub, Some(Operand::Register(source))) =
            (instruction.opcode, instruction.operands.get(1))
        {
            reader_before[at] = std::mem::replace(&mut last_reader[*source], at as u32);
        }
    }
    // The state of a register is lowered at most twice, so that each instruction is visited a few times.
    open.reverse();
    while let Some(at) = open.pop() {
        let instruction = instructions[at as usize];
        let Some(&Operand::Register(register)) = instruction.operands.first() else { continue };
        let before = held[register];
        let now = before.joined(result(body, &held, instruction));
        if now != before {
            held[register] = now;
            let mut reader = last_reader[register];
            while let Some(&before) = reader_before.get(reader as usize) {
                open.push(reader);
                reader = before;
            }
        }
    }
    held
}

/// Every use of an address as one of another space, in order.
pub fn address_space_mismatches(body: &Body) -> Vec<AddressSpaceMismatch> {
    let instructions: Vec<&Instruction> = body
        .statements
        .iter()
        .filter_map(|statement| match statement {
            Statement::Instruction(instruction) => Some(instruction),
            _ => None,
        })
        .collect();
    // Without an address of a variable and without a `cvta` nothing is known.
    let tells = |instruction: &&Instruction| {
        instruction.opcode == Opcode::Cvta
            || matches!(instruction.operands.get(1), Some(Operand::VariableAddress(..)))
    };
    if !instructions.iter().any(tells) {
        return Vec::new();
    }
    let held = held(body, &instructions);
    let mut mismatches = Vec::new();
    for (at, instruction) in instructions.iter().enumerate() {
        let Some(used) = instruction.space.and_then(window) else { continue };
        let (register, used, converts) = match instruction.opcode {
            Opcode::Ld | Opcode::St | Opcode::Atom | Opcode::Red => {
                let base = instruction.operands.iter().find_map(|operand| match operand {
                    Operand::Address(address) => Some(&address.base),
                    _ => None,
                });
                let Some(AddressBase::Register(register)) = base else { continue };
                (*register, used, false)
            }
            Opcode::Cvta => {
                let Some(Operand::Register(register)) = instruction.operands.get(1) else { continue };
                (*register, if leaves_generic(instruction) { Space::Generic } else { used }, true)
            }
            _ => continue,
        };
        if let Held::Address(held) = held[register]
            && differ(held, used)
        {
            mismatches.push(AddressSpaceMismatch { instruction: at as u32, register, held, used, converts });
        }
    }
    mismatches
}

fn words(space: Space) -> String {
    match space {
        Space::Generic => "a generic address".to_owned(),
        space => format!("an address of `.{}`", space.name()),
    }
}

/// The diagnostics of a body.
pub(crate) fn check(body: &Body, map: &SourceMap, found: &mut Vec<Diagnostic>) {
    for mismatch in address_space_mismatches(body) {
        let Some(&span) = map.instructions.get(mismatch.instruction as usize) else { continue };
        let name = map.registers.get(mismatch.register).map_or("?", |register| register.0.as_str());
        let help = match (mismatch.converts, mismatch.held, mismatch.used) {
            (true, ..) => "the address is converted already: this `cvta` is one too many".to_owned(),
            (_, Space::Generic, used) => {
                format!("convert it with `cvta.to.{}`, or leave `.{0}` out", used.name())
            }
            (_, held, Space::Generic) => format!("convert it with `cvta.{}`, or write `.{0}`", held.name()),
            (_, held, _) => format!("write `.{}`, or make an address of the other space", held.name()),
        };
        let message =
            format!("`{name}` holds {} and is used as {}", words(mismatch.held), words(mismatch.used));
        found.push(Diagnostic::new(Code::AddressOfOtherSpace, span, message).with_help(help));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve_module;

    /// Diagnostics of statements in a kernel, by name of the register.
    fn check(statements: &str) -> String {
        let module = resolve_module(&format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.global .u32 g; .const .u32 c;\n\
             .entry k(.param .u64 in) {{ .shared .u32 s; .local .u32 l; .reg .b32 r; .reg .b64 a, b, d; .reg .pred p;\n\
             {statements} ret; }}"
        ));
        // The statements do not write their registers.
        let found = module.diagnostics.iter().filter(|found| found.code != Code::Uninitialized);
        let shown = found.map(|found| match found.code {
            Code::AddressOfOtherSpace => found.message.to_string(),
            _ => format!("[{}] {}", found.code, found.message),
        });
        shown.collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn addresses_of_other_spaces() {
        let wrong = [
            (
                "mov.u64 a, s; ld.u32 r, [a];",
                "`a` holds an address of `.shared` and is used as a generic address",
            ),
            (
                "mov.u64 a, s; add.u64 b, a, 4; st.global.u32 [b+4], r;",
                "`b` holds an address of `.shared` and is used as an address of `.global`",
            ),
            (
                "mov.u64 a, s; cvta.shared.u64 b, a; atom.shared.add.u32 r, [b], 1;",
                "`b` holds a generic address and is used as an address of `.shared`",
            ),
            (
                "ld.param.u64 a, [in]; cvta.to.shared.u64 b, a; L: ld.u32 r, [b]; add.u64 b, b, 4; @p bra L;",
                "`b` holds an address of `.shared` and is used as a generic address",
            ),
            (
                "mov.u64 a, l; cvta.local.u64 b, a; cvta.local.u64 d, b; ld.u32 r, [d];",
                "`b` holds a generic address and is used as an address of `.local`",
            ),
            (
                "mov.u64 a, s; cvta.to.shared.u64 b, a;",
                "`a` holds an address of `.shared` and is used as a generic address",
            ),
            (
                "mov.u64 a, g; ld.shared.u32 r, [a];",
                "`a` holds an address of `.global` and is used as an address of `.shared`",
            ),
        ];
        for (text, message) in wrong {
            assert_eq!(check(text), message, "{text}");
        }
    }

    #[test]
    fn what_may_be_right_is_left_alone() {
        for text in [
            "mov.u64 a, s; cvta.shared.u64 b, a; ld.u32 r, [b];",
            "mov.u64 a, s; ld.shared.u32 r, [a]; ld.shared::cluster.u32 r, [a];",
            // Global and generic addresses are the same.
            "ld.param.u64 a, [in]; ld.global.u32 r, [a]; cvta.to.global.u64 b, a; ld.u32 r, [b];",
            "mov.u64 a, g; ld.u32 r, [a]; cvta.global.u64 b, a; ld.global.u32 r, [b];",
            // Two writers of different kinds, the sum of two registers, a select: unknown.
            "mov.u64 a, s; @p cvta.shared.u64 a, a; @p ld.u32 r, [a];",
            "mov.u64 a, s; ld.param.u64 b, [in]; add.u64 d, a, b; ld.u32 r, [d];",
            "mov.u64 a, s; mov.u64 b, g; selp.b64 d, a, b, p; ld.u32 r, [d];",
            "mov.u64 a, s; ld.param.u64 a, [in]; ld.u32 r, [a];",
            "ld.param.u64 a, [in]; ld.shared.u32 r, [a];",
        ] {
            assert_eq!(check(text), "", "{text}");
        }
    }
}
