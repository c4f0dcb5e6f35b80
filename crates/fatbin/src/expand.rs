//! The bytes of images, unpacked. The size that a file states is a bound on what is unpacked, and never a reason to take memory.

use crate::image::{Compression, Image};
use crate::source::Source;
use crate::{ExtractError, elf};
use std::io::Read;

/// Most bytes of an image, and of images that are packed together.
pub const LARGEST: u64 = 1 << 30;

/// A size that is no more than this is not compared with the size of the packed bytes.
const FREE: u64 = 64 << 20;

/// How much smaller packed bytes may be. Those of real files are up to 100 times smaller; a file that was made to fill memory
/// has thousands.
const MOST_RATIO: u64 = 1000;

/// LZ4 cannot do better than this.
const MOST_RATIO_LZ4: u64 = 255;

/// Unpacks images of a source.
pub struct Extractor<'a> {
    source: &'a dyn Source,
    /// The bytes that several images were packed into, by their offset: they follow each other.
    together: Option<(u64, Vec<u8>)>,
}

impl<'a> Extractor<'a> {
    /// For the images of a source.
    pub fn new(source: &'a dyn Source) -> Extractor<'a> {
        Extractor { source, together: None }
    }

    /// The bytes of an image: without those that fill it up in the file.
    ///
    /// # Errors
    /// The file cannot be read, or the image cannot be unpacked.
    pub fn bytes(&mut self, image: &Image) -> Result<Vec<u8>, ExtractError> {
        let Some(part) = image.part else {
            let mut bytes = self.expanded(image)?;
            trim(image, &mut bytes);
            return Ok(bytes);
        };
        if self.together.as_ref().is_none_or(|(offset, _)| *offset != image.offset) {
            self.together = Some((image.offset, self.expanded(image)?));
        }
        let whole = self.together.as_ref().map(|(_, bytes)| &bytes[..]).unwrap_or_default();
        let range = usize::try_from(part.offset)
            .ok()
            .zip(usize::try_from(part.size).ok())
            .and_then(|(from, size)| whole.get(from..from.checked_add(size)?));
        let mut bytes = range.ok_or(ExtractError::Outside)?.to_vec();
        trim(image, &mut bytes);
        Ok(bytes)
    }

    fn expanded(&self, image: &Image) -> Result<Vec<u8>, ExtractError> {
        let too_large = |size: u64| size > LARGEST || size > FREE && size / MOST_RATIO > image.stored;
        for size in [image.stored, image.expanded] {
            if too_large(size) {
                return Err(ExtractError::TooLarge(size));
            }
        }
        if image.stored > self.source.size() {
            return Err(ExtractError::Outside);
        }
        let mut stored = vec![0; image.stored as usize];
        self.source.read_at(image.offset, &mut stored)?;
        let bytes = match image.compression {
            Compression::None => return Ok(stored),
            Compression::Lz4 => lz4(&stored, image.expanded)?,
            Compression::Zstd => zstd(&stored, image.expanded)?,
            Compression::Unknown(flags) => return Err(ExtractError::Unknown(flags)),
        };
        if bytes.len() as u64 != image.expanded {
            return Err(ExtractError::Size { stated: image.expanded, found: bytes.len() as u64 });
        }
        Ok(bytes)
    }
}

fn lz4(stored: &[u8], expanded: u64) -> Result<Vec<u8>, ExtractError> {
    if expanded / MOST_RATIO_LZ4 > stored.len() as u64 + 1 {
        return Err(ExtractError::Corrupt);
    }
    let mut bytes = vec![0; expanded as usize];
    let found = lz4_flex::block::decompress_into(stored, &mut bytes).map_err(|_| ExtractError::Corrupt)?;
    bytes.truncate(found);
    Ok(bytes)
}

fn zstd(stored: &[u8], expanded: u64) -> Result<Vec<u8>, ExtractError> {
    let decoder = ruzstd::decoding::StreamingDecoder::new_with_max_window_size(stored, LARGEST)
        .map_err(|_| ExtractError::Corrupt)?;
    let mut bytes = Vec::new();
    decoder.take(expanded + 1).read_to_end(&mut bytes).map_err(|_| ExtractError::Corrupt)?;
    Ok(bytes)
}

/// Takes away zeros at the end: text has none, and an ELF file says where it ends.
fn trim(image: &Image, bytes: &mut Vec<u8>) {
    let filled = bytes.iter().rev().take_while(|&&byte| byte == 0).count();
    if image.kind.is_ptx() {
        bytes.truncate(bytes.len() - filled);
    } else if elf::is_cubin(bytes)
        && let Some(end) = elf::end(bytes).and_then(|end| usize::try_from(end).ok())
        && end < bytes.len()
        && bytes.len() - end <= filled.min(7)
    {
        bytes.truncate(end);
    }
}
