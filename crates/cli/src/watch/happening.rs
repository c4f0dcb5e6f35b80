//! The events that a watch acts on, from all the threads that wait for them.

use notify::Event;

/// Something that the watch acts on.
pub enum Happening {
    /// An event of the file system.
    Files(notify::Result<Event>),
    /// A line of standard input.
    Line(String),
}
