//! Requests to a server, over a connection that stays open between them. Each has a deadline.

use std::net::ToSocketAddrs;
use std::time::Instant;

use crate::address::{Address, Protocol};
use crate::request::Request;
use crate::server::{Connection, Failure, Server};
use crate::stream::Stream;
use crate::{http, redis};

/// The server as one thread sees it: with a connection that stays open.
struct Client {
    address: Address,
    open: Option<Stream>,
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
            let Some(mut stream) = Stream::connect(place, deadline)? else { continue };
            if let Protocol::Redis { login, database } = &self.address.protocol {
                redis::begin(&mut stream, login.as_ref(), *database)?;
            }
            return Ok(stream);
        }
        Err(Failure::Io)
    }
}
