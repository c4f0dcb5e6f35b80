//! The snapshot: every query.

use std::sync::Arc;

use oriole_chip::Chip;
use oriole_inputs::{Cancellable, Canceller, Config, Database, SourceFile};
use oriole_options::Options;
use oriole_queries::modules;

use crate::compiled::{Lacks, LastGood};
use crate::embedded::Snippet;
use crate::format::Style;
use crate::host::{FileData, SettingsData};
use crate::views::OriError;
use crate::{
    Call, CallItem, Completion, Edit, Feature, FileDiagnostic, FileId, Fix, Fold, Hint, HintOptions, Hover,
    KernelStatistics, Language, Lens, LineIndex, Link, Liveness, OriSnapshot, Range, Reference,
    RegisterMarks, RenameError, SassListing, SignatureHelp, Symbol, Target, Token, TreeNode,
};

/// A snapshot of the host. It may be sent to another thread; clones share all results.
#[derive(Clone)]
pub struct Analysis {
    pub(crate) db: Database,
    pub(crate) files: Arc<Vec<FileData>>,
    pub(crate) settings: Arc<Vec<SettingsData>>,
    pub(crate) good: Arc<LastGood>,
    /// Present if this snapshot compiles nothing.
    pub(crate) lacks: Option<Lacks>,
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

impl Analysis {
    pub(crate) fn file(&self, file: FileId) -> Option<&FileData> {
        self.files.get(file.0 as usize)
    }

    /// The PTX at a position.
    pub(crate) fn locate(&self, file: FileId, at: u32) -> Option<Located<'_>> {
        let data = self.file(file)?;
        if data.language == Language::Ptx {
            return Some(Located { source: data.source, at, snippet: None });
        }
        let (index, down) =
            data.snippets.iter().enumerate().find_map(|(index, snippet)| Some((index, snippet.down(at)?)))?;
        Some(Located { source: data.snippet_sources[index], at: down, snippet: Some(&data.snippets[index]) })
    }

    /// Every PTX of a file.
    pub(crate) fn sources(&self, file: FileId) -> Vec<Located<'_>> {
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
    pub(crate) fn ptx(&self, file: FileId) -> Option<SourceFile> {
        self.file(file).filter(|data| data.language == Language::Ptx).map(|data| data.source)
    }

    pub(crate) fn is_on(&self, file: FileId, feature: Feature) -> bool {
        let size = self.file(file).map_or(0, |data| data.text.len());
        Feature::LIMITS.iter().all(|&(limited, bytes)| limited != feature || size < bytes as usize)
    }

    pub(crate) fn options(&self, file: FileId) -> Option<&Options> {
        Some(&self.settings.get(self.file(file)?.settings.0 as usize)?.settings.options)
    }

    /// A handle that reports, after a query, whether code was missing; for snapshots of a host that compiles nothing.
    pub fn lacks(&self) -> Option<Lacks> {
        self.lacks.clone()
    }

    /// The configuration of a file for a chip.
    pub(crate) fn config(&self, file: FileId, chip: Chip) -> Option<Config> {
        let data = self.file(file)?;
        let settings = self.settings.get(data.settings.0 as usize)?;
        let (_, [whole, linked]) = settings.configs.iter().find(|(known, _)| *known == chip)?;
        Some(if oriole_queries::leaves_open(&self.db, data.source) { *linked } else { *whole })
    }

    pub(crate) fn chips(&self, file: FileId) -> Vec<Chip> {
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

    fn with<T>(&self, answer: impl FnOnce(&Analysis) -> T) -> Cancellable<T> {
        self.db.cancellable(|_| answer(self))
    }

    /// A handle that cancels running queries of this snapshot.
    pub fn canceller(&self) -> Canceller {
        self.db.canceller()
    }

    /// The text of a file.
    pub fn text(&self, file: FileId) -> Option<Arc<String>> {
        Some(self.file(file)?.text.clone())
    }

    /// The lines of a file.
    pub fn lines(&self, file: FileId) -> Option<Arc<LineIndex>> {
        Some(self.file(file)?.lines.clone())
    }

    /// The language of a file.
    pub fn language(&self, file: FileId) -> Option<Language> {
        Some(self.file(file)?.language)
    }

    /// The features that are off for a file because of its size.
    pub fn switched_off(&self, file: FileId) -> Vec<Feature> {
        let all = Feature::LIMITS.iter().map(|&(feature, _)| feature);
        all.filter(|&feature| !self.is_on(file, feature)).collect()
    }

    /// The chips that a file is compiled for; the first one is shown.
    pub fn targets(&self, file: FileId) -> Cancellable<Vec<Chip>> {
        self.with(|this| this.chips(file))
    }

    /// Diagnostics of syntax, names and types, in text order.
    pub fn diagnostics(&self, file: FileId) -> Cancellable<Vec<FileDiagnostic>> {
        self.with(|this| crate::diagnostics::diagnostics(this, file))
    }

    /// Diagnostics of code generation for a chip: unsupported code, spills. Takes as long as compiling.
    pub fn code_diagnostics(&self, file: FileId, chip: Chip) -> Cancellable<Vec<FileDiagnostic>> {
        self.with(|this| crate::diagnostics::code_diagnostics(this, file, chip))
    }

    /// Fixes for the diagnostics that meet a range.
    pub fn fixes(&self, file: FileId, range: Range) -> Cancellable<Vec<Fix>> {
        self.with(|this| crate::fixes::fixes(this, file, range))
    }

    /// The hover at a position.
    pub fn hover(&self, file: FileId, at: u32) -> Cancellable<Option<Hover>> {
        self.with(|this| crate::hover::hover(this, file, at))
    }

    /// The declarations of the name at a position.
    pub fn definition(&self, file: FileId, at: u32) -> Cancellable<Vec<Target>> {
        self.with(|this| crate::navigation::definition(this, file, at))
    }

    /// Every use of the name at a position, its declaration among them.
    pub fn references(&self, file: FileId, at: u32) -> Cancellable<Vec<Reference>> {
        self.with(|this| crate::navigation::references(this, file, at))
    }

    /// The uses of the name at a position within its unit.
    pub fn highlights(&self, file: FileId, at: u32) -> Cancellable<Vec<Reference>> {
        self.with(|this| crate::navigation::highlights(this, file, at))
    }

    /// The name at a position, if it can be renamed.
    ///
    /// # Errors
    /// The outer one for cancellation, the inner one with the reason why there is nothing to rename.
    pub fn prepare_rename(&self, file: FileId, at: u32) -> Cancellable<Result<(Range, String), RenameError>> {
        self.with(|this| crate::navigation::prepare_rename(this, file, at))
    }

    /// Renames the name at a position.
    ///
    /// # Errors
    /// The outer one for cancellation, the inner one with the reason why it cannot be renamed.
    pub fn rename(&self, file: FileId, at: u32, name: &str) -> Cancellable<Result<Vec<Edit>, RenameError>> {
        self.with(|this| crate::navigation::rename(this, file, at, name))
    }

    /// Completions at a position.
    pub fn completions(&self, file: FileId, at: u32) -> Cancellable<Vec<Completion>> {
        self.with(|this| crate::completion::completions(this, file, at))
    }

    /// The forms of the instruction at a position, or the signature of the function that is called.
    pub fn signature_help(&self, file: FileId, at: u32) -> Cancellable<Option<SignatureHelp>> {
        self.with(|this| crate::completion::signature_help(this, file, at))
    }

    /// The outline of a file.
    pub fn symbols(&self, file: FileId) -> Cancellable<Vec<Symbol>> {
        self.with(|this| crate::symbols::symbols(this, file))
    }

    /// Module-level declarations of all files whose names hold the letters of `query` in their order.
    pub fn workspace_symbols(&self, query: &str) -> Cancellable<Vec<(FileId, Symbol)>> {
        self.with(|this| crate::symbols::workspace_symbols(this, query))
    }

    /// The foldable ranges.
    pub fn folds(&self, file: FileId) -> Cancellable<Vec<Fold>> {
        self.with(|this| crate::folding::folds(this, file))
    }

    /// The ranges around a position, from the innermost to the file.
    pub fn selection(&self, file: FileId, at: u32) -> Cancellable<Vec<Range>> {
        self.with(|this| crate::selection::selection(this, file, at))
    }

    /// The tokens of a range, or of the whole file, with register marks from earlier compiles: nothing is compiled.
    pub fn tokens(
        &self,
        file: FileId,
        range: Option<Range>,
        marks: &RegisterMarks,
    ) -> Cancellable<Vec<Token>> {
        self.with(|this| crate::tokens::tokens(this, file, range, marks))
    }

    /// Marks of the registers of a file, from compiled code. Functions that do not compile keep their earlier marks.
    /// Takes as long as compiling.
    pub fn register_marks(
        &self,
        file: FileId,
        chip: Chip,
        before: &RegisterMarks,
    ) -> Cancellable<RegisterMarks> {
        self.with(|this| crate::marks::marks(this, file, chip, before))
    }

    /// Edits of white space that format a range, or the whole file.
    pub fn format(&self, file: FileId, range: Option<Range>, style: Style) -> Cancellable<Vec<Edit>> {
        self.with(|this| crate::format::format(this, file, range, style))
    }

    /// The function at a position.
    pub fn call_item(&self, file: FileId, at: u32) -> Cancellable<Option<CallItem>> {
        self.with(|this| crate::calls::item(this, file, at))
    }

    /// The callers of a function.
    pub fn incoming_calls(&self, file: FileId, name: &str) -> Cancellable<Vec<Call>> {
        self.with(|this| crate::calls::incoming(this, file, name))
    }

    /// The callees of a function.
    pub fn outgoing_calls(&self, file: FileId, name: &str) -> Cancellable<Vec<Call>> {
        self.with(|this| crate::calls::outgoing(this, file, name))
    }

    /// Links of `.file` and `.loc` to sources.
    pub fn links(&self, file: FileId) -> Cancellable<Vec<Link>> {
        self.with(|this| crate::links::links(this, file))
    }

    /// Hints after the instructions of a range.
    pub fn hints(&self, file: FileId, range: Range, options: HintOptions) -> Cancellable<Vec<Hint>> {
        self.with(|this| crate::hints::hints(this, file, range, options))
    }

    /// Lenses above the kernels, without their figures: [`Analysis::lens`] fills in one.
    pub fn lenses(&self, file: FileId) -> Cancellable<Vec<Lens>> {
        self.with(|this| crate::hints::lenses(this, file))
    }

    /// The lens of one kernel with its figures, for a chip.
    pub fn lens(&self, file: FileId, kernel: &str, chip: Chip) -> Cancellable<Option<Lens>> {
        self.with(|this| crate::hints::lens(this, file, kernel, chip))
    }

    /// The machine code of a kernel with its map to the text. While the kernel does not compile this is the code of its
    /// last good state, marked as stale.
    pub fn sass(&self, file: FileId, kernel: &str, chip: Chip) -> Cancellable<Option<SassListing>> {
        self.with(|this| crate::sass::listing(this, file, kernel, chip))
    }

    /// The resource use of a kernel on a chip, with explanations.
    pub fn kernel_statistics(
        &self,
        file: FileId,
        kernel: &str,
        chip: Chip,
    ) -> Cancellable<Option<KernelStatistics>> {
        self.with(|this| crate::kernel::statistics(this, file, kernel, chip))
    }

    /// The live registers at a position, and the place of the kernel's peak.
    pub fn liveness(&self, file: FileId, at: u32, chip: Chip) -> Cancellable<Option<Liveness>> {
        self.with(|this| crate::kernel::liveness(this, file, at, chip))
    }

    /// The syntax tree of a range, or of the whole file.
    pub fn syntax_tree(&self, file: FileId, range: Option<Range>) -> Cancellable<Vec<TreeNode>> {
        self.with(|this| crate::views::syntax_tree(this, file, range))
    }

    /// The intermediate representation of a function after a phase, given by name or number.
    ///
    /// # Errors
    /// The outer one for cancellation, the inner one with a message about the phase or the function.
    pub fn ori(
        &self,
        file: FileId,
        function: &str,
        chip: Chip,
        phase: &str,
    ) -> Cancellable<Result<String, OriError>> {
        self.with(|this| crate::views::ori(this, file, function, chip, phase))
    }

    /// The intermediate representation of a kernel and of the functions that it calls: raw, and after each phase that
    /// changed any of them. All stages before allocation run once more.
    ///
    /// # Errors
    /// The outer one for cancellation, the inner one with the compile error.
    pub fn history(
        &self,
        file: FileId,
        kernel: &str,
        chip: Chip,
    ) -> Cancellable<Result<Vec<OriSnapshot>, OriError>> {
        self.with(|this| crate::history::history(this, file, kernel, chip))
    }

    /// A kernel, first, and the functions that its code holds: names and ranges of their texts.
    pub fn parts(&self, file: FileId, kernel: &str, chip: Chip) -> Cancellable<Vec<(String, Range)>> {
        self.with(|this| crate::history::parts(this, file, kernel, chip))
    }

    /// The container of a file for a chip; `None` if there are errors.
    pub fn cubin(&self, file: FileId, chip: Chip) -> Cancellable<Option<triomphe::Arc<Vec<u8>>>> {
        self.with(|this| {
            let (source, config) = (this.ptx(file)?, this.config(file, chip)?);
            modules::cubin(&this.db, source, config).as_ref().ok().cloned()
        })
    }

    /// Compiles a file for a chip on `threads` threads: the container or the errors, and the resource use of each
    /// function; `None` for a language other than PTX.
    pub fn compile(
        &self,
        file: FileId,
        chip: Chip,
        threads: usize,
    ) -> Cancellable<Option<(oriole_queries::Compiled, Vec<oriole_queries::view::Resources>)>> {
        self.with(|this| {
            let (source, config) = (this.ptx(file)?, this.config(file, chip)?);
            let compiled = oriole_queries::compile(&this.db, source, config, threads);
            Some((compiled, oriole_queries::view::resources(&this.db, source, config)))
        })
    }

    /// Kernels of a file in text order.
    pub fn kernels(&self, file: FileId) -> Cancellable<Vec<String>> {
        self.with(|this| crate::hints::kernel_names(this, file))
    }
}
