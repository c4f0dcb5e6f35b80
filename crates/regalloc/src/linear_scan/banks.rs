//! Values that are read together, and the register bank that each should be in.
//!
//! The general registers are in two banks, the even and the odd ones, each of which delivers one operand per cycle.
//! An instruction with two or three operands in one bank takes a cycle more: on an H200 a chain of multiply-adds
//! whose factors share a bank takes 1.4 times as long. It is separate from the choice of a register because operand
//! pairs depend on the function alone. The scan asks where any register would do.

use oriole_ori::{Cfg, File, Function, Loops, Opcode, SourceKind, Value};
use oriole_sass::info::Class;
use smallvec::SmallVec;
use typed_index_collections::{TiVec, ti_vec};

/// No more instructions than this are remembered of a value.
const MOST: usize = 8;

/// An instruction that reads a value, as seen from it.
#[derive(Clone, Copy)]
struct Together {
    /// Its other operands.
    others: [Option<Value>; 2],
    /// Estimated execution frequency.
    weight: i32,
}

/// Operands that each value is read with.
#[derive(Default)]
pub struct Banks {
    together: TiVec<Value, SmallVec<[Together; 2]>>,
}

impl Banks {
    /// Looks at the arithmetic of a function.
    pub fn new(function: &Function, cfg: &Cfg, loops: &Loops) -> Banks {
        let mut together: TiVec<Value, SmallVec<[Together; 2]>> =
            ti_vec![SmallVec::new(); function.values.len()];
        for &block in cfg.order() {
            let weight = 8i32.pow(loops.depth(block).min(4));
            for instruction in &function.block(block).instructions {
                let Opcode::Sass(op) = instruction.opcode else { continue };
                if !reads_two_banks(op.info().class(&instruction.mods)) {
                    continue;
                }
                let mut read: SmallVec<[Value; 3]> = SmallVec::new();
                for source in &instruction.sources {
                    if let SourceKind::Values(values) = &source.kind
                        && let [value] = **values
                        && function.file(value) == File::R
                        && !read.contains(&value)
                    {
                        read.push(value);
                    }
                }
                if read.len() < 2 {
                    continue;
                }
                for &value in &read {
                    let mut others = read.iter().copied().filter(|&other| other != value);
                    let entry = Together { others: [others.next(), others.next()], weight };
                    let known = &mut together[value];
                    if known.len() < MOST {
                        known.push(entry);
                    } else if let Some(least) = known.iter_mut().min_by_key(|known| known.weight)
                        && least.weight < weight
                    {
                        *least = entry;
                    }
                }
            }
        }
        Banks { together }
    }

    /// Weight for an odd register minus weight for an even one. `register` gives the current or planned register of a
    /// value.
    pub fn preference(&self, value: Value, register: impl Fn(Value) -> Option<u8>) -> i32 {
        let Some(together) = self.together.get(value) else { return 0 };
        let odd = |value: Value| register(value).map(|register| register % 2 == 1);
        let of = |entry: &Together| match entry.others {
            [Some(one), None] => odd(one),
            [Some(one), Some(other)] => odd(one).filter(|&bank| odd(other) == Some(bank)),
            _ => None,
        };
        let sign = |bank: bool| if bank { -1 } else { 1 };
        together.iter().filter_map(|entry| of(entry).map(|bank| sign(bank) * entry.weight)).sum()
    }
}

/// True for units that read up to three operands of 32 bits at once.
fn reads_two_banks(class: Class) -> bool {
    matches!(
        class,
        Class::Alu | Class::Fma | Class::Dual | Class::Half | Class::HalfToSingle | Class::HalfAlu
    )
}
