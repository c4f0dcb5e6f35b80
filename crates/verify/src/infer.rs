//! Launches that are made from how a kernel uses its parameters.
//!
//! Pointers get buffers that are large at first. A run of the interpreter shows how far each is used, and then it is cut
//! to that: an access of the code beyond it is a fault.

use crate::data::{self, Kind, Numbers, Wildness};
use crate::flow::Origin;
use crate::places::buffer_mut;
use crate::usage::Usage;
use oriole_hir::{Body, Parameter};
use oriole_interp::{Arg, FaultKind, Launch, Observer, Outcome, Program, buffer_address};

/// Bytes of a buffer at first.
const FIRST_BYTES: usize = 1 << 18;
/// Most bytes of a buffer.
const MOST_BYTES: usize = 1 << 25;
/// Bytes of dynamic shared memory at first.
const SHARED_BYTES: u32 = 64 << 10;
/// Most of them, which is more than any chip has.
const MOST_SHARED: u32 = 256 << 10;
/// Bytes between the targets of neighbouring pointers in memory, and how many targets there are.
const POINTER_STRIDE: u64 = 4096;
const POINTER_TARGETS: u64 = 16;
/// Threads of a block that nothing limits.
const THREADS: u32 = 64;

/// How scalars are chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Scalars {
    /// All integers are this.
    All(u64),
    /// Different small numbers.
    Distinct,
    /// Different multiples of 32.
    Multiples,
}

const DISTINCT: [u64; 8] = [37, 5, 3, 17, 2, 9, 33, 7];
const MULTIPLES: [u64; 4] = [64, 32, 96, 128];
const FLOATS: [f64; 4] = [1.5, -0.5, 3.25, 2.0];

/// A way to make a launch.
#[derive(Clone, Copy, Debug)]
struct Attempt {
    scalars: Scalars,
    wildness: Wildness,
    threads: u32,
    blocks: u32,
}

/// The attempts of a seed: the first that runs is taken.
fn attempts(seed: u32) -> Vec<Attempt> {
    use Scalars::{All, Distinct, Multiples};
    let of = |scalars, wildness, threads, blocks| Attempt { scalars, wildness, threads, blocks };
    let first = match seed {
        0 => of(All(64), Wildness::Small, THREADS, 2),
        1 => of(Distinct, Wildness::Common, 96, 2),
        2 => of(Multiples, Wildness::Wild, THREADS, 2),
        3 => of(Distinct, Wildness::Wild, 40, 3),
        _ if seed.is_multiple_of(2) => of(Distinct, Wildness::Common, 32, 1),
        _ => of(Multiples, Wildness::Wild, 128, 2),
    };
    let small = Wildness::Small;
    vec![
        first,
        of(first.scalars, small, THREADS, 2),
        of(All(64), small, THREADS, 2),
        of(All(32), small, 32, 1),
        of(All(8), small, 32, 1),
        of(All(1), small, THREADS, 1),
        of(All(0), small, THREADS, 1),
        of(All(64), Wildness::Zero, THREADS, 2),
        of(All(8), small, 8, 1),
        of(All(1), small, 1, 1),
    ]
}

/// Limits of a search for a launch.
#[derive(Clone, Copy)]
pub struct Limits<'a> {
    /// Most instructions of all threads in a run.
    pub budget: u64,
    /// Whether the search is to end early. Once true, it stays so.
    pub stop: &'a dyn Fn() -> bool,
}

impl Observer for Limits<'_> {
    fn goes_on(&self) -> bool {
        !(self.stop)()
    }
}

/// A launch for a kernel.
///
/// # Errors
/// Why none could be made.
pub fn launch(
    program: &Program,
    entry: &str,
    usage: &Usage,
    seed: u32,
    limits: Limits<'_>,
) -> Result<Launch, String> {
    let kernel = program.function(entry).ok_or("there is no such kernel")?;
    let mut first = None;
    let more = usage.with_more_pointers();
    for usage in std::iter::once(usage).chain(&more) {
        for attempt in attempts(seed) {
            let maker = Maker { program, kernel: &kernel.body, usage, seed, attempt };
            match maker.sized(entry, limits) {
                Ok(launch) => return Ok(launch),
                Err(reason) => drop(first.get_or_insert(reason)),
            }
            if (limits.stop)() {
                return Err(first.unwrap_or_default());
            }
        }
    }
    Err(first.unwrap_or_default())
}

struct Maker<'a> {
    program: &'a Program,
    kernel: &'a Body,
    usage: &'a Usage,
    seed: u32,
    attempt: Attempt,
}

/// A buffer of a launch: the pointer to it.
struct Buffer {
    slot: Option<usize>,
}

impl Maker<'_> {
    /// A launch whose buffers are as large as they are used.
    fn sized(&self, entry: &str, limits: Limits<'_>) -> Result<Launch, String> {
        let buffers = self.buffers();
        let mut sizes = vec![FIRST_BYTES; buffers.len()];
        let mut shared = if self.usage.dynamic_shared { SHARED_BYTES } else { 0 };
        loop {
            let launch = self.launch(entry, &buffers, &sizes, shared, limits.budget);
            let outcome = oriole_interp::run_observed(self.program, &launch, &mut { limits });
            match &outcome.error {
                None => return Ok(self.cut(launch, &outcome)),
                Some(fault) if fault.kind == FaultKind::OutOfBounds => {
                    let address = fault.address.unwrap_or(0);
                    if shared > 0 && shared < MOST_SHARED && fault.message.contains(" shared ") {
                        shared *= 4;
                        continue;
                    }
                    let grown = self.grow(&mut sizes, address);
                    if !grown {
                        return Err(fault.to_string());
                    }
                }
                Some(fault) => return Err(fault.to_string()),
            }
        }
    }

    /// Makes the buffer before an address larger.
    fn grow(&self, sizes: &mut [usize], address: u64) -> bool {
        for (number, size) in sizes.iter_mut().enumerate() {
            let start = buffer_address(self.program, number);
            let Some(offset) = address.checked_sub(start).and_then(|offset| usize::try_from(offset).ok())
            else {
                continue;
            };
            if offset < MOST_BYTES && offset + 16 > *size && *size < MOST_BYTES {
                *size = (2 * offset).max(4 * *size).min(MOST_BYTES);
                return true;
            }
        }
        false
    }

    /// Cuts buffers to the bytes that were used.
    fn cut(&self, mut launch: Launch, outcome: &Outcome) -> Launch {
        for (number, &touched) in outcome.touched.iter().enumerate() {
            if let Some(bytes) = buffer_mut(&mut launch, number) {
                bytes.truncate(touched as usize);
            }
        }
        launch.shared_bytes = launch.shared_bytes.min(outcome.shared_touched.next_multiple_of(16));
        launch
    }

    /// The buffers: those of arguments, then those that pointers elsewhere name.
    fn buffers(&self) -> Vec<Buffer> {
        let parameters = || (0..).zip(&self.kernel.parameters);
        let own = parameters().filter(|(number, parameter)| self.is_buffer(*number, parameter));
        let mut all: Vec<Buffer> = own
            .map(|(number, _)| Buffer { slot: self.usage.of_parameter(number).next().map(|(slot, _)| slot) })
            .collect();
        let direct: Vec<Option<usize>> = all.iter().map(|buffer| buffer.slot).collect();
        for (number, slot) in self.usage.slots.iter().enumerate() {
            if slot.pointer && !direct.contains(&Some(number)) {
                all.push(Buffer { slot: Some(number) });
            }
        }
        all
    }

    /// Whether the argument is a buffer itself.
    fn is_buffer(&self, number: u32, parameter: &Parameter) -> bool {
        let pointer = self.usage.of_parameter(number).any(|(_, slot)| slot.pointer);
        parameter.length.is_none() && parameter.size() == 8 && (pointer || parameter.pointer.is_some())
    }

    fn launch(
        &self,
        entry: &str,
        buffers: &[Buffer],
        sizes: &[usize],
        shared_bytes: u32,
        budget: u64,
    ) -> Launch {
        let mut contents = self.contents(buffers, sizes);
        let mut extra = Vec::new();
        let own = (0..).zip(&self.kernel.parameters).filter(|(n, p)| self.is_buffer(*n, p)).count();
        extra.extend(contents.drain(own..));
        let mut contents = contents.into_iter();
        let mut turn = 0;
        let args = (0..).zip(&self.kernel.parameters).map(|(number, parameter)| {
            if self.is_buffer(number, parameter) {
                return Arg::Buffer(contents.next().unwrap_or_default());
            }
            Arg::Scalar(self.scalar(number, parameter, buffers, &mut turn))
        });
        let args = args.collect();
        let (grid, block) = self.shape();
        Launch { grid, block, shared_bytes, args, extra, budget, ..Launch::new(entry) }
    }

    /// The contents of all buffers.
    fn contents(&self, buffers: &[Buffer], sizes: &[usize]) -> Vec<Vec<u8>> {
        let made = buffers.iter().zip(sizes).enumerate().map(|(number, (buffer, &size))| {
            let slot = buffer.slot.map(|slot| &self.usage.slots[slot]);
            let (kind, width) = slot.map_or((Kind::Integer, 4), |slot| (slot.kind, slot.bytes as usize));
            let seed = u64::from(self.seed) << 32 | number as u64;
            let mut bytes = data::bytes(kind, width, self.attempt.wildness, seed, size);
            if slot.is_some_and(|slot| slot.behind) {
                self.put_pointers(&mut bytes, buffer.slot.unwrap_or(0), buffers);
            }
            bytes
        });
        made.collect()
    }

    /// Puts addresses where pointers are read.
    fn put_pointers(&self, bytes: &mut [u8], pointer: usize, buffers: &[Buffer]) {
        let address = |slot: usize| {
            let number = buffers.iter().position(|buffer| buffer.slot == Some(slot));
            number.map(|number| buffer_address(self.program, number))
        };
        let all: Vec<_> = self.usage.behind(pointer).collect();
        let alone = all.len() == 1;
        for (slot, offset, _) in all.iter().filter(|(_, _, slot)| slot.pointer) {
            let Some(address) = address(*slot) else { continue };
            if alone {
                for (number, word) in (0..).zip(bytes.chunks_exact_mut(8)) {
                    let target = address + number % POINTER_TARGETS * POINTER_STRIDE;
                    word.copy_from_slice(&target.to_le_bytes());
                }
            } else if let Some(word) =
                usize::try_from(*offset).ok().and_then(|offset| bytes.get_mut(offset..offset.checked_add(8)?))
            {
                word.copy_from_slice(&address.to_le_bytes());
            }
        }
    }

    /// The bytes of a parameter that is not a buffer.
    fn scalar(&self, number: u32, parameter: &Parameter, buffers: &[Buffer], turn: &mut usize) -> Vec<u8> {
        let size = parameter.size() as usize;
        let mut bytes = vec![0; size];
        for (at, slot) in self.usage.of_parameter(number) {
            let Origin::Parameter { offset, .. } = slot.origin else { continue };
            let width = if slot.pointer { 8 } else { (slot.bytes as usize).clamp(1, 8) };
            let value = if slot.pointer {
                let buffer = buffers.iter().position(|buffer| buffer.slot == Some(at));
                buffer.map_or(0, |buffer| buffer_address(self.program, buffer))
            } else {
                self.number(slot.kind, turn)
            };
            let start = offset as usize;
            if let Some(place) = bytes.get_mut(start..start + width) {
                place.copy_from_slice(&value.to_le_bytes()[..width]);
            }
        }
        bytes
    }

    /// The next scalar.
    fn number(&self, kind: Kind, turn: &mut usize) -> u64 {
        let at = *turn + self.seed as usize / 2;
        *turn += 1;
        if kind != Kind::Integer {
            return data::encode(kind, FLOATS[at % FLOATS.len()]);
        }
        match self.attempt.scalars {
            Scalars::All(value) => value,
            Scalars::Distinct if self.seed > 5 => {
                Numbers::new(u64::from(self.seed) * 64 + at as u64).next() % 70
            }
            Scalars::Distinct => DISTINCT[at % DISTINCT.len()],
            Scalars::Multiples => MULTIPLES[at % MULTIPLES.len()],
        }
    }

    /// Grid and block.
    fn shape(&self) -> ([u32; 3], [u32; 3]) {
        let directives = &self.kernel.directives;
        let most = directives.maxntid.map_or(1024, |shape| shape.iter().product::<u32>().max(1));
        let together = self.usage.together.max(1);
        let threads = self.attempt.threads.max(self.usage.counted).next_multiple_of(together).min(most);
        let [_, y, z] = self.usage.thread_axes;
        let block = directives.reqntid.unwrap_or(match (y, z) {
            (false, false) => [threads, 1, 1],
            (true, false) if threads >= 16 => [threads / 4, 4, 1],
            (_, true) if threads >= 16 => [threads / 8, 4, 2],
            _ => [threads, 1, 1],
        });
        let [_, y, z] = self.usage.block_axes;
        let blocks = self.attempt.blocks;
        let grid = [blocks, if y { 2 } else { 1 }, if z { 2 } else { 1 }];
        let cluster = directives.reqnctapercluster.unwrap_or([1; 3]);
        (std::array::from_fn(|axis| grid[axis] * cluster[axis].max(1)), block)
    }
}
