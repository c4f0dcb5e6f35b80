//! Barriers of the block and the cluster, fences, and other thread synchronization.

use crate::context::{Lower, Lowered};
use crate::memory::scope_mod;
use crate::operand::is_register;
use oriole_hir::{Immediate, Instruction, Operand};
use oriole_ori::{File, Guard, MemoryInfo, Source, SourceKind};
use oriole_ptx::word::{BarrierLevel, BarrierReduction, GridDependency, RegisterChange, Semantics};
use oriole_ptx::{Opcode, Type, Word};
use oriole_sass::{Mod, Op};

/// The bits of a count of threads that an instruction word has.
const THREAD_COUNT: i64 = 0xfff;

impl Lower<'_> {
    /// A fence: `sequential` for `.sc`, else for acquire and release; `acquire` drops cached lines.
    pub fn fence(&mut self, scope: Mod, sequential: bool, acquire: bool) {
        let kind = if sequential { Mod::SC } else { Mod::ALL };
        self.b.op(Op::MEMBAR).m(kind).m(scope).memory(MemoryInfo::EVERYTHING).emit();
        if scope != Mod::CTA {
            self.b.op(Op::ERRBAR).memory(MemoryInfo::EVERYTHING).emit();
            if self.has(Op::CGAERRBAR) {
                self.b.op(Op::CGAERRBAR).memory(MemoryInfo::EVERYTHING).emit();
            }
            if acquire {
                self.invalidate();
            }
        }
    }

    /// Invalidates lines of the L1 cache, so that later reads see writes of other threads.
    pub fn invalidate(&mut self) {
        self.b.op(Op::CCTL).m(Mod::IVALL).memory(MemoryInfo::EVERYTHING).emit();
    }

    /// `membar` and `fence`.
    pub fn memory_barrier(&mut self, i: &Instruction) -> Lowered {
        let has = |word| i.modifiers.has(word);
        if has(Word::Alias) {
            self.alias_fence(i);
            return Ok(());
        }
        if i.opcode == Opcode::Membar {
            let scope = match i.modifiers.at() {
                Some(BarrierLevel::Cta) => Mod::CTA,
                Some(BarrierLevel::Gl) => Mod::GPU,
                Some(BarrierLevel::Sys) => Mod::SYS,
                None => return Err(self.unsupported_form(i)),
            };
            self.fence(scope, true, true);
            return Ok(());
        }
        if has(Word::AsyncGeneric) && has(Word::SyncRestrictSharedClusterRead) {
            // An mbarrier orders data that was read over the network.
            self.ordered_nothing();
            return Ok(());
        }
        if has(Word::SyncRestrictSharedCluster) || has(Word::SyncRestrictSharedCta) {
            // An mbarrier orders data that comes in over the network of the cluster.
            if i.modifiers.at() == Some(Semantics::Release) {
                self.fence(Mod::CTA, false, false);
                self.view_fence(Mod::S);
            }
            return Ok(());
        }
        if has(Word::TensormapGeneric) {
            return self.tensor_map_fence(i);
        }
        if has(Word::Proxy) {
            if !has(Word::Async) {
                return Err(self.unsupported_form(i));
            }
            let global = i.space == Some(oriole_ptx::Space::Global);
            if !global {
                let own = !has(Word::SyncRestrictSharedClusterRead);
                let scope = if own && i.space.is_some() && i.space != Some(oriole_ptx::Space::Generic) {
                    Mod::CTA
                } else {
                    Mod::GPU
                };
                self.b.op(Op::MEMBAR).m(Mod::ALL).m(scope).memory(MemoryInfo::EVERYTHING).emit();
            }
            self.view_fence(if global { Mod::G } else { Mod::S });
            return Ok(());
        }
        if has(Word::MbarrierInit) {
            return Ok(());
        }
        let Some((_, scope)) = scope_mod(i) else { return Err(self.unsupported_form(i)) };
        match i.modifiers.at() {
            Some(Semantics::Acquire) if scope == Mod::CTA => {}
            Some(Semantics::Acquire) => self.invalidate(),
            Some(Semantics::Release) => self.fence(scope, false, false),
            Some(Semantics::Sc) => self.fence(scope, true, true),
            Some(Semantics::AcqRel) | None => self.fence(scope, false, true),
            Some(Semantics::Weak | Semantics::Relaxed | Semantics::Volatile) => {
                return Err(self.unsupported_form(i));
            }
        }
        Ok(())
    }

    /// A `NOP` that keeps program order of memory accesses.
    fn ordered_nothing(&mut self) {
        self.b.op(Op::NOP).memory(MemoryInfo::EVERYTHING).emit();
    }

    /// Orders accesses through several addresses of the same memory. In one direction that is one half of a system
    /// fence. In both, the driver says which scope is enough.
    fn alias_fence(&mut self, i: &Instruction) {
        let has = |word| i.modifiers.has(word);
        match i.modifiers.at() {
            // Reads are complete where their results are used.
            Some(Semantics::Release) if has(Word::SyncRestrictRead) => return self.ordered_nothing(),
            Some(Semantics::Release) => {
                self.b.op(Op::MEMBAR).m(Mod::ALL).m(Mod::SYS).memory(MemoryInfo::EVERYTHING).emit();
                return;
            }
            Some(Semantics::Acquire) => {
                self.invalidate();
                if has(Word::FabricGeneric) {
                    self.view_fence(Mod::G);
                }
                return;
            }
            _ => {}
        }
        let (place, counts) = self.bank.within_device;
        let (word, told, within) = (self.bank_word(place), self.b.r(), self.b.p());
        self.b.and(told, word, counts);
        self.b.isetp(within, Mod::NE, true, told, Source::rz());
        for (scope, negated) in [(Mod::GPU, false), (Mod::SYS, true)] {
            let guard = Guard { value: within, negated };
            self.b.op(Op::MEMBAR).m(Mod::SC).m(scope).memory(MemoryInfo::EVERYTHING).guarded(guard).emit();
        }
        self.invalidate();
    }

    /// Orders the accesses of the program and of the asynchronous units to one memory.
    fn view_fence(&mut self, which: Mod) {
        self.b.op(Op::FENCE).mods(&[Mod::VIEW, Mod::ASYNC, which]).memory(MemoryInfo::EVERYTHING).emit();
    }

    /// `fence.proxy.tensormap::generic`, in the direction that publishes a map.
    fn tensor_map_fence(&mut self, i: &Instruction) -> Lowered {
        let Some((_, scope)) = scope_mod(i) else { return Err(self.unsupported_form(i)) };
        if i.modifiers.at() == Some(Semantics::Acquire) {
            return self.acquire_map(i);
        }
        // The unit that reads maps is beyond the block.
        self.fence(if scope == Mod::CTA { Mod::GPU } else { scope }, false, false);
        Ok(())
    }

    /// `bar` and `barrier`.
    pub fn barrier(&mut self, i: &Instruction) -> Lowered {
        if i.modifiers.has(Word::Cluster) {
            return self.cluster_barrier(i);
        }
        if i.modifiers.has(Word::Warp) {
            let mask = self.operand(i, 0)?.clone();
            return self.warp_sync(&mask, true);
        }
        let reduces = i.modifiers.has(Word::Red);
        let arrives = i.modifiers.has(Word::Arrive);
        let first = usize::from(reduces);
        let id = self.operand(i, first)?;
        match id {
            Operand::Immediate(Immediate::Integer(n)) if (0..16).contains(n) => {
                let function = self.b.function_mut();
                function.barriers = function.barriers.max(*n as u8 + 1);
            }
            Operand::Immediate(_) => return Err(self.unsupported("a barrier number that is not 0 to 15")),
            _ => self.b.function_mut().barriers = 16,
        }
        let has_count = i.operands.len() > first + 1 + usize::from(reduces);
        let mut id = self.barrier_number(id)?;
        let mut count =
            if has_count { Some(self.barrier_number(self.operand(i, first + 1)?)?) } else { None };
        if let Some(Source { kind: SourceKind::Literal(threads), .. }) = &mut count {
            // No block has that many threads; like ptxas, keep the low bits of the field.
            *threads &= THREAD_COUNT;
        }
        if let Some(threads) = &count
            && is_register(threads)
            && is_register(&id)
        {
            // With both in registers the hardware takes them from one: the barrier in the low bits, the count in the
            // upper half.
            let [shifted, packed] = [self.b.r(), self.b.r()];
            self.b.shl(shifted, threads.clone(), 16u32);
            self.b.lop3(packed, shifted, 0xfu32, id, 0xf8);
            id = packed.into();
            count = Some(packed.into());
        }
        let memory = MemoryInfo::EVERYTHING;
        if !reduces {
            let kind: &[Mod] = if arrives { &[Mod::ARV] } else { &[Mod::SYNC, Mod::DEFER_BLOCKING] };
            self.b.op(Op::BAR).mods(kind).from(id).from_all(count).memory(memory).emit();
            return Ok(());
        }
        let last = self.operand(i, i.operands.len() - 1)?;
        let p = self.predicate(last)?;
        let d = self.operand(i, 0)?;
        let operation = match i.modifiers.at() {
            Some(BarrierReduction::Popc) => Mod::POPC,
            Some(BarrierReduction::And) => Mod::AND,
            Some(BarrierReduction::Or) => Mod::OR,
            None => return Err(self.unsupported_form(i)),
        };
        self.b
            .op(Op::BAR)
            .mods(&[Mod::RED, operation, Mod::DEFER_BLOCKING])
            .from(id)
            .from_all(count)
            .from(p)
            .memory(memory)
            .emit();
        if operation == Mod::POPC {
            let d = self.result_word(d, Type::U32)?;
            self.b.op(Op::B2R).m(Mod::RESULT).to(d).memory(memory).emit();
        } else {
            let d = self.result_predicate(d)?;
            self.b
                .op(Op::B2R)
                .m(Mod::RESULT)
                .drop_result(File::R)
                .to_or_drop(d, File::P)
                .memory(memory)
                .emit();
        }
        Ok(())
    }

    fn barrier_number(&mut self, operand: &Operand) -> Result<Source, crate::LowerError> {
        let word = self.word(operand, Type::U32)?;
        Ok(match word.kind {
            SourceKind::Imm(bits) => Source::literal(bits.into()),
            SourceKind::Zero(_) => Source::literal(0),
            _ => word,
        })
    }

    /// `barrier.cluster`: the barrier of the cluster where there is one, that of the block where there is not.
    fn cluster_barrier(&mut self, i: &Instruction) -> Lowered {
        let directives = &self.body.directives;
        if directives.explicitcluster || directives.reqnctapercluster.is_some() {
            self.meet_cluster(i);
            return Ok(());
        }
        let behind = self.begin_region();
        let arrives = i.modifiers.has(Word::Arrive);
        let place = self.bank.explicit_cluster.ok_or_else(|| self.unsupported_form(i))?;
        let word = self.bank_word(place);
        let alone = self.b.p();
        self.b.isetp(alone, Mod::NE, true, word, 1u32);
        let [cluster, block, join] = [self.b.new_block(), self.b.new_block(), self.b.new_block()];
        self.b.branch(Guard { value: alone, negated: false }, block, cluster);
        self.open(cluster);
        self.meet_cluster(i);
        self.b.jump(join);
        self.terminated = true;
        self.open(block);
        if !arrives {
            let kind = [Mod::SYNC, Mod::DEFER_BLOCKING];
            self.b.op(Op::BAR).mods(&kind).from(Source::literal(0)).memory(MemoryInfo::EVERYTHING).emit();
        }
        self.run_into(join);
        self.end_region(behind);
        Ok(())
    }

    /// Arrives at the barrier of the cluster, or waits there.
    fn meet_cluster(&mut self, i: &Instruction) {
        let function = self.b.function_mut();
        function.barriers = function.barriers.max(1);
        if i.modifiers.has(Word::Arrive) {
            if i.modifiers.at() != Some(Semantics::Relaxed) {
                self.fence(Mod::GPU, false, false);
            }
            self.b.op(Op::UCGABAR_ARV).memory(MemoryInfo::EVERYTHING).emit();
        } else {
            self.b.op(Op::UCGABAR_WAIT).memory(MemoryInfo::EVERYTHING).emit();
            self.invalidate();
        }
    }

    /// Waits until the lanes of the mask arrive; if `orders`, their writes are visible afterwards.
    pub fn warp_sync(&mut self, mask: &Operand, orders: bool) -> Lowered {
        let mut wait = oriole_ori::Instruction::new(Op::WARPSYNC, self.b.origin());
        wait.memory = orders.then_some(MemoryInfo::EVERYTHING);
        if Self::is_integer(mask, -1) || Self::is_integer(mask, 0xffff_ffff) {
            if self.names_all_lanes() {
                wait.mods.insert(Mod::ALL);
            } else {
                wait.sources.push(Source::literal(0xffff_ffff));
            }
        } else {
            let mask = self.word(mask, Type::B32)?;
            let mask = self.in_register(mask);
            wait.sources.push(mask);
        }
        self.b.push(wait);
        Ok(())
    }

    /// `nanosleep`.
    pub fn nanosleep(&mut self, i: &Instruction) -> Lowered {
        let time = self.word(self.operand(i, 0)?, Type::U32)?;
        self.b.op(Op::NANOSLEEP).from(time).memory(MemoryInfo::EVERYTHING).emit();
        Ok(())
    }

    /// `griddepcontrol`.
    pub fn grid_dependency(&mut self, i: &Instruction) -> Lowered {
        let op = match i.modifiers.at() {
            Some(GridDependency::Wait) => Op::ACQBULK,
            Some(GridDependency::LaunchDependents) => Op::PREEXIT,
            None => return Err(self.unsupported_form(i)),
        };
        self.b.op(op).memory(MemoryInfo::EVERYTHING).emit();
        Ok(())
    }

    /// `setmaxnreg`, in a kernel that declares its initial register count; others keep their registers.
    pub fn change_registers(&mut self, i: &Instruction) -> Lowered {
        let Operand::Immediate(Immediate::Integer(count)) = *self.operand(i, 0)? else {
            return Err(self.unsupported_form(i));
        };
        if !self.body.is_entry || !self.body.directives.tell_registers() {
            return Ok(());
        }
        let behind = self.begin_region();
        let count = Source::literal(count);
        let all = Operand::Immediate(Immediate::Integer(-1));
        if i.modifiers.at() == Some(RegisterChange::Dec) {
            self.warp_sync(&all, true)?;
            self.b.op(Op::USETMAXREG).mods(&[Mod::DEALLOC, Mod::CTAPOOL]).from(count).emit();
            self.end_region(behind);
            return Ok(());
        }
        // Other warps may not have released theirs yet.
        let again = self.b.new_block();
        let granted_all = self.b.new_block();
        self.run_into(again);
        self.warp_sync(&all, true)?;
        let [granted, holds] = [self.b.temporary(File::UP), self.b.p()];
        self.b.op(Op::USETMAXREG).mods(&[Mod::TRY_ALLOC, Mod::CTAPOOL]).to(granted).from(count).emit();
        self.b.plop3(holds, Source::pt(), Source::pt(), granted, 0x80);
        self.b.branch(Guard { value: holds, negated: true }, again, granted_all);
        self.open(granted_all);
        self.end_region(behind);
        Ok(())
    }

    /// `pmevent`.
    pub fn trigger(&mut self, i: &Instruction) -> Lowered {
        let Operand::Immediate(Immediate::Integer(n)) = *self.operand(i, 0)? else {
            return Err(self.unsupported_form(i));
        };
        let mask = if i.modifiers.has(Word::Mask) { n } else { 1 << n.clamp(0, 15) };
        self.b.op(Op::PMTRIG).from(Source::literal(mask)).emit();
        Ok(())
    }
}
