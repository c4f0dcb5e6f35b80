//! The expected contents of a buffer, and their comparison with the contents after a launch.
//!
//! The one place that judges results of a record; it knows bytes and types, no machine and no file.

use super::elements::Element;
use super::error::RecordError;
use super::hex::encode;
use serde::Deserialize;

/// How far an element may be from the expected one; any of the bounds suffices.
#[derive(Deserialize, Debug, Clone, PartialEq)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Tolerance {
    /// Most units in the last place.
    pub ulp: Option<u64>,
    /// Largest absolute difference.
    pub abs: Option<f64>,
    /// Largest difference relative to the expected value.
    pub rel: Option<f64>,
}

/// When two elements are equal.
#[derive(Debug, PartialEq)]
pub enum Rule {
    /// The same bits.
    Bits,
    /// The same bits, or both NaN.
    Values,
    /// The same, or near enough.
    Within(Tolerance),
}

/// The expected contents of a buffer.
#[derive(Debug)]
pub struct Expectation {
    /// Bytes.
    pub bytes: Vec<u8>,
    /// Their type, where the record says it.
    pub element: Option<Element>,
    /// How they are compared.
    pub rule: Rule,
}

impl Expectation {
    /// These bytes, bit by bit.
    pub fn same_bits(bytes: Vec<u8>, element: Option<Element>) -> Expectation {
        Expectation { bytes, element, rule: Rule::Bits }
    }

    /// Checks the rule and the bytes against the type.
    ///
    /// # Errors
    /// Such elements take no such rule, or the bytes are no whole elements.
    pub fn check(&self) -> Result<(), RecordError> {
        let Some(element) = self.element else { return Ok(()) };
        if !self.bytes.len().is_multiple_of(element.bytes()) {
            return Err(RecordError::Partial { bytes: self.bytes.len(), name: element.name() });
        }
        let Rule::Within(tolerance) = &self.rule else { return Ok(()) };
        if !element.is_float() {
            return Err(RecordError::Exact(element.name()));
        }
        if [tolerance.abs, tolerance.rel].into_iter().flatten().any(|bound| bound < 0.0) {
            return Err(RecordError::Rule("a tolerance is not below zero"));
        }
        Ok(())
    }

    /// The first difference between this and what the buffer of an argument holds, as a message; `None` if it holds.
    pub fn difference(&self, argument: usize, got: &[u8]) -> Option<String> {
        let want = &self.bytes;
        if want.len() != got.len() {
            return Some(format!("argument {argument}: {} bytes expected, {} found", want.len(), got.len()));
        }
        let Some(element) = self.element else {
            let at = want.iter().zip(got).position(|(a, b)| a != b)?;
            let word = at / 4 * 4;
            let end = (word + 4).min(want.len());
            return Some(format!(
                "argument {argument}: byte {at} differs: expected {} at {word}, found {}",
                encode(&want[word..end]),
                encode(&got[word..end])
            ));
        };
        let pairs = want.chunks_exact(element.bytes()).zip(got.chunks_exact(element.bytes()));
        let mut wrong = pairs.enumerate().filter(|(_, (a, b))| !self.same(element, a, b));
        let (index, (a, b)) = wrong.next()?;
        let shown = |bytes| match element.decode(bytes) {
            serde_json::Value::String(text) => text,
            number => number.to_string(),
        };
        let (expected, found) = (shown(a), shown(b));
        // Two values that print alike, such as two NaNs, also show their bits.
        let bits = if expected == found {
            format!(" (bits {} and {})", encode(a), encode(b))
        } else {
            String::new()
        };
        let others = match wrong.count() {
            0 => String::new(),
            more => format!("; {} of {} differ", more + 1, want.len() / element.bytes()),
        };
        Some(format!(
            "argument {argument}: element {index} differs: expected {expected}, found {found}{bits}, of type {}{others}",
            element.name()
        ))
    }

    fn same(&self, element: Element, a: &[u8], b: &[u8]) -> bool {
        if a == b {
            return true;
        }
        if self.rule == Rule::Bits || !element.is_float() {
            return false;
        }
        let (x, y) = (element.float(a), element.float(b));
        if x.is_nan() || y.is_nan() {
            return x.is_nan() && y.is_nan();
        }
        let Rule::Within(tolerance) = &self.rule else { return false };
        // Next to an infinity every bound relative to it would hold.
        let near = |bound: f64| x.is_finite() && y.is_finite() && (x - y).abs() <= bound;
        tolerance.ulp.is_some_and(|most| steps(a, b) <= most)
            || tolerance.abs.is_some_and(near)
            || tolerance.rel.is_some_and(|most| near(most * x.abs()))
    }
}

/// How many representable numbers are between two.
fn steps(a: &[u8], b: &[u8]) -> u64 {
    let ordered = |bytes: &[u8]| {
        let mut padded = [0; 8];
        padded[..bytes.len()].copy_from_slice(bytes);
        let bits = u64::from_le_bytes(padded);
        let sign = 1u64 << (8 * bytes.len() - 1);
        if bits & sign != 0 { -((bits & (sign - 1)) as i128) } else { bits as i128 }
    };
    (ordered(a) - ordered(b)).unsigned_abs().min(u128::from(u64::MAX)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ulp_distance_crosses_zero() {
        assert_eq!(steps(&1.0f32.to_le_bytes(), &(1.0f32 + f32::EPSILON).to_le_bytes()), 1);
        assert_eq!(steps(&0.0f32.to_le_bytes(), &(-0.0f32).to_le_bytes()), 0);
    }

    #[test]
    fn no_bound_reaches_an_infinity() {
        let tolerance = Tolerance { ulp: None, abs: Some(1e30), rel: Some(0.5) };
        let element = Element::try_from("f32".to_owned()).unwrap();
        let expectation = Expectation {
            bytes: f32::INFINITY.to_le_bytes().to_vec(),
            element: Some(element),
            rule: Rule::Within(tolerance),
        };
        assert!(expectation.difference(0, &1.0f32.to_le_bytes()).is_some());
        assert!(expectation.difference(0, &f32::INFINITY.to_le_bytes()).is_none());
    }
}
