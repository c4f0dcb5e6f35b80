//! Tests of the server by conversations, as a client has them.

mod across;
mod code_findings;
mod conversation;
mod pages;
mod profiles;
mod protocol;
mod support;
mod transcript;
