//! The facts about its module that a function may ask for.
//!
//! The resolver of one function records exactly the facts that it reads. No tree and no position of another unit may
//! enter.

use std::cell::{OnceCell, RefCell};

use oriole_ptx::table::Chips;
use oriole_ptx::{Space, Type};
use rustc_hash::FxHashMap;

use crate::{Header, Linkage, Signature};

/// A yes-or-no question about a module's header. A query that asks such a question, and not for the header, stays valid
/// when a header changes and the answers do not.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum HeaderQuestion {
    /// Whether the version is at least this one.
    Version((u8, u8)),
    /// Whether the target of the module has the feature.
    Chips(Chips),
    /// Whether textures and samplers are bound separately.
    IndependentTextures,
    /// Whether the module is a debug build.
    Debug,
    /// Whether no loop is to be unrolled.
    NoUnroll,
    /// Whether an SM of the target holds `blocks` blocks of `threads` threads at a time.
    Holds { blocks: u32, threads: u32 },
    /// Whether the parameters of kernels begin this many bytes after a multiple of [`PARAMETER_ALIGNMENT`].
    ParametersBehind(u32),
}

/// The largest alignment of a parameter that has an effect.
pub(crate) const PARAMETER_ALIGNMENT: u32 = 128;

impl HeaderQuestion {
    /// The answer for a header.
    pub fn answer(self, header: &Header) -> bool {
        match self {
            HeaderQuestion::Version(version) => header.has_version(version),
            HeaderQuestion::Chips(chips) => header.has_chips(chips),
            HeaderQuestion::IndependentTextures => {
                header.options.iter().any(|option| option == "texmode_independent")
            }
            HeaderQuestion::Debug => header.debug,
            HeaderQuestion::NoUnroll => header.nounroll,
            HeaderQuestion::Holds { blocks, threads } => {
                let limits = header.chip().and_then(oriole_chip::Chip::limits);
                // Nothing is known of an unknown chip.
                limits.is_none_or(|limits| limits.holds(blocks, threads))
            }
            HeaderQuestion::ParametersBehind(bytes) => {
                let bank = header.chip().and_then(oriole_chip::Chip::constant_bank);
                bank.map_or(0, |bank| bank.parameters) % PARAMETER_ALIGNMENT == bytes
            }
        }
    }
}

impl std::fmt::Display for HeaderQuestion {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            HeaderQuestion::Version((major, minor)) => write!(out, "version {major}.{minor}"),
            HeaderQuestion::Chips(chips) => write!(out, "target {}", chips.describe()),
            HeaderQuestion::IndependentTextures => out.write_str("independent textures"),
            HeaderQuestion::Debug => out.write_str("for debuggers"),
            HeaderQuestion::NoUnroll => out.write_str("loops stay"),
            HeaderQuestion::Holds { blocks, threads } => {
                write!(out, "{blocks} blocks of {threads} threads in an SM")
            }
            HeaderQuestion::ParametersBehind(bytes) => {
                write!(out, "parameters {bytes} bytes behind a multiple of {PARAMETER_ALIGNMENT}")
            }
        }
    }
}

/// Facts of the module, asked one at a time.
pub trait ModuleContext {
    /// The module's header, for messages about it.
    fn header(&self) -> Header;
    /// A question about the header.
    fn answer(&self, question: HeaderQuestion) -> bool {
        question.answer(&self.header())
    }
    /// Bits of an address.
    fn address_bits(&self) -> u8 {
        self.header().address_bits()
    }
    /// The module-level variable of this name.
    fn global(&self, name: &str) -> Option<GlobalInfo>;
    /// The function or kernel of this name, declared or defined, aliases included.
    fn signature(&self, name: &str) -> Option<SignatureInfo>;
}

/// A module-level variable, as its users see it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct GlobalInfo {
    /// State space.
    pub space: Space,
    /// Element type.
    pub ty: Type,
    /// Elements of a vector type; 1 for a scalar.
    pub vector: u8,
    /// Size in bytes; 0 for `.extern` arrays of no given length.
    pub size: u64,
    /// Alignment in bytes.
    pub align: u32,
    /// Linkage word.
    pub linkage: Option<Linkage>,
}

/// A function or kernel, as its users see it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SignatureInfo {
    /// True for `.entry`.
    pub is_entry: bool,
    /// Parameters and results.
    pub signature: Signature,
    /// True if the module only declares it.
    pub external: bool,
}

/// A header alone, for callers that need nothing else.
impl ModuleContext for Header {
    fn header(&self) -> Header {
        self.clone()
    }

    fn global(&self, _name: &str) -> Option<GlobalInfo> {
        None
    }

    fn signature(&self, _name: &str) -> Option<SignatureInfo> {
        None
    }
}

/// The header as one function sees it: each question is asked once.
pub(crate) struct HeaderView<'a> {
    context: &'a dyn ModuleContext,
    known: RefCell<FxHashMap<HeaderQuestion, bool>>,
    bits: OnceCell<u8>,
}

impl<'a> HeaderView<'a> {
    pub fn new(context: &'a dyn ModuleContext) -> HeaderView<'a> {
        HeaderView { context, known: RefCell::default(), bits: OnceCell::new() }
    }

    fn answer(&self, question: HeaderQuestion) -> bool {
        let known = self.known.borrow().get(&question).copied();
        known.unwrap_or_else(|| {
            let answer = self.context.answer(question);
            self.known.borrow_mut().insert(question, answer);
            answer
        })
    }

    /// Whether the version is at least this one.
    pub fn has_version(&self, version: (u8, u8)) -> bool {
        self.answer(HeaderQuestion::Version(version))
    }

    /// Whether the target of the module has the feature.
    pub fn has_chips(&self, chips: Chips) -> bool {
        self.answer(HeaderQuestion::Chips(chips))
    }

    /// Number of bytes after a multiple of their largest alignment at which the parameters of kernels begin.
    pub fn parameters_behind(&self) -> u32 {
        let mut starts = (0..PARAMETER_ALIGNMENT).step_by(16);
        starts.find(|&bytes| self.answer(HeaderQuestion::ParametersBehind(bytes))).unwrap_or(0)
    }

    /// Whether an SM of the target holds `blocks` blocks of `threads` threads at a time.
    pub fn holds(&self, blocks: u32, threads: u32) -> bool {
        self.answer(HeaderQuestion::Holds { blocks, threads })
    }

    /// Whether textures and samplers are bound separately.
    pub fn has_independent_textures(&self) -> bool {
        self.answer(HeaderQuestion::IndependentTextures)
    }

    /// Bits of an address.
    pub fn address_bits(&self) -> u8 {
        *self.bits.get_or_init(|| self.context.address_bits())
    }

    /// The whole header, for messages.
    pub fn whole(&self) -> Header {
        self.context.header()
    }
}
