//! Phis.
//!
//! They have their own record and source type because there may be more of them than instructions, and every SSA pass
//! reads them all: a phi with up to four sources fits one cache line.

use crate::{BlockId, File, Source, SourceKind, Value};
use smallvec::SmallVec;

/// Sources of a phi, by predecessor.
pub type PhiSources = SmallVec<[(BlockId, PhiSource); 4]>;

/// A phi.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Phi {
    /// The merged value.
    pub destination: Value,
    /// One source for each predecessor, named by block.
    pub sources: PhiSources,
}

/// A phi source, for one predecessor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PhiSource {
    /// A value.
    Value(Value),
    /// `RZ` or `URZ`.
    Zero(File),
    /// `PT` or `UPT`.
    True(File),
    /// `!PT` or `!UPT`.
    False(File),
    /// A 32-bit immediate.
    Imm(u32),
}

impl PhiSource {
    /// Converts an instruction source to a phi source; `None` if a phi cannot read it.
    pub fn of(source: &Source) -> Option<PhiSource> {
        let plain = PhiSource::plain(&source.kind, source.invert)?;
        (plain.source() == *source).then_some(plain)
    }

    fn plain(kind: &SourceKind, invert: bool) -> Option<PhiSource> {
        Some(match kind {
            SourceKind::Values(values) => PhiSource::Value(*values.first()?),
            SourceKind::Zero(file) => PhiSource::Zero(*file),
            SourceKind::True(file) if invert => PhiSource::False(*file),
            SourceKind::True(file) => PhiSource::True(*file),
            SourceKind::Imm(bits) => PhiSource::Imm(*bits),
            _ => return None,
        })
    }

    /// Converts to an instruction source.
    pub fn source(self) -> Source {
        match self {
            PhiSource::Value(value) => Source::value(value),
            PhiSource::Zero(file) => Source::plain(SourceKind::Zero(file)),
            PhiSource::True(file) => Source::plain(SourceKind::True(file)),
            PhiSource::False(file) => Source::plain(SourceKind::True(file)).inverted(),
            PhiSource::Imm(bits) => Source::imm(bits),
        }
    }

    /// The value that is read.
    #[inline]
    pub fn value(self) -> Option<Value> {
        match self {
            PhiSource::Value(value) => Some(value),
            _ => None,
        }
    }

    /// The value, to be replaced.
    #[inline]
    pub fn value_mut(&mut self) -> Option<&mut Value> {
        match self {
            PhiSource::Value(value) => Some(value),
            _ => None,
        }
    }
}

impl Phi {
    /// The values that it reads.
    #[inline]
    pub fn values(&self) -> impl Iterator<Item = Value> + '_ {
        self.sources.iter().filter_map(|(_, source)| source.value())
    }

    /// The source on the edge from this predecessor.
    #[inline]
    pub fn source_from(&self, predecessor: BlockId) -> Option<PhiSource> {
        self.sources.iter().find(|(from, _)| *from == predecessor).map(|&(_, source)| source)
    }

    /// The values, to be replaced.
    #[inline]
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        self.sources.iter_mut().filter_map(|(_, source)| source.value_mut())
    }
}

impl From<Value> for PhiSource {
    fn from(value: Value) -> PhiSource {
        PhiSource::Value(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phi_fills_one_line_of_the_cache() {
        assert_eq!(size_of::<Phi>(), 64);
    }
}
