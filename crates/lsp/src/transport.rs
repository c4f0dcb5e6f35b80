//! Messages over streams: frames with a length before a JSON value.
//!
//! A well-framed message without meaning is an error of that message alone: it is answered, and the conversation
//! continues. It ends only where the start of the next frame is unknown.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, bounded, never, select, unbounded};
use lsp_server::{ErrorCode, Message};
use serde_json::{Value, json};

use crate::connection::Connection;

/// The longest message that is taken, in bytes.
const LONGEST: u64 = 512 << 20;

/// The longest line of a header.
const LONGEST_LINE: u64 = 4096;

/// The threads that read and write.
pub struct IoThreads {
    reader: JoinHandle<io::Result<()>>,
    writer: JoinHandle<io::Result<()>>,
}

impl IoThreads {
    /// Waits until both are done.
    ///
    /// # Errors
    /// An error of the streams.
    pub fn join(self) -> io::Result<()> {
        let ended = |thread: JoinHandle<io::Result<()>>| {
            thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread of the streams panicked")))
        };
        ended(self.reader).and(ended(self.writer))
    }
}

/// A connection over standard input and output.
pub fn stdio() -> (Connection, IoThreads) {
    over(BufReader::new(io::stdin()), io::stdout())
}

/// A connection to an address.
///
/// # Errors
/// Nothing listens there.
pub fn connect(address: impl ToSocketAddrs) -> io::Result<(Connection, IoThreads)> {
    socket(TcpStream::connect(address)?)
}

/// A connection to the first client that comes.
///
/// # Errors
/// The socket is of no use.
pub fn accept(listener: &TcpListener) -> io::Result<(Connection, IoThreads)> {
    socket(listener.accept()?.0)
}

fn socket(stream: TcpStream) -> io::Result<(Connection, IoThreads)> {
    let reader = BufReader::new(stream.try_clone()?);
    Ok(over(reader, stream))
}

/// A connection over a pair of streams.
pub fn over(
    mut input: impl BufRead + Send + 'static,
    mut output: impl Write + Send + 'static,
) -> (Connection, IoThreads) {
    let (sender, to_write) = bounded::<Message>(0);
    let (texts, written) = bounded::<String>(0);
    let (from_reader, receiver) = bounded::<Message>(0);
    let (complain, complaints) = unbounded::<Value>();
    let writer = std::thread::spawn(move || write_all(&mut output, &to_write, written, complaints));
    let reader = std::thread::spawn(move || read_all(&mut input, &from_reader, &complain));
    let messages = lsp_server::Connection { sender, receiver };
    (Connection { messages, texts: Some(texts) }, IoThreads { reader, writer })
}

fn write_all(
    output: &mut impl Write,
    messages: &Receiver<Message>,
    mut texts: Receiver<String>,
    mut complaints: Receiver<Value>,
) -> io::Result<()> {
    let mut write = |text: String| {
        write!(output, "Content-Length: {}\r\n\r\n", text.len())?;
        output.write_all(text.as_bytes())?;
        output.flush()
    };
    loop {
        select! {
            recv(messages) -> message => {
                let Ok(message) = message else { break };
                write(versioned(&message)?)?;
            }
            recv(texts) -> text => match text {
                Ok(text) => write(text)?,
                Err(_) => texts = never(),
            },
            recv(complaints) -> value => match value {
                Ok(value) => write(value.to_string())?,
                Err(_) => complaints = never(),
            },
        }
    }
    // Messages that were refused before the end are answered too.
    complaints.try_iter().try_for_each(|value| write(value.to_string()))
}

/// A message as text, with the version of JSON-RPC.
fn versioned(message: &Message) -> io::Result<String> {
    /// A message with the members that it has by itself.
    #[derive(serde::Serialize)]
    struct Versioned<'a> {
        jsonrpc: &'static str,
        #[serde(flatten)]
        message: &'a Message,
    }
    Ok(serde_json::to_string(&Versioned { jsonrpc: "2.0", message })?)
}

fn read_all(
    input: &mut impl BufRead,
    messages: &Sender<Message>,
    complain: &Sender<Value>,
) -> io::Result<()> {
    let refuse = |code: ErrorCode, message: String| {
        let error = json!({ "code": code as i32, "message": message });
        // The id of the request is unknown.
        let _ = complain.send(json!({ "jsonrpc": "2.0", "id": null, "error": error }));
    };
    loop {
        let length = match frame(input) {
            Ok(Some(length)) => length,
            Ok(None) => return Ok(()),
            Err(error) => {
                refuse(ErrorCode::InvalidRequest, error.to_string());
                return Err(error);
            }
        };
        let mut bytes = Vec::new();
        input.take(length).read_to_end(&mut bytes)?;
        if (bytes.len() as u64) < length {
            return Ok(());
        }
        let value = match serde_json::from_slice::<Value>(&bytes) {
            Ok(value) => value,
            Err(error) => {
                refuse(ErrorCode::ParseError, error.to_string());
                continue;
            }
        };
        match serde_json::from_value::<Message>(value) {
            Ok(message) => {
                let leaves = matches!(&message, Message::Notification(it) if it.method == "exit");
                if messages.send(message).is_err() || leaves {
                    return Ok(());
                }
            }
            Err(_) => refuse(ErrorCode::InvalidRequest, "no request, response or notification".to_owned()),
        }
    }
}

/// Reads the header of a frame and returns the length of its content; `None` at the end of the stream.
fn frame(input: &mut impl BufRead) -> io::Result<Option<u64>> {
    let wrong = |message: String| io::Error::new(io::ErrorKind::InvalidData, message);
    let mut length = None;
    let mut line = Vec::new();
    loop {
        line.clear();
        input.take(LONGEST_LINE).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(None);
        }
        if line.last() != Some(&b'\n') {
            return Err(wrong("a header without an end".to_owned()));
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end();
        if text.is_empty() {
            return length.map(Some).ok_or_else(|| wrong("a message without `Content-Length`".to_owned()));
        }
        let (name, value) = text.split_once(':').ok_or_else(|| wrong(format!("`{text}` is no header")))?;
        if name.trim().eq_ignore_ascii_case("content-length") {
            let bytes = value.trim().parse::<u64>().map_err(|_| wrong(format!("`{text}` is no length")))?;
            if bytes > LONGEST {
                return Err(wrong(format!(
                    "a message of {bytes} bytes; the longest that is taken has {LONGEST}"
                )));
            }
            length = Some(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::Outgoing;
    use lsp_server::{Notification, RequestId, Response};
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("no thread panics").extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn framed(bodies: &[&str]) -> String {
        bodies.iter().map(|body| format!("Content-Length: {}\r\n\r\n{body}", body.len())).collect()
    }

    /// The methods of the accepted messages, and the output.
    fn talk(input: String) -> (Vec<String>, String) {
        let written = Written::default();
        let (connection, threads) = over(io::Cursor::new(input.into_bytes()), written.clone());
        let methods = connection.messages.receiver.iter().filter_map(|message| match message {
            Message::Notification(it) => Some(it.method),
            _ => None,
        });
        let methods = methods.collect();
        drop(connection);
        let _ = threads.join();
        let text = String::from_utf8(written.0.lock().expect("no thread panics").clone());
        (methods, text.expect("what is written is text"))
    }

    #[test]
    fn a_message_that_means_nothing_ends_nothing() {
        let notification = r#"{"jsonrpc":"2.0","method":"a"}"#;
        let (methods, written) = talk(framed(&["{", notification, "[1]", "7", notification]));
        assert_eq!(methods, ["a", "a"]);
        let codes: Vec<&str> = written.matches("-32700").chain(written.matches("-32600")).collect();
        assert_eq!(codes, ["-32700", "-32600", "-32600"]);
        assert!(written.contains("\"id\":null"), "{written}");
    }

    #[test]
    fn values_and_texts_are_messages_alike() {
        let written = Written::default();
        let (connection, threads) = over(io::Cursor::new(Vec::new()), written.clone());
        let outgoing =
            Outgoing { messages: connection.messages.sender.clone(), texts: connection.texts.clone() };
        let id = || RequestId::from("a\"1".to_owned());
        outgoing.respond(id(), "[1,2]".to_owned());
        outgoing.send(Response { id: id(), response_result: Ok(json!([1, 2])) }.into());
        outgoing.notify("n", "{\"b\":3}".to_owned());
        outgoing.send(Notification { method: "n".to_owned(), params: json!({ "b": 3 }) }.into());
        drop((connection, outgoing));
        threads.join().expect("the streams are open");
        let bytes = written.0.lock().expect("no thread panics").clone();
        let text = String::from_utf8(bytes).expect("what is written is text");
        let bodies = text.split("Content-Length: ").skip(1).map(|frame| {
            let (length, body) = frame.split_once("\r\n\r\n").expect("a frame has a header");
            assert_eq!(length, body.len().to_string());
            serde_json::from_str::<Value>(body).expect("a body is JSON")
        });
        let bodies: Vec<Value> = bodies.collect();
        let response = json!({ "jsonrpc": "2.0", "id": "a\"1", "result": [1, 2] });
        let notification = json!({ "jsonrpc": "2.0", "method": "n", "params": { "b": 3 } });
        assert_eq!(bodies, [response.clone(), response, notification.clone(), notification]);
    }

    #[test]
    fn lengths_are_bounded() {
        for length in ["4294967296", "18446744073709551615", "99999999999999999999", "-1"] {
            let (methods, written) = talk(format!("Content-Length: {length}\r\n\r\n{{}}"));
            assert!(methods.is_empty() && written.contains("-32600"), "{length}: {written}");
        }
        assert!(talk("X".repeat(10_000)).1.contains("-32600"));
        assert_eq!(talk("Content-Length: 100\r\n\r\n{}".to_owned()), (Vec::new(), String::new()));
    }
}
