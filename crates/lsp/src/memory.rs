//! How a process that answers keystrokes gets its memory from the system.

/// Turns transparent huge pages off for this process and for those that it starts. They save a compile a twentieth of its time
/// and more; but whoever waits for a keystroke would now and then also wait for tens of milliseconds, while the system
/// clears or gathers such a page. A system that knows no huge pages refuses, and has none.
pub fn refuse_huge_pages() {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}
