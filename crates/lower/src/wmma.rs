//! `wmma`: fragments of matrices in memory, and their multiplication.
//!
//! PTX leaves the layout of fragment registers open. Here a fragment is the concatenation of the fragments of the
//! 16x8 (or 8x8) MMAs that a `wmma.mma` consists of; for 8x32 the transposed multiply is used. So a multiply needs no
//! moves, and a load finds the elements of a register contiguous where the layout of the matrix is that of its
//! factor.

use crate::LowerError;
use crate::context::{Lower, Lowered, Words};
use crate::matrix::{Fragment, Product};
use crate::memory::Place;
use crate::operand::imm;
use oriole_hir::{Instruction, Operand};
use oriole_ori::{Pseudo, Source, SourceKind, Value, Values};
use oriole_ptx::word::MatrixLayout;
use oriole_ptx::{MatrixShape, Space, Type, Word};
use oriole_sass::{Mod, Op, Symbol};
use smallvec::SmallVec;

/// The MMA operand that a fragment is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// Lines are rows of the left factor.
    Left,
    /// Lines are columns of the right factor.
    Right,
    /// Lines are rows of the accumulator.
    Sum,
}

/// Position of the first element of a register for the lanes of the first group of four: line, and index in the line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Cell {
    line: u32,
    at: u32,
}

/// A fragment and the layout of its matrix in memory.
pub(crate) struct Layout {
    pub role: Role,
    pub bits: u32,
    /// One for each register; for an accumulator, one for each element.
    cells: Vec<Cell>,
    /// The elements of a line are neighbours in memory.
    pub along: bool,
    /// Default elements from one line, or one position, to the next.
    stride: u32,
}

/// Elements between the parts of lines that the lanes of a group have.
fn width(role: Role, bits: u32) -> u32 {
    if role == Role::Sum { 2 } else { (32 / bits).max(1) }
}

/// The cells of a fragment of a multiply with this accumulator size and tile count.
fn cells(role: Role, [rows, columns, depth]: [u32; 3], bits: u32) -> Vec<Cell> {
    let tall = rows.min(16);
    let grid = |lines: u32, lines_of_all: u32, length: u32, step: u32| -> Vec<Cell> {
        let eighths = lines / 8;
        let tiles = lines_of_all / lines;
        let each = eighths * length / step;
        (0..tiles * each)
            .map(|cell| {
                let (tile, within) = (cell / each, cell % each);
                Cell { line: tile * lines + within % eighths * 8, at: within / eighths * step }
            })
            .collect()
    };
    match role {
        Role::Left => grid(tall, rows, depth, 4 * width(role, bits)),
        Role::Right => grid(8, columns, depth, 4 * width(role, bits)),
        // Two neighbours in each line.
        Role::Sum => {
            let pairs =
                grid(tall, rows, 8, 8).into_iter().flat_map(|cell| [cell, Cell { at: cell.at + 1, ..cell }]);
            let tile: Vec<Cell> = pairs.collect();
            let beside = |cell: &Cell, tile: u32| Cell { at: cell.at + 8 * tile, ..*cell };
            (0..columns / 8).flat_map(|at| tile.iter().map(move |cell| beside(cell, at))).collect()
        }
    }
}

impl Layout {
    /// The layout of a `wmma.load` or `wmma.store`.
    pub fn of(i: &Instruction) -> Option<Layout> {
        let MatrixShape { rows, columns, depth } = i.modifiers.matrix_shape()?;
        let by_rows = i.modifiers.at::<MatrixLayout>()? == MatrixLayout::Row;
        let bits = if i.types.first()? == &Type::TF32 { 32 } else { i.types.first()?.bits() };
        let turned = rows < columns;
        let shape = if turned { [columns, rows, depth] } else { [rows, columns, depth] };
        let has = |word| i.modifiers.has(word);
        let [left, right] = if turned { [Role::Right, Role::Left] } else { [Role::Left, Role::Right] };
        let (role, along, stride) = match () {
            () if has(Word::A) => (left, by_rows, if by_rows { depth } else { rows }),
            () if has(Word::B) => (right, !by_rows, if by_rows { columns } else { depth }),
            () => (Role::Sum, by_rows != turned, if by_rows { columns } else { rows }),
        };
        Some(Layout { role, bits, cells: cells(role, shape, bits), along, stride })
    }

    /// Registers of a lane, as PTX counts them.
    fn registers(&self) -> usize {
        let packed = if self.role == Role::Sum { (32 / self.bits).max(1) } else { 1 };
        self.cells.len() / packed as usize
    }

    /// True if blocks of eight by eight are loaded in memory order and then transposed.
    fn transposes(&self) -> bool {
        !self.along && self.bits == 16
    }
}

/// An access of a lane: address, byte count, and first word of the fragment. Four byte loads form a word.
struct Access {
    place: Place,
    bytes: u32,
    word: usize,
}

/// The matrix in memory as a lane sees it.
pub(crate) struct Matrix {
    place: Place,
    /// Bytes of an element; of a smaller one, eighths of a byte do not matter, since lines are whole bytes.
    bytes: u32,
    stride: Stride,
    /// Addresses of strided steps, as they are needed.
    starts: SmallVec<[(u32, Values); 4]>,
}

/// Bytes from a line to the next.
#[derive(Clone)]
enum Stride {
    Known(u32),
    /// This register times a factor.
    Times(Source, u32),
}

/// Largest stride that is folded into offsets.
const OFFSET_STRIDE: u32 = 1 << 12;
/// Offsets that leave room for such strides.
const NEAR: std::ops::Range<i32> = -0x40_0000..0x40_0000;

impl Lower<'_> {
    /// `wmma`.
    pub fn fragments(&mut self, i: &Instruction) -> Lowered {
        match () {
            () if self.is_in_quarters(i) => self.quarter_fragments(i),
            () if i.modifiers.has(Word::Load) => self.load_fragment(i),
            () if i.modifiers.has(Word::Store) => self.store_fragment(i),
            () => self.multiply_fragments(i),
        }
    }

    fn load_fragment(&mut self, i: &Instruction) -> Lowered {
        let layout = Layout::of(i).ok_or_else(|| self.unsupported_form(i))?;
        let word = if layout.bits == 64 { Type::F64 } else { Type::B32 };
        let elements = self.elements(self.operand(i, 0)?);
        let direct = self.direct_words(&elements, word);
        let words = layout.registers() * (layout.bits as usize / 32).max(1);
        let fresh = |l: &mut Self| -> Words { (0..words).map(|_| l.b.r()).collect() };
        let d: Words = match &direct {
            Some(all) => all[..words].iter().copied().collect(),
            None => fresh(self),
        };
        let mut matrix = self.matrix(i, 1, &layout)?;
        let moved = layout.role != Role::Sum && (layout.bits == 16 || layout.bits == 8 && layout.along);
        if matrix.place.space == Space::Shared && moved && self.has(Op::LDSM) {
            self.load_rows(&layout, matrix, &d);
        } else {
            let accesses = self.accesses(&layout, &mut matrix);
            self.load_accesses(&layout, accesses, &d)?;
        }
        let each = words / layout.registers();
        match direct {
            // A fragment with more registers than it fills repeats itself.
            Some(all) => {
                for (at, &again) in all.iter().enumerate().skip(words) {
                    self.b.mov(again, d[at % words]);
                }
                Ok(())
            }
            None => {
                let part = |at: usize| d[at % layout.registers() * each..][..each].iter();
                let parts = (0..elements.len()).map(|at| part(at).map(|&v| Source::value(v)).collect());
                self.write_all(&elements, word, parts.collect())
            }
        }
    }

    fn store_fragment(&mut self, i: &Instruction) -> Lowered {
        let layout = Layout::of(i).ok_or_else(|| self.unsupported_form(i))?;
        let word = if layout.bits == 64 { Type::F64 } else { Type::B32 };
        let mut values = self.fragment(i, 1, word)?;
        let mut matrix = self.matrix(i, 0, &layout)?;
        if layout.transposes() {
            values = values.into_iter().map(|value| self.transposed(value)).collect();
        }
        for access in self.accesses(&layout, &mut matrix) {
            let words = (access.bytes / 4) as usize;
            let value = self.tuple(values[access.word..][..words].iter().cloned());
            let (_, op, extended) = self.access_ops(access.place.space)?;
            let memory = Self::memory_info(access.place.space, false, true, false);
            let address = self.memory_operand(&access.place, true);
            let draft = self.b.op(op).m_if(extended, Mod::E).mods(size(access.bytes));
            draft.from(address).from(value).memory(memory).emit();
        }
        Ok(())
    }

    /// Transposes the 8x8 block of 16-bit elements in a register.
    fn transposed(&mut self, word: Source) -> Source {
        let word = self.in_register(word);
        let d = self.b.r();
        self.op(Op::MOVM, &[Mod::_16, Mod::MT88], d, [word]);
        d.into()
    }

    /// The address and the stride of a fragment's matrix.
    pub fn matrix(&mut self, i: &Instruction, index: usize, layout: &Layout) -> Result<Matrix, LowerError> {
        let operand: &Operand = self.operand(i, index)?;
        let place = self.place(operand, i.space.unwrap_or(Space::Generic))?;
        let mut place = self.cluster_to_generic(place);
        if !NEAR.contains(&place.offset) {
            let offset = std::mem::take(&mut place.offset);
            place.base = self.moved_base(&place.base, offset);
        }
        let stride = match i.operands.get(2) {
            Some(stride) => self.word(stride, Type::U32)?,
            None => imm(layout.stride),
        };
        let bytes = (layout.bits / 8).max(1);
        let stride = match stride.kind {
            SourceKind::Imm(elements) if elements <= OFFSET_STRIDE => {
                Stride::Known((u64::from(elements) * u64::from(layout.bits) / 8) as u32)
            }
            SourceKind::Zero(_) => Stride::Known(0),
            _ if layout.bits < 8 => {
                let (elements, bytes) = (self.in_register(stride), self.b.r());
                self.b.shr(bytes, elements, (8 / layout.bits).trailing_zeros());
                Stride::Times(bytes.into(), 1)
            }
            _ => Stride::Times(self.in_register(stride), bytes),
        };
        Ok(Matrix { place, bytes, stride, starts: SmallVec::new() })
    }

    /// A base plus a constant.
    fn moved_base(&mut self, base: &Values, offset: i32) -> Values {
        match base[..] {
            [low, high] => {
                let add = self.tuple([imm(offset as u32), imm((offset >> 31) as u32)]);
                let sum = self.b.pair();
                self.pseudo(Pseudo::Add64, &[], sum, [Source::values([low, high]), add]);
                sum.into_iter().collect()
            }
            _ => {
                let sum = self.b.r();
                let base = base.first().map_or(Source::rz(), |&base| Source::value(base));
                self.add(sum, base, imm(offset as u32));
                Values::from_slice(&[sum])
            }
        }
    }

    /// `base + a * b`, where `b` may be an immediate.
    fn ahead(&mut self, base: &Values, a: Source, b: Source) -> Values {
        if let [low, high] = base[..] {
            let sum = self.b.pair();
            self.b.imad_wide(sum, true, a, b, Source::values([low, high]));
            return sum.into_iter().collect();
        }
        let sum = self.b.r();
        let base = base.first().map_or(Source::rz(), |&base| Source::value(base));
        self.b.imad(sum, a, b, base);
        Values::from_slice(&[sum])
    }

    /// Moves the start of a matrix to where a lane's part begins: `lines` strides and `bytes` bytes further.
    pub fn enter(&mut self, matrix: &mut Matrix, lines: Value, bytes: Option<Value>) {
        let base = match bytes {
            Some(bytes) => self.ahead(&matrix.place.base, bytes.into(), imm(1)),
            None => matrix.place.base.clone(),
        };
        matrix.place.base = match matrix.stride.clone() {
            Stride::Known(0) => base,
            Stride::Known(stride) => self.ahead(&base, lines.into(), imm(stride)),
            Stride::Times(stride, 1) => self.ahead(&base, stride, lines.into()),
            Stride::Times(stride, scale) => {
                let scaled = self.b.r();
                self.b.shl(scaled, lines, scale.trailing_zeros());
                self.ahead(&base, stride, scaled.into())
            }
        };
    }

    /// The location this many strides and bytes after the start.
    pub fn behind(&mut self, matrix: &mut Matrix, lines: u32, bytes: u32) -> Place {
        let Place { space, symbol, offset, .. } = matrix.place;
        let mut place =
            Place { space, base: matrix.place.base.clone(), symbol, offset: offset + bytes as i32 };
        match (&matrix.stride, lines) {
            (_, 0) => {}
            (Stride::Known(stride), _) => place.offset += (stride * lines) as i32,
            (Stride::Times(stride, scale), _) => {
                let known = matrix.starts.iter().find(|start| start.0 == lines);
                place.base = match known {
                    Some((_, base)) => base.clone(),
                    None => {
                        let (stride, step) = (stride.clone(), imm(lines * scale));
                        let base = self.ahead(&matrix.place.base, stride, step);
                        matrix.starts.push((lines, base.clone()));
                        base
                    }
                };
            }
        }
        place
    }

    /// The lane id.
    pub fn lane_number(&mut self) -> Value {
        let lane = self.b.r();
        self.b.s2r(lane, Symbol::SR_LANEID);
        lane
    }

    /// The accesses of a lane, with all addresses computed.
    fn accesses(&mut self, layout: &Layout, matrix: &mut Matrix) -> Vec<Access> {
        let lane = self.lane_number();
        let [group, member] = [self.b.r(), self.b.r()];
        self.b.shr(group, lane, 2u32);
        self.b.and(member, lane, 3u32);
        let width = width(layout.role, layout.bits);
        let (lines, bytes) = if layout.along || layout.transposes() {
            // Eight lines of the matrix in memory for the eight groups.
            let bytes = self.b.r();
            self.b.imad(bytes, member, imm(width * layout.bits / 8), Source::rz());
            (group, bytes)
        } else {
            let [lines, bytes] = [self.b.r(), self.b.r()];
            self.b.imad(lines, member, imm(width), Source::rz());
            self.b.imad(bytes, group, imm(matrix.bytes), Source::rz());
            (lines, bytes)
        };
        self.enter(matrix, lines, Some(bytes));
        let element = layout.bits / 8;
        let words = (layout.bits as usize / 32).max(1);
        let mut found = Vec::new();
        let cells = layout.cells.iter().enumerate();
        if layout.role == Role::Sum && layout.along {
            // Two neighbours at a time, whether they share a word or not.
            for (at, cell) in cells.step_by(2) {
                let place = self.behind(matrix, cell.line, cell.at * element);
                found.push(Access { place, bytes: 2 * element, word: at * layout.bits as usize / 32 });
            }
            return found;
        }
        let packed = if layout.role == Role::Sum && layout.bits == 16 { 2 } else { 1 };
        for (at, cell) in cells.step_by(packed) {
            let word = at / packed * words;
            let bytes = (words * 4) as u32;
            if layout.along {
                let place = self.behind(matrix, cell.line, cell.at * layout.bits / 8);
                found.push(Access { place, bytes, word });
            } else if layout.bits == 8 {
                for part in 0..4 {
                    let place = self.behind(matrix, cell.at + part, cell.line);
                    found.push(Access { place, bytes: 1, word });
                }
            } else {
                let place = self.behind(matrix, cell.at, cell.line * element);
                found.push(Access { place, bytes, word });
            }
        }
        found
    }

    /// Emits the planned loads.
    fn load_accesses(&mut self, layout: &Layout, accesses: Vec<Access>, d: &Words) -> Lowered {
        let mut bytes: SmallVec<[Value; 4]> = SmallVec::new();
        for access in accesses {
            let (op, _, extended) = self.access_ops(access.place.space)?;
            let words = (access.bytes / 4) as usize;
            let through = access.bytes < 4 || layout.transposes();
            let to: Words = if through {
                [self.b.r()].into_iter().collect()
            } else {
                d[access.word..][..words].iter().copied().collect()
            };
            let memory = Self::memory_info(access.place.space, true, false, false);
            let address = self.memory_operand(&access.place, true);
            let draft = self.b.op(op).m_if(extended, Mod::E).mods(size(access.bytes));
            draft.to_tuple(to.clone()).from(address).memory(memory).emit();
            if access.bytes == 1 {
                bytes.push(to[0]);
                if let [a, b, c, e] = bytes[..] {
                    self.join_bytes(d[access.word], [a, b, c, e]);
                    bytes.clear();
                }
            } else if through {
                self.op(Op::MOVM, &[Mod::_16, Mod::MT88], d[access.word], [to[0].into()]);
            }
        }
        Ok(())
    }

    /// A word of four bytes, lowest first, whose upper bits are zero.
    fn join_bytes(&mut self, d: Value, [a, b, c, e]: [Value; 4]) {
        let [low, high] = [self.b.r(), self.b.r()];
        self.b.imad(low, b, imm(0x100), a);
        self.b.imad(high, e, imm(0x100), c);
        self.b.prmt(d, low, 0x5410u32, high);
    }

    /// Loads blocks of eight rows of sixteen bytes each; the lanes supply the addresses: lane `8 m + r` that of row
    /// `r` of block `m`.
    fn load_rows(&mut self, layout: &Layout, mut matrix: Matrix, d: &Words) {
        let element = layout.bits / 8;
        let steps: Vec<[u32; 2]> = layout
            .cells
            .iter()
            .map(|cell| if layout.along { [cell.line, cell.at] } else { [cell.at, cell.line] })
            .collect();
        let at_once = match steps.len() {
            1 => 1,
            2 => 2,
            _ => 4,
        };
        let lane = self.lane_number();
        let [row, zero] = [self.b.r(), self.b.r()];
        self.b.and(row, lane, 7u32);
        self.b.mov(zero, imm(0));
        let [mut lines, mut bytes] = [row, zero];
        for (bit, block) in [(3u32, 1), (4, 2)].into_iter().filter(|step| step.1 < at_once) {
            let chosen = self.b.r();
            self.b.shr(chosen, lane, bit);
            let block_bit = self.b.r();
            self.b.and(block_bit, chosen, 1u32);
            let more = |l: &mut Self, sum: Value, step: u32| {
                if step == 0 {
                    return sum;
                }
                let d = l.b.r();
                l.b.imad(d, block_bit, imm(step), sum);
                d
            };
            lines = more(self, lines, steps[block][0]);
            bytes = more(self, bytes, steps[block][1] * element);
        }
        self.enter(&mut matrix, lines, Some(bytes));
        let places: Vec<Place> = steps
            .iter()
            .step_by(at_once)
            .map(|&[line, at]| self.behind(&mut matrix, line, at * element))
            .collect();
        let order = if layout.along { Mod::M88 } else { Mod::MT88 };
        let count = [None, None, Some(Mod::_2), None, Some(Mod::_4)][at_once];
        let mods: SmallVec<[Mod; 3]> = [Some(Mod::_16), Some(order), count].into_iter().flatten().collect();
        for (place, to) in places.iter().zip(d.chunks(at_once)) {
            let memory = Self::memory_info(Space::Shared, true, false, false);
            let address = self.memory_operand(place, false);
            let draft = self.b.op(Op::LDSM).mods(&mods).to_tuple(to.iter().copied());
            draft.from(address).memory(memory).emit();
        }
    }

    /// `wmma.mma`: one MMA for each tile of the accumulator.
    fn multiply_fragments(&mut self, i: &Instruction) -> Lowered {
        let shape = i.modifiers.matrix_shape().ok_or_else(|| self.unsupported_form(i))?;
        let (to, left, right, from) = match i.types[..] {
            [to, from] => (to, Type::F16, Type::F16, from),
            [to, left, right, from] => (to, left, right, from),
            _ => return Err(self.unsupported_form(i)),
        };
        let word = if to == Type::F64 { Type::F64 } else { Type::B32 };
        let [a, b, c] = [self.fragment(i, 1, word)?, self.fragment(i, 2, word)?, self.fragment(i, 3, word)?];
        let mixed = to != from;
        let c = if from == Type::F16 && mixed { self.singles(c) } else { c };
        let elements = self.elements(self.operand(i, 0)?);
        // A tile is written before the next one is read.
        let direct = self.direct_words(&elements, word).filter(|d| !mixed || to == Type::F32 && apart(d, &c));
        let direct = direct.filter(|d| apart(d, &a) && apart(d, &b) && in_place(d, &c));
        let d: Words = match &direct {
            Some(d) => d.clone(),
            None => c.iter().map(|_| self.b.r()).collect(),
        };
        let turned = shape.rows < shape.columns;
        let [rows, columns] = if turned { [shape.columns, shape.rows] } else { [shape.rows, shape.columns] };
        let shape = MatrixShape { rows: rows.min(16), columns: 8, depth: shape.depth };
        let tiles = (rows / shape.rows * columns / 8) as usize;
        let through = if mixed { Type::F32 } else { to };
        let types = if turned { [through, right, left] } else { [through, left, right] };
        let [a, b] = if turned { [b, a] } else { [a, b] };
        let wide = |lines: u32, ty: Type| {
            let bits = if ty == Type::TF32 { 32 } else { ty.bits() };
            (lines * shape.depth * bits / (32 * 32)) as usize
        };
        let [na, nb, nc] = [wide(shape.rows, left), wide(8, right), c.len() / tiles];
        for tile in 0..tiles {
            // The tiles are along the longer side, which only one of the factors has.
            let [at_a, at_b] = if rows > 16 { [tile * na, 0] } else { [0, tile * nb] };
            let part =
                |words: &Fragment, at: usize, count: usize| words[at..][..count].iter().cloned().collect();
            let product = Product {
                shape,
                types,
                a: part(&a, at_a, na),
                b: part(&b, at_b, nb),
                c: part(&c, tile * nc, nc),
                d: d[tile * nc..][..nc].iter().copied().collect(),
                metadata: None,
            };
            self.tile(i, product)?;
        }
        if direct.is_some() {
            return Ok(());
        }
        let d = if mixed && to == Type::F16 { self.packed_halves(&d) } else { d };
        let each = word.bits() as usize / 32;
        let parts = d.chunks(each).map(|part| part.iter().map(|&v| Source::value(v)).collect()).collect();
        self.write_all(&elements, word, parts)
    }

    /// The multiply of a tile. For `.tf32`, four terms are a step of their own.
    fn tile(&mut self, i: &Instruction, p: Product) -> Lowered {
        if p.types[1] != Type::TF32 {
            return self.product(i, p);
        }
        self.product_in_halves(i, p)
    }

    /// Widens 16-bit floats, two in a word, to f32.
    pub fn singles(&mut self, words: Fragment) -> Fragment {
        let mut singles = Fragment::new();
        for word in words {
            let word = self.in_register(word);
            for half in [Mod::H0_H0, Mod::H1_H1] {
                let d = self.b.r();
                let half = word.clone().suffixed(half);
                self.op(Op::HADD2, &[Mod::F32], d, [Source::rz().negated(), half]);
                singles.push(d.into());
            }
        }
        singles
    }

    /// Narrows f32 values to f16, two in a word.
    pub fn packed_halves(&mut self, words: &Words) -> Words {
        words.chunks(2).map(|pair| self.halves_of(pair[1].into(), pair[0].into())).collect()
    }
}

/// The size modifier of an access of this many bytes.
pub(crate) fn size(bytes: u32) -> &'static [Mod] {
    match bytes {
        1 => &[Mod::U8],
        2 => &[Mod::U16],
        8 => &[Mod::_64],
        16 => &[Mod::_128],
        _ => &[],
    }
}

/// True if none of the registers is among those that are read.
fn apart(written: &Words, read: &Fragment) -> bool {
    read.iter().all(|source| source.as_plain_value().is_none_or(|value| !written.contains(&value)))
}

/// True if a register that is read is written only at the same index, by the MMA that reads it.
fn in_place(written: &Words, read: &Fragment) -> bool {
    let same = |(at, source): (usize, &Source)| {
        let value = source.as_plain_value();
        value.is_none_or(|value| written.iter().position(|own| *own == value).is_none_or(|own| own == at))
    };
    read.iter().enumerate().all(same)
}
