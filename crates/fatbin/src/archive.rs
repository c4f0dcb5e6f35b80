//! Archives of objects: their members, with long names of both kinds. Tables of symbols are no members.

use crate::FaultKind;
use crate::found::Found;
use crate::source::Window;
use std::io;

/// Bytes of the header of a member.
const HEADER: usize = 60;

/// Most bytes of the table of long names.
const LARGEST_NAMES: u64 = 64 << 20;

/// Most bytes of a name.
const LONGEST_NAME: usize = 4096;

/// A member.
pub struct Member {
    pub name: String,
    /// Offset of its bytes in the file.
    pub offset: u64,
    pub size: u64,
}

fn decimal(field: &[u8]) -> Option<u64> {
    std::str::from_utf8(field).ok()?.trim().parse().ok()
}

/// The members of an archive, up to a header that is broken.
pub fn members(window: &mut Window<'_>, found: &mut Found) -> io::Result<Vec<Member>> {
    let (mut at, end) = (8, window.size());
    let mut members = Vec::new();
    let mut names = Vec::new();
    while at < end {
        let bytes = window.up_to(at, HEADER)?;
        if bytes.len() < HEADER || !bytes.ends_with(b"`\n") {
            found.fault(at, FaultKind::Member);
            break;
        }
        let field = bytes[..16].trim_ascii_end().to_vec();
        let there = end - at - HEADER as u64;
        let Some(size) = decimal(&bytes[48..58]).filter(|&size| size <= there) else {
            found.fault(at, FaultKind::Member);
            break;
        };
        let (mut offset, mut own) = (at + HEADER as u64, size);
        at = offset + size + (size & 1);
        let name = match &field[..] {
            b"/" | b"/SYM64/" | b"__.SYMDEF" | b"__.SYMDEF SORTED" => continue,
            b"//" => {
                if size <= LARGEST_NAMES {
                    names = window.up_to(offset, size as usize)?.to_vec();
                }
                continue;
            }
            _ => match (field.strip_prefix(b"#1/"), field.strip_prefix(b"/")) {
                (Some(length), _) => {
                    // The name stands before the bytes of the member.
                    let Some(length) = decimal(length).filter(|&length| length <= size) else { continue };
                    let name = window.up_to(offset, length.min(LONGEST_NAME as u64) as usize)?.to_vec();
                    (offset, own) = (offset + length, size - length);
                    name
                }
                (None, Some(place)) => {
                    let place = decimal(place).and_then(|place| usize::try_from(place).ok());
                    let rest = place.and_then(|place| names.get(place..)).unwrap_or_default();
                    let end = memchr::memchr2(b'\n', 0, rest).unwrap_or(rest.len()).min(LONGEST_NAME);
                    rest[..end].to_vec()
                }
                (None, None) => field,
            },
        };
        let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
        let name = String::from_utf8_lossy(name.strip_suffix(b"/").unwrap_or(name)).into_owned();
        members.push(Member { name, offset, size: own });
    }
    Ok(members)
}
