//! `oriole run`: launch records on the PTX interpreter or the SASS simulator.

use crate::arguments::{Machine, Run};
use crate::checks;
use crate::code::{self, CompileError};
use crate::dis::DisError;
use crate::files::device::Asked;
use crate::hazards::{self, HazardError};
use crate::launch::{self, Launch, Value};
use crate::messages::{self, MessageFormat};
use crate::names;
use crate::outcome::{Outcome, misused};
use crate::session;
use oriole_checks::Checks;
use oriole_chip::Chip;
use oriole_machine_model::texture::Opaque;
use oriole_options::Options;
use oriole_simulate::Likeness;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The result of the interpreter or the simulator.
pub struct Result {
    /// Bytes of each argument that is a buffer.
    pub buffers: Vec<Option<Vec<u8>>>,
    instructions: u64,
    cycles: u64,
    hazards: Vec<String>,
    error: Option<String>,
}

impl Result {
    fn failed(launch: &Launch, error: String) -> Result {
        Result {
            buffers: vec![None; launch.arguments.len()],
            instructions: 0,
            cycles: 0,
            hazards: Vec::new(),
            error: Some(error),
        }
    }

    /// The outcome of a launch in the interpreter.
    fn interpreted(outcome: oriole_interp::Outcome) -> Result {
        Result {
            buffers: outcome.buffers,
            instructions: outcome.instructions,
            cycles: 0,
            hazards: Vec::new(),
            error: outcome.error.map(|error| error.to_string()),
        }
    }

    /// The outcome of a launch in the simulator, by argument: the simulator numbers buffers, the record arguments.
    pub fn simulated(launch: &Launch, outcome: oriole_simulate::Outcome) -> Result {
        let mut buffers = outcome.buffers.into_iter();
        let by_argument = launch.arguments.iter().map(|argument| match argument {
            Value::Buffer(_) | Value::Object(Opaque::Surface(_)) => buffers.next(),
            Value::Scalar(_) | Value::Alias(_) | Value::Map(..) | Value::Object(_) => None,
        });
        Result {
            buffers: by_argument.collect(),
            instructions: outcome.instructions,
            cycles: outcome.cycles,
            hazards: outcome.hazards.iter().map(ToString::to_string).collect(),
            error: outcome.error.map(|error| error.to_string()),
        }
    }

    /// The first thing that is wrong with it.
    pub fn complaint(&self, launch: &Launch) -> Option<String> {
        let mut complaint = self.error.clone();
        for (&argument, expectation) in &launch.expect {
            if complaint.is_none() {
                let got = self.buffers.get(argument).and_then(|bytes| bytes.as_deref()).unwrap_or(&[]);
                complaint = expectation.difference(argument, got);
            }
        }
        let hazards = || format!("{} hazards, the first: {}", self.hazards.len(), self.hazards[0]);
        complaint.or_else(|| (!self.hazards.is_empty()).then(hazards))
    }
}

/// Runs the command.
pub fn run(arguments: &Run) -> Outcome {
    let (chip, options) = match session::options(&arguments.target) {
        Ok(read) => read,
        Err(message) => return misused(message),
    };
    let asked = match checks::asked(arguments.check.as_deref(), arguments.on) {
        Ok(asked) => asked,
        Err(message) => return misused(message),
    };
    let launches = match launch::read(&arguments.launches) {
        Ok(launches) => launches,
        Err(message) => return misused(message),
    };
    if arguments.json && messages::format() != MessageFormat::Human {
        return misused("--json and --message-format are two formats of the same");
    }
    let mut runner = Runner {
        arguments,
        chip,
        options,
        cubins: BTreeMap::new(),
        outcomes: FxHashMap::default(),
        room: ROOM,
    };
    let (mut right, mut wrong, mut uncompared, mut faulty) = (0usize, 0usize, 0usize, 0usize);
    for launch in &launches {
        let (result, mut found) = match (arguments.on, asked) {
            (Machine::Interp, Some(asked)) => checked(launch, arguments, asked),
            (Machine::Interp, None) => (interpret(launch, arguments.step_limit), None),
            (Machine::Sim, _) => (runner.simulate(launch), None),
        };
        faulty += usize::from(found.as_ref().is_some_and(|found| found.faults > 0));
        let complaint = result.complaint(launch);
        match complaint {
            Some(_) => wrong += 1,
            None if launch.expect.is_empty() => uncompared += 1,
            None => right += 1,
        }
        if messages::format() != MessageFormat::Human
            && let Some(found) = &mut found
        {
            let path = launch.ptx.as_ref().and_then(|ptx| ptx.path.as_ref());
            found.give(&path.map_or(launch.name.clone(), |path| path.display().to_string()));
            found.text.clear();
        }
        print(arguments.json, launch, (&result, found.as_ref()), complaint.as_deref());
    }
    if !arguments.json {
        let ran = if uncompared == 0 {
            String::new()
        } else {
            format!("; {uncompared} ran, nothing to compare with")
        };
        let findings = if faulty == 0 { String::new() } else { format!("; {faulty} with findings") };
        eprintln!("{right} of {} right{ran}{findings}", right + wrong);
    }
    if wrong + faulty == 0 { Outcome::Right } else { Outcome::Failed }
}

/// Most elements of a buffer that are printed for people.
const SHOWN: usize = 16;

fn print(
    json: bool,
    launch: &Launch,
    (result, found): (&Result, Option<&checks::Found>),
    complaint: Option<&str>,
) {
    let verdict = match complaint {
        Some(_) => "wrong",
        None if launch.expect.is_empty() => "ran",
        None => "right",
    };
    if json {
        let args = result.buffers.iter().enumerate().map(|(argument, bytes)| {
            let Some(bytes) = bytes else { return serde_json::Value::Null };
            let mut value = serde_json::json!({ "bytes_hex": launch::encode(bytes) });
            if let Some(element) = launch.elements.get(&argument) {
                value["type"] = element.name().into();
                value["values"] = element.decode_all(bytes).collect();
            }
            value
        });
        let mut value = serde_json::json!({
            "name": launch.name, "verdict": verdict, "args": args.collect::<Vec<_>>(),
            "instructions": result.instructions, "cycles": result.cycles, "hazards": result.hazards,
        });
        if let Some(complaint) = complaint {
            value["error"] = complaint.into();
        }
        if let Some(found) = found {
            value["findings"] = found.document.clone();
        }
        crate::outcome::print(&format!("{value}\n"));
        return;
    }
    let mut lines = match complaint {
        Some(complaint) => format!("{}: wrong: {complaint}\n", launch.name),
        None if verdict == "ran" => format!("{}: ran, nothing to compare with\n", launch.name),
        None => format!("{}: right\n", launch.name),
    };
    for (argument, element) in &launch.elements {
        let (Some(Value::Buffer(before)), Some(Some(after))) =
            (launch.arguments.get(*argument), result.buffers.get(*argument))
        else {
            continue;
        };
        // Expected contents are known, and so are contents that did not change.
        if launch.expect.contains_key(argument) || before == after {
            continue;
        }
        let _ = write!(lines, "  argument {argument}, {}:", element.name());
        for value in element.decode_all(after).take(SHOWN) {
            let _ = match value {
                serde_json::Value::String(text) => write!(lines, " {text}"),
                number => write!(lines, " {number}"),
            };
        }
        let count = after.len() / element.bytes();
        let _ = if count > SHOWN { writeln!(lines, " ... ({count} in all)") } else { writeln!(lines) };
    }
    lines.extend(found.map(|found| found.text.as_str()));
    messages::result(&names::explained(&lines));
}

/// A launch in the interpreter, with checks.
fn checked(launch: &Launch, arguments: &Run, asked: Checks) -> (Result, Option<checks::Found>) {
    let Some(ptx) = &launch.ptx else { return (interpret(launch, None), None) };
    let source = match oriole_verify::Source::of(&ptx.text) {
        Ok(source) => source,
        Err(error) => return (Result::failed(launch, error.to_string()), None),
    };
    let report = oriole_checks::check(&source.program, &launch.for_interpreter(arguments.step_limit), asked);
    let found = checks::Found::new(&source, &report, arguments.limit);
    (Result::interpreted(report.outcome), Some(found))
}

/// A launch in the interpreter.
pub fn interpret(launch: &Launch, step_limit: Option<u64>) -> Result {
    let Some(ptx) = &launch.ptx else {
        return Result::failed(launch, "the launch gives no PTX".to_owned());
    };
    let program = match oriole_interp::Program::of_text(&ptx.text) {
        Ok(program) => program,
        Err(error) => return Result::failed(launch, error.to_string()),
    };
    Result::interpreted(oriole_interp::run(&program, &launch.for_interpreter(step_limit)))
}

/// Why there is no code to simulate.
#[derive(Debug, thiserror::Error)]
enum CodeError {
    /// The launch names no text, and the command line no cubin.
    #[error("the launch gives no PTX and there is no --cubin")]
    NoPtx,
    /// The text has errors.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// A cubin cannot be read.
    #[error(transparent)]
    File(#[from] DisError),
    /// The compiled code cannot be read back.
    #[error(transparent)]
    Cubin(#[from] oriole_cubin::read::ReadError),
    /// The compiled code has hazards.
    #[error(transparent)]
    Hazards(#[from] HazardError),
}

/// The code of a file, shared by all its launches, or the one reason why there is none.
type Read = std::result::Result<Arc<oriole_cubin::Cubin>, Arc<CodeError>>;

struct Runner<'a> {
    arguments: &'a Run,
    chip: Option<Chip>,
    options: Options,
    /// Compiled or read cubins by PTX path, so that many launches of one file compile once.
    cubins: BTreeMap<PathBuf, Read>,
    /// Outcomes of launches, by the parts of the code and its chip that a run depends on: of a kernel for several chips many are alike.
    outcomes: FxHashMap<Likeness, Vec<(oriole_simulate::Launch, oriole_simulate::Outcome)>>,
    /// Bytes that these may still take.
    room: usize,
}

/// Bytes of buffers in outcomes that are kept.
const ROOM: usize = 256 << 20;

impl Runner<'_> {
    fn simulate(&mut self, launch: &Launch) -> Result {
        let cubin = match self.cubin(launch) {
            Ok(cubin) => cubin,
            Err(error) => return Result::failed(launch, error.to_string()),
        };
        let defaults = oriole_simulate::Options::default();
        let options = oriole_simulate::Options {
            perturb: self.arguments.perturb,
            late_results: self.arguments.late,
            step_limit: self.arguments.step_limit.unwrap_or(defaults.step_limit),
            ..defaults
        };
        Result::simulated(launch, self.outcome(&cubin, launch.for_simulator(options)))
    }

    /// The outcome of a launch; of one that was simulated before, its outcome then.
    fn outcome(
        &mut self,
        cubin: &oriole_cubin::Cubin,
        launch: oriole_simulate::Launch,
    ) -> oriole_simulate::Outcome {
        let Some(likeness) = oriole_simulate::likeness(cubin, &launch) else {
            return oriole_simulate::run(cubin, &launch);
        };
        let known = self.outcomes.entry(likeness).or_default();
        if let Some((_, outcome)) = known.iter().find(|(before, _)| *before == launch) {
            return outcome.clone();
        }
        let outcome = oriole_simulate::run(cubin, &launch);
        let given = launch.arguments.iter().map(|argument| match argument {
            oriole_simulate::Argument::Buffer(bytes) => bytes.len(),
            _ => 0,
        });
        let bytes = given.chain(outcome.buffers.iter().map(Vec::len)).sum();
        if let Some(room) = self.room.checked_sub(bytes) {
            self.room = room;
            known.push((launch, outcome.clone()));
        }
        outcome
    }

    fn cubin(&mut self, launch: &Launch) -> Read {
        if let Some(path) = &self.arguments.cubin {
            return self.read(&path.clone());
        }
        if let Some(folder) = &self.arguments.cubins {
            let stem =
                launch.ptx.as_ref().and_then(|ptx| ptx.path.as_ref()).and_then(|path| path.file_stem());
            let name = stem.map_or(launch.name.clone(), |stem| stem.to_string_lossy().into_owned());
            return self.read(&folder.join(format!("{name}.cubin")));
        }
        let Some(ptx) = &launch.ptx else {
            return Err(Arc::new(CodeError::NoPtx));
        };
        let compile = |path: &Path| -> Read {
            let made = || {
                let bytes = code::cubin_of(path, &ptx.text, self.chip, &self.options)?;
                let cubin = oriole_cubin::read(&bytes)?;
                if self.arguments.check.is_some() {
                    hazards::none(&cubin)?;
                }
                Ok(Arc::new(cubin))
            };
            made().map_err(Arc::new)
        };
        match &ptx.path {
            None => compile(Path::new(&launch.name)),
            Some(path) => {
                if let Some(done) = self.cubins.get(path) {
                    return done.clone();
                }
                let done = compile(path);
                self.cubins.insert(path.clone(), done.clone());
                done
            }
        }
    }

    fn read(&mut self, path: &Path) -> Read {
        if let Some(done) = self.cubins.get(path) {
            return done.clone();
        }
        let read = crate::dis::read_cubin(path, Asked::default()).map(|(cubin, _)| Arc::new(cubin));
        let done = read.map_err(|error| Arc::new(error.into()));
        self.cubins.insert(path.to_owned(), done.clone());
        done
    }
}
