//! The page about a file as HTML: the frame, its style and script, and the data that the script draws.
//!
//! All HTML is written in one place, and all text of the file goes through the library's escaping or is JSON that cannot
//! contain a tag. A page that is written holds all data and loads nothing; one that is served asks for a kernel when it is
//! looked at. The caller decides which page is served to which reader.

use std::sync::atomic::{AtomicUsize, Ordering};

use maud::{DOCTYPE, Markup, PreEscaped, html};
use oriole_ide::{Analysis, Cancellable};

use crate::columns::{code_columns, index};
use crate::phase_columns::phase_columns;
use crate::view::{FileView, ViewError};

/// Common to all pages: colours for light and dark, fonts, the head.
const THEME: &str = include_str!("theme.css");
const STYLE: &str = include_str!("page.css");
/// One script: the parts share a scope, and the last one begins.
const SCRIPTS: [&str; 6] = [
    include_str!("page/data.js"),
    include_str!("page/lists.js"),
    include_str!("page/charts.js"),
    include_str!("page/kernel.js"),
    include_str!("page/search.js"),
    include_str!("page/page.js"),
];

const BEGIN: &str = "\"use strict\";(() => {\n";
const END: &str = "})();";

/// The rights of a page beyond its own style.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scripts {
    /// No script.
    None,
    /// Its own, and it loads nothing.
    Own,
    /// Its own, and it asks the program that serves it.
    Served,
}

/// The head of a page. Nothing is loaded from elsewhere, whatever the text of a file contains, and scripts are allowed
/// only on pages that have one.
pub(crate) fn head(title: &str, style: &str, scripts: Scripts) -> Markup {
    let script = match scripts {
        Scripts::None => "",
        Scripts::Own => "; script-src 'unsafe-inline'",
        Scripts::Served => "; script-src 'unsafe-inline'; connect-src 'self'",
    };
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

/// The page about a file, with the data of all its kernels, gathered on `threads` threads.
///
/// # Errors
/// The outer one for cancellation, the inner one if a kernel has no code.
pub fn page(view: &FileView, analysis: &Analysis, threads: usize) -> Cancellable<Result<String, ViewError>> {
    let parts = match gathered(view, analysis, threads)? {
        Ok(parts) => parts,
        Err(error) => return Ok(Err(error)),
    };
    let size: usize = parts.iter().map(|[code, ori]| code.len() + ori.len() + 8).sum();
    // One array, an element on each line: the script reads the line of a kernel when it is looked at.
    let mut data = String::with_capacity(size + size / 16);
    data.push_str("[\n");
    push(&mut data, &index(view));
    for part in parts {
        for text in part {
            data.push_str(",\n");
            push(&mut data, &text);
        }
    }
    data.push_str("\n]");
    Ok(Ok(document(&format!("{} for {}", view.file, view.chip), Scripts::Own, &data)))
}

/// The page without data, which asks for it.
pub fn served_page(title: &str) -> String {
    document(title, Scripts::Served, "[]")
}

/// Adds JSON so that it cannot end the script: a `<` is inside of strings only, where it can be escaped.
fn push(data: &mut String, text: &str) {
    for (at, stretch) in text.split('<').enumerate() {
        if at > 0 {
            data.push_str("\\u003c");
        }
        data.push_str(stretch);
    }
}

/// The two parts of each kernel.
type Parts = Vec<[String; 2]>;
/// Those of some kernels, by their numbers.
type Gathered = Cancellable<Result<Vec<(usize, [String; 2])>, ViewError>>;

fn gathered(view: &FileView, analysis: &Analysis, threads: usize) -> Cancellable<Result<Parts, ViewError>> {
    let next = AtomicUsize::new(0);
    let count = view.kernels.len();
    let work = |analysis: Analysis| -> Gathered {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return Ok(Ok(done));
            }
            let pair = match (code_part(view, &analysis, number)?, ori_part(view, &analysis, number)?) {
                (Ok(code), Ok(ori)) => [code, ori],
                (Err(error), _) | (_, Err(error)) => return Ok(Err(error)),
            };
            done.push((number, pair));
        }
    };
    let results: Vec<_> = std::thread::scope(|scope| {
        let spawn = |_| {
            let (analysis, work) = (analysis.clone(), &work);
            scope.spawn(move || work(analysis))
        };
        let threads: Vec<_> = (0..threads.clamp(1, count.max(1))).map(spawn).collect();
        let joined = |thread: std::thread::ScopedJoinHandle<'_, _>| match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        threads.into_iter().map(joined).collect()
    });
    let mut parts = vec![Default::default(); count];
    for result in results {
        match result? {
            Ok(list) => list.into_iter().for_each(|(number, pair)| parts[number] = pair),
            Err(error) => return Ok(Err(error)),
        }
    }
    Ok(Ok(parts))
}

/// The data of a kernel: text, code, resources.
///
/// # Errors
/// As [`FileView::kernel`].
pub fn code_part(
    view: &FileView,
    analysis: &Analysis,
    number: usize,
) -> Cancellable<Result<String, ViewError>> {
    Ok(view.kernel(analysis, number)?.map(|kernel| code_columns(&kernel)))
}

/// The data of the phases of a kernel.
///
/// # Errors
/// As [`FileView::history`].
pub fn ori_part(
    view: &FileView,
    analysis: &Analysis,
    number: usize,
) -> Cancellable<Result<String, ViewError>> {
    Ok(view.history(analysis, number)?.map(|history| phase_columns(&history)))
}

fn document(title: &str, scripts: Scripts, data: &str) -> String {
    let markup = html! {
        (DOCTYPE)
        html lang="en" data-served[scripts == Scripts::Served] {
            (head(title, STYLE, scripts))
            body {
                header {
                    h1 #file {}
                    p.about #about {}
                    label #chooser hidden { "Kernel " select #kernels {} }
                    label.search {
                        span.sr { "Search in all columns" }
                        input #search type="search" placeholder="Search (/)" autocomplete="off" spellcheck="false";
                        output #found {}
                    }
                    button #link type="button" title="Copy a link to this line" { "link" }
                    button #theme type="button" title="Light, dark, or as the system has it" { "◐" }
                    button #help type="button" title="Keys" { "?" }
                }
                p #state role="status" hidden {}
                (keys())
                noscript { p { "This page is drawn by its script. Without scripts, `oriole dis` and `oriole ori` print the same code." } }
                main {}
                footer { "Made by Oriole. " span #cycles {} }
                script #data type="application/json" { (PreEscaped(data)) }
                script { (PreEscaped(BEGIN)) @for script in SCRIPTS { (PreEscaped(script)) } (PreEscaped(END)) }
            }
        }
    };
    markup.into_string()
}

fn keys() -> Markup {
    html! {
        dialog #keys {
            p { "A line that is pointed at lights up what belongs to it in the other columns. A click, or Enter, keeps the light on "
                "and brings the others into view; Escape ends it." }
            dl {
                dt { kbd { "1" } " " kbd { "2" } " " kbd { "3" } " ..." } dd { "into the first, second, third column" }
                dt { kbd { "↑" } " " kbd { "↓" } } dd { "one line up or down; also Page Up, Page Down, Home, End" }
                dt { kbd { "Enter" } } dd { "keep the light on this line" }
                dt { kbd { "/" } } dd { "search; Enter for the next place, Shift-Enter for the one before" }
                dt { kbd { "[" } " " kbd { "]" } } dd { "Ori one phase earlier or later" }
                dt { kbd { "k" } " " kbd { "j" } } dd { "kernel before or after" }
                dt { kbd { "Esc" } } dd { "lights off" }
            }
            form method="dialog" { button { "Close" } }
        }
    }
}
