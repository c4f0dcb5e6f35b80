//! The language server: the protocol on one side, `oriole_ide` on the other, over any pair of message streams.
//!
//! This is the one crate that knows the protocol: conversion of positions and answers, capabilities, and when a request
//! runs. It opens no file and starts no process; it reaches the outside only by an [`Environment`]. No rule of PTX and
//! no query of code may enter: those are in `oriole_ide`.
//!
//! One thread reads messages and applies changes; it never computes. Requests run on worker threads over snapshots, which
//! a change cancels. A panic of a request is that request's error only.
//!
//! From the bottom: `connection.rs` and `transport.rs` carry messages; `outcome.rs` and `snapshot.rs` are what a handler
//! takes and gives; `handlers.rs`, `diagnostics.rs` and `extensions.rs` answer; `requests.rs` lists them; `hosts.rs` makes
//! snapshots; `answers.rs` and `workspace.rs` run requests over both; `documents.rs` applies changes; `server.rs` reads
//! messages.

mod answers;
mod asked;
mod background;
mod basis;
mod capabilities;
mod client;
mod closed_files;
mod commands;
mod comparison;
mod completion;
mod config;
mod connection;
mod convert;
mod diagnostics;
mod documents;
mod environment;
mod extensions;
mod followed;
mod handlers;
mod hosts;
mod kernel_profile;
mod lock;
mod memory;
mod navigation;
mod outcome;
mod pages;
mod pool;
mod profiles;
mod reports;
mod requests;
mod ruling;
mod sass_map;
mod schema;
mod server;
mod settings_reader;
mod shared;
mod snapshot;
mod symbol_units;
mod token_units;
mod tokens;
pub mod transport;
mod unopened;
mod uri;
mod values;
mod virtual_documents;
mod waits;
mod workspace;
mod workspace_files;

pub use config::{Config, DirectoryConfig, HintConfig, ProfileConfig};
pub use connection::Connection;
pub use environment::{Environment, Nothing, Ptxas, PtxasError};
pub use memory::refuse_huge_pages;
pub use oriole_ide::Reads;
pub use schema::schema;
pub use server::{End, ServeError, serve};
