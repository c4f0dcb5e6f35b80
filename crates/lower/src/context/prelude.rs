//! Values that the whole function shares: each is computed once, at the start of the function, when the first statement
//! needs it. A value that a single family needs once for each variable is in the family.

use crate::context::Lower;
use oriole_ori::{BlockId, ConstBase, File, Instruction, Origin, Source, SourceKind, Value};
use oriole_sass::{Mod, Op, Symbol};

impl Lower<'_> {
    /// Ends the prelude: instructions shared by the whole function are inserted after the current ones.
    pub fn end_prelude(&mut self) {
        self.prelude = self.b.function().block(BlockId(0)).instructions.len();
    }

    /// Puts an instruction at the start of the function.
    pub fn insert_in_prelude(&mut self, instruction: Instruction) {
        let at = self.prelude;
        self.b.function_mut().block_mut(BlockId(0)).instructions.insert(at, instruction);
        self.prelude += 1;
        if self.mark.0 == BlockId(0) && self.mark.1 >= at {
            self.mark.1 += 1;
        }
    }

    /// Origin of prelude code: the statement that needs it first; in unoptimized code, which is in source order, the
    /// first statement.
    pub fn prelude_origin(&self) -> Origin {
        if self.options.unoptimized { Origin(0) } else { self.b.origin() }
    }

    /// The descriptor of global memory, a pair of uniform registers, or `None` where accesses need none.
    ///
    /// Uniform registers belong to the whole warp: a function called by some lanes only would overwrite values of the
    /// others. So neither callers nor callees keep anything there.
    pub fn descriptor(&mut self) -> Option<[Value; 2]> {
        let place = self.bank.global_descriptor?;
        if self.calls || !self.body.is_entry || !self.uniform {
            return None;
        }
        if self.descriptor.is_some() {
            return self.descriptor;
        }
        let pair = [self.b.temporary(File::UR), self.b.temporary(File::UR)];
        let mut load = Instruction::new(oriole_sass::on_chip(self.chip, Op::ULDC), self.prelude_origin());
        load.mods.insert(Mod::_64);
        load.destinations.push(oriole_ori::Destination::new(File::UR, pair));
        load.sources.push(Source::plain(SourceKind::Const {
            bank: 0,
            base: ConstBase::Bank,
            offset: place as i32,
        }));
        self.insert_in_prelude(load);
        self.descriptor = Some(pair);
        self.descriptor
    }

    /// The rank of the block in its cluster, shifted to its position in shared addresses.
    /// `None` on a chip without clusters.
    pub fn cluster_base(&mut self) -> Option<Value> {
        self.bank.cluster_blocks?;
        if self.cluster_base.is_some() {
            return self.cluster_base;
        }
        let origin = self.prelude_origin();
        let rank = self.b.r();
        let base = self.b.r();
        let mut read = Instruction::new(Op::S2R, origin);
        read.destinations.push(oriole_ori::Destination::new(File::R, [rank]));
        read.sources.push(Source::plain(SourceKind::Symbol(Symbol::SR_CgaCtaId)));
        let mut shift = Instruction::new(Op::SHF, origin);
        shift.mods = oriole_sass::Mods::of(&[Mod::L, Mod::U32]);
        shift.destinations.push(oriole_ori::Destination::new(File::R, [base]));
        shift.sources.extend([Source::value(rank), Source::imm(24), Source::rz()]);
        self.insert_in_prelude(read);
        self.insert_in_prelude(shift);
        self.cluster_base = Some(base);
        self.cluster_base
    }
}
