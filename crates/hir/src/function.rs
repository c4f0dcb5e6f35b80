//! Resolving one function: the state that statements, instructions and operands share.
//!
//! It is here so that a function is resolved in one walk, in text order, with one hash per name. Rules about
//! instructions are in the instruction table and not here.

use std::rc::Rc;

use oriole_diagnostics::{Code, Diagnostic, Span};
use oriole_ptx::{Space, Type};
use oriole_syntax::ast::{Function, Unit};
use oriole_syntax::{NodeRef, SyntaxKind};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use typed_index_collections::TiVec;

use crate::instruction::KnownForm;
use crate::module_context::HeaderView;
use crate::names::{DeclaredRegister, Meaning, Names};
use crate::signature::{FunctionHead, function_head};
use crate::statics::Statics;
use crate::{
    Body, FunctionId, FunctionRef, ModuleContext, Register, RegisterId, Resolved, SignatureInfo, SourceMap,
    Uses, Variable, VariableHome, VariableId,
};

/// What is kept while a function is resolved.
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
    /// Module variables and functions by name, once they have been asked for.
    pub globals: FxHashMap<&'a str, Option<VariableId>>,
    pub functions: FxHashMap<&'a str, Option<FunctionId>>,
    /// Functions that stand in [`Uses`], and whether as called.
    pub used_functions: FxHashSet<(FunctionId, bool)>,
    /// Bytes of one element of a variable, for indexed addresses.
    pub element_bytes: TiVec<VariableId, u64>,
    /// Forms by spelling and number of operands.
    pub forms: FxHashMap<Box<str>, Rc<KnownForm>>,
    /// Scratch space for spellings.
    pub spelling: String,
    /// Set while an instruction is resolved whose text the parser could not make sense of.
    pub instruction: Option<NodeRef<'a>>,
    pub depth: usize,
    /// Locations that `.loc` has given; kept from the first `inlined_at` on.
    pub locations: Option<FxHashSet<(u32, u32, u32)>>,
    pub statics: Statics<'a>,
}

/// Resolves the function of a unit; `None` if the unit holds none.
pub fn resolve(unit: &Unit, context: &dyn ModuleContext) -> Option<Resolved> {
    resolve_function(&unit.function()?, context)
}

/// Resolves a function, or reads the head of a declaration. `None` where it has no name.
pub fn resolve_function(function: &Function, context: &dyn ModuleContext) -> Option<Resolved> {
    let header = HeaderView::new(context);
    let FunctionHead { name, name_span, info, directives, parameter_names, diagnostics, has_body, .. } =
        function_head(function, &header)?;
    let mut resolver = Resolver {
        context,
        header,
        names: Names::default(),
        body: Body {
            is_entry: info.is_entry,
            parameters: info.signature.parameters.clone(),
            results: info.signature.results.clone(),
            directives,
            ..Body::default()
        },
        map: SourceMap { name: name_span, ..SourceMap::default() },
        diagnostics,
        uses: Uses::default(),
        use_spans: Default::default(),
        globals: FxHashMap::default(),
        functions: FxHashMap::default(),
        used_functions: FxHashSet::default(),
        element_bytes: TiVec::new(),
        forms: FxHashMap::default(),
        spelling: String::new(),
        instruction: None,
        depth: 0,
        locations: None,
        statics: Statics::new(&name),
    };
    resolver.names.enter();
    resolver.declare_parameters(&info, &parameter_names);
    if let Some(block) = function.body() {
        resolver.block(&block);
    }
    let Resolver { body, mut map, mut diagnostics, uses, use_spans, names, statics, .. } = resolver;
    let registers = &names.registers;
    for register in registers {
        if let Some(id) = register.id {
            map.registers[id].1 = register.declaration;
        }
    }
    map.unused = unused(registers);
    map.uses = use_spans.concat();
    crate::address_space::check(&body, &map, &mut diagnostics);
    diagnostics.sort_by_key(|diagnostic| diagnostic.span.start);
    Some(Resolved {
        name,
        body,
        has_body,
        source_map: map,
        diagnostics,
        uses,
        signature: Some(info),
        statics: statics.variables,
    })
}

/// The declarations of which no register is used. Registers of a range have an entry only where they are named.
fn unused(registers: &[DeclaredRegister]) -> Vec<Span> {
    let declared = registers.chunk_by(|one, other| one.declaration == other.declaration);
    let unused = declared.filter(|list| list.iter().all(|register| register.id.is_none()));
    unused.map(|list| list[0].declaration).collect()
}

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

    fn declare_parameters(&mut self, info: &SignatureInfo, names: &[(&'a str, Span)]) {
        let results = info.signature.results.len();
        let space = if info.is_entry { Space::KernelParameter } else { Space::FunctionParameter };
        let all = info.signature.results.iter().chain(&info.signature.parameters);
        for (index, (parameter, &(name, span))) in all.zip(names).enumerate() {
            let home = if index < results {
                VariableHome::Result(index as u32)
            } else {
                VariableHome::Parameter((index - results) as u32)
            };
            let variable = Variable {
                name: name.to_string(),
                space: if parameter.in_register { Space::Register } else { space },
                ty: parameter.ty,
                size: parameter.size(),
                align: parameter.align,
                home,
                symbol: None,
            };
            let id = self.add_variable(variable, Some(span), u64::from(parameter.ty.bytes()));
            if name.is_empty() || name == "_" {
                continue;
            }
            let declared = if parameter.in_register {
                let declared = self.names.declare_register(name, parameter.ty, parameter.components(), span);
                for register in self.registers_of(name) {
                    self.body.parameter_registers.push((id, register));
                }
                declared
            } else {
                self.names.declare(name, Meaning::Variable(id), span)
            };
            self.check_new(name, span, declared);
        }
    }

    /// The registers of a name that has just been declared: one, or those of a vector.
    fn registers_of(&mut self, name: &'a str) -> SmallVec<[RegisterId; 4]> {
        match self.names.look_up(name) {
            Some(Meaning::Register(index)) => SmallVec::from_iter([self.register(index, name).0]),
            Some(Meaning::Vector(first, count)) => {
                (0..u32::from(count)).map(|component| self.component(first, component, name).0).collect()
            }
            _ => SmallVec::new(),
        }
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

    /// Adds a variable to the body.
    pub fn add_variable(
        &mut self,
        variable: Variable,
        declaration: Option<Span>,
        element: u64,
    ) -> VariableId {
        let id = self.body.variables.push_and_get_key(variable);
        self.map.variables.push(declaration);
        self.element_bytes.push(element);
        id
    }

    /// The number of a declared register, given at its first use, and its type.
    pub fn register(&mut self, index: u32, name: &str) -> (RegisterId, Type) {
        let declared = &mut self.names.registers[index as usize];
        let ty = declared.ty;
        let id = *declared.id.get_or_insert_with(|| {
            let id = self.body.registers.push_and_get_key(Register { ty });
            self.map.registers.push((name.to_string(), Span::default()));
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
                home: VariableHome::Module,
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
                    self.body.functions.push_and_get_key(FunctionRef {
                        name: name.to_string(),
                        signature: info.signature,
                        external: info.external,
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
