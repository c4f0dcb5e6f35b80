//! The bytes of a file without the file: parts are read where they are asked for, so that a file of any size takes little
//! memory.

use std::io;

/// Bytes with an end, of which parts can be read.
pub trait Source {
    /// Number of bytes.
    fn size(&self) -> u64;

    /// Fills a buffer with the bytes from this offset.
    ///
    /// # Errors
    /// The bytes are not there, or cannot be read.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;
}

impl Source for [u8] {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let start = usize::try_from(offset).ok();
        let range = start.and_then(|start| Some(start..start.checked_add(buffer.len())?));
        let found = range.and_then(|range| self.get(range)).ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(found);
        Ok(())
    }
}

/// Bytes that are read at once.
const WINDOW: usize = 64 << 10;

/// A source with the part that was read last: headers are read in the order of the file, many from one part.
pub struct Window<'a> {
    source: &'a dyn Source,
    start: u64,
    bytes: Vec<u8>,
}

impl<'a> Window<'a> {
    pub fn new(source: &'a dyn Source) -> Window<'a> {
        Window { source, start: 0, bytes: Vec::new() }
    }

    /// Number of bytes of the source.
    pub fn size(&self) -> u64 {
        self.source.size()
    }

    /// These bytes; fewer where the source ends.
    pub fn up_to(&mut self, offset: u64, length: usize) -> io::Result<&[u8]> {
        let length = self.size().saturating_sub(offset).min(length as u64) as usize;
        let known = offset.checked_sub(self.start).map(|skip| skip as usize);
        let inside = known.filter(|skip| skip.checked_add(length).is_some_and(|end| end <= self.bytes.len()));
        let skip = match inside {
            Some(skip) => skip,
            None => {
                let whole = self.size().saturating_sub(offset).min(length.max(WINDOW) as u64) as usize;
                // The bytes that are there stay valid if the read fails.
                let mut bytes = vec![0; whole];
                self.source.read_at(offset, &mut bytes)?;
                (self.start, self.bytes) = (offset, bytes);
                0
            }
        };
        Ok(&self.bytes[skip..skip + length])
    }
}
