//! The heat of a page from a launch: what the timing model says of each instruction, as `oriole profile` has it. No code is
//! compiled here, and no fault is looked for.

use crate::launch::{self, Launch};
use oriole_explore::Heat;
use oriole_timing::{Reason, Recording};
use std::path::Path;

/// Warp instructions that are replayed, at most; as in a profile.
const ROOM: u64 = 300_000;

/// The one launch of a file.
///
/// # Errors
/// The file cannot be read, is not a launch record, or holds several.
pub fn launch(path: &Path) -> Result<Launch, String> {
    let mut launches = launch::read(path).map_err(|error| error.to_string())?;
    match (launches.pop(), launches.len()) {
        (Some(launch), 0) => Ok(launch),
        (_, more) => Err(format!("a page is about one launch; {} has {}", path.display(), more + 1)),
    }
}

/// The times of the rows of the kernel of a launch.
///
/// # Errors
/// The cubin cannot be read or has no such kernel, or the launch fails.
pub fn heat(cubin: &[u8], launch: &Launch) -> Result<Vec<Heat>, String> {
    let of = |message: &dyn std::fmt::Display| format!("{}: {message}", launch.name);
    let cubin = oriole_cubin::read(cubin).map_err(|error| of(&error))?;
    if !cubin.kernels.iter().any(|kernel| kernel.name == launch.entry) {
        let known: Vec<&str> = cubin.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
        return Err(of(&format!("there is no kernel `{}`; there are {}", launch.entry, known.join(", "))));
    }
    let options = oriole_simulate::Options { check_hazards: false, ..Default::default() };
    // The others SMs do the same.
    let asked = oriole_timing::Options { room: ROOM, sms: 1, ..Default::default() };
    let recording = Recording::new(&cubin, &launch.for_simulator(options), &asked);
    let estimate = recording.map_err(|error| of(&error))?.estimate();
    Ok(estimate.lines.iter().map(row).collect())
}

fn row(line: &oriole_timing::Line) -> Heat {
    let mut waits: Vec<(u64, Reason)> =
        line.waited.iter().copied().zip(Reason::ALL).filter(|wait| wait.0 > 0).collect();
    waits.sort_by_key(|wait| std::cmp::Reverse(wait.0));
    let why: Vec<String> =
        waits.iter().map(|(cycles, reason)| format!("{} {cycles}", reason.name())).collect();
    Heat { issued: line.issued, waited: line.waited.iter().sum(), why: why.join(", ") }
}
