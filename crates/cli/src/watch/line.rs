//! Lines of standard input of `oriole watch --interactive`: options to go on with.
//!
//! A line stands for itself: it replaces the options of the command line, not those of the line before, so that a result
//! depends on one line only.

use super::happening::Happening;
use crate::arguments::WatchLine;
use crate::session::{ArgumentError, linked, tuned};
use clap::Parser;
use oriole_chip::Chip;
use oriole_options::Options;
use std::io::BufRead;
use std::sync::mpsc::Sender;

/// A line that is not understood.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// It does not have the form of options.
    #[error("{0}")]
    Form(String),
    /// An option is wrong.
    #[error(transparent)]
    Argument(#[from] ArgumentError),
}

/// Chips and options to compile with.
#[derive(Clone)]
pub struct Line {
    /// The chips asked for; empty if each file's own target counts.
    pub chips: Vec<Chip>,
    /// Options of all files.
    pub options: Options,
}

impl Line {
    /// The chips and options of a line, which replaces those of the command line; an empty one restores them.
    ///
    /// # Errors
    /// The word that is wrong.
    pub fn changed(&self, text: &str) -> Result<Line, LineError> {
        let words: Vec<&str> = text.split_whitespace().collect();
        if words.is_empty() {
            return Ok(self.clone());
        }
        let read = WatchLine::try_parse_from(words).map_err(|error| LineError::Form(first_line(&error)))?;
        let chips = read.arch.iter().map(|name| Chip::choose_supported(name)).collect::<Result<Vec<_>, _>>();
        let chips = chips.map_err(ArgumentError::from)?;
        let chips = if chips.is_empty() { self.chips.clone() } else { chips };
        Ok(Line { chips, options: linked(tuned(&read.tuning)?, read.linked) })
    }
}

/// The message of an error without its usage, which speaks of a command.
fn first_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

/// Sends each line of standard input, in a thread of its own. The end of the input ends nothing but the thread.
pub fn read(sender: Sender<Happening>) {
    std::thread::spawn(move || {
        let lines = std::io::stdin().lock().lines().map_while(Result::ok);
        lines.map(Happening::Line).all(|line| sender.send(line).is_ok());
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_replaces_the_options_of_the_command_line() {
        let chip = |name: &str| name.parse::<Chip>().expect("a chip");
        let mut options = Options::default();
        options.level = 1;
        let line = Line { chips: vec![chip("sm_90")], options };
        let changed = |text: &str| {
            line.changed(text)
                .map(|line| (line.options.level, line.chips.iter().map(Chip::to_string).collect()))
                .map_err(|error| error.to_string())
        };
        let sm_90 = vec!["sm_90".to_owned()];
        assert_eq!(changed("-O2"), Ok((2, sm_90.clone())));
        assert_eq!(
            changed("--knob schedule-mode=0"),
            Ok((3, sm_90.clone())),
            "not the level of the command line"
        );
        assert_eq!(changed("--arch sm_80,sm_100"), Ok((3, vec!["sm_80".to_owned(), "sm_100".to_owned()])));
        assert_eq!(changed("  "), Ok((1, sm_90)));
        assert_eq!(changed("--arch sm_1").map_err(|error| error.contains("sm_1")), Err(true));
        assert!(changed("-O9").is_err() && changed("k.ptx").is_err() && changed("--knob none=1").is_err());
    }
}
