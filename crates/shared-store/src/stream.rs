//! A connection as bytes and lines, whose reads and writes end at a deadline. No protocol is known here.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::server::{Failure, LARGEST};

fn left(deadline: Instant) -> Result<Duration, Failure> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(Failure::Io) } else { Ok(left) }
}

/// A connection, whose reads and writes end at a deadline.
pub(crate) struct Stream {
    tcp: TcpStream,
    pub(crate) deadline: Instant,
    /// The server closes it after this answer.
    pub(crate) ends: bool,
    buffer: Vec<u8>,
    /// The first byte of the buffer that is not taken.
    at: usize,
}

/// Bytes that are read or written at a time, so that a deadline is looked at between.
const PIECE: usize = 64 << 10;

impl Stream {
    /// A connection to a place; `None` if nothing answers there.
    pub(crate) fn connect(place: SocketAddr, deadline: Instant) -> Result<Option<Stream>, Failure> {
        let Ok(tcp) = TcpStream::connect_timeout(&place, left(deadline)?) else { return Ok(None) };
        let _ = tcp.set_nodelay(true);
        Ok(Some(Stream { tcp, deadline, ends: false, buffer: Vec::new(), at: 0 }))
    }

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
