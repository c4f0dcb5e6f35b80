//! Special registers: the SASS sources of `%tid`, `%clock64` and so on. Reads only.

use crate::context::Lower;
use crate::source::{Words, bank_0, imm};
use crate::{LowerError, arithmetic};
use oriole_ori::{ConstBase, IndexedConst, Source, SourceKind, Value};
use oriole_ptx::SpecialRegister;
use oriole_sass::{Mod, Op, Symbol};
use smallvec::smallvec;

/// Source of a special register.
enum Home {
    /// A special register of the hardware.
    Register(Symbol),
    /// A special register that is read as a pair without scoreboard.
    Clock(Symbol, bool),
    /// A word of constant bank 0.
    Constant(u32),
    /// Two words of constant bank 0.
    ConstantPair(u32),
    /// A word of constant bank 0 that depends on the size of the cluster.
    ClusterConstant(u32),
    /// Bits `shift` to `shift + width` of a special register of the hardware.
    Field(Symbol, u32, u32),
    /// A constant.
    Number(u32),
    /// Computed.
    Computed,
}

fn home(cx: &Lower<'_>, register: SpecialRegister) -> Result<Home, LowerError> {
    use SpecialRegister::*;
    let bank = cx.bank;
    let known = |place: Option<u32>, extra: u32| {
        place.map(|p| Home::Constant(p + extra)).ok_or_else(|| {
            cx.unsupported(format!("this special register of {} cannot be read: {register:?}", cx.chip))
        })
    };
    let copied = |place: Option<u32>, extra: u32| match known(place, extra)? {
        Home::Constant(place) if bank.cluster_stride.is_some() => Ok(Home::ClusterConstant(place)),
        home => Ok(home),
    };
    const PM: [Symbol; 8] = [
        Symbol::SR_PM0,
        Symbol::SR_PM1,
        Symbol::SR_PM2,
        Symbol::SR_PM3,
        Symbol::SR_PM4,
        Symbol::SR_PM5,
        Symbol::SR_PM6,
        Symbol::SR_PM7,
    ];
    Ok(match register {
        TidX => Home::Register(Symbol::SR_TID_X),
        TidY => Home::Register(Symbol::SR_TID_Y),
        TidZ => Home::Register(Symbol::SR_TID_Z),
        CtaidX => Home::Register(Symbol::SR_CTAID_X),
        CtaidY => Home::Register(Symbol::SR_CTAID_Y),
        CtaidZ => Home::Register(Symbol::SR_CTAID_Z),
        Laneid => Home::Register(Symbol::SR_LANEID),
        Smid => Home::Register(Symbol::SR_VIRTUALSMID),
        LanemaskEq => Home::Register(Symbol::SR_EQMASK),
        LanemaskLe => Home::Register(Symbol::SR_LEMASK),
        LanemaskLt => Home::Register(Symbol::SR_LTMASK),
        LanemaskGe => Home::Register(Symbol::SR_GEMASK),
        LanemaskGt => Home::Register(Symbol::SR_GTMASK),
        ClusterCtarank => Home::Register(Symbol::SR_CgaCtaId),
        NtidX => Home::Constant(bank.block_threads),
        NtidY => Home::Constant(bank.block_threads + 4),
        NtidZ => Home::Constant(bank.block_threads + 8),
        NctaidX => Home::Constant(bank.grid_blocks),
        NctaidY => Home::Constant(bank.grid_blocks + 4),
        NctaidZ => Home::Constant(bank.grid_blocks + 8),
        Nsmid => Home::Constant(bank.sm_count),
        Gridid => Home::ConstantPair(bank.grid_id),
        CurrentGraphExec => Home::ConstantPair(bank.graph_exec),
        DynamicSmemSize => copied(bank.dynamic_shared_size, 0)?,
        EnvReg(n @ 16..) => known(bank.late_environment, 4 * u32::from(n - 16))?,
        EnvReg(n) => copied(bank.environment, 4 * u32::from(n))?,
        NclusterIdX => copied(bank.grid_clusters, 0)?,
        NclusterIdY => copied(bank.grid_clusters, 4)?,
        NclusterIdZ => copied(bank.grid_clusters, 8)?,
        ClusterNctaidX => copied(bank.cluster_blocks, 0)?,
        ClusterNctaidY => copied(bank.cluster_blocks, 4)?,
        ClusterNctaidZ => copied(bank.cluster_blocks, 8)?,
        ClusterNctarank => copied(bank.cluster_size, 0)?,
        Warpid => Home::Field(Symbol::SR_VIRTID, 8, 7),
        Nwarpid => Home::Field(Symbol::SR_VIRTCFG, 8, 8),
        Clock => Home::Clock(Symbol::SR_CLOCKLO, false),
        ClockHi => Home::Clock(Symbol::SR_CLOCKHI, false),
        Clock64 => Home::Clock(Symbol::SR_CLOCKLO, true),
        GlobaltimerLo => Home::Clock(Symbol::SR_GLOBALTIMERLO, false),
        GlobaltimerHi => Home::Clock(Symbol::SR_GLOBALTIMERHI, false),
        Globaltimer => Home::Clock(Symbol::SR_GLOBALTIMERLO, true),
        // The fourth component of a register of three is zero.
        Fourth(_) => Home::Number(0),
        Pm64(_) => return Err(cx.unsupported(format!("{register:?} cannot be read yet"))),
        Pm(n) => Home::Clock(PM[usize::from(n) % PM.len()], false),
        ReservedSmemOffset(1) => copied(bank.reserved_shared_end, 0)?,
        ReservedSmemOffset(4) => copied(bank.reserved_shared_end, 4)?,
        ReservedSmemOffset(2) => Home::Number(0x400),
        ReservedSmemOffset(_) => Home::Number(0),
        TotalSmemSize | AggrSmemSize | IsExplicitCluster | ClusterIdX | ClusterIdY | ClusterIdZ
        | ClusterCtaidX | ClusterCtaidY | ClusterCtaidZ => Home::Computed,
    })
}

/// Reads a special register into new values: one, or two for a 64-bit one.
pub(crate) fn special_register(cx: &mut Lower<'_>, register: SpecialRegister) -> Result<Words, LowerError> {
    Ok(match home(cx, register)? {
        Home::Register(symbol) => {
            let d = cx.b.r();
            cx.b.s2r(d, symbol);
            smallvec![d]
        }
        Home::Clock(symbol, wide) => {
            let d: Words = (0..if wide { 2 } else { 1 }).map(|_| cx.b.r()).collect();
            let source = Source::plain(SourceKind::Symbol(symbol));
            cx.b.op(Op::CS2R).m_if(!wide, Mod::_32).to_tuple(d.clone()).from(source).emit();
            d
        }
        Home::Constant(offset) => smallvec![bank_word(cx, offset)],
        Home::ClusterConstant(offset) => smallvec![cluster_word(cx, offset)],
        Home::ConstantPair(offset) => {
            let d = cx.b.pair();
            cx.b.ldc(d, bank_0(offset));
            Words::from_slice(&d)
        }
        Home::Field(symbol, shift, width) => {
            let d = [cx.b.r(), cx.b.r(), cx.b.r()];
            cx.b.s2r(d[0], symbol);
            cx.b.shr(d[1], d[0], shift);
            cx.op(Op::SGXT, &[Mod::U32], d[2], [d[1].into(), Source::imm(width)]);
            smallvec![d[2]]
        }
        Home::Number(number) => {
            let d = cx.b.r();
            cx.b.mov(d, imm(number));
            smallvec![d]
        }
        Home::Computed => smallvec![computed(cx, register)?],
    })
}

/// A word of constant bank 0 in a new value.
pub(crate) fn bank_word(cx: &mut Lower<'_>, offset: u32) -> Value {
    let d = cx.b.r();
    cx.b.ldc([d], bank_0(offset));
    d
}

/// A word of constant bank 0 that exists once for each way to launch clusters, where the bank has such words.
fn cluster_word(cx: &mut Lower<'_>, offset: u32) -> Value {
    let Some(stride) = cx.bank.cluster_stride else { return bank_word(cx, offset) };
    let [size, index, d] = [cx.b.r(), cx.b.r(), cx.b.r()];
    let source = Source::plain(SourceKind::Symbol(Symbol::SR_CgaSize));
    cx.b.op(Op::CS2R).m_if(true, Mod::_32).to_tuple([size]).from(source).emit();
    cx.b.imad(index, size, imm(stride.wrapping_neg()), Source::rz());
    let place = IndexedConst { bank: 0, base: ConstBase::Bank, index, offset: offset as i32 };
    cx.b.ldc([d], SourceKind::ConstIndexed(Box::new(place)));
    d
}

fn computed(cx: &mut Lower<'_>, register: SpecialRegister) -> Result<Value, LowerError> {
    use SpecialRegister::*;
    let d = cx.b.r();
    match register {
        TotalSmemSize => {
            let size = cx.b.r();
            cx.b.s2r(size, Symbol::SR_SMEMSZ);
            let adjust = bank_word(cx, cx.bank.total_shared_adjust);
            cx.b.iadd3(d, size, Source::value(adjust).negated(), Source::rz());
        }
        AggrSmemSize => {
            let place = cx.bank.aggregate_shared.ok_or_else(|| cx.unsupported("`%aggr_smem_size`"))?;
            let size = cx.b.r();
            cx.b.s2r(size, Symbol::SR_SMEMSZ);
            let other = cluster_word(cx, place);
            arithmetic::min_max(cx, &[Mod::U32], d, size.into(), other.into(), Source::pt());
        }
        IsExplicitCluster => {
            let place = cx.bank.explicit_cluster.ok_or_else(|| cx.unsupported("`%is_explicit_cluster`"))?;
            let word = bank_word(cx, place);
            let p = cx.b.p();
            cx.b.isetp(p, Mod::EQ, true, word, 1u32);
            cx.b.sel(d, Source::rz(), 1u32, Source::value(p).inverted());
        }
        ClusterIdX | ClusterCtaidX => cluster_number(cx, d, register == ClusterIdX, 0, Symbol::SR_CTAID_X)?,
        ClusterIdY | ClusterCtaidY => cluster_number(cx, d, register == ClusterIdY, 1, Symbol::SR_CTAID_Y)?,
        _ => cluster_number(cx, d, register == ClusterIdZ, 2, Symbol::SR_CTAID_Z)?,
    }
    Ok(d)
}

/// The index of the cluster in one dimension, or of the block in its cluster: the driver supplies the reciprocal
/// of the cluster's extent, rounded so that the truncated f32 product is the quotient.
fn cluster_number(
    cx: &mut Lower<'_>,
    d: Value,
    cluster: bool,
    dimension: u32,
    block: Symbol,
) -> Result<(), LowerError> {
    let (Some(factors), Some(extents)) = (cx.bank.cluster_reciprocals, cx.bank.cluster_blocks) else {
        return Err(cx.unsupported(format!("clusters on {}", cx.chip)));
    };
    let [number, float, product] = [cx.b.r(), cx.b.r(), cx.b.r()];
    cx.b.s2r(number, block);
    arithmetic::integer_to_single(cx, float, false, number.into());
    let factor = cluster_word(cx, factors + 4 * dimension);
    cx.op(Op::FMUL, &[], product, [float.into(), factor.into()]);
    let quotient = if cluster { d } else { cx.b.r() };
    cx.op(Op::F2I, &[Mod::U32, Mod::TRUNC, Mod::NTZ], quotient, [product.into()]);
    if !cluster {
        let extent = cluster_word(cx, extents + 4 * dimension);
        let negative = cx.b.r();
        cx.b.iadd3(negative, Source::value(quotient).negated(), Source::rz(), Source::rz());
        cx.b.imad(d, extent, negative, number);
    }
    Ok(())
}
