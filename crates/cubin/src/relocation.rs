//! The relocations of cubins of this era: number, name, and the bits of the instruction word (or of the data) that
//! they patch. One row for each.

use oriole_sass::InstructionWord;

/// Kind of a relocation, by its number in the file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[repr(u32)]
pub enum RelocationKind {
    /// 32 bits of data: an address.
    Data32 = 1,
    /// 64 bits of data: the address in its own space.
    Abs64 = 2,
    /// 64 bits of data: the generic address.
    Generic64 = 4,
    /// 32 bits of data: the index of a texture's header.
    TextureIndex = 6,
    /// 32 bits of data: the index of a sampler's header.
    SamplerIndex = 7,
    /// 64 bits of data: the descriptor by which a kernel is launched.
    Descriptor64 = 35,
    /// 32 bits of data: the index of a surface's header.
    SurfaceIndex = 52,
    /// Instruction bits 32..64: a 32-bit address.
    Abs32 = 55,
    /// Instruction bits 32..64: the low half.
    Abs32Lo = 56,
    /// Instruction bits 32..64: the high half.
    Abs32Hi = 57,
    /// Branch target: the address in units of 4 at 34..81.
    Branch = 58,
    /// Instruction bits 32..48: an offset in constant memory.
    Abs16 = 59,
    /// Instruction bits 32..64: the low half of a kernel's launch descriptor.
    DescriptorLo = 62,
    /// The high half of it.
    DescriptorHi = 63,
    /// Constant-bank field of an operand: offset in units of 4 at 40..54, bank at 54..59.
    ConstOperand = 64,
    /// Constant-bank field: byte offset at 38..54, bank at 54..59.
    ConstField = 66,
    /// 64 bits of data: the size of a function, which is dropped with the function if that is unused.
    UnusedClear = 73,
    /// Instruction bits 40..64: a shared-memory offset.
    Abs24 = 74,
    /// Split branch target: low byte of the address in units of 4 at 16..24, the rest at 34..81.
    BranchAbs = 75,
    /// 8 bits of data: byte 0 of the address in its own space.
    Byte0 = 76,
    /// 8 bits of data: byte 1 of the address in its own space.
    Byte1 = 77,
    /// 8 bits of data: byte 2 of the address in its own space.
    Byte2 = 78,
    /// 8 bits of data: byte 3 of the address in its own space.
    Byte3 = 79,
    /// 8 bits of data: byte 4 of the address in its own space.
    Byte4 = 80,
    /// 8 bits of data: byte 5 of the address in its own space.
    Byte5 = 81,
    /// 8 bits of data: byte 6 of the address in its own space.
    Byte6 = 82,
    /// 8 bits of data: byte 7 of the address in its own space.
    Byte7 = 83,
    /// 8 bits of data: byte 0 of the generic address.
    GenericByte0 = 84,
    /// 8 bits of data: byte 1 of the generic address.
    GenericByte1 = 85,
    /// 8 bits of data: byte 2 of the generic address.
    GenericByte2 = 86,
    /// 8 bits of data: byte 3 of the generic address.
    GenericByte3 = 87,
    /// 8 bits of data: byte 4 of the generic address.
    GenericByte4 = 88,
    /// 8 bits of data: byte 5 of the generic address.
    GenericByte5 = 89,
    /// 8 bits of data: byte 6 of the generic address.
    GenericByte6 = 90,
    /// 8 bits of data: byte 7 of the generic address.
    GenericByte7 = 91,
    /// Instruction bits 44..64: a shared-memory offset, of a copy that has two addresses.
    Abs20 = 100,
    /// 32 bits of data: the index of a sampler's header, in a slot of its own.
    SamplerIndexAlone = 101,
    /// 64 bits of data: the address of a function for everybody, in the table of functions if there is one.
    Unified = 102,
    /// 8 bits of data: byte 0 of the address of a function for everybody.
    UnifiedByte0 = 104,
    /// 8 bits of data: byte 1 of the address of a function for everybody.
    UnifiedByte1 = 105,
    /// 8 bits of data: byte 2 of the address of a function for everybody.
    UnifiedByte2 = 106,
    /// 8 bits of data: byte 3 of the address of a function for everybody.
    UnifiedByte3 = 107,
    /// 8 bits of data: byte 4 of the address of a function for everybody.
    UnifiedByte4 = 108,
    /// 8 bits of data: byte 5 of the address of a function for everybody.
    UnifiedByte5 = 109,
    /// 8 bits of data: byte 6 of the address of a function for everybody.
    UnifiedByte6 = 110,
    /// 8 bits of data: byte 7 of the address of a function for everybody.
    UnifiedByte7 = 111,
    /// The low half of [`RelocationKind::Unified`], in instruction bits 32..64.
    UnifiedLo = 112,
    /// The high half of [`RelocationKind::Unified`].
    UnifiedHi = 113,
    /// Like [`RelocationKind::BranchAbs`] with one bit more: the offset added to a call target.
    CallOffset = 114,
    /// Constant-bank field of a load into uniform registers: byte offset at 37..54, bank at 54..59.
    ConstUniform = 115,
}

/// Row: kind, name as NVIDIA's tools print it.
const ROWS: [(RelocationKind, &str); 50] = [
    (RelocationKind::Data32, "R_CUDA_32"),
    (RelocationKind::Abs64, "R_CUDA_64"),
    (RelocationKind::Generic64, "R_CUDA_G64"),
    (RelocationKind::TextureIndex, "R_CUDA_TEX_HEADER_INDEX"),
    (RelocationKind::SamplerIndex, "R_CUDA_SAMP_HEADER_INDEX"),
    (RelocationKind::SamplerIndexAlone, "R_CUDA_SAMP_HEADER_INDEX_0"),
    (RelocationKind::Descriptor64, "R_CUDA_FUNC_DESC_64"),
    (RelocationKind::SurfaceIndex, "R_CUDA_SURF_HEADER_INDEX"),
    (RelocationKind::Abs32, "R_CUDA_ABS32_32"),
    (RelocationKind::Abs32Lo, "R_CUDA_ABS32_LO_32"),
    (RelocationKind::Abs32Hi, "R_CUDA_ABS32_HI_32"),
    (RelocationKind::Branch, "R_CUDA_ABS47_34"),
    (RelocationKind::Abs16, "R_CUDA_ABS16_32"),
    (RelocationKind::DescriptorLo, "R_CUDA_FUNC_DESC32_LO_32"),
    (RelocationKind::DescriptorHi, "R_CUDA_FUNC_DESC32_HI_32"),
    (RelocationKind::ConstOperand, "R_CUDA_CONST_FIELD19_40"),
    (RelocationKind::ConstField, "R_CUDA_CONST_FIELD21_38"),
    (RelocationKind::UnusedClear, "R_CUDA_UNUSED_CLEAR64"),
    (RelocationKind::Abs24, "R_CUDA_ABS24_40"),
    (RelocationKind::Abs20, "R_CUDA_ABS20_44"),
    (RelocationKind::BranchAbs, "R_CUDA_ABS55_16_34"),
    (RelocationKind::Byte0, "R_CUDA_8_0"),
    (RelocationKind::Byte1, "R_CUDA_8_8"),
    (RelocationKind::Byte2, "R_CUDA_8_16"),
    (RelocationKind::Byte3, "R_CUDA_8_24"),
    (RelocationKind::Byte4, "R_CUDA_8_32"),
    (RelocationKind::Byte5, "R_CUDA_8_40"),
    (RelocationKind::Byte6, "R_CUDA_8_48"),
    (RelocationKind::Byte7, "R_CUDA_8_56"),
    (RelocationKind::GenericByte0, "R_CUDA_G8_0"),
    (RelocationKind::GenericByte1, "R_CUDA_G8_8"),
    (RelocationKind::GenericByte2, "R_CUDA_G8_16"),
    (RelocationKind::GenericByte3, "R_CUDA_G8_24"),
    (RelocationKind::GenericByte4, "R_CUDA_G8_32"),
    (RelocationKind::GenericByte5, "R_CUDA_G8_40"),
    (RelocationKind::GenericByte6, "R_CUDA_G8_48"),
    (RelocationKind::GenericByte7, "R_CUDA_G8_56"),
    (RelocationKind::UnifiedByte0, "R_CUDA_UNIFIED_8_0"),
    (RelocationKind::UnifiedByte1, "R_CUDA_UNIFIED_8_8"),
    (RelocationKind::UnifiedByte2, "R_CUDA_UNIFIED_8_16"),
    (RelocationKind::UnifiedByte3, "R_CUDA_UNIFIED_8_24"),
    (RelocationKind::UnifiedByte4, "R_CUDA_UNIFIED_8_32"),
    (RelocationKind::UnifiedByte5, "R_CUDA_UNIFIED_8_40"),
    (RelocationKind::UnifiedByte6, "R_CUDA_UNIFIED_8_48"),
    (RelocationKind::UnifiedByte7, "R_CUDA_UNIFIED_8_56"),
    (RelocationKind::Unified, "R_CUDA_UNIFIED"),
    (RelocationKind::UnifiedLo, "R_CUDA_UNIFIED32_LO_32"),
    (RelocationKind::UnifiedHi, "R_CUDA_UNIFIED32_HI_32"),
    (RelocationKind::CallOffset, "R_CUDA_ABS56_16_34"),
    (RelocationKind::ConstUniform, "R_CUDA_CONST_FIELD22_37"),
];

impl RelocationKind {
    /// The number in the file.
    pub fn number(self) -> u32 {
        self as u32
    }

    /// The kind with this number, if it is one of the known rows.
    pub fn from_number(number: u32) -> Option<RelocationKind> {
        ROWS.iter().map(|row| row.0).find(|kind| kind.number() == number)
    }

    /// The name that NVIDIA's tools print.
    pub fn name(self) -> &'static str {
        ROWS.iter().find(|row| row.0 == self).map_or("", |row| row.1)
    }

    /// The kind that patches byte `number` of the 8 bytes that this kind patches, if there is one.
    pub fn of_byte(self, number: u8) -> Option<RelocationKind> {
        let first = match self {
            RelocationKind::Abs64 => RelocationKind::Byte0,
            RelocationKind::Generic64 => RelocationKind::GenericByte0,
            RelocationKind::Unified => RelocationKind::UnifiedByte0,
            _ => return None,
        };
        (number < 8).then(|| RelocationKind::from_number(first.number() + u32::from(number)))?
    }

    /// For a kind that patches one byte of an address: the kind that patches all of it, and the index of the byte.
    pub fn byte_of(self) -> Option<(RelocationKind, u8)> {
        use RelocationKind::{Abs64, Generic64, Unified};
        [Abs64, Generic64, Unified].into_iter().find_map(|whole| {
            let number = self.number().checked_sub(whole.of_byte(0)?.number())?;
            (number < 8).then_some((whole, number as u8))
        })
    }

    /// True if it patches the upper half of an address.
    pub fn is_high_half(self) -> bool {
        matches!(self, RelocationKind::Abs32Hi | RelocationKind::DescriptorHi | RelocationKind::UnifiedHi)
    }

    /// True if it patches the lower half of the address of a function or kernel.
    pub fn is_low_half(self) -> bool {
        matches!(self, RelocationKind::Abs32Lo | RelocationKind::DescriptorLo | RelocationKind::UnifiedLo)
    }

    /// True if it patches a half of a kernel's launch descriptor.
    pub fn is_descriptor(self) -> bool {
        matches!(self, RelocationKind::DescriptorLo | RelocationKind::DescriptorHi)
    }

    /// The word of an empty field without its constant bank: the symbol of a constant has the bank, and linkers add
    /// it.
    pub fn without_bank(self, word: InstructionWord) -> InstructionWord {
        const BANK: InstructionWord = 0x1f << 54;
        match self {
            RelocationKind::ConstOperand | RelocationKind::ConstField | RelocationKind::ConstUniform => {
                word & !BANK
            }
            _ => word,
        }
    }

    /// The word with the bank index, where the operand names one.
    pub fn with_bank(self, word: InstructionWord, bank: u8) -> InstructionWord {
        match self {
            RelocationKind::ConstOperand | RelocationKind::ConstField | RelocationKind::ConstUniform => {
                self.without_bank(word) | InstructionWord::from(bank) << 54
            }
            _ => word,
        }
    }

    /// The instruction word with the resolved value written into the field; data relocations leave it alone.
    pub fn patch(self, word: InstructionWord, value: u64) -> InstructionWord {
        let field = |word: InstructionWord, low: u32, width: u32, value: u64| {
            let mask = ((1 << width) - 1) << low;
            (word & !mask) | ((InstructionWord::from(value) << low) & mask)
        };
        match self {
            RelocationKind::Abs32
            | RelocationKind::Abs32Lo
            | RelocationKind::DescriptorLo
            | RelocationKind::UnifiedLo => field(word, 32, 32, value),
            RelocationKind::Abs32Hi | RelocationKind::DescriptorHi | RelocationKind::UnifiedHi => {
                field(word, 32, 32, value >> 32)
            }
            RelocationKind::Branch => field(word, 34, 47, value >> 2),
            RelocationKind::Abs16 => field(word, 32, 16, value),
            RelocationKind::ConstOperand => field(word, 40, 14, value >> 2),
            RelocationKind::ConstField => field(word, 38, 16, value),
            RelocationKind::ConstUniform => field(word, 37, 17, value),
            RelocationKind::Abs24 => field(word, 40, 24, value),
            RelocationKind::Abs20 => field(word, 44, 20, value),
            RelocationKind::BranchAbs => {
                let units = value >> 2;
                field(field(word, 16, 8, units), 34, 47, units >> 8)
            }
            RelocationKind::CallOffset => {
                let units = value >> 2;
                field(field(word, 16, 8, units), 34, 48, units >> 8)
            }
            // All others patch data.
            _ => word,
        }
    }
}
