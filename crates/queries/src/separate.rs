//! Modules for debuggers: each function in a section of its own as for a linker, and all the same a whole program, which the
//! loader takes as it is.
//!
//! It is apart from relocatable output because the program is linked here: what a kernel's launch reaches says where shared
//! variables and tables of constants lie, how deep the stack is and how many registers a thread has. Sections of code know
//! nothing of it, so that an edit of one function makes no other section again. Nothing may enter that code depends on.

use std::collections::{BTreeMap, BTreeSet};

use oriole_chip::{Chip, HEADER_SLOT_BYTES, Limits, WordShape};
use oriole_cubin::{
    Binding, DebugAddress, DebugTarget, Header, HeaderSlot, KernelImage, Module, PlacedShared,
    RelocationKind, SymbolRef,
};
use oriole_cubin::{TextRelocation, Variable};
use oriole_diagnostics::Code;
use oriole_hir::Linkage;
use oriole_inputs::{Config, Db, SourceFile};
use oriole_pipeline::LibraryFunction;
use oriole_pipeline::image::{DYNAMIC_ALIGNMENT, ImageError, VariableSpace};

use crate::debugger::{self, OpenReference};
use crate::failure::{Failed, Staged, guarded};
use crate::link::{CallGraph, KnownAddresses, image_failure, place_variables, write_failure};
use crate::{graph, relocatable, stage};

/// What a table of constants is aligned to.
const TABLE_ALIGNMENT: u64 = 8;

/// Writes the container. The module has its header, and nothing else yet.
pub(crate) fn cubin(db: &dyn Db, file: SourceFile, config: Config, mut module: Module) -> Staged<Vec<u8>> {
    let parts = relocatable::add_code(db, file, config, &mut module)?;
    let data = graph::module_data(db, file);
    module.undefined = relocatable::undefined_in_programs(db, file, &module, data);
    let target = stage::target_of(db, config)?;
    let layout = &graph::module_layout(db, file).symbols;
    let calls = graph::call_graph(db, file);
    guarded("cubin", || {
        let known = KnownAddresses { functions: &BTreeMap::new(), constants: BTreeMap::new() };
        place_variables(layout, data, known, &mut module)?;
        let launches = Launches::new(&module.kernels, calls);
        let mut shared = Vec::new();
        for variable in layout.variables.iter().filter(|variable| variable.space == VariableSpace::Shared) {
            let value = data.iter().find(|value| value.name == variable.name);
            shared.push(Variable {
                name: variable.name.clone(),
                binding: match value.and_then(|value| value.info.linkage) {
                    None => Binding::Local,
                    Some(Linkage::Weak) => Binding::Weak,
                    Some(_) => Binding::Global,
                },
                size: variable.size,
                alignment: variable.align,
                ..Variable::default()
            });
        }
        let program = Program { chip: target.chip, words: target.words, launches: &launches };
        let own_shared = program.place_shared(&target.limits, &shared, &mut module)?;
        close(&parts.open, &own_shared, target.limits.static_shared_start, &mut module);
        let tables = program.place_tables(&mut module);
        program.complete(&own_shared, &tables, &mut module)?;
        program.tell_kernels(calls, &mut module);
        oriole_cubin::write(&module).map_err(|error| write_failure(&error))
    })
}

/// Completes what debug sections name: of shared memory the place is known, other variables have theirs when they are loaded.
fn close(open: &[OpenReference], shared: &SharedPlaces, start: u32, module: &mut Module) {
    if open.is_empty() {
        return;
    }
    let own = shared.of_code_by_name.iter().chain(&shared.of_module);
    let shared: BTreeMap<&str, u64> = own.map(|(name, &place)| (name.as_str(), place)).collect();
    let loaded = debugger::loaded_variables(module);
    let sections = triomphe::Arc::make_mut(&mut module.debug);
    for reference in open {
        let section = &mut sections[reference.section];
        if let Some(&place) = shared.get(reference.name.as_str()) {
            let at = reference.at as usize;
            let address = (u64::from(start) + place).wrapping_add_signed(reference.addend);
            section.bytes[at..at + 8].copy_from_slice(&address.to_le_bytes());
        } else if let Some(&target) = loaded.get(&reference.name) {
            let target = DebugTarget::Memory(target);
            section.addresses.push(DebugAddress { offset: reference.at, target, addend: reference.addend });
        }
    }
}

/// For each section of code the kernels in whose launches it runs: of a kernel its own.
struct Launches(Vec<Vec<usize>>);

impl Launches {
    fn new(code: &[triomphe::Arc<KernelImage>], calls: &CallGraph) -> Launches {
        let kernels = code.iter().enumerate().filter(|(_, image)| image.is_kernel());
        let index: BTreeMap<&str, usize> = kernels.map(|(at, image)| (image.name.as_str(), at)).collect();
        let of = |(at, image): (usize, &triomphe::Arc<KernelImage>)| match image.is_kernel() {
            true => vec![at],
            false => {
                let reaching = calls.kernels.get(image.name.as_str());
                let names = reaching.into_iter().flat_map(|names| names.iter());
                names.filter_map(|name| index.get(&**name).copied()).collect()
            }
        };
        let mut launches = Launches(code.iter().enumerate().map(of).collect());
        // The library stands in no graph of calls: whoever names one of its functions calls it.
        for (at, image) in code.iter().enumerate() {
            if LibraryFunction::named(&image.name).is_some() {
                let callers = code.iter().enumerate().filter(|(_, other)| other.names.contains(&image.name));
                launches.0[at] = launches.of(callers.map(|(caller, _)| caller)).into_iter().collect();
            }
        }
        launches
    }

    /// The kernels in whose launches some of these sections run.
    fn of(&self, code: impl IntoIterator<Item = usize>) -> BTreeSet<usize> {
        code.into_iter().flat_map(|at| self.0[at].iter().copied()).collect()
    }
}

/// What grows by kernels: something that several launches need lies at one place in all of them, behind what each has.
struct Ends(Vec<u64>);

impl Ends {
    fn place(&mut self, kernels: &BTreeSet<usize>, size: u64, alignment: u64) -> u64 {
        let end = kernels.iter().map(|&kernel| self.0[kernel]).max().unwrap_or(0);
        let start = end.next_multiple_of(alignment.max(1));
        for &kernel in kernels {
            self.0[kernel] = start.saturating_add(size);
        }
        start
    }
}

/// Where shared variables lie, from the end of the system's part: of the module by name, of sections of code by index.
#[derive(Default)]
struct SharedPlaces {
    of_module: BTreeMap<String, u64>,
    of_code: BTreeMap<(usize, usize), u64>,
    /// The same by the names that they have in their code, of which the first counts.
    of_code_by_name: BTreeMap<String, u64>,
}

/// Where bank 0 has the indices of headers: of those that functions name in all kernels, of others by section of code.
#[derive(Default)]
struct HeaderPlaces {
    by_name: BTreeMap<String, usize>,
    of_functions: BTreeMap<Header, u64>,
    of_kernels: BTreeMap<(usize, Header), u64>,
}

impl HeaderPlaces {
    /// The offset in the bank for code that names the header, and the number of the bank.
    fn place(&self, code: usize, header: Header) -> Option<(u64, u8)> {
        let place = self.of_functions.get(&header).or_else(|| self.of_kernels.get(&(code, header)))?;
        Some((*place, 0))
    }
}

/// What the relocation names if that has a header.
fn header(
    relocation: &TextRelocation,
    image: &KernelImage,
    by_name: &BTreeMap<String, usize>,
) -> Option<Header> {
    match relocation.target {
        SymbolRef::Named(name) => Some(Header::Module(*by_name.get(&image.names[name])?)),
        SymbolRef::OwnParameter(number) => Some(Header::Parameter(number)),
        _ => None,
    }
}

/// For each of the arrays whose size the launch gives, by its number: the kernels that have it or one that is the same memory
/// in some launch, and what they are all aligned to. The driver puts that memory behind what the kernel has.
fn launched_together(wanted: &[Wanted]) -> BTreeMap<usize, (BTreeSet<usize>, u64)> {
    let mut groups: Vec<(Vec<usize>, BTreeSet<usize>, u64)> = Vec::new();
    let dynamic = wanted.iter().enumerate().filter(|(_, (_, variable, _))| variable.size == 0);
    for (number, (_, variable, kernels)) in dynamic.filter(|(_, (.., kernels))| !kernels.is_empty()) {
        let mut group = (vec![number], kernels.clone(), variable.alignment);
        let (joined, apart): (Vec<_>, Vec<_>) =
            groups.into_iter().partition(|(_, kernels, _)| !kernels.is_disjoint(&group.1));
        for (numbers, kernels, alignment) in joined {
            group.0.extend(numbers);
            group.1.extend(kernels);
            group.2 = group.2.max(alignment);
        }
        groups = apart;
        groups.push(group);
    }
    let each = groups.into_iter().flat_map(|(numbers, kernels, alignment)| {
        numbers.into_iter().map(move |number| (number, (kernels.clone(), alignment)))
    });
    each.collect()
}

/// A shared variable to be placed: whose it is if not the module's, and the kernels that reach it.
type Wanted = (Option<(usize, usize)>, Variable, BTreeSet<usize>);

struct Program<'a> {
    chip: Chip,
    words: WordShape,
    launches: &'a Launches,
}

impl Program<'_> {
    /// Places the shared variables: those of the module first, then those of functions, then those of kernels, then the
    /// arrays whose size the launch gives, which begin where the last of what their kernels have ends.
    fn place_shared(
        &self,
        limits: &Limits,
        of_module: &[Variable],
        module: &mut Module,
    ) -> Result<SharedPlaces, Failed> {
        let mut wanted: Vec<Wanted> = Vec::new();
        for variable in of_module {
            let users = module.kernels.iter().enumerate().filter(|(_, code)| {
                let named = |it: &TextRelocation| matches!(it.target, SymbolRef::Named(name) if code.names[name] == variable.name);
                code.relocations.iter().any(named)
            });
            wanted.push((None, variable.clone(), self.launches.of(users.map(|(at, _)| at))));
        }
        for of_kernels in [false, true] {
            let code = module.kernels.iter().enumerate().filter(|(_, code)| code.is_kernel() == of_kernels);
            for (at, image) in code {
                let prefix = format!("${}$", image.name);
                for (number, variable) in image.own_shared.iter().enumerate() {
                    let name = variable.name.strip_prefix(&prefix).unwrap_or(&variable.name).to_owned();
                    let variable = Variable { name, ..variable.clone() };
                    wanted.push((Some((at, number)), variable, self.launches.of([at])));
                }
            }
        }
        wanted.sort_by_key(|(_, variable, _)| variable.size == 0);
        let dynamic = wanted.iter_mut().filter(|(_, variable, _)| variable.size == 0);
        dynamic.for_each(|(_, variable, _)| variable.alignment = variable.alignment.max(DYNAMIC_ALIGNMENT));
        let mut ends = Ends(vec![0; module.kernels.len()]);
        let mut alignments = vec![1; module.kernels.len()];
        let launched = launched_together(&wanted);
        let of_kernel =
            |own: &Option<(usize, usize)>| own.is_some_and(|(at, _)| module.kernels[at].is_kernel());
        let of_all = wanted.iter().filter(|(own, ..)| !of_kernel(own));
        module.common_shared_alignment =
            of_all.map(|(_, variable, _)| variable.alignment.max(1)).max().unwrap_or(1);
        let mut places = SharedPlaces::default();
        let mut names: BTreeMap<&str, u32> = BTreeMap::new();
        for (number, (own, variable, kernels)) in wanted.iter().enumerate() {
            let (kernels, alignment) = match launched.get(&number) {
                Some((kernels, alignment)) => (kernels, *alignment),
                None => (kernels, variable.alignment),
            };
            let offset = ends.place(kernels, variable.size, alignment);
            match own {
                Some(own) => {
                    places.of_code_by_name.entry(variable.name.clone()).or_insert(offset);
                    places.of_code.insert(*own, offset)
                }
                None => places.of_module.insert(variable.name.clone(), offset),
            };
            for &kernel in kernels {
                alignments[kernel] = alignments[kernel].max(alignment.max(1));
                triomphe::Arc::make_mut(&mut module.kernels[kernel]).shared_size.get_or_insert(0);
            }
            // Nobody asks where a variable is that no kernel reaches; arrays that the launch gives their sizes are declared.
            if !kernels.is_empty() || variable.size == 0 {
                let alone =
                    kernels.iter().copied().next().filter(|_| kernels.len() == 1 && variable.size > 0);
                // A debugger finds the second of a name under another.
                let namesakes = names.entry(&variable.name).or_insert(0u32);
                let name = match *namesakes {
                    0 => variable.name.clone(),
                    count => format!("{}.{count}", variable.name),
                };
                *namesakes += 1;
                let variable = Variable { name, offset, ..variable.clone() };
                module.placed_shared.push(PlacedShared { variable, kernel: alone });
            }
        }
        let is_common = |place: &&PlacedShared| place.kernel.is_none() && place.variable.size > 0;
        let common = module.placed_shared.iter().any(|place| is_common(&place));
        let has_dynamic = wanted.iter().any(|(_, variable, _)| variable.size == 0);
        for (kernel, (end, mut alignment)) in ends.0.into_iter().zip(alignments).enumerate() {
            let image = triomphe::Arc::make_mut(&mut module.kernels[kernel]);
            image.own_shared.clear();
            // What several kernels have is one section for debuggers, and every kernel is aligned as that is; where the launch
            // may append memory even kernels that have none.
            if common && image.is_kernel() {
                if has_dynamic {
                    image.shared_size.get_or_insert(0);
                }
                alignment = alignment.max(module.common_shared_alignment);
            }
            if image.shared_size.is_none() {
                continue;
            }
            let limit = u64::from(limits.static_shared_per_block);
            if end > limit {
                return Err(image_failure(&image.name, &ImageError::SharedTooLarge(end, limit)));
            }
            image.shared_size = Some(end as u32);
            image.shared_alignment = image.shared_alignment.max(alignment as u32);
        }
        Ok(places)
    }

    /// Puts the tables of functions into constant bank 2 of the kernels that reach them; the offset of each section's.
    fn place_tables(&self, module: &mut Module) -> Vec<u64> {
        let mut ends = Ends(vec![0; module.kernels.len()]);
        let mut places = vec![0; module.kernels.len()];
        let mut banks: Vec<Vec<u8>> = vec![Vec::new(); module.kernels.len()];
        for (at, image) in module.kernels.iter_mut().enumerate() {
            let image = triomphe::Arc::make_mut(image);
            let table = std::mem::take(&mut image.constant2);
            if table.is_empty() {
                continue;
            }
            let kernels = self.launches.of([at]);
            places[at] = ends.place(&kernels, table.len() as u64, TABLE_ALIGNMENT);
            for kernel in kernels {
                let bank = &mut banks[kernel];
                bank.resize(places[at] as usize, 0);
                bank.extend_from_slice(&table);
            }
        }
        for (image, bank) in module.kernels.iter_mut().zip(banks) {
            triomphe::Arc::make_mut(image).constant2 = bank;
        }
        places
    }

    /// Writes into code what is known of its addresses. What the loader completes stays as it is.
    fn complete(&self, shared: &SharedPlaces, tables: &[u64], module: &mut Module) -> Result<(), Failed> {
        let constants: BTreeMap<String, u64> =
            module.constants.iter().map(|constant| (constant.name.clone(), constant.offset)).collect();
        let constant_bytes = module.constants.iter().map(|constant| constant.offset + constant.size).max();
        let headers = self.place_headers(module)?;
        for (at, image) in module.kernels.iter_mut().enumerate() {
            let image = triomphe::Arc::make_mut(image);
            for mut relocation in std::mem::take(&mut image.relocations) {
                let name = match relocation.target {
                    SymbolRef::Named(name) => Some(image.names[name].clone()),
                    _ => None,
                };
                let named = |places: &BTreeMap<String, u64>| places.get(name.as_deref()?).copied();
                let in_shared = match relocation.target {
                    // Only what knows of a table of functions adds something to an address that is called.
                    SymbolRef::FunctionTable => continue,
                    SymbolRef::OwnShared(number) => shared.of_code.get(&(at, number)).copied(),
                    SymbolRef::OwnConstants => None,
                    _ => named(&shared.of_module),
                };
                image.addresses_shared |= in_shared.is_some();
                let known = match relocation.target {
                    SymbolRef::OwnConstants => Some((tables[at], 2)),
                    SymbolRef::ConstantSize => Some((constant_bytes.unwrap_or(0), 0)),
                    _ => in_shared
                        .map(|place| (place, 0))
                        .or_else(|| named(&constants).map(|place| (place, 3))),
                };
                let known =
                    known.or_else(|| headers.place(at, header(&relocation, image, &headers.by_name)?));
                if let Some((place, bank)) = known {
                    let value = place.wrapping_add_signed(relocation.addend);
                    let word = &mut image.code[self.words.index(relocation.offset) as usize];
                    *word = relocation.kind.with_bank(relocation.kind.patch(*word, value), bank);
                    continue;
                }
                relocation.kind = match relocation.kind {
                    RelocationKind::UnifiedLo => RelocationKind::Abs32Lo,
                    RelocationKind::UnifiedHi => RelocationKind::Abs32Hi,
                    kind => kind,
                };
                image.relocations.push(relocation);
            }
        }
        Ok(())
    }

    /// Places the slots with the indices of headers in bank 0, behind the parameters. What a function names has one place in all
    /// kernels that reach it.
    fn place_headers(&self, module: &mut Module) -> Result<HeaderPlaces, Failed> {
        let named = module.opaque.iter().enumerate().map(|(at, opaque)| (opaque.name.clone(), at));
        let mut places = HeaderPlaces { by_name: named.collect(), ..HeaderPlaces::default() };
        let mut wanted: BTreeMap<Header, (bool, BTreeSet<usize>)> = BTreeMap::new();
        let mut own: BTreeSet<(usize, usize)> = BTreeSet::new();
        for (at, image) in module.kernels.iter().enumerate() {
            for relocation in &image.relocations {
                match header(relocation, image, &places.by_name) {
                    Some(Header::Parameter(number)) => {
                        own.insert((at, number));
                    }
                    Some(header) => {
                        let (by_function, kernels) = wanted.entry(header).or_default();
                        *by_function |= !image.is_kernel();
                        kernels.extend(self.launches.of([at]));
                    }
                    None => {}
                }
            }
        }
        if wanted.is_empty() && own.is_empty() {
            return Ok(places);
        }
        let bank = self.chip.constant_bank().ok_or_else(|| Failed::Stage {
            code: Code::NotSupported,
            statement: None,
            message: "textures and surfaces: the chip's constant bank is not known".to_owned(),
        })?;
        let first = |image: &triomphe::Arc<KernelImage>| bank.header_slot(image.parameter_size, 0).into();
        let mut ends = Ends(module.kernels.iter().map(first).collect());
        let size = u64::from(HEADER_SLOT_BYTES);
        let mut slots = Vec::new();
        let (of_functions, of_kernels): (Vec<_>, Vec<_>) =
            wanted.into_iter().partition(|(_, (by_function, _))| *by_function);
        for (header, (_, kernels)) in of_functions {
            // Nobody reads the slot of a function that no kernel reaches.
            let place = match kernels.is_empty() {
                true => bank.header_slot(0, 0).into(),
                false => ends.place(&kernels, size, size),
            };
            places.of_functions.insert(header, place);
            slots.extend(kernels.into_iter().map(|kernel| (kernel, header, place)));
        }
        let of_kernels = of_kernels
            .into_iter()
            .flat_map(|(header, (_, kernels))| kernels.into_iter().map(move |kernel| (kernel, header)));
        let of_parameters = own.into_iter().map(|(kernel, number)| (kernel, Header::Parameter(number)));
        for (kernel, header) in of_kernels.chain(of_parameters) {
            let place = ends.place(&BTreeSet::from([kernel]), size, size);
            places.of_kernels.insert((kernel, header), place);
            slots.push((kernel, header, place));
        }
        for (kernel, header, place) in slots {
            let slot = HeaderSlot { offset: place as u32, header };
            triomphe::Arc::make_mut(&mut module.kernels[kernel]).headers.push(slot);
        }
        Ok(places)
    }

    /// Tells of each kernel what all the code of its launch needs: the stack, registers and barriers.
    fn tell_kernels(&self, calls: &CallGraph, module: &mut Module) {
        let index: BTreeMap<&str, usize> =
            module.kernels.iter().enumerate().map(|(at, code)| (code.name.as_str(), at)).collect();
        let frame = |at: usize| module.kernels[at].frame_size;
        let mut depths = vec![0u32; module.kernels.len()];
        let of_library = |at: usize| {
            let names = module.kernels[at].names.iter();
            let functions = names.filter(|name| LibraryFunction::named(name).is_some());
            functions.filter_map(|name| index.get(name.as_str()).copied())
        };
        // Callees come first. Recursion may need more than each function once: there the driver's own limit counts.
        for members in &calls.components {
            let members: Vec<usize> = members.iter().filter_map(|name| index.get(&**name).copied()).collect();
            let own: u32 = members.iter().map(|&at| frame(at)).sum();
            let callees = members.iter().flat_map(|&at| calls.callees.get(module.kernels[at].name.as_str()));
            let callees = callees.flatten().filter_map(|name| index.get(&**name).copied());
            let below = callees.filter(|callee| !members.contains(callee)).map(|callee| depths[callee]);
            let library = members.iter().flat_map(|&at| of_library(at)).map(frame);
            let below = below.chain(library).max();
            let routines = members.iter().flat_map(|&at| &module.kernels[at].functions);
            let routines = routines.map(|routine| routine.frame_size).max();
            let depth = own + below.max(routines).unwrap_or(0);
            members.iter().for_each(|&at| depths[at] = depth);
        }
        let needs: Vec<(u32, u8)> =
            module.kernels.iter().map(|code| (code.registers, code.barriers)).collect();
        for (at, (registers, barriers)) in needs.into_iter().enumerate() {
            for &kernel in &self.launches.0[at] {
                let image = triomphe::Arc::make_mut(&mut module.kernels[kernel]);
                image.registers = image.registers.max(registers);
                image.barriers = image.barriers.max(barriers);
                image.stack_size = Some(depths[kernel]);
            }
        }
    }
}
