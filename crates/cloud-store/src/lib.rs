//! Servers of the shared store that need libraries: object stores, the Remote Execution API, and HTTP with TLS.
//!
//! It is a crate of its own, and empty without its feature `clients`, because it brings an asynchronous runtime, TLS, gRPC and
//! the clients of object stores, which a program without a server must not carry. When to ask a server, how long, and whom
//! to trust is decided by `oriole-shared-store`. No command line is read here; credentials come from the environment and the
//! files that each client looks for, so that none stands in a command.

#[cfg(feature = "clients")]
mod address;
#[cfg(feature = "clients")]
mod blocking;
#[cfg(feature = "clients")]
mod objects;
#[cfg(feature = "clients")]
mod part;
#[cfg(feature = "clients")]
mod remote;
#[cfg(feature = "clients")]
mod web;

#[cfg(feature = "clients")]
pub use address::Address;
#[cfg(feature = "clients")]
pub use part::{AddressError, SCHEMES};
