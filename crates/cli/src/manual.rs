//! Completions for shells and pages for `man`, both made of the same description that parses the command line.
//!
//! It is here so that packages ship what the program itself says; no command is described here.

use crate::arguments::{Arguments, Completions, Man};
use crate::files::FileError;
use crate::files::output::Output;
use crate::outcome::{Outcome, failed, print};
use clap::CommandFactory;
use std::path::Path;

/// `oriole completions`
pub fn completions(arguments: &Completions) -> Outcome {
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut command(), "oriole", &mut text);
    print(&String::from_utf8_lossy(&text))
}

/// `oriole man`
pub fn man(arguments: &Man) -> Outcome {
    let mut all = command();
    all.build();
    let written = std::fs::create_dir_all(&arguments.folder)
        .map_err(FileError::of(&arguments.folder))
        .and_then(|()| write_pages(&all, &arguments.folder));
    written.map_or_else(failed, |()| Outcome::Right)
}

fn command() -> clap::Command {
    Arguments::<crate::arguments::Command>::command()
}

/// The page of a command and those of the commands below it.
fn write_pages(command: &clap::Command, folder: &Path) -> Result<(), FileError> {
    let page = clap_mangen::Man::new(command.clone())
        .source(concat!("oriole ", env!("CARGO_PKG_VERSION")))
        .manual("Oriole");
    let mut text = Vec::new();
    let path = folder.join(page.get_filename());
    page.render(&mut text).map_err(FileError::of(&path))?;
    Output::anywhere(&path)?.write(&text)?;
    command
        .get_subcommands()
        .filter(|below| below.get_name() != "help")
        .try_for_each(|below| write_pages(below, folder))
}
