//! How a command ends, and the few ways in which it may touch standard output and files.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// All right.
    Right,
    /// What was asked failed, or a result is wrong: exit status 1.
    Failed,
    /// The question itself is wrong: exit status 2.
    Misused,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> ExitCode {
        match outcome {
            Outcome::Right => ExitCode::SUCCESS,
            Outcome::Failed => ExitCode::from(1),
            Outcome::Misused => ExitCode::from(2),
        }
    }
}

/// Says why, and fails.
pub fn failed(message: &str) -> Outcome {
    eprintln!("error: {message}");
    Outcome::Failed
}

/// Says why, as bad usage.
pub fn misused(message: &str) -> Outcome {
    eprintln!("error: {message}");
    Outcome::Misused
}

/// Prints to standard output; a reader that went away is no failure.
pub fn print(text: &str) -> Outcome {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    Outcome::Right
}

/// Writes a file so that it is there whole or not at all.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let place = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(place)?;
    file.write_all(bytes).map_err(place)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let _ = file.as_file().set_permissions(std::fs::Permissions::from_mode(0o644));
    }
    file.persist(path).map_err(|error| place(error.error))?;
    Ok(())
}
