//! The subject of a page: the file that the command line names, compiled as it says, with the cubin next to it and the launch. A
//! page that is served asks for it again after each change. Nothing is printed here.

use super::{heat, in_words};
use crate::arguments::View;
use crate::files::DeviceError;
use crate::files::device::{self, Asked, Wanted};
use crate::files::input;
use crate::launch::Launch;
use crate::names;
use crate::outcome::{Outcome, failed, misused};
use crate::render;
use crate::session::{linked, options, threads};
use oriole_chip::Chip;
use oriole_diagnostics::{Diagnostic, LineIndex};
use oriole_explore::{Code, FileView, Question, Remark, Source, source_names};
use oriole_ide::{Analysis, AnalysisHost, Cancellable, FileId, Language, Settings, SettingsId};
use oriole_options::Options;
use std::path::Path;

/// Bytes of a source that is read for its lines, at most.
const LARGEST_SOURCE: u64 = 16 << 20;
const SHARED: SettingsId = SettingsId(0);

/// Why there is nothing to show.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// The question is wrong.
    Misused(String),
    /// It cannot be done.
    Failed(String),
    /// The diagnostics say why.
    Diagnosed,
}

impl Trouble {
    /// Says why, and how the command ends.
    pub fn report(self) -> Outcome {
        match self {
            Trouble::Misused(message) => misused(message),
            Trouble::Failed(message) => failed(message),
            Trouble::Diagnosed => Outcome::Failed,
        }
    }
}

/// The question of the command line.
pub struct Subject<'a> {
    pub arguments: &'a View,
    /// The name of the file for messages.
    pub name: String,
    chip: Option<Chip>,
    options: Options,
    launch: Option<Launch>,
}

/// The contents of the file.
#[derive(Clone, PartialEq, Eq)]
pub enum Given {
    Cubin(Vec<u8>),
    Text { text: String, settings: Box<Settings> },
}

/// The file, open.
pub struct Opened {
    pub host: AnalysisHost,
    pub given: Given,
    /// Its number in the host, if it is PTX.
    pub file: Option<FileId>,
}

/// The view of it, with the diagnostics of its compile.
pub struct Shown {
    pub diagnostics: Vec<Diagnostic>,
    pub view: Result<FileView, Trouble>,
}

impl Opened {
    /// Opens a file.
    pub fn new(given: Given) -> Opened {
        let mut host = AnalysisHost::new();
        let file = match &given {
            Given::Cubin(_) => None,
            Given::Text { text, settings } => {
                host.set_settings(SHARED, Settings::clone(settings));
                Some(host.open(Language::Ptx, text, SHARED))
            }
        };
        Opened { host, given, file }
    }

    /// The PTX; empty for a cubin.
    pub fn text(&self) -> &str {
        match &self.given {
            Given::Cubin(_) => "",
            Given::Text { text, .. } => text,
        }
    }
}

impl<'a> Subject<'a> {
    /// Reads the options and the launch.
    ///
    /// # Errors
    /// One of them is wrong.
    pub fn new(arguments: &'a View) -> Result<Subject<'a>, Trouble> {
        let (chip, options) =
            options(&arguments.target).map_err(|error| Trouble::Misused(error.to_string()))?;
        let launch = arguments.launch.as_deref().map(heat::launch).transpose().map_err(Trouble::Misused)?;
        let options = linked(options, arguments.linked);
        Ok(Subject { name: input::shown(&arguments.input), arguments, chip, options, launch })
    }

    /// The contents of the file: its PTX, or if it has none its cubin.
    ///
    /// # Errors
    /// It cannot be read, or has neither.
    pub fn read(&self) -> Result<Given, Trouble> {
        let View { input, kernels, target, which, .. } = self.arguments;
        let asked = Asked { kernels, ..Asked::of(&target.arch, &which.image) };
        let trouble = |error: DeviceError| match error {
            DeviceError::Several { .. } | DeviceError::NoSuch { .. } => Trouble::Misused(error.to_string()),
            _ => Trouble::Failed(error.to_string()),
        };
        // Standard input cannot be read a second time.
        if input::is_standard(input) {
            return device::text(input, asked).map(|text| self.text(text)).map_err(trouble);
        }
        match device::either(input, asked).map_err(trouble)? {
            device::Given::Text(text) => Ok(self.text(text)),
            device::Given::Cubin(cubin) => match device::text(input, asked) {
                Ok(text) => Ok(self.text(text)),
                Err(DeviceError::None { .. }) => Ok(Given::Cubin(cubin.bytes)),
                Err(error) => Err(trouble(error)),
            },
        }
    }

    fn text(&self, text: String) -> Given {
        let settings = Settings { targets: self.chip.into_iter().collect(), options: self.options.clone() };
        Given::Text { text, settings: Box::new(settings) }
    }

    /// The view of an open file.
    ///
    /// # Errors
    /// For cancellation.
    pub fn shown(&self, opened: &Opened, analysis: &Analysis) -> Cancellable<Shown> {
        match (&opened.given, opened.file) {
            (Given::Text { text, .. }, Some(file)) => self.shown_text(analysis, file, text),
            (Given::Cubin(bytes), _) => Ok(Shown {
                diagnostics: Vec::new(),
                view: self.cubin(bytes).and_then(|view| self.some(view)),
            }),
            (Given::Text { .. }, None) => {
                Ok(Shown { diagnostics: Vec::new(), view: Err(self.failed("it is not open")) })
            }
        }
    }

    fn shown_text(&self, analysis: &Analysis, file: FileId, text: &str) -> Cancellable<Shown> {
        let nothing = |message: &str| Shown { diagnostics: Vec::new(), view: Err(self.failed(message)) };
        let Some(&chip) = analysis.targets(file)?.first() else {
            return Ok(nothing("the file names no chip"));
        };
        let Some((compiled, _)) = analysis.compile(file, chip, threads(self.arguments.jobs))? else {
            return Ok(nothing("it does not compile"));
        };
        let diagnostics = compiled.diagnostics;
        let Some(cubin) = compiled.cubin else {
            return Ok(Shown { diagnostics, view: Err(Trouble::Diagnosed) });
        };
        let question = match self.question(&analysis.kernels(file)?, &cubin, Some((text, &diagnostics))) {
            Ok(question) => question,
            Err(trouble) => return Ok(Shown { diagnostics, view: Err(trouble) }),
        };
        let view = FileView::of_text(analysis, file, chip, question)?;
        let view = view.map_err(|error| self.failed(error)).and_then(|view| self.some(view));
        Ok(Shown { diagnostics, view })
    }

    fn cubin(&self, bytes: &[u8]) -> Result<FileView, Trouble> {
        let code = Code::read(bytes).map_err(|error| self.failed(error))?;
        let kernels: Vec<String> = code.kernels.into_iter().map(|kernel| kernel.name).collect();
        let question = self.question(&kernels, bytes, None)?;
        let mut read = |name: &str| source(name, &self.arguments.input);
        FileView::of_cubin(bytes, question, &mut read).map_err(|error| self.failed(error))
    }

    fn some(&self, view: FileView) -> Result<FileView, Trouble> {
        if view.kernels.is_empty() { Err(self.failed("there is no kernel")) } else { Ok(view) }
    }

    fn failed(&self, message: impl std::fmt::Display) -> Trouble {
        Trouble::Failed(format!("{}: {message}", self.name))
    }

    /// The parameters of the view, with the other cubin and the heat.
    fn question(
        &self,
        kernels: &[String],
        cubin: &[u8],
        compiled: Option<(&str, &[Diagnostic])>,
    ) -> Result<Question, Trouble> {
        let arguments = self.arguments;
        let known: Vec<&str> = kernels.iter().map(String::as_str).collect();
        let mut only = Vec::new();
        for asked in &arguments.kernels {
            let name = names::one_of("kernel", &known, asked);
            only.push(name.map_err(|error| Trouble::Misused(format!("{}: {error}", self.name)))?.to_owned());
        }
        let launch = match &self.launch {
            Some(launch) => {
                let rows = heat::heat(cubin, launch).map_err(Trouble::Failed)?;
                Some((launch.name.clone(), launch.entry.clone(), rows))
            }
            None => None,
        };
        let named = compiled.map(|(text, _)| source_names(text)).unwrap_or_default();
        let sources = named
            .into_iter()
            .map(|(number, name)| (number, Source { lines: source(&name, &arguments.input), name }));
        Ok(Question {
            file: self.name.clone(),
            options: match compiled {
                Some(_) => in_words(&arguments.target, arguments.linked, &self.options),
                None => "a cubin".to_owned(),
            },
            only,
            demangle: names::are_demangled(),
            diagnostics: compiled.map(|(text, list)| remarks(text, list)).unwrap_or_default(),
            sources: sources.collect(),
            other: self.other()?,
            launch,
        })
    }

    /// The cubin next to it, with its label.
    fn other(&self) -> Result<Option<(String, Code)>, Trouble> {
        let Some(path) = &self.arguments.cubin else { return Ok(None) };
        let asked = Asked { chip: self.arguments.target.arch.as_deref(), ..Asked::default() };
        let image = device::image(path, Wanted::Cubin, asked);
        let image = image.map_err(|error| Trouble::Failed(error.to_string()))?;
        let code = Code::read(&image.bytes);
        let code = code.map_err(|error| Trouble::Failed(format!("{}: {error}", image.label)))?;
        Ok(Some((image.label, code)))
    }

    /// Why a state of the file cannot be shown, as a text for the page.
    pub fn said(&self, text: &str, diagnostics: &[Diagnostic], trouble: Trouble) -> String {
        match trouble {
            Trouble::Misused(message) | Trouble::Failed(message) => names::explained(&message).into_owned(),
            Trouble::Diagnosed => render::rendered(&self.name, text, diagnostics, oriole::Style::Plain),
        }
    }
}

fn remarks(text: &str, diagnostics: &[Diagnostic]) -> Vec<Remark> {
    if diagnostics.is_empty() {
        return Vec::new();
    }
    let lines = LineIndex::new(text);
    let remark = |diagnostic: &Diagnostic| Remark {
        text: names::explained(&diagnostic.to_string()).into_owned(),
        line: lines.line_column(diagnostic.span.start).line,
        is_error: diagnostic.is_error(),
    };
    diagnostics.iter().map(remark).collect()
}

/// The lines of a source, where it can be read: as it is named, or in the folder of the input.
fn source(name: &str, input: &Path) -> Vec<String> {
    let named = Path::new(name);
    let beside = input.parent().zip(named.file_name()).map(|(folder, name)| folder.join(name));
    let readable = |path: &std::path::PathBuf| {
        path.metadata().is_ok_and(|facts| facts.is_file() && facts.len() <= LARGEST_SOURCE)
    };
    let path = [Some(named.to_owned()), beside].into_iter().flatten().find(readable);
    let text = path.and_then(|path| input::text(&path).ok()).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}
