//! `oriole watch`: compiles again whenever a file changes, with one database that remembers what stayed the same.
//!
//! This file turns events of the file system into paths; `project` has the meaning of a change, `roots` the
//! watched files, `line` the meaning of a line of options. A path is looked at when it has been quiet for a
//! moment; a file that is read half-written all the same gives diagnostics, and another event.

mod happening;
mod line;
mod project;
mod report;
mod roots;

use crate::arguments::Watch;
use crate::files::folder::is_ptx;
use crate::files::output;
use crate::messages::{self, MessageFormat};
use crate::outcome::{Outcome, failed, misused, print};
use crate::session::{ArgumentError, linked, threads, tuned};
use happening::Happening;
use line::Line;
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use oriole_chip::Chip;
use project::Project;
use roots::{Fate, Links, Root};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// A file is looked at when nothing has happened to it for this long.
const QUIET: Duration = Duration::from_millis(30);

/// Changes without an event are looked for this often.
const LOOK: Duration = Duration::from_millis(400);

/// Runs `oriole watch`; it ends when it is interrupted.
pub fn watch(arguments: &Watch) -> Outcome {
    if messages::format() == MessageFormat::Sarif {
        return misused("a SARIF log is written in the end, and a watch has none");
    }
    let chips =
        match arguments.arch.iter().map(|name| Chip::choose_supported(name)).collect::<Result<Vec<_>, _>>() {
            Ok(chips) => chips,
            Err(error) => return misused(ArgumentError::from(error)),
        };
    let (options, cache) = match tuned(&arguments.tuning).and_then(|it| Ok((it, arguments.cache.session()?)))
    {
        Ok(read) => read,
        Err(message) => return misused(message),
    };
    let mut roots: Vec<Root> = match arguments.paths.iter().map(|path| Root::new(path)).collect() {
        Ok(roots) => roots,
        Err(message) => return misused(message),
    };
    let (sender, happenings) = mpsc::channel();
    if arguments.interactive {
        line::read(sender.clone());
    }
    let note = move |event| drop(sender.send(Happening::Files(event)));
    let mut watcher = match notify::recommended_watcher(note) {
        Ok(watcher) => watcher,
        Err(error) => return failed(format!("files cannot be watched here: {error}")),
    };
    for root in &roots {
        if let Err(error) = follow(&mut watcher, root) {
            return failed(format!("{}: cannot be watched: {error}", root.shown));
        }
    }
    let line = Line { chips, options: linked(options, arguments.linked) };
    let mut project = Project::new(line.clone(), cache, threads(arguments.jobs), arguments);
    let all = files(&roots);
    project.refresh(&all);
    project.ready(all.len());
    let mut links = Links::default();
    let mut unsettled = Unsettled::default();
    let mut looked = Instant::now();
    loop {
        match happenings.recv_timeout(unsettled.wait().min(LOOK.saturating_sub(looked.elapsed()))) {
            Ok(Happening::Files(Ok(event))) => unsettled.note(&event, &roots),
            Ok(Happening::Files(Err(error))) => eprintln!("warning: {error}"),
            Ok(Happening::Line(text)) => match line.changed(&text) {
                Ok(line) => project.retune(line),
                Err(message) => eprintln!("error: {message}"),
            },
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Outcome::Right,
        }
        let all = || files(&roots).into_iter().map(|(_, path)| path).chain(project.known());
        let mut changed = unsettled.settled(all);
        if changed.is_empty() && looked.elapsed() < LOOK {
            continue;
        }
        looked = Instant::now();
        changed.extend(look(&mut roots, &mut watcher, &project));
        changed.extend(links.changed(project.known()));
        let root_of = |path: &PathBuf| roots.iter().find(|root| root.holds(path));
        let changed: Vec<(PathBuf, PathBuf)> =
            changed.into_iter().filter_map(|path| Some((root_of(&path)?.folder.clone(), path))).collect();
        project.refresh(&changed);
    }
}

/// Has events sent for a root.
fn follow(watcher: &mut RecommendedWatcher, root: &Root) -> notify::Result<()> {
    // A file through its folder: editors replace files, and a watch of the old one would see nothing more.
    let mode = if root.file.is_some() { RecursiveMode::NonRecursive } else { RecursiveMode::Recursive };
    watcher.watch(&root.folder, mode)
}

/// Changed paths and the times of their last events. A path is looked at when it has had no event for [`QUIET`].
#[derive(Default)]
struct Unsettled {
    paths: BTreeMap<PathBuf, Instant>,
    /// Any file may have changed.
    everything: Option<Instant>,
}

impl Unsettled {
    /// Notes what an event may mean.
    fn note(&mut self, event: &Event, roots: &[Root]) {
        if matches!(event.kind, EventKind::Access(_)) {
            return;
        }
        let now = Instant::now();
        let mut everything = event.need_rescan();
        for path in &event.paths {
            let named = roots.iter().any(|root| root.file.as_ref() == Some(path));
            if is_ptx(path) || named {
                self.paths.insert(path.clone(), now);
            } else {
                // The effect of a change of a folder is found by looking.
                everything |= may_be_folder(path);
            }
        }
        if everything {
            self.everything = Some(now);
        }
    }

    /// How long until the next of them has been quiet for long enough, if nothing more happens.
    fn wait(&self) -> Duration {
        let first = self.paths.values().chain(&self.everything).min();
        first.map_or(LOOK, |first| QUIET.saturating_sub(first.elapsed()))
    }

    /// Takes out the files that have been quiet for long enough; `all` are those that there are.
    fn settled<P: Iterator<Item = PathBuf>>(&mut self, all: impl FnOnce() -> P) -> BTreeSet<PathBuf> {
        let is_quiet = |since: &Instant| since.elapsed() >= QUIET;
        let mut paths = BTreeSet::new();
        self.paths.retain(|path, since| {
            let quiet = is_quiet(since);
            if quiet {
                paths.insert(path.clone());
            }
            !quiet
        });
        if self.everything.take_if(|since| is_quiet(since)).is_some() {
            paths.extend(all());
        }
        paths
    }
}

/// True if a path is that of a folder, or was before it was removed. A temporary file of this program is
/// none, and no reason to look at everything.
fn may_be_folder(path: &Path) -> bool {
    let temporary = path.file_name().is_some_and(output::is_temporary);
    !temporary && (path.extension().is_none() || path.is_dir())
}

/// Looks whether roots went away or came back, and follows those that did: their files.
fn look(roots: &mut [Root], watcher: &mut RecommendedWatcher, project: &Project) -> BTreeSet<PathBuf> {
    let mut paths = BTreeSet::new();
    for root in roots {
        match root.look() {
            Fate::Same => continue,
            Fate::Gone => {
                print(&format!("{}: gone; it is looked for\n", root.shown));
            }
            Fate::New => {
                let _ = watcher.unwatch(&root.folder);
                match follow(watcher, root) {
                    Ok(()) => {
                        print(&format!("{}: there again\n", root.shown));
                    }
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
    use notify::event::{AccessKind, ModifyKind};

    #[test]
    fn files_settle_when_they_are_quiet() {
        let mut unsettled = Unsettled::default();
        let happens = |unsettled: &mut Unsettled, kind: EventKind, name: &str| {
            unsettled.note(&Event::new(kind).add_path(PathBuf::from(name)), &[]);
        };
        let settled = |unsettled: &mut Unsettled| {
            let paths = unsettled.settled(|| [PathBuf::from("all.ptx")].into_iter());
            paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(unsettled.wait(), LOOK);
        happens(&mut unsettled, EventKind::Access(AccessKind::Any), "read.ptx");
        assert_eq!(unsettled.wait(), LOOK);
        happens(&mut unsettled, EventKind::Modify(ModifyKind::Any), "a.ptx");
        assert!(unsettled.wait() <= QUIET);
        std::thread::sleep(QUIET);
        assert_eq!((unsettled.wait(), settled(&mut unsettled).as_str()), (Duration::ZERO, "a.ptx"));
        happens(&mut unsettled, EventKind::Modify(ModifyKind::Any), "b.ptx");
        happens(&mut unsettled, EventKind::Modify(ModifyKind::Any), "folder");
        std::thread::sleep(QUIET);
        assert_eq!(settled(&mut unsettled), "all.ptx b.ptx");
        assert_eq!((unsettled.wait(), settled(&mut unsettled).as_str()), (LOOK, ""));
    }

    #[test]
    fn what_is_written_aside_is_no_folder() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("a.d")).unwrap();
        let may_be = |name: &str| may_be_folder(&folder.path().join(name));
        assert!(may_be("gone") && may_be("a.d") && may_be(".oriole-notes"));
        assert!(!may_be(".oriole-a1B2c3") && !may_be("a.cubin"));
    }
}
