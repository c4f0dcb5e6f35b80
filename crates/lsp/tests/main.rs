//! Tests of the server by conversations with it, as a client has them.

mod conversation;
mod protocol;
mod support;
mod transcript;
