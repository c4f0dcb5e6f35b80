//! Known blocks: data about the blocks of a function from when it, or one like it, was scheduled before.
//!
//! It is here because a function may be scheduled for several register counts, and most of its blocks stay the same.
//! An answer is only that for the same instructions, live values and files; nothing is computed here.

use crate::candidate::Prepared;
use crate::graph::Sides;
use oriole_ori::{BlockId, File, Function, Instruction, Value};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// Data about the blocks of a function, kept for when the function, or one derived from it, is scheduled for another
/// register count: most blocks are the same then.
#[derive(Default)]
pub struct KnownBlocks {
    of: FxHashMap<BlockId, Vec<KnownBlock>>,
    /// The function that is scheduled next, if the caller shares it.
    next: Option<Rc<Function>>,
    /// Cycles of the last schedule, loops weighted.
    time: Option<u64>,
}

/// A block that was scheduled.
struct KnownBlock {
    sides: Sides,
    content: Content,
    live_out: Vec<Value>,
    prepared: Rc<Prepared>,
}

/// Content of a block before scheduling.
enum Content {
    /// The block of this function. Most functions are scheduled once, and none of their instructions is copied for
    /// it.
    Of(Rc<Function>),
    /// These instructions, and the files of their operands and of the live-out values.
    Own(Vec<Instruction>, Vec<File>),
}

impl Content {
    fn is(&self, function: &Function, block: BlockId, live_out: &[Value]) -> bool {
        let instructions = &function.block(block).instructions;
        let files = |function: &Function| files(function, instructions, live_out);
        match self {
            Content::Of(known) => {
                known.block(block).instructions == *instructions && files(known) == files(function)
            }
            Content::Own(known, known_files) => known == instructions && *known_files == files(function),
        }
    }
}

impl KnownBlocks {
    /// Cycles of the last schedule, loops weighted, if it is that of the list schedulers: blocks that multiply
    /// matrices may have another.
    pub fn time(&self) -> Option<u64> {
        self.time
    }

    /// Sets the function that is scheduled next. It is kept as long as the data about its blocks.
    pub fn start(&mut self, function: Rc<Function>) {
        self.next = Some(function);
    }

    /// The function is scheduled. `time` is that of the schedule, if it is that of the list schedulers.
    pub fn end(&mut self, time: Option<u64>) {
        self.time = time;
        self.next = None;
    }

    /// The data about a block with these live-out values; computed if unknown.
    pub fn prepared(
        &mut self,
        function: &Function,
        block: BlockId,
        sides: Sides,
        live_out: &[Value],
        make: impl FnOnce() -> Rc<Prepared>,
    ) -> Rc<Prepared> {
        let is_same = |known: &&KnownBlock| {
            known.sides == sides && known.live_out == live_out && known.content.is(function, block, live_out)
        };
        let known = self.of.entry(block).or_default();
        if let Some(found) = known.iter().find(is_same) {
            return found.prepared.clone();
        }
        let content = match &self.next {
            Some(next) => Content::Of(next.clone()),
            None => {
                let instructions = function.block(block).instructions.clone();
                let files = files(function, &instructions, live_out);
                Content::Own(instructions, files)
            }
        };
        let (live_out, prepared) = (live_out.to_vec(), make());
        known.push(KnownBlock { sides, content, live_out, prepared: prepared.clone() });
        prepared
    }
}

/// The files of the operands and live-out values of a block: derived functions may have values of different files
/// under one id.
fn files(function: &Function, instructions: &[Instruction], live_out: &[Value]) -> Vec<File> {
    let mut files = Vec::new();
    instructions.iter().for_each(|i| i.for_each_use(|v| files.push(function.file(v))));
    files.extend(live_out.iter().map(|&v| function.file(v)));
    files
}
