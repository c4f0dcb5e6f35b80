//! Control words made worse, one field at a time, in code with matrix instructions and asynchronous copies. On a machine whose
//! results come as late as the words allow, many of these programs give other bytes; the hazard checkers must have seen those
//! coming. Where the bytes stay the same, the wait was one of two, or was for a value that nothing reads.

use crate::support::{compile, data, oriole, say, scratch, text};
use oriole_chip::Chip;
use oriole_sass::Control;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Launches with MMAs, bulk copies, bulk tensor copies, and copies by threads; each runs in a moment.
const LAUNCHES: [&str; 15] = [
    "gemm_f16",
    "wgmma_gemm",
    "wgmma_floats",
    "wgmma_integers",
    "mma_eighths",
    "mma_floats",
    "matrices_move",
    "copy_pipeline",
    "copy_pipeline_held",
    "barrier_pipeline",
    "bulk_stencil",
    "bulk_reduce",
    "load_swizzle_128",
    "load_multicast",
    "tensor_transpose",
];

/// Cases of a plain run; `ORIOLE_WORSE_CONTROLS` says another number.
const CASES: usize = 150;

/// Of a hundred programs that go wrong, as many are noticed.
const NOTICED_OF_A_HUNDRED: usize = 99;

/// A program is stopped when it has executed this many times the instructions of the right one.
const PATIENCE: u64 = 3;

/// Numbers that look random and are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }
}

/// A compiled launch.
struct Subject {
    record: PathBuf,
    bytes: Vec<u8>,
    chip: Chip,
    /// Where its code begins in the file, and the words of that.
    start: usize,
    code: Vec<u128>,
    /// Most instructions of a run.
    limit: u64,
}

impl Subject {
    fn new(name: &str, level: &str, folder: &Path) -> Subject {
        let kernels = data("kernels");
        let path = kernels.join(format!("{name}.json"));
        let json = std::fs::read_to_string(&path).expect("a launch record");
        let record: Value = serde_json::from_str(&json).expect("a launch record");
        let ptx = kernels.join(record["ptx"].as_str().expect("a file"));
        let bytes = compile(&ptx, &folder.join("subject.cubin"), &[level]).expect("it compiles");
        let cubin = oriole_cubin::read(&bytes).expect("a cubin");
        let entry = record["entry"].as_str().expect("a kernel");
        let code = cubin.kernels.iter().find(|kernel| kernel.name == entry).expect("the kernel").code.clone();
        let raw: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
        let start = bytes.windows(raw.len()).position(|window| window == raw).expect("the code");
        let chip = format!("sm_{}{}", cubin.sm, if cubin.accelerated { "a" } else { "" });
        let mut subject = Subject {
            record: path,
            bytes,
            chip: chip.parse().expect("a chip"),
            start,
            code,
            limit: u64::MAX,
        };
        let right = subject.run(&folder.join("subject.cubin"));
        assert!(right.wrong.is_none() && right.hazards == 0, "{name} {level}: {right:?}");
        subject.limit = PATIENCE * right.instructions;
        subject
    }

    /// Runs code of the subject on the machine with late results.
    fn run(&self, cubin: &Path) -> Run {
        let (record, cubin, limit) = (text(&self.record), text(cubin), self.limit.to_string());
        let arguments = ["--on", "sim", "--late", "--json", "--cubin", &cubin, "--step-limit", &limit];
        let run = oriole(&[&["run", &record], &arguments[..]].concat());
        let result: Value =
            serde_json::from_str(&run.out).unwrap_or_else(|error| panic!("{error}: {}", run.err));
        let hazards = result["hazards"].as_array().map_or(0, Vec::len);
        let error =
            result["error"].as_str().filter(|error| !error.starts_with(&format!("{hazards} hazards,")));
        let instructions = result["instructions"].as_u64().expect("a count");
        Run { wrong: error.map(ToOwned::to_owned), hazards, instructions }
    }

    /// The file with the control word of one instruction changed, and what was done to it; `None` if there is nothing to
    /// make worse.
    fn worsened(&self, numbers: &mut Numbers) -> Option<(Vec<u8>, &'static str, u64)> {
        let at = numbers.below(self.code.len());
        let mut instruction = oriole_sass::decode(self.chip, self.code[at]).ok()?;
        let kind = worsen(&mut instruction.control, numbers)?;
        let word = oriole_sass::encode(self.chip, &instruction).ok()?;
        let mut bytes = self.bytes.clone();
        let place = self.start + at * size_of::<u128>();
        bytes[place..place + size_of::<u128>()].copy_from_slice(&word.to_le_bytes());
        Some((bytes, kind, (at * size_of::<u128>()) as u64))
    }
}

/// Makes one field worse, if it can be.
fn worsen(control: &mut Control, numbers: &mut Numbers) -> Option<&'static str> {
    match numbers.below(12) {
        0..=2 if control.stall > 1 => {
            control.stall = 1 + numbers.below(usize::from(control.stall) - 1) as u8;
            Some("stall lowered")
        }
        3..=5 if control.wait_mask != 0 => {
            let set: Vec<u8> = (0..6).filter(|bit| control.wait_mask >> bit & 1 != 0).collect();
            control.wait_mask &= !(1 << set[numbers.below(set.len())]);
            Some("wait dropped")
        }
        6..=8 => control.write_barrier.take().map(|_| "scoreboard of the result dropped"),
        9..=10 => control.read_barrier.take().map(|_| "scoreboard of the operands dropped"),
        11 => {
            control.yields = !control.yields;
            Some("yield turned")
        }
        _ => None,
    }
}

/// How a run went.
#[derive(Debug)]
struct Run {
    /// The mistake in its bytes, or why it failed.
    wrong: Option<String>,
    hazards: usize,
    instructions: u64,
}

#[derive(Default)]
struct Count {
    cases: usize,
    noticed: usize,
    wrong: usize,
    missed: usize,
}

#[test]
fn worse_control_words_are_noticed() {
    let cases = std::env::var("ORIOLE_WORSE_CONTROLS");
    let cases = cases.map_or(CASES, |count| count.parse().expect("ORIOLE_WORSE_CONTROLS is a number"));
    let folder = scratch();
    let subjects: Vec<Subject> = LAUNCHES
        .iter()
        .flat_map(|name| ["-O0", "-O3"].map(|level| Subject::new(name, level, folder.path())))
        .collect();
    let path = folder.path().join("worse.cubin");
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let mut counts: BTreeMap<&str, Count> = BTreeMap::new();
    let (mut made, mut missed) = (0, Vec::new());
    while made < cases {
        let subject = &subjects[made % subjects.len()];
        let Some((bytes, kind, place)) = subject.worsened(&mut numbers) else { continue };
        made += 1;
        std::fs::write(&path, &bytes).expect("a temporary file");
        let accused = !oriole_simulate::lint(&oriole_cubin::read(&bytes).expect("a cubin")).is_empty();
        let run = subject.run(&path);
        let noticed = accused || run.hazards != 0;
        let count = counts.entry(kind).or_default();
        count.cases += 1;
        count.noticed += usize::from(noticed);
        count.wrong += usize::from(run.wrong.is_some());
        if let Some(wrong) = run.wrong.filter(|_| !noticed) {
            count.missed += 1;
            missed.push(format!("{}+{place:#x}, {kind}: {wrong}", subject.record.display()));
        }
    }
    for (kind, count) in &counts {
        let Count { cases, noticed, wrong, missed } = count;
        say(&format!(
            "{kind}: {cases} cases, {noticed} noticed, {wrong} go wrong, {missed} of them not noticed"
        ));
    }
    let wrong: usize = counts.values().map(|count| count.wrong).sum();
    assert!(wrong * 20 > cases, "only {wrong} of {cases} programs go wrong");
    let noticed = wrong - missed.len();
    assert!(noticed * 100 >= wrong * NOTICED_OF_A_HUNDRED, "{noticed} of {wrong}:\n{}", missed.join("\n"));
}
