//! Many short lists in one.
//!
//! It is here because analyses give a list for each block or value: one after the other they take no memory that is not
//! needed, and nothing has to be sorted to bring them together.

/// A list for each of some keys, counted from 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lists<T> {
    /// Where the list of each key begins, and where the last one ends.
    starts: Vec<u32>,
    items: Vec<T>,
}

impl<T: Copy> Lists<T> {
    /// The lists of so many keys. Items of one key stay in order.
    pub fn new(keys: usize, pairs: &[(u32, T)]) -> Lists<T> {
        let mut starts = vec![0u32; keys + 1];
        pairs.iter().for_each(|&(key, _)| starts[key as usize] += 1);
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        // Each list is filled from its end, so that its place ends up at its start.
        let mut items: Vec<T> = pairs.iter().map(|&(_, item)| item).collect();
        for &(key, item) in pairs.iter().rev() {
            let place = &mut starts[key as usize];
            *place -= 1;
            items[*place as usize] = item;
        }
        Lists { starts, items }
    }

    /// The list of a key.
    #[inline]
    pub fn of(&self, key: u32) -> &[T] {
        &self.items[self.starts[key as usize] as usize..self.starts[key as usize + 1] as usize]
    }
}
