//! `oriole reduce`: the smallest PTX for which a command still succeeds.
//!
//! The search is in its own crate and knows texts only. Here are the command, the files of candidates, the time that it may
//! take, the signal that ends it, and the line on the terminal.

mod command;

use crate::arguments::Reduce;
use crate::colour;
use crate::files::input;
use crate::files::output::Output;
use crate::outcome::{Outcome, failed, misused, print};
use crate::session;
use command::{Answer, Command};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use oriole::program::Opened;
use oriole_diagnostics::{Code, Diagnostic};
use oriole_options::Options;
use oriole_reduce::Step;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Which candidates the command is not asked about.
#[derive(Clone, Copy)]
struct Filter {
    /// Those with errors.
    errors: bool,
    /// Those that read a register that nothing writes.
    undefined: bool,
}

impl Filter {
    /// The filter that the arguments ask for, as far as the input passes it.
    fn new(arguments: &Reduce, text: &str) -> Result<Filter, String> {
        let all = Filter { errors: true, undefined: true };
        let (errors, undefined) = all.found(text);
        if arguments.defined && undefined {
            return Err("--defined: the file itself reads a register that nothing writes".to_owned());
        }
        Ok(Filter { errors: !arguments.invalid && !errors, undefined: arguments.defined })
    }

    /// Whether a text has what this looks for: errors, and reads of undefined registers.
    fn found(self, text: &str) -> (bool, bool) {
        if !self.errors && !self.undefined {
            return (false, false);
        }
        let diagnostics = Opened::looking(text, None, &Options::default()).diagnostics();
        let undefined = |found: &Diagnostic| found.code == Code::Uninitialized;
        (
            self.errors && diagnostics.iter().any(Diagnostic::is_error),
            self.undefined && diagnostics.iter().any(undefined),
        )
    }

    fn passes(self, text: &str) -> bool {
        self.found(text) == (false, false)
    }
}

/// Runs the command.
pub fn reduce(arguments: &Reduce) -> Outcome {
    if arguments.json && arguments.output.as_deref() == Some(Path::new("-")) {
        return misused("--json and the result both go to standard output; name a file with -o");
    }
    let read = || {
        let text = input::text(&arguments.input)?;
        let path = output_path(arguments);
        let path = path.ok_or(crate::files::FileError::NoName)?;
        Ok::<_, crate::files::FileError>((text, Output::new(&path, &arguments.input)?, path))
    };
    let (text, output, path) = match read() {
        Ok(read) => read,
        Err(message) => return failed(message),
    };
    let filter = match Filter::new(arguments, &text) {
        Ok(filter) => filter,
        Err(message) => return failed(message),
    };
    let stopped = match stop_on_signals() {
        Ok(stopped) => stopped,
        Err(error) => return failed(format!("signals: {error}")),
    };
    let patience = Duration::from_secs(arguments.timeout.max(1));
    let command = match Command::new(&arguments.keep, &arguments.input, patience, stopped.clone()) {
        Ok(command) => command,
        Err(error) => return failed(format!("temporary folder: {error}")),
    };
    match command.ask_first(&text) {
        Ok((Answer::Kept, _)) => {}
        Ok((answer, said)) => {
            eprint!("{said}");
            let why = format!("the file itself is not interesting: {answer} for it");
            return failed(format!("{}: {why}", input::shown(&arguments.input)));
        }
        Err(error) => return failed(format!("--keep: {error}")),
    }
    search(arguments, &Task { text, output, path, filter, command, stopped })
}

/// All that a search needs.
struct Task {
    text: String,
    output: Output,
    path: PathBuf,
    filter: Filter,
    command: Command,
    stopped: Arc<AtomicBool>,
}

fn search(arguments: &Reduce, task: &Task) -> Outcome {
    let to_stdout = task.path == Path::new("-");
    let start = Instant::now();
    let line = Line::new(task.text.len(), start);
    let (mut tried, mut lost) = (0, None);
    let keeps = |text: &str| {
        !task.stopped.load(Ordering::Relaxed)
            && task.filter.passes(text)
            && task.command.ask(text) == Answer::Kept
    };
    let mut hear = |step: Step<'_>| {
        line.show(step);
        match step {
            Step::Better(text, count) => {
                tried = count;
                lost = if to_stdout { None } else { task.output.write(text.as_bytes()).err() };
            }
            Step::Tried(count) => tried = count,
            Step::Stage(..) => {}
        }
        lost.is_none() && !task.stopped.load(Ordering::Relaxed)
    };
    let best = oriole_reduce::reduce(&task.text, session::threads(arguments.jobs), &keeps, &mut hear);
    line.end();
    if let Some(error) = lost {
        return failed(error);
    }
    if let Err(error) = task.output.write(best.as_bytes()) {
        return failed(error);
    }
    let complete = !task.stopped.load(Ordering::Relaxed);
    let seconds = start.elapsed().as_secs_f64();
    let (before, after) = (task.text.len(), best.len());
    if arguments.json {
        let document = serde_json::json!({
            "input": input::shown(&arguments.input), "output": task.path, "bytes_before": before,
            "bytes_after": after, "candidates": tried, "seconds": seconds, "complete": complete,
        });
        print(&format!("{document}\n"));
    } else {
        let share = 100.0 * after as f64 / before.max(1) as f64;
        eprintln!(
            "{}: {after} of {before} bytes ({share:.2} %), {tried} candidates, {seconds:.1} s",
            task.path.display()
        );
    }
    if complete { Outcome::Right } else { failed("ended before nothing more could be removed") }
}

/// Where the result goes.
fn output_path(arguments: &Reduce) -> Option<PathBuf> {
    let beside = || {
        let named = arguments.input.as_os_str() != "-";
        named.then(|| arguments.input.with_extension("reduced.ptx"))
    };
    arguments.output.clone().or_else(beside)
}

/// A flag that is set when the user or the system ends the program; a second time the program ends at once.
#[cfg(unix)]
fn stop_on_signals() -> std::io::Result<Arc<AtomicBool>> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::flag;
    /// The status in shells of a program that a signal ended, less the signal.
    const BY_SIGNAL: i32 = 128;
    let stopped = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register_conditional_shutdown(signal, BY_SIGNAL + signal, stopped.clone())?;
        flag::register(signal, stopped.clone())?;
    }
    Ok(stopped)
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere it may fail")]
fn stop_on_signals() -> std::io::Result<Arc<AtomicBool>> {
    Ok(Arc::new(AtomicBool::new(false)))
}

/// The line on a terminal.
struct Line {
    bar: Option<ProgressBar>,
    before: usize,
    start: Instant,
    now: std::cell::RefCell<(String, usize, usize)>,
}

impl Line {
    fn new(before: usize, start: Instant) -> Line {
        let bar = colour::is_live().then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{wide_msg}");
            bar.set_style(style.unwrap_or(ProgressStyle::default_spinner()));
            bar
        });
        Line { bar, before, start, now: (String::new(), before, 0).into() }
    }

    fn show(&self, step: Step<'_>) {
        let Some(bar) = &self.bar else { return };
        let mut now = self.now.borrow_mut();
        match step {
            Step::Stage(round, stage, changes) => {
                now.0 = format!("round {round}, {} ({changes})", stage.name);
            }
            Step::Better(text, tried) => (now.1, now.2) = (text.len(), tried),
            Step::Tried(tried) => now.2 = tried,
        }
        let (stage, bytes, tried) = &*now;
        let share = 100.0 * *bytes as f64 / self.before.max(1) as f64;
        let seconds = self.start.elapsed().as_secs();
        bar.set_message(format!("{seconds} s: {bytes} bytes ({share:.1} %), {tried} candidates; {stage}"));
    }

    fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
