//! How a kernel uses its parameters: which are pointers, which numbers, and the meaning of the bytes that
//! pointers lead to.

use crate::data::Kind;
use crate::flow::{Flow, Origin, Set, is_pointer_space, members};
use oriole_hir::{AddressBase, Body, Immediate, Instruction, Operand, Statement};
use oriole_interp::Program;
use oriole_ptx::{Opcode, Space, SpecialRegister, Type, Word};
use std::collections::BTreeSet;

/// A value that comes from a launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Slot {
    /// Where it is.
    pub origin: Origin,
    /// It is an address of global memory.
    pub pointer: bool,
    /// Bytes of the widest element that is read of it, or of its target.
    pub bytes: u32,
    /// Its meaning, or that of its target if it is a pointer.
    pub kind: Kind,
    /// For a pointer, whether the memory it points to has pointers.
    pub behind: bool,
    /// It is added to other addresses, and may be the pointer of them.
    pub maybe: bool,
}

/// How a kernel uses its launch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Usage {
    /// The values, in the order in which they were found.
    pub slots: Vec<Slot>,
    /// Axes of the block, and of the grid, that the kernel asks for.
    pub thread_axes: [bool; 3],
    /// Axes of the grid.
    pub block_axes: [bool; 3],
    /// It has dynamic shared memory.
    pub dynamic_shared: bool,
    /// Threads that act together: 1, those of a warp, or those of a warp group.
    pub together: u32,
    /// Threads that a barrier counts.
    pub counted: u32,
    /// It loads matrices from addresses that must be aligned.
    pub matrices: bool,
    /// It multiplies sparse matrices, of which some bits must fit together.
    pub sparse: bool,
}

/// Votes for the meaning of a value.
#[derive(Clone, Copy, Default)]
struct Votes {
    kinds: [u32; 5],
    bytes: u32,
}

const KINDS: [Kind; 5] = [Kind::Integer, Kind::F16, Kind::BF16, Kind::F32, Kind::F64];

impl Votes {
    fn vote(&mut self, ty: Type) {
        if let Some(kind) = kind_of(ty) {
            let at = KINDS.iter().position(|known| *known == kind).unwrap_or(0);
            self.kinds[at] += 1;
        }
    }

    fn kind(&self) -> Kind {
        let most = (0..KINDS.len()).max_by_key(|&at| (self.kinds[at], at)).unwrap_or(0);
        if self.kinds[most] == 0 { Kind::Integer } else { KINDS[most] }
    }
}

/// The meaning of values of a type; of plain bits nothing is known.
fn kind_of(ty: Type) -> Option<Kind> {
    Some(match ty {
        Type::F16 | Type::F16x2 => Kind::F16,
        Type::BF16 | Type::BF16x2 => Kind::BF16,
        Type::F32 | Type::F32x2 | Type::TF32 => Kind::F32,
        Type::F64 => Kind::F64,
        ty if ty.is_bits() || ty == Type::Pred => return None,
        ty if ty.is_integer() => Kind::Integer,
        _ => return None,
    })
}

/// Types of instructions that have 8-bit floats and narrower: any bits do.
fn is_copy(opcode: Opcode) -> bool {
    use Opcode::*;
    matches!(opcode, Mov | Ld | Ldu | St | Cvta | Selp | Call | Shfl | Prmt | And | Or | Xor | Not)
}

impl Usage {
    /// The use of a kernel's parameters.
    ///
    /// # Errors
    /// Why no launch can be made.
    pub fn of(program: &Program, entry: &str) -> Result<Usage, String> {
        let kernel = program.function(entry).filter(|function| function.body.is_entry);
        let kernel = &kernel.ok_or_else(|| format!("the PTX has no kernel `{entry}`"))?.body;
        if kernel.parameters.iter().any(|parameter| parameter.ty.is_opaque()) {
            return Err("a parameter is a texture, a sampler or a surface".to_owned());
        }
        let flow = Flow::of(program, kernel, entry);
        let mut usage = Usage { together: 1, ..Usage::default() };
        for body in &flow.bodies {
            usage.look(body)?;
        }
        usage.slots = slots(&flow, kernel);
        Ok(usage)
    }

    /// Facts of a body that need no flow.
    fn look(&mut self, body: &Body) -> Result<(), String> {
        for (_, variable) in body.variables.iter() {
            let shared = matches!(variable.space, Space::Shared | Space::SharedCluster);
            self.dynamic_shared |= shared && variable.size == 0;
            if variable.ty.is_opaque() {
                return Err("it uses a texture, a sampler or a surface".to_owned());
            }
        }
        for statement in &body.statements {
            let Statement::Instruction(instruction) = statement else { continue };
            let has = |word| instruction.modifiers.has(word);
            if has(Word::Tensor) || instruction.opcode == Opcode::Tensormap || has(Word::Tensormap) {
                return Err("it takes a tensor map".to_owned());
            }
            use Opcode::*;
            if matches!(instruction.opcode, Tex | Tld4 | Txq | Suq | Suld | Sust | Sured) {
                return Err("it uses a texture, a sampler or a surface".to_owned());
            }
            self.together = self.together.max(match instruction.opcode {
                Wgmma | Tcgen05 => 128,
                Mma | Wmma | Ldmatrix | Stmatrix | Movmatrix | Shfl | Vote | Match | Redux | Elect => 32,
                _ if has(Word::Aligned) => 32,
                _ => 1,
            });
            self.matrices |= instruction.opcode == Wmma;
            self.sparse |= [Word::Sp, Word::SpOrderedMetadata].into_iter().any(has);
            if matches!(instruction.opcode, Bar | Barrier) && !has(Word::Warp) && !has(Word::Cluster) {
                let last = instruction.operands.get(1);
                if let Some(Operand::Immediate(Immediate::Integer(count @ 1..=1024))) = last {
                    self.counted = self.counted.max(*count as u32);
                }
            }
            for operand in &instruction.operands {
                let Operand::Special(register) = operand else { continue };
                use SpecialRegister::*;
                match register {
                    TidY | NtidY => self.thread_axes[1] = true,
                    TidZ | NtidZ => self.thread_axes[2] = true,
                    CtaidY | NctaidY => self.block_axes[1] = true,
                    CtaidZ | NctaidZ => self.block_axes[2] = true,
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// The same, with all that may be pointers as such; `None` if that changes nothing.
    pub fn with_more_pointers(&self) -> Option<Usage> {
        let mut more = self.clone();
        for slot in more.slots.iter_mut().filter(|slot| slot.maybe) {
            slot.pointer = true;
        }
        (more != *self).then_some(more)
    }

    /// The slots that are in a parameter.
    pub fn of_parameter(&self, parameter: u32) -> impl Iterator<Item = (usize, &Slot)> {
        self.slots.iter().enumerate().filter(
            move |(_, slot)| matches!(slot.origin, Origin::Parameter { index, .. } if index == parameter),
        )
    }

    /// The slots that a pointer leads to, and their offsets.
    pub fn behind(&self, pointer: usize) -> impl Iterator<Item = (usize, i64, &Slot)> {
        self.slots.iter().enumerate().filter_map(move |(at, slot)| match slot.origin {
            Origin::Memory { of, offset } if of as usize == pointer => Some((at, offset, slot)),
            _ => None,
        })
    }
}

/// Addresses that an instruction takes, with the type of the elements there.
struct Seen {
    /// Origins of the base of each access of global memory.
    accesses: BTreeSet<Set>,
    /// Origins that are addresses for sure.
    certain: Set,
    votes: Vec<Votes>,
}

fn slots(flow: &Flow, kernel: &Body) -> Vec<Slot> {
    let count = flow.origins.len();
    let mut seen = Seen { accesses: BTreeSet::new(), certain: 0, votes: vec![Votes::default(); count] };
    for (number, body) in flow.bodies.iter().enumerate() {
        for statement in &body.statements {
            let Statement::Instruction(instruction) = statement else { continue };
            seen.instruction(flow, number, instruction);
        }
    }
    for (number, origin) in flow.origins.iter().enumerate() {
        if let Origin::Parameter { index, .. } = *origin
            && kernel.parameters.get(index as usize).is_some_and(|parameter| parameter.pointer.is_some())
        {
            seen.certain |= 1 << number;
        }
    }
    let pointers = seen.pointers();
    let maybe = seen.accesses.iter().fold(0, |all, set| all | set) & !pointers;
    let is = |number: u32| pointers >> number & 1 == 1;
    (0..count as u32)
        .map(|number| {
            let own = seen.votes[number as usize];
            let children = || {
                (0..count as u32).filter(move |&child| {
                    matches!(flow.origins[child as usize], Origin::Memory { of, .. } if of == number)
                })
            };
            // The meaning of memory is that of all that is loaded there.
            let mut votes = own;
            for child in children().filter(|&child| !is(child)) {
                let of = seen.votes[child as usize];
                votes.bytes = votes.bytes.max(of.bytes);
                votes.kinds.iter_mut().zip(of.kinds).for_each(|(sum, more)| *sum += more);
            }
            let votes = if is(number) { votes } else { own };
            Slot {
                origin: flow.origins[number as usize],
                pointer: is(number),
                bytes: votes.bytes,
                kind: votes.kind(),
                behind: children().any(is),
                maybe: maybe >> number & 1 == 1,
            }
        })
        .collect()
}

impl Seen {
    fn instruction(&mut self, flow: &Flow, function: usize, instruction: &Instruction) {
        let ty = instruction.types.last().copied();
        for operand in &instruction.operands {
            let Operand::Address(address) = operand else { continue };
            let AddressBase::Register(register) = address.base else { continue };
            let set = flow.register(function, register);
            let space = match instruction.opcode {
                // The second address of a copy is the source.
                Opcode::Cp if instruction.second_space == Some(Space::Global) => None,
                _ => instruction.space,
            };
            if set == 0 || !is_pointer_space(space) {
                continue;
            }
            self.accesses.insert(set);
            for (number, ty) in members(set).filter_map(|number| Some((number, ty?))) {
                let votes = &mut self.votes[number as usize];
                votes.vote(ty);
                votes.bytes = votes.bytes.max(ty.bytes());
            }
        }
        match instruction.opcode {
            Opcode::Cvta => {
                let to_global = matches!(instruction.space, Some(Space::Global));
                let sets = instruction.operands.get(1).map_or(0, |from| flow.value(function, from));
                if to_global && sets.count_ones() == 1 {
                    self.certain |= sets;
                }
            }
            opcode if !is_copy(opcode) => {
                let source = match opcode {
                    Opcode::Cvt => ty,
                    _ => instruction.types.first().copied(),
                };
                let Some(ty) = source else { return };
                for operand in instruction.operands.iter().skip(usize::from(instruction.destinations)) {
                    if matches!(operand, Operand::Address(_)) {
                        continue;
                    }
                    for number in members(flow.value(function, operand)) {
                        self.votes[number as usize].vote(ty);
                    }
                }
            }
            Opcode::Ld | Opcode::Ldu => {
                let to = instruction.operands.first().map_or(0, |to| flow.value(function, to));
                for (number, ty) in members(to).filter_map(|number| Some((number, ty?))) {
                    let votes = &mut self.votes[number as usize];
                    votes.vote(ty);
                    votes.bytes = votes.bytes.max(ty.bytes());
                }
            }
            _ => {}
        }
    }

    /// The origins that are addresses: where an access has several, those that are certain, or else all.
    fn pointers(&self) -> Set {
        let alone = |set: &&Set| set.count_ones() == 1;
        let mut pointers = self.certain | self.accesses.iter().filter(alone).fold(0, |all, set| all | set);
        let unclear: Vec<Set> = self.accesses.iter().copied().filter(|set| set & pointers == 0).collect();
        for set in unclear {
            pointers |= set;
        }
        pointers
    }
}
