//! The side of the client: one request, one answer, and a bound on every wait.

use crate::frame::{self, Kind};
use crate::place::PROGRAM;
use crate::{Figures, Place, PlaceError};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use std::io::{self, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

/// How long a client waits.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Until the server takes more of the request.
    pub send: Duration,
    /// Until the first sign of the server.
    pub first: Duration,
    /// From one sign of the server to the next.
    pub beat: Duration,
}

impl Default for Patience {
    fn default() -> Patience {
        let seconds = Duration::from_secs;
        Patience { send: seconds(1), first: seconds(2), beat: seconds(10) }
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// No server runs.
    #[error("there is no resident compiler")]
    Absent,
    /// There can be none.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// Another program, or one of another user, answers.
    #[error("what answers at the socket is not this program of this user")]
    Stranger,
    /// The server has enough to do.
    #[error("the resident compiler has enough to do")]
    Busy,
    /// The server does not do this.
    #[error("the resident compiler declined")]
    Declined,
    /// The server says nothing for too long.
    #[error("the resident compiler does not answer")]
    Silent,
    /// The request is too long.
    #[error("the request is too long")]
    TooLong,
    /// The connection is broken.
    #[error("the resident compiler went away: {0}")]
    Broken(io::Error),
}

impl AskError {
    fn of(error: io::Error) -> AskError {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => AskError::Silent,
            _ => AskError::Broken(error),
        }
    }
}

/// Asks the server for its work on a request.
///
/// # Errors
/// There is no answer. Nothing was done then, and the client may do it.
pub fn ask(place: &Place, request: &[u8], patience: Patience) -> Result<Vec<u8>, AskError> {
    let framed = frame::frame(place.identity, Kind::Request, request).ok_or(AskError::TooLong)?;
    exchange(place, &framed, Kind::Answer, patience)
}

/// Asks the server for its figures.
///
/// # Errors
/// As [`ask`].
pub fn figures(place: &Place, patience: Patience) -> Result<Figures, AskError> {
    about(place, Kind::AskFigures, patience)
}

/// Asks the server to end when it has answered what is in flight; returns its last figures.
///
/// # Errors
/// As [`ask`].
pub fn stop(place: &Place, patience: Patience) -> Result<Figures, AskError> {
    about(place, Kind::Stop, patience)
}

fn about(place: &Place, kind: Kind, patience: Patience) -> Result<Figures, AskError> {
    let framed = frame::frame(place.identity, kind, &[]).ok_or(AskError::TooLong)?;
    let asked = || exchange(place, &framed, Kind::Figures, patience);
    let bytes = match asked() {
        // A server that ends closes the connections that it has not taken after its socket is gone: asked again, it is absent.
        Err(AskError::Broken(_)) => asked()?,
        answer => answer?,
    };
    postcard::from_bytes(&bytes).map_err(|_| AskError::Stranger)
}

impl Place {
    /// Whether no server runs or starts.
    ///
    /// # Errors
    /// The folder is not of the user alone, or the lock cannot be looked at.
    pub fn is_free(&self) -> Result<bool, PlaceError> {
        Ok(!self.check()? || self.lock()?.is_some())
    }
}

fn exchange(place: &Place, framed: &[u8], wanted: Kind, patience: Patience) -> Result<Vec<u8>, AskError> {
    let mut stream = connected(place)?;
    stream.set_write_timeout(Some(patience.send)).map_err(AskError::of)?;
    stream.set_read_timeout(Some(patience.first)).map_err(AskError::of)?;
    // A server that refuses may close before it has read all, so that its answer counts more than a failed write.
    let written = stream.write_all(framed);
    if let Err(error) = &written
        && error.kind() == ErrorKind::WouldBlock
    {
        return Err(AskError::Silent);
    }
    let mut is_first = true;
    loop {
        let head = match frame::head(&mut stream, place.identity) {
            Ok(head) => head.ok_or(AskError::Stranger)?,
            Err(error) => return Err(AskError::of(written.err().unwrap_or(error))),
        };
        match head.kind {
            Kind::Beat if head.length == 0 => {
                if is_first {
                    stream.set_read_timeout(Some(patience.beat)).map_err(AskError::of)?;
                    is_first = false;
                }
            }
            kind if kind == wanted => return frame::contents(&mut stream, head.length).map_err(AskError::of),
            Kind::Declined => return Err(AskError::Declined),
            Kind::Busy => return Err(AskError::Busy),
            _ => return Err(AskError::Stranger),
        }
    }
}

/// A connection to a server of this user, whose socket is in a folder of this user alone.
fn connected(place: &Place) -> Result<UnixStream, AskError> {
    if !place.check()? {
        return Err(AskError::Absent);
    }
    let broken = |error: Errno| AskError::Broken(error.into());
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).map_err(broken)?;
    let address = SocketAddrUnix::new(place.socket()).map_err(broken)?;
    match connect(&socket, &address) {
        Ok(()) => {}
        Err(Errno::NOENT | Errno::CONNREFUSED) => return Err(AskError::Absent),
        // Many clients wait already.
        Err(Errno::AGAIN) => return Err(AskError::Busy),
        Err(error) => return Err(broken(error)),
    }
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false).map_err(AskError::of)?;
    if !is_own(&stream) {
        return Err(AskError::Stranger);
    }
    Ok(stream)
}

/// Whether the other side is a process of this user.
pub(crate) fn is_own(stream: &UnixStream) -> bool {
    let peer = rustix::net::sockopt::socket_peercred(stream);
    peer.is_ok_and(|peer| peer.uid == rustix::process::geteuid())
}

/// Starts the server, unless one runs or starts; false then. `arguments` make the program one that serves as
/// [`crate::serve`] does, and `environment` names the variables that it gets.
///
/// The lock goes to the server as its standard input, so that of several clients that start one at once all but one see that
/// it is taken. The server is not waited for.
///
/// # Errors
/// The folder or the process cannot be made.
#[allow(clippy::zombie_processes, reason = "the server outlives its client")]
pub fn start(place: &Place, arguments: &[&str], environment: &[&str]) -> Result<bool, PlaceError> {
    place.make()?;
    let Some(lock) = place.lock()? else { return Ok(false) };
    let kept = environment.iter().filter_map(|&name| Some((name, std::env::var_os(name)?)));
    let mut command = Command::new(PROGRAM);
    command.arg0("oriole").args(arguments).env_clear().envs(kept).current_dir("/");
    command.stdin(Stdio::from(lock)).stdout(Stdio::null()).stderr(Stdio::null());
    let started = command.spawn();
    started.map(|_| true).map_err(|error| PlaceError::Io { path: PROGRAM.into(), error })
}
