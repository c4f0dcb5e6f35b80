//! The features of the editor, each by one helper that turns a text with a cursor into text.

use crate::support::{HEAD, fixture, fixture_in, kernel, kernel_text, show};
use expect_test::{Expect, expect};
use oriole_chip::Chip;
use oriole_ide::{Change, CompletionKind, Edit, HintOptions, Language, Range, RegisterMarks};

/// Without the figures that depend on how good the code is: a better scheduler must not fail a test of the editor.
fn scrub(text: &str) -> String {
    let mut out = String::new();
    for word in text.split_inclusive(|c: char| !c.is_alphanumeric()) {
        let digits = word.trim_end_matches(|c: char| !c.is_alphanumeric());
        let number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        out.push_str(&if number { word.replace(digits, "#") } else { word.to_owned() });
    }
    out
}

fn check_findings(text: &str, expected: Expect) {
    let fixture = fixture(text);
    let mut out = String::new();
    for finding in fixture.analysis().findings(fixture.file).unwrap() {
        let place = fixture.show(finding.range);
        out.push_str(&format!("{place} {} {:?}: {}\n", finding.code, finding.severity, finding.message));
        for related in finding.related {
            out.push_str(&format!("  {} {}\n", fixture.show(related.range), related.message));
        }
    }
    expected.assert_eq(&out);
}

#[test]
fn findings() {
    check_findings(
        &kernel_text("    add.u32 %r1, %r2, %r99;\n    bra nowhere;\n    add.u32 %r1 %r2;\n    ret;"),
        expect![[r#"
            10: "%r99" ptx::unknown-name Error: no register is called `%r99`
            11: "nowhere" ptx::unknown-name Error: no label `nowhere` is visible here; labels of inner scopes are not
            12: "%r2" ptx::syntax Error: `;` expected, found `%r2`
        "#]],
    );
    check_findings(
        &format!("{HEAD}.func f() {{ ret; }}\n.func f() {{ ret; }}\n"),
        expect![[r#"
        5: "f" ptx::duplicate-name Error: `f` is defined twice
          4: "f" the other declaration is here
    "#]],
    );
}

#[test]
fn code_findings() {
    let fixture = kernel("    txq.width.b32 %r1, [%d1];\n    ret;");
    let found = fixture.analysis().code_findings(fixture.file, Chip::SM_90).unwrap();
    let texts: Vec<String> =
        found.iter().map(|it| format!("{} {} {}", fixture.show(it.range), it.code, it.message)).collect();
    expect![[r#"10: "txq.width.b32 %r1, [%d1];" oriole::not-supported `txq.width.b32` is not supported"#]]
        .assert_eq(&texts.join("\n"));
}

fn check_hover(fixture: crate::support::Fixture, expected: Expect) {
    let found = fixture.analysis().hover(fixture.file, fixture.at).unwrap();
    let text =
        found.map_or("nothing".to_owned(), |hover| format!("{}\n{}", fixture.show(hover.range), hover.text));
    // Of machine code only that it is there: which one it is, is not the editor's business.
    let line = |line: &str| match line {
        line if line.starts_with("* `") && line.contains(" pipe, ") => "* machine code".to_owned(),
        line if line.starts_with("* on sm_90:") => scrub(line),
        line => line.to_owned(),
    };
    let lines: Vec<String> = text.lines().map(line).collect();
    expected.assert_eq(&lines.join("\n"));
}

const LOOP: &str = "    ld.param.u64 %d1, [p];\n    ld.param.u32 %r1, [n];\n    mov.u32 %r2, %tid.x;\n    mov.u32 %r3, 0;\n\
again:\n    add.u32 %r3, %r3, %r2;\n    sub.u32 %r1, %r1, 1;\n    setp.ne.u32 %p1, %r1, 0;\n    @%p1 bra again;\n\
    cvta.to.global.u64 %d2, %d1;\n    st.global.u32 [%d2], %r3;\n    ret;";

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
            * `add[.sat].s32 d, a, b`: Adds and clamps to the range of `.s32`.
            * `add.{u16x2,s16x2} d, a, b`: Adds two packed pairs of halves.
            * and 1 more

            **sm_90**:
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
            * on sm_#: `R3`"#]],
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
            * on sm_#: `R4` (bits #..#), `R5` (bits #..#)"#]],
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
        **ptx::unknown-name**: A register, variable, label, parameter or function is used that no visible declaration gives. Names are visible from their declaration to the end of the scope that holds it; labels are visible in the whole scope."#]],
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

fn check_completion(fixture: crate::support::Fixture, most: usize, expected: Expect) {
    let found = fixture.analysis().completions(fixture.file, fixture.at).unwrap();
    let mut out = format!("{}\n", found.len());
    for item in found.iter().take(most) {
        let detail = if item.kind == CompletionKind::Opcode { "" } else { &item.detail };
        out.push_str(&format!("{:?} {} {detail}\n", item.kind, item.label));
    }
    expected.assert_eq(&out);
}

#[test]
fn completion() {
    check_completion(
        kernel("    fm$0"),
        3,
        expect![[r#"
        1
        Opcode fma 
    "#]],
    );
    check_completion(
        kernel("    fma.$0"),
        9,
        expect![[r#"
            4
            Modifier rm fma.{rn,rz,rm,rp}[.ftz][.sat].f32 d, a, b, c
            Modifier rn fma.{rn,rz,rm,rp}[.ftz][.sat].f32 d, a, b, c
            Modifier rp fma.{rn,rz,rm,rp}[.ftz][.sat].f32 d, a, b, c
            Modifier rz fma.{rn,rz,rm,rp}[.ftz][.sat].f32 d, a, b, c
        "#]],
    );
    check_completion(
        kernel("    fma.rn.$0"),
        9,
        expect![[r#"
            11
            Modifier f64 fma.{rn,rz,rm,rp}.f64 d, a, b, c
            Modifier ftz fma.{rn,rz,rm,rp}[.ftz][.sat].f32 d, a, b, c
            Modifier bf16 fma.rn[.relu].{bf16,bf16x2} d, a, b, c
            Modifier bf16x2 fma.rn[.relu].{bf16,bf16x2} d, a, b, c
            Modifier relu fma.rn[.ftz].relu.{f16,f16x2} d, a, b, c
            Modifier sat fma.{rn,rz,rm,rp}[.ftz][.sat].f32 d, a, b, c
            Modifier f16 fma.rn[.ftz][.sat].{f16,f16x2} d, a, b, c
            Modifier f16x2 fma.rn[.ftz][.sat].{f16,f16x2} d, a, b, c
            Modifier f32 fma.{rn,rz,rm,rp}[.ftz][.sat].f32 d, a, b, c
        "#]],
    );
    check_completion(
        kernel("    ld.global.$0"),
        6,
        expect![[r#"
            36
            Modifier L1::evict_first ld[.weak][.global][.{L1::evict_normal,L1::evict_unchanged,L1::evict_first,L1::evict_last,L1::no_allocate}][.L2::cache_hint][.{L2::64B,L2::128B,L2::256B}][.{v2,v4,v8}].{b8,b16,b32,b64,b128,u8,u16,u32,u64,s8,s16,s32,s64,f32,f64} d, [a], [cache_policy]
            Modifier L1::evict_last ld[.weak][.global][.{L1::evict_normal,L1::evict_unchanged,L1::evict_first,L1::evict_last,L1::no_allocate}][.L2::cache_hint][.{L2::64B,L2::128B,L2::256B}][.{v2,v4,v8}].{b8,b16,b32,b64,b128,u8,u16,u32,u64,s8,s16,s32,s64,f32,f64} d, [a], [cache_policy]
            Modifier L1::evict_normal ld[.weak][.global][.{L1::evict_normal,L1::evict_unchanged,L1::evict_first,L1::evict_last,L1::no_allocate}][.L2::cache_hint][.{L2::64B,L2::128B,L2::256B}][.{v2,v4,v8}].{b8,b16,b32,b64,b128,u8,u16,u32,u64,s8,s16,s32,s64,f32,f64} d, [a], [cache_policy]
            Modifier L1::evict_unchanged ld[.weak][.global][.{L1::evict_normal,L1::evict_unchanged,L1::evict_first,L1::evict_last,L1::no_allocate}][.L2::cache_hint][.{L2::64B,L2::128B,L2::256B}][.{v2,v4,v8}].{b8,b16,b32,b64,b128,u8,u16,u32,u64,s8,s16,s32,s64,f32,f64} d, [a], [cache_policy]
            Modifier L1::no_allocate ld[.weak][.global][.{L1::evict_normal,L1::evict_unchanged,L1::evict_first,L1::evict_last,L1::no_allocate}][.L2::cache_hint][.{L2::64B,L2::128B,L2::256B}][.{v2,v4,v8}].{b8,b16,b32,b64,b128,u8,u16,u32,u64,s8,s16,s32,s64,f32,f64} d, [a], [cache_policy]
            Modifier ca ld[.weak][.{const,global,local,shared,shared::cluster,param,param}][.{ca,cg,cs,lu,cv}][.{v2,v4,v8}].{b8,b16,b32,b64,b128,u8,u16,u32,u64,s8,s16,s32,s64,f32,f64} d, [a]
        "#]],
    );
    check_completion(
        kernel("    add.f32 %f1, $0"),
        9,
        expect![[r#"
        3
        Register %f1 .reg .f32
        Register %f0 .reg .f32, not used yet
        Register %r0 .reg .b32, not used yet
    "#]],
    );
    check_completion(
        kernel("    mov.u32 %r1, %$0"),
        4,
        expect![[r#"
        26
        Register %r1 .reg .b32
        Register %r0 .reg .b32, not used yet
        Constant %clock .u32
        Constant %clock64 .u64
    "#]],
    );
    check_completion(
        kernel("    ld.param.u32 %r1, [$0"),
        9,
        expect![[r#"
        5
        Register %d0 .reg .b64, not used yet
        Register %r1 .reg .b32
        Variable n .param .u32
        Variable p .param .u64
        Register %r0 .reg .b32, not used yet
    "#]],
    );
    check_completion(
        kernel("    @$0"),
        9,
        expect![[r#"
            1
            Register %p0 .reg .pred, not used yet
        "#]],
    );
    check_completion(
        kernel("one: two: bra $0"),
        9,
        expect![[r#"
        2
        Label one label
        Label two label
    "#]],
    );
    check_completion(
        fixture(".version 8.0\n.target sm_9$0"),
        3,
        expect![[r#"
        3
        Constant sm_90 Oriole makes code for it
        Constant sm_90a Oriole makes code for it
        Constant sm_89 
    "#]],
    );
    check_completion(
        kernel("    .reg .b$0"),
        9,
        expect![[r#"
        5
        Modifier .b128 128 bits
        Modifier .b16 16 bits
        Modifier .b32 32 bits
        Modifier .b64 64 bits
        Modifier .b8 8 bits
    "#]],
    );
    check_completion(
        fixture(&format!("{HEAD}.en$0")),
        2,
        expect![[r#"
        4
        Directive .entry .entry name(parameters) { }
        Directive .extern .extern
    "#]],
    );
}

#[test]
fn signature_help() {
    let fixture = kernel("    fma.rn.f32 %f1, %f2, $0");
    let help = fixture.analysis().signature_help(fixture.file, fixture.at).unwrap().unwrap();
    let first = &help.signatures[0];
    let active = first.parameters[help.active as usize];
    let operand = &first.label[active.0 as usize..active.1 as usize];
    expect!["fma.{rn,rz,rm,rp}[.ftz][.sat].f32 d, a, b, c `b` Multiplies and adds with one rounding. PTX 2.0, `sm_20` or later"].assert_eq(&format!("{} `{operand}` {}", first.label, first.documentation));
}

fn check_fixes(fixture: crate::support::Fixture, expected: Expect) {
    let at = Range::point(fixture.at);
    let mut out = String::new();
    for fix in fixture.analysis().fixes(fixture.file, at).unwrap() {
        let text = Edit::apply(&fixture.text, &fix.edits);
        let old: Vec<&str> = fixture.text.lines().collect();
        let changed = text.lines().find(|line| !old.contains(line)).unwrap_or("");
        out.push_str(&format!("{}: {changed}\n", fix.title));
    }
    expected.assert_eq(&out);
}

#[test]
fn fixes() {
    check_fixes(
        kernel("    mov.u32 %r1, %r12$0;\n    ret;"),
        expect![[r#"
        Make it `%r<13>`:     .reg .b32 %r<13>;
        Declare `.reg .u32 %r12;`:     .reg .u32 %r12;
    "#]],
    );
    check_fixes(
        kernel("    setp.eq.u32 $0q, %r1, %r2;\n    ret;"),
        expect![[r#"
            Declare `.reg .pred q;`:     .reg .pred q;
        "#]],
    );
    check_fixes(
        kernel("    ad$0.u32 %r1, %r1, %r2;\n    ret;"),
        expect![[r#"
        Change to `add`:     add.u32 %r1, %r1, %r2;
        Change to `and`:     and.u32 %r1, %r1, %r2;
        Change to `ld`:     ld.u32 %r1, %r1, %r2;
    "#]],
    );
    check_fixes(
        kernel("    mul.u$032 %r1, %r1, %r2;\n    ret;"),
        expect![[r#"
            Change to `.f32`:     mul.f32 %r1, %r1, %r2;
            Add `.lo`:     mul.lo.u32 %r1, %r1, %r2;
            Add `.hi`:     mul.hi.u32 %r1, %r1, %r2;
            Add `.wide`:     mul.wide.u32 %r1, %r1, %r2;
        "#]],
    );
    check_fixes(
        kernel("    add.f$0tz.u32 %r1, %r1, %r2;\n    ret;"),
        expect![[r#"
        Remove `.ftz`:     add.u32 %r1, %r1, %r2;
    "#]],
    );
    check_fixes(
        kernel("    add.u32 %r1, %r1, %r2\n    $0ret;"),
        expect![[r#"
        Insert `;`:     add.u32 %r1, %r1, %r2;
    "#]],
    );
    check_fixes(
        fixture("$0.entry k() { ret; }\n"),
        expect![[r#"
        Add a header for sm_90: .version 8.0
    "#]],
    );
    let old = ".version 7.0
.target sm_80
.entry k() {
    barrier.cluster.arri$0ve;
    ret;
}
";
    check_fixes(
        fixture(old),
        expect![[r#"
        Change `.target` to sm_90: .target sm_90
    "#]],
    );
    check_fixes(
        fixture(&old.replace("sm_80", "sm_90")),
        expect![[r#"
        Raise `.version` to 7.8: .version 7.8
    "#]],
    );
    check_fixes(
        kernel(
            "    bra don$0;
done:
    ret;",
        ),
        expect![[r#"
            Change to `done`:     bra done;
        "#]],
    );
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

#[test]
fn hints_and_lenses() {
    let mut fixture = kernel(LOOP);
    let hints = |fixture: &crate::support::Fixture, text: &str| {
        let analysis = fixture.analysis();
        let all = Range::new(0, text.len() as u32);
        let mut out = String::new();
        for hint in analysis.hints(fixture.file, all, HintOptions::default()).unwrap() {
            let parts: Vec<String> = hint.parts.into_iter().map(|part| scrub(&part.1)).collect();
            let line = text[..hint.at as usize].matches('\n').count() + 1;
            let stale = if hint.stale { " stale" } else { "" };
            out.push_str(&format!("{line}{stale}: {}\n", parts.join(", ")));
        }
        for lens in analysis.lenses(fixture.file).unwrap() {
            let lens = analysis.lens(fixture.file, &lens.kernel, Chip::SM_90).unwrap().unwrap();
            let title = scrub(&lens.title().unwrap_or_default());
            out.push_str(&format!("{} {title}\n", show(text, lens.range)));
        }
        out
    };
    expect![[r#"
        10: # live, # SASS, # cyc
        11: # live, # SASS, # cyc
        12: # live, # SASS, # cyc
        13: # SASS
        15: # live, # SASS, # cyc
        16: # live, # SASS, # cyc
        17: # live, # SASS, # cyc
        18: # live, # SASS, # cyc
        19: # live, # SASS, # cyc
        20: # live, # SASS, # cyc
        21: # live, # SASS, # cyc
        4: "k" sm_#: # registers, # B shared, # B stack, # spills, #/# warps at # threads, ~# cycles
    "#]]
    .assert_eq(&hints(&fixture, &fixture.text));
    // A slip: what was known stays, marked, and moves with the text; the statement that was touched has none.
    let at = fixture.text.find("add.u32").unwrap();
    let changed =
        format!("{}// a line\n    add.u32 %r3 %r3{}", &fixture.text[..at], &fixture.text[at + 12..]);
    fixture.host.change(fixture.file, &[Change { range: None, text: changed.clone() }]);
    expect![[r#"
        10 stale: # live, # SASS, # cyc
        11 stale: # live, # SASS, # cyc
        12 stale: # live, # SASS, # cyc
        13 stale: # SASS
        17 stale: # live, # SASS, # cyc
        18 stale: # live, # SASS, # cyc
        19 stale: # live, # SASS, # cyc
        20 stale: # live, # SASS, # cyc
        21 stale: # live, # SASS, # cyc
        22 stale: # live, # SASS, # cyc
        4: "k" sm_# (stale): # registers, # B shared, # B stack, # spills, #/# warps at # threads, ~# cycles
    "#]]
    .assert_eq(&hints(&fixture, &changed));
    // Each part can be switched off.
    let off = HintOptions { live: false, instructions: false, stalls: false, spills: false };
    let all = Range::new(0, changed.len() as u32);
    assert_eq!(fixture.analysis().hints(fixture.file, all, off).unwrap(), []);
}

#[test]
fn figures_say_why() {
    let fixture = kernel(LOOP);
    let analysis = fixture.analysis();
    let found = analysis.kernel_statistics(fixture.file, "k", Chip::SM_90).unwrap().unwrap();
    assert!(
        found.why[0].contains("are live at once at line") && found.why[0].contains("%r1"),
        "{:?}",
        found.why
    );
    let all = Range::new(0, fixture.text.len() as u32);
    let hints = analysis.hints(fixture.file, all, HintOptions::default()).unwrap();
    assert!(hints.iter().flat_map(|hint| &hint.why).any(|why| why.contains("reads")));
    // More values than registers: the lens, the finding and the hint say whose are spilled.
    let mut body = String::from("    .reg .f32 %x<64>;\n    ld.param.u64 %d1, [p];\n");
    (0..40).for_each(|at| body.push_str(&format!("    ld.volatile.global.f32 %x{at}, [%d1+{}];\n", 4 * at)));
    (0..40).for_each(|at| {
        body.push_str(&format!("    st.volatile.global.f32 [%d1+{}], %x{};\n", 4 * at, 39 - at))
    });
    let text = kernel_text(&format!("{body}    ret;")).replace("\n{\n", "\n.maxnreg 24\n{\n");
    let fixture = crate::support::fixture(&text);
    let analysis = fixture.analysis();
    let found = analysis.kernel_statistics(fixture.file, "k", Chip::SM_90).unwrap().unwrap();
    assert!(
        found.spills.0 > 0 && found.why.iter().any(|why| why.contains("are spilled, because")),
        "{:?}",
        found.why
    );
    let findings = analysis.code_findings(fixture.file, Chip::SM_90).unwrap();
    assert!(findings[0].message.contains("spilled") && !findings[0].related.is_empty());
}

#[test]
fn sass() {
    let mut fixture = kernel(LOOP);
    let found = fixture.analysis().sass(fixture.file, "k", Chip::SM_90).unwrap().unwrap();
    assert!(!found.stale && found.rows.iter().enumerate().all(|(at, row)| row.address as usize == 16 * at));
    // What must be there whatever the scheduler does: the store, the branch and the end, each with its statement.
    let mut out = String::new();
    for row in &found.rows {
        let mnemonic = row.text.split([' ', '.']).find(|word| !word.starts_with('@')).unwrap_or_default();
        if ["STG", "ISETP", "EXIT"].contains(&mnemonic) {
            let place = row.source.map_or("-".to_owned(), |range| fixture.show(range));
            out.push_str(&format!("{mnemonic} {place}\n"));
        }
    }
    expect![[r#"
        ISETP 17: "setp.ne.u32 %p1, %r1, 0;"
        STG 20: "st.global.u32 [%d2], %r3;"
        EXIT 21: "ret;"
    "#]]
    .assert_eq(&out);
    assert!(found.rows.iter().any(|row| row.why.iter().any(|why| why.contains("because"))));
    assert!(found.rows.iter().any(|row| row.loop_depth == 1 && row.live.is_some_and(|live| live.0 > 0)));
    assert!(found.text().starts_with("// k for sm_90, "));
    // While the text does not compile, the last good code stays and says so; its map follows the text.
    let changed =
        fixture.text.replace("    ld.param.u64", "// one\n    ld.param.u64").replace("ret;", "rett;");
    fixture.host.change(fixture.file, &[Change { range: None, text: changed.clone() }]);
    let stale = fixture.analysis().sass(fixture.file, "k", Chip::SM_90).unwrap().unwrap();
    assert!(stale.stale && stale.text().contains("stale") && stale.rows.len() == found.rows.len());
    // What was never good has nothing to show.
    fixture.host.change(fixture.file, &[Change { range: None, text: changed.replace("entry k", "entry z") }]);
    assert_eq!(fixture.analysis().sass(fixture.file, "z", Chip::SM_90).unwrap(), None);
}

#[test]
fn liveness_at_a_place() {
    let fixture = kernel(&LOOP.replace("    add.u32", "    ad$0d.u32"));
    let found = fixture.analysis().liveness(fixture.file, fixture.at, Chip::SM_90).unwrap().unwrap();
    let names: Vec<&str> = found.registers.iter().map(|live| live.name.as_str()).collect();
    assert_eq!(fixture.show(found.statement), "15: \"add.u32 %r3, %r3, %r2;\"");
    assert!(found.live.0 >= 3 && names.contains(&"%r3") && found.peak.0 >= found.live.0, "{names:?}");
}

#[test]
fn inline_ptx_of_cuda() {
    let text = "__device__ int f(int a) {\n  int b;\n  asm volatile(\"{\\n\\t.reg .b32 t;\\n\\t\"\n      \"ad$0d.u32 t, %1, %2;\\n\\t\"\n      \
                \"mov.u32 %0, u;\\n\\t}\" : \"=r\"(b) : \"r\"(a), \"n\"(3));\n  return b;\n}\n";
    let fixture = fixture_in(Language::Cuda, text);
    let analysis = fixture.analysis();
    let mut out = String::new();
    for finding in analysis.findings(fixture.file).unwrap() {
        out.push_str(&format!("{} {}\n", fixture.show(finding.range), finding.message));
    }
    let hover = analysis.hover(fixture.file, fixture.at).unwrap().unwrap();
    out.push_str(&format!("{}\n{}\n", fixture.show(hover.range), hover.text));
    for token in analysis.tokens(fixture.file, None, &RegisterMarks::default()).unwrap() {
        out.push_str(&format!("{:?} {}; ", token.kind, token.range.slice(&fixture.text)));
    }
    expect![[r#"
        5: "u" no register or variable is called `u`
        4: "add.u32"
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
        * `add[.sat].s32 d, a, b`: Adds and clamps to the range of `.s32`.
        * `add.{u16x2,s16x2} d, a, b`: Adds two packed pairs of halves.
        * and 1 more
        Space .reg; Type .b32; Register t; Opcode add; Type .u32; Register t; Register %1; Number %2; Opcode mov; Type .u32; Register %0; Variable u; "#]].assert_eq(&out);
}

#[test]
fn views() {
    let fixture = kernel("    mov.u32 %r1, %tid.x;\n    ret;");
    let analysis = fixture.analysis();
    let at = fixture.text.find("mov").unwrap() as u32;
    let tree = analysis.syntax_tree(fixture.file, Some(Range::new(at, at + 3))).unwrap();
    fn dump(node: &oriole_ide::TreeNode, depth: usize, out: &mut String) {
        let text = node.text.as_ref().map_or(String::new(), |text| format!(" {text:?}"));
        out.push_str(&format!("{}{}{text}\n", "  ".repeat(depth), node.kind));
        node.children.iter().for_each(|child| dump(child, depth + 1, out));
    }
    let mut out = String::new();
    tree.iter().for_each(|node| dump(node, 0, &mut out));
    let ori = analysis.ori(fixture.file, "k", Chip::SM_90, "0").unwrap().unwrap_or_else(|error| error);
    assert!(ori.contains("EXIT"));
    out.push_str(&format!("{}\n", ori.lines().next().unwrap()));
    out.push_str(
        &analysis.ori(fixture.file, "k", Chip::SM_90, "nothing").unwrap().unwrap_or_else(|error| error),
    );
    expect![[r#"
        UNIT
          FUNCTION
            BLOCK
              INSTRUCTION
                OPCODE
                  IDENT "mov"
        // k for sm_90 after 0 OriCheckInitialProgram
        there is no phase `nothing`"#]]
    .assert_eq(&out);
}

#[test]
fn a_cubin_as_text() {
    let fixture = kernel("    ret;");
    let bytes = fixture.analysis().cubin(fixture.file, Chip::SM_90).unwrap().unwrap();
    let found = oriole_ide::annotate(&bytes).unwrap();
    assert_eq!(found.text.lines().count(), found.lines.len());
    let line = found.text.lines().position(|line| line.contains("EXIT")).unwrap();
    expect![[r#"
        // cubin for sm_90

        k: // 2 registers, 0 bytes shared, frame 0, stack 0, 0 barriers
            /*0000*/ [------:R-:W-:-:S05] EXIT
            /*0010*/ [------:R-:W-:Y:S00] BRA 0x10
        ```
        EXIT
        ```
        control pipe, no result

        * word `0x000fea0003800000000000000000794d`
        * stalls 5 cycles"#]]
    .assert_eq(&format!(
        "{}\n{}",
        found.text.lines().take(5).collect::<Vec<_>>().join("\n"),
        found.lines[line].hover.as_ref().unwrap()
    ));
    assert!(oriole_ide::annotate(b"no cubin").is_err());
}
