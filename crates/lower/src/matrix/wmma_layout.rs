//! Which elements of its matrix each register of a `wmma` fragment holds. No instruction is emitted here.

use oriole_hir::Instruction;
use oriole_ptx::word::MatrixLayout;
use oriole_ptx::{MatrixShape, Type, Word};

/// The MMA operand that a fragment is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// Lines are rows of the left factor.
    Left,
    /// Lines are columns of the right factor.
    Right,
    /// Lines are rows of the accumulator.
    Sum,
}

/// Position of the first element of a register for the lanes of the first group of four: line, and index in the line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Cell {
    pub line: u32,
    pub at: u32,
}

/// A fragment and the layout of its matrix in memory.
pub(super) struct Layout {
    pub role: Role,
    pub bits: u32,
    /// One for each register; for an accumulator, one for each element.
    pub cells: Vec<Cell>,
    /// The elements of a line are neighbours in memory.
    pub along: bool,
    /// Default elements from one line, or one position, to the next.
    pub stride: u32,
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
    pub fn registers(&self) -> usize {
        let packed = if self.role == Role::Sum { (32 / self.bits).max(1) } else { 1 };
        self.cells.len() / packed as usize
    }

    /// True if blocks of eight by eight are loaded in memory order and then transposed.
    pub fn transposes(&self) -> bool {
        !self.along && self.bits == 16
    }
}

/// Elements between the parts of lines that the lanes of a group have.
pub(super) fn width(role: Role, bits: u32) -> u32 {
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
