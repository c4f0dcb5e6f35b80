//! Tensor memory, and the MMAs that accumulate in it: `tcgen05`.
//!
//! Loads and stores are operations of a whole warp. All other operands go to an engine in uniform registers, once for
//! each thread that executes the instruction, in a block of its own (see [`crate::leaders`]). A load is waited for
//! like one from other memory; the waits for all of them, and the fences, leave an instruction that nothing moves
//! across.

use crate::LowerError;
use crate::context::{Lower, Lowered, Words};
use crate::operand::imm;
use oriole_hir::{AddressBase, Immediate, Instruction, Operand};
use oriole_ori::{Address as OriAddress, File, MemoryInfo, Source, SourceKind, Value};
use oriole_ptx::word::{
    CtaGroup, FirstCollector, Operation, ScaleBlock, SecondCollector, TensorCopy, TensorCount, TensorKind,
    TensorNumbers, TensorOrder, TensorShape, TensorWarps,
};
use oriole_ptx::{Type, Word};
use oriole_sass::{Mod, Mods, Op, Operand as SassOperand, OperandKind};
use smallvec::SmallVec;

/// An operand of the engine.
pub(crate) enum Told {
    /// Consecutive words: a descriptor, a mask, or an operand of the instruction itself.
    Words(Vec<Source>),
    /// One memory address, or two consecutive ones.
    Place(Vec<Source>, i32),
    /// A condition.
    Truth(Source),
    /// No register.
    Nothing,
    /// A literal of the instruction.
    Number(i64),
}

/// Modifiers that a shape adds to a load or a store; a shape whose halves are apart takes two instructions.
fn lanes_of(shape: TensorShape) -> &'static [&'static [Mod]] {
    match shape {
        TensorShape::_32x32b => &[&[]],
        TensorShape::_16x64b => &[&[Mod::_16dp64bit]],
        TensorShape::_16x128b => &[&[Mod::_16dp128bit]],
        TensorShape::_16x256b => &[&[Mod::_16dp256bit]],
        TensorShape::_16x32bx2 => &[&[Mod::_16dp32bit_t0_t15], &[Mod::_16dp32bit_t16_t31]],
    }
}

fn count_of(count: TensorCount) -> Option<Mod> {
    Some(match count {
        TensorCount::X1 => return None,
        TensorCount::X2 => Mod::x2,
        TensorCount::X4 => Mod::x4,
        TensorCount::X8 => Mod::x8,
        TensorCount::X16 => Mod::x16,
        TensorCount::X32 => Mod::x32,
        TensorCount::X64 => Mod::x64,
        TensorCount::X128 => Mod::x128,
    })
}

/// The shape of a copy; the largest one has no modifier.
fn copy_of(shape: TensorCopy, warps: Option<TensorWarps>) -> Option<Mod> {
    Some(match (shape, warps) {
        (TensorCopy::_128x256b, _) => return None,
        (TensorCopy::_4x256b, _) => Mod::_4dp256bit,
        (TensorCopy::_128x128b, _) => Mod::_128dp128bit,
        (TensorCopy::_64x128b, Some(TensorWarps::Warpx20123)) => Mod::_2x64dp128bit_lw01_lw23,
        (TensorCopy::_64x128b, _) => Mod::_2x64dp128bit_lw02_lw13,
        (TensorCopy::_32x128b, _) => Mod::_4x32dp128bit,
    })
}

/// Collector buffer modifiers for the first factor.
fn kept(collector: FirstCollector) -> &'static [Mod] {
    match collector {
        FirstCollector::CollectorAFill => &[Mod::A_KEEP],
        FirstCollector::CollectorAUse => &[Mod::A_REUSE, Mod::A_KEEP],
        FirstCollector::CollectorALastuse => &[Mod::A_REUSE],
        FirstCollector::CollectorADiscard => &[],
    }
}

/// Collector buffer modifiers for the second factor, which has four buffers.
fn kept_in(collector: SecondCollector) -> &'static [Mod] {
    use SecondCollector::*;
    match collector {
        CollectorB0Fill => &[Mod::B_KEEP],
        CollectorB0Use => &[Mod::B_REUSE, Mod::B_KEEP],
        CollectorB0Lastuse => &[Mod::B_REUSE],
        CollectorB0Discard => &[],
        CollectorB1Fill => &[Mod::B_KEEP, Mod::BUFFER1],
        CollectorB1Use => &[Mod::B_REUSE, Mod::B_KEEP, Mod::BUFFER1],
        CollectorB1Lastuse => &[Mod::B_REUSE, Mod::BUFFER1],
        CollectorB1Discard => &[Mod::BUFFER1],
        CollectorB2Fill => &[Mod::B_KEEP, Mod::BUFFER2],
        CollectorB2Use => &[Mod::B_REUSE, Mod::B_KEEP, Mod::BUFFER2],
        CollectorB2Lastuse => &[Mod::B_REUSE, Mod::BUFFER2],
        CollectorB2Discard => &[Mod::BUFFER2],
        CollectorB3Fill => &[Mod::B_KEEP, Mod::BUFFER3],
        CollectorB3Use => &[Mod::B_REUSE, Mod::B_KEEP, Mod::BUFFER3],
        CollectorB3Lastuse => &[Mod::B_REUSE, Mod::BUFFER3],
        CollectorB3Discard => &[Mod::BUFFER3],
    }
}

fn product_of(kind: TensorKind) -> Op {
    match kind {
        TensorKind::KindF16 | TensorKind::KindTf32 => Op::UTCHMMA,
        TensorKind::KindF8f6f4 | TensorKind::KindMxf8f6f4 => Op::UTCQMMA,
        TensorKind::KindI8 => Op::UTCIMMA,
        TensorKind::KindMxf4 | TensorKind::KindMxf4nvf4 => Op::UTCOMMA,
    }
}

impl Lower<'_> {
    /// `tcgen05` in all its forms.
    pub fn tensor_memory(&mut self, i: &Instruction) -> Lowered {
        if self.chip.tensor_partition().is_none() {
            return Err(self.unsupported_form(i));
        }
        let behind = self.begin_region();
        let has = |word| i.modifiers.has(word);
        match () {
            () if has(Word::Alloc) => self.allocate_columns(i)?,
            () if has(Word::Dealloc) => self.free_columns(i)?,
            () if has(Word::RelinquishAllocPermit) => self.close_allocation()?,
            () if has(Word::Commit) => self.commit_products(i)?,
            () if has(Word::Cp) => self.copy_to_tensor_memory(i)?,
            () if has(Word::Shift) => self.shift_rows(i)?,
            () if has(Word::Ld) => self.load_tensor(i)?,
            () if has(Word::St) => self.store_tensor(i)?,
            () if has(Word::Mma) => self.multiply_in_tensor_memory(i)?,
            () => match i.modifiers.at() {
                Some(TensorOrder::WaitSt) => {
                    self.b
                        .op(Op::FENCE)
                        .mods(&[Mod::VIEW, Mod::ASYNC, Mod::T])
                        .memory(MemoryInfo::EVERYTHING)
                        .emit();
                }
                Some(
                    TensorOrder::WaitLd
                    | TensorOrder::FenceBeforeThreadSync
                    | TensorOrder::FenceAfterThreadSync,
                ) => self.b.op(Op::NOP).memory(MemoryInfo::EVERYTHING).emit(),
                None => return Err(self.unsupported_form(i)),
            },
        }
        self.end_region(behind);
        Ok(())
    }

    /// Modifiers of each instruction of a load or a store, and the column offset of the second one.
    fn lanes(&self, i: &Instruction, converts: Mod) -> Result<(Vec<Vec<Mod>>, i64), LowerError> {
        let shape: TensorShape = i.modifiers.at().ok_or_else(|| self.unsupported_form(i))?;
        let narrow = i.modifiers.has(Word::Pack16b) || i.modifiers.has(Word::Unpack16b);
        let count = i.modifiers.at().and_then(count_of);
        let rest: Vec<Mod> = count.into_iter().chain(narrow.then_some(converts)).collect();
        let with_shape = |lanes: &&[Mod]| lanes.iter().chain(&rest).copied().collect();
        let mods = lanes_of(shape).iter().map(with_shape).collect();
        let halves = shape == TensorShape::_16x32bx2;
        let split = i.operands.iter().find_map(|operand| match operand {
            Operand::Immediate(Immediate::Integer(columns)) if halves => Some(*columns),
            _ => None,
        });
        Ok((mods, split.unwrap_or(0)))
    }

    fn load_tensor(&mut self, i: &Instruction) -> Lowered {
        let elements = self.elements(self.operand(i, 0)?);
        let direct = self.direct_words(&elements, Type::B32);
        let d: Words = match &direct {
            Some(words) => words.clone(),
            None => elements.iter().map(|_| self.b.r()).collect(),
        };
        let (lanes, split) = self.lanes(i, Mod::PACK16BIT)?;
        if i.modifiers.has(Word::Red) {
            self.load_and_reduce(i, &lanes, &d, split as i32)?;
        } else {
            let (base, offset) = self.tensor_address(i, 1)?;
            self.load_lanes(&lanes, None, &d, &base, [offset, offset + split as i32]);
        }
        if direct.is_none() {
            let parts = d.iter().map(|&v| SmallVec::from_iter([Source::value(v)])).collect();
            self.write_all(&elements, Type::B32, parts)?;
        }
        Ok(())
    }

    /// `tcgen05.ld.red`: loads, and also returns the min or max of the elements.
    fn load_and_reduce(&mut self, i: &Instruction, lanes: &[Vec<Mod>], d: &[Value], split: i32) -> Lowered {
        let ty = self.ty(i, 0)?;
        let extreme = match (i.modifiers.at(), i.modifiers.has(Word::Abs)) {
            (Some(Operation::Min), false) => Mod::MIN,
            (Some(Operation::Min), true) => Mod::MINABS,
            (Some(Operation::Max), false) => Mod::MAX,
            (Some(Operation::Max), true) => Mod::MAXABS,
            _ => return Err(self.unsupported_form(i)),
        };
        let of_type = match ty {
            Type::U32 => None,
            Type::S32 => Some(Mod::S32),
            Type::F32 => Some(Mod::F32),
            _ => return Err(self.unsupported_form(i)),
        };
        let nan = i.modifiers.has(Word::NaN).then_some(Mod::NAN);
        let (base, offset) = self.tensor_address(i, 2)?;
        let mut lanes = lanes.to_vec();
        for mods in &mut lanes {
            mods.extend([Mod::STAT, extreme].into_iter().chain(of_type).chain(nan));
        }
        let words: Words = d.iter().map(|_| self.b.r()).collect();
        let extreme = self.b.r();
        self.load_lanes(&lanes, Some(extreme), &words, &base, [offset, offset + split]);
        let statistic = self.result_word(self.operand(i, 1)?, ty)?;
        let results = d.iter().copied().chain([statistic]);
        results.zip(words.into_iter().chain([extreme])).for_each(|(d, word)| self.b.mov(d, word));
        Ok(())
    }

    /// Loads, with an instruction for each half of the warp where these come from different columns. The second one
    /// fills the lanes of the same registers that the first one leaves out.
    fn load_lanes(
        &mut self,
        lanes: &[Vec<Mod>],
        statistic: Option<Value>,
        d: &[Value],
        base: &Source,
        offsets: [i32; 2],
    ) {
        // The address may be in a register that the first instruction overwrites.
        let addresses: Vec<Source> = lanes
            .iter()
            .zip(offsets)
            .map(|(_, offset)| self.told(Told::Place(vec![base.clone()], offset)))
            .collect();
        for (mods, address) in lanes.iter().zip(addresses) {
            let mut draft = self.b.op(Op::LDTM).mods(mods);
            if let Some(statistic) = statistic {
                draft = draft.to(statistic);
            }
            draft.to_tuple(d.iter().copied()).from(address).memory(MemoryInfo::EVERYTHING).emit();
        }
    }

    fn store_tensor(&mut self, i: &Instruction) -> Lowered {
        let words = self.fragment(i, i.operands.len() - 1, Type::B32)?;
        let data = self.tuple(words);
        let (lanes, split) = self.lanes(i, Mod::EXPAND16BIT)?;
        let (base, offset) = self.tensor_address(i, 0)?;
        for (mods, behind) in lanes.iter().zip([0, split as i32]) {
            let address = self.told(Told::Place(vec![base.clone()], offset + behind));
            self.b
                .op(Op::STTM)
                .mods(mods)
                .from(address)
                .from(data.clone())
                .memory(MemoryInfo::EVERYTHING)
                .emit();
        }
        Ok(())
    }

    /// An address in tensor memory: a register, and an offset.
    fn tensor_address(&mut self, i: &Instruction, index: usize) -> Result<(Source, i32), LowerError> {
        let Operand::Address(address) = self.operand(i, index)? else {
            return Err(self.unsupported_form(i));
        };
        match address.base {
            AddressBase::Register(id) => Ok((Source::value(self.register(id)[0]), address.offset as i32)),
            AddressBase::Absolute => Ok((imm(address.offset as u32), 0)),
            AddressBase::Variable(_) => Err(self.unsupported_form(i)),
        }
    }

    /// [`Self::tensor_address`] as one word.
    fn tensor_word(&mut self, i: &Instruction, index: usize) -> Result<Source, LowerError> {
        let (base, offset) = self.tensor_address(i, index)?;
        if offset == 0 {
            return Ok(base);
        }
        let sum = self.b.r();
        self.add(sum, base, imm(offset as u32));
        Ok(sum.into())
    }

    fn commit_products(&mut self, i: &Instruction) -> Lowered {
        // The low word of a generic address is the shared address.
        let object = self.shared_address(self.operand(i, 0)?)?;
        let mut told = vec![(Told::Place(vec![object], 0), Vec::new()), (Told::Nothing, Vec::new())];
        let mut mods = self.group_mods(i);
        if i.modifiers.has(Word::MulticastCluster) || i.modifiers.has(Word::MulticastCluster16b) {
            mods.push(Mod::MULTICAST);
            let blocks = self.extended(self.operand(i, 1)?, Type::U16)?;
            told.push((Told::Words(vec![blocks]), Vec::new()));
        }
        self.tell(Op::UTCBAR, &mods, told);
        Ok(())
    }

    fn copy_to_tensor_memory(&mut self, i: &Instruction) -> Lowered {
        let shape = i.modifiers.at().ok_or_else(|| self.unsupported_form(i))?;
        let shape = copy_of(shape, i.modifiers.at());
        let numbers = i.modifiers.at().map(|numbers| match numbers {
            TensorNumbers::B6x16P32 => Mod::U6x16P32,
            TensorNumbers::B4x16P64 => Mod::U4x16P64,
        });
        let mut mods = vec![Mod::T, Mod::S];
        mods.extend(self.group_mods(i));
        mods.extend(shape.into_iter().chain(numbers));
        let (to, offset) = self.tensor_address(i, 0)?;
        let from = self.descriptor_of(i, 1)?;
        self.tell(Op::UTCCP, &mods, vec![(Told::Place(vec![to], offset), Vec::new()), (from, Vec::new())]);
        Ok(())
    }

    fn shift_rows(&mut self, i: &Instruction) -> Lowered {
        let mut mods = self.group_mods(i);
        mods.push(Mod::DOWN);
        let (base, offset) = self.tensor_address(i, 0)?;
        self.tell(Op::UTCSHIFT, &mods, vec![(Told::Place(vec![base], offset), Vec::new())]);
        Ok(())
    }

    /// An MMA: both factors, the accumulator, the instruction descriptor, masks or scales, and whether it
    /// accumulates.
    fn multiply_in_tensor_memory(&mut self, i: &Instruction) -> Lowered {
        let has = |word| i.modifiers.has(word);
        let op = i.modifiers.at().map(product_of).ok_or_else(|| self.unsupported_form(i))?;
        let (sparse, scaled, stationary) = (has(Word::Sp), has(Word::BlockScale), has(Word::Ws));
        let sum = self.tensor_word(i, 0)?;
        let left = match self.operand(i, 1)? {
            Operand::Address(_) => Told::Place(vec![self.tensor_word(i, 1)?], 0),
            _ => self.descriptor_of(i, 1)?,
        };
        let right = self.descriptor_of(i, 2)?;
        let selectors = if sparse { self.tensor_word(i, 3)? } else { Source::rz() };
        let mut next = 3 + usize::from(sparse);
        let own = self.word(self.operand(i, next)?, Type::U32)?;
        next += 1;
        let kept = i.modifiers.at().map_or(&[][..], kept).to_vec();
        let kept_in = i.modifiers.at().map_or(&[][..], kept_in).to_vec();
        let mut told = vec![
            (left, kept),
            (right, kept_in),
            (Told::Place(vec![sum], 0), Vec::new()),
            (Told::Words(vec![selectors, own]), Vec::new()),
        ];
        if scaled {
            let scales = vec![self.tensor_word(i, next)?, self.tensor_word(i, next + 1)?];
            told.push((Told::Place(scales, 0), Vec::new()));
            next += 2;
        } else if matches!(self.operand(i, next)?, Operand::Vector(_)) {
            let lanes = self.fragment(i, next, Type::B32)?;
            told.push((Told::Words(lanes.into_iter().collect()), Vec::new()));
            next += 1;
        } else if stationary && i.operands.len() > next + 1 {
            let columns = self.words(self.operand(i, next + 1)?, Type::B64)?;
            told.push((Told::Words(columns.into_iter().collect()), Vec::new()));
        }
        let adds = self.predicate(self.operand(i, next)?)?;
        told.push((Told::Truth(adds), Vec::new()));
        if let (false, Some(Operand::Immediate(Immediate::Integer(shift)))) =
            (stationary, i.operands.get(next + 1))
            && *shift != 0
        {
            told.push((Told::Number(*shift), Vec::new()));
        }
        let mods = self.product_mods(i);
        self.tell(op, &mods, told);
        Ok(())
    }

    fn product_mods(&self, i: &Instruction) -> Vec<Mod> {
        let has = |word| i.modifiers.has(word);
        let mut mods = self.group_mods(i);
        mods.extend(has(Word::Ashift).then_some(Mod::ASHIFT));
        mods.extend(has(Word::Ws).then_some(Mod::WS));
        if matches!(i.modifiers.at(), Some(ScaleBlock::ScaleVec4X | ScaleBlock::Block16)) {
            mods.push(self.scale_of_sixteen());
        }
        mods
    }

    /// The SASS modifier of a scale for each sixteen elements.
    fn scale_of_sixteen(&self) -> Mod {
        let plain = SassOperand::plain;
        let place = OperandKind::TensorMemory { address: 0, offset: 0 };
        let operands = [
            plain(OperandKind::MatrixDescriptor(0)),
            plain(OperandKind::MatrixDescriptor(0)),
            plain(place),
            plain(OperandKind::InstructionDescriptor(0)),
            plain(place),
            plain(OperandKind::UPred(0)),
        ];
        let known = self.is_legal(Op::UTCOMMA, &Mods::of(&[Mod::_4X]), &operands);
        if known { Mod::_4X } else { Mod::BLOCK16 }
    }

    /// Modifier for two cooperating blocks.
    fn group_mods(&self, i: &Instruction) -> Vec<Mod> {
        if i.modifiers.at() == Some(CtaGroup::CtaGroup2) { vec![Mod::_2CTA] } else { Vec::new() }
    }

    fn descriptor_of(&mut self, i: &Instruction, index: usize) -> Result<Told, LowerError> {
        Ok(Told::Words(self.words(self.operand(i, index)?, Type::U64)?.into_iter().collect()))
    }

    /// Emits an instruction of the engine in a block of its own.
    fn tell(&mut self, op: Op, mods: &[Mod], told: Vec<(Told, Vec<Mod>)>) {
        let inside = self.b.new_block();
        self.run_into(inside);
        let sources: Vec<Source> = told
            .into_iter()
            .map(|(told, suffixes)| {
                let mut source = self.told(told);
                suffixes.into_iter().for_each(|suffix| source.suffixes.insert(suffix));
                source
            })
            .collect();
        self.b.op(op).mods(mods).from_all(sources).memory(MemoryInfo::EVERYTHING).emit();
        let behind = self.b.new_block();
        self.run_into(behind);
    }

    /// An operand of the engine, in uniform registers.
    fn told(&mut self, told: Told) -> Source {
        match told {
            Told::Words(words) => Source::values(self.uniform_words(&words)),
            Told::Place(words, offset) => {
                let uniform = self.uniform_words(&words);
                Source::plain(SourceKind::Address(Box::new(OriAddress {
                    uniform,
                    offset,
                    ..OriAddress::default()
                })))
            }
            Told::Truth(predicate) => self.uniform_truth(predicate),
            Told::Nothing => Source::plain(SourceKind::Zero(File::UR)),
            Told::Number(number) => Source::literal(number),
        }
    }
}
