//! The latency table of a chip as text: units, result latencies and distances between instructions.
//!
//! It is here so that readers of a table and of the pairs that code depends on see the same lines. It has no
//! latencies of its own.

use std::fmt::Write as _;

use oriole_chip::Chip;
use oriole_diagnostics::{Diagnostic, Span};
use oriole_inputs::{Config, Database};
use oriole_latency::{Model, Unit};
use oriole_options::Options;
use oriole_queries::{Failed, view};
use oriole_sass::form::Table;
use oriole_sass::{Mods, Op};

/// The warning about a chip that no table knows.
pub fn stand_in_warning(chip: Chip) -> Option<Diagnostic> {
    oriole_hir::stand_in(chip, Span::default())
}

/// The table of a chip: a line for each opcode that the chip has, and one for each pair; with `guesses` only the pairs that
/// are guesses.
///
/// # Errors
/// There is no table for the chip.
pub fn latencies(chip: Chip, guesses: bool) -> Result<String, Failed> {
    let db = Database::default();
    let config = Config::create(&db, chip, &Options::default());
    let model = view::latencies(&db, config)?;
    let forms = view::forms(&db, config)?;
    Ok(table(model.0, forms.0, guesses))
}

fn table(model: &Model, forms: &Table, guesses: bool) -> String {
    let mut text = String::new();
    if !guesses {
        for &op in Op::all().iter().filter(|&&op| !forms.forms_of(op).is_empty()) {
            opcode(model, op, &mut text);
        }
    }
    for pair in model.listed().iter().filter(|pair| !guesses || pair.is_guess()) {
        let _ = writeln!(text, "{pair}");
    }
    text
}

fn opcode(model: &Model, op: Op, text: &mut String) {
    let none = Mods::none();
    let busy = model.resources(op, &none);
    let units = Unit::ALL.into_iter().filter(|&unit| busy[unit as usize] > 0);
    let units: Vec<String> = units.map(|unit| format!("{} {}", unit.name(), busy[unit as usize])).collect();
    let result = if model.is_variable(op, &none) {
        format!("by scoreboard, about {} cycles", model.estimate(op))
    } else {
        "fixed".to_owned()
    };
    let (class, stall) = (model.class(op, &none), model.minimum_stall(op, &none));
    let _ = writeln!(
        text,
        "{:<16} {class:?}, {result}, unit {} cycles, least stall {stall} cycles",
        op.name(),
        units.join(", "),
    );
}
