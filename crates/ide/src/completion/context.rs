//! The statement before a position as far as it is typed, for completions and for signature help.

use oriole_inputs::Db;

use crate::cursor::{Spot, Typing, spot, typing};
use crate::snapshot::{Located, Snapshot};
use crate::{FileId, Range};

/// A position with its PTX, its unit and the statement before it.
pub(super) struct Context<'a> {
    pub located: Located<'a>,
    pub spot: Spot<'a>,
    pub typing: Typing,
    /// The text of the unit.
    pub text: &'a str,
}

/// The context of a position; `None` outside of PTX.
pub(super) fn context<'a>(snapshot: &'a Snapshot, file: FileId, at: u32) -> Option<Context<'a>> {
    let located = snapshot.locate(file, at)?;
    let db: &dyn Db = &snapshot.db;
    let spot = spot(db, located.source, located.at)?;
    let text = spot.unit.text(db);
    let before = Range::new(0, spot.at).slice(text);
    let typing = match spot.before(db, located.source) {
        // On the last line of the unit before, typing continues that unit.
        Some(unit) if before.chars().all(|blank| blank == ' ' || blank == '\t') => {
            let ended: &str = unit.text(db);
            let mut joined = ended.to_owned();
            joined.push_str(before);
            Typing { range: Range::point(spot.at), ..typing(&joined, joined.len() as u32) }
        }
        _ => typing(text, spot.at),
    };
    Some(Context { located, spot, typing, text })
}
