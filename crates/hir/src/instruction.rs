//! Instructions: words matched with the table, gates of version and chip, operands one by one.
//!
//! It is here to join the table with names. What a single operand may be is decided in the file of operands.

use std::rc::Rc;

use oriole_diagnostics::{Code, Diagnostic, Span};
use oriole_ptx::table::{COMMON_NEEDS, Chips, Form, FormProblem, Kind, OperandRow, Presence, match_form};
use oriole_ptx::{Opcode, Space};
use oriole_syntax::ast::{self, AstNode};
use oriole_syntax::{SyntaxToken, token_span};
use smallvec::SmallVec;

use crate::function::Resolver;
use crate::{AddressBase, Instruction, Operand, Statement};

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

/// The opcode that is spelled most like a word, if one is close.
fn nearest_opcode(word: &str) -> Option<&'static str> {
    Opcode::all()
        .map(|opcode| (distance(word, opcode.name()), opcode.name()))
        .min()
        .filter(|&(distance, name)| distance * 3 <= name.len().max(3))
        .map(|(_, name)| name)
}

/// Edit distance of two short words.
fn distance(left: &str, right: &str) -> usize {
    if left.len() > 24 {
        return usize::MAX / 4;
    }
    let right = right.as_bytes();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &b) in right.iter().enumerate() {
            let next = (diagonal + usize::from(a != b)).min(row[j] + 1).min(row[j + 1] + 1);
            diagonal = std::mem::replace(&mut row[j + 1], next);
        }
    }
    row[right.len()]
}

impl Resolver<'_> {
    /// Resolves an instruction and adds it to the body. One that has errors is left out: the body is not compiled.
    pub fn instruction(&mut self, node: &ast::Instruction) {
        let guard = match node.guard() {
            Some(guard) => match self.guard(&guard) {
                Some(guard) => Some(guard),
                None => return,
            },
            None => None,
        };
        let Some(opcode_node) = node.opcode() else { return };
        let Some(mnemonic) = opcode_node.mnemonic() else { return };
        let operands: SmallVec<[ast::Operand; 6]> = node.operands().collect();
        let Some(known) = self.form(&opcode_node, &mnemonic, operands.len()) else { return };
        let word_span = |word: Option<usize>| {
            word.and_then(|word| opcode_node.modifiers().nth(word))
                .map_or_else(|| opcode_node.span(), |token| token_span(&token))
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
        let mut instruction = Instruction {
            guard,
            opcode,
            modifiers: form.modifiers.clone(),
            types: form.types.clone(),
            space: form.space,
            second_space: form.second_space,
            vector: form.vector,
            operands: resolved,
        };
        if self.check_spaces(&mut instruction, span) && self.check_vector(&instruction, span) {
            self.push_statement(Statement::Instruction(instruction), span);
        }
    }

    /// The form of an opcode as spelled.
    fn form(&mut self, node: &ast::Opcode, mnemonic: &SyntaxToken, count: usize) -> Option<Rc<KnownForm>> {
        let mut spelling = std::mem::take(&mut self.spelling);
        spelling.clear();
        spelling.push_str(mnemonic.text());
        for token in node.modifiers() {
            spelling.push_str(token.text());
        }
        // The number of operands picks among forms of one spelling.
        let words_end = spelling.len();
        spelling.push(char::from_u32(0x100 + count.min(64) as u32)?);
        let known = match self.forms.get(spelling.as_str()) {
            Some(known) => Rc::clone(known),
            None => {
                let known = Rc::new(self.find_form(&spelling[..words_end], count));
                self.forms.insert(spelling.as_str().into(), Rc::clone(&known));
                known
            }
        };
        self.spelling = spelling;
        Some(known)
    }

    fn find_form(&self, spelling: &str, count: usize) -> KnownForm {
        let mut words = spelling.split('.');
        let name = words.next().unwrap_or_default();
        let words: SmallVec<[&str; 8]> = words.collect();
        let Some(opcode) = Opcode::from_name(name) else {
            let mut message = format!("no instruction is called `{}`", shorten(name));
            if let Some(near) = nearest_opcode(name) {
                message.push_str(&format!("; did you mean `{near}`?"));
            }
            return KnownForm::Wrong(None, Code::UnknownInstruction, message);
        };
        match match_form(opcode, &words, count) {
            Ok(form) => {
                let gate = self.gate(&form, &words);
                let operands = form
                    .row
                    .operands
                    .iter()
                    .filter(|operand| match operand.presence {
                        Presence::With(token) => form.modifiers.has(token),
                        _ => true,
                    })
                    .copied()
                    .collect();
                KnownForm::Found { form, opcode, operands, gate }
            }
            Err(error) => KnownForm::Wrong(error.word, code_of(&error.problem), error.problem.to_string()),
        }
    }

    /// Why the module's version or targets do not have a form.
    fn gate(&self, form: &Form, words: &[&str]) -> Option<(Option<usize>, Code, String)> {
        let row = form.row;
        let name =
            std::iter::once(row.opcode.name()).chain(words.iter().copied()).collect::<Vec<_>>().join(".");
        let name = shorten(&name);
        if !self.header.has_chips(row.chips) {
            let wanted = match row.chips {
                Chips::From(number) => format!("`sm_{number}` or later"),
                Chips::Before(number) => format!("a target before `sm_{number}`"),
                Chips::Accelerated(numbers) => list_chips(numbers, "a"),
                Chips::Family(numbers) => list_chips(numbers, "a"),
            };
            let message =
                format!("`{name}` needs {wanted}; the module's target is `{}`", self.header.target_names());
            return Some((None, Code::NeedsChip, message));
        }
        let version = |(major, minor): (u8, u8)| {
            format!(
                "needs `.version` {major}.{minor} or later; the module has {}.{}",
                self.header.version.0, self.header.version.1
            )
        };
        if !self.header.has_version(row.ptx) {
            return Some((None, Code::NeedsVersion, format!("`{name}` {}", version(row.ptx))));
        }
        for need in row.needs.iter().chain(COMMON_NEEDS) {
            let Some(at) = words.iter().position(|word| *word == need.token) else { continue };
            if !self.header.has_chips(Chips::From(need.chip)) {
                let message = format!(
                    "`.{}` needs `sm_{}` or later; the module's target is `{}`",
                    need.token,
                    need.chip,
                    self.header.target_names()
                );
                return Some((Some(at), Code::NeedsChip, message));
            }
            if !self.header.has_version(need.ptx) {
                return Some((
                    Some(at),
                    Code::NeedsVersion,
                    format!("`.{}` {}", need.token, version(need.ptx)),
                ));
            }
        }
        None
    }

    /// Resolves operands against their rows; false if one is wrong.
    fn operands(
        &mut self,
        form: &Form,
        rows: &[OperandRow],
        operands: &[ast::Operand],
        resolved: &mut Vec<Operand>,
    ) -> bool {
        let mut complete = true;
        for (index, operand) in operands.iter().enumerate() {
            let row = match rows.get(index) {
                Some(row) => row,
                // The last row of a family known only by name takes all that is left.
                None => match rows.last() {
                    Some(row) => row,
                    None => return false,
                },
            };
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
            Operand::Address(address) => Some(address.base.clone()),
            _ => None,
        });
        let Some(base) = address else { return true };
        let mnemonic = instruction.opcode.name();
        // Only accesses have one space for one address; other instructions say where from and where to.
        let access = matches!(
            instruction.opcode,
            Opcode::Ld | Opcode::Ldu | Opcode::St | Opcode::Atom | Opcode::Red | Opcode::Prefetch
        );
        match base {
            AddressBase::Variable(id) => {
                let variable = &self.body.variables[id.0 as usize];
                let found = variable.space;
                let parameter = |space| matches!(space, Space::KernelParameter | Space::FunctionParameter);
                let fits = match space {
                    Space::Generic => !parameter(found) && found != Space::Constant,
                    Space::Shared | Space::SharedCluster => found == Space::Shared,
                    _ if parameter(space) => parameter(found),
                    _ => space == found,
                };
                if access && !fits {
                    let name = variable.name.clone();
                    let written = if space == Space::Generic { "a generic address" } else { space.name() };
                    self.report(
                        Code::StateSpaceMismatch,
                        span,
                        format!("`{mnemonic}` accesses `{written}`, but `{name}` is in `.{}`", found.name()),
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
                let narrow =
                    self.body.registers[id.0 as usize].ty.bits() < u32::from(self.header.address_bits());
                if access && narrow && matches!(space, Space::Generic | Space::Global) {
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
                let access =
                    matches!(instruction.opcode, Opcode::Ld | Opcode::St | Opcode::Atom | Opcode::Red);
                if access && space != Space::Local {
                    self.report(
                        Code::InvalidAddress,
                        span,
                        "an address that is a constant alone is possible in `.local` only",
                    );
                    return false;
                }
            }
        }
        true
    }

    /// Whether the chip can access so many bits at a time.
    fn check_vector(&mut self, instruction: &Instruction, span: Span) -> bool {
        let bits = instruction.types.first().map_or(0, |ty| ty.bits()) * u32::from(instruction.vector);
        let access = matches!(instruction.opcode, Opcode::Ld | Opcode::Ldu | Opcode::St);
        if access && bits > 128 && instruction.vector > 1 {
            let wide = bits <= 256 && self.header.has_chips(Chips::From(100));
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

/// A name for a message, cut where it is absurdly long.
fn shorten(name: &str) -> String {
    if name.len() <= 80 {
        return name.to_string();
    }
    let end = (0..=77).rev().find(|&at| name.is_char_boundary(at)).unwrap_or(0);
    format!("{}...", &name[..end])
}

fn list_chips(numbers: &[u8], suffix: &str) -> String {
    let names: Vec<String> = numbers.iter().map(|number| format!("`sm_{number}{suffix}`")).collect();
    names.join(" or ")
}
