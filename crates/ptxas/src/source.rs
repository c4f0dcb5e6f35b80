//! The text that is compiled: all inputs as one module, with the options that stand for directives written into it as
//! those directives.
//!
//! No edit adds or removes a line end, so that line numbers stay valid.

use crate::architecture::target_text;
use crate::edit::edited;
use crate::{Architecture, CacheOperators, Limits, Log, Severity};
use oriole_chip::{Chip, PtxTarget, Variant};
use oriole_diagnostics::LineIndex;
use oriole_syntax::ast::{AstNode, Instruction, Item};
use oriole_syntax::{Unit, UnitKind, parse_unit, split_file};
use std::ops::Range;

/// One input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Input {
    /// Its name in messages.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// All inputs as one module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Source {
    text: String,
    parts: Vec<Part>,
}

/// The part from one input.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Part {
    name: String,
    /// Lines before it.
    lines: u32,
}

/// The name that messages begin with: the last part of the program's path, without an extension.
pub fn program_name(path: &str) -> &str {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => name,
    }
}

impl Source {
    /// Joins inputs. `None` if that is not possible; the log says why.
    pub fn join(inputs: Vec<Input>, architecture: Architecture, log: &mut Log) -> Option<Source> {
        for input in &inputs {
            if let Some(end) = input.text.find('\0') {
                let line = LineIndex::new(&input.text).line_column(end as u32).line;
                log.say(Severity::Fatal, &format!("Unexpected EOF encountered on line {line}"));
                log.abort();
                return None;
            }
        }
        let headers: Vec<Header> = inputs.iter().skip(1).map(|input| Header::of(&input.text)).collect();
        let mut source = Source { text: String::new(), parts: Vec::new() };
        for (at, input) in inputs.into_iter().enumerate() {
            let text = match at.checked_sub(1).map(|later| &headers[later]) {
                Some(header) => header.blanked(&input, log)?,
                None if headers.is_empty() => input.text,
                None => Header::of(&input.text).raised(&headers, input.text, architecture),
            };
            source.append(input.name, text);
        }
        // The last text determines whether the module is for the architecture.
        let judged = headers.last().and_then(|header| header.target);
        if let Some(target) = judged.filter(|&target| !architecture.chip.accepts(target)) {
            log.say(Severity::Fatal, &target_text(&target.to_string(), architecture));
            return None;
        }
        Some(source)
    }

    fn append(&mut self, name: String, text: String) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        let lines = self.text.bytes().filter(|&byte| byte == b'\n').count() as u32;
        self.parts.push(Part { name, lines });
        if self.text.is_empty() { self.text = text } else { self.text.push_str(&text) }
    }

    /// The PTX version of the text.
    pub fn version(&self) -> Option<(u32, u32)> {
        Header::of(self.text()).version
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The input of a line of the text, and the line number there.
    pub fn place(&self, line: u32) -> (&str, u32) {
        let part = self.parts.iter().rfind(|part| part.lines < line).or(self.parts.first());
        part.map_or(("", line), |part| (part.name.as_str(), line - part.lines))
    }

    /// Blanks every entry that is not named. False if a named entry is missing; the log says which.
    pub fn keep_entries(&mut self, names: &[String], log: &mut Log) -> bool {
        let units = split_file(&self.text);
        let is = |kind: UnitKind, name: &String| {
            units.iter().any(|unit| unit.kind == kind && *unit.name == **name)
        };
        let known = |name: &&String| is(UnitKind::Entry, name) || is(UnitKind::Function, name);
        if let Some(name) = names.iter().find(|name| !known(name)) {
            log.say(Severity::Fatal, &format!("Unknown function {name}"));
            return false;
        }
        if let Some(name) = names.iter().find(|name| !is(UnitKind::Entry, name)) {
            log.say(Severity::Error, &format!("Entry function '{name}' not found"));
            log.abort();
            return false;
        }
        let goes =
            |unit: &&Unit| unit.kind == UnitKind::Entry && !names.iter().any(|name| **name == *unit.name);
        let edits = units.iter().filter(goes).map(|unit| {
            let range = unit.start as usize..(unit.start + unit.len) as usize;
            (range.clone(), blank(&self.text[range]))
        });
        self.text = edited(&self.text, edits.collect());
        true
    }

    /// Writes the options that stand for directives into the entries as those directives.
    pub fn limit(&mut self, limits: &Limits, chip: Chip, verbose: bool, log: &mut Log) {
        if *limits == (Limits { override_directives: limits.override_directives, ..Limits::default() }) {
            return;
        }
        let mut edits = Vec::new();
        for unit in split_file(&self.text).iter().filter(|unit| unit.kind == UnitKind::Entry) {
            let entry = Entry::of(unit, &self.text);
            if entry.exceeds(limits, chip) {
                let name = &entry.name;
                let text = format!(
                    "Value of threads per SM for entry {name} is out of range. .minnctapersm will be ignored"
                );
                log.say(Severity::Warning, &text);
            }
            let (added, note) = entry.directives(limits, chip);
            if let Some(note) = note.filter(|_| verbose) {
                log.say(Severity::Info, &note);
            }
            if let Some(at) = entry.body.filter(|_| !added.is_empty()) {
                edits.push((at..at, added));
            }
        }
        self.text = edited(&self.text, edits);
    }

    /// Writes cache operators into loads and stores.
    pub fn cache(&mut self, operators: &CacheOperators) {
        let edits = operators.edits(&self.text);
        if !edits.is_empty() {
            self.text = edited(&self.text, edits);
        }
    }

    /// Warns of each f64 instruction.
    pub fn warn_of_doubles(&self, log: &mut Log) {
        let lines = LineIndex::new(&self.text);
        for unit in split_file(&self.text) {
            if !matches!(unit.kind, UnitKind::Entry | UnitKind::Function) {
                continue;
            }
            let parse = parse_unit(unit.kind, unit.text(&self.text));
            for instruction in parse.syntax().descendants().filter_map(Instruction::cast) {
                let mut modifiers = instruction.opcode().into_iter().flat_map(|opcode| opcode.modifiers());
                if modifiers.any(|modifier| modifier.text() == ".f64") {
                    let start = unit.start + instruction.syntax().trimmed().start;
                    let (file, line) = self.place(lines.line_column(start).line);
                    let text = "Program is doing double precision computations.";
                    log.say_at(file, line, Severity::Warning, text);
                }
            }
        }
    }
}

/// The limits of an entry, and the start of its body.
struct Entry {
    name: String,
    words: Vec<String>,
    registers: Option<u32>,
    body: Option<usize>,
}

impl Entry {
    fn of(unit: &Unit, text: &str) -> Entry {
        let parse = parse_unit(unit.kind, unit.text(text));
        let function = parse.unit().function();
        let directives = || function.into_iter().flat_map(|function| function.performance_directives());
        let word = |directive: oriole_syntax::ast::PerformanceDirective<'_>| {
            directive.word().map(|word| word.text().to_owned()).unwrap_or_default()
        };
        let stated = directives().find(|directive| word(*directive) == ".maxnreg");
        let value = stated.and_then(|directive| directive.values().last()?.text().trim().parse().ok());
        let body = function.and_then(|function| function.body());
        Entry {
            name: unit.name.to_string(),
            words: directives().map(word).collect(),
            registers: value,
            body: body.map(|body| (unit.start + body.syntax().trimmed().start) as usize),
        }
    }

    /// Whether the entry has a bound on threads that overrides that of the options.
    fn keeps_threads(&self, limits: &Limits) -> bool {
        !limits.override_directives && (self.has(".maxntid") || self.has(".reqntid"))
    }

    /// Whether the options request more threads than an SM holds.
    fn exceeds(&self, limits: &Limits, chip: Chip) -> bool {
        if self.keeps_threads(limits) {
            return false;
        }
        let threads = limits.max_threads.iter().fold(1_u32, |all, &some| all.saturating_mul(some));
        let blocks = limits.min_blocks.filter(|_| !limits.max_threads.is_empty());
        blocks.zip(chip.limits()).is_some_and(|(blocks, limits)| !limits.holds(blocks, threads))
    }

    fn has(&self, word: &str) -> bool {
        self.words.iter().any(|found| found == word)
    }

    /// The directives that options add, and the note about them. Of two directives of a kind the later one counts.
    fn directives(&self, limits: &Limits, chip: Chip) -> (String, Option<String>) {
        let over = limits.override_directives;
        let (mut added, mut note) = (String::new(), None);
        let states_threads = self.has(".maxntid") || self.has(".reqntid");
        let bounds_threads = !limits.max_threads.is_empty() && !self.keeps_threads(limits);
        if bounds_threads {
            let numbers: Vec<String> = limits.max_threads.iter().map(u32::to_string).collect();
            added += &format!(" .maxntid {}", numbers.join(", "));
        }
        if let Some(blocks) = limits.min_blocks
            && (states_threads || bounds_threads)
            && (over || !self.has(".minnctapersm"))
            && !self.exceeds(limits, chip)
        {
            added += &format!(" .minnctapersm {blocks}");
        }
        if let Some(registers) = limits.max_registers {
            if over || !(states_threads || self.has(".maxnreg")) {
                added += &format!(" .maxnreg {registers}");
                let before = self.registers.unwrap_or(u32::from(chip.register_files().general.count) + 1);
                let name = &self.name;
                note = Some(format!(
                    "Overriding maximum register limit {before} for '{name}' with  {registers} of maxrregcount option"
                ));
            } else if let Some(stated) = self.registers {
                note = Some(format!(
                    "Overriding global maxrregcount {registers} with entry-specific value {stated} of .maxnreg"
                ));
            }
        }
        if !added.is_empty() {
            added.push(' ');
        }
        (added, note)
    }
}

/// The words at the head of a file.
#[derive(Default)]
struct Header {
    version: Option<(u32, u32)>,
    version_at: Option<Range<usize>>,
    target: Option<PtxTarget>,
    target_at: Option<Range<usize>>,
    /// The directives as a whole.
    directives: Vec<Range<usize>>,
}

impl Header {
    fn of(text: &str) -> Header {
        let mut header = Header::default();
        for unit in split_file(text).iter().filter(|unit| unit.kind == UnitKind::Header) {
            let parse = parse_unit(unit.kind, unit.text(text));
            let at = |span: oriole_diagnostics::Span| {
                (unit.start + span.start) as usize..(unit.start + span.end()) as usize
            };
            for item in parse.unit().items() {
                match item {
                    Item::VersionDirective(directive) => {
                        header.version = directive.version();
                        header.version_at = directive.number().map(|token| at(token.span()));
                    }
                    Item::TargetDirective(directive) => {
                        let targets =
                            directive.names().filter_map(|name| Some((name, name.text().parse().ok()?)));
                        // The last one counts.
                        if let Some((name, target)) = targets.last() {
                            header.target = Some(target);
                            header.target_at = Some(at(name.span()));
                        }
                    }
                    Item::AddressSizeDirective(_) => {}
                    _ => continue,
                }
                header.directives.push(at(item.syntax().trimmed()));
            }
        }
        header
    }

    /// The first text of several: it gets the newest version, and a target with the features of all of them, as far as
    /// the architecture has these. This may be a target of none of them: no base target has the features of a family,
    /// however late.
    fn raised(&self, others: &[Header], text: String, architecture: Architecture) -> String {
        let mut edits = Vec::new();
        let version = others.iter().filter_map(|other| other.version).max();
        if let (Some(at), Some(version)) =
            (&self.version_at, version.filter(|&version| Some(version) > self.version))
        {
            edits.push((at.clone(), format!("{}.{}", version.0, version.1)));
        }
        if let (Some(at), Some(own)) = (&self.target_at, self.target) {
            let all = others.iter().filter_map(|other| other.target).chain([own]);
            let fitting = all.filter(|&target| architecture.chip.accepts(target));
            let join = |(number, variant): (u16, Variant), target: PtxTarget| {
                (number.max(target.number()), variant.max(target.variant()))
            };
            let (number, variant) = fitting.fold((0, Variant::Base), join);
            if number > 0 {
                edits.push((at.clone(), format!("sm_{number}{}", variant.suffix())));
            }
        }
        edited(&text, edits)
    }

    /// A later text, without its head, which the module already has.
    fn blanked(&self, input: &Input, log: &mut Log) -> Option<String> {
        if self.version.is_none() {
            let lines = LineIndex::new(&input.text);
            let start = input.text.len() - input.text.trim_start().len();
            let text = format!("Missing .version directive at start of file '{}'", input.name);
            log.say_at(&input.name, lines.line_column(start as u32).line, Severity::Fatal, &text);
            log.abort();
            return None;
        }
        let blanks = self.directives.iter().map(|range| (range.clone(), blank(&input.text[range.clone()])));
        Some(edited(&input.text, blanks.collect()))
    }
}

/// Blanks in place of a text, line ends kept.
fn blank(text: &str) -> String {
    text.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Form;
    use expect_test::expect;

    const FIRST: &str = "\
.version 8.0
.target sm_80
.address_size 64
.visible .entry a(.param .u64 p)
{
  ret;
}
.entry b() .maxntid 64
{
  ret;
}
.entry c() .maxnreg 40 { add.f64 %d1, %d1, %d1; ret; }
.func f() { ret; }
";

    const SECOND: &str = "// second\n.version 8.3\n.target sm_90\n.entry d() { ret; }";

    fn chip() -> Chip {
        "sm_90".parse().expect("a chip")
    }

    fn join(texts: &[(&str, &str)]) -> (Option<Source>, Log) {
        join_for("sm_90", texts)
    }

    fn join_for(architecture: &str, texts: &[(&str, &str)]) -> (Option<Source>, Log) {
        let mut log = Log::new("ptxas", Form::Program);
        let inputs =
            texts.iter().map(|(name, text)| Input { name: (*name).to_owned(), text: (*text).to_owned() });
        let source = Source::join(inputs.collect(), architecture.parse().expect("a chip"), &mut log);
        (source, log)
    }

    fn said(log: &Log) -> String {
        log.entries().iter().map(|entry| entry.text.as_str()).collect()
    }

    #[test]
    fn names_of_programs() {
        let names =
            [("/p/ptxas", "ptxas"), ("ptxas-blackwell", "ptxas-blackwell"), (r"C:\bin\ptxas.exe", "ptxas")];
        for (path, name) in names {
            assert_eq!(program_name(path), name);
        }
    }

    #[test]
    fn several_inputs_are_one_module() {
        let (source, log) = join(&[("a.ptx", FIRST), ("b.ptx", SECOND)]);
        assert_eq!(said(&log), "");
        let source = source.expect("joined");
        let lines: Vec<&str> = source.text().lines().map(str::trim_end).collect();
        assert_eq!(lines[..3], [".version 8.3", ".target sm_90", ".address_size 64"]);
        assert_eq!(lines[13..], ["// second", "", "", ".entry d() { ret; }"]);
        assert_eq!(source.place(2), ("a.ptx", 2));
        assert_eq!(source.place(13), ("a.ptx", 13));
        assert_eq!(source.place(14), ("b.ptx", 1));
        assert_eq!(source.place(17), ("b.ptx", 4));
        // The larger number is not the one with the features of the family.
        let head = |target: &str| format!(".version 9.0\n.target {target}\n.address_size 64\n");
        let heads = ["sm_100f", "sm_103", "sm_100f"].map(head);
        let texts: Vec<(&str, &str)> = heads.iter().map(|head| ("a.ptx", head.as_str())).collect();
        let (source, log) = join_for("sm_103f", &texts);
        assert_eq!(said(&log), "");
        assert_eq!(source.expect("joined").text().lines().nth(1), Some(".target sm_103f"));
        // Only the last text decides whether the architecture fits, and only the last name counts.
        let heads = ["sm_100", "sm_75, sm_80"].map(head);
        let texts: Vec<(&str, &str)> = heads.iter().map(|head| ("a.ptx", head.as_str())).collect();
        let (source, log) = join_for("sm_90", &texts);
        assert_eq!(said(&log), "");
        assert_eq!(source.expect("joined").text().lines().nth(1), Some(".target sm_80"));
    }

    #[test]
    fn inputs_that_do_not_join() {
        let texts = [".func g() { ret; }", ".version 8.0\n.target sm_100\n", ".version 8.0\0"];
        let said: Vec<String> =
            texts.iter().map(|text| said(&join(&[("a.ptx", FIRST), ("b.ptx", text)]).1)).collect();
        expect![[r#"
            ptxas b.ptx, line 1; fatal   : Missing .version directive at start of file 'b.ptx'
            ptxas fatal   : Ptx assembly aborted due to errors
            ptxas fatal   : SM version specified by .target is higher than default SM version assumed
            ptxas fatal   : Unexpected EOF encountered on line 1
            ptxas fatal   : Ptx assembly aborted due to errors
        "#]]
        .assert_eq(&said.concat());
    }

    #[test]
    fn options_become_directives() {
        let heads = |limits: Limits| {
            let (source, mut log) = join(&[("a.ptx", FIRST)]);
            let mut source = source.expect("one input");
            source.limit(&limits, chip(), true, &mut log);
            assert_eq!(source.text().lines().count(), FIRST.lines().count());
            let changed = source.text().lines().zip(FIRST.lines()).filter(|(new, old)| new != old);
            format!("{}{}", said(&log), changed.map(|(new, _)| format!("{new}\n")).collect::<String>())
        };
        let many = Limits { max_threads: vec![1024], min_blocks: Some(4), ..Limits::default() };
        expect![[r#"
            ptxas warning : Value of threads per SM for entry a is out of range. .minnctapersm will be ignored
            ptxas warning : Value of threads per SM for entry c is out of range. .minnctapersm will be ignored
             .maxntid 1024 {
             .minnctapersm 4 {
            .entry c() .maxnreg 40  .maxntid 1024 { add.f64 %d1, %d1, %d1; ret; }
        "#]]
        .assert_eq(&heads(many));
        let threads = Limits { max_threads: vec![32, 2], min_blocks: Some(4), ..Limits::default() };
        let registers = Limits { max_registers: Some(32), ..Limits::default() };
        let over = |limits: &Limits| Limits { override_directives: true, ..limits.clone() };
        assert_eq!(heads(over(&Limits::default())), "");
        expect![[r#"
             .maxntid 32, 2 .minnctapersm 4 {
             .minnctapersm 4 {
            .entry c() .maxnreg 40  .maxntid 32, 2 .minnctapersm 4 { add.f64 %d1, %d1, %d1; ret; }
        "#]]
        .assert_eq(&heads(threads.clone()));
        expect![[r#"
             .maxntid 32, 2 .minnctapersm 4 {
             .maxntid 32, 2 .minnctapersm 4 {
            .entry c() .maxnreg 40  .maxntid 32, 2 .minnctapersm 4 { add.f64 %d1, %d1, %d1; ret; }
        "#]]
        .assert_eq(&heads(over(&threads)));
        expect![[r#"
            ptxas info    : Overriding maximum register limit 256 for 'a' with  32 of maxrregcount option
            ptxas info    : Overriding global maxrregcount 32 with entry-specific value 40 of .maxnreg
             .maxnreg 32 {
        "#]]
        .assert_eq(&heads(registers.clone()));
        expect![[r#"
            ptxas info    : Overriding maximum register limit 256 for 'a' with  32 of maxrregcount option
            ptxas info    : Overriding maximum register limit 256 for 'b' with  32 of maxrregcount option
            ptxas info    : Overriding maximum register limit 40 for 'c' with  32 of maxrregcount option
             .maxnreg 32 {
             .maxnreg 32 {
            .entry c() .maxnreg 40  .maxnreg 32 { add.f64 %d1, %d1, %d1; ret; }
        "#]]
        .assert_eq(&heads(over(&registers)));
    }

    #[test]
    fn entries_that_are_not_named_go() {
        let kept = |names: &[&str]| {
            let (source, mut log) = join(&[("a.ptx", FIRST)]);
            let mut source = source.expect("one input");
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            let right = source.keep_entries(&names, &mut log);
            assert_eq!(source.text().len(), FIRST.len());
            let left =
                ["a", "b", "c"].into_iter().filter(|name| source.text().contains(&format!(".entry {name}(")));
            (right, left.collect::<String>(), said(&log))
        };
        assert_eq!(kept(&["a", "c"]), (true, "ac".to_owned(), String::new()));
        assert_eq!(
            kept(&["x"]),
            (false, "abc".to_owned(), "ptxas fatal   : Unknown function x\n".to_owned())
        );
        let (right, _, said) = kept(&["f"]);
        assert!(
            !right && said.starts_with("ptxas error   : Entry function 'f' not found\nptxas fatal"),
            "{said}"
        );
    }

    #[test]
    fn doubles_are_found() {
        let (source, mut log) = join(&[("a.ptx", FIRST), ("b.ptx", SECOND)]);
        source.expect("joined").warn_of_doubles(&mut log);
        expect![[r#"
            ptxas a.ptx, line 12; warning : Program is doing double precision computations.
        "#]]
        .assert_eq(&said(&log));
    }
}
