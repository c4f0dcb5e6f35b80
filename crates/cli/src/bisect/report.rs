//! The report of a search, as text and as JSON.

use crate::names;
use crate::outcome::{Outcome, print};
use oriole_explore::OptionalPhase;
use std::fmt::Write as _;

/// All that is known of a wrong launch.
pub struct Report {
    pub launch: String,
    pub kernel: String,
    /// Each level up to that of the options, and whether the launch is right at it.
    pub levels: Vec<(u8, bool)>,
    pub complaint: String,
    /// The verdict on the interpreter.
    pub interpreter: &'static str,
    pub found: Option<Found>,
}

/// The step that makes it wrong.
pub struct Found {
    /// A phase over Ori.
    pub phase: Option<OptionalPhase>,
    /// Or the switch of a later stage, with its description.
    pub stage: Option<(&'static str, &'static str)>,
    /// Arguments that make it right, each alone.
    pub workarounds: Vec<String>,
    /// The number of the rewrite in the phase, from 1, if the phase counts them.
    pub rewrite: Option<u64>,
    /// Arguments with which it is wrong, and right with one rewrite less.
    pub again: Option<String>,
    /// The difference of Ori after the phase.
    pub difference: String,
}

impl Report {
    /// Prints it; the command succeeds if a step was found.
    pub fn show(&self, json: bool) -> Outcome {
        let printed = if json {
            print(&format!("{}\n", self.document()))
        } else {
            print(&names::explained(&self.text()))
        };
        if self.found.is_some() { printed } else { Outcome::Failed }
    }

    fn text(&self) -> String {
        let level = self.levels.last().map_or(0, |last| last.0);
        let mut out =
            format!("{}: kernel `{}` is wrong at -O{level}: {}\n", self.launch, self.kernel, self.complaint);
        let word = |right: bool| if right { "right" } else { "wrong" };
        let levels = self.levels.iter().map(|&(level, right)| format!("-O{level} {}", word(right)));
        let _ = writeln!(out, "  levels: {}", levels.collect::<Vec<_>>().join(", "));
        let _ = writeln!(out, "  interpreter: {}", self.interpreter);
        let Some(found) = &self.found else {
            let _ = writeln!(
                out,
                "  it is wrong without any optional phase: look at lowering, the expansions, allocation and encoding, and\n  \
                 at what is expected"
            );
            return out;
        };
        if let Some(phase) = found.phase {
            let _ = writeln!(out, "  phase: {} {}", phase.number, phase.name);
        }
        if let Some((switch, doc)) = found.stage {
            let _ = writeln!(out, "  step: what {switch} turns off ({doc})");
        }
        match found.workarounds.as_slice() {
            [] => out += "  no switch alone makes it right\n",
            some => {
                let _ = writeln!(out, "  right with: {}", some.join(", or "));
            }
        }
        match (found.rewrite, &found.again) {
            (Some(count), Some(again)) => {
                let _ = writeln!(out, "  rewrite: number {count} of the phase; again with {again}");
            }
            (Some(count), None) => {
                let _ = writeln!(out, "  rewrite: number {count} of the phase");
            }
            (None, _) if found.phase.is_some() => {
                out += "  rewrite: the phase as a whole, which does not count this one\n";
            }
            _ => {}
        }
        out + &found.difference
    }

    fn document(&self) -> serde_json::Value {
        let levels =
            self.levels.iter().map(|&(level, right)| serde_json::json!({ "level": level, "right": right }));
        let mut value = serde_json::json!({
            "name": self.launch, "kernel": self.kernel, "error": self.complaint,
            "levels": levels.collect::<Vec<_>>(), "interpreter": self.interpreter,
        });
        if let Some(found) = &self.found {
            let phase = found.phase;
            value["phase"] =
                phase.map(|phase| serde_json::json!({ "number": phase.number, "name": phase.name })).into();
            value["stage"] = found.stage.map(|stage| stage.0).into();
            value["right_with"] = found.workarounds.clone().into();
            value["rewrite"] = found.rewrite.into();
            value["again"] = found.again.clone().into();
            value["difference"] = found.difference.clone().into();
        }
        value
    }
}
