//! Statements: scopes, labels, declarations, target lists, prototypes, line marks.
//!
//! It flattens the scopes of a function into one list. Instructions have a file of their own.

use crate::body::Label;
use std::rc::Rc;

use oriole_diagnostics::{Code, Diagnostic, Span};
use oriole_ptx::{Space, Type};
use oriole_syntax::ast::{self, AstNode};

use crate::declaration::{Shape, check_head, outermost_values, shape};
use crate::names::{Meaning, Members};
use crate::resolved::{Inlined, LineEntry};
use crate::resolver::{Resolver, VariableShape};
use crate::signature::{ListKind, Role, parameters};
use crate::variable::{Attributes, attributes};
use crate::{LabelId, RegisterId, Signature, Statement, Table, Variable, VariableId, VariableKind};

impl<'a> Resolver<'a> {
    /// A scope with its statements. Labels are visible in the whole scope, so that they are declared first.
    pub fn block(&mut self, block: &ast::Block<'a>) {
        // The outermost scope of a body is also that of the parameters.
        let inner = self.depth > 0;
        self.depth += 1;
        if inner {
            self.names.enter();
        }
        let mut statements: Vec<ast::Statement<'a>> = Vec::new();
        for statement in block.statements() {
            self.declare_label(&statement);
            statements.push(statement);
        }
        // Most instructions write a register of their own.
        self.names.reserve(statements.len());
        self.body.statements.reserve(statements.len());
        self.map.statements.reserve(statements.len());
        self.map.instructions.reserve(statements.len());
        for statement in statements {
            self.statement(statement);
        }
        if inner {
            self.names.leave();
        }
        self.depth -= 1;
    }

    fn declare_label(&mut self, statement: &ast::Statement<'a>) {
        let (label, table) = match statement {
            ast::Statement::Label(label) => (Some(*label), None),
            ast::Statement::BranchTargets(list) => (list.label(), Some(Table::Labels(Vec::new()))),
            ast::Statement::CallTargets(list) => (list.label(), Some(Table::Functions(Vec::new()))),
            ast::Statement::CallPrototype(prototype) => {
                if let Some(name) = prototype.label().and_then(|label| label.name()) {
                    let id = self.body.prototypes.alloc(Signature::default());
                    let declared = self.names.declare(name.text(), Meaning::Prototype(id), name.span());
                    self.check_new(name.text(), name.span(), declared);
                }
                return;
            }
            _ => return,
        };
        let Some(name) = label.and_then(|label| label.name()) else { return };
        let span = name.span();
        let meaning = match table {
            Some(table) => Meaning::Table(self.body.tables.alloc(table), false),
            None => {
                let id = self.body.labels.alloc(Label);
                self.map.labels.insert(id, (name.text().to_string(), span));
                Meaning::Label(id)
            }
        };
        let declared = self.names.declare(name.text(), meaning, span);
        self.check_new(name.text(), span, declared);
    }

    fn statement(&mut self, statement: ast::Statement<'a>) {
        match statement {
            ast::Statement::Block(block) => self.block(&block),
            ast::Statement::Label(label) => {
                if let Some(name) = label.name()
                    && let Some(Meaning::Label(id)) = self.look_up(name.text())
                {
                    self.push_statement(Statement::Label(id), label.span());
                }
            }
            ast::Statement::Instruction(instruction) => {
                self.instruction = Some(instruction.syntax());
                self.instruction(&instruction);
                self.instruction = None;
            }
            ast::Statement::Variable(variable) => self.variable(&variable),
            ast::Statement::LocDirective(line) => self.line(&line),
            ast::Statement::Pragma(pragma) => {
                for text in pragma.strings() {
                    if text.split_whitespace().next() == Some("enable_smem_spilling") {
                        let message = "registers are spilled to local memory only: this pragma has no effect";
                        self.report(Code::Ignored, pragma.span(), message);
                    }
                    self.push_statement(Statement::Pragma(text), pragma.span());
                }
            }
            ast::Statement::BranchTargets(list) => {
                let Some(name) = list.label().and_then(|label| label.name()) else { return };
                let Some(Meaning::Table(id, _)) = self.look_up(name.text()) else { return };
                let targets = list.targets().filter_map(|target| self.label(&target)).collect();
                self.body.tables[id] = Table::Labels(targets);
                self.names.redefine(name.text(), Meaning::Table(id, true));
            }
            ast::Statement::CallTargets(list) => {
                let Some(name) = list.label().and_then(|label| label.name()) else { return };
                let Some(Meaning::Table(id, _)) = self.look_up(name.text()) else { return };
                let mut targets = Vec::new();
                for target in list.targets() {
                    let Some(token) = target.token() else { continue };
                    let span = token.span();
                    match self.function(token.text(), span, false) {
                        Some(function) => targets.push(function),
                        None => self.report(
                            Code::UnknownName,
                            span,
                            format!("no function is called `{}`", token.text()),
                        ),
                    }
                }
                self.body.tables[id] = Table::Functions(targets);
                self.names.redefine(name.text(), Meaning::Table(id, true));
            }
            ast::Statement::CallPrototype(prototype) => {
                let Some(name) = prototype.label().and_then(|label| label.name()) else { return };
                let Some(Meaning::Prototype(id)) = self.look_up(name.text()) else { return };
                let results: Vec<_> = prototype.results().collect();
                let list: Vec<_> = prototype.parameters().collect();
                let kind = |role| ListKind { role, defined: false };
                let signature = Signature {
                    results: parameters(
                        &results,
                        kind(Role::Result),
                        &self.header,
                        None,
                        &mut self.diagnostics,
                    ),
                    parameters: parameters(
                        &list,
                        kind(Role::Input),
                        &self.header,
                        None,
                        &mut self.diagnostics,
                    ),
                    noreturn: prototype
                        .directives()
                        .any(|directive| directive.word().is_some_and(|word| word.text() == ".noreturn")),
                };
                self.body.prototypes[id] = signature;
            }
        }
    }

    /// Adds a statement with its place.
    pub fn push_statement(&mut self, statement: Statement, span: Span) {
        if matches!(statement, Statement::Instruction(_)) {
            self.map.instructions.push(span);
        }
        self.body.statements.push(statement);
        self.map.statements.push(span);
    }

    /// A label by name.
    pub fn label(&mut self, name: &ast::Name<'a>) -> Option<LabelId> {
        let token = name.token()?;
        let span = token.span();
        match self.look_up(token.text()) {
            Some(Meaning::Label(id)) => Some(id),
            Some(_) => {
                self.report(Code::WrongKindOfName, span, format!("`{}` is not a label", token.text()));
                None
            }
            None => {
                let message =
                    format!("no label `{}` is visible here; labels of inner scopes are not", token.text());
                self.report_unknown(token.text(), span, message, |meaning| {
                    matches!(meaning, Meaning::Label(_))
                });
                None
            }
        }
    }

    fn variable(&mut self, variable: &ast::Variable<'a>) {
        let linkage = variable.linkage();
        if let Some((_, word)) = linkage.first()
            && word.text() != ".extern"
        {
            self.report(
                Code::InvalidVariable,
                word.span(),
                format!("`{}` is not allowed inside a function", word.text()),
            );
        }
        let mut found = Vec::new();
        let attributes = attributes(variable, &mut found);
        check_head(variable, &mut found);
        for diagnostic in found {
            self.push(diagnostic);
        }
        let external = linkage.first().is_some_and(|(_, word)| word.text() == ".extern");
        for declarator in variable.declarators() {
            let Some(name) = declarator.name() else { continue };
            let span = name.span();
            let mut found = Vec::new();
            let elements = declarator.initializer().and_then(ast::Initializer::value).map(outermost_values);
            let shaped = shape(variable, Some(declarator), Space::FunctionParameter, elements, &mut found);
            for diagnostic in found {
                self.push(diagnostic);
            }
            let Some(shape) = shaped else {
                // The name is entered all the same, so that its uses are not reported as well.
                let meaning = self.names.declare_register(name.text(), Type::B32, 1, span);
                self.check_new(name.text(), span, meaning);
                continue;
            };
            if shape.ty == Type::B128 && !self.header.has_version((8, 3)) {
                self.report(Code::NeedsVersion, span, "`.b128` needs `.version` 8.3 or later");
            }
            if shape.space == Space::Register {
                self.registers(declarator, &shape);
            } else {
                self.memory_variable(declarator, shape, attributes, external);
            }
        }
    }

    /// Declares the registers of a declarator: one, a vector, or a range of them.
    fn registers(&mut self, declarator: ast::Declarator<'a>, shape: &Shape) {
        let Some(name) = declarator.name() else { return };
        let (name, span) = (name.text(), name.span());
        if !shape.dimensions.is_empty() || declarator.initializer().is_some() {
            self.report(
                Code::InvalidVariable,
                declarator.span(),
                "a register has neither dimensions nor an initial value",
            );
        }
        match declarator.range() {
            None => {
                let declared = self.names.declare_register(name, shape.ty, shape.vector, span);
                self.check_new(name, span, declared);
            }
            Some(range) => self.range(name, span, range, Members::Registers(shape.ty, shape.vector)),
        }
    }

    /// Declares the members of a range.
    fn range(&mut self, name: &'a str, span: Span, range: ast::RegisterRange<'a>, members: Members) {
        match range.count() {
            Some(count) if count > u64::from(u32::MAX) => {
                self.report(Code::TooLarge, range.span(), "a range of more than 4294967295 names");
            }
            Some(count) => {
                let declared = self.names.declare_range(name, count, members, span);
                self.check_new(name, span, declared);
            }
            None => self.report(Code::InvalidVariable, range.span(), "a range needs a positive number"),
        }
    }

    /// Declares a variable in memory.
    fn memory_variable(
        &mut self,
        declarator: ast::Declarator<'a>,
        shape: Shape,
        attributes: Attributes,
        external: bool,
    ) {
        let Some(token) = declarator.name() else { return };
        let (name, span) = (token.text(), token.span());
        let initial = declarator.initializer();
        let is_static = Self::is_static(shape.space) && !external;
        let parameter = matches!(shape.space, Space::FunctionParameter | Space::KernelParameter);
        if let Some(range) = declarator.range()
            && (initial.is_some() || !shape.dimensions.is_empty())
        {
            let message = "variables of a range have neither dimensions nor an initial value";
            self.report(Code::InvalidVariable, range.span(), message);
        }
        if shape.ty == Type::Pred {
            self.report(Code::InvalidType, span, "a predicate can be a register only");
        }
        if shape.ty.is_opaque() {
            self.report(
                Code::InvalidVariable,
                span,
                "textures, samplers and surfaces are variables of the module or parameters of a kernel",
            );
        }
        if shape.ty == Type::F16x2 && parameter {
            self.report(
                Code::InvalidType,
                span,
                "an `.f16x2` or `.bf16x2` value cannot be in `.param` space",
            );
        }
        if let Some(initial) = initial
            && !is_static
        {
            let message = if external {
                "an `.extern` variable has no initial value".to_string()
            } else {
                format!("a `.{}` variable has no initial value", shape.space.name())
            };
            self.report(Code::InvalidInitializer, initial.span(), message);
        }
        if attributes.managed && shape.space != Space::Global {
            self.report(Code::InvalidVariable, span, "a managed variable is in `.global` space");
        }
        if shape.open && !external && initial.is_none() {
            self.report(Code::InvalidVariable, span, format!("the array `{name}` has no size"));
        }
        let value = initial.and_then(ast::Initializer::value);
        let common = VariableShape { shape, attributes, external, declaration: span };
        match declarator.range() {
            None => {
                let id = self.new_variable(name, &common, value);
                let declared = self.names.declare(name, Meaning::Variable(id), span);
                self.check_new(name, span, declared);
            }
            Some(range) => {
                let number = self.ranges.len() as u32;
                self.ranges.push(Rc::new(common));
                self.range(name, span, range, Members::Variables(number));
            }
        }
    }

    /// Adds a variable in memory to the body.
    pub(crate) fn new_variable(
        &mut self,
        name: &'a str,
        common: &VariableShape,
        value: Option<ast::InitializerValue<'a>>,
    ) -> VariableId {
        let VariableShape { shape, attributes, external, declaration } = common;
        let is_static = Self::is_static(shape.space) && !external;
        let plain = is_static && !shape.ty.is_opaque() && shape.ty != Type::Pred;
        let symbol = plain.then(|| self.static_variable(name, shape, attributes, value));
        self.add_variable(
            Variable {
                name: name.to_string(),
                space: shape.space,
                ty: shape.ty,
                size: shape.size,
                align: shape.align,
                kind: VariableKind::Body,
                symbol,
            },
            Some(*declaration),
            u64::from(shape.ty.bytes()) * u64::from(shape.vector),
        )
    }

    fn line(&mut self, line: &ast::LocDirective<'a>) {
        if let Some(number) = line.too_large() {
            let message = format!("`{}` does not fit into 32 bits", number.text());
            self.report(Code::InvalidDirective, number.span(), message);
        }
        // Line tables do not hold intermediate places: ptxas accepts the directive and writes nothing for it.
        if line.is_intermediate() {
            if !self.header.has_version((9, 4)) {
                let message = "`.loc_intermediate` needs `.version` 9.4 or later";
                self.report(Code::NeedsVersion, line.span(), message);
            }
            return;
        }
        let Some((file, row, column)) = line.position() else { return };
        let inlined = line.inlined_at().map(|inlined| Inlined {
            function_name: inlined.function_name().map(|(label, offset)| (label.text().to_string(), offset)),
            at: inlined.position(),
        });
        if let Some((label, _)) = inlined.as_ref().and_then(|inlined| inlined.function_name.as_ref())
            && !self.uses.function_names.contains(label)
        {
            self.uses.function_names.push(label.clone());
        }
        if let Some(at) = inlined.as_ref().and_then(|inlined| inlined.at) {
            let lines = &self.map.lines;
            let known = self.locations.get_or_insert_with(|| {
                lines.iter().map(|entry| (entry.file, entry.line, entry.column)).collect()
            });
            self.uses.outer_locations |= !known.contains(&at);
        }
        if let Some(known) = &mut self.locations {
            known.insert((file, row, column));
        }
        let instruction = self.map.instructions.len() as u32;
        self.map.lines.push(LineEntry { instruction, file, line: row, column, inlined });
    }

    /// The guard of an instruction.
    pub fn guard(&mut self, guard: &ast::Guard<'a>) -> Option<(RegisterId, bool)> {
        let token = guard.register()?;
        let span = token.span();
        match self.look_up(token.text()) {
            Some(Meaning::Register(index)) => {
                let (id, ty) = self.register(index, token.text());
                if ty != Type::Pred {
                    self.push(Diagnostic::new(
                        Code::InvalidPredicate,
                        span,
                        format!("a guard is a `.pred` register; `{}` is `{ty}`", token.text()),
                    ));
                    return None;
                }
                Some((id, guard.negated()))
            }
            Some(_) => {
                self.report(
                    Code::InvalidPredicate,
                    span,
                    format!("`{}` is not a predicate register", token.text()),
                );
                None
            }
            None => {
                self.report(Code::UnknownName, span, format!("no register is called `{}`", token.text()));
                None
            }
        }
    }
}
