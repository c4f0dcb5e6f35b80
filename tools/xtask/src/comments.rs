//! The comments of a Rust file as prose, line for line.
//!
//! It is a scan for strings, characters and comments, and no parser: code itself has no meaning here.

/// Stands for a line without a comment, and ends a phrase.
const CODE: &str = "|";

/// A text with one line for each line of the file: the text of its comment without marker and indentation, or `|`.
/// The second value is true for lines that open a comment or a paragraph of one.
pub fn of(text: &str) -> (String, Vec<bool>) {
    let mut prose = String::with_capacity(text.len());
    let mut opens = Vec::new();
    let mut state = State::Code;
    // The marker of the line before, if it was a comment with text.
    let mut before = None;
    for line in text.lines() {
        let start = comment_start(line, &mut state);
        let comment = start.map(|at| (line[..at].trim().is_empty(), split_marker(&line[at..])));
        let content = comment.map_or(CODE, |(_, (_, content))| content);
        let whole = comment.and_then(|(whole, (marker, _))| whole.then_some(marker));
        opens.push(comment.is_some() && (whole.is_none() || whole != before));
        before = whole.filter(|_| !content.trim().is_empty());
        prose.push_str(content);
        prose.push('\n');
    }
    (prose, opens)
}

/// The marker of a line comment, and its text.
fn split_marker(comment: &str) -> (&str, &str) {
    let marker = ["///", "//!"].into_iter().find(|marker| comment.starts_with(marker)).unwrap_or("//");
    let content = &comment[marker.len()..];
    (marker, content.strip_prefix(' ').unwrap_or(content))
}

/// State of the scan at the end of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Code,
    String,
    /// A raw string with as many `#`.
    Raw(usize),
    /// A block comment.
    Block,
}

/// Byte of a line at which a line comment starts.
fn comment_start(line: &str, state: &mut State) -> Option<usize> {
    let bytes = line.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let (next, step) = match *state {
            State::Code if rest.starts_with(b"//") => return Some(at),
            State::Code if rest.starts_with(b"/*") => (State::Block, 2),
            State::Code if rest[0] == b'"' => (State::String, 1),
            State::Code if rest[0] == b'\'' => (State::Code, character(rest)),
            State::Code => match raw_start(bytes, at) {
                Some(hashes) => (State::Raw(hashes), hashes + 2),
                None => (State::Code, 1),
            },
            State::String if rest[0] == b'\\' => (State::String, 2),
            State::String if rest[0] == b'"' => (State::Code, 1),
            State::Raw(hashes) if rest[0] == b'"' && closes(&rest[1..], hashes) => (State::Code, hashes + 1),
            State::Block if rest.starts_with(b"*/") => (State::Code, 2),
            same => (same, 1),
        };
        *state = next;
        at += step;
    }
    None
}

/// Bytes of a character literal, or of the quote of a lifetime.
fn character(rest: &[u8]) -> usize {
    let escaped = rest.get(1) == Some(&b'\\');
    let from = if escaped { 3 } else { 2 };
    // The longest is `'\u{10ffff}'`; without escape there are at most 4 bytes.
    let longest = if escaped { 12 } else { 6 };
    (from..longest.min(rest.len())).find(|&end| rest[end] == b'\'').map_or(1, |end| end + 1)
}

/// Count of `#` of a raw string that starts here.
fn raw_start(bytes: &[u8], at: usize) -> Option<usize> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let begins =
        at == 0 || !is_word(bytes[at - 1]) || (bytes[at - 1] == b'b' && (at == 1 || !is_word(bytes[at - 2])));
    let hashes = bytes.get(at + 1..)?.iter().take_while(|&&byte| byte == b'#').count();
    (begins && bytes[at] == b'r' && bytes.get(at + 1 + hashes) == Some(&b'"')).then_some(hashes)
}

fn closes(rest: &[u8], hashes: usize) -> bool {
    rest.len() >= hashes && rest[..hashes].iter().all(|&byte| byte == b'#')
}

#[cfg(test)]
mod tests {
    fn comments(text: &str) -> String {
        super::of(text).0
    }

    #[test]
    fn comments_are_found() {
        assert_eq!(comments("//! One\n\n/// two\nfn f() {} // three\n"), "One\n|\ntwo\nthree\n");
        assert_eq!(
            super::of("/// One\n/// two\n///\n/// Three\n// four").1,
            [true, false, false, true, true]
        );
    }

    #[test]
    fn strings_and_characters_are_no_comments() {
        for text in [
            "let link = \"http://a\";",
            "let quoted = \"\\\"// a\";",
            "let raw = r#\"\"// a\"#;",
            "let bytes = br\"// a\";",
            "let ptx = \"\n// a\n\";",
            "let ptx = r#\"\n// a\n\"\n// b\n\"#;",
            "/*\n// a\n*/",
        ] {
            assert!(comments(text).lines().all(|line| line == "|"), "{text}");
        }
        for text in ["'\"' // a", "'\\'' // a", "'\\u{22}' // a", "f::<'a>() // a", "for\" // \" // a"] {
            assert_eq!(comments(text), "a\n", "{text}");
        }
    }
}
