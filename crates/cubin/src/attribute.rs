//! The attributes of `.nv.info` sections: their codes and names, and the type-length-value encoding of them (and of
//! the entries of `.nv.compat`). Reader and writer interpret the payloads.

use crate::elf::Bytes;

/// One attribute.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Attribute {
    /// Code.
    pub code: u8,
    /// Value.
    pub payload: Payload,
}

/// The value of an attribute, in one of the four stored formats.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Payload {
    /// No value.
    None,
    /// A byte.
    Byte(u8),
    /// Two bytes.
    Half(u16),
    /// Any number of bytes.
    Sized(Vec<u8>),
}

/// One row is one attribute: its name, as NVIDIA's tools print it after `EIATTR_`, and its code.
macro_rules! attributes {
    ($($name:ident = $code:literal,)*) => {
        /// The codes of attributes, each under its name.
        #[allow(missing_docs, reason = "the names are all that is known of most")]
        pub mod code {
            $(pub const $name: u8 = $code;)*
        }

        const NAMES: &[(u8, &str)] = &[$(($code, stringify!($name)),)*];
    };
}

attributes! {
    ERROR = 0x00,
    PAD = 0x01,
    IMAGE_SLOT = 0x02,
    JUMPTABLE_RELOCS = 0x03,
    CTAIDZ_USED = 0x04,
    MAX_THREADS = 0x05,
    PARAM_CBANK = 0x0a,
    EXTERNS = 0x0f,
    REQNTID = 0x10,
    FRAME_SIZE = 0x11,
    MIN_STACK_SIZE = 0x12,
    BINDLESS_TEXTURE_BANK = 0x15,
    BINDLESS_SURFACE_BANK = 0x16,
    KPARAM_INFO = 0x17,
    CBANK_PARAM_SIZE = 0x19,
    MAXREG_COUNT = 0x1b,
    EXIT_INSTR_OFFSETS = 0x1c,
    S2RCTAID_INSTR_OFFSETS = 0x1d,
    CRS_STACK_SIZE = 0x1e,
    MAX_STACK_SIZE = 0x23,
    LD_CACHEMOD_INSTR_OFFSETS = 0x25,
    ATOM_SYS_INSTR_OFFSETS = 0x27,
    COOP_GROUP_INSTR_OFFSETS = 0x28,
    COOP_GROUP_MASK_REGIDS = 0x29,
    WMMA_USED = 0x2b,
    REGCOUNT = 0x2f,
    INT_WARP_WIDE_INSTR_OFFSETS = 0x31,
    SHARED_SCRATCH = 0x32,
    INDIRECT_BRANCH_TARGETS = 0x34,
    SW2861232_WAR = 0x35,
    SW_WAR = 0x36,
    CUDA_API_VERSION = 0x37,
    NUM_MBARRIERS = 0x38,
    MBARRIER_INSTR_OFFSETS = 0x39,
    CTA_PER_CLUSTER = 0x3d,
    EXPLICIT_CLUSTER = 0x3e,
    MAX_CLUSTER_RANK = 0x3f,
    INSTR_REG_MAP = 0x40,
    RESERVED_SMEM_USED = 0x41,
    KPARAM_INFO_V2 = 0x45,
    SYSCALL_OFFSETS = 0x46,
    VRC_CTA_INIT_COUNT = 0x4a,
    NUM_BARRIERS = 0x4c,
    AT_ENTRY_FRAGMENTS = 0x4f,
    SPARSE_MMA_MASK = 0x50,
    TCGEN05_1CTA_USED = 0x51,
    TCGEN05_2CTA_USED = 0x52,
    GEN_ERRBAR_AT_EXIT = 0x53,
    REG_RECONFIG = 0x54,
    ANNOTATIONS = 0x55,
    STACK_CANARY_TRAP_OFFSETS = 0x57,
    MERCURY_FINALIZER_OPTIONS = 0x5a,
    BLOCKS_ARE_CLUSTERS = 0x5b,
    SANITIZE = 0x5c,
    MERCURY_ISA_VERSION = 0x5f,
    CLUSTER_LAUNCH_CONTROL_USED = 0x62,
}

impl Attribute {
    /// Name as NVIDIA's tools print it after `EIATTR_`; `None` for a code without a row.
    pub fn name(&self) -> Option<&'static str> {
        NAMES.iter().find(|row| row.0 == self.code).map(|row| row.1)
    }

    /// The payload as 32-bit words: sized bytes in groups of four (a remainder is dropped), a 16-bit value or byte
    /// widened.
    pub fn to_words(&self) -> Vec<u32> {
        match &self.payload {
            Payload::None => Vec::new(),
            Payload::Byte(value) => vec![u32::from(*value)],
            Payload::Half(value) => vec![u32::from(*value)],
            Payload::Sized(bytes) => bytes
                .chunks_exact(4)
                .map(|chunk| u32::from_le_bytes([chunk[0], chunk[1], chunk[2], chunk[3]]))
                .collect(),
        }
    }
}

/// Attributes as they are stored, concatenated.
#[derive(Default)]
pub(crate) struct Attributes {
    bytes: Bytes,
    /// The first attribute whose payload is too long for its 16-bit length field.
    too_long: Option<u8>,
}

impl Attributes {
    /// The most words of one attribute.
    pub(crate) const MOST_WORDS: usize = u16::MAX as usize / 4;

    pub(crate) fn none(&mut self, code: u8) {
        self.head(1, code, 0);
    }

    pub(crate) fn byte(&mut self, code: u8, value: u8) {
        self.head(2, code, u16::from(value));
    }

    pub(crate) fn half(&mut self, code: u8, value: u16) {
        self.head(3, code, value);
    }

    pub(crate) fn words(&mut self, code: u8, values: impl IntoIterator<Item = u32>) {
        let at = self.bytes.len();
        self.head(4, code, 0);
        for value in values {
            self.bytes.u32(value);
        }
        match u16::try_from(self.bytes.len() - at - 4) {
            Ok(length) => self.bytes.patch(at + 2, &length.to_le_bytes()),
            Err(_) => self.too_long = self.too_long.or(Some(code)),
        }
    }

    fn head(&mut self, format: u8, code: u8, half: u16) {
        self.bytes.u8(format).u8(code).u16(half);
    }

    /// The bytes, or the code of an attribute that is too long.
    pub(crate) fn finish(self) -> Result<Vec<u8>, u8> {
        self.too_long.map_or(Ok(self.bytes.0), Err)
    }
}

/// Reads attributes until the bytes end. `Err` is the offset at which the form is broken.
pub(crate) fn decode(bytes: &[u8]) -> Result<Vec<Attribute>, usize> {
    let mut attributes = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let head = bytes.get(at..at + 4).ok_or(at)?;
        let half = u16::from_le_bytes([head[2], head[3]]);
        let (payload, extra) = match head[0] {
            1 => (Payload::None, 0),
            2 => (Payload::Byte(head[2]), 0),
            3 => (Payload::Half(half), 0),
            4 => {
                let size = usize::from(half);
                (Payload::Sized(bytes.get(at + 4..at + 4 + size).ok_or(at)?.to_vec()), size)
            }
            _ => return Err(at),
        };
        attributes.push(Attribute { code: head[1], payload });
        at += 4 + extra;
    }
    Ok(attributes)
}
