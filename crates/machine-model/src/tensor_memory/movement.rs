//! Loads and stores between tensor memory and the registers of a warp.

use super::memory::{Address, Fault, HALF, TensorMemory, Touched};

/// Lanes of a warp, and of tensor memory that it reaches.
const WARP: u32 = 32;
/// Warps of a group.
const WARPS: u32 = 4;

/// The mapping from registers of threads to cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// `.32x32b`: a thread has a lane.
    Lanes32,
    /// `.16x64b`
    Bits64,
    /// `.16x128b`
    Bits128,
    /// `.16x256b`
    Bits256,
    /// One half of `.16x32bx2`: only the lower threads, or only the upper ones, have a lane each.
    Half {
        /// The upper ones.
        upper: bool,
    },
    /// `.16x32bx2`: the upper threads have the same lanes as the lower ones, this many columns further on.
    Split(u32),
}

/// A load or a store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Movement {
    /// The shape that is repeated.
    pub shape: Shape,
    /// The repeat count.
    pub count: u32,
    /// A register holds the lower halves of two neighbouring columns.
    pub packed: bool,
}

impl Movement {
    /// Registers of a thread.
    pub fn registers(&self) -> u32 {
        match self.shape {
            Shape::Lanes32 | Shape::Bits64 | Shape::Split(_) | Shape::Half { .. } => self.count,
            Shape::Bits128 => 2 * self.count,
            Shape::Bits256 => 4 * self.count,
        }
    }

    /// The participating threads.
    pub fn threads(&self) -> u32 {
        match self.shape {
            Shape::Half { upper: false } => 0xffff,
            Shape::Half { upper: true } => 0xffff << 16,
            _ => u32::MAX,
        }
    }

    fn has(&self, thread: u32) -> bool {
        self.threads() >> thread & 1 == 1
    }

    /// Lane and column of a register, from the start of the access on; the first one of two columns if it is packed.
    fn place(&self, thread: u32, register: u32) -> (u32, u32) {
        let (line, within) = (thread / 4, thread % 4);
        let width = if self.packed { 2 } else { 1 };
        let (lane, column) = match self.shape {
            Shape::Lanes32 => (thread, register),
            Shape::Half { .. } => (thread % 16, register),
            Shape::Bits64 => (line + 8 * (within % 2), within / 2 + 2 * register),
            Shape::Bits128 => (line + 8 * (register % 2), within + 4 * (register / 2)),
            Shape::Bits256 => (line + 8 * (register / 2 % 2), 2 * within + register % 2 + 8 * (register / 4)),
            // The distance is in columns, packed or not.
            Shape::Split(distance) => return (thread % 16, thread / 16 * distance + width * register),
        };
        (lane, width * column)
    }

    /// Checks that the warp may access the address.
    fn check(&self, warp: u32, address: Address) -> Result<(), Fault> {
        let lanes = if self.shape == Shape::Lanes32 { WARP } else { HALF };
        if address.lane / WARP != warp % WARPS {
            return Err(Fault::OtherWarp(address));
        }
        if address.lane.is_multiple_of(lanes) {
            Ok(())
        } else {
            Err(Fault::Operands(format!("an access to {lanes} lanes begins at lane {}", address.lane)))
        }
    }

    /// The cells of a register.
    fn cells(
        &self,
        address: Address,
        thread: u32,
        register: u32,
    ) -> impl Iterator<Item = (u32, u32)> + use<> {
        let (lane, column) = self.place(thread, register);
        let columns = if self.packed { 2 } else { 1 };
        (0..columns).map(move |next| (address.lane + lane, address.column + column + next))
    }

    /// The accessed cells.
    pub fn touched(&self, address: Address) -> Touched {
        let threads = (0..WARP).filter(|thread| self.has(*thread));
        let registers = threads.flat_map(|thread| (0..self.registers()).map(move |at| (thread, at)));
        let cells = registers.flat_map(|(thread, register)| self.cells(address, thread, register));
        cells.map(|(lane, column)| (lane / HALF, column)).collect()
    }

    /// The registers of a load, each in every thread.
    ///
    /// # Errors
    /// A cell that the warp does not reach or that does not exist.
    pub fn load(&self, memory: &TensorMemory, warp: u32, address: Address) -> Result<Vec<[u32; 32]>, Fault> {
        self.check(warp, address)?;
        let mut registers = vec![[0; 32]; self.registers() as usize];
        for (register, words) in (0..).zip(&mut registers) {
            for (thread, word) in (0..).zip(words).filter(|(thread, _)| self.has(*thread)) {
                for (half, (lane, column)) in self.cells(address, thread, register).enumerate() {
                    let cell = memory.read(lane, column)?;
                    *word |= if self.packed { (cell & 0xffff) << (16 * half) } else { cell };
                }
            }
        }
        Ok(registers)
    }

    /// Stores registers. Each half of a packed one becomes a cell whose upper half is zero (not confirmed).
    ///
    /// # Errors
    /// As for a load.
    pub fn store(
        &self,
        memory: &mut TensorMemory,
        warp: u32,
        address: Address,
        registers: &[[u32; 32]],
    ) -> Result<(), Fault> {
        self.check(warp, address)?;
        for (register, words) in (0..).zip(registers) {
            for (thread, word) in (0..).zip(words).filter(|(thread, _)| self.has(*thread)) {
                for (half, (lane, column)) in self.cells(address, thread, register).enumerate() {
                    let cell = if self.packed { word >> (16 * half) & 0xffff } else { *word };
                    memory.write(lane, column, cell)?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory() -> TensorMemory {
        let mut memory = TensorMemory::default();
        memory.allocate(512).unwrap();
        for lane in 0..128 {
            (0..512).for_each(|column| memory.write(lane, column, lane << 16 | column).unwrap());
        }
        memory
    }

    #[test]
    fn every_cell_of_an_access_is_one_register() {
        let shapes = [Shape::Lanes32, Shape::Bits64, Shape::Bits128, Shape::Bits256, Shape::Split(32)];
        for (shape, packed) in shapes.into_iter().flat_map(|shape| [(shape, false), (shape, true)]) {
            let movement = Movement { shape, count: 4, packed };
            let registers = movement.registers();
            let address = Address { lane: 32, column: 64 };
            let mut cells: Vec<_> = (0..32)
                .flat_map(|thread| (0..registers).map(move |at| (thread, at)))
                .flat_map(|(thread, register)| movement.cells(address, thread, register))
                .collect();
            let all = cells.len();
            cells.sort_unstable();
            cells.dedup();
            assert_eq!(cells.len(), all, "{shape:?}");
            let mut memory = memory();
            let loaded = movement.load(&memory, 5, address).unwrap();
            let mut other = TensorMemory::default();
            other.allocate(512).unwrap();
            movement.store(&mut other, 1, address, &loaded).unwrap();
            assert_eq!(movement.load(&other, 1, address).unwrap(), loaded);
            movement.store(&mut memory, 1, address, &vec![[0; 32]; registers as usize]).unwrap();
            let zeros = movement.load(&memory, 1, address).unwrap();
            assert!(zeros.iter().flatten().all(|word| *word == 0));
        }
    }

    #[test]
    fn both_halves_make_the_whole() {
        let memory = memory();
        let address = Address { lane: 16, column: 8 };
        for packed in [false, true] {
            let movement = |shape| Movement { shape, count: 4, packed };
            let whole = movement(Shape::Split(32)).load(&memory, 0, address).unwrap();
            let [lower, upper] = [false, true].map(|upper| movement(Shape::Half { upper }));
            let behind = Address { column: address.column + 32, ..address };
            let parts = [(lower, address), (upper, behind)]
                .map(|(one, at)| (one, at, one.load(&memory, 0, at).unwrap()));
            let mut other = TensorMemory::default();
            other.allocate(512).unwrap();
            for (one, at, registers) in &parts {
                let own = |thread: usize| one.threads() >> thread & 1 == 1;
                let same = |thread: usize| {
                    whole.iter().zip(registers).all(|(all, part)| all[thread] == part[thread])
                };
                assert!((0..32).all(|thread| !own(thread) || same(thread)));
                one.store(&mut other, 0, *at, registers).unwrap();
            }
            assert_eq!(movement(Shape::Split(32)).load(&other, 0, address).unwrap(), whole);
        }
    }

    #[test]
    fn a_warp_reaches_its_own_lanes() {
        let movement = Movement { shape: Shape::Bits64, count: 1, packed: false };
        let address = Address { lane: 48, column: 0 };
        assert_eq!(movement.load(&memory(), 0, address), Err(Fault::OtherWarp(address)));
        let loaded = movement.load(&memory(), 1, address).unwrap();
        // Threads 0 to 3: lanes 48, 56, 48, 56; the upper two have the next column.
        assert_eq!(loaded[0][..4], [48 << 16, 56 << 16, 48 << 16 | 1, 56 << 16 | 1]);
        assert!(movement.load(&memory(), 1, Address { lane: 40, column: 0 }).is_err());
    }
}
