//! Asynchronous copies from global to shared memory, and their waits: `cp.async` and its groups.

use crate::context::{Lower, Lowered};
use crate::operand::imm;
use oriole_hir::{Immediate, Instruction, Operand};
use oriole_ori::{MemoryInfo, Pseudo, Source, SourceKind, Space as AliasSpace};
use oriole_ptx::word::{CacheOperator, FetchSize};
use oriole_ptx::{Space, Type, Word};
use oriole_sass::{Mod, Op};

/// A copy reads one memory and writes another one.
const BOTH: MemoryInfo =
    MemoryInfo { space: AliasSpace::Generic, reads: true, writes: true, ordered: false, object: None };
/// All accesses that a wait orders.
const EVERYTHING: MemoryInfo = MemoryInfo { ordered: true, ..BOTH };

/// The scoreboard that counts groups of copies.
pub(crate) const COPIES: u8 = 0;

/// Bytes of its source that a copy reads; zeros fill the rest of the target.
enum Extent {
    Whole,
    /// This many bytes, known.
    Bytes(i64),
    /// This many bytes, in a register.
    Counted(Source),
    /// All bytes, or none where the predicate holds.
    UnlessIgnored(Source),
}

impl Lower<'_> {
    /// `cp` in all its forms.
    pub fn copy(&mut self, i: &Instruction) -> Lowered {
        let has = |word| i.modifiers.has(word);
        if has(Word::Bulk) {
            return self.bulk(i);
        }
        if has(Word::Mbarrier) {
            return self.signal_copies(i);
        }
        if has(Word::CommitGroup) {
            self.commit_copies();
            return Ok(());
        }
        if has(Word::WaitAll) {
            self.commit_copies();
            self.wait_for_groups(COPIES, 0);
            return Ok(());
        }
        if has(Word::WaitGroup) {
            let Operand::Immediate(Immediate::Integer(left)) = *self.operand(i, 0)? else {
                return Err(self.unsupported_form(i));
            };
            self.wait_for_groups(COPIES, left);
            return Ok(());
        }
        self.copy_asynchronously(i)
    }

    /// Closes the group of all copies since the last one was closed.
    fn commit_copies(&mut self) {
        self.b.op(Op::LDGDEPBAR).memory(EVERYTHING).emit();
    }

    /// Waits until at most `left` of the youngest groups are in flight; this scoreboard counts them.
    pub fn wait_for_groups(&mut self, scoreboard: u8, left: i64) {
        // There are never more groups in flight than the field can encode.
        let left = left.clamp(0, 63);
        self.b
            .op(Op::DEPBAR)
            .m(Mod::LE)
            .from(Source::plain(SourceKind::Scoreboard(scoreboard)))
            .from(Source::literal(left))
            .memory(EVERYTHING)
            .emit();
    }

    fn copy_asynchronously(&mut self, i: &Instruction) -> Lowered {
        let Operand::Immediate(Immediate::Integer(size)) = *self.operand(i, 2)? else {
            return Err(self.unsupported_form(i));
        };
        let width = match size {
            4 => None,
            8 => Some(Mod::_64),
            16 => Some(Mod::_128),
            _ => return Err(self.unsupported_form(i)),
        };
        let extent = self.extent(i, size)?;
        let target = self.place(self.operand(i, 0)?, Space::Shared)?;
        let target = self.memory_operand(&target, false);
        let mut source = self.place(self.operand(i, 1)?, Space::Global)?;
        // The low bits of an address that is aligned to the size encode how many bytes are missing at the end.
        let (wanted, fills) = match extent {
            Extent::Whole => (None, false),
            Extent::Bytes(0) => (Some(Source::not_pt()), false),
            Extent::Bytes(read) => {
                source.offset += (size - read) as i32;
                (None, true)
            }
            Extent::Counted(read) => {
                let [missing, cut] = [self.b.r(), self.b.r()];
                self.b.iadd3(missing, read.clone().negated(), imm(size as u32), Source::rz());
                self.b.and(cut, missing, (size - 1) as u32);
                let [low, high] = [self.b.r(), self.b.r()];
                if source.base.len() != 2 {
                    return Err(self.unsupported_form(i));
                }
                let base = Source::values(source.base.iter().copied());
                let cut = self.tuple([cut.into(), Source::rz()]);
                self.pseudo(Pseudo::Add64, &[], [low, high], [base, cut]);
                source.base = [low, high].into_iter().collect();
                let some = self.b.p();
                self.b.isetp(some, Mod::NE, true, read, Source::rz());
                (Some(some.into()), true)
            }
            Extent::UnlessIgnored(ignored) => (Some(ignored.inverted()), false),
        };
        let mut source = self.cached_operand(i, &source)?;
        // Said without a descriptor too, where registers of the whole warp cannot hold one (kernels that call
        // functions).
        source.suffixes.insert(Mod::_64);
        let fetch = i.modifiers.at().map(|size| match size {
            FetchSize::L264B => Mod::LTC64B,
            FetchSize::L2128B => Mod::LTC128B,
            FetchSize::L2256B => Mod::LTC256B,
        });
        let bypass = (i.modifiers.at() == Some(CacheOperator::Cg)).then_some(Mod::BYPASS);
        let mods = [Some(Mod::E), bypass, fetch, width, fills.then_some(Mod::ZFILL)];
        let mods: Vec<Mod> = mods.into_iter().flatten().collect();
        self.b.op(Op::LDGSTS).mods(&mods).from(target).from(source).from_all(wanted).memory(BOTH).emit();
        Ok(())
    }

    /// How much is read: a byte count, or a predicate that is true if nothing is.
    fn extent(&mut self, i: &Instruction, size: i64) -> Result<Extent, crate::LowerError> {
        // The last operand of a form with a policy is the policy.
        let policy = usize::from(i.modifiers.has(Word::L2CacheHint));
        if i.operands.len() <= 3 + policy {
            return Ok(Extent::Whole);
        }
        let operand = self.operand(i, 3)?;
        Ok(match operand {
            Operand::Register(id) if self.body.registers[*id].ty == Type::Pred => {
                Extent::UnlessIgnored(self.predicate(operand)?)
            }
            Operand::NotRegister(_) => Extent::UnlessIgnored(self.predicate(operand)?),
            &Operand::Immediate(Immediate::Integer(read)) => match read {
                read if (0..size).contains(&read) => Extent::Bytes(read),
                _ => Extent::Whole,
            },
            operand => {
                let read = self.word(operand, Type::U32)?;
                Extent::Counted(self.in_register(read))
            }
        })
    }
}
