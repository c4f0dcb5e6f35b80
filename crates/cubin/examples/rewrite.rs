//! Reads a cubin and writes it again from the parsed data: `rewrite IN OUT`. Comparing the two files
//! with other tools shows what reader or writer miss. A development aid; nothing depends on it.

use oriole_cubin::*;
use triomphe::Arc;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [input, output] = &arguments[..] else {
        eprintln!("usage: rewrite IN OUT");
        std::process::exit(2);
    };
    let result = std::fs::read(input)
        .map_err(|error| error.to_string())
        .and_then(|bytes| read(&bytes).map_err(|error| error.to_string()))
        .and_then(|cubin| write(&module_of(&cubin)).map_err(|error| error.to_string()))
        .and_then(|bytes| std::fs::write(output, bytes).map_err(|error| error.to_string()));
    if let Err(message) = result {
        eprintln!("rewrite: {message}");
        std::process::exit(1);
    }
}

/// Variables of one section, with the symbol index of each.
fn variables(cubin: &Cubin, section: &str) -> Vec<(usize, Variable)> {
    let Some(position) = cubin.sections.iter().position(|other| other.name == section) else {
        return Vec::new();
    };
    let data = &cubin.sections[position].data;
    let stored = cubin.sections[position].kind != 8;
    let member = |(_, symbol): &(usize, &read::Symbol)| symbol.section == position && symbol.kind == 1;
    cubin
        .symbols
        .iter()
        .enumerate()
        .filter(member)
        .map(|(index, symbol)| {
            let range = symbol.value as usize..(symbol.value + symbol.size) as usize;
            let variable = Variable {
                name: symbol.name.clone(),
                binding: binding(symbol.binding),
                managed: symbol.other & 4 != 0,
                size: symbol.size,
                alignment: 1
                    << symbol.value.trailing_zeros().min(cubin.sections[position].alignment.trailing_zeros()),
                offset: symbol.value,
                bytes: stored.then(|| data.get(range).unwrap_or_default().to_vec()),
                pointers: Vec::new(),
            };
            (index, variable)
        })
        .collect()
}

fn binding(number: u8) -> Binding {
    match number {
        0 => Binding::Local,
        1 => Binding::Global,
        _ => Binding::Weak,
    }
}

fn module_of(cubin: &Cubin) -> Module {
    let mut targets: Vec<Option<SymbolRef>> = vec![None; cubin.symbols.len()];
    let mut constants = Vec::new();
    for (index, variable) in variables(cubin, ".nv.constant3") {
        targets[index] = Some(SymbolRef::Constant(constants.len()));
        constants.push(variable);
    }
    let mut globals = Vec::new();
    for section in [".nv.global.init", ".nv.global"] {
        for (index, variable) in variables(cubin, section) {
            targets[index] = Some(SymbolRef::Global(globals.len()));
            globals.push(variable);
        }
    }
    for (index, kernel) in cubin.kernels.iter().rev().enumerate() {
        targets[kernel.symbol] = Some(SymbolRef::Kernel(index));
    }
    let mut externs = Vec::new();
    for (index, symbol) in cubin.symbols.iter().enumerate() {
        if symbol.kind == 2 && symbol.section == 0 {
            targets[index] = Some(SymbolRef::Extern(externs.len()));
            externs.push(symbol.name.clone());
        }
    }
    let mut slots: Vec<(u64, Slot)> = Vec::new();
    if let Some(section) = cubin.section(".nv.constant4") {
        for row in &section.relocations {
            if let Some(target) = targets[row.symbol] {
                slots.push((row.offset, Slot { target, addend: row.addend }));
            }
        }
    }
    slots.sort_by_key(|slot| slot.0);
    let opaque = cubin.symbols.iter().filter_map(|symbol| {
        let kind = match symbol.kind {
            10 => OpaqueKind::Texture,
            11 => OpaqueKind::Sampler,
            12 => OpaqueKind::Surface,
            _ => return None,
        };
        Some(Opaque { name: symbol.name.clone(), kind })
    });
    Module {
        opaque: opaque.collect(),
        sm: cubin.sm,
        accelerated: cubin.accelerated,
        virtual_sm: cubin.virtual_sm.unwrap_or(cubin.sm),
        tool: Tool { name: "rewrite".into(), ..Tool::default() },
        kernels: cubin
            .kernels
            .iter()
            .rev()
            .map(|kernel| Arc::new(image_of(cubin, kernel, &targets)))
            .collect(),
        constants,
        globals,
        externs,
        slots: slots.into_iter().map(|slot| slot.1).collect(),
        debug: Arc::new(debug_sections(cubin, &targets)),
        ..Module::default()
    }
}

/// The sections for debuggers but the one that the writer makes.
fn debug_sections(cubin: &Cubin, targets: &[Option<SymbolRef>]) -> Vec<DebugSection> {
    let is_debug = |name: &str| name.starts_with(".nv_debug") || name.starts_with(".debug");
    let sections = cubin.sections.iter().filter(|it| is_debug(&it.name) && it.name != ".debug_frame");
    let names: Vec<&str> = sections.clone().map(|section| section.name.as_str()).collect();
    let address = |row: &read::Relocation| {
        let symbol = &cubin.symbols[row.symbol];
        let target = match row.kind() {
            Some(RelocationKind::Data32) => {
                DebugTarget::Section(names.iter().position(|&name| name == symbol.name)?)
            }
            _ => DebugTarget::Memory(targets[row.symbol]?),
        };
        Some(DebugAddress { offset: row.offset, target, addend: row.addend })
    };
    let section = |it: &read::Section| DebugSection {
        name: it.name.clone(),
        bytes: it.data.clone(),
        addresses: it.relocations.iter().filter_map(address).collect(),
    };
    sections.map(section).collect()
}

fn image_of(cubin: &Cubin, kernel: &read::Kernel, targets: &[Option<SymbolRef>]) -> KernelImage {
    let words = |code: u8| -> Vec<u32> {
        kernel.info.iter().filter(|row| row.code == code).flat_map(|row| row.to_words()).collect()
    };
    let rules = oriole_cubin::rules(cubin.sm);
    let self_branch = rules.map(|rules| rules.self_branch);
    let shared_start = rules.map_or(0, |rules| rules.limits.static_shared_start);
    let end = kernel.code.iter().rposition(|&word| Some(word) == self_branch).unwrap_or(kernel.code.len());
    let has = |code: u8| kernel.info.iter().any(|row| row.code == code);
    let mut externs = Vec::new();
    for symbol in words(0x0f) {
        if let Some(Some(SymbolRef::Extern(index))) = targets.get(symbol as usize) {
            externs.push(*index);
        }
    }
    KernelImage {
        name: kernel.name.clone(),
        binding: binding(cubin.symbols[kernel.symbol].binding),
        code: kernel.code[..end].to_vec(),
        functions: kernel
            .functions
            .iter()
            .map(|&index| {
                let symbol = &cubin.symbols[index];
                let size = (symbol.size as u32).min((end * 16) as u32 - symbol.value as u32);
                InnerFunction {
                    name: symbol.name.clone(),
                    offset: symbol.value as u32,
                    size,
                    ..InnerFunction::default()
                }
            })
            .collect(),
        registers: kernel.registers,
        frame_size: kernel.frame_size,
        stack_size: kernel.stack_size,
        barriers: kernel.barriers,
        shared_size: (kernel.shared_size != 0).then(|| kernel.shared_size as u32 - shared_start),
        shared_alignment: cubin
            .section(&format!(".nv.shared.{}", kernel.name))
            .map_or(1, |section| section.alignment as u32),
        parameters: kernel.parameters.clone(),
        parameter_size: kernel.parameter_size,
        constant2: kernel.constant2.clone(),
        max_registers: words(0x1b).first().map(|&count| count as u16).filter(|&count| count != 0xff),
        bound: kernel.bound,
        cluster_size: kernel.cluster_size,
        explicit_cluster: has(0x3e),
        max_cluster_rank: words(0x3f).first().copied(),
        blocks_are_clusters: has(0x5b),
        exits: words(0x1c),
        coop_groups: words(0x28).into_iter().zip(words(0x29)).collect(),
        warp_wide: words(0x31),
        indirect_branches: kernel.indirect_branches.clone(),
        has_call: has(0x1e),
        externs,
        syscalls: words(0x46),
        spills: words(0x55).chunks_exact(2).map(|pair| pair[1]).collect(),
        reconfigures_registers: has(0x54),
        tensor_memory: oriole_cubin::TensorMemory {
            alone: has(0x51),
            in_pairs: has(0x52),
            takes_columns: has(0x4f),
            reaches: words(0x4a).first().is_some_and(|&pool| pool != 0),
        },
        sparse_mma_mask: words(0x50).first().map_or(0, |&mask| mask as u16),
        ..KernelImage::default()
    }
}
