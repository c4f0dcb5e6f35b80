//! An update of memory whose lanes can be combined, and how they are.

use oriole_chip::Chip;
use oriole_ori::{Builder, Draft, File, Guard, Instruction, Opcode, Source, Space, Value};
use oriole_sass::{Mod, Op, has};

/// How lanes combine what they do to one address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    /// The value of all lanes, times their count.
    Count,
    /// The value of all lanes: to repeat the operation changes nothing.
    Once,
    /// The value of all lanes if their count is odd, else zero.
    Parity,
    /// The warp's reduction of the values, by one instruction.
    Reduce(Op),
    /// The same by exchanges, where the warp is full.
    Butterfly,
    /// The sums up to each lane, by exchanges, where the warp is full; the old value is read.
    Scan,
}

/// An operation of integers on memory whose lanes can be combined.
pub(super) struct Update {
    /// `ADD`, `MIN`, `MAX`, `AND`, `OR` or `XOR`.
    pub(super) operation: Mod,
    pub(super) signed: bool,
    /// Words of an operand.
    pub(super) words: usize,
    /// It increments without bound: what it adds is 1 instead of its operand.
    pub(super) increments: bool,
    /// The destination with the old value; `None` if there is none or nothing reads it.
    pub(super) result: Option<usize>,
}

impl Update {
    pub(super) fn of(instruction: &Instruction) -> Option<Update> {
        let Opcode::Sass(op) = instruction.opcode else { return None };
        if !matches!(op, Op::RED | Op::REDG | Op::ATOM | Op::ATOMG | Op::ATOMS)
            || instruction.sources.len() != 2
        {
            return None;
        }
        let memory = instruction.memory.filter(|memory| memory.object.is_none())?;
        if !matches!(memory.space, Space::Global | Space::Shared | Space::Generic) {
            return None;
        }
        let (mut operation, mut signed, mut words) = (None, false, 1);
        for modifier in instruction.mods.iter() {
            match modifier {
                Mod::ADD | Mod::MIN | Mod::MAX | Mod::AND | Mod::OR | Mod::XOR | Mod::INC => {
                    operation = Some(modifier);
                }
                Mod::S32 => signed = true,
                Mod::_64 => words = 2,
                Mod::S64 => (signed, words) = (true, 2),
                Mod::E | Mod::STRONG | Mod::CTA | Mod::SM | Mod::GPU | Mod::SYS => {}
                _ => return None,
            }
        }
        let increments = operation == Some(Mod::INC);
        let operation = if increments { Mod::ADD } else { operation? };
        let result = instruction.destinations.iter().position(|d| d.file == File::R && !d.values.is_empty());
        Some(Update { operation, signed, words, increments, result })
    }

    /// How to combine it, if its lanes have one value or not.
    pub(super) fn way(&self, uniform: bool, chip: Chip) -> Option<Way> {
        let word = self.words == 1;
        let extreme = matches!(self.operation, Mod::MIN | Mod::MAX);
        let reduces = || match () {
            () if extreme && has(chip, Op::CREDUX) => Way::Reduce(Op::CREDUX),
            () if has(chip, Op::REDUX) => Way::Reduce(Op::REDUX),
            () => Way::Butterfly,
        };
        Some(match (self.operation, uniform, self.result.is_some()) {
            (Mod::ADD, true, _) => Way::Count,
            (Mod::ADD, false, true) if word => Way::Scan,
            (Mod::XOR, true, false) => Way::Parity,
            (Mod::MIN | Mod::MAX | Mod::AND | Mod::OR, true, false) => Way::Once,
            (_, false, false) if word => reduces(),
            _ => return None,
        })
    }

    /// The operation on registers.
    pub(super) fn combine(&self, b: &mut Builder<'_>, d: Value, [x, y]: [Value; 2], guard: Option<Guard>) {
        let table = match self.operation {
            Mod::AND => 0xc0,
            Mod::OR => 0xfc,
            Mod::XOR => 0x3c,
            Mod::ADD => {
                let sum = b.op(Op::IADD3).to(d).from(x).from(y).from(Source::rz());
                return emit(sum, guard, &[y]);
            }
            // Not every chip has an instruction for the smaller or the larger one.
            _ => {
                let first = b.p();
                let compare = if self.operation == Mod::MIN { Mod::LT } else { Mod::GT };
                b.isetp(first, compare, !self.signed, x, y);
                return emit(b.op(Op::SEL).to(d).from(x).from(y).from(first), guard, &[y]);
            }
        };
        let logic = b.op(Op::LOP3).m(Mod::LUT).to(d).from(x).from(y).from(Source::rz());
        emit(logic.from(Source::literal(table)).from(Source::not_pt()), guard, &[y]);
    }
}

/// Appends an instruction, which keeps the old values if its guard does not hold.
pub(super) fn emit(mut draft: Draft<'_, '_>, guard: Option<Guard>, old: &[Value]) {
    if let Some(guard) = guard {
        draft = draft.guarded(guard).keeping(old);
    }
    draft.emit();
}
