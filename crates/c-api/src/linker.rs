//! The object of a handle of the linking library: options, and the result of its one text.
//!
//! Of that library's input types Oriole accepts one, PTX, which is the one that just-in-time compilers use. All others
//! are refused with the reason in the error log.

use std::sync::{Mutex, MutexGuard, PoisonError};

use oriole_chip::PtxTarget;
use oriole_ptxas::{Form, Log};

use crate::Code;
use crate::compiler::sort;
use crate::steps::{compile, text_of};

/// The result code of a function of the linking library.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub enum LinkCode {
    /// Done.
    Success = 0,
    /// An unknown option, or an invalid value.
    UnrecognizedOption = 1,
    /// `-arch=` is missing.
    MissingArch = 2,
    /// A pointer or a size, or an input, is invalid.
    InvalidInput = 3,
    /// The text does not compile; the error log says why.
    PtxCompile = 4,
    /// An internal error of the compiler, or there is no result.
    Internal = 6,
    /// A required pointer is null.
    NullInput = 10,
    /// Options that exclude each other.
    IncompatibleOptions = 11,
    /// An input that is not of its declared type, or is not supported.
    IncorrectInputType = 12,
    /// No chip has the number.
    UnrecognizedArch = 16,
    /// There is no code for the chip.
    UnsupportedArch = 17,
}

/// The type of an input: PTX, and any.
const PTX: i32 = 2;
const ANY: i32 = 10;

/// The meaning of an option of the linking library for a text of PTX.
enum Meaning {
    /// An option of ptxas, with the value after it if there is one.
    Ptxas(&'static str),
    /// The option after it is ptxas's.
    Word,
    /// No meaning: it is for other inputs, or has no visible effect.
    Nothing,
    /// It is refused, with the reason.
    Refused(&'static str),
}

/// The options without their dash, and with `=` if they take a value.
const OPTIONS: &[(&str, Meaning)] = &[
    ("arch=", Meaning::Ptxas("-arch=")),
    ("maxrregcount=", Meaning::Ptxas("-maxrregcount=")),
    ("O0", Meaning::Ptxas("-O0")),
    ("O3", Meaning::Ptxas("-O3")),
    ("Ofc=", Meaning::Ptxas("--Ofast-compile=")),
    ("g", Meaning::Ptxas("-g")),
    ("lineinfo", Meaning::Ptxas("-lineinfo")),
    ("verbose", Meaning::Ptxas("-v")),
    ("split-compile=", Meaning::Ptxas("-split-compile=")),
    ("Xptxas=", Meaning::Word),
    ("ftz=", Meaning::Nothing),
    ("prec-div=", Meaning::Nothing),
    ("prec-sqrt=", Meaning::Nothing),
    ("fma=", Meaning::Nothing),
    ("time", Meaning::Nothing),
    ("no-cache", Meaning::Nothing),
    ("nvvm-latest", Meaning::Nothing),
    ("kernels-used=", Meaning::Nothing),
    ("variables-used=", Meaning::Nothing),
    ("optimize-unused-variables", Meaning::Nothing),
    ("split-compile-extended=", Meaning::Nothing),
    ("jump-table-density=", Meaning::Nothing),
    ("lto", Meaning::Refused("intermediate code of NVVM is not read")),
    ("ptx", Meaning::Refused("the result is a cubin")),
    ("r", Meaning::Refused("no relocatable objects are linked")),
    ("device-stack-protector", Meaning::Refused("the stack has no canaries")),
];

/// Options and a text.
pub struct Linker {
    words: Vec<String>,
    /// The error of the options, if any.
    refused: Option<LinkCode>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    added: bool,
    complete: bool,
    cubin: Option<Vec<u8>>,
    errors: String,
    info: String,
}

impl Linker {
    /// A handle for options. If one is wrong the handle is created all the same, and its error log says which.
    pub fn new(options: &[String]) -> (Linker, LinkCode) {
        let mut state = State::default();
        let (words, refused) = match words_of(options) {
            Ok(words) => (words, None),
            Err(Refusal { code, text }) => {
                state.errors = text + "\n";
                (Vec::new(), Some(code))
            }
        };
        let code = refused.unwrap_or(LinkCode::Success);
        (Linker { words, refused, state: Mutex::new(state) }, code)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A compile that panicked has left nothing half-written: results are stored at its end.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Compiles an input. Its errors are reported now.
    pub fn add(&self, kind: i32, bytes: &[u8], name: &str) -> LinkCode {
        let mut state = self.state();
        let state = &mut *state;
        if let Some(code) = self.refused {
            return code;
        }
        let is_elf = bytes.starts_with(b"\x7fELF");
        if kind != PTX && (kind != ANY || is_elf) {
            state.errors += &format!("{name}: Oriole takes PTX only\n");
            return LinkCode::IncorrectInputType;
        }
        if bytes.is_empty() {
            return LinkCode::InvalidInput;
        }
        if state.added {
            state.errors += &format!("{name}: Oriole links one text of PTX\n");
            return LinkCode::InvalidInput;
        }
        state.added = true;
        let mut log = Log::new("ptxas", Form::Library);
        let compiled = compile(&text_of(bytes), &self.words, &mut log, None);
        sort(&log, &mut state.errors, &mut state.info);
        match compiled {
            Ok(cubin) => {
                state.cubin = Some(cubin);
                LinkCode::Success
            }
            Err(Code::Internal) => LinkCode::Internal,
            Err(_) => {
                state.errors += &format!("ERROR NVJITLINK_ERROR_PTX_COMPILE: JIT the PTX ({name})\n");
                LinkCode::PtxCompile
            }
        }
    }

    /// Refuses a file, since the library opens none.
    pub fn add_file(&self) -> LinkCode {
        self.state().errors += "Oriole opens no file: read it, and add what it holds\n";
        LinkCode::InvalidInput
    }

    /// Ends the list of inputs.
    pub fn complete(&self) -> LinkCode {
        let mut state = self.state();
        if let Some(code) = self.refused {
            return code;
        }
        state.complete = state.cubin.is_some();
        match (state.complete, state.added) {
            (true, _) => LinkCode::Success,
            (false, true) => LinkCode::PtxCompile,
            (false, false) => {
                state.errors += "nothing was added\n";
                LinkCode::InvalidInput
            }
        }
    }

    /// The result, once it is complete.
    pub fn with_cubin<T>(&self, take: impl FnOnce(&[u8]) -> T) -> Option<T> {
        let state = self.state();
        state.cubin.as_deref().filter(|_| state.complete).map(take)
    }

    /// All errors.
    pub fn with_errors<T>(&self, take: impl FnOnce(&str) -> T) -> T {
        take(&self.state().errors)
    }

    /// The other messages.
    pub fn with_info<T>(&self, take: impl FnOnce(&str) -> T) -> T {
        take(&self.state().info)
    }
}

/// Options that are wrong.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
struct Refusal {
    /// The answer of the function.
    code: LinkCode,
    /// The line of the error log.
    text: String,
}

impl Refusal {
    fn new(code: LinkCode, text: impl Into<String>) -> Refusal {
        Refusal { code, text: text.into() }
    }
}

/// The words for ptxas that the options stand for. The first option that is wrong is reported, and of several chips the last counts.
fn words_of(options: &[String]) -> Result<Vec<String>, Refusal> {
    let mut words = Vec::new();
    let mut is_virtual = None;
    for option in options {
        let known = option.strip_prefix('-').and_then(|bare| {
            OPTIONS.iter().find_map(|(name, meaning)| {
                let value = bare.strip_prefix(name)?;
                (value.is_empty() || name.ends_with('=')).then_some((meaning, value))
            })
        });
        match known {
            Some((Meaning::Ptxas(_) | Meaning::Word, "")) if option.ends_with('=') => {
                return Err(missing_value(option));
            }
            Some((Meaning::Ptxas(name), value)) => {
                match *name {
                    "-arch=" => is_virtual = Some(judged(option, value)?),
                    "--Ofast-compile=" if !EFFORTS.contains(&value) => return Err(unknown_effort(value)),
                    _ => {}
                }
                words.push(format!("{name}{value}"));
            }
            Some((Meaning::Word, value)) => words.push(value.to_owned()),
            Some((Meaning::Nothing, _)) => {}
            Some((Meaning::Refused(reason), _)) => {
                let text = format!("option {option} is not supported by Oriole: {reason}");
                return Err(Refusal::new(LinkCode::IncompatibleOptions, text));
            }
            None => return Err(unrecognized(option)),
        }
    }
    match is_virtual {
        Some(false) => Ok(words),
        Some(true) => Err(Refusal::new(LinkCode::IncompatibleOptions, "ERROR: virtual arch requires -ptx")),
        None => Err(Refusal::new(LinkCode::MissingArch, "missing option: -arch=sm_NN")),
    }
}

/// The values of `-Ofc`.
const EFFORTS: [&str; 4] = ["0", "min", "mid", "max"];

fn unknown_effort(value: &str) -> Refusal {
    let text = format!(
        "unsupported value of --Ofast-compile (-Ofc): {value}. Only 0, min, mid, and max are supported."
    );
    Refusal::new(LinkCode::UnrecognizedOption, text)
}

fn unrecognized(option: &str) -> Refusal {
    let is_level = |level: &&str| !level.is_empty() && level.bytes().all(|byte| byte.is_ascii_digit());
    let text = match option.strip_prefix("-O").filter(is_level) {
        Some(level) => format!("unsupported value of -O: {level}. Only 0 and 3 are supported."),
        None => format!("unrecognized option: {option}"),
    };
    Refusal::new(LinkCode::UnrecognizedOption, text)
}

fn missing_value(option: &str) -> Refusal {
    let text = format!("ERROR NVJITLINK_ERROR_UNRECOGNIZED_OPTION: missing option value ({option})");
    Refusal::new(LinkCode::UnrecognizedOption, text)
}

/// Whether `-arch` names a virtual chip. Only its number is checked here; the assembler checks the suffix.
fn judged(option: &str, name: &str) -> Result<bool, Refusal> {
    let real = name.strip_prefix("sm_");
    let number = real.or_else(|| name.strip_prefix("compute_")).or_else(|| name.strip_prefix("lto_"));
    let number = number.ok_or_else(|| missing_value(option))?;
    let suffix = number.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = number[..number.len() - suffix.len()].trim_start_matches('0');
    if digits.is_empty() {
        return Err(missing_value(option));
    }
    let target = format!("sm_{digits}").parse::<PtxTarget>().ok();
    let chip = target.and_then(PtxTarget::as_chip);
    // Some chips had other numbers, which no release with this library has any more.
    if chip.is_some_and(|chip| chip.is_supported() && chip.number().to_string() == digits) {
        return Ok(real.is_none());
    }
    let accelerated = if suffix == "a" { suffix } else { "" };
    let named = format!("compute_{digits}{accelerated}");
    let is_old = target.is_some() && chip.is_none();
    Err(match digits.len() {
        4.. => Refusal::new(LinkCode::UnsupportedArch, unsupported(option)),
        _ if is_old => Refusal::new(LinkCode::UnsupportedArch, unsupported(&named)),
        _ => {
            let text =
                format!("ERROR NVJITLINK_ERROR_UNRECOGNIZED_ARCH: unrecognized architecture ({named})");
            Refusal::new(LinkCode::UnrecognizedArch, text)
        }
    })
}

fn unsupported(what: &str) -> String {
    format!("ERROR NVJITLINK_ERROR_UNSUPPORTED_ARCH: unsupported architecture ({what})")
}
