//! The search: changes of a stage in ever smaller groups, stages until nothing changes any more.
//!
//! Groups are tried from the last to the first, because what is last depends on what is before it. Several are tried at
//! once, but what counts is the first of them that keeps the property, as if one had been tried after the other: the
//! result does not depend on the number of threads.

use crate::module::Module;
use crate::stages::{STAGES, Stage};
use crate::text::{Change, applied};
use rustc_hash::FxHashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The steps that the caller hears of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step<'a> {
    /// A stage begins in a round, with this number of changes to try.
    Stage(usize, &'a Stage, usize),
    /// A smaller text that keeps the property, after this number of candidates.
    Better(&'a str, usize),
    /// Candidates were tried, none of which keeps the property; the number of all so far.
    Tried(usize),
}

/// One reduction.
struct Search<'a> {
    best: String,
    /// Candidates known not to keep the property, by their hash.
    refused: FxHashSet<u64>,
    tried: usize,
    jobs: usize,
    keeps: &'a (dyn Fn(&str) -> bool + Sync),
    hear: &'a mut dyn FnMut(Step<'_>) -> bool,
    ended: bool,
}

/// The smallest text found from `text` on that keeps the property, which `text` itself has. `hear` hears of every step and
/// ends the search by giving false.
pub fn reduce(
    text: &str,
    jobs: usize,
    keeps: &(dyn Fn(&str) -> bool + Sync),
    hear: &mut dyn FnMut(Step<'_>) -> bool,
) -> String {
    let refused = FxHashSet::default();
    let mut search =
        Search { best: text.to_owned(), refused, tried: 0, jobs: jobs.max(1), keeps, hear, ended: false };
    for round in 1.. {
        let mut changed = false;
        for stage in STAGES {
            // A stage whose changes make others of its own possible is tried until it has none.
            while search.run(round, stage) {
                changed = true;
                if !stage.again {
                    break;
                }
            }
        }
        if !changed || search.ended {
            break;
        }
    }
    search.best
}

impl Search<'_> {
    /// Tries the changes of a stage. Whether the text is another one afterwards.
    fn run(&mut self, round: usize, stage: &Stage) -> bool {
        if self.ended {
            return false;
        }
        let base = self.best.clone();
        let changes = (stage.changes)(&Module::new(&base));
        if changes.is_empty() {
            return false;
        }
        self.hears(|hear| hear(Step::Stage(round, stage, changes.len())));
        let mut done = vec![false; changes.len()];
        let mut left: Vec<usize> = (0..changes.len()).collect();
        let mut size = left.len();
        while size > 0 && !left.is_empty() && !self.ended {
            self.groups(&base, &changes, &mut left, &mut done, size);
            size /= 2;
        }
        self.best != base
    }

    /// Tries the changes that are left in groups of a size, from the last to the first.
    fn groups(
        &mut self,
        base: &str,
        changes: &[Change],
        left: &mut Vec<usize>,
        done: &mut [bool],
        size: usize,
    ) {
        let mut end = left.len();
        while end > 0 && !self.ended {
            let starts: Vec<usize> = std::iter::successors(Some(end), |&end| Some(end.saturating_sub(size)))
                .take_while(|&end| end > 0)
                .take(self.jobs)
                .collect();
            let groups = starts.iter().map(|&end| end.saturating_sub(size)..end).collect::<Vec<_>>();
            let texts: Vec<String> = groups
                .iter()
                .map(|group| {
                    let taken = &left[group.clone()];
                    let with = |index: &usize| done[*index] || taken.binary_search(index).is_ok();
                    applied(base, (0..changes.len()).filter(with).map(|index| &changes[index]))
                })
                .collect();
            let kept = self.first(&texts);
            let (Some(first), false) = (kept, self.ended) else {
                end = groups.last().map_or(0, |group| group.start);
                continue;
            };
            for &index in &left[groups[first].clone()] {
                done[index] = true;
            }
            left.drain(groups[first].clone());
            end = groups[first].start;
            self.best.clone_from(&texts[first]);
            let (tried, best) = (self.tried, self.best.clone());
            self.hears(|hear| hear(Step::Better(&best, tried)));
        }
    }

    /// The first of some candidates that keeps the property. They are tried at the same time.
    fn first(&mut self, texts: &[String]) -> Option<usize> {
        let hashes: Vec<u64> = texts.iter().map(|text| hash(text)).collect();
        let open: Vec<usize> = (0..texts.len())
            .filter(|&index| texts[index] != self.best && !self.refused.contains(&hashes[index]))
            .collect();
        let first = AtomicUsize::new(usize::MAX);
        let attempt = |index: usize| {
            // Candidates after one that keeps the property do not count.
            if index < first.load(Ordering::Relaxed) && (self.keeps)(&texts[index]) {
                first.fetch_min(index, Ordering::Relaxed);
            }
        };
        match open.as_slice() {
            [] => return None,
            [index] => attempt(*index),
            several => std::thread::scope(|scope| {
                for &index in several {
                    scope.spawn(move || attempt(index));
                }
            }),
        }
        let first = Some(first.into_inner()).filter(|&first| first < texts.len());
        for &index in &open {
            if first.is_none_or(|first| index < first) {
                self.refused.insert(hashes[index]);
            }
        }
        self.tried += open.iter().filter(|&&index| first.is_none_or(|first| index <= first)).count();
        let tried = self.tried;
        if first.is_none() {
            self.hears(|hear| hear(Step::Tried(tried)));
        }
        first
    }

    fn hears(&mut self, say: impl FnOnce(&mut dyn FnMut(Step<'_>) -> bool) -> bool) {
        self.ended |= !say(self.hear);
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
