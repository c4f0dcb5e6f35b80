//! 64-bit integer arithmetic that is more than one pseudo-operation.

use crate::context::{Lower, Lowered};
use oriole_hir::Instruction;
use oriole_ori::{Pseudo, Source};
use oriole_ptx::word::Part;
use oriole_ptx::{Opcode, Type, Word};
use oriole_sass::Mod;

/// The signedness modifier of a 64-bit pseudo-operation.
pub(crate) fn signedness_64(ty: Type) -> Mod {
    if ty.is_signed() { Mod::S64 } else { Mod::U64 }
}

impl Lower<'_> {
    /// `add` and `sub` of 64-bit integers without carry.
    pub fn add_64(&mut self, i: &Instruction) -> Lowered {
        let ty = self.ty(i, 0)?;
        if i.modifiers.has(Word::Sat) {
            return Err(self.unsupported_form(i));
        }
        let a = self.pair(self.operand(i, 1)?, ty)?;
        let b = self.pair(self.operand(i, 2)?, ty)?;
        let d = self.result_pair(self.operand(i, 0)?, ty)?;
        self.pseudo(Pseudo::Add64, &[], d, [a, if i.opcode == Opcode::Sub { b.negated() } else { b }]);
        Ok(())
    }

    /// `mul`, `mad` and `madc` of 64-bit integers, `.lo` and `.hi`.
    pub fn multiply_64(&mut self, i: &Instruction, ty: Type) -> Lowered {
        let a = self.pair(self.operand(i, 1)?, ty)?;
        let b = self.pair(self.operand(i, 2)?, ty)?;
        let high = i.modifiers.at() == Some(Part::Hi);
        let has_addend = i.opcode != Opcode::Mul;
        let c = if has_addend { Some(self.words(self.operand(i, 3)?, ty)?) } else { None };
        let d = self.result_pair(self.operand(i, 0)?, ty)?;
        let product = if has_addend { self.b.pair() } else { d };
        if high {
            self.pseudo(Pseudo::MulHi64, &[signedness_64(ty)], product, [a, b]);
        } else {
            self.pseudo(Pseudo::Mul64, &[], product, [a, b]);
        }
        let Some(c) = c else { return Ok(()) };
        let (takes, gives) = (i.opcode == Opcode::Madc, i.modifiers.has(Word::Cc));
        if takes || gives {
            let product = product.map(Source::value);
            self.add_chain(&d, &product, &c, false, takes, gives);
        } else {
            let c = self.tuple(c);
            self.pseudo(Pseudo::Add64, &[], d, [product.into(), c]);
        }
        Ok(())
    }

    /// `sad` of 64-bit integers.
    pub fn sad_64(&mut self, i: &Instruction, ty: Type) -> Lowered {
        let a = self.pair(self.operand(i, 1)?, ty)?;
        let b = self.pair(self.operand(i, 2)?, ty)?;
        let c = self.pair(self.operand(i, 3)?, ty)?;
        let d = self.result_pair(self.operand(i, 0)?, ty)?;
        let less = self.b.p();
        self.pseudo(Pseudo::SetPredicate64, &[Mod::LT, signedness_64(ty)], [less], [a.clone(), b.clone()]);
        let [up, down, distance] = [self.b.pair(), self.b.pair(), self.b.pair()];
        self.pseudo(Pseudo::Add64, &[], up, [b.clone(), a.clone().negated()]);
        self.pseudo(Pseudo::Add64, &[], down, [a, b.negated()]);
        self.pseudo(Pseudo::Select64, &[], distance, [up.into(), down.into(), less.into()]);
        self.pseudo(Pseudo::Add64, &[], d, [distance.into(), c]);
        Ok(())
    }

    /// `abs` of 64-bit integers.
    pub fn abs_64(&mut self, i: &Instruction, ty: Type) -> Lowered {
        let a = self.pair(self.operand(i, 1)?, ty)?;
        let d = self.result_pair(self.operand(i, 0)?, ty)?;
        let less = self.b.p();
        self.pseudo(Pseudo::SetPredicate64, &[Mod::LT, Mod::S64], [less], [a.clone(), Source::rz()]);
        let negative = self.b.pair();
        self.pseudo(Pseudo::Add64, &[], negative, [Source::rz(), a.clone().negated()]);
        self.pseudo(Pseudo::Select64, &[], d, [negative.into(), a, less.into()]);
        Ok(())
    }
}
