//! Drafts before layout: sections, symbols, relocations, and string tables.

use crate::elf::Bytes;
use crate::relocation::RelocationKind;
use hashbrown::HashTable;
use oriole_chip::WordShape;
use oriole_sass::{InstructionWord, append_words};
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;

/// A name in parts, which are concatenated on output.
#[derive(Clone, Copy)]
pub(super) struct Name<'a>(pub(super) [&'a str; 3]);

impl<'a> Name<'a> {
    /// The name of something of a kernel.
    pub(super) fn of(prefix: &'a str, kernel: &'a str) -> Name<'a> {
        Name([prefix, kernel, ""])
    }

    /// The name with more before it.
    pub(super) fn after(self, prefix: &'a str) -> Name<'a> {
        Name([prefix, self.0[0], self.0[1]])
    }
}

impl<'a> From<&'a str> for Name<'a> {
    fn from(name: &'a str) -> Name<'a> {
        Name::of("", name)
    }
}

pub(super) struct SectionDraft<'a> {
    pub(super) name: Name<'a>,
    pub(super) kind: u32,
    pub(super) flags: u64,
    /// Link and info name sections by index into the draft list, or hold plain integers.
    pub(super) link: Link,
    pub(super) info: Link,
    pub(super) alignment: u64,
    pub(super) entry_size: u64,
    pub(super) data: Content<'a>,
    /// Bytes in memory of a section without bytes in the file.
    pub(super) memory_size: u64,
}

/// The bytes of a section.
pub(super) enum Content<'a> {
    Bytes(Vec<u8>),
    Borrowed(&'a [u8]),
    /// This many zero bytes.
    Zeros(usize),
    /// Instruction words, followed by one self branch and this many words of padding.
    Code {
        shape: WordShape,
        words: &'a [InstructionWord],
        self_branch: InstructionWord,
        padding: (InstructionWord, usize),
    },
}

impl Content<'_> {
    pub(super) fn len(&self) -> usize {
        match self {
            Content::Bytes(bytes) => bytes.len(),
            Content::Borrowed(bytes) => bytes.len(),
            Content::Zeros(count) => *count,
            Content::Code { shape, words, padding, .. } => shape.bytes() * (words.len() + 1 + padding.1),
        }
    }

    pub(super) fn append_to(&self, file: &mut Bytes) {
        match self {
            Content::Bytes(bytes) => file.0.extend_from_slice(bytes),
            Content::Borrowed(bytes) => file.0.extend_from_slice(bytes),
            Content::Zeros(count) => file.0.resize(file.len() + count, 0),
            Content::Code { shape, words, self_branch, padding: (padding, count) } => {
                let behind = std::iter::once(self_branch).chain(std::iter::repeat_n(padding, *count));
                append_words(*shape, words.iter().chain(behind), &mut file.0);
            }
        }
    }
}

impl From<Vec<u8>> for Content<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        Content::Bytes(bytes)
    }
}

#[derive(Clone, Copy)]
pub(super) enum Link {
    Number(u32),
    /// Draft section by key.
    Section(Key),
}

/// Identity of a drafted section; the variant order does not matter, the drafting order does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Names,
    Strings,
    Symbols,
    DebugFrame,
    Debug(usize),
    ToolkitNote,
    CudaNote,
    Info,
    Compat,
    KernelInfo,
    Callgraph,
    Prototype,
    RelocationAction,
    Relocations,
    Constant4,
    Constant3,
    Constant2(usize),
    Text(usize),
    GlobalInit,
    Shared(usize),
    ReservedShared,
    LinkedShared,
    Global,
    /// No section: variables that several files may have.
    Common,
    Constant0(usize),
}

impl Key {
    /// An index for each section that others refer to: the per-code ones come after the others.
    pub(super) fn number(self) -> usize {
        const OF_MODULE: usize = 20;
        const OF_EACH: usize = 5;
        match self {
            Key::Names => 0,
            Key::Strings => 1,
            Key::Symbols => 2,
            Key::DebugFrame => 3,
            Key::ToolkitNote => 4,
            Key::CudaNote => 5,
            Key::Info => 6,
            Key::Compat => 7,
            Key::KernelInfo => 8,
            Key::Callgraph => 9,
            Key::RelocationAction => 10,
            Key::Relocations => 11,
            Key::Constant4 => 12,
            Key::Constant3 => 13,
            Key::GlobalInit => 14,
            Key::ReservedShared => 15,
            Key::Global => 16,
            Key::Prototype => 17,
            Key::LinkedShared => 18,
            Key::Common => 19,
            Key::Constant2(kernel) => OF_MODULE + OF_EACH * kernel,
            Key::Text(kernel) => OF_MODULE + OF_EACH * kernel + 1,
            Key::Shared(kernel) => OF_MODULE + OF_EACH * kernel + 2,
            Key::Constant0(kernel) => OF_MODULE + OF_EACH * kernel + 3,
            Key::Debug(index) => OF_MODULE + OF_EACH * index + 4,
        }
    }
}

pub(super) struct SymbolDraft<'a> {
    pub(super) name: Name<'a>,
    pub(super) kind: u8,
    pub(super) binding: u8,
    pub(super) other: u8,
    pub(super) section: Option<Key>,
    pub(super) value: u64,
    pub(super) size: u64,
}

pub(super) struct RelocationDraft {
    pub(super) offset: u64,
    pub(super) kind: RelocationKind,
    pub(super) symbol: u32,
    pub(super) addend: i64,
}

/// A string table without duplicates.
pub(super) struct Strings {
    pub(super) bytes: Vec<u8>,
    /// Start offset of each string.
    pub(super) starts: HashTable<u32>,
}

impl Strings {
    /// A table that begins with the empty string, with room for `count` others.
    pub(super) fn new(count: usize) -> Strings {
        Strings { bytes: vec![0], starts: HashTable::with_capacity(count) }
    }

    pub(super) fn add(&mut self, name: Name<'_>) -> u32 {
        if name.0.iter().all(|part| part.is_empty()) {
            return 0;
        }
        let at = self.bytes.len();
        name.0.iter().for_each(|part| self.bytes.extend_from_slice(part.as_bytes()));
        self.bytes.push(0);
        // With the zero at its end no string is the start of another one.
        let (before, own) = self.bytes.split_at(at);
        let hash = |bytes: &[u8]| FxBuildHasher.hash_one(bytes);
        if let Some(&known) = self.starts.find(hash(own), |&known| before[known as usize..].starts_with(own))
        {
            self.bytes.truncate(at);
            return known;
        }
        let rest = |at: u32| {
            let rest = &before[at as usize..];
            let length = rest.iter().position(|&byte| byte == 0).map_or(rest.len(), |end| end + 1);
            hash(&rest[..length])
        };
        self.starts.insert_unique(hash(own), at as u32, |&at| rest(at));
        at as u32
    }
}
