//! References of a module, by index or name, as numbers of symbols of the file.

use super::Writer;
use super::error::WriteError;
use crate::image::*;
use oriole_chip::texture::OpaqueKind;

impl Writer<'_> {
    pub(super) fn resolve(&self, target: SymbolRef, place: &str) -> Result<u32, WriteError> {
        let (list, index) = match target {
            SymbolRef::Kernel(index) => (&self.kernel_symbols, index),
            SymbolRef::Global(index) => (&self.global_symbols, index),
            SymbolRef::Constant(index) => (&self.constant_symbols, index),
            SymbolRef::Extern(index) => (&self.extern_symbols, index),
            SymbolRef::Undefined(index) => (&self.undefined_symbols, index),
            SymbolRef::DescriptorSize(table) => (&self.size_symbols, table as usize),
            SymbolRef::ConstantSize => (&self.constant_size_symbol, 0),
            SymbolRef::Named(_)
            | SymbolRef::Own
            | SymbolRef::OwnShared(_)
            | SymbolRef::OwnParameter(_)
            | SymbolRef::OwnConstants
            | SymbolRef::FunctionTable => {
                return Err(WriteError::BadReference { place: place.to_string() });
            }
        };
        list.get(index).copied().ok_or_else(|| WriteError::BadReference { place: place.to_string() })
    }

    /// The kind and symbol of an object with a header; for a kernel parameter, of that kernel.
    pub(super) fn header(&self, kernel: usize, header: Header) -> Option<(OpaqueKind, u32)> {
        match header {
            Header::Module(index) => Some((self.module.opaque.get(index)?.kind, self.opaque_symbols[index])),
            Header::Parameter(number) => {
                let mut named = self.module.kernels[kernel].opaque_parameters.iter();
                let at = named.position(|parameter| parameter.number == number)?;
                Some((self.parameter_kind(kernel, number)?, *self.opaque_parameter_symbols[kernel].get(at)?))
            }
        }
    }

    /// The opaque type of a parameter that has one.
    pub(super) fn parameter_kind(&self, kernel: usize, number: usize) -> Option<OpaqueKind> {
        match self.module.kernels[kernel].parameters.get(number)?.space {
            ParameterSpace::Opaque(kind) => Some(kind),
            _ => None,
        }
    }

    pub(super) fn resolve_in(&self, code: usize, target: SymbolRef, place: &str) -> Result<u32, WriteError> {
        let found = match target {
            SymbolRef::Named(index) => {
                let name = self.module.kernels[code].names.get(index);
                name.and_then(|name| self.symbols_by_name.get(name.as_str())).copied()
            }
            SymbolRef::Own => Some(self.kernel_symbols[code]),
            SymbolRef::OwnShared(index) => self.own_shared_symbols[code].get(index).copied(),
            SymbolRef::OwnParameter(number) => {
                self.header(code, Header::Parameter(number)).map(|(_, symbol)| symbol)
            }
            SymbolRef::OwnConstants => Some(self.constant2_symbols[code]),
            SymbolRef::FunctionTable => Some(self.table_symbol),
            target => return self.resolve(target, place),
        };
        found.ok_or_else(|| WriteError::BadReference { place: place.to_string() })
    }
}
