//! Changing texts with cached results: after an edit only results that depend on it are recomputed.

use std::ops::Range;

use oriole_chip::Chip;
use oriole_ide::{Analysis, AnalysisHost, Change, Language, Settings, SettingsId};

use crate::{Cubin, Options, Report};

pub use oriole_ide::{Cancelled, Canceller, FileId};

/// The settings that all files of a session share.
const SHARED: SettingsId = SettingsId(0);

/// Changing texts. The session lives in one thread, which makes all changes; [`Session::snapshot`] gives others a view
/// to query.
pub struct Session {
    host: AnalysisHost,
    options: Options,
}

impl Session {
    /// A session without files.
    pub fn new(options: Options) -> Session {
        let mut session = Session { host: AnalysisHost::new(), options: Options::default() };
        session.set_options(options);
        session
    }

    /// Opens a text.
    pub fn open(&mut self, text: &str) -> FileId {
        self.host.open(Language::Ptx, text, SHARED)
    }

    /// Replaces a range of a text, in bytes. A range outside of the text is clipped.
    pub fn edit(&mut self, file: FileId, range: Range<usize>, text: &str) {
        let end = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        let range = oriole_ide::Range::new(end(range.start), end(range.end.max(range.start)));
        self.host.change(file, &[Change { range: Some(range), text: text.to_owned() }]);
    }

    /// Replaces a whole text; equal parts are detected.
    pub fn replace(&mut self, file: FileId, text: &str) {
        self.host.change(file, &[Change { range: None, text: text.to_owned() }]);
    }

    /// Closes a file. Its id may be reused.
    pub fn close(&mut self, file: FileId) {
        self.host.close(file);
    }

    /// Changes the options of all files. Only readers of a changed one are recomputed, and results for another chip
    /// stay.
    pub fn set_options(&mut self, options: Options) {
        let settings = Settings {
            targets: options.chip.into_iter().collect::<Vec<Chip>>(),
            options: options.compiler.clone(),
        };
        self.host.set_settings(SHARED, settings);
        self.options = options;
    }

    /// A view of the current texts that answers queries on any thread. A change cancels running queries of snapshots
    /// and waits until they are dropped, so the thread of the session must hold none when it makes one.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { analysis: self.host.analysis(), options: self.options.clone() }
    }

    /// Compiles a file.
    ///
    /// # Errors
    /// The errors of the text, or features that the compiler does not support. A file that is not open is an empty
    /// text.
    pub fn compile(&self, file: FileId) -> Result<Cubin, Report> {
        self.snapshot().compile(file).expect("nobody else has the snapshot's canceller")
    }

    /// Queries of an editor about the current texts.
    pub fn analysis(&self) -> Analysis {
        self.host.analysis()
    }
}

/// The texts of a session at the time it was made.
#[derive(Clone)]
pub struct Snapshot {
    analysis: Analysis,
    options: Options,
}

impl Snapshot {
    /// Cancels running queries of this snapshot, from another thread.
    pub fn canceller(&self) -> Canceller {
        self.analysis.canceller()
    }

    /// Compiles a file.
    ///
    /// # Errors
    /// The outer one if a change or a canceller came first; the inner one with the errors of the text.
    pub fn compile(&self, file: FileId) -> Result<Result<Cubin, Report>, Cancelled> {
        let chip = self.analysis.targets(file)?.first().copied().unwrap_or(Chip::DEFAULT);
        let compiled = self.analysis.compile(file, chip, self.options.threads.get())?;
        Ok(compiled.map_or_else(
            || Err(Report::new("", Vec::new())),
            |(compiled, resources)| {
                let text = self.analysis.text(file).unwrap_or_default();
                crate::cubin::of(&text, compiled, resources)
            },
        ))
    }
}
