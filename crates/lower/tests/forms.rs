//! All output of lowering must pass the verifier, and each machine instruction must have a form on the chip.
//!
//! The kernels of the repository are always lowered; other PTX files if the environment variable `ORIOLE_PTX_FILES`
//! names their directories, separated by colons.

use oriole_chip::Chip;
use oriole_diagnostics::{Code, Diagnostic};
use oriole_hir::resolve_module;
use oriole_lower::{Environment, lower};
use oriole_options::{Linking, LowerOptions};
use oriole_ori::effects::wants_uniform_operands;
use oriole_ori::{Assignment, Block, Form, Function, Instruction, Opcode, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The PTX files of a directory and those below it, sorted.
fn ptx_files(directory: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            ptx_files(&path, found);
        } else if path.extension().is_some_and(|e| e == "ptx") {
            found.push(path);
        }
    }
}

/// The instruction alone, every operand in registers of its own; a single value that occurs twice has one register,
/// which some forms require.
fn alone(function: &Function, instruction: &Instruction) -> (Function, Assignment) {
    let mut single = Function { is_entry: true, symbols: function.symbols.clone(), ..Function::default() };
    single.tables = function.tables.clone();
    let mut assignment = Assignment::default();
    let mut next = [0u8; 5];
    let mut instruction = instruction.clone();
    let mut seen: BTreeMap<Value, Value> = BTreeMap::new();
    let mut fresh = |values: &mut [Value], single: &mut Function, assignment: &mut Assignment| {
        let Some(&first) = values.first() else { return };
        if let ([value], Some(&known)) = (&mut *values, seen.get(&first)) {
            *value = known;
            return;
        }
        let single_value = values.len() == 1;
        let file = function.file(first);
        let counter = &mut next[file as usize];
        let step = if values.len() > 2 { 4 } else { values.len() as u8 };
        *counter = counter.next_multiple_of(step);
        for value in &mut *values {
            *value = single.new_value(file, None);
            assignment.registers.push(Some(*counter));
            *counter += 1;
        }
        if single_value {
            seen.insert(first, values[0]);
        }
    };
    for destination in &mut instruction.destinations {
        fresh(&mut destination.values, &mut single, &mut assignment);
    }
    for source in &mut instruction.sources {
        match &mut source.kind {
            oriole_ori::SourceKind::Values(values) => fresh(values, &mut single, &mut assignment),
            oriole_ori::SourceKind::ConstIndexed(place) => {
                fresh(std::slice::from_mut(&mut place.index), &mut single, &mut assignment)
            }
            oriole_ori::SourceKind::Address(address) => {
                let oriole_ori::Address { descriptor, base, uniform, .. } = &mut **address;
                if let Some(descriptor) = descriptor {
                    fresh(descriptor, &mut single, &mut assignment);
                }
                fresh(base, &mut single, &mut assignment);
                fresh(uniform, &mut single, &mut assignment);
            }
            oriole_ori::SourceKind::Block(block) => *block = oriole_ori::BlockId(0),
            _ => {}
        }
    }
    instruction.guard = None;
    single.blocks.push(Block { instructions: vec![instruction], ..Block::default() });
    (single, assignment)
}

/// The chip that a text is written for where that is a later one, else sm_90a.
fn chip_of(text: &str) -> Chip {
    let targets = text.lines().find_map(|line| line.strip_prefix(".target "));
    let own = targets.and_then(|names| names.split([',', ' ']).next()?.parse::<Chip>().ok());
    own.filter(|chip| !Chip::SM_90A.accepts(chip.as_target())).unwrap_or(Chip::SM_90A)
}

/// Faults in the lowering of one module; `relocatable` for one that references other files.
fn faults(text: &str, relocatable: bool, faults: &mut BTreeMap<String, usize>) -> usize {
    let chip = chip_of(text);
    let module = resolve_module(text);
    let mut count = 0;
    let mut say = |message: String| *faults.entry(message).or_default() += 1;
    let left_open = |found: &Diagnostic| relocatable && found.code == Code::UnresolvedExternal;
    if module.diagnostics.iter().any(|found| found.is_error() && !left_open(found)) {
        say("not resolved".to_string());
        return 0;
    }
    for (_, _, resolved) in &module.functions {
        let environment = Environment {
            chip,
            options: LowerOptions {
                linking: if relocatable { Linking::Relocatable } else { Linking::Whole },
                ..LowerOptions::default()
            },
        };
        let function = match lower(&resolved.body, &environment) {
            Ok(function) => function,
            Err(errors) => {
                errors.iter().for_each(|error| say(format!("refused: {error}")));
                continue;
            }
        };
        count += 1;
        if let Err(violations) = oriole_ori::verify(&function, Form::Plain) {
            for violation in violations {
                say(format!("verifier: {}", violation.message));
            }
        }
        let tables = oriole_isel::Tables::of(chip).expect("tables");
        let plain = oriole_options::SelectOptions { alternatives: false };
        for block in &function.blocks {
            for instruction in &block.instructions {
                // Operands that require uniform registers move there later.
                if matches!(instruction.opcode, Opcode::Pseudo(_)) || wants_uniform_operands(instruction) {
                    continue;
                }
                let (single, assignment) = alone(&function, instruction);
                if let Err(error) = oriole_isel::select(&tables, &single, &assignment, &plain) {
                    say(format!("form: {error}"));
                }
            }
        }
    }
    count
}

fn report(files: &[PathBuf]) -> String {
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut functions = 0;
    for file in files {
        let Ok(text) = std::fs::read_to_string(file) else { continue };
        let mut found = BTreeMap::new();
        let relocatable = file.parent().is_some_and(|folder| folder.ends_with("linking"));
        functions += faults(&text, relocatable, &mut found);
        let name = file.file_stem().unwrap_or_default().to_string_lossy().to_string();
        for message in found.into_keys() {
            all.entry(message).or_default().push(name.clone());
        }
    }
    println!("{} files, {functions} functions lowered", files.len());
    all.iter()
        .map(|(message, names)| format!("{message}\n    {} files, as {}\n", names.len(), names[0]))
        .collect()
}

#[test]
fn kernels_of_the_repository() {
    let mut files = Vec::new();
    ptx_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../test-data"), &mut files);
    // Tests of the interpreter only, and intended errors.
    let others = |folder: &Path| folder.ends_with("tensor-memory") || folder.ends_with("ptxas");
    files.retain(|path| !path.parent().is_some_and(others));
    // Further folders on request: only modules for the chip used here.
    let mut further = Vec::new();
    for folder in std::env::split_paths(&std::env::var_os("ORIOLE_PTX_FILES").unwrap_or_default()) {
        ptx_files(&folder, &mut further);
    }
    let is_hopper = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.lines().any(|line| line.trim_start().starts_with(".target sm_90"))
    };
    files.extend(further.into_iter().filter(is_hopper));
    assert!(!files.is_empty(), "the repository has kernels");
    let report = report(&files);
    assert!(report.is_empty(), "{report}");
}
