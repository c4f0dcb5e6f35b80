//! Tests of the server by conversations, as a client has them.

mod conversation;
mod protocol;
mod support;
mod transcript;
