//! `oriole view --serve`: the page over HTTP on this machine, which follows the file. A thread for each connection, one that
//! looks at the file; an answer has only the part that is looked at.
//!
//! Which requests are answered is `gate`'s; what the page is about, `subject`'s.

use super::gate::{Gate, LARGEST_HEAD, Refusal, Request, TOO_LARGE};
use super::subject::{Given, Opened, Shown, Subject};
use crate::files::input;
use crate::outcome::{Outcome, failed, misused, print};
use crate::render;
use oriole_explore::{FileView, ViewError, code_part, index, ori_part, served_page};
use oriole_ide::{Analysis, Cancellable, Change};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// The file is looked at this often.
const LOOK: Duration = Duration::from_millis(150);
/// A client may take this long for its request, and for each part of an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// A page without news gets a sign of life this often, and the program sees that a page has gone.
const PULSE: Duration = Duration::from_secs(5);
/// Connections at a time.
const CONNECTIONS: usize = 64;

/// The state that is served now.
struct State {
    opened: Opened,
    view: Arc<FileView>,
    /// Counts the states that could be shown.
    revision: u64,
    /// Why the file as it is now cannot be shown.
    error: Option<String>,
    /// Counts all changes.
    news: u64,
}

struct Server<'a> {
    subject: &'a Subject<'a>,
    gate: Gate,
    state: Mutex<State>,
    changed: Condvar,
    connections: AtomicUsize,
}

/// Serves until the program is interrupted.
pub fn serve(subject: &Subject<'_>) -> Outcome {
    let arguments = subject.arguments;
    if input::is_standard(&arguments.input) {
        return misused("--serve follows a file, and standard input is none");
    }
    let state = match first(subject) {
        Ok(state) => state,
        Err(outcome) => return outcome,
    };
    let port = arguments.port.unwrap_or(0);
    let listener = match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
        Ok(listener) => listener,
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            return failed(format!("port {port} is in use: name another one, or none with --serve alone"));
        }
        Err(error) => return failed(format!("port {port}: {error}")),
    };
    let port = match listener.local_addr() {
        Ok(address) => address.port(),
        Err(error) => return failed(format!("port {port}: {error}")),
    };
    let gate = Gate::new(port);
    let address = gate.address();
    eprintln!("serving {}; Ctrl-C ends", subject.name);
    if print(&format!("{address}\n")) != Outcome::Right {
        return Outcome::Failed;
    }
    if arguments.open
        && let Err(error) = open(&address)
    {
        eprintln!("warning: no browser could be started: {error}");
    }
    let server = Server {
        subject,
        gate,
        state: Mutex::new(state),
        changed: Condvar::new(),
        connections: AtomicUsize::new(0),
    };
    std::thread::scope(|scope| {
        scope.spawn(|| server.follow());
        loop {
            match listener.accept() {
                Ok((stream, _)) => drop(scope.spawn(|| server.connection(stream))),
                // Too many files are open, or a client went away: others may come.
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    })
}

/// The state at the start, which must be one that can be shown.
fn first(subject: &Subject<'_>) -> Result<State, Outcome> {
    let opened = Opened::new(subject.read().map_err(|trouble| trouble.report())?);
    let shown = subject.shown(&opened, &opened.host.analysis());
    let Shown { diagnostics, view } = shown.map_err(|_| failed("the compile was cancelled"))?;
    render::to_terminal(&subject.name, opened.text(), &diagnostics);
    let view = Arc::new(view.map_err(|trouble| trouble.report())?);
    Ok(State { opened, view, revision: 1, error: None, news: 0 })
}

/// Opens an address in the browser of the user.
fn open(address: &str) -> std::io::Result<()> {
    let program = match std::env::consts::OS {
        "macos" => "open",
        "windows" => "explorer",
        _ => "xdg-open",
    };
    let mut command = std::process::Command::new(program);
    let quiet = std::process::Stdio::null;
    command.arg(address).stdin(quiet()).stdout(quiet()).stderr(quiet());
    let mut child = command.spawn()?;
    std::thread::spawn(move || child.wait());
    Ok(())
}

impl State {
    /// Takes over another state of the file. The one that is shown stays if that one cannot be.
    fn change(&mut self, subject: &Subject<'_>, given: Result<Given, String>) {
        self.news += 1;
        let given = match given {
            Ok(given) => given,
            Err(error) => return self.error = Some(error),
        };
        let before = self.opened.given.clone();
        self.put(given);
        let shown = subject.shown(&self.opened, &self.opened.host.analysis());
        let Ok(Shown { diagnostics, view }) = shown else { return };
        match view {
            Ok(view) => {
                self.view = Arc::new(view);
                self.revision += 1;
                self.error = None;
            }
            Err(trouble) => {
                self.error = Some(subject.said(self.opened.text(), &diagnostics, trouble));
                self.put(before);
            }
        }
    }

    /// Opens other contents: of PTX only the results that depend on the change are computed anew.
    fn put(&mut self, given: Given) {
        match (&given, self.opened.file) {
            (Given::Text { text, .. }, Some(file)) => {
                self.opened.host.change(file, &[Change { range: None, text: text.clone() }]);
                self.opened.given = given;
            }
            _ => self.opened = Opened::new(given),
        }
    }
}

/// Time of change and length of a file.
fn facts(path: &Path) -> Option<(Option<SystemTime>, u64)> {
    let facts = path.metadata().ok()?;
    Some((facts.modified().ok(), facts.len()))
}

impl Server<'_> {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the file, and takes over what it holds.
    fn follow(&self) {
        let path = &self.subject.arguments.input;
        let mut known = Ok(self.state().opened.given.clone());
        let mut before = facts(path);
        let mut changed = true;
        loop {
            std::thread::sleep(LOOK);
            let now = facts(path);
            changed |= now != before;
            if now != before {
                // It is read when it is quiet, and not while it is written.
                before = now;
                continue;
            }
            if !std::mem::take(&mut changed) {
                continue;
            }
            let given = self.subject.read().map_err(|trouble| self.subject.said("", &[], trouble));
            if given == known {
                continue;
            }
            known.clone_from(&given);
            self.state().change(self.subject, given);
            self.changed.notify_all();
        }
    }

    fn connection(&self, mut stream: TcpStream) {
        let count = self.connections.fetch_add(1, Ordering::Relaxed);
        // A client that does not take its answer is let go.
        let _ = if count < CONNECTIONS {
            self.answer(&mut stream)
        } else {
            respond(&mut stream, "503 Service Unavailable", TEXT, "too many connections\n")
        };
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }

    fn answer(&self, stream: &mut TcpStream) -> std::io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let request = match head(stream)? {
            Some(head) => self.gate.admit(&head),
            None => Err(TOO_LARGE),
        };
        match request {
            Ok(request) => self.route(&request, stream),
            Err(Refusal { status, reason }) => respond(stream, status, TEXT, &format!("{reason}\n")),
        }
    }

    fn route(&self, request: &Request, stream: &mut TcpStream) -> std::io::Result<()> {
        match request.path.as_str() {
            "" => respond(stream, OK, "text/html; charset=utf-8", &served_page(&self.subject.name)),
            "file" => {
                let (revision, view) = {
                    let state = self.state();
                    (state.revision, state.view.clone())
                };
                let text = format!("{{\"revision\":{revision},\"file\":{}}}", index(&view));
                respond(stream, OK, JSON, &text)
            }
            "code" => self.part(request, stream, code_part),
            "ori" => self.part(request, stream, ori_part),
            "events" => self.events(stream),
            _ => respond(stream, "404 Not Found", TEXT, "there is no such part\n"),
        }
    }

    /// A part of a kernel in the state that the page shows.
    fn part(&self, request: &Request, stream: &mut TcpStream, of: Part) -> std::io::Result<()> {
        const GONE: &str = "409 Conflict";
        let (Some(number), Some(revision)) = (request.number("kernel"), request.number("revision")) else {
            return respond(stream, "400 Bad Request", TEXT, "kernel and revision are numbers\n");
        };
        let (analysis, view) = {
            let state = self.state();
            if state.revision != revision {
                drop(state);
                return respond(stream, GONE, TEXT, "the file has changed\n");
            }
            (state.opened.host.analysis(), state.view.clone())
        };
        let made = of(&view, &analysis, usize::try_from(number).unwrap_or(usize::MAX));
        // A change waits for this.
        drop(analysis);
        match made {
            Ok(Ok(text)) => respond(stream, OK, JSON, &text),
            Ok(Err(error @ ViewError::NoKernel(_))) => {
                respond(stream, "404 Not Found", TEXT, &format!("{error}\n"))
            }
            Ok(Err(error)) => respond(stream, "500 Internal Server Error", TEXT, &format!("{error}\n")),
            Err(_) => respond(stream, GONE, TEXT, "the file is changing\n"),
        }
    }

    /// Says the state at once, and then each change, until the page goes away.
    fn events(&self, stream: &mut TcpStream) -> std::io::Result<()> {
        stream.write_all(start(OK, "text/event-stream").as_bytes())?;
        stream.write_all(b"\r\n")?;
        let mut said = None;
        loop {
            let text = {
                let state = self.state();
                let quiet = |state: &mut State| said == Some(state.news);
                let waited = self.changed.wait_timeout_while(state, PULSE, quiet);
                let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
                if said == Some(state.news) {
                    ":\n\n".to_owned()
                } else {
                    said = Some(state.news);
                    let data = serde_json::json!({ "revision": state.revision, "error": state.error });
                    format!("event: state\ndata: {data}\n\n")
                }
            };
            stream.write_all(text.as_bytes())?;
            stream.flush()?;
        }
    }
}

/// How a part of a kernel is made.
type Part = fn(&FileView, &Analysis, usize) -> Cancellable<Result<String, ViewError>>;

const OK: &str = "200 OK";
const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";

/// The head of a request with its empty line; nothing if it is too large. A request that does not end in time, or ends before it
/// is whole, is cut off where it is.
fn head(stream: &mut TcpStream) -> std::io::Result<Option<Vec<u8>>> {
    let begun = Instant::now();
    let mut head = Vec::new();
    let mut some = [0; 1024];
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() > LARGEST_HEAD {
            return Ok(None);
        }
        if begun.elapsed() > PATIENCE {
            break;
        }
        match stream.read(&mut some) {
            Ok(0) => break,
            Ok(count) => {
                head.extend_from_slice(&some[..count]);
                // Bytes after the head are a body, which no request here has.
                if let Some(end) = memchr::memmem::find(&head, b"\r\n\r\n") {
                    head.truncate(end + 4);
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => break,
            Err(error) => return Err(error),
        }
    }
    Ok(Some(head))
}

/// The lines that begin each answer.
fn start(status: &str, kind: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\
         Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\nX-Frame-Options: DENY\r\nConnection: close\r\n"
    )
}

fn respond(stream: &mut TcpStream, status: &str, kind: &str, body: &str) -> std::io::Result<()> {
    let head = format!("{}Content-Length: {}\r\n\r\n", start(status, kind), body.len());
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    stream.flush()?;
    // The rest of the request is read: else the system would drop the answer with the connection.
    stream.shutdown(std::net::Shutdown::Write)?;
    let mut rest = [0; 1024];
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(500) && stream.read(&mut rest).is_ok_and(|count| count > 0)
    {
    }
    Ok(())
}
