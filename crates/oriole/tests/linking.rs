//! Relocatable files: what they leave open, and what comes of them when NVIDIA's linker joins ours with ours and with those of
//! the reference.

use crate::oracle::{ask, tools};
use crate::support::{compile, data, oriole, read_cubin, round_trip, scratch, text};
use oriole_cubin::{Cubin, RelocationKind};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The chips that the linker knows, and whether each has a table of functions that the loader knows.
const CHIPS: [(&str, bool); 12] = [
    ("sm_75", false),
    ("sm_80", false),
    ("sm_86", false),
    ("sm_87", false),
    ("sm_88", false),
    ("sm_89", false),
    ("sm_90", true),
    ("sm_100", true),
    ("sm_103", true),
    ("sm_110", true),
    ("sm_120", true),
    ("sm_121", true),
];

/// The file with the kernel, and the one with what that calls.
const FILES: [&str; 2] = ["caller", "callee"];

fn source(name: &str) -> PathBuf {
    data("linking").join(format!("{name}.ptx"))
}

/// A file as a relocatable one of ours.
fn ours(name: &str, chip: &str, options: &[&str], folder: &Path) -> PathBuf {
    let output = folder.join(format!("{name}-ours.o"));
    let options = [&["-c", "--arch", chip], options].concat();
    compile(&source(name), &output, &options).unwrap_or_else(|message| panic!("{message}"));
    output
}

/// Names of functions that the file defines, or calls and does not define.
fn functions(cubin: &Cubin, defined: bool) -> BTreeSet<&str> {
    let symbols = cubin.symbols.iter().filter(|symbol| symbol.kind == 2 && (symbol.section != 0) == defined);
    symbols.filter(|symbol| !symbol.name.starts_with('$')).map(|symbol| symbol.name.as_str()).collect()
}

/// The kinds of all relocations of code.
fn kinds(cubin: &Cubin) -> BTreeSet<RelocationKind> {
    let sections = cubin.sections.iter().filter(|section| section.name.starts_with(".text."));
    let relocations = sections.flat_map(|section| &section.relocations);
    relocations.map(|relocation| relocation.kind().expect("a known kind")).collect()
}

#[test]
fn relocatable_files_leave_open_what_others_define() {
    let folder = scratch();
    for (chip, table) in CHIPS {
        let caller = read_cubin(&ours("caller", chip, &[], folder.path()));
        assert_eq!(functions(&caller, true), BTreeSet::from(["linked", "negate", "twice"]), "{chip}");
        let open =
            ["many", "neighbour", "pick", "quotient", "read_common", "relay", "scale", "square", "sum_to"];
        assert_eq!(functions(&caller, false), BTreeSet::from(open), "{chip}");
        let names: Vec<&str> = caller.functions.iter().map(|function| function.name.as_str()).collect();
        assert_eq!(names.len(), 2, "{chip}: {names:?}");
        let kinds = kinds(&caller);
        let has = |kind| kinds.contains(&kind);
        assert!(has(RelocationKind::Abs32Lo) && has(RelocationKind::Abs32Hi), "{chip}: {kinds:?}");
        assert_eq!(has(RelocationKind::Branch), !table, "{chip}: {kinds:?}");
        assert_eq!(has(RelocationKind::BranchAbs), table, "{chip}: {kinds:?}");
        assert_eq!(
            has(RelocationKind::UnifiedLo) && has(RelocationKind::CallOffset),
            table,
            "{chip}: {kinds:?}"
        );
        let common = caller.symbols.iter().find(|symbol| symbol.name == "both").expect("the symbol");
        assert_eq!((common.value, common.size, common.section), (4, 4, 0), "{chip}");
        for name in FILES {
            let cubin = ours(name, chip, &[], folder.path());
            let (words, wrong) = round_trip(&cubin, folder.path());
            assert!(words > 0 && wrong.is_empty(), "{name} {chip}: {wrong:?}");
            let lint = oriole(&["lint", &text(&cubin)]);
            assert_eq!(lint.status, Some(0), "{name} {chip}: {}{}", lint.out, lint.err);
        }
    }
}

/// Without `-c` what is defined nowhere is an error, and the same file is a cubin for a linker with it.
#[test]
fn only_relocatable_files_may_leave_functions_open() {
    let folder = scratch();
    let output = folder.path().join("k.cubin");
    let message = compile(&source("caller"), &output, &[]).expect_err("functions are missing");
    assert!(message.contains("`scale` is declared, used, and defined nowhere"), "{message}");
    ours("caller", "sm_90", &[], folder.path());
}

/// A file as the reference makes it relocatable.
fn theirs(tools: &Path, name: &str, chip: &str, folder: &Path) -> PathBuf {
    let output = folder.join(format!("{name}-theirs.o"));
    ask(tools, "ptxas", &["-c", &format!("-arch={chip}"), &text(&source(name)), "-o", &text(&output)]);
    output
}

#[test]
#[ignore = "needs ORIOLE_ORACLE, a folder with ptxas, nvlink, nvdisasm and cuobjdump"]
fn linked_files_are_right_whoever_made_them() {
    let tools = tools();
    let folder = scratch();
    let folder = folder.path();
    let launches = text(&data("linking").join("linked.jsonl"));
    let mut wrong = Vec::new();
    for (chip, _) in CHIPS {
        for level in ["-O0", "-O3"] {
            let made =
                FILES.map(|name| [ours(name, chip, &[level], folder), theirs(&tools, name, chip, folder)]);
            for object in made.iter().map(|[ours, _]| text(ours)) {
                assert!(!ask(&tools, "nvdisasm", &["-c", &object]).is_empty());
                assert!(!ask(&tools, "cuobjdump", &["-elf", &object]).is_empty());
            }
            for (caller, callee) in [(0, 0), (0, 1), (1, 0)] {
                let linked = folder.join("linked.cubin");
                let objects = [text(&made[0][caller]), text(&made[1][callee])];
                ask(&tools, "nvlink", &["-arch", chip, &objects[0], &objects[1], "-o", &text(&linked)]);
                let run = oriole(&["run", &launches, "--on", "sim", "--cubin", &text(&linked)]);
                if run.status != Some(0) {
                    wrong.push(format!("{chip} {level} {caller} {callee}: {}{}", run.out, run.err));
                }
                let lint = oriole(&["lint", &text(&linked)]);
                if (caller, callee) == (0, 0) && lint.status != Some(0) {
                    wrong.push(format!("{chip} {level}: {}{}", lint.out, lint.err));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
