//! Families as chips: for which architecture a module is compiled, what the container of a family says, how much shared
//! memory a block may declare, and that every command takes one.
//!
//! The verdicts of ptxas are in `test-data/ptxas/targets.txt` and in `FAMILIES`; tests that are ignored without it ask it.

use crate::oracle::recorded_tools;
use crate::ptxas::ours;
use crate::support::{data, finish, oriole, read_cubin, scratch, text};
use oriole_cubin::Cubin;
use rayon::prelude::*;
use std::path::Path;
use std::process::Command;

/// Number, the flags but for their low byte, which is about the code of drivers, and the mask in `.nv.compat`; most of shared memory that a block of the family may declare,
/// and one of the chip with all of its own.
const FAMILIES: [(u16, u32, u32, u32); 5] = [
    (100, 0x06_0064, 9, 0x38c00),
    (103, 0x06_0067, 0, 0x38c00),
    (110, 0x06_006e, 0, 0x38c00),
    (120, 0x06_0078, 0x50, 0x18c00),
    (121, 0x06_0079, 0, 0x18c00),
];
/// Shared memory that a block of a family and of a base chip may declare, in bytes.
const DECLARED: u32 = 0xc000;

/// A kernel with `bytes` bytes of static shared memory.
fn sharing(target: &str, bytes: u32) -> String {
    format!(
        ".version 9.0\n.target {target}\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n  .shared .align 4 .b8 s[{bytes}];\n  \
         .reg .b32 %r;\n  ld.shared.u32 %r, [s];\n  st.shared.u32 [s+4], %r;\n  ret;\n}}\n"
    )
}

/// The table of targets: letters with what they mean, architectures, and the letters of each target.
struct Targets {
    meanings: Vec<(char, String)>,
    architectures: Vec<String>,
    rows: Vec<(String, String)>,
}

impl Targets {
    fn read() -> Targets {
        let table = std::fs::read_to_string(data("ptxas").join("targets.txt")).expect("the table");
        let mut targets = Targets { meanings: Vec::new(), architectures: Vec::new(), rows: Vec::new() };
        for line in table.lines().filter(|line| !line.starts_with('#')) {
            let (name, rest) = line.split_once(' ').expect("a name, and what is said of it");
            let mut letters = name.chars();
            match (letters.next(), letters.next()) {
                (Some(letter), None) => targets.meanings.push((letter, rest.to_owned())),
                _ if name == "architectures" => {
                    targets.architectures = rest.split(' ').map(str::to_owned).collect();
                }
                _ => targets.rows.push((name.to_owned(), rest.trim().to_owned())),
            }
        }
        assert_eq!((targets.architectures.len(), targets.rows.len()), (23, 31));
        targets
    }

    /// The answers of a program that differ from the table.
    fn differences(&self, program: &Path, folder: &Path) -> Vec<String> {
        let differences = |(target, letters): &(String, String)| -> Vec<String> {
            let file = format!("{target}.ptx");
            let module =
                format!(".version 9.0\n.target {target}\n.address_size 64\n.visible .entry k() {{ ret; }}\n");
            std::fs::write(folder.join(&file), module).expect("a temporary file");
            let pairs = self.architectures.iter().zip(letters.chars()).flat_map(|(name, letter)| {
                let virtual_name = name.replace("sm_", "compute_");
                [(name.clone(), letter), (virtual_name, letter)]
            });
            let answers = pairs.filter_map(|(architecture, letter)| {
                let mut call = Command::new(program);
                call.args(["-arch", &architecture, &file, "-o", &format!("{target}.o")]).current_dir(folder);
                let run = finish(&mut call);
                let status = run.status.map_or("a signal".to_owned(), |status| status.to_string());
                let said = run.err.lines().next().unwrap_or_default();
                let answer = format!("{status} {said}").trim_end().to_owned();
                let meaning = &self.meanings.iter().find(|(known, _)| *known == letter)?.1;
                let expected = meaning.replace("TARGET", target).replace("CHIP", &architecture);
                (answer != expected).then(|| format!("{target} for {architecture}: {answer}, not {expected}"))
            });
            answers.collect()
        };
        assert!(self.rows.iter().all(|(_, letters)| letters.len() == self.architectures.len()));
        self.rows.par_iter().flat_map(differences).collect()
    }
}

/// All pairs of a target and an architecture, real and virtual: exit status and message.
#[test]
fn targets_are_compiled_for_the_architectures_of_the_table() {
    let folder = scratch();
    let program = ours(folder.path());
    let wrong = Targets::read().differences(&program, folder.path());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[ignore = "needs ORIOLE_ORACLE_RECORDED, a folder with ptxas, nvdisasm and cuobjdump"]
fn targets_are_compiled_for_the_architectures_that_ptxas_has() {
    let folder = scratch();
    let wrong = Targets::read().differences(&recorded_tools().join("ptxas"), folder.path());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The marks of the chip in a container: flags, whether it is for one chip alone, the mask of chips that it is compatible
/// with.
fn marks(path: &Path) -> (u32, bool, u32) {
    let bytes = std::fs::read(path).expect("a cubin");
    let flags = u32::from_le_bytes(bytes[48..52].try_into().expect("four bytes"));
    let cubin = read_cubin(path);
    let compat = &cubin.section(".nv.compat").expect("a section that says what it is compatible with").data;
    let mask = compat.windows(4).position(|row| row == [4, 0x0b, 8, 0]).expect("a mask") + 4;
    (
        flags >> 8,
        cubin.accelerated,
        u32::from_le_bytes(compat[mask..mask + 4].try_into().expect("four bytes")),
    )
}

/// The marks of the family, its base chip and the chip with all of its own.
fn expected(flags: u32, mask: u32) -> [(u32, bool, u32); 3] {
    [false, false, true].map(|accelerated| (flags, accelerated, mask))
}

/// The sections whose bytes differ.
fn different(one: &Cubin, other: &Cubin) -> Vec<String> {
    assert_eq!(one.sections.len(), other.sections.len());
    let pairs = one.sections.iter().zip(&other.sections);
    pairs.filter(|(one, other)| one != other).map(|(one, _)| one.name.clone()).collect()
}

/// A family's container is that of its base chip but for the command line in it. Without `--arch` a module is
/// compiled for the family that it names.
#[test]
fn containers_of_families_are_those_of_their_base_chips() {
    let folder = scratch();
    let source = std::fs::read_to_string(data("ptxas").join("family.ptx")).expect("a module");
    let input = folder.path().join("k.ptx");
    for (number, flags, mask, _) in FAMILIES {
        let own = source.replace("8.8", "9.0").replace("sm_100f", &format!("sm_{number}f"));
        std::fs::write(&input, own).expect("a temporary file");
        let output = |name: &str| folder.path().join(format!("{name}.cubin"));
        let made = ["f", "", "a"].map(|letter| {
            let (chip, output) = (format!("sm_{number}{letter}"), output(&format!("sm_{number}{letter}")));
            let run = oriole(&["compile", &text(&input), "--arch", &chip, "-o", &text(&output)]);
            assert_eq!((run.status, run.err.as_str()), (Some(0), ""), "{chip}");
            output
        });
        assert_eq!(
            [&made[0], &made[1], &made[2]].map(|path| marks(path)),
            expected(flags, mask),
            "sm_{number}"
        );
        let [family, base, _] = [&made[0], &made[1], &made[2]].map(|path| read_cubin(path));
        assert_eq!(different(&family, &base), [".note.nv.tkinfo"], "sm_{number}");
        let alone = output("alone");
        let run = oriole(&["compile", &text(&input), "-o", &text(&alone)]);
        assert_eq!(run.status, Some(0), "{}", run.err);
        let bytes = [&alone, &made[0]].map(|path| std::fs::read(path).expect("a cubin"));
        assert!(bytes[0] == bytes[1], "sm_{number}f without --arch");
    }
}

#[test]
#[ignore = "needs ORIOLE_ORACLE_RECORDED, a folder with ptxas, nvdisasm and cuobjdump"]
fn ptxas_marks_families_as_their_base_chips() {
    let folder = scratch();
    let (input, tools) = (folder.path().join("k.ptx"), recorded_tools());
    for (number, flags, mask, _) in FAMILIES {
        std::fs::write(&input, sharing(&format!("sm_{number}f"), 64)).expect("a temporary file");
        let found = ["f", "", "a"].map(|letter| {
            let output = folder.path().join("theirs.cubin");
            let chip = format!("sm_{number}{letter}");
            crate::oracle::ask(&tools, "ptxas", &["-arch", &chip, &text(&input), "-o", &text(&output)]);
            marks(&output)
        });
        assert_eq!(found, expected(flags, mask), "sm_{number}");
    }
}

/// The answers of a program called as ptxas to the last number of bytes that fits and to the first that does not.
fn bounds(program: &Path, folder: &Path) -> Vec<String> {
    let mut wrong = Vec::new();
    for (number, .., accelerated) in FAMILIES {
        for (letter, limit) in [("", DECLARED), ("f", DECLARED), ("a", accelerated)] {
            // The architecture rules, whatever the target.
            for target in ["sm_80".to_owned(), format!("sm_{number}"), format!("sm_{number}f")] {
                for bytes in [limit, limit + 1] {
                    std::fs::write(folder.join("k.ptx"), sharing(&target, bytes)).expect("a temporary file");
                    let chip = format!("sm_{number}{letter}");
                    let mut call = Command::new(program);
                    call.args(["-arch", &chip, "k.ptx", "-o", "k.o"]).current_dir(folder);
                    let run = finish(&mut call);
                    let refusal = format!(
                        "ptxas error   : Entry function 'k' uses too much shared data ({bytes:#x} bytes, {limit:#x} max)\n"
                    );
                    let expected =
                        if bytes > limit { (Some(255), refusal) } else { (Some(0), String::new()) };
                    if (run.status, &run.err) != (expected.0, &expected.1) {
                        wrong.push(format!("{target} for {chip}: {:?} {}", run.status, run.err));
                    }
                }
            }
        }
    }
    wrong
}

#[test]
fn blocks_of_families_declare_48_kib() {
    let folder = scratch();
    let program = ours(folder.path());
    let wrong = bounds(&program, folder.path());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // The same is said before a compile, by the chip that is asked for or else by the target.
    let input = folder.path().join("k.ptx");
    std::fs::write(&input, sharing("sm_100f", DECLARED + 1)).expect("a temporary file");
    for (options, status) in [
        (&["check"][..], 1),
        (&["check", "--arch", "sm_103f"], 1),
        (&["check", "--arch", "sm_103a"], 0),
        (&["compile", "--arch", "compute_100f"], 1),
        (&["compile", "--arch", "sm_100f"], 1),
        (&["compile", "--arch", "sm_100a"], 0),
        (&["compile", "--arch", "sm_100f", "-c"], 0),
    ] {
        let input = text(&input);
        let run = oriole(&[options, &[&input]].concat());
        assert_eq!(run.status, Some(status), "{options:?}: {}", run.err);
        let says = run.err.contains("`k` uses 49153 bytes of static shared memory; 49152 are possible");
        assert_eq!(says, status == 1, "{options:?}: {}", run.err);
    }
}

#[test]
#[ignore = "needs ORIOLE_ORACLE_RECORDED, a folder with ptxas, nvdisasm and cuobjdump"]
fn ptxas_lets_blocks_of_families_declare_48_kib() {
    let folder = scratch();
    let wrong = bounds(&recorded_tools().join("ptxas"), folder.path());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Modules with what a family promises, on each chip that takes them: MMAs in tensor memory, and the f32
/// instructions of Blackwell.
#[test]
fn modules_of_a_family_compute_the_same_on_its_chips() {
    let folder = scratch();
    let mut lines = String::new();
    let mut count = 0;
    for (records, module) in [("tensor-memory", "tensor_product.ptx"), ("blackwell", "newer_singles.ptx")] {
        let source = std::fs::read_to_string(data(records).join(module)).expect("a module");
        assert!(source.contains(".version 8.8\n.target sm_100a\n"), "{module}");
        let own = source.replace(".target sm_100a", ".target sm_100f");
        let path = folder.path().join(module);
        std::fs::write(&path, own).expect("a temporary file");
        for record in crate::support::files(&data(records), "json") {
            let record = std::fs::read_to_string(record).expect("a launch record");
            let mut record: serde_json::Value = serde_json::from_str(&record).expect("a launch record");
            if record["ptx"] == module {
                record["ptx"] = text(&path).into();
                lines += &format!("{record}\n");
                count += 1;
            }
        }
    }
    assert!(count > 3, "{count} launches");
    let launches = folder.path().join("launches.jsonl");
    std::fs::write(&launches, lines).expect("a temporary file");
    let launches = text(&launches);
    for chip in ["", "sm_100", "sm_100f", "sm_100a", "sm_103", "sm_103f", "sm_103a"] {
        let arch: &[&str] = if chip.is_empty() { &[] } else { &["--arch", chip] };
        let run = oriole(&[&["run", &launches, "--on", "sim"], arch].concat());
        let right = run.out.lines().filter(|line| line.ends_with(": right")).count();
        assert_eq!((run.status, right), (Some(0), count), "{chip}: {}{}", run.out, run.err);
    }
    // Another family is refused, and so is the architecture of one chip alone in the place of a family.
    let run = oriole(&["run", &launches, "--on", "sim", "--arch", "sm_110f"]);
    assert_eq!(run.status, Some(1), "{}", run.out);
    assert_eq!(run.out.matches("error[target::mismatch]").count(), count, "{}", run.out);
}

/// Every command that takes a chip takes a family, and says so.
#[test]
fn every_command_takes_families() {
    let folder = scratch();
    let path = |name: &str| text(&folder.path().join(name));
    let (ptx, cubin, page) = (text(&data("ptxas").join("family.ptx")), path("k.cubin"), path("k.html"));
    let words = path("k.sass");
    std::fs::write(&words, "MOV R1, R2\n").expect("a temporary file");
    let commands: [(&[&str], &str); 13] = [
        (&["compile", &ptx, "--arch", "sm_103f", "-v", "-o", &cubin], ""),
        (&["compile", &ptx, "--arch", "compute_103f"], ""),
        (&["check", &ptx, "--arch", "sm_103f"], ""),
        (&["check", &ptx, "--arch", "sm_103f", "--for-codegen"], ""),
        (&["isel", &ptx, "--arch", "sm_103f"], "k"),
        (&["ori", &ptx, "--arch", "sm_103f", "--after", "GvnCse"], "STG.E"),
        (&["ori", &ptx, "--after", "GvnCse"], "STG.E"),
        (&["latency", "--arch", "sm_103f"], "fixed"),
        (&["asm", "--arch", "sm_103f", &words], ""),
        (&["view", &ptx, "--arch", "sm_103f", "-o", &page], ""),
        (&["diff", &ptx, "--arch", "sm_103f", "--", "--arch", "sm_100f"], ""),
        (&["dis", &cubin], ""),
        (&["list", "chips"], "sm_103f  code "),
    ];
    for (arguments, says) in commands {
        let run = oriole(arguments);
        assert_eq!(run.status, Some(0), "{arguments:?}: {}{}", run.out, run.err);
        assert!(run.out.contains(says), "{arguments:?}: {}", run.out);
    }
    assert!(std::fs::read_to_string(&page).expect("a page").contains("sm_103f"));
    let chips = oriole(&["list", "chips"]).out;
    assert_eq!((chips.lines().count(), chips.matches(" code ").count()), (25, 25), "{chips}");
    // A family that no table knows has the tables of the nearest one, and no code.
    let run = oriole(&["compile", &ptx, "--arch", "sm_104f", "-o", &cubin]);
    assert!(
        run.status == Some(2) && run.err.contains("the instruction encodings are unknown for sm_104f"),
        "{}",
        run.err
    );
}
