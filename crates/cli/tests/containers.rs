//! Shared memory in the container on the chips whose system keeps a part of it: sections and symbols.

use crate::oracle::{ask, recorded_tools};
use crate::support::{compile, oriole, read_cubin, scratch, text};
use expect_test::expect;
use oriole_cubin::Cubin;
use std::path::Path;

const CHIPS: [&str; 4] = ["sm_100", "sm_103", "sm_110", "sm_120"];

/// A kernel that writes shared memory at this address: `s`, an array; `at`, a register next to an array that nothing names; `dead`, the
/// same where an instruction without effect names it.
fn kernel(chip: &str, address: &str) -> String {
    let (variable, address, dead) = match address {
        "s" => ("s", "s", ""),
        "dead" => ("unused", "at", "mov.u32 x, unused;\n"),
        _ => ("unused", "at", ""),
    };
    format!(
        ".version 9.0\n.target {chip}\n.address_size 64\n\
         .visible .entry k(.param .u64 out, .param .u32 place)\n{{\n\
         .reg .b32 t, at, x;\n.reg .b64 to;\n.shared .align 4 .b32 {variable}[32];\n\
         ld.param.u64 to, [out];\nld.param.u32 at, [place];\nmov.u32 t, %tid.x;\n{dead}\
         st.shared.b32 [{address}], t;\nbar.sync 0;\nld.shared.b32 x, [{address}];\n\
         st.global.b32 [to], x;\nret;\n}}\n"
    )
}

/// The symbols in order: name, value and size, but of code the name alone.
fn symbols(cubin: &Cubin) -> Vec<String> {
    let symbols = cubin.symbols.iter().map(|symbol| {
        let section = &cubin.sections[symbol.section].name;
        let place = if symbol.kind == 2 { [0; 2] } else { [symbol.value, symbol.size] };
        format!("{section} {} {:?} {} {} {}", symbol.name, place, symbol.kind, symbol.binding, symbol.other)
    });
    symbols.collect()
}

/// The sections in order, with what they hold where that does not hang on the code. The second form of the code is left out.
fn sections(cubin: &Cubin) -> Vec<String> {
    let own = cubin.sections.iter().filter(|section| !section.name.contains("merc"));
    let told = own.map(|section| {
        let alike = [".nv.shared.", ".nv.compat", ".nv.callgraph", ".nv.constant0.", ".rela.text."];
        let held = if alike.iter().any(|start| section.name.starts_with(start)) {
            format!("{} bytes {:x?}", section.size, section.data)
        } else {
            String::new()
        };
        let relocations = section.relocations.len();
        format!(
            "{} {:#x} {:#x} {} {relocations} {held}",
            section.name, section.kind, section.flags, section.alignment
        )
    });
    told.collect()
}

fn compiled(folder: &Path, chip: &str, address: &str, form: &str) -> Cubin {
    let [source, output] = ["k.ptx", "ours.cubin"].map(|name| folder.join(name));
    std::fs::write(&source, kernel(chip, address)).expect("a temporary file");
    compile(&source, &output, &[form, "--arch", chip]).unwrap_or_else(|message| panic!("{message}"));
    read_cubin(&output)
}

/// Where the system's part of shared memory ends, and what that takes, if the file records it.
fn end_of_the_system(cubin: &Cubin) -> Option<(u64, u64)> {
    let cap = cubin.symbols.iter().find(|symbol| symbol.name == ".nv.reservedSmem.cap");
    cap.map(|cap| (cap.value, cap.size))
}

/// Forms of output: their options here and in ptxas.
const ENDS: [(&str, &str); 3] =
    [("-O3", "-O3"), ("--compile-only", "-c"), ("--extensible-whole-program", "-ewp")];

/// Where the source names shared memory, the end of the system's part is recorded. The relocation of an address in the code is
/// then no longer in its section.
#[test]
fn the_end_of_the_systems_shared_memory_is_told() {
    let folder = scratch();
    for chip in CHIPS {
        for (form, _) in ENDS {
            for (address, told) in [("s", true), ("at", false), ("dead", true)] {
                let cubin = compiled(folder.path(), chip, address, form);
                let end = told.then_some((0x400, 4));
                assert_eq!(end_of_the_system(&cubin), end, "{chip} {form} {address}");
                if form == "-O3" {
                    assert_eq!(cubin.section(".rela.text.k").is_some(), address == "s", "{chip} {address}");
                }
            }
        }
    }
}

#[test]
#[ignore = "needs ORIOLE_ORACLE_RECORDED, a folder with ptxas, nvdisasm and cuobjdump"]
fn shared_memory_is_told_as_the_reference_tells_it() {
    let tools = recorded_tools();
    let folder = scratch();
    let reference = folder.path().join("theirs.cubin");
    for chip in CHIPS {
        for (own, form) in ENDS {
            for address in ["s", "at", "dead"] {
                let ours = compiled(folder.path(), chip, address, own);
                let source = text(&folder.path().join("k.ptx"));
                ask(&tools, "ptxas", &[form, "-arch", chip, &source, "-o", &text(&reference)]);
                let theirs = end_of_the_system(&read_cubin(&reference));
                assert_eq!(end_of_the_system(&ours), theirs, "{chip} {form} {address}");
            }
        }
        let ours = compiled(folder.path(), chip, "s", "-O3");
        let source = folder.path().join("k.ptx");
        ask(&tools, "ptxas", &[&format!("-arch={chip}"), &text(&source), "-o", &text(&reference)]);
        let theirs = read_cubin(&reference);
        assert_eq!(sections(&ours), sections(&theirs), "{chip}");
        assert_eq!(symbols(&ours), symbols(&theirs), "{chip}");
    }
}

/// Declarations of the module, and what is in its kernel.
const SHARED: [(&str, &str); 11] = [
    (".shared .b32 x;", ""),
    (".shared .b32 x;", "st.shared.b32 [x], 1;"),
    ("", ".shared .b32 x;"),
    ("", ".shared .align 64 .b8 x[4];"),
    ("", ".shared .b32 x; .shared .b32 y; st.shared.b32 [y], 1;"),
    (".func f() { .shared .b32 x; ret; }", ""),
    (".func f() { .shared .b32 x; ret; }", "call f;"),
    (".extern .shared .b8 d[];", ""),
    (".extern .shared .b8 d[];", "st.shared.b32 [d], 1;"),
    (".extern .shared .align 128 .b8 d[];", "st.shared.b32 [d], 1;"),
    (".extern .shared .b8 d[];", ".shared .b32 x; st.shared.b32 [d], 1;"),
];

fn sharing((module, body): (&str, &str), chip: &str) -> String {
    format!(
        ".version 8.0\n.target sm_75\n.address_size 64\n{module}\n.visible .entry k() {{ {body} ret; }}\n// {chip}"
    )
}

/// The section of the kernel's shared memory: what it has besides the system's part, its alignment, whether a symbol names it.
fn told_of_shared(cubin: &Cubin) -> String {
    let reserved = cubin.sections.iter().any(|section| section.name.starts_with(".nv.shared.reserved"));
    let at = cubin.sections.iter().position(|section| section.name == ".nv.shared.k");
    at.map_or("none".to_owned(), |at| {
        let section = &cubin.sections[at];
        // The section of a file for linkers holds nothing of the system's.
        let system = if reserved && section.kind == 8 { 0x400 } else { 0 };
        let named = cubin.symbols.iter().any(|symbol| symbol.section == at);
        format!(
            "{} bytes at {}{}",
            section.size - system,
            section.alignment,
            if named { ", named" } else { "" }
        )
    })
}

const FORMS: [&[&str]; 3] = [&["-O3"], &["-O0"], &["-O3", "-ewp"]];

/// A kernel has what it and the functions that it calls declare, named or not, and of the module what they name. Where there is
/// an array whose size the launch gives, the rest ends at a multiple of 16 bytes.
#[test]
fn shared_memory_is_what_is_declared() {
    let folder = scratch();
    let [source, output] = ["k.ptx", "k.cubin"].map(|name| folder.path().join(name));
    for chip in ["sm_80", "sm_90", "sm_100"] {
        for form in FORMS {
            let told = SHARED.map(|case| {
                std::fs::write(&source, sharing(case, chip)).expect("a temporary file");
                let form: Vec<&str> = form
                    .iter()
                    .map(|&it| if it == "-ewp" { "--extensible-whole-program" } else { it })
                    .collect();
                compile(&source, &output, &[&form[..], &["--arch", chip]].concat())
                    .unwrap_or_else(|message| panic!("{message}"));
                told_of_shared(&read_cubin(&output)) + "\n"
            });
            expect![[r#"
                none
                4 bytes at 4, named
                4 bytes at 4, named
                4 bytes at 64, named
                8 bytes at 4, named
                none
                4 bytes at 4, named
                0 bytes at 16
                0 bytes at 16
                0 bytes at 128
                16 bytes at 16, named
            "#]]
            .assert_eq(&told.concat());
        }
    }
}

#[test]
#[ignore = "needs ORIOLE_ORACLE_RECORDED, a folder with ptxas"]
fn shared_memory_is_what_the_reference_has() {
    let tools = recorded_tools();
    let folder = scratch();
    let [source, ours, theirs] = ["k.ptx", "ours.cubin", "theirs.cubin"].map(|name| folder.path().join(name));
    let mut different = String::new();
    for chip in ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"] {
        for form in FORMS {
            for case in SHARED {
                std::fs::write(&source, sharing(case, chip)).expect("a temporary file");
                let rest = ["-arch", chip, &text(&source), "-o"];
                ask(&tools, "ptxas", &[form, &rest, &[&text(&theirs)]].concat());
                let own = oriole(&[&["ptxas"], form, &rest, &[&text(&ours)]].concat());
                assert_eq!(own.status, Some(0), "{}", own.err);
                let [ours, theirs] = [&ours, &theirs].map(|path| told_of_shared(&read_cubin(path)));
                if ours != theirs {
                    different += &format!("{chip} {form:?} {case:?}: {ours}, reference {theirs}\n");
                }
            }
        }
    }
    expect![""].assert_eq(&different);
}

/// Initial values that are addresses of variables, in global memory and in constant memory.
const POINTERS: &str = "\
.version 8.0
.target sm_75
.address_size 64
.extern .global .u32 other;
.visible .global .u32 own;
.weak .global .u32 weak;
.visible .const .u32 fixed;
.visible .global .u64 p[6] = { other, generic(other), own+4, weak, fixed, generic(fixed) };
.visible .const .u64 q[2] = { own, generic(own) };
.visible .entry k() { ret; }
";

/// How the initial values of global and constant memory are completed.
fn told_of_pointers(path: &Path) -> String {
    let cubin = read_cubin(path);
    let mut told = Vec::new();
    for variable in ["p", "q"] {
        let variable = cubin.symbols.iter().find(|symbol| symbol.name == variable).expect("a variable");
        let range = variable.value..variable.value + variable.size;
        let relocations = cubin.sections[variable.section].relocations.iter();
        told.extend(relocations.filter(|it| range.contains(&it.offset)).map(|it| {
            let kind = it.kind().map_or("?", |kind| kind.name());
            let place = it.offset - variable.value;
            format!("{}+{place:02} {} {kind}\n", variable.name, cubin.symbols[it.symbol].name)
        }));
    }
    told.sort();
    told.concat()
}

/// Addresses of global memory are generic ones, those of constant memory where the text says so.
#[test]
fn pointers_to_global_memory_are_generic() {
    let folder = scratch();
    let [source, output] = ["k.ptx", "k.cubin"].map(|name| folder.path().join(name));
    std::fs::write(&source, POINTERS).expect("a temporary file");
    for chip in ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"] {
        let told = |form: &[&str]| {
            compile(&source, &output, &[form, &["--arch", chip]].concat())
                .unwrap_or_else(|message| panic!("{message}"));
            told_of_pointers(&output)
        };
        std::fs::write(&source, POINTERS).expect("a temporary file");
        expect![[r#"
            p+00 other R_CUDA_G64
            p+08 other R_CUDA_G64
            p+16 own R_CUDA_G64
            p+24 weak R_CUDA_G64
            p+32 fixed R_CUDA_64
            p+40 fixed R_CUDA_G64
            q+00 own R_CUDA_G64
            q+08 own R_CUDA_G64
        "#]]
        .assert_eq(&told(&["--compile-only"]));
        // In programs constants have places.
        let program = expect![[r#"
            p+00 other R_CUDA_G64
            p+08 other R_CUDA_G64
            p+16 own R_CUDA_G64
            p+24 weak R_CUDA_G64
            p+40 fixed R_CUDA_G64
            q+00 own R_CUDA_G64
            q+08 own R_CUDA_G64
        "#]];
        program.assert_eq(&told(&["--extensible-whole-program"]));
        std::fs::write(&source, POINTERS.replace(".extern", ".visible")).expect("a temporary file");
        program.assert_eq(&told(&[]));
    }
}

#[test]
#[ignore = "needs ORIOLE_ORACLE_RECORDED, a folder with ptxas"]
fn pointers_are_completed_as_those_of_the_reference() {
    let tools = recorded_tools();
    let folder = scratch();
    let [source, ours, theirs] = ["k.ptx", "ours.cubin", "theirs.cubin"].map(|name| folder.path().join(name));
    for chip in ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"] {
        for form in ["-c", "-ewp", "-O3"] {
            let pointers =
                if form == "-O3" { POINTERS.replace(".extern", ".visible") } else { POINTERS.to_owned() };
            std::fs::write(&source, pointers).expect("a temporary file");
            let rest = [form, "-arch", chip, &text(&source), "-o"];
            ask(&tools, "ptxas", &[&rest[..], &[&text(&theirs)]].concat());
            let own = oriole(&[&["ptxas"], &rest[..], &[&text(&ours)]].concat());
            assert_eq!(own.status, Some(0), "{}", own.err);
            assert_eq!(told_of_pointers(&ours), told_of_pointers(&theirs), "{chip} {form}");
        }
    }
}
