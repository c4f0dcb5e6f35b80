//! Inline PTX of CUDA C++ and of Rust: each `asm` statement becomes a small module of its own, with a map back.
//!
//! The literals are joined and their escapes undone; an operand hole such as `%0` or `{x}` becomes a register of the type
//! that its constraint names; round it all stands a function, so that the rest of the crate sees PTX like any other. The
//! map is piecewise: what the host does not hold (the frame, names of holes) maps to nothing or to the hole.

use std::sync::Arc;

use oriole_chip::Chip;

use crate::{Language, Range};

/// One `asm` statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Snippet {
    /// The module that stands for it.
    pub text: Arc<str>,
    /// From the first literal to the last, in the host.
    pub host: Range,
    /// Stretches of the module and of the host that correspond, in order. Of equal length they correspond byte by byte,
    /// else as wholes.
    pieces: Vec<(Range, Range)>,
}

impl Snippet {
    /// The position in the module for a position in the host.
    pub fn down(&self, at: u32) -> Option<u32> {
        let (module, host) = self.pieces.iter().find(|(_, host)| host.touches(at))?;
        Some(if module.len() == host.len() { module.start + (at - host.start) } else { module.start })
    }

    /// The range in the host for a range in the module; nothing if no part of it stands there.
    pub fn up(&self, range: Range) -> Option<Range> {
        let mut found: Option<Range> = None;
        for (module, host) in self.pieces.iter().filter(|(module, _)| module.meets(range)) {
            let part = if module.len() == host.len() {
                let start = range.start.max(module.start) - module.start;
                let end = range.end.min(module.end).max(module.start) - module.start;
                Range::new(host.start + start, host.start + end)
            } else {
                *host
            };
            // A point between two pieces belongs to the one that begins there.
            found = Some(match found {
                Some(found) if !range.is_empty() => Range::new(found.start, part.end),
                _ => part,
            });
        }
        found
    }
}

/// The snippets of a host text.
pub(crate) fn snippets(language: Language, text: &str, chip: Chip) -> Vec<Snippet> {
    match language {
        Language::Ptx => Vec::new(),
        Language::Cuda | Language::Rust => {
            let mut scanner = Scanner { text: text.as_bytes(), source: text, at: 0, language };
            let mut found = Vec::new();
            while let Some(statement) = scanner.next_statement() {
                found.extend(module(language, &statement, chip));
            }
            found
        }
    }
}

/// A byte of a joined literal and the bytes of the host that it comes from.
type Byte = (u8, Range);

/// An operand of an `asm` statement.
#[derive(Clone, Debug, Default)]
struct Hole {
    /// Its name, if it has one.
    name: String,
    /// Type of its register; empty for a constant.
    ty: &'static str,
}

struct Asm {
    bytes: Vec<Byte>,
    holes: Vec<Hole>,
}

struct Scanner<'a> {
    text: &'a [u8],
    source: &'a str,
    at: usize,
    language: Language,
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

impl Scanner<'_> {
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

    /// Steps over a literal or character that is not wanted.
    fn skip_literal(&mut self, quote: u8) {
        self.at += 1;
        while self.at < self.text.len() && self.byte(0) != quote {
            // A character is closed on its line; what looks like one and is not is a lifetime or a digit separator.
            if quote == b'\'' && self.byte(0) == b'\n' {
                return;
            }
            self.at += if self.byte(0) == b'\\' { 2 } else { 1 };
        }
        self.at = (self.at + 1).min(self.text.len());
    }

    /// The next `asm` statement, from where the scan stands.
    fn next_statement(&mut self) -> Option<Asm> {
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
                        self.raw(&mut Vec::new());
                        continue;
                    }
                    if let Some(statement) = self.statement(&keyword) {
                        return Some(statement);
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
            Language::Rust if keyword == "asm" => match self.eat(b'!') {
                true => self.rust(),
                false => None,
            },
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
        let mut asm = Asm { bytes: Vec::new(), holes: Vec::new() };
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
        // `"0"` stands for the operand of that number.
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

    /// Adjacent literals, joined.
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
                    self.raw(bytes);
                    any = true;
                }
                _ => return any,
            }
        }
    }

    /// `R"tag(…)tag"` of C++, `r#"…"#` of Rust; the scan stands behind the letter.
    fn raw(&mut self, bytes: &mut Vec<Byte>) {
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
                            // A line continued: Rust drops the white space of the next one as well.
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
        let mut asm = Asm { bytes: Vec::new(), holes: Vec::new() };
        // Templates stand first; each is a line of its own.
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

/// What a template byte begins.
enum Part {
    /// The byte stands for itself, or an escape for one byte: how many template bytes it takes.
    Byte(u8, usize),
    /// A hole: its index and how many template bytes it takes.
    Hole(usize, usize),
}

fn part(language: Language, bytes: &[Byte], holes: &[Hole]) -> Part {
    let at = |ahead: usize| bytes.get(ahead).map_or(0, |byte| byte.0);
    let plain = Part::Byte(at(0), 1);
    let by_name = |name: &str| holes.iter().position(|hole| !name.is_empty() && hole.name == name);
    match (language, at(0)) {
        (Language::Rust, open @ (b'{' | b'}')) if at(1) == open => Part::Byte(open, 2),
        (Language::Rust, b'{') => {
            let inner: Vec<u8> =
                bytes[1..].iter().map(|byte| byte.0).take_while(|&byte| byte != b'}').take(64).collect();
            let text = String::from_utf8_lossy(&inner).into_owned();
            let name = text.split(':').next().unwrap_or_default().trim();
            let index = name.parse::<usize>().ok().or_else(|| by_name(name));
            // An empty pair of braces is the next one; the caller counts them.
            match index.or(name.is_empty().then_some(usize::MAX)) {
                Some(index) => Part::Hole(index, inner.len() + 2),
                None => plain,
            }
        }
        (Language::Cuda, b'%') => match at(1) {
            b'%' => Part::Byte(b'%', 2),
            b'{' | b'}' | b'|' => Part::Byte(at(1), 2),
            b'=' => Part::Byte(b'0', 2),
            digit if digit.is_ascii_digit() => {
                let digits = bytes[1..].iter().take_while(|byte| byte.0.is_ascii_digit()).count();
                let text: String = bytes[1..=digits].iter().map(|byte| byte.0 as char).collect();
                text.parse().map_or(plain, |index| Part::Hole(index, digits + 1))
            }
            b'[' => {
                let inner: Vec<u8> =
                    bytes[2..].iter().map(|byte| byte.0).take_while(|&byte| byte != b']').take(64).collect();
                by_name(&String::from_utf8_lossy(&inner))
                    .map_or(plain, |index| Part::Hole(index, inner.len() + 3))
            }
            _ => plain,
        },
        _ => plain,
    }
}

/// The module that stands for a statement.
fn module(language: Language, asm: &Asm, chip: Chip) -> Option<Snippet> {
    let host = Range::new(asm.bytes.first()?.1.start, asm.bytes.last()?.1.end);
    let mut text = format!(".version 8.6\n.target {chip}\n.address_size 64\n.func inline_ptx()\n{{\n");
    for (index, hole) in asm.holes.iter().enumerate().filter(|(_, hole)| !hole.ty.is_empty()) {
        text.push_str(&format!(".reg {} {};\n", hole.ty, hole_name(hole, index)));
    }
    let mut out = text.into_bytes();
    let mut pieces: Vec<(Range, Range)> = Vec::new();
    let mut at = 0;
    let mut unnamed = 0;
    while at < asm.bytes.len() {
        let here = out.len() as u32;
        let (taken, added) = match part(language, &asm.bytes[at..], &asm.holes) {
            Part::Byte(byte, taken) => {
                out.push(byte);
                (taken, 1)
            }
            Part::Hole(index, taken) => {
                let index = if index == usize::MAX {
                    unnamed += 1;
                    unnamed - 1
                } else {
                    index
                };
                let name = asm.holes.get(index).map_or_else(
                    // Of a hole without an operand the name says so; no declaration has it.
                    || format!("operand_{index}"),
                    |hole| hole_name(hole, index),
                );
                out.extend_from_slice(name.as_bytes());
                (taken, name.len() as u32)
            }
        };
        let taken = taken.min(asm.bytes.len() - at);
        let source = Range::new(asm.bytes[at].1.start, asm.bytes[at + taken - 1].1.end);
        let module = Range::new(here, here + added);
        match pieces.last_mut() {
            Some((known, place))
                if known.end == module.start
                    && place.end == source.start
                    && known.len() == place.len()
                    && module.len() == source.len() =>
            {
                known.end = module.end;
                place.end = source.end;
            }
            _ => pieces.push((module, source)),
        }
        at += taken;
    }
    out.extend_from_slice(b"\n}\n");
    // A byte escape may have made something that is no text.
    let text = String::from_utf8(out).ok()?;
    Some(Snippet { text: text.into(), host, pieces })
}

/// The register, or the constant, that stands for a hole.
fn hole_name(hole: &Hole, index: usize) -> String {
    match (hole.ty, hole.name.as_str()) {
        ("", _) => "1".to_owned(),
        (_, "") => format!("operand_{index}"),
        (_, name) => format!("operand_{name}"),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(language: Language, text: &str, expected: Expect) {
        let mut out = String::new();
        for snippet in snippets(language, text, Chip::SM_90) {
            let body = snippet.text.split_once("{\n").expect("a body").1;
            out.push_str(body);
            for (module, host) in &snippet.pieces {
                out.push_str(&format!("{:?} <- {:?}\n", module.slice(&snippet.text), host.slice(text)));
            }
        }
        expected.assert_eq(&out);
    }

    #[test]
    fn statements_of_cuda() {
        check(
            Language::Cuda,
            r#"// asm("no;");
               asm volatile ("add.u32 %0, %1, %[two];\n\t" /* and */ "mov.u32 %0, %%laneid;"
                             : "=r"(out) : "r"(f(a, ")")), [two] "n"(2) : "memory");"#,
            expect![[r#"
                .reg .b32 operand_0;
                .reg .b32 operand_1;
                add.u32 operand_0, operand_1, 1;
                	mov.u32 operand_0, %laneid;
                }
                "add.u32 " <- "add.u32 "
                "operand_0" <- "%0"
                ", " <- ", "
                "operand_1" <- "%1"
                ", " <- ", "
                "1" <- "%[two]"
                ";" <- ";"
                "\n" <- "\\n"
                "\t" <- "\\t"
                "mov.u32 " <- "mov.u32 "
                "operand_0" <- "%0"
                ", " <- ", "
                "%" <- "%%"
                "laneid;" <- "laneid;"
            "#]],
        );
    }

    #[test]
    fn statements_of_rust() {
        check(
            Language::Rust,
            r##"fn f<'a>() { let c = 'x'; asm!("add.u64 {0}, {}, {y};", r#"{{ ret; }}"#, out(reg64) x, y = in(reg64) 3, options(nostack)) }"##,
            expect![[r#"
                .reg .b64 operand_0;
                .reg .b64 operand_y;
                add.u64 operand_0, operand_0, operand_y;
                { ret; }

                }
                "add.u64 " <- "add.u64 "
                "operand_0" <- "{0}"
                ", " <- ", "
                "operand_0" <- "{}"
                ", " <- ", "
                "operand_y" <- "{y}"
                ";" <- ";"
                "\n" <- ""
                "{" <- "{{"
                " ret; " <- " ret; "
                "}" <- "}}"
                "\n" <- ""
            "#]],
        );
    }
}
