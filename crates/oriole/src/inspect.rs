//! `oriole ori`, `isel`, `latency` and `lint`: what a phase left, what was chosen, what is known of the chip, what is
//! wrong with a cubin.

use crate::arguments::{Isel, Latency, Lint, Ori};
use crate::outcome::{Outcome, failed, misused, print};
use crate::render;
use crate::session::{options, read_text};
use oriole_chip::Chip;
use oriole_diagnostics::Code;
use oriole_hir::Resolved;
use oriole_pipeline::{Context, Settings, Work};
use std::fmt::Write as _;
use std::path::Path;

/// The functions of a file that are asked for; findings go to the terminal.
fn functions(path: &Path, only: Option<&str>) -> Result<Vec<(String, Resolved)>, Outcome> {
    let text = read_text(path).map_err(|message| failed(&message))?;
    let module = oriole_hir::resolve_module(&text);
    if module.has_errors() {
        render::to_terminal(&path.display().to_string(), &text, &module.diagnostics);
        return Err(Outcome::Failed);
    }
    let chosen: Vec<_> = module
        .functions
        .into_iter()
        .filter(|(name, ..)| only.is_none_or(|only| only == name))
        .map(|(name, _, resolved)| (name, resolved))
        .collect();
    match (chosen.is_empty(), only) {
        (true, Some(only)) => Err(misused(&format!("{}: there is no function `{only}`", path.display()))),
        _ => Ok(chosen),
    }
}

/// Runs `oriole ori`.
pub fn ori(arguments: &Ori) -> Outcome {
    let Some(phase) = oriole_pipeline::phases::find(&arguments.after) else {
        return misused(&format!("there is no phase `{}`", arguments.after));
    };
    if let Err(message) = phase.leaves_ori() {
        return failed(&format!("[{}] {message}", Code::PhaseNotAvailable));
    }
    let (chip, options) = match options(&arguments.target) {
        Ok(read) => read,
        Err(message) => return misused(&message),
    };
    let chosen = match functions(&arguments.input, arguments.function.as_deref()) {
        Ok(chosen) => chosen,
        Err(outcome) => return outcome,
    };
    let settings = Settings::new(chip, &options);
    let context = Context::new(&settings);
    let note = match phase.work {
        Work::By(_) => format!(": {} is {}", phase.name, phase.state()),
        _ => String::new(),
    };
    let mut text = String::new();
    for (name, resolved) in chosen {
        let function = oriole_pipeline::raw(&resolved.body, &context)
            .and_then(|raw| oriole_pipeline::run_until(phase, raw, &context));
        match function {
            Ok(function) if arguments.dot => text.push_str(&oriole_ori::dot::dot(&function)),
            Ok(function) => {
                let _ = writeln!(text, "// {name}{note}\n{function}");
            }
            Err(error) => return failed(&format!("{}: {name}: {error}", arguments.input.display())),
        }
    }
    print(&text)
}

/// Runs `oriole isel`.
pub fn isel(arguments: &Isel) -> Outcome {
    let (chip, options) = match options(&arguments.target) {
        Ok(read) => read,
        Err(message) => return misused(&message),
    };
    let chosen = match functions(&arguments.input, arguments.function.as_deref()) {
        Ok(chosen) => chosen,
        Err(outcome) => return outcome,
    };
    let settings = Settings::new(chip, &options);
    let context = Context::new(&settings);
    let mut text = String::new();
    for (name, resolved) in chosen {
        let selected = oriole_pipeline::lower(&resolved.body, &context)
            .and_then(|function| {
                oriole_pipeline::ORI_GROUPS
                    .into_iter()
                    .skip(1)
                    .try_fold(function, |function, group| oriole_pipeline::run(group, function, &context))
            })
            .and_then(|function| oriole_pipeline::allocate(function, &context))
            .and_then(|allocated| oriole_pipeline::select(&allocated, &context));
        let machine = match selected {
            Ok(machine) => machine,
            Err(error) => return failed(&format!("{}: {name}: {error}", arguments.input.display())),
        };
        let _ = writeln!(text, "// {name}");
        for (number, block) in machine.blocks.iter().enumerate() {
            let _ = writeln!(text, "b{number}:");
            for chosen in &block.instructions {
                let line = oriole_sass::text(chip, &chosen.instruction, None, oriole_sass::Style::Plain)
                    .unwrap_or_else(|error| error.to_string());
                let _ = writeln!(text, "  {line}");
                if arguments.explain {
                    explain(chip, chosen, &mut text);
                }
            }
        }
    }
    print(&text)
}

/// The forms that the opcode has, and which of them takes these operands.
fn explain(chip: Chip, chosen: &oriole_ori::MachineInstruction, text: &mut String) {
    let Some(table) = oriole_sass::form::table(chip) else { return };
    let op = chosen.instruction.op;
    for (id, form) in table.ids_of(op).zip(table.forms_of(op)) {
        let shape: Vec<String> = form.slots.iter().map(|slot| format!("{:?}", slot.kind)).collect();
        let _ = writeln!(
            text,
            "    {} opcode {:#05x}: {}",
            if id == chosen.form { "chosen" } else { "      " },
            form.opcode(),
            shape.join(", ")
        );
    }
}

/// Runs `oriole latency`.
pub fn latency(arguments: &Latency) -> Outcome {
    let chip = match arguments.arch.parse::<Chip>() {
        Ok(chip) => chip,
        Err(error) => return misused(&format!("--arch: {error}")),
    };
    let Some(model) = oriole_latency::Model::of(chip) else {
        return failed(&format!("there is no latency table for {chip}"));
    };
    let mut text = String::new();
    if arguments.guesses {
        for guess in model.guesses() {
            let _ = writeln!(
                text,
                "{} {} -> {}: {} cycles",
                guess.hazard, guess.producer, guess.consumer, guess.cycles
            );
        }
        return print(&text);
    }
    for &op in oriole_sass::Op::all() {
        let mods = oriole_sass::Mods::none();
        let class = oriole_latency::class(op, &mods);
        let report = if oriole_latency::is_variable(op, &mods) { "by scoreboard" } else { "fixed" };
        let _ = writeln!(text, "{:<16} {class:?} {report}", op.name());
    }
    print(&text)
}

/// Runs `oriole lint`.
pub fn lint(arguments: &Lint) -> Outcome {
    let (cubin, _) = match crate::dis::read_cubin(&arguments.cubin) {
        Ok(read) => read,
        Err(message) => return failed(&message),
    };
    let hazards = oriole_simulate::lint(&cubin);
    let mut text = String::new();
    for hazard in &hazards {
        if arguments.json {
            let value = serde_json::json!({ "kernel": hazard.kernel, "pc": hazard.pc, "other": hazard.other, "message": hazard.to_string() });
            let _ = writeln!(text, "{value}");
        } else {
            let _ = writeln!(text, "{hazard}");
        }
    }
    if !arguments.json {
        let _ = writeln!(text, "{} hazards", hazards.len());
    }
    print(&text);
    if hazards.is_empty() { Outcome::Right } else { Outcome::Failed }
}
