//! The checker's own model of the registers that an instruction reads and writes, by opcode and modifiers. It is
//! independent of the form table, which the compiler uses: a wrong width there must not hide from the checker. A test
//! compares the two. Where a width is not certain the larger one is returned.

use crate::texture;
use crate::widths::{bulk_width, op_names_tensor_memory, result_width, source, widest_words};
use oriole_chip::RegisterFiles;
use oriole_sass::Slot;
use oriole_sass::register::PT;
use oriole_sass::{Access, Instruction, Mod, Mods, Op, Operand, OperandKind, RegisterFile, ResultPart};

/// The layout of the destinations at the head of the operand list: predicates, then registers, then predicates again.
struct Head {
    lead: usize,
    registers: usize,
    follow: usize,
}

fn is_predicate(operand: &Operand) -> bool {
    matches!(operand.kind, OperandKind::Pred(_) | OperandKind::UPred(_))
}

/// Every opcode is listed, so that a new one does not compile until its destinations are known here.
fn head(op: Op, operands: &[Operand]) -> Head {
    use Op::*;
    let (lead, registers, follow) = match op {
        // Chips with 64-bit integers have the predicates first.
        IMNMX | UIMNMX if operands.first().is_some_and(is_predicate) => (2, 1, 0),
        ISETP | FSETP | DSETP | HSETP2 | PLOP3 | CSMTEST | UISETP | UFSETP | UPLOP3 => (2, 0, 0),
        FCHK | USETMAXREG => (1, 0, 0),
        LOP3 | ULOP3 | ATOM | ATOMG | ATOMS | SHFL | MATCH | R2UR | ELECT | SULD | SUATOM | SUQUERY
        | QSPC | SYNCS | UTCATOMSWS => (1, 1, 0),
        TEX | TLD | TLD4 | TXD | FOOTPRINT => (1, 2, 0),
        // Of 256 bits the upper half comes first.
        LDG => (1, 2, 0),
        // A load from tensor memory may have a statistic before its data.
        TXQ | TMML | LDTM => (0, 2, 0),
        IADD3 | UIADD3 | HMNMX2 | VIMNMX => (0, 1, 2),
        IADD | IMAD | UIMAD | LEA | ULEA | UCLEA | FLO | UFLO | VABSDIFF | VABSDIFF4 | FMNMX | UFMNMX
        | IPA | B2R | VOTE | VOTEU => (0, 1, 1),
        ST | STG | STL | STS | STSM | STAS | RED | REDG | REDAS | SUST | SURED | AST | ISBEWR | ARRIVES
        | LDGSTS | CCTL | CCTLL | CCTLT | BAR | BPT | BRA | BRX | BRXU | BSSY | BSYNC | BREAK | CALL
        | RET | EXIT | JMP | JMX | JMXU | KILL | WARPSYNC | YIELD | NANOSLEEP | DEPBAR | MEMBAR | FENCE
        | ERRBAR | CGAERRBAR | ENDCOLLECTIVE | PMTRIG | NOP | R2P | UR2UP | SETLMEMBASE | WARPGROUP
        | WARPGROUPSET | USETSHMSZ | UBLKCP | UBLKPF | UBLKRED | UTMACCTL | UTMACMDFLUSH | UTMALDG
        | UTMAPF | UTMAREDG | UTMASTG | UGETNEXTWORKID | UMEMSETS | UCGABAR_ARV | UCGABAR_WAIT | ACQBULK
        | PREEXIT | LDGDEPBAR | SETCTAID | STTM | UTCHMMA | UTCQMMA | UTCIMMA | UTCOMMA | UTCCP
        | UTCSHIFT | UTCBAR => (0, 0, 0),
        ACQSHMINIT | AL2P | ALD | BGMMA | BMMA | BMOV | BMSK | BREV | CLMAD | CREDUX | CS2R | CS2UR
        | DADD | DFMA | DMMA | DMUL | F2F | F2FP | F2I | F2IP | FADD | FADD2 | FFMA | FFMA2 | FHADD
        | FHFMA | FMNMX3 | FMUL | FMUL2 | FRND | FSEL | FSET | FSWZADD | GETLMEMBASE | HADD2 | HFMA2
        | HGMMA | HMMA | HMUL2 | HSET2 | I2F | I2FP | I2I | I2IP | IABS | IDP | IGMMA | IMMA | IMNMX
        | ISBERD | LD | LDC | LDCU | LDGMC | LDL | LDS | LDSM | LDTRAM | LEPC | MOV | MOV64IUR | MOVM
        | MUFU | OMMA | OUT | P2R | PIXLD | POPC | PRMT | QADD4 | QFMA4 | QGMMA | QMMA | QMUL4 | REDUX
        | RPCMOV | S2R | S2UR | SEL | SGXT | SHF | UBMSK | UBREV | UF2FP | UF2I | UF2IP | UFADD | UFFMA
        | UFHADD | UFHFMA | UFMUL | UFSEL | UFSET | UI2F | UI2FP | UI2I | UI2IP | UIABS | UIMNMX | ULDC
        | ULEPC | UMOV | UP2UR | UPOPC | UPRMT | USEL | USGXT | USHF | UVIADD | UVIMNMX | UVIRTCOUNT
        | VHMNMX | VIADD | VIADDMNMX | VIMNMX3 => (0, 1, 0),
    };
    Head { lead, registers, follow }
}

/// Visits every register that the instruction reads and writes. A register can be visited more than once. `RZ`, `URZ`,
/// `PT` and `UPT` are not visited.
pub(crate) fn accesses(files: &RegisterFiles, instruction: &Instruction, mut visit: impl FnMut(Access)) {
    let guard = instruction.guard;
    if guard.register < PT {
        let (file, slot) = if guard.uniform {
            (RegisterFile::UniformPredicate, Slot::UniformGuard)
        } else {
            (RegisterFile::Predicate, Slot::Guard)
        };
        visit(Access::Read { file, register: guard.register, slot });
    }
    let op = instruction.op;
    let mods = &instruction.mods;
    let operands = &instruction.operands;
    let head = head(op, operands);
    let is_register =
        |o: &Operand| matches!(o.kind, OperandKind::Reg(_) | OperandKind::UReg(_) | OperandKind::Barrier(_));
    let mut at = 0;
    let mut destinations = 0;
    for _ in 0..head.lead {
        destinations += usize::from(operands.get(at + destinations).is_some_and(is_predicate));
    }
    at += destinations;
    for _ in 0..head.registers {
        at += usize::from(operands.get(at).is_some_and(is_register));
    }
    for _ in 0..head.follow {
        // The last operand of a vote is its input, and in a uniform vote it is not a uniform predicate.
        let source = match op {
            Op::VOTE => at + 1 == operands.len(),
            Op::VOTEU => operands.get(at).is_some_and(|o| matches!(o.kind, OperandKind::Pred(_))),
            _ => false,
        };
        at += usize::from(!source && operands.get(at).is_some_and(is_predicate));
    }
    let fetch = matches!(op, Op::TEX | Op::TLD | Op::TLD4 | Op::TXD | Op::TXQ)
        .then(|| texture::results(mods, operands));
    for (index, operand) in operands[..at].iter().enumerate() {
        let width = match fetch {
            _ if op == Op::LDG && mods.has(Mod::_256) => widest_words(index, operands),
            _ if op == Op::LDTM && at == 2 && index == 0 => 1,
            Some([_, last]) if index + 1 == at => last,
            Some([first, _]) => first,
            None => result_width(op, mods),
        };
        write(files, op, mods, operand, width, &mut visit);
    }
    for (index, operand) in operands[at..].iter().enumerate() {
        read(files, op, mods, index, operand, operands, &mut visit);
    }
}

fn write(
    files: &RegisterFiles,
    op: Op,
    mods: &Mods,
    operand: &Operand,
    width: u8,
    visit: &mut impl FnMut(Access),
) {
    let (general, uniform) = (files.general.count, files.uniform.count);
    match operand.kind {
        OperandKind::Reg(first) if first < general => {
            let wide = op == Op::IMAD && mods.has(Mod::WIDE);
            for k in 0..width.min(general - first) {
                let part = match (wide, k) {
                    (false, _) => ResultPart::General,
                    (true, 0) => ResultPart::Low,
                    (true, _) => ResultPart::High,
                };
                visit(Access::Write { file: RegisterFile::General, register: first + k, part });
            }
        }
        OperandKind::UReg(first) if first < uniform => {
            for k in 0..width.min(uniform - first) {
                let register = first + k;
                visit(Access::Write { file: RegisterFile::Uniform, register, part: ResultPart::Uniform });
            }
        }
        OperandKind::Pred(register) if register < PT => {
            visit(Access::Write { file: RegisterFile::Predicate, register, part: ResultPart::Predicate });
        }
        OperandKind::UPred(register) if register < PT => {
            let part = ResultPart::UniformPredicate;
            visit(Access::Write { file: RegisterFile::UniformPredicate, register, part });
        }
        OperandKind::Barrier(register) => {
            visit(Access::Write { file: RegisterFile::Barrier, register, part: ResultPart::Barrier });
        }
        _ => {}
    }
}

fn read(
    files: &RegisterFiles,
    op: Op,
    mods: &Mods,
    index: usize,
    operand: &Operand,
    all: &[Operand],
    visit: &mut impl FnMut(Access),
) {
    read_general(files, op, mods, index, operand, all, visit);
    read_uniform(files, op, mods, index, operand, all, visit);
    match operand.kind {
        OperandKind::Pred(register) if register < PT => {
            let slot = if matches!(op, Op::VOTE | Op::VOTEU) { Slot::SlowPredicate } else { Slot::Predicate };
            visit(Access::Read { file: RegisterFile::Predicate, register, slot });
        }
        OperandKind::UPred(register) if register < PT => {
            let slot = Slot::UniformPredicate;
            visit(Access::Read { file: RegisterFile::UniformPredicate, register, slot });
        }
        OperandKind::Barrier(register) => {
            if op != Op::BSSY {
                visit(Access::Read { file: RegisterFile::Barrier, register, slot: Slot::Barrier });
            }
            let clears = op == Op::BREAK || (op == Op::BMOV && mods.has(Mod::CLEAR));
            if clears || op == Op::BSSY {
                visit(Access::Write { file: RegisterFile::Barrier, register, part: ResultPart::Barrier });
            }
        }
        OperandKind::Symbol(_) if matches!(op, Op::P2R | Op::R2P | Op::UP2UR | Op::UR2UP) => {
            predicate_file(op, all, visit);
        }
        _ => {}
    }
}

fn read_general(
    files: &RegisterFiles,
    op: Op,
    mods: &Mods,
    index: usize,
    operand: &Operand,
    all: &[Operand],
    visit: &mut impl FnMut(Access),
) {
    let mut general = |first: u8, width: u8, slot: Slot| {
        for k in 0..width.min(files.general.count.saturating_sub(first)) {
            let slot = if slot == Slot::AddendLow && k == 1 { Slot::AddendHigh } else { slot };
            visit(Access::Read { file: RegisterFile::General, register: first + k, slot });
        }
    };
    match operand.kind {
        OperandKind::Reg(first) => {
            let (width, slot) = source(op, mods, index, all, false);
            general(first, width, slot);
        }
        OperandKind::ConstIndexed { index, .. } | OperandKind::ConstBindlessIndexed { index, .. } => {
            general(index, 1, Slot::ConstantIndex);
        }
        OperandKind::Memory { base: Some(base), .. } => {
            let long = operand.has(Mod::_64) || (mods.has(Mod::E) && !operand.has(Mod::U32));
            let width = match op {
                Op::SULD | Op::SUST | Op::SUATOM | Op::SURED | Op::SUQUERY => texture::surface_address(mods),
                // The source address of an asynchronous copy is 64 bits wide, the shared one never.
                Op::LDGSTS if index == 0 => 1,
                _ if long => 2,
                _ => 1,
            };
            general(base, width, Slot::Address);
        }
        OperandKind::Attribute { base: Some(base), .. } => general(base, 1, Slot::Address),
        _ => {}
    }
}

fn read_uniform(
    files: &RegisterFiles,
    op: Op,
    mods: &Mods,
    index: usize,
    operand: &Operand,
    all: &[Operand],
    visit: &mut impl FnMut(Access),
) {
    let mut uniform = |first: u8, width: u8, slot: Slot| {
        for k in 0..width.min(files.uniform.count.saturating_sub(first)) {
            visit(Access::Read { file: RegisterFile::Uniform, register: first + k, slot });
        }
    };
    match operand.kind {
        OperandKind::UReg(first) => {
            let (width, slot) = source(op, mods, index, all, true);
            uniform(first, width, slot);
        }
        OperandKind::ConstUniformIndexed { index, .. } => uniform(index, 1, Slot::UniformIndex),
        OperandKind::ConstBindless { handle, .. } | OperandKind::ConstBindlessIndexed { handle, .. } => {
            uniform(handle, 2, Slot::UniformIndex);
        }
        OperandKind::Memory { descriptor, uniform: part, .. } => {
            if let Some(descriptor) = descriptor {
                uniform(descriptor, 2, Slot::UniformAddress);
            }
            if let Some(part) = part {
                let width = match bulk_width(op, mods, index) {
                    Some(width) => width,
                    None if mods.has(Mod::E) => 2,
                    // An address, and that of the mbarrier.
                    None if matches!(op, Op::STAS | Op::REDAS) && operand.has(Mod::_64) => 2,
                    None => 1,
                };
                uniform(part, width, Slot::UniformAddress);
            }
        }
        OperandKind::TensorMemory { address, .. } => {
            // After the descriptor of the instruction: the scales of both factors.
            let scales =
                all.iter().take(index).any(|o| matches!(o.kind, OperandKind::InstructionDescriptor(_)));
            uniform(address, if scales { 2 } else { 1 }, Slot::UniformAddress);
        }
        OperandKind::InstructionDescriptor(first) => uniform(first, 2, Slot::UniformAddress),
        OperandKind::MatrixDescriptor(first) if op_names_tensor_memory(all) => {
            uniform(first, 2, Slot::MatrixDescriptor);
        }
        OperandKind::MatrixDescriptor(first) => {
            // One descriptor each for A and B; with A in registers only that of B, in its place above.
            let registers =
                all.iter().skip(1).take_while(|o| !matches!(o.kind, OperandKind::MatrixDescriptor(_)));
            let missing = if registers.count() > 0 { 2 } else { 0 };
            uniform(first.saturating_add(missing), 4 - missing, Slot::MatrixDescriptor);
        }
        OperandKind::Attribute { uniform: Some(part), .. } => uniform(part, 1, Slot::UniformAddress),
        _ => {}
    }
}

/// The whole predicate file, as far as the mask selects it.
fn predicate_file(op: Op, all: &[Operand], visit: &mut impl FnMut(Access)) {
    let mask = match all.last().map(|o| o.kind) {
        Some(OperandKind::Imm(mask)) => mask as u8,
        _ => 0x7f,
    };
    let uniform = matches!(op, Op::UP2UR | Op::UR2UP);
    let file = if uniform { RegisterFile::UniformPredicate } else { RegisterFile::Predicate };
    for register in (0..PT).filter(|n| mask >> n & 1 != 0) {
        visit(match op {
            Op::P2R => Access::Read { file, register, slot: Slot::Predicate },
            Op::UP2UR => Access::Read { file, register, slot: Slot::UniformPredicate },
            Op::R2P => Access::Write { file, register, part: ResultPart::Predicate },
            _ => Access::Write { file, register, part: ResultPart::UniformPredicate },
        });
    }
}

#[cfg(test)]
mod tests {
    use super::accesses;
    use oriole_chip::{Chip, Variant};
    use oriole_sass::form::Width;
    use oriole_sass::{Access, Instruction, Mod, Op};
    use std::collections::{BTreeMap, BTreeSet};

    /// Registers written, and registers read, with their roles.
    type Account = [BTreeSet<String>; 2];

    fn note(account: &mut Account, access: Access) {
        match access {
            Access::Read { file, register, slot } => {
                account[1].insert(format!("reads {file:?} {register} as {slot:?}"));
            }
            Access::Write { file, register, part } => {
                account[0].insert(format!("writes {file:?} {register} as {part:?}"));
            }
        }
    }

    /// Accesses in the form table that the checker lacks, and writes that only the checker has. It may have more reads:
    /// where a width is not certain the larger one is returned.
    fn differences(chip: Chip, instruction: &Instruction) -> Vec<String> {
        let (mut own, mut table) = (Account::default(), Account::default());
        accesses(chip.register_files(), instruction, |access| note(&mut own, access));
        oriole_sass::accesses_of(chip, instruction, |access| note(&mut table, access))
            .expect("it has a form");
        let missing = table.iter().zip(&own).flat_map(|(table, own)| table.difference(own));
        let missing = missing.map(|access| format!("the table {access}"));
        missing.chain(own[0].difference(&table[0]).map(|access| format!("the checker {access}"))).collect()
    }

    /// MMAs of 8-bit integers, which the chip of the next test lacks.
    #[test]
    fn products_of_8_bit_numbers_span_their_registers() {
        let chip: Chip = "sm_89".parse().expect("a chip");
        for text in [
            "QMMA.16816.F32.E4M3.E5M2 R8, R0.ROW, R4.COL, R12",
            "QMMA.16832.F32.E5M2.E4M3 R8, R0.ROW, R4.COL, R12",
            "QMMA.16832.F16.E4M3.E4M3 R8, R0.ROW, R4.COL, R12",
        ] {
            let instruction = oriole_sass::parse(chip, text, None).expect("it has a form");
            assert_eq!(differences(chip, &instruction), Vec::<String>::new(), "{text}");
        }
    }

    /// Registers of the factors and of the sum, counted by the elements that 32 lanes hold.
    #[test]
    fn products_name_as_many_registers_as_hold_their_elements() {
        for (chip, text, factors) in [
            ("sm_80", "IMMA.16832.S4.S4 R16, R0.ROW, R8.COL, R20", [2, 1]),
            ("sm_80", "IMMA.16832.U4.S4 R16, R0.ROW, R8.COL, R20", [2, 1]),
            ("sm_80", "IMMA.16864.U4.U4 R16, R0.ROW, R8.COL, R20", [4, 2]),
            ("sm_80", "IMMA.16832.S8.S8 R16, R0.ROW, R8.COL, R20", [4, 2]),
            ("sm_89", "IMMA.16832.S4.U4 R16, R0.ROW, R8.COL, R20", [2, 1]),
            ("sm_80", "IMMA.16816.S8.S8 R16, R0.ROW, R8.COL, R20", [2, 1]),
            ("sm_80", "HMMA.1688.F32.TF32 R16, R0, R8, R20", [4, 2]),
            ("sm_80", "HMMA.1684.F32.TF32 R16, R0, R8, R20", [2, 1]),
            ("sm_80", "HMMA.16816.F32 R16, R0, R8, R20", [4, 2]),
        ] {
            let chip: Chip = chip.parse().expect("a chip");
            let instruction = oriole_sass::parse(chip, text, None).expect("it has a form");
            let mut read = BTreeSet::new();
            accesses(chip.register_files(), &instruction, |access| {
                if let Access::Read { register, .. } = access {
                    read.insert(register);
                }
            });
            let named = |first: u8, count: u8| first..first + count;
            let expected = named(0, factors[0]).chain(named(8, factors[1])).chain(named(20, 4));
            assert_eq!(read, expected.collect(), "{text}");
        }
    }

    /// Gaps that are known: opcodes about which the two do not agree in some form on chips other than sm_90.
    const DISAGREED: &[Op] = &[
        Op::CCTL,
        Op::CS2UR,
        Op::HMMA,
        Op::LD,
        Op::LDCU,
        Op::LDS,
        Op::LDTM,
        Op::MOV64IUR,
        Op::RED,
        Op::UVIRTCOUNT,
    ];

    /// Words of every form whose widths are known, with random values of all bits that have a meaning.
    #[test]
    fn the_checker_and_the_form_table_agree_about_registers() {
        for chip in Chip::all().into_iter().filter(|chip| chip.variant() == Variant::Base) {
            let (seen, mut found) = disagreements(chip);
            found.retain(|op, _| chip == Chip::SM_90 || !DISAGREED.contains(op));
            assert!(found.is_empty(), "{chip}: {found:#?}");
            assert!(seen > 10_000, "{chip}: {seen} words");
        }
    }

    /// How many words were drawn for the chip, and by opcode one about which the two do not agree.
    fn disagreements(chip: Chip) -> (usize, BTreeMap<Op, String>) {
        let table = oriole_sass::form::table(chip).expect("a table");
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            u128::from(state)
        };
        let (mut seen, mut found) = (0, BTreeMap::new());
        for form in table.forms() {
            if form.slots.iter().any(|slot| slot.width == Width::Unknown) {
                continue;
            }
            for _ in 0..40 {
                let free = !(form.mask | form.unused);
                let body = (random() << 64 | random()) & free | form.value | form.unused_value;
                // A control word that waits for nothing and sets nothing.
                let word = body & ((1 << 105) - 1) | 7 << 110 | 7 << 113 | 1 << 105;
                let Ok(instruction) = oriole_sass::decode(chip, word) else { continue };
                if !is_real(&instruction) || oriole_sass::form_of(table, &instruction).is_err() {
                    continue;
                }
                seen += 1;
                let differences = differences(chip, &instruction);
                if !differences.is_empty() {
                    let style = oriole_sass::Style::Plain;
                    let text = oriole_sass::text(chip, &instruction, None, style).expect("it has a text");
                    found.insert(instruction.op, format!("{text}: {}", differences.join(", ")));
                }
            }
        }
        (seen, found)
    }

    /// False for shapes of matrices that decode but do not exist: their widths are unknown.
    fn is_real(instruction: &Instruction) -> bool {
        let has = |name: Mod| instruction.mods.has(name);
        let sparse = has(Mod::SP);
        let nibbles = [Mod::S4, Mod::U4].map(has).contains(&true);
        // 4-bit factors come in pairs.
        let mixed = nibbles != [Mod::S4_2, Mod::U4_2].map(has).contains(&true);
        match instruction.op {
            Op::HMMA if sparse && has(Mod::TF32) => has(Mod::_1688) || has(Mod::_16816),
            Op::HMMA if sparse => has(Mod::_16816) || has(Mod::_16832),
            Op::HMMA => !(has(Mod::TF32) && has(Mod::_16816)),
            Op::IMMA if sparse && nibbles => !mixed && (has(Mod::_16864) || has(Mod::_168128)),
            Op::IMMA if sparse => !mixed && (has(Mod::_16832) || has(Mod::_16864)),
            Op::BMMA => !sparse,
            _ => true,
        }
    }
}
