//! URIs of documents: paths in them, and the parts of URIs that the server makes itself.

use std::path::PathBuf;

/// Decodes percent escapes; `None` if the result is not UTF-8.
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

/// Percent-encodes the characters that are not valid in a part of a URI.
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

/// The canonical spelling of a URI: every byte that need not be escaped is plain, and the letters of a percent escape
/// are upper case.
pub(crate) fn one_spelling(uri: &str) -> String {
    let (scheme, rest) = uri.split_once(':').unwrap_or(("", uri));
    let mut out = format!("{}:", scheme.to_ascii_lowercase());
    let mut at = 0;
    while let Some(&byte) = rest.as_bytes().get(at) {
        let escaped = rest
            .get(at + 1..at + 3)
            .filter(|_| byte == b'%')
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        at += if escaped.is_some() { 3 } else { 1 };
        match escaped.unwrap_or(byte) {
            plain if plain.is_ascii_alphanumeric() || b"-._~".contains(&plain) => out.push(plain as char),
            // A delimiter of a URI has another meaning where it is escaped.
            other if escaped.is_none() && other.is_ascii() => out.push(other as char),
            b':' => out.push(':'),
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

/// The path of a `file:` URI.
pub(crate) fn to_path(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let path = rest.find('/').map(|at| &rest[at..])?;
    let path = decode(path)?;
    // `/c:/x` of Windows is `c:/x`.
    let bytes = path.as_bytes();
    let drive = bytes.len() > 2 && bytes[1].is_ascii_alphabetic() && bytes[2] == b':';
    Some(PathBuf::from(if drive { &path[1..] } else { &path }))
}

/// The `file:` URI of a path.
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

    #[test]
    fn spellings_of_one_address() {
        let one = one_spelling("file:///a/%C3%A9%20b.ptx");
        assert_eq!(one, "file:///a/%C3%A9%20b.ptx");
        assert_eq!(one_spelling("file:///a/\u{e9}%20b.ptx"), one);
        assert_eq!(one_spelling("FILE:///%61/%c3%a9%20b.ptx"), one);
        assert_eq!(one_spelling("file:///c%3A/x"), one_spelling("file:///c:/x"));
        assert_ne!(one_spelling("file:///a%2Fb"), one_spelling("file:///a/b"));
        assert_eq!(one_spelling("%"), ":%");
    }
}
