//! Operands and constant expressions.

use super::*;
use crate::SyntaxKind::*;
use crate::{NumberError, NumberValue, parse_number};

node_enum!(
    /// An operand of an instruction or a part of an expression.
    Operand {
        /// A name
        Name(NAME),
        /// `v.x`
        Member(MEMBER),
        /// `a[1]`
        Index(INDEX),
        /// A number or string
        Literal(LITERAL),
        /// `-a`, `!p`
        Prefix(PREFIX),
        /// `a + b`
        Binary(BINARY),
        /// `a ? b : c`
        Ternary(TERNARY),
        /// `(.s64) a`
        Cast(CAST),
        /// `( a )`
        Paren(PAREN),
        /// `generic(a)`
        CallExpression(CALL_EXPRESSION),
        /// `[ … ]`
        Address(ADDRESS),
        /// `{ a, b }`
        Vector(VECTOR),
        /// `p|q`
        Pair(PAIR),
        /// `_`
        Sink(SINK),
        /// The parenthesized arguments or results of a call
        ArgumentList(ARGUMENT_LIST),
    }
);

node!(
    /// A register, variable, label, function, special register or named constant
    Name, NAME
);

impl<'t> Name<'t> {
    /// The word.
    pub fn token(self) -> Option<TokenRef<'t>> {
        token(self.0, IDENT)
    }
}

node!(
    /// `v.x`, `%tid.x`, `d.b0`
    Member, MEMBER
);

impl<'t> Member<'t> {
    /// The operand that the component is taken from.
    pub fn base(self) -> Option<Operand<'t>> {
        child(self.0)
    }

    /// The component with its dot.
    pub fn component(self) -> Option<TokenRef<'t>> {
        token(self.0, DOTTED)
    }
}

node!(
    /// `a[1]`: the address of an element
    Index, INDEX
);

impl<'t> Index<'t> {
    /// The variable.
    pub fn base(self) -> Option<Operand<'t>> {
        children(self.0).next()
    }

    /// The index expression.
    pub fn index(self) -> Option<Operand<'t>> {
        children(self.0).nth(1)
    }
}

node!(
    /// A number or string
    Literal, LITERAL
);

impl<'t> Literal<'t> {
    /// The token: `INT_NUMBER`, `FLOAT_NUMBER` or `STRING`.
    pub fn token(self) -> Option<TokenRef<'t>> {
        tokens(self.0).next()
    }

    /// The number.
    ///
    /// # Errors
    /// For a string, and for a malformed number, which the lexer has reported.
    pub fn number(self) -> Result<NumberValue, NumberError> {
        self.token().map_or(Err(NumberError), |token| parse_number(token.text()))
    }

    /// The string without quotes.
    pub fn string(self) -> Option<String> {
        token(self.0, STRING).map(|token| unquoted(token))
    }
}

/// A prefix operator.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PrefixOperator {
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `!`
    Not,
    /// `~`
    Complement,
}

node!(
    /// `-a`, `!p`, `~a`, `+a`
    Prefix, PREFIX
);

impl<'t> Prefix<'t> {
    /// The operator.
    pub fn operator(self) -> Option<PrefixOperator> {
        Some(match tokens(self.0).next()?.kind() {
            PLUS => PrefixOperator::Plus,
            MINUS => PrefixOperator::Minus,
            BANG => PrefixOperator::Not,
            TILDE => PrefixOperator::Complement,
            _ => return None,
        })
    }

    /// The operand of the prefix operator.
    pub fn operand(self) -> Option<Operand<'t>> {
        child(self.0)
    }
}

/// An infix operator, with C's meaning.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BinaryOperator {
    Multiply,
    Divide,
    Remainder,
    Add,
    Subtract,
    ShiftLeft,
    ShiftRight,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
    BitAnd,
    BitXor,
    BitOr,
    LogicalAnd,
    LogicalOr,
}

node!(
    /// `a + b` and its like
    Binary, BINARY
);

impl<'t> Binary<'t> {
    /// The operator.
    pub fn operator(self) -> Option<BinaryOperator> {
        Some(match tokens(self.0).next()?.kind() {
            STAR => BinaryOperator::Multiply,
            SLASH => BinaryOperator::Divide,
            PERCENT => BinaryOperator::Remainder,
            PLUS => BinaryOperator::Add,
            MINUS => BinaryOperator::Subtract,
            LT_LT => BinaryOperator::ShiftLeft,
            GT_GT => BinaryOperator::ShiftRight,
            LT => BinaryOperator::Less,
            LT_EQ => BinaryOperator::LessOrEqual,
            GT => BinaryOperator::Greater,
            GT_EQ => BinaryOperator::GreaterOrEqual,
            EQ_EQ => BinaryOperator::Equal,
            BANG_EQ => BinaryOperator::NotEqual,
            AMP => BinaryOperator::BitAnd,
            CARET => BinaryOperator::BitXor,
            PIPE => BinaryOperator::BitOr,
            AMP_AMP => BinaryOperator::LogicalAnd,
            PIPE_PIPE => BinaryOperator::LogicalOr,
            _ => return None,
        })
    }

    /// The left side.
    pub fn left(self) -> Option<Operand<'t>> {
        children(self.0).next()
    }

    /// The right side.
    pub fn right(self) -> Option<Operand<'t>> {
        children(self.0).nth(1)
    }
}

node!(
    /// `a ? b : c`
    Ternary, TERNARY
);

impl<'t> Ternary<'t> {
    /// Before the `?`.
    pub fn condition(self) -> Option<Operand<'t>> {
        children(self.0).next()
    }

    /// Between `?` and `:`.
    pub fn then_value(self) -> Option<Operand<'t>> {
        children(self.0).nth(1)
    }

    /// After the `:`.
    pub fn else_value(self) -> Option<Operand<'t>> {
        children(self.0).nth(2)
    }
}

node!(
    /// `(.s64) a`
    Cast, CAST
);

impl<'t> Cast<'t> {
    /// The type word.
    pub fn type_word(self) -> Option<TokenRef<'t>> {
        token(self.0, DOTTED)
    }

    /// The converted operand.
    pub fn operand(self) -> Option<Operand<'t>> {
        child(self.0)
    }
}

node!(
    /// `( a )`
    Paren, PAREN
);

impl<'t> Paren<'t> {
    /// The inner expression.
    pub fn operand(self) -> Option<Operand<'t>> {
        child(self.0)
    }
}

node!(
    /// `generic(a)`, `mask(a)`, `0xff(a)`
    CallExpression, CALL_EXPRESSION
);

impl<'t> CallExpression<'t> {
    /// The operand before the parentheses: a name, a mask number, or for `mask(0xff)(a)` another call expression.
    pub fn callee(self) -> Option<Operand<'t>> {
        children(self.0).next()
    }

    /// The operand between the parentheses.
    pub fn argument(self) -> Option<Operand<'t>> {
        children(self.0).nth(1)
    }
}

node!(
    /// `[a+4]`, `[tex, {x, y}]`
    Address, ADDRESS
);

impl<'t> Address<'t> {
    /// The parts between the commas; an ordinary address has one.
    pub fn parts(self) -> AstChildren<'t, Operand<'t>> {
        children(self.0)
    }

    /// `.unified` and its like after the bracket.
    pub fn suffix(self) -> Option<TokenRef<'t>> {
        dotted(self.0).next()
    }
}

node!(
    /// `{ a, b }`
    Vector, VECTOR
);

impl<'t> Vector<'t> {
    /// The elements in order.
    pub fn elements(self) -> AstChildren<'t, Operand<'t>> {
        children(self.0)
    }
}

node!(
    /// `p|q`
    Pair, PAIR
);

impl<'t> Pair<'t> {
    /// Before the bar.
    pub fn first(self) -> Option<Operand<'t>> {
        children(self.0).next()
    }

    /// After the bar.
    pub fn second(self) -> Option<Operand<'t>> {
        children(self.0).nth(1)
    }
}

node!(
    /// `_`
    Sink, SINK
);

node!(
    /// The parenthesized arguments or results of a call
    ArgumentList, ARGUMENT_LIST
);

impl<'t> ArgumentList<'t> {
    /// The arguments in order.
    pub fn arguments(self) -> AstChildren<'t, Operand<'t>> {
        children(self.0)
    }
}
