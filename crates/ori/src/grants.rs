//! General registers that code may name at each point: some kernels release registers in one part and acquire more in
//! another.
//!
//! It is here because pre-allocation scheduling, rematerialization, the allocator and its checker count registers by
//! program point. A point that is reached with different counts has the minimum of them.

use crate::effects::register_grant;
use crate::{BlockId, Cfg, Function, Instruction, Opcode, Origin, Source, SourceKind, Value};
use oriole_sass::{Mod, Op};
use typed_index_collections::{TiVec, ti_vec};

/// The registers that there are for values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Budget {
    /// General registers, by block.
    pub general: TiVec<BlockId, u32>,
    /// Predicates; each further one takes a general register.
    pub predicates: u32,
}

/// The registers at the start of each block.
pub struct Grants {
    /// By block; unreachable blocks have none.
    pub at_entry: TiVec<BlockId, u16>,
    /// The most that any place has.
    pub most: u16,
    /// The least that any place has.
    pub least: u16,
}

impl Grants {
    /// The counts of a function that starts with `first` registers; `None` if they never change.
    pub fn new(function: &Function, cfg: &Cfg, first: u16) -> Option<Grants> {
        let last = |block: BlockId| function.block(block).instructions.iter().rev().find_map(register_grant);
        let grants =
            || function.blocks.iter().flat_map(|block| &block.instructions).filter_map(register_grant);
        let most = grants().max()?.max(first);
        let least = grants().min()?.min(first);
        let mut at_entry: TiVec<BlockId, u16> = ti_vec![u16::MAX; function.blocks.len()];
        at_entry[BlockId(0)] = first;
        let mut changed = true;
        while changed {
            changed = false;
            for &block in cfg.order() {
                let behind = last(block).unwrap_or(at_entry[block]);
                for &successor in &function.block(block).successors {
                    changed |= behind < at_entry[successor];
                    at_entry[successor] = at_entry[successor].min(behind);
                }
            }
        }
        Some(Grants { at_entry, most, least })
    }

    /// The first instruction that would release registers but names more than are allocated on any way to it; the count
    /// that it names, and the allocated count as code may name it. Such an instruction is illegal on the hardware. Where
    /// ways with different counts meet, which one a thread takes depends on their conditions.
    pub fn raised_by_giving_back<'f>(
        &self,
        function: &'f Function,
        cfg: &Cfg,
    ) -> Option<(&'f Instruction, u16, u16)> {
        let most_at_entry = self.most_at_entry(function, cfg);
        cfg.order().iter().find_map(|&block| {
            let mut held = most_at_entry[block];
            function.block(block).instructions.iter().find_map(|instruction| {
                let asked = register_grant(instruction)?;
                let found = std::mem::replace(&mut held, asked);
                let gives_back = !instruction.mods.has(Mod::TRY_ALLOC);
                (gives_back && asked > found).then_some((instruction, asked, found))
            })
        })
    }

    /// The most registers that a thread may have at the start of each block, by the way it took.
    fn most_at_entry(&self, function: &Function, cfg: &Cfg) -> TiVec<BlockId, u16> {
        let last = |block: BlockId| function.block(block).instructions.iter().rev().find_map(register_grant);
        let ends: TiVec<BlockId, Option<u16>> = function.block_ids().map(last).collect();
        let mut most: TiVec<BlockId, u16> = ti_vec![0; function.blocks.len()];
        most[BlockId(0)] = self.at_entry[BlockId(0)];
        let mut changed = true;
        while changed {
            changed = false;
            for &block in cfg.order() {
                let after = ends[block].unwrap_or(most[block]);
                for &successor in &function.block(block).successors {
                    changed |= after > most[successor];
                    most[successor] = most[successor].max(after);
                }
            }
        }
        most
    }

    /// The registers that all places of a block have.
    pub fn throughout(&self, function: &Function, block: BlockId) -> u16 {
        let changes = function.block(block).instructions.iter().filter_map(register_grant);
        changes.fold(self.at_entry[block], u16::min)
    }
}

/// A function without the instructions that change its register count, and without the loops that wait for a grant;
/// and the origin of the first of them. `None` if there is none, or if the result of a grant is read anywhere else.
/// Phis must be copies already.
pub fn without_grants(function: &Function) -> Option<(Function, Origin)> {
    let mut function = function.clone();
    let mut first = None;
    let mut granted = Vec::new();
    for id in function.block_ids() {
        let block = function.block_mut(id);
        let mut left = Vec::new();
        block.instructions.retain(|instruction| {
            let is_grant = register_grant(instruction).is_some();
            if is_grant {
                first = first.or(Some(instruction.origin));
            }
            if is_grant || copies_predicate(instruction, &granted) {
                instruction.for_each_definition(|value| granted.push(value));
                return false;
            }
            let waits =
                instruction.guard.is_some_and(|guard| guard.negated && granted.contains(&guard.value));
            if let (true, [Source { kind: SourceKind::Block(to), .. }]) = (waits, &instruction.sources[..]) {
                left.push(*to);
                return false;
            }
            true
        });
        block.successors.retain(|successor| !left.contains(successor));
    }
    let mut is_read = false;
    function.for_each_occurrence(|value| is_read |= granted.contains(&value));
    if is_read { None } else { Some((function, first?)) }
}

/// True if a predicate instruction copies the result of a grant.
fn copies_predicate(instruction: &Instruction, granted: &[Value]) -> bool {
    let reads = |source: &Source| source.as_plain_value().is_some_and(|value| granted.contains(&value));
    instruction.opcode == Opcode::Sass(Op::PLOP3) && instruction.sources.iter().any(reads)
}

/// True if a function releases or acquires registers.
pub fn changes_registers(function: &Function) -> bool {
    function.blocks.iter().flat_map(|block| &block.instructions).any(|i| register_grant(i).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    #[test]
    fn a_place_has_the_least_of_its_ways() {
        let text = "kernel params=0 barriers=0 registers=64
b0: -> b2 b1
  p0, PT = ISETP.AND.LT RZ, c[0][0x210], PT ; 0
  @p0 BRA b2 ; 0
b1: -> b3
  USETMAXREG.CTAPOOL.DEALLOC #24 ; 1
  BRA b3 ; 1
b2: -> b3
  q1 = USETMAXREG.CTAPOOL.TRY_ALLOC #80 ; 2
b3:
  USETMAXREG.CTAPOOL.DEALLOC #48 ; 3
  EXIT ; 3
";
        let function = parse(text).expect("Ori");
        let graph = function.graph();
        let cfg = graph.cfg();
        let grants = Grants::new(&function, cfg, 64).expect("counts");
        assert_eq!(grants.at_entry.raw, [64, 64, 64, 22]);
        assert_eq!((grants.least, grants.most), (22, 78));
        let throughout: Vec<u16> =
            function.block_ids().map(|block| grants.throughout(&function, block)).collect();
        assert_eq!(throughout, [64, 22, 64, 22]);
        // A thread that comes from b2 has enough for the last one.
        assert!(grants.raised_by_giving_back(&function, cfg).is_none());
        let few = Grants::new(&function, cfg, 20).expect("counts");
        let (instruction, asked, held) =
            few.raised_by_giving_back(&function, cfg).expect("more than there are");
        assert_eq!((instruction.origin.0, asked, held), (1, 22, 20));
        let (without, first) = without_grants(&function).expect("changes");
        assert_eq!(first.0, 1);
        assert!(!changes_registers(&without));
        let plain = parse("kernel params=0 barriers=0\nb0:\n  EXIT ; 0\n").expect("Ori");
        assert!(Grants::new(&plain, plain.graph().cfg(), 64).is_none());
        assert!(without_grants(&plain).is_none());
    }

    #[test]
    fn what_waits_for_registers_goes_with_the_request() {
        let loops = "kernel params=0 barriers=0 registers=64
b0:
  r1 = S2R %(SR_TID.X) ; 0
b1: -> b1 b2
  WARPSYNC.ALL ; 1
  q6 = USETMAXREG.CTAPOOL.TRY_ALLOC #232 ; 1
  p7, PT = PLOP3.LUT PT, PT, q6, #128, #0 ; 1
  @!p7 BRA b1 ; 1
b2:
  EXIT ; 2
";
        let (without, _) = without_grants(&parse(loops).expect("Ori")).expect("a request");
        expect_test::expect![[r#"
            kernel params=0 barriers=0 registers=64
              value r0
              value r2
              value r3
              value r4
              value r5
              value q6
              value p7
            b0:
              r1 = S2R %(SR_TID.X) ; 0
            b1: -> b2
              WARPSYNC.ALL ; 1
            b2:
              EXIT ; 2
        "#]]
        .assert_eq(&without.to_string());
        // A program that reads whether it got them keeps its request.
        let read = loops.replace("  EXIT ; 2", "  @p7 EXIT ; 2\n  EXIT ; 2");
        assert!(without_grants(&parse(&read).expect("Ori")).is_none());
    }
}
