//! The listeners for the spans that queries, stages and phases open: times (`--time-passes`), a trace for a viewer (`--trace`), and
//! lines on standard error (`--log`). Without any of these there is no subscriber, and a span costs a look at one number.
//!
//! Times are CPU time of the thread, so that other work of the computer is not counted.

use crate::files::FileError;
use crate::files::output::Output;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::SetGlobalDefaultError;
use tracing::{Subscriber, subscriber};
use tracing_subscriber::filter::{ParseError, Targets, filter_fn};
use tracing_subscriber::fmt;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::{LookupSpan, Registry};

/// The variable with the filter, where `--log` is not given.
const VARIABLE: &str = "ORIOLE_LOG";

/// The listeners, until the command is done.
pub struct Tracing {
    recorder: Option<Arc<Recorder>>,
    output: Option<Output>,
    times: bool,
    start: Instant,
}

/// Why nothing can be recorded.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The filter of the log is none.
    #[error("--log: {0}")]
    Filter(#[from] ParseError),
    /// The trace cannot be written there.
    #[error(transparent)]
    File(#[from] FileError),
    /// Something in the process listens already.
    #[error(transparent)]
    Listener(#[from] SetGlobalDefaultError),
}

impl Tracing {
    /// Starts to record times, a trace and a log; `reads` is for the server, which may be asked what an edit made run.
    ///
    /// # Errors
    /// The filter is none, or the trace cannot be written there.
    pub fn start(
        times: bool,
        trace: Option<&Path>,
        log: Option<&str>,
        reads: bool,
    ) -> Result<Tracing, TraceError> {
        let variable = std::env::var(VARIABLE).ok();
        let filter = log.or(variable.as_deref()).filter(|filter| !filter.is_empty());
        let filter = filter.map(str::parse::<Targets>).transpose()?;
        let output = trace.map(|path| Output::new(path, Path::new(""))).transpose()?;
        let start = Instant::now();
        let recorder = (times || output.is_some()).then(|| Arc::new(Recorder::new(start, output.is_some())));
        if recorder.is_some() || filter.is_some() || reads {
            let lines = filter.map(|filter| {
                fmt::layer().with_writer(std::io::stderr).with_span_events(FmtSpan::CLOSE).with_filter(filter)
            });
            let spans =
                recorder.clone().map(|it| Listener(it).with_filter(filter_fn(|metadata| metadata.is_span())));
            let reads = reads.then(oriole_lsp::Reads::layer);
            let listener = Registry::default().with(spans).with(lines).with(reads);
            subscriber::set_global_default(listener)?;
        }
        Ok(Tracing { recorder, output, times, start })
    }

    /// Writes the trace and prints the times.
    ///
    /// # Errors
    /// The trace cannot be written.
    pub fn finish(&self) -> Result<(), FileError> {
        let Some(recorder) = &self.recorder else { return Ok(()) };
        if self.times {
            eprint!("{}", recorder.report(self.start.elapsed()));
        }
        match &self.output {
            Some(output) => output.write(recorder.events().as_bytes()),
            None => Ok(()),
        }
    }
}

/// The subject of a span, in the order of the report: queries, stages, phases by number.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Label {
    kind: &'static str,
    number: u64,
    name: String,
    unit: String,
}

impl Label {
    fn row(&self) -> (u8, u64, String) {
        let order = ["query", "stage", "phase"].iter().position(|kind| *kind == self.kind).unwrap_or(3);
        (order as u8, self.number, self.name.clone())
    }
}

impl Visit for Label {
    fn record_u64(&mut self, field: &Field, value: u64) {
        if field.name() == "number" {
            self.number = value;
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "name" => value.clone_into(&mut self.name),
            "unit" => value.clone_into(&mut self.unit),
            _ => {}
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}

/// Times by label, and finished spans.
struct Recorder {
    start: Instant,
    rows: Mutex<BTreeMap<(u8, u64, String), Duration>>,
    /// Finished spans in the format of trace viewers, if they are wanted.
    events: Option<Mutex<String>>,
    threads: AtomicU32,
}

/// The open spans of a thread.
#[derive(Default)]
struct Open {
    /// Outermost first: whose time counts, and since when it is open.
    stack: Vec<((u8, u64, String), Duration)>,
    /// Time of the thread until which all is counted.
    settled: Duration,
    /// Its number in the trace.
    thread: Option<u32>,
}

thread_local! {
    static OPEN: RefCell<Open> = RefCell::default();
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Recorder {
    fn new(start: Instant, traced: bool) -> Recorder {
        Recorder {
            start,
            rows: Mutex::default(),
            events: traced.then(Mutex::default),
            threads: AtomicU32::new(1),
        }
    }

    /// Counts the time since the last change to what the thread is in.
    fn settle(&self, open: &mut Open) {
        let now = cpu_time(Of::Thread);
        if let Some((row, _)) = open.stack.last() {
            let spent = now.saturating_sub(open.settled);
            let mut rows = locked(&self.rows);
            match rows.get_mut(row) {
                Some(sum) => *sum += spent,
                None => drop(rows.insert(row.clone(), spent)),
            }
        }
        open.settled = now;
    }

    fn enter(&self, label: &Label) {
        OPEN.with_borrow_mut(|open| {
            self.settle(open);
            open.stack.push((label.row(), self.start.elapsed()));
        });
    }

    fn exit(&self, label: &Label) {
        OPEN.with_borrow_mut(|open| {
            self.settle(open);
            let Some((_, since)) = open.stack.pop() else { return };
            let Some(events) = &self.events else { return };
            let thread = *open.thread.get_or_insert_with(|| self.threads.fetch_add(1, Ordering::Relaxed));
            let event = serde_json::json!({
                "name": label.name, "cat": label.kind, "ph": "X", "pid": 1, "tid": thread,
                "ts": since.as_secs_f64() * 1e6,
                "dur": self.start.elapsed().saturating_sub(since).as_secs_f64() * 1e6,
                "args": { "unit": label.unit },
            });
            let mut events = locked(events);
            let comma = if events.is_empty() { "" } else { ",\n" };
            let _ = write!(events, "{comma}{event}");
        });
    }

    /// The finished spans as a file.
    fn events(&self) -> String {
        let events = self.events.as_ref().map(|events| locked(events).clone()).unwrap_or_default();
        format!("{{\"traceEvents\":[\n{events}\n]}}\n")
    }

    /// The times: queries by themselves, stages by themselves, phases.
    fn report(&self, clock: Duration) -> String {
        let milliseconds = |spent: Duration| spent.as_secs_f64() * 1e3;
        let mut text = String::new();
        let rows = locked(&self.rows);
        for ((order, number, name), spent) in rows.iter() {
            let label = match order {
                0 => format!("query {name}"),
                1 => format!("stage {name}"),
                _ => format!("{number:>5} {name}"),
            };
            let _ = writeln!(text, "{:>10.3} ms  {label}", milliseconds(*spent));
        }
        let (noted, all) = (rows.values().sum::<Duration>(), cpu_time(Of::Process));
        for (spent, label) in [
            (all.saturating_sub(noted), "files, database and output"),
            (all, "all, CPU time of all threads"),
            (clock, "all, by the clock"),
        ] {
            let _ = writeln!(text, "{:>10.3} ms  {label}", milliseconds(spent));
        }
        text
    }
}

/// Whose time.
enum Of {
    Thread,
    Process,
}

#[cfg(unix)]
fn cpu_time(of: Of) -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    let time = clock_gettime(match of {
        Of::Thread => ClockId::ThreadCPUTime,
        Of::Process => ClockId::ProcessCPUTime,
    });
    Duration::new(time.tv_sec.try_into().unwrap_or_default(), time.tv_nsec.try_into().unwrap_or_default())
}

/// Wall-clock time, where the system does not report CPU time.
#[cfg(not(unix))]
fn cpu_time(_: Of) -> Duration {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

/// Notes the spans of queries, stages and phases.
struct Listener(Arc<Recorder>);

impl Listener {
    fn with_label<S>(context: &Context<'_, S>, id: &Id, then: impl FnOnce(&Label))
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        if let Some(span) = context.span(id)
            && let Some(label) = span.extensions().get::<Label>()
        {
            then(label);
        }
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Listener {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let kind = attributes.metadata().name();
        if let (Some(span), "query" | "stage" | "phase") = (context.span(id), kind) {
            let mut label = Label { kind, ..Label::default() };
            attributes.record(&mut label);
            span.extensions_mut().insert(label);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(label) = span.extensions_mut().get_mut::<Label>()
        {
            values.record(label);
        }
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        Listener::with_label(&context, id, |label| self.0.enter(label));
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        Listener::with_label(&context, id, |label| self.0.exit(label));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(kind: &'static str, name: &str) -> Label {
        Label { kind, name: name.to_owned(), ..Label::default() }
    }

    /// Time counts for the innermost span, and time that is slept through for none.
    #[test]
    fn times_are_cpu_time_of_the_innermost_span() {
        let recorder = Recorder::new(Instant::now(), true);
        let (outer, inner) = (label("query", "outer"), label("stage", "inner"));
        recorder.enter(&outer);
        std::thread::sleep(Duration::from_millis(50));
        recorder.enter(&inner);
        let start = cpu_time(Of::Thread);
        while cpu_time(Of::Thread) - start < Duration::from_millis(20) {
            std::hint::black_box(0);
        }
        recorder.exit(&inner);
        recorder.exit(&outer);
        let rows = locked(&recorder.rows).clone();
        assert!(rows[&outer.row()] < Duration::from_millis(15), "{rows:?}");
        assert!(rows[&inner.row()] >= Duration::from_millis(20), "{rows:?}");
        let trace: serde_json::Value = serde_json::from_str(&recorder.events()).expect("JSON");
        let names: Vec<_> =
            trace["traceEvents"].as_array().expect("a list").iter().map(|it| &it["name"]).collect();
        assert_eq!(names, ["inner", "outer"]);
        assert!(trace["traceEvents"][1]["dur"].as_f64().expect("a number") >= 50_000.0);
    }
}
