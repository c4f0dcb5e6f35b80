//! Exchange among the lanes of a warp: shuffles, votes, matches, reductions, elections.
//!
//! Each first waits for the lanes of its mask. A later phase drops the wait where the warp is known to be whole.

use crate::context::{Lower, Lowered};
use crate::operand::imm;
use oriole_hir::{Instruction, Operand};
use oriole_ori::{File, Guard, Source, SourceKind, Value};
use oriole_ptx::word::{Operation, Shuffle, Vote};
use oriole_ptx::{Type, Word};
use oriole_sass::{Mod, Op};

impl Lower<'_> {
    /// The two results of `d|p`; the predicate may be missing.
    fn results<'i>(&self, operand: &'i Operand) -> (&'i Operand, Option<&'i Operand>) {
        match operand {
            Operand::Pair(d, p) => (d, Some(p)),
            d => (d, None),
        }
    }

    /// `shfl`.
    pub fn shuffle(&mut self, i: &Instruction) -> Lowered {
        let (d, p) = self.results(self.operand(i, 0)?);
        let mode = match i.modifiers.at() {
            Some(Shuffle::Up) => Mod::UP,
            Some(Shuffle::Down) => Mod::DOWN,
            Some(Shuffle::Bfly) => Mod::BFLY,
            Some(Shuffle::Idx) => Mod::IDX,
            None => return Err(self.unsupported_form(i)),
        };
        if i.modifiers.has(Word::Sync) {
            let mask = self.operand(i, 4)?.clone();
            self.warp_sync(&mask, false)?;
        }
        let a = self.word(self.operand(i, 1)?, Type::B32)?;
        let a = self.in_register(a);
        let lane = self.word(self.operand(i, 2)?, Type::U32)?;
        let lane = small(lane, 0x1f);
        let control = self.word(self.operand(i, 3)?, Type::U32)?;
        let control = small(control, 0x1f1f);
        let p = match p {
            Some(p) => self.result_predicate(p)?,
            None => None,
        };
        let d = self.result_word(d, Type::B32)?;
        self.b.op(Op::SHFL).m(mode).to_or_drop(p, File::P).to(d).from(a).from(lane).from(control).emit();
        Ok(())
    }

    /// `vote`, with and without `.sync`.
    pub fn vote(&mut self, i: &Instruction) -> Lowered {
        if i.modifiers.has(Word::Sync) {
            let mask = self.operand(i, 2)?.clone();
            self.warp_sync(&mask, false)?;
        }
        let p = self.predicate(self.operand(i, 1)?)?;
        let d = self.operand(i, 0)?;
        let mode = match i.modifiers.at() {
            Some(Vote::Ballot) => {
                let d = self.result_word(d, Type::B32)?;
                self.b.op(Op::VOTE).m(Mod::ANY).to(d).drop_result(File::P).from(p).emit();
                return Ok(());
            }
            Some(Vote::All) => Mod::ALL,
            Some(Vote::Any) => Mod::ANY,
            Some(Vote::Uni) => Mod::EQ,
            None => return Err(self.unsupported_form(i)),
        };
        let Some(d) = self.result_predicate(d)? else { return Ok(()) };
        self.b.op(Op::VOTE).m(mode).drop_result(File::R).to(d).from(p).emit();
        Ok(())
    }

    /// `activemask`.
    pub fn active_mask(&mut self, i: &Instruction) -> Lowered {
        let d = self.result_word(self.operand(i, 0)?, Type::B32)?;
        self.b.op(Op::VOTE).m(Mod::ANY).to(d).drop_result(File::P).from(Source::pt()).emit();
        Ok(())
    }

    /// `match`.
    pub fn match_lanes(&mut self, i: &Instruction) -> Lowered {
        let ty = self.ty(i, 0)?;
        let (d, p) = self.results(self.operand(i, 0)?);
        let mask = self.operand(i, 2)?.clone();
        self.warp_sync(&mask, false)?;
        let a = self.words(self.operand(i, 1)?, ty)?;
        let a = if a.len() == 2 { self.tuple(a) } else { self.in_register(a[0].clone()) };
        let p = match p {
            Some(p) => self.result_predicate(p)?,
            None => None,
        };
        let d = self.result_word(d, Type::B32)?;
        let draft = self.b.op(Op::MATCH).m_if(ty.bits() == 64, Mod::U64);
        if i.modifiers.has(Word::All) {
            draft.m(Mod::ALL).to_or_drop(p, File::P).to(d).from(a).emit();
        } else {
            draft.m(Mod::ANY).to(d).from(a).emit();
        }
        Ok(())
    }

    /// `redux`.
    pub fn reduce(&mut self, i: &Instruction) -> Lowered {
        let reduction = LaneReduction::of(i).ok_or_else(|| self.unsupported_form(i))?;
        let ty = reduction.ty;
        let fixed = reduction.is_extreme() && self.has(Op::CREDUX);
        if ty.is_float() && !fixed {
            return Err(self.unsupported_form(i));
        }
        let behind = if self.uniform { None } else { self.begin_region() };
        let mask = self.operand(i, 2)?.clone();
        self.warp_sync(&mask, false)?;
        let a = self.word(self.operand(i, 1)?, ty)?;
        let a = self.in_register(a);
        let operand = self.operand(i, 0)?;
        if !self.uniform {
            let mask = self.word(self.operand(i, 2)?, Type::B32)?;
            self.reduce_by_shuffles(operand, a, mask, reduction)?;
            self.end_region(behind);
            return Ok(());
        }
        let whole = self.b.temporary(File::UR);
        // Where there is a choice: the one with fixed latency.
        let op = if fixed { Op::CREDUX } else { Op::REDUX };
        self.b.op(op).mods(&reduction.mods()).to(whole).from(a).emit();
        let d = self.result_word(operand, ty)?;
        self.b.mov(d, whole);
        Ok(())
    }

    /// A reduction without a uniform register: each lane of the mask accumulates the values of all live lanes in
    /// sequence. Every lane has as many iterations, so that they stay converged.
    fn reduce_by_shuffles(
        &mut self,
        d: &Operand,
        a: Source,
        mask: Source,
        reduction: LaneReduction,
    ) -> Lowered {
        let [left, total, live] = [self.b.r(), self.b.r(), self.b.r()];
        self.b.op(Op::VOTE).m(Mod::ANY).to(live).drop_result(File::P).from(Source::pt()).emit();
        self.b.and(left, live, mask);
        self.b.mov(total, imm(reduction.identity()));
        let again = self.b.new_block();
        self.run_into(again);
        let [lane, other, next, bit, rest] = [self.b.r(), self.b.r(), self.b.r(), self.b.r(), self.b.r()];
        self.op(Op::FLO, &[Mod::U32], lane, [left.into()]);
        self.b
            .op(Op::SHFL)
            .m(Mod::IDX)
            .drop_result(File::P)
            .to(other)
            .from(a)
            .from(lane)
            .from(Source::literal(0x1f))
            .emit();
        self.join_lanes(reduction, next, total, other);
        self.b.mov(total, next);
        let one = self.in_register(imm(1));
        self.b.shl(bit, one, lane);
        self.b.xor(rest, left, bit);
        self.b.mov(left, rest);
        let more = self.b.p();
        self.b.isetp(more, Mod::NE, true, rest, Source::rz());
        let done = self.b.new_block();
        self.b.branch(Guard { value: more, negated: false }, again, done);
        self.open(done);
        self.write(d, reduction.ty, &[total.into()])
    }

    /// `d <- a` and `b` reduced.
    fn join_lanes(&mut self, reduction: LaneReduction, d: Value, a: Value, b: Value) {
        let LaneReduction { operation, ty, magnitudes, propagate_nan } = reduction;
        let least = if operation == Operation::Min { Source::pt() } else { Source::not_pt() };
        let unsigned: &[Mod] = if ty.is_signed() { &[] } else { &[Mod::U32] };
        match operation {
            Operation::Min | Operation::Max if ty.is_float() => {
                let mods: &[Mod] = if propagate_nan { &[Mod::NAN] } else { &[] };
                let b = Source::value(b);
                let b = if magnitudes { b.magnitude() } else { b };
                self.op(Op::FMNMX, mods, d, [a.into(), b, least]);
            }
            Operation::Min | Operation::Max => self.min_max(unsigned, d, a.into(), b.into(), least),
            Operation::Add => self.b.iadd3(d, a, b, Source::rz()),
            Operation::Or => self.b.or(d, a, b),
            Operation::Xor => self.b.xor(d, a, b),
            _ => self.b.and(d, a, b),
        }
    }

    /// `elect`.
    pub fn elect(&mut self, i: &Instruction) -> Lowered {
        let (d, p) = self.results(self.operand(i, 0)?);
        let mask = self.operand(i, 1)?.clone();
        self.warp_sync(&mask, false)?;
        let p = match p {
            Some(p) => self.result_predicate(p)?,
            None => None,
        };
        let wanted = !matches!(d, Operand::Sink);
        let leads = p.unwrap_or_else(|| self.b.p());
        self.b.op(Op::ELECT).to(leads).drop_result(File::UR).from(Source::pt()).emit();
        if wanted {
            // The lane that was elected, through a ballot, which needs no uniform register.
            let votes = self.b.r();
            self.b.op(Op::VOTE).m(Mod::ANY).to(votes).drop_result(File::P).from(leads).emit();
            let d = self.result_word(d, Type::B32)?;
            self.op(Op::FLO, &[Mod::U32], d, [votes.into()]);
        }
        Ok(())
    }
}

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

/// An immediate as a literal of the instruction.
fn small(source: Source, mask: u32) -> Source {
    match source.kind {
        SourceKind::Imm(bits) => Source::literal((bits & mask).into()),
        SourceKind::Zero(_) => Source::literal(0),
        _ => source,
    }
}
