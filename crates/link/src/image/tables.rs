//! Constant bank 2 of a kernel: jump tables, literals and the table of functions.
//!
//! The places of members are known before; no operand that reads a table is completed here.

use std::collections::BTreeMap;

use oriole_chip::WordShape;
use oriole_ori::Table;

use super::members::Member;
use crate::error::ImageError;
use crate::symbols::{BANK, FUNCTION_ENTRY, ModuleSymbols};

/// Constant bank 2: the tables of all members one after the other, but that of functions once; each table's offset by
/// member.
pub fn tables(
    shape: WordShape,
    members: &[Member],
    symbols: &ModuleSymbols,
) -> Result<(Vec<u8>, Vec<Vec<u32>>), ImageError> {
    let mut bytes = Vec::new();
    let mut offsets = Vec::new();
    let mut functions = None;
    for member in members {
        let mut own = Vec::new();
        for table in &member.function.tables {
            if let (Table::Functions, Some(known)) = (table, functions) {
                own.push(known);
                continue;
            }
            bytes.resize(bytes.len().next_multiple_of(8), 0);
            let start = bytes.len() as u32;
            own.push(start);
            match table {
                Table::Targets(blocks) => {
                    for block in blocks {
                        let start = member.function.encoded.block_starts.get(*block).copied().unwrap_or(0);
                        bytes.extend_from_slice(&(member.base + shape.address(start)).to_le_bytes());
                    }
                }
                Table::Words(words) => {
                    words.iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()))
                }
                Table::Functions => {
                    functions = Some(start);
                    let bases: BTreeMap<&str, u32> =
                        members.iter().map(|member| (member.name.as_str(), member.base)).collect();
                    bytes.extend_from_slice(&[0; FUNCTION_ENTRY]);
                    for name in &symbols.functions {
                        let base = bases
                            .get(name.as_str())
                            .ok_or_else(|| ImageError::MissingFunction(name.clone()))?;
                        bytes.extend_from_slice(&u64::from(*base).to_le_bytes());
                    }
                }
            }
        }
        offsets.push(own);
    }
    let size = bytes.len() as u64;
    if size > BANK { Err(ImageError::TablesTooLarge(size)) } else { Ok((bytes, offsets)) }
}
