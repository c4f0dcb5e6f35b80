//! Diagnostics as messages of ptxas. Where programs look for a text, the text is ptxas's, taken from the table; all
//! other texts are ours, in ptxas's grammar.
//!
//! Warnings of ours that ptxas does not give are left out: with `-Werror` they would refuse programs that it accepts.
//! `oriole check` gives them.

use crate::architecture::target_text;
use crate::texts::newest_version;
use crate::{Architecture, Form, Log, Severity, Source};
use oriole_diagnostics::{Code, Diagnostic, Family, LineIndex, Part};
use oriole_syntax::{UnitKind, split_file};
use std::cell::LazyCell;

/// The place of a ptxas message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    /// In a line.
    Line,
    /// None; and no abort message follows.
    Nowhere,
}

/// The text of ptxas for a code. In the text `{name}` is the first quoted part of the diagnostic, `{near}` the source
/// at its place, `{file}` the input, `{line}` the line, `{bytes}` and `{limit}` its first two numbers in hexadecimal,
/// `{first}` and `{second}` those in decimal.
struct Row {
    code: Code,
    severity: Severity,
    place: Place,
    text: &'static str,
}

const fn row(code: Code, severity: Severity, place: Place, text: &'static str) -> Row {
    Row { code, severity, place, text }
}

use Place::{Line, Nowhere};
use Severity::{Error, Fatal};

/// The texts that programs look for.
const TEXTS: &[Row] = &[
    row(Code::Syntax, Fatal, Line, "Parsing error near '{near}': syntax error"),
    row(Code::InvalidCharacter, Fatal, Line, "Parsing error near '{near}': syntax error"),
    row(Code::InvalidNumber, Fatal, Line, "Parsing error near '{near}': syntax error"),
    row(Code::UnterminatedBody, Fatal, Line, "Parsing error near '': syntax error"),
    row(Code::UnterminatedString, Fatal, Line, "Parsing error near '{near}': syntax error"),
    row(Code::UnterminatedComment, Fatal, Line, "Parsing error near '': unexpected EOF while scanning"),
    row(Code::MissingVersion, Fatal, Line, "Missing .version directive at start of file '{file}'"),
    row(Code::MissingTarget, Fatal, Line, "Missing .target directive at start of file '{file}'"),
    row(Code::UndefinedTarget, Fatal, Line, "Target architecture not defined at start of file '{file}'"),
    row(Code::UnsupportedVersion, Fatal, Line, "Unsupported {near}; current version is '{newest}'"),
    row(Code::NewerVersion, Fatal, Line, "Unsupported {near}; current version is '{newest}'"),
    row(Code::UnknownTarget, Fatal, Line, "Unsupported .target '{name}'"),
    row(Code::StandIn, Fatal, Line, "Unsupported .target '{near}'"),
    row(Code::UnknownInstruction, Error, Line, "Not a name of any known instruction: '{name}'"),
    row(Code::UnknownName, Error, Line, "Unknown symbol '{name}'"),
    row(Code::DuplicateName, Error, Line, "Duplicate definition of {kind} '{name}'"),
    row(Code::ParameterWritten, Error, Line, "Illegal to write to function input parameter '{name}'"),
    row(
        Code::ParameterPassed,
        Error,
        Line,
        "Formal parameter '{name}' declared in .param space cannot be used as argument to call",
    ),
    row(Code::ResultRead, Error, Line, "Illegal to read function return parameter '{name}'"),
    row(Code::UnresolvedExternal, Fatal, Nowhere, "Unresolved extern {kind} '{name}'"),
    row(
        Code::OpenAddress,
        Fatal,
        Nowhere,
        "Cannot take address of function '{name}' in extensible whole program compilation.",
    ),
    row(Code::TargetMismatch, Fatal, Nowhere, "{target}"),
    row(Code::RegistersRaised, Fatal, Line, "(C7406) {message}"),
    row(Code::TooManyRegisters, Fatal, Nowhere, "(C7600) Register allocation failed: {message}"),
    row(
        Code::InsufficientRegisters,
        Fatal,
        Nowhere,
        "(C7602) Insufficient registers ({second}) to compile instruction at line {line}. Try to compile with register target of {first} or higher.",
    ),
    row(
        Code::TooMuchSharedMemory,
        Error,
        Nowhere,
        "Entry function '{name}' uses too much shared data ({bytes} bytes, {limit} max)",
    ),
    row(Code::TooMuchConstantMemory, Error, Nowhere, "File uses too much global constant data: {message}"),
    row(
        Code::TooMuchParameterSpace,
        Error,
        Line,
        "Entry function '{name}' uses too much parameter space: {message}",
    ),
    row(Code::InternalError, Fatal, Nowhere, "(oriole::internal-error) Internal compiler error: {message}"),
];

/// Whether a diagnostic is about a missing feature of Oriole, and not about an error.
pub fn is_unsupported(diagnostic: &Diagnostic) -> bool {
    let lacks = matches!(diagnostic.code.family(), Family::Support | Family::Internal);
    diagnostic.is_error() && (lacks || diagnostic.code == Code::NoEncoding)
}

/// Whether ptxas reports the error while it parses a text.
pub fn is_of_the_text(diagnostic: &Diagnostic) -> bool {
    let row = TEXTS.iter().find(|row| row.code == diagnostic.code);
    let of_text = row.is_none_or(|row| row.place == Line) || diagnostic.code == Code::TargetMismatch;
    diagnostic.is_error() && of_text && !is_unsupported(diagnostic)
}

/// Emits diagnostics as messages, and the final message.
pub fn translate(diagnostics: &[Diagnostic], source: &Source, architecture: Architecture, log: &mut Log) {
    if diagnostics.is_empty() {
        return;
    }
    let translator = Translator { source, lines: LineIndex::new(source.text()), architecture };
    let mut aborts = false;
    // Shuffles and votes without `.sync` reported so far; the version is read once.
    let mut deprecated = Vec::new();
    let deprecates = LazyCell::new(|| source.version() >= Some((6, 0)));
    // A text without a version is not PTX, so other diagnostics do not matter.
    let no_version = diagnostics.iter().find(|diagnostic| diagnostic.code == Code::MissingVersion);
    let diagnostics = no_version.map_or(diagnostics, std::slice::from_ref);
    for diagnostic in diagnostics {
        // ptxas rejects unknown targets and versions.
        if diagnostic.is_error() || matches!(diagnostic.code, Code::StandIn | Code::NewerVersion) {
            let (severity, place) = translator.error(diagnostic, log);
            aborts |= place == Line || diagnostic.code == Code::InsufficientRegisters;
            if severity == Fatal {
                break;
            }
        } else if diagnostic.code == Code::SerializedProducts {
            let text = format!("Potential Performance Loss: {}", quoted(diagnostic));
            log.say(Severity::Info, &text);
        } else if diagnostic.code == Code::RegisterChangeDropped {
            log.say(
                Severity::Info,
                "(C7507) Potential Performance Loss: 'setmaxnreg' ignored to maintain minimum register requirements.",
            );
        } else if diagnostic.code == Code::RegisterChangeIgnored {
            log.say(
                Severity::Info,
                "(C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to determine register count at entry.",
            );
        } else if diagnostic.code == Code::LanesNotNamed {
            let told = deprecates.then_some(&mut deprecated);
            translator.lanes_not_named(diagnostic, told, log);
        } else if diagnostic.code == Code::NoDebugSection {
            log.say(Severity::Warning, &format!(" {} section not found", name(diagnostic)));
        }
    }
    let alone = log.form() == Form::Library
        && diagnostics.iter().any(|one| matches!(one.code, Code::UnsupportedVersion | Code::NewerVersion));
    if aborts && !alone {
        log.abort();
    }
}

struct Translator<'a> {
    source: &'a Source,
    lines: LineIndex,
    architecture: Architecture,
}

impl Translator<'_> {
    fn error(&self, diagnostic: &Diagnostic, log: &mut Log) -> (Severity, Place) {
        let known = TEXTS.iter().find(|row| row.code == diagnostic.code);
        let (severity, place) = known.map_or((Error, Line), |row| (row.severity, row.place));
        let (file, line) = self.source.place(self.lines.line_column(diagnostic.span.start).line);
        let text = match known {
            Some(row) => self.filled(row.text, diagnostic, file, line),
            None => quoted(diagnostic),
        };
        match place {
            Line => log.say_at(file, line, severity, &text),
            Nowhere => log.say(severity, &text),
        }
        (severity, place)
    }

    /// Warns about a shuffle or a vote without `.sync`: before PTX 6.0 each one may go wrong; from PTX 6.0 on only the first of each
    /// opcode is reported, also as deprecated.
    fn lanes_not_named<'d>(
        &self,
        diagnostic: &'d Diagnostic,
        deprecated: Option<&mut Vec<&'d str>>,
        log: &mut Log,
    ) {
        let name = name(diagnostic);
        let (file, line) = self.source.place(self.lines.line_column(diagnostic.span.start).line);
        let mut warn = |tail: &str| {
            let text = format!("Instruction '{name}' without '.sync' {tail}");
            log.say_at(file, line, Severity::Warning, &text);
        };
        if deprecated.as_ref().is_some_and(|told| told.contains(&name)) {
            return;
        }
        warn("may produce unpredictable results on sm_70 and later architectures");
        if let Some(told) = deprecated {
            told.push(name);
            warn(
                "is deprecated since PTX ISA version 6.0 and will be discontinued in a future PTX ISA version",
            );
        }
    }

    fn filled(&self, text: &str, diagnostic: &Diagnostic, file: &str, line: u32) -> String {
        let mut filled = text.to_owned();
        let mut fill = |mark: &str, value: &dyn Fn() -> String| {
            if filled.contains(mark) {
                filled = filled.replace(mark, &value());
            }
        };
        fill("{kind}", &|| self.kind(diagnostic).to_owned());
        fill("{newest}", &newest_version);
        fill("{target}", &|| target_text(name(diagnostic), self.architecture));
        fill("{file}", &|| file.to_owned());
        fill("{name}", &|| name(diagnostic).to_owned());
        fill("{near}", &|| diagnostic.span.slice(self.source.text()).trim().to_owned());
        fill("{message}", &|| quoted(diagnostic));
        let number =
            |at: usize| numbers(diagnostic).get(at).map_or(String::new(), |number| format!("{number:#x}"));
        fill("{bytes}", &|| number(0));
        fill("{limit}", &|| number(1));
        let decimal = |at: usize| numbers(diagnostic).get(at).map_or(String::new(), ToString::to_string);
        fill("{first}", &|| decimal(0));
        fill("{second}", &|| decimal(1));
        fill("{line}", &|| line.to_string());
        filled
    }

    /// The subject of the diagnostic: a function or a variable.
    fn kind(&self, diagnostic: &Diagnostic) -> &'static str {
        let is_function = |kind| matches!(kind, UnitKind::Entry | UnitKind::Function | UnitKind::Declaration);
        let name = name(diagnostic);
        let mut units = split_file(self.source.text()).into_iter();
        let function = units.any(|unit| is_function(unit.kind) && *unit.name == *name);
        if function { "function" } else { "variable" }
    }
}

/// The first quoted part of a message.
fn name(diagnostic: &Diagnostic) -> &str {
    let quoted = diagnostic.message.parts().iter().find_map(|part| match part {
        Part::Source(text) => Some(text.as_str()),
        Part::Text(_) => None,
    });
    quoted.unwrap_or_default()
}

/// The numbers in a message.
fn numbers(diagnostic: &Diagnostic) -> Vec<u64> {
    let number = |word: &str| match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    };
    let texts = diagnostic.message.parts().iter().filter_map(|part| match part {
        Part::Text(text) => Some(text),
        Part::Source(_) => None,
    });
    texts.flat_map(|text| text.split(|c: char| !c.is_ascii_alphanumeric())).filter_map(number).collect()
}

/// The message with the quotes of ptxas.
fn quoted(diagnostic: &Diagnostic) -> String {
    let part = |part: &Part| match part {
        Part::Text(text) => text.to_string(),
        Part::Source(text) => format!("'{text}'"),
    };
    diagnostic.message.parts().iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Input;
    use expect_test::expect;
    use oriole_diagnostics::Span;

    const TEXT: &str = "\
.version 99.0
.target sm_80
.entry k() { add; }
.entry k() { add %r2, 1; }
.global .u32 x;
.extern .func foo();
";

    fn diagnostic(code: Code, at: &str, message: &str) -> Diagnostic {
        let start = TEXT.rfind(at).expect("it is in the text");
        Diagnostic::new(code, Span::new(start as u32, at.len() as u32), message)
    }

    fn said(diagnostics: &[Diagnostic], form: Form) -> String {
        let mut log = Log::new("ptxas", form);
        let architecture = "sm_80".parse().expect("a chip");
        let name = if form == Form::Library { "application ptx input" } else { "a.ptx" };
        let input = Input { name: name.to_owned(), text: TEXT.to_owned() };
        let source = Source::join(vec![input], architecture, &mut log).expect("one input");
        translate(diagnostics, &source, architecture, &mut log);
        log.entries().iter().map(|entry| entry.text.as_str()).collect()
    }

    #[test]
    fn texts_that_programs_look_for() {
        let cases = [
            diagnostic(Code::Syntax, "%r2", "expected a comma, found `%r2`"),
            diagnostic(Code::UnsupportedVersion, ".version 99.0", "PTX version 99.0 is not known"),
            diagnostic(Code::MissingVersion, ".target", "no version"),
            diagnostic(Code::DuplicateName, "k", "`k` is defined twice"),
            diagnostic(Code::DuplicateName, "x", "`x` is defined twice"),
            diagnostic(Code::UnknownInstruction, "add", "no instruction is called `frob`"),
            diagnostic(Code::UnknownName, "%r2", "no register is called `%q`"),
            diagnostic(Code::UnresolvedExternal, "add", "`foo` is called here, and nothing defines it"),
            diagnostic(
                Code::TargetMismatch,
                ".version",
                "the module is for `sm_90`, which `sm_80` cannot replace",
            ),
            diagnostic(Code::TooManyRegisters, "k", "one instruction needs more than the 24 registers"),
            diagnostic(Code::InvalidOperand, "%r2", "`add` takes no `%r2`"),
            diagnostic(Code::Uninitialized, "%r2", "nothing writes `%r2`"),
        ];
        let all: Vec<String> =
            cases.iter().map(|case| said(std::slice::from_ref(case), Form::Program)).collect();
        expect![[r#"
            ptxas a.ptx, line 4; fatal   : Parsing error near '%r2': syntax error
            ptxas fatal   : Ptx assembly aborted due to errors
            ptxas a.ptx, line 1; fatal   : Unsupported .version 99.0; current version is '9.5'
            ptxas fatal   : Ptx assembly aborted due to errors
            ptxas a.ptx, line 2; fatal   : Missing .version directive at start of file 'a.ptx'
            ptxas fatal   : Ptx assembly aborted due to errors
            ptxas a.ptx, line 4; error   : Duplicate definition of function 'k'
            ptxas fatal   : Ptx assembly aborted due to errors
            ptxas a.ptx, line 6; error   : Duplicate definition of variable 'x'
            ptxas fatal   : Ptx assembly aborted due to errors
            ptxas a.ptx, line 4; error   : Not a name of any known instruction: 'frob'
            ptxas fatal   : Ptx assembly aborted due to errors
            ptxas a.ptx, line 4; error   : Unknown symbol '%q'
            ptxas fatal   : Ptx assembly aborted due to errors
            ptxas fatal   : Unresolved extern function 'foo'
            ptxas fatal   : SM version specified by .target is higher than default SM version assumed
            ptxas fatal   : (C7600) Register allocation failed: one instruction needs more than the 24 registers
            ptxas a.ptx, line 4; error   : 'add' takes no '%r2'
            ptxas fatal   : Ptx assembly aborted due to errors
        "#]]
        .assert_eq(&all.concat());
    }

    #[test]
    fn nothing_is_said_after_a_fatal_message() {
        let two = [
            diagnostic(Code::UnsupportedVersion, ".version 99.0", "PTX version 99.0 is not known"),
            diagnostic(Code::UnknownName, "%r2", "no register is called `%q`"),
        ];
        expect![[r#"
            ptxas a.ptx, line 1; fatal   : Unsupported .version 99.0; current version is '9.5'
            ptxas fatal   : Ptx assembly aborted due to errors
        "#]]
        .assert_eq(&said(&two, Form::Program));
        expect![[r#"
            ptxas application ptx input, line 1; fatal   : Unsupported .version 99.0; current version is '9.5'
        "#]]
        .assert_eq(&said(&two, Form::Library));
    }

    #[test]
    fn targets_that_do_not_fit() {
        let mut text = String::new();
        for (target, chip) in [
            ("sm_90", "sm_80"),
            ("sm_90a", "sm_90"),
            ("sm_90a", "sm_100"),
            ("sm_100f", "sm_120"),
            ("sm_100f", "sm_100"),
        ] {
            text += &format!("{target} {chip}: {}\n", target_text(target, chip.parse().expect("a chip")));
        }
        expect![[r#"
            sm_90 sm_80: SM version specified by .target is higher than default SM version assumed
            sm_90a sm_90: PTX with .target 'sm_90a' cannot be compiled for architecture 'sm_90'
            sm_90a sm_100: Program with .target 'sm_90a' cannot be compiled to future architecture
            sm_100f sm_120: Program with .target 'sm_100f' cannot be compiled to different SM-family architecture
            sm_100f sm_100: PTX with .target 'sm_100f' cannot be compiled for architecture 'sm_100'
        "#]].assert_eq(&text);
    }

    #[test]
    fn what_oriole_lacks_is_told_from_mistakes() {
        assert!(is_unsupported(&diagnostic(Code::NotSupported, "add", "not yet")));
        assert!(!is_unsupported(&diagnostic(Code::UnknownName, "add", "no")));
    }
}
