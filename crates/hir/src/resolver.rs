//! The state of resolving one function, which statements, instructions and operands share.
//!
//! A name is entered into the body at its first use, with one hash. Rules about instructions are in the instruction
//! table and not here.

use la_arena::ArenaMap;
use std::rc::Rc;

use oriole_diagnostics::{Code, Diagnostic, Span};
use oriole_ptx::Type;
use oriole_syntax::{NodeRef, SyntaxKind};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::declaration::Shape;
use crate::form::KnownForm;
use crate::module_context::HeaderView;
use crate::names::{Meaning, Names};
use crate::statics::Statics;
use crate::variable::Attributes;
use crate::{
    Body, FunctionId, FunctionRef, ModuleContext, Register, RegisterId, SourceMap, Uses, Variable,
    VariableId, VariableKind,
};

/// The common shape of the variables of a declarator.
pub(crate) struct VariableShape {
    pub shape: Shape,
    pub attributes: Attributes,
    pub external: bool,
    pub declaration: Span,
}

/// The state of resolving a function.
pub(crate) struct Resolver<'a> {
    pub context: &'a dyn ModuleContext,
    pub header: HeaderView<'a>,
    pub names: Names<'a>,
    pub body: Body,
    pub map: SourceMap,
    pub diagnostics: Vec<Diagnostic>,
    pub uses: Uses,
    /// First uses, as three lists like those of [`Uses`].
    pub use_spans: [Vec<Span>; 3],
    /// Cache of module variables and functions by name.
    pub globals: FxHashMap<&'a str, Option<VariableId>>,
    pub functions: FxHashMap<&'a str, Option<FunctionId>>,
    /// Functions that are in [`Uses`], and whether as called.
    pub used_functions: FxHashSet<(FunctionId, bool)>,
    /// Bytes of one element of a variable, for indexed addresses.
    pub element_bytes: ArenaMap<VariableId, u64>,
    /// Forms by spelling and number of operands.
    pub forms: FxHashMap<Box<str>, Rc<KnownForm>>,
    /// Scratch space for spellings.
    pub spelling: String,
    /// Set while an instruction is resolved whose text has a syntax error.
    pub instruction: Option<NodeRef<'a>>,
    pub depth: usize,
    /// Locations that `.loc` has given; kept from the first `inlined_at` on.
    pub locations: Option<FxHashSet<(u32, u32, u32)>>,
    pub statics: Statics<'a>,
    /// Ranges of variables, by the index in [`Meaning::Member`].
    pub ranges: Vec<Rc<VariableShape>>,
    /// Names that were compared with names that are not there.
    pub compared: usize,
}

/// The most names of a function that are compared with names that are not there: a text with thousands of mistakes takes no longer.
const COMPARED: usize = 1 << 14;

impl<'a> Resolver<'a> {
    /// Reports a diagnostic, unless the parser has already reported the statement that it is in.
    pub fn report(&mut self, code: Code, span: Span, message: impl Into<String>) {
        self.push(Diagnostic::new(code, span, message.into()));
    }

    /// As [`Resolver::report`], for a diagnostic with notes.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if let Some(instruction) = self.instruction {
            let broken = instruction.descendants().any(|node| node.kind() == SyntaxKind::ERROR)
                || instruction.last_token().is_none_or(|token| token.kind() != SyntaxKind::SEMICOLON);
            if broken {
                return;
            }
        }
        self.diagnostics.push(diagnostic);
    }

    /// Reports a name that is not there, with the one that may be meant.
    pub fn report_unknown(
        &mut self,
        name: &str,
        span: Span,
        message: String,
        is_wanted: fn(Meaning) -> bool,
    ) {
        let mut diagnostic = Diagnostic::new(Code::UnknownName, span, message);
        self.compared += self.names.count();
        if self.compared <= COMPARED {
            let special = || oriole_ptx::nearest_special(name).map(str::to_owned);
            if let Some(last) = self.names.last_of_range(name) {
                diagnostic = diagnostic.with_help(format!("the range ends with `{last}`"));
            } else if let Some(near) = self.names.nearest(name, is_wanted).or_else(special) {
                diagnostic = diagnostic.with_help(format!("did you mean `{near}`?"));
            }
        }
        self.push(diagnostic);
    }

    /// Reports a name that is declared twice.
    pub fn check_new(&mut self, name: &str, span: Span, declared: Result<(), Span>) {
        if let Err(earlier) = declared {
            self.push(
                Diagnostic::new(
                    Code::DuplicateName,
                    span,
                    format!("`{name}` is declared twice in this scope"),
                )
                .with_label(earlier, "first declared here"),
            );
        }
    }

    /// The meaning of a name here, if it has one. A variable of a range is added to the body when it is first named.
    pub fn look_up(&mut self, name: &'a str) -> Option<Meaning> {
        let meaning = self.names.look_up(name);
        let Some(Meaning::Member(range)) = meaning else { return meaning };
        let range = Rc::clone(&self.ranges[range as usize]);
        let id = self.new_variable(name, &range, None);
        let meaning = Meaning::Variable(id);
        self.names.settle(name, meaning);
        Some(meaning)
    }

    /// Adds a variable to the body.
    pub fn add_variable(
        &mut self,
        variable: Variable,
        declaration: Option<Span>,
        element: u64,
    ) -> VariableId {
        let id = self.body.variables.alloc(variable);
        self.map.variables.extend(declaration.map(|span| (id, span)));
        self.element_bytes.insert(id, element);
        id
    }

    /// The index of a declared register, given at its first use, and its type.
    pub fn register(&mut self, index: u32, name: &str) -> (RegisterId, Type) {
        let declared = &mut self.names.registers[index as usize];
        let ty = declared.ty;
        let id = *declared.id.get_or_insert_with(|| {
            let id = self.body.registers.alloc(Register { ty });
            self.map.registers.insert(id, (name.to_string(), Span::default()));
            id
        });
        (id, ty)
    }

    /// The module's variable of this name, entered into the body at its first use.
    pub fn global(&mut self, name: &'a str, span: Span) -> Option<VariableId> {
        if let Some(&known) = self.globals.get(name) {
            return known;
        }
        let id = self.context.global(name).map(|info| {
            self.uses.globals.push(name.to_string());
            self.use_spans[0].push(span);
            let variable = Variable {
                name: name.to_string(),
                space: info.space,
                ty: info.ty,
                size: info.size,
                align: info.align,
                kind: VariableKind::Module,
                symbol: None,
            };
            self.add_variable(variable, None, u64::from(info.ty.bytes()) * u64::from(info.vector))
        });
        self.globals.insert(name, id);
        id
    }

    /// The function of this name, entered into the body at its first use.
    pub fn function(&mut self, name: &'a str, span: Span, called: bool) -> Option<FunctionId> {
        let id = match self.functions.get(name) {
            Some(&known) => known,
            None => {
                let id = self.context.signature(name).map(|info| {
                    self.body.functions.alloc(FunctionRef {
                        name: name.to_string(),
                        signature: info.signature,
                        external: info.external,
                        is_entry: info.is_entry,
                    })
                });
                self.functions.insert(name, id);
                id
            }
        }?;
        let (list, spans) = if called {
            (&mut self.uses.called, &mut self.use_spans[1])
        } else {
            (&mut self.uses.addressed, &mut self.use_spans[2])
        };
        if self.used_functions.insert((id, called)) {
            list.push(name.to_string());
            spans.push(span);
        }
        Some(id)
    }
}
