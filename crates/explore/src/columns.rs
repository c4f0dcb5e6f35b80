//! A file and its kernels as columns of numbers and texts, in JSON: what the script of a page draws.
//!
//! One list for each fact and not one object for each row: a page of many kernels stays small, and is read fast. Each text
//! is there once for each kernel. No markup is written here.

use std::collections::HashMap;

use oriole_chip::occupancy;
use oriole_ide::TokenKind;
use oriole_latency::Unit;
use serde::Serialize;

use crate::code::{KernelCode, Row};
use crate::comparison::Change;
use crate::flow_graph::{self, GraphColumns};
use crate::sources::Place;
use crate::text_part::TextPart;
use crate::texts::Texts;
use crate::view::{FileView, Heat, KernelView, Note};

/// Facts of the file, known before a kernel is looked at.
#[derive(Serialize)]
struct Index<'a> {
    file: &'a str,
    chip: String,
    options: &'a str,
    /// Symbol, and source name or nothing.
    kernels: Vec<(&'a str, Option<&'a str>)>,
    /// Text, line, whether it is an error.
    diagnostics: Vec<(&'a str, u32, bool)>,
    /// Number, name, lines.
    sources: Vec<(u32, &'a str, &'a [String])>,
    other: Option<&'a str>,
    launch: Option<&'a str>,
    has_text: bool,
    units: Vec<&'static str>,
}

/// The file as JSON.
pub fn index(view: &FileView) -> String {
    let index = Index {
        file: &view.file,
        chip: view.chip.to_string(),
        options: &view.options,
        kernels: view.kernels.iter().map(|it| (&*it.name, it.source_name.as_deref())).collect(),
        diagnostics: view.diagnostics.iter().map(|it| (&*it.text, it.line, it.is_error)).collect(),
        sources: view.sources.iter().map(|(&number, it)| (number, &*it.name, &*it.lines)).collect(),
        other: view.other.as_deref(),
        launch: view.launch.as_deref(),
        has_text: view.has_text(),
        units: Unit::ALL.into_iter().map(Unit::name).collect(),
    };
    json(&index)
}

/// Values of these types have no keys that are not text, which is all that could fail.
pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// A kernel.
#[derive(Serialize)]
struct Part<'a> {
    name: &'a str,
    source: Option<&'a str>,
    /// Name, value, whether it is bad.
    cards: Vec<(&'static str, String, bool)>,
    why: &'a [String],
    strings: Texts,
    text: Text,
    sass: Sass,
    other: Option<Sass>,
    /// Rows next to each other, each by its index plus 1 or 0, and their difference.
    pairs: Option<[Vec<u32>; 3]>,
    heat: Option<HeatColumns>,
    graph: GraphColumns,
    occupancy: OccupancyColumns,
}

/// The PTX: a number for each line.
#[derive(Serialize, Default)]
struct Text {
    /// Number of the line in the file.
    lines: Vec<u32>,
    /// The line, a string.
    texts: Vec<usize>,
    /// Its stretches, a string: class and length one after the other.
    styles: Vec<usize>,
    /// File and line of the source, 0 if there is none.
    #[serde(skip_serializing_if = "is_zero")]
    files: Vec<u32>,
    #[serde(skip_serializing_if = "is_zero")]
    places: Vec<u32>,
}

/// Machine code: a number for each row. Columns whose every number is 0 are left out.
#[derive(Serialize, Default)]
struct Sass {
    /// Bytes from a row to the next.
    step: u32,
    /// Addresses, if they are not all multiples of the step.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    addresses: Vec<u32>,
    texts: Vec<usize>,
    /// Line of the PTX, 0 if there is none.
    #[serde(skip_serializing_if = "is_zero")]
    lines: Vec<u32>,
    #[serde(skip_serializing_if = "is_zero")]
    files: Vec<u32>,
    #[serde(skip_serializing_if = "is_zero")]
    places: Vec<u32>,
    /// Issue cycles; nothing if the latencies of the chip are not known.
    cycles: Option<Vec<u64>>,
    #[serde(skip_serializing_if = "is_zero")]
    waited: Vec<u32>,
    stalls: Vec<u8>,
    general: Vec<u16>,
    #[serde(skip_serializing_if = "is_zero")]
    uniform: Vec<u16>,
    #[serde(skip_serializing_if = "is_zero")]
    predicates: Vec<u16>,
    /// Scoreboards in short, a string.
    boards: Vec<usize>,
    /// Index of the unit plus 1, 0 if there is none.
    units: Vec<usize>,
    /// Rows that store or reload a spilled register.
    spills: Vec<usize>,
    /// Rows with reasons, and the reasons as strings.
    why: Vec<(usize, Vec<usize>)>,
    /// First row, loop depth, cycles of each block.
    blocks: Vec<(usize, u8, u64)>,
    /// First row and name of each function.
    functions: Vec<(usize, String)>,
    registers: u32,
    span: Option<u64>,
}

fn is_zero<T: Default + PartialEq>(column: &[T]) -> bool {
    column.iter().all(|number| *number == T::default())
}

/// Figures of the timing model: issues, waits and reasons of each row.
#[derive(Serialize)]
struct HeatColumns {
    issued: Vec<u64>,
    waited: Vec<u64>,
    why: Vec<usize>,
}

#[derive(Serialize)]
struct OccupancyColumns {
    registers: u32,
    warps: u32,
    most: u32,
    registers_at_most: usize,
    /// Number of registers, and the warps from there on.
    steps: Vec<(usize, u32)>,
}

/// Texts that are there once.
#[derive(Default)]
struct Strings<'a> {
    known: HashMap<&'a str, usize>,
    list: Vec<&'a str>,
}

impl<'a> Strings<'a> {
    fn id(&mut self, text: &'a str) -> usize {
        *self.known.entry(text).or_insert_with(|| {
            self.list.push(text);
            self.list.len() - 1
        })
    }
}

/// Texts of the PTX that are put together here: the line and its stretches.
struct Lines(Vec<(String, String)>);

impl Lines {
    fn of(parts: &[TextPart]) -> Lines {
        let lines = parts.iter().flat_map(|part| &part.lines);
        let joined = |line: &Vec<(Option<TokenKind>, String)>| {
            let mut style = String::new();
            let mut last = None;
            let mut length = 0usize;
            for (kind, text) in line {
                let class = kind.and_then(class).unwrap_or('x');
                if last.is_some_and(|last| last != class) {
                    style.extend(last.map(|last| format!("{last}{length}")));
                    length = 0;
                }
                last = Some(class);
                // As the script counts.
                length += text.encode_utf16().count();
            }
            // The rest of a line is plain.
            if let Some(last) = last.filter(|&last| last != 'x') {
                style.push_str(&format!("{last}{length}"));
            }
            (line.iter().map(|(_, text)| text.as_str()).collect(), style)
        };
        Lines(lines.map(joined).collect())
    }
}

/// The style of a word; most have none.
fn class(kind: TokenKind) -> Option<char> {
    match kind {
        TokenKind::Directive | TokenKind::Space => Some('d'),
        TokenKind::Opcode => Some('o'),
        TokenKind::Label | TokenKind::Function => Some('l'),
        TokenKind::Number | TokenKind::String => Some('n'),
        TokenKind::Comment => Some('c'),
        _ => None,
    }
}

/// A kernel as JSON.
pub fn code_columns(view: &KernelView<'_>) -> String {
    let lines = Lines::of(&view.text);
    let boards = [Some(view.code), view.other.as_ref().map(|(code, _)| *code)]
        .map(|code| code.map_or(Vec::new(), |code| code.rows.iter().map(scoreboards).collect()));
    let mut strings = Strings::default();
    let mut text = Text::default();
    let numbers = view.text.iter().flat_map(|part| (part.first_line..).zip(&part.places));
    for ((line, style), (number, place)) in lines.0.iter().zip(numbers) {
        text.lines.push(number);
        text.texts.push(strings.id(line));
        text.styles.push(strings.id(style));
        let (file, line) = place.unwrap_or_default();
        text.files.push(file);
        text.places.push(line);
    }
    let sass = sass(view.code, &view.notes, &boards[0], &mut strings);
    let other = view.other.as_ref().map(|(code, _)| facts(code, &boards[1], &mut strings));
    let heat = view.heat.map(|rows| heat_columns(rows, &mut strings));
    let part = Part {
        name: &view.entry.name,
        source: view.entry.source_name.as_deref(),
        cards: cards(view),
        why: view.needs.as_ref().map_or(&[], |needs| &needs.why),
        text,
        sass,
        other,
        pairs: view.other.as_ref().map(|(_, pairs)| {
            let index = |at: Option<usize>| at.map_or(0, |at| at as u32 + 1);
            let change = |change| match change {
                Change::Same => 0,
                Change::Changed => 1,
                Change::Removed => 2,
                Change::Added => 3,
            };
            [
                pairs.iter().map(|pair| index(pair.rows[0])).collect(),
                pairs.iter().map(|pair| index(pair.rows[1])).collect(),
                pairs.iter().map(|pair| change(pair.change)).collect(),
            ]
        }),
        heat,
        graph: flow_graph::columns(view.code),
        occupancy: occupancy_columns(view),
        strings: strings.list.into_iter().collect(),
    };
    json(&part)
}

fn sass<'a>(
    code: &'a KernelCode,
    notes: &'a [Note],
    boards: &'a [String],
    strings: &mut Strings<'a>,
) -> Sass {
    let mut columns = facts(code, boards, strings);
    places(notes, &mut columns);
    for (at, note) in notes.iter().enumerate() {
        if note.spill {
            columns.spills.push(at);
        }
        if !note.why.is_empty() {
            columns.why.push((at, note.why.iter().map(|why| strings.id(why)).collect()));
        }
    }
    columns
}

fn places(notes: &[Note], columns: &mut Sass) {
    columns.lines = notes.iter().map(|note| note.line.unwrap_or(0)).collect();
    let of = |note: &Note| -> Place { note.place.unwrap_or_default() };
    columns.files = notes.iter().map(|note| of(note).0).collect();
    columns.places = notes.iter().map(|note| of(note).1).collect();
}

/// The facts that are known of any code.
fn facts<'a>(code: &'a KernelCode, boards: &'a [String], strings: &mut Strings<'a>) -> Sass {
    let rows = &code.rows;
    let unit = |row: &Row| Unit::ALL.iter().position(|&unit| Some(unit) == row.unit).map_or(0, |at| at + 1);
    let step = rows.get(1).map_or(0, |row| row.address);
    let regular = (0..).zip(rows).all(|(at, row): (u32, &Row)| at.checked_mul(step) == Some(row.address));
    Sass {
        step,
        addresses: if regular { Vec::new() } else { rows.iter().map(|row| row.address).collect() },
        texts: rows.iter().map(|row| strings.id(&row.text)).collect(),
        cycles: rows.iter().map(|row| row.issue.map(|issue| issue.cycle)).collect(),
        waited: rows.iter().map(|row| row.issue.map_or(0, |issue| issue.waited)).collect(),
        stalls: rows.iter().map(|row| row.instruction.control.stall.max(1)).collect(),
        general: rows.iter().map(|row| row.pressure.general).collect(),
        uniform: rows.iter().map(|row| row.pressure.uniform).collect(),
        predicates: rows.iter().map(|row| row.pressure.predicates).collect(),
        boards: boards.iter().map(|text| strings.id(text)).collect(),
        units: rows.iter().map(unit).collect(),
        blocks: code.blocks.iter().map(|block| (block.first, block.loop_depth, block.cycles)).collect(),
        functions: code.functions.clone(),
        registers: code.registers,
        span: code.span(),
        ..Sass::default()
    }
}

fn heat_columns<'a>(rows: &'a [Heat], strings: &mut Strings<'a>) -> HeatColumns {
    HeatColumns {
        issued: rows.iter().map(|row| row.issued).collect(),
        waited: rows.iter().map(|row| row.waited).collect(),
        why: rows.iter().map(|row| strings.id(&row.why)).collect(),
    }
}

fn cards(view: &KernelView<'_>) -> Vec<(&'static str, String, bool)> {
    let code = view.code;
    let bytes = |count: u64| format!("{count} B");
    let (warps, most) = warps(view);
    let mut cards = vec![("registers", view.usage.registers.to_string(), false)];
    match &view.needs {
        Some(needs) => {
            let stack = needs.stack.map_or("unknown".to_owned(), |count| bytes(count.into()));
            cards.extend([
                ("live at most", needs.peak.0.to_string(), false),
                ("spilled", bytes(needs.spill_bytes.into()), needs.spill_bytes > 0),
                ("shared", bytes(needs.shared.into()), false),
                ("stack", stack, false),
                ("barriers", needs.barriers.to_string(), false),
                ("instructions", code.rows.len().to_string(), false),
                ("cycles, loops ten times", needs.cycles.to_string(), false),
            ]);
        }
        None => cards.extend([
            ("live at most", code.peak().0.to_string(), false),
            ("local stores and loads", format!("{} + {}", code.local.0, code.local.1), false),
            ("shared", bytes(code.shared_bytes), false),
            ("stack", code.stack_bytes.map_or("unknown".to_owned(), |count| bytes(count.into())), false),
            ("barriers", code.barriers.to_string(), false),
            ("instructions", code.rows.len().to_string(), false),
            ("issue cycles, loops ten times", code.figures.weighted_cycles.to_string(), false),
        ]),
    }
    cards.push(("warps of an SM", format!("{warps} of {most}"), warps == 0));
    cards
}

/// Warps of an SM, and the most that it holds.
fn warps(view: &KernelView<'_>) -> (u32, u32) {
    match &view.needs {
        Some(needs) => needs.warps,
        None => {
            let most = view.chip.limits().map_or(0, |limits| limits.warps_per_sm);
            (occupancy(view.chip, view.usage).map_or(0, |found| found.warps), most)
        }
    }
}

fn occupancy_columns(view: &KernelView<'_>) -> OccupancyColumns {
    let (warps, most) = warps(view);
    let steps = view.curve.iter().enumerate();
    let steps = steps.filter(|&(at, warps)| at == 0 || view.curve[at - 1] != *warps);
    OccupancyColumns {
        registers: view.usage.registers,
        warps,
        most,
        registers_at_most: view.curve.len(),
        steps: steps.map(|(at, &warps)| (at + 1, warps)).collect(),
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
