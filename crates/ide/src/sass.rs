//! Machine code with its map to the text: one row a word, decoded, with control word, waits and live registers.

use std::collections::BTreeSet;

use oriole_chip::Chip;
use oriole_latency::{Model, ResultPart, Slot, Unit};
use oriole_pipeline::facts::{FunctionFacts, Wait};
use oriole_sass::{Access, Instruction, InstructionWord, Op, RegisterFile, Style};
use oriole_syntax::UnitKind;

use crate::compiled::Shown;
use crate::snapshot::Snapshot;
use crate::{FileId, Range};

/// One word of machine code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SassRow {
    /// Byte from the start of the kernel's code.
    pub address: u32,
    /// The word.
    pub word: InstructionWord,
    /// The instruction as the disassembler writes it.
    pub text: String,
    /// Cycles until the next instruction may issue.
    pub stall: u8,
    /// The warp yields.
    pub yields: bool,
    /// Scoreboard that is released when the results are written.
    pub write_barrier: Option<u8>,
    /// Scoreboard that is released when the sources are read.
    pub read_barrier: Option<u8>,
    /// Scoreboards to wait for, bit n for scoreboard n.
    pub wait_mask: u8,
    /// The kernel or the function whose clone it belongs to.
    pub function: String,
    /// The statement that it comes from, in the current file.
    pub source: Option<Range>,
    /// General, uniform and predicate registers that are live at its statement.
    pub live: Option<(u16, u16, u16)>,
    /// Loops that it is in.
    pub loop_depth: u8,
    /// It stores or reloads a spilled register.
    pub spill: bool,
    /// Reasons for its stalls and waits, one sentence each.
    pub why: Vec<String>,
}

/// The machine code of a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SassListing {
    /// The kernel.
    pub kernel: String,
    /// The chip.
    pub chip: Chip,
    /// The text has changed since and does not compile: this is the last good result.
    pub stale: bool,
    /// Words in order of address.
    pub rows: Vec<SassRow>,
}

impl SassListing {
    /// The listing as text, one line a row after a title line.
    pub fn text(&self) -> String {
        let stale = if self.stale { ", stale: the text does not compile" } else { "" };
        let mut out =
            format!("// {} for {}, {} instructions{stale}\n", self.kernel, self.chip, self.rows.len());
        let mut function = "";
        for row in &self.rows {
            if row.function != function {
                function = &row.function;
                out.push_str(&format!("{function}:\n"));
            }
            out.push_str(&format!("/*{:04x}*/ {} {}\n", row.address, row.control(), row.text));
        }
        out
    }
}

impl SassRow {
    /// The control word in short: waits, read and write scoreboard, yield, stall.
    pub fn control(&self) -> String {
        let waits: String = (0..6)
            .map(|bit| if self.wait_mask >> bit & 1 == 1 { char::from(b'0' + bit) } else { '-' })
            .collect();
        let barrier = |number: Option<u8>| number.map_or("-".to_owned(), |number| number.to_string());
        let yields = if self.yields { 'Y' } else { '-' };
        let (read, write) = (barrier(self.read_barrier), barrier(self.write_barrier));
        format!("[{waits}:R{read}:W{write}:{yields}:S{:02}]", self.stall)
    }
}

pub(crate) fn listing(snapshot: &Snapshot, file: FileId, kernel: &str, chip: Chip) -> Option<SassListing> {
    let db = &snapshot.db;
    let unit = snapshot.code_unit(file, kernel).filter(|unit| unit.kind(db) == UnitKind::Entry)?;
    let (image, mut stale) = snapshot.image(file, unit, chip)?;
    let mut rows: Vec<SassRow> = Vec::with_capacity(image.image.code.len());
    let shape = chip.words();
    // The prologue that the chip requires belongs to no member.
    for index in 0..shape.index(image.image.own_start) {
        let word = image.image.code[index as usize];
        let mut row = plain(chip, shape.address(index), word, oriole_sass::decode(chip, word).ok().as_ref());
        row.function.clone_from(&image.image.name);
        rows.push(row);
    }
    for (at, (name, start)) in image.members.iter().enumerate() {
        let end =
            image.members.get(at + 1).map_or(image.image.code.len(), |next| shape.index(next.1) as usize);
        let member = snapshot.code_unit(file, name);
        let shown = member.and_then(|unit| snapshot.compiled(file, unit, chip));
        // Words and facts match only if both are of one state of the text.
        let shown =
            shown.filter(|shown| shown.compiled.facts.words.len() == end - shape.index(*start) as usize);
        stale |= shown.as_ref().is_some_and(|shown| shown.stale);
        let first = shape.index(*start) as usize;
        let decoded: Vec<Option<Instruction>> =
            image.image.code[first..end].iter().map(|&word| oriole_sass::decode(chip, word).ok()).collect();
        let spills = shown.as_ref().map(|shown| Spills::of(&shown.compiled.facts)).unwrap_or_default();
        for (offset, instruction) in decoded.iter().enumerate() {
            let index = first + offset;
            let mut row =
                plain(chip, shape.address(index as u32), image.image.code[index], instruction.as_ref());
            row.function.clone_from(name);
            if let Some(shown) = &shown {
                describe(&mut row, shown, offset, &decoded, *start);
                let word = shown.compiled.facts.words.get(offset);
                row.spill =
                    word.is_some_and(|word| spills.has(word.statement, instruction.as_ref(), &row.text));
            }
            rows.push(row);
        }
    }
    Some(SassListing { kernel: kernel.to_owned(), chip, stale, rows })
}

/// The statements at which registers are stored to and loaded from their slots.
#[derive(Default)]
struct Spills(BTreeSet<(u32, bool)>);

impl Spills {
    fn of(facts: &FunctionFacts) -> Spills {
        Spills(facts.spills.iter().map(|spill| (spill.statement, spill.reload)).collect())
    }

    /// True for an access of a slot. Slots are at fixed places of the frame; what a statement itself accesses in local
    /// memory has an address of its own.
    fn has(&self, statement: u32, instruction: Option<&Instruction>, text: &str) -> bool {
        let reload = match instruction.map(|instruction| instruction.op) {
            Some(Op::LDL) => true,
            Some(Op::STL) => false,
            _ => return false,
        };
        let in_frame = text.contains("[R1]") || text.contains("[R1+");
        in_frame && self.0.contains(&(statement, reload))
    }
}

/// A row from the word alone.
pub(crate) fn plain(
    chip: Chip,
    address: u32,
    word: InstructionWord,
    instruction: Option<&Instruction>,
) -> SassRow {
    let text = instruction.and_then(|instruction| {
        oriole_sass::text(chip, instruction, Some(u64::from(address)), Style::Plain).ok()
    });
    let control = instruction.map_or(oriole_sass::Control::NEUTRAL, |instruction| instruction.control);
    SassRow {
        address,
        word,
        text: text.unwrap_or_else(|| format!("{word:#034x}")),
        stall: control.stall,
        yields: control.yields,
        write_barrier: control.write_barrier,
        read_barrier: control.read_barrier,
        wait_mask: control.wait_mask,
        function: String::new(),
        source: None,
        live: None,
        loop_depth: 0,
        spill: false,
        why: Vec::new(),
    }
}

fn describe(row: &mut SassRow, shown: &Shown, offset: usize, code: &[Option<Instruction>], start: u32) {
    let facts: &FunctionFacts = &shown.compiled.facts;
    let Some(word) = facts.words.get(offset) else { return };
    row.source = shown.statement(word.statement);
    row.loop_depth = word.loop_depth;
    row.live = facts.live_at(word.statement).map(|live| (live.general, live.uniform, live.predicates));
    let name = |index: u32| {
        let mnemonic = code
            .get(index as usize)
            .and_then(Option::as_ref)
            .map_or("?", |instruction| instruction.op.name());
        format!("`{mnemonic}` at {:#06x}", start + 16 * index)
    };
    row.why = word.waits.iter().map(|wait| why(wait, row.stall, &name)).collect();
}

/// A register in the disassembler's spelling.
pub(crate) fn register_name(file: RegisterFile, number: u8) -> String {
    match file {
        RegisterFile::General => format!("R{number}"),
        RegisterFile::Uniform => format!("UR{number}"),
        RegisterFile::Predicate => format!("P{number}"),
        RegisterFile::UniformPredicate => format!("UP{number}"),
        RegisterFile::Barrier => format!("B{number}"),
    }
}

fn why(wait: &Wait, stall: u8, name: &dyn Fn(u32) -> String) -> String {
    match wait {
        Wait::Result { producer, consumer, cycles, file, register } => format!(
            "stalls {stall} cycles, because {} reads {} and {} has it after {cycles}",
            name(*consumer),
            register_name(*file, *register),
            name(*producer)
        ),
        Wait::Scoreboard { setter, results: true, scoreboard } => {
            format!("waits on scoreboard {scoreboard} for the results of {}", name(*setter))
        }
        Wait::Scoreboard { setter, results: false, scoreboard } => {
            format!("waits on scoreboard {scoreboard} until {} has read its sources", name(*setter))
        }
        Wait::Opcode => format!("stalls {stall} cycles, as every instruction of its kind does"),
    }
}

/// Pipe and latency of an instruction as text; `model` has the latencies of its chip, if they are known.
pub(crate) fn timing(chip: Chip, model: Option<&Model>, instruction: &Instruction) -> String {
    const UNITS: [(Unit, &str); oriole_latency::UNITS] = [
        (Unit::Alu, "ALU"),
        (Unit::Fma, "FMA"),
        (Unit::Double, "FP64"),
        (Unit::Tensor, "tensor"),
        (Unit::LoadStore, "load/store"),
        (Unit::Texture, "texture"),
        (Unit::Control, "control"),
        (Unit::Shared, "shared memory"),
        (Unit::Special, "special function"),
        (Unit::Uniform, "uniform"),
    ];
    let Some(model) = model else { return "no latencies are known".to_owned() };
    let busy = model.resources(instruction.op, &instruction.mods);
    let units: Vec<&str> =
        UNITS.iter().filter(|(unit, _)| busy[*unit as usize] > 0).map(|(_, name)| *name).collect();
    let class = model.class(instruction.op, &instruction.mods);
    let latency = if model.is_variable(instruction.op, &instruction.mods) {
        let estimate = model.estimate(instruction.op);
        format!("about {estimate} cycles, by scoreboard")
    } else {
        let parts = [
            (ResultPart::General, Slot::Operand),
            (ResultPart::Low, Slot::Operand),
            (ResultPart::Predicate, Slot::Predicate),
            (ResultPart::Uniform, Slot::Uniform),
            (ResultPart::UniformPredicate, Slot::UniformPredicate),
        ];
        let mut written = Vec::new();
        // An instruction without a form has no results.
        let _ = oriole_sass::accesses_of(chip, instruction, |access| {
            if let Access::Write { part, .. } = access {
                written.push(part);
            }
        });
        let own = parts.iter().find(|(part, _)| written.contains(part));
        let distance = own.and_then(|&(part, slot)| {
            let next = model.raw(class, part, class, slot)?.cycles;
            Some((next, model.longest(class, part).unwrap_or(next).max(next)))
        });
        match distance {
            None => "no result".to_owned(),
            Some((next, longest)) if next == longest => format!("{next} cycles"),
            Some((next, longest)) => format!("{next} cycles to its like, {longest} at most"),
        }
    };
    format!("{} pipe, {latency}", units.join(" and "))
}
