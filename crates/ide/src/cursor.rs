//! The context of a position: its unit, its token, its place in a statement that may be incomplete.

use oriole_inputs::{Db, FunctionUnit, SourceFile};
use oriole_queries::files;
use oriole_syntax::{NodeRef, Path, SyntaxKind, Token, TokenRef, ast, tokenize};

use crate::Range;

/// A position in a unit.
#[derive(Clone, Copy)]
pub(crate) struct Spot<'db> {
    pub unit: FunctionUnit<'db>,
    /// First byte of the unit in its file.
    pub start: u32,
    /// The position, from the start of the unit.
    pub at: u32,
}

/// The unit at a position of a file.
pub(crate) fn spot(db: &dyn Db, source: SourceFile, at: u32) -> Option<Spot<'_>> {
    let units = files::split_file(db, source);
    let behind = units.partition_point(|unit| unit.start(db) <= at);
    let mut index = behind.checked_sub(1)?;
    // At the border of two units the cursor is after the last word of the first one.
    if index > 0 && units[index].start(db) == at {
        index -= 1;
    }
    let (unit, start) = (units[index], units[index].start(db));
    (at - start <= unit.text(db).len() as u32).then_some(Spot { unit, start, at: at - start })
}

/// The units that meet a range, with their first bytes.
pub(crate) fn units_in(
    db: &dyn Db,
    source: SourceFile,
    range: Range,
) -> impl Iterator<Item = (FunctionUnit<'_>, u32)> {
    let units = files::split_file(db, source);
    let first = units.partition_point(|unit| unit.start(db) <= range.start).saturating_sub(1);
    units[first..]
        .iter()
        .map(move |&unit| (unit, unit.start(db)))
        .take_while(move |&(_, start)| start <= range.end)
}

impl<'db> Spot<'db> {
    /// The unit before the one at the position.
    pub fn before(&self, db: &'db dyn Db, source: SourceFile) -> Option<FunctionUnit<'db>> {
        let units = files::split_file(db, source);
        let at = units.partition_point(|unit| unit.start(db) < self.start);
        units.get(at.checked_sub(1)?).copied()
    }

    /// The path to the token at the position: of two that touch it to the one that is a word.
    pub fn path(&self, db: &'db dyn Db) -> Option<Path<'db>> {
        let root = files::function_tree(db, self.unit).syntax();
        let at = self.at.min(root.span().end());
        let before = at.checked_sub(1).and_then(|byte| root.path(byte));
        let behind = root.path(at);
        let worth = |path: &Option<Path<'_>>| path.as_ref().map(|path| weight(path.token.kind()));
        let best = if worth(&behind) > worth(&before) { behind } else { before };
        best.filter(|path| !path.token.kind().is_trivia())
    }

    /// The number at the position, if the token there is a run of numbers.
    pub fn number(&self, path: &Path<'db>) -> Option<ast::Number<'db>> {
        ast::Numbers::of(path.token).find(|number| Range::from(number.span()).touches(self.at))
    }

    /// The name at the position, or at least its first word.
    pub fn name(&self, db: &'db dyn Db) -> Option<&'db str> {
        let path = self.path(db)?;
        match path.token.kind() {
            SyntaxKind::IDENT if above(&path, SyntaxKind::OPCODE).is_none() => Some(path.token.text()),
            SyntaxKind::DOTTED => {
                let member = above(&path, SyntaxKind::MEMBER)?;
                Some(member.first_solid_token()?.text())
            }
            _ => None,
        }
    }
}

/// Priority of a token under the cursor.
fn weight(kind: SyntaxKind) -> u8 {
    match kind {
        SyntaxKind::IDENT | SyntaxKind::DOTTED => 3,
        SyntaxKind::INT_NUMBER | SyntaxKind::FLOAT_NUMBER | SyntaxKind::NUMBERS | SyntaxKind::STRING => 2,
        kind if kind.is_trivia() => 0,
        _ => 1,
    }
}

/// The first node of this kind above a token.
pub(crate) fn above<'t>(path: &Path<'t>, kind: SyntaxKind) -> Option<NodeRef<'t>> {
    path.ancestors().find(|node| node.kind() == kind)
}

/// A token's range in its unit.
pub(crate) fn token_range(token: TokenRef<'_>) -> Range {
    token.span().into()
}

/// A node's range in its unit, without trivia at its ends.
pub(crate) fn trimmed(node: NodeRef<'_>) -> Range {
    node.trimmed().into()
}

/// The syntactic place of a position, for completion.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// A module-level item.
    Module,
    /// The first word of a statement.
    Statement,
    /// A modifier after an opcode and the words before it.
    Modifier,
    /// An operand.
    Operand {
        /// Its index, from 0.
        index: usize,
        /// Between brackets.
        address: bool,
        /// Between parentheses, and which one there.
        argument: Option<usize>,
    },
    /// After a directive with these words.
    Directive(Vec<String>),
    /// A place without completions.
    Nothing,
}

/// A statement up to a position.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Typing {
    pub place: Place,
    /// The opcode.
    pub opcode: String,
    /// Modifiers before the position, without dots.
    pub words: Vec<String>,
    /// Operands before the one at the position, as written.
    pub operands: Vec<String>,
    /// The typed part of the word at the position, without a dot.
    pub partial: String,
    /// Its place, up to the position.
    pub range: Range,
    /// Whether the word begins with a dot.
    pub dotted: bool,
}

/// The open syntax at a position: the tokens of the statement, and the blocks around it.
#[derive(Default)]
struct Open {
    statement: Vec<(SyntaxKind, Range)>,
    depth: usize,
    /// Braces that are part of an operand.
    operand_braces: usize,
}

impl Open {
    /// Takes a token that is not trivia.
    fn take(&mut self, text: &str, token: &Token, range: Range) {
        match token.kind {
            SyntaxKind::SEMICOLON => {
                self.statement.clear();
                self.operand_braces = 0;
            }
            SyntaxKind::L_BRACE if is_instruction(&self.statement) || self.operand_braces > 0 => {
                self.operand_braces += 1;
                self.statement.push((token.kind, range));
            }
            SyntaxKind::L_BRACE if self.statement.iter().any(|part| part.0 == SyntaxKind::EQ) => {
                self.operand_braces += 1;
                self.statement.push((token.kind, range));
            }
            SyntaxKind::L_BRACE => {
                self.depth += 1;
                self.statement.clear();
            }
            SyntaxKind::R_BRACE if self.operand_braces > 0 => {
                self.operand_braces -= 1;
                self.statement.push((token.kind, range));
            }
            SyntaxKind::R_BRACE => {
                self.depth = self.depth.saturating_sub(1);
                self.statement.clear();
            }
            SyntaxKind::COLON if self.statement.len() == 1 => self.statement.clear(),
            _ => {
                // A line that starts a directive ends a header line before it.
                let starts_line = token.kind == SyntaxKind::DOTTED && self.depth == 0;
                if token.on_new_line && (starts_line || ended_with_line(text, &self.statement)) {
                    self.statement.clear();
                }
                self.statement.push((token.kind, range));
            }
        }
    }
}

/// Reads the statement before a position of a unit's text.
pub(crate) fn typing(text: &str, at: u32) -> Typing {
    let mut found = Vec::new();
    let all = tokenize(text, &mut found);
    let end = |index: usize| all.get(index + 1).map_or(text.len() as u32, |next: &Token| next.start);
    let mut typing = Typing {
        place: Place::Module,
        opcode: String::new(),
        words: Vec::new(),
        operands: Vec::new(),
        partial: String::new(),
        range: Range::point(at),
        dotted: false,
    };
    let mut open = Open::default();
    for (index, token) in all.iter().enumerate() {
        if token.start >= at {
            break;
        }
        let range = Range::new(token.start, end(index).min(at));
        if token.kind.is_trivia() {
            if token.kind == SyntaxKind::COMMENT && end(index) >= at && !range.slice(text).ends_with("*/") {
                typing.place = Place::Nothing;
                return typing;
            }
            continue;
        }
        open.take(text, token, range);
    }
    let Open { mut statement, depth, .. } = open;
    if let Some(&(_, last)) = statement.last()
        && ended_with_line(text, &statement)
        && Range::new(last.end, at).slice(text).contains('\n')
    {
        statement.clear();
    }
    if let Some(&(kind, range)) = statement.last()
        && range.end == at
    {
        let word = range.slice(text);
        let is_word = matches!(
            kind,
            SyntaxKind::IDENT | SyntaxKind::DOTTED | SyntaxKind::INT_NUMBER | SyntaxKind::FLOAT_NUMBER
        );
        if is_word || word == "." || word == "%" {
            statement.pop();
            typing.dotted = word.starts_with('.');
            typing.partial = word.strip_prefix('.').unwrap_or(word).to_owned();
            typing.range = Range::new(range.start + u32::from(typing.dotted), at);
            // A component of a register belongs to its name: `%tid.x` is one word.
            if let Some(&(SyntaxKind::IDENT, base)) = statement.last()
                && typing.dotted
                && base.end == range.start
                && base.slice(text).starts_with('%')
            {
                statement.pop();
                typing.dotted = false;
                typing.range = Range::new(base.start, at);
                typing.partial = typing.range.slice(text).to_owned();
            }
        }
    }
    place(text, &statement, depth, &mut typing);
    typing
}

/// Whether a directive of this name has no semicolon: the end of its line ends it.
pub(crate) fn ends_with_line(word: &str) -> bool {
    matches!(word, ".version" | ".target" | ".address_size" | ".file" | ".loc")
}

/// Whether the end of a line here is the end of the statement: that of a directive without a semicolon, unless it is the
/// name alone or a comma says that more follows.
fn ended_with_line(text: &str, statement: &[(SyntaxKind, Range)]) -> bool {
    matches!(statement, [(SyntaxKind::DOTTED, word), .., (last, _)]
        if *last != SyntaxKind::COMMA && ends_with_line(word.slice(text)))
}

/// Whether a statement begins with an opcode, perhaps after a guard.
fn is_instruction(statement: &[(SyntaxKind, Range)]) -> bool {
    matches!(unguarded(statement).first(), Some((SyntaxKind::IDENT, _)))
}

fn unguarded(statement: &[(SyntaxKind, Range)]) -> &[(SyntaxKind, Range)] {
    match statement {
        [(SyntaxKind::AT, _), (SyntaxKind::BANG, _), _, rest @ ..] => rest,
        [(SyntaxKind::AT, _), (SyntaxKind::BANG, _)] => &[],
        [(SyntaxKind::AT, _), _, rest @ ..] => rest,
        [(SyntaxKind::AT, _)] => &[],
        rest => rest,
    }
}

fn place(text: &str, whole: &[(SyntaxKind, Range)], depth: usize, typing: &mut Typing) {
    let statement = unguarded(whole);
    let Some(&(first, range)) = statement.first() else {
        let guard_open = matches!(whole.last(), Some((SyntaxKind::AT | SyntaxKind::BANG, _)));
        typing.place = match (guard_open, depth) {
            (true, _) => Place::Operand { index: usize::MAX, address: false, argument: None },
            (false, 0) => Place::Module,
            (false, _) => Place::Statement,
        };
        return;
    };
    if first == SyntaxKind::DOTTED {
        let words = statement.iter().map(|part| part.1.slice(text).to_owned()).collect();
        typing.place = Place::Directive(words);
        return;
    }
    if first != SyntaxKind::IDENT {
        typing.place = Place::Nothing;
        return;
    }
    typing.opcode = range.slice(text).to_owned();
    let mut rest = &statement[1..];
    while let [(SyntaxKind::DOTTED, word), tail @ ..] = rest {
        typing.words.extend(word.slice(text).trim_start_matches('.').split('.').map(str::to_owned));
        rest = tail;
    }
    if typing.dotted && rest.is_empty() {
        typing.place = Place::Modifier;
        return;
    }
    let mut open: Vec<(SyntaxKind, usize)> = Vec::new();
    let mut index = 0;
    let mut from = rest.first().map_or(typing.range.start, |part| part.1.start);
    for &(kind, range) in rest {
        match kind {
            SyntaxKind::L_PAREN | SyntaxKind::L_BRACKET | SyntaxKind::L_BRACE => open.push((kind, 0)),
            SyntaxKind::R_PAREN | SyntaxKind::R_BRACKET | SyntaxKind::R_BRACE => {
                open.pop();
            }
            SyntaxKind::COMMA => match open.last_mut() {
                Some((_, count)) => *count += 1,
                None => {
                    typing.operands.push(Range::new(from, range.start).slice(text).trim().to_owned());
                    from = range.end;
                    index += 1;
                }
            },
            _ => {}
        }
    }
    let address = open.iter().any(|part| part.0 == SyntaxKind::L_BRACKET);
    let argument = open.iter().rev().find(|part| part.0 == SyntaxKind::L_PAREN).map(|part| part.1);
    typing.place = Place::Operand { index, address, argument };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let at = text.find("$0").expect("the text has a cursor");
        let text = text.replacen("$0", "", 1);
        let typing = typing(&text, at as u32);
        let found = format!("{:?} {} {:?} `{}`", typing.place, typing.opcode, typing.words, typing.partial);
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn places() {
        let directive = |words: &[&str]| format!("Directive({words:?})  [] ``");
        let guard = Place::Operand { index: usize::MAX, address: false, argument: None };
        check(".vers$0", "Module  [] `vers`");
        check(".target sm_$0", "Directive([\".target\"])  [] `sm_`");
        check(".entry k() {\n ad$0", "Statement  [] `ad`");
        check(".entry k() { here: ad$0 }", "Statement  [] `ad`");
        check(".entry k() { @%p ad$0 }", "Statement  [] `ad`");
        check(".entry k() { add.$0 }", "Modifier add [] ``");
        check(".entry k() { add.rn.f$0 }", "Modifier add [\"rn\"] `f`");
        check(
            ".entry k() { add.u32 $0 }",
            "Operand { index: 0, address: false, argument: None } add [\"u32\"] ``",
        );
        check(
            ".entry k() { ld.global.v2.u32 {%a, %b}, [%r$0] }",
            "Operand { index: 1, address: true, argument: None } ld [\"global\", \"v2\", \"u32\"] `%r`",
        );
        check(
            ".entry k() { call (r), f, (a, $0",
            "Operand { index: 2, address: false, argument: Some(1) } call [] ``",
        );
        check(".entry k() { @$0", &format!("{:?}  [] ``", guard));
        check(".entry k() { .reg .b$0", "Directive([\".reg\"])  [] `b`");
        check(".entry k() { // add.$0", "Nothing  [] ``");
        check(".entry k() {\n.loc 1 2 3\nad$0 }", "Statement  [] `ad`");
        check(
            ".entry k() {\n.loc 1 2 3,\n inlined_at 1 $0 }",
            &directive(&[".loc", "1", "2", "3", ",", "inlined_at", "1"]),
        );
        check(
            ".entry k() {\n.loc 1 2 3\nadd.u32 $0 }",
            "Operand { index: 0, address: false, argument: None } add [\"u32\"] ``",
        );
        check(".version 8.0\n$0", "Module  [] ``");
        check(".version 8.0\n.target $0", &directive(&[".target"]));
        check(".version\n $0", &directive(&[".version"]));
    }
}
