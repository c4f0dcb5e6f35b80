//! Compiler facts in an editor: marks of registers, names in their source, phases, cycles with callees, and fixes for
//! addresses of other spaces.

use crate::support::{Fixture, HEAD, fixture, kernel, kernel_text};
use expect_test::{Expect, expect};
use oriole_chip::Chip;
use oriole_ide::{AnalysisHost, Change, Edit, Language, RegisterMarks, Settings};

/// Registers of a text with their marks, each once.
fn marked(fixture: &Fixture, marks: &RegisterMarks) -> String {
    let tokens = fixture.analysis().tokens(fixture.file, None, marks).unwrap();
    let mut rows: Vec<String> = Vec::new();
    for token in tokens {
        let marks = token.modifiers.marks;
        let words = [(marks.dead, "dead"), (marks.spilled, "spilled"), (marks.uniform, "uniform")];
        let words: Vec<&str> = words.iter().filter(|word| word.0).map(|word| word.1).collect();
        let row = format!("{} {}", token.range.slice(&fixture.text), words.join(" "));
        if !words.is_empty() && !rows.contains(&row) {
            rows.push(row);
        }
    }
    rows.join("\n")
}

/// Registers that reach no code are dead, also through others; a coalesced copy is not.
#[test]
fn registers_are_marked() {
    let mut fixture = kernel(
        "    ld.param.u64 %d1, [p];\n    ld.param.u32 %r1, [n];\n    cvta.to.global.u64 %d2, %d1;\n    \
         mov.u32 %r2, 7;\n    add.u32 %r3, %r1, %r2;\n    mul.lo.u32 %r4, %r1, 3;\n    xor.b32 %r5, %r4, 1;\n    \
         setp.eq.u32 %p1, %r1, 0;\n    @%p1 bra done;\n    st.global.u32 [%d2], %r3;\ndone:\n    ret;",
    );
    let marks =
        fixture.analysis().register_marks(fixture.file, Chip::SM_90, &RegisterMarks::default()).unwrap();
    let shown = marked(&fixture, &marks);
    let dead: Vec<&str> = shown.lines().filter(|row| row.contains("dead")).collect();
    assert_eq!(dead, ["%r4 dead", "%r5 dead"], "{shown}");
    // A text that does not compile keeps its earlier marks, on the same names; a new name has none.
    let changed = fixture.text.replace("    ret;", "    xor.b32 %r6 %r5, %r4;\n    ret;");
    fixture.host.change(fixture.file, &[Change { range: None, text: changed.clone() }]);
    fixture.text = changed;
    let kept = fixture.analysis().register_marks(fixture.file, Chip::SM_90, &marks).unwrap();
    assert_eq!(kept, marks);
    assert_eq!(marked(&fixture, &kept), shown);
    // Marks of removed code are dropped.
    fixture.host.change(fixture.file, &[Change { range: None, text: HEAD.to_owned() }]);
    let gone = fixture.analysis().register_marks(fixture.file, Chip::SM_90, &kept).unwrap();
    assert_eq!(gone, RegisterMarks::default());
}

/// A register is uniform if every location in its hover is.
#[test]
fn uniform_registers_are_marked() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../test-data/kernels/shared.ptx");
    let text = std::fs::read_to_string(path).unwrap().replace(".target sm_75", ".target sm_90");
    let fixture = fixture(&text);
    let analysis = fixture.analysis();
    let marks = analysis.register_marks(fixture.file, Chip::SM_90, &RegisterMarks::default()).unwrap();
    let mut seen = 0;
    let at = text.find("%ctaid.y").unwrap() as u32;
    let near = Some(oriole_ide::Range::new(at - 400, at + 600));
    for token in analysis.tokens(fixture.file, near, &marks).unwrap() {
        if token.kind != oriole_ide::TokenKind::Register || token.modifiers.declaration {
            continue;
        }
        let hover = analysis.hover(fixture.file, token.range.start).unwrap().unwrap();
        let homes = hover.text.lines().find(|line| line.starts_with("* on sm_90: `")).unwrap_or_default();
        let homes: Vec<&str> = homes.split('`').skip(1).step_by(2).collect();
        let uniform = !homes.is_empty() && homes.iter().all(|home| home.starts_with('U'));
        assert_eq!(token.modifiers.marks.uniform, uniform, "{}", hover.text);
        seen += usize::from(uniform);
    }
    assert!(seen > 0, "no register of these kernels is uniform");
}

#[test]
fn spilled_registers_are_marked() {
    let mut body = String::from("    .reg .f32 %x<64>;\n    ld.param.u64 %d1, [p];\n");
    (0..40).for_each(|at| body.push_str(&format!("    ld.volatile.global.f32 %x{at}, [%d1+{}];\n", 4 * at)));
    (0..40).for_each(|at| {
        body.push_str(&format!("    st.volatile.global.f32 [%d1+{}], %x{};\n", 4 * at, 39 - at))
    });
    let text = kernel_text(&format!("{body}    ret;")).replace("\n{\n", "\n.maxnreg 24\n{\n");
    let fixture = fixture(&text);
    let marks =
        fixture.analysis().register_marks(fixture.file, Chip::SM_90, &RegisterMarks::default()).unwrap();
    assert!(marked(&fixture, &marks).contains(" spilled"));
}

const CPP: &str = ".func (.param .b32 r) _ZN3geo6squareEi(.param .b32 a) {\n    .reg .b32 %r<3>;\n    \
    ld.param.b32 %r1, [a];\n    mul.lo.s32 %r2, %r1, %r1;\n    st.param.b32 [r], %r2;\n    ret;\n}\n\
    .visible .entry _Z5scalePii(.param .u64 p, .param .u32 n) {\n    .reg .b32 %r<5>;\n    .reg .b64 %d<3>;\n    \
    .reg .pred %p;\n    ld.param.u64 %d1, [p];\n    ld.param.u32 %r1, [n];\nagain:\n    {\n    .param .b32 x;\n    \
    .param .b32 y;\n    st.param.b32 [x], %r1;\n    call (y), _ZN3geo6squareEi, (x);\n    ld.param.b32 %r2, [y];\n    }\n    \
    sub.u32 %r1, %r1, 1;\n    setp.ne.u32 %p, %r1, 0;\n    @%p bra again;\n    st.global.u32 [%d1], %r2;\n    ret;\n}\n\
    .global .b32 _ZN3geo5tableE[4];\n.func _RNvC6kernel3add() { ret; }\n";

/// Symbols, lenses, hovers and the hierarchy of calls show names as they are in their sources.
#[test]
fn names_of_the_sources() {
    let text = format!("{HEAD}{CPP}");
    let cursor = text.find("call (y), _ZN").unwrap() + 14;
    let fixture = fixture(&format!("{}$0{}", &text[..cursor], &text[cursor..]));
    let analysis = fixture.analysis();
    let mut out = String::new();
    for symbol in analysis.symbols(fixture.file).unwrap() {
        out.push_str(&format!("{}: {}\n", symbol.name, symbol.detail));
    }
    for (_, symbol) in analysis.workspace_symbols("geo::sq").unwrap() {
        out.push_str(&format!("found {}\n", symbol.name));
    }
    let hover = analysis.hover(fixture.file, fixture.at).unwrap().unwrap();
    out.push_str(&format!("hover {}\n", hover.text.lines().last().unwrap()));
    let item = analysis.call_item(fixture.file, fixture.at).unwrap().unwrap();
    out.push_str(&format!("called {}\n", item.detail));
    for call in analysis.incoming_calls(fixture.file, &item.name).unwrap() {
        out.push_str(&format!("by {}\n", call.item.detail));
    }
    let lens = analysis.lens(fixture.file, "_Z5scalePii", Chip::SM_90).unwrap().unwrap();
    out.push_str(&format!("lens {}\n", lens.title().unwrap().split(':').next().unwrap()));
    expect![[r#"
        _ZN3geo6squareEi: geo::square(int) (.b32) -> .b32
        _Z5scalePii: scale(int*, int) (.u64, .u32)
        _ZN3geo5tableE: geo::table .global .b32, 16 bytes, aligned to 4
        _RNvC6kernel3add: kernel::add ()
        found _ZN3geo6squareEi
        hover `geo::square(int)`
        called geo::square(int) (.b32) -> .b32
        by scale(int*, int) (.u64, .u32)
        lens scale(int*, int) · sm_90
    "#]]
    .assert_eq(&out);
}

/// A callee's cycles are counted as often as it is called; parts that are not counted are named.
#[test]
fn cycles_with_callees() {
    let mut fixture = fixture(&format!("{HEAD}{CPP}"));
    let mut settings = Settings::default();
    settings.options.set("no-inlining", "true").unwrap();
    fixture.host.set_settings(oriole_ide::SettingsId(0), settings);
    let found =
        fixture.analysis().kernel_statistics(fixture.file, "_Z5scalePii", Chip::SM_90).unwrap().unwrap();
    // The call is in a loop, which is taken to run ten times.
    assert!(found.cycles_in_callees >= 10 && found.cycles > found.cycles_in_callees, "{found:?}");
    assert!(found.cycles_without.is_empty());
    assert!(found.why.iter().any(|why| why.contains("in functions that it calls")), "{:?}", found.why);
    let recursive = fixture_of_recursion();
    let found = recursive.analysis().kernel_statistics(recursive.file, "k", Chip::SM_90).unwrap().unwrap();
    assert_eq!(found.cycles_without, ["the recursion of `f`"]);
    let lens = recursive.analysis().lens(recursive.file, "k", Chip::SM_90).unwrap().unwrap();
    assert!(lens.title().unwrap().ends_with(" cycles without some calls"));
}

fn fixture_of_recursion() -> Fixture {
    fixture(&format!(
        "{HEAD}.func f(.param .b32 a) {{\n.reg .b32 %r<3>; .reg .pred %p;\nld.param.b32 %r1, [a];\n\
         setp.eq.u32 %p, %r1, 0;\n@%p bra done;\nsub.u32 %r2, %r1, 1;\n{{ .param .b32 x; st.param.b32 [x], %r2;\n\
         call f, (x); }}\ndone: ret; }}\n.entry k() {{ {{ .param .b32 x; st.param.b32 [x], 3; call f, (x); }} ret; }}\n"
    ))
}

/// A phase without Ori gives an error; the list marks the phases with Ori, and each of those shows it.
#[test]
fn phases() {
    let fixture = kernel("    ret;");
    let analysis = fixture.analysis();
    let all = oriole_ide::phases();
    let mut shown = 0;
    for phase in &all {
        let found = analysis.ori(fixture.file, "k", Chip::SM_90, &phase.number.to_string()).unwrap();
        assert_eq!(found.as_ref().err().map(ToString::to_string), phase.no_ori, "{}", phase.name);
        shown += usize::from(found.is_ok());
    }
    assert!(all.len() == 159 && shown > 40 && shown < 120, "{shown}");
    let of = |name: &str| all.iter().find(|phase| phase.name == name).unwrap();
    expect![[r#"Some("phase 101 AdvancedPhaseAllocReg leaves machine code, not Ori: see `oriole isel` and `oriole dis`")"#]]
        .assert_eq(&format!("{:?}", of("AdvancedPhaseAllocReg").no_ori));
}

fn check(body: &str, expected: Expect) {
    let fixture = kernel(&format!("    .shared .u32 s;\n{body}\n    ret;"));
    let analysis = fixture.analysis();
    let mut out = String::new();
    for diagnostic in analysis.diagnostics(fixture.file).unwrap() {
        out.push_str(&format!(
            "{} {}\n",
            fixture.show(diagnostic.range),
            diagnostic.message.replace('\n', " | ")
        ));
        for fix in analysis.fixes(fixture.file, diagnostic.range).unwrap() {
            let after = Edit::apply(&fixture.text, &fix.edits);
            let old: Vec<&str> = fixture.text.lines().collect();
            let new: Vec<&str> = after.lines().filter(|line| !old.contains(line)).map(str::trim).collect();
            out.push_str(&format!("  {}: {}\n", fix.title, new.join(" ")));
            // No fix leaves a diagnostic.
            let again = crate::support::fixture(&after);
            assert_eq!(again.analysis().diagnostics(again.file).unwrap(), [], "{after}");
        }
    }
    expected.assert_eq(&out);
}

/// `cvta` is missing, or redundant.
#[test]
fn addresses_of_other_spaces() {
    check(
        "    mov.u64 %d1, s;\n    ld.volatile.u32 %r1, [%d1+4];",
        expect![[r#"
            12: "ld.volatile.u32 %r1, [%d1+4];" `%d1` holds an address of `.shared` and is used as a generic address | help: convert it with `cvta.shared`, or write `.shared`
              Convert `%d1` with `cvta.shared`: .reg .b64 %generic0; cvta.shared.u64 %generic0, %d1; ld.volatile.u32 %r1, [%generic0+4];
              Write `.shared`: ld.volatile.shared.u32 %r1, [%d1+4];
        "#]],
    );
    check(
        "    mov.u64 %d1, s;\n    setp.eq.u64 %p1, %d1, 0;\n    cvta.shared.u64 %d2, %d1;\n    @%p1 atom.shared.add.u32 %r1, [%d2], 1;",
        expect![[r#"
            14: "@%p1 atom.shared.add.u32 %r1, [%d2], 1;" `%d2` holds a generic address and is used as an address of `.shared` | help: convert it with `cvta.to.shared`, or leave `.shared` out
              Convert `%d2` with `cvta.to.shared`: .reg .b64 %address0; cvta.to.shared.u64 %address0, %d2; @%p1 atom.shared.add.u32 %r1, [%address0], 1;
              Leave `.shared` out: @%p1 atom.add.u32 %r1, [%d2], 1;
        "#]],
    );
    check(
        "    mov.u64 %d1, s;\n    mov.u32 %r1, 0;\n    st.relaxed.gpu.u32 [%d1], %r1;",
        expect![[r#"
            13: "st.relaxed.gpu.u32 [%d1], %r1;" `%d1` holds an address of `.shared` and is used as a generic address | help: convert it with `cvta.shared`, or write `.shared`
              Convert `%d1` with `cvta.shared`: .reg .b64 %generic0; cvta.shared.u64 %generic0, %d1; st.relaxed.gpu.u32 [%generic0], %r1;
              Write `.shared`: st.relaxed.gpu.shared.u32 [%d1], %r1;
        "#]],
    );
    check(
        "    mov.u64 %d1, s;\n    cvta.shared.u64 %d2, %d1;\n    cvta.shared.u64 %d3, %d2;\n    ld.u32 %r1, [%d3];",
        expect![[r#"
            13: "cvta.shared.u64 %d3, %d2;" `%d2` holds a generic address and is used as an address of `.shared` | help: the address is converted already: this `cvta` is one too many
              Copy the address: it is converted already: mov.b64 %d3, %d2;
        "#]],
    );
    check(
        "    mov.u64 %d1, s;\n    mov.u32 %r1, 0;\n    st.relaxed.gpu.global.u32 [%d1], %r1;",
        expect![[r#"
            13: "st.relaxed.gpu.global.u32 [%d1], %r1;" `%d1` holds an address of `.shared` and is used as an address of `.global` | help: write `.shared`, or make an address of the other space
              Write `.shared`: st.relaxed.gpu.shared.u32 [%d1], %r1;
        "#]],
    );
}

/// An edit in another language is escaped for that language.
#[test]
fn edits_of_inline_ptx() {
    let source = "void f(float* p) {\n  asm(\"mov.u32 %0, %%laneidd;\" : \"=r\"(r));\n  \
                  asm(\"{ .reg .b64 q; .shared .b32 s; mov.u64 q, s; st.b32 [q], %0; }\" :: \"r\"(r));\n}\n";
    let fixture = crate::support::fixture_in(Language::Cuda, source);
    let analysis = fixture.analysis();
    let mut out = String::new();
    for diagnostic in analysis.diagnostics(fixture.file).unwrap() {
        for fix in analysis.fixes(fixture.file, diagnostic.range).unwrap() {
            let after = Edit::apply(&fixture.text, &fix.edits);
            let old: Vec<&str> = fixture.text.lines().collect();
            let new: Vec<&str> = after.lines().filter(|line| !old.contains(line)).map(str::trim).collect();
            out.push_str(&format!("{}: {}\n", fix.title, new.join(" ")));
        }
    }
    let complete = |text: &str| {
        let fixture = crate::support::fixture_in(Language::Cuda, text);
        let found = fixture.analysis().completions(fixture.file, fixture.at).unwrap();
        found.into_iter().map(|item| item.edit.text).take(3).collect::<Vec<_>>().join(" ")
    };
    out.push_str(&complete("void f() { asm(\"mov.u32 %0, %%lan$0;\" : \"=r\"(r)); }"));
    out.push_str(&format!(
        "\n{}\n",
        complete("void f() { asm(\"add.u32 %0, $0\" : \"=r\"(r) : \"f\"(x)); }")
    ));
    expect![[r#"
        Change to `%laneid`: asm("mov.u32 %0, %%laneid;" : "=r"(r));
        Convert `q` with `cvta.shared`: asm("{ .reg .b64 q; .shared .b32 s; mov.u64 q, s; .reg .b64 %%generic0;\ncvta.shared.u64 %%generic0, q;\nst.b32 [%%generic0], %0; }" :: "r"(r));
        Write `.shared`: asm("{ .reg .b64 q; .shared .b32 s; mov.u64 q, s; st.shared.b32 [q], %0; }" :: "r"(r));
        %%cluster_ctarank %%cluster_nctarank %%laneid
        %0
    "#]]
    .assert_eq(&out);
}

/// The callee may be after the results.
#[test]
fn callees_are_offered_behind_results() {
    let text = format!(
        "{HEAD}.func (.param .b32 r) sq(.param .b32 a) {{ ret; }}\n.entry k() {{ .param .b32 x; call (x), $0 }}\n"
    );
    let fixture = fixture(&text);
    let found = fixture.analysis().completions(fixture.file, fixture.at).unwrap();
    assert_eq!(found.first().map(|item| item.label.as_str()), Some("sq"));
}

/// A program may apply only what cannot be wrong.
#[test]
fn safe_fixes_are_the_only_ones_that_can_be_meant() {
    let texts = [
        format!("{HEAD}.entry k() {{ .reg .b32 r; mov.u32 r, 1 // one\nret; }}"),
        format!("{HEAD}.entry k() {{ .reg .b32 r; mov.u32 r, 1 mov.u32 r, 2; ret; }}"),
        format!("{HEAD}.entry k(.param .u32 p) {{ .reg .b32 r; ld.param.u32 r, [p; ret; }}"),
        format!("{HEAD}.visble .entry k() {{ ret; }}"),
        format!("{HEAD}.entry k() {{ .rge .b32 r; ret; }}"),
        format!("{HEAD}.entry k() {{ .reg .b32 r; mvo.u32 r, 1; ret; }}"),
        ".version 6.0\n.target sm_90\n.entry k() { .reg .b32 r; redux.sync.add.s32 r, r, -1; ret; }"
            .to_owned(),
    ];
    let mut out = String::new();
    for text in texts {
        let fixture = fixture(&text);
        let analysis = fixture.analysis();
        for diagnostic in analysis.diagnostics(fixture.file).unwrap() {
            for fix in analysis.fixes(fixture.file, diagnostic.range).unwrap().into_iter().take(1) {
                out.push_str(&format!("{}: {} {}\n", diagnostic.code, fix.title, fix.safe));
            }
        }
    }
    expect![[r#"
        ptx::syntax: Insert `;` true
        ptx::syntax: Insert `;` false
        ptx::syntax: Insert `]` true
        ptx::unknown-directive: Change to `.reg` false
        target::needs-version: Raise `.version` to 7.8 true
        target::needs-version: Raise `.version` to 7.0 true
    "#]]
    .assert_eq(&out);
}

/// A part of a program may leave functions to a linker.
#[test]
fn parts_leave_functions_to_a_linker() {
    let text = format!("{HEAD}.extern .func f();\n.entry k() {{ call f; ret; }}\n");
    let mut host = AnalysisHost::new();
    let file = host.open(Language::Ptx, &text, oriole_ide::SettingsId(0));
    let codes = |host: &AnalysisHost| {
        let found = host.analysis().diagnostics(file).unwrap();
        found.iter().map(|found| found.code.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(codes(&host), ["ptx::unresolved-external"]);
    let mut settings = Settings::default();
    settings.options.linking = oriole_options::Linking::Relocatable;
    host.set_settings(oriole_ide::SettingsId(0), settings);
    assert_eq!(codes(&host), [""; 0]);
}

/// One mistake gives one diagnostic, and each has a fix.
#[test]
fn slips_have_fixes() {
    let slips = [
        ".entry k() { ret; }".to_owned(),
        format!("{HEAD}.entry k() {{ ret;\n"),
        format!("{HEAD}.entry k() {{ .reg .b32 r; mov.u32 r, %laneidd; ret; }}"),
        format!("{HEAD}.entry k() {{ .reg .b32 r; mov.u32 r, %tidd.x; ret; }}"),
    ];
    let mut out = String::new();
    for text in slips {
        let fixture = fixture(&text);
        let analysis = fixture.analysis();
        let found = analysis.diagnostics(fixture.file).unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        let fixes = analysis.fixes(fixture.file, found[0].range).unwrap();
        let best = fixes.iter().find(|fix| fix.preferred).unwrap();
        let again = crate::support::fixture(&Edit::apply(&text, &best.edits));
        assert_eq!(again.analysis().diagnostics(again.file).unwrap(), [], "{}", again.text);
        out.push_str(&format!("{}: {}\n", found[0].code, best.title));
    }
    expect![[r#"
        ptx::missing-version: Add a header for sm_90
        ptx::unterminated-body: Close the body
        ptx::unknown-name: Change to `%laneid`
        ptx::unknown-name: Change to `%tid`
    "#]]
    .assert_eq(&out);
}

/// A host that compiles nothing shows the results of another one, for as long as the bodies are equal.
#[test]
fn what_another_host_has_compiled() {
    let text = ".version 8.0\n.target sm_90\n.entry k(.param .u64 p) {\n.reg .b32 %r<3>; .reg .b64 %d<2>;\n\
                ld.param.u64 %d1, [p];\nld.global.u32 %r1, [%d1];\nadd.u32 %r2, %r1, 7;\nst.global.u32 [%d1], %r2;\nret; }\n";
    let mut workshop = AnalysisHost::new();
    let mut reading = AnalysisHost::new().reading_from(&workshop);
    let settings = workshop.add_settings(Settings::default());
    assert_eq!(reading.add_settings(Settings::default()), settings);
    let file = workshop.open(Language::Ptx, text, settings);
    assert_eq!(reading.open(Language::Ptx, text, settings), file);
    let hover = |host: &AnalysisHost| {
        let analysis = host.analysis();
        let text = analysis.text(file).unwrap();
        let at = text.find("%r1, 7").unwrap() as u32;
        let hover = analysis.hover(file, at).unwrap().unwrap().text;
        let lacks = analysis.lacks().is_some_and(|lacks| lacks.anything());
        (hover.lines().find(|line| line.contains("on sm_90")).map(str::to_owned), lacks)
    };
    assert_eq!(hover(&reading), (None, true));
    let (fresh, lacks) = hover(&workshop);
    assert!(fresh.as_ref().is_some_and(|line| line.contains("`R")) && !lacks);
    assert_eq!(hover(&reading), (fresh.clone(), false));
    // A comment moves it and changes no meaning; another literal does.
    let insert = |host: &mut AnalysisHost, at: &str, new: &str| {
        let at = host.analysis().text(file).unwrap().find(at).unwrap() as u32;
        host.change(file, &[Change { range: Some(oriole_ide::Range::new(at, at)), text: new.to_owned() }]);
    };
    insert(&mut reading, "ld.global", "// here\n");
    assert_eq!(hover(&reading), (fresh.clone(), false));
    insert(&mut reading, "7;", "7");
    let stale = fresh.map(|line| line.replace("sm_90:", "sm_90 (stale):"));
    assert_eq!(hover(&reading), (stale, false));
}
