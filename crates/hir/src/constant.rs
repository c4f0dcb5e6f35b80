//! Constant expressions, evaluated as PTX says: 64-bit integers that are signed unless an operand is unsigned, or f64
//! values; the two kinds do not mix.
//!
//! It is here because array sizes, initializers, offsets and immediates all use it. It knows no registers: a name
//! other than `WARP_SZ` is not a constant.

use oriole_diagnostics::{Code, Diagnostic};
use oriole_syntax::ast::{AstNode, BinaryOperator, Operand, PrefixOperator};
use oriole_syntax::{NumberError, NumberValue};

/// The value of a constant expression.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Constant {
    /// An integer: 64 bits, and whether they are unsigned.
    Integer {
        /// The bits.
        bits: u64,
        /// `.u64` rather than `.s64`.
        unsigned: bool,
    },
    /// `0f...`: the bits of an f32.
    F32(u32),
    /// A decimal or `0d...` literal: the bits of an f64.
    F64(u64),
}

impl Constant {
    fn signed(value: i64) -> Constant {
        Constant::Integer { bits: value as u64, unsigned: false }
    }

    /// The integer, as two's complement; `None` for a floating-point value.
    pub fn integer(self) -> Option<i64> {
        match self {
            Constant::Integer { bits, .. } => Some(bits as i64),
            _ => None,
        }
    }

    fn truth(self) -> bool {
        match self {
            Constant::Integer { bits, .. } => bits != 0,
            Constant::F32(bits) => f32::from_bits(bits) != 0.0,
            Constant::F64(bits) => f64::from_bits(bits) != 0.0,
        }
    }
}

fn wrong(operand: &Operand, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(Code::InvalidExpression, operand.span(), message.into())
}

/// The value of a literal.
///
/// # Errors
/// A message if the literal is malformed or too large.
pub(crate) fn literal(number: Result<NumberValue, NumberError>) -> Result<Constant, &'static str> {
    match number {
        Ok(NumberValue::Integer { overflow: true, .. }) => Err("the number does not fit into 64 bits"),
        Ok(NumberValue::Integer { bits, unsigned, .. }) => Ok(Constant::Integer { bits, unsigned }),
        Ok(NumberValue::F32 { bits }) => Ok(Constant::F32(bits)),
        Ok(NumberValue::F64 { bits }) => Ok(Constant::F64(bits)),
        Err(NumberError) => Err("a number is needed here"),
    }
}

/// Evaluates an expression.
///
/// # Errors
/// If it holds an operand that is not a constant, divides by zero, or mixes integers and floating-point values.
/// Depth is bounded by the parser.
pub fn evaluate(expression: &Operand) -> Result<Constant, Diagnostic> {
    let malformed = || wrong(expression, "this expression is incomplete");
    match expression {
        Operand::Literal(found) => literal(found.number()).map_err(|message| wrong(expression, message)),
        Operand::Name(name) => match name.token() {
            Some(token) if token.text() == "WARP_SZ" => Ok(Constant::signed(32)),
            Some(token) => Err(wrong(expression, format!("`{}` is not a constant", token.text()))),
            None => Err(malformed()),
        },
        Operand::Paren(paren) => evaluate(&paren.operand().ok_or_else(malformed)?),
        Operand::Prefix(prefix) => {
            let value = evaluate(&prefix.operand().ok_or_else(malformed)?)?;
            match (prefix.operator().ok_or_else(malformed)?, value) {
                (PrefixOperator::Plus, value) => Ok(value),
                (PrefixOperator::Minus, Constant::Integer { bits, unsigned }) => {
                    Ok(Constant::Integer { bits: bits.wrapping_neg(), unsigned })
                }
                (PrefixOperator::Minus, Constant::F32(bits)) => Ok(Constant::F32(bits ^ 1 << 31)),
                (PrefixOperator::Minus, Constant::F64(bits)) => Ok(Constant::F64(bits ^ 1 << 63)),
                (PrefixOperator::Not, Constant::Integer { bits, .. }) => {
                    Ok(Constant::signed(i64::from(bits == 0)))
                }
                (PrefixOperator::Complement, Constant::Integer { bits, unsigned }) => {
                    Ok(Constant::Integer { bits: !bits, unsigned })
                }
                _ => Err(wrong(expression, "this operator works on integers only")),
            }
        }
        Operand::Cast(cast) => {
            let value = evaluate(&cast.operand().ok_or_else(malformed)?)?;
            let word = cast.type_word().ok_or_else(malformed)?;
            match (word.text(), value) {
                (".s64", Constant::Integer { bits, .. }) => Ok(Constant::Integer { bits, unsigned: false }),
                (".u64", Constant::Integer { bits, .. }) => Ok(Constant::Integer { bits, unsigned: true }),
                (".s64" | ".u64", _) => Err(wrong(expression, "an integer is needed here")),
                _ => Err(wrong(expression, "a constant can be converted to `.s64` or `.u64` only")),
            }
        }
        Operand::Ternary(ternary) => {
            let condition = evaluate(&ternary.condition().ok_or_else(malformed)?)?;
            let then_value = evaluate(&ternary.then_value().ok_or_else(malformed)?)?;
            let else_value = evaluate(&ternary.else_value().ok_or_else(malformed)?)?;
            Ok(if condition.truth() { then_value } else { else_value })
        }
        Operand::Binary(binary) => {
            let left = evaluate(&binary.left().ok_or_else(malformed)?)?;
            let right = evaluate(&binary.right().ok_or_else(malformed)?)?;
            let operator = binary.operator().ok_or_else(malformed)?;
            combine(operator, left, right).map_err(|message| wrong(expression, message))
        }
        _ => Err(wrong(expression, "a constant expression is needed here")),
    }
}

fn combine(operator: BinaryOperator, left: Constant, right: Constant) -> Result<Constant, &'static str> {
    use BinaryOperator::*;
    match (left, right) {
        (Constant::Integer { bits: a, unsigned: ua }, Constant::Integer { bits: b, unsigned: ub }) => {
            let unsigned = ua || ub;
            let (sa, sb) = (a as i64, b as i64);
            let compare = |signed: bool, plain: bool| {
                Constant::signed(i64::from(if unsigned { plain } else { signed }))
            };
            let bits = match operator {
                Multiply => a.wrapping_mul(b),
                Divide | Remainder if b == 0 => return Err("division by zero"),
                Divide if unsigned => a / b,
                Divide => sa.wrapping_div(sb) as u64,
                Remainder if unsigned => a % b,
                Remainder => sa.wrapping_rem(sb) as u64,
                Add => a.wrapping_add(b),
                Subtract => a.wrapping_sub(b),
                // A shift has the signedness of its left side; amounts past the width shift everything out.
                ShiftLeft => {
                    let bits = if b > 63 { 0 } else { a << b };
                    return Ok(Constant::Integer { bits, unsigned: ua });
                }
                ShiftRight => {
                    let amount = b.min(63) as u32;
                    let bits = match (ua, b > 63) {
                        (true, true) => 0,
                        (true, false) => a >> amount,
                        (false, _) => (sa >> amount) as u64,
                    };
                    return Ok(Constant::Integer { bits, unsigned: ua });
                }
                Less => return Ok(compare(sa < sb, a < b)),
                LessOrEqual => return Ok(compare(sa <= sb, a <= b)),
                Greater => return Ok(compare(sa > sb, a > b)),
                GreaterOrEqual => return Ok(compare(sa >= sb, a >= b)),
                Equal => return Ok(Constant::signed(i64::from(a == b))),
                NotEqual => return Ok(Constant::signed(i64::from(a != b))),
                BitAnd => a & b,
                BitXor => a ^ b,
                BitOr => a | b,
                LogicalAnd => return Ok(Constant::signed(i64::from(a != 0 && b != 0))),
                LogicalOr => return Ok(Constant::signed(i64::from(a != 0 || b != 0))),
            };
            Ok(Constant::Integer { bits, unsigned })
        }
        (Constant::F64(a), Constant::F64(b)) => {
            let (a, b) = (f64::from_bits(a), f64::from_bits(b));
            let truth = |value: bool| Ok(Constant::signed(i64::from(value)));
            let value = match operator {
                Multiply => a * b,
                Divide => a / b,
                Add => a + b,
                Subtract => a - b,
                Less => return truth(a < b),
                LessOrEqual => return truth(a <= b),
                Greater => return truth(a > b),
                GreaterOrEqual => return truth(a >= b),
                Equal => return truth(a == b),
                NotEqual => return truth(a != b),
                _ => return Err("this operator works on integers only"),
            };
            Ok(Constant::F64(value.to_bits()))
        }
        (Constant::F32(_), _) | (_, Constant::F32(_)) => {
            Err("a `0f` literal cannot be part of an expression")
        }
        _ => Err("integers and floating-point numbers do not mix"),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use oriole_syntax::ast::{Item, Statement};
    use oriole_syntax::{UnitKind, parse_unit};

    use super::evaluate;

    fn check(text: &str, expected: Expect) {
        let parse = parse_unit(UnitKind::Entry, &format!(".entry k() {{ mov.u32 r, {text}; }}"));
        let Some(Item::Function(function)) = parse.unit().items().next() else { panic!("no function") };
        let Some(Statement::Instruction(instruction)) = function.body().unwrap().statements().next() else {
            panic!("no instruction")
        };
        let found = match evaluate(&instruction.operands().nth(1).unwrap()) {
            Ok(value) => format!("{value:x?}"),
            Err(error) => error.message.to_string(),
        };
        expected.assert_eq(&found);
    }

    #[test]
    fn values() {
        check("-(2+3)*4", expect!["Integer { bits: ffffffffffffffec, unsigned: false }"]);
        check("(1 << 4) | (7 % 4) ? 3 : 9", expect!["Integer { bits: 3, unsigned: false }"]);
        check("(.u64)-1 > 0", expect!["Integer { bits: 1, unsigned: false }"]);
        check("-1 > 0", expect!["Integer { bits: 0, unsigned: false }"]);
        check("-1 >> 70", expect!["Integer { bits: ffffffffffffffff, unsigned: false }"]);
        check("1 << 70", expect!["Integer { bits: 0, unsigned: false }"]);
        check("WARP_SZ*2", expect!["Integer { bits: 40, unsigned: false }"]);
        check("1.5 + 0.5", expect!["F64(4000000000000000)"]);
        check("0x8000000000000000 / -1", expect!["Integer { bits: 0, unsigned: true }"]);
    }

    #[test]
    fn mistakes() {
        check("1 / 0", expect!["division by zero"]);
        check("1.0 + 1", expect!["integers and floating-point numbers do not mix"]);
        check("(.f64) 1", expect!["a constant can be converted to `.s64` or `.u64` only"]);
        check("~1.0", expect!["this operator works on integers only"]);
        check("x + 1", expect!["`x` is not a constant"]);
    }
}
