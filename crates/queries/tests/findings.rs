//! The findings of the queries are those of resolving the whole module at once, whatever the text.

use oriole_inputs::{Database, SourceFile};
use oriole_queries::findings;
use proptest::prelude::*;

fn check(text: &str) {
    let lines = |found: &[oriole_diagnostics::Diagnostic]| {
        let mut lines: Vec<String> = found.iter().map(ToString::to_string).collect();
        lines.sort();
        lines
    };
    let db = Database::default();
    let file = SourceFile::open(&db, text);
    assert_eq!(lines(&findings(&db, file)), lines(&oriole_hir::resolve_module(text).diagnostics), "{text}");
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
    ] {
        check(text);
    }
}

/// The outside texts named by `ORIOLE_PTX_FILES`, directories or files separated by colons.
#[test]
fn outside_files() {
    let Some(list) = std::env::var_os("ORIOLE_PTX_FILES") else {
        println!("skipped: ORIOLE_PTX_FILES names no files");
        return;
    };
    let mut pending: Vec<_> = std::env::split_paths(&list).collect();
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
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

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
