//! An element of an MMA in tensor memory: narrow types, block scales, scaled accumulators.

use super::sum::{Element, Finite, Layout, Number, Sum, old, scaled, step};
use crate::value::soft::Format;
use oriole_chip::MatrixUnit;
use oriole_machine_model::tensor_memory as tensor;

/// The accumulation of an MMA's elements.
#[derive(Clone, Copy)]
pub struct TensorSum {
    of: [Element; 2],
    sum: tensor::Sum,
    /// Terms of a step, for floating-point types.
    depth: usize,
    negated: bool,
    saturates: bool,
    /// Scales have an exponent only.
    exponents: bool,
    /// The power of two by which the accumulator is scaled down.
    down: i32,
}

fn element(named: tensor::Element) -> Element {
    match named {
        tensor::Element::F16 => Element::F16,
        tensor::Element::BF16 => Element::BF16,
        tensor::Element::TF32 => Element::TF32,
        tensor::Element::E4M3 => Element::E4M3,
        tensor::Element::E5M2 => Element::E5M2,
        tensor::Element::E2M3 => Element::E2M3,
        tensor::Element::E3M2 => Element::E3M2,
        tensor::Element::E2M1 => Element::E2M1,
        tensor::Element::U8 => Element::Integer(8, false),
        tensor::Element::S8 => Element::Integer(8, true),
    }
}

impl TensorSum {
    /// For an MMA whose accumulator is scaled down by `down` powers of two.
    pub fn new(product: &tensor::Product, unit: &MatrixUnit, down: u32) -> TensorSum {
        let descriptor = &product.descriptor;
        TensorSum {
            of: descriptor.elements.map(element),
            sum: descriptor.sum,
            depth: (unit.step_bits / product.form.kind.container_bits()) as usize,
            negated: descriptor.negated[0] != descriptor.negated[1],
            saturates: descriptor.saturates,
            exponents: descriptor.exponents,
            down: down as i32,
        }
    }

    /// The new accumulator.
    pub fn evaluate(&self, unit: &MatrixUnit, row: &tensor::Row) -> u32 {
        let format = match self.sum {
            tensor::Sum::Integer => {
                let sum = Sum::Integer(self.saturates);
                return sum.evaluate(unit, self.of, row.left, row.right, row.old.into()) as u32;
            }
            tensor::Sum::Half => Format::F16,
            tensor::Sum::Single => Format::F32,
        };
        let block = row.left.len() / row.scales.len().max(1);
        let terms: Vec<Number> = (0..row.left.len())
            .map(|at| {
                let term =
                    self.of[0].number(row.left[at], false).times(self.of[1].number(row.right[at], false));
                let scales = row.scales.get(at / block).into_iter().flatten();
                scales.fold(self.signed(term), |term, scale| scaled(term, self.scale(*scale)))
            })
            .collect();
        let mut steps = terms.chunks(self.depth);
        let first = lowered(old(format, (row.old & format.mask() as u32).into()), self.down);
        let sum = step(unit.fraction_bits, None, format, steps.next().unwrap_or_default(), first);
        let rest = |sum, terms: &[Number]| step(unit.fraction_bits, None, format, terms, old(format, sum));
        steps.fold(sum, rest) as u32
    }

    fn signed(&self, term: Number) -> Number {
        match term {
            Number::Finite(finite) => {
                Number::Finite(Finite { negative: finite.negative != self.negated, ..finite })
            }
            Number::Infinite(negative) => Number::Infinite(negative != self.negated),
            Number::NaN => Number::NaN,
        }
    }

    /// The value of a scale's byte.
    fn scale(&self, byte: u8) -> Number {
        match (self.exponents, byte) {
            (true, u8::MAX) => Number::NaN,
            (true, exponent) => Number::Finite(Finite {
                negative: false,
                significand: 1,
                exponent: i32::from(exponent) - 127,
                fraction: 0,
            }),
            (false, byte) => Layout::E4M3.number(u64::from(byte & 0x7f)),
        }
    }
}

/// A value times a negative power of two.
fn lowered(number: Number, down: i32) -> Number {
    match number {
        Number::Finite(finite) if finite.significand != 0 => {
            Number::Finite(Finite { exponent: finite.exponent - down, ..finite })
        }
        other => other,
    }
}
