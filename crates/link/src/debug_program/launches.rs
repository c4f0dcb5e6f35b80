//! Which code runs in which launches, and places that several launches share.
//!
//! It is apart from the placed things: shared memory, tables and headers follow one rule. No size of anything
//! is known here.

use std::collections::{BTreeMap, BTreeSet};

use oriole_cubin::KernelImage;
use oriole_pipeline::LibraryFunction;

use crate::call_graph::CallGraph;

/// For each section of code the kernels in whose launches it runs: of a kernel its own.
pub struct Launches(Vec<Vec<usize>>);

impl Launches {
    /// `code` are the kernels, functions and functions of the library of the container.
    pub fn new(code: &[triomphe::Arc<KernelImage>], calls: &CallGraph) -> Launches {
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
        // The call graph has no function of the library: the code that names one calls it.
        for (at, image) in code.iter().enumerate() {
            if LibraryFunction::named(&image.name).is_some() {
                let callers = code.iter().enumerate().filter(|(_, other)| other.names.contains(&image.name));
                launches.0[at] = launches.of(callers.map(|(caller, _)| caller)).into_iter().collect();
            }
        }
        launches
    }

    /// The kernels in whose launches one section runs.
    pub fn of_one(&self, code: usize) -> &[usize] {
        &self.0[code]
    }

    /// The kernels in whose launches some of these sections run.
    pub fn of(&self, code: impl IntoIterator<Item = usize>) -> BTreeSet<usize> {
        code.into_iter().flat_map(|at| self.0[at].iter().copied()).collect()
    }
}

/// End of the memory of each kernel. An object that several launches need is at one place in all of them,
/// after the memory of each.
pub struct Ends(pub Vec<u64>);

impl Ends {
    /// The place of something that these kernels need.
    pub fn place(&mut self, kernels: &BTreeSet<usize>, size: u64, alignment: u64) -> u64 {
        let end = kernels.iter().map(|&kernel| self.0[kernel]).max().unwrap_or(0);
        let start = end.next_multiple_of(alignment.max(1));
        for &kernel in kernels {
            self.0[kernel] = start.saturating_add(size);
        }
        start
    }
}
