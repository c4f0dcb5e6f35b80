//! Renaming of general registers after the allocation: a value that would be written to a register which a memory
//! access before it still reads takes another one.
//!
//! It is here because accesses read their addresses and stored values some time after they are issued. The scan takes
//! the lowest free register, which often is the address of the last access: each next address would wait for it. Only
//! values that live in one block are renamed: then no edge needs a move, and a value that finds no better register
//! keeps its own. Instructions are neither added nor moved, and latencies are not known here.

mod late;
mod survey;

use crate::operands::{destinations, is_group_product, sources, wants_places};
use crate::set::RegisterSet;
use crate::work::Work;
use late::{WINDOW, general, reads_late};
use oriole_ori::{BlockId, Cfg, File, Instruction, Opcode, Value};
use survey::Survey;
use typed_index_collections::{TiVec, ti_vec};

/// Instructions by which a register must have been read earlier than another to be better.
const GAIN: u32 = 2;

/// The widest web that is renamed, in registers.
const WIDEST: u8 = 4;

/// A node that is none, a position that was not reached.
const NONE: u32 = u32::MAX;

/// Renames values of an entry function to these registers, of which those up to `cheap` are preferred.
pub fn rename(work: &mut Work, cfg: &Cfg, usable: RegisterSet, cheap: RegisterSet) {
    let Some(survey) = Survey::new(work) else { return };
    let live = survey.live_at_entries(work, cfg);
    let mut slot = ti_vec![NONE; work.function.values.len()];
    for &id in cfg.order() {
        if !survey.blocks[id].waits {
            continue;
        }
        let successors = work.function.block(id).successors.iter();
        let out = successors.fold(RegisterSet::default(), |all, &successor| all.with(live[successor]));
        let mut block = Block::new(work, &survey.home, id, &mut slot);
        let Some(()) = block.walk([live[id], out]) else { continue };
        let renamed = block.choose(usable, cheap);
        for (value, register) in renamed {
            work.register[value] = Some(register);
        }
    }
}

/// A value of the block: a node of a web, which are values that stand side by side in some operand.
struct Node {
    value: Value,
    register: u8,
    parent: u32,
    /// Of the web: its lowest and its highest register, its alignment, its first and last position.
    low: u8,
    high: u8,
    align: u8,
    first: u32,
    last: u32,
    /// The web stays where it is.
    stays: bool,
    /// The first register that the web is moved to.
    target: Option<u8>,
    /// The next node of the web.
    next: u32,
}

/// A stretch of a block in which a register holds one value.
#[derive(Clone, Copy)]
struct Stretch {
    first: u32,
    last: u32,
    /// The node, or [`NONE`] for a value that other blocks have as well.
    node: u32,
}

/// Something to look at in order.
#[derive(Clone, Copy)]
enum Event {
    /// A late read of a register, by the node if it has one.
    Late { position: u32, register: u8, node: u32 },
    /// The first definition of a node.
    Define { position: u32, node: u32 },
}

/// A block in which writes wait. Instruction n reads at position 2 n + 2 and writes at 2 n + 3.
struct Block<'a> {
    work: &'a Work,
    home: &'a TiVec<Value, u32>,
    id: BlockId,
    slot: &'a mut TiVec<Value, u32>,
    nodes: Vec<Node>,
    /// By register.
    stretches: Vec<Vec<Stretch>>,
    events: Vec<Event>,
    /// Positions of calls.
    calls: Vec<u32>,
}

impl<'a> Block<'a> {
    fn new(
        work: &'a Work,
        home: &'a TiVec<Value, u32>,
        id: BlockId,
        slot: &'a mut TiVec<Value, u32>,
    ) -> Block<'a> {
        let stretches = vec![Vec::new(); 256];
        Block { work, home, id, slot, nodes: Vec::new(), stretches, events: Vec::new(), calls: Vec::new() }
    }

    /// The node of a value that lives in this block only, new if it is seen for the first time.
    fn node(&mut self, value: Value, register: u8) -> u32 {
        if self.home[value] != self.id.0 {
            return NONE;
        }
        if self.slot[value] == NONE {
            let parent = self.nodes.len() as u32;
            self.slot[value] = parent;
            self.nodes.push(Node {
                value,
                register,
                parent,
                low: register,
                high: register,
                align: 1,
                first: NONE,
                last: 0,
                stays: false,
                target: None,
                next: NONE,
            });
        }
        self.slot[value]
    }

    fn root(&mut self, mut node: u32) -> u32 {
        while self.nodes[node as usize].parent != node {
            let above = self.nodes[node as usize].parent;
            self.nodes[node as usize].parent = self.nodes[above as usize].parent;
            node = above;
        }
        node
    }

    /// Finds nodes, stretches and events. `None` if the block is left alone.
    fn walk(&mut self, [live, out]: [RegisterSet; 2]) -> Option<()> {
        for register in live.iter() {
            self.stretches[usize::from(register)].push(Stretch { first: 0, last: 0, node: NONE });
        }
        let block = self.work.function.block(self.id);
        if block.instructions.iter().any(is_group_product) {
            return None;
        }
        for (instruction, at) in block.instructions.iter().zip(1..) {
            self.instruction(instruction, 2 * at);
        }
        let end = 2 * block.instructions.len() as u32 + 4;
        for register in out.iter() {
            match self.stretches[usize::from(register)].last_mut() {
                Some(stretch) => {
                    stretch.last = end;
                    // It lives on by another name.
                    if let Some(node) = self.nodes.get_mut(stretch.node as usize) {
                        node.stays = true;
                    }
                }
                // Undefined here.
                None => {
                    self.stretches[usize::from(register)].push(Stretch { first: 0, last: end, node: NONE })
                }
            }
        }
        self.webs();
        Some(())
    }

    fn instruction(&mut self, instruction: &Instruction, position: u32) {
        let work = self.work;
        let is_late = reads_late(instruction);
        let stays = matches!(instruction.opcode, Opcode::Pseudo(_)) || instruction.call.is_some();
        if stays {
            self.calls.extend(instruction.call.is_some().then_some(position));
        }
        let partial = instruction.is_partial();
        instruction.for_each_use(|value| {
            let Some(register) = general(work, value) else { return };
            let node = self.node(value, register);
            self.reads(register, node, position);
            if is_late {
                self.events.push(Event::Late { position, register, node });
            }
            if let (true, Some(node)) = (stays, self.nodes.get_mut(node as usize)) {
                node.stays = true;
            }
        });
        instruction.for_each_definition(|value| {
            let Some(register) = general(work, value) else { return };
            let node = self.node(value, register);
            if partial {
                self.reads(register, node, position);
                self.reads(register, node, position + 1);
            } else {
                self.stretches[usize::from(register)].push(Stretch {
                    first: position + 1,
                    last: position + 1,
                    node,
                });
            }
            if let Some(known) = self.nodes.get_mut(node as usize) {
                known.stays |= stays;
                if known.first == NONE {
                    self.events.push(Event::Define { position: position + 1, node });
                }
                known.first = known.first.min(position + 1);
                known.last = known.last.max(position + 1);
            }
        });
        if !wants_places(&work.function, instruction, File::R) {
            return;
        }
        let reads = sources(&work.function, instruction, File::R, work.stack_pointer);
        let writes = destinations(instruction, File::R);
        for group in reads.iter().chain(&writes) {
            if group.values.len() > 1 || group.fixed.is_some() {
                self.join(group.values, group.align, group.fixed.is_some());
            }
        }
    }

    /// A register is read, or written in part.
    fn reads(&mut self, register: u8, node: u32, position: u32) {
        let stretches = &mut self.stretches[usize::from(register)];
        let held = match stretches.last_mut() {
            Some(stretch) => {
                stretch.last = stretch.last.max(position);
                stretch.node
            }
            None => {
                stretches.push(Stretch { first: 0, last: position, node: NONE });
                NONE
            }
        };
        // The allocator leaves out a copy whose source is where its result goes: the register goes by two names.
        if held != node {
            for other in [held, node] {
                if let Some(other) = self.nodes.get_mut(other as usize) {
                    other.stays = true;
                }
            }
        }
        if let Some(known) = self.nodes.get_mut(node as usize) {
            // A value that is read before it is written in full is none of this block.
            known.stays |= known.first == NONE;
            known.first = known.first.min(position);
            known.last = known.last.max(position);
        }
    }

    /// The values of an operand stay side by side.
    fn join(&mut self, values: &[Value], align: u8, mut stays: bool) {
        let mut root = NONE;
        for &value in values {
            let node = self.slot[value];
            if self.home[value] != self.id.0 || node == NONE {
                stays = true;
                continue;
            }
            let other = self.root(node);
            if root == NONE || root == other {
                root = other;
            } else {
                self.nodes[other as usize].parent = root;
                let Node { align, stays, .. } = self.nodes[other as usize];
                let host = &mut self.nodes[root as usize];
                host.align = host.align.max(align);
                host.stays |= stays;
            }
        }
        if let Some(host) = self.nodes.get_mut(root as usize) {
            host.align = host.align.max(align);
            host.stays |= stays;
        }
    }

    /// Collects the nodes of each web at its root.
    fn webs(&mut self) {
        for node in 0..self.nodes.len() as u32 {
            let root = self.root(node);
            if root == node {
                continue;
            }
            let Node { low, high, first, last, stays, .. } = self.nodes[node as usize];
            let host = &mut self.nodes[root as usize];
            host.low = host.low.min(low);
            host.high = host.high.max(high);
            host.first = host.first.min(first);
            host.last = host.last.max(last);
            host.stays |= stays;
            let next = std::mem::replace(&mut host.next, node);
            self.nodes[node as usize].next = next;
        }
    }

    /// Takes other registers for the webs that would wait.
    fn choose(mut self, usable: RegisterSet, cheap: RegisterSet) -> Vec<(Value, u8)> {
        let mut places = Places::new(std::mem::take(&mut self.stretches));
        let mut moved = Vec::new();
        for event in std::mem::take(&mut self.events) {
            match event {
                Event::Late { position, register, node } => {
                    let register = self.register_now(node).unwrap_or(register);
                    places.late[usize::from(register)] = position;
                }
                Event::Define { position, node } => {
                    let root = self.root(node);
                    let web = &self.nodes[root as usize];
                    if web.first != position || web.target.is_some() || !self.may_move(root) {
                        continue;
                    }
                    let Some(target) = self.target(&mut places, root, usable, cheap) else { continue };
                    let Node { low, last, .. } = self.nodes[root as usize];
                    self.nodes[root as usize].target = Some(target);
                    for member in self.members(root) {
                        let register = target + (member.register - low);
                        places.taken[usize::from(register)] = last;
                        moved.push((member.value, register));
                    }
                }
            }
        }
        for node in &self.nodes {
            self.slot[node.value] = NONE;
        }
        moved
    }

    fn members(&self, root: u32) -> impl Iterator<Item = &Node> {
        std::iter::successors(self.nodes.get(root as usize), |node| self.nodes.get(node.next as usize))
    }

    /// The register of a node at this point, if it was moved.
    fn register_now(&mut self, node: u32) -> Option<u8> {
        if node == NONE {
            return None;
        }
        let root = self.root(node);
        let Node { low, target, .. } = self.nodes[root as usize];
        target.map(|target| target + (self.nodes[node as usize].register - low))
    }

    fn may_move(&self, root: u32) -> bool {
        let web = &self.nodes[root as usize];
        let called = self.calls.partition_point(|&call| call < web.first);
        !web.stays
            && web.high - web.low < WIDEST
            && self.calls.get(called).is_none_or(|&call| call > web.last)
    }

    /// The place for a web that accesses read longest ago, or not at all; of several a cheap one, and then the one that
    /// was touched longest ago. `None` if none is better than its own by enough.
    fn target(&self, places: &mut Places, root: u32, usable: RegisterSet, cheap: RegisterSet) -> Option<u8> {
        let Node { low, high, align, first, last, .. } = self.nodes[root as usize];
        let span = high - low;
        let own = self.members(root).map(|node| places.read_late(node.register, first)).max()?;
        let latest = own.checked_sub(2 * GAIN)?;
        let mut best: Option<(u32, bool, u32, u8)> = None;
        // A web begins as far from an aligned register as it did.
        for base in (low % align..u8::MAX - span).step_by(align.into()) {
            let place = |node: &Node| base + (node.register - low);
            let is_open = self.members(root).all(|node| {
                let register = place(node);
                usable.contains(register)
                    && places.read_late(register, first) <= latest
                    && places.is_free(self, register, [first, last])
            });
            if !is_open {
                continue;
            }
            let late = self.members(root).map(|node| places.read_late(place(node), first)).max()?;
            let costs = !self.members(root).all(|node| cheap.contains(place(node)));
            let touched = self.members(root).map(|node| places.touched[usize::from(place(node))]).max()?;
            let found = (late, costs, touched, base);
            if best.is_none_or(|best| found < best) {
                best = Some(found);
            }
        }
        best.map(|(.., base)| base)
    }
}

/// The registers as the choice walks along the block.
struct Places {
    stretches: Vec<Vec<Stretch>>,
    /// For each register the first stretch that is not over.
    next: [u32; 256],
    /// The last position of a web that was moved there.
    taken: [u32; 256],
    /// The last position before now at which it held something.
    touched: [u32; 256],
    /// The last late read.
    late: [u32; 256],
}

impl Places {
    fn new(stretches: Vec<Vec<Stretch>>) -> Places {
        Places { stretches, next: [0; 256], taken: [0; 256], touched: [0; 256], late: [0; 256] }
    }

    /// The position of the last late read of a register that matters at this one, else 0.
    fn read_late(&self, register: u8, position: u32) -> u32 {
        let at = self.late[usize::from(register)];
        if position - at < 2 * WINDOW { at } else { 0 }
    }

    /// Whether nothing is in a register between two positions, the first of which grows from question to question.
    fn is_free(&mut self, block: &Block<'_>, register: u8, [first, last]: [u32; 2]) -> bool {
        let r = usize::from(register);
        let is_gone = |stretch: &Stretch| {
            let mut node = stretch.node;
            while let Some(above) = block.nodes.get(node as usize).map(|node| node.parent)
                && above != node
            {
                node = above;
            }
            block.nodes.get(node as usize).is_some_and(|web| web.target.is_some())
        };
        while let Some(stretch) = self.stretches[r].get(self.next[r] as usize) {
            let gone = is_gone(stretch);
            if !gone && stretch.last >= first {
                break;
            }
            if !gone {
                self.touched[r] = self.touched[r].max(stretch.last);
            }
            self.next[r] += 1;
        }
        self.touched[r] = self.touched[r].max(self.taken[r]);
        // Webs to come may still move away; they count as if they stayed.
        let begins = self.stretches[r].get(self.next[r] as usize).map_or(u32::MAX, |stretch| stretch.first);
        (self.taken[r] == 0 || self.taken[r] < first) && begins > last
    }
}
