//! Semantic tokens: the kind of each word, found and memoized unit by unit.

use std::sync::Arc;

use oriole_inputs::{Db, FunctionUnit};
use oriole_ptx::{Opcode, Type};
use oriole_queries::files;
use oriole_query_macro::query;
use oriole_syntax::{NodeOrToken, SyntaxKind, TokenRef, ast};

use crate::cursor::{token_range, units_in};
use crate::marks::{Marks, OfUnit, RegisterMarks};
use crate::names::{Access, DeclarationKind, Meaning, Names, names};
use crate::snapshot::Snapshot;
use crate::{Feature, FileId, Range};

/// The kind of a word.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum TokenKind {
    /// A directive: `.reg`, `.entry`.
    Directive,
    /// An opcode.
    Opcode,
    /// A modifier of an opcode.
    Modifier,
    /// A type.
    Type,
    /// A state space.
    Space,
    /// A register.
    Register,
    /// A predicate register.
    Predicate,
    /// A special register or constant of the language.
    Special,
    /// A parameter.
    Parameter,
    /// A variable.
    Variable,
    /// A kernel or function.
    Function,
    /// A label.
    Label,
    /// A number.
    Number,
    /// A string.
    String,
    /// A comment.
    Comment,
    /// An operator.
    Operator,
}

impl TokenKind {
    /// Every kind, in declaration order.
    pub const ALL: [TokenKind; 16] = [
        TokenKind::Directive,
        TokenKind::Opcode,
        TokenKind::Modifier,
        TokenKind::Type,
        TokenKind::Space,
        TokenKind::Register,
        TokenKind::Predicate,
        TokenKind::Special,
        TokenKind::Parameter,
        TokenKind::Variable,
        TokenKind::Function,
        TokenKind::Label,
        TokenKind::Number,
        TokenKind::String,
        TokenKind::Comment,
        TokenKind::Operator,
    ];
}

/// Modifiers of a token.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct TokenModifiers {
    /// It is declared here.
    pub declaration: bool,
    /// It is written here.
    pub write: bool,
    /// It cannot be written.
    pub readonly: bool,
    /// The module declares it.
    pub module: bool,
    /// Marks of a register, from compiled code.
    pub marks: Marks,
}

/// A word with its kind.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Token {
    /// The range, within one line.
    pub range: Range,
    /// The kind.
    pub kind: TokenKind,
    /// The modifiers.
    pub modifiers: TokenModifiers,
}

/// The tokens of a unit of a file. Clones share them.
#[derive(Clone, Debug)]
pub struct UnitTokens {
    /// The first byte of the unit.
    pub start: u32,
    /// The text of the unit.
    pub text: Arc<str>,
    /// The tokens without marks, their ranges relative to the unit.
    tokens: Arc<[Token]>,
    marks: Option<Arc<OfUnit>>,
}

impl UnitTokens {
    /// Whether these are known to be the tokens of the same text with the same marks, wherever the two units are.
    pub fn is_same(&self, other: &UnitTokens) -> bool {
        let same = |(one, other): (&Arc<OfUnit>, &Arc<OfUnit>)| Arc::ptr_eq(one, other);
        Arc::ptr_eq(&self.tokens, &other.tokens)
            && self.marks.is_some() == other.marks.is_some()
            && self.marks.as_ref().zip(other.marks.as_ref()).is_none_or(same)
    }

    /// A number that units which are the same share.
    pub fn key(&self) -> usize {
        self.tokens.as_ptr() as usize
    }

    /// The tokens with their marks, their ranges relative to the unit.
    pub fn tokens(&self) -> impl Iterator<Item = Token> {
        self.tokens.iter().map(|token| marked(token, &self.text, self.marks.as_deref()))
    }
}

/// The tokens of a whole file, unit by unit. The host of embedded PTX is one unit.
pub(crate) fn by_unit(snapshot: &Snapshot, file: FileId, marks: &RegisterMarks) -> Vec<UnitTokens> {
    let db = &snapshot.db;
    let Some(source) = snapshot.ptx(file) else {
        let text = snapshot.text(file).unwrap_or_default();
        let tokens = tokens(snapshot, file, None, marks).into();
        return vec![UnitTokens { start: 0, text: text.as_str().into(), tokens, marks: None }];
    };
    if !snapshot.is_on(file, Feature::FullTokens) {
        return Vec::new();
    }
    let of_unit = |&unit: &FunctionUnit<'_>| UnitTokens {
        start: unit.start(db),
        text: Arc::clone(unit.text(db)),
        tokens: unit_tokens(db, unit).clone(),
        marks: marks.of(unit.kind(db), unit.name(db)).cloned(),
    };
    files::split_file(db, source).iter().map(of_unit).collect()
}

pub(crate) fn tokens(
    snapshot: &Snapshot,
    file: FileId,
    range: Option<Range>,
    marks: &RegisterMarks,
) -> Vec<Token> {
    let mut all = Vec::new();
    if range.is_none() && !snapshot.is_on(file, Feature::FullTokens) {
        return all;
    }
    let db = &snapshot.db;
    for located in snapshot.sources(file) {
        let wanted = match located.snippet {
            None => range.unwrap_or(Range::new(0, u32::MAX)),
            Some(_) => Range::new(0, u32::MAX),
        };
        for (unit, start) in units_in(db, located.source, wanted) {
            let known = marks.of(unit.kind(db), unit.name(db)).filter(|_| located.snippet.is_none());
            let text = unit.text(db);
            let placed = unit_tokens(db, unit).iter().filter_map(|token| {
                let range = located.up(token.range.shifted(start))?;
                Some(Token { range, ..marked(token, text, known.map(|known| &**known)) })
            });
            all.extend(placed.filter(|token| range.is_none_or(|range| range.meets(token.range))));
        }
    }
    if snapshot.ptx(file).is_none() {
        // Pieces of a literal may come from several places; each byte of the host is highlighted once.
        all.sort();
        let mut end = 0;
        all.retain(|token| {
            let free = token.range.start >= end && !token.range.is_empty();
            end = if free { token.range.end } else { end };
            free
        });
    }
    all
}

/// A token with its marks.
fn marked(token: &Token, text: &str, known: Option<&OfUnit>) -> Token {
    let marks = known.map_or(Marks::default(), |known| marks_of(token, text, known));
    Token { modifiers: TokenModifiers { marks, ..token.modifiers }, ..*token }
}

/// The marks of a register's token.
fn marks_of(token: &Token, text: &str, known: &OfUnit) -> Marks {
    match token.kind {
        TokenKind::Register | TokenKind::Predicate => {
            known.get(token.range.slice(text)).copied().unwrap_or_default()
        }
        _ => Marks::default(),
    }
}

#[query(returns(ref), lru = 2048)]
fn unit_tokens<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Arc<[Token]> {
    let root = files::function_tree(db, unit).syntax();
    let names = names(db, unit);
    let text = unit.text(db);
    let mut next = 0;
    let mut all = Vec::new();
    let mut opcode = Range::point(0);
    for element in root.descendants_with_tokens() {
        let token = match element {
            NodeOrToken::Node(node) => {
                if node.kind() == SyntaxKind::OPCODE {
                    opcode = node.span().into();
                }
                continue;
            }
            NodeOrToken::Token(token) => token,
        };
        all.extend(ast::Numbers::of(token).map(|number| Token {
            range: number.span().into(),
            kind: TokenKind::Number,
            modifiers: TokenModifiers::default(),
        }));
        let range = token_range(token);
        while names.occurrences.get(next).is_some_and(|found| found.range.end <= range.start) {
            next += 1;
        }
        let here = names.occurrences.get(next).filter(|found| found.range.meets(range) && !range.is_empty());
        let described = match here {
            Some(found) => {
                // `%tid.x` is two tokens and one name, which is emitted at the first.
                if found.range.start < range.start {
                    continue;
                }
                let (kind, modifiers) = name_token(db, unit, names, next);
                Some(Token { range: found.range, kind, modifiers })
            }
            None => word(token, opcode.holds(range)).map(|kind| Token {
                range,
                kind,
                modifiers: TokenModifiers::default(),
            }),
        };
        if let Some(token) = described {
            push_lines(token, text, &mut all);
        }
    }
    all.into()
}

/// A comment over several lines is a token on each.
fn push_lines(token: Token, text: &str, all: &mut Vec<Token>) {
    let mut start = token.range.start;
    for line in token.range.slice(text).split_inclusive('\n') {
        let length = line.trim_end_matches(['\n', '\r']).len() as u32;
        if length > 0 {
            all.push(Token { range: Range::new(start, start + length), ..token });
        }
        start += line.len() as u32;
    }
}

fn name_token<'db>(
    db: &'db dyn Db,
    unit: FunctionUnit<'db>,
    names: &Names,
    index: usize,
) -> (TokenKind, TokenModifiers) {
    let found = &names.occurrences[index];
    let mut modifiers = TokenModifiers {
        declaration: found.access == Access::Declare,
        write: found.access == Access::Write,
        readonly: false,
        module: found.meaning == Meaning::Module,
        marks: Marks::default(),
    };
    let kind = match found.meaning {
        Meaning::Special => {
            modifiers.readonly = true;
            TokenKind::Special
        }
        Meaning::Local(_) => match names.declaration(found).map(|declared| (declared.kind, &declared.ty)) {
            Some((DeclarationKind::Register | DeclarationKind::Registers(_), ty)) if ty == "pred" => {
                TokenKind::Predicate
            }
            Some((DeclarationKind::Register | DeclarationKind::Registers(_), _)) => TokenKind::Register,
            Some((DeclarationKind::Parameter, _)) => {
                modifiers.readonly = true;
                TokenKind::Parameter
            }
            Some((DeclarationKind::Result, _)) => TokenKind::Parameter,
            Some((DeclarationKind::Variable, _)) => TokenKind::Variable,
            _ => TokenKind::Label,
        },
        Meaning::Module => {
            let file = unit.file(db);
            match files::definition(db, file, found.name.clone()) {
                Some(other) if other.kind(db) == oriole_syntax::UnitKind::Variable => TokenKind::Variable,
                Some(_) => TokenKind::Function,
                None if found.access == Access::Call => TokenKind::Function,
                None => TokenKind::Variable,
            }
        }
    };
    (kind, modifiers)
}

/// The kind of a word that names nothing.
fn word(token: TokenRef<'_>, in_opcode: bool) -> Option<TokenKind> {
    Some(match token.kind() {
        SyntaxKind::COMMENT | SyntaxKind::LINE_MARKER => TokenKind::Comment,
        SyntaxKind::INT_NUMBER | SyntaxKind::FLOAT_NUMBER => TokenKind::Number,
        SyntaxKind::STRING => TokenKind::String,
        SyntaxKind::DOTTED => {
            let name = token.text().trim_start_matches('.');
            if Type::from_name(name).is_some() {
                TokenKind::Type
            } else if oriole_ptx::Space::from_name(name).is_some() {
                TokenKind::Space
            } else if in_opcode {
                TokenKind::Modifier
            } else {
                TokenKind::Directive
            }
        }
        SyntaxKind::IDENT if in_opcode && Opcode::from_name(token.text()).is_some() => TokenKind::Opcode,
        SyntaxKind::AT
        | SyntaxKind::BANG
        | SyntaxKind::PLUS
        | SyntaxKind::MINUS
        | SyntaxKind::STAR
        | SyntaxKind::SLASH
        | SyntaxKind::PIPE
        | SyntaxKind::AMP
        | SyntaxKind::TILDE
        | SyntaxKind::EQ => TokenKind::Operator,
        _ => return None,
    })
}
