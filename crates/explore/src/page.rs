//! The page about a file as HTML: one self-contained document, readable without scripts.
//!
//! All HTML is written in one place. All text of the file goes through the library's escaping, and the script's data
//! are JSON that cannot contain a tag.

use std::collections::HashMap;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use oriole_ide::{OriSnapshot, TokenKind};
use serde_json::{Value, json};

use crate::code::Row;
use crate::view::{FileView, KernelView, Note, TextPart};
use crate::{charts, flow_graph};

/// Common to all pages: colours for light and dark, fonts, the head.
const THEME: &str = include_str!("theme.css");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Rows that a browser lays out together, and skips while they are out of sight.
const CHUNK: usize = 64;
/// Height of a row in pixels, as the style sheet has it.
const ROW: usize = 20;
/// Width of a tab in columns, as in the style sheet.
const TAB: usize = 4;

/// The head of a page. Nothing is loaded from elsewhere, whatever the text of a file contains, and scripts are allowed
/// only on pages that have one.
pub(crate) fn head(title: &str, style: &str, has_script: bool) -> Markup {
    let script = if has_script { "; script-src 'unsafe-inline'" } else { "" };
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta http-equiv="Content-Security-Policy" content={ "default-src 'none'; style-src 'unsafe-inline'" (script) };
            title { (title) }
            style { (PreEscaped(THEME)) (PreEscaped(style)) }
        }
    }
}

/// The page about a file.
pub fn page(view: &FileView) -> String {
    let several = view.kernels.len() > 1;
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            (head(&format!("{} for {}", view.file, view.chip), STYLE, true))
            body {
                header {
                    h1 { (view.file) }
                    p.about { (view.chip) ", " (view.options) }
                    @if several {
                        label.script { "Kernel " select #kernels {
                            @for (at, kernel) in view.kernels.iter().enumerate() {
                                option value=(at) { (kernel.source_name.as_ref().unwrap_or(&kernel.name)) }
                            }
                        } }
                        noscript { nav { @for (at, kernel) in view.kernels.iter().enumerate() {
                            a href={ "#k" (at) } { (kernel.name) } " "
                        } } }
                    }
                    button #theme.script type="button" title="Light, dark, or as the system has it" { "◐" }
                    button #help.script type="button" title="Keys" { "?" }
                }
                dialog #keys {
                    p { "A line that is pointed at lights up what belongs to it in the other columns. A click, or Enter, keeps the light on "
                        "and brings the others into view; Escape ends it." }
                    dl {
                        dt { kbd { "1" } " " kbd { "2" } " " kbd { "3" } } dd { "into the column of PTX, Ori, SASS" }
                        dt { kbd { "↑" } " " kbd { "↓" } } dd { "one line up or down" }
                        dt { kbd { "Enter" } } dd { "keep the light on this line" }
                        dt { kbd { "[" } " " kbd { "]" } } dd { "Ori one phase earlier or later" }
                        dt { kbd { "k" } " " kbd { "j" } } dd { "kernel before or after" }
                        dt { kbd { "Esc" } } dd { "lights off" }
                    }
                    form method="dialog" { button { "Close" } }
                }
                svg width="0" height="0" aria-hidden="true" style="position:absolute" {
                    defs { marker #head viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto" {
                        path d="M0 0L8 4L0 8z" {}
                    } }
                }
                main {
                    @for (at, kernel) in view.kernels.iter().enumerate() { (section(at, kernel)) }
                }
                footer { "Made by Oriole. Cycles are estimates for one warp alone, straight through the code." }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    markup.into_string()
}

fn section(at: usize, kernel: &KernelView) -> Markup {
    let (graph, in_layers) = flow_graph::svg(&kernel.code);
    let span = kernel.code.span();
    html! {
        section.kernel id={ "k" (at) } {
            h2 { (kernel.source_name.as_ref().unwrap_or(&kernel.name)) }
            @if kernel.source_name.is_some() { p.symbol { (kernel.name) } }
            (needs(kernel))
            div.panes {
                (text_pane(kernel))
                (ori_pane(at, kernel))
                (code_pane(kernel))
            }
            div.figures {
                figure {
                    figcaption { "Live registers " span.key.general { "general" } " " span.key.uniform { "uniform" } " "
                        span.key.limit { "given to the kernel" } }
                    (charts::pressure(kernel))
                }
                @if span.is_some() {
                    figure {
                        figcaption { "What issues when " span.key.issue { "instructions by unit" } " "
                            span.key.wait { "waits for scoreboards" } }
                        (charts::timeline(kernel))
                    }
                }
                figure {
                    figcaption { "Warps of an SM over registers of a thread"
                        @if let Some((registers, warps)) = charts::next_step(kernel) {
                            span.hint { " with " (registers) " registers it would be " (warps) " warps" }
                        }
                    }
                    (charts::occupancy(kernel))
                }
                figure.flow {
                    figcaption { "Control flow: " (kernel.code.blocks.len()) " blocks; the bar is the share of cycles, the colour the depth of loops"
                        @if !in_layers { span.hint { " too large for layers, drawn in the order of the code" } }
                    }
                    div.scroll tabindex="0" { (graph) }
                }
            }
        }
    }
}

fn needs(kernel: &KernelView) -> Markup {
    let needs = &kernel.needs;
    let spilled = needs.spill_bytes > 0;
    let card = |name: &str, value: String, bad: bool| {
        html! { div.card.bad[bad] { dt { (name) } dd { (value) } } }
    };
    html! {
        dl.cards {
            (card("registers", needs.registers.to_string(), false))
            (card("live at most", needs.peak.0.to_string(), false))
            (card("spilled", format!("{} B", needs.spill_bytes), spilled))
            (card("shared", format!("{} B", needs.shared), false))
            (card("stack", needs.stack.map_or("unknown".to_owned(), |bytes| format!("{bytes} B")), false))
            (card("barriers", needs.barriers.to_string(), false))
            (card("instructions", kernel.code.rows.len().to_string(), false))
            (card("cycles, loops ten times", needs.cycles.to_string(), false))
            (card("warps of an SM", format!("{} of {}", needs.warps.0, needs.warps.1), needs.warps.0 == 0))
        }
        ul.why { @for reason in &needs.why { li { (reason) } } }
    }
}

/// A column of rows, in chunks. All texts are padded to the widest one, so that the following column is aligned.
fn rows(name: &str, widest: usize, rows: &[Markup]) -> Markup {
    html! {
        div.rows.(name) tabindex="0" role="region" aria-label=(name) style={ "--w:" (widest + 1) "ch" } {
            @for chunk in rows.chunks(CHUNK) {
                div.chunk style={ "contain-intrinsic-height:" (chunk.len() * ROW) "px" } {
                    @for row in chunk { (row) }
                }
            }
        }
    }
}

fn text_pane(kernel: &KernelView) -> Markup {
    let list: Vec<Markup> = kernel.text.iter().flat_map(part).collect();
    let lines = kernel.text.iter().flat_map(|part| &part.lines);
    let widest = lines.map(|line| line.iter().map(|(_, text)| columns(text)).sum()).max().unwrap_or(0);
    html! {
        div.pane { h3 { "PTX" } (rows("PTX", widest, &list)) }
    }
}

/// Maximum width of a text in columns.
fn columns(text: &str) -> usize {
    text.chars().map(|letter| if letter == '\t' { TAB } else { 1 }).sum()
}

fn part(part: &TextPart) -> impl Iterator<Item = Markup> + '_ {
    part.lines.iter().zip(part.first_line..).map(|(line, number)| {
        html! {
            div.r data-l=(number) {
                b { (number) }
                span { @for (kind, text) in line {
                    @match kind.and_then(class) {
                        Some(class) => i class=(class) { (text) },
                        None => (text),
                    }
                } }
            }
        }
    })
}

/// The style of a word; most have none, which keeps the page small.
fn class(kind: TokenKind) -> Option<&'static str> {
    match kind {
        TokenKind::Directive | TokenKind::Space => Some("d"),
        TokenKind::Opcode => Some("o"),
        TokenKind::Label | TokenKind::Function => Some("l"),
        TokenKind::Number | TokenKind::String => Some("n"),
        TokenKind::Comment => Some("c"),
        _ => None,
    }
}

fn ori_pane(at: usize, kernel: &KernelView) -> Markup {
    let last = kernel.history.len().saturating_sub(1);
    let shown: Vec<Markup> = kernel
        .history
        .last()
        .into_iter()
        .flat_map(visible)
        .map(|(text, line)| {
            html! { div.r data-l=[line] { span { (text) } } }
        })
        .collect();
    let lines = kernel.history.iter().flat_map(visible);
    let widest = lines.map(|(text, _)| columns(text)).max().unwrap_or(0);
    let name = |snapshot: &OriSnapshot| match snapshot.phase {
        Some((number, name)) => format!("{number} {name}"),
        None => "as lowered".to_owned(),
    };
    html! {
        div.pane {
            h3 {
                "Ori "
                label.script { span.sr { "after phase " } select.phases data-kernel=(at) {
                    @for (index, snapshot) in kernel.history.iter().enumerate() {
                        option value=(index) selected[index == last] title=(snapshot.doc) { (name(snapshot)) }
                    }
                } }
                noscript { @if let Some(last) = kernel.history.last() { "after " (name(last)) } }
            }
            (rows("Ori", widest, &shown))
            script.history type="application/json" { (PreEscaped(history(&kernel.history))) }
        }
    }
}

/// The visible lines: names of registers are in the PTX next to it.
fn visible(snapshot: &OriSnapshot) -> impl Iterator<Item = (&str, Option<u32>)> {
    let lines = snapshot.lines.iter().filter(|line| !line.text.starts_with("  value "));
    lines.map(|line| (&*line.text, line.source.map(|line| line + 1)))
}

/// The phases as JSON: each line once, and for each phase its stretches of lines. It contains no `<`.
fn history(snapshots: &[OriSnapshot]) -> String {
    let mut known: HashMap<(&str, Option<u32>), usize> = HashMap::new();
    let (mut lines, mut sources): (Vec<&str>, Vec<u32>) = (Vec::new(), Vec::new());
    let mut phases: Vec<Value> = Vec::new();
    for snapshot in snapshots {
        // Start and length of each stretch, one after the other.
        let mut stretches: Vec<usize> = Vec::new();
        for (text, source) in visible(snapshot) {
            let id = *known.entry((text, source)).or_insert_with(|| {
                lines.push(text);
                sources.push(source.unwrap_or(0));
                lines.len() - 1
            });
            match stretches.as_mut_slice() {
                [.., start, length] if *start + *length == id => *length += 1,
                _ => stretches.extend([id, 1]),
            }
        }
        phases.push(json!({ "doc": snapshot.doc, "lines": stretches }));
    }
    // In JSON a `<` is inside of strings only, where it can be escaped.
    json!({ "lines": lines, "sources": sources, "phases": phases }).to_string().replace('<', "\\u003c")
}

fn code_pane(kernel: &KernelView) -> Markup {
    let most = kernel.code.peak().0.max(1);
    let widest = kernel.code.rows.iter().map(|row| row.text.chars().count()).max().unwrap_or(0);
    let mut list = Vec::with_capacity(kernel.code.rows.len());
    for (at, (row, note)) in kernel.code.rows.iter().zip(&kernel.notes).enumerate() {
        if let Some((_, name)) = kernel.code.functions.iter().find(|(first, _)| *first == at) {
            list.push(html! { div.name { (name) ":" } });
        }
        let first = kernel.code.blocks[row.block].first == at;
        list.push(code_row(row, note, most, first));
    }
    html! {
        div.pane.wide {
            h3 { "SASS" span.columns { "address, cycle, live registers, scoreboards" } }
            (rows("SASS", widest, &list))
        }
    }
}

fn code_row(row: &Row, note: &Note, most: u16, first: bool) -> Markup {
    let control = row.instruction.control;
    let waited = row.issue.map_or(0, |issue| issue.waited);
    let mut title: Vec<String> = note.why.clone();
    if waited > 0 {
        title.push(format!("waits about {waited} cycles before it issues"));
    }
    title.push(format!("stalls {} cycles", control.stall.max(1)));
    let live = row.pressure;
    title.push(format!(
        "live: {} general, {} uniform, {} predicates",
        live.general, live.uniform, live.predicates
    ));
    let share = u32::from(live.general) * 100 / u32::from(most);
    html! {
        div.r.first[first].spill[note.spill] data-l=[note.line] data-b=(row.block) title=(title.join("\n")) {
            b { (format!("{:04x}", row.address)) }
            i.s.waits[waited > 0] { @if let Some(issue) = row.issue { (issue.cycle) } }
            i.p style={ "--p:" (share) "%" } { (live.general) }
            i.w { (scoreboards(row)) }
            span { (row.text) }
        }
    }
}

/// The waits and sets of a row, in short: `?03` waits for two scoreboards, `w2` and `r1` set them.
fn scoreboards(row: &Row) -> String {
    let control = row.instruction.control;
    let mut text = String::new();
    if control.wait_mask != 0 {
        text.push('?');
        (0..6u8)
            .filter(|bit| control.wait_mask >> bit & 1 == 1)
            .for_each(|bit| text.push(char::from(b'0' + bit)));
    }
    for (letter, number) in [('w', control.write_barrier), ('r', control.read_barrier)] {
        if let Some(number) = number {
            text.push_str(&format!("{}{letter}{number}", if text.is_empty() { "" } else { " " }));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_ide::OriLine;

    /// The script reconstructs the lines of each phase, and no line can end the script.
    #[test]
    fn phases_as_json() {
        let line = |text: &str, source| OriLine { text: text.into(), source };
        let (a, b, c) = (line("a </script>", None), line("b", Some(1)), line("c", Some(1)));
        let value = line("  value r1 = %0.0", None);
        let snapshots = [vec![a.clone(), value, b.clone(), c.clone()], vec![a, c, b]]
            .map(|lines| OriSnapshot { phase: None, doc: "d", lines });
        let text = history(&snapshots);
        assert!(!text.contains('<'), "{text}");
        let wanted = json!({
            "lines": ["a </script>", "b", "c"], "sources": [0, 2, 2],
            "phases": [{ "doc": "d", "lines": [0, 3] }, { "doc": "d", "lines": [0, 1, 2, 1, 1, 1] }],
        });
        assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), wanted);
    }
}
