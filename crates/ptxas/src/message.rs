//! The grammar of ptxas's messages: `ptxas FILE, line N; error   : TEXT`, without a place where there is none.

use std::fmt::Write as _;

/// The severity of a message.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// Reported on request.
    Info,
    /// Suspicious.
    Warning,
    /// There is no result.
    Error,
    /// There is no result, and processing stops.
    Fatal,
}

impl Severity {
    /// The word, padded to the widest one.
    fn word(self) -> &'static str {
        match self {
            Severity::Info => "info    ",
            Severity::Warning => "warning ",
            Severity::Error => "error   ",
            Severity::Fatal => "fatal   ",
        }
    }
}

/// The speaker: the program and the library differ in a few words.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Form {
    /// The program.
    #[default]
    Program,
    /// The library.
    Library,
}

/// One message, with its line end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The severity.
    pub severity: Severity,
    /// The whole text.
    pub text: String,
}

/// The messages of one call, in order.
#[derive(Clone, Debug)]
pub struct Log {
    program: String,
    form: Form,
    /// `-w`: warnings are dropped.
    pub quiet: bool,
    /// `-Werror`: warnings are errors.
    pub strict: bool,
    entries: Vec<Entry>,
    failed: bool,
}

/// ptxas's last message after errors.
const ABORTED: &str = "Ptx assembly aborted due to errors";

impl Log {
    /// An empty log; messages begin with the name of the program.
    pub fn new(program: &str, form: Form) -> Log {
        let program = program.to_owned();
        Log { program, form, quiet: false, strict: false, entries: Vec::new(), failed: false }
    }

    /// The speaker.
    pub fn form(&self) -> Form {
        self.form
    }

    /// The messages so far.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Whether there is no result.
    pub fn has_failed(&self) -> bool {
        self.failed
    }

    /// Drops all messages: another program reports its own.
    pub fn forget(&mut self) {
        self.entries.clear();
    }

    /// Takes the messages of a log that another process filled for the same call, in place of its own.
    pub fn take_over(&mut self, entries: Vec<Entry>) {
        self.failed = entries.iter().any(|entry| entry.severity >= Severity::Error);
        self.entries = entries;
    }

    /// Adds a message without a place.
    pub fn say(&mut self, severity: Severity, text: &str) {
        self.add(None, severity, text);
    }

    /// Adds a message about a line.
    pub fn say_at(&mut self, file: &str, line: u32, severity: Severity, text: &str) {
        self.add(Some((file, line)), severity, text);
    }

    /// Adds ptxas's last message, where errors of the text or of files ended the call.
    pub fn abort(&mut self) {
        self.say(Severity::Fatal, ABORTED);
    }

    /// Adds a continuation line of an information message.
    pub fn continue_info(&mut self, text: &str) {
        let text = match self.form {
            Form::Program => format!("    {text}\n"),
            Form::Library => format!("{}         .     {text}\n", self.program),
        };
        self.entries.push(Entry { severity: Severity::Info, text });
    }

    fn add(&mut self, place: Option<(&str, u32)>, severity: Severity, text: &str) {
        let severity = match severity {
            Severity::Warning if self.quiet => return,
            Severity::Warning if self.strict => Severity::Error,
            other => other,
        };
        self.failed |= severity >= Severity::Error;
        let mut line = self.program.clone();
        if let Some((file, number)) = place {
            let _ = write!(line, " {file}, line {number};");
        }
        let _ = writeln!(line, " {}: {text}", severity.word());
        self.entries.push(Entry { severity, text: line });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn text(log: &Log) -> String {
        log.entries().iter().map(|entry| entry.text.as_str()).collect()
    }

    #[test]
    fn messages_have_the_shape_of_ptxas() {
        let mut log = Log::new("ptxas", Form::Program);
        log.say(Severity::Info, "0 bytes gmem");
        log.continue_info("0 bytes stack frame");
        log.say(Severity::Warning, "suspicious");
        assert!(!log.has_failed());
        log.say_at("a b.ptx", 7, Severity::Error, "Unknown symbol 'x'");
        log.abort();
        assert!(log.has_failed());
        expect![[r#"
            ptxas info    : 0 bytes gmem
                0 bytes stack frame
            ptxas warning : suspicious
            ptxas a b.ptx, line 7; error   : Unknown symbol 'x'
            ptxas fatal   : Ptx assembly aborted due to errors
        "#]]
        .assert_eq(&text(&log));
    }

    #[test]
    fn warnings_can_be_errors_or_nothing() {
        let mut log = Log::new("ptxas-blackwell", Form::Library);
        log.strict = true;
        log.say(Severity::Warning, "spilled");
        log.quiet = true;
        log.say(Severity::Warning, "spilled");
        log.continue_info("0 bytes stack frame");
        assert!(log.has_failed());
        expect![[r#"
            ptxas-blackwell error   : spilled
            ptxas-blackwell         .     0 bytes stack frame
        "#]]
        .assert_eq(&text(&log));
    }
}
