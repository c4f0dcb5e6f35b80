//! Exchange among the lanes of a warp: shuffles, votes, matches, reductions, elections.
//!
//! Each first waits for the lanes of its mask. A later phase drops the wait where the warp is known to be whole.

use crate::context::{Lower, Lowered};
use oriole_hir::{Instruction, Operand};
use oriole_ori::{File, Source, SourceKind};
use oriole_ptx::Type;
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
        let mode = if i.modifiers.has("up") {
            Mod::UP
        } else if i.modifiers.has("down") {
            Mod::DOWN
        } else if i.modifiers.has("bfly") {
            Mod::BFLY
        } else {
            Mod::IDX
        };
        if i.modifiers.has("sync") {
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
        if i.modifiers.has("sync") {
            let mask = self.operand(i, 2)?.clone();
            self.warp_sync(&mask, false)?;
        }
        let p = self.predicate(self.operand(i, 1)?)?;
        let d = self.operand(i, 0)?;
        if i.modifiers.has("ballot") {
            let d = self.result_word(d, Type::B32)?;
            self.b.op(Op::VOTE).m(Mod::ANY).to(d).drop_result(File::P).from(p).emit();
            return Ok(());
        }
        let Some(d) = self.result_predicate(d)? else { return Ok(()) };
        let mode = if i.modifiers.has("all") {
            Mod::ALL
        } else if i.modifiers.has("any") {
            Mod::ANY
        } else {
            Mod::EQ
        };
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
        if i.modifiers.has("all") {
            draft.m(Mod::ALL).to_or_drop(p, File::P).to(d).from(a).emit();
        } else {
            draft.m(Mod::ANY).to(d).from(a).emit();
        }
        Ok(())
    }

    /// `redux`.
    pub fn reduce(&mut self, i: &Instruction) -> Lowered {
        let ty = self.ty(i, 0)?;
        let mask = self.operand(i, 2)?.clone();
        self.warp_sync(&mask, false)?;
        let a = self.word(self.operand(i, 1)?, ty)?;
        let a = self.in_register(a);
        let signed = ty.is_signed();
        let has = |name: &str| i.modifiers.has(name);
        let mut mods = Vec::new();
        // The operation without a name is AND.
        for (name, token) in
            [("or", Mod::OR), ("xor", Mod::XOR), ("add", Mod::SUM), ("min", Mod::MIN), ("max", Mod::MAX)]
        {
            mods.extend(has(name).then_some(token));
        }
        mods.extend((signed && !has("and") && !has("or") && !has("xor")).then_some(Mod::S32));
        let whole = self.b.temporary(File::UR);
        self.b.op(Op::REDUX).mods(&mods).to(whole).from(a).emit();
        let d = self.result_word(self.operand(i, 0)?, ty)?;
        self.b.mov(d, whole);
        Ok(())
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
        let lane = wanted.then(|| self.b.temporary(File::UR));
        self.b.op(Op::ELECT).to_or_drop(p, File::P).to_or_drop(lane, File::UR).from(Source::pt()).emit();
        if let Some(lane) = lane {
            let d = self.result_word(d, Type::B32)?;
            self.b.mov(d, lane);
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
