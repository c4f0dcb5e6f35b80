//! The record of accesses to memory: for each word its last accesses, and for each byte where threads access single
//! bytes.
//!
//! Pages are made where memory is accessed, and not beyond a bound. It is generic memory of a checker: which accesses
//! conflict is not known here.

use oriole_interp::{MemorySpace, MemoryUse};
use std::collections::HashMap;

/// Bytes of a word.
const WORD: u64 = 4;
/// Words of a page.
const PAGE: usize = 256;
/// Most pages: records of 32 MiB of memory. They take ten times as much, and more where many threads read each word.
const MOST_PAGES: usize = 1 << 15;

/// A word of memory.
#[derive(Clone)]
enum Word<T> {
    /// All its bytes were accessed together.
    Whole(T),
    /// Some were accessed alone.
    Bytes(Box<[T; WORD as usize]>),
}

impl<T: Default> Default for Word<T> {
    fn default() -> Word<T> {
        Word::Whole(T::default())
    }
}

type Page<T> = Box<[Word<T>]>;

/// Cells of memory.
pub struct Shadow<T> {
    global: HashMap<u64, Page<T>>,
    shared: HashMap<u32, Vec<Option<Page<T>>>>,
    pages: usize,
    /// A page was not made because there are too many.
    pub is_full: bool,
}

impl<T: Default + Clone> Shadow<T> {
    /// Nothing was accessed.
    pub fn new() -> Shadow<T> {
        Shadow { global: HashMap::new(), shared: HashMap::new(), pages: 0, is_full: false }
    }

    fn page(&mut self, used: &MemoryUse, number: u64) -> Option<&mut Page<T>> {
        let has_room = self.pages < MOST_PAGES;
        let made = || -> Page<T> { vec![Word::default(); PAGE].into() };
        if used.space == MemorySpace::Shared {
            let pages = self.shared.entry(used.owner).or_default();
            let number = usize::try_from(number).ok()?;
            if pages.len() <= number {
                pages.resize(number + 1, None);
            }
            let page = &mut pages[number];
            if page.is_none() && has_room {
                self.pages += 1;
                *page = Some(made());
            }
            self.is_full |= page.is_none();
            return page.as_mut();
        }
        if !self.global.contains_key(&number) {
            if !has_room {
                self.is_full = true;
                return None;
            }
            self.pages += 1;
            self.global.insert(number, made());
        }
        self.global.get_mut(&number)
    }

    /// Calls a function with each cell that an access touches, and the first byte of the cell. Accesses are within memory.
    pub fn touch(&mut self, used: &MemoryUse, mut visit: impl FnMut(u64, &mut T)) {
        let end = used.address + u64::from(used.bytes);
        let mut at = used.address;
        while at < end {
            let word = at / WORD;
            let next = ((word + 1) * WORD).min(end);
            if let Some(page) = self.page(used, word / PAGE as u64) {
                touch_word(&mut page[word as usize % PAGE], at, next, &mut visit);
            }
            at = next;
        }
    }

    /// The shared memory of a block is gone.
    pub fn forget(&mut self, block: u32) {
        if let Some(pages) = self.shared.remove(&block) {
            self.pages -= pages.iter().flatten().count();
        }
    }
}

/// Touches the bytes of a word from `start` to `end`.
fn touch_word<T: Clone>(word: &mut Word<T>, start: u64, end: u64, visit: &mut impl FnMut(u64, &mut T)) {
    if let Word::Whole(cell) = word {
        if end - start == WORD {
            visit(start, cell);
            return;
        }
        let cells: [T; WORD as usize] = std::array::from_fn(|_| cell.clone());
        *word = Word::Bytes(Box::new(cells));
    }
    if let Word::Bytes(cells) = word {
        for byte in start..end {
            visit(byte, &mut cells[(byte % WORD) as usize]);
        }
    }
}
