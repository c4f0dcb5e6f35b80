//! The registers of one operand.
//!
//! It is here because nothing is more frequent in a function: up to three are stored inline, so that the usual
//! operand needs no heap memory and an instruction stays small. Only the list may enter.

use crate::Value;
use std::fmt;
use std::ops::{Deref, DerefMut};

/// Count that is stored inline.
const FEW: usize = 3;

/// The components of a register operand, lowest first. More than one means an aligned tuple. It derefs to a slice.
#[derive(Clone)]
pub struct Values(List);

#[derive(Clone)]
enum List {
    Few(u8, [Value; FEW]),
    #[allow(
        clippy::box_collection,
        reason = "a vector in a box takes one word here; a boxed slice would take two"
    )]
    Many(Box<Vec<Value>>),
}

impl Values {
    /// No register.
    #[inline]
    pub const fn new() -> Values {
        Values(List::Few(0, [Value(0); FEW]))
    }

    /// These registers.
    pub fn from_slice(values: &[Value]) -> Values {
        values.iter().copied().collect()
    }

    /// One more register, above the others.
    #[inline]
    pub fn push(&mut self, value: Value) {
        match &mut self.0 {
            List::Few(count, few) => match few.get_mut(usize::from(*count)) {
                Some(place) => {
                    *place = value;
                    *count += 1;
                }
                None => {
                    let mut many = few.to_vec();
                    many.push(value);
                    self.0 = List::Many(Box::new(many));
                }
            },
            List::Many(many) => many.push(value),
        }
    }

    /// No register any more.
    pub fn clear(&mut self) {
        *self = Values::new();
    }

    /// The registers as a slice.
    #[inline]
    pub fn as_slice(&self) -> &[Value] {
        match &self.0 {
            List::Few(count, few) => &few[..usize::from(*count)],
            List::Many(many) => many,
        }
    }

    /// The registers as a slice, to be replaced.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [Value] {
        match &mut self.0 {
            List::Few(count, few) => &mut few[..usize::from(*count)],
            List::Many(many) => many,
        }
    }
}

impl Default for Values {
    fn default() -> Values {
        Values::new()
    }
}

impl Deref for Values {
    type Target = [Value];

    #[inline]
    fn deref(&self) -> &[Value] {
        self.as_slice()
    }
}

impl DerefMut for Values {
    #[inline]
    fn deref_mut(&mut self) -> &mut [Value] {
        self.as_mut_slice()
    }
}

impl Extend<Value> for Values {
    #[inline]
    fn extend<T: IntoIterator<Item = Value>>(&mut self, values: T) {
        values.into_iter().for_each(|value| self.push(value));
    }
}

impl FromIterator<Value> for Values {
    #[inline]
    fn from_iter<T: IntoIterator<Item = Value>>(values: T) -> Values {
        let mut list = Values::new();
        list.extend(values);
        list
    }
}

impl<const N: usize> From<[Value; N]> for Values {
    fn from(values: [Value; N]) -> Values {
        values.into_iter().collect()
    }
}

impl IntoIterator for Values {
    type Item = Value;
    type IntoIter = Components;

    #[inline]
    fn into_iter(self) -> Components {
        Components { values: self, next: 0 }
    }
}

/// The registers of an operand, one after the other.
#[derive(Clone, Debug)]
pub struct Components {
    values: Values,
    next: usize,
}

impl Iterator for Components {
    type Item = Value;

    #[inline]
    fn next(&mut self) -> Option<Value> {
        let value = self.values.get(self.next).copied();
        self.next += 1;
        value
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.values.len().saturating_sub(self.next);
        (left, Some(left))
    }
}

impl<'a> IntoIterator for &'a Values {
    type Item = &'a Value;
    type IntoIter = std::slice::Iter<'a, Value>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.as_slice().iter()
    }
}

impl<'a> IntoIterator for &'a mut Values {
    type Item = &'a mut Value;
    type IntoIter = std::slice::IterMut<'a, Value>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.as_mut_slice().iter_mut()
    }
}

impl PartialEq for Values {
    #[inline]
    fn eq(&self, other: &Values) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Values {}

impl std::hash::Hash for Values {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state);
    }
}

impl fmt::Debug for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tuple_behaves_as_the_list_of_its_values() {
        for count in 0..9 {
            let list: Vec<Value> = (0..count).map(Value).collect();
            let mut tuple: Values = list.iter().copied().collect();
            assert_eq!(tuple.as_slice(), list);
            assert_eq!(tuple, Values::from_slice(&list));
            tuple.iter_mut().for_each(|value| value.0 += 1);
            assert_eq!(tuple.len(), list.len());
            assert!(tuple.iter().zip(&list).all(|(new, old)| new.0 == old.0 + 1));
            assert_eq!(tuple == Values::from_slice(&list), count == 0);
        }
    }

    #[test]
    fn operands_are_small() {
        assert_eq!(size_of::<Values>(), 16);
        assert_eq!(size_of::<crate::Source>(), 40);
        assert!(size_of::<crate::Instruction>() <= 224, "{}", size_of::<crate::Instruction>());
    }
}
