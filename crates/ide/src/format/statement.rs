//! The position of a token in its statement: the part of a text that the rules of white space depend on.
//!
//! It knows tokens and their order, and no white space but that a line ended. It must tolerate every text: a token too many
//! is a statement of its own.

use oriole_syntax::{SyntaxKind, tokenize};

use crate::Range;
use crate::cursor::ends_with_line;

/// A token or comment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Solid {
    pub kind: SyntaxKind,
    pub range: Range,
}

/// The tokens and comments of a unit.
pub(super) struct Solids<'a> {
    pub text: &'a str,
    pub list: Vec<Solid>,
    /// A comment or a string has no end.
    pub is_open: bool,
}

impl<'a> Solids<'a> {
    pub fn of(text: &'a str) -> Solids<'a> {
        let mut errors = Vec::new();
        let tokens = tokenize(text, &mut errors);
        let end = |index: usize| tokens.get(index + 1).map_or(text.len() as u32, |next| next.start);
        let solid = |kind| !matches!(kind, SyntaxKind::WHITESPACE | SyntaxKind::END);
        let list = tokens.iter().enumerate().filter(|(_, token)| solid(token.kind));
        let list =
            list.map(|(at, token)| Solid { kind: token.kind, range: Range::new(token.start, end(at)) });
        Solids { text, list: list.collect(), is_open: !errors.is_empty() }
    }

    pub fn get(&self, index: usize) -> Option<Solid> {
        self.list.get(index).copied()
    }

    pub fn kind(&self, index: usize) -> Option<SyntaxKind> {
        self.list.get(index).map(|solid| solid.kind)
    }

    pub fn word(&self, index: usize) -> &'a str {
        self.get(index).map_or("", |solid| solid.range.slice(self.text))
    }

    /// The white space after a token.
    pub fn gap(&self, index: usize) -> Range {
        let start = self.get(index).map_or(0, |solid| solid.range.end);
        Range::new(start, self.get(index + 1).map_or(self.text.len() as u32, |next| next.range.start))
    }

    /// Line ends after a token.
    pub fn lines(&self, index: usize) -> usize {
        self.gap(index).slice(self.text).matches('\n').count()
    }

    /// Whether a token that begins a statement is the label of what follows, and not the name of a list or prototype.
    pub fn is_label(&self, index: usize) -> bool {
        self.kind(index) == Some(SyntaxKind::IDENT)
            && self.kind(index + 1) == Some(SyntaxKind::COLON)
            && !self.is_named(index + 2)
    }

    /// Whether a directive gets its name from a label before it.
    fn is_named(&self, index: usize) -> bool {
        matches!(self.word(index), ".branchtargets" | ".calltargets" | ".callprototype")
    }

    /// Whether a list in parentheses has a line end between its parentheses.
    fn is_broken(&self, open: usize) -> bool {
        let mut depth = 0;
        for (index, solid) in self.list.iter().enumerate().skip(open) {
            match solid.kind {
                SyntaxKind::L_PAREN => depth += 1,
                SyntaxKind::R_PAREN => depth -= 1,
                SyntaxKind::SEMICOLON | SyntaxKind::L_BRACE => return false,
                _ => {}
            }
            if depth == 0 {
                return false;
            }
            if self.lines(index) > 0 {
                return true;
            }
        }
        false
    }
}

/// Parentheses, brackets or braces of operands that are open.
#[derive(Clone, Copy)]
pub(super) struct Group {
    /// The level of the line that they are opened on.
    pub level: usize,
    /// Parameters of a function, one a line.
    pub listed: bool,
}

/// The guard of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Guard {
    #[default]
    None,
    Begun,
    Complete,
}

/// The state of the walk after a token.
#[derive(Default)]
pub(super) struct State {
    /// Blocks that are open.
    pub blocks: usize,
    pub groups: Vec<Group>,
    /// The level of the current line.
    pub level: usize,
    /// Tokens of the current statement so far.
    pub length: usize,
    guard: Guard,
    /// The current statement is an instruction.
    pub instruction: bool,
    /// The token is an opcode or a modifier of it.
    pub in_opcode: bool,
    /// The statement is the head of a function.
    pub head: bool,
    /// The statement declares registers or variables in a body, and their first name is still to come.
    pub unnamed: bool,
    /// The statement is a section, or is inside of one.
    section: bool,
    /// The braces that are open are an initial value.
    initializer: bool,
    /// The statement is a directive that ends with its line.
    pub line: bool,
    /// The last token of the statement is a comma.
    comma: bool,
}

impl State {
    fn begin(&mut self, blocks: usize, section: bool) {
        *self = State { blocks, section, level: self.level, ..State::default() };
    }

    /// Takes the token `index` into account.
    pub fn step(&mut self, solids: &Solids<'_>, index: usize) {
        use SyntaxKind::*;
        let Some(token) = solids.get(index).filter(|token| !token.kind.is_trivia()) else { return };
        let begins = self.length == 0;
        let was_in_opcode = std::mem::take(&mut self.in_opcode);
        self.comma = token.kind == COMMA;
        match token.kind {
            // Inside of parentheses a semicolon is a mistake; it ends the statement all the same.
            SEMICOLON => return self.begin(self.blocks, self.section),
            L_BRACE if self.opens_group() => self.open(false),
            L_BRACE => return self.begin(self.blocks + 1, self.section),
            R_BRACE if self.groups.is_empty() => return self.begin(self.blocks.saturating_sub(1), false),
            L_PAREN => {
                let listed = self.head && self.groups.is_empty() && solids.is_broken(index);
                self.open(listed);
            }
            L_BRACKET => self.open(false),
            R_PAREN | R_BRACKET | R_BRACE => drop(self.groups.pop()),
            EQ => self.initializer = true,
            COLON if self.length == 1 => {
                if !solids.is_named(index + 1) {
                    return self.begin(self.blocks, self.section);
                }
                self.instruction = false;
            }
            IDENT => self.name(),
            AT if begins => self.guard = Guard::Begun,
            DOTTED if begins => self.directive(solids.word(index)),
            DOTTED => {
                self.in_opcode = was_in_opcode;
                self.head |= self.blocks == 0 && matches!(solids.word(index), ".entry" | ".func");
            }
            _ => {}
        }
        self.length += 1;
    }

    fn name(&mut self) {
        self.unnamed = false;
        if self.guard == Guard::Begun {
            self.guard = Guard::Complete;
        } else if self.length == 0 || self.guard == Guard::Complete && !self.instruction {
            (self.instruction, self.in_opcode) = (true, true);
        }
    }

    fn directive(&mut self, word: &str) {
        self.section |= word == ".section";
        self.line = ends_with_line(word) || self.section && self.blocks > 0;
        self.head = self.blocks == 0 && matches!(word, ".entry" | ".func");
        let declares = matches!(
            word,
            ".reg"
                | ".local"
                | ".shared"
                | ".param"
                | ".global"
                | ".const"
                | ".texref"
                | ".samplerref"
                | ".surfref"
        );
        self.unnamed = declares && self.blocks > 0;
    }

    fn open(&mut self, listed: bool) {
        self.groups.push(Group { level: self.level, listed });
    }

    /// Whether a brace that comes now is one of operands or values, and not of a block.
    pub fn opens_group(&self) -> bool {
        !self.groups.is_empty() || self.instruction || self.initializer
    }

    /// Whether the end of a line ends the statement now.
    pub fn ends_with_line(&self) -> bool {
        self.line && self.length > 1 && !self.comma
    }

    /// The line ends: so does a directive of one line.
    pub fn end_line(&mut self) {
        if self.ends_with_line() {
            self.begin(self.blocks, self.section);
        }
    }

    /// The level of a line that begins with this token now; `label` if that is a label.
    pub fn level_of(&self, next: Option<SyntaxKind>, word: &str, label: bool) -> usize {
        use SyntaxKind::{L_BRACE, R_BRACE, R_BRACKET, R_PAREN};
        if let Some(group) = self.groups.last() {
            let closes = matches!(next, Some(R_BRACE | R_BRACKET | R_PAREN));
            return group.level + usize::from(!closes);
        }
        if label && self.length == 0 {
            return 0;
        }
        match next {
            Some(R_BRACE) => self.blocks.saturating_sub(1),
            Some(L_BRACE) if !self.opens_group() => self.blocks,
            // The head of a function goes on without indentation.
            _ if self.head || matches!(word, ".entry" | ".func") => self.blocks,
            _ => self.blocks + usize::from(self.length > 0),
        }
    }
}
