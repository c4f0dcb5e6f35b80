//! Copies after allocation: single ones, and those that are made at once. A copy of a register to itself has no code,
//! unless a debugger could stop at it.

use super::expander::Expander;
use crate::error::AllocateError;
use oriole_ori::{Destination, File, Guard, Instruction, Opcode, Origin, Pseudo, Source, SourceKind, Value};
use oriole_sass::{Mod, Op};
use rustc_hash::FxHashSet;

impl Expander {
    /// Statements with nothing left but copies of registers to themselves. In code that follows the source one of
    /// these stays: there each statement with a read result has code, so that a debugger can stop at it.
    pub(super) fn silent_statements(&self) -> FxHashSet<Origin> {
        let (mut copied, mut others) = (FxHashSet::default(), FxHashSet::default());
        for instruction in self.function.blocks.iter().flat_map(|block| &block.instructions) {
            let mut pairs = instruction.destinations.iter().zip(&instruction.sources);
            let in_place = |(to, from): (&Destination, &Source)| {
                to.values.first().is_some_and(|&to| self.is_in_place(to, from))
            };
            let origin = instruction.origin;
            match instruction.opcode {
                Opcode::Pseudo(Pseudo::Copy) if pairs.all(in_place) => {
                    let file = instruction.destinations.first().map(|to| to.file);
                    matches!(file, Some(File::R | File::P)) && copied.insert(origin)
                }
                Opcode::Pseudo(Pseudo::ParallelCopy) if pairs.all(in_place) => false,
                Opcode::Pseudo(Pseudo::Undefined | Pseudo::Parameters | Pseudo::Keep) => false,
                _ => others.insert(origin),
            };
        }
        copied.retain(|origin| !others.contains(origin));
        copied
    }

    /// True if the register already holds the source of the copy.
    fn is_in_place(&self, to: Value, from: &Source) -> bool {
        let SourceKind::Values(values) = &from.kind else { return false };
        let place = |value| (self.function.file(value), self.register(value));
        place(values[0]) == place(to) && !from.invert && !from.negate
    }

    /// True if debug info names the value: then the instruction that defines a PTX register is kept, even if it
    /// copies a register to itself. Otherwise another value would be shown under its name.
    fn is_told(&self, value: Value) -> bool {
        let data = &self.function.values[value];
        self.function.calls_library && data.file == File::R && data.source.is_some()
    }

    /// Emits a copy to a register, which stays a copy: selection knows the moves between files. A copy of a register to
    /// itself is dropped, and a zero becomes that of the destination file.
    pub(super) fn copy(
        &self,
        d: Value,
        source: Source,
        guard: Option<Guard>,
        origin: Origin,
        out: &mut Vec<Instruction>,
    ) {
        let to = self.function.file(d);
        let source = match &source.kind {
            SourceKind::Values(_) if self.is_in_place(d, &source) && !self.is_told(d) => return,
            SourceKind::Zero(File::UR) if to == File::R => Source::rz(),
            _ => source,
        };
        out.push(copy(Destination::new(to, [d]), source, guard, origin));
    }

    /// Copies at once: swaps of the scanned files, and whatever remains for the coloured ones.
    pub(super) fn parallel(
        &mut self,
        instruction: &Instruction,
        out: &mut Vec<Instruction>,
    ) -> Result<(), AllocateError> {
        let mut pending: Vec<(Value, Source)> = instruction
            .destinations
            .iter()
            .zip(&instruction.sources)
            .filter_map(|(d, s)| d.values.first().map(|&v| (v, s.clone())))
            .collect();
        let place = |this: &Self, v: Value| (this.function.file(v), this.register(v));
        let read = |this: &Self, s: &Source| match &s.kind {
            SourceKind::Values(v) => Some(place(this, v[0])),
            _ => None,
        };
        let in_place =
            pending.iter().filter(|(d, s)| read(self, s) == Some(place(self, *d)) && self.is_told(*d));
        let in_place: Vec<(Value, Source)> = in_place.cloned().collect();
        pending.retain(|(d, s)| read(self, s) != Some(place(self, *d)));
        for (d, s) in in_place {
            self.copy(d, s, None, instruction.origin, out);
        }
        while !pending.is_empty() {
            let ready = pending.iter().position(|(d, _)| {
                let to = place(self, *d);
                pending.iter().filter(|(other, _)| other != d).all(|(_, s)| read(self, s) != Some(to))
            });
            if let Some(at) = ready {
                let (d, s) = pending.remove(at);
                self.copy(d, s, None, instruction.origin, out);
                continue;
            }
            // A cycle: swap the first with its source; other readers of the first find it there.
            let (d, s) = pending.remove(0);
            let to = place(self, d);
            let SourceKind::Values(values) = &s.kind else {
                return Err(AllocateError::Internal("a constant in a cycle of copies".into()));
            };
            let from = place(self, values[0]);
            self.swap(d, values[0], instruction.origin, out)?;
            for (_, source) in &mut pending {
                if read(self, source) == Some(to) {
                    let moved = self.physical(from.0, from.1.unwrap_or(0));
                    source.kind = SourceKind::Values([moved].into_iter().collect());
                }
            }
            pending.retain(|(d, s)| read(self, s) != Some(place(self, *d)));
        }
        Ok(())
    }

    /// `a` and `b` change their contents: three times exclusive or.
    fn swap(
        &mut self,
        a: Value,
        b: Value,
        origin: Origin,
        out: &mut Vec<Instruction>,
    ) -> Result<(), AllocateError> {
        for (d, s) in [(a, b), (b, a), (a, b)] {
            let file = self.function.file(a);
            let opcode = match file {
                File::R => Op::LOP3,
                File::UR => Op::ULOP3,
                File::P => Op::PLOP3,
                File::UP => Op::UPLOP3,
                File::B => {
                    return Err(AllocateError::Internal("convergence barriers cannot be swapped".into()));
                }
            };
            let mut step = Instruction::new(opcode, origin);
            step.mods.insert(Mod::LUT);
            step.destinations.push(Destination::new(file, [d]));
            match file {
                File::R | File::UR => {
                    let predicates = if file == File::R { File::P } else { File::UP };
                    step.sources.extend([Source::value(d), Source::value(s)]);
                    step.sources.push(Source::plain(SourceKind::Zero(file)));
                    step.sources.push(Source::plain(SourceKind::Literal(0x3c)));
                    let never = Source { invert: true, ..Source::plain(SourceKind::True(predicates)) };
                    step.sources.push(never);
                }
                _ => {
                    step.destinations.push(Destination::dropped(file, 1));
                    step.sources.extend([Source::value(d), Source::value(s)]);
                    step.sources.push(Source::plain(SourceKind::True(file)));
                    step.sources.push(Source::plain(SourceKind::Literal(0x3c)));
                    step.sources.push(Source::plain(SourceKind::Literal(0)));
                }
            }
            out.push(step);
        }
        Ok(())
    }
}

/// `to = Copy source`.
pub(super) fn copy(to: Destination, source: Source, guard: Option<Guard>, origin: Origin) -> Instruction {
    let mut copy = Instruction::new(Pseudo::Copy, origin);
    copy.guard = guard;
    copy.destinations.push(to);
    copy.sources.push(source);
    copy
}
