//! The constant banks of a launch: bank 0 as the driver fills it, bank 2 of the kernel, banks 3 and 4 of the module
//! with their addresses resolved.

use crate::descriptors::{self, DESCRIPTOR_BYTES};
use crate::launch::{Fault, Launch};
use crate::memory::{CONSTANT_WINDOW, Global, LOCAL_WINDOW, PARAMETER_WINDOW, SHARED_WINDOW};
use oriole_chip::texture::DescriptorTable;
use oriole_chip::{ConstantBank, ParameterWindow, WordShape};
use oriole_cubin::read::{Kernel, Section, Symbol};
use oriole_cubin::{Cubin, RelocationKind};
use oriole_machine_model::texture::Opaque;
use std::collections::BTreeMap;

/// Bytes of a constant bank.
pub(crate) const BANK_BYTES: u32 = 0x10000;

/// Maximum size of the global variables of a file, in bytes.
const MOST_VARIABLES: u64 = 1 << 32;

/// The address of code. Both halves are nonzero, so that an offset from its start is not mistaken for an address.
pub(crate) const CODE_BASE: u64 = 0x0b00_4000_0000;

/// The addresses of functions that the file does not define, those of the driver: each has a place of its own, by the
/// index of its symbol.
const EXTERN_FUNCTIONS: u64 = 0x7fff_0000_0000;
/// Distance between two of them in bytes.
const EXTERN_BYTES: u64 = 16;

/// The symbol index of the undefined function at an address, if there can be one.
pub(crate) fn extern_function(address: u64) -> Option<u64> {
    let offset = address.checked_sub(EXTERN_FUNCTIONS)?;
    (offset % EXTERN_BYTES == 0).then_some(offset / EXTERN_BYTES)
}

/// The banks by index; absent ones are empty.
pub(crate) struct Banks(pub [Vec<u8>; 5]);

impl Banks {
    /// The bytes of an access.
    pub(crate) fn slice(&self, bank: u8, offset: i64, size: u32) -> Result<&[u8], Fault> {
        let out = Fault::OutOfBounds { space: "constant", address: offset as u64, size };
        let start = usize::try_from(offset).map_err(|_| out.clone())?;
        let bytes = self.0.get(bank as usize).ok_or(out.clone())?;
        bytes.get(start..start.saturating_add(size as usize)).ok_or(out)
    }
}

impl Banks {
    /// Puts the handles of the textures, samplers and surfaces of the module, and of those among the parameters, after
    /// the parameters; `given` has the handles of the latter by the symbols of the parameters.
    pub(crate) fn bind(
        &mut self,
        cubin: &Cubin,
        kernel: &Kernel,
        bindings: &[(String, Opaque)],
        given: &BTreeMap<usize, u64>,
        global: &mut Global,
    ) {
        let Some(section) = cubin.section(&format!(".nv.constant0.{}", kernel.name)) else { return };
        let bank = &mut self.0[0];
        bank.resize(bank.len().max(section.size.min(u64::from(BANK_BYTES)) as usize), 0);
        for relocation in &section.relocations {
            let is_header = matches!(
                relocation.kind(),
                Some(
                    RelocationKind::TextureIndex
                        | RelocationKind::SamplerIndex
                        | RelocationKind::SamplerIndexAlone
                        | RelocationKind::SurfaceIndex
                )
            );
            let place = usize::try_from(relocation.offset).ok().and_then(|at| bank.get_mut(at..at + 4));
            let Some(place) = place.filter(|_| is_header) else { continue };
            let name = &cubin.symbols[relocation.symbol].name;
            let bound = || bindings.iter().find(|(bound, _)| bound == name);
            let handle = given.get(&relocation.symbol).copied();
            let handle = handle.or_else(|| Some(global.add_object(bound()?.1.clone())));
            if let Some(handle) = handle {
                place.copy_from_slice(&(handle as u32).to_le_bytes());
            }
        }
    }

    /// Puts the tables of descriptors that handles index into memory, and their addresses into the bank. Textures have
    /// two descriptor formats; the descriptor size that the file asks for selects one.
    pub(crate) fn describe(&mut self, cubin: &Cubin, layout: &ConstantBank, global: &mut Global) {
        if global.objects.is_empty() {
            return;
        }
        let asked = |table: DescriptorTable| cubin.symbols.iter().any(|s| s.name == table.size_symbol());
        for table in DescriptorTable::ALL.into_iter().filter(|&table| asked(table)) {
            let address = global.add(descriptors::table(table, &global.objects));
            let place = layout.descriptor_table(table) as usize;
            if let Some(pair) = self.0[0].get_mut(place..place + 8) {
                pair.copy_from_slice(&address.to_le_bytes());
            }
        }
    }
}

/// Addresses of the module's variables, and of code.
pub(crate) struct Variables {
    /// Address of `.nv.global.init`.
    pub initialized: u64,
    /// Address of `.nv.global`.
    pub zeroed: u64,
    /// Sections of code, by index, and their addresses: the kernel at the start, then functions with sections of their
    /// own.
    pub code: Vec<(usize, u64)>,
}

/// The address of a symbol in its own space.
fn address(cubin: &Cubin, number: usize, variables: &Variables) -> u64 {
    let symbol = &cubin.symbols[number];
    if symbol.section == 0 {
        let mut tables = DescriptorTable::ALL.into_iter();
        if tables.any(|table| table.size_symbol() == symbol.name) {
            return u64::from(DESCRIPTOR_BYTES);
        }
        return EXTERN_FUNCTIONS + EXTERN_BYTES * number as u64;
    }
    match cubin.sections[symbol.section].name.as_str() {
        ".nv.global.init" => variables.initialized.wrapping_add(symbol.value),
        ".nv.global" => variables.zeroed.wrapping_add(symbol.value),
        ".nv.constant3" => CONSTANT_WINDOW.wrapping_add(symbol.value),
        _ => {
            let code = variables.code.iter().find(|(section, _)| *section == symbol.section);
            code.map_or(0, |(_, start)| *start).wrapping_add(symbol.value)
        }
    }
}

/// The module's variables in global memory: name, address, size.
pub(crate) fn named(cubin: &Cubin, variables: &Variables) -> Vec<(String, u64, u32)> {
    let symbols = cubin.symbols.iter().enumerate().filter(|(_, symbol)| {
        let section = cubin.sections.get(symbol.section).map_or("", |section| section.name.as_str());
        symbol.size > 0 && symbol.kind == 1 && section.starts_with(".nv.global")
    });
    let place = |(number, symbol): (usize, &Symbol)| {
        Some((symbol.name.clone(), address(cubin, number, variables), u32::try_from(symbol.size).ok()?))
    };
    symbols.filter_map(place).collect()
}

/// The bytes of a section with its address relocations applied.
fn relocated(cubin: &Cubin, section: &Section, variables: &Variables) -> Vec<u8> {
    let mut bytes = section.data.clone();
    for relocation in &section.relocations {
        let value = address(cubin, relocation.symbol, variables).wrapping_add(relocation.addend as u64);
        let Some(kind) = relocation.kind() else { continue };
        let at = relocation.offset as usize;
        use RelocationKind::{Abs64, Descriptor64, Generic64, Unified};
        if let Some((_, number)) = kind.byte_of() {
            if let Some(place) = bytes.get_mut(at) {
                *place = value.to_le_bytes()[usize::from(number)];
            }
        } else if matches!(kind, Abs64 | Descriptor64 | Generic64 | Unified)
            && let Some(place) = bytes.get_mut(at..at.saturating_add(8))
        {
            place.copy_from_slice(&value.to_le_bytes());
        }
    }
    bytes
}

/// Places the module's variables in global memory, and the code next to the kernel.
pub(crate) fn place_variables(
    shape: WordShape,
    cubin: &Cubin,
    kernel: &Kernel,
    global: &mut Global,
) -> Result<Variables, Fault> {
    let mut variables = Variables { initialized: 0, zeroed: 0, code: Vec::new() };
    let mut start = CODE_BASE;
    for code in std::iter::once(kernel).chain(&cubin.functions) {
        variables.code.push((code.text, start));
        start += shape.size(code.code.len());
    }
    if let Some(section) = cubin.section(".nv.global.init") {
        variables.initialized = global.add(section.data.clone());
    }
    if let Some(section) = cubin.section(".nv.global") {
        if section.size > MOST_VARIABLES {
            return Err(Fault::Launch("global variables are too large to simulate".into()));
        }
        variables.zeroed = global.add(vec![0; section.size as usize]);
    }
    if let Some(section) = cubin.section(".nv.global.init") {
        let bytes = relocated(cubin, section, &variables);
        if let Ok(place) = global.slice(variables.initialized, bytes.len() as u32) {
            place.copy_from_slice(&bytes);
        }
    }
    Ok(variables)
}

/// The code of the kernel and of the functions with sections of their own, with relocations applied as the loader does.
pub(crate) fn relocated_code(
    shape: WordShape,
    cubin: &Cubin,
    kernel: &Kernel,
    variables: &Variables,
) -> Vec<oriole_sass::InstructionWord> {
    let mut all = Vec::new();
    for section in std::iter::once(kernel).chain(&cubin.functions) {
        let mut code = section.code.clone();
        for relocation in &cubin.sections[section.text].relocations {
            let value = address(cubin, relocation.symbol, variables).wrapping_add(relocation.addend as u64);
            let at = u32::try_from(relocation.offset).ok().map(|offset| shape.index(offset) as usize);
            if let (Some(kind), Some(word)) = (relocation.kind(), at.and_then(|at| code.get_mut(at))) {
                *word = kind.patch(*word, value);
            }
        }
        all.append(&mut code);
    }
    all
}

/// The f32 factor that maps a block index, with truncation, to the index of its cluster.
fn reciprocal(size: u32) -> u32 {
    let factor = 1.0 / size as f32;
    if size.is_power_of_two() { factor.to_bits() } else { factor.next_up().to_bits() }
}

/// The facts about a launch that the driver writes into the banks.
pub(crate) struct Setup<'a> {
    pub launch: &'a Launch,
    /// Blocks of a cluster.
    pub cluster: [u32; 3],
    /// Bytes of the parameters.
    pub parameters: &'a [u8],
    pub stack_pointer: u32,
}

/// Fills the banks.
pub(crate) fn fill(
    cubin: &Cubin,
    kernel: &Kernel,
    layout: &ConstantBank,
    setup: &Setup<'_>,
    variables: &Variables,
) -> Banks {
    let &Setup { launch, cluster, parameters, stack_pointer } = setup;
    let base = if kernel.parameter_base == 0 { layout.parameters } else { kernel.parameter_base };
    // Reads may go a little beyond the last parameter, as the bank is longer than the kernel's declared size. In a file
    // that overlaps its parameters with the driver's data, the parameters win.
    let end = (base as usize + parameters.len()).max(layout.parameters as usize);
    let mut first = vec![0; end.next_multiple_of(16) + 16];
    let mut word = |offset: u32, value: u32| {
        first[offset as usize..offset as usize + 4].copy_from_slice(&value.to_le_bytes())
    };
    let mut pair = |offset: u32, value: u64| {
        word(offset, value as u32);
        word(offset + 4, (value >> 32) as u32);
    };
    pair(layout.local_window, LOCAL_WINDOW);
    if let Some(place) = layout.shared_window {
        pair(place, SHARED_WINDOW);
    }
    let end = base + parameters.len() as u32;
    match layout.parameter_window {
        ParameterWindow::Bounds(place) => {
            pair(place, PARAMETER_WINDOW + u64::from(base));
            pair(place + 8, PARAMETER_WINDOW + u64::from(end));
        }
        ParameterWindow::Bank { start, end: place } => {
            pair(start, PARAMETER_WINDOW);
            pair(place, u64::from(end));
        }
    }
    pair(layout.constant_window, CONSTANT_WINDOW);
    pair(layout.grid_id, 1);
    for axis in 0..3 {
        word(layout.block_threads + 4 * axis, launch.block[axis as usize]);
        word(layout.grid_blocks + 4 * axis, launch.grid[axis as usize]);
        let (blocks, size) = (launch.grid[axis as usize], cluster[axis as usize]);
        let places = [
            (layout.cluster_blocks, size),
            (layout.grid_clusters, blocks / size),
            (layout.cluster_reciprocals, reciprocal(size)),
        ];
        for (place, value) in places {
            if let Some(place) = place {
                word(place + 4 * axis, value);
            }
        }
    }
    word(layout.stack_pointer, stack_pointer);
    word(layout.sm_count, 132);
    for (place, value) in [
        (layout.dynamic_shared_size, launch.dynamic_shared),
        (layout.reserved_shared_end, 0x400),
        (layout.cluster_size, cluster.iter().product()),
        (layout.explicit_cluster, u32::from(launch.cluster.or(kernel.cluster_size).is_some())),
    ] {
        if let Some(place) = place {
            word(place, value);
        }
    }
    first[base as usize..base as usize + parameters.len()].copy_from_slice(parameters);
    let section =
        |name: &str| cubin.section(name).map_or(Vec::new(), |section| relocated(cubin, section, variables));
    Banks([first, Vec::new(), kernel.constant2.clone(), section(".nv.constant3"), section(".nv.constant4")])
}
