//! `oriole watch`: compiles again whenever a file changes, by way of one database that remembers what stayed the same.
//!
//! This file turns events of the file system into paths; what a change of a file means stands in `project`. Events come
//! from a library that waits until a file has been quiet for a moment; a file that is read half-written all the same gives
//! findings, and another event.

mod project;
mod report;

use crate::arguments::Watch;
use crate::outcome::{Outcome, failed, misused};
use crate::session::{supported_chip, threads, tuned};
use notify_debouncer_full::notify::{EventKind, RecursiveMode};
use notify_debouncer_full::{DebounceEventResult, new_debouncer};
use project::Project;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

/// A file is looked at when nothing has happened to it for this long.
const QUIET: Duration = Duration::from_millis(30);

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
    let roots: Vec<Root> = match arguments.paths.iter().map(|path| Root::new(path)).collect() {
        Ok(roots) => roots,
        Err(message) => return misused(&message),
    };
    let (sender, events) = mpsc::channel::<DebounceEventResult>();
    let mut debouncer = match new_debouncer(QUIET, None, sender) {
        Ok(debouncer) => debouncer,
        Err(error) => return failed(&format!("files cannot be watched here: {error}")),
    };
    for root in &roots {
        // A file by way of its folder: editors replace files, and a watch of the old one would see nothing more.
        let mode = if root.file.is_some() { RecursiveMode::NonRecursive } else { RecursiveMode::Recursive };
        if let Err(error) = debouncer.watch(&root.folder, mode) {
            return failed(&format!("{}: cannot be watched: {error}", root.folder.display()));
        }
    }
    let out = arguments.out.clone();
    let mut project = Project::new(chips, options, cache, threads(arguments.jobs), out);
    let all = files(&roots);
    project.refresh(&all);
    project.ready(all.len());
    while let Ok(events) = events.recv() {
        let changed = match events {
            Ok(events) => {
                let mut paths = BTreeSet::new();
                let mut everything = false;
                for event in events.iter().filter(|event| !matches!(event.kind, EventKind::Access(_))) {
                    everything |= event.need_rescan();
                    for path in &event.paths {
                        match is_ptx(path) {
                            true => drop(paths.insert(path.clone())),
                            // Whatever a folder's change may mean is found by looking.
                            false => everything |= path.extension().is_none(),
                        }
                    }
                }
                if everything {
                    paths.extend(files(&roots).into_iter().map(|(_, path)| path));
                    paths.extend(project.known());
                }
                paths
            }
            Err(errors) => {
                errors.iter().for_each(|error| eprintln!("warning: {error}"));
                continue;
            }
        };
        let changed: Vec<(PathBuf, PathBuf)> = changed
            .into_iter()
            .filter_map(|path| Some((roots.iter().find(|root| root.holds(&path))?.folder.clone(), path)))
            .collect();
        project.refresh(&changed);
    }
    Outcome::Right
}

/// What is watched: a folder, or one file in it.
struct Root {
    folder: PathBuf,
    file: Option<PathBuf>,
}

impl Root {
    fn new(path: &Path) -> Result<Root, String> {
        let full = path.canonicalize().map_err(|error| format!("{}: {error}", path.display()))?;
        match full.parent() {
            Some(folder) if full.is_file() => {
                Ok(Root { folder: folder.to_owned(), file: Some(full.clone()) })
            }
            _ => Ok(Root { folder: full, file: None }),
        }
    }

    fn holds(&self, path: &Path) -> bool {
        self.file.as_ref().map_or_else(|| path.starts_with(&self.folder), |file| file == path)
    }
}

fn is_ptx(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "ptx")
}

/// Every PTX file below the roots, with the folder that its place counts from, in the order of names. A file that is
/// named is watched whatever its name ends in.
fn files(roots: &[Root]) -> Vec<(PathBuf, PathBuf)> {
    let mut found = BTreeSet::new();
    for root in roots {
        if let Some(file) = &root.file {
            found.insert((root.folder.clone(), file.clone()));
            continue;
        }
        let mut open = vec![root.folder.clone()];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                // Links are not followed: they could lead round and round.
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => open.push(entry.path()),
                    Ok(_) if is_ptx(&entry.path()) => drop(found.insert((root.folder.clone(), entry.path()))),
                    _ => {}
                }
            }
        }
    }
    found.into_iter().collect()
}
