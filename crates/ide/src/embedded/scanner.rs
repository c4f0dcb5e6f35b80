//! Finding `asm` statements in the text of C++ and Rust: comments, literals and brackets of the host, no knowledge of
//! PTX.
//!
//! Each byte of a literal keeps its range in the host, an escape its two or more bytes.

use crate::{Language, Range};

/// A byte of a concatenated literal and its bytes in the host.
pub(super) type Byte = (u8, Range);

/// An operand of an `asm` statement.
#[derive(Clone, Debug, Default)]
pub(super) struct Hole {
    /// Its name, if it has one.
    pub name: String,
    /// Type of its register; empty for a constant.
    pub ty: &'static str,
}

/// The contents of an `asm` statement.
pub(super) struct Asm {
    /// Its literals, concatenated and unescaped.
    pub bytes: Vec<Byte>,
    /// Its operands.
    pub holes: Vec<Hole>,
    /// A literal of it is raw, without escapes.
    pub raw: bool,
}

/// A walk over the host's text that knows its comments and literals.
pub(super) struct Scanner<'a> {
    text: &'a [u8],
    source: &'a str,
    at: usize,
    language: Language,
    /// A literal of the current statement is raw.
    raw: bool,
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

impl<'a> Scanner<'a> {
    pub fn new(language: Language, source: &'a str) -> Scanner<'a> {
        Scanner { text: source.as_bytes(), source, at: 0, language, raw: false }
    }

    fn byte(&self, ahead: usize) -> u8 {
        self.text.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn skip_space(&mut self) {
        loop {
            match (self.byte(0), self.byte(1)) {
                (b' ' | b'\t' | b'\r' | b'\n', _) if self.at < self.text.len() => self.at += 1,
                (b'/', b'/') => {
                    self.at += self.text[self.at..].iter().take_while(|&&byte| byte != b'\n').count();
                }
                (b'/', b'*') => {
                    let rest = &self.text[self.at + 2..];
                    let end = rest.windows(2).position(|pair| pair == b"*/");
                    self.at = end.map_or(self.text.len(), |end| self.at + 2 + end + 2);
                }
                _ => return,
            }
        }
    }

    fn word(&mut self) -> &str {
        let start = self.at;
        while is_word(self.byte(0)) {
            self.at += 1;
        }
        &self.source[start..self.at]
    }

    fn eat(&mut self, byte: u8) -> bool {
        self.skip_space();
        let here = self.byte(0) == byte && self.at < self.text.len();
        self.at += usize::from(here);
        here
    }

    /// Skips a literal or character.
    fn skip_literal(&mut self, quote: u8) {
        self.at += 1;
        while self.at < self.text.len() && self.byte(0) != quote {
            // A character is closed on its line; an unclosed quote is a lifetime or a digit separator.
            if quote == b'\'' && self.byte(0) == b'\n' {
                return;
            }
            self.at += if self.byte(0) == b'\\' { 2 } else { 1 };
        }
        self.at = (self.at + 1).min(self.text.len());
    }

    /// The next `asm` statement, from the current position.
    pub fn next_statement(&mut self) -> Option<Asm> {
        while self.at < self.text.len() {
            match self.byte(0) {
                b'/' if matches!(self.byte(1), b'/' | b'*') => self.skip_space(),
                b'"' => self.skip_literal(b'"'),
                b'\'' if self.language == Language::Rust => {
                    // Only `'x'` and `'\…'` are characters, the rest are lifetimes.
                    if self.byte(1) == b'\\' || self.byte(2) == b'\'' {
                        self.skip_literal(b'\'');
                    } else {
                        self.at += 1;
                    }
                }
                b'\'' if self.at == 0 || !is_word(self.text[self.at - 1]) => self.skip_literal(b'\''),
                byte if is_word(byte) && !byte.is_ascii_digit() => {
                    let keyword = self.word().to_owned();
                    if matches!(keyword.as_str(), "R" | "LR" | "uR" | "UR" | "u8R" | "r" | "br")
                        && matches!(self.byte(0), b'"' | b'#')
                    {
                        self.raw_literal(&mut Vec::new());
                        continue;
                    }
                    self.raw = false;
                    if let Some(statement) = self.statement(&keyword) {
                        return Some(Asm { raw: self.raw, ..statement });
                    }
                }
                _ => self.at += 1,
            }
        }
        None
    }

    fn statement(&mut self, keyword: &str) -> Option<Asm> {
        match self.language {
            Language::Cuda if matches!(keyword, "asm" | "__asm__" | "__asm") => self.cuda(),
            Language::Rust if keyword == "asm" => {
                if self.eat(b'!') {
                    self.rust()
                } else {
                    None
                }
            }
            _ => None,
        }
    }

    fn cuda(&mut self) -> Option<Asm> {
        let start = self.at;
        self.skip_space();
        while matches!(self.byte(0), b'v' | b'_' | b'i' | b'g') {
            if !matches!(self.word(), "volatile" | "__volatile__" | "__volatile" | "inline" | "goto") {
                self.at = start;
                return None;
            }
            self.skip_space();
        }
        if !self.eat(b'(') {
            return None;
        }
        let mut asm = Asm { bytes: Vec::new(), holes: Vec::new(), raw: false };
        if !self.literals(&mut asm.bytes) {
            return None;
        }
        let mut section = 0;
        loop {
            self.skip_space();
            match self.byte(0) {
                b':' => {
                    section += 1;
                    self.at += 1;
                    if self.byte(0) == b':' {
                        section += 1;
                        self.at += 1;
                    }
                }
                b',' => self.at += 1,
                b'[' => {
                    self.at += 1;
                    self.skip_space();
                    let name = self.word().to_owned();
                    self.eat(b']');
                    self.skip_space();
                    self.hole(name, &mut asm.holes);
                }
                b'"' if section <= 2 => self.hole(String::new(), &mut asm.holes),
                b'"' => self.skip_literal(b'"'),
                b')' => {
                    self.at += 1;
                    return Some(asm);
                }
                _ => return Some(asm),
            }
        }
    }

    /// `"=r"(value)`
    fn hole(&mut self, name: String, holes: &mut Vec<Hole>) {
        let start = self.at;
        self.skip_literal(b'"');
        let constraint = self.source.get(start..self.at).unwrap_or_default().trim_matches('"');
        let ty = constraint.bytes().find_map(|byte| {
            Some(match byte {
                b'r' => ".b32",
                b'l' => ".b64",
                b'h' => ".b16",
                b'f' => ".f32",
                b'd' => ".f64",
                b'q' => ".b128",
                b'c' => ".b32",
                b'n' | b'C' => "",
                _ => return None,
            })
        });
        // `"0"` refers to the operand with that index.
        let same = constraint.parse::<usize>().ok().and_then(|at| holes.get(at)).map(|hole| hole.ty);
        holes.push(Hole { name, ty: ty.or(same).unwrap_or(".b32") });
        self.skip_space();
        if self.byte(0) == b'(' {
            self.group();
        }
    }

    /// Steps over a group in parentheses.
    fn group(&mut self) {
        let mut depth = 0usize;
        while self.at < self.text.len() {
            match self.byte(0) {
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => {
                    depth -= 1;
                    if depth == 0 {
                        self.at += 1;
                        return;
                    }
                }
                b'"' => {
                    self.skip_literal(b'"');
                    continue;
                }
                b'\'' => {
                    self.skip_literal(b'\'');
                    continue;
                }
                b'/' if matches!(self.byte(1), b'/' | b'*') => {
                    self.skip_space();
                    continue;
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    /// Adjacent literals, concatenated.
    fn literals(&mut self, bytes: &mut Vec<Byte>) -> bool {
        let mut any = false;
        loop {
            self.skip_space();
            match self.byte(0) {
                b'"' => {
                    self.plain(bytes);
                    any = true;
                }
                b'R' | b'r' if matches!(self.byte(1), b'"' | b'#') => {
                    self.at += 1;
                    self.raw_literal(bytes);
                    self.raw = true;
                    any = true;
                }
                _ => return any,
            }
        }
    }

    /// `R"tag(…)tag"` of C++, `r#"…"#` of Rust; the scan is after the letter.
    fn raw_literal(&mut self, bytes: &mut Vec<Byte>) {
        let (open, close): (usize, Vec<u8>) = if self.language == Language::Rust {
            let hashes = self.text[self.at..].iter().take_while(|&&byte| byte == b'#').count();
            if self.byte(hashes) != b'"' {
                self.at += hashes.max(1);
                return;
            }
            (hashes + 1, [vec![b'"'], vec![b'#'; hashes]].concat())
        } else {
            let tag: Vec<u8> =
                self.text[self.at + 1..].iter().copied().take_while(|&byte| byte != b'(').take(17).collect();
            (tag.len() + 2, [b")".to_vec(), tag, b"\"".to_vec()].concat())
        };
        let from = (self.at + open).min(self.text.len());
        let end = self.text[from..].windows(close.len()).position(|window| window == close);
        let end = end.map_or(self.text.len(), |end| from + end);
        for at in from..end {
            bytes.push((self.text[at], Range::new(at as u32, at as u32 + 1)));
        }
        self.at = (end + close.len()).min(self.text.len());
    }

    /// A literal with escapes.
    fn plain(&mut self, bytes: &mut Vec<Byte>) {
        self.at += 1;
        while self.at < self.text.len() && self.byte(0) != b'"' {
            let start = self.at;
            let byte = match (self.byte(0), self.byte(1)) {
                (b'\\', escape) => {
                    self.at += 2;
                    match escape {
                        b'n' => b'\n',
                        b't' => b'\t',
                        b'r' => b'\r',
                        b'\n' => {
                            // A line continuation: Rust drops the white space of the next line as well.
                            while self.language == Language::Rust && self.byte(0).is_ascii_whitespace() {
                                self.at += 1;
                            }
                            continue;
                        }
                        b'x' => {
                            let digits: String = self.text[self.at.min(self.text.len())..]
                                .iter()
                                .take(2)
                                .take_while(|byte| byte.is_ascii_hexdigit())
                                .map(|&byte| byte as char)
                                .collect();
                            self.at += digits.len();
                            u8::from_str_radix(&digits, 16).unwrap_or(b'?')
                        }
                        b'0' => 0,
                        other => other,
                    }
                }
                (byte, _) => {
                    self.at += 1;
                    byte
                }
            };
            bytes.push((byte, Range::new(start as u32, self.at.min(self.text.len()) as u32)));
        }
        self.at = (self.at + 1).min(self.text.len());
    }

    fn rust(&mut self) -> Option<Asm> {
        if !(self.eat(b'(') || self.eat(b'[') || self.eat(b'{')) {
            return None;
        }
        let mut asm = Asm { bytes: Vec::new(), holes: Vec::new(), raw: false };
        // Templates come first; each is a line of its own.
        loop {
            self.skip_space();
            let before = asm.bytes.len();
            if !self.literals(&mut asm.bytes) {
                break;
            }
            if let Some(&(_, last)) = asm.bytes[before..].last() {
                asm.bytes.push((b'\n', Range::point(last.end)));
            }
            if !self.eat(b',') {
                break;
            }
        }
        if asm.bytes.is_empty() {
            return None;
        }
        loop {
            self.skip_space();
            match self.byte(0) {
                b',' => self.at += 1,
                byte if is_word(byte) => {
                    let mut word = self.word().to_owned();
                    let mut name = String::new();
                    self.skip_space();
                    if self.byte(0) == b'=' && self.byte(1) != b'=' {
                        name = word;
                        self.at += 1;
                        self.skip_space();
                        word = self.word().to_owned();
                        self.skip_space();
                    }
                    let mut ty = "";
                    if self.byte(0) == b'(' {
                        let start = self.at;
                        self.group();
                        let class = self.source.get(start..self.at).unwrap_or_default();
                        ty = match class.trim_matches(|c: char| !c.is_alphanumeric()) {
                            "reg16" => ".b16",
                            "reg64" => ".b64",
                            "reg128" => ".b128",
                            _ => ".b32",
                        };
                    }
                    match word.as_str() {
                        "in" | "out" | "inout" | "lateout" | "inlateout" => {
                            asm.holes.push(Hole { name, ty });
                        }
                        "const" | "sym" => asm.holes.push(Hole { name, ty: "" }),
                        _ => {}
                    }
                    self.argument_end();
                }
                b')' | b']' | b'}' => {
                    self.at += 1;
                    return Some(asm);
                }
                _ => return Some(asm),
            }
        }
    }

    /// Steps to the comma or bracket that ends an argument.
    fn argument_end(&mut self) {
        while self.at < self.text.len() {
            match self.byte(0) {
                b',' | b')' | b']' | b'}' => return,
                b'(' | b'[' | b'{' => self.group(),
                b'"' => self.skip_literal(b'"'),
                b'/' if matches!(self.byte(1), b'/' | b'*') => self.skip_space(),
                _ => self.at += 1,
            }
        }
    }
}
