//! `oriole view`: a page about a file, for a browser. Its contents are `oriole-explore`'s.

use crate::arguments::{Linked, Target, View};
use crate::files::device::{self, Asked};
use crate::files::input;
use crate::files::output::Output;
use crate::names;
use crate::outcome::{Outcome, failed, misused};
use crate::render;
use crate::session::{linked, options, threads};
use oriole_chip::Chip;
use oriole_explore::{FileView, Question, gather, page};
use oriole_ide::{AnalysisHost, Language, Settings, SettingsId};
use oriole_options::Options;

/// Runs `oriole view`.
pub fn view(arguments: &View) -> Outcome {
    let (chip, options) = match options(&arguments.target) {
        Ok(read) => read,
        Err(message) => return misused(message),
    };
    let options = linked(options, arguments.linked);
    let output = match &arguments.output {
        Some(path) => Output::new(path, &arguments.input),
        None if input::is_standard(&arguments.input) => {
            return misused("standard input has no name: name the output file with -o");
        }
        None => Output::new(&arguments.input.with_extension("html"), &arguments.input),
    };
    let output = match output {
        Ok(output) => output,
        Err(message) => return failed(message),
    };
    let asked =
        Asked { kernels: &arguments.kernels, ..Asked::of(&arguments.target.arch, &arguments.which.image) };
    let text = match device::text(&arguments.input, asked) {
        Ok(text) => text,
        Err(error) => return error.report(),
    };
    let gathered = match gathered(arguments, &text, chip, options) {
        Ok(gathered) => gathered,
        Err(outcome) => return outcome,
    };
    match output.write(page(&gathered).as_bytes()) {
        Ok(()) => Outcome::Right,
        Err(message) => failed(message),
    }
}

/// The facts of the page, or how the command ends without one, after it has printed the reason.
fn gathered(arguments: &View, text: &str, chip: Option<Chip>, options: Options) -> Result<FileView, Outcome> {
    const SHARED: SettingsId = SettingsId(0);
    let shown = input::shown(&arguments.input);
    let mut host = AnalysisHost::new();
    let words = in_words(&arguments.target, arguments.linked, &options);
    host.set_settings(SHARED, Settings { targets: chip.into_iter().collect(), options });
    let file = host.open(Language::Ptx, text, SHARED);
    let analysis = host.analysis();
    // Nothing changes and nothing cancels here: each answer is there.
    let answered = || -> oriole_ide::Cancellable<Result<FileView, Outcome>> {
        let targets = analysis.targets(file)?;
        let Some(&chip) = targets.first() else { return Ok(Err(failed("the file names no chip"))) };
        let Some((compiled, _)) = analysis.compile(file, chip, threads(arguments.jobs))? else {
            return Ok(Err(failed(format!("{shown}: it does not compile"))));
        };
        render::to_terminal(&shown, text, &compiled.diagnostics);
        if compiled.cubin.is_none() {
            return Ok(Err(Outcome::Failed));
        }
        let kernels = analysis.kernels(file)?;
        let known: Vec<&str> = kernels.iter().map(String::as_str).collect();
        let mut only = Vec::new();
        for asked in &arguments.kernels {
            match names::one_of("kernel", &known, asked) {
                Ok(name) => only.push(name.to_owned()),
                Err(message) => return Ok(Err(misused(format!("{shown}: {message}")))),
            }
        }
        let question =
            Question { file: &shown, chip, options: &words, only: &only, demangle: names::are_demangled() };
        let view = match gather(&analysis, file, &question)? {
            Ok(view) => view,
            Err(message) => return Ok(Err(failed(format!("{shown}: {message}")))),
        };
        if view.kernels.is_empty() {
            return Ok(Err(failed(format!("{shown}: there is no kernel"))));
        }
        Ok(Ok(view))
    };
    answered().unwrap_or_else(|_| Err(failed("the compile was cancelled")))
}

/// The options that were asked for, as they stand on a command line.
pub fn in_words(target: &Target, linked: Linked, options: &Options) -> String {
    let tuning = &target.tuning;
    let mut words = vec![format!("-O{}", options.level)];
    if linked.compile_only {
        words.push("-c".to_owned());
    }
    if !tuning.fmad {
        words.push("--fmad false".to_owned());
    }
    let debug = [
        (tuning.device_debug, "--device-debug"),
        (tuning.generate_line_info, "--generate-line-info"),
        (tuning.suppress_debug_info, "--suppress-debug-info"),
    ];
    words.extend(debug.into_iter().filter(|(asked, _)| *asked).map(|(_, word)| word.to_owned()));
    words.extend(tuning.maxrregcount.map(|count| format!("--maxrregcount {count}")));
    words.extend(tuning.knobs.iter().map(|knob| format!("--knob {knob}")));
    words.extend(tuning.switches.iter().map(|switch| format!("--debug-switch {switch}")));
    words.join(" ")
}
