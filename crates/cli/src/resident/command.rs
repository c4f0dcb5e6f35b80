//! `oriole resident`, and the way from a compile to the resident compiler and back.

use super::work::Compiler;
use crate::arguments::{Action, Resident};
use crate::outcome::{Outcome, failed, misused, print};
use oriole::program::BUILD;
use oriole_diagnostics::Code;
use oriole_resident::{
    AskError, Bounds, Figures, Identity, Patience, Place, PlaceError, ServeError, detach, figures, serve,
    start, stop,
};
use serde_json::json;
use std::fmt::Display;
use std::time::{Duration, Instant};

/// Seconds without a request after which it ends.
const IDLE: &str = "ORIOLE_RESIDENT_IDLE";
/// MiB of memory beyond which it ends.
const MEMORY: &str = "ORIOLE_RESIDENT_MEMORY";

/// The variables of the client that a process gets which it starts: where the socket is, and when it ends.
const ENVIRONMENT: &[&str] = &["XDG_RUNTIME_DIR", "TMPDIR", IDLE, MEMORY];

/// The command line of such a process.
const DETACHED: &[&str] = &["resident", "detached"];
/// The command line that it becomes.
const SERVE: &[&str] = &["resident", "serve"];

/// How long a command waits for one to begin or to end.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between one look and the next.
const STEP: Duration = Duration::from_millis(5);

fn place() -> Result<Place, PlaceError> {
    Place::of_user(Identity::of_program(BUILD)?)
}

/// Asks the resident compiler. If there is none, one is started for the next time: this process has its answer sooner by
/// itself.
pub fn ask(request: &[u8]) -> Option<Vec<u8>> {
    let place = place().ok()?;
    match oriole_resident::ask(&place, request, Patience::default()) {
        Ok(answer) => Some(answer),
        Err(AskError::Absent) => {
            let _ = start(&place, DETACHED, ENVIRONMENT);
            None
        }
        Err(_) => None,
    }
}

/// Runs `oriole resident`.
pub fn resident(arguments: &Resident) -> Outcome {
    let place = match place() {
        Ok(place) => place,
        Err(error) => return impossible(error),
    };
    let json = arguments.json;
    match arguments.action {
        Action::Status => status(&place, json),
        Action::Start => begin(&place, json),
        Action::Stop => end(&place, json),
        Action::Serve => run(&place),
        Action::Detached => failed(detach(SERVE)),
    }
}

fn impossible(reason: impl Display) -> Outcome {
    eprintln!("error[{}]: {reason}", Code::NoResident);
    Outcome::Failed
}

fn status(place: &Place, json: bool) -> Outcome {
    match figures(place, Patience::default()) {
        Ok(figures) => shown(place, &figures, json),
        Err(AskError::Absent) => match none(place, json) {
            Outcome::Right => Outcome::Undecided,
            outcome => outcome,
        },
        Err(error) => impossible(error),
    }
}

/// Prints that none runs.
fn none(place: &Place, json: bool) -> Outcome {
    let socket = place.socket().display().to_string();
    print(&if json {
        format!("{}\n", json!({ "running": false, "socket": socket }))
    } else {
        format!("no resident compiler runs\nsocket {socket}\n")
    })
}

/// Prints what one says about itself.
fn shown(place: &Place, figures: &Figures, json: bool) -> Outcome {
    let Figures { process, seconds, answered, declined, refused, cancelled, in_flight, .. } = *figures;
    let Figures { resident_bytes, memory_limit, idle_limit, .. } = *figures;
    let socket = place.socket().display().to_string();
    if json {
        let document = json!({
            "running": true, "process": process, "seconds": seconds, "answered": answered,
            "declined": declined, "refused": refused, "cancelled": cancelled, "in_flight": in_flight,
            "resident_bytes": resident_bytes, "memory_limit": memory_limit, "idle_limit": idle_limit,
            "socket": socket,
        });
        return print(&format!("{document}\n"));
    }
    let mib = |bytes: u64| bytes >> 20;
    print(&format!(
        "a resident compiler runs: process {process}, for {seconds} s\n\
         requests: {answered} answered, {declined} declined, {refused} refused, {cancelled} cancelled, {in_flight} in flight\n\
         memory {} MiB; it ends beyond {} MiB, and after {idle_limit} s without a request\n\
         socket {socket}\n",
        mib(resident_bytes),
        mib(memory_limit)
    ))
}

fn begin(place: &Place, json: bool) -> Outcome {
    let since = Instant::now();
    loop {
        match figures(place, Patience::default()) {
            Ok(figures) => return shown(place, &figures, json),
            Err(AskError::Absent) if since.elapsed() < PATIENCE => {}
            Err(error) => return impossible(error),
        }
        if let Err(error) = start(place, DETACHED, ENVIRONMENT) {
            return impossible(error);
        }
        std::thread::sleep(STEP);
    }
}

fn end(place: &Place, json: bool) -> Outcome {
    let figures = match stop(place, Patience::default()) {
        Ok(figures) => figures,
        Err(AskError::Absent) => return none(place, json),
        Err(error) => return impossible(error),
    };
    let since = Instant::now();
    let is_free = loop {
        match place.is_free() {
            Ok(false) if since.elapsed() < PATIENCE => std::thread::sleep(STEP),
            Ok(is_free) => break is_free,
            Err(error) => return impossible(error),
        }
    };
    let process = figures.process;
    print(&if json {
        format!("{}\n", json!({ "running": !is_free, "process": process, "answered": figures.answered }))
    } else if is_free {
        format!("stopped process {process}\n")
    } else {
        format!("process {process} ends when it has answered what is in flight\n")
    })
}

/// Serves until it is idle, too large or stopped.
fn run(place: &Place) -> Outcome {
    let bounds = match bounds() {
        Ok(bounds) => bounds,
        Err(message) => return misused(message),
    };
    match serve(place, bounds, Compiler::new()) {
        Ok(()) => Outcome::Right,
        Err(ServeError::Running) => failed(ServeError::Running),
        Err(error) => impossible(error),
    }
}

fn bounds() -> Result<Bounds, String> {
    let number = |name: &str, default: u64| match std::env::var(name) {
        Ok(text) if !text.is_empty() => {
            text.parse::<u64>().map_err(|_| format!("{name}: `{text}` is no number"))
        }
        _ => Ok(default),
    };
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get());
    Ok(Bounds {
        idle: Duration::from_secs(number(IDLE, 600)?),
        memory: number(MEMORY, 1024)?.saturating_mul(1 << 20),
        in_flight: (4 * threads).max(16),
    })
}
