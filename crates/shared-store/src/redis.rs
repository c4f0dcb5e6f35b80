//! GET and SET in the protocol of Redis, version 2, which every server of its kind understands.

use crate::request::Request;
use crate::server::{Failure, LARGEST};
use crate::stream::Stream;

/// Begins the names of our values.
const PREFIX: &str = "oriole:";

/// Logs in and chooses the database.
pub(crate) fn begin(
    stream: &mut Stream,
    login: Option<&(Option<String>, String)>,
    database: u32,
) -> Result<(), Failure> {
    if let Some((user, password)) = login {
        let mut words: Vec<&[u8]> = vec![b"AUTH"];
        words.extend(user.as_ref().map(String::as_bytes));
        words.push(password.as_bytes());
        done(stream, &words)?;
    }
    if database > 0 {
        done(stream, &[b"SELECT", database.to_string().as_bytes()])?;
    }
    Ok(())
}

/// Sends a request and reads its answer.
pub(crate) fn exchange(stream: &mut Stream, request: Request<'_>) -> Result<Option<Vec<u8>>, Failure> {
    match request {
        Request::Get(name) => {
            send(stream, &[b"GET", format!("{PREFIX}{name}").as_bytes()])?;
            let line = stream.line()?;
            let length = line.strip_prefix('$').and_then(|length| length.parse::<i64>().ok());
            let length = length.ok_or(Failure::Answer)?;
            let Ok(length) = usize::try_from(length) else { return Ok(None) };
            if length > LARGEST {
                return Err(Failure::Answer);
            }
            let mut value = Vec::new();
            stream.take(length, &mut value)?;
            if !stream.line()?.is_empty() {
                return Err(Failure::Answer);
            }
            Ok(Some(value))
        }
        Request::Put(name, bytes) => {
            done(stream, &[b"SET", format!("{PREFIX}{name}").as_bytes(), bytes])?;
            Ok(None)
        }
    }
}

/// Sends a command that is answered by a word.
fn done(stream: &mut Stream, words: &[&[u8]]) -> Result<(), Failure> {
    send(stream, words)?;
    if stream.line()?.starts_with('+') { Ok(()) } else { Err(Failure::Answer) }
}

fn send(stream: &mut Stream, words: &[&[u8]]) -> Result<(), Failure> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(b"\r\n");
    }
    stream.send(&bytes)
}
