//! Warp-level matrix multiplies and the moves that feed them: `mma`, `ldmatrix`, `stmatrix`, `movmatrix`.
//!
//! The registers of a fragment are one operand of the SASS instruction. Shapes that a chip lacks are built from those
//! that it has. The order of the terms of an integer dot product is free, and so is the assignment of register bits
//! to terms, as long as both factors agree.

use crate::LowerError;
use crate::context::{Lower, Lowered, Words};
use crate::operand::imm;
use oriole_hir::{Immediate, Instruction, Operand};
use oriole_ori::{File, Source, SourceKind, Value};
use oriole_ptx::word::{MatrixCount, Rounding, TensorNumbers};
use oriole_ptx::{MatrixShape, Space, Type, Word};
use oriole_sass::{Mod, Mods, Op, Operand as MachineOperand, OperandKind};
use smallvec::SmallVec;

/// The words of a fragment, lowest register first.
pub(crate) type Fragment = SmallVec<[Source; 8]>;

/// Sparsity metadata: the elements that the left factor has.
#[derive(Clone)]
pub(crate) struct Metadata {
    /// The word of indices.
    pub word: Source,
    /// Selects the lanes whose metadata counts.
    pub selector: u8,
}

/// A PTX matrix multiply with its operands in registers.
#[derive(Clone)]
pub(crate) struct Product {
    pub shape: MatrixShape,
    /// Types of `d`, `a`, `b`.
    pub types: [Type; 3],
    pub a: Fragment,
    pub b: Fragment,
    pub c: Fragment,
    pub d: Words,
    /// For a sparse multiply.
    pub metadata: Option<Metadata>,
}

impl Lower<'_> {
    /// `mma`.
    pub fn multiply_matrices(&mut self, i: &Instruction) -> Lowered {
        if i.modifiers.has(Word::BlockScale) {
            return self.scaled_product(i);
        }
        let (Some(shape), &[to, left, right, from]) = (i.modifiers.matrix_shape(), &i.types[..]) else {
            return Err(self.unsupported_form(i));
        };
        if shape.depth == 4 && left == Type::F16 {
            return self.multiply_quarters(i, to, from);
        }
        if to != from {
            return Err(self.unsupported_form(i));
        }
        let word = if to == Type::F64 { Type::F64 } else { Type::B32 };
        let [a, b, c] = [self.fragment(i, 1, word)?, self.fragment(i, 2, word)?, self.fragment(i, 3, word)?];
        let sparse = i.modifiers.has(Word::Sp) || i.modifiers.has(Word::SpOrderedMetadata);
        let metadata = if sparse { Some(self.metadata(i)?) } else { None };
        let elements = self.elements(self.operand(i, 0)?);
        let direct = self.direct_words(&elements, word);
        let d = direct.clone().unwrap_or_else(|| c.iter().map(|_| self.b.r()).collect());
        let product = Product { shape, types: [to, left, right], a, b, c, d: d.clone(), metadata };
        self.product(i, product)?;
        if direct.is_none() {
            let each = word.bits() as usize / 32;
            let parts = d.chunks(each).map(|part| part.iter().map(|&v| Source::value(v)).collect()).collect();
            self.write_all(&elements, word, parts)?;
        }
        Ok(())
    }

    /// The last two operands of a sparse multiply.
    fn metadata(&mut self, i: &Instruction) -> Result<Metadata, LowerError> {
        let word = self.word(self.operand(i, 4)?, Type::B32)?;
        let Operand::Immediate(Immediate::Integer(selector)) = *self.operand(i, 5)? else {
            return Err(self.unsupported_form(i));
        };
        Ok(Metadata { word: self.in_register(word), selector: selector as u8 })
    }

    /// The words of a fragment that is read.
    pub fn fragment(&mut self, i: &Instruction, index: usize, word: Type) -> Result<Fragment, LowerError> {
        let mut words = Fragment::new();
        for component in self.operand(i, index)?.components() {
            words.extend(self.words(component, word)?);
        }
        Ok(words)
    }

    /// A PTX matrix multiply, by the types of its factors.
    pub fn product(&mut self, i: &Instruction, p: Product) -> Lowered {
        let has = |word| i.modifiers.has(word);
        match p.types {
            [Type::F64, ..] => {
                let rounding = match i.modifiers.at() {
                    None | Some(Rounding::Rn) => None,
                    Some(Rounding::Rz) => Some(Mod::RZ),
                    Some(Rounding::Rm) => Some(Mod::RM),
                    Some(Rounding::Rp) => Some(Mod::RP),
                    Some(Rounding::Rna) => return Err(self.unsupported_form(i)),
                };
                self.double_product(i, p, rounding)
            }
            [_, left, _] if narrow_factor(left).is_some() => self.narrow_float_product(i, p),
            [_, Type::F16 | Type::BF16 | Type::TF32, _] => self.float_product(i, p),
            [_, Type::S8 | Type::U8, _] => self.byte_product(i, p, has(Word::Satfinite)),
            [_, Type::S4 | Type::U4, _] => self.nibble_product(i, p, has(Word::Satfinite)),
            [_, Type::B1, _] => self.bit_product(i, p, has(Word::Xor)),
            _ => Err(self.unsupported_form(i)),
        }
    }

    /// One SASS instruction: the fragments unchanged.
    pub fn emit_product(
        &mut self,
        op: Op,
        mods: &[Mod],
        d: &[Value],
        [a, b, c]: [Source; 3],
        metadata: Option<Metadata>,
    ) {
        let draft = self.b.op(op).mods(mods).to_tuple(d.iter().copied()).from(a).from(b).from(c);
        match metadata {
            None => draft.emit(),
            Some(Metadata { word, selector }) => {
                draft.m(Mod::SP).from(word).from(Source::literal(selector.into())).emit();
            }
        }
    }

    /// An MMA of the first half of the depth, and one that accumulates the second half.
    pub fn product_in_halves(&mut self, i: &Instruction, p: Product) -> Lowered {
        let shape = MatrixShape { depth: p.shape.depth / 2, ..p.shape };
        let Product { types, metadata, .. } = p.clone();
        let middle: Words = p.d.iter().map(|_| self.b.r()).collect();
        let half = |words: &Fragment, upper: bool| -> Fragment {
            let count = words.len() / 2;
            words[if upper { count } else { 0 }..][..count].iter().cloned().collect()
        };
        let sum = middle.iter().map(|&v| Source::value(v)).collect();
        let [a, b] = [half(&p.a, false), half(&p.b, false)];
        self.product(i, Product { shape, types, a, b, c: p.c, d: middle, metadata: metadata.clone() })?;
        let [a, b] = [half(&p.a, true), half(&p.b, true)];
        self.product(i, Product { shape, types, a, b, c: sum, d: p.d, metadata })
    }

    /// True if the chip has such an integer MMA, whose factors name their layouts.
    fn multiplies_integers(&self, mods: &[Mod], sparse: bool) -> bool {
        let mut mods = Mods::of(mods);
        let mut operands = vec![MachineOperand::plain(OperandKind::Reg(0)); 4];
        operands[1].suffixes = Mods::of(&[Mod::ROW]);
        operands[2].suffixes = Mods::of(&[Mod::COL]);
        if sparse {
            mods.insert(Mod::SP);
            operands.push(MachineOperand::plain(OperandKind::Reg(0)));
            operands.push(MachineOperand::plain(OperandKind::Imm(0)));
        }
        self.is_legal(Op::IMMA, &mods, &operands)
    }

    /// f16, bf16 and tf32.
    fn float_product(&mut self, i: &Instruction, p: Product) -> Lowered {
        let mods = float_mods(&p).ok_or_else(|| self.unsupported_form(i))?;
        if p.metadata.is_none() && p.shape.depth > 8 && !self.takes(Op::HMMA, &mods, 4) {
            return self.product_in_halves(i, p);
        }
        let operands = [self.tuple(p.a), self.tuple(p.b), self.tuple(p.c)];
        self.emit_product(Op::HMMA, &mods, &p.d, operands, p.metadata);
        Ok(())
    }

    /// FP8 where the chip has no such MMA: the elements are converted to f16, the two lower ones of each register and
    /// the two upper ones. Two MMAs follow one another, and `c` is added last.
    fn narrow_float_product(&mut self, i: &Instruction, p: Product) -> Lowered {
        if self.has(Op::QMMA) {
            return self.byte_float_product(i, p);
        }
        let eighths = |ty: Type| matches!(ty, Type::E4M3 | Type::E5M2);
        if !(eighths(p.types[1]) && eighths(p.types[2])) {
            return Err(self.unsupported_form(i));
        }
        let shape = MatrixShape { depth: p.shape.depth / 2, ..p.shape };
        let halved = Product { shape, types: [p.types[0], Type::F16, Type::F16], ..p.clone() };
        let mods = float_mods(&halved).ok_or_else(|| self.unsupported_form(i))?;
        let mut metadata = match p.metadata {
            Some(metadata) => self.metadata_of_halves(metadata).map(Some),
            None => [None, None],
        };
        let mut sum = Words::new();
        for (upper, metadata) in [false, true].into_iter().zip(&mut metadata) {
            let a = self.unpacked(&p.a, p.types[1], upper);
            let b = match metadata {
                // The other factor follows its groups of four, which lanes share.
                Some(_) => {
                    let b = self.shared_groups(&p.b, upper);
                    self.unpacked(&b, p.types[2], false)
                }
                None => self.unpacked(&p.b, p.types[2], upper),
            };
            let d: Words = p.d.iter().map(|_| self.b.r()).collect();
            let c = self.tuple(sum.iter().map(|&v| Source::value(v)));
            self.emit_product(Op::HMMA, &mods, &d, [a, b, c], metadata.take());
            sum = d;
        }
        let add = if p.types[0] == Type::F16 { Op::HADD2 } else { Op::FADD };
        for ((&d, c), word) in p.d.iter().zip(p.c).zip(sum) {
            let c = self.in_register(c);
            self.op(add, &[], d, [c, word.into()]);
        }
        Ok(())
    }

    /// The two lower or the two upper FP8 elements of each word as f16.
    fn unpacked(&mut self, words: &Fragment, ty: Type, upper: bool) -> Source {
        let kind = if ty == Type::E4M3 { Mod::E4M3_2 } else { Mod::E5M2_2 };
        let mut halves = Fragment::new();
        for word in words {
            let word = self.in_register(word.clone());
            let word = if upper { word.suffixed(Mod::H1) } else { word };
            let d = self.b.r();
            self.op(Op::F2FP, &[Mod::F16, kind, Mod::UNPACK_B], d, [word]);
            halves.push(d.into());
        }
        self.tuple(halves)
    }

    /// FP8 on a chip with an MMA for it.
    fn byte_float_product(&mut self, i: &Instruction, p: Product) -> Lowered {
        let size = match (p.shape.depth, p.metadata.is_some()) {
            (16, false) => Mod::_16816,
            (32, false) => Mod::_16832,
            (64, true) => Mod::_16864,
            _ => return Err(self.unsupported_form(i)),
        };
        let sum = if p.types[0] == Type::F16 { Mod::F16 } else { Mod::F32 };
        let (Some([left, _]), Some([_, right])) = (narrow_factor(p.types[1]), narrow_factor(p.types[2]))
        else {
            return Err(self.unsupported_form(i));
        };
        let mods = [size, sum, left, right];
        let [a, b, c] = [self.tuple(p.a), self.tuple(p.b), self.tuple(p.c)];
        // Some chips name the layouts of the factors.
        let bare = match p.metadata {
            None => self.takes(Op::QMMA, &mods, 4),
            Some(_) => self.takes_sparse(Op::QMMA, &mods),
        };
        let operands = if bare { [a, b, c] } else { factors(a, b, c) };
        self.emit_product(Op::QMMA, &mods, &p.d, operands, p.metadata);
        Ok(())
    }

    /// Factors of eight bits and less, each block of which has a scale factor.
    fn scaled_product(&mut self, i: &Instruction) -> Lowered {
        let (Some(shape), &[_, left, right, _, scale]) = (i.modifiers.matrix_shape(), &i.types[..]) else {
            return Err(self.unsupported_form(i));
        };
        let sparse = i.modifiers.has(Word::SpOrderedMetadata);
        let (Some([left, _]), Some([_, right])) = (narrow_factor(left), narrow_factor(right)) else {
            return Err(self.unsupported_form(i));
        };
        let (op, size) = match (i.modifiers.has(Word::KindMxf8f6f4), shape.depth, sparse) {
            (true, 32, false) => (Op::QMMA, Mod::_16832),
            (true, 64, true) => (Op::QMMA, Mod::_16864),
            (false, 64, false) => (Op::OMMA, Mod::_16864),
            (false, 128, true) => (Op::OMMA, Mod::_168128),
            _ => return Err(self.unsupported_form(i)),
        };
        let kinds = match (op, i.modifiers.has(Word::ScaleVec4X)) {
            (Op::QMMA, _) => 1,
            (_, false) => 2,
            (_, true) => 4,
        };
        if !self.has(op) {
            return Err(self.unsupported_form(i));
        }
        let word = Type::B32;
        let [a, b, c] = [1, 2, 3].map(|index| self.fragment(i, index, word));
        let (a, b, c) = (self.tuple(a?), self.tuple(b?), self.tuple(c?));
        let metadata = if sparse { Some(self.metadata(i)?) } else { None };
        // Metadata and selector come before the scale factors of both factors, each followed by its positions.
        let first = if sparse { 6 } else { 4 };
        let [scale_a, scale_b] = [first, first + 2].map(|index| self.operand(i, index).cloned());
        let [scale_a, scale_b] = [self.word(&scale_a?, word)?, self.word(&scale_b?, word)?];
        // Metadata have the register before the scale factors of the left factor.
        let scale_a = match &metadata {
            None => self.in_register(scale_a),
            Some(metadata) => self.tuple([metadata.word.clone(), scale_a]),
        };
        let scales = [scale_a, self.in_register(scale_b)];
        let places = self.places_of_scales(i, [first + 1, first + 3], kinds)?;
        let elements = self.elements(self.operand(i, 0)?);
        let direct = self.direct_words(&elements, word);
        let d = direct.clone().unwrap_or_else(|| elements.iter().map(|_| self.b.r()).collect());
        let kind = if scale == Type::UE8M0 { Mod::E8 } else { Mod::UE4M3 };
        let draft = self.b.op(op).mods(&[Mod::SF, size, Mod::F32, left, right, kind]);
        let draft = draft.m_if(kinds == 4, Mod::_4X).to_tuple(d.iter().copied()).from_all([a, b, c]);
        match metadata {
            None => draft.from_all(scales).from(places).emit(),
            Some(Metadata { selector, .. }) => {
                let [scales_a, scales_b] = scales;
                let draft = draft.m(Mod::SP).from(scales_a).from(scales_b).from(places);
                draft.from(Source::literal(selector.into())).emit();
            }
        }
        if direct.is_none() {
            let parts = d.iter().map(|&v| std::iter::once(Source::value(v)).collect()).collect();
            self.write_all(&elements, word, parts)?;
        }
        Ok(())
    }

    /// Positions of the scale factors of an MMA, in a uniform register. For `a`: the byte in two bits, and the pair
    /// of lanes in one. For `b`: the byte and the lane, in two bits each.
    fn places_of_scales(
        &mut self,
        i: &Instruction,
        [of_a, of_b]: [usize; 2],
        factors: u32,
    ) -> Result<Source, LowerError> {
        // Mask of the byte position, which is aligned to the count of factors.
        let bytes = 4 - factors;
        let mut known = 0;
        let mut others = Vec::new();
        for (operand, fields) in [(of_a, [(bytes, 0), (1, 2)]), (of_b, [(bytes, 3), (3, 5)])] {
            let components = self.operand(i, operand)?.components().to_vec();
            for (component, (mask, shift)) in components.iter().zip(fields) {
                match component {
                    Operand::Immediate(Immediate::Integer(number)) => {
                        known |= (*number as u32 & mask) << shift
                    }
                    _ => others.push((self.word(component, Type::U16)?, mask, shift)),
                }
            }
        }
        if others.is_empty() && known == 0 {
            return Ok(Source::plain(SourceKind::Zero(File::UR)));
        }
        let places = self.b.temporary(File::UR);
        if others.is_empty() {
            self.b.mov(places, known);
            return Ok(places.into());
        }
        let mut total: Source = imm(known);
        for (word, mask, shift) in others {
            let [field, moved, both] = [self.b.r(), self.b.r(), self.b.r()];
            let word = self.in_register(word);
            self.b.and(field, word, imm(mask));
            self.b.shl(moved, field, shift);
            self.b.or(both, moved, total);
            total = both.into();
        }
        let total = self.value_of(total);
        self.b.mov(places, total);
        Ok(places.into())
    }

    /// f64.
    fn double_product(&mut self, i: &Instruction, p: Product, rounding: Option<Mod>) -> Lowered {
        let shape = match (p.shape.rows, p.shape.depth) {
            (8, 4) if self.takes(Op::DMMA, &[Mod::_884], 4) => Mod::_884,
            (8, 4) => Mod::_8x8x4,
            (16, 4) => Mod::_16x8x4,
            (16, 8) => Mod::_16x8x8,
            (16, 16) => Mod::_16x8x16,
            _ => return Err(self.unsupported_form(i)),
        };
        let mods: SmallVec<[Mod; 2]> = [Some(shape), rounding].into_iter().flatten().collect();
        if !self.takes(Op::DMMA, &mods, 4) {
            return match (p.shape.rows, p.shape.depth) {
                (_, 8..) => self.product_in_halves(i, p),
                (16, _) => self.product_of_few_rows(i, p),
                _ => Err(self.unsupported_form(i)),
            };
        }
        let operands = [self.tuple(p.a), self.tuple(p.b), self.tuple(p.c)];
        self.emit_product(Op::DMMA, &mods, &p.d, operands, None);
        Ok(())
    }

    /// Bytes.
    fn byte_product(&mut self, i: &Instruction, p: Product, saturates: bool) -> Lowered {
        let [_, left, right] = p.types;
        let signs = [left.is_signed(), right.is_signed()];
        let mods = byte_mods(p.shape, p.metadata.is_some(), signs, saturates)
            .ok_or_else(|| self.unsupported_form(i))?;
        if p.metadata.is_none() && p.shape.rows > 8 && !self.multiplies_integers(&mods, false) {
            return self.product_of_few_rows(i, p);
        }
        if p.metadata.is_none() && p.shape.rows == 8 && !self.multiplies_integers(&mods, false) {
            let p = self.with_more_rows(p);
            return self.byte_product(i, p, saturates);
        }
        let operands = factors(self.tuple(p.a), self.tuple(p.b), self.tuple(p.c));
        self.emit_product(Op::IMMA, &mods, &p.d, operands, p.metadata);
        Ok(())
    }

    /// The multiply with twice the rows; the added ones are zero.
    fn with_more_rows(&mut self, p: Product) -> Product {
        let shape = MatrixShape { rows: 2 * p.shape.rows, ..p.shape };
        let zeros = |words: &Fragment| -> Fragment {
            words.iter().cloned().chain(words.iter().map(|_| Source::rz())).collect()
        };
        let (a, c) = (zeros(&p.a), zeros(&p.c));
        let d = p.d.iter().copied().chain(p.d.iter().map(|_| self.b.r())).collect();
        Product { shape, a, c, d, ..p }
    }

    /// An MMA for the upper half of the rows, and one for the lower half.
    fn product_of_few_rows(&mut self, i: &Instruction, p: Product) -> Lowered {
        let shape = MatrixShape { rows: p.shape.rows / 2, ..p.shape };
        for lower in [false, true] {
            let half = |words: &Fragment| -> Fragment {
                let count = words.len() / 2;
                words[if lower { count } else { 0 }..][..count].iter().cloned().collect()
            };
            let count = p.d.len() / 2;
            let d = p.d[if lower { count } else { 0 }..][..count].iter().copied().collect();
            let (a, c) = (half(&p.a), half(&p.c));
            self.product(i, Product { shape, a, c, d, ..p.clone() })?;
        }
        Ok(())
    }

    /// Four-bit integers: an 8-bit MMA for the even elements and another one for the odd ones.
    fn nibble_product(&mut self, i: &Instruction, p: Product, saturates: bool) -> Lowered {
        let [_, left, right] = p.types;
        let signs = [left.is_signed(), right.is_signed()];
        let sparse = p.metadata.is_some();
        if let Some(mods) = self.nibble_mods(p.shape, sparse, signs, saturates) {
            let operands = factors(self.tuple(p.a), self.tuple(p.b), self.tuple(p.c));
            self.emit_product(Op::IMMA, &mods, &p.d, operands, p.metadata);
            return Ok(());
        }
        // Each MMA has half of the depth; the registers of a fragment are those of one half.
        let shape = MatrixShape { depth: p.shape.depth / 2, ..p.shape };
        let mods = byte_mods(shape, sparse, signs, false).ok_or_else(|| self.unsupported_form(i))?;
        if !sparse && shape.rows == 8 && !self.multiplies_integers(&mods, false) {
            let p = self.with_more_rows(p);
            return self.nibble_product(i, p, saturates);
        }
        let mut c = if saturates { Source::rz() } else { self.tuple(p.c.clone()) };
        let mut sum = Words::new();
        for odd in [false, true] {
            let [a, b] = [(&p.a, signs[0]), (&p.b, signs[1])].map(|(words, signed)| {
                let bytes: Fragment =
                    words.iter().map(|word| self.nibbles(word.clone(), odd, signed)).collect();
                self.tuple(bytes)
            });
            let d: Words =
                if odd && !saturates { p.d.clone() } else { p.d.iter().map(|_| self.b.r()).collect() };
            self.emit_product(Op::IMMA, &mods, &d, factors(a, b, c), p.metadata.clone());
            c = Source::values(d.iter().copied());
            sum = d;
        }
        if saturates {
            // No dot product overflows the word; only the add of `c` can.
            for ((&d, c), word) in p.d.iter().zip(p.c).zip(sum) {
                self.add_saturating(d, c, word.into(), false);
            }
        }
        Ok(())
    }

    /// Modifiers of a four-bit integer MMA; `None` where the chip has none.
    fn nibble_mods(
        &self,
        shape: MatrixShape,
        sparse: bool,
        signed: [bool; 2],
        saturates: bool,
    ) -> Option<SmallVec<[Mod; 4]>> {
        let size = match (shape.rows, shape.depth, sparse) {
            (8, 32, false) => Mod::_8832,
            (16, 32, false) => Mod::_16832,
            (16, 64, _) => Mod::_16864,
            (16, 128, true) => Mod::_168128,
            _ => return None,
        };
        let left = if signed[0] { Mod::S4 } else { Mod::U4 };
        let right = if signed[1] { Mod::S4_2 } else { Mod::U4_2 };
        let mods = [Some(size), Some(left), Some(right), saturates.then_some(Mod::SAT)];
        let mods: SmallVec<[Mod; 4]> = mods.into_iter().flatten().collect();
        self.multiplies_integers(&mods, sparse).then_some(mods)
    }

    /// The even or the odd four-bit integers of a word, each in a byte.
    fn nibbles(&mut self, word: Source, odd: bool, signed: bool) -> Source {
        let mut word = self.in_register(word);
        if odd {
            let d = self.b.r();
            self.b.shr(d, word, 4u32);
            word = d.into();
        }
        let low = self.b.r();
        self.b.and(low, word.clone(), 0x0f0f_0f0fu32);
        if !signed {
            return low.into();
        }
        // The sign of each, times 0x1e, is the upper half of its byte.
        let [sign, d] = [self.b.r(), self.b.r()];
        self.b.and(sign, word, 0x0808_0808u32);
        self.b.imad(d, sign, 0x1eu32, low);
        d.into()
    }

    /// 1-bit MMA: the hardware counts the bits of an AND. An XOR is each factor ANDed with the complement of the
    /// other.
    fn bit_product(&mut self, i: &Instruction, p: Product, differ: bool) -> Lowered {
        let shape = match (p.shape.rows, p.shape.depth) {
            (8, 128) => Mod::_88128,
            (16, 128) => Mod::_168128,
            (16, 256) => Mod::_168256,
            _ => return Err(self.unsupported_form(i)),
        };
        let direct = [shape, if differ { Mod::XOR } else { Mod::AND }, Mod::POPC];
        let mods = [shape, Mod::AND, Mod::POPC];
        if !self.has(Op::BMMA) {
            return self.bit_product_of_bytes(i, p, differ);
        }
        let c = self.tuple(p.c);
        let sum = || MachineOperand::plain(OperandKind::Reg(0));
        let factor = |order| MachineOperand { suffixes: Mods::of(&[order]), ..sum() };
        let shown = [sum(), factor(Mod::ROW), factor(Mod::COL), sum()];
        if !differ || self.is_legal(Op::BMMA, &Mods::of(&direct), &shown) {
            let operands = factors(self.tuple(p.a), self.tuple(p.b), c);
            self.emit_product(Op::BMMA, &direct, &p.d, operands, None);
            return Ok(());
        }
        let middle: Words = p.d.iter().map(|_| self.b.r()).collect();
        let [not_a, not_b] = [self.complements(&p.a), self.complements(&p.b)];
        let operands = factors(self.tuple(p.a), not_b, c);
        self.emit_product(Op::BMMA, &mods, &middle, operands, None);
        let operands = factors(not_a, self.tuple(p.b), Source::values(middle));
        self.emit_product(Op::BMMA, &mods, &p.d, operands, None);
        Ok(())
    }

    /// 1-bit multiply where no MMA exists: each bit becomes a byte of an 8-bit MMA. Two of the eight bits of a byte
    /// are the two halves of an MMA's depth.
    fn bit_product_of_bytes(&mut self, i: &Instruction, p: Product, differ: bool) -> Lowered {
        if p.shape.rows == 8 {
            let p = self.with_more_rows(p);
            return self.bit_product(i, p, differ);
        }
        if p.shape.depth > 128 {
            return self.product_in_halves(i, p);
        }
        let shape = MatrixShape { depth: 32, ..p.shape };
        let mods = byte_mods(shape, false, [false; 2], false).ok_or_else(|| self.unsupported_form(i))?;
        let mut factors_of = vec![(p.a.clone(), p.b.clone())];
        if differ {
            let not_a = self.inverted(&p.a);
            let not_b = self.inverted(&p.b);
            factors_of = vec![(p.a, not_b), (not_a, p.b)];
        }
        let count = factors_of.len() * 4;
        let mut c = self.tuple(p.c);
        for (number, (left, right)) in
            factors_of.into_iter().flat_map(|pair| std::iter::repeat_n(pair, 4)).enumerate()
        {
            let bit = 2 * (number as u32 % 4);
            let mut both = |words: &Fragment| -> Fragment {
                let places = [bit, bit + 1].into_iter();
                places
                    .flat_map(|at| words.iter().map(move |word| (word.clone(), at)))
                    .map(|(w, at)| self.bit_of_bytes(w, at))
                    .collect()
            };
            let (a, b) = (both(&left), both(&right));
            let d: Words =
                if number + 1 == count { p.d.clone() } else { p.d.iter().map(|_| self.b.r()).collect() };
            let operands = factors(self.tuple(a), self.tuple(b), c);
            self.emit_product(Op::IMMA, &mods, &d, operands, None);
            c = Source::values(d);
        }
        Ok(())
    }

    /// One bit of each byte of a word, as an integer.
    fn bit_of_bytes(&mut self, word: Source, bit: u32) -> Source {
        if matches!(word.kind, SourceKind::Zero(_)) {
            return word;
        }
        let mut word = self.in_register(word);
        if bit > 0 {
            let d = self.b.r();
            self.b.shr(d, word, bit);
            word = d.into();
        }
        let d = self.b.r();
        self.b.and(d, word, 0x0101_0101u32);
        d.into()
    }

    fn inverted(&mut self, words: &Fragment) -> Fragment {
        let invert = |word: &Source| {
            let d = self.b.r();
            self.b.not(d, word.clone());
            d.into()
        };
        words.iter().map(invert).collect()
    }

    fn complements(&mut self, words: &Fragment) -> Source {
        let inverted = self.inverted(words);
        self.tuple(inverted)
    }

    /// `ldmatrix`.
    pub fn load_matrix(&mut self, i: &Instruction) -> Lowered {
        let count = self.matrix_count(i)?;
        let address = self.row_address(i, 1)?;
        let elements = self.elements(self.operand(i, 0)?);
        let direct = self.direct_words(&elements, Type::B32);
        let d = direct.clone().unwrap_or_else(|| elements.iter().map(|_| self.b.r()).collect());
        let memory = Self::memory_info(Space::Shared, true, false, false);
        let mods = move_mods(i, count);
        self.b.op(Op::LDSM).mods(&mods).to_tuple(d.clone()).from(address).memory(memory).emit();
        if direct.is_none() {
            let parts = d.iter().map(|&v| SmallVec::from_iter([Source::value(v)])).collect();
            self.write_all(&elements, Type::B32, parts)?;
        }
        Ok(())
    }

    /// `stmatrix`.
    pub fn store_matrix(&mut self, i: &Instruction) -> Lowered {
        if !self.has(Op::STSM) {
            return Err(self.unsupported_form(i));
        }
        let count = self.matrix_count(i)?;
        let address = self.row_address(i, 0)?;
        let words = self.fragment(i, 1, Type::B32)?;
        // Zeros are in registers as well: the operand is a tuple of as many words as there are matrices.
        let words: Words = words.into_iter().map(|word| self.value_of(word)).collect();
        let memory = Self::memory_info(Space::Shared, false, true, false);
        let mods = move_mods(i, count);
        self.b.op(Op::STSM).mods(&mods).from(address).from(Source::values(words)).memory(memory).emit();
        Ok(())
    }

    /// `movmatrix`.
    pub fn transpose_matrix(&mut self, i: &Instruction) -> Lowered {
        let a = self.word(self.operand(i, 1)?, Type::B32)?;
        let a = self.in_register(a);
        let d = self.result_word(self.operand(i, 0)?, Type::B32)?;
        self.op(Op::MOVM, &[Mod::_16, Mod::MT88], d, [a]);
        Ok(())
    }

    fn matrix_count(&self, i: &Instruction) -> Result<MatrixCount, LowerError> {
        i.modifiers.at().ok_or_else(|| self.unsupported_form(i))
    }

    /// The address of a row in shared memory. Of a generic one, the low word is that address.
    fn row_address(&mut self, i: &Instruction, index: usize) -> Result<Source, LowerError> {
        let operand: &Operand = self.operand(i, index)?;
        let mut place = self.place(operand, i.space.unwrap_or(Space::Generic))?;
        place.space = Space::Shared;
        place.base = place.base.iter().copied().take(1).collect();
        Ok(self.memory_operand(&place, false))
    }
}

/// The operands of an MMA whose modifiers name the layouts of its factors.
fn factors(a: Source, b: Source, c: Source) -> [Source; 3] {
    [a.suffixed(Mod::ROW), b.suffixed(Mod::COL), c]
}

/// Modifiers of an f16, bf16 or tf32 MMA; `None` if there is no such instruction.
fn float_mods(p: &Product) -> Option<SmallVec<[Mod; 3]>> {
    let [to, left, _] = p.types;
    let size = match (left, p.shape.depth, p.metadata.is_some()) {
        (Type::TF32, 4, false) => Mod::_1684,
        (Type::TF32, 8, _) | (Type::F16 | Type::BF16, 8, false) => Mod::_1688,
        (Type::TF32, 16, true) | (Type::F16 | Type::BF16, 16, _) => Mod::_16816,
        (Type::F16 | Type::BF16, 32, true) => Mod::_16832,
        _ => return None,
    };
    let sum = match to {
        Type::F16 => Mod::F16,
        Type::F32 => Mod::F32,
        _ => return None,
    };
    let factors = match left {
        Type::BF16 => Some(Mod::BF16),
        Type::TF32 => Some(Mod::TF32),
        _ => None,
    };
    (p.shape.rows == 16).then(|| [Some(size), Some(sum), factors].into_iter().flatten().collect())
}

/// Modifiers of an 8-bit integer MMA; `None` if there is no such instruction.
fn byte_mods(
    shape: MatrixShape,
    sparse: bool,
    signed: [bool; 2],
    saturates: bool,
) -> Option<SmallVec<[Mod; 4]>> {
    let size = match (shape.rows, shape.depth, sparse) {
        (8, 16, false) => Mod::_8816,
        (16, 16, false) => Mod::_16816,
        (16, 32, _) => Mod::_16832,
        (16, 64, true) => Mod::_16864,
        _ => return None,
    };
    let left = if signed[0] { Mod::S8 } else { Mod::U8 };
    let right = if signed[1] { Mod::S8_2 } else { Mod::U8_2 };
    Some([Some(size), Some(left), Some(right), saturates.then_some(Mod::SAT)].into_iter().flatten().collect())
}

/// Modifiers of a move of small matrices.
fn move_mods(i: &Instruction, count: MatrixCount) -> SmallVec<[Mod; 3]> {
    let has = |word| i.modifiers.has(word);
    let layout = match () {
        () if has(Word::M16n16) => Mod::MT1616,
        () if has(Word::M16n8) => Mod::MT168,
        () if has(Word::M8n16) => Mod::M816,
        () if has(Word::Trans) => Mod::MT88,
        () => Mod::M88,
    };
    let numbers = match i.modifiers.at() {
        Some(TensorNumbers::B6x16P32) => Mod::U6x16P32TO8,
        Some(TensorNumbers::B4x16P64) => Mod::U4x16P64TO8,
        None if matches!(layout, Mod::MT1616 | Mod::MT168) => Mod::_8,
        None => Mod::_16,
    };
    let count = match count {
        MatrixCount::X1 => None,
        MatrixCount::X2 => Some(Mod::_2),
        MatrixCount::X4 => Some(Mod::_4),
    };
    [Some(numbers), Some(layout), count].into_iter().flatten().collect()
}

/// The SASS modifiers of an FP8 or narrower factor, on the left and on the right.
fn narrow_factor(ty: Type) -> Option<[Mod; 2]> {
    Some(match ty {
        Type::E4M3 => [Mod::E4M3, Mod::E4M3_2],
        Type::E5M2 => [Mod::E5M2, Mod::E5M2_2],
        Type::E3M2 => [Mod::E3M2, Mod::E3M2_2],
        Type::E2M3 => [Mod::E2M3, Mod::E2M3_2],
        Type::E2M1 => [Mod::E2M1, Mod::E2M1_2],
        _ => return None,
    })
}
