//! Return addresses in code whose instructions move. A call within a section has its return address as a number: an instruction
//! before it puts that into the register by which the callee returns.
//!
//! Only numbers that certainly are return addresses are taken for them: the last write of the callee's return register
//! before the call, with nothing between that other code leads to. Everything else that knows places is a reason for code
//! to stay. No file is known here.

use crate::labels::distance;
use oriole_chip::Chip;
use oriole_sass::{
    Access, Guard, Instruction, InstructionWord, Mod, Op, OperandKind, RegisterFile, accesses_of, decode,
    encode, register::RZ,
};
use std::collections::BTreeSet;

/// The places of a function that return addresses name, by indices of its old instructions.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Returns {
    /// Each number, and the call after which it goes on.
    numbers: Vec<(usize, usize)>,
    /// Returns, which count from the start of the section.
    returns: Vec<usize>,
}

/// The parts of a section: where each function in it begins, ascending, and then the end.
type Starts = BTreeSet<usize>;

/// The old code, read.
struct Code {
    chip: Chip,
    instructions: Vec<Instruction>,
    /// Indices that branches and calls lead to.
    entered: BTreeSet<usize>,
}

impl Returns {
    /// The return addresses of code; `inner` are the indices at which its inner functions begin.
    ///
    /// # Errors
    /// The instruction, other than calls and returns, that knows places.
    pub fn of(
        chip: Chip,
        words: &[InstructionWord],
        inner: impl Iterator<Item = usize>,
    ) -> Result<Returns, String> {
        let instructions: Result<Vec<Instruction>, _> =
            words.iter().map(|&word| decode(chip, word)).collect();
        let instructions = instructions.map_err(|_| "it has words that cannot be read".to_owned())?;
        let mut code = Code { chip, instructions, entered: BTreeSet::new() };
        code.entered = (0..words.len()).filter_map(|at| code.target(at)).collect();
        let mut starts: Starts = inner.collect();
        starts.insert(words.len());
        let mut found = Returns::default();
        for at in 0..words.len() {
            let instruction = &code.instructions[at];
            match instruction.op {
                Op::CALL => found.numbers.push((code.number(at, &starts)?, at)),
                Op::RET => {
                    code.return_register(at)?;
                    found.returns.push(at);
                }
                op if knows_places(op) => return Err(elsewhere(op)),
                _ => {}
            }
        }
        Ok(found)
    }

    /// Writes the return addresses into new code: `moved` says at which index each old instruction is now.
    ///
    /// # Errors
    /// An address has no room in its instruction.
    pub fn write(
        &self,
        chip: Chip,
        old: &[InstructionWord],
        moved: &[Option<usize>],
        words: &mut [InstructionWord],
    ) -> Result<(), String> {
        let shape = chip.words();
        let place = |at: usize| i64::from(shape.address(at as u32));
        for &(number, call) in &self.numbers {
            let (Some(at), Some(call)) = (moved[number], moved[call]) else { continue };
            // A line that was edited says what it says.
            if words[at] == old[number] {
                // The lanes' mask of a move comes after the number.
                let mut number = Some(place(call + 1));
                replace(chip, &mut words[at], |kind| {
                    if let OperandKind::Imm(value) = kind {
                        *value = number.take().unwrap_or(*value);
                    }
                })?;
            }
        }
        for &back in &self.returns {
            let Some(at) = moved[back] else { continue };
            replace(chip, &mut words[at], |kind| {
                if let OperandKind::Target(distance) = kind {
                    *distance = -place(at) - shape.end(0);
                }
            })?;
        }
        Ok(())
    }
}

/// Changes the operands of a word.
fn replace(
    chip: Chip,
    word: &mut InstructionWord,
    mut change: impl FnMut(&mut OperandKind),
) -> Result<(), String> {
    let mut instruction = decode(chip, *word).map_err(|error| error.to_string())?;
    instruction.operands.iter_mut().for_each(|operand| change(&mut operand.kind));
    *word = encode(chip, &instruction).map_err(|error| error.to_string())?;
    Ok(())
}

/// True for instructions whose targets are in registers or tables, or count from somewhere else.
fn knows_places(op: Op) -> bool {
    use Op::*;
    matches!(op, BRX | BRXU | JMP | JMX | JMXU | LEPC)
}

fn elsewhere(op: Op) -> String {
    format!("`{}` goes to an address that is a number elsewhere", op.name())
}

impl Code {
    /// The index that an instruction leads to, if that is in the code. Returns lead nowhere.
    fn target(&self, at: usize) -> Option<usize> {
        let instruction = self.instructions.get(at).filter(|instruction| instruction.op != Op::RET)?;
        let shape = self.chip.words();
        let place = i64::from(shape.address(at as u32)) + shape.end(0) + distance(instruction)?;
        let index = shape.beginning_at(place)? as usize;
        (index < self.instructions.len()).then_some(index)
    }

    /// The register with the address of a return that counts from the start of the section.
    fn return_register(&self, at: usize) -> Result<u8, String> {
        let instruction = &self.instructions[at];
        let shape = self.chip.words();
        let end = i64::from(shape.address(at as u32)) + shape.end(0);
        let register = instruction.operands.iter().find_map(|operand| match operand.kind {
            OperandKind::Reg(register) => Some(register),
            _ => None,
        });
        let from_start = instruction.mods.has(Mod::REL) && distance(instruction) == Some(-end);
        register.filter(|_| from_start).ok_or_else(|| elsewhere(Op::RET))
    }

    /// The instruction that holds the return address of a call.
    fn number(&self, call: usize, starts: &Starts) -> Result<usize, String> {
        let instruction = &self.instructions[call];
        let is_register = |kind| matches!(kind, OperandKind::Reg(_) | OperandKind::UReg(_));
        let through = instruction.operands.iter().any(|operand| is_register(operand.kind));
        let callee = self.target(call).filter(|callee| !through && starts.contains(callee));
        let callee = callee.ok_or_else(|| elsewhere(Op::CALL))?;
        let end = starts.range(callee + 1..).next().copied().unwrap_or(self.instructions.len());
        let returns = (callee..end).filter(|&at| self.instructions[at].op == Op::RET);
        let registers: Result<BTreeSet<u8>, String> = returns.map(|at| self.return_register(at)).collect();
        let address = i64::from(self.chip.words().address(call as u32 + 1));
        let lost = || {
            format!(
                "the return address of the call at {:#x} is not known",
                address - self.chip.words().end(0)
            )
        };
        let registers = registers?;
        let (Some(&register), 1) = (registers.first(), registers.len()) else { return Err(lost()) };
        let write = self.last_write(call, register).ok_or_else(lost)?;
        let writer = &self.instructions[write];
        // Nothing times nothing, and the number.
        let adds = || {
            let factors = writer.operands.iter().skip(1).take(2);
            let nothing = factors.filter(|factor| factor.kind == OperandKind::Reg(RZ)).count() == 2;
            nothing && !writer.mods.has(Mod::HI) && !writer.mods.has(Mod::WIDE)
        };
        let moves = writer.op == Op::MOV || writer.op == Op::IMAD && adds();
        let plain = moves && writer.guard == Guard::ALWAYS;
        let number = writer.operands.iter().find_map(|operand| match operand.kind {
            OperandKind::Imm(value) => Some(value),
            _ => None,
        });
        (plain && number == Some(address)).then_some(write).ok_or_else(lost)
    }

    /// The last instruction before a call that writes a register, as far as nothing else leads there.
    fn last_write(&self, call: usize, register: u8) -> Option<usize> {
        let mut at = call;
        while at > 0 && !self.entered.contains(&at) {
            at -= 1;
            let instruction = &self.instructions[at];
            // After others that lead away the lanes go on that their guards hold back.
            let leads_away = matches!(instruction.op, Op::RET | Op::BRA | Op::EXIT);
            if instruction.op == Op::CALL || leads_away && instruction.guard == Guard::ALWAYS {
                return None;
            }
            let mut writes = false;
            let visit = |access| {
                let is = matches!(access, Access::Write { file: RegisterFile::General, register: it, .. } if it == register);
                writes |= is;
            };
            accesses_of(self.chip, instruction, visit).ok()?;
            if writes {
                return Some(at);
            }
        }
        None
    }
}
