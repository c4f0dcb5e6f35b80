//! The formats of `printf`: their specifications, and the arguments in memory.

use std::iter::Peekable;
use std::str::Chars;

use crate::context::LaneContext;
use crate::fault::Fault;

/// The printed text of a format, and the number of its arguments.
pub fn format(at: &mut LaneContext, format: u64, values: u64) -> Result<(String, u64), Fault> {
    let format = at.string_at(format)?;
    let mut text = String::new();
    let mut arguments = Arguments { start: values, offset: 0, taken: 0 };
    let mut letters = format.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            text.push(letter);
            continue;
        }
        let (spec, size) = Specification::read(at, &mut letters, &mut arguments)?;
        if !spec.convert(at, &mut text, letters.next(), size, &mut arguments)? {
            break;
        }
    }
    Ok((text, arguments.taken))
}

/// The arguments of a format, one after the other in memory, each at a multiple of its size.
struct Arguments {
    start: u64,
    offset: u64,
    taken: u64,
}

impl Arguments {
    fn next(&mut self, at: &mut LaneContext, size: u64) -> Result<u64, Fault> {
        self.offset = self.offset.next_multiple_of(size);
        let value = at.word_at(self.start.wrapping_add(self.offset), size as usize);
        self.offset += size;
        self.taken += 1;
        value
    }
}

/// A width or a precision: digits, or an argument where the format has `*`; 0 without either.
fn count(
    at: &mut LaneContext,
    letters: &mut Peekable<Chars>,
    arguments: &mut Arguments,
) -> Result<usize, Fault> {
    if letters.next_if_eq(&'*').is_some() {
        return Ok(arguments.next(at, 4)? as usize & 1023);
    }
    let mut value = 0;
    while let Some(digit) = letters.peek().and_then(|digit| digit.to_digit(10)) {
        value = (value * 10 + digit as usize).min(1000);
        letters.next();
    }
    Ok(value)
}

/// Flags, width and precision of a conversion of `printf`.
#[derive(Default)]
struct Specification {
    left: bool,
    zero: bool,
    plus: bool,
    alternate: bool,
    width: usize,
    precision: Option<usize>,
}

impl Specification {
    /// Reads flags, width and precision; the size in bytes of the argument that the length modifiers give.
    fn read(
        at: &mut LaneContext,
        letters: &mut Peekable<Chars>,
        arguments: &mut Arguments,
    ) -> Result<(Specification, u64), Fault> {
        let mut spec = Specification::default();
        while let Some(&flag) = letters.peek() {
            match flag {
                '-' => spec.left = true,
                '0' => spec.zero = true,
                '+' => spec.plus = true,
                '#' => spec.alternate = true,
                ' ' => {}
                _ => break,
            }
            letters.next();
        }
        spec.width = count(at, letters, arguments)?;
        if letters.next_if_eq(&'.').is_some() {
            spec.precision = Some(count(at, letters, arguments)?);
        }
        let mut size = 4;
        while let Some(length) = letters.next_if(|letter| matches!(letter, 'l' | 'j' | 'z' | 't' | 'h')) {
            if length != 'h' {
                size = 8;
            }
        }
        Ok((spec, size))
    }

    /// Adds a conversion of this kind; false at the end of the format.
    fn convert(
        &self,
        at: &mut LaneContext,
        text: &mut String,
        kind: Option<char>,
        size: u64,
        arguments: &mut Arguments,
    ) -> Result<bool, Fault> {
        match kind {
            Some('%') => text.push('%'),
            Some(kind @ ('d' | 'i')) => {
                let value = arguments.next(at, size)?;
                let value = if size == 8 { value as i64 } else { i64::from(value as i32) };
                self.put(text, value < 0, &self.digits(value.unsigned_abs(), kind));
            }
            Some(kind @ ('u' | 'x' | 'X' | 'o')) => {
                let value = arguments.next(at, size)?;
                self.put(text, false, &self.digits(value, kind));
            }
            Some('p') => {
                let value = arguments.next(at, 8)?;
                self.put(text, false, &format!("{value:#x}"));
            }
            Some('c') => {
                let value = arguments.next(at, 4)?;
                text.push(char::from(value as u8));
            }
            Some('s') => {
                let address = arguments.next(at, 8)?;
                let mut value = at.string_at(address)?;
                if let Some(precision) = self.precision {
                    value = value.chars().take(precision).collect();
                }
                self.put(text, false, &value);
            }
            Some(kind @ ('f' | 'F' | 'e' | 'E' | 'g' | 'G')) => {
                let value = f64::from_bits(arguments.next(at, 8)?);
                self.put(text, value.is_sign_negative(), &self.float(value.abs(), kind));
            }
            Some(other) => text.push(other),
            None => return Ok(false),
        }
        Ok(true)
    }

    fn digits(&self, value: u64, kind: char) -> String {
        let digits = match (kind, self.alternate) {
            ('x', true) => format!("{value:#x}"),
            ('x', false) => format!("{value:x}"),
            ('X', _) => format!("{value:X}"),
            ('o', _) => format!("{value:o}"),
            _ => value.to_string(),
        };
        match self.precision {
            Some(precision) => format!("{digits:0>precision$}"),
            None => digits,
        }
    }

    fn float(&self, value: f64, kind: char) -> String {
        if !value.is_finite() {
            return if value.is_nan() { "nan".into() } else { "inf".into() };
        }
        let precision = self.precision.unwrap_or(6);
        let scientific = |precision: usize| {
            let text = format!("{value:.precision$e}");
            let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            let exponent: i32 = exponent.parse().unwrap_or(0);
            let sign = if exponent < 0 { '-' } else { '+' };
            (format!("{mantissa}e{sign}{:02}", exponent.abs()), exponent)
        };
        match kind {
            'e' | 'E' => scientific(precision).0,
            'g' | 'G' => {
                let precision = precision.max(1);
                let (text, exponent) = scientific(precision - 1);
                let trim = |text: &str| {
                    if text.contains('.') {
                        text.trim_end_matches('0').trim_end_matches('.').to_string()
                    } else {
                        text.to_string()
                    }
                };
                if exponent < -4 || exponent >= precision as i32 {
                    let (mantissa, power) = text.split_once('e').unwrap_or((&text, "+00"));
                    format!("{}e{power}", trim(mantissa))
                } else {
                    let places = (precision as i32 - 1 - exponent).max(0) as usize;
                    trim(&format!("{value:.places$}"))
                }
            }
            _ => format!("{value:.precision$}"),
        }
    }

    /// Adds sign and padding.
    fn put(&self, text: &mut String, negative: bool, digits: &str) {
        let sign = if negative {
            "-"
        } else if self.plus {
            "+"
        } else {
            ""
        };
        let missing = self.width.saturating_sub(sign.len() + digits.chars().count());
        if self.left {
            text.push_str(sign);
            text.push_str(digits);
            text.extend(std::iter::repeat_n(' ', missing));
        } else if self.zero {
            text.push_str(sign);
            text.extend(std::iter::repeat_n('0', missing));
            text.push_str(digits);
        } else {
            text.extend(std::iter::repeat_n(' ', missing));
            text.push_str(sign);
            text.push_str(digits);
        }
    }
}
