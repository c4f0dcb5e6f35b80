//! Output files: there whole or not at all, where the path leads, and never in the place of an input.
//!
//! A file is written under a temporary name and renamed. One that holds the result already gets a new time of change and nothing
//! else: to make a file and to drop the old one is a third of the time of a small compile. A link stays a link, and the file that
//! it leads to is replaced. A device or a FIFO is written to and not replaced; `-` is standard output.

use super::FileError;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// How names of temporary files begin; six letters or digits follow.
pub const TEMPORARY: &str = ".oriole-";

/// Whether a name is one of the temporary files that are written first.
pub fn is_temporary(name: &OsStr) -> bool {
    let random = name.as_encoded_bytes().strip_prefix(TEMPORARY.as_bytes());
    random.is_some_and(|random| random.len() == 6 && random.iter().all(u8::is_ascii_alphanumeric))
}

/// Most links that lead to each other.
const LINKS: usize = 40;

/// Where a result goes.
#[derive(Debug)]
pub struct Output {
    /// How messages name it.
    shown: String,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Standard,
    /// Written to as it is.
    Stream(PathBuf),
    /// Replaced: a path that is not a link.
    File(PathBuf),
}

impl Output {
    /// Looks at the path that a result goes to, before there is a result.
    ///
    /// # Errors
    /// The path leads to a folder, to a file that may not be written, or to the input.
    pub fn new(path: &Path, input: &Path) -> Result<Output, FileError> {
        let place = place(path, Some(input)).map_err(FileError::of(path))?;
        Ok(Output { shown: path.display().to_string(), place })
    }

    /// Looks at the path of a result that may take the place of any file, and of a file named `-` too.
    ///
    /// # Errors
    /// The path leads to a folder, or to a file that may not be written.
    pub fn anywhere(path: &Path) -> Result<Output, FileError> {
        let place = place(&Path::new(".").join(path), None).map_err(FileError::of(path))?;
        Ok(Output { shown: path.display().to_string(), place })
    }

    /// Where the cubin of an input goes by default: next to it, with `.cubin`.
    ///
    /// # Errors
    /// As [`Output::new`]; and standard input has no name.
    pub fn beside(input: &Path) -> Result<Output, FileError> {
        if super::input::is_standard(input) {
            return Err(FileError::NoName);
        }
        Output::new(&input.with_extension("cubin"), input)
    }

    /// Writes the result.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, bytes: &[u8]) -> Result<(), FileError> {
        match &self.place {
            Place::File(path) if self.holds(bytes) => self.named(touch(path)),
            _ => self.write_other(bytes),
        }
    }

    /// Writes a result that is known to differ from what was written before: whether it is there is not looked at.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write_other(&self, bytes: &[u8]) -> Result<(), FileError> {
        self.named(match &self.place {
            Place::Standard => to_stream(io::stdout().lock(), bytes),
            Place::Stream(path) => stream(path).and_then(|stream| to_stream(stream, bytes)),
            Place::File(path) => replace(path, bytes),
        })
    }

    fn named(&self, written: io::Result<()>) -> Result<(), FileError> {
        written.map_err(|error| FileError::Io { file: self.shown.clone(), error })
    }

    /// Whether these bytes are there already.
    pub fn holds(&self, bytes: &[u8]) -> bool {
        let Place::File(path) = &self.place else { return false };
        path.metadata().is_ok_and(|facts| facts.len() == bytes.len() as u64)
            && std::fs::read(path).is_ok_and(|found| found == bytes)
    }
}

fn place(path: &Path, input: Option<&Path>) -> io::Result<Place> {
    if path.as_os_str() == "-" {
        return Ok(Place::Standard);
    }
    let facts = match path.metadata() {
        Ok(facts) => facts,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Place::File(end_of_links(path)?)),
        Err(error) => return Err(error),
    };
    if facts.is_dir() {
        return Err(io::Error::other("a folder has this name"));
    }
    if !facts.is_file() {
        return Ok(Place::Stream(path.to_owned()));
    }
    if input.is_some_and(|input| same_file::is_same_file(path, input).unwrap_or(false)) {
        return Err(io::Error::other(
            "the result would take the place of the input; say with -o where it goes",
        ));
    }
    if facts.permissions().readonly() {
        return Err(io::Error::other("the file is read-only"));
    }
    // A file that may not be written is not replaced either.
    std::fs::File::options().write(true).open(path)?;
    Ok(Place::File(path.canonicalize()?))
}

/// The path that a link to nothing leads to; the path itself if it is not a link.
fn end_of_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        match std::fs::read_link(&path) {
            Ok(target) => path = folder(&path).join(target),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many links lead to each other"))
}

/// The folder of a path.
pub fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn to_stream(mut stream: impl Write, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(bytes)?;
    stream.flush()
}

/// Makes the file as new as if it had been written, for programs that compare times.
fn touch(path: &Path) -> io::Result<()> {
    std::fs::File::options().write(true).open(path)?.set_modified(SystemTime::now())
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(TEMPORARY);
    // A new file has the permissions that the process gives new files, one that is replaced keeps its own.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(folder(path))?;
    file.write_all(bytes)?;
    if let Ok(facts) = path.metadata() {
        file.as_file().set_permissions(facts.permissions())?;
    }
    file.persist(path).map(drop).map_err(|error| error.error)
}

#[cfg(not(unix))]
fn stream(path: &Path) -> io::Result<std::fs::File> {
    std::fs::File::options().write(true).open(path)
}

/// Opens a file that is not a regular one without waiting for a reader that may never come.
#[cfg(unix)]
fn stream(path: &Path) -> io::Result<std::fs::File> {
    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
    use rustix::io::Errno;
    use std::os::unix::fs::OpenOptionsExt;
    use std::time::{Duration, Instant};

    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let start = Instant::now();
    let file = loop {
        match std::fs::File::options().write(true).custom_flags(flags).open(path) {
            Err(error) if error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) => {
                if start.elapsed() > Duration::from_secs(super::PARTNER) {
                    return Err(io::Error::other("no process reads from this FIFO"));
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            opened => break opened?,
        }
    };
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(file)
}
