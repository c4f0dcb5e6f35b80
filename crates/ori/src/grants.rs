//! How many general registers code may name where: some kernels give registers back in one part and take more in another.
//!
//! It is here because the order before allocation, rematerialization, the allocator and its checker count registers by place. A
//! place that is reached with different counts has the least of them.

use crate::effects::register_grant;
use crate::{BlockId, Cfg, Function, Instruction};
use oriole_sass::Mod;
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
    /// By block; unreachable ones have none.
    pub at_entry: TiVec<BlockId, u16>,
    /// The most that any place has.
    pub most: u16,
    /// The least that any place has.
    pub least: u16,
}

impl Grants {
    /// The counts of a function that may name so many at its start; `None` if they never change.
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

    /// The first instruction that would give registers back and names more than it finds; what it names, and what is there, as
    /// code may name them. Such an instruction is illegal on the hardware.
    pub fn raised_by_giving_back<'f>(
        &self,
        function: &'f Function,
        cfg: &Cfg,
    ) -> Option<(&'f Instruction, u16, u16)> {
        cfg.order().iter().find_map(|&block| {
            let mut held = self.at_entry[block];
            function.block(block).instructions.iter().find_map(|instruction| {
                let asked = register_grant(instruction)?;
                let found = std::mem::replace(&mut held, asked);
                let gives_back = !instruction.mods.has(Mod::TRY_ALLOC);
                (gives_back && asked > found).then_some((instruction, asked, found))
            })
        })
    }

    /// The registers that all places of a block have.
    pub fn throughout(&self, function: &Function, block: BlockId) -> u16 {
        let changes = function.block(block).instructions.iter().filter_map(register_grant);
        changes.fold(self.at_entry[block], u16::min)
    }
}

/// True if a function gives registers back or takes more.
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
  EXIT ; 3
";
        let function = parse(text).expect("Ori");
        let cfg = Cfg::new(&function);
        let grants = Grants::new(&function, &cfg, 64).expect("counts");
        assert_eq!(grants.at_entry.raw, [64, 64, 64, 22]);
        assert_eq!((grants.least, grants.most), (22, 78));
        let throughout: Vec<u16> =
            function.block_ids().map(|block| grants.throughout(&function, block)).collect();
        assert_eq!(throughout, [64, 22, 64, 22]);
        assert!(grants.raised_by_giving_back(&function, &cfg).is_none());
        let few = Grants::new(&function, &cfg, 20).expect("counts");
        let (instruction, asked, held) =
            few.raised_by_giving_back(&function, &cfg).expect("more than there are");
        assert_eq!((instruction.origin.0, asked, held), (1, 22, 20));
        let plain = parse("kernel params=0 barriers=0\nb0:\n  EXIT ; 0\n").expect("Ori");
        assert!(Grants::new(&plain, &Cfg::new(&plain), 64).is_none());
    }
}
