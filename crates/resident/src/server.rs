//! The side of the server: threads that take requests, and one that looks after them: it reports to clients that the server is
//! at work, cancels the requests of clients that are gone, and ends the server when it is idle, too large, or asked to.

use crate::client::is_own;
use crate::flight::{Flight, Watch};
use crate::frame::{self, Kind};
use crate::place::PROGRAM;
use crate::{Figures, Identity, Place, PlaceError};
use rustix::event::epoll;
use std::fs::{Permissions, remove_file, rename, set_permissions};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// From one look at the requests in flight to the next.
const TICK: Duration = Duration::from_millis(100);

/// Without a request for so long there is no look until one comes.
const QUIET: Duration = Duration::from_secs(2);

/// A client that sends or takes nothing for so long is given up.
const GIVE_UP: Duration = Duration::from_secs(10);

/// Bytes of the stack of a thread, as that of a program's first thread.
const STACK: usize = 8 << 20;

/// Answers requests, on several threads at once.
pub trait Work: Send + Sync {
    /// The answer; none if the client is to do it itself. A panic is none.
    fn answer(&self, request: &[u8], watch: &Watch) -> Option<Vec<u8>>;
}

/// When a server ends, and how much it does at once.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Without a request for so long it ends.
    pub idle: Duration,
    /// With more bytes of resident memory it ends, once it has answered what is in flight.
    pub memory: u64,
    /// Requests in flight; others are refused.
    pub in_flight: usize,
}

/// Why a server cannot run.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Another one runs.
    #[error("a resident compiler runs already")]
    Running,
    /// There is no place for it.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The socket or a thread cannot be made.
    #[error("the socket cannot be made: {0}")]
    Io(#[from] io::Error),
}

/// Becomes the same program with other arguments, without the files that the client of the client left open: a lock or a
/// pipe of theirs would be held as long as the server runs. Returns only if that fails.
pub fn detach(arguments: &[&str]) -> io::Error {
    // The process of a client leads no group.
    let _ = rustix::process::setsid();
    close_fds::set_fds_cloexec(3, &[]);
    Command::new(PROGRAM).arg0("oriole").args(arguments).exec()
}

/// Serves until the server is idle, too large or asked to end. The caller ends the process then: threads still wait for
/// clients.
///
/// # Errors
/// It cannot begin.
pub fn serve(place: &Place, bounds: Bounds, work: impl Work + 'static) -> Result<(), ServeError> {
    rustix::process::umask(rustix::fs::Mode::from_bits_truncate(0o077));
    place.make()?;
    // Held until the end.
    let _lock =
        if place.is_locked_by(io::stdin()) { None } else { Some(place.lock()?.ok_or(ServeError::Running)?) };
    let server = Arc::new(Server {
        listener: bound(place)?,
        identity: place.identity,
        work,
        bounds,
        start: Instant::now(),
        flights: Mutex::default(),
        wake: Condvar::new(),
        is_asleep: AtomicBool::new(false),
        is_closing: AtomicBool::new(false),
        last: AtomicU64::new(0),
        waiting: AtomicUsize::new(1),
        threads: AtomicUsize::new(1),
        counts: Counts::default(),
    });
    thread(&server)?;
    server.look_after();
    // No client finds the socket any more; those that have found it are answered or refused.
    let _ = remove_file(place.socket());
    server.finish();
    Ok(())
}

/// Makes the socket, which the lock says is no one's.
fn bound(place: &Place) -> io::Result<UnixListener> {
    let unfinished = place.unfinished();
    for path in [&unfinished, place.socket()] {
        match remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    let listener = UnixListener::bind(&unfinished)?;
    listener.set_nonblocking(true)?;
    set_permissions(&unfinished, Permissions::from_mode(0o600))?;
    rename(&unfinished, place.socket())?;
    Ok(listener)
}

#[derive(Default)]
struct Counts {
    answered: AtomicU64,
    declined: AtomicU64,
    refused: AtomicU64,
    cancelled: AtomicU64,
}

struct Server<W> {
    listener: UnixListener,
    identity: Identity,
    work: W,
    bounds: Bounds,
    start: Instant,
    flights: Mutex<Vec<Arc<Flight>>>,
    /// Wakes the thread that looks after the others.
    wake: Condvar,
    is_asleep: AtomicBool,
    is_closing: AtomicBool,
    /// The end of the last request, in milliseconds since the start.
    last: AtomicU64,
    /// Threads that wait for a client.
    waiting: AtomicUsize,
    threads: AtomicUsize,
    counts: Counts,
}

/// Makes a thread that takes requests.
fn thread<W: Work + 'static>(server: &Arc<Server<W>>) -> io::Result<()> {
    let server = server.clone();
    let builder = std::thread::Builder::new().stack_size(STACK);
    builder.spawn(move || server.take()).map(drop)
}

impl<W: Work + 'static> Server<W> {
    /// Takes one client after the other.
    ///
    /// Of the threads that wait, the system wakes the one that waited first of all in its life: its memory is warm, and the others
    /// are for clients that come at once. In `accept` they would be woken in rotation.
    fn take(self: Arc<Self>) {
        let Ok(queue) = self.queue() else {
            // A server without threads would let its clients wait.
            return self.close();
        };
        let mut events = [const { MaybeUninit::<epoll::Event>::uninit() }; 1];
        loop {
            let _ = epoll::wait(&queue, events.as_mut_slice(), None);
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                // Another thread has taken it.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                Err(_) => {
                    // No files are left, for example.
                    std::thread::sleep(TICK);
                    continue;
                }
            };
            if self.waiting.fetch_sub(1, Ordering::Relaxed) == 1 {
                self.replace_this_thread();
            }
            self.one(stream);
            self.waiting.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The socket as this thread waits for it.
    fn queue(&self) -> rustix::io::Result<OwnedFd> {
        let queue = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let flags = epoll::EventFlags::IN | epoll::EventFlags::EXCLUSIVE;
        epoll::add(&queue, &self.listener, epoll::EventData::new_u64(0), flags)?;
        Ok(queue)
    }

    /// Makes another thread that waits, as this one was the last. There is one more than requests in flight, which refuses.
    fn replace_this_thread(self: &Arc<Self>) {
        if self.threads.fetch_add(1, Ordering::Relaxed) <= self.bounds.in_flight {
            self.waiting.fetch_add(1, Ordering::Relaxed);
            if thread(self).is_ok() {
                return;
            }
            self.waiting.fetch_sub(1, Ordering::Relaxed);
        }
        self.threads.fetch_sub(1, Ordering::Relaxed);
    }

    /// Answers one client.
    fn one(&self, stream: UnixStream) {
        if !is_own(&stream)
            || stream.set_read_timeout(Some(GIVE_UP)).is_err()
            || stream.set_write_timeout(Some(GIVE_UP)).is_err()
        {
            return;
        }
        // Another program, or none: it has nothing to expect.
        let Ok(Some(head)) = frame::head(&mut &stream, self.identity) else { return };
        match head.kind {
            Kind::Request => self.request(Arc::new(Flight::new(stream)), head.length),
            Kind::AskFigures | Kind::Stop => {
                let figures = postcard::to_stdvec(&self.figures()).unwrap_or_default();
                Flight::new(stream).answer(self.identity, Kind::Figures, &figures);
                // The process may end at once.
                if head.kind == Kind::Stop {
                    self.close();
                }
            }
            _ => {}
        }
    }

    fn request(&self, flight: Arc<Flight>, length: usize) {
        {
            let mut flights = self.flights();
            let in_flight = flights.iter().filter(|flight| !flight.is_answered()).count();
            if in_flight >= self.bounds.in_flight || self.is_closing.load(Ordering::SeqCst) {
                drop(flights);
                self.counts.refused.fetch_add(1, Ordering::Relaxed);
                flight.answer(self.identity, Kind::Busy, &[]);
                return;
            }
            flights.push(flight.clone());
        }
        self.wake_up();
        let request = frame::contents(&mut flight.stream(), length);
        if !flight.begin(request.is_ok()) {
            self.counts.cancelled.fetch_add(1, Ordering::Relaxed);
        }
        if let Ok(request) = request {
            let watch = Watch(flight.clone());
            let answer = catch_unwind(AssertUnwindSafe(|| self.work.answer(&request, &watch))).ok().flatten();
            let (kind, count) = match &answer {
                Some(_) => (Kind::Answer, &self.counts.answered),
                None => (Kind::Declined, &self.counts.declined),
            };
            // Before the client has it, so that figures that it asks for next know of it.
            if !flight.is_gone() {
                count.fetch_add(1, Ordering::Relaxed);
            }
            flight.answer(self.identity, kind, &answer.unwrap_or_default());
        }
        self.last.store(self.start.elapsed().as_millis() as u64, Ordering::Relaxed);
        self.flights().retain(|other| !Arc::ptr_eq(other, &flight));
    }

    fn flights(&self) -> MutexGuard<'_, Vec<Arc<Flight>>> {
        // It is pushed to and taken from, and is whole in between.
        self.flights.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake_up(&self) {
        if self.is_asleep.swap(false, Ordering::SeqCst) {
            self.wake.notify_all();
        }
    }

    /// Lets the server end.
    fn close(&self) {
        // With the lock: the thread that looks after the others waits for a change, or has not looked yet.
        let _flights = self.flights();
        self.is_closing.store(true, Ordering::SeqCst);
        self.wake.notify_all();
    }

    /// Looks after the requests in flight until the server is to end.
    fn look_after(&self) {
        loop {
            self.beat();
            let flights = self.flights();
            if self.is_closing.load(Ordering::SeqCst) {
                return;
            }
            let last = Duration::from_millis(self.last.load(Ordering::Relaxed));
            let idle = self.start.elapsed().saturating_sub(last);
            let is_busy = !flights.is_empty();
            let wait = if is_busy || idle < QUIET.min(self.bounds.idle) {
                TICK
            } else {
                self.bounds.idle.saturating_sub(idle)
            };
            if (!is_busy && wait.is_zero()) || self.is_too_large() {
                self.is_closing.store(true, Ordering::SeqCst);
                return;
            }
            self.is_asleep.store(wait > TICK, Ordering::SeqCst);
            drop(self.wake.wait_timeout(flights, wait).unwrap_or_else(PoisonError::into_inner));
            self.is_asleep.store(false, Ordering::SeqCst);
        }
    }

    /// Whether it holds too much memory. A server that has answered nothing is as small as it gets.
    fn is_too_large(&self) -> bool {
        let counts = [&self.counts.answered, &self.counts.declined, &self.counts.cancelled];
        counts.iter().any(|count| count.load(Ordering::Relaxed) > 0) && resident() > self.bounds.memory
    }

    /// Looks at each request in flight.
    fn beat(&self) {
        let flights: Vec<Arc<Flight>> = self.flights().clone();
        for flight in flights {
            if flight.beat(self.identity) {
                self.counts.cancelled.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Waits until nothing is in flight.
    fn finish(&self) {
        while !self.flights().is_empty() {
            self.beat();
            std::thread::sleep(TICK);
        }
    }

    fn figures(&self) -> Figures {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Figures {
            process: std::process::id(),
            seconds: self.start.elapsed().as_secs(),
            answered: read(&self.counts.answered),
            declined: read(&self.counts.declined),
            refused: read(&self.counts.refused),
            cancelled: read(&self.counts.cancelled),
            in_flight: self.flights().iter().filter(|flight| flight.is_at_work()).count() as u64,
            resident_bytes: resident(),
            memory_limit: self.bounds.memory,
            idle_limit: self.bounds.idle.as_secs(),
        }
    }
}

/// Bytes of resident memory of the process; 0 if the system does not say.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let size = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = size.and_then(|size| size.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}

#[cfg(test)]
mod tests;
