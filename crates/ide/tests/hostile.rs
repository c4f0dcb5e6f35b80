//! Every query at many places of whole, cut and broken texts: no panic, no range outside of the text, and answers that
//! agree with each other.

use oriole_chip::Chip;
use oriole_ide::{AnalysisHost, Edit, Encoding, HintOptions, Language, Range, RegisterMarks, SettingsId};

fn good(text: &str, range: Range, what: &str) {
    let (start, end) = (range.start as usize, range.end as usize);
    assert!(start <= end && end <= text.len(), "{what}: {range:?} of {}", text.len());
    assert!(text.is_char_boundary(start) && text.is_char_boundary(end), "{what}: {range:?}");
}

fn ask_everything(language: Language, text: &str, places: usize, compile: bool) {
    let mut host = AnalysisHost::new();
    let file = host.open(language, text, SettingsId(0));
    let analysis = host.analysis();
    for diagnostic in analysis.diagnostics(file).unwrap() {
        good(text, diagnostic.range, "diagnostic");
        diagnostic.related.iter().for_each(|related| good(text, related.range, "remark"));
    }
    for token in analysis.tokens(file, None, &RegisterMarks::default()).unwrap() {
        good(text, token.range, "token");
        assert!(!token.range.slice(text).contains('\n'));
    }
    analysis.folds(file).unwrap().iter().for_each(|fold| good(text, fold.range, "fold"));
    analysis.links(file).unwrap().iter().for_each(|link| good(text, link.range, "link"));
    for symbol in analysis.symbols(file).unwrap() {
        good(text, symbol.full, "symbol");
        assert!(symbol.full.holds(symbol.range), "{}", symbol.name);
    }
    let edits = analysis.format(file, None, oriole_ide::Style::default()).unwrap();
    edits.iter().for_each(|edit| {
        good(text, edit.range, "format");
        assert!(edit.text.trim().is_empty() && edit.range.slice(text).trim().is_empty());
    });
    let formatted = Edit::apply(text, &edits);
    let lines = analysis.lines(file).unwrap();
    let all = Range::new(0, text.len() as u32);
    if compile {
        for hint in analysis.hints(file, all, HintOptions::default()).unwrap() {
            good(text, Range::point(hint.at), "hint");
        }
        for lens in analysis.lenses(file).unwrap() {
            good(text, lens.range, "lens");
            let lens = analysis.lens(file, &lens.kernel, Chip::SM_90).unwrap().unwrap();
            if let Some(found) = &lens.statistics {
                assert!(u32::from(found.peak.0) <= found.registers, "{}: {:?}", lens.kernel, found.why);
            }
            if let Some(listing) = analysis.sass(file, &lens.kernel, Chip::SM_90).unwrap() {
                listing.rows.iter().filter_map(|row| row.source).for_each(|range| good(text, range, "row"));
            }
        }
    }
    for step in 0..places {
        let mut at = text.len() * step / places.max(1);
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let at = at as u32;
        if compile && let Some(hover) = analysis.hover(file, at).unwrap() {
            good(text, hover.range, "hover");
        }
        for target in analysis.definition(file, at).unwrap() {
            good(text, target.range, "target");
        }
        let references = analysis.references(file, at).unwrap();
        references.iter().for_each(|found| good(text, found.range, "reference"));
        assert!(analysis.highlights(file, at).unwrap().iter().all(|found| references.contains(found)));
        if let Ok(edits) = analysis.rename(file, at, "fresh_name_0").unwrap() {
            edits.iter().for_each(|(_, edit)| good(text, edit.range, "rename"));
        }
        analysis
            .completions(file, at)
            .unwrap()
            .iter()
            .for_each(|item| good(text, item.edit.range, "completion"));
        analysis.signature_help(file, at).unwrap();
        for fix in analysis.fixes(file, Range::point(at)).unwrap() {
            fix.edits.iter().for_each(|edit| good(text, edit.range, &fix.title));
        }
        let chain = analysis.selection(file, at).unwrap();
        assert!(chain.windows(2).all(|pair| pair[1].holds(pair[0])), "{chain:?}");
        analysis.call_item(file, at).unwrap();
        for encoding in [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32] {
            let position = lines.position(text, at, encoding);
            assert_eq!(lines.offset(text, position, encoding), at);
        }
    }
    drop(analysis);
    // Formatting a second time changes nothing, whatever the text.
    let file = host.open(language, &formatted, SettingsId(0));
    assert_eq!(host.analysis().format(file, None, oriole_ide::Style::default()).unwrap(), []);
}

fn kernels() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../test-data/kernels");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "ptx"));
    paths.sort();
    paths.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

#[test]
fn whole_kernels() {
    for text in kernels().iter().filter(|text| text.len() < 6000).step_by(8) {
        ask_everything(Language::Ptx, text, 10, true);
    }
}

#[test]
fn kernels_cut_anywhere() {
    for (number, text) in kernels().iter().filter(|text| text.len() < 6000).step_by(16).enumerate() {
        for part in 1..6 {
            let mut at = text.len() * part / 6 + number;
            at = at.min(text.len());
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            ask_everything(Language::Ptx, &text[..at], 6, false);
            ask_everything(Language::Ptx, &format!("{}$ {}", &text[..at], &text[at..]), 6, false);
        }
    }
}

#[test]
fn strange_texts() {
    for text in [
        "",
        "\n\n",
        "\u{1f600}",
        ".entry",
        ".entry k(",
        ".entry k() { @",
        ".entry k() { @!%p add.",
        ".entry k() { mov.u32 %r1, {",
        "}}}}",
        ".version 8.0\n.target sm_90\n.entry k() { /* open",
        ".global .b32 x = {1, {2}, generic(y)};\n.alias a, b;",
        ".entry k() { a: b: bra a; brx.idx %r, l; l: .branchtargets a, b; }",
        ".entry k() { call (a), f, (b), p; p: .callprototype (.reg .b32 _) _ (.param .b32 _); }",
        "\u{e9}.entry k\u{e9}() { \u{1f600} }",
    ] {
        ask_everything(Language::Ptx, text, 12, true);
    }
    for text in [
        "asm(",
        "asm(\"",
        "asm(\"a\" : \"=r\"(",
        "asm volatile(R\"(mov.u32 %0, 1;",
        "asm(\"\\",
        "'",
        "\"",
        "/*",
        "asm(\"%\")",
        "asm(\"\\xff;\");",
    ] {
        ask_everything(Language::Cuda, text, 6, false);
        ask_everything(Language::Rust, &text.replace("asm", "asm!"), 6, false);
    }
}
