//! The files of a watch: one database for all, what was written for each, what a change leads to.
//!
//! A file that goes away leaves its cubins where they are; one that does not compile leaves the last good ones. A cubin
//! whose bytes stay the same is not written.

use crate::arguments::Watch;
use crate::files::output::{self, Output};
use crate::files::{FileError, input};
use crate::outcome::print;
use crate::render;
use crate::watch::line::Line;
use crate::watch::report::{explain, summary};
use oriole::program::{Cache, Extent, Ran, Text, Texts};
use oriole_chip::Chip;
use oriole_diagnostics::counted;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// The watched files, compiled.
pub struct Project {
    texts: Texts,
    /// The chips to compile for; empty if each file's own target counts.
    chips: Vec<Chip>,
    files: BTreeMap<PathBuf, Watched>,
    threads: usize,
    out: Option<PathBuf>,
    /// The bytes that were written last under each path.
    written: BTreeMap<PathBuf, triomphe::Arc<Vec<u8>>>,
    /// The memory of a text that was replaced, for the next one.
    spare: Vec<u8>,
}

/// A file that was seen.
struct Watched {
    /// Kept when the file goes away: it may come back.
    text: Text,
    /// The folder that its place counts from.
    root: PathBuf,
    /// Whether it is there.
    there: bool,
    /// Whether it has been compiled before, so that a change has something to be explained by.
    compiled: bool,
}

/// A text that is to be compiled.
struct Change<'a> {
    text: Text,
    contents: &'a str,
    /// Whether it is said what ran and why.
    explained: bool,
    threads: usize,
}

impl Project {
    /// A project without files.
    pub fn new(line: Line, cache: Arc<Cache>, threads: usize, arguments: &Watch) -> Project {
        Project {
            // Options change on lines of standard input only.
            texts: Texts::new(line.options, cache, arguments.interactive),
            chips: line.chips,
            files: BTreeMap::new(),
            threads,
            out: arguments.out.clone(),
            written: BTreeMap::new(),
            spare: Vec::new(),
        }
    }

    /// Compiles every file with other chips and options. Results with the ones before are kept.
    pub fn retune(&mut self, line: Line) {
        self.texts.set_options(line.options);
        self.chips = line.chips;
        let there = |(path, file): (&PathBuf, &Watched)| {
            file.there.then(|| (path.clone(), file.root.clone(), file.text))
        };
        let files: Vec<_> = self.files.iter().filter_map(there).collect();
        for (path, root, text) in files {
            let name = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
            let contents = self.texts.contents(text);
            let change = Change { text, contents: &contents, explained: false, threads: self.threads };
            self.compile(&root, &path, &name, change);
        }
    }

    /// The paths that were seen.
    pub fn known(&self) -> impl Iterator<Item = PathBuf> {
        self.files.keys().cloned()
    }

    /// Says that the first round is over.
    pub fn ready(&self, files: usize) {
        print(&format!("watching {}\n", counted(files, "file")));
    }

    /// Looks at files again: each with the folder that its place counts from.
    pub fn refresh(&mut self, paths: &[(PathBuf, PathBuf)]) {
        for (root, path) in paths {
            self.refresh_one(root, path);
        }
    }

    fn refresh_one(&mut self, root: &Path, path: &Path) {
        let name = path.strip_prefix(root).unwrap_or(path).display().to_string();
        if !input::is_regular(path) {
            if let Some(file) = self.files.get_mut(path).filter(|file| file.there) {
                file.there = false;
                file.compiled = false;
                self.texts.clear(file.text);
                print(&format!("{name}: gone; its cubins stay\n"));
            }
            return;
        }
        let contents = match input::text_into(path, std::mem::take(&mut self.spare)) {
            Ok(contents) => Arc::new(contents),
            Err(message) => {
                eprintln!("error: {message}");
                print(&format!("{name}: cannot be read; what was written before stays\n"));
                return;
            }
        };
        let (text, explained, extent) = match self.files.get_mut(path) {
            Some(file) => {
                let before = self.texts.contents(file.text);
                let extent = self.texts.replace(file.text, &contents);
                // Memory that has been used is there already: that of a large text takes as long to get as to fill.
                self.spare = Arc::try_unwrap(before).map(String::into_bytes).unwrap_or_default();
                let known = std::mem::replace(&mut file.there, true);
                let compiled = std::mem::replace(&mut file.compiled, true);
                if known && compiled && extent == Extent::Nothing {
                    return;
                }
                (file.text, compiled, extent)
            }
            None => {
                let text = self.texts.open(&contents);
                let root = root.to_owned();
                self.files.insert(path.to_owned(), Watched { text, root, there: true, compiled: true });
                (text, false, Extent::More)
            }
        };
        // Threads would have nothing to do where one function is compiled.
        let threads = if explained && extent == Extent::Kernel { 1 } else { self.threads };
        self.compile(root, path, &name, Change { text, contents: &contents, explained, threads });
    }

    fn compile(&mut self, root: &Path, path: &Path, name: &str, change: Change<'_>) {
        let Change { text, contents, explained, threads } = change;
        let chips = match self.chips.as_slice() {
            [] => vec![self.texts.target(text)],
            chips => chips.to_vec(),
        };
        let mut shown = None;
        let mut before: Option<Ran> = None;
        for &chip in &chips {
            let start = Instant::now();
            let mut compiled = self.texts.compile(text, chip, threads);
            if self.chips.is_empty() {
                compiled.diagnostics.splice(0..0, self.texts.replaced_target(text));
            }
            // Diagnostics that are the same for every chip are printed once.
            if shown.as_ref() != Some(&compiled.diagnostics) {
                render::to_terminal(&path.display().to_string(), contents, &compiled.diagnostics);
                shown = Some(compiled.diagnostics);
            }
            let ran = self.texts.ran(before.as_ref());
            let milliseconds = start.elapsed().as_secs_f64() * 1e3;
            let failed = compiled.cubin.is_none();
            let result = match compiled.cubin {
                None => "not compiled; what was written before stays".to_owned(),
                Some(cubin) => self.write(path, &self.output(root, path, chip, chips.len()), cubin),
            };
            // The errors may have been known; that is not news.
            let summary = if failed && ran.whole { String::new() } else { summary(&ran) + "; " };
            print(&format!("{name} [{chip}]: {summary}{result}; {milliseconds:.1} ms\n"));
            if explained {
                print(&explain(&ran, failed));
            }
            before = Some(ran);
        }
    }

    /// Writes a cubin, unless it is there as it is.
    fn write(&mut self, input: &Path, path: &Path, cubin: triomphe::Arc<Vec<u8>>) -> String {
        let before = self.written.insert(path.to_owned(), cubin.clone());
        // If other bytes were written last, these are not there; else they may be, unless the file was
        // changed since.
        let differs = before.is_some_and(|before| before != cubin);
        let folder = output::folder(path);
        let made = std::fs::create_dir_all(folder).map_err(FileError::of(folder));
        let written = made.and_then(|()| Output::new(path, input)).and_then(|output| {
            if !differs && output.holds(&cubin) {
                return Ok("the cubin stays the same".to_owned());
            }
            // The file was looked at above.
            output.write_other(&cubin).map(|()| format!("wrote {} bytes", cubin.len()))
        });
        written.unwrap_or_else(|error| {
            eprintln!("error: {error}");
            "the cubin could not be written".to_owned()
        })
    }

    /// Where the cubin of a file goes. With several chips each name says for which it is.
    fn output(&self, root: &Path, path: &Path, chip: Chip, chips: usize) -> PathBuf {
        let place = match &self.out {
            Some(out) => out.join(path.strip_prefix(root).unwrap_or(path)),
            None => path.to_owned(),
        };
        if chips > 1 { place.with_extension(format!("{chip}.cubin")) } else { place.with_extension("cubin") }
    }
}
