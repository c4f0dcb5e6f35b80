//! Cached diagnostics of files in the folders of the workspace that are not open. `workspace.rs` reads the files.

use std::collections::BTreeMap;
use std::sync::Mutex;

use serde_json::Value;

use crate::lock::locked;

/// Diagnostics of a file that is not open: a hash of its bytes, their result id, the diagnostics.
pub(crate) type Known = (u64, String, Value);

/// Cached diagnostics of files that are not open.
#[derive(Default)]
pub(crate) struct ClosedFiles {
    /// Diagnostics, by URI.
    known: Mutex<BTreeMap<String, Known>>,
    /// URIs of files that are too large.
    too_large: Mutex<Vec<String>>,
}

impl ClosedFiles {
    /// The diagnostics of a file whose bytes have this hash.
    pub fn known(&self, uri: &str, hash: u64) -> Option<Known> {
        locked(&self.known).get(uri).filter(|known| known.0 == hash).cloned()
    }

    /// Replaces all of it after the folders were read.
    pub fn replace(&self, known: BTreeMap<String, Known>, too_large: Vec<String>) {
        *locked(&self.known) = known;
        *locked(&self.too_large) = too_large;
    }

    /// URIs of files that are too large to be read before they are opened.
    pub fn too_large(&self) -> Vec<String> {
        locked(&self.too_large).clone()
    }
}
