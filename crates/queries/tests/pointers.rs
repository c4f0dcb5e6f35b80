//! Pointers to functions: numbers of the module that every kernel resolves in a table of its own.

use crate::support::cold;
use oriole_cubin::Cubin;

const HEADER: &str = ".version 8.0\n.target sm_90\n.address_size 64\n";

/// Reads a word of a local array that is not known before the call.
const FRAME: &str = ".local .align 16 .b8 kept[32];
.reg .b64 %at, %of;
st.local.u32 [kept], %r1;
cvt.u64.u32 %of, %r1;
mov.u64 %at, kept;
add.u64 %at, %at, %of;
ld.local.u32 %r2, [%at];";

fn function(name: &str, added: u32) -> String {
    format!(
        ".func (.param .b32 r) {name}(.param .b32 a)\n{{\n.reg .b32 %r<3>;\nld.param.u32 %r1, [a];\n\
         add.u32 %r2, %r1, {added};\nst.param.b32 [r], %r2;\nret;\n}}\n"
    )
}

/// A kernel that stores what a call through a pointer gives; `pointer` makes the pointer in `%rd2`.
fn caller(name: &str, pointer: &str) -> String {
    format!(
        ".visible .entry {name}(.param .u64 out)\n{{\n.reg .b32 %r<3>;\n.reg .b64 %rd<4>;\n\
         ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\n{pointer}\n{{\n.param .b32 p;\n.param .b32 q;\n\
         st.param.b32 [p], %r1;\nshape: .callprototype (.param .b32 _) _ (.param .b32 _);\n\
         call (q), %rd2, (p), shape;\nld.param.b32 %r2, [q];\n}}\nst.global.u32 [%rd1], %r2;\nret;\n}}\n"
    )
}

fn compiled(text: &str) -> Cubin {
    let compiled = cold(text);
    let cubin = compiled.cubin.unwrap_or_else(|| panic!("{:?}", compiled.diagnostics));
    oriole_cubin::read(&cubin).expect("what is written can be read")
}

fn refused(text: &str) -> String {
    let compiled = cold(text);
    assert!(compiled.cubin.is_none());
    compiled.diagnostics.first().expect("there is a diagnostic").message.to_string()
}

/// The bytes of a variable, as words of 8 bytes; no relocation changes them.
fn words(cubin: &Cubin, variable: &str) -> Vec<u64> {
    let symbol = cubin.symbols.iter().find(|symbol| symbol.name == variable).expect("the variable is there");
    let section = &cubin.sections[symbol.section];
    let range = symbol.value as usize..(symbol.value + symbol.size) as usize;
    assert!(!section.relocations.iter().any(|relocation| range.contains(&(relocation.offset as usize))));
    section.data[range].chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect()
}

/// The names in the table of functions of a kernel, by place: entry n belongs to the pointer 8n.
fn table(cubin: &Cubin, kernel: &str) -> Vec<String> {
    let kernel = cubin.kernels.iter().find(|it| it.name == kernel).expect("the kernel is there");
    let entries = kernel.constant2.chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap()));
    let name = |offset: u64| {
        let mut functions = kernel.functions.iter().map(|&symbol| &cubin.symbols[symbol]);
        functions.find(|symbol| symbol.value == offset).map_or("-", |symbol| &symbol.name).to_owned()
    };
    entries.map(name).collect()
}

#[test]
fn a_pointer_means_the_same_in_every_kernel() {
    let text = [
        HEADER.to_owned(),
        function("direct", 0),
        function("f", 1),
        function("g", 2),
        // With a frame, which counts for the kernels that may call it.
        function("h", 3).replace("add.u32 %r2, %r1, 3;", FRAME),
        ".global .align 8 .u64 last[3] = {h, 5, g};\n.const .align 8 .u64 fixed[1] = {h};\n".to_owned(),
        ".global .align 8 .u8 bytes[8] = {0xff(h), 0xff00(h), 0, 0, 0, 0, 0, 7};\n".to_owned(),
        caller("one", "ld.global.u64 %rd2, [last];"),
        // Another order of clones: `h` is called directly, before the table brings the others.
        caller(
            "two",
            "{.param .b32 x; .param .b32 y; st.param.b32 [x], 1; call.uni (y), h, (x); ld.param.b32 %r1, [y];}\n\
             mov.u64 %rd2, f;",
        ),
        ".visible .entry none() { ret; }\n".to_owned(),
    ]
    .concat();
    let cubin = compiled(&text);
    assert_eq!(words(&cubin, "last"), [24, 5, 16]);
    assert_eq!(words(&cubin, "fixed"), [24]);
    assert_eq!(words(&cubin, "bytes"), [24 | 7 << 56]);
    // A function whose address no code takes has neither an index nor a clone.
    assert_eq!(table(&cubin, "one"), ["-", "$one$f", "$one$g", "$one$h"]);
    assert_eq!(table(&cubin, "two"), ["-", "$two$f", "$two$g", "$two$h"]);
    assert_eq!(table(&cubin, "none"), [""; 0]);
    let stack = |name: &str| cubin.kernels.iter().find(|it| it.name == name).unwrap().stack_size;
    assert_eq!([stack("one"), stack("none")], [Some(32), Some(0)]);
}

#[test]
fn an_alias_is_the_same_pointer() {
    let declared = ".visible .func (.param .b32 r) other(.param .b32 a);\n";
    let text = [
        HEADER,
        declared,
        &function("f", 1),
        ".alias other, f;\n.global .align 8 .u64 both[2] = {f, other};\n",
        &caller("k", "mov.u64 %rd2, other;"),
    ]
    .concat();
    let cubin = compiled(&text);
    assert_eq!(words(&cubin, "both"), [8, 8]);
    assert_eq!(table(&cubin, "k"), ["-", "$k$f"]);
}

#[test]
fn what_has_no_clone_has_no_number() {
    let empty = ".visible .entry e() { ret; }\n";
    let text = [HEADER, empty, &caller("k", "mov.u64 %rd2, e;")].concat();
    assert_eq!(table(&compiled(&text), "k"), ["-"]);
    let text = [
        HEADER,
        ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n",
        ".global .align 8 .u64 t[1] = {vprintf};\n",
        empty,
    ]
    .concat();
    assert_eq!(
        refused(&text),
        "the initial value of `t` names `vprintf`, which has no address in the module"
    );
}
