//! Canonical form: unreachable blocks dropped, blocks in RPO, values numbered by first occurrence, values, symbols
//! and tables that occur nowhere dropped.
//!
//! It is here because every group of phases ends with it: two functions that differ only in numbering become equal
//! values with equal text.

use crate::{BlockId, ConstBase, Function, SourceKind, SymbolId, SymbolKind, Table, Value, ValueData};
use typed_index_collections::{TiVec, ti_vec};

/// Brings a function into canonical form.
pub fn canonicalize(function: &mut Function) {
    order_blocks(function);
    number_values(function);
    drop_unused_names(function);
}

/// Drops unreachable blocks and sorts the others in RPO. Phi sources of dropped predecessors are removed.
pub fn order_blocks(function: &mut Function) {
    let graph = function.graph();
    let cfg = graph.cfg();
    if cfg.order().len() == function.blocks.len() && cfg.order().is_sorted() {
        // Block numbers do not change.
        for phi in function.blocks.iter_mut().flat_map(|block| &mut block.phis) {
            phi.sources.sort_by_key(|(predecessor, _)| *predecessor);
        }
        return;
    }
    arrange_blocks(function, cfg.order());
}

/// Reorders the blocks. `order` lists all reachable blocks, the entry first; the others are dropped.
pub fn arrange_blocks(function: &mut Function, order: &[BlockId]) {
    let mut new_id: TiVec<BlockId, Option<BlockId>> = ti_vec![None; function.blocks.len()];
    for (place, &block) in order.iter().enumerate() {
        new_id[block] = Some(BlockId::from(place));
    }
    let mut old = std::mem::take(&mut function.blocks);
    for &id in order {
        let mut block = std::mem::take(&mut old[id]);
        let renamed = |id: &mut BlockId| *id = new_id[*id].expect("a successor of a reachable block");
        block.successors.iter_mut().for_each(renamed);
        for phi in &mut block.phis {
            phi.sources.retain_mut(|(predecessor, _)| match new_id[*predecessor] {
                Some(new) => {
                    *predecessor = new;
                    true
                }
                None => false,
            });
            phi.sources.sort_by_key(|(predecessor, _)| *predecessor);
        }
        for instruction in &mut block.instructions {
            for source in &mut instruction.sources {
                if let SourceKind::Block(target) = &mut source.kind
                    && let Some(new) = new_id[*target]
                {
                    *target = new;
                }
            }
        }
        function.blocks.push(block);
    }
    for table in &mut function.tables {
        if let Table::Targets(blocks) = table {
            // An unreachable target is never jumped to; the entry replaces it, so that the table keeps its length.
            blocks.iter_mut().for_each(|block| *block = new_id[*block].unwrap_or(BlockId(0)));
        }
    }
}

/// Numbers values densely in order of first occurrence and drops those that do not occur.
pub fn number_values(function: &mut Function) {
    let mut new_number: TiVec<Value, Option<Value>> = ti_vec![None; function.values.len()];
    let old = std::mem::take(&mut function.values);
    let mut data: TiVec<Value, ValueData> = TiVec::with_capacity(old.len());
    function.for_each_occurrence_mut(|value| {
        let number = new_number[*value].get_or_insert_with(|| data.push_and_get_key(old[*value]));
        *value = *number;
    });
    function.values = data;
}

fn drop_unused_names(function: &mut Function) {
    if function.symbols.is_empty() && function.tables.is_empty() {
        return;
    }
    let mut symbol_used: TiVec<SymbolId, bool> = ti_vec![false; function.symbols.len()];
    let mut table_used = vec![false; function.tables.len()];
    for_each_name(function, &mut |name| match name {
        NameRef::Symbol(id) => symbol_used[*id] = true,
        NameRef::Table(table) => table_used[*table as usize] = true,
    });
    // Local variables keep their frame indices, so the symbols that name them stay.
    for (id, symbol) in function.symbols.iter_enumerated() {
        symbol_used[id] |= matches!(symbol.kind, SymbolKind::Local(_));
    }
    if symbol_used.iter().all(|&used| used) && table_used.iter().all(|&used| used) {
        return;
    }
    let symbol_number = dense(&symbol_used.raw);
    let table_number = dense(&table_used);
    for_each_name(function, &mut |name| match name {
        NameRef::Symbol(id) => id.0 = symbol_number[usize::from(*id)],
        NameRef::Table(table) => *table = table_number[*table as usize],
    });
    let mut used = symbol_used.into_iter();
    function.symbols.retain(|_| used.next() == Some(true));
    let mut used = table_used.into_iter();
    function.tables.retain(|_| used.next() == Some(true));
}

fn dense(used: &[bool]) -> Vec<u32> {
    let mut next = 0;
    used.iter()
        .map(|&used| {
            let number = next;
            next += u32::from(used);
            number
        })
        .collect()
}

enum NameRef<'a> {
    Symbol(&'a mut SymbolId),
    Table(&'a mut u32),
}

fn for_each_name(function: &mut Function, visit: &mut dyn FnMut(NameRef<'_>)) {
    for block in &mut function.blocks {
        for instruction in &mut block.instructions {
            for source in &mut instruction.sources {
                visit_source(&mut source.kind, visit);
            }
            if let Some(call) = &mut instruction.call
                && let Some(callee) = &mut call.callee
            {
                visit(NameRef::Symbol(callee));
            }
        }
    }
}

fn visit_source(kind: &mut SourceKind, visit: &mut dyn FnMut(NameRef<'_>)) {
    if let Some(base) = kind.const_base_mut() {
        return match base {
            ConstBase::Variable(symbol) | ConstBase::AddressSlot(symbol) | ConstBase::HeaderSlot(symbol) => {
                visit(NameRef::Symbol(symbol));
            }
            ConstBase::Table(table) => visit(NameRef::Table(table)),
            ConstBase::Bank => {}
        };
    }
    match kind {
        SourceKind::Address32 { symbol, .. } => visit(NameRef::Symbol(symbol)),
        SourceKind::Address(address) => {
            if let Some(symbol) = &mut address.symbol {
                visit(NameRef::Symbol(symbol));
            }
        }
        _ => {}
    }
}
