//! Puts instructions into the order of a schedule.
//!
//! It is here because the schedulers before and after allocation both end with it. It does not interpret the
//! instructions that it moves.

/// Permutes a list; `order` names each index once.
pub fn arrange<T>(list: &mut Vec<T>, order: &[u32]) {
    let mut old: Vec<Option<T>> = std::mem::take(list).into_iter().map(Some).collect();
    list.reserve_exact(order.len());
    list.extend(order.iter().filter_map(|&node| old[node as usize].take()));
}
