//! The dependencies that running queries read, for a log that explains executions.
//!
//! salsa reports each read, and the revision of the last change of the dependency, in a `tracing` event. All
//! dependencies that a query reads before the first changed one are unchanged, so that this first one is the cause of
//! the execution. A subscriber with the layer [`Reads`] receives these events; it costs nothing until [`record_reads`]
//! turns it on.

use std::cell::RefCell;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::EnteredSpan;
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Filter, Layer};

use crate::ExecutionLog;
use crate::log::revision_number;
use crate::thread::{expect_query, is_unheard, unheard};

static WANTED: AtomicBool = AtomicBool::new(false);
static LAYER: AtomicBool = AtomicBool::new(false);

/// Whether reads are recorded; off at first. It applies to all databases of the process. False if there is no layer.
pub fn record_reads(wanted: bool) -> bool {
    if WANTED.swap(wanted, Ordering::Relaxed) != wanted {
        tracing::callsite::rebuild_interest_cache();
    }
    LAYER.load(Ordering::Relaxed)
}

thread_local! {
    /// The running queries of this thread, the innermost last.
    static READERS: RefCell<Vec<(Arc<ExecutionLog>, usize)>> = const { RefCell::new(Vec::new()) };
}

/// Attributes reads to a query's index in a log, until this is dropped.
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

/// The body of a query runs; ends when it is dropped.
pub struct Running {
    _span: EnteredSpan,
    _reads: Option<Reader>,
}

impl Running {
    pub(crate) fn new(span: EnteredSpan, log: Option<(&Arc<ExecutionLog>, usize)>) -> Running {
        Running { _span: span, _reads: log.map(|(log, number)| Reader::begin(log, number)) }
    }
}

/// Receives the reads of queries.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reads;

impl Reads {
    /// The layer, for the subscriber of the process. It receives the events of salsa and no others.
    pub fn layer<S>() -> impl Layer<S>
    where
        S: Subscriber + for<'a> tracing_subscriber::registry::LookupSpan<'a>,
    {
        LAYER.store(true, Ordering::Relaxed);
        Reads.with_filter(OfSalsa)
    }
}

/// Passes the events that [`Reads`] needs, while it is enabled.
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
        // Formatting a name may read as well.
        if is_unheard() {
            return;
        }
        let mut message = Message(String::new());
        unheard(|| event.record(&mut message));
        match event.metadata().target() {
            "salsa::function::execute" => {
                if let Some(name) = message.0.strip_suffix(": executing query") {
                    expect_query(name);
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

/// The dependency, and the revision of its last change, from
/// `report_tracked_read(input=text(Id(1)), durability=Low, changed_at=R2)`.
fn read(message: &str) -> Option<(&str, u64)> {
    let (name, rest) = message.strip_prefix("report_tracked_read(input=")?.split_once(", durability=")?;
    let (_, changed) = rest.split_once("changed_at=")?;
    Some((name, revision_number(changed)))
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
