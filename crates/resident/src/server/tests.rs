//! Tests of server and client together: which requests are answered, which are refused, and when a server ends. Nothing is timed:
//! tests wait for the event that must happen.

use super::*;
use crate::{AskError, Patience, ask, figures, stop};
use std::io::{Read, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{JoinHandle, spawn};
use tempfile::TempDir;

const BOUNDS: Bounds = Bounds { idle: Duration::from_secs(600), memory: u64::MAX, in_flight: 2 };

/// The request says what to do: `wait` waits until the client is gone, `panic` panics, `leave` is declined, and anything else
/// is answered by itself twice.
struct Echo {
    begun: Mutex<Sender<()>>,
    cancelled: Mutex<Sender<()>>,
}

impl Work for Echo {
    fn answer(&self, request: &[u8], watch: &Watch) -> Option<Vec<u8>> {
        match request {
            b"leave" => None,
            b"panic" => panic!("as asked"),
            b"wait" => {
                let (gone, wait) = channel();
                watch.on_close(move || _ = gone.send(()));
                let _ = self.begun.lock().map(|begun| begun.send(()));
                let _ = wait.recv();
                let _ = self.cancelled.lock().map(|cancelled| cancelled.send(()));
                None
            }
            _ => Some([request, request].concat()),
        }
    }
}

struct Running {
    place: Place,
    begun: Receiver<()>,
    cancelled: Receiver<()>,
    thread: JoinHandle<Result<(), ServeError>>,
    _folder: TempDir,
}

fn place(folder: &TempDir) -> Place {
    Place::within(folder.path().join("own"), Identity::new("build", &7)).expect("a short path")
}

fn running(bounds: Bounds) -> Running {
    let folder = tempfile::tempdir().expect("a folder");
    let place = place(&folder);
    let ((begun_by, begun), (cancelled_by, cancelled)) = (channel(), channel());
    let work = Echo { begun: Mutex::new(begun_by), cancelled: Mutex::new(cancelled_by) };
    let served = place.clone();
    let thread = spawn(move || serve(&served, bounds, work));
    Running { place, begun, cancelled, thread, _folder: folder }
}

impl Running {
    fn ask(&self, request: &[u8]) -> Result<Vec<u8>, AskError> {
        // The server may not be there yet.
        loop {
            match ask(&self.place, request, Patience::default()) {
                Err(AskError::Absent) if !self.thread.is_finished() => std::thread::yield_now(),
                answer => return answer,
            }
        }
    }

    fn ended(self) {
        self.thread.join().expect("it does not panic").expect("it could begin");
        assert!(!self.place.socket().exists());
        assert!(self.place.is_free().expect("a folder"));
    }
}

#[test]
fn requests_are_answered_and_a_panic_is_one_of_a_request() {
    let server = running(BOUNDS);
    assert_eq!(server.ask(b"ab").expect("an answer"), b"abab");
    let long = vec![7; 3 << 20];
    assert!(server.ask(&long).expect("an answer").len() == 6 << 20);
    for request in [&b"leave"[..], b"panic"] {
        assert!(matches!(server.ask(request), Err(AskError::Declined)));
    }
    assert_eq!(server.ask(b"").expect("an answer"), b"");
    let told = figures(&server.place, Patience::default()).expect("figures");
    assert_eq!((told.answered, told.declined, told.refused, told.process), (3, 2, 0, std::process::id()));
    assert!(told.resident_bytes > 0);
    let mode = std::fs::metadata(server.place.socket()).expect("a socket").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    stop(&server.place, Patience::default()).expect("figures");
    server.ended();
}

#[test]
fn a_client_that_is_gone_cancels_its_request_alone() {
    let server = running(BOUNDS);
    server.ask(b"").expect("an answer");
    let framed = frame::frame(server.place.identity, Kind::Request, b"wait").expect("it is short");
    let connect = || {
        let mut stream = UnixStream::connect(server.place.socket()).expect("a server");
        stream.write_all(&framed).expect("it is taken");
        server.begun.recv().expect("it begins");
        stream
    };
    let (mut first, second) = (connect(), connect());
    // As many as may be in flight.
    assert!(matches!(server.ask(b"third"), Err(AskError::Busy)));
    drop(second);
    server.cancelled.recv().expect("it is told");
    assert!(server.cancelled.try_recv().is_err());
    // The other one gets its beats.
    let head = frame::head(&mut first, server.place.identity).expect("a head").expect("it is ours");
    assert_eq!(head.kind, Kind::Beat);
    stop(&server.place, Patience::default()).expect("figures");
    // A server that ends answers the requests that it began with, and no others.
    while server.place.socket().exists() {
        std::thread::yield_now();
    }
    assert!(!server.thread.is_finished());
    drop(first);
    server.cancelled.recv().expect("it is told");
    server.ended();
}

#[test]
fn an_idle_server_and_a_large_one_end() {
    running(Bounds { idle: Duration::from_millis(1), ..BOUNDS }).ended();
    let large = running(Bounds { memory: 1, ..BOUNDS });
    assert_eq!(large.ask(b"ab").expect("an answer"), b"abab");
    large.ended();
}

#[test]
fn there_is_one_server() {
    let server = running(BOUNDS);
    server.ask(b"").expect("an answer");
    let ((begun, _), (cancelled, _)) = (channel(), channel());
    let second = Echo { begun: Mutex::new(begun), cancelled: Mutex::new(cancelled) };
    let refused = serve(&server.place, BOUNDS, second).expect_err("there is one");
    assert!(matches!(refused, ServeError::Running));
    assert!(!server.place.is_free().expect("a folder"));
    // Of another program there may be one.
    let mut other = server.place.clone();
    other.identity = Identity::new("another", &7);
    assert!(matches!(ask(&other, b"ab", Patience::default()), Err(AskError::Broken(_))));
    assert_eq!(server.ask(b"ab").expect("an answer"), b"abab");
    stop(&server.place, Patience::default()).expect("figures");
    server.ended();
}

/// A socket that answers each client with these bytes, and then closes or waits for the client's end.
fn answering(folder: &TempDir, bytes: Vec<u8>, waits: bool) -> Place {
    let place = place(folder);
    place.make().expect("a folder");
    let listener = UnixListener::bind(place.socket()).expect("a socket");
    spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a client");
            let _ = stream.write_all(&bytes);
            if waits {
                let _ = stream.read_to_end(&mut Vec::new());
            }
        }
    });
    place
}

#[test]
fn what_is_no_answer_is_an_error_and_ends() {
    let own = Identity::new("build", &7);
    let short = Duration::from_millis(50);
    let patience = Patience { send: short, first: short, beat: short };
    let answer = frame::frame(own, Kind::Answer, b"text").expect("it is short");
    let beat = frame::frame(own, Kind::Beat, b"").expect("it is short");
    let case = |bytes: &[u8], waits: bool| {
        let folder = tempfile::tempdir().expect("a folder");
        ask(&answering(&folder, bytes.to_vec(), waits), b"", patience)
    };
    assert_eq!(case(&answer, true).expect("an answer"), b"text");
    assert_eq!(case(&[&beat[..], &beat, &answer].concat(), true).expect("an answer"), b"text");
    let stranger = |answer| matches!(answer, Err(AskError::Stranger));
    assert!(stranger(case(&[b'x'; 4096], true)));
    assert!(stranger(case(&frame::frame(own, Kind::Figures, b"").expect("it is short"), true)));
    assert!(stranger(case(&frame::frame(Identity::new("b", &7), Kind::Answer, b"").expect("short"), true)));
    for silent in [&b""[..], &answer[..9], &answer[..answer.len() - 1], &beat] {
        assert!(matches!(case(silent, true), Err(AskError::Silent)), "{silent:?}");
    }
    for broken in [&b""[..], &answer[..9], &answer[..answer.len() - 1], &beat] {
        assert!(matches!(case(broken, false), Err(AskError::Broken(_))), "{broken:?}");
    }
}

#[test]
fn a_socket_without_a_server_is_absent() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = place(&folder);
    assert!(matches!(ask(&place, b"", Patience::default()), Err(AskError::Absent)));
    place.make().expect("a folder");
    assert!(matches!(ask(&place, b"", Patience::default()), Err(AskError::Absent)));
    drop(UnixListener::bind(place.socket()).expect("a socket"));
    assert!(place.socket().exists());
    assert!(matches!(ask(&place, b"", Patience::default()), Err(AskError::Absent)));
    set_permissions(folder.path().join("own"), Permissions::from_mode(0o755)).expect("a mode");
    assert!(matches!(ask(&place, b"", Patience::default()), Err(AskError::Place(_))));
}

#[test]
fn a_server_that_ends_while_it_is_asked_is_absent() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = place(&folder);
    place.make().expect("a folder");
    let listener = bound(&place).expect("a socket");
    listener.set_nonblocking(false).expect("a socket that waits");
    let socket = place.socket().to_owned();
    let ending = spawn(move || {
        let client = listener.accept().expect("a client");
        remove_file(socket).expect("a socket");
        drop(client);
    });
    assert!(matches!(figures(&place, Patience::default()), Err(AskError::Absent)));
    ending.join().expect("it does not panic");
}
