//! What the container tells of shared memory on the chips whose system keeps a part of it: sections and symbols.

use crate::oracle::{ask, tools};
use crate::support::{compile, read_cubin, scratch, text};
use oriole_cubin::Cubin;
use std::path::Path;

const CHIPS: [&str; 4] = ["sm_100", "sm_103", "sm_110", "sm_120"];

/// A kernel that writes shared memory at this address.
fn kernel(chip: &str, address: &str) -> String {
    format!(
        ".version 9.0\n.target {chip}\n.address_size 64\n\
         .visible .entry k(.param .u64 out, .param .u32 place)\n{{\n\
         .reg .b32 t, at, x;\n.reg .b64 to;\n.shared .align 4 .b32 {}[32];\n\
         ld.param.u64 to, [out];\nld.param.u32 at, [place];\nmov.u32 t, %tid.x;\n\
         st.shared.b32 [{address}], t;\nbar.sync 0;\nld.shared.b32 x, [{address}];\n\
         st.global.b32 [to], x;\nret;\n}}\n",
        // One that nothing names has no place.
        if address == "s" { "s" } else { "unused" }
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

fn compiled(folder: &Path, chip: &str, address: &str) -> Cubin {
    let [source, output] = ["k.ptx", "ours.cubin"].map(|name| folder.join(name));
    std::fs::write(&source, kernel(chip, address)).expect("a temporary file");
    compile(&source, &output, &["-O3", "--arch", chip]).unwrap_or_else(|message| panic!("{message}"));
    read_cubin(&output)
}

/// Where the code has an address of shared memory, the end of the system's part is told, and the relocations that the
/// address was one of have left their section.
#[test]
fn the_end_of_the_systems_shared_memory_is_told() {
    let folder = scratch();
    for chip in CHIPS {
        for (address, told) in [("s", true), ("at", false)] {
            let cubin = compiled(folder.path(), chip, address);
            let cap = cubin.symbols.iter().find(|symbol| symbol.name == ".nv.reservedSmem.cap");
            assert_eq!(cap.map(|cap| (cap.value, cap.size)), told.then_some((0x400, 4)), "{chip} {address}");
            assert_eq!(cubin.section(".rela.text.k").is_some(), told, "{chip} {address}");
        }
    }
}

#[test]
#[ignore = "needs ORIOLE_ORACLE, a folder with ptxas, nvdisasm and cuobjdump"]
fn shared_memory_is_told_as_the_reference_tells_it() {
    let tools = tools();
    let folder = scratch();
    let reference = folder.path().join("theirs.cubin");
    for chip in CHIPS {
        let ours = compiled(folder.path(), chip, "s");
        let source = folder.path().join("k.ptx");
        ask(&tools, "ptxas", &[&format!("-arch={chip}"), &text(&source), "-o", &text(&reference)]);
        let theirs = read_cubin(&reference);
        assert_eq!(sections(&ours), sections(&theirs), "{chip}");
        assert_eq!(symbols(&ours), symbols(&theirs), "{chip}");
    }
}
