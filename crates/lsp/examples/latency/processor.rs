//! CPU time of threads, by their names.

use std::time::Duration;

/// The CPU time of threads of these names so far; `None` where the system does not report it.
pub fn time_of(names: &[&str]) -> Option<Duration> {
    let mut sum = None;
    for task in std::fs::read_dir("/proc/self/task").ok()?.flatten() {
        let read = |name: &str| std::fs::read_to_string(task.path().join(name));
        // A thread may end while the list is read.
        let (Ok(name), Ok(statistics)) = (read("comm"), read("schedstat")) else { continue };
        if names.contains(&name.trim()) {
            let nanoseconds: u64 = statistics.split(' ').next()?.parse().ok()?;
            sum = Some(sum.unwrap_or(Duration::ZERO) + Duration::from_nanos(nanoseconds));
        }
    }
    sum
}

/// The resident memory of this process as the system reports it, in bytes.
pub fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
}
