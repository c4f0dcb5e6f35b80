//! Debug builds: their sections at level 0, and the records of their kernels about the functions
//! that they reach. Their results are checked with the project's other kernels.

use crate::oracle::{ask, tools};
use crate::support::{compile, data, oriole, read_cubin, scratch, text};
use expect_test::expect;
use oriole_cubin::{Cubin, RelocationKind};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const CHIPS: [&str; 5] = ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"];

/// The sections for each kernel and function: code, attributes, constants and shared memory.
fn sections(cubin: &Cubin) -> BTreeSet<&str> {
    let wanted = [".text.", ".nv.info.", ".nv.constant", ".nv.shared.", ".nv_debug.shared", ".nv.global"];
    let names = cubin.sections.iter().map(|section| section.name.as_str());
    let wanted = |name: &&str| wanted.iter().any(|start| name.starts_with(start));
    names.filter(wanted).collect()
}

/// Shared memory as recorded: variables with their sections, and what the system keeps.
fn shared(cubin: &Cubin) -> BTreeSet<String> {
    let symbols = cubin.symbols.iter().filter(|symbol| symbol.kind != SECTION_SYMBOL);
    let told = symbols.filter_map(|symbol| {
        let section = &cubin.sections[symbol.section];
        let is_shared = section.name.contains("shared") || symbol.name.contains("reserved");
        is_shared.then(|| format!("{}: {} ({} bytes)", section.name, symbol.name, symbol.size))
    });
    told.collect()
}

/// The type of symbols that name sections.
const SECTION_SYMBOL: u8 = 3;

/// The parts of the call graph: calls, functions whose addresses are taken and their prototypes, calls through pointers with
/// theirs, and which function takes whose address.
fn call_graph(cubin: &Cubin) -> Vec<BTreeSet<String>> {
    let data = |name: &str| &cubin.section(name).expect(name).data;
    let symbol = |at: u32| cubin.symbols[at as usize].name.clone();
    let text = |at: u32| {
        let text = data(".strtab")[at as usize..].iter().take_while(|&&byte| byte != 0);
        text.map(|&byte| char::from(byte)).collect::<String>()
    };
    let mut groups: Vec<BTreeSet<String>> = Vec::new();
    for pair in data(".nv.callgraph").chunks_exact(8) {
        let [from, to] = [0, 4].map(|at| u32::from_le_bytes(pair[at..at + 4].try_into().expect("a word")));
        if from == 0 {
            groups.push(BTreeSet::new());
            continue;
        }
        let is_prototype = matches!(groups.len(), 2 | 3);
        let to = if is_prototype { text(to) } else { symbol(to) };
        groups.last_mut().expect("a group").insert(format!("{} {to}", symbol(from)));
    }
    groups
}

/// How often the module has each attribute.
fn attributes(cubin: &Cubin) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for attribute in &cubin.info {
        *counts.entry(attribute.name().expect("a name")).or_default() += 1;
    }
    counts
}

/// The instructions right before each end of a kernel, as far as they wait for memory and its errors.
fn waits_at_exits(cubin: &Path) -> BTreeMap<String, Vec<String>> {
    let run = oriole(&["dis", "--json", &text(cubin)]);
    assert_eq!(run.status, Some(0), "{}", run.err);
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut waits: Vec<String> = Vec::new();
    for line in run.out.lines() {
        let line: serde_json::Value = serde_json::from_str(line).expect("each line is JSON");
        let [kernel, body] = ["kernel", "text"].map(|key| line[key].as_str().expect("a text").to_owned());
        match body.as_str() {
            "EXIT" => found.entry(kernel).or_default().push(waits.join("; ")),
            wait if wait.contains("BAR") => {
                waits.push(body);
                continue;
            }
            _ => {}
        }
        waits.clear();
    }
    found
}

/// Records for linkers and debuggers about shared memory, calls and functions; and kernels wait for errors.
#[test]
fn shared_memory_and_calls_are_told() {
    let folder = scratch();
    let output = folder.path().join("k.cubin");
    let source = data("kernels").join("debugger.ptx");
    compile(&source, &output, &["-O0", "--arch", "sm_90"]).unwrap_or_else(|message| panic!("{message}"));
    let cubin = read_cubin(&output);
    let waits = "MEMBAR.SC.VC; ERRBAR; CGAERRBAR".to_owned();
    let kernels = ["first", "second"].map(|name| (name.to_owned(), vec![waits.clone()]));
    assert_eq!(waits_at_exits(&output), BTreeMap::from(kernels));
    expect![[r#"
        (
            {
                ".nv.shared.first: own (128 bytes)",
                ".nv.shared.second: own.1 (256 bytes)",
                ".nv_debug.shared: dynamic (0 bytes)",
                ".nv_debug.shared: of_function (128 bytes)",
                ".nv_debug.shared: of_module (64 bytes)",
                ": .nv.reservedSmem.offset0 (4 bytes)",
            },
            [
                {
                    "first select",
                    "second select",
                    "sum_to sum_to",
                },
                {
                    "select #ii",
                    "sum_to #ii",
                },
                {
                    "first #ii",
                    "second #ii",
                },
                {
                    "first select",
                    "first sum_to",
                    "second sum_to",
                },
            ],
            {
                "FRAME_SIZE": 4,
                "GEN_ERRBAR_AT_EXIT": 4,
                "MIN_STACK_SIZE": 2,
                "REGCOUNT": 4,
            },
        )
    "#]]
    .assert_debug_eq(&(shared(&cubin), call_graph(&cubin), attributes(&cubin)));
}

/// Kernels with these bodies and shared variables of their own, after declarations of the module.
fn with_shared(declared: &str, kernels: &[(&str, &str, &str)]) -> String {
    let kernel = |(name, own, stored): &(&str, &str, &str)| {
        let stores = stored.split_whitespace().map(|name| format!("    st.shared.u32 [{name}], 7;\n"));
        format!(".visible .entry {name}()\n{{\n{own}\n{}    ret;\n}}\n", stores.collect::<String>())
    };
    let kernels: String = kernels.iter().map(kernel).collect();
    format!(".version 8.7\n.target sm_75\n.address_size 64\n{declared}\n{kernels}")
}

/// Modules that place shared memory in one way each, and what comes of it on sm_80: sections with sizes and alignments, and
/// the places of arrays whose size the launch gives.
fn shared_layouts() -> Vec<(String, &'static str)> {
    const TILE: &str = ".shared .align 4 .u32 tile;";
    const WIDE: &str = ".shared .align 8 .u64 wide;";
    const FIRST: &str = ".extern .shared .align 4 .b8 first[];";
    const SECOND: &str = ".extern .shared .align 4 .b8 second[];";
    const OWN: &str = "    .shared .align 4 .b8 own[4];";
    let of = |declared: &[&str], kernels: &[(&str, &str, &str)]| with_shared(&declared.join("\n"), kernels);
    vec![
        // Arrays of the launch are aligned to 16 bytes, whatever is said.
        (of(&[FIRST], &[("k", "", "first"), ("l", OWN, "own")]), "common 0 16, first@0, k 0 16, l 4 4"),
        // Two of them are one memory in a launch of both, and have places of their own otherwise.
        (
            of(&[FIRST, SECOND, TILE], &[("k", "", "first tile"), ("l", "", "second")]),
            "common 0 16, first@16, k 16 16, l 0 16, second@0",
        ),
        (
            of(
                &[FIRST, SECOND, TILE],
                &[("k", "", "first tile"), ("l", "", "second"), ("j", "", "first second")],
            ),
            "common 0 16, first@16, j 16 16, k 16 16, l 16 16, second@16",
        ),
        // Where kernels share a variable, all are aligned as what the module has; even those without any if the launch may
        // append something.
        (of(&[TILE], &[("k", "", "tile"), ("l", "", "tile"), ("j", "", "")]), "common 4 4, k 4 4, l 4 4"),
        (
            of(&[TILE, WIDE], &[("k", "", "tile"), ("l", "", "tile"), ("j", "", "wide"), ("i", OWN, "own")]),
            "common 4 8, i 4 8, j 8 8, k 4 8, l 4 8",
        ),
        (
            of(&[TILE, FIRST], &[("k", "", "tile"), ("l", "", "tile"), ("j", "", ""), ("i", OWN, "own")]),
            "common 4 16, first@0, i 4 16, j 0 16, k 4 16, l 4 16",
        ),
        (
            of(&[TILE, FIRST], &[("k", "", "first"), ("l", "", "tile"), ("j", "", "")]),
            "common 0 16, first@0, k 0 16, l 4 4",
        ),
    ]
}

/// The layout that a file records.
fn shared_layout(cubin: &Cubin) -> String {
    let sections = cubin.sections.iter().filter_map(|section| {
        let name = section.name.strip_prefix(".nv.shared.");
        let name = name.or((section.name == ".nv_debug.shared").then_some("common"))?;
        (!name.starts_with("reserved")).then(|| format!("{name} {} {}", section.size, section.alignment))
    });
    let arrays = cubin.symbols.iter().filter(|it| matches!(it.name.as_str(), "first" | "second"));
    let arrays = arrays.map(|symbol| format!("{}@{}", symbol.name, symbol.value));
    sections.chain(arrays).collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(", ")
}

#[test]
fn shared_memory_is_aligned_for_all_that_share_it() {
    let folder = scratch();
    let [source, output] = ["k.ptx", "k.cubin"].map(|name| folder.path().join(name));
    for (module, expected) in shared_layouts() {
        std::fs::write(&source, &module).expect("a temporary file");
        compile(&source, &output, &["--device-debug", "--arch", "sm_80"])
            .unwrap_or_else(|message| panic!("{message}"));
        assert_eq!(shared_layout(&read_cubin(&output)), expected, "{module}");
    }
}

#[test]
#[ignore = "needs ORIOLE_ORACLE, a folder with ptxas, nvdisasm and cuobjdump"]
fn shared_memory_is_laid_out_as_by_the_reference() {
    let tools = tools();
    let folder = scratch();
    let [source, ours, theirs] = ["k.ptx", "ours.cubin", "theirs.cubin"].map(|name| folder.path().join(name));
    for (module, _) in shared_layouts() {
        std::fs::write(&source, &module).expect("a temporary file");
        for chip in ["sm_75", "sm_80", "sm_90", "sm_100", "sm_110", "sm_120"] {
            compile(&source, &ours, &["--device-debug", "--arch", chip])
                .unwrap_or_else(|message| panic!("{message}"));
            ask(&tools, "ptxas", &["-g", &format!("-arch={chip}"), &text(&source), "-o", &text(&theirs)]);
            let [own, reference] = [&ours, &theirs].map(|file| shared_layout(&read_cubin(file)));
            assert_eq!(own, reference, "{chip}: {module}");
        }
    }
}

/// Ends of threads under a guard, and one without.
const GUARDED: &str = "
.version 8.7
.target sm_75
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .b64 %rd<2>;
    .reg .b32 %r<2>;
    .reg .pred %p<2>;
    ld.param.u64 %rd0, [p];
    ld.global.u32 %r0, [%rd0];
    setp.eq.s32 %p0, %r0, 0;
    @%p0 exit;
    st.global.u32 [%rd0+4], 7;
    setp.eq.s32 %p1, %r0, 1;
    @!%p1 ret;
    st.global.u32 [%rd0], 7;
    ret;
}
";

/// For each end of a kernel: whether it and what waits right before it stand under a guard.
fn guards_at_exits(cubin: &Path) -> Vec<(bool, Vec<(String, bool)>)> {
    let run = oriole(&["dis", &text(cubin)]);
    assert_eq!(run.status, Some(0), "{}", run.err);
    let (mut found, mut waits) = (Vec::new(), Vec::new());
    for line in run.out.lines() {
        let words = || line.split_whitespace().map(|word| word.trim_end_matches(';'));
        let guarded = words().any(|word| word.starts_with('@'));
        let names = ["MEMBAR.SC.VC", "ERRBAR", "CGAERRBAR"];
        if let Some(name) = words().find(|word| names.contains(word)) {
            waits.push((name.to_owned(), guarded));
        } else if words().any(|word| word == "EXIT") {
            found.push((guarded, std::mem::take(&mut waits)));
        }
    }
    found
}

/// Threads that go on do not wait for those that end, and under a linker threads wait as in whole programs.
#[test]
fn threads_that_end_wait_alone() {
    let folder = scratch();
    let [source, output] = ["k.ptx", "k.cubin"].map(|name| folder.path().join(name));
    std::fs::write(&source, GUARDED).expect("a temporary file");
    for options in [&[][..], &["-c"], &["--extensible-whole-program"]] {
        for chip in CHIPS {
            compile(&source, &output, &[&["--device-debug", "--arch", chip], options].concat())
                .unwrap_or_else(|message| panic!("{message}"));
            let clusters = chip == "sm_90" || chip.starts_with("sm_1");
            let names = if clusters {
                &["MEMBAR.SC.VC", "ERRBAR", "CGAERRBAR"][..]
            } else {
                &["MEMBAR.SC.VC", "ERRBAR"]
            };
            let end = |guarded| {
                (guarded, names.iter().map(|name| ((*name).to_owned(), guarded)).collect::<Vec<_>>())
            };
            assert_eq!(guards_at_exits(&output), [end(true), end(true), end(false)], "{chip} {options:?}");
            assert_eq!(attributes(&read_cubin(&output))["GEN_ERRBAR_AT_EXIT"], 1, "{chip} {options:?}");
        }
    }
    compile(&source, &output, &["-O0", "-c", "--arch", "sm_80"])
        .unwrap_or_else(|message| panic!("{message}"));
    let silent = |guarded| (guarded, Vec::new());
    assert_eq!(guards_at_exits(&output), [silent(true), silent(true), silent(false)]);
    assert_eq!(attributes(&read_cubin(&output)).get("GEN_ERRBAR_AT_EXIT"), None);
}

#[test]
#[ignore = "needs ORIOLE_ORACLE, a folder with ptxas, nvdisasm and cuobjdump"]
fn ends_of_threads_are_those_of_the_reference() {
    let tools = tools();
    let folder = scratch();
    let [source, ours, theirs] = ["k.ptx", "ours.cubin", "theirs.cubin"].map(|name| folder.path().join(name));
    std::fs::write(&source, GUARDED).expect("a temporary file");
    for (debug, of_ours) in [("-g", "--device-debug"), ("-O0", "-O0")] {
        for form in [None, Some("-c"), Some("-ewp")] {
            for chip in ["sm_75", "sm_80", "sm_90", "sm_100", "sm_110", "sm_120"] {
                let own = form.map(|form| if form == "-ewp" { "--ewp" } else { form });
                let options: Vec<&str> = [of_ours, "--arch", chip].into_iter().chain(own).collect();
                compile(&source, &ours, &options).unwrap_or_else(|message| panic!("{message}"));
                let arch = format!("-arch={chip}");
                let (input, output) = (text(&source), text(&theirs));
                let arguments: Vec<&str> =
                    form.into_iter().chain([debug, &arch, &input, "-o", &output]).collect();
                ask(&tools, "ptxas", &arguments);
                assert_eq!(guards_at_exits(&ours), guards_at_exits(&theirs), "{chip} {form:?} {debug}");
                let told = |file: &Path| attributes(&read_cubin(file)).get("GEN_ERRBAR_AT_EXIT").copied();
                assert_eq!(told(&ours), told(&theirs), "{chip} {form:?} {debug}");
            }
        }
    }
}

#[test]
fn functions_have_sections_of_their_own() {
    let folder = scratch();
    let output = folder.path().join("k.cubin");
    let source = data("kernels").join("debugger.ptx");
    for chip in CHIPS {
        compile(&source, &output, &["-O0", "--arch", chip]).unwrap_or_else(|message| panic!("{message}"));
        let cubin = read_cubin(&output);
        let names: BTreeSet<&str> = cubin.functions.iter().map(|function| function.name.as_str()).collect();
        assert_eq!(names, BTreeSet::from(["select", "sum_to"]), "{chip}");
        for kernel in &cubin.kernels {
            for function in &cubin.functions {
                assert!(kernel.registers >= function.registers, "{chip}: {}", kernel.name);
            }
            let deepest = cubin.functions.iter().map(|function| function.frame_size).max();
            assert!(kernel.stack_size >= deepest, "{chip}: {:?}", kernel.stack_size);
            // Each has the table of the function that both reach, and the first one of its own.
            let tables = if kernel.name == "first" { 24 } else { 16 };
            assert_eq!(kernel.constant2.len(), tables, "{chip}: {}", kernel.name);
        }
        // One place of the function's variable for both kernels, and the array of the launch after all variables of its kernel.
        let symbol = |name: &str| cubin.symbols.iter().find(|symbol| symbol.name == name).expect(name);
        let start = symbol("of_module").value;
        assert_eq!(symbol("of_function").value, start + 64, "{chip}");
        assert_eq!(symbol("own").value, start + 192, "{chip}");
        assert_eq!(symbol("own.1").value, start + 192, "{chip}");
        assert_eq!(symbol("dynamic").value, start + 320, "{chip}");
        let size = |name: &str| cubin.kernels.iter().find(|it| it.name == name).expect(name).shared_size;
        assert_eq!((size("first"), size("second")), (start + 320, start + 448), "{chip}");
        // The loader completes addresses of code and of global memory; everything else is known.
        let code = cubin.sections.iter().filter(|section| section.name.starts_with(".text."));
        let kinds: BTreeSet<RelocationKind> =
            code.flat_map(|section| &section.relocations).filter_map(|it| it.kind()).collect();
        let call = if chip < "sm_90" && !chip.starts_with("sm_1") {
            RelocationKind::Branch
        } else {
            RelocationKind::BranchAbs
        };
        assert_eq!(kinds, BTreeSet::from([RelocationKind::Abs32Lo, RelocationKind::Abs32Hi, call]), "{chip}");
        let lint = oriole(&["lint", &text(&output)]);
        assert_eq!(lint.status, Some(0), "{chip}: {}{}", lint.out, lint.err);
    }
}

/// Launches of divisions and roots, with the file that each is in.
const EXACT: [(&str, &str); 9] = [
    ("slow_ways", "slow_ways_lanes"),
    ("slow_ways", "slow_ways_recursion"),
    ("wide", "wide_divide_i64"),
    ("singles_f32", "singles_f32_div"),
    ("singles_f32", "singles_f32_rcp"),
    ("singles_f32", "singles_f32_sqrt"),
    ("singles_f64", "singles_f64_div"),
    ("singles_f64", "singles_f64_rcp"),
    ("singles_f64", "singles_f64_sqrt"),
];

/// The kernels of a file as a debug build for a chip.
fn for_debuggers(name: &str, chip: &str) -> String {
    let source = std::fs::read_to_string(data("kernels").join(format!("{name}.ptx"))).expect("a kernel");
    let version = if chip.starts_with("sm_1") { "9.0" } else { "8.0" };
    let lines = source.lines().map(|line| match line.split_once(' ') {
        Some((".version", _)) => format!(".version {version}\n"),
        Some((".target", _)) => format!(".target {chip}, debug\n"),
        _ => format!("{line}\n"),
    });
    lines.collect::<String>() + ".section .debug_info\n{\n.b8 0\n}\n"
}

/// Divisions and roots call functions that have weak sections of their own, by the calling convention.
#[test]
fn exact_operations_are_functions_of_the_library() {
    let folder = scratch();
    let folder = folder.path();
    for chip in CHIPS {
        let mut called = BTreeSet::new();
        for name in EXACT.iter().map(|(name, _)| *name).collect::<BTreeSet<_>>() {
            let source = folder.join(format!("{name}.ptx"));
            std::fs::write(&source, for_debuggers(name, chip)).expect("a temporary file");
            let output = folder.join("k.cubin");
            compile(&source, &output, &["-O0"]).unwrap_or_else(|message| panic!("{chip}: {message}"));
            let cubin = read_cubin(&output);
            for kernel in &cubin.kernels {
                let code =
                    cubin.sections.iter().find(|section| section.name == format!(".text.{}", kernel.name));
                let targets = code.expect("code").relocations.iter().map(|it| &cubin.symbols[it.symbol]);
                let library =
                    targets.filter(|it| it.name.starts_with("__cuda_") || it.name.starts_with("oriole."));
                for symbol in library {
                    assert_eq!(symbol.binding, 2, "{chip}: {}", symbol.name);
                    let function = cubin.functions.iter().find(|function| function.name == symbol.name);
                    let function = function.unwrap_or_else(|| panic!("{chip}: {}", symbol.name));
                    // So that it fits into what a kernel that calls may be limited to.
                    assert!(function.registers <= 24, "{chip}: {}: {}", symbol.name, function.registers);
                    assert!(kernel.registers >= function.registers, "{chip}: {}", kernel.name);
                    called.insert(symbol.name.clone());
                }
            }
            let lint = oriole(&["lint", &text(&output)]);
            assert_eq!(lint.status, Some(0), "{chip}: {}{}", lint.out, lint.err);
        }
        assert_eq!(called.len(), 40, "{chip}: {called:?}");
        let mut launches = String::new();
        for (source, launch) in EXACT {
            let record =
                std::fs::read_to_string(data("kernels").join(format!("{launch}.json"))).expect("a launch");
            let mut record: serde_json::Value = serde_json::from_str(&record).expect("a launch");
            record["ptx"] = text(&folder.join(format!("{source}.ptx"))).into();
            launches += &format!("{record}\n");
        }
        let path = folder.join("launches.jsonl");
        std::fs::write(&path, launches).expect("a temporary file");
        let run = oriole(&["run", &text(&path), "--on", "sim", "-O0"]);
        assert_eq!(run.status, Some(0), "{chip}: {}{}", run.out, run.err);
    }
}

/// A function of that name in the text would be called by divisions in the library's place.
#[test]
fn names_of_the_library_are_taken() {
    let folder = scratch();
    let source = folder.path().join("k.ptx");
    let ptx = for_debuggers("wide", "sm_90");
    std::fs::write(&source, ptx + ".func __cuda_sm20_div_s64() { ret; }\n").expect("a temporary file");
    let message = compile(&source, &folder.path().join("k.cubin"), &["-O0"]).expect_err("the name is taken");
    assert!(
        message.contains("oriole::not-supported") && message.contains("`__cuda_sm20_div_s64`"),
        "{message}"
    );
}

/// Optimized code is not for a debugger: functions stand in the text of their kernels.
#[test]
fn optimized_modules_have_sections_of_kernels_alone() {
    let folder = scratch();
    let output = folder.path().join("k.cubin");
    compile(&data("kernels").join("debugger.ptx"), &output, &["-O1"])
        .unwrap_or_else(|message| panic!("{message}"));
    assert_eq!(read_cubin(&output).functions, []);
}

#[test]
#[ignore = "needs ORIOLE_ORACLE, a folder with ptxas, nvdisasm and cuobjdump"]
fn sections_are_those_of_the_reference() {
    let tools = tools();
    let folder = scratch();
    let [ours, theirs] = ["ours.cubin", "theirs.cubin"].map(|name| folder.path().join(name));
    let source = data("kernels").join("debugger.ptx");
    for chip in CHIPS {
        compile(&source, &ours, &["-O0", "--arch", chip]).unwrap_or_else(|message| panic!("{message}"));
        ask(&tools, "ptxas", &["-O0", &format!("-arch={chip}"), &text(&source), "-o", &text(&theirs)]);
        assert!(!ask(&tools, "nvdisasm", &["-c", &text(&ours)]).is_empty());
        assert!(!ask(&tools, "cuobjdump", &["-elf", &text(&ours)]).is_empty());
        let (own, reference) = (read_cubin(&ours), read_cubin(&theirs));
        assert_eq!(sections(&own), sections(&reference), "{chip}");
        assert_eq!(shared(&own), shared(&reference), "{chip}");
        assert_eq!(call_graph(&own), call_graph(&reference), "{chip}");
        assert_eq!(attributes(&own), attributes(&reference), "{chip}");
        assert_eq!(waits_at_exits(&ours), waits_at_exits(&theirs), "{chip}");
    }
}
