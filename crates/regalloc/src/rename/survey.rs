//! One walk over a function before values are renamed: where each value lives, which registers are live between blocks,
//! and in which blocks writes would wait for memory accesses.
//!
//! It is here because most functions and most blocks have no such write, and are left after this walk. No register is
//! chosen here.

use super::late::{WINDOW, general, reads_late};
use crate::set::RegisterSet;
use crate::work::Work;
use oriole_ori::{BlockId, Cfg, Value};
use typed_index_collections::{TiVec, ti_vec};

/// The home of a value that occurs nowhere, or in several blocks.
const NOWHERE: u32 = u32::MAX;
const MANY: u32 = u32::MAX - 1;

/// The registers of a block.
#[derive(Clone, Copy, Default)]
pub(super) struct Summary {
    /// Read before they are written.
    read: RegisterSet,
    /// Written.
    written: RegisterSet,
    /// An instruction writes a register that an access just before it reads.
    pub(super) waits: bool,
}

/// One walk over the function: where values live, and where writes wait for accesses.
pub(super) struct Survey {
    /// The block of each value.
    pub(super) home: TiVec<Value, u32>,
    pub(super) blocks: TiVec<BlockId, Summary>,
}

impl Survey {
    /// `None` if no write waits.
    pub(super) fn new(work: &Work) -> Option<Survey> {
        let mut home = ti_vec![NOWHERE; work.function.values.len()];
        let mut blocks = TiVec::with_capacity(work.function.blocks.len());
        let mut late = [0; 256];
        let mut clock = WINDOW;
        let mut any = false;
        for id in work.function.block_ids() {
            let mut summary = Summary::default();
            let mut visit = |value: Value| {
                let known = &mut home[value];
                *known = if *known == NOWHERE || *known == id.0 { id.0 } else { MANY };
                *known == id.0
            };
            clock += WINDOW;
            for instruction in &work.function.block(id).instructions {
                clock += 1;
                let is_late = reads_late(instruction);
                instruction.for_each_use(|value| {
                    let Some(register) = general(work, value) else { return };
                    visit(value);
                    if !summary.written.contains(register) {
                        summary.read.insert(register);
                    }
                    if is_late {
                        late[usize::from(register)] = clock;
                    }
                });
                let partial = instruction.is_partial();
                instruction.for_each_definition(|value| {
                    let Some(register) = general(work, value) else { return };
                    let is_local = visit(value);
                    if partial && !summary.written.contains(register) {
                        summary.read.insert(register);
                    }
                    if !partial {
                        summary.written.insert(register);
                    }
                    summary.waits |= is_local && clock - late[usize::from(register)] < WINDOW;
                });
            }
            any |= summary.waits;
            blocks.push(summary);
        }
        any.then_some(Survey { home, blocks })
    }

    /// The registers that are live at the start of each block.
    pub(super) fn live_at_entries(&self, work: &Work, cfg: &Cfg) -> TiVec<BlockId, RegisterSet> {
        let mut live: TiVec<BlockId, RegisterSet> = self.blocks.iter().map(|block| block.read).collect();
        let mut changed = true;
        while changed {
            changed = false;
            for &id in cfg.order().iter().rev() {
                let successors = work.function.block(id).successors.iter();
                let out =
                    successors.fold(RegisterSet::default(), |all, &successor| all.with(live[successor]));
                let now = live[id].with(out.without(self.blocks[id].written));
                changed |= now != live[id];
                live[id] = now;
            }
        }
        live
    }
}
