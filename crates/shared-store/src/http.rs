//! GET and PUT of HTTP/1.1, as far as simple caches need them. No redirection, no encryption and no compression.

use crate::address::{Address, KEY};
use crate::request::Request;
use crate::server::{Failure, LARGEST};
use crate::stream::Stream;

/// Sends a request and reads its answer.
pub(crate) fn exchange(
    stream: &mut Stream,
    address: &Address,
    path: &str,
    login: Option<&str>,
    request: Request<'_>,
) -> Result<Option<Vec<u8>>, Failure> {
    let (method, name, body) = match request {
        Request::Get(name) => ("GET", name, None),
        Request::Put(name, body) => ("PUT", name, Some(body)),
    };
    let mut head = format!("{method} {} HTTP/1.1\r\n", path.replace(KEY, name));
    let bracketed = address.host.contains(':');
    let host = if bracketed { format!("[{}]", address.host) } else { address.host.clone() };
    head += &format!("Host: {host}:{}\r\nUser-Agent: oriole\r\nAccept: */*\r\n", address.port);
    if let Some(login) = login {
        head += &format!("Authorization: {}\r\n", basic(login));
    }
    if let Some(body) = body {
        head += &format!("Content-Type: application/octet-stream\r\nContent-Length: {}\r\n", body.len());
    }
    head += "\r\n";
    stream.send(head.as_bytes())?;
    stream.send(body.unwrap_or_default())?;
    let (status, value) = answer(stream)?;
    match (status, request) {
        (200, Request::Get(_)) => Ok(Some(value)),
        (404 | 410, Request::Get(_)) | (200..=299, Request::Put(..)) => Ok(None),
        _ => Err(Failure::Answer),
    }
}

/// How long a body is.
enum Length {
    Bytes(usize),
    Chunks,
    ToTheEnd,
}

/// Status and body.
fn answer(stream: &mut Stream) -> Result<(u16, Vec<u8>), Failure> {
    loop {
        let (status, length) = head(stream)?;
        let mut body = Vec::new();
        match length {
            // An answer before the answer.
            _ if (100..200).contains(&status) => continue,
            _ if matches!(status, 204 | 304) => {}
            Length::Bytes(count) => stream.take(count, &mut body)?,
            Length::Chunks => chunks(stream, &mut body)?,
            Length::ToTheEnd => stream.take_rest(&mut body)?,
        }
        return Ok((status, body));
    }
}

fn head(stream: &mut Stream) -> Result<(u16, Length), Failure> {
    /// Most fields of a head.
    const FIELDS: usize = 200;
    let first = stream.line()?;
    let mut words = first.split(' ');
    let version = words.next().filter(|word| word.starts_with("HTTP/1.")).ok_or(Failure::Answer)?;
    let status = words.next().and_then(|word| word.parse().ok()).ok_or(Failure::Answer)?;
    stream.ends = version == "HTTP/1.0";
    let mut length = Length::ToTheEnd;
    for _ in 0..FIELDS {
        let line = stream.line()?;
        if line.is_empty() {
            return Ok((status, length));
        }
        let (name, value) = line.split_once(':').ok_or(Failure::Answer)?;
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "content-length" if !matches!(length, Length::Chunks) => {
                let count = value.parse().ok().filter(|&count| count <= LARGEST);
                length = Length::Bytes(count.ok_or(Failure::Answer)?);
            }
            "transfer-encoding" if value.eq_ignore_ascii_case("chunked") => length = Length::Chunks,
            "transfer-encoding" | "content-encoding" if !value.eq_ignore_ascii_case("identity") => {
                return Err(Failure::Answer);
            }
            "connection" => {
                stream.ends = value.eq_ignore_ascii_case("close")
                    || stream.ends && !value.eq_ignore_ascii_case("keep-alive");
            }
            _ => {}
        }
    }
    Err(Failure::Answer)
}

fn chunks(stream: &mut Stream, body: &mut Vec<u8>) -> Result<(), Failure> {
    loop {
        let line = stream.line()?;
        let digits = line.split(';').next().unwrap_or_default().trim();
        let count = usize::from_str_radix(digits, 16).map_err(|_| Failure::Answer)?;
        if count == 0 {
            break;
        }
        stream.take(count, body)?;
        if !stream.line()?.is_empty() {
            return Err(Failure::Answer);
        }
    }
    while !stream.line()?.is_empty() {}
    Ok(())
}

/// A login, `USER:PASSWORD`, as the header `Authorization` has it.
pub fn basic(login: &str) -> String {
    format!("Basic {}", base64(login.as_bytes()))
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let word =
            three.iter().fold(0u32, |word, &byte| word << 8 | u32::from(byte)) << (8 * (3 - three.len()));
        for digit in 0..4 {
            match digit <= three.len() {
                true => out.push(char::from(DIGITS[(word >> (18 - 6 * digit)) as usize & 63])),
                false => out.push('='),
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn logins_are_written_in_base64() {
        let texts = ["", "a", "ab", "abc", "Aladdin:open sesame"];
        let expected = ["", "YQ==", "YWI=", "YWJj", "QWxhZGRpbjpvcGVuIHNlc2FtZQ=="];
        for (text, expected) in texts.into_iter().zip(expected) {
            assert_eq!(base64(text.as_bytes()), expected);
        }
    }
}
