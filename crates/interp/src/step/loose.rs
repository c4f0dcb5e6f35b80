//! The kinds of results that PTX leaves some freedom: which one a step has is decided where it is decoded, and how the
//! result moves where it is executed.

/// A result that has some freedom.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loose {
    /// A product that may be contracted with an addition of its value.
    Product,
    /// An approximated function or quotient.
    Approximate,
    /// An f64 result: if it is NaN, its sign and fraction are open.
    Double,
    /// An integer quotient or remainder, which is open if the divisor is zero.
    Quotient,
}
