//! Operations with different encodings on different chips. The code checks for opcodes and forms of the chip, never
//! for the chip itself.

use crate::context::Lower;
use crate::sparse::LOWER_HALVES;
use oriole_ori::{Opcode, Source, Value};
use oriole_sass::{Mod, Mods, Op, Operand, OperandKind, form, legal, on_chip, unsaid};

impl Lower<'_> {
    /// True if the chip has the opcode.
    pub fn has(&self, op: Op) -> bool {
        oriole_sass::has(self.chip, op)
    }

    /// True if the chip has a form for such an instruction.
    pub fn is_legal(&self, op: Op, mods: &Mods, operands: &[Operand]) -> bool {
        form::table(self.chip).is_some_and(|forms| legal(forms, op, mods, operands).is_some())
    }

    /// True if the opcode takes these modifiers with `registers` general registers, the result included.
    pub fn takes(&self, op: Op, mods: &[Mod], registers: usize) -> bool {
        let operands = vec![Operand::plain(OperandKind::Reg(0)); registers];
        self.is_legal(op, &Mods::of(mods), &operands)
    }

    /// [`Self::takes`] for a sparse MMA, whose last operands are a word and a literal.
    pub fn takes_sparse(&self, op: Op, mods: &[Mod]) -> bool {
        let mut operands = vec![Operand::plain(OperandKind::Reg(0)); 5];
        operands.push(Operand::plain(OperandKind::Imm(0)));
        let mut mods = Mods::of(mods);
        mods.insert(Mod::SP);
        self.is_legal(op, &mods, &operands)
    }

    /// `d <- min(a, b)` where `least` is true, else the max. `U32` means unsigned; packed 16-bit integers are handled
    /// one by one and a lower bound of zero is a second step where there is no `VIMNMX`.
    pub fn min_max(&mut self, mods: &[Mod], d: Value, a: Source, b: Source, least: Source) {
        let op = on_chip(self.chip, Op::VIMNMX);
        if op != Op::VIMNMX && mods.iter().any(|&it| matches!(it, Mod::S16x2 | Mod::U16x2)) {
            self.min_max_of_halves(mods, d, a, b, least);
            return;
        }
        let bounded = op != Op::VIMNMX && mods.contains(&Mod::RELU);
        let mut mods: Vec<Mod> = mods.iter().copied().filter(|&it| !(bounded && it == Mod::RELU)).collect();
        mods.extend(unsaid(self.chip, op, &Mods::of(&mods)));
        let found = if bounded { self.b.r() } else { d };
        self.op(op, &mods, found, [a, b, least]);
        if bounded {
            self.op(op, &mods, d, [found.into(), Source::rz(), Source::not_pt()]);
        }
    }

    /// [`Self::min_max`] of two packed 16-bit integers, each widened to 32 bits.
    fn min_max_of_halves(&mut self, mods: &[Mod], d: Value, a: Source, b: Source, least: Source) {
        let signed = mods.contains(&Mod::S16x2);
        let mut each: Vec<Mod> = if signed { Vec::new() } else { vec![Mod::U32] };
        each.extend(mods.iter().filter(|&&it| it == Mod::RELU));
        let [a, b] = [a, b].map(|it| self.in_register(it));
        // Two bytes, and in the upper ones the sign of the second, or bytes of `RZ`.
        let selectors = if signed { [0x9910u32, 0xbb32] } else { [0x4410, 0x4432] };
        let found = selectors.map(|selector| {
            let [first, second, found] = [self.b.r(), self.b.r(), self.b.r()];
            self.b.prmt(first, a.clone(), selector, Source::rz());
            self.b.prmt(second, b.clone(), selector, Source::rz());
            self.min_max(&each, found, first.into(), second.into(), least.clone());
            found
        });
        self.b.prmt(d, found[0], 0x5410u32, found[1]);
    }

    /// `d <- a + b`, or `a - b`, of two 16-bit integers in a word; `b` is a register where it is subtracted.
    pub fn add_halves(&mut self, d: Value, a: Source, b: Source, subtract: bool) {
        let sign = |b: Source| if subtract { b.negated() } else { b };
        if self.takes(Op::VIADD, &[Mod::_16x2], 3) {
            self.op(Op::VIADD, &[Mod::_16x2], d, [a, sign(b)]);
            return;
        }
        // The upper add excludes the lower half of `b`, so that nothing carries into it.
        let b = self.in_register(b);
        let [low, upper, high] = [self.b.r(), self.b.r(), self.b.r()];
        self.b.and(upper, b.clone(), 0xffff_0000u32);
        self.b.iadd3(low, a.clone(), sign(b), Source::rz());
        self.b.iadd3(high, a, sign(upper.into()), Source::rz());
        self.b.prmt(d, low, 0x7610u32, high);
    }

    /// `d <- |a - b| + c`. `U32` means unsigned.
    pub fn add_distance(&mut self, mods: &[Mod], d: Value, a: Source, b: Source, c: Source) {
        if self.has(Op::VABSDIFF) {
            self.op(Op::VABSDIFF, mods, d, [a, b, c]);
            return;
        }
        let [least, greatest] = [self.b.r(), self.b.r()];
        self.min_max(mods, least, a.clone(), b.clone(), Source::pt());
        self.min_max(mods, greatest, a, b, Source::not_pt());
        let c = self.in_register(c);
        self.op(Op::IADD3, &[], d, [greatest.into(), Source::value(least).negated(), c]);
    }

    /// Converts an integer to f32, rounded to nearest.
    pub fn integer_to_single(&mut self, d: Value, signed: bool, a: Source) {
        if self.has(Op::I2FP) {
            self.op(Op::I2FP, &[Mod::F32, if signed { Mod::S32 } else { Mod::U32 }], d, [a]);
        } else {
            self.op(Op::I2F, if signed { &[] } else { &[Mod::U32] }, d, [a]);
        }
    }

    /// The opcode of an operation on global memory whose old value is dead.
    pub fn reduction(&self) -> Op {
        on_chip(self.chip, Op::REDG)
    }

    /// The modifiers of `F2FP` that packs two f32 values as this 16-bit type.
    pub fn packing(&self, half: Mod) -> Vec<Mod> {
        let named = vec![half, Mod::F32, Mod::PACK_AB];
        if self.takes(Op::F2FP, &named, 3) {
            return named;
        }
        // There the type of the sources is implicit, and that of the result is named only where it is not f16.
        [(half != Mod::F16).then_some(half), Some(Mod::PACK_AB)].into_iter().flatten().collect()
    }

    /// Packs two f32 values as 16-bit floats in one word.
    pub fn halves_of(&mut self, high: Source, low: Source) -> Value {
        let d = self.b.r();
        if self.has(Op::F2FP) {
            let mods = self.packing(Mod::F16);
            self.op(Op::F2FP, &mods, d, [high, low]);
            return d;
        }
        let [low, high] = [low, high].map(|single| {
            let half = self.b.r();
            self.op(Op::F2F, &[Mod::F16, Mod::F32_2], half, [single]);
            half
        });
        self.b.prmt(d, low, LOWER_HALVES, high);
        d
    }

    /// Adds modifiers that some chips require on each access: the scope (the system for weak accesses), and the `.U`
    /// of loads from shared memory, which ptxas always writes.
    pub fn complete_accesses(&mut self) {
        let (names_scopes, marks_loads) = (!self.loads(Op::LDG, Mod::E), self.loads(Op::LDS, Mod::U));
        if !names_scopes && !marks_loads {
            return;
        }
        let function = self.b.function_mut();
        for block in function.block_ids() {
            for instruction in &mut function.block_mut(block).instructions {
                let scopes = [Mod::CTA, Mod::SM, Mod::GPU, Mod::SYS];
                match instruction.opcode {
                    Opcode::Sass(Op::LD | Op::LDG | Op::ST | Op::STG)
                        if names_scopes && !scopes.iter().any(|&scope| instruction.mods.has(scope)) =>
                    {
                        instruction.mods.insert(Mod::SYS);
                    }
                    Opcode::Sass(Op::LDS) if marks_loads => instruction.mods.insert(Mod::U),
                    _ => {}
                }
            }
        }
    }

    /// True if the opcode loads from an address in a register with just this modifier.
    fn loads(&self, op: Op, modifier: Mod) -> bool {
        let place = OperandKind::Memory { descriptor: None, base: Some(0), uniform: None, offset: 0 };
        let operands = [Operand::plain(OperandKind::Reg(0)), Operand::plain(place)];
        self.is_legal(op, &Mods::of(&[modifier]), &operands)
    }

    /// True if an access may move 256 bits of global memory at once, in two groups of registers.
    pub fn has_widest_accesses(&self) -> bool {
        let place = OperandKind::Memory { descriptor: Some(0), base: Some(0), uniform: None, offset: 0 };
        let group = Operand::plain(OperandKind::Reg(0));
        let mut place = Operand::plain(place);
        place.suffixes = Mods::of(&[Mod::_64]);
        self.is_legal(Op::LDG, &Mods::of(&[Mod::E, Mod::_256, Mod::ENL2]), &[group.clone(), group, place])
    }

    /// SASS modifier of an f16 add with f32 precision in multimem reductions.
    pub fn exact_sum(&self) -> Mod {
        let place = OperandKind::Memory { descriptor: None, base: Some(0), uniform: Some(0), offset: 0 };
        let mut operands = [Operand::plain(OperandKind::Reg(0)), Operand::plain(place)];
        operands[1].suffixes = Mods::of(&[Mod::_64]);
        let mods = [Mod::E, Mod::HPADD, Mod::F16x2, Mod::RN, Mod::STRONG, Mod::SYS];
        if self.is_legal(Op::LDGMC, &Mods::of(&mods), &operands) { Mod::HPADD } else { Mod::F32ADD }
    }

    /// True if `WARPSYNC` has a modifier for all lanes.
    pub fn names_all_lanes(&self) -> bool {
        self.takes(Op::WARPSYNC, &[Mod::ALL], 0)
    }
}
