//! A compile of a text with ptxas's options, in memory: the common part of both libraries.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use oriole::ptxas::{Job, Outcome, Step, begin};
use oriole_ptxas::{Action, Input, Log, Opt, Request, Severity, Source, Threads};

use crate::Code;

/// The name of the text in messages.
const INPUT: &str = "application ptx input";
/// Interval between two calls of the callback.
const PAUSE: Duration = Duration::from_millis(1);

/// The callback during a compile: whether to cancel.
pub type Flow = Box<dyn FnMut() -> bool + Send>;

/// The text in bytes from C: it ends at the first zero byte, if there is one; invalid UTF-8 is replaced.
pub fn text_of(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// Compiles a text; messages are in the log.
pub fn compile(
    text: &str,
    words: &[String],
    log: &mut Log,
    flow: Option<&mut Flow>,
) -> Result<Vec<u8>, Code> {
    const FAILED: Code = Code::CompilationFailure;
    // The library opens no file.
    let mut line = oriole_ptxas::parse(words, log, &mut |_| None).ok_or(FAILED)?;
    if !line.inputs.is_empty() {
        for name in &line.inputs {
            log.say(Severity::Fatal, &format!("Input file '{name}' could not be opened"));
        }
        log.abort();
        return Err(FAILED);
    }
    line.inputs.push(INPUT.to_owned());
    log.quiet = line.has(Opt::NoWarnings);
    log.strict = line.has(Opt::WarningsAreErrors);
    let request = Request::new(&line, log).ok_or(FAILED)?;
    let Action::Compile(compilation) = &request.action else {
        log.say(Severity::Fatal, "The library has neither help nor version to print");
        return Err(FAILED);
    };
    if !request.refused.is_empty() {
        return Err(FAILED);
    }
    let input = Input { name: INPUT.to_owned(), text: text.to_owned() };
    let source = Source::join(vec![input], compilation.architecture, log).ok_or(FAILED)?;
    // A text for a virtual chip is only checked, and that leaves no program.
    let Step::Compile(job) = begin(compilation, source, log).ok_or(FAILED)? else { return Err(FAILED) };
    let threads = match compilation.threads {
        Threads::Unsaid => 1,
        Threads::All => std::thread::available_parallelism().map_or(1, |count| count.get()),
        Threads::Some(count) => count,
    };
    let start = Instant::now();
    let compiled = match flow {
        None => job.compile(threads),
        Some(flow) => asking(&job, threads, flow),
    };
    let compiled = compiled.map_err(|_| Code::Cancelled)?;
    let microseconds = start.elapsed().as_micros() as u64;
    let of_version = [oriole::Code::UnsupportedVersion, oriole::Code::NewerVersion];
    let too_new = compiled.diagnostics.iter().any(|found| of_version.contains(&found.code));
    match job.tell(compiled, microseconds, log) {
        Some(Outcome::Done(program)) => Ok(program.to_vec()),
        _ if too_new => Err(Code::UnsupportedPtxVersion),
        Some(Outcome::Unsupported) | None => Err(FAILED),
    }
}

/// Compiles, and polls for cancellation: once before it begins, then from a second thread.
fn asking(
    job: &Job<'_>,
    threads: usize,
    flow: &mut Flow,
) -> Result<oriole::ptxas::Compiled, oriole::Cancelled> {
    if flow() {
        return Err(oriole::Cancelled);
    }
    let (done, canceller) = (AtomicBool::new(false), job.canceller());
    std::thread::scope(|scope| {
        let asks = scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                if flow() {
                    canceller.cancel();
                    break;
                }
                std::thread::park_timeout(PAUSE);
            }
        });
        let compiled = job.compile(threads);
        done.store(true, Ordering::Release);
        asks.thread().unpark();
        // The end of the scope would wait as well, but not for the thread itself: tools that watch threads see no order then.
        match asks.join() {
            Ok(()) => compiled,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
