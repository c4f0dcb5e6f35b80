//! The state that every answer reads: texts, parses and compiled results as they are at one moment.
//!
//! It finds the PTX of a file, its configuration and its chips. Features read it and it knows none of them, so that each
//! feature can be read alone. Requests of a client begin in [`crate::Analysis`].

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use oriole_chip::Chip;
use oriole_inputs::{Config, Database, SourceFile};
use oriole_options::Options;

use crate::embedded::Snippet;
use crate::file::FileData;
use crate::last_good::LastGood;
use crate::settings::SettingsData;
use crate::{Edit, Feature, FileId, Language, Range};

/// The files, settings and results at one moment. Clones share all results.
#[derive(Clone)]
pub(crate) struct Snapshot {
    pub db: Database,
    pub files: Arc<Vec<FileData>>,
    pub settings: Arc<Vec<SettingsData>>,
    pub good: Arc<LastGood>,
    /// Present if this snapshot compiles nothing.
    pub lacks: Option<Lacks>,
    pub open: OpenFiles,
}

/// The files of a snapshot that are known to leave functions open, or not to. To find out takes a look at each unit of a file,
/// and every answer about a kernel needs it; a snapshot never changes, so one look is enough.
#[derive(Clone, Default)]
pub(crate) struct OpenFiles(Arc<Mutex<BTreeMap<FileId, bool>>>);

impl OpenFiles {
    /// The fact if it is known, else from `look`.
    fn get(&self, file: FileId, look: impl FnOnce() -> bool) -> bool {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known().get(&file).copied();
        // No lock is held during the look, which ends early where a write is waiting.
        found.unwrap_or_else(|| {
            let open = look();
            known().insert(file, open);
            open
        })
    }
}

/// Records whether an answer lacks information because code is not compiled yet.
#[derive(Clone, Debug, Default)]
pub struct Lacks(Arc<AtomicBool>);

impl Lacks {
    pub(crate) fn note(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether an answer lacks anything.
    pub fn anything(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// PTX at a position: the file itself, or a snippet inside of another language.
#[derive(Clone, Copy)]
pub(crate) struct Located<'a> {
    pub source: SourceFile,
    /// The position in that PTX.
    pub at: u32,
    pub snippet: Option<&'a Snippet>,
}

impl Located<'_> {
    /// A range of the PTX as a range of the file; `None` for text that the file does not hold.
    pub fn up(&self, range: Range) -> Option<Range> {
        match self.snippet {
            None => Some(range),
            Some(snippet) => snippet.up(range),
        }
    }

    /// An edit of the PTX as one of the file, escaped for its language; `None` for text that the file does not hold.
    pub fn up_edit(&self, edit: Edit) -> Option<Edit> {
        let text = self.snippet.map(|snippet| snippet.spell(&edit.text)).unwrap_or(edit.text);
        Some(Edit::new(self.up(edit.range)?, text))
    }
}

impl Snapshot {
    /// The data of a file.
    pub fn file(&self, file: FileId) -> Option<&FileData> {
        self.files.get(file.0 as usize)
    }

    /// The text of a file.
    pub fn text(&self, file: FileId) -> Option<Arc<String>> {
        Some(self.file(file)?.text.clone())
    }

    /// The PTX at a position.
    pub fn locate(&self, file: FileId, at: u32) -> Option<Located<'_>> {
        let data = self.file(file)?;
        if data.language == Language::Ptx {
            return Some(Located { source: data.source, at, snippet: None });
        }
        let (index, down) =
            data.snippets.iter().enumerate().find_map(|(index, snippet)| Some((index, snippet.down(at)?)))?;
        Some(Located { source: data.snippet_sources[index], at: down, snippet: Some(&data.snippets[index]) })
    }

    /// Every PTX of a file.
    pub fn sources(&self, file: FileId) -> Vec<Located<'_>> {
        let Some(data) = self.file(file) else { return Vec::new() };
        if data.language == Language::Ptx {
            return vec![Located { source: data.source, at: 0, snippet: None }];
        }
        data.snippets
            .iter()
            .zip(&data.snippet_sources)
            .map(|(snippet, &source)| Located { source, at: 0, snippet: Some(snippet) })
            .collect()
    }

    /// The PTX file itself; `None` for another language.
    pub fn ptx(&self, file: FileId) -> Option<SourceFile> {
        self.file(file).filter(|data| data.language == Language::Ptx).map(|data| data.source)
    }

    /// Whether a feature is on for a file of this size.
    pub fn is_on(&self, file: FileId, feature: Feature) -> bool {
        let size = self.file(file).map_or(0, |data| data.text.len());
        Feature::LIMITS.iter().all(|&(limited, bytes)| limited != feature || size < bytes as usize)
    }

    /// The options that a file is compiled with.
    pub fn options(&self, file: FileId) -> Option<&Options> {
        Some(&self.settings.get(self.file(file)?.settings.0 as usize)?.settings.options)
    }

    /// The configuration of a file for a chip.
    pub fn config(&self, file: FileId, chip: Chip) -> Option<Config> {
        let data = self.file(file)?;
        let settings = self.settings.get(data.settings.0 as usize)?;
        let (_, [whole, linked]) = settings.configs.iter().find(|(known, _)| *known == chip)?;
        let open = self.open.get(file, || oriole_queries::leaves_open(&self.db, data.source));
        Some(if open { *linked } else { *whole })
    }

    /// The chips that a file is compiled for; the first one is shown.
    pub fn chips(&self, file: FileId) -> Vec<Chip> {
        let Some(data) = self.file(file) else { return Vec::new() };
        if let Some(chip) = data.chosen {
            return vec![chip];
        }
        let settings = self.settings.get(data.settings.0 as usize);
        match settings.map(|settings| &settings.settings.targets).filter(|targets| !targets.is_empty()) {
            Some(targets) => targets.clone(),
            None => vec![oriole_queries::target_chip(&self.db, data.source)],
        }
    }
}
