//! Calls: results, callee, arguments, and what an indirect call says about its target.
//!
//! A call's operands depend on the signature of the callee.

use oriole_diagnostics::{Code, Diagnostic, Span, counted};
use oriole_ptx::{Space, Type};
use oriole_syntax::ast::{self, AstNode};
use smallvec::SmallVec;

use crate::compatible::{Width, immediate_fits, register_fits};
use crate::names::Meaning;
use crate::operand::Named;
use crate::resolver::Resolver;
use crate::{FunctionId, Operand, Parameter, Signature, Table, VariableKind, evaluate};

impl<'a> Resolver<'a> {
    /// The operands of a call in the order written: results, callee, arguments, target list or prototype.
    pub fn call(&mut self, operands: &[ast::Operand<'a>], span: Span) -> Option<Vec<Operand>> {
        let mut rest = operands;
        let mut results = None;
        if let [ast::Operand::ArgumentList(list), tail @ ..] = rest {
            results = Some(*list);
            rest = tail;
        }
        let [callee, tail @ ..] = rest else {
            self.report(Code::OperandCount, span, "a call names a function");
            return None;
        };
        rest = tail;
        let mut arguments = None;
        if let [ast::Operand::ArgumentList(list), tail @ ..] = rest {
            arguments = Some(*list);
            rest = tail;
        }
        let target = rest.first();
        if let Some(surplus) = rest.get(1) {
            self.report(Code::OperandCount, surplus.span(), "a call has nothing after its prototype");
            return None;
        }
        let (callee, target, signature) = self.callee(callee, target)?;
        let list =
            |resolver: &mut Self, list: Option<&ast::ArgumentList<'a>>, wanted: &[Parameter], what: &str| {
                let given: SmallVec<[ast::Operand<'a>; 8]> =
                    list.into_iter().flat_map(|list| list.arguments()).collect();
                // For an array without a size nothing need be passed.
                let absent = given.len() + 1 == wanted.len() && wanted.last().is_some_and(Parameter::is_open);
                if !absent {
                    let span = list.map_or(span, |list| list.span());
                    resolver.check_count(given.len(), wanted.len(), what, span)?;
                }
                let resolved: Vec<Option<Operand>> = given
                    .iter()
                    .zip(wanted)
                    .map(|(given, wanted)| resolver.argument(given, wanted, what == "result"))
                    .collect();
                resolved.into_iter().collect::<Option<Vec<_>>>()
            };
        let returned = list(self, results.as_ref(), &signature.results, "result");
        let passed = list(self, arguments.as_ref(), &signature.parameters, "argument");
        let (returned, passed) = (returned?, passed?);
        let mut all = Vec::new();
        if results.is_some() {
            all.push(Operand::List(returned));
        }
        all.push(callee);
        if arguments.is_some() {
            all.push(Operand::List(passed));
        }
        all.extend(target);
        Some(all)
    }

    fn check_count(&mut self, given: usize, wanted: usize, what: &str, span: Span) -> Option<()> {
        if given == wanted {
            return Some(());
        }
        let wanted = counted(wanted, what);
        self.report(Code::CallMismatch, span, format!("expected {wanted}, found {given}"));
        None
    }

    /// The callee, the statement of the call about its target, and the signature.
    fn callee(
        &mut self,
        callee: &ast::Operand<'a>,
        target: Option<&ast::Operand<'a>>,
    ) -> Option<(Operand, Option<Operand>, Signature)> {
        let span = callee.span();
        let ast::Operand::Name(name) = callee else {
            self.report(Code::InvalidOperand, span, "a call names a function or a register");
            return None;
        };
        let token = name.token()?;
        let text = token.text();
        if self.look_up(text).is_none() {
            if let Some(id) = self.function(text, span, true) {
                return self.called_by_name(id, text, span, target);
            }
            if !text.starts_with('%') && self.context.global(text).is_none() {
                self.push(
                    Diagnostic::new(Code::UnknownName, span, format!("no function is called `{text}`"))
                        .with_help("declare it above the call, with `.func` or `.extern .func`"),
                );
                return None;
            }
        }
        let register = match self.named(text, token.span())? {
            Named::Register(id, ty) if ty.bits() == 64 && !ty.is_float() => id,
            _ => {
                let message = "an indirect call takes the address from a register of 64 bits";
                self.report(Code::InvalidOperand, span, message);
                return None;
            }
        };
        self.uses.calls_through_pointers = true;
        let Some(target) = target else {
            self.push(
                Diagnostic::new(Code::CallMismatch, span, "an indirect call needs a prototype")
                    .with_help("name a `.callprototype` or `.calltargets` label after the arguments"),
            );
            return None;
        };
        let (target, signature) = self.call_target(target)?;
        Some((Operand::Register(register), Some(target), signature))
    }

    /// A direct call: of a function, without a prototype.
    fn called_by_name(
        &mut self,
        id: FunctionId,
        name: &str,
        span: Span,
        target: Option<&ast::Operand<'a>>,
    ) -> Option<(Operand, Option<Operand>, Signature)> {
        if self.context.signature(name).is_some_and(|info| info.is_entry) {
            self.report(Code::WrongKindOfName, span, format!("`{name}` is a kernel and cannot be called"));
            return None;
        }
        if let Some(target) = target {
            self.report(Code::CallMismatch, target.span(), "a call by name takes no prototype");
            return None;
        }
        Some((Operand::Function(id), None, self.body.functions[id].signature.clone()))
    }

    /// The possible targets of an indirect call: a prototype, or a list of functions with one signature.
    fn call_target(&mut self, target: &ast::Operand<'a>) -> Option<(Operand, Signature)> {
        let known = match target {
            ast::Operand::Name(name) => name.token().and_then(|token| self.look_up(token.text())),
            _ => None,
        };
        match known {
            Some(Meaning::Prototype(id)) => Some((Operand::Prototype(id), self.body.prototypes[id].clone())),
            Some(Meaning::Table(id, _)) => {
                if let Table::Functions(functions) = &self.body.tables[id]
                    && let Some(&first) = functions.first()
                {
                    return Some((Operand::Table(id), self.body.functions[first].signature.clone()));
                }
                self.report(Code::WrongKindOfName, target.span(), "a list of functions is needed here");
                None
            }
            _ => {
                let message = "a `.callprototype` or `.calltargets` label is needed here";
                self.report(Code::UnknownName, target.span(), message);
                None
            }
        }
    }

    fn argument(&mut self, node: &ast::Operand<'a>, wanted: &Parameter, result: bool) -> Option<Operand> {
        let span = node.span();
        let mismatch = |resolver: &mut Self, found: String| {
            let bytes = wanted.size();
            resolver.report(
                Code::CallMismatch,
                span,
                format!("the callee wants `{}` of {bytes} bytes here, this is {found}", wanted.ty),
            );
            None
        };
        match node {
            ast::Operand::Sink(_) if result => Some(Operand::Sink),
            ast::Operand::Name(name) => {
                let token = name.token()?;
                match self.named(token.text(), token.span())? {
                    Named::Register(id, ty) => {
                        let scalar = wanted.length.is_none();
                        if scalar && register_fits(ty, wanted.ty, Width::Same) {
                            return Some(Operand::Register(id));
                        }
                        mismatch(self, format!("a `{ty}` register"))
                    }
                    Named::Registers(list) => {
                        let alike = wanted.in_register && wanted.length == Some(list.len() as u64);
                        if alike && list.iter().all(|&(_, ty)| register_fits(ty, wanted.ty, Width::Same)) {
                            let components = list.into_iter().map(|(id, _)| Operand::Register(id));
                            return Some(Operand::Vector(components.collect()));
                        }
                        mismatch(self, format!("a vector of {} registers", list.len()))
                    }
                    Named::Variable(id) => {
                        let variable = &self.body.variables[id];
                        if !matches!(variable.space, Space::FunctionParameter | Space::KernelParameter) {
                            let name = variable.name.clone();
                            self.report(
                                Code::StateSpaceMismatch,
                                span,
                                format!("`{name}` is not a `.param` variable and cannot be passed"),
                            );
                            return None;
                        }
                        if matches!(variable.kind, VariableKind::Parameter(_) | VariableKind::Result(_)) {
                            let message = format!(
                                "`{}` is a parameter of this function; what a call passes is declared in the function",
                                variable.name
                            );
                            self.report(Code::ParameterPassed, span, message);
                            return None;
                        }
                        let array = variable.size != u64::from(variable.ty.bytes());
                        let alike = array == (wanted.size() != u64::from(wanted.ty.bytes()));
                        let fits = if wanted.is_open() {
                            variable.ty == wanted.ty
                        } else {
                            variable.size == wanted.size() && (alike || variable.ty == wanted.ty)
                        };
                        if !fits {
                            let found =
                                format!("a variable of {} bytes of type `{}`", variable.size, variable.ty);
                            return mismatch(self, found);
                        }
                        if wanted.length.is_some() && variable.align != wanted.align {
                            let found =
                                format!("aligned to {} bytes and not to {}", variable.align, wanted.align);
                            return mismatch(self, found);
                        }
                        Some(Operand::Variable(id))
                    }
                    Named::WarpSize if !result && wanted.ty != Type::Pred => {
                        Some(Operand::Immediate(crate::Immediate::Integer(32)))
                    }
                    _ => mismatch(self, "something else".to_string()),
                }
            }
            _ if !result => match evaluate(node) {
                Ok(constant) => match immediate_fits(constant, wanted.ty) {
                    Some(immediate) if wanted.length.is_none() => Some(Operand::Immediate(immediate)),
                    _ => mismatch(self, "a constant of another kind".to_string()),
                },
                Err(error) => {
                    self.push(error);
                    None
                }
            },
            _ => mismatch(self, "no place for a result".to_string()),
        }
    }
}
