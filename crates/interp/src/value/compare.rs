//! Comparisons of `setp`, `set` and `vset`.

use std::cmp::Ordering;

use super::integer::Kind;
use super::soft::{self, Format};

/// The relation of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    /// Neither is NaN.
    Number,
    /// At least one is NaN.
    NotANumber,
}

/// The combination with a further predicate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Combine {
    None,
    And,
    Or,
    Xor,
}

impl Combine {
    /// The combined truth.
    pub fn apply(self, holds: bool, other: bool) -> bool {
        match self {
            Combine::None => holds,
            Combine::And => holds & other,
            Combine::Or => holds | other,
            Combine::Xor => holds ^ other,
        }
    }
}

/// The type of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comparison {
    /// Integers or plain bits.
    Integer(Order, Kind),
    /// Floats; the first flag: unordered operands satisfy it; the second: subnormal operands count as zero.
    Float(Order, Format, bool, bool),
}

impl Comparison {
    /// Whether the relation of a and b is true.
    #[inline]
    pub fn holds(self, a: u64, b: u64) -> bool {
        match self {
            Comparison::Integer(order, kind) => Comparison::integers(order, kind.order(a, b)),
            Comparison::Float(order, format, unordered, flush) => {
                let value = |bits: u64| {
                    let bits = bits & format.mask();
                    soft::to_f64(format, if flush { soft::flush(format, bits) } else { bits })
                };
                let ordering = value(a).partial_cmp(&value(b));
                match (order, ordering) {
                    (Order::Number, ordering) => ordering.is_some(),
                    (Order::NotANumber, ordering) => ordering.is_none(),
                    (order, Some(ordering)) => Comparison::integers(order, ordering),
                    (_, None) => unordered,
                }
            }
        }
    }

    /// Whether an ordering satisfies the relation.
    pub fn integers(order: Order, ordering: Ordering) -> bool {
        match order {
            Order::Equal => ordering.is_eq(),
            Order::NotEqual => ordering.is_ne(),
            Order::Less => ordering.is_lt(),
            Order::LessEqual => ordering.is_le(),
            Order::Greater => ordering.is_gt(),
            Order::GreaterEqual => ordering.is_ge(),
            Order::Number => true,
            Order::NotANumber => false,
        }
    }

    /// The relation spelled so, and whether unordered operands satisfy it.
    pub fn of(word: oriole_ptx::word::Comparison) -> (Order, bool) {
        use oriole_ptx::word::Comparison as Word;
        match word {
            Word::Eq => (Order::Equal, false),
            Word::Ne => (Order::NotEqual, false),
            Word::Lt | Word::Lo => (Order::Less, false),
            Word::Le | Word::Ls => (Order::LessEqual, false),
            Word::Gt | Word::Hi => (Order::Greater, false),
            Word::Ge | Word::Hs => (Order::GreaterEqual, false),
            Word::Equ => (Order::Equal, true),
            Word::Neu => (Order::NotEqual, true),
            Word::Ltu => (Order::Less, true),
            Word::Leu => (Order::LessEqual, true),
            Word::Gtu => (Order::Greater, true),
            Word::Geu => (Order::GreaterEqual, true),
            Word::Num => (Order::Number, false),
            Word::Nan => (Order::NotANumber, true),
        }
    }
}
