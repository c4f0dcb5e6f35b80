//! Functions out of texts of instructions, and what the linker makes of them as text.

use oriole_chip::Chip;
use oriole_cubin::{CodeKind, KernelImage, SymbolRef};
use oriole_emit::{LinkedFunction, encode_function};
use oriole_link::{ImageError, ModuleSymbols, image};
use oriole_ori::{Fixup, MachineBlock, MachineFunction, MachineInstruction, Origin, SymbolKind};
use oriole_pipeline::Target;
use oriole_sass::{InstructionWord, Style, decode, form, parse, text};

pub const CHIP: Chip = Chip::SM_90A;

pub fn target() -> Target {
    Target::new(CHIP).expect("a chip with tables")
}

/// A symbol of a function.
pub fn symbol(kind: SymbolKind, name: &str) -> oriole_ori::SymbolRef {
    oriole_ori::SymbolRef { name: name.to_owned(), kind, align: 1 }
}

/// A function of one block. Each line has its fix-up, if it has one.
pub fn function(lines: &[(&str, Option<Fixup>)], symbols: &[oriole_ori::SymbolRef]) -> LinkedFunction {
    let forms = form::table(CHIP).expect("forms");
    let instruction = |&(line, fixup): &(&str, Option<Fixup>)| {
        let parsed = parse(CHIP, line, Some(0)).unwrap_or_else(|error| panic!("{line}: {error}"));
        let plain = MachineInstruction::new(forms, parsed, Origin(0)).expect("what was parsed has a form");
        MachineInstruction { fixup, ..plain }
    };
    let block =
        MachineBlock { instructions: lines.iter().map(instruction).collect(), ..MachineBlock::default() };
    let machine = MachineFunction { blocks: [block].into_iter().collect(), ..MachineFunction::default() };
    LinkedFunction {
        encoded: encode_function(CHIP, &machine).expect("every instruction has a form"),
        symbols: symbols.iter().cloned().collect(),
        ..LinkedFunction::default()
    }
}

/// The image of the function `k`: a kernel of a whole program, or a section for a linker if the function is separate.
pub fn image_of(
    functions: &[(&str, &LinkedFunction)],
    symbols: &ModuleSymbols,
) -> Result<KernelImage, ImageError> {
    let find = |name: &str| functions.iter().find(|(known, _)| *known == name).map(|(_, found)| *found);
    let target = target();
    match find("k").is_some_and(|own| own.is_separate) {
        true => image::section_image(&target, ("k", CodeKind::Kernel), symbols, &find),
        false => image::kernel_image(&target, "k", symbols, &find),
    }
}

/// A word of code in the spelling of the disassembler.
pub fn word(word: InstructionWord, index: usize) -> String {
    let instruction = decode(CHIP, word).expect("what was encoded decodes");
    text(CHIP, &instruction, Some(16 * index as u64), Style::Plain).expect("and prints")
}

/// The fix-ups of an image that are left to the linker or the loader, one line each.
pub fn left_open(image: &KernelImage) -> Vec<String> {
    let line = |it: &oriole_cubin::TextRelocation| {
        let target = match it.target {
            SymbolRef::Named(name) => format!("`{}`", image.names[name]),
            other => format!("{other:?}"),
        };
        format!("{:?} {target} + {}", it.kind, it.addend)
    };
    image.relocations.iter().map(line).collect()
}
