//! Waiting times of changes for running work, for a report.

use std::time::Duration;

use serde_json::{Value, json};

/// Number of waits that are kept.
const KEPT: usize = 4096;

/// The waits of the last changes.
#[derive(Default)]
pub(crate) struct Waits {
    count: u64,
    /// In microseconds; a ring buffer.
    last: Vec<u32>,
}

impl Waits {
    /// Records a wait.
    pub fn add(&mut self, wait: Duration) {
        let micros = u32::try_from(wait.as_micros()).unwrap_or(u32::MAX);
        let at = (self.count % KEPT as u64) as usize;
        match self.last.get_mut(at) {
            Some(place) => *place = micros,
            None => self.last.push(micros),
        }
        self.count += 1;
    }

    /// The distribution of the kept waits.
    pub fn report(&self) -> Value {
        let mut sorted = self.last.clone();
        sorted.sort_unstable();
        let at =
            |percent: usize| sorted.get(sorted.len() * percent / 100).or(sorted.last()).copied().unwrap_or(0);
        json!({ "changes": self.count, "p50": at(50), "p99": at(99), "most": at(100) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_count() {
        let mut waits = Waits::default();
        assert_eq!(waits.report(), json!({ "changes": 0, "p50": 0, "p99": 0, "most": 0 }));
        waits.add(Duration::from_secs(1));
        (1..=KEPT as u64).for_each(|at| waits.add(Duration::from_micros(at)));
        assert_eq!(waits.report(), json!({ "changes": 4097, "p50": 2049, "p99": 4056, "most": 4096 }));
    }
}
