//! Exchange among the lanes of a warp: shuffles, votes, matches, reductions, elections.
//!
//! Each first waits for the lanes of its mask. A later phase drops the wait where the warp is known to be whole.

use crate::context::{Lower, Lowered};
use crate::operand::imm;
use oriole_hir::{Instruction, Operand};
use oriole_ori::{File, Guard, Source, SourceKind};
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
        let ty = self.ty(i, 0)?;
        if ty.is_float() {
            return Err(self.unsupported_form(i));
        }
        let behind = if self.uniform { None } else { self.begin_region() };
        let mask = self.operand(i, 2)?.clone();
        self.warp_sync(&mask, false)?;
        let a = self.word(self.operand(i, 1)?, ty)?;
        let a = self.in_register(a);
        let signed = ty.is_signed();
        // The operation without a name is AND; those on bits know no sign.
        let mods: &[Mod] = match i.modifiers.at() {
            Some(Operation::And) => &[],
            Some(Operation::Or) => &[Mod::OR],
            Some(Operation::Xor) => &[Mod::XOR],
            Some(Operation::Add) if signed => &[Mod::SUM, Mod::S32],
            Some(Operation::Add) => &[Mod::SUM],
            Some(Operation::Min) if signed => &[Mod::MIN, Mod::S32],
            Some(Operation::Min) => &[Mod::MIN],
            Some(Operation::Max) if signed => &[Mod::MAX, Mod::S32],
            Some(Operation::Max) => &[Mod::MAX],
            Some(Operation::Inc | Operation::Dec | Operation::Exch | Operation::Cas) | None => {
                return Err(self.unsupported_form(i));
            }
        };
        let operand = self.operand(i, 0)?;
        if !self.uniform {
            let mask = self.word(self.operand(i, 2)?, Type::B32)?;
            self.reduce_by_shuffles(operand, a, mask, mods.first().copied(), ty)?;
            self.end_region(behind);
            return Ok(());
        }
        let whole = self.b.temporary(File::UR);
        self.b.op(Op::REDUX).mods(mods).to(whole).from(a).emit();
        let d = self.result_word(operand, ty)?;
        self.b.mov(d, whole);
        Ok(())
    }

    /// A reduction without a uniform register: each lane of the mask collects the values of all that have not ended,
    /// one after the other. Every lane makes as many iterations, so that they stay together.
    fn reduce_by_shuffles(
        &mut self,
        d: &Operand,
        a: Source,
        mask: Source,
        operation: Option<Mod>,
        ty: Type,
    ) -> Lowered {
        let [left, total, live] = [self.b.r(), self.b.r(), self.b.r()];
        self.b.op(Op::VOTE).m(Mod::ANY).to(live).drop_result(File::P).from(Source::pt()).emit();
        self.b.and(left, live, mask);
        let signed = ty.is_signed();
        let identity = match operation {
            Some(Mod::MIN) if signed => i32::MAX as u32,
            Some(Mod::MAX) if signed => i32::MIN as u32,
            Some(Mod::MIN) | None => !0,
            _ => 0,
        };
        self.b.mov(total, imm(identity));
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
        let unsigned: &[Mod] = if signed { &[] } else { &[Mod::U32] };
        match operation {
            Some(Mod::SUM) => self.b.iadd3(next, total, other, Source::rz()),
            Some(Mod::MIN) => self.min_max(unsigned, next, total.into(), other.into(), Source::pt()),
            Some(Mod::MAX) => self.min_max(unsigned, next, total.into(), other.into(), Source::not_pt()),
            Some(Mod::OR) => self.b.or(next, total, other),
            Some(Mod::XOR) => self.b.xor(next, total, other),
            _ => self.b.and(next, total, other),
        }
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
        self.write(d, ty, &[total.into()])
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

/// An immediate as part of the instruction.
fn small(source: Source, mask: u32) -> Source {
    match source.kind {
        SourceKind::Imm(bits) => Source::literal((bits & mask).into()),
        SourceKind::Zero(_) => Source::literal(0),
        _ => source,
    }
}
