//! `oriole compile` and `oriole check`.

use crate::arguments::{Check, Compile, MessageFormat};
use crate::outcome::{Outcome, failed, misused, write_atomically};
use crate::render;
use crate::session::{Session, options, read_text, threads};
use oriole_chip::Chip;
use oriole_diagnostics::Diagnostic;
use oriole_options::Options;
use std::fmt::Write as _;
use std::path::Path;

/// Runs `oriole compile`.
pub fn compile(arguments: &Compile) -> Outcome {
    let (chip, options) = match options(&arguments.target) {
        Ok(read) => read,
        Err(message) => return misused(&message),
    };
    let text = match read_text(&arguments.input) {
        Ok(text) => text,
        Err(message) => return failed(&message),
    };
    let session = Session::new(&text, chip, &options);
    let compiled =
        oriole_queries::compile(&session.db, session.file, session.config, threads(arguments.jobs));
    render::to_terminal(&arguments.input.display().to_string(), &text, &compiled.findings);
    let Some(cubin) = compiled.cubin else { return Outcome::Failed };
    let output = match &arguments.output {
        Some(path) => path.clone(),
        None => arguments.input.with_extension("cubin"),
    };
    if let Err(message) = write_atomically(&output, &cubin) {
        return failed(&message);
    }
    if arguments.verbose {
        report(&cubin, chip);
    }
    if arguments.time_passes {
        times(&session, &text, chip, &options);
    }
    Outcome::Right
}

/// What each kernel needs, as read back from the finished file.
fn report(bytes: &[u8], chip: Chip) {
    let Ok(cubin) = oriole_cubin::read(bytes) else { return };
    for kernel in &cubin.kernels {
        let mut line = format!("{}: {} registers", kernel.name, kernel.registers);
        let _ = write!(line, ", {} bytes stack frame", kernel.frame_size);
        if kernel.barriers > 0 {
            let _ = write!(line, ", {} barriers", kernel.barriers);
        }
        if kernel.shared_size > 0 {
            let _ = write!(line, ", {} bytes shared", kernel.shared_size);
        }
        let threads = 256;
        let usage =
            oriole_chip::Usage { registers: kernel.registers, threads, shared: kernel.shared_size as u32 };
        if let Some(occupancy) = oriole_chip::occupancy(chip, usage) {
            let _ = write!(line, ", {} warps per SM with blocks of {threads}", occupancy.warps);
        }
        eprintln!("{line}");
    }
}

/// Runs the phases once more, straight through, and prints the time of each.
fn times(session: &Session, text: &str, chip: Chip, options: &Options) {
    use std::cell::RefCell;
    use std::collections::BTreeMap;
    use std::time::{Duration, Instant};

    #[derive(Default)]
    struct Clock {
        started: RefCell<Option<Instant>>,
        spent: RefCell<BTreeMap<u16, (&'static str, Duration)>>,
    }
    impl oriole_pipeline::Observer for Clock {
        fn before(&self, _: &oriole_pipeline::Phase) {
            *self.started.borrow_mut() = Some(Instant::now());
        }
        fn after(&self, phase: &oriole_pipeline::Phase, _: &oriole_ori::Function) {
            let spent = self.started.borrow().map_or(Duration::ZERO, |start| start.elapsed());
            self.spent.borrow_mut().entry(phase.number).or_insert((phase.name, Duration::ZERO)).1 += spent;
        }
    }

    let _ = session;
    let module = oriole_hir::resolve_module(text);
    let settings = oriole_pipeline::Settings::new(chip, options);
    let clock = Clock::default();
    let context = oriole_pipeline::Context { observer: &clock, ..oriole_pipeline::Context::new(&settings) };
    let mut stages: BTreeMap<&'static str, Duration> = BTreeMap::new();
    for (_, _, resolved) in &module.functions {
        let mut timed =
            |name: &'static str, start: Instant| *stages.entry(name).or_default() += start.elapsed();
        let start = Instant::now();
        let Ok(mut function) = oriole_pipeline::lower(&resolved.body, &context) else { continue };
        timed("bridged", start);
        let mut broken = false;
        for group in oriole_pipeline::ORI_GROUPS.into_iter().skip(1) {
            let start = Instant::now();
            match oriole_pipeline::run(group, function.clone(), &context) {
                Ok(next) => function = next,
                Err(_) => broken = true,
            }
            timed(group.name(), start);
        }
        if broken {
            continue;
        }
        let start = Instant::now();
        let Ok(allocated) = oriole_pipeline::allocate(function, &context) else { continue };
        timed("allocated", start);
        let start = Instant::now();
        let Ok(machine) = oriole_pipeline::select(&allocated, &context) else { continue };
        timed("selected", start);
        let start = Instant::now();
        let Ok(finished) = oriole_pipeline::finish(machine, &context) else { continue };
        timed("finished", start);
        let start = Instant::now();
        let _ = oriole_pipeline::encode(&resolved.body, &allocated, &finished, &context);
        timed("encoded", start);
    }
    for (name, spent) in stages {
        eprintln!("{:>10.3} ms  {name}", spent.as_secs_f64() * 1e3);
    }
    for (number, (name, spent)) in clock.spent.borrow().iter() {
        eprintln!("{:>10.3} ms  {number:>3} {name}", spent.as_secs_f64() * 1e3);
    }
}

/// Runs `oriole check`.
pub fn check(arguments: &Check) -> Outcome {
    let text = match read_text(&arguments.input) {
        Ok(text) => text,
        Err(message) => return failed(&message),
    };
    let chip = match &arguments.arch {
        None => None,
        Some(name) => match name.parse::<Chip>() {
            Ok(chip) => Some(chip),
            Err(error) => return misused(&format!("--arch: {error}")),
        },
    };
    let session = Session::new(&text, chip.unwrap_or(Chip::SM_90), &Options::default());
    let mut findings = oriole_queries::findings(&session.db, session.file);
    if chip.is_some() {
        findings.extend(oriole_queries::target_findings(&session.db, session.file, session.config));
    }
    let path = arguments.input.display().to_string();
    match arguments.message_format {
        MessageFormat::Human => render::to_terminal(&path, &text, &findings),
        MessageFormat::Json => render::to_json(&path, &text, &findings),
    }
    verdict(&findings)
}

fn verdict(findings: &[Diagnostic]) -> Outcome {
    if findings.iter().any(Diagnostic::is_error) { Outcome::Failed } else { Outcome::Right }
}

/// Compiles a text for another command; findings go to the terminal.
pub fn cubin_of(
    path: &Path,
    text: &str,
    chip: Chip,
    options: &Options,
) -> Result<std::sync::Arc<Vec<u8>>, String> {
    let session = Session::new(text, chip, options);
    let compiled = oriole_queries::compile(&session.db, session.file, session.config, 1);
    match compiled.cubin {
        Some(cubin) => Ok(cubin),
        None => {
            let first = compiled.findings.iter().find(|finding| finding.is_error());
            Err(format!("{}: {}", path.display(), first.map_or("no result".to_owned(), ToString::to_string)))
        }
    }
}
