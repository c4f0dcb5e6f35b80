//! What running queries read, for a log that says why a query ran again.
//!
//! salsa tells of each read, and of the revision in which what was read last changed, in an event of `tracing`. All that a
//! query reads before the first thing that an edit changed is as it was, so that this first thing is what made it run
//! again. A subscriber with the layer [`Reads`] hears these events; it costs nothing until [`record_reads`] turns it on.

use std::cell::{Cell, RefCell};
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Filter, Layer};

use crate::ExecutionLog;

static WANTED: AtomicBool = AtomicBool::new(false);
static LAYER: AtomicBool = AtomicBool::new(false);

/// Whether reads are to be heard; off at first. It concerns all databases of the process. False if there is no layer to
/// hear them.
pub fn record_reads(wanted: bool) -> bool {
    if WANTED.swap(wanted, Ordering::Relaxed) != wanted {
        tracing::callsite::rebuild_interest_cache();
    }
    LAYER.load(Ordering::Relaxed)
}

thread_local! {
    /// The database's name of the query that is about to run in this thread.
    static EXECUTING: RefCell<Option<String>> = const { RefCell::new(None) };
    /// The queries that run in this thread, the innermost last.
    static READERS: RefCell<Vec<(Arc<ExecutionLog>, usize)>> = const { RefCell::new(Vec::new()) };
    /// What this thread reads is not to be heard.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// The database's name of the query that is about to run in this thread.
pub(crate) fn executing() -> Option<String> {
    EXECUTING.take()
}

/// Does something whose reads are not those of the query that runs.
pub(crate) fn unheard<T>(act: impl FnOnce() -> T) -> T {
    let before = INSIDE.replace(true);
    let result = act();
    INSIDE.set(before);
    result
}

/// A query reads on behalf of its number in a log, until this is dropped.
pub(crate) struct Reader(());

impl Reader {
    pub fn begin(log: &Arc<ExecutionLog>, number: usize) -> Reader {
        READERS.with_borrow_mut(|readers| readers.push((log.clone(), number)));
        Reader(())
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        READERS.with_borrow_mut(Vec::pop);
    }
}

/// Hears what queries read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reads;

impl Reads {
    /// The layer, for the subscriber of the process. It hears the events of salsa and nothing else.
    pub fn layer<S>() -> impl Layer<S>
    where
        S: Subscriber + for<'a> tracing_subscriber::registry::LookupSpan<'a>,
    {
        LAYER.store(true, Ordering::Relaxed);
        Reads.with_filter(OfSalsa)
    }
}

/// Lets through what [`Reads`] needs, while it is wanted.
struct OfSalsa;

impl<S> Filter<S> for OfSalsa {
    fn enabled(&self, metadata: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        WANTED.load(Ordering::Relaxed)
            && !metadata.is_span()
            && matches!(metadata.target(), "salsa::zalsa_local" | "salsa::function::execute")
    }

    fn callsite_enabled(&self, metadata: &'static Metadata<'static>) -> Interest {
        let salsa = !metadata.is_span() && metadata.target().starts_with("salsa::");
        if salsa { Interest::sometimes() } else { Interest::never() }
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(if WANTED.load(Ordering::Relaxed) { LevelFilter::DEBUG } else { LevelFilter::OFF })
    }
}

impl<S: Subscriber> Layer<S> for Reads {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        // Putting a name into words may read as well.
        if INSIDE.get() {
            return;
        }
        let mut message = Message(String::new());
        unheard(|| event.record(&mut message));
        match event.metadata().target() {
            "salsa::function::execute" => {
                if let Some(name) = message.0.strip_suffix(": executing query") {
                    EXECUTING.set(Some(name.to_owned()));
                }
            }
            _ => {
                let Some((name, changed)) = read(&message.0) else { return };
                READERS.with_borrow(|readers| {
                    if let Some((log, number)) = readers.last() {
                        log.read(*number, name, changed);
                    }
                });
            }
        }
    }
}

struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}

/// What was read, and the revision of its last change, of `report_tracked_read(input=text(Id(1)), durability=Low,
/// changed_at=R2)`.
fn read(message: &str) -> Option<(&str, u64)> {
    let (name, rest) = message.strip_prefix("report_tracked_read(input=")?.split_once(", durability=")?;
    let (_, changed) = rest.split_once("changed_at=")?;
    Some((name, number(changed)))
}

/// The number of a revision, of `R2`.
pub(crate) fn number(revision: &str) -> u64 {
    revision.chars().filter(char::is_ascii_digit).fold(0, |number, digit| {
        number.saturating_mul(10).saturating_add(u64::from(digit.to_digit(10).unwrap_or_default()))
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_read_is_told_by_name_and_revision() {
        let message = "report_tracked_read(input=text(Id(1c0a)), durability=Durability::LOW, changed_at=R12)";
        assert_eq!(super::read(message), Some(("text(Id(1c0a))", 12)));
        assert_eq!(super::read("something else"), None);
    }
}
