//! A request to a server, whatever its protocol.

use std::io;

use crate::server::Failure;

impl From<io::Error> for Failure {
    fn from(_: io::Error) -> Failure {
        Failure::Io
    }
}

/// A request for the value of a name, or to store one.
#[derive(Clone, Copy)]
pub(crate) enum Request<'r> {
    Get(&'r str),
    Put(&'r str, &'r [u8]),
}
