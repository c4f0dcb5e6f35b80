//! Distributions of times.

use std::time::Duration;

/// Times of one kind.
#[derive(Default)]
pub struct Times {
    wall: Vec<Duration>,
    processor: Vec<Duration>,
}

impl Times {
    pub fn add(&mut self, wall: Duration, processor: Option<Duration>) {
        self.wall.push(wall);
        self.processor.extend(processor);
    }

    pub fn join(&mut self, other: &Times) {
        self.wall.extend(&other.wall);
        self.processor.extend(&other.processor);
    }

    /// A line: count, then both times.
    pub fn print(&self, what: &str) {
        println!("{what:<44} {:>6}  {self}", self.wall.len());
    }

    pub fn head(what: &str) {
        println!(
            "\n{what:<44} {:>6}  {:>24}  {:>24}",
            "times", "processor p50 p99 most ms", "wall p50 p99 most ms"
        );
    }
}

/// p50, p99 and maximum of either time, in milliseconds.
impl std::fmt::Display for Times {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}  {}", row(&self.processor), row(&self.wall))
    }
}

fn at(times: &[Duration], percent: usize) -> Option<f64> {
    let mut times = times.to_vec();
    times.sort_unstable();
    let time = times.get((times.len() * percent / 100).min(times.len().saturating_sub(1)))?;
    Some(time.as_secs_f64() * 1e3)
}

fn row(times: &[Duration]) -> String {
    let each = |percent| at(times, percent).map_or_else(|| "-".to_owned(), |time| format!("{time:.2}"));
    format!("{:>8}{:>8}{:>9}", each(50), each(99), each(100))
}
