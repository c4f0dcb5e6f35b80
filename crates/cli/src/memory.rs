//! How the program gets its memory from the system: in pages of 4 KiB, or in huge ones, which the allocator asks for.
//!
//! To clear the first huge pages takes longer than to compile a small text; a large one is compiled a tenth faster in them. Pages
//! that were touched as small ones stay small, so the choice is made before the first compile.

/// From this length of a text on (bytes), huge pages save more than they cost: texts of 6 kB lose 2 % to them, those of 12 kB
/// nothing, and those of 100 kB gain more than 10 %.
const LARGE_TEXT: usize = 12 << 10;

/// Whether the process was started with huge pages allowed.
#[cfg(target_os = "linux")]
static ALLOWED: std::sync::OnceLock<bool> = std::sync::OnceLock::new();

/// Begins in small pages. What is to run until somebody ends it and answers keystrokes stays with them (`oriole_lsp`).
pub fn start_in_small_pages() {
    #[cfg(target_os = "linux")]
    {
        let disabled = rustix::thread::transparent_huge_pages_are_disabled().unwrap_or(true);
        if ALLOWED.set(!disabled).is_ok() && !disabled {
            oriole_lsp::refuse_huge_pages();
        }
    }
}

/// Takes the memory from here on in huge pages, unless who started the process turned them off.
pub fn allow_huge_pages() {
    #[cfg(target_os = "linux")]
    if ALLOWED.get() == Some(&true) {
        let _ = rustix::thread::disable_transparent_huge_pages(false);
    }
}

/// Allows huge pages where a text of so many bytes is large enough to gain by them.
pub fn expect_text(bytes: usize) {
    if bytes >= LARGE_TEXT {
        allow_huge_pages();
    }
}
