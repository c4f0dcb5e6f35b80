//! Memory settings of a process with low latency.

/// Turns transparent huge pages off for this process and its children. Huge pages save a compile five percent of its
/// time and more; but a keystroke would now and then wait for tens of milliseconds, while the system clears or
/// assembles such a page. A system without huge pages refuses the call, and has none.
pub fn refuse_huge_pages() {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}
