//! The threads that talk to a server: the caller waits for an answer no longer than its budget, whatever a thread does.
//!
//! Even the look-up of a name in the network may take long, so nothing of the network is done by the caller. Threads begin
//! with the first request, and nothing waits for them when the process ends.

use std::collections::VecDeque;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::pause::Pause;
use crate::server::{Failure, Server};

/// Most threads that look values up.
const READERS: usize = 4;

/// The longest that one value is sent.
const SENDING: Duration = Duration::from_secs(5);

/// Threads of one server.
pub(crate) struct Workers {
    shared: Arc<Shared>,
    budget: Duration,
    last: Duration,
    /// Most bytes that wait to be sent.
    waiting: usize,
}

struct Shared {
    server: Arc<dyn Server>,
    state: Mutex<State>,
    /// There is something to do.
    work: Condvar,
    /// A value was sent, or given up.
    sent: Condvar,
}

#[derive(Default)]
struct State {
    pause: Pause,
    gets: VecDeque<Get>,
    puts: VecDeque<(String, Vec<u8>)>,
    /// Bytes of `puts` and of the value that is being sent.
    bytes: usize,
    /// Values that are not sent yet.
    open: usize,
    readers: usize,
    idle: usize,
    writes: bool,
    /// The server takes nothing from us: nothing more is sent, and look-ups go on.
    refuses: bool,
    ends: bool,
}

struct Get {
    name: String,
    deadline: Instant,
    answer: SyncSender<Result<Option<Vec<u8>>, Failure>>,
}

impl Shared {
    fn locked(&self) -> MutexGuard<'_, State> {
        // Nothing under the lock can panic half-way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Workers {
    pub(crate) fn new(server: Arc<dyn Server>, budget: Duration, last: Duration, waiting: usize) -> Workers {
        let (state, work, sent) = (Mutex::default(), Condvar::new(), Condvar::new());
        Workers { shared: Arc::new(Shared { server, state, work, sent }), budget, last, waiting }
    }

    /// The value of a name, if the server has it and says so in time.
    pub(crate) fn get(&self, name: String) -> Option<Vec<u8>> {
        let start = Instant::now();
        let (answer, answered) = sync_channel(1);
        {
            let mut state = self.shared.locked();
            if !state.pause.asks(start) {
                return None;
            }
            state.gets.push_back(Get { name, deadline: start + self.budget, answer });
            if state.idle < state.gets.len() && state.readers < READERS {
                let shared = self.shared.clone();
                let began = std::thread::Builder::new().spawn(move || read(&shared));
                state.readers += usize::from(began.is_ok());
            }
            self.shared.work.notify_all();
        }
        let answer = answered.recv_timeout(self.budget);
        let now = Instant::now();
        let mut state = self.shared.locked();
        match answer {
            Ok(Ok(found)) => {
                state.pause.answered(now, now - start, self.budget);
                found
            }
            Ok(Err(_)) | Err(_) => {
                state.pause.failed(now);
                None
            }
        }
    }

    /// Sends a value in the background, unless too much waits already.
    pub(crate) fn put(&self, name: String, value: Vec<u8>) {
        let mut state = self.shared.locked();
        let fits = value.len() <= self.waiting.saturating_sub(state.bytes);
        if state.refuses || !fits || !state.pause.asks(Instant::now()) {
            return;
        }
        state.bytes += value.len();
        state.open += 1;
        state.puts.push_back((name, value));
        if !state.writes {
            let shared = self.shared.clone();
            state.writes = std::thread::Builder::new().spawn(move || write(&shared)).is_ok();
        }
        self.shared.work.notify_all();
    }

    /// Waits until all values are sent, but not long.
    pub(crate) fn finish(&self) {
        let state = self.shared.locked();
        let waits = |state: &mut State| state.open > 0 && state.writes;
        drop(self.shared.sent.wait_timeout_while(state, self.last, waits));
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.shared.locked().ends = true;
        self.shared.work.notify_all();
    }
}

/// Looks values up until the end.
fn read(shared: &Shared) {
    let mut connection = shared.server.connect();
    loop {
        let mut state = shared.locked();
        state.idle += 1;
        let waited = shared.work.wait_while(state, |state| state.gets.is_empty() && !state.ends);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        state.idle -= 1;
        let Some(get) = state.gets.pop_front() else { return };
        drop(state);
        if Instant::now() < get.deadline {
            // The one that asked may have gone on.
            let _ = get.answer.send(connection.get(&get.name, get.deadline));
        }
    }
}

/// Sends values until the end.
fn write(shared: &Shared) {
    let mut connection = shared.server.connect();
    loop {
        let waited = shared.work.wait_while(shared.locked(), |state| state.puts.is_empty() && !state.ends);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        let Some((name, value)) = state.puts.pop_front() else { return };
        drop(state);
        let sent = connection.put(&name, &value, Instant::now() + SENDING);
        let mut state = shared.locked();
        state.open -= 1;
        state.bytes -= value.len();
        if let Err(failure) = sent {
            match failure {
                Failure::Io => state.pause.failed(Instant::now()),
                Failure::Answer => state.refuses = true,
            }
            // The values that wait would fail as well.
            state.puts.clear();
            (state.open, state.bytes) = (0, 0);
        }
        shared.sent.notify_all();
    }
}
