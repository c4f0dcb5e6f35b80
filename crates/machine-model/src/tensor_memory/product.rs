//! MMAs: the elements that are multiplied, their sources, and the destination of the sums.

use super::elements::Kind;
use super::instruction_descriptor::InstructionDescriptor;
use super::memory::{Address, Fault, HALF, LANES, TensorMemory, Touched};
use super::shared_matrix::{Piece, SharedMatrix};
use super::sparse;
use super::zero_columns::ZeroColumns;

/// Lanes of a warp; each has its own copy of the scales.
const WARP: u32 = 32;
/// Most columns of a result.
const MOST_COLUMNS: u32 = 256;
/// The larger depth that a descriptor can select.
const DEEP: u32 = 96;
/// Most scales of a row: one for each 16 elements of a depth of 96.
const MOST_SCALES: usize = 6;
/// Bytes of a word; a scale is one.
const WORD_BYTES: u32 = 4;

/// The properties of an MMA that the instruction states.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Form {
    /// The kind.
    pub kind: Kind,
    /// Participating blocks: `.cta_group`.
    pub blocks: u32,
    /// `.ws`
    pub weights_stay: bool,
    /// `.sp`
    pub sparse: bool,
    /// `.ashift`
    pub shifted: bool,
    /// Scales of a row of the kind's default depth; 0 without block scaling.
    pub scales: u32,
}

/// The place of the left factor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Left {
    /// In shared memory, by its descriptor.
    Shared(u64),
    /// In tensor memory.
    Tensor(Address),
}

/// The operands of an MMA.
#[derive(Clone, Copy, Debug)]
pub struct Operands {
    /// The result.
    pub result: Address,
    /// The left factor.
    pub left: Left,
    /// The descriptor of the right factor.
    pub right: u64,
    /// The metadata of a sparse factor.
    pub metadata: Address,
    /// The scales of both factors.
    pub scales: [Address; 2],
    /// Whether to accumulate.
    pub adds: bool,
    /// Lanes that keep their values, by block.
    pub kept_lanes: [u32; 8],
    /// The zero columns of the right factor, as a zero-column mask descriptor.
    pub zero_columns: u64,
}

/// The inputs of one element of the result.
pub struct Row<'r> {
    /// Stored elements of the left factor.
    pub left: &'r [u64],
    /// The elements of the right factor that they are multiplied with.
    pub right: &'r [u64],
    /// Scales of both, one pair for each of as many equal parts; empty without block scaling.
    pub scales: &'r [[u8; 2]],
    /// The old accumulator, or 0.
    pub old: u32,
}

/// The cells and pieces that an MMA touched, for the checks of its rules.
#[derive(Default)]
pub struct Outcome {
    /// Pieces of shared memory that were read.
    pub pieces: Vec<Piece>,
    /// Cells that were read, by rank of the block.
    pub read: Vec<(u32, Touched)>,
    /// Cells that were written.
    pub written: Vec<(u32, Touched)>,
}

/// The distribution of the result of a block over lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Path {
    /// A lane for each row.
    Whole,
    /// Sixteen rows for each warp, in the upper or lower half of its lanes.
    Scattered,
    /// This many groups of lanes, each with its part of the columns.
    Folded(u32),
}

/// An MMA.
#[derive(Clone, Copy, Debug)]
pub struct Product {
    /// The form of the instruction.
    pub form: Form,
    /// The instruction descriptor.
    pub descriptor: InstructionDescriptor,
    path: Path,
}

/// A line of the left factor in a lane.
struct Line {
    terms: Vec<u64>,
    /// Positions of a sparse one.
    positions: Option<Vec<usize>>,
    scales: Vec<u8>,
}

impl Product {
    /// An MMA from the instruction and its descriptor, on a chip with or without a depth of 96.
    ///
    /// # Errors
    /// A shape that does not exist.
    pub fn new(form: Form, descriptor: u32, has_depth_of_96: bool) -> Result<Product, Fault> {
        let descriptor = InstructionDescriptor::new(form.kind, descriptor)?;
        let fault = |text: String| Err(Fault::Operands(text));
        if descriptor.sparse != form.sparse {
            return fault("instruction and descriptor disagree on whether the product is sparse".into());
        }
        if descriptor.deep && !has_depth_of_96 {
            return fault("the chip has no products of a depth of 96".into());
        }
        if descriptor.deep && form.sparse {
            return fault("a sparse product has a depth of 96".into());
        }
        // Six scales begin at an even byte.
        if descriptor.deep && form.scales == 4 && descriptor.scale_bytes.iter().any(|byte| byte % 2 == 1) {
            let bytes = descriptor.scale_bytes;
            return fault(format!("six scales begin at bytes {} and {} of a word", bytes[0], bytes[1]));
        }
        let turned = |at: usize| descriptor.transposed[at] && descriptor.elements[at].bits() < 8;
        if [0, 1].into_iter().any(turned) {
            return fault("a factor of elements narrower than a byte is transposed".into());
        }
        let [rows, columns] = [descriptor.rows, descriptor.columns];
        let path = match (form.blocks, form.weights_stay, rows) {
            (1, true, 32) => Path::Folded(4),
            (1, true, 64) => Path::Folded(2),
            (1, _, 128) => Path::Whole,
            (1, false, 64) if !form.kind.is_scaled() => Path::Scattered,
            (2, false, 256) => Path::Whole,
            (2, false, 128) if !form.sparse && !descriptor.deep => Path::Folded(2),
            (2, false, 128) if !form.kind.is_scaled() => Path::Scattered,
            _ => return fault(format!("no such product has {rows} rows")),
        };
        let step = match (form.weights_stay, form.kind) {
            (true, _) => 64,
            (false, Kind::I8) if columns > 32 || form.blocks == 2 => 16 * form.blocks,
            // CUTLASS uses no others for one block; the manual has the pair's steps.
            _ if descriptor.deep => 16,
            _ => 8 * form.blocks,
        };
        let most = if form.weights_stay && form.sparse { MOST_COLUMNS / 2 } else { MOST_COLUMNS };
        let none = columns == 0 || columns > most || !columns.is_multiple_of(step);
        if none || form.weights_stay && !columns.is_power_of_two() {
            return fault(format!("no such product has {columns} columns"));
        }
        if form.shifted && path != Path::Whole {
            return fault(format!("a left factor of {rows} rows is shifted"));
        }
        Ok(Product { form, descriptor, path })
    }

    /// Columns of the left factor.
    pub fn depth(&self) -> u32 {
        if self.form.sparse { 2 * self.stored() } else { self.stored() }
    }

    /// Scales of a row of a factor: one for a fixed number of elements, whatever the depth.
    fn scales(&self) -> u32 {
        let usual = 256 / self.form.kind.container_bits();
        self.form.scales * self.stored() / usual
    }

    /// Columns between the words of scales that belong to one row: the rows or columns of a factor, 32 to a column,
    /// those of the right factor padded to 128 or 256.
    fn scale_words(&self, factor: usize) -> u32 {
        let lines = if factor == 0 { LANES } else { self.descriptor.columns.next_multiple_of(LANES) };
        lines / WARP
    }

    /// Rows of the result of one block.
    fn rows(&self) -> u32 {
        self.descriptor.rows / self.form.blocks
    }

    /// Stored elements of a row of the left factor.
    fn stored(&self) -> u32 {
        if self.descriptor.deep { DEEP } else { 256 / self.form.kind.container_bits() }
    }

    /// The lane and the column of an element of the result of a block.
    fn place(&self, row: u32, column: u32) -> (u32, u32) {
        match self.path {
            Path::Whole => (row, column),
            Path::Scattered => (row / HALF * WARP + row % HALF, column),
            Path::Folded(parts) => {
                let columns = self.descriptor.columns / parts;
                (row + LANES / parts * (column / columns), column % columns)
            }
        }
    }

    fn check_lane(&self, result: Address) -> Result<(), Fault> {
        if result.lane == 0 || result.lane == HALF && self.path == Path::Scattered {
            Ok(())
        } else {
            Err(Fault::Operands(format!("the result of a product begins at lane {}", result.lane)))
        }
    }

    /// Multiplies for the blocks of these ranks, the even one first; `dot` accumulates an element of the result.
    ///
    /// # Errors
    /// Cells or pieces that do not exist, invalid operands.
    pub fn execute(
        &self,
        memories: &mut [TensorMemory],
        shared: &[Vec<u8>],
        ranks: &[u32],
        operands: &Operands,
        dot: impl Fn(&Row) -> u32,
    ) -> Result<Outcome, Fault> {
        self.check_lane(operands.result)?;
        let mut outcome = Outcome::default();
        let right = self.right(shared, ranks, operands, &mut outcome.pieces)?;
        let mut kept = operands.kept_lanes.chunks(LANES as usize / 32);
        for &rank in ranks {
            let Some(memory) = memories.get_mut(rank as usize) else {
                return Err(Fault::Operands(format!("the cluster has no block {rank}")));
            };
            let (mut read, mut written) = (Touched::new(), Touched::new());
            let left = self.left(memory, shared, rank, operands, &mut outcome.pieces, &mut read)?;
            let kept = kept.next().unwrap_or_default();
            let is_kept =
                |lane: u32| kept.get(lane as usize / 32).is_some_and(|word| word >> (lane % 32) & 1 == 1);
            let elements =
                (0..self.rows()).flat_map(|row| (0..self.descriptor.columns).map(move |at| (row, at)));
            for (row, number) in elements {
                let (lane, column) = self.place(row, number);
                let lane = operands.result.lane + lane;
                let Some(line) = left[lane as usize].as_ref().filter(|_| !is_kept(lane)) else { continue };
                let mut scales = [[0; 2]; MOST_SCALES];
                let scales = &mut scales[..self.scales() as usize];
                for (at, (pair, left)) in (0..).zip(scales.iter_mut().zip(&line.scales)) {
                    *pair = [*left, self.scale(memory, operands, 1, [lane, column, at], &mut read)?];
                }
                let target = operands.result.column + column;
                let old = memory.read(lane, target)?;
                let chosen: Vec<u64>;
                let factors = match &line.positions {
                    None => &right[number as usize],
                    Some(positions) => {
                        chosen = positions.iter().map(|&at| right[number as usize][at]).collect();
                        &chosen
                    }
                };
                let old = if operands.adds { old } else { 0 };
                let sum = dot(&Row { left: &line.terms, right: factors, scales, old });
                memory.write(lane, target, sum)?;
                written.insert((lane / HALF, target));
            }
            outcome.read.push((rank, read));
            outcome.written.push((rank, written));
        }
        Ok(outcome)
    }

    /// The columns of the right factor: each block of a pair has half of them.
    fn right(
        &self,
        shared: &[Vec<u8>],
        ranks: &[u32],
        operands: &Operands,
        pieces: &mut Vec<Piece>,
    ) -> Result<Vec<Vec<u64>>, Fault> {
        let matrix = self.matrix(operands.right)?;
        let own = self.descriptor.columns / self.form.blocks;
        let zeros = ZeroColumns::new(operands.zero_columns, self.descriptor.rows, self.descriptor.columns);
        (0..self.descriptor.columns)
            .map(|column| {
                if zeros.has(column) {
                    return Ok(vec![0; self.depth() as usize]);
                }
                let column = column + zeros.shift;
                let rank = ranks.get((column / own) as usize).or(ranks.last()).copied().unwrap_or(0);
                let line = if self.form.blocks == 1 { column } else { column % own };
                self.line(shared, rank, &matrix, [1, line, self.depth()], pieces)
            })
            .collect()
    }

    /// The left factor in each lane.
    fn left(
        &self,
        memory: &TensorMemory,
        shared: &[Vec<u8>],
        rank: u32,
        operands: &Operands,
        pieces: &mut Vec<Piece>,
        read: &mut Touched,
    ) -> Result<Vec<Option<Line>>, Fault> {
        let mut lanes: Vec<Option<Line>> = (0..LANES).map(|_| None).collect();
        let parts = if let Path::Folded(parts) = self.path { parts } else { 1 };
        for row in 0..self.rows() {
            // With a shift the last row stays, the others come from the next one (not confirmed).
            let source = if self.form.shifted { (row + 1).min(self.rows() - 1) } else { row };
            let stored = match operands.left {
                Left::Shared(descriptor) => {
                    let matrix = self.matrix(descriptor)?;
                    Some(self.line(shared, rank, &matrix, [0, source, self.stored()], pieces)?)
                }
                Left::Tensor(_) => None,
            };
            for part in 0..parts {
                let lane_of = |row| {
                    let (lane, _) = self.place(row, part * (self.descriptor.columns / parts));
                    operands.result.lane + lane
                };
                let lane = lane_of(row);
                let terms = match (&stored, operands.left) {
                    (None, Left::Tensor(address)) => self.terms(memory, address, lane_of(source), read)?,
                    _ => stored.clone().unwrap_or_default(),
                };
                let positions = if self.form.sparse {
                    let (selector, bits) = (self.descriptor.selector, self.form.kind.container_bits());
                    let row = [lane, self.depth(), bits];
                    Some(sparse::positions(memory, operands.metadata, selector, row, read)?)
                } else {
                    None
                };
                let scales = (0..self.scales())
                    .map(|at| self.scale(memory, operands, 0, [lane, row, at], read))
                    .collect::<Result<_, _>>()?;
                lanes[lane as usize] = Some(Line { terms, positions, scales });
            }
        }
        Ok(lanes)
    }

    /// Elements of a row of the left factor in tensor memory.
    fn terms(
        &self,
        memory: &TensorMemory,
        address: Address,
        lane: u32,
        read: &mut Touched,
    ) -> Result<Vec<u64>, Fault> {
        let bits = self.form.kind.container_bits();
        (0..self.stored())
            .map(|at| {
                let column = address.column + at * bits / 32;
                read.insert((lane / HALF, column));
                let container = memory.read(lane, column)? >> (at * bits % 32) & (u32::MAX >> (32 - bits));
                Ok(self.descriptor.elements[0].unpack(container, bits))
            })
            .collect()
    }

    /// A factor in shared memory.
    fn matrix(&self, descriptor: u64) -> Result<SharedMatrix, Fault> {
        if self.descriptor.deep {
            SharedMatrix::new(descriptor)
        } else {
            SharedMatrix::of_one_part(descriptor)
        }
    }

    /// Scale `at` of a factor for a lane: of its row, or of a column of the result. Each warp has them in its own
    /// lanes. Those of a depth of 96 may continue in the next word of the row.
    fn scale(
        &self,
        memory: &TensorMemory,
        operands: &Operands,
        factor: usize,
        [lane, index, at]: [u32; 3],
        read: &mut Touched,
    ) -> Result<u8, Fault> {
        let byte = self.descriptor.scale_bytes[factor] + at;
        if byte >= WORD_BYTES && !self.descriptor.deep {
            return Err(Fault::Operands(format!("scales of a factor begin at byte {}", byte - at)));
        }
        let lane = lane / WARP * WARP + index % WARP;
        let word = byte / WORD_BYTES * self.scale_words(factor);
        let column = operands.scales[factor].column + index / WARP + word;
        read.insert((lane / HALF, column));
        Ok(memory.read(lane, column)?.to_le_bytes()[(byte % WORD_BYTES) as usize])
    }

    /// Elements of a line of a factor in shared memory. If they are narrower than their container, the last bytes of
    /// each sixteen are empty.
    fn line(
        &self,
        shared: &[Vec<u8>],
        rank: u32,
        matrix: &SharedMatrix,
        [factor, line, length]: [u32; 3],
        pieces: &mut Vec<Piece>,
    ) -> Result<Vec<u64>, Fault> {
        let factor = factor as usize;
        let element = self.descriptor.elements[factor];
        let transposed = self.descriptor.transposed[factor];
        let (bits, container) = (element.bits(), self.form.kind.container_bits());
        let packed = 128 / container;
        (0..length)
            .map(|at| {
                let (across, along) = if transposed { (at, line) } else { (line, at) };
                let byte = along / packed * 16;
                let place = [u64::from(across), u64::from(byte)];
                let piece = matrix.load(shared, rank, place, transposed, pieces)?;
                Ok((piece >> (along % packed * bits)) as u64 & (u64::MAX >> (64 - bits)))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Form =
        Form { kind: Kind::I8, blocks: 1, weights_stay: false, sparse: false, shifted: false, scales: 0 };

    fn described(rows: u32, columns: u32) -> u32 {
        2 << 4 | 1 << 7 | 1 << 10 | columns >> 3 << 17 | rows >> 4 << 24
    }

    #[test]
    fn shapes_that_do_not_exist_are_refused() {
        let product = |form, rows, columns| Product::new(form, described(rows, columns), true).is_ok();
        assert!(product(PLAIN, 64, 24) && product(PLAIN, 128, 256));
        assert!(!product(PLAIN, 64, 40) && !product(PLAIN, 256, 64) && !product(PLAIN, 32, 64));
        let pair = Form { blocks: 2, ..PLAIN };
        assert!(product(pair, 256, 64) && !product(pair, 64, 64) && !product(pair, 128, 16));
        let stationary = Form { weights_stay: true, ..PLAIN };
        assert!(product(stationary, 32, 128) && !product(stationary, 32, 96));
        assert!(!product(Form { sparse: true, ..PLAIN }, 128, 64));
        assert!(!product(Form { shifted: true, ..PLAIN }, 64, 64));
    }

    #[test]
    fn a_depth_of_96_is_what_the_manual_has_of_it() {
        let form = |blocks, scales, sparse| Form {
            kind: Kind::Mxf4Nvf4,
            blocks,
            weights_stay: false,
            sparse,
            shifted: false,
            scales,
        };
        let bits = |rows: u32, columns: u32, bytes: [u32; 2], sparse: bool| {
            let bytes = bytes[0] << 29 | bytes[1] << 4;
            1 << 31 | 1 << 7 | 1 << 10 | columns >> 3 << 17 | rows >> 7 << 27 | bytes | u32::from(sparse) << 2
        };
        let product = |blocks, scales, rows, columns, bytes| {
            Product::new(form(blocks, scales, false), bits(rows, columns, bytes, false), true)
        };
        let deep = product(1, 2, 128, 144, [3, 1]).unwrap();
        assert_eq!(
            (deep.depth(), deep.scales(), [0, 1].map(|factor| deep.scale_words(factor))),
            (96, 3, [4, 8])
        );
        let deep = product(2, 4, 256, 128, [0, 2]).unwrap();
        assert_eq!(
            (deep.depth(), deep.scales(), [0, 1].map(|factor| deep.scale_words(factor))),
            (96, 6, [4, 4])
        );
        assert!(product(2, 4, 256, 128, [1, 2]).is_err());
        assert!(product(2, 2, 128, 128, [0, 0]).is_err() && product(1, 2, 128, 24, [0, 0]).is_err());
        assert!(Product::new(form(1, 2, false), bits(128, 16, [0, 0], false), false).is_err());
        assert!(Product::new(form(1, 2, true), bits(128, 16, [0, 0], true), true).is_err());
    }

    /// The lanes of a few rows of a result of ones: a column for each path.
    #[test]
    fn results_lie_in_the_lanes_of_their_path() {
        let place = |form, rows, at: (u32, u32)| {
            Product::new(form, described(rows, 64), false).unwrap().place(at.0, at.1)
        };
        assert_eq!(place(PLAIN, 128, (100, 3)), (100, 3));
        assert_eq!(place(PLAIN, 64, (20, 3)), (36, 3));
        let stationary = Form { weights_stay: true, ..PLAIN };
        assert_eq!(place(stationary, 64, (20, 35)), (84, 3));
        assert_eq!(place(stationary, 32, (20, 35)), (84, 3));
        assert_eq!(place(Form { blocks: 2, ..PLAIN }, 128, (20, 35)), (84, 3));
    }

    #[test]
    fn a_product_adds_up_rows_and_columns() {
        let mut memory = TensorMemory::default();
        memory.allocate(64).unwrap();
        // Lines of 32 bytes one after the other: eight lines of a pattern, its second half 128 bytes on.
        let mut shared = vec![0; 0x2000];
        for line in 0..128 {
            let byte = line / 8 * 256 + line % 8 * 16;
            shared[byte] = line as u8;
            shared[byte + 128] = 1;
        }
        let descriptor = (256 >> 4) << 32 | (128 >> 4) << 16;
        let operands = Operands {
            result: Address { lane: 0, column: 0 },
            left: Left::Shared(descriptor),
            right: descriptor,
            metadata: Address::new(0),
            scales: [Address::new(0); 2],
            adds: false,
            kept_lanes: [1 << 7, 0, 0, 0, 0, 0, 0, 0],
            zero_columns: 0,
        };
        let product = Product::new(PLAIN, described(128, 16), false).unwrap();
        let dot =
            |row: &Row| row.left.iter().zip(row.right).map(|(a, b)| a * b).sum::<u64>() as u32 + row.old;
        let mut memories = [memory];
        let outcome = product.execute(&mut memories, &[shared], &[0], &operands, dot).unwrap();
        assert_eq!(memories[0].read(100, 13), Ok(1301));
        assert_eq!(memories[0].read(7, 13), Ok(0));
        assert!(outcome.written[0].1.contains(&(100 / HALF, 13)));
    }
}
