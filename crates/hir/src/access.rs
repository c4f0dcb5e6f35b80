//! Accesses to memory: whether the space of an instruction is that of its address, and the number of bits.

use oriole_diagnostics::{Code, Span};
use oriole_ptx::table::Chips;
use oriole_ptx::{Opcode, Space, Word};

use crate::operand::address::{ABSOLUTE, holds};
use crate::resolver::Resolver;
use crate::{Address, AddressBase, Instruction, Operand, RegisterId, Variable, VariableKind};

/// A fault of an access.
type Fault = (Code, String);

/// Whether an instruction accesses memory at its one address; others have a source and a destination address.
fn is_access(instruction: &Instruction) -> bool {
    use Opcode::{Cp, Cvta, Fence, Getctarank, Isspacep, Mapa};
    instruction.second_space.is_none()
        && !matches!(instruction.opcode, Cvta | Isspacep | Mapa | Getctarank | Cp | Fence)
}

/// The fault of an access to a variable, if any.
///
/// `formal` is the parameter of the function that counts, which is not always the variable.
fn variable_fault(
    instruction: &Instruction,
    space: Space,
    variable: &Variable,
    formal: Option<VariableKind>,
) -> Option<Fault> {
    let Variable { name, space: found, .. } = variable;
    if is_access(instruction) && !holds(space, *found) {
        let written = if space == Space::Generic { "a generic address" } else { space.name() };
        let mnemonic = instruction.opcode.name();
        let message = format!("`{mnemonic}` accesses `{written}`, but `{name}` is in `.{}`", found.name());
        return Some((Code::StateSpaceMismatch, message));
    }
    if instruction.opcode == Opcode::Ld && matches!(formal, Some(VariableKind::Result(_))) {
        let message = format!("`{name}` is a result of this function and cannot be read");
        return Some((Code::ResultRead, message));
    }
    if matches!(instruction.opcode, Opcode::Ld | Opcode::St) && variable.ty.is_opaque() {
        let message = format!("`{name}` is a `.{}` and has no memory", variable.ty);
        return Some((Code::InvalidOperand, message));
    }
    let input = matches!(formal, Some(VariableKind::Parameter(_)));
    if is_parameter(space) && instruction.opcode == Opcode::St && input {
        let message = format!("`{name}` is a parameter of this function and cannot be written");
        return Some((Code::ParameterWritten, message));
    }
    None
}

/// The message about an access beyond the end of a parameter, or of a variable in `.param`.
fn beyond_end(instruction: &Instruction, variable: &Variable, offset: i64) -> Option<String> {
    let Variable { name, size, space, .. } = variable;
    let bytes = u64::from(instruction.types.first()?.bytes()) * u64::from(instruction.vector.max(1));
    let end = u64::try_from(offset).ok().and_then(|offset| offset.checked_add(bytes));
    let inside = end.is_some_and(|end| end <= *size);
    let accesses = matches!(instruction.opcode, Opcode::Ld | Opcode::St) && is_parameter(*space);
    (accesses && *size > 0 && !inside).then(|| {
        let whose = match space {
            Space::KernelParameter => "the memory after it is read",
            _ if instruction.opcode == Opcode::St => "what is stored there is lost",
            _ => "what is read there is undefined",
        };
        format!(
            "`{name}` has {size} bytes, and this access to {bytes} bytes begins {offset} bytes from its start; {whose}"
        )
    })
}

fn is_parameter(space: Space) -> bool {
    matches!(space, Space::KernelParameter | Space::FunctionParameter)
}

impl Resolver<'_> {
    /// Compares the space of an access with that of the variable it names, and says which kind of parameter
    /// `.param` means.
    pub fn check_spaces(&mut self, instruction: &mut Instruction, span: Span) -> bool {
        let fault = self.space_fault(instruction);
        if let Some((code, message)) = fault {
            self.report(code, span, message);
            return false;
        }
        let beyond = instruction.operands.iter().find_map(|operand| match *operand {
            Operand::Address(Address { base: AddressBase::Variable(id), offset }) => {
                beyond_end(instruction, &self.body.variables[id], offset)
            }
            _ => None,
        });
        if let Some(message) = beyond {
            self.report(Code::BeyondParameter, span, message);
        }
        true
    }

    fn space_fault(&self, instruction: &mut Instruction) -> Option<Fault> {
        let bits = self.header.address_bits();
        if instruction.opcode == Opcode::Cvta
            && instruction.types.first().is_some_and(|ty| ty.bits() != u32::from(bits))
        {
            let message = format!("generic addresses have {bits} bits in this module");
            return Some((Code::InvalidAddress, message));
        }
        let space = instruction.space?;
        let Address { base, .. } = instruction.operands.iter().find_map(|operand| match operand {
            Operand::Address(address) => Some(address.clone()),
            _ => None,
        })?;
        match base {
            AddressBase::Variable(id) => {
                let variable = &self.body.variables[id];
                let fault = variable_fault(instruction, space, variable, self.formal(variable));
                if is_parameter(space) {
                    instruction.space = Some(variable.space);
                }
                fault
            }
            AddressBase::Register(id) => {
                if space == Space::KernelParameter && !self.body.is_entry {
                    instruction.space = Some(Space::FunctionParameter);
                }
                self.register_fault(instruction, space, id)
            }
            AddressBase::Absolute => (is_access(instruction) && space != Space::Local)
                .then(|| (Code::InvalidAddress, ABSOLUTE.to_string())),
        }
    }

    /// The parameter or result of this function that an access to a variable counts for. ptxas goes by the name: the
    /// name of a parameter means it in inner scopes, too, where a variable of `.param` hides it.
    fn formal(&self, variable: &Variable) -> Option<VariableKind> {
        let is_formal = |kind| matches!(kind, VariableKind::Parameter(_) | VariableKind::Result(_));
        if !is_parameter(variable.space) || is_formal(variable.kind) {
            return Some(variable.kind);
        }
        let mut formals = self.body.variables.values().take_while(|variable| is_formal(variable.kind));
        formals.find(|formal| formal.name == variable.name).map(|formal| formal.kind)
    }

    /// The fault of an access by the address in a register, if any.
    fn register_fault(&self, instruction: &Instruction, space: Space, id: RegisterId) -> Option<Fault> {
        use Opcode::{Atom, Ld, Ldu, Prefetch, Red, St};
        let bits = self.header.address_bits();
        let narrow = self.body.registers[id].ty.bits() < u32::from(bits);
        let checked = matches!(instruction.opcode, Ld | Ldu | St | Atom | Red | Prefetch);
        if !is_access(instruction) || !checked || !narrow {
            return None;
        }
        let addresses = match space {
            Space::Generic => "generic",
            Space::Global => "`.global`",
            _ => return None,
        };
        let message = format!("{addresses} addresses have {bits} bits, this register has fewer");
        Some((Code::InvalidAddress, message))
    }

    /// Whether the chip can access this many bits at a time.
    pub fn check_vector(&mut self, instruction: &Instruction, span: Span) -> bool {
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
