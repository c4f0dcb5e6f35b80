//! 64-bit divisions whose operands are known not to fit 32 bits: front ends test whether either operand has a nonzero
//! high word, and use a 32-bit division otherwise. A second test and a second fast path in the other branch would be
//! useless.

use oriole_ori::{BlockId, Cfg, Function, Instruction, Opcode, Pseudo, Source, SourceKind, Value};
use oriole_sass::{Mod, Op};
use rustc_hash::FxHashMap;
use typed_index_collections::{TiVec, ti_vec};

/// The truth tables of `a & b` and `a | b`.
const AND: i64 = 0xc0;
const OR: i64 = 0xfc;

/// For blocks that are reached by one answer only: the high words of which one is not zero there.
#[derive(Default)]
pub(crate) struct LongOperands(FxHashMap<BlockId, [Value; 2]>);

impl LongOperands {
    /// Collects the conditions of 64-bit divisions. In SSA.
    pub fn new(function: &Function) -> LongOperands {
        let divides = |&id: &BlockId| function.block(id).instructions.iter().any(divides_double_words);
        let blocks: Vec<BlockId> = function.block_ids().filter(divides).collect();
        if blocks.is_empty() {
            return LongOperands::default();
        }
        let graph = function.graph();
        let cfg = graph.cfg();
        let makers = Makers::new(function);
        let known = blocks.into_iter().filter_map(|id| Some((id, makers.known_in(cfg, id)?)));
        LongOperands(known.collect())
    }

    /// True if one of the two operands of a division in this block has a nonzero high word.
    pub fn divides_long(&self, id: BlockId, division: &Instruction) -> bool {
        let high = |source: &Source| pair(source).map(|[_, high]| high);
        let [left, right, ..] = division.sources.as_slice() else { return false };
        match (self.0.get(&id), high(left), high(right)) {
            (Some(&[a, b]), Some(left), Some(right)) => [left, right] == [a, b] || [left, right] == [b, a],
            _ => false,
        }
    }
}

fn divides_double_words(instruction: &Instruction) -> bool {
    matches!(instruction.opcode, Opcode::Pseudo(Pseudo::Divide | Pseudo::Remainder))
        && (instruction.mods.has(Mod::U64) || instruction.mods.has(Mod::S64))
}

/// Two registers as they are.
fn pair(source: &Source) -> Option<[Value; 2]> {
    let plain = !source.negate && !source.invert && !source.absolute && source.suffixes.is_empty();
    match &source.kind {
        SourceKind::Values(values) if plain => <[Value; 2]>::try_from(values.as_slice()).ok(),
        _ => None,
    }
}

/// The instruction that makes each value.
struct Makers<'a> {
    function: &'a Function,
    places: TiVec<Value, Option<(BlockId, u32)>>,
}

impl<'a> Makers<'a> {
    fn new(function: &'a Function) -> Makers<'a> {
        let mut places = ti_vec![None; function.values.len()];
        for id in function.block_ids() {
            for (index, instruction) in (0..).zip(&function.block(id).instructions) {
                instruction.for_each_definition(|value| places[value] = Some((id, index)));
            }
        }
        Makers { function, places }
    }

    fn of(&self, value: Value) -> Option<&'a Instruction> {
        let (block, index) = self.places[value]?;
        let maker = &self.function.block(block).instructions[index as usize];
        maker.guard.is_none().then_some(maker)
    }

    /// The high words of which one is not zero in a block, by the branch that leads there.
    fn known_in(&self, cfg: &Cfg, id: BlockId) -> Option<[Value; 2]> {
        let &[before] = cfg.predecessors(id) else { return None };
        let before = self.function.block(before);
        let (branch, &[taken, other]) = (before.instructions.last()?, before.successors.as_slice()) else {
            return None;
        };
        let guard = branch.guard.filter(|_| branch.opcode == Opcode::Sass(Op::BRA) && taken != other)?;
        let holds = (taken == id) != guard.negated;
        let compare = self.of(guard.value)?;
        let ([left, right], Opcode::Pseudo(Pseudo::SetPredicate64)) =
            (compare.sources.as_slice(), compare.opcode)
        else {
            return None;
        };
        let unequal = compare.mods.has(if holds { Mod::NE } else { Mod::EQ });
        let [low, high] = pair(left).filter(|_| unequal && self.is_zero(right))?;
        self.is_low_zero(low).then_some(())?;
        self.either(high)
    }

    /// The two high words whose OR a value is.
    fn either(&self, value: Value) -> Option<[Value; 2]> {
        let union = self.logic(value, OR)?;
        (union.destinations[0].values.get(1) == Some(&value)).then_some(())?;
        Some([pair(&union.sources[0])?[1], pair(&union.sources[1])?[1]])
    }

    /// True for the low word of an AND with a mask whose low word is zero.
    fn is_low_zero(&self, value: Value) -> bool {
        let masks_low = |source: &Source| {
            pair(source).is_some_and(|[low, _]| self.of(low).is_some_and(|maker| self.copies_zero(maker)))
        };
        self.logic(value, AND).is_some_and(|masked| {
            masked.destinations[0].values.first() == Some(&value) && masked.sources[..2].iter().any(masks_low)
        })
    }

    /// The 64-bit logic operation with this truth table that defines a value.
    fn logic(&self, value: Value, table: i64) -> Option<&'a Instruction> {
        self.of(value).filter(|maker| {
            maker.opcode == Opcode::Pseudo(Pseudo::Logic64)
                && matches!(maker.sources.as_slice(), [_, _, third, Source { kind: SourceKind::Literal(it), .. }]
                    if self.is_zero(third) && *it == table)
        })
    }

    fn copies_zero(&self, maker: &Instruction) -> bool {
        matches!(maker.opcode, Opcode::Pseudo(Pseudo::Copy) | Opcode::Sass(Op::MOV))
            && maker.sources.first().is_some_and(|source| self.is_zero(source))
    }

    fn is_zero(&self, source: &Source) -> bool {
        !source.invert && matches!(source.kind, SourceKind::Zero(_) | SourceKind::Imm(0))
    }
}
