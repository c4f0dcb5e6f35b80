//! Video instructions: which parts of their operands they take, and how they join them.

use super::super::{Decode, FunctionDecoder, NONE};
use crate::step::Action;
use crate::value::Operation;
use crate::value::compare::Comparison;
use crate::value::video::{Piece, Second, VideoKind, VideoOperation};
use oriole_hir::{Instruction, Operand};
use oriole_ptx::{Opcode, Type, Word, word};

impl FunctionDecoder<'_> {
    pub(super) fn video(&self, instruction: &Instruction) -> Decode<Action> {
        let has = |word| instruction.modifiers.has(word);
        let (kind, lanes) = video_kind(instruction)?;
        let second = if kind_is_multiply(kind) {
            Second::None
        } else {
            match instruction.modifiers.at() {
                Some(word::SecondOperation::Add) => Second::Add,
                Some(word::SecondOperation::Min) => Second::Minimum,
                Some(word::SecondOperation::Max) => Second::Maximum,
                None => Second::None,
            }
        };
        let signed = match instruction.types[..] {
            [result, a, b] => [result, a, b].map(Type::is_signed),
            // `vset` has no result type: its result is unsigned.
            [a, b] => [false, a.is_signed(), b.is_signed()],
            _ => return Err("it needs two or three types".into()),
        };
        let count = instruction.operands.len().saturating_sub(1).min(3);
        let mut operation = VideoOperation {
            kind,
            lanes,
            signed,
            saturate: has(Word::Sat),
            second,
            parts: [Piece::WHOLE; 2],
            target: None,
            negated: [false; 3],
            picks: [
                std::array::from_fn(|lane| lane as u8),
                std::array::from_fn(|lane| lane as u8 + lanes as u8),
            ],
            written: u32::MAX,
        };
        let mut sources = [NONE; 4];
        for (index, source) in sources.iter_mut().enumerate().take(count) {
            let operand = self.operand(instruction, index + 1)?;
            *source = match operand {
                Operand::Selection { register, selector, negated } => {
                    operation.negated[index] = *negated;
                    if lanes == 1 && !selector.is_empty() {
                        operation.parts[index] = part_of_word(selector);
                    } else if lanes > 1 {
                        operation.picks[index] = picks(selector);
                    }
                    self.source(&Operand::Register(*register), Type::B32)?
                }
                operand => self.source(operand, Type::B32)?,
            };
        }
        let destination = match self.operand(instruction, 0)? {
            Operand::Selection { register, selector, .. } => {
                if lanes == 1 {
                    operation.target = Some(part_of_word(selector));
                } else {
                    operation.written =
                        selector.bytes().skip(1).fold(0, |mask, digit| mask | 1 << (digit - b'0'));
                }
                self.destination(&Operand::Register(*register))?
            }
            operand => self.destination(operand)?,
        };
        Ok(Action::Compute { operation: Operation::Video(operation), destination, sources })
    }
}

/// The operation of a video instruction, and its number of lanes.
fn video_kind(instruction: &Instruction) -> Decode<(VideoKind, u32)> {
    use Opcode::*;
    let has = |word| instruction.modifiers.has(word);
    let clamp = has(Word::Clamp);
    Ok(match instruction.opcode {
        Vadd => (VideoKind::Add, 1),
        Vadd2 => (VideoKind::Add, 2),
        Vadd4 => (VideoKind::Add, 4),
        Vsub => (VideoKind::Subtract, 1),
        Vsub2 => (VideoKind::Subtract, 2),
        Vsub4 => (VideoKind::Subtract, 4),
        Vabsdiff => (VideoKind::AbsoluteDifference, 1),
        Vabsdiff2 => (VideoKind::AbsoluteDifference, 2),
        Vabsdiff4 => (VideoKind::AbsoluteDifference, 4),
        Vmin => (VideoKind::Minimum, 1),
        Vmin2 => (VideoKind::Minimum, 2),
        Vmin4 => (VideoKind::Minimum, 4),
        Vmax => (VideoKind::Maximum, 1),
        Vmax2 => (VideoKind::Maximum, 2),
        Vmax4 => (VideoKind::Maximum, 4),
        Vavrg2 => (VideoKind::Average, 2),
        Vavrg4 => (VideoKind::Average, 4),
        Vshl => (VideoKind::ShiftLeft(clamp), 1),
        Vshr => (VideoKind::ShiftRight(clamp), 1),
        Vmad => {
            let shift = if has(Word::Shr7) {
                7
            } else if has(Word::Shr15) {
                15
            } else {
                0
            };
            (VideoKind::MultiplyAdd(shift, has(Word::Po)), 1)
        }
        _ => {
            let (order, _) =
                instruction.modifiers.at().map(Comparison::of).ok_or("it names no comparison")?;
            let lanes = match instruction.opcode {
                Vset => 1,
                Vset2 => 2,
                _ => 4,
            };
            (VideoKind::Set(order), lanes)
        }
    })
}

/// The byte or half of a selector such as `b2`.
fn part_of_word(selector: &str) -> Piece {
    let bits = if selector.starts_with('h') { 16 } else { 8 };
    let number = selector.as_bytes().get(1).map_or(0, |digit| u32::from(digit - b'0'));
    Piece { shift: number * bits, bits }
}

/// The parts that a selector such as `h20` picks, that of the lowest lane first.
fn picks(selector: &str) -> [u8; 4] {
    let mut all = [0; 4];
    for (lane, digit) in selector.bytes().skip(1).collect::<Vec<_>>().into_iter().rev().enumerate() {
        all[lane.min(3)] = digit - b'0';
    }
    all
}

fn kind_is_multiply(kind: VideoKind) -> bool {
    matches!(kind, VideoKind::MultiplyAdd(..))
}
