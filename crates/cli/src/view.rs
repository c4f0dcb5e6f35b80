//! `oriole view`: a page about a file, for a browser. Its contents are `oriole-explore`'s; what is shown is made in `subject`,
//! the timing model's heat in `heat`, and `serve` answers a page that is served. No HTML is written here.

mod gate;
mod heat;
mod serve;
mod subject;

use crate::arguments::{Linked, Target, View};
use crate::files::input;
use crate::files::output::Output;
use crate::outcome::{Outcome, failed, misused};
use crate::render;
use crate::session::threads;
use oriole_explore::page;
use oriole_options::Options;
use subject::{Opened, Subject};

/// Runs `oriole view`.
pub fn view(arguments: &View) -> Outcome {
    let subject = match Subject::new(arguments) {
        Ok(subject) => subject,
        Err(trouble) => return trouble.report(),
    };
    if arguments.serve {
        return serve::serve(&subject);
    }
    let output = match &arguments.output {
        Some(path) => Output::new(path, &arguments.input),
        None if input::is_standard(&arguments.input) => {
            return misused("standard input has no name: name the output file with -o");
        }
        None => Output::new(&arguments.input.with_extension("html"), &arguments.input),
    };
    match output {
        Ok(output) => write(&subject, &output),
        Err(message) => failed(message),
    }
}

fn write(subject: &Subject<'_>, output: &Output) -> Outcome {
    let opened = subject.read().map(Opened::new);
    let opened = match opened {
        Ok(opened) => opened,
        Err(trouble) => return trouble.report(),
    };
    let analysis = opened.host.analysis();
    // Nothing changes and nothing cancels here: each answer is there.
    let answered = || -> oriole_ide::Cancellable<Outcome> {
        let shown = subject.shown(&opened, &analysis)?;
        render::to_terminal(&subject.name, opened.text(), &shown.diagnostics);
        let view = match shown.view {
            Ok(view) => view,
            Err(trouble) => return Ok(trouble.report()),
        };
        let text = match page(&view, &analysis, threads(subject.arguments.jobs))? {
            Ok(text) => text,
            Err(error) => return Ok(failed(format!("{}: {error}", subject.name))),
        };
        Ok(output.write(text.as_bytes()).map_or_else(failed, |()| Outcome::Right))
    };
    answered().unwrap_or_else(|_| failed("the compile was cancelled"))
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
