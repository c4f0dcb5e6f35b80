//! The slots of bank 0 in which the driver writes the indices of textures, samplers and surfaces.
//!
//! A header has one place in all kernels that reach a function that names it, after the parameters of each.
//! No header itself is here.

use std::collections::{BTreeMap, BTreeSet};

use oriole_chip::{Chip, HEADER_SLOT_BYTES};
use oriole_cubin::{Header, HeaderSlot, KernelImage, Module, SymbolRef, TextRelocation};
use oriole_diagnostics::Code;

use super::launches::{Ends, Launches};
use crate::error::LinkError;

/// Where bank 0 has the indices of headers: of those that functions name in all kernels, of others by section of code.
#[derive(Default)]
pub struct HeaderPlaces {
    /// The headers of the module, by name.
    by_name: BTreeMap<String, usize>,
    of_functions: BTreeMap<Header, u64>,
    of_kernels: BTreeMap<(usize, Header), u64>,
}

impl HeaderPlaces {
    /// The offset in the bank for what a relocation of a section of code names, and the number of the bank.
    pub fn place(&self, code: usize, relocation: &TextRelocation, image: &KernelImage) -> Option<(u64, u8)> {
        let header = header(relocation, image, &self.by_name)?;
        let place = self.of_functions.get(&header).or_else(|| self.of_kernels.get(&(code, header)))?;
        Some((*place, 0))
    }
}

/// The header that a relocation names, if any.
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

/// A header that code names.
#[derive(Default)]
struct Wanted {
    /// A function names it, and not kernels alone.
    by_function: bool,
    /// The kernels in whose launches it is named.
    kernels: BTreeSet<usize>,
}

/// The headers of the module that code names, and the parameters of kernels that have one: kernel and number of each.
fn wanted(
    launches: &Launches,
    by_name: &BTreeMap<String, usize>,
    module: &Module,
) -> (BTreeMap<Header, Wanted>, BTreeSet<(usize, usize)>) {
    let mut wanted: BTreeMap<Header, Wanted> = BTreeMap::new();
    let mut own = BTreeSet::new();
    for (at, image) in module.kernels.iter().enumerate() {
        for relocation in &image.relocations {
            match header(relocation, image, by_name) {
                Some(Header::Parameter(number)) => {
                    own.insert((at, number));
                }
                Some(header) => {
                    let wanted = wanted.entry(header).or_default();
                    wanted.by_function |= !image.is_kernel();
                    wanted.kernels.extend(launches.of([at]));
                }
                None => {}
            }
        }
    }
    (wanted, own)
}

impl HeaderPlaces {
    /// Places the slots after the parameters. A header that a function names has one place in all kernels
    /// that reach it.
    ///
    /// # Errors
    /// The chip's constant bank is not known.
    pub fn new(chip: Chip, launches: &Launches, module: &mut Module) -> Result<HeaderPlaces, LinkError> {
        let named = module.opaque.iter().enumerate().map(|(at, opaque)| (opaque.name.clone(), at));
        let mut places = HeaderPlaces { by_name: named.collect(), ..HeaderPlaces::default() };
        let (wanted, own) = wanted(launches, &places.by_name, module);
        if wanted.is_empty() && own.is_empty() {
            return Ok(places);
        }
        let bank = chip.constant_bank().ok_or_else(|| LinkError {
            code: Code::NotSupported,
            message: "textures and surfaces: the chip's constant bank is not known".to_owned(),
        })?;
        let first = |image: &triomphe::Arc<KernelImage>| bank.header_slot(image.parameter_size, 0).into();
        let mut ends = Ends(module.kernels.iter().map(first).collect());
        let size = u64::from(HEADER_SLOT_BYTES);
        let mut slots = Vec::new();
        let (of_functions, of_kernels): (Vec<_>, Vec<_>) =
            wanted.into_iter().partition(|(_, wanted)| wanted.by_function);
        for (header, Wanted { kernels, .. }) in of_functions {
            // The slot of a function that no kernel reaches is not read.
            let place = match kernels.is_empty() {
                true => bank.header_slot(0, 0).into(),
                false => ends.place(&kernels, size, size),
            };
            places.of_functions.insert(header, place);
            slots.extend(kernels.into_iter().map(|kernel| (kernel, header, place)));
        }
        let of_kernels = of_kernels
            .into_iter()
            .flat_map(|(header, wanted)| wanted.kernels.into_iter().map(move |kernel| (kernel, header)));
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
}
