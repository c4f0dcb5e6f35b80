//! Compressed sparse rows (CSR): a row of items for each id, all rows in one allocation.
//!
//! It is here because analyses have a list for each block or value: concatenated, they need no additional memory and
//! no sort.

use std::marker::PhantomData;

/// A row of items for each of the ids below some count.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Csr<I, T> {
    /// Start of the row of each id, and the end of the last one.
    starts: Vec<u32>,
    items: Vec<T>,
    id: PhantomData<fn(I)>,
}

impl<I: Copy + Into<usize>, T: Copy> Csr<I, T> {
    /// The rows of the ids below `count`. Items of one id stay in order.
    pub fn new(count: usize, pairs: &[(I, T)]) -> Csr<I, T> {
        let mut starts = vec![0u32; count + 1];
        pairs.iter().for_each(|&(id, _)| starts[id.into()] += 1);
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        // Each row is filled from its end, so that its place ends up at its start.
        let mut items: Vec<T> = pairs.iter().map(|&(_, item)| item).collect();
        for &(id, item) in pairs.iter().rev() {
            let place = &mut starts[id.into()];
            *place -= 1;
            items[*place as usize] = item;
        }
        Csr { starts, items, id: PhantomData }
    }

    /// Rows of the items that a visit yields. The visit runs twice: once to count, once to fill the rows, which start
    /// with `filler`.
    pub fn of_visits(count: usize, filler: T, visit: impl Fn(&mut dyn FnMut(I, T))) -> Csr<I, T> {
        let mut rows = Rows::new(count);
        visit(&mut |id, _| rows.count(id));
        let mut rows = rows.filler(filler);
        visit(&mut |id, item| rows.put(id, item));
        rows.finish()
    }

    /// These rows, of the ids from 0.
    pub fn of_rows<'a>(rows: impl ExactSizeIterator<Item = &'a [T]>) -> Csr<I, T>
    where
        T: 'a,
    {
        let mut starts = Vec::with_capacity(rows.len() + 1);
        let mut items = Vec::with_capacity(2 * rows.len());
        for row in rows {
            starts.push(items.len() as u32);
            items.extend_from_slice(row);
        }
        starts.push(items.len() as u32);
        Csr { starts, items, id: PhantomData }
    }

    /// The row of an id.
    #[inline]
    pub fn of(&self, id: I) -> &[T] {
        let at = id.into();
        &self.items[self.starts[at] as usize..self.starts[at + 1] as usize]
    }
}

/// Counts of the items of each id, before the rows are there.
pub struct Rows<I> {
    /// The count of each id, one place further.
    starts: Vec<u32>,
    id: PhantomData<fn(I)>,
}

impl<I: Copy + Into<usize>> Rows<I> {
    /// Nothing yet, for the ids below `count`.
    pub fn new(count: usize) -> Rows<I> {
        Rows { starts: vec![0; count + 1], id: PhantomData }
    }

    /// Counts an item.
    #[inline]
    pub fn count(&mut self, id: I) {
        self.starts[id.into() + 1] += 1;
    }

    /// Rows for the counted items, full of `filler`.
    pub fn filler<T: Copy>(mut self, filler: T) -> Filler<I, T> {
        for at in 1..self.starts.len() {
            self.starts[at] += self.starts[at - 1];
        }
        let items = vec![filler; self.starts[self.starts.len() - 1] as usize];
        Filler { next: self.starts.clone(), rows: Csr { starts: self.starts, items, id: PhantomData } }
    }
}

/// Rows that are being filled with as many items as were counted.
pub struct Filler<I, T> {
    /// The next free place of each id.
    next: Vec<u32>,
    rows: Csr<I, T>,
}

impl<I: Copy + Into<usize>, T: Copy> Filler<I, T> {
    /// Adds an item at the end of a row.
    #[inline]
    pub fn put(&mut self, id: I, item: T) {
        let place = &mut self.next[id.into()];
        self.rows.items[*place as usize] = item;
        *place += 1;
    }

    /// The rows.
    pub fn finish(self) -> Csr<I, T> {
        self.rows
    }
}
