//! The resident compiler as a process: where its socket is, which processes may speak to it, how it starts, when it ends, and what one
//! request and its answer look like on the way.
//!
//! It is here, apart from the program, because nothing of it depends on what is asked: requests and answers are bytes, and a
//! [`Work`] gives the one for the other. No compiler, no option of a command line and no terminal may enter. Linux alone has
//! what it needs: elsewhere the crate is empty.
//!
//! A client never depends on the server. Whatever goes wrong on the way is an [`AskError`], and the client does the work itself.

#[cfg(target_os = "linux")]
mod client;
#[cfg(target_os = "linux")]
mod figures;
#[cfg(target_os = "linux")]
mod flight;
#[cfg(target_os = "linux")]
mod frame;
#[cfg(target_os = "linux")]
mod place;
#[cfg(target_os = "linux")]
mod server;

#[cfg(target_os = "linux")]
pub use {
    client::{AskError, Patience, ask, figures, start, stop},
    figures::Figures,
    flight::Watch,
    place::{Identity, Place, PlaceError},
    server::{Bounds, ServeError, Work, detach, serve},
};
