//! Instructions: words matched with the table, gates of version and chip, operands one by one.
//!
//! It is here to join the table with names. What a single operand may be is decided in the file of operands.

use std::rc::Rc;

use oriole_diagnostics::{Code, Diagnostic, Span};
use oriole_ptx::table::{Chips, Form, FormProblem, Kind, OperandRow, Shape, match_forms};
use oriole_ptx::{Opcode, Space, Word};
use oriole_syntax::TokenRef;
use oriole_syntax::ast::{self, AstNode};
use smallvec::SmallVec;

use crate::function::Resolver;
use crate::operand::address::{ABSOLUTE, holds};
use crate::{Address, AddressBase, Instruction, Operand, Statement};

/// The outcome of matching one spelling, kept for the next instruction that is spelled alike.
#[allow(clippy::large_enum_variant, reason = "one value for each spelling of a function, behind an `Rc`")]
pub(crate) enum KnownForm {
    /// A form, and why the module may not use it, if so: the word at fault, code and message.
    Found {
        form: Form,
        opcode: Opcode,
        operands: SmallVec<[OperandRow; 6]>,
        gate: Option<(Option<usize>, Code, String)>,
    },
    /// No form: the word at fault, code and message.
    Wrong(Option<usize>, Code, String),
}

fn code_of(problem: &FormProblem) -> Code {
    match problem {
        FormProblem::UnknownModifier { .. } => Code::UnknownModifier,
        FormProblem::NotApplicable { .. } => Code::InvalidCombination,
        FormProblem::Conflict { .. } => Code::ConflictingModifiers,
        FormProblem::WrongType { .. } => Code::InvalidType,
        FormProblem::Missing { .. } => Code::MissingModifier,
        FormProblem::OperandCount { .. } => Code::OperandCount,
    }
}

impl<'a> Resolver<'a> {
    /// Resolves an instruction and adds it to the body. One that has errors is left out: the body is not compiled.
    pub fn instruction(&mut self, node: &ast::Instruction<'a>) {
        let (guard, opcode_node, list) = node.parts();
        let guard = match guard {
            Some(guard) => match self.guard(&guard) {
                Some(guard) => Some(guard),
                None => return,
            },
            None => None,
        };
        let Some(opcode_node) = opcode_node else { return };
        let Some(mnemonic) = opcode_node.mnemonic() else { return };
        let operands: SmallVec<[ast::Operand<'a>; 6]> =
            list.into_iter().flat_map(|list| list.operands()).collect();
        let shapes: SmallVec<[Shape; 6]> = operands.iter().map(shape).collect();
        let Some(known) = self.form(&opcode_node, mnemonic, &shapes) else { return };
        let word_span = |word: Option<usize>| {
            word.and_then(|word| opcode_node.modifiers().nth(word))
                .map_or_else(|| opcode_node.span(), |token| token.span())
        };
        let (form, opcode, rows) = match &*known {
            KnownForm::Found { form, opcode, operands, gate } => {
                if let Some((word, code, message)) = gate {
                    self.report(*code, word_span(*word), message.clone());
                    return;
                }
                (form, *opcode, operands)
            }
            KnownForm::Wrong(word, code, message) => {
                self.report(*code, word_span(*word), message.clone());
                return;
            }
        };
        let before = self.diagnostics.len();
        let span = node.span();
        let mut resolved = Vec::with_capacity(operands.len());
        let complete = if rows.first().is_some_and(|row| row.kind == Kind::Call) {
            match self.call(&operands, span) {
                Some(list) => {
                    resolved = list;
                    true
                }
                None => false,
            }
        } else {
            self.operands(form, rows, &operands, &mut resolved)
        };
        if !complete || self.diagnostics[before..].iter().any(Diagnostic::is_error) {
            return;
        }
        // Destinations come first; of a call, its results.
        let destinations = match resolved.first() {
            Some(Operand::List(_)) if opcode == Opcode::Call => 1,
            _ => rows.iter().take_while(|row| row.kind.is_written()).count() as u8,
        };
        let beyond_the_back_end = resolved.iter().any(|operand| matches!(operand, Operand::Selection { .. }))
            || leaves_elements_out(opcode, &resolved)
            || opcode == Opcode::Call && self.passes_open_array(&resolved);
        let mut instruction = Instruction {
            guard,
            destinations,
            opcode,
            modifiers: form.modifiers.clone(),
            types: form.types.clone(),
            space: form.space,
            second_space: form.second_space,
            vector: form.vector,
            compiled: form.row.supported && !beyond_the_back_end,
            operands: resolved,
        };
        if self.check_spaces(&mut instruction, span) && self.check_vector(&instruction, span) {
            self.push_statement(Statement::Instruction(instruction), span);
        }
    }

    /// The form of an opcode as spelled.
    fn form(
        &mut self,
        node: &ast::Opcode<'a>,
        mnemonic: TokenRef<'_>,
        shapes: &[Shape],
    ) -> Option<Rc<KnownForm>> {
        let mut spelling = std::mem::take(&mut self.spelling);
        spelling.clear();
        spelling.push_str(mnemonic.text());
        for token in node.modifiers() {
            spelling.push_str(token.text());
        }
        // The number and the shapes of the operands pick among forms of one spelling.
        let words_end = spelling.len();
        for shape in shapes {
            let code = match *shape {
                Shape::Value => 0,
                Shape::Sink => 1,
                Shape::Pair => 2,
                Shape::Vector(count) => 0x100 + u32::from(count),
                Shape::Address(count) => 0x200 + u32::from(count),
            };
            spelling.push(char::from_u32(0x100 + code)?);
        }
        let known = match self.forms.get(spelling.as_str()) {
            Some(known) => Rc::clone(known),
            None => {
                let known = Rc::new(self.find_form(&spelling[..words_end], shapes));
                self.forms.insert(spelling.as_str().into(), Rc::clone(&known));
                known
            }
        };
        self.spelling = spelling;
        Some(known)
    }

    fn find_form(&self, spelling: &str, shapes: &[Shape]) -> KnownForm {
        let mut words = spelling.split('.');
        let name = words.next().unwrap_or_default();
        let words: SmallVec<[&str; 8]> = words.collect();
        let Some(opcode) = Opcode::from_name(name) else {
            let mut message = format!("no instruction is called `{}`", shorten(name));
            if let Some(near) = oriole_ptx::nearest(name).first().map(|near| near.name()) {
                message.push_str(&format!("; did you mean `{near}`?"));
            }
            return KnownForm::Wrong(None, Code::UnknownInstruction, message);
        };
        match match_forms(opcode, &words, shapes) {
            Ok(forms) => {
                // The first form that the module may use, else the first, with the reason why not.
                let mut found = None;
                for form in forms {
                    let operands = form.operands(shapes.len());
                    let gate = self.gate(&form, &words, &operands);
                    let usable = gate.is_none();
                    if usable || found.is_none() {
                        found = Some(KnownForm::Found { form, opcode, operands, gate });
                    }
                    if usable {
                        break;
                    }
                }
                found.unwrap_or_else(|| {
                    KnownForm::Wrong(None, Code::InvalidCombination, "no such form".into())
                })
            }
            Err(error) => KnownForm::Wrong(error.word, code_of(&error.problem), error.problem.to_string()),
        }
    }

    /// Why the module's version or targets do not have a form.
    fn gate(
        &self,
        form: &Form,
        words: &[&str],
        operands: &[OperandRow],
    ) -> Option<(Option<usize>, Code, String)> {
        let row = form.row;
        let name =
            std::iter::once(row.opcode.name()).chain(words.iter().copied()).collect::<Vec<_>>().join(".");
        let name = shorten(&name);
        if !self.header.has_chips(row.chips) {
            let wanted = row.chips.describe();
            let message = format!(
                "`{name}` needs {wanted}; the module's target is `{}`",
                self.header.whole().target_names()
            );
            return Some((None, Code::NeedsChip, message));
        }
        let version = |(major, minor): (u8, u8)| {
            let own = self.header.whole().version;
            format!("needs `.version` {major}.{minor} or later; the module has {}.{}", own.0, own.1)
        };
        if !self.header.has_version(row.ptx) {
            return Some((None, Code::NeedsVersion, format!("`{name}` {}", version(row.ptx))));
        }
        for need in row.needs {
            let named =
                |name: &str| operands.iter().any(|operand| operand.name == name) || words.contains(&name);
            let at = match (need.token.strip_prefix('+'), need.token.strip_prefix('-')) {
                (Some(name), _) if named(name) => None,
                (_, Some(name)) if !named(name) => None,
                (Some(_), _) | (_, Some(_)) => continue,
                _ if need.token == "generic" && form.space == Some(Space::Generic) => None,
                _ if need.token.contains('&') => {
                    let mut places =
                        need.token.split('&').map(|part| words.iter().position(|word| *word == part));
                    match (places.next().flatten(), places.next().flatten()) {
                        (Some(first), Some(second)) => Some(first.max(second)),
                        _ => continue,
                    }
                }
                // A choice may be of several words.
                _ => {
                    let parts: Vec<&str> = need.token.split('.').collect();
                    match words.windows(parts.len()).position(|window| window == parts) {
                        Some(at) => Some(at),
                        None => continue,
                    }
                }
            };
            let what = match need.token {
                "generic" => "a generic address here".to_string(),
                token => match (token.strip_prefix('+'), token.strip_prefix('-')) {
                    (Some(name), _) => format!("the operand `{name}`"),
                    (_, Some(name)) => format!("this instruction without `{name}`"),
                    _ => format!("`.{}`", token.replace('&', "` with `.")),
                },
            };
            if need.chips == Chips::AnyOf(&[]) {
                return Some((at, Code::InvalidCombination, format!("{what} is not possible here as such")));
            }
            if need.until.is_some_and(|until| self.header.has_version(until)) {
                return Some((
                    at,
                    Code::InvalidCombination,
                    format!("{what} does not exist any more in this version"),
                ));
            }
            if !self.header.has_chips(need.chips) {
                let message = format!(
                    "{what} needs {}; the module's target is `{}`",
                    need.chips.describe(),
                    self.header.whole().target_names()
                );
                return Some((at, Code::NeedsChip, message));
            }
            if !self.header.has_version(need.ptx) {
                return Some((at, Code::NeedsVersion, format!("{what} {}", version(need.ptx))));
            }
        }
        None
    }

    /// Resolves operands against their rows; false if one is wrong.
    fn operands(
        &mut self,
        form: &Form,
        rows: &[OperandRow],
        operands: &[ast::Operand<'a>],
        resolved: &mut Vec<Operand>,
    ) -> bool {
        let mut complete = true;
        for (index, operand) in operands.iter().enumerate() {
            let Some(row) = rows.get(index) else { return false };
            match self.operand(operand, row, form) {
                Some(operand) => resolved.push(operand),
                None => complete = false,
            }
        }
        complete
    }

    /// Compares the space of an access with that of the variable it names, and says which kind of parameter
    /// `.param` means.
    fn check_spaces(&mut self, instruction: &mut Instruction, span: Span) -> bool {
        if instruction.opcode == Opcode::Cvta
            && instruction.types.first().is_some_and(|ty| ty.bits() != u32::from(self.header.address_bits()))
        {
            let bits = self.header.address_bits();
            self.report(
                Code::InvalidAddress,
                span,
                format!("generic addresses have {bits} bits in this module"),
            );
            return false;
        }
        let Some(space) = instruction.space else { return true };
        let address = instruction.operands.iter().find_map(|operand| match operand {
            Operand::Address(address) => Some(address.clone()),
            _ => None,
        });
        let Some(Address { base, offset }) = address else { return true };
        let mnemonic = instruction.opcode.name();
        // Accesses have one space for one address; other instructions say where from and where to.
        let access = instruction.second_space.is_none()
            && !matches!(
                instruction.opcode,
                Opcode::Cvta
                    | Opcode::Isspacep
                    | Opcode::Mapa
                    | Opcode::Getctarank
                    | Opcode::Cp
                    | Opcode::Fence
            );
        match base {
            AddressBase::Variable(id) => {
                let variable = &self.body.variables[id];
                let found = variable.space;
                let parameter = |space| matches!(space, Space::KernelParameter | Space::FunctionParameter);
                if access && !holds(space, found) {
                    let name = variable.name.clone();
                    let written = if space == Space::Generic { "a generic address" } else { space.name() };
                    self.report(
                        Code::StateSpaceMismatch,
                        span,
                        format!("`{mnemonic}` accesses `{written}`, but `{name}` is in `.{}`", found.name()),
                    );
                    return false;
                }
                if instruction.opcode == Opcode::Ld && matches!(variable.home, crate::VariableHome::Result(_))
                {
                    let name = variable.name.clone();
                    self.report(
                        Code::InvalidOperand,
                        span,
                        format!("`{name}` is a result of this function and cannot be read"),
                    );
                    return false;
                }
                if found == Space::FunctionParameter
                    && variable.size > 0
                    && !u64::try_from(offset).is_ok_and(|offset| offset < variable.size)
                {
                    let (name, size) = (variable.name.clone(), variable.size);
                    self.report(
                        Code::InvalidAddress,
                        span,
                        format!(
                            "`{name}` has {size} bytes, and this access begins {offset} bytes from its start"
                        ),
                    );
                    return false;
                }
                if parameter(space) {
                    instruction.space = Some(found);
                    let writes = instruction.opcode == Opcode::St;
                    let input = matches!(variable.home, crate::VariableHome::Parameter(_));
                    if writes && input {
                        let name = variable.name.clone();
                        self.report(
                            Code::InvalidOperand,
                            span,
                            format!("`{name}` is a parameter of this function and cannot be written"),
                        );
                        return false;
                    }
                }
            }
            AddressBase::Register(id) => {
                let narrow = self.body.registers[id].ty.bits() < u32::from(self.header.address_bits());
                let checked = matches!(
                    instruction.opcode,
                    Opcode::Ld | Opcode::Ldu | Opcode::St | Opcode::Atom | Opcode::Red | Opcode::Prefetch
                );
                if access && checked && narrow && matches!(space, Space::Generic | Space::Global) {
                    self.report(
                        Code::InvalidAddress,
                        span,
                        format!(
                            "{} addresses have {} bits, this register has fewer",
                            if space == Space::Generic { "generic" } else { "`.global`" },
                            self.header.address_bits()
                        ),
                    );
                    return false;
                }
                if space == Space::KernelParameter && !self.body.is_entry {
                    instruction.space = Some(Space::FunctionParameter);
                }
            }
            AddressBase::Absolute => {
                if access && space != Space::Local {
                    self.report(Code::InvalidAddress, span, ABSOLUTE);
                    return false;
                }
            }
        }
        true
    }

    /// Whether the chip can access so many bits at a time.
    fn check_vector(&mut self, instruction: &Instruction, span: Span) -> bool {
        let bits = instruction.types.first().map_or(0, |ty| ty.bits()) * u32::from(instruction.vector);
        if instruction.opcode == Opcode::Mov
            && instruction.vector == 1
            && let [Operand::Vector(_), Operand::Vector(_)] = instruction.operands[..]
        {
            self.report(
                Code::InvalidVector,
                span,
                "a `mov` between two vectors says how wide they are, as in `mov.v2.b16`",
            );
            return false;
        }
        let access = matches!(instruction.opcode, Opcode::Ld | Opcode::Ldu | Opcode::St);
        let surface = matches!(instruction.opcode, Opcode::Suld | Opcode::Sust | Opcode::Mov);
        if surface && bits > 128 && instruction.vector > 1 {
            self.report(Code::InvalidVector, span, format!("no vector has {bits} bits here"));
            return false;
        }
        if access && bits > 128 && instruction.vector > 1 {
            let asynchronous = instruction.modifiers.has(Word::Async);
            let global = matches!(instruction.space, Some(Space::Global | Space::Generic) | None);
            let sized = instruction.types.first().is_some_and(|ty| matches!(ty.bits(), 32 | 64));
            if !global || !sized || asynchronous || instruction.opcode == Opcode::Ldu {
                let message = format!(
                    "an access of {bits} bits is possible in `.global` memory only, with elements of 32 or 64 bits"
                );
                self.report(Code::InvalidVector, span, message);
                return false;
            }
            let wide =
                bits <= 256 && self.header.has_chips(Chips::From(100)) && self.header.has_version((8, 8));
            if !wide {
                let (code, message) = if bits <= 256 {
                    (Code::NeedsChip, format!("an access of {bits} bits needs `sm_100` or later"))
                } else {
                    (Code::InvalidVector, format!("no access moves {bits} bits"))
                };
                self.report(code, span, message);
                return false;
            }
        }
        true
    }
}

/// Whether a store leaves elements of its vector as they are in memory: `_` stands for them.
fn leaves_elements_out(opcode: Opcode, operands: &[Operand]) -> bool {
    opcode == Opcode::St
        && matches!(operands.get(1), Some(Operand::Vector(elements)) if elements.contains(&Operand::Sink))
}

/// A name for a message, cut where it is absurdly long.
fn shorten(name: &str) -> String {
    if name.len() <= 80 {
        return name.to_string();
    }
    let end = (0..=77).rev().find(|&at| name.is_char_boundary(at)).unwrap_or(0);
    format!("{}...", &name[..end])
}

/// What an operand looks like.
fn shape(operand: &ast::Operand<'_>) -> Shape {
    let count = |count: usize| count.min(255) as u8;
    match operand {
        ast::Operand::Vector(vector) => Shape::Vector(count(vector.elements().count())),
        ast::Operand::Address(address) => Shape::Address(count(address.parts().count())),
        ast::Operand::Pair(_) => Shape::Pair,
        ast::Operand::Sink(_) => Shape::Sink,
        _ => Shape::Value,
    }
}
