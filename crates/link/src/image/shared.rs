//! Shared memory of a kernel: the place of each variable.
//!
//! It is for whole-program output, where a kernel's memory is its own; `debug_program` places what several kernels have. No code is
//! looked at but the symbols that it names.

use std::collections::{BTreeMap, BTreeSet};

use oriole_ori::{SHARED_UNIT, SymbolKind, shared_alignment};

use super::members::Member;
use crate::error::ImageError;
use crate::symbols::{DYNAMIC_ALIGNMENT, ModuleVariable, VariableSpace};

/// Variables of the module by name.
pub type Variables<'a> = BTreeMap<&'a str, &'a ModuleVariable>;

/// Where the variables in shared memory are.
#[derive(Default)]
pub struct SharedLayout {
    /// Offsets in the shared window: of module variables by name, of local ones by member and name.
    offsets: BTreeMap<(Option<usize>, String), u64>,
    /// Bytes of those whose size is known; `None` without any.
    pub static_size: Option<u32>,
    /// Alignment of the whole, in bytes.
    pub alignment: u32,
}

impl SharedLayout {
    /// Gives each variable that the members name or declare its place. Where a linker may add others, their alignment is the one that
    /// they are declared with.
    ///
    /// # Errors
    /// They need more than a block may have, or one does not exist.
    pub fn new(
        members: &[Member],
        variables: &Variables,
        limits: &oriole_chip::Limits,
        extensible: bool,
    ) -> Result<SharedLayout, ImageError> {
        // Variables of the module that the code names, and all local ones, which hide them.
        let mut wanted: Vec<((Option<usize>, String), u64, u64)> = Vec::new();
        let mut known: BTreeSet<(Option<usize>, String)> = BTreeSet::new();
        for (index, member) in members.iter().enumerate() {
            let own: BTreeMap<&str, &(String, u64, u64)> =
                member.function.shared.iter().rev().map(|own| (own.0.as_str(), own)).collect();
            for symbol in member.function.symbols.iter().filter(|symbol| symbol.kind == SymbolKind::Shared) {
                let local = own.get(symbol.name.as_str()).copied();
                let (key, size, align) = match local {
                    Some((name, size, align)) => ((Some(index), name.clone()), *size, *align),
                    None => {
                        let variable = variables
                            .get(symbol.name.as_str())
                            .filter(|variable| variable.space == VariableSpace::Shared)
                            .ok_or_else(|| ImageError::MissingVariable(symbol.name.clone()))?;
                        ((None, variable.name.clone()), variable.size, variable.align)
                    }
                };
                if known.insert(key.clone()) {
                    wanted.push((key, size, align));
                }
            }
        }
        // A launch gives memory to the variables of functions, whether the code names them or not.
        for (index, member) in members.iter().enumerate() {
            for (name, size, align) in member.function.shared.iter().filter(|(_, size, _)| *size > 0) {
                let key = (Some(index), name.clone());
                if known.insert(key.clone()) {
                    wanted.push((key, *size, *align));
                }
            }
        }
        let mut layout = SharedLayout { offsets: BTreeMap::new(), static_size: None, alignment: 1 };
        if wanted.is_empty() {
            return Ok(layout);
        }
        if !extensible {
            wanted.sort_by_key(|(_, size, _)| !size.is_multiple_of(SHARED_UNIT));
        }
        let reserved = u64::from(limits.static_shared_start);
        let mut end = 0u64;
        for (key, size, align) in wanted.iter().filter(|(_, size, _)| *size > 0) {
            let declared = (*align).max(1);
            // The window starts at whole units, whatever the section of the variables is aligned to.
            let align = if extensible { declared } else { shared_alignment(*size, declared) };
            layout.alignment = layout.alignment.max(declared as u32);
            end = end.next_multiple_of(align);
            layout.offsets.insert(key.clone(), reserved + end);
            end = end.saturating_add(*size);
        }
        // Dynamic arrays all start where the static part ends, which is rounded up so that the system puts the dynamic
        // part just there.
        let dynamic: Vec<_> = wanted.iter().filter(|(_, size, _)| *size == 0).collect();
        if let Some(align) = dynamic.iter().map(|(.., align)| (*align).max(DYNAMIC_ALIGNMENT)).max() {
            layout.alignment = layout.alignment.max(align as u32);
            end = end.next_multiple_of(align);
            for (key, ..) in dynamic {
                layout.offsets.insert(key.clone(), reserved + end);
            }
        }
        let limit = u64::from(limits.static_shared_per_block);
        if end > limit {
            return Err(ImageError::SharedTooLarge(end, limit));
        }
        layout.static_size = Some(end as u32);
        Ok(layout)
    }

    /// The place of a variable that a member names, in bytes from the start of the window.
    pub fn offset(&self, member: usize, name: &str) -> Option<u64> {
        let local = self.offsets.get(&(Some(member), name.to_owned()));
        local.or_else(|| self.offsets.get(&(None, name.to_owned()))).copied()
    }
}
