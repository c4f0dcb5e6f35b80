//! Instruction selection for readers: the chosen forms of a function, why they were chosen, and how often each row wins.
//!
//! It is here so that the reasons of passes and of selection are laid out in one way. No pattern is known here.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use oriole_diagnostics::Diagnostic;
use oriole_pipeline::{Decision, Explained};
use oriole_queries::{Failed, configuration, functions, view};
use oriole_sass::Style;

use crate::compiled::Function;

/// Writes the machine instructions of a function under its name for readers, block by block; with `explain` with the
/// decisions of passes before them, and for each instruction the rows of its operation.
///
/// # Errors
/// The function does not compile so far: the reasons, unless the diagnostics of the file say them.
pub fn write_selection(
    function: &Function<'_>,
    explain: bool,
    text: &mut String,
) -> Result<(), Vec<Diagnostic>> {
    written(function, explain, text).map_err(|failed| function.diagnosed(&failed))
}

fn written(function: &Function<'_>, explain: bool, text: &mut String) -> Result<(), Failed> {
    let &Function { db, unit, config, .. } = function;
    let chip = configuration::chip_info(db, config);
    let machine = functions::selected(db, unit, config).as_ref().map_err(Clone::clone)?;
    let _ = writeln!(text, "// {}", function.shown());
    let mut reasons = None;
    if explain {
        reasons = Some(view::explained(db, unit, config)?);
        decided(&view::decisions(db, unit, config)?, text);
    }
    let mut reasons = reasons.iter().flat_map(|blocks| blocks.iter());
    for (id, block) in machine.blocks.iter_enumerated() {
        let _ = writeln!(text, "{id}:");
        let mut reasons = reasons.next().into_iter().flatten();
        for chosen in &block.instructions {
            let line = oriole_sass::text(chip, &chosen.instruction, None, Style::Plain)
                .unwrap_or_else(|error| error.to_string());
            let _ = writeln!(text, "  {line}");
            if let Some(reasons) = reasons.next() {
                rows(reasons, text);
            }
        }
    }
    Ok(())
}

/// The decisions of the passes: each contest with the winner, and why a cheaper alternative was not possible.
fn decided(decisions: &[Decision], text: &mut String) {
    for decision in decisions {
        let _ =
            writeln!(text, "  statement {}, before allocation: {}", decision.origin.0, decision.contest.name);
        for (index, alternative) in decision.contest.alternatives.iter().enumerate() {
            let verdict = match decision.impossible.get(index) {
                Some(reason) => format!("lost: {reason}"),
                None if index == decision.chosen => "chosen".to_owned(),
                None => "lost: costs more".to_owned(),
            };
            let _ = writeln!(text, "    {:>4} {}: {verdict}", alternative.cost.total(), alternative.name);
        }
    }
}

/// The instruction before selection, and each row for its operation: its priority, and why it won or lost.
fn rows(explained: &Explained, text: &mut String) {
    let _ = writeln!(text, "    from {}", explained.before);
    let mut won = false;
    for candidate in &explained.candidates {
        let verdict = match &candidate.failed {
            None if std::mem::replace(&mut won, true) => "lost: less specific".to_owned(),
            None => "chosen".to_owned(),
            Some(test) => format!("lost: {test}"),
        };
        let _ = writeln!(text, "    {:>4} {}: {verdict}", candidate.priority, candidate.name);
    }
}

/// How often each row and each alternative was chosen.
#[derive(Clone, Default, Debug)]
pub struct Wins(BTreeMap<String, usize>);

impl Wins {
    /// Adds those of a function.
    ///
    /// # Errors
    /// The function does not compile so far: the reasons, unless the diagnostics of the file say them.
    pub fn add(&mut self, function: &Function<'_>) -> Result<(), Vec<Diagnostic>> {
        self.added(function).map_err(|failed| function.diagnosed(&failed))
    }

    fn added(&mut self, function: &Function<'_>) -> Result<(), Failed> {
        let &Function { db, unit, config, .. } = function;
        functions::selected(db, unit, config).as_ref().map_err(Clone::clone)?;
        for explained in view::explained(db, unit, config)?.iter().flatten() {
            if let Some(winner) = explained.winner() {
                *self.0.entry(winner.name.to_owned()).or_default() += 1;
            }
        }
        for decision in view::decisions(db, unit, config)?.iter() {
            *self.0.entry(format!("{}: {}", decision.contest.name, decision.winner())).or_default() += 1;
        }
        Ok(())
    }
}

impl fmt::Display for Wins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(what, times)| writeln!(f, "{times:>7} {what}"))
    }
}
