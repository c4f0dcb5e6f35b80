//! `selection`: how often each row of selection wins, and each alternative that is decided before allocation, summed
//! over PTX files; and how often these operations occur in Oriole's code and in ptxas's at -O3.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Operations with several equivalent instructions, by the beginning of their texts.
const OPERATIONS: [&str; 16] = [
    "MOV",
    "IMAD.MOV",
    "CS2R",
    "UMOV",
    "R2UR",
    "IADD3",
    "VIADD",
    "IMAD.IADD",
    "IMAD.X",
    "LEA",
    "SHF",
    "IMAD.SHL",
    "SEL",
    "FSEL",
    "ULDC",
    "PLOP3",
];

/// The kind of an operand that is not a general register, by a part of its text.
const OPERANDS: [(&str, &str); 2] = [("[R+UR+imm]", "+UR"), ("c[][]", "c[0x0]")];

/// `cargo xtask selection [--program ORIOLE] [--arch CHIP] FILE.ptx...`
pub fn run(arguments: &[String]) -> Result<(), String> {
    let root = crate::root();
    let mut program = root.join("target/release/oriole");
    let mut arch = "sm_90";
    let mut rest = arguments;
    while let [flag, value, more @ ..] = rest {
        match flag.as_str() {
            "--program" => program = value.into(),
            "--arch" => arch = value,
            _ => break,
        }
        rest = more;
    }
    if rest.is_empty() {
        return Err("usage: cargo xtask selection [--program ORIOLE] [--arch CHIP] FILE.ptx...".to_owned());
    }
    if !program.exists() {
        return Err("build it first: cargo build --release -p oriole-cli".to_owned());
    }
    let ptxas = crate::oracle::bin().join("ptxas");
    let folder = root.join("target/selection");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let mut wins: BTreeMap<String, usize> = BTreeMap::new();
    let mut found: [BTreeMap<&str, usize>; 2] = Default::default();
    let (mut counted, mut refused) = (0, 0);
    for file in rest {
        let cubins = ["oriole.cubin", "ptxas.cubin"].map(|name| folder.join(name));
        let mut ours = Command::new(&program);
        ours.args(["compile", "--arch", arch, file, "-o"]).arg(&cubins[0]);
        let mut theirs = Command::new(&ptxas);
        theirs.arg(format!("-arch={arch}")).args(["-O3", file, "-o"]).arg(&cubins[1]);
        let Some(text) = output(&program, &["isel", "--count", "--arch", arch, file]) else {
            refused += 1;
            continue;
        };
        if ![&mut ours, &mut theirs].into_iter().all(succeeds) {
            refused += 1;
            continue;
        }
        counted += 1;
        for line in text.lines() {
            if let Some((times, what)) = line.trim_start().split_once(' ') {
                *wins.entry(what.to_owned()).or_default() += times.parse::<usize>().unwrap_or_default();
            }
        }
        for (cubin, found) in cubins.iter().zip(&mut found) {
            count_operations(&program, cubin, found);
        }
    }
    println!("{counted} files, {refused} refused or not compiled by either\n");
    for (what, times) in &wins {
        println!("{times:>8} {what}");
    }
    println!("\n{:<12} {:>8} {:>8}", "", "Oriole", "ptxas");
    for what in OPERATIONS.into_iter().chain(OPERANDS.iter().map(|(name, _)| *name)).chain(["all"]) {
        let times = |found: &BTreeMap<&str, usize>| found.get(what).copied().unwrap_or_default();
        println!("{what:<12} {:>8} {:>8}", times(&found[0]), times(&found[1]));
    }
    Ok(())
}

/// Counts the operations of a cubin.
fn count_operations(program: &Path, cubin: &Path, found: &mut BTreeMap<&'static str, usize>) {
    let text = output(program, &["dis", &cubin.display().to_string()]).unwrap_or_default();
    for line in text.lines() {
        let Some(mnemonic) =
            line.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_uppercase()))
        else {
            continue;
        };
        if mnemonic == "NOP" || mnemonic == "NOP;" {
            continue;
        }
        *found.entry("all").or_default() += 1;
        // The longest name that the mnemonic begins with.
        let named = OPERATIONS.into_iter().filter(|name| {
            mnemonic.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        });
        if let Some(name) = named.max_by_key(|name| name.len()) {
            *found.entry(name).or_default() += 1;
        }
        for (name, part) in OPERANDS {
            if line.contains(part) {
                *found.entry(name).or_default() += 1;
            }
        }
    }
}

fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// The output of a command, if it succeeds.
fn output(program: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}
