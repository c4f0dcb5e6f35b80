//! Reads the PTX files of the workspace that are not open into the hosts, for names that files share.
//!
//! They are read on a worker, before the first request that looks beyond its file, and again as far as the client reports
//! changes; a client that never asks pays nothing. No other feature sees them: their diagnostics are those of
//! `workspace.rs`, which keeps no text.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use oriole_ide::{Change, Language, SettingsId};

use crate::environment::Environment;
use crate::hosts::{Core, HostState};
use crate::lock::locked;
use crate::uri;
use crate::workspace_files::{LARGEST, Stale};

/// Reads the files that may have changed into the hosts; on a worker.
pub(crate) fn follow(core: &Core) {
    let mut listed = locked(&core.files.listed);
    let stale = std::mem::replace(&mut *locked(&core.files.stale), Stale::Some(BTreeSet::new()));
    let (paths, all) = match stale {
        Stale::Some(paths) if paths.is_empty() => return,
        Stale::Some(paths) => (&paths & &listed, false),
        Stale::All => {
            let folders = locked(&core.folders).clone();
            *listed = folders.iter().flat_map(|folder| core.environment.sources(folder)).collect();
            (listed.clone(), true)
        }
    };
    let texts: Vec<(PathBuf, Option<String>)> =
        paths.into_iter().map(|path| (path.clone(), text(&*core.environment, &path))).collect();
    let mut state = locked(&core.state);
    // Under the lock no document is opened or closed.
    let open: BTreeSet<PathBuf> =
        state.documents.keys().filter_map(|address| uri::to_path(address)).collect();
    let mut changed = false;
    let gone = state.files.keys().filter(|path| all && !listed.contains(*path)).cloned();
    for path in gone.collect::<Vec<_>>() {
        changed |= remove(&mut state, &path);
    }
    for (path, text) in texts {
        changed |= match text.filter(|_| !open.contains(&path)) {
            Some(text) => put(&mut state, path, text),
            None => remove(&mut state, &path),
        };
    }
    if changed {
        // No request is about the text of these files alone, so that none is outdated.
        core.commit_settings(&mut state);
    }
}

/// The text of a file; `None` for one that is missing, too large or no text.
fn text(environment: &dyn Environment, path: &Path) -> Option<String> {
    let bytes = environment.read(path, LARGEST).filter(|bytes| bytes.len() <= LARGEST)?;
    String::from_utf8(bytes).ok()
}

/// Gives the hosts the text of a file; false if they have it.
fn put(state: &mut HostState, path: PathBuf, text: String) -> bool {
    match state.files.get(&path) {
        Some(&(_, file)) => {
            if state.host.analysis().text(file).is_some_and(|known| *known == text) {
                return false;
            }
            state.change(file, &[Change { range: None, text }]);
        }
        None => {
            let file = state.apply(|host| host.open(Language::Ptx, "", SettingsId(0)));
            state.change(file, &[Change { range: None, text }]);
            let address = uri::from_path(&path.to_string_lossy());
            Arc::make_mut(&mut state.files).insert(path, (address, file));
        }
    }
    true
}

/// Removes a file from the hosts; false if they do not have it.
pub(crate) fn remove(state: &mut HostState, path: &Path) -> bool {
    let Some((_, file)) = Arc::make_mut(&mut state.files).remove(path) else { return false };
    state.apply(move |host| host.close(file));
    true
}
