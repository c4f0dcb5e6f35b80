//! Where the time of a compile goes: for each query, stage and phase the time spent in it and not in what it calls.
//!
//! It is here because queries, stages and phases nest in each other, and only what all of them report to can tell the
//! parts from the whole. No result of a query may depend on it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

/// What a row of the report is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Part {
    /// A query of the graph.
    Query,
    /// A stage of the back end.
    Stage,
    /// A phase, by number.
    Phase(u16),
}

/// Times by part and name.
#[derive(Default, Debug)]
pub struct Times {
    state: Mutex<State>,
}

#[derive(Default, Debug)]
struct State {
    rows: BTreeMap<(Part, &'static str), Duration>,
    /// What each thread is in.
    open: HashMap<ThreadId, Open>,
}

/// What a thread is in.
#[derive(Default, Debug)]
struct Open {
    /// Outermost first.
    stack: Vec<(Part, &'static str)>,
    /// The moment since when the innermost one's time counts.
    since: Option<Instant>,
}

impl State {
    /// Counts the time since the last change to what the thread is in.
    fn settle(&mut self, thread: ThreadId) -> &mut Vec<(Part, &'static str)> {
        let now = Instant::now();
        let open = self.open.entry(thread).or_default();
        if let (Some(&top), Some(since)) = (open.stack.last(), open.since) {
            *self.rows.entry(top).or_default() += now - since;
        }
        open.since = Some(now);
        &mut open.stack
    }
}

impl Times {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread is in this part until [`Times::leave`].
    pub fn enter(&self, part: Part, name: &'static str) {
        self.state().settle(std::thread::current().id()).push((part, name));
    }

    /// The thread leaves the part that it entered last.
    pub fn leave(&self) {
        self.state().settle(std::thread::current().id()).pop();
    }

    /// Parts and names with their times, summed over threads and calls.
    pub fn rows(&self) -> Vec<(Part, &'static str, Duration)> {
        self.state().rows.iter().map(|(&(part, name), &spent)| (part, name, spent)).collect()
    }
}

/// A part of the work that is going on; dropping it says that it is over.
#[must_use = "the time counts until this is dropped"]
pub struct Running<'a>(Option<&'a Times>);

impl<'a> Running<'a> {
    /// Notes the beginning, if somebody wants to know.
    pub fn new(times: Option<&'a Times>, part: Part, name: &'static str) -> Running<'a> {
        if let Some(times) = times {
            times.enter(part, name);
        }
        Running(times)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if let Some(times) = self.0 {
            times.leave();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_counts_for_the_innermost_part() {
        let times = Times::default();
        let wait = || std::thread::sleep(Duration::from_millis(20));
        {
            let _outer = Running::new(Some(&times), Part::Query, "outer");
            let _inner = Running::new(Some(&times), Part::Stage, "inner");
            wait();
        }
        let rows = times.rows();
        assert_eq!(rows.iter().map(|row| row.1).collect::<Vec<_>>(), ["outer", "inner"]);
        assert!(rows[0].2 < Duration::from_millis(10), "{rows:?}");
        assert!(rows[1].2 >= Duration::from_millis(20), "{rows:?}");
    }
}
