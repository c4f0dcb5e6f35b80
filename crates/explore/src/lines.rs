//! The line table of a cubin as places of code.
//!
//! It is here so that a listing names sources without knowing DWARF. Only the places are read.

use std::collections::BTreeMap;

use oriole_cubin::read::{Cubin, Relocation};

/// A line table that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the line table cannot be read: {0}")]
pub struct LinesError(Box<dyn std::error::Error + Send + Sync>);

/// The places in the source at which code of kernels begins, by address.
#[derive(Clone, Default, Debug)]
pub struct SourceLines(Vec<BTreeMap<u64, String>>);

impl SourceLines {
    /// Reads the line table of a cubin; no places if it has none.
    ///
    /// # Errors
    /// The table cannot be read.
    pub fn of(cubin: &Cubin) -> Result<SourceLines, LinesError> {
        let mut places = SourceLines(vec![BTreeMap::new(); cubin.codes().count()]);
        let Some(table) = cubin.section(".debug_line") else { return Ok(places) };
        let start = |relocation: &Relocation| {
            let symbol = cubin.symbols.get(relocation.symbol)?;
            let kernel = cubin.codes().position(|kernel| kernel.text == symbol.section)?;
            Some((relocation.offset, kernel, symbol.value.wrapping_add_signed(relocation.addend)))
        };
        let starts: Vec<_> = table.relocations.iter().filter_map(start).collect();
        let rows = oriole_debug_info::read_line_table(&table.data, &starts)
            .map_err(|error| LinesError(error.into()))?;
        for row in rows {
            if let Some(kernel) = places.0.get_mut(row.code) {
                kernel.insert(row.address, format!("{}:{}", row.file, row.line));
            }
        }
        Ok(places)
    }

    /// Those of a kernel or function, by its number in the order of the cubin.
    pub fn of_kernel(&self, index: usize) -> &BTreeMap<u64, String> {
        static NONE: BTreeMap<u64, String> = BTreeMap::new();
        self.0.get(index).unwrap_or(&NONE)
    }
}
