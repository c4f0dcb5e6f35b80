//! The table from an opcode to the function that lowers it. One arm is one fact; no operand is read and no instruction
//! is emitted here. The family chooses by types.

use crate::context::{Lower, Lowered};
use crate::{arithmetic, control, copies, functions, matrix, memory, moves, tensor_memory, texture, threads};
use oriole_hir::Instruction;
use oriole_ptx::{Opcode, Word};

/// Lowers an instruction of one opcode.
type Lowering = fn(&mut Lower<'_>, &Instruction) -> Lowered;

/// Lowers one instruction.
pub(crate) fn instruction(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    match of_value(i.opcode).or_else(|| of_effect(i)).filter(|_| i.compiled) {
        Some(lower) => lower(cx, i),
        None => Err(cx.unsupported_form(i)),
    }
}

/// Whether an opcode only computes: it touches no memory, no other thread and no control flow.
pub(crate) fn is_value(opcode: Opcode) -> bool {
    of_value(opcode).is_some()
}

/// Arithmetic, conversions and addresses.
fn of_value(opcode: Opcode) -> Option<Lowering> {
    use Opcode::*;
    let lowering: Lowering = match opcode {
        Add | Sub | Mul | Mad | Fma | Min | Max | Abs | Neg => arithmetic::by_type,
        Addc | Subc => arithmetic::add_carry,
        Madc => arithmetic::multiply,
        Mul24 | Mad24 => arithmetic::multiply_24,
        Clmad => arithmetic::multiply_without_carries,
        Sad => arithmetic::sad,
        Div => arithmetic::divide,
        Rem => arithmetic::divide_integer,
        Rcp | Sqrt | Rsqrt => arithmetic::reciprocal_or_root,
        Sin | Cos | Lg2 => arithmetic::float_function,
        Ex2 => arithmetic::exponential,
        Tanh => arithmetic::hyperbolic_tangent,
        Dp2a | Dp4a => arithmetic::dot_product,
        And | Or | Xor => arithmetic::logic,
        Not => arithmetic::not,
        Cnot => arithmetic::cnot,
        Lop3 => arithmetic::lop3,
        Shl | Shr => arithmetic::shift,
        Shf => arithmetic::funnel_shift,
        Bfe => arithmetic::extract_field,
        Bfi => arithmetic::insert_field,
        Bfind => arithmetic::find_bit,
        Bmsk | Szext => arithmetic::mask_or_extend,
        Brev => arithmetic::reverse_bits,
        Clz => arithmetic::count_leading_zeros,
        Popc => arithmetic::count_bits,
        Fns => arithmetic::find_nth_set,
        Prmt => arithmetic::permute,
        Vmad | Vadd | Vsub | Vabsdiff | Vmin | Vmax | Vset | Vshl | Vshr | Vadd2 | Vsub2 | Vabsdiff2
        | Vmin2 | Vmax2 | Vset2 | Vavrg2 | Vadd4 | Vsub4 | Vabsdiff4 | Vmin4 | Vmax4 | Vset4 | Vavrg4 => {
            arithmetic::video
        }
        Set => arithmetic::set,
        Setp => arithmetic::set_predicate,
        Selp => arithmetic::select,
        Slct => arithmetic::select_by_sign,
        Testp => arithmetic::test_class,
        Copysign => arithmetic::copy_sign,
        Cvt => moves::convert,
        Mov => moves::mov,
        Cvta => memory::cvta,
        Isspacep => memory::isspacep,
        Mapa => memory::mapa,
        Getctarank => memory::getctarank,
        Createpolicy => memory::create_policy,
        _ => return None,
    };
    Some(lowering)
}

/// Memory, exchange among threads, and control flow.
fn of_effect(i: &Instruction) -> Option<Lowering> {
    use Opcode::*;
    let has = |word| i.modifiers.has(word);
    let lowering: Lowering = match i.opcode {
        Ld | Ldu => memory::load,
        St if has(Word::Bulk) => copies::fill_shared,
        St | Atom | Red if has(Word::MbarrierCompleteTxBytes) => copies::async_store,
        St => memory::store,
        Prefetch if has(Word::Tensormap) => copies::prefetch_map,
        Prefetch | Prefetchu | Discard | Applypriority => memory::cache_line,
        Cp if has(Word::Bulk) => copies::bulk,
        Cp if has(Word::Mbarrier) => threads::signal_copies,
        Cp => copies::cp,
        Mbarrier => threads::mbarrier,
        Tensormap => copies::change_map,
        Clusterlaunchcontrol if has(Word::TryCancel) => copies::take_cluster,
        Clusterlaunchcontrol => copies::taken_cluster,
        Atom | Red => memory::atomic,
        Multimem if has(Word::Cp) => copies::bulk,
        Multimem => memory::multimem,
        Shfl => threads::shuffle,
        Vote => threads::vote,
        Activemask => threads::active_mask,
        Match => threads::match_lanes,
        Redux => threads::reduce,
        Elect => threads::elect,
        Mma => matrix::mma,
        Wmma => matrix::wmma,
        Ldmatrix => matrix::load_matrix,
        Stmatrix => matrix::store_matrix,
        Movmatrix => matrix::transpose_matrix,
        Wgmma => matrix::wgmma,
        Tcgen05 => tensor_memory::tcgen05,
        Tex => texture::fetch,
        Tld4 => texture::gather,
        Txq | Suq => texture::query,
        Istypep => texture::is_type,
        Suld => texture::load_surface,
        Sust => texture::store_surface,
        Sured => texture::reduce_surface,
        Bar | Barrier => threads::barrier,
        Membar | Fence => threads::memory_barrier,
        Nanosleep => threads::nanosleep,
        Griddepcontrol => threads::grid_dependency,
        Setmaxnreg => threads::change_registers,
        Pmevent => threads::trigger,
        Bra => control::bra,
        Brx => control::brx,
        Alloca => control::allocate_stack,
        Stacksave => control::save_stack,
        Stackrestore => control::restore_stack,
        Call => functions::call,
        Ret => control::ret,
        Exit => control::exit,
        Trap => control::trap,
        Brkpt => control::breakpoint,
        _ => return None,
    };
    Some(lowering)
}
