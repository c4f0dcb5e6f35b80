//! Exchange among the lanes of a warp: shuffles, votes, matches, reductions, elections.
//!
//! Each first waits for the lanes of its mask. A later phase drops the wait where the warp is known to be whole.

use super::barrier::{self, Lanes};
use crate::arithmetic;
use crate::context::{Lower, Lowered};
use crate::source::imm;
use oriole_hir::{Instruction, Operand};
use oriole_ori::{File, Guard, Source, SourceKind, Value};
use oriole_ptx::word::{Operation, Shuffle, Vote};
use oriole_ptx::{Type, Word};
use oriole_sass::{Mod, Op, Symbol};

/// The operation of `redux`.
#[derive(Clone, Copy)]
struct LaneReduction {
    operation: Operation,
    ty: Type,
    /// For f32: their magnitudes are compared.
    magnitudes: bool,
    /// For f32: one NaN makes the result NaN.
    propagate_nan: bool,
}

impl LaneReduction {
    fn of(i: &Instruction) -> Option<LaneReduction> {
        let (operation, ty) = (i.modifiers.at()?, *i.types.first()?);
        let extreme = matches!(operation, Operation::Min | Operation::Max);
        match operation {
            Operation::Inc | Operation::Dec | Operation::Exch | Operation::Cas => return None,
            _ if ty.is_float() && !(extreme && ty == Type::F32) => return None,
            _ => {}
        }
        let (magnitudes, propagate_nan) = (i.modifiers.has(Word::Abs), i.modifiers.has(Word::NaN));
        Some(LaneReduction { operation, ty, magnitudes, propagate_nan })
    }

    fn is_extreme(self) -> bool {
        matches!(self.operation, Operation::Min | Operation::Max)
    }

    /// The operation without a name is AND; those on bits know no sign.
    fn mods(self) -> Vec<Mod> {
        let operation = match (self.operation, self.magnitudes) {
            (Operation::Or, _) => Mod::OR,
            (Operation::Xor, _) => Mod::XOR,
            (Operation::Add, _) => Mod::SUM,
            (Operation::Min, false) => Mod::MIN,
            (Operation::Min, true) => Mod::MINABS,
            (Operation::Max, false) => Mod::MAX,
            (Operation::Max, true) => Mod::MAXABS,
            _ => return Vec::new(),
        };
        let signed = self.ty.is_signed() && (self.is_extreme() || self.operation == Operation::Add);
        let rows = [
            (self.ty.is_float(), Mod::F32),
            (!self.ty.is_float() && signed, Mod::S32),
            (self.propagate_nan, Mod::NAN),
        ];
        let named = rows.into_iter().filter(|row| row.0).map(|row| row.1);
        std::iter::once(operation).chain(named).collect()
    }

    /// The identity element. A NaN yields to any other value, unless NaN propagates.
    fn identity(self) -> u32 {
        match self.operation {
            Operation::Min | Operation::Max if self.ty.is_float() && !self.propagate_nan => {
                f32::NAN.to_bits()
            }
            Operation::Min if self.ty.is_float() => f32::INFINITY.to_bits(),
            Operation::Max if self.ty.is_float() => f32::NEG_INFINITY.to_bits(),
            Operation::Min if self.ty.is_signed() => i32::MAX as u32,
            Operation::Max if self.ty.is_signed() => i32::MIN as u32,
            Operation::Min | Operation::And => u32::MAX,
            _ => 0,
        }
    }
}

/// The two results of `d|p`; the predicate may be missing.
fn results(operand: &Operand) -> (&Operand, Option<&Operand>) {
    match operand {
        Operand::Pair(d, p) => (d, Some(p)),
        d => (d, None),
    }
}

/// `shfl`.
pub(crate) fn shuffle(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let (d, p) = results(cx.operand(i, 0)?);
    let mode = match i.modifiers.at() {
        Some(Shuffle::Up) => Mod::UP,
        Some(Shuffle::Down) => Mod::DOWN,
        Some(Shuffle::Bfly) => Mod::BFLY,
        Some(Shuffle::Idx) => Mod::IDX,
        None => return Err(cx.unsupported_form(i)),
    };
    if i.modifiers.has(Word::Sync) {
        let mask = cx.operand(i, 4)?.clone();
        barrier::warp_sync(cx, &mask, false)?;
    }
    let a = cx.word(cx.operand(i, 1)?, Type::B32)?;
    let a = cx.in_register(a);
    let lane = cx.word(cx.operand(i, 2)?, Type::U32)?;
    let lane = small(lane, 0x1f);
    let control = cx.word(cx.operand(i, 3)?, Type::U32)?;
    let control = small(control, 0x1f1f);
    let p = match p {
        Some(p) => cx.result_predicate(p)?,
        None => None,
    };
    let d = cx.result_word(d, Type::B32)?;
    cx.b.op(Op::SHFL).m(mode).to_or_drop(p, File::P).to(d).from(a).from(lane).from(control).emit();
    Ok(())
}

/// `vote`, with and without `.sync`.
pub(crate) fn vote(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let mut lanes = None;
    if i.modifiers.has(Word::Sync) {
        let mask = Lanes::of(cx, cx.operand(i, 2)?)?;
        mask.wait(cx, false);
        lanes = Some(mask);
    }
    let p = cx.predicate(cx.operand(i, 1)?)?;
    let d = cx.operand(i, 0)?;
    if let Some(lanes) = lanes
        && is_own(cx, cx.operand(i, 2)?)
    {
        return vote_of(cx, i, p, &lanes);
    }
    let mode = match i.modifiers.at() {
        Some(Vote::Ballot) => {
            let d = cx.result_word(d, Type::B32)?;
            cx.b.op(Op::VOTE).m(Mod::ANY).to(d).drop_result(File::P).from(p).emit();
            return Ok(());
        }
        Some(Vote::All) => Mod::ALL,
        Some(Vote::Any) => Mod::ANY,
        Some(Vote::Uni) => Mod::EQ,
        None => return Err(cx.unsupported_form(i)),
    };
    let Some(d) = cx.result_predicate(d)? else { return Ok(()) };
    cx.b.op(Op::VOTE).m(mode).drop_result(File::R).to(d).from(p).emit();
    Ok(())
}

/// True if lanes may have different masks: one in a register. Lanes of several masks, such as those of two tiles, then execute
/// an exchange at once. The machine's exchanges know only which lanes are there.
fn is_own(cx: &mut Lower<'_>, mask: &Operand) -> bool {
    match mask {
        Operand::Immediate(_) => false,
        Operand::Register(register) => !cx.is_constant(*register),
        _ => true,
    }
}

/// The lanes of the mask for which a predicate holds.
fn ballot(cx: &mut Lower<'_>, p: Source, mask: &Source) -> Value {
    let [all, own] = [cx.b.r(), cx.b.r()];
    cx.b.op(Op::VOTE).m(Mod::ANY).to(all).drop_result(File::P).from(p).emit();
    cx.b.and(own, all, mask.clone());
    own
}

/// `vote.sync` with a mask in a register, by ballots.
fn vote_of(cx: &mut Lower<'_>, i: &Instruction, p: Source, lanes: &Lanes) -> Lowered {
    let mask = cx.in_register(lanes.mask.clone());
    let d = cx.operand(i, 0)?;
    let kind = i.modifiers.at();
    if kind == Some(Vote::Ballot) {
        let own = ballot(cx, p, &mask);
        let d = cx.result_word(d, Type::B32)?;
        cx.b.mov(d, own);
        return Ok(());
    }
    let negated = p.clone().inverted();
    match kind {
        Some(Vote::Any) => {
            let own = ballot(cx, p, &mask);
            let Some(d) = cx.result_predicate(d)? else { return Ok(()) };
            cx.b.isetp(d, Mod::NE, true, own, Source::rz());
        }
        Some(Vote::All) => {
            let others = ballot(cx, negated, &mask);
            let Some(d) = cx.result_predicate(d)? else { return Ok(()) };
            cx.b.isetp(d, Mod::EQ, true, others, Source::rz());
        }
        Some(Vote::Uni) => {
            let own = ballot(cx, p, &mask);
            // An exchange of its own.
            lanes.wait(cx, false);
            let others = ballot(cx, negated, &mask);
            let Some(d) = cx.result_predicate(d)? else { return Ok(()) };
            // One of the two is empty.
            let least = cx.b.r();
            arithmetic::min_max(cx, &[Mod::U32], least, own.into(), others.into(), Source::pt());
            cx.b.isetp(d, Mod::EQ, true, least, Source::rz());
        }
        _ => return Err(cx.unsupported_form(i)),
    }
    Ok(())
}

/// `activemask`.
pub(crate) fn active_mask(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let d = cx.result_word(cx.operand(i, 0)?, Type::B32)?;
    cx.b.op(Op::VOTE).m(Mod::ANY).to(d).drop_result(File::P).from(Source::pt()).emit();
    Ok(())
}

/// `match`.
pub(crate) fn match_lanes(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let ty = cx.ty(i, 0)?;
    let (d, p) = results(cx.operand(i, 0)?);
    let lanes = Lanes::of(cx, cx.operand(i, 2)?)?;
    lanes.wait(cx, false);
    let a = cx.words(cx.operand(i, 1)?, ty)?;
    let a = if a.len() == 2 { cx.tuple(a) } else { cx.in_register(a[0].clone()) };
    let p = match p {
        Some(p) => cx.result_predicate(p)?,
        None => None,
    };
    if is_own(cx, cx.operand(i, 2)?) {
        let mask = cx.in_register(lanes.mask.clone());
        let [equal, own] = [cx.b.r(), cx.b.r()];
        cx.b.op(Op::MATCH).m_if(ty.bits() == 64, Mod::U64).m(Mod::ANY).to(equal).from(a).emit();
        cx.b.and(own, equal, mask.clone());
        if !i.modifiers.has(Word::All) {
            let d = cx.result_word(d, Type::B32)?;
            cx.b.mov(d, own);
            return Ok(());
        }
        // The lanes that are there: an exchange of its own.
        lanes.wait(cx, false);
        let there = ballot(cx, Source::pt(), &mask);
        let all = p.unwrap_or_else(|| cx.b.p());
        cx.b.isetp(all, Mod::EQ, true, own, there);
        let d = cx.result_word(d, Type::B32)?;
        cx.b.sel(d, own, Source::rz(), all);
        return Ok(());
    }
    let d = cx.result_word(d, Type::B32)?;
    let draft = cx.b.op(Op::MATCH).m_if(ty.bits() == 64, Mod::U64);
    if i.modifiers.has(Word::All) {
        draft.m(Mod::ALL).to_or_drop(p, File::P).to(d).from(a).emit();
    } else {
        draft.m(Mod::ANY).to(d).from(a).emit();
    }
    Ok(())
}

/// `redux`.
pub(crate) fn reduce(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let reduction = LaneReduction::of(i).ok_or_else(|| cx.unsupported_form(i))?;
    let ty = reduction.ty;
    let fixed = reduction.is_extreme() && cx.has(Op::CREDUX);
    if ty.is_float() && !fixed {
        return Err(cx.unsupported_form(i));
    }
    let mask = cx.operand(i, 2)?;
    let is_own = is_own(cx, mask);
    let after = if cx.uniform && !is_own { None } else { cx.begin_region() };
    let lanes = Lanes::of(cx, mask)?;
    lanes.wait(cx, false);
    let a = cx.word(cx.operand(i, 1)?, ty)?;
    let a = cx.in_register(a);
    let operand = cx.operand(i, 0)?;
    // Where there is a choice: the one with fixed latency.
    let op = if fixed { Op::CREDUX } else { Op::REDUX };
    if !cx.uniform || is_own {
        reduce_by_shuffles(cx, operand, a, &lanes, reduction, (cx.uniform).then_some(op))?;
        cx.end_region(after);
        return Ok(());
    }
    let whole = cx.b.temporary(File::UR);
    cx.b.op(op).mods(&reduction.mods()).to(whole).from(a).emit();
    let d = cx.result_word(operand, ty)?;
    cx.b.mov(d, whole);
    Ok(())
}

/// A reduction of the lanes of a mask: each lane of the mask accumulates the values of all live lanes in
/// sequence. Every lane has as many iterations, so that they stay converged. The wait before each shuffle is dropped where no
/// lanes reduce at another place. With an instruction that reduces all lanes which are there, it does that where these are the mask.
fn reduce_by_shuffles(
    cx: &mut Lower<'_>,
    d: &Operand,
    a: Source,
    lanes: &Lanes,
    reduction: LaneReduction,
    at_once: Option<Op>,
) -> Lowered {
    let [left, total, live] = [cx.b.r(), cx.b.r(), cx.b.r()];
    cx.b.op(Op::VOTE).m(Mod::ANY).to(live).drop_result(File::P).from(Source::pt()).emit();
    cx.b.and(left, live, lanes.mask.clone());
    let done = cx.b.new_block();
    if let Some(op) = at_once {
        let mask = cx.in_register(lanes.mask.clone());
        let same = cx.b.p();
        cx.b.isetp(same, Mod::EQ, true, live, mask);
        let [together, apart] = [cx.b.new_block(), cx.b.new_block()];
        cx.b.branch(Guard { value: same, negated: false }, together, apart);
        cx.open(together);
        lanes.wait(cx, false);
        let whole = cx.b.temporary(File::UR);
        cx.b.op(op).mods(&reduction.mods()).to(whole).from(a.clone()).emit();
        cx.b.mov(total, whole);
        cx.b.jump(done);
        cx.open(apart);
    }
    cx.b.mov(total, imm(reduction.identity()));
    let again = cx.b.new_block();
    cx.run_into(again);
    let [lane, other, next, bit, rest] = [cx.b.r(), cx.b.r(), cx.b.r(), cx.b.r(), cx.b.r()];
    cx.op(Op::FLO, &[Mod::U32], lane, [left.into()]);
    lanes.wait(cx, false);
    cx.b.op(Op::SHFL)
        .m(Mod::IDX)
        .drop_result(File::P)
        .to(other)
        .from(a)
        .from(lane)
        .from(Source::literal(0x1f))
        .emit();
    join_lanes(cx, reduction, next, total, other);
    cx.b.mov(total, next);
    let one = cx.in_register(imm(1));
    cx.b.shl(bit, one, lane);
    cx.b.xor(rest, left, bit);
    cx.b.mov(left, rest);
    let more = cx.b.p();
    cx.b.isetp(more, Mod::NE, true, rest, Source::rz());
    cx.b.branch(Guard { value: more, negated: false }, again, done);
    cx.open(done);
    cx.write(d, reduction.ty, &[total.into()])
}

/// `d <- a` and `b` reduced.
fn join_lanes(cx: &mut Lower<'_>, reduction: LaneReduction, d: Value, a: Value, b: Value) {
    let LaneReduction { operation, ty, magnitudes, propagate_nan } = reduction;
    let least = if operation == Operation::Min { Source::pt() } else { Source::not_pt() };
    let unsigned: &[Mod] = if ty.is_signed() { &[] } else { &[Mod::U32] };
    match operation {
        Operation::Min | Operation::Max if ty.is_float() => {
            let mods: &[Mod] = if propagate_nan { &[Mod::NAN] } else { &[] };
            let b = Source::value(b);
            let b = if magnitudes { b.magnitude() } else { b };
            cx.op(Op::FMNMX, mods, d, [a.into(), b, least]);
        }
        Operation::Min | Operation::Max => arithmetic::min_max(cx, unsigned, d, a.into(), b.into(), least),
        Operation::Add => cx.b.iadd3(d, a, b, Source::rz()),
        Operation::Or => cx.b.or(d, a, b),
        Operation::Xor => cx.b.xor(d, a, b),
        _ => cx.b.and(d, a, b),
    }
}

/// `elect`.
pub(crate) fn elect(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let (d, p) = results(cx.operand(i, 0)?);
    let mask = cx.operand(i, 1)?;
    let lanes = Lanes::of(cx, mask)?;
    lanes.wait(cx, false);
    let p = match p {
        Some(p) => cx.result_predicate(p)?,
        None => None,
    };
    let wanted = !matches!(d, Operand::Sink);
    if is_own(cx, mask) {
        let own = cx.in_register(lanes.mask.clone());
        let there = ballot(cx, Source::pt(), &own);
        // The lowest bit.
        let [negative, lowest, own] = [cx.b.r(), cx.b.r(), cx.b.r()];
        cx.b.iadd3(negative, Source::rz(), Source::value(there).negated(), Source::rz());
        cx.b.and(lowest, there, negative);
        cx.b.s2r(own, Symbol::SR_EQMASK);
        if let Some(p) = p {
            cx.b.isetp(p, Mod::EQ, true, lowest, own);
        }
        if wanted {
            let d = cx.result_word(d, Type::B32)?;
            cx.op(Op::FLO, &[Mod::U32], d, [lowest.into()]);
        }
        return Ok(());
    }
    let leads = p.unwrap_or_else(|| cx.b.p());
    cx.b.op(Op::ELECT).to(leads).drop_result(File::UR).from(Source::pt()).emit();
    if wanted {
        // The lane that was elected, through a ballot, which needs no uniform register. It is an exchange of its own.
        lanes.wait(cx, false);
        let votes = cx.b.r();
        cx.b.op(Op::VOTE).m(Mod::ANY).to(votes).drop_result(File::P).from(leads).emit();
        let d = cx.result_word(d, Type::B32)?;
        cx.op(Op::FLO, &[Mod::U32], d, [votes.into()]);
    }
    Ok(())
}

/// An immediate as a literal of the instruction.
fn small(source: Source, mask: u32) -> Source {
    match source.kind {
        SourceKind::Imm(bits) => Source::literal((bits & mask).into()),
        SourceKind::Zero(_) => Source::literal(0),
        _ => source,
    }
}
