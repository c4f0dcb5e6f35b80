//! Inlining: a call becomes the statements of the function that it calls, with registers, labels and variables of their own.
//!
//! It is done on bodies, before anything depends on a chip: the variables that pass arguments and results are those that
//! the function reads and writes, so that no value travels by the calling convention, whatever its size. Which functions
//! may be inlined at all, because of recursion and linking, is the caller's question; which calls are worth it is decided
//! here. No text and no name lookup may enter.

use la_arena::{Arena, Idx};
use oriole_ptx::{Modifiers, Opcode, Space};
use smallvec::SmallVec;

use crate::body::{from_raw_index, raw_index};
use crate::{
    Address, AddressBase, Body, FunctionId, Instruction, LabelId, Merged, Operand, Parameter, Statement,
    Table, VariableId, VariableKind,
};

/// A function of at most this many instructions is inlined wherever it is called: passing its arguments takes as many.
const SMALL: usize = 30;

/// The most instructions that all calls of one function in a body may become.
const MOST_OF_ONE: usize = 400;

/// The most instructions of a function that a body calls at one place.
const MOST_AT_ONE_PLACE: usize = 1_500;

/// The most instructions that are added to a body.
const MOST_ADDED: usize = 4_000;

/// The most bytes of local memory of a function: each inlined call has its own.
const MOST_LOCAL: u64 = 512;

/// The body with calls inlined; `None` if it has none that should be. `callee` gives the body of a function with calls
/// already inlined, if it may be inlined at all: it is in this module, and does not call itself.
pub fn inline<'c>(body: &Body, callee: impl Fn(&str) -> Option<&'c Body>) -> Option<Body> {
    let mut sites: Vec<usize> = vec![0; body.functions.len()];
    for statement in &body.statements {
        if let Statement::Instruction(instruction) = statement
            && let Some(site) = Site::of(body, instruction)
        {
            sites[raw_index(site.function) as usize] += 1;
        }
    }
    if sites.iter().all(|&count| count == 0) {
        return None;
    }
    let mut added = 0;
    let mut callees: Vec<Option<&Body>> = Vec::with_capacity(sites.len());
    for ((_, function), &count) in body.functions.iter().zip(&sites) {
        let found = Some(function).filter(|function| count > 0 && !function.external && !function.is_entry);
        let found = found.and_then(|function| callee(&function.name)).filter(|callee| can_be_inlined(callee));
        let found = found.filter(|callee| {
            let (size, all) = (instructions(callee), instructions(callee).saturating_mul(count));
            let wanted = size <= SMALL || all <= MOST_OF_ONE || count == 1 && size <= MOST_AT_ONE_PLACE;
            let inlined = wanted && added + all <= MOST_ADDED;
            added += if inlined { all } else { 0 };
            inlined
        });
        callees.push(found);
    }
    if callees.iter().all(Option::is_none) {
        return None;
    }
    let mut merge = Merge::new(body);
    for statement in &body.statements {
        match statement {
            Statement::Instruction(instruction) => {
                let site = Site::of(body, instruction);
                let callee = site.as_ref().and_then(|site| callees[raw_index(site.function) as usize]);
                match site.zip(callee) {
                    Some((site, callee)) if site.fits(body, callee) => merge.inline(callee, &site),
                    _ => merge.push(Statement::Instruction(instruction.clone())),
                }
                merge.ordinal += 1;
            }
            other => merge.push(other.clone()),
        }
    }
    Some(merge.finish())
}

fn instructions(body: &Body) -> usize {
    body.statements.iter().filter(|statement| matches!(statement, Statement::Instruction(_))).count()
}

/// True if nothing in the body depends on being a function of its own, and the back end compiles it: otherwise the error names
/// its own place.
fn can_be_inlined(callee: &Body) -> bool {
    let plain = |parameter: &Parameter| !parameter.in_register && !parameter.is_open();
    let local: u64 = callee
        .variables
        .values()
        .filter(|variable| variable.kind == VariableKind::Body && variable.space == Space::Local)
        .map(|variable| variable.size)
        .fold(0, u64::saturating_add);
    // Each function has its own instance of the shared variables that it declares.
    let own_shared = callee
        .variables
        .values()
        .any(|variable| variable.kind == VariableKind::Body && variable.space == Space::Shared);
    !callee.is_entry
        && !callee.directives.noreturn
        && callee.directives.pragmas.is_empty()
        && callee.parameters.iter().chain(&callee.results).all(plain)
        && local <= MOST_LOCAL
        && !own_shared
        && callee.statements.iter().all(|statement| match statement {
            Statement::Instruction(instruction) => moves_into_a_caller(callee, instruction),
            _ => true,
        })
}

/// True if the instruction means the same in a caller.
fn moves_into_a_caller(callee: &Body, instruction: &Instruction) -> bool {
    let apart = matches!(
        instruction.opcode,
        Opcode::Alloca | Opcode::Stacksave | Opcode::Stackrestore | Opcode::Setmaxnreg
    );
    // The variables of a caller's arguments have no address.
    let takes_address = instruction.operands.iter().any(|operand| match operand {
        Operand::VariableAddress(variable, _) => is_passed(callee, *variable),
        _ => false,
    });
    instruction.compiled && !apart && !takes_address
}

/// True for a parameter or a result.
fn is_passed(body: &Body, variable: VariableId) -> bool {
    matches!(body.variables[variable].kind, VariableKind::Parameter(_) | VariableKind::Result(_))
}

/// A call that always happens, with its arguments and results in variables of their own.
struct Site {
    function: FunctionId,
    arguments: Vec<VariableId>,
    results: Vec<VariableId>,
}

impl Site {
    fn of(body: &Body, instruction: &Instruction) -> Option<Site> {
        if instruction.opcode != Opcode::Call || instruction.guard.is_some() {
            return None;
        }
        let at = instruction.operands.iter().position(|operand| matches!(operand, Operand::Function(_)))?;
        let &Operand::Function(function) = &instruction.operands[at] else { return None };
        let results = if at > 0 { variables(body, instruction.operands.first())? } else { Vec::new() };
        let arguments = variables(body, instruction.operands.get(at + 1))?;
        let mut all: Vec<VariableId> = arguments.iter().chain(&results).copied().collect();
        all.sort_unstable_by_key(|&variable| raw_index(variable));
        let distinct = all.windows(2).all(|pair| pair[0] != pair[1]);
        distinct.then_some(Site { function, arguments, results })
    }

    /// True if the variables are those of the callee in all but their names.
    fn fits(&self, body: &Body, callee: &Body) -> bool {
        let alike = |passed: &[VariableId], declared: &[Parameter]| {
            passed.len() == declared.len()
                && passed.iter().zip(declared).all(|(&variable, parameter)| {
                    let variable = &body.variables[variable];
                    variable.size == parameter.size() && variable.align >= parameter.align
                })
        };
        alike(&self.arguments, &callee.parameters) && alike(&self.results, &callee.results)
    }
}

/// The variables of a list of arguments or results; `None` if it has anything else.
fn variables(body: &Body, list: Option<&Operand>) -> Option<Vec<VariableId>> {
    let list = match list {
        Some(Operand::List(list)) => list.as_slice(),
        _ => &[],
    };
    let own = |operand: &Operand| match *operand {
        Operand::Variable(variable) if body.variables[variable].kind == VariableKind::Body => Some(variable),
        _ => None,
    };
    list.iter().map(own).collect()
}

/// A body that is being put together.
struct Merge {
    body: Body,
    merged: Merged,
    /// The ordinal of the instruction of the text.
    ordinal: u32,
}

impl Merge {
    fn new(body: &Body) -> Merge {
        let merged = Merged { origins: Vec::new(), registers: body.registers.len() as u32 };
        let body = Body { statements: Vec::with_capacity(body.statements.len()), ..body.clone() };
        Merge { body, merged, ordinal: 0 }
    }

    fn push(&mut self, statement: Statement) {
        if matches!(statement, Statement::Instruction(_)) {
            self.merged.origins.push(self.ordinal);
        }
        self.body.statements.push(statement);
    }

    fn finish(mut self) -> Body {
        self.body.merged = Some(Box::new(self.merged));
        self.body
    }

    /// Adds the statements of a callee; where it returns, control goes on after them.
    fn inline(&mut self, callee: &Body, site: &Site) {
        let renames = self.renames(callee, site);
        for statement in &callee.statements {
            let renamed = match statement {
                Statement::Label(label) => Statement::Label(renames.label(*label)),
                Statement::Instruction(instruction) => {
                    Statement::Instruction(renames.instruction(instruction))
                }
                Statement::Pragma(text) => Statement::Pragma(text.clone()),
            };
            self.push(renamed);
        }
        self.push(Statement::Label(renames.end));
    }

    /// The names of a callee in this body.
    fn renames(&mut self, callee: &Body, site: &Site) -> Renames {
        let body = &mut self.body;
        let registers = body.registers.len() as u32;
        for register in callee.registers.values() {
            body.registers.alloc(register.clone());
        }
        let labels = body.labels.len() as u32;
        for label in callee.labels.values() {
            body.labels.alloc(*label);
        }
        let end = body.labels.alloc(crate::body::Label);
        let variables = callee.variables.values().map(|variable| match variable.kind {
            VariableKind::Parameter(index) => site.arguments[index as usize],
            VariableKind::Result(index) => site.results[index as usize],
            VariableKind::Body => body.variables.alloc(variable.clone()),
            VariableKind::Module => known(&mut body.variables, variable),
        });
        let variables = variables.collect();
        let functions = callee.functions.values().map(|function| known(&mut body.functions, function));
        let functions = functions.collect();
        let prototypes = body.prototypes.len() as u32;
        for prototype in callee.prototypes.values() {
            body.prototypes.alloc(prototype.clone());
        }
        let tables = body.tables.len() as u32;
        let renames = Renames { registers, labels, variables, functions, prototypes, tables, end };
        for table in callee.tables.values() {
            body.tables.alloc(match table {
                Table::Labels(list) => {
                    Table::Labels(list.iter().map(|&label| renames.label(label)).collect())
                }
                Table::Functions(list) => {
                    Table::Functions(list.iter().map(|&function| renames.function(function)).collect())
                }
            });
        }
        body.independent_samplers |= callee.independent_samplers;
        renames
    }
}

/// The element that is equal to this one; added if there is none.
fn known<T: Clone + PartialEq>(arena: &mut Arena<T>, wanted: &T) -> Idx<T> {
    let known = arena.iter().find(|(_, element)| *element == wanted).map(|(id, _)| id);
    known.unwrap_or_else(|| arena.alloc(wanted.clone()))
}

/// The names of a callee in the body that it is inlined into: numbers to add to, or the new name of each.
struct Renames {
    registers: u32,
    labels: u32,
    prototypes: u32,
    tables: u32,
    variables: Vec<VariableId>,
    functions: Vec<FunctionId>,
    /// The label after the inlined statements.
    end: LabelId,
}

impl Renames {
    fn label(&self, label: LabelId) -> LabelId {
        from_raw_index(self.labels + raw_index(label))
    }

    fn function(&self, function: FunctionId) -> FunctionId {
        self.functions[raw_index(function) as usize]
    }

    fn variable(&self, variable: VariableId) -> VariableId {
        self.variables[raw_index(variable) as usize]
    }

    fn register(&self, register: crate::RegisterId) -> crate::RegisterId {
        from_raw_index(self.registers + raw_index(register))
    }

    /// The instruction in the caller: a return is a branch.
    fn instruction(&self, instruction: &Instruction) -> Instruction {
        let guard = instruction.guard.map(|(register, negated)| (self.register(register), negated));
        if instruction.opcode == Opcode::Ret {
            return Instruction {
                guard,
                opcode: Opcode::Bra,
                modifiers: Modifiers::default(),
                types: SmallVec::new(),
                operands: vec![Operand::Label(self.end)],
                ..instruction.clone()
            };
        }
        let operands = instruction.operands.iter().map(|operand| self.operand(operand)).collect();
        Instruction { guard, operands, ..instruction.clone() }
    }

    fn operand(&self, operand: &Operand) -> Operand {
        let all = |list: &[Operand]| list.iter().map(|operand| self.operand(operand)).collect();
        match operand {
            Operand::Register(register) => Operand::Register(self.register(*register)),
            Operand::NotRegister(register) => Operand::NotRegister(self.register(*register)),
            Operand::Vector(list) => Operand::Vector(all(list)),
            Operand::List(list) => Operand::List(all(list)),
            Operand::Pair(first, second) => {
                Operand::Pair(Box::new(self.operand(first)), Box::new(self.operand(second)))
            }
            Operand::Address(Address { base, offset }) => {
                let base = match base {
                    AddressBase::Register(register) => AddressBase::Register(self.register(*register)),
                    AddressBase::Variable(variable) => AddressBase::Variable(self.variable(*variable)),
                    AddressBase::Absolute => AddressBase::Absolute,
                };
                Operand::Address(Address { base, offset: *offset })
            }
            Operand::VariableAddress(variable, offset) => {
                Operand::VariableAddress(self.variable(*variable), *offset)
            }
            Operand::Variable(variable) => Operand::Variable(self.variable(*variable)),
            Operand::FunctionAddress(function) => Operand::FunctionAddress(self.function(*function)),
            Operand::Function(function) => Operand::Function(self.function(*function)),
            Operand::Label(label) => Operand::Label(self.label(*label)),
            Operand::Table(table) => Operand::Table(from_raw_index(self.tables + raw_index(*table))),
            Operand::Prototype(prototype) => {
                Operand::Prototype(from_raw_index(self.prototypes + raw_index(*prototype)))
            }
            Operand::Selection { register, selector, negated } => Operand::Selection {
                register: self.register(*register),
                selector: selector.clone(),
                negated: *negated,
            },
            Operand::Immediate(_) | Operand::Sink | Operand::Special(_) => operand.clone(),
        }
    }
}
