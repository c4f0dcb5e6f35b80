//! Which family lowers an instruction. One arm is one fact; no instruction is emitted here.

use crate::context::{Lower, Lowered};
use crate::half::half_of;
use oriole_hir::Instruction;
use oriole_ptx::{Opcode, Type};
use oriole_sass::Mod;

/// The modifiers that lowering knows of each instruction; one that is not listed here has none. What is written and
/// not known is refused, so that nothing is left out in silence.
const MODIFIERS: &[(&[Opcode], &[&str])] = {
    use Opcode::*;
    &[
        (&[Add, Sub], &["rn", "rz", "rm", "rp", "ftz", "sat", "cc"]),
        (&[Addc, Subc], &["cc"]),
        (&[Mul, Mad], &["rn", "rz", "rm", "rp", "ftz", "sat", "lo", "hi", "wide", "cc"]),
        (&[Madc], &["lo", "hi", "cc"]),
        (&[Fma], &["rn", "rz", "rm", "rp", "ftz", "sat", "relu"]),
        (&[Mul24, Mad24], &["lo", "hi", "sat"]),
        (&[Dp2a], &["lo", "hi"]),
        (&[Min, Max], &["ftz", "NaN", "xorsign.abs", "relu"]),
        (&[Abs, Neg, Slct], &["ftz"]),
        (&[Div], &["rn", "rz", "rm", "rp", "ftz", "approx", "full"]),
        (&[Rcp, Sqrt], &["rn", "rz", "rm", "rp", "ftz", "approx"]),
        (&[Rsqrt, Sin, Cos, Lg2, Ex2, Tanh], &["approx", "ftz"]),
        (&[Lop3], &["and", "or"]),
        (&[Shf], &["l", "r", "wrap", "clamp"]),
        (&[Bmsk, Szext], &["wrap", "clamp"]),
        (&[Bfind], &["shiftamt"]),
        (&[Prmt], &["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"]),
        (
            &[
                Vadd, Vsub, Vabsdiff, Vmin, Vmax, Vshl, Vshr, Vadd2, Vsub2, Vabsdiff2, Vmin2, Vmax2, Vavrg2,
                Vadd4,
            ],
            &["sat", "add", "min", "max", "clamp", "wrap"],
        ),
        (&[Vsub4, Vabsdiff4, Vmin4, Vmax4, Vavrg4], &["sat", "add"]),
        (&[Vset, Vset2, Vset4], &["eq", "ne", "lt", "le", "gt", "ge", "add", "min", "max"]),
        (
            &[Set, Setp],
            &[
                "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu",
                "gtu", "geu", "num", "nan", "and", "or", "xor", "ftz",
            ],
        ),
        (&[Testp], &["finite", "infinite", "number", "notanumber", "normal", "subnormal"]),
        (
            &[Cvt],
            &[
                "rn",
                "rz",
                "rm",
                "rp",
                "rna",
                "rni",
                "rzi",
                "rmi",
                "rpi",
                "ftz",
                "sat",
                "relu",
                "satfinite",
                "pack",
            ],
        ),
        (&[Cvta], &["to"]),
        (
            &[Ld],
            &[
                "weak",
                "relaxed",
                "acquire",
                "volatile",
                "mmio",
                "cta",
                "cluster",
                "gpu",
                "sys",
                "ca",
                "cg",
                "cs",
                "lu",
                "cv",
                "nc",
                "L1::evict_normal",
                "L1::evict_unchanged",
                "L1::evict_first",
                "L1::evict_last",
                "L1::no_allocate",
                "L2::evict_normal",
                "L2::evict_first",
                "L2::evict_last",
                "L2::cache_hint",
                "L2::64B",
                "L2::128B",
                "L2::256B",
            ],
        ),
        (
            &[St],
            &[
                "weak",
                "relaxed",
                "release",
                "volatile",
                "mmio",
                "cta",
                "cluster",
                "gpu",
                "sys",
                "wb",
                "cg",
                "cs",
                "wt",
                "L1::evict_normal",
                "L1::evict_unchanged",
                "L1::evict_first",
                "L1::evict_last",
                "L1::no_allocate",
                "L2::evict_normal",
                "L2::evict_first",
                "L2::evict_last",
                "L2::cache_hint",
            ],
        ),
        (
            &[Atom, Red],
            &[
                "relaxed",
                "acquire",
                "release",
                "acq_rel",
                "cta",
                "cluster",
                "gpu",
                "sys",
                "noftz",
                "add",
                "min",
                "max",
                "inc",
                "dec",
                "and",
                "or",
                "xor",
                "exch",
                "cas",
                "L2::cache_hint",
            ],
        ),
        (&[Prefetch], &["L1", "L2", "L2::evict_last", "L2::evict_normal"]),
        (&[Prefetchu], &["L1"]),
        (&[Discard], &["L2"]),
        (&[Applypriority], &["L2::evict_normal"]),
        (&[Shfl], &["sync", "up", "down", "bfly", "idx"]),
        (&[Vote], &["sync", "all", "any", "uni", "ballot"]),
        (&[Match], &["sync", "all", "any"]),
        (&[Redux], &["sync", "add", "min", "max", "and", "or", "xor"]),
        (&[Elect], &["sync"]),
        (
            &[Bar, Barrier],
            &[
                "sync", "arrive", "red", "popc", "and", "or", "warp", "cta", "aligned", "cluster", "wait",
                "acquire", "release", "relaxed",
            ],
        ),
        (&[Membar], &["cta", "gl", "sys"]),
        (
            &[Fence],
            &[
                "sc",
                "acq_rel",
                "acquire",
                "release",
                "cta",
                "cluster",
                "gpu",
                "sys",
                "proxy",
                "async",
                "mbarrier_init",
            ],
        ),
        (&[Griddepcontrol], &["wait", "launch_dependents"]),
        (&[Pmevent], &["mask"]),
        (&[Bra, Call, Ret], &["uni"]),
        (&[Brx], &["idx", "uni"]),
    ]
};

/// True if every modifier of the instruction is known.
fn known(i: &Instruction) -> bool {
    let listed = MODIFIERS.iter().find(|row| row.0.contains(&i.opcode)).map_or(&[][..], |row| row.1);
    i.modifiers.iter().all(|modifier| listed.contains(&modifier.0))
}

/// Lowers one instruction.
pub(crate) fn instruction(l: &mut Lower, i: &Instruction) -> Lowered {
    use Opcode::*;
    if !i.compiled || !known(i) {
        return Err(l.unsupported_form(i));
    }
    let first = i.types.first().copied().unwrap_or(Type::B32);
    match i.opcode {
        Add | Sub | Mul | Mad | Fma | Min | Max | Abs | Neg => arithmetic(l, i, first),
        Addc | Subc => l.add_carry(i),
        Madc => l.multiply(i),
        Mul24 | Mad24 => l.multiply_24(i),
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
        Vadd | Vsub | Vabsdiff | Vmin | Vmax | Vset | Vshl | Vshr | Vmad | Vadd2 | Vsub2 | Vabsdiff2
        | Vmin2 | Vmax2 | Vset2 | Vavrg2 | Vadd4 | Vsub4 | Vabsdiff4 | Vmin4 | Vmax4 | Vset4 | Vavrg4 => {
            l.video(i)
        }
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
        Ld | Ldu => l.load(i),
        St => l.store(i),
        Prefetch | Prefetchu | Discard | Applypriority => l.cache_line(i),
        Atom | Red => l.atomic(i),
        Shfl => l.shuffle(i),
        Vote => l.vote(i),
        Activemask => l.active_mask(i),
        Match => l.match_lanes(i),
        Redux => l.reduce(i),
        Elect => l.elect(i),
        Bar | Barrier => l.barrier(i),
        Membar | Fence => l.memory_barrier(i),
        Nanosleep => l.nanosleep(i),
        Griddepcontrol => l.grid_dependency(i),
        Pmevent => l.trigger(i),
        Bra => l.bra(i),
        Brx => l.brx(i),
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
        Type::F32 => return l.float_arithmetic(i),
        Type::F64 => return l.double_arithmetic(i),
        _ if half_of(ty).is_some() => return l.half_arithmetic(i),
        _ if ty.is_float() => return Err(l.unsupported_form(i)),
        _ => {}
    }
    match i.opcode {
        Add | Sub if i.modifiers.has("cc") => l.add_carry(i),
        Add | Sub if ty.bits() == 64 => l.add_64(i),
        Add | Sub => l.add_integer(i),
        Mul | Mad => l.multiply(i),
        Min | Max => l.min_max_integer(i),
        Abs => l.abs_integer(i),
        Neg => l.neg_integer(i),
        _ => Err(l.unsupported_form(i)),
    }
}
