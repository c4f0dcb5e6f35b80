//! Developer commands: `oracle` fetches NVIDIA's tools for tests, `guard-data` generates with them the input of some
//! tests, `tidy` checks the house rules, `codegen` regenerates tables, `isa` writes the form table of a new chip,
//! `release` builds the program for release, `wheel` the Python package, `dist` all packages for users, `bench`
//! measures against ptxas, `selection` counts selected instructions, `shapes` shows how compile time and memory grow. Nothing
//! here is needed to build or to use Oriole.

mod bench;
mod codegen;
mod comments;
mod crate_files;
mod dist;
mod form_counts;
mod guard_data;
mod how_to;
mod isa;
mod llvm;
mod machine_numbers;
mod oracle;
mod order;
mod packages;
mod ptx_table;
mod reach;
mod release;
mod seed_map;
mod selection;
mod shapes;
mod source_files;
mod tidy;
mod train;
mod typed_ids;
mod wheel;
mod words;

use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (command, rest) = match arguments.split_first() {
        Some((command, rest)) => (command.as_str(), rest),
        None => ("", &[][..]),
    };
    let result = match command {
        "oracle" => oracle::run(rest),
        "guard-data" => guard_data::run(rest),
        "tidy" => tidy::run(rest),
        "bench" => bench::run(rest),
        "codegen" => codegen::run(rest),
        "dist" => dist::run(rest),
        "isa" => isa::run(rest),
        "release" => release::run(rest),
        "selection" => selection::run(rest),
        "shapes" => shapes::run(rest),
        "wheel" => wheel::run(rest),
        _ => {
            Err("usage: cargo xtask oracle | guard-data | tidy | codegen | dist | isa | bench | release | selection | shapes | wheel"
                .to_owned())
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// The root of the checkout.
fn root() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("xtask lies two folders deep")
        .to_owned()
}

/// Runs a command to its end.
///
/// # Errors
/// A command that cannot be started, or fails.
fn finished(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{name}: {status}")),
        Err(error) => Err(format!("{name}: {error}")),
    }
}
