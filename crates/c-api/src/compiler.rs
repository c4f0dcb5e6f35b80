//! What stands behind a handle: a text, and what the last compile of it gave.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use oriole::ptxas::{Job, Outcome, Step, begin};
use oriole_ptxas::{Action, Form, Input, Log, Opt, Request, Severity, Source, Threads};

/// How messages name the text.
const INPUT: &str = "application ptx input";
/// How long the callback is left alone between two questions.
const PAUSE: Duration = Duration::from_millis(1);

/// What a function of the library says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub enum Code {
    /// Done.
    Success = 0,
    /// The handle is null.
    InvalidCompilerHandle = 1,
    /// A pointer is null that must not be, or a size is zero.
    InvalidInput = 2,
    /// The text or an option is wrong; the error log says what.
    CompilationFailure = 3,
    /// A mistake of the compiler.
    Internal = 4,
    /// Not given: the process ends if there is no memory.
    OutOfMemory = 5,
    /// Nothing has been compiled, or the compile failed.
    CompilerInvocationIncomplete = 6,
    /// The text's `.version` is newer than the compiler.
    UnsupportedPtxVersion = 7,
    /// Not given: device-side synchronization compiles.
    UnsupportedDevsideSync = 8,
    /// The callback said so.
    Cancelled = 9,
}

/// What the caller wants to be asked while a compile runs: whether to give up.
pub type Flow = Box<dyn FnMut() -> bool + Send>;

/// A text and what is known of it.
pub struct Compiler {
    text: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    program: Option<Vec<u8>>,
    errors: String,
    info: String,
    flow: Option<Flow>,
}

impl Compiler {
    /// A text to compile. It ends at the first zero byte, if there is one; bytes that are no UTF-8 are replaced.
    pub fn new(bytes: &[u8]) -> Compiler {
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        let text = String::from_utf8_lossy(&bytes[..end]).into_owned();
        Compiler { text, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A compile that panicked has left nothing half-written: results are put in place at its end.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets whom to ask whether to give up.
    pub fn set_flow(&self, flow: Flow) {
        self.state().flow = Some(flow);
    }

    /// Compiles the text with ptxas's options.
    pub fn compile(&self, words: &[&str]) -> Code {
        let mut state = self.state();
        let state = &mut *state;
        (state.program, state.errors, state.info) = (None, String::new(), String::new());
        let mut log = Log::new("ptxas", Form::Library);
        let ended = compile(&self.text, words, &mut log, state.flow.as_mut());
        if let Err(Code::Cancelled) = ended {
            // Half of what there is to say is worth nothing.
            return Code::Cancelled;
        }
        for entry in log.entries() {
            match entry.severity {
                Severity::Info | Severity::Warning => state.info.push_str(&entry.text),
                Severity::Error | Severity::Fatal => state.errors.push_str(&entry.text),
            }
        }
        match ended {
            Ok(program) => {
                state.program = Some(program);
                Code::Success
            }
            Err(code) => code,
        }
    }

    /// The program of the last compile, if it succeeded.
    pub fn with_program<T>(&self, take: impl FnOnce(&[u8]) -> T) -> Option<T> {
        self.state().program.as_deref().map(take)
    }

    /// What the last compile said of errors.
    pub fn with_errors<T>(&self, take: impl FnOnce(&str) -> T) -> T {
        take(&self.state().errors)
    }

    /// What else the last compile said.
    pub fn with_info<T>(&self, take: impl FnOnce(&str) -> T) -> T {
        take(&self.state().info)
    }
}

/// Compiles a text; what there is to say is in the log.
fn compile(text: &str, words: &[&str], log: &mut Log, flow: Option<&mut Flow>) -> Result<Vec<u8>, Code> {
    const FAILED: Code = Code::CompilationFailure;
    let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    // The library opens no file.
    let mut line = oriole_ptxas::parse(&words, log, &mut |_| None).ok_or(FAILED)?;
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
    let source = Source::join(vec![input], compilation.chip, log).ok_or(FAILED)?;
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
    let too_new = compiled.diagnostics.iter().any(|found| found.code == oriole::Code::UnsupportedVersion);
    match job.tell(compiled, microseconds, log) {
        Some(Outcome::Done(program)) => Ok(program.to_vec()),
        _ if too_new => Err(Code::UnsupportedPtxVersion),
        Some(Outcome::Unsupported) | None => Err(FAILED),
    }
}

/// Compiles, and asks meanwhile whether to give up: once before it begins, then from a second thread.
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
        compiled
    })
}
