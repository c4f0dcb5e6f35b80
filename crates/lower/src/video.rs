//! The video instructions: scalar ones with a second operation, and those on the halves or bytes of a word.

use crate::LowerError;
use crate::context::{Lower, Lowered};
use crate::operand::imm;
use oriole_hir::Instruction;
use oriole_ori::{Pseudo, Source, Value};
use oriole_ptx::word::{Bounds, Comparison, SecondOperation};
use oriole_ptx::{Opcode, Type, Word};
use oriole_sass::{Mod, Op};

/// What a video instruction does with its two operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Action {
    Add,
    Subtract,
    Distance,
    Minimum,
    Maximum,
    Average,
    Compare,
    ShiftLeft,
    ShiftRight,
}

/// What a video instruction does, and on how many parts of a word; `None` for other opcodes.
pub(crate) fn action(opcode: Opcode) -> Option<(Action, u32)> {
    Some(match opcode {
        Opcode::Vadd => (Action::Add, 1),
        Opcode::Vsub => (Action::Subtract, 1),
        Opcode::Vabsdiff => (Action::Distance, 1),
        Opcode::Vmin => (Action::Minimum, 1),
        Opcode::Vmax => (Action::Maximum, 1),
        Opcode::Vset => (Action::Compare, 1),
        Opcode::Vshl => (Action::ShiftLeft, 1),
        Opcode::Vshr => (Action::ShiftRight, 1),
        Opcode::Vadd2 => (Action::Add, 2),
        Opcode::Vsub2 => (Action::Subtract, 2),
        Opcode::Vabsdiff2 => (Action::Distance, 2),
        Opcode::Vmin2 => (Action::Minimum, 2),
        Opcode::Vmax2 => (Action::Maximum, 2),
        Opcode::Vset2 => (Action::Compare, 2),
        Opcode::Vavrg2 => (Action::Average, 2),
        Opcode::Vadd4 => (Action::Add, 4),
        Opcode::Vsub4 => (Action::Subtract, 4),
        Opcode::Vabsdiff4 => (Action::Distance, 4),
        Opcode::Vmin4 => (Action::Minimum, 4),
        Opcode::Vmax4 => (Action::Maximum, 4),
        Opcode::Vset4 => (Action::Compare, 4),
        Opcode::Vavrg4 => (Action::Average, 4),
        _ => return None,
    })
}

impl Lower<'_> {
    /// Any video instruction.
    pub fn video(&mut self, i: &Instruction) -> Lowered {
        let Some((action, lanes)) = action(i.opcode) else { return Err(self.unsupported_form(i)) };
        if lanes == 1 { self.video_scalar(i, action) } else { self.video_lanes(i, action, lanes) }
    }

    /// Types of destination and operands; `vset` has no destination type.
    fn video_types(&self, i: &Instruction, action: Action) -> Result<(Type, Type, Type), LowerError> {
        let shift = usize::from(action != Action::Compare);
        let a = self.ty(i, shift)?;
        let b = self.ty(i, shift + 1)?;
        Ok((if shift == 1 { self.ty(i, 0)? } else { Type::U32 }, a, b))
    }

    /// A scalar instruction, computed in 64 bits, where nothing can overflow.
    fn video_scalar(&mut self, i: &Instruction, action: Action) -> Lowered {
        let (to, ta, tb) = self.video_types(i, action)?;
        let second = i.modifiers.at();
        let a = self.widened(self.operand(i, 1)?, ta)?;
        let result = if matches!(action, Action::ShiftLeft | Action::ShiftRight) {
            let amount = self.word(self.operand(i, 2)?, Type::U32)?;
            let amount = self.in_register(amount);
            let limited = self.b.r();
            if i.modifiers.at() == Some(Bounds::Wrap) {
                self.b.and(limited, amount, 31u32);
            } else {
                self.min_max(&[Mod::U32], limited, amount, imm(32), Source::pt());
            }
            let d = self.b.pair();
            if action == Action::ShiftLeft && i.modifiers.has(Word::Sat) {
                // Of the shifted value 34 bits are seen, the highest as the sign.
                let shifted = self.b.pair();
                let raised = self.b.r();
                self.pseudo(Pseudo::Shl64, &[], shifted, [a, limited.into()]);
                self.b.mov(d[0], shifted[0]);
                self.b.shl(raised, shifted[1], 30u32);
                self.b.sar(d[1], raised, 30u32);
            } else if action == Action::ShiftLeft {
                self.pseudo(Pseudo::Shl64, &[], d, [a, limited.into()]);
            } else {
                let sign = if ta.is_signed() { Mod::S64 } else { Mod::U64 };
                self.pseudo(Pseudo::Shr64, &[sign], d, [a, limited.into()]);
            }
            d
        } else {
            let b = self.widened(self.operand(i, 2)?, tb)?;
            self.video_wide(i, action, a, b)?
        };
        let mut result: [Value; 2] = result;
        if i.modifiers.has(Word::Sat) && action != Action::Compare {
            let (least, greatest) = if to.is_signed() {
                (i64::from(i32::MIN), i64::from(i32::MAX))
            } else {
                (0, i64::from(u32::MAX))
            };
            let least = self.tuple([imm(least as u32), imm((least >> 32) as u32)]);
            let greatest = self.tuple([imm(greatest as u32), imm((greatest >> 32) as u32)]);
            let [raised, capped] = [self.b.pair(), self.b.pair()];
            self.pseudo(Pseudo::Max64, &[Mod::S64], raised, [result.into(), least]);
            self.pseudo(Pseudo::Min64, &[Mod::S64], capped, [raised.into(), greatest]);
            result = capped;
        }
        match second {
            None => self.write(self.operand(i, 0)?, Type::B32, &[result[0].into()]),
            Some(SecondOperation::Add) => {
                let c = self.word(self.operand(i, 3)?, to)?;
                let d = self.result_word(self.operand(i, 0)?, Type::B32)?;
                self.add(d, result[0].into(), c);
                Ok(())
            }
            Some(which @ (SecondOperation::Min | SecondOperation::Max)) => {
                // Compared before the result is cut to 32 bits, as a number of the result's sign.
                let c = self.widened(self.operand(i, 3)?, to)?;
                let chosen = self.b.pair();
                let pseudo = if which == SecondOperation::Min { Pseudo::Min64 } else { Pseudo::Max64 };
                let sign = if to.is_signed() { Mod::S64 } else { Mod::U64 };
                self.pseudo(pseudo, &[sign], chosen, [result.into(), c]);
                self.write(self.operand(i, 0)?, Type::B32, &[chosen[0].into()])
            }
        }
    }

    fn video_wide(
        &mut self,
        i: &Instruction,
        action: Action,
        a: Source,
        b: Source,
    ) -> Result<[Value; 2], LowerError> {
        let d = self.b.pair();
        match action {
            Action::Add => self.pseudo(Pseudo::Add64, &[], d, [a, b]),
            Action::Subtract => self.pseudo(Pseudo::Add64, &[], d, [a, b.negated()]),
            Action::Minimum => self.pseudo(Pseudo::Min64, &[Mod::S64], d, [a, b]),
            Action::Maximum => self.pseudo(Pseudo::Max64, &[Mod::S64], d, [a, b]),
            Action::Distance => {
                let [up, down] = [self.b.pair(), self.b.pair()];
                self.pseudo(Pseudo::Add64, &[], up, [a.clone(), b.clone().negated()]);
                self.pseudo(Pseudo::Add64, &[], down, [b, a.negated()]);
                self.pseudo(Pseudo::Max64, &[Mod::S64], d, [up.into(), down.into()]);
            }
            Action::Compare => {
                let compare = self.video_comparison(i)?;
                let p = self.b.p();
                self.pseudo(Pseudo::SetPredicate64, &[compare, Mod::S64], [p], [a, b]);
                self.b.sel(d[0], Source::rz(), 1u32, Source::value(p).inverted());
                self.b.mov(d[1], Source::rz());
            }
            _ => return Err(self.unsupported_form(i)),
        }
        Ok(d)
    }

    fn video_comparison(&self, i: &Instruction) -> Result<Mod, LowerError> {
        Ok(match i.modifiers.at() {
            Some(Comparison::Eq) => Mod::EQ,
            Some(Comparison::Ne) => Mod::NE,
            Some(Comparison::Lt) => Mod::LT,
            Some(Comparison::Le) => Mod::LE,
            Some(Comparison::Gt) => Mod::GT,
            Some(Comparison::Ge) => Mod::GE,
            _ => return Err(self.unsupported_form(i)),
        })
    }

    /// An instruction on the halves or bytes of a word: each lane in 32 bits, clamped if asked for, then cut and put
    /// together. With `.add` the lanes are summed up with the third operand.
    fn video_lanes(&mut self, i: &Instruction, action: Action, lanes: u32) -> Lowered {
        let (to, ta, tb) = self.video_types(i, action)?;
        let width = 32 / lanes;
        let a = self.word(self.operand(i, 1)?, Type::B32)?;
        let a = self.in_register(a);
        let b = self.word(self.operand(i, 2)?, Type::B32)?;
        let b = self.in_register(b);
        let sum_up = i.modifiers.has(Word::Add);
        if action == Action::Distance
            && lanes == 4
            && !to.is_signed()
            && !ta.is_signed()
            && !tb.is_signed()
            && !i.modifiers.has(Word::Sat)
        {
            let c = if sum_up { self.word(self.operand(i, 3)?, Type::B32)? } else { Source::rz() };
            let c = self.in_register(c);
            let d = self.result_word(self.operand(i, 0)?, Type::B32)?;
            let mods: &[Mod] = if sum_up { &[Mod::U8, Mod::ACC] } else { &[Mod::U8] };
            self.op(Op::VABSDIFF4, mods, d, [a, b, c]);
            return Ok(());
        }
        let mut parts = Vec::new();
        for lane in 0..lanes {
            let x = self.lane(a.clone(), lane, width, ta.is_signed());
            let y = self.lane(b.clone(), lane, width, tb.is_signed());
            let mut value = self.video_lane(i, action, x, y)?;
            if i.modifiers.has(Word::Sat) && action != Action::Compare {
                let (least, greatest) = if to.is_signed() {
                    (-(1i32 << (width - 1)), (1i32 << (width - 1)) - 1)
                } else {
                    (0, ((1u32 << width) - 1) as i32)
                };
                let [raised, capped] = [self.b.r(), self.b.r()];
                self.min_max(&[], raised, value.into(), imm(least as u32), Source::not_pt());
                self.min_max(&[], capped, raised.into(), imm(greatest as u32), Source::pt());
                value = capped;
            }
            parts.push(Source::value(value));
        }
        if sum_up {
            let mut sum = self.word(self.operand(i, 3)?, Type::B32)?;
            for part in parts {
                let next = self.b.r();
                self.add(next, part, sum);
                sum = next.into();
            }
            return self.write(self.operand(i, 0)?, Type::B32, &[sum]);
        }
        let word = self.join(parts, width);
        self.write(self.operand(i, 0)?, Type::B32, &[word])
    }

    /// One lane of a word, extended to 32 bits.
    fn lane(&mut self, word: Source, lane: u32, width: u32, signed: bool) -> Value {
        let byte = lane * width / 8;
        let selector = if width == 16 {
            let high = byte + 1;
            let fill = if signed { high | 8 } else { 7 };
            fill << 12 | fill << 8 | high << 4 | byte
        } else {
            let fill = if signed { byte | 8 } else { 7 };
            fill << 12 | fill << 8 | fill << 4 | byte
        };
        let d = self.b.r();
        self.b.prmt(d, word, imm(selector), Source::rz());
        d
    }

    fn video_lane(
        &mut self,
        i: &Instruction,
        action: Action,
        x: Value,
        y: Value,
    ) -> Result<Value, LowerError> {
        let d = self.b.r();
        match action {
            Action::Add => self.b.iadd3(d, x, y, Source::rz()),
            Action::Subtract => self.b.iadd3(d, x, Source::value(y).negated(), Source::rz()),
            Action::Minimum => self.min_max(&[], d, x.into(), y.into(), Source::pt()),
            Action::Maximum => self.min_max(&[], d, x.into(), y.into(), Source::not_pt()),
            Action::Distance => {
                let difference = self.b.r();
                self.b.iadd3(difference, x, Source::value(y).negated(), Source::rz());
                self.op(Op::IABS, &[], d, [difference.into()]);
            }
            Action::Average => {
                // Rounded away from zero: one more before halving, unless the sum is negative.
                let [sum, sign, rounded] = [self.b.r(), self.b.r(), self.b.r()];
                self.b.iadd3(sum, x, y, Source::rz());
                self.b.sar(sign, sum, 31u32);
                self.b.iadd3(rounded, sum, 1u32, sign);
                self.b.sar(d, rounded, 1u32);
            }
            Action::Compare => {
                let compare = self.video_comparison(i)?;
                let p = self.b.p();
                self.b.isetp(p, compare, false, x, y);
                self.b.sel(d, Source::rz(), 1u32, Source::value(p).inverted());
            }
            Action::ShiftLeft | Action::ShiftRight => return Err(self.unsupported_form(i)),
        }
        Ok(d)
    }
}
