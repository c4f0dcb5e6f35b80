//! A server in this process that keeps values in memory, by either protocol, and misbehaves as it is asked to.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use oriole_shared_store::Address;

/// The protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Speech {
    Http,
    Redis,
}

/// The way it treats a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Manner {
    Right,
    /// Answers after this time.
    Slow(Duration),
    /// Reads and answers nothing.
    Silent,
    /// Closes the connection at once.
    Closes,
    /// Closes it in the middle of a value.
    Cuts,
    /// Answers what is not an answer.
    Nonsense,
    /// Answers that it may not.
    Refuses,
    /// Sends one byte of a long answer now and then, without an end.
    Endless,
    /// Changes one bit of each value.
    Flips,
}

/// The server; it ends when this is dropped.
pub struct Server {
    speech: Speech,
    address: SocketAddr,
    kept: Arc<Kept>,
    ends: Arc<AtomicBool>,
}

#[derive(Default)]
struct Kept {
    values: Mutex<HashMap<String, Vec<u8>>>,
    /// Given for every name.
    all: Mutex<Option<Vec<u8>>>,
}

impl Server {
    pub fn start(speech: Speech, manner: Manner) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let (kept, ends) = (Arc::new(Kept::default()), Arc::new(AtomicBool::new(false)));
        let (of_thread, ending) = (kept.clone(), ends.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if ending.load(Ordering::Relaxed) {
                    return;
                }
                let kept = of_thread.clone();
                std::thread::spawn(move || {
                    let _ = serve(stream, speech, manner, &kept);
                });
            }
        });
        Server { speech, address, kept, ends }
    }

    pub fn url(&self) -> String {
        match self.speech {
            Speech::Http => format!("http://{}/some/path", self.address),
            Speech::Redis => format!("redis://{}", self.address),
        }
    }

    pub fn address(&self) -> Address {
        self.url().parse().expect("an address")
    }

    pub fn fill(&self, values: impl IntoIterator<Item = (String, Vec<u8>)>) {
        self.kept.values.lock().unwrap().extend(values);
    }

    pub fn give_all(&self, value: Option<Vec<u8>>) {
        *self.kept.all.lock().unwrap() = value;
    }

    pub fn forget(&self) {
        self.kept.values.lock().unwrap().clear();
    }

    pub fn count(&self) -> usize {
        self.kept.values.lock().unwrap().len()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
    }
}

fn serve(stream: TcpStream, speech: Speech, manner: Manner, kept: &Kept) -> std::io::Result<()> {
    let mut out = stream.try_clone()?;
    let mut input = BufReader::new(stream);
    loop {
        if manner == Manner::Closes {
            return Ok(());
        }
        let request = match speech {
            Speech::Http => http_request(&mut input)?,
            Speech::Redis => redis_request(&mut input)?,
        };
        let Some((name, body)) = request else { return Ok(()) };
        let value = match body {
            Some(body) => {
                if !matches!(manner, Manner::Refuses) {
                    kept.values.lock().unwrap().insert(name, body);
                }
                None
            }
            None => {
                let all = kept.all.lock().unwrap().clone();
                Some(all.or_else(|| kept.values.lock().unwrap().get(&name).cloned()))
            }
        };
        let value = value.map(|value| {
            value.map(|mut value| {
                if manner == Manner::Flips {
                    let middle = value.len() / 2;
                    value[middle] ^= 4;
                }
                value
            })
        });
        let answer = match speech {
            Speech::Http => http_answer(value),
            Speech::Redis => redis_answer(value),
        };
        match manner {
            Manner::Right | Manner::Flips => out.write_all(&answer)?,
            Manner::Slow(time) => {
                std::thread::sleep(time);
                out.write_all(&answer)?;
            }
            Manner::Silent => {}
            Manner::Closes => return Ok(()),
            Manner::Cuts => {
                out.write_all(&answer[..answer.len() / 2])?;
                return Ok(());
            }
            Manner::Nonsense => out.write_all(b"\x16\x03\x01 this is no answer\r\n\r\n")?,
            Manner::Refuses => out.write_all(match speech {
                Speech::Http => b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno",
                Speech::Redis => b"-NOAUTH Authentication required.\r\n",
            })?,
            Manner::Endless => {
                let head: &[u8] = match speech {
                    Speech::Http => b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n",
                    Speech::Redis => b"$100000\r\n",
                };
                out.write_all(head)?;
                for _ in 0..1000 {
                    std::thread::sleep(Duration::from_millis(20));
                    out.write_all(b"x")?;
                }
            }
        }
    }
}

/// A request: the name of a value, and its bytes if it is to be kept.
type Request = Option<(String, Option<Vec<u8>>)>;

fn http_request(input: &mut impl BufRead) -> std::io::Result<Request> {
    let mut first = String::new();
    if input.read_line(&mut first)? == 0 {
        return Ok(None);
    }
    let mut length = 0;
    loop {
        let mut line = String::new();
        input.read_line(&mut line)?;
        if line == "\r\n" {
            break;
        }
        if let Some(value) = line.strip_prefix("Content-Length: ") {
            length = value.trim().parse().expect("a length");
        }
    }
    let mut body = vec![0; length];
    input.read_exact(&mut body)?;
    let path = first.split(' ').nth(1).expect("a path");
    let name = path.strip_prefix("/some/path/ac/").expect("the path of the address").to_owned();
    Ok(Some((name, first.starts_with("PUT").then_some(body))))
}

fn http_answer(value: Option<Option<Vec<u8>>>) -> Vec<u8> {
    match value {
        None => b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n".to_vec(),
        Some(None) => b"HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\nnone\n".to_vec(),
        // Some servers send chunks.
        Some(Some(value)) if value.len() % 2 == 1 => {
            let mut answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
            for chunk in value.chunks(1000) {
                answer.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
                answer.extend_from_slice(chunk);
                answer.extend_from_slice(b"\r\n");
            }
            answer.extend_from_slice(b"0\r\n\r\n");
            answer
        }
        Some(Some(value)) => {
            let mut answer =
                format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", value.len()).into_bytes();
            answer.extend(value);
            answer
        }
    }
}

fn redis_request(input: &mut impl BufRead) -> std::io::Result<Request> {
    let mut line = String::new();
    if input.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let count: usize = line.trim_start_matches('*').trim().parse().expect("a count");
    let mut words = Vec::new();
    for _ in 0..count {
        let mut line = String::new();
        input.read_line(&mut line)?;
        let length: usize = line.trim_start_matches('$').trim().parse().expect("a length");
        let mut word = vec![0; length + 2];
        input.read_exact(&mut word)?;
        word.truncate(length);
        words.push(word);
    }
    let name = String::from_utf8_lossy(&words[1]).trim_start_matches("oriole:").to_owned();
    let value = (words[0] == b"SET").then(|| words[2].clone());
    Ok(Some((name, value)))
}

fn redis_answer(value: Option<Option<Vec<u8>>>) -> Vec<u8> {
    match value {
        None => b"+OK\r\n".to_vec(),
        Some(None) => b"$-1\r\n".to_vec(),
        Some(Some(value)) => {
            let mut answer = format!("${}\r\n", value.len()).into_bytes();
            answer.extend(value);
            answer.extend_from_slice(b"\r\n");
            answer
        }
    }
}
