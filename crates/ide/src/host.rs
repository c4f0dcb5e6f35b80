//! The host: texts, targets and options are inputs; everything else is derived.
//!
//! Only here are inputs written. A change cancels running queries of snapshots and waits until the snapshots are
//! dropped, so no caller may keep one in the thread that writes.

use std::sync::Arc;

use oriole_chip::Chip;
use oriole_inputs::{Config, Database, SourceFile};
use oriole_syntax::{CutText, Replaced};

use crate::edited::EditedText;
use crate::embedded;
use crate::file::FileData;
use crate::last_good::LastGood;
use crate::settings::{SettingsData, linked_or_not};
use crate::snapshot::{Lacks, OpenFiles, Snapshot};
use crate::text::Change;
use crate::{Analysis, FileId, Language, LineIndex, Settings, SettingsId};

/// Memory use of one kind of value.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Memory {
    /// The query or structure.
    pub name: String,
    /// Number of values.
    pub count: usize,
    /// Bytes of the values themselves and of the database's bookkeeping, without data that they point to.
    pub bytes: usize,
}

/// A text with its lines and units, for hosts of the same files.
#[derive(Clone, Debug)]
pub struct SharedText {
    text: Arc<String>,
    lines: Arc<LineIndex>,
    cut: CutText,
}

/// Takes changes and creates snapshots.
pub struct AnalysisHost {
    db: Database,
    files: Arc<Vec<FileData>>,
    settings: Arc<Vec<SettingsData>>,
    good: Arc<LastGood>,
    compiles: bool,
    closed: Vec<FileId>,
}

impl Default for AnalysisHost {
    fn default() -> AnalysisHost {
        AnalysisHost::new()
    }
}

impl AnalysisHost {
    /// A host without files, whose settings 0 are the defaults.
    pub fn new() -> AnalysisHost {
        AnalysisHost::with_database(Database::default())
    }

    /// A host that counts the queries it executes.
    pub fn counting() -> AnalysisHost {
        AnalysisHost::with_database(Database::with_counts())
    }

    /// A host that compiles nothing: it shows the code that the other host has compiled. Both must have the same files
    /// and settings.
    #[must_use]
    pub fn reading_from(mut self, other: &AnalysisHost) -> AnalysisHost {
        (self.good, self.compiles) = (other.good.clone(), false);
        self
    }

    fn with_database(db: Database) -> AnalysisHost {
        let mut host = AnalysisHost {
            db,
            files: Arc::default(),
            settings: Arc::default(),
            good: Arc::default(),
            compiles: true,
            closed: Vec::new(),
        };
        host.add_settings(Settings::default());
        host
    }

    fn settings_mut(&mut self) -> &mut Vec<SettingsData> {
        // Snapshots share the list; they are dropped or cancelled when the next one is taken, so a copy is rare and
        // small.
        if Arc::get_mut(&mut self.settings).is_none() {
            let copy = |data: &SettingsData| SettingsData {
                settings: data.settings.clone(),
                configs: data.configs.clone(),
            };
            self.settings = Arc::new(self.settings.iter().map(copy).collect());
        }
        Arc::get_mut(&mut self.settings).expect("a list that has just been copied has one owner")
    }

    /// Adds settings.
    pub fn add_settings(&mut self, settings: Settings) -> SettingsId {
        let chips = Chip::all().into_iter().filter(|chip| chip.is_supported());
        let options = linked_or_not(&settings.options);
        let of = |chip| options.each_ref().map(|options| Config::create(&self.db, chip, options));
        let configs = chips.map(|chip| (chip, of(chip))).collect::<Vec<_>>();
        let list = self.settings_mut();
        list.push(SettingsData { settings, configs });
        SettingsId(list.len() as u32 - 1)
    }

    /// Changes settings; only results that depend on a changed knob are recomputed.
    pub fn set_settings(&mut self, id: SettingsId, settings: Settings) {
        let Some(data) = self.settings.get(id.0 as usize) else { return };
        if data.settings == settings {
            return;
        }
        self.begin_edit();
        let options = linked_or_not(&settings.options);
        for (_, configs) in data.configs.clone() {
            for (config, options) in configs.into_iter().zip(&options) {
                config.update(&mut self.db, options);
            }
        }
        self.settings_mut()[id.0 as usize].settings = settings;
    }

    /// Opens a file. The id of a closed file is reused.
    pub fn open(&mut self, language: Language, text: &str, settings: SettingsId) -> FileId {
        let id = match self.closed.pop() {
            Some(id) => id,
            None => {
                let source = SourceFile::open(&self.db, "");
                let lines = Arc::new(LineIndex::of_document(""));
                let data = FileData {
                    language,
                    text: Arc::default(),
                    lines,
                    source,
                    snippets: Arc::default(),
                    snippet_sources: Vec::new(),
                    settings,
                    chosen: None,
                };
                let files = Arc::make_mut(&mut self.files);
                files.push(data);
                FileId(files.len() as u32 - 1)
            }
        };
        let data = &mut Arc::make_mut(&mut self.files)[id.0 as usize];
        (data.language, data.settings, data.chosen) = (language, settings, None);
        self.good.forget(id);
        self.change(id, &[Change { range: None, text: text.to_owned() }]);
        id
    }

    /// Closes a file: its data are dropped, and its id may be reused.
    pub fn close(&mut self, file: FileId) {
        if (file.0 as usize) < self.files.len() && !self.closed.contains(&file) {
            self.change(file, &[Change { range: None, text: String::new() }]);
            self.good.forget(file);
            self.closed.push(file);
            // The units of the old text, with all results about them, go when the list of units is recomputed.
            let data = &self.files[file.0 as usize];
            for &source in std::iter::once(&data.source).chain(&data.snippet_sources) {
                oriole_queries::files::split_file(&self.db, source);
            }
        }
    }

    /// Begins the record of an edit, for a host that records edits.
    fn begin_edit(&self) {
        if let Some(log) = self.db.log() {
            log.begin_edit(salsa::plumbing::current_revision(&self.db));
        }
    }

    /// Changes a text. Ranges outside of it are clipped.
    pub fn change(&mut self, file: FileId, changes: &[Change]) {
        self.begin_edit();
        let Some(data) = Arc::make_mut(&mut self.files).get_mut(file.0 as usize) else { return };
        let mut edited = EditedText::new(&data.text, data.lines.clone());
        changes.iter().for_each(|change| edited.apply(change));
        if let Some((text, lines, replaced)) = edited.finish() {
            // If the database has exactly the text before the change, it can be given the changed range.
            let shared = Arc::ptr_eq(data.source.text(&self.db), &data.text);
            (data.text, data.lines) = (text.into(), lines);
            let data = data.clone();
            self.update_sources(file, data, shared.then_some(replaced));
        }
    }

    /// The text of a file for another host to take over, with derived data.
    pub fn shared_text(&self, file: FileId) -> Option<SharedText> {
        let data = self.files.get(file.0 as usize)?;
        Some(SharedText {
            text: data.text.clone(),
            lines: data.lines.clone(),
            cut: data.source.cut(&self.db).clone(),
        })
    }

    /// Takes over the text of a file from a host that has the same files; nothing is copied.
    pub fn take_text(&mut self, file: FileId, text: &SharedText) {
        self.begin_edit();
        let Some(data) = Arc::make_mut(&mut self.files).get_mut(file.0 as usize) else { return };
        (data.text, data.lines) = (text.text.clone(), text.lines.clone());
        if data.language == Language::Ptx {
            data.source.take(&mut self.db, &text.cut);
        } else {
            let data = data.clone();
            self.update_sources(file, data, None);
        }
    }

    /// Brings the database up to the text of a file, which differs from the one it has in `replaced` if that is known.
    fn update_sources(&mut self, file: FileId, mut data: FileData, replaced: Option<Replaced>) {
        let empty: Arc<String> = Arc::default();
        if data.language == Language::Ptx {
            match replaced {
                Some(replaced) => data.source.change(&mut self.db, data.text.clone(), replaced),
                None => data.source.replace(&mut self.db, &data.text),
            };
            data.snippets = Arc::default();
        } else {
            data.source.replace(&mut self.db, &empty);
            data.snippets = embedded::snippets(data.language, &data.text, self.snippet_chip(&data)).into();
        }
        for (at, snippet) in data.snippets.iter().enumerate() {
            match data.snippet_sources.get(at) {
                Some(source) => source.update(&mut self.db, &snippet.text),
                None => data.snippet_sources.push(SourceFile::open(&self.db, &snippet.text)),
            }
        }
        for source in data.snippet_sources.iter().skip(data.snippets.len()) {
            source.replace(&mut self.db, &empty);
        }
        Arc::make_mut(&mut self.files)[file.0 as usize] = data;
    }

    /// The chip that inline PTX is checked for: it has no `.target` of its own.
    fn snippet_chip(&self, data: &FileData) -> Chip {
        let settings = self.settings.get(data.settings.0 as usize);
        let first = settings.and_then(|data| data.settings.targets.first().copied());
        data.chosen.or(first).unwrap_or(Chip::DEFAULT.accelerated())
    }

    /// Chooses the chip that a file is shown for, or leaves it to the settings and the file's `.target`.
    pub fn set_target(&mut self, file: FileId, chip: Option<Chip>) {
        let Some(data) = Arc::make_mut(&mut self.files).get_mut(file.0 as usize) else { return };
        if data.chosen != chip {
            data.chosen = chip;
            if data.language != Language::Ptx {
                let data = data.clone();
                self.update_sources(file, data, None);
            }
        }
    }

    /// Puts a file under other settings.
    pub fn set_file_settings(&mut self, file: FileId, settings: SettingsId) {
        if let Some(data) = Arc::make_mut(&mut self.files).get_mut(file.0 as usize) {
            data.settings = settings;
        }
    }

    /// A snapshot that answers queries, on any thread. It must be dropped before the next change in this thread.
    pub fn analysis(&self) -> Analysis {
        Analysis::new(Snapshot {
            db: self.db.clone(),
            files: self.files.clone(),
            settings: self.settings.clone(),
            good: self.good.clone(),
            lacks: (!self.compiles).then(Lacks::default),
            open: OpenFiles::default(),
        })
    }

    /// Cancels running queries of snapshots and waits until they are dropped.
    pub fn cancel(&mut self) {
        salsa::Database::trigger_cancellation(&mut self.db);
    }

    /// Number of executions of each query since the start, for a host that counts.
    pub fn query_counts(&self) -> Vec<crate::QueryCount> {
        let counts = self.db.log().map(oriole_inputs::ExecutionLog::counts).unwrap_or_default();
        counts.into_iter().map(|(name, count)| crate::QueryCount { name: name.to_owned(), count }).collect()
    }

    /// Whether a host that counts also records what edits cause to run, from the next edit on. Causes are known only in
    /// a process whose `tracing` subscriber has the layer of [`crate::Reads`], while it is on.
    pub fn record_edits(&self, wanted: bool) {
        if let Some(log) = self.db.log() {
            log.record_edits(wanted);
        }
    }

    /// The queries that the last edit caused to run, in order, for a host that records edits.
    pub fn last_edit(&self) -> Option<crate::Recomputed> {
        self.db.log()?.last_edit().map(crate::Recomputed::from)
    }

    /// The contents of the database, largest first. Cancels snapshots.
    pub fn memory(&mut self) -> Vec<Memory> {
        let usage = <dyn salsa::Database>::memory_usage(&mut self.db);
        let structs = usage.structs.iter().map(|info| (info.debug_name().to_owned(), info));
        let queries = usage.queries.iter().map(|(name, info)| (name.to_string(), info));
        let mut rows: Vec<Memory> = structs
            .chain(queries)
            .map(|(name, info)| Memory {
                name,
                count: info.count(),
                bytes: info.size_of_fields()
                    + info.size_of_metadata()
                    + info.heap_size_of_fields().unwrap_or(0),
            })
            .collect();
        rows.sort_by(|left, right| (right.bytes, &left.name).cmp(&(left.bytes, &right.name)));
        rows
    }
}
