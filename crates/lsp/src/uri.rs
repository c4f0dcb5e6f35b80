//! Addresses of documents: paths in them, and the parts of those that the server makes itself.

use std::path::PathBuf;

/// Undoes percent signs; what is no text afterwards gives nothing.
pub(crate) fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let high = (rest.next()? as char).to_digit(16)?;
            let low = (rest.next()? as char).to_digit(16)?;
            bytes.push((high * 16 + low) as u8);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

/// Writes what cannot stand in a part of an address with percent signs.
pub(crate) fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(byte as char);
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// The path of a `file:` address.
pub(crate) fn to_path(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let path = rest.find('/').map(|at| &rest[at..])?;
    let path = decode(path)?;
    // `/c:/x` of Windows is `c:/x`.
    let bytes = path.as_bytes();
    let drive = bytes.len() > 2 && bytes[1].is_ascii_alphabetic() && bytes[2] == b':';
    Some(PathBuf::from(if drive { &path[1..] } else { &path }))
}

/// The `file:` address of a path.
pub(crate) fn from_path(path: &str) -> String {
    let path = path.replace('\\', "/");
    let parts: Vec<String> = path.split('/').map(encode).collect();
    let joined = parts.join("/");
    if joined.starts_with('/') { format!("file://{joined}") } else { format!("file:///{joined}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_addresses() {
        assert_eq!(to_path("file:///a%20b/c.ptx"), Some(PathBuf::from("/a b/c.ptx")));
        assert_eq!(to_path("file:///c%3A/x.ptx"), Some(PathBuf::from("c:/x.ptx")));
        assert_eq!(to_path("untitled:Untitled-1"), None);
        assert_eq!(from_path("/a b/c.ptx"), "file:///a%20b/c.ptx");
        assert_eq!(decode("%4"), None);
    }
}
