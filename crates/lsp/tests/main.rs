//! Tests of the server by conversations, as a client has them.

mod across;
mod conversation;
mod profiles;
mod protocol;
mod support;
mod transcript;
