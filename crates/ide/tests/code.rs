//! Compiled code in an editor: hints, lenses, machine code, live values, internal views, cubins.

use crate::support::{LOOP, fixture_in, kernel, kernel_text, scrub, show};
use expect_test::expect;
use oriole_chip::Chip;
use oriole_ide::{Change, HintOptions, Language, Range, RegisterMarks};

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
        10: # SASS
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
    // After an error earlier results stay, marked as stale, and move with the text; the edited statement has none.
    let at = fixture.text.find("add.u32").unwrap();
    let changed =
        format!("{}// a line\n    add.u32 %r3 %r3{}", &fixture.text[..at], &fixture.text[at + 12..]);
    fixture.host.change(fixture.file, &[Change { range: None, text: changed.clone() }]);
    expect![[r#"
        10 stale: # SASS
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
        found.why[0].contains("are live at once at line") && found.why[0].contains("%r3"),
        "{:?}",
        found.why
    );
    let all = Range::new(0, fixture.text.len() as u32);
    let hints = analysis.hints(fixture.file, all, HintOptions::default()).unwrap();
    assert!(hints.iter().flat_map(|hint| &hint.why).any(|why| why.contains("reads")));
    // More values than registers: the lens, the diagnostic and the hint name the spilled values.
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
    let diagnostics = analysis.code_diagnostics(fixture.file, Chip::SM_90).unwrap();
    assert!(diagnostics[0].message.contains("spilled") && !diagnostics[0].related.is_empty());
}

/// Registers that a function saves for its caller are not spilled.
#[test]
fn saved_registers_are_no_spills() {
    let text = ".version 8.0\n.target sm_90\n.address_size 64\n.func g()\n{\nret;\n}\n\
        .visible .func (.param .b32 r) f(.param .b32 a)\n{\n.reg .b32 %r<3>;\nld.param.b32 %r1, [a];\n\
        call g, ();\nadd.s32 %r2, %r1, 1;\nst.param.b32 [r], %r2;\nret;\n}\n";
    let fixture = crate::support::fixture(text);
    let analysis = fixture.analysis();
    assert_eq!(analysis.code_diagnostics(fixture.file, Chip::SM_90).unwrap(), []);
}

#[test]
fn sass() {
    let mut fixture = kernel(LOOP);
    let found = fixture.analysis().sass(fixture.file, "k", Chip::SM_90).unwrap().unwrap();
    assert!(!found.stale && found.rows.iter().enumerate().all(|(at, row)| row.address as usize == 16 * at));
    // Independent of the scheduler: the store, the branch and the end, each with its statement.
    let mut out = String::new();
    for row in &found.rows {
        let mnemonic = row.text.split([' ', '.']).find(|word| !word.starts_with('@')).unwrap_or_default();
        if ["STG", "ISETP", "EXIT"].contains(&mnemonic) {
            let place = row.source.map_or("-".to_owned(), |range| fixture.show(range));
            out.push_str(&format!("{mnemonic} {place}\n"));
        }
    }
    expect![[r#"
        ISETP 18: "@%p1 bra again;"
        ISETP 18: "@%p1 bra again;"
        ISETP 17: "setp.ne.u32 %p1, %r1, 0;"
        ISETP 18: "@%p1 bra again;"
        ISETP 17: "setp.ne.u32 %p1, %r1, 0;"
        ISETP 17: "setp.ne.u32 %p1, %r1, 0;"
        STG 20: "st.global.u32 [%d2], %r3;"
        EXIT 21: "ret;"
    "#]]
    .assert_eq(&out);
    assert!(found.rows.iter().any(|row| row.why.iter().any(|why| why.contains("because"))));
    assert!(found.rows.iter().any(|row| row.loop_depth == 1 && row.live.is_some_and(|live| live.0 > 0)));
    assert!(found.text().starts_with("// k for sm_90, "));
    // While the text does not compile, the last good code stays, marked as stale; its map follows the text.
    let changed =
        fixture.text.replace("    ld.param.u64", "// one\n    ld.param.u64").replace("ret;", "rett;");
    fixture.host.change(fixture.file, &[Change { range: None, text: changed.clone() }]);
    let stale = fixture.analysis().sass(fixture.file, "k", Chip::SM_90).unwrap().unwrap();
    assert!(stale.stale && stale.text().contains("stale") && stale.rows.len() == found.rows.len());
    // A kernel that never compiled has nothing to show.
    fixture.host.change(fixture.file, &[Change { range: None, text: changed.replace("entry k", "entry z") }]);
    assert_eq!(fixture.analysis().sass(fixture.file, "z", Chip::SM_90).unwrap(), None);
}

#[test]
fn liveness_at_a_place() {
    let fixture = kernel(&LOOP.replace("    add.u32", "    ad$0d.u32"));
    let found = fixture.analysis().liveness(fixture.file, fixture.at, Chip::SM_90).unwrap().unwrap();
    let names: Vec<&str> = found.registers.iter().map(|live| live.name.as_str()).collect();
    assert_eq!(fixture.show(found.statement), "15: \"add.u32 %r3, %r3, %r2;\"");
    let (general, uniform, _) = found.live;
    assert!(general + uniform >= 3 && names == ["%r1", "%r3"] && found.peak.0 >= general, "{names:?}");
}

#[test]
fn inline_ptx_of_cuda() {
    let text = "__device__ int f(int a) {\n  int b;\n  asm volatile(\"{\\n\\t.reg .b32 t;\\n\\t\"\n      \"ad$0d.u32 t, %1, %2;\\n\\t\"\n      \
                \"mov.u32 %0, u;\\n\\t}\" : \"=r\"(b) : \"r\"(a), \"n\"(3));\n  return b;\n}\n";
    let fixture = fixture_in(Language::Cuda, text);
    let analysis = fixture.analysis();
    let mut out = String::new();
    for diagnostic in analysis.diagnostics(fixture.file).unwrap() {
        out.push_str(&format!("{} {}\n", fixture.show(diagnostic.range), diagnostic.message));
    }
    let hover = analysis.hover(fixture.file, fixture.at).unwrap().unwrap();
    out.push_str(&format!("{}\n{}\n", fixture.show(hover.range), hover.text));
    for token in analysis.tokens(fixture.file, None, &RegisterMarks::default()).unwrap() {
        out.push_str(&format!("{:?} {}; ", token.kind, token.range.slice(&fixture.text)));
    }
    expect![[r#"
        5: "u" no register or variable is called `u`
        help: did you mean `t`?
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
        * `add[.rn][.satfinite].{e4m3x4,e5m2x4}.{e4m3x4,e5m2x4,e2m3x4,e3m2x4,e2m1x4} d, a, b`: Adds packed FP8, FP6 or FP4 values to packed FP8.
        * `add[.sat].s32 d, a, b`: Adds and clamps to the range of `.s32`.
        * and 4 more
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
    let ori =
        analysis.ori(fixture.file, "k", Chip::SM_90, "0").unwrap().unwrap_or_else(|error| error.to_string());
    assert!(ori.contains("EXIT"));
    out.push_str(&format!("{}\n", ori.lines().next().unwrap()));
    let nothing = analysis.ori(fixture.file, "k", Chip::SM_90, "nothing").unwrap();
    out.push_str(&nothing.unwrap_or_else(|error| error.to_string()));
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

        k: // 4 registers, 0 bytes shared, frame 0, stack 0, 0 barriers
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
