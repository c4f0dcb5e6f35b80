//! MMAs of a warp group. Each of its four warps has sixteen rows of the result: it reads these rows of the left factor,
//! from its registers or from shared memory, and the whole right factor.
//!
//! The result is written at once; the hazard checker verifies that nothing touches it before the wait. The shared
//! memory that was read is compared again at the wait for its group.

use super::context::Context;
use super::matrix::{Steps, Term};
use crate::launch::Fault;
use crate::number::{BF16, E4M3, E5M2, F16, F32, Format, TF32};
use crate::transfers::Bytes;
use crate::warp::{Lanes, Reading};
use oriole_sass::register::RZ;
use oriole_sass::{Mod, Op, OperandKind, Symbol};

/// Rows of a warp.
const ROWS: usize = 16;
/// Bytes of a piece: swizzling moves no smaller unit.
const PIECE: usize = 16;
/// Rows of a pattern.
const PATTERN: usize = 8;

pub(super) fn execute(context: &mut Context) -> Result<(), Fault> {
    if context.instruction.op == Op::WARPGROUP {
        return wait(context);
    }
    let mut reading = Reading { group: None, pieces: Vec::new() };
    // An instruction without a result only closes a group.
    if context.kind(0)? != OperandKind::Reg(RZ) {
        let product = Product::of(context)?;
        let left = product.left(context, &mut reading)?;
        let right = product.right(context, &mut reading)?;
        product.evaluate(context, &left, &right)?;
    }
    let (pc, who) = (context.pc, context.who());
    for &(address, _) in &reading.pieces {
        context.cluster.transfers.product_reads(piece_bytes(context.block.rank, address), pc, who);
    }
    let closes = context.instruction.operands.iter().any(|o| o.kind == OperandKind::Symbol(Symbol::gsb0));
    let warp = context.warp_mut();
    warp.products.push(reading);
    if closes {
        warp.closed += 1;
        let number = warp.closed;
        warp.products.iter_mut().for_each(|reading| {
            reading.group.get_or_insert(number);
        });
    }
    Ok(())
}

/// `WARPGROUP.DEPBAR`: the inputs of the groups that are waited for must be unchanged.
fn wait(context: &mut Context) -> Result<(), Fault> {
    if !context.has(Mod::DEPBAR) {
        return Ok(());
    }
    let OperandKind::Imm(left) = context.kind(1)? else { return Err(context.refuse()) };
    let warp = context.warp_mut();
    let last = warp.closed.saturating_sub(left as u64);
    let (done, under_way) = std::mem::take(&mut warp.products)
        .into_iter()
        .partition::<Vec<_>, _>(|reading| reading.group.is_some_and(|group| group <= last));
    warp.products = under_way;
    let who = context.who();
    for &(address, _) in done.iter().flat_map(|reading| &reading.pieces) {
        context.cluster.transfers.product_ends(piece_bytes(context.block.rank, address), who);
    }
    let shared = own_shared(context);
    for (address, bytes) in done.iter().flat_map(|reading| &reading.pieces) {
        if shared.get(*address..*address + PIECE) != Some(bytes) {
            return Err(Fault::Changed(*address as u64));
        }
    }
    Ok(())
}

/// The bytes of a piece.
fn piece_bytes(rank: u32, address: usize) -> Bytes {
    Bytes { rank, start: address as u64, size: PIECE as u64 }
}

/// Shared memory of the block itself.
fn own_shared<'c>(context: &'c Context) -> &'c [u8] {
    let rank = context.block.rank as usize;
    context.cluster.shared.get(rank).map_or(&[], Vec::as_slice)
}

/// The types of the factors.
#[derive(Clone, Copy)]
enum Numbers {
    Float(Format, Format),
    /// Bytes, each factor signed or not.
    Bytes(bool, bool),
    Bits,
}

struct Product {
    columns: usize,
    depth: usize,
    numbers: Numbers,
    /// Bits of an element of a factor.
    bits: usize,
    /// The format of the result, if it is not an integer.
    sum: Option<Format>,
    sparse: bool,
    /// Operand of the descriptors: the left factor is before it if it is in registers.
    descriptors: usize,
}

impl Product {
    fn of(context: &Context) -> Result<Product, Fault> {
        let shape = context.instruction.mods.iter().find_map(|name| {
            let mut numbers = name.name().split('x').map(|number| number.parse::<usize>().ok());
            numbers.next()??;
            Some((numbers.next()??, numbers.next()??)).filter(|_| context.has(name))
        });
        let (columns, depth) = shape.ok_or_else(|| context.refuse())?;
        let has = |modifier| context.has(modifier);
        let eighth = |wide: Mod| if has(wide) { E5M2 } else { E4M3 };
        let (numbers, bits) = match context.instruction.op {
            Op::HGMMA if has(Mod::BF16) => (Numbers::Float(BF16, BF16), 16),
            Op::HGMMA if has(Mod::TF32) => (Numbers::Float(TF32, TF32), 32),
            Op::HGMMA => (Numbers::Float(F16, F16), 16),
            Op::QGMMA => (Numbers::Float(eighth(Mod::E5M2), eighth(Mod::E5M2_2)), 8),
            Op::IGMMA => (Numbers::Bytes(has(Mod::S8), has(Mod::S8_2)), 8),
            _ => (Numbers::Bits, 1),
        };
        let sum = match numbers {
            Numbers::Float(..) => Some(if has(Mod::F32) { F32 } else { F16 }),
            _ => None,
        };
        let descriptors = match context.kind(1)? {
            OperandKind::MatrixDescriptor(_) => 1,
            _ => 2,
        };
        let sparse = has(Mod::SP);
        Ok(Product { columns, depth, numbers, bits, sum, sparse, descriptors })
    }

    /// Number of stored elements of a row of the left factor.
    fn stored(&self) -> usize {
        if self.sparse { self.depth / 2 } else { self.depth }
    }

    /// The rows of the left factor that the warp has.
    fn left(&self, context: &Context, reading: &mut Reading) -> Result<Vec<Vec<u64>>, Fault> {
        if self.descriptors == 1 {
            let tile = Tile::of(context, self.descriptors, 0)?;
            let first = context.warp().number as usize % 4 * ROWS;
            let lines = first..first + ROWS;
            return lines.map(|row| tile.line(context, row, self.stored(), self.bits, reading)).collect();
        }
        let OperandKind::Reg(first) = context.kind(1)? else { return Err(context.refuse()) };
        let packed = 32 / self.bits;
        let warp = context.warp();
        let element = |row: usize, at: usize| {
            // Four lanes have a row; a register for its first half, and one for the row eight further down.
            let (half, within) = (at / (4 * packed), at % (4 * packed));
            let register = warp.read(first.saturating_add((2 * half + row / 8) as u8));
            let word = u64::from(register[row % 8 * 4 + within / packed]);
            word >> (within % packed * self.bits) & (u64::MAX >> (64 - self.bits))
        };
        Ok((0..ROWS).map(|row| (0..self.stored()).map(|at| element(row, at)).collect()).collect())
    }

    /// The columns of the right factor.
    fn right(&self, context: &Context, reading: &mut Reading) -> Result<Vec<Vec<u64>>, Fault> {
        let tile = Tile::of(context, self.descriptors, 2)?;
        (0..self.columns).map(|column| tile.line(context, column, self.depth, self.bits, reading)).collect()
    }

    /// The columns of the left factor that the stored elements of a row belong to.
    fn places(&self, context: &Context, row: usize) -> Result<Vec<usize>, Fault> {
        if !self.sparse {
            return Ok((0..self.depth).collect());
        }
        let OperandKind::Reg(register) = context.kind(self.descriptors + 3)? else {
            return Err(context.refuse());
        };
        let words = context.warp().read(register);
        let (lane, upper) = (row % 8 * 4, row / 8);
        let said = if self.bits == 8 {
            // All four lanes: two have the first half of the columns, one for each of the two rows.
            u64::from(words[lane + upper]) | u64::from(words[lane + 2 + upper]) << 32
        } else {
            let selector = match context.kind(self.descriptors + 4) {
                Ok(OperandKind::Imm(selector)) => selector as usize & 1,
                _ => 0,
            };
            let half = |lane: usize| u64::from(words[lane] >> (16 * upper) & 0xffff);
            half(lane + 2 * selector) | half(lane + 2 * selector + 1) << 16
        };
        Ok((0..self.stored())
            .map(|at| match self.bits {
                // One of two, given by both halves of an f32.
                32 => 2 * at + (said >> (4 * at) & 3) as usize / 2,
                _ => at / 2 * 4 + (said >> (2 * at) & 3) as usize,
            })
            .collect())
    }

    fn evaluate(&self, context: &mut Context, left: &[Vec<u64>], right: &[Vec<u64>]) -> Result<(), Fault> {
        let half = self.sum == Some(F16);
        let count = self.columns / if half { 4 } else { 2 };
        let sums = self.descriptors + 1;
        let adds = context.predicate(sums + 1)? != 0;
        let old: Vec<Lanes> = match context.kind(sums)? {
            OperandKind::Reg(first) if adds && first != RZ => {
                (0..count).map(|at| context.warp().read(first.saturating_add(at as u8))).collect()
            }
            OperandKind::Reg(_) => vec![[0; 32]; count],
            _ => return Err(context.refuse()),
        };
        let dot = self.dot(context)?;
        let mut result = vec![[0u32; 32]; count];
        for (row, a) in left.iter().enumerate() {
            let places = self.places(context, row)?;
            for (column, all) in right.iter().enumerate() {
                let b: Vec<u64> = places.iter().map(|&at| all[at]).collect();
                let (lane, pair) = (row % 8 * 4 + column % 8 / 2, column / 8 * 2 + row / 8);
                if half {
                    let shift = column % 2 * 16;
                    let c = u64::from(old[pair][lane] >> shift & 0xffff);
                    result[pair][lane] |= (dot(a, &b, c) as u32) << shift;
                } else {
                    let at = 2 * pair + column % 2;
                    result[at][lane] = dot(a, &b, u64::from(old[at][lane])) as u32;
                }
            }
        }
        context.write_tuple(0, &result)
    }

    /// The accumulation of a row and a column.
    fn dot(&self, context: &Context) -> Result<impl Fn(&[u64], &[u64], u64) -> u64 + use<>, Fault> {
        let factors = &context.instruction.operands[self.descriptors];
        let left_negated = factors.has(Mod::negA) || context.instruction.operands[1].negate;
        let negated = left_negated != factors.has(Mod::negB);
        let narrow = matches!(context.instruction.op, Op::QGMMA);
        let unit = context.launch_context.matrix_unit.of_groups();
        let steps = Steps::new(&unit, self.bits as u32, narrow);
        if self.sum.is_some() && steps.is_none() {
            return Err(context.refuse());
        }
        let saturates = context.has(Mod::SAT);
        let (numbers, sum) = (self.numbers, self.sum.unwrap_or(F32));
        Ok(move |a: &[u64], b: &[u64], c: u64| match (numbers, &steps) {
            (Numbers::Float(left, right), Some(steps)) => {
                let terms: Vec<Term> = a
                    .iter()
                    .zip(b)
                    .map(|(a, b)| {
                        let [a, b] = [Term::of(left, *a), Term::of(right, *b)];
                        let value = if negated { -(a.value * b.value) } else { a.value * b.value };
                        Term { value, exponent: a.exponent + b.exponent }
                    })
                    .collect();
                terms.chunks(steps.depth).fold(c, |c, terms| steps.add(sum, terms, c))
            }
            (Numbers::Bytes(left, right), _) => {
                let value = |x: u64, signed: bool| if signed { i64::from(x as u8 as i8) } else { x as i64 };
                let total: i64 = a.iter().zip(b).map(|(a, b)| value(*a, left) * value(*b, right)).sum();
                let total = total + i64::from(c as u32 as i32);
                let held = total.max(i32::MIN.into()).min(i32::MAX.into());
                u64::from(if saturates { held } else { total } as u32)
            }
            _ => {
                let both = a.iter().zip(b).filter(|(a, b)| **a == 1 && **b == 1).count();
                u64::from((c as u32).wrapping_add(both as u32))
            }
        })
    }
}

/// A matrix in shared memory, as given by a descriptor.
struct Tile {
    start: usize,
    leading: usize,
    stride: usize,
    /// Pieces in a row of a pattern: 1 without swizzling.
    span: usize,
    /// Rows of a pattern above its start that belong to other patterns.
    base: usize,
    /// The elements of a column, not those along the depth, are next to each other.
    transposed: bool,
}

impl Tile {
    /// The descriptor in two of the four uniform registers.
    fn of(context: &Context, operand: usize, part: u8) -> Result<Tile, Fault> {
        let OperandKind::MatrixDescriptor(first) = context.kind(operand)? else {
            return Err(context.refuse());
        };
        let [low, high] = context.warp().read_uniform_pair(first.saturating_add(part));
        let field = |word: u32, bit: u32| (word >> bit & 0x3fff) as usize * PIECE;
        let span = match high >> 30 {
            0 => 1,
            1 => 8,
            2 => 4,
            _ => 2,
        };
        let transposed =
            context.instruction.operands[operand].has(if part == 0 { Mod::tnspA } else { Mod::tnspB });
        let base = (high >> 17 & 7) as usize;
        Ok(Tile {
            start: field(low, 0),
            leading: field(low, 16),
            stride: field(high, 0),
            span,
            base,
            transposed,
        })
    }

    /// Address of a piece: `along` pieces in the contiguous direction, `across` rows.
    fn piece(&self, along: usize, across: usize) -> usize {
        let (eight, row) = (across / PATTERN, across % PATTERN);
        let within = row * self.span * PIECE;
        let at = self.start
            + within
            + match (self.transposed, self.span) {
                (false, 1) => along * self.leading + eight * self.stride,
                (false, _) => along * PIECE + eight * self.stride,
                (true, 1) => along * self.stride + eight * self.leading,
                (true, span) => along % span * PIECE + along / span * self.leading + eight * self.stride,
            };
        // The row within a pattern, which has 128 bytes whatever is used of them, permutes its pieces.
        at ^ (((at >> 7).wrapping_sub(self.base) & (self.span - 1)) * PIECE)
    }

    /// The elements of a row of the left factor or a column of the right one.
    fn line(
        &self,
        context: &Context,
        line: usize,
        count: usize,
        bits: usize,
        reading: &mut Reading,
    ) -> Result<Vec<u64>, Fault> {
        let packed = 8 * PIECE / bits;
        (0..count)
            .map(|at| {
                let (along, across) = if self.transposed { (line, at) } else { (at, line) };
                let address = self.piece(along / packed, across);
                let bytes = own_shared(context).get(address..address + PIECE);
                let bytes: [u8; PIECE] =
                    bytes.and_then(|bytes| bytes.try_into().ok()).ok_or(Fault::OutOfBounds {
                        space: "shared",
                        address: address as u64,
                        size: PIECE as u32,
                    })?;
                if along % packed == 0 {
                    reading.pieces.push((address, bytes));
                }
                let bit = along % packed * bits;
                let wide = u128::from_le_bytes(bytes) >> bit;
                Ok(wide as u64 & (u64::MAX >> (64 - bits)))
            })
            .collect()
    }
}
