//! A line on the terminal about a compile that takes long: how many functions are done, and which one takes
//! longest.
//!
//! It is here because only the program has a terminal. The compile knows nothing of it: another thread asks
//! for the progress. Without a terminal, or with too little text to wait for, there is no thread either.

use crate::colour;
use crate::names;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use oriole::program::Progress;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// A compile that takes less has no line.
const PATIENCE: Duration = Duration::from_secs(1);
/// Between one look and the next.
const STEP: Duration = Duration::from_millis(150);
/// Bytes of text below which no compile takes as long as that.
const SMALL: usize = 16 << 10;

/// Whether the progress of a compile of `bytes` of text is shown, if it takes long.
pub fn is_shown(bytes: usize) -> bool {
    bytes >= SMALL && colour::is_live()
}

/// Runs a compile of `bytes` of text; meanwhile the terminal shows its progress.
pub fn watched<T>(bytes: usize, compile: impl FnOnce(&Progress) -> T) -> T {
    let progress = Progress::default();
    if !is_shown(bytes) {
        return compile(&progress);
    }
    std::thread::scope(|scope| {
        // Dropped when the compile ends, however it does.
        let (running, ended) = channel::<()>();
        let progress = &progress;
        scope.spawn(move || {
            if ended.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let line = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            line.set_style(
                ProgressStyle::with_template("{wide_msg}").unwrap_or(ProgressStyle::default_spinner()),
            );
            let start = std::time::Instant::now();
            loop {
                line.set_message(told(progress, PATIENCE + start.elapsed()));
                if ended.recv_timeout(STEP) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
            }
            line.finish_and_clear();
        });
        let result = compile(progress);
        drop(running);
        result
    })
}

/// The line.
fn told(progress: &Progress, elapsed: Duration) -> String {
    let what = match (progress.counts(), progress.current()) {
        ((_, 0), _) => "reading".to_owned(),
        ((done, total), Some(name)) => {
            format!("{done} of {total} functions compiled, now {}", names::shown(&name))
        }
        ((_, total), None) => format!("{total} functions compiled, now the file"),
    };
    format!("{} s: {what}", elapsed.as_secs())
}
