//! Where the variables of a module are, without their values.
//!
//! It is apart from the images of kernels, which read single entries, so that a new variable lays out no kernel again. Initial values
//! and places in a file must not enter.

use std::collections::BTreeMap;

use oriole_cubin::layout::pack;
use oriole_hir::{GlobalInfo, Linkage};
use oriole_ptx::Space;

use crate::symbols::{ModuleSymbols, ModuleVariable, VariableSpace};

/// Where the variables of a module are.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Layout {
    /// The variables in file order, and what else the code of the module may name.
    pub symbols: ModuleSymbols,
    /// Their places in that list, by name.
    by_name: BTreeMap<String, usize>,
}

impl Layout {
    /// Lays out variables in their order; `externs` are the functions of the driver that the module calls.
    pub fn new<'a>(
        variables: impl IntoIterator<Item = (&'a str, &'a GlobalInfo)>,
        externs: Vec<String>,
    ) -> Layout {
        let mut symbols = ModuleSymbols { externs, ..ModuleSymbols::default() };
        let mut constants = Vec::new();
        for (name, info) in variables {
            if info.ty.is_opaque() {
                // It is in no memory.
                symbols.opaque.push(name.to_owned());
                continue;
            }
            let defined = info.linkage != Some(Linkage::Extern);
            let space = match info.space {
                Space::Shared => VariableSpace::Shared,
                Space::Constant if defined => {
                    constants.push((info.size, u64::from(info.align)));
                    VariableSpace::Constant(0)
                }
                Space::Global if defined => {
                    symbols.globals += 1;
                    VariableSpace::Global(symbols.globals - 1)
                }
                _ => continue,
            };
            let (size, align) = (info.size, u64::from(info.align));
            symbols.variables.push(ModuleVariable { name: name.to_owned(), space, size, align });
        }
        let (offsets, constant_bytes, _) = pack(&constants);
        symbols.constant_bytes = constant_bytes;
        let mut offsets = offsets.into_iter();
        for variable in &mut symbols.variables {
            if let VariableSpace::Constant(offset) = &mut variable.space {
                *offset = offsets.next().unwrap_or(0);
            }
        }
        // The first of a name counts.
        let names = symbols.variables.iter().enumerate().rev();
        let by_name = names.map(|(at, variable)| (variable.name.clone(), at)).collect();
        Layout { symbols, by_name }
    }

    /// The entry of one variable.
    pub fn placed(&self, name: &str) -> Option<&ModuleVariable> {
        self.by_name.get(name).and_then(|&at| self.symbols.variables.get(at))
    }
}
