//! The tree of any text is that text, and units concatenated are the file.
//!
//! Laws, checked on random mutations of a small module that uses every construct
//! of the grammar, on hand-picked hostile texts, and on outside files named by
//! the variable `ORIOLE_PTX_FILES` (directories or files, separated by colons).

use std::sync::Arc;
use std::time::{Duration, Instant};

use oriole_syntax::{CutText, Replaced, UnitKind, parse_unit, parse_unit_again, split_file};
use proptest::prelude::*;

/// A module that uses every construct once.
const MODULE: &str = r#"
// head
.version 8.5
.target sm_90a, debug
.address_size 64
.pragma "nounroll";
.extern .func (.param .b32 r) callee (.param .b32 a, .param .align 8 .b8 s[16]) .noreturn;
.visible .global .attribute(.managed) .align 8 .v2 .f32 table[2][2] = {{1, 2.5}, {0f3F800000, -4}}, z;
.const[2] .b64 pointers[] = {generic(table), table+8, mask(0xff)(table), 0xff(table)};
.global .samplerref s = { addr_mode_0 = clamp_to_border, filter_mode = nearest };
.weak .func (.reg .u32 x) helper(.reg .u32 y) { mov.u32 x, y; ret.uni; }
.alias other, helper;
.visible .entry kernel(
    .param .u64 .ptr .global .align 16 pin, /* c */ .param .b8 by_value[3]
)
.maxntid 128, 1, 1
.minnctapersm 2
.pragma "x";
{
    .reg .pred %p<4>, q; .reg .v4 .b32 v; .reg .b32 %r<10>;
    .loc 1 2 3
    .loc 1 2 3, function_name $L__name+4, inlined_at 1 4 5
    .shared .align 4 .b8 tile[1024];
    ld.param.u64 %rd1, [pin+8];
    @!%p1 bra $L__1;
    { .local .b32 stack[2]; add/**/.u32 %r1, (1 << 4) | 7 % 4 ? 3 : (.s64)-9, ~0; }
    setp.eq.and.u32 %p1|_, %tid.x, 0x1FU, !%p2;
    tex.2d.v4.f32.s32 {%r1,_,%r2,v.x}|q, [t, s, {%r1, %r2}].unified, -1.5e-3;
    ld.global.L2::cache_hint.v2.u32 {%r1,%r2}, [%rd1+-4], %rd2;
    vadd.u32.u32.u32.sat %r1, %r2.h1, -%r3.b0, table[1];
$L__1:
    list: .branchtargets $L__1, $L__2;
    proto: .callprototype (.param .b32 _) _ (.param .b64 _, .reg .b32 _) .noreturn;
    funcs: .calltargets helper, other;
    call.uni (%r1, _), callee, (%r2, 5), proto;
    call.uni
    callee,
    (%r1
    );
    vadd4.u32.u32.u32
    %r1
    .x, v
    , {
    a};
    brx.idx %r1, list;
    bar.sync 0;
    .pragma "nounroll";
# 5 "file.cu"
    ret;
}
.file 1 "a.cu", 12, 34
.section .debug_str {
info:
.b8 1, 2
.b64 info+4
.b32 .debug_abbrev
}
// end
"#;

fn check(text: &str) {
    let mut joined = String::new();
    for unit in split_file(text) {
        let parse = parse_unit(unit.kind, unit.text(text));
        assert_eq!(parse.syntax().to_string(), unit.text(text));
        for error in &parse.errors {
            assert!(error.span.end() <= unit.len, "{error} is outside of its unit");
        }
        joined += unit.text(text);
    }
    assert_eq!(joined, text);
    // A whole file is a unit, too, and any text may come as any kind.
    for kind in [UnitKind::Header, UnitKind::Broken] {
        assert_eq!(parse_unit(kind, text).syntax().to_string(), text);
    }
}

#[test]
fn the_module_has_no_errors() {
    check(MODULE);
    for unit in split_file(MODULE) {
        assert_ne!(unit.kind, UnitKind::Broken);
        let parse = parse_unit(unit.kind, unit.text(MODULE));
        assert_eq!(parse.errors, [], "{:?}", unit.text(MODULE));
        let nodes =
            parse.syntax().descendants().filter(|node| node.kind() == oriole_syntax::SyntaxKind::ERROR);
        assert_eq!(nodes.count(), 0);
    }
}

/// A text with some bytes replaced at a place, and the replacement.
fn edited(old: &str, place: f64, removed: usize, new: &str) -> (Arc<String>, Replaced) {
    let mut start = (place * old.len() as f64) as usize;
    while !old.is_char_boundary(start) {
        start -= 1;
    }
    let mut end = (start + removed).min(old.len());
    while !old.is_char_boundary(end) {
        end += 1;
    }
    let text = [&old[..start], new, &old[end..]].concat().into();
    let new_end = (start + new.len()) as u32;
    (text, Replaced { start: start as u32, old_end: end as u32, new_end })
}

fn kernel(body: &str) -> String {
    format!(".version 8.0\n.target sm_90\n.entry k {{\n{body}\nret;\n}}\n.entry l {{ ret; }}\n")
}

#[test]
fn hostile_texts() {
    let deep = 20_000;
    let texts = [
        String::new(),
        "\0".to_owned(),
        "\u{feff}.version".to_owned(),
        "%".to_owned(),
        "\"".to_owned(),
        "/*".to_owned(),
        "#".to_owned(),
        ".".to_owned(),
        "a".repeat(1 << 20),
        "%".repeat(deep),
        "{".repeat(deep),
        "}".repeat(deep),
        "/*".repeat(deep),
        "\"\n".repeat(deep),
        ".entry ".repeat(deep),
        ".visible ".repeat(deep),
        kernel(&"{".repeat(deep)),
        kernel(&format!("{}{}", "{".repeat(deep), "}".repeat(deep))),
        kernel(&format!("add.u32 a, {}1{};", "(".repeat(deep), ")".repeat(deep))),
        kernel(&format!("add.u32 a, {};", "(".repeat(deep))),
        kernel(&format!("add.u32 a, {}1;", "-".repeat(deep))),
        kernel(&format!("add.u32 a, 1{};", "+1".repeat(deep))),
        kernel(&format!("add.u32 a, 1{};", "?1:1".repeat(deep))),
        kernel(&format!("add.u32 a, 1{};", "?1".repeat(deep))),
        kernel(&format!("add.u32 a, b{};", ".x".repeat(deep))),
        kernel(&format!("add.u32 a, b{};", "[1]".repeat(deep))),
        kernel(&format!("add.u32 a, b{};", "[".repeat(deep))),
        kernel(&format!("add.u32 a, {};", "f(".repeat(deep))),
        kernel(&format!("add.u32 a, {};", "{".repeat(deep))),
        kernel(&format!("add.u32 a, {};", "[".repeat(deep))),
        kernel(&format!("add.u32 a, {};", "{1+1+1+".repeat(deep / 10))),
        kernel(&format!("add.u32 a, {};", "(.s64)".repeat(deep))),
        kernel(&format!("call f, ({});", "a,".repeat(deep))),
        kernel(&"@".repeat(deep)),
        kernel(&"a: ".repeat(deep)),
        kernel(&";".repeat(deep)),
        kernel(&",".repeat(deep)),
        kernel(&format!("add{};", ".f".repeat(deep))),
        format!(".global .b32 x = {};", "{".repeat(deep)),
        format!(".global .b32 x{};", "[".repeat(deep)),
        format!(".func f({}", ".param .b32 a,".repeat(deep)),
        format!(".func f({}", "(".repeat(deep)),
        format!(".section .x {{ {}", ".b8 1,".repeat(deep)),
        format!(".global .attribute({} x;", "(".repeat(deep)),
    ];
    for text in texts {
        let start = Instant::now();
        check(&text);
        let took = start.elapsed();
        assert!(took < Duration::from_secs(20), "{took:?} for {:?}", &text[..text.len().min(80)]);
    }
}

#[test]
fn outside_files() {
    let mut pending = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../test-data/kernels")];
    pending.extend(std::env::split_paths(&std::env::var_os("ORIOLE_PTX_FILES").unwrap_or_default()));
    pending.retain(|path| !path.as_os_str().is_empty());
    let (mut files, mut bytes, mut with_errors) = (0, 0, Vec::new());
    let (mut splitting, mut parsing) = (Duration::ZERO, Duration::ZERO);
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            pending.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "ptx") {
            let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
            check(&text);
            let start = Instant::now();
            let units = split_file(&text);
            splitting += start.elapsed();
            let start = Instant::now();
            let parses: Vec<_> = units.iter().map(|unit| parse_unit(unit.kind, unit.text(&text))).collect();
            parsing += start.elapsed();
            let first = units.iter().zip(&parses).find_map(|(unit, parse)| {
                parse.errors.first().map(|error| format!("unit at line {}: {error}", unit.line))
            });
            with_errors.extend(first.map(|first| format!("{}: {first}", path.display())));
            files += 1;
            bytes += text.len();
        }
    }
    with_errors.sort();
    println!("splitting {splitting:?}, parsing {parsing:?}");
    println!("{files} files, {bytes} bytes; with syntax errors:\n{}", with_errors.join("\n"));
    assert!(files > 0, "no .ptx files found");
}

/// Pieces of text that a user types and that confuse splitters.
const PIECES: &[&str] = &[
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "\"",
    "/*",
    "*/",
    "//",
    "\n",
    ";",
    ",",
    ".",
    ":",
    "@",
    "%",
    "_",
    "$",
    "#",
    "-",
    ".entry",
    ".func",
    ".visible",
    ".global",
    ".reg",
    ".section",
    ".file",
    ".loc",
    " x",
    "0x",
    "0f",
    "1",
    "=",
    "|",
    "?",
    "\0",
    "é",
    "\r",
    ".param",
    "call",
    ".callprototype",
    ".version 8.0",
    "<",
    ".pragma",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutated_modules(edits in prop::collection::vec((0.0..1.0f64, 0usize..30, 0usize..PIECES.len()), 1..12)) {
        let mut text = Arc::new(MODULE.to_owned());
        for (place, removed, piece) in edits {
            text = edited(&text, place, removed, PIECES[piece]).0;
        }
        check(&text);
    }

    #[test]
    fn piece_soup(pieces in prop::collection::vec(0usize..PIECES.len(), 0..60)) {
        let text: String = pieces.into_iter().map(|piece| PIECES[piece]).collect();
        check(&text);
    }

    /// Fifty successive edits, two hundred times: ten thousand in all. Each is applied with a known place and with a
    /// searched one.
    #[test]
    fn cut_again_is_cut_from_scratch(
        edits in prop::collection::vec((0.0..1.0f64, 0usize..30, 0usize..PIECES.len()), 50)
    ) {
        let mut told = CutText::new(MODULE);
        for (place, removed, piece) in edits {
            let old = told.text().clone();
            let (text, replaced) = edited(&old, place, removed, PIECES[piece]);
            let scratch = CutText::new(text.as_str());
            let units: Vec<_> = split_file(&text).into_iter().map(|unit| unit.text(&text).to_owned()).collect();
            prop_assert_eq!(scratch.pieces().iter().map(|piece| piece.text().to_string()).collect::<Vec<_>>(), units);
            if let Some(found) = Replaced::between(&old, &text) {
                prop_assert_eq!(&told.changed(text.clone(), found), &scratch);
            }
            told = told.changed(text, replaced);
            prop_assert_eq!(&told, &scratch);
        }
    }

    /// Fifty edits, each tree reparsed from the one before, with or without the tree having been requested.
    #[test]
    fn parsed_again_is_parsed_from_scratch(
        edits in prop::collection::vec((0.0..1.0f64, 0usize..30, 0usize..PIECES.len(), any::<bool>()), 50)
    ) {
        let mut cut = CutText::new(MODULE);
        for (place, removed, piece, asked) in edits {
            let (text, replaced) = edited(cut.text(), place, removed, PIECES[piece]);
            cut = cut.changed(text, replaced);
            if asked {
                for piece in cut.pieces() {
                    prop_assert_eq!(piece.source.parse(), &parse_unit(piece.kind, piece.text()), "{}", piece.text());
                }
            }
        }
        // As one unit, whatever the splitter would do.
        let (text, replaced) = edited(MODULE, 0.5, 3, "add;");
        let old = parse_unit(UnitKind::Entry, MODULE);
        prop_assert_eq!(parse_unit_again(UnitKind::Entry, &text, &old, replaced), parse_unit(UnitKind::Entry, &text));
    }

    /// An edit of one kernel leaves the units of the others unchanged.
    #[test]
    fn typing_spoils_one_kernel(place in 0.0..1.0f64, piece in 0usize..3) {
        let kernel = |index: usize| {
            format!("\n\n\t// .globl\tk{index}\n.visible .entry k{index}(.param .u64 p)\n{{\n\t.reg .b32 %r<2>;\n{{ /* {index} */\n\tmov.u32 %r1, {index}; // {index}\n}}\n\tret;\n}}")
        };
        let text: String = (0..5).map(kernel).collect();
        let victim = kernel(2);
        // Inside the body: a string or comment begun in the header takes the name.
        let body = victim.find('{').unwrap() + 1;
        let at = body + (place * (victim.len() - body - 1) as f64) as usize;
        let mut edited = victim.clone();
        edited.insert_str(at, ["{", "\"", "/*"][piece]);
        let edited = text.replace(&victim, &edited);
        let units = |text: &str| -> Vec<(UnitKind, Box<str>, String)> {
            split_file(text).into_iter().map(|unit| (unit.kind, unit.name.clone(), unit.text(text).to_owned())).collect()
        };
        let (before, after) = (units(&text), units(&edited));
        for index in [0, 1, 3, 4] {
            let name = format!("k{index}");
            let find = |units: &[(UnitKind, Box<str>, String)]| units.iter().find(|unit| *unit.1 == *name).cloned();
            prop_assert_eq!(find(&before), find(&after));
        }
    }
}

/// A long text without meaning gives a small tree: skipped text is not kept token by token.
#[test]
fn floods_of_tokens_make_small_trees() {
    for flood in [";", "{", "(", ")", "x ", "1 ", ", ", "@ ", "["] {
        let flood = flood.repeat(1 << 17);
        for text in [
            flood.clone(),
            kernel(&flood),
            kernel(&format!("add.u32 a, {flood}")),
            format!(".entry k {flood}"),
            format!(".entry k({flood}"),
            format!(".global .b32 a[2] = {{ 1 {flood}"),
        ] {
            let tree = parse_unit(UnitKind::Entry, &text);
            assert_eq!(tree.green.to_string(), text);
            let mut tokens = 0;
            let mut open = vec![&*tree.green];
            while let Some(node) = open.pop() {
                for child in node.children() {
                    match child {
                        rowan::NodeOrToken::Node(node) => open.push(node),
                        rowan::NodeOrToken::Token(_) => tokens += 1,
                    }
                }
            }
            assert!(tokens < 50_000, "{tokens} tokens of {}", &text[..60]);
            assert!(!tree.errors.is_empty() && tree.errors.len() <= 200);
        }
    }
}
