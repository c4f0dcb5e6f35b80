//! A request in flight: its connection, and what to do when the client goes away.

use crate::frame::{Kind, frame};
use crate::{Identity, frame::HEAD};
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A connection with a request.
pub(crate) struct Flight {
    stream: UnixStream,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The whole request is there.
    is_begun: bool,
    /// The client went away.
    is_gone: bool,
    /// The answer is on its way, or there.
    is_answered: bool,
    on_close: Option<Arc<dyn Fn() + Send + Sync>>,
}

/// The client of a request, for the work: it may go away.
#[derive(Clone)]
pub struct Watch(pub(crate) Arc<Flight>);

impl Watch {
    /// Does this, on another thread, when the client goes away before it has its answer, and again until the work ends: work may
    /// miss a wish that comes between two of its steps. Only the last one counts.
    pub fn on_close(&self, act: impl Fn() + Send + Sync + 'static) {
        self.0.state().on_close = Some(Arc::new(act));
    }
}

impl Flight {
    pub(crate) fn new(stream: UnixStream) -> Flight {
        Flight { stream, state: Mutex::default() }
    }

    pub(crate) fn stream(&self) -> &UnixStream {
        &self.stream
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each change is one assignment.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The whole request is there, or none will come; false if the client is newly gone.
    pub(crate) fn begin(&self, is_whole: bool) -> bool {
        let mut state = self.state();
        state.is_begun = is_whole;
        is_whole || std::mem::replace(&mut state.is_gone, true)
    }

    /// Whether there is work for its answer.
    pub(crate) fn is_at_work(&self) -> bool {
        let state = self.state();
        state.is_begun && !state.is_answered
    }

    /// Whether the client is known to be gone.
    pub(crate) fn is_gone(&self) -> bool {
        self.state().is_gone
    }

    /// Whether the answer is on its way, or there.
    pub(crate) fn is_answered(&self) -> bool {
        self.state().is_answered
    }

    /// Sends the answer. False if the client is gone, or takes nothing.
    pub(crate) fn answer(&self, identity: Identity, kind: Kind, contents: &[u8]) -> bool {
        {
            let mut state = self.state();
            state.is_answered = true;
            state.on_close = None;
        }
        // From here on no beat comes between.
        let declined = || frame(identity, Kind::Declined, &[]);
        let bytes = frame(identity, kind, contents).or_else(declined).unwrap_or_default();
        (&self.stream).write_all(&bytes).is_ok()
    }

    /// Says to the client that the server is at work, or to the work that the client is gone. True if it is newly gone.
    pub(crate) fn beat(&self, identity: Identity) -> bool {
        let mut state = self.state();
        if state.is_answered {
            return false;
        }
        let was_gone = state.is_gone;
        if !was_gone && !self.is_closed() {
            // A client that does not read has a beat to come: nothing is lost. One head is sent as a whole or not at all.
            let beat = frame(identity, Kind::Beat, &[]).unwrap_or_default();
            debug_assert_eq!(beat.len(), HEAD);
            let _ = send(&self.stream, &beat, SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
            return false;
        }
        state.is_gone = true;
        let act = state.on_close.clone();
        drop(state);
        if let Some(act) = act {
            act();
        }
        !was_gone
    }

    fn is_closed(&self) -> bool {
        match recv(&self.stream, &mut [0u8; 1], RecvFlags::PEEK | RecvFlags::DONTWAIT) {
            Ok((read, _)) => read == 0,
            Err(error) => error != rustix::io::Errno::AGAIN && error != rustix::io::Errno::INTR,
        }
    }
}
