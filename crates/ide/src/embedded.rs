//! Inline PTX of CUDA C++ and of Rust: each `asm` statement becomes a small module of its own, with a map back.
//!
//! The literals are concatenated and unescaped; an operand hole such as `%0` or `{x}` becomes a register of the type
//! that its constraint names; a function is put around them, so that the rest of the crate sees ordinary PTX. The map
//! is piecewise: text that the host does not hold (the frame, names of holes) maps to nothing or to the hole.

use std::sync::Arc;

use oriole_chip::Chip;

use crate::{Language, Range};

mod scanner;

use scanner::{Asm, Byte, Hole, Scanner};

/// One `asm` statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Snippet {
    /// The generated module.
    pub text: Arc<str>,
    /// From the first literal to the last, in the host.
    pub host: Range,
    /// Corresponding ranges of the module and of the host, in order. Ranges of equal length correspond byte by byte,
    /// others as wholes.
    pieces: Vec<(Range, Range)>,
    /// The host's spelling of the registers that stand for its operands.
    holes: Vec<(String, String)>,
    language: Language,
    /// Its literals are raw, without escapes.
    raw: bool,
}

impl Snippet {
    /// A message about the module with the names of operands as the host spells them.
    pub fn names(&self, message: &str) -> String {
        let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let mut out = String::with_capacity(message.len());
        let mut rest = message;
        while let Some(letter) = rest.chars().next() {
            let end = rest.find(|letter| !is_word(letter)).unwrap_or(rest.len()).max(letter.len_utf8());
            let (word, behind) = rest.split_at(end);
            let known = self.holes.iter().find(|(name, _)| name == word);
            out.push_str(known.map_or(word, |(_, spelling)| spelling));
            rest = behind;
        }
        out
    }

    /// Text of the module, escaped for the host.
    pub fn spell(&self, text: &str) -> String {
        let is_word = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '$' | '%');
        let mut out = String::with_capacity(text.len() + 8);
        let mut rest = text;
        while let Some(letter) = rest.chars().next() {
            let end = rest.find(|letter| !is_word(letter)).unwrap_or(rest.len());
            if let Some((_, spelling)) = self.holes.iter().find(|(name, _)| *name == rest[..end]) {
                out.push_str(spelling);
                rest = &rest[end..];
                continue;
            }
            let end = end.max(letter.len_utf8());
            for letter in rest[..end].chars() {
                match (self.language, letter) {
                    (Language::Cuda, '%') => out.push_str("%%"),
                    (Language::Rust, '{' | '}') => out.extend([letter, letter]),
                    (Language::Cuda, '\n') if !self.raw => out.push_str("\\n"),
                    (_, '"' | '\\') if !self.raw => out.extend(['\\', letter]),
                    _ => out.push(letter),
                }
            }
            rest = &rest[end..];
        }
        out
    }

    /// The position in the module for a position in the host.
    pub fn down(&self, at: u32) -> Option<u32> {
        let (module, host) = self.pieces.iter().find(|(_, host)| host.touches(at))?;
        Some(if module.len() == host.len() { module.start + (at - host.start) } else { module.start })
    }

    /// The range in the host for a range in the module; `None` if no part of it is there.
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
            let mut scanner = Scanner::new(language, text);
            let mut found = Vec::new();
            while let Some(statement) = scanner.next_statement() {
                found.extend(module(language, &statement, chip));
            }
            found
        }
    }
}

/// The part of a template that begins at a byte.
enum Part {
    /// The byte itself, or an escape for one byte: number of template bytes.
    Byte(u8, usize),
    /// A hole: its index and its number of template bytes.
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
            // An empty pair of braces is the next hole; the caller counts them.
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

/// The module for a statement.
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
    // Holes without an operand.
    let mut empty: Vec<usize> = Vec::new();
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
                    // No declaration has the name; [`Snippet::names`] gives the host's spelling back.
                    || {
                        empty.push(index);
                        format!("operand_{index}")
                    },
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
    let registers = asm.holes.iter().enumerate().filter(|(_, hole)| !hole.ty.is_empty());
    let spelling = |index: usize, name: &str| match (language, name) {
        (Language::Rust, "") => format!("{{{index}}}"),
        (Language::Rust, name) => format!("{{{name}}}"),
        (_, "") => format!("%{index}"),
        (_, name) => format!("%[{name}]"),
    };
    let filled = registers.map(|(index, hole)| (hole_name(hole, index), spelling(index, &hole.name)));
    let empty = empty.into_iter().map(|index| (format!("operand_{index}"), spelling(index, "")));
    let holes = filled.chain(empty).collect();
    // A byte escape may have made invalid UTF-8.
    let text = String::from_utf8(out).ok()?;
    Some(Snippet { text: text.into(), host, pieces, holes, language, raw: asm.raw })
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
    fn text_is_spelled_as_the_host_wants_it() {
        let cuda =
            snippets(Language::Cuda, r#"asm("mov.u32 %0, %[in];" : "=r"(o) : [in] "r"(i));"#, Chip::SM_90);
        assert_eq!(cuda[0].names("`operand_0` and `operand_01`"), "`%0` and `operand_01`");
        let more = snippets(Language::Cuda, r#"asm("mov.u32 %0, %3;" : "=r"(o) : "r"(i));"#, Chip::SM_90);
        assert_eq!(more[0].names("`operand_3` is not declared"), "`%3` is not declared");
        let text = ".reg .b32 %x;\nadd.u32 operand_0, %x, operand_in;";
        assert_eq!(cuda[0].spell(text), r".reg .b32 %%x;\nadd.u32 %0, %%x, %[in];");
        let raw = snippets(Language::Cuda, "asm(R\"(ret;)\");", Chip::SM_90);
        assert_eq!(raw[0].spell("{ %x;\n}"), "{ %%x;\n}");
        let rust = snippets(
            Language::Rust,
            r#"asm!("mov.u32 {o}, {0};", in(reg32) i, o = out(reg32) o)"#,
            Chip::SM_90,
        );
        assert_eq!(rust[0].spell("{ add %x, operand_0, operand_o; }"), "{{ add %x, {0}, {o}; }}");
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
