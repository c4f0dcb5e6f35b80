//! The functions that the system provides to kernels: printing, the heap, failed assertions.

use crate::execute::unaligned;
use crate::lane::Lane;
use crate::launch::{Fault, FaultKind};
use crate::machine::{BlockState, Machine};
use crate::memory::{Place, word};

/// Bytes that the heap can give out.
const HEAP_LIMIT: u64 = 1 << 28;
/// Longest string that is read.
const STRING_LIMIT: u64 = 1 << 16;

/// Calls the function with the low 64 bits of its arguments; its result.
pub fn call(
    name: &str,
    arguments: &[u64],
    lane: &mut Lane,
    machine: &mut Machine,
    block: &mut BlockState,
) -> Result<u64, Fault> {
    match (name, arguments) {
        ("vprintf", [format, values]) => {
            let (text, conversions) = print(*format, *values, lane, machine, block)?;
            machine.output.push(text);
            Ok(conversions)
        }
        ("malloc", [size]) => {
            if machine.heap.values().sum::<u64>().saturating_add(*size) > HEAP_LIMIT {
                return Ok(0);
            }
            let address = machine.memory.add_region(vec![0; *size as usize]);
            machine.heap.insert(address, *size);
            Ok(address)
        }
        ("free", [address]) => {
            if *address != 0 && machine.heap.remove(address).is_none() {
                let message = format!("free of {address:#x}, which malloc did not give");
                return Err(Fault::new(FaultKind::Illegal, message));
            }
            machine.memory.take_region(*address);
            Ok(0)
        }
        ("__assertfail", [message, file, line, function, ..]) => {
            let [message, file, function] =
                [message, file, function].map(|address| string(*address, lane, machine, block));
            let (message, file, function) = (message?, file?, function?);
            Err(Fault::new(
                FaultKind::Trap,
                format!("assertion `{message}` failed: {file}:{line}, {function}", line = *line as u32),
            ))
        }
        _ => Err(Fault::new(FaultKind::NotSupported, format!("not supported: a call of `{name}`"))),
    }
}

fn read(
    address: u64,
    length: usize,
    lane: &mut Lane,
    machine: &mut Machine,
    block: &mut BlockState,
) -> Result<u64, Fault> {
    unaligned(&mut machine.memory, &mut block.shared, lane, Place::Generic, address, length, false)
        .map(|b| word(b))
}

fn string(
    address: u64,
    lane: &mut Lane,
    machine: &mut Machine,
    block: &mut BlockState,
) -> Result<String, Fault> {
    let mut bytes = Vec::new();
    for offset in 0..STRING_LIMIT {
        match read(address.wrapping_add(offset), 1, lane, machine, block)? {
            0 => break,
            byte => bytes.push(byte as u8),
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// What a format prints, and how many values it took. Arguments lie behind each other in memory, each at a multiple of its size.
fn print(
    format: u64,
    values: u64,
    lane: &mut Lane,
    machine: &mut Machine,
    block: &mut BlockState,
) -> Result<(String, u64), Fault> {
    let format = string(format, lane, machine, block)?;
    let mut text = String::new();
    let mut offset = 0u64;
    let mut taken = 0;
    let mut rest = format.chars().peekable();
    while let Some(letter) = rest.next() {
        if letter != '%' {
            text.push(letter);
            continue;
        }
        let mut spec = Specification::default();
        while let Some(&flag) = rest.peek() {
            match flag {
                '-' => spec.left = true,
                '0' => spec.zero = true,
                '+' => spec.plus = true,
                '#' => spec.alternate = true,
                ' ' => {}
                _ => break,
            }
            rest.next();
        }
        let mut next_argument =
            |size: u64, lane: &mut Lane, machine: &mut Machine, block: &mut BlockState| {
                offset = offset.next_multiple_of(size);
                let value = read(values.wrapping_add(offset), size as usize, lane, machine, block);
                offset += size;
                taken += 1;
                value
            };
        let number = |rest: &mut std::iter::Peekable<std::str::Chars>| {
            let mut value = None;
            while let Some(digit) = rest.peek().and_then(|digit| digit.to_digit(10)) {
                value = Some((value.unwrap_or(0) * 10 + digit as usize).min(1000));
                rest.next();
            }
            value
        };
        if rest.next_if_eq(&'*').is_some() {
            spec.width = next_argument(4, lane, machine, block)? as usize & 1023;
        } else {
            spec.width = number(&mut rest).unwrap_or(0);
        }
        if rest.next_if_eq(&'.').is_some() {
            spec.precision = Some(if rest.next_if_eq(&'*').is_some() {
                next_argument(4, lane, machine, block)? as usize & 1023
            } else {
                number(&mut rest).unwrap_or(0)
            });
        }
        let mut size = 4;
        while let Some(&length) = rest.peek() {
            match length {
                'l' | 'j' | 'z' | 't' => size = 8,
                'h' => {}
                _ => break,
            }
            rest.next();
        }
        match rest.next() {
            Some('%') => text.push('%'),
            Some(kind @ ('d' | 'i')) => {
                let value = next_argument(size, lane, machine, block)?;
                let value = if size == 8 { value as i64 } else { i64::from(value as i32) };
                spec.put(&mut text, value < 0, &spec.digits(value.unsigned_abs(), kind));
            }
            Some(kind @ ('u' | 'x' | 'X' | 'o')) => {
                let value = next_argument(size, lane, machine, block)?;
                spec.put(&mut text, false, &spec.digits(value, kind));
            }
            Some('p') => {
                let value = next_argument(8, lane, machine, block)?;
                spec.put(&mut text, false, &format!("{value:#x}"));
            }
            Some('c') => {
                let value = next_argument(4, lane, machine, block)?;
                text.push(char::from(value as u8));
            }
            Some('s') => {
                let address = next_argument(8, lane, machine, block)?;
                let mut value = string(address, lane, machine, block)?;
                if let Some(precision) = spec.precision {
                    value = value.chars().take(precision).collect();
                }
                spec.put(&mut text, false, &value);
            }
            Some(kind @ ('f' | 'F' | 'e' | 'E' | 'g' | 'G')) => {
                let value = f64::from_bits(next_argument(8, lane, machine, block)?);
                spec.put(&mut text, value.is_sign_negative(), &spec.float(value.abs(), kind));
            }
            Some(other) => text.push(other),
            None => break,
        }
    }
    Ok((text, taken))
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
