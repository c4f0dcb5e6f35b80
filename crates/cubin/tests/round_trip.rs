//! Properties of the cubin format: written data is read back, equal modules are equal bytes, and no damage to a file
//! makes the reader panic.

use oriole_cubin::*;
use triomphe::Arc;

fn sample() -> Module {
    Module {
        sm: 90,
        accelerated: true,
        virtual_sm: 90,
        tool: Tool {
            name: "oriole".into(),
            version: "v".into(),
            build: "b".into(),
            arguments: "-arch sm_90".into(),
        },
        opaque: vec![
            Opaque { name: "picture".into(), kind: OpaqueKind::Texture },
            Opaque { name: "canvas".into(), kind: OpaqueKind::Surface },
        ],
        kernels: [
            KernelImage {
                name: "first".into(),
                code: vec![0x000fc0000000000000000000000794d; 5],
                functions: vec![InnerFunction {
                    name: "$first$callee".into(),
                    offset: 48,
                    size: 32,
                    frame_size: 8,
                    return_register: Some(20),
                }],
                registers: 24,
                frame_size: 16,
                stack_size: Some(24),
                barriers: 2,
                shared_size: Some(64),
                shared_alignment: 16,
                parameters: vec![
                    Parameter { offset: 0, size: 8, pointee_alignment: 16, space: ParameterSpace::Global },
                    Parameter { offset: 8, size: 4, ..Parameter::default() },
                ],
                parameter_size: 12,
                constant2: vec![1, 0, 0, 0],
                bound: Bound::AtMost([128, 1, 1]),
                cluster_size: Some([2, 1, 1]),
                exits: vec![32],
                coop_groups: vec![(16, u32::MAX)],
                indirect_branches: vec![IndirectBranch { offset: 16, targets: vec![32, 48] }],
                has_call: true,
                externs: vec![0],
                syscalls: vec![0],
                relocations: vec![TextRelocation {
                    offset: 16,
                    kind: RelocationKind::Abs32Lo,
                    target: SymbolRef::Global(1),
                    addend: 4,
                }],
                ..KernelImage::default()
            },
            KernelImage {
                name: "second".into(),
                code: vec![0x794d],
                registers: 4,
                stack_size: Some(0),
                ..KernelImage::default()
            },
        ]
        .map(Arc::new)
        .into(),
        constants: vec![Variable {
            name: "c".into(),
            size: 8,
            alignment: 8,
            offset: 0,
            bytes: Some(vec![1, 2]),
            ..Variable::default()
        }],
        globals: vec![
            Variable { name: "zeroed".into(), size: 4, alignment: 4, ..Variable::default() },
            Variable {
                name: "set".into(),
                size: 16,
                alignment: 8,
                bytes: Some(vec![7; 8]),
                pointers: vec![Pointer {
                    offset: 8,
                    target: SymbolRef::Global(0),
                    addend: 2,
                    generic: true,
                    byte: None,
                }],
                ..Variable::default()
            },
        ],
        externs: vec!["vprintf".into()],
        slots: vec![
            Slot { target: SymbolRef::Extern(0), addend: 0 },
            Slot { target: SymbolRef::Global(0), addend: 0 },
        ],
        debug: Arc::new(vec![
            DebugSection {
                name: ".debug_line".into(),
                bytes: vec![0; 24],
                addresses: [
                    (4, DebugTarget::Section(1)),
                    (8, DebugTarget::Memory(SymbolRef::Kernel(1))),
                    (16, DebugTarget::Memory(SymbolRef::Kernel(0))),
                ]
                .map(|(offset, target)| DebugAddress { offset, target, addend: 0 })
                .into(),
            },
            DebugSection { name: ".debug_str".into(), bytes: b"name\0".into(), ..DebugSection::default() },
        ]),
        ..Module::default()
    }
}

/// A kernel that calls a function of its file and one of another, as relocatable output.
fn relocatable(sm: u16) -> Module {
    let named =
        |offset, kind, name| TextRelocation { offset, kind, target: SymbolRef::Named(name), addend: 0 };
    let variable = |name: &str, binding| Variable {
        name: name.into(),
        binding,
        size: 24,
        alignment: 8,
        ..Variable::default()
    };
    let kernel = KernelImage {
        name: "k".into(),
        code: vec![0x7943; 4],
        registers: 24,
        relocations: vec![
            named(0, RelocationKind::BranchAbs, 0),
            named(16, RelocationKind::BranchAbs, 1),
            named(32, RelocationKind::UnifiedLo, 1),
            TextRelocation { offset: 48, kind: RelocationKind::Abs32Lo, target: SymbolRef::Own, addend: 16 },
        ],
        names: vec!["f".into(), "other".into()],
        own_shared: vec![variable("$k$inner", Binding::Local)],
        pointed_prototypes: vec!["#ff".into()],
        ..KernelImage::default()
    };
    let function = KernelImage {
        name: "f".into(),
        kind: CodeKind::Function,
        code: vec![0x7950],
        registers: 24,
        prototype: "#ii".into(),
        ..KernelImage::default()
    };
    Module {
        form: Form::Relocatable,
        kernels: vec![Arc::new(kernel), Arc::new(function)],
        globals: vec![
            variable("common", Binding::Common),
            Variable {
                bytes: Some(vec![0; 8]),
                pointers: vec![Pointer {
                    offset: 0,
                    target: SymbolRef::Undefined(0),
                    addend: 0,
                    generic: false,
                    byte: None,
                }],
                ..variable("table", Binding::Global)
            },
        ],
        constants: Vec::new(),
        shared: vec![variable("tile", Binding::Global)],
        undefined: vec![Undefined {
            name: "other".into(),
            kind: UndefinedKind::Function,
            size: 0,
            prototype: "#ff".into(),
        }],
        sm,
        externs: Vec::new(),
        slots: Vec::new(),
        opaque: Vec::new(),
        debug: Arc::default(),
        ..sample()
    }
}

#[test]
fn one_byte_of_an_address_is_relocated_alone() {
    let kind = |sm, generic, target| {
        let mut module = relocatable(sm);
        let pointer = Pointer { offset: 7, target, addend: 0, generic, byte: Some(5) };
        module.globals[1].pointers = vec![pointer];
        let cubin = read(&write(&module).unwrap()).unwrap();
        let found = cubin.section(".nv.global.init").unwrap().relocations[0];
        assert_eq!(found.offset, 7);
        found.kind().unwrap()
    };
    let (function, global) = (SymbolRef::Undefined(0), SymbolRef::Global(0));
    assert_eq!(kind(80, false, function).name(), "R_CUDA_8_40");
    assert_eq!(kind(90, false, function).name(), "R_CUDA_UNIFIED_8_40");
    assert_eq!(kind(90, false, global).name(), "R_CUDA_G8_40");
    assert_eq!(kind(90, true, global).byte_of(), Some((RelocationKind::Generic64, 5)));
}

#[test]
fn relocatable_files_are_read_back() {
    for (sm, pointer) in [(80, RelocationKind::Abs64), (90, RelocationKind::Unified)] {
        let file = write(&relocatable(sm)).unwrap();
        assert_eq!(file[16..18], [1, 0], "a file for a linker");
        let cubin = read(&file).unwrap();
        let names = |list: &[read::Kernel]| list.iter().map(|code| code.name.clone()).collect::<Vec<_>>();
        assert_eq!((names(&cubin.kernels), names(&cubin.functions)), (vec!["k".into()], vec!["f".into()]));
        let symbol = |name: &str| {
            let at = cubin.symbols.iter().position(|symbol| symbol.name == name);
            at.unwrap_or_else(|| panic!("no symbol {name}"))
        };
        let of = |name: &str| {
            let symbol = &cubin.symbols[symbol(name)];
            (symbol.kind, symbol.binding, symbol.other, symbol.value, symbol.size)
        };
        assert_eq!(of("common"), (13, 1, 0x20, 8, 24));
        assert_eq!(of("tile"), (13, 1, 0x40, 8, 24));
        assert_eq!(of("$k$inner"), (13, 0, 0x40, 8, 24));
        assert_eq!(of("other"), (2, 1, 0, 0, 0));
        let table = &cubin.section(".nv.global.init").unwrap().relocations;
        assert_eq!((table[0].kind(), table[0].symbol), (Some(pointer), symbol("other")));
        // Calls, functions whose address is taken, indirect calls, address-taking pairs.
        let graph = &cubin.section(".nv.callgraph").unwrap().data;
        let pairs: Vec<(u32, u32)> = graph
            .chunks_exact(8)
            .map(|pair| {
                let [from, to] = [0, 4].map(|at| u32::from_le_bytes(pair[at..at + 4].try_into().unwrap()));
                (from, to)
            })
            .collect();
        let strings = &cubin.section(".strtab").unwrap().data;
        let place = strings.windows(5).position(|text| text == b"\0#ff\0").unwrap() as u32 + 1;
        let [k, f, other] = ["k", "f", "other"].map(|name| symbol(name) as u32);
        let group = |number: u32| (0, number.wrapping_neg());
        let expected = [
            group(1),
            (k, f),
            (k, other),
            group(2),
            (other, place),
            group(3),
            (k, place),
            group(4),
            (k, other),
        ];
        assert_eq!(pairs, expected);
        // The prototype of a function whose address is taken is in the graph alone.
        let prototypes = &cubin.section(".nv.prototype").unwrap().data;
        assert_eq!(prototypes[..4], f.to_le_bytes());
        assert_eq!(prototypes.len(), 8);
    }
}

/// A whole program that a linker completes: laid out like one that is loaded, with the records of relocatable files.
#[test]
fn extensible_programs_are_read_back() {
    let named =
        |offset, kind, name| TextRelocation { offset, kind, target: SymbolRef::Named(name), addend: 0 };
    let variable = |name: &str, binding| Variable {
        name: name.into(),
        binding,
        size: 8,
        alignment: 8,
        ..Variable::default()
    };
    let kernel = KernelImage {
        name: "k".into(),
        code: vec![0x7943; 6],
        registers: 24,
        relocations: vec![
            named(0, RelocationKind::BranchAbs, 0),
            named(16, RelocationKind::DescriptorLo, 1),
            named(32, RelocationKind::Abs32Lo, 2),
        ],
        names: vec!["other".into(), "launched".into(), "zeroed".into()],
        functions: vec![InnerFunction {
            name: "$k$f".into(),
            offset: 64,
            size: 32,
            ..InnerFunction::default()
        }],
        shared_size: Some(40),
        shared_alignment: 8,
        ..KernelImage::default()
    };
    let launched = KernelImage { name: "launched".into(), code: vec![0x794d], ..KernelImage::default() };
    let module = Module {
        form: Form::Extensible,
        kernels: vec![Arc::new(kernel), Arc::new(launched)],
        globals: vec![variable("zeroed", Binding::Local), variable("common", Binding::Common)],
        constants: vec![Variable { bytes: Some(vec![1]), ..variable("constant", Binding::Global) }],
        undefined: vec![Undefined {
            name: "other".into(),
            kind: UndefinedKind::Function,
            size: 0,
            prototype: String::new(),
        }],
        externs: Vec::new(),
        slots: Vec::new(),
        opaque: Vec::new(),
        debug: Arc::default(),
        ..sample()
    };
    let file = write(&module).unwrap();
    assert_eq!(file[16..18], [0, 0xff], "a program for a linker");
    assert_eq!((&file[32..40], file[56]), (&[0; 8][..], 0), "nothing says what is loaded where");
    let cubin = read(&file).unwrap();
    let symbol = |name: &str| cubin.symbols.iter().position(|symbol| symbol.name == name).expect(name);
    let of = |name: &str| {
        let symbol = &cubin.symbols[symbol(name)];
        (symbol.kind, symbol.other, symbol.value, symbol.section != 0)
    };
    assert_eq!(of("zeroed"), (13, 0x20, 0, true));
    assert_eq!(of("common"), (13, 0x20, 8, false));
    assert_eq!(of("constant"), (13, 0x80, 0, true));
    assert_eq!(of("other"), (2, 0, 0, false));
    assert_eq!(of("__nv_reservedSMEM_offset_0_alias").2, 1, "an alignment");
    // Relocatable files use other section types, and linkers add the system's part of shared memory.
    let section = |name: &str| cubin.section(name).map(|section| (section.kind & 0xffff, section.size));
    assert_eq!(section(".nv.shared.k"), Some((0xa, 40)));
    assert_eq!(section(".nv.global"), Some((7, 8)));
    assert_eq!(section(".nv.constant3"), Some((0x67, 8)));
    assert_eq!(section(".nv.constant4"), None);
    // The linker adds up stacks, of functions inside kernels too.
    let stacks = cubin.info.iter().filter(|attribute| attribute.name() == Some("MAX_STACK_SIZE"));
    assert_eq!(stacks.count(), 3);
    let frames = cubin.info.iter().filter(|attribute| attribute.name() == Some("FRAME_SIZE"));
    assert_eq!(frames.count(), 3);
    let graph = &cubin.section(".nv.callgraph").unwrap().data;
    let pairs: Vec<[u32; 2]> = graph
        .chunks_exact(8)
        .map(|pair| [0, 4].map(|at| u32::from_le_bytes(pair[at..at + 4].try_into().unwrap())))
        .collect();
    let [k, launched, other] = ["k", "launched", "other"].map(|name| symbol(name) as u32);
    let group = |number: u32| [0, number.wrapping_neg()];
    assert_eq!(
        pairs,
        [group(1), [k, other], group(2), [launched, 0], group(3), group(4), [k, launched]],
        "calls, and what is launched without a prototype"
    );
    let externs = cubin.kernels.iter().flat_map(|kernel| &kernel.info);
    assert_eq!(externs.filter(|attribute| attribute.name() == Some("EXTERNS")).count(), 1);
    assert!(cubin.section(".nv.prototype").is_none());
}

#[test]
fn what_is_written_is_read_back() {
    let module = sample();
    let bytes = write(&module).unwrap();
    assert_eq!(bytes, write(&module).unwrap());
    let cubin = read(&bytes).unwrap();
    assert_eq!((cubin.sm, cubin.accelerated, cubin.virtual_sm), (90, true, Some(90)));
    let names: Vec<&str> = cubin.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
    assert_eq!(names, ["second", "first"]);
    let kernel = cubin.kernel("first").unwrap();
    let image = &module.kernels[0];
    assert_eq!(kernel.code[..5], image.code[..]);
    assert_eq!(kernel.code.len() % 8, 0);
    assert!(kernel.code.len() >= 5 + 1 + 8);
    assert_eq!(
        (kernel.registers, kernel.frame_size, kernel.stack_size, kernel.barriers),
        (24, 16, Some(24), 2)
    );
    assert_eq!((kernel.shared_size, kernel.parameter_base, kernel.parameter_size), (0x440, 0x210, 12));
    assert_eq!(kernel.parameters, image.parameters);
    assert_eq!((kernel.bound, kernel.cluster_size), (image.bound, image.cluster_size));
    assert_eq!(kernel.constant2, image.constant2);
    let section = |name: &str| cubin.sections.iter().find(|it| it.name == name).unwrap();
    assert_eq!(
        (&section(".debug_line").data, &section(".debug_str").data[..]),
        (&vec![0; 24], &b"name\0"[..])
    );
    let names = section(".debug_line").relocations.iter();
    let mut names: Vec<_> = names.map(|it| (it.offset, cubin.symbols[it.symbol].name.as_str())).collect();
    names.sort_unstable();
    assert_eq!(names, [(4, ".debug_str"), (8, "second"), (16, "first")]);
    assert_eq!(kernel.indirect_branches, image.indirect_branches);
    assert_eq!(cubin.symbols[kernel.functions[0]].name, "$first$callee");
    let name = |relocation: &read::Relocation| cubin.symbols[relocation.symbol].name.as_str();
    let slots = &cubin.section(".nv.constant4").unwrap().relocations;
    assert_eq!(
        slots.iter().map(|row| (row.offset, name(row))).collect::<Vec<_>>(),
        [(8, "zeroed"), (0, "vprintf")]
    );
    let text = &cubin.sections[kernel.text].relocations;
    assert_eq!((text[0].kind(), name(&text[0]), text[0].addend), (Some(RelocationKind::Abs32Lo), "set", 4));
    let initial = cubin.section(".nv.global.init").unwrap();
    assert_eq!(initial.data, [7, 7, 7, 7, 7, 7, 7, 7, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(initial.relocations[0].kind(), Some(RelocationKind::Generic64));
    assert_eq!(cubin.section(".nv.constant3").unwrap().data, [1, 2, 0, 0, 0, 0, 0, 0]);
    assert_eq!(cubin.section(".nv.global").unwrap().size, 4);
    let kind = |name: &str| cubin.symbols.iter().find(|symbol| symbol.name == name).map(|symbol| symbol.kind);
    assert_eq!((kind("picture"), kind("canvas"), kind("brush")), (Some(10), Some(12), None));
}

/// Chips that the toolkit of today has left out have files of the last format that knew them.
#[test]
fn files_of_the_oldest_chips_have_the_older_format() {
    let mut module = sample();
    (module.sm, module.virtual_sm, module.accelerated) = (72, 70, false);
    Arc::make_mut(&mut module.kernels[0]).barriers = 3;
    let file = write(&module).unwrap();
    assert_eq!(
        (file[7], file[8], &file[20..24], &file[48..52]),
        (0x33, 7, &[0x7c, 0, 0, 0][..], &[0x48, 5, 0x46, 0][..])
    );
    let cubin = read(&file).unwrap();
    assert_eq!((cubin.sm, cubin.virtual_sm, cubin.accelerated), (72, Some(70), false));
    assert!(cubin.sections.iter().all(|section| !section.name.starts_with(".note")));
    let kernel = cubin.kernel(&module.kernels[0].name).unwrap();
    assert_eq!(kernel.barriers, 3);
    let names: Vec<&str> = kernel.info.iter().filter_map(|row| row.name()).collect();
    assert!(names.contains(&"SW_WAR"), "{names:?}");
    assert!(!names.contains(&"NUM_BARRIERS") && !names.contains(&"MERCURY_ISA_VERSION"), "{names:?}");
}

#[test]
fn bad_modules_are_errors() {
    let mut module = sample();
    module.sm = 60;
    assert_eq!(write(&module), Err(WriteError::UnsupportedChip(60)));
    let mut module = sample();
    module.slots[0].target = SymbolRef::Kernel(9);
    assert!(matches!(write(&module), Err(WriteError::BadReference { .. })));
    let mut module = sample();
    Arc::make_mut(&mut module.kernels[0]).parameter_size = 0x9c40;
    assert!(matches!(write(&module), Err(WriteError::TooLarge { .. })));
    let mut module = sample();
    module.globals[1].bytes = Some(vec![0; 17]);
    assert!(matches!(write(&module), Err(WriteError::BadInitializer { .. })));
}

#[test]
fn damaged_files_are_errors_not_panics() {
    let bytes = write(&sample()).unwrap();
    for length in 0..bytes.len() {
        assert!(read(&bytes[..length]).is_err() || length + 56 * 7 >= bytes.len());
    }
    // A fixed linear congruential sequence: identical damage in every run.
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize
    };
    let mut errors = 0;
    for _ in 0..20_000 {
        let mut copy = bytes.clone();
        for _ in 0..1 + next() % 4 {
            let at = next() % copy.len();
            copy[at] = next() as u8;
        }
        errors += usize::from(read(&copy).is_err());
    }
    assert!(errors > 0);
}

/// Each kernel's slot references the kernel's own parameter, even if parameters of others have its name.
#[test]
fn opaque_parameters_of_one_name_are_apart() {
    let mut module = sample();
    for (kernel, kind) in [(0, OpaqueKind::Surface), (1, OpaqueKind::Texture)] {
        let image = Arc::make_mut(&mut module.kernels[kernel]);
        let number = image.parameters.len();
        let space = ParameterSpace::Opaque(kind);
        image.parameters.push(Parameter { offset: NO_OFFSET, space, ..Parameter::default() });
        image.opaque_parameters.push(OpaqueParameter { number, name: "it".into() });
        let headers = [Header::Module(0), Header::Parameter(number)];
        image.headers =
            (0x220..).step_by(4).zip(headers).map(|(offset, header)| HeaderSlot { offset, header }).collect();
    }
    let cubin = read(&write(&module).unwrap()).unwrap();
    let told = |name: &str| {
        let kernel = cubin.kernel(name).unwrap();
        let section = cubin.section(&format!(".nv.constant0.{name}")).unwrap();
        let own: Vec<(usize, ParameterSpace)> = kernel
            .opaque_parameters
            .iter()
            .flat_map(|&(number, symbol)| {
                let named = section.relocations.iter().filter(move |relocation| relocation.symbol == symbol);
                named.map(move |relocation| (number, relocation.offset))
            })
            .map(|(number, offset)| {
                assert_eq!(offset, 0x224);
                (number, kernel.parameters[number].space)
            })
            .collect();
        assert_eq!(section.size, 0x228);
        own
    };
    assert_eq!(told("first"), [(2, ParameterSpace::Opaque(OpaqueKind::Surface))]);
    assert_eq!(told("second"), [(0, ParameterSpace::Opaque(OpaqueKind::Texture))]);
}
