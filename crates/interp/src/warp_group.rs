//! MMAs of a warp group in flight. An MMA is computed when it is issued; until the wait for its group, its registers
//! may not be used, and its inputs may not change.

use crate::fault::{Fault, FaultKind};
use crate::lane::Lane;
use crate::matrix::{GroupProduct, Layout, Piece, ROW_BYTES, Registers, Row};
use crate::memory::{Place, out_of_bounds};
use crate::step::{MatrixStep, Source};
use crate::watch::Watch;
use oriole_chip::MatrixUnit;

/// Rows of a warp of the group.
const ROWS: u32 = 16;
/// Warps of a group.
const WARPS: u32 = 4;

/// The MMAs of one warp.
#[derive(Default)]
pub struct Products {
    under_way: Vec<UnderWay>,
    /// Number of closed groups.
    groups: u64,
}

/// An MMA that was issued and not waited for.
struct UnderWay {
    /// Depth of the call stack.
    depth: usize,
    /// Registers that it writes.
    sums: Vec<u32>,
    /// Registers that it reads, with their values in every lane.
    factors: Vec<(u32, Vec<u64>)>,
    /// The shared memory that it reads.
    pieces: Vec<Piece>,
    /// Index of its group, once that is closed.
    group: Option<u64>,
}

impl Products {
    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.under_way.is_empty()
    }

    /// True if one of the registers, of the frame at this call depth, has yet to be written.
    pub fn writes_one_of(&self, slots: &[u32], depth: usize) -> bool {
        self.under_way
            .iter()
            .any(|product| product.depth == depth && product.sums.iter().any(|slot| slots.contains(slot)))
    }

    /// Closes the group of all MMAs since the last one was closed.
    pub fn commit(&mut self) {
        self.groups += 1;
        for product in &mut self.under_way {
            product.group.get_or_insert(self.groups);
        }
    }

    /// Waits until at most this many groups are in flight. The inputs of the others must be unchanged.
    pub fn wait(&mut self, left: u64, lanes: &[Lane], shared: &[u8], watch: &mut Watch) -> Result<(), Fault> {
        let last = self.groups.saturating_sub(left);
        let done = |product: &UnderWay| product.group.is_some_and(|group| group <= last);
        for product in self.under_way.iter().filter(|product| done(product)) {
            watch.product(&product.pieces, true);
            let changed = |what: &str| {
                Err(Fault::new(FaultKind::Illegal, format!("{what} changed while a matrix multiply read it")))
            };
            if product.pieces.iter().any(|(address, row)| load(shared, u64::from(*address)) != Some(*row)) {
                return changed("shared memory");
            }
            let same = |(slot, held): &(u32, Vec<u64>)| {
                lanes
                    .iter()
                    .zip(held)
                    .all(|(lane, held)| lane.calls.len() != product.depth || lane.register(*slot) == *held)
            };
            if !product.factors.iter().all(same) {
                return changed("a register");
            }
        }
        self.under_way.retain(|product| !done(product));
        Ok(())
    }

    /// Records an MMA that reads these pieces.
    pub fn begin(&mut self, product: &GroupProduct, step: &MatrixStep, pieces: Vec<Piece>, lanes: &[Lane]) {
        let factors = slots_read(product, step)
            .map(|slot| (slot, lanes.iter().map(|lane| lane.register(slot)).collect()));
        self.under_way.push(UnderWay {
            depth: lanes.first().map_or(0, |lane| lane.calls.len()),
            sums: step.destinations.iter().map(|destination| destination.slot).collect(),
            factors: factors.collect(),
            pieces,
            group: None,
        });
    }

    /// True if the MMA reads registers that have yet to be written, other than its accumulator.
    pub fn feed(&self, product: &GroupProduct, step: &MatrixStep, lanes: &[Lane]) -> bool {
        let depth = lanes.first().map_or(0, |lane| lane.calls.len());
        self.writes_one_of(&slots_read(product, step).collect::<Vec<_>>(), depth)
    }
}

/// The registers that an MMA reads asynchronously: the left factor, and the metadata of a sparse one.
fn slots_read<'s>(product: &GroupProduct, step: &'s MatrixStep) -> impl Iterator<Item = u32> + use<'s> {
    let left: &[Source] = if product.left_in_registers { &step.sources[1] } else { &[] };
    left.iter().chain(&step.sources[3]).filter_map(|source| match source {
        Source::Register(slot) => Some(*slot),
        _ => None,
    })
}

/// Sixteen bytes of shared memory.
fn load(shared: &[u8], address: u64) -> Option<Row> {
    let start = usize::try_from(address).ok()?;
    shared.get(start..start.checked_add(ROW_BYTES)?)?.try_into().ok()
}

/// The registers of the result, and the pieces of shared memory that were read. `operands` are the registers of the
/// step's operands.
pub fn issue(
    product: &GroupProduct,
    warp: u32,
    unit: &MatrixUnit,
    operands: [Registers; 5],
    shared: &[u8],
) -> Result<(Registers, Vec<Piece>), Fault> {
    let [mut old, left, right, said, adds] = operands;
    let descriptor = |registers: &Registers| {
        let mut values = registers.iter().flatten();
        let first = values.next().copied().unwrap_or(0);
        if values.all(|value| *value == first) {
            Ok(first)
        } else {
            Err(Fault::new(FaultKind::Illegal, "a descriptor is not the same in all lanes"))
        }
    };
    let read = |descriptor: u64, transposed: bool, lines: std::ops::Range<u32>, length: u32, bits: u32| {
        let layout = Layout::new(descriptor, transposed);
        let factor = layout.read(lines, length, bits, |address| load(shared, address));
        factor.map_err(|address| out_of_bounds(Place::Shared, address, ROW_BYTES, false))
    };
    let (a, mut pieces) = if product.left_in_registers {
        (product.left(&left), Vec::new())
    } else {
        let first = warp % WARPS * ROWS;
        let lines = first..first + ROWS;
        read(descriptor(&left)?, product.transposed[0], lines, product.stored(), product.a.bits())?
    };
    let lines = 0..product.columns;
    let (b, more) = read(descriptor(&right)?, product.transposed[1], lines, product.depth, product.b.bits())?;
    pieces.extend(more);
    if descriptor(&adds)? & 1 == 0 {
        old.iter_mut().flatten().for_each(|word| *word = 0);
    }
    Ok((product.evaluate(&unit.of_groups(), [&a, &b], &said, &old), pieces))
}
