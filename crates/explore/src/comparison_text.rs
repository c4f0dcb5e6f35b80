//! A comparison as text for a terminal, and as one JSON document for programs.
//!
//! Both have the contents of the page. Width and colours of a terminal are handled by the program; nothing is compared
//! here.

use std::fmt::Write as _;

use oriole_ide::demangle;
use serde_json::{Map, Value, json};

use crate::comparison::{Change, Comparison, Figure, Line, Pair};

/// The version of the document's format; it is raised when a field is removed or changes its meaning.
const VERSION: u32 = 1;
/// Maximum width of the first side of a line; a longer one shifts the second.
const WIDEST: usize = 64;

/// The comparison for a terminal: for each pair of kernels the figures and, side by side, the differing lines with
/// `context` lines around them; all lines if it is `None`. With `demangled` source names follow symbol names.
pub fn comparison_text(comparison: &Comparison, demangled: bool, context: Option<usize>) -> String {
    let [first, second] = &comparison.sides;
    let mut text = format!("first:  {first}\nsecond: {second}\n");
    for (side, alone) in comparison.sides.iter().zip(&comparison.alone) {
        for name in alone {
            let _ = writeln!(text, "\nonly in {side}: {}", shown(name, demangled));
        }
    }
    for pair in &comparison.pairs {
        let _ = writeln!(text, "\n{}", title(pair, demangled));
        figures(pair, &mut text);
        if pair.is_identical {
            text.push_str("  the same code\n");
        } else if pair.is_same() {
            text.push_str("  the same instructions; registers, targets or control words differ\n");
        }
        code(pair, context, &mut text);
    }
    text
}

fn shown(name: &str, demangled: bool) -> String {
    if demangled { demangle::with_source(name) } else { name.to_owned() }
}

fn title(pair: &Pair, demangled: bool) -> String {
    let [first, second] = pair.names.each_ref().map(|name| shown(name, demangled));
    if first == second { first } else { format!("{first} -> {second}") }
}

fn figures(pair: &Pair, text: &mut String) {
    let value = |value: Option<u64>| value.map_or("?".to_owned(), |value| value.to_string());
    let _ = writeln!(text, "  {:<30} {:>10} {:>10}", "", "first", "second");
    for figure in pair.figures.iter().filter(|figure| figure.tells()) {
        let Figure { name, values: [first, second], .. } = *figure;
        let line =
            format!("  {name:<30} {:>10} {:>10}  {}", value(first), value(second), figure.difference());
        let _ = writeln!(text, "{}", line.trim_end());
    }
    let opcode = |&(op, [first, second]): &(&str, [u32; 2])| {
        format!("{op} {:+}", i64::from(second) - i64::from(first))
    };
    if !pair.opcodes.is_empty() {
        let list: Vec<String> = pair.opcodes.iter().map(opcode).collect();
        let _ = writeln!(text, "  opcodes: {}", list.join(", "));
    }
}

fn code(pair: &Pair, context: Option<usize>, text: &mut String) {
    let stretches = match context {
        Some(context) => pair.stretches(context),
        None => std::iter::once(0..pair.lines.len()).collect(),
    };
    let side = |side: &Option<(u32, String)>| {
        side.as_ref().map_or(String::new(), |(address, text)| format!("{address:04x} {text}"))
    };
    let shown = stretches.iter().flat_map(|stretch| &pair.lines[stretch.clone()]);
    let widths = shown.map(|line| side(&line.sides[0]).chars().count());
    let width = widths.max().unwrap_or(0).min(WIDEST);
    let mut end = 0;
    let same = |count: usize, text: &mut String| {
        if count > 0 && !pair.is_same() {
            let _ = writeln!(text, "  ... {count} the same");
        }
    };
    for stretch in stretches {
        same(stretch.start - end, text);
        end = stretch.end;
        for line in &pair.lines[stretch] {
            // As `diff -y` marks them.
            let mark = match line.change {
                Change::Same => ' ',
                Change::Changed => '|',
                Change::Removed => '<',
                Change::Added => '>',
            };
            let line = format!("  {:<width$} {mark} {}", side(&line.sides[0]), side(&line.sides[1]));
            let _ = writeln!(text, "{}", line.trim_end());
        }
    }
    same(pair.lines.len() - end, text);
}

/// The comparison for programs, all lines of the code included.
pub fn comparison_json(comparison: &Comparison) -> Value {
    let figures = |pair: &Pair| {
        let row = |figure: &Figure| {
            (figure.name.replace(", ", "_").replace(' ', "_").to_lowercase(), json!(figure.values))
        };
        pair.figures.iter().map(row).collect::<Map<_, _>>()
    };
    let line = |line: &Line| {
        let side = |side: &Option<(u32, String)>| {
            side.as_ref().map(|(address, text)| json!({ "address": address, "text": text }))
        };
        json!({ "change": line.change.name(), "first": side(&line.sides[0]), "second": side(&line.sides[1]) })
    };
    let pair = |pair: &Pair| {
        let opcodes: Map<String, Value> =
            pair.opcodes.iter().map(|&(op, counts)| (op.to_owned(), json!(counts))).collect();
        json!({
            "names": pair.names, "same": pair.is_same(), "identical": pair.is_identical,
            "figures": figures(pair), "opcodes": opcodes,
            "lines": pair.lines.iter().map(line).collect::<Vec<_>>(),
        })
    };
    json!({
        "version": VERSION, "sides": comparison.sides, "same": comparison.is_same(),
        "kernels": comparison.pairs.iter().map(pair).collect::<Vec<_>>(), "only": comparison.alone,
    })
}
