//! When a server is left alone: after each failure for twice the time, and where answers take long on average.
//!
//! Times come in as arguments, so that the rule can be tested without waiting.

use std::time::{Duration, Instant};

/// The first pause, and the longest.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);

/// Answers that take more than this part of the budget on average cost more than they save: with the usual budget, a function
/// of middle size compiles in as long.
const SLOW: u32 = 5;

/// Answers that an average is taken over.
const COUNT: u32 = 8;

/// Whether a server is asked.
#[derive(Debug, Default)]
pub(crate) struct Pause {
    until: Option<Instant>,
    /// The last pause; nothing after a right answer.
    last: Option<Duration>,
    /// Answers since the average was looked at, and the time that they took.
    answers: u32,
    time: Duration,
}

impl Pause {
    /// Whether to ask now.
    pub(crate) fn asks(&self, now: Instant) -> bool {
        self.until.is_none_or(|until| now >= until)
    }

    /// An answer came, after this time of a budget.
    pub(crate) fn answered(&mut self, now: Instant, took: Duration, budget: Duration) {
        self.answers += 1;
        self.time += took;
        if self.answers < COUNT {
            return;
        }
        let slow = self.time * SLOW > budget * self.answers;
        (self.answers, self.time) = (0, Duration::ZERO);
        if slow { self.failed(now) } else { self.last = None }
    }

    /// None came, or one that makes no sense.
    pub(crate) fn failed(&mut self, now: Instant) {
        // Requests that began together fail together, and count once.
        if !self.asks(now) {
            return;
        }
        let pause = self.last.map_or(FIRST, |last| (last * 2).min(LONGEST));
        self.last = Some(pause);
        self.until = Some(now + pause);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_and_end() {
        let start = Instant::now();
        let mut pause = Pause::default();
        let mut now = start;
        let mut pauses = Vec::new();
        for _ in 0..8 {
            pause.failed(now);
            pause.failed(now);
            let seconds = (1..=60).find(|&seconds| pause.asks(now + Duration::from_secs(seconds)));
            pauses.push(seconds.unwrap());
            now += Duration::from_secs(60);
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
        for _ in 0..COUNT {
            pause.answered(now, Duration::from_millis(1), Duration::from_millis(50));
        }
        pause.failed(now);
        assert!(pause.asks(now + Duration::from_secs(1)));
    }

    #[test]
    fn a_slow_server_is_left_alone() {
        let now = Instant::now();
        let mut pause = Pause::default();
        for answer in 0..COUNT {
            assert!(pause.asks(now), "{answer}");
            pause.answered(now, Duration::from_millis(30), Duration::from_millis(50));
        }
        assert!(!pause.asks(now));
    }
}
