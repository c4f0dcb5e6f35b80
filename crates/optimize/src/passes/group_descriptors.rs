//! Phase 85, OriPropagateGmma: computes descriptors of `wgmma` and `tcgen05.mma` in uniform registers.
//!
//! Lowering copies each word of a descriptor to a uniform register. Usually many descriptors are one plus a small
//! constant: then that one is copied, and the others are computed from it on the uniform datapath. This is done in
//! the block of the MMA, so that a subset of the warp may do it, and only for words without other readers.

use crate::analyses::definitions::Definitions;
use crate::{analyses::warp_group, passes::live_dead, rewriting::uniform_copies};
use oriole_chip::Chip;
use oriole_options::Optimization;
use oriole_ori::{
    BlockId, Destination, File, FormChange, Function, Instruction, Opcode, Outcome, Pass, Pseudo, Source,
    SourceKind, Value, is_legal,
};
use oriole_sass::{Mod, Op};
use rustc_hash::{FxHashMap, FxHashSet};

/// The truth table of the first operand and the second.
const AND: i64 = 0xc0;

/// The longest chain of operations that is followed back from a descriptor.
const LONGEST_CHAIN: u32 = 4;

/// The pass.
pub static PASS: Pass = Pass {
    form: FormChange::OutsideSsa,
    optimization: Some(Optimization::UniformRegisters),
    ..Pass::new(|function, context| {
        let computed = run(function, context.chip);
        let copied = context.chip.has_uniform_datapath() && uniform_copies::run(function);
        Outcome::changed_if(computed | copied)
    })
};

/// Rewrites all copies to uniform registers that can be computed there. True if there was one.
pub fn run(function: &mut Function, chip: Chip) -> bool {
    let takes = |i: &Instruction| warp_group::is_product(i) || warp_group::is_tensor_product(i);
    let products = |block: &oriole_ori::Block| block.instructions.iter().any(takes);
    if !function.blocks.iter().any(products) {
        return false;
    }
    let definitions = Definitions::new(function);
    let mut changed = false;
    for id in function.block_ids() {
        if products(function.block(id)) {
            let mut block = BlockRewrite::new(function, chip, &definitions);
            changed |= block.run(id);
        }
    }
    if changed {
        live_dead::run(function);
    }
    changed
}

/// The current block.
struct BlockRewrite<'a> {
    function: &'a mut Function,
    chip: Chip,
    definitions: &'a Definitions,
    /// Uniform registers that hold the same as general ones.
    known: FxHashMap<Value, Value>,
    /// General registers that are base words of adds in the block: they are copied anyway.
    wanted: FxHashSet<Value>,
    out: Vec<Instruction>,
}

impl<'a> BlockRewrite<'a> {
    fn new(function: &'a mut Function, chip: Chip, definitions: &'a Definitions) -> BlockRewrite<'a> {
        let (known, wanted) = (FxHashMap::default(), FxHashSet::default());
        BlockRewrite { function, chip, definitions, known, wanted, out: Vec::new() }
    }

    fn run(&mut self, id: BlockId) -> bool {
        let instructions = std::mem::take(&mut self.function.block_mut(id).instructions);
        for (low, high) in instructions.iter().zip(instructions.iter().skip(1)) {
            if let (Some(low), Some(high)) = (copied_word(low), copied_word(high))
                && let Some(sum) = self.definition(&instructions, low.from)
            {
                self.wanted.extend(widened_sum(&sum, [low.from, high.from]).map(|(word, _)| word));
            }
        }
        let mut changed = false;
        let mut skip = false;
        // Instructions that were passed are no longer in the function: they are in `earlier`.
        for (index, instruction) in instructions.iter().enumerate() {
            if std::mem::take(&mut skip) {
                continue;
            }
            let behind = instructions.get(index + 1);
            if let (Some(low), Some(high)) = (copied_word(instruction), behind.and_then(copied_word))
                && self.sum_of_two_words(&instructions, instruction, low, high)
            {
                (changed, skip) = (true, true);
            } else if let (Some(low), Some(high)) = (copied_word(instruction), behind.and_then(copied_word))
                && self.word_and_numbers(&instructions, instruction, low, high)
            {
                (changed, skip) = (true, true);
            } else if let Some(word) = copied_word(instruction)
                && self.word(&instructions, instruction, word)
            {
                changed = true;
            } else {
                self.out.push(instruction.clone());
            }
        }
        self.function.block_mut(id).instructions = std::mem::take(&mut self.out);
        changed
    }

    /// The instruction that writes a stable value, here or in another block.
    fn definition(&self, here: &[Instruction], value: Value) -> Option<Instruction> {
        if !self.definitions.is_stable(value) {
            return None;
        }
        let writes = |instruction: &&Instruction| {
            let mut found = false;
            instruction.for_each_definition(|defined| found |= defined == value);
            found
        };
        match here.iter().find(writes) {
            Some(instruction) => instruction.guard.is_none().then(|| instruction.clone()),
            None => {
                let block = self.definitions.block(value)?;
                let elsewhere = self.function.block(block).instructions.iter().find(writes)?;
                elsewhere.guard.is_none().then(|| elsewhere.clone())
            }
        }
    }

    /// Replaces the copy of a word by its computation; false if it stays.
    fn word(
        &mut self,
        here: &[Instruction],
        copy: &Instruction,
        CopiedWord { to, from }: CopiedWord,
    ) -> bool {
        let Some(definition) = self.definition(here, from) else { return false };
        if let [Source { kind: SourceKind::Imm(bits), .. }] = definition.sources.as_slice()
            && definition.opcode == Opcode::Sass(Op::MOV)
        {
            self.emit(Op::UMOV, &[], &[to], [Source::imm(*bits)], copy);
            return true;
        }
        // Other instructions would need the word in a general register, so it is worth it only if its base is copied
        // anyway.
        let is_known = |word: &Value| self.known.contains_key(word);
        let mut read = definition.sources.iter().filter_map(Source::as_plain_value);
        let mut is_copied = || read.any(|word| is_known(&word) || self.wanted.contains(&word));
        if self.definitions.uses(from) != 1 && (is_known(&from) || !is_copied()) {
            return self.copy_once(copy, to, from);
        }
        let made = self.uniform_form(here, &definition, copy, LONGEST_CHAIN);
        let Some(mut made) = made else { return self.copy_once(copy, to, from) };
        made.destinations[0] = Destination::new(File::UR, [to]);
        self.out.push(made);
        if self.definitions.is_stable(to) {
            self.known.entry(from).or_insert(to);
        }
        true
    }

    /// Both words of a zero-extended word plus a two-word constant, where the lower add gives no carry. A copy after
    /// an MMA waits for it, so all such words are computed from one copy.
    fn word_and_numbers(
        &mut self,
        here: &[Instruction],
        copy: &Instruction,
        CopiedWord { to: to_low, from: low }: CopiedWord,
        CopiedWord { to: to_high, from: high }: CopiedWord,
    ) -> bool {
        if self.known.contains_key(&low) {
            return false;
        }
        let Some(sum) = self.definition(here, low) else { return false };
        let Some((word, [number, above])) = widened_sum(&sum, [low, high]) else { return false };
        let number_of = |value| {
            let definition = self.definition(here, value)?;
            match definition.sources.as_slice() {
                [Source { kind: SourceKind::Imm(bits), .. }]
                    if definition.opcode == Opcode::Sass(Op::MOV) =>
                {
                    Some(*bits)
                }
                _ => None,
            }
        };
        let most = self.definition(here, word).and_then(|definition| most(&definition));
        let (Some(number), Some(above), Some(most)) = (number_of(number), number_of(above), most) else {
            return false;
        };
        if !self.definitions.is_stable(word) || number.checked_add(most).is_none() {
            return false;
        }
        let word = self.uniform(here, word, copy, 0);
        let zero = Source::plain(SourceKind::Zero(File::UR));
        self.emit(Op::UIADD3, &[], &[to_low], [word.into(), Source::imm(number), zero], copy);
        self.emit(Op::UMOV, &[], &[to_high], [Source::imm(above)], copy);
        if [to_low, to_high].iter().all(|&to| self.definitions.is_stable(to)) {
            self.known.insert(low, to_low);
            self.known.insert(high, to_high);
        }
        true
    }

    /// Copies a word that was copied before in the block from that copy.
    fn copy_once(&mut self, copy: &Instruction, to: Value, from: Value) -> bool {
        if !self.definitions.is_stable(from) {
            return false;
        }
        match self.known.get(&from) {
            Some(&known) => {
                let mut copy = copy.clone();
                copy.sources[0] = known.into();
                self.out.push(copy);
                true
            }
            None => {
                self.known.insert(from, to);
                false
            }
        }
    }

    /// The operation on the uniform datapath, if it takes one register and immediates. The result is not yet named.
    fn uniform_form(
        &mut self,
        here: &[Instruction],
        definition: &Instruction,
        copy: &Instruction,
        chain: u32,
    ) -> Option<Instruction> {
        let Opcode::Sass(op @ (Op::IADD3 | Op::LOP3 | Op::SHF | Op::LEA)) = definition.opcode else {
            return None;
        };
        let plain = definition.destinations.len() == 1 && !definition.mods.has(Mod::X);
        let mut registers = definition.sources.iter().filter_map(|source| match &source.kind {
            SourceKind::Values(values) => Some(values[0]),
            _ => None,
        });
        let (Some(register), None) = (registers.next(), registers.next()) else { return None };
        if !plain
            || chain == 0
            || self.function.file(register) != File::R
            || !self.definitions.is_stable(register)
        {
            return None;
        }
        let mut made = definition.clone();
        made.opcode = op.info().uniform?.into();
        made.origin = copy.origin;
        // A placeholder suffices to check whether there is such a form.
        let name = self.function.new_value(File::UR, None);
        made.destinations[0] = Destination::new(File::UR, [name]);
        for source in &mut made.sources {
            match &mut source.kind {
                SourceKind::Values(values) => values[0] = name,
                SourceKind::Zero(file) => *file = File::UR,
                SourceKind::True(file) => *file = File::UP,
                _ => {}
            }
        }
        if !is_legal(self.chip, self.function, &made) {
            return None;
        }
        let uniform = self.uniform(here, register, copy, chain - 1);
        for source in &mut made.sources {
            if let SourceKind::Values(values) = &mut source.kind {
                values[0] = uniform;
            }
        }
        Some(made)
    }

    /// The word in a uniform register.
    fn uniform(&mut self, here: &[Instruction], word: Value, copy: &Instruction, chain: u32) -> Value {
        if let Some(&known) = self.known.get(&word) {
            return known;
        }
        let to = self.function.new_value(File::UR, None);
        let alone = self.definitions.uses(word) == 1;
        let definition = self.definition(here, word).filter(|_| alone);
        match definition.and_then(|definition| self.uniform_form(here, &definition, copy, chain)) {
            Some(mut made) => {
                made.destinations[0] = Destination::new(File::UR, [to]);
                self.out.push(made);
            }
            None => self.emit(Pseudo::Copy, &[], &[to], [word.into()], copy),
        }
        self.known.insert(word, to);
        to
    }

    /// Both words of an add of a small constant at once.
    fn sum_of_two_words(
        &mut self,
        here: &[Instruction],
        copy: &Instruction,
        CopiedWord { to: to_low, from: low }: CopiedWord,
        CopiedWord { to: to_high, from: high }: CopiedWord,
    ) -> bool {
        let (Some(lower), Some(upper)) = (self.definition(here, low), self.definition(here, high)) else {
            return false;
        };
        let (Some((below, number, carry)), Some((above, carried))) = (sum_below(&lower), sum_above(&upper))
        else {
            return false;
        };
        let alone = [low, high].iter().all(|&word| self.definitions.uses(word) == 1);
        let stable = [below, above].iter().all(|&word| self.definitions.is_stable(word));
        if carry != carried || !alone || !stable || number > i32::MAX as u32 {
            return false;
        }
        let pair = [self.uniform(here, below, copy, 0), self.uniform(here, above, copy, 0)];
        let zero = Source::plain(SourceKind::Zero(File::UR));
        self.emit(
            Op::UIADD3,
            &[Mod::_64],
            &[to_low, to_high],
            [Source::values(pair), Source::imm(number), zero],
            copy,
        );
        true
    }

    fn emit(
        &mut self,
        opcode: impl Into<Opcode>,
        mods: &[Mod],
        to: &[Value],
        sources: impl IntoIterator<Item = Source>,
        copy: &Instruction,
    ) {
        let mut made = Instruction::new(opcode, copy.origin);
        made.mods = oriole_sass::Mods::of(mods);
        made.destinations.push(Destination::new(File::UR, to.iter().copied()));
        made.sources.extend(sources);
        self.out.push(made);
    }
}

/// An unguarded copy of a word to a uniform register.
#[derive(Clone, Copy)]
struct CopiedWord {
    /// The uniform register.
    to: Value,
    from: Value,
}

fn copied_word(instruction: &Instruction) -> Option<CopiedWord> {
    let [destination] = instruction.destinations.as_slice() else { return None };
    let [to] = destination.values.as_slice() else { return None };
    let copies = instruction.opcode == Opcode::Pseudo(Pseudo::Copy)
        && instruction.guard.is_none()
        && destination.file == File::UR
        && destination.fixed.is_none();
    let from = instruction.sources.first()?.as_plain_value()?;
    copies.then_some(CopiedWord { to: *to, from })
}

/// `{low, high} <- word * 1 + {a, b}`: the word, and the two that are added.
fn widened_sum(i: &Instruction, [low, high]: [Value; 2]) -> Option<(Value, [Value; 2])> {
    let ([destination], [word, one, added]) = (i.destinations.as_slice(), i.sources.as_slice()) else {
        return None;
    };
    let SourceKind::Values(added) = &added.kind else { return None };
    let &[a, b] = added.as_slice() else { return None };
    let is_sum = i.opcode == Opcode::Sass(Op::IMAD)
        && i.mods.has(Mod::WIDE)
        && i.mods.has(Mod::U32)
        && i.guard.is_none()
        && destination.values.as_slice() == [low, high]
        && one.kind == SourceKind::Imm(1);
    is_sum.then_some((word.as_plain_value()?, [a, b]))
}

/// Upper bound of a word, from its definition.
fn most(i: &Instruction) -> Option<u32> {
    let bits = |source: Option<&Source>| match source?.kind {
        SourceKind::Imm(bits @ 0..32) => Some(bits),
        _ => None,
    };
    match i.opcode {
        Opcode::Sass(Op::SGXT) if i.mods.has(Mod::U32) => bits(i.sources.get(1)).map(|bits| (1 << bits) - 1),
        Opcode::Sass(Op::SHF) if i.mods.has(Mod::R) && i.mods.has(Mod::U32) && i.mods.has(Mod::HI) => {
            let zero = i.sources.first()?.kind == SourceKind::Zero(File::R);
            bits(i.sources.get(1)).filter(|_| zero).map(|bits| u32::MAX >> bits)
        }
        Opcode::Sass(Op::LOP3) if i.destinations.len() == 1 => match i.sources.as_slice() {
            [_, Source { kind: SourceKind::Imm(mask), .. }, _, table, _]
                if table.kind == SourceKind::Literal(AND) =>
            {
                Some(*mask)
            }
            _ => None,
        },
        _ => None,
    }
}

/// `d, carry <- word + number`
fn sum_below(i: &Instruction) -> Option<(Value, u32, Value)> {
    let [_, carry] = i.destinations.as_slice() else { return None };
    let [word, number, rest] = i.sources.as_slice() else { return None };
    let (&[carry], SourceKind::Imm(number), SourceKind::Zero(_)) =
        (carry.values.as_slice(), &number.kind, &rest.kind)
    else {
        return None;
    };
    let plain = i.opcode == Opcode::Sass(Op::IADD3) && !i.mods.has(Mod::X);
    plain.then_some((word.as_plain_value()?, *number, carry))
}

/// `d <- word + carry`
fn sum_above(i: &Instruction) -> Option<(Value, Value)> {
    let [_] = i.destinations.as_slice() else { return None };
    let [a, b, c, carry, other] = i.sources.as_slice() else { return None };
    let zero = |source: &Source| source.kind == SourceKind::Zero(File::R);
    let word = match (a.as_plain_value(), b.as_plain_value()) {
        (Some(word), None) if zero(b) && zero(c) => word,
        (None, Some(word)) if zero(a) && zero(c) => word,
        _ => return None,
    };
    let plain = i.opcode == Opcode::Sass(Op::IADD3) && i.mods.has(Mod::X);
    let no_other = matches!(other.kind, SourceKind::True(_)) && other.invert;
    (plain && no_other).then_some((word, carry.as_plain_value()?))
}
