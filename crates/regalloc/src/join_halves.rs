//! Brings together moves and selects that write the two halves of a register pair, the lower half first: selection
//! makes one instruction of them on chips that have it.
//!
//! It is here because only after allocation the pairs are known, and only after expansion the remaining copies.

use oriole_ori::effects::is_transfer;
use oriole_ori::{Assignment, File, Function, Instruction, Opcode, Pseudo, Source, SourceKind, Value};
use oriole_sass::Op;

/// Distance after an instruction within which its other half is searched.
const REACH: usize = 24;

/// A register of a file.
type Register = (File, u8);

/// Brings the halves together in the whole function.
pub fn join(function: &mut Function, assignment: &Assignment) {
    for id in function.block_ids() {
        let mut instructions = std::mem::take(&mut function.block_mut(id).instructions);
        let registers = Registers { function, assignment };
        let mut at = 0;
        while at < instructions.len() {
            if let Some((is_low, behind)) = registers.other_half(&instructions[at..]) {
                instructions[at + usize::from(is_low)..=at + behind].rotate_right(1);
                at += 1;
            }
            at += 1;
        }
        function.block_mut(id).instructions = instructions;
    }
}

/// Registers of values.
struct Registers<'a> {
    function: &'a Function,
    assignment: &'a Assignment,
}

impl Registers<'_> {
    fn of(&self, value: Value) -> Option<Register> {
        let register = self.assignment.registers.get(value).copied().flatten()?;
        Some((self.function.file(value), register))
    }

    /// The instruction that writes the other half, if it can move next to the first one, and whether it writes the
    /// lower half.
    fn other_half(&self, instructions: &[Instruction]) -> Option<(bool, usize)> {
        let (first, rest) = instructions.split_first()?;
        let (file, register) = self.half(first)?;
        let target = (file, register ^ 1);
        let mut read = Vec::new();
        first.for_each_use(|value| {
            read.extend(self.of(value).map(|(file, register)| match file {
                File::R | File::UR => (file, register ^ 1),
                _ => (file, register),
            }));
        });
        for (index, instruction) in rest.iter().take(REACH).enumerate() {
            if self.half(instruction) == Some(target) && self.are_halves(first, instruction) {
                return Some((register % 2 == 0, index + 1));
            }
            let mut conflicts = is_transfer(instruction) || instruction.opcode == Opcode::Sass(Op::CALL);
            instruction.for_each_use(|value| conflicts |= self.of(value) == Some(target));
            instruction.for_each_definition(|value| {
                conflicts |=
                    self.of(value).is_some_and(|written| written == target || read.contains(&written));
            });
            if conflicts {
                return None;
            }
        }
        None
    }

    /// The register that a move or a select writes, which may be half of a pair.
    fn half(&self, instruction: &Instruction) -> Option<Register> {
        let [destination] = instruction.destinations.as_slice() else { return None };
        let &[value] = destination.values.as_slice() else { return None };
        let fills = matches!(instruction.opcode, Opcode::Sass(Op::SEL)) || moves(instruction);
        self.of(value).filter(|&(file, _)| fills && matches!(file, File::R | File::UR))
    }

    fn are_halves(&self, one: &Instruction, other: &Instruction) -> bool {
        (one.opcode == other.opcode || moves(one) && moves(other))
            && one.mods == other.mods
            && one.guard == other.guard
            && one.sources.len() == other.sources.len()
            && one.sources.iter().zip(&other.sources).all(|(a, b)| self.are_sources_of_halves(one, a, b))
    }

    fn are_sources_of_halves(&self, one: &Instruction, a: &Source, b: &Source) -> bool {
        match (&a.kind, &b.kind) {
            (SourceKind::Imm(_) | SourceKind::Zero(_), SourceKind::Imm(_) | SourceKind::Zero(_))
                if moves(one) =>
            {
                true
            }
            (SourceKind::Values(from), SourceKind::Values(other)) => {
                let (Some(&from), Some(&other)) = (from.first(), other.first()) else { return false };
                let to = self.half(one).map(|(_, register)| register % 2);
                match (self.of(from), self.of(other)) {
                    (Some((file @ (File::R | File::UR), low)), high) => {
                        high == Some((file, low ^ 1)) && to == Some(low % 2)
                    }
                    _ => a == b,
                }
            }
            _ => a == b,
        }
    }
}

fn moves(instruction: &Instruction) -> bool {
    matches!(instruction.opcode, Opcode::Sass(Op::MOV | Op::UMOV) | Opcode::Pseudo(Pseudo::Copy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use oriole_ori::parse::parse;

    /// The opcodes and operands of a block after the pass, an instruction on each line; the values have the registers
    /// of their ids.
    fn joined(text: &str) -> String {
        let mut function = parse(&format!("kernel\nb0:\n{text}  EXIT ; 2\n")).expect("test input parses");
        let registers = function.values.keys().map(|value| Some(value.0 as u8)).collect();
        join(&mut function, &Assignment { registers, ..Assignment::default() });
        let text = function.to_string();
        text.lines().filter(|line| line.ends_with("; 1")).map(|line| format!("{}\n", line.trim())).collect()
    }

    fn check(text: &str, expected: Expect) {
        expected.assert_eq(&joined(text));
    }

    #[test]
    fn halves_come_together_lower_half_first() {
        check(
            "r5 = MOV 0x40000000 ; 1
             r6 = SEL r2, RZ, p10 ; 1
             r4 = Copy RZ ; 1
             r11 = FADD r2, r3 ; 1
             r7 = SEL r3, RZ, p10 ; 1
             @p10 r9 = Copy r3 ; 1
             @p10 r8 = Copy r2 ; 1
            ",
            expect![[r#"
                r4 = Copy RZ ; 1
                r5 = MOV 0x40000000 ; 1
                r6 = SEL r2, RZ, p10 ; 1
                r7 = SEL r3, RZ, p10 ; 1
                r11 = FADD r2, r3 ; 1
                @p10 r8 = Copy r2 ; 1
                @p10 r9 = Copy r3 ; 1
            "#]],
        );
    }

    #[test]
    fn what_is_in_the_way_keeps_halves_apart() {
        let stays = |what: &str| {
            let text = format!("@p10 r6 = SEL r2, RZ, p12 ; 1\n{what} ; 1\n@p10 r7 = SEL r3, RZ, p12 ; 1\n");
            joined(&text).lines().nth(1).is_some_and(|line| !line.contains("SEL"))
        };
        assert!(!stays("r11 = FADD r2, r3"));
        for what in [
            "r11 = FADD r7, r2",
            "r7 = FADD r2, r2",
            "r3 = FADD r2, r2",
            "p12, PT = ISETP.AND.GE r2, 0x4, PT",
            "p10, PT = ISETP.AND.GE r2, 0x4, PT",
        ] {
            assert!(stays(what), "{what}");
        }
    }

    #[test]
    fn what_is_no_pair_stays() {
        check(
            "r5 = Copy r2 ; 1
             r4 = Copy r3 ; 1
             r6 = SEL r2, 0x1, p10 ; 1
             r7 = SEL r3, 0x1, p12 ; 1
             @p10 r8 = MOV 0x1 ; 1
             @!p10 r9 = MOV 0x1 ; 1
             r13 = MOV 0x1 ; 1
             r14 = MOV 0x1 ; 1
            ",
            expect![[r#"
                r5 = Copy r2 ; 1
                r4 = Copy r3 ; 1
                r6 = SEL r2, 0x1, p10 ; 1
                r7 = SEL r3, 0x1, p12 ; 1
                @p10 r8 = MOV 0x1 ; 1
                @!p10 r9 = MOV 0x1 ; 1
                r13 = MOV 0x1 ; 1
                r14 = MOV 0x1 ; 1
            "#]],
        );
    }
}
