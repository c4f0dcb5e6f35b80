//! The requests that a client may make, one method each.
//!
//! Only this file and the host name [`Snapshot`] together with the features: each method calls one feature with the
//! state that it reads. The work of an answer belongs in the feature, and no feature may name this file.

use std::sync::Arc;

use oriole_chip::Chip;
use oriole_inputs::{Cancellable, Canceller};
use oriole_options::Options;
use oriole_queries::modules;

use crate::format::Style;
use crate::snapshot::{Lacks, Snapshot};
use crate::views::OriError;
use crate::{
    Call, CallItem, Completion, Edit, Feature, FileDiagnostic, FileId, Fix, Fold, Hint, HintOptions, Hover,
    KernelStatistics, Language, Lens, LineIndex, Link, Liveness, OriSnapshot, Range, Reference,
    RegisterMarks, RenameError, SassListing, SignatureHelp, Symbol, Target, Token, TreeNode, UnitSymbols,
    UnitTokens,
};

/// A snapshot of the host. It may be sent to another thread; clones share all results.
#[derive(Clone)]
pub struct Analysis {
    snapshot: Snapshot,
}

impl Analysis {
    pub(crate) fn new(snapshot: Snapshot) -> Analysis {
        Analysis { snapshot }
    }

    fn with<T>(&self, answer: impl FnOnce(&Snapshot) -> T) -> Cancellable<T> {
        self.snapshot.db.cancellable(|_| answer(&self.snapshot))
    }

    /// A handle that reports, after a query, whether code was missing; for snapshots of a host that compiles nothing.
    pub fn lacks(&self) -> Option<Lacks> {
        self.snapshot.lacks.clone()
    }

    /// A handle that cancels running queries of this snapshot.
    pub fn canceller(&self) -> Canceller {
        self.snapshot.db.canceller()
    }

    /// The text of a file.
    pub fn text(&self, file: FileId) -> Option<Arc<String>> {
        self.snapshot.text(file)
    }

    /// The lines of a file.
    pub fn lines(&self, file: FileId) -> Option<Arc<LineIndex>> {
        Some(self.snapshot.file(file)?.lines.clone())
    }

    /// The language of a file.
    pub fn language(&self, file: FileId) -> Option<Language> {
        Some(self.snapshot.file(file)?.language)
    }

    /// The features that are off for a file because of its size.
    pub fn switched_off(&self, file: FileId) -> Vec<Feature> {
        let all = Feature::LIMITS.iter().map(|&(feature, _)| feature);
        all.filter(|&feature| !self.snapshot.is_on(file, feature)).collect()
    }

    /// The options that a file is compiled with.
    pub fn options(&self, file: FileId) -> Option<&Options> {
        self.snapshot.options(file)
    }

    /// The chips that a file is compiled for; the first one is shown.
    pub fn targets(&self, file: FileId) -> Cancellable<Vec<Chip>> {
        self.with(|snapshot| snapshot.chips(file))
    }

    /// Diagnostics of syntax, names and types, in text order.
    pub fn diagnostics(&self, file: FileId) -> Cancellable<Vec<FileDiagnostic>> {
        self.with(|snapshot| crate::diagnostics::diagnostics(snapshot, file))
    }

    /// Diagnostics of code generation for a chip: unsupported code, spills. Takes as long as compiling.
    pub fn code_diagnostics(&self, file: FileId, chip: Chip) -> Cancellable<Vec<FileDiagnostic>> {
        self.with(|snapshot| crate::diagnostics::code_diagnostics(snapshot, file, chip))
    }

    /// Fixes for the diagnostics that meet a range.
    pub fn fixes(&self, file: FileId, range: Range) -> Cancellable<Vec<Fix>> {
        self.with(|snapshot| crate::fixes::fixes(snapshot, file, range))
    }

    /// The hover at a position.
    pub fn hover(&self, file: FileId, at: u32) -> Cancellable<Option<Hover>> {
        self.with(|snapshot| crate::hover::hover(snapshot, file, at))
    }

    /// Whether other files may mean what the name at a position means.
    pub fn is_shared(&self, file: FileId, at: u32) -> Cancellable<bool> {
        self.with(|snapshot| crate::navigation::is_shared(snapshot, file, at))
    }

    /// The declaration of the name at a position in this file, also of a function that is defined later or elsewhere.
    pub fn declaration(&self, file: FileId, at: u32) -> Cancellable<Vec<Target>> {
        self.with(|snapshot| crate::navigation::declaration(snapshot, file, at))
    }

    /// The definition of the name at a position, in any file that shares it.
    pub fn definition(&self, file: FileId, at: u32) -> Cancellable<Vec<Target>> {
        self.with(|snapshot| crate::navigation::definition(snapshot, file, at))
    }

    /// Every use of the name at a position, its declaration among them, in every file that shares it.
    pub fn references(&self, file: FileId, at: u32) -> Cancellable<Vec<Reference>> {
        self.with(|snapshot| crate::navigation::references(snapshot, file, at))
    }

    /// The uses of the name at a position within its unit.
    pub fn highlights(&self, file: FileId, at: u32) -> Cancellable<Vec<Reference>> {
        self.with(|snapshot| crate::navigation::highlights(snapshot, file, at))
    }

    /// The name at a position, if it can be renamed.
    ///
    /// # Errors
    /// The outer one for cancellation, the inner one with the reason why there is nothing to rename.
    pub fn prepare_rename(&self, file: FileId, at: u32) -> Cancellable<Result<(Range, String), RenameError>> {
        self.with(|snapshot| crate::renaming::prepare_rename(snapshot, file, at))
    }

    /// Renames the name at a position, in every file that shares it.
    ///
    /// # Errors
    /// The outer one for cancellation, the inner one with the reason why it cannot be renamed.
    pub fn rename(
        &self,
        file: FileId,
        at: u32,
        name: &str,
    ) -> Cancellable<Result<Vec<(FileId, Edit)>, RenameError>> {
        self.with(|snapshot| crate::renaming::rename(snapshot, file, at, name))
    }

    /// Completions at a position.
    pub fn completions(&self, file: FileId, at: u32) -> Cancellable<Vec<Completion>> {
        self.with(|snapshot| crate::completion::completions(snapshot, file, at))
    }

    /// The forms of the instruction at a position, or the signature of the function that is called.
    pub fn signature_help(&self, file: FileId, at: u32) -> Cancellable<Option<SignatureHelp>> {
        self.with(|snapshot| crate::completion::signature_help(snapshot, file, at))
    }

    /// The outline of a file.
    pub fn symbols(&self, file: FileId) -> Cancellable<Vec<Symbol>> {
        self.with(|snapshot| crate::symbols::symbols(snapshot, file))
    }

    /// The outline of a PTX file as [`Analysis::symbols`] has it, unit by unit: what did not change since is the same. Nothing for another
    /// language.
    pub fn unit_symbols(&self, file: FileId) -> Cancellable<Option<Vec<UnitSymbols>>> {
        self.with(|snapshot| crate::symbols::by_unit(snapshot, file))
    }

    /// Module-level declarations of all files whose names hold the letters of `query` in their order.
    pub fn workspace_symbols(&self, query: &str) -> Cancellable<Vec<(FileId, Symbol)>> {
        self.with(|snapshot| crate::symbols::workspace_symbols(snapshot, query))
    }

    /// The foldable ranges.
    pub fn folds(&self, file: FileId) -> Cancellable<Vec<Fold>> {
        self.with(|snapshot| crate::folding::folds(snapshot, file))
    }

    /// The ranges around a position, from the innermost to the file.
    pub fn selection(&self, file: FileId, at: u32) -> Cancellable<Vec<Range>> {
        self.with(|snapshot| crate::selection::selection(snapshot, file, at))
    }

    /// The tokens of a range, or of the whole file, with register marks from earlier compiles: nothing is compiled.
    pub fn tokens(
        &self,
        file: FileId,
        range: Option<Range>,
        marks: &RegisterMarks,
    ) -> Cancellable<Vec<Token>> {
        self.with(|snapshot| crate::tokens::tokens(snapshot, file, range, marks))
    }

    /// The tokens of the whole file as [`Analysis::tokens`] has them, unit by unit: what did not change since is the same.
    pub fn unit_tokens(&self, file: FileId, marks: &RegisterMarks) -> Cancellable<Vec<UnitTokens>> {
        self.with(|snapshot| crate::tokens::by_unit(snapshot, file, marks))
    }

    /// Marks of the registers of a file, from compiled code. Functions that do not compile keep their earlier marks.
    /// Takes as long as compiling.
    pub fn register_marks(
        &self,
        file: FileId,
        chip: Chip,
        before: &RegisterMarks,
    ) -> Cancellable<RegisterMarks> {
        self.with(|snapshot| crate::marks::marks(snapshot, file, chip, before))
    }

    /// Edits of white space that format a range, or the whole file.
    pub fn format(&self, file: FileId, range: Option<Range>, style: Style) -> Cancellable<Vec<Edit>> {
        self.with(|snapshot| crate::format::format(snapshot, file, range, style))
    }

    /// Edits of white space after a character was typed before a position: `;` or `}`, or the end of a line.
    pub fn format_typed(&self, file: FileId, at: u32, typed: char, style: Style) -> Cancellable<Vec<Edit>> {
        self.with(|snapshot| crate::typed::format_typed(snapshot, file, at, typed, style))
    }

    /// The function at a position.
    pub fn call_item(&self, file: FileId, at: u32) -> Cancellable<Option<CallItem>> {
        self.with(|snapshot| crate::calls::item(snapshot, file, at))
    }

    /// The callers of a function.
    pub fn incoming_calls(&self, file: FileId, name: &str) -> Cancellable<Vec<Call>> {
        self.with(|snapshot| crate::calls::incoming(snapshot, file, name))
    }

    /// The callees of a function.
    pub fn outgoing_calls(&self, file: FileId, name: &str) -> Cancellable<Vec<Call>> {
        self.with(|snapshot| crate::calls::outgoing(snapshot, file, name))
    }

    /// Links of `.file` and `.loc` to sources.
    pub fn links(&self, file: FileId) -> Cancellable<Vec<Link>> {
        self.with(|snapshot| crate::links::links(snapshot, file))
    }

    /// Hints after the instructions of a range.
    pub fn hints(&self, file: FileId, range: Range, options: HintOptions) -> Cancellable<Vec<Hint>> {
        self.with(|snapshot| crate::hints::hints(snapshot, file, range, options))
    }

    /// Lenses above the kernels, without their figures: [`Analysis::lens`] fills in one.
    pub fn lenses(&self, file: FileId) -> Cancellable<Vec<Lens>> {
        self.with(|snapshot| crate::hints::lenses(snapshot, file))
    }

    /// The lens of one kernel with its figures, for a chip.
    pub fn lens(&self, file: FileId, kernel: &str, chip: Chip) -> Cancellable<Option<Lens>> {
        self.with(|snapshot| crate::hints::lens(snapshot, file, kernel, chip))
    }

    /// The machine code of a kernel with its map to the text. While the kernel does not compile snapshot is the code of its
    /// last good state, marked as stale.
    pub fn sass(&self, file: FileId, kernel: &str, chip: Chip) -> Cancellable<Option<SassListing>> {
        self.with(|snapshot| crate::sass::listing(snapshot, file, kernel, chip))
    }

    /// The resource use of a kernel on a chip, with explanations.
    pub fn kernel_statistics(
        &self,
        file: FileId,
        kernel: &str,
        chip: Chip,
    ) -> Cancellable<Option<KernelStatistics>> {
        self.with(|snapshot| crate::kernel::statistics(snapshot, file, kernel, chip))
    }

    /// The live registers at a position, and the place of the kernel's peak.
    pub fn liveness(&self, file: FileId, at: u32, chip: Chip) -> Cancellable<Option<Liveness>> {
        self.with(|snapshot| crate::kernel::liveness(snapshot, file, at, chip))
    }

    /// The syntax tree of a range, or of the whole file.
    pub fn syntax_tree(&self, file: FileId, range: Option<Range>) -> Cancellable<Vec<TreeNode>> {
        self.with(|snapshot| crate::views::syntax_tree(snapshot, file, range))
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
        self.with(|snapshot| crate::views::ori(snapshot, file, function, chip, phase))
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
        self.with(|snapshot| crate::history::history(snapshot, file, kernel, chip))
    }

    /// A kernel, first, and the functions that its code holds: names and ranges of their texts.
    pub fn parts(&self, file: FileId, kernel: &str, chip: Chip) -> Cancellable<Vec<(String, Range)>> {
        self.with(|snapshot| crate::history::parts(snapshot, file, kernel, chip))
    }

    /// The container of a file for a chip; `None` if there are errors.
    pub fn cubin(&self, file: FileId, chip: Chip) -> Cancellable<Option<triomphe::Arc<Vec<u8>>>> {
        self.with(|snapshot| {
            let (source, config) = (snapshot.ptx(file)?, snapshot.config(file, chip)?);
            modules::cubin(&snapshot.db, source, config).as_ref().ok().cloned()
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
        self.with(|snapshot| {
            let (source, config) = (snapshot.ptx(file)?, snapshot.config(file, chip)?);
            let compiled = oriole_queries::compile(&snapshot.db, source, config, threads);
            Some((compiled, oriole_queries::view::resources(&snapshot.db, source, config)))
        })
    }

    /// Kernels of a file in text order.
    pub fn kernels(&self, file: FileId) -> Cancellable<Vec<String>> {
        self.with(|snapshot| crate::hints::kernel_names(snapshot, file))
    }
}
