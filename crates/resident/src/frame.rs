//! The bytes on the socket: a head of fixed size with a mark, the identity of the program, a kind and a length, then that
//! many bytes.
//!
//! Each frame of the server is its greeting as well: a client believes nothing that does not begin with the mark and its own
//! identity.

use crate::Identity;
use std::io::{self, Read};

/// How a frame of either side begins. To be changed with the meaning of anything here.
const MARK: [u8; 4] = *b"OR\x01\n";

/// Bytes of a head.
pub(crate) const HEAD: usize = MARK.len() + 16 + 1 + 4;

/// Longest request and answer, in bytes. Larger ones are not for a server.
pub(crate) const LONGEST: usize = 256 << 20;

/// Bytes that are made room for before they are there.
const ROOM: usize = 1 << 20;

macro_rules! kinds {
    ($( #[doc = $help:literal] $kind:ident = $number:literal; )*) => {
        /// The kind of a frame.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) enum Kind {
            $( #[doc = $help] $kind = $number, )*
        }

        impl Kind {
            fn of(number: u8) -> Option<Kind> {
                match number {
                    $( $number => Some(Kind::$kind), )*
                    _ => None,
                }
            }
        }
    };
}

kinds! {
    #[doc = "To the server: a request, whose bytes are for its work."]
    Request = 1;
    #[doc = "To the server: the question for its figures."]
    AskFigures = 2;
    #[doc = "To the server: the wish that it ends. Figures are the answer."]
    Stop = 3;
    #[doc = "From the server: it is at work."]
    Beat = 16;
    #[doc = "From the server: the answer."]
    Answer = 17;
    #[doc = "From the server: its figures."]
    Figures = 18;
    #[doc = "From the server: it does not do this."]
    Declined = 19;
    #[doc = "From the server: it has enough to do, or ends."]
    Busy = 20;
}

/// A head.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Head {
    pub(crate) kind: Kind,
    /// Bytes that follow.
    pub(crate) length: usize,
}

/// The bytes of a frame without its contents, with room for them.
pub(crate) fn begin(identity: Identity, kind: Kind, length: usize) -> Option<Vec<u8>> {
    let size = u32::try_from(length).ok().filter(|_| length <= LONGEST)?;
    let mut bytes = Vec::with_capacity(HEAD + length);
    bytes.extend_from_slice(&MARK);
    bytes.extend_from_slice(&identity.bytes());
    bytes.push(kind as u8);
    bytes.extend_from_slice(&size.to_le_bytes());
    Some(bytes)
}

/// A frame; none if the contents are too long.
pub(crate) fn frame(identity: Identity, kind: Kind, contents: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = begin(identity, kind, contents.len())?;
    bytes.extend_from_slice(contents);
    Some(bytes)
}

/// Reads a head; `None` if these bytes are not of this program.
///
/// # Errors
/// Nothing comes, or not enough.
pub(crate) fn head(source: &mut impl Read, identity: Identity) -> io::Result<Option<Head>> {
    let mut bytes = [0; HEAD];
    source.read_exact(&mut bytes)?;
    let (mark, rest) = bytes.split_at(MARK.len());
    let (own, rest) = rest.split_at(16);
    if mark != MARK || own != identity.bytes() {
        return Ok(None);
    }
    let length = u32::from_le_bytes([rest[1], rest[2], rest[3], rest[4]]) as usize;
    let kind = Kind::of(rest[0]).filter(|_| length <= LONGEST);
    Ok(kind.map(|kind| Head { kind, length }))
}

/// Reads what follows a head.
///
/// # Errors
/// Less comes than the head says.
pub(crate) fn contents(source: &mut impl Read, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(length.min(ROOM));
    source.take(length as u64).read_to_end(&mut bytes)?;
    if bytes.len() == length { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_back_and_others_are_refused() {
        let (own, other) = (Identity::new("a", &1), Identity::new("b", &1));
        let bytes = frame(own, Kind::Answer, b"text").expect("it is short");
        let mut source = &bytes[..];
        let read = head(&mut source, own).expect("a head").expect("it is ours");
        assert_eq!(read, Head { kind: Kind::Answer, length: 4 });
        assert_eq!(contents(&mut source, read.length).expect("all is there"), b"text");
        assert_eq!(head(&mut &bytes[..], other).expect("a head"), None);
        head(&mut &bytes[..HEAD - 1], own).expect_err("it is cut off");
        contents(&mut &b"tex"[..], 4).expect_err("it is cut off");
        // Of the head alone, a byte more or less of the length is still a head.
        for at in 0..HEAD - 4 {
            let mut wrong = bytes.clone();
            wrong[at] ^= 0x40;
            assert_eq!(head(&mut &wrong[..], own).expect("a head"), None, "{at}");
        }
        let mut long = bytes.clone();
        long[HEAD - 1] = 0xff;
        assert_eq!(head(&mut &long[..], own).expect("a head"), None);
    }
}
