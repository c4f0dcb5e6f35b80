//! The features of the editor, each by one helper that turns a text with a cursor into text.

use crate::support::{HEAD, LOOP, fixture, kernel, kernel_text, scrub};
use expect_test::{Expect, expect};
use oriole_chip::Chip;
use oriole_ide::{Edit, Range, RegisterMarks};

fn check_diagnostics(text: &str, expected: Expect) {
    let fixture = fixture(text);
    let mut out = String::new();
    for diagnostic in fixture.analysis().diagnostics(fixture.file).unwrap() {
        let place = fixture.show(diagnostic.range);
        out.push_str(&format!(
            "{place} {} {:?}: {}\n",
            diagnostic.code, diagnostic.severity, diagnostic.message
        ));
        for related in diagnostic.related {
            out.push_str(&format!("  {} {}\n", fixture.show(related.range), related.message));
        }
    }
    expected.assert_eq(&out);
}

#[test]
fn diagnostics() {
    check_diagnostics(
        &kernel_text("    add.u32 %r1, %r2, %r99;\n    bra nowhere;\n    add.u32 %r1 %r2;\n    ret;"),
        expect![[r#"
            10: "%r99" ptx::unknown-name Error: no register is called `%r99`
            help: the range ends with `%r8`
            11: "nowhere" ptx::unknown-name Error: no label `nowhere` is visible here; labels of inner scopes are not
            12: "%r2" ptx::syntax Error: `;` expected, found `%r2`
        "#]],
    );
    check_diagnostics(
        &format!("{HEAD}.func f() {{ ret; }}\n.func f() {{ ret; }}\n"),
        expect![[r#"
        5: "f" ptx::duplicate-name Error: `f` is defined twice
          4: "f" the other declaration is here
    "#]],
    );
}

#[test]
fn code_diagnostics() {
    let fixture = kernel("    alloca.u64 %d1, 16, 24;\n    ret;");
    let found = fixture.analysis().code_diagnostics(fixture.file, Chip::SM_90).unwrap();
    let texts: Vec<String> =
        found.iter().map(|it| format!("{} {} {}", fixture.show(it.range), it.code, it.message)).collect();
    expect![[r#"10: "alloca.u64 %d1, 16, 24;" oriole::not-supported an alignment that is no power of two"#]]
        .assert_eq(&texts.join("\n"));
}

fn check_hover(fixture: crate::support::Fixture, expected: Expect) {
    let found = fixture.analysis().hover(fixture.file, fixture.at).unwrap();
    let text =
        found.map_or("nothing".to_owned(), |hover| format!("{}\n{}", fixture.show(hover.range), hover.text));
    // For machine code only its presence: its contents are not the editor's concern.
    let line = |line: &str| match line {
        line if line.starts_with("* `") && line.contains(" pipe, ") => "* machine code".to_owned(),
        line if line.starts_with("* on sm_90:") => scrub(line),
        line => line.to_owned(),
    };
    let lines: Vec<String> = text.lines().map(line).collect();
    expected.assert_eq(&lines.join("\n"));
}

#[test]
fn hover() {
    check_hover(
        kernel(&LOOP.replace("    add.u32", "    ad$0d.u32")),
        expect![[r#"
            15: "add.u32"
            ```ptx
            add.{u16,u32,u64,s16,s32,s64} d, a, b
            ```
            Adds; the result wraps.

            PTX 1.0, all chips

            Other forms:
            * `add[.{rn,rz,rm,rp}][.ftz][.sat].f32 d, a, b`: Adds.
            * `add[.{rn,rz,rm,rp}].f64 d, a, b`: Adds.
            * `add[.{rn,rz,rm,rp}][.ftz].f32x2 d, a, b`: Adds two pairs.
            * `add[.{rn,rz,rm,rp}][.sat].f32.{f16,bf16} d, a, c`: Adds a half to a single value.
            * `add[.rn][.ftz][.sat].{f16,f16x2} d, a, b`: Adds.
            * `add[.rn].{bf16,bf16x2} d, a, b`: Adds.
            * `add[.rn][.satfinite].{e4m3x4,e5m2x4}.{e4m3x4,e5m2x4,e2m3x4,e3m2x4,e2m1x4} d, a, b`: Adds packed FP8, FP6 or FP4 values to packed FP8.
            * `add[.sat].s32 d, a, b`: Adds and clamps to the range of `.s32`.
            * and 4 more

            **sm_90**:
            * machine code
            * machine code
            * machine code
            * machine code"#]],
    );
    check_hover(
        kernel(&LOOP.replace("add.u32 %r3", "add.u32 %r$03")),
        expect![[r#"
            15: "%r3"
            ```ptx
            .reg .b32 %r3
            ```
            * written 2 times: line 13, 15
            * read 2 times: line 15, 20
            * live at the start of line 15 to 20
            * on sm_#: `R5`"#]],
    );
    check_hover(
        kernel(&LOOP.replace("[%d2]", "[%d$02]")),
        expect![[r#"
            20: "%d2"
            ```ptx
            .reg .b64 %d2
            ```
            * written once: line 19
            * read once: line 20
            * live at the start of line 20
            * on sm_#: `R2` (bits #..#), `R3` (bits #..#)"#]],
    );
    check_hover(
        kernel(&LOOP.replace("%tid.x", "%ti$0d.x")),
        expect![[r#"
        12: "%tid.x"
        ```ptx
        .u32 %tid.x
        ```
        Special register. The index of the thread in its block."#]],
    );
    check_hover(
        kernel(&LOOP.replace("bra again", "bra a$0gain")),
        expect![[r#"
        18: "again"
        ```ptx
        again:
        ```
        Label, jumped to once."#]],
    );
    check_hover(
        kernel(&LOOP.replace("[p]", "[p$0]")),
        expect![[r#"
        10: "p"
        ```ptx
        .param .u64 p
        ```
        Parameter at byte 0 of the parameters, 8 bytes, used once."#]],
    );
    check_hover(
        kernel("    mov.u32 %r1, 0xdead$0beef;\n    ret;"),
        expect![[r#"
        10: "0xdeadbeef"
        * decimal: `3735928559`
        * signed, 32 bits: `-559038737`
        * hexadecimal: `0xdeadbeef`
        * octal: `033653337357`
        * binary: `0b11011110101011011011111011101111`
        * as .f32: `-6.2598534e18`"#]],
    );
    check_hover(
        kernel("    mov.f32 %f1, 0f3f$0800000;\n    ret;"),
        expect![[r#"
        10: "0f3f800000"
        * value: `1.0`
        * bits: `0x3f800000`
        * decimal bits: `1065353216`
        * as .f64: `0d3ff0000000000000`"#]],
    );
    check_hover(
        kernel("    .re$0g .b32 x;\n    ret;"),
        expect![[r#"
        10: ".reg"
        ```ptx
        .reg .b32 %r<n>;
        ```
        Declares registers: one name, several, or a range of numbered ones."#]],
    );
    check_hover(
        kernel("    mov.u32 %r1, %r7$07;\n    ret;"),
        expect![[r#"
            10: "%r77"
            **ptx::unknown-name**: A register, variable, label, parameter or function is used without a visible declaration. Names are visible from their declaration to the end of the scope that holds it; labels are visible in the whole scope."#]],
    );
    check_hover(
        fixture(&format!("{HEAD}.global .align 8 .b32 ta$0ble[4];\n")),
        expect![[r#"
            4: "table"
            ```ptx
            table
            ```
            Variable of the module: .global .b32, 16 bytes, aligned to 8."#]],
    );
}

fn check_navigation(fixture: crate::support::Fixture, expected: Expect) {
    let analysis = fixture.analysis();
    let mut out = String::new();
    for target in analysis.definition(fixture.file, fixture.at).unwrap() {
        out.push_str(&format!("defined {}\n", fixture.show(target.range)));
    }
    for found in analysis.references(fixture.file, fixture.at).unwrap() {
        out.push_str(&format!("{:?} {}\n", found.access, fixture.show(found.range)));
    }
    expected.assert_eq(&out);
}

#[test]
fn navigation() {
    check_navigation(
        kernel(&LOOP.replace("add.u32 %r3", "add.u32 %r$03")),
        expect![[r#"
        defined 7: "%r"
        Declare 7: "%r"
        Write 13: "%r3"
        Write 15: "%r3"
        Read 15: "%r3"
        Read 20: "%r3"
    "#]],
    );
    check_navigation(
        kernel(&LOOP.replace("bra again", "bra again$0")),
        expect![[r#"
        defined 14: "again"
        Declare 14: "again"
        Read 18: "again"
    "#]],
    );
    check_navigation(
        fixture(&format!(
            "{HEAD}.func (.reg .b32 r) f(.reg .b32 a) {{ mov.b32 r, a; ret; }}\n.entry k() {{ .reg .b32 x; call (x), f$0, (x); ret; }}\n"
        )),
        expect![[r#"
            defined 4: "f"
            Declare 4: "f"
            Call 5: "f"
        "#]],
    );
    check_navigation(
        kernel("    { .reg .b32 %r<2>; mov.b32 %r1, 0; }\n    mov.b32 %r$01, 0;\n    ret;"),
        expect![[r#"
        defined 7: "%r"
        Declare 7: "%r"
        Write 11: "%r1"
    "#]],
    );
}

fn check_rename(fixture: crate::support::Fixture, name: &str, expected: Expect) {
    let out = match fixture.analysis().rename(fixture.file, fixture.at, name).unwrap() {
        Err(error) => error.to_string(),
        Ok(edits) => {
            let edits: Vec<Edit> = edits.into_iter().map(|(_, edit)| edit).collect();
            let text = Edit::apply(&fixture.text, &edits);
            let changed = text.lines().zip(fixture.text.lines()).filter(|(new, old)| new != old);
            changed.map(|(new, _)| format!("{}\n", new.trim_start())).collect()
        }
    };
    expected.assert_eq(&out);
}

#[test]
fn rename() {
    let text = LOOP.replace("add.u32 %r3", "add.u32 %r$03");
    check_rename(
        kernel(&text),
        "%x3",
        expect![[r#"
                .reg .b32 %x<9>;
                ld.param.u32 %x1, [n];
                mov.u32 %x2, %tid.x;
                mov.u32 %x3, 0;
                add.u32 %x3, %x3, %x2;
                sub.u32 %x1, %x1, 1;
                setp.ne.u32 %p1, %x1, 0;
                st.global.u32 [%d2], %x3;
        "#]],
    );
    check_rename(
        kernel(&text),
        "%x4",
        expect!["`%r3` is one of a range of registers; declare it by itself to rename it alone"],
    );
    check_rename(kernel(&text), "%d3", expect!["`%d` already means something where this is used"]);
    check_rename(kernel(&text), "1x", expect!["`1x` is not a name of PTX"]);
    check_rename(
        kernel(&LOOP.replace("bra again", "bra ag$0ain")),
        "once_more",
        expect![[r#"
            once_more:
            @%p1 bra once_more;
        "#]],
    );
    check_rename(
        kernel(&LOOP.replace("[p]", "[p$0]")),
        "n",
        expect!["`n` already means something where this is used"],
    );
    check_rename(
        kernel(&LOOP.replace("%tid.x", "%ti$0d.x")),
        "x",
        expect!["there is nothing to rename here"],
    );
    let two = format!("{HEAD}.func f() {{ ret; }}\n.entry k() {{ call f$0; ret; }}\n");
    check_rename(
        fixture(&two),
        "g",
        expect![[r#"
        .func g() { ret; }
        .entry k() { call g; ret; }
    "#]],
    );
    check_rename(fixture(&two), "k", expect!["`k` already means something where this is used"]);
}

#[test]
fn symbols() {
    let fixture = fixture(&format!(
        "{HEAD}.global .b32 one, two[4];\n.func (.param .b32 r) f(.param .b32 a) {{ ret; }}\n.visible .entry k(.param .u64 p) {{ .reg .b32 %r<3>; done: ret; }}\n"
    ));
    let mut out = String::new();
    for symbol in fixture.analysis().symbols(fixture.file).unwrap() {
        out.push_str(&format!("{:?} {} {}\n", symbol.kind, symbol.name, symbol.detail));
        for child in symbol.children {
            out.push_str(&format!("  {:?} {} {}\n", child.kind, child.name, child.detail));
        }
    }
    for (_, symbol) in fixture.analysis().workspace_symbols("o").unwrap() {
        out.push_str(&format!("found {}\n", symbol.name));
    }
    expect![[r#"
        Variable one .global .b32, 4 bytes, aligned to 4
        Variable two .global .b32, 16 bytes, aligned to 4
        Function f (.b32) -> .b32
          Parameter r .param .b32
          Parameter a .param .b32
        Kernel k (.u64)
          Parameter p .param .u64
          Label done 
          Register %r<3> .reg .b32
        found one
        found two
    "#]]
    .assert_eq(&out);
}

#[test]
fn folding_and_selection() {
    let fixture = fixture(&format!(
        "{HEAD}// one\n// two\n.entry k(.param .u64 p)\n{{\n    {{\n        add.u32 a, b$0, c;\n    }}\n}}\n"
    ));
    let analysis = fixture.analysis();
    let mut out = String::new();
    for fold in analysis.folds(fixture.file).unwrap() {
        out.push_str(&format!("{:?} {}\n", fold.kind, fixture.show(fold.range)));
    }
    for range in analysis.selection(fixture.file, fixture.at).unwrap() {
        out.push_str(&format!("{}\n", fixture.show(range)));
    }
    expect![[r#"
        Header 1: ".version 8.0\n.target sm_90\n.address_size"
        Comment 4: "// one\n// two"
        Block 7: "{\n    {\n        add.u32 a, b, c;\n    }\n}"
        Block 8: "{\n        add.u32 a, b, c;\n    }"
        9: "b"
        9: "a, b, c"
        9: "add.u32 a, b, c;"
        8: "{\n        add.u32 a, b, c;\n    }"
        7: "{\n    {\n        add.u32 a, b, c;\n    }\n}"
        6: ".entry k(.param .u64 p)\n{\n    {\n        "
        1: ".version 8.0\n.target sm_90\n.address_size"
    "#]]
    .assert_eq(&out);
}

#[test]
fn tokens() {
    let fixture =
        kernel("    /* two\n lines */ @%p1 ld.global.u32 %r1, [%d1+4]; // end\n    mov.u32 %r2, %tid.x;");
    let analysis = fixture.analysis();
    let at = fixture.text.find("/*").unwrap() as u32;
    let all = analysis.tokens(fixture.file, None, &RegisterMarks::default()).unwrap();
    let some = analysis
        .tokens(fixture.file, Some(Range::new(at, fixture.text.len() as u32)), &RegisterMarks::default())
        .unwrap();
    assert!(all.ends_with(&some));
    assert!(all.windows(2).all(|pair| pair[0].range.end <= pair[1].range.start));
    let mut out = String::new();
    for token in some {
        let write = if token.modifiers.write { " written" } else { "" };
        out.push_str(&format!("{:?}{write} {}\n", token.kind, token.range.slice(&fixture.text)));
    }
    expect![[r#"
        Comment /* two
        Comment  lines */
        Operator @
        Predicate %p1
        Opcode ld
        Space .global
        Type .u32
        Register written %r1
        Register %d1
        Operator +
        Number 4
        Comment // end
        Opcode mov
        Type .u32
        Register written %r2
        Special %tid.x
    "#]]
    .assert_eq(&out);
}

#[test]
fn numbers_of_a_table() {
    let table = "\n.global .b32 table[3] = {1, 0x2$0a,\n3};\n";
    check_hover(
        fixture(&format!("{HEAD}{table}")),
        expect![[r#"
            5: "0x2a"
            * decimal: `42`
            * hexadecimal: `0x2a`
            * octal: `052`
            * binary: `0b101010`"#]],
    );
    let fixture = fixture(&format!("{HEAD}{table}"));
    let analysis = fixture.analysis();
    let mut out = String::new();
    for token in analysis.tokens(fixture.file, None, &RegisterMarks::default()).unwrap() {
        if token.kind == oriole_ide::TokenKind::Number {
            out.push_str(&format!("{} ", token.range.slice(&fixture.text)));
        }
    }
    out.push('\n');
    for range in analysis.selection(fixture.file, fixture.at).unwrap().iter().take(3) {
        out.push_str(&format!("{}\n", fixture.show(*range)));
    }
    expect![[r#"
        8.0 64 3 1 0x2a 3 
        5: "0x2a"
        5: "1, 0x2a,\n3"
        5: "{1, 0x2a,\n3}"
    "#]]
    .assert_eq(&out);
}

#[test]
fn calls() {
    let fixture = fixture(&format!(
        "{HEAD}.func f() {{ ret; }}\n.func g() {{ call f; ret; }}\n.entry k() {{ call g; call f; call g$0; ret; }}\n"
    ));
    let analysis = fixture.analysis();
    let item = analysis.call_item(fixture.file, fixture.at).unwrap().unwrap();
    let mut out = format!("{}\n", item.name);
    for call in analysis.incoming_calls(fixture.file, &item.name).unwrap() {
        out.push_str(&format!("from {} {}\n", call.item.name, call.ranges.len()));
    }
    for call in analysis.outgoing_calls(fixture.file, &item.name).unwrap() {
        out.push_str(&format!("to {} {}\n", call.item.name, call.ranges.len()));
    }
    expect![[r#"
        g
        from k 2
        to f 1
    "#]]
    .assert_eq(&out);
}

#[test]
fn links() {
    let fixture = fixture(&format!("{HEAD}.entry k() {{\n.loc 1 7 3\nret;\n}}\n.file 1 \"/src/a.cu\"\n"));
    let mut out = String::new();
    for link in fixture.analysis().links(fixture.file).unwrap() {
        out.push_str(&format!(
            "{} -> {}:{}:{}\n",
            fixture.show(link.range),
            link.path,
            link.line,
            link.column
        ));
    }
    expect![[r#"
        8: ".file 1 \"/src/a.cu\"" -> /src/a.cu:0:0
        5: ".loc 1 7 3" -> /src/a.cu:7:3
    "#]]
    .assert_eq(&out);
}
