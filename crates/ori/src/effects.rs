//! Side effects of instructions: queries that decide whether one may be removed, moved, duplicated or speculated.
//!
//! It is here because dead-code removal, code motion, value numbering, if-conversion and divergence must agree.
//! Effects are a column of the opcode table; an effect that is not named here counts as harmful.

use crate::{Instruction, Opcode, Pseudo, Source, SourceKind};
use oriole_chip::nameable;
use oriole_sass::{Effect, Mod, Mods, Op, Symbol};

/// True if the instruction has no effect but its results: it is dead when they are not read.
pub fn is_removable(instruction: &Instruction) -> bool {
    if is_product_step(instruction) {
        return false;
    }
    if let Some(memory) = instruction.memory
        && (memory.writes || memory.ordered)
    {
        return false;
    }
    if instruction.call.is_some() || instruction.destinations.is_empty() {
        return false;
    }
    match instruction.opcode {
        Opcode::Sass(op) => match op.info().effect {
            Effect::Pure
            | Effect::PureUniform
            | Effect::Register
            | Effect::Predicates
            | Effect::Query
            | Effect::Collective => true,
            Effect::Load => instruction.memory.is_some(),
            _ => false,
        },
        Opcode::Pseudo(pseudo) => {
            !matches!(
                pseudo,
                Pseudo::Call | Pseudo::CallHelper | Pseudo::Return | Pseudo::Parameters | Pseudo::Keep
            ) && !pseudo.moves_stack()
        }
    }
}

/// True if the results depend only on the operands: equal operands give equal results, wherever and whenever it runs.
/// Such an instruction may be value-numbered, moved and duplicated freely (except for guard and divergence).
pub fn is_pure(instruction: &Instruction) -> bool {
    if instruction
        .memory
        .is_some_and(|memory| memory.writes || memory.ordered || memory.space != crate::Space::Constant)
    {
        return false;
    }
    match instruction.opcode {
        Opcode::Sass(op) if op.info().effect == Effect::Register => instruction.sources.iter().all(|source| {
            matches!(&source.kind, crate::SourceKind::Symbol(register) if is_fixed_register(*register))
        }),
        Opcode::Sass(op) => (is_lane_wise(op) || is_uniform_datapath(op)) && !is_convergent(instruction),
        Opcode::Pseudo(pseudo) => {
            !matches!(
                pseudo,
                Pseudo::ParallelCopy
                    | Pseudo::Call
                    | Pseudo::CallHelper
                    | Pseudo::Return
                    | Pseudo::Parameters
                    | Pseudo::Undefined
                    | Pseudo::Keep
            ) && !pseudo.moves_stack()
        }
    }
}

/// True if the set of active lanes matters: it must not be moved into or out of control flow, nor duplicated.
pub fn is_convergent(instruction: &Instruction) -> bool {
    match instruction.opcode {
        Opcode::Sass(op) => is_convergent_operation(op),
        Opcode::Pseudo(pseudo) => matches!(pseudo, Pseudo::Call | Pseudo::CallHelper),
    }
}

/// True if the hardware reads the operands from uniform registers only, one value for all lanes that execute the
/// instruction. Until phase 55 they may be in general registers.
pub fn wants_uniform_operands(instruction: &Instruction) -> bool {
    match instruction.opcode {
        Opcode::Sass(Op::SYNCS) => instruction.mods.has(Mod::EXCH),
        Opcode::Sass(op) => op == Op::ARRIVES,
        Opcode::Pseudo(_) => false,
    }
}

/// General registers that code may name after an instruction that changes the thread's allocation.
pub fn register_grant(instruction: &Instruction) -> Option<u16> {
    match (instruction.opcode, instruction.sources.as_slice()) {
        (Opcode::Sass(Op::USETMAXREG), [Source { kind: SourceKind::Literal(count), .. }]) => {
            u16::try_from(*count).ok().map(nameable)
        }
        _ => None,
    }
}

/// True for one step of a matrix multiply that the hardware splits into several. Behaviour is unknown if a step is
/// missing or if steps of two matrix multiplies interleave.
pub fn is_product_step(instruction: &Instruction) -> bool {
    matches!(instruction.opcode, Opcode::Sass(op) if is_product_step_of(op, &instruction.mods))
}

/// [`is_product_step`] of an opcode and its modifiers.
pub fn is_product_step_of(op: Op, mods: &Mods) -> bool {
    op == Op::HMMA && mods.has(Mod::_884)
}

/// True if all lanes of a converged warp execute it at once: within a block it need not keep its order among
/// collective operations.
pub fn is_aligned(instruction: &Instruction) -> bool {
    matches!(instruction.opcode, Opcode::Sass(op) if op.info().aligned) && !is_product_step(instruction)
}

/// True if lanes only exchange values, by shuffles, votes and copies to uniform registers. The lanes that execute one
/// instruction of a block execute all of them: within the block it need not keep its order among such operations.
pub fn is_exchange(instruction: &Instruction) -> bool {
    let exchanges = matches!(instruction.opcode, Opcode::Sass(op) if is_exchange_operation(op));
    exchanges && instruction.memory.is_none() && !is_product_step(instruction)
}

/// [`is_exchange`] of a machine operation without memory.
pub fn is_exchange_operation(op: Op) -> bool {
    let info = op.info();
    info.convergent && matches!(info.effect, Effect::Collective | Effect::Query)
}

/// True if it waits for all live lanes of the warp.
pub fn gathers_warp(instruction: &Instruction) -> bool {
    let all = |source: &Source| {
        matches!(source.kind, SourceKind::Imm(u32::MAX) | SourceKind::Literal(-1 | 0xffff_ffff))
    };
    instruction.opcode == Opcode::Sass(Op::WARPSYNC)
        && instruction.guard.is_none()
        && (instruction.mods.has(Mod::ALL) || matches!(instruction.sources.as_slice(), [mask] if all(mask)))
}

/// True if it waits for all live lanes of the warp or for threads of the whole block: lanes that will not execute it
/// must be free to end meanwhile.
pub fn waits_for_all(instruction: &Instruction) -> bool {
    let waits_at_barrier = instruction.opcode == Opcode::Sass(Op::BAR)
        && !instruction.mods.has(Mod::ARV)
        && instruction.guard.is_none();
    waits_at_barrier || gathers_warp(instruction)
}

/// [`is_convergent`] of a machine operation.
pub fn is_convergent_operation(op: Op) -> bool {
    op.info().convergent
}

/// Special registers that hold one value for the whole life of a thread.
pub fn is_fixed_register(register: Symbol) -> bool {
    let name = register.name();
    register == Symbol::SRZ
        || ["SR_TID", "SR_CTAID", "SR_NTID", "SR_LANEID", "SR_CLUSTER", "SR_GRID"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
        || matches!(name, "SR_EQMASK" | "SR_LTMASK" | "SR_LEMASK" | "SR_GTMASK" | "SR_GEMASK")
}

/// Operations of the uniform datapath whose results depend on their operands only.
pub fn is_uniform_datapath(op: Op) -> bool {
    op.info().effect == Effect::PureUniform
}

/// Operations whose results in a lane depend only on the operands in that lane.
pub fn is_lane_wise(op: Op) -> bool {
    op.info().effect == Effect::Pure
}

/// True if the instruction transfers control within the function or leaves it; calls do not count.
pub fn is_transfer(instruction: &Instruction) -> bool {
    match instruction.opcode {
        Opcode::Sass(op) => matches!(op.info().effect, Effect::Branch | Effect::Leave),
        Opcode::Pseudo(pseudo) => pseudo == Pseudo::Return,
    }
}

/// True if the instruction ends the thread on a condition.
pub fn is_guarded_exit(instruction: &Instruction) -> bool {
    instruction.opcode == Opcode::Sass(Op::EXIT) && instruction.guard.is_some()
}

/// True if the instruction ends the thread or leaves the function.
pub fn leaves_function(instruction: &Instruction) -> bool {
    match instruction.opcode {
        Opcode::Sass(op) => op.info().effect == Effect::Leave,
        Opcode::Pseudo(pseudo) => pseudo == Pseudo::Return,
    }
}

/// The target address of an indirect call. Lanes with different targets return at different times.
pub fn called_address(instruction: &Instruction) -> Option<&Source> {
    let indirect = instruction.call.as_ref().is_some_and(|call| call.callee.is_none());
    let calls = instruction.opcode == Opcode::Pseudo(Pseudo::Call);
    if calls && indirect { instruction.sources.last() } else { None }
}

/// True for branches whose target is in a register.
pub fn is_indirect_branch(instruction: &Instruction) -> bool {
    match instruction.opcode {
        Opcode::Sass(op) => op.info().effect == Effect::Branch && op.info().indirect,
        Opcode::Pseudo(_) => false,
    }
}
