//! ELF constants as this chip family uses them, and the little-endian byte buffer that sections are written with.
//! Nothing about kernels enters here.

pub(crate) const EI_OSABI_CUDA: u8 = 0x41;
/// The ABI of files up to format version 7.
pub(crate) const EI_OSABI_CUDA_V7: u8 = 0x33;
/// The flag of addresses of 64 bits in files of format version 7.
pub(crate) const EF_CUDA_V7_64_BIT: u32 = 0x500;
/// Position of the virtual architecture in their flags.
pub(crate) const EF_CUDA_V7_VIRTUAL_SHIFT: u32 = 16;
/// Position of the barrier count in the flags of a code section in such files, seven bits.
pub(crate) const SHF_CUDA_V7_BARRIERS_SHIFT: u32 = 20;
pub(crate) const ABI_VERSION: u8 = 8;
pub(crate) const ABI_VERSION_7: u8 = 7;
pub(crate) const EM_CUDA: u16 = 190;
pub(crate) const ET_REL: u16 = 1;
pub(crate) const ET_EXEC: u16 = 2;
/// A whole-program file that a linker completes.
pub(crate) const ET_CUDA_EXTENSIBLE: u16 = 0xff00;
/// The section of variables of which the linker keeps one definition.
pub(crate) const SHN_COMMON: u16 = 0xfff2;

pub(crate) const SHT_PROGBITS: u32 = 1;
pub(crate) const SHT_SYMTAB: u32 = 2;
pub(crate) const SHT_STRTAB: u32 = 3;
pub(crate) const SHT_RELA: u32 = 4;
pub(crate) const SHT_NOTE: u32 = 7;
pub(crate) const SHT_NOBITS: u32 = 8;
pub(crate) const SHT_REL: u32 = 9;
pub(crate) const SHT_CUDA_INFO: u32 = 0x7000_0000;
pub(crate) const SHT_CUDA_CALLGRAPH: u32 = 0x7000_0001;
pub(crate) const SHT_CUDA_PROTOTYPE: u32 = 0x7000_0002;
pub(crate) const SHT_CUDA_GLOBAL: u32 = 0x7000_0007;
pub(crate) const SHT_CUDA_GLOBAL_INIT: u32 = 0x7000_0008;
pub(crate) const SHT_CUDA_SHARED: u32 = 0x7000_000a;
pub(crate) const SHT_CUDA_RELOCATION_ACTION: u32 = 0x7000_000b;
pub(crate) const SHT_CUDA_RESERVED_SHARED: u32 = 0x7000_0015;
pub(crate) const SHT_CUDA_CONSTANT_0: u32 = 0x7000_0064;
pub(crate) const SHT_CUDA_CONSTANT_2: u32 = 0x7000_0066;
pub(crate) const SHT_CUDA_CONSTANT_3: u32 = 0x7000_0067;
pub(crate) const SHT_CUDA_COMPAT: u32 = 0x7000_0086;

pub(crate) const SHF_WRITE: u64 = 1;
pub(crate) const SHF_ALLOC: u64 = 2;
pub(crate) const SHF_EXECINSTR: u64 = 4;
pub(crate) const SHF_INFO_LINK: u64 = 0x40;
pub(crate) const SHF_NOTE_TOOLKIT: u64 = 0x0200_0000;
pub(crate) const SHF_NOTE_CUDA: u64 = 0x0100_0000;

pub(crate) const STT_NOTYPE: u8 = 0;
pub(crate) const STT_OBJECT: u8 = 1;
pub(crate) const STT_FUNC: u8 = 2;
pub(crate) const STT_SECTION: u8 = 3;
pub(crate) const STT_CUDA_TEXTURE: u8 = 10;
pub(crate) const STT_CUDA_SAMPLER: u8 = 11;
pub(crate) const STT_CUDA_SURFACE: u8 = 12;
/// A variable that a linker places.
pub(crate) const STT_CUDA_OBJECT: u8 = 13;
pub(crate) const STB_LOCAL: u8 = 0;
pub(crate) const STB_GLOBAL: u8 = 1;
pub(crate) const STB_WEAK: u8 = 2;
pub(crate) const STO_MANAGED: u8 = 0x04;
pub(crate) const STV_INTERNAL: u8 = 0x01;
pub(crate) const STO_ENTRY: u8 = 0x10;
pub(crate) const STO_GLOBAL: u8 = 0x20;
pub(crate) const STO_SHARED: u8 = 0x40;
pub(crate) const STO_CONSTANT: u8 = 0x80;
pub(crate) const STO_RESERVED_SHARED: u8 = 0xa0;

pub(crate) const PT_LOAD: u32 = 1;
pub(crate) const PT_PHDR: u32 = 6;
pub(crate) const PF_R: u32 = 4;
pub(crate) const PF_W: u32 = 2;
pub(crate) const PF_X: u32 = 1;

/// A growing little-endian byte buffer.
#[derive(Clone, Default, Debug)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl Bytes {
    pub(crate) fn u8(&mut self, value: u8) -> &mut Self {
        self.0.push(value);
        self
    }
    pub(crate) fn u16(&mut self, value: u16) -> &mut Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }
    pub(crate) fn u32(&mut self, value: u32) -> &mut Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }
    pub(crate) fn u64(&mut self, value: u64) -> &mut Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }
    pub(crate) fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }
    /// Pads with zero bytes to a multiple of `alignment`.
    pub(crate) fn align(&mut self, alignment: usize) -> &mut Self {
        self.0.resize(self.0.len().next_multiple_of(alignment), 0);
        self
    }
    /// Writes over bytes that are there.
    pub(crate) fn patch(&mut self, at: usize, bytes: &[u8]) {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
    }
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}
