//! The canonical text of a body: equal text means equal body.
//!
//! For tests, for people, and as the cache key of compiled code. Registers, labels and local variables appear as
//! indices, so that renaming them changes nothing; names of the module stay.

use crate::body::raw_index;
use la_arena::Arena;
use oriole_ptx::Type;
use std::fmt::{self, Display, Formatter};

use crate::{
    AddressBase, Body, Directives, Immediate, Instruction, Operand, Parameter, Register, Signature,
    Statement, Table, VariableKind,
};

impl Display for Body {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "{}", if self.is_entry { ".entry" } else { ".func" })?;
        let (results, parameters) = (&self.results, &self.parameters);
        writeln!(out, "{}", Shown(results, parameters))?;
        write_directives(out, &self.directives)?;
        write_registers(out, &self.registers)?;
        self.write_tables(out)?;
        let mut origins = self.merged.iter().flat_map(|merged| &merged.origins);
        for statement in &self.statements {
            match statement {
                Statement::Label(label) => writeln!(out, "L{}:", raw_index(*label))?,
                Statement::Instruction(instruction) => match origins.next() {
                    Some(origin) => writeln!(out, "    {instruction} // {origin}")?,
                    None => writeln!(out, "    {instruction}")?,
                },
                Statement::Pragma(text) => writeln!(out, "    .pragma {text:?}")?,
            }
        }
        Ok(())
    }
}

impl Body {
    /// A line for each variable, function, table and prototype.
    fn write_tables(&self, out: &mut Formatter<'_>) -> fmt::Result {
        for (index, variable) in self.variables.values().enumerate() {
            write!(out, "v{index}: .{} {} size {}", variable.space.name(), variable.ty, variable.size)?;
            write!(out, " align {}", variable.align)?;
            match variable.kind {
                VariableKind::Module => writeln!(out, " = {}", variable.name)?,
                VariableKind::Body => writeln!(out)?,
                VariableKind::Parameter(number) => writeln!(out, " = parameter {number}")?,
                VariableKind::Result(number) => writeln!(out, " = result {number}")?,
            }
        }
        for (variable, register) in &self.parameter_registers {
            writeln!(out, "v{} in r{}", raw_index(*variable), raw_index(*register))?;
        }
        for (index, function) in self.functions.values().enumerate() {
            let Signature { results, parameters, noreturn } = &function.signature;
            write!(out, "f{index}: {}{}", function.name, Shown(results, parameters))?;
            writeln!(out, "{}", if *noreturn { " .noreturn" } else { "" })?;
        }
        for (index, table) in self.tables.values().enumerate() {
            let targets: Vec<String> = match table {
                Table::Labels(labels) => {
                    labels.iter().map(|label| format!("L{}", raw_index(*label))).collect()
                }
                Table::Functions(functions) => {
                    functions.iter().map(|function| format!("f{}", raw_index(*function))).collect()
                }
            };
            writeln!(out, "t{index}: {}", targets.join(", "))?;
        }
        for (index, Signature { results, parameters, noreturn }) in self.prototypes.values().enumerate() {
            write!(out, "p{index}: {}", Shown(results, parameters))?;
            writeln!(out, "{}", if *noreturn { " .noreturn" } else { "" })?;
        }
        Ok(())
    }
}

fn write_directives(out: &mut Formatter<'_>, directives: &Directives) -> fmt::Result {
    let dimensions = [
        (".maxntid", directives.maxntid),
        (".reqntid", directives.reqntid),
        (".reqnctapercluster", directives.reqnctapercluster),
    ];
    for (word, value) in dimensions {
        if let Some([x, y, z]) = value {
            writeln!(out, "{word} {x}, {y}, {z}")?;
        }
    }
    let numbers = [
        (".minnctapersm", directives.minnctapersm),
        (".maxnreg", directives.maxnreg),
        (".maxclusterrank", directives.maxclusterrank),
    ];
    for (word, value) in numbers {
        if let Some(value) = value {
            writeln!(out, "{word} {value}")?;
        }
    }
    let flags = [
        (".explicitcluster", directives.explicitcluster),
        (".blocksareclusters", directives.blocksareclusters),
        (".noreturn", directives.noreturn),
    ];
    for (word, set) in flags {
        if set {
            writeln!(out, "{word}")?;
        }
    }
    for pragma in &directives.pragmas {
        writeln!(out, ".pragma {pragma:?}")?;
    }
    Ok(())
}

/// Runs of registers of one type share a line.
fn write_registers(out: &mut Formatter<'_>, registers: &Arena<Register>) -> fmt::Result {
    let mut start = 0;
    let types: Vec<Type> = registers.values().map(|register| register.ty).collect();
    for run in types.chunk_by(|left, right| left == right) {
        let ty = run[0];
        match run.len() {
            1 => writeln!(out, "r{start}: {ty}")?,
            count => writeln!(out, "r{start}-r{}: {ty}", start + count - 1)?,
        }
        start += run.len();
    }
    Ok(())
}

/// `(results) (parameters)`
struct Shown<'a>(&'a [Parameter], &'a [Parameter]);

impl Display for Shown<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        for list in [self.0, self.1] {
            write!(out, " (")?;
            for (index, parameter) in list.iter().enumerate() {
                if index > 0 {
                    write!(out, ", ")?;
                }
                write!(out, "{}{}", if parameter.in_register { ".reg " } else { "" }, parameter.ty)?;
                if let Some(length) = parameter.length {
                    write!(out, "[{length}]")?;
                }
                write!(out, " at {}", parameter.offset)?;
                if parameter.align != parameter.ty.bytes() {
                    write!(out, " align {}", parameter.align)?;
                }
                if let Some((space, align)) = parameter.pointer {
                    let space = space.map_or("", |space| space.name());
                    write!(out, " ptr {space} {align}")?;
                }
            }
            write!(out, ")")?;
        }
        Ok(())
    }
}

impl Display for Instruction {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        if let Some((register, negated)) = self.guard {
            write!(out, "@{}r{} ", if negated { "!" } else { "" }, raw_index(register))?;
        }
        write!(out, "{}", self.opcode.name())?;
        for modifier in self.modifiers.iter() {
            write!(out, ".{}", modifier.name())?;
        }
        for space in [self.space, self.second_space].into_iter().flatten() {
            let name = space.name();
            if !name.is_empty() {
                write!(out, ".{name}")?;
            }
        }
        if self.vector > 1 {
            write!(out, ".v{}", self.vector)?;
        }
        for ty in &self.types {
            write!(out, "{ty}")?;
        }
        for (index, operand) in self.operands.iter().enumerate() {
            write!(out, "{}{operand}", if index == 0 { " " } else { ", " })?;
        }
        Ok(())
    }
}

fn list(out: &mut Formatter<'_>, operands: &[Operand]) -> fmt::Result {
    for (index, operand) in operands.iter().enumerate() {
        write!(out, "{}{operand}", if index == 0 { "" } else { ", " })?;
    }
    Ok(())
}

impl Display for Operand {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Operand::Register(register) => write!(out, "r{}", raw_index(*register)),
            Operand::NotRegister(register) => write!(out, "!r{}", raw_index(*register)),
            Operand::Immediate(immediate) => write!(out, "{immediate}"),
            Operand::Vector(elements) => {
                write!(out, "{{")?;
                list(out, elements)?;
                write!(out, "}}")
            }
            Operand::Pair(first, second) => write!(out, "{first}|{second}"),
            Operand::Sink => write!(out, "_"),
            Operand::Address(address) => {
                write!(out, "[")?;
                match address.base {
                    AddressBase::Register(register) => {
                        write!(out, "r{}{:+}", raw_index(register), address.offset)?
                    }
                    AddressBase::Variable(variable) => {
                        write!(out, "v{}{:+}", raw_index(variable), address.offset)?
                    }
                    AddressBase::Absolute => write!(out, "{}", address.offset)?,
                }
                write!(out, "]")
            }
            Operand::VariableAddress(variable, offset) => write!(out, "v{}{offset:+}", raw_index(*variable)),
            Operand::FunctionAddress(function) => write!(out, "&f{}", raw_index(*function)),
            Operand::Label(label) => write!(out, "L{}", raw_index(*label)),
            Operand::Function(function) => write!(out, "f{}", raw_index(*function)),
            Operand::Table(table) => write!(out, "t{}", raw_index(*table)),
            Operand::Prototype(prototype) => write!(out, "p{}", raw_index(*prototype)),
            Operand::List(operands) => {
                write!(out, "(")?;
                list(out, operands)?;
                write!(out, ")")
            }
            Operand::Variable(variable) => write!(out, "v{}", raw_index(*variable)),
            Operand::Special(special) => write!(out, "{}", special.name()),
            Operand::Selection { register, selector, negated } => {
                let sign = if *negated { "-" } else { "" };
                let dot = if selector.is_empty() { "" } else { "." };
                write!(out, "{sign}r{}{dot}{selector}", raw_index(*register))
            }
        }
    }
}

impl Display for Immediate {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Immediate::Integer(value) => write!(out, "{value}"),
            Immediate::F32(bits) => write!(out, "0f{bits:08x}"),
            Immediate::F64(bits) => write!(out, "0d{bits:016x}"),
        }
    }
}
