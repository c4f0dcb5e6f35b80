//! The attributes of `.nv.info` sections: their codes and names, and the type-length-value form in which they
//! (and the entries of `.nv.compat`) are stored. What a payload means for a kernel is the business of reader and
//! writer.

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

/// Codes that the writer emits or the reader interprets.
#[allow(dead_code)]
pub(crate) mod code {
    pub(crate) const CTAIDZ_USED: u8 = 0x04;
    pub(crate) const MAX_THREADS: u8 = 0x05;
    pub(crate) const PARAM_CBANK: u8 = 0x0a;
    pub(crate) const EXTERNS: u8 = 0x0f;
    pub(crate) const REQNTID: u8 = 0x10;
    pub(crate) const FRAME_SIZE: u8 = 0x11;
    pub(crate) const MIN_STACK_SIZE: u8 = 0x12;
    pub(crate) const BINDLESS_TEXTURE_BANK: u8 = 0x15;
    pub(crate) const BINDLESS_SURFACE_BANK: u8 = 0x16;
    pub(crate) const KPARAM_INFO: u8 = 0x17;
    pub(crate) const CBANK_PARAM_SIZE: u8 = 0x19;
    pub(crate) const MAXREG_COUNT: u8 = 0x1b;
    pub(crate) const EXIT_INSTR_OFFSETS: u8 = 0x1c;
    pub(crate) const S2RCTAID_INSTR_OFFSETS: u8 = 0x1d;
    pub(crate) const CRS_STACK_SIZE: u8 = 0x1e;
    pub(crate) const MAX_STACK_SIZE: u8 = 0x23;
    pub(crate) const LD_CACHEMOD_INSTR_OFFSETS: u8 = 0x25;
    pub(crate) const ATOM_SYS_INSTR_OFFSETS: u8 = 0x27;
    pub(crate) const COOP_GROUP_INSTR_OFFSETS: u8 = 0x28;
    pub(crate) const COOP_GROUP_MASK_REGIDS: u8 = 0x29;
    pub(crate) const WMMA_USED: u8 = 0x2b;
    pub(crate) const REGCOUNT: u8 = 0x2f;
    pub(crate) const INT_WARP_WIDE_INSTR_OFFSETS: u8 = 0x31;
    pub(crate) const SHARED_SCRATCH: u8 = 0x32;
    pub(crate) const INDIRECT_BRANCH_TARGETS: u8 = 0x34;
    pub(crate) const SW2861232_WAR: u8 = 0x35;
    pub(crate) const SW_WAR: u8 = 0x36;
    pub(crate) const CUDA_API_VERSION: u8 = 0x37;
    pub(crate) const NUM_MBARRIERS: u8 = 0x38;
    pub(crate) const MBARRIER_INSTR_OFFSETS: u8 = 0x39;
    pub(crate) const CTA_PER_CLUSTER: u8 = 0x3d;
    pub(crate) const EXPLICIT_CLUSTER: u8 = 0x3e;
    pub(crate) const MAX_CLUSTER_RANK: u8 = 0x3f;
    pub(crate) const INSTR_REG_MAP: u8 = 0x40;
    pub(crate) const RESERVED_SMEM_USED: u8 = 0x41;
    pub(crate) const KPARAM_INFO_V2: u8 = 0x45;
    pub(crate) const SYSCALL_OFFSETS: u8 = 0x46;
    pub(crate) const VRC_CTA_INIT_COUNT: u8 = 0x4a;
    pub(crate) const NUM_BARRIERS: u8 = 0x4c;
    pub(crate) const AT_ENTRY_FRAGMENTS: u8 = 0x4f;
    pub(crate) const SPARSE_MMA_MASK: u8 = 0x50;
    pub(crate) const TCGEN05_1CTA_USED: u8 = 0x51;
    pub(crate) const TCGEN05_2CTA_USED: u8 = 0x52;
    pub(crate) const GEN_ERRBAR_AT_EXIT: u8 = 0x53;
    pub(crate) const REG_RECONFIG: u8 = 0x54;
    pub(crate) const ANNOTATIONS: u8 = 0x55;
    pub(crate) const STACK_CANARY_TRAP_OFFSETS: u8 = 0x57;
    pub(crate) const MERCURY_FINALIZER_OPTIONS: u8 = 0x5a;
    pub(crate) const BLOCKS_ARE_CLUSTERS: u8 = 0x5b;
    pub(crate) const SANITIZE: u8 = 0x5c;
    pub(crate) const MERCURY_ISA_VERSION: u8 = 0x5f;
    pub(crate) const CLUSTER_LAUNCH_CONTROL_USED: u8 = 0x62;
}

/// Row: code, name after `EIATTR_`.
const NAMES: [(u8, &str); 56] = [
    (0x00, "ERROR"),
    (0x01, "PAD"),
    (0x02, "IMAGE_SLOT"),
    (0x03, "JUMPTABLE_RELOCS"),
    (0x04, "CTAIDZ_USED"),
    (0x05, "MAX_THREADS"),
    (0x0a, "PARAM_CBANK"),
    (0x0f, "EXTERNS"),
    (0x10, "REQNTID"),
    (0x11, "FRAME_SIZE"),
    (0x12, "MIN_STACK_SIZE"),
    (0x15, "BINDLESS_TEXTURE_BANK"),
    (0x16, "BINDLESS_SURFACE_BANK"),
    (0x17, "KPARAM_INFO"),
    (0x19, "CBANK_PARAM_SIZE"),
    (0x1b, "MAXREG_COUNT"),
    (0x1c, "EXIT_INSTR_OFFSETS"),
    (0x1d, "S2RCTAID_INSTR_OFFSETS"),
    (0x1e, "CRS_STACK_SIZE"),
    (0x23, "MAX_STACK_SIZE"),
    (0x25, "LD_CACHEMOD_INSTR_OFFSETS"),
    (0x27, "ATOM_SYS_INSTR_OFFSETS"),
    (0x28, "COOP_GROUP_INSTR_OFFSETS"),
    (0x29, "COOP_GROUP_MASK_REGIDS"),
    (0x2b, "WMMA_USED"),
    (0x2f, "REGCOUNT"),
    (0x31, "INT_WARP_WIDE_INSTR_OFFSETS"),
    (0x32, "SHARED_SCRATCH"),
    (0x34, "INDIRECT_BRANCH_TARGETS"),
    (0x35, "SW2861232_WAR"),
    (0x36, "SW_WAR"),
    (0x37, "CUDA_API_VERSION"),
    (0x38, "NUM_MBARRIERS"),
    (0x39, "MBARRIER_INSTR_OFFSETS"),
    (0x3d, "CTA_PER_CLUSTER"),
    (0x3e, "EXPLICIT_CLUSTER"),
    (0x3f, "MAX_CLUSTER_RANK"),
    (0x40, "INSTR_REG_MAP"),
    (0x41, "RESERVED_SMEM_USED"),
    (0x45, "KPARAM_INFO_V2"),
    (0x46, "SYSCALL_OFFSETS"),
    (0x4a, "VRC_CTA_INIT_COUNT"),
    (0x4c, "NUM_BARRIERS"),
    (0x4f, "AT_ENTRY_FRAGMENTS"),
    (0x50, "SPARSE_MMA_MASK"),
    (0x51, "TCGEN05_1CTA_USED"),
    (0x52, "TCGEN05_2CTA_USED"),
    (0x53, "GEN_ERRBAR_AT_EXIT"),
    (0x54, "REG_RECONFIG"),
    (0x55, "ANNOTATIONS"),
    (0x57, "STACK_CANARY_TRAP_OFFSETS"),
    (0x5a, "MERCURY_FINALIZER_OPTIONS"),
    (0x5b, "BLOCKS_ARE_CLUSTERS"),
    (0x5c, "SANITIZE"),
    (0x5f, "MERCURY_ISA_VERSION"),
    (0x62, "CLUSTER_LAUNCH_CONTROL_USED"),
];

impl Attribute {
    pub(crate) fn none(code: u8) -> Attribute {
        Attribute { code, payload: Payload::None }
    }

    pub(crate) fn byte(code: u8, value: u8) -> Attribute {
        Attribute { code, payload: Payload::Byte(value) }
    }

    pub(crate) fn half(code: u8, value: u16) -> Attribute {
        Attribute { code, payload: Payload::Half(value) }
    }

    pub(crate) fn words(code: u8, values: impl IntoIterator<Item = u32>) -> Attribute {
        let mut bytes = Bytes::default();
        for value in values {
            bytes.u32(value);
        }
        Attribute { code, payload: Payload::Sized(bytes.0) }
    }

    /// Name as NVIDIA's tools print it after `EIATTR_`; `None` for a code without a row.
    pub fn name(&self) -> Option<&'static str> {
        NAMES.iter().find(|row| row.0 == self.code).map(|row| row.1)
    }

    /// The payload as 32-bit words: sized bytes in groups of four (a rest is dropped), a half or byte widened.
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

/// Writes attributes one after the other. A sized payload longer than 65535 bytes is an error: the length field
/// has 16 bits.
pub(crate) fn encode(attributes: &[Attribute], out: &mut Bytes) -> Result<(), u8> {
    for attribute in attributes {
        let (format, half) = match &attribute.payload {
            Payload::None => (1, 0),
            Payload::Byte(value) => (2, u16::from(*value)),
            Payload::Half(value) => (3, *value),
            Payload::Sized(bytes) => (4, u16::try_from(bytes.len()).map_err(|_| attribute.code)?),
        };
        out.u8(format).u8(attribute.code).u16(half);
        if let Payload::Sized(bytes) = &attribute.payload {
            out.raw(bytes);
        }
    }
    Ok(())
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
