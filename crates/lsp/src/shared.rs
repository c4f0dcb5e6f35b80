//! State that outlives a snapshot and that answers share: data that the client has, and findings of compiles.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use oriole_ide::{FileDiagnostic, FileId, RegisterMarks};
use serde_json::Value;

use crate::basis::Basis;
use crate::closed_files::ClosedFiles;
use crate::followed::Followed;
use crate::kernel_profile::KernelProfile;
use crate::lock::locked;
use crate::pages::Pages;
use crate::symbol_units::FileSymbols;
use crate::token_units::FileTokens;
use crate::waits::Waits;

/// The diagnostics of code generation, with what they depend on.
type CodeDiagnostics = (Basis, Arc<Vec<FileDiagnostic>>);

/// Packed tokens and their id.
type Tokens = (String, Arc<FileTokens>);

/// State shared by answers: data of the client, and findings of compiles.
#[derive(Default)]
pub(crate) struct Shared {
    counter: AtomicU64,
    tokens: Mutex<BTreeMap<FileId, Tokens>>,
    symbols: Mutex<BTreeMap<FileId, Arc<FileSymbols>>>,
    code: Mutex<BTreeMap<FileId, CodeDiagnostics>>,
    waits: Mutex<Waits>,
    marks: Mutex<BTreeMap<FileId, Arc<RegisterMarks>>>,
    profiles: Mutex<BTreeMap<FileId, Vec<Arc<KernelProfile>>>>,
    /// Machine code that the client follows.
    pub followed: Followed,
    /// Views of documents whose pages are shown.
    pub pages: Pages,
    /// Diagnostics of files that are not open.
    pub files: ClosedFiles,
}

impl Shared {
    /// Stores tokens under a new id.
    pub fn keep_tokens(&self, file: FileId, data: Arc<FileTokens>) -> String {
        let name = self.counter.fetch_add(1, Ordering::Relaxed).to_string();
        locked(&self.tokens).insert(file, (name.clone(), data));
        name
    }

    /// The tokens that were stored last, with their id.
    pub fn tokens(&self, file: FileId) -> Option<(String, Arc<FileTokens>)> {
        locked(&self.tokens).get(&file).cloned()
    }

    /// Stores a written outline.
    pub fn keep_symbols(&self, file: FileId, written: FileSymbols) {
        locked(&self.symbols).insert(file, Arc::new(written));
    }

    /// The outline that was stored last.
    pub fn symbols(&self, file: FileId) -> Option<Arc<FileSymbols>> {
        locked(&self.symbols).get(&file).cloned()
    }

    /// Stores diagnostics of code generation; true if what is shown for this basis changed.
    pub fn keep_code(&self, file: FileId, basis: Basis, found: Vec<FileDiagnostic>) -> bool {
        let changed = *self.code(file, &basis) != found;
        locked(&self.code).insert(file, (basis, Arc::new(found)));
        changed
    }

    /// The diagnostics of code generation of a document as it is; none before it is compiled.
    pub fn code(&self, file: FileId, basis: &Basis) -> Arc<Vec<FileDiagnostic>> {
        let code = locked(&self.code);
        code.get(&file).filter(|known| known.0 == *basis).map(|known| known.1.clone()).unwrap_or_default()
    }

    /// Stores the register marks from compiled code; true if they changed.
    pub fn keep_marks(&self, file: FileId, found: RegisterMarks) -> bool {
        let mut marks = locked(&self.marks);
        let known = marks.entry(file).or_default();
        let differs = **known != found;
        if differs {
            *known = Arc::new(found);
        }
        differs
    }

    /// The register marks from the last good code of a file.
    pub fn marks(&self, file: FileId) -> Arc<RegisterMarks> {
        locked(&self.marks).get(&file).cloned().unwrap_or_default()
    }

    /// Stores profiles of kernels in place of older ones of the same kernels; true if they changed.
    pub fn keep_profiles(&self, file: FileId, found: Vec<KernelProfile>) -> bool {
        let mut profiles = locked(&self.profiles);
        let known = profiles.entry(file).or_default();
        let before = known.clone();
        for profile in found {
            // Profiles of another text, chip or options are no longer shown.
            known.retain(|other| other.kernel != profile.kernel && other.basis == profile.basis);
            known.push(Arc::new(profile));
        }
        known.sort_by(|a, b| a.kernel.cmp(&b.kernel));
        *known != before
    }

    /// The profiles of kernels of a file, of any text and chip.
    pub fn profiles(&self, file: FileId) -> Vec<Arc<KernelProfile>> {
        locked(&self.profiles).get(&file).cloned().unwrap_or_default()
    }

    /// Forgets the profiles of a file: its settings have changed.
    pub fn forget_profiles(&self, file: FileId) {
        locked(&self.profiles).remove(&file);
    }

    /// Records how long a change waited for running work.
    pub fn waited(&self, time: Duration) {
        locked(&self.waits).add(time);
    }

    /// The waiting times of changes.
    pub fn waits(&self) -> Value {
        locked(&self.waits).report()
    }

    /// Forgets a file.
    pub fn forget(&self, file: FileId) {
        locked(&self.marks).remove(&file);
        locked(&self.tokens).remove(&file);
        locked(&self.symbols).remove(&file);
        locked(&self.code).remove(&file);
        self.pages.forget(file);
        self.forget_profiles(file);
    }
}
