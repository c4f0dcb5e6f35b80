//! Why a kernel is slow, in words: faults of its accesses, of its control flow, of its use of an SM, each with the share of
//! the time that it costs in the model of `timing`, and what to try.
//!
//! The cost of most faults is the difference between two replays of one run: as it was, and as if the fault were not there.
//! Kinds of faults are rows of a table with their words. Nothing is compiled here, no file is read, and no semantics of an
//! instruction may enter: what is known of the source is given.

mod access;
mod candidate;
mod code;
mod document;
mod heat;
mod kinds;
mod machine;
mod page;
mod profile;
mod text;
mod waits;

pub use code::{By, Code, CodeRow, Place};
pub use document::document;
pub use heat::{Hot, hottest};
pub use kinds::{Kind, KindRow};
pub use page::page;
pub use profile::{Finding, Profile, Row, profile, profile_until};
pub use text::{Shown, in_words, text};
