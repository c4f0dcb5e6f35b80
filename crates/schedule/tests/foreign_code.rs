//! Control words for ptxas code: its control fields are dropped and computed again, and the static hazard checker,
//! which is independent of this crate, must find nothing.
//!
//! The cubins come from `cargo xtask guard-data`; `ORIOLE_GUARD_DATA` names their folder.

use oriole_chip::Chip;
use oriole_options::Options;
use oriole_ori::{BlockId, MachineBlock, MachineFunction, MachineInstruction, Origin};
use oriole_sass::{Control, Instruction, Op, OperandKind};

/// Blocks of the code of a kernel, or `None` if an indirect jump has an unknown target.
fn function(code: &[u128], chip: Chip) -> Option<MachineFunction> {
    let instructions: Vec<Instruction> =
        code.iter().map(|&word| oriole_sass::decode(chip, word).ok()).collect::<Option<_>>()?;
    let target = |at: usize| {
        instructions[at].operands.iter().find_map(|o| match o.kind {
            OperandKind::Target(bytes) => Some((at as i64 + 1 + bytes / 16) as usize),
            _ => None,
        })
    };
    let leaves =
        |op: Op| matches!(op, Op::BRA | Op::EXIT | Op::RET | Op::BSYNC | Op::WARPSYNC | Op::CALL | Op::BREAK);
    let mut starts = vec![0];
    for (at, instruction) in instructions.iter().enumerate() {
        if matches!(instruction.op, Op::BRX | Op::BRXU | Op::JMP | Op::JMX | Op::JMXU) {
            return None;
        }
        if let Some(to) = target(at) {
            starts.push(to);
        }
        if leaves(instruction.op) {
            starts.push(at + 1);
        }
    }
    starts.retain(|&s| s < instructions.len());
    starts.sort_unstable();
    starts.dedup();
    let block_of = |at: usize| starts.binary_search(&at).ok().map(BlockId::from);
    let forms = oriole_sass::form::table(chip)?;
    let mut function = MachineFunction::default();
    for (number, &start) in starts.iter().enumerate() {
        let end = starts.get(number + 1).copied().unwrap_or(instructions.len());
        let last = &instructions[end - 1];
        let mut successors = oriole_ori::Successors::new();
        let always = last.guard.register == 7;
        match last.op {
            Op::BRA | Op::WARPSYNC => successors.extend(target(end - 1).and_then(block_of)),
            _ => {}
        }
        let ends = always
            && match last.op {
                Op::BRA => last.operands.iter().all(|o| match o.kind {
                    OperandKind::Pred(p) => p == 7,
                    OperandKind::UPred(_) | OperandKind::UReg(_) => false,
                    _ => true,
                }),
                Op::EXIT | Op::RET => true,
                _ => false,
            };
        if !ends {
            successors.extend(block_of(end));
        }
        function.blocks.push(MachineBlock {
            instructions: instructions[start..end]
                .iter()
                .map(|i| {
                    let plain = Instruction { control: Control::NEUTRAL, ..i.clone() };
                    MachineInstruction::new(forms, plain, Origin(0)).expect("what was decoded has a form")
                })
                .collect(),
            successors,
            loop_depth: 0,
        });
    }
    Some(function)
}

#[test]
#[ignore = "needs ORIOLE_GUARD_DATA"]
fn computed_control_words_satisfy_the_checker() {
    let folder = std::env::var_os("ORIOLE_GUARD_DATA").expect("ORIOLE_GUARD_DATA names a folder");
    let folder = std::path::Path::new(&folder).join("cubins");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).expect("a folder").map(|e| e.expect("an entry").path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "cubin"));
    paths.sort();
    let (mut kernels, mut words, mut grown, mut stalls, mut old_stalls) = (0, 0, 0, 0u64, 0u64);
    let mut failures = Vec::new();
    let options = Options::default().finish();
    for path in paths {
        let Ok(mut cubin) = oriole_cubin::read::read(&std::fs::read(&path).expect("a file")) else {
            continue;
        };
        let variant = if cubin.accelerated { "a" } else { "" };
        let chip: Chip = format!("sm_{}{variant}", cubin.sm).parse().expect("a chip");
        let tables = oriole_schedule::Tables::of(chip).expect("tables");
        let before = oriole_simulate::lint(&cubin).len();
        cubin.kernels.retain_mut(|kernel| {
            let Some(old) = function(&kernel.code, chip) else { return false };
            let finishing = oriole_schedule::Finishing::new(old, &tables);
            let new = oriole_schedule::control_words(finishing, &tables, &options).expect("control words");
            let list: Vec<_> = new.blocks.iter().flat_map(|b| &b.instructions).collect();
            if list.len() != kernel.code.len() {
                grown += 1;
                return false;
            }
            let stall = |word: u128| (word >> 105 & 15) as u64;
            kernels += 1;
            words += list.len();
            for (word, machine) in kernel.code.iter_mut().zip(list) {
                old_stalls += stall(*word).max(1);
                *word =
                    oriole_sass::encode(chip, &machine.instruction).expect("an instruction that was decoded");
                stalls += stall(*word).max(1);
            }
            true
        });
        let after = oriole_simulate::lint(&cubin);
        for hazard in after.iter().take(3) {
            let kernel = cubin.kernels.iter().find(|k| k.name == hazard.kernel).expect("its kernel");
            let text = |pc: u32| {
                let i = oriole_sass::decode(chip, kernel.code[pc as usize / 16]).expect("decodes");
                let c = i.control;
                format!(
                    "w{:?} r{:?} wait {:06b} stall {}: {}",
                    c.write_barrier,
                    c.read_barrier,
                    c.wait_mask,
                    c.stall,
                    oriole_sass::text(chip, &i, Some(pc.into()), oriole_sass::Style::Plain)
                        .unwrap_or_default()
                )
            };
            let between: Vec<String> = (hazard.other..=hazard.pc)
                .step_by(16)
                .take(12)
                .map(|pc| format!("  {pc:#x} {}", text(pc)))
                .collect();
            failures.push(format!(
                "{}: {before} before, {} after: {:?} {:?} {} {} of {}\n{}",
                path.file_name().unwrap_or_default().display(),
                after.len(),
                hazard.kind,
                hazard.file,
                hazard.register,
                hazard.distance,
                hazard.needed,
                between.join("\n")
            ));
        }
    }
    println!("{kernels} kernels, {words} words, {grown} grew, stalls {stalls} (before {old_stalls})");
    for failure in failures.iter().take(30) {
        println!("{failure}");
    }
    assert!(kernels > 0, "the folder holds no kernels");
    assert!(failures.is_empty(), "{} hazards", failures.len());
}
