//! Workflow commands of GitHub Actions: a line of output that becomes an annotation at a line of a file.

use super::message::{Columns, Message, Place, Region};
use oriole_diagnostics::Severity;
use std::fmt::Write as _;

/// A diagnostic as a command.
pub fn command(message: &Message) -> String {
    let command = match message.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    };
    let mut text = format!("::{command} file={}", property(&message.file));
    if let Place::Text(Region { line, columns }) = &message.place {
        let last = columns.map_or(*line, |columns| columns.last);
        let _ = write!(text, ",line={line},endLine={last}");
        // Columns are for a place on one line.
        if let Some(Columns { start, end, .. }) = columns.filter(|_| last == *line) {
            let _ = write!(text, ",col={start},endColumn={end}");
        }
    }
    let _ = write!(text, ",title={}::", property(message.code.as_str()));
    let mut told = match &message.place {
        // An annotation has no other field for it.
        Place::Code { function, offset } => format!("{function}+{offset:#x}: {}", message.text),
        _ => message.text.clone(),
    };
    for help in &message.help {
        let _ = write!(told, "\nhelp: {help}");
    }
    text + &data(&told)
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_diagnostics::{Code, Diagnostic, Span};

    #[test]
    fn commands_are_escaped() {
        let of = |file: &str, text: &str, span: Span| {
            let found = Diagnostic::new(Code::UnknownName, span, "no register is called `%r1`, 100% sure")
                .with_help("declare it: `.reg`");
            command(&Message::of(file, text, &[found])[0])
        };
        assert_eq!(
            of("a,b:c%.ptx", "é %r1\n", Span::new(3, 3)),
            "::error file=a%2Cb%3Ac%25.ptx,line=1,endLine=1,col=3,endColumn=6,title=ptx%3A%3Aunknown-name::no \
             register is called `%25r1`, 100%25 sure%0Ahelp: declare it: `.reg`"
        );
        assert!(of("a.ptx", "a\nb\n", Span::new(0, 3)).contains("line=1,endLine=2,title="));
    }
}
