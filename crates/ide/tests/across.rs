//! Names that files share: their definitions, uses, callers and renaming through all files, and what an edit reads again.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use oriole_ide::{Access, Analysis, AnalysisHost, Change, FileId, Language, Range, SettingsId};

use crate::support::{HEAD, show};

/// A program of two files, and a file that is another program.
const MAIN: &str = "\
.extern .func (.reg .b32 r) square (.reg .b32 x);
.extern .global .b32 table[];
.visible .entry k()
{
    .reg .b32 %r<3>;
    call (%r1), square, (%r2);
    ld.global.b32 %r1, [table];
    ret;
}
";
const LIBRARY: &str = "\
.visible .global .b32 table[4];
.func helper () { ret; }
.visible .func (.reg .b32 r) square (.reg .b32 x)
{
    call helper;
    mul.lo.s32 r, x, x;
    ret;
}
";
const OTHER: &str = "\
.func helper () { ret; }
.visible .entry k()
{
    call helper;
    ret;
}
";

struct Files {
    host: AnalysisHost,
    files: Vec<(FileId, String)>,
}

/// A session of these files, each below a head.
fn session(texts: &[&str]) -> Files {
    let mut host = AnalysisHost::counting();
    let open = |text: &&str| {
        let text = format!("{HEAD}{text}");
        (host.open(Language::Ptx, &text, SettingsId(0)), text)
    };
    let files = texts.iter().map(open).collect();
    Files { host, files }
}

impl Files {
    /// The place in a file after a text.
    fn after(&self, file: usize, text: &str) -> (FileId, u32) {
        let (id, all) = &self.files[file];
        (*id, (all.find(text).expect("the text is there") + text.len()) as u32)
    }

    fn show(&self, file: FileId, range: Range) -> String {
        format!("file {} {}", file.0, show(&self.files[file.0 as usize].1, range))
    }

    /// Where the name at a place is defined, declared and used.
    fn found(&self, (file, at): (FileId, u32)) -> String {
        let analysis: Analysis = self.host.analysis();
        let mut out = String::new();
        for (word, targets) in [
            ("defined", analysis.definition(file, at).unwrap()),
            ("declared", analysis.declaration(file, at).unwrap()),
        ] {
            for target in targets {
                let _ = writeln!(out, "{word}: {}", self.show(target.file, target.range));
            }
        }
        for found in analysis.references(file, at).unwrap() {
            let _ = writeln!(out, "{:?}: {}", found.access, self.show(found.file, found.range));
        }
        out
    }

    /// The texts after a renaming: the lines that differ, or the reason why there are none.
    fn renamed(&self, (file, at): (FileId, u32), new: &str) -> String {
        let edits = match self.host.analysis().rename(file, at, new).unwrap() {
            Ok(edits) => edits,
            Err(error) => return format!("{error:?}: {error}\n"),
        };
        let mut out = String::new();
        for (file, text) in &self.files {
            let own: Vec<_> =
                edits.iter().filter(|(of, _)| of == file).map(|(_, edit)| edit.clone()).collect();
            let now = oriole_ide::Edit::apply(text, &own);
            for (line, _) in now.lines().zip(text.lines()).filter(|(now, before)| now != before) {
                let _ = writeln!(out, "file {}: {}", file.0, line.trim());
            }
        }
        out
    }
}

fn check(found: String, expected: Expect) {
    expected.assert_eq(&found);
}

#[test]
fn definitions_and_uses_are_found_in_all_files() {
    let files = session(&[MAIN, LIBRARY, OTHER]);
    check(
        files.found(files.after(0, "call (%r1), sq")),
        expect![[r#"
        defined: file 1 6: "square"
        declared: file 0 4: "square"
        Declare: file 0 4: "square"
        Call: file 0 9: "square"
        Declare: file 1 6: "square"
    "#]],
    );
    check(
        files.found(files.after(1, "global .b32 ta")),
        expect![[r#"
        defined: file 1 4: "table"
        declared: file 1 4: "table"
        Declare: file 1 4: "table"
        Declare: file 0 5: "table"
        Read: file 0 10: "table"
    "#]],
    );
    // A name of one file, and a kernel that another program has too.
    check(
        files.found(files.after(1, "call he")),
        expect![[r#"
        defined: file 1 5: "helper"
        declared: file 1 5: "helper"
        Declare: file 1 5: "helper"
        Call: file 1 8: "helper"
    "#]],
    );
    check(
        files.found(files.after(2, ".entry k")),
        expect![[r#"
        defined: file 2 5: "k"
        declared: file 2 5: "k"
        Declare: file 2 5: "k"
    "#]],
    );
}

#[test]
fn a_hover_tells_where_a_function_is_defined() {
    let files = session(&[MAIN, LIBRARY]);
    let (file, at) = files.after(0, "call (%r1), sq");
    let hover = files.host.analysis().hover(file, at).unwrap().unwrap();
    let places: Vec<String> = hover.definitions.iter().map(|it| files.show(it.file, it.range)).collect();
    assert_eq!(places, ["file 1 6: \"square\""]);
    let (file, at) = files.after(1, "(.reg .b32 r) sq");
    assert_eq!(files.host.analysis().hover(file, at).unwrap().unwrap().definitions, []);
}

#[test]
fn callers_and_callees_are_found_in_all_files() {
    let files = session(&[MAIN, LIBRARY, OTHER]);
    let (file, at) = files.after(0, "call (%r1), sq");
    let analysis = files.host.analysis();
    let item = analysis.call_item(file, at).unwrap().unwrap();
    let mut out = format!("{}\n", files.show(item.file, item.range));
    for call in analysis.incoming_calls(item.file, &item.name).unwrap() {
        let _ = writeln!(out, "from {}", files.show(call.item.file, call.item.range));
        call.ranges.iter().for_each(|&range| {
            let _ = writeln!(out, "  at {}", files.show(call.item.file, range));
        });
    }
    for call in analysis.outgoing_calls(file, "k").unwrap() {
        let _ = writeln!(out, "to {}", files.show(call.item.file, call.item.range));
        call.ranges.iter().for_each(|&range| {
            let _ = writeln!(out, "  at {}", files.show(file, range));
        });
    }
    check(
        out,
        expect![[r#"
        file 1 6: "square"
        from file 0 6: "k"
          at file 0 9: "square"
        to file 1 6: "square"
          at file 0 9: "square"
    "#]],
    );
}

#[test]
fn a_renaming_touches_every_file_that_shares_the_name() {
    let files = session(&[MAIN, LIBRARY, OTHER]);
    check(
        files.renamed(files.after(0, "call (%r1), sq"), "cube"),
        expect![[r#"
        file 0: .extern .func (.reg .b32 r) cube (.reg .b32 x);
        file 0: call (%r1), cube, (%r2);
        file 1: .visible .func (.reg .b32 r) cube (.reg .b32 x)
    "#]],
    );
    check(
        files.renamed(files.after(1, "global .b32 ta"), "list"),
        expect![[r#"
        file 0: .extern .global .b32 list[];
        file 0: ld.global.b32 %r1, [list];
        file 1: .visible .global .b32 list[4];
    "#]],
    );
    check(
        files.renamed(files.after(1, "call he"), "aid"),
        expect![[r#"
        file 1: .func aid () { ret; }
        file 1: call aid;
    "#]],
    );
    check(
        files.renamed(files.after(2, ".entry k"), "main"),
        expect![[r#"
        file 2: .visible .entry main()
    "#]],
    );
}

#[test]
fn a_renaming_that_would_collide_in_any_file_is_refused() {
    let files = session(&[MAIN, LIBRARY, OTHER]);
    let square = files.after(0, "call (%r1), sq");
    // A name of the other file alone, a name that both share, a register of this one, a kernel of a third one.
    for new in ["helper", "table", "%r2", "k"] {
        let refused = files.renamed(square, new);
        assert!(refused.starts_with("Taken"), "{new}: {refused}");
    }
    check(
        files.renamed(square, "helper"),
        expect![[r#"
        TakenIn("helper", FileId(1)): `helper` already means something in another file
    "#]],
    );
    // A kernel of a program of its own takes the name of another one, but not one that another file looks for.
    assert!(files.renamed(files.after(2, ".entry k"), "square").contains("another file"));
    let alone = session(&[OTHER, ".visible .entry j() { ret; }\n"]);
    assert_eq!(alone.renamed(alone.after(0, ".entry k"), "j"), "file 0: .visible .entry j()\n");
    // Two files define it, and a third one may mean either.
    let both = session(&[MAIN, LIBRARY, LIBRARY]);
    check(
        both.renamed(both.after(0, "call (%r1), sq"), "cube"),
        expect![[r#"
        Ambiguous("square", [FileId(1), FileId(2)]): several files define `square`, and others use it without saying which one they mean
    "#]],
    );
}

#[test]
fn weak_definitions_are_one_name() {
    let weak = ".weak .func f () { ret; }\n.visible .entry k() { call f; ret; }\n";
    let files = session(&[weak, weak]);
    check(
        files.found(files.after(0, "call f")),
        expect![[r#"
        defined: file 0 4: "f"
        declared: file 0 4: "f"
        Declare: file 0 4: "f"
        Call: file 0 5: "f"
        Declare: file 1 4: "f"
        Call: file 1 5: "f"
    "#]],
    );
}

#[test]
fn symbols_of_all_files_are_found() {
    let files = session(&[MAIN, LIBRARY]);
    let found = files.host.analysis().workspace_symbols("sq").unwrap();
    let found: Vec<String> = found
        .iter()
        .map(|(file, symbol)| format!("{} {:?}", files.show(*file, symbol.range), symbol.kind))
        .collect();
    assert_eq!(found, ["file 0 4: \"square\" Function", "file 1 6: \"square\" Function"]);
}

/// The queries that the last edit made run, a line each.
fn ran(host: &AnalysisHost) -> String {
    let edit = host.last_edit().expect("edits are recorded");
    let mut out = String::new();
    for ran in edit.queries {
        let _ = writeln!(out, "{} {}", ran.what.name, ran.what.unit);
    }
    out
}

#[test]
fn an_edit_in_a_body_reads_nothing_of_other_files_again() {
    let mut files = session(&[MAIN, LIBRARY, OTHER]);
    files.host.record_edits(true);
    let (file, at) = files.after(0, "call (%r1), sq");
    let uses = |files: &Files| {
        let found = files.host.analysis().references(file, at).unwrap();
        assert_eq!(found.iter().filter(|found| found.access == Access::Declare).count(), 2);
        assert_eq!(files.host.analysis().definition(file, at).unwrap().len(), 1);
    };
    uses(&files);
    let (library, end) = files.after(1, "mul.lo.s32 r, x, ");
    let mut changed = |text: &str| {
        let change = Change { range: Some(Range::new(end, end + 1)), text: text.to_owned() };
        files.host.change(library, &[change]);
        uses(&files);
        ran(&files.host)
    };
    check(
        changed("3"),
        expect![[r#"
            mentions function square
            function_tree function square
            names function square
        "#]],
    );
    // Its index changes, and that of no other file, when a unit mentions one more name of the module.
    check(
        changed("table"),
        expect![[r#"
            mentions function square
            shared_names 
            function_tree function square
            names function square
        "#]],
    );
}
