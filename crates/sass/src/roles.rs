//! Which registers an instruction reads and writes, and how many each operand spans. Register allocation, hazard
//! checks, schedulers and the simulator ask here; the facts are columns of the form table, and the rules that need
//! the modifiers (`LDG.128` spans four) are answered here once.
//!
//! Only what the word says is told: what a called function or a trap handler touches is not known here.

use crate::choose::{Asked, choose, choose_for, resolve_as};
use crate::encode::EncodeError;
use crate::form::{self, Access, Form, FormId, SlotKind, Width};
use crate::{Control, Guard, Instruction, Mod, Mods, Op, Operand, OperandKind, Symbol};
use oriole_chip::Chip;
use smallvec::SmallVec;
use std::fmt;

/// The part that an operand plays.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Role {
    /// Written, read, or both. The registers inside an address are always read.
    pub access: Access,
    /// How many consecutive registers the operand spans; of an address: its base; 0 where there is no register.
    pub components: u8,
    /// Of an address: how many registers the uniform part spans; else 0.
    pub uniform_components: u8,
    /// Of an address: how many registers the descriptor spans; else 0.
    pub descriptor_components: u8,
}

/// A register or predicate of any file. `RZ`, `URZ`, `PT` and `UPT` are none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Resource {
    /// General register.
    Reg(u8),
    /// Uniform register.
    UReg(u8),
    /// Predicate.
    Pred(u8),
    /// Uniform predicate.
    UPred(u8),
    /// Convergence barrier.
    Barrier(u8),
}

/// Why the roles are not known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RolesError {
    /// The instruction has no form.
    Encode(EncodeError),
    /// The opcode is known, but not how many registers this operand spans.
    UnknownWidth(Op, usize),
}

impl fmt::Display for RolesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RolesError::Encode(error) => error.fmt(f),
            RolesError::UnknownWidth(op, index) => {
                write!(f, "how many registers operand {index} of {} spans is not known", op.name())
            }
        }
    }
}

impl std::error::Error for RolesError {}

/// Number of the general register that is always zero.
pub const RZ: u8 = 255;
/// Number of the uniform register that is always zero (up to sm_90).
pub const URZ: u8 = 63;
/// Number of the predicate that is always true, in both files.
pub const PT: u8 = 7;

/// The role of each operand of the instruction, in the order of its operands. Register numbers play no part, so
/// that operands may name any register of the right file.
pub fn roles(chip: Chip, instruction: &Instruction) -> Result<SmallVec<[Role; 6]>, RolesError> {
    let table = form::table(chip).ok_or(RolesError::Encode(EncodeError::UnsupportedChip(chip)))?;
    let (resolved, _) = choose(table, instruction).map_err(RolesError::Encode)?;
    let mut roles = SmallVec::new();
    for (index, (operand, &slot)) in instruction.operands.iter().zip(&resolved.slots).enumerate() {
        roles.push(
            role(resolved.form, slot as usize, &instruction.mods, operand)
                .ok_or(RolesError::UnknownWidth(instruction.op, index))?,
        );
    }
    Ok(roles)
}

/// `roles` for an instruction that is not built yet.
pub fn roles_of(
    chip: Chip,
    op: Op,
    mods: &Mods,
    operands: &[Operand],
) -> Result<SmallVec<[Role; 6]>, RolesError> {
    roles(chip, &bare(op, mods, operands))
}

/// The form that takes these operands and modifiers, or why none does. This is the legality predicate: signs,
/// suffixes and the ranges of numbers count, register numbers do not matter.
pub fn legal(chip: Chip, op: Op, mods: &Mods, operands: &[Operand]) -> Result<FormId, EncodeError> {
    let table = form::table(chip).ok_or(EncodeError::UnsupportedChip(chip))?;
    let asked = Asked { guard: Guard::ALWAYS, op, mods, operands };
    choose_for(table, &asked).map(|(resolved, _)| resolved.id)
}

/// For each of the slots of the operand cache (A, B, C) the operand that it serves, `None` where the form has none. Only
/// these operands may carry the flag `.reuse`.
///
/// # Errors
/// The form does not take the instruction.
pub fn cached_operands(
    chip: Chip,
    form: FormId,
    instruction: &Instruction,
) -> Result<[Option<u8>; 3], EncodeError> {
    let table = form::table(chip).ok_or(EncodeError::UnsupportedChip(chip))?;
    let resolved = resolve_as(table, form, instruction)?;
    Ok(resolved
        .form
        .reuse
        .map(|slot| resolved.slots.iter().position(|&s| s == slot).map(|index| index as u8)))
}

fn bare(op: Op, mods: &Mods, operands: &[Operand]) -> Instruction {
    Instruction {
        guard: Guard::ALWAYS,
        op,
        mods: mods.clone(),
        operands: operands.iter().cloned().collect(),
        control: Control::NEUTRAL,
    }
}

fn role(form: &Form, slot: usize, mods: &Mods, operand: &Operand) -> Option<Role> {
    let row = &form.slots[slot];
    let mut role =
        Role { access: row.access, components: 0, uniform_components: 0, descriptor_components: 0 };
    match row.kind {
        SlotKind::Reg | SlotKind::UReg => role.components = components(form.op, row.width, mods)?,
        SlotKind::Pred | SlotKind::UPred => role.components = 1,
        SlotKind::Barrier => {
            role.components = 1;
            // Reading a barrier out may clear it.
            if form.op == Op::BMOV && mods.has(Mod::CLEAR) {
                role.access = Access::DefUse;
            }
        }
        SlotKind::MatrixDescriptor => role.components = components(form.op, row.width, mods)?,
        SlotKind::ConstIndexed | SlotKind::ConstBindlessIndexed => role.components = 1,
        SlotKind::ConstUniformIndexed => role.uniform_components = 1,
        SlotKind::Memory { .. } | SlotKind::Attribute { .. } => {
            role.access = Access::Use;
            let wide = mods.has(Mod::E);
            role.descriptor_components = 2;
            (role.components, role.uniform_components) = match row.width {
                Width::Address if operand.has(Mod::_64) => (2, 2),
                Width::Address if operand.has(Mod::U32) => (1, if wide { 2 } else { 1 }),
                Width::Address => {
                    if wide {
                        (2, 2)
                    } else {
                        (1, 1)
                    }
                }
                // The target of a bulk copy: an address and, in shared memory, the barrier behind it.
                Width::Bulk if slot == 0 => (0, 2),
                Width::Bulk => (0, if mods.has(Mod::G_2) { 2 } else { 1 }),
                Width::Tensor => (0, tensor(form.op, slot, mods)?),
                Width::One | Width::Two => (1, 1),
                _ => return None,
            };
        }
        _ => {}
    }
    if matches!(row.kind, SlotKind::ConstBindless | SlotKind::ConstBindlessIndexed) {
        role.descriptor_components = 2;
    }
    Some(role)
}

/// How many registers an operand spans. `None` where that is not known.
fn components(op: Op, width: Width, mods: &Mods) -> Option<u8> {
    let has = |name: Mod| mods.has(name);
    let pair_if = |condition: bool| Some(if condition { 2 } else { 1 });
    match width {
        Width::One => Some(1),
        Width::Two => Some(2),
        Width::Four => Some(4),
        Width::Size => Some(memory_registers(mods)),
        Width::Wide => pair_if(has(Mod::WIDE)),
        Width::Long => pair_if(has(Mod::_64) || has(Mod::U64)),
        Width::Float64 => pair_if(has(Mod::F64)),
        Width::FromFloat64 => pair_if(has(Mod::F64_2)),
        Width::Integer64 => pair_if(has(Mod::S64) || has(Mod::U64)),
        Width::PairUnless32 => pair_if(!has(Mod::_32)),
        Width::Count => Some(if has(Mod::_4) {
            4
        } else if has(Mod::_2) {
            2
        } else {
            1
        }),
        Width::MatrixA | Width::MatrixB | Width::MatrixC | Width::MatrixD => matrix(op, width, mods),
        Width::GroupD => group(op, mods),
        Width::Address | Width::Bulk | Width::Tensor | Width::Unknown => None,
    }
}

/// Registers of the data of a load, store or atomic operation.
fn memory_registers(mods: &Mods) -> u8 {
    let any = |names: &[Mod]| names.iter().any(|&name| mods.has(name));
    if any(&[Mod::_128, Mod::F32x4, Mod::F16x8, Mod::BF16x8]) {
        4
    } else if any(&[Mod::_64, Mod::U64, Mod::S64, Mod::F64, Mod::F32x2, Mod::F16x4, Mod::BF16x4]) {
        2
    } else {
        1
    }
}

/// Registers of an operand of a warp-wide matrix instruction: the bits of the matrix over the 1024 bits that one
/// register of a warp holds.
fn matrix(op: Op, width: Width, mods: &Mods) -> Option<u8> {
    let (rows, columns, depth) = mods.iter().find_map(|name| shape(name.name())).unwrap_or((8, 8, 4));
    let (input, output) = match op {
        Op::DMMA => (64, 64),
        Op::IMMA if mods.iter().any(|name| matches!(name.spelling(), "S4" | "U4")) => (4, 32),
        Op::IMMA => (8, 32),
        Op::BMMA => (1, 32),
        Op::HMMA => (
            if mods.has(Mod::TF32) { 32 } else { 16 },
            if mods.has(Mod::F16) && !mods.has(Mod::F32) { 16 } else { 32 },
        ),
        _ => return None,
    };
    let bits = match width {
        // A sparse matrix is stored at half its depth.
        Width::MatrixA => rows * depth * input / if mods.has(Mod::SP) { 2 } else { 1 },
        Width::MatrixB => columns * depth * input,
        _ => rows * columns * output,
    };
    Some((bits / 1024).max(1) as u8)
}

/// Rows, columns and depth out of a name such as `16816`, `8832` or `16x8x4`.
fn shape(name: &str) -> Option<(u32, u32, u32)> {
    if name.contains('x') {
        let mut numbers = name.split('x').map(|number| number.parse().ok());
        return Some((numbers.next()??, numbers.next()??, numbers.next()??));
    }
    if let Some(depth) = name.strip_prefix("168") {
        return Some((16, 8, depth.parse().ok()?));
    }
    name.strip_prefix("88").and_then(|depth| Some((8, 8, depth.parse().ok()?)))
}

/// Registers of the accumulator of a warp group's matrix instruction, 64 rows over 128 threads.
fn group(op: Op, mods: &Mods) -> Option<u8> {
    let (_, columns, _) = mods.iter().find_map(|name| shape(name.name()))?;
    let half = matches!(op, Op::HGMMA | Op::QGMMA) && !mods.has(Mod::F32);
    Some((columns / if half { 4 } else { 2 }) as u8)
}

/// Registers behind the addresses of the tensor copy engine.
fn tensor(op: Op, slot: usize, mods: &Mods) -> Option<u8> {
    let dimensions = [Mod::_1D, Mod::_2D, Mod::_3D, Mod::_4D, Mod::_5D]
        .iter()
        .position(|&name| mods.has(name))
        .map(|index| index as u8 + 1);
    match (op, slot) {
        // The address of the tensor map.
        (Op::UTMACCTL, _) | (_, 1) => Some(2),
        // The shared address, the barrier, one coordinate for each dimension.
        (Op::UTMALDG, 0) => Some(2 + dimensions?),
        // The shared address and the coordinates.
        (Op::UTMASTG | Op::UTMAREDG, 0) => Some(1 + dimensions?),
        (Op::UTMAPF, 0) => Some(dimensions?),
        _ => None,
    }
}

/// Calls `visit` with every register the instruction reads, guard included, in the order of the operands.
pub fn reads(
    chip: Chip,
    instruction: &Instruction,
    mut visit: impl FnMut(Resource),
) -> Result<(), RolesError> {
    let guard = instruction.guard;
    if guard.register < PT {
        visit(if guard.uniform { Resource::UPred(guard.register) } else { Resource::Pred(guard.register) });
    }
    for (operand, role) in instruction.operands.iter().zip(roles(chip, instruction)?) {
        span(instruction, operand, role, role.access != Access::Def, true, &mut visit);
    }
    Ok(())
}

/// Calls `visit` with every register the instruction writes, in the order of the operands.
pub fn writes(
    chip: Chip,
    instruction: &Instruction,
    mut visit: impl FnMut(Resource),
) -> Result<(), RolesError> {
    for (operand, role) in instruction.operands.iter().zip(roles(chip, instruction)?) {
        span(instruction, operand, role, role.access != Access::Use, false, &mut visit);
    }
    Ok(())
}

/// The registers of one operand: the operand itself if `whole`, and what is inside an address if `inside`.
fn span(
    instruction: &Instruction,
    operand: &Operand,
    role: Role,
    whole: bool,
    inside: bool,
    visit: &mut impl FnMut(Resource),
) {
    let mut regs = |first: Option<u8>, count: u8| {
        if let Some(first) = first.filter(|&first| first != RZ) {
            (0..count).for_each(|n| visit(Resource::Reg(first.saturating_add(n))));
        }
    };
    match operand.kind {
        OperandKind::Reg(n) if whole => regs(Some(n), role.components),
        OperandKind::ConstIndexed { index, .. } if inside => regs(Some(index), 1),
        OperandKind::ConstBindlessIndexed { index, .. } if inside => regs(Some(index), 1),
        OperandKind::Memory { base, .. } | OperandKind::Attribute { base, .. } if inside => {
            regs(base, role.components)
        }
        _ => {}
    }
    let mut uregs = |first: Option<u8>, count: u8| {
        if let Some(first) = first.filter(|&first| first != URZ) {
            (0..count).for_each(|n| visit(Resource::UReg(first.saturating_add(n))));
        }
    };
    match operand.kind {
        OperandKind::UReg(n) if whole => uregs(Some(n), role.components),
        OperandKind::MatrixDescriptor(n) if inside => uregs(Some(n), role.components),
        OperandKind::ConstUniformIndexed { index, .. } if inside => uregs(Some(index), 1),
        OperandKind::ConstBindless { handle, .. } | OperandKind::ConstBindlessIndexed { handle, .. }
            if inside =>
        {
            uregs(Some(handle), 2)
        }
        OperandKind::Memory { descriptor, uniform, .. } if inside => {
            uregs(descriptor, role.descriptor_components);
            uregs(uniform, role.uniform_components);
        }
        OperandKind::Attribute { uniform, .. } if inside => uregs(uniform, role.uniform_components),
        OperandKind::Pred(n) if whole && n < PT => visit(Resource::Pred(n)),
        OperandKind::UPred(n) if whole && n < PT => visit(Resource::UPred(n)),
        OperandKind::Barrier(n) if whole => visit(Resource::Barrier(n)),
        OperandKind::Symbol(Symbol::PR) if whole => masked(instruction, |n| visit(Resource::Pred(n))),
        OperandKind::Symbol(Symbol::UPR) if whole => masked(instruction, |n| visit(Resource::UPred(n))),
        _ => {}
    }
}

/// The predicates that `P2R` and `R2P` touch: those of the mask, all where the mask is not known here.
fn masked(instruction: &Instruction, mut visit: impl FnMut(u8)) {
    let mask = match instruction.operands.last().map(|operand| operand.kind) {
        Some(OperandKind::Imm(mask)) => mask,
        _ => 0x7f,
    };
    (0..PT).filter(|n| mask >> n & 1 == 1).for_each(&mut visit);
}
