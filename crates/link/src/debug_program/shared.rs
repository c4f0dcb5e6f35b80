//! The shared variables of a debug build, each at one place in all launches that reach it.
//!
//! It is apart from the shared memory of images, which is a kernel's own. Addresses in code are completed by the caller.

use std::collections::{BTreeMap, BTreeSet};

use oriole_chip::Limits;
use oriole_cubin::{Module, PlacedShared, SymbolRef, TextRelocation, Variable};

use super::launches::{Ends, Launches};
use crate::error::{ImageError, LinkError};
use crate::symbols::DYNAMIC_ALIGNMENT;

/// A shared variable that a section of code has for itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct OwnShared {
    /// Index of the section of code.
    pub code: usize,
    /// Which of its own shared variables it is.
    pub number: usize,
}

/// Where shared variables are, from the end of the system's part: of the module by name, of sections of code by index.
#[derive(Default)]
pub struct SharedPlaces {
    pub of_module: BTreeMap<String, u64>,
    pub of_code: BTreeMap<OwnShared, u64>,
    /// Those of code by the names that they have there, of which the first counts.
    pub of_code_by_name: BTreeMap<String, u64>,
}

/// A shared variable to be placed.
struct Wanted {
    /// Whose it is, if not the module's.
    owner: Option<OwnShared>,
    /// The variable. A size of 0 is that of an array whose size the launch gives.
    variable: Variable,
    /// The kernels in whose launches it is reached.
    kernels: BTreeSet<usize>,
}

impl Wanted {
    fn is_dynamic(&self) -> bool {
        self.variable.size == 0
    }
}

/// Places the shared variables: those of the module first, then those of functions, then those of kernels. Arrays whose size the
/// launch gives come last; each begins at the end of the other variables of its kernels.
///
/// # Errors
/// A kernel needs more than a block may have.
pub fn place_shared(
    launches: &Launches,
    limits: &Limits,
    of_module: &[Variable],
    module: &mut Module,
) -> Result<SharedPlaces, LinkError> {
    let wanted = wanted(launches, of_module, module);
    module.common_shared_alignment = common_alignment(&wanted, module);
    let launched = launched_together(&wanted);
    let mut placer = Placer {
        places: SharedPlaces::default(),
        ends: Ends(vec![0; module.kernels.len()]),
        alignments: vec![1; module.kernels.len()],
        namesakes: BTreeMap::new(),
    };
    for (number, wanted) in wanted.iter().enumerate() {
        match launched.get(&number) {
            Some(group) => placer.place(wanted, &group.kernels, group.alignment, module),
            None => placer.place(wanted, &wanted.kernels, wanted.variable.alignment, module),
        }
    }
    let has_dynamic = wanted.iter().any(Wanted::is_dynamic);
    placer.finish(limits, has_dynamic, module)
}

/// The variables to place, in the order of places.
fn wanted(launches: &Launches, of_module: &[Variable], module: &Module) -> Vec<Wanted> {
    let mut all: Vec<Wanted> = Vec::new();
    for variable in of_module {
        let users = module.kernels.iter().enumerate().filter(|(_, code)| {
            let named = |it: &TextRelocation| matches!(it.target, SymbolRef::Named(name) if code.names[name] == variable.name);
            code.relocations.iter().any(named)
        });
        let kernels = launches.of(users.map(|(at, _)| at));
        all.push(Wanted { owner: None, variable: variable.clone(), kernels });
    }
    for of_kernels in [false, true] {
        let images = module.kernels.iter().enumerate().filter(|(_, code)| code.is_kernel() == of_kernels);
        for (code, image) in images {
            let prefix = format!("${}$", image.name);
            for (number, variable) in image.own_shared.iter().enumerate() {
                let name = variable.name.strip_prefix(&prefix).unwrap_or(&variable.name).to_owned();
                let variable = Variable { name, ..variable.clone() };
                let owner = Some(OwnShared { code, number });
                all.push(Wanted { owner, variable, kernels: launches.of([code]) });
            }
        }
    }
    all.sort_by_key(Wanted::is_dynamic);
    for wanted in all.iter_mut().filter(|wanted| wanted.is_dynamic()) {
        wanted.variable.alignment = wanted.variable.alignment.max(DYNAMIC_ALIGNMENT);
    }
    all
}

/// Common alignment of the variables that are no kernel's own.
fn common_alignment(wanted: &[Wanted], module: &Module) -> u64 {
    let of_kernel = |wanted: &Wanted| wanted.owner.is_some_and(|own| module.kernels[own.code].is_kernel());
    let of_all = wanted.iter().filter(|wanted| !of_kernel(wanted));
    of_all.map(|wanted| wanted.variable.alignment.max(1)).max().unwrap_or(1)
}

/// Kernels whose arrays with a size from the launch are the same memory in some launch, and what these are all aligned to.
#[derive(Clone)]
struct Together {
    kernels: BTreeSet<usize>,
    alignment: u64,
}

/// For each of the arrays whose size the launch gives, by its number: the kernels that have it or one that is the same memory
/// in some launch, and what they are all aligned to. The driver puts that memory after what the kernel has.
fn launched_together(wanted: &[Wanted]) -> BTreeMap<usize, Together> {
    let mut groups: Vec<(Vec<usize>, Together)> = Vec::new();
    let dynamic = wanted.iter().enumerate().filter(|(_, wanted)| wanted.is_dynamic());
    for (number, one) in dynamic.filter(|(_, wanted)| !wanted.kernels.is_empty()) {
        let mut numbers = vec![number];
        let mut whole = Together { kernels: one.kernels.clone(), alignment: one.variable.alignment };
        let (joined, apart): (Vec<_>, Vec<_>) =
            groups.into_iter().partition(|(_, group)| !group.kernels.is_disjoint(&whole.kernels));
        for (more, group) in joined {
            numbers.extend(more);
            whole.kernels.extend(group.kernels);
            whole.alignment = whole.alignment.max(group.alignment);
        }
        groups = apart;
        groups.push((numbers, whole));
    }
    let each = groups
        .into_iter()
        .flat_map(|(numbers, group)| numbers.into_iter().map(move |number| (number, group.clone())));
    each.collect()
}

/// The places so far.
struct Placer {
    places: SharedPlaces,
    ends: Ends,
    /// Alignment of the memory of each kernel.
    alignments: Vec<u64>,
    /// How many variables of each name are declared.
    namesakes: BTreeMap<String, u32>,
}

impl Placer {
    /// Places a variable in these kernels.
    fn place(&mut self, wanted: &Wanted, kernels: &BTreeSet<usize>, alignment: u64, module: &mut Module) {
        let variable = &wanted.variable;
        let offset = self.ends.place(kernels, variable.size, alignment);
        match wanted.owner {
            Some(own) => {
                self.places.of_code_by_name.entry(variable.name.clone()).or_insert(offset);
                self.places.of_code.insert(own, offset)
            }
            None => self.places.of_module.insert(variable.name.clone(), offset),
        };
        for &kernel in kernels {
            self.alignments[kernel] = self.alignments[kernel].max(alignment.max(1));
            triomphe::Arc::make_mut(&mut module.kernels[kernel]).shared_size.get_or_insert(0);
        }
        // The place of a variable that no kernel reaches is not read; arrays that the launch gives their sizes are declared.
        if !kernels.is_empty() || wanted.is_dynamic() {
            let alone = kernels.iter().copied().next();
            let alone = alone.filter(|_| kernels.len() == 1 && !wanted.is_dynamic());
            self.declare(variable, offset, alone, module);
        }
    }

    /// Declares a variable for debuggers, which find the second of a name under another.
    fn declare(&mut self, variable: &Variable, offset: u64, kernel: Option<usize>, module: &mut Module) {
        let namesakes = self.namesakes.entry(variable.name.clone()).or_insert(0);
        let name = match *namesakes {
            0 => variable.name.clone(),
            count => format!("{}.{count}", variable.name),
        };
        *namesakes += 1;
        let variable = Variable { name, offset, ..variable.clone() };
        module.placed_shared.push(PlacedShared { variable, kernel });
    }

    /// Gives each kernel the size and the alignment of its memory.
    fn finish(
        self,
        limits: &Limits,
        has_dynamic: bool,
        module: &mut Module,
    ) -> Result<SharedPlaces, LinkError> {
        let is_common = |place: &PlacedShared| place.kernel.is_none() && place.variable.size > 0;
        let common = module.placed_shared.iter().any(is_common);
        for (kernel, (end, mut alignment)) in self.ends.0.into_iter().zip(self.alignments).enumerate() {
            let image = triomphe::Arc::make_mut(&mut module.kernels[kernel]);
            image.own_shared.clear();
            // A variable of several kernels is one section for debuggers, and every kernel is aligned as that
            // is; where the launch may append memory even kernels that have none.
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
                return Err(ImageError::SharedTooLarge(end, limit).of(&image.name));
            }
            image.shared_size = Some(end as u32);
            image.shared_alignment = image.shared_alignment.max(alignment as u32);
        }
        Ok(self.places)
    }
}
