//! Dispatches an instruction to its family. One arm is one fact; no instruction is emitted here.

use crate::context::{Lower, Lowered};
use crate::half::half_of;
use crate::video;
use oriole_hir::Instruction;
use oriole_ptx::{Opcode, Type, Word};
use oriole_sass::Mod;

/// Lowers one instruction.
pub(crate) fn instruction(l: &mut Lower, i: &Instruction) -> Lowered {
    use Opcode::*;
    if !i.compiled {
        return Err(l.unsupported_form(i));
    }
    let first = i.types.first().copied().unwrap_or(Type::B32);
    match i.opcode {
        Add | Sub | Mul | Mad | Fma | Min | Max | Abs | Neg => arithmetic(l, i, first),
        Addc | Subc => l.add_carry(i),
        Madc => l.multiply(i),
        Mul24 | Mad24 => l.multiply_24(i),
        Clmad => l.multiply_without_carries(i),
        Sad => l.sad(i),
        Div => match l.float_type(i)? {
            Type::F32 => l.float_divide(i),
            Type::F64 => l.double_function(i),
            ty if ty.is_float() => Err(l.unsupported_form(i)),
            _ => l.divide_integer(i),
        },
        Rem => l.divide_integer(i),
        Rcp | Sqrt | Rsqrt => match first {
            Type::F64 => l.double_function(i),
            Type::F32 => l.float_function(i),
            _ => Err(l.unsupported_form(i)),
        },
        Sin | Cos | Lg2 => l.float_function(i),
        Ex2 if first != Type::F32 => l.half_function(i, Mod::EX2),
        Tanh if first != Type::F32 => l.half_function(i, Mod::TANH),
        Ex2 | Tanh => l.float_function(i),
        Dp2a | Dp4a => l.dot_product(i),
        And | Or | Xor => l.logic(i),
        Not => l.not(i),
        Cnot => l.cnot(i),
        Lop3 => l.lop3(i),
        Shl | Shr => l.shift(i),
        Shf => l.funnel_shift(i),
        Bfe => l.extract_field(i),
        Bfi => l.insert_field(i),
        Bfind => l.find_bit(i),
        Bmsk | Szext => l.mask_or_extend(i),
        Brev => l.reverse_bits(i),
        Clz => l.count_leading_zeros(i),
        Popc => l.count_bits(i),
        Fns => l.find_nth_set(i),
        Prmt => l.permute(i),
        Vmad => l.video(i),
        opcode if video::action(opcode).is_some() => l.video(i),
        Set => l.set(i),
        Setp => l.set_predicate(i),
        Selp => l.select(i),
        Slct => l.select_by_sign(i),
        Testp => l.test_class(i),
        Copysign => l.copy_sign(i),
        Cvt => l.convert(i),
        Mov => l.mov(i),
        Cvta => l.cvta(i),
        Isspacep => l.isspacep(i),
        Mapa => l.mapa(i),
        Getctarank => l.getctarank(i),
        Createpolicy => l.create_policy(i),
        _ => effect(l, i),
    }
}

/// Memory, exchange among threads, and control flow.
fn effect(l: &mut Lower, i: &Instruction) -> Lowered {
    use Opcode::*;
    match i.opcode {
        Ld | Ldu => l.load(i),
        St if i.modifiers.has(Word::Bulk) => l.fill_shared(i),
        St => l.store(i),
        Prefetch | Prefetchu | Discard | Applypriority => l.cache_line(i),
        Cp => l.copy(i),
        Mbarrier => l.barrier_object(i),
        Tensormap => l.change_map(i),
        Clusterlaunchcontrol if i.modifiers.has(Word::TryCancel) => l.take_cluster(i),
        Clusterlaunchcontrol => l.taken_cluster(i),
        Atom | Red => l.atomic(i),
        Multimem => l.copies(i),
        Shfl => l.shuffle(i),
        Vote => l.vote(i),
        Activemask => l.active_mask(i),
        Match => l.match_lanes(i),
        Redux => l.reduce(i),
        Elect => l.elect(i),
        Mma => l.multiply_matrices(i),
        Wmma => l.fragments(i),
        Ldmatrix => l.load_matrix(i),
        Stmatrix => l.store_matrix(i),
        Movmatrix => l.transpose_matrix(i),
        Wgmma => l.warp_group(i),
        Tcgen05 => l.tensor_memory(i),
        Tex => l.fetch(i),
        Tld4 => l.gather(i),
        Txq | Suq => l.query(i),
        Istypep => l.is_type(i),
        Suld => l.load_surface(i),
        Sust => l.store_surface(i),
        Sured => l.reduce_surface(i),
        Bar | Barrier => l.barrier(i),
        Membar | Fence => l.memory_barrier(i),
        Nanosleep => l.nanosleep(i),
        Griddepcontrol => l.grid_dependency(i),
        Setmaxnreg => l.change_registers(i),
        Pmevent => l.trigger(i),
        Bra => l.bra(i),
        Brx => l.brx(i),
        Alloca => l.allocate_stack(i),
        Stacksave => l.save_stack(i),
        Stackrestore => l.restore_stack(i),
        Call => l.call(i),
        Ret => l.ret(),
        Exit => l.exit(),
        Trap => l.trap(true),
        Brkpt => l.trap(false),
        _ => Err(l.unsupported_form(i)),
    }
}

/// Arithmetic by type.
fn arithmetic(l: &mut Lower, i: &Instruction, ty: Type) -> Lowered {
    use Opcode::*;
    match ty {
        Type::F32 if i.types.len() > 1 => return l.mixed_singles(i, i.types[1]),
        Type::F32 => return l.float_arithmetic(i),
        Type::F32x2 => return l.single_pairs(i),
        Type::E4M3x4 | Type::E5M2x4 => return l.four_narrow(i),
        Type::F64 => return l.double_arithmetic(i),
        _ if half_of(ty).is_some() => return l.half_arithmetic(i),
        _ if ty.is_float() => return Err(l.unsupported_form(i)),
        _ => {}
    }
    match i.opcode {
        Add | Sub if i.modifiers.has(Word::Cc) => l.add_carry(i),
        Add | Sub if ty.bits() == 64 => l.add_64(i),
        Add | Sub => l.add_integer(i),
        Mul | Mad => l.multiply(i),
        Min | Max => l.min_max_integer(i),
        Abs => l.abs_integer(i),
        Neg => l.neg_integer(i),
        _ => Err(l.unsupported_form(i)),
    }
}
