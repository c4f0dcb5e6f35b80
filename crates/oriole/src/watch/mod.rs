//! `oriole watch`: compiles again whenever a file changes, with one database that remembers what stayed the same.
//!
//! This file turns events of the file system into paths; what a change of a file means is in `project`, what is watched
//! in `roots`. Events come from a library that waits until a file has been quiet for a moment; a file that is read half-written
//! all the same gives diagnostics, and another event.

mod project;
mod report;
mod roots;

use crate::arguments::Watch;
use crate::files::output;
use crate::outcome::{Outcome, failed, misused};
use crate::session::{supported_chip, threads, tuned};
use notify_debouncer_full::notify::{self, EventKind, RecommendedWatcher, RecursiveMode};
use notify_debouncer_full::{DebounceEventResult, Debouncer, RecommendedCache, new_debouncer};
use project::Project;
use roots::{Fate, Links, Root, is_ptx};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// A file is looked at when nothing has happened to it for this long.
const QUIET: Duration = Duration::from_millis(30);

/// The library that tells of events wakes up this often; by itself it would do so twice as often.
const TICK: Duration = Duration::from_millis(15);

/// What no event tells of is looked at this often.
const LOOK: Duration = Duration::from_millis(400);

/// Runs `oriole watch`; it ends when it is interrupted.
pub fn watch(arguments: &Watch) -> Outcome {
    let chips = match arguments.arch.iter().map(|name| supported_chip(name)).collect::<Result<Vec<_>, _>>() {
        Ok(chips) => chips,
        Err(message) => return misused(&message),
    };
    let (options, cache) = match tuned(&arguments.tuning).and_then(|it| Ok((it, arguments.cache.session()?)))
    {
        Ok(read) => read,
        Err(message) => return misused(&message),
    };
    let mut roots: Vec<Root> = match arguments.paths.iter().map(|path| Root::new(path)).collect() {
        Ok(roots) => roots,
        Err(message) => return misused(&message),
    };
    let (sender, events) = mpsc::channel::<DebounceEventResult>();
    let mut watcher = match new_debouncer(QUIET, Some(TICK), sender) {
        Ok(watcher) => watcher,
        Err(error) => return failed(&format!("files cannot be watched here: {error}")),
    };
    for root in &roots {
        if let Err(error) = follow(&mut watcher, root) {
            return failed(&format!("{}: cannot be watched: {error}", root.shown));
        }
    }
    let out = arguments.out.clone();
    let mut project = Project::new(chips, options, cache, threads(arguments.jobs), out);
    let all = files(&roots);
    project.refresh(&all);
    project.ready(all.len());
    let mut links = Links::default();
    loop {
        let mut changed = BTreeSet::new();
        match events.recv_timeout(LOOK) {
            Ok(Ok(events)) => changed.extend(paths(&events, &roots, &project)),
            Ok(Err(errors)) => errors.iter().for_each(|error| eprintln!("warning: {error}")),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Outcome::Right,
        }
        changed.extend(look(&mut roots, &mut watcher, &project));
        changed.extend(links.changed(project.known()));
        let root_of = |path: &PathBuf| roots.iter().find(|root| root.holds(path));
        let changed: Vec<(PathBuf, PathBuf)> =
            changed.into_iter().filter_map(|path| Some((root_of(&path)?.folder.clone(), path))).collect();
        project.refresh(&changed);
    }
}

type Watcher = Debouncer<RecommendedWatcher, RecommendedCache>;

/// Has events sent for a root.
fn follow(watcher: &mut Watcher, root: &Root) -> notify::Result<()> {
    // A file through its folder: editors replace files, and a watch of the old one would see nothing more.
    let mode = if root.file.is_some() { RecursiveMode::NonRecursive } else { RecursiveMode::Recursive };
    watcher.watch(&root.folder, mode)
}

/// The files that events may mean.
fn paths(
    events: &[notify_debouncer_full::DebouncedEvent],
    roots: &[Root],
    project: &Project,
) -> BTreeSet<PathBuf> {
    let mut paths = BTreeSet::new();
    let mut everything = false;
    for event in events.iter().filter(|event| !matches!(event.kind, EventKind::Access(_))) {
        everything |= event.need_rescan();
        for path in &event.paths {
            let named = roots.iter().any(|root| root.file.as_ref() == Some(path));
            match is_ptx(path) || named {
                true => drop(paths.insert(path.clone())),
                // Whatever a folder's change may mean is found by looking.
                false => everything |= may_be_folder(path),
            }
        }
    }
    if everything {
        paths.extend(files(roots).into_iter().map(|(_, path)| path));
        paths.extend(project.known());
    }
    paths
}

/// Whether a path is that of a folder, or was before it went. What this program writes first under a name of its own is
/// none, and no reason to look at everything.
fn may_be_folder(path: &Path) -> bool {
    let temporary = path.file_name().is_some_and(output::is_temporary);
    !temporary && (path.extension().is_none() || path.is_dir())
}

/// Looks whether roots went away or came back, and follows those that did: their files.
fn look(roots: &mut [Root], watcher: &mut Watcher, project: &Project) -> BTreeSet<PathBuf> {
    let mut paths = BTreeSet::new();
    for root in roots {
        match root.look() {
            Fate::Same => continue,
            Fate::Gone => println!("{}: gone; it is looked for", root.shown),
            Fate::New => {
                let _ = watcher.unwatch(&root.folder);
                match follow(watcher, root) {
                    Ok(()) => println!("{}: there again", root.shown),
                    Err(error) => eprintln!("warning: {}: cannot be watched: {error}", root.shown),
                }
                paths.extend(root.files());
            }
        }
        paths.extend(project.known().filter(|path| root.holds(path)));
    }
    paths
}

/// Every PTX file below the roots, with the folder that its place counts from, in the order of names.
fn files(roots: &[Root]) -> Vec<(PathBuf, PathBuf)> {
    let below =
        |root: &Root| root.files().into_iter().map(|path| (root.folder.clone(), path)).collect::<Vec<_>>();
    let found: BTreeSet<_> = roots.iter().flat_map(below).collect();
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_aside_is_no_folder() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("a.d")).unwrap();
        let may_be = |name: &str| may_be_folder(&folder.path().join(name));
        assert!(may_be("gone") && may_be("a.d") && may_be(".oriole-notes"));
        assert!(!may_be(".oriole-a1B2c3") && !may_be("a.cubin"));
    }
}
