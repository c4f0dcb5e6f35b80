//! From resolved bodies to steps: reachability, the layout of memory, and one step for each instruction.
//!
//! Names, types, modifiers and operand kinds are resolved once and not at every execution. No instruction is executed
//! here.

mod arithmetic;
mod bulk;
mod control;
mod conversion;
mod layout;
mod matrix;
mod memory;
mod modifiers;
mod object;
mod operand;
mod semantics;
mod tensor_memory;
mod texture;

use std::collections::BTreeMap;

use la_arena::ArenaMap;
use oriole_hir::{Body, FunctionId, Instruction, LabelId, Operand, RegisterId, Statement, table_of};
use oriole_ptx::{Opcode, Type, Word};

use crate::fault::{Fault, FaultKind};
use crate::lane::LOCAL_LIMIT;
use crate::memory::Memory;
use crate::program::Program;
use crate::step::{Action, Code, Formal, FunctionCode, Order, Semantics, Source, Step};

use layout::{Frame, Layout};
pub use layout::{Kept, arguments};

/// A kernel with all functions that it reaches, and its initial memory.
pub struct Decoded {
    /// The steps.
    pub code: Code,
    /// Global and constant memory with the module's variables in place, and the parameter block.
    pub memory: Memory,
    /// Bytes of shared memory of a block, the part below [`crate::memory::SHARED_START`] included.
    pub shared_bytes: u32,
    /// Bytes of it that are dynamic.
    pub dynamic_shared: u32,
    /// Index of the kernel in `code.functions`.
    pub entry: u32,
    /// Whether any step uses shared memory asynchronously.
    pub has_copies: bool,
    /// Names and addresses of the variables in global memory.
    pub variables: Vec<(String, u64)>,
    /// Names, addresses and bytes of the variables in shared memory.
    pub shared: Vec<(String, u32, u32)>,
}

fn bad(reason: impl std::fmt::Display) -> Fault {
    Fault::new(FaultKind::BadLaunch, reason.to_string())
}

/// Decodes a kernel.
pub fn decode(program: &Program, kernel: &str, dynamic_shared: u32) -> Result<Decoded, Fault> {
    decode_for(program, kernel, dynamic_shared, false)
}

/// Decodes a kernel; for a run that is followed, steps have the registers that they read.
pub fn decode_for(
    program: &Program,
    kernel: &str,
    dynamic_shared: u32,
    followed: bool,
) -> Result<Decoded, Fault> {
    let entry = program
        .function(kernel)
        .filter(|function| function.body.is_entry)
        .ok_or_else(|| bad(format!("the module has no kernel `{kernel}`")))?;
    let names = layout::reachable(program, &entry.name);
    let mut memory = Memory::default();
    let layout = Layout::new(program, &names, dynamic_shared, &mut memory).map_err(bad)?;
    let mut code = Code::default();
    let mut spellings = Spellings::default();
    for (index, name) in names.iter().enumerate() {
        let Some(function) = program.function(name) else {
            code.functions.push(external(program, name));
            continue;
        };
        let start = code.steps.len() as u32;
        let mut decoder = FunctionDecoder::new(&function.body, index, start, &layout, &names);
        if decoder.frame.bytes > LOCAL_LIMIT {
            return Err(bad(format!("`{name}` has {} bytes of local variables", decoder.frame.bytes)));
        }
        code.functions.push(decoder.summary(name.clone()).map_err(bad)?);
        decoder.followed = followed;
        decoder.decode(&mut spellings, &mut code.steps);
    }
    let has_copies = code.steps.iter().any(|step| step.action.is_asynchronous());
    let shared_bytes = layout.shared_end;
    let variables = layout.global_variables();
    let shared = layout.shared;
    Ok(Decoded { code, memory, shared_bytes, dynamic_shared, entry: 0, has_copies, variables, shared })
}

/// The instructions that a kernel reaches and that are not supported: function, ordinal, reason.
///
/// # Errors
/// A fault if the module has no such kernel or its variables cannot be laid out.
pub fn unsupported(program: &Program, kernel: &str) -> Result<Vec<(String, u32, String)>, Fault> {
    let decoded = decode(program, kernel, 0)?;
    let code = &decoded.code;
    let missing = code.steps.iter().filter_map(|step| match &step.action {
        Action::NotSupported(reason) => {
            let function = &code.functions[step.function as usize];
            Some((function.name.clone(), step.ordinal, reason.clone()))
        }
        _ => None,
    });
    Ok(missing.collect())
}

/// A function that is only declared: its signature, from a body that names it.
fn external(program: &Program, name: &str) -> FunctionCode {
    let signature = program
        .functions
        .iter()
        .flat_map(|function| function.body.functions.values())
        .find(|reference| reference.name == name)
        .map(|reference| reference.signature.clone())
        .unwrap_or_default();
    let mut offset = 0;
    let mut place = |parameters: &[oriole_hir::Parameter]| {
        let mut formals = Vec::new();
        for parameter in parameters {
            let size = parameter.size() as u32;
            formals.push(Formal::Frame(offset, size));
            offset += size.next_multiple_of(16);
        }
        formals
    };
    let results = place(&signature.results);
    let parameters = place(&signature.parameters);
    FunctionCode {
        name: name.to_string(),
        start: None,
        registers: 0,
        frame_bytes: offset,
        parameters,
        results,
    }
}

/// Assigns indices to the spellings of collective instructions.
#[derive(Default)]
struct Spellings(BTreeMap<String, u32>);

impl Spellings {
    fn number(&mut self, spelling: String) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry(spelling).or_insert(next)
    }
}

/// Decodes one function.
struct FunctionDecoder<'a> {
    body: &'a Body,
    function: usize,
    start: u32,
    layout: &'a Layout,
    /// Index in `Code::functions` of each function that the body names.
    functions: ArenaMap<FunctionId, u32>,
    /// First slot of each register.
    slots: ArenaMap<RegisterId, u32>,
    /// Slots of a frame, including one for dropped results.
    slot_count: u32,
    frame: Frame,
    /// Step of each label.
    labels: ArenaMap<LabelId, u32>,
    /// Steps have the registers that they read.
    followed: bool,
}

/// Why an instruction has no meaning here. "It" is the instruction.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
enum Unsupported {
    /// A form that no table of this interpreter has, in words.
    #[error("{0}")]
    Form(&'static str),
    /// An operand is missing; they count from 1.
    #[error("it has no operand {0}")]
    NoOperand(usize),
    /// An operand that may not be where it is.
    #[error("operand {operand} {wrong}")]
    Operand {
        /// The operand.
        operand: String,
        /// The rule that it breaks.
        wrong: &'static str,
    },
    /// A variable outside of all memories.
    #[error("variable `{0}` has no address")]
    NoAddress(String),
    /// A parameter that nothing names; they count from 1.
    #[error("parameter {0} has no variable")]
    NoVariable(usize),
    /// A parameter that is in no frame; they count from 1.
    #[error("parameter {0} of a function has no place")]
    NoPlace(usize),
    /// Factors of a type that no matrix multiply takes.
    #[error("its factors have the type {0}")]
    Factors(&'static str),
}

impl Unsupported {
    fn operand(operand: &Operand, wrong: &'static str) -> Unsupported {
        Unsupported::Operand { operand: format!("{operand:?}"), wrong }
    }
}

impl From<&'static str> for Unsupported {
    fn from(form: &'static str) -> Unsupported {
        Unsupported::Form(form)
    }
}

/// The result of decoding a part of an instruction.
type Decode<T> = Result<T, Unsupported>;

impl<'a> FunctionDecoder<'a> {
    fn new(body: &'a Body, function: usize, start: u32, layout: &'a Layout, names: &[String]) -> Self {
        let mut slots = ArenaMap::with_capacity(body.registers.len());
        let mut slot_count = 1; // Slot 0 takes the results that are dropped.
        for (id, register) in body.registers.iter() {
            slots.insert(id, slot_count);
            slot_count += if register.ty == Type::B128 { 2 } else { 1 };
        }
        let functions = body
            .functions
            .iter()
            .map(|(id, reference)| {
                (id, names.iter().position(|name| *name == reference.name).unwrap_or(0) as u32)
            })
            .collect();
        let mut labels: ArenaMap<LabelId, u32> = table_of(&body.labels, start);
        let mut step = start;
        for statement in &body.statements {
            match statement {
                Statement::Label(label) => labels[*label] = step,
                Statement::Instruction(_) => step += 1,
                _ => {}
            }
        }
        let frame = Frame::new(body);
        FunctionDecoder {
            body,
            function,
            start,
            layout,
            functions,
            slots,
            slot_count,
            frame,
            labels,
            followed: false,
        }
    }

    /// The data that calls need.
    fn summary(&self, name: String) -> Decode<FunctionCode> {
        let (results, parameters) = if self.body.is_entry {
            (Vec::new(), Vec::new())
        } else {
            (self.formals(&self.body.results, true)?, self.formals(&self.body.parameters, false)?)
        };
        Ok(FunctionCode {
            name,
            start: Some(self.start),
            registers: self.slot_count,
            frame_bytes: self.frame.bytes,
            parameters,
            results,
        })
    }

    /// A step for each instruction, and a return after the last.
    fn decode(&mut self, spellings: &mut Spellings, steps: &mut Vec<Step>) {
        let mut ordinal = 0;
        let is_group = |statement: &Statement| matches!(statement, Statement::Instruction(i) if i.opcode == Opcode::Wgmma);
        let added = crate::loose::added(self.body);
        let watched = self.body.statements.iter().any(is_group);
        for statement in &self.body.statements {
            let Statement::Instruction(instruction) = statement else { continue };
            let guard = instruction.guard.map(|(register, negated)| (self.slots[register], negated));
            let action = self.instruction(instruction, spellings).unwrap_or_else(|reason| {
                Action::NotSupported(format!("{}: {reason}", spelling(instruction)))
            });
            let touched = if watched { self.touched(instruction) } else { Box::default() };
            let tells = tells(instruction);
            let written = usize::from(instruction.destinations).min(instruction.operands.len());
            let loose = crate::loose::of(instruction, &added);
            steps.push(Step {
                ordinal,
                function: self.function as u32,
                guard,
                action,
                touched,
                tells,
                semantics: semantics::semantics(instruction),
                reads: self.named(&instruction.operands[written..]),
                writes: self.named(&instruction.operands[..written]),
                loose,
            });
            ordinal += 1;
        }
        let (function, touched) = (self.function as u32, Box::default());
        steps.push(Step {
            ordinal,
            function,
            guard: None,
            action: Action::Return,
            touched,
            tells: false,
            semantics: Semantics::default(),
            reads: Box::default(),
            writes: Box::default(),
            loose: None,
        });
    }

    /// The registers that an instruction names.
    fn touched(&self, instruction: &Instruction) -> Box<[u32]> {
        let mut slots = Vec::new();
        for operand in &instruction.operands {
            operand.for_each_register(&mut |register| slots.push(self.slots[register]));
        }
        slots.into()
    }

    /// The slots of the registers of operands, if the run is followed.
    fn named(&self, operands: &[Operand]) -> Box<[u32]> {
        let mut slots = Vec::new();
        for operand in operands.iter().filter(|_| self.followed) {
            operand.for_each_register(&mut |register: RegisterId| {
                let first = self.slots[register];
                let wide = self.body.registers[register].ty == Type::B128;
                slots.extend(first..=first + u32::from(wide));
            });
        }
        slots.sort_unstable();
        slots.dedup();
        slots.into()
    }

    fn instruction(&self, instruction: &Instruction, spellings: &mut Spellings) -> Decode<Action> {
        use Opcode::*;
        match instruction.opcode {
            Mov => match self.handle(instruction)? {
                Some(handle) => Ok(handle),
                None => self.move_value(instruction),
            },
            Ld | Ldu => self.load(instruction),
            St if instruction.modifiers.has(Word::Bulk) => Ok(Action::Fill {
                to: self.location(instruction, 0, instruction.space)?,
                size: self.source_at(instruction, 1, Type::U64)?,
            }),
            Clusterlaunchcontrol => self.cluster_control(instruction),
            St => self.store(instruction),
            Atom | Red => self.atomic(instruction),
            Cp if instruction.modifiers.has(oriole_ptx::Word::Bulk) => self.bulk(instruction),
            // There is one device, and so one copy: its reduction is itself.
            Multimem if instruction.modifiers.has(Word::LdReduce) => self.load(instruction),
            Multimem if instruction.modifiers.has(Word::Cp) => self.bulk(instruction),
            Multimem if instruction.modifiers.has(Word::Red) => self.atomic(instruction),
            Multimem => self.store(instruction),
            Cp => self.copy(instruction),
            Mbarrier => self.object(instruction),
            Tensormap => self.tensor_map(instruction),
            Createpolicy => self.cache_policy(instruction),
            Cvta => self.convert_address(instruction),
            Isspacep => self.is_space(instruction),
            Mapa | Getctarank => self.cluster_address(instruction),
            Cvt => self.convert(instruction),
            Bra | Brx | Call | Ret | Exit | Trap | Bar | Barrier | Activemask | Alloca | Stacksave
            | Stackrestore => self.control(instruction, spellings),
            Shfl | Vote | Match | Redux | Elect => self.collective(instruction, spellings),
            Mma | Wmma | Ldmatrix | Stmatrix | Movmatrix | Wgmma => self.matrix(instruction, spellings),
            Tcgen05 => self.tensor_memory(instruction, spellings),
            Tex | Tld4 | Txq | Suq | Istypep | Suld | Sust | Sured => self.texture(instruction),
            Fence | Membar => Ok(Action::Order(fence(instruction))),
            Prefetch | Prefetchu | Nanosleep | Pmevent | Applypriority | Discard | Griddepcontrol
            | Setmaxnreg | Brkpt => Ok(Action::Nothing),
            _ => self.arithmetic(instruction),
        }
    }
}

/// The ordering of a fence.
fn fence(instruction: &Instruction) -> Order {
    let has = |word| instruction.modifiers.has(word);
    let between = has(Word::Async) || has(Word::AsyncGeneric);
    if has(Word::Proxy) && between { Order::BetweenProxies } else { Order::ThroughMemory }
}

/// Whether an access may synchronize with other threads: it is atomic, or it has a scope.
fn tells(instruction: &Instruction) -> bool {
    let has = |word| instruction.modifiers.has(word);
    match instruction.opcode {
        _ if has(Word::MbarrierCompleteTxBytes) || has(Word::Bulk) => false,
        Opcode::Atom | Opcode::Red | Opcode::Multimem => true,
        Opcode::Ld | Opcode::St => {
            use Word::*;
            [Relaxed, Acquire, Release, AcqRel, Volatile, Mmio].into_iter().any(has)
        }
        _ => false,
    }
}

/// The instruction word with all its suffixes, for messages and to distinguish collective instructions.
fn spelling(instruction: &Instruction) -> String {
    let mut text = instruction.opcode.name().to_string();
    for modifier in instruction.modifiers.iter() {
        text.push('.');
        text.push_str(modifier.name());
    }
    for ty in &instruction.types {
        text.push_str(&format!(".{ty:?}").to_lowercase());
    }
    text
}

/// No operand.
const NONE: Source = Source::Immediate(0);
