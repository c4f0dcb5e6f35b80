//! Aids for typing: completion, signatures, fixes.

use crate::support::{Fixture, HEAD, fixture, kernel};
use expect_test::{Expect, expect};
use oriole_ide::{Completion, CompletionKind, Edit, Range, Style, Subject};

fn check_completion(fixture: Fixture, most: usize, expected: Expect) {
    let found = fixture.analysis().completions(fixture.file, fixture.at).unwrap();
    let mut out = format!("{}\n", found.len());
    for item in found.iter().take(most) {
        let detail = if item.kind == CompletionKind::Opcode { "" } else { &item.detail };
        out.push_str(&format!("{:?} {} {detail}\n", item.kind, item.label));
    }
    expected.assert_eq(&out);
}

/// A kernel with this statement, and the completion with this label at its cursor.
fn offered(statement: &str, label: &str) -> (Fixture, Completion) {
    let fixture = kernel(statement);
    let found = fixture.analysis().completions(fixture.file, fixture.at).unwrap();
    let item = found.into_iter().find(|item| item.label == label).expect(label);
    (fixture, item)
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
            7
            Modifier rm fma.{rn,rz,rm,rp}[.ftz][.sat].f32 d, a, b, c
            Modifier rn fma.{rn,rz,rm,rp}[.ftz][.sat].f32 d, a, b, c
            Modifier rp fma.{rn,rz,rm,rp}[.ftz][.sat].f32 d, a, b, c
            Modifier rz fma.{rn,rz,rm,rp}[.ftz][.sat].f32 d, a, b, c
            Modifier satfinite fma[.rn][.satfinite].{e4m3x4,e5m2x4}.{e4m3x4,e5m2x4,e2m3x4,e3m2x4,e2m1x4}.{e4m3x4,e5m2x4,e2m3x4,e3m2x4,e2m1x4} d, a, b, c
            Modifier e4m3x4 fma[.rn][.satfinite].{e4m3x4,e5m2x4}.{e4m3x4,e5m2x4,e2m3x4,e3m2x4,e2m1x4}.{e4m3x4,e5m2x4,e2m3x4,e3m2x4,e2m1x4} d, a, b, c
            Modifier e5m2x4 fma[.rn][.satfinite].{e4m3x4,e5m2x4}.{e4m3x4,e5m2x4,e2m3x4,e3m2x4,e2m1x4}.{e4m3x4,e5m2x4,e2m3x4,e3m2x4,e2m1x4} d, a, b, c
        "#]],
    );
    check_completion(
        kernel("    fma.rn.$0"),
        9,
        expect![[r#"
            14
            Modifier f64 fma.{rn,rz,rm,rp}.f64 d, a, b, c
            Modifier ftz fma.{rn,rz,rm,rp}[.ftz][.sat].f32 d, a, b, c
            Modifier oob fma.rn.oob[.relu].{f16,f16x2,bf16,bf16x2} d, a, b, c
            Modifier satfinite fma[.rn][.satfinite].{e4m3x4,e5m2x4}.{e4m3x4,e5m2x4,e2m3x4,e3m2x4,e2m1x4}.{e4m3x4,e5m2x4,e2m3x4,e3m2x4,e2m1x4} d, a, b, c
            Modifier bf16 fma.rn[.relu].{bf16,bf16x2} d, a, b, c
            Modifier bf16x2 fma.rn[.relu].{bf16,bf16x2} d, a, b, c
            Modifier e4m3x4 fma[.rn][.satfinite].{e4m3x4,e5m2x4}.{e4m3x4,e5m2x4,e2m3x4,e3m2x4,e2m1x4}.{e4m3x4,e5m2x4,e2m3x4,e3m2x4,e2m1x4} d, a, b, c
            Modifier e5m2x4 fma[.rn][.satfinite].{e4m3x4,e5m2x4}.{e4m3x4,e5m2x4,e2m3x4,e3m2x4,e2m1x4}.{e4m3x4,e5m2x4,e2m3x4,e3m2x4,e2m1x4} d, a, b, c
            Modifier f32x2 fma.{rn,rz,rm,rp}[.ftz].f32x2 d, a, b, c
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
            Modifier ca ld[.weak][.{const,global,local,shared,shared::cluster,param}][.{ca,cg,cs,lu,cv}][.{v2,v4,v8}].{b8,b16,b32,b64,b128,u8,u16,u32,u64,s8,s16,s32,s64,f32,f64} d, [a]
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
            Constant sm_89 Oriole makes code for it
            Constant sm_90 Oriole makes code for it
            Constant sm_90a Oriole makes code for it
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
            9
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

fn check_fixes(fixture: Fixture, expected: Expect) {
    let at = Range::point(fixture.at);
    let mut out = String::new();
    for fix in fixture.analysis().fixes(fixture.file, at).unwrap() {
        let text = Edit::apply(&fixture.text, &fix.edits);
        let old: Vec<&str> = fixture.text.lines().collect();
        let changed: Vec<&str> = text.lines().filter(|line| !old.contains(line)).collect();
        out.push_str(&format!("{}: {}\n", fix.title, changed.join(" / ")));
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
            Add a header for sm_90: .version 8.0 / .target sm_90 / .address_size 64
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
            Change `.target` to sm_90: .version 7.8 / .target sm_90
        "#]],
    );
    // A feature of a whole family raises the target to the family, with a version that may name it.
    check_fixes(
        fixture(
            &old.replace("7.0", "8.6").replace("barrier.cluster.arri$0ve", "tcgen05.wai$0t::ld.sync.aligned"),
        ),
        expect![[r#"
            Change `.target` to sm_100f: .version 8.8 / .target sm_100f
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

/// The completions at the cursor of a file.
fn labels(text: &str) -> Vec<String> {
    let fixture = fixture(text);
    let found = fixture.analysis().completions(fixture.file, fixture.at).unwrap();
    found.into_iter().map(|item| item.label).collect()
}

/// A component of a special register is completed with the register: the whole word is replaced.
#[test]
fn components_of_special_registers() {
    for typed in ["%tid.", "%tid.x", "%ti"] {
        let (fixture, item) = offered(&format!("    mov.u32 %r1, {typed}$0"), "%tid.x");
        assert_eq!(
            (item.edit.range.start, item.edit.range.end),
            (fixture.at - typed.len() as u32, fixture.at),
            "{typed}"
        );
    }
}

/// The letters after the cursor belong to the word, as far as they are of it.
#[test]
fn whole_words_are_replaced() {
    let mut out = String::new();
    for (typed, label) in [
        ("    fm$0a.rn.f32 %f1, %f2, %f3, %f1;", "fma"),
        ("    ld.glo$0bal.u32 %r1, [%d1];", "global"),
        ("    ld.global.L1::evict_$0last.u32 %r1, [%d1];", "L1::evict_first"),
        ("    mov.u32 %r1, %ct$0aid.x;", "%ctaid.y"),
        ("    add.u32 %r1, %r$02, %r3;", "%r0"),
        ("    add.u32 %r1, $0%r2, %r3;", "%r0"),
        ("    .re$0g .b32 %x;", ".reg"),
    ] {
        let (fixture, item) = offered(typed, label);
        out.push_str(&format!(
            "{label}: {:?} in {:?}\n",
            item.edit.range.slice(&fixture.text),
            item.word.slice(&fixture.text)
        ));
    }
    expect![[r#"
        fma: "fm" in "fma"
        global: "glo" in "global"
        L1::evict_first: "L1::evict_" in "L1::evict_last"
        %ctaid.y: "%ct" in "%ctaid.x"
        %r0: "%r" in "%r2"
        %r0: "" in ""
        .reg: ".re" in ".reg"
    "#]]
    .assert_eq(&out);
}

/// A description is written from the key of an item alone.
#[test]
fn descriptions_of_completions() {
    let mut out = String::new();
    for (text, label) in [
        ("    fm$0", "fma"),
        ("    fma.rn.f$0", "f64"),
        ("    .lo$0", ".loc"),
        ("    mov.u32 %r1, %lan$0", "%laneid"),
        ("    ld$0", "ld.param"),
    ] {
        let subject = offered(text, label).1.subject.expect(label);
        out.push_str(&format!("{}: {:?}\n", subject.key(), Subject::description(&subject.key()).unwrap()));
    }
    expect![[r#"
        form fma 0: "```ptx\nfma.{rn,rz,rm,rp}[.ftz][.sat].f32 d, a, b, c\n```\nMultiplies and adds with one rounding.\n\nPTX 2.0, `sm_20` or later"
        form fma 1: "```ptx\nfma.{rn,rz,rm,rp}.f64 d, a, b, c\n```\nMultiplies and adds with one rounding.\n\nPTX 1.4, all chips; `.rm` needs PTX 1.4 and `sm_13` or later; `.rp` needs PTX 1.4 and `sm_13` or later"
        directive .loc: "```ptx\n.loc file line column\n```\nSource location of the code that follows."
        special %laneid: "```ptx\n.u32 %laneid\n```\nSpecial register. The lane of the thread in its warp, 0 to 31."
        template ld.param: "```ptx\nld.param.u64 %rd1, [out];\n```\nLoads a parameter of the kernel."
    "#]].assert_eq(&out);
    for key in ["", "form", "form fma", "form fma 99", "form no 0", "directive .no", "template no", "other x"]
    {
        assert_eq!(Subject::description(key), None, "{key}");
    }
}

/// The edits after `;`, `}` or Enter: `$0` is the cursor after the character.
#[test]
fn formatting_while_typing() {
    let mut out = String::new();
    for (text, typed) in [
        (".entry k()\n{\n  add.u32   %r1,%r2 ,%r3 ;$0\n ret;\n}\n", ';'),
        (".entry k()\n{\nret; exit ;$0 // one\n}\n", ';'),
        (".entry k()\n{\n    {\n        ret;\n        }$0\n}\n", '}'),
        (".entry k()\n{\n    ret;\n    }$0\n", '}'),
        (".entry k()\n{\n$0", '\n'),
        (".entry k()\n{\n  ret ;\n$0}\n", '\n'),
        (".entry k()\n{\n    add.u32 %r1,\n$0\n}\n", '\n'),
        (".entry k()\n{\n    // a ; b  ;$0\n}\n", ';'),
        (".entry k()\n{\n    /* a\n$0 b */\n}\n", '\n'),
        (".entry k() {\n    .loc 1   2 3\n$0\n}\n", '\n'),
        (".entry k()\n$0", '\n'),
        (".entry k(\n$0", '\n'),
        (".entry k() { ret; }\n$0", '\n'),
    ] {
        let fixture = fixture(&format!("{HEAD}{text}"));
        let found =
            fixture.analysis().format_typed(fixture.file, fixture.at, typed, Style::default()).unwrap();
        assert!(found.iter().all(|edit| edit.range.start <= fixture.at || typed == '\n'), "{text}");
        let now = Edit::apply(&fixture.text, &found);
        out.push_str(&format!("{text:?}\n{:?}\n", &now[HEAD.len()..]));
    }
    expect![[r#"
        ".entry k()\n{\n  add.u32   %r1,%r2 ,%r3 ;$0\n ret;\n}\n"
        ".entry k()\n{\n    add.u32         %r1, %r2, %r3;\n ret;\n}\n"
        ".entry k()\n{\nret; exit ;$0 // one\n}\n"
        ".entry k()\n{\n    ret; exit; // one\n}\n"
        ".entry k()\n{\n    {\n        ret;\n        }$0\n}\n"
        ".entry k()\n{\n    {\n        ret;\n    }\n}\n"
        ".entry k()\n{\n    ret;\n    }$0\n"
        ".entry k()\n{\n    ret;\n}\n"
        ".entry k()\n{\n$0"
        ".entry k()\n{\n    "
        ".entry k()\n{\n  ret ;\n$0}\n"
        ".entry k()\n{\n    ret;\n}\n"
        ".entry k()\n{\n    add.u32 %r1,\n$0\n}\n"
        ".entry k()\n{\n    add.u32         %r1,\n        \n}\n"
        ".entry k()\n{\n    // a ; b  ;$0\n}\n"
        ".entry k()\n{\n    // a ; b  ;\n}\n"
        ".entry k()\n{\n    /* a\n$0 b */\n}\n"
        ".entry k()\n{\n    /* a\n b */\n}\n"
        ".entry k() {\n    .loc 1   2 3\n$0\n}\n"
        ".entry k() {\n    .loc 1 2 3\n    \n}\n"
        ".entry k()\n$0"
        ".entry k()\n"
        ".entry k(\n$0"
        ".entry k(\n    "
        ".entry k() { ret; }\n$0"
        ".entry k() { ret; }\n"
    "#]]
    .assert_eq(&out);
}

/// A directive without a semicolon ends with its line.
#[test]
fn statements_behind_directives_that_end_with_their_lines() {
    let body =
        |text: &str| format!("{HEAD}.file 1 \"a.cu\"\n.entry k() {{\n    .reg .b32 %r<2>;\n{text}\n}}\n");
    assert_eq!(labels(&body("    .loc 1 2 3\n    fm$0")), ["fma"]);
    assert!(labels(&body("    .loc 1 2 3\n    fma.$0")).contains(&"rn".to_owned()));
    let signature = |text: &str| {
        let fixture = fixture(text);
        fixture.analysis().signature_help(fixture.file, fixture.at).unwrap().is_some()
    };
    assert!(signature(&body("    .loc 1 2 3\n    add.u32 %r0, $0")));
    assert!(labels(".version 8.0\n.target $0").contains(&"sm_90".to_owned()));
    assert!(labels(".version 8.0\n.target $0\n.address_size 64\n").contains(&"sm_90".to_owned()));
    assert!(labels(".version 8.0\n.target sm_90\n$0").contains(&".address_size".to_owned()));
    let versions = labels(".version $0");
    for version in ["8.1", "8.2", "8.4", "9.0", "1.0"] {
        assert!(versions.contains(&version.to_owned()), "{version} of {versions:?}");
    }
}

#[test]
fn parameters_are_offered_types_and_no_directives_of_heads() {
    let found = labels(&format!("{HEAD}.entry k(.param .$0"));
    assert!(found.contains(&".u64".to_owned()) && !found.contains(&".maxntid".to_owned()), "{found:?}");
    let found = labels(&format!("{HEAD}.entry k(.param .u64 a, .$0"));
    assert!(found.contains(&".param".to_owned()) && !found.contains(&".maxntid".to_owned()), "{found:?}");
    let found = labels(&format!("{HEAD}.entry k(.param .u64 a) .$0"));
    assert!(found.contains(&".maxntid".to_owned()) && !found.contains(&".u64".to_owned()), "{found:?}");
}

/// Spaces that share a name are named once, and an invalid type gets the list of types.
#[test]
fn names_in_forms() {
    let fixture = kernel("    l$0d.param.u32 %r1, [p];");
    let hover = fixture.analysis().hover(fixture.file, fixture.at).unwrap().expect("an instruction");
    assert!(!hover.text.contains("param,param"), "{}", hover.text);
    let fixture = kernel("    add.s3$03 %r1, %r2, %r2;");
    let found = fixture.analysis().diagnostics(fixture.file).unwrap();
    assert!(
        found.iter().any(|it| it.message.contains("`.s32`") && !it.message.contains("`.rn`")),
        "{found:?}"
    );
}
