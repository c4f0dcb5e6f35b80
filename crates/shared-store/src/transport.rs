//! A connection to a server over TCP with a deadline for each request.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use crate::address::{Address, Protocol};
use crate::server::{Connection, Failure, LARGEST, Server};
use crate::{http, redis};

impl From<io::Error> for Failure {
    fn from(_: io::Error) -> Failure {
        Failure::Io
    }
}

impl Server for Address {
    fn connect(&self) -> Box<dyn Connection> {
        Box::new(Client { address: self.clone(), open: None })
    }
}

impl Connection for Client {
    fn get(&mut self, name: &str, deadline: Instant) -> Result<Option<Vec<u8>>, Failure> {
        self.ask(Request::Get(name), deadline)
    }

    fn put(&mut self, name: &str, value: &[u8], deadline: Instant) -> Result<(), Failure> {
        self.ask(Request::Put(name, value), deadline).map(drop)
    }
}

/// A request for the value of a name, or to store one.
#[derive(Clone, Copy)]
pub(crate) enum Request<'r> {
    Get(&'r str),
    Put(&'r str, &'r [u8]),
}

/// The server as one thread sees it: with a connection that stays open.
struct Client {
    address: Address,
    open: Option<Stream>,
}

impl Client {
    /// The answer to a request: bytes for a value that is there.
    fn ask(&mut self, request: Request<'_>, deadline: Instant) -> Result<Option<Vec<u8>>, Failure> {
        if let Some(mut stream) = self.open.take() {
            stream.deadline = deadline;
            match self.exchange(&mut stream, request) {
                // A server may close a connection between two requests.
                Err(Failure::Io) if Instant::now() < deadline => {}
                answer => return self.kept(stream, answer),
            }
        }
        let mut stream = self.connect(deadline)?;
        let answer = self.exchange(&mut stream, request);
        self.kept(stream, answer)
    }

    fn kept(
        &mut self,
        stream: Stream,
        answer: Result<Option<Vec<u8>>, Failure>,
    ) -> Result<Option<Vec<u8>>, Failure> {
        if answer.is_ok() && !stream.ends {
            self.open = Some(stream);
        }
        answer
    }

    fn exchange(&self, stream: &mut Stream, request: Request<'_>) -> Result<Option<Vec<u8>>, Failure> {
        match &self.address.protocol {
            Protocol::Http { path, login } => {
                http::exchange(stream, &self.address, path, login.as_deref(), request)
            }
            Protocol::Redis { .. } => redis::exchange(stream, request),
        }
    }

    fn connect(&self, deadline: Instant) -> Result<Stream, Failure> {
        let places = (self.address.host.as_str(), self.address.port).to_socket_addrs()?;
        for place in places {
            let Ok(tcp) = TcpStream::connect_timeout(&place, left(deadline)?) else { continue };
            let _ = tcp.set_nodelay(true);
            let mut stream = Stream { tcp, deadline, ends: false, buffer: Vec::new(), at: 0 };
            if let Protocol::Redis { login, database } = &self.address.protocol {
                redis::begin(&mut stream, login.as_ref(), *database)?;
            }
            return Ok(stream);
        }
        Err(Failure::Io)
    }
}

fn left(deadline: Instant) -> Result<Duration, Failure> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(Failure::Io) } else { Ok(left) }
}

/// A connection, whose reads and writes end at a deadline.
pub(crate) struct Stream {
    tcp: TcpStream,
    deadline: Instant,
    /// The server closes it after this answer.
    pub(crate) ends: bool,
    buffer: Vec<u8>,
    /// The first byte of the buffer that is not taken.
    at: usize,
}

/// Bytes that are read or written at a time, so that a deadline is looked at between.
const PIECE: usize = 64 << 10;

impl Stream {
    pub(crate) fn send(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        for piece in bytes.chunks(PIECE) {
            self.tcp.set_write_timeout(Some(left(self.deadline)?))?;
            self.tcp.write_all(piece)?;
        }
        Ok(())
    }

    /// Reads more; nothing at the end.
    fn fill(&mut self) -> Result<usize, Failure> {
        if self.at == self.buffer.len() {
            self.buffer.clear();
            self.at = 0;
        }
        self.tcp.set_read_timeout(Some(left(self.deadline)?))?;
        let end = self.buffer.len();
        self.buffer.resize(end + PIECE, 0);
        let read = self.tcp.read(&mut self.buffer[end..]);
        self.buffer.truncate(end + read.as_ref().map_or(0, |&read| read));
        Ok(read?)
    }

    /// A line without its end.
    pub(crate) fn line(&mut self) -> Result<String, Failure> {
        const LONGEST: usize = 64 << 10;
        let mut looked = 0;
        loop {
            let open = &self.buffer[self.at..];
            if let Some(length) = open[looked..].iter().position(|&byte| byte == b'\n') {
                let line = &open[..looked + length];
                let line = line.strip_suffix(b"\r").unwrap_or(line);
                let line = String::from_utf8(line.to_vec()).map_err(|_| Failure::Answer)?;
                self.at += looked + length + 1;
                return Ok(line);
            }
            looked = open.len();
            if looked > LONGEST {
                return Err(Failure::Answer);
            }
            if self.fill()? == 0 {
                return Err(Failure::Io);
            }
        }
    }

    /// Adds this many bytes to `to`.
    pub(crate) fn take(&mut self, count: usize, to: &mut Vec<u8>) -> Result<(), Failure> {
        if to.len().saturating_add(count) > LARGEST {
            return Err(Failure::Answer);
        }
        let mut missing = count;
        while missing > 0 {
            let open = &self.buffer[self.at..];
            let taken = open.len().min(missing);
            to.extend_from_slice(&open[..taken]);
            self.at += taken;
            missing -= taken;
            if missing > 0 && self.fill()? == 0 {
                return Err(Failure::Io);
            }
        }
        Ok(())
    }

    /// Adds everything up to the end of the connection.
    pub(crate) fn take_rest(&mut self, to: &mut Vec<u8>) -> Result<(), Failure> {
        self.ends = true;
        loop {
            let count = self.buffer.len() - self.at;
            self.take(count, to)?;
            if self.fill()? == 0 {
                return Ok(());
            }
        }
    }
}
