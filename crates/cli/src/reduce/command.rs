//! The command that decides: a candidate in a folder of its own, a process group that ends with its time.

use crate::files::input;
use std::fmt;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Child, Command as Process, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Between one look at a process and the next: at first, and at most.
const FIRST_STEP: Duration = Duration::from_micros(500);
const LAST_STEP: Duration = Duration::from_millis(20);

/// Bytes of a command's output that are shown.
const MOST_SAID: u64 = 4096;

/// The answer to a candidate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// It is interesting.
    Kept,
    /// It is not: how the command ended.
    Refused(String),
    /// The command took too long.
    Late,
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Kept => f.write_str("the command succeeds"),
            Answer::Refused(status) => write!(f, "the command ends with {status}"),
            Answer::Late => f.write_str("the command takes longer than --timeout"),
        }
    }
}

/// The command.
pub struct Command {
    text: String,
    /// The name of each candidate.
    name: PathBuf,
    folder: tempfile::TempDir,
    number: AtomicUsize,
    patience: Duration,
    stopped: Arc<AtomicBool>,
}

impl Command {
    /// The command of a command line, for candidates of an input.
    ///
    /// # Errors
    /// There is no folder for candidates.
    pub fn new(
        text: &str,
        input: &Path,
        patience: Duration,
        stopped: Arc<AtomicBool>,
    ) -> io::Result<Command> {
        let plain = |name: &&str| name.bytes().all(is_plain) && !name.starts_with('-');
        let own = input.file_name().and_then(|name| name.to_str()).filter(plain);
        let name = PathBuf::from(own.filter(|_| !input::is_standard(input)).unwrap_or("candidate.ptx"));
        let folder = tempfile::tempdir()?;
        Ok(Command { text: text.to_owned(), name, folder, number: AtomicUsize::new(0), patience, stopped })
    }

    /// Asks about the input itself; if it is not interesting, with what the command says on standard error.
    ///
    /// # Errors
    /// The file cannot be written, or there is no shell.
    pub fn ask_first(&self, text: &str) -> io::Result<(Answer, String)> {
        let said = tempfile::tempfile_in(self.folder.path())?;
        let answer = self.answer(text, Stdio::from(said.try_clone()?))?;
        let mut bytes = Vec::new();
        let mut said = said;
        said.seek(io::SeekFrom::Start(0))?;
        said.take(MOST_SAID).read_to_end(&mut bytes)?;
        Ok((answer, String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Asks about a candidate. If it cannot be asked about, it is not interesting.
    pub fn ask(&self, text: &str) -> Answer {
        self.answer(text, Stdio::null()).unwrap_or_else(|error| Answer::Refused(error.to_string()))
    }

    fn answer(&self, text: &str, errors: Stdio) -> io::Result<Answer> {
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let folder = self.folder.path().join(number.to_string());
        std::fs::create_dir(&folder)?;
        let path = folder.join(&self.name);
        std::fs::write(&path, text)?;
        let answer = self.run(&path, errors);
        // Files that stay go with the folder of all.
        let _ = std::fs::remove_dir_all(&folder);
        answer
    }

    fn run(&self, path: &Path, errors: Stdio) -> io::Result<Answer> {
        let mut process = Process::new("sh");
        process.arg("-c").arg(with_path(&self.text, path)).stdin(Stdio::null()).stdout(Stdio::null());
        process.stderr(errors);
        own_group(&mut process);
        let mut child = process.spawn()?;
        let start = Instant::now();
        let mut step = FIRST_STEP;
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(if status.success() { Answer::Kept } else { Answer::Refused(status.to_string()) });
            }
            if start.elapsed() > self.patience || self.stopped.load(Ordering::Relaxed) {
                end(&mut child);
                child.wait()?;
                return Ok(Answer::Late);
            }
            std::thread::sleep(step);
            step = (step * 2).min(LAST_STEP);
        }
    }
}

/// The command for a file.
fn with_path(text: &str, path: &Path) -> String {
    let path = quoted(&path.to_string_lossy());
    if text.contains("{}") { text.replace("{}", &path) } else { format!("{text} {path}") }
}

/// Whether a shell takes a byte as it is.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"/._-+,".contains(&byte)
}

/// A path as one word of a shell.
fn quoted(path: &str) -> String {
    if path.bytes().all(is_plain) { path.to_owned() } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

/// A group of its own, so that all that the shell starts ends with it.
fn own_group(process: &mut Process) {
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt;
        process.process_group(0);
    }
    #[cfg(not(unix))]
    let _ = process;
}

/// Ends a process and what it started.
fn end(child: &mut Child) {
    #[cfg(unix)]
    {
        let group = rustix::process::Pid::from_child(child);
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
}

#[cfg(test)]
mod tests {
    use super::with_path;
    use std::path::Path;

    #[test]
    fn the_path_has_its_place() {
        let path = Path::new("/a/k.ptx");
        assert_eq!(with_path("grep -q x", path), "grep -q x /a/k.ptx");
        assert_eq!(with_path("f {} | g {}", path), "f /a/k.ptx | g /a/k.ptx");
        assert_eq!(with_path("f", Path::new("/it's/k")), r"f '/it'\''s/k'");
    }
}
