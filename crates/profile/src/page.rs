//! A profile as a page for a browser: one file without scripts, that loads nothing. The faults, then the lines of the text
//! with their waits as heat, next to the instructions. All text goes through the library's escaping.

use crate::code::{By, Code, Place};
use crate::profile::Profile;
use crate::text::{Shown, Sum, by_place, hint, in_words, text};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use oriole_timing::Reason;
use std::collections::BTreeMap;

const STYLE: &str = include_str!("page.css");
/// Lines of a text that are on the page, at most: those with code and what is near them.
const LINES: usize = 20_000;

/// The page.
pub fn page(profile: &Profile, code: &Code, name: &str) -> String {
    let head = text(profile, code, Shown { name, lines: 0 });
    let about: Vec<&str> = head.lines().take(4).collect();
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                title { "Profile of " (name) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { (name) }
                @for line in about { p.about { (line) } }
                @if profile.findings.is_empty() { p { "No fault was found: " (hint(profile.estimate.bound)) "." } }
                ol {
                    @for finding in &profile.findings {
                        li {
                            b { (format!("{:.0} %", 100.0 * finding.share)) } " "
                            @if let Some(place) = &finding.place { a href={ "#" (anchor(place)) } { (in_words(finding)) } }
                            @else { (in_words(finding)) }
                            p.advice { "Try: " (finding.advice()) }
                        }
                    }
                }
                div.panes {
                    @if profile.by != By::Sass { (lines(profile, code)) }
                    (instructions(profile, code))
                }
            }
        }
    };
    markup.into_string()
}

/// The anchor of a place.
fn anchor(place: &Place) -> String {
    match place {
        Place::Line(line) => format!("l{line}"),
        Place::Source(file, line) => {
            let file: String =
                file.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
            format!("s{file}-{line}")
        }
        Place::Offset(offset) => format!("i{offset:x}"),
    }
}

fn heat(waits: u64, most: u64) -> String {
    format!("background: rgba(var(--heat), {:.2})", 0.7 * waits as f64 / most.max(1) as f64)
}

fn lines(profile: &Profile, code: &Code) -> Markup {
    let places = by_place(profile);
    let most = places.values().map(Sum::waits).max().unwrap_or(0);
    let total: u64 = profile.estimate.waited.iter().sum();
    let files: Vec<(Option<&String>, &Vec<String>)> = match profile.by {
        By::Ptx => vec![(None, &code.ptx)],
        _ => code.sources.iter().map(|(file, lines)| (Some(file), lines)).collect(),
    };
    html! {
        @for (file, lines) in files {
            div.pane {
                table {
                    tr { th { "line" } th { "waits" } th { "issued" } th { (file.map_or("PTX", String::as_str)) } }
                    @for (at, line) in lines.iter().enumerate().take(LINES) {
                        @let number = at as u32 + 1;
                        @let place = file.map_or(Place::Line(number), |file| Place::Source(file.clone(), number));
                        (row(&place, places.get(&place), line, most, total))
                    }
                }
            }
        }
    }
}

fn row(place: &Place, sum: Option<&Sum>, line: &str, most: u64, total: u64) -> Markup {
    let number = match place {
        Place::Line(line) | Place::Source(_, line) => line.to_string(),
        Place::Offset(offset) => format!("{offset:04x}"),
    };
    html! {
        tr id=(anchor(place)) style=[sum.map(|sum| heat(sum.waits(), most))] title=[sum.map(reasons)] {
            td.n { (number) }
            td.n { @if let Some(sum) = sum { (format!("{:.1} %", 100.0 * sum.waits() as f64 / total.max(1) as f64)) } }
            td.n { @if let Some(sum) = sum { (sum.issued) } }
            td { (line) }
        }
    }
}

/// Waits by reason, for the pointer.
fn reasons(sum: &Sum) -> String {
    let waits = Reason::ALL.into_iter().zip(sum.waited).filter(|wait| wait.1 > 0);
    waits.map(|(reason, cycles)| format!("{} {cycles}", reason.name())).collect::<Vec<_>>().join(", ")
}

fn instructions(profile: &Profile, code: &Code) -> Markup {
    let lines = &profile.estimate.lines;
    let ran: BTreeMap<usize, &Place> = profile.rows.iter().map(|row| (row.index, &row.place)).collect();
    let waits = |index: usize| lines.get(index).map_or(0, |line| line.waited.iter().sum::<u64>());
    let most = (0..lines.len()).map(waits).max().unwrap_or(0);
    let total: u64 = profile.estimate.waited.iter().sum();
    html! {
        div.pane {
            table {
                tr { th { "address" } th { "waits" } th { "issued" } th { "live" } th { "line" } th { "instruction" } }
                @for (index, row) in code.rows.iter().enumerate() {
                    @let line = lines.get(index).filter(|line| line.issued > 0);
                    @let address = lines.get(index).map_or(0, |line| line.address);
                    tr id=(anchor(&Place::Offset(address))) style=[line.map(|_| heat(waits(index), most))] {
                        td.n { (format!("{address:04x}")) }
                        td.n { @if line.is_some() { (format!("{:.1} %", 100.0 * waits(index) as f64 / total.max(1) as f64)) } }
                        td.n { @if let Some(line) = line { (line.issued) } }
                        td.n { @if let Some(live) = row.live { (live) } }
                        td.n { @if let Some(place) = ran.get(&index).filter(|place| !matches!(place, Place::Offset(_))) {
                            a href={ "#" (anchor(place)) } { (place.to_string().trim_start_matches("line ")) }
                        } }
                        td { (row.text) }
                    }
                }
            }
        }
    }
}
