//! `oriole diff`: the code of two cubins, or of PTX compiled in two ways, next to each other. `oriole-explore` compares it and
//! lays it out.

use crate::arguments::{Diff, Linked, Target};
use crate::files::DeviceError;
use crate::files::device::{self, Asked};
use crate::files::input;
use crate::files::output::Output;
use crate::names::{self, UnclearName};
use crate::outcome::{Outcome, failed, misused, print};
use crate::progress;
use crate::render;
use crate::session::{jobs, linked, options};
use crate::view::in_words;
use clap::Parser;
use oriole::program::{Opened, Progress};
use oriole_chip::Chip;
use oriole_explore::{Code, Comparison, Manner, Side, comparison_json, comparison_page, comparison_text};
use oriole_ide::demangle::{self, Unclear};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

/// The options after `--`.
#[derive(Parser, Debug)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct Others {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    linked: Linked,
}

/// A file to compare, by its contents.
#[derive(Clone)]
enum Given {
    Cubin(Cubin),
    Ptx(String),
}

/// Machine code.
#[derive(Clone)]
struct Cubin {
    label: String,
    code: Code,
    /// Whether it is one image of a file that may hold several.
    is_chosen: bool,
}

/// Runs `oriole diff`.
pub fn diff(arguments: &Diff) -> Outcome {
    let result = output(arguments).and_then(|output| Ok((compared(arguments)?, output)));
    let (comparison, output) = match result {
        Ok(result) => result,
        Err(outcome) => return outcome,
    };
    let demangled = names::are_demangled();
    let written = match output {
        Some(output) => output
            .write(comparison_page(&comparison, demangled).as_bytes())
            .map_or_else(failed, |()| Outcome::Right),
        None if arguments.json => print(&format!("{}\n", comparison_json(&comparison))),
        None => {
            let context = (!arguments.all).then_some(arguments.context);
            print(&comparison_text(&comparison, demangled, context))
        }
    };
    if arguments.exit_code && !comparison.is_same() { Outcome::Failed } else { written }
}

/// The files that are compared.
fn paths(arguments: &Diff) -> [&Path; 2] {
    [&arguments.first, arguments.second.as_ref().unwrap_or(&arguments.first)]
}

/// Where the page goes, if one is asked for: over neither of the files.
fn output(arguments: &Diff) -> Result<Option<Output>, Outcome> {
    let Some(page) = &arguments.html else { return Ok(None) };
    let [first, second] = paths(arguments).map(|input| Output::new(page, input));
    first.and(second).map(Some).map_err(failed)
}

fn compared(arguments: &Diff) -> Result<Comparison, Outcome> {
    if arguments.second.is_none() && arguments.others.is_none() && arguments.second_image.is_none() {
        let message = "compare with what? Name a second file, or options for the same one behind `--`";
        return Err(misused(message));
    }
    let first = &arguments.target;
    let target = |words: &[OsString]| Others::try_parse_from(words).map_err(|error| misused(said(&error)));
    let plain = target(&[])?.target;
    let (second, second_linked) = match &arguments.others {
        Some(words) => {
            let Others { target, linked } = target(words)?;
            (Target { arch: target.arch.or_else(|| first.arch.clone()), ..target }, linked)
        }
        None => (first.clone(), arguments.linked),
    };
    let paths = paths(arguments);
    let image = arguments.which.image.as_deref();
    let given = read(paths[0], first, image, &arguments.kernels)?;
    // Of a file with several images two may be compared.
    let again = arguments.second.is_some() || matches!(&given, Given::Cubin(one) if one.is_chosen);
    let other = arguments.second_image.as_deref().or(image);
    let other = if again { read(paths[1], &second, other, &arguments.kernels)? } else { given.clone() };
    let given = [given, other];
    // The chip of a file with several images is a choice among them.
    let tuned =
        |target: &Target, chosen: bool| target.tuning != plain.tuning || target.arch.is_some() && !chosen;
    let asked = match &given {
        [Given::Cubin(one), Given::Cubin(other)] => {
            let chosen = one.is_chosen || other.is_chosen;
            let links = arguments.linked.compile_only || second_linked.compile_only;
            links || tuned(first, chosen) || tuned(&second, chosen)
        }
        [_, Given::Cubin(_)] => arguments.others.is_some(),
        _ => false,
    };
    if asked {
        return Err(misused("a cubin is compiled already: there is nothing that options could change"));
    }
    let chip = |of: &Given| match of {
        Given::Cubin(cubin) => Some(cubin.code.chip),
        Given::Ptx(_) => None,
    };
    let beside = [chip(&given[1]), chip(&given[0])];
    let [one, other] = given;
    let sides = [
        side(arguments, paths[0], one, (first, arguments.linked), beside[0])?,
        side(arguments, paths[1], other, (&second, second_linked), beside[1])?,
    ];
    let only = chosen(&sides, &arguments.kernels).map_err(misused)?;
    let comparison = Comparison::new(&sides, &only, Manner { exact: arguments.exact });
    if comparison.pairs.is_empty() && comparison.alone.iter().all(Vec::is_empty) {
        return Err(failed("there is no kernel"));
    }
    Ok(comparison)
}

/// The symbols of the kernels that are asked for, on either side: one side may lack some.
fn chosen(sides: &[Side; 2], asked: &[String]) -> Result<Vec<String>, UnclearName> {
    let known = sides
        .each_ref()
        .map(|side| side.code.kernels.iter().map(|kernel| kernel.name.as_str()).collect::<Vec<_>>());
    let mut only = Vec::new();
    for asked in asked {
        let found = known.each_ref().map(|names| demangle::meant(names, asked));
        match found {
            [Err(Unclear::Unknown), Err(Unclear::Unknown)] => {
                return Err(UnclearName::Unknown { what: "kernel", asked: asked.clone() });
            }
            [one, other] => {
                for (found, known) in [one, other].into_iter().zip(&known) {
                    match found {
                        Ok(name) => only.push(name.to_owned()),
                        Err(Unclear::Unknown) => {}
                        Err(Unclear::Several(_)) => drop(names::one_of("kernel", known, asked)?),
                    }
                }
            }
        }
    }
    Ok(only)
}

/// The error of the words after `--`, without the help below it.
fn said(error: &clap::Error) -> String {
    let text = error.to_string();
    let message = text.lines().next().unwrap_or_default();
    format!("behind `--`: {}", message.strip_prefix("error: ").unwrap_or(message))
}

fn read(path: &Path, target: &Target, image: Option<&str>, kernels: &[String]) -> Result<Given, Outcome> {
    let asked = Asked { chip: target.arch.as_deref(), image, kernels, strict: false };
    let image = match device::either(path, asked).map_err(DeviceError::report)? {
        device::Given::Text(text) => return Ok(Given::Ptx(text)),
        device::Given::Cubin(image) => image,
    };
    let code = Code::read(&image.bytes).map_err(|message| failed(format!("{}: {message}", image.label)))?;
    Ok(Given::Cubin(Cubin { label: image.label, code, is_chosen: image.number.is_some() }))
}

/// A file as one side of the comparison, compiled if it is PTX: for the chip of its options, else for that of the other cubin.
fn side(
    arguments: &Diff,
    path: &Path,
    given: Given,
    (target, linking): (&Target, Linked),
    beside: Option<Chip>,
) -> Result<Side, Outcome> {
    let shown = input::shown(path);
    let text = match given {
        Given::Cubin(Cubin { label, code, .. }) => return Ok(Side { label, code, spills: BTreeMap::new() }),
        Given::Ptx(text) => text,
    };
    let (chip, options) = options(target).map_err(misused)?;
    let options = linked(options, linking);
    let session = Opened::looking(&text, chip.or(beside), &options);
    let jobs = jobs(arguments.jobs, &session);
    let compile = |progress: &Progress| session.compile_watched(jobs, progress);
    let compiled =
        if arguments.json { compile(&Progress::default()) } else { progress::watched(text.len(), compile) };
    render::to_terminal(&shown, &text, &compiled.diagnostics);
    let Some(cubin) = compiled.cubin else { return Err(Outcome::Failed) };
    let code = Code::read(&cubin).map_err(|message| failed(format!("{shown}: {message}")))?;
    let spills = session.resources().into_iter();
    Ok(Side {
        label: format!("{shown} {}", in_words(target, linking, &options)),
        code,
        spills: spills.map(|needs| (needs.name, (needs.spill_stores, needs.spill_loads))).collect(),
    })
}
