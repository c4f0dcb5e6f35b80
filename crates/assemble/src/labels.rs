//! Names for the targets of branches in a listing: what is printed with them can be edited, since no line has to stay
//! where it is.

use oriole_chip::WordShape;
use oriole_sass::{Instruction, OperandKind};
use std::collections::BTreeSet;

/// How a label begins, in lines and in operands.
pub const LINE_LABEL: char = '.';

/// The places in a kernel or function that its own instructions name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Labels {
    places: BTreeSet<u64>,
}

impl Labels {
    /// The targets of instructions with their addresses in bytes, as far as they are below `end`.
    pub fn of<'a>(
        shape: WordShape,
        code: impl IntoIterator<Item = (u64, &'a Instruction)>,
        end: u64,
    ) -> Labels {
        let targets =
            code.into_iter().filter_map(|(address, instruction)| target(shape, address, instruction));
        Labels { places: targets.filter(|&target| target < end).collect() }
    }

    /// The label of a place, if anything names it.
    pub fn at(&self, address: u64) -> Option<String> {
        self.places.contains(&address).then(|| name(address))
    }

    /// The text of an instruction with the label of its target in place of the number.
    pub fn text(&self, shape: WordShape, address: u64, instruction: &Instruction, text: &str) -> String {
        let named = target(shape, address, instruction).filter(|target| self.places.contains(target));
        let Some(target) = named else { return text.to_owned() };
        let (body, control) = text.split_once(';').unwrap_or((text, ""));
        let number = format!("{target:#x}");
        match body.trim_end().strip_suffix(&number) {
            Some(before) if control.is_empty() => format!("{before}{}", name(target)),
            Some(before) => format!("{before}{} ;{control}", name(target)),
            None => text.to_owned(),
        }
    }
}

fn name(address: u64) -> String {
    format!(".L_{address:04x}")
}

/// The address that an instruction names as its target.
fn target(shape: WordShape, address: u64, instruction: &Instruction) -> Option<u64> {
    let distance = distance(instruction)?;
    u64::try_from((address as i64).checked_add(shape.end(0))?.checked_add(distance)?).ok()
}

/// The distance of the target from the end of an instruction.
pub(crate) fn distance(instruction: &Instruction) -> Option<i64> {
    instruction.operands.iter().find_map(|operand| match operand.kind {
        OperandKind::Target(distance) => Some(distance),
        _ => None,
    })
}
