//! Input files: read whole, and never without a bound.
//!
//! `-` is standard input. A FIFO is read if a process writes to it; one without a writer, and a device, are refused.

use super::FileError;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Most bytes of an input file.
const LARGEST: u64 = 1 << 30;

/// Whether a path means standard input.
pub fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// How messages name an input.
pub fn shown(path: &Path) -> String {
    if is_standard(path) { "<stdin>".to_owned() } else { path.display().to_string() }
}

/// Whether a path leads to a file with an end: no folder, device, FIFO or socket.
pub fn is_regular(path: &Path) -> bool {
    path.metadata().is_ok_and(|facts| facts.is_file())
}

/// Whether a file has more bytes than are read whole.
pub fn is_too_large(path: &Path) -> bool {
    path.metadata().is_ok_and(|facts| facts.is_file() && facts.len() > LARGEST)
}

/// The bytes of an input.
///
/// # Errors
/// The file cannot be read, is not a file, or is too large.
pub fn bytes(path: &Path) -> Result<Vec<u8>, FileError> {
    into_memory(path, Vec::new())
}

/// As [`bytes`], in the memory of a vector whose contents are no longer needed.
fn into_memory(path: &Path, memory: Vec<u8>) -> Result<Vec<u8>, FileError> {
    read(path, memory).map_err(|error| FileError::Io { file: shown(path), error })
}

/// The text of an input.
///
/// # Errors
/// As [`bytes`]; and if it is not text.
pub fn text(path: &Path) -> Result<String, FileError> {
    as_text(path, bytes(path)?)
}

/// As [`text`], in the memory of a vector whose contents are no longer needed.
///
/// # Errors
/// As [`text`].
pub fn text_into(path: &Path, memory: Vec<u8>) -> Result<String, FileError> {
    as_text(path, into_memory(path, memory)?)
}

/// The bytes of an input as text.
///
/// # Errors
/// The line where it is not text.
pub fn as_text(path: &Path, bytes: Vec<u8>) -> Result<String, FileError> {
    String::from_utf8(bytes).map_err(|error| FileError::NotUtf8 { file: shown(path), line: line(&error) })
}

fn line(error: &std::string::FromUtf8Error) -> usize {
    let valid = error.utf8_error().valid_up_to();
    1 + error.as_bytes()[..valid].iter().filter(|&&byte| byte == b'\n').count()
}

fn read(path: &Path, mut read: Vec<u8>) -> io::Result<Vec<u8>> {
    read.clear();
    if is_standard(path) {
        return bounded(io::stdin().lock(), read);
    }
    let file = open(path, &mut read)?;
    let facts = file.metadata()?;
    if facts.is_file() {
        if facts.len() > LARGEST {
            return Err(too_large());
        }
        // With room for one byte more the end is found without another allocation.
        let needed = facts.len() as usize + 1;
        if read.is_empty() && read.capacity() / 2 > needed {
            // A small text shall not keep the memory of a large one.
            read = Vec::new();
        }
        read.reserve(needed);
    }
    bounded(file, read)
}

/// Reads to the end, or to one byte more than is allowed.
fn bounded(source: impl Read, mut read: Vec<u8>) -> io::Result<Vec<u8>> {
    source.take(LARGEST + 1).read_to_end(&mut read)?;
    if read.len() as u64 > LARGEST { Err(too_large()) } else { Ok(read) }
}

fn too_large() -> io::Error {
    io::Error::other("the file is larger than 1 GiB")
}

#[cfg(not(unix))]
fn open(path: &Path, _: &mut Vec<u8>) -> io::Result<File> {
    File::open(path)
}

/// Opens a file without waiting for a writer that may never come; bytes that had to be read to find out go into `read`.
#[cfg(unix)]
fn open(path: &Path, read: &mut Vec<u8>) -> io::Result<File> {
    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
    use std::io::IsTerminal;
    use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};

    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_block_device() || kind.is_char_device() && !file.is_terminal() {
        return Err(io::Error::other("a device is no input file"));
    }
    if kind.is_fifo() {
        await_writer(&file, read)?;
    }
    // From here on reading may wait.
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(file)
}

/// Waits until something can be read from a FIFO, or it is certain that a process has it open for writing.
#[cfg(unix)]
fn await_writer(mut file: &File, read: &mut Vec<u8>) -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let limit = Timespec { tv_sec: super::PARTNER as i64, tv_nsec: 0 };
    if poll(&mut [PollFd::new(&file, PollFlags::IN)], Some(&limit))? > 0 {
        return Ok(());
    }
    // Nothing came. Without a writer that is the end of the file, with one there is nothing yet.
    let mut first = [0];
    match file.read(&mut first) {
        Ok(0) => Err(io::Error::other("no process writes to this FIFO")),
        Ok(_) => {
            read.push(first[0]);
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again_unless_it_is_far_too_much() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.ptx");
        std::fs::write(&path, "ret;").unwrap();
        let read = |old: Vec<u8>| text_into(&path, old).unwrap();
        let (kept, fresh) = (read(b"exit; //".to_vec()), read(vec![b'x'; 1 << 20]));
        assert_eq!((kept.as_str(), kept.capacity(), fresh.as_str()), ("ret;", 8, "ret;"));
        assert!(fresh.capacity() < 64);
    }
}
