//! The frames of the functions for debuggers, from the rows that the module has of them.

use super::Writer;
use super::draft::RelocationDraft;
use crate::debug_frame::{self, AddressKind, Back, Frame};
use crate::elf::Bytes;
use crate::relocation::RelocationKind;

/// The first of the two registers in which functions with sections of their own have their return address.
const FUNCTION_RETURN: u8 = 20;

impl Writer<'_> {
    /// The frames of all functions and the address fields in them, as relocations.
    pub(super) fn frames(&self) -> (Vec<u8>, Vec<RelocationDraft>) {
        let mut out = Bytes::default();
        let mut relocations = Vec::new();
        for &index in &self.order {
            let kernel = &self.module.kernels[index];
            let own_size =
                kernel.functions.first().map_or(self.text_size(index), |first| u64::from(first.offset));
            let own = Frame {
                size: own_size,
                frame_size: kernel.frame_size,
                rows: &kernel.frame_rows,
                offset: 0,
                back: match kernel.is_kernel() {
                    true => Back::Nowhere,
                    false => Back::Address(kernel.return_register.unwrap_or(FUNCTION_RETURN)),
                },
            };
            let functions = kernel.functions.iter().enumerate().map(|(position, function)| Frame {
                size: self.inner_size(index, position),
                frame_size: function.frame_size,
                rows: &[],
                offset: u64::from(function.offset),
                back: function.return_register.map_or(Back::Nowhere, Back::Offset),
            });
            for frame in std::iter::once(own).chain(functions) {
                let relocatable = self.is_relocatable();
                let fields =
                    debug_frame::append(&mut out, &frame, &self.rules, self.module.callee_saved.as_ref())
                        .filter(|field| relocatable || field.what == AddressKind::Place);
                let own = self.kernel_symbols[index];
                relocations.extend(fields.map(|field| {
                    let (kind, symbol) = match field.what {
                        AddressKind::Place => (RelocationKind::Abs64, own),
                        AddressKind::Size => (RelocationKind::UnusedClear, own),
                        AddressKind::Common => (RelocationKind::Abs64, self.frame_symbol),
                    };
                    RelocationDraft { offset: field.at, kind, symbol, addend: field.addend as i64 }
                }));
            }
        }
        (out.0, relocations)
    }
}
