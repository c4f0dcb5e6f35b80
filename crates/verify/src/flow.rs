//! Where the values of registers come from: parameters of a kernel, and memory that pointers lead to.
//!
//! The analysis looks at copies and at sums of addresses only, in any order of execution, and follows direct calls. It
//! repeats until nothing changes; each round is linear, and the rounds are bounded.

use oriole_hir::{
    Address, AddressBase, Body, Instruction, Operand, RegisterId, Statement, VariableId, VariableKind,
    raw_index,
};
use oriole_interp::Program;
use oriole_ptx::{Opcode, Space, Type};
use std::collections::HashMap;

/// Most origins that are distinguished.
const MOST: usize = 64;
/// Most rounds.
const ROUNDS: u32 = 12;
/// How deep pointers in memory are followed.
const DEPTH: u32 = 3;

/// The origin of a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Origin {
    /// The bytes of a parameter at an offset.
    Parameter {
        /// Index of the parameter.
        index: u32,
        /// Offset in it.
        offset: u32,
    },
    /// The address of a parameter itself.
    Block {
        /// Index of the parameter.
        index: u32,
    },
    /// Memory that a pointer leads to.
    Memory {
        /// The origin of the pointer.
        of: u32,
        /// Offset that the access names.
        offset: i64,
    },
}

/// A set of origins, by their bits.
pub type Set = u64;

/// The origins in a set.
pub fn members(mut set: Set) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let next = set.trailing_zeros();
        (set != 0).then(|| {
            set &= set - 1;
            next
        })
    })
}

/// The origins of all values of the functions that a kernel reaches.
pub struct Flow<'a> {
    /// The functions: the kernel first.
    pub bodies: Vec<&'a Body>,
    /// All origins.
    pub origins: Vec<Origin>,
    depths: Vec<u32>,
    numbers: HashMap<Origin, u32>,
    functions: HashMap<&'a str, usize>,
    registers: Vec<Vec<Set>>,
    variables: HashMap<(usize, u32), Set>,
    changed: bool,
}

impl<'a> Flow<'a> {
    /// Analyses a kernel.
    pub fn of(program: &'a Program, kernel: &'a Body, name: &'a str) -> Flow<'a> {
        let mut flow = Flow {
            bodies: vec![kernel],
            origins: Vec::new(),
            depths: Vec::new(),
            numbers: HashMap::new(),
            functions: HashMap::from([(name, 0)]),
            registers: Vec::new(),
            variables: HashMap::new(),
            changed: true,
        };
        let named: HashMap<&str, &'a Body> =
            program.functions.iter().map(|function| (function.name.as_str(), &function.body)).collect();
        let mut next = 0;
        while let Some(&body) = flow.bodies.get(next) {
            for reference in body.functions.values() {
                if let Some(callee) = named.get(reference.name.as_str())
                    && !flow.functions.contains_key(reference.name.as_str())
                {
                    flow.functions.insert(&reference.name, flow.bodies.len());
                    flow.bodies.push(callee);
                }
            }
            next += 1;
        }
        flow.registers = flow.bodies.iter().map(|body| vec![0; body.registers.len()]).collect();
        for _ in 0..ROUNDS {
            if !std::mem::take(&mut flow.changed) {
                break;
            }
            for number in 0..flow.bodies.len() {
                flow.pass(number);
            }
        }
        flow
    }

    /// The origins of a register of a function.
    pub fn register(&self, function: usize, register: RegisterId) -> Set {
        self.registers[function][raw_index(register) as usize]
    }

    /// The origins of a value.
    pub fn value(&self, function: usize, operand: &Operand) -> Set {
        let mut all = 0;
        operand.for_each_register(&mut |register| all |= self.register(function, register));
        all
    }

    fn origin(&mut self, origin: Origin, depth: u32) -> Set {
        if let Some(&number) = self.numbers.get(&origin) {
            return 1 << number;
        }
        if self.origins.len() >= MOST || depth > DEPTH {
            return 0;
        }
        let number = self.origins.len() as u32;
        self.origins.push(origin);
        self.depths.push(depth);
        self.numbers.insert(origin, number);
        1 << number
    }

    fn add(&mut self, function: usize, operand: &Operand, set: Set) {
        if set == 0 {
            return;
        }
        let (registers, changed) = (&mut self.registers[function], &mut self.changed);
        operand.for_each_register(&mut |register| {
            let place = &mut registers[raw_index(register) as usize];
            *changed |= *place | set != *place;
            *place |= set;
        });
    }

    fn add_variable(&mut self, key: (usize, u32), set: Set) {
        let place = self.variables.entry(key).or_default();
        self.changed |= *place | set != *place;
        *place |= set;
    }

    fn variable(&self, function: usize, variable: VariableId) -> Set {
        self.variables.get(&(function, raw_index(variable))).copied().unwrap_or(0)
    }

    fn pass(&mut self, function: usize) {
        let body = self.bodies[function];
        if function > 0 {
            for &(variable, register) in &body.parameter_registers {
                let set = self.variable(function, variable);
                self.add(function, &Operand::Register(register), set);
            }
        }
        for statement in &body.statements {
            let Statement::Instruction(instruction) = statement else { continue };
            self.instruction(function, body, instruction);
        }
    }

    fn instruction(&mut self, function: usize, body: &'a Body, instruction: &Instruction) {
        use Opcode::*;
        let operands = &instruction.operands;
        match instruction.opcode {
            Ld | Ldu => {
                let [to, Operand::Address(address), ..] = operands.as_slice() else { return };
                let set = self.loaded(function, body, instruction, address);
                self.add(function, to, set);
            }
            St => {
                let [Operand::Address(address), value, ..] = operands.as_slice() else { return };
                if let AddressBase::Variable(variable) = address.base {
                    let set = self.value(function, value);
                    self.add_variable((function, raw_index(variable)), set);
                }
            }
            Mov => {
                let [to, from] = operands.as_slice() else { return };
                let set = match from {
                    Operand::VariableAddress(variable, 0) => self.block(function, body, *variable),
                    _ => self.value(function, from),
                };
                self.add(function, to, set);
            }
            Cvta => {
                let [to, from, ..] = operands.as_slice() else { return };
                let set = match from {
                    Operand::VariableAddress(variable, 0) => self.block(function, body, *variable),
                    _ => self.value(function, from),
                };
                self.add(function, to, set);
            }
            Selp => {
                let [to, first, second, ..] = operands.as_slice() else { return };
                let set = self.value(function, first) | self.value(function, second);
                self.add(function, to, set);
            }
            Add | Sub | And | Or | Min | Max if is_wide(instruction) => {
                let [to, first, second, ..] = operands.as_slice() else { return };
                let set = self.value(function, first) | self.value(function, second);
                self.add(function, to, set);
            }
            Mad | Fma if operands.len() >= 4 && is_wide(instruction) => {
                let set = self.value(function, &operands[3]);
                self.add(function, &operands[0], set);
            }
            Mad if operands.len() >= 4 => {
                let set = self.value(function, &operands[3]);
                self.add(function, &operands[0], set);
            }
            Call => self.call(function, body, operands),
            _ => {}
        }
    }

    fn block(&mut self, function: usize, body: &Body, variable: VariableId) -> Set {
        match body.variables[variable].kind {
            VariableKind::Parameter(index) if function == 0 => self.origin(Origin::Block { index }, 0),
            _ => 0,
        }
    }

    fn loaded(&mut self, function: usize, body: &Body, instruction: &Instruction, address: &Address) -> Set {
        match address.base {
            AddressBase::Variable(variable) => match body.variables[variable].kind {
                VariableKind::Parameter(index) if function == 0 => {
                    // A vector is taken for its first element.
                    let offset = u32::try_from(address.offset).unwrap_or(0);
                    self.origin(Origin::Parameter { index, offset }, 0)
                }
                _ => self.variable(function, variable),
            },
            AddressBase::Register(register) => {
                let set = self.register(function, register);
                if !is_pointer_space(instruction.space) && instruction.space != Some(Space::KernelParameter) {
                    return 0;
                }
                members(set).fold(0, |all, of| {
                    all | match self.origins[of as usize] {
                        Origin::Block { index } => {
                            let offset = u32::try_from(address.offset).unwrap_or(0);
                            self.origin(Origin::Parameter { index, offset }, 0)
                        }
                        _ => {
                            let depth = self.depths[of as usize] + 1;
                            self.origin(Origin::Memory { of, offset: address.offset }, depth)
                        }
                    }
                })
            }
            AddressBase::Absolute => 0,
        }
    }

    fn call(&mut self, function: usize, body: &'a Body, operands: &[Operand]) {
        let callee = operands.iter().position(|operand| matches!(operand, Operand::Function(_)));
        let Some(at) = callee else { return };
        let Operand::Function(callee) = operands[at] else { return };
        let name = body.functions[callee].name.as_str();
        let Some(&callee) = self.functions.get(name) else { return };
        let target = self.bodies[callee];
        let list = |operand: Option<&Operand>| match operand {
            Some(Operand::List(list)) => list.clone(),
            _ => Vec::new(),
        };
        let results = if at > 0 { list(operands.first()) } else { Vec::new() };
        for (index, argument) in list(operands.get(at + 1)).iter().enumerate() {
            let set = match argument {
                Operand::Variable(variable) => self.variable(function, *variable),
                value => self.value(function, value),
            };
            if let Some(variable) = target.variable_of(VariableKind::Parameter(index as u32)) {
                self.add_variable((callee, raw_index(variable)), set);
            }
        }
        for (index, result) in results.iter().enumerate() {
            let Some(from) = target.variable_of(VariableKind::Result(index as u32)) else { continue };
            let set = self.variable(callee, from);
            match result {
                Operand::Variable(variable) => self.add_variable((function, raw_index(*variable)), set),
                register => self.add(function, register, set),
            }
        }
    }
}

/// Whether an instruction computes 64 bits.
fn is_wide(instruction: &Instruction) -> bool {
    instruction.types.last().is_some_and(|ty| ty.bits() == 64 && *ty != Type::F64)
}

/// Whether an access in this space goes to memory that a pointer of a launch may name.
pub fn is_pointer_space(space: Option<Space>) -> bool {
    matches!(space, None | Some(Space::Global | Space::Generic))
}
