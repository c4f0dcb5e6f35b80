//! Every name of a unit: its meaning there, and whether it is declared, read or written.
//!
//! Navigation, highlighting, renaming, tokens and completion share this, and they query text that is incomplete: it
//! reads the tree and not the resolved body. The rules of scopes are those of the resolver; names of the module are
//! left for the caller to look up.

mod access;

use oriole_query_macro::query;
use std::sync::Arc;

use oriole_inputs::{Db, FunctionUnit};
use oriole_ptx::SpecialRegister;
use oriole_queries::files;
use oriole_syntax::ast::{self, AstNode, DeclarationHead, Item, Operand, Statement};
use oriole_syntax::{NodeRef, TokenRef};
use rustc_hash::FxHashMap;

use crate::Range;
pub use access::Access;
use access::Accesses;

/// The kind of a declaration in a function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum DeclarationKind {
    /// A register.
    Register,
    /// This many registers, with numbered names.
    Registers(u64),
    /// A variable of the body.
    Variable,
    /// A parameter.
    Parameter,
    /// A result.
    Result,
    /// A label.
    Label,
    /// A list of targets.
    Targets,
    /// A prototype.
    Prototype,
}

/// A declaration inside a function. Ranges count from the start of the unit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Declaration {
    /// The name as written; of a range of registers the prefix.
    pub name: Arc<str>,
    /// The kind.
    pub kind: DeclarationKind,
    /// The name.
    pub range: Range,
    /// The statement or parameter.
    pub full: Range,
    /// State space and type as text, as `.reg .b32`; empty for labels.
    pub detail: String,
    /// Type without its dot; empty for labels.
    pub ty: String,
    /// The scope.
    pub scope: Range,
}

/// The meaning of a name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) enum Meaning {
    /// A declaration of this unit, by index.
    Local(u32),
    /// A name that the module declares, or an undeclared one.
    Module,
    /// A special register or a constant of the language.
    Special,
}

/// A name in the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Occurrence {
    /// The range, from the start of the unit.
    pub range: Range,
    /// The name.
    pub name: Arc<str>,
    /// The meaning.
    pub meaning: Meaning,
    /// The use.
    pub access: Access,
    /// The instruction or declaration that it is in, for lists of uses.
    pub statement: Range,
}

/// The names of a unit.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Names {
    /// Declarations in text order, those of a scope's labels first.
    pub declarations: Vec<Declaration>,
    /// Names in text order.
    pub occurrences: Vec<Occurrence>,
}

impl Names {
    /// The name at a position, also right after it.
    pub fn at(&self, at: u32) -> Option<&Occurrence> {
        let behind = self.occurrences.partition_point(|found| found.range.start <= at);
        self.occurrences[..behind].last().filter(|found| found.range.touches(at))
    }

    /// All occurrences of the same declaration.
    pub fn same<'a>(&'a self, wanted: &'a Occurrence) -> impl Iterator<Item = &'a Occurrence> {
        self.occurrences.iter().filter(move |found| match wanted.meaning {
            Meaning::Local(_) => found.meaning == wanted.meaning && found.name == wanted.name,
            Meaning::Module | Meaning::Special => {
                found.meaning == wanted.meaning && found.name == wanted.name
            }
        })
    }

    /// The declaration that a name refers to.
    pub fn declaration(&self, occurrence: &Occurrence) -> Option<&Declaration> {
        match occurrence.meaning {
            Meaning::Local(index) => self.declarations.get(index as usize),
            _ => None,
        }
    }

    /// Declarations that are visible at a position, inner ones first, each name once.
    pub fn visible(&self, at: u32) -> Vec<&Declaration> {
        let mut found: Vec<&Declaration> =
            self.declarations.iter().filter(|declaration| declaration.scope.touches(at)).collect();
        found.sort_by_key(|declaration| (declaration.scope.len(), declaration.range.start));
        let mut seen = rustc_hash::FxHashSet::default();
        found.retain(|declaration| seen.insert(declaration.name.clone()));
        found
    }
}

/// The names of a unit.
#[query(returns(ref))]
pub(crate) fn names<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Names {
    build(files::function_tree(db, unit).unit(), Builder::default())
}

/// The names of a tree, kept nowhere.
pub(crate) fn names_of(tree: ast::Unit<'_>) -> Names {
    build(tree, Builder::default())
}

/// The names of a unit as far as a query about one name needs them: all declarations, and of the other names at least
/// those with this spelling and those that jumps mention. In a large kernel these are few, and they are found without
/// reading most of the tree, which matters for a query right after a keystroke.
pub(crate) fn names_like<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, spelling: &str) -> Names {
    let text = unit.text(db);
    let wanted = if spelling.is_empty() {
        Vec::new()
    } else {
        text.match_indices(spelling).map(|(at, _)| at as u32).collect()
    };
    build(files::function_tree(db, unit).unit(), Builder { wanted: Some(wanted), ..Builder::default() })
}

fn build<'t>(tree: ast::Unit<'t>, mut builder: Builder<'t>) -> Names {
    for item in tree.items() {
        match item {
            Item::Function(function) => builder.function(&function),
            Item::Variable(variable) => builder.module_variable(&variable),
            Item::Alias(alias) => {
                let statement = Range::from(alias.span());
                if let Some(name) = alias.alias() {
                    builder.push(name, Meaning::Module, Access::Declare, statement);
                }
                if let Some(name) = alias.function() {
                    builder.push(name, Meaning::Module, Access::Read, statement);
                }
            }
            _ => {}
        }
    }
    let Builder { mut names, .. } = builder;
    names.occurrences.sort_by_key(|found| found.range);
    names
}

#[derive(Default)]
struct Scope<'t> {
    names: FxHashMap<&'t str, u32>,
    ranges: FxHashMap<&'t str, u32>,
    end: u32,
}

#[derive(Default)]
struct Builder<'t> {
    names: Names,
    scopes: Vec<Scope<'t>>,
    interned: FxHashMap<&'t str, Arc<str>>,
    accesses: Accesses,
    /// Bytes of the unit, ascending: instructions that contain none of them and do not jump are left out.
    wanted: Option<Vec<u32>>,
}

/// The words of a declaration's head.
#[derive(Default)]
struct Head {
    /// State space with type.
    detail: String,
    /// The type alone.
    ty: String,
}

fn head<'t>(head: impl DeclarationHead<'t>) -> Head {
    let word = |token: Option<TokenRef<'_>>| token.map(|token| token.text().to_owned());
    let ty = word(head.type_word()).unwrap_or_default();
    let words = [word(head.space()), word(head.vector()), Some(ty.clone())];
    let words: Vec<String> = words.into_iter().flatten().filter(|word| !word.is_empty()).collect();
    Head { detail: words.join(" "), ty: ty.trim_start_matches('.').to_owned() }
}

/// The words of a declarator's dimensions.
fn dimensions(declarator: &ast::Declarator) -> String {
    declarator.dimensions().map(|dimension| dimension.text().trim().to_owned()).collect()
}

impl<'t> Builder<'t> {
    fn intern(&mut self, name: &'t str) -> Arc<str> {
        self.interned.entry(name).or_insert_with(|| name.into()).clone()
    }

    fn push(&mut self, token: TokenRef<'t>, meaning: Meaning, access: Access, statement: Range) {
        let name = self.intern(token.text());
        let range = token.span().into();
        self.names.occurrences.push(Occurrence { range, name, meaning, access, statement });
    }

    fn enter(&mut self, end: u32) {
        self.scopes.push(Scope { end, ..Scope::default() });
    }

    fn declare(
        &mut self,
        token: TokenRef<'t>,
        kind: DeclarationKind,
        full: Range,
        Head { detail, ty }: Head,
        whole_scope: Option<u32>,
    ) {
        let Some(scope) = self.scopes.last_mut() else { return };
        let index = self.names.declarations.len() as u32;
        let list =
            if matches!(kind, DeclarationKind::Registers(_)) { &mut scope.ranges } else { &mut scope.names };
        list.entry(token.text()).or_insert(index);
        let scope = Range::new(whole_scope.unwrap_or(full.start), scope.end);
        let name = self.intern(token.text());
        let range = token.span().into();
        self.names.declarations.push(Declaration { name, kind, range, full, detail, ty, scope });
        self.push(token, Meaning::Local(index), Access::Declare, full);
    }

    fn look_up(&self, name: &str) -> Option<u32> {
        let digits = name.bytes().rev().take(10).take_while(u8::is_ascii_digit).count();
        for scope in self.scopes.iter().rev() {
            if let Some(&index) = scope.names.get(name) {
                return Some(index);
            }
            if scope.ranges.is_empty() {
                continue;
            }
            for length in 1..=digits {
                let (prefix, number) = name.split_at(name.len() - length);
                if number.len() > 1 && number.starts_with('0') {
                    continue;
                }
                let Some(&index) = scope.ranges.get(prefix) else { continue };
                let DeclarationKind::Registers(count) = self.names.declarations[index as usize].kind else {
                    continue;
                };
                if number.parse::<u64>().is_ok_and(|number| number < count) {
                    return Some(index);
                }
            }
        }
        None
    }

    /// A name that is used.
    fn name(&mut self, token: TokenRef<'t>, access: Access, statement: Range) {
        let text = token.text();
        let meaning = match self.look_up(text) {
            Some(index) => Meaning::Local(index),
            None if text == "WARP_SZ" || SpecialRegister::from_name(text).is_some() => Meaning::Special,
            None => Meaning::Module,
        };
        self.push(token, meaning, access, statement);
    }

    fn module_variable(&mut self, variable: &ast::Variable<'t>) {
        let statement = Range::from(variable.span());
        for declarator in variable.declarators() {
            if let Some(name) = declarator.name() {
                self.push(name, Meaning::Module, Access::Declare, statement);
            }
            if let Some(value) = declarator.initializer() {
                self.names_below(value.syntax(), statement);
            }
        }
    }

    /// Every name below a node, as read.
    fn names_below(&mut self, node: NodeRef<'t>, statement: Range) {
        for name in node.descendants().filter_map(ast::Name::cast) {
            if let Some(token) = name.token().filter(|token| !matches!(token.text(), "generic" | "mask")) {
                self.name(token, Access::Read, statement);
            }
        }
    }

    fn function(&mut self, function: &ast::Function<'t>) {
        let span = Range::from(function.span());
        if let Some(name) = function.name() {
            self.push(name, Meaning::Module, Access::Declare, span);
        }
        self.enter(span.end);
        let results = function.results().map(|parameter| (parameter, DeclarationKind::Result));
        let parameters = function.parameters().map(|parameter| (parameter, DeclarationKind::Parameter));
        for (parameter, kind) in results.chain(parameters).collect::<Vec<_>>() {
            let Some(declarator) = parameter.declarator() else { continue };
            let Some(name) = declarator.name().filter(|name| name.text() != "_") else { continue };
            let mut head = head(parameter);
            head.detail.push_str(&dimensions(&declarator));
            self.declare(name, kind, parameter.span().into(), head, Some(span.start));
        }
        if let Some(body) = function.body() {
            self.block(&body, false);
        }
        self.scopes.pop();
    }

    fn block(&mut self, block: &ast::Block<'t>, inner: bool) {
        let span = Range::from(block.span());
        if inner {
            self.enter(span.end);
        }
        let statements: Vec<Statement> = block.statements().collect();
        for statement in &statements {
            self.label(statement, span.start);
        }
        for statement in &statements {
            self.statement(statement);
        }
        if inner {
            self.scopes.pop();
        }
    }

    fn label(&mut self, statement: &Statement<'t>, start: u32) {
        let (label, kind) = match statement {
            Statement::Label(label) => (Some(*label), DeclarationKind::Label),
            Statement::BranchTargets(list) => (list.label(), DeclarationKind::Targets),
            Statement::CallTargets(list) => (list.label(), DeclarationKind::Targets),
            Statement::CallPrototype(prototype) => (prototype.label(), DeclarationKind::Prototype),
            _ => return,
        };
        if let Some(name) = label.and_then(|label| label.name()) {
            let full = Range::from(statement.span());
            self.declare(name, kind, full, Head::default(), Some(start));
        }
    }

    fn statement(&mut self, statement: &Statement<'t>) {
        let span = Range::from(statement.span());
        match statement {
            Statement::Block(block) => self.block(block, true),
            Statement::Instruction(instruction) if !self.wants(instruction, span) => {}
            Statement::Instruction(instruction) => self.instruction(instruction, span),
            Statement::Variable(variable) => {
                let Head { detail, ty } = head(*variable);
                for declarator in variable.declarators() {
                    let Some(name) = declarator.name() else { continue };
                    let kind = match declarator.range() {
                        Some(range) => DeclarationKind::Registers(range.count().unwrap_or(0)),
                        None if detail.starts_with(".reg") => DeclarationKind::Register,
                        None => DeclarationKind::Variable,
                    };
                    let detail = format!("{detail}{}", dimensions(&declarator));
                    self.declare(name, kind, span, Head { detail, ty: ty.clone() }, None);
                    if let Some(value) = declarator.initializer() {
                        self.names_below(value.syntax(), span);
                    }
                }
            }
            Statement::BranchTargets(list) => list.targets().for_each(|name| self.target(&name, span)),
            Statement::CallTargets(list) => list.targets().for_each(|name| self.target(&name, span)),
            Statement::Label(_)
            | Statement::LocDirective(_)
            | Statement::Pragma(_)
            | Statement::CallPrototype(_) => {}
        }
    }

    fn wants(&self, instruction: &ast::Instruction, span: Range) -> bool {
        let Some(wanted) = &self.wanted else { return true };
        let behind = wanted.partition_point(|&at| at < span.start);
        let jumps = || {
            let mnemonic = instruction.opcode().and_then(|opcode| opcode.mnemonic());
            mnemonic.is_some_and(|token| matches!(token.text(), "bra" | "brx"))
        };
        wanted.get(behind).is_some_and(|&at| at < span.end) || jumps()
    }

    fn target(&mut self, name: &ast::Name<'t>, statement: Range) {
        if let Some(token) = name.token() {
            self.name(token, Access::Read, statement);
        }
    }

    fn instruction(&mut self, instruction: &ast::Instruction<'t>, span: Range) {
        let (guard, opcode, list) = instruction.parts();
        if let Some(register) = guard.and_then(|guard| guard.register()) {
            self.name(register, Access::Read, span);
        }
        let operands: Vec<Operand<'t>> = list.into_iter().flat_map(|list| list.operands()).collect();
        let accesses = opcode.map(|opcode| self.accesses.of(opcode, &operands));
        for (at, operand) in operands.iter().enumerate() {
            let access = accesses.as_ref().and_then(|known| known.get(at)).copied();
            self.operand(operand, access.unwrap_or(Access::Read), span);
        }
    }

    fn operand(&mut self, operand: &Operand<'t>, access: Access, span: Range) {
        let mut each = |list: &mut dyn Iterator<Item = Operand<'t>>, access| {
            list.for_each(|operand| self.operand(&operand, access, span));
        };
        match operand {
            Operand::Name(name) => {
                if let Some(token) = name.token() {
                    self.name(token, access, span);
                }
            }
            Operand::Member(member) => self.member(member, access, span),
            Operand::Index(index) => each(&mut index.base().into_iter().chain(index.index()), Access::Read),
            Operand::Prefix(prefix) => each(&mut prefix.operand().into_iter(), access),
            Operand::Paren(paren) => each(&mut paren.operand().into_iter(), access),
            Operand::Cast(cast) => each(&mut cast.operand().into_iter(), Access::Read),
            Operand::Binary(binary) => {
                each(&mut binary.left().into_iter().chain(binary.right()), Access::Read);
            }
            Operand::Ternary(ternary) => {
                let parts = [ternary.condition(), ternary.then_value(), ternary.else_value()];
                each(&mut parts.into_iter().flatten(), Access::Read);
            }
            Operand::CallExpression(call) => each(&mut call.argument().into_iter(), Access::Read),
            Operand::Address(address) => each(&mut address.parts(), Access::Read),
            Operand::Vector(vector) => each(&mut vector.elements(), access),
            Operand::Pair(pair) => each(&mut pair.first().into_iter().chain(pair.second()), access),
            Operand::ArgumentList(list) => each(&mut list.arguments(), access),
            Operand::Literal(_) | Operand::Sink(_) => {}
        }
    }

    /// `%tid.x` is one name; `v.x` names the vector.
    fn member(&mut self, member: &ast::Member<'t>, access: Access, span: Range) {
        let Some(base) = member.base() else { return };
        if let (Operand::Name(name), Some(component)) = (&base, member.component())
            && let Some(token) = name.token()
        {
            let whole = format!("{}{}", token.text(), component.text());
            if self.look_up(token.text()).is_none() && SpecialRegister::from_name(&whole).is_some() {
                let range = Range::from(member.span());
                let name = whole.into();
                let meaning = Meaning::Special;
                self.names.occurrences.push(Occurrence { range, name, meaning, access, statement: span });
                return;
            }
        }
        self.operand(&base, access, span);
    }
}

#[cfg(test)]
mod tests {
    use oriole_inputs::{Database, SourceFile};

    use super::*;
    use crate::cursor::Spot;

    const KERNEL: &str = "
.version 8.0
.target sm_90
.global .b32 table[4];
.visible .entry k(.param .u64 p)
{
    .reg .pred %p<3>; .reg .v4 .b32 v; .reg .b32 %r<10>, %r1x; .reg .b64 %rd<4>;
    .shared .b32 tile[4];
    ld.param.u64 %rd1, [p+8];
    mov.b32 %r1, %tid.x; mov.b32 %r10, %ntid.y; mov.b32 %r1x, WARP_SZ;
top:
    @!%p1 bra top;
    { .reg .b32 %r1; add.u32 %r1, %r1, v.x; label: bra label; bra top; }
    list: .branchtargets top, label;
    setp.eq.and.u32 %p1|_, %r1, table, !%p2;
    st.shared.b32 [tile+4], {v.x};
    brx.idx %r1, list;
    call (%r2), unknown, (%r1, tile);
    mov.u64 %rd2, table; add.u32 %r1;
}
";

    /// A query at any name gives the same answer from a part of the names as from all of them.
    #[test]
    fn names_like_one_answer_for_it() {
        let db = Database::default();
        let file = SourceFile::open(&db, KERNEL);
        let mut asked = 0;
        for &unit in files::split_file(&db, file) {
            let all = names(&db, unit);
            for at in 0..=unit.text(&db).len() as u32 {
                let found = all.at(at);
                let spelling = Spot { unit, start: unit.start(&db), at }.name(&db);
                assert!(found.is_none() || spelling.is_some(), "at {at}: {found:?}");
                let Some(spelling) = spelling else { continue };
                let some = names_like(&db, unit, spelling);
                assert_eq!(some.at(at), found, "at {at}");
                let Some(found) = found else { continue };
                assert!(some.same(found).eq(all.same(found)), "at {at}");
                assert_eq!(some.declarations, all.declarations);
                let live = |names| crate::live_range::live_range(&db, unit, names, found);
                assert_eq!(live(&some), live(all), "at {at}");
                asked += 1;
            }
        }
        assert!(asked > 100, "{asked}");
    }
}
