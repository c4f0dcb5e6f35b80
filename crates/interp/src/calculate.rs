//! Computations of a lane with several results: comparisons, predicate logic, carries, and splits of a value.

use crate::context::LaneContext;
use crate::step::{Action, CarryOperation};
use crate::value::compare::Combine;
use crate::value::integer::{self, IntegerOperation, Kind};

/// Executes an action that has several results, or reads or writes the carry flag.
pub fn execute(at: &mut LaneContext, action: &Action) {
    match action {
        Action::Compare { comparison, combine, halves, destinations, sources } => {
            let [a, b, c] = sources.map(|source| at.read(source));
            let further = c & 1 != 0;
            let (first, second) = if *halves {
                (comparison.holds(a & 0xffff, b & 0xffff), comparison.holds(a >> 16, b >> 16))
            } else {
                let holds = comparison.holds(a, b);
                (holds, !holds)
            };
            at.write(destinations[0], u64::from(combine.apply(first, further)));
            at.write(destinations[1], u64::from(combine.apply(second, further)));
        }
        Action::LogicPredicate { table, combine, destinations, sources } => {
            let [a, b, c, further] = sources.map(|source| at.read(source));
            let kind = Kind { bits: 32, signed: false };
            let value = integer::evaluate(IntegerOperation::Logic3(*table), kind, [a, b, c, 0]);
            at.write(destinations[0], value);
            at.write(destinations[1], u64::from(combine.apply(value != 0, further & 1 != 0)));
            debug_assert!(*combine != Combine::None);
        }
        Action::Carry { operation, kind, read, write, destination, sources } => {
            let [a, b, c] = sources.map(|source| at.read(source));
            let flag = *read && at.lane.carry;
            let (value, flag) = match operation {
                CarryOperation::Add => integer::add_carry(*kind, a, b, flag),
                CarryOperation::Subtract => integer::subtract_carry(*kind, a, b, flag || !read),
                CarryOperation::MultiplyAdd(part, saturates) => {
                    let product = integer::product_part(*kind, a, b, *part);
                    let (sum, out) = integer::add_carry(*kind, product, c, flag);
                    let exact = kind.extend(product) + kind.extend(c) + i128::from(flag);
                    (if *saturates { kind.clamp(exact) as u64 & kind.mask() } else { sum }, out)
                }
            };
            if *write {
                at.lane.carry = flag;
            }
            at.write(*destination, value);
        }
        Action::Split { bits, destinations, source } => {
            let value = at.read(*source);
            for (index, destination) in destinations.iter().enumerate() {
                let part = value >> (bits * index as u32) & (u64::MAX >> (64 - bits));
                at.write(*destination, part);
            }
        }
        _ => unreachable!("other actions are executed elsewhere"),
    }
}
