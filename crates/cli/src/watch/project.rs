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
use crate::watch::report::{Ran, explain};
use oriole::opened::looked_at;
use oriole_chip::Chip;
use oriole_diagnostics::counted;
use oriole_inputs::{Config, Database, Extent, SourceFile};
use oriole_options::{Linking, Options};
use oriole_store::Cache;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// The watched files, compiled.
pub struct Project {
    db: Database,
    /// The chips and options to compile with.
    line: Line,
    /// By chip, and by whether a whole program is made or a part to be linked.
    configs: BTreeMap<(Chip, bool), Config>,
    files: BTreeMap<PathBuf, Watched>,
    threads: usize,
    out: Option<PathBuf>,
    /// The bytes that were written last under each path.
    written: BTreeMap<PathBuf, triomphe::Arc<Vec<u8>>>,
}

/// A file that was seen.
struct Watched {
    /// Kept when the file goes away: inputs are never freed, and it may come back.
    input: SourceFile,
    /// The folder that its place counts from.
    root: PathBuf,
    /// Whether it is there.
    there: bool,
    /// Whether it has been compiled before, so that a change has something to be explained by.
    compiled: bool,
}

/// The options for a whole program, or for a part to be linked.
fn linked_as(options: &Options, is_whole: bool) -> Options {
    let mut options = options.clone();
    options.linking = if is_whole { Linking::Whole } else { Linking::Relocatable };
    options
}

/// A text that is to be compiled.
struct Change<'a> {
    input: SourceFile,
    text: &'a str,
    /// Whether it is said what ran and why.
    explained: bool,
    threads: usize,
}

impl Project {
    /// A project without files.
    pub fn new(line: Line, cache: Arc<Cache>, threads: usize, arguments: &Watch) -> Project {
        let db = Database::with_log().cached(cache);
        Project {
            // Stages are worth their memory only where options change.
            db: if arguments.interactive { db } else { db.without_stages() },
            line,
            configs: BTreeMap::new(),
            files: BTreeMap::new(),
            threads,
            out: arguments.out.clone(),
            written: BTreeMap::new(),
        }
    }

    /// Compiles every file with other chips and options. Results with the ones before are kept.
    pub fn retune(&mut self, line: Line) {
        for (&(_, is_whole), config) in &self.configs {
            config.update(&mut self.db, &linked_as(&line.options, is_whole));
        }
        self.line = line;
        let there = |(path, file): (&PathBuf, &Watched)| {
            file.there.then(|| (path.clone(), file.root.clone(), file.input))
        };
        let files: Vec<_> = self.files.iter().filter_map(there).collect();
        for (path, root, input) in files {
            let name = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
            let text = input.text(&self.db).clone();
            let change = Change { input, text: &text, explained: false, threads: self.threads };
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
                file.input.update(&mut self.db, "");
                print(&format!("{name}: gone; its cubins stay\n"));
            }
            return;
        }
        let text = match input::text(path) {
            Ok(text) => Arc::new(text),
            Err(message) => {
                eprintln!("error: {message}");
                print(&format!("{name}: cannot be read; what was written before stays\n"));
                return;
            }
        };
        let (input, explained, extent) = match self.files.get_mut(path) {
            Some(file) => {
                let extent = file.input.replace(&mut self.db, &text);
                let known = std::mem::replace(&mut file.there, true);
                let compiled = std::mem::replace(&mut file.compiled, true);
                if known && compiled && extent == Extent::Nothing {
                    return;
                }
                (file.input, compiled, extent)
            }
            None => {
                let input = SourceFile::open(&self.db, &text);
                let root = root.to_owned();
                self.files.insert(path.to_owned(), Watched { input, root, there: true, compiled: true });
                (input, false, Extent::More)
            }
        };
        // Threads would have nothing to do where one function is compiled.
        let threads = if explained && extent == Extent::Kernel { 1 } else { self.threads };
        self.compile(root, path, &name, Change { input, text: &text, explained, threads });
    }

    fn compile(&mut self, root: &Path, path: &Path, name: &str, change: Change<'_>) {
        let Change { input, text, explained, threads } = change;
        let chips = match self.line.chips.as_slice() {
            [] => vec![oriole_queries::target_chip(&self.db, input)],
            chips => chips.to_vec(),
        };
        let mut shown = None;
        let mut before: Option<Ran> = None;
        for &chip in &chips {
            let start = Instant::now();
            let options = looked_at(&self.db, input, text, &self.line.options);
            let key = (chip, options.linking == Linking::Whole);
            let config = *self.configs.entry(key).or_insert_with(|| Config::create(&self.db, chip, &options));
            let mut compiled = oriole_queries::compile(&self.db, input, config, threads);
            if self.line.chips.is_empty() {
                compiled.diagnostics.splice(0..0, oriole_queries::replaced_target(&self.db, input));
            }
            // Diagnostics that are the same for every chip are printed once.
            if shown.as_ref() != Some(&compiled.diagnostics) {
                render::to_terminal(&path.display().to_string(), text, &compiled.diagnostics);
                shown = Some(compiled.diagnostics);
            }
            let ran = Ran::new(self.db.log().map(|log| log.take()).unwrap_or_default(), before.as_ref());
            let milliseconds = start.elapsed().as_secs_f64() * 1e3;
            let failed = compiled.cubin.is_none();
            let result = match compiled.cubin {
                None => "not compiled; what was written before stays".to_owned(),
                Some(cubin) => self.write(path, &self.output(root, path, chip, chips.len()), cubin),
            };
            // The errors may have been known; that is no news.
            let summary = if failed && ran.is_whole() { String::new() } else { ran.summary() + "; " };
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
            output.write(&cubin).map(|()| format!("wrote {} bytes", cubin.len()))
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
