//! Relocatable files: what they leave open, and what comes of them when NVIDIA's linker joins ours with ours and with those of
//! the reference.

use crate::oracle::{PLACES, ask, places, recorded_tools};
use crate::support::{compile, data, is_thorough, oriole, read_cubin, round_trip, scratch, text};
use expect_test::expect;
use oriole_cubin::{Cubin, RelocationKind};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The chips that the linker knows, and whether each has a table of functions that the loader knows.
const CHIPS: [(&str, bool); 14] = [
    ("sm_75", false),
    ("sm_80", false),
    ("sm_86", false),
    ("sm_87", false),
    ("sm_88", false),
    ("sm_89", false),
    ("sm_90", true),
    ("sm_100", true),
    ("sm_100f", true),
    ("sm_103", true),
    ("sm_110", true),
    ("sm_120", true),
    ("sm_121", true),
    ("sm_121f", true),
];

/// The chips whose files the reference's tools read and link here: in a plain run one of each set of forms, and one of a family.
fn linked_chips() -> impl Iterator<Item = &'static str> {
    let plain = ["sm_75", "sm_89", "sm_90", "sm_100", "sm_120", "sm_121f"];
    CHIPS.iter().map(|(chip, _)| *chip).filter(move |chip| is_thorough() || plain.contains(chip))
}

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

/// A file as an extensible program of ours.
fn extensible(name: &str, chip: &str, options: &[&str], folder: &Path) -> PathBuf {
    // The linker drops kernels of such a file by another name.
    let output = folder.join(format!("{name}-ours.cubin"));
    let options = [&["--extensible-whole-program", "--arch", chip], options].concat();
    compile(&source(name), &output, &options).unwrap_or_else(|message| panic!("{message}"));
    output
}

/// The type in the header of a file.
fn file_type(path: &Path) -> [u8; 2] {
    let bytes = std::fs::read(path).expect("a file");
    [bytes[16], bytes[17]]
}

/// The type of programs that a linker completes.
const EXTENSIBLE: [u8; 2] = [0x00, 0xff];

/// Its own functions stand after each kernel as in a whole program; what other files define is named by relocations.
#[test]
fn extensible_programs_leave_open_what_others_define() {
    let folder = scratch();
    for (chip, table) in CHIPS {
        let file = extensible("program", chip, &[], folder.path());
        assert_eq!(file_type(&file), EXTENSIBLE, "{chip}");
        let cubin = read_cubin(&file);
        assert_eq!(functions(&cubin, true), BTreeSet::from(["program"]), "{chip}");
        assert_eq!(functions(&cubin, false), BTreeSet::from(["added", "swapped", "wide"]), "{chip}");
        let clones: Vec<&str> =
            cubin.kernels[0].functions.iter().map(|&at| cubin.symbols[at].name.as_str()).collect();
        assert_eq!(clones, ["$program$through"], "{chip}");
        let call = if table { RelocationKind::BranchAbs } else { RelocationKind::Branch };
        let kinds = kinds(&cubin);
        assert!(
            kinds.is_superset(&[RelocationKind::Abs32Lo, RelocationKind::Abs32Hi, call].into()),
            "{chip}"
        );
        let undefined = |name: &str| {
            let symbol = cubin.symbols.iter().find(|symbol| symbol.name == name).expect(name);
            (symbol.kind, symbol.other, symbol.section, symbol.size)
        };
        assert_eq!(undefined("bases"), (13, 0x20, 0, 16), "{chip}");
        assert_eq!(undefined("weights"), (13, 0x80, 0, 16), "{chip}");
        assert!(cubin.section(".nv.constant4").is_none(), "{chip}: nothing fills a table of addresses");
        assert!(cubin.kernels[0].registers >= 24, "{chip}");
        let info = cubin.kernels[0].info.iter().chain(&cubin.info);
        let names: BTreeSet<&str> = info.filter_map(|attribute| attribute.name()).collect();
        assert!(names.contains("EXTERNS") && names.contains("MAX_STACK_SIZE"), "{chip}: {names:?}");
        assert!(!names.contains("SYSCALL_OFFSETS") && !names.contains("MIN_STACK_SIZE"), "{chip}: {names:?}");
        let (words, wrong) = round_trip(&file, folder.path());
        assert!(words > 0 && wrong.is_empty(), "{chip}: {wrong:?}");
        let lint = oriole(&["lint", &text(&file)]);
        assert_eq!(lint.status, Some(0), "{chip}: {}{}", lint.out, lint.err);
    }
}

/// Pointers to functions are numbers of the program: those of other files have none.
#[test]
fn extensible_programs_take_no_address_of_functions_of_others() {
    let folder = scratch();
    let output = folder.path().join("k.o");
    for name in ["address", "initial"] {
        let input = data("ptxas").join(format!("{name}.ptx"));
        let message =
            compile(&input, &output, &["--extensible-whole-program"]).expect_err("nobody knows the address");
        assert!(message.contains("ptx::open-address") && message.contains("`elsewhere`"), "{message}");
        compile(&input, &output, &["-c"]).unwrap_or_else(|message| panic!("{message}"));
    }
}

/// A kernel is launched by a descriptor that the linker fills in.
#[test]
fn launches_name_descriptors_of_kernels() {
    let folder = scratch();
    for (chip, _) in CHIPS {
        let files =
            [ours("launches", chip, &[], folder.path()), extensible("launches", chip, &[], folder.path())];
        for file in &files {
            let cubin = read_cubin(file);
            let named = cubin
                .section(".text.parent")
                .expect("the kernel")
                .relocations
                .iter()
                .filter(|it| cubin.symbols[it.symbol].name == "child");
            let kinds: BTreeSet<_> = named.filter_map(|it| it.kind()).collect();
            let halves = [RelocationKind::DescriptorLo, RelocationKind::DescriptorHi];
            assert_eq!(kinds, BTreeSet::from(halves), "{chip}");
            let data = &cubin.section(".nv.global.init").expect("the pointer").relocations;
            assert_eq!(data[0].kind(), Some(RelocationKind::Descriptor64), "{chip}");
        }
    }
}

/// The same of data of a program that the loader takes, and of one for debuggers.
#[test]
fn pointers_to_kernels_are_descriptors_in_whole_programs() {
    let folder = scratch();
    let [input, output] = ["k.ptx", "k.cubin"].map(|name| folder.path().join(name));
    let text = "\
.version 8.0
.target sm_75
.address_size 64
.visible .entry child() { ret; }
.visible .global .align 8 .u64 launched = child;
";
    std::fs::write(&input, text).expect("a temporary file");
    for options in [&[][..], &["--device-debug"]] {
        for (chip, _) in CHIPS {
            compile(&input, &output, &[&["--arch", chip], options].concat())
                .unwrap_or_else(|message| panic!("{message}"));
            let cubin = read_cubin(&output);
            let data = &cubin.section(".nv.global.init").expect("the pointer").relocations;
            assert_eq!(data[0].kind(), Some(RelocationKind::Descriptor64), "{chip}");
            // The kernel is recorded as one whose address is taken.
            let graph = &cubin.section(".nv.callgraph").expect("the graph").data;
            let child = cubin.symbols.iter().position(|symbol| symbol.name == "child").expect("the kernel");
            let pair = [(child as u32).to_le_bytes(), [0; 4]].concat();
            assert!(graph.chunks_exact(8).any(|found| found == pair), "{chip}");
        }
    }
}

/// A program whose code takes the addresses of kernels: in a kernel, and in a function that another one calls.
const LAUNCHES: &str = "\
.version 8.0
.target sm_75
.address_size 64
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 v);
.global .u32 counter;
.visible .entry grandchild() { ret; }
.visible .entry child() { .reg .b64 %d; mov.u64 %d, grandchild; st.global.u64 [counter], %d; ret; }
.visible .entry untold() { ret; }
.func store(.reg .b64 %to) { .reg .b64 %d; mov.u64 %d, child; st.global.u64 [%to], %d; ret; }
.visible .entry parent(.param .u64 to) {
  .reg .b64 %to;
  ld.param.u64 %to, [to];
  call store, (%to);
  { .param .b32 r; .param .b64 f; .param .b64 v; call (r), vprintf, (f, v); }
  ret;
}
";

/// Descriptors of a whole program: the words that the loader puts into constant bank 4, and which function takes whose address.
fn told_of_descriptors(path: &Path) -> String {
    let cubin = read_cubin(path);
    let name = |at: usize| cubin.symbols[at].name.as_str();
    let slots = &cubin.section(".nv.constant4").expect("a table of addresses").relocations;
    let mut told: BTreeSet<String> = slots
        .iter()
        .map(|it| format!("{} {}\n", name(it.symbol), it.kind().map_or("?", |it| it.name())))
        .collect();
    let data = &cubin.section(".nv.callgraph").expect("the graph").data;
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("a word"));
    let mut group = 0;
    for pair in data.chunks_exact(8) {
        match (word(&pair[..4]), word(&pair[4..])) {
            (0, to) => group = to.wrapping_neg(),
            (from, to) => {
                let line = format!("{group}: {} {}", name(from as usize), name(to as usize));
                told.insert(line.trim_end().to_owned() + "\n");
            }
        }
    }
    told.into_iter().collect()
}

/// Whole programs find the descriptors of the kernels that they launch in constant bank 4, into which the loader puts them.
#[test]
fn whole_programs_have_slots_of_descriptors() {
    let folder = scratch();
    let [input, output] = ["k.ptx", "k.cubin"].map(|name| folder.path().join(name));
    std::fs::write(&input, LAUNCHES).expect("a temporary file");
    for (chip, _) in CHIPS {
        for level in ["-O0", "-O3"] {
            compile(&input, &output, &["--arch", chip, level]).unwrap_or_else(|message| panic!("{message}"));
            let told = told_of_descriptors(&output);
            expect![[r#"
                1: parent vprintf
                2: child
                2: grandchild
                4: child grandchild
                4: parent child
                child R_CUDA_FUNC_DESC_64
                counter R_CUDA_64
                grandchild R_CUDA_FUNC_DESC_64
                vprintf R_CUDA_64
            "#]]
            .assert_eq(&told);
            // The slots are those that code reads.
            let cubin = read_cubin(&output);
            let listing = oriole(&["dis", &text(&output)]).out;
            let slots = &cubin.section(".nv.constant4").expect("a table of addresses").relocations;
            for launched in ["child", "grandchild"] {
                let slot = slots.iter().find(|it| cubin.symbols[it.symbol].name == launched).expect("a slot");
                assert!(
                    listing.contains(&format!("c[0x4][{:#x}]", slot.offset)),
                    "{chip} {level}: {listing}"
                );
            }
        }
    }
}

#[test]
#[ignore = "needs ORIOLE_ORACLE_RECORDED, a folder with ptxas"]
fn slots_of_descriptors_are_those_of_the_reference() {
    let folder = scratch();
    let [input, own, reference] = ["k.ptx", "own.cubin", "k.cubin"].map(|name| folder.path().join(name));
    std::fs::write(&input, LAUNCHES).expect("a temporary file");
    let tools = recorded_tools();
    for (chip, _) in CHIPS {
        compile(&input, &own, &["--arch", chip]).unwrap_or_else(|message| panic!("{message}"));
        ask(&tools, "ptxas", &["-arch", chip, &text(&input), "-o", &text(&reference)]);
        assert_eq!(told_of_descriptors(&own), told_of_descriptors(&reference), "{chip}");
    }
}

/// Records of a file for linkers, by names.
fn told(path: &Path) -> Vec<BTreeSet<String>> {
    let cubin = read_cubin(path);
    let name = |at: usize| cubin.symbols[at].name.clone();
    let symbols = cubin.symbols.iter().filter(|it| it.kind != 3 && !it.name.is_empty()).map(|it| {
        let place = if it.section == 0 { "undefined" } else { "defined" };
        // Clones of functions that the module keeps to itself are local in files of the reference.
        let binding = if it.name.starts_with('$') { 1 } else { it.binding };
        format!("{} {} {binding} {:#x} {place}", it.name, it.kind, it.other)
    });
    let wanted = [".nv.constant", ".nv.global", ".nv.shared", ".text", ".nv.callgraph", ".nv.prototype"];
    let sections = cubin.sections.iter().filter(|it| wanted.iter().any(|start| it.name.starts_with(start)));
    let sections = sections.map(|it| format!("{} {:#x} {:#x}", it.name, it.kind, it.flags));
    let wanted = [".text.", ".nv.global.init", ".nv.constant3"];
    let relocated = cubin.sections.iter().filter(|it| wanted.iter().any(|start| it.name.starts_with(start)));
    let relocations = relocated.flat_map(|section| {
        let each = section.relocations.iter();
        each.map(|it| {
            let kind = it.kind().map_or("?", |it| it.name());
            format!("{} {} {kind}", section.name, name(it.symbol))
        })
    });
    let data = &cubin.section(".nv.callgraph").expect("the graph").data;
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("a word"));
    let mut group = 0;
    let mut calls = BTreeSet::new();
    for pair in data.chunks_exact(8) {
        let (from, to) = (word(&pair[..4]), word(&pair[4..]));
        if from == 0 {
            group = to.wrapping_neg();
        } else {
            calls.insert(format!("{group}: {} {}", name(from as usize), name(to as usize)));
        }
    }
    let attributes = cubin.kernels.iter().flat_map(|kernel| {
        let names = kernel.info.iter().filter_map(|it| it.name());
        names.map(|attribute| format!("{} {attribute}", kernel.name))
    });
    let of_module = cubin.info.iter().filter_map(|it| it.name()).map(str::to_owned);
    vec![
        symbols.collect(),
        sections.collect(),
        relocations.collect(),
        calls,
        attributes.chain(of_module).collect(),
    ]
}

#[test]
#[ignore = "needs ORIOLE_ORACLE_RECORDED, a folder with ptxas, nvlink, nvdisasm and cuobjdump"]
fn extensible_programs_tell_what_those_of_the_reference_tell() {
    let tools = recorded_tools();
    let folder = scratch();
    let theirs = folder.path().join("theirs.o");
    for chip in linked_chips() {
        for (name, options) in [("program", &["-O1"][..]), ("program", &["-O0"]), ("launches", &["-O1"])] {
            let own = extensible(name, chip, options, folder.path());
            let arch = format!("-arch={chip}");
            ask(&tools, "ptxas", &["-ewp", options[0], &arch, &text(&source(name)), "-o", &text(&theirs)]);
            assert_eq!(file_type(&own), file_type(&theirs), "{chip} {name}");
            // It takes longer to start than to read.
            if options == ["-O1"] || is_thorough() {
                assert!(!ask(&tools, "nvdisasm", &["-c", &text(&own)]).is_empty());
            }
            assert!(!ask(&tools, "cuobjdump", &["-elf", &text(&own)]).is_empty());
            let ([own, reference], parts) =
                ([told(&own), told(&theirs)], ["symbols", "sections", "relocations", "calls", "attributes"]);
            for ((own, reference), part) in own.iter().zip(&reference).zip(parts) {
                // The reference reads constants of other files at the place of its own.
                let own: BTreeSet<_> = own.iter().filter(|it| !it.contains(" weights R_")).cloned().collect();
                // Sections that ptxas adds for later chips are in no program of ours.
                let of_ptxas = |it: &&String| it.contains(".merc.") || it.contains(".capmerc.");
                let reference: BTreeSet<_> = reference.iter().filter(|it| !of_ptxas(it)).cloned().collect();
                let missing: Vec<_> = reference.difference(&own).collect();
                let more: Vec<_> = own.difference(&reference).collect();
                assert!(missing.is_empty() && more.is_empty(), "{chip} {name} {part}: {missing:?}, {more:?}");
            }
        }
    }
}

/// Programs with functions, constants, jump tables and shared memory, which the linker takes alone.
const ALONE: [(&str, &[&str]); 3] = [
    ("slow_ways", &["slow_ways_lanes", "slow_ways_pressure", "slow_ways_recursion"]),
    ("debugger", &["debugger_first", "debugger_second"]),
    ("wide", &["wide_divide_i64", "wide_divide_u64"]),
];

/// The reference's linker says that such programs are for the device runtime alone, and joins them with others all the same.
#[test]
#[ignore = "needs ORIOLE_ORACLE_RECORDED, a folder with ptxas, nvlink, nvdisasm and cuobjdump"]
fn extensible_programs_are_right_when_they_are_linked() {
    let tools = recorded_tools();
    let folder = scratch();
    let folder = folder.path();
    let linked = folder.join("linked.cubin");
    let mut wrong = Vec::new();
    let mut run = |what: String, record: &Path| {
        let run = oriole(&["run", &text(record), "--on", "sim", "--cubin", &text(&linked)]);
        if run.status != Some(0) {
            wrong.push(format!("{what}: {}{}", run.out, run.err));
        }
    };
    for chip in linked_chips() {
        for option in ["-O0", "-O3", "--device-debug"] {
            let own = extensible("program", chip, &[option], folder);
            for library in [ours("library", chip, &[], folder), theirs(&tools, "library", chip, folder)] {
                ask(&tools, "nvlink", &["-arch", chip, &text(&own), &text(&library), "-o", &text(&linked)]);
                run(format!("{chip} {option} {library:?}"), &data("linking").join("program.jsonl"));
            }
        }
    }
    for (name, launches) in ALONE {
        for option in ["-O0", "-O3", "--device-debug"] {
            let own = folder.join("alone.cubin");
            let input = data("kernels").join(format!("{name}.ptx"));
            compile(&input, &own, &["--extensible-whole-program", "--arch", "sm_90", option])
                .unwrap_or_else(|message| panic!("{message}"));
            ask(&tools, "nvlink", &["-arch", "sm_90", &text(&own), "-o", &text(&linked)]);
            for launch in launches {
                run(format!("{launch} {option}"), &data("kernels").join(format!("{launch}.json")));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A file as the reference makes it relocatable.
fn theirs(tools: &Path, name: &str, chip: &str, folder: &Path) -> PathBuf {
    let output = folder.join(format!("{name}-theirs.o"));
    ask(tools, "ptxas", &["-c", &format!("-arch={chip}"), &text(&source(name)), "-o", &text(&output)]);
    output
}

#[test]
#[ignore = "needs ORIOLE_ORACLE_RECORDED, a folder with ptxas, nvlink, nvdisasm and cuobjdump"]
fn linked_files_are_right_whoever_made_them() {
    let tools = recorded_tools();
    let folder = scratch();
    let folder = folder.path();
    let launches = text(&data("linking").join("linked.jsonl"));
    let mut wrong = Vec::new();
    for chip in linked_chips() {
        for level in ["-O0", "-O3"] {
            let made =
                FILES.map(|name| [ours(name, chip, &[level], folder), theirs(&tools, name, chip, folder)]);
            for object in made.iter().map(|[ours, _]| text(ours)) {
                if level == "-O3" || is_thorough() {
                    assert!(!ask(&tools, "nvdisasm", &["-c", &object]).is_empty());
                }
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
                if lint.status != Some(0) {
                    wrong.push(format!("{chip} {level} {caller} {callee}: {}{}", lint.out, lint.err));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Kernels with addresses that few instructions and values have: in copies to shared memory, and in four bytes of data.
const RARE: [(&str, RelocationKind); 2] =
    [("copies_with_far_offsets", RelocationKind::Abs20), ("addresses_of_constants", RelocationKind::Byte0)];

#[test]
fn rare_places_of_addresses_have_relocations() {
    let folder = scratch();
    let output = folder.path().join("k.o");
    for (name, kind) in RARE {
        let input = data("regressions").join(format!("{name}.ptx"));
        for level in ["-O0", "-O3"] {
            compile(&input, &output, &["-c", level]).unwrap_or_else(|message| panic!("{message}"));
            let cubin = read_cubin(&output);
            let all = cubin.sections.iter().flat_map(|section| &section.relocations);
            assert!(all.clone().any(|it| it.kind() == Some(kind)), "{name} {level}");
        }
    }
}

#[test]
#[ignore = "needs ORIOLE_ORACLE_RECORDED, a folder with ptxas, nvlink, nvdisasm and cuobjdump"]
fn rare_places_of_addresses_are_linked_right() {
    let tools = recorded_tools();
    let folder = scratch();
    let [object, linked] = ["k.o", "linked.cubin"].map(|name| folder.path().join(name));
    for (name, _) in RARE {
        let [input, launch] = ["ptx", "json"].map(|kind| data("regressions").join(format!("{name}.{kind}")));
        for level in ["-O0", "-O3"] {
            compile(&input, &object, &["-c", level, "--arch", "sm_90"])
                .unwrap_or_else(|message| panic!("{message}"));
            ask(&tools, "nvlink", &["-arch", "sm_90", &text(&object), "-o", &text(&linked)]);
            let run = oriole(&["run", &text(&launch), "--on", "sim", "--cubin", &text(&linked)]);
            assert_eq!(run.status, Some(0), "{name} {level}: {}{}", run.out, run.err);
        }
    }
}

/// Without optimization several files bring the same functions of the library, and the linker keeps the first one: code of
/// either compiler is right with the functions of the other.
#[test]
#[ignore = "needs ORIOLE_ORACLE_RECORDED, a folder with ptxas, nvlink, nvdisasm and cuobjdump"]
fn one_library_serves_files_of_both_compilers() {
    let tools = recorded_tools();
    let folder = scratch();
    let folder = folder.path();
    let mut wrong = Vec::new();
    for (name, launches) in LIBRARY {
        let source = data("kernels").join(format!("{name}.ptx"));
        let other = folder.join("other.ptx");
        std::fs::write(&other, renamed(&std::fs::read_to_string(&source).expect("a kernel")))
            .expect("a temporary file");
        let [ours, theirs] = ["ours.o", "theirs.o"].map(|name| folder.join(name));
        for (of_ours, of_theirs) in [(&source, &other), (&other, &source)] {
            compile(of_ours, &ours, &["-c", "-O0"]).unwrap_or_else(|message| panic!("{message}"));
            ask(&tools, "ptxas", &["-c", "-O0", "-arch=sm_90", &text(of_theirs), "-o", &text(&theirs)]);
            for [first, second] in [[&ours, &theirs], [&theirs, &ours]] {
                let linked = text(&folder.join("linked.cubin"));
                ask(&tools, "nvlink", &["-arch", "sm_90", &text(first), &text(second), "-o", &linked]);
                for launch in launches {
                    let record = text(&data("kernels").join(format!("{launch}.json")));
                    let run = oriole(&["run", &record, "--on", "sim", "--cubin", &linked]);
                    if run.status != Some(0) {
                        let first = text(first);
                        wrong.push(format!("{launch}, {first} first: {}{}", run.out, run.err));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Files and their launches of divisions and roots.
const LIBRARY: [(&str, &[&str]); 4] = [
    ("slow_ways", &["slow_ways_lanes", "slow_ways_pressure", "slow_ways_recursion"]),
    ("wide", &["wide_divide_i64", "wide_divide_u64"]),
    ("singles_f32", &["singles_f32_div", "singles_f32_rcp", "singles_f32_sqrt"]),
    ("singles_f64", &["singles_f64_div", "singles_f64_rcp", "singles_f64_sqrt"]),
];

/// The same kernels under other names.
fn renamed(ptx: &str) -> String {
    let (head, kernels) = ptx.split_once(".entry ").expect("a kernel");
    let renamed = kernels.split(".entry ").map(|kernel| kernel.replacen('(', "_too(", 1));
    format!("{head}.entry {}", renamed.collect::<Vec<_>>().join(".entry "))
}

/// Two modules with line tables, which differ in their names, lines and strings.
fn modules_with_places(folder: &Path) -> [PathBuf; 2] {
    let second = PLACES
        .replace("first", "third")
        .replace("second", "fourth")
        .replace("square", "cube")
        .replace("101, 114, 0", "101, 120, 0")
        .replace(".loc 1 ", ".loc 1 2")
        .replace("inlined_at 1 ", "inlined_at 1 2");
    [("one", PLACES), ("two", second.as_str())].map(|(name, ptx)| {
        let source = folder.join(format!("{name}.ptx"));
        std::fs::write(&source, ptx).expect("a temporary file");
        source
    })
}

#[test]
fn relocatable_files_have_line_tables() {
    let folder = scratch();
    let output = folder.path().join("k.o");
    let [source, _] = modules_with_places(folder.path());
    for chip in ["sm_75", "sm_90", "sm_120"] {
        compile(&source, &output, &["-c", "-O0", "--arch", chip])
            .unwrap_or_else(|message| panic!("{message}"));
        let cubin = read_cubin(&output);
        let relocations = |name: &str| {
            let section = cubin.section(name).unwrap_or_else(|| panic!("{chip}: no {name}"));
            let named =
                section.relocations.iter().map(|it| (cubin.symbols[it.symbol].name.as_str(), it.kind()));
            named.collect::<BTreeSet<_>>()
        };
        let address = Some(RelocationKind::Abs64);
        let code = BTreeSet::from([("first", address), ("second", address), ("square", address)]);
        assert_eq!(relocations(".nv_debug_line_sass"), code, "{chip}");
        let strings = BTreeSet::from([(".debug_str", Some(RelocationKind::Data32))]);
        assert_eq!(relocations(".debug_line"), &code | &strings, "{chip}");
        let listing = oriole(&["dis", "--lines", &text(&output)]);
        for place in ["// /src/a.cu:10\n", "// /src/a.cu:51\n", "// /src/lib/b.h:44\n"] {
            assert!(listing.out.contains(place), "{chip}: {place}{}", listing.err);
        }
    }
    // Without places in the text they are there if an option asks for them.
    for (options, has) in [(&["-c"][..], false), (&["-c", "--generate-line-info"], true)] {
        compile(&self::source("caller"), &output, options).unwrap_or_else(|message| panic!("{message}"));
        assert_eq!(read_cubin(&output).section(".nv_debug_line_sass").is_some(), has, "{options:?}");
    }
}

#[test]
#[ignore = "needs ORIOLE_ORACLE_RECORDED, a folder with ptxas, nvlink, nvdisasm and cuobjdump"]
fn line_tables_are_linked_alike() {
    let tools = recorded_tools();
    let folder = scratch();
    let folder = folder.path();
    let sources = modules_with_places(folder);
    let places = |cubin: &Path, option| places(&ask(&tools, "nvdisasm", &[option, "-c", &text(cubin)]));
    let chips = ["sm_90", "sm_75", "sm_120"];
    for chip in &chips[..if is_thorough() { 3 } else { 1 }] {
        let made = sources.each_ref().map(|source| {
            let [ours, theirs] = ["ours", "theirs"].map(|whose| source.with_extension(format!("{whose}.o")));
            compile(source, &ours, &["-c", "-O0", "--arch", chip]).expect("it compiles");
            ask(&tools, "ptxas", &["-c", "-O0", "-arch", chip, &text(source), "-o", &text(&theirs)]);
            for option in ["-g", "-gi"] {
                assert_eq!(places(&ours, option), places(&theirs, option), "{chip} {option}");
            }
            [ours, theirs]
        });
        let link = |one: usize, two: usize| {
            let linked = folder.join("linked.cubin");
            let objects = [text(&made[0][one]), text(&made[1][two])];
            ask(&tools, "nvlink", &["-arch", chip, &objects[0], &objects[1], "-o", &text(&linked)]);
            linked
        };
        let linked = link(1, 1);
        let expected = ["-g", "-gi"].map(|option| places(&linked, option));
        assert_eq!(expected[0].len(), 6, "{chip}: {expected:?}");
        for (one, two) in [(0, 0), (0, 1), (1, 0)] {
            let linked = link(one, two);
            let found = ["-g", "-gi"].map(|option| places(&linked, option));
            assert_eq!(found, expected, "{chip} {one} {two}");
            // The names of inlined functions of the second file follow those of the first.
            let cubin = read_cubin(&linked);
            let data = |name: &str| &cubin.section(name).expect("a section").data;
            let strings = data(".debug_str");
            assert!(strings.windows(7).any(|text| text == b"\0innex\0"), "{chip}");
            let lines = data(".debug_line");
            let unit =
                |at: usize| 4 + u32::from_le_bytes(lines[at..at + 4].try_into().expect("a length")) as usize;
            let at = unit(0);
            let header = u32::from_le_bytes(lines[at + 6..at + 10].try_into().expect("a length")) as usize;
            let base = &lines[at + 10 + header - 4..at + 10 + header];
            if two == 0 {
                assert_eq!(base, 12_u32.to_le_bytes(), "{chip} {one}");
            }
            let shown = oriole(&["dis", "--lines", &text(&linked)]);
            assert!(shown.out.contains("// /src/a.cu:267\n"), "{chip} {one} {two}: {}", shown.err);
        }
    }
}
