//! Shared helpers of the tests: a kernel written as lines of SASS is assembled to a cubin and run.

use oriole_chip::Chip;
use oriole_cubin::{Cubin, KernelImage, Module, Parameter, Slot, SymbolRef};
use oriole_latency::{Model, accepts_write_barrier};
use oriole_sass::{Control, encode, parse};
use oriole_simulate::{Argument, Launch, Options, Outcome, run};

/// The cubin of one kernel `k` with two pointer parameters. A line without a control word gets one that waits for
/// everything. `L:` before an instruction is a label; a word that starts with a dot and names one is its target.
pub fn assemble(text: &str) -> Cubin {
    assemble_for("sm_90a", text)
}

/// As [`assemble`], for another chip.
pub fn assemble_for(chip: &str, text: &str) -> Cubin {
    assemble_calling(chip, &[], text)
}

/// As [`assemble_for`], with functions that the file does not define: the address of each is in a slot of constant bank
/// 4.
pub fn assemble_calling(chip: &str, functions: &[&str], text: &str) -> Cubin {
    let accelerated = chip.ends_with('a');
    let chip: Chip = chip.parse().unwrap();
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let mut labels = Vec::new();
    let mut bodies = Vec::new();
    for line in &lines {
        let body = match line.strip_prefix('.').and_then(|line| line.split_once(':')) {
            Some((label, body)) => {
                labels.push((format!(".{label}"), bodies.len() * 16));
                body.trim()
            }
            None => line,
        };
        bodies.push(body.to_string());
    }
    let code: Vec<u128> = bodies
        .iter()
        .enumerate()
        .map(|(index, body)| {
            let mut body = body.clone();
            for (label, address) in &labels {
                body = body.replace(label.as_str(), &format!("{address:#x}"));
            }
            let mut instruction =
                parse(chip, &body, Some(index as u64 * 16)).unwrap_or_else(|error| panic!("{body}: {error}"));
            if !body.contains(';') {
                let variable = Model::of(chip).unwrap().is_variable(instruction.op, &instruction.mods)
                    && accepts_write_barrier(instruction.op);
                instruction.control = Control {
                    stall: 15,
                    yields: true,
                    write_barrier: variable.then_some(0),
                    read_barrier: None,
                    wait_mask: 1,
                    ..Control::NEUTRAL
                };
            }
            encode(chip, &instruction).unwrap_or_else(|error| panic!("{body}: {error}"))
        })
        .collect();
    let module = Module {
        sm: chip.as_target().number(),
        accelerated,
        virtual_sm: chip.as_target().number(),
        kernels: vec![
            KernelImage {
                name: "k".into(),
                code,
                registers: 64,
                stack_size: Some(64),
                shared_size: Some(256),
                parameters: vec![
                    Parameter { offset: 0, size: 8, ..Parameter::default() },
                    Parameter { offset: 8, size: 8, ..Parameter::default() },
                ],
                parameter_size: 16,
                ..KernelImage::default()
            }
            .into(),
        ],
        externs: functions.iter().map(|name| (*name).to_owned()).collect(),
        slots: (0..functions.len())
            .map(|number| Slot { target: SymbolRef::Extern(number), addend: 0 })
            .collect(),
        ..Module::default()
    };
    oriole_cubin::read(&oriole_cubin::write(&module).unwrap()).unwrap()
}

/// The launch of `k` with one block of threads.
pub fn launch(threads: u32, input: &[u32], output: usize) -> Launch {
    let bytes = input.iter().flat_map(|word| word.to_le_bytes()).collect();
    Launch {
        bindings: Vec::new(),
        kernel: "k".into(),
        grid: [1; 3],
        cluster: None,
        block: [threads, 1, 1],
        dynamic_shared: 0,
        arguments: vec![Argument::Buffer(bytes), Argument::Buffer(vec![0xaa; output * 4])],
        options: Options { step_limit: 100_000, ..Options::default() },
    }
}

/// Runs lines of code between a frame that loads `R0` to `R7` from the lane's eight words of input, with `R8` the
/// thread index, and stores `R9` to the lane's word of output. Returns the outcome and the words.
pub fn compute(threads: u32, input: &[u32], body: &str) -> (Outcome, Vec<u32>) {
    let text = format!(
        "S2R R8, SR_TID.X
         LDC.64 R10, c[0x0][0x210]
         ULDC.64 UR4, c[0x0][0x208]
         IMAD.WIDE.U32 R10, R8, 0x20, R10
         LDG.E.128 R0, desc[UR4][R10.64]
         LDG.E.128 R4, desc[UR4][R10.64+0x10]
         {body}
         LDC.64 R12, c[0x0][0x218]
         IMAD.WIDE.U32 R12, R8, 0x4, R12
         STG.E desc[UR4][R12.64], R9
         EXIT"
    );
    let outcome = run(&assemble(&text), &launch(threads, input, threads as usize));
    let words = outcome.buffers.get(1).map_or(Vec::new(), |bytes| {
        bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
    });
    (outcome, words)
}

/// The single word that the code computes from eight words in one thread.
pub fn one(input: [u32; 8], body: &str) -> u32 {
    let (outcome, words) = compute(1, &input, body);
    assert_eq!((&outcome.error, &outcome.hazards), (&None, &Vec::new()), "{body}");
    words[0]
}
