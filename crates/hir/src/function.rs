//! Resolving one function: its head, its parameters, its block.
//!
//! A function is resolved in one walk, in text order.

use la_arena::ArenaMap;
use oriole_diagnostics::Span;
use oriole_ptx::Space;
use oriole_syntax::ast::{Function, Unit};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::header::NOUNROLL;
use crate::module_context::HeaderView;
use crate::names::{DeclaredRegister, Meaning, Names};
use crate::resolver::Resolver;
use crate::signature::{FunctionHead, function_head};
use crate::statics::Statics;
use crate::{
    Body, HeaderQuestion, ModuleContext, RegisterId, Resolved, SignatureInfo, SourceMap, Statement, Uses,
    Variable, VariableKind,
};

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
        element_bytes: ArenaMap::default(),
        forms: FxHashMap::default(),
        spelling: String::new(),
        instruction: None,
        depth: 0,
        locations: None,
        statics: Statics::new(&name),
        ranges: Vec::new(),
        compared: 0,
    };
    resolver.names.enter();
    resolver.declare_parameters(&info, &parameter_names);
    if let Some(block) = function.body() {
        resolver.block(&block);
    }
    let Resolver { mut body, mut map, mut diagnostics, uses, use_spans, names, statics, .. } = resolver;
    // Only a function with labels has loops.
    if body.statements.iter().any(|statement| matches!(statement, Statement::Label(_)))
        && context.answer(HeaderQuestion::NoUnroll)
    {
        body.directives.pragmas.push(NOUNROLL.to_owned());
    }
    name_apart(&mut body);
    let registers = &names.registers;
    for register in registers {
        if let Some(id) = register.id {
            map.registers[id].1 = register.declaration;
        }
    }
    map.unused = unused(registers);
    map.uses = use_spans.concat();
    crate::address_space::check(&body, &map, &mut diagnostics);
    body.changes_registers = crate::register_bounds::changes_registers(&body);
    crate::performance::check_register_changes(&body, &map, &mut diagnostics);
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

/// Gives shared variables of scopes that have one name, or the name of one of the module, names of their own: they are
/// different memory, and code knows memory by its name. No name of the language holds a dot.
fn name_apart(body: &mut Body) {
    let shared = |variable: &&mut Variable| variable.space == Space::Shared;
    if body.variables.values().filter(|variable| variable.space == Space::Shared).count() < 2 {
        return;
    }
    let of_module = body.variables.values().filter(|variable| variable.is_of_module());
    let mut counts: FxHashMap<String, usize> = of_module.map(|variable| (variable.name.clone(), 1)).collect();
    let own = body.variables.values_mut().filter(shared);
    for variable in own.filter(|variable| variable.kind == VariableKind::Body) {
        let count = counts.entry(variable.name.clone()).or_default();
        if *count > 0 {
            variable.name = format!("{}.{count}", variable.name);
        }
        *count += 1;
    }
}

/// The declarations without a used register. Registers of a range have an entry only where they are named.
fn unused(registers: &[DeclaredRegister]) -> Vec<Span> {
    let declared = registers.chunk_by(|one, other| one.declaration == other.declaration);
    let unused = declared.filter(|list| list.iter().all(|register| register.id.is_none()));
    unused.map(|list| list[0].declaration).collect()
}

impl<'a> Resolver<'a> {
    fn declare_parameters(&mut self, info: &SignatureInfo, names: &[(&'a str, Span)]) {
        let results = info.signature.results.len();
        let space = if info.is_entry { Space::KernelParameter } else { Space::FunctionParameter };
        let all = info.signature.results.iter().chain(&info.signature.parameters);
        for (index, (parameter, &(name, span))) in all.zip(names).enumerate() {
            let kind = if index < results {
                VariableKind::Result(index as u32)
            } else {
                VariableKind::Parameter((index - results) as u32)
            };
            let variable = Variable {
                name: name.to_string(),
                space: if parameter.in_register { Space::Register } else { space },
                ty: parameter.ty,
                size: parameter.size(),
                align: parameter.align,
                kind,
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

    /// The registers of a name that was just declared: one, or those of a vector.
    fn registers_of(&mut self, name: &'a str) -> SmallVec<[RegisterId; 4]> {
        match self.look_up(name) {
            Some(Meaning::Register(index)) => SmallVec::from_iter([self.register(index, name).0]),
            Some(Meaning::Vector(first, count)) => {
                (0..u32::from(count)).map(|component| self.component(first, component, name).0).collect()
            }
            _ => SmallVec::new(),
        }
    }
}
