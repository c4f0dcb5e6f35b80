//! A comparison as HTML: one document without scripts, in the style of the page about a file.

use maud::{DOCTYPE, Markup, html};
use oriole_ide::demangle;

use crate::comparison::{Change, Comparison, Figure, Line, Pair};
use crate::page::{Scripts, head};

const STYLE: &str = include_str!("comparison.css");

/// Visible context lines around differing ones; the others are collapsed.
const CONTEXT: usize = 3;

/// The comparison as a page.
pub fn comparison_page(comparison: &Comparison, demangled: bool) -> String {
    let [first, second] = &comparison.sides;
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            (head(&format!("{first} and {second}"), STYLE, Scripts::None))
            body {
                header {
                    h1 { "Comparison" }
                    p.about { span.old { (first) } " → " span.new { (second) } }
                }
                main {
                    @if comparison.pairs.len() > 1 { (summary(comparison, demangled)) }
                    @for (side, alone) in comparison.sides.iter().zip(&comparison.alone) {
                        @if !alone.is_empty() { p { "Only in " (side) ": " (alone.iter().map(|name| shown(name, demangled)).collect::<Vec<_>>().join(", ")) } }
                    }
                    @for (at, pair) in comparison.pairs.iter().enumerate() { (section(at, pair, comparison, demangled)) }
                }
                footer { "Made by Oriole. Cycles are estimates for one warp alone." }
            }
        }
    };
    markup.into_string()
}

/// A name as the page shows it.
fn shown(name: &str, demangled: bool) -> String {
    demangle::readable(name).filter(|_| demangled).unwrap_or_else(|| name.to_owned())
}

/// The names of a kernel on both sides.
fn title(pair: &Pair, demangled: bool) -> String {
    let [first, second] = pair.names.each_ref().map(|name| shown(name, demangled));
    if first == second { first } else { format!("{first} → {second}") }
}

fn summary(comparison: &Comparison, demangled: bool) -> Markup {
    let shown = ["registers", "instructions", "issue cycles, loops ten times", "warps of an SM"];
    html! {
        table {
            thead { tr { th { "kernel" } @for name in shown { th colspan="3" { (name) } } th { "changed lines" } } }
            tbody { @for (at, pair) in comparison.pairs.iter().enumerate() { tr {
                td { a href={ "#p" (at) } { (title(pair, demangled)) } }
                @for figure in pair.figures.iter().filter(|figure| shown.contains(&figure.name)) { (cells(figure)) }
                td.number { (pair.lines.len() - pair.count(Change::Same)) }
            } } }
        }
    }
}

/// Both values and their difference.
fn cells(figure: &Figure) -> Markup {
    let value = |value: Option<u64>| value.map_or("?".to_owned(), |value| value.to_string());
    html! {
        td.number { (value(figure.values[0])) }
        td.number { (value(figure.values[1])) }
        td.number.(verdict(figure)) { (figure.difference()) }
    }
}

/// Whether a difference is an improvement.
fn verdict(figure: &Figure) -> &'static str {
    match figure.is_better() {
        Some(true) => "better",
        Some(false) => "worse",
        None => "same",
    }
}

fn section(at: usize, pair: &Pair, comparison: &Comparison, demangled: bool) -> Markup {
    html! {
        section id={ "p" (at) } {
            h2 { (title(pair, demangled)) }
            table {
                thead { tr { th {} th { (comparison.sides[0]) } th { (comparison.sides[1]) } th {} } }
                tbody { @for figure in pair.figures.iter().filter(|figure| figure.tells()) {
                    tr { td { (figure.name) } (cells(figure)) }
                } }
            }
            @if !pair.opcodes.is_empty() {
                p.opcodes { "Opcodes: " @for &(op, [first, second]) in &pair.opcodes {
                    span { (format!("{op} {:+}", i64::from(second) - i64::from(first))) } " "
                } }
            }
            (code(pair))
        }
    }
}

fn code(pair: &Pair) -> Markup {
    let mut parts = Vec::new();
    let mut end = 0;
    for stretch in pair.stretches(CONTEXT) {
        parts.push((end..stretch.start, false));
        end = stretch.end;
        parts.push((stretch, true));
    }
    parts.push((end..pair.lines.len(), false));
    html! {
        div.code { @for (range, differs) in parts.into_iter().filter(|(range, _)| !range.is_empty()) {
            @if differs {
                @for line in &pair.lines[range] { (row(line)) }
            } @else {
                details { summary { (range.len()) " lines that are the same" } @for line in &pair.lines[range] { (row(line)) } }
            }
        } }
    }
}

fn row(line: &Line) -> Markup {
    html! {
        div.line.(line.change.name()) { @for side in &line.sides { @match side {
            Some((address, text)) => { b { (format!("{address:04x}")) } span { (text) } },
            None => { b {} span.none {} },
        } } }
    }
}
