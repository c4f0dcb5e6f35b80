//! From functions to a module: who calls whom, where variables lie, kernels laid out, the container.
//!
//! It is here because these questions concern several units at once; each is cut so that an edit of one unit changes
//! as few answers as possible: layout knows no initial value, a kernel knows only what it reaches.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use oriole_cubin::layout::pack;
use oriole_cubin::{
    Binding, Bound, Form, KernelImage, Module, NO_OFFSET, OpaqueParameter, ParameterSpace, Pointer, Slot,
    SymbolRef, TensorMemory, Tool, WriteError,
};
use oriole_diagnostics::Code;
use oriole_hir::{Body, GlobalInfo, InitialValue, Linkage, Statement, VariableKind};
use oriole_inputs::{Config, Db, FunctionUnit, SourceFile};
use oriole_options::Linking;
use oriole_ori::SymbolKind;
use oriole_pipeline::Routine;
use oriole_pipeline::image::{
    DYNAMIC_ALIGNMENT, ImageError, LinkedFunction, ModuleSymbols, ModuleVariable, VariableSpace,
    function_value,
};
use oriole_ptx::word::{CtaGroup, TensorOrder};
use oriole_ptx::{Space, Word};
use oriole_syntax::UnitKind;

use crate::driver::Output;
use crate::failure::{Failed, Staged, guarded};
use crate::graph;
use crate::module::function_unit;
use crate::{relocatable, separate, stage};

/// Functions that the driver links in, so that a module may call them without a definition.
const DRIVER_FUNCTIONS: [&str; 6] =
    ["vprintf", "malloc", "free", "__assertfail", "cudaGetParameterBuffer", "cudaLaunchDevice"];

/// Who calls whom.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CallGraph {
    /// For each function with code, by name: the functions that it calls or, through a pointer, may call.
    pub callees: BTreeMap<Arc<str>, Vec<Arc<str>>>,
    /// Strongly connected components, callees before callers; names within one are sorted.
    pub components: Vec<Vec<Arc<str>>>,
    /// For each function with code the kernels that reach it, sorted; functions that the same ones reach share a list.
    pub kernels: BTreeMap<Arc<str>, Arc<[Arc<str>]>>,
}

impl CallGraph {
    /// Whether the function can call itself, directly or through others.
    pub fn is_recursive(&self, name: &str) -> bool {
        self.components.iter().any(|component| {
            component.iter().any(|member| **member == *name)
                && (component.len() > 1
                    || self
                        .callees
                        .get(name)
                        .is_some_and(|callees| callees.iter().any(|callee| **callee == *name)))
        })
    }
}

pub(crate) fn call_graph(db: &dyn Db, file: SourceFile) -> CallGraph {
    let mut callees = BTreeMap::new();
    let mut entries = BTreeSet::new();
    for &unit in graph::index(db, file).functions.iter().filter(|unit| unit.has_code(db)) {
        if unit.kind(db) == UnitKind::Entry {
            entries.insert(unit.name(db).clone());
        }
        let uses = graph::uses(db, unit);
        let called = uses.called.iter().filter_map(|name| function_unit(db, file, name));
        let mut names: Vec<Arc<str>> = called.map(|unit| unit.name(db).clone()).collect();
        if uses.calls_through_pointers {
            names.extend_from_slice(graph::addressed_functions(db, file));
        }
        callees.insert(unit.name(db).clone(), names);
    }
    let components = components(&callees);
    let kernels = kernels(&callees, &components, &entries);
    CallGraph { callees, components, kernels }
}

/// For each function the kernels that reach it: callers are done before what they call.
fn kernels(
    callees: &BTreeMap<Arc<str>, Vec<Arc<str>>>,
    components: &[Vec<Arc<str>>],
    entries: &BTreeSet<Arc<str>>,
) -> BTreeMap<Arc<str>, Arc<[Arc<str>]>> {
    let members = components.iter().enumerate();
    let component: BTreeMap<&str, usize> =
        members.flat_map(|(at, names)| names.iter().map(move |name| (&**name, at))).collect();
    // The lists that come to each component from its callers, and what reaches it.
    let mut coming: Vec<Vec<Arc<[Arc<str>]>>> = vec![Vec::new(); components.len()];
    let mut reaching = BTreeMap::new();
    let none: Arc<[Arc<str>]> = Arc::default();
    for (at, names) in components.iter().enumerate().rev() {
        let mut lists = std::mem::take(&mut coming[at]);
        lists.sort_unstable();
        lists.dedup();
        let calls_itself = names.len() > 1 || callees[&names[0]].contains(&names[0]);
        let own = names.iter().filter(|name| entries.contains(*name));
        let own: Vec<Arc<str>> = own.cloned().collect();
        let joined = |own: &[Arc<str>]| -> Arc<[Arc<str>]> {
            match (own, lists.as_slice()) {
                ([], []) => none.clone(),
                ([], [only]) => only.clone(),
                _ => {
                    let all: BTreeSet<&Arc<str>> =
                        own.iter().chain(lists.iter().flat_map(|it| it.iter())).collect();
                    all.into_iter().cloned().collect()
                }
            }
        };
        let with_own = joined(&own);
        let reach = if calls_itself { with_own.clone() } else { joined(&[]) };
        for name in names {
            reaching.insert(name.clone(), reach.clone());
            for callee in &callees[name] {
                if let Some(&callee) = component.get(&**callee).filter(|&&callee| callee != at)
                    && coming[callee].last() != Some(&with_own)
                {
                    coming[callee].push(with_own.clone());
                }
            }
        }
    }
    reaching
}

pub(crate) fn addressed_functions(db: &dyn Db, file: SourceFile) -> Vec<Arc<str>> {
    let index = graph::index(db, file);
    let mut named = BTreeSet::new();
    let mut add = |name: &str| {
        // An alias is another name of the same address.
        named.extend(function_unit(db, file, name).map(|unit| unit.name(db).clone()));
    };
    for &unit in index.functions.iter().filter(|unit| unit.has_code(db)) {
        graph::uses(db, unit).addressed.iter().for_each(|name| add(name));
    }
    for &unit in &index.variables {
        graph::initial_functions(db, unit).iter().for_each(|name| add(name));
    }
    let functions = index.functions.iter().filter(|unit| unit.kind(db) == UnitKind::Function);
    functions.map(|unit| unit.name(db)).filter(|name| named.contains(*name)).cloned().collect()
}

pub(crate) fn launched_kernels(db: &dyn Db, file: SourceFile) -> Vec<Arc<str>> {
    let functions = &graph::index(db, file).functions;
    let mut named = BTreeSet::new();
    for &unit in functions.iter().filter(|unit| unit.has_code(db)) {
        let addressed = graph::uses(db, unit).addressed.iter();
        named.extend(addressed.filter_map(|name| Some(function_unit(db, file, name)?.name(db).clone())));
    }
    let kernels = functions.iter().filter(|unit| unit.kind(db) == UnitKind::Entry);
    kernels.map(|unit| unit.name(db)).filter(|name| named.contains(*name)).cloned().collect()
}

/// Tarjan's algorithm with an explicit stack, so that a long chain of calls cannot exhaust ours.
fn components(callees: &BTreeMap<Arc<str>, Vec<Arc<str>>>) -> Vec<Vec<Arc<str>>> {
    let names: Vec<&Arc<str>> = callees.keys().collect();
    let number: BTreeMap<&str, usize> = names.iter().enumerate().map(|(at, name)| (&***name, at)).collect();
    let edges: Vec<Vec<usize>> = names
        .iter()
        .map(|name| callees[*name].iter().filter_map(|callee| number.get(&**callee).copied()).collect())
        .collect();
    const UNSEEN: usize = usize::MAX;
    let (mut order, mut low) = (vec![UNSEEN; names.len()], vec![0; names.len()]);
    let (mut open, mut is_open, mut found) = (Vec::new(), vec![false; names.len()], Vec::new());
    let mut next = 0;
    for root in 0..names.len() {
        let mut path = vec![(root, 0)];
        while let Some((at, edge)) = path.pop() {
            if edge == 0 {
                if order[at] != UNSEEN {
                    continue;
                }
                order[at] = next;
                low[at] = next;
                next += 1;
                open.push(at);
                is_open[at] = true;
            } else {
                // Back from a callee.
                let callee = edges[at][edge - 1];
                if is_open[callee] {
                    low[at] = low[at].min(low[callee]);
                }
            }
            if let Some(&callee) = edges[at].get(edge) {
                path.push((at, edge + 1));
                if order[callee] == UNSEEN {
                    path.push((callee, 0));
                }
            } else if low[at] == order[at] {
                let start = open.iter().rposition(|&member| member == at).unwrap_or(0);
                let mut members: Vec<Arc<str>> = open
                    .split_off(start)
                    .into_iter()
                    .map(|member| {
                        is_open[member] = false;
                        names[member].clone()
                    })
                    .collect();
                members.sort();
                found.push(members);
            }
        }
    }
    found
}

pub(crate) fn reaching_kernels<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Vec<FunctionUnit<'db>> {
    let file = unit.file(db);
    let index = graph::index(db, file);
    let kernels = graph::call_graph(db, file).kernels.get(&**unit.name(db));
    let units = kernels.into_iter().flat_map(|names| names.iter()).filter_map(|name| index.definition(name));
    units.filter(|unit| unit.kind(db) == UnitKind::Entry).collect()
}

/// Where the variables of a module lie.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Layout {
    /// The variables in file order, and what else the code of the module may name.
    pub symbols: ModuleSymbols,
    /// Their places in that list, by name.
    by_name: BTreeMap<String, usize>,
}

pub(crate) fn module_layout(db: &dyn Db, file: SourceFile) -> Layout {
    let index = graph::index(db, file);
    let mut symbols = ModuleSymbols::default();
    let mut constants = Vec::new();
    let mut add = |name: &str, info: &GlobalInfo| {
        if info.ty.is_opaque() {
            // It lies in no memory.
            symbols.opaque.push(name.to_string());
            return;
        }
        let defined = info.linkage != Some(Linkage::Extern);
        let space = match info.space {
            Space::Shared => VariableSpace::Shared,
            Space::Constant if defined => {
                constants.push((info.size, u64::from(info.align)));
                VariableSpace::Constant(0)
            }
            Space::Global if defined => {
                symbols.globals += 1;
                VariableSpace::Global(symbols.globals - 1)
            }
            _ => return,
        };
        let (size, align) = (info.size, u64::from(info.align));
        symbols.variables.push(ModuleVariable { name: name.to_string(), space, size, align });
    };
    for &unit in &index.variables {
        let globals = graph::globals(db, unit).iter();
        globals
            .filter(|(name, _)| index.definition(name) == Some(unit))
            .for_each(|(name, info)| add(name, info));
    }
    for &unit in index.functions.iter().filter(|unit| unit.has_code(db)) {
        graph::statics(db, unit).iter().for_each(|variable| add(&variable.name, &variable.info));
    }
    let (offsets, constant_bytes, _) = pack(&constants);
    symbols.constant_bytes = constant_bytes;
    let mut offsets = offsets.into_iter();
    for variable in &mut symbols.variables {
        if let VariableSpace::Constant(offset) = &mut variable.space {
            *offset = offsets.next().unwrap_or(0);
        }
    }
    let called = &graph::call_graph(db, file).callees;
    let external = |unit: &&FunctionUnit<'_>| {
        let name: &str = unit.name(db);
        DRIVER_FUNCTIONS.contains(&name)
            && index.definition(name) == Some(**unit)
            && called.values().flatten().any(|callee| **callee == *name)
    };
    let externs =
        index.functions.iter().filter(|unit| unit.kind(db) == UnitKind::Declaration).filter(external);
    symbols.externs = externs.map(|unit| unit.name(db).to_string()).collect();
    let names = symbols.variables.iter().enumerate().rev();
    let by_name = names.map(|(at, variable)| (variable.name.clone(), at)).collect();
    Layout { symbols, by_name }
}

pub(crate) fn module_data(db: &dyn Db, file: SourceFile) -> Vec<oriole_hir::ModuleVariable> {
    let index = graph::index(db, file);
    let functions = index.functions.iter().filter(|unit| unit.has_code(db));
    let statics = functions.flat_map(|&unit| graph::statics(db, unit).iter().cloned());
    let units = index.variables.iter();
    let variables =
        units.flat_map(|&unit| graph::variables(db, unit).variables.iter().map(move |it| (unit, it)));
    variables
        .filter(|(unit, variable)| index.definition(&variable.name) == Some(*unit))
        .map(|(_, variable)| oriole_hir::ModuleVariable {
            // Places stop here: a comment above a variable changes no container.
            name_span: oriole_diagnostics::Span::default(),
            ..variable.clone()
        })
        .chain(statics)
        .collect()
}

/// The entry of one variable in the layout.
pub(crate) fn placed(db: &dyn Db, file: SourceFile, name: &str) -> Option<ModuleVariable> {
    let layout = graph::module_layout(db, file);
    layout.by_name.get(name).and_then(|&at| layout.symbols.variables.get(at)).cloned()
}

/// What a kernel reaches, and where what they name lies. Only the entries of these names are read, so that a new
/// variable lays out no kernel again; which functions have an address is read only where one is taken or followed.
struct Reached<'db> {
    functions: BTreeMap<String, &'db LinkedFunction>,
    symbols: ModuleSymbols,
}

impl Reached<'_> {
    /// Reads which slots of constant bank 4 are there for global variables and functions of the driver.
    fn know_slots(&mut self, db: &dyn Db, file: SourceFile) {
        let layout = &graph::module_layout(db, file).symbols;
        self.symbols.externs.clone_from(&layout.externs);
        self.symbols.globals = layout.globals;
    }

    /// Notes what the name stands for; whether it is an alias.
    fn alias(&mut self, name: String, meant: &str) -> bool {
        let is_alias = name != meant;
        if is_alias {
            self.symbols.aliases.insert(name, meant.to_owned());
        }
        is_alias
    }
}

fn reach<'db>(db: &'db dyn Db, entry: FunctionUnit<'db>, config: Config) -> Result<Reached<'db>, Failed> {
    let file = entry.file(db);
    let linking = graph::lower_options(db, config).linking;
    let symbols = ModuleSymbols { extensible: linking == Linking::Extensible, ..ModuleSymbols::default() };
    let mut reached = Reached { functions: BTreeMap::new(), symbols };
    let mut open = vec![entry];
    let mut functions = BTreeSet::from([entry.name(db).to_string()]);
    let mut seen = BTreeSet::new();
    while let Some(unit) = open.pop() {
        let linked = match graph::encoded(db, unit, config) {
            Ok(linked) => &**linked,
            Err(failed) if unit == entry => return Err(failed.clone()),
            // A callee's failure is reported where the callee is.
            Err(_) => return Err(Failed::Diagnosed),
        };
        reached.functions.insert(unit.name(db).to_string(), linked);
        let through_pointers = linked.calls_through_pointers();
        let is_kernel =
            |name: &str| function_unit(db, file, name).is_some_and(|unit| unit.kind(db) == UnitKind::Entry);
        if reached.symbols.functions.is_empty()
            && (through_pointers || linked.addressed().any(|name| !is_kernel(name)))
        {
            let addressed = graph::addressed_functions(db, file);
            reached.symbols.functions = addressed.iter().map(|name| name.to_string()).collect();
        }
        for name in linked.called_routines() {
            let Some(routine) = Routine::named(name).filter(|_| functions.insert(name.to_owned())) else {
                continue;
            };
            let linked = graph::routine(db, routine, config).as_ref().map_err(Clone::clone)?;
            reached.functions.insert(name.to_owned(), linked);
        }
        let pointed = if through_pointers { reached.symbols.functions.clone() } else { Vec::new() };
        for name in linked.called().map(str::to_owned).chain(pointed) {
            if !functions.insert(name.clone()) {
                continue;
            }
            let Some(unit) = function_unit(db, file, &name).filter(|unit| unit.has_code(db)) else {
                continue;
            };
            if reached.alias(name, unit.name(db)) && !functions.insert(unit.name(db).to_string()) {
                continue;
            }
            open.push(unit);
        }
        for name in linked.addressed() {
            if let Some(unit) = function_unit(db, file, name) {
                reached.alias(name.to_owned(), unit.name(db));
                if unit.kind(db) == UnitKind::Entry {
                    reached.symbols.kernels.insert(name.to_owned());
                }
            }
        }
        if linking == Linking::Whole
            && !reached.symbols.kernels.is_empty()
            && reached.symbols.launched.is_empty()
        {
            let launched = graph::launched_kernels(db, file).iter();
            reached.symbols.launched = launched.map(|name| name.to_string()).collect();
            reached.know_slots(db, file);
        }
        for symbol in linked.symbols.iter().filter(|symbol| seen.insert(symbol.name.clone())) {
            match symbol.kind {
                SymbolKind::Shared | SymbolKind::Global | SymbolKind::Constant => {
                    let placed = graph::placed(db, file, Arc::from(symbol.name.as_str()));
                    reached.symbols.variables.extend(placed.clone());
                }
                SymbolKind::Extern if reached.symbols.externs.is_empty() => reached.know_slots(db, file),
                SymbolKind::Opaque if reached.symbols.opaque.is_empty() => {
                    reached.symbols.opaque.clone_from(&graph::module_layout(db, file).symbols.opaque);
                }
                SymbolKind::ConstantSize => {
                    reached.symbols.constant_bytes = *graph::constant_bytes(db, file);
                }
                SymbolKind::Opaque
                | SymbolKind::OpaqueParameter(_)
                | SymbolKind::DescriptorSize
                | SymbolKind::Extern
                | SymbolKind::Outside
                | SymbolKind::Function
                | SymbolKind::Helper
                | SymbolKind::Arguments
                | SymbolKind::Local(_) => {}
            }
        }
    }
    // In the order of names: no order of visits may show in a layout.
    reached.symbols.variables.sort_by(|left, right| left.name.cmp(&right.name));
    Ok(reached)
}

pub(crate) fn kernel_image<'db>(
    db: &'db dyn Db,
    unit: FunctionUnit<'db>,
    config: Config,
) -> Staged<KernelImage> {
    let body = graph::body(db, unit).as_deref().ok_or(Failed::Diagnosed)?;
    if graph::lowering(db, unit.file(db), config).separate() {
        return relocatable::section_image(db, unit, config, body);
    }
    let target = stage::target_of(db, config)?;
    let name: &str = unit.name(db);
    let weak = graph::linkage(db, unit) == Some(Linkage::Weak);
    let reached = reach(db, unit, config)?;
    guarded("kernel_image", || {
        let find = |name: &str| reached.functions.get(name).copied();
        let mut image = oriole_pipeline::image::kernel_image(target, name, &reached.symbols, &find)
            .map_err(|error| image_failure(name, &error))?;
        image.binding = if weak { Binding::Weak } else { Binding::Global };
        describe(body, target.chip, &mut image);
        Ok(image)
    })
}

pub(crate) fn image_failure(kernel: &str, error: &ImageError) -> Failed {
    let code = match error {
        ImageError::NoAddress(_) | ImageError::NoRelocation(_) => Code::NotSupported,
        ImageError::MissingFunction(_) | ImageError::MissingVariable(_) => Code::UnresolvedExternal,
        ImageError::SharedTooLarge(..) => Code::TooMuchSharedMemory,
        ImageError::TooManySlots(_) | ImageError::TablesTooLarge(_) => Code::TooLarge,
        ImageError::Internal(_) => Code::InternalError,
    };
    Failed::Stage { code, statement: None, message: format!("`{kernel}`: {error}") }
}

/// What only the source says of a kernel.
pub(crate) fn describe(body: &Body, chip: oriole_chip::Chip, image: &mut KernelImage) {
    image.parameters.clear();
    image.opaque_parameters.clear();
    image.parameter_size = 0;
    for (number, parameter) in body.parameters.iter().enumerate() {
        if let Some(kind) = parameter.ty.opaque_kind() {
            let variable = body.variable_of(VariableKind::Parameter(number as u32));
            let name = variable.map_or_else(String::new, |id| body.variables[id].name.clone());
            image.opaque_parameters.push(OpaqueParameter { number, name });
            image.parameters.push(oriole_cubin::Parameter {
                offset: NO_OFFSET,
                space: ParameterSpace::Opaque(kind),
                ..oriole_cubin::Parameter::default()
            });
            continue;
        }
        let size = parameter.size() as u32;
        image.parameter_size = parameter.offset + size;
        image.parameters.push(oriole_cubin::Parameter {
            offset: parameter.offset,
            size,
            pointee_alignment: parameter.pointer.map_or(0, |(_, align)| align),
            space: match parameter.pointer {
                None => ParameterSpace::None,
                Some((None, _)) => ParameterSpace::Generic,
                Some((Some(space), _)) => match space {
                    Space::Global => ParameterSpace::Global,
                    Space::Shared => ParameterSpace::Shared,
                    Space::Constant => ParameterSpace::Const,
                    Space::Local => ParameterSpace::Local,
                    _ => ParameterSpace::Generic,
                },
            },
        });
    }
    let directives = &body.directives;
    image.bound = match (directives.reqntid, directives.maxntid) {
        (Some(threads), _) => Bound::Exactly(threads),
        (None, Some(threads)) => Bound::AtMost(threads),
        (None, None) => Bound::None,
    };
    image.cluster_size = directives.reqnctapercluster;
    image.explicit_cluster = directives.explicitcluster;
    image.max_cluster_rank = directives.maxclusterrank;
    image.blocks_are_clusters = directives.blocksareclusters;
    let changes = |statement: &Statement| matches!(statement, Statement::Instruction(i) if i.opcode == oriole_ptx::Opcode::Setmaxnreg);
    image.reconfigures_registers = directives.tell_registers() && body.statements.iter().any(changes);
    image.tensor_memory = tensor_memory(body);
    if image.reconfigures_registers {
        // What the bounds allow, which may be more than a thread starts with.
        let all = u16::from(chip.register_files().general.count);
        image.max_registers = oriole_lower::register_cap(body, chip).filter(|&cap| cap < all);
    }
}

/// What the source says of tensor memory.
fn tensor_memory(body: &Body) -> TensorMemory {
    let mut found = TensorMemory::default();
    for statement in &body.statements {
        let Statement::Instruction(i) = statement else { continue };
        if i.opcode != oriole_ptx::Opcode::Tcgen05 {
            continue;
        }
        let has = |word| i.modifiers.has(word);
        let group = i.modifiers.at();
        let closes = has(Word::RelinquishAllocPermit);
        found.alone |= group == Some(CtaGroup::CtaGroup1);
        found.in_pairs |= group == Some(CtaGroup::CtaGroup2);
        found.takes_columns |= closes || has(Word::Alloc) || has(Word::Dealloc);
        found.reaches |= !closes && i.modifiers.at::<TensorOrder>().is_none();
    }
    found
}

pub(crate) fn cubin(db: &dyn Db, file: SourceFile, config: Config) -> Staged<Vec<u8>> {
    let linking = graph::lower_options(db, config).linking;
    if graph::has_errors(db, file, Output::of(db, file, config)) {
        return Err(Failed::Diagnosed);
    }
    let chip = graph::chip_info(db, config);
    let header = graph::module_header(db, file);
    let mut module = Module {
        sm: u16::from(chip.number()),
        accelerated: chip.variant() == oriole_chip::Variant::Accelerated,
        virtual_sm: header.target.map_or(0, |target| target.number()),
        tool: Tool {
            name: "oriole".to_owned(),
            version: concat!("Oriole ", env!("CARGO_PKG_VERSION")).to_owned(),
            build: String::new(),
            arguments: format!("-arch {chip}{}", argument_of(linking)),
        },
        form: match linking {
            Linking::Whole => Form::Whole,
            Linking::Extensible => Form::Extensible,
            Linking::Relocatable => Form::Relocatable,
        },
        ..Module::default()
    };
    match linking {
        Linking::Relocatable => return relocatable::cubin(db, file, config, module),
        Linking::Extensible => has_known_pointers(db, file)?,
        Linking::Whole => {}
    }
    if graph::lowering(db, file, config).separate() {
        return separate::cubin(db, file, config, module);
    }
    if linking == Linking::Whole {
        module.externs.clone_from(&graph::module_layout(db, file).symbols.externs);
    }
    for &unit in graph::index(db, file).functions.iter().filter(|unit| unit.kind(db) == UnitKind::Entry) {
        module.kernels.push(graph::kernel_image(db, unit, config).clone()?);
    }
    module.debug = graph::debug_sections(db, file, config).as_ref().map_err(Clone::clone)?.sections.clone();
    let symbols = &graph::module_layout(db, file).symbols;
    let data = graph::module_data(db, file);
    let functions = function_values(db, file, data);
    if linking == Linking::Extensible {
        module.undefined = relocatable::undefined_in_programs(db, file, &module, data);
    }
    let launches = module.kernels.iter().any(|kernel| !kernel.launched.is_empty());
    let launched = if launches { &graph::launched_kernels(db, file)[..] } else { &[] };
    guarded("cubin", || {
        let known = KnownAddresses { functions: &functions, constants: BTreeMap::new() };
        let dynamic = place_variables(symbols, data, known, &mut module)?;
        if let Some(alignment) = dynamic {
            // Every kernel of a module that declares a dynamic array may be launched with dynamic shared memory; what the
            // system appends must then be aligned, whether this kernel names the array or not.
            for kernel in &mut module.kernels {
                let kernel = triomphe::Arc::make_mut(kernel);
                kernel.shared_size = Some(
                    kernel.shared_size.unwrap_or(0).checked_next_multiple_of(alignment).unwrap_or(u32::MAX),
                );
                kernel.shared_alignment = kernel.shared_alignment.max(alignment);
            }
        }
        if linking == Linking::Whole {
            let globals = (0..module.globals.len()).map(SymbolRef::Global);
            let externs = (0..module.externs.len()).map(SymbolRef::Extern);
            let place = |name: &Arc<str>| module.kernels.iter().position(|kernel| kernel.name == **name);
            let launched = launched.iter().filter_map(place).map(SymbolRef::Kernel);
            let slots = globals.chain(externs).chain(launched);
            module.slots = slots.map(|target| Slot { target, addend: 0 }).collect();
        }
        oriole_cubin::write(&module).map_err(|error| write_failure(&error))
    })
}

/// How an option of the command line says what is left to a linker.
fn argument_of(linking: Linking) -> &'static str {
    match linking {
        Linking::Whole => "",
        Linking::Extensible => " -ewp",
        Linking::Relocatable => " -c",
    }
}

/// Refuses initial values that are addresses of functions which other files define: pointers are numbers of the module in
/// extensible programs, and those functions have none.
fn has_known_pointers(db: &dyn Db, file: SourceFile) -> Result<(), Failed> {
    let initial = graph::module_data(db, file).iter().filter_map(|variable| variable.initial.as_ref());
    for relocation in initial.flat_map(|initial| &initial.relocations).filter(|it| it.function) {
        let name = &relocation.symbol;
        if function_unit(db, file, name).is_some_and(|unit| !unit.has_code(db)) {
            return Err(Failed::Stage {
                code: Code::OpenAddress,
                statement: None,
                message: format!("the address of `{name}`, which another file defines, is not known"),
            });
        }
    }
    Ok(())
}

/// The addresses of the functions that initial values name. Kernels and what has no code are not among them.
fn function_values(
    db: &dyn Db,
    file: SourceFile,
    data: &[oriole_hir::ModuleVariable],
) -> BTreeMap<String, u64> {
    let initial = data.iter().filter_map(|variable| variable.initial.as_ref());
    let named = initial.flat_map(|initial| initial.relocations.iter().filter(|it| it.function));
    let names: BTreeSet<&str> = named.map(|relocation| relocation.symbol.as_str()).collect();
    if names.is_empty() {
        return BTreeMap::new();
    }
    let addressed = graph::addressed_functions(db, file).iter().enumerate();
    let values: BTreeMap<&str, u64> = addressed.map(|(at, name)| (&**name, function_value(at))).collect();
    let value = |name: &str| values.get(&**function_unit(db, file, name)?.name(db)).copied();
    names.into_iter().filter_map(|name| Some((name.to_owned(), value(name)?))).collect()
}

/// Puts the variables into the module; gives the largest alignment of arrays in shared memory without a size.
pub(crate) fn place_variables(
    layout: &ModuleSymbols,
    data: &[oriole_hir::ModuleVariable],
    mut known: KnownAddresses<'_>,
    module: &mut Module,
) -> Result<Option<u32>, Failed> {
    let values: BTreeMap<&str, &oriole_hir::ModuleVariable> =
        data.iter().map(|variable| (variable.name.as_str(), variable)).collect();
    let linked = module.form == Form::Relocatable;
    let mut symbols = BTreeMap::new();
    // Nothing else names code and what other files define.
    let initial = data.iter().filter_map(|variable| variable.initial.as_ref());
    if initial.flat_map(|initial| &initial.relocations).next().is_some() {
        let code = module.kernels.iter().enumerate();
        symbols.extend(code.map(|(at, code)| (code.name.clone(), SymbolRef::Kernel(at))));
        let others = module.undefined.iter().enumerate();
        symbols.extend(others.map(|(at, other)| (other.name.clone(), SymbolRef::Undefined(at))));
    }
    let mut dynamic = None;
    for placed in &layout.variables {
        let Some(value) = values.get(placed.name.as_str()) else { continue };
        let variable = oriole_cubin::Variable {
            name: placed.name.clone(),
            binding: match value.info.linkage {
                Some(Linkage::Common) if module.form != Form::Whole => Binding::Common,
                Some(Linkage::Visible | Linkage::Common | Linkage::Extern) => Binding::Global,
                Some(Linkage::Weak) => Binding::Weak,
                None => Binding::Local,
            },
            managed: value.managed,
            size: placed.size,
            alignment: placed.align,
            bytes: value.initial.as_ref().map(|initial| initial.bytes.clone()),
            ..oriole_cubin::Variable::default()
        };
        match placed.space {
            VariableSpace::Shared if linked => {
                if value.info.linkage != Some(Linkage::Extern) {
                    module.shared.push(variable);
                }
            }
            // A size of 0 is that of a dynamic array.
            VariableSpace::Shared if placed.size == 0 => {
                dynamic = dynamic.max(Some(placed.align.max(DYNAMIC_ALIGNMENT) as u32));
            }
            VariableSpace::Shared => {}
            VariableSpace::Constant(offset) => {
                if !linked {
                    known.constants.insert(placed.name.clone(), offset);
                }
                symbols.insert(placed.name.clone(), SymbolRef::Constant(module.constants.len()));
                module.constants.push(oriole_cubin::Variable { offset, ..variable });
            }
            VariableSpace::Global(_) => {
                symbols.insert(placed.name.clone(), SymbolRef::Global(module.globals.len()));
                module.globals.push(variable);
            }
        }
    }
    let opaque = data.iter().filter_map(|variable| {
        Some(oriole_cubin::Opaque { name: variable.name.clone(), kind: variable.info.ty.opaque_kind()? })
    });
    module.opaque.extend(opaque);
    for variable in module.globals.iter_mut().chain(&mut module.constants) {
        if let Some(initial) = values.get(variable.name.as_str()).and_then(|value| value.initial.as_ref()) {
            if let Some(bytes) = &mut variable.bytes {
                known.write(initial, bytes);
            }
            variable.pointers = pointers(&variable.name, initial, &known, &symbols)?;
        }
    }
    Ok(dynamic)
}

/// Addresses that are numbers when the module is laid out: they are written into initial values, and no loader
/// completes them.
pub(crate) struct KnownAddresses<'a> {
    /// Values of functions, by name.
    pub functions: &'a BTreeMap<String, u64>,
    /// Offsets of `.const` variables in their bank, by name. A generic address of one is for the loader.
    pub constants: BTreeMap<String, u64>,
}

impl KnownAddresses<'_> {
    fn of(&self, relocation: &oriole_hir::Relocation) -> Option<u64> {
        let constant = || self.constants.get(&relocation.symbol).filter(|_| !relocation.generic);
        self.functions.get(&relocation.symbol).or_else(constant).copied()
    }

    fn write(&self, initial: &InitialValue, bytes: &mut [u8]) {
        for relocation in &initial.relocations {
            let Some(value) = self.of(relocation) else { continue };
            let value = value.wrapping_add_signed(relocation.addend);
            let part = relocation.byte.map_or(value, |byte| value >> (8 * byte) & 0xff);
            let written = bytes.iter_mut().skip(relocation.offset as usize).take(relocation.width.into());
            written.zip(part.to_le_bytes()).for_each(|(byte, of_part)| *byte = of_part);
        }
    }
}

/// What the loader completes of an initial value.
fn pointers(
    variable: &str,
    initial: &InitialValue,
    known: &KnownAddresses<'_>,
    symbols: &BTreeMap<String, SymbolRef>,
) -> Result<Vec<Pointer>, Failed> {
    let pointer = |relocation: &oriole_hir::Relocation| {
        let fail = |code, what: String| {
            let message = format!("the initial value of `{variable}` {what}");
            Failed::Stage { code, statement: None, message }
        };
        if relocation.width != 8 && relocation.byte.is_none() {
            return Err(fail(Code::NotSupported, "has an address in fewer than 8 bytes".to_owned()));
        }
        let target = *symbols.get(&relocation.symbol).ok_or_else(|| {
            fail(
                Code::NotSupported,
                format!("names `{}`, which has no address in the module", relocation.symbol),
            )
        })?;
        let &oriole_hir::Relocation { offset, addend, generic, byte, .. } = relocation;
        Ok(Pointer { offset, target, addend, generic, byte })
    };
    initial.relocations.iter().filter(|it| known.of(it).is_none()).map(pointer).collect()
}

pub(crate) fn write_failure(error: &WriteError) -> Failed {
    let code = match error {
        WriteError::UnsupportedChip(_) => Code::NotSupportedTarget,
        WriteError::TooLarge { what, .. } if what.contains("constant") => Code::TooMuchConstantMemory,
        WriteError::TooLarge { .. } => Code::TooLarge,
        WriteError::BadReference { .. } => Code::InternalError,
        WriteError::BadInitializer { .. } => Code::InvalidInitializer,
    };
    Failed::Stage { code, statement: None, message: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph_of(edges: &[(&str, &[&str])]) -> CallGraph {
        let callees: BTreeMap<Arc<str>, Vec<Arc<str>>> = edges
            .iter()
            .map(|(name, callees)| {
                (Arc::from(*name), callees.iter().map(|callee| Arc::from(*callee)).collect())
            })
            .collect();
        let components = components(&callees);
        let entries = BTreeSet::from([Arc::from("k"), Arc::from("l")]);
        CallGraph { kernels: kernels(&callees, &components, &entries), components, callees }
    }

    #[test]
    fn components_come_callees_first() {
        let graph =
            graph_of(&[("k", &["a", "d"]), ("a", &["b"]), ("b", &["a", "c"]), ("c", &[]), ("d", &["d"])]);
        let components: Vec<String> = graph.components.iter().map(|members| members.join("+")).collect();
        assert_eq!(components, ["c", "a+b", "d", "k"]);
        let recursive: Vec<bool> = ["k", "a", "b", "c", "d"].map(|name| graph.is_recursive(name)).to_vec();
        assert_eq!(recursive, [false, true, true, false, true]);
    }

    #[test]
    fn kernels_reach_what_their_callees_call() {
        let edges: &[(&str, &[&str])] = &[
            ("k", &["a", "d"]),
            ("a", &["b"]),
            ("b", &["a", "c"]),
            ("c", &[]),
            ("d", &["d"]),
            ("e", &["c"]),
            ("l", &["b", "l"]),
        ];
        let graph = graph_of(edges);
        for (name, reached_by) in
            [("k", ""), ("a", "k l"), ("b", "k l"), ("c", "k l"), ("d", "k"), ("e", ""), ("l", "l")]
        {
            let found: Vec<&str> = graph.kernels[name].iter().map(|kernel| &**kernel).collect();
            assert_eq!(found.join(" "), reached_by, "{name}");
        }
        assert!(Arc::ptr_eq(&graph.kernels["a"], &graph.kernels["b"]));
    }

    #[test]
    fn a_long_chain_is_harmless() {
        let names: Vec<String> = (0..50_000).map(|at| format!("f{at:05}")).collect();
        let callees =
            names.iter().zip(names.iter().skip(1)).map(|(f, g)| (Arc::from(&**f), vec![Arc::from(&**g)]));
        assert_eq!(components(&callees.collect()).len(), names.len() - 1);
    }
}
