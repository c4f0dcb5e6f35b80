//! The diagnostics of the queries are those of resolving the whole module at once, whatever the text.

use oriole_chip::Chip;
use oriole_diagnostics::{Code, Severity};
use oriole_inputs::{Config, Database, SourceFile};
use oriole_options::Options;
use oriole_queries::{compile, diagnostics};
use proptest::prelude::*;

fn check(text: &str) {
    let lines = |found: &[oriole_diagnostics::Diagnostic]| {
        let mut lines: Vec<String> = found.iter().map(ToString::to_string).collect();
        lines.sort();
        lines
    };
    let db = Database::default();
    let file = SourceFile::open(&db, text);
    // A caller that asks for no program gets warnings about missing definitions, not errors.
    let mut whole = oriole_hir::resolve_module(text).diagnostics;
    let missing = whole.iter_mut().filter(|found| found.code == Code::UnresolvedExternal);
    missing.for_each(|found| found.severity = Severity::Warning);
    assert_eq!(lines(&diagnostics(&db, file)), lines(&whole), "{text}");
}

#[test]
fn broken_modules() {
    for text in [
        "",
        " ",
        "garbage",
        ".target sm_90\n.version 8.0",
        ".version 8.0\n.target sm_90\n.entry k { add.u32 r, r, r; }",
        ".version 8.0\n.target sm_90\n.entry k { call f; }\n.func f { ret; }",
        ".version 8.0\n.target sm_90\n.extern .func g;\n.entry k { call g; }",
        ".version 8.0\n.target sm_90\n.entry k { ret; }\n.entry k { ret; }\n.global .u32 k;",
        ".version 8.0\n.target sm_90\n.global .u64 a = b;\n.global .u64 b = a;\n.alias x, y;\n.const .b8 c[70000];",
        ".version 8.0\n.target sm_90\n.func f;\n.shared .b8 s[40000];\n.entry k { .shared .b8 t[40000]; .reg .u32 r; mov.u32 r, s; mov.u32 r, t; }",
        ".version 8.0\n.target sm_90\n.func f { ret; }\n.alias g, f;\n.entry k { call g; call h; }",
        // The splitter sees no name of this function, the parser does.
        ".version 8.0\n.target sm_90\n.func (.para.entrym .b32 r) once(.param .b32 v) { ret; }\n.entry k { .reg .b64 d; mov.u64 d, once; ret; }",
        // A function by its first declaration, and a variable of the same name.
        ".version 8.0\n.target sm_90\n.func f(.param .b32 a);\n.global .b32 f;\n.entry k { call f; ret; }",
        // A function in a unit that begins as a header.
        ".version 8\n.entry sm_90\n.address_size 64\n",
        // A function without a name, whose unit a directive of the header ends: the name after it is not its own.
        ".version 8.0\n.target sm_90\n.entry\n.address_size 64\n.global .u32 table[4];\n.entry k { .reg .b64 d; mov.u64 d, table; ret; }",
        ".version 8.0\n.target sm_90\n.global\n.section .debug_str { a: .b8 1 }\n.entry k { .reg .b64 d; mov.u64 d, a; ret; }",
        // In a unit that begins as a header, a variable without a name and a state space.
        ".version 8.0\n.target sm_90\n.address_size k1.align 4 .u32 table[4] = {1};\n",
        // The body is closed before the unit of the function ends: what is left declares nothing.
        ".version 8.0\n.target sm_90\n.entry k { .reg .b64 d; ld.global.u32 d, {d; } .param .b32 x; .global .b32 y; ret; }",
    ] {
        check(text);
    }
}

/// Diagnostics of compiling a module for sm_90, as lines.
fn compiled(text: &str) -> Vec<String> {
    let db = Database::default();
    let file = SourceFile::open(&db, text);
    let config = Config::create(&db, Chip::SM_90, &Options::default());
    compile(&db, file, config, 1).diagnostics.iter().map(ToString::to_string).collect()
}

fn kernel(body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {{\n{body}\nret;\n}}\n"
    )
}

#[test]
fn all_that_cannot_be_compiled_is_told_with_counts() {
    let text = kernel(
        ".reg .b64 %d<4>;\nld.param.u64 %d1, [p];\nalloca.u64 %d2, %d1, 24;\nadd.u64 %d2, %d2, 1;\nmov.u64 %d3, vprintf;
         alloca.u64 %d2, %d1, 48;\nalloca.u64 %d3, %d1, 24;",
    );
    let declared = ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n.visible";
    let found = compiled(&text.replace(".visible", declared));
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].contains("power of two") && found[0].contains("2 more places"), "{found:?}");
    assert!(found[1].contains("vprintf") && !found[1].contains("more places"), "{found:?}");
}

#[test]
fn local_memory_beyond_what_can_be_addressed_is_refused() {
    let text = |bytes: u64| {
        kernel(&format!(
            ".local .b8 s[{bytes}]; .reg .b64 %d<3>; .reg .b32 %r<3>; ld.param.u64 %d1, [p];\n\
             mov.u64 %d2, s; st.local.u32 [%d2], 1; ld.local.u32 %r1, [%d2]; st.global.u32 [%d1], %r1;"
        ))
    };
    assert_eq!(compiled(&text(1 << 22)), [""; 0]);
    for bytes in [1 << 23, 4294967295, 1 << 40] {
        let found = compiled(&text(bytes));
        assert!(matches!(&found[..], [only] if only.contains("limit::size")), "{bytes}: {found:?}");
    }
}

#[test]
fn addresses_of_32_bits_are_refused_where_the_chip_has_none() {
    let text = ".version 4.0\n.target sm_50\n.address_size 32\n.visible .entry k(.param .u32 p) { ret; }\n";
    let found = compiled(text);
    assert!(matches!(&found[..], [only] if only.contains("target::mismatch")), "{found:?}");
}

/// The repository's kernels and the texts named by `ORIOLE_PTX_FILES`, directories or files separated by colons.
#[test]
fn outside_files() {
    let mut pending = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../test-data/kernels")];
    pending.extend(std::env::split_paths(&std::env::var_os("ORIOLE_PTX_FILES").unwrap_or_default()));
    pending.retain(|path| !path.as_os_str().is_empty());
    let mut files = 0;
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            pending.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "ptx") {
            check(&String::from_utf8_lossy(&std::fs::read(&path).unwrap()));
            files += 1;
        }
    }
    println!("{files} files");
    assert!(files > 0, "no .ptx files found");
}

/// How many modules are mutated: as many as `PROPTEST_CASES` says.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(24)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutated_modules(
        edits in prop::collection::vec((0.0..1.0f64, 0usize..20, prop::sample::select(vec![
            "{", "}", "\"", "/*", ";", ".entry", "k1", ".global .b32 x;", "\n", "%r2", "call.uni (q), twice, (p);",
        ])), 1..4),
    ) {
        let full = crate::support::module();
        let mut text = full[..full.find(&crate::support::kernel(5)).unwrap()].to_owned();
        for (place, removed, piece) in edits {
            let start = (place * text.len() as f64) as usize;
            let end = (start + removed).min(text.len());
            text.replace_range(start..end, piece);
        }
        check(&text);
    }
}
