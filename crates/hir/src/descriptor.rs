//! Descriptors of matrices in shared memory and instruction descriptors of MMAs: their fields, as far as the bits are
//! known.
//!
//! The program builds a descriptor by shifts and adds, and a wrong field shows in wrong results only. The formats are
//! those of the PTX ISA ("Matrix Descriptor Format" of `wgmma`, "Shared memory descriptor" of `tcgen05`).

mod product;

use oriole_diagnostics::{Code, Diagnostic};
use oriole_ptx::{Opcode, Word};

use crate::flow::Flow;
use crate::known_bits::{KnownBits, known_bits};
use crate::{Body, Immediate, Instruction, Operand, RegisterId, SourceMap};
pub use product::ProductKind;

/// The instructions that read a descriptor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum DescriptorFormat {
    /// An MMA of a warp group (`wgmma`).
    WarpGroup,
    /// MMAs and copies of tensor memory (`tcgen05`).
    TensorMemory,
    /// The instruction descriptor of an MMA in tensor memory.
    Product(ProductKind),
}

/// An operand of an instruction that is a descriptor, and its known bits there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Descriptor {
    /// Ordinal of the instruction.
    pub instruction: u32,
    /// Index of the operand, from 0.
    pub operand: u8,
    /// The register; `None` for a constant.
    pub register: Option<RegisterId>,
    /// The format.
    pub format: DescriptorFormat,
    /// Its bits.
    pub bits: KnownBits,
}

/// The meaning of a field's value.
enum Meaning {
    /// Units of sixteen bytes.
    Bytes,
    /// The value itself.
    Number,
    /// The value times this factor.
    Times(u64),
    /// One of these names; an empty name is invalid.
    Names(&'static [&'static str]),
}

/// A field: name, lowest bit, width.
type Field = (&'static str, u32, u32, Meaning);

const START: Field = ("start address", 0, 14, Meaning::Bytes);
const LEADING: Field = ("leading byte offset", 16, 14, Meaning::Bytes);
const STRIDE: Field = ("stride byte offset", 32, 14, Meaning::Bytes);
const BASE: Field = ("base offset", 49, 3, Meaning::Number);

static OF_WARP_GROUPS: [Field; 5] = [
    START,
    LEADING,
    STRIDE,
    BASE,
    ("swizzle", 62, 2, Meaning::Names(&["none", "128 bytes", "64 bytes", "32 bytes"])),
];
static OF_TENSOR_MEMORY: [Field; 6] = [
    START,
    LEADING,
    STRIDE,
    BASE,
    ("leading dimension", 52, 1, Meaning::Names(&["an offset in bytes", "an absolute address"])),
    ("swizzle", 61, 3, Meaning::Names(&WIDE_SWIZZLES)),
];
const WIDE_SWIZZLES: [&str; 8] =
    ["none", "128 bytes, in atoms of 32 bytes", "128 bytes", "", "64 bytes", "", "32 bytes", ""];

/// Bits that are the same in every descriptor: lowest bit, width, value.
type Fixed = (u32, u32, u64);

impl DescriptorFormat {
    fn fields(self) -> &'static [Field] {
        match self {
            DescriptorFormat::WarpGroup => &OF_WARP_GROUPS,
            DescriptorFormat::TensorMemory => &OF_TENSOR_MEMORY,
            DescriptorFormat::Product(kind) => kind.fields(),
        }
    }

    /// The name for messages.
    pub fn name(self) -> &'static str {
        match self {
            DescriptorFormat::WarpGroup | DescriptorFormat::TensorMemory => "a matrix descriptor",
            DescriptorFormat::Product(_) => "an instruction descriptor",
        }
    }

    fn fixed(self) -> &'static [Fixed] {
        match self {
            DescriptorFormat::WarpGroup => &[(14, 2, 0), (30, 2, 0), (46, 3, 0), (52, 10, 0)],
            DescriptorFormat::TensorMemory => &[(14, 2, 0), (30, 2, 0), (46, 3, 1), (53, 8, 0)],
            DescriptorFormat::Product(kind) => kind.fixed(),
        }
    }
}

/// Sixteen bytes are the unit of addresses and distances.
const UNIT_BITS: u32 = 4;

impl Descriptor {
    /// The fields with their values, as text.
    pub fn fields(&self) -> Vec<(&'static str, String)> {
        let told = |(name, first, width, meaning): &Field| (*name, self.told(*first, *width, meaning));
        self.format.fields().iter().map(told).collect()
    }

    fn told(&self, first: u32, width: u32, meaning: &Meaning) -> String {
        let Some(value) = self.bits.field(first, width) else {
            // The address of an array is not known, but its alignment is.
            let zeros = (1..=width).take_while(|&count| self.bits.field(first, count) == Some(0)).last();
            return match (meaning, zeros) {
                (Meaning::Bytes, Some(zeros)) => {
                    format!("not known, a multiple of {} bytes", 1u64 << (zeros + UNIT_BITS))
                }
                _ => "not known".to_owned(),
            };
        };
        match meaning {
            Meaning::Bytes => format!("`{:#x}` ({} bytes)", value << UNIT_BITS, value << UNIT_BITS),
            Meaning::Number => format!("`{value}`"),
            Meaning::Times(unit) => format!("`{}`", value * unit),
            Meaning::Names(names) => match names.get(value as usize) {
                Some(name) if !name.is_empty() => (*name).to_owned(),
                _ => format!("`{value}` (undefined)"),
            },
        }
    }

    /// The reason why no descriptor has these bits.
    pub fn fault(&self) -> Option<String> {
        let names = |&(name, first, width, ref meaning): &Field| match meaning {
            Meaning::Names(names) => {
                let value = self.bits.field(first, width)?;
                let named = names.get(value as usize).is_some_and(|name| !name.is_empty());
                (!named).then(|| format!("its {name} is {value}, which is undefined"))
            }
            _ => None,
        };
        let fixed = |&(first, width, wanted): &Fixed| {
            let wrong =
                self.bits.known & (self.bits.value ^ wanted << first) & (((1u64 << width) - 1) << first);
            let last = first + width - 1;
            (wrong != 0).then(|| match wanted {
                0 => {
                    format!(
                        "bit {} is set, but no field covers bits {first} to {last}",
                        wrong.trailing_zeros()
                    )
                }
                _ => format!("bits {first} to {last} are not {wanted}"),
            })
        };
        self.format.fields().iter().find_map(names).or_else(|| self.format.fixed().iter().find_map(fixed))
    }

    /// The warning where there is a fault.
    pub(crate) fn warning(&self, map: &SourceMap) -> Option<Diagnostic> {
        let fault = self.fault()?;
        let span = map.instructions.get(self.instruction as usize).copied()?;
        let name = self.register.and_then(|register| map.registers.get(register));
        let name = name.map_or("the constant".to_owned(), |(name, _)| format!("`{name}`"));
        Some(Diagnostic::new(
            Code::ImpossibleDescriptor,
            span,
            match self.format {
                DescriptorFormat::Product(_) => format!("{name} describes no matrix multiply: {fault}"),
                _ => format!("{name} is not a valid matrix descriptor: {fault}"),
            },
        ))
    }
}

/// The operands of an instruction that are descriptors.
fn operands(i: &Instruction) -> Vec<(DescriptorFormat, u8)> {
    let has = |word| i.modifiers.has(word);
    let group = DescriptorFormat::WarpGroup;
    let tensor = DescriptorFormat::TensorMemory;
    match i.opcode {
        Opcode::Wgmma if has(Word::MmaAsync) => vec![(group, 1), (group, 2)],
        Opcode::Tcgen05 if has(Word::Mma) => {
            // After the metadata of a sparse factor.
            let place = if has(Word::Sp) { 4 } else { 3 };
            let product = ProductKind::of(&i.modifiers).map(DescriptorFormat::Product);
            [(tensor, 1), (tensor, 2)].into_iter().chain(product.map(|product| (product, place))).collect()
        }
        Opcode::Tcgen05 if has(Word::Cp) => vec![(tensor, 1)],
        _ => Vec::new(),
    }
}

/// Every descriptor of a body, in order.
pub(crate) fn descriptors(body: &Body, flow: &Flow<'_>) -> Vec<Descriptor> {
    let mut found: Vec<Descriptor> = Vec::new();
    for (at, i) in flow.instructions.iter().enumerate() {
        for (format, operand) in operands(i) {
            let (register, bits) = match i.operands.get(usize::from(operand)) {
                Some(&Operand::Register(register)) => (Some(register), KnownBits::UNKNOWN),
                Some(Operand::Immediate(Immediate::Integer(value))) => {
                    (None, KnownBits::constant(*value as u64))
                }
                _ => continue,
            };
            found.push(Descriptor { instruction: at as u32, operand, register, format, bits });
        }
    }
    let wanted: Vec<(u32, RegisterId)> =
        found.iter().filter_map(|one| Some((one.instruction, one.register?))).collect();
    if !wanted.is_empty() {
        known_bits(body, flow, &wanted, |instruction, register, bits| {
            let first = found.partition_point(|one| one.instruction < instruction);
            let places = found[first..].iter_mut().take_while(|one| one.instruction == instruction);
            places.filter(|one| one.register == Some(register)).for_each(|one| one.bits = bits);
        });
    }
    found
}
